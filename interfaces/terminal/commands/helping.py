"""``/help``: the ten commands of every day; ``/help all``: every command, in groups; one of them with examples.

Promises: the ten fit 24 rows of 80 columns in both languages; every command is in exactly one group.
"""

from __future__ import annotations

from collections.abc import Iterable

from interfaces.terminal.command_context import Command, CommandContext, Next
from interfaces.terminal.commands.examples import examples_of
from interfaces.terminal.context_use import UNKNOWN_LIMIT
from interfaces.terminal.parsing import ALIASES
from interfaces.terminal.style import cells_of

#: What is used every day.
DAILY = ("save", "reset", "exit", "undo", "retry", "memory", "facts", "why", "forget", "sessions")
GROUPS = {
    "talk": ("save", "reset", "exit", "undo", "redo", "retry", "edit", "history", "copy", "incognito"),
    "memory": ("memory", "facts", "ask", "life", "why", "forget", "remember", "persona"),
    "sessions": ("sessions", "export", "import"),
    "program": ("help", "status", "context", "model", "setup", "debug"),
}
#: Commands whose arguments take more columns have their help on the next row.
_WIDEST_USAGE = 24


def show_help(context: CommandContext, argument: str) -> Next:
    """``/help [COMMAND|all]``"""
    wanted = argument.strip().lstrip("/").lower()
    wanted = ALIASES.get(wanted, (wanted, ""))[0]
    if not wanted:
        _overview(context)
    elif wanted == "all":
        _everything(context)
    elif wanted in context.commands:
        _one(context, context.commands[wanted])
    else:
        context.tell("help.unknown", "warning", typed="/" + wanted)
    return None


def command_names(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    """The names of all commands, for completion."""
    return [] if words else [*context.commands, "all"]


def usage(command: Command) -> str:
    """A command as it is typed.

    >>> usage(Command("undo", "[n]", show_help))
    '/undo [n]'
    """
    return f"/{command.name} {command.arguments}".strip()


def _overview(context: CommandContext) -> None:
    """The commands of every day."""
    say = context.words.say
    column = max(cells_of(f"/{name}") for name in DAILY) + 2
    for name in DAILY:
        context.aside.pair(f"/{name}", say(f"command.{name}"), column, ("strong", "words"))
    context.aside.line()
    context.tell("help.more", "quiet", count=len(context.commands))
    _keys(context)


def _everything(context: CommandContext) -> None:
    """Every command, in groups."""
    for group, names in GROUPS.items():
        context.tell(f"help.group.{group}", "title")
        _rows(context, [context.commands[name] for name in names])
        context.aside.line()
    _keys(context)


def _keys(context: CommandContext) -> None:
    context.tell("help.keys", "quiet")


def _rows(context: CommandContext, commands: Iterable[Command]) -> None:
    rows = list(commands)
    column = min(max(cells_of(usage(command)) for command in rows), _WIDEST_USAGE) + 2
    for command in rows:
        context.aside.pair(
            usage(command), context.words.say(f"command.{command.name}"), column, ("strong", "words")
        )


def _one(context: CommandContext, command: Command) -> None:
    """One command and how it is used."""
    _rows(context, [command])
    if context.words.has(f"help.about.{command.name}"):
        context.tell(f"help.about.{command.name}", "quiet", limit=f"{UNKNOWN_LIMIT:,}")
    examples = examples_of(command.name)
    column = max(cells_of(example.typed) for example in examples) + 4
    for example in examples:
        told = example.meaning[context.words.language]
        context.aside.pair(f"  {example.typed}", told, column, ("code", "quiet"))
