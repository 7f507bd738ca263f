"""程序说的话，中文。每条消息说明发生了什么、接下来怎么办。"""

from __future__ import annotations

from collections.abc import Mapping

from interfaces.terminal.messages.zh.commands import COMMANDS
from interfaces.terminal.messages.zh.facts import FACTS
from interfaces.terminal.messages.zh.failures import FAILURES
from interfaces.terminal.messages.zh.histories import HISTORIES
from interfaces.terminal.messages.zh.program import PROGRAM
from interfaces.terminal.messages.zh.serving import SERVING
from interfaces.terminal.messages.zh.talk import TALK

MESSAGES: Mapping[str, str] = {**FAILURES, **PROGRAM, **TALK, **COMMANDS, **FACTS, **HISTORIES, **SERVING}
