"""Which slots a question asks for, by its words alone, in either language: "Where do I work?" asks for the employer.

Two languages share no words, but they share slots: a question in one finds so what was told in the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from domain.facts import Slot
from domain.languages import is_unspaced
from facts.naming import latin_names
from facts.slots import COMPANION, PERSON, aliases, attribute_of, folded, kin

#: How a matter is asked for without its name.
_ASKED = (
    (r"\bwhere\b.*\b(?:i|he|she|they|you) (?:still )?live\b|住(?:在)?哪|哪[里儿]住", "home"),
    (r"\bwho\b.*\blive with\b|(?:跟|和)谁(?:一起)?住", "living with"),
    (r"\bwhere\b.*\bwork\b|在哪[里儿]?(?:家公司)?(?:上班|工作)|哪家公司|在哪[里儿]?上班", "employer"),
    (r"\bdo for a (?:living|job)\b|\bdo(?:es)? .* do for work\b|做什么工作|什么职业", "job title"),
    (r"\bhow much\b.*\b(?:earn|make|paid)\b|挣多少|赚多少", "salary"),
    (r"\bhow old\b|多大(?:了|年纪)?|几岁", "age"),
    (r"\bhow old\b|\bwhen\b.*\bborn\b|多大(?:了|年纪)?|几岁|哪年出生", "birth date"),
    (r"\bwho\b.*\b(?:dating|married to|engaged to|going out with)\b|跟谁(?:在一起|谈恋爱|结婚)", "partner"),
    (r"\bwhere\b.*\b(?:stud(?:y|ies)|go to school)\b|在哪[里儿]?(?:上学|读书|念书)", "school"),
    (r"\bwhere\b.*\bclimb\b|\bwhere\b.*\bwork out\b|在哪[里儿]?(?:健身|锻炼|攀岩)", "gym"),
    (r"\bwhere\b.*\bcome from\b|\bwhere\b.*\bgrow up\b|哪里人|在哪[里儿]长大", "hometown"),
)
_ATTRIBUTES = tuple((re.compile(pattern), name) for pattern, name in _ASKED)
#: Names of matters that are common words besides.
_COMMON = frozenset({
    "has", "can", "like", "plan", "planned", "event", "meeting", "position", "role", "condition", "interest",
    "interests", "goal", "form", "seeing", "called", "born", "sex", "pay", "relationship", "treatment", "drug", "taste",
    "enjoys", "loves", "interview", "city", "company", "schedule", "friend", "friends", "life", "speaks", "work",
    "first name",
    "喜欢", "工作", "朋友", "计划", "活动", "会的", "运动", "安排", "打算", "地址", "怕",
})  # fmt: skip
_PERSON = re.compile(r"\b(?:i|i'm|i've|my|mine|me)\b|[我咱俺]")
_COMPANION = re.compile(
    r"\byour\b|\b(?:do|did|are|have|were|can) you\b(?! (?:remember|know|recall|think|tell))|你(?!还?记得|知道|说|告诉)"
)
_FAVOURITE = re.compile(r"favou?rite [a-z]+|最(?:喜欢|爱|喜爱)的[\u4e00-\u9fff]{2}")
_NO_WORD = re.compile(r"[^\w]+")


def slots_asked(question: str) -> tuple[Slot, ...]:
    """The slots that a question asks for; none where it names no matter, or nobody whose matter it is.

    >>> slots_asked("Where do I work?") == slots_asked("我在哪里上班？")
    True
    """
    plain = folded(question)
    akin = [word for word in sorted(kin()) if re.search(rf"\bmy {word}\b", plain)]
    theirs = {attribute_of(word)[0] for word in akin}
    asked = dict.fromkeys(_attributes(plain))
    slots = [Slot(PERSON, attribute) for attribute in asked if attribute in theirs]
    for subject in _subjects(question, plain, akin) if asked else ():
        slots += [Slot(subject, attribute) for attribute in asked if attribute not in theirs]
    return tuple(dict.fromkeys(slots))


def _attributes(plain: str) -> Iterator[str]:
    """The matters that are named, or asked for in other words."""
    yield from (name for pattern, name in _ATTRIBUTES if pattern.search(plain))
    yield from (attribute_of(found[0])[0] for found in _FAVOURITE.finditer(plain))
    padded = f" {_NO_WORD.sub(' ', plain)} "
    yield from (name for alias, name in aliases() if _is_named(alias, plain, padded))


def _is_named(alias: str, plain: str, padded: str) -> bool:
    """Whether a question holds this name of a matter, as words of its own where words stand apart."""
    if alias in _COMMON or len(alias) < 2:
        return False
    return alias in plain if any(map(is_unspaced, alias)) else f" {alias} " in padded


def _subjects(question: str, plain: str, akin: Sequence[str]) -> Iterator[str]:
    """Whom it is about: whom it calls by name, who is theirs who asks, and the two who talk."""
    yield from (
        name.casefold() for name in latin_names(question) if not name.casefold().startswith(("i'", "i’"))
    )
    yield from akin
    if _PERSON.search(re.sub(rf"\bmy (?:{'|'.join(akin)})\b", "", plain) if akin else plain):
        yield PERSON
    if _COMPANION.search(plain):
        yield COMPANION
