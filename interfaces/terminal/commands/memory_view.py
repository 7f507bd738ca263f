"""``/memory``: what is remembered, on one screen, and where certain words were said; ``/ask``: a question answered from
it alone, with its quotations checked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from domain import errors
from domain.quotations import contains_quotation, own_words, source_of
from domain.recollection import RecalledExternal, RecalledMessage, RecalledSummary, RecallLimits, Recollection
from domain.records import PERSONAS, Persona, PersonaVersion, Role, Session
from domain.text import one_line
from domain.tree import Chapter, Leaf
from interfaces.terminal.command_context import Choice, CommandContext, Next, read_switch
from interfaces.terminal.reply import ReplyView
from interfaces.terminal.session_view import day_here, format_local, local_time, session_row
from interfaces.terminal.styled_text import make_excerpt
from jobs.chapters import days_named
from language.calendar import day_of

_LINES_OF_PERSONA = 6
_LAST_CHANGES = 4
_SNIPPET = 240
#: So many memories with the words of a quotation are looked through for the quotation itself.
_LOOKED_THROUGH = 200


def run_memory(context: CommandContext, argument: str) -> Next:
    """``/memory [search|fading|keep ID] [WORDS]|recall on|off|reindex``: what is no subcommand is looked for."""
    first, _, rest = argument.strip().partition(" ")
    if first.lower() == "recall" and rest.strip().lower() in ("", "on", "off"):
        switch_recall(context, rest)
    elif first.lower() == "reindex" and not rest.strip():
        rebuild_index(context)
    elif first.lower() == "search":
        _show_search(context, rest.strip())
    elif first.lower() == "fading" and not rest.strip():
        show_fading(context)
    elif first.lower() == "keep" and rest.strip():
        keep_memory(context, rest.strip())
    elif first:
        _show_search(context, argument.strip())
    else:
        _show_overview(context)
    return None


def memory_choices(context: CommandContext, words: tuple[str, ...]) -> list[str]:
    """What may follow ``/memory``."""
    if words:
        return ["on", "off"] if words == ("recall",) else []
    return ["search", "fading", "keep", "recall", "reindex"]


def ask_memory(context: CommandContext, argument: str) -> Next:
    """``/ask QUESTION``."""
    if not argument.strip():
        context.tell("ask.what")
        return None
    context.begin_work()
    whole = not context.interactive and not context.screen.file.isatty()
    here = said_here(context)
    view = ReplyView(
        context.screen, context.aside, context.words, time.monotonic,
        whole=whole, said=lambda quotation: said_anywhere(context, quotation, here),
    )  # fmt: skip
    asking = context.conversation.asking
    view.show_events(context.run_work(asking.answer_question(argument, context.session_id, context.stop)))
    return None


def _show_overview(context: CommandContext) -> None:
    """One screen: personas, summary, counts, last changes."""
    memory = context.memory
    for persona in PERSONAS:
        context.tell(f"memory.{persona}", "title", path=memory.personas.path(persona))
        _first_line(context, context.conversation.persona(persona), f"/persona {persona}")
    context.tell("memory.summary", "title")
    summary = memory.summaries.of(context.session_id)
    _first_line(context, summary.summary if summary else "", "/context summary")
    sessions, rounds = memory.sessions.counts()
    context.tell(
        "memory.counts",
        sessions=context.words.count("session", sessions),
        rounds=context.words.count("round", rounds),
        context=context.words.count("round", len(context.conversation.rounds_in_context())),
    )
    _show_known(context)
    _show_changes(context)


def _show_known(context: CommandContext) -> None:
    """How much is known, once there is anything that could be."""
    known, count = context.memory.facts.count_all(), context.words.count
    if known.facts or known.notes:
        context.tell(
            "memory.facts",
            current=count("fact", known.current),
            past=known.past,
            notes=count("note", known.notes),
            turns=count("turn", known.unread),
        )


def _first_line(context: CommandContext, text: str, command: str) -> None:
    lines = text.splitlines()
    if not lines:
        context.tell("memory.empty", "quiet")
    for line in lines[:_LINES_OF_PERSONA]:
        context.aside.line(one_line(line, _SNIPPET))
    if len(lines) > _LINES_OF_PERSONA:
        more = context.words.count("line", len(lines) - _LINES_OF_PERSONA)
        context.tell("memory.more", "quiet", lines=more, command=command)
    context.aside.line()


def _show_changes(context: CommandContext) -> None:
    versions = [each for persona in PERSONAS for each in numbered_versions(context, persona)]
    if not versions:
        return
    context.tell("memory.changes", "title")
    for number, version in sorted(versions, key=lambda each: -each[1].version)[:_LAST_CHANGES]:
        context.aside.line(version_line(context, number, version), "quiet")


def numbered_versions(context: CommandContext, persona: Persona) -> list[tuple[int, PersonaVersion]]:
    """The versions of one persona, oldest first, by the numbers that a person sees: each persona counts from 1."""
    return list(enumerate(context.memory.personas.history(persona), 1))


def version_line(context: CommandContext, number: int, version: PersonaVersion) -> str:
    """One version of a persona, on one line."""
    say = context.words.say
    return say(
        "memory.change",
        when=format_local(version.timestamp),
        persona=say(f"persona.{version.persona}"),
        origin=say(f"origin.{version.origin}"),
        version=number,
    )


def _show_search(context: CommandContext, query: str) -> None:
    """The memories that hold the words, the newest first, with the words marked."""
    if not query:
        context.tell("memory.search_what")
        return
    found = context.memory.search(query, context.settings.recall_limits)
    hits: list[RecalledMessage | RecalledSummary] = [*found.summaries, *(one for one in found.turns if one.hit)]
    if not hits and not found.external:
        context.tell("memory.found_nothing", query=query)
    for memory in sorted(hits, key=lambda memory: local_time(memory.timestamp), reverse=True):
        _show_hit(context, memory, query)
    for other in found.external:
        _show_other(context, other, query)
    # Only now is known whether an external memory can be read; nothing found may mean that none could.
    for notice in context.memory.external.take_notices() if context.memory.external else ():
        context.aside.line(context.words.describe_notice(notice), "warning")


def _show_hit(context: CommandContext, memory: RecalledMessage | RecalledSummary, query: str) -> None:
    words, text = [*memory.why.words, *query.split()], words_of(memory)
    context.aside.line(f"{format_local(memory.timestamp)} · {speaker_of(context, memory)}", "quiet")
    context.aside.excerpt("  ", lambda cells: make_excerpt(text, words, cells, plain=context.aside.plain), rows=2)


def _show_other(context: CommandContext, other: RecalledExternal, query: str) -> None:
    words = [*other.why.words, *query.split()]
    context.aside.line(" · ".join(head_of_other(context, other)), "quiet")
    context.aside.excerpt("  ", lambda cells: make_excerpt(other.text, words, cells, plain=context.aside.plain), rows=2)


def head_of_other(context: CommandContext, other: RecalledExternal) -> list[str]:
    """The known time, the source and the place of a text of an external memory."""
    when = [str(local_time(other.timestamp).date())] if other.timestamp else []
    place = [one_line(other.place, _SNIPPET)] if other.place else []
    return [*when, context.words.say("why.other", source=other.source), *place]


def said_here(context: CommandContext) -> list[str]:
    """What was said in the present session, oldest first, without what replies quote."""
    rounds = context.conversation.rounds_in_context()
    if not context.conversation.incognito:
        rounds = context.memory.messages.rounds(context.session_id)
    return [own_words(turn) for spoken in rounds for turn in spoken.turns]


def said_anywhere(context: CommandContext, quotation: str, here: Sequence[str]) -> bool:
    """Whether these texts of the present session hold the words, or any other message does.

    A store that cannot be searched now proves nothing.
    """
    if any(contains_quotation(words, quotation) for words in here):
        return True
    try:
        found = context.memory.search(quotation, _widen_limits(context.settings.recall_limits))
    except errors.StorageError:
        return True
    older = tuple(one for one in found.turns if one.session_id != context.session_id)
    return source_of(quotation, Recollection(turns=older, external=found.external)) is not None


def _widen_limits(limits: RecallLimits) -> RecallLimits:
    """Limits of a search that is not shown: of many memories that hold the same words one holds them in this order."""
    return replace(limits, turns=_LOOKED_THROUGH, sessions=_LOOKED_THROUGH)


def speaker_of(context: CommandContext, memory: RecalledMessage | RecalledSummary) -> str:
    """Whoever said it, or that it is a summary."""
    if isinstance(memory, RecalledSummary):
        return context.words.say("why.summary")
    return memory.speaker or speaker_name(context, memory.role)


def words_of(memory: RecalledMessage | RecalledSummary) -> str:
    """The words of a memory without the role in front."""
    return memory.text.removeprefix("User: ").removeprefix("Assistant: ")


def speaker_name(context: CommandContext, role: Role) -> str:
    """Whoever said a turn, by name."""
    conversation, language = context.conversation, context.words.language
    return conversation.person(language) if role == "user" else conversation.companion(language)


#: So many sessions of a time are shown, the newest of them.
_MOST = 30


@dataclass(frozen=True)
class _Numbered:
    """A chapter as a person sees it: its number, and its depth under other chapters."""

    number: int
    depth: int
    chapter: Chapter


def show_life(context: CommandContext, argument: str) -> Next:
    """``/life [N|DATE]``."""
    wanted, chapters = argument.strip(), _number_chapters(context)
    if not wanted:
        _show_tree(context, chapters)
    elif wanted.isdecimal() and 0 < int(wanted[:6]) <= len(chapters):
        _show_chapter(context, chapters[int(wanted) - 1], chapters)
    else:
        _show_time(context, wanted, chapters)
    return None


def life_choices(context: CommandContext, words: tuple[str, ...]) -> list[Choice]:
    """The chapters by number, with their titles, for completion."""
    return (
        []
        if words
        else [Choice(str(one.number), _chapter_title(context, one.chapter)) for one in _number_chapters(context)]
    )


def _number_chapters(context: CommandContext) -> list[_Numbered]:
    """All chapters of sessions, each before those under it, the earliest first."""
    chapters = [one for one in context.memory.chapters.all() if not one.session_id]

    def under(parent: str, depth: int) -> Iterator[tuple[int, Chapter]]:
        for one in chapters:
            if one.parent == parent:
                yield depth, one
                yield from under(one.text_id, depth + 1)

    return [_Numbered(number, depth, one) for number, (depth, one) in enumerate(under("", 0), 1)]


def _show_tree(context: CommandContext, chapters: Sequence[_Numbered]) -> None:
    sessions = [one for one in context.memory.sessions.recent(None) if one.status == "archived"]
    grouped = {number for one in chapters for number in one.chapter.sessions}
    loose = context.words.count("session", sum(one.number not in grouped for one in sessions))
    for one in chapters:
        _chapter_row(context, one)
    if not chapters:
        context.tell("life.nothing", size=context.settings.group_size, sessions=loose)
    else:
        context.tell("life.loose", "quiet", sessions=loose)
        context.tell("life.how", "quiet")
    if context.conversation.llm.describe().demo:
        context.tell("life.waits", "quiet")


def _chapter_row(context: CommandContext, one: _Numbered) -> None:
    context.aside.one_row(f"{'   ' * one.depth}{one.number:>3} {_describe_chapter(context, one.chapter)}")


def _describe_chapter(context: CommandContext, chapter: Chapter) -> str:
    """The days and the title of a chapter."""
    title = _chapter_title(context, chapter)
    return context.words.say("life.row", first=day_here(chapter.start), last=day_here(chapter.end), title=title)


def _chapter_title(context: CommandContext, chapter: Chapter) -> str:
    return chapter.title or context.words.say("life.rebuild")


def _show_chapter(context: CommandContext, opened: _Numbered, chapters: Sequence[_Numbered]) -> None:
    """One chapter: its days, its text, and what it was made from."""
    chapter = opened.chapter
    context.aside.line(_describe_chapter(context, chapter), "title")
    for line in chapter.text.strip().splitlines()[1:]:
        context.aside.line(line)
    context.aside.line()
    context.tell("life.written", "quiet", day=day_here(chapter.stored_at))
    below = [one for one in chapters if one.chapter.parent == chapter.text_id]
    for one in below:
        context.aside.one_row(f"{one.number:>3} {_describe_chapter(context, one.chapter)}", "quiet")
    if not below:
        found = map(context.memory.sessions.find, chapter.children)
        _show_sessions(context, [session for session in found if session])


def _show_sessions(context: CommandContext, sessions: Sequence[Session]) -> None:
    for session in sessions:
        context.aside.one_row(f"     {session_row(context, session)}", "quiet")


def _show_time(context: CommandContext, wanted: str, chapters: Sequence[_Numbered]) -> None:
    """What a time holds: its chapters, and its sessions. Raises UsageError for what is no time."""
    days = days_named(wanted, context.clock().date())
    if days is None:
        raise errors.UsageError("life.unknown", given=wanted)
    then = [one for one in chapters if _overlaps_range(one.chapter, days.first, days.last)]
    sessions = [one for one in context.memory.sessions.recent(None) if _begin_of(context, one, days.first, days.last)]
    for one in then:
        _chapter_row(context, one)
    _show_sessions(context, sessions[:_MOST][::-1])
    if not then and not sessions:
        context.tell("life.none_then", first=days.first.isoformat(), last=days.last.isoformat())


def _overlaps_range(chapter: Chapter, first: date, last: date) -> bool:
    start, end = day_of(chapter.start), day_of(chapter.end)
    return start is not None and end is not None and start <= last and end >= first


def _begin_of(context: CommandContext, session: Session, first: date, last: date) -> bool:
    """Whether a session in which anything was said began in these days."""
    day = day_of(session.start_timestamp)
    return day is not None and first <= day <= last and bool(context.memory.messages.rounds(session.session_id, 1))


#: So many of those that fade first are shown.
_SHOWN = 10


def show_fading(context: CommandContext) -> None:
    """How much is searched, and what goes next; where nothing has to go, what would go first."""
    fading, limit = context.memory.archive, context.settings.forget_limit
    searched, faded = fading.count_searched(), len(fading.all())
    count = context.words.count
    if limit.most:
        context.tell("archive.limit", searched=count("memory", searched), most=limit.most)
    else:
        context.tell("archive.no_limit", searched=count("memory", searched))
    if faded:
        context.tell("archive.archived", faded=count("memory", faded))
    going = fading.next_batch(limit)
    leaves = going or fading.oldest_visited(_SHOWN)
    if not leaves:
        context.tell("archive.none", "quiet")
        return
    context.tell("archive.next" if going else "archive.first", "title", memories=count("memory", len(going)))
    for leaf in leaves[:_SHOWN]:
        _show_entry(context, leaf)
    if len(leaves) > _SHOWN:
        context.tell("archive.more", "quiet", memories=count("memory", len(leaves) - _SHOWN))
    context.tell("archive.how", "quiet")


def _show_entry(context: CommandContext, leaf: Leaf) -> None:
    """One of them: when, its id, how often it was of use, and how it begins."""
    words = context.words
    visits = words.count("visit", leaf.visit_count)
    kind = f"{words.say('why.summary')} · " if leaf.is_session else ""
    head = f"{local_time(leaf.timestamp).date()} · {_shorten_id(leaf)} · {visits} · {kind}"
    text = leaf.text.removeprefix("User: ").removeprefix("Assistant: ")
    context.aside.excerpt(head, lambda cells: make_excerpt(text, (), cells, plain=context.aside.plain), "quiet")


def _shorten_id(leaf: Leaf) -> str:
    return leaf.name if leaf.is_session else leaf.name[:8]


def keep_memory(context: CommandContext, argument: str) -> None:
    """``/memory keep ID [off]``: a turn or a session never fades, or may again."""
    wanted, _, switch = argument.partition(" ")
    names = [one.name for one in context.memory.chapters.nodes() if one.name.startswith(wanted)] if wanted else []
    if len(names) != 1:
        context.tell("archive.which", "warning", id=one_line(wanted, 40), count=len(names))
        return
    kept = switch.strip().lower() != "off"
    context.memory.chapters.set_never_delete(names, kept)
    context.tell("archive.keep_on" if kept else "archive.keep_off", id=names[0])


# -- recall and the index


def switch_recall(context: CommandContext, argument: str) -> None:
    """``/memory recall on|off``."""
    wanted = read_switch(context, "/memory recall", argument, context.conversation.recalling)
    if wanted is not None:
        context.conversation.recalling = wanted
        context.tell("switch.recall_on" if wanted else "switch.recall_off")


def rebuild_index(context: CommandContext) -> None:
    """``/memory reindex``."""
    memory = context.memory
    context.tell("reindex.start", "quiet")
    context.begin_work()
    memory.index.start()
    memory.index.reindex()
    while not memory.index.settle(0.1):
        context.reader.watch_typing()
        if context.stop.is_set:
            context.tell("reindex.stopped", "warning")
            return
        if "embeddings" in memory.index.degraded:
            context.aside.clear_status()
            context.tell("recall.degraded", "warning", parts=("embeddings",))
            return
        progress = memory.index.progress()
        if progress and progress.doing == "failed":
            context.aside.clear_status()
            context.tell("reindex.failed", "trouble", reason=memory.index.status().trouble)
            return
        if progress:
            context.aside.show_status(context.words.say("reindex.progress", done=progress.done, total=progress.total))
    context.aside.clear_status()
    context.tell("reindex.done", vectors=memory.index.status().vectors)
