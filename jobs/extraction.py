"""Extraction: from messages to notes and facts, a window at a time.

    window -> notes (one call) -> checked -> compared with related facts (one more call, if there are any) -> learned

Guarantees: at most two calls a window, none where nothing is unread; each reply is stored when it arrives, so a kill or
failure between the calls costs neither twice; the result of a window is one commit, made only if its messages are
unchanged; a failing model leaves the window for later with one notice. Rejections are counted and logged.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from domain import errors
from domain.events import Notice
from domain.facts import Fact, Learned, Window
from domain.quotations import own_words
from domain.records import Message
from domain.settings import Settings
from domain.workers import CancelToken
from facts.checking import CheckedNotes, check_notes
from facts.comparing import Outcome, compare_facts, find_near
from facts.cues import gives_own_name
from facts.drafts import FactDraft, NoteDraft, NotesRead, read_comparison, read_notes
from facts.slots import COMPANION, OWN_NAMES, PERSON, Names, slot_of, stated_names
from language.scripts import Language, language_of
from llm import Llm
from memory import Memory
from prompts import TEMPLATES

_Read = TypeVar("_Read")
#: How many turns before a window are shown with it, for what "she" and "yes" mean.
_BEFORE = 2
#: A model that answered a window so often without any JSON is not asked again.
_MOST_TRIES = 3
#: The calls that a window takes at the most.
_CALLS_A_WINDOW = 2
_UNREADABLE = "model.no_json"
#: What a comparison does that takes a statement back.
_TAKES_BACK = ("changes", "ends", "corrects")


@dataclass(frozen=True)
class WindowExtracted:
    """A window was read and is learned. ``contradicted``: the companion's own statements that do not hold any more."""

    window: Window
    notes: int
    facts: int
    contradicted: tuple[Notice, ...]


ExtractionEvent = Notice | WindowExtracted


class _HopelessError(errors.BadReply):
    """No JSON came however often a window was shown."""


@dataclass(frozen=True)
class _Work:
    """What stays the same through both calls for a window; ``known`` are the current facts before it."""

    turns: Sequence[Message]
    before: Sequence[Message]
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
        """Changes when a message of the window does."""
        return hash_texts(*(turn.text for turn in (*self.before, *self.turns)))


def next_window(
    memory: Memory, session_id: str, size: int, *, all_of_it: bool = False, only: Container[str] | None = None
) -> list[Message]:
    """The unread messages of a session to read next, of ``only`` these: a full window that has left the context.

    With ``all_of_it`` those in the context as well, also if they fill no window.
    """
    unread = [turn for turn in memory.messages.unread(session_id) if only is None or turn.text_id in only][:size]
    if all_of_it:
        return unread
    window = [turn for turn in unread if turn.compacted]
    return window if len(window) == size else []


def only_notices(events: Generator[ExtractionEvent, None, bool]) -> Generator[Notice, None, bool]:
    """What an extraction has to say; the companion's own statements that do not hold any more among it."""
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            return bool(end.value)
        yield from event.contradicted if isinstance(event, WindowExtracted) else [event]


