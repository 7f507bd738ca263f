"""A summary that was written under a wrong name is recalled, searched, listed and sent under the right one."""

from __future__ import annotations

import json

import pytest

from domain.recollection import RecallLimits
from jobs.exporting import forest_of, summary_units
from tests.jobs.test_verification import Opened, answering, fact, notes, saved
from tests.support.house import Mind

LIMITS = RecallLimits(sessions=3, messages=10, tokens=2000)
LIVES = [
    ("My sister is called Annette, she marries in May. Annette is nervous.", "the user's sister is Annette",
     "It's Annika, not Annette: my phone autocorrects it.",
     "the user's sister is Annika", "The user's sister {} marries in May. The user wrote: “{} is nervous.”",
     "Annette", "Annika", "What do you know of my sister and when she marries in May?"),
    ("我女朋友叫林晓，五月去绍兴教美术。林晓很紧张。", "用户的女朋友叫林晓",
     "林晓的“晓”我一直打错了，是竹字头那个筱，林筱。",
     "用户的女朋友是林筱", "用户的女朋友{}五月去绍兴教美术。用户写道：“{}很紧张。”",
     "林晓", "林筱", "我女朋友五月去绍兴做什么？"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "known", "said", "right_fact", "summary", "wrong", "right", "question"), LIVES)
def test_a_summary_comes_up_under_the_name_that_was_corrected_since_everywhere_but_in_a_copy(
    opened: Opened, mind: Mind, first: str, known: str, said: str, right_fact: str, summary: str,
    wrong: str, right: str, question: str,
) -> None:  # fmt: skip
    called = {"subject": right, "attribute": "name", "about": "other"}
    attribute = "sister" if wrong == "Annette" else "女朋友"
    quoted = first.replace("，", ", ").partition(", ")[0]
    mind.answers("notes", notes(fact(1, quoted, known, wrong, attribute=attribute)),
                 notes(fact(1, said, right_fact, right, **called)), notes())  # fmt: skip
    mind.answers("verify", answering())
    mind.answers("compare", '{"verdicts": []}')
    mind.answers("fold", summary.format(wrong, wrong), "-")
    corrected = summary.format(right, wrong)
    with opened() as home:
        session = home.talk.session.session_id
        saved(home, first)
        saved(home, said)
        memory = home.memory
        assert memory.summaries.of(session).summary == summary.format(wrong, wrong)
        now = home.talk.steps.clock()
        present = memory.sessions.recent(1)[0].session_id
        (recalled,) = memory.recall([question], present, now, LIMITS, gated=False).summaries
        assert recalled.text == corrected
        (found,) = memory.search(wrong, LIMITS).summaries
        assert found.text == corrected
        (unit,) = summary_units(memory, "life", [session])
        assert unit.content == corrected
        copied = {one.id: one.content for one in forest_of(memory, "bot", "life").units}
        assert copied[session] == summary.format(wrong, wrong)
        home.say(question)
        sent = "\n".join(one["content"] for one in mind.asked("talk")[-1]["messages"])
        records = [json.loads(line) for line in sent.splitlines() if line.startswith('{"when"')]
        shown = [one["summary"] for one in records if "summary" in one]
        assert len(shown) == 1
        assert shown[0].startswith(corrected)
