"""Several programs on one memory at once: each in a session of its own, nothing lost, doubled or written back (P12)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from storage.erasure import find_traces, forms
from tests.importers.exports import gpt_talk, written
from tests.interfaces.terminal.conftest import Chat, chat
from tests.interfaces.terminal.pseudo import environment
from tests.support.house import Mind, friend, marked, material
from tests.support.mcp import Host, host
from tests.support.program import _read as rows
from tests.support.program import connected, ended, run, started
from tests.support.served import ended as served_ended
from tests.support.served import program, until
from tests.support.server import Exchange, ScriptedServer, say
from tests.support.warm import Piped

__all__ = ["chat"]
NOW = "2026-11-25T10:00:00+00:00"
ROOT = Path(__file__).parents[1]
BUILT_IN = {"EMBEDDING_MODEL": "built-in"}
#: Opens everything below the terminal, and answers each line, an expression, with its value or with what it raises.
TALKING = """
import json, logging, sys, uuid
from datetime import datetime
from pathlib import Path
import config
from conversation import Conversation, TurnSteps
from domain import errors
from domain.workers import CancelToken
from jobs.maintenance import session_to_open
from jobs.rebuild import Erased, erase, rebuild
from jobs.saving import Saving
from llm import Llm
from memory import Memory
clock, new_id, log = lambda: datetime.now().astimezone(), lambda: uuid.uuid4().hex, logging.Logger("quiet")
settings = config.load_settings(Path(sys.argv[1]), json.loads(sys.argv[2]))
llm = Llm(settings, log, clock=clock)
memory = Memory(settings.data_dir, llm.embedder, clock=clock, new_id=new_id, log=log)
session, resumed = session_to_open(memory, settings, clock())
talk = Conversation(TurnSteps(settings, memory, llm), session, new_id=new_id, resumed=resumed)
talk.recalling, limits = False, settings.recall_limits
def said(text):
    keys = [getattr(event, "key", "") for event in talk.turn(text, CancelToken())]
    return [key for key in keys if key], talk.session.session_id
def saved():
    return [type(event).__name__ for event in talk.save(CancelToken())][-1]
def erased(words):
    events = list(erase(memory, llm, memory.erasure.scope_of_words(words), CancelToken()))
    return [str(trace) for event in events if isinstance(event, Erased) for trace in event.proof.traces]
def left():
    talk.close()
    memory.close()
print(json.dumps([session.session_id, resumed]), flush=True)
for line in sys.stdin:
    try:
        answer = eval(line)
    except errors.OldFriendError as fault:
        answer = f"raised {fault.key}"
    print(json.dumps(answer, default=str), flush=True)
