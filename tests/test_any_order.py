"""Say, fold, save, reset, leave, crash, lose the index, erase: in any order, the memory is what a plain list says."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.events import Stop
from jobs.erasing import Erasing
from storage import proof
from tests.conftest import Count, SetClock
from tests.house import House, friend
from tests.server import ScriptedServer

WORDS = ["amber", "birch", "copper", "dune", "ember", "fjord", "granite", "hazel"]
FEW = {"MAX_CONV_NUM": "3", "REFRESH_EVERY_CONV_NUM": "2"}


class AnyOrder(RuleBasedStateMachine):
    """The house beside its model: ``past`` are archived sessions, ``present`` the active one; each a list of words."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="any-order-"))
        self.server = ScriptedServer()
        self.server.answer = lambda request: (
            friend(request) if request["messages"][0]["content"].startswith("Task") else "ok"
        )
        self.clock, self.new_id, self.log = SetClock(), Count(), logging.Logger("quiet", logging.CRITICAL)
        self.past: list[list[str]] = []
        self.present: list[str] = []
        self.cleared: list[str] | None = None
        self.moves = 0

    @initialize()
    def begin(self) -> None:
        self.open()

    def open(self) -> None:
        served = {"OPENAI_API_BASE": self.server.base, "CHAT_MODEL": "m"}
        self.house = House(self.folder, served | FEW, self.clock, self.new_id, self.log)

    @rule(word=st.sampled_from(WORDS))
    def say(self, word: str) -> None:
        list(self.house.talk.turn(f"I saw {word} today", Stop()))
        assert self.house.talk.fold_now() == []
        self.present.append(word)
        self.cleared = None

    @rule()
    def save(self) -> None:
        list(self.house.talk.save(Stop()))
        if self.present:
            self.past.append(self.present)
            self.present = []
            self.cleared = None

    @rule()
    def reset(self) -> None:
        assert self.house.talk.reset() == len(self.present)
        self.cleared, self.present = self.present, []

    @precondition(lambda self: self.cleared)
    @rule()
    def take_the_reset_back(self) -> None:
        assert self.house.talk.undo() == len(self.cleared)
        self.present, self.cleared = self.cleared, None

    @rule()
    def leave_and_come_back(self) -> None:
        self.house.close()
        self.open()
        self.cleared = None

    @rule()
    def crash_and_come_back(self) -> None:
        """What a killed process leaves is what lies on the disk now, the index perhaps in the middle of something."""
        self.moves += 1
        left = self.folder.with_name(f"{self.folder.name}-{self.moves}")
        with self.house.memory.in_one_commit():
            copy_in_motion(self.folder, left)
        self.house.close()
        shutil.rmtree(self.folder)
        self.folder = left
        self.open()
        self.cleared = None

    @rule(days=st.sampled_from([-2, 3650]))
    def the_clock_jumps(self, days: int) -> None:
        self.clock.pass_by(days=days)

    @rule()
    def lose_the_index(self) -> None:
        self.house.close()
        shutil.rmtree(self.folder / "data" / "vectors", ignore_errors=True)
        self.open()
        self.cleared = None

    @rule(word=st.sampled_from(WORDS))
    def erase(self, word: str) -> None:
        list(Erasing(self.house.memory, self.house.llm).run(self.house.memory.scope_of_words(word), Stop()))
        self.past = [[said for said in session if said != word] for session in self.past]
        self.present = [said for said in self.present if said != word]
        self.cleared = None
        assert proof.traces([self.folder / "data"], proof.forms(f"I saw {word} today")) == []

    @invariant()
    def the_memory_is_what_was_said(self) -> None:
        if not hasattr(self, "house"):
            return
        memory = self.house.memory
        sessions = memory.recent_sessions(1000)[::-1]
        said = [
            [row.words.split()[2] for row in memory.turns_of(session.session_id) if row.role == "user"]
            for session in sessions
        ]
        assert said == [*self.past, self.present]
        assert [session.status for session in sessions] == ["archived"] * len(self.past) + ["active"]
        context = [spoken.user.words.split()[2] for spoken in self.house.talk.rounds_in_context()]
        assert context == self.present[len(self.present) - len(context) :]
        assert len(context) <= 3
        summary = memory.summary(sessions[-1].session_id)
        folded = self.present[: len(self.present) - len(context)]
        assert [part.split()[2] for part in summary.summary.split(" | ")] == folded if summary else not folded
        assert memory.problems() == []
        for words, texts in (("turn_words", "conversation"), ("summary_words", "summary")):
            found = self.house.read(f"SELECT rowid FROM {words} ORDER BY rowid")
            kept = self.house.read(f"SELECT seq FROM {texts} ORDER BY seq")
            assert [row[0] for row in found] == [row[0] for row in kept]

    def teardown(self) -> None:
        if hasattr(self, "house"):
            self.house.close()
        self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def copy_in_motion(folder: Path, target: Path) -> None:
    """Copy a folder in which files come and go."""
    with contextlib.suppress(shutil.Error):
        shutil.copytree(folder, target)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    max_examples=int(os.environ.get("ANY_ORDER_EXAMPLES", "6")),
    stateful_step_count=14,
    deadline=None,
    database=None,
    derandomize="ANY_ORDER_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
