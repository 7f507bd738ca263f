"""What is learned, changed, put right and taken back in any order: what is left is as if the rest had never been."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from domain.facts import Change, Fact, Learned, NewFact, Slot
from domain.records import ErasureScope, Round
from tests.contract.stores import ENGINES, LIVES, Opens, Store, Teller, at
from tests.contract.test_knowing import new_fact, new_note, window_of
from tests.torture.kills import scratch

SLOTS = [Slot("ann", "home"), Slot("ann", "job"), Slot("ann", "likes")]
VERDICTS = ["same", "changes", "ends", "corrects", "doubts"]
_STATE = ("since", "until", "replaced_by", "corrected", "doubtful_since", "kept", "decided", "seen", "messages")


@dataclass(frozen=True)
class ByHand:
    """Something that a person decided."""

    fact: str
    new: NewFact | None


Done = Learned | ByHand


def told(store: Store) -> dict[str, tuple[Any, ...]]:
    """Every fact with its state, by id."""
    return {fact.text_id: tuple(getattr(fact, name) for name in _STATE) for fact in store.facts.all()}


def do(store: Store, done: Done) -> None:
    """Do what was done, in whichever store."""
    if isinstance(done, ByHand):
        store.at(at(70)).fact_log.correct_by_hand(done.fact, done.new)
    else:
        assert store.at(at(60)).fact_log.learn(done)


class AnyOrder(RuleBasedStateMachine):
    """A store beside a plain list of what was done in it and still counts."""

    opens: Opens

    def __init__(self) -> None:
        super().__init__()
        self.folder = scratch("knowing")
        self.store = self.open("one")
        self.rounds = self.say(self.store)
        self.done: list[Done] = []
        self.gone: set[str] = set()
        self.names = 0

    def open(self, name: str) -> Store:
        folder = Path(self.folder.name) / name
        folder.mkdir(exist_ok=True)
        return self.opens(folder)

    @staticmethod
    def say(store: Store) -> list[Round]:
        """Two sessions of three rounds each."""
        teller, spoken = Teller(store), []
        for session_id in ("s1", "s2"):
            store.start(session_id, at(0))
            spoken += [teller.say(session_id, f"words {number}") for number in range(3)]
        return spoken

    def named(self) -> str:
        self.names += 1
        return f"Value-{self.names:04d}"

    @initialize()
    def begin(self) -> None:
        assert self.store.facts.all() == []

    # -- what is done ------------------------------------------------------------------------------------------

    @rule(
        first=st.integers(0, 5),
        many=st.integers(1, 2),
        drawn=st.lists(st.tuples(st.sampled_from(SLOTS), st.integers(0, 1)), max_size=3),
        verdicts=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(VERDICTS), st.booleans()), max_size=3),
    )
    def learn(
        self, first: int, many: int, drawn: list[tuple[Slot, int]], verdicts: list[tuple[int, Any, bool]]
    ) -> None:
        rounds = [spoken for spoken in self.rounds[first : first + many] if self.is_unread(spoken)]
        if not rounds or len({spoken.user.session_id for spoken in rounds}) > 1:
            return
        new = tuple(self.drawn(rounds[which % len(rounds)], slot) for slot, which in drawn)
        known = [fact.text_id for fact in self.store.facts.all()] + [fact.text_id for fact in new]
        changes = tuple(
            Change(known[which % len(known)], verdict, at(30 + which), new[0].text_id if new and caused else "")
            for which, verdict, caused in verdicts
            if known
        )
        self.do(Learned(window_of(*rounds), tuple(map(new_note, new)), new, changes=changes))

    @rule(which=st.integers(0, 9), anew=st.booleans())
    def put_right(self, which: int, anew: bool) -> None:
        if facts := self.store.facts.all():
            fact = facts[which % len(facts)]
            spoken = next(one for one in self.rounds if one.user.text_id in fact.messages)
            self.do(ByHand(fact.text_id, self.drawn(spoken, fact.slot) if anew else None))

    def drawn(self, spoken: Round, slot: Slot) -> NewFact:
        name, single = self.named(), slot.attribute != "likes"
        return new_fact(name, spoken, slot=slot, attribute=slot.attribute, single=single)

    def do(self, done: Done) -> None:
        do(self.store, done)
        self.done.append(done)

    def is_unread(self, spoken: Round) -> bool:
        return set(spoken.messages) <= set(self.store.messages.unread(spoken.user.session_id))

    # -- what is taken back ------------------------------------------------------------------------------------

    @rule(which=st.integers(0, 9))
    def unlearn(self, which: int) -> None:
        windows = [done for done in self.done if isinstance(done, Learned)]
        if windows:
            taken = windows[which % len(windows)]
            self.store.fact_log.unlearn_windows([taken.window.name])
            self.forget_facts({fact.text_id for fact in taken.facts}, {taken.window.name})

    @rule(session_id=st.sampled_from(["s1", "s2"]))
    def undo_and_redo(self, session_id: str) -> None:
        if rounds := self.store.rounds.undo(session_id, 1):
            self.forget_messages({message.text_id for spoken in rounds for message in spoken.messages})
            self.store.rounds.redo(rounds)

    @rule(session_id=st.sampled_from(["s1", "s2"]))
    def reset_and_put_back(self, session_id: str) -> None:
        removed = self.store.rounds.reset(session_id)
        self.forget_messages({message.text_id for message in removed.messages})
        self.store.rounds.put_back(removed)

    @rule(which=st.integers(0, 5))
    def hide_and_unhide(self, which: int) -> None:
        ids = [message.text_id for message in self.rounds[which].messages]
        self.store.rounds.hide(ids)
        self.forget_messages(set(ids))
        self.store.rounds.unhide(ids)

    @rule(which=st.integers(0, 5))
    def erase(self, which: int) -> None:
        messages = tuple(self.store.messages.with_ids([self.rounds[which].user.text_id]))
        self.store.erasure.commit(ErasureScope(messages))
        self.forget_messages({message.text_id for message in messages})
        self.store.erasure._clean_database()
        left = b"".join(path.read_bytes() for path in sorted((Path(self.folder.name) / "one").iterdir()))
        assert [name for name in self.gone if name.encode() in left or name.lower().encode() in left] == []

    @rule()
    def open_again(self) -> None:
        self.it_is_as_if_only_what_counts_had_ever_been_done()
        self.store.close()
        self.store = self.open("one")

    def forget_messages(self, messages: set[str]) -> None:
        """What counts no more when these turns go: what rests on them, and what a window did without a fact."""
        facts = {fact.text_id for done in self.facts_done() for fact in done if messages & set(fact.messages)}
        windows = {
            done.window.name for done in self.done if isinstance(done, Learned) and messages & set(done.window.messages)
        }
        self.forget_facts(facts, set(), without_cause=windows)
        self.done = [self.read_without(done, messages) for done in self.done]

    def facts_done(self) -> list[tuple[NewFact, ...]]:
        return [done.facts if isinstance(done, Learned) else ((done.new,) if done.new else ()) for done in self.done]

    @staticmethod
    def read_without(done: Done, messages: set[str]) -> Done:
        if isinstance(done, ByHand):
            return done
        left = tuple(message for message in done.window.messages if message not in messages)
        return replace(done, window=replace(done.window, messages=left))

    def forget_facts(
        self,
        facts: set[str],
        windows: set[str],
        without_cause: set[str] = frozenset(),  # type: ignore[assignment]
    ) -> None:
        """Drop facts, and with a fact what a person put in its place; whole windows; and what is left of others."""
        facts = set(facts)
        for done in self.done:
            if isinstance(done, ByHand) and done.fact in facts and done.new:
                facts.add(done.new.text_id)
        self.gone |= facts
        kept: list[Done] = []
        for done in self.done:
            if isinstance(done, ByHand):
                if done.fact not in facts:
                    kept.append(done)
            elif done.window.name not in windows:
                kept.append(self.learned_without(done, facts, done.window.name in without_cause))
        self.done = kept

    @staticmethod
    def learned_without(done: Learned, facts: set[str], causeless: bool) -> Learned:
        return replace(
            done,
            facts=tuple(fact for fact in done.facts if fact.text_id not in facts),
            changes=tuple(
                one for one in done.changes if not {one.fact, one.by} & facts and not (causeless and not one.by)
            ),
        )

    # -- what holds always -------------------------------------------------------------------------------------

    @invariant()
    def no_slot_has_two_values(self) -> None:
        def alone(fact: Fact) -> bool:
            return fact.single and fact.stance == "stated"

        assert (
            max(Counter(fact.slot for fact in self.store.facts.all(current=True) if alone(fact)).values(), default=1)
            == 1
        )

    def it_is_as_if_only_what_counts_had_ever_been_done(self) -> None:
        self.names += 1
        fresh = self.open(f"fresh-{self.names}")
        self.say(fresh)
        for done in self.done:
            if isinstance(done, ByHand) or done.window.messages:
                do(fresh, done)
        assert told(self.store) == told(fresh)
        fresh.close()

    @invariant()
    def nothing_is_left_over(self) -> None:
        assert self.store.database.problems() == []
        facts = self.store.facts.all()
        assert all(fact.messages for fact in facts)
        notes = [note for session_id in ("s1", "s2") for note in self.store.notes.of_session(session_id)]
        assert all(note.messages for note in notes)
        found = self.store.words.postings("fact", ("live",), 9_999)["live"].seqs.tolist()
        assert found == [fact.number for fact in facts if not (fact.corrected and fact.decided == "hand")]

    def teardown(self) -> None:
        self.it_is_as_if_only_what_counts_had_ever_been_done()
        self.store.close()
        self.folder.cleanup()


@pytest.mark.parametrize("engine", ENGINES)
def test_in_any_order_what_is_known_is_what_still_counts(engine: str) -> None:
    machine = type("OnThisEngine", (AnyOrder,), {"opens": staticmethod(ENGINES[engine])})
    case = machine.TestCase
    case.settings = settings(max_examples=LIVES[engine], stateful_step_count=15)
    case("runTest").debug()
