"""Large pastes, and keys while the program is busy: the prompt answers all the same."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from interfaces.terminal.prompting import gather_keys
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import ROOT, Terminal, environment

MEGABYTE = 1_000_000


def keys(text: str) -> list[KeyPress]:
    """Plain keys, as a terminal without brackets sends them."""
    return [KeyPress(Keys.ControlM if letter == "\r" else letter, letter) for letter in text]


def told(pressed: list[KeyPress]) -> list[tuple[str, str]]:
    return [(str(getattr(key.key, "value", key.key)), key.data) for key in pressed]


def test_a_long_run_of_plain_keys_is_one_paste() -> None:
    text = "a line\rand another\ttabbed one that is long enough"
    assert told(gather_keys(keys(text))) == [("<bracketed-paste>", text)]


def test_enter_at_the_end_of_a_run_stays_a_key() -> None:
    assert told(gather_keys(keys("x" * 40 + "\r"))) == [("<bracketed-paste>", "x" * 40), ("c-m", "\r")]


def test_what_a_person_may_have_typed_stays_keys() -> None:
    pressed = [*keys("hello\r"), KeyPress(Keys.ControlC, "\x03"), *keys("again\r")]
    assert gather_keys(pressed) == pressed


def paste(terminal: Terminal, text: str) -> None:
    """Paste this at the prompt, and wait until its end is shown."""
    data = memoryview(text.encode())

    def write() -> None:
        at = 0
        while at < len(data):
            at += os.write(terminal.process.child_fd, data[at : at + 4096])

    writer = threading.Thread(target=write)
    writer.start()
    terminal.wait(lambda: "the end" in terminal.near_cursor(), "the end of the paste", 300)
    writer.join()


@pytest.mark.parametrize(
    ("text", "brackets"),
    [
        ("a line of some length\n" * (MEGABYTE // 22), True),
        ("word " * (MEGABYTE // 5), True),
        ("a line of some length\r" * (MEGABYTE // 88), False),
    ],
    ids=["lines", "one-line", "no-brackets"],
)
def test_a_large_paste_is_shown_and_one_key_clears_it(chat: Chat, text: str, brackets: bool) -> None:
    terminal = chat()
    terminal.prompt()
    opening, closing = ("\x1b[200~", "\x1b[201~") if brackets else ("", "")
    paste(terminal, f"{opening}{text}the end{closing}")
    terminal.send("\x03")
    terminal.prompt()


def test_no_key_is_held_while_the_libraries_load(tmp_path: Path) -> None:
    go, loaded, script = tmp_path / "go", tmp_path / "loaded", tmp_path / "begin.py"
    (tmp_path / "large_library.py").write_text(
        f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.01)\n"
        f"pathlib.Path({str(loaded)!r}).touch()\n"
    )
    script.write_text(
        "import sys\nfrom functools import partial\nimport main\nfrom interfaces.terminal import wiring\n"
        "wiring.make_warmer = partial(wiring.make_warmer, names=('large_library',))\nsys.exit(main.main())\n"
    )
    (tmp_path / "env").touch(0o600)
    where = ("--data-dir", str(tmp_path / "data"), "--env-file", str(tmp_path / "env"))
    chosen = environment(tmp_path, LOG_DIR=str(tmp_path / "logs"), PYTHONPATH=str(ROOT))
    with closing(Terminal([sys.executable, str(script), *where], chosen)) as terminal:
        terminal.prompt()
        for count in range(1, 30):
            terminal.send("x")
            terminal.wait(lambda count=count: "x" * count in terminal.line(), "the echo")
        assert not loaded.exists()
        go.touch()
        terminal.wait(loaded.exists, "the library")
        terminal.send("\x15\x04")
        assert terminal.ended() == 0
