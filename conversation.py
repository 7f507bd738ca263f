"""One turn, from what a person says to the stored reply, for every interface; and a session with what is done in it.

``TurnSteps`` prepares, answers and stores a turn: of a session of ours, or of a chat that a client holds itself; what
differs is in the ``TurnRequest``. ``Conversation`` takes turns in one session, and compacts, saves, clears and undoes.

Promises: what was said is stored before a model is asked; a failed call changes nothing; a reply that was cut off is
stored only marked as such; the next input never meets half a compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeVar

from domain import errors
from domain.events import Notice, Opening, Recalled, Replied, Reply, TurnEvent
from domain.facts import SessionChanges
from domain.matters import OPEN, OpenMatter
from domain.quotations import check_quotations, without_quotations
from domain.receipts import ErasedMeanwhile
from domain.recollection import Recollection
from domain.records import (
    IMPORT_CLIENT,
    PERSONAS,
    PREFIX,
    ErasureScope,
    Finish,
    Persona,
    Removed,
    Round,
    Session,
    make_unstored_round,
    without_hidden,
)
from domain.settings import Settings
from domain.text import check_input
from domain.workers import CancelToken
from jobs.asking import Asking
from jobs.maintenance import Maintenance
from language.scripts import Language, estimate, language_of, language_of_address
from llm import Layers, Llm, ModelAnswer, PromptMessage, annotated_persona, ids_shown, matter_records, names_for_prompt
from memory import Memory
from prompts import TEMPLATES
from storage.rounds import VoiceState

if TYPE_CHECKING:
    from client_history import ClientHistory, ClientMessage, HistoryPlace, StoredRequest
    from domain.facts import Fact, NewFact
    from jobs.forgetting import ForgetOutcome
    from jobs.greeting import Greeting
    from jobs.rebuild import EraseEvent
    from jobs.saving import SaveEvent

#: What else a turn is made of, for whoever takes one.
__all__ = ["Opening", "Recalled", "Replied", "TurnEvent"]

_T = TypeVar("_T")
#: How many messages before the input are looked at for what "she" and "that" mean.
_RECENT = 5
#: Where nothing was said yet in this session: so many rounds of the newest of so many others.
_ROUNDS_BACK, _SESSIONS_BACK = 3, 4
#: So many things that are near in time are in one prompt.
_MOST_NEAR = 3
#: A pause of this length is worth mentioning, to the person and to the model.
LARGE_GAP = timedelta(hours=6)

#: Where memories come from: everything that was said, what is extracted from a client's history (as the chat API's
#: clients know it: 0.7 of likeness, 0.3 of importance), or nowhere.
Ranking = Literal["messages", "client_notes", "none"]


@dataclass(frozen=True)
class ClientChat:
    """A conversation that a client holds itself and sends with each request.

    ``client`` is the mark of its sessions, ``name`` what the client calls it, ``instruction`` a system prompt in the
    place of ours, which is alone then; ``longest`` how many messages may be sent on before only the ``last`` ones are.
    """

    client: str
    messages: Sequence[ClientMessage]
    name: str | None = None
    instruction: str | None = None
    longest: int = 0
    last: int = 0


@dataclass(frozen=True)
class TurnRequest:
    """What is said in a turn, and where: in a session of ours after these ``rounds``, or in the ``chat`` of a client.

    ``text`` is what the person says, ``replaced`` the round that the new one takes the place of, ``before`` what both
    said before it. ``plan``: a search may be planned by the model. ``options`` go to the model: a temperature, how many
    tokens the reply may have. ``watched``: somebody sees the words come, and keeps those that came before a connection
    broke. ``greeting`` is what the companion said first, which this answers; ``coming`` what is near in time and may
    come up; ``epoch`` is that of the erasures when the first of its prompt was read.
    """

    text: str
    started: str
    session_id: str
    before: tuple[tuple[str, str], ...] = ()
    rounds: tuple[Round, ...] = ()
    replaced: Round | None = None
    chat: ClientChat | None = None
    place: HistoryPlace | None = None
    ranking: Ranking = "messages"
    plan: bool = False
    stream: bool = False
    watched: bool = False
    in_flight: bool = False
    options: Mapping[str, float] = field(default_factory=dict)
    greeting: Greeting | None = None
    coming: tuple[OpenMatter, ...] = ()
    epoch: int | None = None


@dataclass(frozen=True)
class PreparedTurn:
    """A turn before the model is asked."""

    request: TurnRequest
    layers: Layers
    voice: VoiceState | None = None

    @property
    def recalled(self) -> Recollection:
        """What was recalled for it."""
        return self.layers.recalled


@dataclass(frozen=True)
class StoredTurn:
    """A turn that is stored, and what it asks to have forgotten.

    ``place``: its place in the history of its client, if it has one.
    """

    round: Round
    forget: ForgetOutcome
    place: StoredRequest | None = None


@dataclass(frozen=True)
class LastTurn:
    """The last turn in full: what was recalled, and what was sent and came back."""

    recollection: Recollection
    answered: ModelAnswer


def result_of(steps: Generator[object, None, _T]) -> _T:
    """What steps result in, for interfaces that show no events on the way."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: _T = end.value
            return found


