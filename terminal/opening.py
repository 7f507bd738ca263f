"""What stands on the screen before the first prompt: who is there, since when, what is remembered."""

from __future__ import annotations

import shutil

from conversation import Opening
from terminal.desk import Desk
from terminal.messages import Words
from terminal.reply import show_text
from terminal.rounds import last_that_fit, show_rounds
from terminal.times import local, pause


def show_opening(desk: Desk, opening: Opening) -> str:
    """Show how the session stands. Returns what is to stand at the prompt: a message that got no reply."""
    desk.aside.line(_headline(desk, opening), "title")
    if desk.conversation.llm.describe().standin:
        desk.tell("open.standin", "quiet")
    if desk.conversation.incognito:
        desk.tell("open.incognito", "warning")
    for notice in desk.settings.notices:
        desk.aside.line(desk.words.notice(notice), "warning")
    desk.aside.line()
    if opening.resumed:
        _earlier(desk, opening)
    return _in_flight(desk, opening)


def _headline(desk: Desk, opening: Opening) -> str:
    """Companion, session, start, model, and how much is remembered, on one line."""
    words, described = desk.words, desk.conversation.llm.describe()
    line = words.say(
        "open.resumed" if opening.resumed else "open.new",
        companion=desk.conversation.companion(words.language),
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


def _earlier(desk: Desk, opening: Opening) -> None:
    """The last rounds, at most one screen and a half."""
    rows = shutil.get_terminal_size().lines
    shown = last_that_fit(opening.rounds, desk.aside.width, rows * 3 // 2 - 4)
    before = len(opening.rounds) - len(shown)
    if before:
        desk.tell("open.earlier", "quiet", rounds=desk.words.count("round", before))
        desk.aside.line()
    show_rounds(desk.aside, desk.words, shown)
    if opening.gap:
        desk.aside.line(pause(desk.words, opening.gap), "quiet")
        desk.aside.line()


def _in_flight(desk: Desk, opening: Opening) -> str:
    if opening.in_flight is None or opening.in_flight.session_id != opening.session.session_id:
        return ""
    if opening.in_flight.partial:
        desk.tell("open.partial", "quiet")
        show_text(desk.aside, opening.in_flight.partial, quiet=True)
        desk.aside.line()
    desk.tell("open.in_flight", "quiet")
    return opening.in_flight.text
