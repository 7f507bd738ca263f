"""What is open between the two, and when the companion last spoke first.

A matter rests on one message and goes with it, also where that is hidden. It is stored with the facts of its window and
taken back with them. What became of it is decided where a later window is read, and by ``facts.matters``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.matters import MatterStatus, NewMatter, OpenMatter
from domain.records import PREFIX, Message
from storage.engine import EACH, Database, Transaction, read_meta, set_meta

#: In ``meta``: when the companion last spoke first, and how many such greetings in a row got no answer.
_GREETING = "greeting"
_UNVERIFIED: tuple[MatterStatus] = ("unverified",)
_MATTER = (
    "SELECT m.seq, m.kind, c.text_id, m.message, c.role, c.timestamp, c.text, m.due_from, m.due_to, m.precision,"
    " m.yearly, m.sensitivity, m.key, m.next_review, m.expires, m.status, m.asked, m.asked_at, m.shown,"
    " m.quote_start, m.quote_end"
    " FROM open_matter m JOIN conversation c ON c.seq = m.message AND c.hidden = 0"
)
_INSERT = (
    "INSERT INTO open_matter (seq, window_id, message, quote_start, quote_end, kind, due_from, due_to, precision,"
    " yearly, sensitivity, key, next_review, expires, stored_at, status)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True)
class Matters:
    """Reads and writes the table ``open_matter``."""

    database: Database

    def with_status(self, statuses: Collection[MatterStatus]) -> list[OpenMatter]:
        """The matters with one of these statuses, in the order in which they were said; none of what is hidden."""
        found = self.database.run(f"{_MATTER} WHERE m.status IN {EACH} ORDER BY m.message, m.seq", list(statuses))
        rows: list[list[Any]] = [list(row) for row in found]
        for row in rows:
            start, end = row.pop(-2), row.pop()
            row[6] = row[6].removeprefix(PREFIX[row[4]])[start:end]
            row[-1] = bool(row[-1])
        return [OpenMatter(*row) for row in rows if row[6]]

    def are_visible(self, numbers: Collection[int]) -> bool:
        """Whether all of these matters are stored and none rests on a hidden message."""
        query = (
            "SELECT count(*) FROM open_matter m JOIN conversation c ON c.seq = m.message AND c.hidden = 0"
            f" WHERE m.seq IN {EACH}"
        )
        return not numbers or self.database.run(query, list(numbers))[0][0] == len(numbers)

    def unverified_in(self, window: str) -> list[OpenMatter]:
        """The matters of a window of which no model has said yet that they are open."""
        query = "SELECT seq FROM open_matter WHERE status = 'unverified' AND window_id = ?"
        numbers = {row[0] for row in self.database.run(query, window)}
        return [one for one in self.with_status(_UNVERIFIED) if one.number in numbers] if numbers else []

    def add(
        self, tx: Transaction, window: str, matters: Sequence[NewMatter], messages: Mapping[str, Message], now: str
    ) -> None:
        """Store the matters of a window; one that is stored already, or rests on another window, is not."""
        if not matters:
            return
        stored = {(row[0], row[1]) for row in self.database.run("SELECT message, key FROM open_matter")}
        new = [one for one in matters if one.message in messages]
        new = [one for one in new if (messages[one.message].seq, one.key) not in stored]
        first = tx.next("open_matter", len(new)) if new else 0
        rows = [
            (first + at, window, messages[one.message].seq, one.start, one.end, one.kind,
             one.due_from, one.due_to, one.precision, one.yearly, one.sensitivity, one.key, one.next_review,
             one.expires, now, one.status)
            for at, one in enumerate(new)
        ]  # fmt: skip
        tx.many(_INSERT, rows)

    def set_status(self, number: int, status: MatterStatus, yearly: str, next_review: str) -> None:
        """Note what became of a matter, its day of every year, and from when it may be; what is dropped stays so."""
        with self.database.write() as tx:
            tx.do(
                "UPDATE open_matter SET status = ?, yearly = ?, next_review = ? WHERE seq = ? AND status <> 'dropped'",
                status, yearly, next_review, number,
            )  # fmt: skip

    def postpone(self, number: int, day: str) -> None:
        """Let a matter be open, and not brought up before a day."""
        with self.database.write() as tx:
            tx.do(
                "UPDATE open_matter SET status = 'pending', asked = 0, due_from = ?, due_to = ?, precision = 'day',"
                " next_review = ?, expires = '9999-12-31' WHERE seq = ?",
                day, day, day, number,
            )  # fmt: skip

    def note_asked(self, asked: Mapping[int, str], now: str) -> None:
        """Note that matters that are open were brought up now, each with the first day on which it may be again."""
        with self.database.write() as tx:
            tx.many(
                "UPDATE open_matter SET status = 'asked', asked = asked + 1, asked_at = ?, next_review = ?"
                " WHERE seq = ? AND status IN ('pending', 'asked')",
                [(now, day, number) for number, day in asked.items()],
            )

    def note_shown(self, numbers: Iterable[int]) -> None:
        """Note that matters were in a prompt as coming up."""
        with self.database.write() as tx:
            tx.many("UPDATE open_matter SET shown = 1 WHERE seq = ?", [(number,) for number in numbers])

    def remove(self, tx: Transaction, *, messages: Sequence[int] = (), windows: Sequence[str] = ()) -> None:
        """Remove what rests on these messages, by number, and what was read in these windows.

        Of a window what was asked about or is not to be asked about stays: the window may be read again.
        """
        if messages:
            tx.do(f"DELETE FROM open_matter WHERE message IN {EACH}", list(messages))
        if windows:
            fresh = "asked = 0 AND status <> 'dropped'"
            tx.do(f"DELETE FROM open_matter WHERE {fresh} AND window_id IN {EACH}", list(windows))

    def greeting(self) -> tuple[str, int]:
        """When the companion last spoke first ("" never), and how many such greetings in a row got no answer."""
        last, unanswered = json.loads(read_meta(self.database, _GREETING) or '["", 0]')
        return str(last), int(unanswered)

    def set_greeting(self, last: str, unanswered: int) -> None:
        """Note when the companion spoke first, and how many greetings in a row got no answer."""
        with self.database.write():
            set_meta(self.database, _GREETING, json.dumps([last, unanswered]))
