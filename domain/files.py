"""Files that only their owner may read, and files that are always one complete version."""

from __future__ import annotations

import os
from pathlib import Path

from domain import errors

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def make_private(path: Path) -> None:
    """Create ``path`` for its owner only, or narrow it to that, whatever the umask."""
    with _as_ours(path):
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            os.fchmod(descriptor, PRIVATE_FILE)
        finally:
            os.close(descriptor)


def make_private_folder(path: Path) -> None:
    """Create a folder (and its parents) for its owner only, or narrow it to that."""
    with _as_ours(path):
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        path.chmod(PRIVATE_FOLDER)


def replace_file(path: Path, content: bytes) -> None:
    """Put ``content`` in place of ``path`` so that a reader, or a power cut, meets the old or the new, whole."""
    temporary = path.with_name(f".{path.name}.new")
    with _as_ours(path):
        try:
            descriptor = os.open(
                temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE
            )
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
    """Give a finished file its name, for good."""
    with _as_ours(path):
        os.replace(made, path)
        sync_folder(path.parent)


def read_start(path: Path, count: int) -> bytes:
    """The first ``count`` bytes of a file, or as many as it has."""
    with _as_ours(path), path.open("rb") as file:
        return file.read(count)


def write_file(path: Path, content: bytes) -> None:
    """Make this the content of a file that has no name of its own yet, for good."""
    with _as_ours(path), path.open("r+b") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _as_ours:
    """Faults of the file system as ours."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if isinstance(fault, OSError):
            raise storage_error(fault, self._path) from fault


def storage_error(fault: OSError, path: Path) -> errors.StorageError:
    """The storage error that says what an OSError means."""
    import errno

    kinds: dict[int, type[errors.StorageError]] = {
        errno.ENOSPC: errors.DiskFull,
        errno.EDQUOT: errors.DiskFull,
        errno.EROFS: errors.ReadOnly,
        errno.EACCES: errors.ReadOnly,
        errno.EPERM: errors.ReadOnly,
    }
    return kinds.get(fault.errno or 0, errors.StorageError)(
        path=str(path), reason=fault.strerror or str(fault)
    )
