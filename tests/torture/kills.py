"""``kill -9`` at every system call that writes: before the first one, the second, the third, until the scene passes.

After each kill the folder is opened again, and what was promised is checked; what can go on (a fold, a ``/save``, an
erasure) goes on and must end as the undisturbed scene did, row by row.

A kill leaves what lies in the folder at that moment and nothing else. So a scene is played once, its folder is copied
before each of its writes, and each state is judged once: as long as a transaction is not committed, what a kill leaves
is the same to the byte, once SQLite has rolled it back. At some of the points, with ``EVERY=1`` at all of them, a
process is really killed, since only that shows that it leaves no more than the copy does.

python -m tests.torture.kills SCENE FIRST STRIDE      some kill points of a scene, told as JSON
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from storage import erasure
from tests.support.warm import OF_PYTHON, Piped
from tests.torture import judging, scene, stops

ROOT = Path(__file__).resolve().parents[2]
#: A scene writes less often than this; more means that the count never ends.
_MOST = 10_000
_TOLD = "told: "
#: Plays a module, which its first argument names, with the others.
_AS_MODULE = "import runpy, sys; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
#: Bytes that a few copies of a small memory need.
_ROOM = 40_000_000
#: At every so-manieth point a process is really killed.
_REALLY = 16
#: A thread that was let go writes once more at the most: a copy that it disturbed is made again.
_COPIES = 5
NO_STRACE = "strace is not installed"


@dataclass
class Tried:
    """What a trial came to. ``skipped`` says why it could not be tried here."""

    scene: str
    points: int = 0
    violations: list[str] = field(default_factory=list)
    skipped: str = ""


@dataclass(frozen=True)
class Scene:
    """What is played on a folder that was prepared, and what is judged after a kill.

    ``contents`` is what lies there; ``judge`` is given that of before, and that of an end that nothing disturbed.
    ``alone``: what lies in the folder is all that is judged, so that a copy of it can be.
    """

    name: str
    prepare: Callable[[Path], object]
    play: Callable[[Path], object]
    contents: Callable[[Path], Any]
    judge: Callable[[Path, Any, Any], Iterable[str]]
    alone: bool = True


def every_point(name: str, first: int = 1, stride: int = 1, module: str = "tests.torture.kills") -> Tried:
    """Kill one scene before every ``stride``-th write from the ``first`` on, until it passes.

    It is done by a process of its own, which loads everything once and is then forked for each trial.
    """
    code, out, err = _ran(_AS_MODULE, module, name, str(first), str(stride))
    told = [line for line in out.splitlines() if line.startswith(_TOLD)]
    if code or not told:
        said = " | ".join(err.strip().splitlines()[-3:])
        return Tried(name, 0, [f"the trial broke off with code {code}: {said}"])
    return Tried(**json.loads(told[-1].removeprefix(_TOLD)))


def scratch(name: str) -> tempfile.TemporaryDirectory[str]:
    """A folder for trials, in memory where there is room: a killed process leaves the same on any disk."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOM
    return tempfile.TemporaryDirectory(prefix=f"{name}-", dir=memory if roomy else None)


def scene_process(program: str, *arguments: str) -> None:
    """Run a part of a scene undisturbed."""
    code, _, err = _ran(program, *arguments)
    assert code == 0, err


def prepared(folder: Path) -> None:
    """A folder in which a few rounds were said."""
    scene_process(
        "import pathlib, sys; from tests.torture import scene; scene.prepare(pathlib.Path(sys.argv[1]), 'turn')",
        str(folder),
    )