"""


class Talker:
    """A program of its own with a conversation."""

    def __init__(self, home: Path, server: ScriptedServer) -> None:
        settings = connected(server.base, **BUILT_IN, MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1")
        command = [sys.executable, "-c", TALKING, str(home), json.dumps(settings)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = Piped(command, **pipes, text=True, cwd=ROOT, env=environment(home))
        self.session, self.resumed = self.answer()

    def begin(self, expression: str) -> None:
        """Let it do something."""
        assert self.process.stdin
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """What that came to."""
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def do(self, expression: str) -> Any:
        """Both."""
        self.begin(expression)
        return self.answer()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as opened:
        opened.answer = friend
        yield opened


@contextmanager
def talkers(home: Path, server: ScriptedServer, count: int = 2) -> Iterator[list[Talker]]:
    """Programs that talk, until they are killed."""
    with ExitStack() as opened:
        found = []
        for _ in range(count):
            found.append(Talker(home, server))
            opened.enter_context(found[-1].process)
            opened.callback(found[-1].process.kill)
        yield found


class Slow:
    """A model that thinks about one task until it may answer."""

    def __init__(self, server: ScriptedServer, task: str) -> None:
        self._mind = Mind(server)
        self._asked, self._may = threading.Event(), threading.Event()
        self._mind.answers(task, self._wait, lambda exchange: say(friend(exchange.json))(exchange))

    def _wait(self, exchange: Exchange) -> None:
        self._asked.set()
        self._may.wait(60)
        say(friend(exchange.json))(exchange)

    def __enter__(self) -> None:
        """Wait until it is asked."""
        assert self._asked.wait(60)

    def __exit__(self, *_: object) -> None:
        self._may.set()


def said(home: Path) -> list[str]:
    """What persons said, in order."""
    query = "SELECT text FROM conversation WHERE role = 'user' ORDER BY seq"
    return [text.removeprefix("User: ") for (text,) in rows(home, query)]


def summary_of(home: Path, session: str) -> str:
    return "".join(text for (text,) in rows(home, f"SELECT summary FROM summary WHERE session_id = '{session}'"))


def whole(home: Path) -> bool:
    """Whether the database is, and every round is of our own sessions in its context or in its summary."""
    orphaned = (
        "SELECT count(*) FROM conversation c LEFT JOIN summary m USING (session_id)"
        " JOIN session s USING (session_id) WHERE s.client = ''"
        " AND c.compacted = 1 AND c.role = 'user' AND instr(coalesce(m.summary, ''), substr(c.text, 7)) = 0"
    )
    return rows(home, "PRAGMA integrity_check") == [("ok",)] and rows(home, orphaned) == [(0,)]


def test_p12_each_program_has_a_session_of_its_own_and_finds_what_the_others_said(
    tmp_path: Path, server: ScriptedServer
) -> None:
    with talkers(tmp_path, server) as (one, two):
        assert (one.session != two.session, one.resumed, two.resumed) == (True, False, False)
        for number in range(3):
            one.do(f"said('The first says {number}.')")
            two.do(f"said('The second says {number}.')")
        found = "[spoken.user.words for spoken in memory.messages.rounds({!r})]"
        assert two.do(found.format(one.session)) == [f"The first says {number}." for number in range(3)]
        assert one.do("talk.undo(1)") == 1
        assert two.do(found.format(one.session)) == ["The first says 0.", "The first says 1."]
        assert len(two.do(found.format(two.session))) == 3
        one.process.kill()
        one.process.wait()
        with talkers(tmp_path, server, 1) as (third,):
            assert (third.session, third.resumed) == (one.session, True)


def test_p12_a_round_that_another_program_stores_during_a_save_is_in_its_summary(
    tmp_path: Path, server: ScriptedServer
) -> None:
    with talkers(tmp_path, server) as (one, two):
        one.do("said('I have a cat.')")
        slow = Slow(server, "fold")
        one.begin("saved()")
        with slow:
            stored = f"memory.rounds.store({one.session!r}, 'It is called Momo.', 'Nice.', '{NOW}', 'stop') and 1"
            assert two.do(stored) == 1
        assert one.answer() == "Saved"
        assert summary_of(tmp_path, one.session) == "I have a cat. | It is called Momo."
    assert whole(tmp_path)


def test_p12_what_another_program_undoes_during_a_save_is_not_in_its_summary(
    tmp_path: Path, server: ScriptedServer
) -> None:
    with talkers(tmp_path, server) as (one, two):
        for words in ("I have a cat.", "I owe Bo money."):
            one.do(f"said({words!r})")
        slow = Slow(server, "fold")
        one.begin("saved()")
        with slow:
            assert two.do(f"len(memory.rounds.undo({one.session!r}, 1))") == 1
        assert one.answer() == "Saved"
        assert summary_of(tmp_path, one.session) == "I have a cat."
    assert whole(tmp_path)


@contextmanager
def compacting(one: Talker, server: ScriptedServer) -> Iterator[None]:
    """While a program that said three things waits for the summary of a compaction."""
    for number in range(3):
        one.do(f"said('This is number {number}.')")
    slow = Slow(server, "fold")
    one.begin("[str(notice) for notice in talk.compact_now()]")
    with slow:
        yield


def test_p12_a_late_compaction_neither_orphans_a_round_nor_writes_back_what_is_gone(
    tmp_path: Path, server: ScriptedServer
) -> None:
    with talkers(tmp_path, server) as (one, two):
        with compacting(one, server):
            first = f"memory.messages.context({one.session!r})[0]"
            gone = f"memory.erasure.scope_of_messages([one.text_id for one in {first}.messages])"
            assert two.do(f"memory.erasure.remove({gone}) and 0 or 1") == 1
            for number in (3, 4):
                stored = f"memory.rounds.store({one.session!r}, 'This is number {number}.', 'Ok.', '{NOW}', 'stop')"
                assert two.do(f"{stored} and 1") == 1
        assert one.answer() == []
        assert summary_of(tmp_path, one.session) == "This is number 1. | This is number 2."
        assert one.do("[spoken.user.words for spoken in talk.rounds_in_context()]") == [
            "This is number 3.",
            "This is number 4.",
        ]
    assert said(tmp_path) == [f"This is number {number}." for number in range(1, 5)]
    assert whole(tmp_path)


def test_p12_a_late_compaction_writes_down_nothing_that_was_taken_back_meanwhile(
    tmp_path: Path, server: ScriptedServer
) -> None:
    with talkers(tmp_path, server) as (one, two):
        with compacting(one, server):
            assert two.do(f"len(memory.rounds.undo({one.session!r}, 3)) and 1") == 1
        assert one.answer() == []
        assert summary_of(tmp_path, one.session) == ""
    assert whole(tmp_path)


def test_p12_a_round_never_goes_into_a_session_that_another_program_has_archived(
    tmp_path: Path, server: ScriptedServer
) -> None:
    with talkers(tmp_path, server) as (one, two):
        one.do("said('I have a cat.')")
        slow = Slow(server, "talk")
        one.begin("said('It is called Momo.')")
        with slow:
            assert two.do(f"memory.rounds.save({one.session!r}, 'I have a cat.', {{}}, open_next=False) and 1") == 1
        keys, session = one.answer()
        assert ("session.moved" in keys, session != one.session) == (True, True)
        there = "SELECT session_id FROM conversation WHERE text = 'User: It is called Momo.'"
        assert rows(tmp_path, there) == [(session,)]
        assert one.do("saved()") == "Saved"
    assert summary_of(tmp_path, session) == "It is called Momo."
    assert whole(tmp_path)


def test_p12_of_two_saves_of_one_session_at_once_one_is_made(tmp_path: Path, server: ScriptedServer) -> None:
    with talkers(tmp_path, server) as (one, two):
        one.do("said('I have a cat.')")
        slow = Slow(server, "fold")
        one.begin("saved()")
        with slow:
            theirs = f"Saving(memory, llm).run(memory.sessions.find({one.session!r}), CancelToken())"
            assert two.do(f"list({theirs})") == "raised session.in_use"
        assert one.answer() == "Saved"
        assert two.do("said('I have a dog.')")[1] == two.session
        assert sorted([two.do("saved()"), one.do("saved()")]) == ["NothingToSave", "Saved"]
    assert len([1 for exchange in server.chats if marked(exchange, "fold") and material(exchange)["rounds"]]) == 2
    assert rows(tmp_path, "SELECT count(*) FROM summary") == [(2,)]
    assert whole(tmp_path)


def test_p12_a_compaction_of_a_killed_program_is_made_by_another(tmp_path: Path, server: ScriptedServer) -> None:
    with talkers(tmp_path, server) as (one, two):
        for number in range(4):
            one.do(f"said('This is number {number}.')")
        slow = Slow(server, "fold")
        one.begin("talk.compact_now()")
        with slow:
            two.do("talk.start_maintenance()")
            assert two.do("memory.jobs.next(['compact'], clock().timestamp())") is None
            one.process.kill()
            one.process.wait()
        two.do("talk.maintenance.queue.compaction.wake()")
        assert two.do("talk.maintenance.queue.settle('compact', 60.0)")
    assert summary_of(tmp_path, one.session) == "This is number 0. | This is number 1."
    assert whole(tmp_path)


def test_p12_a_chat_three_hosts_a_server_and_p_on_one_memory_lose_nothing_double_nothing_and_refuse_nothing(
    tmp_path: Path, server: ScriptedServer, chat: Chat
) -> None:
    settings = connected(server.base, **BUILT_IN)
    server.answer = lambda request: "Heard."
    typed = [f"I type number {number}." for number in range(4)]
    where = ("--env-file", str(tmp_path / "env"))
    terminal = chat(**settings)
    terminal.prompt()
    with ExitStack() as opened:
        hosts = {name: opened.enter_context(host(tmp_path, **settings)) for name in ("one", "two", "three")}
        serving = opened.enter_context(program(tmp_path, **settings))

        def talk(name: str, to: Host) -> None:
            for number in range(5):
                to.process_memory(f"This is number {number} of {name}.")

        threads = [threading.Thread(target=talk, args=pair) for pair in hosts.items()]
        for thread in threads:
            thread.start()
        beside = [started(tmp_path, *where, "-p", f"Beside {name}.", piped=False, **settings) for name in "ab"]
        assert serving.ask("POST", "/process", {"input": "Over HTTP.", "user_id": "me"}).status == 200
        for text in typed:
            terminal.say(text)
            terminal.see("Heard.")
            terminal.prompt()
        for thread in threads:
            thread.join(120)
        assert [ended(one).code for one in beside] == [0, 0]
        terminal.say("/exit")
        assert terminal.ended() == 0
        assert served_ended(serving)[0] == 0
        assert [one.ended() for one in hosts.values()] == [0, 0, 0]
    handed = [f"This is number {number} of {name}." for name in hosts for number in range(5)]
    assert sorted(said(tmp_path)) == sorted([*typed, *handed, "Beside a.", "Beside b.", "Over HTTP."])
    assert [text for text in said(tmp_path) if text in typed] == typed
    assert rows(tmp_path, "PRAGMA integrity_check") == [("ok",)]


def test_p12_the_next_chat_goes_on_where_the_last_one_was_whatever_was_said_beside_it(
    tmp_path: Path, server: ScriptedServer, chat: Chat
) -> None:
    settings = connected(server.base, **BUILT_IN)
    server.answer = lambda request: "Heard."
    where = ("--env-file", str(tmp_path / "env"))
    first = chat(**settings)
    first.prompt()
    first.say("I am in the chat.")
    first.see("Heard.")
    first.prompt()
    assert run(tmp_path, *where, "-p", "I am beside it.", **settings).code == 0
    second = chat(**settings)
    second.see("Another program has the earlier session open")
    second.prompt()
    for one in (second, first):
        one.say("/exit")
        assert one.ended() == 0
    third = chat(**settings)
    third.see("I am in the chat.")
    third.prompt()
    third.say("/exit")
    assert third.ended() == 0
    assert rows(tmp_path, "SELECT status, count(*) FROM session GROUP BY status ORDER BY status") == [
        ("active", 1),
        ("archived", 1),
    ]


#: How often a program is killed, each after so many more messages of every one; ``make torture`` kills more.
KILLS, BETWEEN = int(os.environ.get("TOGETHER_KILLS", "2")), 2
Saying = tuple["subprocess.Popen[Any]", Callable[[str], object]]


class Crowd:
    """Programs that say one thing after another, each opened again when it was killed."""

    def __init__(self, opened: dict[str, Callable[[ExitStack], Saying]]) -> None:
        self.acknowledged: dict[str, list[str]] = {name: [] for name in opened}
        self.failures: list[str] = []
        self.processes: dict[str, subprocess.Popen[Any]] = {}
        self.enough = threading.Event()
        self._threads = [threading.Thread(target=self._speak, args=pair) for pair in opened.items()]
        for thread in self._threads:
            thread.start()

    def _speak(self, name: str, opened: Callable[[ExitStack], Saying]) -> None:
        number = 0
        while not self.enough.is_set():
            with ExitStack() as things:
                self.processes[name], say = opened(things)
                while not self.enough.is_set():
                    number += 1
                    text = f"The {name} counts {number} apples."
                    try:
                        say(text)
                    except Exception as fault:
                        if self.processes[name].wait(60) != -signal.SIGKILL:
                            self.failures.append(f"{text} {fault!r}")
                            self.enough.set()
                        break
                    self.acknowledged[name].append(text)

    def wait_for(self, more: int) -> None:
        """Wait until so many more of each are acknowledged."""
        wanted = {name: len(texts) + more for name, texts in self.acknowledged.items()}
        until(lambda: self.enough.is_set() or all(len(self.acknowledged[one]) >= wanted[one] for one in wanted))

    def end(self) -> None:
        self.enough.set()
        for thread in self._threads:
            thread.join()


#: What is erased each time, and is nowhere in the end.
SECRET = "Quintessenz7731"
#: What persons said, as another program reads it.
READ_ALL = "[one.words for each in memory.sessions.recent(None) for one in memory.messages.of_session(each.session_id)]"


class Between:
    """What two more programs, and a third, do between the kills: an import, an erasure, new personas, two saves."""

    def __init__(self, home: Path, talkers: list[Talker], settings: dict[str, str], refused: list[object]) -> None:
        self.said: list[str] = []
        self._home, self._talkers, self._settings, self._refused = home, talkers, settings, refused

    def do_next(self, number: int) -> None:
        (self._import, self._erase, self._write_personas, self._save)[number % 4](number)

    def _import(self, number: int) -> None:
        texts = [f"I had {number} pears then.", "Pears!", f"And {number} plums.", "Plums!"]
        file = written(self._home / f"export-{number}" / "conversations.json", [gpt_talk(f"c{number}", texts)])
        ran = run(self._home, "--env-file", str(self._home / "env"), "--import", str(file), **self._settings)
        self._expect(ran.code, 0, ran.err)
        self.said += texts[::2]

    def _erase(self, number: int) -> None:
        one, other = self._talkers
        self._expect(one.do(f"said('My word is {SECRET} {number}.')")[0], [])
        self._expect(other.do(f"erased({SECRET!r})"), [])

    def _write_personas(self, number: int) -> None:
        for talker in self._talkers:
            new = f"'I own {number} pears and ' + str(part) + ' plums.'"
            talker.begin(f"[bool(memory.personas.write('user', {new}, 'model')) for part in range(5)]")
        for talker in self._talkers:
            self._expect(talker.answer(), [True] * 5)

    def _save(self, number: int) -> None:
        for place, talker in enumerate(self._talkers):
            self.said.append(f"Number {number} is saved by {place}.")
            self._expect(talker.do(f"said({self.said[-1]!r})")[0], [])
        for talker in self._talkers:
            talker.begin("saved()")
        for talker in self._talkers:
            self._expect(talker.answer(), "Saved")

    def _expect(self, found: object, wanted: object, more: str = "") -> None:
        if found != wanted:
            self._refused.append((found, more))


def test_p12_programs_with_kills_lose_nothing_acknowledged_double_nothing_and_refuse_nothing(
    tmp_path: Path, server: ScriptedServer
) -> None:
    settings = connected(server.base, **BUILT_IN)

    def terminal(things: ExitStack) -> Saying:
        (talker,) = things.enter_context(talkers(tmp_path, server, 1))
        return talker.process, lambda text: talker.do(f"said({text!r})")[0]

    def mcp(things: ExitStack) -> Saying:
        opened = things.enter_context(host(tmp_path, **settings))
        return opened.process, opened.process_memory

    def serving(things: ExitStack) -> Saying:
        opened = things.enter_context(program(tmp_path, **settings))
        assert opened.process

        def say_over_http(text: str) -> None:
            answered = opened.ask("POST", "/process", {"input": text, "user_id": "me"})
            assert answered.status == 200, answered.body

        return opened.process, say_over_http

    def one_after_another(things: ExitStack) -> Saying:
        def say_alone(text: str) -> None:
            where = ("--env-file", str(tmp_path / "env"))
            with started(tmp_path, *where, "-p", text, piped=False, **settings) as process:
                crowd.processes["p"] = process
                ran = ended(process)
            assert ran.code == 0, ran.err

        return things.enter_context(subprocess.Popen(["true"])), say_alone

    assert run(tmp_path, "--version", **settings).code == 0
    (tmp_path / "env").touch(0o600)
    refused: list[object] = []
    with talkers(tmp_path, server) as others:
        between = Between(tmp_path, others, settings, refused)
        crowd = Crowd({"terminal": terminal, "mcp": mcp, "server": serving, "p": one_after_another})
        try:
            for number in range(KILLS):
                crowd.wait_for(BETWEEN)
                name = ("mcp", "terminal", "server", "p")[number % 4]
                process = crowd.processes.get(name)
                stopped = process is not None and number % 5 == 4
                if process and stopped:  # perhaps while it writes: it is waited for
                    process.send_signal(signal.SIGSTOP)
                    threading.Timer(2, process.send_signal, [signal.SIGCONT]).start()
                elif process:
                    process.kill()
                between.do_next(number)
            crowd.wait_for(BETWEEN)
        finally:
            crowd.end()
        assert (crowd.failures, refused) == ([], [])
        others[0].do("len(list(rebuild(memory, llm, CancelToken())))")  # what could not be made again at once
        acknowledged = {text for texts in (*crowd.acknowledged.values(), between.said) for text in texts}
        for other in others:
            assert acknowledged <= {*other.do(READ_ALL)}
            for texts in crowd.acknowledged.values():
                assert f"User: {texts[-1]}" in other.do(
                    f"[one.text for one in memory.search({texts[-1]!r}, limits).messages]"
                )
    stored = Counter(said(tmp_path))
    assert acknowledged <= stored.keys()
    assert set(stored.values()) == {1}
    assert find_traces([tmp_path], forms(SECRET)) == []
    assert rows(tmp_path, "SELECT count(*) FROM persona WHERE origin = 'hand'") == [(0,)]
    assert whole(tmp_path)
