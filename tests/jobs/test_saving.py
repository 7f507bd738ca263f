"""What was said stays said: quotations, lone turns, what a reset took out, and a line that was pinned."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from domain import errors
from domain.workers import CancelToken
from interfaces.messages import Words
from interfaces.terminal.file_export import format_sessions
from jobs.saving import NothingToSave
from tests.support.house import House, friend, house
from tests.support.server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def archived_replies(open_house: House) -> list[str]:
    return [message.words for message in archived_messages(open_house) if message.role == "assistant"]


def archived_messages(open_house: House) -> list:
    sessions = [one for one in open_house.memory.sessions.recent(99) if one.status == "archived"][::-1]
    return [message for one in sessions for message in open_house.memory.messages.of_session(one.session_id)]


def test_only_a_quotation_that_was_checked_leaves_and_a_reference_stays_in_its_place(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("My parrot is called Kiwi and he is green.")
        source = first.memory.messages.rounds(first.talk.session.session_id)[0].user
        first.save()
        server.script(
            "I do: <blockquote>my parrot is called Kiwi</blockquote> And you wrote this:"
            " <blockquote>A poem that nobody ever said to me before.</blockquote> Fine."
        )
        pasted = "My parrot Kiwi? <blockquote>My parrot is called Kiwi and he is green.</blockquote> I pasted that."
        first.say(pasted)
        assert source.text_id in [message.text_id for message in first.talk.last.recollection.messages]
        first.save()
        said, replied = archived_messages(first)[-2:]
        assert said.words == pasted
        assert replied.words == (
            f"I do: [2026-03-01 · {source.text_id[:8]}] And you wrote this:"
            " <blockquote>A poem that nobody ever said to me before.</blockquote> Fine."
        )


def test_a_reply_that_is_a_quotation_of_nothing_keeps_its_substance(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        server.script("I do:\n<blockquote>Shall I compare thee to a summer's day?</blockquote>")
        first.say("Do you know a sonnet?")
        first.save()
        assert archived_replies(first) == ["I do:\n<blockquote>Shall I compare thee to a summer's day?</blockquote>"]


def lone_message(open_house: House) -> None:
    """The present session holds a reply whose message was erased."""
    open_house.say("Long ago")
    open_house.save()
    open_house.say("The garage code is 4711-zulu.")
    message = open_house.memory.messages.rounds(open_house.talk.session.session_id)[0].user
    list(open_house.talk.erase(open_house.memory.erasure.scope_of_message(message.text_id), CancelToken()))


def test_a_session_with_a_lone_message_is_archived_when_another_is_resumed(tmp_path, server, clock, new_id, log):
    server.answer = lambda request: friend(request) if "Task" in str(request) else "Noted."
    with house(tmp_path, server, clock, new_id, log) as first:
        lone_message(first)
        present, older = (one.session_id for one in first.memory.sessions.recent(2))
        first.memory.rounds.resume(older, present)
        assert [message.words for message in first.memory.messages.of_session(present)] == ["Noted."]
        statuses = {one.session_id: one.status for one in first.memory.sessions.recent(2)}
        assert statuses == {present: "archived", older: "active"}
        assert first.memory.problems() == []


def test_a_session_with_a_lone_message_is_saved_without_asking_a_model(tmp_path, server, clock, new_id, log):
    server.answer = lambda request: friend(request) if "Task" in str(request) else "Noted."
    with house(tmp_path, server, clock, new_id, log) as first:
        lone_message(first)
        before = len(server.chats)
        first.save()
        assert len(server.chats) == before
        assert archived_replies(first)[-1] == "Noted."
        assert all(one.current_conv_count == 0 for one in first.memory.sessions.recent(9))
        assert list(first.talk.save(CancelToken())) == [NothingToSave()]


def test_a_reset_comes_back_whole_when_a_summary_was_written_meanwhile(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log, MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1") as first:
        for line in ("one", "two", "three"):
            first.say(line)
        session_id = first.talk.session.session_id
        before = (first.memory.messages.rounds(session_id), first.memory.summaries.of(session_id))
        assert first.talk.reset() == 3
        first.memory.rounds.set_summary(session_id, "written meanwhile")
        assert first.talk.undo() == 3
        assert (first.memory.messages.rounds(session_id), first.memory.summaries.of(session_id)) == before


def test_an_undo_that_could_not_be_written_can_be_done_again(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("one")
        assert first.talk.reset() == 1
        with closing(sqlite3.connect(first.memory.folder / "memory.db", isolation_level=None)) as other:
            first.memory._of.database._connection.execute("PRAGMA busy_timeout=0")
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(errors.StorageError):
                first.talk.undo()
            other.execute("ROLLBACK")
        assert first.talk.undo() == 1
        assert [one.user.words for one in first.talk.rounds_in_context()] == ["one"]


def test_a_pinned_line_stands_in_the_persona_and_in_the_next_prompt_at_once(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.memory.personas.write("user", "Anna likes tea.", "hand")
        first.memory.personas.pin("user", "I am allergic to peanuts")
        assert first.memory.personas.read("user") == "Anna likes tea.\nI am allergic to peanuts"
        assert first.memory.personas.path("user").read_text() == "Anna likes tea.\nI am allergic to peanuts\n"
        first.say("What shall I eat?")
        assert "allergic to peanuts" in json.dumps(server.chats[-1])
        first.memory.personas.unpin("user", "I am allergic to peanuts")
        assert first.memory.personas.read("user") == "Anna likes tea."
        assert [version.text for version in first.memory.personas.history("user")] == [
            "Anna likes tea.",
            "Anna likes tea.\nI am allergic to peanuts",
            "Anna likes tea.",
        ]


def test_unpinning_leaves_a_line_that_was_there_before_or_was_changed_since(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.memory.personas.write("user", "Anna likes tea.", "hand")
        first.memory.personas.pin("user", "Anna likes tea.")
        assert len(first.memory.personas.history("user")) == 1
        first.memory.personas.unpin("user", "Anna likes tea.")
        assert first.memory.personas.read("user") == "Anna likes tea."
        first.memory.personas.pin("user", "Call her Ann")
        first.memory.personas.write("user", "Anna likes tea.\nCall her Ann, never Annie.", "hand")
        first.memory.personas.unpin("user", "Call her Ann")
        assert first.memory.personas.read("user") == "Anna likes tea.\nCall her Ann, never Annie."
        assert first.memory.personas.pins("user") == ()


def test_an_export_tells_that_a_message_stands_alone(tmp_path, server, clock, new_id, log):
    server.answer = lambda request: "Noted."
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("My code is 4711-zulu.")
        first.say("Good night.")
        code, night = first.memory.messages.rounds(first.talk.session.session_id)
        for message in (code.user, night.assistant):
            list(first.talk.erase(first.memory.erasure.scope_of_message(message.text_id), CancelToken()))
        words, sessions = Words("en"), first.memory.sessions.recent(1)
        told = format_sessions(sessions, first.memory, first.talk, "md", words)
        assert "*What this answers was erased.*\n\n**Old Friend**" in told
        assert told.rstrip().endswith("Good night.\n\n*The reply to this was erased.*")
        messages = json.loads(format_sessions(sessions, first.memory, first.talk, "json", words))["sessions"][0][
            "turns"
        ]
        assert [(message["role"], message["alone"]) for message in messages] == [("assistant", True), ("user", True)]
