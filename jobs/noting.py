"""Noting: a stretch of talk becomes what is known, a window at a time.

    window -> notes (a call) -> checked -> compared with what is known near it (one more, where there is any) -> learned

Promises: two calls a window at the most, none where nothing was said or all of it was read; each reply is kept as soon
as it is there, so that a kill or a failure between the calls costs none of them twice; what a window comes to is one
commit, and only while its turns are as they were; a model that fails leaves the window for later with one notice and
holds up nobody. What is rejected is counted and logged.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from domain import errors
from domain.events import Notice
from domain.facts import Fact, Learned, NewFact, Window
from domain.languages import Language, language_of
from domain.records import Turn
from domain.settings import Settings
from domain.text import own_words
from domain.workers import Stop
from facts.comparing import Outcome, changes, near
from facts.cues import gives_own_name
from facts.drafts import FactDraft, NoteDraft, NotesRead, read_comparison, read_notes
from facts.grounding import Checked, grounded
from facts.slots import COMPANION, OWN_NAMES, PERSON, Names, slot_of, stated_names
from llm import Llm
from memory import Memory
from prompts import TEMPLATES

_Read = TypeVar("_Read")
#: How many turns before a window are shown with it, for what "she" and "yes" mean.
_BEFORE = 2
#: Where the names of the two stand among what is known.
#: A model that answered a window so often without any JSON is not asked again.
_MOST_TRIES = 3
#: The calls that a window takes at the most.
_CALLS_A_WINDOW = 2
_UNREADABLE = "model.no_json"
#: What a comparison does that takes a statement back.
_TAKES_BACK = ("changes", "ends", "corrects")


@dataclass(frozen=True)
class Noted:
    """A window was read and is learned. ``contradicted``: the companion's own statements that do not hold any more."""

    window: Window
    notes: int
    facts: int
    contradicted: tuple[Notice, ...]


NotingEvent = Notice | Noted


class _HopelessError(errors.BadReply):
    """No JSON came however often a window was shown."""


@dataclass(frozen=True)
class _Work:
    """What stays the same through both calls for a window; ``known`` is all that held before it."""

    turns: Sequence[Turn]
    before: Sequence[Turn]
    known: Sequence[Fact]
    names: Names

    @property
    def window(self) -> Window:
        """The window, named by its last turn."""
        ids, before = (tuple(turn.text_id for turn in turns) for turns in (self.turns, self.before))
        return Window(ids[-1], self.turns[0].session_id, ids, before)

    @property
    def language(self) -> Language:
        """The language that the person speaks in it."""
        return language_of(*(own_words(turn) for turn in self.turns if turn.role == "user"))

    @property
    def digest(self) -> str:
        """Tells whether anything of what is read has changed."""
        return _digest(*(turn.text for turn in (*self.before, *self.turns)))


