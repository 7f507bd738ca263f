"""The programs of this machine that use one data folder at once. The kernel has every lock, so a program that dies
frees its own.

    FolderLock   a folder for this program alone, or with the others: ``.owner``
    Programs     which programs live: a file below ``.programs`` for each, locked as long as it runs

Promises: there is no clock and no heartbeat, so a program that was stopped for days still lives, and one that was
killed does not; no file is a lock: one that a crash left behind, or that was copied with the folder, hinders nothing; a
folder whose locks do not exclude (some network folders) is refused before anything is written.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from domain import errors
from domain.files import PRIVATE_FILE, make_private_folder, storage_error

_NAME, _PROGRAMS = ".owner", ".programs"
#: Bytes of the file of a program that describe it; what it works with is noted behind them.
READS = 4096
#: Characters of the kind of a program.
_LONGEST_KIND = 50
_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class FolderLock:
    """Locks a data folder for this process.

    >>> with FolderLock(data_dir, clock):        # alone; raises DataInUse when another program uses it
    ...     ...
    """

    def __init__(self, data_dir: Path, clock: Callable[[], datetime], *, shared: bool = False) -> None:
        self.path = data_dir / _NAME
        self._clock = clock
        self._mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Lock it, or raise DataInUse with ``pid``, ``host`` and ``since`` of a program that has it."""
        if self._descriptor is not None:
            return
        make_private_folder(self.path.parent)
        try:
            self._descriptor = self._lock_file()
            if self._mode == fcntl.LOCK_EX:
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, _describe_self(self._clock()), 0)
        except OSError as fault:
            self.release()
            raise lock_error(fault, self.path) from fault

    def release(self) -> None:
        """Let go of it; safe to call twice. The file stays: removing it would race with the next."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> FolderLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _lock_file(self) -> int:
        """A locked descriptor of the file that is at the path now."""
        while True:
            descriptor = open_private(self.path)
            try:
                is_there = lock_now(descriptor, self._mode) and _is_at(descriptor, self.path)
                if not is_there and _is_at(descriptor, self.path):
                    living = living_programs(self.path.parent)
                    raise errors.DataInUse(path=str(self.path.parent), **(living or [_read_program(descriptor)])[0])
            except BaseException:
                os.close(descriptor)
                raise
            if is_there:
                return descriptor
            os.close(descriptor)


class Programs:
    """This program among those that use a folder. ``name`` is given to no other one, ever.

    >>> programs = Programs(folder, clock)
    >>> programs.enter()
    >>> programs.lives(programs.name)
    True
    """

    def __init__(self, folder: Path, clock: Callable[[], datetime]) -> None:
        self.name = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._folder = folder
        self._clock = clock
        self._lock = FolderLock(folder, clock, shared=True)
        #: Its file. At ``READS`` is, in 8 bytes, 1 more than the number of the erasures when what it works with was
        #: read; 0 while it works with nothing.
        self.descriptor: int | None = None

    def enter(self) -> None:
        """Use the folder from now on, with others. Raises DataInUse while a program has it alone, StorageError."""
        self._lock.acquire()
        place = self._folder / _PROGRAMS
        try:
            make_private_folder(place)
            for left in place.iterdir():  # of programs that were killed
                if not self.lives(left.name):
                    left.unlink(missing_ok=True)
            born = place / f"{self.name}.new"
            while self.descriptor is None or not _is_at(self.descriptor, place / self.name):
                self._close_file()
                self.descriptor = open_private(born)
                fcntl.flock(self.descriptor, fcntl.LOCK_EX)
                os.pwrite(self.descriptor, _describe_self(self._clock()), 0)
                with suppress(FileNotFoundError):  # removed by who found it before it was locked
                    born.rename(place / self.name)
        except OSError as fault:
            self.leave()
            raise lock_error(fault, place) from fault

    def leave(self) -> None:
        """Use it no more; safe to call twice."""
        if self.descriptor is not None:
            (self._folder / _PROGRAMS / self.name).unlink(missing_ok=True)
        self._close_file()
        self._lock.release()

    def _close_file(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def behind(self, erasure: int) -> list[dict[str, object]]:
        """The other programs that work with what was read before the erasure of this number."""
        others = (one for one in living_programs(self._folder) if one["name"] != self.name)
        return [one for one in others if one["reads"] in range(1, erasure + 1)]

    def lives(self, name: str) -> bool:
        """Whether the program of this name still uses the folder."""
        try:
            descriptor = os.open(self._folder / _PROGRAMS / name, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not lock_now(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)


def living_programs(folder: Path) -> list[dict[str, object]]:
    """The programs that use a folder: ``name``, ``pid``, ``kind``, ``host`` and ``since`` of each, None if unknown."""
    found = []
    for path in sorted((folder / _PROGRAMS).glob("*")):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            if not lock_now(descriptor, fcntl.LOCK_SH):
                reads = int.from_bytes(os.pread(descriptor, 8, READS), "big")
                found.append({"name": path.name, "reads": reads} | _read_program(descriptor))
        finally:
            os.close(descriptor)
    return found


def open_private(path: Path) -> int:
    """A descriptor of a file that only its owner may read, created where there is none. Raises OSError."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, PRIVATE_FILE)
    os.fchmod(descriptor, PRIVATE_FILE)
    return descriptor


def lock_now(descriptor: int, mode: int) -> bool:
    """Whether a lock is free, and taken by that. Raises OSError where there are no locks."""
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_error(fault: OSError, path: Path) -> errors.StorageError:
    """The error of a lock that cannot be had; a folder without locks is named."""
    if fault.errno in _WITHOUT_LOCKS:
        return errors.StorageError("storage.no_locks", path=str(path.parent))
    return storage_error(fault, path)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether no one removed or replaced the file between opening and locking it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def kind_of_self() -> str:
    """This program as it was called: its name and first option, never what a person wrote."""
    name = os.path.basename(sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "python")
    option = next((one.partition("=")[0] for one in sys.argv[1:] if one.startswith("-")), "")
    return f"{name} {option}".strip()[:_LONGEST_KIND]


def _describe_self(now: datetime) -> bytes:
    since = now.isoformat(timespec="seconds")
    own = {"pid": os.getpid(), "kind": kind_of_self(), "host": socket.gethostname(), "since": since}
    return json.dumps(own).encode()


def _read_program(descriptor: int) -> dict[str, object]:
    """What a program wrote about itself; unknown values are None."""
    try:
        read = json.loads(os.pread(descriptor, READS, 0).rstrip(b"\0"))
    except (ValueError, OSError):
        read = None
    known = read if isinstance(read, dict) else {}
    return {name: known.get(name) for name in ("pid", "kind", "host", "since")}
