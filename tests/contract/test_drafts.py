"""What is on its way, pinned lines and versions of the images: each of its own session, each of its own image."""

from __future__ import annotations

from dataclasses import replace

from storage.store import Store

from domain.records import ErasureScope
from tests.contract.stores import Teller, at


def test_each_session_has_its_own_message_in_flight(store: Store, teller: Teller) -> None:
    store.start_session("s2", at(1))
    store.note_in_flight("s1", at(2), "here")
    store.note_in_flight("s2", at(3), "there")
    store.keep_partial("s2", "half a rep")
    first, second = store.in_flight("s1"), store.in_flight("s2")
    assert first is not None
    assert second is not None
    assert (first.text, first.partial, first.timestamp) == ("here", "", at(2))
    assert (second.text, second.partial) == ("there", "half a rep")
    teller.say("s1", "here")
    assert store.in_flight("s1") is None
    assert store.every_in_flight() == [second]
    store.note_in_flight("s2", at(4), "once more")
    again = store.in_flight("s2")
    assert again is not None
    assert (again.text, again.partial) == ("once more", "")
    store.drop_in_flight("s2")
    assert store.every_in_flight() == []


def test_each_session_has_its_own_stages_and_they_end_when_it_goes_on(store: Store, teller: Teller) -> None:
    store.start_session("s2", at(1))
    for session_id in ("s1", "s2"):
        store.keep_stage(session_id, "summary", at(2), "first")
        store.keep_stage(session_id, "summary", at(3), f"of {session_id}")
    assert store.stages("s1") == {"summary": "of s1"}
    teller.say("s1", "more")
    assert store.stages("s1") == {}
    store.undo("s1", 1)
    assert store.stages("s2") == {"summary": "of s2"}
    store.drop_stages("s2")
    assert store.stages("s2") == {}


def test_pins_stay_in_the_order_in_which_they_were_set(store: Store) -> None:
    for text in ("b", "a"):
        store.pin("user", at(1), text)
    store.pin("self", at(1), "c")
    assert store.pins("user") == ("b", "a")
    store.unpin("user", "b")
    assert (store.pins("user"), store.pins("self")) == (("a",), ("c",))


def test_every_version_is_kept_and_the_newest_is_in_force(store: Store) -> None:
    one = store.add_version("user", "one", "model", at(1), "s1")
    two = store.add_laid_version("user", "two", "hand", at(2))
    store.add_version("self", "I", "setup", at(3))
    assert store.versions("user") == [one, two]
    assert store.newest_version("user") == two
    assert store.version(one.version) == one
    assert store.version(999) is None
    assert (store.laid_version("user"), store.laid_version("self")) == (two.version, None)
    store.set_laid_version("user", None)
    assert store.laid_version("user") is None


def test_a_file_whose_version_was_erased_is_known_for_that(store: Store) -> None:
    one = store.add_laid_version("user", "one\ntwo", "model", at(1))
    other = store.add_laid_version("self", "I", "model", at(1))
    store.take_out(ErasureScope(versions=(one,), left=("two",), lines=("one",)))
    assert store.laid_version("user") == 0
    assert store.laid_version("self") == other.version
    newest = store.newest_version("user")
    assert newest == replace(one, text="two")


def test_a_pin_says_whether_it_brought_its_line(store: Store) -> None:
    store.pin("user", at(1), "brought", added=True)
    store.pin("user", at(1), "was there")
    assert store.unpin("user", "brought")
    assert not store.unpin("user", "was there")
    assert not store.unpin("user", "never pinned")
    assert store.pins("user") == ()
