"""The one place where anything is written to a terminal.

Promises: whatever is written has passed ``text.make_inert`` here, so no text of a person, a model, a
memory or a file name can steer the terminal; nothing is parsed as markup; a plain screen gets the
text and nothing else. What was written is never redrawn, except one short status line that the next
writing removes.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TextIO

from domain.text import make_inert, one_line
from interfaces.terminal.styled_text import Flow, Meaning, Meanings, Span, cells_of, style_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


_DEFAULT_WIDTH = 80


def wants_plain(stream: TextIO, environment: Mapping[str, str], flag: bool = False) -> bool:
    """Whether this stream gets text alone: no terminal, a dumb one, or a person who asks for it."""
    asked = flag or bool(environment.get("NO_COLOR")) or environment.get("ACCESSIBLE", "0") not in ("", "0")
    return asked or environment.get("TERM", "dumb") in ("dumb", "") or not stream.isatty()


def is_gone(fault: Exception) -> bool:
    """Whether a fault says that whoever read what we wrote, or their terminal, is gone."""
    return isinstance(fault, BrokenPipeError) or fault.args[:1] == (errno.EIO,)


class Screen:
    """Writes lines and parts of styled text.

    >>> import io
    >>> screen = Screen(io.StringIO(), plain=True)
    >>> screen.line("a\\x1b[31mb")
    >>> screen.file.getvalue()
    'a[31mb\\n'
    """

    def __init__(self, file: TextIO, *, plain: bool) -> None:
        self.file = file
        self.plain = plain
        self._console: Console | None = None
        self._status = ""
        self._fresh = True
        self._empty = False

    @property
    def console(self) -> Console:
        """The rich console behind this screen, made at first use."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(
                file=self.file,
                color_system=None if self.plain else "standard",
                force_terminal=not self.plain,
                markup=False,
                emoji=False,
                highlight=False,
                legacy_windows=False,
            )
        return self._console

    @property
    def width(self) -> int:
        """Columns, now; it changes when the window does."""
        return self.console.width if not self.plain else _DEFAULT_WIDTH

    def line(self, text: str = "", meaning: Meaning = "words", *, lead: str = "") -> None:
        """A whole line, or several; a screen with styles wraps them between words.

        What wraps hangs under its beginning, behind ``lead`` and the spaces in front.
        """
        if self.plain:
            self.write_spans([(lead + text + "\n", (meaning,))])
        else:
            self.write_spans(self._wrap_text(text, (meaning,), lead=(lead, (meaning,))))

    def empty_line(self) -> None:
        """An empty line, unless the last one is empty."""
        if not self._empty:
            self.line()

    def note_typed(self) -> None:
        """A person has typed a line here."""
        self._fresh, self._empty = True, False

    def name_and_text(self, name: str, text: str, column: int, looks: tuple[Meaning, Meaning]) -> None:
        """A name, and from a column on what is said of it.

        Behind a longer name, and in a narrow window, that begins on the next row.
        """
        lead = name + " " * (column - cells_of(name))
        if self.plain:
            between = "" if len(lead) > len(name) else "  "
            self.write_spans([(f"{lead}{between}{text}\n", (looks[1],))])
        elif column * 2 > self.width:
            self.line(name, looks[0])
            self.write_spans(self._wrap_text(text, (looks[1],), lead=("  ", ("words",))))
        elif len(lead) > len(name):
            self.write_spans(self._wrap_text(text, (looks[1],), lead=(lead, (looks[0],))))
        else:
            self.line(name, looks[0])
            self.write_spans(self._wrap_text(text, (looks[1],), lead=(" " * column, ("words",))))

    def _wrap_text(self, text: str, meanings: Meanings, lead: Span = ("", ("words",))) -> list[Span]:

        flow = Flow(lambda: self.width)
        for line in text.split("\n"):
            words = line.lstrip(" ")
            indent = " " * (len(line) - len(words))
            hanging = " " * cells_of(lead[0]) + indent[: self.width // 4]
            flow.begin_row([lead, (indent, meanings)], (hanging, ("words",)))
            flow.write_text(words, meanings)
            flow.end_row()
        return flow.take_spans()

    def one_row(self, text: str, meaning: Meaning = "words") -> None:
        """As much of a text as fits into one row, spaces in front of it kept."""
        row = " " * (len(text) - len(text.lstrip(" "))) + one_line(text, 500)
        self.line(row if self.plain else _cut_to_fit(row, self.width - 1), meaning)

    def excerpt(
        self, head: str, fitted: Callable[[int], Iterable[Span]], meaning: Meaning = "quiet", *, rows: int = 1
    ) -> None:
        """A head, and behind it what ``fitted`` gives for the columns that are left of these rows."""
        shown = list(fitted(max(10, rows * (self.width - 1 - cells_of(head)) - 10 * (rows - 1))))
        if self.plain:
            self.write_spans([(head, (meaning,)), *shown, ("\n", ("words",))])
            return

        flow = Flow(lambda: self.width)
        flow.begin_row([(head, (meaning,))], (" " * min(cells_of(head), self.width // 4), ("words",)))
        for text, meanings in shown:
            flow.write_text(text, meanings)
        flow.end_row()
        self.write_spans(flow.take_spans())

    def write_spans(self, spans: Iterable[Span]) -> None:
        """Parts of text one after another; line ends are where the text has them."""
        self.clear_status()
        spans = [(make_inert(text), meanings) for text, meanings in spans if text]
        if not spans:
            return
        text = "".join(text for text, _ in spans)
        self._empty = text.endswith("\n\n") or (text == "\n" and self._fresh)
        self._fresh = text.endswith("\n")
        if self.plain:
            self._write_raw(text)
            return
        from rich.text import Text

        self.console.print(
            Text.assemble(*((text, style_of(meanings)) for text, meanings in spans), end=""), soft_wrap=True, end=""
        )

    def draw_table(self, drawing: RenderableType) -> None:
        """Something that rich lays out, a table; its rows end where their text ends."""
        from rich.text import Text

        self.clear_status()
        for row in self.console.render_lines(drawing, pad=False):
            text = Text.assemble(*((make_inert(part.text), part.style or "") for part in row))
            text.rstrip()
            self.console.print(text, soft_wrap=True)
        self._fresh, self._empty = True, False

    def fresh_line(self) -> None:
        """End the line if one is begun."""
        if not self._fresh:
            self.line()

    def show_status(self, text: str) -> None:
        """One dim line that the next writing removes. A plain screen has none."""
        shown = "" if self.plain else _cut_to_fit(one_line(text, 500), self.width - 1)
        if not shown or not self._fresh or shown == self._status:
            return
        self.clear_status()
        self._write_raw(f"\x1b[2m{shown}\x1b[0m")
        self._status = shown

    def clear_status(self) -> None:
        """Remove the status line."""
        if self._status:
            self._status = ""
            self._write_raw("\r\x1b[K")

    def to_clipboard(self, base64: str) -> None:
        """Ask the terminal to put this into its clipboard (OSC 52)."""
        self._write_raw(f"\x1b]52;c;{base64}\a")

    def _write_raw(self, text: str) -> None:
        self.file.write(text)
        self.file.flush()


def _cut_to_fit(text: str, cells: int) -> str:
    from rich.cells import set_cell_size

    return text if cells_of(text) <= cells else set_cell_size(text, max(1, cells - 1)).rstrip() + "…"
