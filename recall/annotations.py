"""Facts that answer a question, and annotations that say what became of the facts in a recalled text.

Facts are found by the words of the question and by the slots that it asks for, in either language. Every outdated value
in a text that is shown is annotated with what is so now, and nothing else is: a message for the facts that it states, a
reply for what it repeats of the message it answers, a summary for what it repeats of its session, and each of them for
what any other text beside it states. A persona line is annotated only for facts that one of its sentences repeats, and
not if it is also based on a message that changed the fact. Only verified facts annotate. Nothing here ranks messages;
without facts nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from domain.facts import EVENTS, Fact, LineEvidence, Slot
from domain.patterns import pattern_of
from domain.quotations import memory_text
from domain.recollection import Annotation, RecalledFact, RecalledSummary, Why
from domain.records import Message
from domain.text import encode_json
from language.scripts import estimate, language_of
from language.words import terms
from storage.personas import split_sentences

if TYPE_CHECKING:
    from language.times import TimeExpression
    from storage.facts import Facts
    from storage.repositories import Repositories

#: A fact answers with this share of a question's weight in rare words, and this share of the best fact's.
_ANSWERS, _OF_BEST = 0.45, 0.7
#: An important fact is recalled with this share of a message's weight in rare words, whatever kind of message it is.
_CONCERNED, _VITAL = 0.2, 8
#: How many facts are read, and how many are returned.
_LOOKED_AT, _MOST = 24, 8
#: Tokens around a fact in a prompt, around words that it is shown as, around an annotation, and of the explanation.
_FACT, _WORDS, _MARK, LEGEND = 36, 10, 16, 90
#: How many replacements of a value are followed.
_REPLACED = 20
#: A text repeats a fact if it contains this share of the words of its value.
_REPEATS = 0.5
#: A value of so many terms, in English and in Chinese, is seldom said of anything else.
_ENOUGH, _ENOUGH_HAN = 2, 7

_BORN = pattern_of(r"\bborn (?:about |in |on (?:\d\d? )?\w+ )?(\d{4}(?:/\d{4})?)|(\d{4}(?:/\d{4})?)年生")

#: A persona line that only quotes.
_QUOTES = pattern_of(r"^\W*(?:Said (?P<said>\d{4}-\d\d-\d\d): |(?P<zh>\d{4}-\d\d-\d\d) 说过：)“(?P<words>[^”]+)”")
#: Words of a plan in the clause of its day, and just before the day.
_AHEAD = pattern_of(
    r"\b(?:due(?! to\b)|deadline|(?<!my )(?<!\bit )will(?! (?:always|never))|(?:am|is|are|'m|'s|'re) going to)\b"
    r"|截止|还得|必须|得(?:去|交|在)|(?<![觉重主需只首不说])要(?![求素点么是了好紧命])|前.*(?:交|完成|搞定)",
    re.IGNORECASE,
)
_UP_TO = pattern_of(r"\b(?:by|until|till?|before)(?: the| end of)*\s*$", re.IGNORECASE)
#: What is set for a day, and days that are ahead whatever else is said.
_APPOINTED = pattern_of(
    r"\b(?:interview|exam|appointment|surgery|operation|scan|flight)\b|考试|面试|答辩|手术|体检|复查|航班",
    re.IGNORECASE,
)
_NEXT = pattern_of(r"(?:the )?(?:next|coming|tomorrow|in |day after tomorrow)|下|明|大?后", re.IGNORECASE)
#: Words of a clause, or of a whole line, that tells of no plan or already says what became of it.
_HAPPENED = pattern_of(
    r"\b(?:was|were|had|did|got|born|since|died|met|quit|began|came|went|left|saw|took|made|wrote|gave|lost|won|used to"
    r"|(?!need|indeed|suppos|schedul|book|plann|expect)\w{3,}ed)\b|[了过]|去世|出生|(?<=[日号月年])生|得的|以前|曾|那天",
    re.IGNORECASE,
)
_NO_PLAN = pattern_of(
    r"\b(?:birthday|anniversary|every|each|usually|always|(?:morning|afternoon|evening|night)s|(?:be|turn) \d+"
    r"|(?:hand|turn|sen[dt])(?:ed)? (?:it|them) (?:in|off)|(?<!be )(?:done|finished|paid))\b"
    r"|生日|纪念日|每|一般|要么|雷打不动|周.到周|上班|做礼拜"
    r"|(?:[交考办写做付]完|交上|搞定)了|交了(?=[，。])",
    re.IGNORECASE,
)
_CALLED_OFF = pattern_of(
    r"\b(?:cancelled|canceled|called off|postponed|fell through|(?:is|are|was|were|it['’]s) off(?=[ ]*(?:[,.:;!)]|$)))"
    r"|取消|改期|推迟|不去了|泡汤|作罢",
    re.IGNORECASE,
)
_CLAUSE_ENDS = pattern_of(r"[,;.!?，。；！？]|\b(?:and|but|so)\b", re.IGNORECASE)

#: Reads which slots a question asks for.
SlotsAsked = Callable[[str], Collection[Slot]]


class KnownFacts:
    """The facts of one archive on the day ``today``.

    A fact is left out if all of its messages are in the context: those numbered ``hidden``, or else the whole session.
    """

    def __init__(
        self,
        archive: Repositories,
        session_id: str,
        hidden: Collection[int] | None,
        slots_asked: SlotsAsked,
        today: str,
    ) -> None:
        self._archive = archive
        self._session_id = session_id
        self._hidden = hidden
        self._slots_asked = slots_asked
        self._today = today
        self.has_any = archive.index.words.rows("fact") > 0
        self._in_context: frozenset[str] = frozenset()
        #: Facts of this recall that no longer hold, or may not, in the order in which they were found.
        self._outdated: dict[Fact, None] = {}
        #: What was read: the facts that rest on each message, by number, and those that replaced others, by id.
        self._resting: dict[int, Sequence[Fact]] = {}
        self._later: dict[str, Fact | None] = {}
        self.newer: frozenset[str] = frozenset()

    def find_answers(
        self,
        questions: Iterable[str],
        searches: Iterable[tuple[str, Mapping[int, float]]],
        others: Iterable[tuple[str, Mapping[int, float]]] = (),
    ) -> list[RecalledFact]:
        """The current facts that answer, best first; those of the slots asked for come before all others.

        ``searches``: for each relevant search its question and the share of it that each fact contains, by number.
        ``others``: the same of searches that found nothing relevant: only important facts are taken from them.
        """
        if not self.has_any:
            return []
        searches = list(searches)
        shares = _best_shares(searches)
        questions = list(questions)
        called_off = [one for question in questions for one in self._find_called_off(question)]
        slots = dict.fromkeys(slot for question in questions for slot in self._slots_asked(question))
        asked_for = {fact.number: fact for fact in self._archive.facts.in_slots(slots)}
        best = max((why.score for why in shares.values()), default=0.0)
        enough = [number for number, why in shares.items() if why.score >= max(_ANSWERS, best * _OF_BEST)]
        enough = [number for number in enough if number not in asked_for][:_LOOKED_AT]
        vital = {number: why for number, why in _best_shares((*searches, *others)).items() if why.score >= _CONCERNED}
        likely = sorted(vital.keys() - asked_for.keys() - set(enough), key=lambda number: -vital[number].score)
        read = self._archive.facts.with_numbers([*enough, *likely[:_LOOKED_AT]])
        facts = [*asked_for.values(), *(one for one in read if one.number in enough or one.importance >= _VITAL)]
        shares = vital | shares
        self._in_context = self._messages_in_context([*facts, *called_off])
        called_off = [one for one in called_off if not self.is_covered(one, ())]
        ended = {one.number for one in called_off}
        in_asked = [fact for fact in asked_for.values() if fact.current and fact.verified]
        current = [
            fact
            for fact in facts
            if fact.number not in ended
            and (fact.current or (not fact.corrected and fact.until[:10] > self._today))
            and (fact.quotes or fact.basis != "quoted")
            and not self.is_covered(fact, ())
            and not any(_says_more(one, fact) for one in in_asked)
        ]
        score = {number: why.score for number, why in shares.items()}
        current.sort(
            key=lambda fact: (fact.number in asked_for, score.get(fact.number, 0.0), fact.seen, fact.number),
            reverse=True,
        )
        best_facts = current[:_MOST]
        in_slots = self._archive.facts.in_slots({fact.slot for fact in best_facts})
        self.newer = frozenset(fact.replaced_by for fact in in_slots if fact.replaced_by)
        self._add_outdated(in_slots)
        found = (_as_recalled(fact, shares.get(fact.number, _ASKED_FOR), self._today) for fact in best_facts)
        return [*called_off, *found][:_MOST]

    def _find_called_off(self, question: str) -> Iterator[RecalledFact]:
        """The plans that came to nothing, the latest first, each with the fact that ended it, if that is asked for.

        A plan that came true was changed, not ended; a wish may have ended in either way.
        """
        from language.times import read_ranges
        from recall.questions import seeks_called_off

        plans = self._archive.facts.ended_plans() if seeks_called_off(question) else []
        ranges = read_ranges(question, date.fromisoformat(self._today)) if plans else ()
        later = self.successors_of(plans)
        for plan in reversed(plans):
            by, days = later.get(plan.replaced_by), [day[:10] for day in (plan.start, plan.until) if day]
            asked = not ranges or any(
                one.first.isoformat()[: len(day)] <= day <= one.last.isoformat() for one in ranges for day in days
            )
            if by and by.current and asked and (plan.stance == "planned" or _CALLED_OFF.search(by.restatement)):
                yield replace(
                    _as_recalled(by, _ASKED_FOR, self._today),
                    text=memory_text(f"{plan.restatement} → {by.restatement}"),
                    messages=tuple(dict.fromkeys((*plan.messages, *by.messages))),
                )

    def is_covered(self, fact: Fact | RecalledFact, shown: Iterable[str]) -> bool:
        """Whether every message that a fact is based on is among these ids or in the context."""
        return bool(fact.messages) and self._in_context.union(shown).issuperset(fact.messages)

    def annotations_of_messages(
        self, messages: Collection[Message], answered: Mapping[int, int]
    ) -> dict[str, tuple[Annotation, ...]]:
        """The annotations of messages as they are shown, by id; messages without any are left out.

        ``answered``: the number of the message that each reply answers.
        """
        if not self.has_any or not messages:
            return {}
        resting = self.resting_on([*(one.seq for one in messages), *answered.values()])
        stated = self._facts_in_messages(messages, resting)
        for one in messages:
            asked = resting.get(answered.get(one.seq, 0), ())
            stated[one.text_id] += [
                fact for fact in repeated_facts(one.words, asked) if fact not in stated[one.text_id]
            ]
        later = self._add_outdated(fact for facts in stated.values() for fact in facts)
        return _without_empty({
            one.text_id: annotations_from(
                self._outdated_in(one.words, stated[one.text_id], later, one.timestamp, one.text_id), later, self._today
            )
            for one in messages
        })  # fmt: skip

    def _facts_in_messages(
        self, messages: Collection[Message], resting: Mapping[int, Sequence[Fact]]
    ) -> dict[str, list[Fact]]:
        """The facts of each message, without those whose words were cut from it, and those that it only names while
        another message states the value.
        """
        named = {
            (one.text_id, fact)
            for one in messages
            for fact in resting.get(one.seq, ())
            if len(fact.messages) > 1 and not mentions_value(one.words, fact)
        }
        said = self._archive.messages.words_of(sorted({message for _, fact in named for message in fact.messages}))
        left = {
            (one, fact)
            for one, fact in named
            if any(mentions_value(said.get(message, ""), fact) for message in fact.messages)
        }
        return {
            one.text_id: [
                fact for fact in resting.get(one.seq, ()) if (one.text_id, fact) not in left and _shows_quote(one, fact)
            ]
            for one in messages
        }

    def annotations_of_summaries(self, summaries: Collection[RecalledSummary]) -> dict[str, tuple[Annotation, ...]]:
        """The annotations of summaries as they are shown, for what they repeat, by session."""
        if not self.has_any or not summaries:
            return {}
        of_sessions = self._archive.facts.of_sessions(sorted(one.session_id for one in summaries))
        repeated = {one.session_id: repeated_facts(one.text, of_sessions.get(one.session_id, ())) for one in summaries}
        later = self._add_outdated(fact for facts in repeated.values() for fact in facts)
        return _without_empty({
            one.session_id: annotations_from(
                self._outdated_in(one.text, repeated[one.session_id], later, one.timestamp), later, self._today
            )
            for one in summaries
        })  # fmt: skip

    def resting_on(self, messages: Iterable[int]) -> Mapping[int, Sequence[Fact]]:
        """The facts that rest on messages, by the numbers of these; none is read twice."""
        if new := sorted({*messages} - self._resting.keys()):
            found = self._archive.facts.resting_on(new)
            self._resting |= {number: found.get(number, ()) for number in new}
        return self._resting

    def successors_of(self, facts: Iterable[Fact]) -> Mapping[str, Fact]:
        """The facts that replaced these or others of this recall, by id, followed to the latest; none is read twice."""
        return find_successors(self._archive.facts, facts, self._later)

    def _add_outdated(self, facts: Iterable[Fact]) -> Mapping[str, Fact]:
        """Note those that no longer hold; returns what took the place of all of them."""
        outdated = (one for one in facts if one.verified and (_is_past(one) or planned_for(one, self._today)))
        self._outdated = self._outdated | dict.fromkeys(outdated)
        return self.successors_of(self._outdated)

    def _outdated_in(
        self, text: str, stated: Sequence[Fact], later: Mapping[str, Fact], said: str, text_id: str = ""
    ) -> Iterator[Fact]:
        """The outdated facts in a text: those ``stated`` by it, and those that it repeats of other texts.

        A text that was ``said`` after the change, or says itself what is so now, is not outdated.
        """
        words = _term_set(text)
        for fact in self._outdated:
            by = later.get(fact.replaced_by)
            knows = by is not None and (by.said < said or _contains(words, by.value))
            if not (by and text_id in by.messages) and (fact in stated or (_tells(words, fact) and not knows)):
                yield fact

    def _messages_in_context(self, facts: Sequence[Fact | RecalledFact]) -> frozenset[str]:
        """The messages of these facts that are in the context."""
        seqs = self._archive.messages.numbers_of(
            list(dict.fromkeys(message for fact in facts for message in fact.messages))
        )
        if self._hidden is not None:
            return frozenset(message for message, seq in seqs.items() if seq in self._hidden)
        said = self._archive.messages.by_number(list(seqs.values()))
        return frozenset(message.text_id for message in said if message.session_id == self._session_id)


_ASKED_FOR = Why(query="", score=0.0)


# -- tokens


def cost_of(fact: RecalledFact) -> int:
    """Tokens of a fact's line."""
    shown = [fact.text] if fact.basis == "verified" else [one.words for one in fact.quotes]
    marked = fact.planned_for or fact.doubtful_since
    return _FACT + sum(_WORDS + estimate(encode_json(text)) for text in shown) + (_MARK if marked else 0)


