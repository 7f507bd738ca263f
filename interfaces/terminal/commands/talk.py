"""Commands of the present conversation: leaving, help, asking again, taking back, looking back."""

from __future__ import annotations

from interfaces.terminal.command_context import Command, CommandContext, Leave, Next, Offer, Say
from interfaces.terminal.session_view import show_rounds
from interfaces.terminal.style import cells_of

_HISTORY = 10
#: Commands whose arguments take more columns have their help on the next row.
_WIDEST_USAGE = 24


def leave(context: CommandContext, argument: str) -> Next:
    """``/exit``"""
    return Leave()


def show_help(context: CommandContext, argument: str) -> Next:
    """``/help [COMMAND]``"""
    wanted = argument.strip().lstrip("/").lower()
    if wanted and wanted not in context.commands:
        context.tell("help.unknown", "warning", typed="/" + wanted)
        return None
    rows = [context.commands[wanted]] if wanted else list(context.commands.values())
    column = min(max(cells_of(usage(command)) for command in rows), _WIDEST_USAGE) + 2
    for command in rows:
        context.aside.pair(usage(command), command.help[context.words.language], column, ("strong", "words"))
    if not wanted:
        context.aside.line()
        context.tell("help.keys", "quiet")
    return None


def command_names(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    """The names of all commands, for completion."""
    return [] if words else list(context.commands)


def usage(command: Command) -> str:
    """A command as it is typed.

    >>> usage(Command("undo", "[n]", {}, leave))
    '/undo [n]'
    """
    return f"/{command.name} {command.arguments}".strip()


def retry(context: CommandContext, argument: str) -> Next:
    """``/retry``"""
    text = last_said(context)
    if not text:
        context.tell("retry.nothing")
        return None
    return Say(text, again=not _unanswered(context))


def edit(context: CommandContext, argument: str) -> Next:
    """``/edit``"""
    text = last_said(context)
    if not text:
        context.tell("retry.nothing")
        return None
    context.tell("edit.ready", "quiet")
    return Offer(text, again=not _unanswered(context))


def undo(context: CommandContext, argument: str) -> Next:
    """``/undo [n]``"""
    count = number(context, argument, 1)
    if count is None:
        return None
    before = len(context.conversation.rounds_in_context())
    gone = context.conversation.undo(count)
    after = len(context.conversation.rounds_in_context())
    if not gone:
        context.tell("undo.nothing")
    else:
        key = "undo.restored" if after > before else "undo.done"
        context.tell(key, rounds=context.words.count("round", gone))
    return None


def history(context: CommandContext, argument: str) -> Next:
    """``/history [n]``"""
    count = number(context, argument, _HISTORY)
    if count is None:
        return None
    rounds = context.memory.rounds(context.session_id, count)
    if context.conversation.incognito:
        rounds = context.conversation.rounds_in_context()[-count:]
    if not rounds:
        context.tell("history.nothing")
    show_rounds(context.aside, context.words, rounds)
    return None


def number(context: CommandContext, argument: str, default: int) -> int | None:
    """A whole number above 0 as an argument; None after saying that it is none."""
    if not argument:
        return default
    if argument.isdecimal() and int(argument[:9]) > 0:
        return int(argument[:9])
    context.tell("number.wrong", "warning", value=argument)
    return None


def last_said(context: CommandContext) -> str:
    """What the person said last, answered or not."""
    if _unanswered(context):
        in_flight = context.memory.in_flight(context.session_id)
        return in_flight.text if in_flight else ""
    rounds = context.conversation.rounds_in_context()
    return rounds[-1].user.words if rounds else ""


def _unanswered(context: CommandContext) -> bool:
    return not context.conversation.incognito and context.memory.in_flight(context.session_id) is not None
