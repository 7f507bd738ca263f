"""Replies as they stream: Markdown in, finished rows out, each written once and never redrawn.

Marks inside a line (emphasis, code, links) are decided as soon as they are certain. A mark that has no partner within
``HOLD`` characters is the writer's own character and is shown: nothing of a reply is ever swallowed. Code is coloured
line by line, tables are drawn when whole. Work is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from domain.patterns import pattern_of
from interfaces.terminal.screen import Flow, Meaning, Meanings, Screen, Span, cells_of, style_of

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType
    from rich.console import JustifyMethod
    from rich.table import Table
    from rich.text import Text


BAR = "│ "


class _MarkdownStream:
    """Markdown on a screen with styles. ``meanings`` lie under everything, for example ``("quiet",)``."""

    def __init__(self, screen: Screen, meanings: Meanings) -> None:
        self._screen = screen
        self._flow = Flow(lambda: screen.width)
        self._base = meanings
        self._line = ""
        self._kind: _LineStart | None = None
        self._before = " "
        #: The end of the line before, while emphasis in it may reach into this one; and how its rows begin.
        self._open_line = ""
        self._breaks: list[_LineStart] = []
        self._under: tuple[Meaning, ...] = ()
        self._blank = False
        self._anything = False
        self._code: _CodeBlock | None = None
        self._fence = ""
        self._rows: list[str] = []
        self._quoted = self._quote_begun = False
        self._swallow = True

    def feed(self, text: str) -> None:
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
            self._advance_line(final=False)
        self._write_ready()

    def begin_quotation(self) -> None:
        self._separate_part()
        self._quoted, self._quote_begun = True, False

    def end_quotation(self, note: str = "") -> None:
        self._end_parts()
        if note:
            self._blank = False
            self._write_row([(note, ("quiet",))])
        self._separate_part()
        self._quoted = self._quote_begun = False

    def finish(self) -> None:
        self._end_parts()
        self._code = None
        self._write_ready()

    def _separate_part(self) -> None:
        """Separate what follows from what came before."""
        self._end_parts()
        self._blank, self._swallow = self._anything, True
        self._write_ready()

    def _end_parts(self) -> None:
        """End the line and the table that are open."""
        if self._line or self._kind:
            self._end_line()
        self._let_go()
        self._end_table()

    def _write_ready(self) -> None:
        self._screen.write_spans(self._flow.take_spans())

    def _end_line(self) -> None:
        """The present line has ended; whatever it is, it is certain now."""
        text = self._line.rstrip("\r")
        mark = text.strip()
        if self._code is None:
            self._advance_line(final=True)
        elif mark.startswith(self._fence) and not mark.strip(self._fence[0]):
            self._code = None
            self._write_row([(mark, ("quiet",))])
        else:
            self._write_row(self._code.colour_line(text))
        self._line, self._kind = "", None
        if not self._open_line:
            self._before = " "

    def _advance_line(self, *, final: bool) -> None:
        if self._kind is None:
            if not final and _UNCERTAIN.match(self._line):
                return
            self._begin_line(_classify_line(self._line), final)
        if self._kind is None:
            return
        self._settle_line(final=False)
        if final and self._kind.kind in ("text", "item") and _reaches_on(self._line):
            self._open_line = self._line
        elif final:
            self._settle_line(final=True)
            self._flow.end_row()

    def _settle_line(self, *, final: bool) -> None:
        """Write what is certain of the present line."""
        meanings = (*self._base, *self._under)
        spans, used = settle_spans(self._line, meanings, final=final, before=self._before)
        for text, looks in spans:
            first, *others = text.split("\n")
            self._flow.write_text(first, looks)
            for other in others:  # the writer's own line break, inside of emphasis
                self._flow.end_row()
                self._flow.begin_row(*self._line_leads(self._breaks.pop(0)))
                self._flow.write_text(other, looks)
        if used:
            self._before, self._line = self._line[used - 1], self._line[used:]

    def _let_go(self) -> None:
        """The emphasis that was open at the end of a line is not ended by what follows: its mark is a mark."""
        if self._open_line:
            self._line, self._open_line, rest = self._open_line, "", self._line
            self._settle_line(final=True)
            self._flow.end_row()
            self._line, self._before = rest, " "

    def _begin_line(self, line: _LineStart, final: bool) -> None:
        """A line's kind is known. Lines of text stay begun; all others are dealt with whole."""
        if self._open_line and line.kind == "text":  # it goes on with what the line before left open
            self._breaks.append(line)
            self._line, self._open_line = self._open_line + "\n" + self._line[line.start :], ""
            self._kind = line
            return
        self._let_go()
        if line.kind == "row":
            self._rows += [self._line] if final else []
            return
        self._end_table()
        if line.kind == "blank":
            self._blank = self._anything
        elif line.kind == "rule":
            self._write_row([("─" * min(40, self._screen.width), ("quiet",))])
        elif line.kind == "quoting":
            if final:
                self._code, self._fence = _CodeBlock(self._line[line.start :]), line.lead
                self._write_row([(self._line.strip(), ("quiet",))])
        else:
            self._write_space()
            self._kind, self._line = line, self._line[line.start :]
            self._flow.begin_row(*self._line_leads(line))

    def _line_leads(self, line: _LineStart) -> tuple[list[Span], Span]:
        """The beginning of the line's first row, and of the rows it wraps to."""
        quoted = self._quoted or line.kind == "quote"
        bar = BAR if quoted else ""
        self._under = ("quotation",) if quoted else ("heading",) if line.kind == "heading" else ()
        lead: list[Span] = [(bar + " " * line.indent, (*self._base, "quiet"))]
        if line.kind != "item":
            return lead, (bar + " " * line.indent, (*self._base, "quiet"))
        mark = "•" if line.lead in "-*+" else line.lead
        lead.append((mark + " ", (*self._base, "bullet") if mark == "•" else self._base))
        return lead, (bar + " " * (line.indent + cells_of(mark) + 1), (*self._base, "quiet"))

    def _write_row(self, spans: list[Span]) -> None:
        self._write_space()
        bar: list[Span] = [(BAR, ("quiet",))] if self._quoted else []
        self._flow.write_verbatim([*bar, *((text, (*self._base, *meanings)) for text, meanings in spans)])

    def _write_space(self) -> None:
        """One empty row where the text had any number of them, none at the beginning."""
        if self._blank:
            self._flow.write_verbatim([(BAR, ("quiet",))] if self._quote_begun else [])
        self._blank, self._anything, self._quote_begun = False, True, self._quoted

    def _end_table(self) -> None:
        if not self._rows:
            return
        rows, self._rows = self._rows, []
        self._write_space()
        if len(rows) >= 2 and "-" in rows[1] and _DELIMITER.match(rows[1]):  # a header, and dashes under it
            self._write_ready()
            self._screen.draw_table(_draw_table(rows, self._base))
            return
        for row in rows:
            self._flow.begin_row([], ("", self._base))
            for text, meanings in settle_spans(row, self._base, final=True)[0]:
                self._flow.write_text(text, meanings)
            self._flow.end_row()


