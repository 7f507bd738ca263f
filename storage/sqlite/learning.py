"""What is known, written: what a window came to, what a person puts right, and what goes with the turns it rests on.

    learn -> notes, facts, relations, events -> settle: each fact's state anew from its events and its slot
    forget -> facts and notes go, with them the events that they caused -> settle

Nothing is ever undone step by step: a state is made from the facts and events that are there (``fact_states``), so that
taking back, in any order, leaves exactly what was there before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

from domain.facts import Change, Learned, NewFact, NewNote, NewRelation, Window
from domain.records import Turn
from storage.fact_states import EVENT_OF, Event, FactState, Happened, Renaming, Told, settled, state_of
from storage.sqlite.active_sessions import ActiveSessionTables
from storage.sqlite.database import Row, Sql
from storage.sqlite.fact_reader import BETWEEN, FactReader

_STATE = tuple(field.name for field in fields(FactState))
_state_columns = attrgetter(*_STATE)
_TOLD = (
    "SELECT seq, text_id, slot_subject, slot_attribute, single = 1 AND stance = 'stated' AS alone, by_hand, said,"
    f" start_day, end_day, {', '.join(_STATE)} FROM fact"
)
#: Whether a person said that the fact behind an event never was, and put nothing in its place.
_TAKEN_OUT = (
    "coalesce((SELECT p.by_fact IS NULL FROM fact_event p WHERE p.fact = e.by_fact AND p.what = 'put_right'"
    " ORDER BY p.seq DESC LIMIT 1), 0)"
)
#: Until it is settled a new fact is not current, so that no two are for a moment.
_NOT_YET = {"corrected": 1}
_SLOT = tuple[str, str]


@dataclass
class _Touched:
    """What is to be settled: facts by number, and slots."""

    facts: set[int]
    slots: set[_SLOT]


class FactTables(ActiveSessionTables, FactReader):
    """Writes the tables of what is known."""

    # -- learning ------------------------------------------------------------------------------------------------

    def learn(self, learned: Learned, now: str) -> bool:
        """Store all that a window came to, in one commit; False, and nothing, when it does not count any more.

        That is when one of its turns was read already, is gone, or is withheld. What names no turn of the window, or
        one that is not in it, is not stored; nor is a change of a fact that is gone, or that a person put right.
        """
        with self._database.write() as sql:
            turns = self._as_they_are(learned.window)
            if turns is None:
                return False
            names = self._renamings()
            notes = self._add_notes(sql, learned, turns, now)
            facts = self._add_facts(sql, learned, turns, notes, now)
            self._add_relations(sql, learned.relations, facts)
            changed = self._add_changes(sql, learned, facts, now)
            self._mark_read(sql, learned.window, now)
            self._settle_states(sql, _Touched({*facts.values(), *changed}, set()))
            self._index_renamed(sql, names)
        return True

    def keep_reply(self, window: str, stage: str, base: str, reply: str, now: str) -> None:
        """Keep a model's reply for a window until that is learned; ``base`` says what it was made from."""
        with self._database.write() as sql:
            columns = "(window, stage, base, reply, stored_at)"
            sql(
                f"INSERT OR REPLACE INTO kept_reply {columns} VALUES (?, ?, ?, ?, ?)",
                (window, stage, base, reply, now),
            )

    def _as_they_are(self, window: Window) -> dict[str, Turn] | None:
        """The turns of a window and of what stands before it, by id; None when they are not as they were read."""
        named = dict.fromkeys((*window.turns, *window.before))
        there = {turn.text_id: turn for turn in self.turns_with_ids(tuple(named)) if not turn.withheld}
        ours = all(turn.session_id == window.session_id for turn in there.values())
        read = self._read_parts(
            "SELECT 1 FROM conversation WHERE window <> '' AND text_id IN ({})", window.turns
        )
        whole = bool(window.turns) and len(there) == len(named)
        return there if whole and ours and not read else None

    def _add_notes(self, sql: Sql, learned: Learned, turns: Mapping[str, Turn], now: str) -> dict[str, int]:
        """Store notes, each resting on all that its facts rest on too. Returns their numbers by id."""
        numbers: dict[str, int] = {}
        rests: dict[str, list[str]] = defaultdict(list)
        for fact in learned.facts:
            rests[fact.note] += fact.turns
        for note in learned.notes:
            on = _known(dict.fromkeys([*note.turns, *rests[note.text_id]]), turns)
            if on and note.turns:
                numbers[note.text_id] = self._add_note(sql, learned.window, note, on, now)
        return numbers

    def _add_note(self, sql: Sql, window: Window, note: NewNote, turns: Sequence[Turn], now: str) -> int:
        columns = (
            "text_id, session_id, window, timestamp, text, topic, importance, memory_type, private, stored_at"
        )
        said = max(turns, key=lambda turn: turn.position).timestamp
        importance = min(10, max(1, note.importance))
        about = (note.text, note.topic, importance, note.memory_type, int(note.private))
        values = (note.text_id, window.session_id, window.name, said, *about, now)
        number = sql(f"INSERT INTO note ({columns}) VALUES ({_marks(values)})", values).lastrowid or 0
        self._rest_on(sql, "note", number, [turn.seq for turn in turns])
        return number

    def _add_facts(
        self, sql: Sql, learned: Learned, turns: Mapping[str, Turn], notes: Mapping[str, int], now: str
    ) -> dict[str, int]:
        """Store facts. Returns their numbers by id."""
        numbers: dict[str, int] = {}
        for fact in learned.facts:
            if on := _known(fact.turns, turns):
                place = {
                    "session_id": learned.window.session_id,
                    "window": learned.window.name,
                    "note": notes.get(fact.note),
                    "timestamp": now,
                }
                numbers[fact.text_id] = self._add_fact(sql, fact, on, place)
        return numbers

    def _add_fact(self, sql: Sql, fact: NewFact, turns: Sequence[Turn], place: Mapping[str, object]) -> int:
        """Store one fact, which is not current before it is settled, with its words. Returns its number."""
        said = fact.said or max(turns, key=lambda turn: turn.position).timestamp
        columns: dict[str, object] = {
            **place, **_NOT_YET,
            "text_id": fact.text_id, "text": fact.restatement,
            "subject": fact.subject, "attribute": fact.attribute, "value": fact.value,
            "slot_subject": fact.slot.subject, "slot_attribute": fact.slot.attribute, "single": int(fact.single),
            "about": fact.about, "stance": fact.stance, "said": said, "location": fact.location,
            "keywords": _listing(fact.keywords), "persons": _listing(fact.persons), "entities": _listing(fact.entities),
            "start_day": fact.start, "end_day": fact.end,
        }  # fmt: skip
        values = tuple(columns.values())
        written = sql(f"INSERT INTO fact ({', '.join(columns)}) VALUES ({_marks(values)})", values)
        number = written.lastrowid or 0
        self._rest_on(sql, "fact", number, [turn.seq for turn in turns])
        self._index_facts(sql, [number])
        return number

    @staticmethod
    def _rest_on(sql: Sql, what: str, number: int, turns: Iterable[int]) -> None:
        for turn in dict.fromkeys(turns):
            sql(f"INSERT INTO {what}_turn ({what}, turn) VALUES (?, ?)", (number, turn))

    @staticmethod
    def _add_relations(sql: Sql, relations: Iterable[NewRelation], facts: Mapping[str, int]) -> None:
        for one in relations:
            if one.fact in facts:
                values = (facts[one.fact], one.source, one.relation, one.target)
                sql(
                    "INSERT OR IGNORE INTO relation (fact, source, relation, target) VALUES (?, ?, ?, ?)",
                    values,
                )

    def _add_changes(self, sql: Sql, learned: Learned, facts: Mapping[str, int], now: str) -> list[int]:
        """Note what becomes of known facts. Returns their numbers."""
        changed = []
        for change in learned.changes:
            known = self._read("SELECT seq, decided FROM fact WHERE text_id = ?", change.fact)
            if known and known[0]["decided"] != "hand":
                by = self._number_of(change, facts)
                happened = EVENT_OF[change.verdict]
                moment = change.when or now
                self._add_event(sql, known[0]["seq"], happened, moment, by, now, learned.window.name)
                changed.append(known[0]["seq"])
        return changed

    def _number_of(self, change: Change, facts: Mapping[str, int]) -> int | None:
        """The number of the fact that does a change; None when that is not stored."""
        if change.by in facts or not change.by:
            return facts.get(change.by)
        known = self._read("SELECT seq FROM fact WHERE text_id = ?", change.by)
        return int(known[0]["seq"]) if known else None

    @staticmethod
    def _add_event(
        sql: Sql, fact: int, what: Happened, moment: str, by: int | None, now: str, window: str = ""
    ) -> None:
        columns = "(fact, what, moment, by_fact, window, stored_at) VALUES (?, ?, ?, ?, ?, ?)"
        sql(f"INSERT INTO fact_event {columns}", (fact, what, moment, by, window, now))

    @staticmethod
    def _mark_read(sql: Sql, window: Window, now: str) -> None:
        """A window that is read while its session is being saved belongs to that save."""
        for text_id in window.turns:
            sql("UPDATE conversation SET window = ? WHERE text_id = ?", (window.name, text_id))
        sql(
            "INSERT OR REPLACE INTO read_window (name, session_id, saving, stored_at)"
            " VALUES (?1, ?2, EXISTS (SELECT 1 FROM save_stage WHERE session_id = ?2), ?3)",
            (window.name, window.session_id, now),
        )
        read = "SELECT text_id FROM conversation WHERE window = ?"
        sql(f"DELETE FROM kept_reply WHERE window IN ({read})", (window.name,))

    # -- by hand -------------------------------------------------------------------------------------------------

    def put_right(self, fact: str, new: NewFact | None, now: str) -> bool:
        """Let a person decide about a fact, for good: it never was, and ``new`` is so instead, or nothing is.

        The new one rests on the same turns and goes with them. A save before it is not taken back any more. False, and
        nothing, when there is no such fact.
        """
        with self._database.write() as sql:
            known = self._read("SELECT seq, session_id, window, note FROM fact WHERE text_id = ?", fact)
            if not known:
                return False
            number, names = int(known[0]["seq"]), self._renamings()
            by = self._add_by_hand(sql, number, new, known[0], now) if new else None
            self._add_event(sql, number, "put_right", now, by, now)
            sql("DELETE FROM undoable_save")
            self._settle_states(sql, _Touched({number, by or number}, set()))
            self._index_renamed(sql, names)
        return True

    def _add_by_hand(self, sql: Sql, number: int, new: NewFact, known: Row, now: str) -> int:
        rows = self._read(
            "SELECT c.text_id FROM fact_turn t JOIN conversation c ON c.seq = t.turn WHERE t.fact = ?", number
        )
        turns = self.turns_with_ids([row["text_id"] for row in rows])
        place = {name: known[name] for name in ("session_id", "window", "note")}
        return self._add_fact(sql, new, turns, place | {"timestamp": now, "by_hand": 1})

    def keep_fact(self, fact: str, kept: bool, now: str) -> bool:
        """Note whether a person wants a fact kept. False, and nothing, when there is no such fact."""
        with self._database.write() as sql:
            known = self._read("SELECT seq FROM fact WHERE text_id = ?", fact)
            if not known:
                return False
            self._add_event(sql, known[0]["seq"], "kept" if kept else "let_go", now, None, now)
            sql("DELETE FROM undoable_save")
            self._settle_states(sql, _Touched({known[0]["seq"]}, set()))
        return True

    # -- forgetting ----------------------------------------------------------------------------------------------

    def unlearn(self, windows: Sequence[str]) -> None:
        """Take back all that these windows came to, what they changed too; their turns are unread again."""
        with self._database.write() as sql:
            facts = self._numbers("SELECT seq FROM fact WHERE window IN ({})", windows)
            notes = self._numbers("SELECT seq FROM note WHERE window IN ({})", windows)
            events = self._numbers("SELECT seq FROM fact_event WHERE window IN ({})", windows)
            self._remove_known(notes, facts, events)
            for window in windows:
                sql("UPDATE conversation SET window = '' WHERE window = ?", (window,))
                sql("DELETE FROM read_window WHERE name = ?", (window,))

    def _forget_known_of(self, turns: Sequence[int]) -> None:
        """Remove all that was drawn from any of these turns, also where others are left; none of them is read any more.

        A change of which no fact is known to be the cause rests on its whole window.
        """
        with self._database.write() as sql:
            query = "SELECT DISTINCT window FROM conversation WHERE window <> '' AND seq IN ({})"
            windows = [row["window"] for row in self._read_parts(query, turns)]
            caused = "SELECT seq FROM fact_event WHERE window <> '' AND by_fact IS NULL AND window IN ({})"
            self._remove_known(
                self._numbers("SELECT note FROM note_turn WHERE turn IN ({})", turns),
                self._numbers("SELECT fact FROM fact_turn WHERE turn IN ({})", turns),
                self._numbers(caused, windows),
            )
            for turn in turns:
                sql("UPDATE conversation SET window = '' WHERE seq = ?", (turn,))
            for window in windows:
                left = "SELECT 1 FROM conversation WHERE window = ?1"
                sql(f"DELETE FROM read_window WHERE name = ?1 AND NOT EXISTS ({left})", (window,))

    def _remove_known(self, notes: Iterable[int], facts: Sequence[int], events: Sequence[int] = ()) -> None:
        """Remove notes, facts and events by number, and what these facts did to others. No reply is kept after that."""
        touched = _Touched(
            {
                *self._numbers("SELECT fact FROM fact_event WHERE by_fact IN ({})", facts),
                *self._numbers("SELECT fact FROM fact_event WHERE seq IN ({})", events),
            }
            - set(facts),
            {
                (row["slot_subject"], row["slot_attribute"])
                for row in self._read_parts(f"{_TOLD} WHERE single = 1 AND seq IN ({{}})", facts)
            },
        )
        with self._database.write() as sql:
            names = self._renamings()
            for event in events:
                sql("DELETE FROM fact_event WHERE seq = ?", (event,))
            self._unindex_facts(sql, facts)
            for fact in facts:
                # What a person called wrong stays so, also without what they put in its place.
                sql("UPDATE fact_event SET by_fact = NULL WHERE by_fact = ? AND what = 'put_right'", (fact,))
                sql("DELETE FROM fact WHERE seq = ?", (fact,))
            for note in notes:
                sql("DELETE FROM note WHERE seq = ?", (note,))
            sql("DELETE FROM kept_reply")
            self._settle_states(sql, touched)
            self._index_renamed(sql, names)

    def _numbers(self, query: str, values: Sequence[object]) -> list[int]:
        """A column of numbers, each once."""
        return list(dict.fromkeys(int(row[0]) for row in self._read_parts(query, values)))

    def _index_facts(self, sql: Sql, numbers: Sequence[int]) -> None:
        """Facts find their turns by their words as they are told now; one that a person called wrong finds none."""
        raise NotImplementedError

    def _index_renamed(self, sql: Sql, before: Sequence[Renaming]) -> None:
        """The same for those whose names are others than ``before``."""
        raise NotImplementedError

    def _unindex_facts(self, sql: Sql, numbers: Sequence[int]) -> None:
        """Facts find nothing any more."""
        raise NotImplementedError

    # -- settling ------------------------------------------------------------------------------------------------

    def _settle_states(self, sql: Sql, touched: _Touched) -> None:
        """Make the states of facts, and of all that share a slot with them, anew; what is past is written first."""
        acted_on = self._numbers("SELECT fact FROM fact_event WHERE by_fact IN ({})", list(touched.facts))
        query = f"{_TOLD} WHERE seq IN ({{}})"
        rows = {row["seq"]: row for row in self._read_parts(query, [*{*touched.facts, *acted_on}])}
        slots = touched.slots | {_slot(row) for row in rows.values() if row["alone"]}
        groups: dict[_SLOT, list[Row]] = {}
        for slot in slots:
            query = f"{_TOLD} WHERE slot_subject = ? AND slot_attribute = ? AND window <> ''"
            groups[slot] = [row for row in self._read(query, *slot) if row["alone"]]
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
                self._set_state(sql, number, state)
        self._index_facts(sql, [one for one, state in states.items() if state.wrong != _wrong(rows[one])])

    def _events(self, facts: Sequence[int]) -> dict[int, list[Event]]:
        """What happened to these facts, in order; what was done by a fact that a person called wrong did not happen."""
        query = (
            "SELECT e.fact, e.what, e.moment, coalesce(b.text_id, '') AS by, e.seq FROM fact_event e"
            f" LEFT JOIN fact b ON b.seq = e.by_fact WHERE (e.what = 'put_right' OR NOT {_TAKEN_OUT})"
            " AND e.fact IN ({})"
        )
        found: dict[int, list[Event]] = defaultdict(list)
        for row in sorted(self._read_parts(query, facts), key=lambda row: int(row["seq"])):
            found[row["fact"]].append(Event(row["what"], row["moment"], row["by"]))
        return found

    @staticmethod
    def _set_state(sql: Sql, number: int, state: FactState) -> None:
        columns = ", ".join(f"{name} = ?" for name in _STATE)
        values = tuple(int(value) if isinstance(value, bool) else value for value in _state_columns(state))
        sql(f"UPDATE fact SET {columns} WHERE seq = ?", (*values, number))


def _known(named: Iterable[str], turns: Mapping[str, Turn]) -> list[Turn]:
    """The turns that are named; none when one of them is not there, since what rests on it must not be stored."""
    names = list(named)
    return [turns[name] for name in names] if all(name in turns for name in names) else []


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _listing(words: Iterable[str]) -> str:
    return BETWEEN.join(filter(None, (" ".join(word.split()) for word in words)))


def _wrong(row: Row) -> bool:
    return bool(row["corrected"]) and row["decided"] == "hand"


def _slot(row: Row) -> _SLOT:
    return row["slot_subject"], row["slot_attribute"]


def _told(row: Row) -> Told:
    return Told(
        number=row["seq"],
        text_id=row["text_id"],
        slot=_slot(row),
        alone=bool(row["alone"]),
        by_hand=bool(row["by_hand"]),
        said=row["said"],
        start=row["start_day"],
        end=row["end_day"],
    )
