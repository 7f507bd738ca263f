"""Searching memory by a plan, and answering from it alone.

    plan -> search -> enough? -> search for what is missing -> answer

A model says what must be known and names up to four queries; all of them are searched for side by side within one
budget; then it looks, at most so often as the settings say, whether that is enough, and names what is missing. Where a
call fails or takes too long the plan is the question itself, and nothing else is different.

Promises: nothing of this is stored and the session is left alone; a wish to stop ends it at once; where nothing was
found no model is asked for an answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Timer

from domain import errors
from domain.events import AskEvent, MemoryAnswer, Recalled, Reply, ReplyEvent, Retrying, StreamEvent
from domain.languages import Language, language_of
from domain.recollection import Looked, Planned, Recollection, Reflected, SearchStep
from domain.settings import Settings
from domain.text import admitted, checked, holds, one_line
from domain.workers import Stop
from facts.reply_json import first_of, objects, truth_of
from llm import Llm
from memory import Memory
from models.search_prompts import SEARCH_TEMPLATES, SearchTask

#: How many queries a plan, and a look whether it is enough, may name, and how long one of them may be.
_MOST_PLANNED, _MOST_MISSING, _LONGEST_QUERY = 4, 3, 300
#: Seconds that somebody who waits for a reply waits for a plan and all that follows from it.
_PATIENCE = 30.0

#: The steps of a search, which ends with what was found.
Steps = Generator[SearchStep, None, Recollection]


@dataclass(frozen=True)
class _Sought:
    """What is searched for, as long as one search takes.

    ``before`` are the messages before the question. ``apart`` from the session: nothing said before it counts, and what
    stands in its context may be found. ``stop`` is the person's wish; ``hurried`` is set with it, or when time is up.
    """

    question: str
    session_id: str
    language: Language
    stop: Stop
    hurried: Stop
    before: tuple[str, ...] = ()
    apart: bool = True


class Asking:
    """Plans searches of one memory with one model. ``last`` is the last answer, for telling how it was found."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        llm: Llm,
        log: logging.Logger,
        clock: Callable[[], datetime],
        *,
        patience: float = _PATIENCE,
    ) -> None:
        self.last: MemoryAnswer | None = None
        self._settings = settings
        self._memory = memory
        self._llm = llm
        self._log = log
        self._clock = clock
        self._patience = patience

    def planned(
        self, said: str, before: Sequence[str], found: Recollection, session_id: str, stop: Stop
    ) -> Steps:
        """What a plan finds for a message, in place of what one search ``found``. Raises Interrupted."""
        if not self._anything_older(session_id):
            return found
        with _hurried(stop, self._patience) as hurried:
            language = language_of(said)
            sought = _Sought(said, session_id, language, stop, hurried, tuple(before), apart=False)
            plan = self._plan(sought)
            if plan is None or not _new(plan.queries, (said,)):
                return found
            return (yield from _noted(self._follow(plan, sought, found)))

    def answer(self, question: str, session_id: str, stop: Stop) -> Iterator[AskEvent]:
        """Answer a question from memory alone. The last event is ``MemoryAnswer``.

        Raises ModelError, Interrupted, UsageError (nothing to ask, or too much), StorageError.
        """
        sought = _Sought(admitted(question), session_id, language_of(question), stop, stop)
        found = yield from _noted(self._searched(sought))
        stop.check()
        yield Recalled(found)
        reply = (yield from self._told(sought, found)) if found else None
        self.last = MemoryAnswer(sought.question, found, reply, reply is not None and _known(reply, found))
        yield self.last

    # -- searching ---------------------------------------------------------------------------------------------

    def _searched(self, sought: _Sought) -> Steps:
        """A question is planned whenever anything is remembered and planning is not off."""
        plan, worth = None, any(self._memory.sessions.counts())
        if worth and self._settings.recall_planning != "off":
            plan = self._plan(sought)
        plan = plan or Planned((), (sought.question,))
        return (yield from self._follow(plan, sought, Recollection()))

    def _follow(self, plan: Planned, sought: _Sought, found: Recollection) -> Steps:
        """Search for what a plan names, and then for what is missing."""
        yield plan
        queries = (sought.question, *_new(plan.queries, (sought.question,)))
        found = yield from self._looked(queries, sought, found)
        for _ in range(self._settings.reflection_rounds if found and plan.needs else 0):
            reflected = self._reflect(sought, queries, found)
            if reflected is None:
                break
            yield reflected
            if not reflected.queries:
                break
            queries += reflected.queries
            found = yield from self._looked(queries, sought, found)
        return found

    def _looked(self, queries: Sequence[str], sought: _Sought, before: Recollection) -> Steps:
        """All queries searched for at once; what was found ``before`` stays where that finds nothing."""
        found = self._memory.recall(
            queries,
            sought.session_id,
            self._clock(),
            self._settings.recall_limits,
            recent=sought.before,
            apart=True,
            besides_context=not sought.apart,
        )
        found = found or before
        known = {turn.text_id for turn in before.turns}
        hits = [turn.text_id for turn in found.turns if turn.hit]
        yield Looked(len(hits), len([text_id for text_id in hits if text_id not in known]))
        return found

    def _anything_older(self, session_id: str) -> bool:
        """Whether anything was said that does not stand in the context."""
        _, rounds = self._memory.sessions.counts()
        return rounds > len(self._memory.messages.context(session_id))

    # -- asking the model --------------------------------------------------------------------------------------

    def _plan(self, sought: _Sought) -> Planned | None:
        """What a model would look for; None where it gives no plan."""
        known = {"said_before": sought.before}
        said = self._said("plan", sought, Recollection(), known)
        if said is None:
            return None
        needs, queries = _lines(said, "needs"), _lines(said, "queries", "questions", "searches")
        return Planned(needs or queries, queries[:_MOST_PLANNED])

    def _reflect(self, sought: _Sought, queries: Sequence[str], found: Recollection) -> Reflected | None:
        """Whether a model finds this enough, and what is new to look for where not; None where it does not say."""
        said = self._said("reflect", sought, found, {"searched_for": queries})
        if said is None:
            return None
        new = _new(_lines(said, "queries", "searches"), queries)[:_MOST_MISSING]
        if truth_of(said.get("enough"), otherwise=not new):
            return Reflected(enough=True)
        return Reflected(enough=False, missing=_lines(said, "missing"), queries=new)

    def _said(
        self, task: SearchTask, sought: _Sought, found: Recollection, known: Mapping[str, Sequence[str]]
    ) -> Mapping[str, object] | None:
        """The object that a model answers; None where the call fails or takes too long. Raises Interrupted."""
        names = self._memory.names()
        events = self._llm.search(task, sought.question, found, sought.language, sought.hurried, known, names)
        try:
            said = objects(_reply_of(events).text)
        except (errors.ModelError, errors.Interrupted) as fault:
            sought.stop.check()
            self._log.warning("%s: it goes on without (%s)", task, fault)
            return None
        sought.stop.check()
        return said or None

    def _told(self, sought: _Sought, found: Recollection) -> Generator[StreamEvent, None, Reply]:
        names = self._memory.names()
        for event in self._llm.search(
            "answer", sought.question, found, sought.language, sought.stop, {}, names
        ):
            if isinstance(event, Reply):
                return event
            yield event
        raise errors.BadReply("model.no_reply")


