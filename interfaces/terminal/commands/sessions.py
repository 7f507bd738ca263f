"""Commands of earlier sessions: listing, showing, going on in one, writing them to a file."""

from __future__ import annotations

from domain import errors
from domain.records import Session
from domain.text import one_line
from interfaces.terminal.command_context import CommandContext, Next
from interfaces.terminal.commands.saving import save_session
from interfaces.terminal.commands.talk import number
from interfaces.terminal.own_files import FORMATS, exported, write_new
from interfaces.terminal.session_view import local, show_opening, show_rounds

_LISTED = 20
_ABOUT = 60


def sessions(context: CommandContext, argument: str) -> Next:
    """``/sessions [n]``"""
    count = number(context, argument, _LISTED)
    if count is None:
        return None
    found = context.memory.recent_sessions(count)
    for session in reversed(found):
        context.aside.line(_row(context, session))
    if len(found) < 2:
        context.tell("sessions.nothing", "quiet")
    return None


def _row(context: CommandContext, session: Session) -> str:
    memory = context.memory
    rounds = memory.rounds(session.session_id)
    summary = memory.summary(session.session_id)
    about = summary.summary if summary else (rounds[0].user.words if rounds else "")
    present = session.session_id == context.session_id
    return context.words.say(
        "sessions.row",
        session=session.session_id,
        start=local(session.start_timestamp),
        rounds=context.words.count("round", len(rounds)),
        about=context.words.say("sessions.present") if present else one_line(about, _ABOUT),
    )


def session_ids(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    """Ids of sessions, newest first, for completion."""
    if words:
        return []
    return [session.session_id for session in context.memory.recent_sessions(50)]


def found_session(context: CommandContext, wanted: str) -> Session:
    """The session with this id, or whose id begins so. Raises UsageError."""
    memory = context.memory
    if not wanted:
        raise errors.UsageError("sessions.which")
    if exact := memory.session(wanted):
        return exact
    found = [session for session in memory.recent_sessions(-1) if session.session_id.startswith(wanted)]
    if len(found) != 1:
        raise errors.UsageError("sessions.ambiguous" if found else "sessions.unknown", session=wanted)
    return found[0]


def show(context: CommandContext, argument: str) -> Next:
    """``/show ID``"""
    session = found_session(context, argument)
    memory = context.memory
    context.aside.line(_row(context, session), "title")
    if summary := memory.summary(session.session_id):
        context.aside.line(summary.summary, "quiet")
    context.aside.line()
    show_rounds(context.aside, context.words, memory.rounds(session.session_id), quiet=False)
    return None


def resume(context: CommandContext, argument: str) -> Next:
    """``/resume ID``"""
    session = found_session(context, argument)
    if session.session_id == context.session_id:
        context.tell("resume.present")
        return None
    if context.memory.rounds(context.session_id):
        context.tell("save.first", "quiet")
        if not save_session(context, "save.archived"):
            return None
    opened = context.memory.resume(session.session_id, context.session_id)
    opening = context.conversation.switch_to(opened, resumed=True)
    context.tell("resume.done", session=session.session_id)
    context.aside.gap()
    show_opening(context, opening)
    return None


def export(context: CommandContext, argument: str) -> Next:
    """``/export [ID|all] [md|json] [FILE]``"""
    words = argument.split()
    memory = context.memory
    wanted, form, name = "", "md", ""
    if words and words[0] not in FORMATS and not _is_file(words[0]):
        wanted = words.pop(0)
    if words and words[0] in FORMATS:
        form = words.pop(0)
    name = " ".join(words)
    if wanted == "all":
        chosen = list(reversed(memory.recent_sessions(-1)))
    else:
        chosen = [found_session(context, wanted or context.session_id)]
    path = write_new(
        name or f"old-friend-{'all' if wanted == 'all' else chosen[0].session_id}.{form}",
        exported(chosen, memory, context.conversation, form, context.words),
    )
    context.tell("export.done", sessions=context.words.count("session", len(chosen)), path=path)
    return None


def export_choices(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    """What may follow ``/export``."""
    return ["all", *FORMATS, *session_ids(context, ())] if not words else [*FORMATS]


def _is_file(word: str) -> bool:
    return "/" in word or word.endswith(tuple(f".{form}" for form in FORMATS))
