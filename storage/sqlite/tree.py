"""The tree: the SQL of chapters.

A node is given to its chapter by one column of its own, so it has one parent and goes with its row. What goes takes the
text of every chapter above it in the same commit: it is asked for anew, and of a chapter with fewer than two children
left nothing stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from domain.records import Summary, Turn
from domain.tree import Chapter, Member, NewChapter, Node
from storage.sqlite.database import Row, Sql
from storage.sqlite.lexicon import IndexWriter

_NODE = (
    'SELECT text_id, rank, parent, place, source, start, "end", metadata, visit_count, last_visit, never_delete,'
    " name FROM node"
)
_CHAPTER = (
    "SELECT c.seq, c.text_id, coalesce(c.session_id, '') AS session_id, c.height, coalesce(p.text_id, '') AS parent,"
    " c.text, c.stored_at FROM chapter c LEFT JOIN chapter p ON p.seq = c.parent"
)
#: What was brought along and not read up has no summary but its title, or none of all that is in it.
_READ_UP = (
    "(NOT EXISTS (SELECT 1 FROM imported_session i WHERE i.session_id = s.session_id AND i.due) OR m.upto_round >="
    " (SELECT max(t.round) FROM conversation t WHERE t.session_id = s.session_id AND NOT t.withheld))"
)
#: A session may be told in a chapter when it is archived and its summary stands.
_READY = (
    f"s.status = 'archived' AND m.text_id IS NOT NULL AND {_READ_UP}"
    " AND NOT EXISTS (SELECT 1 FROM renewal r WHERE r.what = 'summary' AND r.session_id = s.session_id)"
)
_EDGE = (
    "(SELECT timestamp FROM conversation t WHERE t.session_id = s.session_id ORDER BY t.position {0} LIMIT 1)"
)
_SESSIONS = (
    f"SELECT s.session_id AS name, m.text_id, m.summary AS text, coalesce({_EDGE.format('')}, s.start_timestamp)"
    f" AS start, coalesce({_EDGE.format('DESC')}, s.start_timestamp) AS ending, s.chapter, s.position, {_READY} AS"
    " ready, '' AS speaker"
    " FROM session s LEFT JOIN summary m USING (session_id)"
)
_TURNS = (
    "SELECT text_id AS name, text_id, text, role, timestamp AS start, timestamp AS ending, chapter, withheld, standin,"
    " speaker FROM conversation"
)
#: Sessions in a chapter of which nothing is left, or nothing that may be told.
_SILENT = (
    "FROM session s WHERE s.chapter IS NOT NULL AND s.status = 'archived'"
    " AND NOT EXISTS (SELECT 1 FROM conversation t WHERE t.session_id = s.session_id AND NOT t.withheld)"
)
#: A chapter of less is none.
_LEAST = 2


class _Child(NamedTuple):
    """What stands in a chapter; a chapter in another has no place and no time of its own."""

    parent: str
    name: str
    place: int
    number: int
    start: str | None
    ending: str | None


class TreeTables(IndexWriter):
    """Reads and writes ``chapter``, and sees to it where something goes."""

    # -- reading -------------------------------------------------------------------------------------------------

    def node(self, text_id: str) -> Node | None:
        """One node, by the id of its text."""
        return next(map(_node, self._read(f"{_NODE} WHERE text_id = ?", text_id)), None)

    def _free_id(self, wanted: str) -> str:
        """An id that a turn would keep, if nothing else has it; else nothing."""
        tables = ("conversation", "summary", "chapter")
        query = " UNION ALL ".join(f"SELECT 1 FROM {table} WHERE text_id = ?1" for table in tables)
        return wanted if wanted and not self._read(query, wanted) else ""

    def nodes(self, parent: str | None = None) -> list[Node]:
        """The children of a node, in order; without one every node there is."""
        if parent is None:
            return [_node(row) for row in self._read(f"{_NODE} ORDER BY rank DESC, place")]
        return [_node(row) for row in self._read(f"{_NODE} WHERE parent = ? ORDER BY place", parent)]

    def chapters(self, text_ids: Sequence[str] | None = None) -> list[Chapter]:
        """All chapters, or these, the earliest first."""
        rows = self._read(_CHAPTER)
        below: dict[str, list[_Child]] = {}
        for child in self._children():
            below.setdefault(child.parent, []).append(child)
        made = [_chapter(row, below) for row in rows if text_ids is None or row["text_id"] in text_ids]
        return [one for _, one in sorted(made, key=lambda pair: (pair[0], pair[1].height, pair[1].text_id))]

    def _children(self) -> list[_Child]:
        """What stands in a chapter."""
        sessions = (
            f"SELECT c.text_id AS parent, s.session_id AS name, s.position AS place, s.number, {_EDGE.format('')} AS"
            f" start, {_EDGE.format('DESC')} AS ending FROM session s JOIN chapter c ON c.seq = s.chapter"
        )
        turns = (
            "SELECT c.text_id AS parent, t.text_id AS name, t.position AS place, s.number, t.timestamp AS start,"
            " t.timestamp AS ending FROM conversation t JOIN chapter c ON c.seq = t.chapter"
            " JOIN session s USING (session_id)"
        )
        chapters = (
            "SELECT p.text_id AS parent, c.text_id AS name, 0 AS place, 0 AS number, NULL AS start, NULL AS ending"
            " FROM chapter c JOIN chapter p ON p.seq = c.parent"
        )
        return [_Child(*row) for query in (sessions, turns, chapters) for row in self._read(query)]

    def ungrouped(self, height: int, session_id: str = "") -> list[Member]:
        """What is in no chapter of this height yet and may be, in order."""
        if session_id and height == 1:
            query = f"{_TURNS} WHERE session_id = ? AND NOT withheld AND NOT standin ORDER BY position"
            return _free((row, row["chapter"] is not None, False) for row in self._read(query, session_id))
        if height == 1:
            return self._ungrouped_sessions()
        chapters = [
            one for one in self.chapters() if (one.height, one.session_id) == (height - 1, session_id)
        ]
        return _free_chapters(chapters)

    def _ungrouped_sessions(self) -> list[Member]:
        asked = (
            "SELECT session_id FROM renewal WHERE what = 'summary'"
            " UNION SELECT session_id FROM imported_session WHERE due AND NOT role_play"
        )
        waiting = {row["session_id"] for row in self._read(asked)}
        rows = self._read(
            f"{_SESSIONS} WHERE s.status = 'archived' OR s.chapter IS NOT NULL ORDER BY s.position"
        )
        unready = {row["name"] for row in rows if row["name"] in waiting and not row["ready"]}
        told = [row for row in rows if row["chapter"] is not None or row["ready"] or row["name"] in unready]
        return _free((row, row["chapter"] is not None, row["name"] in unready) for row in told)

    def members(self, text_id: str) -> list[Member] | None:
        """What a chapter is made from now; None while some of that is not ready."""
        chapter = next(iter(self.chapters([text_id])), None)
        if chapter is None:
            return None
        number = self._read("SELECT seq FROM chapter WHERE text_id = ?", text_id)[0]["seq"]
        if chapter.height > 1:
            under = self.chapters(chapter.children)
            return [_member_of(one) for one in under] if all(one.text for one in under) else None
        if chapter.session_id:
            query = f"{_TURNS} WHERE chapter = ? AND NOT withheld AND NOT standin ORDER BY position"
            return [_member(row) for row in self._read(query, number)]
        rows = self._read(f"{_SESSIONS} WHERE s.chapter = ? ORDER BY s.position", number)
        return [_member(row) for row in rows] if all(row["ready"] for row in rows) else None

    def long_sessions(self, characters: int) -> list[str]:
        """The archived sessions in no chapter yet with more characters than that; what was brought along is read up."""
        query = (
            "SELECT s.session_id FROM session s WHERE s.status = 'archived' AND s.chapter IS NULL"
            " AND s.session_id NOT IN (SELECT session_id FROM imported_session)"
            " AND (SELECT sum(length(t.text)) FROM conversation t WHERE t.session_id = s.session_id) > ?"
            " ORDER BY s.position"
        )
        return [str(row[0]) for row in self._read(query, characters)]

    # -- chapters ------------------------------------------------------------------------------------------------

    def add_chapter(self, new: NewChapter, now: str) -> bool:
        """Store a new chapter; False, and nothing, when one of its members is not as it was read, or is in another."""
        with self._database.write() as sql:
            free = {one.name: one for one in self.ungrouped(new.height, new.session_id)}
            if len(new.members) < _LEAST or not all(_as_read(one, free) for one in new.members):
                return False
            columns = "(text_id, session_id, height, text, stored_at) VALUES (?, ?, ?, ?, ?)"
            values = (new.text_id, new.session_id or None, new.height, new.text, now)
            number = sql(f"INSERT INTO chapter {columns}", values).lastrowid or 0
            self._put_into(sql, number, new)
            self._count_what_is_under(sql, new)
        return True

    @staticmethod
    def _put_into(sql: Sql, number: int, new: NewChapter) -> None:
        table, key, column = "session", "session_id", "chapter"
        if new.height > 1:
            table, key, column = "chapter", "text_id", "parent"
        elif new.session_id:
            table, key = "conversation", "text_id"
        for one in new.members:
            sql(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (number, one.name))

    @staticmethod
    def _count_what_is_under(sql: Sql, new: NewChapter) -> None:
        """A chapter begins with the visits of what is under it."""
        marks = ", ".join("?" * len(new.members))
        sql(
            "INSERT INTO visit (text_id, visit_count, last_visit) SELECT ?, sum(visit_count), max(last_visit)"
            f" FROM visit WHERE text_id IN ({marks}) GROUP BY 1 HAVING max(last_visit) > 0",
            (new.text_id, *(one.name for one in new.members)),
        )

    def renew_chapter(self, made: NewChapter, now: str) -> bool:
        """Give a chapter that is asked for anew its text; False, and nothing, when its members are not as read."""
        with self._database.write() as sql:
            members = self.members(made.text_id)
            void = self._read("SELECT 1 FROM chapter WHERE text_id = ? AND text = ''", made.text_id)
            if not void or members is None or _ids(members) != _ids(made.members):
                return False
            sql(
                "UPDATE chapter SET text = ?, stored_at = ? WHERE text_id = ?", (made.text, now, made.text_id)
            )
        return True

    def chapters_above(self, turns: Sequence[str], sessions: Sequence[str]) -> list[Chapter]:
        """The chapters that rest on one of these turns as such, or on the summary of one of these sessions."""
        numbers = self._spine(self._chapters_of(turns, sessions))
        rows = self._read_parts("SELECT text_id FROM chapter WHERE seq IN ({})", numbers)
        return self.chapters([row["text_id"] for row in rows]) if rows else []

    def void_chapters(self, text_ids: Sequence[str]) -> None:
        """Take the text of these chapters, and of all above them, and ask for it anew."""
        self._void(self._numbers("SELECT seq FROM chapter WHERE text_id IN ({})", text_ids))

    def _void(self, numbers: Sequence[int]) -> None:
        with self._database.write() as sql:
            for number in self._spine(numbers):
                sql("UPDATE chapter SET text = '' WHERE seq = ? AND text <> ''", (number,))

    def set_never_delete(self, names: Sequence[str], never: bool) -> None:
        """Note whether these nodes may never fade or be deleted."""
        with self._database.write() as sql:
            for name in names:
                sql(
                    "INSERT INTO visit (text_id, never_delete) VALUES (?1, ?2) ON CONFLICT (text_id)"
                    " DO UPDATE SET never_delete = ?2",
                    (name, int(never)),
                )

    def _forget_nodes(self, names: Iterable[str]) -> None:
        with self._database.write() as sql:
            for name in names:
                sql("DELETE FROM visit WHERE text_id = ?", (name,))
                sql("DELETE FROM faded WHERE text_id = ?", (name,))

    def _drop_small(self) -> None:
        """Let go of chapters that have too little under them; what is left of it may be grouped again.

        A session of which nothing may be told any more stands in none: a chapter would wait for its summary for ever.
        """
        query = (
            "SELECT seq, text_id FROM chapter c WHERE text = '' AND"
            " (SELECT count(*) FROM session WHERE chapter = c.seq)"
            " + (SELECT count(*) FROM conversation WHERE chapter = c.seq AND NOT withheld)"
            f" + (SELECT count(*) FROM chapter WHERE parent = c.seq) < {_LEAST}"
        )
        with self._database.write() as sql:
            self._void([int(row[0]) for row in self._read(f"SELECT DISTINCT chapter {_SILENT}")])
            sql(f"UPDATE session SET chapter = NULL WHERE session_id IN (SELECT session_id {_SILENT})")
            while small := self._read(query):
                for row in small:
                    sql("DELETE FROM chapter WHERE seq = ?", (row["seq"],))
                self._forget_nodes(row["text_id"] for row in small)

    # -- what goes takes the text above it along -----------------------------------------------------------------

    def _unindex_turns(self, turns: Sequence[Turn]) -> None:
        with self._database.write():
            self._void(self._chapters_of([turn.text_id for turn in turns], ()))
            super()._unindex_turns(turns)

    def _delete_turns(self, turns: Iterable[Turn]) -> None:
        gone = list(turns)
        with self._database.write():
            super()._delete_turns(gone)
            self._forget_nodes(turn.text_id for turn in gone)
            self._drop_small()

    def _lose_summary(self, summary: Summary | None) -> list[str]:
        """A summary with all that rests on it. Returns its id."""
        if summary is None:
            return []
        with self._database.write():
            self._void_above(summary.session_id)
            return self._remove_summary(summary)

    def _void_above(self, session_id: str) -> None:
        """What a session came to is another thing now."""
        self._void(self._chapters_of((), [session_id]))

    def _delete_session(self, session_id: str) -> None:
        within = "SELECT text_id FROM chapter WHERE session_id = ?"
        with self._database.write():
            self._void_above(session_id)
            self._forget_nodes([session_id, *(row[0] for row in self._read(within, session_id))])
            super()._delete_session(session_id)
            self._drop_small()


def _node(row: Row) -> Node:
    values = list(row)
    values[10] = bool(values[10])
    return Node(*values)


def _member(row: Row) -> Member:
    told = Member(row["name"], row["text_id"], row["text"] or "", row["start"], row["ending"])
    return replace(told, speaker=row["speaker"])


def _member_of(chapter: Chapter) -> Member:
    """A chapter as it is told in another; its text is all that tells whether it is still the same."""
    return Member(chapter.text_id, chapter.text, chapter.text, chapter.start, chapter.end)


def _free(rows: Iterable[tuple[Row, bool, bool]]) -> list[Member]:
    """Those of these rows, in order, that are neither grouped nor still to be made."""
    found, grouped, unready = [], 0, 0
    for row, is_grouped, is_unready in rows:
        grouped, unready = grouped + is_grouped, unready + (is_unready and not is_grouped)
        if not is_grouped and not is_unready:
            found.append(replace(_member(row), grouped_before=grouped, unready_before=unready))
    return found


def _free_chapters(chapters: Iterable[Chapter]) -> list[Member]:
    """The same of chapters."""
    found, grouped, unready = [], 0, 0
    for one in chapters:
        grouped, unready = grouped + bool(one.parent), unready + (not one.parent and not one.text)
        if not one.parent and one.text:
            found.append(replace(_member_of(one), grouped_before=grouped, unready_before=unready))
    return found


def _as_read(member: Member, free: Mapping[str, Member]) -> bool:
    return member.name in free and free[member.name].text_id == member.text_id


def _ids(members: Iterable[Member]) -> list[tuple[str, str]]:
    return [(one.name, one.text_id) for one in members]


def _chapter(row: Row, below: Mapping[str, Sequence[_Child]]) -> tuple[tuple[int, int], Chapter]:
    """A chapter with all that is under it, and where it stands."""
    own = {one.name for one in below.get(row["text_id"], ())}
    under = list(_all_under(row["text_id"], below))
    leaves = [one for one in under if one.start is not None]
    order = {one.name: number for number, one in enumerate(under)}
    first = min(leaves, key=lambda one: _moment(one.start), default=None)
    last = max(leaves, key=lambda one: _moment(one.ending), default=None)
    made = Chapter(
        row["text_id"], row["session_id"], row["height"], row["parent"], row["text"], row["stored_at"],
        tuple(sorted(own, key=lambda name: order[name])),
        tuple(dict.fromkeys(one.number for one in leaves)),
        (first.start or "") if first else "", (last.ending or "") if last else "",
    )  # fmt: skip
    return min(((one.place, one.number) for one in leaves), default=(0, 0)), made


def _all_under(name: str, below: Mapping[str, Sequence[_Child]]) -> Iterator[_Child]:
    """All under a chapter, in order: each chapter right before what is under it."""
    told = [(one, list(_all_under(one.name, below))) for one in below.get(name, ())]
    told.sort(key=lambda pair: min((leaf.place for leaf in (pair[0], *pair[1]) if leaf.start), default=0))
    for one, under in told:
        yield one
        yield from under


def _moment(timestamp: str | None) -> datetime:
    return datetime.fromisoformat(timestamp or "")
