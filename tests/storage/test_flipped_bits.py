"""A bit that changes on the disk is noticed: by SQLite, by the form of a value, or by the digest of its row."""

from __future__ import annotations

import logging
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from domain import errors
from storage.sqlite import digests, schema
from storage.sqlite.database import SqliteDatabase
from tests.conftest import Count, SetClock
from tests.support.house import friend, house
from tests.support.past import bring, talk
from tests.support.program import run
from tests.support.server import ScriptedServer

QUIET = logging.Logger("quiet", logging.CRITICAL)
#: Word for word in messages, summaries, notes, facts and personas.
SAID = "My violin is by Amati."


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of somebody who said a few things in both languages, saved, pinned and brought the past along."""
    folder = tmp_path_factory.mktemp("lived")
    with ScriptedServer() as server:
        server.answer = friend
        with house(folder, server, SetClock(), Count(), QUIET) as first:
            first.say(SAID)
            first.say("我养了一只猫。")
            first.save()
            first.say("Second evening.")
            first.memory.personas.pin("user", "Call her Ann.")
            first.memory.sessions.note_in_flight(first.talk.session.session_id, "On its way.")
            first.memory.rounds.hide([first.memory.messages.rounds(first.talk.session.session_id)[0].user.text_id])
            bring(first.memory, talk("cats", "P: My cat is called Momo.", "Ann: A fine name."), me="Bob")
    return folder / "data" / "memory.db"


@pytest.fixture
def path(lived: Path, tmp_path: Path) -> Path:
    shutil.copyfile(lived, tmp_path / "memory.db")
    return tmp_path / "memory.db"


def noticed(path: Path) -> list[str]:
    """What an examination finds, or the refusal to open the file at all."""
    try:
        with closing(SqliteDatabase(path, QUIET)) as database:
            return database.problems() or database.altered_rows()
    except errors.Damaged as refused:
        return [str(refused)]


def cells(path: Path) -> Iterator[tuple[str, str, object, bytes]]:
    """Every text of every row that has a digest: its table, column and row, and its bytes."""
    with closing(sqlite3.connect(path)) as connection:
        for table, columns in schema.text_columns().items():
            for column in columns:
                key = digests._key_expression(table, "t")
                query = f"SELECT {key}, CAST({column} AS BLOB) FROM {table} t WHERE {column} <> ''"
                yield from ((table, column, key, value) for key, value in connection.execute(query).fetchall())


def overwrite(path: Path, table: str, column: str, key: object, value: bytes) -> None:
    """Put other bytes in the place of a text as a disk would: nothing that acts by itself sees it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA ignore_check_constraints=ON")
        query = f"UPDATE {table} AS t SET {column} = CAST(? AS TEXT) WHERE {digests._key_condition(table, '?')}"
        keys = [key] * query.count("?", query.index("WHERE"))
        assert connection.execute(query, (value, *keys)).rowcount == 1
        connection.commit()


def flipped(value: bytes, dice: random.Random) -> bytes:
    """The same with one bit changed."""
    at = dice.randrange(len(value))
    return value[:at] + bytes([value[at] ^ (1 << dice.randrange(8))]) + value[at + 1 :]


def test_what_was_stored_is_as_it_was_stored(path: Path) -> None:
    assert noticed(path) == []


def test_every_bit_that_is_flipped_in_a_text_is_noticed(path: Path, tmp_path: Path) -> None:
    dice = random.Random(17)
    found = list(cells(path))
    assert {table for table, *_ in found} >= {"session", "conversation", "summary", "note", "fact", "persona", "pin"}
    chosen: dict[tuple[str, str], list[tuple[object, bytes]]] = {}
    for table, column, key, value in found:
        chosen.setdefault((table, column), []).append((key, value))
    passed = []
    for (table, column), rows in chosen.items():
        for key, value in dice.sample(rows, min(2, len(rows))):
            broken = tmp_path / "broken.db"
            shutil.copyfile(path, broken)
            overwrite(broken, table, column, key, flipped(value, dice))
            if not noticed(broken):
                passed.append((table, column, key))
    assert passed == []


@pytest.mark.parametrize("words", [SAID, "我养了一只猫。"])
def test_every_place_in_the_file_where_words_stand_is_watched(path: Path, words: str) -> None:
    dice, whole, wanted = random.Random(3), path.read_bytes(), words.encode()
    places = [at for at in range(len(whole)) if whole.startswith(wanted, at)]
    assert len(places) > 3
    for at in places:
        path.write_bytes(whole[:at] + flipped(wanted, dice) + whole[at + len(wanted) :])
        assert noticed(path), at


def test_a_row_that_is_lost_and_one_that_nobody_stored_are_noticed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE pin SET number = 99")
        connection.commit()
    assert sorted(noticed(path)) == ["pin 1", "pin 99"]


def test_what_another_program_writes_into_the_database_is_no_damage(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE conversation SET text = 'User: My violin is by Guarneri.' WHERE seq = 1")
        connection.commit()
    assert noticed(path) == []


def test_a_row_that_others_take_the_place_of_leaves_no_digest(path: Path) -> None:
    with closing(SqliteDatabase(path, QUIET)) as database:
        with database.write() as tx:
            values = "SELECT persona, version, line, day, importance FROM line_evidence LIMIT 1"
            tx.do(f"INSERT OR REPLACE INTO line_evidence (persona, version, line, day, importance) {values}")
        assert database.altered_rows() == []


@pytest.mark.parametrize(("language", "said"), [("en", "differ from what was stored"), ("zh", "与存入时不一致")])
def test_check_says_which_rows_differ(path: Path, tmp_path: Path, language: str, said: str) -> None:
    overwrite(path, "conversation", "text", 1, b"User: My violin is by Amatj.")
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    shutil.copyfile(path, home / "data" / "memory.db")
    done = run(home, "--check", LANGUAGE=language)
    assert said in done.out
    assert "conversation 1" in done.out
    assert done.code == errors.Exit.DATA
