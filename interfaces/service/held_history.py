"""Histories that clients send: with every request a client of a chat API sends what was said before, or the end of it.

    find       the session that a request goes on in, and which of its messages are stored already
    store      the person's newest message with its reply, once however often it is sent, and what was never seen before
    response   the rounds up to a response that a client names instead of sending them

A request is laid over the sessions that share messages with it, from its end, by what the messages say. A message of
the person is the same if its words are; if its reply is the same, also where the client has put something around it or
taken it away. What a client sends before that (all, the last few messages, another system prompt) does not matter:

- It ends where a session ends, but for the newest message: that is stored at the end of the session.
- It ends with the newest message of a session: it is tried again, and the new reply takes the place of the one before.
- It leaves a session before its end (an earlier message was changed, or taken back): a session of its own begins there.
  Nothing of the old one goes, since a client cannot say which of the two it meant.
- Two equal messages in a row are two wherever what stands before them, or the reply between them, says so.
- A name that the client gives a conversation (``X-Session-Id``) is its scope: no other one is looked at, and what fits
  nowhere goes on at its end.

Rounds that were never seen, after the last one that is known, are stored before the newest message. A message that was
never answered belongs to the one after it. What stands before known messages and is not known itself is the client's
own abridgement, and is not stored. What was erased stays erased: the digests of its messages are still known.

Promises: rounds stand in the order in which they were said; a history that was stored is never stored twice; a session
that was saved, or fell silent, is never written to, and a new one goes on after it; what a person asks to have
forgotten is hidden here as in the terminal; the terminal never takes such a session for its own.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from domain.held import HeldRound
from domain.pleas import heard
from domain.records import Finish, Quoted, Round
from domain.text import clean
from jobs.withholding import meant_by
from memory import Memory

#: A key of a client that is longer than this is known by its digest.
_LONGEST_KEY = 120
#: The key of a conversation that its client did not name; what an answer called it may be sent back as its name.
_OWN_KEY = re.compile("first:[0-9a-f]{40}")
#: So many sessions are compared with a request, and so many places of each: the likeliest ones.
_SESSIONS, _PLACES = 8, 20
#: So many rounds before it a response brings along.
_ROUNDS = 50
#: So many equal replies show that a request goes on in a session although something before them is unknown.
_PROOF = 2
#: The ``message`` of a reply in the store.
_REPLY = -1


@dataclass(frozen=True)
class Said:
    """One message of a history, as a client sent it; only those of "user" and "assistant" are anybody's words."""

    role: str
    text: str


@dataclass(frozen=True)
class Asked:
    """A message of the person: its place in the request, and what followed it until the next one."""

    message: int
    text: str
    scope: str
    replies: list[str] = field(default_factory=list)

    @cached_property
    def digest(self) -> str:
        """What it is known by in its ``scope``."""
        return _digest_in(self.scope, "user", self.text)

    @cached_property
    def reply(self) -> str:
        """What is known to have followed it; "" for nothing."""
        return _digest_in(self.scope, "assistant", *self.replies)


@dataclass(frozen=True)
class Unstored:
    """A round that is not stored yet: messages of the person, and what is known to follow."""

    asked: tuple[Asked, ...]

    @property
    def text(self) -> str:
        """What the person said."""
        return "\n\n".join(one.text for one in self.asked if one.text.strip())

    @property
    def replies(self) -> str:
        """What was said to it, as far as the client knows."""
        return "\n\n".join(reply for one in self.asked for reply in one.replies)


@dataclass(frozen=True)
class StoredPlace:
    """A stored message of the person, also one that was erased: the digests that it and its reply are known by.

    ``message`` counts the messages of its conversation from 0; ``number`` grows with each message that is stored.
    """

    number: int
    session_id: str
    text_id: str
    message: int
    digests: set[str] = field(default_factory=set)
    replies: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class HistoryPlace:
    """Where a request goes on: the session, None for a new one, and the message whose round the new one replaces.

    ``known`` are the places of those of its ``asked`` that are stored; ``before`` was said before and never seen;
    ``present`` is what is said now. A message of it is the one of its conversation so many (``shift``) further on.
    """

    key: str
    asked: Sequence[Asked]
    session_id: str | None
    replaced: str | None
    known: Mapping[int, StoredPlace]
    before: tuple[Unstored, ...]
    present: Unstored
    shift: int


