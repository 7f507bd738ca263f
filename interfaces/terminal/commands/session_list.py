"""Commands of earlier sessions: listing, showing, going on in one, writing them to a file."""

from __future__ import annotations

from domain import errors
from domain.records import IMPORT_CLIENT, SERVICE_CLIENT, Session
from interfaces.terminal.command_context import Choice, CommandContext, read_count
from interfaces.terminal.commands.conversation_commands import save_session
from interfaces.terminal.file_export import FORMATS, format_sessions, write_new
from interfaces.terminal.session_view import session_row, show_messages, show_opening, show_rounds, title_of

_LISTED = 20
#: Clients whose sessions may hold messages without replies.
_CLIENTS_WITHOUT_REPLIES = (IMPORT_CLIENT, SERVICE_CLIENT)
#: As many sessions are offered by completion.
_CHOICES = 9
#: File endings of other formats, so that no file gets Markdown under another name.
_OTHER_FORMATS = (".pdf", ".html", ".htm", ".docx", ".csv", ".xml", ".rtf", ".zip")


def run_sessions(context: CommandContext, argument: str) -> None:
    """``/sessions [n]|show N|last|ID|resume N|last|ID``."""
    first, _, rest = argument.strip().partition(" ")
    if first.lower() == "show":
        _show_session(context, found_session(context, rest.strip()))
    elif first.lower() == "resume":
        _resume_session(context, found_session(context, rest.strip()))
    elif count := read_count(context, argument, _LISTED):
        _list_sessions(context, count)


def _list_sessions(context: CommandContext, count: int) -> None:
    earlier = _earlier_sessions(context, count)
    for at in range(len(earlier), 0, -1):
        context.aside.one_row(f"{at:>3}  {session_row(context, earlier[at - 1])}")
    if context.memory.messages.rounds(context.session_id, 1):
        present = context.conversation.session
        context.aside.one_row(f"  ·  {session_row(context, present)} · {context.words.say('sessions.present')}")
    context.tell("sessions.how" if earlier else "sessions.nothing", "quiet")


def _earlier_sessions(context: CommandContext, count: int = -1) -> list[Session]:
    """Sessions but the present one, newest first: the first has the number 1."""
    found = context.memory.sessions.recent(count + 1 if count >= 0 else -1)
    earlier = [session for session in found if session.session_id != context.session_id]
    return earlier[:count] if count >= 0 else earlier


def sessions_choices(context: CommandContext, words: tuple[str, ...]) -> list[str | Choice]:
    """What may follow ``/sessions``."""
    if not words:
        return ["show", "resume"]
    return ["last", *session_choices(context, words[1:])] if words in (("show",), ("resume",)) else []


def session_choices(context: CommandContext, words: tuple[str, ...]) -> list[Choice]:
    """The sessions by number, newest first, with what they were about, for completion."""
    if words:
        return []
    earlier = _earlier_sessions(context, _CHOICES)
    return [Choice(str(at), title_of(context, session)) for at, session in enumerate(earlier, 1)]


def found_session(context: CommandContext, wanted: str) -> Session:
    """The session with this number, ``last`` for the one before the present, or with an id that begins so.

    Raises UsageError.
    """
    if not wanted:
        raise errors.UsageError("sessions.which")
    earlier = _earlier_sessions(context)
    if wanted.lower() == "last" and earlier:
        return earlier[0]
    if wanted.isdecimal() and 0 < int(wanted[:6]) <= len(earlier):
        return earlier[int(wanted) - 1]
    found = [one for one in context.memory.sessions.recent(None) if one.session_id.startswith(wanted)]
    exact = [one for one in found if one.session_id == wanted]
    if len(exact or found) != 1:
        raise errors.UsageError("sessions.ambiguous" if found else "sessions.unknown", session=wanted)
    return (exact or found)[0]


def _show_session(context: CommandContext, session: Session) -> None:
    memory = context.memory
    context.aside.line(session_row(context, session), "title")
    if summary := memory.shown.summary(session.session_id):
        context.aside.line(summary.summary, "quiet")
    context.aside.line()
    messages, rounds = memory.messages.of_session(session.session_id), memory.messages.rounds(session.session_id)
    of_one_alone = session.client in _CLIENTS_WITHOUT_REPLIES and len(messages) > 2 * len(rounds)
    if of_one_alone or any(message.speaker for message in messages):
        show_messages(context.aside, context.words, messages)
    else:
        show_rounds(context.aside, context.words, rounds, quiet=False)


def _resume_session(context: CommandContext, session: Session) -> None:
    if session.session_id == context.session_id:
        context.tell("resume.present")
        return
    if context.memory.messages.rounds(context.session_id):
        context.tell("save.first", "quiet")
        if not save_session(context, "save.archived"):
            return
    opened = context.memory.rounds.resume(session.session_id, context.session_id)
    opening = context.conversation.switch_to(opened, resumed=True)
    context.tell("resume.done", title=title_of(context, opened))
    context.aside.empty_line()
    show_opening(context, opening)


def export_sessions(context: CommandContext, argument: str) -> None:
    """``/export [N|ID|all|hidden] [md|json] [FILE]``."""
    wanted, form, name = _export_words(argument.split())
    memory = context.memory
    if wanted == "all":
        chosen = list(reversed(memory.sessions.recent(None)))
    elif wanted == "hidden":
        with_hidden = {message.session_id for message in memory.messages.hidden()}
        chosen = [one for one in reversed(memory.sessions.recent(None)) if one.session_id in with_hidden]
    else:
        chosen = [found_session(context, wanted) if wanted else context.conversation.session]
    path = write_new(
        name or f"old-friend-{wanted if wanted in ('all', 'hidden') else chosen[0].session_id}.{form}",
        format_sessions(chosen, memory, context.conversation, form, context.words, hidden=wanted == "hidden"),
    )
    context.tell("export.done", sessions=context.words.count("session", len(chosen)), path=path)


def _export_words(words: list[str]) -> tuple[str, str, str]:
    """Which sessions, in which format, into which file. Raises UsageError for a format that there is not."""
    wanted = words.pop(0) if words and words[0] not in FORMATS and not _is_file(words[0]) else ""
    if wanted and wanted not in ("all", "hidden", "last") and not wanted[0].isdigit():
        raise errors.UsageError("export.format", given=wanted, formats=FORMATS)
    form = words.pop(0) if words and words[0] in FORMATS else ""
    name = " ".join(words)
    if (name and not form and not _is_file(name)) or name.lower().endswith(_OTHER_FORMATS):
        raise errors.UsageError("export.format", given=name, formats=FORMATS)
    ending = name.rpartition(".")[2]
    return wanted, form or (ending if ending in FORMATS else FORMATS[0]), name


def export_choices(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    """What may follow ``/export``."""
    return ["all", "hidden", *FORMATS] if not words else [*FORMATS]


def _is_file(word: str) -> bool:
    return "/" in word or "." in word
