"""SQLite: durable settings, all-or-nothing writes, steps of the schema, what is not understood is not touched."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import stat

import pytest

from domain import errors
from storage.sqlite import migrations
from storage.sqlite.database import Database


def setting(database: Database, name: str) -> object:
    return database.read(f"PRAGMA {name}")[0][0]


def test_a_commit_survives_a_power_cut_by_the_settings_that_were_measured(database):
    assert setting(database, "journal_mode") == "wal"
    assert setting(database, "synchronous") == 2
    assert setting(database, "secure_delete") == 1
    assert setting(database, "foreign_keys") == 1


def test_the_tables_have_the_columns_that_were_asked_for(database):
    columns = {
        table: {row["name"] for row in database.read(f"PRAGMA table_info({table})")}
        for table in ("session", "summary", "conversation")
    }
    assert {"session_id", "start_timestamp", "end_timestamp", "status", "current_conv_count"} <= columns[
        "session"
    ]
    assert {"session_id", "summary", "text_id"} <= columns["summary"]
    assert {"session_id", "timestamp", "role", "text", "text_id"} <= columns["conversation"]


def test_a_write_that_fails_is_taken_back_whole(database):
    with pytest.raises(ZeroDivisionError), database.write() as sql:
        sql("INSERT INTO meta VALUES ('a', 'b')")
        raise ZeroDivisionError
    assert database.read("SELECT * FROM meta") == []


def test_a_write_inside_a_write_joins_it(database):
    with pytest.raises(ZeroDivisionError), database.write() as outer:
        outer("INSERT INTO meta VALUES ('a', 'b')")
        with database.write() as inner:
            inner("INSERT INTO meta VALUES ('c', 'd')")
        raise ZeroDivisionError
    assert database.read("SELECT * FROM meta") == []


def test_only_the_owner_may_read_the_file_whatever_the_umask(tmp_path, log):
    before = os.umask(0)
    try:
        Database(tmp_path / "m.db", log).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m.db").stat().st_mode) == 0o600


def test_a_newer_schema_is_refused_and_not_touched(tmp_path, log):
    path = tmp_path / "m.db"
    Database(path, log).close()
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version={len(migrations.STEPS) + 1}")
    raw.close()
    before = hashlib.sha256(path.read_bytes()).digest()
    with pytest.raises(errors.NewerSchema):
        Database(path, log)
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.db"]


def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path, log):
    path = tmp_path / "m.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE theirs (x)")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(errors.Damaged) as caught:
        Database(path, log)
    assert caught.value.key == "storage.not_ours"
    assert path.read_bytes() == before


def test_a_step_is_all_or_nothing_and_a_copy_lies_beside(tmp_path, log, monkeypatch):
    path = tmp_path / "m.db"
    first = Database(path, log)
    with first.write() as sql:
        sql("INSERT INTO meta VALUES ('kept', 'word')")
    first.close()
    broken = "CREATE TABLE later (x);\nINSERT INTO nowhere VALUES (1);\n"
    released = migrations.STEPS
    monkeypatch.setattr(migrations, "STEPS", (*released, broken))
    with pytest.raises(errors.StorageError):
        Database(path, log)
    monkeypatch.setattr(migrations, "STEPS", (*released, "CREATE TABLE later (x);\n"))
    second = Database(path, log)
    assert second.read("SELECT value FROM meta WHERE key = 'kept'")[0][0] == "word"
    assert second.read("SELECT count(*) FROM later")[0][0] == 0
    assert setting(second, "user_version") == len(released) + 1
    second.close()
    copy = tmp_path / f"m.before-{len(released) + 1}.db"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with sqlite3.connect(copy) as raw:
        assert raw.execute("SELECT value FROM meta WHERE key = 'kept'").fetchone()[0] == "word"
    raw.close()


def test_database_traffic_can_be_read_in_the_log(tmp_path):
    lines: list[str] = []
    log = logging.Logger("watched", logging.DEBUG)
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    watched = Database(tmp_path / "m.db", log)
    with watched.write() as sql:
        sql("INSERT INTO meta VALUES (?, ?)", ("colour", "sea green"))
    watched.read("SELECT value FROM meta WHERE key = ?", ("colour",))
    watched.close()
    written = "\n".join(lines)
    assert "INSERT INTO meta" in written
    assert written.count("'sea green'") == 2


def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path, log):
    path = tmp_path / "m.db"
    Database(path, log).close()
    whole = path.read_bytes()
    for cut in range(0, len(whole), 512):
        path.write_bytes(whole[:cut])
        with pytest.raises(errors.Damaged) as refused:
            Database(path, log)
        assert refused.value.details["reason"] == ("cut" if cut else "no database")
        assert path.read_bytes() == whole[:cut]
    for wrong in (bytes(8192) + whole[8192:], b"Dear diary\n" * 2000):
        path.write_bytes(wrong)
        with pytest.raises(errors.Damaged):
            Database(path, log)
        assert path.read_bytes() == wrong
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.db"]


def left_by_a_kill(folder, log) -> bytes:
    """A database whose last commits stand in its log alone, as a kill leaves it. Returns its log."""
    alive = Database(folder / "alive.db", log)
    for number in range(40):
        with alive.write() as sql:
            sql("INSERT INTO meta VALUES (?, ?)", (f"k{number}", "word " * 400))
    for end in ("", "-wal"):
        (folder / f"m.db{end}").write_bytes((folder / f"alive.db{end}").read_bytes())
    alive.close()
    return (folder / "m.db-wal").read_bytes()


def test_what_a_kill_left_in_the_log_is_there_at_the_next_start(tmp_path, log):
    assert left_by_a_kill(tmp_path, log)
    again = Database(tmp_path / "m.db", log)
    assert again.read("SELECT count(*) FROM meta")[0][0] == 40
    assert again.problems() == []
    again.close()
    assert not (tmp_path / "m.db-wal").exists()


def test_a_log_that_was_cut_anywhere_loses_only_the_commits_in_the_cut(tmp_path, log):
    logged = left_by_a_kill(tmp_path, log)
    whole, before = (tmp_path / "m.db").read_bytes(), 0
    for cut in [*range(0, len(logged), 6_007), len(logged)]:
        (tmp_path / "m.db").write_bytes(whole)
        (tmp_path / "m.db-wal").write_bytes(logged[:cut])
        again = Database(tmp_path / "m.db", log)
        found = again.read("SELECT count(*) FROM meta")[0][0]
        assert found >= before
        assert again.problems() == []
        again.close()
        before = found
    assert before == 40


def test_a_file_that_was_cut_is_refused_also_where_a_log_lies_beside_and_both_are_left_alone(tmp_path, log):
    logged = left_by_a_kill(tmp_path, log)
    whole = (tmp_path / "m.db").read_bytes()
    for cut in range(100, len(whole), 8_192):
        (tmp_path / "m.db").write_bytes(whole[:cut])
        with pytest.raises(errors.Damaged):
            Database(tmp_path / "m.db", log)
        assert (tmp_path / "m.db").read_bytes() == whole[:cut]
        assert (tmp_path / "m.db-wal").read_bytes() == logged


def test_what_was_deleted_is_in_neither_the_file_nor_its_log_after_vacuum(tmp_path, log):
    database = Database(tmp_path / "m.db", log)
    with database.write() as sql:
        sql("INSERT INTO meta VALUES ('word', ?)", ("Quintessenz " * 2000,))
    assert b"Quintessenz" in (tmp_path / "m.db-wal").read_bytes()
    with database.write() as sql:
        sql("DELETE FROM meta WHERE key = 'word'")
    database.vacuum()
    for path in tmp_path.iterdir():
        assert b"Quintessenz" not in path.read_bytes()
    database.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.db"]


def test_what_was_deleted_right_before_a_kill_is_in_neither_after_the_next_start(tmp_path, log):
    alive = Database(tmp_path / "alive.db", log)
    for statement in ("INSERT INTO meta VALUES ('word', ?)", "DELETE FROM meta WHERE value = ?"):
        with alive.write() as sql:
            sql(statement, ("Quintessenz " * 2000,))
    for end in ("", "-wal"):
        (tmp_path / f"m.db{end}").write_bytes((tmp_path / f"alive.db{end}").read_bytes())
    alive.close()
    assert b"Quintessenz" in (tmp_path / "m.db-wal").read_bytes()
    again = Database(tmp_path / "m.db", log)
    assert not any(b"Quintessenz" in path.read_bytes() for path in tmp_path.iterdir())
    again.close()


def test_the_log_is_its_owners_only_and_stays_small(tmp_path, log):
    before = os.umask(0)
    try:
        database = Database(tmp_path / "m.db", log)
        for number in range(600):
            with database.write() as sql:
                sql("INSERT INTO meta VALUES (?, ?)", (f"k{number}", "word " * 400))
        for end in ("-wal", "-shm"):
            assert stat.S_IMODE((tmp_path / f"m.db{end}").stat().st_mode) == 0o600
        assert (tmp_path / "m.db-wal").stat().st_size < 4_000_000
        database.close()
    finally:
        os.umask(before)


def test_a_database_of_an_older_version_of_ours_is_taken_over_and_can_go_back(tmp_path, log):
    Database(tmp_path / "m.db", log).close()
    with sqlite3.connect(tmp_path / "m.db") as raw:
        assert raw.execute("PRAGMA journal_mode=TRUNCATE").fetchone()[0] == "truncate"
    raw.close()
    again = Database(tmp_path / "m.db", log)
    assert setting(again, "journal_mode") == "wal"
    again.close()
    with sqlite3.connect(tmp_path / "m.db") as raw:
        assert raw.execute("PRAGMA journal_mode=TRUNCATE").fetchone()[0] == "truncate"
    raw.close()
