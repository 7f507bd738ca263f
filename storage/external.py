"""Readers of external memories: another Old Friend, a LanceDB table, a Milvus Lite collection, a folder of notes.

What a path leads to is decided by what lies there; a table among several is named after the path:
``notes=~/db#journal``. Reading changes nothing at the source. A reader returns at most ``MOST_TEXTS`` texts and says
how many it left out. Whatever is wrong with a source comes out as a StorageError whose key says what:
``external.missing``, ``external.unknown``, ``external.broken`` and so on.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from domain import errors
from domain.file_reader import DATABASE
from domain.patterns import pattern_of
from domain.records import PREFIX, Role
from storage.sqlite.copies import is_a_memory, read_memory

#: Texts that are taken of one source, the newest where it says when they are from; and characters of one text.
MOST_TEXTS, LONGEST_TEXT = 20_000, 4_000
#: Bytes of a file, or of a folder that must be copied to be read.
_LARGEST_FILE, _LARGEST_COPY = 2_000_000, 1_000_000_000

_ENDINGS = (".md", ".markdown", ".txt")
#: So many files are looked at.
_MOST_FILES = 50_000
_DAY_IN_NAME = pattern_of(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_FRONT = pattern_of(r"\A---[ \t]*\n(.*?)\n---[ \t]*\n", re.DOTALL)
_DATE_IN_FRONT = pattern_of(r"^(?:date|created)[ \t]*:[ \t]*[\"']?(\S[^\"'\n]*)", re.MULTILINE | re.IGNORECASE)
_HEADING = pattern_of(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_LONGEST_HEADING = 200
#: The characters of one piece of a longer text.
_LONGEST_PIECE = 900
#: UTF-8, or what Chinese Windows writes.
_ENCODINGS = ("utf-8-sig", "gb18030")


@dataclass(frozen=True, slots=True)
class ExternalText:
    """One text. ``group`` is what it follows its neighbours in: a file, a conversation.

    ``place`` is where a person finds it, ``timestamp`` when it is from, "" where no one knows; ``role`` who spoke, None
    where no one did.
    """

    group: str
    place: str
    timestamp: str
    text: str
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class SourceTexts:
    """All that is taken of a source, in its order, and how many texts or files of it were left out."""

    texts: Sequence[ExternalText]
    left_out: int = 0


def locate_source(path: Path) -> tuple[Path, str]:
    """The path of a source, and the table in it that is meant, "" where none is named."""
    if path.exists() or "#" not in path.name:
        return path, ""
    name, _, table = path.name.rpartition("#")
    return path.with_name(name), table


def is_within(path: Path, folder: Path) -> bool:
    """Whether a source is the memory of this very folder."""
    here, own = locate_source(path)[0].resolve(), folder.resolve()
    return here in (own, own / DATABASE, own / "vectors")


@contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """A private copy of a file or folder, for libraries that cannot read without writing; it goes with the block.

    Raises StorageError where it is too large.
    """
    size = sum(one.stat().st_size for one in [path, *path.rglob("*")] if one.is_file())
    if size > _LARGEST_COPY:
        raise errors.StorageError("external.too_large", megabytes=size // 1_000_000)
    with tempfile.TemporaryDirectory(prefix="old-friend-others-") as folder:
        copy = Path(folder) / path.name
        if path.is_dir():
            shutil.copytree(path, copy)
        else:
            shutil.copyfile(path, copy)
        yield copy


def parse_timestamp(value: object) -> str:
    """A time of any form as a timestamp with its offset; "" for what is none.

    >>> stamp("2024-05-01T08:00:00+02:00"), stamp("soon")
    ('2024-05-01T08:00:00+02:00', '')
    """
    try:
        moment = _parse_moment(value)
        stamped = moment.isoformat(timespec="seconds") if moment else ""
    except (ValueError, OverflowError, OSError):
        return ""
    return stamped if len(stamped) == len("2024-05-01T08:00:00+02:00") and stamped > "0002" else ""


def _parse_moment(value: object) -> datetime | None:
    if isinstance(value, str) and value.strip():
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        value = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    return value.astimezone() if isinstance(value, datetime) else None


def split_text(text: str) -> Iterator[str]:
    """A long text in pieces that can be found and shown: paragraphs, as many together as have room."""
    gathered = ""
    paragraphs = (paragraph.strip("\n") for paragraph in text.replace("\r\n", "\n").split("\n\n"))
    for part in (part for paragraph in paragraphs for part in _split_paragraph(paragraph)):
        if gathered and len(gathered) + len(part) > _LONGEST_PIECE:
            yield gathered
            gathered = ""
        gathered = f"{gathered}\n\n{part}" if gathered else part
    if gathered.strip():
        yield gathered


def _split_paragraph(paragraph: str) -> Iterator[str]:
    """A paragraph cut where it is too long: after a line, a sentence or a word, or in the middle of one."""
    rest = paragraph
    while len(rest) > _LONGEST_PIECE:
        half = _LONGEST_PIECE // 2
        ends = (rest.rfind(mark, half, _LONGEST_PIECE) + len(mark) for mark in ("\n", ". ", "。", " "))
        end = next((end for end in ends if end > half), _LONGEST_PIECE)
        yield rest[:end].strip()
        rest = rest[end:]
    if rest.strip():
        yield rest.strip()


def read_notes(folder: Path) -> SourceTexts:
    """The notes below a folder, links and hidden folders left out; where there are too many the newest."""
    files = sorted(islice(_find_notes(folder), _MOST_FILES), key=lambda path: (-_changed_at(path), str(path)))
    texts: list[ExternalText] = []
    left_out = 0
    for path in files:
        found = _read_note(path, folder) if len(texts) < MOST_TEXTS else None
        left_out += found is None
        texts += found or ()
    if files and not texts and left_out:
        raise errors.StorageError("external.broken", reason="no note can be read")
    return SourceTexts(texts[:MOST_TEXTS], left_out + max(0, len(texts) - MOST_TEXTS))


def _find_notes(folder: Path) -> Iterator[Path]:
    for place, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        fitting = (name for name in sorted(names) if not name.startswith(".") and name.lower().endswith(_ENDINGS))
        yield from (path for path in (Path(place) / name for name in fitting) if not path.is_symlink())


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read_note(path: Path, folder: Path) -> list[ExternalText] | None:
    """The pieces of one note; None where it is too large, or no text."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    text = _decode_note(content)
    if text is None:
        return None
    name = path.relative_to(folder).as_posix()
    when, body = _date_note(path, text), _FRONT.sub("", text, count=1)
    return [
        ExternalText(name, f"{name} · {heading}" if heading else name, when, piece)
        for heading, section in _split_sections(body)
        for piece in split_text(section)
    ]