class TurnSteps:
    """The steps of a turn with one memory, the same for every interface: prepare, answer, store.

    It keeps nothing but what was already said of recall that has to do without one of its parts.
    """

    def __init__(self, settings: Settings, memory: Memory, llm: Llm) -> None:
        self.settings = settings
        self.memory = memory
        self.llm = llm
        self.log, self.clock = llm.log, llm.clock
        self.asking = Asking(settings, memory, llm)
        self._limits = settings.recall_limits
        self._known_degraded: set[str] = set()
        self._index_missing = False
        self._truncated_reported = False

    # -- the request ---------------------------------------------------------------------------------------------

    def now(self) -> str:
        """The time, as messages carry it."""
        return self.clock().isoformat(timespec="seconds")

    def history(self, client: str) -> ClientHistory:
        """The sessions of a kind of client."""
        from client_history import ClientHistory

        return ClientHistory(self.memory, client, self.clock, archive_after=self.settings.archive_after)

    def client_request(self, chat: ClientChat, *, ranking: Ranking = "messages") -> TurnRequest:
        """The newest message of a client's chat as a turn. Raises ValueError where the person said nothing in it."""
        place = self.history(chat.client).find_place(chat.name, chat.messages)
        newest = place.asked[-1].message
        said = [one for one in chat.messages[:newest] if one.role in PREFIX and one.text.strip()]
        return TurnRequest(
            place.present.text, self.now(), place.session_id or "",
            before=tuple((one.role, one.text) for one in said[-_RECENT - 1 :]),
            chat=chat, place=place, ranking=ranking,
        )  # fmt: skip

    # -- prepare -------------------------------------------------------------------------------------------------

    def prepare(self, request: TurnRequest, stop: CancelToken) -> Generator[TurnEvent, None, PreparedTurn]:
        """Recall what matters, and lay out what the model is shown. Raises Interrupted."""
        if request.epoch is None:
            request = replace(request, epoch=self.memory.epoch.number())
        recollection = yield from self._recall(request, stop)
        stop.check()
        yield Recalled(recollection)
        voice = self.memory.voice.state()
        return PreparedTurn(request, self.lay_out(request, recollection, voice), voice)

    def _recall(self, request: TurnRequest, stop: CancelToken) -> Generator[TurnEvent, None, Recollection]:
        if request.ranking == "none":
            return Recollection()
        if request.ranking == "client_notes":
            from jobs.client_memories import recall_client_notes

            notes = recall_client_notes(self.memory, self.llm, request.text)
            return Recollection(notes=tuple(self.memory.shown.client_notes(notes)))
        from recall.questions import build_queries, wants_plan

        said = [without_quotations(words) for _, words in request.before[-_RECENT - 1 :]]
        text, recent, session_id = request.text, said[-_RECENT:], request.session_id
        try:
            limits = self._limits
            if request.coming:
                near = sum(map(estimate, matter_records(request.coming, "en", self.clock(), "")))
                limits = replace(limits, tokens=max(1, limits.tokens - near))
            found = self.memory.recall(build_queries(said, text), session_id, self.clock(), limits, recent=recent)
            planned = request.plan and not found.chapters
            planned = planned and wants_plan(self.settings.recall_planning, text, len(found.ranked))
            if planned and self.memory.sessions.counts()[1] > len(self.memory.messages.context(session_id)):
                found = yield from self.asking.search_by_plan(text, recent, found, session_id, stop)
        except errors.StorageError as fault:
            self.log.error("recall failed", exc_info=fault)
            yield Notice("recall.failed", {"reason": str(fault)})
            return Recollection(degraded=("words", "index"))
        # Said once when recall has to do without one of its parts, and once more when another one fails.
        missing: set[str] = set(found.degraded)
        opening, self._index_missing = not self._index_missing, "index" in missing
        if opening:
            missing.discard("index")  # it opens right after the start; reported when the next turn misses it too
        if new := missing - self._known_degraded:
            yield Notice("recall.degraded", {"parts": tuple(sorted(new))})
        self._known_degraded = missing
        yield from self.llm.take_notices()
        return found

    def lay_out(self, request: TurnRequest, recollection: Recollection, voice: VoiceState) -> Layers:
        """What a model is shown for a turn."""
        memory, now = self.memory, self.clock()
        user_image, names = memory.personas.read("user"), memory.names()
        # The language of the prompt; the reply is in that of the message all the same.
        said = [words for role, words in request.before if role == "user"] or self._said_last(request.session_id)
        said += [one.text for one in recollection.messages if one.role == "user" and not one.speaker]
        language = language_of_address(user_image, said, request.text)
        personas, summary = memory.shown_layers(request.session_id)
        model = self.llm.described.model
        person = self.settings.user_name or names.person_called
        layers = Layers(
            request.text, now, language,
            self_image=annotated_persona(*personas["self"]), user_image=annotated_persona(*personas["user"]),
            recalled=recollection,
            examples=tuple(memory.voice.examples(voice, model, request.text)),
            said_before=tuple(one.believed for one in memory.facts.with_ids(voice.contradicted)),
            companion=self.settings.companion_name or names.companion_called,
            person=person,
            greeting=request.greeting.text if request.greeting else "", coming=request.coming,
        )  # fmt: skip
        if request.chat:
            messages = self._client_messages(request, request.chat, language)
            if request.chat.instruction is not None:
                layers = replace(layers, self_image="", user_image="", examples=(), said_before=())
                layers = replace(layers, instruction=request.chat.instruction)
            return replace(layers, client=messages)
        templates = TEMPLATES[language]
        return replace(
            layers,
            summary=summary,
            rounds=tuple(
                one.with_words(templates.hidden, templates.hidden_reply) if one.hidden else one
                for one in request.rounds
            ),
            last_spoken=memory.previous_round_end(request.session_id, request.rounds, now, LARGE_GAP),
        )

    def _said_last(self, session_id: str) -> list[str]:
        """What the person said last in the session before this one."""
        before = (one for one in self.memory.sessions.recent(_SESSIONS_BACK) if one.session_id != session_id)
        own = (one for one in before if one.client != IMPORT_CLIENT)
        spoken = (self.memory.messages.rounds(one.session_id, _ROUNDS_BACK) for one in own)
        return [one.user.words for one in next(filter(None, spoken), ())]

    def _client_messages(self, request: TurnRequest, chat: ClientChat, language: Language) -> tuple[PromptMessage, ...]:
        """The messages of a client, but for what the person asked to have forgotten; of very many the last ones."""
        hidden: Collection[int] = ()
        if request.place:
            hidden = self.history(chat.client).hidden_messages(request.place, len(chat.messages))
        templates = TEMPLATES[language]
        instead = {"user": templates.hidden, "assistant": templates.hidden_reply}
        messages = [
            PromptMessage(one.role, instead.get(one.role, one.text) if number in hidden else one.text)  # type: ignore[arg-type]
            for number, one in enumerate(chat.messages)
        ]
        return tuple(messages[-chat.last :] if len(messages) > chat.longest else messages)

    # -- answer --------------------------------------------------------------------------------------------------

    def answer(self, prepared: PreparedTurn, stop: CancelToken) -> Generator[TurnEvent, None, ModelAnswer]:
        """Ask the model. Raises ModelError (nothing is stored), Interrupted, ErasedMeanwhile as ``store`` does."""
        request = prepared.request

        def keep_partial(shown: str) -> None:
            if request.in_flight:
                with self.memory.in_one_commit():
                    self.memory.epoch.require(request.epoch)
                    self.memory.sessions.keep_partial(request.session_id, shown)

        answered = yield from self.llm.answer(
            prepared.layers, stop, stream=request.stream, keep_partial=keep_partial, watched=request.watched,
            options=request.options,
        )  # fmt: skip
        if answered.reply.truncated and not self._truncated_reported:
            self._truncated_reported = True
            yield Notice("turn.truncated", {"tokens": answered.reply.prompt_tokens})
        model = self.llm.described.model
        if prepared.layers.examples and prepared.voice and prepared.voice.is_left_by(model):
            said, reply = prepared.layers.examples[0]
            yield Notice("models.before", {"said": said, "reply": reply})
        return answered

    # -- store ---------------------------------------------------------------------------------------------------

    def store(self, prepared: PreparedTurn, text: str, finish: Finish) -> StoredTurn:
        """Store the round, with which of its quotations are in a memory, and hide what the person asks to have
        forgotten, in one commit.

        Raises ErasedMeanwhile where the prompt may hold what was erased since, and the turn is to be taken again;
        StorageError, ValueError where nothing was said.
        """
        request, chat = prepared.request, prepared.request.chat
        recalled, demo = prepared.layers.recalled, self.settings.demo
        quoted, served = check_quotations(text, recalled), ids_shown(recalled)
        with self.memory.in_one_commit():
            self.memory.epoch.require(request.epoch)
            place = None
            if prepared.voice and not demo:
                self.memory.voice.store_turn(prepared.voice, self.llm.described.model)
            if chat:
                place = self.history(chat.client).store_request(
                    chat.name, chat.messages, text, finish, request.started,
                    quoted=quoted, demo=demo, served=served,
                )  # fmt: skip
                spoken = place.round
            else:
                session_id, replaced = request.session_id, request.replaced
                if not self.memory.sessions.is_open(session_id):  # another program has archived or erased it
                    session_id, replaced = self.memory.sessions.start().session_id, None
                spoken = self.memory.rounds.store(
                    session_id, request.text, text, request.started, finish, instead_of=replaced,
                    quoted=quoted, demo=demo, served=served,
                    greeting=(request.greeting.at, request.greeting.text) if request.greeting else None,
                )  # fmt: skip
                self._note_brought_up(request)
            forget = self.hide_forgotten(spoken)
        return StoredTurn(spoken, forget, place)

    def _note_brought_up(self, request: TurnRequest) -> None:
        """Note that the person answered what the companion said first, and what was in the prompt as near."""
        matters = self.memory.matters
        if request.greeting:
            from facts.matters import refuses

            matters.set_greeting(request.greeting.at, 0)
            for one in request.greeting.matters:
                if refuses(request.text, one):
                    matters.set_status(one.number, "dropped", one.yearly, one.next_review)
        if request.coming:
            matters.note_shown(one.number for one in request.coming)

    def hide_forgotten(self, spoken: Round, unwritten: Sequence[Round] = ()) -> ForgetOutcome:
        """Hide what a round asks to have forgotten; no later prompt holds it. A model reads the request later."""
        from jobs.forgetting import follow_forget_request

        return follow_forget_request(self.memory, spoken, unwritten, readable=not self.settings.demo)


