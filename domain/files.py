"""Files readable by their owner only, atomic replacement of files, and locks that the kernel keeps."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain import errors

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def make_private(path: Path) -> None:
    """Create ``path``, or restrict it, for its owner only, whatever the umask; one that is there is not opened."""
    with _as_ours(path):
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, PRIVATE_FILE))
        path.chmod(PRIVATE_FILE)


def make_private_folder(path: Path) -> None:
    """Create a folder (and its parents), or restrict it, for its owner only."""
    with _as_ours(path):
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        path.chmod(PRIVATE_FOLDER)


def replace_file(path: Path, content: bytes) -> None:
    """Replace ``path`` atomically: a reader, or a power cut, sees the complete old or new content."""
    temporary = path.with_name(f".{path.name}.new")
    with _as_ours(path):
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(file.fileno(), PRIVATE_FILE)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            sync_folder(path.parent)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def put_in_place(made: Path, path: Path) -> None:
    """Rename a finished file durably."""
    with _as_ours(path):
        os.replace(made, path)
        sync_folder(path.parent)


def write_file(path: Path, content: bytes) -> None:
    """Write the content of a temporary file durably."""
    with _as_ours(path), path.open("r+b") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FileLock:
    """A lock on a file, which is created; a program that dies lets go of it. The file stays where it is released."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def take(self, *, shared: bool = False, wait: bool = False) -> bool:
        """Have it from now on, alone or with others; False where another has it. Raises StorageError."""
        mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
        while self._descriptor is None:
            with _as_ours(self.path):
                descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, PRIVATE_FILE)
                try:
                    fcntl.flock(descriptor, mode)
                    if os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
                        self._descriptor = descriptor
                except BlockingIOError:
                    return False
                except FileNotFoundError:  # removed before it was locked
                    pass
                finally:
                    if self._descriptor is None:
                        os.close(descriptor)
        return True

    @property
    def is_taken(self) -> bool:
        """Whether this one has it."""
        return self._descriptor is not None

    def release(self) -> None:
        """Let go of it; safe to call twice."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def _as_ours(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise storage_error(fault, path) from fault


def storage_error(fault: OSError, path: Path) -> errors.StorageError:
    """The storage error for an OSError."""
    import errno

    kinds: dict[int, type[errors.StorageError]] = {
        errno.ENOSPC: errors.DiskFull,
        errno.EDQUOT: errors.DiskFull,
        errno.EROFS: errors.ReadOnly,
        errno.EACCES: errors.ReadOnly,
        errno.EPERM: errors.ReadOnly,
    }
    return kinds.get(fault.errno or 0, errors.StorageError)(path=str(path), reason=fault.strerror or str(fault))