class Noting:
    """Reads the windows of one memory."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm
        self._log = llm.log
        #: How often a model was asked so far, also in vain.
        self.calls = 0

    def due(self, session_id: str) -> str:
        """The name of a full window of a session that has left its context unread; "" when there is none."""
        window = self._next(session_id, all_of_it=False)
        return window[-1].text_id if window else ""

    def run(
        self,
        session_id: str,
        stop: Stop,
        *,
        all_of_it: bool,
        only: Container[str] | None = None,
        most_calls: int | None = None,
    ) -> Generator[NotingEvent, None, bool]:
        """Read a session: all that was not read yet, of ``only`` these turns, or full windows that left the context.

        ``most_calls``: no window is begun whose two calls would be more than so many; what is left waits, without a
        notice. Returns whether nothing is left for later. Raises Interrupted, StorageError.
        """
        allowed = None if most_calls is None else self.calls + most_calls
        try:
            while window := self._next(session_id, all_of_it=all_of_it, only=only):
                if allowed is not None and self.calls + _CALLS_A_WINDOW > allowed:
                    return False
                noted = yield from self._read(window, stop)
                if noted is None:
                    return False
                yield noted
        except errors.ModelError as fault:
            self._log.warning("a window is left for later", exc_info=fault)
            yield Notice("notes.left", {"error": fault})
            return False
        return True

    def _next(self, session_id: str, *, all_of_it: bool, only: Container[str] | None = None) -> list[Turn]:
        """The turns of the next window; none when it is not full and need not be read yet."""
        size = self._llm.settings.window_size
        unread = [
            turn for turn in self._memory.messages.unread(session_id) if only is None or turn.text_id in only
        ]
        if all_of_it:
            return unread[:size]
        window = [turn for turn in unread[:size] if turn.folded]
        return window if len(window) == size else []

    def _read(self, turns: list[Turn], stop: Stop) -> Generator[Notice, None, Noted | None]:
        """One window, from its turns to what is learned of it; None when its turns went meanwhile."""
        known = self._memory.facts.all(current=True)
        work = _Work(turns, self._before(turns[0]), known, names_of_both(known, self._llm.settings))
        try:
            checked = self._checked(work, stop)
            outcome = self._compared(work, checked, stop)
        except (errors.ContentFiltered, errors.ContextTooLong, _HopelessError) as fault:
            # It would be refused the next time as well, and nothing may be stuck on it for good.
            yield Notice("notes.refused", {"error": fault})
            checked, outcome = _nothing(), Outcome((), (), Counter())
        stop.check()
        kept = {fact.text_id for fact in outcome.facts}
        relations = tuple(one for one in checked.relations if one.fact in kept)
        learned = Learned(work.window, checked.notes, outcome.facts, relations, outcome.changes)
        contradicted = tuple(self._contradicted(learned))
        if not self._memory.facts.learn(learned):
            return None
        self._log.info(
            "window %s: %d notes, %d facts, %d changes; rejected: %s; ignored: %s",
            work.window.name, len(learned.notes), len(learned.facts), len(learned.changes),
            dict(checked.rejected), dict(outcome.ignored),
        )  # fmt: skip
        return Noted(work.window, len(learned.notes), len(learned.facts), contradicted)

    # -- what was said -------------------------------------------------------------------------------------------

    def _before(self, first: Turn) -> list[Turn]:
        """The turns right before a window, as far as a model may be told of them."""
        said = self._memory.messages.of_session(first.session_id)
        told = [turn for turn in said if not turn.withheld and not turn.standin]
        return [turn for turn in told if turn.position < first.position][-_BEFORE:]

    # -- the two calls -------------------------------------------------------------------------------------------

    def _checked(self, work: _Work, stop: Stop) -> Checked:
        """The notes of a window, as far as they stand in its turns; none, and no call, where only the companion spoke.

        Raises BadReply when the reply holds none.
        """
        if not any(turn.role == "user" for turn in work.turns):
            return _nothing()

        def ask() -> str:
            return self._llm.notes(work.turns, work.before, work.language, stop, work.names)

        def read(reply: str) -> NotesRead:
            return _understood(read_notes(reply))

        try:
            drafts = self._asked(work, "notes", work.digest, ask, read)
        except errors.BadReply as fault:
            if fault.key == _UNREADABLE and self._is_hopeless(work):
                raise _HopelessError(_UNREADABLE) from fault
            raise
        told = _with_own_subjects(work, drafts.notes)
        checked = grounded(told, work.turns, work.before, work.names, self._memory.facts.new_text_id)
        if self._memory.imports.was_imported(work.turns[0].session_id):
            checked = _of_others_assistant(checked)
        checked.rejected.update(drafts.rejected)
        return checked

    def _is_hopeless(self, work: _Work) -> bool:
        """Count a reply without any JSON; whether there were too many of them."""
        tries = 1 + int(self._memory.facts.kept_reply(work.window.name, "unreadable", work.digest) or 0)
        self._memory.facts.keep_reply(work.window.name, "unreadable", work.digest, str(tries))
        return tries >= _MOST_TRIES

    def _compared(self, work: _Work, checked: Checked, stop: Stop) -> Outcome:
        """What the new facts do to known ones; a model is asked only where something known is near.

        The slots alone decide where it refuses.
        """
        known = self._known(work, checked.facts)
        shown = near(checked.facts, known)
        if not shown:
            return changes(checked.facts, known)

        def ask() -> str:
            return self._llm.compare(checked.facts, shown, work.language, stop, work.names)

        base = _digest(*(f"{fact.text_id} {fact.restatement}" for fact in shown), work.digest)
        try:
            found = self._asked(work, "compare", base, ask, read_comparison)
        except (errors.ContentFiltered, errors.ContextTooLong):
            return changes(checked.facts, known)
        return changes(checked.facts, known, shown, found.verdicts, found.doubts)

    def _known(self, work: _Work, new: Sequence[NewFact]) -> list[Fact]:
        """All that holds now, and what once stood in the slots of new facts."""
        if not new:
            return []
        found = [*work.known, *self._memory.facts.in_slots(fact.slot for fact in new)]
        return list({fact.text_id: fact for fact in found}.values())

    def _asked(
        self, work: _Work, stage: str, base: str, ask: Callable[[], str], read: Callable[[str], _Read]
    ) -> _Read:
        """What a reply says: the one that is kept, or a new one, which is kept before anything is done with it."""
        kept = self._memory.facts.kept_reply(work.window.name, stage, base)
        if kept is not None:
            return read(kept)
        self.calls += 1
        reply = ask()
        found = read(reply)
        self._memory.facts.keep_reply(work.window.name, stage, base, reply)
        return found

    def _contradicted(self, learned: Learned) -> Iterator[Notice]:
        """The companion's own statements that a new one takes back, with both."""
        new = {fact.text_id: fact for fact in learned.facts}
        taken = [one for one in learned.changes if one.verdict in _TAKES_BACK and one.by in new]
        known = {fact.text_id: fact for fact in self._memory.facts.with_ids([one.fact for one in taken])}
        for one in taken:
            before = known.get(one.fact)
            if before is not None and before.about == "companion":
                now = new[one.by].restatement
                yield Notice("canon.contradicted", {"before": before.restatement, "now": now})


