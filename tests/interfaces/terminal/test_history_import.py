"""``--import`` and ``/import``: a look, the counts, clear lines where something is wrong, and nothing twice."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.importers.exports import claude_message, claude_talk
from tests.importers.making import chatgpt_export
from tests.interfaces.terminal.conftest import Chat
from tests.support.program import ended, interrupted, run, started
from tests.support.server import ScriptedServer

ENGLISH = {"LANGUAGE": "en"}
DONE = "ChatGPT: 40 messages imported from 2 conversations, in 2 sessions."


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """What ChatGPT exports: two conversations of twenty messages."""
    path = tmp_path / "conversations.json"
    chatgpt_export(path, 40, 20)
    return path


def messages(home: Path) -> int:
    """How many messages a memory holds."""
    exported = run(home, "-p", "/export all json all.json", **ENGLISH)
    assert exported.code == 0, exported.err
    sessions = json.loads((home / "all.json").read_text(encoding="utf-8"))["sessions"]
    (home / "all.json").unlink()
    return sum(len(session["turns"]) for session in sessions)


def test_an_export_is_brought_along_once_and_found_at_once(tmp_path: Path, export: Path) -> None:
    first = run(tmp_path, "--import", str(export), **ENGLISH)
    assert (first.code, first.err) == (0, "")
    assert DONE in first.out
    assert "left out: 5 · thoughts of the model" in first.out
    assert "It can be found by its words now." in first.out
    assert messages(tmp_path) == 40
    again = run(tmp_path, "--import", str(export), **ENGLISH)
    assert again.out.splitlines()[:2] == ["ChatGPT: nothing new in 2 conversations.", "Already imported: 40 messages."]
    assert "It can be found" not in again.out
    assert messages(tmp_path) == 40
    found = run(tmp_path, given="/memory search Lisbon\n", **ENGLISH)
    assert "remind me to ask about the flat with number" in found.err


def test_a_folder_is_looked_through_and_what_was_passed_over_is_told(tmp_path: Path, export: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    export.rename(folder / export.name)
    (folder / "strange.json").write_text('{"what": 1}', encoding="utf-8")
    told = run(tmp_path, "--import", str(folder), **ENGLISH)
    assert told.code == 0
    assert DONE in told.out
    assert "strange.json" in told.out


def test_the_counts_are_told_in_chinese_too(tmp_path: Path, export: Path) -> None:
    told = run(tmp_path, "--import", str(export), LANGUAGE="zh")
    assert "ChatGPT：从 2 次聊天导入 40 条消息" in told.out


def test_a_dry_run_tells_what_is_there_and_what_it_would_cost_and_writes_nothing(tmp_path: Path, export: Path) -> None:
    seen = run(tmp_path, "--import", str(export), "--dry-run", **ENGLISH)
    assert seen.code == 0
    assert "ChatGPT: 2 conversations with 40 messages, which become 2 sessions." in seen.out
    assert "From 2025-08-24 to 2025-08-24." in seen.out
    assert "Whose words: you 20 · ChatGPT 20" in seen.out
    assert "about 8 model calls (WINDOW_SIZE=40): 1 day at IMPORT_CALLS=50." in seen.out
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("name", ["notes.txt", "broken.json", "missing.zip", "folder"])
def test_a_file_that_is_no_export_is_refused_in_one_line_and_the_others_are_brought(
    tmp_path: Path, export: Path, name: str
) -> None:
    (tmp_path / "notes.txt").write_text("only notes", encoding="utf-8")
    (tmp_path / "broken.json").write_text('{"what": [', encoding="utf-8")
    (tmp_path / "folder").mkdir()
    told = run(tmp_path, "--import", str(tmp_path / name), str(export), **ENGLISH)
    assert told.code == 2
    assert told.err == ""
    assert name in told.out.splitlines()[0]
    assert told.out.splitlines()[1].startswith("ChatGPT: 40 messages")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="only Linux has a file that cannot be read")
def test_a_file_that_the_disk_does_not_hand_out_is_said(tmp_path: Path) -> None:
    told = run(tmp_path, "--import", "/proc/self/mem", **ENGLISH)
    assert told.code == 1
    assert told.out.startswith("/proc/self/mem ")


WHATSAPP = """\
[14/10/2025, 15:34:09] Ann: Are you coming?
[14/10/2025, 15:35:10] Bob Müller: No, my train
is late.
[14/10/2025, 15:36:00] Ann: Then tomorrow.
[15/10/2025, 09:00:00] Bob Müller: Tomorrow it is.
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A chat of two people."""
    path = tmp_path / "WhatsApp Chat with Ann.txt"
    path.write_text(WHATSAPP, encoding="utf-8")
    return path


def test_in_a_chat_of_people_somebody_must_say_who_the_person_is(tmp_path: Path, people: Path) -> None:
    told = run(tmp_path, "--import", str(people), **ENGLISH)
    assert told.code == 2
    assert len([line for line in told.out.splitlines() if "--me NAME" in line and "Ann, Bob Müller" in line]) == 1
    wrong = run(tmp_path, "--import", str(people), "--me", "Eve", **ENGLISH)
    assert (wrong.code, "No one in" in wrong.out) == (2, True)
    brought = run(tmp_path, "--import", str(people), "--me", "bob müller", **ENGLISH)
    assert brought.code == 0
    assert "WhatsApp: 4 messages imported from 1 conversation, in 2 sessions." in brought.out
    shown = run(tmp_path, given="/show 2\n", **ENGLISH).err
    assert "Ann\nAre you coming?\n> No, my train\n  is late.\nAnn\nThen tomorrow." in shown
    assert run(tmp_path, "-p", "/export all md all.md", **ENGLISH).code == 0
    assert "**Ann** · 2025-10-14" in (tmp_path / "all.md").read_text(encoding="utf-8")


def test_a_file_of_which_nothing_can_be_read_says_why_and_ends_with_1(tmp_path: Path) -> None:
    (tmp_path / "chat.txt").write_text("3/4/25, 10:00 - Ann: Hi\n3/4/25, 10:01 - Bob: Yes\n", encoding="utf-8")
    told = run(tmp_path, "--import", str(tmp_path / "chat.txt"), "--me", "Ann", **ENGLISH)
    assert (told.code, "--dates" in told.out) == (1, True)


def test_a_database_in_which_nothing_was_said_yet_is_said_to_be_empty(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "logs.db")) as connection:
        for table in (
            "conversations(id, name, model)",
            "responses(id, prompt, response, conversation_id, datetime_utc)",
        ):
            connection.execute(f"CREATE TABLE {table}")
    told = run(tmp_path, "--import", str(tmp_path / "logs.db"), **ENGLISH)
    assert told.code == 1
    assert told.out.splitlines() == [f"{tmp_path / 'logs.db'} has no conversations: the export is empty."]


def test_an_archive_with_talk_and_with_notes_is_brought_whole(tmp_path: Path) -> None:
    talks = [claude_talk(claude_message("m1", "human", "My cat is Momo."))]
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(talks))
        archive.writestr("memories.json", json.dumps([{"conversations_memory": "Likes cats."}]))
    told = run(tmp_path, "--import", str(tmp_path / "data.zip"), **ENGLISH)
    assert (told.code, told.err) == (0, "")
    assert [line.partition(":")[0] for line in told.out.splitlines()[:2]] == ["Claude", "memories.json"]
    assert "Notes" not in run(tmp_path, given="/import\n", **ENGLISH).err


def test_at_a_terminal_it_is_asked_who_the_person_is(chat: Chat, people: Path) -> None:
    terminal = chat(rows=40, columns=220, **ENGLISH)
    terminal.prompt()
    terminal.say(f'/import "{people}"')
    terminal.see("Who are you in WhatsApp Chat with Ann.txt? (Ann, Bob Müller)")
    terminal.say("Ann")
    terminal.see("4 messages imported")


@pytest.mark.parametrize("arguments", [("--me", "Ann"), ("--dry-run",), ("--import",), ("--import", "x", "-p", "hi")])
def test_flags_that_do_not_belong_together_are_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    told = run(tmp_path, *arguments, **ENGLISH)
    assert (told.code, told.out) == (2, "")
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize("flag", ["--import", "--export", "--backup", "--restore", "--batch"])
def test_an_empty_name_is_no_file_and_never_the_folder_that_one_stands_in(
    tmp_path: Path, export: Path, flag: str
) -> None:
    told = run(tmp_path, flag, "", **ENGLISH)
    assert (told.code, told.out) == (2, "")
    assert told.err == f"{flag} needs a value. See --help.\n"
    assert not (tmp_path / "data").exists()


def test_an_import_is_stored_beside_an_open_chat(tmp_path: Path, export: Path, chat: Chat) -> None:
    chat(DATA_DIR=str(tmp_path / "data")).prompt()
    ran = run(tmp_path, "--import", str(export), **ENGLISH)
    assert ran.code == 0
    assert "messages imported from" in ran.out


def test_ctrl_c_stops_it_whole_and_the_same_again_goes_on(tmp_path: Path) -> None:
    export = tmp_path / "conversations.json"
    chatgpt_export(export, 6_000)
    process = started(tmp_path, "--import", str(export), piped=False, **ENGLISH)
    database = tmp_path / "data" / "memory.db"
    told = interrupted(process, lambda: database.exists() and database.stat().st_size > 1_500_000)
    assert told.code == 130
    assert told.err == "Stopped. What was imported stays; the same command continues from there.\n"
    rest = ended(started(tmp_path, "--import", str(export), piped=False, **ENGLISH))
    assert rest.code == 0
    assert "Already imported:" in rest.out
    assert messages(tmp_path) == 6_000


def test_a_chat_brings_along_lists_shows_and_takes_back(
    chat: Chat, export: Path, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(rows=50, columns=110, IMPORT_CALLS="0", **ENGLISH, **connected)
    terminal.prompt()
    terminal.say(f"/import {export}")
    terminal.see("40 messages imported from 2 conversations")
    terminal.prompt()
    terminal.say("/import")
    terminal.see("conversations.json · 40 messages")
    terminal.see("2 sessions with 40 messages are still to be processed")
    terminal.prompt()
    terminal.say("/show 1")
    terminal.see("Talk 20")
    terminal.prompt()
    terminal.say("/import undo 1")
    terminal.send_after("[y/N]", "y\r")
    terminal.see("is taken back: 40 messages removed.")
    terminal.prompt()
    terminal.say("/import undo 7")
    terminal.see("There is no import 7.")
    terminal.prompt()
    terminal.say('/import "unclosed')
    terminal.see("A quotation mark is not closed.")
    terminal.prompt()
    terminal.say('/import ""')
    terminal.see("Which file? /import FILE")


def test_the_names_of_files_are_completed(chat: Chat, export: Path) -> None:
    terminal = chat(rows=30, columns=110, **ENGLISH)
    terminal.prompt()
    terminal.send(f"/import {export.parent}/conver")
    terminal.see("/conver")
    terminal.send("\t")
    terminal.see(f"/import {export}")
    terminal.send("\x03")


def test_a_date_that_may_be_read_in_two_ways_is_asked_for(tmp_path: Path) -> None:
    chat = tmp_path / "WhatsApp Chat with Ann.txt"
    chat.write_text("1/4/23, 19:02 - Ann: hi\n1/4/23, 19:03 - Bob: hello\n", encoding="utf-8")
    unclear = run(tmp_path, "--import", str(chat), "--me", "Bob", **ENGLISH)
    assert "--dates day or --dates month" in unclear.out + unclear.err
    clear = run(tmp_path, "--import", str(chat), "--me", "Bob", "--dates", "day", "--dry-run", **ENGLISH)
    assert "From 2023-04-01 to 2023-04-01." in clear.out