class Extraction:
    """Reads the windows of one memory."""

    def __init__(self, memory: Memory, llm: Llm, count_calls: Callable[[int], None] = lambda calls: None) -> None:
        """``count_calls`` is told of each call before it is made."""
        self._memory = memory
        self._llm = llm
        self._log = llm.log
        self._count_calls = count_calls
        #: How often a model was asked so far, also in vain.
        self.calls = 0

    def run(
        self,
        session_id: str,
        cancel: CancelToken,
        *,
        all_of_it: bool,
        only: Container[str] | None = None,
        most_calls: int | None = None,
    ) -> Generator[ExtractionEvent, None, bool]:
        """Read a session: all that was not read yet, of ``only`` these turns, or full windows that left the context.

        ``most_calls``: no window is begun whose two calls would exceed so many; the others wait, without a notice.
        Returns whether all is read. Raises Interrupted, StorageError.
        """
        allowed = None if most_calls is None else self.calls + most_calls
        size = self._llm.settings.window_size
        while window := next_window(self._memory, session_id, size, all_of_it=all_of_it, only=only):
            if allowed is not None and self.calls + _CALLS_A_WINDOW > allowed:
                return False
            extracted = yield from self._extract_window(window, cancel)
            if extracted is None:
                return False
            yield extracted
        return True

    def _extract_window(
        self, turns: list[Message], cancel: CancelToken
    ) -> Generator[Notice, None, WindowExtracted | None]:
        """One window, from its turns to what is learned of it; None when its turns went meanwhile, or a model fails."""
        known = self._memory.facts.all(current=True)
        said = self._memory.messages.of_session(turns[0].session_id)
        before = [one for one in said if one.position < turns[0].position and not one.hidden and not one.demo]
        work = _Work(turns, before[-_BEFORE:], known, names_of_both(known, self._llm.settings))
        try:
            checked = self._extract_notes(work, cancel)
            outcome = self._compare_with_known(work, checked, cancel)
        except (errors.ContentFiltered, errors.ContextTooLong, _HopelessError) as fault:
            # It would be refused the next time as well, and nothing may be stuck on it for good.
            yield Notice("extraction.refused", {"error": fault})
            checked, outcome = CheckedNotes((), (), (), Counter()), Outcome((), (), {}, Counter())
        except errors.ModelError as fault:
            self._log.warning("a window is left for later", exc_info=fault)
            yield Notice("extraction.failed", {"error": fault})
            return None
        cancel.check()
        kept = {fact.text_id for fact in outcome.facts}
        relations = tuple(one for one in checked.relations if one.fact in kept)
        learned = Learned(work.window, checked.notes, outcome.facts, relations, outcome.changes)
        contradicted = tuple(self._find_contradicted(outcome))
        if not self._memory.fact_log.learn(learned):
            return None
        self._log.info(
            "window %s: %d notes, %d facts, %d changes; rejected: %s; ignored: %s",
            work.window.name, len(learned.notes), len(learned.facts), len(learned.changes),
            dict(checked.rejected), dict(outcome.ignored),
        )  # fmt: skip
        return WindowExtracted(work.window, len(learned.notes), len(learned.facts), contradicted)

    # -- the two calls -------------------------------------------------------------------------------------------

    def _extract_notes(self, work: _Work, cancel: CancelToken) -> CheckedNotes:
        """The notes of a window that its messages support; none, and no call, if only the companion spoke.

        Raises BadReply when the reply holds none.
        """
        if not any(turn.role == "user" for turn in work.turns):
            return CheckedNotes((), (), (), Counter())

        def ask() -> str:
            return self._llm.extract_notes(work.turns, work.before, work.language, cancel, work.names)

        def read(reply: str) -> NotesRead:
            found = read_notes(reply)
            if not found.understood:  # as good as no reply, and not kept
                raise errors.BadReply(_UNREADABLE)
            return found

        try:
            drafts = self._ask_or_reuse(work, "notes", work.digest, ask, read)
        except errors.BadReply as fault:
            if fault.key != _UNREADABLE:
                raise
            tries = 1 + int(self._memory.windows.reply(work.window.name, "unreadable", work.digest) or 0)
            self._memory.windows.store_reply(work.window.name, "unreadable", work.digest, str(tries))
            if tries >= _MOST_TRIES:
                raise _HopelessError(_UNREADABLE) from fault
            raise
        notes = _normalize_subjects(work, drafts.notes)
        checked = check_notes(notes, work.turns, work.before, work.names, self._memory.fact_log.new_id)
        if self._memory.sessions.was_imported(work.turns[0].session_id):
            # What another program says of itself is not true of this companion.
            facts = tuple(fact for fact in checked.facts if fact.about != "companion")
            checked = replace(checked, facts=facts)
        checked.rejected.update(drafts.rejected)
        return checked

    def _compare_with_known(self, work: _Work, checked: CheckedNotes, cancel: CancelToken) -> Outcome:
        """What the new facts do to known ones; a model is asked only where something known is near.

        The slots alone decide where it refuses.
        """
        in_slots = self._memory.facts.in_slots(fact.slot for fact in checked.facts) if checked.facts else []
        known = list({fact.text_id: fact for fact in (*work.known, *in_slots)}.values()) if checked.facts else []
        shown = find_near(checked.facts, known)
        if not shown:
            return compare_facts(checked.facts, known)

        def ask() -> str:
            return self._llm.compare_facts(checked.facts, shown, work.language, cancel, work.names)

        base = hash_texts(*(f"{fact.text_id} {fact.restatement}" for fact in shown), work.digest)
        try:
            found = self._ask_or_reuse(work, "compare", base, ask, read_comparison)
        except (errors.ContentFiltered, errors.ContextTooLong):
            return compare_facts(checked.facts, known)
        return compare_facts(checked.facts, known, shown, found.verdicts, found.doubts)

    def _ask_or_reuse(
        self, work: _Work, stage: str, base: str, ask: Callable[[], str], read: Callable[[str], _Read]
    ) -> _Read:
        """The stored reply, or a new one, which is stored before it is used."""
        kept = self._memory.windows.reply(work.window.name, stage, base)
        if kept is not None:
            return read(kept)
        self.calls += 1
        self._count_calls(1)
        reply = ask()
        found = read(reply)
        self._memory.windows.store_reply(work.window.name, stage, base, reply)
        return found

    def _find_contradicted(self, outcome: Outcome) -> Iterator[Notice]:
        """The companion's own statements that a new one takes back, with both."""
        new = {fact.text_id: fact for fact in outcome.facts}
        taken = {one.fact: one.by for one in outcome.changes if one.verdict in _TAKES_BACK} | {**outcome.replaced}
        taken = {fact: by for fact, by in taken.items() if by in new}
        for before in self._memory.facts.with_ids(list(taken)):
            if before.about == "companion":
                now = new[taken[before.text_id]].restatement
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
        frozenset(name for fact in known for name in _mentioned_names(fact)),
        stated.person_called,
        stated.companion_called,
    )


