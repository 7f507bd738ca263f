"""``/why``: what was recalled for the last reply, and why; with ``full``, whole texts and numbers."""

from __future__ import annotations

from collections.abc import Sequence

from domain.recollection import (
    RecalledChapter,
    RecalledFact,
    RecalledOther,
    RecalledSummary,
    RecalledTurn,
    Recollection,
    Why,
)
from domain.text import one_line, quotations, source_of
from interfaces.messages.reasons import Recalled, reasons
from interfaces.terminal.command_context import CommandContext, Next
from interfaces.terminal.commands.memory_view import head_of_other, said_anywhere, said_here, who, words_of
from interfaces.terminal.excerpts import excerpt
from interfaces.terminal.reply import step_line
from interfaces.terminal.session_view import day_here, local, moment
from interfaces.terminal.style import Meaning

_SNIPPET = 240
#: Parts of a score that are told: the largest, and none that would show as 0.00.
_PARTS_SHOWN, _LEAST_PART = 5, 0.005


def why(context: CommandContext, argument: str) -> Next:
    """``/why [full]``"""
    last, asked = context.conversation.last, context.conversation.asking.last
    if asked is not None:
        _explain(context, asked.text, asked.recollection, argument)
        _unfounded(context, asked.text, asked.recollection, said_here(context))
    elif last is not None:
        _explain(context, last.answered.reply.text, last.recollection, argument)
        _unfounded(context, last.answered.reply.text, last.recollection, said_here(context)[:-1])
    else:
        context.tell("why.nothing_yet")
    return None


def _explain(context: CommandContext, reply: str, recollection: Recollection, argument: str) -> None:
    """How the memories of a reply were found, and each of them."""
    full = argument.strip().lower() == "full"
    for step in recollection.steps:
        context.aside.line(step_line(context.words, step), "quiet")
    if full:
        _queries(context, recollection)
    if not recollection:
        context.tell("why.nothing")
    sources = [source_of(quotation, recollection) for quotation in quotations(reply)]
    quoted = {source.text_id for source in sources if source}
    recalled: list[RecalledTurn | RecalledSummary] = [*recollection.summaries, *recollection.turns]
    for chapter in recollection.chapters:
        _chapter(context, chapter, full=full)
    for memory in recalled:
        if full:
            _in_full(context, memory, memory.text_id in quoted)
        elif isinstance(memory, RecalledSummary) or memory.hit or memory.text_id in quoted:
            _in_short(context, memory, memory.text_id in quoted)
    for other in recollection.others:
        _other(context, other, quoted=other.text_id in quoted, full=full)
    for fact in recollection.facts:
        _fact(context, fact, full=full)
    if recollection and not full:
        context.tell("why.more", "quiet")


def _queries(context: CommandContext, recollection: Recollection) -> None:
    for at, query in enumerate(recollection.queries):
        resolved = recollection.resolved[at] if at < len(recollection.resolved) else query
        context.tell("why.query", "quiet", query=one_line(query, _SNIPPET))
        if resolved != query:
            context.tell("why.resolved", "quiet", query=one_line(resolved, _SNIPPET))
    if recollection.degraded:
        context.tell("why.degraded", "warning", parts=recollection.degraded)


def _in_short(context: CommandContext, memory: RecalledTurn | RecalledSummary, quoted: bool) -> None:
    """When, who, and the words around what was found, on one row; under it why."""
    mark = f"{context.words.say('why.quoted')} · " if quoted else ""
    head = f"{moment(memory.timestamp).date()} · {who(context, memory)} · {mark}"
    context.aside.excerpt(
        head,
        lambda cells: excerpt(words_of(memory), memory.why.words, cells, plain=context.aside.plain),
        "good" if quoted else "quiet",
    )
    _marks(context, memory)
    _reasons(context, memory)


def _reasons(context: CommandContext, memory: Recalled) -> None:
    """Why a memory was recalled, in words."""
    told = context.words.say("reason.semicolon").join(reasons(context.words, memory))
    context.aside.line(f"    {told}", "quiet")


