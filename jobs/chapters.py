"""Chapters: summaries of several sessions, and of several chapters, once a group is full.

    eight sessions -> a chapter; eight chapters -> one above them; eight messages of a long session -> a group
    a session -> a page of the companion's diary

Groups are greedy and in order. A full group is summarised once, and again only when something under it is removed, so
there is at most one call per seven nodes; texts that are too long together are shortened, the longest first.
Guarantees: a chapter is one commit or nothing, made only of what exists when it is stored; a failing model leaves it
for later with one notice; without a model nothing is done. A chapter of imported sessions alone counts as one of the
day's import calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from domain import errors
from domain.events import Notice
from domain.facts import Fact
from domain.patterns import pattern_of
from domain.records import IMPORT_CLIENT, PREFIX, SERVICE_CLIENT
from domain.tree import Member
from domain.workers import CancelToken
from facts.importance import vital_facts
from facts.summary_checks import vital_line, with_current_values, with_vital
from jobs.extraction import names_of_both
from jobs.summaries import sources_of
from language.scripts import estimate
from llm import Llm
from memory import Memory
from prompts import Material
from recall.questions import parse_range as days_named

__all__ = [
    "ChapterEvent", "ChapterWriter", "ChapterWritten", "days_named", "full_groups", "shorten_members", "write_page",
]  # fmt: skip

#: At most so many calls in one run; an old memory without chapters gets the others later.
_MOST_AT_ONCE = 20
#: Of two neighbours that are in no chapter, with others between them that are, one may be so much older.
_FAR_APART = timedelta(days=30)
#: Where a model refuses, the chapter is the beginning of each member: so many characters.
_OPENING = 120
#: So many vital facts are in one chapter at the most.
_MOST_VITAL = 12
#: A page is from the last messages of its session: so many tokens, and so many of each. It has so many lines at most.
_PAGE_TOKENS, _PAGE_MESSAGE, _PAGE_LINES = 12_000, 2_000, 12
#: A longer line of a page is cut, and with that its numbers, so that it is dropped.
_LONGEST_LINE = 1_000
#: The numbers of messages at the end of a sentence.
_RESTS_ON = pattern_of(r"[\[［【]\s*(\d[\d\s,，、–-]*)[\]］】]\s*([.。]?)\s*$")


@dataclass(frozen=True)
class ChapterWritten:
    """A chapter, or the summary of a session too long for one call, was made of so many parts."""

    height: int
    parts: int


ChapterEvent = ChapterWritten | Notice


@dataclass(frozen=True)
class _Due:
    """A text to be written: its members, height and session, and the chapter it ``rewrites``."""

    members: Sequence[Member]
    height: int
    session_id: str = ""
    rewrites: str = ""
    past: bool = False


class ChapterWriter:
    """Writes the chapters of one memory."""

    def __init__(self, memory: Memory, llm: Llm, *, all_at_once: bool = False) -> None:
        """``all_at_once``: imported sessions are not limited to the calls of a day."""
        self._memory = memory
        self._chapters = memory.chapters
        self._llm = llm
        self._all_at_once = all_at_once
        self._size = llm.settings.group_size
        self._tokens = llm.settings.group_tokens

    def has_due(self) -> bool:
        """Whether there is anything to write, and a model to write it."""
        return next(self._find_due(), None) is not None

    def run(self, cancel: CancelToken, *, only_past: bool = False) -> Iterator[ChapterEvent]:
        """Write what is due, one call at a time, or only what is of imported sessions. What fails is left for later.

        Raises StorageError.
        """
        try:
            yield from islice(self._write_due(cancel, only_past), _MOST_AT_ONCE)
        except errors.ModelError as fault:
            self._llm.log.warning("a chapter is left for later", exc_info=fault)
            yield Notice("chapters.failed", {"error": fault})

    def _write_due(self, cancel: CancelToken, only_past: bool) -> Iterator[ChapterWritten]:
        while (due := next(self._find_due(only_past=only_past), None)) and self._write_chapter(due, cancel):
            yield ChapterWritten(due.height, len(due.members))

    # -- what is due ---------------------------------------------------------------------------------------------

    def _find_due(self, *, only_past: bool = False) -> Iterator[_Due]:
        if self._llm.described.demo:
            return
        left = self._memory.imports.remaining_backlog()
        waits = left.resting or left.calls_today >= self._llm.settings.import_calls
        for due in self._find_all_due():
            past = self._is_past(due)
            if (past or not only_past) and (self._all_at_once or not (past and waits)):
                yield replace(due, past=past)

    def _is_past(self, due: _Due) -> bool:
        """Whether all sessions in it are imported ones that were not continued."""
        names = () if due.session_id else self._sessions_under(due)
        sessions = [self._memory.sessions.find(name) for name in names]
        return bool(sessions) and all(one is not None and one.client == IMPORT_CLIENT for one in sessions)

    def _sessions_under(self, due: _Due) -> tuple[str, ...]:
        """The ids of the sessions that it is of."""
        if due.session_id:
            return (due.session_id,)
        names = [one.name for one in due.members]
        under = {one.text_id: one.children for one in self._chapters.all()} if due.height > 1 else {}
        for _ in range(due.height - 1):
            names = [child for name in names for child in under.get(name, ())]
        return tuple(names)

    def _find_all_due(self) -> Iterator[_Due]:
        """What is to be written, in this order: rewrites, groups of long sessions, chapters."""
        for chapter, members in self._chapters.due_rebuilds():
            yield _Due(members, chapter.height, chapter.session_id, chapter.text_id)
        # A session that no call takes whole; a token has a character at least.
        most = self._size * self._tokens
        for session_id in self._chapters.long_sessions(most):
            if sum(estimate(message.text) for message in self._memory.messages.of_session(session_id)) > most:
                yield from self._find_groups(session_id)
                yield from self._missing_summary(session_id)
        yield from self._find_groups()

    def _find_groups(self, session_id: str = "") -> Iterator[_Due]:
        for height in self._height_range(session_id):
            for group in full_groups(self._chapters.ungrouped(height, session_id), self._size):
                yield _Due(group, height, session_id)

    def _height_range(self, session_id: str) -> range:
        """How high chapters are, within a session or over all of them, and one higher."""
        made = (one.height for one in self._chapters.all() if one.session_id == session_id)
        return range(1, max(made, default=0) + 2)

    def _missing_summary(self, session_id: str) -> Iterator[_Due]:
        """The summary of a session that has none, from its highest groups and what is in none of them."""
        asked = {one.session_id for one in self._memory.rebuilds.due_requests() if one.what == "summary"}
        if self._memory.summaries.of(session_id) is None and session_id not in asked:
            free = [self._chapters.ungrouped(height, session_id) for height in self._height_range(session_id)]
            members = sorted((one for each in free for one in each), key=lambda one: one.start)
            if members:
                yield _Due(members, 0, session_id)

    # -- making it -----------------------------------------------------------------------------------------------

    def _write_chapter(self, due: _Due, cancel: CancelToken) -> bool:
        """Write one; false if its members changed meanwhile."""
        if due.past:
            self._memory.imports.count_calls(1)
        text = self._write_text(due, cancel)
        cancel.check()
        if due.rewrites:
            return self._chapters.rebuild(due.rewrites, due.members, text)
        if due.height:
            return self._chapters.add(due.height, due.members, text, due.session_id)
        with self._memory.in_one_commit():
            if next(self._missing_summary(due.session_id), None) != due:
                return False
            rounds = self._memory.messages.rounds(due.session_id)
            self._memory.rounds.compact(due.session_id, rounds[-1].user.round if rounds else 0, text)
        return True

    def _write_text(self, due: _Due, cancel: CancelToken) -> str:
        """The model's text, checked against its messages, with what is vital and what holds now.

        If the model refuses, the beginning of each member, so that nothing is stuck.
        """
        material: Material = "chapters" if due.height > 1 else "turns" if due.session_id else "summaries"
        known, sessions = self._memory.facts.all(), self._sessions_under(due)
        names = names_of_both([one for one in known if one.current], self._llm.settings)
        language = self._memory.language()
        under = [one for one in known if one.session_id in sessions]
        if material == "turns":
            shown = {one.text_id for one in due.members}
            under = [one for one in under if not shown.isdisjoint(one.messages)]
        vital = vital_facts(under, _MOST_VITAL)
        lines = [vital_line(one, language) for one in vital]
        for tokens in (self._tokens, self._tokens // 2, self._tokens // 4):
            try:
                members = shorten_members(due.members, tokens)
                text = self._llm.write_chapter(members, material, cancel, names, language, lines)
            except errors.ContextTooLong:
                continue
            except errors.ContentFiltered:
                break
            messages = [one for name in sessions for one in self._memory.messages.of_session(name)]
            days = " – ".join(dict.fromkeys((due.members[0].start[:10], due.members[-1].end[:10])))
            text = sources_of(self._memory, self._llm, names, messages).check_text(text, language, title=days)
            current = {one.text_id: one for one in known}
            text = with_current_values(text, [*under, *_following(under, current)], language)
            return with_vital(text, vital, language)
        return _join_openings(due.members)


def write_page(memory: Memory, llm: Llm, session_id: str, cancel: CancelToken) -> None:
    """Write the page of the diary on an archived session, of sentences that rest on its messages; or remove it.

    Sentences that name no message, or say what these do not, are dropped. Raises ModelError, Interrupted.
    """
    session = memory.sessions.find(session_id)
    if session is None or session.client in (IMPORT_CLIENT, SERVICE_CLIENT):  # no talk of the two
        return
    shown = [one for one in memory.messages.of_session(session_id) if not one.hidden and not one.demo]
    language, names, left = memory.language(), memory.names(), _PAGE_TOKENS
    recent = [one for one in shown[::-1] if (left := left - min(estimate(one.text), _PAGE_MESSAGE)) > 0][::-1]
    lines: list[tuple[str, Sequence[str]]] = []
    if any(one.role == "user" for one in recent):
        sources = sources_of(memory, llm, names, shown)
        for line in llm.write_page(recent, language, cancel, names).splitlines():
            sentence, numbers = line[:_LONGEST_LINE], set[int]()
            while found := _RESTS_ON.search(sentence):
                sentence = sentence[: found.start()].strip() + found[2]
                numbers |= {int(number) for number in re.findall(r"\d{1,6}", found[1])}
            named = [one.text_id for at, one in enumerate(recent, 1) if at in numbers]
            if named and sources.supports(sentence, named):
                lines.append((" ".join(sentence.split()).lstrip("-*• "), named))
            elif sentence.strip(" -"):
                why = "its messages do not say it" if named else "it names no message"
                llm.log.info("a line of the diary is left out: %s", why)
    cancel.check()
    memory.chapters.put_page(session_id, [one.text_id for one in shown], lines[:_PAGE_LINES])


def _following(facts: Sequence[Fact], known: Mapping[str, Fact]) -> Iterator[Fact]:
    """What came in the place of facts, one after another."""
    seen = {one.text_id for one in facts}
    for one in facts:
        now = known.get(one.replaced_by)
        while now and now.text_id not in seen:
            seen.add(now.text_id)
            yield now
            now = known.get(now.replaced_by)


def full_groups(members: Sequence[Member], size: int) -> Iterator[Sequence[Member]]:
    """Each ``size`` neighbours of these that belong together, in order; none where there are not so many."""
    run: list[Member] = []
    for one in members:
        run = [*run, one] if not run or _are_near(run[-1], one) else [one]
        if len(run) == size:
            yield run
            run = []


def _are_near(one: Member, other: Member) -> bool:
    """Whether two belong together: with nothing grouped between them, or little time, and nothing unwritten."""
    if one.unready_before != other.unready_before:
        return False
    if one.grouped_before == other.grouped_before:
        return True
    return datetime.fromisoformat(other.start) - datetime.fromisoformat(one.end) <= _FAR_APART


def shorten_members(members: Sequence[Member], tokens: int) -> list[Member]:
    """The members with texts that fit together: the longest are cut to one length, the others stay whole."""
    sizes = [estimate(one.text) for one in members]
    left, most = tokens, tokens
    for place, size in enumerate(sorted(sizes)):
        most = left // (len(sizes) - place)
        if size > most:
            break
        left -= size
    else:
        return list(members)
    return [
        one if size <= most else replace(one, text=_shorten_text(one.text, most / size))
        for one, size in zip(members, sizes, strict=True)
    ]


def _shorten_text(text: str, share: float) -> str:
    """The beginning and the end of a text: this share of it."""
    half = max(1, int(len(text) * share * 0.95) // 2)
    return f"{text[:half]} … {text[-half:]}"


def _join_openings(members: Sequence[Member]) -> str:
    lines = []
    for one in members:
        # A message of another person begins with their name.
        text = f"{one.speaker}: {one.text.removeprefix(PREFIX['assistant'])}" if one.speaker else one.text
        lines.append(" ".join(text.split())[:_OPENING])
    return "\n".join(filter(None, lines))
