"""A fact in the words of the person who corrects it.

Promises: it fills the same slot and rests on the same messages; names that the new words do not hold are dropped.
"""

from __future__ import annotations

from domain.facts import Fact, NewFact

#: How a thing may have been said that stays so when it is put into other words.
_STAYS = ("planned", "wished")


def corrected_fact(fact: Fact, text: str, text_id: str) -> NewFact:
    """What takes the place of a fact when a person says ``text`` instead."""
    return NewFact(
        text_id, fact.note, text, fact.subject, fact.attribute, _value(fact, text), fact.slot, fact.single,
        fact.about, fact.stance if fact.stance in _STAYS else "stated", fact.said, fact.turns,
        keywords=_still(fact.keywords, text), persons=_still(fact.persons, text),
        entities=_still(fact.entities, text), location=fact.location if fact.location in text else "",
        start=fact.start,
    )  # fmt: skip


def _still(names: tuple[str, ...], text: str) -> tuple[str, ...]:
    return tuple(name for name in names if name in text)


def _value(fact: Fact, text: str) -> str:
    """The new value: what stands in the place of the old one, where only that differs; else the whole text."""
    if not fact.value or fact.value not in fact.restatement:
        return text
    before, _, after = fact.restatement.partition(fact.value)
    differs = text[len(before) : len(text) - len(after)].strip()
    return differs if text == before + differs + after else text
