"""Taking out: all that was chosen and nothing else, in one commit, in any order with everything else."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.records import ErasureScope, Removed
from storage.store import Store
from tests.contract.stores import FORMS, Opens, Teller, at, holding, said
from tests.contract.test_finding import embed_all, kept

WORDS = ["amber", "birch", "copper", "dune", "ember", "fjord"]


def test_what_was_chosen_goes_with_its_words_vectors_and_drafts_and_a_note_stays(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    secret, plain = teller.say("s1", "a secret quokka"), teller.say("s1", "plain words")
    store.fold("s1", 1, teller.summary("of a quokka"))
    embed_all(store)
    store.pin("user", at(1), "keep the quokka")
    version = store.add_version("user", "likes quokkas", "model", at(1), "s1")
    store.keep_stage("s1", "summary", at(2), "quokka")
    store.note_in_flight("s1", at(3), "quokka?")
    summary = store.summary("s1")
    assert summary is not None
    chosen = ErasureScope(secret.turns, (summary,), (version,), ("keep the quokka",), ("s1",), (), "quokka")
    store.take_out(chosen, {"user": "likes animals"}, at(4))
    store.close()
    again = reopen()
    assert said(again, "s1") == ["plain words"]
    assert holding(again, "quokka") == []
    assert (again.summary("s1"), again.pins("user"), again.in_flight("s1")) == (None, (), None)
    assert again.stages("s1") == {}
    assert [one.text for one in again.versions("user")] == ["likes animals"]
    assert not {turn.text_id for turn in secret.turns} & set(kept(again))
    assert {turn.text_id for turn in plain.turns} <= set(again.waiting(9))
    assert not again.holds("quokka")
    note = again.erasure_note()
    assert note is not None
    assert set(chosen.texts) == set(note.texts)
    assert len(note.vectors) == 6
    again.end_erasure()
    assert again.erasure_note() is None
    assert again.problems() == []
    again.close()


def test_an_archived_session_goes_whole_and_the_others_stay(store: Store, teller: Teller) -> None:
    teller.say("s1", "one")
    store.archive("s1", teller.summary("just one"), {}, "s2")
    teller.say("s2", "two")
    session, summary = store.session("s1"), store.summary("s1")
    assert session is not None
    assert summary is not None
    chosen = ErasureScope(tuple(store.turns_of("s1")), (summary,), sessions=(session,))
    store.take_out(chosen, {}, at(9))
    assert store.session("s1") is None
    assert said(store, "s2") == ["two"]
    assert store.session_counts() == (0, 1)


class AnyOrder(RuleBasedStateMachine):
    """Two active sessions at a time beside a plain list of what was said in each, in their order of time."""

    opens: Opens

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="contract-")
        self.store = self.opens(Path(self.folder.name))
        self.teller = Teller(self.store)
        self.said: dict[str, list[str]] = {}
        self.active: list[str] = []
        self.cleared: dict[str, tuple[Removed, list[str]]] = {}
        self.names = 0

    @initialize()
    def begin(self) -> None:
        for year in (2026, 2025):
            self.begin_one(year)

    def name(self) -> str:
        self.names += 1
        return f"s{self.names}"

    def begin_one(self, year: int) -> None:
        """The years go back, so that each new session of the past stands before all others."""
        name = self.name()
        self.store.start_session(name, at(1), began=at(0, year))
        self.said = {name: [], **self.said}
        self.active.append(name)

    @rule(which=st.integers(0, 1), word=st.sampled_from(WORDS))
    def say(self, which: int, word: str) -> None:
        name = self.active[which]
        self.teller.say(name, f"I saw {word}")
        self.said[name].append(word)
        self.cleared.pop(name, None)

    @rule(which=st.integers(0, 1), word=st.sampled_from(WORDS))
    def put_first(self, which: int, word: str) -> None:
        name = self.active[which]
        if rounds := self.store.rounds(name):
            self.teller.say(name, f"I saw {word}", before=rounds[0])
            self.said[name].insert(0, word)
            self.cleared.pop(name, None)

    @rule(which=st.integers(0, 1))
    def undo(self, which: int) -> None:
        name = self.active[which]
        if self.store.undo(name, 1):
            self.said[name].pop()
            self.cleared.pop(name, None)

    @rule(which=st.integers(0, 1))
    def fold(self, which: int) -> None:
        name = self.active[which]
        if context := self.store.context(name):
            self.store.fold(name, context[0].user.round, self.teller.summary("a fold"))
            assert self.store.context(name) == context[1:]

    @rule(which=st.integers(0, 1))
    def reset(self, which: int) -> None:
        name = self.active[which]
        self.cleared[name] = (self.store.reset(name), self.said[name])
        self.said[name] = []

    @precondition(lambda self: self.cleared)
    @rule()
    def take_a_reset_back(self) -> None:
        name = next(iter(self.cleared))
        removed, words = self.cleared.pop(name)
        self.store.put_back(removed)
        self.said[name] = words

    @rule(which=st.integers(0, 1))
    def archive(self, which: int) -> None:
        name, following = self.active[which], self.name()
        self.store.archive(name, self.teller.summary("the end"), {}, following)
        self.said[following] = []
        self.active[which] = following
        self.cleared.pop(name, None)

    @rule(word=st.sampled_from(WORDS))
    def erase(self, word: str) -> None:
        turns = [turn for turn in self.store.turns_after(0, 9_999) if word in turn.words]
        self.store.take_out(ErasureScope(tuple(turns), words=word), {}, at(1))
        self.said = {name: [one for one in words if one != word] for name, words in self.said.items()}
        self.cleared.clear()
        self.store.end_erasure()

    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = self.teller.store = self.opens(Path(self.folder.name))

    @invariant()
    def the_store_is_what_was_said(self) -> None:
        if not self.said:
            return
        sessions = self.store.recent_sessions(-1, 0)[::-1]
        assert [session.session_id for session in sessions] == list(self.said)
        assert {name: [line.split()[2] for line in said(self.store, name)] for name in self.said} == self.said
        assert {one.session_id for one in sessions if one.status == "active"} == set(self.active)
        for session in sessions:
            assert session.current_conv_count == len(self.store.context(session.session_id))
        for word in WORDS:
            found = {turn.text_id for turn in self.store.turns_after(0, 9_999) if word in turn.words}
            assert set(holding(self.store, word)) == found
        waiting = set(self.store.waiting(9_999))
        assert waiting >= {turn.text_id for turn in self.store.turns_after(0, 9_999)}
        assert self.store.problems() == []

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


@pytest.mark.parametrize("form", FORMS)
def test_in_any_order_the_store_is_what_a_plain_list_says(form: str) -> None:
    machine = type("OfThisForm", (AnyOrder,), {"opens": staticmethod(FORMS[form])})
    case = machine.TestCase
    case.settings = settings(max_examples=15, stateful_step_count=20)
    case("runTest").debug()