def cost_of_facts(facts: Collection[RecalledFact], *, marked: bool) -> int:
    """Tokens of facts and, if there are facts or annotations, of their explanation."""
    return sum(map(cost_of, facts)) + (LEGEND if facts or marked else 0)


def cost_of_annotations(marks: Iterable[Annotation]) -> int:
    """Tokens of the annotations of a message or a summary."""
    return sum(_MARK + estimate(encode_json(mark.text + mark.value)) for mark in marks)


def _best_shares(searches: Iterable[tuple[str, Mapping[int, float]]]) -> dict[int, Why]:
    """By number, the largest share of a question that each fact contains; largest first."""
    found: dict[int, Why] = {}
    every = ((question, *one) for question, shares in searches for one in shares.items())
    for question, number, share in every:
        if number not in found or found[number].score < share:
            found[number] = Why(question, round(share, 4))
    return dict(sorted(found.items(), key=lambda one: (-one[1].score, -one[0])))


def _as_recalled(fact: Fact, why: Why, today: str) -> RecalledFact:
    said = max(fact.said, fact.seen)
    return RecalledFact(
        number=fact.number,
        text_id=fact.text_id,
        text=memory_text(fact.restatement),
        said=said,
        messages=fact.messages,
        why=why,
        since=fact.since if fact.since[:10] != said[:10] else "",
        doubtful_since=fact.doubtful_since,
        stance=fact.stance,
        planned_for=planned_for(fact, today),
        basis=fact.basis,
        quotes=fact.quotes,
    )