def _ran(program: str, *arguments: str) -> tuple[int, str, str]:
    """Run a program in a process of its own to its end: its exit code, and what it wrote on both streams."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | OF_PYTHON
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Piped([sys.executable, "-c", program, *arguments], cwd=ROOT, env=environment, **pipes) as process:
        out, err = process.communicate()
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def scene_command(name: str, folder: Path) -> list[str]:
    """The command that plays a scene by itself."""
    return [*_python(), "-m", "tests.torture.scene", name, str(folder)]


def _python() -> list[str]:
    return [sys.executable, "-B", "-W", "ignore"]


def print_points(trial: Callable[[int, int], Tried], first: int, stride: int) -> None:
    """What the process of its own does: try, and print what that showed."""
    _load_everything()
    print(_TOLD + json.dumps(asdict(trial(first, stride))))


def tell_points(played: Scene, first: int, stride: int) -> None:
    """The same for a scene that is stopped at its writes."""
    print_points(partial(_some_points, played), first, stride)


def _some_points(played: Scene, first: int, stride: int) -> Tried:
    name = played.name
    if why := stops.why_not():
        return Tried(name, skipped=why)
    tried = Tried(name)
    with scratch("kill") as where:
        base, after, folder = (Path(where, part) for part in ("base", "after", "try"))
        run_apart(partial(played.prepare, base))
        shutil.copytree(base, after)
        whole = stops.run(partial(played.play, after), 0, after)
        if whole.fault:
            return Tried(name, 0, [f"undisturbed it {whole.fault}"])
        wanted = run_apart(partial(played.contents, after))
        before = run_apart(partial(played.contents, base))
        _load(run_apart(partial(_used, played, shutil.copytree(base, folder), before, wanted)))
        shutil.rmtree(folder)
        judged = partial(_judged, played, before=before, wanted=wanted)
        really = int(os.environ.get("EVERY", _REALLY)) if played.alone else 1
        for point in range(first, _MOST if really == 1 else whole.calls, stride * really):
            shutil.copytree(base, folder)
            ended = stops.run(partial(played.play, folder), point, folder)
            if ended.fault:
                tried.violations.append(f"{name} at {point}: the scene {ended.fault}")
            elif ended.at:
                tried.points += 1
                tried.violations += [f"{name} at {ended.at} {point}: {what}" for what in _apart(judged, folder)]
            shutil.rmtree(folder)
            if not ended.at:
                break
        else:
            if really == 1:
                tried.violations.append(f"{name} was still writing after {_MOST} calls")
        if really > 1:
            shutil.copytree(base, folder)
            states = States(folder, Path(where, "states"), first, stride)
            if fault := stops.run(partial(played.play, folder), 0, folder, states.look).fault:
                tried.violations.append(f"{name}, copied before its writes, {fault}")
            tried.points = states.points
            for state, at in states.found.values():
                tried.violations += [f"{name} before {at}: {what}" for what in _apart(judged, state)]
                shutil.rmtree(state)
    return tried


class States:
    """What a kill would leave before every ``stride``-th write, from the ``first`` on; each state once."""

    def __init__(self, folder: Path, where: Path, first: int, stride: int) -> None:
        self._folder, self._where, self._first, self._stride = folder, where, first, stride
        self.points = 0
        #: A copy of each state, and the first write before which it was found.
        self.found: dict[bytes, tuple[Path, str]] = {}

    def look(self, number: int, call: str) -> None:
        """Copy the folder, unless it is as it was at another point."""
        if number < self._first or (number - self._first) % self._stride:
            return
        self.points += 1
        copy = self._where / str(len(self.found))
        for again in range(_COPIES, 0, -1):
            try:
                shutil.copytree(self._folder, copy)
                break
            except OSError:
                if again == 1:
                    raise
                shutil.rmtree(copy)
        state = fingerprint(copy)
        if state in self.found:
            shutil.rmtree(copy)
        else:
            self.found[state] = copy, f"{call} {number}"


def fingerprint(folder: Path) -> bytes:
    """What lies in a folder, once a transaction that was not committed is rolled back.

    Of a log that counts which file of it holds what is to be erased: nothing else of it is judged.
    """
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        if path.suffix == ".log":
            data = b" ".join(needle for needle in erasure.forms(scene.MARKER).values() if needle in data)
        elif path.name == "memory.db-journal":
            data = b""
        elif path.name == "memory.db":
            data = _rolled_back(path)
        found.update(f"{path.relative_to(folder)} {path.stat().st_mode} {len(data)} ".encode() + data)
    return found.digest()


def _rolled_back(database: Path) -> bytes:
    journal = database.with_name(f"{database.name}-journal")
    if not journal.exists() or not journal.stat().st_size:
        return database.read_bytes()
    with tempfile.TemporaryDirectory(dir=database.parent.parent.parent) as where:
        for path in (database, journal):
            shutil.copy(path, where)
        copy = Path(where, database.name)
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return copy.read_bytes()


def _apart(judged: Callable[[Path], list[str]], folder: Path) -> list[str]:
    return list(run_apart(partial(judged, folder)))


def _judged(played: Scene, folder: Path, before: Any, wanted: Any) -> list[str]:
    try:
        return list(played.judge(folder, before, wanted))
    except Exception as fault:
        return [f"opened again it broke: {fault!r}"]


def _used(played: Scene, folder: Path, before: Any, wanted: Any) -> list[str]:
    """The modules that are loaded once this scene was played and judged, in the order in which they were loaded."""
    played.play(folder)
    _judged(played, folder, before, wanted)
    return list(sys.modules)


def _load(names: Iterable[str]) -> None:
    """Import now what each trial would have to import: that takes longer than the trial."""
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


def _of_the_house(name: str) -> Scene:
    """A scene of the house without http_clients."""
    return Scene(
        name,
        prepare=partial(scene.prepare, scene=name),
        play=partial(scene.play, name),
        contents=judging.contents,
        judge=partial(judging.judge, name),
    )


def run_apart(work: Callable[[], Any]) -> Any:
    """Do something in a fork, so that no thread of it is left here; what took too long or died is a violation."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            signal.alarm(stops.PATIENCE)
            result = pickle.dumps(work())
            with open(writing, "wb") as pipe:
                pipe.write(result)
            os._exit(0)
        os._exit(1)
    os.close(writing)
    with open(reading, "rb") as pipe:
        result = pipe.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(result) if not status else [f"opened again it {stops.said(status)}"]


def _load_everything() -> None:
    """Import now what each trial would have to import; none of it starts a thread that a fork would miss."""
    warnings.simplefilter("ignore")
    import lancedb
    import numpy
    import pyarrow

    del lancedb, numpy, pyarrow


if __name__ == "__main__":
    tell_points(_of_the_house(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
