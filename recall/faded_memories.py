"""A second look, at what has faded: in the archive's own words, where a precise question found little of what it names.

    rare words of a question that nothing found holds, or days of which nothing was found -> the turns that have faded

A question is precise when it holds a rare word or speaks of certain days. What has faded stands in no index, so all
of it is read, a slice at a time; nobody asks here while nothing has faded. What is found stands in the
recollection as a turn that is ``faded``, inside the same budget.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from domain.languages import estimate, is_unspaced
from domain.recollection import RecalledTurn, RecallLimits, Recollection, Why
from domain.records import PREFIX, Turn
from domain.text import as_memory, day_of, encoded, own_words
from recall import questions, words
from recall.finder import needs_memory
from recall.periods import CALENDAR, Period
from recall.ranking import rarity
from recall.selection import ENTRY, FRAME, RECORD

if TYPE_CHECKING:
    import numpy as np

    from storage.repositories import Repositories
    from storage.sqlite.words import Postings

#: A word is rare while so few turns hold it, or this share of all.
_RARE, _RARE_SHARE = 12, 0.02
#: So many words of a question are looked for, and so many turns handed over.
_MOST_WORDS, _MOST = 12, 6
#: Days that a question may speak of to be precise.
_MOST_DAYS = 31
#: The share of the budget that they have even where what was found would fill it.
_SHARE = 0.25
#: How long a turn may be that is handed over; tokens of what marks it as faded, and of what explains that.
_LONGEST, MARK, LEGEND = 400, 14, 60
#: So many turns that seem to fit are read word by word.
_READ_CLOSELY = 100
_OF_THAT_DAY = "@day"


@dataclass(frozen=True, slots=True)
class _Sought:
    """What is looked for: terms with what each weighs, the rare ones, and the days that are meant, if any are."""

    text: str
    weights: Mapping[str, float]
    rare: Collection[str]
    days: Period | None = None

    def score(self, turn: Turn) -> tuple[float, frozenset[str]]:
        """How well a turn fits, 0 for not at all, and which of the terms it holds."""
        held = frozenset(words.terms(own_words(turn))) & self.weights.keys()
        fits = self.is_of_the_days(turn.timestamp) or not held.isdisjoint(self.rare)
        return (max(sum(self.weights[term] for term in held), 1e-3) if fits else 0.0), held

    def is_of_the_days(self, timestamp: str) -> bool:
        """Whether this is a time of one of the days that are meant."""
        return self.days is not None and _is_of(self.days, timestamp)


class FadedMemories:
    """Finds what has faded. Nothing here writes.

    >>> faded.beside(found, ["Where did we see the zeppelin?"], now, limits, session_id)
    """

    def __init__(self, of: Repositories) -> None:
        self._of = of
        self._words = of.index.words

    def beside(
        self,
        found: Recollection,
        queries: Sequence[str],
        now: datetime,
        limits: RecallLimits,
        session_id: str,
    ) -> Recollection:
        """The recollection with what has faded, where a precise question found little; never of ``session_id``."""
        known = [f"{turn.text}\n{turn.whole}" for turn in found.turns]
        days = {turn.timestamp for turn in found.turns if turn.hit}
        sought = [one for query in queries if (one := self._sought(query, known, days, now.date()))]
        hits = [hit for one in sought for hit in self._hits(one, session_id)]
        return _within(found, sorted(hits, key=lambda hit: -hit.why.score), limits)

    def added(self, found: Recollection, text: str, limits: RecallLimits) -> Recollection:
        """What holds these words, with what has faded and holds them in any of their forms, or the rarest of them."""
        terms = _telling(words.sought(text) or words.terms(text))
        weights = self._weights(terms)
        rarest = max(weights.values(), default=0.0)
        sought = _Sought(text, weights, [term for term in terms if weights[term] >= rarest])
        hits = self._hits(sought, "", limits.turns)
        turns = sorted((*found.turns, *hits), key=lambda turn: turn.timestamp)
        return replace(found, turns=tuple(turns), ranked=(*found.ranked, *(hit.text_id for hit in hits)))

    def _sought(self, query: str, known: Sequence[str], days: set[str], today: date) -> _Sought | None:
        """What of a question was not found; None where it is not precise, or all of it was."""
        if not needs_memory(query):
            return None
        read = questions.read(query, today)
        meant = _days(read)
        if meant and any(_is_of(meant, day) for day in days):
            meant = None
        terms = _telling(
            term for term in read.terms if term not in read.faint and not (meant and _dates(term))
        )
        held = {term for text in known for term in words.terms(text)}
        rare = [term for term in self._rare(terms) if term not in held][:_MOST_WORDS]
        return _Sought(query, self._weights(terms), rare, meant) if rare or meant else None

    def _rare(self, terms: Sequence[str]) -> list[str]:
        """Those that stand in few turns, or in none that can be found."""
        total = self._words.rows("turn")
        cap = max(_RARE, int(total * _RARE_SHARE))
        postings = self._words.postings("turn", terms, cap) if terms else {}
        return [term for term in terms if term in postings and len(postings[term].seqs) <= cap]

    def _weights(self, terms: Sequence[str]) -> dict[str, float]:
        total = self._words.rows("turn")
        postings = self._words.postings("turn", terms, total + 1) if terms else {}
        return dict(zip(terms, rarity(_sizes(terms, postings), max(total, 1)).tolist(), strict=True))

    def _hits(self, sought: _Sought, session_id: str, most: int = _MOST) -> list[RecalledTurn]:
        """The faded turns that fit best."""
        likely = self._likely(sought, session_id)
        scored = ((as_memory(turn), *sought.score(turn)) for turn in likely)
        hits = [_recalled(turn, sought, score, held) for turn, score, held in scored if score > 0.0]
        return sorted(hits, key=lambda hit: -hit.why.score)[:most]

    def _likely(self, sought: _Sought, session_id: str) -> list[Turn]:
        """The turns that are worth a close reading: those that seem to hold what the fewest seem to hold."""
        pieces = {term: words.beginnings(term) for term in sought.rare}
        alike: dict[frozenset[str], deque[int]] = defaultdict(lambda: deque(maxlen=_READ_CLOSELY))
        counts = Counter[str]()
        for texts in self._of.archive.texts():
            for one in texts:
                folded = words.folded(one.text)
                seems = {term for term, each in pieces.items() if any(piece in folded for piece in each)}
                seems |= {_OF_THAT_DAY} if sought.is_of_the_days(one.timestamp) else set()
                if seems and one.session_id != session_id:
                    counts.update(seems)
                    alike[frozenset(seems)].append(one.seq)
        best = sorted(alike, key=lambda seems: -sum(1.0 / counts[one] for one in seems))
        return self._of.messages.numbered([seq for seems in best for seq in alike[seems]][:_READ_CLOSELY])


def _days(read: questions.Question) -> Period | None:
    """The days that a question speaks of; None for none, or for a long time."""
    return next((one for one in read.windows if (one.last - one.first).days < _MOST_DAYS), None)


def _dates(term: str) -> bool:
    """Whether a term of a question that speaks of a day only tells which."""
    return term[:1].isdigit() or any(name.startswith(term.rstrip("i")) for name in CALENDAR)


def _is_of(days: Period, timestamp: str) -> bool:
    day = day_of(timestamp)
    return day is not None and days.nearness(day) >= 1.0


def _telling(terms: Collection[str] | Iterator[str]) -> tuple[str, ...]:
    """Of a script without spaces only pairs: a single character stands in too much."""
    return tuple(term for term in terms if len(term) > 1 or not is_unspaced(term))


def _sizes(terms: Sequence[str], postings: Mapping[str, Postings]) -> np.typing.NDArray[np.float32]:
    import numpy as np

    return np.array([len(postings[term].seqs) if term in postings else 0 for term in terms], np.float32)


def _recalled(turn: Turn, sought: _Sought, score: float, held: frozenset[str]) -> RecalledTurn:
    said = words.excerpt(own_words(turn), sought.weights, _LONGEST)
    cut = said != turn.words
    why = Why(sought.text, round(score, 4), words.forms(own_words(turn), held))
    return RecalledTurn(
        turn.text_id, turn.session_id, turn.timestamp, turn.role, PREFIX[turn.role] + said,
        hit=True, why=why, cut=cut, whole=turn.text if cut else "", faded=True,
    )  # fmt: skip


def _within(found: Recollection, hits: Sequence[RecalledTurn], limits: RecallLimits) -> Recollection:
    """What there is room for, among the turns that were found, each where it was told.

    Where what was found leaves less than their share, its weakest turns give way: they hold nothing of what is rare.
    """
    kept = _fitting(hits, max(limits.tokens - _cost_of(found), int(limits.tokens * _SHARE)), limits.turns)
    if not kept:
        return found
    left = limits.tokens - LEGEND - sum(map(_cost, kept.values()))
    weakest = [*(turn.text_id for turn in found.turns if not turn.hit), *reversed(found.ranked)]
    while weakest and _cost_of(found) > left:
        gone = weakest.pop(0)
        found = replace(
            found,
            turns=tuple(turn for turn in found.turns if turn.text_id != gone),
            ranked=tuple(one for one in found.ranked if one != gone),
        )
    turns = sorted((*found.turns, *kept.values()), key=lambda turn: datetime.fromisoformat(turn.timestamp))
    return replace(found, turns=tuple(turns), ranked=(*found.ranked, *kept))


def _fitting(hits: Sequence[RecalledTurn], budget: int, most: int) -> dict[str, RecalledTurn]:
    """The first of them, as far as there is room, by id."""
    left, kept = budget - LEGEND, dict[str, RecalledTurn]()
    for hit in hits:
        if hit.text_id not in kept and _cost(hit) <= left and len(kept) < min(_MOST, most):
            kept[hit.text_id] = hit
            left -= _cost(hit)
    return kept


def _cost(hit: RecalledTurn) -> int:
    return RECORD + ENTRY + MARK + estimate(encoded(hit.text))


def _cost_of(found: Recollection) -> int:
    """About what a recollection takes of the budget, rather too much."""
    texts = [*(one.text for one in found.turns), *(one.text for one in found.facts)]
    days = len({(turn.session_id, turn.timestamp[:10]) for turn in found.turns}) + len(found.summaries)
    told = sum(ENTRY + estimate(encoded(text)) for text in [*texts, *(one.text for one in found.summaries)])
    marks = sum(len(one.marks) for one in found.turns) + sum(len(one.marks) for one in found.summaries)
    return FRAME + RECORD * (days + len(found.facts)) + told + 25 * marks
