"""SQLite: durable settings, all-or-nothing writes, what is not understood is not touched."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from domain import errors
from storage.engine import CASCADING
from storage.sqlite import digests, schema
from storage.sqlite.database import SqliteDatabase


def setting(database: SqliteDatabase, name: str) -> object:
    return database.run(f"PRAGMA {name}")[0][0]


def test_a_commit_survives_a_power_cut_by_the_settings_that_were_measured(database):
    wanted = "wal" if sqlite3.sqlite_version_info >= (3, 51, 3) else "truncate"
    assert setting(database, "journal_mode") == wanted
    assert setting(database, "synchronous") == 2
    assert setting(database, "secure_delete") == 1
    assert setting(database, "foreign_keys") == 1


def test_the_tables_have_the_columns_that_were_asked_for(database):
    columns = {
        table: {row["name"] for row in database.run(f"PRAGMA table_info({table})")}
        for table in ("session", "summary", "conversation")
    }
    assert {"session_id", "start_timestamp", "end_timestamp", "status", "current_conv_count"} <= columns["session"]
    assert {"session_id", "summary", "text_id"} <= columns["summary"]
    assert {"session_id", "timestamp", "role", "text", "text_id"} <= columns["conversation"]


def test_a_write_that_fails_is_taken_back_whole(database):
    with pytest.raises(ZeroDivisionError), database.write() as tx:
        tx.do("INSERT INTO meta (key, value) VALUES ('a', 'b')")
        raise ZeroDivisionError
    assert database.run("SELECT * FROM meta") == []


def test_what_was_read_is_not_remembered_once_a_row_that_it_rests_on_took_it_along():
    script = Path(schema.__file__).with_name("schema.sql").read_text()
    assert set(re.findall(r"REFERENCES (\w+) \(\w+\) ON DELETE", script)) == CASCADING


def test_the_salt_of_digests_is_found_also_by_who_asked_before_it_was_made(tmp_path, log):
    with closing(SqliteDatabase(tmp_path / "memory.db", log)) as database:
        assert database.run(digests.SALT) == []
        with database.write() as tx:
            tx.do("INSERT INTO changed_row (name, key) VALUES (?, ?)", "conversation", 1)  # as a message does
        assert len(database.run(digests.SALT)) == 1


def test_a_write_inside_a_write_joins_it(database):
    with pytest.raises(ZeroDivisionError), database.write() as outer:
        outer.do("INSERT INTO meta (key, value) VALUES ('a', 'b')")
        with database.write() as inner:
            inner.do("INSERT INTO meta (key, value) VALUES ('c', 'd')")
        raise ZeroDivisionError
    assert database.run("SELECT * FROM meta") == []


def test_a_write_that_could_not_begin_leaves_the_next_one_whole(database):
    database.run("PRAGMA busy_timeout=0")
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.DataInUse), database.write():
            pass
    with pytest.raises(ZeroDivisionError), database.write() as tx:
        tx.do("INSERT INTO meta (key, value) VALUES ('a', 'b')")
        raise ZeroDivisionError
    assert database.run("SELECT * FROM meta") == []


@pytest.fixture
def never_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for a commit waits until something else makes it."""
    monkeypatch.setattr("storage.sqlite.database.COMMIT_WITHIN", 10_000.0)


def store(database: SqliteDatabase, key: str, *, wait: bool = True) -> None:
    with database.write(wait=wait) as tx:
        tx.do("INSERT INTO meta (key, value) VALUES (?, '1')", key)


def keys_on_disk(database: SqliteDatabase) -> list[str]:
    with closing(sqlite3.connect(database.path)) as other:
        return [key for (key,) in other.execute("SELECT key FROM meta ORDER BY key")]


@pytest.mark.parametrize("end", [SqliteDatabase.commit, SqliteDatabase.close, lambda one: store(one, "c", wait=False)])
def test_writes_that_may_wait_are_seen_here_at_once_and_on_the_disk_with_the_next_commit(database, never_due, end):
    store(database, "a")
    store(database, "b")
    assert len(database.run("SELECT key FROM meta")) == 2
    assert keys_on_disk(database) == []
    end(database)
    assert keys_on_disk(database)[:2] == ["a", "b"]


def test_a_write_that_may_wait_is_on_the_disk_soon_though_nothing_follows(database, monkeypatch):
    monkeypatch.setattr("storage.sqlite.database.COMMIT_WITHIN", 0.01)
    committed = threading.Event()
    database.on_commit(lambda commit: committed.set())
    with database.write(wait=True) as tx:
        tx.do("INSERT INTO meta (key, value) VALUES ('a', '1')")
        tx.follows("vectors")
    assert committed.wait(30)
    assert keys_on_disk(database) == ["a"]


def test_another_program_writes_and_reads_after_what_waits(database, log):
    store(database, "a")
    with closing(SqliteDatabase(database.path, log)) as other:
        store(other, "b", wait=False)
        assert len(other.run("SELECT key FROM meta")) == 2
        store(database, "c")
        assert len(database.run("SELECT key FROM meta")) == 3
        database.commit()
        assert len(other.run("SELECT key FROM meta")) == 3


