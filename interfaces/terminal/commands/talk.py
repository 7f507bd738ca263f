"""Commands of the present conversation: leaving, asking again, taking back, looking back."""

from __future__ import annotations

from collections.abc import Sequence

from domain.records import Round
from domain.text import one_line
from interfaces.terminal.command_context import CommandContext, Leave, Next, Offer, Say
from interfaces.terminal.commands.fact_list import show_row
from interfaces.terminal.line_source import PROMPT
from interfaces.terminal.session_view import show_rounds
from jobs.undoing import DecisionUndone, SaveUndone

_HISTORY = 10
#: As many of the rounds that are taken back are told one by one.
_TOLD = 5


def leave(context: CommandContext, argument: str) -> Next:
    """``/exit``"""
    return Leave()


def retry(context: CommandContext, argument: str) -> Next:
    """``/retry``"""
    text = last_said(context)
    if not text:
        context.tell("retry.nothing")
        return None
    return Say(text, again=not _unanswered(context))


def edit(context: CommandContext, argument: str) -> Next:
    """``/edit``"""
    text = last_said(context)
    if not text:
        context.tell("retry.nothing")
        return None
    context.tell("edit.ready", "quiet")
    return Offer(text, again=not _unanswered(context))


def undo(context: CommandContext, argument: str) -> Next:
    """``/undo [n]``"""
    count = number(context, argument, 1)
    if count is None:
        return None
    before = context.conversation.rounds_in_context()
    gone = context.conversation.undo(count)
    if isinstance(gone, SaveUndone):
        _save_undone(context, gone)
        return None
    if isinstance(gone, DecisionUndone):
        context.tell("undo.fact", number=gone.fact.number)
        show_row(context, gone.fact)
        return None
    after = context.conversation.rounds_in_context()
    if not gone:
        context.tell("undo.nothing")
    elif len(after) > len(before):
        context.tell("undo.restored", rounds=context.words.count("round", gone))
    else:
        context.tell("undo.done", rounds=context.words.count("round", gone))
        _first_words(context, before[len(after) :])
        context.tell("undo.redo", "quiet")
    return None


def _save_undone(context: CommandContext, undone: SaveUndone) -> None:
    """That the session is active again, and what went with the save."""
    say, count = context.words.say, context.words.count
    rounds = context.memory.messages.rounds(undone.session.session_id)
    context.tell("undo.save", rounds=count("round", len(rounds)))
    if undone.images:
        images = [say(f"image.{image}") for image in undone.images]
        context.tell("undo.save_images", images=say("why.comma").join(images))
    if undone.notes or undone.facts:
        notes, facts = count("note", undone.notes), count("fact", undone.facts)
        context.tell("undo.save_known", notes=notes, facts=facts)
    context.tell("undo.save_again", "quiet")


def redo(context: CommandContext, argument: str) -> Next:
    """``/redo``"""
    back = context.conversation.redo()
    if not back:
        context.tell("redo.nothing")
        return None
    context.tell("undo.restored", rounds=context.words.count("round", len(back)))
    _first_words(context, back)
    return None


def _first_words(context: CommandContext, rounds: Sequence[Round]) -> None:
    """How the messages of these rounds begin, a row each."""
    for spoken in rounds[:_TOLD]:
        context.aside.one_row("  " + PROMPT + one_line(spoken.user.words), "quiet")
    if len(rounds) > _TOLD:
        context.aside.line(f"  … {len(rounds) - _TOLD}", "quiet")


def history(context: CommandContext, argument: str) -> Next:
    """``/history [n]``"""
    count = number(context, argument, _HISTORY)
    if count is None:
        return None
    rounds = context.memory.messages.rounds(context.session_id, count)
    if context.conversation.incognito:
        rounds = context.conversation.rounds_in_context()[-count:]
    if not rounds:
        context.tell("history.nothing")
    show_rounds(context.aside, context.words, rounds)
    return None


def number(context: CommandContext, argument: str, default: int) -> int | None:
    """A whole number above 0 as an argument; None after saying that it is none."""
    if not argument:
        return default
    if argument.isdecimal() and int(argument[:9]) > 0:
        return int(argument[:9])
    context.tell("number.wrong", "warning", value=argument)
    return None


def last_said(context: CommandContext) -> str:
    """What the person said last, answered or not."""
    if _unanswered(context):
        in_flight = context.memory.sessions.in_flight(context.session_id)
        return in_flight.text if in_flight else ""
    rounds = context.conversation.rounds_in_context()
    return rounds[-1].user.words if rounds else ""


def _unanswered(context: CommandContext) -> bool:
    return (
        not context.conversation.incognito
        and context.memory.sessions.in_flight(context.session_id) is not None
    )
