"""How a session is shown: the opening before the first prompt, earlier rounds, times and pauses in words.

Rounds of earlier are drawn by the renderer that draws live replies.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta

from conversation import LARGE_GAP, Opening
from domain.facts import SessionChanges
from domain.records import Message, Round, Session
from domain.text import one_line
from interfaces.messages import Words
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.line_source import PROMPT
from interfaces.terminal.reply import show_text
from interfaces.terminal.screen import Screen, cells_of
from language.calendar import age_in, date_of, in_zone

#: How a pause is counted: from how much on in this unit, and how long the unit is.
_UNITS = (
    ("year", timedelta(days=365), timedelta(days=365)),
    ("month", timedelta(days=60), timedelta(days=30)),
    ("day", timedelta(days=1), timedelta(days=1)),
    ("hour", timedelta(0), timedelta(hours=1)),
)

#: From which hour on each part of a day is.
_PARTS_OF_DAY = ((0, "night"), (5, "morning"), (12, "afternoon"), (18, "evening"))
#: A day of the week is named while it can only be the last one of that name.
_DAYS_OF_WEEK = 7
_TITLE = 60
#: What may come before the words of a summary's first line.
_MARKUP = "#*->_ \t"


def show_opening(context: CommandContext, opening: Opening) -> str:
    """Show the opening. Returns the text to put at the prompt: a message that got no reply."""
    context.aside.one_row(_format_headline(context, opening), "title")
    show_session(context)
    if context.conversation.llm.described.demo:
        context.tell("open.demo", "quiet")
    if context.conversation.incognito:
        context.tell("open.incognito", "warning")
    others = context.memory.external
    for notice in (*context.settings.notices, *(others.take_notices() if others else ())):
        context.aside.line(context.words.describe_notice(notice), "warning")
    if not opening.resumed and context.memory.claims.taken_elsewhere("session"):
        context.tell("opening.beside", "quiet")
    if opening.keeping:
        context.aside.line(context.words.plural("opening.autosaving", opening.keeping), "quiet")
    if opening.news:
        context.aside.one_row(context.words.say("opening.news", news=news_line(context.words, opening.news)), "quiet")
    context.aside.line()
    if opening.resumed:
        _show_earlier(context, opening)
    return _show_in_flight(context, opening)


def show_session(context: CommandContext) -> None:
    """The present session's id and when it began, on one quiet line."""
    session = context.conversation.session
    began = format_local(session.start_timestamp)
    context.aside.one_row(context.words.say("open.session", id=session.session_id, began=began), "quiet")


def _format_headline(context: CommandContext, opening: Opening) -> str:
    """Who is there, when both last spoke, and how much is remembered, on one line."""
    words = context.words
    when = spoken_when(words, opening.last_spoken, context.clock()) if opening.last_spoken else ""
    spoken = words.say("open.spoken", when=when) if when else words.say("open.never")
    companion = context.conversation.companion(words.language)
    return words.say("open.line", companion=companion, spoken=spoken, kept=_format_kept(context, opening))


def _format_kept(context: CommandContext, opening: Opening) -> str:
    """How much is remembered: evenings, where all of it was said in the evening, else conversations."""
    if not opening.rounds_kept:
        return context.words.say("open.nothing_remembered")
    ends = [local_time(each.end_timestamp) for each in context.memory.sessions.recent(None) if each.end_timestamp]
    ends += [local_time(spoken.assistant.timestamp) for spoken in opening.rounds[-1:]]
    evenings = {end.date() for end in ends if _part_of_day(end) == "evening"}
    thing = "evening" if len(evenings) == len(ends) else "conversation"
    return context.words.say("open.remembered", what=context.words.count(thing, max(1, len(ends))))


def news_line(words: Words, news: SessionChanges) -> str:
    """What changed in what is known: "2 new, 1 changed"."""
    counts = [("new", news.new), ("changed", news.changed), ("ended", news.ended)]
    return words.join(words.say(f"news.{name}", count=count) for name, count in counts if count)


