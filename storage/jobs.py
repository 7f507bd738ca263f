"""Work that must happen later, and the results of work that is done in steps.

``ErasureEpoch``  refuses what was made from memories of which something is erased by now
``Claims``    what one program alone uses or does; a claim is void once its program has ended
``Jobs``      what the scheduler runs: a row for each, found again by whoever opens the memory next
``Rebuilds``  summaries and personas of which something was removed, or whose model failed at a save
``Steps``     results of stages, stored as each arrives, so that a long job resumes where it was cut short

A request that is made again while it is being fulfilled gets another generation, so that a result that came too late is
refused, or its job runs once more.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from domain.receipts import ErasedMeanwhile
from domain.records import IMPORT_CLIENT, RebuildRequest, RebuildTarget
from storage.engine import EACH, Database, Transaction, read_meta, set_meta
from storage.programs import READS, Programs

#: What the scheduler can be asked to do; the first comes first. The key is a session, a message, or nothing.
JobKind = Literal[
    "forget_request", "compact", "rebuild", "autosave", "extract", "verify", "consolidate", "client_history",
    "imported_chapters", "import_backlog", "chapters", "diary", "archive",
]  # fmt: skip


#: What a program claims beside jobs: a session that it talks in or saves, an erasure.
ClaimKind = Literal["session", "erasure"]


#: In ``meta``: how many erasures there were.
_EPOCH = "erasure.epoch"
#: Seconds between two looks at what other programs work with.
_LOOK = 0.05
_Event = TypeVar("_Event")
_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


class Claims:
    """Reads and writes the table ``claim``. ``program`` is the name of this one, ``lives`` says whether another runs.

    >>> claims.take("session", session_id)
    True
    """

    def __init__(
        self, database: Database, program: str = "", lives: Callable[[str], bool] = lambda name: False
    ) -> None:
        self._database = database
        self.program = program
        self._lives = lives

    def take(self, kind: ClaimKind, key: str = "") -> bool:
        """Have this alone from now on; False where another living program has it."""
        if self.taken(kind).get(key) == self.program:
            return True
        with self._database.write() as tx:
            living = self.taken(kind)
            if living.get(key, self.program) != self.program:
                return False
            if void := sorted(set(self._read_rows(kind).values()) - set(living.values())):
                tx.do(f"DELETE FROM claim WHERE program IN {EACH}", void)
            tx.do(
                "INSERT INTO claim (kind, key, program) VALUES (?, ?, ?)"
                " ON CONFLICT (kind, key) DO UPDATE SET program = excluded.program",
                kind, key, self.program,
            )  # fmt: skip
        return True

    def taken(self, kind: ClaimKind) -> dict[str, str]:
        """The keys that living programs have, this one too, each with the name of its program."""
        rows = self._read_rows(kind).items()
        return {key: program for key, program in rows if program == self.program or self._lives(program)}

    def taken_elsewhere(self, kind: ClaimKind) -> dict[str, str]:
        """The same of other programs."""
        return {key: program for key, program in self.taken(kind).items() if program != self.program}

    def release(self, kind: ClaimKind, *keys: str) -> None:
        """Let go of what this program has."""
        own = {key for key, program in self.taken(kind).items() if program == self.program}.intersection(keys)
        if own:
            with self._database.write() as tx:
                tx.do(f"DELETE FROM claim WHERE kind = ? AND program = ? AND key IN {EACH}", kind, self.program, [*own])

    def release_all(self) -> None:
        """Let go of everything that this program has, its jobs too."""
        with self._database.write() as tx:
            tx.do("DELETE FROM claim WHERE program = ?", self.program)
            tx.do("UPDATE job SET program = '' WHERE program = ?", self.program)

    def is_elsewhere(self, program: str) -> bool:
        """Whether this names another program that lives."""
        return program not in ("", self.program) and self._lives(program)

    def _read_rows(self, kind: ClaimKind) -> dict[str, str]:
        return {row[0]: row[1] for row in self._database.run("SELECT key, program FROM claim WHERE kind = ?", kind)}


class ErasureEpoch:
    """A number that each erasure raises in its commit: what was made from memories before it is not stored after it.

    >>> yield from epoch.derive(lambda: Saving(memory, llm).run(session, cancel))
    """

    def __init__(self, database: Database, programs: Programs | None = None) -> None:
        self._database = database
        self._programs = programs
        #: The numbers at which what is worked with now was read.
        self._working: list[int] = []
        self._lock = threading.Lock()
        #: For a thread that derives something: the number since when, and what was seen of other programs then.
        self._derived = threading.local()
        database.on_begin(self._check_derived)

    def number(self) -> int:
        """The number now; inside of a write it holds for its commit."""
        return int(read_meta(self._database, _EPOCH) or 0)

    def advance(self) -> None:
        """Raise it, inside of the commit that erases. What this very thread derives goes on."""
        number = self.number() + 1
        set_meta(self._database, _EPOCH, str(number))
        if getattr(self._derived, "since", None):
            self._derived.since = (number, self._database.outdated)

    @contextmanager
    def working(self) -> Iterator[int]:
        """The number now; inside, other programs know that this one works with what was stored at it."""
        while self._note_work(number := self.number()):
            if number == self.number():  # else something was erased before that was noted
                break
            self._note_work(number, ended=True)
        try:
            yield number
        finally:
            self._note_work(number, ended=True)

    def await_others(self, seconds: float) -> list[Mapping[str, object]]:
        """Wait until no other program works with what was erased; those that still do, with ``pid`` and ``kind``."""
        until = time.monotonic() + seconds
        while behind := self._programs.behind(self.number()) if self._programs else []:
            if time.monotonic() > until:
                return list(behind)
            time.sleep(_LOOK)
        return []

    def _note_work(self, number: int, *, ended: bool = False) -> bool:
        with self._lock:
            (self._working.remove if ended else self._working.append)(number)
            if self._programs and self._programs.descriptor is not None:
                oldest = min(self._working, default=-1) + 1
                os.pwrite(self._programs.descriptor, oldest.to_bytes(8, "big"), READS)
        return True

    def require(self, since: int | None) -> None:
        """Raise ErasedMeanwhile where anything was erased since; for a commit call it inside. None: since never."""
        if since is not None and self.number() != since:
            raise ErasedMeanwhile

    def derive(self, begin: Callable[[], Iterator[_Event]]) -> Generator[_Event, None, Any]:
        """Take the steps of what derives something from memories, as they are taken from what ``begin`` returns.

        Nothing of it is stored once another program has erased anything since: then it begins again.
        """
        while True:
            with self.working() as number:
                since, steps = (number, self._database.outdated), begin()
                try:
                    while True:
                        self._derived.since = since
                        try:
                            event = next(steps)
                        finally:  # a step of its own may have erased
                            since, self._derived.since = self._derived.since, None
                        yield event
                except StopIteration as end:
                    return end.value
                except ErasedMeanwhile:
                    continue

    def shared(self, work: Callable[[_Given], _Made]) -> Callable[[_Given], _Made]:
        """The same work for threads that help this one to derive something."""
        since = getattr(self._derived, "since", None)

        def helping(given: _Given) -> _Made:
            self._derived.since = since
            try:
                return work(given)
            finally:
                self._derived.since = None

        return helping

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Inside, writes rest on no memory: they are made although something was erased."""
        since, self._derived.since = getattr(self._derived, "since", None), None
        try:
            yield
        finally:
            self._derived.since = since

    def _check_derived(self) -> None:
        since, elsewhere = getattr(self._derived, "since", None), self._database.outdated
        if since and (since[1] != elsewhere or elsewhere < 0):
            self.require(since[0])


