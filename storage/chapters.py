"""The tree of one memory: chapters over sessions and over the messages of long ones.

    message (rank 0) -> group of messages (1, if it is long) -> session with its summary (1) -> chapters (2) -> life (2)

A session and a message name the chapter above them, a chapter the one above it. A chapter without text is to be written
again: something under it is gone. Beside the tree stands the diary: a page for a session, of height 0 and with nothing
above or below it.

Guarantees: a chapter or a page is stored only from what it was made from; what goes takes the text of every chapter
above it, and of the page on its session, along in the same commit; a chapter with fewer than two children is removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from domain.tree import Chapter, Member, Node, Page
from storage.engine import EACH, Database, Row, Stamp, Transaction

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
    "(NOT EXISTS (SELECT 1 FROM imported_session i WHERE i.session_id = s.session_id AND i.due > 0) OR m.upto_round >="
    " (SELECT max(t.round) FROM conversation t WHERE t.session_id = s.session_id AND t.hidden = 0))"
)
#: A session can be in a chapter when it is archived and its summary stands.
_READY = (
    f"s.status = 'archived' AND m.text_id IS NOT NULL AND {_READ_UP}"
    " AND NOT EXISTS (SELECT 1 FROM job j WHERE j.kind = 'summary' AND j.key = s.session_id)"
)
_EDGE = "(SELECT timestamp FROM conversation t WHERE t.session_id = s.session_id ORDER BY t.position {0} LIMIT 1)"
_SESSIONS = (
    f"SELECT s.session_id AS name, m.text_id, m.summary AS text, coalesce({_EDGE.format('')}, s.start_timestamp)"
    f" AS start, coalesce({_EDGE.format('DESC')}, s.start_timestamp) AS ending, s.chapter, s.position, {_READY} AS"
    " ready, '' AS speaker"
    " FROM session s LEFT JOIN summary m ON m.session_id = s.session_id"
)
_MESSAGES = (
    "SELECT text_id AS name, text_id, text, role, timestamp AS start, timestamp AS ending, chapter, hidden, demo,"
    " speaker FROM conversation"
)
#: Sessions in a chapter that are empty, or nothing that may be shown.
_UNSPOKEN = (
    "FROM session s WHERE s.chapter IS NOT NULL AND s.status = 'archived'"
    " AND NOT EXISTS (SELECT 1 FROM conversation t WHERE t.session_id = s.session_id AND t.hidden = 0)"
)
#: A chapter of less is none.
_LEAST = 2
#: The chapters with these numbers and all above them.
_WITH_THOSE_ABOVE = (
    f"WITH RECURSIVE up (seq) AS (SELECT seq FROM chapter WHERE seq IN {EACH} UNION"
    " SELECT c.parent FROM up JOIN chapter c ON c.seq = up.seq WHERE c.parent IS NOT NULL) SELECT seq FROM up"
)


class _Child(NamedTuple):
    """A member of a chapter; a chapter in another has no place and no time of its own."""

    parent: str
    name: str
    place: int
    number: int
    start: str | None
    ending: str | None


class Chapters:
    """Reads and writes the tables ``chapter`` and ``visit``, and reads the view ``node``."""

    def __init__(self, database: Database, stamp: Stamp) -> None:
        self._database = database
        self._stamp = stamp

    def node(self, text_id: str) -> Node | None:
        """One node, by the id of its text."""
        return next(map(_read_node, self._database.run(f"{_NODE} WHERE text_id = ?", text_id)), None)

    def nodes(self, parent: str | None = None, *, rank: int = 0) -> list[Node]:
        """The children of a node, in order; without one every node of at least this rank."""
        if parent is None:
            query = f"{_NODE} WHERE rank >= ? ORDER BY rank DESC, place"
            return [_read_node(row) for row in self._database.run(query, rank)]
        return [_read_node(row) for row in self._database.run(f"{_NODE} WHERE parent = ? ORDER BY place", parent)]

    def all(self, text_ids: Sequence[str] | None = None, *, pages: bool = False) -> list[Chapter]:
        """All chapters, or these, the earliest first; ``pages``: those of the diary too."""
        rows = self._database.run(_CHAPTER if pages or text_ids is not None else f"{_CHAPTER} WHERE c.height > 0")
        below: dict[str, list[_Child]] = {}
        for child in self._read_children() if rows else ():
            below.setdefault(child.parent, []).append(child)
        made = [_read_chapter(row, below) for row in rows if text_ids is None or row["text_id"] in text_ids]
        return [one for _, one in sorted(made, key=lambda pair: (pair[0], pair[1].height, pair[1].text_id))]

    def _read_children(self) -> list[_Child]:
        sessions = (
            f"SELECT c.text_id AS parent, s.session_id AS name, s.position AS place, s.number, {_EDGE.format('')} AS"
            f" start, {_EDGE.format('DESC')} AS ending FROM session s JOIN chapter c ON c.seq = s.chapter"
        )
        messages = (
            "SELECT c.text_id AS parent, t.text_id AS name, t.position AS place, s.number, t.timestamp AS start,"
            " t.timestamp AS ending FROM conversation t JOIN chapter c ON c.seq = t.chapter"
            " JOIN session s ON s.session_id = t.session_id"
        )
        chapters = (
            "SELECT p.text_id AS parent, c.text_id AS name, 0 AS place, 0 AS number, NULL AS start, NULL AS ending"
            " FROM chapter c JOIN chapter p ON p.seq = c.parent"
        )
        return [_Child(*row) for query in (sessions, messages, chapters) for row in self._database.run(query)]

    def ungrouped(self, height: int, session_id: str = "") -> list[Member]:
        """What is in no chapter of this height yet and may be, in order."""
        if session_id and height == 1:
            query = f"{_MESSAGES} WHERE session_id = ? AND hidden = 0 AND demo = 0 ORDER BY position"
            rows = self._database.run(query, session_id)
            return _ungrouped_members((_read_member(row), row["chapter"] is not None, False) for row in rows)
        if height == 1:
            return self._ungrouped_sessions()
        chapters = [one for one in self.all() if (one.height, one.session_id) == (height - 1, session_id)]
        return _ungrouped_members((_member_of(one), bool(one.parent), not one.text) for one in chapters)

    def _ungrouped_sessions(self) -> list[Member]:
        asked = (
            "SELECT key AS session_id FROM job WHERE kind = 'summary'"
            " UNION SELECT session_id FROM imported_session WHERE due > 0 AND role_play = 0"
        )
        waiting = {row["session_id"] for row in self._database.run(asked)}
        rows = self._database.run(
            f"{_SESSIONS} WHERE s.status = 'archived' OR s.chapter IS NOT NULL ORDER BY s.position"
        )
        unready = {row["name"] for row in rows if row["name"] in waiting and not row["ready"]}
        shown = [row for row in rows if row["chapter"] is not None or row["ready"] or row["name"] in unready]
        return _ungrouped_members(
            (_read_member(row), row["chapter"] is not None, row["name"] in unready) for row in shown
        )

    def members(self, text_id: str) -> list[Member] | None:
        """What a chapter is made from now; None while some of that is not ready."""
        chapter = next(iter(self.all([text_id])), None)
        if chapter is None:
            return None
        number = self._database.run("SELECT seq FROM chapter WHERE text_id = ?", text_id)[0]["seq"]
        if chapter.height > 1:
            under = self.all(chapter.children)
            return [_member_of(one) for one in under] if all(one.text for one in under) else None
        if chapter.session_id:
            query = f"{_MESSAGES} WHERE chapter = ? AND hidden = 0 AND demo = 0 ORDER BY position"
            return [_read_member(row) for row in self._database.run(query, number)]
        rows = self._database.run(f"{_SESSIONS} WHERE s.chapter = ? ORDER BY s.position", number)
        return [_read_member(row) for row in rows] if all(row["ready"] for row in rows) else None

    def long_sessions(self, characters: int) -> list[str]:
        """The archived sessions in no chapter yet with more characters than that; what was brought along is read up."""
        query = (
            "SELECT s.session_id FROM session s WHERE s.status = 'archived' AND s.chapter IS NULL"
            " AND s.session_id NOT IN (SELECT session_id FROM imported_session)"
            " AND (SELECT sum(length(t.text)) FROM conversation t WHERE t.session_id = s.session_id) > ?"
            " ORDER BY s.position"
        )
        return [str(row[0]) for row in self._database.run(query, characters)]

    def due_rebuilds(self) -> list[tuple[Chapter, list[Member]]]:
        """The chapters that are to be written again and can be now, each with what from; the lowest first."""
        void = [one for one in self.all() if not one.text]
        ready = ((one, self.members(one.text_id)) for one in sorted(void, key=lambda one: one.height))
        return [(one, members) for one, members in ready if members and len(members) > 1]

    def chapters_above(self, messages: Sequence[str], sessions: Sequence[str]) -> list[Chapter]:
        """The chapters that rest on one of these messages as such, or on the summary of one of these sessions."""
        numbers = self._numbers_with_ancestors(self._numbers_of(messages, sessions))
        rows = self._database.run(f"SELECT text_id FROM chapter WHERE seq IN {EACH}", numbers) if numbers else []
        return self.all([row["text_id"] for row in rows]) if rows else []

    def add(self, height: int, members: Sequence[Member], text: str, session_id: str = "") -> bool:
        """Store a chapter over these. False, and nothing, when one of them is not as it was read, or is in another."""
        text_id, names = self._stamp.new_id(), [one.name for one in members]
        with self._database.write() as tx:
            free = {one.name: one for one in self.ungrouped(height, session_id)}
            as_read = all(one.name in free and free[one.name].text_id == one.text_id for one in members)
            if len(members) < _LEAST or not as_read:
                return False
            number, now = tx.next("chapter"), self._stamp.now()
            columns = "(seq, text_id, session_id, height, text, stored_at) VALUES (?, ?, ?, ?, ?, ?)"
            tx.do(f"INSERT INTO chapter {columns}", number, text_id, session_id or None, height, text, now)
            table, key, column = "session", "session_id", "chapter"
            if height > 1:
                table, key, column = "chapter", "text_id", "parent"
            elif session_id:
                table, key = "conversation", "text_id"
            tx.many(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", [(number, name) for name in names])
            # A chapter begins with the visits of what is under it.
            tx.do(
                "INSERT INTO visit (text_id, visit_count, last_visit)"
                " SELECT CAST(? AS TEXT), sum(visit_count), max(last_visit)"
                f" FROM visit WHERE text_id IN {EACH} HAVING max(last_visit) > 0",
                text_id, names,
            )  # fmt: skip
        return True

    def rebuild(self, text_id: str, members: Sequence[Member], text: str) -> bool:
        """Give a chapter its text again. False, and nothing, when what it is made from is not as it was read."""
        with self._database.write() as tx:
            there = self.members(text_id)
            void = self._database.run("SELECT 1 FROM chapter WHERE text_id = ? AND text = ''", text_id)
            if not void or there is None or _member_ids(there) != _member_ids(members):
                return False
            tx.do("UPDATE chapter SET text = ?, stored_at = ? WHERE text_id = ?", text, self._stamp.now(), text_id)
        return True

    def void(self, tx: Transaction, text_ids: Sequence[str]) -> None:
        """Remove the text of these chapters, and of all above them, and ask for it again."""
        query = f"SELECT seq FROM chapter WHERE text_id IN {EACH}"
        self._void_texts(tx, [row["seq"] for row in self._database.run(query, list(text_ids))] if text_ids else [])

    def void_above(self, tx: Transaction, messages: Sequence[str] = (), sessions: Sequence[str] = ()) -> None:
        """The same of the chapters over these messages, or over these sessions."""
        self._void_texts(tx, self._numbers_of(messages, sessions))

    def drop_small(self, tx: Transaction) -> None:
        """Remove chapters that have too little under them; what remains of it may be grouped again.

        A session of which nothing may be shown any more is in none: a chapter would wait for its summary for ever.
        """
        query = (
            "SELECT seq, text_id FROM chapter c WHERE text = '' AND height > 0 AND"
            " (SELECT count(*) FROM session WHERE chapter = c.seq)"
            " + (SELECT count(*) FROM conversation WHERE chapter = c.seq AND hidden = 0)"
            f" + (SELECT count(*) FROM chapter WHERE parent = c.seq) < {_LEAST}"
        )
        if not self._database.run("SELECT 1 FROM chapter LIMIT 1"):
            return
        self._void_texts(tx, [int(row[0]) for row in self._database.run(f"SELECT DISTINCT s.chapter {_UNSPOKEN}")])
        tx.do(f"UPDATE session SET chapter = NULL WHERE session_id IN (SELECT s.session_id {_UNSPOKEN})")
        while small := self._database.run(query):
            tx.many("DELETE FROM chapter WHERE seq = ?", [(row["seq"],) for row in small])
            self.forget_nodes(tx, [row["text_id"] for row in small])

    def forget_session(self, tx: Transaction, session_id: str) -> None:
        """Forget a session that is about to be removed, with the groups of messages in it."""
        within = [row[0] for row in self._database.run("SELECT text_id FROM chapter WHERE session_id = ?", session_id)]
        self.void_above(tx, sessions=[session_id])
        self.forget_nodes(tx, [session_id, *within])

    def forget_nodes(self, tx: Transaction, names: Sequence[str]) -> None:
        """Forget when these were used, and that they were archived."""
        tx.many("DELETE FROM visit WHERE text_id = ?", [(name,) for name in names])
        tx.many("DELETE FROM archived_memory WHERE text_id = ?", [(name,) for name in names])

    def _numbers_of(self, messages: Sequence[str], sessions: Sequence[str]) -> list[int]:
        """The chapters right above these, and the pages on their sessions."""
        query = (
            f"SELECT chapter FROM {{0}} WHERE chapter IS NOT NULL AND {{1}} IN {EACH} UNION SELECT seq FROM chapter"
            f" WHERE height = 0 AND session_id IN (SELECT t.session_id FROM {{0}} t WHERE t.{{1}} IN {EACH})"
        )
        found = []
        for table, column, values in (("conversation", "text_id", messages), ("session", "session_id", sessions)):
            if values:
                found += [row[0] for row in self._database.run(query.format(table, column), list(values), list(values))]
        return list(dict.fromkeys(found))

    def _numbers_with_ancestors(self, numbers: Sequence[int]) -> list[int]:
        """These chapters and all above them."""
        return [row[0] for row in self._database.run(_WITH_THOSE_ABOVE, list(numbers))] if numbers else []

    def _void_texts(self, tx: Transaction, numbers: Sequence[int]) -> None:
        spine = [(number,) for number in self._numbers_with_ancestors(numbers)]
        tx.many("UPDATE chapter SET text = '', evidence = '' WHERE seq = ? AND text <> ''", spine)

    # -- the diary -------------------------------------------------------------------------------------------------

    def pages(self, *, due: bool = False) -> list[Page]:
        """The pages of the diary on archived sessions, the earliest first; ``due``: those to be written again."""
        query = (
            f"SELECT c.text_id, c.session_id, c.text, c.evidence, {_EDGE.format('')} AS start, {_EDGE.format('DESC')}"
            " AS ending, c.stored_at FROM chapter c JOIN session s ON s.session_id = c.session_id"
            " WHERE c.height = 0 AND s.status = 'archived' ORDER BY s.position"
        )
        return [_read_page(row) for row in self._database.run(query) if bool(row["text"]) != due]

    def put_page(self, session_id: str, read: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]]) -> bool:
        """Store the page on a session, in place of the one before; without ``lines`` there is none any more.

        False, and nothing, when the session is open again or what may be shown of it is not what was ``read``.
        """
        text, evidence = "\n".join(line for line, _ in lines), json.dumps([list(ids) for _, ids in lines])
        with self._database.write() as tx:
            shown = (
                "SELECT text_id FROM conversation WHERE session_id = ? AND hidden = 0 AND demo = 0 ORDER BY position"
            )
            there = [row["text_id"] for row in self._database.run(shown, session_id)]
            archived = "SELECT 1 FROM session WHERE session_id = ? AND status = 'archived'"
            if there != list(read) or not self._database.run(archived, session_id):
                return False
            tx.do("DELETE FROM chapter WHERE height = 0 AND session_id = ?", session_id)
            if lines:
                columns = "(seq, text_id, session_id, height, text, evidence, stored_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
                row = (tx.next("chapter"), self._stamp.new_id(), session_id, 0, text, evidence, self._stamp.now())
                tx.do(f"INSERT INTO chapter {columns}", *row)
        return True


def _read_page(row: Row) -> Page:
    evidence = [tuple(ids) for ids in json.loads(row["evidence"] or "[]")]
    lines = tuple(zip(row["text"].split("\n"), evidence, strict=False))
    return Page(row["text_id"], row["session_id"], lines, row["start"] or "", row["ending"] or "", row["stored_at"])


def _read_node(row: Row) -> Node:
    values = list(row)
    values[10] = bool(values[10])
    return Node(*values)


def _read_member(row: Row) -> Member:
    return Member(row["name"], row["text_id"], row["text"] or "", row["start"], row["ending"], speaker=row["speaker"])


def _member_of(chapter: Chapter) -> Member:
    """A chapter as a member of another; its text is all that tells whether it is still the same."""
    return Member(chapter.text_id, chapter.text, chapter.text, chapter.start, chapter.end)


def _ungrouped_members(members: Iterable[tuple[Member, bool, bool]]) -> list[Member]:
    """Those of these, in order, that are neither grouped nor still to be made."""
    found, grouped, unready = [], 0, 0
    for member, is_grouped, is_unready in members:
        grouped, unready = grouped + is_grouped, unready + (is_unready and not is_grouped)
        if not is_grouped and not is_unready:
            found.append(replace(member, grouped_before=grouped, unready_before=unready))
    return found


def _member_ids(members: Iterable[Member]) -> list[tuple[str, str]]:
    return [(one.name, one.text_id) for one in members]


def _read_chapter(row: Row, below: Mapping[str, Sequence[_Child]]) -> tuple[tuple[int, int], Chapter]:
    """A chapter with all that is under it, and where it stands."""
    own = {one.name for one in below.get(row["text_id"], ())}
    under = list(_all_under(row["text_id"], below))
    leaves = [one for one in under if one.start is not None]
    order = {one.name: number for number, one in enumerate(under)}
    first = min(leaves, key=lambda one: _parse_moment(one.start), default=None)
    last = max(leaves, key=lambda one: _parse_moment(one.ending), default=None)
    made = Chapter(
        row["text_id"], row["session_id"], row["height"], row["parent"], row["text"], row["stored_at"],
        tuple(sorted(own, key=lambda name: order[name])),
        tuple(dict.fromkeys(one.number for one in leaves)),
        (first.start or "") if first else "", (last.ending or "") if last else "",
    )  # fmt: skip
    return min(((one.place, one.number) for one in leaves), default=(0, 0)), made


def _all_under(name: str, below: Mapping[str, Sequence[_Child]]) -> Iterator[_Child]:
    """All under a chapter, in order: each chapter right before what is under it."""
    branches = [(one, list(_all_under(one.name, below))) for one in below.get(name, ())]
    branches.sort(key=lambda pair: min((leaf.place for leaf in (pair[0], *pair[1]) if leaf.start), default=0))
    for one, under in branches:
        yield one
        yield from under


def _parse_moment(timestamp: str | None) -> datetime:
    return datetime.fromisoformat(timestamp or "")
