"""Which lines of an image hold what is erased, and what is left of each of its versions: pure rules, no database.

A line that holds the erased words goes, from every version. So does a line that is known to rest on an erased turn,
whatever its words; what a line rests on is known of all that the program wrote there itself. Of older lines, which a
model wrote, those go that were first written after the erased turns were said, if they share a telling word with them:
unless what stays accounts for them better. What is taken is a sentence where a line has several. Everything else stays
as it was: a person must not lose what nobody asked to lose.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from domain.languages import is_unspaced
from domain.records import ImageVersion, Turn
from domain.text import pattern_of

#: Cuts a text into words, without those that say nothing; marks begin with ``@``.
Tokens = Callable[[str], Sequence[str]]
Words = frozenset[str]

_SENTENCE = pattern_of(
    r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\b[A-Z]\.)[ \t]+"
    r"|(?<=[;|])[ \t]+|(?<=[。！？；])"
)
#: Marks that may stand between sentences by themselves.
_BETWEEN = "|;；"
#: Two words of a script without spaces overlap as soon as three characters are the same; one alone is chance.
_UNSPACED_ENOUGH = 2


@dataclass(frozen=True)
class Filtered:
    """The versions that lose something, what is left of each, and the lines that go."""

    versions: tuple[ImageVersion, ...] = ()
    left: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class LineFilter:
    """What is erased: ``words`` in any spelling, or "", and ``turns``, of ``sessions``.

    ``said_in`` tells what stays of a session. ``pins`` are lines that go only when they hold the words. ``rests``
    are the turns, by id, that lines are known to rest on.
    """

    tokens: Tokens
    words: str
    turns: Sequence[Turn]
    sessions: Sequence[str]
    said_in: Callable[[str], Sequence[Turn]]
    pins: Sequence[str] = ()
    rests: Mapping[str, Collection[str]] = field(default_factory=dict)
    _said: dict[str, list[Words]] = field(default_factory=dict)

    def filtered(self, versions: Sequence[ImageVersion]) -> Filtered:
        """What becomes of the versions of one image, oldest first."""
        whole = self._resting_on_what_goes
        gone = set(self._going(versions))
        changed = [(version, without(version.text, gone, whole)) for version in versions]
        changed = [(version, left) for version, left in changed if left != version.text]
        return Filtered(
            tuple(version for version, _ in changed),
            tuple(left for _, left in changed),
            tuple(
                sorted(
                    gone | {line for version in versions for line in _lines(version.text) if line in whole}
                )
            ),
        )

    def _going(self, versions: Sequence[ImageVersion]) -> Iterator[str]:
        first = _first_written(versions)
        since = next(
            (at for at, version in enumerate(versions) if version.session_id in self.sessions), len(versions)
        )
        frame = _frame(self._telling(piece) for piece in first)
        known: list[Words] = []
        accounted = {piece for line, turns in self.rests.items() if turns for piece in pieces(line)}
        for piece, at in first.items():
            writer, words = versions[at], self._telling(piece)
            spared = piece in self._pinned or piece in accounted
            suspect = at >= since and writer.origin == "model" and not spared
            if self._holds(piece) or (suspect and self._drawn(words - frame, writer.session_id, known)):
                yield piece
            elif not suspect:
                known.append(words)

    def _holds(self, piece: str) -> bool:
        return bool(self.words) and same(self.words) in same(piece)

    def _drawn(self, words: Words, session_id: str | None, known: Iterable[Words]) -> bool:
        """Whether a line was drawn from what is erased rather than from anything that stays."""
        shared = words & self._erased
        if not _tells(shared):
            return False
        staying = [*known, *(said for one in {*self.sessions, session_id or ""} for said in self._stays(one))]
        return not any(shared <= said and 2 * len(words & said) > len(words) for said in staying)

    def _stays(self, session_id: str) -> list[Words]:
        if session_id not in self._said:
            gone = {turn.text_id for turn in self.turns}
            left = [turn for turn in self.said_in(session_id) if turn.text_id not in gone]
            self._said[session_id] = [self._telling(turn.words) for turn in left]
        return self._said[session_id]

    @cached_property
    def _erased(self) -> Words:
        return frozenset[str]().union(*(self._telling(turn.words) for turn in self.turns))

    @cached_property
    def _resting_on_what_goes(self) -> frozenset[str]:
        """The lines that rest on an erased turn; a line that a person pinned rests on their own word."""
        gone, pinned = (
            {turn.text_id for turn in self.turns},
            {line for pin in self.pins for line in _lines(pin)},
        )
        return frozenset(
            line for line, turns in self.rests.items() if line not in pinned and not gone.isdisjoint(turns)
        )

    @cached_property
    def _pinned(self) -> frozenset[str]:
        return frozenset(piece for pin in self.pins for piece in pieces(pin))

    def _telling(self, text: str) -> Words:
        """The words of a text that tell something."""
        found = (token for token in self.tokens(text) if not token.startswith("@"))
        return frozenset(token for token in found if len(token) > 1 or not is_unspaced(token))


def pieces(text: str) -> list[str]:
    """The sentences of a text, line by line."""
    return [
        piece.strip()
        for line in text.split("\n")
        for piece in _SENTENCE.split(line)
        if piece and piece.strip()
    ]


def without(text: str, gone: set[str], whole: Collection[str] = ()) -> str:
    """A text without some of its pieces, and without some ``whole`` lines.

    A line that held nothing else goes, and the others stay as they are.
    """
    kept = []
    for line in text.split("\n"):
        if line.strip() in whole:
            continue
        parts = pieces(line)
        left = [part for part in parts if part not in gone]
        if len(left) == len(parts):
            kept.append(line)
        elif rest := _joined(left):
            kept.append(rest)
    return "\n".join(kept).strip()


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def same(text: str) -> str:
    """A text as it is compared: the same in every case, width and spacing."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _joined(sentences: Sequence[str]) -> str:
    """Sentences in one line; a mark that stood between two of them goes where either of them does."""
    joined = ""
    for sentence in sentences:
        if sentence in _BETWEEN and (not joined or joined[-1] in _BETWEEN):
            continue
        joined += sentence if not joined or joined[-1] in "。！？；" else f" {sentence}"
    return joined.rstrip(f" {_BETWEEN}")


def _first_written(versions: Sequence[ImageVersion]) -> Mapping[str, int]:
    """Every piece that ever stood in the image, and which version wrote it first."""
    first: dict[str, int] = {}
    for at, version in enumerate(versions):
        for piece in pieces(version.text):
            first.setdefault(piece, at)
    return first


def _frame(lines: Iterable[Words]) -> Words:
    """Words that stand in most lines, such as the name of whom the image is of: they tell nothing."""
    counted, count = Counter[str](), 0
    for words in lines:
        counted.update(words)
        count += 1
    return frozenset(word for word, times in counted.items() if count > 2 and 2 * times > count)


def _tells(shared: Words) -> bool:
    unspaced = sum(1 for word in shared if is_unspaced(word[0]))
    return len(shared) > unspaced or unspaced >= _UNSPACED_ENOUGH
