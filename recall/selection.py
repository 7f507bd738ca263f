"""From scores to a recollection: the best turns and summaries that the budget has room for, and why each was chosen.

The budget is of tokens as they stand in a prompt, with all that a memory is wrapped in there. Hits fill it best
first, each with less room than the one before it: the further down a turn stands, the less likely it is what was
looked for. A long turn is cut to what was found in it; a neighbour comes along only where a hit needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from domain.quotations import as_memory, memory_text
from domain.recollection import Annotation, RecalledFact, RecalledMessage, RecalledSummary, RecallLimits, Why
from domain.records import PREFIX, Message, Summary
from domain.text import encode_json
from language.calendar import seconds_of
from language.scripts import estimate
from language.words import matching_forms
from recall.annotations import KnownFacts, cost_of, cost_of_annotations, cost_of_facts
from recall.candidates import Candidates, MessageTable
from recall.passages import LONG, excerpt, size_of
from recall.ranking import Floats, Ranked
from storage.repositories import Repositories

#: Tokens of one record in a prompt without what it tells (date, age, marks of JSON), of what stands around the
#: text of one turn in it, or of its summary, and of what stands around all records.
RECORD, ENTRY, FRAME = 30, 12, 82
#: Tokens of the numbers by which two records are known to be of one conversation.
_NUMBERS = 12
#: The hit that has half the room of the best one, counted from 0, and the least room of any, in characters.
_HALF, _LEAST = 8, 150
#: A turn handed over only for its context has no reason of its own.
_NO_REASON = Why(query="", score=0.0)
#: How many summaries are looked up for each that is handed over: not every session has one.
_SPARE = 4
#: The share of the budget that facts may take.
_FACTS = 0.15
#: The share of the budget that summaries may take, the same with their marks, and what a long one is cut to.
_SUMMARIES, _MARKED_SUMMARIES, _LONG_SUMMARY = 0.08, 0.25, 250
#: What a turn scored with the input by itself counts so much beside the better of its scores.
_BOTH = 0.1
#: A turn of fewer characters than this says little without the one it answers, or the one that answers it.
_SHORT = 36
#: The longest that a neighbour may be.
_LONG_NEIGHBOUR = 300

#: One day of one session, which is one record.
Day = tuple[str, str]


@dataclass(frozen=True)
class RankedSearch:
    """What one question found, ranked."""

    searched: Candidates
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class Selected:
    """What is handed over: ``turns`` and ``facts``, ``summaries`` best first, and the ids of the hits, best first."""

    turns: tuple[RecalledMessage, ...] = ()
    summaries: tuple[RecalledSummary, ...] = ()
    hits: tuple[str, ...] = ()
    facts: tuple[RecalledFact, ...] = ()


@dataclass(frozen=True)
class _Laid:
    """What could be handed over of what was said: the turns of rows, best first, as they would stand in a prompt."""

    best: Mapping[int, _Best]
    read: Mapping[int, Message]
    said: Mapping[int, str]
    around: Mapping[int, Sequence[int]]
    marks: Mapping[str, tuple[Annotation, ...]]
    cost: Mapping[int, int]
    why: Mapping[int, Why]
    recorded: Sequence[str]

    def chosen(self, budget: int) -> dict[int, bool]:
        """The rows that the budget has room for, and whether each is a hit."""
        days = {row: (turn.session_id, turn.timestamp[:10]) for row, turn in self.read.items()}
        ranked = [row for row in self.best if row in self.read]
        return choose(ranked, self.around, self.cost, budget, days, self.recorded)

    def turn(self, row: int, hit: bool) -> RecalledMessage:
        """One of them."""
        turn, why = self.read[row], self.why[row] if hit else None
        return _recalled(turn, self.said[row], why, self.marks.get(turn.text_id, ()))


@dataclass(frozen=True, slots=True)
class _Best:
    """Where something scored best: its score, in which search, at which place of what that found."""

    score: float
    found: RankedSearch
    at: int


def cut(scores: Sequence[float], count: int, *, share: float = 0.2) -> int:
    """How many scores, best first, are kept: at most ``count``, none below ``share`` of the best.

    Scores are above zero for what stands out at all.
    """
    if not scores:
        return 0
    floor = scores[0] * share
    return sum(score >= floor for score in scores[:count])


class Selector:
    """Reads what is handed over from the archive; what is no longer there is left out.

    With ``cutting``, weak hits are left out even where there is room. The summary of the ``present`` session stands
    in the context already.
    """

    def __init__(
        self,
        archive: Repositories,
        table: MessageTable,
        limits: RecallLimits,
        known: KnownFacts,
        present: int | None = None,
        *,
        cutting: bool,
    ) -> None:
        self._archive = archive
        self._table = table
        self._limits = limits
        self._known = known
        self._present = present
        self._cutting = cutting

    def select(self, searches: Sequence[RankedSearch], facts: Sequence[RecalledFact] = ()) -> Selected:
        """What the budget has room for of what was found, and of the facts that answer, best first."""
        if not searches and not facts:
            return Selected()
        offered = self._offered(facts)
        summaries = self._summaries(searches)
        laid = self._laid(searches, [one.session_id for one in summaries])
        left = self._limits.tokens - FRAME - sum(map(_cost_of_summary, summaries))
        marked = bool(laid.marks) or any(one.annotations for one in summaries)
        turns = self._turns(laid, left - cost_of_facts(offered, marked=marked))
        untold = self._untold(offered, turns)
        if len(untold) < len(offered):
            turns = self._turns(laid, left - cost_of_facts(untold, marked=marked))
            untold = self._untold(untold, turns)
        place = {laid.read[row].text_id: at for at, row in enumerate(laid.best) if row in laid.read}
        hits = sorted((turn for turn in turns if turn.hit), key=lambda turn: place[turn.text_id])
        return Selected(turns, summaries, tuple(turn.text_id for turn in hits), tuple(untold))

    def _offered(self, facts: Sequence[RecalledFact]) -> list[RecalledFact]:
        """The facts that their share of the budget has room for."""
        left, kept = int(self._limits.tokens * _FACTS), []
        for fact in facts:
            if (cost := cost_of(fact)) <= left:
                kept.append(fact)
                left -= cost
        return kept

    def _untold(self, facts: Sequence[RecalledFact], turns: Sequence[RecalledMessage]) -> list[RecalledFact]:
        """The facts that what is shown anyway does not tell whole, and those that took the place of another."""
        known = self._known
        return [fact for fact in facts if fact.text_id in known.newer or not known.is_covered(fact, turns)]

    def _best_turns(self, searches: Sequence[RankedSearch]) -> dict[int, _Best]:
        """The rows of the best turns, best first; each counts with the question that found it best.

        A score counts by how far it stands above the mean of its pool, so that those of two questions compare. What
        the input found by itself beside what came before it counts a little more: what both find is the likelier.
        """
        best: dict[int, _Best] = {}
        for found in searches:
            rows, scores = found.searched.pool.rows, _above(found)
            for at in scores.argsort(kind="stable")[::-1][: self._limits.turns].tolist():
                _keep_best(best, int(rows[at]), _Best(float(scores[at]), found, at))
        for found in searches if len(searches) > 1 else ():
            if found.searched.asked.alone:
                _count_both(best, found)
        order = sorted(best, key=lambda row: (-best[row].score, self._told(row)))
        count = self._limits.turns
        if self._cutting:
            count = cut([best[row].score for row in order], count)
        return {row: best[row] for row in order[:count]}

    def _laid(self, searches: Sequence[RankedSearch], recorded: Sequence[str]) -> _Laid:
        """The best turns with what they need to be understood, cut, and what became of what they say."""
        best = self._best_turns(searches)
        read = self._read(best)
        around = {row: self._company(row, read[row]) for row in best if row in read}
        read |= self._read({near for beside in around.values() for near in beside} - read.keys())
        sought, room = _sought(searches), {row: longest(place) for place, row in enumerate(best)}
        said = {row: excerpt(turn.words, sought, room.get(row, _LONG_NEIGHBOUR)) for row, turn in read.items()}
        marks = self._known.annotations_of_messages(read.values(), self._answered(read)) if self._known else {}
        told_of = {row: cost_of_annotations(marks.get(turn.text_id, ())) for row, turn in read.items()}
        cost = {row: cost_of_text(text) + told_of[row] for row, text in said.items()}
        why = {row: _why(one, read[row].words) for row, one in best.items() if row in read}
        return _Laid(best, read, said, around, marks, cost, why, recorded)

    def _answered(self, read: Mapping[int, Message]) -> dict[str, str]:
        """The id of what each reply among these turns answers."""
        before = {row: int(self._table.previous[row]) for row, turn in read.items() if turn.role == "assistant"}
        asked = dict(read) | self._read({row for row in before.values() if row >= 0} - read.keys())
        return {
            read[row].text_id: asked[near].text_id
            for row, near in before.items()
            if near in asked and asked[near].role == "user"
        }

    def _turns(self, laid: _Laid, budget: int) -> tuple[RecalledMessage, ...]:
        chosen = laid.chosen(budget)
        return tuple(laid.turn(row, chosen[row]) for row in self._oldest_first(chosen, laid.read))

    def _read(self, rows: Iterable[int]) -> dict[int, Message]:
        """The turns of rows, as far as they are still there and say anything."""
        numbers = {row: int(self._table.seq[row]) for row in rows}
        read = {turn.seq: as_memory(turn) for turn in self._archive.messages.by_number(sorted(numbers.values()))}
        return {row: read[seq] for row, seq in numbers.items() if seq in read and read[seq].words.strip()}

    def _company(self, row: int, turn: Message) -> list[int]:
        """What a short turn needs to be understood: a question its answer, anything else what was said before it."""
        said = turn.words.strip()
        if size_of(said) >= _SHORT:
            return []
        beside = self._table.next[row] if said.endswith(("?", "？")) else self._table.previous[row]
        return [int(beside)] if beside >= 0 else []

    def _told(self, row: int) -> tuple[int, int]:
        """Where a turn was said: its session, and its place in it."""
        return int(self._table.session[row]), int(self._table.place[row])

    def _oldest_first(self, rows: Iterable[int], texts: Mapping[int, Message]) -> list[int]:
        """By when it was said; inside a session in its order, even where the clock was set back meanwhile."""
        latest: dict[int, float] = {}
        spoken_at: dict[int, float] = {}
        for row in sorted(rows, key=self._told):
            session, _ = self._told(row)
            spoken_at[row] = latest[session] = max(latest.get(session, 0.0), seconds_of(texts[row].timestamp))
        return sorted(spoken_at, key=lambda row: (spoken_at[row], self._told(row)))

    def _summaries(self, searches: Sequence[RankedSearch]) -> tuple[RecalledSummary, ...]:
        best: dict[int, _Best] = {}
        most = self._limits.sessions * _SPARE
        for found in searches:
            sessions, scores = found.searched.sessions, found.ranked.sessions
            for at in (-scores).argsort(kind="stable")[:most].tolist():
                _keep_best(best, int(sessions[at]), _Best(float(scores[at]), found, at))
        best.pop(-1 if self._present is None else self._present, None)
        order = sorted(best, key=lambda session: (-best[session].score, session))[:most]
        texts = self._archive.summaries.of_sessions(order)
        known = [(texts[session], best[session]) for session in order if session in texts]
        read = [_summarised(one, where, searches) for one, where in known[: self._limits.sessions]]
        marks = self._known.annotations_of_summaries({one.session_id: one.text for one in read})
        marked = [replace(one, annotations=marks.get(one.session_id, ())) for one in read]
        return _fitting(marked, self._limits.tokens)


def _fitting(summaries: Sequence[RecalledSummary], budget: int) -> tuple[RecalledSummary, ...]:
    """The summaries that their share of the budget has room for, best first; a mark takes no other's place in it."""
    kept: list[RecalledSummary] = []
    texts, all_told = int(budget * _SUMMARIES), int(budget * _MARKED_SUMMARIES)
    for one in summaries:
        text, summary = cost_alone(one.text), _cost_of_summary(one)
        if text <= texts and summary <= all_told:
            texts, all_told = texts - text, all_told - summary
            kept.append(one)
    return tuple(kept)