def names_of_both(known: Sequence[Fact], settings: Settings) -> Names:
    """Under which names the two are known, from the settings and from what is known, and who else is."""
    words = TEMPLATES.values()
    named = [[one for one in known if one.slot == slot] for slot in OWN_NAMES]
    person, companion = ([one.value for one in each] for each in named)
    stated = stated_names(known)
    return Names(
        tuple(filter(None, [settings.user_name, *person, *(each.person for each in words)])),
        tuple(filter(None, [settings.companion_name, *companion, *(each.companion for each in words)])),
        frozenset(name for fact in known for name in _named(fact)),
        stated.person_called,
        stated.companion_called,
    )


def _named(fact: Fact) -> Iterator[str]:
    """What a known fact names: whoever speaks of it again has not invented it."""
    return filter(None, (fact.subject, fact.value, fact.location, *fact.persons, *fact.entities))


def _with_own_subjects(work: _Work, notes: Sequence[NoteDraft]) -> list[NoteDraft]:
    """The drafts with facts about the two under the names that are known, also where they get others in this window."""
    words = TEMPLATES[work.language]
    own = {PERSON: words.person, COMPANION: words.companion}
    told: dict[str, str] = {}
    for fact in (fact for note in notes for fact in note.facts):
        slot, _ = slot_of(fact.subject, fact.attribute, fact.about, work.names)
        if fact.value and slot in OWN_NAMES:
            told[fact.value] = own[slot.subject]
        elif fact.value and slot.attribute == "name" and _is_persons(work, fact):
            told[fact.value] = words.person
        elif slot.subject not in own and _gives_name(work, fact):
            told[fact.subject] = words.person
    return [
        replace(note, facts=tuple(replace(one, subject=_called(one.subject, told)) for one in note.facts))
        for note in notes
    ]


def _is_persons(work: _Work, fact: FactDraft) -> bool:
    """Whether a name is the person's own, who gives it here for the first time and is told of by it at once."""
    if (
        fact.about != "person"
        or work.names.person_called
        or fact.subject not in (fact.value, fact.value.split()[0])
    ):
        return False
    named = [
        turn for number, turn in enumerate(work.turns, 1) if number in fact.turns and turn.role == "user"
    ]
    return any(gives_own_name(own_words(turn), fact.value) for turn in named)


def _gives_name(work: _Work, fact: FactDraft) -> bool:
    """Whether a fact tells of the person by a name that they give here, and that no fact tells."""
    if fact.about != "person" or work.names.person_called:
        return False
    own = (own_words(turn) for turn in work.turns if turn.role == "user")
    return any(gives_own_name(said, fact.subject) for said in own)


def _called(subject: str, told: Mapping[str, str]) -> str:
    """A subject by the name that is known for it, or for whose it is; a first name stands for the whole one."""
    for name, word in told.items():
        for own in (name, name.split()[0]):
            if subject == own:
                return word
            if subject.startswith((f"{own}'s ", f"{own}的")):
                return word + subject[len(own) :]
    return subject


def _of_others_assistant(checked: Checked) -> Checked:
    """What was noted where another program spoke: nothing that it says of itself is true of this companion."""
    facts = tuple(fact for fact in checked.facts if fact.about != "companion")
    kept = {fact.text_id for fact in facts}
    relations = tuple(one for one in checked.relations if one.fact in kept)
    return replace(checked, facts=facts, relations=relations)


def _nothing() -> Checked:
    return Checked((), (), (), Counter())


def _understood(found: NotesRead) -> NotesRead:
    """Notes that are JSON at least. What is none is as good as no reply, and is not kept."""
    if not found.understood:
        raise errors.BadReply(_UNREADABLE)
    return found


def _digest(*texts: str) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(str(len(text)).encode() + b":" + text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()
