"""The log of facts: what was learned, decided by hand or removed, and which extraction windows were read.

    unread -> (an extraction reads the window) -> learn -> notes, facts, relations, events
    put_right, keep: by hand, for good          unlearn, forget_of: as if it had never been learned

A fact row is never edited; changes are appended as events, and its state is computed from the events and the other
facts of its slot (``domain.fact_states``). Removing messages, undoing a save or hiding a message therefore leaves the
other facts as if the removed ones had never existed, in any order. Each verb is one commit or nothing; a window learned
twice changes nothing. A model's reply for a window is stored when it arrives, so that a kill costs no call twice; it
counts only for the same messages and goes with them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Literal

from domain.fact_states import EVENT_OF_VERDICT, Event, EventKind, FactState, LearnedFact, settle_slot, state_of
from domain.facts import Change, Fact, Learned, NewFact, NewNote, NewRelation, Window
from domain.matters import NewMatter
from domain.records import Message
from storage.embeddings import TextIndex
from storage.engine import EACH, Database, Row, Stamp, Transaction, instant
from storage.erased import ErasedTexts, value_of
from storage.facts import BETWEEN, Facts, Renaming, messages_under, part_names
from storage.jobs import Steps
from storage.matters import Matters
from storage.messages import Messages, UndoableSaves


@dataclass(frozen=True)
class Windows:
    """Reads and writes the table ``read_window``, which window each message was read in, and the replies."""

    database: Database
    messages: Messages
    steps: Steps
    stamp: Stamp

    def unread_messages(self, window: Window) -> dict[str, Message] | None:
        """The messages of a window and of what is before it, by id; None when they are not as they were read."""
        named = dict.fromkeys((*window.messages, *window.before))
        there = {message.text_id: message for message in self.messages.with_ids(tuple(named)) if not message.hidden}
        ours = all(message.session_id == window.session_id for message in there.values())
        query = f"SELECT 1 FROM conversation WHERE window_id <> '' AND text_id IN {EACH}"
        whole = bool(window.messages) and len(there) == len(named)
        return there if whole and ours and not self.database.run(query, list(window.messages)) else None

    def mark_read(self, tx: Transaction, window: Window, rejected: Mapping[str, int], now: str) -> None:
        """A window that is read while its session is being saved belongs to that save."""
        tx.many(
            "UPDATE conversation SET window_id = ? WHERE text_id = ?", [(window.name, one) for one in window.messages]
        )
        saving = int(bool(self.steps.of("save", window.session_id)))
        tx.do(
            "INSERT INTO read_window (name, session_id, saving, stored_at, rejected) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET session_id = excluded.session_id, saving = excluded.saving,"
            " stored_at = excluded.stored_at, rejected = excluded.rejected",
            window.name, window.session_id, saving, now,
            _join_list(f"{count} {why}" for why, count in rejected.items()),
        )  # fmt: skip
        read = "SELECT text_id FROM conversation WHERE window_id = ?"
        tx.do(f"DELETE FROM step WHERE kind = 'window' AND key IN ({read})", window.name)

    def mark_unread(self, tx: Transaction, windows: Sequence[str]) -> None:
        """The messages of these windows are unread again."""
        names = list(windows)
        tx.do(f"UPDATE conversation SET window_id = '' WHERE window_id <> '' AND window_id IN {EACH}", names)
        tx.do(f"DELETE FROM read_window WHERE name IN {EACH}", names)

    def of_messages(self, messages: Sequence[int]) -> list[str]:
        """The windows in which these messages, given by number, were read."""
        query = f"SELECT DISTINCT window_id FROM conversation WHERE window_id <> '' AND seq IN {EACH}"
        return [row[0] for row in self.database.run(query, list(messages))]

    def forget_messages(self, tx: Transaction, messages: Sequence[int], windows: Sequence[str]) -> None:
        """These messages of these windows were not read; a window without any message is no window."""
        tx.do(f"UPDATE conversation SET window_id = '' WHERE seq IN {EACH}", list(messages))
        left = "SELECT 1 FROM conversation c WHERE c.window_id = read_window.name"
        tx.do(f"DELETE FROM read_window WHERE name IN {EACH} AND NOT EXISTS ({left})", list(windows))

    def rejected(self) -> Counter[str]:
        """How many drafts of a model were not believed, in all windows, by reason."""
        rows = self.database.run("SELECT rejected FROM read_window WHERE rejected <> ''")
        counted = (line.split(" ", 1) for row in rows for line in row[0].split(BETWEEN))
        total: Counter[str] = Counter()
        for count, why in counted:
            total[why] += int(count)
        return total

    def store_reply(self, window: str, stage: str, base: str, reply: str) -> None:
        """Store a reply for a stage of a window ("notes", "verify", "compare"); ``base``: what it was made from."""
        self.steps.store("window", window, stage, reply, self.stamp.now(), base)

    def replies(self, window: str) -> dict[str, tuple[str, str]]:
        """The replies that are stored for a window, by stage, each with what it was made from."""
        return self.steps.of("window", window)

    def drop_replies(self, tx: Transaction) -> None:
        """Remove all replies, because something that they may have been made from is removed."""
        self.steps.drop(tx, "window")


_STATE = tuple(field.name for field in fields(FactState))
_state_columns = attrgetter(*_STATE)
_LEARNED = (
    "SELECT seq, text_id, slot_subject, slot_attribute, single, stance, learned_as, by_hand, said, start_day, end_day,"
    f" {', '.join(_STATE)} FROM fact"
)
#: The facts that a person called wrong. Where the last decision put nothing in its place, what the fact did is void.
_PUT_RIGHT = "SELECT e.fact, e.by_fact FROM fact_event e WHERE e.what = 'put_right' ORDER BY e.seq"
_SLOT = tuple[str, str]
_Columns = dict[str, object]


@dataclass(frozen=True)
class FactLog:
    """Writes the tables ``note``, ``fact``, ``relation`` and ``fact_event``, and what is open with them.

    >>> fact_log.learn(learned)
    True
    """

    facts: Facts
    windows: Windows
    matters: Matters
    index: TextIndex
    saves: UndoableSaves
    erased: ErasedTexts
    stamp: Stamp

    def learn(self, learned: Learned, matters: Sequence[NewMatter] = ()) -> bool:
        """Store everything extracted from one window, and what is open by it, in one commit; it is read from then on.

        False, and nothing, when one of its messages was read already, is gone or is hidden. What names no message of
        the window, or one outside of it, is not stored; nor is a change of a fact that is gone, or that a person put
        right.
        """
        now = self.stamp.now()
        with self.facts.database.write() as tx:
            messages = self.windows.unread_messages(learned.window)
            if messages is None:
                return False
            names = self.facts.corrected_names()
            notes = self._add_notes(tx, learned, messages, now)
            facts = self._add_facts(tx, learned, messages, notes, now)
            _add_relations(tx, learned.relations, facts)
            changed = self._add_changes(tx, learned.window.name, learned.changes, facts, now)
            self.matters.add(tx, learned.window.name, matters, messages, now)
            self.windows.mark_read(tx, learned.window, learned.rejected, now)
            self._settle_states(tx, {*facts.values(), *changed})
            self._index_renamed(tx, names)
        return True

    def new_id(self) -> str:
        """An id for a note or a fact that is to be stored."""
        return self.stamp.new_id()

    def _add_notes(
        self, tx: Transaction, learned: Learned, messages: Mapping[str, Message], now: str
    ) -> dict[str, int]:
        """Store notes, each resting on all that its facts rest on too. Returns their numbers by id."""
        rests: dict[str, list[str]] = defaultdict(list)
        for fact in learned.facts:
            rests[fact.note] += fact.messages
        resting = (
            (note, _named_messages(dict.fromkeys([*note.messages, *rests[note.text_id]]), messages))
            for note in learned.notes
            if note.messages
        )
        rows = [(_note_columns(learned.window, note, on, now), on) for note, on in resting if on]
        return _insert_resting(tx, "note", rows)

    def _add_facts(
        self, tx: Transaction, learned: Learned, messages: Mapping[str, Message], notes: Mapping[str, int], now: str
    ) -> dict[str, int]:
        place = {"session_id": learned.window.session_id, "window_id": learned.window.name, "timestamp": now}
        resting = ((fact, _named_messages(fact.messages, messages)) for fact in learned.facts)
        stored = [(fact, on) for fact, on in resting if on]
        rows = [(_fact_columns(fact, on, place | {"note": notes.get(fact.note)}), on) for fact, on in stored]
        numbers = _insert_resting(tx, "fact", rows)
        spans = [
            (one.start, one.end, numbers[fact.text_id], messages[one.message].seq)
            for fact, _ in stored
            for one in fact.quotes
        ]
        tx.many("UPDATE fact_message SET quote_start = ?, quote_end = ? WHERE fact = ? AND message = ?", spans)
        topics = {note.text_id: note.topic for note in learned.notes}
        for fact, _ in stored:
            _add_parts(tx, numbers[fact.text_id], fact, topics.get(fact.note, ""))
        self._index_numbered(tx, list(numbers.values()), new=True)
        return numbers

    def verify(self, window: str, facts: Sequence[str], changes: Sequence[Change] = ()) -> None:
        """Let facts that were only quoted or inferred count from now on, with what they change, in one commit.

        ``window`` is where they were read; "" where a person says that they are right. Repeated, it changes nothing.
        """
        now = self.stamp.now()
        with self.facts.database.write() as tx:
            query = f"SELECT seq, text_id FROM fact WHERE verified = 0 AND corrected = 0 AND text_id IN {EACH}"
            found = {row["text_id"]: int(row["seq"]) for row in self.facts.database.run(query, list(facts))}
            self.windows.steps.drop(tx, "window", window)
            if not found:
                return
            for number in found.values():
                # It is its own cause, so that it stays where another message of the window goes.
                _add_event(tx, number, "verified", now, number if window else None, now, window)
            changed = self._add_changes(tx, window, [one for one in changes if one.by in found], found, now)
            if not window:
                self.saves.drop(tx)
            self._settle_states(tx, {*found.values(), *changed})

    def _add_changes(
        self, tx: Transaction, window: str, changes: Iterable[Change], facts: Mapping[str, int], now: str
    ) -> list[int]:
        found = [
            (row["seq"], EVENT_OF_VERDICT[change.verdict], change.when, self._number_of(change, facts))
            for change in changes
            for row in self.facts.database.run("SELECT seq, decided FROM fact WHERE text_id = ?", change.fact)
            if row["decided"] != "hand"
        ]
        renamed = self.facts.only_renamed((known, by) for known, what, _, by in found if what == "corrected" and by)
        for known, what, when, by in found:
            _add_event(tx, known, "renamed" if known in renamed else what, when or now, by, now, window)
        return [known for known, *_ in found]

    def _number_of(self, change: Change, facts: Mapping[str, int]) -> int | None:
        """The number of the fact that does a change; None when that is not stored."""
        if change.by in facts or not change.by:
            return facts.get(change.by)
        known = self.facts.database.run("SELECT seq FROM fact WHERE text_id = ?", change.by)
        return int(known[0]["seq"]) if known else None

    def correct_by_hand(self, fact: str, new: NewFact | None) -> bool:
        """Let a person decide about a fact, for good: it never was, and ``new`` is so instead, or nothing is.

        The new one rests on the same messages and goes with them. A save before it cannot be undone any more. False,
        and nothing, when there is no such fact.
        """
        now = self.stamp.now()
        with self.facts.database.write() as tx:
            known = self.facts.database.run("SELECT seq, session_id, window_id, note FROM fact WHERE text_id = ?", fact)
            if not known:
                return False
            number, names = int(known[0]["seq"]), self.facts.corrected_names()
            by = self._add_by_hand(tx, number, new, known[0], now) if new else None
            _add_event(tx, number, "put_right", now, by, now)
            wrong = self.facts.with_ids([fact])
            self.erased.add_values(tx, [one for one in wrong if new is None or value_of(one) != value_of(new)])
            self.saves.drop(tx)
            self._settle_states(tx, {number, by or number})
            self._index_renamed(tx, names)
        return True

    def _add_by_hand(self, tx: Transaction, number: int, new: NewFact, known: Row, now: str) -> int:
        messages = self.facts.messages.with_ids(messages_under(self.facts.database, "fact", [number])[number])
        place = {name: known[name] for name in ("session_id", "window_id", "note")}
        columns = _fact_columns(new, messages, place | {"timestamp": now, "by_hand": 1})
        (added,) = _insert_resting(tx, "fact", [(columns, messages)]).values()
        topics = self.facts.database.run("SELECT topic FROM note WHERE seq = ?", known["note"])
        _add_parts(tx, added, new, topics[0]["topic"] if topics else "")
        self._index_numbered(tx, [added], new=True)
        return added

    def keep_fact(self, fact: str, kept: bool = True) -> bool:
        """Note whether a person wants a fact kept. False, and nothing, when there is no such fact."""
        now = self.stamp.now()
        with self.facts.database.write() as tx:
            known = self.facts.database.run("SELECT seq FROM fact WHERE text_id = ?", fact)
            if not known:
                return False
            _add_event(tx, known[0]["seq"], "kept" if kept else "let_go", now, None, now)
            self.saves.drop(tx)
            self._settle_states(tx, {known[0]["seq"]})
        return True

    def undo_decision(self, fact: str) -> bool:
        """Take back what a person last decided about a fact, with what they put in its place; whether there was."""
        query = (
            "SELECT e.seq, e.by_fact, e.what FROM fact_event e JOIN fact f ON f.seq = e.fact WHERE f.text_id = ?"
            " AND (e.what IN ('put_right', 'kept', 'let_go') OR (e.what = 'verified' AND e.window_id = ''))"
            " ORDER BY e.seq DESC LIMIT 1"
        )
        with self.facts.database.write() as tx:
            decided = self.facts.database.run(query, fact)
            if any(row["what"] == "put_right" for row in decided):
                self.erased.remove_values(tx, self.facts.with_ids([fact]))
            for row in decided:
                self._remove_numbered(tx, (), [row["by_fact"]] if row["by_fact"] else [], [row["seq"]])
        return bool(decided)

    def unlearn_windows(self, windows: Sequence[str]) -> None:
        """Take back all that these windows resulted in, what they changed too; their messages are unread again."""
        wanted = list(windows)
        with self.facts.database.write() as tx:
            facts = self._read_numbers(f"SELECT seq FROM fact WHERE window_id IN {EACH}", wanted)
            notes = self._read_numbers(f"SELECT seq FROM note WHERE window_id IN {EACH}", wanted)
            events = self._read_numbers(f"SELECT seq FROM fact_event WHERE window_id IN {EACH}", wanted)
            self._remove_numbered(tx, notes, facts, events)
            self.matters.remove(tx, windows=wanted)
            self.windows.mark_unread(tx, wanted)

    def forget_messages(self, tx: Transaction, messages: Sequence[int]) -> None:
        """Remove all that was extracted from any of these messages, also where others are left; none of them is read.

        A change of which no fact is known to be the cause rests on its whole window.
        """
        seqs = list(messages)
        windows = self.windows.of_messages(seqs)
        caused = f"SELECT seq FROM fact_event WHERE window_id <> '' AND by_fact IS NULL AND window_id IN {EACH}"
        self._remove_numbered(
            tx,
            self._read_numbers(f"SELECT note FROM note_message WHERE message IN {EACH}", seqs),
            self._read_numbers(f"SELECT fact FROM fact_message WHERE message IN {EACH}", seqs),
            self._read_numbers(caused, windows) if windows else [],
        )
        if windows:
            self.matters.remove(tx, messages=seqs)
            self.windows.forget_messages(tx, seqs, windows)

    def remove_named(self, tx: Transaction, notes: Sequence[str], facts: Sequence[str]) -> None:
        """Remove notes and facts by id."""
        self._remove_numbered(
            tx,
            self._read_numbers(f"SELECT seq FROM note WHERE text_id IN {EACH}", list(notes)),
            self._read_numbers(f"SELECT seq FROM fact WHERE text_id IN {EACH}", list(facts)),
        )

    def _remove_numbered(
        self, tx: Transaction, notes: Sequence[int], facts: Sequence[int], events: Sequence[int] = ()
    ) -> None:
        """Remove notes, facts and events by number, and what these facts did to others; no reply is kept after that."""
        self.windows.drop_replies(tx)
        if not (notes or facts or events):
            return
        acted_on = self._read_numbers(f"SELECT fact FROM fact_event WHERE by_fact IN {EACH}", list(facts))
        acted_on += self._read_numbers(f"SELECT fact FROM fact_event WHERE seq IN {EACH}", list(events))
        alone = self.facts.database.run(f"{_LEARNED} WHERE single = 1 AND seq IN {EACH}", list(facts))
        touched, slots = {*acted_on} - {*facts}, {_slot_of(row) for row in alone}
        names = self.facts.corrected_names()
        tx.many("DELETE FROM fact_event WHERE seq = ?", [(one,) for one in events])
        self.index.set_facts(tx, [(number, "") for number in facts])
        # What a person called wrong stays so, also without what they put in its place.
        put_right = "UPDATE fact_event SET by_fact = NULL WHERE by_fact = ? AND what = 'put_right'"
        tx.many(put_right, [(one,) for one in facts])
        tx.many("DELETE FROM fact WHERE seq = ?", [(one,) for one in facts])
        tx.many("DELETE FROM note WHERE seq = ?", [(one,) for one in notes])
        self._settle_states(tx, touched, slots)
        self._index_renamed(tx, names)

    def index_all(self, tx: Transaction) -> None:
        """Make the words of all facts, for a memory that was filled from elsewhere."""
        keys = self.facts.database.run("SELECT seq, text FROM fact WHERE window_id = ''")
        self.index.set_facts(tx, [(row["seq"], row["text"]) for row in keys])
        self._index_numbered(tx, [fact.number for fact in self.facts.all()])

    def _index_numbered(self, tx: Transaction, numbers: Sequence[int], *, new: bool = False) -> None:
        """Facts find their messages by their words as they are now; one that a person called wrong finds none."""
        shown = {fact.number: fact for fact in self.facts.with_numbers(numbers)}
        self.index.set_facts(tx, [(number, _search_words(shown.get(number))) for number in numbers], new=new)

    def _index_renamed(self, tx: Transaction, before: Sequence[Renaming]) -> None:
        """The same for those whose names are others than ``before``."""
        changed = {*before} ^ {*self.facts.corrected_names()}
        names = [name for one in changed for name in (one.wrong, one.right)]
        if names:
            touched = [one.number for one in self.facts.all() if any(name in one.all_words for name in names)]
            self._index_numbered(tx, touched)

    def _settle_states(self, tx: Transaction, facts: set[int], slots: AbstractSet[_SLOT] = frozenset()) -> None:
        """Compute the states of facts, of all in these slots or in theirs; what leaves a slot is written first."""
        acted_on = self._read_numbers(f"SELECT fact FROM fact_event WHERE by_fact IN {EACH}", list(facts))
        wanted = list({*facts, *acted_on})
        found = self.facts.database.run(f"{_LEARNED} WHERE seq IN {EACH}", wanted) if wanted else []
        rows = {row["seq"]: row for row in found}
        slots = slots | {_slot_of(row) for row in rows.values() if _is_alone(row)}
        groups: dict[_SLOT, list[Row]] = {}
        for slot in slots:
            query = f"{_LEARNED} WHERE slot_subject = ? AND slot_attribute = ? AND window_id <> ''"
            groups[slot] = [row for row in self.facts.database.run(query, *slot) if _is_alone(row)]
            rows |= {row["seq"]: row for row in groups[slot]}
        learned = {
            number: LearnedFact(
                number, row["text_id"], said=row["said"], start=row["start_day"], end=row["end_day"],
                alone=_is_alone(row), by_hand=bool(row["by_hand"]), verified=row["learned_as"] == "verified",
            )
            for number, row in rows.items()
        }  # fmt: skip
        happened = self._events_of(list(rows))
        states = {number: state_of(one, happened[number]) for number, one in learned.items()}
        for group in groups.values():
            states |= settle_slot(
                [learned[row["seq"]] for row in group], {row["seq"]: states[row["seq"]] for row in group}
            )
        changed = [
            (*(int(value) if isinstance(value, bool) else value for value in _state_columns(state)), number)
            for number, state in sorted(states.items(), key=lambda item: item[1].current and item[1].verified)
            if tuple(rows[number][name] for name in _STATE) != _state_columns(state)
        ]
        tx.many(f"UPDATE fact SET {', '.join(f'{name} = ?' for name in _STATE)} WHERE seq = ?", changed)
        found_by = {
            one: (bool(row["corrected"]) and row["decided"] == "hand", bool(row["verified"]))
            for one, row in rows.items()
        }
        self._index_numbered(
            tx, [one for one, state in states.items() if (state.wrong, state.verified) != found_by[one]]
        )

    def _events_of(self, facts: Sequence[int]) -> dict[int, list[Event]]:
        """What happened to these facts, in order; what was done by a fact that a person called wrong did not happen."""
        query = (
            "SELECT e.fact, e.what, e.moment, coalesce(b.text_id, '') AS by_id, e.by_fact FROM fact_event e"
            f" LEFT JOIN fact b ON b.seq = e.by_fact AND b.seq <> e.fact WHERE e.fact IN {EACH} ORDER BY e.seq"
        )
        found: dict[int, list[Event]] = defaultdict(list)
        rows = self.facts.database.run(query, list(facts)) if facts else []
        last = self.facts.database.run(_PUT_RIGHT) if any(row["by_fact"] for row in rows) else []
        wrong = {fact for fact, by in {row["fact"]: row["by_fact"] for row in last}.items() if by is None}
        for row in rows:
            if row["what"] == "put_right" or row["by_fact"] not in wrong:
                found[row["fact"]].append(Event(row["what"], row["moment"], row["by_id"]))
        return found

    def _read_numbers(self, query: str, values: Sequence[object]) -> list[int]:
        return list(dict.fromkeys(int(row[0]) for row in self.facts.database.run(query, values))) if values else []


def _note_columns(window: Window, note: NewNote, messages: Sequence[Message], now: str) -> _Columns:
    said = max(messages, key=lambda message: message.position).timestamp
    return {
        "text_id": note.text_id, "session_id": window.session_id, "window_id": window.name,
        "timestamp": said, "text": note.text, "topic": note.topic, "importance": min(10, max(1, note.importance)),
        "memory_type": note.memory_type, "private": int(note.private), "stored_at": now, "instant": instant(now),
    }  # fmt: skip


def _fact_columns(fact: NewFact, messages: Sequence[Message], place: _Columns) -> _Columns:
    return {
        **place,
        # Until it is settled a new fact is not current, so that no two are for a moment.
        "corrected": 1,
        "text_id": fact.text_id, "text": fact.restatement,
        "subject": fact.subject, "attribute": fact.attribute, "value": fact.value,
        "slot_subject": fact.slot.subject, "slot_attribute": fact.slot.attribute, "single": int(fact.single),
        "about": fact.about, "stance": fact.stance, "learned_as": fact.basis, "verified": int(fact.basis == "verified"),
        "said": fact.said or max(messages, key=lambda message: message.position).timestamp, "location": fact.location,
        "keywords": _join_list(fact.keywords), "persons": _join_list(fact.persons),
        "entities": _join_list(fact.entities),
        "start_day": fact.start, "end_day": fact.end,
    }  # fmt: skip


def _insert_resting(
    tx: Transaction, what: Literal["note", "fact"], rows: Sequence[tuple[_Columns, Sequence[Message]]]
) -> dict[str, int]:
    if not rows:
        return {}
    numbered, columns = list(enumerate(rows, start=tx.next(what, len(rows)))), ("seq", *rows[0][0])
    values = [(number, *row.values()) for number, (row, _) in numbered]
    tx.many(f"INSERT INTO {what} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", values)
    rests = [(number, seq) for number, (_, on) in numbered for seq in dict.fromkeys(message.seq for message in on)]
    tx.many(f"INSERT INTO {what}_message ({what}, message) VALUES (?, ?)", rests)
    return {str(row["text_id"]): number for number, (row, _) in numbered}


def _add_parts(tx: Transaction, number: int, fact: NewFact, topic: str) -> None:
    """By what a fact is filtered; whoever it is about is one of its persons."""
    named = [("person", one) for one in (fact.subject, *fact.persons)]
    named += [("entity", one) for one in fact.entities] + [("location", fact.location), ("topic", topic)]
    parts = dict.fromkeys((number, kind, name) for kind, one in named for name in part_names(one))
    tx.many("INSERT INTO fact_part (fact, kind, name) VALUES (?, ?, ?)", list(parts))


def _add_relations(tx: Transaction, relations: Iterable[NewRelation], facts: Mapping[str, int]) -> None:
    wanted = dict.fromkeys(
        (facts[one.fact], one.source, one.relation, one.target) for one in relations if one.fact in facts
    )
    first = tx.next("relation", len(wanted)) if wanted else 0
    rows = [(first + at, *one) for at, one in enumerate(wanted)]
    tx.many("INSERT INTO relation (seq, fact, source, relation, target) VALUES (?, ?, ?, ?, ?)", rows)


def _add_event(
    tx: Transaction, fact: int, what: EventKind, moment: str, by: int | None, now: str, window: str = ""
) -> None:
    columns = "(seq, fact, what, moment, by_fact, window_id, stored_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
    tx.do(f"INSERT INTO fact_event {columns}", tx.next("fact_event"), fact, what, moment, by, window, now)


def _search_words(fact: Fact | None) -> str:
    """By what a fact is found: if it is only quoted, its words; "" if it is gone, inferred or called wrong."""
    if fact is None or (fact.corrected and fact.decided == "hand"):
        return ""
    if not fact.verified:
        return fact.believed
    return " ".join((fact.restatement, *fact.keywords, *fact.persons, *fact.entities, fact.location))


def _named_messages(named: Iterable[str], messages: Mapping[str, Message]) -> list[Message]:
    """The messages that are named; none when one of them is not there, since what rests on it must not be stored."""
    names = list(named)
    return [messages[name] for name in names] if all(name in messages for name in names) else []


def _join_list(words: Iterable[str]) -> str:
    return BETWEEN.join(filter(None, (" ".join(word.split()) for word in words)))


def _is_alone(row: Row) -> bool:
    """Whether of such facts one at a time is current in a slot."""
    return bool(row["single"] == 1 and row["stance"] == "stated")


def _slot_of(row: Row) -> _SLOT:
    return row["slot_subject"], row["slot_attribute"]