def _summarised(summary: Summary, where: _Best, searches: Sequence[RankedSearch]) -> RecalledSummary:
    said = memory_text(summary.summary)
    text = excerpt(said, _sought(searches), _LONG_SUMMARY)
    cut_short = text != said
    return RecalledSummary(
        summary.text_id,
        summary.session_id,
        summary.timestamp,
        text,
        Why(where.found.searched.asked.text, round(where.score, 4)),
        cut=cut_short,
        whole=said if cut_short else "",
    )


def _sought(searches: Sequence[RankedSearch]) -> dict[str, float]:
    """The words that were searched for, each as rare as it is."""
    return {
        term: float(weight)
        for found in searches
        for term, weight in zip(found.searched.terms, found.searched.evidence.rarity, strict=True)
    }


def _cost_of_summary(summary: RecalledSummary) -> int:
    """Tokens of a record that holds nothing but this summary with its marks."""
    return cost_alone(summary.text) + cost_of_annotations(summary.annotations)


def _above(found: RankedSearch) -> Floats:
    """How far each turn stands above the mean of its pool."""
    scores = found.ranked.turns
    return scores - scores.mean() if len(scores) else scores


def _count_both(best: dict[int, _Best], alone: RankedSearch) -> None:
    """Add to each of the best what it scored with the input by itself."""
    found = dict(zip(alone.searched.pool.rows.tolist(), _above(alone).tolist(), strict=True))
    for row, one in best.items():
        best[row] = replace(one, score=one.score + _BOTH * found.get(row, 0.0))


