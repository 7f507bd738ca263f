"""What the keys do at the prompt, beyond the Emacs keys that every line editor has.

A terminal may say nothing about pasting; what comes faster than anyone types is a paste then. Handled key by key it
would take minutes: prompt_toolkit looks at its bindings and redraws for every letter.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus, is_searching, shift_selection_mode
from prompt_toolkit.history import History
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.selection import SelectionState

from domain.text import clean_text, make_inert
from interfaces.terminal import history_file
from interfaces.terminal.command_context import Choices
from interfaces.terminal.line_source import TWICE_WITHIN
from interfaces.terminal.parsing import begun_path, opens_block, paths_for
from interfaces.terminal.typeahead import NEW_LINE_SEQUENCES

#: As many plain keys in one go are a paste.
_RUN = 32
#: A reading of so many characters is likely to be followed by more at once; so many are gathered at the most.
_FULL, _MOST = 256, 1_000_000
#: Seconds that the next part of a paste may take.
_PAUSE = 0.02
_ENTER = Keys.ControlM
_ALSO_PLAIN = (_ENTER, Keys.ControlJ, Keys.ControlI)


def teach_new_line_keys() -> None:
    """Let Shift-Enter mean what Alt-Enter means, in the one table that prompt_toolkit has for a process."""
    for sequence in NEW_LINE_SEQUENCES:
        ANSI_SEQUENCES[sequence] = (Keys.Escape, Keys.ControlM)


class Pasting:
    """What happened to the text at the prompt: a block was pasted into it, or opened by hand, or it was cleared."""

    def __init__(self) -> None:
        self.block = False
        self.opened = False
        self.cleared = False

    def begin_prompt(self, block: bool = False) -> None:
        """A new prompt is drawn; ``block``: with pasted text in it."""
        self.block, self.opened, self.cleared = block, False, False

    def note_paste(self, text: str) -> None:
        """Something was pasted."""
        self.block = self.block or "\n" in text

    def note_change(self, buffer: Buffer) -> None:
        """An emptied prompt has nothing pasted in it."""
        if not buffer.text:
            self.block, self.opened, self.cleared = False, False, True


def make_bindings(
    history: PromptHistory,
    pasting: Pasting,
    moment: Callable[[], float],
    hint: Callable[[], None],
    last_message: Callable[[], str],
) -> KeyBindings:
    """The keys of the prompt. ``hint`` says how to leave; ``last_message`` is what Esc Esc brings back."""
    keys = KeyBindings()
    _add_enter(keys, pasting)
    _add_selected(keys)
    _add_leaving(keys, history, moment, hint)

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        text = clean_text(event.data)
        if event.current_buffer.selection_state:
            event.current_buffer.cut_selection()
        pasting.note_paste(text)
        event.current_buffer.insert_text(text)

    @keys.add("escape", "escape", filter=_at_prompt & ~is_searching)
    def bring_back(event: KeyPressEvent) -> None:
        text = last_message()
        if text:
            if event.current_buffer.text:
                history.remember_line(clean_text(event.current_buffer.text))
            event.current_buffer.text = text
            event.current_buffer.cursor_position = len(text)

    return keys


def _add_enter(keys: KeyBindings, pasting: Pasting) -> None:
    @keys.add("enter", filter=_at_prompt & ~is_searching)
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

    @keys.add("c-j", filter=_at_prompt & ~is_searching)
    @keys.add("escape", "enter", filter=_at_prompt & ~is_searching)
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.exit_selection()
        event.current_buffer.insert_text("\n")


def select_all(buffer: Buffer) -> None:
    """Select the text, so that typing replaces it; whatever moves the cursor lets go of it."""

    def let_go(moved: Buffer) -> None:
        buffer.on_cursor_position_changed -= let_go
        moved.exit_selection()

    buffer.cursor_position = len(buffer.text)
    buffer.selection_state = SelectionState(0)
    buffer.selection_state.enter_shift_mode()
    buffer.on_cursor_position_changed += let_go


def _add_selected(keys: KeyBindings) -> None:
    @keys.add("delete", filter=_at_prompt & shift_selection_mode)
    @keys.add("c-w", filter=_at_prompt & shift_selection_mode)
    @keys.add("c-u", filter=_at_prompt & shift_selection_mode)
    def erase(event: KeyPressEvent) -> None:
        event.current_buffer.cut_selection()

    @keys.add("c-e", filter=_at_prompt & shift_selection_mode)
    def let_go(event: KeyPressEvent) -> None:
        event.current_buffer.exit_selection()


def _add_leaving(
    keys: KeyBindings, history: PromptHistory, moment: Callable[[], float], hint: Callable[[], None]
) -> None:
    pressed: list[float] = []

    @keys.add("c-c", filter=_at_prompt & ~is_searching)
    @keys.add("<sigint>", filter=_at_prompt & ~is_searching)
    def interrupt(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text:
            history.remember_line(clean_text(buffer.text))
            buffer.text = ""
            buffer.reset()
            pressed.clear()
        elif pressed and moment() - pressed[-1] <= TWICE_WITHIN:
            event.app.exit(result=None)
        else:
            pressed.append(moment())
            hint()

    @keys.add("c-d", filter=_at_prompt & _is_empty)
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(result=None)


_at_prompt = has_focus("DEFAULT_BUFFER")


@Condition
def _is_empty() -> bool:
    """Whether the prompt is empty."""
    from prompt_toolkit.application import get_app

    return not get_app().current_buffer.text


def _more_is_coming(event: KeyPressEvent) -> bool:
    """Whether more keys are there already: no one types that fast, so it is a paste without brackets."""
    waiting = (key for key in event.app.key_processor.input_queue if key.key not in (Keys.CPRResponse, Keys.SIGINT))
    if any(waiting):
        return True
    try:
        return bool(select.select([event.app.input.fileno()], [], [], 0)[0])
    except (OSError, ValueError, NotImplementedError):
        return False


class PasteDetectingInput(Vt100Input):
    """A terminal's input, in which a long run of plain keys is one paste."""

    def read_keys(self) -> list[KeyPress]:
        """The keys that are there; a paste that is under way is read to its end."""
        parts = [self.stdin_reader.read()]
        while len(parts[-1]) >= _FULL and sum(map(len, parts)) < _MOST and self._has_more_keys():
            parts.append(self.stdin_reader.read())
        self.vt100_parser.feed("".join(parts))
        keys, self._buffer = self._buffer, []
        return gather_keys(keys)

    def _has_more_keys(self) -> bool:
        return bool(select.select([self.fileno()], [], [], _PAUSE)[0])


