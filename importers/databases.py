"""Databases of other programs, opened to be read only, also while those programs use them. All SQL for them is here.

The log of ``llm`` has two generations: ``responses``, and since 0.32 ``threads``, ``turns`` and ``messages``. What was
logged before stays in the old tables, and a conversation that went on has the same key in both. Messages are shared
between threads and have no time; a turn has one, and the chain that it ends holds all that was said before.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

from domain.file_reader import open_bytes
from domain.imports import PastConversation, Spoken
from importers.json_stream import as_name, as_number, as_object, as_text, objects_in
from importers.reading import ConversationBuilder, DatabaseFormat, Found, LeftOut, NotRead, Reading
from language.instants import parse_instant

#: Where SQLite's header says that a log is written beside (sqlite.org/fileformat2.html).
_LOGGED = b"\x02\x02"


def open_readonly(path: Path, patience: float = 10.0) -> sqlite3.Connection:
    """A connection that can write nothing, and waits so many seconds where another program is writing."""
    how = "mode=ro&immutable=1" if _has_no_open_log(path) else "mode=ro"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=patience)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _has_no_open_log(path: Path) -> bool:
    """Whether no one has this write-ahead database open: a reader would leave files beside it then."""
    with open_bytes(path, 20) as file:
        kind = file.read(20)[18:]
    return kind == _LOGGED and not path.with_name(f"{path.name}-wal").exists()


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another program is writing there and blocks readers."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def tables_of(connection: sqlite3.Connection) -> frozenset[str]:
    """The names of its tables."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return frozenset(row["name"] for row in rows)


def _column_names(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(row["name"] for row in rows)


# -- Open WebUI


def webui_owners(connection: sqlite3.Connection) -> Mapping[str, tuple[str, ...]]:
    """Whose conversations there are, each with what they are called."""
    owners: dict[str, tuple[str, ...]] = {
        row["user_id"]: (as_text(row["user_id"]),) for row in connection.execute("SELECT DISTINCT user_id FROM chat")
    }
    if not {"id", "name", "email"} <= _column_names(connection, "user"):
        return owners
    for row in connection.execute("SELECT id, name, email FROM user"):
        if row["id"] in owners:
            owners[row["id"]] = (as_text(row["name"]), as_text(row["email"]), as_text(row["id"]))
    return owners


def webui_chats(connection: sqlite3.Connection) -> Iterator[sqlite3.Row]:
    """The conversations, a row at a time; between two of them whoever owns the database may write."""
    statement = "SELECT id, user_id, title, chat, created_at FROM chat WHERE rowid = ?"
    for (number,) in connection.execute("SELECT rowid FROM chat ORDER BY rowid").fetchall():
        yield from connection.execute(statement, (number,)).fetchall()


# -- llm


def _llm_conversations(connection: sqlite3.Connection, old: bool, new: bool) -> list[tuple[str, str]]:
    """Key and name of every conversation, of either generation; "" for prompts that belong to none."""
    found: dict[str, str] = {}
    if old:
        statement = (
            "SELECT DISTINCT COALESCE(r.conversation_id, '') AS id, c.name AS name FROM responses r "
            "LEFT JOIN conversations c ON c.id = r.conversation_id"
        )
        found |= {row["id"]: row["name"] or "" for row in connection.execute(statement)}
    if new:
        rows = connection.execute("SELECT id, name FROM threads ORDER BY rowid").fetchall()
        found |= {row["id"]: row["name"] or found.get(row["id"], "") for row in rows}
    return list(found.items())


#: Prompts with their responses of one conversation of the old generation, "" for those of none, in their order.
_LLM_RESPONSES = (
    "SELECT id, prompt, response, datetime_utc FROM responses WHERE COALESCE(conversation_id, '') = ? ORDER BY rowid"
)
#: The turns of one thread of the new generation, in their order.
_LLM_TURNS = "SELECT id, tip_message_hash, datetime_utc FROM turns WHERE thread_id = ? ORDER BY rowid"
#: Where the turns of the thread ended from which this one was forked.
_LLM_TIPS = "SELECT u.tip_message_hash FROM threads t JOIN turns u ON u.thread_id = t.forked_from WHERE t.id = ?"
#: A message of the new generation, by what names it.
_LLM_MESSAGE = "SELECT parent_hash, role FROM messages WHERE hash = ?"
#: The parts of a message: kind, text, and what else there is of it as JSON.
_LLM_PARTS = "SELECT type, text, payload FROM parts WHERE message_hash = ? ORDER BY position"
#: A piece that texts are put together from.
_LLM_FRAGMENT = "SELECT content FROM fragments WHERE id = ?"


def _llm_prompt_fragments(connection: sqlite3.Connection, response: str) -> list[str]:
    """The pieces of a prompt that is stored in pieces."""
    if not {"response_id", "fragment_id"} <= _column_names(connection, "prompt_fragments"):
        return []
    statement = (
        "SELECT f.content FROM prompt_fragments p JOIN fragments f ON f.id = p.fragment_id "
        'WHERE p.response_id = ? ORDER BY p."order"'
    )
    return [row["content"] for row in connection.execute(statement, (response,))]


_ROLES: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}
_LLM_OLD, _LLM_NEW = frozenset(("responses", "conversations")), frozenset(("threads", "turns", "messages", "parts"))