def test_of_writes_that_wait_only_the_one_that_fails_is_taken_back(database, never_due):
    store(database, "a")
    with pytest.raises(ZeroDivisionError), database.write(wait=True) as tx:
        tx.do("INSERT INTO meta (key, value) VALUES ('b', '1')")
        raise ZeroDivisionError
    store(database, "c")
    database.commit()
    assert keys_on_disk(database) == ["a", "c"]


@pytest.mark.parametrize("ask", [SqliteDatabase.commit, lambda one: store(one, "b")])
def test_who_waits_for_a_commit_that_fails_gets_to_know_it_once(database, never_due, ask):
    database.run("PRAGMA busy_timeout=0")
    store(database, "a")
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM meta").fetchone()
        with pytest.raises(errors.DataInUse):
            store(database, "other", wait=False)
    with pytest.raises(errors.DataInUse):
        ask(database)
    store(database, "c")
    database.commit()
    assert keys_on_disk(database) == ["c"]


#: SQLite undoes the whole transaction, as it does on a full disk.
UNDO_ALL = "INSERT OR ROLLBACK INTO meta (key, value) VALUES ('a', '1'), ('a', '2')"


@pytest.mark.parametrize("ask", [SqliteDatabase.commit, lambda one: store(one, "b")])
def test_who_waits_for_a_commit_gets_to_know_it_where_sqlite_undid_what_waited(database, never_due, ask):
    store(database, "a")
    with pytest.raises(errors.StorageError) as fault, database.write(wait=True) as tx:
        tx.do(UNDO_ALL)
    with pytest.raises(errors.StorageError) as again:
        ask(database)
    assert again.value is fault.value
    store(database, "c")
    database.commit()
    assert keys_on_disk(database) == ["c"]


def test_a_fault_that_undid_no_other_write_is_raised_once(database, never_due):
    with pytest.raises(errors.StorageError), database.write(wait=True) as tx:
        tx.do(UNDO_ALL)
    store(database, "c")
    database.commit()
    assert keys_on_disk(database) == ["c"]


def test_an_interrupt_inside_a_commit_takes_back_what_waits_and_says_so(database, never_due, monkeypatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    store(database, "a")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(database, "digest_changes", interrupted)
        database.commit()
    with pytest.raises(errors.StorageError):
        database.commit()
    store(database, "c", wait=False)
    assert keys_on_disk(database) == ["c"]


def test_only_the_owner_may_read_the_file_whatever_the_umask(tmp_path, log):
    before = os.umask(0)
    try:
        SqliteDatabase(tmp_path / "m.db", log).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m.db").stat().st_mode) == 0o600


def test_a_newer_schema_is_refused_and_not_touched(tmp_path, log):
    path = tmp_path / "m.db"
    SqliteDatabase(path, log).close()
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version={schema.VERSION + 1}")
    raw.close()
    before = hashlib.sha256(path.read_bytes()).digest()
    with pytest.raises(errors.NewerSchema):
        SqliteDatabase(path, log)
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert [entry.name for entry in tmp_path.iterdir() if entry.name[0] != "."] == ["m.db"]


def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path, log):
    path = tmp_path / "m.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE theirs (x)")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(errors.Damaged) as caught:
        SqliteDatabase(path, log)
    assert caught.value.key == "storage.not_ours"
    assert path.read_bytes() == before


def test_database_traffic_can_be_read_in_the_log(tmp_path):
    lines: list[str] = []
    log = logging.Logger("watched", logging.DEBUG)
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    watched = SqliteDatabase(tmp_path / "m.db", log)
    with watched.write() as tx:
        tx.do("INSERT INTO meta (key, value) VALUES (?, ?)", "colour", "sea green")
    watched.run("SELECT value FROM meta WHERE key = ?", "colour")
    watched.close()
    written = "\n".join(lines)
    assert "INSERT INTO meta" in written
    assert written.count("'sea green'") == 2


def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path, log):
    path = tmp_path / "m.db"
    SqliteDatabase(path, log).close()
    whole = path.read_bytes()
    for cut in range(0, len(whole), 512):
        path.write_bytes(whole[:cut])
        with pytest.raises(errors.Damaged):
            SqliteDatabase(path, log)
        assert path.read_bytes() == whole[:cut]
    for wrong in (bytes(8192) + whole[8192:], b"Dear diary\n" * 2000):
        path.write_bytes(wrong)
        with pytest.raises(errors.Damaged):
            SqliteDatabase(path, log)
        assert path.read_bytes() == wrong
    assert [entry.name for entry in tmp_path.iterdir() if entry.name[0] != "."] == ["m.db"]


def test_another_program_that_looks_into_the_database_sees_all_and_takes_nothing_away(tmp_path, log) -> None:
    path = tmp_path / "memory.db"
    kept = "SELECT count(*) FROM meta WHERE value = 'kept'"
    looks = f"import sqlite3; print(*sqlite3.connect({str(path)!r}).execute({kept!r}).fetchone())"
    database, seen = SqliteDatabase(path, log), []
    for number in range(3):
        with database.write() as tx:
            tx.do("INSERT INTO meta (key, value) VALUES (?, 'kept')", f"key-{number}")
        path.read_bytes()  # whatever is opened and closed here costs SQLite its locks
        looked = subprocess.run([sys.executable, "-c", looks], check=True, capture_output=True, text=True)
        seen.append(looked.stdout.strip())
    database.close()
    assert seen == ["1", "2", "3"]
