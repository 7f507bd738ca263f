"""The work of one memory that happens later: which jobs are due, and what each of them does.

In this order: compaction of a context that has grown too long; rebuilds; autosave of idle sessions, where the settings
ask for it; facts of sessions that are idle, and of windows that left the context; consolidation of sessions that the
memory service ended; client histories; the import backlog with its chapters; chapters; archiving.

Guarantees: what is due is looked for again by each job, so a request may come too often, but never too late; an active
session stays open however long it was idle, unless the settings say that it is saved; what fails is tried again
later and at the next start, and reported once. Job modules are loaded when a job needs them, not when a conversation
begins.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from domain import errors
from domain.events import Notice
from domain.records import Session
from domain.settings import Settings
from domain.workers import CancelToken
from jobs.compaction import compact, rounds_to_compact
from jobs.scheduler import JobQueue, Outcome, Scheduler
from llm import Llm
from memory import Memory
from storage.jobs import Job, JobKind

if TYPE_CHECKING:
    from jobs.extraction import Extraction

#: Threads for one memory alone: one for compaction, one for everything else.
_OWN_THREADS = 2


def session_to_open(memory: Memory, settings: Settings, now: datetime) -> tuple[Session, bool]:
    """The session to go on in and whether it was there before; a new one when the newest is due to be saved."""
    session, resumed = memory.sessions.resume_or_start()
    if resumed and memory.is_idle(session.session_id, now, settings.idle_limit(session)):
        return memory.sessions.start(), False
    return session, resumed


class Maintenance:
    """Requests and does the jobs of one memory; all its conversations share it."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        llm: Llm,
        log: logging.Logger,
        clock: Callable[[], datetime],
        scheduler: Scheduler | None = None,
    ) -> None:
        self.settings = settings
        self.memory = memory
        self.llm = llm
        self.log = log
        self.clock = clock
        #: What the person should know; whoever shows it removes it.
        self.notices: list[Notice] = []
        #: The sessions in use, which are not autosaved.
        self.sessions_in_use: list[Callable[[], Collection[str]]] = []
        #: Called when nothing is left to extract from client histories.
        self.client_history_done: Callable[[CancelToken], None] = CancelToken.check
        #: What is prepared before the first job.
        self._prepare: Callable[[], None] | None = None
        #: Why each job failed last; a failure is reported once.
        self._failures: dict[tuple[str, str], str] = {}
        self._opened = False
        self.queue = JobQueue(
            memory.jobs, self._run_job, self._request_due, scheduler or Scheduler(_OWN_THREADS), clock, log
        )

    # -- asking for jobs -----------------------------------------------------------------------------------------

    def start(self, prepare: Callable[[], None] | None = None) -> None:
        """Look for what is due and do it in the background, after ``prepare``."""
        self._prepare = prepare or self._prepare
        self.queue.request_due()

    def compact_ahead(self, session_id: str, *, shortened: bool) -> None:
        """Compact a context that is too long, in the background."""
        if self._is_too_long(session_id, shortened=shortened):
            self.queue.request("compact", session_id, "shortened" if shortened else "", at_once=True)

    def compact_now(self, session_id: str, *, shortened: bool) -> None:
        """The same, and return when it is done."""
        if self._is_too_long(session_id, shortened=shortened):
            self.queue.run_now("compact", session_id, "shortened" if shortened else "", at_once=True)

    def extract_ahead(self, session_id: str) -> None:
        """Extract the facts of what has left the context, once it is a full window, in the background."""
        if window := self._load_extraction().find_full_window(session_id):
            self.queue.request("extract", session_id, window)

    def extract_now(self, session_id: str) -> None:
        """The same, and return when it is done."""
        if window := self._load_extraction().find_full_window(session_id):
            self.queue.run_now("extract", session_id, window)

    def after_save(self) -> None:
        """Write the chapter that a save has filled, and archive what has become too much."""
        if self._chapters_due():
            self.queue.request("chapters")
        if self.settings.forget_limit.most:
            self.queue.request("archive")

    def idle_sessions(self) -> tuple[Session, ...]:
        """The active sessions that are to be saved, oldest first; never one in use."""
        in_use = {session_id for each in self.sessions_in_use for session_id in each()}
        return self.memory.idle_sessions(self.clock(), self.settings.idle_limit, besides=in_use)

    # -- pausing and ending --------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits for its turn."""
        return self.queue.busy

    def paused(self) -> AbstractContextManager[None]:
        """Everything but compaction waits meanwhile: for whoever saves or erases."""
        return self.queue.maintenance.paused()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until everything but compaction is done; what takes longer is given up."""
        self.queue.maintenance.wait(timeout)

    def wait_for_compaction(self) -> None:
        """Wait until nothing is being compacted."""
        self.queue.compaction.wait()

    def end(self, timeout: float) -> None:
        """Begin nothing more; compaction has so many seconds to end, the rest goes on at the next opening."""
        self.queue.maintenance.end(0)
        self.queue.compaction.end(timeout)

    # -- what is due ---------------------------------------------------------------------------------------------

    def _request_due(self) -> None:
        """Request a job for everything that is due; what failed in an earlier run is tried again."""
        if self._prepare:
            self._prepare()
            self._prepare = None
        if not self._opened:
            self._opened = True
            self.memory.jobs.retry_all()
        for kind, key, payload in list(self._find_due()):
            self.memory.jobs.request(kind, key, payload)

    def _find_due(self) -> Iterator[tuple[JobKind, str, str]]:
        """What is due: the kind and the key of its job, and what it is made from."""
        if waiting := self.memory.rebuilds.due_requests():
            yield "rebuild", "", str(max(one.number for one in waiting))
        for session in self.idle_sessions():
            yield "autosave", session.session_id, ""
        for session_id, last in self._idle_unread():
            yield "extract", session_id, last
        if self.memory.clients.due_extractions():
            yield "client_history", "", ""
        if self._chapters_due():
            yield "imported_chapters", "", ""
            yield "chapters", "", ""
        if imported := self.memory.imports.due_sessions():
            yield "import_backlog", "", f"{imported[0].session_id} {imported[0].asked}"
        if self.settings.forget_limit.most:
            yield "archive", "", ""

    def _idle_unread(self) -> Iterator[tuple[str, str]]:
        """The idle sessions whose facts are not extracted yet, each with its last message that was not read."""
        if not self.llm.describe().demo:
            for session in self.memory.idle_sessions(self.clock(), self._extract_after, besides=()):
                if unread := self.memory.messages.unread(session.session_id):
                    yield session.session_id, unread[-1].text_id

    def _extract_after(self, session: Session) -> timedelta:
        """How long a session is idle before its facts are extracted; those of other programs wait to be saved."""
        return timedelta() if session.client else self.settings.extract_after

    def _is_too_long(self, session_id: str, *, shortened: bool) -> bool:
        return bool(rounds_to_compact(self.memory, self.settings, session_id, shortened=shortened))

    def _chapters_due(self) -> bool:
        from jobs.chapters import ChapterWriter

        return ChapterWriter(self.memory, self.llm).has_due()

    def _load_extraction(self) -> Extraction:
        from jobs.extraction import Extraction

        return Extraction(self.memory, self.llm)

    # -- doing it ------------------------------------------------------------------------------------------------

    def _run_job(self, job: Job, cancel: CancelToken) -> tuple[Outcome, str]:
        """Do a job; what became of it, and why it failed. Raises Interrupted."""
        try:
            outcome = _HANDLERS[job.kind](self, job, cancel)
            return outcome, self._failures.get((job.kind, job.key), "")
        except errors.Interrupted:
            raise
        except errors.OldFriendError as fault:
            return self._report_failure(job, fault, fault)
        except Exception as fault:
            return self._report_failure(job, fault, errors.OldFriendError(reason=type(fault).__name__))

    def _report_failure(self, job: Job, fault: Exception, shown: errors.OldFriendError) -> tuple[Outcome, str]:
        self.log.error("%s failed", job.kind, exc_info=fault)
        failed = "compaction.failed" if job.kind == "compact" else "opening.autosave_failed"
        self._report(job, [Notice(failed, {"error": shown})])
        return "left", shown.key

    def _report(self, job: Job, events: Iterable[object]) -> None:
        """Keep what is to be shown of a job; a failure is shown once, until the job succeeds."""
        for event in events:
            if not isinstance(event, Notice):
                continue
            error = event.details.get("error")
            if isinstance(error, errors.OldFriendError) and job.kind != "compact":
                reported = (job.kind, job.key) in self._failures
                self._failures[job.kind, job.key] = error.key
                if reported:
                    continue
            self.notices.append(event)

    def _run_compaction(self, job: Job, cancel: CancelToken) -> Outcome:
        shortened = job.payload == "shortened"
        self._report(job, compact(self.memory, self.llm, job.key, cancel, shortened=shortened))
        return "done"

    def _run_rebuild(self, job: Job, cancel: CancelToken) -> Outcome:
        from jobs.rebuild import rebuild

        for event in rebuild(self.memory, self.llm, cancel):
            cancel.check()
            self._report(job, [event])
        self.memory.jobs.request("chapters")
        return "left" if self.memory.rebuilds.due_requests() else "done"

    def _run_autosave(self, job: Job, cancel: CancelToken) -> Outcome:
        from jobs.saving import Saved, Saving

        session = next((one for one in self.idle_sessions() if one.session_id == job.key), None)
        if session is None:
            return "done"
        for event in Saving(self.memory, self.llm).run(session, cancel, open_next=False):
            self._report(job, [event])
            if isinstance(event, Saved):
                self._count_saved()
                self.memory.jobs.request("chapters")
        return "done"

    def _count_saved(self) -> None:
        """Report the sessions that were saved together."""
        if self.notices and self.notices[-1].key == "opening.autosaved":
            before = self.notices.pop()
            self.notices.append(replace(before, details={"sessions": before.details["sessions"] + 1}))  # type: ignore[operator]
        else:
            self.notices.append(Notice("opening.autosaved", {"sessions": 1}))

    def _run_extraction(self, job: Job, cancel: CancelToken) -> Outcome:
        all_of_it = any(session_id == job.key for session_id, _ in self._idle_unread())
        work = self._load_extraction().run(job.key, cancel, all_of_it=all_of_it)
        while True:
            try:
                event = next(work)
            except StopIteration as end:
                cancel.check()
                return "done" if end.value else "left"
            cancel.check()
            self._report(job, [event] if isinstance(event, Notice) else event.contradicted)

    def _run_consolidation(self, job: Job, cancel: CancelToken) -> Outcome:
        from jobs.client_memories import consolidate_and_log

        return "done" if consolidate_and_log(self.memory, self.llm, job.key, cancel, self.log) else "left"

    def _run_client_history(self, job: Job, cancel: CancelToken) -> Outcome:
        from jobs.client_memories import ClientHistoryJob

        if not ClientHistoryJob(self.memory, self.llm, self.clock).run(cancel):
            return "left"
        self.client_history_done(cancel)
        return "done"

    def _run_import_backlog(self, job: Job, cancel: CancelToken) -> Outcome:
        """Read one session, with the chapters that this fills; what is urgent comes before the next."""
        from jobs.import_backlog import BacklogRead, ImportBacklog

        for event in ImportBacklog(self.memory, self.llm).run(cancel):
            if isinstance(event, BacklogRead):
                self.memory.jobs.request("imported_chapters")
                self.memory.jobs.request("chapters")
                return "again" if event.whole else "done"
            self._report(job, [event])
            if event.key == "import.backlog_failed":
                return "left"
        return "done"

    def _write_chapters(self, job: Job, cancel: CancelToken) -> Outcome:
        from jobs.chapters import ChapterWriter

        events = list(ChapterWriter(self.memory, self.llm).run(cancel, only_past=job.kind == "imported_chapters"))
        self._report(job, events)
        return "left" if any(isinstance(one, Notice) and "error" in one.details for one in events) else "done"

    def _run_archiving(self, job: Job, cancel: CancelToken) -> Outcome:
        from jobs.archiving import Archiving

        self._report(job, Archiving(self.memory, self.settings.forget_limit).run(cancel))
        return "done"


_HANDLERS: Mapping[JobKind, Callable[[Maintenance, Job, CancelToken], Outcome]] = MappingProxyType({
    "compact": Maintenance._run_compaction,
    "rebuild": Maintenance._run_rebuild,
    "autosave": Maintenance._run_autosave,
    "extract": Maintenance._run_extraction,
    "consolidate": Maintenance._run_consolidation,
    "client_history": Maintenance._run_client_history,
    "imported_chapters": Maintenance._write_chapters,
    "import_backlog": Maintenance._run_import_backlog,
    "chapters": Maintenance._write_chapters,
    "archive": Maintenance._run_archiving,
})  # fmt: skip
