"""Many people: each has a memory of their own, none waits for another's, and nothing passes between them."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

import config
from domain.errors import DataInUse, StorageError, UsageError
from domain.recollection import RecallLimits
from domain.workers import CancelToken
from llm import Llm
from models.chat import Patience
from people import ME, Companion, People, Registry, folder_of, registry_in
from storage.erasure import Needles, Scrub
from storage.programs import Programs
from tests.domain.test_workers import PATIENCE, threads_of, until
from tests.support.house import friend
from tests.support.server import ScriptedServer


@dataclass
class Scrubbing:
    """What is asked of the scrubbers, and a hook into the opening of a memory."""

    cleaned: list[tuple[Path, Needles]] = field(default_factory=list)
    while_opening: Callable[[Path], object] = lambda folder: None

    def of(self, folder: Path) -> Sequence[Scrub]:
        self.while_opening(folder)
        return [lambda gone: self.cleaned.append((folder, gone))]


class Town:
    """People, opened and closed with their models and their registry."""

    def __init__(self, folder: Path, clock, new_id, most_open: int = 3, **environment: str) -> None:
        settings = config.load_settings(
            folder, {"EMBEDDING_MODEL": "built-in", "OPEN_MEMORIES": str(most_open), **environment}
        )
        self.data_dir = settings.data_dir
        self.scrubbing = Scrubbing()
        log = logging.Logger("test", logging.CRITICAL)
        self.llm = Llm(settings, log, clock=clock, patience=Patience(most=0.0))
        self.registry = Registry(registry_in(settings.data_dir), clock)
        self.people = People(self.llm, self.registry, new_id=new_id, scrubbers_of=self.scrubbing.of)

    def is_open(self, person: str, instruction: int | None = None) -> bool:
        """Whether somebody holds this person's folder: nobody else may open it then."""
        from datetime import UTC, datetime

        from storage.programs import FolderLock

        owner = FolderLock(folder_of(self.data_dir, person, instruction), lambda: datetime.now(UTC))
        try:
            owner.acquire()
        except DataInUse:
            return True
        owner.release()
        return False

    def close(self) -> None:
        self.people.close()
        self.registry.close()
        self.llm.close()


@pytest.fixture
def town(tmp_path, clock, new_id) -> Iterator[Town]:
    opened = Town(tmp_path, clock, new_id)
    yield opened
    opened.close()


def tell(companion: Companion, text: str) -> None:
    session, _ = companion.memory.sessions.resume_or_start()
    companion.memory.rounds.store(session.session_id, text, "I see.", session.start_timestamp, "stop")


def told(companion: Companion, session_id: str = "") -> list[str]:
    """What was said in a session: the one that is resumed, if none is named."""
    session_id = session_id or companion.memory.sessions.resume_or_start()[0].session_id
    return [message.words for message in companion.memory.messages.of_session(session_id) if message.role == "user"]


def told_in_any(companion: Companion) -> list[str]:
    """What was said in any session: a memory that is open twice has one for each program."""
    return [words for one in companion.memory.sessions.recent(None) for words in told(companion, one.session_id)]


def test_what_one_person_said_is_in_no_other_persons_memory(town):
    names = ["me", "ann", "ben", "../ben", "ben/", "本"]
    for name in names:
        with town.people.companion(name) as companion:
            tell(companion, f"I am {name!r}.")
    for name in names:
        with town.people.companion(name) as companion:
            assert told_in_any(companion) == [f"I am {name!r}."]
            if name != ME:
                assert companion.memory.folder.is_relative_to(town.data_dir / "people")


def test_no_index_is_opened_before_a_text_waits_for_its_vector_or_something_is_searched_for(town) -> None:
    def is_searched(companion: Companion) -> bool:
        companion.maintenance.wait()
        return companion.memory._search is not None

    with town.people.companion("ann") as ann:
        assert not is_searched(ann)
        tell(ann, "My kite is orange.")
        assert is_searched(ann)
        assert ann.memory.index.settle(60)
    town.people.close()
    town.people = People(town.llm, town.registry, new_id=town.people.new_id, scrubbers_of=town.scrubbing.of)
    with town.people.companion("ann") as ann:
        assert not is_searched(ann)
        found = ann.memory.recall(["What colour is my kite?"], "none", ann.clock(), RecallLimits(5, 5, 500))
        assert any("orange" in one.text for one in found.messages)
        assert ann.memory.index.settle(60)
        assert "embeddings" not in found.degraded
    town.people.prepare()
    with town.people.companion("bob") as bob:
        assert is_searched(bob)