@dataclass(frozen=True)
class Kept:
    """What was stored of a request: its round, the key of its conversation, how many messages that has by now, and
    which of its rounds are known, by their message."""

    round: Round
    key: str
    messages: int
    rounds: Mapping[int, str]


@dataclass(frozen=True)
class _Fit:
    """A request laid over a session: its first ``count`` messages end with the place ``at`` of the session.

    ``agrees``: the reply before the newest message is the stored one; ``whole``: both begin with the same message.
    """

    places: Sequence[StoredPlace]
    at: int
    count: int
    known: Mapping[int, StoredPlace]
    agrees: bool
    whole: bool

    @property
    def is_end(self) -> bool:
        return self.at == len(self.places) - 1


def key_of(named: str | None, messages: Sequence[Said]) -> str:
    """What a conversation is known by: the name that its client gives it, else its first words."""
    name = clean(named or "").strip()
    if _OWN_KEY.fullmatch(name):
        return name
    if name:
        return f"id:{name}" if len(name) <= _LONGEST_KEY else f"id:{_digest(name)}"
    first = next((clean(one.text) for one in messages if one.role == "user"), "")
    return f"first:{_digest(first)}"


class HeldHistory:
    """The sessions of one memory that belong to the clients of one API.

    >>> history = HeldHistory(memory, "chat", clock, archive_after=settings.archive_after)
    >>> kept = history.store(None, messages, "Hello, Ann.", "stop", started)
    """

    def __init__(
        self, memory: Memory, door: str, clock: Callable[[], datetime], *, archive_after: timedelta
    ) -> None:
        """``door`` is the mark of its sessions. One that was silent for ``archive_after`` is not gone on with."""
        self._memory = memory
        self._door = door
        self._clock = clock
        self._archive_after = archive_after

    def find(self, named: str | None, messages: Sequence[Said]) -> HistoryPlace:
        """Where a request goes on; ``named`` is what its client calls the conversation.

        Raises ValueError where nothing in it was said by the person.
        """
        key = key_of(named, messages)
        asked, leading = self._read(key, messages)
        digests = {one.digest for one in asked} | {one.reply for one in asked[-2:-1]} | {leading}
        stored = self._memory.clients.held_rounds(sorted(digests - {""}))
        ours = self._memory.sessions.of_door(self._door, key) if named else []
        given = bool(ours) or key.startswith("id:")
        sessions = [one.session_id for one in ours][-_SESSIONS:] if given else _likeliest(stored)
        every = self._places(sessions)
        fits = [
            fit
            for places in every
            for at, count in _ends(asked, places, leading)
            if (fit := self._laid(asked, leading, places, at, count, stored))
        ]
        fits = [fit for fit in fits if _is_proved(asked, fit, given=given)]
        best = max(fits, key=lambda fit: _rank(asked, fit), default=None)
        if best:
            unseen = asked[min(best.count, len(asked) - 1) : -1]
        else:
            seen = {row.digest for row in stored if given}
            unseen = [one for one in asked[:-1] if one.digest not in seen]
            best = _Fit(every[-1], len(every[-1]) - 1, 0, {}, False, False) if given and every else None
        return self._place(key, asked, unseen, best)

    def store(
        self,
        named: str | None,
        messages: Sequence[Said],
        reply: str,
        finish: Finish,
        started: str,
        *,
        quoted: Sequence[Quoted] = (),
        standin: bool = False,
    ) -> Kept:
        """Store what a client asked for and the reply, in one commit. Raises ValueError where either is empty."""
        with self._memory.in_one_commit():
            place = self.find(named, messages)
            whole = "\n\n".join(filter(str.strip, (place.present.replies, clean(reply))))
            if not (place.present.text and whole):
                raise ValueError("nothing was said")
            for number, known in place.known.items():
                self._hold(known, place.asked[number].digest)
            session_id = place.session_id or self._memory.sessions.start_for(self._door, place.key).session_id
            for one in place.before:
                spoken = self._memory.rounds.store(session_id, one.text, one.replies, started, "stop")
                self._hold_round(spoken, one.asked, one.replies, place.shift)
            there = self._there(session_id, place.replaced)
            text = there.user.words if there else place.present.text
            spoken = self._memory.rounds.store(
                session_id, text, whole, started, finish, instead_of=there, quoted=quoted, standin=standin
            )
            if place.replaced:
                self._memory.clients.hold_instead(place.replaced, spoken.user.text_id)
            self._hold_round(spoken, place.present.asked, whole, place.shift)
            self._withhold_what_is_asked(spoken)
            (places,) = self._places([session_id])
        rounds = {one.message: one.text_id for one in (*place.known.values(), *places)}
        return Kept(spoken, place.key, place.shift + len(messages), rounds)

    def withheld(self, named: str | None, messages: Sequence[Said]) -> frozenset[int]:
        """The messages of a request that the person asked to have forgotten, with what was said to them."""
        place = self.find(named, messages)
        turns = self._memory.messages.with_ids([one.text_id for one in place.known.values()])
        hidden = {turn.text_id for turn in turns if turn.withheld}
        starts = [*(one.message for one in place.asked), len(messages)]
        spans = (
            range(starts[at], starts[at + 1]) for at, one in place.known.items() if one.text_id in hidden
        )
        return frozenset(number for span in spans for number in span)

    # -- responses -----------------------------------------------------------------------------------------------

    def name_response(self, name: str, spoken: Round, previous: str = "") -> None:
        """Let a round be found by the id of its response, and what it goes on after by that of the previous one."""
        self._hold_name("response", name, spoken.user.session_id, spoken.user.text_id)
        if row := self._named("response", previous):
            self._hold_name("before", spoken.user.text_id, row.session_id, row.text_id)

    def response(self, name: str) -> tuple[str, list[Round]] | None:
        """The key of the conversation of a response, and its rounds up to it: the last ones, without hidden ones.

        None where there is no such response.
        """
        row = first = self._named("response", name)
        if first is None:
            return None
        found, sessions = list[Round](), dict[str, tuple[Round, ...]]()
        while row and len(found) < _ROUNDS:
            session_id, text_id = row.session_id, row.text_id
            rounds = sessions.setdefault(session_id, self._memory.messages.rounds(session_id))
            found[:0] = [one for one in rounds if one.user.text_id == text_id]
            if (row := self._named("before", text_id)) is None:
                ids = [one.user.text_id for one in rounds]
                found[:0] = rounds[: ids.index(text_id)] if text_id in ids else ()
        session = self._memory.sessions.find(first.session_id)
        shown = [one for one in found if not one.user.withheld]
        return (session and session.door_key) or "", shown[-_ROUNDS:]

    def _hold_name(self, kind: str, name: str, session_id: str, text_id: str) -> None:
        self._memory.clients.hold(_digest(self._door, kind, name), session_id, text_id, _REPLY)

    def _named(self, kind: str, name: str) -> HeldRound | None:
        rows = self._memory.clients.held_rounds([_digest(self._door, kind, name)]) if name else []
        return rows[-1] if rows else None

    # -- reading -------------------------------------------------------------------------------------------------

    def _read(self, key: str, messages: Sequence[Said]) -> tuple[list[Asked], str]:
        """The messages of the person, each with what followed it, and the digest of the replies before the first.

        Of those that say nothing only the newest counts.
        """
        scope = _digest(self._door, key if key.startswith("id:") else "")
        asked, leading = list[Asked](), list[str]()
        newest = max((at for at, one in enumerate(messages) if one.role == "user"), default=-1)
        for number, message in enumerate(messages):
            text = clean(message.text)
            if message.role == "user" and (text.strip() or number == newest):
                asked.append(Asked(number, text, scope))
            elif message.role == "assistant" and text.strip():
                (asked[-1].replies if asked else leading).append(text)
        if not asked:
            raise ValueError("nobody asked anything")
        return asked, _digest_in(scope, "assistant", *leading)

    def _places(self, sessions: Sequence[str]) -> list[list[StoredPlace]]:
        """The messages of the person that were stored in each of these sessions, in their order; of empty ones none."""
        found: dict[str, dict[tuple[str, int], StoredPlace]] = {one: {} for one in sessions}
        replies = defaultdict[str, set[str]](set)
        for row in self._memory.clients.held_in(sessions):
            if row.message == _REPLY:
                replies[row.text_id].add(row.digest)
                continue
            place = StoredPlace(
                row.number, row.session_id, row.text_id, row.message, set(), replies[row.text_id]
            )
            found[row.session_id].setdefault((row.text_id, row.message), place).digests.add(row.digest)
        return [list(places.values()) for places in found.values() if places]

    # -- comparing -----------------------------------------------------------------------------------------------

    def _laid(
        self,
        asked: Sequence[Asked],
        leading: str,
        places: Sequence[StoredPlace],
        at: int,
        count: int,
        stored: Sequence[HeldRound],
    ) -> _Fit | None:
        """The request laid over a session there, as far back as both say the same; None where they do not.

        What was said before the session began is looked for in older ones.
        """
        known, place, number = dict[int, StoredPlace](), at, count - 1
        while min(place, number) >= 0 and self._is_same(asked, number, places[place]):
            known[number] = places[place]
            place, number = place - 1, number - 1
        if count and not known:
            return None
        before = len(asked) - 2
        if before >= 0:
            agrees = before in known and asked[before].reply in known[before].replies
        else:
            agrees = place >= 0 and leading in places[place].replies
        if place < 0:
            known |= _older(asked[: number + 1], stored, places[0].number)
        whole = place < 0 and len(known) == count
        return _Fit(places, at, count, known, agrees, whole)

    def _is_same(self, asked: Sequence[Asked], number: int, place: StoredPlace) -> bool:
        one = asked[number]
        if one.digest in place.digests:
            return True
        if number == len(asked) - 1 or not one.reply or one.reply not in place.replies:
            return False
        return any(
            _are_alike(one.text, turn.words) for turn in self._memory.messages.with_ids([place.text_id])
        )

    def _place(
        self, key: str, asked: Sequence[Asked], unseen: Sequence[Asked], fit: _Fit | None
    ) -> HistoryPlace:
        before, present = _unstored(unseen, asked[-1])
        if fit is None:
            return HistoryPlace(key, asked, None, None, {}, before, present, 0)
        last = fit.places[fit.at]
        session = self._memory.sessions.find(last.session_id)
        goes_on = fit.is_end and self._is_open(last.session_id)
        again = fit.count == len(asked)
        shift = last.message + (2 if not fit.count else 0) - asked[max(fit.count - 1, 0)].message
        return HistoryPlace(
            (session and session.door_key) or key,
            asked,
            last.session_id if goes_on else None,
            last.text_id if goes_on and again else None,
            {number: place for number, place in fit.known.items() if number < len(asked) - 1},
            before,
            present,
            shift,
        )

    def _is_open(self, session_id: str) -> bool:
        session = self._memory.sessions.find(session_id)
        silent = self._memory.fell_silent(session_id, self._clock(), self._archive_after)
        return session is not None and session.status == "active" and not silent

    # -- storing -------------------------------------------------------------------------------------------------

    def _there(self, session_id: str, text_id: str | None) -> Round | None:
        """The last round of a session, if it is this one."""
        last = self._memory.messages.rounds(session_id, 1) if text_id else ()
        return next((one for one in last if one.user.text_id == text_id), None)

    def _hold(self, place: StoredPlace, digest: str) -> None:
        if digest not in place.digests:
            self._memory.clients.hold(digest, place.session_id, place.text_id, place.message)

    def _hold_round(self, spoken: Round, asked: Sequence[Asked], reply: str, shift: int) -> None:
        session_id, text_id = spoken.user.session_id, spoken.user.text_id
        for one in asked:
            self._memory.clients.hold(one.digest, session_id, text_id, one.message + shift)
        known_by = _digest_in(asked[-1].scope, "assistant", reply)
        self._memory.clients.hold(known_by, session_id, text_id, _REPLY)

    def _withhold_what_is_asked(self, spoken: Round) -> None:
        """Let no later prompt hold what the person asks to have forgotten."""
        if plea := heard(spoken.user.words):
            *before, present = self._memory.messages.rounds(session_id := spoken.user.session_id)
            rounds = (*meant_by(self._memory, plea, session_id, before), present)
            self._memory.rounds.hide([turn.text_id for one in rounds for turn in one.turns])


