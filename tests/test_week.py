"""A week with the friend: five sessions, folds, saves and restarts, the rows looked at after each step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from domain.records import PREFIX
from domain.workers import CancelToken
from jobs.saving import NothingToSave
from tests.support.house import House, friend, house, marked
from tests.support.server import ScriptedServer

DAYS = [
    [
        "My cat is called Marzipan.",
        "She is eleven years old.",
        "I work as a bell founder.",
        "The bells are cast in sand.",
        "Rain delayed the train today.",
        "I bought a blue bicycle.",
        "Tomorrow I bake rye bread.",
        "Good night.",
    ],
    [
        "The bicycle has a flat tyre.",
        "My neighbour Otto repaired it.",
        "Otto plays the oboe.",
        "We had soup together.",
        "The soup was too salty.",
        "I planted beans.",
        "Beans need water.",
        "Good night.",
    ],
    [
        "我今天去了图书馆。",
        "借了一本关于桥梁的书。",
        "作者是茅以升。",
        "书很有意思。",
        "明天下雨。",
        "我要带伞。",
        "晚饭吃面条。",
        "晚安。",
    ],
    [
        "The bell for Lund is finished.",
        "It weighs two tons.",
        "The crane was late.",
        "I slept badly.",
        "Coffee helped.",
        "I wrote to my aunt.",
        "Her name is Ingrid.",
        "Good night.",
    ],
]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def check(open_house: House, session_id: str, spoken: int) -> None:
    """What must hold after every step."""
    memory = open_house.memory
    messages = [row for row in open_house.rows("conversation") if row["session_id"] == session_id]
    session = memory.sessions.find(session_id)
    assert session is not None
    assert len(messages) == spoken * 2
    assert all(row["text"].startswith(PREFIX[row["role"]]) for row in messages)
    assert session.current_conv_count == sum(not row["compacted"] for row in messages) // 2 <= 4
    indexed = open_house.indexed()
    assert {row["text_id"] for row in open_house.rows("conversation")} <= set(indexed)
    assert all(indexed[row["text_id"]] == ("conversation", session_id) for row in messages)
    assert open_house.rows("in_flight") == []
    assert open_house.rows("pending") == []


def spend_a_day(open_house: House, lines: list[str]) -> str:
    session_id = open_house.talk.session.session_id
    for spoken, line in enumerate(lines, 1):
        open_house.say(line)
        check(open_house, session_id, spoken)
    return session_id


def test_a_week(tmp_path, server, clock, new_id, log):
    few = {"MAX_CONV_NUM": "4", "REFRESH_EVERY_CONV_NUM": "2"}
    sessions: list[str] = []
    for day, lines in enumerate(DAYS):
        folds = sum(marked(chat, "fold") for chat in server.chats)
        with house(tmp_path, server, clock, new_id, log, **few) as friday:
            assert friday.talk.open().resumed is False or day > 0
            sessions.append(spend_a_day(friday, lines[:6]))
        with house(tmp_path, server, clock, new_id, log, **few) as friday:
            opening = friday.talk.open()
            assert (opening.resumed, opening.session.session_id) == (True, sessions[-1])
            assert [spoken.user.words for spoken in opening.rounds] == lines[2:6]
            for line in lines[6:]:
                friday.say(line)
            check(friday, sessions[-1], 8)
            assert sum(marked(chat, "fold") for chat in server.chats) - folds == 2
            saved = friday.save()
            assert saved.archived.session_id == sessions[-1]
            assert saved.summary == " | ".join(lines)
            rows = {row["session_id"]: row for row in friday.rows("session")}
            assert rows[sessions[-1]]["status"] == "archived"
            assert rows[sessions[-1]]["end_timestamp"]
            assert [row["status"] for row in rows.values()].count("active") == 1
            assert [row["summary"] for row in friday.rows("summary")] == [" | ".join(said) for said in DAYS[: day + 1]]
            summaries = {row["text_id"] for row in friday.rows("summary")}
            assert {key for key, (kind, _) in friday.indexed().items() if kind == "summary"} == summaries
        clock.pass_by(days=1)
    with house(tmp_path, server, clock, new_id, log, **few) as sunday:
        assert sunday.say("What is my cat called?")
        recalled = sunday.talk.last.recollection
        assert any("Marzipan" in message.text for message in recalled.messages)
        assert all(message.session_id in sessions for message in recalled.messages)
        assert sunday.say("桥梁那本书的作者是谁？")
        assert any("茅以升" in message.text for message in sunday.talk.last.recollection.messages)
        present = sunday.talk.session.session_id
        before = {row["text_id"] for row in sunday.rows("conversation") if row["session_id"] != present}
        personas = {persona: sunday.memory.personas.read(persona) for persona in ("self", "user")}
        assert sunday.talk.reset() == 2
        sunday.settle()
        assert {row["text_id"] for row in sunday.rows("conversation")} == before
        assert set(sunday.indexed()) == before | {row["text_id"] for row in sunday.rows("summary")}
        assert {persona: sunday.memory.personas.read(persona) for persona in ("self", "user")} == personas
        assert isinstance(list(sunday.talk.save(CancelToken()))[-1], NothingToSave)
        sunday.say("I am still here.")
    with house(tmp_path, server, clock, new_id, log, **few) as monday:
        opening = monday.talk.open()
        assert opening.session.session_id == present
        assert [spoken.user.words for spoken in opening.rounds] == ["I am still here."]


def test_save_leaves_a_reference_of_a_quoted_memory_in_the_stored_message_and_none_of_its_words(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("The oboe is Otto's and stands in the hall.")
        first.save()
        server.script("You told me: <blockquote>The oboe is Otto's</blockquote> I remember.")
        first.say("Whose is the oboe in the hall?")
        first.save()
        replied = first.rows("conversation")[-1]
        assert "blockquote" not in replied["text"]
        assert "Otto" not in replied["text"]
        assert "I remember." in replied["text"]
        words = first.read(f"SELECT tokens FROM message_words WHERE rowid = {replied['seq']}")[0][0]
        assert "otto" not in words


def test_an_empty_session_is_not_archived_and_asks_no_model(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        session = first.talk.session
        assert isinstance(list(first.talk.save(CancelToken()))[-1], NothingToSave)
        assert first.talk.session == session
        assert server.chats == []


def test_a_reset_can_be_taken_back_until_something_is_said(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log, MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1") as first:
        for line in ("one apple", "two pears", "three plums"):
            first.say(line)
        tables = ("conversation", "summary", "session", "message_words")
        before = {table: first.rows(table) for table in tables}
        first.talk.reset()
        first.settle()
        assert first.rows("conversation") == first.rows("summary") == []
        assert first.talk.undo() == 3
        first.settle()
        assert {table: first.rows(table) for table in tables} == before
        assert set(first.indexed()) == {row["text_id"] for row in before["conversation"] + before["summary"]}


def test_what_is_said_unwritten_is_written_nowhere(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.talk.set_incognito(True)
        first.say("The password of the vault is kumquat")
        assert "kumquat" in str(first.talk.rounds_in_context())
        first.say("and again")
        assert "kumquat" in str(server.chats[-1])
    assert all(b"kumquat" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
