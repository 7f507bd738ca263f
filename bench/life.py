"""A made-up life of any length, for measuring: sessions of rounds with words as they are in real talk.

Everything follows from the seed. Words come by Zipf's law from a made-up vocabulary, each session has a few
topics of its own that its turns return to, and some of the words are Chinese.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from domain.indexes import Vector

ROUNDS_OF_A_SESSION = 20
_VOCABULARY = 20_000
_TOPICS = 6
_SYLLABLES = [a + b for a in "bdfgklmnprstv" for b in ("a", "e", "i", "o", "u", "ai", "or", "en")]
_START = datetime(2020, 1, 1, 9, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Spoken:
    """A session: its rounds as (user, assistant), and its summary."""

    rounds: tuple[tuple[str, str], ...]
    summary: str


class Clock:
    """A clock that goes on by a minute at every look."""

    def __init__(self) -> None:
        self._now = _START

    def __call__(self) -> datetime:
        """The time."""
        self._now += timedelta(minutes=1)
        return self._now


def sessions(messages: int, seed: int = 7) -> Iterator[Spoken]:
    """Sessions with so many ``messages`` in all."""
    import numpy as np

    random = np.random.default_rng(seed)
    words = _vocabulary()
    left = messages // 2
    while left > 0:
        count = min(left, ROUNDS_OF_A_SESSION)
        topics = random.integers(200, _VOCABULARY, _TOPICS)
        rounds = tuple((_said(random, words, topics, 14), _said(random, words, topics, 30)) for _ in range(count))
        yield Spoken(rounds, "We spoke of " + ", ".join(words[topic] for topic in topics) + ".")
        left -= count


def _said(random: np.random.Generator, words: Sequence[str], topics: npt.NDArray[np.int64], length: int) -> str:
    ranks = (random.zipf(1.25, length) - 1) % _VOCABULARY
    chosen = [words[rank] for rank in ranks]
    for topic in random.choice(topics, 2):
        chosen[int(random.integers(0, length))] = words[topic]
    return " ".join(chosen)


def _vocabulary() -> list[str]:
    """Made-up words; every eighth is Chinese."""
    made = []
    for number in range(_VOCABULARY):
        parts, rest = [], number * 7919 + 11
        for _ in range(3):
            parts.append(_SYLLABLES[rest % len(_SYLLABLES)])
            rest //= 3
        made.append("".join(parts) + (str(number) if number > 5000 else ""))
        if number % 8 == 0:
            made[-1] = chr(0x4E00 + number % 6000) + chr(0x4E00 + (number * 31) % 6000)
    return made


class WordSums:
    """An embedder that costs next to nothing: a text's vector is the sum of vectors of its words.

    It stands for an embedding model, whose own time is no part of what is measured here.
    """

    def __init__(self, dimension: int) -> None:
        self.model = f"word-sums-{dimension}"
        self._dimension = dimension
        self._table: npt.NDArray[np.float32] | None = None

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """One vector a text."""
        import zlib

        import numpy as np

        if self._table is None:
            random = np.random.default_rng(1)
            self._table = random.normal(size=(8192, self._dimension)).astype(np.float32)
        vectors: list[Vector | None] = []
        for text in texts:
            places = [zlib.crc32(word.encode()) % 8192 for word in text.split()] or [0]
            vectors.append(self._table[places].sum(axis=0))
        return vectors