def _keep_best(best: dict[int, _Best], key: int, one: _Best) -> None:
    if key not in best or best[key].score < one.score:
        best[key] = one


def _why(best: _Best, said: str) -> Why:
    """Why a turn was found; the words it shares with the question as they stand in it, where they do."""
    searched, ranked = best.found.searched, best.found.ranked
    counts = searched.pool.counts[:, best.at].tolist()
    terms = tuple(term for term, count in zip(searched.terms, counts, strict=True) if count)
    shared = matching_forms(said, frozenset(terms)) or terms
    parts = tuple((name, round(part.item(best.at), 4)) for name, part in ranked.parts.items())
    return Why(searched.asked.text, round(best.score, 4), shared, parts)


def _recalled(turn: Message, said: str, why: Why | None, marks: tuple[Annotation, ...]) -> RecalledMessage:
    cut = said != turn.words
    return RecalledMessage(
        turn.text_id, turn.session_id, turn.timestamp, turn.role, PREFIX[turn.role] + said, why is not None,
        why or _NO_REASON, cut, turn.text if cut else "", marks, turn.speaker, turn.undated,
    )  # fmt: skip


class _Budget:
    """What is left of the budget. A record is paid for once, with the first that is in it.

    ``recorded`` are sessions of which a record is paid for already.
    """

    def __init__(self, left: int, recorded: Iterable[str] = ()) -> None:
        self._left = left
        self._told = set(recorded)
        self._days: set[Day] = set()

    def pay(self, cost: int, day: Day | None) -> bool:
        """Pay for a turn of this day; False, and nothing, when too little is left."""
        known = day is None or day in self._days or day[0] in self._told
        further = day is not None and any(session == day[0] for session, _ in self._days)
        cost += 0 if known else RECORD + _NUMBERS * further
        if cost > self._left:
            return False
        self._left -= cost
        if day is not None and day not in self._days:
            self._days.add(day)
            self._told.discard(day[0])
        return True