def _marks(context: CommandContext, memory: RecalledTurn | RecalledSummary) -> None:
    """That it is faint, and what became of that which a recalled turn or summary says, a row each."""
    if isinstance(memory, RecalledTurn) and memory.faded:
        context.aside.one_row(f"    {context.words.say('why.faint')}", "quiet")
    for mark in memory.marks:
        became = context.words.say(f"why.became.{mark.became}", day=day_here(mark.when))
        told = f"{became} · {mark.text}" if mark.text else became
        context.aside.one_row(f"    {told}", "warning")


def _chapter(context: CommandContext, chapter: RecalledChapter, *, full: bool) -> None:
    """A chapter that was handed over for a stretch of time."""
    title, *text = chapter.text.strip().splitlines()
    days = {"first": day_here(chapter.start), "last": day_here(chapter.end)}
    context.aside.one_row(context.words.say("why.chapter", **days, title=title), "quiet")
    for line in text if full else ():
        context.aside.line("  " + line)
    _reasons(context, chapter)


def _fact(context: CommandContext, fact: RecalledFact, *, full: bool) -> None:
    """A fact that was handed over, by its number."""
    say = context.words.say
    marks = [say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" else []
    if fact.doubtful_since:
        marks.append(say("facts.mark.doubtful", day=day_here(fact.doubtful_since)))
    if fact.planned_for:
        marks.append(say("why.became.was_planned_for", day=day_here(fact.planned_for)))
    told = "".join(f"[{mark}] " for mark in marks) + fact.text
    head = say("why.fact", day=day_here(fact.said), number=fact.number)
    context.aside.one_row(f"{head} · {told}", "warning" if fact.doubtful_since else "quiet")
    _reasons(context, fact)
    if full:
        _show_why(context, fact.why)


def _other(context: CommandContext, other: RecalledOther, *, quoted: bool, full: bool) -> None:
    """A text of a memory of others, by its source and its place in it."""
    quoted_there = [context.words.say("why.quoted")] if quoted else []
    head = " · ".join([*head_of_other(context, other), *quoted_there])
    style: Meaning = "good" if quoted else "quiet"
    if not full:
        context.aside.excerpt(
            f"{head} · ",
            lambda cells: excerpt(other.text, other.why.words, cells, plain=context.aside.plain),
            style,
        )
        _reasons(context, other)
        return
    context.aside.line(head, style)
    for line in other.text.splitlines():
        context.aside.line("  " + line)
    _reasons(context, other)
    _show_why(context, other.why)


def _in_full(context: CommandContext, memory: RecalledTurn | RecalledSummary, quoted: bool) -> None:
    head = f"{local(memory.timestamp)} · {memory.session_id} · {memory.text_id[:8]} · {who(context, memory)}"
    mark = f" · {context.words.say('why.quoted')}" if quoted else ""
    context.aside.line(head + mark, "good" if quoted else "quiet")
    for line in words_of(memory).splitlines():
        context.aside.line("  " + line)
    _marks(context, memory)
    _reasons(context, memory)
    if isinstance(memory, RecalledSummary) or memory.hit:
        _show_why(context, memory.why)


def _show_why(context: CommandContext, why: Why) -> None:
    """The score, what it is made of, the words, the query; a summary may have come with its turns alone."""
    say = context.words.say
    told = [say("why.score", score=f"{why.score:.2f}", parts=_largest(context, why))] if why.score else []
    told += [say("why.words", words=say("why.comma").join(why.words))] if why.words else []
    told.append(say("why.for", query=one_line(why.query, 60)))
    context.aside.line("    " + " · ".join(told), "quiet")


def _largest(context: CommandContext, why: Why) -> str:
    """The parts of the score that count most."""
    parts = [part for part in why.parts if abs(part[1]) >= _LEAST_PART]
    largest = sorted(parts, key=lambda part: -abs(part[1]))[:_PARTS_SHOWN]
    told = [f"{context.words.say(f'weighed.{name}')} {value:.2f}" for name, value in largest]
    return context.words.say("why.comma").join(told) or "–"


def _unfounded(context: CommandContext, reply: str, recollection: Recollection, here: Sequence[str]) -> None:
    """Call out what the reply quotes, and neither what was recalled holds, nor these texts, nor the store."""
    for quotation in quotations(reply):
        if source_of(quotation, recollection) is None and not said_anywhere(context, quotation, here):
            context.tell("why.unfounded", "warning", text=one_line(quotation, _SNIPPET))
