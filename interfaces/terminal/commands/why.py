"""``/why``: what was recalled for the last reply, and why; with ``full``, whole texts and numbers."""

from __future__ import annotations

from collections.abc import Sequence

from domain.quotations import find_quotations, source_of
from domain.recollection import (
    RecalledChapter,
    RecalledExternal,
    RecalledFact,
    RecalledMessage,
    RecalledSummary,
    Recollection,
    Why,
)
from domain.text import one_line
from interfaces.messages.reasons import Recalled, explain_recall
from interfaces.terminal.command_context import CommandContext, Next
from interfaces.terminal.commands.memory_view import head_of_other, said_anywhere, said_here, speaker_of, words_of
from interfaces.terminal.reply import step_line
from interfaces.terminal.session_view import day_here, format_local, local_time
from interfaces.terminal.styled_text import Meaning, make_excerpt

_SNIPPET = 240
#: Parts of a score that are shown: the largest, and none that would show as 0.00.
_PARTS_SHOWN, _LEAST_PART = 5, 0.005


def show_why(context: CommandContext, argument: str) -> Next:
    """``/why [full]``."""
    last, asked = context.conversation.last, context.conversation.asking.last
    if asked is not None:
        _explain_reply(context, asked.text, asked.recollection, argument)
        _show_unfounded(context, asked.text, asked.recollection, said_here(context))
    elif last is not None:
        _explain_reply(context, last.answered.reply.text, last.recollection, argument)
        _show_unfounded(context, last.answered.reply.text, last.recollection, said_here(context)[:-1])
    else:
        context.tell("why.nothing_yet")
    return None


def _explain_reply(context: CommandContext, reply: str, recollection: Recollection, argument: str) -> None:
    """How the memories of a reply were found, and each of them."""
    full = argument.strip().lower() == "full"
    for step in recollection.steps:
        context.aside.line(step_line(context.words, step), "quiet")
    if full:
        _show_queries(context, recollection)
    if not recollection:
        context.tell("why.nothing")
    sources = [source_of(quotation, recollection) for quotation in find_quotations(reply)]
    quoted = {source.text_id for source in sources if source}
    recalled: list[RecalledMessage | RecalledSummary] = [*recollection.summaries, *recollection.turns]
    for chapter in recollection.chapters:
        _show_chapter(context, chapter, full=full)
    for memory in recalled:
        if full:
            _in_full(context, memory, memory.text_id in quoted)
        elif isinstance(memory, RecalledSummary) or memory.hit or memory.text_id in quoted:
            _in_short(context, memory, memory.text_id in quoted)
    for other in recollection.external:
        _show_external(context, other, quoted=other.text_id in quoted, full=full)
    for fact in recollection.facts:
        _show_fact(context, fact, full=full)
    if recollection and not full:
        context.tell("why.more", "quiet")


def _show_queries(context: CommandContext, recollection: Recollection) -> None:
    for at, query in enumerate(recollection.queries):
        resolved = recollection.resolved[at] if at < len(recollection.resolved) else query
        context.tell("why.query", "quiet", query=one_line(query, _SNIPPET))
        if resolved != query:
            context.tell("why.resolved", "quiet", query=one_line(resolved, _SNIPPET))
    if recollection.degraded:
        context.tell("why.degraded", "warning", parts=recollection.degraded)


def _in_short(context: CommandContext, memory: RecalledMessage | RecalledSummary, quoted: bool) -> None:
    """When, who, and the words around what was found, on one row; under it why."""
    mark = f"{context.words.say('why.quoted')} · " if quoted else ""
    head = f"{local_time(memory.timestamp).date()} · {speaker_of(context, memory)} · {mark}"
    context.aside.excerpt(
        head,
        lambda cells: make_excerpt(words_of(memory), memory.why.words, cells, plain=context.aside.plain),
        "good" if quoted else "quiet",
    )
    _show_marks(context, memory)
    _show_reasons(context, memory)


def _show_reasons(context: CommandContext, memory: Recalled) -> None:
    """Why a memory was recalled, in words."""
    row = context.words.say("reason.semicolon").join(explain_recall(context.words, memory))
    context.aside.line(f"    {row}", "quiet")


