"""The editor line: prompt_toolkit with our keys, completion and history.

A terminal may say nothing about pasting; what comes faster than anyone types is a paste then. Handled key by key it
would take minutes: prompt_toolkit looks at its bindings and redraws for every letter.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus, is_searching, shift_selection_mode
from prompt_toolkit.history import History
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.selection import SelectionState
from prompt_toolkit.styles import Attrs, Style

from domain.errors import StorageError
from domain.text import clean_text, make_inert
from interfaces.interrupting import Wishes
from interfaces.terminal.command_context import Choices
from interfaces.terminal.line_source import (
    NEW_LINE_SEQUENCES,
    PROMPT,
    TWICE_WITHIN,
    Ahead,
    TypeAhead,
    contains_text,
    read_history,
    scrub_history,
    write_history,
)
from interfaces.terminal.parsing import Typed, begun_path, block_of, opens_block, paths_for
from interfaces.terminal.screen import in_rows, is_gone
from interfaces.terminal.work_runner import FirstWords

#: As many plain keys in one go are a paste.
_RUN = 32
#: A reading of so many characters is likely to be followed by more at once; so many are gathered at the most.
_FULL, _MOST = 256, 1_000_000
#: Seconds that the next part of a paste may take.
_PAUSE = 0.02
#: How many entries of the history are kept when its file is next opened.
_KEPT = 5_000
_ENTER = Keys.ControlM
_ALSO_PLAIN = (_ENTER, Keys.ControlJ, Keys.ControlI)
_STYLE = Style.from_dict(
    {
        "completion-menu": "bg:default noreverse",
        "completion-menu.completion": "bg:default fg:default",
        "completion-menu.completion.current": "bg:default fg:default reverse",
        "completion-menu.meta.completion": "bg:default fg:default",
        "completion-menu.meta.completion.current": "bg:default fg:default reverse",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "bg:default reverse",
    }
)


@dataclass(frozen=True)
class Terminal:
    """The streams of a terminal, and whether it shows colours."""

    stdin: TextIO
    stdout: TextIO
    colour: bool


@dataclass(frozen=True)
class PromptHooks:
    """What the prompt asks of the chat: completions, a hint how to leave, the last message, a mark, and ``warm``.

    ``first_words`` is what the companion says first, above the first prompt.
    """

    choices: Choices
    hint: Callable[[], None]
    last_message: Callable[[], str]
    mark: Callable[[], str]
    warm: Callable[[], None]
    first_words: FirstWords


class EditorLine:
    """Reads with a line editor. ``warm`` is called once, when the first prompt is drawn.

    A Ctrl-C or a signal to leave that arrives just before a prompt is drawn counts as one at the prompt.

    A line that was typed and entered while something was under way is sent when that has ended, as if typed at the
    prompt. It is offered at the prompt instead where the person should see it first: when the work was interrupted or
    failed, or when a question was asked in between.
    """

    def __init__(
        self, terminal: Terminal, history: PromptHistory, ahead: TypeAhead, wishes: Wishes, hooks: PromptHooks
    ) -> None:
        # Shift-Enter means what Alt-Enter means, in the one table that prompt_toolkit has for a process.
        ANSI_SEQUENCES.update(dict.fromkeys(NEW_LINE_SEQUENCES, (Keys.Escape, Keys.ControlM)))
        self.history = history
        self._ahead = ahead
        self._wishes = wishes
        self._pasting = _Pasting()
        self._waiting: deque[Ahead] = deque()
        #: Text to put at the prompt, and whether typing replaces it.
        self._put_back = ("", False)
        self._mark = hooks.mark
        self._warm: Callable[[], None] | None = hooks.warm
        self._first_words = hooks.first_words
        self._input = _PasteDetectingInput(terminal.stdin)
        self._output = _make_output(terminal.stdout, terminal.colour)
        keys = _make_bindings(history, self._pasting, partial(run_in_terminal, hooks.hint), hooks.last_message)
        self._session: PromptSession[str | None] = PromptSession(
            message=lambda: self._format_first_words() + self._mark() + PROMPT, multiline=True,
            prompt_continuation=lambda width, row, soft: " " * width,
            history=history, key_bindings=keys, input=self._input, output=self._output,
            completer=_MessageCompleter(hooks.choices), complete_while_typing=Condition(self._is_completing),
            enable_open_in_editor=True, enable_suspend=True, search_ignore_case=True, input_processors=[_Inert()],
            style=_STYLE, include_default_pygments_style=False,
            color_depth=ColorDepth.DEPTH_4_BIT if terminal.colour else ColorDepth.DEPTH_1_BIT,
        )  # fmt: skip
        self._session.default_buffer.on_text_changed += self._pasting.note_change
        self._session.default_buffer.on_text_changed += lambda _: self._first_words.end()
        self._session.app.after_render += self._leave_when_asked
        self._active: PromptSession[Any] = self._session
        wishes.when_leaving(self._redraw)

    def read_input(self, prefill: str = "", *, selected: bool = False) -> Typed | None:
        """The next message or command: lines that were typed ahead, in order, then what is put back."""
        if prefill:
            if self._put_back[0]:
                self.history.remember_line(self._put_back[0])
            self._put_back = (prefill, selected)
        self._ahead.take_keys()
        self._waiting += self._ahead.take_lines()
        if prefill or self._wishes.stop.is_set:
            self._offer_waiting()
        if self._waiting and self._waiting[0].entered:
            return self._send_ahead(self._waiting.popleft())
        if self._waiting:
            ahead = self._waiting.popleft()
            typed = self._prompt_for(ahead.text, selected=ahead.entered_earlier, pasted=ahead.pasted)
            return typed and replace(typed, kept=False)
        (offered, selected), self._put_back = self._put_back, ("", False)
        return self._prompt_for(offered, selected=selected)

    def _offer_waiting(self) -> None:
        """Offer every waiting line at a prompt of its own; one that is replaced there is in the history."""
        for ahead in self._waiting:
            if ahead.entered:
                self.history.remember_line(ahead.text)
        self._waiting = deque(
            replace(ahead, entered=False, entered_earlier=ahead.entered_earlier or ahead.entered)
            for ahead in self._waiting
        )

    def _send_ahead(self, ahead: Ahead) -> Typed:
        """A line that was typed ahead, shown and remembered as if it had been typed at the prompt."""
        rows = _visible_text(ahead.text).split("\n")
        self._output.write(self._mark() + PROMPT + ("\n" + " " * len(PROMPT)).join(rows) + "\n")
        self._output.flush()
        self.history.append_string(ahead.text)
        return replace(_as_typed(ahead.text, pasted=ahead.pasted), kept=False)

    def _prompt_for(self, offered: str, *, selected: bool = False, pasted: bool = False) -> Typed | None:
        warm, self._warm = self._warm, None

        def prepare() -> None:
            self._pasting.begin(pasted)
            if selected and offered:
                _select_all(self._session.default_buffer)
            if warm:
                warm()
                if not offered:
                    self._first_words.begin(self._redraw)

        text = _prompt_safely(lambda: self._session.prompt(default=offered, pre_run=prepare))
        self._first_words.entered()
        self._ahead.mark_pastes()
        if text is None:
            return None
        return replace(_as_typed(text, pasted=self._pasting.block), kept=not self._pasting.cleared)

    def ask_question(
        self, question: str, *, hidden: bool = False, choices: Iterable[str] = (), default: str = ""
    ) -> str | None:
        """The answer to a question; None when it was broken off with Ctrl-C or Ctrl-D."""
        self._waiting += self._ahead.take_lines()
        self._offer_waiting()
        names = tuple(choices)
        session: PromptSession[str] = PromptSession(
            in_rows(make_inert(question), self._output.get_size().columns), is_password=hidden,
            completer=_ListCompleter(names) if names else None, complete_while_typing=False,
            style=_STYLE, include_default_pygments_style=False, color_depth=ColorDepth.DEPTH_1_BIT,
            input=self._input, output=self._output,
        )  # fmt: skip
        session.app.after_render += self._break_off_when_asked
        self._active = session
        try:
            answer = _prompt_safely(session.prompt)
        finally:
            self._active = self._session
            self._ahead.mark_pastes()
        return None if answer is None else clean_text(answer).strip() or default

    def watch_typing(self) -> None:
        """Take in what is typed while a reply streams."""
        self._ahead.take_keys()

    def lend_terminal(self) -> AbstractContextManager[None]:
        """Give the terminal to another program inside this block."""
        return self._ahead.lend_terminal()

    def _format_first_words(self) -> str:
        """What the companion said first, in rows above the prompt."""
        text = self._first_words.text
        return in_rows(make_inert(text), self._output.get_size().columns) + "\n\n" if text else ""

    def _redraw(self) -> None:
        """Draw the prompt, or the question, again, from any thread or a signal handler: it looks at wishes then."""
        app = self._active.app
        if app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(app.invalidate)

    def _leave_when_asked(self, app: Application[Any]) -> None:
        if self._wishes.leaving and not app.is_done:
            app.exit(result=None)

    def _break_off_when_asked(self, app: Application[Any]) -> None:
        if self._wishes.stop.is_set and not app.is_done:
            app.exit(exception=KeyboardInterrupt)

    def _is_completing(self) -> bool:
        """Whether a command or the name of a file is being typed."""
        document = self._session.default_buffer.document
        if self._pasting.block:
            return False
        return document.text.startswith("/") or begun_path(document.current_line_before_cursor) is not None


def _as_typed(text: str, *, pasted: bool) -> Typed:
    """A text that was entered; between two lines of three quotation marks it is a block."""
    block = block_of(clean_text(text))
    return Typed(clean_text(text) if block is None else block, pasted, block=block is not None)


def _prompt_safely(prompt: Callable[[], str | None]) -> str | None:
    """What was entered; None when that was broken off, or when the terminal is gone."""
    try:
        return prompt()
    except (EOFError, KeyboardInterrupt):
        return None
    except OSError as fault:
        if is_gone(fault):
            return None
        raise


class _Inert(Processor):
    """Shows what would steer the terminal as U+FFFD, one for one, while it is edited."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        shown = [(part[0], _visible_text(part[1])) for part in transformation_input.fragments]
        return Transformation([(style, text) for style, text in shown])


