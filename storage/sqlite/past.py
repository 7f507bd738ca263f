"""What was brought along from other programs: the SQL by which it is stored, known again and taken back.

A message is known by the digests of its conversation and of itself, whatever became of its turn. Each method is one
transaction, or part of the one that its caller is in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from domain.imports import (
    IMPORT_DOOR,
    Added,
    ImportSource,
    PastPiece,
    PastTurn,
)
from domain.records import PREFIX, Turn
from storage.sqlite import digests
from storage.sqlite.database import Row
from storage.sqlite.lexicon import words_found_by
from storage.sqlite.reading_left import ReadingUpTables
from storage.sqlite.schema import SESSION_SPACE, TURN_SPACE
from storage.store import NewSummary

_SOURCE = "SELECT number, name, kind, state, conversations, messages, stored_at FROM import_source"
_DIGEST = 16
#: So far apart stand sessions that are put between two others one after another.
_CLOSE = 1 << 8


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a turn stands; whether it is the last of its session, and whether its reply may still come."""

    session_id: str
    position: int
    round: int
    last: bool
    waits: bool


@dataclass(frozen=True, slots=True)
class _Run:
    """New turns that follow each other in one stretch, right after one that stands, right before one, or alone.

    ``after`` and ``before`` are the numbers of those, 0 for none.
    """

    stretch: int
    after: int
    before: int
    turns: list[PastTurn] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Import:
    """What stays the same for all turns of a piece."""

    source: int
    conversation: str
    piece: PastPiece
    now: str
    new_id: Callable[[], str]


