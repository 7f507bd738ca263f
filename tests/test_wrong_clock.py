"""A clock that was wrong: what was said under it is there, is shown, and is in nobody's way."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from domain.recollection import RecallLimits
from tests.support.house import friend, house
from tests.support.past import bring, talk, told
from tests.support.program import run
from tests.support.server import ScriptedServer

#: The first and the last hour that a calendar has, in zones in which another one's clock has none.
EAST, WEST = timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))
CLOCKS = {
    "year 1": datetime(1, 1, 1, 0, 5, tzinfo=UTC),
    "year 1 in the east": datetime(1, 1, 1, 0, 5, tzinfo=EAST),
    "year 999": datetime(999, 6, 1, 12, 0, tzinfo=UTC),
    "year 9999": datetime(9999, 12, 31, 22, 5, tzinfo=UTC),
    "year 9999 in the west": datetime(9999, 12, 31, 22, 5, tzinfo=WEST),
}
NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


class Jumping:
    """A clock that says what it is set to."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Told(logging.Handler):
    """Gathers what is logged as trouble."""

    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter())
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        self._found.append(self.format(record))


@pytest.mark.parametrize("wrong", CLOCKS.values(), ids=CLOCKS)
def test_a_memory_that_was_written_under_a_wrong_clock_opens_and_finds_it(
    tmp_path: Path, server: ScriptedServer, new_id, wrong: datetime
) -> None:
    clock, troubles = Jumping(wrong), list[str]()
    log = logging.Logger("heard", logging.WARNING)
    log.addHandler(Told(troubles))
    with house(tmp_path, server, clock, new_id, log) as home:
        home.say("My zeppelin is called Odile, yesterday and next week.")
        home.save()
        home.say("你还记得昨天和上周我说过什么吗？")
    clock.now = NOW
    with house(tmp_path, server, clock, new_id, log) as home:
        began = [one.start_timestamp[:4] for one in home.memory.sessions.recent(None)]
        assert began.count(f"{wrong.year:04}") == 2
        home.say("What is my zeppelin called?")
        found = home.memory.recall(["What is my zeppelin called?"], "other", NOW, RecallLimits(3, 30, 2000))
        assert any("Odile" in message.text for message in found.messages)
        home.save()
        assert home.memory.problems() == home.memory.altered_rows() == []
    assert troubles == []


def test_a_clock_that_jumps_leaves_everything_in_the_order_in_which_it_was_said(
    tmp_path: Path, server: ScriptedServer, new_id
) -> None:
    clock, troubles = Jumping(NOW), list[str]()
    log = logging.Logger("heard", logging.WARNING)
    log.addHandler(Told(troubles))
    jumps = [NOW, *CLOCKS.values(), NOW - timedelta(days=400), NOW]
    with house(tmp_path, server, clock, new_id, log) as home:
        for number, clock.now in enumerate(jumps):
            home.say(f"Remark {number} about the zeppelin.")
        said = [
            message.words
            for message in home.memory.messages.of_session(home.talk.session.session_id)
            if message.role == "user"
        ]
        assert said == [f"Remark {number} about the zeppelin." for number in range(len(jumps))]
        for number, clock.now in enumerate(jumps):
            home.save()
            home.say(f"Session {number} about the balloon.")
        brought = bring(home.memory, talk("old", "P: The past.", "C: Yes.", began=NOW - timedelta(days=30)))
        assert (brought.messages, brought.sessions) == (2, 1)
        began = [line[0] for line in told(home.memory) if line[0].startswith("u: Session")]
        assert began == [f"u: Session {number} about the balloon." for number in range(len(jumps))]
        found = home.memory.recall(["Which balloon was session 3?"], "other", NOW, RecallLimits(3, 30, 2000))
        assert any("Session 3 about the balloon." in message.text for message in found.messages)
    with house(tmp_path, server, clock, new_id, log) as home:
        home.say("Hello again.")
        assert home.memory.problems() == home.memory.altered_rows() == []
    assert troubles == []


#: Whatever shows a time, or counts from one.
SHOWING = (
    "/sessions", "/show 1", "/history", "/memory", "/memory fading", "/memory search zeppelin", "/life", "/life 2026",
    "/status", "/persona", "/facts", "/summary", "/context", "What is my zeppelin called?", "/why", "/why full",
    "/export all all.md", "/export all all.json", "/resume 1", "/save", "/sessions",
)  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York"])
@pytest.mark.parametrize("wrong", CLOCKS.values(), ids=CLOCKS)
def test_every_command_shows_what_was_said_under_a_wrong_clock(
    tmp_path: Path, server: ScriptedServer, new_id, log, wrong: datetime, zone: str
) -> None:
    with house(tmp_path, server, Jumping(wrong), new_id, log) as home:
        home.say("My zeppelin is called Odile.")
        home.save()
    done = run(tmp_path, "--batch", "-", given="\n".join(SHOWING), LANGUAGE="en", TZ=zone)
    assert done.code == 0, done.err
    assert "[zeppelin]" in done.err
    days = {(wrong + timedelta(hours=hours)).isoformat()[:10] for hours in ((0, 1) if wrong.year == 1 else (0, -1))}
    assert any(day in done.err for day in days), done.err
