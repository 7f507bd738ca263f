"""From scores to a recollection: the best turns with their neighbours, the best summaries, and why each was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.languages import estimate
from domain.recollection import RecalledSummary, RecalledTurn, Why
from domain.records import Turn
from recall.ranking import Ranked
from recall.searching import Searched
from recall.sources import Archive
from recall.turn_table import TurnTable

#: A hit handed over only for its context has no reason of its own.
_NO_REASON = Why(query="", score=0.0)


@dataclass(frozen=True)
class Result:
    """What one question found, ranked."""

    searched: Searched
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be handed over. ``cut``: weak hits are left out even where there is room."""

    sessions: int
    turns: int
    tokens: int
    cut: bool


@dataclass(frozen=True, slots=True)
class _Best:
    """Where something scored best: its score, in which result, at which place of that result."""

    score: float
    result: int
    at: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A turn to hand over; ``hit`` is false for a neighbour of a hit. ``row`` gives the order."""

    row: int
    hit: bool


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
) -> list[Passage]:
    """The turns to hand over: hits best first as long as the budget lasts, then the neighbours of the best.

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
    return [Passage(row, taken[row]) for row in sorted(taken)]


class Selector:
    """Reads what is handed over from the archive; what is no longer there is left out."""

    def __init__(self, archive: Archive, register: TurnTable, limits: Limits) -> None:
        self._archive = archive
        self._register = register
        self._limits = limits

    def of(
        self, results: Sequence[Result]
    ) -> tuple[tuple[RecalledTurn, ...], tuple[RecalledSummary, ...], tuple[str, ...]]:
        """Turns oldest first, summaries best first, and the ids of the turns that are hits, best first."""
        if not results:
            return (), (), ()
        why = self._best_turns(results)
        turns = self._turns(why)
        hits = {turn.text_id: turn.why.score for turn in turns if turn.hit}
        return turns, self._summaries(results), tuple(sorted(hits, key=lambda text_id: -hits[text_id]))

    def _best_turns(self, results: Sequence[Result]) -> dict[int, Why]:
        """The rows of the best turns, best first; each counts with the question that found it best.

        A score counts by how far it stands above the mean of its pool, so that those of two questions compare.
        """
        best: dict[int, _Best] = {}
        for number, result in enumerate(results):
            rows, scores = result.searched.pool.rows, result.ranked.turns
            scores = scores - scores.mean() if len(scores) else scores
            for at in scores.argsort(kind="stable")[::-1][: self._limits.turns].tolist():
                _keep_best(best, int(rows[at]), _Best(float(scores[at]), number, at))
        order = sorted(best, key=lambda row: (-best[row].score, row))
        count = self._limits.turns
        if self._limits.cut:
            count = cut([best[row].score for row in order], count)
        return {row: _why(results[best[row].result], best[row]) for row in order[:count]}

    def _turns(self, why: Mapping[int, Why]) -> tuple[RecalledTurn, ...]:
        around = {row: _neighbours(self._register, row) for row in why}
        rows = sorted(set(why) | {row for near in around.values() for row in near})
        numbers = {row: int(self._register.seq[row]) for row in rows}
        read = {turn.seq: turn for turn in self._archive.turns(list(numbers.values()))}
        texts = {row: read[seq] for row, seq in numbers.items() if seq in read and read[seq].words.strip()}
        cost = {row: estimate(turn.text) for row, turn in texts.items()}
        ranked = [row for row in why if row in texts]
        chosen = choose(ranked, around, cost, self._limits.tokens)
        return tuple(_recalled(texts[one.row], why[one.row] if one.hit else None) for one in chosen)

    def _summaries(self, results: Sequence[Result]) -> tuple[RecalledSummary, ...]:
        best: dict[int, _Best] = {}
        most = self._limits.sessions * 4
        for number, result in enumerate(results):
            sessions, scores = result.searched.sessions, result.ranked.sessions
            for at in (-scores).argsort(kind="stable")[:most].tolist():
                _keep_best(best, int(sessions[at]), _Best(float(scores[at]), number, at))
        order = sorted(best, key=lambda session: (-best[session].score, session))[:most]
        texts = self._archive.summaries(order)
        recalled = []
        for session in order:
            if summary := texts.get(session):
                asked = results[best[session].result].searched.asked.text
                reason = Why(asked, round(best[session].score, 4))
                recalled.append(
                    RecalledSummary(
                        summary.text_id, summary.session_id, summary.timestamp, summary.summary, reason
                    )
                )
        return tuple(recalled[: self._limits.sessions])


def _keep_best(best: dict[int, _Best], key: int, one: _Best) -> None:
    if key not in best or best[key].score < one.score:
        best[key] = one


def _why(result: Result, best: _Best) -> Why:
    counts = result.searched.pool.counts[:, best.at]
    shared = tuple(term for term, count in zip(result.searched.terms, counts, strict=True) if count)
    parts = tuple((name, round(float(part[best.at]), 4)) for name, part in result.ranked.parts.items())
    return Why(result.searched.asked.text, round(best.score, 4), shared, parts)


def _recalled(turn: Turn, why: Why | None) -> RecalledTurn:
    known = (turn.text_id, turn.session_id, turn.timestamp, turn.role, turn.text)
    return RecalledTurn(*known, hit=why is not None, why=why or _NO_REASON)


def _neighbours(register: TurnTable, row: int) -> list[int]:
    """The turns next to a turn in its session: the reply first, since it often holds the answer."""
    session = register.session[row]
    return [at for at in (row + 1, row - 1) if 0 <= at < len(register) and register.session[at] == session]
