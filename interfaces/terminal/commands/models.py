"""``/model``: which models the server offers, and which of them answers from now on."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from domain import errors
from interfaces.terminal.command_context import CommandContext, Next, Restart


def model(context: CommandContext, argument: str) -> Next:
    """``/model [NAME|NUMBER]``"""
    described, wanted = context.conversation.llm.describe(), argument.strip()
    if described.standin:
        context.tell("models.standin")
        return None
    names = _offered(context, wanted)
    if not wanted:
        _list(context, names, described.model)
        return None
    chosen = _chosen(wanted, names)
    if chosen is None:
        near = difflib.get_close_matches(wanted, names, 3, 0.3) or names[:3]
        context.tell("models.unknown", "warning", wanted=wanted, names=", ".join(near))
    elif chosen == described.model:
        context.tell("models.present", model=chosen)
    else:
        return _switch(context, chosen)
    return None


def _offered(context: CommandContext, wanted: str) -> list[str]:
    """The models that chat. A server that lists nothing may still have the one that is asked for."""
    from interfaces.terminal.setup.providers import chats_of

    context.begin()
    try:
        names = context.waited(context.conversation.llm.models, context.words.say("models.asking"))
        return chats_of(names) or [wanted]
    except errors.ModelError:
        if not wanted or wanted.isdecimal():
            raise
        return [wanted]


def _list(context: CommandContext, names: Sequence[str], present: str) -> None:
    for at, name in enumerate(names, 1):
        mark = f" · {context.words.say('models.now')}" if name == present else ""
        context.aside.line(f"{at:>3}  {name}{mark}", "good" if mark else "words")
    context.tell("models.how", "quiet")


def _chosen(wanted: str, names: Sequence[str]) -> str | None:
    """The model with this name or number, or the only one that has this in its name.

    >>> _chosen("2", ["gpt-a", "gpt-b"]), _chosen("-B", ["gpt-a", "gpt-b"]), _chosen("gpt", ["gpt-a", "gpt-b"])
    ('gpt-b', 'gpt-b', None)
    """
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 0 < int(wanted[:6]) <= len(names):
        return names[int(wanted) - 1]
    found = [name for name in names if wanted.lower() in name.lower()]
    return found[0] if len(found) == 1 else None


def _switch(context: CommandContext, chosen: str) -> Next:
    """Write the model down as ``/setup`` does, and open everything anew with it."""
    from interfaces.terminal.setup.envfile import write

    path = context.settings.env_file
    if context.conversation.incognito:
        context.tell("models.incognito", "warning")
        return None
    try:
        write(path, {"CHAT_MODEL": chosen}, context.words.language)
    except errors.StorageError as error:
        context.tell("setup.failed", "trouble", path=path, reason=error)
        return None
    if context.environment.get("CHAT_MODEL", chosen) != chosen:
        context.tell("setup.environment", "warning", names="CHAT_MODEL")
        return None
    context.tell("models.switched", "good", model=chosen, path=path)
    return Restart()