def _mentioned_names(fact: Fact) -> Iterator[str]:
    """What a known fact names: whoever speaks of it again has not invented it."""
    return filter(None, (fact.subject, fact.value, fact.location, *fact.persons, *fact.entities))


def _normalize_subjects(work: _Work, notes: Sequence[NoteDraft]) -> list[NoteDraft]:
    """The drafts with facts about the two under the names that are known, also where they get others in this window."""
    words = TEMPLATES[work.language]
    own, every = {PERSON: words.person, COMPANION: words.companion}, range(1, len(work.turns) + 1)
    subjects: dict[str, str] = {}
    for fact in (fact for note in notes for fact in note.facts):
        slot, _ = slot_of(fact.subject, fact.attribute, fact.about, work.names)
        if fact.value and slot in OWN_NAMES:
            subjects[fact.value] = own[slot.subject]
        elif (
            # The person's own name, used as a subject at once.
            fact.value
            and slot.attribute == "name"
            and _gives_name(work, fact, fact.value, fact.turns)
            and fact.subject in (fact.value, fact.value.split()[0])
        ):
            subjects[fact.value] = words.person
        elif slot.subject not in own and _gives_name(work, fact, fact.subject, every):
            subjects[fact.subject] = words.person
    return [
        replace(note, facts=tuple(replace(one, subject=_rename_subject(one.subject, subjects)) for one in note.facts))
        for note in notes
    ]


def _gives_name(work: _Work, fact: FactDraft, name: str, turns: Container[int]) -> bool:
    """Whether the person, who had no name so far, calls themselves by this name in one of these turns."""
    if fact.about != "person" or work.names.person_called:
        return False
    own = (turn for number, turn in enumerate(work.turns, 1) if number in turns and turn.role == "user")
    return any(gives_own_name(own_words(turn), name) for turn in own)


def _rename_subject(subject: str, subjects: Mapping[str, str]) -> str:
    """A subject with its owner's name replaced; a first name counts as the whole name."""
    for own, word in ((own, word) for name, word in subjects.items() for own in (name, name.split()[0])):
        if subject == own:
            return word
        if subject.startswith((f"{own}'s ", f"{own}的")):
            return word + subject[len(own) :]
    return subject


def hash_texts(*texts: str) -> str:
    """A digest that changes when any of the texts does."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(str(len(text)).encode() + b":" + text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()