class _PlainStream:
    """Writes text as it comes; a quotation has lines of its own."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._due = ""
        self._swallow = True
        self._begins = False
        self._quoted = False
        self._anything = False

    def feed(self, text: str) -> None:
        text = text.lstrip() if self._swallow else text
        if not text:
            return
        self._swallow = False
        words = text.rstrip("\n")  # line ends wait until something follows them
        if words:
            self._write_words(words)
        self._due += text[len(words) :]

    def begin_quotation(self) -> None:
        self._separate_part()
        self._quoted = self._begins = True

    def end_quotation(self, note: str = "") -> None:
        if note:
            self._due, self._swallow = "\n", False
            self._write_words(note)
        self._quoted = False
        self._separate_part()

    def finish(self) -> None:
        if self._anything:
            self._screen.line()

    def _separate_part(self) -> None:
        """Separate what follows from what came before."""
        self._due = "\n\n" if self._anything else ""
        self._swallow = True

    def _write_words(self, words: str) -> None:
        due, self._due = self._due, ""
        if self._quoted:
            words = words.replace("\n", "\n> ")
            due = due if self._begins else due.replace("\n", "\n> ")
            words = "> " + words if self._begins else words
        self._begins, self._anything = False, True
        self._screen.write_spans([(due + words, ("words",))])


#: Takes a reply piece by piece, cut anywhere; the note at the end of a quotation says where it comes from.
Stream = _MarkdownStream | _PlainStream


def stream_for(screen: Screen, *, quiet: bool = False) -> Stream:
    """What renders replies on this screen; ``quiet`` for those of earlier."""
    if screen.plain:
        return _PlainStream(screen)
    return _MarkdownStream(screen, ("quiet",) if quiet else ("words",))


LineKind = Literal["text", "blank", "heading", "item", "quote", "rule", "quoting", "row"]

_HEADING = pattern_of(r" {0,3}(#{1,6})\s+")
_ITEM = pattern_of(r"(\s{0,40})([-*+•]|\d{1,9}[.)])(\s{1,4})")
_QUOTE = pattern_of(r" {0,3}(?:> ?)+")
_RULE = pattern_of(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_FENCE = pattern_of(r"\s{0,40}(`{3,}|~{3,})([^`]*)$")
#: Beginnings of a line that can still become another kind of line: "1" may, "1. a" is decided.
_UNCERTAIN = pattern_of(r"\s*(?:#{1,6}|[-*_+•][-*_ \t]*|\d{1,9}[.)]?|`{1,3}[^`]*|~{1,3}[^~]*|(?:> ?)+|\|.*)?$")


@dataclass(frozen=True)
class _LineStart:
    """A line's kind, what leads it, and where its content begins."""

    kind: LineKind
    lead: str = ""
    indent: int = 0
    start: int = 0


