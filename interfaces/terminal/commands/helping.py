"""``/help``: all commands on one screen, in groups, those of every day first; one of them with examples.

Promises: the screen fits 24 rows of 80 columns in both languages; every command stands in exactly one group.
"""

from __future__ import annotations

from collections.abc import Iterable

from interfaces.terminal.command_context import Command, CommandContext, Next
from interfaces.terminal.commands.examples import examples_of
from interfaces.terminal.context_use import UNKNOWN_LIMIT
from interfaces.terminal.style import cells_of

#: What is used every day is told in full; the others by their names, in groups.
DAILY = ("save", "exit", "undo", "retry", "memory", "forget", "help")
GROUPS = {
    "talk": ("redo", "edit", "history", "reset", "copy", "summary", "incognito"),
    "memory": ("facts", "ask", "life", "why", "pin", "persona", "remember", "recall"),
    "sessions": ("sessions", "show", "resume", "export", "import"),
    "program": ("status", "context", "model", "setup", "debug", "reindex"),
}
#: Commands whose arguments take more columns have their help on the next row.
_WIDEST_USAGE = 24


def show_help(context: CommandContext, argument: str) -> Next:
    """``/help [COMMAND|all]``"""
    wanted = argument.strip().lstrip("/").lower()
    if not wanted:
        _overview(context)
    elif wanted == "all":
        _rows(context, context.commands.values())
        _keys(context)
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
    """Every command, on one screen."""
    say = context.words.say
    column = max(cells_of(f"/{name}") for name in DAILY) + 2
    for name in DAILY:
        context.aside.pair(f"/{name}", say(f"command.{name}"), column, ("strong", "words"))
    context.aside.line()
    column = max(cells_of(say(f"help.group.{group}")) for group in GROUPS) + 2
    for group, names in GROUPS.items():
        commands = " ".join(f"/{name}" for name in names)
        context.aside.pair(say(f"help.group.{group}"), commands, column, ("quiet", "words"))
    context.aside.line()
    context.tell("help.more", "quiet")
    _keys(context)


def _keys(context: CommandContext) -> None:
    context.aside.line()
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
