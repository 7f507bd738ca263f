"""What a person types: plain lines, keys that are typed while a reply streams, and the history of the prompt.

Keys that are typed ahead are not echoed into the reply, and read as lines, in order, each with whether Enter ended it.
A paste stays one line, since the terminal is asked to mark pastes meanwhile. The terminal is kept quiet (no echo, no
line editing) from the first prompt to the end; the prompt puts its own mode on top of that and takes it off again.
Ctrl-C stays a signal throughout.

The history is kept across runs in a file that only its owner may read, one JSON string a line. A file that cannot be
written never stops the program: the history then lives as long as it does.
"""

from __future__ import annotations

import json
import os
import re
import select
import termios
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

from domain.files import replace_file
from domain.patterns import pattern_of
from domain.text import clean_text, is_blank
from interfaces.interrupting import Wishes
from interfaces.terminal.parsing import Typed, is_block_mark, opens_block
from interfaces.terminal.screen import Screen
from interfaces.terminal.work_runner import FirstWords

PROMPT = "> "
#: Seconds within which a second Ctrl-C at an empty prompt leaves.
TWICE_WITHIN = 2.0
#: Seconds between two looks at whether Ctrl-C was pressed.
_LOOK = 0.05
#: Shift-Enter and Ctrl-Enter as terminals send them: CSI-u and xterm's modifyOtherKeys.
NEW_LINE_SEQUENCES = ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~")
_NEW_LINE = pattern_of("|".join(map(re.escape, ("\x1b\r", *NEW_LINE_SEQUENCES))))
_PASTE = pattern_of(r"\x1b\[200~(.*?)(?:\x1b\[201~|\Z)", re.DOTALL)
#: Escape sequences of arrows and function keys; then a lone escape with its letter.
_SEQUENCES = pattern_of(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
#: Bytes that are kept at the most.
_MOST_TYPED = 1_000_000
_ERASE, _ERASE_WORD, _ERASE_LINE = "\x7f\x08", "\x17", "\x15"


class Reader(Protocol):
    """Reads what a person types; unless a method says otherwise, no one is there to type or to answer."""

    def read_input(self, prefill: str = "", *, selected: bool = False) -> Typed | None:
        """The next line, or lines. None: the person leaves.

        ``prefill`` is there to be edited, or ``selected``: sent as it is or replaced by what is typed.
        """
        return None

    def ask_question(
        self, question: str, *, hidden: bool = False, choices: Iterable[str] = (), default: str = ""
    ) -> str | None:
        """The answer to a question; None when it was broken off."""
        return None

    def watch_typing(self) -> None:
        """Take in what is typed while a reply streams, so that it is not echoed."""
        return

    def lend_terminal(self) -> AbstractContextManager[None]:
        """Give the terminal to another program, such as an editor, inside this block."""
        return nullcontext()


class NoReader(Reader):
    """No one is there."""


class PlainReader(Reader):
    """Lines of standard input, as the terminal or the pipe gives them; nothing is drawn.

    What the companion says first is a line of its own between two prompts.
    """

    def __init__(
        self,
        stdin: TextIO,
        screen: Screen,
        wishes: Wishes,
        hint: Callable[[], None],
        first_words: FirstWords | None = None,
    ) -> None:
        self._descriptor = stdin.fileno()
        self._screen = screen
        self._wishes = wishes
        self._hint = hint
        self._unread = b""
        self._ended = False
        self._interactive = stdin.isatty()
        self._first_words = first_words

    def read_input(self, prefill: str = "", *, selected: bool = False) -> Typed | None:
        """The next line, or block of lines. What is offered again is shown; an empty line sends it."""
        if prefill:
            self._screen.line(prefill, "quiet")
        self._wishes.begin()
        first_words, self._first_words = None if prefill else self._first_words, None
        hinted: float | None = None
        while True:
            if first_words and self._interactive:
                self._show_first_words(first_words)
            else:
                self._show_prompt(PROMPT)
            first_words, line = None, self._read_line()
            if line is not None and not is_block_mark(line):
                return Typed(line or prefill, kept=not line)
            if line is not None and (block := self._read_block()) is not None:
                return Typed(block, kept=False, block=True)
            twice = hinted is not None and time.monotonic() - hinted <= TWICE_WITHIN
            if self._ended or (twice and not self._unread):
                break
            self._screen.line()
            self._hint()
            hinted = time.monotonic()
        if self._interactive:
            self._screen.line()
        return None

    def ask_question(
        self, question: str, *, hidden: bool = False, choices: Iterable[str] = (), default: str = ""
    ) -> str | None:
        """The answer to a question; None when it was broken off."""
        self._show_prompt(question)
        with _no_echo(self._descriptor) if hidden and self._interactive else nullcontext():
            line = self._read_line()
        if line is None or hidden:
            self._screen.line()
        return None if line is None else line.strip() or default

    def _show_first_words(self, first_words: FirstWords) -> None:
        """Show the prompt, and what the companion says first on a line below it, unless anything is typed meanwhile."""
        self._show_prompt(PROMPT)
        first_words.begin(lambda: None)
        keys = [self._descriptor]
        while not (first_words.ended or select.select(keys, [], [], _LOOK)[0] or self._wishes.stop.is_set):
            pass
        if first_words.ended and not first_words.text:
            return
        with TypeAhead(self._descriptor):  # a line that is not entered yet is seen in this mode alone
            typed = bool(select.select(keys, [], [], 0)[0])
        if typed or self._wishes.stop.is_set:
            first_words.drop()
            return
        for line in ("", first_words.text, ""):
            self._screen.line(line)
        self._show_prompt(PROMPT)

    def _show_prompt(self, text: str) -> None:
        if self._interactive:
            self._screen.write_spans([(text, ("words",))])

    def _read_block(self) -> str | None:
        """The lines up to the mark that ends the block, or to the end of input; None when it was broken off."""
        lines: list[str] = []
        while True:
            self._show_prompt(" " * len(PROMPT))
            line = self._read_line()
            if line is None and (self._wishes.leaving or not self._ended):
                return None
            if line is None or is_block_mark(line):
                return "\n".join(lines)
            lines.append(line)

    def _read_line(self) -> str | None:
        """One line without its end; None at the end of input, or when Ctrl-C was pressed."""
        while b"\n" not in self._unread:
            if self._wishes.stop.is_set:
                self._ended = self._wishes.leaving
                self._wishes.begin()
                return None
            if not select.select([self._descriptor], [], [], _LOOK)[0]:
                continue
            part = os.read(self._descriptor, 65536)
            if not part:
                self._ended = True
                break
            self._unread += part
        if not self._unread and self._ended:
            return None
        line, _, self._unread = self._unread.partition(b"\n")
        return clean_text(line.decode("utf-8", "replace"))


@contextmanager
def _no_echo(descriptor: int) -> Iterator[None]:
    """No echo while a secret is typed."""
    before = termios.tcgetattr(descriptor)
    without_echo = [*before]
    without_echo[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, without_echo)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


# -- typed ahead


@dataclass(frozen=True)
class Ahead:
    """One line that was typed ahead.

    ``pasted``: it holds a block that was pasted. ``entered``: Enter ended it, so it may be sent. ``entered_earlier``:
    Enter ended it, but the person is to see it first.
    """

    text: str
    pasted: bool = False
    entered: bool = False
    entered_earlier: bool = False


class TypeAhead:
    """Keeps a terminal quiet and collects what is typed into it.

    >>> with TypeAhead(0) as ahead:
    ...     ahead.take_keys()
    ...     lines = ahead.take_lines()
    """

    def __init__(self, descriptor: int, terminal: TextIO | None = None) -> None:
        """``descriptor`` is read; the ``terminal``, where one is given, is asked to mark pastes."""
        self._descriptor = descriptor
        self._terminal = terminal
        self._before: termios._AttrReturn | None = None
        self._bytes = b""

    def __enter__(self) -> TypeAhead:
        self._before = termios.tcgetattr(self._descriptor)
        self._make_quiet()
        return self

    def __exit__(self, *fault: object) -> None:
        self._restore_terminal()

    @contextmanager
    def lend_terminal(self) -> Iterator[None]:
        """The terminal as it was before, for another program."""
        self._restore_terminal()
        try:
            yield
        finally:
            self._make_quiet()

    def mark_pastes(self, *, on: bool = True) -> None:
        """Ask the terminal to mark pastes; a line editor that ends takes this mode away."""
        if self._terminal is not None:
            with suppress(OSError):  # the terminal may be gone
                self._terminal.write("\x1b[?2004h" if on else "\x1b[?2004l")
                self._terminal.flush()

    def _make_quiet(self) -> None:
        quiet = termios.tcgetattr(self._descriptor)
        quiet[0] &= ~termios.ICRNL  # else Enter and Ctrl-J would look alike
        quiet[3] = (quiet[3] & ~(termios.ECHO | termios.ICANON)) | termios.ISIG | termios.NOFLSH
        quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, quiet)

    def _restore_terminal(self) -> None:
        self.mark_pastes(on=False)
        if self._before is not None:
            with suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def take_keys(self) -> None:
        """Take in what was typed since the last look; never waits.

        A program that was stopped with Ctrl-Z comes back to a terminal that echoes again; it is made quiet again.
        """
        if termios.tcgetattr(self._descriptor)[3] & termios.ECHO:
            self._make_quiet()
        while select.select([self._descriptor], [], [], 0)[0]:
            part = os.read(self._descriptor, 4096)
            if not part:
                return
            self._bytes = (self._bytes + part)[:_MOST_TYPED]

    def take_lines(self) -> list[Ahead]:
        """The lines that were typed up to the last look, once; keys that came since stay in the terminal."""
        typed, self._bytes = self._bytes, b""
        return lines_typed(typed.decode("utf-8", "replace"))


