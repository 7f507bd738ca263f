"""What is known, as it is read: notes, facts and relations, each with the messages it rests on.

A fact is read under the right name where a name in it was corrected later, for as long as that correction exists; a
correction that says more than that a name was misspelt or misheard renames nothing. The fact that was stated under the
wrong name stays what it is, unless the correction says the same of the right one. A fact without a window only finds
its messages and is never shown. What a model only concluded is read by ``inferred`` alone, or by its number or id.
``storage.fact_log`` writes all of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, TypeVar

from domain.facts import About, Fact, FactEvent, Note, Quote, Relation, SessionChanges, Slot
from domain.patterns import Guarded, pattern_of
from domain.recollection import FactFilter
from language.naming import places_of_name
from language.scripts import UNSPACED, is_unspaced
from language.words import is_name, latin_names
from storage.engine import EACH, Database, Row
from storage.messages import UNREAD, Messages

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: What facts are grouped by.
_Key = TypeVar("_Key", bound=str | int)
#: The attributes whose value is what somebody, or an animal, is called.
_CALLED = frozenset(
    """
    name,nickname,partner,child,pet,sibling,parent,friend,colleague,neighbour,boss,doctor,living with
    """.strip().split(",")
)
#: What shows that a name was only misspelt or misheard.
_MISNAMED = pattern_of(
    r"\b(?:called|names?|named|spel(?:t|led|ling)|autocorrect\w*|misheard|typo)\b|[叫名字]|打错|写错|听错",
    re.IGNORECASE,
)
#: That something was written, said or heard otherwise than it was meant.
_MISTAKEN = Guarded(
    "autocorrect|typo|mis|wrong|错|输入法",
    r"\b(?:autocorrect\w*|typos?|mis(?:spel|heard|hear|typ)\w*|wrong(?:ly)?|mistakes?|mistaken(?:ly)?)\b"
    r"|(?<![没不])(?<!不是)[打写拼听说念叫记]错|错别字|纠错|输入法",
    any_case=True,
)
#: What comes before a name that is not the right one.
_NOT = pattern_of(
    r"(?:\bnot|n['’]t|\binstead of|\brather than|\bas|\bheard|\bto) (?:called |named )?['\"‘“]?"
    r"|(?<!是)(?:不是|不|并非|而非|[写打听说改]错?成了?)(?:名?叫)?[“「]?",
    re.IGNORECASE,
)
_DENIES = pattern_of(r"not|n['’]t|[不并而]", re.IGNORECASE)
_BEHIND_NAME = pattern_of(r"\s*[,，;；(（].*")
#: Two spellings that are so much alike are of one name.
_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class CorrectedValue:
    """A value that was never true, and the one that a later ``statement`` gives instead; ``by`` is its number."""

    slot: Slot
    wrong: str
    right: str
    statement: str
    said: str
    by: int


@dataclass(frozen=True, slots=True)
class Renaming:
    """A name that was wrong in all that was said until then, and the right one; ``longer`` ones are of other people."""

    wrong: str
    right: str
    said: str
    by: int
    longer: tuple[str, ...] = ()


def renaming_of(corrected: CorrectedValue) -> Renaming | None:
    """What a correction does to a name wherever else it stands; None where it says more than that a name was wrong.

    "My boss is Tom, not Gareth" is about two people, "she is called Annika, not Annette" about one.
    """
    wrong, right = (_BEHIND_NAME.sub("", value).strip() for value in (corrected.wrong, corrected.right))
    if not is_name(right):
        return None
    calls_names = _MISNAMED.search(corrected.statement) is not None
    alike = _are_alike(wrong.casefold(), right.casefold())
    if calls_names and not (is_name(wrong) and (alike or _is_named(wrong, corrected.statement))):
        # The fact that the name was wrong in is about something else: the statement gives both names.
        wrong = next(_names_like(right, corrected.statement), wrong)
        alike = _are_alike(wrong.casefold(), right.casefold())
    if not is_name(wrong) or wrong == right:
        return None
    misnamed = calls_names and (alike or _is_named(wrong, corrected.statement))
    if misnamed or (alike and corrected.slot.attribute in _CALLED):
        return Renaming(wrong, right, corrected.said, corrected.by)
    return None


@dataclass(frozen=True, slots=True)
class Misnamed:
    """A wrong name and the right one, as somebody's words give them; ``denied``: in these the wrong one is denied."""

    wrong: str
    right: str
    denied: bool


