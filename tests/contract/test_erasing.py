"""Taking out: all that was chosen and nothing else, in one commit, in any order with everything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.records import ErasureScope, Persona, PersonaVersion, Removed, Round, Summary
from tests.contract.stores import ENGINES, LIVES, Opens, Store, Teller, at, holding, said
from tests.contract.test_finding import embed_all, kept
from tests.torture.kills import scratch

WORDS = ["amber", "birch", "copper", "dune", "ember", "fjord"]


def test_what_was_chosen_goes_with_its_words_vectors_and_drafts_and_a_note_stays(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    secret, plain = teller.say("s1", "a secret quokka"), teller.say("s1", "plain words")
    store.rounds.compact("s1", 1, teller.summary("of a quokka"))
    embed_all(store)
    store.pin("user", at(1), "keep the quokka")
    version = store.add_version("user", "likes quokkas", "model", at(1), "s1")
    store.at(at(2)).rounds.keep_step("s1", "summary", "quokka")
    store.at(at(3)).sessions.note_in_flight("s1", "quokka?")
    summary = store.summaries.of("s1")
    assert summary is not None
    chosen = ErasureScope(
        secret.messages, (summary,), (version,), ("likes animals",), ("likes quokkas",),
        pins=("keep the quokka",), in_flight=("s1",), words="quokka",
    )  # fmt: skip
    store.erasure.commit(chosen)
    store.close()
    again = reopen()
    assert said(again, "s1") == ["plain words"]
    assert holding(again, "quokka") == []
    assert (again.summaries.of("s1"), again.versions.pins("user"), again.sessions.in_flight("s1")) == (None, (), None)
    assert again.rounds.steps("s1") == {}
    assert [one.text for one in again.versions.all("user")] == ["likes animals"]
    assert not {message.text_id for message in secret.messages} & set(kept(again))
    assert {message.text_id for message in plain.messages} <= set(again.embeddings.waiting(9))
    assert not again.erasure._still_stores("quokka")
    note = again.erasure._read_note()
    assert note is not None
    assert set(chosen.texts) == set(note.texts)
    assert len(note.vectors) == 9
    again.erasure._clean_database()
    assert again.erasure._read_note() is None
    assert again.database.problems() == []
    again.close()


def test_the_store_knows_whether_anything_holds_a_text_to_the_letter(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "said", "answered")
    store.rounds.compact("s1", 1, teller.summary("summed up"))
    store.add_version("user", "a persona", "model", at(1))
    store.pin("self", at(1), "a pin")
    held = (spoken.user.text, spoken.assistant.text, "summed up", "a persona", "a pin")
    assert [text for text in held if not store.erasure._still_stores(text)] == []
    assert store.erasure._still_stores("a person")
    assert not store.erasure._still_stores("A persona")
    store.rounds.undo("s1", 9)
    store.rounds.reset("s1")
    assert [text for text in held if store.erasure._still_stores(text)] == ["a persona", "a pin"]


def test_an_archived_session_goes_whole_and_the_others_stay(store: Store, teller: Teller) -> None:
    teller.say("s1", "one")
    store.opening("s2").rounds.save("s1", teller.summary("just one"), {})
    teller.say("s2", "two")
    session, summary = store.sessions.find("s1"), store.summaries.of("s1")
    assert session is not None
    assert summary is not None
    chosen = ErasureScope(tuple(store.messages.of_session("s1")), (summary,), sessions=(session,))
    store.erasure.commit(chosen)
    assert store.sessions.find("s1") is None
    assert said(store, "s2") == ["two"]
    assert store.sessions.counts() == (0, 1)


def archived(store: Store, teller: Teller, waiting: tuple[Persona, ...] = ()) -> tuple[Summary, PersonaVersion]:
    """A session with a secret, archived long ago with a persona; its summary and the persona."""
    for words in ("a secret", "plain words"):
        teller.say("s1", words)
    store.at(at(30)).opening("s2").rounds.save(
        "s1", "a secret and plain words", {"user": "A secret.\nPlain."}, waiting=waiting
    )
    (summary,), version = store.summaries.all(), store.versions.newest("user")
    assert version is not None
    return summary, version


def test_what_is_to_be_made_anew_is_asked_for_in_the_commit_that_makes_it_so(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    summary, version = archived(store, teller, ("user",))
    store.erasure.commit(ErasureScope(tuple(store.messages.of_session("s1")[:2]), (summary,), (version,), ("Plain.",)))
    store.close()
    again = reopen()
    assert [(one.what, one.session_id, one.timestamp) for one in again.rebuilds.due_requests()] == [
        ("user", "s1", at(30)),
        ("summary", "s1", at(30)),
    ]
    persona, anew = again.rebuilds.due_requests()
    assert again.rounds.rebuild_summary(anew, "plain words", 2)
    assert not again.rounds.rebuild_summary(anew, "twice", 2)
    (made,) = again.summaries.all()
    assert (made.summary, made.timestamp, made.upto_round, made.position) == (
        "plain words", at(30), 2, summary.position,
    )  # fmt: skip
    base = again.versions.newest("user")
    assert base is not None
    assert again.at(at(50)).personas.rebuild([persona], base, "Plain words.")
    assert not again.at(at(51)).personas.rebuild([persona], base, "Twice.")
    assert [one.text for one in again.versions.all("user")] == ["Plain.", "Plain words."]
    assert again.rebuilds.due_requests() == []
    again.close()


def test_a_persona_that_was_edited_meanwhile_is_not_written_over(store: Store, teller: Teller) -> None:
    summary, version = archived(store, teller, ("user",))
    store.erasure.commit(ErasureScope(tuple(store.messages.of_session("s1")[:2]), (summary,), (version,), ("Plain.",)))
    base = store.versions.newest("user")
    store.add_version("user", "By hand.", "hand", at(40))
    persona = store.rebuilds.due_requests()[0]
    assert not store.at(at(50)).personas.rebuild([persona], base, "By a model.")
    assert store.rebuilds.due_requests()[0] == persona
    assert store.at(at(50)).personas.rebuild([persona], store.versions.newest("user"), "By hand.")
    assert [one.text for one in store.versions.all("user")] == ["Plain.", "By hand."]


def test_a_summary_that_is_made_anew_while_its_session_folds_on_is_asked_for_again(
    store: Store, teller: Teller
) -> None:
    for words in ("one", "two", "three"):
        teller.say("s1", words)
    store.rounds.compact("s1", 1, teller.summary("one"))
    (summary,) = store.summaries.all()
    store.erasure.commit(ErasureScope(summaries=(summary,)))
    (asked,) = store.rebuilds.due_requests()
    store.rounds.compact("s1", 2, teller.summary("two"))
    assert not store.rounds.rebuild_summary(asked, teller.summary("one"), 1)
    (again,) = store.rebuilds.due_requests()
    assert again.number != asked.number
    assert store.rounds.rebuild_summary(again, teller.summary("one, two"), 2)
    assert [one.summary for one in store.summaries.all()] == ["one, two"]


def test_a_summary_by_hand_or_a_reset_ends_the_wish_for_one(store: Store, teller: Teller) -> None:
    for words in ("one", "two"):
        teller.say("s1", words)
    store.rounds.compact("s1", 1, teller.summary("one"))
    store.erasure.commit(ErasureScope(summaries=tuple(store.summaries.all())))
    removed = store.rounds.reset("s1")
    assert store.rebuilds.due_requests() == []
    store.rounds.put_back(removed)
    assert [one.what for one in store.rebuilds.due_requests()] == ["summary"]
    store.rounds.set_summary("s1", teller.summary("by hand"))
    assert store.rebuilds.due_requests() == []


def test_with_a_session_goes_what_was_to_be_made_anew_of_it(store: Store, teller: Teller) -> None:
    summary, version = archived(store, teller)
    store.erasure.commit(ErasureScope(tuple(store.messages.of_session("s1")[:2]), (summary,), (version,), ("Plain.",)))
    session = store.sessions.find("s1")
    assert session is not None
    store.erasure.commit(ErasureScope(tuple(store.messages.of_session("s1")), sessions=(session,)))
    assert store.rebuilds.due_requests() == []
    assert store.database.problems() == []


class AnyOrder(RuleBasedStateMachine):
    """Two active sessions at a time beside a plain list of what was said in each, in their order of time."""

    opens: Opens

    def __init__(self) -> None:
        super().__init__()
        self.folder = scratch("contract")
        self.store = self.opens(Path(self.folder.name))
        self.teller = Teller(self.store)
        self.said: dict[str, list[str]] = {}
        self.active: list[str] = []
        self.cleared: dict[str, tuple[Removed, list[str]]] = {}
        self.undone: dict[str, tuple[Round, ...]] = {}
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
        self.store.start(name, at(1), began=at(0, year))
        self.said = {name: [], **self.said}
        self.active.append(name)

    def forget(self, name: str) -> None:
        """Something new was done in a session: neither a reset nor an undo of it can be taken back any more."""
        self.cleared.pop(name, None)
        self.undone.pop(name, None)

    @rule(which=st.integers(0, 1), word=st.sampled_from(WORDS))
    def say(self, which: int, word: str) -> None:
        name = self.active[which]
        self.teller.say(name, f"I saw {word}")
        self.said[name].append(word)
        self.forget(name)

    @rule(which=st.integers(0, 1))
    def undo(self, which: int) -> None:
        name = self.active[which]
        if undone := self.store.rounds.undo(name, 1):
            self.said[name].pop()
            self.cleared.pop(name, None)
            self.undone[name] = undone

    @precondition(lambda self: self.undone)
    @rule()
    def redo(self) -> None:
        name, undone = self.undone.popitem()
        self.store.rounds.redo(undone)
        self.said[name] += [spoken.user.words.split()[2] for spoken in undone]
        self.cleared.pop(name, None)

    @rule(which=st.integers(0, 1))
    def fold(self, which: int) -> None:
        name = self.active[which]
        if context := self.store.messages.context(name):
            self.store.rounds.compact(name, context[0].user.round, self.teller.summary("a fold"))
            assert self.store.messages.context(name) == context[1:]

    @rule(which=st.integers(0, 1))
    def reset(self, which: int) -> None:
        name = self.active[which]
        self.forget(name)
        self.cleared[name] = (self.store.rounds.reset(name), self.said[name])
        self.said[name] = []

    @precondition(lambda self: self.cleared)
    @rule()
    def take_a_reset_back(self) -> None:
        name = next(iter(self.cleared))
        removed, words = self.cleared.pop(name)
        self.store.rounds.put_back(removed)
        self.said[name] = words
        self.forget(name)

    @rule(which=st.integers(0, 1))
    def archive(self, which: int) -> None:
        name, following = self.active[which], self.name()
        self.store.opening(following).rounds.save(name, self.teller.summary("the end"), {})
        self.said[following] = []
        self.active[which] = following
        self.forget(name)

    @rule(word=st.sampled_from(WORDS))
    def erase(self, word: str) -> None:
        messages = [message for message in self.store.messages.stored_after(0, 9_999) if word in message.words]
        self.store.erasure.commit(ErasureScope(tuple(messages), words=word))
        self.said = {name: [one for one in words if one != word] for name, words in self.said.items()}
        for name in self.said:
            self.forget(name)
        self.store.erasure._clean_database()

    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = self.teller.store = self.opens(Path(self.folder.name))

    @invariant()
    def the_store_is_what_was_said(self) -> None:
        if not self.said:
            return
        sessions = self.store.sessions.recent(None)[::-1]
        assert [session.session_id for session in sessions] == list(self.said)
        assert {name: [line.split()[2] for line in said(self.store, name)] for name in self.said} == self.said
        assert {one.session_id for one in sessions if one.status == "active"} == set(self.active)
        for session in sessions:
            assert session.current_conv_count == len(self.store.messages.context(session.session_id))
        for word in WORDS:
            found = {message.text_id for message in self.store.messages.stored_after(0, 9_999) if word in message.words}
            assert set(holding(self.store, word)) == found
        waiting = set(self.store.embeddings.waiting(9_999))
        assert waiting >= {message.text_id for message in self.store.messages.stored_after(0, 9_999)}
        assert self.store.database.problems() == []

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


@pytest.mark.parametrize("engine", ENGINES)
def test_in_any_order_the_store_is_what_a_plain_list_says(engine: str) -> None:
    machine = type("OnThisEngine", (AnyOrder,), {"opens": staticmethod(ENGINES[engine])})
    case = machine.TestCase
    case.settings = settings(max_examples=LIVES[engine], stateful_step_count=20)
    case("runTest").debug()


def ids(chosen: ErasureScope) -> list[str]:
    return [message.text_id for message in chosen.messages]


def test_what_an_erasure_would_take_is_chosen_by_message_round_session_words_or_all(
    store: Store, teller: Teller
) -> None:
    teller.say("s1", "one apple")
    store.opening("s2").rounds.save("s1", teller.summary("of an apple"), {})
    teller.say("s2", "two pears")
    store.sessions.note_in_flight("s2", "a third apple")
    store.rounds.hide(["u3"])
    choose = store.erasure
    assert ids(choose.scope_of_message("u1")) == ["u1"]
    assert ids(choose.scope_of_messages(["u1", "u3"])) == ["u1", "u3"]
    assert ids(choose.scope_of_round("a1")) == ["u1", "a1"]
    assert (ids(choose.scope_of_session("s1")), ids(choose.scope_of_hidden())) == (["u1", "a1"], ["u3"])
    assert (ids(choose.scope_of_words("APPLE")), choose.scope_of_words("apple").in_flight) == (["u1", "a1"], ("s2",))
    assert ids(choose.scope_of_everything()) == ["u1", "a1", "u3", "a3"]
    summary = store.summaries.of("s1")
    assert summary
    assert (ids(choose.scope_of_memory(summary.text_id)), ids(choose.scope_of_memory("u1"))) == (["u1", "a1"], ["u1"])
    assert [ids(one) for one in choose.scopes_of_leaves(store.archive.oldest_visited(2))] == [["u1", "a1"]]
    assert (choose.scope_of_session("nowhere"), choose.scope_of_words(" ")) == (ErasureScope(), ErasureScope())
    chosen = choose.scope_of_session("s1")
    store.rounds.set_summary("s1", "of one apple")
    assert [one.summary for one in choose.refresh_scope(chosen).summaries][-1] == "of one apple"


def test_an_erasure_is_proven_and_one_that_was_cut_short_is_finished(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    spoken = teller.say("s1", "the quick brown fox jumps over it")
    store.erasure.remove(store.erasure.scope_of_message(spoken.user.text_id))
    assert store.erasure.is_unfinished()
    store.close()
    again = reopen()
    proof = again.erasure.finish()
    assert proof
    assert (proof.traces, again.rebuilt, again.erasure.is_unfinished()) == ((), 1, False)
    assert again.erasure.finish() is None
    assert again.erasure.erase(again.erasure.scope_of_everything()).traces == ()
    assert again.messages.of_session("s1") == []
    again.close()
