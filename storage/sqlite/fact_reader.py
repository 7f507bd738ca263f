"""What is known, read, with the turns that it rests on: notes, facts, relations, what happened to each fact; the images
in all their versions, and their lines.

A fact that was learned before there were windows is none of these: it finds its turns, and is never shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from domain.facts import About, Fact, FactEvent, KeptReply, KnownCounts, LineEvidence, Note, Relation, Slot
from domain.records import Image, ImageVersion, Turn
from storage.fact_states import (
    Corrected,
    Renaming,
    is_of_another,
    renamed,
    renaming_of,
    slots_under_all_names,
    under_right_names,
)
from storage.sqlite.database import Row, Tables
from storage.sqlite.sessions import TURN, turn_of

#: Between the words of a list in one column.
BETWEEN = "\n"

_TURNS_OF_NOTE = (
    "(SELECT group_concat(text_id, char(10)) FROM (SELECT c.text_id FROM note_turn t"
    " JOIN conversation c ON c.seq = t.turn WHERE t.note = n.seq ORDER BY c.position))"
)
_NOTE = (
    "SELECT n.text_id, n.session_id, n.timestamp, n.text, n.topic, n.importance, n.memory_type, n.private,"
    f" {_TURNS_OF_NOTE} AS turns FROM note n"
)
_TURNS_OF_FACT = (
    "(SELECT group_concat(text_id, char(10)) FROM (SELECT c.text_id FROM fact_turn t"
    " JOIN conversation c ON c.seq = t.turn WHERE t.fact = f.seq ORDER BY c.position))"
)
#: Importance and topic of a fact are those of its note, as long as that is there.
_FACT_COLUMNS = (
    "f.seq, f.text_id, coalesce(n.text_id, ''), f.session_id, f.text, f.subject, f.attribute, f.value,"
    " f.slot_subject, f.slot_attribute, f.single, f.about, f.stance, f.said, f.seen,"
    f" {_TURNS_OF_FACT}, f.keywords, f.persons, f.entities, f.location, f.start_day, f.end_day, f.since, f.until,"
    " f.replaced_by, f.corrected, f.doubtful_since, f.kept, f.decided, coalesce(n.importance, 5),"
    " coalesce(n.topic, '')"
)
_FACT = f"SELECT {_FACT_COLUMNS} FROM fact f LEFT JOIN note n ON n.seq = f.note WHERE f.window <> ''"
#: Values that never were, with what is so instead.
_CORRECTED = (
    "SELECT o.slot_subject, o.slot_attribute, o.value, n.value, n.text, e.moment, n.seq FROM fact_event e"
    " JOIN fact o ON o.seq = e.fact AND o.corrected = 1 JOIN fact n ON n.seq = e.by_fact AND n.text_id = o.replaced_by"
    " WHERE e.what IN ('corrected', 'put_right') ORDER BY e.seq"
)
#: A turn that no window has read, and that may be read: what was said in a role is true of nobody.
_UNREAD = (
    "window = '' AND NOT withheld AND NOT standin"
    " AND session_id NOT IN (SELECT session_id FROM imported_session WHERE role_play)"
)
_VERSION = "SELECT version, image, timestamp, text, origin, session_id FROM persona"
_EVIDENCE = (
    "SELECT l.line, l.day, l.importance, l.version, (SELECT group_concat(text_id, char(10)) FROM"
    " (SELECT c.text_id FROM line_turn t JOIN conversation c ON c.seq = t.turn WHERE t.line = l.seq"
    " ORDER BY c.seq)) AS turns FROM line_evidence l WHERE l.image = ?"
)
#: In ``meta``, before the name of an image: the number of the version that its file says.
LAID = "persona."
_CURRENT = "f.until = '' AND f.corrected = 0"


class FactReader(Tables):
    """Reads the tables ``note``, ``fact``, ``relation``, ``fact_event`` and ``kept_reply``. Nothing is written here."""

    def unread(self, session_id: str) -> list[Turn]:
        """The turns of a session that no window has read, oldest first; never what is withheld or the stand-in's."""
        query = f"{TURN} WHERE session_id = ? AND {_UNREAD} ORDER BY position"
        return [turn_of(row) for row in self._read(query, session_id)]

    def known_counts(self) -> KnownCounts:
        """How much is known, and how much was not read yet."""
        learned = f"SELECT count(*) FROM fact f WHERE f.window <> '' AND {{}} ({_CURRENT})"
        counts = (
            "SELECT count(*) FROM note", learned.format(""), learned.format("NOT"),
            f"SELECT count(*) FROM conversation WHERE {_UNREAD}",
        )  # fmt: skip
        return KnownCounts(*(int(self._read(query)[0][0]) for query in counts))

    def kept_replies(self, window: str) -> dict[str, KeptReply]:
        """The replies that are kept for a window, by stage."""
        rows = self._read("SELECT stage, base, reply FROM kept_reply WHERE window = ?", window)
        return {row["stage"]: KeptReply(row["base"], row["reply"]) for row in rows}

    def facts(self, *, current: bool | None = None, about: About | None = None) -> list[Fact]:
        """Every fact in the order in which they were learned: only what holds now, only what does not; about whom."""
        which = {None: "1", True: _CURRENT, False: f"NOT ({_CURRENT})"}[current]
        query = f"{_FACT} AND {which} AND (?1 IS NULL OR f.about = ?1) ORDER BY f.seq"
        return self._told(self._read(query, about))

    def fact(self, number: int) -> Fact | None:
        """One fact by its number."""
        rows = self._read(f"{_FACT} AND f.seq = ?", number)
        return next(iter(self._told(rows)), None)

    def facts_with_ids(self, text_ids: Sequence[str]) -> list[Fact]:
        """The facts with these ids that are still there, in the order in which they were learned."""
        return self._in_order(self._read_parts(f"{_FACT} AND f.text_id IN ({{}})", text_ids))

    def facts_numbered(self, numbers: Sequence[int]) -> list[Fact]:
        """The facts with these numbers, in the order in which they were learned."""
        return self._in_order(self._read_parts(f"{_FACT} AND f.seq IN ({{}})", numbers))

    def facts_of_turns(self, text_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on each of these turns; a turn on which none rests is left out."""
        return self._facts_by("text_id", text_ids)

    def facts_of_sessions(self, session_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on a turn of each of these sessions; a session of which none was drawn is left out."""
        return self._facts_by("session_id", session_ids)

    def _facts_by(
        self, column: Literal["text_id", "session_id"], values: Sequence[str]
    ) -> dict[str, list[Fact]]:
        """The facts that rest on the turns with these values, by value."""
        query = f"SELECT DISTINCT r.fact, c.{column} FROM conversation c JOIN fact_turn r ON r.turn = c.seq"
        rows = self._read_parts(f"{query} WHERE c.{column} IN ({{}})", values)
        rests = [(int(row[0]), str(row[1])) for row in rows]
        numbers = list({number for number, _ in rests})
        rows_of_facts = self._read_parts(f"{_FACT} AND f.seq IN ({{}})", numbers)
        facts = {fact.number: fact for fact in self._told(rows_of_facts)}
        found: dict[str, list[Fact]] = defaultdict(list)
        for number, value in sorted(rests):
            if number in facts:
                found[value].append(facts[number])
        return dict(found)

    def facts_in_slots(self, slots: Iterable[Slot]) -> list[Fact]:
        """Every fact of these slots, also what is past, in the order in which they were learned."""
        query = f"{_FACT} AND f.slot_subject = ? AND f.slot_attribute = ?"
        names = self._renamings()
        named = slots_under_all_names(slots, names) if names else [*dict.fromkeys(slots)]
        rows = [row for slot in named for row in self._read(query, slot.subject, slot.attribute)]
        return self._in_order(rows)

    def relations(self, *, current: bool = True) -> list[Relation]:
        """How what facts name stand to each other: of facts that hold now, or of all."""
        query = "SELECT fact, source, relation, target FROM relation ORDER BY seq"
        facts = {fact.number: fact for fact in self.facts(current=True if current else None)}
        return self._relations(self._read(query), facts)

    def relations_of(self, facts: Sequence[str]) -> list[Relation]:
        """The relations that stand in these facts, whether they hold now or not."""
        told = {fact.number: fact for fact in self.facts_with_ids(facts)}
        query = "SELECT fact, source, relation, target FROM relation WHERE fact IN ({}) ORDER BY seq"
        return self._relations(self._read_parts(query, list(told)), told)

    def relations_naming(self, text: str) -> list[Relation]:
        """The relations of facts that hold now of which a text names one end, by whole characters and in any case."""
        named = (
            "SELECT DISTINCT f.text_id FROM relation r JOIN fact f ON f.seq = r.fact"
            " WHERE f.until = '' AND f.corrected = 0 AND (length(r.source) > 1 AND instr(?1, lower(r.source))"
            " OR length(r.target) > 1 AND instr(?1, lower(r.target)))"
        )
        return self.relations_of([row[0] for row in self._read(named, text.lower())])

    def _relations(self, rows: Iterable[Row], facts: Mapping[int, Fact]) -> list[Relation]:
        """The relations of these facts, under the names that turned out to be right."""
        names = self._renamings()
        found = []
        for row in rows:
            if fact := facts.get(row["fact"]):
                right = names if fact.first_told else ()
                source, target = (under_right_names(row[end], right) for end in ("source", "target"))
                found.append(Relation(source, row["relation"], target, fact))
        return found

    def notes_of(self, session_id: str) -> list[Note]:
        """The notes of a session, in the order in which they were learned."""
        return [
            _note(row) for row in self._read(f"{_NOTE} WHERE n.session_id = ? ORDER BY n.seq", session_id)
        ]

    def every_note(self) -> list[Note]:
        """The notes of all sessions, in the order in which they were learned."""
        return [_note(row) for row in self._read(f"{_NOTE} ORDER BY n.seq")]

    def notes_of_turns(self, text_ids: Sequence[str]) -> list[Note]:
        """The notes that rest on any of these turns."""
        query = (
            f"{_NOTE} WHERE n.seq IN (SELECT r.note FROM note_turn r JOIN conversation c ON c.seq = r.turn"
            " WHERE c.text_id IN ({}))"
        )
        return list({row["text_id"]: _note(row) for row in self._read_parts(query, text_ids)}.values())

    def history(self, fact: str) -> list[FactEvent]:
        """What happened to a fact, in the order in which it became known; empty when there is no such fact."""
        query = (
            "SELECT e.what, e.moment, e.stored_at, coalesce(b.text_id, '') AS by FROM fact_event e"
            " JOIN fact f ON f.seq = e.fact LEFT JOIN fact b ON b.seq = e.by_fact WHERE f.text_id = ?"
            " ORDER BY e.seq"
        )
        rows = self._read("SELECT said, timestamp, until, replaced_by FROM fact WHERE text_id = ?", fact)
        if not rows:
            return []
        said, stored_at, until, replaced_by = rows[0]
        happened = [
            FactEvent(fact, row["what"], row["moment"], row["stored_at"], row["by"])
            for row in self._read(query, fact)
        ]
        if until and replaced_by and not any(one.by == replaced_by for one in happened):
            happened += self._gave_way(fact, until, replaced_by)
        return [FactEvent(fact, "learned", said, stored_at), *happened]

    def _in_order(self, rows: Iterable[Row]) -> list[Fact]:
        return sorted(self._told(rows), key=lambda fact: fact.number)

    def _told(self, rows: Iterable[Row]) -> list[Fact]:
        """The facts of these rows, under the names that turned out to be right."""
        facts = [_fact(row) for row in rows]
        names = self._renamings() if facts else []
        return [renamed(fact, names) for fact in facts] if names else facts

    def _renamings(self) -> list[Renaming]:
        """The names that were corrected, in the order in which they were, but for those of several people."""
        found = [Corrected(Slot(row[0], row[1]), *row[2:]) for row in self._read(_CORRECTED)]
        names = ((one, renaming_of(one)) for one in found)
        return [name for one, name in names if name and not self._is_shared(one)]

    def _is_shared(self, corrected: Corrected) -> bool:
        """Whether somebody else is called by the name that was wrong."""
        query = (
            "SELECT slot_subject, slot_attribute, value FROM fact WHERE slot_subject = ? AND window <> ''"
            " AND corrected = 0 AND stance = 'stated' AND said <= ?"
        )
        rows = self._read(query, corrected.slot.subject, corrected.said)
        return any(is_of_another(corrected, Slot(row[0], row[1]), row[2]) for row in rows)

    def _gave_way(self, fact: str, until: str, replaced_by: str) -> list[FactEvent]:
        """That a value of its slot that was said later took its place, which follows without an event of its own."""
        rows = self._read("SELECT timestamp FROM fact WHERE text_id = ?", replaced_by)
        return [FactEvent(fact, "changed", until, row["timestamp"], replaced_by) for row in rows]


class ImageReader(Tables):
    """Reads the tables ``persona``, ``line_evidence`` and ``line_turn``. Nothing is written here."""

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

    def laid_version(self, image: Image) -> int | None:
        """The number of the version that was last laid into the file; 0 when that was erased."""
        value = self._meta(LAID + image)
        return None if value is None else int(value)

    def line_evidence(self, image: Image) -> list[LineEvidence]:
        """What the lines of an image as it is now rest on, in their order; lines that rest on nothing are left out."""
        newest = self.newest_version(image)
        lines = list(dict.fromkeys(lines_of(newest.text))) if newest else []
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
        told = dict.fromkeys(line for version in self.versions(image) for line in lines_of(version.text))
        known = self._newest_evidence(image, list(told))
        return [line for line, one in known.items() if not set(turns).isdisjoint(one.turns)]

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


def _listed(column: str | None) -> tuple[str, ...]:
    return tuple(column.split(BETWEEN)) if column else ()


def _note(row: Row) -> Note:
    return Note(*row[:7], private=bool(row[7]), turns=_listed(row[8]))  # type: ignore[misc]


def _fact(row: Row) -> Fact:
    """A fact out of a row that begins with ``_FACT_COLUMNS``."""
    return Fact(
        number=row[0],
        text_id=row[1],
        note=row[2],
        session_id=row[3],
        restatement=row[4],
        subject=row[5],
        attribute=row[6],
        value=row[7],
        slot=Slot(row[8], row[9]),
        single=bool(row[10]),
        about=row[11],
        stance=row[12],
        said=row[13],
        seen=row[14],
        turns=_listed(row[15]),
        keywords=_listed(row[16]),
        persons=_listed(row[17]),
        entities=_listed(row[18]),
        location=row[19],
        start=row[20],
        end=row[21],
        since=row[22],
        until=row[23],
        replaced_by=row[24],
        corrected=bool(row[25]),
        doubtful_since=row[26],
        kept=bool(row[27]),
        decided=row[28],
        importance=row[29],
        topic=row[30],
    )


def lines_of(text: str) -> list[str]:
    """The lines of an image that say something."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def _evidence(row: Row) -> LineEvidence:
    turns = tuple(row["turns"].split("\n")) if row["turns"] else ()
    return LineEvidence(row["line"], turns, row["day"], row["importance"])
