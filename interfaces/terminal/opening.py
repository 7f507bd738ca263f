"""What stands on the screen before the first prompt: who is there, since when, what is remembered."""

from __future__ import annotations

import shutil

from conversation import Opening
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.messages import Words
from interfaces.terminal.reply import show_text
from interfaces.terminal.rounds import last_that_fit, show_rounds
from interfaces.terminal.times import local, pause


def show_opening(context: CommandContext, opening: Opening) -> str:
    """Show how the session stands. Returns what is to stand at the prompt: a message that got no reply."""
    context.aside.line(_headline(context, opening), "title")
    if context.conversation.llm.describe().standin:
        context.tell("open.standin", "quiet")
    if context.conversation.incognito:
        context.tell("open.incognito", "warning")
    for notice in context.settings.notices:
        context.aside.line(context.words.notice(notice), "warning")
    context.aside.line()
    if opening.resumed:
        _earlier(context, opening)
    return _in_flight(context, opening)


def _headline(context: CommandContext, opening: Opening) -> str:
    """Companion, session, start, model, and how much is remembered, on one line."""
    words, described = context.words, context.conversation.llm.describe()
    line = words.say(
        "open.resumed" if opening.resumed else "open.new",
        companion=context.conversation.companion(words.language),
        session=opening.session.session_id,
        started=local(opening.session.start_timestamp),
        model=words.say("open.standin_model") if described.standin else described.model,
    )
    return f"{line} · {_kept(words, opening)}"


def _kept(words: Words, opening: Opening) -> str:
    """How much is remembered."""
    if not opening.rounds_kept:
        return words.say("open.kept_nothing")
    counts = {"session": opening.sessions_kept, "round": opening.rounds_kept}
    told = [words.count(thing, count) for thing, count in counts.items() if count]
    return words.say("open.kept", what=words.say("open.kept_and").join(told))


def _earlier(context: CommandContext, opening: Opening) -> None:
    """The last rounds, at most one screen and a half."""
    rows = shutil.get_terminal_size().lines
    shown = last_that_fit(opening.rounds, context.aside.width, rows * 3 // 2 - 4)
    before = len(opening.rounds) - len(shown)
    if before:
        context.tell("open.earlier", "quiet", rounds=context.words.count("round", before))
        context.aside.line()
    show_rounds(context.aside, context.words, shown)
    if opening.gap:
        context.aside.line(pause(context.words, opening.gap), "quiet")
        context.aside.line()


def _in_flight(context: CommandContext, opening: Opening) -> str:
    if opening.in_flight is None or opening.in_flight.session_id != opening.session.session_id:
        return ""
    if opening.in_flight.partial:
        context.tell("open.partial", "quiet")
        show_text(context.aside, opening.in_flight.partial, quiet=True)
        context.aside.line()
    context.tell("open.in_flight", "quiet")
    return opening.in_flight.text