def _show_marks(context: CommandContext, memory: RecalledMessage | RecalledSummary) -> None:
    """That it is faint, and what became of that which a recalled turn or summary says, a row each."""
    if isinstance(memory, RecalledMessage) and memory.archived:
        context.aside.one_row(f"    {context.words.say('why.archived')}", "quiet")
    for mark in memory.annotations:
        became = context.words.say(f"why.became.{mark.became}", day=day_here(mark.when))
        row = f"{became} · {mark.text}" if mark.text else became
        context.aside.one_row(f"    {row}", "warning")


def _show_chapter(context: CommandContext, chapter: RecalledChapter, *, full: bool) -> None:
    """A chapter recalled for a time range."""
    title, *text = chapter.text.strip().splitlines()
    days = {"first": day_here(chapter.start), "last": day_here(chapter.end)}
    context.aside.one_row(context.words.say("why.chapter", **days, title=title), "quiet")
    for line in text if full else ():
        context.aside.line("  " + line)
    _show_reasons(context, chapter)


def _show_fact(context: CommandContext, fact: RecalledFact, *, full: bool) -> None:
    """A recalled fact, by its number."""
    say = context.words.say
    marks = [say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" else []
    if fact.doubtful_since:
        marks.append(say("facts.label.doubtful", day=day_here(fact.doubtful_since)))
    if fact.planned_for:
        marks.append(say("why.became.was_planned_for", day=day_here(fact.planned_for)))
    row = "".join(f"[{mark}] " for mark in marks) + fact.text
    head = say("why.fact", day=day_here(fact.said), number=fact.number)
    context.aside.one_row(f"{head} · {row}", "warning" if fact.doubtful_since else "quiet")
    _show_reasons(context, fact)
    if full:
        _show_why(context, fact.why)


def _show_external(context: CommandContext, other: RecalledExternal, *, quoted: bool, full: bool) -> None:
    """A text of an external memory, by its source and place."""
    quoted_there = [context.words.say("why.quoted")] if quoted else []
    head = " · ".join([*head_of_other(context, other), *quoted_there])
    style: Meaning = "good" if quoted else "quiet"
    if not full:
        context.aside.excerpt(
            f"{head} · ",
            lambda cells: make_excerpt(other.text, other.why.words, cells, plain=context.aside.plain),
            style,
        )
        _show_reasons(context, other)
        return
    context.aside.line(head, style)
    for line in other.text.splitlines():
        context.aside.line("  " + line)
    _show_reasons(context, other)
    _show_why(context, other.why)


def _in_full(context: CommandContext, memory: RecalledMessage | RecalledSummary, quoted: bool) -> None:
    head = (
        f"{format_local(memory.timestamp)} · {memory.session_id} · {memory.text_id[:8]} · {speaker_of(context, memory)}"
    )
    mark = f" · {context.words.say('why.quoted')}" if quoted else ""
    context.aside.line(head + mark, "good" if quoted else "quiet")
    for line in words_of(memory).splitlines():
        context.aside.line("  " + line)
    _show_marks(context, memory)
    _show_reasons(context, memory)
    if isinstance(memory, RecalledSummary) or memory.hit:
        _show_why(context, memory.why)


def _show_why(context: CommandContext, why: Why) -> None:
    """The score, what it is made of, the words, the query; a summary may have come with its turns alone."""
    say = context.words.say
    parts = [say("why.score", score=f"{why.score:.2f}", parts=_largest_parts(context, why))] if why.score else []
    parts += [say("why.words", words=say("why.comma").join(why.words))] if why.words else []
    parts.append(say("why.for", query=one_line(why.query, 60)))
    context.aside.line("    " + " · ".join(parts), "quiet")


def _largest_parts(context: CommandContext, why: Why) -> str:
    """The parts of the score that count most."""
    counted = [part for part in why.parts if abs(part[1]) >= _LEAST_PART]
    largest = sorted(counted, key=lambda part: -abs(part[1]))[:_PARTS_SHOWN]
    shown = [f"{context.words.say(f'score.{name}')} {value:.2f}" for name, value in largest]
    return context.words.say("why.comma").join(shown) or "–"


def _show_unfounded(context: CommandContext, reply: str, recollection: Recollection, here: Sequence[str]) -> None:
    """Call out what the reply quotes, and neither what was recalled holds, nor these texts, nor the store."""
    for quotation in find_quotations(reply):
        if source_of(quotation, recollection) is None and not said_anywhere(context, quotation, here):
            context.tell("why.unfounded", "warning", text=one_line(quotation, _SNIPPET))
