"""Search memory by a plan, and answer a question from memory alone.

    plan -> search -> enough? -> search for what is missing -> answer

A model says what must be known and names up to four queries, which are searched together within one budget. It then
checks, at most as often as the settings allow, whether the result is enough, and names what is missing. If a call fails
or takes too long, the plan is the question itself.

Guarantees: nothing is stored and the session is unchanged; cancelling ends it at once; without results no model is
asked for an answer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Timer

from domain import errors
from domain.events import AskEvent, MemoryAnswer, Recalled, Reply, ReplyEvent, Retrying, StreamEvent
from domain.quotations import check_quotations, contains_quotation
from domain.recollection import Recollection, SearchOutcome, SearchPlan, SearchReview, SearchStep
from domain.settings import Settings
from domain.text import check_input, one_line
from domain.workers import CancelToken
from facts.reply_json import first_of, read_object, truth_of
from language.scripts import Language, language_of
from llm import Llm
from memory import Memory
from prompts import TEMPLATES, SearchTask

#: How many queries a plan, and a look whether it is enough, may name, and how long one of them may be.
_MOST_PLANNED, _MOST_MISSING, _LONGEST_QUERY = 4, 3, 300
#: Seconds that a plan, with its searches, may delay a reply.
_PATIENCE = 30.0

#: The steps of a search, which ends with what was found.
Steps = Generator[SearchStep, None, Recollection]


@dataclass(frozen=True)
class _Search:
    """One search.

    ``before`` are the messages before the question. ``apart`` from the session: messages before it do not count, and
    those in its context may be found. ``hurried`` is set with ``cancel``, or when time is up.
    """

    question: str
    session_id: str
    language: Language
    cancel: CancelToken
    hurried: CancelToken
    before: tuple[str, ...] = ()
    apart: bool = True


class Asking:
    """Plans searches of one memory with one model. ``last`` is the last answer, to show how it was found."""

    def __init__(self, settings: Settings, memory: Memory, llm: Llm, *, patience: float = _PATIENCE) -> None:
        self.last: MemoryAnswer | None = None
        self._settings = settings
        self._memory = memory
        self._llm = llm
        self._log, self._clock = llm.log, llm.clock
        self._patience = patience

    def search_by_plan(
        self, said: str, before: Sequence[str], found: Recollection, session_id: str, cancel: CancelToken
    ) -> Steps:
        """What a plan finds for a message, instead of what one search ``found``. Raises Interrupted."""
        with _with_deadline(cancel, self._patience) as hurried:
            language = language_of(said)
            search = _Search(said, session_id, language, cancel, hurried, tuple(before), apart=False)
            plan = self._make_plan(search)
            if plan is None or not _drop_known(plan.queries, (said,)):
                return found
            return (yield from _with_steps(self._follow_plan(plan, search, found)))

    def answer_question(self, question: str, session_id: str, cancel: CancelToken) -> Iterator[AskEvent]:
        """Answer a question from memory alone. The last event is ``MemoryAnswer``.

        Raises ModelError, Interrupted, UsageError (nothing to ask, or too much), StorageError.
        """
        search = _Search(check_input(question), session_id, language_of(question), cancel, cancel)
        # A question is planned whenever anything is remembered and planning is not off.
        plan, worth = None, any(self._memory.sessions.counts())
        if worth and self._settings.recall_planning != "off":
            plan = self._make_plan(search)
        plan = plan or SearchPlan((), (search.question,))
        found = yield from _with_steps(self._follow_plan(plan, search, Recollection()))
        cancel.check()
        yield Recalled(found)
        reply = (yield from self._write_answer(search, found)) if found else None
        # An answer that says that nothing is known knows all the same if it quotes something from memory.
        unknown = reply and any(contains_quotation(reply.text, templates.unknown) for templates in TEMPLATES.values())
        knows = reply is not None and (not unknown or bool(check_quotations(reply.text, found)))
        self.last = MemoryAnswer(found, reply, knows)
        yield self.last

    # -- searching ---------------------------------------------------------------------------------------------

    def _follow_plan(self, plan: SearchPlan, search: _Search, found: Recollection) -> Steps:
        yield plan
        queries = (search.question, *_drop_known(plan.queries, (search.question,)))
        found = yield from self._search_all(queries, search, found)
        for _ in range(self._settings.reflection_rounds if found and plan.needs else 0):
            reflected = self._review_results(search, queries, found)
            if reflected is None:
                break
            yield reflected
            if not reflected.queries:
                break
            queries += reflected.queries
            found = yield from self._search_all(queries, search, found)
        return found

    def _search_all(self, queries: Sequence[str], search: _Search, before: Recollection) -> Steps:
        """Search for all queries at once; return what was found ``before`` if that finds nothing."""
        found = self._memory.recall(
            queries,
            search.session_id,
            self._clock(),
            self._settings.recall_limits,
            recent=search.before,
            apart=True,
            besides_context=not search.apart,
        )
        found = found or before
        known = {message.text_id for message in before.messages}
        hits = [message.text_id for message in found.messages if message.hit]
        yield SearchOutcome(len(hits), len([text_id for text_id in hits if text_id not in known]))
        return found

    # -- asking the model --------------------------------------------------------------------------------------

    def _make_plan(self, search: _Search) -> SearchPlan | None:
        """What a model would search for; None if it gives no plan."""
        said = self._ask_model("plan", search, Recollection(), {"said_before": search.before})
        if said is None:
            return None
        needs, queries = _read_lines(said, "needs"), _read_lines(said, "queries", "questions", "searches")
        return SearchPlan(needs or queries, queries[:_MOST_PLANNED])

    def _review_results(self, search: _Search, queries: Sequence[str], found: Recollection) -> SearchReview | None:
        """Whether a model finds this enough, or what else to search for; None if it does not say."""
        said = self._ask_model("reflect", search, found, {"searched_for": queries})
        if said is None:
            return None
        new = _drop_known(_read_lines(said, "queries", "searches"), queries)[:_MOST_MISSING]
        if truth_of(said.get("enough"), otherwise=not new):
            return SearchReview(enough=True)
        return SearchReview(enough=False, missing=_read_lines(said, "missing"), queries=new)

    def _ask_model(
        self, task: SearchTask, search: _Search, found: Recollection, known: Mapping[str, Sequence[str]]
    ) -> Mapping[str, object] | None:
        """The object that a model answers; None where the call fails or takes too long. Raises Interrupted."""
        names = self._memory.names()
        events = self._llm.search(task, search.question, found, search.language, search.hurried, known, names)
        try:
            said = read_object(_reply_of(events).text)
        except (errors.ModelError, errors.Interrupted) as fault:
            search.cancel.check()
            self._log.warning("%s: it goes on without (%s)", task, fault)
            return None
        search.cancel.check()
        return said or None

    def _write_answer(self, search: _Search, found: Recollection) -> Generator[StreamEvent, None, Reply]:
        names = self._memory.names()
        for event in self._llm.search("answer", search.question, found, search.language, search.cancel, {}, names):
            if isinstance(event, Reply):
                return event
            yield event
        raise errors.BadReply("model.no_reply")


def _with_steps(steps: Steps) -> Steps:
    steps_taken: list[SearchStep] = []
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            found: Recollection = end.value
            return replace(found, steps=tuple(steps_taken))
        steps_taken.append(step)
        yield step


def _reply_of(events: Iterable[ReplyEvent]) -> Reply:
    """The whole reply of one try, without retries."""
    for event in events:
        if isinstance(event, Retrying):
            raise event.error
        if isinstance(event, Reply) and event.finish != "interrupted":
            return event
    raise errors.Interrupted


@contextmanager
def _with_deadline(cancel: CancelToken, seconds: float) -> Iterator[CancelToken]:
    """A token that is set with ``cancel``, or when the time is up."""
    hurried = CancelToken()
    timer = Timer(seconds, hurried.set)
    timer.daemon = True
    with cancel.calling(hurried.set):
        timer.start()
        try:
            yield hurried
        finally:
            timer.cancel()


def _read_lines(said: Mapping[str, object], *names: str) -> tuple[str, ...]:
    """A list of lines under one of these names; one line alone is a list too."""
    value = first_of(said, *names)
    listed = value if isinstance(value, list) else [value]
    lines = (first_of(one, "query", "text", "need") if isinstance(one, dict) else one for one in listed)
    kept = (one_line(line, _LONGEST_QUERY) for line in lines if isinstance(line, str))
    return tuple(dict.fromkeys(line for line in kept if line))


def _drop_known(queries: Sequence[str], before: Sequence[str]) -> tuple[str, ...]:
    known = {query.casefold().strip() for query in before}
    return tuple(query for query in queries if query.casefold().strip() not in known)
