"""What other programs exported, as everybody here speaks of it: conversations, and what was left out of them.

A reader (``histories/``) makes these from a file and knows nothing of a memory; an import (``jobs/importing``) stores
them and knows nothing of formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

#: ``person`` and ``companion`` where the format says who spoke; ``somebody`` in chats between people, by name.
Spoken = Literal["person", "companion", "somebody"]


#: What the assistant is called whose replies a format holds; of other formats nobody knows, or it was ours.
ASSISTANTS: Mapping[str, str] = {
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "copilot": "Copilot",
    "deepseek": "DeepSeek",
    "gemini": "Gemini",
    "grok": "Grok",
    "librechat": "LibreChat",
    "llm": "llm",
    "open_webui": "Open WebUI",
}


@dataclass(frozen=True, slots=True)
class PastMessage:
    """One message, word for word. ``key`` is its own in its conversation, and the same in every later export.

    ``said`` has an offset; None where the file does not say when, and nothing is made up for it then.
    ``speaker`` is the name that stands in the file, empty where there is none. ``text_id`` is its id in the file, where
    that is one which a memory can keep.
    """

    key: str
    by: Spoken
    text: str
    said: datetime | None
    speaker: str = ""
    text_id: str = ""


@dataclass(frozen=True, slots=True)
class PastConversation:
    """One conversation in the order in which it was shown, never sorted by time.

    ``source`` names the format ("chatgpt"), ``key`` the conversation, the same in every later export. ``persona`` is
    set where the companion, or the person, played a role there: nothing in it is true of the person for that reason.
    ``left_out`` counts what was not taken over, by reason. ``session_id`` is its id there, where it can be kept.
    ``log`` names the log that it was cut out of, where the source keeps no conversations: the next export may cut
    otherwise, and the keys of messages are their own in all of the log.
    """

    source: str
    key: str
    title: str
    messages: tuple[PastMessage, ...]
    persona: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    session_id: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Unread:
    """A conversation, or a part of a file, that could not be read, and why: it costs only itself."""

    source: str
    where: str
    reason: str
    details: Mapping[str, object] = field(default_factory=dict)


class HistoryFile(Protocol):
    """A file or a folder whose format was recognised. ``done`` of ``size`` bytes are read so far."""

    @property
    def source(self) -> str:
        """The program that wrote it."""
        ...

    @property
    def size(self) -> int:
        """Its length, in the unit of ``done``."""
        ...

    @property
    def done(self) -> int:
        """How far it has been read."""
        ...

    def read(self) -> Iterator[PastConversation | Unread]:
        """Everything in it, one conversation in memory at a time."""
        ...
