"""Search by words alone: ``/search``, and archived memories, which are in no index.

``search`` returns the memories that contain the words in any form. ``ArchivedMemories`` reads the archive a slice at a
time if a precise question (a rare word, certain days) found little of what it names.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING

import numpy as np

from domain.quotations import as_memory, memory_text, own_words
from domain.recollection import RecalledMessage, RecalledSummary, RecallLimits, RecallRequest, Recollection, Why
from domain.records import PREFIX, Message
from language import words
from language.calendar import DAY_NAMES, MONTH_NAMES, day_of
from language.scripts import is_unspaced
from language.times import TimeRange
from recall import questions
from recall.ranking import rarity
from recall.relevance import needs_memory
from recall.selection import RECORD, cost_of_recollection, cost_of_text, excerpt, fit_budget, make_room

if TYPE_CHECKING:
    from domain.indexes import Postings, WordTable
    from storage.embeddings import TextIndex
    from storage.repositories import Repositories

#: The share of the words, by rarity, that a memory must contain.
_MOST_BY_RARITY = 0.6
#: A word is rare in at most this many memories, or this share of all.
_RARE, _RARE_SHARE = 12, 0.02


@dataclass(frozen=True, slots=True)
class _Match:
    """A row that contains words: its number, its score and the terms in it."""

    seq: int
    score: float
    terms: frozenset[str]


def search(archive: Repositories, text: str, limits: RecallLimits, found: Recollection) -> Recollection:
    """The recollection with the messages and summaries that contain the words of a text.

    ``why.words`` has the words as written there.
    """
    every = words.search_terms(text) or words.terms(text)
    terms = _drop_single_characters(every) or every
    by_message = _matching_rows(archive.index, "message", terms)
    best = by_message[: limits.messages]
    stored = {one.seq: as_memory(one) for one in archive.messages.by_number(sorted(match.seq for match in best))}
    messages = [
        RecalledMessage(
            message.text_id,
            message.session_id,
            message.timestamp,
            message.role,
            message.text,
            hit=True,
            why=_explain(text, own_words(message), one),
            speaker=message.speaker,
            undated=message.undated,
        )
        for one in best
        if (message := stored.get(one.seq)) and message.words
    ]
    ranked = tuple(message.text_id for message in messages)
    oldest_first = tuple(sorted(messages, key=lambda message: message.timestamp))
    summaries = _matching_summaries(archive, text, terms, limits.sessions)
    return replace(found, summaries=summaries, messages=oldest_first, ranked=ranked, queries=(text,), resolved=(text,))


def _matching_rows(index: TextIndex, table: WordTable, terms: Sequence[str]) -> list[_Match]:
    """The rows that contain enough of the terms, best first."""
    total = index.words.rows(table)
    postings = index.words.postings(table, terms, total + 1) if terms and total else {}
    if not any(len(posting.seqs) for posting in postings.values()):
        return []
    weight = _weigh_terms(terms, postings, total)
    terms_of: dict[int, list[str]] = {}
    for term, posting in postings.items():
        for seq in posting.seqs.tolist():
            terms_of.setdefault(seq, []).append(term)
    said = [term for term in terms if term in postings and len(postings[term].seqs)]
    rarest = min(said, key=lambda term: len(postings[term].seqs))
    is_rare = len(postings[rarest].seqs) <= max(_RARE, total * _RARE_SHARE)
    enough = sum(weight.values()) * _MOST_BY_RARITY
    found = [_Match(seq, sum(weight[term] for term in row), frozenset(row)) for seq, row in terms_of.items()]
    right = [one for one in found if one.score >= enough or (is_rare and rarest in one.terms)]
    return sorted(right, key=lambda one: (-one.score, -one.seq))


def _matching_summaries(
    archive: Repositories, text: str, terms: Sequence[str], most: int
) -> tuple[RecalledSummary, ...]:
    best = _matching_rows(archive.index, "summary", terms)[:most]
    session_of = archive.summaries.sessions_of(seqs=[one.seq for one in best])
    known = archive.shown.summaries_of([session_of[one.seq] for one in best if one.seq in session_of])
    return tuple(
        RecalledSummary(
            summary.text_id,
            summary.session_id,
            summary.timestamp,
            memory_text(summary.summary),
            _explain(text, summary.summary, one),
        )
        for one in best
        if (summary := known.get(session_of.get(one.seq, -1)))
    )


def _explain(asked: str, said: str, match: _Match) -> Why:
    return Why(asked, round(match.score, 4), words.matching_forms(said, match.terms))


#: How many words of a question are looked for, and how many messages are returned.
_MOST_WORDS, _MOST = 12, 6
#: The longest range, in days, of a precise question.
_MOST_DAYS = 31
#: The share of the budget that archived memories always get.
_SHARE = 0.25
#: The most characters of a message; tokens of its mark as archived, and of the explanation.
_LONGEST, MARK, ARCHIVED_LEGEND = 400, 14, 60
#: How many likely messages are read word by word.
_READ_CLOSELY = 100
_OF_THAT_DAY = "@day"


@dataclass(frozen=True, slots=True)
class _Sought:
    """A search: terms with their weights, the rare ones, and the days that are meant, if any."""

    text: str
    weights: Mapping[str, float]
    rare: Collection[str]
    days: TimeRange | None = None

    def score(self, message: Message) -> tuple[float, frozenset[str]]:
        """The score of a message, 0 for no match, and the terms in it."""
        found = frozenset(words.terms(own_words(message))) & self.weights.keys()
        fits = self.is_of_the_days(message.timestamp) or not found.isdisjoint(self.rare)
        return (max(sum(self.weights[term] for term in found), 1e-3) if fits else 0.0), found

    def is_of_the_days(self, timestamp: str) -> bool:
        """Whether a timestamp is on one of the days that are meant."""
        return self.days is not None and _is_on_days(self.days, timestamp)


class ArchivedMemories:
    """Finds archived memories. Nothing here writes."""

    def __init__(self, of: Repositories) -> None:
        self._of = of
        self._words = of.index.words

    def find(self, asked: RecallRequest, found: Recollection) -> Recollection:
        """The recollection with archived memories if a precise question found little; never of its session."""
        if not self._of.archive.has_any():
            return found
        known = [f"{message.text}\n{message.whole}" for message in found.messages]
        days = {message.timestamp for message in found.messages if message.hit}
        queries = asked.queries if asked.apart else asked.queries[-1:]
        sought = [one for query in queries if (one := self._read_search(query, known, days, asked.now.date()))]
        hits = [hit for one in sought for hit in self._find_hits(one, asked.session_id)]
        best = {hit.text_id: hit for hit in sorted(hits, key=_score_of)}
        return _add_within_budget(found, sorted(best.values(), key=_score_of, reverse=True), asked.limits)

    def search(self, text: str, limits: RecallLimits, found: Recollection) -> Recollection:
        """The recollection with archived memories that contain the rarest of these words in any form."""
        if not self._of.archive.has_any():
            return found
        terms = _drop_single_characters(words.search_terms(text) or words.terms(text))
        weights = self._term_weights(terms)
        rarest = max(weights.values(), default=0.0)
        sought = _Sought(text, weights, [term for term in terms if weights[term] >= rarest])
        hits = self._find_hits(sought, "", limits.messages)
        messages = sorted((*found.messages, *hits), key=lambda message: message.timestamp)
        return replace(found, messages=tuple(messages), ranked=(*found.ranked, *(hit.text_id for hit in hits)))

    def _read_search(self, query: str, known: Sequence[str], days: set[str], today: date) -> _Sought | None:
        """A search for what was not found; None if the question is not precise, or all of it was found."""
        if not needs_memory(query):
            return None
        read = questions.parse_question(query, today)
        meant = _asked_days(read)
        if meant and any(_is_on_days(meant, day) for day in days):
            meant = None
        terms = _drop_single_characters(
            term for term in read.terms if term not in read.faint and not (meant and _is_date_term(term))
        )
        found = {term for text in known for term in words.terms(text)}
        rare = [term for term in self._rare_terms(terms) if term not in found][:_MOST_WORDS]
        return _Sought(query, self._term_weights(terms), rare, meant) if rare or meant else None

    def _rare_terms(self, terms: Sequence[str]) -> list[str]:
        """The terms that few messages, or none, contain."""
        total = self._words.rows("message")
        cap = max(_RARE, int(total * _RARE_SHARE))
        postings = self._words.postings("message", terms, cap) if terms else {}
        return [term for term in terms if term in postings and len(postings[term].seqs) <= cap]

    def _term_weights(self, terms: Sequence[str]) -> dict[str, float]:
        total = self._words.rows("message")
        postings = self._words.postings("message", terms, total + 1) if terms else {}
        return _weigh_terms(terms, postings, max(total, 1))

    def _find_hits(self, sought: _Sought, session_id: str, most: int = _MOST) -> list[RecalledMessage]:
        """The best archived messages."""
        likely = self._likely_messages(sought, session_id)
        scored = ((as_memory(message), *sought.score(message)) for message in likely)
        hits = [_as_recalled(message, sought, score, terms) for message, score, terms in scored if score > 0.0]
        return sorted(hits, key=_score_of, reverse=True)[:most]

    def _likely_messages(self, sought: _Sought, session_id: str) -> list[Message]:
        """The messages worth a close reading: those that seem to contain the rarest terms."""
        pieces = {term: words.term_prefixes(term) for term in sought.rare}
        alike: dict[frozenset[str], deque[int]] = defaultdict(lambda: deque(maxlen=_READ_CLOSELY))
        counts = Counter[str]()
        of_others = (one for texts in self._of.archive.texts() for one in texts if one.session_id != session_id)
        for one in of_others:
            folded = words.fold_text(one.text)
            seems = {term for term, each in pieces.items() if any(piece in folded for piece in each)}
            seems |= {_OF_THAT_DAY} if sought.is_of_the_days(one.timestamp) else set()
            if seems:
                counts.update(seems)
                alike[frozenset(seems)].append(one.seq)
        best = sorted(alike, key=lambda seems: -sum(1.0 / counts[one] for one in seems))
        return self._of.messages.by_number([seq for seems in best for seq in alike[seems]][:_READ_CLOSELY])


def _asked_days(read: questions.Question) -> TimeRange | None:
    """The days that a question mentions; None if there are none, or too many."""
    return next((one for one in read.times if (one.last - one.first).days < _MOST_DAYS), None)


def _is_date_term(term: str) -> bool:
    """Whether a term of a question about a day only names the day."""
    return term[:1].isdigit() or any(name.startswith(term.rstrip("i")) for name in (*MONTH_NAMES, *DAY_NAMES))


def _is_on_days(days: TimeRange, timestamp: str) -> bool:
    day = day_of(timestamp)
    return day is not None and days.nearness(day) >= 1.0


def _drop_single_characters(terms: Collection[str] | Iterator[str]) -> tuple[str, ...]:
    """Terms without single characters of scripts without spaces, which are too common."""
    return tuple(term for term in terms if len(term) > 1 or not is_unspaced(term))


def _weigh_terms(terms: Sequence[str], postings: Mapping[str, Postings], total: int) -> dict[str, float]:
    """The rarity of each term."""
    sizes = np.array([len(postings[term].seqs) if term in postings else 0 for term in terms], np.float32)
    return dict(zip(terms, rarity(sizes, total).tolist(), strict=True))


def _as_recalled(message: Message, sought: _Sought, score: float, terms: frozenset[str]) -> RecalledMessage:
    said = excerpt(own_words(message), sought.weights, _LONGEST)
    cut = said != message.words
    why = Why(sought.text, round(score, 4), words.matching_forms(own_words(message), terms))
    return RecalledMessage(
        message.text_id, message.session_id, message.timestamp, message.role, PREFIX[message.role] + said,
        hit=True, why=why, cut=cut, whole=message.text if cut else "", archived=True,
    )  # fmt: skip


def _add_within_budget(found: Recollection, hits: Sequence[RecalledMessage], limits: RecallLimits) -> Recollection:
    """The recollection with the hits that fit, by time. If they need more room, up to their share, its weakest go."""
    budget = max(limits.tokens - cost_of_recollection(found), int(limits.tokens * _SHARE)) - ARCHIVED_LEGEND
    fitting = fit_budget(hits, _cost_of_message, budget)[: min(_MOST, limits.messages)]
    if not fitting:
        return found
    found = make_room(found, limits.tokens - ARCHIVED_LEGEND - sum(map(_cost_of_message, fitting)))
    messages = sorted((*found.messages, *fitting), key=lambda message: datetime.fromisoformat(message.timestamp))
    return replace(found, messages=tuple(messages), ranked=(*found.ranked, *(hit.text_id for hit in fitting)))


def _score_of(hit: RecalledMessage) -> float:
    return hit.why.score


def _cost_of_message(hit: RecalledMessage) -> int:
    return RECORD + cost_of_text(hit.text) + MARK
