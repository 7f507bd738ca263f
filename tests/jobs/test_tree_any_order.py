"""Whatever is said, saved, taken back, erased and gone on with, in any order: the tree is whole and holds no more."""

from __future__ import annotations

import os
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from domain.events import Notice
from domain.receipts import ErasedMeanwhile
from domain.records import Removed
from domain.tree import LIFE
from tests.jobs.writing_chapters import TITLE, Life
from tests.torture.kills import scratch

SIZE = 3
WORDS = ("amber", "birch", "copper", "dune", "ember", "fjord", "grove", "heron")


class AnyOrder(RuleBasedStateMachine):
    """A life with small groups, beside what was ever said in it and still is."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch = scratch("tree")
        self.life = Life(Path(self.scratch.name), group_size=SIZE, group_tokens=60)
        self.memory = self.life.memory
        self.active: str | None = None
        self.saved: tuple[str, str] | None = None
        self.removed: Removed | None = None

    # -- what is done ------------------------------------------------------------------------------------------

    def present(self) -> str:
        if self.active is None:
            self.active = self.memory.sessions.start().session_id
        return self.active

    @rule(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2))
    def talk(self, words: list[str]) -> None:
        for word in words:
            self.life.say(self.present(), word)
        self.saved = self.removed = None

    @rule(which=st.integers(0, 99), words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
    def bring_the_past(self, which: int, words: list[str]) -> None:
        """A session between others, or a few at the end."""
        sessions = self.memory.sessions.recent(None)
        before = sessions[which % len(sessions)].session_id if sessions and which < 30 else None
        self.life.session(*words, before=before)
        self.saved = None

    @rule()
    def live_on(self) -> None:
        """As many sessions as fill a group."""
        for word in WORDS[:SIZE]:
            self.life.session(word)
        self.saved = None

    @precondition(lambda self: self.active is not None and self.memory.messages.of_session(self.active))
    @rule()
    def save(self) -> None:
        said = self.active
        assert said is not None
        summary = " ".join(message.words for message in self.memory.messages.of_session(said) if message.role == "user")
        opened = self.memory.rounds.save(said, summary, {})
        self.saved, self.active = (said, opened.session_id), opened.session_id
        self.removed = None

    @precondition(lambda self: self.saved is not None)
    @rule()
    def take_a_save_back(self) -> None:
        assert self.saved is not None
        session = self.memory.rounds.undo_save(*self.saved)
        self.saved = None
        if session is not None:
            self.active = session.session_id

    @precondition(lambda self: self.active is None or not self.memory.messages.of_session(self.active))
    @rule(which=st.integers(0, 99))
    def go_on_in(self, which: int) -> None:
        archived = [one for one in self.memory.sessions.recent(None) if one.status == "archived"]
        if archived:
            chosen = archived[which % len(archived)].session_id
            self.active = self.memory.rounds.resume(chosen, self.present()).session_id
            self.saved = self.removed = None

    @precondition(lambda self: self.active is not None)
    @rule()
    def undo(self) -> None:
        self.memory.rounds.undo(self.present(), 1)

    @precondition(lambda self: self.active is not None)
    @rule()
    def reset(self) -> None:
        self.removed = self.memory.rounds.reset(self.present())

    @precondition(lambda self: self.removed is not None)
    @rule()
    def take_a_reset_back(self) -> None:
        assert self.removed is not None
        erased_since = self.memory.epoch.number() != self.removed.epoch
        with pytest.raises(ErasedMeanwhile) if erased_since else nullcontext():
            self.memory.rounds.put_back(self.removed)
        self.removed = None

    @rule(which=st.integers(0, 99))
    def say_it_otherwise(self, which: int) -> None:
        if summaries := self.memory.summaries.all():
            one = summaries[which % len(summaries)]
            self.memory.rounds.set_summary(one.session_id, one.summary)

    @rule(word=st.sampled_from(WORDS))
    def erase(self, word: str) -> None:
        self.memory.erasure.remove(self.memory.erasure.scope_of_words(word))
        self.saved = None
        assert not any(word in one.text for one in self.memory.chapters.all())

    @rule(which=st.integers(0, 99))
    def erase_a_session(self, which: int) -> None:
        archived = [one for one in self.memory.sessions.recent(None) if one.status == "archived"]
        if archived:
            self.memory.erasure.remove(self.memory.erasure.scope_of_session(archived[which % len(archived)].session_id))
            self.saved = None

    @rule(which=st.integers(0, 999))
    def hide(self, which: int) -> None:
        messages = [
            message
            for one in self.memory.sessions.recent(None)
            for message in self.memory.messages.of_session(one.session_id)
        ]
        if messages:
            self.memory.rounds.hide([messages[which % len(messages)].text_id])
            self.saved = None

    @rule()
    def release(self) -> None:
        self.memory.rounds.unhide([message.text_id for message in self.memory.messages.hidden()])

    @rule()
    def make_summaries_anew(self) -> None:
        for one in self.memory.rebuilds.due_requests():
            messages = [
                message
                for message in self.memory.messages.of_session(one.session_id)
                if message.compacted and not message.hidden
            ]
            said = " ".join(message.words for message in messages if message.role == "user")
            self.memory.rounds.rebuild_summary(one, said, messages[-1].round if messages else 0)

    @rule()
    def grow(self) -> None:
        before = {one.text_id: one for one in self.memory.chapters.all()}
        self.life.grow()
        after = {one.text_id: one for one in self.memory.chapters.all()}
        assert before.keys() <= after.keys()
        # What has a text is left alone; what is new is full.
        assert all(after[name].text == one.text for name, one in before.items() if one.text)
        assert all(len(one.children) == SIZE for name, one in after.items() if name not in before)
        calls = self.life.writer.calls
        assert self.life.grow() == []
        assert self.life.writer.calls == calls

    @rule()
    def grow_without_luck(self) -> None:
        before = self.memory.chapters.all()
        self.life.writer.failing = 500
        assert all(isinstance(event, Notice) for event in self.life.grow())
        self.life.writer.failing = 0
        assert self.memory.chapters.all() == before

    @rule()
    def open_again(self) -> None:
        self.memory.close()
        self.memory = self.life.memory = self.life.opened()
        self.removed = None

    # -- what holds --------------------------------------------------------------------------------------------

    @invariant()
    def every_message_is_under_one_life_whose_days_cover_it(self) -> None:
        nodes = {node.text_id: node for node in self.memory.chapters.nodes()}
        said = {
            message.text_id
            for one in self.memory.sessions.recent(None)
            for message in self.memory.messages.of_session(one.session_id)
        }
        assert {name for name, node in nodes.items() if node.rank == 0} == said
        for node in nodes.values():
            assert (node.parent is None) == (node.text_id == LIFE)
            if node.parent is None:
                continue
            above = nodes[node.parent]
            assert node.rank <= above.rank
            assert _moment(above.start) <= _moment(node.start) <= _moment(node.end) <= _moment(above.end)
        for name in said:
            above, steps = nodes[name], 0
            while above.parent is not None:
                above, steps = nodes[above.parent], steps + 1
                assert steps < 30

    @invariant()
    def every_chapter_is_of_what_stands(self) -> None:
        for one in self.memory.chapters.all():
            assert len(one.children) <= SIZE
            assert len(one.children) >= 2 or one.session_id
            assert not one.text or one.text.startswith(TITLE)
        sessions = {one.session_id: one for one in self.memory.sessions.recent(None)}
        for one in self.memory.chapters.all():
            if one.height == 1 and one.text and not one.session_id:
                said = {
                    message.words
                    for name in one.children
                    for message in self.memory.messages.of_session(sessions[name].session_id)
                }
                assert set(one.text.removeprefix(TITLE).split()) <= said
        assert self.memory.problems() == []

    def teardown(self) -> None:
        self.life.close()
        self.scratch.cleanup()


def _moment(timestamp: str) -> datetime:
    return datetime.fromisoformat(timestamp)


def test_in_any_order_the_tree_is_whole_and_rests_on_what_stands() -> None:
    case = AnyOrder.TestCase
    case.settings = settings(
        max_examples=int(os.environ.get("ANY_ORDER_EXAMPLES", "8")), stateful_step_count=30, deadline=None,
        derandomize="ANY_ORDER_EXAMPLES" not in os.environ,
    )  # fmt: skip
    case("runTest").debug()
