"""What is stored, as frozen values. Everybody who speaks of stored things speaks of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["user", "assistant"]
Kind = Literal["conversation", "summary"]
Image = Literal["self", "user"]
IMAGES: tuple[Image, Image] = ("self", "user")
#: How a reply ended: whole, cut by the token limit, stopped by the person.
Finish = Literal["stop", "length", "interrupted"]
#: Where a version of an image came from.
Origin = Literal["model", "hand", "setup", "restore", "erase"]

#: Stored ``text`` begins with one of these; the role itself is in the ``role`` column.
PREFIX: dict[Role, str] = {"user": "User: ", "assistant": "Assistant: "}


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation from its beginning to ``/save``. ``number`` gives the order, never the clock."""

    session_id: str
    number: int
    start_timestamp: str
    end_timestamp: str | None
    status: Literal["active", "archived"]
    current_conv_count: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as it lies in the table ``conversation``."""

    seq: int
    text_id: str
    session_id: str
    timestamp: str
    role: Role
    text: str
    round: int
    finish: Finish = "stop"
    folded: bool = False

    @property
    def words(self) -> str:
        """The text without its ``User: `` or ``Assistant: ``."""
        return self.text.removeprefix(PREFIX[self.role])


@dataclass(frozen=True, slots=True)
class Round:
    """One user message and its reply."""

    user: Turn
    assistant: Turn


@dataclass(frozen=True, slots=True)
class Summary:
    """What a session came to so far; made from its rounds up to ``upto_round``."""

    seq: int
    text_id: str
    session_id: str
    timestamp: str
    summary: str
    upto_round: int


@dataclass(frozen=True, slots=True)
class InFlight:
    """What was typed and not yet answered, with what had come of the reply."""

    session_id: str
    timestamp: str
    text: str
    partial: str


@dataclass(frozen=True, slots=True)
class ImageVersion:
    """One version of an image, for good."""

    version: int
    image: Image
    timestamp: str
    text: str
    origin: Origin
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Removed:
    """What a reset took out, so that it can be put back."""

    session_id: str
    rounds: tuple[Round, ...]
    summary: Summary | None
