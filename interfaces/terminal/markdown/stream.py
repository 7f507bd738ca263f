"""A reply as it streams: fed in any chunks, it writes every row once, as soon as the row is certain.

LineStart breaks and numbers stay as they were written. Text inside a line goes out word by word; a table
is drawn when it has ended; the line of a code block when the line has ended. The result does not
depend on how the text was cut.
"""

from __future__ import annotations

from typing import Protocol

from interfaces.terminal.markdown.blocks import CodeBlock, drawn, is_table
from interfaces.terminal.markdown.flow import Flow
from interfaces.terminal.markdown.inline import reaches_on, settled
from interfaces.terminal.markdown.lines import LineStart, classify, closes_fence, uncertain
from interfaces.terminal.screen import Screen
from interfaces.terminal.style import Meaning, Meanings, Span, cells_of

BAR = "│ "


class Stream(Protocol):
    """Takes a reply piece by piece and writes it."""

    def feed(self, text: str) -> None:
        """The next piece of the reply."""
        ...

    def quote(self) -> None:
        """What follows is a quotation of a memory."""
        ...

    def unquote(self, note: str = "") -> None:
        """The quotation has ended; ``note`` tells where it comes from."""
        ...

    def finish(self) -> None:
        """The reply has ended."""
        ...


class MarkdownStream:
    """Markdown on a screen with styles. ``meanings`` lie under everything, for example ``("quiet",)``."""

    def __init__(self, screen: Screen, meanings: Meanings = ("words",)) -> None:
        self._screen = screen
        self._flow = Flow(lambda: screen.width)
        self._base = meanings
        self._line = ""
        self._kind: LineStart | None = None
        self._before = " "
        #: The end of the line before, while emphasis in it may reach into this one; and how its rows begin.
        self._held = ""
        self._breaks: list[LineStart] = []
        self._under: tuple[Meaning, ...] = ()
        self._blank = False
        self._anything = False
        self._code: CodeBlock | None = None
        self._fence = ""
        self._rows: list[str] = []
        self._quoted = self._quote_begun = False
        self._swallow = True

    def feed(self, text: str) -> None:
        """The next piece of the reply, cut anywhere."""
        text = text.lstrip() if self._swallow else text
        if not text:
            return
        self._swallow = False
        *ended, rest = text.split("\n")
        for part in ended:
            self._line += part
            self._end_line()
        self._line += rest
        if self._line and self._code is None:
            self._advance(final=False)
        self._write()

    def quote(self) -> None:
        """What follows is a quotation of a memory: quiet, behind a bar."""
        self._part()
        self._quoted, self._quote_begun = True, False

    def unquote(self, note: str = "") -> None:
        """The quotation has ended; ``note`` tells where it comes from."""
        self._end_open_line()
        self._end_table()
        if note:
            self._blank = False
            self._row([(note, ("quiet",))])
        self._part()
        self._quoted = self._quote_begun = False

    def finish(self) -> None:
        """The reply has ended: what was held back is written."""
        self._end_open_line()
        self._end_table()
        self._code = None
        self._write()

    def _part(self) -> None:
        """What follows stands apart from what was before."""
        self._end_open_line()
        self._end_table()
        self._blank, self._swallow = self._anything, True
        self._write()

    def _end_open_line(self) -> None:
        if self._line or self._kind:
            self._end_line()
        self._let_go()

    def _write(self) -> None:
        self._screen.spans(self._flow.take())

    def _end_line(self) -> None:
        """The present line has ended; whatever it is, it is certain now."""
        if self._code is not None:
            self._code_line(self._line.rstrip("\r"))
        else:
            self._advance(final=True)
        self._line, self._kind = "", None
        if not self._held:
            self._before = " "

    def _code_line(self, text: str) -> None:
        assert self._code
        if closes_fence(text, self._fence):
            self._code = None
            self._row([(text.strip(), ("quiet",))])
        else:
            self._row(self._code.line(text))

    def _advance(self, *, final: bool) -> None:
        if self._kind is None:
            if not final and uncertain(self._line):
                return
            self._begin(classify(self._line), final)
        if self._kind is None:
            return
        self._settle(final=False)
        if final and self._kind.kind in ("text", "item") and reaches_on(self._line):
            self._held = self._line
        elif final:
            self._settle(final=True)
            self._flow.end_row()

    def _settle(self, *, final: bool) -> None:
        """Write what is certain of the present line."""
        meanings = (*self._base, *self._under)
        spans, used = settled(self._line, meanings, final=final, before=self._before)
        for text, looks in spans:
            first, *others = text.split("\n")
            self._flow.write(first, looks)
            for other in others:
                self._break()
                self._flow.write(other, looks)
        if used:
            self._before, self._line = self._line[used - 1], self._line[used:]

    def _break(self) -> None:
        """The writer's own line break, inside of emphasis."""
        self._flow.end_row()
        self._flow.begin(*self._leads(self._breaks.pop(0)))

    def _let_go(self) -> None:
        """The emphasis that was open at the end of a line is not ended by what follows: its mark is a mark."""
        if self._held:
            self._line, self._held, rest = self._held, "", self._line
            self._settle(final=True)
            self._flow.end_row()
            self._line, self._before = rest, " "

    def _begin(self, line: LineStart, final: bool) -> None:
        """A line's kind is known. Lines of text stay begun; all others are dealt with whole."""
        if self._held and line.kind == "text":
            self._go_on(line)
            return
        self._let_go()
        if line.kind == "row":
            self._rows += [self._line] if final else []
            return
        self._end_table()
        if line.kind == "blank":
            self._blank = self._anything
        elif line.kind == "rule":
            self._row([("─" * min(40, self._screen.width), ("quiet",))])
        elif line.kind == "quoting":
            if final:
                self._code, self._fence = CodeBlock(self._line[line.start :]), line.lead
                self._row([(self._line.strip(), ("quiet",))])
        else:
            self._begin_text(line)

    def _go_on(self, line: LineStart) -> None:
        """The line goes on with what the line before left open."""
        self._breaks.append(line)
        self._line, self._held = self._held + "\n" + self._line[line.start :], ""
        self._kind = line

    def _begin_text(self, line: LineStart) -> None:
        self._space()
        self._kind = line
        self._line = self._line[line.start :]
        lead, hanging = self._leads(line)
        self._flow.begin(lead, hanging)

    def _leads(self, line: LineStart) -> tuple[list[Span], Span]:
        """What stands at the beginning of the line's first row, and of the rows it wraps to."""
        quoted = self._quoted or line.kind == "quote"
        bar = BAR if quoted else ""
        self._under = ("quotation",) if quoted else ("heading",) if line.kind == "heading" else ()
        lead: list[Span] = [(bar + " " * line.indent, (*self._base, "quiet"))]
        if line.kind != "item":
            return lead, (bar + " " * line.indent, (*self._base, "quiet"))
        mark = "•" if line.lead in "-*+" else line.lead
        lead.append((mark + " ", (*self._base, "bullet") if mark == "•" else self._base))
        return lead, (bar + " " * (line.indent + cells_of(mark) + 1), (*self._base, "quiet"))

    def _row(self, spans: list[Span]) -> None:
        self._space()
        bar: list[Span] = [(BAR, ("quiet",))] if self._quoted else []
        self._flow.verbatim([*bar, *((text, (*self._base, *meanings)) for text, meanings in spans)])

    def _space(self) -> None:
        """One empty row where the text had any number of them, none at the beginning."""
        if self._blank:
            self._flow.verbatim([(BAR, ("quiet",))] if self._quote_begun else [])
        self._blank, self._anything, self._quote_begun = False, True, self._quoted

    def _end_table(self) -> None:
        if not self._rows:
            return
        rows, self._rows = self._rows, []
        self._space()
        if is_table(rows):
            self._write()
            self._screen.draw(drawn(rows, self._base))
        else:
            for row in rows:
                self._flow.begin([], ("", self._base))
                for text, meanings in settled(row, self._base, final=True)[0]:
                    self._flow.write(text, meanings)
                self._flow.end_row()


