"""What ``Memory`` promises over any store: several sessions, a history put in later, nothing heavy too early."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from domain.recollection import RecallLimits
from memory import Memory
from recall.embedding import HashedEmbedder
from storage.postgres.database import Server
from storage.repositories import OnServer
from tests.conftest import Count, SetClock
from tests.contract.stores import ENGINES, at
from tests.storage.postgres.server import shared_connections, shared_server

ROOT = Path(__file__).resolve().parents[2]
ROUND_BEFORE_ANYTHING_HEAVY = """
import logging, sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from memory import Memory
class Embedder:
    model = "none"
ids = count(100000)
memory = Memory(Path(sys.argv[1]), Embedder(), clock=lambda: datetime.now(UTC), new_id=lambda: str(next(ids)),
    log=logging.Logger("quiet", logging.CRITICAL))
session = memory.sessions.resume_or_start()[0].session_id
memory.sessions.note_in_flight(session, "Hello")
memory.rounds.store(session, "Hello", "Hello, Ann.", session, "stop")
memory.rounds.compact(session, 1, "They greeted each other.")
memory.personas.read("user")
memory.close()
sys.exit(bool({"numpy", "pyarrow", "lancedb", "psycopg"} & set(sys.modules)))
"""


@pytest.fixture(params=ENGINES)
def memory(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger
) -> Iterator[Memory]:
    place: Path | OnServer = tmp_path / "data"
    if request.param == "postgres":
        place = OnServer(tmp_path / "data", shared_connections(), str(tmp_path))
    opened = Memory(place, HashedEmbedder(), clock=clock, new_id=new_id, log=log)
    yield opened
    opened.close()


def test_a_round_is_stored_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ROUND_BEFORE_ANYTHING_HEAVY, str(tmp_path / "data")]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_a_memory_that_was_closed_leaves_its_sessions_and_jobs_to_other_programs(
    memory: Memory, clock: SetClock, new_id: Count, log: logging.Logger
) -> None:
    session = memory.sessions.resume_or_start()[0].session_id
    memory.jobs.request("autosave", session)
    job = memory.jobs.next(["autosave"], 0.0)
    assert job
    assert memory.jobs.claim(job)
    place, server = memory._place, Server(shared_server())
    if isinstance(place, OnServer):
        place = replace(place, server=server)
    with closing(server), closing(Memory(place, HashedEmbedder(), clock=clock, new_id=new_id, log=log)) as other:
        assert not other.claims.take("session", session)
        assert not other.jobs.claim(job)
        memory.close()
        assert other.claims.take("session", session)
        assert other.jobs.claim(job)


def test_what_was_stored_before_the_index_was_opened_is_in_it_afterwards(memory: Memory) -> None:
    session = memory.sessions.resume_or_start()[0].session_id
    spoken = memory.rounds.store(session, "We adopted a puppy called Biscuit.", "Lovely!", at(0), "stop")
    gone = memory.rounds.store(session, "Forget this.", "I will.", at(1), "stop")
    memory.rounds.undo(session, 1)
    assert not memory.index.settle(0.0)
    memory.start()
    assert memory.index.settle(60)
    assert memory.index.status().vectors == 2
    other = memory.sessions.start().session_id
    limits = RecallLimits(sessions=3, messages=6, tokens=4_000)
    found = memory.recall(["What is the puppy called?"], other, SetClock()(), limits)
    ids = {message.text_id for message in found.messages}
    assert spoken.user.text_id in ids
    assert gone.user.text_id not in ids


def test_a_history_of_2023_can_be_put_in_after_one_of_2026(memory: Memory) -> None:
    today = memory.sessions.resume_or_start()[0].session_id
    memory.rounds.store(today, "Of today.", "Yes.", at(0), "stop")
    with memory.in_one_commit():
        past = memory.sessions.start(began=at(0, 2023)).session_id
        memory.rounds.store(past, "First that.", "Oh.", at(0, 2023), "stop", ended=at(1, 2023))
        memory.rounds.store(past, "Then this.", "Ah.", at(2, 2023), "stop", ended=at(3, 2023))
    assert [session.session_id for session in memory.sessions.recent()] == [today, past]
    assert [message.words for message in memory.messages.of_session(past)] == [
        "First that.",
        "Oh.",
        "Then this.",
        "Ah.",
    ]
    assert [message.timestamp for message in memory.messages.of_session(past)] == [
        at(minute, 2023) for minute in range(4)
    ]
    assert memory.sessions.resume_or_start()[0].session_id == today


def test_two_sessions_have_each_their_own_message_in_flight_and_reset(memory: Memory) -> None:
    one, two = memory.sessions.resume_or_start()[0].session_id, memory.sessions.start().session_id
    for session_id in (one, two):
        memory.rounds.store(session_id, f"in {session_id}", "Yes.", at(0), "stop")
        memory.sessions.note_in_flight(session_id, f"next in {session_id}")
    memory.rounds.reset(one)
    kept = memory.sessions.in_flight(two)
    assert memory.sessions.in_flight(one) is None
    assert kept is not None
    assert kept.text == f"next in {two}"
    assert [spoken.user.words for spoken in memory.messages.rounds(two)] == [f"in {two}"]


def test_what_comes_back_is_found_at_once_also_after_a_restart_and_when_another_program_did_it(
    tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger
) -> None:
    def opened() -> Memory:
        return Memory(tmp_path / "data", HashedEmbedder(), clock=clock, new_id=new_id, log=log)

    def finds(memory: Memory) -> bool:
        found = memory.recall(["Which zebra did I see?"], "none", clock(), RecallLimits(3, 6, 2_000), gated=False)
        return any("zebra" in one.text for one in found.messages)

    with closing(opened()) as memory:
        session_id = memory.sessions.start().session_id
        said = ("Thing one.", "I saw a zebra called Otto.", "After that bread.")
        spoken = [memory.rounds.store(session_id, words, "Ok.", clock().isoformat(), "stop") for words in said]
        hidden = [message.text_id for message in spoken[1].messages]
        memory.rounds.hide(hidden)
    for _ in range(2):
        with closing(opened()) as memory, closing(opened()) as other:
            assert not finds(memory)
            memory.rounds.unhide(hidden)
            assert finds(memory)
            other.rounds.hide(hidden)
            assert not finds(memory)
            other.rounds.unhide(hidden)
            assert finds(memory)
            other.rounds.store(session_id, "The zebra is in Lyon now.", "Ok.", clock().isoformat(), "stop")
            memory.rounds.hide(hidden)
            assert finds(memory)
            other.rounds.undo(session_id, 1)