def _classify_line(text: str) -> _LineStart:
    """What kind of line this is; called when it is certain, or when the line has ended."""
    if not text.strip():
        return _LineStart("blank")
    if found := _FENCE.match(text):
        return _LineStart("quoting", lead=found[1], start=found.start(2))
    if _RULE.match(text):
        return _LineStart("rule")
    if found := _HEADING.match(text):
        return _LineStart("heading", lead=found[1], start=found.end())
    if found := _QUOTE.match(text):
        return _LineStart("quote", start=found.end())
    if text.lstrip().startswith("|"):
        return _LineStart("row")
    if found := _ITEM.match(text):
        return _LineStart("item", lead=found[2], indent=len(found[1].expandtabs(4)), start=found.end())
    start = len(text) - len(text.lstrip())
    return _LineStart("text", indent=min(40, len(text[:start].expandtabs(4))), start=start)


#: How far a partner is looked for, in characters. Text waits for at most so long while it streams.
HOLD = 300
#: How many candidates for a partner are tried, so that a line of nothing but marks stays cheap.
_CANDIDATES = 12

_PLAIN = pattern_of(r"[^\\`*_~\[!]+")
_LINK = pattern_of(r"!?\[([^\[\]]{0,300})\]\(([^()\s]{1,2000})(?:\s+\"[^\"]{0,300}\")?\)")
_PERHAPS_LINK = pattern_of(r"!?\[[^\[\]]{0,300}(?:\](?:\([^()]{0,2000})?)?$")
_MARKS: tuple[tuple[str, Meaning], ...] = (
    ("**", "strong"), ("__", "strong"), ("~~", "struck"), ("*", "emphasis"), ("_", "emphasis"),
)  # fmt: skip

#: The spans of the source up to a place.
_Unit = tuple[list[Span], int]


