"""The editor line: prompt_toolkit with our keys, completion and history."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Attrs, Style

from domain.text import clean_text, make_inert
from interfaces.interrupting import Wishes
from interfaces.terminal.command_context import Choices
from interfaces.terminal.keys import (
    ListCompleter,
    MessageCompleter,
    PasteDetectingInput,
    Pasting,
    PromptHistory,
    make_bindings,
    select_all,
    teach_new_line_keys,
)
from interfaces.terminal.line_source import PROMPT
from interfaces.terminal.parsing import Typed, begun_path, block_of
from interfaces.terminal.screen import in_rows, is_gone
from interfaces.terminal.typeahead import Ahead, TypeAhead

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
class _PutBack:
    """Text to put at the prompt; ``selected``: typing replaces it."""

    text: str = ""
    selected: bool = False


@dataclass(frozen=True)
class Terminal:
    """The streams of a terminal, and whether it shows colours."""

    stdin: TextIO
    stdout: TextIO
    colour: bool


@dataclass(frozen=True)
class PromptHooks:
    """What the prompt asks of the chat: completions, a hint how to leave, the last message, a mark, and ``warm``."""

    choices: Choices
    hint: Callable[[], None]
    last_message: Callable[[], str]
    mark: Callable[[], str]
    warm: Callable[[], None]


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
        teach_new_line_keys()
        self.history = history
        self._ahead = ahead
        self._wishes = wishes
        self._pasting = Pasting()
        self._waiting: deque[Ahead] = deque()
        self._put_back = _PutBack()
        self._mark = hooks.mark
        self._warm: Callable[[], None] | None = hooks.warm
        self._input = PasteDetectingInput(terminal.stdin)
        self._output = _make_output(terminal.stdout, terminal.colour)
        show_hint = partial(_beside_the_prompt, hooks.hint)
        keys = make_bindings(history, self._pasting, time.monotonic, show_hint, hooks.last_message)
        self._session: PromptSession[str | None] = PromptSession(
            message=lambda: self._mark() + PROMPT,
            multiline=True,
            prompt_continuation=lambda width, row, soft: " " * width,
            history=history,
            completer=MessageCompleter(hooks.choices),
            complete_while_typing=Condition(self._is_completing),
            key_bindings=keys,
            enable_open_in_editor=True,
            enable_suspend=True,
            search_ignore_case=True,
            input_processors=[_Inert()],
            style=_STYLE,
            include_default_pygments_style=False,
            color_depth=ColorDepth.DEPTH_4_BIT if terminal.colour else ColorDepth.DEPTH_1_BIT,
            input=self._input,
            output=self._output,
        )
        self._session.default_buffer.on_text_changed += self._pasting.note_change
        self._session.app.after_render += self._leave_when_asked
        self._active: PromptSession[Any] = self._session
        wishes.when_leaving(self._end_prompt)

    def read_input(self, prefill: str = "", *, selected: bool = False) -> Typed | None:
        """The next message or command: lines that were typed ahead, in order, then what is put back."""
        self._put_text_back(_PutBack(prefill, selected))
        self._waiting += self._ahead.take_lines()
        if prefill or self._wishes.stop.is_set:
            self._offer_waiting()
        if self._waiting and self._waiting[0].entered:
            return self._send_ahead(self._waiting.popleft())
        if self._waiting:
            ahead = self._waiting.popleft()
            typed = self._prompt_for(ahead.text, selected=ahead.entered_earlier, pasted=ahead.pasted)
            return typed and replace(typed, kept=False)
        offered, self._put_back = self._put_back, _PutBack()
        return self._prompt_for(offered.text, selected=offered.selected)

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

    def _put_text_back(self, put_back: _PutBack) -> None:
        """Keep the text to put back; the one before it is still in the history."""
        if put_back.text:
            if self._put_back.text:
                self.history.remember_line(self._put_back.text)
            self._put_back = put_back

    def _prompt_for(self, offered: str, *, selected: bool = False, pasted: bool = False) -> Typed | None:
        warm, self._warm = self._warm, None

        def prepare() -> None:
            self._pasting.begin_prompt(pasted)
            if selected and offered:
                select_all(self._session.default_buffer)
            if warm:
                warm()

        text = _prompt_safely(lambda: self._session.prompt(default=offered, pre_run=prepare))
        self._ahead.mark_pastes()
        if text is None:
            return None
        return replace(_as_typed(text, pasted=self._pasting.block), kept=not self._pasting.cleared)

    def ask_question(
        self, question: str, *, hidden: bool = False, choices: Iterable[str] = (), default: str = ""
    ) -> str | None:
        """The answer to a question; None when it was broken off with Ctrl-C or Ctrl-D."""
        self._waiting += self._ahead.take_watched()
        self._offer_waiting()
        names = tuple(choices)
        session: PromptSession[str] = PromptSession(
            in_rows(make_inert(question), self._output.get_size().columns),
            is_password=hidden,
            completer=ListCompleter(names) if names else None,
            complete_while_typing=False,
            style=_STYLE,
            include_default_pygments_style=False,
            color_depth=ColorDepth.DEPTH_1_BIT,
            input=self._input,
            output=self._output,
        )
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

    def _end_prompt(self) -> None:
        """End the prompt, or the question, from a signal handler: drawing it again makes it look at the wish."""
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
        """The line as it is shown."""
        shown = [(part[0], _visible_text(part[1])) for part in transformation_input.fragments]
        return Transformation([(style, text) for style, text in shown])


def _visible_text(text: str) -> str:
    return text if make_inert(text) == text else "".join(make_inert(letter) or "\ufffd" for letter in text)


class _Colourless(Vt100_Output):
    """Moves the cursor and writes text, and sends no colour and no attribute at all."""

    def set_attributes(self, attrs: Attrs, color_depth: ColorDepth) -> None:
        """Nothing."""

    def reset_attributes(self) -> None:
        """Nothing."""


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


def _beside_the_prompt(work: Callable[[], None]) -> None:
    """Write something above the prompt."""
    run_in_terminal(work)
