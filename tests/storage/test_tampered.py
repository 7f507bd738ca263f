"""A database that somebody changed is refused in one clear line and left as it is, or mended where nothing is lost."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from domain import errors
from domain.errors import Exit
from interfaces.messages import LANGUAGES, Words
from storage.backup import restore
from storage.sqlite import digests, schema
from storage.sqlite.database import SqliteDatabase
from tests.support.house import friend, house
from tests.support.server import ScriptedServer
from tests.test_promises import run_program

QUIET = logging.Logger("quiet", logging.CRITICAL)

#: What somebody did, and the table, or the column, that the refusal names.
TAMPERED = {
    "a table without a column": ("ALTER TABLE conversation DROP COLUMN compacted", "conversation"),
    "a session without a column": (
        "DROP VIEW node; DROP TRIGGER digest_session_changed; ALTER TABLE session DROP COLUMN stored_at",
        "session",
    ),
    "a table that is gone": ("DROP TABLE pin", "pin"),
    "a table of words that is gone": ("DROP TABLE message_postings", "message_postings"),
    "a view for a table": ("DROP TABLE meta; CREATE VIEW meta AS SELECT 1 AS key, 2 AS value", "meta"),
    "a table for a view": ("DROP VIEW node; CREATE TABLE node (text_id TEXT)", "node"),
    "a table copied without its rules": (
        "CREATE TABLE copy AS SELECT * FROM persona; DROP TABLE persona; ALTER TABLE copy RENAME TO persona",
        "persona",
    ),
    "a table that takes everything twice": (
        "CREATE TABLE copy (number INTEGER PRIMARY KEY, text_id TEXT NOT NULL, model TEXT NOT NULL,"
        " dimension INTEGER NOT NULL, digest TEXT NOT NULL, vector BLOB NOT NULL) STRICT;"
        "INSERT INTO copy SELECT * FROM embedding; DROP TABLE embedding; ALTER TABLE copy RENAME TO embedding",
        "embedding",
    ),
    "a table that takes any persona": (
        "CREATE TABLE copy (number INTEGER PRIMARY KEY, persona TEXT NOT NULL,"
        " timestamp TEXT NOT NULL, text TEXT NOT NULL, added INTEGER NOT NULL DEFAULT 0);"
        "DROP TABLE pin; ALTER TABLE copy RENAME TO pin",
        "pin",
    ),
    "a trigger": ("CREATE TRIGGER gone AFTER INSERT ON conversation BEGIN DELETE FROM summary; END", "gone"),
    "a column that nobody fills": (
        "CREATE TABLE copy (key TEXT PRIMARY KEY, value TEXT NOT NULL, other INTEGER NOT NULL) WITHOUT ROWID;"
        "DROP TABLE meta; ALTER TABLE copy RENAME TO meta",
        "meta",
    ),
    "a date that is none": ("UPDATE conversation SET timestamp = 'yesterday'", "conversation.timestamp"),
    "a date called now": ("UPDATE conversation SET timestamp = 'now'", "conversation.timestamp"),
    "an empty date": ("UPDATE summary SET timestamp = ''", "summary.timestamp"),
    "a date without offset": ("UPDATE conversation SET timestamp = '2026-03-01T09:00:00'", "conversation.timestamp"),
    "a date without a time": ("UPDATE session SET start_timestamp = '2026-03-01'", "session.start_timestamp"),
    "a date of the year 0": ("UPDATE session SET end_timestamp = '0000-01-01T00:00:00+00:00'", "session.end_timestamp"),
    "a date that no calendar has": ("UPDATE persona SET timestamp = '2026-02-31T09:00:00+00:00'", "persona.timestamp"),
    "an hour that no clock has": ("UPDATE pin SET timestamp = '2026-02-01T29:00:00+00:00'", "pin.timestamp"),
    "an offset that is none": ("UPDATE pin SET timestamp = '2026-02-01T09:00:00+00:00 or so'", "pin.timestamp"),
    "a strange date of storing": ("UPDATE conversation SET stored_at = 'soon'", "conversation.stored_at"),
}
#: What SQLite itself does not let anybody write.
REFUSED = {
    "a blob for a text": "UPDATE conversation SET text = x'00ff00'",
    "a blob for a summary": "UPDATE summary SET summary = x'ff'",
    "a blob for a persona": "UPDATE persona SET text = CAST(text AS BLOB)",
    "a text for a number": "UPDATE conversation SET round = 'first'",
    "a blob for a name": "UPDATE meta SET value = x'00'",
    "a text for a vector": "UPDATE embedding SET vector = 'none'",
    "a vector that was cut": "UPDATE embedding SET vector = x'0011'",
    "a blob for a digest": "UPDATE embedding SET digest = x'00'",
    "a text for a length": "UPDATE message_length SET length = 'many'",
    "no such role": "UPDATE conversation SET role = 'god'",
    "no such status": "UPDATE session SET status = 'asleep'",
    "no flag": "UPDATE conversation SET hidden = 2",
}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of somebody who said a few things and saved, with a row in every table that is tampered with."""
    from tests.conftest import Count, SetClock

    folder = tmp_path_factory.mktemp("lived")
    with ScriptedServer() as server:
        server.answer = friend
        with house(folder, server, SetClock(), Count(), QUIET) as first:
            first.say("My violin is by Amati.")
            first.save()
            first.say("Second evening.")
            first.memory.personas.pin("user", "Call her Ann.")
    return folder / "data" / "memory.db"


