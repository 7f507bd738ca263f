"""The files that an export consists of: on the disk, in an archive, in an archive within one.

Promises: nothing is extracted, a member of an archive is read as a stream; members that lead out of it by ``..``, that
are far larger than the archive could hold, or that are encrypted are refused; every byte that is read is counted.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from domain.file_reader import open_bytes

try:
    from lzma import LZMAError
except ImportError:  # a Python that was built without it refuses such a member in another way
    LZMAError = zlib.error  # type: ignore[misc, assignment]

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
#: What is seen of a file's beginning.
HEAD = 1 << 16
#: A member that is larger than this, or so many times larger than it is in the archive, is no export.
LARGEST_MEMBER = 20 << 30
LARGEST_RATIO = 300
SMALL_MEMBER = 10 << 20

#: The number that a browser puts behind the name of what is there already.
_COPY = re.compile(r"\s*\(\d+\)(?=\.[^.]*$|$)")

#: What reading a damaged archive, or a disk, may raise.
DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)

Count = Callable[[int], None]
OpenBytes = Callable[[], AbstractContextManager[BinaryIO]]


def ignore_count(_: int) -> None:
    """Counts nothing."""


@dataclass(frozen=True)
class ExportFile:
    """One file: its name (inside of what was given, with ``/``), its size, and how it is opened.

    ``path`` is set where it is a file of its own on the disk. ``within`` is the name of what it lies in. ``refused``
    says why it must not be read.
    """

    name: str
    size: int
    opener: OpenBytes
    path: Path | None = None
    within: str = ""
    refused: str = ""

    @property
    def base_name(self) -> str:
        """The last part of its name."""
        return PurePosixPath(self.name).name

    @property
    def plain_name(self) -> str:
        """The last part of its name as it was first written: ``Chat.txt`` for ``x/Chat (1).txt.gz``."""
        return _COPY.sub("", self.base_name.removesuffix(".gz"))

    @property
    def folder(self) -> str:
        """The folder part of its name."""
        return str(PurePosixPath(self.name).parent)

    @contextmanager
    def open(self, count: Count = ignore_count) -> Iterator[BinaryIO]:
        """Its bytes; those of a gzip file as they were before."""
        with self.opener() as raw, io.BufferedReader(_Counted(raw, count), HEAD) as counted:
            if counted.peek(2)[:2] == GZIP:
                with gzip.GzipFile(fileobj=counted) as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield counted

    def read_head(self, size: int = HEAD) -> bytes:
        """How it begins."""
        with self.open() as file:
            return file.read(size)


class _Counted(io.RawIOBase):
    """Bytes that are counted as they are read, in small pieces, so that damage costs no more than one."""

    def __init__(self, raw: BinaryIO, count: Count) -> None:
        self._raw, self._count = raw, count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        piece = self._raw.read1(min(len(buffer), HEAD))  # type: ignore[attr-defined]
        buffer[: len(piece)] = piece
        self._count(len(piece))
        return len(piece)


def file_on_disk(path: Path, name: str = "", within: str = "") -> ExportFile:
    """A file on the disk."""
    within = within or path.absolute().parent.name
    return ExportFile(name or path.name, path.stat().st_size, partial(open_bytes, path), path, within)


def files_in_folder(folder: Path) -> Iterator[ExportFile]:
    """The files below a folder, in the order of their names; links that lead out of it are not followed."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") or part == "__MACOSX" for part in inside.parts)
        if path.is_file() and not path.is_symlink() and not hidden:
            within = path.parent.name or folder.absolute().name
            yield file_on_disk(path, inside.as_posix(), within)


def members_of(archive: ExportFile) -> list[ExportFile]:
    """The members of a zip file, but for folders and what a Mac adds. Raises one of ``DAMAGE_ERRORS``."""
    with archive.opener() as file, zipfile.ZipFile(file) as opened:
        wanted = (
            info for info in opened.infolist() if not info.is_dir() and "__MACOSX" not in info.filename.split("/")
        )
        return [_make_member(archive, info) for info in wanted if not info.filename.rsplit("/", 1)[-1].startswith("._")]


def _make_member(archive: ExportFile, info: zipfile.ZipInfo) -> ExportFile:
    @contextmanager
    def opened() -> Iterator[BinaryIO]:
        with archive.opener() as file, zipfile.ZipFile(file) as whole, whole.open(info) as member:
            yield member  # type: ignore[misc]

    within = PurePosixPath(info.filename).parent.name or PurePosixPath(archive.name).stem
    return ExportFile(info.filename, info.file_size, opened, None, within, _why_refused(info))


def _why_refused(info: zipfile.ZipInfo) -> str:
    """Why a member must not be read, empty where it may be."""
    parts = PurePosixPath(info.filename.replace("\\", "/")).parts
    if ".." in parts or info.filename.startswith(("/", "\\")):
        return "path"
    if info.flag_bits & 1:
        return "encrypted"
    ratio = info.file_size / max(info.compress_size, 1)
    if info.file_size > LARGEST_MEMBER or (info.file_size > SMALL_MEMBER and ratio > LARGEST_RATIO):
        return "size"
    return ""


#: So much of a file is looked at to tell its encoding: its first character that is not ASCII may be far.
LOOKED_AT = 8 << 20
_PIECE = 1 << 20
#: A UTF-8 file with a damaged byte has still this many whole characters for each.
_WHOLE_FOR_DAMAGED = 4


def detect_encoding(part: ExportFile) -> str | None:
    """The name of the encoding; None for what is no text."""
    utf8, gb = codecs.getincrementaldecoder("utf-8")("replace"), codecs.getincrementaldecoder("gb18030")()
    whole = damaged = 0
    fits_gb, looked_at = True, LOOKED_AT
    with part.open() as file:
        start = _read_piece(file)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if b"\x00" in start:
            return None
        while start and looked_at > 0:
            text = utf8.decode(start)
            wrong = text.count("\ufffd")
            damaged += wrong
            whole += len(text) - len(text.encode("ascii", "ignore")) - wrong
            try:
                gb.decode(start if fits_gb else b"")
            except UnicodeDecodeError:
                fits_gb = False
            looked_at -= len(start)
            start = _read_piece(file)
    if whole >= damaged * _WHOLE_FOR_DAMAGED:
        return "utf-8-sig"
    return "gb18030" if fits_gb else None


def _read_piece(file: BinaryIO) -> bytes:
    """The next piece; nothing where the file is damaged."""
    try:
        return file.read1(_PIECE)  # type: ignore[attr-defined, no-any-return]
    except DAMAGE_ERRORS:
        return b""


class DecodedText:
    """A text that hands over what is there before it reads on, so that damage costs only what is damaged."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._damage: Exception | None = None

    def read(self, size: int, /) -> str:
        """The next piece, about as long as it was asked for, empty at the end. Raises one of ``DAMAGES``."""
        if self._damage is not None:
            raise self._damage
        pieces: list[str] = []
        left = size
        try:
            while left > 0 and (piece := self._file.read1(left)):  # type: ignore[attr-defined]
                left -= len(piece)
                pieces.append(self._decoder.decode(piece))
        except DAMAGE_ERRORS as error:
            self._damage = error
            return "".join(pieces) or self.read(size)
        if left == size:
            pieces.append(self._decoder.decode(b"", final=True))
        return "".join(pieces) or ("" if left == size else self.read(size))
