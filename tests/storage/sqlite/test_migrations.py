"""A database of the first version is carried over whole, or not at all (P16)."""

from __future__ import annotations

import logging
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from storage.sqlite.store import SqliteStore
from storage.store import NewTurn

from domain import errors
from recall.words import tokens
from storage.sqlite import migrations
from storage.sqlite.database import Database
from tests.first_version import MODEL, SAID, lay_first_version

NOW = datetime(2026, 3, 1, tzinfo=UTC).isoformat()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lay_first_version(tmp_path / "memory.db")
    return tmp_path / "memory.db"


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, tokens, logging.Logger("quiet", logging.CRITICAL))


def dump(path: Path) -> list[str]:
    """Everything in a file, as SQL."""
    with closing(sqlite3.connect(path)) as connection:
        return [*connection.iterdump(), str(migrations.version_of(connection))]


def test_sessions_and_rounds_of_the_first_version_are_there_and_in_order(path: Path) -> None:
    store = opened(path)
    assert [session.session_id for session in store.recent_sessions(9, 0)] == ["s-now", "s-second", "s-first"]
    for session_id, (rounds, folded) in SAID.items():
        spoken = store.rounds(session_id)
        assert [(one.user.words, one.assistant.words) for one in spoken] == rounds
        assert store.context(session_id) == spoken[folded:]
        assert all(turn.stored_at == turn.timestamp for one in spoken for turn in one.turns)
        summary = store.summary(session_id)
        assert summary is not None
        assert (summary.summary, summary.upto_round) == (f"summary of {session_id}", folded)
    assert [summary.session_id for summary in store.every_summary()] == list(SAID)
    active = store.newest_active()
    assert active is not None
    assert (active.session_id, active.current_conv_count) == ("s-now", 2)
    assert store.problems() == []
    store.close()


def test_what_was_on_its_way_in_the_first_version_is_still_on_its_way(path: Path) -> None:
    store = opened(path)
    held = store.in_flight("s-now")
    assert held is not None
    assert (held.text, held.partial) == ("Shall I", "You sh")
    assert store.in_flight("s-first") is None
    assert store.stages("s-now") == {"summary": "{}"}
    assert store.pins("user") == ("Call her Ann.",)
    assert [version.text for version in store.versions("user")] == ["Ann.", "Ann, of Lyon."]
    store.close()


def test_words_facts_and_vectors_of_the_first_version_find_what_they_found(path: Path) -> None:
    store = opened(path)
    found = store.postings("turn", ("broke",), 99)["broke"].seqs.tolist()
    assert [turn.words for turn in store.turns(found)] == ["Momo broke a vase."]
    assert store.turns_of_facts([1]) == [(1, 1)]
    assert store.waiting() == ["s-now-3-user"]
    assert store.dimension(MODEL) == 4
    rows = [row for batch in store.vector_batches(MODEL) for row in batch]
    turns = sum(len(rounds) for rounds, _ in SAID.values()) * 2
    assert len(rows) == turns + len(SAID) - 1
    store.close()


def test_a_conversation_of_the_first_version_goes_on_and_another_may_begin_beside_it(path: Path) -> None:
    store = opened(path)
    store.start_session("beside", NOW)
    for session_id in ("s-now", "beside"):
        said = NewTurn(f"u-{session_id}", NOW, "user", "And then?")
        answered = NewTurn(f"a-{session_id}", NOW, "assistant", "So it is.")
        store.store_round(session_id, (said, answered), "stop", NOW)
    assert [one.user.words for one in store.context("s-now")] == ["It stopped.", "Now it snows.", "And then?"]
    assert store.in_flight("s-now") is None
    store.close()


def test_a_copy_of_the_first_version_lies_beside_and_is_as_it_was(path: Path) -> None:
    before = dump(path)
    opened(path).close()
    copy = path.with_name("memory.before-2.db")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert sorted(dump(copy)) == sorted(before)


def test_a_step_that_fails_at_any_statement_leaves_the_first_version_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, before = migrations.STEPS, dump(path)
    statements = migrations.statements(whole[1])
    for done in range(len(statements) + 1):
        broken = "\n".join([*statements[:done], "INSERT INTO nowhere VALUES (1);"])
        monkeypatch.setattr(migrations, "STEPS", (whole[0], broken))
        with pytest.raises(errors.StorageError):
            opened(path)
        assert dump(path) == before
    monkeypatch.setattr(migrations, "STEPS", whole)
    store = opened(path)
    assert len(store.rounds("s-now")) == 3
    store.close()


def test_a_step_may_drop_a_column_that_the_examination_looks_at(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(path).close()
    later = "ALTER TABLE conversation DROP COLUMN stored_at;\n"
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, later))
    store = opened(path)
    assert store.problems() == []
    store.close()


def test_a_tampered_first_version_is_refused_before_any_step_is_taken(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE conversation SET timestamp = '0001-01-01T00:00:00' WHERE round = 2")
    before = path.read_bytes()
    with pytest.raises(errors.Damaged) as refused:
        opened(path)
    assert refused.value.details["what"] == "conversation.timestamp"
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["memory.db"]


@pytest.mark.parametrize("number", range(2, len(migrations.STEPS) + 1))
def test_every_step_is_taken_whole_or_not_at_all(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    log, whole = logging.Logger("quiet", logging.CRITICAL), migrations.STEPS
    monkeypatch.setattr(migrations, "STEPS", whole[: number - 1])
    Database(path, log).close()
    before, statements = dump(path), migrations.statements(whole[number - 1])
    for done in range(len(statements) + 1):
        broken = "\n".join([*statements[:done], "INSERT INTO nowhere VALUES (1);"])
        monkeypatch.setattr(migrations, "STEPS", (*whole[: number - 1], broken))
        with pytest.raises(errors.StorageError):
            Database(path, log)
        assert dump(path) == before
    monkeypatch.setattr(migrations, "STEPS", whole)
    store = opened(path)
    assert len(store.rounds("s-now")) == 3
    assert (store.withheld(), store.renewals(), store.pins("user")) == ([], [], ("Call her Ann.",))
    assert store.problems() == []
    store.close()