def _says_more(one: Fact, fact: Fact) -> bool:
    """Whether a verified fact of the same slot is to be shown in place of one that is only quoted."""
    return not fact.verified and one.slot == fact.slot and (one.single or _term_set(one.value) >= _term_set(fact.value))


# -- annotations


def repeated_facts(text: str, facts: Iterable[Fact]) -> list[Fact]:
    """The facts whose value is in a text."""
    words, found = _term_set(text), list[Fact]()
    for fact in facts:
        value = _term_set(fact.value)
        if value and len(words & value) >= len(value) * _REPEATS:
            found.append(fact)
    return found


def mentions_value(text: str, fact: Fact) -> bool:
    """Whether a text contains any word of a fact's value."""
    return not _term_set(text).isdisjoint(_term_set(fact.value))


def find_successors(store: Facts, facts: Iterable[Fact], read: dict[str, Fact | None]) -> dict[str, Fact]:
    """The facts that replaced others, by id, followed to the latest; with all that were ``read``, which is added to."""
    facts = list(facts)
    for _ in range(_REPLACED):
        wanted = {fact.replaced_by for fact in (*facts, *read.values()) if fact} - read.keys() - {""}
        if not wanted:
            break
        read |= dict.fromkeys(wanted) | {fact.text_id: fact for fact in store.with_ids(sorted(wanted))}
    return {name: fact for name, fact in read.items() if fact}


