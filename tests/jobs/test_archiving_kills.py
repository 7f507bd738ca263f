"""Killed after any statement that writes, fading has done whole steps or nothing, and the next look goes on.

``KILL_POINTS``: so many times more of the statements are tried.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from domain.tree import ForgetLimit
from domain.workers import CancelToken
from jobs.maintenance import archive_surplus
from memory import Memory
from recall.embedding import HashedEmbedder
from storage import erasure
from tests.conftest import Count, SetClock
from tests.interfaces.terminal.pseudo import environment
from tests.support.warm import Piped
from tests.test_knowing_kills import KILL_POINTS, Killer
from tests.torture.kills import ROOT, scratch

_KILLED = 9
_KILLING = """
import sys
from tests.jobs import test_archiving_kills as kills
kills.kill(kills._LIMITS[sys.argv[1]], int(sys.argv[2]))
"""
_SAID = [f"The {what} is in the shed behind number {number}." for number, what in enumerate(
    ("zeppelin", "bicycle", "accordion", "telescope", "wheelbarrow", "trombone"))]  # fmt: skip
_LIMITS = {mode: ForgetLimit(6, 20, mode) for mode in ("fade", "delete")}


def opened(folder: Path, log: logging.Logger | None = None) -> Memory:
    quiet = log or logging.Logger("quiet", logging.CRITICAL)
    return Memory(folder, HashedEmbedder(), clock=SetClock(), new_id=Count(), log=quiet)


def lay(folder: Path) -> None:
    with closing(opened(folder)) as memory:
        for words in _SAID:
            session = memory.sessions.start()
            memory.rounds.store(session.session_id, words, "I see.", "2026-03-01T09:00:00+00:00", "stop")
            memory.rounds.save(session.session_id, words, {}, open_next=False)


def found(folder: Path) -> tuple[list[str], list[str]]:
    """What is searched for: the turns and sessions that are there and have not faded, and the words of the turns."""
    with closing(sqlite3.connect(folder / "memory.db")) as connection:
        here = (
            "SELECT text FROM conversation WHERE text_id NOT IN (SELECT text_id FROM archived_memory) UNION ALL"
            " SELECT session_id FROM session WHERE session_id NOT IN (SELECT text_id FROM archived_memory) ORDER BY 1"
        )
        named = [str(row[0]) for row in connection.execute(here)]
        words = "SELECT c.text FROM message_words w JOIN conversation c ON c.seq = w.rowid ORDER BY 1"
        return named, [str(row[0]) for row in connection.execute(words)]


def fade(folder: Path, limit: ForgetLimit, log: logging.Logger | None = None) -> None:
    with closing(opened(folder, log)) as memory:
        archive_surplus(memory, limit, CancelToken())


def steps(folder: Path, limit: ForgetLimit) -> list[tuple[list[str], list[str]]]:
    """How it stands after each step that nothing disturbs; no index is opened, whose threads no fork would survive."""
    with closing(opened(folder)) as memory:
        stood = [found(folder)]
        while leaves := memory.archive.next_batch(limit):
            if limit.mode == "fade":
                memory.archive.archive(leaves)
                stood.append(found(folder))
                continue
            for chosen in memory.erasure.scopes_of_leaves(leaves):
                memory.erasure.remove(chosen)
                stood.append(found(folder))
    return stood


def judge(folder: Path, limit: ForgetLimit, stood: list[tuple[list[str], list[str]]]) -> None:
    """Opened again, it is as after a whole step; then it goes on, and ends as if nothing had been."""
    now = found(folder)
    assert now in stood
    assert now[1] == [text for text in now[0] if ": " in text], "its words are those of what is searched"
    with closing(opened(folder)) as memory:
        assert memory.problems() == []
        memory.start()
        archive_surplus(memory, limit, CancelToken())
        assert not memory.erasure.is_unfinished()
    assert found(folder) == stood[-1]
    gone = [words for words in _SAID if f"User: {words}" not in stood[-1][0]]
    assert gone
    for words in gone if limit.mode == "delete" else []:
        assert erasure.find_traces([folder], erasure.forms(words)) == []


def in_a_fork(work: Callable[[], None]) -> int:
    """Do something in a process of its own, so that no thread of it is left here; the code with which that ended."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def watched(folder: Path, limit: ForgetLimit, statement: int) -> None:
    """Fade, and be killed after so many statements."""
    log = logging.Logger("watched", logging.DEBUG)
    log.addHandler(Killer(statement))
    fade(folder, limit, log)


@pytest.mark.parametrize(("mode", "stride"), [("fade", 24), ("delete", 96)])
def test_a_kill_leaves_whole_steps_and_the_next_look_goes_on(tmp_path: Path, mode: str, stride: int) -> None:
    stride = max(1, stride // KILL_POINTS)
    # Threads of an index that other tests opened would not survive a fork: all is done in a process of its own.
    command = [sys.executable, "-c", _KILLING, mode, str(stride)]
    place: dict[str, Any] = {"cwd": ROOT, "env": environment(tmp_path), "stdin": subprocess.DEVNULL}
    with Piped(command, **place, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        said = process.communicate()[1].decode()
    assert process.returncode == 0, said


def kill(limit: ForgetLimit, stride: int) -> None:
    """Kill it after every so-manieth statement, until there are no more."""
    import lancedb  # so that no process has to load it anew

    del lancedb
    with scratch("fading") as scratched:
        base, whole, tried = (Path(scratched, part) for part in ("base", "whole", "tried"))
        lay(base)
        shutil.copytree(base, whole)
        stood = steps(whole, limit)
        assert len(stood) > 3
        statement = 1
        while True:
            shutil.copytree(base, tried)
            code = in_a_fork(partial(watched, tried, limit, statement))
            assert code in (0, _KILLED)
            assert in_a_fork(partial(judge, tried, limit, stood)) == 0, f"statement {statement}"
            if not code:
                break
            shutil.rmtree(tried)
            statement += stride
        assert statement > 10
