"""The facts that a set gives for its sessions, as they are learned: with what they name, and the days they tell of.

The sets say neither; both follow by the rules that check what a model draws (``language``, ``facts.dates``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from domain.facts import Learned, NewFact, NewNote, Slot, Window
from domain.records import Message
from language.times import possible_ranges
from language.words import names_in


def learned(
    session_id: str, given: Sequence[tuple[str, tuple[str, ...]]], messages: Sequence[Message], tids: Mapping[str, str]
) -> Learned | None:
    """All facts of one session, each resting on the turns that the set names; None where it gives none.

    ``tids`` are the names that the set has for turns, by their ids.
    """
    facts = [
        _fact(f"{session_id}-{number}", text, [message for message in messages if tids.get(message.text_id) in on])
        for number, (text, on) in enumerate(given)
    ]
    facts = [fact for fact in facts if fact.messages]
    if not facts:
        return None
    window = Window(messages[-1].text_id, session_id, tuple(message.text_id for message in messages))
    notes = tuple(NewNote(fact.note, fact.restatement, "", 5, "active", fact.messages) for fact in facts)
    return Learned(window, notes, tuple(facts))


def _fact(name: str, text: str, messages: Sequence[Message]) -> NewFact:
    said = messages[-1].timestamp if messages else ""
    told = possible_ranges(text, date.fromisoformat(said[:10]))[1:] if said else ()
    days = min(told, key=lambda days: days.last - days.first, default=None)
    return NewFact(
        text_id=name, note=f"note {name}", restatement=text, subject="", attribute=name, value=text,
        slot=Slot("given", name), single=False, about="other", stance="stated", said=said,
        messages=tuple(message.text_id for message in messages), persons=tuple(dict.fromkeys(names_in(text))),
        start=days.first.isoformat() if days else "", end=days.last.isoformat() if days else "",
    )  # fmt: skip
