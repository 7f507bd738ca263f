"""The images, written: every version they ever had, and what their lines rest on. They are read in ``fact_reader``.

A line that the program wrote rests on turns; beside them stand its day and how much it matters.

A row belongs to the version that brought it. For a line counts the row of the newest version; one without turns says
that the line rests on nothing any more. Rows stay as long as any version holds their line, so that an erasure finds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from domain.facts import ImageDraft, LineEvidence
from domain.records import IMAGES, Image, ImageVersion, Origin
from storage.image_lines import without
from storage.sqlite.fact_reader import LAID, ImageReader, lines_of


class ImageTables(ImageReader):
    """Writes the table ``persona``: every version that the images ever had."""

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

    def set_laid_version(self, image: Image, number: int | None) -> None:
        """Note which version the file says; None when there is no file."""
        self._set_meta(LAID + image, None if number is None else str(number))

    def _leave_of_versions(self, versions: Iterable[tuple[ImageVersion, str]]) -> None:
        """Leave less of versions; a file that says one of them as it was is not to be read again."""
        with self._database.write() as sql:
            for version, left in versions:
                sql("UPDATE persona SET text = ? WHERE version = ?", (left, version.version))
                laid = (LAID + version.image, str(version.version))
                sql("UPDATE meta SET value = '0' WHERE key = ? AND value = ?", laid)


class EvidenceTables(ImageTables):
    """Writes the tables ``line_evidence`` and ``line_turn``."""

    def lose_lines(self, image: Image, lines: Collection[str]) -> None:
        """Leave these lines out of every version of an image; the versions stay."""
        left = [(version, without(version.text, set(), lines)) for version in self.versions(image)]
        with self._database.write():
            self._leave_of_versions((version, text) for version, text in left if text != version.text)
            self._leave_of_evidence(())

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
        there = list(dict.fromkeys(lines_of(version.text)))
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
            lines = list(dict.fromkeys(lines_of(text)))
            before, after = self._newest_evidence(image, lines, save), self._newest_evidence(image, lines)
            for line in lines:
                was = before.get(line, LineEvidence(line, ()))
                if line in after and not _alike(after[line], was):
                    self._write_evidence(restored, was)

    def _leave_of_evidence(self, gone: Sequence[str]) -> None:
        """Let what is known of lines follow them: a line that goes takes it along, one that loses a part keeps it."""
        for image in IMAGES:
            held = {line for version in self.versions(image) for line in lines_of(version.text)}
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


def _alike(known: LineEvidence | None, other: LineEvidence) -> bool:
    """Whether nothing new is told of a line."""
    return known is not None and (set(known.turns), known.date, known.importance) == (
        set(other.turns),
        other.date,
        other.importance,
    )
