"""``/import``: bringing along what other programs kept, taking it back, and whether it is read up."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from domain import errors
from domain.imports import ImportSource
from interfaces.terminal.arguments import ImportOrder
from interfaces.terminal.command_context import CommandContext, Next
from interfaces.terminal.history_import import HistoryImport
from interfaces.terminal.pump import Beat
from interfaces.terminal.session_view import local


def bring(context: CommandContext, argument: str) -> Next:
    """``/import FILE… [--me NAME] [--dry-run] | undo N | rest | on``"""
    words = _split(argument)
    match words:
        case []:
            _list(context)
        case ["undo", number] if number.isdecimal():
            _take_back(context, int(number))
        case ["rest" | "on" as wanted]:
            context.memory.imports.rest(wanted == "rest")
            context.tell(f"import.{wanted}")
            context.conversation.keep_silent()
        case _:
            _bring(context, _order(words))
    return None


def import_choices(context: CommandContext, words: tuple[str, ...]) -> Sequence[str]:
    """What may follow ``/import`` besides the names of files."""
    if words == ("undo",):
        return [str(one.number) for one in context.memory.imports.all()]
    return ["undo", "rest", "on"] if not words else ["--me", "--dates", "--dry-run"]


def _split(argument: str) -> list[str]:
    try:
        return shlex.split(argument)
    except ValueError as fault:
        raise errors.UsageError("import.quotes") from fault


def _order(words: Sequence[str]) -> ImportOrder:
    """What was typed, as the flags of the same names mean it."""
    paths: list[Path] = []
    me: list[str] = []
    dates: str | None = None
    rest = iter(words)
    for word in rest:
        if word == "--me":
            me.append(next(rest, ""))
        elif word == "--dates":
            dates = next(rest, "")
        elif word != "--dry-run":
            paths.append(Path(word).expanduser())
    if not paths or "" in {*me, *words} or dates not in (None, "day", "month"):
        raise errors.UsageError("import.which")
    return ImportOrder(tuple(paths), tuple(me), "--dry-run" in words, dates)


def _bring(context: CommandContext, order: ImportOrder) -> None:
    context.begin()

    def pumped(work: Iterator[object]) -> Iterator[object]:
        return context.pumped(work, patience=None)

    def ask(question: str, names: Sequence[str]) -> str | None:
        return context.reader.ask(question, choices=names)

    bringing = HistoryImport(
        context.settings, context.memory, context.aside, context.words, context.stop, context.clock, pumped,
        ask if context.interactive else None,
    )  # fmt: skip
    try:
        bringing.run(order)
    except errors.Interrupted:
        context.tell("import.stopped", "warning")
    if not order.only_look:
        context.conversation.keep_silent()


def _list(context: CommandContext) -> None:
    """What was brought along, and how much of it is still to be read."""
    found = context.memory.imports.all()
    for one in found:
        context.aside.one_row(_row(context, one))
    if not found:
        context.tell("import.none", "quiet")
        return
    context.aside.line(reading_left(context), "quiet")


def _row(context: CommandContext, one: ImportSource) -> str:
    return context.words.say(
        f"import.row.{one.state}",
        number=one.number,
        name=one.name or one.kind,
        kind=one.kind,
        messages=context.words.count("message", one.messages),
        day=local(one.stored_at)[:10],
    )


def reading_left(context: CommandContext) -> str:
    """How much of what was brought along is still to be read up; "" when nothing was brought along."""
    if not context.memory.imports.all():
        return ""
    left, say = context.memory.imports.left(), context.words.say
    if not left.sessions:
        return say("import.all_read")
    key = "import.left_resting" if left.resting else "import.left"
    return say(
        key,
        sessions=context.words.count("session", left.sessions),
        messages=context.words.count("message", left.turns),
        calls=left.calls_today,
        most=context.settings.import_calls,
    )


def _take_back(context: CommandContext, number: int) -> None:
    """Let a whole import never have been."""
    found = {one.number: one for one in context.memory.imports.all()}
    if number not in found:
        raise errors.UsageError("import.unknown", number=number)
    name = found[number].name or found[number].kind
    if not context.sure("import.undo_ask", name=name):
        context.tell("kept")
        return
    context.begin()
    gone = 0
    try:
        for event in context.pumped(_taken_back(context, number), patience=None):
            if isinstance(event, Beat):
                context.aside.status("…")
            else:
                gone = event
                context.aside.status(context.words.count("message", gone))
    except errors.Interrupted:
        context.tell("import.undo_stopped", "warning", number=number)
        return
    context.tell("import.undone", name=name, messages=context.words.count("message", gone))


def _taken_back(context: CommandContext, number: int) -> Iterator[int]:
    """Nothing is read up meanwhile: it would learn of what goes."""
    with context.conversation.background.paused():
        for gone in context.memory.imports.take_back(number):
            yield gone
            context.stop.check()
