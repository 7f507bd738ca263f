"""A text of somebody else's memory, as it was found there, and what all readers of such memories need.

A reader returns at most ``MOST_TEXTS`` texts and says how many it left out. Whatever is wrong with a source comes out
as a StorageError whose key says what: ``external.missing``, ``external.unknown``, ``external.broken`` and so on.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from domain import errors
from domain.file_reader import DATABASE
from domain.records import Role

#: Texts that are taken of one source, the newest where it says when they are from; and characters of one text.
MOST_TEXTS, LONGEST_TEXT = 20_000, 4_000
#: Bytes of a file, or of a folder that must be copied to be read.
LARGEST_FILE, LARGEST_COPY = 2_000_000, 1_000_000_000


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
    if size > LARGEST_COPY:
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


def split_text(text: str, longest: int = 900) -> Iterator[str]:
    """A long text in pieces that can be found and shown: paragraphs, as many together as have room.

    >>> list(pieces("One.\\n\\nTwo.", 5))
    ['One.', 'Two.']
    """
    gathered = ""
    paragraphs = (paragraph.strip("\n") for paragraph in text.replace("\r\n", "\n").split("\n\n"))
    for part in (part for paragraph in paragraphs for part in _split_paragraph(paragraph, longest)):
        if gathered and len(gathered) + len(part) > longest:
            yield gathered
            gathered = ""
        gathered = f"{gathered}\n\n{part}" if gathered else part
    if gathered.strip():
        yield gathered


def _split_paragraph(paragraph: str, longest: int) -> Iterator[str]:
    """A paragraph cut where it is too long: after a line, a sentence or a word, or in the middle of one."""
    rest = paragraph
    while len(rest) > longest:
        ends = (rest.rfind(mark, longest // 2, longest) + len(mark) for mark in ("\n", ". ", "。", " "))
        end = next((end for end in ends if end > longest // 2), longest)
        yield rest[:end].strip()
        rest = rest[end:]
    if rest.strip():
        yield rest.strip()
