"""What the keys do at the prompt, beyond the Emacs keys that every line editor has.

A terminal may say nothing about pasting; what comes faster than anyone types is a paste then. Handled key by key it
would take minutes: prompt_toolkit looks at its bindings and draws anew for every letter.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from itertools import groupby

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_focus, is_searching, shift_selection_mode
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.selection import SelectionState

from domain.text import clean
from interfaces.terminal.line_source import TWICE_WITHIN
from interfaces.terminal.parsing import opens_block
from interfaces.terminal.prompt_sources import PromptHistory
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

    def begin(self, block: bool = False) -> None:
        """A new prompt stands; ``block``: with pasted text in it."""
        self.block, self.opened, self.cleared = block, False, False

    def pasted(self, text: str) -> None:
        """Something was pasted."""
        self.block = self.block or "\n" in text

    def changed(self, buffer: Buffer) -> None:
        """An emptied prompt has nothing pasted in it."""
        if not buffer.text:
            self.block, self.opened, self.cleared = False, False, True


def bindings(
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
        text = clean(event.data)
        if event.current_buffer.selection_state:
            event.current_buffer.cut_selection()
        pasting.pasted(text)
        event.current_buffer.insert_text(text)

    @keys.add("escape", "escape", filter=_at_prompt & ~is_searching)
    def bring_back(event: KeyPressEvent) -> None:
        text = last_message()
        if text:
            if event.current_buffer.text:
                history.remember(clean(event.current_buffer.text))
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
            pasting.pasted("\n")
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
            history.remember(clean(buffer.text))
            buffer.text = ""
            buffer.reset()
            pressed.clear()
        elif pressed and moment() - pressed[-1] <= TWICE_WITHIN:
            event.app.exit(result=None)
        else:
            pressed.append(moment())
            hint()

    @keys.add("c-d", filter=_at_prompt & _empty)
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(result=None)


_at_prompt = has_focus("DEFAULT_BUFFER")


@Condition
def _empty() -> bool:
    """Whether nothing stands at the prompt."""
    from prompt_toolkit.application import get_app

    return not get_app().current_buffer.text


def _more_is_coming(event: KeyPressEvent) -> bool:
    """Whether more keys are there already: nobody types that fast, so it is a paste without brackets."""
    waiting = (
        key for key in event.app.key_processor.input_queue if key.key not in (Keys.CPRResponse, Keys.SIGINT)
    )
    if any(waiting):
        return True
    try:
        return bool(select.select([event.app.input.fileno()], [], [], 0)[0])
    except (OSError, ValueError, NotImplementedError):
        return False


class PasteHearingInput(Vt100Input):
    """A terminal's input, in which a long run of plain keys is one paste."""

    def read_keys(self) -> list[KeyPress]:
        """The keys that are there; a paste that is under way is read to its end."""
        parts = [self.stdin_reader.read()]
        while len(parts[-1]) >= _FULL and sum(map(len, parts)) < _MOST and self._more():
            parts.append(self.stdin_reader.read())
        self.vt100_parser.feed("".join(parts))
        keys, self._buffer = self._buffer, []
        return gathered(keys)

    def _more(self) -> bool:
        return bool(select.select([self.fileno()], [], [], _PAUSE)[0])


def gathered(keys: list[KeyPress]) -> list[KeyPress]:
    """The keys, with every long run of plain ones as one paste. Enter at the end of a run stays a key.

    >>> [key.key.value for key in gathered([KeyPress("a")] * 40 + [KeyPress(Keys.ControlM, "\\r")])]
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
