"""Sessions: which there are, which are active, where each is among the others; and what is in flight in each.

Order is by ``position``, never by clock: a session may be started before others that there are. Positions are spaced,
so that something can be put between two of them. What a ``/save`` replaced is kept until anything is said or decided
after it, so that it can be undone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field

from domain.records import InFlight, Persona, Session, Summary
from storage.engine import Stamp, instant
from storage.messages import Messages
from storage.sqlite.database import Database, Transaction

#: Between the positions of two sessions as they are stored one after another.
SESSION_SPACE = 1 << 20
#: Sessions that are put between two others one after another are so far apart.
CLOSE = 1 << 10

_SESSION = (
    "SELECT session_id, number, start_timestamp, end_timestamp, status, current_conv_count, stored_at, position,"
    " client, client_key FROM session"
)
#: The windows that were read while a session is being saved.
SAVING_WINDOWS = "SELECT name FROM read_window WHERE session_id = ? AND saving = 1"
_IN_FLIGHT = "SELECT session_id, timestamp, text, partial FROM in_flight"


class Sessions:
    """Reads and writes the tables ``session`` and ``in_flight``. Several sessions may be active.

    >>> session, resumed = sessions.resume_or_start()
    >>> sessions.recent(10)[0].session_id == session.session_id
    True
    """

    def __init__(self, database: Database, stamp: Stamp) -> None:
        self._database = database
        self._stamp = stamp

    def find(self, session_id: str) -> Session | None:
        """One session by its id."""
        return next(iter(self._find_all("WHERE session_id = ?", session_id)), None)

    def number_of(self, session_id: str) -> int | None:
        """The number of a session; None when there is none."""
        session = self.find(session_id)
        return session.number if session else None

    def require(self, session_id: str) -> Session:
        """One session that there is."""
        return self._find_all("WHERE session_id = ?", session_id)[0]

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
        """The active session of the terminal that comes last; those of clients are none of it."""
        found = self._find_all("WHERE status = 'active' AND client = '' ORDER BY position DESC LIMIT 1")
        return next(iter(found), None)

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
        """The newest active session and whether it was there before; a new one where none is active."""
        session = self.newest_active()
        return (self.start(), False) if session is None else (session, True)

    def start(
        self, began: str | None = None, *, before: str | None = None, client: str = "", client_key: str | None = None
    ) -> Session:
        """A new active session: the last of all, or right ``before`` one, or before the first that ``began`` later.

        One of a client, or right before another, is never gone on with as the newest.
        """
        with self._database.write() as tx:
            return self.add(
                tx,
                self._stamp.new_session_id(),
                self._stamp.now(),
                began,
                before=before,
                client=client,
                client_key=client_key,
            )

    def start_for(self, client: str, key: str) -> Session:
        """A new active session that a client has under a key; the terminal never goes on with it on its own."""
        return self.start(client=client, client_key=key)

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

    def close(self, tx: Transaction, session_id: str, now: str) -> None:
        """Archive a session as it is."""
        tx.do(
            "UPDATE session SET status = 'archived', end_timestamp = coalesce(end_timestamp, ?) WHERE session_id = ?",
            now, session_id,
        )  # fmt: skip

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
        return SaveToUndo(
            summary,
            self._database.run(context, session_id)[0][0],
            tuple(row["name"] for row in self._database.run(SAVING_WINDOWS, session_id)),
        )

    def store(
        self, tx: Transaction, session_id: str, was: SaveToUndo, personas: Mapping[Persona, int], now: str
    ) -> None:
        """Let a save be undone; ``personas`` are the versions that it made."""
        summary = json.dumps(asdict(was.summary)) if was.summary else ""
        last = self._messages.highest_number()
        tx.do("DELETE FROM undoable_save WHERE last_turn <> ? OR session_id = ?", last, session_id)
        columns = "session_id, windows, personas, summary, context, last_turn, stored_at, instant"
        tx.do(
            f"INSERT INTO undoable_save ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            session_id, json.dumps(was.windows), json.dumps(personas), summary, was.context, last, now, instant(now),
        )  # fmt: skip

    def find(self, session_id: str) -> SaveToUndo | None:
        """What the save of a session replaced; None when it cannot be undone."""
        query = "SELECT summary, context, windows, personas FROM undoable_save WHERE session_id = ? AND last_turn = ?"
        rows = self._database.run(query, session_id, self._messages.highest_number())
        if not rows:
            return None
        summary = Summary(**json.loads(rows[0]["summary"])) if rows[0]["summary"] else None
        windows, personas = json.loads(rows[0]["windows"]), json.loads(rows[0]["personas"])
        return SaveToUndo(summary, rows[0]["context"], tuple(windows), personas)

    def last(self, present: str) -> str | None:
        """The session whose save opened the session ``present``; None when anything was said or decided since."""
        query = (
            "SELECT u.session_id FROM undoable_save u JOIN session p ON p.stored_at = u.stored_at"
            " WHERE p.session_id = ? AND p.session_id <> u.session_id AND u.last_turn = ?"
        )
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
