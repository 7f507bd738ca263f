"""One turn, from what a person says to the stored reply; and how a session is folded, saved and cleared.

The same for every door: events come out, a ``Stop`` goes in, nothing is printed and nothing is read. A turn is told in
seven steps in ``Conversation.turn``; each step stands below it, in the order of the telling.

Promises: what was said is written down before a model is asked; a failed call changes nothing; a reply that was cut
off is stored only marked as such; the next input never meets a half-made fold.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from domain import errors
from domain.events import Notice, Opening, Recalled, Replied, Reply, TurnEvent
from domain.facts import News
from domain.imports import IMPORT_DOOR
from domain.languages import Language, language_of, language_of_address
from domain.pleas import heard, kept_back, left_unsaid
from domain.recollection import Recollection
from domain.records import ErasureScope, Image, Round, Session, not_withheld, unstored
from domain.settings import Settings
from domain.text import admitted, checked, without_quotations
from domain.workers import Stop
from jobs.asking import Asking
from jobs.background import Background
from jobs.folding import Folding
from jobs.keeping import Keeping
from jobs.undoing import SaveUndone, Undoing, Undone
from jobs.withholding import meant_by
from llm import Answered, Layers, Llm, called_in
from memory import Memory
from models.memories import marked_image, served_by
from prompts import TEMPLATES
from recall.questions import queries, wants_plan

if TYPE_CHECKING:
    from jobs.erasing import EraseEvent
    from jobs.saving import SaveEvent

__all__ = ["LARGE_GAP", "Conversation", "LastTurn", "Opening", "Recalled", "Replied", "TurnEvent"]

#: How many messages before the input are looked at for what "she" and "that" mean.
_RECENT = 5
#: Where nothing was said yet in this session: so many rounds of the newest of so many others.
_ROUNDS_BACK, _SESSIONS_BACK = 3, 4
#: A pause of this length is worth mentioning, to the person and to the model.
LARGE_GAP = timedelta(hours=6)


@dataclass(frozen=True)
class LastTurn:
    """The last turn in full: what was recalled, and what was sent and came back."""

    recollection: Recollection
    answered: Answered


class Conversation:
    """One session, handed in, and everything a person can do in it. Two conversations share nothing but the memory."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        llm: Llm,
        log: logging.Logger,
        *,
        session: Session,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        resumed: bool = False,
        incognito: bool = False,
        background: Background | None = None,
    ) -> None:
        self.settings = settings
        self._limits = settings.recall_limits
        self.memory = memory
        self.llm = llm
        self.recalling = True
        self.last: LastTurn | None = None
        self._log = log
        self._clock = clock
        self._new_id = new_id
        #: The rounds of a time in which nothing is written; None while everything is.
        self._unwritten: list[Round] | None = [] if incognito else None
        self._known_degraded: set[str] = set()
        self._index_missing = False
        self._told_truncated = False
        self.asking = Asking(settings, memory, llm, log, clock)
        self._folding = Folding(settings, memory, llm, log, background.workers if background else None)
        self.background = background or Background("keep", "opening.keeping_failed", log)
        self._keeping = Keeping(settings, memory, llm, self.background, clock=clock, present=self._present)
        self.resting = self._folding.resting  #: Set while no fold is under way.
        self.undoing = Undoing(memory)
        self.session, self._resumed = session, resumed

    # -- opening -----------------------------------------------------------------------------------------------

    def open(self) -> Opening:
        """The session as it stands, for showing it."""
        rounds = self.memory.messages.rounds(self.session.session_id, self.settings.max_conv_num)
        return Opening(
            self.session, self._resumed, rounds,
            self.memory.summaries.of(self.session.session_id),
            self.memory.sessions.in_flight(self.session.session_id),
            self._gap(rounds), self.memory.sessions.counts()[1], self.memory.last_spoken(), len(self._keeping.due()),
            News() if rounds else self.memory.news_before(self.session.session_id),
        )  # fmt: skip

    def switch_to(self, session: Session, *, resumed: bool) -> Opening:
        """Go on in another session."""
        with self._keeping.paused():
            self.session, self._resumed, self.last = session, resumed, None
            self.asking.last = None
        self.undoing.something_else()
        return self.open()

    # -- a turn ------------------------------------------------------------------------------------------------

    def turn(
        self, said: str, stop: Stop, *, stream: bool = True, again: bool = False, watched: bool = False
    ) -> Iterator[TurnEvent]:
        """Say something and get a reply. The last event is ``Replied``.

        ``again``: the new round takes the place of the last one, as soon as its reply is there. ``watched``: somebody
        sees the words come, and keeps those that came before a connection broke.

        Raises ModelError (nothing was stored; what was said stays in flight), Interrupted (stopped before anything was
        shown), UsageError (nothing to say, or too much), StorageError.
        """
        text = admitted(said)
        started = self._note_in_flight(text)
        yield from self._settle_folding(stop)
        rounds = self.rounds_in_context()
        replaced = rounds[-1] if again and rounds else None
        before = rounds[:-1] if replaced else rounds
        recollection = yield from self._recall(text, before, stop)
        stop.check()
        yield Recalled(recollection)
        layers = self._layers(text, before, recollection)
        reply = yield from self._ask(layers, stop, stream, watched)
        plea = heard(text)
        meant = meant_by(self.memory, plea, self._present(), (*self._folded(), *before)) if plea else ()
        with self.memory.in_one_commit() if plea and not self.incognito else nullcontext():
            spoken = self._store(text, started, reply, replaced, recollection)
            if plea:
                self._withhold((*meant, spoken))
        if plea:
            yield Notice("plea.heard", {"rounds": 1 + len(meant), "matter": plea.matter})
        yield Replied(spoken, reply, recollection)

    def _note_in_flight(self, text: str) -> str:
        now = self._now()
        if self._unwritten is None:
            self.memory.sessions.note_in_flight(self.session.session_id, text)
        return now

    def _settle_folding(self, stop: Stop) -> Generator[Notice, None, None]:
        """A fold that is under way is waited for; a session that outgrew its context is folded first."""
        while not self._folding.resting.is_set():
            if stop.wait(0.05):
                raise errors.Interrupted
        yield from self._take_notices()

    def _recall(
        self, text: str, rounds: tuple[Round, ...], stop: Stop
    ) -> Generator[TurnEvent, None, Recollection]:
        if not self.recalling:
            return Recollection()
        turns = [turn for spoken in not_withheld(rounds)[-3:] for turn in spoken.turns if not turn.standin]
        said = [without_quotations(turn.words) for turn in turns]
        try:
            recollection = self.memory.recall(
                queries(said, text), self.session.session_id, self._clock(), self._limits,
                recent=said[-_RECENT:],
            )  # fmt: skip
            found = len(recollection.ranked)
            if not recollection.chapters and wants_plan(self.settings.recall_planning, text, found):
                recollection = yield from self.asking.planned(
                    text, said[-_RECENT:], recollection, self.session.session_id, stop
                )
        except errors.StorageError as fault:
            self._log.error("recall failed", exc_info=fault)
            yield Notice("recall.failed", {"reason": str(fault)})
            return Recollection(degraded=("words", "index"))
        yield from self._degraded(recollection)
        yield from self.llm.take_notices()
        return recollection

    def _degraded(self, recollection: Recollection) -> Iterator[Notice]:
        """Say once that recall has to do without one of its parts, and once more when another one fails."""
        missing: set[str] = set(recollection.degraded)
        opening, self._index_missing = not self._index_missing, "index" in missing
        if opening:
            missing.discard("index")  # it opens right after the start; told when the next turn misses it too
        if new := missing - self._known_degraded:
            yield Notice("recall.degraded", {"parts": tuple(sorted(new))})
        self._known_degraded = missing

    def _layers(self, text: str, rounds: tuple[Round, ...], recollection: Recollection) -> Layers:
        summary = self.memory.summaries.of(self.session.session_id)
        language = self._language(text, rounds, recollection)
        return Layers(
            companion=self.companion(language),
            person=self.person(language),
            self_image=self.image("self"),
            user_image=self.image("user"),
            summary=summary.summary if summary else "",
            recalled=recollection,
            rounds=left_unsaid(rounds, TEMPLATES[language].withheld, TEMPLATES[language].withheld_reply),
            text=text,
            language=language,
            now=self._clock(),
            last_spoken=self.memory.spoken_before(self.session.session_id, rounds, self._clock(), LARGE_GAP),
        )

    def image(self, image: Image) -> str:
        """An image as a model is shown it: with what became of what its lines tell."""
        return marked_image(self.memory.personas.read(image), self.memory.image_marks(image))

    def _ask(
        self, layers: Layers, stop: Stop, stream: bool, watched: bool
    ) -> Generator[TurnEvent, None, Reply]:
        answered = yield from self.llm.answer(
            layers, stop, stream=stream, keep_partial=self._keep_partial, watched=watched
        )
        if answered.reply.truncated and not self._told_truncated:
            self._told_truncated = True
            yield Notice("turn.truncated", {"tokens": answered.reply.prompt_tokens})
        self._folding.wanted = self._folding.wanted or answered.shortened
        self.last, self.asking.last = LastTurn(layers.recalled, answered), None
        return answered.reply

    def _keep_partial(self, shown: str) -> None:
        if self._unwritten is None:
            self.memory.sessions.keep_partial(self.session.session_id, shown)

    def _store(
        self, text: str, started: str, reply: Reply, replaced: Round | None, recollection: Recollection
    ) -> Round:
        """Store the round, with which of its quotations stand in a memory."""
        self.undoing.done.clear()
        self.undoing.taken_back.clear()
        if self._unwritten is None:
            return self.memory.rounds.store(
                self.session.session_id, text, reply.text, started, reply.finish,
                instead_of=replaced, quoted=checked(reply.text, recollection),
                standin=self.llm.describe().standin, served=served_by(recollection),
            )  # fmt: skip
        if replaced in self._unwritten:
            self._unwritten.remove(replaced)
        ids = (self._new_id(), self._new_id())
        spoken = unstored(
            self.session.session_id, ids, (text, reply.text), (started, self._now()), reply.finish
        )
        self._unwritten.append(spoken)
        return spoken

    def _withhold(self, rounds: Sequence[Round]) -> None:
        """Let no later prompt hold these rounds."""
        if self._unwritten is not None:
            marked = [kept_back(one) if one in rounds else one for one in self._unwritten]
            self._unwritten[:] = marked
        if stored := [turn.text_id for spoken in rounds for turn in spoken.turns if turn.seq]:
            self.memory.rounds.hide(stored)

    # -- folding -----------------------------------------------------------------------------------------------

    def fold_ahead(self) -> None:
        """Fold what no longer fits into the context, in the background; the next turn waits for it.

        What has left the context is noted, and no turn waits for that.
        """
        if self._unwritten is None:
            self._folding.begin(self.session.session_id)
            self._keeping.note_ahead()

    def fold_now(self) -> list[Notice]:
        """Fold and note, and wait, for doors where nobody is typing. Returns what went wrong."""
        self._folding.wait()
        if self._unwritten is None:
            self._folding.run(self.session.session_id)
            self._keeping.note_now()
        return self._take_notices()

    def _take_notices(self) -> list[Notice]:
        others = self.memory.others.notices if self.memory.others else []
        told = [self._folding.notices, self._keeping.notices, others]
        return [notices.pop(0) for notices in told for _ in range(len(notices))]

    # -- saving ------------------------------------------------------------------------------------------------

    def save(self, stop: Stop) -> Iterator[SaveEvent]:
        """Archive the present session and go on in a new one. The last event is ``Saved`` or ``NothingToSave``.

        Raises ModelError or Interrupted: the session stays active, and the stages that are done are kept.
        """
        from jobs.saving import Saved, Saving

        yield from self._settle_folding(stop)
        with self._keeping.paused():
            for event in Saving(self.memory, self.llm).run(self.session, stop):
                if isinstance(event, Saved):
                    self.switch_to(event.opened, resumed=False)
                    self._keeping.grow()
                yield event

    def keep_silent(self) -> None:
        """Save, in the background, what other sessions fell silent; called once everything is ready."""
        self._keeping.begin()

    # -- clearing ----------------------------------------------------------------------------------------------

    def reset(self) -> int:
        """Clear the present session: its turns and its summary. Returns how many rounds went."""
        self._folding.wait()
        if self._unwritten is None:
            self.last = self.asking.last = None
        return self.undoing.reset(self.session.session_id, self._unwritten)

    def undo(self, count: int = 1) -> Undone:
        """Take back what was last done: a reset, a save, a decision about a fact, or the last rounds."""
        self._folding.wait()
        with self._keeping.paused():
            undone = self.undoing.undo(self.session.session_id, count, self._unwritten)
            if isinstance(undone, SaveUndone):
                self.switch_to(undone.session, resumed=True)
        return undone

    def redo(self) -> tuple[Round, ...]:
        """Bring back what was taken back last, as long as nothing new was said. Returns the rounds."""
        self._folding.wait()
        return self.undoing.redo(self._unwritten)

    def erase(self, chosen: ErasureScope, stop: Stop) -> Iterator[EraseEvent]:
        """Erase what was chosen with ``memory.erasure``. The last event is ``Erased``.

        A fold that runs is waited for: it would write down again what it read before.
        """
        from jobs.erasing import Erasing

        yield from self._settle_folding(stop)
        self.last = self.asking.last = None
        self.undoing.something_else()
        with self._keeping.paused():
            yield from Erasing(self.memory, self.llm).run(chosen, stop)

    # -- what is known -----------------------------------------------------------------------------------------

    @property
    def incognito(self) -> bool:
        """Whether nothing is written now."""
        return self._unwritten is not None

    def set_incognito(self, on: bool) -> None:
        """Stop or begin writing. What was said unwritten leaves the context when writing begins again."""
        if on != self.incognito:
            self._unwritten = [] if on else None
            self.undoing.taken_back.clear()

    def rounds_in_context(self) -> tuple[Round, ...]:
        """The rounds that the model is shown word for word."""
        unwritten = tuple(self._unwritten) if self._unwritten else ()
        return self.memory.messages.context(self.session.session_id) + unwritten

    def _folded(self) -> Iterator[Round]:
        """The rounds of the session that have left its context."""
        return (one for one in self.memory.messages.rounds(self.session.session_id) if one.user.folded)

    def companion(self, language: Language) -> str:
        """What the companion is called."""
        return called_in(language, self.settings, self.memory.names())["companion"]

    def person(self, language: Language) -> str:
        """What the person is called."""
        return called_in(language, self.settings, self.memory.names())["person"]

    def as_said_of_person(self, said: str) -> str:
        """A line for the image of the person: what they said of themselves as a sentence about them."""
        from facts.about_person import about_person

        return about_person(said, self.person(language_of(said)))

    def close(self) -> None:
        """Wait for a fold that is under way; everything else is stored already."""
        self._keeping.end(timeout=0)
        self._folding.end(timeout=5)

    def _language(self, text: str, rounds: tuple[Round, ...], recollection: Recollection) -> Language:
        """The language of the prompt; the reply is in that of the message all the same."""
        said = [one.user.words for one in rounds] or self._said_last()
        said += [one.text for one in recollection.turns if one.role == "user" and not one.speaker]
        return language_of_address(self.memory.personas.read("user"), said, text)

    def _said_last(self) -> list[str]:
        """What the person said last in the session before this one."""
        before = (
            one for one in self.memory.sessions.recent(_SESSIONS_BACK) if one.session_id != self._present()
        )
        spoken = (
            self.memory.messages.rounds(one.session_id, _ROUNDS_BACK)
            for one in before
            if one.door != IMPORT_DOOR
        )
        return [one.user.words for one in next((rounds for rounds in spoken if rounds), ())]

    def _gap(self, rounds: tuple[Round, ...]) -> timedelta | None:
        if not rounds:
            return None
        gap = self._clock() - datetime.fromisoformat(rounds[-1].assistant.timestamp)
        return gap if gap >= LARGE_GAP else None

    def _present(self) -> str:
        return self.session.session_id

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")
