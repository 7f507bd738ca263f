"""Commands of the present session: saving, clearing, taking back, asking again, showing, writing nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

from conversation import DecisionUndone, SaveUndone
from domain import errors
from domain.events import Notice
from domain.records import InFlight, Round
from domain.text import one_line
from interfaces.terminal.command_context import CommandContext, Leave, Next, Offer, Say, read_count, read_switch
from interfaces.terminal.commands.fact_list import show_row
from interfaces.terminal.commands.persona import show_difference
from interfaces.terminal.line_source import PROMPT
from interfaces.terminal.session_view import news_line, show_rounds, show_session
from interfaces.terminal.work_runner import Tick
from jobs.saving import NothingToSave, Saved, SaveEvent, Stage

_HISTORY = 10
#: As many of the rounds that are taken back are listed one by one.
_LISTED = 5


def run_save(context: CommandContext, argument: str) -> None:
    """``/save``."""
    save_session(context)


def save_session(context: CommandContext, done: str = "save.done") -> bool:
    """Save the present session and show how, ``done`` at the end; whether a new session is open now."""
    if context.conversation.incognito:
        context.tell("save.incognito")
        return False
    context.begin_work()
    try:
        return _show_save(context, done)
    except errors.Interrupted:
        context.tell("save.stopped", "warning")
    except errors.ModelError as error:
        context.tell("save.failed", "trouble", error=context.explain_error(error))
    return False


def begin_new_session(context: CommandContext) -> None:
    """Save the present session if anything was said in it. Without a person there, an error propagates."""
    session_id = context.session_id
    if not context.memory.messages.rounds(session_id, 1):
        return
    if not context.conversation.incognito:
        context.tell("save.first", "quiet")
    if context.interactive or context.conversation.incognito:
        save_session(context)
        context.aside.empty_line()
    else:
        context.begin_work()
        _show_save(context, "save.done")


def _show_save(context: CommandContext, done: str) -> bool:
    saved = False
    for event in context.run_work(context.conversation.save(context.stop), last_step=_is_archiving):
        match event:
            case Stage(name, ended) if not ended and name != "archive":
                context.tell(f"save.{name}", "quiet")
            case Tick():
                context.aside.show_status("…")
            case Notice():
                context.aside.line(context.words.describe_notice(event), "warning")
            case NothingToSave():
                context.tell("save.nothing")
            case Saved():
                _show_saved(context, event, done)
                saved = True
    return saved


def _is_archiving(event: SaveEvent) -> bool:
    """Whether the step behind this event is the one commit that changes everything, which is never left alone."""
    return isinstance(event, Stage) and event.name == "archive"


def _show_saved(context: CommandContext, saved: Saved, done: str) -> None:
    for change in saved.changes:
        context.aside.line()
        context.tell(f"save.changed.{change.persona}", "title")
        show_difference(context.aside, change.before, change.after)
        # Each persona counts its versions from 1.
        before = len(context.memory.personas.history(change.persona)) - 1
        if before > 0:
            context.tell("save.take_back", "quiet", persona=change.persona, version=before)
    context.aside.line()
    if not saved.changes:
        context.tell("save.unchanged", "quiet")
    if news := context.memory.facts.session_changes(saved.archived.session_id):
        context.tell("save.news", news=news_line(context.words, news))
    context.tell(done)
    if done == "save.done":
        show_session(context)


def reset_session(context: CommandContext, argument: str) -> None:
    """``/reset``."""
    rounds = len(context.conversation.rounds_in_context())
    if not context.conversation.incognito:
        rounds = len(context.memory.messages.rounds(context.session_id))
    if not rounds:
        context.tell("reset.nothing")
    elif not context.confirm("reset.ask", rounds=context.words.count("round", rounds)):
        context.tell("unchanged")
    else:
        context.tell("reset.done", rounds=context.words.count("round", context.conversation.reset()))


def leave_chat(context: CommandContext, argument: str) -> Next:
    """``/exit``."""
    if context.interactive:
        context.tell("exit.goodbye")
    return Leave()


def retry_reply(context: CommandContext, argument: str) -> Next:
    """``/retry``."""
    text = last_said(context)
    if not text:
        context.tell("retry.nothing")
        return None
    return Say(text, again=not _in_flight(context))


def edit_message(context: CommandContext, argument: str) -> Next:
    """``/edit``."""
    text = last_said(context)
    if not text:
        context.tell("retry.nothing")
        return None
    context.tell("edit.ready", "quiet")
    return Offer(text, again=not _in_flight(context))


def undo_rounds(context: CommandContext, argument: str) -> None:
    """``/undo [n]``."""
    count = read_count(context, argument, 1)
    if count is None:
        return
    before = context.conversation.rounds_in_context()
    undone = context.conversation.undo(count)
    if isinstance(undone, SaveUndone):
        _show_save_undone(context, undone)
    elif isinstance(undone, DecisionUndone):
        context.tell("undo.fact", number=undone.fact.number)
        show_row(context, undone.fact)
    elif not undone:
        context.tell("undo.nothing")
    elif len(after := context.conversation.rounds_in_context()) > len(before):
        context.tell("undo.restored", rounds=context.words.count("round", undone))
    else:
        context.tell("undo.done", rounds=context.words.count("round", undone))
        _first_words(context, before[len(after) :])
        context.tell("undo.redo", "quiet")


def _show_save_undone(context: CommandContext, undone: SaveUndone) -> None:
    say, count = context.words.say, context.words.count
    rounds = context.memory.messages.rounds(undone.session.session_id)
    context.tell("undo.save", rounds=count("round", len(rounds)))
    if undone.personas:
        personas = [say(f"persona.{persona}") for persona in undone.personas]
        context.tell("undo.save_personas", personas=context.words.join(personas))
    if undone.notes or undone.facts:
        notes, facts = count("note", undone.notes), count("fact", undone.facts)
        context.tell("undo.save_facts", notes=notes, facts=facts)
    context.tell("undo.save_again", "quiet")


def redo_rounds(context: CommandContext, argument: str) -> None:
    """``/redo``."""
    back = context.conversation.redo()
    if not back:
        context.tell("redo.nothing")
        return
    context.tell("undo.restored", rounds=context.words.count("round", len(back)))
    _first_words(context, back)


def _first_words(context: CommandContext, rounds: Sequence[Round]) -> None:
    for spoken in rounds[:_LISTED]:
        context.aside.one_row("  " + PROMPT + one_line(spoken.user.words), "quiet")
    if len(rounds) > _LISTED:
        context.aside.line(f"  … {len(rounds) - _LISTED}", "quiet")


def show_history(context: CommandContext, argument: str) -> None:
    """``/history [n]``."""
    count = read_count(context, argument, _HISTORY)
    if count is None:
        return
    rounds = context.memory.messages.rounds(context.session_id, count)
    if context.conversation.incognito:
        rounds = context.conversation.rounds_in_context()[-count:]
    if not rounds:
        context.tell("history.nothing")
    show_rounds(context.aside, context.words, rounds)


def last_said(context: CommandContext) -> str:
    """What the person said last, answered or not."""
    if in_flight := _in_flight(context):
        return in_flight.text
    rounds = context.conversation.rounds_in_context()
    return rounds[-1].user.words if rounds else ""


def _in_flight(context: CommandContext) -> InFlight | None:
    return None if context.conversation.incognito else context.memory.sessions.in_flight(context.session_id)


def switch_incognito(context: CommandContext, argument: str) -> None:
    """``/incognito on|off``."""
    wanted = read_switch(context, "/incognito", argument, context.conversation.incognito)
    if wanted is not None:
        context.conversation.set_incognito(wanted)
        context.tell("switch.incognito_on" if wanted else "switch.incognito_off")