@dataclass(frozen=True)
class Job:
    """One piece of work, as it was when it was picked."""

    kind: JobKind
    key: str
    payload: str
    generation: int
    attempts: int
    not_before: float
    #: Why the last try failed: nothing, or the key of a message and, behind a space, its numbers as JSON.
    reason: str
    #: The program that does it, if one does.
    program: str = ""


class Jobs:
    """Reads and writes the jobs of the scheduler in the table ``job``. Of several programs one does a job."""

    def __init__(self, database: Database, claims: Claims) -> None:
        self._database = database
        self._claims = claims

    def request(self, kind: JobKind, key: str = "", payload: str = "", *, at_once: bool = False) -> None:
        """Have this done, once more where it runs by now.

        One that failed waits on, unless it is wanted ``at_once`` or its ``payload``, what it is made from, has changed.
        """
        with self._database.write() as tx:
            tx.do(
                "INSERT INTO job (kind, key, payload, generation, priority) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (kind, key) DO UPDATE SET generation = excluded.generation, payload = excluded.payload,"
                " not_before = CASE WHEN job.payload = excluded.payload AND ? = 0 THEN job.not_before ELSE 0 END",
                kind, key, payload, tx.next("job"), get_args(JobKind).index(kind), int(at_once),
            )  # fmt: skip

    def next(self, kinds: Collection[JobKind], now: float) -> Job | None:
        """The job of these kinds to run now, that no other program does."""
        due = (job for job in self.waiting(kinds) if job.not_before <= now)
        return next((job for job in due if not self._claims.is_elsewhere(job.program)), None)

    def claim(self, job: Job) -> bool:
        """Do this job here; False where it is gone, or another living program does it."""
        with self._database.write() as tx:
            found = self.find(job.kind, job.key)
            if found is None or self._claims.is_elsewhere(found.program):
                return False
            tx.do("UPDATE job SET program = ? WHERE kind = ? AND key = ?", self._claims.program, job.kind, job.key)
        return True

    def waiting(self, kinds: Collection[JobKind]) -> list[Job]:
        """All jobs of these kinds, the most urgent first."""
        query = (
            "SELECT kind, key, payload, generation, attempts, not_before, reason, program FROM job"
            f" WHERE kind IN {EACH} ORDER BY priority, generation"
        )
        return [Job(*row) for row in self._database.run(query, list(kinds))]

    def failed(self) -> list[Job]:
        """The jobs whose last try failed, the most urgent first."""
        return [job for job in self.waiting(get_args(JobKind)) if job.reason]

    def find(self, kind: JobKind, key: str = "") -> Job | None:
        """A job that is still to be done."""
        return next((job for job in self.waiting([kind]) if job.key == key), None)

    def finish(self, job: Job) -> bool:
        """Remove a job that is done. False, and nothing, when it was asked for again meanwhile."""
        with self._database.write() as tx:
            sql = "DELETE FROM job WHERE kind = ? AND key = ? AND generation = ? RETURNING kind"
            return bool(tx.run(sql, job.kind, job.key, job.generation))

    def postpone(self, job: Job, reason: str, not_before: float) -> None:
        """Note that a try has failed, why, and when the next one may be made."""
        with self._database.write() as tx:
            tx.do(
                "UPDATE job SET attempts = attempts + 1, reason = ?, not_before = ?, program = ''"
                " WHERE kind = ? AND key = ?",
                reason, not_before, job.kind, job.key,
            )  # fmt: skip

    def retry_all(self) -> None:
        """Let everything that failed be tried again now."""
        if self._database.run("SELECT 1 FROM job WHERE not_before > 0"):
            with self._database.write() as tx:
                tx.do("UPDATE job SET not_before = 0 WHERE not_before > 0")