def _visible_text(text: str) -> str:
    return text if make_inert(text) == text else "".join(make_inert(letter) or "\ufffd" for letter in text)


class _Colourless(Vt100_Output):
    """Moves the cursor and writes text, and sends no colour and no attribute at all."""

    def set_attributes(self, attrs: Attrs, color_depth: ColorDepth) -> None:
        pass

    def reset_attributes(self) -> None:
        pass


def _make_output(stdout: TextIO, colour: bool) -> Vt100_Output:
    """No bell, and no questions about where the cursor is: their answers could end up in the text."""

    def size() -> Size:
        try:
            columns, rows = os.get_terminal_size(stdout.fileno())
        except OSError:
            columns, rows = 0, 0
        return Size(rows=rows or 24, columns=columns or 80)

    kind = Vt100_Output if colour else _Colourless
    return kind(stdout, size, term=os.environ.get("TERM"), enable_bell=False, enable_cpr=False)


# -- keys


class _Pasting:
    """What happened to the text at the prompt: a block was pasted into it, or opened by hand, or it was cleared."""

    def __init__(self) -> None:
        self.begin(block=False)

    def begin(self, block: bool) -> None:
        """A new prompt is drawn; ``block``: with pasted text in it."""
        self.block, self.opened, self.cleared = block, False, False

    def note_paste(self, text: str) -> None:
        self.block = self.block or "\n" in text

    def note_change(self, buffer: Buffer) -> None:
        """An emptied prompt has nothing pasted in it."""
        if not buffer.text:
            self.block, self.opened, self.cleared = False, False, True


