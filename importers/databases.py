"""Databases of other programs, opened to be read only, also while those programs use them. All SQL for them is here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

from domain.file_reader import open_bytes
from importers.json_stream import as_text

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


def llm_conversations(connection: sqlite3.Connection, old: bool, new: bool) -> list[tuple[str, str]]:
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
LLM_RESPONSES = (
    "SELECT id, prompt, response, datetime_utc FROM responses WHERE COALESCE(conversation_id, '') = ? ORDER BY rowid"
)
#: The turns of one thread of the new generation, in their order.
LLM_TURNS = "SELECT id, tip_message_hash, datetime_utc FROM turns WHERE thread_id = ? ORDER BY rowid"
#: Where the turns of the thread ended from which this one was forked.
LLM_TIPS = "SELECT u.tip_message_hash FROM threads t JOIN turns u ON u.thread_id = t.forked_from WHERE t.id = ?"
#: A message of the new generation, by what names it.
LLM_MESSAGE = "SELECT parent_hash, role FROM messages WHERE hash = ?"
#: The parts of a message: kind, text, and what else there is of it as JSON.
LLM_PARTS = "SELECT type, text, payload FROM parts WHERE message_hash = ? ORDER BY position"
#: A piece that texts are put together from.
LLM_FRAGMENT = "SELECT content FROM fragments WHERE id = ?"


def llm_prompt_fragments(connection: sqlite3.Connection, response: str) -> list[str]:
    """The pieces of a prompt that is stored in pieces."""
    if not {"response_id", "fragment_id"} <= _column_names(connection, "prompt_fragments"):
        return []
    statement = (
        "SELECT f.content FROM prompt_fragments p JOIN fragments f ON f.id = p.fragment_id "
        'WHERE p.response_id = ? ORDER BY p."order"'
    )
    return [row["content"] for row in connection.execute(statement, (response,))]


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
