"""Requests to forget: what a message asks for is hidden at once, and a model reads in the background what it concerns.

Guarantees: without a model only what a request surely or probably refers to is hidden, and in doubt the person is asked
first; a model is asked at most once for a message, and the next turn waits for it; where it fails or doubts, the narrow
reading stays hidden and the person is asked. What a model adds are rounds that it was shown, or that hold a matter in
the person's own words. Nothing is erased here. A message that allows something to be mentioned again unhides what it
refers to.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain import errors
from domain.events import Notice
from domain.recollection import RecallLimits
from domain.records import Message, Round, pair_messages, without_hidden
from domain.workers import CancelToken
from facts.reply_json import handles_of, line_of, read_object
from facts.spans import own_words
from language.forget_requests import ForgetRequest, detect_forget_request, detect_release, rounds_about, select_rounds
from language.scripts import language_of
from llm import Llm
from memory import Memory

#: A matter that more older rounds than this contain, and more than one in so many of all, hides none of them: a
#: single word ("work") would take years with it.
_FEW, _ONE_IN = 12, 20
#: How many rounds before a request a model is shown, and how many of other sessions, hidden ones and found ones each.
_SHOWN, _SHOWN_ELSEWHERE = 8, 4
#: Of earlier sessions a model is shown what the words of the request find.
_FOUND = RecallLimits(0, 2 * _SHOWN_ELSEWHERE, 1_000)


@dataclass(frozen=True)
class ForgetOutcome:
    """What a message asks to have forgotten, and what was done at once.

    ``rounds`` are those that are hidden now, the request itself the last one. ``released`` counts the messages that may
    be mentioned again. ``reading``: a model will read the request. ``asks``: there is none, so the person is asked.
    ``unsure``: the rounds that are hidden only if the person says so.
    """

    request: ForgetRequest | None = None
    rounds: tuple[Round, ...] = ()
    released: int = 0
    reading: bool = False
    asks: bool = False
    unsure: tuple[Round, ...] = ()

    @property
    def notice(self) -> Notice | None:
        """What the person should know of it."""
        if self.released:
            return Notice("forget_request.released", {"turns": self.released})
        if self.unsure:
            return Notice(
                "forget_request.unsure", _rounds_and_turns([message for one in self.unsure for message in one.messages])
            )
        if self.request is None or not self.rounds:
            return None
        if self.asks:
            return _question([message for one in self.rounds for message in one.messages])
        return Notice("forget_request.detected", {"rounds": len(self.rounds), "matter": self.request.matter})


def follow_forget_request(
    memory: Memory, spoken: Round, unwritten: Sequence[Round] = (), *, readable: bool
) -> ForgetOutcome:
    """Hide what a round asks to have forgotten, or show again what it allows; ``readable``: a model can read it.

    No later prompt contains what is hidden and stored. Call in the commit that stores the round; a message that no one
    answers is a round too (``pair_messages``).
    """
    words, reply = spoken.user.words, spoken.assistant.words
    reads = memory.reads_like_forget_request(words)
    if not (detect_release(words) or detect_forget_request(words, reply, reads)):
        return ForgetOutcome()
    own = own_words(words)  # an order inside a pasted text is somebody else's
    if (release := detect_release(own)) and (released := find_released(memory, release)):
        memory.rounds.unhide(released)
        return ForgetOutcome(released=len(released))
    request, asks = detect_forget_request(own, reply, reads if own == words else None), False
    if own != (bounded := own_words(words, introduced=False)) and (whole := detect_forget_request(bounded, reply)):
        # What it is about may be in the text that the message introduces. Nobody but the person knows where that ends.
        asks = request is None or not request.hides
        request = replace(whole, certainty="uncertain" if asks or not request else request.certainty)
    if request is None:
        return ForgetOutcome()
    reading, rounds = readable and bool(spoken.user.seq) and not asks, tuple[Round, ...]()
    if request.hides or (request.certainty == "uncertain" and not reading):
        said = (*_rounds_of(memory, spoken.user.session_id), *unwritten)
        before = [one for one in said if one.user.text_id != spoken.user.text_id]
        rounds = (*find_rounds_to_hide(memory, request, spoken.user.session_id, before), spoken)
    if not request.hides and rounds:
        return ForgetOutcome(request, unsure=rounds)
    hidden = [message.text_id for one in rounds for message in one.messages if message.seq and not message.hidden]
    if hidden:
        memory.rounds.hide(hidden)
    if reading:
        memory.jobs.request("forget_request", spoken.user.text_id, " ".join(hidden))
    return ForgetOutcome(request, rounds, 0, reading, request.certainty == "likely" and not reading)


def find_rounds_to_hide(
    memory: Memory, request: ForgetRequest, session_id: str, before: Sequence[Round]
) -> tuple[Round, ...]:
    """The rounds that a forget request means: of older sessions, then of those ``before`` it in its own.

    Of older sessions those that contain the words it names; if it is about something recent, only where this session
    has none of it.
    """
    if request.lately and (near := select_rounds(request, before)):
        return near
    named = (part for part in request.matter if request.names_enough(part))
    found = {one.user.text_id: one for part in named for one in _find_older_rounds(memory, part, session_id)}
    older = tuple(found.values())
    return (*older, *select_rounds(request, before, older))


def _find_older_rounds(memory: Memory, part: str, session_id: str) -> tuple[Round, ...]:
    """The rounds of older sessions that contain these words; none where they are too many."""
    most = max(_FEW, memory.sessions.counts()[1] // _ONE_IN)
    # A round has two messages; one more than all of them shows that there are too many.
    found = memory.search(part, RecallLimits(0, 2 * most + 1, 0)).messages
    session_ids = sorted({message.session_id for message in found} - {session_id})
    if len(found) > 2 * most:
        return ()
    rounds = tuple(one for each in session_ids for one in rounds_about(part, without_hidden(_rounds_of(memory, each))))
    return rounds if len(rounds) <= most else ()


def find_released(memory: Memory, release: ForgetRequest) -> list[str]:
    """The hidden messages that a release refers to: those about what it names, else the newest request with its own."""
    hidden = memory.messages.hidden()
    rounds = _pair_by_session(hidden)
    if release.matter:
        rounds = [one for part in release.matter for one in rounds_about(part, rounds)]
    elif rounds:
        *before, newest = [one for one in rounds if one.user.session_id == rounds[-1].user.session_id]
        request = detect_forget_request(own_words(newest.user.words), newest.assistant.words, "possible")
        rounds = [*(select_rounds(request, before) if request else ()), newest]
    return list(dict.fromkeys(message.text_id for one in rounds for message in one.messages))


def _pair_by_session(messages: Sequence[Message]) -> list[Round]:
    """The rounds of messages of several sessions, in the order of the sessions."""
    sessions = dict.fromkeys(message.session_id for message in messages)
    return [
        one
        for each in sessions
        for one in pair_messages((message for message in messages if message.session_id == each), alone=True)
    ]


def _rounds_of(memory: Memory, session_id: str) -> tuple[Round, ...]:
    """The rounds of a session, and what programs stored in it without a reply."""
    return pair_messages(memory.messages.of_session(session_id), alone=True)


def read_forget_request(
    memory: Memory, llm: Llm, text_id: str, narrow: Sequence[str], cancel: CancelToken
) -> Generator[Notice, None, None]:
    """Let a model say what the message asks for; ``narrow`` are the messages that are hidden for it so far.

    Nothing happens where the message is gone, or the person has shown all of it again. Raises Interrupted.
    """
    found = memory.messages.with_ids([text_id, *narrow])
    asked = next((message for message in found if message.text_id == text_id), None)
    if asked is None or (narrow and not any(message.hidden for message in found)):
        return
    session = memory.messages.of_session(asked.session_id)
    elsewhere = [message for message in found if message.session_id != asked.session_id][: 2 * _SHOWN_ELSEWHERE]
    at = datetime.fromisoformat(asked.timestamp)
    recalled = memory.recall([asked.words], asked.session_id, at, _FOUND, gated=False, besides_session=True)
    earlier = memory.messages.with_ids([one.text_id for one in recalled.messages])
    elsewhere += [one for one in earlier if one.seq < asked.seq and not one.hidden and one not in elsewhere]
    shown = [
        message
        for message in session
        if abs(message.round) <= asked.round and (message.text_id in narrow or not message.hidden)
    ]
    window = [*sorted(elsewhere, key=lambda one: one.seq), *shown[-2 * _SHOWN :]]
    try:
        number = 1 + [message.text_id for message in window].index(text_id)
        read = read_object(llm.read_forget_request(window, number, language_of(asked.words), cancel, memory.names()))
    except errors.ModelError:
        read = {}
    cancel.check()
    asks, matter = line_of(read.get("asks")).lower(), line_of(read.get("matter")) or line_of(read.get("person"))
    request = detect_forget_request(own_words(asked.words), reads="possible") or ForgetRequest(
        alone=True, certainty="possible"
    )
    if asks == "nothing" and request.certainty != "clear":
        if narrow:
            memory.rounds.unhide(narrow)
            yield Notice("forget_request.none", {"turns": len(narrow)})
        return
    if asks == "show":
        memory.rounds.unhide(narrow)
        released = find_released(memory, ForgetRequest(True, (matter,) if matter else ()))
        memory.rounds.unhide(released)
        yield from [Notice("forget_request.released", {"turns": len(released)})] if released else []
        return
    sure = asks in ("hide", "erase")
    named = [window[one - 1] for one in handles_of(read.get("turns")) if sure and 0 < one <= len(window)]
    own = (asked.session_id, asked.round)
    if not named and all((message.session_id, abs(message.round)) == own for message in found):
        if not request.matter and matter.lower() in asked.words.lower():
            request = replace(request, matter=(matter,) if matter else ())
        before = [one for one in pair_messages(session, alone=True) if one.user.round < asked.round and not one.hidden]
        meant = find_rounds_to_hide(memory, request, asked.session_id, before)
        named = [message for one in meant for message in one.messages]
    # A reply goes with what it answers, and the answer to a greeting with that; what was asked does not go with a reply
    # that alone tells the matter. Messages may have left the context since they were read: they are found by id.
    of = {
        (message.session_id, abs(message.round))
        for message in [asked, *named]
        if message.role == "user" or message.round < 0
    }
    named_ids = {message.text_id for message in named}
    hidden = [
        message
        for session_id in dict.fromkeys(message.session_id for message in [asked, *named])
        for message in memory.messages.of_session(session_id)
        if ((session_id, abs(message.round)) in of or message.text_id in named_ids) and not message.hidden
    ]
    memory.rounds.hide([message.text_id for message in hidden])
    if not sure:
        yield _question(memory.messages.with_ids([*narrow, *(message.text_id for message in hidden)]))
    elif rounds := {(message.session_id, abs(message.round)) for message in hidden}:
        yield Notice("forget_request.detected", {"rounds": len(rounds), "matter": ()})
    if asks == "erase":
        yield Notice("forget_request.erase", {})


def _question(messages: Sequence[Message]) -> Notice:
    """Ask the person whether what is hidden in doubt is to stay so."""
    return Notice("forget_request.asked", _rounds_and_turns(messages))


def _rounds_and_turns(messages: Sequence[Message]) -> dict[str, object]:
    rounds = sum(message.role == "user" for message in messages)
    return {"rounds": rounds, "turns": tuple(message.text_id for message in messages)}
