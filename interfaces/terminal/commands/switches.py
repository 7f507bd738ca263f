"""Commands that switch something on or off, and the one that rebuilds the index."""

from __future__ import annotations

from interfaces.terminal.command_context import CommandContext, Next


def debug(context: CommandContext, argument: str) -> Next:
    """``/debug on|off``"""
    wanted = _wanted(context, "/debug", argument, context.debug.on)
    if wanted is not None:
        context.debug.switch(wanted)
        path = context.settings.log_dir / "debug.log"
        context.tell("switch.debug_on" if wanted else "switch.debug_off", path=path)
    return None


def incognito(context: CommandContext, argument: str) -> Next:
    """``/incognito on|off``"""
    wanted = _wanted(context, "/incognito", argument, context.conversation.incognito)
    if wanted is not None:
        context.conversation.set_incognito(wanted)
        context.tell("switch.incognito_on" if wanted else "switch.incognito_off")
    return None


def recall(context: CommandContext, argument: str) -> None:
    """``/memory recall on|off``"""
    wanted = _wanted(context, "/memory recall", argument, context.conversation.recalling)
    if wanted is not None:
        context.conversation.recalling = wanted
        context.tell("switch.recall_on" if wanted else "switch.recall_off")


def _wanted(context: CommandContext, command: str, argument: str, now: bool) -> bool | None:
    """On or off as asked for; None after telling how it is, or what it takes."""
    word = argument.strip().lower()
    if word in ("on", "off"):
        return word == "on"
    if word:
        context.tell("switch.wrong", "warning", command=command)
    else:
        context.tell("switch.is_on" if now else "switch.is_off", command=command)
    return None


def reindex(context: CommandContext) -> None:
    """``/memory reindex``"""
    memory = context.memory
    context.tell("reindex.start", "quiet")
    context.begin()
    memory.start_index()
    memory.reindex()
    while not memory.settle_index(0.1):
        context.reader.watch()
        if context.stop.is_set:
            context.tell("reindex.stopped", "warning")
            return
        if "embeddings" in memory.index_degraded:
            context.aside.clear_status()
            context.tell("recall.degraded", "warning", parts=("embeddings",))
            return
        progress = memory.index_progress()
        if progress and progress.doing == "failed":
            context.aside.clear_status()
            context.tell("reindex.failed", "trouble", reason=memory.index_status().trouble)
            return
        if progress:
            context.aside.status(
                context.words.say("reindex.progress", done=progress.done, total=progress.total)
            )
    context.aside.clear_status()
    context.tell("reindex.done", vectors=memory.index_status().vectors)
