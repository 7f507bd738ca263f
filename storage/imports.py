"""Conversations that other programs exported: stored in their place in life, known again, read up, and taken back.

    begin, add, end          conversations of a file, some messages a commit
    due, ...                 what of it is still to be read for summaries and notes, within so many calls a day
    all, take_back           what was imported, and letting a whole import never have been

Guarantees: each verb is one commit or nothing; the same message is stored once, however often it comes, and one that
was erased does not come back, also when its import is taken back: it is known by the digests of its conversation and of
itself, and of its words (``storage.erased``), unless the person wants it back;
whatever was cut short can be begun again and ends as if it had not been.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, groupby

from domain.imports import Added, DueSession, ImportedMessage, ImportSource, KnownMessages, PastPiece, ReadingLeft
from domain.records import IMPORT_CLIENT, PREFIX, Message
from storage.engine import EACH, Row, Transaction, instant, read_meta, set_meta
from storage.erased import SaidMessage
from storage.messages import MESSAGE_SPACE, SESSION_SPACE, NewSummary
from storage.repositories import Repositories
from storage.rounds import Rounds
from storage.sqlite import digests

_SOURCE = "SELECT number, name, kind, state, conversations, messages, stored_at FROM import_source"
_DIGEST = 16
#: So far apart are sessions that are put between two others one after another.
_CLOSE = 1 << 8
#: So many messages are taken back in one commit.
_AT_ONCE = 50
#: In ``meta``: a day, and how many calls were made on it to read the backlog.
_CALLS = "import_calls"
#: In ``meta``: nothing is to be read.
_RESTING = "import_resting"
#: What is read: sessions that no one went on with, and in which no one played a role.
_DUE = f"i.due > 0 AND i.role_play = 0 AND s.status = 'archived' AND s.client = '{IMPORT_CLIENT}'"
#: Newest month first, and of one month what was talked of most.
_ORDER = "substr(s.start_timestamp, 1, 7) DESC, i.messages DESC, s.position DESC"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message is; whether it is the last of its session, and whether its reply may still come."""

    session_id: str
    position: int
    round: int
    last: bool
    waits: bool


