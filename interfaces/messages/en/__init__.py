"""What the program says, in English. Each message tells what happened and what to do next."""

from __future__ import annotations

from collections.abc import Mapping

from interfaces.messages.en.chat import CHAT
from interfaces.messages.en.imports import IMPORTS
from interfaces.messages.en.program import PROGRAM

MESSAGES: Mapping[str, str] = {**CHAT, **PROGRAM, **IMPORTS}
