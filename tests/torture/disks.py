"""Disks that are full, read-only or failing: one clear error, nothing damaged, and all is well when the disk is."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import errors
from tests.torture.kills import ROOT, Tried, _contents, _scene, _unsound, scene_process
from tests.torture.scene import TYPED, Stage

_SIZE_KB = 1_024


def prepared(folder: Path) -> None:
    """A folder in which a few rounds were said."""
    scene_process(
        [
            "-c",
            f"from tests.torture import scene; from pathlib import Path;"
            f" scene.prepare(Path({str(folder)!r}), 'round')",
        ]
    )


@contextmanager
def small_disk(scratch: Path) -> Iterator[Path | None]:
    """A disk in memory of one megabyte; None where this machine lets nobody mount one."""
    disk = scratch / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE_KB}k", "tmpfs", str(disk)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def full(step_kb: int = 12) -> Tried:
    """Say something with less and less room, until there is none."""
    tried = Tried("full disk")
    with tempfile.TemporaryDirectory(prefix="full-") as scratch:
        base = Path(scratch, "base")
        prepared(base)
        for room in range(0, 240, step_kb):
            Path(scratch, str(room)).mkdir()
            with small_disk(Path(scratch, str(room))) as disk:
                if disk is None:
                    tried.scene += " (not tried: mounting is not allowed here)"
                    return tried
                tried.points += 1
                tried.violations += [f"with {room} kB left: {what}" for what in _full_once(base, disk, room)]
    return tried


def _full_once(base: Path, disk: Path, room: int) -> Iterator[str]:
    folder = disk / "home"
    shutil.copytree(base, folder)
    stage = Stage(folder)
    before = _contents(stage)
    ballast = disk / "ballast"
    free = shutil.disk_usage(disk).free
    ballast.write_bytes(bytes(max(0, free - room * 1024)))
    stored = False
    try:
        stage.say(TYPED)
        stored = True
    except errors.DiskFull:
        pass
    except errors.OldFriendError as error:
        yield f"said {error}"
    ballast.unlink()
    yield from _unsound(stage)
    after = _contents(stage)
    if not stored and after["turns"] != before["turns"]:
        yield "a round that failed is there"
    if not stored:
        stage.say(TYPED)
    if [row for row in _contents(stage)["turns"] if TYPED in row[2] and row[1] == "user"].__len__() != 1:
        yield "the round is not there once"
    stage.close()


def read_only() -> Tried:
    """A disk that may not be written is refused in one line, and not touched."""
    tried = Tried("read-only disk")
    with tempfile.TemporaryDirectory(prefix="ro-") as scratch, small_disk(Path(scratch)) as disk:
        if disk is None:
            tried.scene += " (not tried: mounting is not allowed here)"
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
    with tempfile.TemporaryDirectory(prefix="eio-") as scratch:
        base = Path(scratch, "base")
        prepared(base)
        for point in range(1, most):
            folder = Path(scratch, "try")
            shutil.copytree(base, folder)
            inject = ["-e", "trace=fsync,fdatasync", "-e", f"inject=fsync,fdatasync:error=EIO:when={point}"]
            done = subprocess.run(
                ["strace", "-f", "-qq", "-o", str(folder / "trace"), *inject, *_scene("round", folder)],
                cwd=ROOT,
                capture_output=True,
                check=False,
            )
            hit = "(INJECTED)" in (folder / "trace").read_text(encoding="utf-8", errors="replace")
            if hit:
                tried.points += 1
                tried.violations += [
                    f"fsync {point}: {what}" for what in _failing_once(folder, b"kept" in done.stdout)
                ]
            shutil.rmtree(folder)
            if not hit:
                break
    return tried


def _failing_once(folder: Path, kept: bool) -> Iterator[str]:
    stage = Stage(folder)
    yield from _unsound(stage)
    stored = sum(TYPED in row[2] and row[1] == "user" for row in _contents(stage)["turns"])
    if kept and stored != 1:
        yield "a round that was shown as kept is gone"
    if stored > 1:
        yield "a round is there twice"
    stage.close()
