"""Digests: of the texts of every row, and of every message that was ever stored. Made when a transaction ends.

By the digest of a row a bit that changed on the disk is noticed. Triggers queue each row whose texts are written,
whoever writes them, so a row whose texts do not fit its digest was changed by nobody.

By the digests of a message an import recognises it, also once it is erased. Each message has two: of what was said by
whom when, under whatever id it comes; and of what was said under which id, since an export may tell a time otherwise.
They are salted, so that they tell nothing outside of their memory.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from domain.records import PREFIX

#: Tables whose texts have digests, each with what tells its rows apart. Not those that are made from the others.
KEYS: Mapping[str, tuple[str, ...]] = {
    "session": ("number",),
    "conversation": ("seq",),
    "summary": ("seq",),
    "chapter": ("seq",),
    "note": ("seq",),
    "fact": ("seq",),
    "fact_event": ("seq",),
    "relation": ("seq",),
    "persona": ("version",),
    "pin": ("number",),
    "line_evidence": ("seq",),
    "job": ("kind", "key"),
    "import_source": ("number",),
    "held_round": ("number",),
    "in_flight": ("session_id",),
    "step": ("kind", "key", "step"),
    "undoable_save": ("session_id",),
    "read_window": ("name",),
    "cleaning": ("chain", "conversation_round"),
    "meta": ("key",),
}
#: Before the name of a trigger.
TRIGGER = "digest_"
_DIGEST = 16


#: A row of a table by the key that stands in another one.
_WAITS = "EXISTS (SELECT 1 FROM changed_row q WHERE q.name = '{0}' AND q.key = {1})"

#: In ``meta``, from the first message on.
_SALT = "salt"
#: Reads it.
SALT = f"SELECT value FROM meta WHERE key = '{_SALT}'"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# -- rows --------------------------------------------------------------------------------------------------------


def triggers(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The scripts of the triggers that queue rows, by name, for tables with these columns of text."""
    return {
        name: script
        for table, texts in columns.items()
        if table in KEYS and texts
        for name, script in _triggers_of(table, texts)
    }


