"""Extraction: from messages to notes and facts, a window at a time.

    window -> notes -> checked by rules -> do these words say this? -> compared with related facts -> learned

Guarantees: at most three calls a window, one for each arrow that needs a model, none where nothing is unread; each
reply is stored when it arrives, so a kill or failure between the calls costs none twice; the result of a window is one
commit, made only if its messages are unchanged; a failing model leaves the window for later with one notice. Where it
only does not answer what words say, all is learned as quoted and asked again later. Rejections are counted and logged.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from domain import errors
from domain.events import Notice
from domain.facts import About, Fact, Learned, NewFact, Window
from domain.matters import MAY_BE_OPEN, MatterStatus, NewMatter, OpenMatter
from domain.patterns import pattern_of
from domain.quotations import own_words
from domain.records import Message
from domain.settings import Settings
from domain.workers import CancelToken
from facts.believing import (
    Spoken,
    believe,
    in_asking_order,
    infer_facts,
    is_same,
    may_be_verified,
    without_inferences,
    without_rejected,
)
from facts.checking import CheckedNotes, check_notes
from facts.comparing import Outcome, compare_facts, find_near
from facts.drafts import Answer, FactDraft, NoteDraft, NotesRead, read_answers, read_comparison, read_notes
from facts.matters import check_matters, passage_of, settled_by, shown_matters, spoken_of
from facts.restating import gives_own_name
from facts.slots import COMPANION, OWN_NAMES, PERSON, Names, is_kin, known_people, slot_of, stated_names
from facts.spans import material_of
from language.scripts import Language, unspaced_length
from llm import Llm, names_for_prompt
from memory import Memory
from models.tasks import ExtractionTask
from prompts import TEMPLATES

_Read = TypeVar("_Read")
#: How many messages after a window may ask to have something of it forgotten.
_AFTER = 2
_MAY_ASK_TO_FORGET = pattern_of(
    r"\b(?:forget|remember|mention|bring .{0,20}up|delete|erase|never said|between us|secret)\b"
    r"|忘|别提|不要提|不提|记|删|当我没说|保密|秘密",
    re.IGNORECASE,
)
#: A model that answered a window so often without any JSON is not asked again.
_MOST_TRIES = 3
#: So many messages after a window are looked at for what speaks of a matter that was found late.
_LATER_READ = 5_000
#: The calls that a window takes at the most.
_CALLS_A_WINDOW = 3
_UNREADABLE = "model.no_json"
#: What a comparison does that takes a statement back.
_TAKES_BACK = ("changes", "ends", "corrects")
_ABOUT: Mapping[str, About] = {PERSON: "person", COMPANION: "companion"}


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
    """What stays the same through all calls for a window.

    ``known`` are the current facts before it, and all that are in the slots of the new ones. ``open`` is all that was
    open before it, nothing where it is ``imported``: what another program exported opens and settles nothing. ``later``
    is what its session goes on with.
    """

    messages: Sequence[Message]
    before: Sequence[Message]
    following: Sequence[Message]
    known: Sequence[Fact]
    names: Names
    language: Language
    open: Sequence[OpenMatter] = ()
    imported: bool = False
    later: Sequence[Message] = ()

    @property
    def window(self) -> Window:
        """The window, named by its last turn."""
        ids, before = (tuple(message.text_id for message in messages) for messages in (self.messages, self.before))
        return Window(ids[-1], self.messages[0].session_id, ids, before)

    def spoken(self, settings: Settings) -> Spoken:
        """Its messages as evidence."""
        called = names_for_prompt(self.language, settings, self.names)
        return Spoken(self.messages, self.before, self.names, called["person"], called["companion"])

    @property
    def digest(self) -> str:
        """Changes when a message of the window does."""
        return hash_texts(*(message.text for message in (*self.before, *self.messages)))


@dataclass(frozen=True)
class _Open:
    """What may be open by a window, and what it settles of the matters ``shown`` with it, by number."""

    matters: Sequence[NewMatter] = ()
    settled: Mapping[int, MatterStatus] = field(default_factory=dict)
    shown: frozenset[int] = frozenset()


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
        """``count_calls`` is called before each call of the model."""
        self._memory = memory
        self._llm = llm
        self._log = llm.log
        self._count_calls = count_calls
        #: The window that was read last, and its stored replies.
        self._kept = ("", dict[str, tuple[str, str]]())
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

        ``most_calls``: no window is begun whose calls would exceed so many; the others wait, without a notice.
        Returns whether all is read. Raises Interrupted, StorageError.
        """
        allowed = None if most_calls is None else self.calls + most_calls
        size = self._llm.settings.window_size
        if all_of_it and only is None and most_calls is None:
            self._read_ahead(session_id, size, cancel)
        while window := self._memory.messages.next_window(session_id, size, all_of_it=all_of_it, only=only):
            if allowed is not None and self.calls + _CALLS_A_WINDOW > allowed:
                return False
            extracted = yield from self._extract_window(window, cancel)
            if extracted is None:
                return False
            yield extracted
        return True

    def _read_ahead(self, session_id: str, size: int, cancel: CancelToken) -> None:
        """Ask for the notes of all windows, several at once, and whether their words say them; the replies are stored.

        What fails is asked again in its turn. Raises Interrupted.
        """
        unread = self._memory.messages.unread(session_id)
        windows = [unread[at : at + size] for at in range(0, len(unread), size)]
        workers = min(self._llm.settings.extraction_workers, len(windows))
        if workers < 2:
            return

        def read(messages: list[Message]) -> int:
            ahead = Extraction(self._memory, self._llm, self._count_calls)
            try:
                work = ahead._begin_window(messages)
                checked, found = ahead._extract_notes(work, cancel)
                ahead._verify_facts(work, checked, found.matters, cancel)
            except (errors.ModelError, errors.Interrupted) as fault:
                self._log.info("a window is read in its turn", exc_info=fault)
            return ahead.calls

        with ThreadPoolExecutor(workers, "windows") as pool:
            self.calls += sum(pool.map(self._memory.epoch.shared(read), windows))
        cancel.check()

    def _begin_window(self, messages: list[Message]) -> _Work:
        """What is shown for a window, and what is known before it."""
        known = self._memory.facts.all(current=True)
        said = [
            one for one in self._memory.messages.of_session(messages[0].session_id) if not one.hidden and not one.demo
        ]
        before = [one for one in said if one.position < messages[0].position]
        later = [one for one in said if one.position > messages[-1].position]
        after = [one for one in later if one.role == "user"][:_AFTER]
        following = [one for one in after if _MAY_ASK_TO_FORGET.search(one.words)]
        overlap, names = self._llm.settings.window_overlap, names_of_both(known, self._llm.settings)
        imported = self._memory.sessions.was_imported(messages[0].session_id)
        return _Work(
            messages, before[len(before) - overlap :] if overlap < len(before) else before, following, known, names,
            self._memory.language(), [] if imported else self._memory.matters.with_status(MAY_BE_OPEN), imported, later,
        )  # fmt: skip

    def _extract_window(
        self, messages: list[Message], cancel: CancelToken
    ) -> Generator[Notice, None, WindowExtracted | None]:
        """One window, from its turns to what is learned of it; None when its turns went meanwhile, or a model fails."""
        work = self._begin_window(messages)
        asked = True
        try:
            checked, found = self._extract_notes(work, cancel)
            in_slots = self._memory.facts.in_slots(one.slot for one in checked.facts) if checked.facts else []
            work = replace(work, known=[*work.known, *in_slots])
            checked, matters, asked = self._verify_facts(work, checked, found.matters, cancel)
            outcome = self._compare_with_known(work, checked.facts, cancel)
        except (errors.ContentFiltered, errors.ContextTooLong, _HopelessError) as fault:
            # It would be refused the next time as well, and nothing may be stuck on it for good.
            yield Notice("extraction.refused", {"error": fault})
            checked, outcome = CheckedNotes((), (), (), Counter()), Outcome((), (), {}, Counter())
            found, matters = _Open(), ()
        except errors.ModelError as fault:
            self._log.warning("a window is left for later", exc_info=fault)
            yield Notice("extraction.failed", {"error": fault})
            return None
        cancel.check()
        kept = {fact.text_id for fact in outcome.facts}
        relations = tuple(one for one in checked.relations if one.fact in kept)
        learned = Learned(work.window, checked.notes, outcome.facts, relations, outcome.changes, checked.rejected)
        contradicted = tuple(self._find_contradicted(outcome))
        with self._memory.in_one_commit():
            if not self._memory.fact_log.learn(learned, matters):
                return None
            self._settle_matters(work, found)
            if not asked:
                self._memory.jobs.request("verify", work.window.name)
        self._log.info(
            "window %s: %d notes, %d facts (%s), %d changes, %d open; rejected: %s; ignored: %s",
            work.window.name, len(learned.notes), len(learned.facts), dict(Counter(one.basis for one in learned.facts)),
            len(learned.changes), len(matters), dict(checked.rejected), dict(outcome.ignored),
        )  # fmt: skip
        return WindowExtracted(work.window, len(learned.notes), len(learned.facts), contradicted)

    def verify_window(self, window: str, cancel: CancelToken) -> None:
        """Ask of the quoted facts of a window whether their words say them, and learn what then changes.

        Raises ModelError, Interrupted, StorageError; nothing is changed then.
        """
        quoted, unverified = self._memory.facts.quoted_in(window), self._memory.matters.unverified_in(window)
        last = self._memory.messages.with_ids((window,))
        if not (quoted or unverified) or not last:
            return
        known = [one for one in self._memory.facts.all(current=True) if one not in quoted]
        said = [one for one in self._memory.messages.of_session(last[0].session_id) if not one.hidden]
        names = names_of_both(known, self._llm.settings)
        work = _Work(said, (), (), known, names, self._memory.language())
        facts = [new for one in quoted if may_be_verified(new := _as_new(one))]
        in_slots = self._memory.facts.in_slots(one.slot for one in quoted)
        work = replace(work, known=[*known, *(one for one in in_slots if one not in quoted)])
        answers, still_open = self._ask_whether_said(work, window, facts, unverified, cancel)
        verified = tuple(replace(one, basis="verified") for one in facts if answers.get(one.text_id) == "yes")
        outcome = self._compare_with_known(work, verified, cancel, window)
        cancel.check()
        with self._memory.in_one_commit():
            self._memory.fact_log.verify(window, [one.text_id for one in outcome.facts], outcome.changes)
            still = {one.number for one in self._memory.matters.unverified_in(window)}
            for at, one in enumerate(unverified):
                status: MatterStatus = "pending" if at in still_open else "closed"
                if one.number in still:
                    self._memory.matters.set_status(one.number, status, one.yearly, one.next_review)
            # What else was said since was read, or will be, without it.
            first = min((one.place for one in unverified), default=last[0].seq)
            later = [
                message
                for message in (self._memory.messages.said_after(first, _LATER_READ) if still_open else [])
                if message.session_id != last[0].session_id or message.position > last[0].position
            ]
            became = spoken_of([replace(one, status="pending") for one in unverified], later)
            self._memory.settle_matters(later, self._llm.clock(), became)

    # -- the calls -----------------------------------------------------------------------------------------------

    def _extract_notes(self, work: _Work, cancel: CancelToken) -> tuple[CheckedNotes, _Open]:
        """The notes of a window that its messages support, and what is open; no call if only a companion spoke.

        Raises BadReply when the reply holds none.
        """
        if not any(message.role == "user" or (message.speaker and not work.imported) for message in work.messages):
            return CheckedNotes((), (), (), Counter()), _Open()

        # A reply that was stored is of the matters that were shown then.
        _, made_from = self._replies_of(work.window.name).get("notes", ("", ""))
        if made_from.startswith(work.digest):
            shown = [one for one in work.open if str(one.number) in made_from.split()[1:]]
        else:
            shown = shown_matters(work.open, work.messages)
            made_from = " ".join((work.digest, *(str(one.number) for one in shown)))

        def ask() -> str:
            words = "\n".join(message.words for message in (*work.before, *work.messages))
            people = known_people(work.known, work.names, words)
            task = ExtractionTask(work.messages, work.before, work.following, people, shown)
            return self._llm.extract_notes(task, work.language, cancel, work.names)

        def read(reply: str) -> NotesRead:
            found = read_notes(reply)
            if not found.understood:  # as good as no reply, and not kept
                raise errors.BadReply(_UNREADABLE)
            return found

        try:
            drafts = self._ask_or_reuse(work.window.name, "notes", made_from, ask, read)
        except errors.BadReply as fault:
            if fault.key != _UNREADABLE:
                raise
            before, made_from = self._replies_of(work.window.name).get("unreadable", ("0", ""))
            tries = 1 + int(before if made_from == work.digest else 0)
            self._memory.windows.store_reply(work.window.name, "unreadable", work.digest, str(tries))
            if tries >= _MOST_TRIES:
                raise _HopelessError(_UNREADABLE) from fault
            raise
        notes, concluded = without_inferences(_normalize_subjects(work, drafts.notes))
        new_id = self._memory.fact_log.new_id
        checked = check_notes(notes, work.messages, work.before, work.names, new_id, [one.words for one in shown])
        earlier = self._memory.facts.inferred(current=None) if concluded else []
        found = infer_facts(concluded, work.spoken(self._llm.settings), earlier, checked.rejected, new_id)
        checked = replace(checked, facts=(*checked.facts, *found))
        if work.imported or self._memory.sessions.is_of_program(work.messages[0].session_id):
            # What another program says of itself is not true of this companion.
            facts = tuple(fact for fact in checked.facts if fact.about != "companion")
            checked.rejected["of another companion"] += len(checked.facts) - len(facts)
            checked = replace(checked, facts=facts)
        checked.rejected.update(drafts.rejected)
        if work.imported:
            return checked, _Open()
        open_drafts = (fact for note in drafts.notes for fact in note.facts)
        matters, rejected = check_matters(open_drafts, work.messages, work.before, work.names)
        checked.rejected.update(rejected)
        settled = settled_by(drafts.settled, shown, work.messages)
        return checked, _Open(matters, settled, frozenset(one.number for one in shown))

    def _settle_matters(self, work: _Work, found: _Open) -> None:
        """Note what a window did to what was open; a matter that it speaks of, and was not shown with it, is closed.

        So is a new one that was spoken of since in what was read before it.
        """
        if work.imported:
            return
        stored = self._memory.matters.with_status(MAY_BE_OPEN) if work.open or found.matters else []
        stored = [replace(one, status="pending") for one in stored]
        ids = {message.text_id for message in work.messages}
        new = [one for one in stored if one.message in ids]
        before = [one for one in stored if one.message not in ids and one.number not in found.shown]
        first = min((one.place for one in new), default=None)
        since = [] if first is None else self._memory.messages.said_after(first, _LATER_READ, read=True)
        since = [message for message in since if message.text_id not in ids]
        known = {**spoken_of(before, work.messages), **spoken_of(new, since), **found.settled}
        self._memory.settle_matters((*work.before, *work.messages, *since), self._llm.clock(), known)

    def _verify_facts(
        self, work: _Work, checked: CheckedNotes, matters: Sequence[NewMatter], cancel: CancelToken
    ) -> tuple[CheckedNotes, Sequence[NewMatter], bool]:
        """The facts as they are believed, what is open, and whether the model was asked.

        Where it is not there, all facts are quoted, and nothing counts as open yet.
        """
        wrong = [fact for fact in work.known if fact.corrected]
        events = (event for fact in wrong for event in self._memory.facts.events_of(fact.text_id))
        rejected_at = {event.fact: event.when for event in events if event.kind in ("put_right", "corrected")}
        checked = without_rejected(checked, wrong, rejected_at)
        facts = [fact for fact in checked.facts if fact.basis != "inferred"]
        inferred = [fact for fact in checked.facts if fact.basis == "inferred"]
        answers, still_open = dict[str, Answer](), frozenset[int]()
        asked = True
        try:
            asked_of = [fact for fact in facts if may_be_verified(fact)]
            answers, still_open = self._ask_whether_said(work, work.window.name, asked_of, matters, cancel)
        except errors.ModelError as fault:
            self._log.warning("what words say is asked later", exc_info=fault)
            asked = False
        believed = believe(replace(checked, facts=tuple(facts)), answers, work.spoken(self._llm.settings))
        if asked:
            matters = [one for at, one in enumerate(matters) if at in still_open]
        else:
            matters = [replace(one, status="unverified") for one in matters]
        return replace(believed, facts=(*believed.facts, *inferred)), matters, asked

    def _ask_whether_said(
        self,
        work: _Work,
        window: str,
        facts: Sequence[NewFact],
        matters: Sequence[NewMatter | OpenMatter],
        cancel: CancelToken,
    ) -> tuple[dict[str, Answer], frozenset[int]]:
        """For each fact, by id, whether its words say it, and which of the matters are open; one call for all.

        Nothing where no model is connected or it refuses. Raises ModelError, Interrupted.
        """
        if not (facts or matters) or self._llm.settings.demo:
            return {}, frozenset()
        spoken, order = work.spoken(self._llm.settings), in_asking_order(facts, window)
        called = {"user": spoken.person, "assistant": spoken.companion}
        candidates = material_of(order, spoken.in_order, called)
        candidates += [passage_of(one, (*spoken.in_order, *work.later), called) for one in matters]

        def ask() -> str:
            return self._llm.check_statements(candidates, work.language, cancel, work.names)

        base = hash_texts(*(text for one in candidates for text in (*one.passage, one.statement)))
        try:
            answers = self._ask_or_reuse(
                window, "verify", base, ask, lambda reply: read_answers(reply, len(candidates))
            )
        except (errors.ContentFiltered, errors.ContextTooLong, errors.BadReply) as fault:
            self._log.warning("what words say cannot be asked", exc_info=fault)
            return {}, frozenset()
        asked = Counter(answers.get(number, "none") for number in range(1, len(candidates) + 1))
        self._log.info("window %s: do its words say this? %s", window, dict(asked))
        open_too = (number - len(order) - 1 for number, answer in answers.items() if answer == "yes")
        return (
            {order[number - 1].text_id: answer for number, answer in answers.items() if number <= len(order)},
            frozenset(at for at in open_too if at >= 0),
        )

    def _compare_with_known(
        self, work: _Work, facts: Sequence[NewFact], cancel: CancelToken, window: str = ""
    ) -> Outcome:
        """What the verified ones of the new facts do to known ones; a model is asked only where something is near.

        The slots alone decide where it refuses. What was only quoted and is said again now is verified by that. Facts
        that are not verified are learned as they are.
        """
        new = [fact for fact in facts if fact.basis == "verified"]
        others = tuple(fact for fact in facts if fact.basis != "verified")
        every = {fact.text_id: fact for fact in work.known}.values() if new else ()
        again = {
            one.text_id: replace(one, verified=True)
            for one in every
            if not one.verified
            and one.current
            and any(is_same(one, fact) and one.stance == fact.stance for fact in new)
        }
        known = [again.get(one.text_id, one) for one in every if one.verified or one.text_id in again]
        outcome = self._decide(work, new, known, cancel, window or work.window.name)
        verifies = tuple(
            replace(change, verdict="verifies")
            for change in outcome.changes
            if change.verdict == "same" and change.fact in again
        )
        return replace(outcome, facts=(*outcome.facts, *others), changes=(*outcome.changes, *verifies))

    def _decide(
        self, work: _Work, new: Sequence[NewFact], known: Sequence[Fact], cancel: CancelToken, window: str
    ) -> Outcome:
        shown = sorted(find_near(new, known), key=lambda one: one.said[:10])
        if not shown:
            return compare_facts(new, known)

        def ask() -> str:
            return self._llm.compare_facts(new, shown, work.language, cancel, work.names)

        base = hash_texts(*(f"{fact.text_id} {fact.restatement}" for fact in shown), *(one.restatement for one in new))
        try:
            found = self._ask_or_reuse(window, "compare", base, ask, lambda reply: read_comparison(reply, len(new)))
        except (errors.ContentFiltered, errors.ContextTooLong):
            return compare_facts(new, known)
        return compare_facts(new, known, shown, found.verdicts, found.doubts)

    def _ask_or_reuse(
        self, window: str, stage: str, base: str, ask: Callable[[], str], read: Callable[[str], _Read]
    ) -> _Read:
        """The stored reply, or a new one, which is stored before it is used."""
        kept, made_from = self._replies_of(window).get(stage, ("", None))
        if made_from == base:
            return read(kept)
        self.calls += 1
        self._count_calls(1)
        reply = ask()
        found = read(reply)
        self._memory.windows.store_reply(window, stage, base, reply)
        self._replies_of(window)[stage] = (reply, base)
        return found

    def _replies_of(self, window: str) -> dict[str, tuple[str, str]]:
        """The stored replies for a window, read once."""
        if self._kept[0] != window:
            self._kept = window, self._memory.windows.replies(window)
        return self._kept[1]

    def _find_contradicted(self, outcome: Outcome) -> Iterator[Notice]:
        """The companion's own statements that a new one takes back, with both."""
        new = {fact.text_id: fact for fact in outcome.facts}
        taken = {one.fact: one.by for one in outcome.changes if one.verdict in _TAKES_BACK} | {**outcome.replaced}
        taken = {fact: by for fact, by in taken.items() if by in new}
        for before in self._memory.facts.with_ids(list(taken)):
            if before.about == "companion":
                self._memory.voice.contradict([before.text_id])
                now = new[taken[before.text_id]].restatement
                yield Notice("canon.contradicted", {"before": before.restatement, "now": now})


