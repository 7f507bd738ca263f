"""Rows of somebody's table of texts, whatever its columns are called: of LanceDB and of Milvus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from domain import errors
from domain.records import PREFIX, Role
from storage.others.other_texts import LONGEST_TEXT, MOST_TEXTS, OtherText, SourceTexts, copied, stamp

#: What the columns of such tables are called, the likeliest first.
_TEXT = (
    "text",
    "content",
    "page_content",
    "document",
    "memory",
    "summary",
    "chunk",
    "body",
    "message",
    "note",
)
_WHEN = ("timestamp", "date", "created_at", "created", "time", "start_time", "updated_at")
_GROUP = ("session_id", "conversation_id", "thread_id", "source", "path", "file")
_PLACE = ("title", "source", "path", "file", "name", "session_id", "url")
_ROLE = ("role", "speaker", "sender")
_ROLES: Mapping[str, Role] = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


def texts_of_rows(rows: Iterable[Mapping[str, Any]], total: int) -> SourceTexts:
    """The texts of a table's rows. Raises StorageError ``others.no_text`` where no column holds any."""
    found = [text for number, row in enumerate(rows) if (text := _text_of(_flat(row), number))]
    if total and not found:
        raise errors.StorageError("others.no_text", columns=", ".join(_TEXT))
    return SourceTexts(found, max(0, total - len(found)))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with what its ``metadata`` says, and its columns by their small letters."""
    inside = row.get("metadata")
    more = inside if isinstance(inside, Mapping) else {}
    return {str(name).lower(): value for name, value in {**more, **row}.items()}


def _text_of(row: Mapping[str, Any], number: int) -> OtherText | None:
    text = _first(row, _TEXT)
    if not text:
        return None
    role = _ROLES.get(_first(row, _ROLE).lower())
    for spoken, prefix in PREFIX.items():
        if text.startswith(prefix):
            role, text = spoken, text.removeprefix(prefix)
    when = next((told for name in _WHEN if (told := stamp(row.get(name)))), "")
    group = _first(row, _GROUP) or str(number)
    return OtherText(group, _first(row, _PLACE), when, text[:LONGEST_TEXT], role)


def _first(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return next(
        (str(row[name]) for name in names if isinstance(row.get(name), str) and row[name].strip()), ""
    )


# -- Milvus ------------------------------------------------------------------------------------------------------


def is_milvus(path: Path) -> bool:
    """Whether this is what Milvus Lite makes: a folder in its later versions, a file in the earlier."""
    if path.is_dir():
        return (path / "collections").is_dir() and (path / "databases").is_dir()
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0" and b"milvus" in file.read(65_536).lower()
    except OSError:
        return False


def read_milvus(path: Path, collection: str) -> SourceTexts:
    """The texts of a collection, or of the only ones there are, out of a copy: opening it writes into it."""
    try:
        client_of = import_module("pymilvus").MilvusClient
        import_module("milvus_lite")
    except ImportError as fault:
        raise errors.StorageError("others.needs", packages="pymilvus milvus-lite") from fault
    with copied(path) as copy:
        try:
            client = client_of(str(copy))
            try:
                return _of_collections(client, collection)
            finally:
                client.close()
        except errors.StorageError:
            raise
        except Exception as fault:
            raise errors.StorageError("others.broken", reason=f"{type(fault).__name__}: {fault}") from fault


def _of_collections(client: Any, collection: str) -> SourceTexts:
    names = [name for name in client.list_collections() if not collection or name == collection]
    if not names:
        raise errors.StorageError("others.no_table", table=collection or "*")
    rows: list[Mapping[str, Any]] = []
    total = 0
    for name in names:
        client.load_collection(name)
        total += int(client.get_collection_stats(name)["row_count"])
        rows += _rows_of(client, name, MOST_TEXTS - len(rows))
    return texts_of_rows(rows, total)


def _rows_of(client: Any, name: str, most: int) -> list[Mapping[str, Any]]:
    """Rows without their vectors."""
    if most <= 0:
        return []
    rows = client.query(name, filter="", limit=min(most, 16_384), output_fields=["*"])
    return [{key: value for key, value in row.items() if not isinstance(value, list)} for row in rows]
