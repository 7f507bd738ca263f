"""``/diary``: the pages that the companion wrote after each session, to read, or to write to a file as a book."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path

from domain import errors
from domain.text import one_line
from domain.tree import Page
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.file_export import write_new
from interfaces.terminal.session_view import day_here
from jobs.chapters import days_named
from language.calendar import day_of, whole_day_in

#: Without a date the last pages are shown.
_LAST = 3
_EXCERPT = 160
_STYLE = (
    "body{font:12pt/1.6 Georgia,'Songti SC',serif;max-width:34em;margin:3em auto;padding:0 1em}"
    "h2{font-size:1.05em;margin-top:3em}section{break-inside:avoid}@page{margin:25mm}"
)


def run_diary(context: CommandContext, argument: str) -> None:
    """``/diary [DATE|all] [full]``, ``/diary export FILE.md|FILE.html``."""
    pages = context.memory.chapters.pages()
    first, _, rest = argument.strip().partition(" ")
    if not pages:
        context.tell("diary.off" if context.settings.diary == "off" else "diary.empty")
    elif first == "export" and rest.strip():
        _write_book(context, pages, rest.strip())
    else:
        words = argument.split()
        full = words[-1:] == ["full"]
        chosen = _choose(context, pages, " ".join(words[:-1] if full else words))
        for page in chosen:
            _show_page(context, page, full=full)
        context.tell("diary.how", "quiet")


def _choose(context: CommandContext, pages: Sequence[Page], wanted: str) -> Sequence[Page]:
    """The last pages, all, or those of a time. Raises UsageError."""
    if not wanted or wanted == "all":
        return pages if wanted else pages[-_LAST:]
    days = days_named(wanted, context.clock().date())
    if days is None:
        raise errors.UsageError("diary.unknown", given=wanted)
    chosen = [page for page in pages if (day := day_of(day_here(page.start))) and days.first <= day <= days.last]
    if not chosen:
        context.tell("diary.none_then", first=days.first.isoformat(), last=days.last.isoformat())
    return chosen


def _show_page(context: CommandContext, page: Page, *, full: bool) -> None:
    context.aside.line(_title(context, page), "title")
    for sentence, messages in page.sentences:
        context.aside.line(sentence)
        for message in context.memory.messages.with_ids(messages) if full else ():
            context.aside.line(one_line(message.text, _EXCERPT), "quiet", lead="    ")
    context.aside.line()


def _title(context: CommandContext, page: Page) -> str:
    day = day_of(day_here(page.start))
    return whole_day_in(context.words.language, day) if day else page.session_id


def _write_book(context: CommandContext, pages: Sequence[Page], name: str) -> None:
    """All pages in one file: Markdown, or HTML for printing. Raises UsageError."""
    form = Path(name).suffix.lower()
    if form not in (".md", ".html"):
        raise errors.UsageError("export.format", given=form or name, formats="FILE.md, FILE.html")
    title = context.words.say("diary.title", companion=context.conversation.companion(context.words.language))
    lines = _html(context, title, pages) if form == ".html" else _markdown(context, title, pages)
    path = write_new(name, "\n".join(lines))
    context.tell("diary.written", "good", count=context.words.count("page", len(pages)), path=path)


def _markdown(context: CommandContext, title: str, pages: Sequence[Page]) -> Iterator[str]:
    yield f"# {title}\n"
    for page in pages:
        yield f"## {_title(context, page)}\n\n{page.text}\n"


def _html(context: CommandContext, title: str, pages: Sequence[Page]) -> Iterator[str]:
    head = f"<meta charset=utf-8><title>{html.escape(title)}</title><style>{_STYLE}</style>"
    yield f"<!doctype html><html lang={context.words.language}><head>{head}</head><body><h1>{html.escape(title)}</h1>"
    for page in pages:
        said = "".join(f"<p>{html.escape(sentence)}</p>" for sentence, _ in page.sentences)
        yield f"<section><h2>{html.escape(_title(context, page))}</h2>{said}</section>"
    yield "</body></html>"
