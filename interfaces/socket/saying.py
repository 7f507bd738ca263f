"""Something said or asked from beside: by ``-p`` or ``--ask`` while a chat, or another program, holds the memory.

What is said is a session of its own, archived when it is answered, and the chat that goes on knows nothing of it but
that it is remembered. What is told of it is what ``-p`` shows; nothing is left of it when nothing was stored. What is
asked is answered from memory alone, and touches no session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict

from conversation import Conversation, Recalled, Replied, TurnEvent
from domain.events import MemoryAnswer, Notice, ReasoningDelta, Retrying, TextDelta
from domain.text import one_line
from domain.workers import Stop
from interfaces.messages import Words
from interfaces.terminal.batch import recalled
from interfaces.terminal.reply import counts_of
from jobs.asking import Asking
from people import ME, Companion, People

#: How much of what was said stands in the summary of a session that holds nothing else.
_SUMMARY = 300

Told = dict[str, object]


def say(people: People, words: Words, text: str, incognito: bool, stop: Stop) -> Iterator[Told]:
    """The events of a turn, the reply last. Raises ModelError, Interrupted, UsageError, StorageError."""
    with people.companion(ME) as companion, companion.turns:
        with _apart(companion, words, incognito) as conversation:
            reply: Told = {}
            for event in conversation.turn(text, stop):
                if isinstance(event, Replied):
                    reply = _replied(event)
                else:
                    yield from _event(event)
            for notice in conversation.fold_now():
                yield from _event(notice)
        yield {"answer": reply}


def ask(people: People, question: str, stop: Stop) -> Iterator[Told]:
    """The events of an answer from memory alone, the answer last. Raises as ``say`` does."""
    with people.companion(ME) as one:
        asking = Asking(one.settings, one.memory, one.llm, one.log, one.clock)
        for event in asking.answer(question, "", stop):
            if isinstance(event, MemoryAnswer):
                yield {"answer": _answered(event)}
            else:
                yield from _event(event)


@contextmanager
def _apart(companion: Companion, words: Words, incognito: bool) -> Iterator[Conversation]:
    """A conversation in a session before the present one, which is what the next start goes on with."""
    memory = companion.memory
    present, _ = memory.sessions.resume_or_start()
    own = memory.sessions.start(before=present.session_id)
    conversation = Conversation(
        companion.settings, memory, companion.llm, companion.log,
        session=own, clock=companion.clock, new_id=companion.new_id, incognito=incognito,
        background=companion.background,
    )  # fmt: skip
    try:
        yield conversation
    finally:
        with memory.in_one_commit():
            memory.sessions.drop_in_flight(own.session_id)
            if rounds := memory.messages.rounds(own.session_id):
                said = one_line(rounds[0].user.words, _SUMMARY)
                summary = words.say("batch.summary", said=said)
                memory.rounds.save(own.session_id, summary, {}, open_next=False)
            else:
                present, _ = memory.sessions.resume_or_start()
                memory.rounds.resume(present.session_id, own.session_id)


def _event(event: TurnEvent) -> Iterator[Told]:
    match event:
        case TextDelta(text):
            yield {"event": "text", "text": text}
        case ReasoningDelta(text):
            yield {"event": "reasoning", "text": text}
        case Notice(key, details):
            yield {"event": "notice", "key": key, "details": dict(details)}
        case Retrying(failed, attempt, of, seconds):
            yield {"event": "retrying", "failed": failed, "attempt": attempt, "of": of, "seconds": seconds}
        case Recalled(recollection):
            yield {"event": "recalled", "counts": counts_of(recollection)}


def _answered(event: MemoryAnswer) -> Told:
    return {
        "reply": asdict(event.reply) if event.reply else None,
        "known": event.known,
        "counts": counts_of(event.recollection),
    }


def _replied(event: Replied) -> Told:
    return {
        "reply": asdict(event.reply),
        "session": event.round.user.session_id,
        "recalled": recalled(event.recollection),
        "counts": counts_of(event.recollection),
    }


def event_of(came: Mapping[str, object]) -> TurnEvent | None:
    """What came over the line, as an event of a turn; None where it is nothing to show."""
    match came:
        case {"event": "text", "text": str(text)}:
            return TextDelta(text)
        case {"event": "reasoning", "text": str(text)}:
            return ReasoningDelta(text)
        case {"event": "notice", "key": str(key), "details": dict(details)}:
            return Notice(key, details)
        case {"event": "retrying", "failed": failed, "attempt": attempt, "of": of, "seconds": seconds}:
            return Retrying(failed, attempt, of, seconds)  # type: ignore[arg-type]
    return None