class PlainStream:
    """Writes text as it comes; a quotation stands on lines of its own."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._due = ""
        self._swallow = True
        self._begins = False
        self._quoted = False
        self._anything = False

    def feed(self, text: str) -> None:
        """The next piece of the reply, cut anywhere. LineStart ends wait until something follows them."""
        text = text.lstrip() if self._swallow else text
        if not text:
            return
        self._swallow = False
        words = text.rstrip("\n")
        if words:
            self._out(words)
        self._due += text[len(words) :]

    def quote(self) -> None:
        """What follows is a quotation of a memory."""
        self._part()
        self._quoted = self._begins = True

    def unquote(self, note: str = "") -> None:
        """The quotation has ended; ``note`` tells where it comes from."""
        if note:
            self._due, self._swallow = "\n", False
            self._out(note)
        self._quoted = False
        self._part()

    def finish(self) -> None:
        """The reply has ended: its last line ends too."""
        if self._anything:
            self._screen.line()

    def _part(self) -> None:
        """What follows stands apart from what was before."""
        self._due = "\n\n" if self._anything else ""
        self._swallow = True

    def _out(self, words: str) -> None:
        due, self._due = self._due, ""
        if self._quoted:
            words = words.replace("\n", "\n> ")
            due = due if self._begins else due.replace("\n", "\n> ")
            words = "> " + words if self._begins else words
        self._begins, self._anything = False, True
        self._screen.spans([(due + words, ("words",))])
