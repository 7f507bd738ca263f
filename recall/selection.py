"""From scores to a recollection: the best turns and summaries that the budget has room for, and why each was chosen.

The budget is of tokens as they stand in a prompt, with all that a memory is wrapped in there. Hits fill it best
first. A long turn is cut to what was found in it; a neighbour comes along only where a hit says nothing without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, repeat

from domain.languages import estimate, unspaced_length
from domain.recollection import RecalledSummary, RecalledTurn, RecallLimits, Why
from domain.records import PREFIX, Summary, Turn
from domain.text import encoded
from recall import words
from recall.ranking import Ranked
from recall.searching import Searched
from recall.turn_table import TurnTable
from storage.store import TurnStore

#: A turn handed over only for its context has no reason of its own.
_NO_REASON = Why(query="", score=0.0)
#: How many summaries are looked up for each that is handed over: not every session has one.
_SPARE = 4
#: Tokens around the text of one record in a prompt (date, age, speaker, marks of JSON), and around all of them.
RECORD, FRAME = 40, 82
#: The share of the budget that summaries may take, and what a long one is cut to.
_SUMMARIES, _LONG_SUMMARY = 0.08, 250
#: A turn of fewer characters than this says little without the one it answers, or the one that answers it.
_SHORT = 36
#: The longest that a neighbour may be.
_LONG_NEIGHBOUR = 300
#: So many of the best hits are cut to ``LONG``, those after them to less.
_BEST, _LONG_LATER = 3, 400


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


def cut(scores: Sequence[float], count: int, *, share: float = 0.25) -> int:
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
    """The rows to hand over, and whether each is a hit: best first while the budget lasts, each with its neighbours.

    ``ranked`` are the rows of the hits, ``around`` the neighbours of each, ``cost`` the tokens of each row.
    A hit that does not fit is passed over, so that one long turn does not shut out the rest.
    """
    taken: dict[int, bool] = {}
    left = budget
    for row in ranked:
        if row not in taken and cost[row] > left:
            continue
        left -= 0 if row in taken else cost[row]
        taken[row] = True
        for neighbour in around.get(row, ()):
            if neighbour not in taken and cost.get(neighbour, left + 1) <= left:
                taken[neighbour] = False
                left -= cost[neighbour]
    return taken


class Selector:
    """Reads what is handed over from the archive; what is no longer there is left out.

    With ``cutting``, weak hits are left out even where there is room. The summary of the ``present`` session stands
    in the context already.
    """

    def __init__(
        self,
        archive: TurnStore,
        table: TurnTable,
        limits: RecallLimits,
        present: int | None = None,
        *,
        cutting: bool,
    ) -> None:
        self._archive = archive
        self._table = table
        self._limits = limits
        self._present = present
        self._cutting = cutting

    def select(
        self, searches: Sequence[RankedSearch]
    ) -> tuple[tuple[RecalledTurn, ...], tuple[RecalledSummary, ...], tuple[str, ...]]:
        """Turns oldest first, summaries best first, and the ids of the turns that are hits, best first."""
        if not searches:
            return (), (), ()
        why = self._best_turns(searches)
        summaries = self._summaries(searches)
        left = self._limits.tokens - FRAME - sum(_cost(one.text) for one in summaries)
        turns = self._turns(why, searches, left)
        hits = sorted((turn for turn in turns if turn.hit), key=lambda turn: -turn.why.score)
        return turns, summaries, tuple(turn.text_id for turn in hits)

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

    def _turns(
        self, why: Mapping[int, Why], searches: Sequence[RankedSearch], budget: int
    ) -> tuple[RecalledTurn, ...]:
        read = self._read(why)
        around = {row: self._company(row, read[row]) for row in why if row in read}
        read |= self._read({near for beside in around.values() for near in beside} - read.keys())
        sought, longest = _sought(searches), dict(zip(why, _longest(), strict=False))
        said = {
            row: excerpt(turn.words, sought, longest.get(row, _LONG_NEIGHBOUR)) for row, turn in read.items()
        }
        cost = {row: _cost(text) for row, text in said.items()}
        chosen = choose([row for row in why if row in read], around, cost, budget)
        return tuple(
            _recalled(read[row], said[row], why[row] if chosen[row] else None)
            for row in self._oldest_first(chosen, read)
        )

    def _read(self, rows: Iterable[int]) -> dict[int, Turn]:
        """The turns of rows, as far as they are still there and say anything."""
        numbers = {row: int(self._table.seq[row]) for row in rows}
        read = {turn.seq: turn for turn in self._archive.turns(sorted(numbers.values()))}
        return {row: read[seq] for row, seq in numbers.items() if seq in read and read[seq].words.strip()}

    def _company(self, row: int, turn: Turn) -> list[int]:
        """What a short turn needs to be understood: a question its answer, anything else what was said before it."""
        said = turn.words.strip()
        if size_of(said) >= _SHORT:
            return []
        beside = self._table.next[row] if said.endswith(("?", "？")) else self._table.previous[row]
        return [int(beside)] if beside >= 0 else []

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
        best.pop(-1 if self._present is None else self._present, None)
        order = sorted(best, key=lambda session: (-best[session].score, session))[:most]
        texts = self._archive.summaries(order)
        known = [(texts[session], best[session]) for session in order if session in texts]
        return _fitting(
            [_summarised(one, where, searches) for one, where in known[: self._limits.sessions]],
            int(self._limits.tokens * _SUMMARIES),
        )


def _fitting(summaries: Sequence[RecalledSummary], budget: int) -> tuple[RecalledSummary, ...]:
    """The summaries that the budget has room for, best first."""
    kept: list[RecalledSummary] = []
    for one in summaries:
        budget -= (cost := _cost(one.text))
        if budget < 0:
            budget += cost
        else:
            kept.append(one)
    return tuple(kept)


def _summarised(summary: Summary, where: _Best, searches: Sequence[RankedSearch]) -> RecalledSummary:
    text = excerpt(summary.summary, _sought(searches), _LONG_SUMMARY)
    cut_short = text != summary.summary
    return RecalledSummary(
        summary.text_id,
        summary.session_id,
        summary.timestamp,
        text,
        Why(where.found.searched.asked.text, round(where.score, 4)),
        cut=cut_short,
        whole=summary.summary if cut_short else "",
    )


def _sought(searches: Sequence[RankedSearch]) -> dict[str, float]:
    """The words that were searched for, each as rare as it is."""
    return {
        term: float(weight)
        for found in searches
        for term, weight in zip(found.searched.terms, found.searched.evidence.rarity, strict=True)
    }


def _cost(text: str) -> int:
    """Tokens of a record with this text, written as it stands in a prompt."""
    return RECORD + estimate(encoded(text))


def _longest() -> Iterator[int]:
    """How long a hit may be, best first: the best have room to be read, what comes after to be known."""
    return chain(repeat(LONG, _BEST), repeat(_LONG_LATER))


def _keep_best(best: dict[int, _Best], key: int, one: _Best) -> None:
    if key not in best or best[key].score < one.score:
        best[key] = one


def _why(best: _Best) -> Why:
    searched, ranked = best.found.searched, best.found.ranked
    counts = searched.pool.counts[:, best.at]
    shared = tuple(term for term, count in zip(searched.terms, counts, strict=True) if count)
    parts = tuple((name, round(float(part[best.at]), 4)) for name, part in ranked.parts.items())
    return Why(searched.asked.text, round(best.score, 4), shared, parts)


def _recalled(turn: Turn, said: str, why: Why | None) -> RecalledTurn:
    cut_short = said != turn.words
    return RecalledTurn(
        turn.text_id,
        turn.session_id,
        turn.timestamp,
        turn.role,
        PREFIX[turn.role] + said,
        hit=why is not None,
        why=why or _NO_REASON,
        cut=cut_short,
        whole=turn.text if cut_short else "",
    )


def _moment(timestamp: str) -> float:
    """Seconds since 1970; 0 for a time that nobody can read."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


