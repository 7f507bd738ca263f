"""``/save`` and ``/reset``: the two ways to end what the present session holds."""

from __future__ import annotations

import errors
from config import Notice
from jobs.saving import ImageChange, NothingToSave, Saved, Stage
from models.events import Beat
from storage.records import Image
from terminal.desk import Desk, Next
from terminal.difference import show_difference
from terminal.explaining import explain


def save(desk: Desk, argument: str) -> Next:
    """``/save``"""
    save_session(desk)
    return None


def save_session(desk: Desk, done: str = "save.done") -> bool:
    """Save the present session and show how, ``done`` at the end; whether a new session is open now."""
    if desk.conversation.incognito:
        desk.tell("save.incognito")
        return False
    desk.begin()
    try:
        return _shown(desk, done)
    except errors.Interrupted:
        desk.tell("save.stopped", "warning")
    except errors.ModelError as error:
        desk.tell("save.failed", "trouble", error=explain(desk, error))
    return False


def begin_anew(desk: Desk) -> None:
    """Save the present session if anything was said in it. With nobody there, an error passes through."""
    session_id = desk.conversation.session.session_id
    if not desk.conversation.memory.sessions.rounds(session_id, 1):
        return
    if not desk.conversation.incognito:
        desk.tell("save.first", "quiet")
    if desk.interactive or desk.conversation.incognito:
        save_session(desk)
        desk.aside.gap()
    else:
        desk.begin()
        _shown(desk, "save.done")


def _shown(desk: Desk, done: str) -> bool:
    saved = False
    for event in desk.watched(desk.conversation.save(desk.stop)):
        match event:
            case Stage(name, ended) if not ended and name != "archive":
                desk.tell(f"save.{name}", "quiet")
            case Beat():
                desk.aside.status("…")
            case Notice():
                desk.aside.line(desk.words.notice(event), "warning")
            case NothingToSave():
                desk.tell("save.nothing")
            case Saved():
                show_saved(desk, event, done)
                saved = True
    return saved


def show_saved(desk: Desk, saved: Saved, done: str) -> None:
    """What a save changed, and how to take it back."""
    for change in saved.changes:
        desk.aside.line()
        desk.tell(f"save.changed.{change.image}", "title")
        show_difference(desk.aside, change.before, change.after)
        _take_back(desk, change)
    desk.aside.line()
    if not saved.changes:
        desk.tell("save.unchanged", "quiet")
    desk.tell(done, session=saved.archived.session_id, opened=saved.opened.session_id)


def _take_back(desk: Desk, change: ImageChange) -> None:
    before = previous_version(desk, change.image)
    if before is not None:
        desk.tell("save.take_back", "quiet", image=change.image, version=before)


def previous_version(desk: Desk, image: Image) -> int | None:
    """The number of the version before the present one."""
    versions = desk.conversation.memory.persona.versions(image)
    return versions[-2].version if len(versions) > 1 else None


def reset(desk: Desk, argument: str) -> Next:
    """``/reset``"""
    held = len(desk.conversation.rounds_in_context())
    if not desk.conversation.incognito:
        held = len(desk.conversation.memory.sessions.rounds(desk.conversation.session.session_id))
    if not held:
        desk.tell("reset.nothing")
    elif not desk.sure("reset.ask", rounds=desk.words.count("round", held)):
        desk.tell("kept")
    else:
        gone = desk.conversation.reset()
        desk.tell("reset.done", rounds=desk.words.count("round", gone))
    return None
