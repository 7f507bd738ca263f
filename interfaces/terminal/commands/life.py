"""``/life``: all that was said, as chapters; what one of them holds and was made from; what a time holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from domain import errors
from domain.records import Session
from domain.text import day_of
from domain.tree import Chapter
from interfaces.terminal.command_context import Choice, CommandContext, Next
from interfaces.terminal.commands.earlier_sessions import session_row
from interfaces.terminal.session_view import day_here
from jobs.chapters import days_named

#: So many sessions of a time are shown, the newest of them.
_MOST = 30


@dataclass(frozen=True)
class _Numbered:
    """A chapter as a person sees it: its number, and how deep it stands under others."""

    number: int
    depth: int
    chapter: Chapter


def life(context: CommandContext, argument: str) -> Next:
    """``/life [N|DATE]``"""
    wanted, chapters = argument.strip(), _numbered(context)
    if not wanted:
        _tree(context, chapters)
    elif wanted.isdecimal() and 0 < int(wanted[:6]) <= len(chapters):
        _open(context, chapters[int(wanted) - 1], chapters)
    else:
        _time(context, wanted, chapters)
    return None


def life_choices(context: CommandContext, words: tuple[str, ...]) -> list[Choice]:
    """The chapters by number, with their titles, for completion."""
    return (
        [] if words else [Choice(str(one.number), _title(context, one.chapter)) for one in _numbered(context)]
    )


def _numbered(context: CommandContext) -> list[_Numbered]:
    """All chapters of sessions, each before those under it, the earliest first."""
    chapters = [one for one in context.memory.chapters.all() if not one.session_id]

    def under(parent: str, depth: int) -> Iterator[tuple[int, Chapter]]:
        for one in chapters:
            if one.parent == parent:
                yield depth, one
                yield from under(one.text_id, depth + 1)

    return [_Numbered(number, depth, one) for number, (depth, one) in enumerate(under("", 0), 1)]


def _tree(context: CommandContext, chapters: Sequence[_Numbered]) -> None:
    sessions = [one for one in context.memory.sessions.recent(None) if one.status == "archived"]
    grouped = {number for one in chapters for number in one.chapter.sessions}
    loose = context.words.count("session", sum(one.number not in grouped for one in sessions))
    for one in chapters:
        _row(context, one)
    if not chapters:
        context.tell("life.nothing", size=context.settings.group_size, sessions=loose)
    else:
        context.tell("life.loose", "quiet", sessions=loose)
        context.tell("life.how", "quiet")
    if context.conversation.llm.describe().standin:
        context.tell("life.waits", "quiet")


def _row(context: CommandContext, one: _Numbered) -> None:
    context.aside.one_row(f"{'   ' * one.depth}{one.number:>3} {_told(context, one.chapter)}")


def _told(context: CommandContext, chapter: Chapter) -> str:
    """The days and the title of a chapter."""
    title = _title(context, chapter)
    return context.words.say(
        "life.row", first=day_here(chapter.start), last=day_here(chapter.end), title=title
    )


def _title(context: CommandContext, chapter: Chapter) -> str:
    return chapter.title or context.words.say("life.anew")


def _open(context: CommandContext, opened: _Numbered, chapters: Sequence[_Numbered]) -> None:
    """One chapter: its days, its text, and what it was made from."""
    chapter = opened.chapter
    context.aside.line(_told(context, chapter), "title")
    for line in chapter.text.strip().splitlines()[1:]:
        context.aside.line(line)
    context.aside.line()
    context.tell("life.drawn", "quiet", day=day_here(chapter.stored_at))
    below = [one for one in chapters if one.chapter.parent == chapter.text_id]
    for one in below:
        context.aside.one_row(f"{one.number:>3} {_told(context, one.chapter)}", "quiet")
    if not below:
        found = map(context.memory.sessions.find, chapter.children)
        _sessions(context, [session for session in found if session])


def _sessions(context: CommandContext, sessions: Sequence[Session]) -> None:
    for session in sessions:
        context.aside.one_row(f"     {session_row(context, session)}", "quiet")


def _time(context: CommandContext, wanted: str, chapters: Sequence[_Numbered]) -> None:
    """What a time holds: its chapters, and its sessions. Raises UsageError for what is no time."""
    days = days_named(wanted, context.clock().date())
    if days is None:
        raise errors.UsageError("life.unknown", given=wanted)
    then = [one for one in chapters if _meets(one.chapter, days.first, days.last)]
    sessions = [
        one for one in context.memory.sessions.recent(None) if _began(context, one, days.first, days.last)
    ]
    for one in then:
        _row(context, one)
    _sessions(context, sessions[:_MOST][::-1])
    if not then and not sessions:
        context.tell("life.none_then", first=days.first.isoformat(), last=days.last.isoformat())


def _meets(chapter: Chapter, first: date, last: date) -> bool:
    start, end = day_of(chapter.start), day_of(chapter.end)
    return start is not None and end is not None and start <= last and end >= first


def _began(context: CommandContext, session: Session, first: date, last: date) -> bool:
    """Whether a session in which anything was said began in these days."""
    day = day_of(session.start_timestamp)
    return (
        day is not None
        and first <= day <= last
        and bool(context.memory.messages.rounds(session.session_id, 1))
    )
