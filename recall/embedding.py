"""The built-in embedder: vectors of hashed words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from zlib import crc32

from domain.languages import unspaced_length, unspaced_share
from domain.records import Role, Summary, Turn
from domain.text import own_words, pattern_of
from recall.weights import SENTENCE_MODEL

if TYPE_CHECKING:
    from domain.vectors import Vector
    from storage.repositories import Repositories

#: The built-in embedder's vectors have this many dimensions.
DIMENSION = 1024

_RUN = pattern_of(r"[^\W\d_]+|\d+")
_UNSPACED = pattern_of(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
#: Scripts and stop words of its own, fewer than in ``domain.languages``: with those a question in fifty of the small
#: English history was lost, and any change here makes every stored vector anew.
_COMMON = frozenset(
    """
    a an the and or but if of to in on at for with from by as is are was were be been am do does did have
    has had i you he she it we they me him her us them my your his its our their this that these those
    what which who when where why how not no so just can could will would should there here about
    """.split()  # noqa: SIM905 - a list of a hundred strings is hard to read
)
_WORD, _GRAM, _PAIR, _CHARACTER = 1.0, 0.25, 1.0, 0.4
#: After so many words a word weighs half: what stands first in a text is what it is about.
_HALF_AT = 48
#: So many runs of letters, each with its features, are held at the most.
_RUNS_HELD = 4_000


class HashedEmbedder:
    """Vectors without a model and without a network: hashed words and pieces of words.

    Features are words, their 3- and 4-letter pieces (so that ``run`` and ``running`` meet), and single
    characters and pairs of scripts without spaces. Each is hashed to one of ``DIMENSION`` places with a
    sign, so that what collides cancels out on average: feature hashing, Weinberger et al. 2009,
    https://arxiv.org/abs/0902.2206.

    >>> a, b, c = HashedEmbedder().embed(["we adopted a puppy", "my puppies", "利率上升"])
    >>> a @ b > a @ c
    True
    """

    model = "built-in-1"

    def __init__(self) -> None:
        self._features = lru_cache(_RUNS_HELD)(_features)

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A unit vector of ``DIMENSION`` a text; None for a text without a letter or digit."""
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Vector | None:
        """The same for one text."""
        import numpy as np  # the program is wired, with this embedder in it, before the first prompt

        weights: dict[int, float] = {}
        for position, run in enumerate(_RUN.findall(unicodedata.normalize("NFKC", text).casefold())):
            near = _HALF_AT / (_HALF_AT + position)
            for feature, weight in self._features(run):
                weights[feature] = weights.get(feature, 0.0) + weight * near
        if not weights:
            return None
        hashed = np.fromiter(weights, np.int64, len(weights)) & 0xFFFFFFFF
        values = np.sqrt(np.fromiter(weights.values(), np.float64, len(weights)))
        vector = np.bincount(
            hashed % DIMENSION, values * np.where(hashed & 0x80000000, 1.0, -1.0), minlength=DIMENSION
        )
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            return None
        unit: Vector = (vector / length).astype(np.float32)
        return unit


def _features(run: str) -> Sequence[tuple[int, float]]:
    """The features of a run of letters or digits, and their weights."""
    return [(_number(feature), weight) for feature, weight in _of_run(run)]


def _number(feature: str) -> int:
    """What a feature is told from others by: its CRC-32 in the lower half, and in the upper what parts equal ones."""
    return (hash(feature) & 0x7FFFFFFF) << 32 | crc32(feature.encode("utf-8", "replace"))


def _of_run(run: str) -> Iterator[tuple[str, float]]:
    at = 0
    for unspaced in _UNSPACED.finditer(run):
        yield from _of_word(run[at : unspaced.start()])
        yield from _of_unspaced(unspaced[0])
        at = unspaced.end()
    yield from _of_word(run[at:])


def _of_word(word: str) -> Iterator[tuple[str, float]]:
    if not word or word in _COMMON:
        return
    yield word, _WORD
    edged = f"<{word[:40]}>"
    for size in (3, 4):
        for at in range(len(edged) - size + 1):
            yield edged[at : at + size], _GRAM


