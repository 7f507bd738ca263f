"""What has its name stands on the disk: the order of the system calls, and a kill before each of them."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.records import Round
from storage.backup import back_up, restore
from storage.messages import NewMessage
from storage.sqlite.database import SqliteDatabase
from tests.contract.stores import Store, sqlite
from tests.torture import stops

QUIET = logging.Logger("quiet", logging.CRITICAL)
NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
STAMP = NOW.isoformat()
#: A kill before every fifth write, and in the torture before each of them.
EVERY = pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.torture)])


@pytest.fixture(autouse=True)
def _stoppable() -> None:
    if why := stops.why_not():
        pytest.skip(why)


def calls(play: Callable[[], object], folder: Path) -> list[str]:
    """The system calls with which something is written below a folder: the call and its file."""
    folder.mkdir(exist_ok=True)
    ended = stops.run(play, 0, folder)
    assert ended.fault == ""
    return list(ended.made)


def after_name(made: list[str]) -> str:
    """The call that comes right after a file gets its name."""
    return made[made.index("rename") + 1]


def messages(number: int) -> tuple[NewMessage, NewMessage]:
    return (
        NewMessage(f"u{number}", STAMP, "user", f"said {number}"),
        NewMessage(f"a{number}", STAMP, "assistant", f"answered {number}"),
    )


def test_p1_the_folder_is_synced_after_a_new_database_gets_its_name(tmp_path: Path) -> None:
    made = calls(lambda: SqliteDatabase(tmp_path / "memory.db", QUIET).close(), tmp_path)
    assert after_name(made) == "fsync ."


def test_p1_the_folder_is_synced_after_a_backup_gets_its_name(tmp_path: Path) -> None:
    SqliteDatabase(tmp_path / "memory.db", QUIET).close()
    made = calls(lambda: back_up(tmp_path, tmp_path / "friend.db"), tmp_path)
    assert after_name(made) == "fsync ."


def test_p1_a_restored_database_is_synced_before_it_gets_its_name_and_the_folder_after(tmp_path: Path) -> None:
    SqliteDatabase(tmp_path / "memory.db", QUIET).close()
    back_up(tmp_path, tmp_path / "friend.db")
    new = tmp_path / "new"
    made = calls(lambda: restore(tmp_path / "friend.db", new, lambda: NOW), new)
    assert made[made.index("rename") - 1] == "fsync .memory.before-restoring/memory.db"
    assert after_name(made) == "fsync ."


def test_p6_a_persona_is_synced_before_it_gets_its_name_and_the_folder_after(tmp_path: Path) -> None:
    sqlite(tmp_path).close()

    def write() -> None:
        with closing(sqlite(tmp_path)) as opened:
            opened.personas.write("user", "Ann sings.", "hand")

    made = calls(write, tmp_path)
    named = made.index("rename")
    assert made[named - 2 : named + 2] == [
        "write persona/.user_image.txt.new",
        "fsync persona/.user_image.txt.new",
        "rename",
        "fsync persona",
    ]


def killed_everywhere(base: Path, play: Callable[[Store], object], judge: Callable[[Store], None], step: int) -> int:
    """Do something to a copy of a database, killed before every so-manieth of its writes; returns how often."""
    for number, point in enumerate(range(1, 1_000, step)):
        folder = base.with_name("try")
        shutil.copytree(base, folder)
        where = folder  # a name of its own for each trial

        def played(where: Path = where) -> None:
            with closing(sqlite(where)) as opened:
                play(opened)

        ended = stops.run(played, point, folder)
        assert ended.fault == ""
        with closing(sqlite(folder)) as opened:
            judge(opened)
        shutil.rmtree(folder)
        if not ended.at:
            return number
    raise AssertionError("it never came to its end")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A session with one round and something in flight."""
    folder = tmp_path / "base"
    folder.mkdir()
    with closing(sqlite(folder)) as opened:
        opened.start("s1", STAMP)
        opened.rounds.add("s1", messages(1), "stop")
        opened.rounds.keep_step("s1", "summary", "{}")
        opened.sessions.note_in_flight("s1", "said 2")
    return folder


@EVERY
def test_p2_a_round_is_stored_or_in_flight_and_never_both_wherever_a_kill_falls(base: Path, step: int) -> None:
    def judge(opened: Store) -> None:
        stored = len(opened.messages.rounds("s1")) == 2
        assert (opened.sessions.in_flight("s1") is None) == stored
        assert (opened.rounds.steps("s1") == {}) == stored

    def play(opened: Store) -> object:
        return opened.rounds.add("s1", messages(2), "stop")

    assert killed_everywhere(base, play, judge, step) > 5


@EVERY
def test_p4_a_round_that_is_asked_again_is_the_old_one_or_the_new_one_wherever_a_kill_falls(
    base: Path, step: int
) -> None:
    def again(opened: Store) -> Round:
        last = opened.messages.rounds("s1")[-1]
        return opened.rounds.add("s1", messages(2), "stop", instead_of=last)

    def judge(opened: Store) -> None:
        assert [spoken.user.words for spoken in opened.messages.rounds("s1")] in (["said 1"], ["said 2"])

    assert killed_everywhere(base, again, judge, step) > 5
