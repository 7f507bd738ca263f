"""``kill -9`` at every system call that writes: for each of them the Nth one, then the next, until the scene passes.

    strace -e inject=SYSCALL:signal=KILL:when=N

strace counts each system call for itself, and each thread for itself; so each is gone through alone, and the scenes
write from one thread.

After each kill the folder is opened again, and what was promised is checked; what can go on (a fold, a ``/save``, an
erasure) goes on and must end as the undisturbed scene did, row by row.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import errors
from storage import migrations, proof
from tests.torture import scene
from tests.torture.scene import MARKER, TYPED, Stage

ROOT = Path(__file__).resolve().parents[2]
WRITES = (
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "fsync",
    "fdatasync",
    "ftruncate",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "link",
    "linkat",
    "copy_file_range",
    "sendfile",
    "fallocate",
)
#: A scene has fewer writes of a kind than this; more means that the count never ends.
_MOST = 5_000


@dataclass
class Tried:
    """What one scene came to."""

    scene: str
    points: int = 0
    violations: list[str] = field(default_factory=list)


def every_point(name: str, stride: int = 1) -> Tried:
    """Kill one scene at every ``stride``-th write of every kind, until it passes."""
    tried = Tried(name)
    with tempfile.TemporaryDirectory(prefix="kill-") as scratch:
        base, after = Path(scratch, "base"), Path(scratch, "after")
        scene_process(
            [
                "-c",
                f"from tests.torture import scene; from pathlib import Path;"
                f" scene.prepare(Path({str(base)!r}), {name!r})",
            ]
        )
        shutil.copytree(base, after)
        used = calls_of(name, after)
        before = contents(base)
        # What a later step has taken is refused by this program, and is judged by itself.
        wanted = {} if name == "migration" else contents(after)
        for call in used:
            for point in range(1, _MOST, stride):
                folder = Path(scratch, "try")
                shutil.copytree(base, folder)
                killed = kill_at(name, folder, call, point)
                if killed:
                    tried.points += 1
                    found = judge(name, folder, before, wanted)
                    tried.violations += [f"{name} at {call} {point}: {what}" for what in found]
                shutil.rmtree(folder)
                if not killed:
                    break
    return tried


def calls_of(name: str, folder: Path) -> list[str]:
    """Play a scene undisturbed; which of the writing system calls it makes."""
    trace = folder.with_name("trace")
    command = ["strace", "-f", "-qq", "-o", str(trace), "-e", f"trace={','.join(WRITES)}"]
    subprocess.run([*command, *_scene(name, folder)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    lines = trace.read_text(encoding="utf-8", errors="replace")
    return [call for call in WRITES if f" {call}(" in lines]


def _scene(name: str, folder: Path) -> list[str]:
    return [sys.executable, "-B", "-W", "ignore", "-m", "tests.torture.scene", name, str(folder)]


def scene_process(arguments: list[str]) -> None:
    """Run a part of the scene undisturbed."""
    subprocess.run(
        [sys.executable, "-B", "-W", "ignore", *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )


def kill_at(name: str, folder: Path, call: str, point: int) -> bool:
    """Play a scene and kill it at one write; false when it came to its end before that."""
    command = [
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:signal=KILL:when={point}",
    ]
    done = subprocess.run(
        [*command, *_scene(name, folder)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode != 0


Contents = dict[str, list[tuple[Any, ...]]]


def contents(folder: Path) -> Contents:
    """Everything that is remembered, without ids and times, in a form that can be compared."""
    stage = Stage(folder)
    try:
        return _contents(stage)
    finally:
        stage.close()


def _contents(stage: Stage) -> Contents:
    read = stage.memory.database.read
    queries = {
        "sessions": "SELECT number, status, end_timestamp IS NULL, current_conv_count FROM session ORDER BY number",
        "turns": "SELECT s.number, c.role, c.text, c.round, c.finish, c.folded FROM conversation c"
        " JOIN session s USING (session_id) ORDER BY s.number, c.round, c.role DESC",
        "summaries": "SELECT s.number, m.summary, m.upto_round FROM summary m JOIN session s USING (session_id)"
        " ORDER BY s.number",
        "images": "SELECT image, text, origin FROM persona ORDER BY image, version",
        "in flight": "SELECT text FROM in_flight",
        "stages": "SELECT count(*) FROM save_stage",
        "words": "SELECT tokens FROM turn_words ORDER BY tokens",
        "summary words": "SELECT tokens FROM summary_words ORDER BY tokens",
    }
    found = {name: [tuple(row) for row in read(query)] for name, query in queries.items()}
    found["files"] = [(stage.memory.persona.read(image),) for image in ("self", "user")]
    return found


def judge(name: str, folder: Path, before: Contents, wanted: Contents) -> Iterator[str]:
    """What was promised and does not hold after a kill."""
    if name == "migration":
        yield from _judge_migration(folder, before)
        return
    try:
        stage = Stage(folder, index=name == "erase")
    except errors.OldFriendError as error:
        yield f"cannot be opened: {error}"
        return
    try:
        yield from _unsound(stage)
        yield from JUDGES[name](stage, before, wanted)
    finally:
        stage.close()


def _unsound(stage: Stage) -> Iterator[str]:
    """What must hold at any moment."""
    yield from stage.memory.database.problems()
    read = stage.memory.database.read
    never = {
        "a round with half its turns": "SELECT 1 FROM conversation GROUP BY session_id, round HAVING count(*) <> 2",
        "a wrong count": "SELECT 1 FROM session s WHERE current_conv_count <> (SELECT count(*) FROM conversation c"
        " WHERE c.session_id = s.session_id AND role = 'user' AND folded = 0)",
        "a turn that words cannot find": "SELECT 1 FROM conversation"
        " WHERE seq NOT IN (SELECT rowid FROM turn_words)",
        "words of no turn": "SELECT 1 FROM turn_words WHERE rowid NOT IN (SELECT seq FROM conversation)",
        "a turn without vector and not waiting for one": "SELECT 1 FROM conversation"
        " WHERE text_id NOT IN (SELECT text_id FROM pending)"
        " AND text_id NOT IN (SELECT text_id FROM embedding)",
        "more or less than one active session": "SELECT 1 FROM (SELECT count(*) AS n FROM session"
        " WHERE status = 'active') WHERE n <> 1",
    }
    yield from (what for what, query in never.items() if read(query))


def _judge_round(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """All of it or nothing, and then it can be said again from what is in flight."""
    found = _contents(stage)
    stored = any(TYPED in row[2] for row in found["turns"])
    kept = [row[:4] for row in before["turns"]]
    if [row[:4] for row in found["turns"]][: len(kept)] != kept:
        yield "an older round has changed"
    if not stored:
        flying = stage.memory.in_flight()
        if flying is not None and flying.text != TYPED:
            yield f"{flying.text!r} is offered"
        stage.say(TYPED)
    else:
        if stage.memory.in_flight() is not None:
            yield "a stored round is offered again"
        stage.talk.fold_now()
    yield from _different(stage, wanted)


def _judge_save(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """Nothing yet or everything; what was interrupted goes on and ends as if it had not been."""
    if _contents(stage)["turns"] not in (before["turns"], wanted["turns"]):
        yield "half archived"
    if stage.memory.sessions.rounds(stage.talk.session.session_id):
        stage.save()
    yield from _different(stage, wanted)


def _judge_reset(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    if _contents(stage)["turns"] not in (before["turns"], wanted["turns"]):
        yield "half cleared"
    stage.talk.reset()
    yield from _different(stage, wanted)


def _judge_erase(stage: Stage, before: Contents, wanted: Contents) -> Iterator[str]:
    """Once a turn is gone, finishing leaves it in no file; until then all is there."""
    gone = not any(MARKER in row[2] for row in _contents(stage)["turns"])
    if not gone:
        if _contents(stage)["turns"] != before["turns"]:
            yield "half erased"
        stage.erase()
    stage.memory.finish_erasing()
    folders = [stage.settings.data_dir, stage.settings.log_dir]
    yield from (
        f"{trace.path.name} holds it as {trace.form}" for trace in proof.traces(folders, proof.forms(MARKER))
    )
    if _contents(stage)["turns"] != wanted["turns"]:
        yield "other turns are not what they were"


def _judge_migration(folder: Path, before: Contents) -> Iterator[str]:
    steps = migrations.STEPS
    migrations.STEPS = (steps[0], scene.LATER_STEP)
    try:
        stage = Stage(folder)
        if stage.memory.database.read("SELECT x FROM later")[0][0] != "taken":
            yield "the step was not taken"
        yield from _unsound(stage)
        found = _contents(stage)
        if any(found[name] != before[name] for name in before):
            yield "something was lost"
        stage.close()
    except errors.OldFriendError as error:
        yield f"cannot be opened: {error}"
    finally:
        migrations.STEPS = steps


def _different(stage: Stage, wanted: Contents) -> Iterator[str]:
    found = _contents(stage)
    yield from (
        f"{name} differ: {found[name]!r} for {wanted[name]!r}"
        for name in wanted
        if found[name] != wanted[name]
    )


JUDGES: dict[str, Callable[[Stage, Contents, Contents], Iterator[str]]] = {
    "round": _judge_round,
    "fold": _judge_round,
    "save": _judge_save,
    "reset": _judge_reset,
    "erase": _judge_erase,
}
