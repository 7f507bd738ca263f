"""``/memory``: what is remembered, on one screen, and where certain words were said; ``/ask``: a question answered from
it alone, with its quotations checked.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from domain import errors
from domain.recollection import RecalledOther, RecalledSummary, RecalledTurn, RecallLimits, Recollection
from domain.records import IMAGES, Image, ImageVersion, Role
from domain.text import holds, one_line, own_words, source_of
from interfaces.terminal.command_context import CommandContext, Next
from interfaces.terminal.commands.fading_view import keep, show_fading
from interfaces.terminal.commands.switches import recall, reindex
from interfaces.terminal.excerpts import excerpt
from interfaces.terminal.reply import ReplyView
from interfaces.terminal.session_view import local, moment

_LINES_OF_IMAGE = 6
_LAST_CHANGES = 4
_SNIPPET = 240
#: So many memories with the words of a quotation are looked through for the quotation itself.
_LOOKED_THROUGH = 200


def memory(context: CommandContext, argument: str) -> Next:
    """``/memory [search|fading|keep ID] [WORDS]|recall on|off|reindex``: what is no subcommand is looked for."""
    first, _, rest = argument.strip().partition(" ")
    if first.lower() == "recall" and rest.strip().lower() in ("", "on", "off"):
        recall(context, rest)
    elif first.lower() == "reindex" and not rest.strip():
        reindex(context)
    elif first.lower() == "search":
        _search(context, rest.strip())
    elif first.lower() == "fading" and not rest.strip():
        show_fading(context)
    elif first.lower() == "keep" and rest.strip():
        keep(context, rest.strip())
    elif first:
        _search(context, argument.strip())
    else:
        _overview(context)
    return None


def memory_choices(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    """What may follow ``/memory``."""
    if words:
        return ["on", "off"] if words == ("recall",) else []
    return ["search", "fading", "keep", "recall", "reindex"]


def ask(context: CommandContext, argument: str) -> Next:
    """``/ask QUESTION``"""
    if not argument.strip():
        context.tell("ask.what")
        return None
    context.begin()
    whole = not context.interactive and not context.screen.file.isatty()
    here = said_here(context)
    view = ReplyView(
        context.screen, context.aside, context.words, time.monotonic,
        whole=whole, said=lambda quotation: said_anywhere(context, quotation, here),
    )  # fmt: skip
    asking = context.conversation.asking
    view.show(context.pumped(asking.answer(argument, context.session_id, context.stop)))
    return None


def _overview(context: CommandContext) -> None:
    """One screen: images, summary, counts, last changes."""
    memory = context.memory
    for image in IMAGES:
        context.tell(f"memory.{image}", "title", path=memory.personas.path(image))
        _beginning(context, context.conversation.image(image), f"/persona {image}")
    context.tell("memory.summary", "title")
    summary = memory.summaries.of(context.session_id)
    _beginning(context, summary.summary if summary else "", "/context summary")
    sessions, rounds = memory.sessions.counts()
    context.tell(
        "memory.counts",
        sessions=context.words.count("session", sessions),
        rounds=context.words.count("round", rounds),
        context=context.words.count("round", len(context.conversation.rounds_in_context())),
    )
    _known(context)
    _changes(context)


def _known(context: CommandContext) -> None:
    """How much is known, once there is anything that could be."""
    known, count = context.memory.facts.counts(), context.words.count
    if known.facts or known.notes:
        context.tell(
            "memory.known",
            current=count("fact", known.current),
            past=known.past,
            notes=count("note", known.notes),
            turns=count("turn", known.unread),
        )


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
    return list(enumerate(context.memory.personas.history(image), 1))


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
    """The memories that hold the words, the newest first, with the words marked."""
    if not query:
        context.tell("memory.search_what")
        return
    found = context.memory.search(query, context.settings.recall_limits)
    hits: list[RecalledTurn | RecalledSummary] = [*found.summaries, *(one for one in found.turns if one.hit)]
    if not hits and not found.others:
        context.tell("memory.found_nothing", query=query)
    for memory in sorted(hits, key=lambda memory: moment(memory.timestamp), reverse=True):
        _show_hit(context, memory, query)
    for other in found.others:
        _show_other(context, other, query)
    # Whether a memory of others can be read is known only now, and nothing found may mean that none could.
    for notice in context.memory.others.take_notices() if context.memory.others else ():
        context.aside.line(context.words.notice(notice), "warning")


def _show_hit(context: CommandContext, memory: RecalledTurn | RecalledSummary, query: str) -> None:
    words, text = [*memory.why.words, *query.split()], words_of(memory)
    context.aside.line(f"{local(memory.timestamp)} · {who(context, memory)}", "quiet")
    context.aside.excerpt("  ", lambda cells: excerpt(text, words, cells, plain=context.aside.plain), rows=2)


def _show_other(context: CommandContext, other: RecalledOther, query: str) -> None:
    words = [*other.why.words, *query.split()]
    context.aside.line(" · ".join(head_of_other(context, other)), "quiet")
    context.aside.excerpt(
        "  ", lambda cells: excerpt(other.text, words, cells, plain=context.aside.plain), rows=2
    )


def head_of_other(context: CommandContext, other: RecalledOther) -> list[str]:
    """When a text of a memory of others is from, as far as is known, from which, and where it stands in it."""
    when = [str(moment(other.timestamp).date())] if other.timestamp else []
    place = [one_line(other.place, _SNIPPET)] if other.place else []
    return [*when, context.words.say("why.other", source=other.source), *place]


def said_here(context: CommandContext) -> list[str]:
    """What was said in the present session, oldest first, without what replies quote."""
    rounds = context.conversation.rounds_in_context()
    if not context.conversation.incognito:
        rounds = context.memory.messages.rounds(context.session_id)
    return [own_words(turn) for spoken in rounds for turn in spoken.turns]


def said_anywhere(context: CommandContext, quotation: str, here: Sequence[str]) -> bool:
    """Whether these texts of the present session hold the words, or anything else that somebody said.

    A store that cannot be searched now accuses nobody.
    """
    if any(holds(words, quotation) for words in here):
        return True
    try:
        found = context.memory.search(quotation, _wide(context.settings.recall_limits))
    except errors.StorageError:
        return True
    older = tuple(one for one in found.turns if one.session_id != context.session_id)
    return source_of(quotation, Recollection(turns=older, others=found.others)) is not None


def _wide(limits: RecallLimits) -> RecallLimits:
    """Limits of a search that is not shown: of many memories that hold the same words one holds them in this order."""
    return replace(limits, turns=_LOOKED_THROUGH, sessions=_LOOKED_THROUGH)


def who(context: CommandContext, memory: RecalledTurn | RecalledSummary) -> str:
    """Whoever said it, or that it is a summary."""
    if isinstance(memory, RecalledSummary):
        return context.words.say("why.summary")
    return memory.speaker or speaker(context, memory.role)


def words_of(memory: RecalledTurn | RecalledSummary) -> str:
    """The words of a memory without the role in front."""
    return memory.text.removeprefix("User: ").removeprefix("Assistant: ")


def speaker(context: CommandContext, role: Role) -> str:
    """Whoever said a turn, by name."""
    conversation, language = context.conversation, context.words.language
    return conversation.person(language) if role == "user" else conversation.companion(language)