@dataclass(frozen=True, slots=True)
class _Run:
    """New messages that follow each other in one stretch, right after one that is there, right before one, or alone.

    ``after`` and ``before`` are the numbers of those, 0 for none.
    """

    stretch: int
    after: int
    before: int
    messages: list[ImportedMessage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Import:
    """What stays the same for all messages of a piece."""

    source: int
    conversation: str
    piece: PastPiece
    now: str
    new_id: Callable[[], str]


class Imports:
    """Reads and writes the tables ``import_source``, ``imported_session`` and ``imported_message``."""

    def __init__(self, of: Repositories, rounds: Rounds) -> None:
        self._of = of
        self._rounds = rounds
        self._database = of.database
        self._stamp = of.stamp
        self._ids = of.stamp.new_id

    # -- sources -------------------------------------------------------------------------------------------------

    def begin(self, name: str, kind: str, sha256: str, reader: int) -> int:
        """Note that a file is being imported, or is again. Returns its number, the same for the same file."""
        self._ids = _ids_in_order(self._stamp.new_id)
        again = "UPDATE import_source SET state = 'begun', reader = ? WHERE kind = ? AND sha256 = ? RETURNING number"
        with self._database.write() as tx:
            if rows := tx.run(again, reader, kind, sha256):
                return int(rows[0]["number"])
            number = tx.next("import_source")
            columns = "(number, name, kind, sha256, reader, state, stored_at) VALUES (?, ?, ?, ?, ?, 'begun', ?)"
            tx.do(f"INSERT INTO import_source {columns}", number, name, kind, sha256, reader, self._stamp.now())
        return number

    def end(self, number: int, conversations: int) -> None:
        """All of a file, with so many conversations, was imported: its texts may get their vectors."""
        stored = "(SELECT count(*) FROM imported_message WHERE source = import_source.number AND seq > 0)"
        done = f"state = 'done', conversations = ?, messages = {stored}"
        with self._database.write() as tx:
            tx.do(f"UPDATE import_source SET {done} WHERE number = ?", conversations, number)
            tx.follows("vectors")

    def all(self) -> list[ImportSource]:
        """What was imported, oldest first."""
        return [ImportSource(*row) for row in self._database.run(f"{_SOURCE} ORDER BY number")]

    def forget_names(self, tx: Transaction, names: Sequence[str]) -> None:
        """Let the files of these names have none."""
        tx.many("UPDATE import_source SET name = '' WHERE name = ?", [(name,) for name in names])

    def take_back(self, number: int) -> Iterator[int]:
        """Let an import never have been, with all that was made from it; how many messages are gone, some at a time.

        Cut short, it goes on with the next call. The same file may be imported again afterwards.
        """
        gone = 0
        some = (
            "SELECT text_id FROM conversation c WHERE EXISTS (SELECT 1 FROM imported_message m"
            " WHERE m.seq = c.seq AND m.source = ?) ORDER BY c.seq LIMIT ?"
        )
        while messages := [str(row[0]) for row in self._database.run(some, number, _AT_ONCE)]:
            with self._of.personas.losing_all_lines(messages), self._database.write() as tx:
                self._remove_messages(tx, messages)
            gone += len(messages)
            yield gone
        with self._database.write() as tx:
            tx.do("DELETE FROM import_source WHERE number = ?", number)

    def _remove_messages(self, tx: Transaction, text_ids: Sequence[str]) -> None:
        """Remove messages that are there, and that they were; of those that were erased before, that stays known."""
        messages = self._of.messages.with_ids(text_ids)
        self._rounds.remove(tx, messages)
        self._database.digest_changes()
        for table, column in (("stored_message", "message"), ("imported_message", "seq")):
            tx.many(f"DELETE FROM {table} WHERE {column} = ?", [(message.seq,) for message in messages])
        for session_id in dict.fromkeys(message.session_id for message in messages):
            summary = self._of.summaries.of(session_id)
            self._of.summaries.remove(tx, summary)
            self._of.steps.drop(tx, "save", session_id)
            some_left = self._database.run("SELECT 1 FROM conversation WHERE session_id = ? LIMIT 1", session_id)
            if some_left:
                self._settle_session(tx, session_id, 0)
            if some_left and summary:
                self._of.rebuilds.request(tx, "summary", session_id, summary.timestamp)
            session = self._of.sessions.find(session_id)
            if not some_left and session and session.client == IMPORT_CLIENT:
                self._rounds.remove_session(tx, session_id)

    def add(self, number: int, pieces: Sequence[PastPiece], *, with_erased: bool = False) -> Added:
        """Store what is new of these pieces, in one commit, each message where it belongs: in the session of the
        messages around it, or in one of its own that is closed and in its place in life.

        ``with_erased``: also what was erased, which is erased no more.
        """
        with self._database.write() as tx:
            added = [self._add_piece(tx, number, piece, with_erased=with_erased) for piece in pieces]
        return Added(*(sum(getattr(one, name) for one in added) for name in ("messages", "sessions", "erased")))

    def append(self, number: int, conversation: str, session_id: str, said: ImportedMessage) -> Message:
        """Store a message that is said now, at the end of a session of an import, or in a new one; its commit may wait.

        What it costs does not depend on how long the session is.
        """
        query = "SELECT seq, role FROM conversation WHERE session_id = ? ORDER BY position DESC LIMIT 1"
        with self._database.write(wait=True) as tx:
            rows = self._database.run(query, session_id)
            after = next(iter(self._extendable_numbers([row["seq"] for row in rows])), 0)
            replies = bool(after) and said.role == "assistant" and rows[0]["role"] == "user"
            message = replace(said, replies=replies)
            piece = PastPiece(conversation, "", False, (message,), session_id=session_id)
            how = _Import(number, _digest_of(conversation), piece, self._stamp.now(), self._stamp.new_id)
            added = self._add_run(tx, _Run(0, after, 0, [message]), how)[0]
            # Vectors are made once somebody searches or flushes: many at once cost less, and delay no message.
            tx.commit.follows.discard("vectors")
        return added

    def count_known(self, piece: PastPiece) -> KnownMessages:
        """How many messages of a piece were stored before, and how many were erased."""
        known = self._known_past(piece)
        known_keys = known.keys() | self._recognise_keys(piece, known)
        erased = self._erased_keys(piece, known, known_keys)
        return KnownMessages(sum(message.key in known_keys - erased for message in piece.messages), len(erased))

    def _add_piece(self, tx: Transaction, source: int, piece: PastPiece, *, with_erased: bool) -> Added:
        self._database.digest_changes()
        known = self._known_past(piece)
        standing = self._extendable_numbers(list(known.values()))
        recognised = self._recognise_keys(piece, known)
        erased = self._erased_keys(piece, known, known.keys() | recognised)
        known = dict.fromkeys(recognised | erased, 0) | known
        if with_erased and erased:
            known = {key: seq for key, seq in known.items() if key not in erased}
            self._of.erased.remove(
                tx, [_as_said(message, known=True) for message in piece.messages if message.key in erased]
            )
        fresh = [message for message in piece.messages if message.key not in known]
        if not fresh:
            return Added(erased=len(erased))
        how = _Import(source, _digest_of(piece.log or piece.conversation), piece, self._stamp.now(), self._ids)
        runs = _find_runs(piece, known, {key: seq for key, seq in known.items() if seq in standing})
        for run in runs:
            self._add_run(tx, run, how)
        begun = sum(not (run.after or run.before) for run in runs)
        return Added(len(fresh), begun, 0 if with_erased else len(erased))

    def _erased_keys(self, piece: PastPiece, stored: Mapping[str, int], known: Collection[str]) -> set[str]:
        """The keys of messages that were erased: known by where they were, or by their words. Not those still there."""
        said = [_as_said(message, known=message.key in known) for message in piece.messages]
        erased = [
            message for message, found in zip(piece.messages, self._of.erased.recognise(said), strict=True) if found
        ]
        there = self._still_there(erased, stored) if erased else set()
        return {message.key for message in erased} - there

    def _still_there(self, messages: Sequence[ImportedMessage], stored: Mapping[str, int]) -> set[str]:
        """The keys of messages that are still in the memory, by where they are stored or by their digests."""
        ((salt,),) = self._database.run(digests.SALT)
        names = {message.key: _message_digests(str(salt), message) for message in messages}
        query = (
            f"SELECT m.digest FROM stored_message m JOIN conversation c ON c.seq = m.message WHERE m.digest IN {EACH}"
        )
        wanted = [name for by_id, said in names.values() for name in (*by_id, said)]
        found = {str(row[0]) for row in self._database.run(query, wanted)}
        numbers = f"SELECT seq FROM conversation WHERE seq IN {EACH}"
        seqs = {int(row[0]) for row in self._database.run(numbers, list(stored.values()))}
        digested = {key for key, (by_id, said) in names.items() if not found.isdisjoint((*by_id, said))}
        return digested | {key for key, seq in stored.items() if seq in seqs}

    def _recognise_keys(self, piece: PastPiece, known: Collection[str]) -> set[str]:
        """The keys of messages that were stored in another way than by this conversation, whatever became of them.

        One that comes under the id that it was stored under is enough alone. By what was said when, a message is
        recognised together with its neighbours: the same word in the same minute may be said to two people.
        """
        messages = [*([piece.before] if piece.before else []), *piece.messages]
        salts = self._database.run(digests.SALT)
        if not salts or all(message.key in known for message in piece.messages):
            return set()
        names = {message.key: _message_digests(str(salts[0][0]), message) for message in messages}
        copies = {message.key: message.copy for message in messages}
        wanted = list({name for by_id, said in names.values() for name in (*by_id, said)})
        query = f"SELECT digest, count(*) FROM stored_message WHERE digest IN {EACH} GROUP BY digest"
        stored = {str(row[0]): int(row[1]) for row in self._database.run(query, wanted)}
        by_id = {key for key, (names_by_id, _) in names.items() if any(name in stored for name in names_by_id)}
        said = {key for key, (_, name) in names.items() if stored.get(name, 0) > copies[key]}
        alike = [message.key not in known and (message.key in by_id or message.key in said) for message in messages]
        return by_id | {message.key for run in _runs_alike(messages, alike) for message in run}

    def _known_past(self, piece: PastPiece) -> dict[str, int]:
        """The number of each message that was ever stored, by key; of a log also under another cut."""
        messages = [*([piece.before] if piece.before else []), *piece.messages]
        keys = {_digest_of(message.key): message.key for message in messages}
        query = f"SELECT message, seq FROM imported_message WHERE conversation = ? AND message IN {EACH}"
        names = [piece.conversation, *([piece.log] if piece.log else [])]
        rows = [row for one in names for row in self._database.run(query, _digest_of(one), list(keys))]
        return {keys[row[0]]: int(row[1]) for row in rows}

    def _extendable_numbers(self, messages: Sequence[int]) -> set[int]:
        """Those of these messages, by number, that are still in a session that an import may go on with."""
        query = (
            "SELECT c.seq FROM conversation c JOIN session s ON s.session_id = c.session_id"
            " JOIN imported_session i ON i.session_id = c.session_id"
            f" WHERE s.status = 'archived' AND s.client = '{IMPORT_CLIENT}' AND c.seq IN {EACH}"
        )
        return {int(row[0]) for row in self._database.run(query, list(messages))} if messages else set()

    def _find_place(self, message: int) -> _Place:
        query = (
            "SELECT c.session_id, c.position, c.round, c.role,"
            " (SELECT max(l.position) FROM conversation l WHERE l.session_id = c.session_id) AS last,"
            " (SELECT count(*) FROM conversation a WHERE a.session_id = c.session_id AND a.round = c.round"
            " AND a.role = 'assistant') AS replies FROM conversation c WHERE c.seq = ?"
        )
        row = self._database.run(query, message)[0]
        waits = row["role"] == "user" and not row["replies"]
        return _Place(row["session_id"], row["position"], row["round"], row["last"] == row["position"], waits)

    def _add_run(self, tx: Transaction, run: _Run, how: _Import) -> list[Message]:
        """Store new messages one behind the other, with their words, their place in the queue and their digests."""
        beside = self._find_place(run.after or run.before) if run.after or run.before else None
        session_id = beside.session_id if beside else self._begin_session(tx, run.messages[0].timestamp, how)
        position = self._room_for(tx, run, beside) if beside else 0
        first = beside.round if beside and run.after and beside.waits and run.messages[0].replies else 0
        query = "SELECT coalesce(max(round), 0) FROM conversation WHERE session_id = ?"
        number, stored = int(self._database.run(query, session_id)[0][0]), []
        seq = tx.next("conversation", len(run.messages))
        for at, past in enumerate(run.messages, start=1):
            asked = run.messages[at - 2].role == "user" if at > 1 else bool(first)
            number += not (past.replies and asked)
            place = first if at == 1 and first else number
            text_id = self._free_id(past.text_id) or how.new_id()
            stored.append(
                Message(
                    seq + at - 1, text_id, session_id, past.timestamp, past.role, PREFIX[past.role] + past.words,
                    place, compacted=True, stored_at=how.now, position=position + at * MESSAGE_SPACE,
                    speaker=past.speaker, undated=past.undated,
                )
            )  # fmt: skip
        self._of.messages.add(tx, stored)
        self._of.index.add_messages(tx, stored, new=True)
        columns = "(conversation, message, seq, source) VALUES (?, ?, ?, ?)"
        known = [
            (how.conversation, _digest_of(past.key), message.seq, how.source)
            for past, message in zip(run.messages, stored, strict=True)
        ]
        again = "ON CONFLICT (conversation, message) DO UPDATE SET message = excluded.message, source = excluded.source"
        tx.many(f"INSERT INTO imported_message {columns} {again}", known)
        self._settle_session(tx, session_id, len(run.messages))
        if beside and not (run.after and beside.last):
            behind = self._of.messages.dependents(message.text_id for message in stored[-2:])
            self._of.index.embed_again(tx, behind)
        for past, message in zip(run.messages, stored, strict=True):
            if past.metadata:
                self._of.units.add(tx, message.seq, past.metadata)
            if past.never_delete or past.visits[0]:
                self._of.archive.note_visits(tx, message.text_id, past.visits, never_delete=past.never_delete)
        if how.piece.summary and run.messages[-1].key == how.piece.messages[-1].key:
            self._of.summaries.remove(tx, self._of.summaries.of(session_id))
            summary = NewSummary(how.new_id(), stored[-1].timestamp, how.piece.summary)
            self._of.summaries.add(tx, session_id, summary, stored[-1].round)
        return stored

    def _free_id(self, wanted: str) -> str:
        """An id that a message would keep, if nothing else has it; else nothing."""
        tables = ("conversation", "summary", "chapter")
        query = " UNION ALL ".join(f"SELECT 1 FROM {table} WHERE text_id = ?" for table in tables)
        return wanted if wanted and not self._database.run(query, wanted, wanted, wanted) else ""

    def _room_for(self, tx: Transaction, run: _Run, beside: _Place) -> int:
        """The position that is taken right before a run; what follows makes room."""
        taken = beside.position if run.after else beside.position - MESSAGE_SPACE
        if not (run.after and beside.last):
            self._of.messages.move(tx, beside.session_id, taken + 1, len(run.messages) * MESSAGE_SPACE)
            self._of.messages.note_moves(tx)
        return taken

    def _settle_session(self, tx: Transaction, session_id: str, more: int) -> None:
        """A session begins with its first message and ends with its last, and is to be read again with ``more``."""
        session = self._of.sessions.find(session_id)
        ours = session is not None and session.client == IMPORT_CLIENT
        if ours:
            said = "SELECT timestamp, instant FROM conversation WHERE session_id = ? ORDER BY position {} LIMIT 1"
            ((start, began),) = self._database.run(said.format(""), session_id)
            ((end, _),) = self._database.run(said.format("DESC"), session_id)
            times = "start_timestamp = ?, instant = ?, end_timestamp = ?"
            tx.do(f"UPDATE session SET {times} WHERE session_id = ?", start, began, end, session_id)
        longer = "UPDATE imported_session SET messages = messages + ?, due = due + ? WHERE session_id = ?"
        tx.do(longer, more, int(ours), session_id)

    def _place_in_life(self, tx: Transaction, began: str) -> int:
        """A free position right before the session that began next."""
        following = "SELECT position, client FROM session WHERE instant > ? ORDER BY instant, position LIMIT 1"
        preceding = "SELECT position, client FROM session WHERE position < ? ORDER BY position DESC LIMIT 1"
        while rows := self._database.run(following, instant(began)):
            before = self._database.run(preceding, rows[0]["position"])
            if not before:
                return int(rows[0]["position"]) - SESSION_SPACE
            if place := _position_between(before[0], rows[0]):
                return place
            self._of.sessions.make_room(tx)
        return self._of.sessions.end_of_all()

    def _begin_session(self, tx: Transaction, began: str, how: _Import) -> str:
        """A session of the past, closed, in its place in life; a title is what is known of it at first. Its id."""
        named = f"{began[:16].replace('-', '').replace(':', '').replace('T', '-')}-{how.new_id()[-12:]}"
        wanted = how.piece.session_id
        session_id = wanted if wanted and self._of.sessions.find(wanted) is None else named
        columns = (
            "(session_id, number, start_timestamp, end_timestamp, instant, status, stored_at, position, client)"
            " VALUES (?, ?, ?, ?, ?, 'archived', ?, ?, ?)"
        )
        position = self._place_in_life(tx, began)
        values = (session_id, tx.next("session"), began, began, instant(began), how.now, position, IMPORT_CLIENT)
        tx.do(f"INSERT INTO session {columns}", *values)
        belongs = (session_id, how.source, int(how.piece.role_play))
        tx.do("INSERT INTO imported_session (session_id, source, role_play) VALUES (?, ?, ?)", *belongs)
        untitled = "SELECT 1 FROM imported_message WHERE conversation = ? AND message = ''"
        if how.piece.title and not self._database.run(untitled, how.conversation):
            self._of.summaries.add(tx, session_id, NewSummary(how.new_id(), began, how.piece.title), 0)
        return session_id

    # -- reading the backlog -------------------------------------------------------------------------------------

    def due_sessions(self, most: int = 1) -> list[DueSession]:
        """The sessions that are still to be read: the newest month first, and in it what was talked of most."""
        query = (
            "SELECT i.session_id, i.due FROM imported_session i"
            f" JOIN session s ON s.session_id = i.session_id WHERE {_DUE} ORDER BY {_ORDER} LIMIT ?"
        )
        return [DueSession(*row) for row in self._database.run(query, most)]

    def summary_and_rest(self, session_id: str) -> tuple[str, list[Message]]:
        """What a session resulted in so far, and its messages that no summary was made from yet."""
        summary = self._of.summaries.of(session_id)
        upto = summary.upto_round if summary else 0
        left = [message for message in self._of.messages.of_session(session_id) if message.round > upto]
        visible = [message for message in left if not message.hidden]
        return (summary.summary if summary and upto else ""), visible

    def keep_summary(self, session_id: str, text: str, before: str, messages: Sequence[Message]) -> bool:
        """Store what a session resulted in as far as these messages, made from them and from the summary ``before``.

        False, and nothing is stored, when that is not so any more: something is gone or hidden since.
        """
        with self._database.write() as tx:
            session, (so_far, left) = self._of.sessions.find(session_id), self.summary_and_rest(session_id)
            there = {message.text_id for message in left}
            if session is None or so_far != before or any(message.text_id not in there for message in messages):
                return False
            when, upto = session.end_timestamp or self._stamp.now(), messages[-1].round
            self._of.summaries.remove(tx, self._of.summaries.of(session_id))
            self._of.summaries.add(tx, session_id, NewSummary(self._stamp.new_id(), when, text), upto)
        return True

    def end_reading(self, due: DueSession) -> None:
        """A session was read, unless it was asked for again since."""
        with self._database.write() as tx:
            read = "UPDATE imported_session SET due = 0 WHERE session_id = ? AND due = ?"
            tx.do(read, due.session_id, due.asked)

    def remaining_backlog(self) -> ReadingLeft:
        """How much is still to be read, and how many calls were made today."""
        query = (
            "SELECT count(*), coalesce(sum(i.messages), 0) FROM imported_session i JOIN session s"
            f" ON s.session_id = i.session_id WHERE {_DUE}"
        )
        row, resting = self._database.run(query)[0], read_meta(self._database, _RESTING) is not None
        return ReadingLeft(int(row[0]), int(row[1]), self._calls_on(self._stamp.today()), resting)

    def set_paused(self, resting: bool) -> None:
        """Pause the import backlog, or go on with it."""
        set_meta(self._database, _RESTING, "1" if resting else None)

    def ask_for_persona(self, session_id: str) -> None:
        """Let the persona of the user be rebuilt with what a session resulted in."""
        with self._database.write() as tx:
            self._of.rebuilds.request(tx, "user", session_id, self._stamp.now())

    def count_calls(self, calls: int) -> None:
        """Note that so many more calls were made today, or fewer than had been noted."""
        today = self._stamp.today()
        with self._database.write():
            set_meta(self._database, _CALLS, f"{today} {max(0, self._calls_on(today) + calls)}")

    def _calls_on(self, today: str) -> int:
        day, _, calls = (read_meta(self._database, _CALLS) or "").partition(" ")
        return int(calls) if day == today else 0


def _as_said(message: ImportedMessage, *, known: bool) -> SaidMessage:
    """A message as it is compared with what was erased; by where it was only if it is ``known`` to be that one."""
    ids = tuple(dict.fromkeys(filter(None, (message.key, message.text_id)))) if known else ()
    return SaidMessage(message.role, message.words, message.timestamp, ids, message.speaker, message.undated)


def _message_digests(salt: str, message: ImportedMessage) -> tuple[tuple[str, ...], str]:
    ids = dict.fromkeys(filter(None, (message.key, message.text_id)))
    by_id = tuple(digests.id_digest(salt, message.role, one, message.words) for one in ids)
    return by_id, digests.said_digest(salt, message.role, message.speaker, message.timestamp, message.words)


def _runs_alike(messages: Sequence[ImportedMessage], alike: Sequence[bool]) -> Iterator[list[ImportedMessage]]:
    """Messages that follow each other, all of them like stored ones, and that show by it that it is the same talk.

    Two speakers show it, where it is known when they spoke; else only all of the messages together.
    """
    for same, pairs in groupby(zip(messages, alike, strict=True), key=lambda pair: pair[1]):
        run = [message for message, _ in pairs]
        dated = {(message.role, message.speaker) for message in run if not message.undated}
        if same and (len(run) == len(messages) or len(dated) > 1):
            yield run


def _position_between(before: Row, after: Row) -> int:
    """A place between two sessions, 0 for none: close to the one that was brought along, since others may follow."""
    brought = [row["client"] == IMPORT_CLIENT for row in (before, after)]
    half = (after["position"] - before["position"]) // 2
    step = half if brought[0] == brought[1] else min(half, _CLOSE)
    return 0 if not step else int(after["position"] - step if brought[1] else before["position"] + step)


def _find_runs(piece: PastPiece, known: Mapping[str, int], standing: Mapping[str, int]) -> list[_Run]:
    """The new turns of a piece, each with those that it belongs to. What was erased is passed over.

    ``standing`` has the number of each turn that it may be put beside, by key.
    """
    runs: list[_Run] = []
    near, begun = piece.before if piece.before and piece.before.key in standing else None, False
    for at, message in enumerate(piece.messages):
        if message.key in standing:
            near, begun = message, False
        if message.key in known:
            continue
        if not (begun and runs[-1].stretch == message.stretch):
            after = standing[near.key] if near and near.stretch == message.stretch else 0
            # Else before the first message of the stretch that is in a session.
            later = (
                standing[one.key]
                for one in piece.messages[at:]
                if one.stretch == message.stretch and one.key in standing
            )
            before = 0 if after else next(later, 0)
            runs.append(_Run(message.stretch, after, before))
            begun = True
        runs[-1].messages.append(message)
    return runs


def _digest_of(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def _ids_in_order(new_id: Callable[[], str]) -> Callable[[], str]:
    """Ids that follow each other: many rows at once then lie beside each other in every index, and cost few writes.

    They differ in their first eight characters, by which a person names a message.
    """
    run, numbers = new_id()[:2], count()
    return lambda: f"{run}{next(numbers):06x}{new_id()[-24:]}"
