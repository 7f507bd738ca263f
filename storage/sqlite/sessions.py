"""What was said in sessions: rounds and summaries, what is in flight and the stages of a save; and, for recall, where
turns stand.

Each method is one transaction, or part of the one that its caller is in. Order is by place, never by clock: where a
session stands among the others, and a turn in its session.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from domain.records import PREFIX, Finish, InFlight, Quoted, Round, Session, Summary, Turn, paired
from storage.sqlite.database import Row, Tables
from storage.sqlite.schema import TURN_SPACE
from storage.store import NewSummary, NewTurn, TurnRow

T = TypeVar("T")

SESSION = (
    "SELECT session_id, number, start_timestamp, end_timestamp, status, current_conv_count, stored_at, position,"
    " door, door_key FROM session"
)
TURN = (
    "SELECT c.seq, c.text_id, c.session_id, c.timestamp, c.role, c.text, c.round, c.finish, c.folded, c.stored_at,"
    " c.position, c.withheld, c.quoted, c.standin, c.speaker, c.undated FROM conversation c"
)
#: A summary stands where its session stands.
SUMMARY = (
    "SELECT m.seq, m.text_id, m.session_id, m.timestamp, m.summary, m.upto_round, m.stored_at, s.position"
    " FROM summary m JOIN session s USING (session_id)"
)
_IN_FLIGHT = "SELECT session_id, timestamp, text, partial FROM in_flight"
#: The turn that the last folded round ends with.
_END_OF_ROUND = "(SELECT max(position) FROM conversation WHERE session_id = ?1 AND round = ?2)"


class SessionTables(Tables):
    """Reads and writes the tables ``session``, ``conversation``, ``summary``, ``in_flight`` and ``save_stage``."""

    def session(self, session_id: str) -> Session | None:
        """One session by its id."""
        return first_of(session_of, self._read(f"{SESSION} WHERE session_id = ?", session_id))

    def recent_sessions(self, limit: int, offset: int) -> list[Session]:
        """Sessions, newest first; a limit of -1 is none."""
        query = f"{SESSION} ORDER BY position DESC LIMIT ? OFFSET ?"
        return [session_of(row) for row in self._read(query, limit, offset)]

    def session_counts(self) -> tuple[int, int]:
        """How many archived sessions and how many rounds there are."""
        sessions = self._read("SELECT count(*) FROM session WHERE status = 'archived'")[0][0]
        rounds = self._read("SELECT count(*) FROM conversation WHERE role = 'user'")[0][0]
        return int(sessions), int(rounds)

    def context(self, session_id: str) -> tuple[Round, ...]:
        """The rounds that are in the context, not yet folded, oldest first."""
        query = f"{TURN} WHERE session_id = ? AND folded = 0 ORDER BY position"
        return paired(map(turn_of, self._read(query, session_id)))

    def rounds(self, session_id: str, last: int | None = None) -> tuple[Round, ...]:
        """All rounds of a session, or its ``last`` ones, oldest first."""
        query = f"{TURN} WHERE session_id = ? ORDER BY position DESC LIMIT ?"
        if last is None:
            return paired(map(turn_of, self._read(query, session_id, -1)[::-1]))
        asked = last * 2
        while len(rows := self._read(query, session_id, asked)) == asked > 0:
            if len(found := paired(map(turn_of, rows[::-1]))) >= last:
                return found[-last:]
            # Turns whose partner was erased stand among them.
            asked *= 4
        return paired(map(turn_of, rows[::-1]))[-last:]

    def turns_of(self, session_id: str) -> list[Turn]:
        """Every turn of a session in order, also one whose partner was erased."""
        query = f"{TURN} WHERE session_id = ? ORDER BY position"
        return [turn_of(row) for row in self._read(query, session_id)]

    def turns_with_ids(self, text_ids: Sequence[str]) -> list[Turn]:
        """The turns with these ids that are still there, in their order of time."""
        columns = TURN.replace(" FROM", ", s.position AS session_position FROM", 1)
        query = f"{columns} JOIN session s USING (session_id) WHERE c.text_id IN ({{}})"
        rows = self._read_parts(query, text_ids)
        rows.sort(key=lambda row: (row["session_position"], row["position"]))
        return [turn_of(row[:-1]) for row in rows]

    def turns_beginning(self, prefix: str) -> list[Turn]:
        """The turns whose ids begin so, in their order of time."""
        query = "SELECT text_id FROM conversation WHERE text_id >= ?1 AND text_id < ?1 || char(1114111)"
        return self.turns_with_ids([row[0] for row in self._read(query, prefix)]) if prefix else []

    def turns_after(self, seq: int, most: int) -> list[Turn]:
        """The next turns of all sessions, in the order in which they were stored."""
        query = f"{TURN} WHERE seq > ? ORDER BY seq LIMIT ?"
        return [turn_of(row) for row in self._read(query, seq, most)]

    def before(self, turn: Turn, count: int) -> list[Turn]:
        """Up to ``count`` turns of its session right before this one, oldest first, withheld ones left out."""
        query = (
            f"{TURN} WHERE session_id = ? AND position < ? AND NOT withheld ORDER BY position DESC LIMIT ?"
        )
        return [turn_of(row) for row in self._read(query, turn.session_id, turn.position, count)[::-1]]

    def summary(self, session_id: str) -> Summary | None:
        """The summary of a session, if it has one."""
        return first_of(summary_of, self._read(f"{SUMMARY} WHERE session_id = ?", session_id))

    def summaries_with_ids(self, text_ids: Sequence[str]) -> list[Summary]:
        """The summaries with these ids that are still there, in the order of their sessions."""
        found = map(summary_of, self._read_parts(f"{SUMMARY} WHERE m.text_id IN ({{}})", text_ids))
        return sorted(found, key=lambda summary: summary.position)

    def every_summary(self) -> list[Summary]:
        """The summaries of all sessions, in the order of their sessions."""
        return [summary_of(row) for row in self._read(f"{SUMMARY} ORDER BY s.position")]

    def sessions_of_door(self, door: str, key: str | None = None) -> list[Session]:
        """Every session of a door, or those of one of its keys, oldest first."""
        query = (
            f"{SESSION} WHERE door = ?1 AND door <> '' AND (?2 IS NULL OR door_key = ?2) ORDER BY position"
        )
        return [session_of(row) for row in self._read(query, door, key)]

    def _add_round(
        self, session_id: str, turns: Sequence[NewTurn], finish: Finish, now: str, before: Round | None
    ) -> Round:
        number = self._add_turns(session_id, turns, finish, now, before)
        query = f"{TURN} WHERE session_id = ? AND round = ? ORDER BY position"
        return paired(map(turn_of, self._read(query, session_id, number)))[0]

    def _add_turns(
        self, session_id: str, turns: Sequence[NewTurn], finish: Finish, now: str, before: Round | None = None
    ) -> int:
        """The turns of one round, at the end of its session or before another. Returns its number."""
        number: int = self._read(
            "SELECT coalesce(max(round), 0) + 1 FROM conversation WHERE session_id = ?", session_id
        )[0][0]
        columns = (
            "text_id, session_id, timestamp, role, text, round, finish, stored_at, quoted, standin, position"
        )
        with self._database.write() as sql:
            at = self._room_before(before) if before else self._end_of(session_id)
            for place, turn in enumerate(turns, start=1):
                text = PREFIX[turn.role] + turn.words
                said = (turn.text_id, session_id, turn.timestamp, turn.role, text, number, finish, now)
                values = (*said, _quoted_column(turn.quoted), int(turn.standin), at + place * TURN_SPACE)
                sql(f"INSERT INTO conversation ({columns}) VALUES ({', '.join('?' * len(values))})", values)
            self._count(session_id)
        return number

    def _end_of(self, session_id: str) -> int:
        query = "SELECT coalesce(max(position), 0) FROM conversation WHERE session_id = ?"
        return int(self._read(query, session_id)[0][0])

    def _room_before(self, later: Round) -> int:
        """Move what stands from a round on, so that another has room before it. Returns the place that is taken."""
        session_id, text_id = later.user.session_id, later.user.text_id
        with self._database.write() as sql:
            at = int(self._read("SELECT position FROM conversation WHERE text_id = ?", text_id)[0][0])
            sql(
                "UPDATE conversation SET position = position + ? WHERE session_id = ? AND position >= ?",
                (2 * TURN_SPACE, session_id, at),
            )
        return at - TURN_SPACE

    def _restore(self, turns: Sequence[Turn], summary: Summary | None) -> None:
        """Put back what was removed, as it was."""
        columns = (
            "seq, text_id, session_id, timestamp, role, text, round, finish, folded, stored_at, position"
            ", withheld, standin, speaker, undated"
        )
        with self._database.write() as sql:
            for turn in turns:
                values = [*(getattr(turn, name) for name in columns.split(", ")), _quoted_column(turn.quoted)]
                marks = ", ".join("?" * len(values))
                sql(f"INSERT INTO conversation ({columns}, quoted) VALUES ({marks})", values)
            if summary:
                columns = "seq, text_id, session_id, timestamp, summary, upto_round, stored_at"
                values = [getattr(summary, name) for name in columns.split(", ")]
                sql(f"INSERT INTO summary ({columns}) VALUES ({', '.join('?' * len(values))})", values)
            for session_id in {turn.session_id for turn in turns}:
                self._count(session_id)

    def _add_summary(self, session_id: str, new: NewSummary, upto: int) -> Summary:
        columns = "(text_id, session_id, timestamp, summary, upto_round, stored_at) VALUES (?, ?, ?, ?, ?, ?)"
        values = (new.text_id, session_id, new.timestamp, new.text, upto, new.timestamp)
        with self._database.write() as sql:
            sql(f"INSERT INTO summary {columns}", values)
        return self.summaries_with_ids([new.text_id])[0]

    def _delete_summary(self, session_id: str) -> None:
        with self._database.write() as sql:
            sql("DELETE FROM summary WHERE session_id = ?", (session_id,))

    def _mark_folded(self, session_id: str, upto: int) -> None:
        """Let all rounds as far as the round ``upto`` leave the context."""
        with self._database.write() as sql:
            sql(
                "UPDATE conversation SET folded = 1"
                f" WHERE session_id = ?1 AND folded = 0 AND position <= {_END_OF_ROUND}",
                (session_id, upto),
            )
            self._count(session_id)

    def _set_words(self, turn: Turn, words: str) -> None:
        with self._database.write() as sql:
            sql(
                "UPDATE conversation SET text = ? WHERE text_id = ?",
                (PREFIX[turn.role] + words, turn.text_id),
            )

    def in_flight(self, session_id: str) -> InFlight | None:
        """What was typed in a session and has had no whole reply."""
        rows = self._read(f"{_IN_FLIGHT} WHERE session_id = ?", session_id)
        return InFlight(*rows[0]) if rows else None

    def every_in_flight(self) -> list[InFlight]:
        """The same of all sessions."""
        return [InFlight(*row) for row in self._read(_IN_FLIGHT)]

    def note_in_flight(self, session_id: str, now: str, text: str) -> None:
        """Write down what was typed, before anything else is done with it."""
        with self._database.write() as sql:
            sql("INSERT OR REPLACE INTO in_flight VALUES (?, ?, ?, '')", (session_id, now, text))

    def keep_partial(self, session_id: str, partial: str) -> None:
        """Keep what has come of the reply beside it."""
        with self._database.write() as sql:
            sql("UPDATE in_flight SET partial = ? WHERE session_id = ?", (partial, session_id))

    def drop_in_flight(self, session_id: str) -> None:
        """Forget what was in flight in a session."""
        with self._database.write() as sql:
            sql("DELETE FROM in_flight WHERE session_id = ?", (session_id,))

    def stages(self, session_id: str) -> dict[str, str]:
        """Results of the stages of ``/save`` that are done."""
        rows = self._read("SELECT stage, result FROM save_stage WHERE session_id = ?", session_id)
        return {row["stage"]: row["result"] for row in rows}

    def keep_stage(self, session_id: str, stage: str, now: str, result: str) -> None:
        """Keep the result of a stage as soon as it is there."""
        with self._database.write() as sql:
            sql("INSERT OR REPLACE INTO save_stage VALUES (?, ?, ?, ?)", (session_id, stage, now, result))

    def drop_stages(self, session_id: str) -> None:
        """Forget the stages: they are done, or the session has gone on. What was read for them is read."""
        with self._database.write() as sql:
            sql("DELETE FROM save_stage WHERE session_id = ?", (session_id,))
            sql("UPDATE read_window SET saving = 0 WHERE session_id = ? AND saving", (session_id,))

    def _drop_all_stages(self) -> None:
        with self._database.write() as sql:
            sql("DELETE FROM save_stage")

    def withheld(self) -> list[Turn]:
        """The turns that the person asked to have forgotten, in their order of time."""
        rows = self._read("SELECT text_id FROM conversation WHERE withheld")
        return self.turns_with_ids([row[0] for row in rows])

    def _set_withheld(self, turns: Iterable[Turn], withheld: bool) -> None:
        with self._database.write() as sql:
            for turn in turns:
                sql("UPDATE conversation SET withheld = ? WHERE text_id = ?", (int(withheld), turn.text_id))

    def _make_room(self, first: Sequence[Turn]) -> None:
        """Let what stands in a session follow these turns, which are to be put back in front of it."""
        if not first or not (present := self.turns_of(first[0].session_id)):
            return
        rounds = max(turn.round for turn in [*first, *present])
        places = max(turn.position for turn in [*first, *present])
        with self._database.write() as sql:
            sql(
                "UPDATE conversation SET round = round + ?, position = position + ? WHERE session_id = ?",
                (rounds, places, first[0].session_id),
            )

    def _delete_turns(self, turns: Iterable[Turn]) -> None:
        with self._database.write() as sql:
            touched = set()
            for turn in turns:
                sql("DELETE FROM conversation WHERE text_id = ?", (turn.text_id,))
                touched.add(turn.session_id)
            for session_id in touched:
                self._count(session_id)

    def _count(self, session_id: str) -> None:
        """Note how many rounds of a session are in its context."""
        with self._database.write() as sql:
            sql(
                "UPDATE session SET current_conv_count = (SELECT count(*) FROM conversation"
                " WHERE session_id = ?1 AND folded = 0 AND role = 'user') WHERE session_id = ?1",
                (session_id,),
            )


class TurnReader(Tables):
    """Reads of turns, summaries and sessions by number. Nothing is written here."""

    def after(self, seq: int, most: int) -> list[TurnRow]:
        """The places of the next ``most`` turns stored after ``seq``, in order."""
        rows = self._read(
            "SELECT c.seq, s.number, c.role = 'user', coalesce(l.length, 0), coalesce(l.marks, 0), c.timestamp,"
            " c.position"
            " FROM conversation c JOIN session s USING (session_id) LEFT JOIN turn_length l ON l.seq = c.seq"
            " WHERE c.seq > ? AND NOT c.withheld AND NOT c.standin"
            " AND NOT EXISTS (SELECT 1 FROM faded f WHERE f.text_id = c.text_id) ORDER BY c.seq LIMIT ?",
            seq,
            most,
        )
        return [TurnRow(row[0], row[1], bool(row[2]), row[3], row[4], row[5], row[6]) for row in rows]

    def turns(self, seqs: Sequence[int]) -> list[Turn]:
        """Turns by number, in order; one that is gone, withheld or the stand-in's is left out."""
        query = f"{TURN} WHERE seq IN ({{}}) AND NOT withheld AND NOT standin ORDER BY seq"
        return [turn_of(row) for row in self._read_parts(query, sorted(seqs))]

    def seqs_of(self, text_ids: Sequence[str]) -> dict[str, int]:
        """The numbers of turns by id; one that is gone is left out."""
        query = "SELECT text_id, seq FROM conversation WHERE text_id IN ({}) AND NOT withheld AND NOT standin"
        return {row[0]: row[1] for row in self._read_parts(query, text_ids)}

    def session_number(self, session_id: str) -> int | None:
        """The number of a session."""
        rows = self._read("SELECT number FROM session WHERE session_id = ?", session_id)
        return int(rows[0][0]) if rows else None

    def summaries(self, sessions: Sequence[int]) -> dict[int, Summary]:
        """The summaries of sessions by session number; a session without one, or whose has faded, is left out."""
        query = (
            SUMMARY.replace(" FROM", ", s.number FROM", 1) + " WHERE s.number IN ({}) AND m.summary <> ''"
            " AND NOT EXISTS (SELECT 1 FROM faded f WHERE f.text_id = m.session_id)"
        )
        return {row["number"]: Summary(*tuple(row)[:-1]) for row in self._read_parts(query, sessions)}

    def sessions_of_summaries(
        self, *, seqs: Sequence[int] = (), text_ids: Sequence[str] = ()
    ) -> dict[int | str, int]:
        """Session numbers by the number, or the id, of their summary."""
        query = (
            "SELECT m.{0}, s.number FROM summary m JOIN session s USING (session_id) WHERE m.{0} IN ({{}})"
        )
        found: dict[int | str, int] = {}
        for column, keys in (("seq", seqs), ("text_id", text_ids)):
            found.update({row[0]: row[1] for row in self._read_parts(query.format(column), keys)})
        return found

    def turns_of_facts(self, facts: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of (fact, turn), by number: which turns these facts were drawn from."""
        query = "SELECT fact, turn FROM fact_turn WHERE fact IN ({})"
        return [(row[0], row[1]) for row in self._read_parts(query, facts)]


def first_of(make: Callable[[Row], T], rows: list[Row]) -> T | None:
    """What is made of the first row, if there is one."""
    return make(rows[0]) if rows else None


def session_of(row: Row) -> Session:
    """A session out of a row that ``SESSION`` reads."""
    return Session(*row)


def turn_of(row: Sequence[Any]) -> Turn:
    """A turn out of a row that ``TURN`` reads."""
    values = list(row)
    values[8], values[11] = bool(values[8]), bool(values[11])
    values[12] = tuple(Quoted(*one) for one in json.loads(values[12])) if values[12] else ()
    values[13], values[15] = bool(values[13]), bool(values[15])
    return Turn(*values)


def _quoted_column(quoted: Sequence[Quoted]) -> str:
    return json.dumps([(one.number, one.text_id, one.timestamp) for one in quoted]) if quoted else ""


def summary_of(row: Row) -> Summary:
    """A summary out of a row that ``SUMMARY`` reads."""
    return Summary(*row)
