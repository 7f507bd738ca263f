"""Chapters: full groups in order, each summarised once, of what stands; and what a model that fails leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from domain import errors
from domain.events import Notice
from domain.facts import Learned, NewFact, NewNote, Window
from domain.records import IMPORT_CLIENT
from domain.tree import LIFE, Member
from domain.workers import CancelToken
from jobs.chapters import ChapterWriter, ChapterWritten, full_groups, shorten_members
from jobs.extraction import names_of_both
from language.scripts import estimate
from tests.facts.talk import new_fact
from tests.jobs.writing_chapters import TITLE, Life, life
from tests.support.house import Mind, house
from tests.support.past import bring, talk
from tests.support.server import ScriptedServer


def test_eight_sessions_become_a_chapter_and_eight_chapters_one_over_them(tmp_path: Path) -> None:
    with life(tmp_path) as home:
        sessions = home.sessions(7)
        assert home.grow() == []
        sessions += home.sessions(1)
        assert home.grow() == [ChapterWritten(1, 8)]
        (chapter,) = home.memory.chapters.all()
        assert chapter.children == tuple(sessions)
        assert chapter.title == TITLE
        assert [part["text"] for part in home.writer.parts()] == [
            home.memory.summaries.of(one).summary for one in sessions
        ]
        home.sessions(56)
        home.grow()
        made = home.memory.chapters.all()
        assert sorted(one.height for one in made) == [1] * 8 + [2]
        top = max(made, key=lambda one: one.height)
        assert top.sessions == tuple(range(1, 65))
        assert home.writer.calls == 9
        assert [one.rank for one in home.memory.chapters.nodes(LIFE)] == [2]


def test_no_more_than_one_call_is_made_for_seven_nodes_and_none_twice(tmp_path: Path) -> None:
    with life(tmp_path, group_size=3) as home:
        for _ in range(60):
            home.sessions(1)
            home.grow()
            nodes = sum(node.rank > 0 for node in home.memory.chapters.nodes()) - 1
            assert home.writer.calls * 2 <= nodes
            calls = home.writer.calls
            assert home.grow() == []
            assert home.writer.calls == calls


def test_a_session_of_the_past_joins_those_near_it_and_not_those_of_today(tmp_path: Path) -> None:
    def member(name: str, day: str, grouped_before: int) -> Member:
        return Member(name, name, name, f"{day}T09:00:00+00:00", f"{day}T10:00:00+00:00", grouped_before)

    old, near, today = (member("a", "2023-05-01", 0), member("b", "2023-06-20", 0), member("c", "2026-01-01", 8))
    late = member("d", "2026-01-20", 9)
    assert list(full_groups([old, near, today, late], 2)) == [[old, near], [today, late]]
    assert list(full_groups([near, today, late], 2)) == [[today, late]]
    assert list(full_groups([near, today], 2)) == []
    unready = replace(near, unready_before=1)
    assert list(full_groups([old, unready], 2)) == []


def test_what_is_too_long_together_is_shortened_the_longest_first() -> None:
    def member(words: int) -> Member:
        return Member("n", "n", "word " * words, "", "")

    few = [member(10), member(20)]
    assert shorten_members(few, 100) == few
    short, long, longer = shorten_members([member(50), member(900), member(2_000)], 600)
    assert short.text == "word " * 50
    assert sum(estimate(one.text) for one in (short, long, longer)) <= 600
    assert abs(estimate(long.text) - estimate(longer.text)) <= 10


def test_a_model_that_fails_leaves_the_chapter_for_later_and_says_so_once(tmp_path: Path) -> None:
    with life(tmp_path, group_size=2) as home:
        home.sessions(4)
        home.writer.failing = 500
        (told,) = home.grow()
        assert isinstance(told, Notice)
        assert told.key == "chapters.failed"
        assert home.memory.chapters.all() == []
        home.writer.failing = 0
        assert home.grow() == [ChapterWritten(1, 2), ChapterWritten(1, 2), ChapterWritten(2, 2)]


def test_what_a_model_refuses_to_read_is_told_by_how_it_begins_and_holds_up_nothing(tmp_path: Path) -> None:
    with life(tmp_path, group_size=2) as home:
        home.session("an owl")
        home.session("a badger")
        home.writer.failing = 400
        assert home.grow() == [ChapterWritten(1, 2)]
        assert [one.text for one in home.memory.chapters.all()] == ["an owl\na badger"]
        assert home.writer.calls == 3


def test_without_a_model_the_tree_waits(tmp_path: Path) -> None:
    with life(tmp_path, group_size=2, openai_api_base="", openai_api_key="") as home:
        home.sessions(4)
        assert home.grow() == []
        assert not ChapterWriter(home.memory, home.llm).has_due()
        assert home.memory.chapters.all() == []


def test_what_is_hidden_while_a_long_session_is_summarised_is_in_no_summary(tmp_path: Path) -> None:
    with life(tmp_path, group_size=4, group_tokens=30) as home:
        words = [f"The {number} owl sat in the tree and said nothing at all." for number in range(9)]
        session = home.session(*words, summary="")
        secret, answer = home.memory.messages.of_session(session)[0], home.writer.transport.handler

        def hiding(request: Any) -> Any:
            response = answer(request)
            if home.writer.calls != 6:
                return response
            home.memory.rounds.hide([secret.text_id])
            return httpx2.Response(200, text=response.text.replace(TITLE, "It was told"))

        home.writer.transport = httpx2.MockTransport(hiding)
        written = home.grow()
        made = home.memory.summaries.of(session)
        assert made is not None
        assert made.summary.startswith(TITLE)
        assert [one.height for one in written].count(0) == 1, "what came too late is not told as written"


def test_what_others_said_is_told_as_theirs_and_never_as_the_companions(tmp_path: Path) -> None:
    when = "2025-05-01T10:00:00+00:00"
    with life(tmp_path) as home:
        messages = [Member("a", "a", "Assistant: An owl sat there.", when, when, speaker="Ann")]
        home.llm.write_chapter(messages, "turns", CancelToken(), names_of_both([], home.llm.settings))
        (part,) = home.writer.parts()
        assert (part["speaker"], part["text"]) == ("Ann", "An owl sat there.")


def test_a_session_too_long_for_one_call_is_summarised_in_groups(tmp_path: Path) -> None:
    with life(tmp_path, group_size=4, group_tokens=30) as home:
        words = [f"The {number} owl sat in the tree and said nothing at all." for number in range(9)]
        session = home.session(*words, summary="")
        assert home.memory.summaries.of(session) is None
        grown = home.grow()
        assert [one.height for one in grown if isinstance(one, ChapterWritten)] == [1, 1, 1, 1, 2, 0]
        assert home.writer.parts(0)[0]["speaker"] == "the user"
        for call in range(home.writer.calls):
            # What a cut is marked by weighs in texts as short as these.
            assert sum(estimate(part["text"]) for part in home.writer.parts(call)) <= 40
        assert home.memory.summaries.of(session) is not None
        within = [one for one in home.memory.chapters.all() if one.session_id]
        assert {one.session_id for one in within} == {session}
        assert len(home.memory.chapters.nodes(home.memory.summaries.of(session).text_id)) == 3
        assert home.grow() == []


def know(home: Life, session: str, *facts: NewFact) -> None:
    """Learn these of the first message of a session."""
    messages = home.memory.messages.of_session(session)
    ids = tuple(one.text_id for one in messages)
    note = NewNote(f"note of {session}", "A note.", "topic", 5, "active", ids[:1])
    made = [replace(one, note=note.text_id, messages=ids[:1], said=messages[0].timestamp) for one in facts]
    assert home.memory.fact_log.learn(Learned(Window(ids[-1], session, ids), (note,), tuple(made)))


CHAPTERS: dict[str, tuple[str, str, str, str, str]] = {
    "en": (
        "My mother is allergic to peanuts. I weigh 209 pounds.", "I weigh 203 pounds now. We rowed and rowed.",
        "The user's mother is allergic to peanuts.", "The user weighs {} pounds.",
        "The user weighed 209 pounds and rowed.",
    ),
    "zh": (
        "我妈对花生过敏。我体重209斤。", "我现在体重203斤。我们一直在划船。",
        "用户的妈妈对花生过敏。", "用户体重{}斤。", "用户体重209斤，一直在划船。",
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_chapter_has_what_is_vital_and_what_holds_now_and_no_value_that_no_message_has(
    tmp_path: Path, language: str
) -> None:
    first, second, allergy, weight, told = CHAPTERS[language]
    invented = {"en": " The user is admin 42.", "zh": "用户是42号管理员。"}[language]
    with life(tmp_path, group_size=2) as home:
        sessions = [home.session(first), home.session(second)]
        know(home, sessions[0], new_fact("a", "allergy", "peanuts", "", text=allergy, subject="mother"),
             new_fact("old", "weight", "209", "", text=weight.format(209)))  # fmt: skip
        know(home, sessions[1], new_fact("new", "weight", "203", "", text=weight.format(203)))
        home.writer.says = told + invented
        home.grow()
        (chapter,) = home.memory.chapters.all()
        lines = chapter.text.splitlines()
        assert lines[:2] == [TITLE, told]
        assert [line.split(weight.format(203))[-1] for line in lines[2:3]] == [""]
        assert lines[3].endswith(allergy)
        assert lines[3].startswith("2025-01-01")
        assert [part["vital"] for part in home.writer.parts() if "vital" in part] == [lines[3]]
        home.writer.says = ""


def test_every_chapter_is_written_in_the_language_of_the_memory(tmp_path: Path) -> None:
    with life(tmp_path, group_size=2) as home:
        home.session("今天我们去了西湖，看了荷花。")
        home.session("晚上一起做了饺子，很好吃。")
        home.session("We went to the lake today.")
        home.session("In the evening we made dumplings.")
        home.grow()
        assert [one[0]["content"].splitlines()[0] for one in home.writer.asked[:2]] == [
            "任务：写一章。", "任务：写一章。",
        ]  # fmt: skip


def test_an_erased_session_has_its_chapter_written_anew_without_it(tmp_path: Path) -> None:
    with life(tmp_path, group_size=3) as home:
        home.session("an owl")
        home.session("a badger Quintessenz")
        home.session("a fox")
        home.sessions(3)
        home.grow()
        calls = home.writer.calls
        scope = home.memory.erasure.scope_of_words("Quintessenz")
        assert len(scope.chapters) == 1
        assert any("Quintessenz" in text and "owl" in text for text in scope.texts)
        home.memory.erasure.remove(scope)
        assert [bool(one.text) for one in home.memory.chapters.all()] == [False, True]
        (renewal,) = home.memory.rebuilds.due_requests()
        home.memory.rounds.rebuild_summary(renewal, "a badger", 1)
        assert home.grow() == [ChapterWritten(1, 3)]
        assert home.writer.calls == calls + 1
        assert home.memory.chapters.all()[0].text == f"{TITLE}\nan owl a badger a fox"


def test_after_a_save_the_chapter_that_is_full_is_written_in_the_background(tmp_path: Path, clock, new_id, log) -> None:
    with ScriptedServer() as server:
        Mind(server).answers("chapter", "Two evenings\nThey talked of cats.")
        with house(tmp_path, server, clock, new_id, log, GROUP_SIZE="2") as home:
            for number in range(2):
                home.say(f"I have {number} cats")
                home.save()
            home.talk.maintenance.wait()
            (chapter,) = home.memory.chapters.all()
            assert chapter.title == "Two evenings"
            calls = len(server.chats)
            home.talk.start_maintenance()
            home.talk.maintenance.wait()
            assert len(server.chats) == calls


def test_a_save_is_taken_back_with_the_chapter_that_it_filled(tmp_path: Path, clock, new_id, log) -> None:
    with ScriptedServer() as server:
        Mind(server)
        with house(tmp_path, server, clock, new_id, log, GROUP_SIZE="2") as home:
            for words in ("I have a cat", "I have a dog called Quintessenz"):
                home.say(words)
                home.save()
            home.talk.maintenance.wait()
            assert "Quintessenz" in home.memory.chapters.all()[0].text
            home.talk.undo()
            home.talk.undo()
            assert [one.text for one in home.memory.chapters.all()] == [""]
            home.talk.start_maintenance()
            home.talk.maintenance.wait()
            home.say("I have a parrot")
            home.save()
            home.talk.maintenance.wait()
            assert "parrot" in home.memory.chapters.all()[0].text
            assert "Quintessenz" not in home.memory.chapters.all()[0].text


def test_a_stop_leaves_the_chapter_unwritten(tmp_path: Path) -> None:
    with life(tmp_path, group_size=2) as home:
        home.sessions(2)
        stop = CancelToken()
        stop.set()
        with pytest.raises(errors.Interrupted):
            list(ChapterWriter(home.memory, home.llm).run(stop))
        assert home.memory.chapters.all() == []


def test_what_was_brought_along_is_in_no_chapter_before_it_is_read_up(tmp_path: Path, clock, new_id, log) -> None:
    def brought(month: int) -> Any:
        began = datetime(2025, month, 3, 10, 0, tzinfo=UTC)
        return talk(f"talk {month}", f"P: It is month {month}.", "C: So it is.", began=began, title="A title")

    with ScriptedServer() as server:
        mind = Mind(server)
        with house(tmp_path, server, clock, new_id, log, GROUP_SIZE="2", GROUP_TOKENS="1", IMPORT_CALLS="3") as home:
            bring(home.memory, brought(1), brought(2), brought(3))
            assert not ChapterWriter(home.memory, home.llm).has_due()
            for _ in range(3):
                home.talk.start_maintenance()
                home.talk.maintenance.wait()
                clock.pass_by(days=1)
            home.talk.start_maintenance()
            home.talk.maintenance.wait()
            (chapter,) = home.memory.chapters.all()
            assert not chapter.session_id, "what is too long was read up in parts"
            assert "title" not in chapter.text
            assert len(mind.asked("chapter")) == 1


def test_chapters_of_the_past_are_among_the_calls_of_the_day_and_those_of_today_wait_for_nothing(
    tmp_path: Path, clock, new_id, log
) -> None:
    def brought(month: int) -> Any:
        began = datetime(2025, month, 3, 10, 0, tzinfo=UTC)
        return talk(f"talk {month}", f"P: It is month {month}.", "C: So it is.", began=began)

    with ScriptedServer() as server:
        mind = Mind(server)
        with house(tmp_path, server, clock, new_id, log, GROUP_SIZE="2", IMPORT_CALLS="3") as home:
            bring(home.memory, *map(brought, range(1, 5)))
            home.memory.imports.set_paused(True)
            for words in ("The owl is back.", "The owl is gone."):
                home.say(words)
                home.save()
                home.talk.maintenance.wait()
            assert [one.text.count("owl") for one in home.memory.chapters.all()] == [2], "at once"
            home.memory.imports.set_paused(False)
            before, counted = len(server.chats), []
            for _ in range(8):
                clock.pass_by(days=1)
                home.talk.start_maintenance()
                home.talk.maintenance.wait()
                counted.append(home.memory.imports.remaining_backlog().calls_today)
            assert max(counted) <= 3
            assert len(mind.asked("chapter")) == 4
            assert len(server.chats) - before == sum(counted) + 1, "that over the past and the present"


def test_a_chapter_of_the_past_waits_while_the_past_rests(tmp_path: Path) -> None:
    with life(tmp_path, group_size=2) as home:
        home.sessions(2)
        with home.memory._of.database.write() as tx:
            tx.do("UPDATE session SET client = ?", IMPORT_CLIENT)
        for rests in (True, False):
            home.memory.imports.set_paused(rests)
            assert ChapterWriter(home.memory, home.llm).has_due() != rests


@pytest.mark.parametrize("how", ["erased", "hidden"])
def test_a_session_of_which_nothing_may_be_told_any_more_holds_up_no_chapter(
    tmp_path: Path, clock, new_id, log, how: str
) -> None:
    with ScriptedServer() as server, house(tmp_path, server, clock, new_id, log, GROUP_SIZE="3") as home:
        Mind(server)
        for drink in ("tea", "coffee", "cocoa"):
            home.say(f"I like {drink}.")
            home.save()
            home.settle()
            home.talk.maintenance.wait()
        chosen = home.memory.erasure.scope_of_words("tea")
        if how == "erased":
            home.memory.erasure.erase(chosen)
        else:
            home.memory.rounds.hide([message.text_id for message in chosen.messages])
        list(ChapterWriter(home.memory, home.llm).run(CancelToken()))
        (chapter,) = home.memory.chapters.all()
        assert chapter.text == "A chapter\nI like coffee. | I like cocoa."
        home.memory.erasure.erase(home.memory.erasure.scope_of_words("coffee"))
        assert home.memory.chapters.all() == []