def _decode_note(content: bytes) -> str | None:
    """The text of a note, None for what is none; the ends of lines as one character."""
    if b"\0" in content:
        return None
    for encoding in _ENCODINGS:
        with suppress(UnicodeDecodeError):
            return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    return None


def _date_note(path: Path, text: str) -> str:
    """When a note is from: what it says at its head, what its name says, or when it was last changed."""
    front, named = _FRONT.match(text), _DAY_IN_NAME.search(path.name)
    dated = _DATE_IN_FRONT.search(front[1]) if front else None
    at_head = parse_timestamp(dated[1].strip()) if dated else ""
    return at_head or (parse_timestamp("-".join(named.groups())) if named else "") or parse_timestamp(_changed_at(path))


def _split_sections(body: str) -> Iterator[tuple[str, str]]:
    starts = [(found.start(), found[1][:_LONGEST_HEADING].rstrip(" \t#") or "#") for found in _HEADING.finditer(body)]
    before = body[: starts[0][0]] if starts else body
    if before.strip():
        yield "", before
    for at, (start, heading) in enumerate(starts):
        end = starts[at + 1][0] if at + 1 < len(starts) else len(body)
        if section := body[start:end].partition("\n")[2].strip():
            yield heading, f"{heading}\n{section}"


#: What the columns of such tables are called, the likeliest first.
_TEXT = ("text", "content", "page_content", "document", "memory", "summary", "chunk", "body", "message", "note")
_WHEN = ("timestamp", "date", "created_at", "created", "time", "start_time", "updated_at")
_GROUP = ("session_id", "conversation_id", "thread_id", "source", "path", "file")
_PLACE = ("title", "source", "path", "file", "name", "session_id", "url")
_ROLE = ("role", "speaker", "sender")
_ROLES: Mapping[str, Role] = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


def texts_of_rows(rows: Iterable[Mapping[str, Any]], total: int) -> SourceTexts:
    """The texts of a table's rows. Raises StorageError ``others.no_text`` where no column holds any."""
    found = [text for number, row in enumerate(rows) if (text := _text_of(row, number))]
    if total and not found:
        raise errors.StorageError("external.no_text", columns=", ".join(_TEXT))
    return SourceTexts(found, max(0, total - len(found)))


