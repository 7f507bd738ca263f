"""Commands that switch something on or off, and the one that rebuilds the index."""

from __future__ import annotations

from terminal.desk import Desk, Next

ON_OFF = ("on", "off")


def on_off(desk: Desk, words: tuple[str, ...]) -> tuple[str, ...]:
    """What may follow a switch."""
    return () if words else ON_OFF


def debug(desk: Desk, argument: str) -> Next:
    """``/debug on|off``"""
    wanted = _wanted(desk, "/debug", argument, desk.debug.on)
    if wanted is not None:
        desk.debug.switch(wanted)
        path = desk.settings.log_dir / "debug.log"
        desk.tell("switch.debug_on" if wanted else "switch.debug_off", path=path)
    return None


def incognito(desk: Desk, argument: str) -> Next:
    """``/incognito on|off``"""
    wanted = _wanted(desk, "/incognito", argument, desk.conversation.incognito)
    if wanted is not None:
        desk.conversation.set_incognito(wanted)
        desk.tell("switch.incognito_on" if wanted else "switch.incognito_off")
    return None


def recall(desk: Desk, argument: str) -> Next:
    """``/recall on|off``"""
    wanted = _wanted(desk, "/recall", argument, desk.conversation.recalling)
    if wanted is not None:
        desk.conversation.recalling = wanted
        desk.tell("switch.recall_on" if wanted else "switch.recall_off")
    return None


def _wanted(desk: Desk, command: str, argument: str, now: bool) -> bool | None:
    """On or off as asked for; None after telling how it is, or what it takes."""
    word = argument.strip().lower()
    if word in ON_OFF:
        return word == "on"
    if word:
        desk.tell("switch.wrong", "warning", command=command)
    else:
        desk.tell("switch.is_on" if now else "switch.is_off", command=command)
    return None


def reindex(desk: Desk, argument: str) -> Next:
    """``/reindex``"""
    index = desk.conversation.memory.index
    desk.tell("reindex.start", "quiet")
    desk.begin()
    index.start()
    index.reindex()
    while not index.settle(0.1):
        desk.reader.watch()
        if desk.stop.is_set:
            desk.tell("reindex.stopped", "warning")
            return None
        if "embeddings" in index.degraded:
            desk.aside.clear_status()
            desk.tell("recall.degraded", "warning", parts=("embeddings",))
            return None
        if progress := index.progress():
            desk.aside.status(desk.words.say("reindex.progress", done=progress.done, total=progress.total))
    desk.aside.clear_status()
    desk.tell("reindex.done", vectors=index.status().vectors)
    return None
