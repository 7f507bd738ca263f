"""``make mutate``: every break on a copy of the tree, with the tests that are to catch it.

python -m tests.mutate                  all of them, after the same tests have passed on what is not broken
python -m tests.mutate P11 "no vacuum"  those of a promise, or by name

Ends with code 1 when a break lives, when its text does not stand exactly once, or when its tests cannot be run.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutate.breaks import Break
from tests.mutate.breaks_of_asking import OF_ASKING
from tests.mutate.breaks_of_knowing import OF_KNOWING
from tests.mutate.breaks_of_past import OF_PAST
from tests.mutate.breaks_of_storage import OF_STORAGE
from tests.mutate.breaks_of_talk import OF_TALK

BREAKS = sorted(
    (*OF_STORAGE, *OF_KNOWING, *OF_TALK, *OF_ASKING, *OF_PAST),
    key=lambda one: (len(one.promise), one.promise),
)
ROOT = Path(__file__).resolve().parents[2]
#: Seconds for the tests of one break. A break that makes the program wait for ever is caught by them.
_PATIENCE = 240
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """What became of a break. ``said`` names the test that caught it, or why it lives."""

    broken: Break
    caught: bool
    said: str


def main(wanted: Sequence[str]) -> int:
    """Try the breaks that are wanted, all without any; the exit code."""
    chosen = [one for one in BREAKS if not wanted or one.name in wanted or one.promise in wanted]
    if not chosen:
        print(
            f"No break is called {' or '.join(wanted)}. Named are promises (P1) and breaks as they are listed."
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        tree = Path(folder, "tree")
        copy_tree(tree)
        if trouble := _passing(tree, {test for one in chosen for test in one.tests}):
            print(f"The tests do not pass before anything is broken: {trouble}")
            return 1
        alive = 0
        for one in chosen:
            verdict = attempt(one, tree)
            alive += not verdict.caught
            print(f"{one.promise:<10} {one.name:<58} {verdict.said}", flush=True)
    print(f"{len(chosen)} breaks, {alive} alive")
    return 1 if alive else 0


def copy_tree(tree: Path) -> None:
    """Copy what belongs to the program, and nothing that it wrote."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)


def attempt(broken: Break, tree: Path) -> Verdict:
    """Break a copy, run the tests, mend it."""
    path = tree / broken.file
    whole = path.read_text(encoding="utf-8")
    if whole.count(broken.old) != 1:
        return Verdict(broken, False, f"ALIVE: its text stands {whole.count(broken.old)} times")
    path.write_text(whole.replace(broken.old, broken.new), encoding="utf-8")
    try:
        code, out = _tests(tree, broken.tests)
    finally:
        path.write_text(whole, encoding="utf-8")
    failed = _FAILED.findall(out)
    if code is None:
        return Verdict(broken, True, "caught: the tests never ended")
    if code == 1 and failed:
        return Verdict(broken, True, f"caught by {failed[0].split('::')[-1]}")
    return Verdict(broken, False, "ALIVE" if code == 0 else f"ALIVE: pytest ended with code {code}")


def _passing(tree: Path, tests: Iterable[str]) -> str:
    """Why these tests do not pass; "" when they do."""
    code, out = _tests(tree, sorted(tests))
    return "" if code == 0 else " ".join(_FAILED.findall(out)) or f"pytest ended with code {code}"


def _tests(tree: Path, tests: Sequence[str]) -> tuple[int | None, str]:
    """The exit code and the output of pytest; None when it was given up."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command, cwd=tree, env=environment, text=True, errors="replace", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            out = process.communicate(timeout=_PATIENCE * max(1, len(tests) // 4))[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]
        return process.returncode, out


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
