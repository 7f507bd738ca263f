"""A stretch of time that is asked for: its chapter first, then turns of its days, inside the same budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.facts import Change, Slot
from domain.quotations import check_quotations
from domain.recollection import RecallLimits, Recollection
from language.scripts import estimate
from llm import Layers, assemble_prompt, ids_shown
from tests.contract.test_knowing import learned, new_fact
from tests.jobs.writing_chapters import Life, life

LIMITS = RecallLimits(3, 30, 2000)
SPRING = "What have we talked about this spring?"
MONTHS = (
    "the garden shed roof", "a letter from Lisbon", "my new neighbour Ines", "the broken dishwasher",
    "the marathon in May", "a film about whales",
)  # fmt: skip


@pytest.fixture
def year(tmp_path: Path) -> Iterator[Life]:
    """Twelve sessions, one a month, and a chapter for each quarter."""
    with life(tmp_path, group_size=3) as home:
        for month in range(12):
            home.now = datetime(2026, month + 1, 5, 19, tzinfo=UTC)
            what = MONTHS[month % 6]
            home.session(f"I told you of {what}.", f"It was {month + 1}, and {what} was all I could think of.")
        home.grow()
        home.now = datetime(2026, 12, 28, tzinfo=UTC)
        yield home


def recalled(home: Life, question: str, limits: RecallLimits = LIMITS) -> Recollection:
    home.memory.index.start()
    assert home.memory.index.settle(30)
    return home.memory.recall([question], "", home.now, limits)


def told_days(found: Recollection) -> set[str]:
    return {message.timestamp[:7] for message in found.messages}


def test_the_chapter_that_covers_it_comes_first_and_messages_of_its_days_alone(year: Life) -> None:
    found = recalled(year, "What have we talked about from April to June?")
    assert [(one.start[:7], one.end[:7], one.sessions) for one in found.chapters] == [("2026-04", "2026-06", 3)]
    assert found.messages
    assert told_days(found) <= {"2026-04", "2026-05", "2026-06"}
    assert {one.session_id for one in found.summaries} <= set(year.memory.chapters.all()[1].children) | {
        child for one in year.memory.chapters.all() for child in one.children
    }


def test_a_stretch_of_several_chapters_is_told_by_several_the_best_first(year: Life) -> None:
    found = recalled(year, "今年我们都聊了什么？")
    heights = {one.text_id: one.height for one in year.memory.chapters.all()}
    assert heights[found.chapters[0].text_id] == 2
    assert len(found.chapters) == 2


def test_a_question_about_one_matter_is_searched_for_as_ever(year: Life) -> None:
    found = recalled(year, "What did I say of the dishwasher this spring?")
    assert found.chapters == ()
    assert found.messages


def test_all_of_it_stays_inside_the_budget_and_says_what_it_is(year: Life) -> None:
    for tokens in (300, 700, 2000):
        found = recalled(year, "今年我们都聊了什么？", replace(LIMITS, tokens=tokens))
        layers = Layers("Hm?", year.now, recalled=found)
        (recall,) = [one.content for one in assemble_prompt(layers, "=== mark ===") if "drawn_from" in one.content] or [
            ""
        ]
        assert estimate(recall) <= tokens
    assert '"from":"2026-01-05","to":"2026-' in recall
    assert "never quote it" in recall


def test_a_chapter_is_never_taken_for_what_was_said(year: Life) -> None:
    found = recalled(year, "今年我们都聊了什么？")
    title = found.chapters[0].text.splitlines()[0]
    assert check_quotations(f"<blockquote>{title}</blockquote> So it was.", found) == ()


def test_what_was_handed_over_is_visited_up_to_its_life(year: Life) -> None:
    found = recalled(year, "What have we talked about from April to June?")
    session = year.memory.sessions.start()
    year.memory.rounds.store(session.session_id, "Hm?", "So.", year.now.isoformat(), "stop", served=ids_shown(found))
    visited = {node.text_id for node in year.memory.chapters.nodes() if node.visit_count}
    assert found.chapters[0].text_id in visited
    assert {message.text_id for message in found.messages} <= visited


def test_since_something_happened_is_since_the_day_that_tells_of_it(year: Life) -> None:
    year.now = datetime(2026, 7, 20, 19, tzinfo=UTC)
    year.session("I moved to Porto yesterday.", "The stairs there are steep.")
    year.now = datetime(2026, 12, 28, tzinfo=UTC)
    found = recalled(year, "What have we talked about since I moved?")
    assert told_days(found)
    assert min(told_days(found)) >= "2026-07"


def test_since_something_happened_is_since_a_known_fact_holds(year: Life) -> None:
    sessions = year.memory.sessions.recent(None)[::-1]
    before, after = (year.memory.messages.rounds(sessions[at].session_id)[0] for at in (0, 8))
    slot = Slot("person", "home")
    faro = new_fact("Faro", before, slot=slot)
    porto = new_fact("Porto", after, slot=slot, start="2026-09-02")
    assert year.memory.fact_log.learn(learned([before], faro))
    changed = Change("Faro", "changes", "2026-09-02", "Porto")
    assert year.memory.fact_log.learn(learned([after], porto, changes=[changed]))
    found = recalled(year, "What have we talked about since I moved?")
    assert told_days(found) <= {"2026-09", "2026-10", "2026-11", "2026-12"}
    assert found.messages
    assert found.chapters[0].start[:7] == "2026-10"


def test_without_a_chapter_everything_is_as_without_a_tree(tmp_path: Path) -> None:
    with life(tmp_path, group_size=9) as home:
        for number in range(6):
            home.session(f"I told you of {MONTHS[number]}.")
        home.now += timedelta(days=3)
        found = recalled(home, SPRING)
        assert found.chapters == ()
        home.memory.chapters.add(1, home.memory.chapters.ungrouped(1), "", "")
        assert recalled(home, SPRING) == found
