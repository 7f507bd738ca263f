"""Say, fold, save, reset, leave, fall silent, crash, lose the index, erase: any order ends as a plain list says."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from domain.workers import CancelToken
from storage import erasure
from tests.conftest import Count, SetClock
from tests.support.house import House, friend
from tests.support.server import ScriptedServer
from tests.torture.kills import scratch

WORDS = ["amber", "birch", "copper", "dune", "ember", "fjord", "granite", "hazel"]
FEW = {"MAX_CONV_NUM": "3", "REFRESH_EVERY_CONV_NUM": "2", "AUTOSAVE_AFTER": "8"}
#: Vectors that take no time to load: there are many starts.
QUICK = {"CHAT_MODEL": "m", "EMBEDDING_MODEL": "built-in"}


@dataclass
class Listed:
    """A session as the plain list has it: which words were said, and when; the replies whose words were erased."""

    said: list[tuple[str, datetime]] = field(default_factory=list)
    replies_alone: int = 0
    archived: bool = False

    @property
    def words(self) -> list[str]:
        return [word for word, _ in self.said]

    def silent(self, now: datetime) -> bool:
        return bool(self.said) and now - self.said[-1][1] >= timedelta(hours=8)


class AnyOrder(RuleBasedStateMachine):
    """The house beside its model: sessions from the oldest to the present one."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch = scratch("any-order")
        self.folder = Path(self.scratch.name, "house")
        self.server = ScriptedServer()
        self.server.answer = lambda request: (
            friend(request) if request["messages"][0]["content"].startswith("Task") else "ok"
        )
        self.clock, self.new_id, self.log = SetClock(), Count(), logging.Logger("quiet", logging.CRITICAL)
        self.sessions = [Listed()]
        self.cleared = Listed()
        self.moves = 0

    @property
    def present(self) -> Listed:
        return self.sessions[-1]

    @initialize(words=st.lists(st.sampled_from(WORDS), max_size=4))
    def begin(self, words: list[str]) -> None:
        self.open()
        self.say(words)

    def open(self) -> None:
        served = {"OPENAI_API_BASE": self.server.base, **QUICK, **FEW}
        self.house = House(self.folder, served, self.clock, self.new_id, self.log)
        self.cleared = Listed()
        if self.present.silent(self.clock.now):
            self.sessions.append(Listed())

    @rule(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
    def say(self, words: list[str]) -> None:
        for word in words:
            list(self.house.talk.turn(f"I saw {word} today", CancelToken()))
            assert self.house.talk.compact_now() == []
            self.present.said.append((word, self.clock.now))
            self.cleared = Listed()

    @rule()
    def save(self) -> None:
        list(self.house.talk.save(CancelToken()))
        if self.present.said or self.present.replies_alone:
            self.present.archived = True
            self.sessions.append(Listed())
            self.cleared = Listed()

    @rule()
    def keep_what_fell_silent(self) -> None:
        self.house.talk.start_maintenance()
        self.house.talk.maintenance.wait()
        for session in self.sessions[:-1]:
            session.archived = session.archived or session.silent(self.clock.now)

    @rule()
    def reset(self) -> None:
        assert self.house.talk.reset() == len(self.present.said)
        self.cleared, self.sessions[-1] = self.present, Listed()

    @precondition(lambda self: self.cleared.said)
    @rule()
    def take_the_reset_back(self) -> None:
        assert self.house.talk.undo() == len(self.cleared.said)
        self.sessions[-1], self.cleared = self.cleared, Listed()

    @rule()
    def leave_and_come_back(self) -> None:
        self.leave()
        self.open()

    def leave(self) -> None:
        """A session in which nothing was said goes where the one before it is still open."""
        self.house.close()
        empty = not (self.present.said or self.present.replies_alone)
        if empty and self.sessions[:-1] and not self.sessions[-2].archived:
            self.sessions.pop()

    @rule()
    def crash_and_come_back(self) -> None:
        """What a killed process leaves is what lies on the disk now, the index perhaps in the middle of something."""
        self.moves += 1
        left = self.folder.with_name(f"{self.folder.name}-{self.moves}")
        with self.house.memory.in_one_commit():
            copy_in_motion(self.folder, left)
        self.house.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = left
        self.open()

    @rule(days=st.sampled_from([-2, 3650]))
    def the_clock_jumps(self, days: int) -> None:
        self.clock.pass_by(days=days)

    @rule()
    def lose_the_index(self) -> None:
        self.leave()
        shutil.rmtree(self.folder / "data" / "vectors", ignore_errors=True)
        self.open()

    @rule(word=st.sampled_from(WORDS))
    def erase(self, word: str) -> None:
        list(self.house.talk.erase(self.house.memory.erasure.scope_of_words(word), CancelToken()))
        for session in self.sessions:
            session.replies_alone += session.words.count(word)
            session.said = [said for said in session.said if said[0] != word]
        self.cleared = Listed()
        assert erasure.find_traces([self.folder / "data"], erasure.forms(f"I saw {word} today")) == []

    @invariant()
    def the_memory_is_what_was_said(self) -> None:
        if not hasattr(self, "house"):
            return
        memory = self.house.memory
        sessions = memory.sessions.recent(1000)[::-1]
        said = [
            [row.words.split()[2] for row in memory.messages.of_session(session.session_id) if row.role == "user"]
            for session in sessions
        ]
        assert said == [listed.words for listed in self.sessions]
        assert [session.status == "archived" for session in sessions] == [listed.archived for listed in self.sessions]
        present = self.present.words
        context = [spoken.user.words.split()[2] for spoken in self.house.talk.rounds_in_context()]
        assert context == present[len(present) - len(context) :]
        assert len(context) <= 3
        summary = memory.summaries.of(sessions[-1].session_id)
        folded = present[: len(present) - len(context)]
        assert [part.split()[2] for part in summary.summary.split(" | ")] == folded if summary else not folded
        assert memory.problems() == []
        for words, texts in (("message_words", "conversation"), ("summary_words", "summary")):
            found = self.house.read(f"SELECT rowid FROM {words} ORDER BY rowid")
            kept = self.house.read(f"SELECT seq FROM {texts} ORDER BY seq")
            assert [row[0] for row in found] == [row[0] for row in kept]

    def teardown(self) -> None:
        if hasattr(self, "house"):
            self.house.close()
        self.server.close()
        self.scratch.cleanup()


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
