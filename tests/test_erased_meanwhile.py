"""What one program erases while another works is not written back: no reply, summary, fact or persona rests on it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from domain.errors import DataInUse
from domain.events import TextDelta
from domain.receipts import ErasedMeanwhile
from domain.records import Persona
from domain.workers import CancelToken
from storage import erasure
from storage.erasure import Proof, find_traces, forms
from tests.conftest import SetClock
from tests.support.house import House, friend, house, marked
from tests.support.server import ScriptedServer, say

SECRET = "quokka4711"
TOLD = f"My secret word is {SECRET}."
#: Ours and the other program.
Two = tuple[House, House]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


@pytest.fixture
def two(
    request: pytest.FixtureRequest, tmp_path: Path, server: ScriptedServer, clock, new_id, log, monkeypatch
) -> Iterator[Two]:
    also = {"MAX_CONV_NUM": "4", "DIARY": "off", "AUTOSAVE_AFTER": "8"}
    also |= getattr(request, "param", {})
    monkeypatch.setattr(erasure, "_PATIENCE", 0.2)  # the other program waits for ours, whose model waits for it
    with ExitStack() as opened:
        ours, other = (opened.enter_context(house(tmp_path, server, clock, new_id, log, **also)) for _ in range(2))
        yield ours, other


def erases(other: House, server: ScriptedServer, task: str) -> list[Proof]:
    """Lets the server answer as a friend, the first time to a task after the other program has erased the secret."""
    proofs: list[Proof] = []

    def answer(request: Any) -> str:
        if not proofs and marked(request, task) and SECRET in str(request["messages"]):
            proofs.append(other.memory.erasure.erase(other.memory.erasure.scope_of_words(SECRET)))
        if marked(request, "talk") and task == "talk":
            return f"You said {SECRET}." if SECRET in str(request["messages"]) else "Nothing."
        return friend(request)

    server.answer = answer
    return proofs


def test_a_turn_whose_prompt_held_what_was_erased_is_asked_again(two: Two, server: ScriptedServer) -> None:
    ours, other = two
    ours.say("My cat is called Momo.")
    ours.say(TOLD)
    erases(other, server, "talk")
    before = len(server.chats)
    events = list(ours.talk.turn("What did I say?", CancelToken()))
    assert "turn.erased_meanwhile" in [getattr(event, "key", "") for event in events]
    asked = [one for one in server.chats[before:] if marked(one, "talk")]
    assert [SECRET in str(one["messages"]) for one in asked] == [True, False]
    rounds = ours.memory.messages.rounds(ours.talk.session.session_id)
    assert [spoken.user.words for spoken in rounds] == ["My cat is called Momo.", "What did I say?"]
    assert find_traces([ours.memory.folder], forms(SECRET)) == []


@pytest.mark.parametrize("incognito", [False, True])
def test_a_reply_whose_last_words_came_before_an_erasure_is_not_kept_after_it(
    two: Two, server: ScriptedServer, *, incognito: bool
) -> None:
    ours, other = two
    ours.say(TOLD)
    ours.talk.set_incognito(incognito)
    server.answer = lambda request: f"You said {SECRET}." if SECRET in str(request["messages"]) else "Nothing."
    shown, keys = "", []
    for event in ours.talk.turn("What did I say?", CancelToken()):
        keys.append(getattr(event, "key", ""))
        if isinstance(event, TextDelta) and (shown := shown + event.text) == f"You said {SECRET}.":
            other.memory.erasure.erase(other.memory.erasure.scope_of_words(SECRET))
    assert (keys.count("turn.erased_meanwhile"), shown) == (1, f"You said {SECRET}.Nothing.")
    assert [spoken.assistant.words for spoken in ours.talk.rounds_in_context()] == ["Nothing."]
    assert find_traces([ours.memory.folder], forms(SECRET)) == []


def test_a_proof_names_the_program_that_still_works_with_what_was_erased(two: Two, server: ScriptedServer) -> None:
    ours, other = two
    ours.say(TOLD)
    proofs = erases(other, server, "talk")
    ours.say("What did I say?")
    assert [[one["pid"] for one in proof.behind] for proof in proofs] == [[os.getpid()]]
    assert other.memory.erasure.erase(other.memory.erasure.scope_of_words("What did")).behind == ()


def test_a_turn_goes_on_where_nothing_was_erased(two: Two, server: ScriptedServer) -> None:
    ours, other = two
    ours.say("My cat is called Momo.")
    other.say("I had soup.")
    before = len(server.chats)
    ours.say("What did I say?")
    assert len([one for one in server.chats[before:] if marked(one, "talk")]) == 1


@pytest.mark.parametrize("task", ["fold", "notes", "user"])
def test_a_save_writes_nothing_back_that_was_erased_while_it_ran(two: Two, server: ScriptedServer, task: str) -> None:
    ours, other = two
    for text in ("My cat is called Momo.", TOLD, "I live in Oslo."):
        ours.say(text)
    erases(other, server, task)
    archived = ours.talk.session.session_id
    ours.save()
    summary = ours.memory.summaries.of(archived)
    assert summary
    assert "Oslo" in summary.summary
    assert find_traces([ours.memory.folder], forms(SECRET)) == []


def test_a_compaction_writes_nothing_back_that_was_erased_while_it_ran(two: Two, server: ScriptedServer) -> None:
    ours, other = two
    ours.say(TOLD)
    erases(other, server, "fold")
    for text in ("My cat is called Momo.", "I live in Oslo.", "I had soup.", "It rains.", "It is cold."):
        ours.say(text)
    ours.talk.compact_now()
    assert [SECRET in str(one["messages"]) for one in server.chats if marked(one, "fold")][:2] == [True, False]
    summary = ours.memory.summaries.of(ours.talk.session.session_id)
    assert summary
    assert "Momo" in summary.summary
    assert find_traces([ours.memory.folder], forms(SECRET)) == []


def test_what_was_made_before_an_erasure_is_refused_in_its_commit(two: Two) -> None:
    ours, other = two
    ours.say(TOLD)

    def steps() -> Iterator[int]:
        tries.append(0)
        yield 1
        if len(tries) == 1:
            other.memory.erasure.commit(other.memory.erasure.scope_of_words(SECRET))
        with ours.memory.in_one_commit():
            pass
        yield 2

    tries: list[int] = []
    assert list(ours.memory.epoch.derive(steps)) == [1, 1, 2]
    with pytest.raises(ErasedMeanwhile):
        ours.memory.epoch.require(0)


def test_an_erasure_takes_what_was_made_after_it_was_chosen(two: Two) -> None:
    ours, other = two
    ours.say("My cat is called Momo.")
    ours.say(TOLD)
    chosen = other.memory.erasure.scope_of_words(SECRET)
    archived = ours.save().archived.session_id
    assert SECRET in ours.memory.summaries.of(archived).summary
    proof = other.memory.erasure.erase(chosen)
    assert [one.session_id for one in proof.removed.summaries] == [archived]
    assert other.memory.summaries.of(archived) is None
    assert SECRET not in ours.memory.personas.read("user")
    assert (proof.traces, find_traces([ours.memory.folder], forms(SECRET))) == ((), [])


@pytest.mark.parametrize("how", ["undo", "reset"])
def test_what_was_taken_back_does_not_come_back_once_it_was_erased(two: Two, how: str) -> None:
    ours, other = two
    ours.say("My cat is called Momo.")
    ours.say(TOLD)
    other.say(TOLD)
    assert (ours.talk.undo(1) if how == "undo" else ours.talk.reset()) > 0
    other.memory.erasure.erase(other.memory.erasure.scope_of_words(SECRET))
    assert (ours.talk.redo(), ours.talk.redo()) == ((), ()) if how == "undo" else ours.talk.undo(1) == 0
    assert find_traces([ours.memory.folder], forms(SECRET)) == []


def test_a_redo_that_fails_loses_nothing(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, _ = two
    ours.say(TOLD)
    assert ours.talk.undo(1) == 1
    with monkeypatch.context() as broken, pytest.raises(DataInUse):
        broken.setattr(ours.memory.messages, "note_moves", lambda tx: (_ for _ in ()).throw(DataInUse()))
        ours.talk.redo()
    assert [spoken.user.words for spoken in ours.talk.redo()] == [TOLD]


def test_a_session_whose_autosave_met_an_erasure_is_let_go(two: Two, server: ScriptedServer, clock: SetClock) -> None:
    ours, other = two
    ours.say("My cat is called Momo.")
    ours.say(TOLD)
    idle = ours.talk.session.session_id
    ours.memory.claims.release("session", idle)
    clock.pass_by(days=3)
    proofs = erases(other, server, "fold")
    ours.talk.maintenance.queue.run_now("autosave", idle)
    assert proofs
    assert idle not in other.memory.claims.taken("session")
    assert "Momo" in other.memory.summaries.of(idle).summary


def test_a_save_that_is_committed_is_made_once_whatever_is_erased_right_after(two: Two) -> None:
    ours, other = two
    ours.say("My cat is called Momo.")
    other.say(TOLD)
    erases = threading.Thread(target=other.memory.erasure.commit, args=(other.memory.erasure.scope_of_words(SECRET),))
    settle = ours.memory.personas.settle

    def settle_late(*personas: Persona) -> None:
        if not personas and "Momo" in ours.memory.personas.versions.newest("user").text and not erases.ident:
            erases.start()
            erases.join()
        settle(*personas)

    ours.memory.personas.settle = settle_late
    assert ours.save().changes
    assert erases.ident
    assert "Momo" in ours.memory.personas.path("user").read_text()


@pytest.mark.parametrize("two", [{"WINDOW_SIZE": "2", "EXTRACTION_WORKERS": "2"}], indirect=True)
def test_windows_that_are_read_at_once_store_nothing_that_was_erased_meanwhile(
    two: Two, server: ScriptedServer
) -> None:
    ours, other = two
    for text in ("My cat is called Momo.", TOLD, "I live in Oslo."):
        ours.say(text)
    proofs = erases(other, server, "notes")
    ours.save()
    assert proofs
    assert find_traces([ours.memory.folder], forms(SECRET)) == []


def test_a_reply_that_streams_is_kept_no_more_once_what_it_rests_on_is_erased(two: Two, server: ScriptedServer) -> None:
    ours, other = two
    ours.say(TOLD)
    (told,) = ours.memory.messages.rounds(ours.talk.session.session_id)
    erased, before, after = threading.Event(), list[str](), list[str]()

    def partial() -> str:
        flying = other.memory.sessions.in_flight(ours.talk.session.session_id)
        return flying.partial if flying else ""

    def pieces() -> Iterator[str]:
        yield from (f"{SECRET} ", "one ", "two ")
        before.append(partial())
        other.memory.erasure.commit(other.memory.erasure.scope_of_message(told.user.text_id))
        erased.set()
        yield from ("three ", "four ", "five ")

    server.script(say("", pieces=pieces(), pause=0.7))  # type: ignore[arg-type]
    keys = []
    for event in ours.talk.turn("What did I say?", CancelToken()):
        keys.append(getattr(event, "key", ""))
        if erased.is_set():
            after.append(partial())
    assert "turn.erased_meanwhile" in keys
    assert SECRET in before[0]
    assert not [one for one in after if SECRET in one]