def find_misnamed(sentences: Iterable[str], given: Iterable[str], known: Iterable[str]) -> Misnamed | None:
    """The name that words themselves call misspelt or misheard, one of those ``known``, with the right one.

    That is among the ``given`` ones and is no name of anybody known, or there may be two people.
    """
    said = [*sentences]
    every = " ".join(said)
    if not _MISTAKEN.search(every):
        return None
    known = {part for name in known for part in (name, *name.split()) if part in every and is_name(part)}
    found = {name for name in given if is_name(name)} - known
    pairs = [
        (wrong, right, words)
        for right in found
        for wrong in known
        if _are_alike(wrong.casefold(), right.casefold())
        and (words := " ".join(one for one in said if _is_named(wrong, one) or _is_named(right, one)))
        and _is_named(wrong, words)
        and _is_named(right, words)
    ]
    if len(pairs) != 1:
        return None
    ((wrong, right, words),) = pairs
    calls_wrong = [*_NOT.finditer(words)]
    if not _MISTAKEN.search(words) or any(_word_pattern(right).match(words, one.end()) for one in calls_wrong):
        return None
    before = [one[0] for one in calls_wrong if _word_pattern(wrong).match(words, one.end())]
    if not before and (not _MISNAMED.search(words) or _are_joined(wrong, right, words)):
        return None  # "I was wrong about Annette, Annika came": somebody is wrong, and no name
    return Misnamed(wrong, right, any(map(_DENIES.match, before)))


def _are_joined(one: str, other: str, text: str) -> bool:
    """Whether a text speaks of both together, so that they are two people."""
    pairs = (rf"{re.escape(a)}\s*(?:\band\b|&|[和跟与、])\s*{re.escape(b)}" for a, b in ((one, other), (other, one)))
    return any(re.search(pair, text, re.IGNORECASE) for pair in pairs)


def with_right_names(fact: Fact, names: Sequence[Renaming]) -> Fact:
    """A fact under the names that turned out to be right after it was said."""
    if fact.corrected:
        return fact
    later = [one for one in names if one.by != fact.number and fact.said <= one.said]
    named = (fact.subject, *fact.persons, *([fact.value] if fact.slot.attribute in _CALLED else []))
    text = under_right_names(fact.restatement, later, meant=named)
    slot = Slot(_rename_subject(fact.slot.subject, later), fact.slot.attribute)
    if text == fact.restatement and slot == fact.slot:
        return fact
    return replace(
        fact,
        restatement=text,
        subject=under_right_names(fact.subject, later, meant=named),
        value=under_right_names(fact.value, later, meant=named if fact.slot.attribute in _CALLED else ()),
        slot=slot,
        keywords=tuple(under_right_names(one, later) for one in fact.keywords),
        persons=tuple(under_right_names(one, later, meant=named) for one in fact.persons),
        entities=tuple(under_right_names(one, later) for one in fact.entities),
        first_statement=fact.restatement,
    )


def under_right_names(
    text: str, names: Iterable[Renaming], *, meant: Collection[str] = (), apart: Iterable[tuple[int, int]] = ()
) -> str:
    """A text with the right names in the place of wrong ones; one that holds the right one already stays.

    ``meant`` are names that it certainly speaks of; what is ``apart``, from one place to another, stays as it is.
    """
    for one in names:
        if one.wrong not in text or _is_named(one.right, text):
            continue
        places = places_of_name(one.wrong, text, meant=one.wrong in meant)
        for at in reversed(places):
            is_other = any(text.startswith(longer, at) for longer in one.longer)
            if not is_other and not any(start <= at < end for start, end in apart):
                text = text[:at] + one.right + text[at + len(one.wrong) :]
    return text