def test_each_system_instruction_has_a_companion_of_its_own(town):
    one = town.registry.add_instruction("ann", "Pirate", "Talk like a pirate.")
    with town.people.companion("ann", one.number) as pirate, town.people.companion("ann") as plain:
        tell(pirate, "Ahoy.")
        assert told_in_any(plain) == []
        assert pirate.instruction == one
    with pytest.raises(UsageError), town.people.companion("ben", one.number):
        pass
    assert not (town.data_dir / "people" / "instruction-1").exists()


def test_while_one_memory_opens_others_are_opened_used_and_let_go(town):
    held, opening = threading.Event(), threading.Event()
    slow = folder_of(town.data_dir, "slow")
    town.scrubbing.while_opening = lambda folder: folder == slow and (opening.set(), held.wait(PATIENCE))

    def use_slow() -> list[str]:
        with town.people.companion("slow") as companion:
            return told(companion)

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.submit(use_slow), threads.submit(use_slow)
        assert opening.wait(PATIENCE)
        for name in ("ann", "ben"):
            with town.people.companion(name) as companion:
                tell(companion, "Hello.")
        assert not first.done()
        held.set()
        assert first.result(PATIENCE) == second.result(PATIENCE) == []


def test_an_opening_that_fails_leaves_nothing_and_may_be_tried_again(town):
    def fail(folder: Path) -> None:
        raise OSError("no")

    town.scrubbing.while_opening = fail
    with pytest.raises(OSError, match="no"), town.people.companion("ann"):
        pass
    town.scrubbing.while_opening = lambda folder: None
    with town.people.companion("ann") as companion:
        tell(companion, "Here I am.")
        assert town.is_open("ann")


def test_no_more_stay_open_than_may_and_the_one_used_longest_ago_goes(town):
    for number in range(9):
        with town.people.companion(f"p{number}") as companion:
            tell(companion, f"I am number {number}.")
            until(lambda: not companion.busy)  # a busy one is passed over when one has to go
    until(lambda: sum(town.is_open(f"p{number}") for number in range(9)) == 3)
    assert [number for number in range(9) if town.is_open(f"p{number}")] == [6, 7, 8]
    for number in range(9):
        with town.people.companion(f"p{number}") as companion:
            assert told(companion) == [f"I am number {number}."]


def test_one_in_use_is_never_closed_and_the_end_waits_for_it(town):
    with ThreadPoolExecutor(1) as threads:
        with town.people.companion("ann") as companion:
            for number in range(9):
                with town.people.companion(f"p{number}"):
                    pass
            until(lambda: sum(town.is_open(f"p{number}") for number in range(9)) <= 2)
            end = threads.submit(town.people.close)
            tell(companion, "Still here.")
            assert town.is_open("ann")
            assert not end.done()
        end.result(PATIENCE)
    assert not town.is_open("ann")


def test_a_person_whose_memory_another_program_uses_is_not_erased(town):
    with town.people.companion("ann") as companion:
        tell(companion, "I am Ann.")
    other = Programs(folder_of(town.data_dir, "ann"), lambda: datetime.now(UTC))
    other.enter()
    with pytest.raises(DataInUse):
        town.people.erase_person("ann")
    other.leave()
    with town.people.companion("ann") as companion:
        assert companion.memory.sessions.counts()[1] == 1
    assert [one.messages for one in town.people.erase_person("ann")] == [2]


def test_a_memory_that_another_program_opened_during_the_erasure_is_not_removed_under_it(town, monkeypatch):
    with town.people.companion("ann") as companion:
        tell(companion, "I am Ann.")
    place = folder_of(town.data_dir, "ann")
    other = Programs(place, lambda: datetime.now(UTC))
    erase = town.people._erase_memory

    def erase_and_open(*of):
        receipt = erase(*of)
        other.enter()
        return receipt

    with monkeypatch.context() as patched, pytest.raises(DataInUse):
        patched.setattr(town.people, "_erase_memory", erase_and_open)
        town.people.erase_person("ann")
    assert other.lives(other.name)
    other.leave()
    town.people.erase_person("ann")
    assert (place.parent.exists(), list(place.parents[1].glob(".*.going"))) == (False, [])


def test_what_a_crash_left_of_a_folder_that_was_being_removed_goes_the_next_time(town):
    with town.people.companion("ann") as companion:
        tell(companion, "I am Ann.")
    own = folder_of(town.data_dir, "ann").parent
    own.rename(own.with_name(f".{own.name}.going"))
    town.people.erase_person("ann")
    assert [one.name for one in own.parent.iterdir() if own.name in one.name] == []


