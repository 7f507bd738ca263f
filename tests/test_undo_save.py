"""Right after a save all of it can be taken back: the session, both personas, and what is known."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conversation import SaveUndone
from domain.facts import Change, Learned, SessionChanges
from domain.workers import CancelToken
from tests.conftest import Count, SetClock
from tests.contract.test_knowing import new_fact, new_note, window_of
from tests.support.house import House, friend, house
from tests.support.server import ScriptedServer


@contextmanager
def opened(tmp_path: Path, clock: Callable[[], datetime], new_id: Count, log: logging.Logger) -> Iterator[House]:
    server = ScriptedServer()
    server.answer = friend
    folders = {"DATA_DIR": str(tmp_path / "data"), "LOG_DIR": str(tmp_path / "logs"), "AUTOSAVE_AFTER": "8"}
    with house(tmp_path, server, clock, new_id, log, **folders) as running:
        yield running
    server.close()


@pytest.fixture
def home(tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger) -> Iterator[House]:
    with opened(tmp_path, clock, new_id, log) as running:
        yield running


def learn_while_saving(home: House, value: str, *changes: Change) -> None:
    """What a save learns, before its commit."""
    session_id = home.talk.session.session_id
    home.memory.rounds.keep_step(session_id, "summary", json.dumps({"base": "", "text": ""}))
    (spoken,) = home.memory.messages.rounds(session_id)
    fact = new_fact(value, spoken, value)
    assert home.memory.fact_log.learn(Learned(window_of(spoken), (new_note(fact),), (fact,), (), changes))


def current(home: House) -> list[str]:
    return [fact.value for fact in home.memory.facts.all(current=True)]


def two_evenings(home: House) -> str:
    """Ann lived in Oslo, and on the second evening in Bergen; the id of that session."""
    home.say("I live in Oslo")
    learn_while_saving(home, "Oslo")
    home.save()
    home.say("I moved to Bergen")
    learn_while_saving(home, "Bergen", Change("Oslo", "changes", "2026-03-01", "Bergen"))
    return home.save().archived.session_id


def test_undo_right_after_a_save_takes_all_of_it_back(home: House) -> None:
    home.say("I live in Oslo")
    learn_while_saving(home, "Oslo")
    home.save()
    personas = home.memory.personas.read("self"), home.memory.personas.read("user")
    home.say("I moved to Bergen")
    before = home.memory.messages.rounds(home.talk.session.session_id)
    learn_while_saving(home, "Bergen", Change("Oslo", "changes", "2026-03-01", "Bergen"))
    saved = home.save()
    changed = tuple(change.persona for change in saved.changes)
    assert "user" in changed
    assert current(home) == ["Bergen"]
    undone = home.talk.undo()
    assert isinstance(undone, SaveUndone)
    assert (undone.session.session_id, undone.session.status) == (saved.archived.session_id, "active")
    assert (undone.personas, undone.notes, undone.facts) == (changed, 1, 1)
    assert home.talk.session == undone.session
    assert home.talk.rounds_in_context() == before
    assert (home.memory.personas.read("self"), home.memory.personas.read("user")) == personas
    assert current(home) == ["Oslo"]
    assert home.talk.redo() == ()
    assert home.save().archived.session_id == saved.archived.session_id, "it can be saved again"


def test_a_save_is_taken_back_by_the_next_run_of_the_program_too(
    tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger
) -> None:
    with opened(tmp_path, clock, new_id, log) as first:
        archived = two_evenings(first)
        assert current(first) == ["Bergen"]
    with opened(tmp_path, clock, new_id, log) as later:
        undone = later.talk.undo()
        assert isinstance(undone, SaveUndone)
        assert (undone.session.session_id, undone.session.status) == (archived, "active")
        assert later.talk.session == undone.session
        assert current(later) == ["Oslo"]
        assert [spoken.user.words for spoken in later.talk.rounds_in_context()] == ["I moved to Bergen"]
        assert later.talk.undo() == 1, "the round that was said before it is next"


@pytest.mark.parametrize("then", ["said and taken back", "decided", "kept", "erased", "resumed", "saved again"])
def test_a_save_is_not_taken_back_by_the_next_run_when_something_else_was_done(
    tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger, then: str
) -> None:
    with opened(tmp_path, clock, new_id, log) as first:
        archived = two_evenings(first)
        memory = first.memory
        (bergen,) = memory.facts.all(current=True)
        if then == "said and taken back":
            first.say("it rains")
            assert first.talk.undo() == 1
        elif then == "decided":
            first.talk.undoing.correct_fact(bergen.text_id, None)
        elif then == "kept":
            first.talk.undoing.keep_fact(bergen.text_id, kept=True)
        elif then == "erased":
            list(first.talk.erase(memory.erasure.scope_of_words("Oslo"), CancelToken()))
        elif then == "resumed":
            oldest = memory.sessions.recent(None)[-1].session_id
            memory.rounds.resume(oldest, first.talk.session.session_id)
        else:
            first.say("it rains")
            first.save()
    with opened(tmp_path, clock, new_id, log) as later:
        undone = later.talk.undo()
        kept = later.memory.sessions.find(archived)
        assert isinstance(undone, SaveUndone) is (then == "saved again")
        assert kept is not None
        assert kept.status == "archived"


def test_of_two_programs_that_save_in_one_second_each_takes_its_own_save_back(
    tmp_path: Path, new_id: Count, log: logging.Logger
) -> None:
    def clock() -> datetime:
        return datetime(2026, 3, 1, 9, tzinfo=UTC)

    with opened(tmp_path, clock, new_id, log) as ours, opened(tmp_path, clock, new_id, log) as other:
        for one in (ours, other):
            one.say(f"I am {one.talk.session.session_id}")
        own = [one.save().archived.session_id for one in (ours, other)]
        third = ours.memory.sessions.start()
        assert ours.memory.saves.last(third.session_id) is None
        assert [one.memory.saves.last(one.talk.session.session_id) for one in (ours, other)] == own
        undone = other.talk.undo()
        assert isinstance(undone, SaveUndone)
        assert undone.session.session_id == own[1]
        assert ours.memory.sessions.find(own[0]).status == "archived"


def test_a_save_that_ran_by_itself_is_not_what_undo_takes_back(
    tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger
) -> None:
    with opened(tmp_path, clock, new_id, log) as first:
        first.say("I live in Oslo")
        silent = first.talk.session.session_id
    clock.pass_by(days=2)
    with opened(tmp_path, clock, new_id, log) as later:
        later.talk.start_maintenance()
        later.talk.maintenance.wait()
        archived = later.memory.sessions.find(silent)
        assert archived is not None
        assert archived.status == "archived"
        assert later.talk.undo() == 0


@pytest.mark.parametrize("then", ["said", "erased", "switched", "reset", "unanswered"])
def test_a_save_is_not_taken_back_after_something_else_was_done(home: House, then: str) -> None:
    archived = two_evenings(home)
    if then in ("said", "reset"):
        home.say("it rains")
    elif then == "erased":
        list(home.talk.erase(home.memory.erasure.scope_of_words("Oslo"), CancelToken()))
    elif then == "switched":
        home.talk.switch_to(home.memory.sessions.start(), resumed=False)
    else:
        home.memory.sessions.note_in_flight(home.talk.session.session_id, "it")
    if then == "reset":
        assert home.talk.reset() == 1
    assert home.talk.undo() == (1 if then in ("said", "reset") else 0)
    kept = home.memory.sessions.find(archived)
    assert kept is not None
    assert kept.status == "archived"
    assert "Bergen" in current(home)


def test_a_session_tells_what_it_changed_in_what_is_known(home: House) -> None:
    home.say("I live in Oslo")
    learn_while_saving(home, "Oslo")
    first = home.save().archived.session_id
    assert home.memory.facts.session_changes(first) == SessionChanges(new=1)
    assert home.talk.open().news == SessionChanges(new=1)
    home.say("I moved to Bergen")
    assert not home.talk.open().news, "something was said since"
    learn_while_saving(home, "Bergen", Change("Oslo", "changes", "2026-03-01", "Bergen"))
    second = home.save().archived.session_id
    assert home.memory.facts.session_changes(second) == SessionChanges(changed=1)
    home.say("I left Bergen for good")
    learn_while_saving(home, "nowhere", Change("Bergen", "ends", "2026-03-02", "nowhere"))
    assert home.memory.facts.session_changes(home.save().archived.session_id) == SessionChanges(ended=1)
    assert home.memory.facts.session_changes("nobody") == SessionChanges()


def test_counts_are_of_what_is_known_and_of_what_nobody_has_read(home: House) -> None:
    two_evenings(home)
    home.say("it rains")
    counts = home.memory.facts.count_all()
    assert (counts.notes, counts.current, counts.past, counts.unread) == (2, 1, 1, 2)
    assert counts.facts == 2