def slots_under_all_names(slots: Iterable[Slot], names: Sequence[Renaming]) -> list[Slot]:
    """These slots, with those that are stored under a name that was wrong."""
    found = dict.fromkeys(slots)
    for one in names:
        wrong, right = one.wrong.casefold(), one.right.casefold()
        found |= dict.fromkeys(Slot(wrong, slot.attribute) for slot in [*found] if slot.subject == right)
    return [*found]


def _rename_subject(subject: str, names: Iterable[Renaming]) -> str:
    plain = (replace(one, wrong=one.wrong.casefold(), right=one.right.casefold()) for one in names)
    return under_right_names(subject, plain)


def _are_alike(one: str, other: str) -> bool:
    if any(map(is_unspaced, one + other)):
        return len(one) == len(other) and any(a == b for a, b in zip(one, other, strict=True))
    return one[:3] == other[:3] or SequenceMatcher(None, one, other).ratio() >= _ALIKE


def _names_like(name: str, text: str) -> Iterator[str]:
    """The names that a text calls wrong and that are nearly this one, of as many characters in Chinese."""
    size = len(name)
    for found in _NOT.finditer(text):
        behind = text[found.end() :]
        if any(map(is_unspaced, name)):
            named = behind[:size] if behind[:1] == name[:1] else ""
        else:
            named = next((one for one in latin_names(text) if behind.startswith(one)), "")
            named = named if _are_alike(named.casefold(), name.casefold()) else ""
        if named not in name and is_name(named):
            yield named


def _is_named(name: str, text: str) -> bool:
    return name in text and _word_pattern(name).search(text) is not None


def _word_pattern(name: str) -> re.Pattern[str]:
    """A name as a word of its own; where words do not stand apart, wherever it stands."""
    if any(map(is_unspaced, name)):
        return re.compile(re.escape(name))
    letter = rf"[^\W{UNSPACED}]"
    return re.compile(rf"(?<!{letter}){re.escape(name)}(?!{letter})")


@dataclass(frozen=True, slots=True)
class FactCounts:
    """The number of notes, current and past facts, and unread messages; how many of the current are ``quoted`` only.

    Inferred ones are not counted.
    """

    notes: int
    current: int
    past: int
    unread: int
    quoted: int = 0

    @property
    def facts(self) -> int:
        """All facts."""
        return self.current + self.past


#: Between the words of a list in one column.
BETWEEN = "\n"

