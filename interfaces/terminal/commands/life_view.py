"""The life of the two by time: its chapters (``/life``), the pages that the companion wrote after each session
(``/diary``, to read, or to write to a file as a book), and what is open until a person settles it (``/open``).
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from domain import errors
from domain.matters import OPEN, OpenMatter
from domain.records import Session
from domain.text import one_line
from domain.tree import Chapter, Page
from interfaces.terminal.command_context import Choice, CommandContext
from interfaces.terminal.commands.memory_view import speaker_name
from interfaces.terminal.file_export import write_new
from interfaces.terminal.session_view import day_here, session_row
from jobs.chapters import days_named
from jobs.greeting import decide, due_day, list_open
from language.calendar import day_of, whole_day_in

#: So many sessions of a time are shown, the newest of them.
_MOST_SESSIONS = 30
#: Without a date the last pages are shown.
_LAST = 3
_EXCERPT = 160
_STYLE = (
    "body{font:12pt/1.6 Georgia,'Songti SC',serif;max-width:34em;margin:3em auto;padding:0 1em}"
    "h2{font-size:1.05em;margin-top:3em}section{break-inside:avoid}@page{margin:25mm}"
)
#: What can be done with what is open.
_DEEDS = ("done", "drop", "later")


# -- /life


@dataclass(frozen=True)
class _Numbered:
    """A chapter as a person sees it: its number, and its depth under other chapters."""

    number: int
    depth: int
    chapter: Chapter


def show_life(context: CommandContext, argument: str) -> None:
    """``/life [N|DATE]``."""
    wanted, chapters = argument.strip(), _number_chapters(context)
    if not wanted:
        _show_tree(context, chapters)
    elif wanted.isdecimal() and 0 < int(wanted[:6]) <= len(chapters):
        _open_chapter(context, chapters[int(wanted) - 1], chapters)
    else:
        _show_time(context, wanted, chapters)


def life_choices(context: CommandContext, words: tuple[str, ...]) -> list[Choice]:
    """The chapters by number, with their titles, for completion."""
    numbered = () if words else _number_chapters(context)
    return [Choice(str(one.number), _chapter_title(context, one.chapter)) for one in numbered]


def _number_chapters(context: CommandContext) -> list[_Numbered]:
    """All chapters of sessions, each before those under it, the earliest first."""
    chapters = [one for one in context.memory.shown.chapters() if not one.session_id]

    def under(parent: str, depth: int) -> Iterator[tuple[int, Chapter]]:
        for one in chapters:
            if one.parent == parent:
                yield depth, one
                yield from under(one.text_id, depth + 1)

    return [_Numbered(number, depth, one) for number, (depth, one) in enumerate(under("", 0), 1)]


def _show_tree(context: CommandContext, chapters: Sequence[_Numbered]) -> None:
    sessions = [one for one in context.memory.sessions.recent(None) if one.status == "archived"]
    grouped = {number for one in chapters for number in one.chapter.sessions}
    loose = context.words.count("session", sum(one.number not in grouped for one in sessions))
    for one in chapters:
        _chapter_row(context, one)
    if not chapters:
        context.tell("life.nothing", size=context.settings.group_size, sessions=loose)
    else:
        context.tell("life.loose", "quiet", sessions=loose)
        context.tell("life.how", "quiet")
    if context.conversation.llm.described.demo:
        context.tell("life.waits", "quiet")


def _chapter_row(context: CommandContext, one: _Numbered) -> None:
    context.aside.one_row(f"{'   ' * one.depth}{one.number:>3} {_describe_chapter(context, one.chapter)}")


def _describe_chapter(context: CommandContext, chapter: Chapter) -> str:
    return f"{day_here(chapter.start)} – {day_here(chapter.end)} · {_chapter_title(context, chapter)}"


def _chapter_title(context: CommandContext, chapter: Chapter) -> str:
    return chapter.title or context.words.say("life.rebuild")


def _open_chapter(context: CommandContext, opened: _Numbered, chapters: Sequence[_Numbered]) -> None:
    chapter = opened.chapter
    context.aside.line(_describe_chapter(context, chapter), "title")
    for line in chapter.text.strip().splitlines()[1:]:
        context.aside.line(line)
    context.aside.line()
    context.tell("life.written", "quiet", day=day_here(chapter.stored_at))
    below = [one for one in chapters if one.chapter.parent == chapter.text_id]
    for one in below:
        context.aside.one_row(f"{one.number:>3} {_describe_chapter(context, one.chapter)}", "quiet")
    if not below:
        found = map(context.memory.sessions.find, chapter.children)
        _show_sessions(context, [session for session in found if session])


def _show_sessions(context: CommandContext, sessions: Sequence[Session]) -> None:
    for session in sessions:
        context.aside.one_row(f"     {session_row(context, session)}", "quiet")


def _show_time(context: CommandContext, wanted: str, chapters: Sequence[_Numbered]) -> None:
    """The chapters and the sessions of a time. Raises UsageError for what is no time."""
    days = days_named(wanted, context.clock().date())
    if days is None:
        raise errors.UsageError("life.unknown", given=wanted)
    then = [one for one in chapters if _overlaps(one.chapter.start, one.chapter.end, days.first, days.last)]
    sessions = [
        one
        for one in context.memory.sessions.recent(None)
        if _overlaps(one.start_timestamp, one.start_timestamp, days.first, days.last)
        and context.memory.messages.rounds(one.session_id, 1)
    ]
    for one in then:
        _chapter_row(context, one)
    _show_sessions(context, sessions[:_MOST_SESSIONS][::-1])
    if not then and not sessions:
        context.tell("life.none_then", first=days.first.isoformat(), last=days.last.isoformat())


def _overlaps(start: str, end: str, first: date, last: date) -> bool:
    starts, ends = day_of(start), day_of(end)
    return starts is not None and ends is not None and starts <= last and ends >= first


# -- /diary


def run_diary(context: CommandContext, argument: str) -> None:
    """``/diary [DATE|all] [full]``, ``/diary export FILE.md|FILE.html``."""
    pages = context.memory.shown.pages()
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
        raise errors.UsageError("export.format", given=form or name, formats=("FILE.md", "FILE.html"))
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


# -- /open


def run_open(context: CommandContext, argument: str) -> None:
    """``/open [N done|drop|later DATE]``. Raises UsageError for what is not open, or for what is no day."""
    number, _, rest = argument.strip().partition(" ")
    deed, _, when = rest.strip().partition(" ")
    if not argument.strip():
        _show_open(context)
    elif number.isdecimal() and (deed := deed.lower()) in _DEEDS:
        matter = decide(context.memory, int(number[:9]), deed, when.strip(), context.clock())  # type: ignore[arg-type]
        context.tell(f"open.done.{deed}", text=one_line(matter.words, 80), day=matter.next_review)
    else:
        context.tell("open.how", "warning")


def _show_open(context: CommandContext) -> None:
    matters = list_open(context.memory, context.clock())
    if not matters:
        context.tell("open.nothing")
    for one in matters:
        show_matter(context, one)
    if matters:
        context.tell("open.how", "quiet")


def show_matter(context: CommandContext, one: OpenMatter) -> None:
    """A matter on a row, and below it who said it when."""
    day = due_day(one, context.clock()) or context.words.say("open.no_day")
    kind = context.words.say(f"open.kind.{one.kind}")
    context.aside.one_row(f"{one.number:>3} {day} · {kind} · {one_line(one.words)}")
    key = "open.source_asked" if one.asked else "open.source"
    asked = day_here(one.asked_at) if one.asked else ""
    context.tell(key, "quiet", who=speaker_name(context, one.role), day=day_here(one.said), asked=asked)


def open_choices(context: CommandContext, typed: tuple[str, ...]) -> Iterable[str | Choice]:
    """What is open by number, then what can be done."""
    if not typed:
        waiting = context.memory.matters.with_status(OPEN)
        return [Choice(str(one.number), one_line(one.words, 60)) for one in waiting]
    return _DEEDS if len(typed) == 1 else ()
