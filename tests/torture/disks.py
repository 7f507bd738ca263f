"""Disks that are full, read-only or failing: one clear error, nothing damaged, and all is well when the disk is."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from domain import errors
from tests.torture.judging import astray, remembered, unsound
from tests.torture.kills import NO_STRACE, ROOT, Tried, prepared, scene_command, scratch
from tests.torture.scene import TYPED, Stage

_SIZE_KB = 2_048
NO_MOUNT = "a small disk may not be mounted here"
#: Seconds in which an index that has room again is to have recovered.
_RECOVERY = 90


@contextmanager
def small_disk(where: Path) -> Iterator[Path | None]:
    """A small disk in a folder of its own."""
    disk = where / "disk"
    disk.mkdir()
    with mounted(disk) as there:
        yield there


@contextmanager
def mounted(disk: Path, size_kb: int = _SIZE_KB) -> Iterator[Path | None]:
    """A small disk in memory, at an empty folder; None where this machine does not let one be mounted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", str(disk)]
    allowed = shutil.which("mount") and not subprocess.run(command, check=False, capture_output=True).returncode
    if not allowed:
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


@contextmanager
def crowded(disk: Path, room_kb: int) -> Iterator[None]:
    """Fill a disk until ``room_kb`` are left, and give the room back afterwards.

    A program at work there may take some of the room while it is being filled; then less is left, down to none.
    """
    with tempfile.TemporaryFile(dir=disk, buffering=0) as ballast:
        with suppress(OSError):
            while (over := shutil.disk_usage(disk).free - room_kb * 1024) > 0:
                ballast.write(bytes(min(over, 1 << 20)))
        yield


def full(step_kb: int = 12) -> Tried:
    """Say something with less and less room, until there is none."""
    tried = Tried("full disk")
    with tempfile.TemporaryDirectory(prefix="full-") as where:
        base = Path(where, "base")
        prepared(base)
        for room in range(0, 240, step_kb):
            Path(where, str(room)).mkdir()
            with small_disk(Path(where, str(room))) as disk:
                if disk is None:
                    tried.skipped = NO_MOUNT
                    return tried
                tried.points += 1
                tried.violations += [f"with {room} kB left: {what}" for what in _full_once(base, disk, room)]
    return tried


def _full_once(base: Path, disk: Path, room: int) -> Iterator[str]:
    folder = disk / "home"
    shutil.copytree(base, folder)
    stage = Stage(folder)
    before = remembered(stage)
    stored = False
    with crowded(disk, room):
        try:
            stage.say(TYPED)
            stored = True
        except errors.DiskFull:
            pass
        except errors.OldFriendError as error:
            yield f"said {error}"
    yield from unsound(stage)
    after = remembered(stage)
    if not stored and after["turns"] != before["turns"]:
        yield "a round that failed is there"
    if not stored:
        stage.say(TYPED)
    if [row for row in remembered(stage)["turns"] if TYPED in row[2] and row[1] == "user"].__len__() != 1:
        yield "the round is not there once"
    stage.close()


def full_below_the_index(rooms_kb: Sequence[int] = (0, 4, 8, 16, 24, 40, 64, 96)) -> Tried:
    """Say things while the disk below the vectors, and only that one, has less and less room, or none."""
    tried = Tried("full disk below the index")
    with tempfile.TemporaryDirectory(prefix="index-full-") as where:
        for room in rooms_kb:
            folder = Path(where, f"home-{room}")
            prepared(folder)
            vectors = folder / "data" / "vectors"
            moved = vectors.rename(Path(where, f"vectors-{room}"))
            vectors.mkdir()
            with mounted(vectors) as disk:
                if disk is None:
                    tried.skipped = NO_MOUNT
                    return tried
                shutil.copytree(moved, disk, dirs_exist_ok=True)
                tried.points += 1
                tried.violations += [f"with {room} kB left: {what}" for what in _index_full_once(folder, disk, room)]
    return tried


def _index_full_once(folder: Path, disk: Path, room: int) -> Iterator[str]:
    """The conversation goes on and is kept; with room again the index holds everything."""
    stage = Stage(folder, index=True)
    said = [TYPED, "He keeps bees.", "The bees are black.", "They winter in the attic."]
    with crowded(disk, room):
        for line in said:
            try:
                stage.say(line)
            except errors.OldFriendError as error:
                yield f"said {error}"
            stage.memory.index.settle(20)
    yield from unsound(stage)
    stored = [row[2] for row in remembered(stage)["turns"] if row[1] == "user"]
    yield from (f"{line!r} is there {n} times" for line in said if (n := sum(line in row for row in stored)) != 1)
    until = time.monotonic() + _RECOVERY
    while not stage.memory.index.settle(20) and time.monotonic() < until:
        time.sleep(0.1)
    yield from astray(stage)
    stage.close()


def read_only() -> Tried:
    """A disk that may not be written is refused in one line, and not touched."""
    tried = Tried("read-only disk")
    with tempfile.TemporaryDirectory(prefix="ro-") as where, small_disk(Path(where)) as disk:
        if disk is None:
            tried.skipped = NO_MOUNT
            return tried
        prepared(disk / "home")
        before = (disk / "home" / "data" / "memory.db").read_bytes()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        tried.points += 1
        try:
            Stage(disk / "home").close()
            tried.violations.append("it was opened")
        except errors.ReadOnly:
            pass
        except errors.OldFriendError as error:
            tried.violations.append(f"said {error}")
        if (disk / "home" / "data" / "memory.db").read_bytes() != before:
            tried.violations.append("the database was touched")
    return tried


def failing(most: int = 60) -> Tried:
    """A disk that answers EIO to the Nth fsync of a round, for every N."""
    tried = Tried("EIO on fsync")
    if shutil.which("strace") is None:
        tried.skipped = NO_STRACE
        return tried
    with scratch("eio") as where:
        base = Path(where, "base")
        prepared(base)
        for point in range(1, most):
            folder = Path(where, "try")
            shutil.copytree(base, folder)
            inject = ["-e", "trace=fsync,fdatasync", "-e", f"inject=fsync,fdatasync:error=EIO:when={point}"]
            done = subprocess.run(
                ["strace", "-f", "-qq", "-o", str(folder / "trace"), *inject, *scene_command("turn", folder)],
                cwd=ROOT,
                capture_output=True,
                check=False,
            )
            hit = "(INJECTED)" in (folder / "trace").read_text(encoding="utf-8", errors="replace")
            if hit:
                tried.points += 1
                tried.violations += [f"fsync {point}: {what}" for what in _failing_once(folder, b"kept" in done.stdout)]
            shutil.rmtree(folder)
            if not hit:
                break
    return tried


def _failing_once(folder: Path, kept: bool) -> Iterator[str]:
    stage = Stage(folder)
    yield from unsound(stage)
    stored = sum(TYPED in row[2] and row[1] == "user" for row in remembered(stage)["turns"])
    if kept and stored != 1:
        yield "a round that was shown as kept is gone"
    if stored > 1:
        yield "a round is there twice"
    stage.close()
