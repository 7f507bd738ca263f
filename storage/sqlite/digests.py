"""Digests: of the texts of every row, and of every message that was ever stored. Made when a transaction ends.

By the digest of a row a bit that changed on the disk is noticed. Triggers queue each row whose texts are written,
whoever writes them, so a row whose texts do not fit its digest was changed by no one.

By the digests of a message an import recognises it, also once it is erased. Each message has two: of what was said by
whom when, under whatever id it comes; and of what was said under which id, since an export may tell a time otherwise.
They are salted, so that they tell nothing outside of their memory.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from domain.records import PREFIX, Role

#: Tables whose texts have digests, each with what tells its rows apart. Not those that are made from the others.
KEYS: Mapping[str, tuple[str, ...]] = {
    "session": ("number",),
    "conversation": ("seq",),
    "message_metadata": ("message", "key"),
    "summary": ("seq",),
    "chapter": ("seq",),
    "note": ("seq",),
    "fact": ("seq",),
    "fact_event": ("seq",),
    "relation": ("seq",),
    "open_matter": ("seq",),
    "persona": ("version",),
    "pin": ("number",),
    "line_evidence": ("seq",),
    "job": ("kind", "key"),
    "import_source": ("number",),
    "client_round": ("number",),
    "in_flight": ("session_id",),
    "step": ("kind", "key", "step"),
    "undoable_save": ("session_id",),
    "read_window": ("name",),
    "client_extraction": ("chain", "conversation_round"),
    "meta": ("key",),
}
#: Before the name of a trigger.
TRIGGER = "digest_"
_DIGEST = 16


#: A row of a table by the key in another one.
_WAITS = "EXISTS (SELECT 1 FROM changed_row q WHERE q.name = '{0}' AND q.key = {1})"

#: Reads the salt of a memory.
SALT = "SELECT value FROM meta WHERE key = 'salt'"
#: Made with the first message.
_MAKE_SALT = (
    "INSERT INTO meta (key, value) SELECT 'salt', ? WHERE EXISTS"
    " (SELECT 1 FROM changed_row WHERE name = 'conversation') ON CONFLICT (key) DO NOTHING"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# -- rows --------------------------------------------------------------------------------------------------------


def trigger_scripts(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The scripts of the triggers that queue rows, by name, for tables with these columns of text."""
    return {
        name: script
        for table, texts in columns.items()
        if table in KEYS and texts
        for name, script in _triggers_of(table, texts)
    }