def _read_llm_log(reading: Reading) -> Iterator[Found]:
    """Every conversation, those that belong to none as one each."""
    assert reading.part.path is not None
    with closing(open_readonly(reading.part.path)) as connection:
        tables = tables_of(connection)
        log = _LlmLog(connection, reading, tables >= _LLM_OLD, tables >= _LLM_NEW)
        try:
            for key, title in _llm_conversations(connection, log.old, log.new):
                yield from log.read_conversation(key, title) if key else log.read_single_prompts()
        except sqlite3.Error as error:
            yield reading.make_unread(NotRead.DAMAGED, said=str(error))
    reading.count_bytes(reading.part.size)


class _LlmLog:
    def __init__(self, connection: sqlite3.Connection, reading: Reading, old: bool, new: bool) -> None:
        self._connection, self._reading = connection, reading
        self.old, self.new = old, new

    def read_conversation(self, key: str, title: str) -> Iterator[PastConversation]:
        """One conversation, what the old tables have of it first."""
        builder = ConversationBuilder(self._reading.source, as_name(key), as_text(title))
        before: list[tuple[Spoken, str]] = []
        for row in self._rows(_LLM_RESPONSES, key) if self.old else ():
            before += self._add_response(builder, row)
        if self.new:
            self._add_turns(builder, key, before)
        yield builder.build()

    def read_single_prompts(self) -> Iterator[PastConversation]:
        """Prompts that were logged without a conversation."""
        for row in self._rows(_LLM_RESPONSES, ""):
            builder = ConversationBuilder(self._reading.source, as_name(row["id"]))
            self._add_response(builder, row)
            yield builder.build()

    def _rows(self, statement: str, key: str | int) -> list[sqlite3.Row]:
        return self._connection.execute(statement, (key,)).fetchall()

    def _add_response(self, builder: ConversationBuilder, row: sqlite3.Row) -> list[tuple[Spoken, str]]:
        """Prompt and response of one call; returns what was said in it."""
        prompt, response = as_text(row["prompt"]), as_text(row["response"])
        if not prompt.strip():
            prompt = "\n\n".join(_llm_prompt_fragments(self._connection, row["id"]))
        said = parse_instant(row["datetime_utc"], UTC)
        builder.add_message(f"{row['id']}:prompt", "person", prompt, said)
        builder.add_message(f"{row['id']}:response", "companion", response, said)
        return [("person", prompt), ("companion", response)]

    def _add_turns(self, builder: ConversationBuilder, thread: str, before: list[tuple[Spoken, str]]) -> None:
        """The turns of the new generation; each chain is followed up to what is known of it already."""
        seen = {tip for (tip,) in self._rows(_LLM_TIPS, thread) if tip}
        for turn in self._rows(_LLM_TURNS, thread):
            self._add_turn(builder, turn, self._new_in_chain(turn["tip_message_hash"], seen), before)
            before.clear()

    def _add_turn(
        self, builder: ConversationBuilder, turn: sqlite3.Row, chain: list[tuple[str, str]],
        before: list[tuple[Spoken, str]],
    ) -> None:  # fmt: skip
        for place, (digest, role) in enumerate(chain):
            words, reason = self._message_text(digest)
            by = _ROLES.get(role)
            if before and (by is None or (by, words) == before[0]):
                # The first chain repeats what the old tables hold.
                before[:] = before[1:] if by else before
            elif by is None:
                builder.leave_out(LeftOut.SYSTEM if role == "system" else LeftOut.TOOL)
            elif not words.strip() and reason:
                builder.leave_out(reason)
            else:
                builder.add_message(f"{turn['id']}:{place}", by, words, parse_instant(turn["datetime_utc"], UTC))

    def _new_in_chain(self, tip: str | None, seen: set[str]) -> list[tuple[str, str]]:
        """Name and role of the messages of a chain that were not met in this thread, the first first."""
        chain: list[tuple[str, str]] = []
        while tip and tip not in seen:
            seen.add(tip)
            found = self._rows(_LLM_MESSAGE, tip)
            if not found:
                break
            chain.append((tip, found[0]["role"] or ""))
            tip = found[0]["parent_hash"]
        return chain[::-1]

    def _message_text(self, digest: str) -> tuple[str, str]:
        """What a message says, and why nothing where that is so."""
        parts = self._rows(_LLM_PARTS, digest)
        said = "\n\n".join(filter(str.strip, (self._part_text(row) for row in parts if row["type"] == "text")))
        kinds = {row["type"] for row in parts}
        if kinds & {"tool_call", "tool_result"}:
            return said, LeftOut.TOOL
        return said, LeftOut.ATTACHMENT if "attachment" in kinds else LeftOut.THINKING if kinds - {"text"} else ""

    def _part_text(self, row: sqlite3.Row) -> str:
        if row["text"] or not row["payload"]:
            return as_text(row["text"])
        try:
            pieces = list(objects_in(as_object(json.loads(row["payload"])).get("text_ref")))
        except (ValueError, TypeError):
            return ""
        return "".join(as_text(piece.get("literal")) or self._fragment_text(piece) for piece in pieces)

    def _fragment_text(self, piece: Mapping[str, Any]) -> str:
        found = self._rows(_LLM_FRAGMENT, int(as_number(piece.get("fragment"))))
        return str(found[0]["content"]) if found else ""


