"""``/open``: what is open between the two, by date, with the words it rests on; and how a person settles it."""

from __future__ import annotations

from collections.abc import Iterable

from domain.matters import OpenMatter
from domain.text import one_line
from interfaces.terminal.command_context import Choice, CommandContext
from interfaces.terminal.commands.memory_view import speaker_name
from interfaces.terminal.session_view import day_here
from jobs.greeting import decide, due_day, list_open

_DEEDS = ("done", "drop", "later")


def run_open(context: CommandContext, argument: str) -> None:
    """``/open [N done|drop|later DATE]``. Raises UsageError for what is not open, or for what is no day."""
    number, _, rest = argument.strip().partition(" ")
    deed, _, when = rest.strip().partition(" ")
    if not argument.strip():
        _show_open(context)
    elif number.isdecimal() and (deed := deed.lower()) in _DEEDS:
        matter = decide(context.memory, int(number[:9]), deed, when.strip(), context.clock())  # type: ignore[arg-type]
        context.tell(f"open.done.{deed}", text=one_line(matter.words, 80), day=matter.next_review)
    else:
        context.tell("open.how", "warning")


def _show_open(context: CommandContext) -> None:
    matters = list_open(context.memory, context.clock())
    if not matters:
        context.tell("open.nothing")
    for one in matters:
        show_matter(context, one)
    if matters:
        context.tell("open.how", "quiet")


def show_matter(context: CommandContext, one: OpenMatter) -> None:
    """A matter on a row, and below it who said it when."""
    day = due_day(one, context.clock()) or context.words.say("open.no_day")
    kind = context.words.say(f"open.kind.{one.kind}")
    context.aside.one_row(f"{one.number:>3} {day} · {kind} · {one_line(one.words)}")
    key = "open.source_asked" if one.asked else "open.source"
    asked = day_here(one.asked_at) if one.asked else ""
    context.tell(key, "quiet", who=speaker_name(context, one.role), day=day_here(one.said), asked=asked)


def open_choices(context: CommandContext, typed: tuple[str, ...]) -> Iterable[str | Choice]:
    """What is open by number, then what can be done."""
    if not typed:
        waiting = context.memory.matters.with_status(("pending", "asked"))
        return [Choice(str(one.number), one_line(one.words, 60)) for one in waiting]
    return _DEEDS if len(typed) == 1 else ()