def names_of_both(known: Sequence[Fact], settings: Settings) -> Names:
    """Under which names the two are known, from the settings and from what is verified, and who else is."""
    known, words = [fact for fact in known if fact.verified], TEMPLATES.values()
    stated = stated_names(known)
    person, companion = ([one.value for one in known if one.slot == slot] for slot in OWN_NAMES)
    person = [settings.user_name, *stated.person, *person, *(each.person for each in words)]
    companion = [settings.companion_name, *stated.companion, *companion, *(each.companion for each in words)]
    return Names(
        tuple(filter(None, person)),
        tuple(filter(None, companion)),
        frozenset(name for fact in known for name in _mentioned_names(fact)),
        stated.person_called,
        stated.companion_called,
    )


def _as_new(fact: Fact) -> NewFact:
    """A stored fact as it was learned."""
    return NewFact(
        fact.text_id, fact.note, fact.restatement, fact.subject, fact.attribute, fact.value, fact.slot, fact.single,
        fact.about, fact.stance, fact.said, fact.messages, fact.keywords, fact.persons, fact.entities, fact.location,
        fact.start, fact.end, fact.quotes, fact.learned_as,
    )  # fmt: skip


def _mentioned_names(fact: Fact) -> Iterator[str]:
    """What a known fact names: whoever speaks of it again has not invented it."""
    return filter(None, (fact.subject, fact.value, fact.location, *fact.persons, *fact.entities))