_at_prompt = has_focus("DEFAULT_BUFFER")
_typing = _at_prompt & ~is_searching
_selecting = _at_prompt & shift_selection_mode
_is_empty = Condition(lambda: not get_app().current_buffer.text)


def _make_bindings(
    history: PromptHistory, pasting: _Pasting, hint: Callable[[], object], last_message: Callable[[], str]
) -> KeyBindings:
    """The keys of the prompt. ``hint`` says how to leave; ``last_message`` is what Esc Esc brings back."""
    keys = KeyBindings()
    _add_enter(keys, pasting)
    _add_leaving(keys, history, hint)

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        text = clean_text(event.data)
        if event.current_buffer.selection_state:
            event.current_buffer.cut_selection()
        pasting.note_paste(text)
        event.current_buffer.insert_text(text)

    @keys.add("escape", "escape", filter=_typing)
    def bring_back(event: KeyPressEvent) -> None:
        text = last_message()
        if text:
            if event.current_buffer.text:
                history.remember_line(clean_text(event.current_buffer.text))
            event.current_buffer.text = text
            event.current_buffer.cursor_position = len(text)

    @keys.add("delete", filter=_selecting)
    @keys.add("c-w", filter=_selecting)
    @keys.add("c-u", filter=_selecting)
    def erase(event: KeyPressEvent) -> None:
        event.current_buffer.cut_selection()

    @keys.add("c-e", filter=_selecting)
    def let_go(event: KeyPressEvent) -> None:
        event.current_buffer.exit_selection()

    return keys


def _add_enter(keys: KeyBindings, pasting: _Pasting) -> None:
    @keys.add("enter", filter=_typing)
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.exit_selection()
        if opens_block(buffer.text) and (pasting.opened or not pasting.block):
            pasting.opened = True
            buffer.insert_text("\n")
        elif _more_is_coming(event):
            pasting.note_paste("\n")
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("c-j", filter=_typing)
    @keys.add("escape", "enter", filter=_typing)
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.exit_selection()
        event.current_buffer.insert_text("\n")


def _more_is_coming(event: KeyPressEvent) -> bool:
    """Whether more keys are there already: no one types that fast, so it is a paste without brackets."""
    if any(key.key not in (Keys.CPRResponse, Keys.SIGINT) for key in event.app.key_processor.input_queue):
        return True
    try:
        return bool(select.select([event.app.input.fileno()], [], [], 0)[0])
    except (OSError, ValueError, NotImplementedError):
        return False


