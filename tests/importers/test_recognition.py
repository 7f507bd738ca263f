"""What a file is is told by its bytes; what is not known is said, and never taken for plain text."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from domain.errors import UsageError
from importers import ReadingOptions, recognise_export
from importers.export_files import detect_encoding, file_on_disk
from importers.recognition import DATABASE_FORMATS, JSON_FORMATS, TEXT_FORMATS
from tests.importers.exports import claude_message, claude_talk, gpt_talk, lines, read, written
from tests.importers.making import chatgpt_export

CLAUDE = claude_talk(claude_message("m1", "human", "你好"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("name", ["conversations.json", "renamed.txt", "no-ending"])
def test_a_file_is_recognised_whatever_its_encoding_and_name(tmp_path, encoding, name):
    found = read(written(tmp_path / name, json.dumps([CLAUDE], ensure_ascii=False), encoding))
    assert (found.sources, found.said) == (["claude"], [("person", "你好")])


def test_a_packed_file_is_recognised(tmp_path):
    path = written(tmp_path / "x.json.gz", gzip.compress(json.dumps([CLAUDE]).encode()))
    assert read(path).said == [("person", "你好")]


def test_utf8_with_a_damaged_byte_is_not_taken_for_another_encoding(tmp_path):
    given = json.dumps([{**CLAUDE, "name": "猫猫猫猫猫猫"}], ensure_ascii=False).encode()
    path = written(tmp_path / "x.json", given.replace("你".encode(), "你".encode()[:2]))
    assert detect_encoding(file_on_disk(path)) == "utf-8-sig"
    assert read(path).said == [("person", "\ufffd好")]


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00", "Dear diary, Ann: hi", "{}x", '{"a": 1}', '[1, 2]', '["a"]', "[[]]", '{"messages": []}',
        '{"messages": [{"text": "x"}]}', "role,content\nuser,hi\n", "<html>Gemini</html>", '{"role": "user"', "null", '"text"',
    ],
)  # fmt: skip
def test_what_is_not_known_is_refused(tmp_path, content):
    with pytest.raises(UsageError, match="not_recognised"):
        recognise_export(written(tmp_path / "x.json", content))


def test_random_bytes_are_refused_and_break_nothing(tmp_path):
    chance = random.Random(7)
    whole = json.dumps([gpt_talk(), gpt_talk("c2")]).encode()
    for number in range(150):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 30)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path = written(tmp_path / f"{number}.json", bytes(damaged))
        try:
            found = read(path)
        except UsageError:
            continue
        assert len(found.talks) + len(found.unread) >= 1


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(UsageError, match="not_found"):
        recognise_export(tmp_path / "nothing")


@pytest.mark.parametrize("content", ["[]", "{}", " [ ] ", "", "\ufeff", " \n\r\n"])
def test_an_empty_export_is_said_to_be_empty(tmp_path, content):
    with pytest.raises(UsageError, match="no_conversations"):
        recognise_export(written(tmp_path / "MyActivity.json", content))


def test_a_folder_is_looked_through_and_what_is_no_history_is_counted(tmp_path):
    written(tmp_path / "a" / "conversations.json", [gpt_talk()])
    written(tmp_path / "b" / "deep" / "chat.jsonl", lines({"role": "user", "content": "hi"}))
    written(tmp_path / "b" / "notes.txt", "Dear diary")
    written(tmp_path / "b" / "picture.png", b"\x89PNG\x00")
    written(tmp_path / "b" / "users.json", [{"uuid": "x"}])
    written(tmp_path / ".hidden" / "conversations.json", [gpt_talk("c2")])
    written(tmp_path / "bad.zip", b"PK\x03\x04broken")
    found = read(tmp_path)
    assert sorted(found.sources) == ["", "chatgpt", "messages"]
    assert [(one.reason, dict(one.details).get("count")) for one in found.unread] == [
        ("history.unread.damaged", None), ("history.unread.skipped", 2),
    ]  # fmt: skip


def test_a_folder_without_a_history_is_refused(tmp_path):
    written(tmp_path / "notes.txt", "Dear diary")
    with pytest.raises(UsageError, match="nothing_inside"):
        recognise_export(tmp_path)


def zipped(path: Path, *members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def test_a_member_that_leads_out_of_its_archive_and_a_bomb_are_refused(tmp_path):
    good = json.dumps([CLAUDE]).encode()
    bomb = b"[" + b" " * (11 << 20) + b"]"
    path = zipped(
        tmp_path / "x.zip", ("../conversations.json", good), ("bomb.json", bomb), ("conversations.json", good)
    )
    found = read(path)
    assert (len(found.talks), found.reasons) == (1, ["suspicious", "suspicious"])
    assert {one.details["said"] for one in found.unread} == {"path", "size"}


def test_a_member_that_is_encrypted_is_refused(tmp_path):
    good = json.dumps([CLAUDE]).encode()
    path = zipped(tmp_path / "x.zip", ("conversations.json", good), ("secret.json", good))
    content = bytearray(path.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(content))
    found = read(path)
    assert (len(found.talks), [one.details["said"] for one in found.unread]) == (1, ["encrypted"])


def test_an_archive_that_is_damaged_or_cut_off_is_said(tmp_path):
    path = zipped(tmp_path / "x.zip", ("conversations.json", json.dumps([CLAUDE]).encode()))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=r"history\.damaged"):
        recognise_export(path)


def test_a_member_with_a_wrong_checksum_gives_what_is_whole(tmp_path):
    talks = [gpt_talk(f"c{number}") for number in range(1_000)]
    path = zipped(tmp_path / "x.zip", ("conversations.json", json.dumps(talks).encode()), method=zipfile.ZIP_STORED)
    damaged = bytearray(path.read_bytes())
    place = damaged.rindex(b"\\u6211")
    damaged[place + 5] = ord("2")
    path.write_bytes(bytes(damaged))
    found = read(path)
    assert (len(found.talks) > 800, found.reasons) == (True, ["damaged"])


def test_a_database_in_an_archive_is_said(tmp_path):
    path = zipped(
        tmp_path / "x.zip",
        ("logs.db", b"SQLite format 3\x00" + b"\x00" * 100),
        ("conversations.json", json.dumps([CLAUDE]).encode()),
    )
    assert read(path).reasons == ["database_inside"]


def test_archives_within_archives_end_somewhere(tmp_path):
    path = zipped(tmp_path / "0.zip", ("conversations.json", json.dumps([CLAUDE]).encode()))
    for number in range(1, 5):
        path = zipped(tmp_path / f"{number}.zip", (path.name, path.read_bytes()))
    with pytest.raises(UsageError, match="nothing_inside"):
        recognise_export(path)
    assert len(read(tmp_path / "2.zip").talks) == 1


def test_what_is_read_is_counted_up_to_the_size_and_reading_can_begin_again(tmp_path):
    path = tmp_path / "conversations.json"
    chatgpt_export(path, 3_000)
    (file,) = recognise_export(path)
    seen = []
    for _ in file.read():
        seen.append(file.done)
    assert seen == sorted(seen)
    assert 0 < seen[0] < file.size == path.stat().st_size == file.done
    again = file.read()
    next(again)
    assert file.done < file.size
    again.close()


def test_memory_is_flat_however_long_the_file(tmp_path):
    def peak(messages):
        path = tmp_path / f"{messages}.json"
        chatgpt_export(path, messages)
        (file,) = recognise_export(path)
        tracemalloc.start()
        for _ in file.read():
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(6_000) < peak(1_500) * 1.5 + 500_000


NOTES = {
    "mem0.json": {"results": [{"id": "1", "memory": "Likes tea", "hash": "x", "user_id": "ann"}]},
    "memories.json": {"user": {}, "memories": [{"id": "1", "content": "Likes tea", "state": "active"}, {"id": "2", "content": "x", "state": "deleted"}]},
    "memories.jsonl": lines({"id": "1", "content": "Likes tea", "state": "active", "app": "x"}, {"id": "2", "content": "x", "state": "archived"}),
    "claude.json": {"conversations_memory": "Ann likes tea", "project_memories": {}, "account_uuid": "x"},
}  # fmt: skip


@pytest.mark.parametrize("name", NOTES)
def test_notes_of_other_programs_are_counted_and_not_taken_for_talk(tmp_path, name):
    found = read(written(tmp_path / name, NOTES[name]))
    assert (found.talks, found.reasons, found.unread[0].details) == ([], ["notes"], {"count": 1})


def test_every_format_of_the_table_has_a_reader_and_a_name():
    rows = [*JSON_FORMATS, *TEXT_FORMATS, *DATABASE_FORMATS]
    assert all(row.source and callable(row.read) for row in rows)


def test_options_are_those_of_a_person_who_said_nothing():
    assert ReadingOptions() == ReadingOptions(me="", zone=None, day_first=None, not_remembered=False)
