"""The built-in embedder: vectors of hashed words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from zlib import crc32

from domain.patterns import pattern_of
from domain.quotations import own_words
from domain.records import Message, Role, Summary
from language.scripts import says_little, unspaced_share

if TYPE_CHECKING:
    from domain.indexes import Vector
    from storage.repositories import Repositories

#: The sentence embedder, whose vectors are of single messages: ``SentenceEmbedder.model``.
SENTENCE_MODEL = "universal-sentence-1"
#: The built-in embedder's vectors have this many dimensions.
DIMENSION = 1024

_RUN = pattern_of(r"[^\W\d_]+|\d+")
_UNSPACED = pattern_of("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
#: Fewer stop words than in ``language.scripts``, which lost one question in fifty of the small English history. Any
#: change here rebuilds every stored vector.
_COMMON = frozenset(
    """
    a an the and or but if of to in on at for with from by as is are was were be been am do does did have
    has had i you he she it we they me him her us them my your his its our their this that these those
    what which who when where why how not no so just can could will would should there here about
    """.split()  # noqa: SIM905 - a list of a hundred strings is hard to read
)
_WORD, _GRAM, _PAIR, _CHARACTER = 1.0, 0.25, 1.0, 0.4
#: At this position a word weighs half: the start of a text says what it is about.
_HALF_AT = 48
#: The features of this many runs of letters are cached.
_RUNS_CACHED = 4_000


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
        self._features = lru_cache(_RUNS_CACHED)(_weighted_features)

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A unit vector for each text; None for a text without a letter or digit."""
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Vector | None:
        """The vector of one text."""
        import numpy as np  # not needed before the first prompt

        weights: dict[int, float] = {}
        for position, run in enumerate(_RUN.findall(unicodedata.normalize("NFKC", text).casefold())):
            near = _HALF_AT / (_HALF_AT + position)
            for feature, weight in self._features(run):
                weights[feature] = weights.get(feature, 0.0) + weight * near
        if not weights:
            return None
        hashed = np.fromiter(weights, np.int64, len(weights)) & 0xFFFFFFFF
        values = np.sqrt(np.fromiter(weights.values(), np.float64, len(weights)))
        vector = np.bincount(hashed % DIMENSION, values * np.where(hashed & 0x80000000, 1.0, -1.0), minlength=DIMENSION)
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            return None
        unit: Vector = (vector / length).astype(np.float32)
        return unit


def _weighted_features(run: str) -> Sequence[tuple[int, float]]:
    """The features of a run of letters or digits, with weights.

    A feature's number has its CRC-32 in the lower half, and in the upper one bits that separate collisions.
    """
    return [
        ((hash(feature) & 0x7FFFFFFF) << 32 | crc32(feature.encode("utf-8", "replace")), weight)
        for feature, weight in _of_run(run)
    ]


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


# -- the texts that are embedded, of memories and of questions


#: Characters of a message, and of each message before it, in its embedded text.
_OWN, _BEFORE = 2000, 240
#: How many messages before a message are in its text.
TURNS_BEFORE = 2

#: How a message is embedded: with day, speaker and the messages before it, or as a plain sentence.
KeyStyle = Literal["record", "sentence"]

#: Unrelated everyday sentences, by whether the script is unspaced: their similarity to a question shows whether the
#: embedder knows the language.
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


def _said_by(message: Message) -> str:
    return message.speaker or _SPEAKER[message.role]


def style_for(model: str) -> KeyStyle:
    """How a model's messages are embedded."""
    return "sentence" if model == SENTENCE_MODEL else "record"


def message_key(message: Message, before: Sequence[Message], style: KeyStyle = "record") -> str:
    """The text that is embedded for a message; ``before``: the messages before it, nearest first."""
    if style == "sentence":
        return _sentence_key(message, before)
    words = own_words(message)
    lines = [f"{_spoken_date(message.timestamp, words)} {_said_by(message)}: {_cut_text(words, _OWN)}"]
    lines += [f"{_said_by(other)}: {_cut_text(own_words(other), _BEFORE)}" for other in before[:TURNS_BEFORE]]
    return "\n".join(lines)


def summary_key(summary: Summary) -> str:
    """The text that is embedded for a summary."""
    return f"{_spoken_date(summary.timestamp, summary.summary)}: {_cut_text(summary.summary, _OWN)}"


def key_in(store: Repositories, text_id: str, model: str) -> str | None:
    """The text that is embedded for a stored id; None if there is none, or it is hidden."""
    if messages := store.messages.with_ids([text_id]):
        before = store.messages.before(messages[0], TURNS_BEFORE)[::-1]
        return None if messages[0].hidden else message_key(messages[0], before, style_for(model))
    summaries = store.summaries.with_ids([text_id])
    return summary_key(summaries[0]) if summaries else None


def query_key(query: str) -> str:
    """The text that is embedded for a question: long ones are cut, as most embedders would."""
    return _cut_text(query, _OWN)


def _sentence_key(message: Message, before: Sequence[Message]) -> str:
    """A message, and the message before it if it is short."""
    words = _cut_text(own_words(message), _OWN)
    if not says_little(words) or not words or not before:
        return words
    return f"{words}\n{_cut_text(own_words(before[0]), _BEFORE)}".strip()


def _cut_text(text: str, limit: int) -> str:
    return " ".join(text[: limit * 2].split())[:limit]


def _spoken_date(timestamp: str, text: str) -> str:
    """The day as written in the language of the text."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return ""
    if unspaced_share(text[:200]) > 0.5:
        return f"{moment.year}年{moment.month}月{moment.day}日"
    return f"{moment.day} {moment:%B %Y}"
