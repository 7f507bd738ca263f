"""The one table of commands: it feeds dispatch, completion, ``/help``, docs/commands.md and the READMEs.

The message ``command.NAME`` says what each does. ``/help`` shows the ten commands of every day, which fit 24 rows of 80
columns in both languages; ``/help all`` every command, each in exactly one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from interfaces.terminal import history_import
from interfaces.terminal.command_context import UNKNOWN_LIMIT, Choice, ChoicesOf, Command, CommandContext, Next
from interfaces.terminal.commands import (
    conversation_commands,
    fact_list,
    forget,
    life_view,
    memory_view,
    persona,
    program_commands,
    session_list,
)
from interfaces.terminal.parsing import ALIASES
from interfaces.terminal.screen import cells_of

#: What is used every day.
DAILY = ("save", "reset", "exit", "undo", "retry", "memory", "facts", "why", "forget", "sessions")
GROUPS = {
    "talk": ("save", "reset", "exit", "undo", "redo", "retry", "edit", "history", "copy", "incognito"),
    "memory": ("memory", "facts", "open", "ask", "life", "diary", "why", "forget", "erased", "remember", "persona"),
    "sessions": ("sessions", "export", "import"),
    "program": ("help", "status", "context", "model", "setup", "debug"),
}
#: Commands whose arguments take more columns have their help on the next row.
_WIDEST_USAGE = 24


def show_help(context: CommandContext, argument: str) -> None:
    """``/help [COMMAND|all]``."""
    wanted = argument.strip().lstrip("/").lower()
    wanted = ALIASES.get(wanted, (wanted, ""))[0]
    if not wanted:
        column = max(cells_of(f"/{name}") for name in DAILY) + 2
        for name in DAILY:
            context.aside.name_and_text(f"/{name}", context.words.say(f"command.{name}"), column, ("strong", "words"))
        context.aside.line()
        context.tell("help.more", "quiet", count=len(BY_NAME))
        context.tell("help.keys", "quiet")
    elif wanted == "all":
        for group, names in GROUPS.items():
            context.tell(f"help.group.{group}", "title")
            _show_rows(context, [BY_NAME[name] for name in names])
            context.aside.line()
        context.tell("help.keys", "quiet")
    elif wanted in BY_NAME:
        _show_command(context, BY_NAME[wanted])
    else:
        context.tell("help.unknown", "warning", typed="/" + wanted)


def format_usage(command: Command) -> str:
    """A command as it is typed.

    >>> format_usage(Command("undo", "[n]", show_help))
    '/undo [n]'
    """
    return f"/{command.name} {command.arguments}".strip()


def _show_rows(context: CommandContext, commands: Iterable[Command]) -> None:
    usages = {command.name: format_usage(command) for command in commands}
    column = min(max(map(cells_of, usages.values())), _WIDEST_USAGE) + 2
    for name, usage in usages.items():
        context.aside.name_and_text(usage, context.words.say(f"command.{name}"), column, ("strong", "words"))


def _show_command(context: CommandContext, command: Command) -> None:
    """One command and how it is used."""
    _show_rows(context, [command])
    if context.words.has_message(f"help.about.{command.name}"):
        context.tell(f"help.about.{command.name}", "quiet", limit=f"{UNKNOWN_LIMIT:,}")
    examples = [line.split(" — ") for line in context.words.say(f"help.example.{command.name}").splitlines()]
    column = max(cells_of(typed) for typed, _ in examples) + 4
    for typed, meaning in examples:
        context.aside.name_and_text(f"  {typed}", meaning, column, ("code", "quiet"))


def _command_names(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    return [] if words else [*BY_NAME, "all"]


def _offer(*first: str, then: Mapping[str, Sequence[str]] = MappingProxyType({})) -> ChoicesOf:
    """Choices of a command that takes one of these words, and of what may follow some of them."""

    def choices(context: CommandContext, typed: tuple[str, ...]) -> Sequence[str]:
        if not typed:
            return first
        return then.get(typed[0], ()) if len(typed) == 1 else ()

    return choices


def _run_setup(context: CommandContext, argument: str) -> Next:
    """``/setup``, loaded when it is asked for."""
    from interfaces.terminal.setup_wizard import run_setup

    return run_setup(context, argument)


TABLE: tuple[Command, ...] = (
    Command("save", "", conversation_commands.run_save),
    Command("reset", "", conversation_commands.reset_session, destructive=True),
    Command("exit", "", conversation_commands.leave_chat),
    Command("help", "[COMMAND|all]", show_help, choices=_command_names),
    Command("retry", "", conversation_commands.retry_reply),
    Command("edit", "", conversation_commands.edit_message, alone=False),
    Command("undo", "[n]", conversation_commands.undo_rounds),
    Command("redo", "", conversation_commands.redo_rounds),
    Command("history", "[n]", conversation_commands.show_history),
    Command(
        "memory",
        "[search|fading|keep ID] [WORDS]|recall on|off|reindex",
        memory_view.run_memory,
        choices=_offer("search", "fading", "keep", "recall", "reindex", then={"recall": ("on", "off")}),
    ),
    Command("life", "[N|DATE]", life_view.show_life, choices=life_view.life_choices),
    Command("diary", "[DATE|all] [full]|export FILE", life_view.run_diary, choices=_offer("all", "export")),
    Command(
        "facts",
        "[all|past|inferred|WORDS|ID [wrong|right|keep|TEXT]]",
        fact_list.run_facts,
        choices=fact_list.fact_choices,
    ),
    Command("ask", "QUESTION", memory_view.ask_memory),
    Command("why", "[full]", memory_view.show_why, choices=_offer("full")),
    Command(
        "forget",
        "last|asked|session N|turn ID|WORDS",
        forget.run_forget,
        destructive=True,
        choices=forget.forget_choices,
    ),
    Command("erased", "[FILE]", forget.run_erased),
    Command("remember", "", forget.unhide_messages),
    Command(
        "persona",
        "[self|user] [show|edit|diff|restore N]|pin [self|user] [TEXT|N]",
        persona.run_persona,
        choices=persona.persona_choices,
    ),
    Command(
        "sessions",
        "[n]|show N|last|ID|resume N|last|ID",
        session_list.run_sessions,
        choices=session_list.sessions_choices,
    ),
    Command(
        "export",
        "[N|ID|all|hidden] [md|json] [FILE]",
        session_list.export_sessions,
        choices=session_list.export_choices,
    ),
    Command(
        "import",
        "FILE… [--me NAME] [--dry-run] [--with-erased]|undo N|rest|on",
        history_import.import_command,
        choices=history_import.import_choices,
    ),
    Command("copy", "", program_commands.copy_reply),
    Command(
        "context",
        "[summary [edit]]",
        program_commands.show_context,
        choices=_offer("summary", then={"summary": ("edit",)}),
    ),
    Command("status", "[all]", program_commands.show_status, choices=_offer("all")),
    Command("model", "[NAME|N]", program_commands.choose_model, alone=False),
    Command("debug", "on|off", program_commands.switch_debug, choices=_offer("on", "off")),
    Command("open", "[N done|drop|later DATE]", life_view.run_open, choices=life_view.open_choices),
    Command("setup", "", _run_setup, alone=False),
    Command("incognito", "on|off", conversation_commands.switch_incognito, choices=_offer("on", "off")),
)
BY_NAME: Mapping[str, Command] = {command.name: command for command in TABLE}


def choices_for(context: CommandContext, words: tuple[str, ...]) -> Iterable[Choice]:
    """What may follow the words of a line, for completion."""
    if not words:
        return [Choice(f"/{name}", context.words.say(f"command.{name}")) for name in BY_NAME]
    name, typed = words[0].removeprefix("/"), words[1:]
    if name in ALIASES:
        name, first = ALIASES[name]
        typed = (*first.split(), *typed)
    command = BY_NAME.get(name)
    if command is None or command.choices is None:
        return []
    found = command.choices(context, typed)
    return [each if isinstance(each, Choice) else Choice(each) for each in found]