class ImportTables(ReadingUpTables):
    """Reads and writes ``import_source``, ``imported_session`` and ``imported_message``."""

    # -- sources -------------------------------------------------------------------------------------------------

    def begin_import(self, name: str, kind: str, sha256: str, reader: int, now: str) -> int:
        """Note that a file is being brought along, or is again. Returns its number."""
        columns = "(name, kind, sha256, reader, state, stored_at) VALUES (?, ?, ?, ?, 'begun', ?)"
        again = "UPDATE import_source SET state = 'begun', reader = ? WHERE kind = ? AND sha256 = ?"
        with self._database.write() as sql:
            if not sql(again, (reader, kind, sha256)).rowcount:
                sql(f"INSERT INTO import_source {columns}", (name, kind, sha256, reader, now))
        query = "SELECT number FROM import_source WHERE kind = ? AND sha256 = ?"
        return int(self._read(query, kind, sha256)[0][0])

    def end_import(self, number: int, conversations: int) -> None:
        """All of it was brought along; ``conversations`` stand in it."""
        stored = "(SELECT count(*) FROM imported_message WHERE source = ?2 AND turn > 0)"
        done = f"state = 'done', conversations = ?1, messages = {stored}"
        with self._database.write() as sql:
            sql(f"UPDATE import_source SET {done} WHERE number = ?2", (conversations, number))

    def imports(self) -> list[ImportSource]:
        """What was brought along, oldest first."""
        return [ImportSource(*row) for row in self._read(f"{_SOURCE} ORDER BY number")]

    def _unname_imports(self, names: Sequence[str]) -> None:
        """Let the files of these names have none."""
        with self._database.write() as sql:
            for name in names:
                sql("UPDATE import_source SET name = '' WHERE name = ?", (name,))

    def _untitle(self, sessions: Collection[str]) -> list[str]:
        """Let no other session of the conversations of these have their title, which may tell what went.

        Neither one that is there, nor one that a newer export brings. Returns what is gone.
        """
        stands = "FROM imported_message m JOIN conversation c ON c.seq = m.turn"
        of_these = f"{stands} WHERE c.session_id = ?"
        marked = "INSERT OR IGNORE INTO imported_message SELECT DISTINCT m.conversation, '', 0, m.source "
        titled = (
            "SELECT session_id FROM summary WHERE upto_round = 0 AND session_id IN (SELECT c.session_id"
            f" {stands} WHERE m.conversation IN (SELECT m.conversation {of_these}))"
        )
        gone: list[str] = []
        with self._database.write() as sql:
            for session_id in sessions:
                sql(marked + of_these, (session_id,))
                for (other,) in self._read(titled, session_id):
                    gone += [] if other in sessions else self._lose_summary(self.summary(other))
        return gone

    def _untitled(self, conversation: str) -> bool:
        query = "SELECT 1 FROM imported_message WHERE conversation = ? AND message = ''"
        return bool(self._read(query, conversation))

    def turns_of_import(self, number: int, most: int) -> list[str]:
        """Up to ``most`` turns that this import brought along and that are still there."""
        query = (
            "SELECT text_id FROM conversation c WHERE EXISTS (SELECT 1 FROM imported_message m"
            " WHERE m.turn = c.seq AND m.source = ?) ORDER BY c.seq LIMIT ?"
        )
        return [str(row[0]) for row in self._read(query, number, most)]

    def forget_import(self, number: int) -> None:
        """Know nothing of an import any more: what it brought may come again."""
        with self._database.write() as sql:
            self._database.digest_changes()
            brought = "SELECT turn FROM imported_message WHERE source = ?"
            sql(f"DELETE FROM stored_message WHERE turn IN ({brought})", (number,))
            sql("DELETE FROM imported_message WHERE source = ?", (number,))
            sql("DELETE FROM import_source WHERE number = ?", (number,))

    def remove_past(self, text_ids: Sequence[str]) -> list[str]:
        """Remove turns, and the sessions of an import of which nothing is left. Returns what is gone."""
        turns = self.turns_with_ids(text_ids)
        gone = [turn.text_id for turn in turns]
        with self._database.write():
            self._remove_turns(turns)
            for session_id in dict.fromkeys(turn.session_id for turn in turns):
                gone += self._remove_emptied(session_id)
        return gone

    def _remove_emptied(self, session_id: str) -> list[str]:
        """A session that was brought along and holds no turn any more; one that still does gets another summary."""
        summary = self.summary(session_id)
        gone = self._lose_summary(summary)
        self.drop_stages(session_id)
        if self._read("SELECT 1 FROM conversation WHERE session_id = ? LIMIT 1", session_id):
            self._settle_session(session_id, 0)
            if summary:
                self._ask_anew("summary", session_id, summary.timestamp)
        elif self._read("SELECT 1 FROM session WHERE session_id = ? AND door = ?", session_id, IMPORT_DOOR):
            self._delete_session(session_id)
        return gone

    # -- storing -------------------------------------------------------------------------------------------------

    def add_past(self, source: int, piece: PastPiece, now: str, new_id: Callable[[], str]) -> Added:
        """Store the turns of a piece that were never stored, each where it belongs. Returns how much was new."""
        self._database.digest_changes()
        known = self._known_past(piece)
        standing = self._standing(list(known.values()))
        known = dict.fromkeys(self._recognised(piece, known), 0) | known
        fresh = [turn for turn in piece.turns if turn.key not in known]
        if not fresh:
            return Added()
        how = _Import(source, _digest(piece.log or piece.conversation), piece, now, new_id)
        runs = _runs(piece, known, {key: seq for key, seq in known.items() if seq in standing})
        with self._database.write():
            for run in runs:
                self._add_run(run, how)
        return Added(len(fresh), sum(not (run.after or run.before) for run in runs))

    def count_known(self, piece: PastPiece) -> int:
        """How many turns of a piece were stored before."""
        known = self._known_past(piece)
        known_keys = known.keys() | self._recognised(piece, known)
        return sum(turn.key in known_keys for turn in piece.turns)

    def _recognised(self, piece: PastPiece, known: Collection[str]) -> set[str]:
        """The keys of messages that were stored in another way than by this conversation, whatever became of them.

        One that comes under the id that it was stored under is enough by itself. By what was said when, a message is
        recognised together with its neighbours: the same word in the same minute may be said to two people.
        """
        turns = [*([piece.before] if piece.before else []), *piece.turns]
        salts = self._read(digests.SALT)
        if not salts or all(turn.key in known for turn in piece.turns):
            return set()
        names = {turn.key: _names(str(salts[0][0]), turn) for turn in turns}
        copies = {turn.key: turn.copy for turn in turns}
        wanted = list({name for by_id, said in names.values() for name in (*by_id, said)})
        query = "SELECT digest, count(*) FROM stored_message WHERE digest IN ({}) GROUP BY digest"
        stored = {str(row[0]): int(row[1]) for row in self._read_parts(query, wanted)}
        by_id = {
            key for key, (names_by_id, _) in names.items() if any(name in stored for name in names_by_id)
        }
        if piece.live:
            return by_id
        said = {key for key, (_, name) in names.items() if stored.get(name, 0) > copies[key]}
        alike = [turn.key not in known and (turn.key in by_id or turn.key in said) for turn in turns]
        return by_id | {turn.key for run in _runs_alike(turns, alike) for turn in run}

    def _known_past(self, piece: PastPiece) -> dict[str, int]:
        """The number of the turn of each message that was ever stored, by key; of a log also under another cut."""
        turns = [*([piece.before] if piece.before else []), *piece.turns]
        keys = {_digest(turn.key): turn.key for turn in turns}
        query = "SELECT message, turn FROM imported_message WHERE conversation = ? AND message IN ({})"
        names = [piece.conversation, *([piece.log] if piece.log else [])]
        rows = [row for one in names for row in self._read_parts(query, list(keys), _digest(one))]
        return {keys[row[0]]: int(row[1]) for row in rows}

    def _standing(self, turns: Sequence[int]) -> set[int]:
        """Those of these turns, by number, that still stand in a session that an import may go on with."""
        query = (
            "SELECT c.seq FROM conversation c JOIN session s USING (session_id)"
            " JOIN imported_session USING (session_id)"
            f" WHERE s.status = 'archived' AND s.door = '{IMPORT_DOOR}' AND c.seq IN ({{}})"
        )
        return {int(row[0]) for row in self._read_parts(query, turns)}

    def _place(self, turn: int) -> _Place:
        """Where a turn stands."""
        query = (
            "SELECT c.session_id, c.position, c.round, NOT EXISTS (SELECT 1 FROM conversation l"
            " WHERE l.session_id = c.session_id AND l.position > c.position), c.role = 'user' AND NOT EXISTS"
            " (SELECT 1 FROM conversation a WHERE a.session_id = c.session_id AND a.round = c.round"
            " AND a.role = 'assistant') FROM conversation c WHERE c.seq = ?"
        )
        row = self._read(query, turn)[0]
        return _Place(row[0], row[1], row[2], bool(row[3]), bool(row[4]))

    def _add_run(self, run: _Run, how: _Import) -> None:
        """Store new turns one behind the other, with their words, their place in the queue and their digests."""
        beside = self._place(run.after or run.before) if run.after or run.before else None
        session_id = beside.session_id if beside else self._begin_past(run.turns[0].timestamp, how)
        position = self._room_for(run, beside) if beside else 0
        first = beside.round if beside and run.after and beside.waits and run.turns[0].replies else 0
        query = "SELECT coalesce(max(round), 0) FROM conversation WHERE session_id = ?"
        number = int(self._read(query, session_id)[0][0])
        stored: list[str] = []
        for at, past in enumerate(run.turns, start=1):
            asked = run.turns[at - 2].role == "user" if at > 1 else bool(first)
            number += not (past.replies and asked)
            place = first if at == 1 and first else number
            stored.append(self._add_past_turn(past, session_id, place, position + at * TURN_SPACE, how))
        self._settle_session(session_id, len(run.turns))
        if beside and not (run.after and beside.last):
            self._embed_again(self._dependents(stored[-2:]))

    def _add_past_turn(
        self, past: PastTurn, session_id: str, number: int, position: int, how: _Import
    ) -> str:
        """One turn with all that belongs to it; nothing of it was there before, so nothing is looked for. Its id."""
        columns = (
            "text_id, session_id, timestamp, role, text, round, finish, folded, stored_at, position"
            ", speaker, undated"
        )
        text_id, text = self._free_id(past.text_id) or how.new_id(), PREFIX[past.role] + past.words
        values = (text_id, session_id, past.timestamp, past.role, text, number, "stop", 1, how.now, position)
        marks = ", ".join("?" * (len(values) + 2))
        with self._database.write() as sql:
            added = sql(
                f"INSERT INTO conversation ({columns}) VALUES ({marks})",
                (*values, past.speaker, int(past.undated)),
            )
            seq = int(added.lastrowid or 0)
            turn = Turn(
                seq, text_id, session_id, past.timestamp, past.role, text, number, speaker=past.speaker
            )
            self._lexicon.add_new(sql, "turn", seq, self._tokens(words_found_by(turn)))
            sql("INSERT INTO pending (text_id, kind) VALUES (?, 'conversation')", (text_id,))
            known = (how.conversation, _digest(past.key), seq, how.source)
            sql("INSERT INTO imported_message VALUES (?, ?, ?, ?)", known)
        return text_id

    def _room_for(self, run: _Run, beside: _Place) -> int:
        """The place that is taken right before a run; what stands behind it makes room."""
        taken = beside.position if run.after else beside.position - TURN_SPACE
        if not (run.after and beside.last):
            moved = "UPDATE conversation SET position = position + ? WHERE session_id = ? AND position > ?"
            with self._database.write() as sql:
                sql(moved, (len(run.turns) * TURN_SPACE, beside.session_id, taken))
                self._count_fading()
        return taken

    def _settle_session(self, session_id: str, more: int) -> None:
        """A session begins with its first turn and ends with its last, and is to be read again with ``more`` turns."""
        said = "(SELECT timestamp FROM conversation WHERE session_id = ?1 ORDER BY position {} LIMIT 1)"
        times = f"start_timestamp = {said.format('')}, end_timestamp = {said.format('DESC')}"
        with self._database.write() as sql:
            sql(f"UPDATE session SET {times} WHERE session_id = ?1 AND door = '{IMPORT_DOOR}'", (session_id,))
            due = f"due + (SELECT door = '{IMPORT_DOOR}' FROM session s WHERE s.session_id = ?2)"
            longer = f"UPDATE imported_session SET turns = turns + ?1, due = {due} WHERE session_id = ?2"
            sql(longer, (more, session_id))

    def _place_in_life(self, began: str) -> int:
        """A free place right before the session that began next."""
        following = (
            "SELECT position, door FROM session WHERE julianday(start_timestamp) > julianday(?)"
            " ORDER BY julianday(start_timestamp), position LIMIT 1"
        )
        preceding = "SELECT position, door FROM session WHERE position < ? ORDER BY position DESC LIMIT 1"
        while rows := self._read(following, began):
            before = self._read(preceding, rows[0]["position"])
            if not before:
                return int(rows[0]["position"]) - SESSION_SPACE
            if place := _between(before[0], rows[0]):
                return place
            self._space_sessions()
        return int(self._read("SELECT coalesce(max(position), 0) FROM session")[0][0]) + SESSION_SPACE

    def _begin_past(self, began: str, how: _Import) -> str:
        """A session of the past, closed, in its place in life; a title is what is known of it at first. Its id."""
        named = f"{began[:16].replace('-', '').replace(':', '').replace('T', '-')}-{how.new_id()[-12:]}"
        wanted = how.piece.session_id
        session_id = wanted if wanted and self.session(wanted) is None else named
        columns = "(session_id, start_timestamp, end_timestamp, status, stored_at, position, door)"
        with self._database.write() as sql:
            values = (session_id, began, began, how.now, self._place_in_life(began), IMPORT_DOOR)
            sql(f"INSERT INTO session {columns} VALUES (?, ?, ?, 'archived', ?, ?, ?)", values)
            belongs = (session_id, how.source, int(how.piece.role_play))
            sql("INSERT INTO imported_session (session_id, source, role_play) VALUES (?, ?, ?)", belongs)
            if how.piece.title and not self._untitled(how.conversation):
                title = NewSummary(how.new_id(), began, how.piece.title)
                self._index_summary(self._add_summary(session_id, title, 0))
        return session_id

    def resume(self, session_id: str, present: str, now: str) -> None:
        """Make an archived session the terminal's active one.

        One of the past that was not read up is the person's own from then on, and gets its summary as theirs do.
        """
        own = "UPDATE imported_session SET due = 0 WHERE session_id = ? AND due AND NOT role_play"
        with self._database.write() as sql:
            super().resume(session_id, present, now)
            if sql(own, (session_id,)).rowcount:
                title = self.summary(session_id)
                self._ask_anew("summary", session_id, title.timestamp if title else now)