def _known(reply: Reply, found: Recollection) -> bool:
    """Whether an answer knows: it says that memory holds none only beside a quotation of what it holds, if at all."""
    unknown = any(holds(reply.text, templates.unknown) for templates in SEARCH_TEMPLATES.values())
    return not unknown or bool(checked(reply.text, found))


def _noted(steps: Steps) -> Steps:
    """The same steps; what they find tells them."""
    noted: list[SearchStep] = []
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            found: Recollection = end.value
            return replace(found, steps=tuple(noted))
        noted.append(step)
        yield step


def _reply_of(events: Iterable[ReplyEvent]) -> Reply:
    """The whole reply of one try: nobody waits for another one."""
    for event in events:
        if isinstance(event, Retrying):
            raise event.error
        if isinstance(event, Reply) and event.finish != "interrupted":
            return event
    raise errors.Interrupted


@contextmanager
def _hurried(stop: Stop, seconds: float) -> Iterator[Stop]:
    """A wish to stop that comes with ``stop``, or when the time is up."""
    hurried = Stop()
    timer = Timer(seconds, hurried.set)
    timer.daemon = True
    with stop.calling(hurried.set):
        timer.start()
        try:
            yield hurried
        finally:
            timer.cancel()


def _lines(said: Mapping[str, object], *names: str) -> tuple[str, ...]:
    """A list of lines under one of these names; one line alone is a list too."""
    value = first_of(said, *names)
    listed = value if isinstance(value, list) else [value]
    lines = (first_of(one, "query", "text", "need") if isinstance(one, dict) else one for one in listed)
    kept = (one_line(line, _LONGEST_QUERY) for line in lines if isinstance(line, str))
    return tuple(dict.fromkeys(line for line in kept if line))


def _new(queries: Sequence[str], before: Sequence[str]) -> tuple[str, ...]:
    """The queries that were not searched for before."""
    known = {query.casefold().strip() for query in before}
    return tuple(query for query in queries if query.casefold().strip() not in known)
