"""Chapters: what several sessions came to together, and several chapters, as far as there is enough of it.

    eight sessions -> a chapter; eight chapters -> one over them; eight turns of a very long session -> a group of it

Groups are greedy and in order. One that is full is summarised once, and never again unless something under it went; so
there is at most one call for every seven nodes, whatever their length: what is too long together is shortened, the
longest first. Promises: a chapter is one commit or nothing, made only of what stands when it is stored; a model that
fails leaves it for later with one notice; without a model nothing is done, and nothing waits for it. A chapter of
nothing but what was brought along is one of the calls of the day that reading up may make, and waits for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from domain import errors
from domain.events import Notice
from domain.imports import IMPORT_DOOR
from domain.languages import estimate
from domain.records import PREFIX
from domain.tree import Member
from domain.workers import Stop
from jobs.noting import names_of_both
from llm import Llm
from memory import Memory
from models.chapter_prompts import Material
from recall.asked_periods import named as days_named

__all__ = ["ChapterEvent", "Grown", "WritingChapters", "days_named", "full_groups", "shortened"]

#: So many calls are made at once; what is left, in a memory that is old when it first gets chapters, comes later.
_MOST_AT_ONCE = 20
#: Of two neighbours that are in no chapter, with others between them that are, one may be so much older.
_FAR_APART = timedelta(days=30)
#: What a model refuses is told by how it begins: so many characters of each.
_OPENING = 120


@dataclass(frozen=True)
class Grown:
    """A chapter, or the summary of a session too long for one call, was made of so many parts."""

    height: int
    parts: int


ChapterEvent = Grown | Notice


@dataclass(frozen=True)
class _Due:
    """Something to be made: of what, how high, within which session, and the chapter that gets its text anew."""

    members: Sequence[Member]
    height: int
    session_id: str = ""
    anew: str = ""
    past: bool = False


class WritingChapters:
    """Makes the chapters of one memory."""

    def __init__(self, memory: Memory, llm: Llm, *, all_at_once: bool = False) -> None:
        """``all_at_once``: what was brought along waits for no other day."""
        self._memory = memory
        self._chapters = memory.chapters
        self._llm = llm
        self._all_at_once = all_at_once
        self._size = llm.settings.group_size
        self._tokens = llm.settings.group_tokens

    def due(self) -> bool:
        """Whether there is anything to be made, and a model to make it."""
        return next(self._all_due(), None) is not None

    def run(self, stop: Stop, *, only_past: bool = False) -> Iterator[ChapterEvent]:
        """Make what is due, one call at a time; or only what was brought along. What fails is left for the next time.

        Raises StorageError.
        """
        try:
            for _ in range(_MOST_AT_ONCE):
                due = next(self._all_due(only_past=only_past), None)
                if due is None or not self._made(due, stop):
                    return
                yield Grown(due.height, len(due.members))
        except errors.ModelError as fault:
            self._llm.log.warning("a chapter is left for later", exc_info=fault)
            yield Notice("chapters.left", {"error": fault})

    # -- what is due ---------------------------------------------------------------------------------------------

    def _all_due(self, *, only_past: bool = False) -> Iterator[_Due]:
        """What is to be made now."""
        if self._llm.describe().standin:
            return
        left = self._memory.imports.left()
        waits = left.resting or left.calls_today >= self._llm.settings.import_calls
        for due in self._ever_due():
            past = self._is_past(due)
            if (past or not only_past) and (self._all_at_once or not (past and waits)):
                yield replace(due, past=past)

    def _is_past(self, due: _Due) -> bool:
        """Whether there is nothing in it but sessions that were brought along, and that nobody went on with."""
        names = {one.name for one in due.members}
        under = {one.text_id: one.children for one in self._chapters.all()} if due.height > 1 else {}
        for _ in range(due.height - 1):
            names = {child for name in names for child in under.get(name, ())}
        sessions = [] if due.session_id else [self._memory.sessions.find(name) for name in names]
        return bool(sessions) and all(one is not None and one.door == IMPORT_DOOR for one in sessions)

    def _ever_due(self) -> Iterator[_Due]:
        """What is to be made, in this order: what is asked for anew, groups of long sessions, chapters."""
        for chapter, members in self._chapters.due():
            yield _Due(members, chapter.height, chapter.session_id, chapter.text_id)
        for session_id in self._long_sessions():
            yield from self._groups(session_id)
            yield from self._summary(session_id)
        yield from self._groups()

    def _groups(self, session_id: str = "") -> Iterator[_Due]:
        """The full groups of each height."""
        for height in self._heights(session_id):
            for group in full_groups(self._chapters.ungrouped(height, session_id), self._size):
                yield _Due(group, height, session_id)

    def _heights(self, session_id: str) -> range:
        """How high chapters are, within a session or over all of them, and one higher."""
        made = (one.height for one in self._chapters.all() if one.session_id == session_id)
        return range(1, max(made, default=0) + 2)

    def _long_sessions(self) -> Iterator[str]:
        """The sessions that no call takes whole; a token has a character at least."""
        most = self._size * self._tokens
        for session_id in self._chapters.long_sessions(most):
            if sum(estimate(turn.text) for turn in self._memory.messages.of_session(session_id)) > most:
                yield session_id

    def _summary(self, session_id: str) -> Iterator[_Due]:
        """The summary of a session that has none, from its highest groups and what is in none of them."""
        asked = {one.session_id for one in self._memory.rebuilds.due() if one.what == "summary"}
        if self._memory.summaries.of(session_id) is None and session_id not in asked:
            free = [self._chapters.ungrouped(height, session_id) for height in self._heights(session_id)]
            members = sorted((one for each in free for one in each), key=lambda one: one.start)
            if members:
                yield _Due(members, 0, session_id)

    # -- making it -----------------------------------------------------------------------------------------------

    def _made(self, due: _Due, stop: Stop) -> bool:
        """Make one; false where what it is made from changed meanwhile."""
        if due.past:
            self._memory.imports.count_calls(1)
        text = self._text(due, stop)
        stop.check()
        if due.height == 0:
            return self._folded(due, text)
        if due.anew:
            return self._chapters.rebuild(due.anew, due.members, text)
        return self._chapters.add(due.height, due.members, text, due.session_id)

    def _folded(self, due: _Due, text: str) -> bool:
        """Let a long session have its summary; false where it would be made from something else now."""
        with self._memory.in_one_commit():
            if next(self._summary(due.session_id), None) != due:
                return False
            rounds = self._memory.messages.rounds(due.session_id)
            self._memory.rounds.compact(due.session_id, rounds[-1].user.round if rounds else 0, text)
        return True

    def _text(self, due: _Due, stop: Stop) -> str:
        """What a model makes of it; what it refuses to read is told by how each part begins, so that none is stuck."""
        material: Material = "chapters" if due.height > 1 else "turns" if due.session_id else "summaries"
        names = names_of_both(self._memory.facts.all(current=True), self._llm.settings)
        tokens = self._tokens
        while True:
            try:
                return self._llm.chapter(shortened(due.members, tokens), material, stop, names)
            except errors.ContextTooLong:
                if tokens <= self._tokens // 4:
                    return _openings(due.members)
                tokens //= 2
            except errors.ContentFiltered:
                return _openings(due.members)


def full_groups(members: Sequence[Member], size: int) -> Iterator[Sequence[Member]]:
    """Each ``size`` neighbours of these that belong together, in order; none where there are not so many."""
    run: list[Member] = []
    for one in members:
        run = [*run, one] if not run or _near(run[-1], one) else [one]
        if len(run) == size:
            yield run
            run = []


def _near(one: Member, other: Member) -> bool:
    """Whether nothing that is in a chapter stands between two, or little time; never over what is still to be made."""
    if one.unready_before != other.unready_before:
        return False
    if one.grouped_before == other.grouped_before:
        return True
    return datetime.fromisoformat(other.start) - datetime.fromisoformat(one.end) <= _FAR_APART


def shortened(members: Sequence[Member], tokens: int) -> list[Member]:
    """The members with texts that fit together: the longest are cut to one length, the others stay whole."""
    told = [estimate(one.text) for one in members]
    left, most = tokens, tokens
    for place, size in enumerate(sorted(told)):
        most = left // (len(told) - place)
        if size > most:
            break
        left -= size
    else:
        return list(members)
    return [
        one if size <= most else replace(one, text=_cut(one.text, most / size))
        for one, size in zip(members, told, strict=True)
    ]


def _cut(text: str, share: float) -> str:
    """The beginning and the end of a text: this share of it."""
    half = max(1, int(len(text) * share * 0.95) // 2)
    return f"{text[:half]} … {text[-half:]}"


def _openings(members: Sequence[Member]) -> str:
    """How each of these begins."""
    lines = (" ".join(_by_name(one).split())[:_OPENING] for one in members)
    return "\n".join(line for line in lines if line)


def _by_name(member: Member) -> str:
    """A member's text; a turn of somebody else begins with who said it."""
    words = member.text.removeprefix(PREFIX["assistant"])
    return f"{member.speaker}: {words}" if member.speaker else member.text
