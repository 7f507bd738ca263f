"""Large pastes, and keys while the program is busy: the prompt answers all the same."""

from __future__ import annotations

import os
import threading
import time

import pytest
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from interfaces.terminal.keys import gathered
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import Terminal

MEGABYTE = 1_000_000


def keys(text: str) -> list[KeyPress]:
    """Plain keys, as a terminal without brackets sends them."""
    return [KeyPress(Keys.ControlM if letter == "\r" else letter, letter) for letter in text]


def told(pressed: list[KeyPress]) -> list[tuple[str, str]]:
    return [(str(getattr(key.key, "value", key.key)), key.data) for key in pressed]


def test_a_long_run_of_plain_keys_is_one_paste() -> None:
    text = "a line\rand another\ttabbed one that is long enough"
    assert told(gathered(keys(text))) == [("<bracketed-paste>", text)]


def test_enter_at_the_end_of_a_run_stays_a_key() -> None:
    assert told(gathered(keys("x" * 40 + "\r"))) == [("<bracketed-paste>", "x" * 40), ("c-m", "\r")]


def test_what_a_person_may_have_typed_stays_keys() -> None:
    pressed = [*keys("hello\r"), KeyPress(Keys.ControlC, "\x03"), *keys("again\r")]
    assert gathered(pressed) == pressed


def paste(terminal: Terminal, text: str) -> float:
    """Paste this at the prompt; seconds until its end is shown."""
    began = time.monotonic()
    data = memoryview(text.encode())

    def write() -> None:
        at = 0
        while at < len(data):
            at += os.write(terminal.process.child_fd, data[at : at + 4096])

    writer = threading.Thread(target=write)
    writer.start()
    terminal.wait(lambda: "the end" in terminal.near_cursor(), "the end of the paste", 300)
    writer.join()
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("text", "brackets"),
    [
        ("a line of some length\n" * (MEGABYTE // 22), True),
        ("word " * (MEGABYTE // 5), True),
        ("a line of some length\r" * (MEGABYTE // 88), False),
    ],
    ids=["lines", "one-line", "no-brackets"],
)
def test_a_large_paste_takes_seconds_and_one_key_clears_it(chat: Chat, text: str, brackets: bool) -> None:
    terminal = chat()
    terminal.prompt()
    opening, closing = ("\x1b[200~", "\x1b[201~") if brackets else ("", "")
    assert paste(terminal, f"{opening}{text}the end{closing}") < 120
    terminal.send("\x03")
    terminal.prompt()


def slowest_key(terminal: Terminal, seconds: float) -> float:
    """The longest time from a key to its echo, of keys typed one after the other for so long."""
    slowest, until = 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        before, sent = len(terminal.raw), time.monotonic()
        terminal.send("x")
        terminal.wait(lambda before=before: len(terminal.raw) > before, "the echo")
        slowest = max(slowest, time.monotonic() - sent)
        time.sleep(0.01)
    return slowest


def test_no_key_is_held_while_the_libraries_load(chat: Chat) -> None:
    """Told against keys at rest on the same machine; three runs, since another program may hold one of them."""
    for _ in range(3):
        terminal = chat()
        terminal.prompt()
        loading = slowest_key(terminal, 2.5)
        resting = slowest_key(terminal, 1.0)
        terminal.send("\x15\x04")
        terminal.ended()
        if loading < 0.2 + 3 * resting:
            return
    pytest.fail(f"a key was held for {loading:.2f} s; at rest {resting:.2f} s")
