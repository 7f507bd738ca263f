"""What is known: notes, facts, relations, and what happened to each fact; each with the messages it rests on.

    unread -> (an extraction reads the window) -> learn -> notes, facts, relations, events
    settle: each fact's state again from its events and the other facts in its slot (``fact_states``)
    put_right, keep: by hand, for good          unlearn, forget_of: as if it had never been learned

A fact row is never edited; changes are appended as events, and its state is computed from what is there. Removing
messages, undoing a save or hiding a message therefore leaves the remaining facts as if the removed ones had never
existed, in any order. Guarantees: each verb is one commit or nothing; a window learned twice changes nothing; at most
one stated value is current in a slot that has one at a time. A fact without a window finds its messages and is never
shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Literal

from domain.facts import (
    About,
    Change,
    Fact,
    FactEvent,
    KeptReply,
    KnownCounts,
    Learned,
    NewFact,
    NewNote,
    NewRelation,
    News,
    Note,
    Relation,
    Slot,
    Window,
)
from domain.records import Turn
from storage.fact_states import (
    EVENT_OF,
    Corrected,
    Event,
    FactState,
    Happened,
    Renaming,
    Told,
    is_of_another,
    renamed,
    renaming_of,
    settled,
    slots_under_all_names,
    state_of,
    under_right_names,
)
from storage.messages import UNREAD, Messages
from storage.sqlite.database import EACH, Database, Row, Transaction, instant
from storage.stamp import Stamp
from storage.steps import Steps
from storage.text_index import TextIndex
from storage.undoable_saves import UndoableSaves

#: Between the words of a list in one column.
BETWEEN = "\n"

_NOTE_COLUMNS = (
    "n.seq, n.text_id, n.session_id, n.timestamp, n.text, n.topic, n.importance, n.memory_type, n.private"
)
_NOTE = f"SELECT {_NOTE_COLUMNS} FROM note n"
#: Importance and topic of a fact are those of its note, as long as that is there.
_FACT_COLUMNS = (
    "f.seq, f.text_id, coalesce(n.text_id, ''), f.session_id, f.text, f.subject, f.attribute, f.value,"
    " f.slot_subject, f.slot_attribute, f.single, f.about, f.stance, f.said, f.seen,"
    " f.keywords, f.persons, f.entities, f.location, f.start_day, f.end_day, f.since, f.until,"
    " f.replaced_by, f.corrected, f.doubtful_since, f.kept, f.decided, coalesce(n.importance, 5),"
    " coalesce(n.topic, '')"
)
_FACT = f"SELECT {_FACT_COLUMNS} FROM fact f LEFT JOIN note n ON n.seq = f.note WHERE f.window_id <> ''"
#: Values that never were, with what is so instead.
_CORRECTED = (
    "SELECT o.slot_subject, o.slot_attribute, o.value, n.value, n.text, e.moment, n.seq FROM fact_event e"
    " JOIN fact o ON o.seq = e.fact AND o.corrected = 1 JOIN fact n ON n.seq = e.by_fact AND n.text_id = o.replaced_by"
    " WHERE e.what IN ('corrected', 'put_right') ORDER BY e.seq"
)
_CURRENT = "f.until = '' AND f.corrected = 0"
_WHICH = {None: "", True: f" AND {_CURRENT}", False: f" AND NOT ({_CURRENT})"}
_RELATION = "SELECT fact, source, relation, target FROM relation"

_STATE = tuple(field.name for field in fields(FactState))
_state_columns = attrgetter(*_STATE)
_TOLD = (
    "SELECT seq, text_id, slot_subject, slot_attribute, single, stance, by_hand, said, start_day, end_day,"
    f" {', '.join(_STATE)} FROM fact"
)
#: Facts that a person called wrong without putting anything in their place: what they did did not happen.
_TAKEN_OUT = "SELECT e.fact, e.by_fact FROM fact_event e WHERE e.what = 'put_right' ORDER BY e.seq"
_SLOT = tuple[str, str]


@dataclass
class _Touched:
    """What is to be settled: facts by number, and slots."""

    facts: set[int]
    slots: set[_SLOT]


class Facts:
    """Reads and writes the tables ``note``, ``fact``, ``relation``, ``fact_event`` and ``read_window``.

    A fact is read under the right name where a name in it was corrected later, for as long as that correction is there.

    >>> facts.learn(learned)
    True
    >>> [fact.restatement for fact in facts.all(current=True)]
    ['Ann lives in Oslo.']
    """

    def __init__(
        self,
        database: Database,
        index: TextIndex,
        messages: Messages,
        steps: Steps,
        saves: UndoableSaves,
        stamp: Stamp,
    ) -> None:
        self._database = database
        self._index = index
        self._messages = messages
        self._steps = steps
        self._saves = saves
        self._stamp = stamp

    # -- reading facts -------------------------------------------------------------------------------------------

    def all(self, *, current: bool | None = None, about: About | None = None) -> list[Fact]:
        """Every fact in the order in which they were learned: only what holds now, only what does not; about whom."""
        if about is None:
            return self._facts(f"{_FACT}{_WHICH[current]} ORDER BY f.seq")
        return self._facts(f"{_FACT}{_WHICH[current]} AND f.about = ? ORDER BY f.seq", about)

    def find(self, number: int) -> Fact | None:
        """One fact by its number."""
        return next(iter(self._facts(f"{_FACT} AND f.seq = ?", number)), None)

    def with_ids(self, text_ids: Sequence[str]) -> list[Fact]:
        """The facts with these ids that are still there, in the order in which they were learned."""
        return (
            self._facts(f"{_FACT} AND f.text_id IN {EACH} ORDER BY f.seq", list(text_ids)) if text_ids else []
        )

    def numbered(self, numbers: Sequence[int]) -> list[Fact]:
        """The facts with these numbers, in the order in which they were learned."""
        return (
            self._facts(f"{_FACT} AND f.seq IN {EACH} ORDER BY f.seq", list(numbers)) if len(numbers) else []
        )

    def of_turns(self, text_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on each of these messages; a message on which none rests is left out."""
        return self._by("text_id", text_ids)

    def of_sessions(self, session_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on a message of each of these sessions; a session without any is left out."""
        return self._by("session_id", session_ids)

    def in_slots(self, slots: Iterable[Slot]) -> list[Fact]:
        """Every fact in these slots, also what is past, in the order in which they were learned."""
        names = self._renamings()
        wanted = slots_under_all_names(slots, names) if names else [*dict.fromkeys(slots)]
        query = f"{_FACT} AND f.slot_subject = ? AND f.slot_attribute = ?"
        rows = [row for slot in wanted for row in self._database.run(query, slot.subject, slot.attribute)]
        return sorted(self._read(rows, names), key=lambda fact: fact.number)

    def turns_of(self, facts: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of (fact, message), by number: which messages these facts rest on."""
        query = f"SELECT fact, turn FROM fact_turn WHERE fact IN {EACH}"
        return [(row[0], row[1]) for row in self._database.run(query, list(facts))] if len(facts) else []

    def counts(self) -> KnownCounts:
        """How many notes and facts there are, and how many messages were not read yet."""
        facts = "(SELECT count(*) FROM fact f WHERE f.window_id <> ''{})"
        unread = f"(SELECT count(*) FROM conversation c WHERE {UNREAD})"
        current, past = facts.format(_WHICH[True]), facts.format(_WHICH[False])
        query = f"SELECT (SELECT count(*) FROM note), {current}, {past}, {unread}"
        return KnownCounts(*(int(count) for count in self._database.run(query)[0]))

    def history(self, fact: str) -> list[FactEvent]:
        """What happened to a fact, in the order in which it became known; empty when there is no such fact."""
        rows = self._database.run(
            "SELECT said, timestamp, until, replaced_by FROM fact WHERE text_id = ?", fact
        )
        if not rows:
            return []
        query = (
            "SELECT e.what, e.moment, e.stored_at, coalesce(b.text_id, '') AS by_id FROM fact_event e"
            " JOIN fact f ON f.seq = e.fact LEFT JOIN fact b ON b.seq = e.by_fact WHERE f.text_id = ?"
            " ORDER BY e.seq"
        )
        said, stored_at, until, replaced_by = rows[0]
        happened = [FactEvent(fact, *row) for row in self._database.run(query, fact)]
        if until and replaced_by and not any(one.by == replaced_by for one in happened):
            happened += self._gave_way(fact, until, replaced_by)
        return [FactEvent(fact, "learned", said, stored_at), *happened]

    def news_of(self, session_id: str) -> News:
        """What a session resulted in: what is new, and what of that which was known before changed or ended."""
        resting = self.of_turns([turn.text_id for turn in self._messages.of_session(session_id)])
        learned = {fact.text_id: fact for facts in resting.values() for fact in facts}
        past = self.all(current=False) if learned else []
        replaced = [one for one in past if one.replaced_by in learned and one.text_id not in learned]
        ended = [fact for fact in replaced if self._was_ended(fact)]
        instead = {fact.replaced_by for fact in replaced}
        new = [name for name, fact in learned.items() if fact.current and name not in instead]
        return News(len(new), len(replaced) - len(ended), len(ended))

    def _was_ended(self, fact: Fact) -> bool:
        """Whether what put an end to a fact put nothing in its place."""
        return any(one.what == "ended" and one.by == fact.replaced_by for one in self.history(fact.text_id))

    def _gave_way(self, fact: str, until: str, replaced_by: str) -> list[FactEvent]:
        """That a value of its slot that was said later took its place, which follows without an event of its own."""
        rows = self._database.run("SELECT timestamp FROM fact WHERE text_id = ?", replaced_by)
        return [FactEvent(fact, "changed", until, row["timestamp"], replaced_by) for row in rows]

    def _by(self, column: Literal["text_id", "session_id"], values: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on the messages with these values, by value."""
        query = (
            f"SELECT DISTINCT r.fact, c.{column} FROM conversation c JOIN fact_turn r ON r.turn = c.seq"
            f" WHERE c.{column} IN {EACH}"
        )
        rests = (
            [(int(row[0]), str(row[1])) for row in self._database.run(query, list(values))] if values else []
        )
        facts = {fact.number: fact for fact in self.numbered(list({number for number, _ in rests}))}
        found: dict[str, list[Fact]] = defaultdict(list)
        for number, value in sorted(rests):
            if number in facts:
                found[value].append(facts[number])
        return dict(found)

    def _facts(self, query: str, *values: object) -> list[Fact]:
        rows = self._database.run(query, *values)
        return self._read(rows, self._renamings()) if rows else []

    def _read(self, rows: Sequence[Row], names: Sequence[Renaming]) -> list[Fact]:
        """The facts of these rows, under the names that turned out to be right."""
        turns = self._turns_under("fact", [row[0] for row in rows])
        facts = [_fact(row, turns[row[0]]) for row in rows]
        return [renamed(fact, names) for fact in facts] if names else facts

    def _turns_under(self, what: Literal["fact", "note"], numbers: Sequence[int]) -> Mapping[int, list[str]]:
        """The ids of the messages that facts or notes rest on, in order, by number."""
        query = (
            f"SELECT t.{what}, c.text_id FROM {what}_turn t JOIN conversation c ON c.seq = t.turn"
            f" WHERE t.{what} IN {EACH} ORDER BY c.position"
        )
        found: dict[int, list[str]] = defaultdict(list)
        for row in self._database.run(query, list(numbers)) if numbers else ():
            found[row[0]].append(row[1])
        return found

    def _renamings(self) -> list[Renaming]:
        """The names that were corrected, in the order in which they were, but for those of several people."""
        found = [Corrected(Slot(row[0], row[1]), *row[2:]) for row in self._database.run(_CORRECTED)]
        names = ((one, renaming_of(one)) for one in found)
        return [name for one, name in names if name and not self._is_shared(one)]

    def _is_shared(self, corrected: Corrected) -> bool:
        """Whether somebody else is called by the name that was wrong."""
        query = (
            "SELECT slot_subject, slot_attribute, value FROM fact WHERE slot_subject = ? AND window_id <> ''"
            " AND corrected = 0 AND stance = 'stated' AND said <= ?"
        )
        rows = self._database.run(query, corrected.slot.subject, corrected.said)
        return any(is_of_another(corrected, Slot(row[0], row[1]), row[2]) for row in rows)

    # -- reading relations and notes -----------------------------------------------------------------------------

    def relations(self, *, current: bool = True) -> list[Relation]:
        """The relations that facts state: of facts that hold now, or of all."""
        facts = {fact.number: fact for fact in self.all(current=True if current else None)}
        return self._relations(self._database.run(f"{_RELATION} ORDER BY seq"), facts)

    def relations_of(self, facts: Sequence[str]) -> list[Relation]:
        """The relations that these facts state, whether they hold now or not."""
        numbered = {fact.number: fact for fact in self.with_ids(facts)}
        query = f"{_RELATION} WHERE fact IN {EACH} ORDER BY seq"
        return self._relations(self._database.run(query, list(numbered)), numbered) if numbered else []

    def relations_about(self, facts: Sequence[str], text: str) -> list[Relation]:
        """The relations that hold now: of these facts, and those of which a text names one end."""
        found = [*self.relations_of(facts), *self._relations_naming(text)]
        return list(dict.fromkeys(one for one in found if one.fact.current))

    def _relations_naming(self, text: str) -> list[Relation]:
        """The relations of which a text names one end, by whole characters and in any case."""
        query = (
            "SELECT DISTINCT f.text_id, r.source, r.target FROM relation r JOIN fact f ON f.seq = r.fact"
            f" WHERE {_CURRENT}"
        )
        lower = text.lower()
        named = [
            row[0]
            for row in self._database.run(query)
            if any(len(end) > 1 and end.lower() in lower for end in (row[1], row[2]))
        ]
        return self.relations_of(list(dict.fromkeys(named)))

    def _relations(self, rows: Iterable[Row], facts: Mapping[int, Fact]) -> list[Relation]:
        """The relations of these facts, under the names that turned out to be right."""
        names = self._renamings()
        found = []
        for row in rows:
            if fact := facts.get(row["fact"]):
                right = names if fact.first_told else ()
                source, target = (under_right_names(row[end], right) for end in ("source", "target"))
                found.append(Relation(source, row["relation"], target, fact))
        return found

    def notes_of(self, session_id: str) -> list[Note]:
        """The notes of a session, in the order in which they were learned."""
        return self._notes(f"{_NOTE} WHERE n.session_id = ? ORDER BY n.seq", session_id)

    def every_note(self) -> list[Note]:
        """The notes of all sessions, in the order in which they were learned."""
        return self._notes(f"{_NOTE} ORDER BY n.seq")

    def notes_of_turns(self, text_ids: Sequence[str]) -> list[Note]:
        """The notes that rest on any of these messages."""
        resting = (
            f"SELECT r.note FROM note_turn r JOIN conversation c ON c.seq = r.turn WHERE c.text_id IN {EACH}"
        )
        return (
            self._notes(f"{_NOTE} WHERE n.seq IN ({resting}) ORDER BY n.seq", list(text_ids))
            if text_ids
            else []
        )

    def _notes(self, query: str, *values: object) -> list[Note]:
        rows = self._database.run(query, *values)
        turns = self._turns_under("note", [row[0] for row in rows])
        return [Note(*row[1:8], private=bool(row[8]), turns=tuple(turns[row[0]])) for row in rows]  # type: ignore[misc]

    # -- learning ------------------------------------------------------------------------------------------------

    def learn(self, learned: Learned) -> bool:
        """Store everything extracted from one window, in one commit; it is read from then on.

        False, and nothing, when one of its messages was read already, is gone or is hidden. What names no message of
        the window, or one outside of it, is not stored; nor is a change of a fact that is gone, or that a person put
        right.
        """
        now = self._stamp.now()
        with self._database.write() as tx:
            turns = self._unread_turns(learned.window)
            if turns is None:
                return False
            names = self._renamings()
            notes = self._add_notes(tx, learned, turns, now)
            facts = self._add_facts(tx, learned, turns, notes, now)
            self._add_relations(tx, learned.relations, facts)
            changed = self._add_changes(tx, learned, facts, now)
            self._mark_read(tx, learned.window, now)
            self._settle(tx, _Touched({*facts.values(), *changed}, set()))
            self._index_renamed(tx, names)
        return True

    def learn_key(self, session_id: str, text: str, turns: Sequence[int]) -> None:
        """Store words that find messages, given by number; they are no fact that anybody is shown."""
        now = self._stamp.now()
        with self._database.write() as tx:
            number = tx.next("fact")
            sql = "INSERT INTO fact (seq, text_id, session_id, timestamp, text) VALUES (?, ?, ?, ?, ?)"
            tx.do(sql, number, self._stamp.new_id(), session_id, now, text)
            _rest_on(tx, "fact", number, turns)
            self._index.set_facts(tx, [(number, text)])

    def keep_reply(self, window: str, stage: str, base: str, reply: str) -> None:
        """Store a model's reply for a window, of the stage "notes" or "compare"; ``base``: a digest of its sources."""
        self._steps.store("window", window, stage, reply, self._stamp.now(), base)

    def kept_replies(self, window: str) -> dict[str, KeptReply]:
        """The replies that are stored for a window, by stage; none outlives a message, or a fact, that goes."""
        return {
            step: KeptReply(base, result) for step, (result, base) in self._steps.of("window", window).items()
        }

    def kept_reply(self, window: str, stage: str, base: str) -> str | None:
        """The reply that is stored for a stage of a window; None when there is none that was made from the same."""
        kept = self.kept_replies(window).get(stage)
        return kept.reply if kept and kept.base == base else None

    def new_text_id(self) -> str:
        """An id for a note or a fact that is to be stored."""
        return self._stamp.new_id()

    def _unread_turns(self, window: Window) -> dict[str, Turn] | None:
        """The messages of a window and of what is before it, by id; None when they are not as they were read."""
        named = dict.fromkeys((*window.turns, *window.before))
        there = {turn.text_id: turn for turn in self._messages.with_ids(tuple(named)) if not turn.withheld}
        ours = all(turn.session_id == window.session_id for turn in there.values())
        query = f"SELECT 1 FROM conversation WHERE window_id <> '' AND text_id IN {EACH}"
        whole = bool(window.turns) and len(there) == len(named)
        return there if whole and ours and not self._database.run(query, list(window.turns)) else None

    def _add_notes(
        self, tx: Transaction, learned: Learned, turns: Mapping[str, Turn], now: str
    ) -> dict[str, int]:
        """Store notes, each resting on all that its facts rest on too. Returns their numbers by id."""
        numbers: dict[str, int] = {}
        rests: dict[str, list[str]] = defaultdict(list)
        for fact in learned.facts:
            rests[fact.note] += fact.turns
        for note in learned.notes:
            on = _known(dict.fromkeys([*note.turns, *rests[note.text_id]]), turns)
            if on and note.turns:
                numbers[note.text_id] = self._add_note(tx, learned.window, note, on, now)
        return numbers

    def _add_note(
        self, tx: Transaction, window: Window, note: NewNote, turns: Sequence[Turn], now: str
    ) -> int:
        number = tx.next("note")
        said = max(turns, key=lambda turn: turn.position).timestamp
        columns = {
            "seq": number, "text_id": note.text_id, "session_id": window.session_id, "window_id": window.name,
            "timestamp": said, "text": note.text, "topic": note.topic, "importance": min(10, max(1, note.importance)),
            "memory_type": note.memory_type, "private": int(note.private), "stored_at": now, "instant": instant(now),
        }  # fmt: skip
        _insert(tx, "note", columns)
        _rest_on(tx, "note", number, [turn.seq for turn in turns])
        return number

    def _add_facts(
        self, tx: Transaction, learned: Learned, turns: Mapping[str, Turn], notes: Mapping[str, int], now: str
    ) -> dict[str, int]:
        """Store facts. Returns their numbers by id."""
        numbers: dict[str, int] = {}
        for fact in learned.facts:
            if on := _known(fact.turns, turns):
                place = {
                    "session_id": learned.window.session_id,
                    "window_id": learned.window.name,
                    "note": notes.get(fact.note),
                    "timestamp": now,
                }
                numbers[fact.text_id] = self._add_fact(tx, fact, on, place)
        self._index_numbered(tx, list(numbers.values()))
        return numbers

    def _add_fact(
        self, tx: Transaction, fact: NewFact, turns: Sequence[Turn], place: Mapping[str, object]
    ) -> int:
        """Store one fact, which is not current before it is settled. Returns its number."""
        number = tx.next("fact")
        columns: dict[str, object] = {
            **place,
            # Until it is settled a new fact is not current, so that no two are for a moment.
            "corrected": 1,
            "seq": number, "text_id": fact.text_id, "text": fact.restatement,
            "subject": fact.subject, "attribute": fact.attribute, "value": fact.value,
            "slot_subject": fact.slot.subject, "slot_attribute": fact.slot.attribute, "single": int(fact.single),
            "about": fact.about, "stance": fact.stance,
            "said": fact.said or max(turns, key=lambda turn: turn.position).timestamp, "location": fact.location,
            "keywords": _listing(fact.keywords), "persons": _listing(fact.persons), "entities": _listing(fact.entities),
            "start_day": fact.start, "end_day": fact.end,
        }  # fmt: skip
        _insert(tx, "fact", columns)
        _rest_on(tx, "fact", number, [turn.seq for turn in turns])
        return number

    @staticmethod
    def _add_relations(tx: Transaction, relations: Iterable[NewRelation], facts: Mapping[str, int]) -> None:
        wanted = dict.fromkeys(
            (facts[one.fact], one.source, one.relation, one.target) for one in relations if one.fact in facts
        )
        first = tx.next("relation", len(wanted)) if wanted else 0
        rows = [(first + at, *one) for at, one in enumerate(wanted)]
        tx.many("INSERT INTO relation (seq, fact, source, relation, target) VALUES (?, ?, ?, ?, ?)", rows)

    def _add_changes(
        self, tx: Transaction, learned: Learned, facts: Mapping[str, int], now: str
    ) -> list[int]:
        """Note what becomes of known facts. Returns their numbers."""
        changed = []
        for change in learned.changes:
            known = self._database.run("SELECT seq, decided FROM fact WHERE text_id = ?", change.fact)
            if known and known[0]["decided"] != "hand":
                by, what = self._number_of(change, facts), EVENT_OF[change.verdict]
                _add_event(tx, known[0]["seq"], what, change.when or now, by, now, learned.window.name)
                changed.append(known[0]["seq"])
        return changed

    def _number_of(self, change: Change, facts: Mapping[str, int]) -> int | None:
        """The number of the fact that does a change; None when that is not stored."""
        if change.by in facts or not change.by:
            return facts.get(change.by)
        known = self._database.run("SELECT seq FROM fact WHERE text_id = ?", change.by)
        return int(known[0]["seq"]) if known else None

    def _mark_read(self, tx: Transaction, window: Window, now: str) -> None:
        """A window that is read while its session is being saved belongs to that save."""
        tx.many(
            "UPDATE conversation SET window_id = ? WHERE text_id = ?",
            [(window.name, one) for one in window.turns],
        )
        saving = int(bool(self._steps.of("save", window.session_id)))
        tx.do(
            "INSERT INTO read_window (name, session_id, saving, stored_at) VALUES (?, ?, ?, ?) ON CONFLICT (name)"
            " DO UPDATE SET session_id = excluded.session_id, saving = excluded.saving, stored_at = excluded.stored_at",
            window.name, window.session_id, saving, now,
        )  # fmt: skip
        read = "SELECT text_id FROM conversation WHERE window_id = ?"
        tx.do(f"DELETE FROM step WHERE kind = 'window' AND key IN ({read})", window.name)

    # -- by hand -------------------------------------------------------------------------------------------------

    def put_right(self, fact: str, new: NewFact | None) -> bool:
        """Let a person decide about a fact, for good: it never was, and ``new`` is so instead, or nothing is.

        The new one rests on the same messages and goes with them. A save before it cannot be undone any more. False,
        and nothing, when there is no such fact.
        """
        now = self._stamp.now()
        with self._database.write() as tx:
            known = self._database.run(
                "SELECT seq, session_id, window_id, note FROM fact WHERE text_id = ?", fact
            )
            if not known:
                return False
            number, names = int(known[0]["seq"]), self._renamings()
            by = self._add_by_hand(tx, number, new, known[0], now) if new else None
            _add_event(tx, number, "put_right", now, by, now)
            self._saves.drop(tx)
            self._settle(tx, _Touched({number, by or number}, set()))
            self._index_renamed(tx, names)
        return True

    def _add_by_hand(self, tx: Transaction, number: int, new: NewFact, known: Row, now: str) -> int:
        turns = self._messages.with_ids(self._turns_under("fact", [number])[number])
        place = {name: known[name] for name in ("session_id", "window_id", "note")}
        added = self._add_fact(tx, new, turns, place | {"timestamp": now, "by_hand": 1})
        self._index_numbered(tx, [added])
        return added

    def keep(self, fact: str, kept: bool = True) -> bool:
        """Note whether a person wants a fact kept. False, and nothing, when there is no such fact."""
        now = self._stamp.now()
        with self._database.write() as tx:
            known = self._database.run("SELECT seq FROM fact WHERE text_id = ?", fact)
            if not known:
                return False
            _add_event(tx, known[0]["seq"], "kept" if kept else "let_go", now, None, now)
            self._saves.drop(tx)
            self._settle(tx, _Touched({known[0]["seq"]}, set()))
        return True

    def undo_decision(self, fact: str) -> bool:
        """Take back what a person last decided about a fact, with what they put in its place; whether there was."""
        query = (
            "SELECT e.seq, e.by_fact FROM fact_event e JOIN fact f ON f.seq = e.fact WHERE f.text_id = ?"
            " AND e.what IN ('put_right', 'kept', 'let_go') ORDER BY e.seq DESC LIMIT 1"
        )
        with self._database.write() as tx:
            decided = self._database.run(query, fact)
            for row in decided:
                self._remove(tx, (), [row["by_fact"]] if row["by_fact"] else [], [row["seq"]])
        return bool(decided)

    # -- forgetting ----------------------------------------------------------------------------------------------

    def unlearn(self, windows: Sequence[str]) -> None:
        """Take back all that these windows resulted in, what they changed too; their messages are unread again."""
        wanted = list(windows)
        with self._database.write() as tx:
            facts = self._numbers(f"SELECT seq FROM fact WHERE window_id IN {EACH}", wanted)
            notes = self._numbers(f"SELECT seq FROM note WHERE window_id IN {EACH}", wanted)
            events = self._numbers(f"SELECT seq FROM fact_event WHERE window_id IN {EACH}", wanted)
            self._remove(tx, notes, facts, events)
            tx.do(
                f"UPDATE conversation SET window_id = '' WHERE window_id <> '' AND window_id IN {EACH}",
                wanted,
            )
            tx.do(f"DELETE FROM read_window WHERE name IN {EACH}", wanted)

    def forget_of(self, tx: Transaction, turns: Sequence[int]) -> None:
        """Remove all that was extracted from any of these messages, also where others are left; none of them is read.

        A change of which no fact is known to be the cause rests on its whole window.
        """
        seqs = list(turns)
        windows = [
            row[0]
            for row in self._database.run(
                f"SELECT DISTINCT window_id FROM conversation WHERE window_id <> '' AND seq IN {EACH}", seqs
            )
        ]
        caused = (
            f"SELECT seq FROM fact_event WHERE window_id <> '' AND by_fact IS NULL AND window_id IN {EACH}"
        )
        self._remove(
            tx,
            self._numbers(f"SELECT note FROM note_turn WHERE turn IN {EACH}", seqs),
            self._numbers(f"SELECT fact FROM fact_turn WHERE turn IN {EACH}", seqs),
            self._numbers(caused, windows) if windows else [],
        )
        if windows:
            tx.do(f"UPDATE conversation SET window_id = '' WHERE seq IN {EACH}", seqs)
            left = "SELECT 1 FROM conversation c WHERE c.window_id = read_window.name"
            tx.do(f"DELETE FROM read_window WHERE name IN {EACH} AND NOT EXISTS ({left})", windows)

    def remove_named(self, tx: Transaction, notes: Sequence[str], facts: Sequence[str]) -> None:
        """Remove notes and facts by id."""
        self._remove(
            tx,
            self._numbers(f"SELECT seq FROM note WHERE text_id IN {EACH}", list(notes)),
            self._numbers(f"SELECT seq FROM fact WHERE text_id IN {EACH}", list(facts)),
        )

    def _remove(
        self, tx: Transaction, notes: Sequence[int], facts: Sequence[int], events: Sequence[int] = ()
    ) -> None:
        """Remove notes, facts and events by number, and what these facts did to others; no reply is kept after that."""
        self._steps.drop(tx, "window")
        if not (notes or facts or events):
            return
        touched = _Touched(
            {
                *self._numbers(f"SELECT fact FROM fact_event WHERE by_fact IN {EACH}", list(facts)),
                *self._numbers(f"SELECT fact FROM fact_event WHERE seq IN {EACH}", list(events)),
            }
            - set(facts),
            {
                _slot(row)
                for row in self._database.run(f"{_TOLD} WHERE single = 1 AND seq IN {EACH}", list(facts))
            },
        )
        names = self._renamings()
        tx.many("DELETE FROM fact_event WHERE seq = ?", [(one,) for one in events])
        self._index.set_facts(tx, [(number, "") for number in facts])
        # What a person called wrong stays so, also without what they put in its place.
        put_right = "UPDATE fact_event SET by_fact = NULL WHERE by_fact = ? AND what = 'put_right'"
        tx.many(put_right, [(one,) for one in facts])
        tx.many("DELETE FROM fact WHERE seq = ?", [(one,) for one in facts])
        tx.many("DELETE FROM note WHERE seq = ?", [(one,) for one in notes])
        self._settle(tx, touched)
        self._index_renamed(tx, names)

    # -- words ---------------------------------------------------------------------------------------------------

    def index_all(self, tx: Transaction) -> None:
        """Make the words of all facts, for a memory that was filled from elsewhere."""
        keys = self._database.run("SELECT seq, text FROM fact WHERE window_id = ''")
        self._index.set_facts(tx, [(row["seq"], row["text"]) for row in keys])
        self._index_numbered(tx, [fact.number for fact in self.all()])

    def _index_numbered(self, tx: Transaction, numbers: Sequence[int]) -> None:
        """Facts find their messages by their words as they are now; one that a person called wrong finds none."""
        shown = {fact.number: fact for fact in self.numbered(numbers)}
        self._index.set_facts(tx, [(number, _words(shown.get(number))) for number in numbers])

    def _index_renamed(self, tx: Transaction, before: Sequence[Renaming]) -> None:
        """The same for those whose names are others than ``before``."""
        changed = {*before} ^ {*self._renamings()}
        names = [name for one in changed for name in (one.wrong, one.right)]
        if names:
            touched = [one.number for one in self.all() if any(name in one.words for name in names)]
            self._index_numbered(tx, touched)

    # -- settling ------------------------------------------------------------------------------------------------

    def _settle(self, tx: Transaction, touched: _Touched) -> None:
        """Compute the states of facts, and of all that share a slot with them; what is past is written first."""
        acted_on = self._numbers(f"SELECT fact FROM fact_event WHERE by_fact IN {EACH}", list(touched.facts))
        wanted = list({*touched.facts, *acted_on})
        rows = (
            {row["seq"]: row for row in self._database.run(f"{_TOLD} WHERE seq IN {EACH}", wanted)}
            if wanted
            else {}
        )
        slots = touched.slots | {_slot(row) for row in rows.values() if _alone(row)}
        groups: dict[_SLOT, list[Row]] = {}
        for slot in slots:
            query = f"{_TOLD} WHERE slot_subject = ? AND slot_attribute = ? AND window_id <> ''"
            groups[slot] = [row for row in self._database.run(query, *slot) if _alone(row)]
            rows |= {row["seq"]: row for row in groups[slot]}
        told = {number: _told(row) for number, row in rows.items()}
        happened = self._events(list(rows))
        states = {number: state_of(one, happened[number]) for number, one in told.items()}
        for group in groups.values():
            states |= settled(
                [told[row["seq"]] for row in group], {row["seq"]: states[row["seq"]] for row in group}
            )
        for number, state in sorted(states.items(), key=lambda item: item[1].current):
            if tuple(rows[number][name] for name in _STATE) != _state_columns(state):
                _set_state(tx, number, state)
        self._index_numbered(tx, [one for one, state in states.items() if state.wrong != _wrong(rows[one])])

    def _events(self, facts: Sequence[int]) -> dict[int, list[Event]]:
        """What happened to these facts, in order; what was done by a fact that a person called wrong did not happen."""
        query = (
            "SELECT e.fact, e.what, e.moment, coalesce(b.text_id, '') AS by_id, e.by_fact FROM fact_event e"
            f" LEFT JOIN fact b ON b.seq = e.by_fact WHERE e.fact IN {EACH} ORDER BY e.seq"
        )
        found: dict[int, list[Event]] = defaultdict(list)
        rows = self._database.run(query, list(facts)) if facts else []
        taken_out = self._taken_out() if any(row["by_fact"] for row in rows) else set()
        for row in rows:
            if row["what"] == "put_right" or row["by_fact"] not in taken_out:
                found[row["fact"]].append(Event(row["what"], row["moment"], row["by_id"]))
        return found

    def _taken_out(self) -> set[int]:
        """The facts that a person called wrong, last, and put nothing in the place of."""
        last = {row["fact"]: row["by_fact"] for row in self._database.run(_TAKEN_OUT)}
        return {fact for fact, by in last.items() if by is None}

    def _numbers(self, query: str, values: Sequence[object]) -> list[int]:
        """A column of numbers, each once."""
        return list(dict.fromkeys(int(row[0]) for row in self._database.run(query, values))) if values else []


def _rest_on(tx: Transaction, what: str, number: int, turns: Iterable[int]) -> None:
    tx.many(
        f"INSERT INTO {what}_turn ({what}, turn) VALUES (?, ?)",
        [(number, one) for one in dict.fromkeys(turns)],
    )


def _add_event(
    tx: Transaction, fact: int, what: Happened, moment: str, by: int | None, now: str, window: str = ""
) -> None:
    columns = "(seq, fact, what, moment, by_fact, window_id, stored_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
    tx.do(f"INSERT INTO fact_event {columns}", tx.next("fact_event"), fact, what, moment, by, window, now)


def _set_state(tx: Transaction, number: int, state: FactState) -> None:
    columns = ", ".join(f"{name} = ?" for name in _STATE)
    values = tuple(int(value) if isinstance(value, bool) else value for value in _state_columns(state))
    tx.do(f"UPDATE fact SET {columns} WHERE seq = ?", *values, number)


def _insert(tx: Transaction, table: str, columns: Mapping[str, object]) -> None:
    marks = ", ".join("?" * len(columns))
    tx.do(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", *columns.values())


def _words(fact: Fact | None) -> str:
    """By what a fact is found; "" when it is gone, or a person called it wrong."""
    if fact is None or (fact.corrected and fact.decided == "hand"):
        return ""
    return " ".join((fact.restatement, *fact.keywords, *fact.persons, *fact.entities, fact.location))


def _known(named: Iterable[str], turns: Mapping[str, Turn]) -> list[Turn]:
    """The messages that are named; none when one of them is not there, since what rests on it must not be stored."""
    names = list(named)
    return [turns[name] for name in names] if all(name in turns for name in names) else []


def _listing(words: Iterable[str]) -> str:
    return BETWEEN.join(filter(None, (" ".join(word.split()) for word in words)))


def _listed(column: str | None) -> tuple[str, ...]:
    return tuple(column.split(BETWEEN)) if column else ()


def _alone(row: Row) -> bool:
    """Whether of such facts one at a time is current in a slot."""
    return bool(row["single"] == 1 and row["stance"] == "stated")


def _wrong(row: Row) -> bool:
    return bool(row["corrected"]) and row["decided"] == "hand"


def _slot(row: Row) -> _SLOT:
    return row["slot_subject"], row["slot_attribute"]


def _told(row: Row) -> Told:
    return Told(
        number=row["seq"],
        text_id=row["text_id"],
        slot=_slot(row),
        alone=_alone(row),
        by_hand=bool(row["by_hand"]),
        said=row["said"],
        start=row["start_day"],
        end=row["end_day"],
    )


def _fact(row: Row, turns: Sequence[str]) -> Fact:
    """A fact out of a row that begins with ``_FACT_COLUMNS``."""
    return Fact(
        number=row[0],
        text_id=row[1],
        note=row[2],
        session_id=row[3],
        restatement=row[4],
        subject=row[5],
        attribute=row[6],
        value=row[7],
        slot=Slot(row[8], row[9]),
        single=bool(row[10]),
        about=row[11],
        stance=row[12],
        said=row[13],
        seen=row[14],
        turns=tuple(turns),
        keywords=_listed(row[15]),
        persons=_listed(row[16]),
        entities=_listed(row[17]),
        location=row[18],
        start=row[19],
        end=row[20],
        since=row[21],
        until=row[22],
        replaced_by=row[23],
        corrected=bool(row[24]),
        doubtful_since=row[25],
        kept=bool(row[26]),
        decided=row[27],
        importance=row[28],
        topic=row[29],
    )
