"""Cleaning: what is due of a history, what becomes of it when the model is away, and held sessions that fall silent."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from client_history import ClientHistory, ClientMessage
from conversation import result_of
from domain.workers import CancelToken
from jobs.client_memories import ClientHistoryJob, find_due_extractions, recall_client_notes
from language.times import move_months
from tests.conftest import Count, SetClock
from tests.support.house import House, Mind, house
from tests.support.server import ScriptedServer, status, vectors


@pytest.fixture
def home(
    tmp_path: Path, server: ScriptedServer, mind: Mind, clock: SetClock, new_id: Count, log: logging.Logger
) -> Iterator[House]:
    with house(tmp_path, server, clock, new_id, log) as opened:
        yield opened


def held(home: House, clock: SetClock, count: int, *first: str) -> None:
    """A history of so many messages, stored, with what is due of it."""
    said = [ClientMessage("user", "My cat sleeps."), ClientMessage("assistant", "Sweet.")] * ((count - 1) // 2)
    for at, words in enumerate(first):
        said[2 * at] = ClientMessage("user", words)
    said.append(ClientMessage("user", "Good night."))
    history = ClientHistory(home.memory, "chat", clock, archive_after=timedelta(hours=8))
    kept = history.store_request("id:talk", said, "Sleep well.", "stop", clock().isoformat(timespec="seconds"))
    for due in find_due_extractions(kept.rounds, kept.messages, kept.key, 50):
        home.memory.clients.owe_extraction(due)


@pytest.mark.parametrize(
    ("messages", "rounds"), [(49, []), (50, [1]), (51, [1]), (99, [1]), (100, [1, 2]), (101, [1, 2])]
)
def test_every_full_stretch_of_fifty_messages_is_due(messages: int, rounds: list[int]) -> None:
    chains = {place: f"c{place}" for place in range(0, messages, 2)}
    due = find_due_extractions(chains, messages, "key", 50)
    assert [one.round for one in due] == rounds
    for one in due:
        places = range(50 * (one.round - 1), 50 * one.round, 2)
        assert one.text_ids == tuple(f"c{place}" for place in places)
        assert one.last == one.text_ids[-1]


@pytest.mark.parametrize(
    ("day", "months", "before"),
    [
        ("2026-05-31", 3, "2026-02-28"),
        ("2024-05-31", 3, "2024-02-29"),
        ("2026-03-15", 3, "2025-12-15"),
        ("2026-03-15", 1200, "1926-03-15"),
    ],
)
def test_months_are_those_of_the_calendar(day: str, months: int, before: str) -> None:
    assert move_months(datetime.fromisoformat(day), -months) == datetime.fromisoformat(before)


def test_what_a_model_fails_at_is_left_and_done_once_when_it_is_back(home: House, mind: Mind, clock: SetClock) -> None:
    held(home, clock, 51)
    job = ClientHistoryJob(home.memory, home.llm, clock)
    mind.answers("notes", status(500))
    assert not result_of(job.run(CancelToken()))
    assert len(home.memory.clients.due_extractions()) == 1
    mind.answers("notes", '{"notes": []}')
    assert result_of(job.run(CancelToken()))
    assert home.memory.clients.due_extractions() == []
    asked = len(mind.asked("notes"))
    assert result_of(job.run(CancelToken()))
    assert len(mind.asked("notes")) == asked


def test_what_a_model_says_is_not_worth_remembering_is_no_memory(home: House, mind: Mind, clock: SetClock) -> None:
    held(home, clock, 51)
    worth = '{"turns": [1], "summary": "The cat sleeps.", "importance_score": 8, "should_remember": true}'
    mind.answers("notes", f'{{"notes": [{worth}, {worth.replace("true", "false")}]}}', '{"notes": []}')
    result_of(ClientHistoryJob(home.memory, home.llm, clock).run(CancelToken()))
    assert [(one.summary, one.importance) for one in home.memory.clients.memories()] == [
        ('the user said: "My cat sleeps."', 8)
    ]
    assert [one.summary for one in recall_client_notes(home.memory, home.llm, "Does the cat sleep?")] == [
        'the user said: "My cat sleeps."'
    ]


def test_a_memory_of_a_client_is_understood_alone_or_there_is_none(home: House, mind: Mind, clock: SetClock) -> None:
    held(home, clock, 51, "My daughter is called Cancan.", "She draws horses.", "He gave it to them.")
    worth = '{{"turns": [{0}], "summary": "{1}", "importance_score": 8, "should_remember": true}}'
    notes = [worth.format(3, "She draws horses."), worth.format(5, "He gave it to them.")]
    mind.answers("notes", f'{{"notes": [{", ".join(notes)}]}}', '{"notes": []}')
    result_of(ClientHistoryJob(home.memory, home.llm, clock).run(CancelToken()))
    assert [one.summary for one in home.memory.clients.memories()] == ["the user: Cancan draws horses."]


def test_a_held_session_that_fell_silent_is_saved_and_no_other_is_opened(
    home: House, mind: Mind, clock: SetClock
) -> None:
    held(home, clock, 5)
    home.say("I am still here.")
    result_of(ClientHistoryJob(home.memory, home.llm, clock).run(CancelToken()))
    (session,) = home.memory.sessions.of_client("chat")
    assert session.status == "active"
    clock.pass_by(hours=9)
    mind.answers("fold", status(500))
    result_of(ClientHistoryJob(home.memory, home.llm, clock).run(CancelToken()))
    assert home.memory.sessions.of_client("chat") == [session]
    mind.answers("fold", "They spoke of a cat.")
    result_of(ClientHistoryJob(home.memory, home.llm, clock).run(CancelToken()))
    assert [one.status for one in home.memory.sessions.of_client("chat")] == ["archived"]
    assert len(home.memory.sessions.recent()) == 2
    assert home.memory.sessions.resume_or_start()[0].session_id == home.talk.session.session_id


def test_a_server_of_vectors_that_is_away_leaves_recall_to_words_until_it_is_back(
    tmp_path: Path, server: ScriptedServer, mind: Mind, clock: SetClock, new_id: Count, log: logging.Logger
) -> None:
    with house(tmp_path, server, clock, new_id, log, EMBEDDING_MODEL="remote-vectors") as home:
        held(home, clock, 51)
        mind.answers("notes", '{"notes": [{"turns": [1], "text": "The cat sleeps."}]}', '{"notes": []}')
        server.embeds = status(500)
        job = ClientHistoryJob(home.memory, home.llm, clock)
        assert result_of(job.run(CancelToken()))
        assert home.memory.clients.without_vector("remote-vectors") == [1]
        assert [one.number for one in recall_client_notes(home.memory, home.llm, "Where is the cat?")] == [1]
        assert recall_client_notes(home.memory, home.llm, "Zebras") == []
        server.embeds = vectors()
        result_of(job.run(CancelToken()))
        assert home.memory.clients.without_vector(home.llm.embedder.model) == []
        assert [one.number for one in recall_client_notes(home.memory, home.llm, "Zebras")] == [1]