_NOTE_COLUMNS = "n.seq, n.text_id, n.session_id, n.timestamp, n.text, n.topic, n.importance, n.memory_type, n.private"
_NOTE = f"SELECT {_NOTE_COLUMNS} FROM note n"
#: Importance and topic of a fact are those of its note, as long as that is there.
_FACT_COLUMNS = (
    "f.seq, f.text_id, coalesce(n.text_id, ''), f.session_id, f.text, f.subject, f.attribute, f.value,"
    " f.slot_subject, f.slot_attribute, f.single, f.about, f.stance, f.said, f.seen,"
    " f.keywords, f.persons, f.entities, f.location, f.start_day, f.end_day, f.since, f.until,"
    " f.replaced_by, f.corrected, f.doubtful_since, f.kept, f.decided, coalesce(n.importance, 5),"
    " coalesce(n.topic, ''), f.learned_as, f.verified"
)
_COLUMNS = 32
_FACT = f"SELECT {_FACT_COLUMNS} FROM fact f LEFT JOIN note n ON n.seq = f.note WHERE f.window_id <> ''"
_INFERRED = "f.verified = 0 AND f.learned_as = 'inferred'"
_KNOWN = f"{_FACT} AND NOT ({_INFERRED})"
#: The text of a message begins with whose it is and ": ".
_QUOTES = (
    "SELECT t.fact, c.text_id, t.quote_start, t.quote_end,"
    " substr(c.text, CAST(length(c.role) + 3 + t.quote_start AS INT),"
    " CAST(t.quote_end - t.quote_start AS INT)), c.role, c.speaker"
    " FROM fact_message t JOIN conversation c ON c.seq = t.message WHERE t.fact IN ({}) ORDER BY c.position"
)
#: Values that never were, and names that were wrong in what is so, with what is right instead.
_CORRECTED = (
    "SELECT o.slot_subject, o.slot_attribute, o.value, n.value, n.text, e.moment, n.seq FROM fact_event e"
    " JOIN fact o ON o.seq = e.fact JOIN fact n ON n.seq = e.by_fact"
    " WHERE (e.what IN ('corrected', 'put_right') AND o.corrected = 1 AND n.text_id = o.replaced_by) OR"
    " (e.what = 'renamed' AND NOT (n.corrected = 1 AND n.decided = 'hand' AND n.replaced_by = '')) ORDER BY e.seq"
)
_BETWEEN_WORDS = pattern_of(r"[\s,;/()、，；（）]+|'s\b")
#: Slots that are asked for in one statement.
_SLOTS_AT_ONCE = 200
_CURRENT = "f.until = '' AND f.corrected = 0"
_WHICH = {None: "", True: f" AND {_CURRENT}", False: f" AND NOT ({_CURRENT})"}
_RELATION = "SELECT fact, source, relation, target FROM relation"


