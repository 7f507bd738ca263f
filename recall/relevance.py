"""Whether memory is needed, whether what was found is about the message, and how much of it is enough.

``needs_memory`` reads the message alone, before anything is searched. ``judge`` reads what kind of message it is, off
its vector (``MessageKinds``), together with what was found. Saying nothing is right for a task, a reaction or a
question that any stranger could answer; a question about oneself is given little where nothing seems to answer it.

``read_like_forget_request`` reads off the same vector whether a message asks to forget something. It adds to the rules
of ``language.forget_forms`` what they have no form for: that a model may have to read the message, that the person is
asked, or, where it is as good as certain, that something is hidden.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64decode
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

import numpy as np

from domain.patterns import pattern_of
from language import words
from language.forget_requests import Reading, normalise
from language.scripts import is_unspaced
from recall.questions import seeks_several
from recall.ranking import Evidence, Flags, Floats, bm25, from_neighbours, rarity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from domain.indexes import Vector

#: How much is recalled: nothing, the few best with the remark that they may not answer, what is nearly as good as the
#: best, or whatever adds something.
Amount = Literal["nothing", "little", "best", "enough"]

#: The weights that tell kinds of messages apart, and examples for other embedders. ``bench.message_kinds`` makes it.
KINDS_FILE = Path(__file__).parent / "message_kinds.json"
#: In fewer turns than this no word is rare yet: words are weighed as if there were so many.
_FEW = 150
#: What a message needs memory by: its kind and this much of the confidence, together this and more.
_OF_CONFIDENCE, _LEAST_NEED = 0.05, -0.5
#: What is of this kind is about the person, whatever its words are.
_PERSONAL_KIND = 0.25
#: So sure of the words, a message that names what is known is never taken for one that needs no memory.
_SURE = 2.0
#: The share of a question's weight in rare words that a turn must hold to speak of what was asked.
_RARE = 0.4
#: How far what was found is about a message: the nearness and this much of the confidence. From here on a question
#: about oneself is answered rather than not.
_ABOUT_BY_CONFIDENCE, _ANSWERED = 0.033, 0.22
#: The least confidence for a question about others; where it names whom the history knows; where all of the
#: history would fit into the budget.
LEAST, LEAST_OF_KNOWN, LEAST_IN_LITTLE = -1.85, -3.5, -4.0
#: The least for what seeks nothing, where the kind of message is unknown.
LEAST_FOR_REMARK = -6.0
#: How far the nearest messages must stand above unrelated sentences where words cannot tell: as a cosine. As far below
#: nothing is about a message of which no word was ever said, unless it is about the person.
NEAR = 0.15
#: The strength of the ridge regression that tells kinds of messages apart.
_RIDGE = 0.3

_SMALL_TALK = pattern_of(
    r"(?:good (?:night|morning|evening|afternoon)|ok(?:ay)?|yes|yeah|yep|no|nope|sure|thx|ty|cool|nice|great|good"
    r"|thanks?(?: you| a lot| so much)?|perfect|awesome|wow|lol|haha+|hi|hello|hey|bye|goodbye|see you|got it|i see"
    r"|alright|fine|right|go on|continue"
    r"|好的?|嗯+|哦+|谢谢你?|多谢|感谢|不客气|是的?|对的?|行|可以|没事|你好|您好|嗨|再见|拜拜|晚安|早安|早上好|晚上好"
    r"|哈哈+|知道了|明白了?|继续|不错|太好了|很好)"
    r"[\s,.!?~，。！？、啊呀啦吧哈呢了]*",
    re.IGNORECASE,
)
_PERSONAL = pattern_of(
    r"\b(?:i|i'm|i've|my|mine|me|we|our|us|you|your|yours|he|she|his|her|they|their|again|remember|last|ago|before"
    r"|earlier|previous(?:ly)?|yesterday)\b"
    r"|[我你您咱他她]|上次|之前|以前|曾经|记得|还是|昨|前天|去年|刚才",
    re.IGNORECASE,
)
_OURSELVES = pattern_of(
    r"\b(?:i|i'm|i've|my|mine|me|we|our|us|you|your|yours)\b|[我你您咱俺]|记得|想起|回忆", re.IGNORECASE
)
_ORDER = pattern_of(
    r"^\s*(?:please\s+)?(?:write|code|implement|create|generate|translate|calculate|compute|explain|define|convert"
    r"|sort|solve|summari[sz]e|list)\b"
    r"|^\s*(?:请|帮忙)?(?:写|编|画|翻译|计算|算|解释|实现|生成|列出|证明|求)",
    re.IGNORECASE,
)


def needs_memory(text: str) -> bool:
    """Whether a message may need memory at all.

    >>> [needs_memory(text) for text in ("thanks!", "写个快排", "Where did I park?")]
    [False, False, True]
    """
    rest = text.strip()
    while rest and (small := _SMALL_TALK.match(rest)):
        after = rest[small.end() :]
        if after and after[0].isalnum() and rest[small.end() - 1].isalnum() and not is_unspaced(rest[small.end() - 1]):
            break
        rest = after
    if not words.terms(rest) and not rest.strip(" ?？"):
        return False
    return not (_ORDER.search(rest) and not _PERSONAL.search(rest) and len(rest) < 200)


class MessageKinds:
    """Reads off the vector of a message whether it is of a kind that memory may matter to.

    How near it is to each landmark is weighed. The landmarks and weights in the file belong to the sentence embedder
    that comes along. Any other learned one is shown ``examples`` once, which are its landmarks.
    """

    def __init__(self, model: str, examples: Sequence[Vector | None] = ()) -> None:
        known = _read_kinds()
        self._landmarks: Floats = np.zeros((0, 0), np.float32)
        if model == known["model"]:
            self._weights, self._bias = np.array(known["weights"]), float(known["bias"])
            steps = np.frombuffer(b64decode(known["landmarks"]), np.int8).reshape(len(self._weights), -1)
            self._landmarks = np.asarray(steps / 127, np.float32)
        elif examples and all(vector is not None for vector in examples):
            self._landmarks = np.stack([vector / np.linalg.norm(vector) for vector in examples if vector is not None])
            needed = np.arange(len(examples)) >= len(known["examples"]["none"])
            self._weights, self._bias = fit(nearness(self._landmarks, self._landmarks), needed)

    def kind_of(self, vector: Vector | None) -> float | None:
        """Above 0 the more memory may matter, below 0 the less; None where the vector does not say."""
        if vector is None or len(vector) != self._landmarks.shape[1]:
            return None
        unit = vector / max(float(np.linalg.norm(vector)), 1e-9)
        return float(nearness(unit, self._landmarks) @ self._weights) + self._bias


def nearness(vectors: Floats, landmarks: Floats) -> Floats:
    """How near unit vectors are to each landmark, as a Gaussian of their distance."""
    near: Floats = np.exp(2.0 * (vectors @ landmarks.T - 1.0))
    return near


def examples_for(model: str) -> tuple[str, ...]:
    """The messages whose vectors ``MessageKinds`` needs for a model that has no weights."""
    known = _read_kinds()
    return () if model in ("", known["model"]) else (*known["examples"]["none"], *known["examples"]["need"])


def fit(seen: Floats, needed: Flags) -> tuple[Floats, float]:
    """Weights and bias of a ridge regression onto -1 and 1, each class weighing half."""
    goal = np.where(needed, 1.0, -1.0)
    weight = np.where(needed, 0.5 / needed.mean(), 0.5 / (~needed).mean())
    columns = np.hstack([seen, np.ones((len(seen), 1))])
    squares = columns.T @ (columns * weight[:, None]) + _RIDGE * np.eye(columns.shape[1])
    solved = np.linalg.solve(squares, columns.T @ (weight * goal))
    return solved[:-1], float(solved[-1])


@cache
def _read_kinds() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(KINDS_FILE.read_text(encoding="utf-8"))
    return known


@dataclass(frozen=True, slots=True)
class Features:
    """What speaks for a memory being there at all. Shares are of the question's weight in rare words.

    ``shared``: the most in one turn. ``shared_near``: the same, each turn read with the turns next to it.
    ``said``: what was ever said by anybody. ``best``: the best BM25, and ``rare`` the same as a share of what the
    four rarest words could give. ``terms`` and ``messages`` count. ``likeness``: the built-in embedder's similarity
    between the question and the likeliest turns, which means the same whatever embedder is in use. ``near``: how far
    the three nearest turns stand above unrelated sentences by the embedder in use; 0 without one. ``kind``: of
    ``MessageKinds``. ``across``: question and turns share no script, so that words cannot tell. ``known``: the question
    calls by name what is in the memory. ``fits``: the whole history would fit into the budget.
    """

    shared: float
    shared_near: float
    said: float
    best: float
    rare: float
    terms: int
    messages: int
    likeness: float
    near: float = 0.0
    kind: float | None = None
    across: bool = False
    known: bool = False
    fits: bool = False


def read_features(evidence: Evidence, messages: int, likeness: float) -> Features:
    """Read the signs out of the evidence for one question in a history of ``messages``."""
    counts = evidence.counts
    if not counts.size:
        return Features(0.0, 0.0, 0.0, 0.0, 0.0, len(counts), messages, likeness)
    rare, share = evidence.rarity, evidence.share
    if messages < _FEW:
        rare = rarity((counts > 0).sum(axis=1), _FEW)
        share = rare / rare.sum()
    near = counts + from_neighbours(counts, evidence.joined, (1.0,))
    best = bm25(counts, rare, evidence.lengths, evidence.mean_length, k1=1.2, b=0.6).max()
    return Features(
        shared=float((share @ (counts > 0)).max()),
        shared_near=float((share @ (near > 0)).max()),
        said=float((share * (counts.sum(axis=1) > 0)).sum()),
        best=float(best),
        rare=float(best) / max(1.0, float(sum(sorted(rare.tolist())[-4:]))),
        terms=len(counts),
        messages=messages,
        likeness=likeness,
    )


def confidence(found: Features) -> float:
    """How sure it is that the history holds something for the question, as a logit: 0 is even odds.

    A logistic regression over questions asked of the right history and of others.
    """
    return (
        -4.06
        - 4.32 * found.shared
        + 4.02 * found.shared_near
        + 2.11 * found.said
        + 0.52 * math.log(max(found.best, 0.1))
        + 1.67 * found.rare
        - 0.71 * math.log(found.terms + 1)
        - 0.57 * math.log(min(max(found.messages, _FEW), 1500))
        + 18.2 * found.likeness
    )


def judge(found: Features, question: str, *, seeks: bool) -> Amount:
    """How much of what was found is worth recalling.

    ``seeks``: the question looks for something that can be named, and does not ask for advice.
    """
    if found.kind is None:
        return "enough" if _is_relevant_by_words(found, question, seeks=seeks) else "nothing"
    sure = LEAST if found.across else confidence(found)
    about, personal = found.near + _ABOUT_BY_CONFIDENCE * sure, found.kind >= _PERSONAL_KIND
    is_unknown = not (personal or found.said or about >= -NEAR)
    if (found.kind + _OF_CONFIDENCE * sure < _LEAST_NEED or is_unknown) and sure < _SURE:
        return "nothing"
    enough: Amount = "best" if found.kind < 0.0 else "enough"
    if not seeks:
        return enough
    if personal or _OURSELVES.search(question):
        return enough if about >= _ANSWERED or seeks_several(question) else "little"
    return enough if _is_relevant_by_words(found, question, seeks=True) else "nothing"


def _is_relevant_by_words(found: Features, question: str, *, seeks: bool) -> bool:
    """Whether the words say that something is there; where they cannot, what is near does.

    Who asks about themselves is given what has some of the rare words and is somewhat near, and the little there is
    where the history is short.
    """
    least = LEAST_IN_LITTLE if found.fits else LEAST_OF_KNOWN if found.known else LEAST
    if confidence(found) >= (least if seeks else LEAST_FOR_REMARK):
        return True
    if found.across:
        return found.near >= NEAR
    if not _OURSELVES.search(question):
        return found.fits and bool(_PERSONAL.search(question))
    return found.fits or found.shared / _RARE + max(found.near, 0.0) / NEAR >= 1.0


# -- requests to forget --------------------------------------------------------------------------------------

#: The weights and the least scores. ``bench.forget_reading`` makes it.
READING_FILE = Path(__file__).parent / "forget_reading.json"
#: Sequences of words are hashed to so many places, and weigh so much beside the vector, which has the length 1.
_PLACES, _WORDS_WEIGH = 2048, 0.7
_PIECE = pattern_of(r"[a-z']+|[\u3400-\u9fff]|\d+|[.!?。！？：:]")


def read_like_forget_request(text: str, vector: Vector | None, model: str) -> Reading | None:
    """How certain a request to forget a message is by its vector of ``model``; None where that cannot tell.

    A linear classifier for the vectors of the built-in sentence embedder and the hashed sequences of up to three words.
    """
    known = _read_forget_weights()
    if vector is None or model != known["model"]:
        return None
    score = float(features_of([text], vector[None])[0] @ known["weights"]) + known["bias"]
    readings: tuple[Reading, ...] = ("likely", "uncertain", "possible")
    for reading in readings:
        if score >= known["least"][reading]:
            return reading
    return "none"


def features_of(texts: Sequence[str], vectors: Floats) -> Floats:
    """A row for each text: its vector as a unit vector, and its hashed sequences of words."""
    made = np.zeros((len(texts), vectors.shape[1] + _PLACES), np.float32)
    made[:, : vectors.shape[1]] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    hashed = made[:, vectors.shape[1] :]
    for row, text in zip(hashed, texts, strict=True):
        for sequence in set(_sequences(text)):
            place = crc32(sequence.encode())
            row[place % _PLACES] += 1.0 if place & 0x80000000 else -1.0
    hashed *= _WORDS_WEIGH / np.maximum(np.linalg.norm(hashed, axis=1, keepdims=True), 1e-9)
    return made


def _sequences(text: str) -> Iterator[str]:
    """The words or characters of a text, two and three in a row, and two around any third."""
    pieces = ["<", *_PIECE.findall(normalise(text.replace("’", "'")).lower()), ">"]
    for one, two, three in zip(pieces, [*pieces[1:], ""], [*pieces[2:], "", ""], strict=True):
        yield from (one, f"{one} {two}", f"{one} {two} {three}", f"{one} _ {three}")


@cache
def _read_forget_weights() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(READING_FILE.read_text(encoding="utf-8"))
    return {**known, "weights": np.array(known["weights"], np.float32)}
