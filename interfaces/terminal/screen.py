"""The one place where anything is written to a terminal: styled text, laid out in rows, on a screen.

Promises: whatever is written has passed ``text.make_inert`` here, so no text of a person, a model, a
memory or a file name can steer the terminal; nothing is parsed as markup; a plain screen gets the
text and nothing else. What was written is never redrawn, except one short status line that the next
writing removes.

The rest of the program names meanings, never colours: one style a meaning, from the sixteen ANSI colours only. Rows are
laid out word by word, and a word is written when it can no longer move to the next row; nothing that was written
changes, so the scrollback stays clean in a small window and while the window is resized.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal, TextIO

from rich.style import Style

from domain.patterns import pattern_of
from domain.text import make_inert, one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Meaning = Literal[
    "words", "strong", "emphasis", "struck", "heading", "code", "link", "bullet", "quotation", "quiet", "title",
    "warning", "trouble", "good", "added", "removed", "person", "keyword", "literal", "number", "comment", "name",
]  # fmt: skip
Meanings = tuple[Meaning, ...]
#: A part of a text and what it means.
Span = tuple[str, Meanings]

STYLES: dict[Meaning, str] = {
    "words": "none", "strong": "bold", "emphasis": "italic", "struck": "strike", "heading": "bold", "title": "bold",
    "code": "cyan", "link": "underline", "bullet": "dim", "quotation": "dim", "quiet": "dim", "person": "bold",
    "warning": "yellow", "trouble": "red", "good": "green", "added": "green", "removed": "red",
    "keyword": "magenta", "literal": "green", "number": "cyan", "comment": "dim", "name": "bold",
}  # fmt: skip
_ASCII = pattern_of(r"[\x20-\x7e]*")


@cache
def style_of(meanings: Meanings) -> Style:
    """The look of text that means all of these at once."""
    return Style.combine([Style.parse(STYLES[meaning]) for meaning in meanings])


def cells_of(text: str) -> int:
    """Columns that the text takes; characters that do not show take none."""
    if _ASCII.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


#: A part that cannot be broken inside, a space, or one character of any other kind.
_TOKEN = pattern_of(r"[!-~]+|\s|.", re.DOTALL)
#: Marks that may not begin a row, and marks that may not end one.
_CLOSING = frozenset("，。、！？；：）」』】》〉〕…—～·’”,.!?;:)]}%％’”")
_OPENING = frozenset("（「『【《〈〔‘“([{")


class Flow:
    """Lays out styled text in rows of the width that the window has when the row begins.

    >>> flow = Flow(lambda: 10)
    >>> flow.begin_row([], ("", ("words",)))
    >>> flow.write_text("one two three", ("words",))
    >>> flow.end_row()
    >>> "".join(text for text, _ in flow.take_spans())
    'one two\\nthree\\n'
    """

    def __init__(self, width: Callable[[], int]) -> None:
        self._width = width
        self._out: list[Span] = []
        self._word: list[Span] = []
        self._word_cells = 0
        self._spaces = 0
        self._space_meanings: Meanings = ("words",)
        self._column = 0
        self._row_width = 0
        self._hanging: Span = ("", ("quiet",))

    def begin_row(self, lead: list[Span], hanging: Span) -> None:
        """Begin a row with a lead (a bullet, a bar); rows that follow by wrapping begin with ``hanging``."""
        self._row_width = max(2, self._width())
        self._hanging = hanging
        for text, meanings in lead:
            self._emit_text(text, meanings)

    def write_text(self, text: str, meanings: Meanings) -> None:
        """Text that flows on; it has no line ends."""
        for token in _TOKEN.findall(text.expandtabs(4)):
            if token.isspace():
                self._let_out()
                self._spaces += 1
                self._space_meanings = meanings
                continue
            if self._word and _may_break(self._word[-1][0][-1], token[0]):
                self._let_out()
            self._word.append((token, meanings))
            self._word_cells += cells_of(token)

    def end_row(self) -> None:
        """End the row that was begun."""
        self._let_out()
        self._spaces = 0
        self._new_row("")

    def write_verbatim(self, spans: list[Span]) -> None:
        """A whole row as it is; the terminal wraps it if it must, so that copied code stays right."""
        self._out += [*spans, ("\n", ("words",))]

    def take_spans(self) -> list[Span]:
        """What is ready to be written, once."""
        out, self._out = self._out, []
        return out

    def _let_out(self) -> None:
        if not self._word:
            return
        hanging = cells_of(self._hanging[0])
        if self._column + self._spaces + self._word_cells > self._row_width and self._column > hanging:
            self._new_row(self._hanging[0])
        else:
            self._emit_text(" " * self._spaces, self._space_meanings)
        self._spaces = 0
        for text, meanings in self._word:
            # A word that is longer than a row is cut where the row ends.
            for part in [text] if self._column + cells_of(text) <= self._row_width else text:
                self._emit_where_it_fits(part, meanings)
        self._word, self._word_cells = [], 0

    def _emit_where_it_fits(self, text: str, meanings: Meanings) -> None:
        if self._column + cells_of(text) > self._row_width:
            self._new_row(self._hanging[0])
        self._emit_text(text, meanings)

    def _new_row(self, lead: str) -> None:
        self._out.append(("\n", ("words",)))
        self._column = 0
        self._row_width = max(2, self._width())
        if lead:
            self._emit_text(*self._hanging)

    def _emit_text(self, text: str, meanings: Meanings) -> None:
        if not text:
            return
        self._column += cells_of(text)
        if self._out and self._out[-1][1] == meanings and self._out[-1][0] != "\n":
            self._out[-1] = (self._out[-1][0] + text, meanings)
        else:
            self._out.append((text, meanings))


def in_rows(text: str, width: int) -> str:
    """A text in rows that end between words; a space at its end stays."""
    flow = Flow(lambda: width)
    for line in text.rstrip(" ").split("\n"):
        flow.begin_row([], ("", ("words",)))
        flow.write_text(line, ("words",))
        flow.end_row()
    rows = "".join(part for part, _ in flow.take_spans())
    return rows.removesuffix("\n") + " " * (len(text) - len(text.rstrip(" ")))


def _may_break(before: str, after: str) -> bool:
    """Whether a row may end between these two characters, neither of them a space."""
    return after not in _CLOSING and before not in _OPENING and max(cells_of(before), cells_of(after)) > 1


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
                file=self.file, color_system=None if self.plain else "standard", force_terminal=not self.plain,
                markup=False, emoji=False, highlight=False, legacy_windows=False,
            )  # fmt: skip
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
            self._write_wrapped(text, (meaning,), lead=(lead, (meaning,)))

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
            return
        narrow = column * 2 > self.width
        begun: Span = (lead, (looks[0],))
        if narrow or len(lead) <= len(name):
            self.line(name, looks[0])
            begun = ("  " if narrow else " " * column, ("words",))
        self._write_wrapped(text, (looks[1],), lead=begun)

    def _write_wrapped(self, text: str, meanings: Meanings, lead: Span) -> None:
        flow = Flow(lambda: self.width)
        for line in text.split("\n"):
            words = line.lstrip(" ")
            indent = " " * (len(line) - len(words))
            hanging = " " * cells_of(lead[0]) + indent[: self.width // 4]
            flow.begin_row([lead, (indent, meanings)], (hanging, ("words",)))
            flow.write_text(words, meanings)
            flow.end_row()
        self.write_spans(flow.take_spans())

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


# -- excerpts

#: Letters of a stem that must be the same: "stories" is found by "stori".
_LATIN = pattern_of(r"[a-z0-9À-ɏ'’]+\Z", re.IGNORECASE)


def make_excerpt(text: str, words: Sequence[str], cells: int, *, plain: bool) -> list[Span]:
    """As much of a text as fits, around the first of the words, each of them marked; in brackets on a plain screen.

    >>> make_excerpt("I sort rivets on Mondays", ["rivet"], 40, plain=True)
    [('I sort ', ('words',)), ('[rivets]', ('words',)), (' on Mondays', ('words',))]
    """
    line = " ".join(make_inert(text).split())
    # The longest first, so that a part of a word never hides the whole.
    parts = sorted({word for word in words if word.strip()}, key=len, reverse=True)
    forms = [rf"\b{re.escape(word)}\w*" if _LATIN.match(word) else re.escape(word) for word in parts]
    if not forms:
        return [(_cut_around(line, (0, 0), cells), ("words",))]
    wanted = re.compile("|".join(forms), re.IGNORECASE)
    found = wanted.search(line)
    return _mark_words(_cut_around(line, found.span() if found else (0, 0), cells), wanted, plain)


def _cut_around(line: str, span: tuple[int, int], cells: int) -> str:
    """The line itself if it fits, else an excerpt with this span in its middle."""
    if cells_of(line) <= cells:
        return line
    begin, end = span
    room = max(1, cells - cells_of(line[begin:end]) - 2)
    begin = _step(line, begin, room // 2, -1)
    end = _step(line, end, cells - 2 - cells_of(line[begin:end]), 1)
    begin = _step(line, begin, cells - 2 - cells_of(line[begin:end]), -1)
    return "…" * (begin > 0) + line[begin:end].strip() + "…" * (end < len(line))


def _step(line: str, at: int, cells: int, by: Literal[1, -1]) -> int:
    """The place so many columns behind this one; before it where ``by`` is -1."""
    beside = min(by, 0)
    while 0 <= at + beside < len(line) and (cells := cells - cells_of(line[at + beside])) >= 0:
        at += by
    return at


def _mark_words(line: str, wanted: re.Pattern[str], plain: bool) -> list[Span]:
    spans: list[Span] = []
    at = 0
    for found in wanted.finditer(line):
        spans.append((line[at : found.start()], ("words",)))
        spans.append((f"[{found[0]}]", ("words",)) if plain else (found[0], ("strong",)))
        at = found.end()
    spans.append((line[at:], ("words",)))
    return [span for span in spans if span[0]]
