"""A backup is one file that holds the friend; restoring it brings everything back and loses nothing that was there."""

from __future__ import annotations

import stat
from collections.abc import Iterator

import pytest

from domain import errors
from storage.backup import back_up, restore
from storage.programs import FolderLock
from tests.support.house import friend, house
from tests.support.server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def test_a_backup_made_while_chatting_brings_everything_back(tmp_path, server, clock, new_id, log):
    data = tmp_path / "data"
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("My violin is by Amati.")
        first.save()
        first.say("Second evening.")
        assert back_up(data, tmp_path / "friend.db") > 0
        rows = {table: first.rows(table) for table in ("session", "conversation", "summary", "persona", "embedding")}
        first.say("Said after the backup.")
        first.memory.personas.path("user").write_text("Edited after the backup.", encoding="utf-8")
    assert stat.S_IMODE((tmp_path / "friend.db").stat().st_mode) == 0o600
    asked = len(server.chats)
    former = restore(tmp_path / "friend.db", data, clock)
    with house(tmp_path, server, clock, new_id, log) as second:
        second.settle()
        assert {table: second.rows(table) for table in rows} == rows
        assert second.memory.personas.read("user") == "user: “My violin is by Amati.”"
        assert {row["text_id"] for row in second.rows("conversation")} <= set(second.indexed())
        second.say("Whose violin is it?")
        assert any("Amati" in message.text for message in second.talk.last.recollection.messages)
    assert len(server.chats) == asked + 1
    assert former == data / "memory.before-restore-1.db"
    assert b"Said after the backup." in former.read_bytes()
    kept = data / "persona.before-restore-1" / "user_image.txt"
    assert kept.read_text(encoding="utf-8") == "Edited after the backup."


def test_a_backup_never_overwrites(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log):
        (tmp_path / "friend.db").write_text("mine")
        with pytest.raises(errors.StorageError) as caught:
            back_up(tmp_path / "data", tmp_path / "friend.db")
        assert caught.value.key == "backup.exists"
        assert (tmp_path / "friend.db").read_text() == "mine"


def test_nothing_is_restored_from_what_is_no_backup(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.say("kept")
    before = (tmp_path / "data" / "memory.db").read_bytes()
    (tmp_path / "letter").write_text("Dear aunt, " * 900)
    with pytest.raises(errors.Damaged):
        restore(tmp_path / "letter", tmp_path / "data", clock)
    with pytest.raises(errors.StorageError):
        restore(tmp_path / "missing", tmp_path / "data", clock)
    assert (tmp_path / "data" / "memory.db").read_bytes() == before


def test_nothing_is_restored_under_a_running_program(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log):
        back_up(tmp_path / "data", tmp_path / "friend.db")
        with pytest.raises(errors.DataInUse):
            restore(tmp_path / "friend.db", tmp_path / "data", clock)


def test_a_friend_moves_to_a_new_folder_by_its_backup(tmp_path, server, clock, new_id, log):
    with house(tmp_path / "old", server, clock, new_id, log) as first:
        first.say("hello")
        back_up(tmp_path / "old" / "data", tmp_path / "friend.db")
    assert restore(tmp_path / "friend.db", tmp_path / "new" / "data", clock) is None
    with house(tmp_path / "new", server, clock, new_id, log) as second:
        assert [spoken.user.words for spoken in second.talk.open().rounds] == ["hello"]
    with FolderLock(tmp_path / "new" / "data", clock):
        pass


def test_a_backup_goes_into_no_folder_that_is_not_there_and_says_so(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log):
        with pytest.raises(errors.StorageError) as refused:
            back_up(tmp_path / "data", tmp_path / "elsewhere" / "friend.db")
        assert refused.value.key == "backup.no_folder"
        assert refused.value.details["path"] == str(tmp_path / "elsewhere")