def gather_keys(keys: list[KeyPress]) -> list[KeyPress]:
    """The keys, with every long run of plain ones as one paste. Enter at the end of a run stays a key.

    >>> [key.key.value for key in gather_keys([KeyPress("a")] * 40 + [KeyPress(Keys.ControlM, "\\r")])]
    ['<bracketed-paste>', 'c-m']
    """
    found: list[KeyPress] = []
    for plain, group in groupby(keys, _is_plain):
        run = list(group)
        last = len(run)
        while last and run[last - 1].key == _ENTER:
            last -= 1
        if plain and last >= _RUN:
            found.append(KeyPress(Keys.BracketedPaste, "".join(key.data for key in run[:last])))
            run = run[last:]
        found += run
    return found


def _is_plain(key: KeyPress) -> bool:
    return not isinstance(key.key, Keys) or key.key in _ALSO_PLAIN


# -- history and completion


class PromptHistory(History):
    """Up, Down and Ctrl-R go through it. ``writing``: whether anything may be written now."""

    def __init__(self, path: Path, writing: Callable[[], bool] = lambda: True) -> None:
        super().__init__()
        self._path = path
        self._writing = writing
        self._remembering = False

    def load_history_strings(self) -> Iterable[str]:
        """What the file holds, newest first."""
        return reversed(history_file.load_entries(self._path))

    def store_string(self, string: str) -> None:
        """Add an entry to the file."""
        if not self._remembering and self._writing():
            history_file.add_entry(self._path, string)

    def remember_line(self, text: str) -> None:
        """Bring a line back with Up as long as the program runs, without writing it down."""
        self._remembering = True
        try:
            self.append_string(text)
        finally:
            self._remembering = False

    def forget_text(self, text: str) -> None:
        """Take every entry that holds this text out of the file and out of memory."""
        history_file.scrub_history(self._path, [text])
        self._loaded_strings = [entry for entry in self._loaded_strings if not history_file.contains_text(entry, text)]


class MessageCompleter(Completer):
    """Completes the first line of what looks like a command, and in a message the name of a file behind ``@``."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The completions at the cursor."""
        before = document.text_before_cursor
        if not before.startswith("/") or "\n" in document.text:
            yield from _complete_files(document.current_line_before_cursor)
            return
        *words, part = before.split(" ")
        if words[:1] == ["/import"]:
            yield from (Completion(path, -len(part)) for path in paths_for(part))
        for choice in self._choices(tuple(word for word in words if word)):
            if choice.text.lower().startswith(part.lower()):
                yield Completion(choice.text, -len(part), display_meta=make_inert(choice.help))


def _complete_files(before: str) -> Iterable[Completion]:
    begun = begun_path(before)
    if begun is not None:
        for path in paths_for(begun):
            yield Completion(path, -len(begun))


class ListCompleter(Completer):
    """Completes from a list of names, for questions."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The names that hold what was typed, those that begin with it first."""
        part = document.text_before_cursor
        found = [name for name in self._names if part.lower() in name.lower()]
        for name in sorted(found, key=lambda name: not name.lower().startswith(part.lower())):
            yield Completion(name, -len(part))
