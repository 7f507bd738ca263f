"""How much a fact matters, by its kind: what is rare and vital has its place beside what is frequent or newer."""

from __future__ import annotations

from collections.abc import Iterable

from domain.facts import Fact
from domain.patterns import Guarded

#: What harms somebody if it is left out.
VITAL = 10
#: Any other kind, and where such was only supposed or said in jest.
_PLAIN, _NOT_SO = 4, 3
_BY_ATTRIBUTE = {
    **dict.fromkeys(("allergy", "medication", "death", "promise", "name"), VITAL),
    **dict.fromkeys(
        ("living with", "partner", "child", "parent", "sibling", "pet", "health", "way of talking", "nickname"), 9
    ),
    **dict.fromkeys(("home", "birth date", "employer", "job title", "relationship status", "doctor"), 8),
    **dict.fromkeys(("plan", "appointment", "worry", "friend", "school"), 6),
}
_VITAL_WORDS = Guarded(
    "allerg|anaphyla|epipen|mg|mcg|μg|ml|iu|units|insulin|blood thinner|died|passed away|death of|promise|过敏|毫克"
    "|微克|毫升|剂量|胰岛素|去世|过世|病逝|离世|答应|承诺|保证过",
    r"\ballerg\w+|\banaphyla\w+|\bepipen\b|\d ?(?:mg|mcg|μg|ml|iu|units)\b|\binsulin\b|\bblood thinner"
    r"|\b(?:died|passed away|death of)\b|\bpromise[sd]?\b"
    r"|过敏|毫克|微克|毫升|剂量|胰岛素|去世|过世|病逝|离世|答应|承诺|保证过",
)


def importance_of(*facts: Fact) -> int:
    """The importance of the most important of some facts, 1 to 10."""
    weak = {one.text_id: _NOT_SO for one in facts if one.stance in ("joked", "supposed")}
    kinds = (_BY_ATTRIBUTE.get(one.slot.attribute, weak.get(one.text_id, _PLAIN)) for one in facts)
    return VITAL if any(map(is_vital, facts)) else max(kinds, default=_PLAIN)


def is_vital(fact: Fact) -> bool:
    """Whether a fact is of an allergy, a medicine or its dose, a death or a promise, and meant as said."""
    if fact.stance in ("joked", "supposed", "wished"):
        return False
    words = "\n".join((fact.restatement, *(one.words for one in fact.quotes))).casefold()
    by_kind = _BY_ATTRIBUTE.get(fact.slot.attribute) == VITAL and fact.slot.attribute != "name"
    return by_kind or _VITAL_WORDS.search(words) is not None


def vital_facts(facts: Iterable[Fact], most: int) -> list[Fact]:
    """The vital facts that hold, as far as known, at most so many: the newest, in the order in which they were said."""
    found = [one for one in facts if one.current and one.basis != "inferred" and is_vital(one)]
    newest = sorted(found, key=lambda one: one.seen)[-most:]
    return sorted(newest, key=lambda one: one.said)