def _show_earlier(context: CommandContext, opening: Opening) -> None:
    """The last rounds, at most one screen and a half."""
    rows = shutil.get_terminal_size().lines
    shown = _last_that_fit(opening.rounds, context.aside.width, rows * 3 // 2 - 4)
    before = len(opening.rounds) - len(shown)
    if before:
        context.tell("open.earlier", "quiet", rounds=context.words.count("round", before))
        context.aside.line()
    show_rounds(context.aside, context.words, shown)
    if opening.gap:
        context.aside.line(_format_pause(context.words, opening.gap), "quiet")
        context.aside.line()


def _show_in_flight(context: CommandContext, opening: Opening) -> str:
    if opening.in_flight is None or opening.in_flight.session_id != opening.session.session_id:
        return ""
    if opening.in_flight.partial:
        context.tell("open.partial", "quiet")
        show_text(context.aside, opening.in_flight.partial, quiet=True)
        context.aside.line()
    context.tell("open.in_flight", "quiet")
    return opening.in_flight.text


def show_rounds(screen: Screen, words: Words, rounds: Sequence[Round], *, quiet: bool = True) -> None:
    """Show rounds, oldest first, with the time where there was a long pause."""
    before = ""
    for spoken in rounds:
        if _show_pause(screen, words, before, spoken.user.timestamp):
            screen.line()
        before = spoken.assistant.timestamp
        _show_person(screen, spoken.user.words)
        screen.line()
        show_text(screen, spoken.assistant.words, quiet=quiet)
        if spoken.assistant.finish != "stop":
            screen.line(words.say(f"turn.{spoken.assistant.finish}"), "quiet")
        screen.line()


def show_messages(screen: Screen, words: Words, messages: Sequence[Message]) -> None:
    """Show turns one by one, each by its speaker, with the time where there was a long pause: a talk of people."""
    before = ""
    for message in messages:
        _show_pause(screen, words, before, message.timestamp)
        before = message.timestamp
        if message.role == "user":
            _show_person(screen, message.words)
            continue
        if message.speaker:
            screen.line(message.speaker, "strong")
        show_text(screen, message.words, quiet=False)


def _show_pause(screen: Screen, words: Words, before: str, after: str) -> bool:
    """A line where a long time has passed between two stored times; whether there is one."""
    gap = datetime.fromisoformat(after) - datetime.fromisoformat(before) if before else timedelta()
    if gap >= LARGE_GAP:
        screen.line(f"{_format_pause(words, gap)} · {format_local(after)}", "quiet")
    return gap >= LARGE_GAP


def _show_person(screen: Screen, text: str) -> None:
    """What the person said, as it was at the prompt: its line breaks and numbers kept."""
    first, *others = text.split("\n")
    screen.line(PROMPT + first, "quiet")
    for line in others:
        screen.line((" " * len(PROMPT) + line).rstrip(), "quiet")


def _last_that_fit(rounds: Sequence[Round], width: int, rows: int) -> Sequence[Round]:
    """As many of the last rounds as fill this many rows, at least one."""
    left = rows
    for at in range(len(rounds) - 1, -1, -1):
        left -= _count_rows(rounds[at].user.words, width) + _count_rows(rounds[at].assistant.words, width) + 2
        if left < 0:
            return rounds[min(at + 1, len(rounds) - 1) :]
    return rounds


def _count_rows(text: str, width: int) -> int:
    return sum(1 + cells_of(line) // max(1, width) for line in text.split("\n"))


def _part_of_day(when: datetime) -> str:
    """Morning, afternoon, evening, or night: the hours after midnight."""
    return [name for first, name in _PARTS_OF_DAY if first <= when.hour][-1]


def spoken_when(words: Words, then: str, now: datetime) -> str:
    """When that was, as one says it, in days of the calendar here: "yesterday evening", "on Sunday"."""
    then_here = local_time(then)
    days = (in_zone(now).date() - then_here.date()).days
    if days < 0:
        return words.say("when.date", date=then_here.date())
    if days < 2:
        return words.say(f"when.yesterday.{_part_of_day(then_here)}" if days else "when.today")
    if days < _DAYS_OF_WEEK:
        return words.say("when.weekday", day=words.say("when.weekdays").split()[then_here.weekday()])
    return age_in(words.language, then_here.date(), in_zone(now).date())


def local_time(timestamp: str) -> datetime:
    """A stored time, as the clock here shows it."""
    return in_zone(datetime.fromisoformat(timestamp))


def format_local(timestamp: str) -> str:
    """A stored time, here."""
    return date_of(local_time(timestamp).isoformat())


def day_here(when: str) -> str:
    """The day of a stored time, here; of one that is only known as a year, a month or a day, just that."""
    return format_local(when)[:10] if "T" in when else when


def _format_pause(words: Words, gap: timedelta) -> str:
    """How long a pause was: "3 days later"."""
    name, length = next((name, length) for name, least, length in _UNITS if gap >= least)
    return words.say("open.gap", gap=words.count(name, gap // length))


def session_row(context: CommandContext, session: Session) -> str:
    """Day, length and title of a session."""
    rounds = context.memory.messages.rounds(session.session_id)
    alone = 0 if rounds else len(context.memory.messages.of_session(session.session_id))
    began = local_time(rounds[0].user.timestamp if rounds else session.start_timestamp)
    return context.words.say(
        "sessions.row",
        day=f"{began.date()} {context.words.say('weekdays').split()[began.weekday()]}",
        rounds=context.words.count("message", alone) if alone else context.words.count("round", len(rounds)),
        title=title_of(context, session),
    )


def title_of(context: CommandContext, session: Session) -> str:
    """What a session was about: how its summary begins, or its first message; never what is hidden."""
    if summary := context.memory.shown.summary(session.session_id):
        lines = (line.strip(_MARKUP) for line in summary.summary.splitlines())
        return one_line(next((line for line in lines if line), ""), _TITLE)
    said = [message for message in context.memory.messages.of_session(session.session_id) if message.role == "user"]
    first = next((message.words for message in said if not message.hidden), "")
    return one_line(first, _TITLE) if first else context.words.say("sessions.hidden") if said else "–"
