"""What the program says, in English. Each message tells what happened and what to do next."""

from __future__ import annotations

from collections.abc import Mapping

from interfaces.messages.en.commands import COMMANDS
from interfaces.messages.en.facts import FACTS
from interfaces.messages.en.failures import FAILURES
from interfaces.messages.en.histories import HISTORIES
from interfaces.messages.en.importing import IMPORTING
from interfaces.messages.en.program import PROGRAM
from interfaces.messages.en.serving import SERVING
from interfaces.messages.en.talk import TALK

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
