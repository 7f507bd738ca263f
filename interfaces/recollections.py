"""What was recalled, in one form for every interface: the page, programs, and the JSON of ``-p``.

Promises for the texts of programs: none contains control or hidden characters; the companion's words are never shown as
the person's; a text of an external memory begins with the name of its source; facts that are no longer true say so.

Why something was recalled is said in the few reasons that a person would give, without numbers: what it shares with the
question. Properties of a text alone (its length, its place in its session) are weights and no reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from domain.facts import Fact
from domain.recollection import (
    Annotation,
    RecalledChapter,
    RecalledExternal,
    RecalledFact,
    RecalledMessage,
    RecalledSummary,
    Recollection,
    Why,
)
from domain.records import PREFIX, Role
from domain.text import make_inert
from interfaces.messages import Words
from language.words import names_in

Recalled = RecalledMessage | RecalledSummary | RecalledExternal | RecalledFact | RecalledChapter

#: Most characters of one text for programs.
LONGEST_TEXT = 1_200
#: The score of a fact found by its slot, which has no rank.
_SLOT_SCORE = 0.95


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """A recalled memory; "" for what its kind does not have.

    ``speaker`` is who said it where that was neither the person nor the companion, or the external memory it is from.
    """

    kind: Literal["fact", "chapter", "summary", "turn", "other"]
    memory: Recalled
    when: str
    session: str = ""
    role: Role | None = None
    speaker: str = ""
    place: str = ""
    number: int | None = None
    annotations: tuple[Annotation, ...] = ()


def recalled_items(found: Recollection) -> list[RecalledItem]:
    """Everything that was recalled: facts, chapters, summaries, messages, then texts of external memories."""
    items = [RecalledItem("fact", one, one.said, number=one.number) for one in found.facts]
    items += [RecalledItem("chapter", one, one.start) for one in found.chapters]
    items += [
        RecalledItem("summary", one, one.timestamp, one.session_id, annotations=one.annotations)
        for one in found.summaries
    ]
    items += [
        RecalledItem("turn", one, one.timestamp, one.session_id, one.role, one.speaker, annotations=one.annotations)
        for one in found.messages
    ]
    return items + [
        RecalledItem("other", one, one.timestamp, speaker=one.source, place=one.place) for one in found.external
    ]


def recalled_values(found: Recollection) -> list[dict[str, object]]:
    """What was recalled, as plain values: what was said, then facts."""
    return [_plain_values(item) for item in sorted(recalled_items(found), key=lambda one: one.kind == "fact")]


def _plain_values(item: RecalledItem) -> dict[str, object]:
    values: dict[str, object] = {
        "id": item.memory.text_id,
        "type": "conversation" if item.kind == "turn" else item.kind,
        "session": item.session or None,
        "score": item.memory.why.score,
        "text": fact_text(item.memory) if isinstance(item.memory, RecalledFact) else item.memory.text,
    }
    if item.kind == "turn":
        values["speaker"] = item.speaker or None
    elif item.kind == "other":
        values |= {"source": item.speaker, "place": item.place}
    return values


def count_recalled(recollection: Recollection) -> dict[str, int]:
    """How much was remembered, of each kind."""
    hits = sum(message.hit for message in recollection.messages)
    chapters = {"chapter": len(recollection.chapters)} if recollection.chapters else {}
    said = {"summary": len(recollection.summaries), "turn": hits}
    others = {"other": len(recollection.external)}
    return {**chapters, "fact": len(recollection.facts), **said, **others}


# -- texts and scores for programs


def program_text(memory: Recalled, messages: Sequence[RecalledMessage]) -> str:
    """A memory as a text; one of the recalled ``messages`` with its question or its answer."""
    match memory:
        case RecalledFact():
            past = f" [was planned for {memory.planned_for[:10]}]" if memory.planned_for else ""
            return fact_text(memory) + past
        case RecalledMessage():
            at = messages.index(memory)
            beside = [one for one in messages[max(0, at - 1) : at + 2] if one is memory or _answers(one, memory)]
            text = "\n".join(map(_spoken_words, beside))
        case RecalledChapter():  # to a program a chapter is a summary that begins with its days
            text = f"[{memory.start[:10]} – {memory.end[:10]}] {memory.text}"
        case RecalledExternal():
            said = {"user": "its person", "assistant": "its companion"}
            head = [f"@{memory.source}", memory.place, memory.timestamp[:10], memory.role and said[memory.role]]
            text = f"[{' · '.join(filter(None, head))}] {memory.text}"
        case _:
            text = memory.text + "".join(map(_annotation_text, memory.annotations))
    return safe_text(text)


def program_score(memory: Recalled) -> float:
    """How far a memory ranks above the rest, as a share; a half where nothing is known."""
    if isinstance(memory, RecalledFact) and not memory.why.query:
        return _SLOT_SCORE
    above = max(0.0, memory.why.score)
    share = min(1.0, above) if isinstance(memory, RecalledFact) else above / (1.0 + above)
    return round(0.5 + 0.5 * share, 4)


def safe_text(text: str) -> str:
    """A text without hidden characters, cut where it is too long."""
    safe = make_inert(text)
    return safe if len(safe) <= LONGEST_TEXT else safe[: LONGEST_TEXT - 1] + "…"


def fact_text(fact: Fact | RecalledFact) -> str:
    """A fact, and whether it is certain; an unverified one as its words."""
    if fact.basis == "quoted":
        words = " — ".join(one.words for one in fact.quotes)
        return f'said {fact.said[:10]}: "{safe_text(words)}"'
    statement = fact.restatement if isinstance(fact, Fact) else fact.text
    return safe_text(statement) + certainty_note(fact)


def describe_fact(words: Words, fact: Fact, names: Mapping[str, str]) -> str:
    """What a fact says; an unverified one as the words themselves, with their day and speaker.

    ``names`` are those of the two, by role.
    """
    if fact.verified:
        return fact.restatement
    if fact.basis == "inferred":
        return words.say("facts.may_be", text=fact.restatement)
    day, said = fact.said[:10], [(one.speaker or names[one.role], one.words) for one in fact.quotes]
    if len({who for who, _ in said}) == 1:
        return words.say("facts.said", who=said[0][0], day=day, text=fact.quotation)
    parts = " — ".join(words.say("facts.said_part", who=who, text=text) for who, text in said)
    return words.say("facts.said_by_several", day=day, text=parts)


def certainty_note(fact: Fact | RecalledFact) -> str:
    """That a fact was never stated, or may no longer be true."""
    only = f" [only {fact.stance}]" if fact.stance != "stated" else ""
    return only + (f" [doubtful since {fact.doubtful_since[:10]}]" if fact.doubtful_since else "")


def _answers(other: RecalledMessage, message: RecalledMessage) -> bool:
    """Whether a neighbour of a message is its question or its answer."""
    return not other.hit and other.session_id == message.session_id and other.role != message.role


def _spoken_words(message: RecalledMessage) -> str:
    """The person's words as they are; anyone else's with their name."""
    words = message.text.removeprefix(PREFIX["user"]) if message.role == "user" else message.text
    if message.speaker:
        words = f"{message.speaker}: {message.text.removeprefix(PREFIX['assistant'])}"
    faint = " [a faint memory]" if message.archived else ""
    return words + "".join(map(_annotation_text, message.annotations)) + faint


def _annotation_text(mark: Annotation) -> str:
    when = f" {mark.when[:10]}" if mark.when else ""
    text = f": {mark.text}" if mark.text else ""
    return f" [{mark.became.replace('_', ' ')}{when}{text}]"


# -- why it was recalled, for a person

#: The parts of a score that are one reason together, in the order in which reasons are given.
_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "time": ("near",),
    "person": ("meant",),
    "meaning": ("dense", "dense_apart"),
    "fact": ("facts",),
    "recent": ("newer",),
    "conversation": ("window", "session_best", "summary", "dense_near", "dense_session", "dense_session_best"),
}
#: A reason is given for what adds so much to a score, and such a share of all that adds to it.
_LEAST_REASON, _LEAST_SHARE = 0.15, 0.1
#: So many words at the most; more say no more.
_MOST_WORDS = 5


def explain_recall(words: Words, memory: Recalled) -> list[str]:
    """Why a memory was recalled, the clearest reason first; never none."""
    if isinstance(memory, RecalledMessage) and not memory.hit:
        return [words.say("reason.neighbour")]
    if isinstance(memory, RecalledChapter):
        return [words.say("reason.period")]
    found = [*_shared_words(words, memory.why, memory.text), *_by_parts(words, memory.why)]
    if isinstance(memory, RecalledFact):
        found.append(words.say("reason.answers"))
    elif isinstance(memory, RecalledSummary) and not found:
        found.append(words.say("reason.conversation"))
    return found or [words.say("reason.nearest")]


def _shared_words(words: Words, why: Why, text: str) -> list[str]:
    """The names and the other words that question and memory have in common."""
    names = {name.casefold() for name in (*names_in(text), *names_in(why.query))}
    shared = [word for word in why.words if not word.startswith("@")]
    each = {
        "names": [word for word in shared if word.casefold() in names],
        "words": [word for word in shared if word.casefold() not in names],
    }
    comma = words.say("why.comma")
    return [words.say(f"reason.{kind}", words=comma.join(one[:_MOST_WORDS])) for kind, one in each.items() if one]


def _by_parts(words: Words, why: Why) -> list[str]:
    parts = dict(why.parts)
    least = max(_LEAST_REASON, _LEAST_SHARE * sum(value for value in parts.values() if value > 0.0))
    return [
        words.say(f"reason.{family}")
        for family, names in _FAMILIES.items()
        if sum(parts.get(name, 0.0) for name in names) >= least
    ]
