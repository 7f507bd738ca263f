"""What is no round: input in flight, stages of a ``/save``, what is to be made anew, pinned lines, the images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from domain.records import Image, ImageVersion, InFlight, Origin, Renewable, Renewal
from storage.sqlite.database import Tables

_IN_FLIGHT = "SELECT session_id, timestamp, text, partial FROM in_flight"
_VERSION = "SELECT version, image, timestamp, text, origin, session_id FROM persona"
#: In ``meta``, before the name of an image: the number of the version that its file says.
_LAID = "persona."


class DraftTables(Tables):
    """Reads and writes the tables ``in_flight``, ``save_stage``, ``renewal``, ``pin`` and ``meta``."""

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
        """Ask for something to be made anew; what is being made for an older wish does not count any more."""
        columns = "(what, session_id, timestamp) VALUES (?, ?, ?)"
        with self._database.write() as sql:
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

    def _meta(self, key: str) -> str | None:
        """A small note by its key."""
        rows = self._read("SELECT value FROM meta WHERE key = ?", key)
        return str(rows[0]["value"]) if rows else None

    def _set_meta(self, key: str, value: str | None) -> None:
        """Write a small note, or with None remove it."""
        with self._database.write() as sql:
            if value is None:
                sql("DELETE FROM meta WHERE key = ?", (key,))
            else:
                sql("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


class ImageTables(DraftTables):
    """Reads and writes the table ``persona``: every version that the images ever had."""

    def versions(self, image: Image) -> list[ImageVersion]:
        """Every version of an image, oldest first."""
        rows = self._read(f"{_VERSION} WHERE image = ? ORDER BY version", image)
        return [ImageVersion(*row) for row in rows]

    def newest_version(self, image: Image) -> ImageVersion | None:
        """The version in force; None while there has never been one."""
        rows = self._read(f"{_VERSION} WHERE image = ? ORDER BY version DESC LIMIT 1", image)
        return ImageVersion(*rows[0]) if rows else None

    def version(self, number: int) -> ImageVersion | None:
        """One version by its number."""
        rows = self._read(f"{_VERSION} WHERE version = ?", number)
        return ImageVersion(*rows[0]) if rows else None

    def add_version(
        self, image: Image, text: str, origin: Origin, now: str, session_id: str | None = None
    ) -> ImageVersion:
        """A new version, in force from this commit on; its file is laid afterwards."""
        values = (image, now, text, origin, session_id)
        with self._database.write() as sql:
            columns = "(image, timestamp, text, origin, session_id) VALUES (?, ?, ?, ?, ?)"
            number = sql(f"INSERT INTO persona {columns}", values).lastrowid or 0
        return ImageVersion(number, *values)

    def add_laid_version(self, image: Image, text: str, origin: Origin, now: str) -> ImageVersion:
        """A new version that stands in the file already."""
        with self._database.write():
            version = self.add_version(image, text, origin, now)
            self.set_laid_version(image, version.version)
        return version

    def laid_version(self, image: Image) -> int | None:
        """The number of the version that was last laid into the file; 0 when that was erased."""
        value = self._meta(_LAID + image)
        return None if value is None else int(value)

    def set_laid_version(self, image: Image, number: int | None) -> None:
        """Note which version the file says; None when there is no file."""
        self._set_meta(_LAID + image, None if number is None else str(number))

    def _leave_of_versions(self, versions: Iterable[tuple[ImageVersion, str]]) -> None:
        """Leave less of versions; a file that says one of them as it was is not to be read again."""
        with self._database.write() as sql:
            for version, left in versions:
                sql("UPDATE persona SET text = ? WHERE version = ?", (left, version.version))
                laid = (_LAID + version.image, str(version.version))
                sql("UPDATE meta SET value = '0' WHERE key = ? AND value = ?", laid)