class Conversation:
    """One session, and everything a person can do in it. Two conversations share nothing but the memory."""

    def __init__(
        self,
        steps: TurnSteps,
        session: Session,
        *,
        new_id: Callable[[], str],
        resumed: bool = False,
        incognito: bool = False,
        maintenance: Maintenance | None = None,
    ) -> None:
        self.settings, self.memory, self.llm = settings, memory, llm = steps.settings, steps.memory, steps.llm
        self.steps = steps
        self.recalling = True
        self.last: LastTurn | None = None
        #: What the companion said first and the person has not answered yet.
        self.greeting: Greeting | None = None
        #: The epoch of the erasures when it was made.
        self._greeting_epoch = 0
        #: Whether nothing is near in time that was in no prompt yet, as far as is known in this session.
        self._nothing_near = False
        #: The messages of which it is in doubt whether they are to be hidden.
        self.in_doubt: tuple[str, ...] = ()
        self._clock = steps.clock
        self._new_id = new_id
        #: The rounds of a time in which nothing is written; None while everything is.
        self._unwritten: list[Round] | None = [] if incognito else None
        #: Set when a prompt had to be shortened: the context is compacted however few rounds it has.
        self._shortened = False
        self._owns_maintenance = maintenance is None
        self.maintenance = maintenance or Maintenance(settings, memory, llm)
        self.undoing = Undoing(memory)
        self.session, self._resumed = session, resumed
        memory.claims.take("session", session.session_id)

    # -- opening -----------------------------------------------------------------------------------------------

    def open(self) -> Opening:
        """The session as it stands, for showing it."""
        rounds = self.memory.messages.rounds(self.session.session_id, self.settings.max_conv_num)
        gap = self._clock() - datetime.fromisoformat(rounds[-1].assistant.timestamp) if rounds else timedelta()
        return Opening(
            self.session, self._resumed, rounds,
            self.memory.sessions.in_flight(self.session.session_id),
            gap if gap >= LARGE_GAP else None, self.memory.sessions.counts()[1], self.memory.last_round_end(),
            len(self.maintenance.idle_sessions()),
            SessionChanges() if rounds else self.memory.changes_of_previous_session(self.session.session_id),
        )  # fmt: skip

    def switch_to(self, session: Session, *, resumed: bool) -> Opening:
        """Go on in another session. Raises UsageError where another program has it."""
        if not self.memory.claims.take("session", session.session_id):
            raise errors.UsageError("session.in_use")
        with self.maintenance.paused():
            self.session, self._resumed, self.last = session, resumed, None
            self.greeting, self._nothing_near = None, False
            self.steps.asking.last = None
        self.undoing.clear()
        return self.open()

    # -- speaking first ------------------------------------------------------------------------------------------

    def greet(self, stop: CancelToken, patience: float | None = None) -> Iterator[Greeting]:
        """Speak first, where something is due: the greeting as it grows, a sentence at a time; nothing in most cases.

        It is stored with the next turn, which answers it. No model has ``patience`` seconds: nothing. Raises
        StorageError.
        """
        from jobs import greeting

        wanted = self.settings.greeting and not self.settings.demo and self._unwritten is None
        with self.memory.epoch.working() as self._greeting_epoch:
            due = greeting.find_due(self.memory, self._clock()) if wanted else ()
            if not due:
                return
            layers = self.steps.lay_out(
                self._request("", self.steps.now(), again=False), Recollection(), self.memory.voice.state()
            )
            for said in greeting.greet(self.memory, self.llm, layers, due, stop, patience or greeting.PATIENCE):
                self.greeting = said
                yield said

    def _near(self) -> tuple[OpenMatter, ...]:
        """What is near in time and was in no prompt yet, and not in what the companion said first.

        It is read again for each prompt, since its words may be hidden, erased or read by then; not once there is none.
        """
        if self._nothing_near or self._unwritten is not None:
            return ()
        near: list[OpenMatter] = []
        said = {one.number for one in self.greeting.matters} if self.greeting else set()
        waiting = [one for one in self.memory.matters.with_status(OPEN) if one.number not in said]
        if waiting:
            from facts.openings import coming_up

            now = self._clock()
            waiting = coming_up(waiting, now) or [one for one in waiting if "unclear" in one.yearly]
            # What was said since, also in the last turn, may have settled it, or named its calendar.
            if waiting:
                open_now = self.memory.open_matters(now, to_bring_up=True)
                near = [one for one in coming_up(open_now, now) if one.number not in said]
        self._nothing_near = not waiting
        return tuple(near[:_MOST_NEAR])

    # -- a turn ------------------------------------------------------------------------------------------------

    def turn(
        self, said: str, stop: CancelToken, *, stream: bool = True, again: bool = False, watched: bool = False
    ) -> Iterator[TurnEvent]:
        """Say something and get a reply. The last event is ``Replied``.

        ``again``: the new round takes the place of the last one, as soon as its reply is there.

        Raises ModelError (nothing was stored; what was said stays in flight), Interrupted (stopped before anything was
        shown), UsageError (nothing to say, or too much), StorageError.
        """
        text, started = check_input(said), self.steps.now()
        if self._unwritten is None:
            self.memory.sessions.note_in_flight(self.session.session_id, text)
        yield from self._wait_for_compaction(stop)
        stored = None
        while stored is None:
            with self.memory.epoch.working() as epoch:
                request = self._request(text, started, again=again)
                request = replace(request, stream=stream, watched=watched, coming=self._near(), epoch=epoch)
                prepared = yield from self.steps.prepare(request, stop)
                try:
                    answered = yield from self.steps.answer(prepared, stop)
                    stored = self._store(prepared, answered.reply)
                except ErasedMeanwhile:
                    yield Notice("turn.erased_meanwhile")
        self._shortened = self._shortened or answered.shortened
        recalled = prepared.layers.recalled
        self.last, self.steps.asking.last = LastTurn(recalled, answered), None
        if (where := stored.round.user.session_id) != self.session.session_id:
            self.session = self.memory.sessions.require(where)
            yield Notice("session.moved", {"id": where})
        if stored.forget.reading:
            self.maintenance.queue.compaction.wake()
        if stored.forget.notice:
            yield self._note_question(stored.forget.notice)
        yield Replied(stored.round, answered.reply, recalled)

    def _request(self, text: str, started: str, *, again: bool) -> TurnRequest:
        rounds = self.rounds_in_context()
        replaced = rounds[-1] if again and rounds else None
        before = rounds[:-1] if replaced else rounds
        messages = [message for one in without_hidden(before) for message in one.messages if not message.demo]
        return TurnRequest(
            text, started, self.session.session_id,
            before=tuple((message.role, message.words) for message in messages),
            rounds=before, replaced=replaced,
            ranking="messages" if self.recalling else "none",
            plan=True, in_flight=self._unwritten is None, greeting=self._greeting_before(replaced),
        )  # fmt: skip

    def _greeting_before(self, replaced: Round | None) -> Greeting | None:
        """What the companion said first and the input answers; of a round that is replaced it stays.

        It is dropped once anything was erased since, or what it brought up is hidden.
        """
        if self.greeting and (
            self.memory.epoch.number() != self._greeting_epoch
            or not self.memory.matters.are_visible([one.number for one in self.greeting.matters])
        ):
            self.greeting = None
        if self.greeting or replaced is None or replaced.greeting is None or replaced.hidden:
            return self.greeting
        from jobs.greeting import Greeting

        return Greeting(replaced.greeting.timestamp, replaced.greeting.words, (), "", "", ())

    def _wait_for_compaction(self, stop: CancelToken) -> Generator[Notice, None, None]:
        """A fold that is under way is waited for; a session that outgrew its context is folded first."""
        while not self.maintenance.queue.compaction.idle.is_set():
            if stop.wait(0.05):
                raise errors.Interrupted
        yield from self._take_notices()

    def persona(self, persona: Persona) -> str:
        """A persona as a model is shown it: with what became of what its lines say."""
        return annotated_persona(*self.memory.shown_persona(persona))

    def _store(self, prepared: PreparedTurn, reply: Reply) -> StoredTurn:
        """Store the round; while nothing is written it is only kept in mind."""
        request = prepared.request
        if self._unwritten is None:
            stored = self.steps.store(prepared, reply.text, reply.finish)
        else:
            self.memory.epoch.require(request.epoch)
            stored = self._keep_in_mind(request, reply, self._unwritten)
        self.undoing.clear()
        self.greeting = None
        return stored

    def _keep_in_mind(self, request: TurnRequest, reply: Reply, unwritten: list[Round]) -> StoredTurn:
        if request.replaced in unwritten:
            unwritten.remove(request.replaced)
        spoken = make_unstored_round(
            request.session_id, (self._new_id(), self._new_id()), (request.text, reply.text),
            (request.started, self.steps.now()), reply.finish,
        )  # fmt: skip
        forget = self.steps.hide_forgotten(spoken, unwritten)
        unwritten[:] = [one.mark_hidden() if one in forget.rounds else one for one in (*unwritten, spoken)]
        return StoredTurn(spoken, forget)

    # -- compaction -----------------------------------------------------------------------------------------------

    def compact_ahead(self) -> None:
        """Compact a context that is too long, in the background; the next turn waits for it.

        The facts of what has left the context are extracted, and no turn waits for that.
        """
        if self._unwritten is None:
            self.maintenance.after_turn(self.session.session_id, shortened=self._shortened)
            self._shortened = False

    def compact_now(self) -> list[Notice]:
        """The same, and wait, for interfaces without a prompt. Returns what went wrong."""
        self.maintenance.wait_for_compaction()
        if self._unwritten is None:
            self.maintenance.after_turn(self.session.session_id, shortened=self._shortened, wait=True)
            self._shortened = False
        return self._take_notices()

    def _take_notices(self) -> list[Notice]:
        sources = [self.maintenance.notices, self.memory.external.notices if self.memory.external else []]
        return [self._note_question(notices.pop(0)) for notices in sources for _ in range(len(notices))]

    def _note_question(self, notice: Notice) -> Notice:
        if notice.doubted:
            self.in_doubt = tuple(notice.doubted)
        return notice

    def answer_doubt(self, *, keep: bool) -> int:
        """Say whether what is in doubt is hidden. Returns how many messages may be mentioned again."""
        asked, self.in_doubt = self.in_doubt, ()
        if not asked:
            return 0
        if self._unwritten:
            marked = [one.mark_hidden(hidden=keep) if one.user.text_id in asked else one for one in self._unwritten]
            self._unwritten[:] = marked
        (self.memory.rounds.hide if keep else self.memory.rounds.unhide)(asked)
        self.start_maintenance()
        return 0 if keep else len(asked)

    # -- saving ------------------------------------------------------------------------------------------------

    def save(self, stop: CancelToken) -> Iterator[SaveEvent]:
        """Archive the present session and go on in a new one. The last event is ``Saved`` or ``NothingToSave``.

        Raises ModelError or Interrupted: the session stays active, and the stages that are done are kept.
        """
        from jobs.saving import Saved, Saving

        yield from self._wait_for_compaction(stop)
        with self.maintenance.paused():
            for event in self.memory.epoch.derive(lambda: Saving(self.memory, self.llm).run(self.session, stop)):
                if isinstance(event, Saved):
                    self.switch_to(event.opened, resumed=False)
                    self.maintenance.after_save(event.archived.session_id)
                yield event

    def start_maintenance(self) -> None:
        """Do what is due in this memory, in the background; called once everything is ready."""
        self.maintenance.start()

    # -- clearing ----------------------------------------------------------------------------------------------

    def reset(self) -> int:
        """Clear the present session: its turns and its summary. Returns how many rounds went."""
        self.maintenance.wait_for_compaction()
        if self._unwritten is None:
            self.last = self.steps.asking.last = None
        return self.undoing.reset(self.session.session_id, self._unwritten)

    def undo(self, count: int = 1) -> Undone:
        """Take back what was last done: a reset, a save, a decision about a fact, or the last rounds."""
        self.maintenance.wait_for_compaction()
        with self.maintenance.paused():
            undone = self.undoing.undo(self.session.session_id, count, self._unwritten)
            if isinstance(undone, SaveUndone):
                self.switch_to(undone.session, resumed=True)
        return undone

    def redo(self) -> tuple[Round, ...]:
        """Bring back what was taken back last, as long as nothing new was said. Returns the rounds."""
        self.maintenance.wait_for_compaction()
        return self.undoing.redo(self._unwritten)

    def erase(self, chosen: ErasureScope, stop: CancelToken) -> Iterator[EraseEvent]:
        """Erase what was chosen with ``memory.erasure``. The last event is ``Erased``.

        A fold that runs is waited for: it would write down again what it read before.
        """
        from jobs.rebuild import erase

        yield from self._wait_for_compaction(stop)
        self.last = self.steps.asking.last = self.greeting = None
        self.undoing.clear()
        with self.maintenance.paused():
            yield from erase(self.memory, self.llm, chosen, stop)

    # -- what is known -----------------------------------------------------------------------------------------

    @property
    def asking(self) -> Asking:
        """What answers questions from memory alone."""
        return self.steps.asking

    @property
    def incognito(self) -> bool:
        """Whether nothing is written now."""
        return self._unwritten is not None

    def set_incognito(self, on: bool) -> None:
        """CancelToken or begin writing. What was said unwritten leaves the context when writing begins again."""
        if on != self.incognito:
            self._unwritten = [] if on else None
            self.undoing.undone_rounds.clear()

    def rounds_in_context(self) -> tuple[Round, ...]:
        """The rounds that the model is shown word for word."""
        unwritten = tuple(self._unwritten) if self._unwritten else ()
        return self.memory.messages.context(self.session.session_id) + unwritten

    def companion(self, language: Language) -> str:
        """What the companion is called."""
        return names_for_prompt(language, self.settings, self.memory.names())["companion"]

    def person(self, language: Language) -> str:
        """What the person is called."""
        return names_for_prompt(language, self.settings, self.memory.names())["person"]

    def as_said_of_person(self, said: str) -> str:
        """A line for the persona of the person: what they said of themselves as a sentence about them."""
        from facts.by_hand import about_person

        return about_person(said, self.person(language_of(said)))

    def close(self) -> None:
        """Wait for a fold that is under way; everything else is stored already."""
        if self._owns_maintenance:
            self.maintenance.end(timeout=5)
            self.memory.rounds.leave(self.session.session_id)