def _add_leaving(keys: KeyBindings, history: PromptHistory, hint: Callable[[], object]) -> None:
    pressed: list[float] = []

    @keys.add("c-c", filter=_typing)
    @keys.add("<sigint>", filter=_typing)
    def interrupt(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text:
            history.remember_line(clean_text(buffer.text))
            buffer.text = ""
            buffer.reset()
            pressed.clear()
        elif pressed and time.monotonic() - pressed[-1] <= TWICE_WITHIN:
            event.app.exit(result=None)
        else:
            pressed.append(time.monotonic())
            hint()

    @keys.add("c-d", filter=_at_prompt & _is_empty)
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(result=None)


def _select_all(buffer: Buffer) -> None:
    """Select the text, so that typing replaces it; whatever moves the cursor lets go of it."""

    def let_go(moved: Buffer) -> None:
        buffer.on_cursor_position_changed -= let_go
        moved.exit_selection()

    buffer.cursor_position = len(buffer.text)
    buffer.selection_state = SelectionState(0)
    buffer.selection_state.enter_shift_mode()
    buffer.on_cursor_position_changed += let_go


class _PasteDetectingInput(Vt100Input):
    """A terminal's input, in which a long run of plain keys is one paste."""

    def read_keys(self) -> list[KeyPress]:
        parts = [self.stdin_reader.read()]
        while len(parts[-1]) >= _FULL and sum(map(len, parts)) < _MOST:
            if not select.select([self.fileno()], [], [], _PAUSE)[0]:
                break
            parts.append(self.stdin_reader.read())
        self.vt100_parser.feed("".join(parts))
        keys, self._buffer = self._buffer, []
        return gather_keys(keys)


def gather_keys(keys: list[KeyPress]) -> list[KeyPress]:
    """The keys, with every long run of plain ones as one paste. Enter at the end of a run stays a key.

    >>> [key.key.value for key in gather_keys([KeyPress("a")] * 40 + [KeyPress(Keys.ControlM, "\\r")])]
    ['<bracketed-paste>', 'c-m']
    """

    def is_plain(key: KeyPress) -> bool:
        return not isinstance(key.key, Keys) or key.key in _ALSO_PLAIN

    found: list[KeyPress] = []
    for plain, group in groupby(keys, is_plain):
        run = list(group)
        last = len(run)
        while last and run[last - 1].key == _ENTER:
            last -= 1
        if plain and last >= _RUN:
            found.append(KeyPress(Keys.BracketedPaste, "".join(key.data for key in run[:last])))
            run = run[last:]
        found += run
    return found


# -- history and completion


class PromptHistory(History):
    """Up, Down and Ctrl-R go through it. ``writing``: whether anything may be written now."""

    def __init__(self, path: Path, writing: Callable[[], bool] = lambda: True) -> None:
        super().__init__()
        self._path = path
        self._writing = writing
        self._remembering = False

    def load_history_strings(self) -> Iterable[str]:
        """What the file holds, newest first; one that has grown long is shortened."""
        entries = read_history(self._path)
        if len(entries) > 2 * _KEPT:
            entries = entries[-_KEPT:]
            with suppress(StorageError):
                write_history(self._path, entries)
        return reversed(entries)

    def store_string(self, string: str) -> None:
        """Add an entry to the file, if that can be written."""
        if self._remembering or not self._writing():
            return
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(json.dumps(clean_text(string), ensure_ascii=False) + "\n")

    def remember_line(self, text: str) -> None:
        """Bring a line back with Up as long as the program runs, without writing it down."""
        self._remembering = True
        try:
            self.append_string(text)
        finally:
            self._remembering = False

    def forget_text(self, text: str) -> None:
        """Take every entry that holds this text out of the file and out of memory."""
        scrub_history(self._path, [text])
        self._loaded_strings = [entry for entry in self._loaded_strings if not contains_text(entry, text)]


class _MessageCompleter(Completer):
    """Completes the first line of what looks like a command, and in a message the name of a file behind ``@``."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        if not before.startswith("/") or "\n" in document.text:
            begun = begun_path(document.current_line_before_cursor)
            if begun is not None:
                yield from (Completion(path, -len(begun)) for path in paths_for(begun))
            return
        *words, part = before.split(" ")
        if words[:1] == ["/import"]:
            yield from (Completion(path, -len(part)) for path in paths_for(part))
        for choice in self._choices(tuple(word for word in words if word)):
            if choice.text.lower().startswith(part.lower()):
                yield Completion(choice.text, -len(part), display_meta=make_inert(choice.help))


class _ListCompleter(Completer):
    """Completes names that hold what was typed, those that begin with it first, for questions."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        part = document.text_before_cursor.lower()
        found = [name for name in self._names if part in name.lower()]
        for name in sorted(found, key=lambda name: not name.lower().startswith(part)):
            yield Completion(name, -len(document.text_before_cursor))
