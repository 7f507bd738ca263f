"""``/forget``: shows what would go, asks, erases, and shows the proof that it is gone."""

from __future__ import annotations

from collections.abc import Sequence

from domain import errors
from domain.events import Notice
from domain.records import ErasureScope, Turn
from domain.text import one_line
from interfaces.terminal.command_context import Choice, CommandContext, Next
from interfaces.terminal.commands.earlier_sessions import found_session, session_choices
from interfaces.terminal.commands.memory_view import speaker
from interfaces.terminal.pump import Beat
from interfaces.terminal.session_view import local
from jobs.erasing import Erased, Step

_SHOWN = 12
_SNIPPET = 120


def forget(context: CommandContext, argument: str) -> Next:
    """``/forget last | asked | session N | turn ID | WORDS``"""
    if not argument.strip():
        context.tell("forget.what")
        return None
    chosen = _chosen(context, argument.strip())
    if not chosen:
        asked = argument.strip().lower() == "asked"
        context.tell("forget.nothing_asked" if asked else "forget.nothing", query=argument)
        return None
    _show(context, chosen)
    context.aside.gap()
    turns = context.words.count("turn", len(chosen.turns))
    if not context.sure("forget.ask" if chosen.turns else "forget.ask_made", turns=turns):
        context.tell("kept")
        return None
    _erase(context, chosen)
    return None


def remember(context: CommandContext, argument: str) -> Next:
    """``/remember``"""
    held = context.memory.messages.hidden()
    if not held:
        context.tell("remember.nothing")
        return None
    context.memory.rounds.unhide([turn.text_id for turn in held])
    context.conversation.keep_silent()
    for turn in held[:_SHOWN]:
        context.aside.line(_turn_line(context, turn))
    context.tell("remember.done", turns=context.words.count("turn", len(held)))
    return None


def forget_choices(context: CommandContext, words: tuple[str, ...]) -> Sequence[str | Choice]:
    """What may follow ``/forget``."""
    if not words:
        return ["last", "asked", "session", "turn"]
    return session_choices(context, ()) if words == ("session",) else []


def _chosen(context: CommandContext, argument: str) -> ErasureScope:
    memory = context.memory
    first, _, rest = argument.partition(" ")
    match first.lower(), rest.strip():
        case "last", "":
            rounds = memory.messages.rounds(context.session_id, 1)
            return memory.erasure.round(rounds[-1].user.text_id) if rounds else ErasureScope()
        case "asked", "":
            return memory.erasure.hidden()
        case "session", wanted if wanted:
            return memory.erasure.session(found_session(context, wanted).session_id)
        case "turn", wanted if wanted:
            return memory.erasure.turn(_turn_named(context, wanted))
    return memory.erasure.words(argument)


def _turn_named(context: CommandContext, wanted: str) -> str:
    """The id of the one turn whose id begins so. Raises UsageError where several do, each shown with its whole id."""
    named = context.memory.messages.beginning(wanted)
    if len(named) == 1:
        return named[0].text_id
    if not named or wanted in (turn.text_id for turn in named):
        return wanted
    for turn in named[:_SHOWN]:
        context.aside.line(f"{turn.text_id} · {_turn_line(context, turn)}")
    raise errors.UsageError("forget.which", id=wanted, turns=context.words.count("turn", len(named)))


def _show(context: CommandContext, chosen: ErasureScope) -> None:
    """What would go, the turns themselves and what was made from them."""
    context.tell("forget.would", "title")
    for turn in chosen.turns[:_SHOWN]:
        context.aside.line(_turn_line(context, turn))
    if len(chosen.turns) > _SHOWN:
        context.tell("forget.more", "quiet", count=len(chosen.turns) - _SHOWN)
    for known in _known(chosen)[:_SHOWN]:
        context.aside.line(one_line(known, _SNIPPET), lead="  ")
    context.tell("forget.counts", "quiet", **_counts(context, chosen))


def _turn_line(context: CommandContext, turn: Turn) -> str:
    who = turn.speaker or speaker(context, turn.role)
    return f"{local(turn.timestamp)} · {who} · {one_line(turn.words, _SNIPPET)}"


def _known(chosen: ErasureScope) -> list[str]:
    """What notes, facts and images say that would go, of those that say the same one; and names of files."""
    notes = [note.text for note in chosen.notes]
    written = [*(line.strip() for line in chosen.lines), *chosen.pins, *chosen.file_names]
    return list(dict.fromkeys([*(fact.restatement for fact in chosen.facts), *notes, *written]))


def _counts(context: CommandContext, chosen: ErasureScope) -> dict[str, object]:
    count = context.words.count
    return {
        "turns": count("turn", len(chosen.turns)),
        "summaries": count("summary", len(chosen.summaries)),
        "chapters": count("chapter", len(chosen.chapters)),
        "notes": count("note", len(chosen.notes)),
        "facts": count("fact", len(chosen.facts)),
        "versions": count("version", len(chosen.versions)),
    }


def _erase(context: CommandContext, chosen: ErasureScope) -> None:
    context.begin()
    steps = ["erase", *(["summaries"] if chosen.summaries else [])]
    for text in chosen.texts:
        context.forget_typed(text)
    for event in context.pumped(context.conversation.erase(chosen, context.stop), patience=None):
        match event:
            case Step(name) if name in steps:
                what = context.words.say(f"forget.step.{name}")
                context.tell("forget.step", "quiet", at=steps.index(name) + 1, of=len(steps), what=what)
            case Beat():
                context.aside.status("…")
            case Notice():
                context.aside.line(context.words.notice(event), "warning")
            case Erased():
                _show_erased(context, event)


def _show_erased(context: CommandContext, erased: Erased) -> None:
    context.tell("forget.done", **_counts(context, erased.selection))
    if erased.summaries_anew or erased.images_anew:
        made = [context.words.count("summary", erased.summaries_anew)] if erased.summaries_anew else []
        made += [context.words.say(f"image.{image}") for image in erased.images_anew]
        context.tell("forget.anew", what=", ".join(made))
    proof = erased.proof
    context.tell(
        "forget.proof",
        "trouble" if proof.traces else "good",
        files=context.words.count("file", proof.files),
        searched=proof.searched,
        found=len(proof.traces),
    )
    for trace in proof.traces:
        context.tell("forget.left", "trouble", path=trace.path)
