"""Commands that show what is remembered, and why it came to mind."""

from __future__ import annotations

from domain.quotations import holds, source_of
from domain.recollection import RecalledSummary, RecalledTurn, Recollection, Why
from domain.records import IMAGES, Image, ImageVersion, Role
from domain.text import one_line, quotations
from interfaces.terminal.command_context import CommandContext, Next
from interfaces.terminal.session_view import local

_LINES_OF_IMAGE = 6
_LAST_CHANGES = 4
_SNIPPET = 240
#: Parts of a score that are told: the largest, and none that would show as 0.00.
_PARTS_SHOWN, _LEAST_PART = 5, 0.005


def memory(context: CommandContext, argument: str) -> Next:
    """``/memory [search WORDS]``"""
    first, _, rest = argument.partition(" ")
    if first.lower() == "search":
        _search(context, rest.strip())
    else:
        _overview(context)
    return None


def _overview(context: CommandContext) -> None:
    """One screen: images, summary, counts, last changes."""
    memory = context.memory
    for image in IMAGES:
        context.tell(f"memory.{image}", "title", path=memory.image_path(image))
        _beginning(context, memory.image(image), f"/persona {image}")
    context.tell("memory.summary", "title")
    summary = memory.summary(context.session_id)
    _beginning(context, summary.summary if summary else "", "/summary")
    sessions, rounds = memory.session_counts()
    context.tell(
        "memory.counts",
        sessions=context.words.count("session", sessions),
        rounds=context.words.count("round", rounds),
        context=context.words.count("round", len(context.conversation.rounds_in_context())),
    )
    _changes(context)


def _beginning(context: CommandContext, text: str, command: str) -> None:
    lines = text.splitlines()
    if not lines:
        context.tell("memory.empty", "quiet")
    for line in lines[:_LINES_OF_IMAGE]:
        context.aside.line(one_line(line, _SNIPPET))
    if len(lines) > _LINES_OF_IMAGE:
        more = context.words.count("line", len(lines) - _LINES_OF_IMAGE)
        context.tell("memory.more", "quiet", lines=more, command=command)
    context.aside.line()


def _changes(context: CommandContext) -> None:
    versions = [each for image in IMAGES for each in numbered_versions(context, image)]
    if not versions:
        return
    context.tell("memory.changes", "title")
    for number, version in sorted(versions, key=lambda each: -each[1].version)[:_LAST_CHANGES]:
        context.aside.line(version_line(context, number, version), "quiet")


def numbered_versions(context: CommandContext, image: Image) -> list[tuple[int, ImageVersion]]:
    """The versions of one image, oldest first, by the numbers that a person sees: each image counts from 1."""
    return list(enumerate(context.memory.image_versions(image), 1))


def version_line(context: CommandContext, number: int, version: ImageVersion) -> str:
    """One version of an image, on one line."""
    say = context.words.say
    return say(
        "memory.change",
        when=local(version.timestamp),
        image=say(f"image.{version.image}"),
        origin=say(f"origin.{version.origin}"),
        version=number,
    )


def _search(context: CommandContext, query: str) -> None:
    if not query:
        context.tell("memory.search_what")
        return
    found = context.memory.recall([query], "", context.clock(), context.settings.recall_limits, gated=False)
    if not found:
        context.tell("memory.found_nothing", query=query)
    for summary in found.summaries:
        _show_memory(context, summary, context.words.say("why.summary"))
    for turn in sorted((turn for turn in found.turns if turn.hit), key=lambda turn: -turn.why.score):
        _show_memory(context, turn, speaker(context, turn.role))


def why(context: CommandContext, argument: str) -> Next:
    """``/why``"""
    last = context.conversation.last
    if last is None:
        context.tell("why.nothing_yet")
        return None
    recollection = last.recollection
    _queries(context, recollection)
    if not recollection:
        context.tell("why.nothing")
    quoted = {
        memory.text_id
        for quotation in quotations(last.answered.reply.text)
        if (memory := source_of(quotation, recollection))
    }
    for summary in recollection.summaries:
        _show_memory(context, summary, context.words.say("why.summary"), summary.text_id in quoted)
        _show_why(context, summary.why)
    for turn in recollection.turns:
        _show_memory(context, turn, speaker(context, turn.role), turn.text_id in quoted)
        if turn.hit:
            _show_why(context, turn.why)
        else:
            context.aside.line("  " + context.words.say("why.neighbour"), "quiet")
    _unfounded(context, last.answered.reply.text, recollection)
    return None


def _queries(context: CommandContext, recollection: Recollection) -> None:
    for at, query in enumerate(recollection.queries):
        resolved = recollection.resolved[at] if at < len(recollection.resolved) else query
        context.tell("why.query", "quiet", query=one_line(query, _SNIPPET))
        if resolved != query:
            context.tell("why.resolved", "quiet", query=one_line(resolved, _SNIPPET))
    if recollection.degraded:
        context.tell("why.degraded", "warning", parts=recollection.degraded)


def _show_memory(
    context: CommandContext, memory: RecalledTurn | RecalledSummary, who: str, quoted: bool = False
) -> None:
    head = f"{local(memory.timestamp)} · {memory.session_id} · {memory.text_id[:8]} · {who}"
    context.aside.line(
        head + (f" · {context.words.say('why.quoted')}" if quoted else ""), "good" if quoted else "quiet"
    )
    words = memory.text.removeprefix("User: ").removeprefix("Assistant: ")
    context.aside.line("  " + one_line(words, _SNIPPET))


def _show_why(context: CommandContext, why: Why) -> None:
    """The score, what it is made of, the words, the query; a summary may have come with its turns alone."""
    say = context.words.say
    told = [say("why.score", score=f"{why.score:.2f}", parts=_largest(context, why))] if why.score else []
    told += [say("why.words", words=say("why.comma").join(why.words))] if why.words else []
    told.append(say("why.for", query=one_line(why.query, 60)))
    context.aside.line("  " + " · ".join(told), "quiet")


def _largest(context: CommandContext, why: Why) -> str:
    """The parts of the score that count most."""
    parts = [part for part in why.parts if abs(part[1]) >= _LEAST_PART]
    largest = sorted(parts, key=lambda part: -abs(part[1]))[:_PARTS_SHOWN]
    told = [f"{context.words.say(f'weighed.{name}')} {value:.2f}" for name, value in largest]
    return context.words.say("why.comma").join(told) or "–"


def speaker(context: CommandContext, role: Role) -> str:
    """Whoever said a turn, by name."""
    conversation, language = context.conversation, context.words.language
    return conversation.person(language) if role == "user" else conversation.companion(language)


def _unfounded(context: CommandContext, reply: str, recollection: Recollection) -> None:
    """Call out what the reply quotes and nothing that is stored says."""
    for quotation in quotations(reply):
        if source_of(quotation, recollection) is None and not _said_anywhere(context, quotation):
            context.tell("why.unfounded", "warning", text=one_line(quotation, _SNIPPET))


def _said_anywhere(context: CommandContext, quotation: str) -> bool:
    """Whether an older session, or the present one before the last reply, holds these words."""
    found = context.memory.recall(
        [quotation], context.session_id, context.clock(), context.settings.recall_limits, gated=False
    )
    rounds = context.memory.rounds(context.session_id)
    here = [turn.words for spoken in rounds[:-1] for turn in (spoken.user, spoken.assistant)]
    here += [spoken.user.words for spoken in rounds[-1:]]
    return source_of(quotation, found) is not None or any(holds(words, quotation) for words in here)
