"""The work of one memory that happens later: which jobs are due, and what each of them does.

In this order: forget requests that a model is to read; compaction of a context that has grown too long; rebuilds;
autosave of idle sessions, where the settings ask for it; facts of sessions that are idle, and of windows that left the
context; what their words say, where the model did not answer that; consolidation of sessions that the memory service
ended; client histories; the import backlog with its chapters; chapters; archiving.

Guarantees: what is due is looked for again by each job, so a request may come too often, but never too late; an active
session stays open however long it was idle, unless the settings say that it is saved; what fails is tried again
later and at the next start, and reported once. A compaction step is one commit or nothing. Protected memories are never
archived. Job modules are loaded when a job needs them, not when a conversation begins.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from domain import errors
from domain.events import Notice
from domain.records import SERVICE_CLIENT, Round, Session, without_hidden
from domain.settings import Settings
from domain.tree import ForgetLimit, Leaf
from domain.workers import CancelToken
from jobs.scheduler import JobQueue, Outcome, Scheduler
from jobs.summaries import write_summary
from llm import Llm
from memory import Memory
from storage.jobs import Job, JobKind

#: Threads for one memory alone: one for compaction, one for everything else.
_OWN_THREADS = 2
#: So many memories are archived in one commit, so that no one waits long for it.
_ARCHIVED_AT_ONCE = 100

#: So long a turn waits for the results of a client's tools.
TOOLS_WAIT = timedelta(days=1)
#: The least time between two looks at a memory that no one has open.
_LOOK_AGAIN = timedelta(minutes=1)

#: The events of a job, which ends with what became of it.
Steps = Generator[object, None, Outcome]


def session_to_open(memory: Memory, settings: Settings, now: datetime) -> tuple[Session, bool]:
    """The session to go on in and whether it was there before; a new one when the newest is due to be saved.

    Never one that another program has; it is this program's from then on.
    """
    session, resumed = memory.sessions.resume_or_start()
    if resumed and memory.is_idle(session.session_id, now, settings.idle_limit(session)):
        memory.claims.release("session", session.session_id)
        return memory.sessions.start(), False
    return session, resumed


def compact(memory: Memory, llm: Llm, session_id: str, cancel: CancelToken, *, shortened: bool) -> Iterator[Notice]:
    """Move the oldest rounds into the summary until all others fit; a model that fails leaves the context as it is.

    Raises ModelError, Interrupted, StorageError.
    """
    while rounds := rounds_to_compact(memory, llm.settings, session_id, shortened=shortened):
        shortened = False
        before = memory.summaries.of(session_id)
        text = before.summary if before else ""
        following = without_hidden(memory.messages.context(session_id)[len(rounds) :])
        if shown := without_hidden(rounds):
            text = yield from write_summary(memory, llm, session_id, text, shown, cancel, following)
        cancel.check()
        with memory.in_one_commit():  # what another program changed meanwhile is summarised again
            unchanged = memory.messages.context(session_id)[: len(rounds)] == rounds
            if unchanged and memory.summaries.of(session_id) == before and memory.sessions.is_open(session_id):
                memory.rounds.compact(session_id, rounds[-1].user.round, text)


def rounds_to_compact(memory: Memory, settings: Settings, session_id: str, *, shortened: bool) -> tuple[Round, ...]:
    """The rounds that leave the context next; none while all fit, unless a prompt had to be ``shortened``."""
    rounds = memory.messages.context(session_id)
    if len(rounds) > settings.max_conv_num or (shortened and len(rounds) > 1):
        return rounds[: min(settings.refresh_every_conv_num, len(rounds) - 1)]
    return ()


def archive_surplus(memory: Memory, limit: ForgetLimit, cancel: CancelToken) -> list[Notice]:
    """Archive, or erase with proof, the least important leaves above the limit. Raises StorageError, Interrupted.

    The surplus is computed at each run, so it may be killed anywhere; it ends when only protected memories remain.
    Erasing removes a part per commit, with one proof at the end; if that fails, it is repeated at the next run.
    """
    removed = 0
    while leaves := memory.archive.next_batch(limit) if limit.most else []:
        cancel.check()
        count = _remove_leaves(memory, leaves, limit)
        if not count:
            break
        removed += count
    if limit.mode == "delete":
        memory.erasure.finish()
    return [Notice(f"archive.{limit.mode}", {"memories": removed})] if removed else []


def _remove_leaves(memory: Memory, leaves: Sequence[Leaf], limit: ForgetLimit) -> int:
    """Archive or erase leaves; returns how many memories are gone."""
    if limit.mode == "fade":
        for start in range(0, len(leaves), _ARCHIVED_AT_ONCE):
            memory.archive.archive(leaves[start : start + _ARCHIVED_AT_ONCE])
        return len(leaves)
    scopes = memory.erasure.scopes_of_leaves(leaves)
    for chosen in scopes:
        memory.erasure.remove(chosen)
    return sum(len(chosen.messages) + len(chosen.sessions) for chosen in scopes)


class Maintenance:
    """Requests and does the jobs of one memory; all its conversations share it."""

    def __init__(self, settings: Settings, memory: Memory, llm: Llm, scheduler: Scheduler | None = None) -> None:
        self.settings = settings
        self.memory = memory
        self.llm = llm
        self.log, self.clock = llm.log, llm.clock
        #: The session that is being autosaved; "" for none.
        self.saving = ""
        #: What the person should know; whoever shows it removes it.
        self.notices: list[Notice] = []
        #: Called when nothing is left to extract from client histories.
        self.client_history_done: Callable[[CancelToken], None] = CancelToken.check
        #: What is prepared before the first job.
        self._prepare: Callable[[], None] | None = None
        #: Why each job failed last; a failure is reported once.
        self._failures: dict[tuple[str, str], str] = {}
        self._opened = False
        #: Whether the companion keeps a diary; for served people it does so only where that is set.
        own = settings.diary == "on" or (settings.diary == "auto" and scheduler is None)
        self._writes_diary = own and not llm.described.demo
        self.queue = JobQueue(
            memory.jobs, self._run_job, self._request_due, scheduler or Scheduler(_OWN_THREADS), llm.clock, llm.log
        )

    # -- asking for jobs -----------------------------------------------------------------------------------------

    def start(self, prepare: Callable[[], None] | None = None) -> None:
        """Look for what is due and do it in the background, after ``prepare``."""
        self._prepare = prepare or self._prepare
        self.queue.request_due()

    def after_turn(self, session_id: str, *, shortened: bool, wait: bool = False) -> None:
        """Compact a context that is too long, and extract the facts of what has left it, once it is a full window.

        In the background, or, with ``wait``, before this returns.
        """
        do = self.queue.run_now if wait else self.queue.request
        if rounds_to_compact(self.memory, self.settings, session_id, shortened=shortened):
            do("compact", session_id, "shortened" if shortened else "", at_once=True)
        if window := self.memory.messages.next_window(session_id, self.settings.window_size):
            do("extract", session_id, window[-1].text_id)

    def after_save(self, session_id: str) -> None:
        """Write the chapter that a save has filled and the page of the diary, and archive what has become too much."""
        if self._writes_diary:
            self.queue.request("diary", session_id)
        if self._chapters_due():
            self.queue.request("chapters")
        if self.settings.forget_limit.most:
            self.queue.request("archive")

    def idle_sessions(self) -> tuple[Session, ...]:
        """The active sessions that are to be saved, oldest first; never one in use."""
        in_use = self.memory.claims.taken("session")
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
        waited = (self.clock() - TOOLS_WAIT).astimezone(UTC).isoformat()
        if (self.memory.steps.oldest("tools") or waited) < waited:
            self.memory.steps.drop_before("tools", waited)
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
        if self._writes_diary:
            yield from (("diary", page.session_id, "") for page in self.memory.chapters.pages(due=True))
        if imported := self.memory.imports.due_sessions():
            yield "import_backlog", "", f"{imported[0].session_id} {imported[0].asked}"
        if self.settings.forget_limit.most:
            yield "archive", "", ""

    def _idle_unread(self) -> Iterator[tuple[str, str]]:
        """The idle sessions whose facts are not extracted yet, each with its last message that was not read."""

        def idle_limit(session: Session) -> timedelta:
            """Those of other programs wait to be saved."""
            return timedelta() if session.client else self.settings.extract_after

        if self.llm.described.demo:
            return
        for session in self.memory.idle_sessions(self.clock(), idle_limit, besides=()):
            if unread := self.memory.messages.unread(session.session_id):
                yield session.session_id, unread[-1].text_id

    def _chapters_due(self) -> bool:
        from jobs.chapters import ChapterWriter

        return ChapterWriter(self.memory, self.llm).has_due()

    def next_look(self) -> float | None:
        """When to look for what is due again, in seconds since 1970; None where nothing comes with time alone.

        Jobs are not among it: they have times of their own.
        """
        memory, settings = self.memory, self.settings
        moments = [self.clock()] if memory.rebuilds.due_requests() else []
        reads = settings.extract_after and not self.llm.described.demo
        if oldest := memory.steps.oldest("tools"):
            moments.append(datetime.fromisoformat(oldest) + TOOLS_WAIT)
        for session in memory.sessions.active():
            limits = [settings.idle_limit(session)]
            if session.client == SERVICE_CLIENT:
                limits.append(timedelta(seconds=min(settings.session_timeout, settings.session_max_duration)))
            elif not session.client and reads and memory.messages.last_moment(session.session_id, unread=True):
                limits.append(settings.extract_after)
            if (limit := min(filter(None, limits), default=None)) and (
                last := memory.messages.last_moment(session.session_id)
            ):
                moments.append(datetime.fromisoformat(last) + limit)
        return max(self.clock() + _LOOK_AGAIN, min(moments)).timestamp() if moments else None

    # -- doing it ------------------------------------------------------------------------------------------------

    def _run_job(self, job: Job, cancel: CancelToken) -> tuple[Outcome, str]:
        """Do a job; what became of it, and why it failed. Raises Interrupted."""
        try:
            outcome = self._follow_steps(job, cancel)
        except errors.Interrupted:
            raise
        except Exception as fault:
            reason = type(fault).__name__
            shown = fault if isinstance(fault, errors.OldFriendError) else errors.OldFriendError(reason=reason)
            self.log.error("%s failed", job.kind, exc_info=fault)
            failed = "compaction.failed" if job.kind == "compact" else "opening.autosave_failed"
            self._report(job, Notice(failed, {"error": shown}))
            return "left", _reason_of(shown)
        if outcome != "left":
            self._failures.pop((job.kind, job.key), None)
        return outcome, self._failures.get((job.kind, job.key), "")

    def _follow_steps(self, job: Job, cancel: CancelToken) -> Outcome:
        steps = self.memory.epoch.derive(lambda: _HANDLERS[job.kind](self, job, cancel))
        while True:
            try:
                event = next(steps)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            cancel.check()
            if isinstance(event, Notice):
                self._report(job, event)

    def _report(self, job: Job, notice: Notice) -> None:
        """Keep what is to be shown of a job; a failure is shown once, until the job succeeds.

        What is done for other programs is only logged.
        """
        if job.kind in ("consolidate", "client_history"):
            self.log.warning("%s: %s %s", job.kind, notice.key, notice.details.get("error", ""))
            return
        error = notice.details.get("error")
        if isinstance(error, errors.OldFriendError) and job.kind != "compact":
            reported = (job.kind, job.key) in self._failures
            self._failures[job.kind, job.key] = _reason_of(error)
            if reported:
                return
        self.notices.append(notice)

    def _run_compaction(self, job: Job, cancel: CancelToken) -> Steps:
        yield from compact(self.memory, self.llm, job.key, cancel, shortened=job.payload == "shortened")
        return "done"

    def _read_forget_request(self, job: Job, cancel: CancelToken) -> Steps:
        from jobs.forgetting import read_forget_request

        yield from read_forget_request(self.memory, self.llm, job.key, job.payload.split(), cancel)
        self.queue.request_due()
        return "done"

    def _run_rebuild(self, job: Job, cancel: CancelToken) -> Steps:
        from jobs.rebuild import rebuild

        yield from rebuild(self.memory, self.llm, cancel)
        self.memory.jobs.request("chapters")
        return "left" if self.memory.rebuilds.due_requests() else "done"

    def _run_autosave(self, job: Job, cancel: CancelToken) -> Steps:
        from jobs.saving import Saved, Saving

        session = next((one for one in self.idle_sessions() if one.session_id == job.key), None)
        if session is None:
            return "done"
        self.saving = job.key
        try:
            for event in Saving(self.memory, self.llm).run(session, cancel, open_next=False):
                if isinstance(event, Saved):
                    self._count_saved()
                    self.memory.jobs.request("chapters")
                    if self._writes_diary:
                        self.memory.jobs.request("diary", session.session_id)
                yield event
        finally:
            self.saving = ""
            with self.memory.epoch.apart():
                self.memory.claims.release("session", session.session_id)
        return "done"

    def _count_saved(self) -> None:
        if self.notices and self.notices[-1].key == "opening.autosaved":
            before = self.notices.pop()
            self.notices.append(replace(before, details={"sessions": before.details["sessions"] + 1}))  # type: ignore[operator]
        else:
            self.notices.append(Notice("opening.autosaved", {"sessions": 1}))

    def _run_extraction(self, job: Job, cancel: CancelToken) -> Steps:
        from jobs.extraction import Extraction, only_notices

        all_of_it = any(session_id == job.key for session_id, _ in self._idle_unread())
        whole = yield from only_notices(Extraction(self.memory, self.llm).run(job.key, cancel, all_of_it=all_of_it))
        cancel.check()
        return "done" if whole else "left"

    def _verify_window(self, job: Job, cancel: CancelToken) -> Steps:
        """Ask what the words of quoted facts say, where the model did not answer when they were learned."""
        from jobs.extraction import Extraction

        try:
            Extraction(self.memory, self.llm).verify_window(job.key, cancel)
        except errors.ModelError as fault:
            yield Notice("extraction.failed", {"error": fault})
            return "left"
        return "done"

    def _run_consolidation(self, job: Job, cancel: CancelToken) -> Steps:
        from jobs.client_memories import consolidate

        return "done" if (yield from consolidate(self.memory, self.llm, job.key, cancel)) else "left"

    def _run_client_history(self, job: Job, cancel: CancelToken) -> Steps:
        from jobs.client_memories import ClientHistoryJob

        if not (yield from ClientHistoryJob(self.memory, self.llm, self.clock).run(cancel)):
            return "left"
        self.client_history_done(cancel)
        return "done"

    def _run_import_backlog(self, job: Job, cancel: CancelToken) -> Steps:
        """Read one session, with the chapters that this fills; what is urgent comes before the next."""
        from jobs.import_backlog import BacklogRead, ImportBacklog

        for event in ImportBacklog(self.memory, self.llm).run(cancel):
            if isinstance(event, BacklogRead):
                self.memory.jobs.request("imported_chapters")
                self.memory.jobs.request("chapters")
                return "again" if event.whole else "done"
            yield event
            if event.key == "import.backlog_failed":
                return "left"
        return "done"

    def _write_chapters(self, job: Job, cancel: CancelToken) -> Steps:
        from jobs.chapters import ChapterWriter

        events = list(ChapterWriter(self.memory, self.llm).run(cancel, only_past=job.kind == "imported_chapters"))
        yield from events
        return "left" if any(isinstance(one, Notice) and "error" in one.details for one in events) else "done"

    def _write_page(self, job: Job, cancel: CancelToken) -> Steps:
        from jobs.chapters import write_page

        try:
            write_page(self.memory, self.llm, job.key, cancel)
        except errors.ContentFiltered:
            return "done"
        except errors.ModelError as fault:
            yield Notice("diary.failed", {"error": fault})
            return "left"
        return "done"

    def _run_archiving(self, job: Job, cancel: CancelToken) -> Steps:
        yield from archive_surplus(self.memory, self.settings.forget_limit, cancel)
        return "done"


def _reason_of(error: errors.OldFriendError) -> str:
    """The key of an error with its numbers, as a job stores it. Its texts are left out: they may repeat messages."""
    numbers = {name: error.details[name] for name in ("status", "limit", "seconds") if error.details.get(name)}
    return f"{error.key} {json.dumps(numbers)}" if numbers else error.key


_HANDLERS: Mapping[JobKind, Callable[[Maintenance, Job, CancelToken], Steps]] = MappingProxyType({
    "forget_request": Maintenance._read_forget_request,
    "compact": Maintenance._run_compaction,
    "rebuild": Maintenance._run_rebuild,
    "autosave": Maintenance._run_autosave,
    "extract": Maintenance._run_extraction,
    "verify": Maintenance._verify_window,
    "consolidate": Maintenance._run_consolidation,
    "client_history": Maintenance._run_client_history,
    "imported_chapters": Maintenance._write_chapters,
    "import_backlog": Maintenance._run_import_backlog,
    "chapters": Maintenance._write_chapters,
    "diary": Maintenance._write_page,
    "archive": Maintenance._run_archiving,
})  # fmt: skip
