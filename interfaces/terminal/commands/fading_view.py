"""``/memory fading`` and ``/memory keep``: what will be searched no more, what has faded, and what never may."""

from __future__ import annotations

from domain.fading import Leaf
from domain.text import one_line
from interfaces.terminal.command_context import CommandContext
from interfaces.terminal.excerpts import excerpt
from interfaces.terminal.session_view import moment

#: So many of those that fade first are shown.
_SHOWN = 10


def show_fading(context: CommandContext) -> None:
    """How much is searched, and what goes next; where nothing has to go, what would go first."""
    fading, limit = context.memory.archive, context.settings.forget_limit
    searched, faded = fading.searched(), len(fading.all())
    count = context.words.count
    if limit.most:
        context.tell("fading.limit", searched=count("memory", searched), most=limit.most)
    else:
        context.tell("fading.no_limit", searched=count("memory", searched))
    if faded:
        context.tell("fading.faded", faded=count("memory", faded))
    going = fading.next(limit)
    leaves = going or fading.first(_SHOWN)
    if not leaves:
        context.tell("fading.none", "quiet")
        return
    context.tell("fading.next" if going else "fading.first", "title", memories=count("memory", len(going)))
    for leaf in leaves[:_SHOWN]:
        _show(context, leaf)
    if len(leaves) > _SHOWN:
        context.tell("fading.more", "quiet", memories=count("memory", len(leaves) - _SHOWN))
    context.tell("fading.keep", "quiet")


def _show(context: CommandContext, leaf: Leaf) -> None:
    """One of them: when, its id, how often it was of use, and how it begins."""
    words = context.words
    visits = words.count("visit", leaf.visit_count)
    kind = f"{words.say('why.summary')} · " if leaf.is_session else ""
    head = f"{moment(leaf.timestamp).date()} · {_short(leaf)} · {visits} · {kind}"
    text = leaf.text.removeprefix("User: ").removeprefix("Assistant: ")
    context.aside.excerpt(head, lambda cells: excerpt(text, (), cells, plain=context.aside.plain), "quiet")


def _short(leaf: Leaf) -> str:
    return leaf.name if leaf.is_session else leaf.name[:8]


def keep(context: CommandContext, argument: str) -> None:
    """``/memory keep ID [off]``: a turn or a session never fades, or may again."""
    wanted, _, switch = argument.partition(" ")
    names = (
        [one.name for one in context.memory.chapters.nodes() if one.name.startswith(wanted)] if wanted else []
    )
    if len(names) != 1:
        context.tell("fading.which", "warning", id=one_line(wanted, 40), count=len(names))
        return
    kept = switch.strip().lower() != "off"
    context.memory.chapters.set_never_delete(names, kept)
    context.tell("fading.kept" if kept else "fading.let_go", id=names[0])
