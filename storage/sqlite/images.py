"""The images: every version they ever had, and what their lines rest on.

A line that the program wrote rests on turns; beside them stand its day and how much it matters.

A row belongs to the version that brought it. For a line counts the row of the newest version; one without turns says
that the line rests on nothing any more. Rows stay as long as any version holds their line, so that an erasure finds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from domain.facts import ImageDraft, LineEvidence
from domain.records import IMAGES, Image, ImageVersion, Origin
from storage.image_lines import without
from storage.sqlite.database import Row, Tables

_VERSION = "SELECT version, image, timestamp, text, origin, session_id FROM persona"
#: In ``meta``, before the name of an image: the number of the version that its file says.
_LAID = "persona."
_EVIDENCE = (
    "SELECT l.line, l.day, l.importance, l.version, (SELECT group_concat(text_id, char(10)) FROM"
    " (SELECT c.text_id FROM line_turn t JOIN conversation c ON c.seq = t.turn WHERE t.line = l.seq"
    " ORDER BY c.seq)) AS turns FROM line_evidence l WHERE l.image = ?"
)


class ImageTables(Tables):
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


class EvidenceTables(ImageTables):
    """Reads and writes the tables ``line_evidence`` and ``line_turn``."""

    def line_evidence(self, image: Image) -> list[LineEvidence]:
        """What the lines of an image as it is now rest on, in their order; lines that rest on nothing are left out."""
        newest = self.newest_version(image)
        lines = list(dict.fromkeys(_lines(newest.text))) if newest else []
        known = self._newest_evidence(image, lines)
        return [known[line] for line in lines if line in known and known[line].turns]

    def every_line_evidence(self, image: Image) -> list[LineEvidence]:
        """What the lines of every version rest on, of each line all that was ever said of it."""
        rows = self._read(f"{_EVIDENCE} ORDER BY l.seq", image)
        return [_evidence(row) for row in rows]

    def lines_resting_on(self, image: Image, turns: Sequence[str]) -> list[str]:
        """The lines of an image as it is now that rest on any of these turns."""
        if not self._any_line_rests_on(turns):
            return []
        return [one.line for one in self.line_evidence(image) if not set(turns).isdisjoint(one.turns)]

    def lines_ever_resting_on(self, image: Image, turns: Sequence[str]) -> list[str]:
        """The lines of any version of an image that rest on any of these turns."""
        if not self._any_line_rests_on(turns):
            return []
        told = dict.fromkeys(line for version in self.versions(image) for line in _lines(version.text))
        known = self._newest_evidence(image, list(told))
        return [line for line, one in known.items() if not set(turns).isdisjoint(one.turns)]

    def lose_lines(self, image: Image, lines: Collection[str]) -> None:
        """Leave these lines out of every version of an image; the versions stay."""
        left = [(version, without(version.text, set(), lines)) for version in self.versions(image)]
        with self._database.write():
            self._leave_of_versions((version, text) for version, text in left if text != version.text)
            self._leave_of_evidence(())

    def _any_line_rests_on(self, turns: Sequence[str]) -> bool:
        query = (
            "SELECT 1 FROM line_turn t JOIN conversation c ON c.seq = t.turn WHERE c.text_id IN ({}) LIMIT 1"
        )
        return bool(self._read_parts(query, turns))

    def _newest_evidence(
        self, image: Image, lines: Sequence[str], before: int | None = None
    ) -> dict[str, LineEvidence]:
        """What counts for each of these lines, or counted before a version."""
        rows = self._read_parts(f"{_EVIDENCE} AND l.line IN ({{}})", lines, image)
        told = [row for row in rows if before is None or row["version"] < before]
        return {row["line"]: _evidence(row) for row in sorted(told, key=lambda row: int(row["version"]))}

    def _add_draft(self, image: Image, draft: ImageDraft | str, now: str, session_id: str | None) -> int:
        """A version that a model made, with what its lines rest on. Returns its number."""
        made = _draft(draft)
        version = self.add_version(image, made.text, "model", now, session_id)
        self._add_evidence(version, made.lines)
        return version.version

    def _make_of(self, image: Image, base: ImageVersion | None, draft: ImageDraft | str, now: str) -> None:
        """The image that was made from ``base``: no version of its own where only what its lines rest on is new."""
        made = _draft(draft)
        if made.text != (base.text if base else ""):
            self._add_draft(image, made, now, None)
        elif base:
            self._add_evidence(base, made.lines)

    def _add_evidence(self, version: ImageVersion, lines: Iterable[LineEvidence]) -> None:
        """Keep what is new about lines of a version."""
        there = list(dict.fromkeys(_lines(version.text)))
        known = self._newest_evidence(version.image, there)
        for one in lines:
            line = one.line.strip()
            if line in there and one.turns and not _alike(known.get(line), one):
                self._write_evidence(version, one)

    def _write_evidence(self, version: ImageVersion, one: LineEvidence) -> None:
        columns = "(image, version, line, day, importance) VALUES (?, ?, ?, ?, ?)"
        values = (version.image, version.version, one.line.strip(), one.date, one.importance)
        with self._database.write() as sql:
            number = sql(f"INSERT OR REPLACE INTO line_evidence {columns}", values).lastrowid
            rested = self._read_parts("SELECT seq FROM conversation WHERE text_id IN ({})", one.turns)
            for row in rested:
                sql("INSERT INTO line_turn (line, turn) VALUES (?, ?)", (number, row["seq"]))

    def _bring_back(self, image: Image, save: int, now: str) -> None:
        """Make an image what it was before the version ``save``, what its lines rested on too."""
        rows = self._read(
            "SELECT text FROM persona WHERE image = ? AND version < ? ORDER BY version", image, save
        )
        text = rows[-1]["text"] if rows else ""
        with self._database.write():
            restored = self.add_version(image, text, "restore", now)
            lines = list(dict.fromkeys(_lines(text)))
            before, after = self._newest_evidence(image, lines, save), self._newest_evidence(image, lines)
            for line in lines:
                was = before.get(line, LineEvidence(line, ()))
                if line in after and not _alike(after[line], was):
                    self._write_evidence(restored, was)

    def _leave_of_evidence(self, gone: Sequence[str]) -> None:
        """Let what is known of lines follow them: a line that goes takes it along, one that loses a part keeps it."""
        for image in IMAGES:
            held = {line for version in self.versions(image) for line in _lines(version.text)}
            rows = self._read("SELECT seq, line FROM line_evidence WHERE image = ?", image)
            lost = [row for row in rows if row["line"] not in held or row["line"] in gone]
            self._set_lines({row["seq"]: without(row["line"], set(gone)) for row in lost}, held)

    def _set_lines(self, left: Mapping[int, str], held: set[str]) -> None:
        with self._database.write() as sql:
            for number, line in left.items():
                if line in held:
                    sql("UPDATE OR REPLACE line_evidence SET line = ? WHERE seq = ?", (line, number))
                else:
                    sql("DELETE FROM line_evidence WHERE seq = ?", (number,))


def _draft(draft: ImageDraft | str) -> ImageDraft:
    return draft if isinstance(draft, ImageDraft) else ImageDraft(draft)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _alike(known: LineEvidence | None, other: LineEvidence) -> bool:
    """Whether nothing new is told of a line."""
    return known is not None and (set(known.turns), known.date, known.importance) == (
        set(other.turns),
        other.date,
        other.importance,
    )


def _evidence(row: Row) -> LineEvidence:
    turns = tuple(row["turns"].split("\n")) if row["turns"] else ()
    return LineEvidence(row["line"], turns, row["day"], row["importance"])
