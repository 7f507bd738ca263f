"""From scores to a recollection: the best turns and summaries that the budget has room for, and why each was chosen.

The budget is of tokens as they are in a prompt, with all that a memory is wrapped in there. Hits fill it best
first, each with less room than the one before it: the further down a turn stands, the less likely it is what was
looked for. A long turn is cut to what was found in it; a neighbour comes along only where a hit needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple, TypeVar

from domain.patterns import pattern_of
from domain.quotations import as_memory, memory_text
from domain.recollection import (
    Annotation,
    RecalledExternal,
    RecalledFact,
    RecalledMessage,
    RecalledSummary,
    RecallLimits,
    Recollection,
    Why,
)
from domain.records import PREFIX, Message, Summary
from domain.text import encode_json
from language.calendar import seconds_of
from language.scripts import estimate, unspaced_length
from language.words import matching_forms, terms
from recall.annotations import KnownFacts, cost_of, cost_of_annotations, cost_of_facts
from recall.candidates import Candidates, CandidateSearch, MessageTable
from recall.questions import seeks_reply
from recall.ranking import Ranked
from storage.repositories import Repositories

#: Tokens of one record in a prompt without what it tells (date, age, marks of JSON), of what stands around the
#: text of one turn in it, or of its summary, and of what stands around all records.
RECORD, ENTRY, FRAME = 24, 10, 98
#: Tokens of a record of an external memory without its text, and of the explanation of such records.
_EXTERNAL, LEGEND = 45, 110
#: Tokens of the numbers by which two records are known to be of one conversation.
_NUMBERS = 12
#: The hit that has half the room of the best one, counted from 0, and the least room of any, in characters.
_HALF, _LEAST = 8, 150
#: A turn shown only for its context has no reason of its own.
_NO_REASON = Why(query="", score=0.0)
#: How many summaries are looked up for each that is shown: not every session has one.
_SPARE = 4
#: The share of the budget that facts may take.
_FACTS = 0.15
#: The share of the budget that summaries may take, the same with their marks, and what a long one is cut to.
_SUMMARIES, _MARKED_SUMMARIES, _LONG_SUMMARY = 0.08, 0.25, 250
#: What a turn scored with the input alone counts so much beside the better of its scores.
_BOTH = 0.1
#: A turn of fewer characters than this says little without the one it answers, or the one that answers it.
_SHORT = 36
#: The longest that a neighbour may be.
_LONG_NEIGHBOUR = 300

#: Marks an omission.
MARK = "…"
#: Longer messages are shortened; a character of a script without spaces counts as two.
LONG = 600
#: Characters of a message that are read.
_READ_OF_TEXT = 40_000
#: The most characters of a piece.
_LONGEST_PIECE = 240
_END = pattern_of(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
#: The weight of a repeated word, and what a piece gains by being first, or next to a chosen one.
_AGAIN, _FIRST, _ADJACENT = 0.25, 0.35, 0.3

#: One day of one session, which is one record.
Day = tuple[str, str]
_Memory = TypeVar("_Memory")


@dataclass(frozen=True)
class RankedSearch:
    """What one question found, ranked."""

    searched: Candidates
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class Selected:
    """What is selected: ``messages`` and ``facts``, ``summaries`` best first, and the ids of the hits, best
    first.
    """

    messages: tuple[RecalledMessage, ...] = ()
    summaries: tuple[RecalledSummary, ...] = ()
    hits: tuple[str, ...] = ()
    facts: tuple[RecalledFact, ...] = ()


class _Best(NamedTuple):
    """Where something scored best: its score, in which search, at which place of what that found."""

    score: float
    found: RankedSearch
    at: int


@dataclass(frozen=True)
class _Laid:
    """What could be selected of what was said, by row: the best with their scores, and the messages.

    ``around``: the rows that a hit needs to be understood. ``said``: the words that are shown. ``cost``: the tokens of
    each row.
    """

    best: Mapping[int, _Best]
    read: Mapping[int, Message]
    around: Mapping[int, Sequence[int]]
    said: Mapping[int, str]
    marks: Mapping[str, tuple[Annotation, ...]]
    cost: Mapping[int, int]


@dataclass(frozen=True)
class Selector:
    """Reads what is selected from the archive; what is no longer there is left out.

    With ``cutting``, weak hits are left out even where there is room. The summary of the present session stands
    in the context already.
    """

    archive: Repositories
    table: MessageTable
    limits: RecallLimits
    known: KnownFacts
    search: CandidateSearch
    _: KW_ONLY
    cutting: bool

    def select(
        self, searches: Sequence[RankedSearch], facts: Sequence[RecalledFact] = (), fact_budget: int = 0
    ) -> Selected:
        """What the budget has room for of what was found, and of the facts that answer, best first.

        ``fact_budget``: the tokens of which facts may take their share, where those are more than all others may take.
        """
        if not searches and not facts:
            return Selected()
        offered = fit_budget(facts, cost_of, int((fact_budget or self.limits.tokens) * _FACTS))
        # The words that were searched for, each as rare as it is.
        sought = {
            term: float(weight)
            for found in searches
            for term, weight in zip(found.searched.terms, found.searched.evidence.rarity, strict=True)
        }
        laid, summaries = self._laid(searches, sought), self._summaries(searches, sought)
        recorded = [one.session_id for one in summaries]
        left = self.limits.tokens - FRAME - sum(map(_cost_of_summary, summaries))
        marked = bool(laid.marks) or any(one.annotations for one in summaries)
        days = {row: (message.session_id, message.timestamp[:10]) for row, message in laid.read.items()}
        missing = offered
        for _ in range(2):
            budget, before = left - cost_of_facts(missing, marked=marked), len(missing)
            chosen = choose([*laid.best], laid.around, laid.cost, budget, days, recorded)
            # The facts that what is shown anyway does not tell whole, and those that took the place of another.
            shown, newer = [laid.read[row].text_id for row in chosen], self.known.newer
            missing = [fact for fact in missing if fact.text_id in newer or not self.known.is_covered(fact, shown)]
            if len(missing) == before:
                break
        hits = tuple(laid.read[row].text_id for row in laid.best if chosen.get(row))
        return Selected(self._recalled(laid, chosen), summaries, hits, tuple(missing))

    def _best_messages(self, searches: Sequence[RankedSearch]) -> dict[int, _Best]:
        """The rows of the best turns, best first; each counts with the question that found it best.

        What the input found alone beside what came before it counts a little more: what both find is the likelier.
        With ``cutting``, none is below the ``share`` of the best. What the input found alone is measured by the best of
        that, for what came before may be of another matter. The best turn for each name in the input is never cut: a
        message may be about several.
        """
        best: dict[int, _Best] = {}
        for found in searches:
            rows, scores = found.searched.pool.rows, found.ranked.messages
            first = scores.argsort(kind="stable")[::-1][: self.limits.messages]
            for row, score, at in zip(rows[first].tolist(), scores[first].tolist(), first.tolist(), strict=True):
                known = best.get(row)
                best[row] = known if known and known.score >= score else _Best(score, found, at)
        for found in searches if len(searches) > 1 else ():
            scores = found.ranked.messages
            rows = found.searched.pool.rows.tolist() if found.searched.asked.alone else []
            for row, at in {row: at for at, row in enumerate(rows) if row in best}.items():
                score, where, place = best[row]
                best[row] = _Best(score + _BOTH * float(scores[at]), where, place)
        order = sorted(best, key=lambda row: (-best[row].score, self._place_of(row)))[: self.limits.messages]
        weak = set[int]()
        for found in searches if self.cutting else ():
            own = [row for row in order if best[row].found is found]
            measure = own if found.searched.asked.alone else order
            weak.update(row for row in own if best[row].score < self.limits.share * best[measure[0]].score)
        for found in searches if weak else ():
            weak.difference_update(_named(found, order))
        return {row: best[row] for row in order if row not in weak}

    def _laid(self, searches: Sequence[RankedSearch], sought: Mapping[str, float]) -> _Laid:
        """The best turns with what they need to be understood, cut, and what became of what they say."""
        best = self._best_messages(searches)
        read = self._read(best)
        replies = any(seeks_reply(found.searched.asked.text) for found in searches)
        around = {row: self._company(row, read[row], replies=replies) for row in best if row in read}
        read |= self._read({near for beside in around.values() for near in beside} - read.keys())
        room = {row: longest(place) for place, row in enumerate(best)}
        said = {row: excerpt(message.words, sought, room.get(row, _LONG_NEIGHBOUR)) for row, message in read.items()}
        marks: Mapping[str, tuple[Annotation, ...]] = {}
        if self.known.has_any:
            shown = [replace(message, text=PREFIX[message.role] + said[row]) for row, message in read.items()]
            marks = self.known.annotations_of_messages(shown, self._answered(read))
        cost = {
            row: cost_of_text(said[row]) + cost_of_annotations(marks.get(message.text_id, ()))
            for row, message in read.items()
        }
        return _Laid({row: best[row] for row in best if row in read}, read, around, said, marks, cost)

    def _answered(self, read: Mapping[int, Message]) -> dict[int, int]:
        """The number of what each reply among these turns answers."""
        before = {row: int(self.table.previous[row]) for row, message in read.items() if message.role == "assistant"}
        asked = dict(read) | self._read({row for row in before.values() if row >= 0} - read.keys())
        return {
            read[row].seq: asked[near].seq
            for row, near in before.items()
            if near in asked and asked[near].role == "user"
        }

    def _recalled(self, laid: _Laid, chosen: Mapping[int, bool]) -> tuple[RecalledMessage, ...]:
        """The chosen messages by when they were said; those that are no hits are shown only for their context.

        Inside a session they keep its order, even where the clock was set back meanwhile.
        """
        latest: dict[str, float] = {}
        order: list[tuple[float, tuple[int, int], int]] = []
        for at, row in sorted((self._place_of(row), row) for row in chosen):
            session = laid.read[row].session_id
            latest[session] = max(latest.get(session, 0.0), seconds_of(laid.read[row].timestamp))
            order.append((latest[session], at, row))
        recalled: list[RecalledMessage] = []
        for _, (_, place), row in sorted(order):
            one, said, hit = laid.read[row], laid.said[row], chosen[row]
            cut, why = said != one.words, _why(laid.best[row], one.words) if hit else _NO_REASON
            marks = laid.marks.get(one.text_id, ())
            recalled.append(
                RecalledMessage(
                    one.text_id, one.session_id, one.timestamp, one.role, PREFIX[one.role] + said, hit, why,
                    cut, one.text if cut else "", marks, one.speaker, one.undated, place=place,
                )
            )  # fmt: skip
        return tuple(recalled)

    def _read(self, rows: Iterable[int]) -> dict[int, Message]:
        """The turns of rows, as far as they are still there and say anything."""
        numbers = {row: int(self.table.seq[row]) for row in rows}
        read = {message.seq: as_memory(message) for message in self.search.read_messages(list(numbers.values()))}
        return {row: read[seq] for row, seq in numbers.items() if seq in read and read[seq].words.strip()}

    def _company(self, row: int, message: Message, *, replies: bool) -> list[int]:
        """What a short message needs to be understood: a question its answer, anything else what was said before it.

        With ``replies``, what the person said brings the reply to it, which is what is asked for.
        """
        said = message.words.strip()
        if replies and message.role == "user":
            return [int(self.table.next[row])] if self.table.next[row] >= 0 else []
        if size_of(said) >= _SHORT:
            return []
        beside = self.table.next[row] if said.endswith(("?", "？")) else self.table.previous[row]
        return [int(beside)] if beside >= 0 else []

    def _place_of(self, row: int) -> tuple[int, int]:
        """Where a turn was said: its session, and its place in it."""
        return int(self.table.session[row]), int(self.table.place[row])

    def _best_sessions(self, searches: Sequence[RankedSearch]) -> dict[int, _Best]:
        """The numbers of the sessions whose summaries are looked up, best first."""
        best: dict[int, _Best] = {}
        most = self.limits.sessions * _SPARE
        for found in searches:
            sessions, scores = found.searched.sessions, found.ranked.sessions
            for at in (-scores).argsort(kind="stable")[:most].tolist():
                session, score = int(sessions[at]), float(scores[at])
                known = best.get(session)
                best[session] = known if known and known.score >= score else _Best(score, found, at)
        best.pop(-1 if self.search.present is None else self.search.present, None)
        return {one: best[one] for one in sorted(best, key=lambda session: (-best[session].score, session))[:most]}

    def _summaries(self, searches: Sequence[RankedSearch], sought: Mapping[str, float]) -> tuple[RecalledSummary, ...]:
        best = self._best_sessions(searches)
        texts = self.archive.shown.summaries_of([*best])
        there = [session for session in best if session in texts]
        read = [_summarised(texts[one], best[one], sought) for one in there[: self.limits.sessions]]
        marks = self.known.annotations_of_summaries(read)
        kept: list[RecalledSummary] = []
        left, left_with_marks = (int(self.limits.tokens * share) for share in (_SUMMARIES, _MARKED_SUMMARIES))
        for plain in read:
            one = replace(plain, annotations=marks.get(plain.session_id, ()))
            # Annotations do not take the place of another summary.
            if cost_alone(one.text) <= left and _cost_of_summary(one) <= left_with_marks:
                left, left_with_marks = left - cost_alone(one.text), left_with_marks - _cost_of_summary(one)
                kept.append(one)
        return tuple(kept)


def _named(found: RankedSearch, order: Sequence[int]) -> Iterator[int]:
    """Of turns in their order, the first with each name in an input that was read alone."""
    searched = found.searched
    if not searched.asked.alone or searched.asked.names.isdisjoint(searched.terms):
        return
    place = {row: at for at, row in enumerate(searched.pool.rows.tolist())}
    for term, counts in zip(searched.terms, searched.pool.counts, strict=True):
        if term in searched.asked.names:
            yield from [row for row in order if row in place and counts[place[row]]][:1]


def fit_budget(found: Iterable[_Memory], cost: Callable[[_Memory], int], budget: int) -> list[_Memory]:
    """The best that fit the budget, of what is given best first; what does not fit is passed over."""
    fitting: list[_Memory] = []
    for one in found:
        if (price := cost(one)) <= budget:
            fitting.append(one)
            budget -= price
    return fitting


def make_room(found: Recollection, tokens: int) -> Recollection:
    """The recollection without its weakest messages, until the rest takes no more than these tokens."""
    weakest = [*(message.text_id for message in found.messages if not message.hit), *reversed(found.ranked)]
    while weakest and cost_of_recollection(found) > tokens:
        dropped = weakest.pop(0)
        found = replace(
            found,
            messages=tuple(message for message in found.messages if message.text_id != dropped),
            ranked=tuple(one for one in found.ranked if one != dropped),
        )
    return found


def cost_of_recollection(found: Recollection) -> int:
    """About the tokens of a recollection, rather too many."""
    texts = [one.text for one in found.messages] + [one.text for one in found.summaries]
    texts += [one.text for one in found.facts] + [one.text for one in found.chapters]
    days = len({(message.session_id, message.timestamp[:10]) for message in found.messages}) + len(found.summaries)
    marks = sum(len(one.annotations) for one in found.messages) + sum(len(one.annotations) for one in found.summaries)
    external = sum(map(cost_of_external, found.external), LEGEND if found.external else 0)
    records = days + len(found.facts) + len(found.chapters)
    return FRAME + RECORD * records + sum(map(cost_of_text, texts)) + 25 * marks + external


def cost_of_external(one: RecalledExternal) -> int:
    """Tokens of the record of a text of an external memory."""
    return _EXTERNAL + estimate(encode_json([one.source, one.place, one.text]))


def _summarised(summary: Summary, where: _Best, sought: Mapping[str, float]) -> RecalledSummary:
    whole = memory_text(summary.summary)
    text = excerpt(whole, sought, _LONG_SUMMARY)
    why = Why(where.found.searched.asked.text, round(where.score, 4))
    return RecalledSummary(
        summary.text_id, summary.session_id, summary.timestamp, text, why,
        cut=text != whole, whole=whole if text != whole else "",
    )  # fmt: skip


def _cost_of_summary(summary: RecalledSummary) -> int:
    """Tokens of a record that holds nothing but this summary with its marks."""
    return cost_alone(summary.text) + cost_of_annotations(summary.annotations)


def _why(best: _Best, said: str) -> Why:
    """Why a turn was found; the words it shares with the question as they are in it, where they are."""
    searched, ranked = best.found.searched, best.found.ranked
    counts = searched.pool.counts[:, best.at].tolist()
    terms = tuple(term for term, count in zip(searched.terms, counts, strict=True) if count)
    shared = matching_forms(said, frozenset(terms)) or terms
    parts = tuple((name, round(part.item(best.at), 4)) for name, part in ranked.parts.items())
    return Why(searched.asked.text, round(best.score, 4), shared, parts)


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
    the record in which each stands, ``recorded`` the sessions that have a record anyway. A record is paid for once,
    with the first that is in it. A hit that does not fit is passed over, so that one long turn does not shut out the
    rest.
    """
    taken: dict[int, bool] = {}
    left, paid_for, sessions, opened = budget, set[Day](), set[str](), set(recorded)

    def pay(row: int) -> bool:
        nonlocal left
        day = days.get(row) if days else None
        price = cost[row]
        if day and day not in paid_for and day[0] not in opened:
            price += RECORD + _NUMBERS * (day[0] in sessions)
        if price > left:
            return False
        left -= price
        if day and day not in paid_for:
            paid_for.add(day)
            sessions.add(day[0])
            opened.discard(day[0])
        return True

    for row in ranked:
        if row not in taken and not pay(row):
            continue
        taken[row] = True
        beside = [near for near in around.get(row, ()) if near not in taken and near in cost]
        taken |= {near: False for near in beside if pay(near)}
    return taken


