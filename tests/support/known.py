"""What tests of what is known stand on: notes and facts as they are stored, and what a persona is made from."""

from __future__ import annotations

import dataclasses
from typing import Any

from domain.facts import Change, Fact, NewFact, Note, Slot
from domain.records import Persona
from facts.persona_lines import QuotedFact
from models.tasks import Changed, PersonaTask

SAID = "2026-05-01T13:05:00+00:00"
SPOKEN = (SAID, "2026-05-02T01:00:00+00:00")


def note(text: str, *messages: str) -> Note:
    """A stored note."""
    return Note("note-1", "session-1", SAID, text, "life", 5, "active", True, messages or ("turn-1",))


def fact(restatement: str, *messages: str, **changed: Any) -> Fact:
    """A stored fact that was stated of the person."""
    made = Fact(
        1, "fact-1", "note-1", "session-1", restatement, "Ann", "home", "Lyon", Slot("person", "home"), True,
        "person", "stated", SAID, SAID, messages or ("turn-1",),
    )  # fmt: skip
    return dataclasses.replace(made, **changed)


def new_fact(restatement: str, *messages: str, **changed: Any) -> NewFact:
    """A fact that is to be stored."""
    made = NewFact(
        "new-1", "note-1", restatement, "Ann", "home", "Lyon", Slot("person", "home"), True, "person", "stated",
        SAID, messages or ("turn-1",),
    )  # fmt: skip
    return dataclasses.replace(made, **changed)


def persona_task(persona: Persona, line: str, stated: str, before: str = "") -> PersonaTask:
    """What a persona of one line is made from: a fact, and where ``before`` is given what it changed."""
    known, new = fact(before, "turn-0"), fact(stated)
    changed = [Changed(Change("fact-0", "changes", SAID, "fact-1"), known, new)] if before else []
    return PersonaTask(persona, {1: line} if line else {}, [QuotedFact(new)], changed, SPOKEN, 800)
