"""What a session came to is drawn from it after its end: once, whatever happens meanwhile."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from people import folder_of
from tests.interfaces.service.known import LYON
from tests.interfaces.service.opened import PATIENCE, OpenedService, opened_service
from tests.interfaces.terminal.pseudo import environment
from tests.support.house import Mind, house, marked
from tests.support.server import Exchange, ScriptedServer, hang, say, status
from tests.support.warm import Piped

ROOT = Path(__file__).resolve().parents[3]


def until(holds: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def counts(opened: OpenedService, person: str = "me") -> list[int]:
    """How many notes, facts and relations there are."""
    return [opened.read(f"SELECT count(*) FROM {table}", person)[0][0] for table in ("note", "fact", "relation")]


def test_an_ended_session_costs_one_call_for_notes_and_one_for_each_persona_it_concerns(
    opened: OpenedService, mind: Mind, server: ScriptedServer
) -> None:
    mind.answers("notes", LYON)
    opened.service.process("My sister Ann lives in Lyon.", "me")
    assert server.chats == []
    opened.consolidate()
    assert [len(mind.asked(task)) for task in ("notes", "compare", "fold", "self", "user")] == [1, 0, 0, 0, 1]
    assert counts(opened) == [1, 1, 1]
    assert opened.statuses() == ["archived"]


def test_nothing_is_drawn_twice_however_often_somebody_looks(
    opened: OpenedService, mind: Mind, server: ScriptedServer, clock
) -> None:
    mind.answers("notes", LYON)
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.consolidate()
    asked = len(server.chats)
    for _ in range(3):
        clock.pass_by(minutes=2)
        opened.service.sweep()
        opened.service.end_session("me")
        assert opened.service.settle("me", PATIENCE)
    assert len(server.chats) == asked
    assert counts(opened) == [1, 1, 1]
    assert opened.people.registry.open_persons() == []


def test_an_empty_session_asks_no_model(opened: OpenedService, server: ScriptedServer) -> None:
    stored = opened.service.remember("My sister Ann lives in Lyon.", "me")
    opened.service.forget(stored.id, "me")
    ended = opened.service.end_session("me")
    assert ended.session_info is not None
    assert ended.session_info.event_count == 0
    assert opened.service.settle("me", PATIENCE)
    assert server.chats == []
    assert opened.statuses() == ["archived"]


def test_where_only_the_model_fails_a_session_keeps_waiting_and_is_tried_again_later(
    opened: OpenedService, mind: Mind, clock
) -> None:
    mind.answers("notes", status(500))
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.consolidate()
    assert opened.statuses() == ["ending"]
    asked = len(mind.asked("notes"))
    opened.service.process("Hello.", "me")
    opened.service.sweep()
    assert opened.service.settle("me", PATIENCE)
    assert len(mind.asked("notes")) == asked
    mind.answers("notes", LYON)
    clock.pass_by(minutes=2)
    opened.service.sweep()
    assert opened.service.settle("me", PATIENCE)
    assert opened.statuses() == ["archived", "active"]
    assert counts(opened) == [1, 1, 1]


def test_a_persona_that_a_model_failed_to_bring_up_to_date_is_brought_up_to_date_later(
    opened: OpenedService, mind: Mind, clock
) -> None:
    mind.answers("user", status(500))
    opened.service.process("I live in Lyon.", "me")
    opened.consolidate()
    assert opened.statuses() == ["archived"]
    assert opened.service.profile("me").image == ""
    mind.answers("user", '{"operations": [{"operation": "add", "text": "Lives in Lyon.", "turns": [1]}]}')
    clock.pass_by(minutes=2)
    opened.service.sweep()
    assert opened.service.settle("me", PATIENCE)
    assert opened.service.profile("me").image == "Lives in Lyon."
    clock.pass_by(minutes=5)
    opened.service.sweep()
    assert opened.people.registry.open_persons() == []


def test_a_service_that_is_closed_hangs_up_and_the_next_one_goes_on(
    tmp_path, server: ScriptedServer, mind: Mind, clock, new_id
) -> None:
    mind.answers("notes", hang)
    with opened_service(tmp_path, server, clock, new_id) as first:
        first.service.process("My sister Ann lives in Lyon.", "ann")
        first.service.end_session("ann")
        until(lambda: len(mind.asked("notes")) == 1)
    mind.answers("notes", LYON)
    with opened_service(tmp_path, server, clock, new_id) as second:
        second.service.sweep()
        assert second.service.settle("ann", PATIENCE)
        assert second.statuses("ann") == ["archived"]
        assert counts(second, "ann") == [1, 1, 1]


def test_a_session_that_was_open_when_the_program_died_ends_by_the_clock_of_the_next(
    tmp_path, server: ScriptedServer, mind: Mind, clock, new_id
) -> None:
    with opened_service(tmp_path, server, clock, new_id) as first:
        first.service.process("Hello.", "ann")
        first.service.process("Hello.", "bob")
        first.consolidate("bob")
    clock.pass_by(hours=1)
    with opened_service(tmp_path, server, clock, new_id) as second:
        assert second.service.sweep() == 1
        assert second.service.settle("ann", PATIENCE)
        assert second.statuses("ann") == ["archived"]


class Program:
    """The service in a process of its own."""

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        program = "import runpy; runpy.run_module('tests.interfaces.service.opened', run_name='__main__')"
        self._process = Piped(
            [sys.executable, "-c", program, str(folder), server.base],
            cwd=ROOT, env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def does(self, expression: str) -> str:
        """What comes of a Python expression of ``service``."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(expression + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        """``kill -9``."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()