def cost_of_text(text: str) -> int:
    """Tokens of this text in a record, written as it is in a prompt."""
    return ENTRY + estimate(encode_json(text))


def cost_alone(text: str) -> int:
    """Tokens of a record that holds nothing but this text."""
    return RECORD + cost_of_text(text)


def longest(place: int) -> int:
    """How long the hit at this place may be: the best have room to be read, what comes after to be known."""
    return max(_LEAST, LONG * _HALF // (_HALF + place))


# -- excerpts of long messages: the sentences with the words of the question


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the text and the words of the question in it."""

    start: int
    end: int
    size: int
    words: frozenset[str]


def size_of(text: str) -> int:
    """The length of a text, comparable between languages."""
    return len(text) + unspaced_length(text)


def excerpt(text: str, sought: Mapping[str, float], longest: int = LONG) -> str:
    """The text, shortened if needed to the parts with the most weight of sought words.

    >>> excerpt("I slept. " * 200 + "Then we sailed to Hvar. " + "I slept. " * 200, {"hvar": 1.0}, 60)
    'I slept. I slept. I slept. I slept. … Then we sailed to Hvar. …'
    """
    if size_of(text) <= longest:
        return text
    pieces = list(_split_pieces(text[:_READ_OF_TEXT], sought))
    return _join_pieces(text, [pieces[at] for at in sorted(_choose_pieces(pieces, sought, longest))])


def _split_pieces(text: str, sought: Mapping[str, float]) -> Sequence[_Piece]:
    ends = [found.end() for found in _END.finditer(text)]
    found: list[_Piece] = []
    start = 0
    for end in [*ends, len(text)]:
        while start < end:
            upto = end if end - start <= _LONGEST_PIECE else _break_point(text, start)
            said = text[start:upto]
            found.append(_Piece(start, upto, size_of(said), frozenset(sought.keys() & set(terms(said)))))
            start = upto
    return found


def _break_point(text: str, start: int) -> int:
    """Where a long sentence is split: after its last space, if any."""
    space = text.rfind(" ", start + _LONGEST_PIECE // 2, start + _LONGEST_PIECE)
    return space + 1 if space > 0 else start + _LONGEST_PIECE


def _choose_pieces(pieces: Sequence[_Piece], sought: Mapping[str, float], longest: int) -> set[int]:
    """The indexes of the pieces to keep: repeatedly the one that adds most and still fits."""
    chosen: set[int] = set()
    covered: set[str] = set()
    left = longest
    mean = sum(sought.values()) / max(len(sought), 1) or 1.0

    def gain(at: int) -> tuple[float, int]:
        own = sum(sought[word] * (_AGAIN if word in covered else 1.0) for word in pieces[at].words)
        adjacent = mean * _ADJACENT * ((at - 1 in chosen) + (at + 1 in chosen))
        return own + adjacent + mean * _FIRST * (at == 0), -at

    waiting = set(range(len(pieces)))
    while waiting and left > 0:
        best = max(waiting, key=gain)
        waiting.discard(best)
        if pieces[best].size <= left:
            chosen.add(best)
            covered |= pieces[best].words
            left -= pieces[best].size
        elif chosen:
            waiting = {at for at in waiting if pieces[at].size <= left}
    return chosen


def _join_pieces(text: str, pieces: Sequence[_Piece]) -> str:
    """The pieces in order, with a mark for each omission."""
    parts: list[str] = []
    upto = 0
    for piece in pieces:
        if piece.start > upto or not parts:
            parts += [MARK] * (piece.start > upto) + [""]
        parts[-1] += text[piece.start : piece.end]
        upto = piece.end
    parts += [MARK] * (upto < len(text))
    return " ".join(stripped for part in parts if (stripped := part.strip()))
