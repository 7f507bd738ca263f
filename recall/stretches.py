"""What is handed over for a question about a stretch of time: the chapter that covers it best, then its best turns.

    asked for a stretch? -> its days -> the nodes that cover them best -> turns and summaries of these days alone

How well nodes cover a stretch is the share of turns they have in common with it, of all that either has, those beside
it counted twice: what was not asked for misleads more than what is missing. Nodes are
taken as long as that share grows and their part of the budget lasts; one of a single session goes as its summary. A
chapter is what was drawn from talk, and is never taken for what was said. A memory without chapters loses nothing, and
is not even looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from domain.facts import Fact, Slot
from domain.languages import estimate
from domain.recollection import RecalledChapter, RecallLimits, Why
from domain.text import encoded, memory_text
from recall import asked_periods, questions, ranking
from recall.selection import RECORD, RankedSearch

if TYPE_CHECKING:
    from domain.tree import Chapter
    from recall.periods import Period
    from recall.ranking import Flags, Weigh
    from recall.searching import Search
    from recall.turn_table import TurnTable
    from storage.repositories import Repositories

#: The share of the budget that chapters may take; tokens around one in a prompt, and of what explains them.
_SHARE, _CHAPTER, LEGEND = 0.45, 25, 60
#: The best chapter is told at this length at the most, another in no less than that.
_LONGEST, _SHORTEST = 420, 40
#: A node is worth having that adds so much to how well the others cover a stretch; so many at the most.
_WORTH, _MOST = 0.02, 8
#: How much of what an event is called by in rare words a turn must hold to be taken for it.
_SPEAKS_OF = 0.5
_PERSON = "person"
#: The matter of which a new value begins with what somebody calls so.
_BEGINNINGS = (
    (r"mov(?:ed|ing)|搬", "home"),
    (r"(?:new |chang\w+ |start\w* .*)job|start\w* (?:work|at)\b|换了?工作|入职|跳槽|新工作", "employer"),
)


@dataclass(frozen=True)
class Stretch:
    """The days that a question wants told, as rows of the turn table, and what is handed over of them as a whole.

    ``sessions`` are those whose summaries cover what no chapter does, best first.
    """

    table: TurnTable
    rows: Flags
    chapters: tuple[RecalledChapter, ...]
    sessions: tuple[int, ...]

    def left(self, limits: RecallLimits) -> RecallLimits:
        """What the budget still has for turns and summaries."""
        spent = sum(map(_cost, self.chapters)) + (LEGEND if self.chapters else 0)
        return replace(limits, tokens=max(0, limits.tokens - spent))

    def within(self, searches: Sequence[RankedSearch]) -> list[RankedSearch]:
        """What was found of these days alone; the sessions that cover them come first."""
        return [replace(one, ranked=self._bounded(one)) for one in searches[-1:]]

    def _bounded(self, found: RankedSearch) -> ranking.Ranked:
        turns, sessions = found.ranked.turns.copy(), found.ranked.sessions.copy()
        numbers = found.searched.sessions
        turns[~self.rows[found.searched.pool.rows]] = turns.min(initial=0.0)
        inside = np.isin(numbers, np.unique(self.table.session[self.rows]))
        sessions[~inside] = sessions.min(initial=0.0)
        for place, number in enumerate(reversed(self.sessions), start=1):
            sessions[numbers == number] = sessions.max(initial=0.0) + place
        return replace(found.ranked, turns=turns, sessions=sessions)


@dataclass(frozen=True)
class _Node:
    """A chapter, or the one session with this number, as rows of the turn table."""

    rows: Flags
    chapter: Chapter | None = None
    session: int = 0


class Stretches:
    """Finds what covers a stretch in one archive, for one question."""

    def __init__(
        self, archive: Repositories, table: TurnTable, search: Search, weigh: Weigh, tokens: int
    ) -> None:
        self._archive = archive
        self._table = table
        self._search = search
        self._weigh = weigh
        self._tokens = tokens

    def asked(self, question: str, today: date) -> Stretch | None:
        """The stretch that a question wants told; None where it wants none, or nothing covers it."""
        wanted = asked_periods.asked(question, today)
        chapters = (
            [one for one in self._archive.chapters.all() if one.text and not one.session_id] if wanted else []
        )
        if wanted is None or not chapters:
            return None
        period = wanted.period
        if period is None:
            day = self._day_of(wanted.event, today)
            period = wanted.from_day(day, today) if day else None
        rows = self._rows(period) if period else None
        if rows is None or not rows.any():
            return None
        nodes = list(self._covering(rows, chapters))
        told = self._told([one.chapter for one in nodes if one.chapter], question)
        sessions = tuple(one.session for one in nodes if not one.chapter)
        return Stretch(self._table, rows, told, sessions)

    def _rows(self, period: Period) -> Flags:
        day = self._table.day
        rows: Flags = (day >= max(1, period.first.toordinal())) & (day <= period.last.toordinal())
        return rows

    # -- which nodes ---------------------------------------------------------------------------------------------

    def _covering(self, wanted: Flags, chapters: Sequence[Chapter]) -> Iterator[_Node]:
        """The nodes that cover the wanted rows best, the best of all first, then what they lack."""
        nodes = [*self._nodes(wanted, chapters)]
        covered, reached = np.zeros_like(wanted), 0.0
        for _ in range(_MOST):
            shares = [_share(covered | one.rows, wanted) for one in nodes]
            best = int(np.argmax(shares)) if shares else -1
            if best < 0 or shares[best] - reached < _WORTH:
                return
            yield nodes[best]
            covered, reached = covered | nodes[best].rows, shares[best]

    def _nodes(self, wanted: Flags, chapters: Sequence[Chapter]) -> Iterator[_Node]:
        """Chapters and single sessions that have anything in common with the wanted rows."""
        session = self._table.session
        touched = np.unique(session[wanted])
        for one in chapters:
            if np.isin(one.sessions, touched).any():
                yield _Node(np.isin(session, one.sessions), one)
        if len(touched) <= _MOST * _MOST:
            with_summary = self._archive.summaries.of_sessions(touched.tolist())
            yield from (_Node(session == number, session=number) for number in with_summary)

    # -- when something was ---------------------------------------------------------------------------------------

    def _day_of(self, event: str, today: date) -> date | None:
        """The day on which something happened: by what is known, else by the turn that speaks of it first of all."""
        known = [
            day
            for fact in self._new_values(event)
            if (day := _day(fact.start or fact.since)) and day <= today
        ]
        return max(known) if known else self._day_told(event, today)

    def _new_values(self, event: str) -> list[Fact]:
        """The facts that took the place of another in the matter in which this is a change."""
        slots = [
            Slot(_PERSON, name) for pattern, name in _BEGINNINGS if re.search(pattern, event, re.IGNORECASE)
        ]
        told = self._archive.facts.in_slots(slots) if slots else []
        newer = {fact.replaced_by for fact in told if fact.replaced_by}
        return [fact for fact in told if fact.current and fact.text_id in newer]

    def _day_told(self, event: str, today: date) -> date | None:
        (found,) = self._search.find([questions.read(event, today)], [None], [()])
        evidence, rows = found.evidence, found.pool.rows
        if not evidence.counts.size:
            return None
        held = evidence.share @ (evidence.counts > 0)
        scores = ranking.rank(evidence, self._weigh).turns
        speaking = (held >= max(_SPEAKS_OF, float(held.max()))) & self._table.by_user[rows]
        if not speaking.any():
            return None
        best = rows[speaking][int(np.argmax(scores[speaking]))]
        return date.fromordinal(int(self._table.day[best])) if self._table.day[best] else None

    # -- as they are told ----------------------------------------------------------------------------------------

    def _told(self, chapters: Sequence[Chapter], question: str) -> tuple[RecalledChapter, ...]:
        """The chapters that their share of the budget has room for, each cut to what is left of it."""
        left, told = int(self._tokens * _SHARE) - LEGEND, list[RecalledChapter]()
        for one in chapters:
            room = min(_LONGEST, left - RECORD - _CHAPTER)
            if room < _SHORTEST:
                break
            told.append(_recalled(one, question, room))
            left -= _cost(told[-1])
        return tuple(told)


def _share(covered: Flags, wanted: Flags) -> float:
    """The share of rows that two have in common, of all that either has; what was not wanted weighs twice."""
    common, beside = int((covered & wanted).sum()), int((covered & ~wanted).sum())
    return common / max(1, int(wanted.sum()) + 2 * beside)


def _recalled(chapter: Chapter, question: str, tokens: int) -> RecalledChapter:
    whole = memory_text(chapter.text)
    text = _cut(whole, tokens)
    is_cut = text != whole
    return RecalledChapter(
        chapter.text_id, text, chapter.start, chapter.end, len(chapter.sessions), Why(question, 1.0),
        cut=is_cut, whole=whole if is_cut else "",
    )  # fmt: skip


def _cut(text: str, tokens: int) -> str:
    """The beginning of a text, of about so many tokens."""
    size = estimate(encoded(text))
    return text if size <= tokens else text[: int(len(text) * tokens / size * 0.95)].rstrip() + " …"


def _cost(chapter: RecalledChapter) -> int:
    """Tokens of the record that tells a chapter."""
    return RECORD + _CHAPTER + estimate(encoded(chapter.text))


def _day(moment: str) -> date | None:
    """The day of a moment, of a month, or of a year, the first of it."""
    try:
        return date.fromisoformat((moment + "-01-01")[:10] if len(moment) == 4 else (moment + "-01")[:10])
    except ValueError:
        return None
