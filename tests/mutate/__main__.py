"""``make mutate``: every break on a copy of the tree, with the tests that are to catch it.

python -m tests.mutate                    all of them, after the same tests have passed on what is not broken, then
                                          60 breaks of random lines that tests run
python -m tests.mutate P11 "no vacuum"    those of a promise, or by name, and no random ones
python -m tests.mutate --random 20 --seed 7 random
                                          20 random ones alone, the same as whenever that seed was named

Ends with code 1 when a break lives, when its text does not stand exactly once, or when nobody knows, since its tests
never ended or could not be run: a break is caught only by a test that fails.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom
from typing import Literal

from tests.mutate.breaks import Break
from tests.mutate.breaks_of_asking import OF_ASKING
from tests.mutate.breaks_of_evidence import OF_EVIDENCE
from tests.mutate.breaks_of_knowing import OF_KNOWING
from tests.mutate.breaks_of_past import OF_PAST
from tests.mutate.breaks_of_storage import OF_STORAGE
from tests.mutate.breaks_of_talk import OF_TALK
from tests.mutate.random_breaks import NotPassing, drawn, ended

BREAKS = sorted(
    (*OF_STORAGE, *OF_KNOWING, *OF_EVIDENCE, *OF_TALK, *OF_ASKING, *OF_PAST),
    key=lambda one: (len(one.promise), one.promise),
)
ROOT = Path(__file__).resolve().parents[2]
#: Seconds for the tests of one break. Tests that take longer have not said that anything is wrong.
_PATIENCE = 240
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """What became of a break. ``said`` names the test that caught it, or why it lives or nobody knows."""

    name: str
    promise: str
    outcome: Literal["caught", "alive", "unknown"]
    said: str


#: Runs tests in a tree: the exit code of pytest, None when it was given up, and what it printed.
RunTests = Callable[[Path, Sequence[str]], tuple[int | None, str]]


def main(given: Sequence[str]) -> int:
    """Try the breaks that are wanted, all and random ones without any; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutate")
    parser.add_argument("wanted", nargs="*", help='promises, names of breaks, or "random"')
    parser.add_argument("--random", type=int, default=60, help="how many random lines are broken")
    parser.add_argument("--seed", type=int, default=None, help="names the random lines")
    options = parser.parse_args(given)
    wanted = options.wanted
    chosen = [one for one in BREAKS if not wanted or one.name in wanted or one.promise in wanted]
    count = options.random if not wanted or "random" in wanted else 0
    if not chosen and not count:
        print(f"No break is called {' or '.join(wanted)}. Named are promises (P1) and breaks as they are listed.")
        return 1
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        tree = Path(folder, "tree")
        copy_tree(tree)
        if chosen and (trouble := _passing(tree, {test for one in chosen for test in one.tests})):
            print(f"The tests do not pass before anything is broken: {trouble}")
            return 1
        seed = SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
        if count:
            print(f"random lines of seed {seed}", flush=True)
        return told(_tried(chosen, count, Random(seed), tree))


def _tried(chosen: Iterable[Break], count: int, random: Random, tree: Path) -> Iterator[Verdict]:
    for one in chosen:
        yield attempt(one, tree)
    for drew in drawn(tree, count, random):
        if isinstance(drew, NotPassing):
            yield Verdict(f"before anything is broken: {drew}", "random", "unknown", "UNKNOWN")
        else:
            yield attempt(drew, tree)


def told(verdicts: Iterable[Verdict]) -> int:
    """Print what became of each break, and how many there were; the exit code."""
    outcomes = []
    for one in verdicts:
        outcomes.append(one.outcome)
        print(f"{one.promise:<10} {one.name:<58} {one.said}", flush=True)
    alive, unknown = outcomes.count("alive"), outcomes.count("unknown")
    print(f"{len(outcomes)} breaks, {alive} alive, {unknown} unknown")
    return 1 if alive or unknown else 0


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


def attempt(broken: Break, tree: Path, run: RunTests | None = None) -> Verdict:
    """Break a copy, run the tests, mend it."""
    path = tree / broken.file
    whole = path.read_text(encoding="utf-8")
    name, promise = broken.name, broken.promise
    if whole.count(broken.old) != 1:
        return Verdict(name, promise, "alive", f"ALIVE: its text stands {whole.count(broken.old)} times")
    path.write_text(whole.replace(broken.old, broken.new), encoding="utf-8")
    try:
        code, out = (run or run_tests)(tree, broken.tests)
    finally:
        path.write_text(whole, encoding="utf-8")
    failed = _FAILED.findall(out)
    if code == 0:
        return Verdict(name, promise, "alive", "ALIVE")
    if code == 1 and failed:
        return Verdict(name, promise, "caught", f"caught by {failed[0].split('::')[-1]}")
    why = "the tests never ended" if code is None else f"pytest ended with code {code}"
    return Verdict(name, promise, "unknown", f"UNKNOWN: {why}")


def _passing(tree: Path, tests: Iterable[str]) -> str:
    """Why these tests do not pass; "" when they do."""
    code, out = run_tests(tree, sorted(tests))
    return "" if code == 0 else " ".join(_FAILED.findall(out)) or f"pytest ended with code {code}"


def run_tests(tree: Path, tests: Sequence[str]) -> tuple[int | None, str]:
    """The exit code and the output of pytest; None when it was given up."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    return ended(command, tree, _PATIENCE * max(1, len(tests) // 4))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
