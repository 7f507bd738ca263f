"""Commands of the present conversation: leaving, help, asking again, taking back, looking back."""

from __future__ import annotations

from terminal.desk import Command, Desk, Leave, Next, Offer, Say
from terminal.rounds import show_rounds
from terminal.widths import cells_of

_HISTORY = 10
#: Commands whose arguments take more columns have their help on the next row.
_WIDEST_USAGE = 24


def leave(desk: Desk, argument: str) -> Next:
    """``/exit``"""
    return Leave()


def show_help(desk: Desk, argument: str) -> Next:
    """``/help [COMMAND]``"""
    wanted = argument.strip().lstrip("/").lower()
    if wanted and wanted not in desk.commands:
        desk.tell("help.unknown", "warning", typed="/" + wanted)
        return None
    rows = [desk.commands[wanted]] if wanted else list(desk.commands.values())
    column = min(max(cells_of(usage(command)) for command in rows), _WIDEST_USAGE) + 2
    for command in rows:
        desk.aside.pair(usage(command), command.help[desk.words.language], column, ("strong", "words"))
    if not wanted:
        desk.aside.line()
        desk.tell("help.keys", "quiet")
    return None


def command_names(desk: Desk, words: tuple[str, ...]) -> list[str]:
    """The names of all commands, for completion."""
    return [] if words else list(desk.commands)


def usage(command: Command) -> str:
    """A command as it is typed.

    >>> usage(Command("undo", "[n]", {}, leave))
    '/undo [n]'
    """
    return f"/{command.name} {command.arguments}".strip()


def retry(desk: Desk, argument: str) -> Next:
    """``/retry``"""
    text = last_said(desk)
    if not text:
        desk.tell("retry.nothing")
        return None
    return Say(text, again=not _unanswered(desk))


def edit(desk: Desk, argument: str) -> Next:
    """``/edit``"""
    text = last_said(desk)
    if not text:
        desk.tell("retry.nothing")
        return None
    desk.tell("edit.ready", "quiet")
    return Offer(text, again=not _unanswered(desk))


def undo(desk: Desk, argument: str) -> Next:
    """``/undo [n]``"""
    count = number(desk, argument, 1)
    if count is None:
        return None
    before = len(desk.conversation.rounds_in_context())
    gone = desk.conversation.undo(count)
    after = len(desk.conversation.rounds_in_context())
    if not gone:
        desk.tell("undo.nothing")
    else:
        key = "undo.restored" if after > before else "undo.done"
        desk.tell(key, rounds=desk.words.count("round", gone))
    return None


def history(desk: Desk, argument: str) -> Next:
    """``/history [n]``"""
    count = number(desk, argument, _HISTORY)
    if count is None:
        return None
    rounds = desk.conversation.memory.sessions.rounds(desk.conversation.session.session_id, count)
    if desk.conversation.incognito:
        rounds = desk.conversation.rounds_in_context()[-count:]
    if not rounds:
        desk.tell("history.nothing")
    show_rounds(desk.aside, desk.words, rounds)
    return None


def number(desk: Desk, argument: str, default: int) -> int | None:
    """A whole number above 0 as an argument; None after saying that it is none."""
    if not argument:
        return default
    if argument.isdecimal() and int(argument[:9]) > 0:
        return int(argument[:9])
    desk.tell("number.wrong", "warning", value=argument)
    return None


def last_said(desk: Desk) -> str:
    """What the person said last, answered or not."""
    if _unanswered(desk):
        in_flight = desk.conversation.memory.in_flight()
        return in_flight.text if in_flight else ""
    rounds = desk.conversation.rounds_in_context()
    return rounds[-1].user.words if rounds else ""


def _unanswered(desk: Desk) -> bool:
    return not desk.conversation.incognito and desk.conversation.memory.in_flight() is not None