def _triggers_of(table: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    new, old = (
        f"INSERT INTO changed_row (name, key) VALUES ('{table}', {_key(table, row)}) ON CONFLICT DO NOTHING;"
        for row in ("NEW", "OLD")
    )
    for what, when, queued in (
        ("added", "INSERT", new),
        ("changed", f"UPDATE OF {', '.join((*texts, *KEYS[table]))}", f"{old} {new}"),
        ("removed", "DELETE", old),
    ):
        name = f"{TRIGGER}{table}_{what}"
        yield name, f"CREATE TRIGGER {name} AFTER {when} ON {table} BEGIN {queued} END"


def digest_changes(
    connection: sqlite3.Connection, columns: Mapping[str, Sequence[str]], read: Callable[..., Sequence[Any]]
) -> None:
    """Make the digests of the rows that wait for one, inside the open transaction. ``read`` reads rows."""
    changed = [str(row[0]) for row in read("SELECT DISTINCT name FROM changed_row")]
    if "conversation" in changed:
        _remember_messages(connection, read)
    for table in changed:
        texts = ", ".join(f"t.{name}" for name in columns[table])
        queued = f"FROM changed_row q LEFT JOIN {table} t ON {_same(table, 'q.key')} WHERE q.name = '{table}'"
        rows = read(f"SELECT q.key, t.{KEYS[table][0]} IS NOT NULL, {texts} {queued}")
        connection.executemany(
            "INSERT INTO row_digest (name, key, digest) VALUES (?, ?, ?) ON CONFLICT (name, key)"
            " DO UPDATE SET digest = excluded.digest",
            [(table, key, _digest(key, values)) for key, there, *values in rows if there],
        )
        connection.executemany(
            "DELETE FROM row_digest WHERE name = ? AND key = ?",
            [(table, row[0]) for row in rows if not row[1]],
        )
    if changed:
        connection.execute("DELETE FROM changed_row")


def differing(connection: sqlite3.Connection, columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The rows whose texts are not those that were stored, as TABLE KEY; also rows that were never stored, or are gone.

    A row that another program wrote, and that waits for its digest, is none of them.
    """
    for table, texts in columns.items():
        own = _key(table, "+t")
        rows = connection.execute(
            f"SELECT {own}, d.digest, {', '.join(f't.{name}' for name in texts)} FROM {table} t LEFT JOIN row_digest d"
            f" ON d.name = '{table}' AND d.key = {own} WHERE NOT {_WAITS.format(table, own)}"
        )
        for key, digest, *values in rows:
            if digest != _digest(key, values):
                yield f"{table} {key}"
        lost = connection.execute(
            f"SELECT d.key FROM row_digest d WHERE d.name = '{table}' AND NOT {_WAITS.format(table, 'd.key')}"
            f" AND NOT EXISTS (SELECT 1 FROM {table} t WHERE {_same(table, 'd.key')})"
        )
        for (key,) in lost:
            yield f"{table} {key}"


def _key(table: str, row: str) -> str:
    """What tells a row apart, as one value. A sign before the name of the row takes the kind of its column away."""
    names = [f"{row}.{name}" for name in KEYS[table]]
    return names[0] if len(names) == 1 else f"json_array({', '.join(names)})"


def _same(table: str, key: str) -> str:
    """The condition that holds for the row ``t`` of a table that has this key."""
    names = KEYS[table]
    if len(names) == 1:
        return f"t.{names[0]} = {key}"
    return " AND ".join(f"t.{name} = json_extract({key}, '$[{at}]')" for at, name in enumerate(names))


def _digest(key: object, values: Sequence[object]) -> str:
    written = repr((key, *values)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(written).hexdigest()[:_DIGEST]


# -- messages ----------------------------------------------------------------------------------------------------


def said_digest(salt: str, role: str, speaker: str, timestamp: str, words: str) -> str:
    """Of what was said by whom in which second; without a zone as it is written, and "" where nobody knows when."""
    when = datetime.fromisoformat(timestamp) if timestamp else None
    aware = when and when.replace(tzinfo=when.tzinfo or UTC)
    second = str((aware - _EPOCH) // timedelta(seconds=1)) if aware else ""
    return _salted(salt, role, speaker, second, _normal(words))


def id_digest(salt: str, role: str, text_id: str, words: str) -> str:
    """Of what was said under which id."""
    return _salted(salt, role, text_id, _normal(words))


def _remember_messages(connection: sqlite3.Connection, read: Callable[..., Sequence[Any]]) -> None:
    """Store the digests of the messages that were written, or put in other words, inside the open transaction."""
    rows = read(
        "SELECT c.seq, c.role, c.speaker, c.text_id, c.timestamp, c.text FROM changed_row q"
        " JOIN conversation c ON c.seq = q.key WHERE q.name = 'conversation'"
    )
    if not rows:
        return
    salt = _salt(connection, read)
    found = []
    for seq, role, speaker, text_id, timestamp, text in rows:
        words = text.removeprefix(PREFIX[role])
        found.append((said_digest(salt, role, speaker, timestamp, words), seq))
        found.append((id_digest(salt, role, text_id, words), seq))
    connection.executemany(
        "INSERT INTO stored_message (digest, turn) VALUES (?, ?) ON CONFLICT DO NOTHING", found
    )


def _salt(connection: sqlite3.Connection, read: Callable[..., Sequence[Any]]) -> str:
    """The salt of a memory, made with its first message."""
    for row in read(SALT):
        return str(row[0])
    salt = secrets.token_hex(16)
    connection.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_SALT, salt))
    return salt


def _normal(words: str) -> str:
    return " ".join(unicodedata.normalize("NFC", words).split())


def _salted(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
