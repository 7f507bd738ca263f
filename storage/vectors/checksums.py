"""Whether the files of the vector index are still what was written.

LanceDB does not notice a flipped byte: it answers with wrong values. Its files are written once and never
changed, so a checksum a file, taken after every write and kept in SQLite, settles it. A file that stands in
the folder without a checksum comes from a write that was cut short: removed, it leaves the index as it was.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from storage.files import storage_error
from storage.sqlite.database import Database, Sql

_KEY = "index:"
#: The one file that LanceDB writes again and again; without it the newest version is looked for.
_HINT = "latest_version_hint.json"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Changes:
    """What a write did to the folder: checksums of new files by their path in it, and paths that are gone."""

    written: dict[str, str]
    gone: tuple[str, ...]


class Checksums:
    """The checksums of a folder.

    >>> changes = seal.examine()                # reads the new files, holds no lock
    >>> with database.write() as sql:
    ...     seal.save(sql, changes)
    """

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._known: dict[str, str] = {}

    def examine(self) -> Changes:
        """What has changed since the last ``save``: new files are read, known ones are not."""
        present = {path for path in self._present() if not path.endswith(_HINT)}
        written = {path: self._checksum(path) for path in present if path not in self._known}
        return Changes(written, tuple(path for path in self._known if path not in present))

    def save(self, sql: Sql, changes: Changes) -> None:
        """Keep the changes, inside the caller's transaction."""
        for path in changes.gone:
            sql("DELETE FROM meta WHERE key = ?", (_KEY + path,))
            self._known.pop(path, None)
        for path, checksum in changes.written.items():
            sql("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY + path, checksum))
        self._known |= changes.written

    def forget(self, sql: Sql) -> None:
        """Trust nothing any more; the next ``save`` begins anew. Inside the caller's transaction."""
        self._known = {}
        sql("DELETE FROM meta WHERE key GLOB ?", (_KEY + "*",))

    def holds(self, wanted: Callable[[], bool] = lambda: True) -> bool:
        """Whether every sealed file is whole. Files of a write that was cut short are removed.

        Reads every byte, about 3 GB a second. ``wanted`` is asked between files; False ends the reading, and
        the seal does not hold then.
        """
        rows = self._database.read("SELECT key, value FROM meta WHERE key GLOB ?", (_KEY + "*",))
        self._known = {row["key"].removeprefix(_KEY): row["value"] for row in rows}
        present = self._present()
        for path, checksum in self._known.items():
            if path not in present or not wanted() or self._checksum(path) != checksum:
                return False
        for path in present - self._known.keys():
            (self._folder / path).unlink(missing_ok=True)
        return bool(self._known)

    def _present(self) -> set[str]:
        found = set()
        for place, _, files in os.walk(self._folder):
            found |= {os.path.relpath(os.path.join(place, name), self._folder) for name in files}
        return found

    def _checksum(self, path: str) -> str:
        """Length and CRC-32 of a file: any flipped byte changes it."""
        try:
            with open(self._folder / path, "rb") as file:
                length = checksum = 0
                while chunk := file.read(_CHUNK):
                    checksum = zlib.crc32(chunk, checksum)
                    length += len(chunk)
        except OSError as fault:
            raise storage_error(fault, self._folder / path) from fault
        return f"{length}:{checksum:08x}"