def _names(salt: str, turn: PastTurn) -> tuple[tuple[str, ...], str]:
    """The digests of a message under the ids that it has, and of what it says."""
    ids = dict.fromkeys(filter(None, (turn.key, turn.text_id)))
    by_id = tuple(digests.id_digest(salt, turn.role, one, turn.words) for one in ids)
    return by_id, digests.said_digest(salt, turn.role, turn.speaker, turn.timestamp, turn.words)


def _runs_alike(turns: Sequence[PastTurn], alike: Sequence[bool]) -> Iterator[list[PastTurn]]:
    """Messages that follow each other, all of them like stored ones, and that show by it that it is the same talk.

    Two speakers show it, where it is known when they spoke; else only all of the messages together.
    """
    for same, pairs in groupby(zip(turns, alike, strict=True), key=lambda pair: pair[1]):
        run = [turn for turn, _ in pairs]
        dated = {(turn.role, turn.speaker) for turn in run if not turn.undated}
        if same and (len(run) == len(turns) or len(dated) > 1):
            yield run


def _between(before: Row, after: Row) -> int:
    """A place between two sessions, 0 for none: close to the one that was brought along, since others may follow."""
    brought = [row["door"] == IMPORT_DOOR for row in (before, after)]
    half = (after["position"] - before["position"]) // 2
    step = half if brought[0] == brought[1] else min(half, _CLOSE)
    return 0 if not step else int(after["position"] - step if brought[1] else before["position"] + step)


def _runs(piece: PastPiece, known: Mapping[str, int], standing: Mapping[str, int]) -> list[_Run]:
    """The new turns of a piece, each with those that it belongs to. What was erased is passed over.

    ``standing`` has the number of each turn that it may be put beside, by key.
    """
    runs: list[_Run] = []
    near, begun = piece.before if piece.before and piece.before.key in standing else None, False
    for at, turn in enumerate(piece.turns):
        if turn.key in standing:
            near, begun = turn, False
        if turn.key in known:
            continue
        if not (begun and runs[-1].stretch == turn.stretch):
            after = standing[near.key] if near and near.stretch == turn.stretch else 0
            before = 0 if after else _standing_later(piece.turns[at:], turn.stretch, standing)
            runs.append(_Run(turn.stretch, after, before))
            begun = True
        runs[-1].turns.append(turn)
    return runs


def _standing_later(turns: Sequence[PastTurn], stretch: int, standing: Mapping[str, int]) -> int:
    """The first of these turns of a stretch that stands in a session; 0 for none."""
    found = (standing[turn.key] for turn in turns if turn.stretch == stretch and turn.key in standing)
    return next(found, 0)


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
