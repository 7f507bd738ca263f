"""``/save`` and ``/reset``: the two ways to end what the present session holds."""

from __future__ import annotations

from domain import errors
from domain.events import Notice
from domain.records import Image
from interfaces.terminal.command_context import CommandContext, Next, explain
from interfaces.terminal.commands.persona import show_difference
from interfaces.terminal.pump import Beat
from interfaces.terminal.session_view import news_line, show_session
from jobs.saving import ImageChange, NothingToSave, Saved, SaveEvent, Stage


def save(context: CommandContext, argument: str) -> Next:
    """``/save``"""
    save_session(context)
    return None


def save_session(context: CommandContext, done: str = "save.done") -> bool:
    """Save the present session and show how, ``done`` at the end; whether a new session is open now."""
    if context.conversation.incognito:
        context.tell("save.incognito")
        return False
    context.begin()
    try:
        return _shown(context, done)
    except errors.Interrupted:
        context.tell("save.stopped", "warning")
    except errors.ModelError as error:
        context.tell("save.failed", "trouble", error=explain(context, error))
    return False


def begin_anew(context: CommandContext) -> None:
    """Save the present session if anything was said in it. With nobody there, an error passes through."""
    session_id = context.session_id
    if not context.memory.messages.rounds(session_id, 1):
        return
    if not context.conversation.incognito:
        context.tell("save.first", "quiet")
    if context.interactive or context.conversation.incognito:
        save_session(context)
        context.aside.gap()
    else:
        context.begin()
        _shown(context, "save.done")


def _shown(context: CommandContext, done: str) -> bool:
    saved = False
    for event in context.pumped(context.conversation.save(context.stop), last_step=_archives):
        match event:
            case Stage(name, ended) if not ended and name != "archive":
                context.tell(f"save.{name}", "quiet")
            case Beat():
                context.aside.status("…")
            case Notice():
                context.aside.line(context.words.notice(event), "warning")
            case NothingToSave():
                context.tell("save.nothing")
            case Saved():
                show_saved(context, event, done)
                saved = True
    return saved


def _archives(event: SaveEvent) -> bool:
    """Whether the step behind this event is the one commit that changes everything, which is never left alone."""
    return isinstance(event, Stage) and event.name == "archive"


def show_saved(context: CommandContext, saved: Saved, done: str) -> None:
    """What a save changed, and how to take it back."""
    for change in saved.changes:
        context.aside.line()
        context.tell(f"save.changed.{change.image}", "title")
        show_difference(context.aside, change.before, change.after)
        _take_back(context, change)
    context.aside.line()
    if not saved.changes:
        context.tell("save.unchanged", "quiet")
    if news := context.memory.facts.news_of(saved.archived.session_id):
        context.tell("save.news", news=news_line(context.words, news))
    context.tell(done)
    if done == "save.done":
        show_session(context)


def _take_back(context: CommandContext, change: ImageChange) -> None:
    before = previous_version(context, change.image)
    if before is not None:
        context.tell("save.take_back", "quiet", image=change.image, version=before)


def previous_version(context: CommandContext, image: Image) -> int | None:
    """The number of the version before the present one; each image counts from 1."""
    versions = context.memory.personas.history(image)
    return len(versions) - 1 if len(versions) > 1 else None


def reset(context: CommandContext, argument: str) -> Next:
    """``/reset``"""
    held = len(context.conversation.rounds_in_context())
    if not context.conversation.incognito:
        held = len(context.memory.messages.rounds(context.session_id))
    if not held:
        context.tell("reset.nothing")
    elif not context.sure("reset.ask", rounds=context.words.count("round", held)):
        context.tell("kept")
    else:
        gone = context.conversation.reset()
        context.tell("reset.done", rounds=context.words.count("round", gone))
    return None