def _likeliest(stored: Sequence[HeldRound]) -> list[str]:
    """The sessions that share most messages with a request, of equal ones the newest; the likeliest last."""
    shared: dict[str, set[str]] = {}
    newest: dict[str, int] = {}
    for row in stored:
        shared.setdefault(row.session_id, set()).add(row.digest)
        newest[row.session_id] = row.number
    return sorted(shared, key=lambda one: (len(shared[one]), newest[one]))[-_SESSIONS:]


def _ends(asked: Sequence[Asked], places: Sequence[StoredPlace], leading: str) -> Iterator[tuple[int, int]]:
    """Where a request may be laid over a session: a place of it, and how many of the messages end there.

    At its end, with any of the messages, or none where the request begins with a reply; else with the last message that
    the session has.
    """
    last = len(places) - 1
    at_end = [
        count
        for count, one in enumerate(asked, start=1)
        if one.digest in places[-1].digests or one.reply in places[-1].replies
    ]
    yield from ((last, count) for count in at_end[-_PLACES:])
    if leading in places[-1].replies:
        yield last, 0
    there = {digest for place in places[:-1] for digest in place.digests}
    count = next((at for at in range(len(asked) - 1, 0, -1) if asked[at - 1].digest in there), 0)
    inner = [at for at in range(last) if count and asked[count - 1].digest in places[at].digests]
    yield from ((at, count) for at in inner[-_PLACES:])