@pytest.mark.parametrize("task", ["notes", "user"])
def test_a_kill_while_a_session_is_ending_loses_nothing_and_doubles_nothing(
    tmp_path, server: ScriptedServer, mind: Mind, clock, new_id, task: str
) -> None:
    mind.answers("notes", LYON)
    mind.answers(task, hang)
    program = Program(tmp_path, server)
    try:
        program.does("service.process('My sister Ann lives in Lyon.', 'ann').status")
        ended = json.loads(program.does("service.end_session('ann').model_dump_json()"))
        until(lambda: len(mind.asked(task)) == 1)
        program.does("service.process('And on we go.', 'ann').status")
    finally:
        program.kill()
    assert ended["message"] == "Session ending, consolidation started"
    mind.answers("notes", LYON)
    mind.answers("user", '{"operations": [{"operation": "add", "text": "Ann lives in Lyon.", "turns": [1]}]}')
    with opened_service(tmp_path, server, clock, new_id) as after:
        assert after.statuses("ann") == ["ending", "active"]
        after.service.sweep()
        assert after.service.settle("ann", PATIENCE)
        assert after.statuses("ann") == ["archived", "active"]
        assert counts(after, "ann") == [1, 1, 1]
        assert len(mind.asked("notes")) == (2 if task == "notes" else 1)
        assert [text for _, text in after.said("ann")] == ["User: My sister Ann lives in Lyon.", "User: And on we go."]


def test_what_is_forgotten_while_it_is_read_stands_nowhere_afterwards(opened: OpenedService, mind: Mind) -> None:
    asked, forgotten = threading.Event(), threading.Event()

    def slow(exchange: Exchange) -> None:
        asked.set()
        forgotten.wait(PATIENCE)
        say('{"operations": [{"operation": "add", "text": "The pot is blue.", "turns": [1]}]}')(exchange)

    mind.answers("user", slow)
    stored = opened.service.remember("The pot is blue.", "me")
    opened.service.end_session("me")
    assert asked.wait(PATIENCE)
    body = opened.service.forget(stored.id, "me")
    forgotten.set()
    assert body.proof is not None
    assert body.proof.traces_left == 0
    assert opened.service.settle("me", PATIENCE)
    assert opened.service.profile("me").image == ""
    data = opened.people.settings.data_dir
    held = [path for path in data.rglob("*") if path.is_file() and b"The pot is blue" in path.read_bytes()]
    assert held == []


def test_many_people_are_consolidated_a_few_at_a_time_and_all_of_them(
    opened: OpenedService, server: ScriptedServer, mind: Mind, clock
) -> None:
    at_once, most, lock = [0], [0], threading.Lock()

    def counted(exchange: Exchange) -> None:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        exchange.pause(0.02)
        with lock:
            at_once[0] -= 1
        say('{"notes": []}')(exchange)

    mind.answers("notes", counted)
    people = [f"person {number}" for number in range(12)]
    for person in people:
        opened.service.process("Hello there.", person)
    clock.pass_by(hours=1)
    assert opened.service.sweep() == 12
    assert all(opened.service.settle(person, PATIENCE) for person in people)
    assert all(opened.statuses(person) == ["archived"] for person in people)
    assert most[0] <= 2
    assert len([one for one in server.chats if marked(one, "notes")]) == 12


def test_where_no_service_comes_back_the_terminal_draws_from_its_sessions_what_they_came_to(
    tmp_path, server: ScriptedServer, mind: Mind, clock, new_id, log
) -> None:
    with opened_service(tmp_path, server, clock, new_id) as first:
        first.service.process("My sister Ann lives in Lyon.", "me")
    mind.answers("notes", LYON)
    clock.pass_by(hours=9)
    with house(tmp_path, server, clock, new_id, log) as home:
        home.talk.start_maintenance()
        home.talk.maintenance.wait()
        assert [one.value for one in home.memory.facts.all()] == ["Lyon"]
        (kept,) = home.memory.sessions.of_client("service")
        assert kept.status == "archived"


def test_the_memory_of_one_that_cannot_be_opened_keeps_nobody_waiting(
    tmp_path, server: ScriptedServer, mind: Mind, clock, new_id
) -> None:
    with opened_service(tmp_path, server, clock, new_id) as first:
        first.service.process("Hello.", "ann")
        first.service.process("Hello.", "bob")
        damaged = folder_of(first.people.settings.data_dir, "ann") / "memory.db"
    damaged.write_bytes(b"no database at all")
    clock.pass_by(hours=1)
    with opened_service(tmp_path, server, clock, new_id) as second:
        assert second.service.sweep() == 1
        assert second.service.settle("bob", PATIENCE)
        assert second.statuses("bob") == ["archived"]
    assert damaged.read_bytes() == b"no database at all"