class Rebuilds:
    """Reads and writes the jobs ``summary``, ``self`` and ``user`` of the table ``job``; their key is a session."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due_requests(self) -> list[RebuildRequest]:
        """What is to be rebuilt, in the order of the sessions."""
        query = (
            "SELECT j.generation, j.kind, j.key, j.payload FROM job j JOIN session s ON s.session_id = j.key"
            " WHERE j.kind IN ('summary', 'self', 'user') ORDER BY s.position, j.generation"
        )
        return [RebuildRequest(*row) for row in self._database.run(query)]

    def request(self, tx: Transaction, what: RebuildTarget, session_id: str, timestamp: str) -> None:
        """Ask for a rebuild; what is being made for an older request does not count any more.

        An imported session is read again instead, when its turn comes.
        """
        imported = "SELECT session_id FROM session WHERE session_id = ? AND status = 'archived' AND client = ?"
        again = f"UPDATE imported_session SET due = due + 1 WHERE session_id IN ({imported}) RETURNING session_id"
        if what == "summary" and tx.run(again, session_id, IMPORT_CLIENT):
            return
        tx.do(
            "INSERT INTO job (kind, key, payload, generation) VALUES (?, ?, ?, ?) ON CONFLICT (kind, key)"
            " DO UPDATE SET payload = excluded.payload, generation = excluded.generation, attempts = 0",
            what, session_id, timestamp, tx.next("job"),
        )  # fmt: skip

    def ask_again(self, tx: Transaction, session_id: str) -> None:
        """A summary that is to be rebuilt has more to be made from by now."""
        query = "SELECT payload FROM job WHERE kind = 'summary' AND key = ?"
        for row in self._database.run(query, session_id):
            self.request(tx, "summary", session_id, row["payload"])

    def remove_fulfilled(self, tx: Transaction, fulfilled: Sequence[RebuildRequest]) -> bool:
        """Remove requests that are fulfilled in this commit. False, and nothing, when one of them is gone or newer."""
        if not {one.number for one in fulfilled} <= {one.number for one in self.due_requests()}:
            return False
        tx.many("DELETE FROM job WHERE kind = ? AND key = ?", [(one.what, one.session_id) for one in fulfilled])
        return True

    def drop(self, tx: Transaction, session_id: str, *what: RebuildTarget) -> None:
        """Do not rebuild these of a session."""
        tx.do(f"DELETE FROM job WHERE kind IN {EACH} AND key = ?", list(what), session_id)


#: ``tools``: what a turn waits with for the results of a client's tools.
StepKind = Literal["save", "window", "tools"]


@dataclass(frozen=True)
class Steps:
    """Reads and writes the table ``step``."""

    database: Database

    def of(self, kind: StepKind, key: str, since: str = "") -> dict[str, tuple[str, str]]:
        """What each step stored ``since`` a moment resulted in, and what that was made from, by step."""
        query = "SELECT step, result, base FROM step WHERE kind = ? AND key = ? AND stored_at >= ?"
        return {row["step"]: (row["result"], row["base"]) for row in self.database.run(query, kind, key, since)}

    def oldest(self, kind: StepKind) -> str | None:
        """When the oldest step of a kind was stored."""
        moment = self.database.run("SELECT min(stored_at) FROM step WHERE kind = ?", kind)[0][0]
        return None if moment is None else str(moment)

    def store(self, kind: StepKind, key: str, step: str, result: str, now: str, base: str = "") -> None:
        """Store the result of a step as soon as it is there."""
        with self.database.write() as tx:
            tx.do(
                "INSERT INTO step (kind, key, step, base, result, stored_at) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (kind, key, step) DO UPDATE SET base = excluded.base, result = excluded.result,"
                " stored_at = excluded.stored_at",
                kind, key, step, base, result, now,
            )  # fmt: skip

    def drop_before(self, kind: StepKind, moment: str) -> None:
        """Forget the steps of a kind that were stored before a moment."""
        with self.database.write() as tx:
            tx.do("DELETE FROM step WHERE kind = ? AND stored_at < ?", kind, moment)

    def drop(self, tx: Transaction, kind: StepKind, key: str | None = None) -> None:
        """Forget the steps: the work is done, or what it was made from has changed. Without a key those of all."""
        if key is None:
            tx.do("DELETE FROM step WHERE kind = ?", kind)
        else:
            tx.do("DELETE FROM step WHERE kind = ? AND key = ?", kind, key)