def _older(asked: Sequence[Asked], stored: Sequence[HeldRound], number: int) -> dict[int, StoredPlace]:
    """The places of messages that were stored before that ``number``, each before the one after it."""
    rows: dict[str, list[HeldRound]] = {}
    for row in stored:
        rows.setdefault(row.digest, []).append(row)
    found = {}
    for at in range(len(asked) - 1, -1, -1):
        older = (row for row in reversed(rows.get(asked[at].digest, ())) if row.number < number)
        if last := next(older, None):
            number = last.number
            found[at] = StoredPlace(number, last.session_id, last.text_id, last.message, {last.digest})
    return found


def _is_proved(asked: Sequence[Asked], fit: _Fit, *, given: bool) -> bool:
    """Whether a request belongs to a session: all before its newest message is known, or enough of it is."""
    before = range(min(fit.count, len(asked) - 1))
    known = [at for at in before if at in fit.known]
    if not (known or fit.agrees or (fit.whole and fit.count)):
        return False
    agreed = sum(asked[at].reply in fit.known[at].replies for at in known)
    return given or len(known) == len(before) or agreed >= _PROOF


def _rank(asked: Sequence[Asked], fit: _Fit) -> tuple[object, ...]:
    """How well a request fits there: how much of it is known, then what tells two such places apart."""
    before = range(min(fit.count, len(asked) - 1))
    known = sum(at in fit.known for at in before)
    number = fit.places[fit.at].number
    return known == len(before), known, fit.agrees, fit.is_end, fit.whole, fit.count < len(asked), number