@pytest.fixture
def path(lived: Path, tmp_path: Path) -> Path:
    shutil.copyfile(lived, tmp_path / "memory.db")
    return tmp_path / "memory.db"


def tamper(path: Path, script: str) -> bytes:
    """Change a database as another tool would; what the file holds then."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA legacy_alter_table=ON")
        digests.register_functions(connection)
        connection.executescript(script)
    return path.read_bytes()


@pytest.mark.parametrize("name", REFUSED)
def test_p15_what_no_column_takes_cannot_be_written_by_any_program(path: Path, name: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        tamper(path, REFUSED[name])


@pytest.mark.parametrize("name", TAMPERED)
def test_p15_a_tampered_database_is_refused_at_start_and_left_as_it_is(path: Path, name: str) -> None:
    script, what = TAMPERED[name]
    before = tamper(path, script)
    with pytest.raises(errors.Damaged) as refused:
        SqliteDatabase(path, QUIET)
    assert refused.value.details["what"] == what
    assert refused.value.exit_code == Exit.DATA
    assert path.read_bytes() == before
    assert {entry.name for entry in path.parent.iterdir()} == {"memory.db", ".memory.db.gate", ".memory.db.queue"}


@pytest.mark.parametrize("name", TAMPERED)
def test_p15_a_tampered_backup_is_refused_and_the_memory_stays(
    path: Path, lived: Path, tmp_path: Path, clock, name: str
) -> None:
    script, what = TAMPERED[name]
    tamper(path, script)
    (tmp_path / "data").mkdir()
    shutil.copyfile(lived, tmp_path / "data" / "memory.db")
    with pytest.raises(errors.Damaged) as refused:
        restore(path, tmp_path / "data", clock)
    assert refused.value.details["what"] == what
    assert (tmp_path / "data" / "memory.db").read_bytes() == lived.read_bytes()
    assert [entry.name for entry in (tmp_path / "data").iterdir()] == ["memory.db"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["a table without a column", "a trigger", "a date without offset"])
def test_a_refusal_says_in_one_line_what_is_wrong_where_and_what_to_do(path: Path, name: str, language) -> None:
    script, what = TAMPERED[name]
    tamper(path, script)
    with pytest.raises(errors.Damaged) as refused:
        SqliteDatabase(path, QUIET)
    said = Words(language).describe_error(refused.value)
    assert what in said
    assert str(path) in said
    assert ("backup" if language == "en" else "备份") in said
    assert "\n" not in said


@pytest.mark.parametrize("how", ["start", "restore"])
def test_the_program_refuses_a_tampered_database_with_the_exit_code_of_a_damaged_one(
    path: Path, tmp_path: Path, how: str
) -> None:
    before = tamper(path, TAMPERED["a date that is none"][0])
    (tmp_path / "data").mkdir()
    if how == "start":
        path = path.rename(tmp_path / "data" / "memory.db")
    done = run_program(tmp_path, *(["-p", "hello"] if how == "start" else ["--restore", str(path)]))
    assert done.returncode == Exit.DATA
    assert "conversation.timestamp" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert path.read_bytes() == before


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: connection.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("session", "conversation", "summary", "persona", "pin")
        }


def indexes(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index'")}


@pytest.mark.parametrize(
    "script",
    [
        "DROP INDEX conversation_in_time; DROP INDEX session_in_time",
        "CREATE UNIQUE INDEX one_role ON fact (text_id, session_id)",
        "DROP INDEX session_by_status; CREATE INDEX session_by_status ON session (number)",
    ],
    ids=["missing", "never made", "has another form"],
)
def test_an_index_that_is_not_ours_is_made_anew_and_nothing_is_lost(path: Path, script: str) -> None:
    before, wanted = contents(path), indexes(path)
    tamper(path, script)
    SqliteDatabase(path, QUIET).close()
    assert contents(path) == before
    assert indexes(path) == wanted


@pytest.mark.parametrize(
    "script",
    [
        "DROP VIEW node",
        "DROP VIEW node; CREATE VIEW node AS SELECT text_id FROM conversation",
        "DROP VIEW node; CREATE VIEW node AS SELECT no FROM such_table",
    ],
    ids=["missing", "has another form", "of nothing"],
)
def test_a_view_of_the_tree_that_is_not_ours_is_made_anew(path: Path, script: str) -> None:
    before, wanted = contents(path), nodes(path)
    tamper(path, script)
    SqliteDatabase(path, QUIET).close()
    assert contents(path) == before
    assert nodes(path) == wanted != []


def nodes(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM node ORDER BY rank, place, text_id").fetchall()


def test_a_date_is_found_also_where_the_trigger_that_would_tell_was_taken_away(path: Path) -> None:
    before = tamper(path, "DROP TRIGGER digest_conversation_changed; UPDATE conversation SET timestamp = 'soon'")
    with pytest.raises(errors.Damaged):
        SqliteDatabase(path, QUIET)
    assert path.read_bytes() == before


def test_a_backup_is_looked_at_in_every_row(path: Path, tmp_path: Path, clock) -> None:
    tamper(path, "UPDATE pin SET timestamp = 'soon'; DELETE FROM changed_row")
    SqliteDatabase(path, QUIET).close()
    with pytest.raises(errors.Damaged) as refused:
        restore(path, tmp_path / "data", clock)
    assert refused.value.details["what"] == "pin.timestamp"


def test_a_text_that_is_no_utf8_is_read_with_a_mark_in_its_place(path: Path) -> None:
    tamper(path, "UPDATE conversation SET text = CAST(x'557365723a206162ff6364' AS TEXT) WHERE role = 'user'")
    opened = SqliteDatabase(path, QUIET)
    texts = {row[0] for row in opened.run("SELECT text FROM conversation WHERE role = 'user'")}
    assert texts == {"User: ab\ufffdcd"}
    assert opened.run("SELECT session_id FROM session")
    opened.close()


def test_rows_are_looked_at_only_where_another_program_wrote(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(schema, "bad_dates", lambda _: looked.append(1) or [])
    SqliteDatabase(path, QUIET).close()
    assert looked == []
    tamper(path, "UPDATE conversation SET timestamp = '2026-03-01T09:00:00+00:00'")
    SqliteDatabase(path, QUIET).close()
    SqliteDatabase(path, QUIET).close()
    assert looked == [1]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def test_every_date_that_the_program_writes_is_one(tmp_path: Path, server, clock, new_id, log) -> None:
    with house(tmp_path, server, clock, new_id, log, MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1") as first:
        for line in ("one", "two", "three"):
            first.say(line)
        first.save()
        first.memory.sessions.start(began="1999-12-31T23:59:59-08:00")
        first.memory.sessions.note_in_flight(first.talk.session.session_id, "unsent")
    opened = SqliteDatabase(tmp_path / "data" / "memory.db", QUIET)
    assert opened.problems() == []
    opened.close()