def annotations_from(facts: Iterable[Fact], later: Mapping[str, Fact], today: str) -> Iterator[Annotation]:
    """The annotations for the facts of one text; ``later``: those that replaced them."""
    for fact in facts:
        after = _current_successor(fact, later)
        value = fact.value or fact.restatement
        if fact.corrected and after and after.current and after.restatement == fact.restatement:
            continue  # a correction that was taken back
        if fact.corrected and after:
            yield Annotation("corrected", after.said, after.restatement, value)
        elif fact.corrected:
            yield Annotation("untrue", "", fact.restatement)
        elif fact.until and after and _is_unlike_plan(fact, after):
            continue
        elif fact.until and after:
            # The day belongs to what is so now: the first of several changes was on another one.
            direct = fact.replaced_by == after.text_id
            when = fact.until if direct else after.since
            yield Annotation("will_change" if when[:10] > today else "changed", when, after.restatement, value)
        elif fact.until and not _was_over(fact):
            yield Annotation("until", fact.until, fact.restatement)
        elif fact.doubtful_since and not fact.is_over(fact.doubtful_since):
            yield Annotation("doubtful_since", fact.doubtful_since, fact.restatement)
        elif planned := planned_for(fact, today):
            yield Annotation("was_planned_for", planned, fact.restatement)


