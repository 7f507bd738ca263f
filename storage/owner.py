"""One program a data directory. The kernel keeps the lock, so a program that dies frees it.

Promises: a second program is refused before it reads or writes anything else, and learns who holds the
directory; the file itself is no lock: one that a crash left behind, or that was copied with the folder, holds
no one back.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from domain import errors
from domain.files import PRIVATE_FILE, make_private_folder, storage_error

_NAME = ".owner"
_MAX_BYTES = 4096


class Owner:
    """Holds a data directory for this process.

    >>> with Owner(data_dir, clock):        # raises DataInUse when another program holds it
    ...     ...
    """

    def __init__(self, data_dir: Path, clock: Callable[[], datetime]) -> None:
        self.path = data_dir / _NAME
        self._clock = clock
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the directory, or raise DataInUse with the holder's ``pid``, ``host`` and ``since``."""
        if self._descriptor is not None:
            return
        make_private_folder(self.path.parent)
        try:
            self._descriptor = self._lock_file()
            self._write_holder(self._descriptor)
        except OSError as fault:
            self.release()
            raise storage_error(fault, self.path) from fault

    def release(self) -> None:
        """Let the directory go; safe to call twice. The file stays: removing it would race with the next."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Owner:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _lock_file(self) -> int:
        """A locked descriptor of the file that stands at the path now."""
        while True:
            descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, PRIVATE_FILE)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                still_there = self._still_there(descriptor)
            except BlockingIOError:
                holder = self._read_holder(descriptor)
                os.close(descriptor)
                raise errors.DataInUse(path=str(self.path.parent), **holder) from None
            except BaseException:
                os.close(descriptor)
                raise
            if still_there:
                return descriptor
            os.close(descriptor)

    def _still_there(self, descriptor: int) -> bool:
        """Whether no one removed or replaced the file between opening and locking it."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _write_holder(self, descriptor: int) -> None:
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": self._clock().isoformat(timespec="seconds"),
        }
        os.fchmod(descriptor, PRIVATE_FILE)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)

    @staticmethod
    def _read_holder(descriptor: int) -> dict[str, object]:
        """What the holder wrote about itself; unknown values are None."""
        try:
            read = json.loads(os.pread(descriptor, _MAX_BYTES, 0))
        except (ValueError, OSError):
            read = None
        known = read if isinstance(read, dict) else {}
        return {name: known.get(name) for name in ("pid", "host", "since")}
