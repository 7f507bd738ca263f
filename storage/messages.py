"""Sessions and their messages, word for word, in rounds; the summary of each; and which of them are archived.

Order is by ``position``, never by clock: a session may be started before others that there are. Positions are spaced,
so that something can be put between two of them. What else is stored or removed with a message (words, vectors, facts,
chapters) is in ``rounds``. What a ``/save`` replaced is kept until anything is said or decided after it, so that it can
be undone.

What is archived is no longer searched: it is in no index, of words or of vectors, and in no table of messages; it stays
stored as it was said, with all that was extracted from it, and whoever erases finds it. What rebuilds an index passes
it by. Never archived are: what was marked so, all that is under it, what a kept fact or a pinned line rests on, and
whatever is in a session that is not saved yet. Each step is one commit, so that after a kill the next look goes on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date
from itertools import groupby
from typing import Any, NamedTuple
from zlib import crc32

from domain.records import (
    PREFIX,
    SERVICE_CLIENT,
    Finish,
    InFlight,
    Message,
    Persona,
    Quoted,
    Role,
    Round,
    Session,
    Summary,
    pair_messages,
)
from domain.tree import LIFE, FadedText, ForgetLimit, Leaf
from storage.chapters import Chapters
from storage.embeddings import ANY_ARCHIVED, TextIndex
from storage.engine import EACH, Database, Row, Stamp, Transaction, instant, read_meta
from storage.jobs import Claims

#: Between the positions of two messages of a session.
MESSAGE_SPACE = 512

_COLUMNS = (
    "seq, text_id, session_id, timestamp, role, text, round, finish, compacted, stored_at, position, hidden, quoted,"
    " demo, speaker, undated"
)
MESSAGE = f"SELECT {', '.join(f'c.{name}' for name in _COLUMNS.split(', '))} FROM conversation c"
_INSERT = f"INSERT INTO conversation ({_COLUMNS}, instant) VALUES ({', '.join('?' * 17)})"
#: In ``meta``: how often messages left the search, returned to it, or moved.
_GENERATION = "fadings"
_HIDINGS = "hidings"
#: Messages that a model may be shown as said: not hidden, and not by the demo model.
_VISIBLE = "c.hidden = 0 AND c.demo = 0"
_FIRST_SPEAKERS = ("c.role = 'user'", "c.speaker <> ''")
#: ``MessageColumns``, each joined by commas.
_PLACES = (
    "SELECT "
    + ", ".join(
        f"group_concat(CAST(read_once.{name} AS TEXT), ',')"
        for name in ("seq", "session", "by_user", "length", "marks", "position", "day")
    )
    + " FROM (SELECT c.seq, s.number AS session, CASE c.role WHEN 'user' THEN 1 ELSE 0 END AS by_user,"
    " coalesce(l.length, 0) AS length, coalesce(l.marks, 0) AS marks, c.position,"
    " replace(substr(c.timestamp, 1, 10), ',', ' ') AS day"
    " FROM conversation c JOIN session s ON s.session_id = c.session_id LEFT JOIN message_length l ON l.seq = c.seq"
    f" WHERE c.seq > ? AND c.seq <= ? AND {_VISIBLE} AND c.text NOT IN {(*PREFIX.values(),)}"
    " AND NOT EXISTS (SELECT 1 FROM archived_memory f WHERE f.text_id = c.text_id)"
    " ORDER BY c.seq LIMIT ?) AS read_once"
)
#: So many numbers of messages are in a block, and how each message is written there; ``marks`` with who said it above.
_BLOCK, _BY_USER = 2048, 0x80
_PACKED = [("seq", "<u2"), ("session", "<u4"), ("length", "<u4"), ("marks", "u1"), ("position", "<i8"), ("day", "<i4")]


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that is to be stored: its id, when it was said, by whom, the words; what of them repeats a memory."""

    text_id: str
    timestamp: str
    role: Role
    words: str
    quoted: tuple[Quoted, ...] = ()
    #: Whether the demo model said it.
    demo: bool = False
    #: Who said it, if neither of the two did; the role is "assistant" then.
    speaker: str = ""
    #: Whether the companion said it first, before the round.
    greeting: bool = False


class MessageColumns(NamedTuple):
    """Where messages are, without their texts: a value for each message in every column.

    ``length`` is in tokens, ``marks`` the bits of ``words.MARKS``; ``position`` orders the messages of one session;
    ``day`` is an ordinal, 0 where it cannot be read.
    """

    seq: Sequence[int]
    session: Sequence[int]
    by_user: Sequence[int]
    length: Sequence[int]
    marks: Sequence[int]
    position: Sequence[int]
    day: Sequence[int]


