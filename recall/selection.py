"""From scores to a recollection: the best turns with their neighbours, the best summaries, and why each was chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.languages import estimate
from domain.recollection import RecalledSummary, RecalledTurn, RecallLimits, Why
from domain.records import Turn
from recall.ranking import Ranked
from recall.searching import Searched
from recall.sources import Archive
from recall.turn_table import TurnTable

#: A turn handed over only for its context has no reason of its own.
_NO_REASON = Why(query="", score=0.0)
#: How many summaries are looked up for each that is handed over: not every session has one.
_SPARE = 4


@dataclass(frozen=True)
class RankedSearch:
    """What one question found, ranked."""

    searched: Searched
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class _Best:
    """Where something scored best: its score, in which search, at which place of what that found."""

    score: float
    found: RankedSearch
    at: int


def cut(scores: Sequence[float], count: int, *, share: float = 0.35) -> int:
    """How many scores, best first, are kept: at most ``count``, none below ``share`` of the best.

    Scores are above zero for what stands out at all.
    """
    if not scores:
        return 0
    floor = scores[0] * share
    return sum(score >= floor for score in scores[:count])


def choose(
    ranked: Sequence[int], around: Mapping[int, Sequence[int]], cost: Mapping[int, int], budget: int
) -> dict[int, bool]:
    """The rows to hand over, and whether each is a hit: hits best first while the budget lasts, then their neighbours.

    ``ranked`` are the rows of the hits, ``around`` the neighbours of each, ``cost`` the tokens of each row.
    A hit that does not fit is passed over, so that one long turn does not shut out the rest.
    """
    taken: dict[int, bool] = {}
    left = budget
    for row in ranked:
        if cost[row] <= left:
            taken[row] = True
            left -= cost[row]
    for row in ranked:
        for neighbour in around.get(row, ()):
            if row in taken and neighbour not in taken and cost.get(neighbour, left + 1) <= left:
                taken[neighbour] = False
                left -= cost[neighbour]
    return taken


class Selector:
    """Reads what is handed over from the archive; what is no longer there is left out.

    With ``cutting``, weak hits are left out even where there is room.
    """

    def __init__(self, archive: Archive, table: TurnTable, limits: RecallLimits, *, cutting: bool) -> None:
        self._archive = archive
        self._table = table
        self._limits = limits
        self._cutting = cutting

    def select(
        self, searches: Sequence[RankedSearch]
    ) -> tuple[tuple[RecalledTurn, ...], tuple[RecalledSummary, ...], tuple[str, ...]]:
        """Turns oldest first, summaries best first, and the ids of the turns that are hits, best first."""
        if not searches:
            return (), (), ()
        turns = self._turns(self._best_turns(searches))
        hits = sorted((turn for turn in turns if turn.hit), key=lambda turn: -turn.why.score)
        return turns, self._summaries(searches), tuple(turn.text_id for turn in hits)

    def _best_turns(self, searches: Sequence[RankedSearch]) -> dict[int, Why]:
        """The rows of the best turns, best first; each counts with the question that found it best.

        A score counts by how far it stands above the mean of its pool, so that those of two questions compare.
        """
        best: dict[int, _Best] = {}
        for found in searches:
            rows, scores = found.searched.pool.rows, found.ranked.turns
            scores = scores - scores.mean() if len(scores) else scores
            for at in scores.argsort(kind="stable")[::-1][: self._limits.turns].tolist():
                _keep_best(best, int(rows[at]), _Best(float(scores[at]), found, at))
        order = sorted(best, key=lambda row: (-best[row].score, self._told(row)))
        count = self._limits.turns
        if self._cutting:
            count = cut([best[row].score for row in order], count)
        return {row: _why(best[row]) for row in order[:count]}

    def _turns(self, why: Mapping[int, Why]) -> tuple[RecalledTurn, ...]:
        around = {row: self._neighbours(row) for row in why}
        rows = set(why) | {row for near in around.values() for row in near}
        numbers = {row: int(self._table.seq[row]) for row in rows}
        read = {turn.seq: turn for turn in self._archive.turns(sorted(numbers.values()))}
        texts = {row: read[seq] for row, seq in numbers.items() if seq in read and read[seq].words.strip()}
        cost = {row: estimate(turn.text) for row, turn in texts.items()}
        chosen = choose([row for row in why if row in texts], around, cost, self._limits.tokens)
        return tuple(
            _recalled(texts[row], why[row] if chosen[row] else None)
            for row in self._oldest_first(chosen, texts)
        )

    def _neighbours(self, row: int) -> list[int]:
        """The turns next to a turn in its session: the reply first, since it often holds the answer."""
        beside = (self._table.next[row], self._table.previous[row])
        return [int(near) for near in beside if near >= 0]

    def _told(self, row: int) -> tuple[int, int]:
        """Where a turn was told: its session, and its place in it."""
        return int(self._table.session[row]), int(self._table.place[row])

    def _oldest_first(self, rows: Iterable[int], texts: Mapping[int, Turn]) -> list[int]:
        """By when it was told; inside a session as it was told, even where the clock was set back meanwhile."""
        latest: dict[int, float] = {}
        told: dict[int, float] = {}
        for row in sorted(rows, key=self._told):
            session, _ = self._told(row)
            told[row] = latest[session] = max(latest.get(session, 0.0), _moment(texts[row].timestamp))
        return sorted(told, key=lambda row: (told[row], self._told(row)))

    def _summaries(self, searches: Sequence[RankedSearch]) -> tuple[RecalledSummary, ...]:
        best: dict[int, _Best] = {}
        most = self._limits.sessions * _SPARE
        for found in searches:
            sessions, scores = found.searched.sessions, found.ranked.sessions
            for at in (-scores).argsort(kind="stable")[:most].tolist():
                _keep_best(best, int(sessions[at]), _Best(float(scores[at]), found, at))
        order = sorted(best, key=lambda session: (-best[session].score, session))[:most]
        texts = self._archive.summaries(order)
        known = [(texts[session], best[session]) for session in order if session in texts]
        return tuple(
            RecalledSummary(
                one.text_id,
                one.session_id,
                one.timestamp,
                one.summary,
                Why(where.found.searched.asked.text, round(where.score, 4)),
            )
            for one, where in known[: self._limits.sessions]
        )


def _keep_best(best: dict[int, _Best], key: int, one: _Best) -> None:
    if key not in best or best[key].score < one.score:
        best[key] = one


def _why(best: _Best) -> Why:
    searched, ranked = best.found.searched, best.found.ranked
    counts = searched.pool.counts[:, best.at]
    shared = tuple(term for term, count in zip(searched.terms, counts, strict=True) if count)
    parts = tuple((name, round(float(part[best.at]), 4)) for name, part in ranked.parts.items())
    return Why(searched.asked.text, round(best.score, 4), shared, parts)


def _recalled(turn: Turn, why: Why | None) -> RecalledTurn:
    known = (turn.text_id, turn.session_id, turn.timestamp, turn.role, turn.text)
    return RecalledTurn(*known, hit=why is not None, why=why or _NO_REASON)


def _moment(timestamp: str) -> float:
    """Seconds since 1970; 0 for a time that nobody can read."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