def _of_unspaced(run: str) -> Iterator[tuple[str, float]]:
    for at in range(len(run)):
        yield run[at], _CHARACTER
        if at + 1 < len(run):
            yield run[at : at + 2], _PAIR


# -- the texts that are embedded for what is stored, and for what is asked


#: What a turn's text holds of the turn itself and of each turn before it, in characters.
_OWN, _BEFORE = 2000, 240
#: How many turns before a turn stand in its text.
TURNS_BEFORE = 2
#: A turn of fewer characters than this, a Han character counting three, says too little by itself.
_SHORT, _PER_HAN = 60, 3

#: How a turn is put to an embedder: with day, speaker and what came before, or as a sentence by itself.
KeyStyle = Literal["record", "sentence"]

#: Everyday sentences that have nothing to do with each other or with anything asked, by whether the script is
#: unspaced: how alike an embedder finds them and a question tells whether it speaks the language.
BACKGROUND: Mapping[bool, tuple[str, ...]] = {
    False: (
        "The lamp in the hallway flickers a little.",
        "Copper is heavier than aluminium.",
        "A ferry crosses the strait twice a day.",
        "The committee approved the minutes.",
    ),
    True: ("走廊里的灯有点闪。", "铜比铝重。", "渡轮每天往返海峡两次。", "委员会通过了会议纪要。"),
}

_SPEAKER: Mapping[Role, str] = {"user": "User", "assistant": "Assistant"}


def _said_by(turn: Turn) -> str:
    return turn.speaker or _SPEAKER[turn.role]


def style_for(model: str) -> KeyStyle:
    """How a model is given turns."""
    return "sentence" if model == SENTENCE_MODEL else "record"


def turn_key(turn: Turn, before: Sequence[Turn], style: KeyStyle = "record") -> str:
    """The text that is embedded for a turn; ``before`` are the turns before it, nearest first."""
    if style == "sentence":
        return _sentence(turn, before)
    words = own_words(turn)
    lines = [f"{_date(turn.timestamp, words)} {_said_by(turn)}: {_cut(words, _OWN)}"]
    lines += [f"{_said_by(other)}: {_cut(own_words(other), _BEFORE)}" for other in before[:TURNS_BEFORE]]
    return "\n".join(lines)


def summary_key(summary: Summary) -> str:
    """The text that is embedded for a summary."""
    return f"{_date(summary.timestamp, summary.summary)}: {_cut(summary.summary, _OWN)}"


def key_in(store: Repositories, text_id: str, model: str) -> str | None:
    """The text that is embedded for what is stored under this id; None where nothing is, or it is withheld."""
    if turns := store.messages.with_ids([text_id]):
        before = store.messages.before(turns[0], TURNS_BEFORE)[::-1]
        return None if turns[0].withheld else turn_key(turns[0], before, style_for(model))
    summaries = store.summaries.with_ids([text_id])
    return summary_key(summaries[0]) if summaries else None


def query_key(query: str) -> str:
    """The text that is embedded for a question: a long one is cut where most embedders cut it."""
    return _cut(query, _OWN)


def _sentence(turn: Turn, before: Sequence[Turn]) -> str:
    """What was said, and what it was said to where it is short."""
    words = _cut(own_words(turn), _OWN)
    if not says_little(words) or not words or not before:
        return words
    return f"{words}\n{_cut(own_words(before[0]), _BEFORE)}".strip()


def says_little(words: str) -> bool:
    """Whether a turn is so short that its vector says as much of the turn before it.

    >>> says_little("How nice!"), says_little("He would rather grow chillies up on the roof than sit in my noisy shop.")
    (True, False)
    """
    return len(words) + (_PER_HAN - 1) * unspaced_length(words[:_SHORT]) < _SHORT


def _cut(text: str, limit: int) -> str:
    return " ".join(text[: limit * 2].split())[:limit]


def _date(timestamp: str, text: str) -> str:
    """The day as people write it in the language of the text."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return ""
    if unspaced_share(text[:200]) > 0.5:
        return f"{moment.year}年{moment.month}月{moment.day}日"
    return f"{moment.day} {moment:%B %Y}"
