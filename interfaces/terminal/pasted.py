"""The keys of a terminal that says nothing about pasting: what comes faster than anyone types is a paste.

Handled key by key, a paste without brackets would take minutes: prompt_toolkit looks at its bindings and draws
anew for every letter. Here a long run of plain letters and line ends becomes one paste, as if it had come in brackets.
"""

from __future__ import annotations

import select
from itertools import groupby

from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

#: As many plain keys in one go are a paste.
_RUN = 32
#: A reading of so many characters is likely to be followed by more at once; so many are gathered at the most.
_FULL, _MOST = 256, 1_000_000
#: Seconds that the next part of a paste may take.
_PAUSE = 0.02
_ENTER = Keys.ControlM
_ALSO_PLAIN = (_ENTER, Keys.ControlJ, Keys.ControlI)


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
