"""A file that is damaged in whatever way costs itself, a bad row of it only that row; whoever owns a database goes on."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tracemalloc
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from domain.errors import UsageError
from importers import recognise_export
from tests.importers.exports import gpt_talk, read, written
from tests.importers.test_gemini import entry
from tests.importers.test_llm_logs import OLD
from tests.importers.test_other_companions import webui_chat, webui_database

TALKS = json.dumps([gpt_talk(f"c{number}") for number in range(500)]).encode()


def with_noise(whole: bytes, *places: int) -> bytes:
    damaged = bytearray(whole)
    for place in places:
        damaged[place] ^= 0xFF
    return bytes(damaged)


def zipped(path: Path, method: int, name: str = "conversations.json") -> bytes:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(name, TALKS)
    return path.read_bytes()


@pytest.mark.parametrize("damaged", [with_noise(gzip.compress(TALKS), 30, 40, 60), gzip.compress(TALKS)[:2]])
def test_a_packed_file_that_is_damaged_at_its_beginning_is_said_to_be_damaged(tmp_path, damaged):
    with pytest.raises(UsageError, match=r"history\.damaged"):
        recognise_export(written(tmp_path / "x.json.gz", damaged))


def test_a_name_in_an_archive_that_is_no_text_costs_only_that_archive(tmp_path):
    whole = zipped(tmp_path / "x.zip", zipfile.ZIP_STORED, "é.json")
    written(tmp_path / "x.zip", whole.replace("é".encode(), b"\xff\xfe"))
    with pytest.raises(UsageError, match=r"history\.damaged"):
        recognise_export(tmp_path / "x.zip")
    written(tmp_path / "whole.json", TALKS)
    found = read(tmp_path)
    assert (len(found.talks), found.reasons) == (500, ["damaged"])


def test_a_member_that_is_damaged_costs_only_itself_however_it_is_packed(tmp_path):
    whole = zipped(tmp_path / "lzma.zip", zipfile.ZIP_LZMA)
    written(tmp_path / "lzma.zip", with_noise(whole, 70, 71, 90))
    written(tmp_path / "whole.json", TALKS)
    found = read(tmp_path)
    assert (len(found.talks), found.reasons) == (500, ["damaged"])


def test_a_file_that_is_nothing_known_is_passed_over_and_not_held_in_memory(tmp_path):
    filling = ",".join(f'"k{number}": {{"x": "{"y" * 50}"}}' for number in range(20_000))
    path = written(tmp_path / "x.json", f'{{"a": {{{filling}}}}}')
    tracemalloc.start()
    with pytest.raises(UsageError, match="not_recognised"):
        recognise_export(path)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < 3 * path.stat().st_size


# -- databases


def test_a_row_of_a_database_that_is_no_text_costs_only_itself(tmp_path):
    path = webui_database(tmp_path / "webui.db", webui_chat(), webui_chat("w2"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE chat SET title = CAST(x'ff41' AS TEXT), chat = x'ff' WHERE id = 'w2'")
        connection.execute("UPDATE user SET name = x'ff' WHERE name = 'Bob'")
        connection.commit()
    found = read(path)
    assert ([talk.key for talk in found.talks], found.reasons) == (["w1"], ["broken"])


def test_a_prompt_in_a_log_that_is_no_text_costs_only_itself(tmp_path):
    with closing(sqlite3.connect(tmp_path / "logs.db")) as connection:
        connection.executescript(OLD)
        rows = [("r1", b"\xff", b"\xfe", "c1"), ("r2", "hi", "yes", "c1"), ("r3", "again", "yes", "c2")]
        connection.executemany("INSERT INTO responses VALUES (?, ?, '', ?, ?, '2025-01-02T10:00:00', '')", rows)
        connection.execute("UPDATE responses SET prompt = CAST(x'ff41' AS TEXT) WHERE id = 'r3'")
        connection.commit()
    found = read(tmp_path / "logs.db")
    assert [one.text for talk in found.talks for one in talk.messages] == ["hi", "yes", "\ufffdA", "yes"]
    assert (found.left_out, found.unread) == ({"empty": 2}, [])


def test_a_database_without_what_is_read_of_it_is_said_to_be_damaged(tmp_path):
    with closing(sqlite3.connect(tmp_path / "webui.db")) as connection:
        connection.executescript("CREATE TABLE user (id); CREATE TABLE chat (id, user_id)")
        connection.execute("INSERT INTO chat VALUES ('1', '2')")
        connection.commit()
    assert read(tmp_path / "webui.db").reasons == ["damaged"]


def test_whoever_owns_a_database_can_write_while_it_is_read(tmp_path):
    chats = [webui_chat(f"w{number}", title="t" * 5_000) for number in range(50)]
    path = webui_database(tmp_path / "webui.db", *chats)
    found = recognise_export(path)[0].read()
    next(found)
    with closing(sqlite3.connect(path, timeout=0)) as owner:
        owner.execute("UPDATE chat SET created_at = 0")
        owner.commit()
    assert len(list(found)) == 49


def test_nothing_is_left_beside_a_database_that_is_written_by_way_of_a_log(tmp_path):
    path = webui_database(tmp_path / "webui.db", webui_chat())
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("PRAGMA journal_mode=WAL")
    assert len(read(path).talks) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["webui.db"]
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("INSERT INTO chat SELECT 'w2', user_id, title, chat, created_at, updated_at FROM chat")
        owner.commit()
        assert len(read(path).talks) == 2


# -- a log of activities


def test_an_entry_that_is_nested_too_deep_costs_only_itself(tmp_path):
    deep = "[" * 700 + '"x"' + "]" * 700
    log = [
        entry("2026-03-02T09:16:00Z", "Prompted b"),
        entry("2026-03-02T09:15:30Z", "x", details=[{"name": "Request", "value": deep}]),
        entry("2026-03-02T09:15:00Z", "Prompted a"),
    ]
    found = read(written(tmp_path / "x.json", log))
    assert ([text for _, text in found.said], found.left_out) == (["a", "b"], {"misshapen": 1})
