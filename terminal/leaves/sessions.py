"""Commands of earlier sessions: listing, showing, going on in one, writing them to a file."""

from __future__ import annotations

import errors
from storage.records import Session
from terminal.desk import Desk, Next
from terminal.exporting import FORMATS, exported, write_new
from terminal.leaves.saving import save_session
from terminal.leaves.talk import number
from terminal.opening import show_opening
from terminal.rounds import show_rounds
from terminal.times import local
from text import one_line

_LISTED = 20
_ABOUT = 60


def sessions(desk: Desk, argument: str) -> Next:
    """``/sessions [n]``"""
    count = number(desk, argument, _LISTED)
    if count is None:
        return None
    found = desk.conversation.memory.sessions.newest(count)
    for session in reversed(found):
        desk.aside.line(_row(desk, session))
    if len(found) < 2:
        desk.tell("sessions.nothing", "quiet")
    return None


def _row(desk: Desk, session: Session) -> str:
    stored = desk.conversation.memory.sessions
    rounds = stored.rounds(session.session_id)
    summary = stored.summary(session.session_id)
    about = summary.summary if summary else (rounds[0].user.words if rounds else "")
    present = session.session_id == desk.conversation.session.session_id
    return desk.words.say(
        "sessions.row",
        session=session.session_id,
        start=local(session.start_timestamp),
        rounds=desk.words.count("round", len(rounds)),
        about=desk.words.say("sessions.present") if present else one_line(about, _ABOUT),
    )


def session_ids(desk: Desk, words: tuple[str, ...]) -> list[str]:
    """Ids of sessions, newest first, for completion."""
    if words:
        return []
    return [session.session_id for session in desk.conversation.memory.sessions.newest(50)]


def found_session(desk: Desk, wanted: str) -> Session:
    """The session with this id, or whose id begins so. Raises UsageError."""
    stored = desk.conversation.memory.sessions
    if not wanted:
        raise errors.UsageError("sessions.which")
    if exact := stored.get(wanted):
        return exact
    found = [session for session in stored.newest(-1) if session.session_id.startswith(wanted)]
    if len(found) != 1:
        raise errors.UsageError("sessions.ambiguous" if found else "sessions.unknown", session=wanted)
    return found[0]


def show(desk: Desk, argument: str) -> Next:
    """``/show ID``"""
    session = found_session(desk, argument)
    stored = desk.conversation.memory.sessions
    desk.aside.line(_row(desk, session), "title")
    if summary := stored.summary(session.session_id):
        desk.aside.line(summary.summary, "quiet")
    desk.aside.line()
    show_rounds(desk.aside, desk.words, stored.rounds(session.session_id), quiet=False)
    return None


def resume(desk: Desk, argument: str) -> Next:
    """``/resume ID``"""
    session = found_session(desk, argument)
    conversation = desk.conversation
    if session.session_id == conversation.session.session_id:
        desk.tell("resume.present")
        return None
    if conversation.memory.sessions.rounds(conversation.session.session_id):
        desk.tell("save.first", "quiet")
        if not save_session(desk, "save.archived"):
            return None
    opened = conversation.memory.resume(session.session_id, conversation.session.session_id)
    opening = conversation.switch_to(opened, resumed=True)
    desk.tell("resume.done", session=session.session_id)
    desk.aside.gap()
    show_opening(desk, opening)
    return None


def export(desk: Desk, argument: str) -> Next:
    """``/export [ID|all] [md|json] [FILE]``"""
    words = argument.split()
    stored = desk.conversation.memory.sessions
    wanted, form, name = "", "md", ""
    if words and words[0] not in FORMATS and not _is_file(words[0]):
        wanted = words.pop(0)
    if words and words[0] in FORMATS:
        form = words.pop(0)
    name = " ".join(words)
    if wanted == "all":
        chosen = list(reversed(stored.newest(-1)))
    else:
        chosen = [found_session(desk, wanted or desk.conversation.session.session_id)]
    path = write_new(
        name or f"old-friend-{'all' if wanted == 'all' else chosen[0].session_id}.{form}",
        exported(chosen, stored, desk.conversation, form, desk.words),
    )
    desk.tell("export.done", sessions=desk.words.count("session", len(chosen)), path=path)
    return None


def export_choices(desk: Desk, words: tuple[str, ...]) -> list[str]:
    """What may follow ``/export``."""
    return ["all", *FORMATS, *session_ids(desk, ())] if not words else [*FORMATS]


def _is_file(word: str) -> bool:
    return "/" in word or word.endswith(tuple(f".{form}" for form in FORMATS))