def lines_typed(typed: str) -> list[Ahead]:
    """The lines that these keys make: Enter ends one, erasing keys erase in it, keys that move do nothing.

    Enter inside a block that three quotation marks opened begins a new line of it, as at the prompt.

    >>> [(line.text, line.entered) for line in lines_typed("helo\\x7flo\\x1b[D\\r/sa")]
    [('hello', True), ('/sa', False)]
    """
    found: list[Ahead] = []
    kept, pasted = "", False
    for part in re.split(r"(\x1b\[200~.*?(?:\x1b\[201~|\Z)|\r)", _NEW_LINE.sub("\n", typed), flags=re.DOTALL):
        if part == "\r" and opens_block(kept) and not pasted:
            kept += "\n"
        elif part == "\r":
            found.append(Ahead(_finish_line(kept), pasted, entered=True))
            kept, pasted = "", False
        elif block := _PASTE.fullmatch(part):
            text = block[1].replace("\r\n", "\n").replace("\r", "\n")
            kept, pasted = kept + text, pasted or "\n" in text
        else:
            kept = _apply_keys(part, kept)
    found.append(Ahead(_finish_line(kept), pasted))
    return [line for line in found if not is_blank(line.text)]


def _apply_keys(typed: str, before: str) -> str:
    """The text after plain keys are typed behind the given one."""
    kept = list(before)
    for key in _SEQUENCES.sub("", typed):
        if key in _ERASE:
            del kept[-1:]
        elif key == _ERASE_WORD:
            kept = list(re.sub(r"\S*\s*$", "", "".join(kept)))
        elif key == _ERASE_LINE:
            kept = []
        else:
            kept.append(key)
    return "".join(kept)


def _finish_line(text: str) -> str:
    return clean_text(text).strip("\n")


# -- the file of the history


def scrub_history(path: Path, texts: Sequence[str]) -> None:
    """Take every entry that holds one of these texts out of a history file, in any case.

    Raises StorageError when the file cannot be replaced.
    """
    entries = read_history(path)
    kept = [entry for entry in entries if not any(contains_text(entry, text) for text in texts)]
    if len(kept) < len(entries):
        write_history(path, kept)


def contains_text(entry: str, text: str) -> bool:
    """Whether an entry says this, in any case."""
    return bool(text.strip()) and text.strip().casefold() in entry.casefold()


def read_history(path: Path) -> list[str]:
    """The entries, oldest first; what is damaged is left out."""
    entries: list[object] = []
    lines: list[str] = []
    with suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for line in lines:
        with suppress(ValueError):
            entries.append(json.loads(line))
    return [text for entry in entries if isinstance(entry, str) and (text := clean_text(entry))]


def write_history(path: Path, entries: Iterable[str]) -> None:
    """Put these entries in the place of the file. Raises StorageError."""
    lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    replace_file(path, lines.encode("utf-8"))