def _unstored(unseen: Sequence[Asked], newest: Asked) -> tuple[tuple[Unstored, ...], Unstored]:
    """The rounds that were never seen, and the one that is asked for now, with what waits for an answer."""
    rounds, waiting = list[Unstored](), list[Asked]()
    for one in unseen:
        waiting.append(one)
        if one.replies:
            rounds.append(Unstored(tuple(waiting)))
            waiting = []
    return tuple(rounds), Unstored((*waiting, newest))


def _are_alike(one: str, other: str) -> bool:
    """Whether one text is the other with something around it, or both are the same line with something else around."""
    shorter, longer = sorted((" ".join(text.split()) for text in (one, other)), key=len)
    if shorter in longer:
        return True
    ours, theirs = ([line.strip() for line in text.strip().splitlines()] for text in (one, other))
    return len(ours) > 1 and len(theirs) > 1 and (ours[0] == theirs[0] or ours[-1] == theirs[-1])


def _digest_in(scope: str, role: str, *texts: str) -> str:
    """What a message is known by, whatever white space its client leaves of it; "" for one that says nothing."""
    words = " ".join(texts).split()
    return _digest(scope, role, " ".join(words)) if words else ""


def _digest(*texts: str) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(str(len(text)).encode() + b":" + text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()[:40]
