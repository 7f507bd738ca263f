"""What a rewrite heeds: the lines that are pinned, and what is to be made anew."""

from __future__ import annotations

from collections.abc import Sequence

from domain.imports import IMPORT_DOOR
from domain.records import Image, Renewable, Renewal
from storage.sqlite.database import Tables


class RewritingTables(Tables):
    """Reads and writes the tables ``pin`` and ``renewal``."""

    def pins(self, image: Image) -> tuple[str, ...]:
        """The lines that rewrites of an image must keep."""
        rows = self._read("SELECT text FROM pin WHERE image = ? ORDER BY number", image)
        return tuple(row["text"] for row in rows)

    def pin(self, image: Image, now: str, text: str, *, added: bool = False) -> None:
        """Add a line that rewrites must keep; ``added`` when it was put into the image with that."""
        with self._database.write() as sql:
            columns = "(image, timestamp, text, added) VALUES (?, ?, ?, ?)"
            sql(f"INSERT INTO pin {columns}", (image, now, text, int(added)))

    def unpin(self, image: Image, text: str) -> bool:
        """Remove such a line. Returns whether it was put into the image with that."""
        rows = self._read("SELECT max(added) FROM pin WHERE image = ? AND text = ?", image, text)
        with self._database.write() as sql:
            sql("DELETE FROM pin WHERE image = ? AND text = ?", (image, text))
        return bool(rows[0][0])

    def renewals(self) -> list[Renewal]:
        """What is to be made anew, in the order of the sessions."""
        query = (
            "SELECT r.number, r.what, r.session_id, r.timestamp FROM renewal r JOIN session s USING (session_id)"
            " ORDER BY s.position, r.number"
        )
        return [Renewal(*row) for row in self._read(query)]

    def _ask_anew(self, what: Renewable, session_id: str, timestamp: str) -> None:
        """Ask for something to be made anew; what is being made for an older wish does not count any more.

        A session that was brought along is read up again, when its turn comes.
        """
        columns = "(what, session_id, timestamp) VALUES (?, ?, ?)"
        brought = "UPDATE imported_session SET due = due + 1 WHERE session_id = ? AND session_id IN"
        closed = f"{brought} (SELECT session_id FROM session WHERE status = 'archived' AND door = ?)"
        with self._database.write() as sql:
            if what == "summary" and sql(closed, (session_id, IMPORT_DOOR)).rowcount:
                return
            sql(f"INSERT OR REPLACE INTO renewal {columns}", (what, session_id, timestamp))

    def _ask_again(self, session_id: str) -> None:
        """A summary that is to be made anew has still more to be made from."""
        for renewal in self.renewals():
            if (renewal.what, renewal.session_id) == ("summary", session_id):
                self._ask_anew("summary", session_id, renewal.timestamp)

    def _drop_summary_renewal(self, session_id: str) -> None:
        with self._database.write() as sql:
            sql("DELETE FROM renewal WHERE what = 'summary' AND session_id = ?", (session_id,))

    def _drop_image_renewals(self, session_id: str) -> None:
        with self._database.write() as sql:
            sql("DELETE FROM renewal WHERE what <> 'summary' AND session_id = ?", (session_id,))

    def _settle(self, renewals: Sequence[Renewal]) -> bool:
        """Let go of wishes that are being fulfilled in this commit. False, and nothing, when one is not there now."""
        if not {one.number for one in renewals} <= {one.number for one in self.renewals()}:
            return False
        with self._database.write() as sql:
            for one in renewals:
                sql("DELETE FROM renewal WHERE number = ?", (one.number,))
        return True
