"""Power cuts: what a disk may hold when the current goes, at every system call of a round.

A round is played once under strace; its writes are then played again onto copies of the files. At each cut a file holds
what was synced for certain, and of the writes since then nothing, everything, or any part: a disk owes no order to what
was not synced. The database must open whole each time, and hold the round as soon as the program said that it is kept.
"""

from __future__ import annotations

import logging
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from domain import errors
from storage.sqlite.database import Database
from tests.torture.kills import NO_STRACE, ROOT, Tried, scene_command, scene_process, scratch
from tests.torture.scene import TYPED

_CALLS = "pwrite64,write,ftruncate,fsync,fdatasync"
_LINE = re.compile(r"^\d+\s+(\w+)\((\d+)<([^>]*)>(?:, (.*))?\)\s+= (-?\d+)")
_ARGUMENTS = re.compile(r'^"((?:\\x[0-9a-f]{2})*)", (\d+)(?:, (\d+))?$')
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


def every_cut(seeds: int = 3) -> Tried:
    """Cut the power at every system call of one round."""
    tried = Tried("power cut")
    if shutil.which("strace") is None:
        tried.skipped = NO_STRACE
        return tried
    with scratch("power") as where:
        base, played = Path(where, "base"), Path(where, "played")
        scene_process(
            [
                "-c",
                f"from tests.torture import scene; from pathlib import Path;"
                f" scene.prepare(Path({str(base)!r}), 'turn')",
            ]
        )
        shutil.copytree(base, played)
        disks = {name: Disk(_read(base / "data" / name)) for name in _DATABASE}
        kept = False
        for number, line in enumerate(_trace(played)):
            kept = _apply(line, disks) or kept
            for seed in range(seeds):
                tried.points += 1
                cut = Path(where, "cut")
                _lay(
                    disks,
                    cut,
                    random.Random(number * seeds + seed) if seed > 1 else None,
                    everything=seed == 1,
                )
                tried.violations += [f"at call {number}, seed {seed}: {what}" for what in _judge(cut, kept)]
                shutil.rmtree(cut)
        if not kept:
            tried.violations.append("the program never said that its round was kept, so nothing was shown")
    return tried


def _trace(folder: Path) -> list[tuple[str, str, str]]:
    """The writes of a round: (call, file, arguments)."""
    out = folder.with_name("strace")
    command = ["strace", "-f", "-qq", "-y", "-xx", "-s", "2000000", "-o", str(out), "-e", f"trace={_CALLS}"]
    subprocess.run([*command, *scene_command("turn", folder)], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    found = []
    for line in out.read_text(encoding="ascii", errors="replace").splitlines():
        if (read := _LINE.match(line)) and int(read[5]) >= 0:
            name = (
                Path(_bytes(read[3]).decode("utf-8", "replace")).name
                if "\\x" in read[3]
                else Path(read[3]).name
            )
            found.append((read[1], name if read[2] != "1" else "stdout", read[4] or ""))
    return found


def _apply(line: tuple[str, str, str], disks: dict[str, Disk]) -> bool:
    """Do one write; true when it was the program saying that the round is kept."""
    call, name, arguments = line
    if name == "stdout":
        return "\\x6b\\x65\\x70\\x74" in arguments
    disk = disks.get(name)
    if disk is None:
        return False
    if call in ("fsync", "fdatasync"):
        disk.sync()
    elif call == "ftruncate":
        disk.write(int(arguments), _CUT)
    elif (given := _ARGUMENTS.match(arguments)) is not None:
        disk.write(int(given[3] or 0), _bytes(given[1]))
    return False


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _bytes(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))


def _lay(disks: dict[str, Disk], folder: Path, chance: random.Random | None, *, everything: bool) -> None:
    folder.mkdir()
    for name, disk in disks.items():
        arrived = [write for write in disk.pending if everything or (chance and chance.random() < 0.5)]
        (folder / name).write_bytes(disk.after(arrived))


def _judge(folder: Path, kept: bool) -> Iterator[str]:
    try:
        database = Database(folder / "memory.db", logging.Logger("quiet", logging.CRITICAL))
    except errors.OldFriendError as error:
        yield f"cannot be opened: {error}"
        return
    try:
        yield from database.problems()
        rounds = database.read("SELECT count(*) FROM conversation WHERE text LIKE ?", (f"User: {TYPED}%",))[
            0
        ][0]
        if kept and rounds != 1:
            yield "a round that was shown is gone"
    finally:
        database.close()
