"""程序说的话，中文。每条消息说明发生了什么、接下来怎么办。."""

from __future__ import annotations

from collections.abc import Mapping

from interfaces.messages.zh.chat import CHAT
from interfaces.messages.zh.imports import IMPORTS
from interfaces.messages.zh.program import PROGRAM

MESSAGES: Mapping[str, str] = {**CHAT, **PROGRAM, **IMPORTS}
