"""The diary: a page after each saved session, of sentences that rest on its messages, erased and hidden with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from domain.workers import CancelToken
from jobs.rebuild import erase
from tests.support.house import House, Mind, house
from tests.support.server import ScriptedServer, status

SAID = ("My sister Ruth plays the cello.", "The concert in Leeds is on 12 December.", "Biscuit the beagle is ill.")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def mind(server: ScriptedServer) -> Mind:
    return Mind(server)


@pytest.fixture
def home(tmp_path: Path, server: ScriptedServer, mind: Mind, new_id: Any, log: Any) -> Any:
    def opened(**settings: str) -> AbstractContextManager[House]:
        clock = lambda: datetime(2026, 11, 25, 20, 15, tzinfo=UTC)  # noqa: E731
        return house(tmp_path, server, clock, new_id, log, **{"DIARY": "on", **settings})

    return opened


def talk_and_save(at: House, *lines: str) -> str:
    for line in lines:
        at.say(line)
    session = at.talk.session.session_id
    at.save()
    at.talk.maintenance.wait()
    return session


def test_a_saved_session_becomes_one_page_whose_sentences_name_the_messages_they_rest_on(home: Any, mind: Mind) -> None:
    mind.answers("diary", "Ruth plays the cello. [1]\nThe concert in Leeds is on 12 December. [3]\n")
    with home() as at:
        session = talk_and_save(at, *SAID)
        (page,) = at.memory.chapters.pages()
        assert page.session_id == session
        assert page.text == "Ruth plays the cello.\nThe concert in Leeds is on 12 December."
        said = {one.text_id: one.words for one in at.memory.messages.of_session(session)}
        assert [[said[one] for one in ids] for _, ids in page.sentences] == [[SAID[0]], [SAID[1]]]
        assert page.start.startswith("2026-11-25")
        assert len(mind.asked("diary")) == 1
        assert at.memory.chapters.all() == []
        assert all(one.rank < 2 or one.text_id == "life" for one in at.memory.chapters.nodes())


@pytest.mark.parametrize(
    "line",
    [
        "Ruth plays the cello.",
        "Ruth plays the cello. [99]",
        "Ruth plays the cello in Vienna. [1]",
        "Ruth is 44 and plays the cello. [1]",
        "We laughed until the rain stopped. [1]",
    ],
)
def test_a_sentence_that_names_no_message_or_says_more_than_it_does_is_dropped(
    home: Any, mind: Mind, line: str
) -> None:
    mind.answers("diary", f"{line}\nBiscuit the beagle is ill. [5]")
    with home() as at:
        talk_and_save(at, *SAID)
        assert [page.text for page in at.memory.chapters.pages()] == ["Biscuit the beagle is ill."]


def test_erasing_a_message_takes_its_page_along_and_it_is_written_again_from_the_rest(home: Any, mind: Mind) -> None:
    with home() as at:
        session = talk_and_save(at, *SAID)
        before = at.memory.chapters.pages()[0].text
        assert "Biscuit" in before
        (first, *_) = [one for one in at.memory.messages.of_session(session) if "Biscuit" in one.words]
        list(erase(at.memory, at.llm, at.memory.erasure.scope_of_words("Biscuit"), CancelToken()))
        assert first.text_id not in [one.text_id for one in at.memory.messages.of_session(session)]
        assert at.memory.chapters.pages() == []
        assert "Biscuit" not in str(at.rows("chapter"))
        at.talk.start_maintenance()
        at.talk.maintenance.wait()
        after = at.memory.chapters.pages()[0].text
        assert "Ruth" in after
        assert "Biscuit" not in after


def test_what_is_hidden_leaves_the_page_and_its_task_and_comes_back_when_it_may(home: Any, mind: Mind) -> None:
    with home() as at:
        session = talk_and_save(at, *SAID)
        hidden = [one.text_id for one in at.memory.messages.of_session(session) if "Biscuit" in one.words]
        at.memory.rounds.hide(hidden)
        assert at.memory.chapters.pages() == []
        at.talk.start_maintenance()
        at.talk.maintenance.wait()
        assert "Biscuit" not in at.memory.chapters.pages()[0].text
        assert "Biscuit" not in str(mind.asked("diary")[-1])
        at.memory.rounds.unhide(hidden)
        at.talk.start_maintenance()
        at.talk.maintenance.wait()
        assert "Biscuit" in at.memory.chapters.pages()[0].text


def test_a_session_that_is_open_again_has_no_page_and_gets_a_new_one_when_it_is_saved(home: Any, mind: Mind) -> None:
    with home() as at:
        session = talk_and_save(at, SAID[0])
        at.talk.undo()
        assert at.memory.chapters.pages() == []
        assert not at.memory.chapters.put_page(session, [], [])
        talk_and_save(at, SAID[1])
        (page,) = at.memory.chapters.pages()
        assert re.search("cello.*\n.*Leeds", page.text)


def test_a_page_waits_for_a_model_that_fails_and_is_written_at_the_next_start(
    home: Any, server: ScriptedServer, mind: Mind
) -> None:
    mind.answers("diary", status(500))
    with home() as at:
        talk_and_save(at, *SAID)
        assert at.memory.chapters.pages() == []
        assert "diary.failed" in [one.key for one in at.talk.maintenance.notices]
    mind.answers("diary", "Ruth plays the cello. [1]")
    with home() as at:
        at.talk.start_maintenance()
        at.talk.maintenance.wait()
        assert [page.text for page in at.memory.chapters.pages()] == ["Ruth plays the cello."]


def test_without_the_setting_nothing_is_asked_and_the_pages_that_are_there_stay(home: Any, mind: Mind) -> None:
    with home() as at:
        talk_and_save(at, SAID[0])
    with home(DIARY="off") as at:
        talk_and_save(at, SAID[1])
        assert len(at.memory.chapters.pages()) == 1
    assert len(mind.asked("diary")) == 1


def test_by_itself_the_diary_is_kept_at_the_terminal_and_not_for_served_people(home: Any, mind: Mind) -> None:
    from jobs.maintenance import Maintenance
    from jobs.scheduler import Scheduler

    with home(DIARY="auto") as at:
        talk_and_save(at, SAID[0])
        assert len(at.memory.chapters.pages()) == 1
        scheduler = Scheduler(1)
        served = Maintenance(at.settings, at.memory, at.llm, scheduler)
        served.after_save(at.memory.chapters.pages()[0].session_id)
        served.wait()
        served.end(0)
    assert len(mind.asked("diary")) == 1


def test_a_page_in_chinese_keeps_to_what_was_said(home: Any, mind: Mind) -> None:
    good, bad = "小雨的姐姐在练大提琴，我说替她高兴。[1，2]", "小雨的姐姐在维也纳练大提琴，练了 12 年。[1]"
    mind.answers("talk", "真好，替她高兴。")
    mind.answers("diary", f"{good}\n{bad}\n豆包病了【3】。\n今晚的月亮很圆。[3]")
    with home() as at:
        session = talk_and_save(at, "我姐姐小晴最近在练大提琴。", "我家的猫豆包病了。")
        (page,) = at.memory.chapters.pages()
        assert page.text == "小雨的姐姐在练大提琴，我说替她高兴。\n豆包病了。"
        ids = [one.text_id for one in at.memory.messages.of_session(session)]
        assert [messages for _, messages in page.sentences] == [tuple(ids[:2]), (ids[2],)]