@dataclass(frozen=True)
class Facts:
    """Reads the tables ``fact`` and ``fact_event``.

    >>> [fact.restatement for fact in facts.all(current=True)]
    ['Ann lives in Oslo.']
    """

    database: Database
    messages: Messages

    def all(self, *, current: bool | None = None, about: About | None = None) -> list[Fact]:
        """Every fact in the order in which they were learned: only what holds now, only what does not; about whom."""
        if about is None:
            return self._read_facts(f"{_KNOWN}{_WHICH[current]} ORDER BY f.seq")
        return self._read_facts(f"{_KNOWN}{_WHICH[current]} AND f.about = ? ORDER BY f.seq", about)

    def inferred(self, *, current: bool | None = True) -> list[Fact]:
        """What a model concluded, in the order in which it was learned: only what was not rejected, or all."""
        return self._read_facts(f"{_FACT} AND {_INFERRED}{_WHICH[current]} ORDER BY f.seq")

    def find(self, number: int) -> Fact | None:
        """One fact by its number."""
        return next(iter(self._read_facts(f"{_FACT} AND f.seq = ?", number)), None)

    def with_ids(self, text_ids: Sequence[str]) -> list[Fact]:
        """The facts with these ids that are still there, in the order in which they were learned."""
        return self._read_facts(f"{_FACT} AND f.text_id IN {EACH} ORDER BY f.seq", list(text_ids)) if text_ids else []

    def with_numbers(self, numbers: Sequence[int]) -> list[Fact]:
        """The facts with these numbers, in the order in which they were learned."""
        return self._read_facts(f"{_FACT} AND f.seq IN {EACH} ORDER BY f.seq", list(numbers)) if len(numbers) else []

    def quoted_in(self, window: str) -> list[Fact]:
        """The facts of an extraction window that are only quoted and not corrected, in the order of learning."""
        return self._read_facts(f"{_KNOWN} AND f.window_id = ? AND f.verified = 0{_WHICH[True]} ORDER BY f.seq", window)

    def of_messages(self, text_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on each of these messages; a message on which none rests is left out."""
        return self._group_by("text_id", text_ids)

    def resting_on(self, seqs: Sequence[int]) -> dict[int, list[Fact]]:
        """The same by the numbers of messages."""
        return self._group_by("seq", seqs)

    def of_sessions(self, session_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on a message of each of these sessions; a session without any is left out."""
        return self._group_by("session_id", session_ids)

    def in_slots(self, slots: Iterable[Slot]) -> list[Fact]:
        """Every fact in these slots, also what is past, in the order in which they were learned."""
        names = self.corrected_names()
        wanted = slots_under_all_names(slots, names) if names else [*dict.fromkeys(slots)]
        found: list[Fact] = []
        for some in (wanted[at : at + _SLOTS_AT_ONCE] for at in range(0, len(wanted), _SLOTS_AT_ONCE)):
            # Each says again what the index is limited to, so that it is used.
            asked = " OR ".join(["(f.window_id <> '' AND f.slot_subject = ? AND f.slot_attribute = ?)"] * len(some))
            query = f"{_KNOWN} AND ({asked})"
            found += self._read_facts(query, *(part for slot in some for part in (slot.subject, slot.attribute)))
        return sorted(found, key=lambda fact: fact.number)

    def ended_plans(self) -> list[Fact]:
        """The plans and wishes of the person and of others that a fact ended, in the order of learning."""
        ended = (
            "EXISTS (SELECT 1 FROM fact_event e JOIN fact n ON n.seq = e.by_fact"
            " WHERE e.fact = f.seq AND e.what = 'ended' AND n.text_id = f.replaced_by)"
        )
        planned = "f.stance IN ('planned', 'wished') AND f.about <> 'companion' AND f.until <> '' AND f.corrected = 0"
        return self._read_facts(f"{_KNOWN} AND {planned} AND {ended} ORDER BY f.seq")

    def matching(self, wanted: FactFilter, most: int) -> list[Fact]:
        """The facts that pass a filter, also what is past, at most so many, the latest first."""
        corrected = self.corrected_names()
        conditions, values = [f"{_KNOWN} AND f.corrected = 0"], list[object]()
        for kind, name in wanted.named:
            plain = _plain_name(name)
            names = [plain, *(_plain_name(one.wrong) for one in corrected if _plain_name(one.right) == plain)]
            conditions.append(f"f.seq IN (SELECT p.fact FROM fact_part p WHERE p.kind = ? AND p.name IN {EACH})")
            values += [kind, names]
        if wanted.since:
            conditions.append("f.since >= ?")
            values.append(wanted.since)
        if wanted.until:
            # Also what begins later on the last day, or in the last month.
            conditions.append("f.since <= ?")
            values.append(f"{wanted.until}~")
        query = f"{' AND '.join(conditions)} ORDER BY f.since DESC, f.seq DESC LIMIT ?"
        return self._read_facts(query, *values, most)

    def messages_of(self, facts: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of (fact, message), by number: which messages these facts rest on."""
        query = f"SELECT fact, message FROM fact_message WHERE fact IN {EACH}"
        return [(row[0], row[1]) for row in self.database.run(query, list(facts))] if len(facts) else []

    def messages_after(self, fact: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The same of all facts after a number, in their order: two columns of equal length."""
        import numpy as np

        query = (
            "SELECT group_concat(CAST(read_once.fact AS TEXT), ','), group_concat(CAST(read_once.message AS TEXT), ',')"
            " FROM (SELECT fact, message FROM fact_message WHERE fact > ? ORDER BY fact, message) AS read_once"
        )
        facts, messages = (np.fromstring(one or "", np.int64, sep=",") for one in self.database.run(query, fact)[0])
        return facts, messages

    def count_all(self) -> FactCounts:
        """How many notes and facts there are, and how many messages were not read yet."""
        facts = f"(SELECT count(*) FROM fact f WHERE f.window_id <> ''{{}} AND NOT ({_INFERRED}))"
        unread = f"(SELECT count(*) FROM conversation c WHERE {UNREAD})"
        current, past = facts.format(_WHICH[True]), facts.format(_WHICH[False])
        quoted = facts.format(f"{_WHICH[True]} AND f.verified = 0")
        query = f"SELECT (SELECT count(*) FROM note), {current}, {past}, {unread}, {quoted}"
        return FactCounts(*(int(count) for count in self.database.run(query)[0]))

    def events_of(self, fact: str) -> list[FactEvent]:
        """What happened to a fact, in the order in which it became known; empty when there is no such fact."""
        rows = self.database.run("SELECT said, timestamp, until, replaced_by FROM fact WHERE text_id = ?", fact)
        if not rows:
            return []
        query = (
            "SELECT e.what, e.moment, e.stored_at, coalesce(b.text_id, '') AS by_id FROM fact_event e"
            " JOIN fact f ON f.seq = e.fact LEFT JOIN fact b ON b.seq = e.by_fact AND b.seq <> e.fact"
            " WHERE f.text_id = ?"
            " ORDER BY e.seq"
        )
        said, stored_at, until, replaced_by = rows[0]
        happened = [FactEvent(fact, *row) for row in self.database.run(query, fact)]
        if until and replaced_by and not any(one.by == replaced_by for one in happened):
            # A value of its slot that was said later took its place, which follows without an event of its own.
            later = self.database.run("SELECT timestamp FROM fact WHERE text_id = ?", replaced_by)
            happened += [FactEvent(fact, "changed", until, row["timestamp"], replaced_by) for row in later]
        return [FactEvent(fact, "learned", said, stored_at), *happened]

    def session_changes(self, session_id: str) -> SessionChanges:
        """What a session resulted in: what is new, and what of that which was known before changed or ended."""
        resting = self.of_messages([message.text_id for message in self.messages.of_session(session_id)])
        learned = {fact.text_id: fact for facts in resting.values() for fact in facts}
        past = self.all(current=False) if learned else []
        replaced = [one for one in past if one.replaced_by in learned and one.text_id not in learned]
        # Nothing took the place of what ended.
        ended = [
            fact
            for fact in replaced
            if any(one.kind == "ended" and one.by == fact.replaced_by for one in self.events_of(fact.text_id))
        ]
        instead = {fact.replaced_by for fact in replaced}
        new = [name for name, fact in learned.items() if fact.current and name not in instead]
        return SessionChanges(len(new), len(replaced) - len(ended), len(ended))

    def corrected_names(self) -> list[Renaming]:
        """The names that were corrected, in the order in which they were, but for those of several people."""
        found = [CorrectedValue(Slot(row[0], row[1]), *row[2:]) for row in self.database.run(_CORRECTED)]
        names = (name for one in found if (name := self._find_renaming(one)))
        return [replace(one, longer=self._longer_names(one.wrong)) for one in names]

    def only_renamed(self, corrections: Iterable[tuple[int, int]]) -> set[int]:
        """Of pairs of (known fact, correction), by number, the known ones in which only a name was wrong.

        A correction of the same slot says the same of the right one, and takes its place.
        """
        query = (
            "SELECT o.slot_subject, o.slot_attribute, o.value, n.value, n.text, n.said, n.seq, o.seq, o.text,"
            " n.slot_subject, n.slot_attribute FROM fact o CROSS JOIN fact n WHERE o.seq = ? AND n.seq = ?"
        )
        rows = [row for pair in corrections for row in self.database.run(query, *pair)]
        found = [self._find_renaming(CorrectedValue(Slot(row[0], row[1]), *tuple(row)[2:7])) for row in rows]
        wrong = {(name.by, name.wrong) for name in found if name}
        return {
            int(row[7])
            for row in rows
            if (row[0], row[1]) != (row[9], row[10])
            and any(by == row[6] and _is_named(name, row[8]) for by, name in wrong)
        }

    def _find_renaming(self, corrected: CorrectedValue) -> Renaming | None:
        """What a correction does to a name, unless several are called by it."""
        name = renaming_of(corrected)
        return name if name and not self._is_shared(corrected, name.wrong) else None

    def _longer_names(self, name: str) -> tuple[str, ...]:
        """Of a name that words on both sides may touch: those of known people that begin with it."""
        if not is_unspaced(name[-1]):
            return ()
        query = "SELECT DISTINCT name FROM fact_part WHERE kind = 'person' AND name LIKE ? ORDER BY name"
        return tuple(row[0] for row in self.database.run(query, f"{name}_"))

    def _group_by(
        self, column: Literal["text_id", "seq", "session_id"], values: Sequence[_Key]
    ) -> dict[_Key, list[Fact]]:
        if not values:
            return {}
        resting = "JOIN fact_message r ON r.fact = f.seq JOIN conversation c ON c.seq = r.message WHERE"
        query = _FACT.replace(" FROM", f", c.{column} FROM", 1).replace("WHERE", resting, 1)
        found: dict[_Key, dict[int, Fact]] = defaultdict(dict)
        for fact, row in self._read_rows(f"{query} AND c.{column} IN {EACH} ORDER BY f.seq", list(values)):
            if fact.basis != "inferred":
                found[row[-1]][fact.number] = fact
        return {value: [*facts.values()] for value, facts in found.items()}

    def _read_facts(self, query: str, *values: object) -> list[Fact]:
        return [fact for fact, _ in self._read_rows(query, *values)]

    def _read_rows(self, query: str, *values: object) -> list[tuple[Fact, Row]]:
        """The fact of each row, which may have more columns."""
        run, quoted = self.database.run, _QUOTES.format(f"SELECT f.seq{query[query.index(' FROM') :]}")
        rows = run(query, *values)
        # The messages that they rest on, in order, each with the words of it that were quoted.
        quotes: dict[int, list[Quote]] = defaultdict(list)
        for number, *quote in run(quoted, *values) if rows else ():
            quotes[number].append(Quote(*quote))
        facts = [_fact_of_row(row, quotes[row[0]]) for row in rows]
        if names := self.corrected_names() if rows else ():
            facts = [with_right_names(fact, names) for fact in facts]
        return [*zip(facts, rows, strict=True)]

    def _is_shared(self, corrected: CorrectedValue, wrong: str) -> bool:
        """Whether somebody else is called by the name that was wrong."""
        query = (
            "SELECT slot_subject, slot_attribute, value FROM fact WHERE slot_subject = ? AND window_id <> ''"
            " AND corrected = 0 AND stance = 'stated' AND said <= ?"
        )
        rows = self.database.run(query, corrected.slot.subject, corrected.said)
        named = {Slot(row[0], row[1]) for row in rows if row[2] == wrong} - {corrected.slot}
        others = [slot for slot in named if slot.attribute in _CALLED - {"name", "nickname"}]
        return len(others) > (corrected.wrong != wrong)


@dataclass(frozen=True)
class Relations:
    """Reads the relations that facts state, under the names that turned out to be right."""

    facts: Facts

    def all(self, *, current: bool = True) -> list[Relation]:
        """The relations that facts state: of verified facts that hold now, or of all facts."""
        known = self.facts.all(current=True if current else None)
        facts = {fact.number: fact for fact in known if fact.verified or not current}
        return self._read_relations(self.facts.database.run(f"{_RELATION} ORDER BY seq"), facts)

    def of_facts(self, facts: Sequence[str]) -> list[Relation]:
        """The relations that these facts state, whether they hold now or not."""
        numbered = {fact.number: fact for fact in self.facts.with_ids(facts)}
        query = f"{_RELATION} WHERE fact IN {EACH} ORDER BY seq"
        return self._read_relations(self.facts.database.run(query, list(numbered)), numbered) if numbered else []

    def about(self, facts: Sequence[str], text: str) -> list[Relation]:
        """The relations that hold now: of these facts, and those of which a text names one end; all verified."""
        query = (
            "SELECT DISTINCT f.text_id, r.source, r.target FROM relation r JOIN fact f ON f.seq = r.fact"
            f" WHERE {_CURRENT}"
        )
        lower = text.lower()
        named = dict.fromkeys(
            row[0]
            for row in self.facts.database.run(query)
            if any(len(end) > 1 and end.lower() in lower for end in (row[1], row[2]))
        )
        found = [*self.of_facts(facts), *self.of_facts(list(named))]
        return list(dict.fromkeys(one for one in found if one.fact.current and one.fact.verified))

    def _read_relations(self, rows: Iterable[Row], facts: Mapping[int, Fact]) -> list[Relation]:
        """The relations of these facts, under the names that turned out to be right."""
        names = self.facts.corrected_names()
        found = []
        for row in rows:
            if fact := facts.get(row["fact"]):
                right = names if fact.first_statement else ()
                source, target = (under_right_names(row[end], right) for end in ("source", "target"))
                found.append(Relation(source, row["relation"], target, fact))
        return found


@dataclass(frozen=True)
class Notes:
    """Reads the table ``note``."""

    database: Database

    def of_session(self, session_id: str) -> list[Note]:
        """The notes of a session, in the order in which they were learned."""
        return self._read_notes(f"{_NOTE} WHERE n.session_id = ? ORDER BY n.seq", session_id)

    def all(self) -> list[Note]:
        """The notes of all sessions, in the order in which they were learned."""
        return self._read_notes(f"{_NOTE} ORDER BY n.seq")

    def times(self, numbers: Sequence[int]) -> dict[int, str]:
        """When what each of these notes says was said, by number."""
        query = f"SELECT seq, timestamp FROM note WHERE seq IN {EACH}"
        return {row[0]: row[1] for row in self.database.run(query, list(numbers))} if numbers else {}

    def of_messages(self, text_ids: Sequence[str]) -> list[Note]:
        """The notes that rest on any of these messages."""
        resting = (
            f"SELECT r.note FROM note_message r JOIN conversation c ON c.seq = r.message WHERE c.text_id IN {EACH}"
        )
        query = f"{_NOTE} WHERE n.seq IN ({resting}) ORDER BY n.seq"
        return self._read_notes(query, list(text_ids)) if text_ids else []

    def _read_notes(self, query: str, *values: object) -> list[Note]:
        rows = self.database.run(query, *values)
        messages = messages_under(self.database, "note", [row[0] for row in rows])
        return [Note(*row[1:8], private=bool(row[8]), messages=tuple(messages[row[0]])) for row in rows]  # type: ignore[misc]


def part_names(name: str) -> tuple[str, ...]:
    """Under what a part of a fact is found: its whole name and each word of it.

    >>> part_names("Oslo, Norway")
    ('oslo, norway', 'oslo', 'norway')
    """
    plain = _plain_name(name)
    return tuple(dict.fromkeys(filter(None, (plain, *_BETWEEN_WORDS.split(plain)))))


def _plain_name(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def messages_under(
    database: Database, what: Literal["fact", "note"], numbers: Sequence[int]
) -> Mapping[int, list[str]]:
    """The ids of the messages that facts or notes rest on, in order, by number."""
    query = (
        f"SELECT t.{what}, c.text_id FROM {what}_message t JOIN conversation c ON c.seq = t.message"
        f" WHERE t.{what} IN {EACH} ORDER BY c.position"
    )
    found: dict[int, list[str]] = defaultdict(list)
    for row in database.run(query, list(numbers)) if numbers else ():
        found[row[0]].append(row[1])
    return found


def _fact_of_row(row: Row, quotes: Sequence[Quote]) -> Fact:
    """A fact out of a row of ``_FACT``: its columns are the fields of a fact, but for the slot and the messages."""
    *values, learned_as, verified = row[:_COLUMNS]
    values[8:10] = [Slot(row[8], row[9])]
    values.insert(14, tuple(one.message for one in quotes))
    for at in (9, 24, 26):
        values[at] = bool(values[at])
    for at in (15, 16, 17):
        values[at] = tuple(values[at].split(BETWEEN)) if values[at] else ()
    quoted = tuple(one for one in quotes if one.end)
    return replace(Fact(*values), quotes=quoted, learned_as=learned_as, verified=bool(verified))
