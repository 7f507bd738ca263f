"""Whether memory is needed, and whether what was found is worth recalling.

``needs_memory`` reads the input alone; ``is_relevant`` reads the features of what was found. Both fail towards
recalling: silence costs a person more than a memory too many.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from domain.patterns import pattern_of
from language import words
from language.scripts import is_unspaced
from recall.ranking import Evidence, bm25, from_neighbours, rarity

#: In fewer turns than this no word is rare yet: what is held is weighed as if there were so many.
_FEW = 150
#: The least confidence at which something is handed over.
LEAST = -1.85
#: The same for what seeks nothing: it may remind of something in quite other words, but not of what has none of it.
LEAST_FOR_REMARK = -6.0
#: The same where a question calls by name whom, or what, the history has heard of.
LEAST_OF_KNOWN = -3.5
#: The same while the whole history would fit into the budget.
LEAST_IN_LITTLE = -4.0
#: How far the nearest turn must stand above sentences that have nothing to do with anything, to be near: as a cosine.
NEAR = 0.15
#: The same for who asks about themselves in a language that nothing was said in, where no word can tell.
_NEAR_ACROSS = 0.1
#: The share of a question's weight in rare words that a turn must hold to speak of what was asked.
_RARE = 0.4

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


@dataclass(frozen=True, slots=True)
class Features:
    """What speaks for a memory being there at all. Shares are of the question's weight in rare words.

    ``held``: the most that one turn holds. ``held_near``: the same, each turn read with the turns next to it.
    ``heard``: what was ever said by anybody. ``best``: the best BM25, and ``rare`` the same as a share of what the
    four rarest words could give. ``terms`` and ``turns`` count. ``likeness``: the built-in embedder's similarity
    between the question and the likeliest turns, which means the same whatever embedder is in use. ``apart``: how far
    the nearest turn stands above unrelated sentences by the embedder in use; 0 without one. ``across``: question and
    turns share no script, so that words cannot tell. ``known``: the question calls by name what was heard of.
    """

    held: float
    held_near: float
    heard: float
    best: float
    rare: float
    terms: int
    turns: int
    likeness: float
    apart: float = 0.0
    across: bool = False
    known: bool = False


def read_features(evidence: Evidence, turns: int, likeness: float, *, across: bool = False) -> Features:
    """Read the signs out of the evidence for one question in a history of ``turns``."""
    counts = evidence.counts
    if not counts.size:
        return Features(0.0, 0.0, 0.0, 0.0, 0.0, len(counts), turns, likeness, evidence.apart, across)
    rare, share = evidence.rarity, evidence.share
    if turns < _FEW:
        rare = rarity((counts > 0).sum(axis=1), _FEW)
        share = rare / rare.sum()
    near = counts + from_neighbours(counts, evidence.joined, (1.0,))
    best = bm25(counts, rare, evidence.lengths, evidence.mean_length, k1=1.2, b=0.6).max()
    return Features(
        held=float((share @ (counts > 0)).max()),
        held_near=float((share @ (near > 0)).max()),
        heard=float((share * (counts.sum(axis=1) > 0)).sum()),
        best=float(best),
        rare=float(best) / max(1.0, float(sum(sorted(rare.tolist())[-4:]))),
        terms=len(counts),
        turns=turns,
        likeness=likeness,
        apart=evidence.apart,
        across=across,
    )


def confidence(found: Features) -> float:
    """How sure it is that the history holds something for the question, as a logit: 0 is even odds.

    A logistic regression over questions asked of the right history and of others.
    """
    return (
        -4.06
        - 4.32 * found.held
        + 4.02 * found.held_near
        + 2.11 * found.heard
        + 0.52 * math.log(max(found.best, 0.1))
        + 1.67 * found.rare
        - 0.71 * math.log(found.terms + 1)
        - 0.57 * math.log(min(max(found.turns, _FEW), 1500))
        + 18.2 * found.likeness
    )


def is_relevant(found: Features, question: str, *, seeks: bool = True, of_that_day: bool = False) -> bool:
    """Whether the best that was found is worth handing over.

    ``seeks``: the question looks for something that can be named; what does not, or asks for advice, is held to less,
    and so is what asks of somebody who was spoken of.
    Those who ask about themselves, or whether something is remembered, are given what holds the rare words of it ("What
    did I buy?"), what is near it, what is half of each, and with ``of_that_day`` what was said on the very day they
    speak of: silence costs them more than a memory too many. Where words cannot tell, nearness does.
    """
    least = LEAST_OF_KNOWN if found.known else LEAST
    if confidence(found) >= (least if seeks else LEAST_FOR_REMARK):
        return True
    if _OURSELVES.search(question):
        near = max(found.apart, 0.0) / (_NEAR_ACROSS if found.across else NEAR)
        return of_that_day or found.held / _RARE + near >= 1.0
    return found.across and found.apart >= NEAR


def is_relevant_in_little(found: Features, question: str) -> bool:
    """The same for a history that would fit into the budget as it is.

    There rare and common words cannot be told apart yet, so less is asked for; and a question about the people
    who talk is given the little there is, though it may say everything in other words.
    """
    if confidence(found) >= LEAST_IN_LITTLE or bool(_PERSONAL.search(question)):
        return True
    return found.across and found.apart >= NEAR