def _triggers_of(table: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    new, old = (
        f"INSERT INTO changed_row (name, key) VALUES ('{table}', {_key_expression(table, row)}) ON CONFLICT DO NOTHING;"
        for row in ("NEW", "OLD")
    )
    for what, when, queued in (
        ("added", "INSERT", new),
        ("changed", f"UPDATE OF {', '.join((*texts, *KEYS[table]))}", f"{old} {new}"),
        ("removed", "DELETE", old),
    ):
        name = f"{TRIGGER}{table}_{what}"
        yield name, f"CREATE TRIGGER {name} AFTER {when} ON {table} BEGIN {queued} END"
    yield f"{TRIGGER}{table}", _trigger_that_digests(table, texts)


def _trigger_that_digests(table: str, texts: Sequence[str]) -> str:
    """A row that waits no more gets its digest. Texts are passed as their bytes, since some may be no UTF-8."""
    made = f"text_digest(OLD.key, {', '.join(f'CAST(t.{name} AS BLOB)' for name in texts)})"
    there = f"FROM {table} t WHERE {_key_condition(table, 'OLD.key')}"
    steps = [
        "DELETE FROM row_digest WHERE name = OLD.name AND key = OLD.key",
        f"INSERT INTO row_digest (name, key, digest) SELECT OLD.name, OLD.key, {made} {there}",
    ]
    if table == "conversation":
        remembered = (
            "INSERT INTO stored_message (digest, message) SELECT {0}, t.seq " + there + " ON CONFLICT DO NOTHING"
        )
        said = "message_digest(({0}), t.role, CAST(t.speaker AS BLOB), t.timestamp, CAST(t.text AS BLOB))"
        under_id = "message_digest(({0}), t.role, CAST(t.text_id AS BLOB), NULL, CAST(t.text AS BLOB))"
        steps += [remembered.format(made.format(SALT)) for made in (said, under_id)]
    steps_in_order = " ".join(f"{step};" for step in steps)
    return (
        f"CREATE TRIGGER {TRIGGER}{table} AFTER DELETE ON changed_row WHEN OLD.name = '{table}'"
        f" BEGIN {steps_in_order} END"
    )


def register_functions(connection: sqlite3.Connection) -> None:
    """Let the statements of a connection make digests."""
    connection.create_function(
        "text_digest", -1, lambda key, *texts: _digest_row(key, [*map(_read_text, texts)]), deterministic=True
    )
    connection.create_function("message_digest", 5, _message_digest, deterministic=True)


def digest_changes(connection: sqlite3.Connection, *, salted: bool) -> None:
    """Make the digests of the rows that wait for one, and of the messages among them, inside the open transaction."""
    if not salted:
        connection.execute(_MAKE_SALT, (secrets.token_hex(16),))
    connection.execute("DELETE FROM changed_row")


def find_altered_rows(connection: sqlite3.Connection, columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The rows whose texts are not those that were stored, as TABLE KEY; also rows that were never stored, or are gone.

    A row that another program wrote, and that waits for its digest, is none of them.
    """
    for table, texts in columns.items():
        own = _key_expression(table, "+t")
        rows = connection.execute(
            f"SELECT {own}, d.digest, {', '.join(f't.{name}' for name in texts)} FROM {table} t LEFT JOIN row_digest d"
            f" ON d.name = '{table}' AND d.key = {own} WHERE NOT {_WAITS.format(table, own)}"
        )
        yield from (f"{table} {key}" for key, digest, *values in rows if digest != _digest_row(key, values))
        lost = connection.execute(
            f"SELECT d.key FROM row_digest d WHERE d.name = '{table}' AND NOT {_WAITS.format(table, 'd.key')}"
            f" AND NOT EXISTS (SELECT 1 FROM {table} t WHERE {_key_condition(table, 'd.key')})"
        )
        yield from (f"{table} {key}" for (key,) in lost)


def _key_expression(table: str, row: str) -> str:
    """What tells a row apart, as one value. A sign before the name of the row takes the kind of its column away."""
    names = [f"{row}.{name}" for name in KEYS[table]]
    return names[0] if len(names) == 1 else f"json_array({', '.join(names)})"


def _key_condition(table: str, key: str) -> str:
    names = KEYS[table]
    if len(names) == 1:
        return f"t.{names[0]} = {key}"
    return " AND ".join(f"t.{name} = json_extract({key}, '$[{at}]')" for at, name in enumerate(names))


def _digest_row(key: object, values: Sequence[object]) -> str:
    written = repr((key, *values)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(written).hexdigest()[:_DIGEST]


# -- messages ----------------------------------------------------------------------------------------------------


def said_digest(salt: str, role: str, speaker: str, timestamp: str, words: str) -> str:
    """Of what was said by whom in which second; without a zone as it is written, and "" where no one knows when."""
    when = datetime.fromisoformat(timestamp) if timestamp else None
    aware = when and when.replace(tzinfo=when.tzinfo or UTC)
    second = str((aware - _EPOCH) // timedelta(seconds=1)) if aware else ""
    return _salted_digest(words, salt, role, speaker, second)


def id_digest(salt: str, role: str, text_id: str, words: str) -> str:
    """Of what was said under which id."""
    return _salted_digest(words, salt, role, text_id)


def _message_digest(salt: str, role: Role, named: bytes, timestamp: str | None, text: bytes) -> str:
    """Of what was said by whom when, or without a time under which id."""
    words, name = str(_read_text(text)).removeprefix(PREFIX[role]), str(_read_text(named))
    return id_digest(salt, role, name, words) if timestamp is None else said_digest(salt, role, name, timestamp, words)


def _read_text(value: bytes | None) -> str | None:
    """A text as it is read, with U+FFFD for what is no UTF-8."""
    return None if value is None else value.decode("utf-8", "replace")


def _salted_digest(words: str, *parts: str) -> str:
    normalised = " ".join(unicodedata.normalize("NFC", words).split())
    return hashlib.sha256("\x1f".join((*parts, normalised)).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
