"""The one table of commands: it feeds dispatch, completion, ``/help``, docs/commands.md and the READMEs.

What each does is told by the message ``command.`` with its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interfaces.terminal.command_context import Choice, ChoicesOf, Command, CommandContext, Next
from interfaces.terminal.commands import (
    bringing,
    earlier_sessions,
    ending,
    fact_list,
    forget,
    helping,
    inspecting,
    life,
    memory_view,
    models,
    persona,
    switches,
    talk,
    why,
)
from interfaces.terminal.parsing import ALIASES


def _first(*words: str) -> ChoicesOf:
    """These words may follow the command, and nothing behind them."""
    return lambda context, typed: () if typed else words


def _setup(context: CommandContext, argument: str) -> Next:
    """``/setup``, loaded when it is asked for."""
    from interfaces.terminal.setup.wizard import setup

    return setup(context, argument)


TABLE: tuple[Command, ...] = (
    Command("save", "", ending.save),
    Command("reset", "", ending.reset, destructive=True),
    Command("exit", "", talk.leave),
    Command("help", "[COMMAND|all]", helping.show_help, choices=helping.command_names),
    Command("retry", "", talk.retry),
    Command("edit", "", talk.edit, alone=False),
    Command("undo", "[n]", talk.undo),
    Command("redo", "", talk.redo),
    Command("history", "[n]", talk.history),
    Command(
        "memory",
        "[search|fading|keep ID] [WORDS]|recall on|off|reindex",
        memory_view.memory,
        choices=memory_view.memory_choices,
    ),
    Command("life", "[N|DATE]", life.life, choices=life.life_choices),
    Command(
        "facts", "[all|past|WORDS|ID [wrong|keep|TEXT]]", fact_list.facts, choices=fact_list.fact_choices
    ),
    Command("ask", "QUESTION", memory_view.ask),
    Command("why", "[full]", why.why, choices=_first("full")),
    Command(
        "forget",
        "last|asked|session N|turn ID|WORDS",
        forget.forget,
        destructive=True,
        choices=forget.forget_choices,
    ),
    Command("remember", "", forget.remember),
    Command(
        "persona",
        "[self|user] [show|edit|diff|restore N]|pin [self|user] [TEXT|N]",
        persona.persona,
        choices=persona.persona_choices,
    ),
    Command(
        "sessions",
        "[n]|show N|last|ID|resume N|last|ID",
        earlier_sessions.sessions,
        choices=earlier_sessions.sessions_choices,
    ),
    Command(
        "export",
        "[N|ID|all] [md|json] [FILE]",
        earlier_sessions.export,
        choices=earlier_sessions.export_choices,
    ),
    Command(
        "import",
        "FILE… [--me NAME] [--dry-run]|undo N|rest|on",
        bringing.bring,
        choices=bringing.import_choices,
    ),
    Command("copy", "", inspecting.copy),
    Command("context", "[summary [edit]]", inspecting.context, choices=inspecting.context_choices),
    Command("status", "[all]", inspecting.status, choices=_first("all")),
    Command("model", "[NAME|N]", models.model, alone=False),
    Command("debug", "on|off", switches.debug, choices=_first("on", "off")),
    Command("setup", "", _setup, alone=False),
    Command("incognito", "on|off", switches.incognito, choices=_first("on", "off")),
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
