"""程序说的话，中文。每条消息说明发生了什么、接下来怎么办。"""

from __future__ import annotations

from collections.abc import Mapping

from interfaces.messages.zh.commands import COMMANDS
from interfaces.messages.zh.facts import FACTS
from interfaces.messages.zh.failures import FAILURES
from interfaces.messages.zh.histories import HISTORIES
from interfaces.messages.zh.importing import IMPORTING
from interfaces.messages.zh.program import PROGRAM
from interfaces.messages.zh.serving import SERVING
from interfaces.messages.zh.talk import TALK

MESSAGES: Mapping[str, str] = {
    **FAILURES,
    **PROGRAM,
    **TALK,
    **COMMANDS,
    **FACTS,
    **SERVING,
    **IMPORTING,
    **HISTORIES,
}