# -- undoing


@dataclass(frozen=True)
class SaveUndone:
    """A save was taken back.

    ``session`` is active again, ``personas`` are as before; so many notes and facts were removed with it.
    """

    session: Session
    personas: tuple[Persona, ...]
    notes: int
    facts: int


@dataclass(frozen=True)
class DecisionUndone:
    """What a person had decided about a fact was taken back; ``fact`` is as it was before."""

    fact: Fact


@dataclass(frozen=True)
class Decision:
    """A person decided about a fact, named by its id."""

    fact: str


Undone = int | SaveUndone | DecisionUndone
"""How many rounds, or what else was taken back."""


class Undoing:
    """What can be taken back of one conversation (rounds, a reset, a save, a decision), and which rounds can come back.

    A reset, a save or a decision can be undone only right after it, and as a whole; a save also in a later run of the
    program. Rounds can be redone only while nothing new was said. ``unwritten`` are the rounds of a time in which
    nothing is written; None while everything is.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        #: What was done since anything was said, the last of it at the end; whoever says anything new clears this.
        self.done: list[Removed | Decision] = []
        #: Rounds that were taken back, each with the erasure epoch then; whoever says anything new clears this.
        self.undone_rounds: list[tuple[tuple[Round, ...], int]] = []

    def clear(self) -> None:
        """Something new was said or done: nothing before it can be undone or redone."""
        self.done.clear()
        self.undone_rounds.clear()

    def correct_fact(self, fact: str, new: NewFact | None) -> None:
        """Replace a fact with ``new`` as the person decided, or with nothing."""
        if self._memory.fact_log.correct_by_hand(fact, new):
            self.done.append(Decision(fact))

    def verify_fact(self, fact: str) -> None:
        """Let a person say that a fact is right that was only quoted or concluded."""
        self._memory.fact_log.verify("", [fact])
        self.done.append(Decision(fact))

    def keep_fact(self, fact: str, kept: bool) -> None:
        """Let a person decide whether a fact is kept."""
        if self._memory.fact_log.keep_fact(fact, kept):
            self.done.append(Decision(fact))

    def reset(self, session_id: str, unwritten: list[Round] | None) -> int:
        """Clear a session. Returns how many rounds went."""
        self.undone_rounds.clear()
        if unwritten is not None:
            count = len(unwritten)
            unwritten.clear()
            return count
        removed = self._memory.rounds.reset(session_id)
        self.done += [removed] if removed.messages else []
        return len(removed.rounds)

    def undo(self, session_id: str, count: int, unwritten: list[Round] | None) -> Undone:
        """Take back what was last done."""
        if self.done and (unwritten is None or isinstance(self.done[-1], Decision)):
            undone = self._undo_done(self.done[-1])
            self.done.pop()
            if undone is not None:
                return undone
        if unwritten is None and (saved := self._undo_save(session_id)) is not None:
            return saved
        with self._memory.in_one_commit() if unwritten is None else nullcontext():
            epoch = self._memory.epoch.number()
            if unwritten is None:
                rounds = self._memory.rounds.undo(session_id, count)
            else:
                kept = max(0, len(unwritten) - count)
                rounds = tuple(unwritten[kept:])
                del unwritten[kept:]
        self.undone_rounds += [(rounds, epoch)] if rounds else []
        return len(rounds)

    def redo(self, unwritten: list[Round] | None) -> tuple[Round, ...]:
        """Bring back the rounds that were taken back last; none once anything was erased, which they may say."""
        rounds, epoch = self.undone_rounds[-1] if self.undone_rounds else ((), 0)
        if unwritten is not None:
            unwritten.extend(rounds)
        elif rounds:
            try:
                self._memory.rounds.redo(rounds, epoch)
            except ErasedMeanwhile:
                self.undone_rounds.clear()
                return ()
        del self.undone_rounds[-1:]
        return rounds

    def _undo_done(self, done: Removed | Decision) -> Undone | None:
        """Undo a reset, which puts nothing back once anything was erased, or a decision; None if the fact is gone."""
        if isinstance(done, Removed):
            try:
                self._memory.rounds.put_back(done)
            except ErasedMeanwhile:
                return 0
            return len(done.rounds)
        facts = self._memory.facts.with_ids([done.fact]) if self._memory.fact_log.undo_decision(done.fact) else []
        return DecisionUndone(facts[0]) if facts else None

    def _undo_save(self, present: str) -> SaveUndone | None:
        """Take back the save that opened this session; None when there is none, or anything was said or done since."""
        memory = self._memory
        saved = memory.saves.last(present)
        if saved is None:
            return None
        known, before = memory.facts.count_all(), {persona: memory.personas.read(persona) for persona in PERSONAS}
        session = memory.rounds.undo_save(saved, present)
        if session is None:
            return None
        left = memory.facts.count_all()
        changed = tuple(persona for persona in PERSONAS if memory.personas.read(persona) != before[persona])
        return SaveUndone(session, changed, known.notes - left.notes, known.facts - left.facts)
