"""A pseudo-terminal with a screen behind it: what a person would see, and the bytes that made it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pexpect
import pyte

from tests.support.warm import InTerminal

Row = dict[int, pyte.screens.Char]
ROOT = Path(__file__).resolve().parents[3]
#: Seconds until a wait gives up: long, since a slow machine is no failure.
PATIENCE = float(os.environ.get("TERMINAL_TEST_PATIENCE", "120"))


class Terminal:
    """The program, running in a terminal of its own."""

    def __init__(self, command: list[str], environment: Mapping[str, str], rows: int = 24, columns: int = 80) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._drawn: list[str] | None = None
        self._above: dict[int, tuple[Row, str]] = {}
        self.process = InTerminal(
            command[0], command[1:], env=dict(environment), dimensions=(rows, columns), timeout=PATIENCE, encoding=None
        )
        self.process.delaybeforesend = None

    def send(self, keys: str | bytes) -> None:
        """Type."""
        self.process.send(keys if isinstance(keys, bytes) else keys.encode())

    def say(self, text: str) -> None:
        """Type a line and press Enter, once the line stands there."""
        self.send(text)
        self.send_after(text[-12:].rsplit("\n", maxsplit=1)[-1], "\r")

    def send_after(self, shown: str, keys: str) -> None:
        """Type once this is shown where the cursor is."""
        self.wait(lambda: shown.strip() in self.near_cursor(), f"{shown!r} at the cursor")
        self.send(keys)

    def see(self, text: str, *, times: int = 1) -> None:
        """Wait until this is on the screen or above it, this many times."""
        self.wait(lambda: self.text().count(text) >= times, f"{text!r} on the screen")

    def prompt(self) -> None:
        """Wait until an empty prompt stands."""
        self.wait(lambda: self.line().rstrip() in (">", "(incognito) >"), "an empty prompt")

    def wait(self, true: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        """Read until something is true."""
        until = time.monotonic() + seconds
        while not true():
            if time.monotonic() > until:
                raise AssertionError(f"never saw {what}; the screen:\n{self.text()}\n-- cursor line: {self.line()!r}")
            self.read(0.05)

    def read(self, seconds: float = 0.0) -> None:
        """Take in what the program wrote."""
        try:
            part = self.process.read_nonblocking(65536, timeout=seconds)
        except pexpect.TIMEOUT:
            return
        except pexpect.EOF:
            time.sleep(seconds)
            return
        self.raw += part
        self._stream.feed(part)
        self._drawn = None

    def ended(self) -> int:
        """Wait for the program to end; its exit code, negative for a signal."""
        self.wait(lambda: not self.process.isalive(), "the end")
        self.read()
        return -self.process.signalstatus if self.process.signalstatus else int(self.process.exitstatus or 0)

    def text(self) -> str:
        """The scrollback and the screen."""
        return "\n".join(line.rstrip() for line in [*self._scrolled(), *self._lines()])

    def line(self) -> str:
        """The line of the cursor."""
        return self._lines()[self.screen.cursor.y]

    def near_cursor(self) -> str:
        """The line of the cursor and those right above it."""
        y = self.screen.cursor.y
        return "\n".join(self._lines()[max(0, y - 6) : y + 1])

    def _lines(self) -> list[str]:
        """The screen. It is drawn once for all looks at it: ``screen.display`` is most of the work of a wait."""
        if self._drawn is None:
            self._drawn = [self._line(self.screen.buffer[y]) for y in range(self.screen.lines)]
        return self._drawn

    def _scrolled(self) -> Iterator[str]:
        """What went off the screen; such a row changes no more."""
        rows = {id(row): row for row in self.screen.history.top}
        known = self._above
        self._above = {name: known.get(name) or (row, self._line(row)) for name, row in rows.items()}
        return (line for _, line in self._above.values())

    def _line(self, row: Row) -> str:
        return "".join(cell.data if (cell := row.get(x)) else " " for x in range(self.screen.columns))

    def resize(self, rows: int, columns: int) -> None:
        """Change the window."""
        self.screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)
        self._drawn, self._above = None, {}

    def close(self) -> None:
        """End the program if it runs."""
        if self.process.isalive():
            self.process.kill(signal.SIGKILL)
            self.process.wait()
        self.process.close()


def environment(home: Path, **more: str) -> dict[str, str]:
    """A clean environment: nothing of the machine's own settings."""
    base = {
        "PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm-256color", "LANG": "en_US.UTF-8",
        "PYTHONUTF8": "1", "TZ": "UTC", "PYTHONWARNINGS": "ignore",
        "EMBEDDING_MODEL": "built-in",
    }  # fmt: skip
    return base | more


def chatting(home: Path, *arguments: str, rows: int = 24, columns: int = 80, **more: str) -> Iterator[Terminal]:
    """The chat, with its data under ``home``; ended when the test ends."""
    command = [sys.executable, str(ROOT / "main.py"), "--data-dir", str(home / "data"), *arguments]
    settings = {"LOG_DIR": str(home / "logs"), **more}
    terminal = Terminal(command, environment(home, **settings), rows, columns)
    try:
        yield terminal
    finally:
        terminal.close()
