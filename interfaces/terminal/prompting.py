"""The editor line: prompt_toolkit with our keys, completion and history."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Attrs, Style

from domain.text import clean, inert
from interfaces.interrupting import Wishes
from interfaces.terminal.attaching import begun_path
from interfaces.terminal.command_context import Choices
from interfaces.terminal.keys import PasteHearingInput, Pasting, bindings, select_all, teach_new_line_keys
from interfaces.terminal.line_source import PROMPT
from interfaces.terminal.markdown.flow import in_rows
from interfaces.terminal.parsing import Typed, block_of
from interfaces.terminal.prompt_sources import ListCompleter, MessageCompleter, PromptHistory
from interfaces.terminal.screen import is_gone
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
    """Text that is to stand at the prompt; ``selected``: typing replaces it."""

    text: str = ""
    selected: bool = False


class EditorLine:
    """Reads with a line editor. ``warm`` is called once, in the moment in which the first prompt stands.

    A Ctrl-C or a signal to leave that comes just before a prompt stands counts as one that comes while it stands.

    A line that was typed and entered while something was under way is sent when that has ended, as if typed at the
    prompt. It is offered at the prompt instead where the person should see it first: when the work was interrupted or
    failed, or when a question was asked in between.
    """

    def __init__(
        self,
        stdin: TextIO,
        stdout: TextIO,
        history: PromptHistory,
        ahead: TypeAhead,
        wishes: Wishes,
        *,
        colour: bool,
        choices: Choices,
        hint: Callable[[], None],
        last_message: Callable[[], str],
        mark: Callable[[], str],
        warm: Callable[[], None],
    ) -> None:
        teach_new_line_keys()
        self.history = history
        self._ahead = ahead
        self._wishes = wishes
        self._pasting = Pasting()
        self._waiting: deque[Ahead] = deque()
        self._held = _PutBack()
        self._mark = mark
        self._warm: Callable[[], None] | None = warm
        self._input = PasteHearingInput(stdin)
        self._output = _output(stdout, colour)
        keys = bindings(
            history, self._pasting, time.monotonic, lambda: _beside_the_prompt(hint), last_message
        )
        self._session: PromptSession[str | None] = PromptSession(
            message=lambda: self._mark() + PROMPT,
            multiline=True,
            prompt_continuation=lambda width, row, soft: " " * width,
            history=history,
            completer=MessageCompleter(choices),
            complete_while_typing=Condition(self._completes),
            key_bindings=keys,
            enable_open_in_editor=True,
            enable_suspend=True,
            search_ignore_case=True,
            input_processors=[_Inert()],
            style=_STYLE,
            include_default_pygments_style=False,
            color_depth=ColorDepth.DEPTH_4_BIT if colour else ColorDepth.DEPTH_1_BIT,
            input=self._input,
            output=self._output,
        )
        self._session.default_buffer.on_text_changed += self._pasting.changed
        self._session.app.after_render += self._leave_when_asked
        self._standing: PromptSession[Any] = self._session
        wishes.when_leaving(self._leave)

    def read(self, prefill: str = "", *, selected: bool = False) -> Typed | None:
        """The next message or command: lines that were typed ahead, in order, then what is put back."""
        self._hold(_PutBack(prefill, selected))
        self._waiting += self._ahead.take()
        if prefill or self._wishes.stop.is_set:
            self._send_nothing_unseen()
        if self._waiting and self._waiting[0].entered:
            return self._sent(self._waiting.popleft())
        if self._waiting:
            ahead = self._waiting.popleft()
            typed = self._prompted(ahead.text, selected=ahead.held, pasted=ahead.pasted)
            return typed and replace(typed, kept=False)
        held, self._held = self._held, _PutBack()
        return self._prompted(held.text, selected=held.selected)

    def _send_nothing_unseen(self) -> None:
        """Let every line that waits stand at a prompt of its own; one that is replaced there is in the history."""
        for ahead in self._waiting:
            if ahead.entered:
                self.history.remember(ahead.text)
        self._waiting = deque(
            replace(ahead, entered=False, held=ahead.held or ahead.entered) for ahead in self._waiting
        )

    def _sent(self, ahead: Ahead) -> Typed:
        """A line that was typed ahead, shown and remembered as if it had been typed at the prompt."""
        rows = _visible(ahead.text).split("\n")
        self._output.write(self._mark() + PROMPT + ("\n" + " " * len(PROMPT)).join(rows) + "\n")
        self._output.flush()
        self.history.append_string(ahead.text)
        return replace(_as_typed(ahead.text, pasted=ahead.pasted), kept=False)

    def _hold(self, put_back: _PutBack) -> None:
        """Keep what is put back; what waited before it can still be had from the history."""
        if put_back.text:
            if self._held.text:
                self.history.remember(self._held.text)
            self._held = put_back

    def _prompted(self, offered: str, *, selected: bool = False, pasted: bool = False) -> Typed | None:
        warm, self._warm = self._warm, None

        def prepare() -> None:
            self._pasting.begin(pasted)
            if selected and offered:
                select_all(self._session.default_buffer)
            if warm:
                warm()

        text = _of_a_terminal(lambda: self._session.prompt(default=offered, pre_run=prepare))
        self._ahead.mark_pastes()
        if text is None:
            return None
        return replace(_as_typed(text, pasted=self._pasting.block), kept=not self._pasting.cleared)

    def ask(
        self, question: str, *, hidden: bool = False, choices: Iterable[str] = (), default: str = ""
    ) -> str | None:
        """The answer to a question; None when it was broken off with Ctrl-C or Ctrl-D."""
        self._waiting += self._ahead.take_watched()
        self._send_nothing_unseen()
        names = tuple(choices)
        session: PromptSession[str] = PromptSession(
            in_rows(inert(question), self._output.get_size().columns),
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
        self._standing = session
        try:
            answer = _of_a_terminal(session.prompt)
        finally:
            self._standing = self._session
            self._ahead.mark_pastes()
        return None if answer is None else clean(answer).strip() or default

    def watch(self) -> None:
        """Take in what is typed while a reply streams."""
        self._ahead.watch()

    def lent(self) -> AbstractContextManager[None]:
        """The terminal is another program's inside of this."""
        return self._ahead.lent()

    def _leave(self) -> None:
        """End the prompt, or the question, from a signal handler: drawing it again makes it look at the wish."""
        app = self._standing.app
        if app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(app.invalidate)

    def _leave_when_asked(self, app: Application[Any]) -> None:
        if self._wishes.leaving and not app.is_done:
            app.exit(result=None)

    def _break_off_when_asked(self, app: Application[Any]) -> None:
        if self._wishes.stop.is_set and not app.is_done:
            app.exit(exception=KeyboardInterrupt)

    def _completes(self) -> bool:
        """Whether a command or the name of a file is being typed."""
        document = self._session.default_buffer.document
        if self._pasting.block:
            return False
        return document.text.startswith("/") or begun_path(document.current_line_before_cursor) is not None


def _as_typed(text: str, *, pasted: bool) -> Typed:
    """A text that was entered; between two lines of three quotation marks it is a block."""
    block = block_of(clean(text))
    return Typed(clean(text) if block is None else block, pasted, block=block is not None)


def _of_a_terminal(prompt: Callable[[], str | None]) -> str | None:
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
        shown = [(part[0], _visible(part[1])) for part in transformation_input.fragments]
        return Transformation([(style, text) for style, text in shown])


def _visible(text: str) -> str:
    return text if inert(text) == text else "".join(inert(letter) or "\ufffd" for letter in text)


class _Colourless(Vt100_Output):
    """Moves the cursor and writes text, and sends no colour and no attribute at all."""

    def set_attributes(self, attrs: Attrs, color_depth: ColorDepth) -> None:
        """Nothing."""

    def reset_attributes(self) -> None:
        """Nothing."""


def _output(stdout: TextIO, colour: bool) -> Vt100_Output:
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
