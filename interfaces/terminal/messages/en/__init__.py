"""What the program says, in English. Each message tells what happened and what to do next."""

from __future__ import annotations

from collections.abc import Mapping

from interfaces.terminal.messages.en.commands import COMMANDS
from interfaces.terminal.messages.en.facts import FACTS
from interfaces.terminal.messages.en.failures import FAILURES
from interfaces.terminal.messages.en.histories import HISTORIES
from interfaces.terminal.messages.en.program import PROGRAM
from interfaces.terminal.messages.en.serving import SERVING
from interfaces.terminal.messages.en.talk import TALK

MESSAGES: Mapping[str, str] = {**FAILURES, **PROGRAM, **TALK, **COMMANDS, **FACTS, **HISTORIES, **SERVING}