DATABASE_FORMATS = tuple(DatabaseFormat("llm", kinds.issubset, _read_llm_log) for kinds in (_LLM_OLD, _LLM_NEW))


# -- MemForest


#: The ids of its sessions, in the order in which they were stored.
FOREST_SESSIONS = "SELECT id FROM session_memories ORDER BY rowid"
#: Summaries of sessions by id.
FOREST_SUMMARIES = "SELECT id, content FROM memory_units WHERE rank = 1"


def forest_units(connection: sqlite3.Connection, session_id: str) -> list[sqlite3.Row]:
    """The messages of a session with their neighbours; "" for those in none."""
    within = "SELECT unit_id FROM session_unit_membership"
    chosen = f"u.id IN ({within} WHERE session_id = ?)" if session_id else f"u.id NOT IN ({within}) AND ? = ''"
    statement = (
        "SELECT u.id, u.content, u.creation_time, u.source, u.metadata, u.visit_count, u.last_visit, u.never_delete, "
        "e.pre_unit_id AS pre_id, e.next_unit_id AS next_id, h.parent_unit_id AS parent_id "
        "FROM memory_units u LEFT JOIN mu_sequence_edges e ON e.unit_id = u.id "
        f"LEFT JOIN mu_hierarchy_edges h ON h.child_unit_id = u.id WHERE u.rank = 0 AND {chosen} "
        "ORDER BY u.rowid"
    )
    return connection.execute(statement, (session_id,)).fetchall()
