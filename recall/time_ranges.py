"""What is recalled for a question about a time as a whole: the chapters that cover it best, then its messages.

    question -> its range of days -> the nodes that cover them best -> messages and summaries of these days alone

Coverage is the share of messages that the nodes and the range have in common; messages outside the range count double
against it. Nodes are added while coverage grows and their part of the budget lasts; a node of one session is recalled
as its summary. A chapter is derived text, never quoted as something that was said. Without chapters nothing happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from domain.facts import Slot
from domain.quotations import memory_text
from domain.recollection import RecalledChapter, RecallLimits, Why
from domain.text import encode_json
from language.scripts import estimate
from language.times import range_of
from recall import questions, ranking
from recall.selection import RECORD, RankedSearch

if TYPE_CHECKING:
    from domain.tree import Chapter
    from recall.candidates import CandidateSearch, MessageTable
    from recall.ranking import Flags
    from storage.repositories import Repositories

#: The share of the budget for chapters; tokens around one in a prompt, and of the explanation of chapters.
_SHARE, _CHAPTER, LEGEND = 0.45, 25, 60
#: The tokens of a chapter, at most and at least.
_LONGEST, _SHORTEST = 420, 40
#: The least gain in coverage for which a node is added; the most nodes.
_WORTH, _MOST = 0.02, 8
#: The share of an event's rare words that a message must contain to be about it.
_SPEAKS_OF = 0.5
_PERSON = "person"
#: Slots whose new value starts with such an event.
_BEGINNINGS = (
    (r"mov(?:ed|ing)|搬", "home"),
    (r"(?:new |chang\w+ |start\w* .*)job|start\w* (?:work|at)\b|换了?工作|入职|跳槽|新工作", "employer"),
)


@dataclass(frozen=True)
class TimeRangeMatch:
    """A time range as rows of the message table, with the chapters that cover it.

    ``sessions``: those whose summaries cover the remainder, best first.
    """

    table: MessageTable
    rows: Flags
    chapters: tuple[RecalledChapter, ...]
    sessions: tuple[int, ...]

    def remaining_limits(self, limits: RecallLimits) -> RecallLimits:
        """The remaining budget for messages and summaries."""
        spent = sum(map(_chapter_cost, self.chapters)) + (LEGEND if self.chapters else 0)
        return replace(limits, tokens=max(0, limits.tokens - spent))

    def restrict(self, searches: Sequence[RankedSearch]) -> list[RankedSearch]:
        """The candidates of these days alone, covering sessions first."""
        restricted: list[RankedSearch] = []
        for one in searches[-1:]:
            messages, sessions = one.ranked.messages.copy(), one.ranked.sessions.copy()
            numbers = one.searched.sessions
            messages[~self.rows[one.searched.pool.rows]] = messages.min(initial=0.0)
            inside = np.isin(numbers, np.unique(self.table.session[self.rows]))
            sessions[~inside] = sessions.min(initial=0.0)
            for place, number in enumerate(reversed(self.sessions), start=1):
                sessions[numbers == number] = sessions.max(initial=0.0) + place
            restricted.append(replace(one, ranked=replace(one.ranked, messages=messages, sessions=sessions)))
        return restricted


@dataclass(frozen=True)
class _Node:
    """A chapter or a single session, as rows of the message table."""

    rows: Flags
    chapter: Chapter | None = None
    session: int = 0


class TimeRangeSearch:
    """Finds what covers a time range in one archive, for one question."""

    def __init__(self, archive: Repositories, table: MessageTable, search: CandidateSearch, tokens: int) -> None:
        self._archive = archive
        self._table = table
        self._search = search
        self._tokens = tokens

    def find(self, question: str, today: date) -> TimeRangeMatch | None:
        """The time range of a question; None if it has none, or no chapter covers it."""
        wanted = questions.read_range_request(question, today)
        chapters = [one for one in self._archive.shown.chapters() if one.text and not one.session_id] if wanted else []
        if wanted is None or not chapters:
            return None
        period = wanted.time_range
        if period is None:
            day = self._find_day(wanted.event, today)
            period = wanted.from_day(day, today) if day else None
        if period is None:
            return None
        days = self._table.day
        rows: Flags = (days >= max(1, period.first.toordinal())) & (days <= period.last.toordinal())
        if not rows.any():
            return None
        nodes = list(self._best_nodes(rows, chapters))
        recalled = self._fit_chapters([one.chapter for one in nodes if one.chapter], question)
        sessions = tuple(one.session for one in nodes if not one.chapter)
        return TimeRangeMatch(self._table, rows, recalled, sessions)

    # -- which nodes ---------------------------------------------------------------------------------------------

    def _best_nodes(self, wanted: Flags, chapters: Sequence[Chapter]) -> Iterator[_Node]:
        """The nodes that cover the wanted rows best, each adding to those before it."""
        nodes = [*self._candidate_nodes(wanted, chapters)]
        covered, reached = np.zeros_like(wanted), 0.0
        for _ in range(_MOST):
            shares = [_overlap_share(covered | one.rows, wanted) for one in nodes]
            best = int(np.argmax(shares)) if shares else -1
            if best < 0 or shares[best] - reached < _WORTH:
                return
            yield nodes[best]
            covered, reached = covered | nodes[best].rows, shares[best]

    def _candidate_nodes(self, wanted: Flags, chapters: Sequence[Chapter]) -> Iterator[_Node]:
        """The chapters and single sessions that overlap the wanted rows."""
        session = self._table.session
        touched = np.unique(session[wanted])
        for one in chapters:
            if np.isin(one.sessions, touched).any():
                yield _Node(np.isin(session, one.sessions), one)
        if len(touched) <= _MOST * _MOST:
            with_summary = self._archive.summaries.of_sessions(touched.tolist())
            yield from (_Node(session == number, session=number) for number in with_summary)

    # -- the day of an event ---------------------------------------------------------------------------------------

    def _find_day(self, event: str, today: date) -> date | None:
        """The day of an event: of the fact that replaced another in the slot it changes, else of the best message."""
        slots = [Slot(_PERSON, name) for pattern, name in _BEGINNINGS if re.search(pattern, event, re.IGNORECASE)]
        facts = self._archive.facts.in_slots(slots) if slots else []
        replacing = {fact.replaced_by for fact in facts if fact.replaced_by}
        newer = [fact for fact in facts if fact.current and fact.text_id in replacing]
        days = [range_of(fact.start or fact.since) for fact in newer]
        known = [day.first for day in days if day and day.first <= today]
        return max(known) if known else self._first_mention(event, today)

    def _first_mention(self, event: str, today: date) -> date | None:
        (found,) = self._search.find([questions.parse_question(event, today)], [None], [()])
        evidence, rows = found.evidence, found.pool.rows
        if not evidence.counts.size:
            return None
        shares = evidence.share @ (evidence.counts > 0)
        scores = ranking.rank(evidence).messages
        speaking = (shares >= max(_SPEAKS_OF, float(shares.max()))) & self._table.by_user[rows]
        if not speaking.any():
            return None
        best = rows[speaking][int(np.argmax(scores[speaking]))]
        return date.fromordinal(int(self._table.day[best])) if self._table.day[best] else None

    # -- fitting the budget ----------------------------------------------------------------------------------------

    def _fit_chapters(self, chapters: Sequence[Chapter], question: str) -> tuple[RecalledChapter, ...]:
        """The chapters that fit into their share of the budget, shortened where needed."""
        left, recalled = int(self._tokens * _SHARE) - LEGEND, list[RecalledChapter]()
        for one in chapters:
            room = min(_LONGEST, left - RECORD - _CHAPTER)
            if room < _SHORTEST:
                break
            recalled.append(_as_recalled(one, question, room))
            left -= _chapter_cost(recalled[-1])
        return tuple(recalled)


def _overlap_share(covered: Flags, wanted: Flags) -> float:
    """The share of rows in common of all rows of either; unwanted rows count twice."""
    common, outside = int((covered & wanted).sum()), int((covered & ~wanted).sum())
    return common / max(1, int(wanted.sum()) + 2 * outside)


def _as_recalled(chapter: Chapter, question: str, tokens: int) -> RecalledChapter:
    whole = memory_text(chapter.text)
    size = estimate(encode_json(whole))
    text = whole if size <= tokens else whole[: int(len(whole) * tokens / size * 0.95)].rstrip() + " …"
    is_cut = text != whole
    return RecalledChapter(
        chapter.text_id, text, chapter.start, chapter.end, len(chapter.sessions), Why(question, 1.0),
        cut=is_cut, whole=whole if is_cut else "",
    )  # fmt: skip


def _chapter_cost(chapter: RecalledChapter) -> int:
    """Tokens of a chapter's record."""
    return RECORD + _CHAPTER + estimate(encode_json(chapter.text))