def _normalize_subjects(work: _Work, notes: Sequence[NoteDraft]) -> list[NoteDraft]:
    """The drafts with facts about the two under the names that are known, also where they get others in this window."""
    words = TEMPLATES[work.language]
    own, every = {PERSON: words.person, COMPANION: words.companion}, range(1, len(work.messages) + 1)
    subjects: dict[str, str] = {}
    for fact in (fact for note in notes for fact in note.facts):
        slot, _ = slot_of(fact.subject, fact.attribute, fact.about, work.names)
        if fact.value and slot in OWN_NAMES:
            subjects[fact.value] = own[slot.subject]
        elif (
            # The person's own name, used as a subject at once.
            fact.value
            and slot.attribute == "name"
            and _gives_name(work, fact, fact.value, fact.messages)
            and fact.subject in (fact.value, fact.value.split()[0])
        ):
            subjects[fact.value] = words.person
        elif slot.subject not in own and _gives_name(work, fact, fact.subject, every):
            subjects[fact.subject] = words.person

    def normalize(fact: FactDraft) -> FactDraft:
        subject = _rename_subject(fact.subject, subjects)
        # Whom a fact is about is asked only by its subject.
        meant = slot_of(subject, fact.attribute, fact.about, work.names)[0].subject
        about = _ABOUT.get(meant, "other") if fact.about == "person" else fact.about
        return replace(fact, subject=subject, about=about)

    return [replace(note, facts=tuple(map(normalize, note.facts))) for note in notes]


def _gives_name(work: _Work, fact: FactDraft, name: str, messages: Container[int]) -> bool:
    """Whether the person, who had no name so far, calls themselves by this name in one of these turns."""
    if fact.about != "person" or work.names.person_called:
        return False
    own = (message for number, message in enumerate(work.messages, 1) if number in messages and message.role == "user")
    return any(gives_own_name(own_words(message), name) for message in own)


#: Whose relation somebody is, as a model may write it.
_OF_WHOM = pattern_of(r"(?P<relation>[^()（）]+?) ?[(（](?P<owner>[^()（）]+)[)）]")


def _rename_subject(subject: str, subjects: Mapping[str, str]) -> str:
    """A subject with its owner's name replaced; a first name counts as the whole name. 爸爸（陈默） is 陈默的爸爸."""
    if (found := _OF_WHOM.fullmatch(subject)) and is_kin(found["relation"]):
        of = "的" if unspaced_length(found["relation"]) else "'s "
        subject = f"{found['owner']}{of}{found['relation']}"
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
