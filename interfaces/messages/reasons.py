"""Why something was recalled, in the words of a language: what it shares with the question, and nothing in numbers.

The many parts of a score are shown as the few reasons that a person would give. Properties of a text alone (its length,
its place in its session) are weights and no reasons.
"""

from __future__ import annotations

from collections.abc import Mapping

from domain.recollection import RecalledChapter, RecalledExternal, RecalledFact, RecalledMessage, RecalledSummary, Why
from interfaces.messages import Words
from language.words import names_in

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
_LEAST, _LEAST_SHARE = 0.15, 0.1
#: So many words at the most; more say no more.
_MOST_WORDS = 5

Recalled = RecalledMessage | RecalledSummary | RecalledExternal | RecalledFact | RecalledChapter


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
    least = max(_LEAST, _LEAST_SHARE * sum(value for value in parts.values() if value > 0.0))
    return [
        words.say(f"reason.{family}")
        for family, names in _FAMILIES.items()
        if sum(parts.get(name, 0.0) for name in names) >= least
    ]
