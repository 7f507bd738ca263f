"""The one table of commands: it feeds dispatch, completion, ``/help``, docs/commands.md and the READMEs.

The message ``command.NAME`` says what each does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interfaces.terminal import history_import
from interfaces.terminal.command_context import Choice, ChoicesOf, Command, CommandContext, Next
from interfaces.terminal.commands import (
    conversation_commands,
    fact_list,
    forget,
    help,
    memory_view,
    persona,
    program_commands,
    session_list,
)
from interfaces.terminal.parsing import ALIASES


def _first_words(*words: str) -> ChoicesOf:
    """Choices for a command that takes one of these words."""
    return lambda context, typed: () if typed else words


def _run_setup(context: CommandContext, argument: str) -> Next:
    """``/setup``, loaded when it is asked for."""
    from interfaces.terminal.setup_wizard import run_setup

    return run_setup(context, argument)


TABLE: tuple[Command, ...] = (
    Command("save", "", conversation_commands.run_save),
    Command("reset", "", conversation_commands.reset_session, destructive=True),
    Command("exit", "", conversation_commands.leave_chat),
    Command("help", "[COMMAND|all]", help.show_help, choices=help.command_names),
    Command("retry", "", conversation_commands.retry_reply),
    Command("edit", "", conversation_commands.edit_message, alone=False),
    Command("undo", "[n]", conversation_commands.undo_rounds),
    Command("redo", "", conversation_commands.redo_rounds),
    Command("history", "[n]", conversation_commands.show_history),
    Command(
        "memory",
        "[search|fading|keep ID] [WORDS]|recall on|off|reindex",
        memory_view.run_memory,
        choices=memory_view.memory_choices,
    ),
    Command("life", "[N|DATE]", memory_view.show_life, choices=memory_view.life_choices),
    Command("facts", "[all|past|WORDS|ID [wrong|keep|TEXT]]", fact_list.run_facts, choices=fact_list.fact_choices),
    Command("ask", "QUESTION", memory_view.ask_memory),
    Command("why", "[full]", memory_view.show_why, choices=_first_words("full")),
    Command(
        "forget",
        "last|asked|session N|turn ID|WORDS",
        forget.run_forget,
        destructive=True,
        choices=forget.forget_choices,
    ),
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
    Command("export", "[N|ID|all] [md|json] [FILE]", session_list.export_sessions, choices=session_list.export_choices),
    Command(
        "import",
        "FILE… [--me NAME] [--dry-run]|undo N|rest|on",
        history_import.import_command,
        choices=history_import.import_choices,
    ),
    Command("copy", "", program_commands.copy_reply),
    Command("context", "[summary [edit]]", program_commands.show_context, choices=program_commands.context_choices),
    Command("status", "[all]", program_commands.show_status, choices=_first_words("all")),
    Command("model", "[NAME|N]", program_commands.choose_model, alone=False),
    Command("debug", "on|off", program_commands.switch_debug, choices=_first_words("on", "off")),
    Command("setup", "", _run_setup, alone=False),
    Command("incognito", "on|off", conversation_commands.switch_incognito, choices=_first_words("on", "off")),
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
