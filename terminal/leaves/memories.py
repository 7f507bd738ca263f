"""Commands that show what is remembered, and why it came to mind."""

from __future__ import annotations

from recall.recollection import RecalledSummary, RecalledTurn, Recollection, Why
from storage.records import Image, PersonaVersion, Role
from terminal.desk import Desk, Next
from terminal.quoting import holds, source_of
from terminal.times import local
from text import one_line, quotations

IMAGES: tuple[Image, Image] = ("self", "user")
_LINES_OF_IMAGE = 6
_LAST_CHANGES = 4
_SNIPPET = 240
#: Parts of a score that are told: the largest, and none that would show as 0.00.
_PARTS_SHOWN, _LEAST_PART = 5, 0.005


def memory(desk: Desk, argument: str) -> Next:
    """``/memory [search WORDS]``"""
    first, _, rest = argument.partition(" ")
    if first.lower() == "search":
        _search(desk, rest.strip())
    else:
        _overview(desk)
    return None


def _overview(desk: Desk) -> None:
    """One screen: images, summary, counts, last changes."""
    memory, session = desk.conversation.memory, desk.conversation.session
    for image in IMAGES:
        desk.tell(f"memory.{image}", "title", path=memory.persona.path(image))
        _beginning(desk, memory.persona.read(image), f"/persona {image}")
    desk.tell("memory.summary", "title")
    summary = memory.sessions.summary(session.session_id)
    _beginning(desk, summary.summary if summary else "", "/summary")
    sessions, rounds = memory.sessions.counts()
    desk.tell(
        "memory.counts",
        sessions=desk.words.count("session", sessions),
        rounds=desk.words.count("round", rounds),
        context=desk.words.count("round", len(desk.conversation.rounds_in_context())),
    )
    _changes(desk)


def _beginning(desk: Desk, text: str, command: str) -> None:
    lines = text.splitlines()
    if not lines:
        desk.tell("memory.empty", "quiet")
    for line in lines[:_LINES_OF_IMAGE]:
        desk.aside.line(one_line(line, _SNIPPET))
    if len(lines) > _LINES_OF_IMAGE:
        more = desk.words.count("line", len(lines) - _LINES_OF_IMAGE)
        desk.tell("memory.more", "quiet", lines=more, command=command)
    desk.aside.line()


def _changes(desk: Desk) -> None:
    versions = [version for image in IMAGES for version in desk.conversation.memory.persona.versions(image)]
    if not versions:
        return
    desk.tell("memory.changes", "title")
    for version in sorted(versions, key=lambda version: version.version)[: -_LAST_CHANGES - 1 : -1]:
        desk.aside.line(version_line(desk, version), "quiet")


def version_line(desk: Desk, version: PersonaVersion) -> str:
    """One version of an image, on one line."""
    say = desk.words.say
    return say(
        "memory.change",
        when=local(version.timestamp),
        image=say(f"image.{version.image}"),
        origin=say(f"origin.{version.origin}"),
        version=version.version,
    )


def _search(desk: Desk, query: str) -> None:
    if not query:
        desk.tell("memory.search_what")
        return
    found = desk.conversation.memory.recall([query], "", desk.clock(), desk.settings, gated=False)
    if not found:
        desk.tell("memory.found_nothing", query=query)
    for summary in found.summaries:
        _show_memory(desk, summary, desk.words.say("why.summary"))
    for turn in sorted((turn for turn in found.turns if turn.hit), key=lambda turn: -turn.why.score):
        _show_memory(desk, turn, speaker(desk, turn.role))


def why(desk: Desk, argument: str) -> Next:
    """``/why``"""
    last = desk.conversation.last
    if last is None:
        desk.tell("why.nothing_yet")
        return None
    recollection = last.recollection
    _queries(desk, recollection)
    if not recollection:
        desk.tell("why.nothing")
    quoted = {
        memory.text_id
        for quotation in quotations(last.asked.reply.text)
        if (memory := source_of(quotation, recollection))
    }
    for summary in recollection.summaries:
        _show_memory(desk, summary, desk.words.say("why.summary"), summary.text_id in quoted)
        _show_why(desk, summary.why)
    for turn in recollection.turns:
        _show_memory(desk, turn, speaker(desk, turn.role), turn.text_id in quoted)
        if turn.hit:
            _show_why(desk, turn.why)
        else:
            desk.aside.line("  " + desk.words.say("why.neighbour"), "quiet")
    _unfounded(desk, last.asked.reply.text, recollection)
    return None


def _queries(desk: Desk, recollection: Recollection) -> None:
    for at, query in enumerate(recollection.queries):
        resolved = recollection.resolved[at] if at < len(recollection.resolved) else query
        desk.tell("why.query", "quiet", query=one_line(query, _SNIPPET))
        if resolved != query:
            desk.tell("why.resolved", "quiet", query=one_line(resolved, _SNIPPET))
    if recollection.degraded:
        desk.tell("why.degraded", "warning", parts=recollection.degraded)


def _show_memory(desk: Desk, memory: RecalledTurn | RecalledSummary, who: str, quoted: bool = False) -> None:
    head = f"{local(memory.timestamp)} · {memory.session_id} · {memory.text_id[:8]} · {who}"
    desk.aside.line(
        head + (f" · {desk.words.say('why.quoted')}" if quoted else ""), "good" if quoted else "quiet"
    )
    words = memory.text.removeprefix("User: ").removeprefix("Assistant: ")
    desk.aside.line("  " + one_line(words, _SNIPPET))


def _show_why(desk: Desk, why: Why) -> None:
    """The score, what it is made of, the words, the query; a summary may have come with its turns alone."""
    say = desk.words.say
    told = [say("why.score", score=f"{why.score:.2f}", parts=_largest(desk, why))] if why.score else []
    told += [say("why.words", words=say("why.comma").join(why.words))] if why.words else []
    told.append(say("why.for", query=one_line(why.query, 60)))
    desk.aside.line("  " + " · ".join(told), "quiet")


def _largest(desk: Desk, why: Why) -> str:
    """The parts of the score that count most."""
    parts = [part for part in why.parts if abs(part[1]) >= _LEAST_PART]
    largest = sorted(parts, key=lambda part: -abs(part[1]))[:_PARTS_SHOWN]
    told = [f"{desk.words.say(f'weighed.{name}')} {value:.2f}" for name, value in largest]
    return desk.words.say("why.comma").join(told) or "–"


def speaker(desk: Desk, role: Role) -> str:
    """Whoever said a turn, by name."""
    conversation, language = desk.conversation, desk.words.language
    return conversation.person(language) if role == "user" else conversation.companion(language)


def _unfounded(desk: Desk, reply: str, recollection: Recollection) -> None:
    """Call out what the reply quotes and nothing that is stored says."""
    for quotation in quotations(reply):
        if source_of(quotation, recollection) is None and not _said_anywhere(desk, quotation):
            desk.tell("why.unfounded", "warning", text=one_line(quotation, _SNIPPET))


def _said_anywhere(desk: Desk, quotation: str) -> bool:
    """Whether an older session, or the present one before the last reply, holds these words."""
    conversation = desk.conversation
    found = conversation.memory.recall(
        [quotation], conversation.session.session_id, desk.clock(), desk.settings, gated=False
    )
    rounds = conversation.memory.sessions.rounds(conversation.session.session_id)
    here = [turn.words for spoken in rounds[:-1] for turn in (spoken.user, spoken.assistant)]
    here += [spoken.user.words for spoken in rounds[-1:]]
    return source_of(quotation, found) is not None or any(holds(words, quotation) for words in here)