def _is_unlike_plan(plan: Fact, after: Fact) -> bool:
    """Whether what took the place of a plan shares no word with it but a name, so that it does not tell how it went."""
    if plan.stance not in ("planned", "wished") or language_of(plan.restatement) != language_of(after.restatement):
        return False
    names = _term_set(f"{plan.subject} {after.subject} {plan.start} {after.start}")
    return not (_term_set(f"{plan.restatement} {plan.value}") & _term_set(f"{after.restatement} {after.value}")) - names


def _was_over(fact: Fact) -> bool:
    """Whether it was stated as already over: "Tom and I broke up in April" stays true."""
    ended = fact.end if fact.end <= fact.said[: len(fact.end)] else ""
    return not fact.replaced_by and fact.until in (ended, fact.said)


def planned_for(fact: Fact, today: str) -> str:
    """The day for which it was planned, if that was in the future when stated and is past today; else "".

    What is called off has nothing to tell of. An event that was announced as certain was planned no less.
    """
    last = fact.end or fact.start
    ahead = fact.stance in ("planned", "wished") or (fact.slot.attribute in EVENTS and fact.said[:10] < last)
    if not ahead or not last or fact.until:
        return ""
    over = fact.said[: len(last)] <= last < today[: len(last)] and not _CALLED_OFF.search(fact.restatement)
    return (fact.start or fact.end) if over else ""


