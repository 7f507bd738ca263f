"""Messages and questions from another program (``-p``, ``--ask``) while this one has the memory open.

A message gets its own session, archived when it is answered and removed when nothing was stored; the chat here only
finds it in memory. A question is answered from memory alone, without a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict

from conversation import Conversation, Recalled, Replied, TurnEvent
from domain.events import MemoryAnswer, Notice, ReasoningDelta, Retrying, TextDelta
from domain.text import one_line
from domain.workers import CancelToken
from interfaces.messages import Words
from interfaces.recollections import recalled_values
from interfaces.terminal.reply import counts_of
from jobs.asking import Asking
from people import ME, Companion, People

#: Characters of the message in the summary of its session.
_SUMMARY = 300

Line = dict[str, object]


def answer_message(people: People, words: Words, text: str, incognito: bool, stop: CancelToken) -> Iterator[Line]:
    """The events of a turn, the reply last. Raises ModelError, Interrupted, UsageError, StorageError."""
    with people.companion(ME) as companion, companion.turns:
        with _separate_session(companion, words, incognito) as conversation:
            reply: Line = {}
            for event in conversation.turn(text, stop):
                if isinstance(event, Replied):
                    reply = _reply_line(event)
                else:
                    yield from _event_line(event)
            for notice in conversation.compact_now():
                yield from _event_line(notice)
        yield {"answer": reply}


def answer_question(people: People, question: str, stop: CancelToken) -> Iterator[Line]:
    """The events of an answer from memory alone, the answer last. Raises as ``answer_message`` does."""
    with people.companion(ME) as one:
        asking = Asking(one.settings, one.memory, one.llm, one.log, one.clock)
        for event in asking.answer_question(question, "", stop):
            if isinstance(event, MemoryAnswer):
                yield {"answer": _answer_line(event)}
            else:
                yield from _event_line(event)


@contextmanager
def _separate_session(companion: Companion, words: Words, incognito: bool) -> Iterator[Conversation]:
    """A conversation in a session before the present one, which the next start resumes."""
    memory = companion.memory
    present, _ = memory.sessions.resume_or_start()
    own = memory.sessions.start(before=present.session_id)
    conversation = Conversation(
        companion.turn_steps(), own, new_id=companion.new_id, incognito=incognito, maintenance=companion.maintenance
    )
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


def _event_line(event: TurnEvent) -> Iterator[Line]:
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


def _answer_line(event: MemoryAnswer) -> Line:
    return {
        "reply": asdict(event.reply) if event.reply else None,
        "known": event.known,
        "counts": counts_of(event.recollection),
    }


def _reply_line(event: Replied) -> Line:
    return {
        "reply": asdict(event.reply),
        "session": event.round.user.session_id,
        "recalled": recalled_values(event.recollection),
        "counts": counts_of(event.recollection),
    }


def read_event(line: Mapping[str, object]) -> TurnEvent | None:
    """A line that was received, as an event of a turn; None where it is nothing to show."""
    match line:
        case {"event": "text", "text": str(text)}:
            return TextDelta(text)
        case {"event": "reasoning", "text": str(text)}:
            return ReasoningDelta(text)
        case {"event": "notice", "key": str(key), "details": dict(details)}:
            return Notice(key, details)
        case {"event": "retrying", "failed": failed, "attempt": attempt, "of": of, "seconds": seconds}:
            return Retrying(failed, attempt, of, seconds)  # type: ignore[arg-type]
    return None
