"""``make torture``: every promise of docs/reliability.md, tried hard; one line a promise: tried, violated.

python -m tests.torture              everything
python -m tests.torture P1 P2        some promises
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.torture import databases, disks, http_clients, kills, power, signals
from tests.torture.kills import ROOT, Tried

#: How many orders of events are tried, drawn at random, in place of those that every test run tries.
_ORDERS = os.environ.get("ANY_ORDER_EXAMPLES", "75")
#: How often the worker of the index is killed at a random moment, beside the kills that are counted.
_KILLS = "10"
#: So many times more statements than in every test run are kill points: all of fading and of what is known, a fourth of
#: deleting.
_KILL_POINTS = "24"
#: Of the writes of served requests every so-manieth one is a kill point: each trial begins a server.
_BETWEEN = 61
#: The same of the writes of an import, which are much alike.
_BETWEEN_WRITES = 7
#: Of the statements that a scene sends to PostgreSQL every so-manieth one is a kill or a cut: each trial is a copy of a
#: database. Numbers that share no factor with what repeats. EVERY=1 tries each, for hours.
_STATEMENTS = {
    ("kill", "round"): 11,
    ("kill", "save"): 37,
    ("kill", "erase"): 41,
    ("cut", "round"): 23,
    ("cut", "save"): 71,
    ("cut", "erase"): 79,
}
#: Tests whose programs begin with Python itself: whether a run that is forked from a loaded process hides a missing or
#: circular import is shown by any that uses many commands. COLD_START=1 begins each so.
_COLD = ("tests/interfaces/terminal/test_erased.py", "tests/test_promises.py")
#: How many trials run at a time.
WORKERS = 2


@dataclass(frozen=True)
class Promise:
    """A promise, the trials that could break it, and the tests that hold it (as arguments of pytest)."""

    name: str
    says: str
    trials: tuple[Callable[[], Tried], ...] = ()
    tests: tuple[str, ...] = ()


def killed(*scenes: str, every: int = 1) -> tuple[Callable[[], Tried], ...]:
    """Every kill point of these scenes, or every so-manieth, shared out over the workers."""
    return tuple(
        partial(kills.every_point, scene, 1 + worker * every, WORKERS * every)
        for scene in scenes
        for worker in range(WORKERS)
    )


PROMISES = (
    Promise(
        "P1",
        "a round whose next prompt was shown is on disk",
        (power.every_cut,),
        ("tests/storage/sqlite/test_database.py", "tests/storage/test_syncing.py -k p1"),
    ),
    Promise(
        "P2",
        "kill -9 loses at most the round in flight",
        killed("round", "turn", "fold"),
        ("tests/test_any_order.py", "tests/storage/test_syncing.py -k p2"),
    ),
    Promise("P3", "a reply that was cut off is never presented as complete", (), ("tests/test_promises.py -k p3",)),
    Promise(
        "P4",
        "a failed model call changes nothing",
        (),
        (
            "tests/test_promises.py -k p4",
            "tests/storage/test_syncing.py -k p4",
            "tests/models/test_provider_errors.py",
            "tests/interfaces/terminal/test_faults.py -k 'not embeddings and not always_fails'",
        ),
    ),
    Promise("P5", "/save is resumable", killed("save", "chapters"), ("tests/test_promises.py -k p5",)),
    Promise(
        "P6",
        "a persona file is one complete version; every version is kept",
        (),
        ("tests/test_promises.py -k p6", "tests/storage/test_personas.py"),
    ),
    Promise(
        "P7",
        "a hand edit of a persona file wins",
        (),
        (
            "tests/storage/test_personas.py"
            " -k 'hand or edit or form or emptied or deleted or place or link or huge or other_programs'",
        ),
    ),
    Promise("P8", "the index can be lost or damaged at any time", (), ("tests -k 'indexing or damage'",)),
    Promise(
        "P9",
        "trouble with embeddings never stops a conversation",
        (),
        ("tests/test_promises.py -k p9", "tests/interfaces/terminal/test_faults.py -k 'embeddings or always_fails'"),
    ),
    Promise(
        "P10",
        "what was deleted never comes back",
        killed("reset"),
        (
            "tests/jobs/test_erasing.py -k 'never or finished'",
            "tests/storage/vectors/test_indexing.py -k 'erased or scrubbing or nobody'",
            "tests/test_week.py",
            "tests/test_forgotten_everywhere.py",
            "tests/interfaces/terminal/test_erased.py",
        ),
    ),
    Promise(
        "P11",
        "erase means bytes",
        killed("erase", every=2),
        (
            "tests/jobs/test_erasing.py",
            "tests/storage/test_proof.py",
            "tests/storage/postgres/test_erasing.py",
            "tests/storage/test_locks.py",
            "tests/contract/test_erased.py",
        ),
    ),
    Promise(
        "P12",
        "any number of programs use one memory at once",
        (),
        (
            "tests/storage/test_programs.py",
            "tests/storage/vectors/test_several_programs.py",
            "tests/test_erased_meanwhile.py",
            "tests/test_promises.py -k p12",
        ),
    ),
    Promise("P13", "the clock may jump", (), ("tests/test_promises.py -k p13",)),
    Promise(
        "P14",
        "a full, read-only or failing disk does no damage",
        (disks.full, disks.full_below_the_index, disks.read_only, disks.failing),
    ),
    Promise(
        "P15",
        "a damaged database is never deleted or replaced",
        (),
        (
            "tests/test_promises.py -k p15",
            "tests/storage/sqlite/test_database.py -k damaged",
            "tests/storage/test_tampered.py",
        ),
    ),
    Promise(
        "P16",
        "what a newer program wrote is refused, not touched",
        (),
        ("tests/storage/sqlite/test_database.py -k newer",),
    ),
    Promise("P17", "hostile text is shown inert", (), ("tests/domain/test_text.py", "tests -k hostile")),
    Promise("P18", "secrets never reach a log", (), ("tests -k 'secret or canary or mask'",)),
    Promise(
        "P19",
        "one person's words never reach another",
        (),
        ("tests/test_people.py", "tests/interfaces/http/test_serving.py -k 'person or token'"),
    ),
    Promise(
        "P20",
        "what was drawn from talk goes with the turns it rests on",
        (),
        (
            "tests/test_known_erased.py",
            "tests/storage/test_persona_lines.py",
            "tests/facts/test_persona_lines.py",
            "tests/facts/test_summary_checks.py",
            "tests/jobs/test_persona_update.py",
            "tests/jobs/test_tree_any_order.py",
            "tests/test_survivors.py -k p20",
        ),
    ),
    Promise(
        "P21",
        "a durable job killed anywhere is finished once, and only once",
        killed("import", every=_BETWEEN_WRITES),
        ("tests/test_knowing_kills.py", "tests/jobs/test_archiving_kills.py", "tests/test_survivors.py -k p21"),
    ),
    Promise(
        "P22",
        "what a person asked to have forgotten is in no later prompt",
        (),
        (
            "tests/test_forget_requests_detected.py",
            "tests/test_hidden_everywhere.py",
            "tests/jobs/test_forgetting.py",
            "tests/bench/test_forget.py",
            "tests/jobs/test_import_backlog.py -k 'forget_request or forgotten or hidden'",
        ),
    ),
    Promise(
        "clients",
        "what a served API answered is stored, and it answers as its description says",
        (
            partial(http_clients.killed, 1, 2 * _BETWEEN),
            partial(http_clients.killed, 1 + _BETWEEN, 2 * _BETWEEN),
            partial(http_clients.cut, stride=5),
            http_clients.full,
        ),
        (
            "tests/interfaces/http/test_conforming.py",
            "tests/interfaces/http/test_serving.py -k 'kill or second or under_way'",
            "tests/interfaces/http/test_chat_api.py -k kill",
            "tests/interfaces/http/test_kills.py -k middle",
            "tests/test_together.py",
            "tests/clients",
        ),
    ),
    Promise(
        "database",
        "in PostgreSQL nothing acknowledged is lost, and nothing doubled",
        (
            *(
                databases.points(part, scene, int(os.environ.get("EVERY", every)))
                for (part, scene), every in _STATEMENTS.items()
            ),
            databases.stopped,
            databases.promoted,
            databases.full,
            databases.side_by_side,
        ),
        (
            "tests/storage/postgres/test_database.py",
            "tests/storage/postgres/test_isolation.py",
            "tests/storage/test_moving.py",
            "tests/interfaces/test_on_postgres.py",
            "tests/interfaces/test_three_servers.py",
        ),
    ),
    Promise("signals", "SIGINT, SIGTERM, SIGHUP at any moment", (signals.at_any_moment,)),
)


def main(chosen: Sequence[str]) -> int:
    """Try what was chosen, two trials at a time, and print a line a promise; 1 when one was violated."""
    begun, passed, broken, skipped = time.monotonic(), 0, 0, 0
    promises = [promise for promise in PROMISES if not chosen or promise.name in chosen]
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        # What takes longest begins first, so that no worker is idle at the end.
        running = {
            promise: [pool.submit(_timed, trial) for trial in _trials(promise)]
            for promise in sorted(promises, key=_length, reverse=True)
        }
        for promise in promises:
            done = [trial.result() for trial in running[promise]]
            tried, seconds = [one for one, _ in done], sum(took for _, took in done)
            violated = any(one.violations for one in tried)
            broken += violated
            passed += not violated and any(one.points for one in tried)
            skipped += any(one.skipped for one in tried)
            _print(promise, tried, seconds)
    left_out = f", {skipped} not tried in every way" if skipped else ""
    print(f"{passed} passed, {broken} failed{left_out}  ({time.monotonic() - begun:.0f} s)", flush=True)
    return int(broken > 0)


def _print(promise: Promise, tried: Sequence[Tried], seconds: float) -> None:
    violations = [violation for one in tried for violation in one.violations]
    points = sum(one.points for one in tried)
    print(f"{promise.name:8} {promise.says:62} tried {points:5}   violated {len(violations):3}   {seconds:5.0f} s")
    for violation in violations[:5]:
        print(f"         {violation[:300]}")
    for why in dict.fromkeys(f"{one.scene}: {one.skipped}" for one in tried if one.skipped):
        print(f"         skipped: {why}")
    sys.stdout.flush()


def _trials(promise: Promise) -> list[Callable[[], Tried]]:
    """Whole files in one process: to begin one and to load the program costs more than most of its tests."""
    whole = " ".join(each for each in promise.tests if " " not in each and each not in _COLD)
    some = [each for each in promise.tests if each not in whole.split()]
    return [*promise.trials, *(partial(_tested, arguments) for arguments in filter(None, [whole, *some]))]


def _length(promise: Promise) -> int:
    """Roughly how long a promise takes: the faults of a server make the program wait, and an erasure writes most."""
    return len(promise.trials) + {"P4": 100, "P2": 50, "P11": 40}.get(promise.name, 0)


def _timed(trial: Callable[[], Tried]) -> tuple[Tried, float]:
    begun = time.monotonic()
    try:
        tried = trial()
    except Exception as fault:
        # A trial that breaks off has shown nothing, and must not end the others.
        tried = Tried("a trial", 0, [f"the trial broke off: {fault!r}"])
    took = time.monotonic() - begun
    # Half an hour is long without a word; the lines that count come in order, on the other stream.
    print(f"   {tried.scene}: {tried.points} in {took:.0f} s", file=sys.stderr, flush=True)
    return tried, took


def _tested(arguments: str) -> Tried:
    """Run tests in a process of their own and count them."""
    import shlex

    with tempfile.TemporaryDirectory(prefix="report-") as scratch:
        report = Path(scratch, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-m", "", f"--junitxml={report}", *shlex.split(arguments)]
        environment = os.environ | {"ANY_ORDER_EXAMPLES": _ORDERS, "KILLS": _KILLS, "KILL_POINTS": _KILL_POINTS}
        if arguments.split(maxsplit=1)[0] in _COLD:
            environment |= {"COLD_START": "1"}
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
        if not report.exists():
            return Tried(arguments, 0, [f"pytest {arguments} did not run"])
        suite = ElementTree.parse(report).getroot()
        cases = list(suite.iter("testcase"))
        failed = [case.get("name", "?") for case in cases if _fault(case)]
        for fault in filter(None, map(_fault, cases)):
            # What was drawn at random does not come again: here it stands word for word.
            print(fault, file=sys.stderr, flush=True)
        ran = [case for case in cases if case.find("skipped") is None]
        return Tried(arguments, len(ran), failed if ran else [f"no test for {arguments}"])


def _fault(case: ElementTree.Element) -> str:
    """What pytest says of a test that failed; "" of any other."""
    found = [fault for kind in ("failure", "error") for fault in case.findall(kind)]
    return "\n".join(fault.text or fault.get("message") or "failed" for fault in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