def annotations_of_lines(lines: Sequence[LineEvidence], store: Facts, today: str) -> dict[str, tuple[Annotation, ...]]:
    """The annotations of persona lines, by line; lines whose facts are all current are left out."""
    resting = store.of_messages(sorted({message for line in lines for message in line.messages}))
    past = {
        fact: _term_set(fact.value)
        for each in resting.values()
        for fact in each
        if fact.verified and (_is_past(fact) or planned_for(fact, today))
    }
    past_of = {line: _past_facts_in(line, resting, past) for line in lines}
    later = find_successors(store, {fact for facts in past_of.values() for fact in facts}, {})
    found: dict[str, tuple[Annotation, ...]] = {}
    for line, facts in past_of.items():
        beside = [each for message in line.messages for each in resting.get(message, ())]
        known = (_is_followed(fact, beside, today) or _is_known_to(line, fact, later, store, today) for fact in facts)
        unknown = [fact for fact, is_known in zip(facts, known, strict=True) if not is_known]
        if marks := tuple(dict.fromkeys([*annotations_from(unknown, later, today), *_past_day_of(line.line, today)])):
            found[line.line] = marks
    return found


def _past_day_of(line: str, today: str) -> Iterator[Annotation]:
    """The latest day for which a quoting line plans something, if it is past: "exam next thursday", 21号之前要交."""
    found = _QUOTES.search(line)
    if not found or _NO_PLAN.search(found["words"]) or _CALLED_OFF.search(found["words"]):
        return
    from language.times import range_of, read_times

    if (said := range_of(found["said"] or found["zh"])) is None:
        return
    days = [_planned_day(one, found["words"], said.first) for one in read_times(found["words"], said.first)]
    day, over = max(filter(None, days), default=("", ""))
    if day and over < today:
        yield Annotation("was_planned_for", day, found["words"])


def _planned_day(one: TimeExpression, words: str, said: date) -> tuple[str, str] | None:
    """The first day of what a clause plans, and the last on which it may be; None in doubt."""
    if one.kind in ("vague", "recurrence", "clock", "ago") or one.recurrence:
        return None
    before, after = _CLAUSE_ENDS.split(words[: one.start])[-1], _CLAUSE_ENDS.split(words[one.end :])[0]
    clause = f"{before}{words[one.start : one.end]}{after}".rstrip("了吧啊呢 ")
    bare = words[one.start : one.end] == "周末"  # of any week
    certain = one.meant is not None and not one.meant.yearly and one.meant.first > said and not bare
    if not (certain and _NEXT.match(words, one.start)) and _HAPPENED.search(clause):
        return None
    ahead = certain or _AHEAD.search(clause) is not None or _UP_TO.search(before) is not None
    if not ahead and _APPOINTED.search(clause) and one.possible:  # the nearest day is meant
        ahead = min(one.possible, key=lambda each: abs(each.first - said)).first > said
    first = min((each for each in one.possible if each.first > said), default=None, key=lambda each: each.first)
    if not ahead or first is None:
        return None
    over = max(each.last for each in one.possible) if one.kind == "weekday" else first.last
    return first.first.isoformat(), over.isoformat()


def _without_empty(found: Mapping[str, Iterable[Annotation]]) -> dict[str, tuple[Annotation, ...]]:
    return {name: marks for name, each in found.items() if (marks := tuple(dict.fromkeys(each)))}


