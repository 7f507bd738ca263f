"""Excerpts of long messages: the sentences with the words of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.patterns import pattern_of
from language.scripts import unspaced_length
from language.words import terms

#: Marks an omission.
MARK = "…"
#: Longer messages are shortened; a character of a script without spaces counts as two.
LONG = 600
#: Characters of a message that are read.
_READ = 40_000
#: The most characters of a piece.
_LONGEST_PIECE = 240
_END = pattern_of(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
#: The weight of a repeated word, and what a piece gains by being first, or next to a chosen one.
_AGAIN, _FIRST, _ADJACENT = 0.25, 0.35, 0.3


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the text and the words of the question in it."""

    start: int
    end: int
    size: int
    words: frozenset[str]


def size_of(text: str) -> int:
    """The length of a text, comparable between languages."""
    return len(text) + unspaced_length(text)


def excerpt(text: str, sought: Mapping[str, float], longest: int = LONG) -> str:
    """The text, shortened if needed to the parts with the most weight of sought words.

    >>> excerpt("I slept. " * 200 + "Then we sailed to Hvar. " + "I slept. " * 200, {"hvar": 1.0}, 60)
    'I slept. I slept. I slept. I slept. … Then we sailed to Hvar. …'
    """
    if size_of(text) <= longest:
        return text
    pieces = list(_split_pieces(text[:_READ], sought))
    return _join_pieces(text, [pieces[at] for at in sorted(_choose_pieces(pieces, sought, longest))])


def _split_pieces(text: str, sought: Mapping[str, float]) -> Sequence[_Piece]:
    ends = [found.end() for found in _END.finditer(text)]
    found: list[_Piece] = []
    start = 0
    for end in [*ends, len(text)]:
        while start < end:
            upto = end if end - start <= _LONGEST_PIECE else _break_point(text, start)
            said = text[start:upto]
            found.append(_Piece(start, upto, size_of(said), frozenset(sought.keys() & set(terms(said)))))
            start = upto
    return found


def _break_point(text: str, start: int) -> int:
    """Where a long sentence is split: after its last space, if any."""
    space = text.rfind(" ", start + _LONGEST_PIECE // 2, start + _LONGEST_PIECE)
    return space + 1 if space > 0 else start + _LONGEST_PIECE


def _choose_pieces(pieces: Sequence[_Piece], sought: Mapping[str, float], longest: int) -> set[int]:
    """The indexes of the pieces to keep: repeatedly the one that adds most and still fits."""
    chosen: set[int] = set()
    covered: set[str] = set()
    left = longest
    mean = sum(sought.values()) / max(len(sought), 1) or 1.0

    def gain(at: int) -> tuple[float, int]:
        own = sum(sought[word] * (_AGAIN if word in covered else 1.0) for word in pieces[at].words)
        adjacent = mean * _ADJACENT * ((at - 1 in chosen) + (at + 1 in chosen))
        return own + adjacent + mean * _FIRST * (at == 0), -at

    waiting = set(range(len(pieces)))
    while waiting and left > 0:
        best = max(waiting, key=gain)
        waiting.discard(best)
        if pieces[best].size <= left:
            chosen.add(best)
            covered |= pieces[best].words
            left -= pieces[best].size
        elif chosen:
            waiting = {at for at in waiting if pieces[at].size <= left}
    return chosen


def _join_pieces(text: str, pieces: Sequence[_Piece]) -> str:
    """The pieces in order, with a mark for each omission."""
    parts: list[str] = []
    upto = 0
    for piece in pieces:
        if piece.start > upto or not parts:
            parts += [MARK] * (piece.start > upto) + [""]
        parts[-1] += text[piece.start : piece.end]
        upto = piece.end
    parts += [MARK] * (upto < len(text))
    return " ".join(stripped for part in parts if (stripped := part.strip()))
