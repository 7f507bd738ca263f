"""Changes an image by operations on its numbered lines; a model never copies a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from domain.facts import LineEvidence
from domain.languages import Language
from domain.records import Turn
from facts.slots import Names

Deed = Literal["add", "change", "end", "correct", "drop"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing to be done to an image. ``line`` is the number of a line, 0 for a new one; ``turns`` are numbers."""

    deed: Deed
    line: int
    text: str
    date: str
    importance: int
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperationsRead:
    """The operations of a reply. ``understood``: it was JSON; if not, it is as good as no reply."""

    operations: tuple[Operation, ...]
    rejected: Counter[str]
    understood: bool


@dataclass(frozen=True, slots=True)
class Applied:
    """The image afterwards, what its program-written lines rest on, lines that went to make room, and what was refused."""

    text: str
    lines: tuple[LineEvidence, ...]
    moved: tuple[LineEvidence, ...]
    refused: Counter[str]


def numbered(image_text: str) -> tuple[str, ...]:
    """The lines of an image that can be named, line 1 first; blank ones cannot."""
    return tuple(line for line in image_text.splitlines() if line.strip())


def read_operations(reply: str, finish: str = "stop") -> OperationsRead:
    """The operations of a reply, read as leniently as notes are."""
    return OperationsRead((), Counter(), False)


def applied(
    image_text: str,
    evidence: Sequence[LineEvidence],
    operations: Sequence[Operation],
    allowed_turns: Sequence[Turn],
    pins: Sequence[str],
    language: Language,
    size: int,
    today: date,
    *,
    names: Names = Names(),  # noqa: B008 - frozen
    told: Sequence[str] = (),
) -> Applied:
    """The image after these operations.

    ``allowed_turns`` are the turns 1 to n of the operations; ``told`` are the notes and changes that the model was shown;
    ``size`` is in tokens.
    """
    return Applied(image_text, tuple(evidence), (), Counter())