def settle_spans(text: str, meanings: Meanings, *, final: bool, before: str = " ") -> tuple[list[Span], int]:
    """The spans that are certain, and how many characters of the source they cover.

    ``final`` says that no more of this line comes; ``before`` is the character in front of the text.

    >>> settle_spans("a **b", ("words",), final=False)
    ([('a ', ('words',))], 2)
    >>> settle_spans("a **b** c", ("words",), final=True)[0]
    [('a ', ('words',)), ('b', ('words', 'strong')), (' c', ('words',))]
    """
    spans: list[Span] = []
    position = 0
    while position < len(text):
        unit = _next_unit(text, position, meanings, final, text[position - 1] if position else before)
        if unit is None:
            break
        spans += unit[0]
        position = unit[1]
    return spans, position


def _reaches_on(text: str) -> bool:
    """Whether emphasis is open at the beginning of this text, the end of a line, so that the next may end it."""
    if not text or text[0] not in "*_~":
        return False
    return _parse_emphasis(text + "\n", 0, ("words",), len(text) + 1 < HOLD, " ") is None


def _next_unit(text: str, at: int, meanings: Meanings, final: bool, before: str) -> _Unit | None:
    """The next unit, or None while it is undecided."""
    if found := _PLAIN.match(text, at):
        return [(found[0], meanings)], found.end()
    waits = not final and len(text) - at < HOLD
    if text[at] == "\\":
        return _parse_escape(text, at, meanings, waits)
    if text[at] == "`":
        return _parse_code(text, at, meanings, waits)
    if text[at] in "![":
        return _parse_link(text, at, meanings, waits)
    return _parse_emphasis(text, at, meanings, waits, before)


def _literal_unit(text: str, at: int, meanings: Meanings, length: int = 1) -> _Unit:
    return [(text[at : at + length], meanings)], at + length


def _parse_escape(text: str, at: int, meanings: Meanings, waits: bool) -> _Unit | None:
    following = text[at + 1 : at + 2]
    if not following and waits:
        return None
    if following and following in "\\`*_{}[]()#+-.!|~>":
        return [(following, meanings)], at + 2
    return _literal_unit(text, at, meanings)


def _parse_code(text: str, at: int, meanings: Meanings, waits: bool) -> _Unit | None:
    ticks = re.compile(r"`+").match(text, at)
    assert ticks
    mark = ticks[0]
    end = text.find(mark, ticks.end(), at + 20 * HOLD)
    while end >= 0 and text[end + len(mark) : end + len(mark) + 1] == "`":
        end = text.find(mark, end + len(mark) + 1, at + 20 * HOLD)
    if end >= 0 and not (waits and end + len(mark) == len(text)):
        inside = text[ticks.end() : end]
        stripped = inside[1:-1] if inside.startswith(" ") and inside.endswith(" ") and inside.strip() else inside
        return [(stripped, (*meanings, "code"))], end + len(mark)
    return None if waits else _literal_unit(text, at, meanings, len(mark))


def _parse_link(text: str, at: int, meanings: Meanings, waits: bool) -> _Unit | None:
    if found := _LINK.match(text, at):
        label, address = found[1], found[2]
        shown: list[Span] = [(label or address, (*meanings, "link"))]
        if label and label != address:
            shown.append((f" ({address})", (*meanings, "quiet")))
        return shown, found.end()
    if waits and (_PERHAPS_LINK.match(text, at) or text[at:] == "!"):
        return None
    return _literal_unit(text, at, meanings)


def _parse_emphasis(text: str, at: int, meanings: Meanings, waits: bool, before: str) -> _Unit | None:
    mark, meaning = next(((m, meaning) for m, meaning in _MARKS if text.startswith(m, at)), ("", "words"))
    if not mark:
        return None if waits and len(text) == at + 1 else _literal_unit(text, at, meanings)
    inside = at + len(mark)
    if inside >= len(text) or (len(mark) == 1 and inside + 1 >= len(text) and text[inside] == mark):
        return None if waits else _literal_unit(text, at, meanings, len(mark))
    if text[inside].isspace() or (mark[0] == "_" and before.isalnum()):
        return _literal_unit(text, at, meanings, len(mark))
    end = _find_partner(text, inside, mark, waits)
    if end is None:
        return None if waits else _literal_unit(text, at, meanings, len(mark))
    spans, _ = settle_spans(text[inside:end], (*meanings, meaning), final=True)
    return spans, end + len(mark)


