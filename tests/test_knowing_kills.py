"""Killed after any statement of a verb, what is known is what it was before; all of it is there when the verb ends.

``KILL_POINTS``: so many times more of the statements are tried.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from domain.facts import Change, LineEvidence, NewRelation, PersonaDraft
from domain.records import ErasureScope, Round
from language.words import tokens
from storage.repositories import Repositories
from tests.contract.stores import QUIET, SetStamp, Store, Teller, at
from tests.contract.test_knowing import finds, learn, learned, new_fact
from tests.torture.kills import scratch

_KILLED = 9


class Killer(logging.Handler):
    """Kills the process after so many statements that write."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def emit(self, record: logging.LogRecord) -> None:
        self.left -= "write" in record.args if isinstance(record.args, tuple) else 0
        if self.left == 0:
            os._exit(_KILLED)


def opened(folder: Path, log: logging.Logger = QUIET) -> Store:
    stamp = SetStamp()
    return Store(Repositories(folder, tokens, stamp, log), stamp, folder)  # type: ignore[arg-type]


def laid(folder: Path) -> list[Round]:
    """Two saved evenings of which the second changed what the first said; last, one that no window has read."""
    with closing(opened(folder)) as store:
        store.start("s1", at(0))
        teller = Teller(store)
        store.start("s0", at(0), at(0, 2025))
        last, rounds = teller.say("s0", "I lived in Rome"), [teller.say("s1", "I live in Lyon")]
        learn(store, rounds[0], "Lyon")
        store.opening("s2").rounds.save("s1", teller.summary("of Lyon"), {"user": "Ann."})
        rounds.append(teller.say("s2", "I moved to Oslo"))
        store.rounds.keep_step("s2", "summary", "{}")
        learn(store, rounds[1], "Oslo", changes=[Change("Lyon", "changes", at(20), "Oslo")])
        draft = PersonaDraft("Ann.\nIn Oslo.", (LineEvidence("In Oslo.", (rounds[1].user.text_id,)),))
        store.opening("s3").rounds.save("s2", teller.summary("of Oslo"), {"user": draft})
        store.windows.store_reply(last.assistant.text_id, "notes", "digest", "the reply")
        return [*rounds, last]


def held(folder: Path) -> list[object]:
    """All that is known, read anew, with a database that is sound."""
    with closing(opened(folder)) as store:
        assert store.database.problems() == []
        sessions = ("s0", "s1", "s2", "s3")
        return [
            store.facts.all(), store.relations.all(current=False),
            [store.notes.of_session(one) for one in sessions], [store.messages.unread(one) for one in sessions],
            [store.sessions.find(one) for one in sessions], store.steps.of("window", "a1"),
            store.versions.all("user"), store.versions.every_line_evidence("user"), store.summaries.all(),
            [store.facts.events_of(name) for name in ("Lyon", "Oslo", "Rome")],
            finds(store, "oslo"), finds(store, "rome"),
        ]  # fmt: skip


def learn_another(store: Store, rounds: list[Round]) -> None:
    spoken = rounds[2]
    rome, cat = new_fact("Rome", spoken, persons=("Ann",)), new_fact("cat", spoken, single=False)
    changes = [Change("Oslo", "corrects", at(61), "Rome"), Change("Lyon", "doubts", at(61), "Rome")]
    whole = learned([spoken], rome, cat, changes=changes)
    assert store.at(at(61)).fact_log.learn(replace(whole, relations=(NewRelation("Ann", "of", "Rome", "Rome"),)))


def unlearn(store: Store, rounds: list[Round]) -> None:
    store.fact_log.unlearn_windows([rounds[1].assistant.text_id])


def put_right(store: Store, rounds: list[Round]) -> None:
    assert store.at(at(61)).fact_log.correct_by_hand("Oslo", new_fact("Rome", rounds[1]))


def hide(store: Store, rounds: list[Round]) -> None:
    store.rounds.hide([rounds[1].user.text_id])


def take_out(store: Store, rounds: list[Round]) -> None:
    version = store.versions.newest("user")
    assert version is not None
    facts = tuple(store.facts.with_ids(["Oslo"]))
    lines = ("In Oslo.",)
    store.erasure.commit(
        ErasureScope(rounds[1].messages, versions=(version,), left=("Ann.",), lines=lines, facts=facts)
    )


def undo_save(store: Store, rounds: list[Round]) -> None:
    assert store.at(at(61)).rounds.undo_save("s2", "s3") is not None


#: Each with the distance between two statements at which it is killed.
VERBS = [(learn_another, 7), (unlearn, 4), (put_right, 5), (hide, 9), (take_out, 11), (undo_save, 8)]
#: How often more of them it is killed at.
KILL_POINTS = int(os.environ.get("KILL_POINTS", "1"))


@pytest.mark.parametrize(("verb", "stride"), VERBS)
def test_a_kill_leaves_all_of_it_or_nothing(verb: Callable[[Store, list[Round]], None], stride: int) -> None:
    stride = max(1, stride // KILL_POINTS)
    with scratch("known") as folder:
        before = Path(folder, "before")
        before.mkdir()
        rounds = laid(before)
        nothing, statement, found = held(before), 1, []
        while killed(Path(folder), rounds, verb, statement):
            found.append(held(Path(folder, "now")))
            statement += stride
        whole = held(Path(folder, "now"))
        undone = [one == nothing for one in found]
        assert undone.count(True) * stride > 5
        # Behind the commit the files of the personas follow it.
        assert undone == sorted(undone, reverse=True)
        assert whole != nothing
        assert all(one == whole for one, not_yet in zip(found, undone, strict=True) if not not_yet)


def killed(folder: Path, rounds: list[Round], verb: Callable[[Store, list[Round]], None], statement: int) -> bool:
    """Whether the process was killed after that statement of the verb, or the verb had fewer."""
    shutil.rmtree(folder / "now", ignore_errors=True)
    shutil.copytree(folder / "before", folder / "now")
    if child := os.fork():
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, _KILLED)
        return code == _KILLED
    try:
        log = logging.Logger("watched", logging.DEBUG)
        store = opened(folder / "now", log)
        log.addHandler(Killer(statement))
        verb(store, rounds)
        os._exit(0)
    finally:
        os._exit(1)


def test_the_database_itself_refuses_a_second_current_value_in_a_slot(tmp_path: Path) -> None:
    laid(tmp_path)
    with (
        closing(sqlite3.connect(tmp_path / "memory.db")) as connection,
        pytest.raises(sqlite3.IntegrityError, match="UNIQUE"),
    ):
        connection.execute("UPDATE fact SET until = ''")