def _text_of(row: Mapping[str, Any], number: int) -> ExternalText | None:
    inside = row.get("metadata")
    more = inside if isinstance(inside, Mapping) else {}
    row = {str(name).lower(): value for name, value in {**more, **row}.items()}
    text = _first_value(row, _TEXT)
    if not text:
        return None
    role = _ROLES.get(_first_value(row, _ROLE).lower())
    for spoken, prefix in PREFIX.items():
        if text.startswith(prefix):
            role, text = spoken, text.removeprefix(prefix)
    when = next((stamp for name in _WHEN if (stamp := parse_timestamp(row.get(name)))), "")
    group = _first_value(row, _GROUP) or str(number)
    return ExternalText(group, _first_value(row, _PLACE), when, text[:LONGEST_TEXT], role)


def _first_value(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((str(row[name]) for name in names if isinstance(row.get(name), str) and row[name].strip()), "")


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
        raise errors.StorageError("external.needs", packages="pymilvus milvus-lite") from fault
    with private_copy(path) as copy, _broken_as_ours(), closing(client_of(str(copy))) as client:
        return _of_collections(client, collection)


@contextmanager
def _broken_as_ours() -> Iterator[None]:
    try:
        yield
    except errors.StorageError:
        raise
    except Exception as fault:
        raise errors.StorageError("external.broken", reason=f"{type(fault).__name__}: {fault}") from fault


def _of_collections(client: Any, collection: str) -> SourceTexts:
    names = [name for name in client.list_collections() if not collection or name == collection]
    if not names:
        raise errors.StorageError("external.no_table", table=collection or "*")
    rows: list[Mapping[str, Any]] = []
    total = 0
    for name in names:
        client.load_collection(name)
        total += int(client.get_collection_stats(name)["row_count"])
        if (most := min(MOST_TEXTS - len(rows), 16_384)) > 0:
            found = client.query(name, filter="", limit=most, output_fields=["*"])
            # Rows without their vectors.
            rows += [{key: value for key, value in row.items() if not isinstance(value, list)} for row in found]
    return texts_of_rows(rows, total)


_ENDING = ".lance"
_ROWS_AT_ONCE = 1_000


def is_lance(path: Path) -> bool:
    """Whether this is a table of LanceDB, or a folder of such tables."""
    if not path.is_dir():
        return False
    return path.suffix == _ENDING or any(one.is_dir() for one in path.glob(f"*{_ENDING}"))


def read_lance(path: Path, table: str) -> SourceTexts:
    """The texts of a table, or of the only one there is. Raises StorageError."""
    from storage.vectors import lance

    if path.suffix == _ENDING:
        path, table = path.parent, path.stem
    names = sorted(one.stem for one in path.glob(f"*{_ENDING}") if one.is_dir())
    wanted = [name for name in names if not table or name == table]
    if len(wanted) != 1:
        raise errors.StorageError("external.no_table", table=table or ", ".join(names))
    with lance.translate_errors("read", path):
        opened = lance.connect(path).open_table(wanted[0])
        return texts_of_rows(_read_rows(opened), opened.count_rows())


def _read_rows(table: Any) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa

    lists = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    kept = [field.name for field in table.schema if not any(is_list(field.type) for is_list in lists)]
    for batch in table.search().select(kept).limit(MOST_TEXTS).to_batches(_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def read_source(path: Path) -> SourceTexts:
    """Everything that is taken of a source. Raises StorageError, or what the system raises of a file."""
    path, table = locate_source(path)
    if not path.exists():
        raise errors.StorageError("external.missing")
    database = path / DATABASE if path.is_dir() else path
    if is_a_memory(database):
        rows, left_out = read_memory(database, _LARGEST_COPY, MOST_TEXTS, LONGEST_TEXT)
        return SourceTexts(
            [
                ExternalText(session, "", parse_timestamp(when), text.removeprefix(PREFIX[role]), role)
                for session, when, role, text in rows
            ],
            left_out,
        )
    if is_milvus(path):
        return read_milvus(path, table)
    if is_lance(path):
        return read_lance(path, table)
    if path.is_dir() and next(_find_notes(path), None):
        return read_notes(path)
    raise errors.StorageError("external.unknown")
