"""Whether a statement says more than the words it rests on: severe for mild, won for third, every day for today.

Each scale lists words for its degrees from the weakest to the strongest, in English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from domain.patterns import pattern_of
from facts.cues import is_denial
from facts.evidence import telling_terms
from language.sentences import split_clauses

_CAME = r"\b(?:came|got|finished|placed|took|won|in)(?: (?:a|the|my|her|his|our))?"
_SEVERITY = (
    r"\b(?:mild(?:ly)?|slight(?:ly)?|minor|a (?:little )?bit(?! of\b)|grade (?:one|two|1|2))\b|轻[度微]|有点|一点",
    r"\bmoderate\b|中度",
    r"\b(?:serious|severe|dangerous|life-threatening)(?:ly)?\b|\bbadly\b|重度|严重|危险",
)
_RANK = (
    rf"{_CAME} (?:third|3rd|bronze)\b|\b(?:third|3rd) (?:place|prize)\b|季军|第三(?=名|[，。！]|$)|三等",
    rf"{_CAME} (?:second|2nd|silver)\b(?! (?:hand|time))|\b(?:second|2nd) (?:place|prize)\b|\brunners?.up\b"
    r"|亚军|第二(?=名|[，。！]|$)|二等",
    r"\b(?:won(?!['’]| (?:a |the )?(?:silver|bronze|second|third|2nd|3rd)\b)|winners?|champions?)\b"
    r"|\bfirst (?:place|prize)\b|冠军|第一(?=名|[，。！]|$)|一等奖",
)
_FREQUENCY = (
    r"\b(?:today|tonight|yesterday|last night|once|this (?:morning|afternoon|evening))\b"
    r"|今[天日晚]|昨[天日晚]|(?<!天)一次",
    r"\b(?:every|always|daily|nightly|mornings|evenings|nights|regular|usual|normal|most|again|times?|twice|too)\w*"
    r"|\b(?:a|per|each) (?:day|night)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|[每天]天|[每一]日|[一两三]天|每[周晚]|每个周|年年|经常|平时|总是?|一直|照例|又|也",
)
_EXTENT = (
    r"\b(?:half|hardly|up to|partly)\b|一半|多半|几乎",
    r"\b(?:whole|entire|complete|altogether|full)\w*|\ball (?:the|of|my|his|her|their|our)\b|全|完全|整个|彻底",
)
_SIDE = r"(?:the|my|his|her|its|your|their)"
#: Each side as part of something, and any word for it; "the right one" may be no side.
_SIDES = [
    (pattern_of(rf"\b{_SIDE} {side}\b(?! now\b)|{han}", re.IGNORECASE), pattern_of(rf"\b{side}\b|{han}", re.IGNORECASE))
    for side, han in (("left", "左(?!右)"), ("right", "(?<!左)右"))
]
_SCALES: Sequence[Sequence[re.Pattern[str]]] = [
    [pattern_of(degree, re.IGNORECASE) for degree in scale] for scale in (_SEVERITY, _RANK, _FREQUENCY, _EXTENT)
]
_BOTH = pattern_of(r"\bboth\b|两[只边眼侧条]|双[眼手脚膝腿耳侧]", re.IGNORECASE)


def is_overstated(statement: str, quoted: Sequence[str], said: Iterable[str]) -> bool:
    """Whether a statement names a stronger degree than the ``quoted`` words, or both sides or the other one for one.

    ``said`` are the messages of these words: what one of them names is not overstated.

    >>> is_overstated("Nan has severe anaemia.", ["mild anaemia"], ["It's mild anaemia, she said."])
    True
    >>> is_overstated("冬冬得了冠军。", ["得了第三名"], ["得了第三名，去年是冠军"])
    False
    """
    if is_denial(statement):
        return False
    wanted, around = telling_terms(statement), " ".join(said)
    clauses = [clause for words in quoted for clause in split_clauses(words)]
    telling = [each for each in clauses if len(clauses) == 1 or not wanted.isdisjoint(telling_terms(each))]
    for scale in _SCALES:
        stated = next((at for at in range(len(scale) - 1, 0, -1) if scale[at].search(statement)), 0)
        named = any(one.search(around) for one in scale[stated:])
        if stated and not named and any(one.search(clause) for one in scale[:stated] for clause in telling):
            return True
    return _is_of_other_side(statement, around)


def _is_of_other_side(statement: str, said: str) -> bool:
    for (own, _), (other, any_other) in (_SIDES, _SIDES[::-1]):
        if own.search(said) and not any_other.search(said) and not _BOTH.search(said):
            return other.search(statement) is not None or _BOTH.search(statement) is not None
    return False
