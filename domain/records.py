"""What is stored, as frozen values. Everybody who speaks of stored things speaks of these."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    """One conversation from its beginning to ``/save``.

    ``number`` is its name inside the store; ``position`` is where it stands among the others, and neither follows the
    clock. ``start_timestamp`` is when it began, ``stored_at`` when it was stored.
    """

    session_id: str
    number: int
    start_timestamp: str
    end_timestamp: str | None
    status: Literal["active", "archived"]
    current_conv_count: int
    stored_at: str = ""
    position: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. ``timestamp`` is when it was said, ``position`` where it stands in its session.

    ``standin``: the built-in stand-in said it, in place of a model; no model is told of it as the companion's words.
    """

    seq: int
    text_id: str
    session_id: str
    timestamp: str
    role: Role
    text: str
    round: int
    finish: Finish = "stop"
    folded: bool = False
    stored_at: str = ""
    position: int = 0
    standin: bool = False

    @property
    def words(self) -> str:
        """The text without its ``User: `` or ``Assistant: ``."""
        return self.text.removeprefix(PREFIX[self.role])


@dataclass(frozen=True, slots=True)
class Round:
    """One user message and its reply."""

    user: Turn
    assistant: Turn

    @property
    def turns(self) -> tuple[Turn, Turn]:
        """Both, in order."""
        return self.user, self.assistant


@dataclass(frozen=True, slots=True)
class Summary:
    """What a session came to so far; made from its rounds up to ``upto_round``. It stands where its session stands."""

    seq: int
    text_id: str
    session_id: str
    timestamp: str
    summary: str
    upto_round: int
    stored_at: str = ""
    position: int = 0


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

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, in order."""
        return tuple(turn for spoken in self.rounds for turn in spoken.turns)


@dataclass(frozen=True, slots=True)
class ErasureScope:
    """What an erasure would take. ``words`` is set when everything that holds certain words was chosen.

    ``in_flight`` names the sessions whose message in flight goes.
    """

    turns: tuple[Turn, ...] = ()
    summaries: tuple[Summary, ...] = ()
    versions: tuple[ImageVersion, ...] = ()
    pins: tuple[str, ...] = ()
    in_flight: tuple[str, ...] = ()
    sessions: tuple[Session, ...] = ()
    words: str = ""

    def __bool__(self) -> bool:
        return bool(
            self.turns or self.summaries or self.versions or self.pins or self.in_flight or self.sessions
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that must be in no file afterwards."""
        spoken = [turn.words for turn in self.turns] + [summary.summary for summary in self.summaries]
        written = [version.text for version in self.versions] + list(self.pins)
        return tuple(
            dict.fromkeys(
                text for text in [*spoken, *written, *self._spellings(spoken + written)] if text.strip()
            )
        )

    def _spellings(self, texts: Sequence[str]) -> set[str]:
        """The chosen words in every case in which they were written."""
        if not self.words:
            return set()
        wanted = re.compile(re.escape(self.words), re.IGNORECASE)
        return {self.words} | {found[0] for text in texts for found in wanted.finditer(text)}
