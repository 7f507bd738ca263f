"""What is handed over of a long turn: the sentences that hold what was asked for, in their order.

A page that was said once would take the room of ten other memories. So it is cut around the words that were
found; every place where something is left out bears a mark. A turn that is short enough stays whole, to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.languages import unspaced_length
from recall import words

#: What stands where something was left out.
MARK = "…"
#: A turn of more than so many characters is cut; a character of a script without spaces counts as two.
LONG = 900
#: A turn much longer than any page is read only so far.
_READ = 40_000
#: The longest piece that is kept or left out as one.
_PIECE = 240
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
#: What a word that was found already still counts, and what a piece gains by standing first or beside one that is kept.
_AGAIN, _FIRST, _BESIDE = 0.25, 0.35, 0.3


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of the text and the words of the question that stand in it."""

    start: int
    end: int
    size: int
    held: frozenset[str]


def size_of(text: str) -> int:
    """How long a text is, counted so that the same takes as much room in every language."""
    return len(text) + unspaced_length(text)


def excerpt(text: str, sought: Mapping[str, float], longest: int = LONG) -> str:
    """The text, or what of it matters most for the words that are sought, each with its weight.

    >>> excerpt("I slept. " * 200 + "Then we sailed to Hvar. " + "I slept. " * 200, {"hvar": 1.0}, 60)
    'I slept. I slept. I slept. I slept. … Then we sailed to Hvar. …'
    """
    if size_of(text) <= longest:
        return text
    pieces = list(_pieces(text[:_READ], sought))
    return _joined(text, [pieces[at] for at in sorted(_chosen(pieces, sought, longest))])


def _pieces(text: str, sought: Mapping[str, float]) -> Sequence[_Piece]:
    ends = [found.end() for found in _END.finditer(text)]
    found: list[_Piece] = []
    start = 0
    for end in [*ends, len(text)]:
        while start < end:
            upto = end if end - start <= _PIECE else _break(text, start)
            said = text[start:upto]
            found.append(
                _Piece(start, upto, size_of(said), frozenset(sought.keys() & set(words.terms(said))))
            )
            start = upto
    return found


def _break(text: str, start: int) -> int:
    """Where a stretch without an end is broken: after its last space, if it has one."""
    space = text.rfind(" ", start + _PIECE // 2, start + _PIECE)
    return space + 1 if space > 0 else start + _PIECE


def _chosen(pieces: Sequence[_Piece], sought: Mapping[str, float], longest: int) -> set[int]:
    """The places of the pieces to keep: always the one that adds most and still fits, with what stands beside it."""
    chosen: set[int] = set()
    heard: set[str] = set()
    left = longest
    mean = sum(sought.values()) / max(len(sought), 1) or 1.0

    def gain(at: int) -> tuple[float, int]:
        own = sum(sought[word] * (_AGAIN if word in heard else 1.0) for word in pieces[at].held)
        beside = mean * _BESIDE * ((at - 1 in chosen) + (at + 1 in chosen))
        return own + beside + mean * _FIRST * (at == 0), -at

    waiting = set(range(len(pieces)))
    while waiting and left > 0:
        best = max(waiting, key=gain)
        waiting.discard(best)
        if pieces[best].size <= left:
            chosen.add(best)
            heard |= pieces[best].held
            left -= pieces[best].size
        elif chosen:
            waiting = {at for at in waiting if pieces[at].size <= left}
    return chosen


def _joined(text: str, kept: Sequence[_Piece]) -> str:
    """The pieces in order; those that follow each other stay as they stood."""
    parts: list[str] = []
    upto = 0
    for piece in kept:
        if piece.start > upto or not parts:
            parts += [MARK] * (piece.start > upto) + [""]
        parts[-1] += text[piece.start : piece.end]
        upto = piece.end
    parts += [MARK] * (upto < len(text))
    return " ".join(stripped for part in parts if (stripped := part.strip()))