def _find_partner(text: str, start: int, mark: str, waits: bool) -> int | None:
    """Where the closing mark is, or None."""
    at = start
    for _ in range(_CANDIDATES):
        at = text.find(mark, at + 1, start + HOLD)
        if at < 0:
            return None
        run = re.compile(re.escape(mark[0]) + "+").match(text, at)
        assert run
        if waits and run.end() == len(text) and len(run[0]) < 3:
            return None
        if _is_closing(text, at, mark, run.end()):
            return at + (len(run[0]) - len(mark) if len(run[0]) > len(mark) else 0)
        at = run.end() - 1
    return None


def _is_closing(text: str, at: int, mark: str, run_end: int) -> bool:
    """Whether the run of marks here ends the emphasis: not after a space, not another kind of mark."""
    if text[at - 1].isspace():
        return False
    length = run_end - at
    if length != len(mark) and length != 3:
        return False
    return not (mark[0] == "_" and text[run_end : run_end + 1].isalnum())


#: How many lines before the present one are read again to colour it, so that long code stays linear.
_CONTEXT = 24
#: A line longer than this is not coloured.
_LONGEST = 2_000
_DELIMITER = pattern_of(r"\s*\|(?:\s*:?-+:?\s*\|)*\s*:?-*:?\s*\|?\s*$")
_SEPARATOR = pattern_of(r"(?<!\\)\|")


class _CodeBlock:
    """One block of code. Its text is shown exactly; colour is added where the language is known."""

    def __init__(self, language: str) -> None:
        self._lexer = _find_lexer(language.strip().split(" ")[0][:40])
        self._before: list[str] = []

    def colour_line(self, text: str) -> list[Span]:
        """The next line as spans."""
        spans: list[Span] = []
        if self._lexer and len(text) <= _LONGEST:
            for kind, value in self._lexer.get_tokens("\n".join([*self._before, text])):
                *ended, rest = value.split("\n")
                spans = [] if ended else spans
                spans += [(rest, (_token_meaning(kind),))] if rest else []
        self._before = [*self._before, text[:_LONGEST]][-_CONTEXT:]
        return spans if "".join(part for part, _ in spans) == text else [(text, ("words",))]


@cache
def _find_lexer(language: str) -> Lexer | None:
    if not language:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _token_meaning(kind: _TokenType) -> Meaning:
    from pygments.token import Comment, Keyword, Name, Number, String

    table: tuple[tuple[_TokenType, Meaning], ...] = (
        (Comment, "comment"), (Keyword, "keyword"), (String, "literal"), (Number, "number"),
        (Name.Function, "name"), (Name.Class, "name"), (Name.Tag, "keyword"),
    )  # fmt: skip
    return next((meaning for parent, meaning in table if kind in parent), "words")


def _draw_table(rows: list[str], meanings: Meanings) -> Table:
    """The table, its columns as wide as the window allows."""
    from rich import box
    from rich.table import Table

    header, delimiter, *body = (_split_cells(row) for row in rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, border_style=style_of(("quiet",)))
    for at, title in enumerate(header):
        dashes = delimiter[at] if at < len(delimiter) else ""
        align: JustifyMethod = "right" if dashes.endswith(":") else "left"
        if align == "right" and dashes.startswith(":"):
            align = "center"
        table.add_column(_cell_text(title, (*meanings, "strong")), justify=align, overflow="fold")
    for row in body:
        table.add_row(*(_cell_text(cell, meanings) for cell in row[: len(header)]))
    return table


def _split_cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _SEPARATOR.split(inner)]


def _cell_text(cell: str, meanings: Meanings) -> Text:
    from rich.text import Text

    spans, _ = settle_spans(cell, meanings, final=True)
    return Text.assemble(*((text, style_of(meaning)) for text, meaning in spans))
