"""Results of work that is done in steps, stored as each arrives, so that it resumes where it was cut short.

"save"    of a session: what each stage of ``/save`` resulted in
"window"  of an extraction window: the model's replies, each with a digest of what it was made from
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from storage.sqlite.database import Database, Transaction

StepKind = Literal["save", "window"]


@dataclass(frozen=True)
class Steps:
    """Reads and writes the table ``step``."""

    database: Database

    def of(self, kind: StepKind, key: str) -> dict[str, tuple[str, str]]:
        """What each step resulted in, and what that was made from, by step."""
        query = "SELECT step, result, base FROM step WHERE kind = ? AND key = ?"
        return {row["step"]: (row["result"], row["base"]) for row in self.database.run(query, kind, key)}

    def store(self, kind: StepKind, key: str, step: str, result: str, now: str, base: str = "") -> None:
        """Store the result of a step as soon as it is there."""
        with self.database.write() as tx:
            tx.do(
                "INSERT INTO step (kind, key, step, base, result, stored_at) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (kind, key, step) DO UPDATE SET base = excluded.base, result = excluded.result,"
                " stored_at = excluded.stored_at",
                kind, key, step, base, result, now,
            )  # fmt: skip

    def drop(self, tx: Transaction, kind: StepKind, key: str | None = None) -> None:
        """Forget the steps: the work is done, or what it was made from has changed. Without a key those of all."""
        if key is None:
            tx.do("DELETE FROM step WHERE kind = ?", kind)
        else:
            tx.do("DELETE FROM step WHERE kind = ? AND key = ?", kind, key)
