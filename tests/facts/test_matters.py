"""What is open and may be brought up at an opening: eighty openings in two languages, and the clock.

The drafts of the table are those of a model that takes everything for open; what it says of their days is not asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from domain.matters import NewMatter, OpenMatter
from domain.records import PREFIX, Message
from facts.drafts import FactDraft, QuoteDraft
from facts.matters import check_matters, due_now, settle
from facts.slots import NO_NAMES

OPENINGS = json.loads((Path(__file__).parent / "openings.json").read_text(encoding="utf-8"))
#: The half of the table that no rule was tuned on was measured once, before any of it was looked at.
PARTS = ("tuned", "unseen")


def messages_of(case: Any) -> list[Message]:
    return [
        Message(at, f"m{at}", "s", one["at"], one["who"], PREFIX[one["who"]] + one["text"], (at + 1) // 2)
        for at, one in enumerate(case["said"], 1)
    ]


def drafts_of(case: Any) -> list[FactDraft]:
    """Everything that has a kind, quoted whole."""
    return [
        FactDraft(one["text"], "", "matter", one["text"], "person", "stated", (), (), (), "", "", "", (at,),
                  quotes=(QuoteDraft(at, one["text"]),), open=one["kind"])
        for at, one in enumerate(case["said"], 1)
        if one.get("kind")
    ]  # fmt: skip


def stored(number: int, new: NewMatter, messages: Sequence[Message]) -> OpenMatter:
    (message,) = [one for one in messages if one.text_id == new.message]
    return OpenMatter(
        number, new.kind, message.text_id, message.seq, message.role, message.timestamp, new.words, new.due_from,
        new.due_to, new.precision, new.yearly, new.sensitivity, new.key, new.next_review, new.expires, "pending", 0, "",
        False,
    )  # fmt: skip


def matters_of(case: Any) -> list[OpenMatter]:
    """What is open by the time of the opening."""
    messages, now = messages_of(case), datetime.fromisoformat(case["opens"])
    new, _ = check_matters(drafts_of(case), messages, (), NO_NAMES)
    matters = [stored(number, one, messages) for number, one in enumerate(new, 1)]
    became = {one.number: one for one in settle(matters, messages, now)}
    return [
        replace(one, status=became[one.number].status, yearly=became[one.number].yearly or one.yearly)
        if one.number in became else one for one in matters
    ]  # fmt: skip


def brought_up(case: Any) -> set[int]:
    """The numbers of the messages that are brought up."""
    found = due_now(matters_of(case), datetime.fromisoformat(case["opens"]))
    return {one.place for one in found}


def score(cases: Sequence[Any]) -> tuple[float, float, list[str]]:
    """Precision, recall of what must be brought up, and where the table is contradicted."""
    right = wrong = met = must = 0
    contradicted = []
    for case in cases:
        chosen, wanted = brought_up(case), {*case["must"]}
        allowed = wanted | {*case["may"]}
        right, wrong = right + len(chosen & allowed), wrong + len(chosen - allowed)
        met, must = met + len(chosen & wanted), must + len(wanted)
        if chosen - allowed or wanted - chosen:
            contradicted.append(f"{case['id']} {case['case']}: {sorted(chosen)}")
    return right / ((right + wrong) or 1), met / must, contradicted


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_brought_up_at_an_opening_may_be_and_most_of_what_must_be_is(language: str, part: str) -> None:
    cases = [one for one in OPENINGS if one["id"].startswith(language) and one["part"] == part]
    precision, recall, contradicted = score(cases)
    assert precision >= 0.95, contradicted
    assert recall >= 0.8, contradicted
