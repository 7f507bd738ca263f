"""What is typed every day: help on one screen, sessions by number, taking back and bringing back, pins, searching."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interfaces.messages import LANGUAGES, Words, load_table
from interfaces.terminal.commands.command_table import DAILY, GROUPS, TABLE
from interfaces.terminal.commands.program_commands import _failed_job_rows, size_of
from interfaces.terminal.parsing import ALIASES
from interfaces.terminal.screen import make_excerpt
from language.scripts import Language
from people import PEOPLE
from storage.jobs import Job
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import Terminal, chatting
from tests.support.program import connected, run
from tests.support.served import here
from tests.support.server import ScriptedServer, status


def spoke(terminal: Terminal, server: ScriptedServer, text: str, reply: str = "I see.") -> None:
    """One round."""
    before = terminal.text().count(reply)
    server.script(reply)
    terminal.say(text)
    terminal.see(reply, times=before + 1)
    terminal.prompt()


def saved(terminal: Terminal, server: ScriptedServer, summary: str) -> None:
    """``/save``."""
    before = terminal.text().count("is archived")
    server.script(summary, '{"notes": []}')
    terminal.say("/save")
    terminal.see("is archived", times=before + 1)
    terminal.prompt()


# -- help


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_shows_ten_commands_on_one_screen_those_of_the_card_first(chat: Chat, language: Language) -> None:
    terminal = chat(LANGUAGE=language)
    terminal.prompt()
    terminal.say("/help")
    terminal.see("/help all")
    terminal.prompt()
    rows = [row.rstrip() for row in terminal.screen.display]
    first = rows.index("> /help")
    names = [row.split()[0] for row in rows[first + 1 : first + 1 + len(DAILY)]]
    assert names == [f"/{name}" for name in DAILY]
    assert names[:3] == ["/save", "/reset", "/exit"]
    assert len(names) == 10
    assert rows[first + 11] == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_all_lists_every_command_and_no_other_name_of_one(chat: Chat, language: Language) -> None:
    terminal = chat(LANGUAGE=language, rows=80, columns=120)
    terminal.prompt()
    terminal.say("/help all")
    terminal.see("Ctrl-R")
    terminal.prompt()
    rows = terminal.text().split("> /help all")[1].splitlines()
    listed = [row.split()[0] for row in rows if row.startswith("/")]
    assert sorted(listed) == sorted(f"/{command.name}" for command in TABLE)
    assert listed[:3] == ["/save", "/reset", "/exit"]
    assert not {name.removeprefix("/") for name in listed} & set(ALIASES)


@pytest.mark.parametrize("spelling", [0, 1], ids=["old", "new"])
def test_a_folded_command_is_understood_in_both_spellings(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], spelling: int
) -> None:
    terminal = chat(rows=60, columns=120, **connected)
    terminal.prompt()
    spoke(terminal, server, "I like tea")
    saved(terminal, server, "Tea.")
    for old, new, shown in (
        ("/show 1", "/sessions show 1", "I like tea"),
        ("/show", "/sessions show", "Which session?"),
        ("/pin I like tea", "/persona pin I like tea", "no update changes it: The user likes tea"),
        ("/recall off", "/memory recall off", "Recall is off until /memory recall on."),
        ("/reindex", "/memory reindex", "The index is complete"),
        ("/summary", "/context summary", "This session has no summary yet"),
        ("/resume 1", "/sessions resume 1", "Back in"),
    ):
        typed = (old, new)[spelling]
        terminal.say(typed)
        terminal.wait(lambda: shown in terminal.text().rpartition(f"> {typed}")[2], f"{shown} after {typed}")  # noqa: B023
        terminal.prompt()


def test_completion_offers_the_folded_commands_where_they_are_now(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.send("/sho")
    terminal.wait(lambda: terminal.line().startswith("> /sho"), "what was typed")
    terminal.send("\t\x15/sessions ")
    terminal.see("resume")
    terminal.wait(lambda: "show" in terminal.text().split("> /sessions")[-1], "the subcommands")
    assert "/show" not in terminal.text()
    terminal.send("s")
    terminal.wait(lambda: "resume" not in "\n".join(terminal.screen.display), "the one that begins so")
    terminal.send("\t")
    terminal.wait(lambda: terminal.line().startswith("> /sessions show"), "the completed subcommand")


def test_every_command_stands_in_one_group_and_has_examples_of_its_own() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert set(DAILY) <= set(grouped)
    assert sorted(grouped) == sorted(command.name for command in TABLE)
    tables = [load_table(language) for language in LANGUAGES]
    for command in TABLE:
        english, chinese = (
            [line.split(" — ") for line in table[f"help.example.{command.name}"].splitlines()] for table in tables
        )
        assert [typed for typed, _ in english] == [typed for typed, _ in chinese]
        assert {typed.split()[0] for typed, _ in english} == {f"/{command.name}"}


def test_help_of_one_command_shows_examples(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.say("/help undo")
    terminal.see("/undo 3")
    terminal.see("takes back the last three exchanges")


# -- questions


def test_a_question_that_is_wider_than_the_window_ends_its_rows_between_words(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(columns=40, **connected)
    terminal.prompt()
    spoke(terminal, server, "My cat is called Soot.")
    terminal.say("/reset")
    terminal.see("Clear this session (1 exchange)? Older\nsessions and both personas stay. [y/N]")


def test_forget_shows_the_lines_of_personas_that_would_go_where_nothing_said_holds_the_words(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    spoke(terminal, server, "Good evening.")
    terminal.say("/pin Anna rides a unicycle.")
    terminal.see("Pinned in the user persona")
    terminal.prompt()
    terminal.say("/persona user restore")
    terminal.see("Which one? /persona self or /persona user")
    terminal.prompt()
    terminal.say("/forget unicycle")
    terminal.see("  Anna rides a unicycle.\n0 messages")
    terminal.see("Erase this from every file on disk?")


# -- models


def test_model_lists_what_the_server_offers_and_switches_at_once(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "env").write_text("# mine\nCHAT_MODEL=scripted-model\n")
    server.models = ["scripted-model", "an-embedding-model", "other-model"]
    del connected["CHAT_MODEL"]
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("/model")
    terminal.see("1  other-model")
    terminal.see("answers now")
    terminal.prompt()
    terminal.say("/model 1")
    terminal.see("From now on other-model answers")
    terminal.prompt()
    spoke(terminal, server, "hello")
    assert server.chats[-1]["model"] == "other-model"
    assert (tmp_path / "env").read_text() == "# mine\nCHAT_MODEL='other-model'\n"


def test_a_model_that_is_not_offered_is_refused_with_those_that_are(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.models = ["scripted-model", "other-model"]
    terminal = chat(columns=120, **connected)
    terminal.prompt()
    terminal.say("/model nonsense")
    terminal.see("There is no model nonsense here. Try")
    terminal.prompt()
    spoke(terminal, server, "hello")
    assert server.chats[-1]["model"] == "scripted-model"


# -- sessions


def test_sessions_are_numbered_and_titled_and_found_by_number(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(columns=110, rows=60, **connected)
    terminal.prompt()
    for name in ("tea", "bees"):
        spoke(terminal, server, f"let us talk of {name}")
        saved(terminal, server, f"## They spoke of {name}.\nMore.")
    spoke(terminal, server, "and now of rain")
    terminal.say("/sessions")
    terminal.see("· now")
    terminal.prompt()
    rows = terminal.text().split("> /sessions")[1].splitlines()
    assert rows[1].split()[0] == "2"
    assert rows[1].endswith("· 1 exchange · They spoke of tea.")
    assert rows[2].split()[0] == "1"
    assert rows[2].endswith("· 1 exchange · They spoke of bees.")
    assert rows[3].endswith("· 1 exchange · and now of rain · now")
    for typed, words in (("/show 2", "tea"), ("/show last", "bees"), ("/show 1", "bees")):
        before = terminal.text().count(f"> let us talk of {words}")
        terminal.say(typed)
        terminal.see(f"> let us talk of {words}", times=before + 1)
        terminal.prompt()
    terminal.say("/forget session 2")
    terminal.see("let us talk of tea", times=3)
    terminal.send_after("[y/N]", "n\r")


def test_a_session_in_which_only_the_person_spoke_reads_as_what_they_said(
    chat: Chat, tmp_path: Path, connected: dict[str, str]
) -> None:
    with here(tmp_path) as server:
        for said in ("My sister Ann lives in Lyon.", "She has a blue bicycle."):
            assert server.ask("POST", "/process", {"input": said, "user_id": "me"}).status == 200
        assert server.ask("POST", "/end-session", {"user_id": "me"}).status == 200
    terminal = chat(columns=110, rows=60, **connected)
    terminal.prompt()
    terminal.say("/sessions")
    terminal.see("· 2 messages · ")
    terminal.prompt()
    terminal.say("/show 1")
    terminal.see("> My sister Ann lives in Lyon.\n> She has a blue bicycle.\n")
    terminal.prompt()


def test_the_size_of_a_memory_does_not_count_the_memories_of_other_people(tmp_path: Path) -> None:
    others = tmp_path / PEOPLE / "somebody" / "own"
    others.mkdir(parents=True)
    (others / "memory.db").write_bytes(bytes(5_000))
    (tmp_path / "memory.db").write_bytes(bytes(700))
    assert (size_of(tmp_path), size_of(tmp_path, PEOPLE)) == ("5.7 KB", "700 B")


def test_an_export_in_an_unknown_format_is_refused_with_the_formats_there_are(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    terminal = chat(columns=120)
    terminal.prompt()
    for at, typed in enumerate(("/export all pdf", "/export pdf", "/export all notes.pdf"), 1):
        terminal.say(typed)
        terminal.see("is not a format. Use one of: md, json.", times=at)
        terminal.prompt()
    assert not list(tmp_path.glob("*.pdf"))
    assert not (tmp_path / "pdf").exists()
    terminal.say(f"/export all {tmp_path}/all.json")
    terminal.see("Wrote 1 session")
    assert (tmp_path / "all.json").read_text().startswith("{")


# -- taking back


def test_undo_shows_what_it_takes_back_and_redo_brings_it_back_word_for_word(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(rows=60, **connected)
    terminal.prompt()
    for text in ("I like tea", "I like bees"):
        spoke(terminal, server, text)
    terminal.say("/undo 2")
    terminal.see("Took back 2 exchanges.")
    terminal.see("  > I like tea")
    terminal.see("  > I like bees")
    terminal.prompt()
    terminal.say("/redo")
    terminal.see("Brought back 2 exchanges.")
    terminal.prompt()
    spoke(terminal, server, "what do I like")
    said = [each["content"] for each in server.chats[-1]["messages"] if each["role"] != "system"]
    assert said == ["I like tea", "I see.", "I like bees", "I see.", "what do I like"]


def test_redo_brings_nothing_back_once_something_new_was_said(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(rows=60, **connected)
    terminal.prompt()
    spoke(terminal, server, "I like tea")
    terminal.say("/undo")
    terminal.see("Took back 1 exchange.")
    terminal.prompt()
    spoke(terminal, server, "I like bees")
    terminal.say("/redo")
    terminal.see("There is nothing to bring back.")


# -- pins


def test_pin_lists_by_number_and_a_number_lets_go_and_is_never_pinned(chat: Chat, tmp_path: Path) -> None:
    terminal = chat(rows=60)
    terminal.prompt()
    for text in ("I am allergic to peanuts", "I live in Oslo"):
        terminal.say(f"/pin {text}")
        terminal.see("Pinned in the user persona; no update changes it: The user")
        terminal.prompt()
    terminal.say("/pin")
    terminal.see("  1  user persona · The user is allergic to peanuts")
    terminal.see("  2  user persona · The user lives in Oslo")
    terminal.prompt()
    terminal.say("/pin 2")
    terminal.see("No longer pinned: The user lives in Oslo")
    terminal.prompt()
    terminal.say("/pin 2")
    terminal.see("There is no pinned line 2.")
    terminal.prompt()
    terminal.send("/pin ")
    terminal.see("1      The user is allergic to peanuts")


# -- searching


def test_a_search_marks_the_words_and_shows_the_newest_first(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(rows=60, columns=100, **connected)
    terminal.prompt()
    long = "so much else " * 20
    spoke(terminal, server, f"{long} I sort rivets {long}")
    saved(terminal, server, "Work.")
    spoke(terminal, server, "a second talk of Rivets")
    saved(terminal, server, "Work again.")
    for typed in ("/memory rivets", "/memory search rivets"):
        before = len(terminal.text())
        terminal.say(typed)
        terminal.wait(lambda before=before: terminal.text()[before:].count(" · you") == 2, "two")
        terminal.prompt()
        shown = " ".join(terminal.text()[before:].split())
        assert shown.index("a second talk of Rivets") < shown.index("I sort rivets")
        assert "…" in shown
    assert b"\x1b[1mrivets" in terminal.raw


def test_what_nobody_ever_said_is_not_found(chat: Chat, server: ScriptedServer, connected: dict[str, str]) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    spoke(terminal, server, "I sort rivets")
    saved(terminal, server, "Work.")
    terminal.say("/memory search zeppelin")
    terminal.see("Nothing found for: zeppelin")
    terminal.prompt()
    assert "I sort rivets" not in terminal.text().split("zeppelin")[1]


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("The Rivets, the rivet.", ["rivet"], "The [Rivets], the [rivet]."),
        ("我在河边捡到一只小鸟", ["小鸟"], "我在河边捡到一只[小鸟]"),
        ("nothing here", ["zeppelin"], "nothing here"),
        ("a" * 50 + " needle " + "b" * 50, ["needle"], "…aaaaaaa [needle] bbbbbbb…"),
    ],
)
def test_an_excerpt_stands_around_its_words_and_brackets_them_on_a_plain_screen(
    text: str, words: list[str], shown: str
) -> None:
    assert "".join(part for part, _ in make_excerpt(text, words, 24, plain=True)) == shown


@pytest.mark.parametrize("language", ["en", "zh"])
def test_status_takes_ten_rows_and_all_of_it_when_asked(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path, language: Language
) -> None:
    say = Words(language).say
    terminal = chat(columns=120, rows=70, LANGUAGE=language, **connected)
    terminal.prompt()
    terminal.say("hello")
    terminal.see("You said: hello")
    terminal.prompt()
    terminal.say("/status")
    terminal.see(say("status.more"))
    terminal.prompt()
    rows = [row for row in terminal.text().split("> /status\n")[1].splitlines() if row.strip(" >")]
    assert len(rows) == 10
    assert rows[0].startswith(say("status.model"))
    assert "REQUEST_TIMEOUT" not in terminal.text()
    terminal.say("/status all")
    terminal.see("REQUEST_TIMEOUT")
    for name in ("key", "log", "version"):
        terminal.see(f"\n{say(f'status.{name}')} ")


@pytest.mark.parametrize("language", LANGUAGES)
def test_status_names_a_background_job_that_failed_and_why(
    server: ScriptedServer, tmp_path: Path, language: Language
) -> None:
    say, settings = Words(language).say, {**connected(server.base), "LANGUAGE": language, "GROUP_SIZE": "2"}
    server.script(*["I see.", "A summary.", '{"notes": []}'] * 2, *[status(401)] * 6)
    given = "I have a cat called Mimi\n/save\nShe eats a lot\n/save\n"
    assert run(tmp_path, "--batch", "-", given=given, **settings).code == 0
    terminal = next(opened := chatting(tmp_path, rows=60, columns=160, **settings))
    terminal.prompt()
    for asked in range(1, 60):
        terminal.say("/status")
        terminal.see(say("status.more"), times=asked)
        terminal.prompt()
        if say("job.chapters") in terminal.text():
            break
    assert say("model.unauthorized", base=server.base, key_hint="")[:30] in terminal.text()
    terminal.close()
    next(opened, None)


def test_status_names_the_http_status_of_a_job_that_failed() -> None:
    job = Job("chapters", "", "", 1, 2, 0.0, 'model.server_fault {"status": 503}')
    described = SimpleNamespace(base="http://here/v1", model="m")
    context: Any = SimpleNamespace(
        words=Words("en"),
        conversation=SimpleNamespace(llm=SimpleNamespace(described=described)),
        memory=SimpleNamespace(jobs=SimpleNamespace(failed=lambda: [job])),
    )
    ((_, row),) = _failed_job_rows(context)
    assert "http://here/v1 failed (503)" in row