def test_many_people_at_once_cost_a_handful_of_threads(tmp_path, clock, new_id):
    town = Town(tmp_path, clock, new_id, most_open=40)

    def live(number: int) -> int:
        for at in range(3):
            with town.people.companion(f"p{number}") as companion, companion.turns:
                tell(companion, f"Word {at} of person {number}.")
                companion.memory.recall(["What did I say?"], "", clock(), companion.settings.recall_limits)
        return threads_of("old-friend-index") + threads_of("old-friend-work") + threads_of("old-friend-people")

    with ThreadPoolExecutor(8) as threads:
        # A thread that has just ended is still counted for a moment, so thrice the 13 that there may be.
        assert max(threads.map(live, range(40))) < 40
    for number in range(40):
        with town.people.companion(f"p{number}") as companion:
            assert told(companion) == [f"Word {at} of person {number}." for at in range(3)]
    town.close()


def test_a_crowd_that_comes_and_goes_finds_every_word_again(town):
    """Memories are opened, closed and opened again all the time, by several threads at once."""

    def live(number: int) -> None:
        with town.people.companion(f"p{number % 7}") as companion, companion.turns:
            tell(companion, f"{number}")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(live, range(140)))
    for person in range(7):
        with town.people.companion(f"p{person}") as companion:
            assert sorted(map(int, told(companion))) == list(range(person, 140, 7))


def test_erasing_in_the_memory_of_me_neither_searches_nor_touches_those_of_others(town):
    with town.people.companion("ann") as ann:
        tell(ann, "The word is Quintessenz.")
        copy = ann.memory.folder / "memory.before-1.db"
        copy.write_bytes(b"Quintessenz")
    town.registry.add_instruction("ann", "Word", "Say Quintessenz often.")
    with town.people.companion(ME) as me:
        tell(me, "My word is Quintessenz.")
        assert me.memory.erasure.erase(me.memory.erasure.scope_of_words("Quintessenz")).traces == ()
        assert told(me) == []
    with town.people.companion("ann") as ann:
        assert told(ann) == ["The word is Quintessenz."]
    assert copy.exists()


def test_what_erasing_cleans_of_logs_and_histories_is_cleaned_for_every_person(town):
    logs = town.people.settings.log_dir
    logs.mkdir(exist_ok=True)
    (logs / "debug.log").write_text("The word is Quintessenz.")
    with town.people.companion("ann") as ann:
        tell(ann, "The word is Quintessenz.")
        proof = ann.memory.erasure.erase(ann.memory.erasure.scope_of_words("Quintessenz"))
    ((folder, gone),) = town.scrubbing.cleaned
    assert folder == folder_of(town.data_dir, "ann")
    assert gone.are_in(logs / "debug.log")
    assert {trace.path for trace in proof.traces} == {logs / "debug.log"}


def test_a_backup_of_me_holds_nobody_else(town, tmp_path):
    from memory import back_up

    for name in (ME, "ann"):
        with town.people.companion(name) as companion:
            tell(companion, f"I am {name}, and no other.")
    back_up(town.data_dir, tmp_path / "backup.db")
    with closing(sqlite3.connect(tmp_path / "backup.db")) as connection:
        texts = [row[0] for row in connection.execute("SELECT text FROM conversation WHERE role = 'user'")]
    assert texts == ["User: I am me, and no other."]


def test_an_erasure_that_was_cut_short_is_finished_when_the_memory_is_next_opened(town):
    with town.people.companion("ann") as ann:
        tell(ann, "The word is Quintessenz.")
        until(lambda: not ann.busy)  # a start that is under way would finish it, and keep the memory open
        ann.memory.erasure.remove(ann.memory.erasure.scope_of_words("Quintessenz"))
        assert ann.memory.erasure.is_unfinished()
    for number in range(4):
        with town.people.companion(f"p{number}"):
            pass
    until(lambda: not town.is_open("ann"))
    with town.people.companion("ann") as ann:
        until(lambda: not ann.memory.erasure.is_unfinished())
    assert len(town.scrubbing.cleaned) >= 1