# -- what is handed over of a long turn: the sentences that hold what was asked for, in their order


#: What stands where something was left out.
MARK = "…"
#: A turn of more than so many characters is cut; a character of a script without spaces counts as two.
LONG = 600
#: A turn much longer than any page is read only so far.
_READ = 40_000
#: The longest piece that is kept or left out as one.
_PIECE = 240
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
#: What a word that was found already still counts, and what a piece gains by standing first or beside one that is kept.
_AGAIN, _FIRST, _BESIDE = 0.25, 0.35, 0.3


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of the text and the words of the question that stand in it."""

    start: int
    end: int
    size: int
    held: frozenset[str]


def size_of(text: str) -> int:
    """How long a text is, counted so that the same takes as much room in every language."""
    return len(text) + unspaced_length(text)


def excerpt(text: str, sought: Mapping[str, float], longest: int = LONG) -> str:
    """The text, or what of it matters most for the words that are sought, each with its weight.

    >>> excerpt("I slept. " * 200 + "Then we sailed to Hvar. " + "I slept. " * 200, {"hvar": 1.0}, 60)
    'I slept. I slept. I slept. I slept. … Then we sailed to Hvar. …'
    """
    if size_of(text) <= longest:
        return text
    pieces = list(_pieces(text[:_READ], sought))
    return _joined(text, [pieces[at] for at in sorted(_chosen(pieces, sought, longest))])


def _pieces(text: str, sought: Mapping[str, float]) -> Sequence[_Piece]:
    ends = [found.end() for found in _END.finditer(text)]
    found: list[_Piece] = []
    start = 0
    for end in [*ends, len(text)]:
        while start < end:
            upto = end if end - start <= _PIECE else _break(text, start)
            said = text[start:upto]
            found.append(
                _Piece(start, upto, size_of(said), frozenset(sought.keys() & set(words.terms(said))))
            )
            start = upto
    return found


def _break(text: str, start: int) -> int:
    """Where a stretch without an end is broken: after its last space, if it has one."""
    space = text.rfind(" ", start + _PIECE // 2, start + _PIECE)
    return space + 1 if space > 0 else start + _PIECE


def _chosen(pieces: Sequence[_Piece], sought: Mapping[str, float], longest: int) -> set[int]:
    """The places of the pieces to keep: always the one that adds most and still fits, with what stands beside it."""
    chosen: set[int] = set()
    heard: set[str] = set()
    left = longest
    mean = sum(sought.values()) / max(len(sought), 1) or 1.0

    def gain(at: int) -> tuple[float, int]:
        own = sum(sought[word] * (_AGAIN if word in heard else 1.0) for word in pieces[at].held)
        beside = mean * _BESIDE * ((at - 1 in chosen) + (at + 1 in chosen))
        return own + beside + mean * _FIRST * (at == 0), -at

    waiting = set(range(len(pieces)))
    while waiting and left > 0:
        best = max(waiting, key=gain)
        waiting.discard(best)
        if pieces[best].size <= left:
            chosen.add(best)
            heard |= pieces[best].held
            left -= pieces[best].size
        elif chosen:
            waiting = {at for at in waiting if pieces[at].size <= left}
    return chosen


def _joined(text: str, kept: Sequence[_Piece]) -> str:
    """The pieces in order; those that follow each other stay as they stood."""
    parts: list[str] = []
    upto = 0
    for piece in kept:
        if piece.start > upto or not parts:
            parts += [MARK] * (piece.start > upto) + [""]
        parts[-1] += text[piece.start : piece.end]
        upto = piece.end
    parts += [MARK] * (upto < len(text))
    return " ".join(stripped for part in parts if (stripped := part.strip()))
