"""The whole memory as rows: read back it is equal, row by row, and found again; what is not whole is refused."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain import errors
from storage.backup import restore_portable, write_portable
from storage.sqlite import schema
from tests.conftest import Count, SetClock
from tests.support.house import friend, house
from tests.support.past import bring, talk
from tests.support.server import ScriptedServer


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


@pytest.fixture(scope="module")
def lived(tmp_path_factory, server) -> tuple[Path, SetClock, Count]:
    """The folder of a memory with everything in it, written while it was open, and how far its clock and ids came."""
    home, clock, new_id = tmp_path_factory.mktemp("lived"), SetClock(), Count()
    with house(home, server, clock, new_id, logging.Logger("quiet", logging.CRITICAL)) as first:
        first.say("My violin is by Amati.")
        first.save()
        first.say("我住在都柏林。")
        first.save()
        bring(first.memory, talk("chat", "Ann: Are you coming?", "Bob: No."), me="Bob")
        first.memory.personas.pin("user", "I am allergic to peanuts.")
        first.say("A line \u2028 and a tab\tand <b>brackets</b>.")
        write_portable(home / "data", home / "all.json", clock)
    return home, clock, new_id


@pytest.fixture
def written(tmp_path, lived, clock, new_id) -> dict[str, Any]:
    """What was written of that memory, which lies here with it."""
    home, clock.now, new_id.given = lived[0], lived[1].now, lived[2].given
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    return json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))


def rows_of(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((table, row) for table, rows in document["tables"].items() for row in rows)


def test_what_was_written_is_read_back_row_by_row(tmp_path, written, clock, log):
    other = tmp_path / "other"
    assert restore_portable(written["schema"], rows_of(written), other, clock) is None
    write_portable(other, tmp_path / "again.json", clock)
    again = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    for table in written["tables"]:
        assert [row for row in again["tables"][table] if row.get("key") != "unindexed"] == written["tables"][table], (
            table
        )
    assert stat.S_IMODE((tmp_path / "all.json").stat().st_mode) == 0o600


def test_everything_is_found_again_in_what_was_read_back(tmp_path, written, server, clock, new_id, log):
    restore_portable(written["schema"], rows_of(written), tmp_path / "new" / "data", clock)
    with house(tmp_path / "new", server, clock, new_id, log) as second:
        second.settle()
        assert {row["text_id"] for row in second.rows("conversation")} <= set(second.indexed())
        assert "peanuts" in second.memory.personas.read("user")
        assert second.memory.facts_with("都柏林")
        second.say("Whose violin is it?")
        assert any("Amati" in message.text for message in second.talk.last.recollection.messages)
        second.say("我住在哪里？")
        assert any("都柏林" in message.text for message in second.talk.last.recollection.messages)


def test_it_takes_the_place_of_a_memory_that_stays_beside_it(tmp_path, written, server, clock, new_id, log):
    former = restore_portable(written["schema"], rows_of(written), tmp_path / "data", clock)
    assert former == tmp_path / "data" / "memory.before-restore-1.db"


@pytest.mark.parametrize(
    "broken",
    [
        ("session", {"session_id": "x"}),
        ("nonsense", {"a": 1}),
        ("conversation", {"text_id": "t", "no_such_column": 1}),
        ("summary", {"text_id": "s", "session_id": "gone", "timestamp": "2026-01-01T00:00:00+00:00",
                     "summary": "?", "upto_round": 1, "stored_at": ""}),
        ("meta", {"key": "k", "value": ["a", "list"]}),
        ("meta", {"key": "k", "value": 10**30}),
        ("meta", {"key": "k", "value": "\ud800"}),
        ("counter", {"name": 10**30, "value": 1}),
        ("session", {}),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_are_refused_and_nothing_is_laid_in_place(tmp_path, written, clock, broken):
    before = (tmp_path / "data" / "memory.db").read_bytes()
    with pytest.raises(errors.Damaged):
        restore_portable(written["schema"], [*rows_of(written), broken], tmp_path / "data", clock)
    assert (tmp_path / "data" / "memory.db").read_bytes() == before
    assert {one.suffix for one in (tmp_path / "data").glob(".memory.db.*")} <= {".gate", ".queue"}


def test_a_document_of_a_newer_program_is_refused(tmp_path, written, clock):
    with pytest.raises(errors.NewerSchema):
        restore_portable(schema.VERSION + 1, [], tmp_path / "other", clock)


def test_what_is_erased_at_the_moment_is_not_written(tmp_path, written, clock):
    with sqlite3.connect(tmp_path / "data" / "memory.db") as connection:
        connection.execute("INSERT INTO meta (key, value) VALUES ('erasing', 'a secret that is on its way out')")
    target: Path = tmp_path / "second.json"
    write_portable(tmp_path / "data", target, clock)
    assert "secret" not in target.read_text(encoding="utf-8")
