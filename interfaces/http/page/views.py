"""What the page shows of a memory: values for JSON made of records, with sentences in the reader's language.

Times are sent as they are stored, and the browser shows them in its own zone; words are sent as they were said, and are
only ever shown as text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from domain.facts import Fact, Relation
from domain.matters import OpenMatter
from domain.quotations import quotation_spans, without_tags
from domain.recollection import RecalledFact, Recollection
from domain.records import PREFIX, ErasureScope, Message, Session
from domain.text import one_line
from interfaces.messages import Words
from interfaces.recollections import RecalledItem, describe_fact, explain_recall, recalled_items
from jobs.greeting import due_day
from jobs.rebuild import Erased

#: An object of the page's JSON.
View = dict[str, Any]

_TITLE, _SNIPPET = 120, 240
#: Characters shown before the word that was searched for.
_BEFORE = 24
#: Markup that may begin a summary's first line.
_MARKUP = "#*->_ \t"
#: Messages, and statements, that are shown of what would be erased.
_MOST_SHOWN = 20


def message_view(message: Message) -> View:
    """One message; ``speaker`` is who said it where that was neither the person nor the companion.

    ``first``: the companion spoke first with it.

    ``quoted`` has the day of the memory that each outermost quotation repeats, "" for one that is in no memory.
    """
    days = {one.number: one.timestamp[:10] for one in message.quoted}
    return {
        "id": message.text_id,
        "session": message.session_id,
        "when": message.timestamp,
        "role": message.role,
        "text": message.words,
        "finish": message.finish,
        "first": message.round < 0,
        "hidden": message.hidden,
        "demo": message.demo,
        "speaker": message.speaker,
        "quoted": [days.get(at, "") for at in range(len(quotation_spans(message.words)))],
    }


def session_view(session: Session, messages: Sequence[Message], summary: str, found: str = "") -> View:
    """A session in a list. ``title``: how it begins, hidden messages aside, or how its summary does.

    ``found`` is the text around the words that were searched for.
    """
    said = next((message.words for message in messages if message.role == "user" and not message.hidden), "")
    lines = (line.strip(_MARKUP) for line in (summary or without_tags(said)).splitlines())
    return {
        "id": session.session_id,
        "began": session.start_timestamp,
        "active": session.status == "active",
        "messages": len(messages),
        "client": session.client,
        "title": one_line(next((line for line in lines if line), ""), _TITLE),
        "found": found,
    }


def fact_view(words: Words, fact: Fact, numbers: Mapping[str, int]) -> View:
    """A fact in a list. ``matter`` is its topic; ``marks`` say how certain it is.

    ``numbers`` are those of the facts that replaced others.
    """
    marks = _doubt_texts(words, fact)
    marks += [words.say("why.became.untrue")] if fact.corrected else []
    marks += [words.say("facts.label_kept")] if fact.kept else []
    return {
        "number": fact.number,
        "id": fact.text_id,
        "text": describe_fact(words, fact, speakers(words)),
        "basis": fact.basis,
        "about": fact.about,
        "matter": fact.subject if fact.about == "other" else fact.topic or fact.attribute,
        "since": fact.since,
        "until": fact.until,
        "current": fact.current,
        "kept": fact.kept,
        "by_hand": fact.decided == "hand",
        "marks": marks,
        "replaced_by": numbers.get(fact.replaced_by),
    }


def speakers(words: Words) -> dict[str, str]:
    """What the two are called where no name is needed, by role."""
    return {"user": words.say("import.person"), "assistant": words.say("facts.companion")}


def relation_view(words: Words, relation: Relation) -> View:
    """A relation between two things, with how certain its fact is, and the number of that."""
    marks = "".join(f" [{mark}]" for mark in _doubt_texts(words, relation.fact))
    return {
        "source": relation.source,
        "relation": relation.relation + marks,
        "target": relation.target,
        "fact": relation.fact.number,
    }


def recalled_view(words: Words, found: Recollection) -> View:
    """What was recalled for a reply; ``queries`` is what it was recalled for, ``lacking`` what did not work."""
    return {
        "memories": [_memory_view(words, item) for item in recalled_items(found)],
        "queries": found.resolved or found.queries,
        "lacking": words.say("why.degraded", parts=found.degraded) if found.degraded else "",
    }


def matter_view(words: Words, one: OpenMatter, now: datetime) -> View:
    """What a greeting brings up, as a memory: the words it rests on, and its day."""
    return {
        "kind": "turn", "when": one.said, "role": one.role, "text": one.words,
        "marks": [words.say(f"open.kind.{one.kind}"), due_day(one, now) or words.say("open.no_day")],
    }  # fmt: skip


def _memory_view(words: Words, item: RecalledItem) -> View:
    """A recalled memory, and the ``reasons`` in words. ``number`` is that of a fact."""
    memory = item.memory
    return {
        "kind": item.kind,
        "id": memory.text_id,
        "session": item.session,
        "when": item.when,
        "role": item.role or "",
        "text": memory.text.removeprefix(PREFIX[item.role]) if item.role else memory.text,
        "reasons": explain_recall(words, memory),
        "marks": _memory_marks(words, item),
        "number": item.number,
        "speaker": item.speaker,
    }


def _memory_marks(words: Words, item: RecalledItem) -> list[str]:
    """How certain a fact is, what became of what a text says, where an external memory has it."""
    marks = [item.place] if item.place else []
    if isinstance(item.memory, RecalledFact):
        marks += _doubt_texts(words, item.memory)
        if item.memory.planned_for:
            marks.append(words.say("why.became.was_planned_for", day=item.memory.planned_for[:10]))
    for one in item.annotations:
        what = words.say(f"why.became.{one.became}", day=one.when[:10])
        marks.append(f"{what} · {one.text}" if one.text else what)
    return marks


def scope_view(words: Words, scope: ErasureScope) -> View:
    """What an erasure would remove, of a long list the beginning.

    A person who agrees sends ``mark``, so that only what was shown is erased.
    """
    facts = (describe_fact(words, one, speakers(words)) for one in scope.facts)
    known = list(dict.fromkeys([*facts, *(one.text for one in scope.notes), *scope.file_names]))
    return {
        "mark": digest_of(scope),
        "nothing": not scope,
        "turns": [message_view(message) for message in scope.messages[:_MOST_SHOWN]],
        "known": [one_line(text, _SNIPPET) for text in known[:_MOST_SHOWN]],
        "more": max(0, len(scope.messages) - _MOST_SHOWN) + max(0, len(known) - _MOST_SHOWN),
        "counts": words.say("forget.counts", **words.count_erased(scope)),
    }


def proof_view(words: Words, erased: Erased) -> View:
    """What was erased, and what the search of every file found of it, in numbers and in words."""
    found, (rebuilt, proof) = erased.proof, words.describe_proof(erased)
    return {
        "done": words.say("forget.done", **words.count_erased(erased.selection)),
        "rebuilt": rebuilt,
        "proof": proof,
        "files": found.files,
        "searched": found.searched,
        "traces": len(found.traces),
    }


def excerpt_around(text: str, words: Sequence[str]) -> str:
    """The part of a text around the first of some words, on one line."""
    line = one_line(without_tags(text), len(text) + 1)
    places = [at for word in words if (at := line.casefold().find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    return one_line(f"{'…' if start else ''}{line[start:]}", _TITLE)


def digest_of(scope: ErasureScope) -> str:
    """Equal for two scopes only where they remove the same."""
    texts: list[Any] = [*scope.messages, *scope.summaries, *scope.notes, *scope.facts, *scope.chapters]
    ids = [one.text_id for one in texts] + [one.session_id for one in scope.sessions]
    ids += [f"{one.persona} {one.version}" for one in scope.versions]
    ids += [*scope.in_flight, *scope.lines, *scope.pins, *scope.file_names]
    return hashlib.sha256("\n".join(sorted(ids)).encode("utf-8", "surrogatepass")).hexdigest()


def _doubt_texts(words: Words, fact: Fact | RecalledFact) -> list[str]:
    """That a fact was never stated, or may no longer be true."""
    marks = [words.say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" else []
    doubtful = fact.doubtful_since[:10]
    return marks + ([words.say("why.became.doubtful_since", day=doubtful)] if doubtful else [])