def _shows_quote(message: Message, fact: Fact) -> bool:
    """Whether the words that a fact rests on are in its message as that is shown, which may be cut."""
    quoted = [_term_set(one.words) for one in fact.quotes if one.message == message.text_id]
    shown = _term_set(message.words) if quoted else frozenset[str]()
    return all(len(words & shown) >= len(words) * _REPEATS for words in quoted)


def _tells(words: frozenset[str], fact: Fact) -> bool:
    """Whether a text says of a value what a fact says of it; one of several words says enough alone."""
    value, subject = _term_set(fact.value), _term_set(fact.subject)
    beside = _term_set(f"{fact.restatement} {fact.attribute}") - value - subject
    enough = len(value) >= (_ENOUGH if fact.value.isascii() else _ENOUGH_HAN) or not beside
    return _contains(words, fact.value) and (enough or not words.isdisjoint(beside))


def _contains(words: frozenset[str], value: str) -> bool:
    wanted = _term_set(value)
    return bool(wanted) and wanted <= words


def _is_past(fact: Fact) -> bool:
    return bool(fact.until or fact.corrected or fact.doubtful_since)


def _past_facts_in(
    line: LineEvidence, resting: Mapping[str, Sequence[Fact]], past: Mapping[Fact, frozenset[str]]
) -> list[Fact]:
    """The facts in a line that are no longer certain; ``past``: all such facts with their words.

    A line in another language shares only names: it contains them if no other facts are based on its messages.
    """
    there = list(dict.fromkeys(fact for message in line.messages for fact in resting.get(message, ())))
    own = [fact for fact in there if fact in past]
    if not own:
        return []
    said, spoken = [_term_set(piece) for piece in split_sentences(line.line)], language_of(line.line)
    return [
        fact
        for fact in own
        if any(len(past[fact] & words) > len(past[fact]) * _REPEATS for words in said)
        or (fact.corrected and not _birth_years(fact.restatement).isdisjoint(_birth_years(line.line)))
        or (len(own) == len(there) and language_of(fact.restatement) != spoken)
    ]


def _birth_years(text: str) -> frozenset[str]:
    """The years of birth in a text, which a persona line states instead of an age."""
    return frozenset(year for found in _BORN.findall(text) for year in found if year)


def _is_followed(plan: Fact, beside: Iterable[Fact], today: str) -> bool:
    """Whether one of these facts was said after the day of a plan and is about the same: it tells how it went."""
    day = planned_for(plan, today)
    own = _term_set(plan.subject) if plan.about == "person" else frozenset[str]()
    about = _term_set(f"{plan.restatement} {plan.value}") - own if day else own
    return bool(day) and any(one.said[:10] > (plan.end or day) and about & _term_set(one.restatement) for one in beside)


def _is_known_to(line: LineEvidence, fact: Fact, later: Mapping[str, Fact], store: Facts, today: str) -> bool:
    """Whether a line already accounts for what became of a fact: it says so, states the end, or rests on the cause."""
    if planned_for(fact, today):
        return bool(_CALLED_OFF.search(line.line))
    if fact.until and not (fact.replaced_by or fact.corrected):
        return fact.until == fact.end
    if fact.replaced_by in later:
        causes = [later[fact.replaced_by]]
    else:
        events = store.events_of(fact.text_id) if fact.doubtful_since else []
        causes = store.with_ids([event.by for event in events if event.kind == "doubted"])
    for cause in causes:
        # A manual correction has the same messages as the fact it corrects.
        by_hand = cause.decided == "hand"
        if repeated_facts(line.line, [cause]) if by_hand else not set(cause.messages).isdisjoint(line.messages):
            return True
    return False


def _current_successor(fact: Fact, later: Mapping[str, Fact]) -> Fact | None:
    """The current successor of a fact, if any."""
    found: Fact | None = None
    seen: set[str] = set()
    while fact.replaced_by in later and fact.replaced_by not in seen:
        seen.add(fact.replaced_by)
        found = fact = later[fact.replaced_by]
    return found if found and not found.corrected else None


def _term_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))
