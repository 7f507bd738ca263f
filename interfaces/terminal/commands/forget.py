"""``/forget``: shows what would go, asks, erases, and shows the proof that it is gone."""

from __future__ import annotations

from collections.abc import Sequence

from domain import errors
from domain.events import Notice
from domain.records import ErasureScope, Message
from domain.text import one_line
from interfaces.terminal.command_context import Choice, CommandContext
from interfaces.terminal.commands.memory_view import speaker_name
from interfaces.terminal.commands.session_list import found_session, session_choices
from interfaces.terminal.session_view import format_local
from interfaces.terminal.work_runner import Tick
from jobs.rebuild import Erased, Step

_SHOWN = 12
_SNIPPET = 120


def run_forget(context: CommandContext, argument: str) -> None:
    """``/forget last | asked | session N | turn ID | WORDS``."""
    if context.conversation.in_doubt and not argument.strip():
        argument = "asked"
    context.conversation.in_doubt = ()
    if not argument.strip():
        context.tell("forget.what")
        return
    chosen = _choose_scope(context, argument.strip())
    if not chosen:
        asked = argument.strip().lower() == "asked"
        context.tell("forget.no_requests" if asked else "forget.nothing", query=argument)
        return
    _show_scope(context, chosen)
    context.aside.empty_line()
    messages = context.words.count("turn", len(chosen.messages))
    if context.confirm("forget.ask" if chosen.messages else "forget.ask_derived", messages=messages):
        _run_erasure(context, chosen)
    else:
        context.tell("unchanged")


def unhide_messages(context: CommandContext, argument: str) -> None:
    """``/remember``."""
    hidden = context.memory.messages.hidden()
    if not hidden:
        context.tell("remember.nothing")
        return
    context.memory.rounds.unhide([message.text_id for message in hidden])
    context.conversation.start_maintenance()
    for message in hidden[:_SHOWN]:
        context.aside.line(_message_line(context, message))
    context.tell("remember.done", messages=context.words.count("turn", len(hidden)))


def forget_choices(context: CommandContext, words: tuple[str, ...]) -> Sequence[str | Choice]:
    """What may follow ``/forget``."""
    if not words:
        return ["last", "asked", "session", "turn"]
    return session_choices(context, ()) if words == ("session",) else []


def _choose_scope(context: CommandContext, argument: str) -> ErasureScope:
    memory = context.memory
    first, _, rest = argument.partition(" ")
    match first.lower(), rest.strip():
        case "last", "":
            rounds = memory.messages.rounds(context.session_id, 1)
            return memory.erasure.scope_of_round(rounds[-1].user.text_id) if rounds else ErasureScope()
        case "asked", "":
            return memory.erasure.scope_of_hidden()
        case "session", wanted if wanted:
            return memory.erasure.scope_of_session(found_session(context, wanted).session_id)
        case "turn", wanted if wanted:
            return memory.erasure.scope_of_message(_message_named(context, wanted))
    return memory.erasure.scope_of_words(argument)


def _message_named(context: CommandContext, wanted: str) -> str:
    """The id of the one turn whose id begins so. Raises UsageError where several do, each shown with its whole id."""
    named = context.memory.messages.with_prefix(wanted)
    if len(named) == 1:
        return named[0].text_id
    if not named or wanted in (message.text_id for message in named):
        return wanted
    for message in named[:_SHOWN]:
        context.aside.line(f"{message.text_id} · {_message_line(context, message)}")
    raise errors.UsageError("forget.which", id=wanted, messages=context.words.count("turn", len(named)))


def _show_scope(context: CommandContext, chosen: ErasureScope) -> None:
    context.tell("forget.would", "title")
    for message in chosen.messages[:_SHOWN]:
        context.aside.line(_message_line(context, message))
    if len(chosen.messages) > _SHOWN:
        context.tell("forget.more", "quiet", count=len(chosen.messages) - _SHOWN)
    derived = [*(fact.believed or fact.restatement for fact in chosen.facts), *(note.text for note in chosen.notes)]
    derived += [*(line.strip() for line in chosen.lines), *chosen.pins, *chosen.file_names]
    for text in list(dict.fromkeys(derived))[:_SHOWN]:
        context.aside.line(one_line(text, _SNIPPET), lead="  ")
    context.tell("forget.counts", "quiet", **context.words.count_erased(chosen))


def _message_line(context: CommandContext, message: Message) -> str:
    who = message.speaker or speaker_name(context, message.role)
    return f"{format_local(message.timestamp)} · {who} · {one_line(message.words, _SNIPPET)}"


def _run_erasure(context: CommandContext, chosen: ErasureScope) -> None:
    context.begin_work()
    steps = ["erase", *(["summaries"] if chosen.summaries else [])]
    for text in chosen.texts:
        context.forget_typed(text)
    for event in context.run_work(context.conversation.erase(chosen, context.stop), patience=None):
        match event:
            case Step(name) if name in steps:
                what = context.words.say(f"forget.step.{name}")
                context.aside.line(f"{steps.index(name) + 1}/{len(steps)} {what}", "quiet")
            case Tick():
                context.aside.show_status("…")
            case Notice():
                context.aside.line(context.words.describe_notice(event), "warning")
            case Erased():
                _show_erased(context, event)


def _show_erased(context: CommandContext, erased: Erased) -> None:
    context.tell("forget.done", **context.words.count_erased(erased.selection))
    proof, (rebuilt, searched) = erased.proof, context.words.describe_proof(erased)
    if rebuilt:
        context.aside.line(rebuilt)
    context.aside.line(searched, "trouble" if proof.traces else "good")
    for one in proof.behind:
        context.tell("forget.behind", "warning", pid=one["pid"], kind=one["kind"])
    for trace in proof.traces:
        context.tell("forget.remains", "trouble", path=trace.path)