@pytest.fixture
def served(tmp_path, clock, new_id) -> Iterator[Town]:
    with ScriptedServer() as server:
        server.answer = friend
        model = {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": "sk-test", "CHAT_MODEL": "test-model"}
        settings = {"MAX_CONV_NUM": "4", "REFRESH_EVERY_CONV_NUM": "2", "AUTOSAVE_AFTER": "8"}
        opened = Town(tmp_path, clock, new_id, **settings, **model)
        yield opened
        opened.close()


def test_a_conversation_is_kept_with_what_only_it_knows_and_folds_in_the_threads_of_all(served, clock):
    with served.people.companion("ann") as ann:
        session = ann.memory.sessions.start()
        for number in range(6):
            conversation = ann.open_conversation(session)
            with ann.turns:
                list(conversation.turn(f"Number {number}.", CancelToken()))
                conversation.compact_ahead()
        assert ann.open_conversation(session) is conversation
        assert conversation.undo() == 1
        until(lambda: not ann.busy)
        assert len(conversation.rounds_in_context()) <= 4
        assert conversation.redo()
        sessions = [ann.memory.sessions.start() for _ in range(40)]
        assert [ann.open_conversation(one).session for one in sessions] == sessions
        assert len(ann._conversations) <= 9


def test_a_session_that_fell_silent_is_saved_by_itself_and_one_that_is_talked_in_is_not(served, clock):
    with served.people.companion("ann") as ann:
        silent, talked_in = ann.memory.sessions.start(), ann.memory.sessions.start()
        for one in (silent, talked_in):
            list(ann.open_conversation(one).turn("I keep bees.", CancelToken()))
        clock.pass_by(hours=9)
        list(ann.open_conversation(talked_in).turn("The bees are well.", CancelToken()))
        ann.start_maintenance()
        until(lambda: not ann.busy)
        assert ann.memory.sessions.find(silent.session_id).status == "archived"
        assert ann.memory.sessions.find(talked_in.session_id).status == "active"


def test_a_fault_of_the_disk_in_the_background_keeps_nobody_from_talking(served, clock, monkeypatch) -> None:
    def fail(*_: object) -> bool:
        raise StorageError

    with served.people.companion("ann") as ann, served.people.companion("ben") as ben:
        session = ann.memory.sessions.start()
        list(ann.open_conversation(session).turn("I keep bees.", CancelToken()))
        silent = ben.memory.sessions.start()
        list(ben.open_conversation(silent).turn("I keep hens.", CancelToken()))
        clock.pass_by(hours=9)
        monkeypatch.setattr(ann.memory, "is_idle", fail)
        served.people._keep_at = 0.0
        served.people._upkeep.wake()
        until(lambda: ben.memory.sessions.find(silent.session_id).status == "archived")
        monkeypatch.undo()
        free: list[bool] = []
        another = threading.Thread(target=lambda: free.append(ann.turns.acquire(blocking=False)))
        another.start()  # in a thread of its own: the one that took the lock may take it again
        another.join(PATIENCE)
        assert free == [True]


def test_many_who_come_at_once_are_written_down_together(tmp_path: Path, clock) -> None:
    def commits() -> int:
        """SQLite counts them in its header."""
        return int.from_bytes(path.read_bytes()[24:28], "big")

    path = registry_in(tmp_path)
    with closing(Registry(path, clock)) as registry, closing(sqlite3.connect(path)) as another:
        before = commits()
        another.execute("BEGIN IMMEDIATE")
        threads = [threading.Thread(target=registry.add_person, args=(f"person {at}",)) for at in range(20)]
        for thread in threads:
            thread.start()
        until(lambda: len(registry._to_meet) == 19)
        another.rollback()
        for thread in threads:
            thread.join(PATIENCE)
        assert sorted(registry.persons()) == sorted(f"person {at}" for at in range(20))
        assert commits() - before == 2


def test_two_programs_may_write_the_same_person_down_at_once(tmp_path: Path, clock, monkeypatch) -> None:
    path = registry_in(tmp_path)
    with closing(Registry(path, clock)) as one, closing(Registry(path, clock)) as other:
        monkeypatch.setattr(one, "has_person", lambda person: False)  # it looked before the other wrote
        other.add_person("ann")
        one.add_person("ann")
        assert one.persons() == ["ann"]


def test_who_shows_a_token_waits_for_nobody_who_is_written_down(tmp_path: Path, clock) -> None:
    path = registry_in(tmp_path)
    with closing(Registry(path, clock)) as registry, closing(sqlite3.connect(path)) as other:
        secret = registry.add_token("phone", "me")
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as threads:
            meeting = threads.submit(registry.add_person, "ann")
            time.sleep(0.2)
            assert registry.token_of(secret) is not None
            assert not meeting.done()
            other.rollback()
            meeting.result(PATIENCE)
        assert registry.has_person("ann")
