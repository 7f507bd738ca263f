"""Files that a message names with ``@``."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import errors
from interfaces.terminal.parsing import MOST, begun_path, paths_for, with_files
from tests.interfaces.terminal.conftest import Chat
from tests.support.program import connected, run
from tests.support.server import ScriptedServer


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_file_goes_along_under_its_name(tmp_path: Path) -> None:
    Path("notes.txt").write_text("buy oars\n")
    attached = with_files("look at @notes.txt, please")
    assert attached.text == "look at notes.txt, please\n\n--- notes.txt ---\n```\nbuy oars\n```"
    assert attached.names == ("notes.txt",)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("(@notes.txt)", "notes.txt"),
        ("看看@notes.txt里写了什么", "notes.txt"),
        ("@notes.txt.", "notes.txt"),
        ("@notes.txt？", "notes.txt"),
        ("@笔记.md怎么样", "笔记.md"),
        ('@"my list.txt" is long', "my list.txt"),
        ("@sub/a.py", "sub/a.py"),
        ("@~/home.txt", "~/home.txt"),
    ],
)
def test_a_name_is_found_in_any_company(said: str, name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("sub").mkdir()
    for each in ("notes.txt", "笔记.md", "my list.txt", "sub/a.py", "home.txt"):
        Path(each).write_text("text")
    assert with_files(said).names == (name,)
    assert f"--- {name} ---" in with_files(said).text


@pytest.mark.parametrize(
    "said",
    ["write to ann@notes.txt", r"\@notes.txt", "@nobody", "@", "a @ b", "@@notes.txt", "@sub", "x/@notes.txt",
     "ann.b+c@notes.txt", '@""', "@dataclass(frozen=True)"],
)  # fmt: skip
def test_every_other_at_stays_as_it_was_typed(said: str) -> None:
    Path("notes.txt").write_text("secret")
    Path("sub").mkdir()
    attached = with_files(said)
    assert (attached.text, attached.names, attached.missing) == (said, (), ())


def test_a_name_that_can_only_be_a_file_s_is_told_when_there_is_none() -> None:
    attached = with_files("see @docs/plan.md and @nobody")
    assert (attached.text, attached.missing) == ("see @docs/plan.md and @nobody", ("docs/plan.md",))


def test_to_say_it_again_adds_nothing() -> None:
    Path("notes.txt").write_text("see @other.txt\n```\ncode\n```\n")
    Path("other.txt").write_text("other")
    once = with_files("@notes.txt").text
    assert once.startswith("notes.txt\n\n--- notes.txt ---\n````\n")
    assert with_files(once).text == once
    more = with_files("@other.txt " + once)
    assert more.names == ("other.txt",)
    assert more.text.endswith(once.partition("\n\n")[2])


@pytest.mark.parametrize(
    ("content", "key"),
    [(b"x" * (MOST + 1), "attach.too_large"), (b"\x89PNG\xff\x00", "attach.binary"), (b"a\0b", "attach.binary")],
)
def test_what_is_too_large_or_no_text_is_refused(content: bytes, key: str) -> None:
    Path("file").write_bytes(content)
    with pytest.raises(errors.UsageError) as refused:
        with_files("see @file")
    assert refused.value.key == key


def test_a_file_of_the_most_that_is_allowed_goes_along() -> None:
    Path("file").write_bytes(b"x" * MOST)
    assert with_files("@file").names == ("file",)


@given(st.text(max_size=60))
def test_a_text_that_names_no_file_is_never_changed(text: str) -> None:
    assert with_files(text).text == text


def test_names_behind_an_at_are_completed() -> None:
    Path("notes.txt").touch()
    Path("north pole").mkdir()
    Path(".hidden").touch()
    Path("north pole/bear.txt").touch()
    assert begun_path("look at @no") == "no"
    assert begun_path("mail ann@no") is None
    assert paths_for("no") == ['"north pole/', "notes.txt"]
    assert paths_for('"north pole/') == ['"north pole/bear.txt"']
    assert paths_for("") == ['"north pole/', "notes.txt"]
    assert paths_for(".h") == [".hidden"]
    assert paths_for("nowhere/") == []


def test_a_file_is_completed_sent_and_named_on_the_screen(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "harbour.txt").write_text("The ferry leaves at nine.\n")
    terminal = chat(columns=160, **connected)
    terminal.prompt()
    terminal.send(f"when? @{tmp_path}/harb")
    terminal.send_after("harb", "\t")
    terminal.wait(lambda: "harbour.txt" in terminal.near_cursor(), "the completed name")
    terminal.send("\r")
    terminal.see(f"with {tmp_path}/harbour.txt")
    terminal.prompt()
    sent = server.chats[-1]["messages"][-1]["content"]
    assert f"--- {tmp_path}/harbour.txt ---\n```\nThe ferry leaves at nine.\n```" in sent


def test_a_file_that_cannot_go_along_is_one_line_and_the_message_stands_there_again(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "big.txt").write_text("x" * (MOST + 1))
    terminal = chat(columns=160, **connected)
    terminal.prompt()
    terminal.say(f"see @{tmp_path}/big.txt")
    terminal.see("is larger than 200 kB. Nothing was sent")
    terminal.wait(lambda: terminal.line().startswith("> see @"), "the message at the prompt")
    assert server.chats == []


def test_p_takes_files_along_and_a_pipe_does_not(tmp_path: Path, server: ScriptedServer) -> None:
    (tmp_path / "a.txt").write_text("the ferry leaves at nine")
    run(tmp_path, "-p", "read @a.txt", **connected(server.base))
    run(tmp_path, "-p", "-", given="read @a.txt", **connected(server.base))
    run(tmp_path, "--batch", "-", given="read @a.txt\n", **connected(server.base))
    as_typed = [request["messages"][-1]["content"].endswith("read @a.txt") for request in server.chats]
    assert as_typed == [False, True, True]