class Messages:
    """Reads and writes the table ``conversation``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- reading a session ---------------------------------------------------------------------------------------

    def context(self, session_id: str) -> tuple[Round, ...]:
        """The rounds that are in the context, not yet summarised, oldest first."""
        query = f"{MESSAGE} WHERE c.session_id = ? AND c.compacted = 0 ORDER BY c.position"
        return pair_messages(self._read_messages(query, session_id))

    def rounds(self, session_id: str, last: int | None = None) -> tuple[Round, ...]:
        """All rounds of a session, or its ``last`` ones, oldest first."""
        if last is None:
            return pair_messages(self.of_session(session_id))
        query, asked = f"{MESSAGE} WHERE c.session_id = ? ORDER BY c.position DESC LIMIT ?", last * 2
        while len(messages := self._read_messages(query, session_id, asked)) == asked > 0:
            if len(found := pair_messages(messages[::-1])) >= last:
                return found[-last:]
            # Messages whose partner was erased are among them.
            asked *= 4
        return pair_messages(messages[::-1])[-last:]

    def of_session(self, session_id: str) -> list[Message]:
        """Every message of a session in order, also one whose partner was erased."""
        return self._read_messages(f"{MESSAGE} WHERE c.session_id = ? ORDER BY c.position", session_id)

    def last_moment(self, session_id: str, *, unread: bool = False) -> str | None:
        """When the last message of a session came, or the last that no extraction has read; no text is read."""
        where = f"c.session_id = ? AND {UNREAD}" if unread else "c.session_id = ?"
        query = f"SELECT c.timestamp FROM conversation c WHERE {where} ORDER BY c.position DESC LIMIT 1"
        return next((row[0] for row in self._database.run(query, session_id)), None)

    def first_words(self, most: int) -> list[str]:
        """What the person said first in this memory, oldest first; nothing hidden. Where they never spoke, others."""
        queries = (f"{MESSAGE} WHERE {who} AND {_VISIBLE} ORDER BY c.seq LIMIT ?" for who in _FIRST_SPEAKERS)
        found = (self._read_messages(query, most) for query in queries)
        return [one.words for one in next(filter(None, found), [])]

    def unread(self, session_id: str) -> list[Message]:
        """The messages of a session that no extraction has read, oldest first; never what is hidden."""
        return self._read_messages(f"{MESSAGE} WHERE c.session_id = ? AND {UNREAD} ORDER BY c.position", session_id)

    def next_window(
        self, session_id: str, size: int, *, all_of_it: bool = False, only: Container[str] | None = None
    ) -> list[Message]:
        """The unread messages of a session to read next, of ``only`` these: a full window that has left the context.

        With ``all_of_it`` those in the context as well, also if they fill no window.
        """
        unread = [one for one in self.unread(session_id) if only is None or one.text_id in only][:size]
        window = unread if all_of_it else [one for one in unread if one.compacted]
        return window if all_of_it or len(window) == size else []

    def unread_among(self, text_ids: Sequence[str]) -> set[str]:
        """Those of these messages that no extraction has read; never what is hidden."""
        query = f"SELECT c.text_id FROM conversation c WHERE c.text_id IN {EACH} AND {UNREAD}"
        return {row[0] for row in self._database.run(query, list(text_ids))} if text_ids else set()

    def before(self, message: Message, count: int) -> list[Message]:
        """Up to ``count`` messages of its session right before this one, oldest first, hidden ones left out."""
        query = f"{MESSAGE} WHERE c.session_id = ? AND c.position < ? AND c.hidden = 0 ORDER BY c.position DESC LIMIT ?"
        return self._read_messages(query, message.session_id, message.position, count)[::-1]

    def dependents(self, text_ids: Iterable[str]) -> list[str]:
        """Messages whose vector is made from words of these too: the next two of their session."""
        given = list(dict.fromkeys(text_ids))
        query = (
            "SELECT l.text_id FROM conversation c JOIN conversation l ON l.session_id = c.session_id"
            " AND l.position > c.position AND l.hidden = 0 WHERE c.text_id = ? ORDER BY l.position LIMIT 2"
        )
        rows = [row for text_id in given for row in self._database.run(query, text_id)]
        found = dict.fromkeys(row["text_id"] for row in rows)
        return [text_id for text_id in found if text_id not in given]

    # -- reading by id and number --------------------------------------------------------------------------------

    def with_prefix(self, prefix: str) -> list[Message]:
        """The messages whose ids begin so, in their order of time: one, where a short id is long enough."""
        query = "SELECT text_id FROM conversation WHERE text_id >= ? AND text_id < ?"
        rows = self._database.run(query, prefix, prefix + "\U0010ffff") if prefix else []
        return self.with_ids([row[0] for row in rows])

    def with_ids(self, text_ids: Sequence[str]) -> list[Message]:
        """The messages with these ids that are still there, in their order of time."""
        columns = MESSAGE.replace(" FROM", ", s.position AS place FROM", 1)
        query = f"{columns} JOIN session s ON s.session_id = c.session_id WHERE c.text_id IN {EACH}"
        rows = self._database.run(query, list(text_ids)) if text_ids else []
        rows.sort(key=lambda row: (row["place"], row["position"]))
        return [message_of(row[:-1]) for row in rows]

    def hidden(self) -> list[Message]:
        """The messages that the person asked to have forgotten, in their order of time."""
        rows = self._database.run("SELECT text_id FROM conversation WHERE hidden = 1")
        return self.with_ids([row[0] for row in rows])

    def stored_after(self, seq: int, most: int) -> list[Message]:
        """The next messages of all sessions, in the order in which they were stored."""
        return self._read_messages(f"{MESSAGE} WHERE c.seq > ? ORDER BY c.seq LIMIT ?", seq, most)

    def said_after(self, seq: int, most: int, *, read: bool | None = None) -> list[Message]:
        """The newest messages behind this one of all sessions but imported ones, in the same order.

        ``read``: only those that an extraction has read, or has not.
        """
        which = UNREAD if read is False else f"c.window_id <> '' AND {_VISIBLE}" if read else _VISIBLE
        query = (
            f"{MESSAGE} WHERE c.seq > ? AND {which} AND c.session_id NOT IN (SELECT session_id FROM imported_session)"
            " ORDER BY c.seq DESC LIMIT ?"
        )
        return self._read_messages(query, seq, most)[::-1]

    def batches(self, size: int) -> Iterator[list[Message]]:
        """All messages in that order, so many at a time."""
        last = 0
        while messages := self.stored_after(last, size):
            yield messages
            last = messages[-1].seq

    def by_number(self, seqs: Sequence[int]) -> list[Message]:
        """Messages by number, in order; one that is gone, hidden or the demo model's is left out."""
        query = f"{MESSAGE} WHERE c.seq IN {EACH} AND {_VISIBLE} ORDER BY c.seq"
        return self._read_messages(query, sorted(seqs)) if len(seqs) else []

    def words_of(self, text_ids: Sequence[str]) -> dict[str, str]:
        """The words of messages by id; one that is gone, hidden or the demo model's is left out."""
        return {one.text_id: one.words for one in self.with_ids(text_ids) if not (one.hidden or one.demo)}

    def numbers_of(self, text_ids: Sequence[str]) -> dict[str, int]:
        """The numbers of messages by id; one that is gone is left out."""
        query = f"SELECT c.text_id, c.seq FROM conversation c WHERE c.text_id IN {EACH} AND {_VISIBLE}"
        return {row[0]: row[1] for row in self._database.run(query, list(text_ids))}

    def columns_after(self, seq: int, most: int, upto: int = 1 << 60) -> MessageColumns:
        """Where the next ``most`` messages stored after ``seq`` are, in order; without what is archived.

        Each column is one string: read four times faster than a row for each message.
        """
        import numpy as np

        *joined, days = self._database.run(_PLACES, seq, upto, most)[0]
        numbers: list[Any] = [np.fromstring(column or "", np.int64, sep=",") for column in joined]
        return MessageColumns._make([*numbers, _day_ordinals(days.split(",") if days else [])])

    def sealed_columns(self) -> Iterator[MessageColumns]:
        """The same of all messages up to the last block that is sealed: a hundred times faster than from their rows."""
        rows = self._database.run("SELECT read_once.number, read_once.data FROM message_block AS read_once")
        sealed = {number: data[:-4] for number, data in rows if crc32(data[:-4]) == int.from_bytes(data[-4:], "big")}
        for is_sealed, numbers in groupby(range(max(sealed, default=-1) + 1), sealed.__contains__):
            if is_sealed:
                yield _unpacked({number: sealed[number] for number in numbers})
            else:
                yield from (self.columns_after(at * _BLOCK, _BLOCK, (at + 1) * _BLOCK) for at in numbers)

    def seal(self, tx: Transaction) -> None:
        """Write the columns of one block of messages that is full, where one is not sealed.

        A trigger removes it with the first change of one of its messages.
        """
        sealed = {row[0] for row in self._database.run("SELECT read_once.number FROM message_block AS read_once")}
        full = range(self.highest_number() // _BLOCK)
        if (at := next((one for one in full if one not in sealed), None)) is not None:
            data = _packed(self.columns_after(at * _BLOCK, _BLOCK, (at + 1) * _BLOCK), at)
            tx.do("INSERT INTO message_block (number, data) VALUES (?, ?)", at, data + crc32(data).to_bytes(4, "big"))

    def generation(self) -> int:
        """A number that changes whenever messages return to the search under their old numbers, leave it, or move."""
        return int(read_meta(self._database, _GENERATION) or 0)

    def hidings(self) -> int:
        """A number that changes whenever messages are hidden."""
        return int(read_meta(self._database, _HIDINGS) or 0)

    def highest_number(self) -> int:
        """The highest number that a message ever had, also one that is gone."""
        rows = self._database.run("SELECT value FROM counter WHERE name = 'conversation'")
        return int(rows[0][0]) if rows else 0

    def add_round(
        self, tx: Transaction, session_id: str, messages: Sequence[NewMessage], finish: Finish, now: str
    ) -> list[Message]:
        """The messages of one round, at the end of its session."""
        query = (
            "SELECT (SELECT coalesce(max(round), 0) FROM conversation WHERE session_id = ?),"
            " (SELECT coalesce(max(position), 0) FROM conversation WHERE session_id = ?)"
        )
        last_round, position = self._database.run(query, session_id, session_id)[0]
        seq, this = tx.next("conversation", len(messages)), last_round + 1
        added = [
            Message(
                seq + at, one.text_id, session_id, one.timestamp, one.role, PREFIX[one.role] + one.words,
                -this if one.greeting else this, finish, stored_at=now, position=position + (at + 1) * MESSAGE_SPACE,
                quoted=one.quoted, demo=one.demo, speaker=one.speaker,
            )
            for at, one in enumerate(messages)
        ]  # fmt: skip
        self.add(tx, added)
        return added

    def add(self, tx: Transaction, messages: Sequence[Message]) -> None:
        """Messages as they are, with the numbers and positions that they have."""
        tx.many(_INSERT, [_row_values(message) for message in messages])

    def delete(self, tx: Transaction, messages: Sequence[Message]) -> None:
        """Remove the rows of messages."""
        tx.many("DELETE FROM conversation WHERE seq = ?", [(message.seq,) for message in messages])

    def set_hidden(self, tx: Transaction, messages: Iterable[Message], hidden: bool) -> None:
        """Note whether messages are hidden."""
        if hidden:
            self._raise_number(tx, _HIDINGS)
        tx.many(
            "UPDATE conversation SET hidden = ? WHERE seq = ?", [(int(hidden), message.seq) for message in messages]
        )

    def set_words(self, tx: Transaction, message: Message, words: str) -> None:
        """Put other words in place of those of a message."""
        tx.do("UPDATE conversation SET text = ? WHERE seq = ?", PREFIX[message.role] + words, message.seq)

    def leave_context(self, tx: Transaction, session_id: str, upto: int) -> None:
        """Let all rounds as far as the round ``upto`` leave the context."""
        last = "(SELECT max(position) FROM conversation WHERE session_id = ? AND round = ?)"
        sql = f"UPDATE conversation SET compacted = 1 WHERE session_id = ? AND compacted = 0 AND position <= {last}"
        tx.do(sql, session_id, session_id, upto)

    def enter_context(self, tx: Transaction, session_id: str, position: int | None) -> None:
        """Bring the messages from a position on back into the context."""
        tx.do("UPDATE conversation SET compacted = 0 WHERE session_id = ? AND position >= ?", session_id, position)

    def make_room_for(self, tx: Transaction, first: Sequence[Message]) -> None:
        """Let what is in a session follow these messages, which are to be put back in front of it."""
        if not first or not (present := self.of_session(first[0].session_id)):
            return
        rounds = max(message.round for message in [*first, *present])
        places = max(message.position for message in [*first, *present])
        # Downwards, so that no two rounds have one number for a moment.
        shifts = ((message, rounds if message.round > 0 else -rounds) for message in present)
        moved = [(message.round + shift, message.position + places, message.seq) for message, shift in shifts]
        ordered = sorted(moved, key=lambda row: -abs(row[0]))
        tx.many("UPDATE conversation SET round = ?, position = ? WHERE seq = ?", ordered)

    def move(self, tx: Transaction, session_id: str, position: int, by: int) -> None:
        """Move what is in a session from a position on."""
        sql = "UPDATE conversation SET position = position + ? WHERE session_id = ? AND position >= ?"
        tx.do(sql, by, session_id, position)

    def note_moves(self, tx: Transaction) -> None:
        """Note that whoever read messages by number has to read them again."""
        self._raise_number(tx, _GENERATION)

    def _raise_number(self, tx: Transaction, key: str) -> None:
        tx.do(
            "INSERT INTO meta (key, value) VALUES (?, '1') ON CONFLICT (key)"
            " DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + 1 AS TEXT)",
            key,
        )

    def _read_messages(self, query: str, *values: object) -> list[Message]:
        return [message_of(row) for row in self._database.run(query, *values)]


def _day_ordinals(days: Sequence[str]) -> list[int]:
    known = {}
    for day in set(days):
        with suppress(ValueError):
            known[day] = date.fromisoformat(day).toordinal()
    return [known.get(day, 0) for day in days]


def _packed(messages: MessageColumns, block: int) -> bytes:
    import numpy as np

    packed = np.zeros(len(messages.seq), _PACKED)
    for name in ("session", "length", "position", "day"):
        packed[name] = getattr(messages, name)
    packed["seq"] = np.asarray(messages.seq) - (block * _BLOCK + 1)
    packed["marks"] = np.asarray(messages.marks) | np.asarray(messages.by_user) * _BY_USER
    return packed.tobytes()


def _unpacked(blocks: Mapping[int, bytes]) -> MessageColumns:
    import numpy as np

    rows = np.frombuffer(b"".join(blocks.values()), _PACKED)
    sizes = [len(data) // rows.itemsize for data in blocks.values()]
    seq = rows["seq"] + np.repeat(np.array(list(blocks), np.int64) * _BLOCK + 1, sizes)
    unpacked: dict[str, Any] = {name: rows[name] for name, _ in _PACKED}
    unpacked |= {"seq": seq, "by_user": rows["marks"] // _BY_USER, "marks": rows["marks"] % _BY_USER}
    return MessageColumns(**unpacked)


#: A message that no extraction has read, and that may be read: what was said in a role is true of no one.
UNREAD = (
    f"c.window_id = '' AND {_VISIBLE}"
    " AND c.session_id NOT IN (SELECT session_id FROM imported_session WHERE role_play = 1)"
)


def message_of(row: Row | Sequence[Any]) -> Message:
    """A message out of a row that ``TURN`` reads."""
    values = list(row)
    values[8], values[11] = bool(values[8]), bool(values[11])
    values[12] = tuple(Quoted(*one) for one in json.loads(values[12])) if values[12] else ()
    values[13], values[15] = bool(values[13]), bool(values[15])
    return Message(*values)


def _row_values(message: Message) -> tuple[object, ...]:
    quoted = json.dumps([(one.number, one.text_id, one.timestamp) for one in message.quoted]) if message.quoted else ""
    columns = {name: getattr(message, name) for name in _COLUMNS.split(", ")} | {"quoted": quoted}
    values = (int(value) if isinstance(value, bool) else value for value in columns.values())
    return *values, instant(message.timestamp)


_SUMMARY = (
    "SELECT m.seq, m.text_id, m.session_id, m.timestamp, m.summary, m.upto_round, m.stored_at, s.position"
    " FROM summary m JOIN session s ON s.session_id = m.session_id"
)


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary that is to be stored; without text none takes the place of the one before."""

    text_id: str
    timestamp: str
    text: str


class Summaries:
    """Reads and writes the table ``summary``; one goes with all that rests on it."""

    def __init__(self, database: Database, index: TextIndex, chapters: Chapters) -> None:
        self._database = database
        self._index = index
        self._chapters = chapters

    def of(self, session_id: str) -> Summary | None:
        """The summary of a session, if it has one."""
        rows = self._database.run(f"{_SUMMARY} WHERE m.session_id = ?", session_id)
        return Summary(*rows[0]) if rows else None

    def all(self) -> list[Summary]:
        """The summaries of all sessions, in their order."""
        return [Summary(*row) for row in self._database.run(f"{_SUMMARY} ORDER BY s.position")]

    def with_ids(self, text_ids: Sequence[str]) -> list[Summary]:
        """The summaries with these ids that are still there, in the order of their sessions."""
        query = f"{_SUMMARY} WHERE m.text_id IN {EACH} ORDER BY s.position"
        return [Summary(*row) for row in self._database.run(query, list(text_ids))] if text_ids else []

    def of_sessions(self, numbers: Sequence[int]) -> dict[int, Summary]:
        """The summaries of sessions by number; one without, or that is archived out of the search, is left out."""
        query = (
            f"{_SUMMARY.replace(' FROM', ', s.number FROM', 1)} WHERE s.number IN {EACH} AND m.summary <> ''"
            " AND NOT EXISTS (SELECT 1 FROM archived_memory f WHERE f.text_id = m.session_id)"
        )
        rows: list[Row] = self._database.run(query, list(numbers)) if len(numbers) else []
        return {row["number"]: Summary(*tuple(row)[:-1]) for row in rows}

    def sessions_of(self, *, seqs: Sequence[int] = (), text_ids: Sequence[str] = ()) -> dict[int | str, int]:
        """Session numbers by the number, or the id, of their summary."""
        query = (
            "SELECT m.{0}, s.number FROM summary m JOIN session s ON s.session_id = m.session_id"
            f" WHERE m.{{0}} IN {EACH}"
        )
        found: dict[int | str, int] = {}
        for column, keys in (("seq", list(seqs)), ("text_id", list(text_ids))):
            if keys:
                found.update({row[0]: row[1] for row in self._database.run(query.format(column), keys)})
        return found

    def sessions_after(self, seq: int) -> dict[int, int]:
        """Session numbers by the number of their summary, of those after this one."""
        query = "SELECT m.seq, s.number FROM summary m JOIN session s ON s.session_id = m.session_id WHERE m.seq > ?"
        return {row[0]: row[1] for row in self._database.run(query, seq)}

    def replace(self, tx: Transaction, session_id: str, new: NewSummary, upto: int) -> None:
        """A summary made from the rounds up to ``upto`` in place of the present one, if any."""
        self._delete_row(tx, self.of(session_id))
        if new.text:
            self.add(tx, session_id, new, upto)

    def add(self, tx: Transaction, session_id: str, new: NewSummary, upto: int) -> None:
        """A summary of a session that has none."""
        added = Summary(tx.next("summary"), new.text_id, session_id, new.timestamp, new.text, upto, new.timestamp)
        self.put_back(tx, added, new=True)

    def put_back(self, tx: Transaction, summary: Summary, *, new: bool = False) -> None:
        """A summary as it was."""
        columns = "seq, text_id, session_id, timestamp, summary, upto_round, stored_at"
        values = [getattr(summary, name) for name in columns.split(", ")]
        tx.do(f"INSERT INTO summary ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", *values)
        self._index.add_summary(tx, summary, new=new)

    def remove(self, tx: Transaction, summary: Summary | None) -> None:
        """A summary goes, and the text of every chapter above it."""
        if summary is not None:
            self._chapters.void_above(tx, sessions=[summary.session_id])
            self._delete_row(tx, summary)

    def _delete_row(self, tx: Transaction, summary: Summary | None) -> None:
        if summary is not None:
            self._index.remove_summary(tx, summary)
            tx.do("DELETE FROM summary WHERE seq = ?", summary.seq)


_SLICE = 5_000
_IS_FADED = "EXISTS (SELECT 1 FROM archived_memory f WHERE f.text_id = {0})"
_SEARCHED = f"c.hidden = 0 AND c.demo = 0 AND NOT {_IS_FADED.format('c.text_id')}"
_SEARCHED_SUMMARIES = f"m.summary <> '' AND NOT {_IS_FADED.format('m.session_id')}"
#: The turns and sessions that never fade, by name.
_KEPT = f"""
WITH RECURSIVE kept_chapter (seq) AS (
    SELECT c.seq FROM chapter c JOIN visit v USING (text_id) WHERE v.never_delete = 1
    UNION SELECT c.seq FROM chapter c JOIN kept_chapter k ON c.parent = k.seq
),
kept_session (session_id) AS (
    SELECT session_id FROM session WHERE status <> 'archived' OR chapter IN (SELECT seq FROM kept_chapter)
        OR EXISTS (SELECT 1 FROM visit WHERE text_id = '{LIFE}' AND never_delete = 1)
    UNION SELECT text_id FROM visit WHERE never_delete = 1
),
kept_message (seq) AS (
    SELECT t.message FROM fact_message t JOIN fact f ON f.seq = t.fact WHERE f.kept = 1
    UNION SELECT t.message FROM line_message t JOIN line_evidence e ON e.seq = t.line
        WHERE EXISTS (SELECT 1 FROM pin p WHERE p.persona = e.persona AND instr(e.line, trim(p.text)) > 0)
    UNION SELECT c.seq FROM conversation c JOIN visit v USING (text_id) WHERE v.never_delete = 1
    UNION SELECT seq FROM conversation WHERE chapter IN (SELECT seq FROM kept_chapter)
)
"""
_LEAVES = f"""{_KEPT}
SELECT name, session_id, timestamp, text, coalesce(v.visit_count, 0), coalesce(v.last_visit, 0), is_session FROM (
    SELECT c.text_id AS name, c.session_id, c.timestamp, c.text, 0 AS is_session, s.position, c.position AS place
        FROM conversation c JOIN session s ON s.session_id = c.session_id WHERE {_SEARCHED}
        AND c.session_id NOT IN (SELECT session_id FROM kept_session) AND c.seq NOT IN (SELECT seq FROM kept_message)
    UNION ALL
    SELECT m.session_id, m.session_id, m.timestamp, m.summary, 1, s.position, 0
        FROM summary m JOIN session s ON s.session_id = m.session_id WHERE {_SEARCHED_SUMMARIES}
        AND m.session_id NOT IN (SELECT session_id FROM kept_session)
        AND NOT EXISTS (SELECT 1 FROM conversation c WHERE c.session_id = m.session_id AND {_SEARCHED})
) LEFT JOIN visit v ON v.text_id = name
ORDER BY coalesce(v.last_visit, 0), coalesce(v.visit_count, 0), position, place LIMIT ?
"""


#: Visits messages, sessions by a message or the summary, and chapters, and all above them.
_VISIT = (
    "INSERT INTO visit (text_id, visit_count, last_visit) SELECT name, 1, CAST(? AS INTEGER) FROM (WITH RECURSIVE"
    f" hit AS (SELECT text_id, session_id, chapter FROM conversation WHERE text_id IN {EACH}),"
    " hit_session AS (SELECT session_id FROM hit"
    f" UNION SELECT session_id FROM summary WHERE text_id IN {EACH}),"
    " up (seq) AS (SELECT chapter FROM hit WHERE chapter IS NOT NULL"
    " UNION SELECT s.chapter FROM session s JOIN hit_session h ON h.session_id = s.session_id"
    " WHERE s.chapter IS NOT NULL"
    f" UNION SELECT seq FROM chapter WHERE text_id IN {EACH}"
    " UNION SELECT c.parent FROM up JOIN chapter c ON c.seq = up.seq WHERE c.parent IS NOT NULL),"
    " named (name) AS (SELECT text_id FROM hit UNION SELECT session_id FROM hit_session"
    " UNION SELECT c.text_id FROM chapter c JOIN up ON up.seq = c.seq)"
    f" SELECT name FROM named UNION SELECT '{LIFE}' FROM named) AS visited"
    " WHERE name <> '' ON CONFLICT (text_id)"
    " DO UPDATE SET visit_count = visit.visit_count + 1, last_visit = excluded.last_visit"
)


class Archive:
    """Reads and writes the tables ``archived_memory`` and ``visit``.

    A visit is a round in which a message, a session or a chapter, or anything under it, was recalled; ``last_visit`` is
    the number of that round.
    """

    def __init__(
        self, database: Database, index: TextIndex, messages: Messages, summaries: Summaries, stamp: Stamp
    ) -> None:
        self._database = database
        self._index = index
        self._messages = messages
        self._summaries = summaries
        self._stamp = stamp

    def count_searched(self) -> int:
        """How many memories can be found: messages, and summaries of sessions."""
        query = (
            f"SELECT (SELECT count(*) FROM conversation c WHERE {_SEARCHED})"
            f" + (SELECT count(*) FROM summary m WHERE {_SEARCHED_SUMMARIES})"
        )
        return int(self._database.run(query)[0][0])

    def next_batch(self, limit: ForgetLimit) -> list[Leaf]:
        """What is archived in the next step; nothing while no more is searched than may be, or all of it is kept."""
        step = limit.step(self.count_searched()) if limit.most else 0
        return self.oldest_visited(step) if step else []

    def oldest_visited(self, most: int) -> list[Leaf]:
        """What would be archived first: visited longest ago, then least often, then the oldest."""
        rows = self._database.run(_LEAVES, most)
        return [Leaf(*one) for one in ((*row[:-1], bool(row[-1])) for row in rows)]

    def all(self) -> Mapping[str, str]:
        """What is archived, and since when, by name."""
        rows = self._database.run("SELECT text_id, stored_at FROM archived_memory ORDER BY text_id")
        return {row[0]: row[1] for row in rows}

    def has_any(self) -> bool:
        """Whether anything is archived."""
        return bool(self._database.run(ANY_ARCHIVED))

    def texts(self) -> Iterator[list[FadedText]]:
        """The texts of all archived messages, in batches."""
        after = 0
        query = (
            "SELECT c.seq, c.session_id, c.timestamp, c.text FROM conversation c"
            f" WHERE {_IS_FADED.format('c.text_id')} AND c.hidden = 0 AND c.demo = 0 AND c.seq > ?"
            f" ORDER BY c.seq LIMIT {_SLICE}"
        )
        while texts := [FadedText(*row) for row in self._database.run(query, after)]:
            yield texts
            after = texts[-1].seq

    def archive(self, leaves: Sequence[Leaf]) -> None:
        """Take these out of every index; they stay stored."""
        now = self._stamp.now()
        with self._database.write() as tx:
            rows = [(leaf.name, now, instant(now)) for leaf in leaves]
            columns = "(text_id, stored_at, instant) VALUES (?, ?, ?) ON CONFLICT (text_id) DO NOTHING"
            tx.many(f"INSERT INTO archived_memory {columns}", rows)
            messages, summaries = self._find_named([leaf.name for leaf in leaves])
            self._index.remove_messages(tx, messages)
            for summary in summaries:
                self._index.remove_summary(tx, summary)
            self._messages.note_moves(tx)

    def restore(self, names: Sequence[str]) -> None:
        """Let these be found again, with the summaries of the sessions that they are of."""
        messages, _ = self._find_named(names)
        back = list(dict.fromkeys([*names, *(message.session_id for message in messages)]))
        with self._database.write() as tx:
            tx.many("DELETE FROM archived_memory WHERE text_id = ?", [(name,) for name in back])
            messages, summaries = self._find_named(back)
            self._index.add_messages(tx, messages)
            for summary in summaries:
                self._index.add_summary(tx, summary)
            self._messages.note_moves(tx)

    # -- what was used -------------------------------------------------------------------------------------------

    def rounds_counted(self) -> int:
        """How many rounds this memory ever had, by which visits are dated; also those that are gone."""
        rows = self._database.run("SELECT value FROM counter WHERE name = 'round'")
        return int(rows[0][0]) if rows else 0

    def visit(self, served: Sequence[str]) -> None:
        """One more round, in which these messages, summaries and chapters were recalled; archived ones are restored."""
        with self._database.write() as tx:
            number, ids = tx.next("round"), list(dict.fromkeys(served))
            if ids:
                tx.do(_VISIT, number, ids, ids, ids)
                if back := sorted(self._index.archived_among(ids)):
                    self.restore(back)

    def note_visits(self, tx: Transaction, name: str, visits: tuple[int, int], *, never_delete: bool) -> None:
        """Note how often a new message was recalled elsewhere, in which round last, and whether it may be archived."""
        tx.do(
            "INSERT INTO visit (text_id, visit_count, last_visit, never_delete) VALUES (?, ?, ?, ?) ON CONFLICT"
            " (text_id) DO UPDATE SET visit_count = excluded.visit_count, last_visit = excluded.last_visit,"
            " never_delete = excluded.never_delete",
            name, *visits, int(never_delete),
        )  # fmt: skip
        if visits[1] > self.rounds_counted():
            # What is recalled here from now on is recalled later than that.
            tx.next("round", visits[1] - self.rounds_counted())

    def set_never_delete(self, names: Sequence[str], never: bool) -> None:
        """Note whether these nodes may never be archived out of the search or deleted."""
        with self._database.write() as tx:
            tx.many(
                "INSERT INTO visit (text_id, never_delete) VALUES (?, ?) ON CONFLICT (text_id)"
                " DO UPDATE SET never_delete = excluded.never_delete",
                [(name, int(never)) for name in names],
            )

    def _find_named(self, names: Sequence[str]) -> tuple[list[Message], list[Summary]]:
        summaries = (self._summaries.of(name) for name in names)
        return self._messages.with_ids(names), [one for one in summaries if one and one.summary]


#: Between the positions of two sessions as they are stored one after another.
SESSION_SPACE = 1 << 20
#: Sessions that are put between two others one after another are so far apart.
CLOSE = 1 << 10

_SESSION = (
    "SELECT session_id, number, start_timestamp, end_timestamp, status, current_conv_count, stored_at, position,"
    " client, client_key FROM session"
)
_IN_FLIGHT = "SELECT session_id, timestamp, text, partial FROM in_flight"


class Sessions:
    """Reads and writes the tables ``session`` and ``in_flight``. Several sessions may be active, each in one program.

    >>> session, resumed = sessions.resume_or_start()
    >>> sessions.recent(10)[0].session_id == session.session_id
    True
    """

    def __init__(self, database: Database, stamp: Stamp, claims: Claims) -> None:
        self._database = database
        self._stamp = stamp
        self._claims = claims

    def find(self, session_id: str) -> Session | None:
        """One session by its id."""
        return next(iter(self._find_all("WHERE session_id = ?", session_id)), None)

    def is_open(self, session_id: str) -> bool:
        """Whether there is a session that is not archived."""
        session = self.find(session_id)
        return session is not None and session.status == "active"

    def number_of(self, session_id: str) -> int | None:
        """The number of a session; None when there is none."""
        session = self.find(session_id)
        return session.number if session else None

    def clients_of(self, session_ids: Collection[str]) -> dict[str, str]:
        """Of these sessions those that are a client's, with its name."""
        query = f"SELECT session_id, client FROM session WHERE session_id IN {EACH} AND client <> ''"
        found = self._database.run(query, sorted(session_ids)) if session_ids and self.has_clients() else ()
        return {row[0]: row[1] for row in found}

    def has_clients(self) -> bool:
        """Whether any session is a client's."""
        return bool(self._database.run("SELECT 1 FROM session WHERE client <> '' LIMIT 1"))

    def require(self, session_id: str) -> Session:
        """One session that there is."""
        return self._find_all("WHERE session_id = ?", session_id)[0]

    def is_of_program(self, session_id: str) -> bool:
        """Whether a companion's words in a session are not ours: it came from an export, or the memory service."""
        query = (
            "SELECT 1 FROM session s WHERE s.session_id = ? AND (s.client = ?"
            " OR s.session_id IN (SELECT session_id FROM imported_session))"
        )
        return bool(self._database.run(query, session_id, SERVICE_CLIENT))

    def was_imported(self, session_id: str) -> bool:
        """Whether a session came from an export of another program."""
        return bool(self._database.run("SELECT 1 FROM imported_session WHERE session_id = ?", session_id))

    def recent(self, limit: int | None = 20, offset: int = 0) -> list[Session]:
        """Sessions, newest first; all of them without a limit."""
        if limit is None:
            return self._find_all("ORDER BY position DESC")[offset:]
        return self._find_all("ORDER BY position DESC LIMIT ? OFFSET ?", limit, offset)

    def counts(self) -> tuple[int, int]:
        """How many archived sessions, and how many rounds, are remembered."""
        query = (
            "SELECT (SELECT count(*) FROM session WHERE status = 'archived'),"
            " (SELECT count(*) FROM conversation WHERE role = 'user')"
        )
        sessions, rounds = self._database.run(query)[0]
        return int(sessions), int(rounds)

    def newest_active(self) -> Session | None:
        """The active session that comes last of those that no other program has; those of clients are none of it."""
        taken = self._claims.taken_elsewhere("session")
        query = "WHERE status = 'active' AND client = '' ORDER BY position DESC LIMIT ?"
        return next((one for one in self._find_all(query, len(taken) + 1) if one.session_id not in taken), None)

    def active(self, client: str | None = None, *, besides: Collection[str] = ()) -> list[Session]:
        """Every active session, or those of one client, oldest first.

        One of a client that has an ``end_timestamp`` waits to be archived.
        """
        found = self._find_all("WHERE status = 'active' ORDER BY position")
        return [one for one in found if client in (None, one.client) and one.session_id not in besides]

    def of_client(self, client: str, key: str | None = None) -> list[Session]:
        """Every session of a client, or those of one of its keys, oldest first."""
        if key is None:
            return self._find_all("WHERE client = ? AND client <> '' ORDER BY position", client)
        return self._find_all("WHERE client = ? AND client <> '' AND client_key = ? ORDER BY position", client, key)

    # -- starting and ending -------------------------------------------------------------------------------------

    def resume_or_start(self) -> tuple[Session, bool]:
        """The newest active session that no other program has, and whether it was there before; else a new one.

        It is this program's from then on.
        """
        with self._database.write():
            session = self.newest_active()
            if session is None:
                return self.start(), False
            self._claims.take("session", session.session_id)
            return session, True

    def start(
        self, began: str | None = None, *, before: str | None = None, client: str = "", client_key: str | None = None
    ) -> Session:
        """A new active session: the last of all, or right ``before`` one, or before the first that ``began`` later.

        One of a client, or right before another, is never gone on with as the newest; any other is this program's.
        """
        with self._database.write() as tx:
            name, now = self._stamp.new_session_id(), self._stamp.now()
            if not client:
                self._claims.take("session", name)
            return self.add(tx, name, now, began, before=before, client=client, client_key=client_key)

    def add(
        self,
        tx: Transaction,
        session_id: str,
        now: str,
        began: str | None = None,
        *,
        before: str | None = None,
        client: str = "",
        client_key: str | None = None,
    ) -> Session:
        """The same under a given id, stored at ``now``."""
        place = None
        if before:
            place = self._place_before(tx, "session_id = ?", before)
        elif began:
            place = self._place_before(tx, "instant > ?", instant(began))
        number, start = tx.next("session"), began or now
        position = self.end_of_all() if place is None else place
        columns = "session_id, number, start_timestamp, instant, status, stored_at, position, client, client_key"
        values = (session_id, number, start, instant(start), "active", now, position, client, client_key)
        tx.do(f"INSERT INTO session ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *values)
        return Session(session_id, number, start, None, "active", 0, now, position, client, client_key)

    def end(self, session_id: str, ended: str) -> None:
        """Note that an active session has ended: no one goes on in it, and it waits to be archived."""
        with self._database.write() as tx:
            sql = "UPDATE session SET end_timestamp = ? WHERE session_id = ? AND end_timestamp IS NULL"
            tx.do(sql, ended, session_id)

    def close(self, tx: Transaction, session_id: str, now: str) -> bool:
        """Archive a session as it is. False where it is gone, or archived already."""
        sql = (
            "UPDATE session SET status = 'archived', end_timestamp = coalesce(end_timestamp, ?)"
            " WHERE session_id = ? AND status = 'active' RETURNING session_id"
        )
        return bool(tx.run(sql, now, session_id))

    def reopen(self, tx: Transaction, session_id: str) -> None:
        """Make a session the terminal's own, and active."""
        sql = "UPDATE session SET status = 'active', end_timestamp = NULL, client = '' WHERE session_id = ?"
        tx.do(sql, session_id)

    def count(self, tx: Transaction, session_id: str) -> None:
        """Note how many rounds of a session are in its context."""
        tx.do(
            "UPDATE session SET current_conv_count = (SELECT count(*) FROM conversation c"
            " WHERE c.session_id = session.session_id AND c.compacted = 0 AND c.role = 'user') WHERE session_id = ?",
            session_id,
        )

    def end_of_all(self) -> int:
        """The position behind every session."""
        return int(self._database.run("SELECT coalesce(max(position), 0) FROM session")[0][0]) + SESSION_SPACE

    def make_room(self, tx: Transaction) -> None:
        """Space the sessions again, in their order."""
        rows = self._database.run("SELECT number FROM session ORDER BY position")
        spaced = [(place * SESSION_SPACE, row["number"]) for place, row in enumerate(rows, start=1)]
        tx.many("UPDATE session SET position = ? WHERE number = ?", spaced)

    def _place_before(self, tx: Transaction, which: str, value: object) -> int | None:
        """A free position before the first session of which something is so; None when there is none."""
        first = f"SELECT min(position) FROM session WHERE {which}"
        while (after := self._database.run(first, value)[0][0]) is not None:
            before = self._database.run("SELECT max(position) FROM session WHERE position < ?", after)[0][0]
            if before is None:
                return int(after) - SESSION_SPACE
            if after - before > 1:
                return int(before + min(CLOSE, (after - before) // 2))
            self.make_room(tx)
        return None

    # -- in flight -----------------------------------------------------------------------------------------------

    def in_flight(self, session_id: str) -> InFlight | None:
        """What was typed in a session and never got its reply."""
        rows = self._database.run(f"{_IN_FLIGHT} WHERE session_id = ?", session_id)
        return InFlight(*rows[0]) if rows else None

    def every_in_flight(self) -> list[InFlight]:
        """The same of all sessions."""
        return [InFlight(*row) for row in self._database.run(_IN_FLIGHT)]

    def note_in_flight(self, session_id: str, text: str) -> None:
        """Store what was typed, before anything else is done with it."""
        with self._database.write() as tx:
            tx.do(
                "INSERT INTO in_flight (session_id, timestamp, text, partial) VALUES (?, ?, ?, '')"
                " ON CONFLICT (session_id) DO UPDATE SET timestamp = excluded.timestamp, text = excluded.text,"
                " partial = ''",
                session_id, self._stamp.now(), text,
            )  # fmt: skip

    def keep_partial(self, session_id: str, partial: str) -> None:
        """Store how much of the reply to what is in flight has arrived."""
        with self._database.write() as tx:
            tx.do("UPDATE in_flight SET partial = ? WHERE session_id = ?", partial, session_id)

    def drop_in_flight(self, session_id: str) -> None:
        """Remove what is in flight in a session."""
        with self._database.write() as tx:
            tx.do("DELETE FROM in_flight WHERE session_id = ?", session_id)

    def _find_all(self, which: str, *values: object) -> list[Session]:
        return [Session(*row) for row in self._database.run(f"{_SESSION} {which}", *values)]


@dataclass(frozen=True, slots=True)
class SaveToUndo:
    """What a save replaces: the summary, where the context began; the windows that were read, and the personas made."""

    summary: Summary | None
    context: int | None
    windows: tuple[str, ...]
    personas: Mapping[Persona, int] = field(default_factory=dict)


class UndoableSaves:
    """Reads and writes the table ``undoable_save``."""

    def __init__(self, database: Database, messages: Messages) -> None:
        self._database = database
        self._messages = messages

    def about_to_replace(self, session_id: str, summary: Summary | None) -> SaveToUndo:
        """What a save of this session is about to replace."""
        context = "SELECT min(position) FROM conversation WHERE session_id = ? AND compacted = 0"
        windows = "SELECT name FROM read_window WHERE session_id = ? AND saving = 1"
        return SaveToUndo(
            summary,
            self._database.run(context, session_id)[0][0],
            tuple(row["name"] for row in self._database.run(windows, session_id)),
        )

    def store(
        self, tx: Transaction, sessions: tuple[str, str], was: SaveToUndo, personas: Mapping[Persona, int], now: str
    ) -> None:
        """Let the save of a session that opened another be undone; ``personas`` are the versions that it made."""
        summary = json.dumps(asdict(was.summary)) if was.summary else ""
        last = self._messages.highest_number()
        tx.do("DELETE FROM undoable_save WHERE last_message <> ? OR session_id = ?", last, sessions[0])
        columns = "session_id, following, windows, personas, summary, context, last_message, instant"
        tx.do(
            f"INSERT INTO undoable_save ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *sessions, json.dumps(was.windows), json.dumps(personas), summary, was.context, last, instant(now),
        )  # fmt: skip

    def find(self, session_id: str) -> SaveToUndo | None:
        """What the save of a session replaced; None when it cannot be undone."""
        query = (
            "SELECT summary, context, windows, personas FROM undoable_save WHERE session_id = ? AND last_message = ?"
        )
        rows = self._database.run(query, session_id, self._messages.highest_number())
        if not rows:
            return None
        summary = Summary(**json.loads(rows[0]["summary"])) if rows[0]["summary"] else None
        windows, personas = json.loads(rows[0]["windows"]), json.loads(rows[0]["personas"])
        return SaveToUndo(summary, rows[0]["context"], tuple(windows), personas)

    def last(self, present: str) -> str | None:
        """The session whose save opened the session ``present``; None when anything was said or decided since."""
        query = "SELECT session_id FROM undoable_save WHERE following = ? AND last_message = ?"
        rows = self._database.run(query, present, self._messages.highest_number())
        return str(rows[0]["session_id"]) if rows else None

    def drop(self, tx: Transaction) -> None:
        """No save can be undone any more."""
        tx.do("DELETE FROM undoable_save")

    def archived_since(self, session_id: str) -> list[str]:
        """What was archived out of the search since the save of a session."""
        query = (
            "SELECT f.text_id FROM archived_memory f JOIN undoable_save u ON u.session_id = ?"
            " WHERE f.instant >= u.instant"
        )
        return [row[0] for row in self._database.run(query, session_id)]
