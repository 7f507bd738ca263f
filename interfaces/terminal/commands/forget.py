"""``/forget``: shows what would go, asks, erases, and shows the proof that it is gone; ``/remember``; ``/erased``: what
was erased and when, without its content, also as a receipt in a file; and the question before something that was erased
comes back with a file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from domain import errors
from domain.events import Notice
from domain.receipts import ErasureReceipt
from domain.records import ErasureScope, Message
from domain.text import one_line
from interfaces.messages import Words
from interfaces.terminal.command_context import Choice, CommandContext, is_no
from interfaces.terminal.commands.memory_view import speaker_name
from interfaces.terminal.commands.session_list import found_session, session_choices
from interfaces.terminal.file_export import write_new
from interfaces.terminal.line_source import Reader
from interfaces.terminal.screen import Screen
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


# -- what was erased

#: So many days are named on the screen.
_DAYS = 6


def run_erased(context: CommandContext, argument: str) -> None:
    """``/erased [FILE]``."""
    receipts = context.memory.erased.receipts()
    if not receipts:
        context.tell("erased.none")
    elif name := argument.strip():
        path = write_new(name, _format_file(receipts, Path(name).suffix.lower(), context))
        context.tell("erased.written", "good", erasures=context.words.count("erasure", len(receipts)), path=path)
    else:
        for one in receipts:
            context.aside.line(" · ".join(_describe(one, context.words, _DAYS)), "words" if one.files else "warning")
        context.tell("erased.how", "quiet")


def _format_file(receipts: Sequence[ErasureReceipt], suffix: str, context: CommandContext) -> str:
    """The receipt as JSON or Markdown. Raises UsageError for another suffix."""
    if suffix == ".json":
        return json.dumps({"erasures": [asdict(one) for one in receipts]}, ensure_ascii=False, indent=2)
    if suffix != ".md":
        raise errors.UsageError("erased.format", suffix=suffix or "–")
    say = context.words.say
    lines = [f"# {say('erased.title')}", "", say("erased.about", when=format_local(context.clock().isoformat())), ""]
    for one in receipts:
        when, *details = _describe(one, context.words, len(one.days))
        lines += [f"## {when}", "", *(f"- {detail}" for detail in details), ""]
    return "\n".join(lines)


def _describe(one: ErasureReceipt, words: Words, most: int) -> list[str]:
    """When, why, how much of which days, and the proof."""
    said = words.say(
        "erased.messages", messages=words.count("message", one.messages), sessions=words.count("session", one.sessions)
    )
    days = [f"{day or words.say('erased.no_day')} ({count})" for day, count in one.days.items()]
    more = [words.say("forget.more", count=len(days) - most)] if len(days) > most else []
    proof = "erased.proof" if one.files else "erased.no_proof"
    return [
        format_local(one.erased_at),
        words.say(f"erased.reason.{one.reason}"),
        *([said, words.join([*days[:most], *more])] if one.messages else []),
        *([words.say("erased.derived", count=one.derived)] if one.derived else []),
        words.say(proof, places=words.count("place", one.files), searched=one.searched, traces=one.traces),
    ]


@dataclass(frozen=True)
class ErasedQuestion:
    """Asks whether to leave out what was erased, before it comes back with a file.

    ``reader`` is None where no one can answer: then it is left out, with a line that says how to bring it back.
    ``with_erased`` was said beforehand.
    """

    words: Words
    screen: Screen
    reader: Reader | None
    with_erased: bool

    def leaves_out(self, count: int | None, path: Path) -> bool:
        """Whether to leave out what was erased, so many things; None where the present memory cannot say."""
        if count is None:
            self.screen.line(self.words.say("erased.unknown"), "warning")
            return True
        found = {"things": self.words.count("thing", count), "path": path}
        if self.with_erased:
            self.screen.line(self.words.say("erased.brought_back", **found), "warning")
            return False
        if self.reader is None:
            self.screen.line(self.words.say("erased.left_out", **found), "warning")
            return True
        return not is_no(self.reader.ask_question(self.words.say("erased.ask", **found) + " ") or "")