def choose(
    ranked: Sequence[int],
    around: Mapping[int, Sequence[int]],
    cost: Mapping[int, int],
    budget: int,
    days: Mapping[int, Day] | None = None,
    recorded: Iterable[str] = (),
) -> dict[int, bool]:
    """The rows to hand over, and whether each is a hit: best first while the budget lasts, each with its neighbours.

    ``ranked`` are the rows of the hits, ``around`` the neighbours of each, ``cost`` the tokens of each row, ``days``
    the record in which each stands, ``recorded`` the sessions that have a record anyway.
    A hit that does not fit is passed over, so that one long turn does not shut out the rest.
    """
    taken: dict[int, bool] = {}
    of, purse = days or {}, _Budget(budget, recorded)
    for row in ranked:
        if row not in taken and not purse.pay(cost[row], of.get(row)):
            continue
        taken[row] = True
        for neighbour in around.get(row, ()):
            if neighbour not in taken and neighbour in cost and purse.pay(cost[neighbour], of.get(neighbour)):
                taken[neighbour] = False
    return taken


def cost_of_text(text: str) -> int:
    """Tokens of this text in a record, written as it stands in a prompt."""
    return ENTRY + estimate(encode_json(text))


def cost_alone(text: str) -> int:
    """Tokens of a record that holds nothing but this text."""
    return RECORD + cost_of_text(text)


def longest(place: int) -> int:
    """How long the hit at this place may be: the best have room to be read, what comes after to be known."""
    return max(_LEAST, LONG * _HALF // (_HALF + place))
