"""The companion speaks first at an opening, where something is due: one or two sentences, by one call of the model.

    due? (code alone) -> one call -> checked sentence by sentence -> shown -> stored, if the person answers

Guarantees: no call where nothing is due or the companion is not to speak; no word after ``PATIENCE`` seconds without
one, nor after the cancel token is set; what is shown is whole sentences; none of them reproaches or says that it missed
anybody. The one call of a day is noted before it is made, and what was brought up before it is shown, so that a kill
never makes either come too often.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from domain import errors
from domain.events import Reply, ReplyEvent, Retrying, TextDelta
from domain.matters import OPEN, MatterStatus, OpenMatter
from domain.patterns import pattern_of
from domain.quotations import QUOTATION_TAG, without_quotations
from domain.text import encode_json, make_harmless, make_inert, new_boundary, one_line
from domain.workers import CancelToken
from facts.evidence import telling_terms
from facts.matters import day_ahead
from facts.openings import GreetingState, after_asking, due_now, may_greet
from language.calendar import age_in
from language.sentences import sentence_spans
from language.yearly import YearlyDay
from llm import Layers, Llm, PromptMessage, assemble_prompt, matter_records
from memory import Memory

#: Seconds that the model has for its first words.
PATIENCE = 4.0
#: Sentences of a greeting, and characters of the last summary that it is made from.
_MOST_SENTENCES, _OF_SUMMARY = 2, 800
_REPROACHES = pattern_of(
    r"\bmiss(?:ed|ing)? you\b|\blong time\b|\bwhere have you been\b|\b(?:forgot|forgotten) (?:about )?me\b|\bfinally (?:back|came|here)\b"
    r"|\b(?:lonely|abandon\w*|neglect\w*)\b|\bwait(?:ed|ing) for you\b|\byou (?:haven't|never|didn't) (?:been|come|talk|writ|call|answer)\w*"
    r"|想[死念]你|想你(?=了(?!解)|[啊呀啦呢哦，,。！!~～]|$)|(?:好|很)久(?:没|不)|怎么(?:才|都?不|还不)来|等(?:了)?你(?:好|很)?久|冷落|忘了我|终于(?:来|回来|想起)|寂寞|孤单|不理我",
    re.IGNORECASE,
)
#: A sentence that says only how long it was is left out.
_LONG_TIME = pattern_of(
    r"\W*(?:hey|hi|hello|oh)?\W*long time no see\W*|\W*(?:嗨|哎|哟|真是|咱们?|我们)?[\W真]*好久[不没]见了?[啊呀啦]?\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Greeting:
    """What the companion said first: when, its words so far, and what they were made from."""

    at: str
    text: str
    matters: tuple[OpenMatter, ...]
    summary: str
    last_spoken: str
    messages: tuple[PromptMessage, ...] = field(repr=False)

    def with_words(self, sentence: str) -> Greeting:
        """The same with one more sentence."""
        between = "" if not self.text or self.text[-1] in "。！？…" else " "
        return replace(self, text=self.text + between + sentence)


def find_due(memory: Memory, now: datetime) -> tuple[OpenMatter, ...]:
    """What the companion may bring up now by speaking first; nothing where it is not to speak."""
    if not may_greet(GreetingState(*memory.matters.greeting()), memory.last_round_end(), now):
        return ()
    waiting = memory.matters.with_status(OPEN)
    return tuple(due_now(memory.open_matters(now, to_bring_up=True), now)) if due_now(waiting, now) else ()


#: What a person can do with what is open: it is done, it is not to be brought up again, or only from a day on.
Deed = Literal["done", "drop", "later"]


def list_open(memory: Memory, now: datetime) -> list[OpenMatter]:
    """What is open, by date, what has none last. Whoever looks takes it up: the companion may speak first again."""
    last, unanswered = memory.matters.greeting()
    if unanswered:
        memory.matters.set_greeting(last, 0)
    return sorted(memory.open_matters(now), key=lambda one: (due_day(one, now) or "~", one.number))


def due_day(one: OpenMatter, now: datetime) -> str:
    """The day of a matter, with its time if it has one, or its days; "" if it has none."""
    if yearly := YearlyDay.parse(one.yearly):
        due = yearly.nearest(now.date())
        return due.isoformat() if due else ""
    first, last = (each.replace("T", " ") for each in (one.due_from, one.due_to))
    return first if first == last else f"{first} – {last}"


def decide(memory: Memory, number: int, deed: Deed, when: str, now: datetime) -> OpenMatter:
    """Let a person settle what is open: it is done, dropped for good, or brought up later, ``when`` in their words.

    Returns the matter as it is then. Raises UsageError where none that is open has this number, or for what is no day
    ahead.
    """
    matter = next((one for one in memory.open_matters(now) if one.number == number), None)
    if matter is None:
        raise errors.UsageError("open.unknown", number=number)
    if deed != "later":
        status: MatterStatus = "closed" if deed == "done" else "dropped"
        memory.matters.set_status(number, status, matter.yearly, matter.next_review)
        return replace(matter, status=status)
    if not (day := day_ahead(when, now)):
        raise errors.UsageError("open.wrong_day", given=one_line(when, 40))
    memory.matters.postpone(number, day)
    return replace(matter, next_review=day, due_from=day, due_to=day)


def greet(
    memory: Memory, llm: Llm, layers: Layers, due: Sequence[OpenMatter], stop: CancelToken, patience: float = PATIENCE
) -> Iterator[Greeting]:
    """The greeting as it grows, a sentence at a time; none where no model answers in time. Raises StorageError."""
    last_spoken = memory.last_round_end() or ""
    messages, summary = _prompt(memory, layers, due, last_spoken)
    greeting = Greeting(layers.now.isoformat(timespec="seconds"), "", tuple(due), summary, last_spoken, messages)
    timeout = threading.Timer(patience, stop.set)
    timeout.daemon = True
    timeout.start()
    noted: set[int] = set()
    try:
        with memory.in_one_commit():  # once a day in all programs, also where nothing of the reply can be shown
            last, unanswered = memory.matters.greeting()
            if stop.is_set or not may_greet(GreetingState(last, unanswered), last_spoken or None, layers.now):
                return
            memory.matters.set_greeting(greeting.at, unanswered)
        with closing(_words(llm.chat(messages, stop, stream=True), timeout)) as words:
            for sentence in _sentences(words):
                if stop.is_set:
                    return
                if not greeting.text:
                    memory.matters.set_greeting(greeting.at, unanswered + 1)
                greeting = greeting.with_words(sentence)
                asked = [one for one in due if telling_terms(one.words) & telling_terms(greeting.text)] or due
                new = {one.number: after_asking(one, layers.now) for one in asked if one.number not in noted}
                memory.matters.note_asked(new, greeting.at)
                noted |= {*new}
                yield replace(greeting, matters=tuple(one for one in due if one.number in noted))
    except (errors.ModelError, errors.Interrupted) as fault:
        llm.log.info("no greeting", exc_info=fault)
    finally:
        timeout.cancel()


def _prompt(
    memory: Memory, layers: Layers, due: Sequence[OpenMatter], last_spoken: str
) -> tuple[tuple[PromptMessage, ...], str]:
    """The messages that ask for a greeting, and the summary that is in them."""
    boundary, talked = new_boundary(), datetime.fromisoformat(last_spoken) if last_spoken else None
    sessions = (one for one in memory.sessions.recent(2) if not layers.summary)
    summaries = (found.summary for one in sessions if (found := memory.shown.summary(one.session_id)))
    summary = layers.summary or next(summaries, "")
    about: dict[str, str] = {}
    if talked:
        about["last_talk"] = age_in(layers.language, talked.date(), layers.now.date())
    if summary:
        about["about"] = make_harmless(without_quotations(summary), boundary)[:_OF_SUMMARY]
    records = [encode_json(about)] if about else []
    records += matter_records(due, layers.language, layers.now, boundary)
    asked = layers.templates.greeting.format(boundary=boundary, records="\n".join(records), **layers.names)
    return assemble_prompt(replace(layers, text=asked), boundary), summary


def _words(events: Iterator[ReplyEvent], timeout: threading.Timer) -> Generator[str, None, None]:
    """The words of a reply as they come, then "" at its end; the first try alone counts."""
    for event in events:
        if isinstance(event, Retrying):
            return
        if isinstance(event, TextDelta):
            timeout.cancel()
            yield event.text
        elif isinstance(event, Reply):
            yield ""


def _sentences(words: Iterable[str]) -> Iterator[str]:
    """The first sentences of a reply that may be shown, each once it is whole."""
    text, read, shown = "", 0, 0
    for piece in words:
        text += piece
        plain = make_inert(QUOTATION_TAG.sub("", text))
        spans = sentence_spans(plain)
        whole = spans if not piece else spans[:-1]
        for start, end in whole[read:]:
            sentence, read = plain[start:end].strip().strip('"“”'), read + 1
            if _LONG_TIME.fullmatch(sentence):
                continue
            if not any(letter.isalnum() for letter in sentence) or _REPROACHES.search(sentence.replace("’", "'")):
                return
            shown += 1
            yield sentence
            if shown == _MOST_SENTENCES:
                return
