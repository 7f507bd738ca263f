"""What is on its way, pinned lines and versions of the personas: each of its own session, each of its own persona."""

from __future__ import annotations

from dataclasses import replace

from domain.records import ErasureScope
from tests.contract.stores import Store, Teller, at, with_files


def test_each_session_has_its_own_message_in_flight(store: Store, teller: Teller) -> None:
    store.start("s2", at(1))
    store.at(at(2)).sessions.note_in_flight("s1", "here")
    store.at(at(3)).sessions.note_in_flight("s2", "there")
    store.sessions.keep_partial("s2", "half a rep")
    first, second = store.sessions.in_flight("s1"), store.sessions.in_flight("s2")
    assert first is not None
    assert second is not None
    assert (first.text, first.partial, first.timestamp) == ("here", "", at(2))
    assert (second.text, second.partial) == ("there", "half a rep")
    teller.say("s1", "here")
    assert store.sessions.in_flight("s1") is None
    assert store.sessions.every_in_flight() == [second]
    store.at(at(4)).sessions.note_in_flight("s2", "once more")
    again = store.sessions.in_flight("s2")
    assert again is not None
    assert (again.text, again.partial) == ("once more", "")
    store.sessions.drop_in_flight("s2")
    assert store.sessions.every_in_flight() == []


def test_each_session_has_its_own_stages_and_they_end_when_it_goes_on(store: Store, teller: Teller) -> None:
    store.start("s2", at(1))
    for session_id in ("s1", "s2"):
        store.at(at(2)).rounds.keep_step(session_id, "summary", "first")
        store.at(at(3)).rounds.keep_step(session_id, "summary", f"of {session_id}")
    assert store.rounds.steps("s1") == {"summary": "of s1"}
    teller.say("s1", "more")
    assert store.rounds.steps("s1") == {}
    store.rounds.undo("s1", 1)
    assert store.rounds.steps("s2") == {"summary": "of s2"}
    store.rounds.set_summary("s2", "")
    assert store.rounds.steps("s2") == {}


def test_pins_stay_in_the_order_in_which_they_were_set(store: Store) -> None:
    for text in ("b", "a"):
        store.pin("user", at(1), text)
    store.pin("self", at(1), "c")
    assert store.versions.pins("user") == ("b", "a")
    store.unpin("user", "b")
    assert (store.versions.pins("user"), store.versions.pins("self")) == (("a",), ("c",))


@with_files
def test_every_version_is_kept_and_the_newest_is_in_force(store: Store) -> None:
    one = store.add_version("user", "one", "model", at(1), "s1")
    two = store.add_version("user", "two", "hand", at(2), laid=True)
    other = store.add_version("self", "I", "setup", at(3))
    assert store.versions.all("user") == [one, two]
    assert store.versions.newest("user") == two
    assert store.versions.find(one.version) == one
    assert store.versions.find(999) is None
    assert (store.versions.written_number("user"), store.versions.written_number("self")) == (
        two.version,
        other.version,
    )
    store.versions.set_laid("user", None)
    assert store.versions.written_number("user") is None


@with_files
def test_a_file_whose_version_was_erased_is_known_for_that(store: Store) -> None:
    one = store.add_version("user", "one\ntwo", "model", at(1), laid=True)
    other = store.add_version("self", "I", "model", at(1), laid=True)
    store.erasure.commit(ErasureScope(versions=(one,), left=("two",), lines=("one",)))
    assert store.personas.path("user").read_text("utf-8") == "two\n"
    assert store.versions.written_number("user") == one.version
    assert store.versions.written_number("self") == other.version
    newest = store.versions.newest("user")
    assert newest == replace(one, text="two")


def test_a_pin_says_whether_it_brought_its_line(store: Store) -> None:
    store.pin("user", at(1), "brought", added=True)
    store.pin("user", at(1), "was there")
    assert store.unpin("user", "brought")
    assert not store.unpin("user", "was there")
    assert not store.unpin("user", "never pinned")
    assert store.versions.pins("user") == ()
