"""What is remembered: on one screen, by words, by time; ``/ask``: a question answered from it alone; ``/why``: what was
recalled for the last reply and why, with ``full`` whole texts and numbers.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace

from domain import errors
from domain.matters import OpenMatter
from domain.quotations import contains_quotation, find_quotations, own_words, source_of
from domain.recollection import (
    FactFilter,
    RecalledChapter,
    RecalledExternal,
    RecalledFact,
    RecalledMessage,
    RecalledSummary,
    Recollection,
    Why,
)
from domain.records import PERSONAS, Role
from domain.text import one_line
from domain.tree import Leaf
from interfaces.recollections import Recalled, explain_recall
from interfaces.terminal.command_context import CommandContext, read_switch
from interfaces.terminal.commands.persona import numbered_versions, version_line
from interfaces.terminal.reply import ReplyView, step_line
from interfaces.terminal.screen import Meaning, make_excerpt
from interfaces.terminal.session_view import day_here, format_local, local_time
from jobs.chapters import days_named
from jobs.greeting import Greeting, due_day

_LINES_OF_PERSONA = 6
_LAST_CHANGES = 4
_SNIPPET = 240
#: So many memories with the words of a quotation are looked through for the quotation itself.
_LOOKED_THROUGH = 200
#: So many of the memories that are archived first are shown.
_MOST_ARCHIVED = 10
#: So many facts with given parts are shown.
_MOST_FACTS = 50
#: A part of what is searched for: who:Tom, where:"New York", when:2026-05.
_PART = re.compile(
    r"(?<!\S)(?P<kind>who|what|where|when|topic)[:：](?:[\"“](?P<quoted>[^\"”]+)[\"”]|(?P<word>\S+))", re.I
)
#: How well a memory fits, in a word: from which score on; and the parts of a score that are named, the largest.
_MATCHES, _PARTS_SHOWN, _LEAST_PART = ((1.0, "close"), (0.33, "fair"), (float("-inf"), "loose")), 5, 0.005


def run_memory(context: CommandContext, argument: str) -> None:
    """``/memory [search|fading|keep ID] [WORDS]|recall on|off|reindex``: what is no subcommand is looked for."""
    first, _, rest = argument.strip().partition(" ")
    rest = rest.strip()
    match first.lower(), rest.lower():
        case "recall", "" | "on" | "off":
            _switch_recall(context, rest)
        case "reindex", "":
            _rebuild_index(context)
        case "search", _:
            _show_search(context, rest)
        case "fading", "":
            _show_archiving(context)
        case "keep", wanted if wanted:
            _keep_memory(context, rest)
        case "", _:
            _show_overview(context)
        case _:
            _show_search(context, argument.strip())


def ask_memory(context: CommandContext, argument: str) -> None:
    """``/ask QUESTION``."""
    if not argument.strip():
        context.tell("ask.what")
        return
    context.begin_work()
    whole = not context.interactive and not context.screen.file.isatty()
    here = said_here(context)
    view = ReplyView(
        context.screen, context.aside, context.words, time.monotonic,
        whole=whole, said=lambda quotation: said_anywhere(context, quotation, here),
    )  # fmt: skip
    asking = context.conversation.asking
    view.show_events(context.run_work(asking.answer_question(argument, context.session_id, context.stop)))


def _show_overview(context: CommandContext) -> None:
    memory, count = context.memory, context.words.count
    for persona in PERSONAS:
        context.tell(f"memory.{persona}", "title", path=memory.personas.place(persona))
        _first_lines(context, context.conversation.persona(persona), f"/persona {persona}")
    context.tell("memory.summary", "title")
    summary = memory.shown.summary(context.session_id)
    _first_lines(context, summary.summary if summary else "", "/context summary")
    sessions, rounds = memory.sessions.counts()
    in_context = count("round", len(context.conversation.rounds_in_context()))
    context.tell("memory.counts", sessions=count("talk", sessions), rounds=count("round", rounds), context=in_context)
    known = memory.facts.count_all()
    if known.facts or known.notes:
        context.tell(
            "memory.facts",
            current=count("fact", known.current),
            past=known.past,
            notes=count("note", known.notes),
            messages=count("turn", known.unread),
        )
    versions = [each for persona in PERSONAS for each in numbered_versions(context, persona)]
    if versions:
        context.tell("memory.changes", "title")
    for number, version in sorted(versions, key=lambda each: -each[1].version)[:_LAST_CHANGES]:
        context.aside.line(version_line(context, number, version), "quiet")


def _first_lines(context: CommandContext, text: str, command: str) -> None:
    lines = text.splitlines()
    if not lines:
        context.tell("memory.empty", "quiet")
    for line in lines[:_LINES_OF_PERSONA]:
        context.aside.line(one_line(line, _SNIPPET))
    if len(lines) > _LINES_OF_PERSONA:
        more = context.words.count("line", len(lines) - _LINES_OF_PERSONA)
        context.tell("memory.more", "quiet", lines=more, command=command)
    context.aside.line()


def _show_search(context: CommandContext, query: str) -> None:
    if not query:
        context.tell("memory.search_what")
        return
    if parts := list(_PART.finditer(query)):
        _show_facts_with(context, parts, " ".join(_PART.sub(" ", query).split()))
        return
    found = context.memory.search(query, context.settings.recall_limits)
    hits: list[RecalledMessage | RecalledSummary] = [*found.summaries, *(one for one in found.messages if one.hit)]
    if not hits and not found.external:
        context.tell("memory.found_nothing", query=query)
    for memory in sorted(hits, key=lambda memory: local_time(memory.timestamp), reverse=True):
        context.aside.line(f"{format_local(memory.timestamp)} · {_speaker_of(context, memory)}", "quiet")
        show_excerpt(context, "  ", _words_of(memory), [*memory.why.words, *query.split()], rows=2)
    for other in found.external:
        context.aside.line(" · ".join(_head_of_external(context, other)), "quiet")
        show_excerpt(context, "  ", other.text, [*other.why.words, *query.split()], rows=2)
    # Only now is known whether an external memory can be read; nothing found may mean that none could.
    for notice in context.memory.external.take_notices() if context.memory.external else ():
        context.aside.line(context.words.describe_notice(notice), "warning")


def _show_facts_with(context: CommandContext, parts: Sequence[re.Match[str]], query: str) -> None:
    """The facts with these parts, each with its day and number. Raises UsageError for what is no time."""
    given: dict[str, list[str]] = {}
    for part in parts:
        given.setdefault(part["kind"].casefold(), []).append(part["quoted"] or part["word"])
    since = until = ""
    for when in given.get("when", ()):
        days = days_named(when, context.clock().date())
        if days is None:
            raise errors.UsageError("memory.no_time", given=one_line(when, 40))
        since, until = days.first.isoformat(), days.last.isoformat()
    where, topic = (given.get(kind, [""])[-1] for kind in ("where", "topic"))
    wanted = FactFilter(tuple(given.get("who", ())), tuple(given.get("what", ())), where, topic, since, until)
    found = context.memory.find_facts(wanted, query, _MOST_FACTS)
    if not found:
        context.tell("memory.found_nothing", query=" ".join([*(part[0] for part in parts), query]).strip())
    for fact, _ in found:
        day = (fact.start or fact.said)[:16].replace("T", " ") if "T" in fact.start else (fact.start or fact.said)[:10]
        show_excerpt(context, f"{day} · {fact.number} · ", fact.believed, [*given.get("who", ()), *query.split()])


def show_excerpt(
    context: CommandContext, head: str, text: str, words: Sequence[str], meaning: Meaning = "quiet", *, rows: int = 1
) -> None:
    """A head, and behind it as much of a text as these rows hold, around the words, which are marked."""
    context.aside.excerpt(
        head, lambda cells: make_excerpt(text, words, cells, plain=context.aside.plain), meaning, rows=rows
    )


def _head_of_external(context: CommandContext, other: RecalledExternal) -> list[str]:
    when = [str(local_time(other.timestamp).date())] if other.timestamp else []
    place = [one_line(other.place, _SNIPPET)] if other.place else []
    return [*when, context.words.say("why.other", source=other.source), *place]


def said_here(context: CommandContext) -> list[str]:
    """What was said in the present session, oldest first, without what replies quote."""
    rounds = context.conversation.rounds_in_context()
    if not context.conversation.incognito:
        rounds = context.memory.messages.rounds(context.session_id)
    return [own_words(message) for spoken in rounds for message in spoken.messages]


def said_anywhere(context: CommandContext, quotation: str, here: Sequence[str]) -> bool:
    """Whether these texts of the present session hold the words, or any other message does.

    A store that cannot be searched now proves nothing.
    """
    if any(contains_quotation(words, quotation) for words in here):
        return True
    # Of many memories that hold the same words one holds them in this order.
    limits = replace(context.settings.recall_limits, messages=_LOOKED_THROUGH, sessions=_LOOKED_THROUGH)
    try:
        found = context.memory.search(quotation, limits)
    except errors.StorageError:
        return True
    older = tuple(one for one in found.messages if one.session_id != context.session_id)
    return source_of(quotation, Recollection(messages=older, external=found.external)) is not None


def _speaker_of(context: CommandContext, memory: RecalledMessage | RecalledSummary) -> str:
    if isinstance(memory, RecalledSummary):
        return context.words.say("why.summary")
    return memory.speaker or speaker_name(context, memory.role)


def _words_of(memory: RecalledMessage | RecalledSummary | Leaf) -> str:
    """The words of a memory without the role in front."""
    return memory.text.removeprefix("User: ").removeprefix("Assistant: ")


def speaker_name(context: CommandContext, role: Role) -> str:
    """Whoever said a message, by name; a person without a name is addressed, where a model reads "the user"."""
    if role == "assistant":
        return context.conversation.companion(context.words.language)
    named = context.settings.user_name or context.memory.names().person_called
    return named or context.words.say("import.person")


# -- the archive


def _show_archiving(context: CommandContext) -> None:
    """How much is searched, and what is archived next; where nothing has to be, what would be first."""
    archive, limit, count = context.memory.archive, context.settings.forget_limit, context.words.count
    searched = count("memory", archive.count_searched())
    context.tell("archive.limit" if limit.most else "archive.no_limit", searched=searched, most=limit.most)
    if archived := len(archive.all()):
        context.tell("archive.archived", faded=count("memory", archived))
    going = archive.next_batch(limit)
    leaves = going or archive.oldest_visited(_MOST_ARCHIVED)
    if not leaves:
        context.tell("archive.none", "quiet")
        return
    context.tell("archive.next" if going else "archive.first", "title", memories=count("memory", len(going)))
    for leaf in leaves[:_MOST_ARCHIVED]:
        name = leaf.name if leaf.is_session else leaf.name[:8]
        kind = f"{context.words.say('why.summary')} · " if leaf.is_session else ""
        head = f"{local_time(leaf.timestamp).date()} · {name} · {count('visit', leaf.visit_count)} · {kind}"
        show_excerpt(context, head, _words_of(leaf), ())
    if len(leaves) > _MOST_ARCHIVED:
        context.tell("archive.more", "quiet", memories=count("memory", len(leaves) - _MOST_ARCHIVED))
    context.tell("archive.how", "quiet")


def _keep_memory(context: CommandContext, argument: str) -> None:
    """``/memory keep ID [off]``: a message or a session is never archived, or may be again."""
    wanted, _, switch = argument.partition(" ")
    names = [one.name for one in context.memory.chapters.nodes() if one.name.startswith(wanted)] if wanted else []
    if len(names) != 1:
        context.tell("archive.which", "warning", id=one_line(wanted, 40), count=len(names))
        return
    kept = switch.strip().lower() != "off"
    context.memory.archive.set_never_delete(names, kept)
    context.tell("archive.keep_on" if kept else "archive.keep_off", id=names[0])


# -- recall and the index


def _switch_recall(context: CommandContext, argument: str) -> None:
    wanted = read_switch(context, "/memory recall", argument, context.conversation.recalling)
    if wanted is not None:
        context.conversation.recalling = wanted
        context.tell("switch.recall_on" if wanted else "switch.recall_off")


def _rebuild_index(context: CommandContext) -> None:
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


# -- /why


def show_why(context: CommandContext, argument: str) -> None:
    """``/why [full]``."""
    last, asked = context.conversation.last, context.conversation.asking.last
    if asked is not None:
        _explain_reply(context, asked.text, asked.recollection, argument)
        _show_unfounded(context, asked.text, asked.recollection, said_here(context))
    elif (greeting := context.conversation.greeting) is not None:
        _explain_greeting(context, greeting, argument)
    elif last is not None:
        _explain_reply(context, last.answered.reply.text, last.recollection, argument)
        _show_unfounded(context, last.answered.reply.text, last.recollection, said_here(context)[:-1])
        _show_matters(context, "why.near", last.answered.layers.coming)
    else:
        context.tell("why.nothing_yet")


def _explain_greeting(context: CommandContext, greeting: Greeting, argument: str) -> None:
    """Why the companion spoke first: what was due, as it was said, and what else it was made from."""
    _show_matters(context, "why.greeting", greeting.matters)
    if greeting.last_spoken:
        context.tell("why.greeting_last", "quiet", day=format_local(greeting.last_spoken))
    if greeting.summary:
        text = greeting.summary if argument.strip() == "full" else one_line(greeting.summary, _SNIPPET)
        context.aside.line(f"{context.words.say('why.summary')}: {text}", "quiet")
    for message in greeting.messages[-1:] if argument.strip() == "full" else ():
        context.aside.line(message.content, "quiet")
    context.tell("why.greeting_off", "quiet")


def _show_matters(context: CommandContext, key: str, matters: Sequence[OpenMatter]) -> None:
    for one in matters:
        who, day = speaker_name(context, one.role), day_here(one.said)
        context.tell(key, due=due_day(one, context.clock()) or "–", who=who, day=day, text=one_line(one.words))


def _explain_reply(context: CommandContext, reply: str, recollection: Recollection, argument: str) -> None:
    full = argument.strip().lower() == "full"
    for step in recollection.steps:
        context.aside.line(step_line(context.words, step), "quiet")
    if full:
        _show_queries(context, recollection)
    if not recollection:
        context.tell("why.nothing")
    sources = [source_of(quotation, recollection) for quotation in find_quotations(reply)]
    quoted = {source.text_id for source in sources if source}
    recalled: list[RecalledMessage | RecalledSummary] = [*recollection.summaries, *recollection.messages]
    for chapter in recollection.chapters:
        _show_chapter(context, chapter, full=full)
    for memory in recalled:
        if full or isinstance(memory, RecalledSummary) or memory.hit or memory.text_id in quoted:
            _show_memory(context, memory, quoted=memory.text_id in quoted, full=full)
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


def _show_memory(
    context: CommandContext, memory: RecalledMessage | RecalledSummary, *, quoted: bool, full: bool
) -> None:
    """When, who, and the words around what was found, on one row, or all of them; under it why."""
    day = str(local_time(memory.timestamp).date())
    place = [format_local(memory.timestamp), memory.session_id, memory.text_id[:8]] if full else [day]
    head = [*place, _speaker_of(context, memory)]
    _show_text(context, head, _words_of(memory), memory.why.words, quoted=quoted, full=full)
    _show_annotations(context, memory)
    _show_reasons(context, memory)
    if full and (isinstance(memory, RecalledSummary) or memory.hit):
        _show_score(context, memory.why)


def _show_text(
    context: CommandContext, head: list[str], text: str, words: Sequence[str], *, quoted: bool, full: bool
) -> None:
    """What was recalled behind its head: on one row around the words, or whole below it."""
    style: Meaning = "good" if quoted else "quiet"
    row = " · ".join([*head, context.words.say("why.quoted")] if quoted else head)
    if not full:
        show_excerpt(context, f"{row} · ", text, words, style)
        return
    context.aside.line(row, style)
    for line in text.splitlines():
        context.aside.line("  " + line)


def _show_reasons(context: CommandContext, memory: Recalled) -> None:
    row = context.words.say("reason.semicolon").join(explain_recall(context.words, memory))
    context.aside.line(f"    {row}", "quiet")


def _show_annotations(context: CommandContext, memory: RecalledMessage | RecalledSummary) -> None:
    """That it is faint, and what became of that which a recalled turn or summary says, a row each."""
    if isinstance(memory, RecalledMessage) and memory.archived:
        context.aside.one_row(f"    {context.words.say('why.archived')}", "quiet")
    for mark in memory.annotations:
        became = context.words.say(f"why.became.{mark.became}", day=day_here(mark.when))
        row = f"{became} · {mark.text}" if mark.text else became
        context.aside.one_row(f"    {row}", "warning")


def _show_chapter(context: CommandContext, chapter: RecalledChapter, *, full: bool) -> None:
    title, *text = chapter.text.strip().splitlines()
    days = {"first": day_here(chapter.start), "last": day_here(chapter.end)}
    context.aside.one_row(context.words.say("why.chapter", **days, title=title), "quiet")
    for line in text if full else ():
        context.aside.line("  " + line)
    _show_reasons(context, chapter)


def _show_fact(context: CommandContext, fact: RecalledFact, *, full: bool) -> None:
    say = context.words.say
    marks = [say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" else []
    if fact.doubtful_since:
        marks.append(say("why.became.doubtful_since", day=day_here(fact.doubtful_since)))
    if fact.planned_for:
        marks.append(say("why.became.was_planned_for", day=day_here(fact.planned_for)))
    row = "".join(f"[{mark}] " for mark in marks) + fact.text
    head = say("why.fact", day=day_here(fact.said), number=fact.number)
    context.aside.one_row(f"{head} · {row}", "warning" if fact.doubtful_since else "quiet")
    _show_reasons(context, fact)
    if full:
        _show_score(context, fact.why)


def _show_external(context: CommandContext, other: RecalledExternal, *, quoted: bool, full: bool) -> None:
    _show_text(context, _head_of_external(context, other), other.text, other.why.words, quoted=quoted, full=full)
    _show_reasons(context, other)
    if full:
        _show_score(context, other.why)


def _show_score(context: CommandContext, why: Why) -> None:
    """How well it fits and by what, the words, the query; a summary may have come with its turns alone."""
    say = context.words.say
    fit = next(name for least, name in _MATCHES if why.score >= least)
    parts = [say(f"why.match.{fit}", parts=_largest_parts(context, why))] if why.score else []
    parts += [say("why.words", words=context.words.join(why.words))] if why.words else []
    parts.append(say("why.for", query=one_line(why.query, 60)))
    context.aside.line("    " + " · ".join(parts), "quiet")


def _largest_parts(context: CommandContext, why: Why) -> str:
    counted = [part for part in why.parts if part[1] >= _LEAST_PART]
    largest = sorted(counted, key=lambda part: -part[1])[:_PARTS_SHOWN]
    return context.words.join(context.words.say(f"score.{name}") for name, _ in largest) or "–"


def _show_unfounded(context: CommandContext, reply: str, recollection: Recollection, here: Sequence[str]) -> None:
    """Call out what the reply quotes, and neither what was recalled holds, nor these texts, nor the store."""
    for quotation in find_quotations(reply):
        if source_of(quotation, recollection) is None and not said_anywhere(context, quotation, here):
            context.tell("why.unfounded", "warning", text=one_line(quotation, _SNIPPET))
