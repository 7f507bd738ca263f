"""The two personas in the database: every version they ever had, what their lines rest on, and which are pinned.

A line that the program wrote rests on messages; beside them are its day and how much it matters. A row of evidence
belongs to the version that brought it. For a line counts the row of the newest version; one without messages says that
the line rests on nothing any more. Rows stay as long as any version holds their line, so that an erasure finds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from domain.facts import ImageDraft, LineEvidence
from domain.records import IMAGES, Image, ImageVersion, Origin
from storage.image_lines import without
from storage.sqlite.database import EACH, Database, Row, Transaction

_VERSION = "SELECT version, image, timestamp, text, origin, session_id FROM persona"
_EVIDENCE = "SELECT l.seq, l.line, l.day, l.importance, l.version FROM line_evidence l WHERE l.image = ?"
#: In ``meta``, before the name of a persona: the number of the version that its file says.
_LAID = "persona."


class PersonaVersions:
    """Reads and writes the tables ``persona``, ``line_evidence``, ``line_turn`` and ``pin``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- versions ------------------------------------------------------------------------------------------------

    def all(self, image: Image) -> list[ImageVersion]:
        """Every version of a persona, oldest first."""
        rows = self._database.run(f"{_VERSION} WHERE image = ? ORDER BY version", image)
        return [ImageVersion(*row) for row in rows]

    def newest(self, image: Image) -> ImageVersion | None:
        """The version in force; None while there has never been one."""
        rows = self._database.run(f"{_VERSION} WHERE image = ? ORDER BY version DESC LIMIT 1", image)
        return ImageVersion(*rows[0]) if rows else None

    def newest_and_laid(self, image: Image) -> tuple[ImageVersion | None, int | None]:
        """Both in one look: the version in force, and the number of the one that is in the file."""
        laid = "(SELECT value FROM meta WHERE key = ?)"
        query = (
            f"{_VERSION.replace(' FROM', f', {laid} FROM', 1)} WHERE image = ? ORDER BY version DESC LIMIT 1"
        )
        rows = self._database.run(query, _LAID + image, image)
        if not rows:
            return None, self.laid(image)
        return ImageVersion(*tuple(rows[0])[:-1]), None if rows[0][-1] is None else int(rows[0][-1])

    def find(self, number: int) -> ImageVersion | None:
        """One version by its number."""
        rows = self._database.run(f"{_VERSION} WHERE version = ?", number)
        return ImageVersion(*rows[0]) if rows else None

    def add(
        self,
        tx: Transaction,
        image: Image,
        text: str,
        origin: Origin,
        now: str,
        session_id: str | None = None,
    ) -> ImageVersion:
        """A new version, in force from this commit on; its file is written afterwards."""
        version = ImageVersion(tx.next("persona"), image, now, text, origin, session_id)
        columns = "version, image, timestamp, text, origin, session_id"
        values = (version.version, image, now, text, origin, session_id)
        tx.do(f"INSERT INTO persona ({columns}) VALUES (?, ?, ?, ?, ?, ?)", *values)
        tx.follows("personas")
        return version

    def laid(self, image: Image) -> int | None:
        """The number of the version that was last written to the file; 0 when that was erased, None when none was."""
        value = self._database.meta(_LAID + image)
        return None if value is None else int(value)

    def set_laid(self, image: Image, number: int | None) -> None:
        """Note which version the file says; None when there is no file."""
        self._database.set_meta(_LAID + image, None if number is None else str(number))

    def cut(self, tx: Transaction, versions: Iterable[tuple[ImageVersion, str]]) -> None:
        """Leave less of versions; a file that says one of them as it was is not to be read again."""
        for version, left in versions:
            tx.do("UPDATE persona SET text = ? WHERE version = ?", left, version.version)
            laid = (_LAID + version.image, str(version.version))
            tx.do("UPDATE meta SET value = '0' WHERE key = ? AND value = ?", *laid)
            tx.follows("personas")

    # -- drafts of a model ---------------------------------------------------------------------------------------

    def add_draft(
        self, tx: Transaction, image: Image, draft: ImageDraft, now: str, session_id: str | None
    ) -> int:
        """A version that a model made, with what its lines rest on. Returns its number."""
        version = self.add(tx, image, draft.text, "model", now, session_id)
        self._add_evidence(tx, version, draft.lines)
        return version.version

    def replace(
        self, tx: Transaction, image: Image, base: ImageVersion | None, draft: ImageDraft, now: str
    ) -> None:
        """The persona that was made from ``base``: no version where only what its lines rest on is new."""
        if draft.text != (base.text if base else ""):
            self.add_draft(tx, image, draft, now, None)
        elif base:
            self._add_evidence(tx, base, draft.lines)

    def bring_back(self, tx: Transaction, image: Image, save: int, now: str) -> None:
        """Make a persona what it was before the version ``save``, what its lines rested on too."""
        older = [version.text for version in self.all(image) if version.version < save]
        text = older[-1] if older else ""
        restored = self.add(tx, image, text, "restore", now)
        lines = list(dict.fromkeys(lines_of(text)))
        before, after = self._newest_evidence(image, lines, save), self._newest_evidence(image, lines)
        for line in lines:
            was = before.get(line, LineEvidence(line, ()))
            if line in after and not _alike(after[line], was):
                self._write_evidence(tx, restored, was)

    # -- what lines rest on --------------------------------------------------------------------------------------

    def line_evidence(self, image: Image) -> list[LineEvidence]:
        """What the lines of a persona as it is now rest on, in their order; lines that rest on nothing are left out."""
        newest = self.newest(image)
        lines = list(dict.fromkeys(lines_of(newest.text))) if newest else []
        known = self._newest_evidence(image, lines)
        return [known[line] for line in lines if line in known and known[line].turns]

    def every_line_evidence(self, image: Image) -> list[LineEvidence]:
        """What the lines of every version rest on, of each line all that was ever recorded."""
        return [one for _, one in self._evidence(self._database.run(f"{_EVIDENCE} ORDER BY l.seq", image))]

    def lines_resting_on(self, image: Image, turns: Sequence[str]) -> list[str]:
        """The lines of a persona as it is now that rest on any of these messages."""
        if not self._any_rests_on(turns):
            return []
        return [one.line for one in self.line_evidence(image) if not set(turns).isdisjoint(one.turns)]

    def lines_ever_resting_on(self, turns: Sequence[str]) -> dict[Image, set[str]]:
        """The lines of any version that rest on any of these messages; a pinned one rests on the person's own word."""
        if not self._any_rests_on(turns):
            return {image: set() for image in IMAGES}
        pinned = {line.strip() for image in IMAGES for pin in self.pins(image) for line in pin.split("\n")}
        found: dict[Image, set[str]] = {}
        for image in IMAGES:
            lines = dict.fromkeys(line for version in self.all(image) for line in lines_of(version.text))
            known = self._newest_evidence(image, list(lines))
            resting = {line for line, one in known.items() if not set(turns).isdisjoint(one.turns)}
            found[image] = resting - pinned
        return found

    def remove_lines(self, tx: Transaction, image: Image, lines: Collection[str]) -> None:
        """Leave these lines out of every version of a persona; the versions stay."""
        left = [(version, without(version.text, set(), lines)) for version in self.all(image)]
        self.cut(tx, [(version, text) for version, text in left if text != version.text])
        self.follow_lines(tx, ())

    def follow_lines(self, tx: Transaction, removed: Sequence[str]) -> None:
        """Let evidence follow the lines: a line that is removed takes it along, one that loses a part keeps it."""
        for image in IMAGES:
            there = {line for version in self.all(image) for line in lines_of(version.text)}
            rows = self._database.run("SELECT seq, line, version FROM line_evidence WHERE image = ?", image)
            lost = [row for row in rows if row["line"] not in there or row["line"] in removed]
            for row in lost:
                line = without(row["line"], set(removed))
                taken = "DELETE FROM line_evidence WHERE image = ? AND line = ? AND version = ? AND seq <> ?"
                if line in there:
                    tx.do(taken, image, line, row["version"], row["seq"])
                    tx.do("UPDATE line_evidence SET line = ? WHERE seq = ?", line, row["seq"])
                else:
                    tx.do("DELETE FROM line_evidence WHERE seq = ?", row["seq"])

    def _any_rests_on(self, turns: Sequence[str]) -> bool:
        query = f"SELECT 1 FROM line_turn t JOIN conversation c ON c.seq = t.turn WHERE c.text_id IN {EACH} LIMIT 1"
        return bool(turns and self._database.run(query, list(turns)))

    def _newest_evidence(
        self, image: Image, lines: Sequence[str], before: int | None = None
    ) -> dict[str, LineEvidence]:
        """What counts for each of these lines, or counted before a version."""
        rows = self._database.run(f"{_EVIDENCE} AND l.line IN {EACH}", image, list(lines)) if lines else []
        counted = [row for row in rows if before is None or row["version"] < before]
        counted.sort(key=lambda row: int(row["version"]))
        return {row["line"]: one for row, one in self._evidence(counted)}

    def _evidence(self, rows: Sequence[Row]) -> list[tuple[Row, LineEvidence]]:
        query = (
            "SELECT t.line, c.text_id FROM line_turn t JOIN conversation c ON c.seq = t.turn"
            f" WHERE t.line IN {EACH} ORDER BY c.seq"
        )
        turns: dict[int, list[str]] = defaultdict(list)
        for line, text_id in self._database.run(query, [row["seq"] for row in rows]) if rows else ():
            turns[line].append(text_id)
        made = (
            LineEvidence(row["line"], tuple(turns[row["seq"]]), row["day"], row["importance"]) for row in rows
        )
        return list(zip(rows, made, strict=True))

    def _add_evidence(self, tx: Transaction, version: ImageVersion, lines: Iterable[LineEvidence]) -> None:
        """Store what is new about lines of a version."""
        there = list(dict.fromkeys(lines_of(version.text)))
        known = self._newest_evidence(version.image, there)
        for one in lines:
            line = one.line.strip()
            if line in there and one.turns and not _alike(known.get(line), one):
                self._write_evidence(tx, version, one)

    def _write_evidence(self, tx: Transaction, version: ImageVersion, one: LineEvidence) -> None:
        number, line = tx.next("line_evidence"), one.line.strip()
        again = "DELETE FROM line_evidence WHERE image = ? AND line = ? AND version = ?"
        tx.do(again, version.image, line, version.version)
        columns = "(seq, image, version, line, day, importance) VALUES (?, ?, ?, ?, ?, ?)"
        tx.do(
            f"INSERT INTO line_evidence {columns}",
            number,
            version.image,
            version.version,
            line,
            one.date,
            one.importance,
        )
        rested = f"SELECT CAST(? AS INTEGER), seq FROM conversation WHERE text_id IN {EACH}"
        tx.do(f"INSERT INTO line_turn (line, turn) {rested}", number, list(one.turns))

    # -- pins ----------------------------------------------------------------------------------------------------

    def pins(self, image: Image) -> tuple[str, ...]:
        """The lines that rewrites of a persona must keep."""
        rows = self._database.run("SELECT text FROM pin WHERE image = ? ORDER BY number", image)
        return tuple(row["text"] for row in rows)

    def add_pin(self, tx: Transaction, image: Image, now: str, text: str, *, added: bool) -> None:
        """Add a line that rewrites must keep; ``added`` when it was put into the persona with that."""
        columns = "(number, image, timestamp, text, added) VALUES (?, ?, ?, ?, ?)"
        tx.do(f"INSERT INTO pin {columns}", tx.next("pin"), image, now, text, int(added))

    def remove_pin(self, tx: Transaction, image: Image, text: str) -> bool:
        """Remove such a line. Returns whether it was put into the persona with that."""
        rows = tx.run("DELETE FROM pin WHERE image = ? AND text = ? RETURNING added", image, text)
        return any(row["added"] for row in rows)


def lines_of(text: str) -> list[str]:
    """The lines of a persona that say something."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def _alike(known: LineEvidence | None, other: LineEvidence) -> bool:
    """Whether nothing new is said of a line."""
    return known is not None and (set(known.turns), known.date, known.importance) == (
        set(other.turns),
        other.date,
        other.importance,
    )
