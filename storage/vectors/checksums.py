"""Whether the files of the vector index are still what was written.

LanceDB does not notice a flipped byte: it answers with wrong values. Its files are written once and never
changed, so a checksum a file, taken after every write and kept in the store, settles it. A file that stands in
the folder without a checksum comes from a write that was cut short: removed, it leaves the index as it was.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path

from domain.files import storage_error
from storage.embeddings import Embeddings

#: The one file that LanceDB writes again and again; without it the newest version is looked for.
_HINT = "latest_version_hint.json"
_CHUNK = 1 << 20


class Checksums:
    """The checksums of a folder.

    >>> checksums.keep()
    >>> checksums.are_right()
    True
    """

    def __init__(self, store: Embeddings, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._known: dict[str, str] = {}

    def keep(self, also: Callable[[], None] = lambda: None) -> None:
        """Keep what has changed since the last time: new files are read, known ones are not.

        No lock is held while files are read. ``also`` is done in the same commit.
        """
        present = {path for path in self._present() if not path.endswith(_HINT)}
        written = {path: self._checksum(path) for path in present if path not in self._known}
        gone = self._known.keys() - present
        with self._store.in_one_commit():
            self._store.store_checksums(written, gone)
            also()
        self._known = {path: self._known[path] for path in self._known.keys() - gone} | written

    def forget(self, also: Callable[[], None] = lambda: None) -> None:
        """Trust nothing any more; the next ``keep`` begins anew. ``also`` is done in the same commit."""
        self._known = {}
        with self._store.in_one_commit():
            self._store.remove_checksums()
            also()

    def are_right(self, wanted: Callable[[], bool] = lambda: True) -> bool:
        """Whether every file with a checksum is whole. Files of a write that was cut short are removed.

        Reads every byte, about 3 GB a second. ``wanted`` is asked between files; False ends the reading, and
        nothing is believed then.
        """
        self._known = self._store.checksums()
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
