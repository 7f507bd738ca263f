"""Power cuts: what a disk may hold when the current goes, at every system call of a round, or of requests to a server.

It is played once under strace; its writes are then played again onto copies of the files. At each cut a file holds
what was synced for certain, and of the writes since then nothing, everything, or any part: a disk owes no order to what
was not synced. The database must open whole each time, and hold what was said as soon as the program said that it is
kept.
"""

from __future__ import annotations

import logging
import random
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from domain import errors
from storage.sqlite.database import SqliteDatabase
from tests.torture.kills import NO_STRACE, ROOT, Tried, prepared, scene_command, scratch
from tests.torture.scene import TYPED
from tests.torture.traces import FORM, Call, calls

_PLAYED = ("pwrite64", "write", "ftruncate", "fsync", "fdatasync")
#: Change files as well, but are not played here: the database uses none of them on its files.
_NOT_PLAYED = (
    "writev", "pwritev", "pwritev2", "truncate", "fallocate", "sendfile", "copy_file_range",
    "unlink", "unlinkat", "rename", "renameat", "renameat2",
)  # fmt: skip
_STDOUT = ("stdout",)
_DATABASE = ("memory.db", "memory.db-journal", "memory.db-wal")


@dataclass
class Disk:
    """One file: what is certain, and the writes that are not."""

    synced: bytes
    pending: list[tuple[int, bytes]] = field(default_factory=list)

    def write(self, at: int, data: bytes) -> None:
        """Bytes at a place; a length of -1 as data means: cut here."""
        self.pending.append((at, data))

    def sync(self) -> None:
        """Everything is certain now."""
        self.synced = self.after(self.pending)
        self.pending = []

    def after(self, writes: list[tuple[int, bytes]]) -> bytes:
        """The content when these of the uncertain writes arrived."""
        content = bytearray(self.synced)
        for at, data in writes:
            if data is _CUT:
                del content[at:]
                content.extend(bytes(at - len(content)))
            else:
                content.extend(bytes(max(0, at - len(content))))
                content[at : at + len(data)] = data
        return bytes(content)


_CUT = b"cut"


@dataclass(frozen=True)
class Played:
    """What is played once: the folder before it, the command that plays it, and what it writes on its standard output
    once a text is kept for certain.
    """

    name: str
    prepare: Callable[[Path], object]
    command: Callable[[Path], list[str]]
    keeps: Mapping[str, str]


ROUND = Played("power cut", prepared, partial(scene_command, "turn"), {"kept": TYPED})


def every_cut(seeds: int = 3, played: Played = ROUND, stride: int = 1) -> Tried:
    """Cut the power at every ``stride``-th system call of one round, or of what else is played."""
    tried = Tried(played.name)
    if shutil.which("strace") is None:
        tried.skipped = NO_STRACE
        return tried
    with scratch("power") as where:
        base, folder, cut = Path(where, "base"), Path(where, "played"), Path(where, "cut")
        played.prepare(base)
        shutil.copytree(base, folder)
        disks = {name: Disk(_read(base / "data" / name)) for name in _DATABASE}
        kept: list[str] = []
        judged = set[tuple[object, ...]]()  # what a disk held, and what had to be there: the same is judged once
        for number, call in enumerate(_trace(played.command(folder), Path(where, "strace"))):
            said = _apply(call, disks)
            kept += [text for told, text in played.keeps.items() if told == said]
            for seed in range(seeds) if number % stride == 0 or call.files == _STDOUT else ():
                tried.points += 1
                chance = random.Random(number * seeds + seed) if seed > 1 else None
                held = _after_the_cut(disks, chance, everything=seed == 1)
                if (state := (*held.items(), *kept)) in judged:
                    continue
                judged.add(state)
                cut.mkdir()
                for name, content in held.items():
                    (cut / name).write_bytes(content)
                found = _judge(cut, played.keeps.values(), kept)
                tried.violations += [f"at call {number}, seed {seed}: {what}" for what in found]
                shutil.rmtree(cut)
        if len(kept) != len(played.keeps):
            tried.violations.append(f"the program said of {kept} alone that it was kept, so nothing was shown")
    return tried


def _trace(command: list[str], out: Path) -> Iterator[Call]:
    """The writes of a command, in their order."""
    watched = ["-o", str(out), "-e", f"trace={','.join((*_PLAYED, *_NOT_PLAYED))}"]
    subprocess.run(["strace", *FORM, *watched, *command], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    for call in calls(out.read_text(encoding="ascii", errors="replace").splitlines()):
        if call.name in _PLAYED:
            yield call
        elif not set(_DATABASE).isdisjoint(call.files):
            raise ValueError(f"{call.name} of {call.files} is not played")


def _apply(call: Call, disks: Mapping[str, Disk]) -> str:
    """Do one write; what the program said by it, if it said anything."""
    if call.files == _STDOUT:
        return call.data.decode()
    disk = disks.get(call.files[0])
    if disk is None:
        return ""
    if call.name in ("fsync", "fdatasync"):
        disk.sync()
    elif call.name == "ftruncate":
        disk.write(call.numbers[0], _CUT)
    else:
        _, at = call.numbers  # SQLite always says where
        disk.write(at, call.data)
    return ""


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _after_the_cut(disks: dict[str, Disk], chance: random.Random | None, *, everything: bool) -> dict[str, bytes]:
    held = {}
    for name, disk in disks.items():
        arrived = [write for write in disk.pending if everything or (chance and chance.random() < 0.5)]
        held[name] = disk.after(arrived)
    return held


def _judge(folder: Path, texts: Iterable[str], kept: Collection[str]) -> Iterator[str]:
    try:
        database = SqliteDatabase(folder / "memory.db", logging.Logger("quiet", logging.CRITICAL))
    except errors.OldFriendError as error:
        yield f"cannot be opened: {error}"
        return
    with closing(database):
        yield from database.problems()
        for text in texts:
            query = "SELECT count(*) FROM conversation WHERE role = 'user' AND text LIKE ?"
            times = database.run(query, f"%{text}%")[0][0]
            if times > 1 or (text in kept and times != 1):
                yield f"{text!r} is there {times} times, kept: {text in kept}"
