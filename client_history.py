"""Client history: a client of a chat API sends the earlier messages, or the last of them, with every request.

    find_place       the session that a request continues, and which of its messages are stored
    store_request    the newest message with its reply, once however often it is sent, and unseen earlier rounds
    find_response    the rounds up to a response that a client names instead of sending them

A request is compared with the sessions that share messages with it, from its end backwards. Two messages of the person
are the same if their words are; if their replies are the same, also where the client added or removed text around them.
What a client sends before that (everything, the last few messages, another system prompt) does not matter:

- The request continues a session: its newest message is stored at the end.
- Its newest message is the last one of a session: this is a retry, and the new reply replaces the old one.
- It differs before the end of a session (a message was edited or removed): a new session begins there. The old one
  stays, since a client cannot say which of the two it meant.
- Two equal messages in a row are two where the messages before them, or the reply between them, differ.
- A name that the client gives a conversation (``X-Session-Id``) is its scope: no other session is compared, and what
  fits nowhere is stored at its end.

Unseen rounds after the last known one are stored before the newest message. An unanswered message belongs to the next
one. Unknown messages before known ones are the client's own summary, and are not stored. What was erased stays erased:
the digests of its messages are still known, and those of its words where another client sends them.

Promises: rounds are in the order in which they were said; no history is stored twice; a session that is archived or was
idle for long is never written to, and a new one follows it; the terminal never resumes such a session.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from domain.records import Finish, MessageDigest, Quoted, Round
from domain.text import clean_text
from memory import Memory

#: Longer names of a client are replaced by their digest.
_LONGEST_KEY = 120
#: The key of a conversation that its client did not name; a client may send it back as a name.
_OWN_KEY = re.compile("first:[0-9a-f]{40}")
#: Most sessions that are compared with a request, and most places of each.
_SESSIONS, _PLACES = 8, 20
#: Most rounds that are returned with a response.
_ROUNDS = 50
#: So many equal replies prove that a request continues a session, although earlier messages are unknown.
_PROOF = 2
#: The ``message`` of a reply in the store.
_REPLY = -1


@dataclass(frozen=True)
class ClientMessage:
    """One message of a history, as a client sent it. Only "user" and "assistant" are stored."""

    role: str
    text: str


@dataclass(frozen=True)
class PersonMessage:
    """A message of the person: its place in the request, and what followed it until the next one."""

    message: int
    text: str
    scope: str
    replies: list[str] = field(default_factory=list)

    @cached_property
    def digest(self) -> str:
        """The digest of its words in its ``scope``."""
        return _hash_in_scope(self.scope, "user", self.text)

    @cached_property
    def reply_digest(self) -> str:
        """The digest of its replies; "" without any."""
        return _hash_in_scope(self.scope, "assistant", *self.replies)


@dataclass(frozen=True)
class UnstoredRound:
    """A round that is not stored yet: messages of the person, and what is known to follow."""

    asked: tuple[PersonMessage, ...]

    @property
    def text(self) -> str:
        """What the person said."""
        return "\n\n".join(one.text for one in self.asked if one.text.strip())

    @property
    def replies(self) -> str:
        """The replies to it, as far as the client knows them."""
        return "\n\n".join(reply for one in self.asked for reply in one.replies)


@dataclass(frozen=True)
class StoredPlace:
    """A stored message of the person, also an erased one, with the digests of it and its reply.

    ``message`` is its index in the conversation; ``number`` grows with each stored message.
    """

    number: int
    session_id: str
    text_id: str
    message: int
    digests: set[str] = field(default_factory=set)
    replies: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class HistoryPlace:
    """The session that a request continues, None for a new one, and the message whose round is replaced.

    ``known`` are the places of the messages in ``asked`` that are stored; ``before`` are unseen earlier rounds;
    ``present`` is the newest one. Index in the request + ``shift`` = index in the conversation.
    """

    key: str
    asked: Sequence[PersonMessage]
    session_id: str | None
    replaced: str | None
    known: Mapping[int, StoredPlace]
    before: tuple[UnstoredRound, ...]
    present: UnstoredRound
    shift: int


@dataclass(frozen=True)
class StoredRequest:
    """What was stored of a request: its round, and the key, number of messages and known rounds of its conversation."""

    round: Round
    key: str
    messages: int
    rounds: Mapping[int, str]


@dataclass(frozen=True)
class _Fit:
    """A request aligned with a session: its first ``count`` messages end at the place ``at`` of the session.

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


def conversation_key(named: str | None, messages: Sequence[ClientMessage]) -> str:
    """The key of a conversation: the name that its client gives it, else the digest of its first message."""
    name = clean_text(named or "").strip()
    if _OWN_KEY.fullmatch(name):
        return name
    if name:
        return f"id:{name}" if len(name) <= _LONGEST_KEY else f"id:{_digest_of(name)}"
    first = next((clean_text(one.text) for one in messages if one.role == "user"), "")
    return f"first:{_digest_of(first)}"


class ClientHistory:
    """The sessions of one memory that belong to the clients of one API.

    >>> history = ClientHistory(memory, "chat", clock, archive_after=settings.archive_after)
    >>> kept = history.store(None, messages, "Hello, Ann.", "stop", started)
    """

    def __init__(self, memory: Memory, client: str, clock: Callable[[], datetime], *, archive_after: timedelta) -> None:
        """``client`` is the name of its sessions. One that was idle for ``archive_after`` is not continued."""
        self._memory = memory
        self._client = client
        self._clock = clock
        self._archive_after = archive_after

    def find_place(self, named: str | None, messages: Sequence[ClientMessage]) -> HistoryPlace:
        """The place of a request; ``named`` is what its client calls the conversation.

        Raises ValueError where it has no message of the person.
        """
        key = conversation_key(named, messages)
        asked, leading = self._read_request(key, messages)
        digests = {one.digest for one in asked} | {one.reply_digest for one in asked[-2:-1]} | {leading}
        stored = self._memory.clients.digests_matching(sorted(digests - {""}))
        ours = self._memory.sessions.of_client(self._client, key) if named else []
        given = bool(ours) or key.startswith("id:")
        sessions = [one.session_id for one in ours][-_SESSIONS:] if given else _likeliest_sessions(stored)
        every = self._stored_places(sessions)
        fits = [
            fit
            for places in every
            for at, count in _possible_ends(asked, places, leading)
            if (fit := self._lay_over(asked, leading, places, at, count, stored))
        ]
        fits = [fit for fit in fits if _is_proved(asked, fit, given=given)]
        best = max(fits, key=lambda fit: _rank_fit(asked, fit), default=None)
        if best:
            unseen = asked[min(best.count, len(asked) - 1) : -1]
        else:
            seen = {row.digest for row in stored if given}
            unseen = [one for one in asked[:-1] if one.digest not in seen]
            best = _Fit(every[-1], len(every[-1]) - 1, 0, {}, False, False) if given and every else None
        return self._find_place(key, asked, unseen, best)

    def store_request(
        self,
        named: str | None,
        messages: Sequence[ClientMessage],
        reply: str,
        finish: Finish,
        started: str,
        *,
        quoted: Sequence[Quoted] = (),
        demo: bool = False,
        served: Sequence[str] = (),
    ) -> StoredRequest:
        """Store a request and its reply, in one commit. Raises ValueError where either is empty."""
        with self._memory.in_one_commit():
            place = self.find_place(named, messages)
            whole = "\n\n".join(filter(str.strip, (place.present.replies, clean_text(reply))))
            if not (place.present.text and whole):
                raise ValueError("nothing was said")
            digests = ((place.asked[number].digest, known) for number, known in place.known.items())
            for digest, known in ((digest, known) for digest, known in digests if digest not in known.digests):
                self._memory.clients.record_digest(digest, known.session_id, known.text_id, known.message)
            session_id = (
                place.session_id or self._memory.sessions.start(client=self._client, client_key=place.key).session_id
            )
            for one in place.before:
                if self._memory.erased.holds([one.text, one.replies]):
                    continue
                spoken = self._memory.rounds.store(session_id, one.text, one.replies, started, "stop")
                self._record_round(spoken, one.asked, one.replies, place.shift)
            last = self._memory.messages.rounds(session_id, 1) if place.replaced else ()
            there = next((one for one in last if one.user.text_id == place.replaced), None)
            text = there.user.words if there else place.present.text
            spoken = self._memory.rounds.store(
                session_id, text, whole, started, finish, instead_of=there,
                quoted=quoted, demo=demo, served=served,
            )  # fmt: skip
            if place.replaced:
                self._memory.clients.move_digests(place.replaced, spoken.user.text_id)
            self._record_round(spoken, place.present.asked, whole, place.shift)
            (places,) = self._stored_places([session_id])
        rounds = {one.message: one.text_id for one in (*place.known.values(), *places)}
        return StoredRequest(spoken, place.key, place.shift + len(messages), rounds)

    def hidden_messages(self, place: HistoryPlace, count: int) -> frozenset[int]:
        """The messages of a request of ``count`` messages that are hidden, with their replies."""
        messages = self._memory.messages.with_ids([one.text_id for one in place.known.values()])
        hidden = {message.text_id for message in messages if message.hidden}
        starts = [*(one.message for one in place.asked), count]
        spans = (range(starts[at], starts[at + 1]) for at, one in place.known.items() if one.text_id in hidden)
        return frozenset(number for span in spans for number in span)

    # -- responses -----------------------------------------------------------------------------------------------

    def name_response(self, name: str, spoken: Round, previous: str = "") -> None:
        """Record the id of a response for its round, and the response that it follows."""
        self._record_name("response", name, spoken.user.session_id, spoken.user.text_id)
        if row := self._find_name("response", previous):
            self._record_name("before", spoken.user.text_id, row.session_id, row.text_id)

    def find_response(self, name: str) -> tuple[str, list[Round]] | None:
        """The key of a response's conversation, and its last rounds up to it, without hidden ones; None if unknown."""
        row = first = self._find_name("response", name)
        if first is None:
            return None
        found, sessions = list[Round](), dict[str, tuple[Round, ...]]()
        while row and len(found) < _ROUNDS:
            session_id, text_id = row.session_id, row.text_id
            rounds = sessions.setdefault(session_id, self._memory.messages.rounds(session_id))
            found[:0] = [one for one in rounds if one.user.text_id == text_id]
            if (row := self._find_name("before", text_id)) is None:
                ids = [one.user.text_id for one in rounds]
                found[:0] = rounds[: ids.index(text_id)] if text_id in ids else ()
        session = self._memory.sessions.find(first.session_id)
        shown = [one for one in found if not one.user.hidden]
        return (session and session.client_key) or "", shown[-_ROUNDS:]

    def _record_name(self, kind: str, name: str, session_id: str, text_id: str) -> None:
        self._memory.clients.record_digest(_digest_of(self._client, kind, name), session_id, text_id, _REPLY)

    def _find_name(self, kind: str, name: str) -> MessageDigest | None:
        rows = self._memory.clients.digests_matching([_digest_of(self._client, kind, name)]) if name else []
        return rows[-1] if rows else None

    # -- reading -------------------------------------------------------------------------------------------------

    def _read_request(self, key: str, messages: Sequence[ClientMessage]) -> tuple[list[PersonMessage], str]:
        """The messages of the person with their replies, and the digest of the replies before the first.

        Empty messages are ignored, but for the newest.
        """
        scope = _digest_of(self._client, key if key.startswith("id:") else "")
        asked, leading = list[PersonMessage](), list[str]()
        newest = max((at for at, one in enumerate(messages) if one.role == "user"), default=-1)
        for number, message in enumerate(messages):
            text = clean_text(message.text)
            if message.role == "user" and (text.strip() or number == newest):
                asked.append(PersonMessage(number, text, scope))
            elif message.role == "assistant" and text.strip():
                (asked[-1].replies if asked else leading).append(text)
        if not asked:
            raise ValueError("no message of the person")
        return asked, _hash_in_scope(scope, "assistant", *leading)

    def _stored_places(self, sessions: Sequence[str]) -> list[list[StoredPlace]]:
        """The stored messages of the person in each of these sessions, in order, without empty sessions."""
        found: dict[str, dict[tuple[str, int], StoredPlace]] = {one: {} for one in sessions}
        replies = defaultdict[str, set[str]](set)
        for row in self._memory.clients.digests_in_sessions(sessions):
            if row.message == _REPLY:
                replies[row.text_id].add(row.digest)
                continue
            place = StoredPlace(row.number, row.session_id, row.text_id, row.message, set(), replies[row.text_id])
            found[row.session_id].setdefault((row.text_id, row.message), place).digests.add(row.digest)
        return [list(places.values()) for places in found.values() if places]

    # -- comparing -----------------------------------------------------------------------------------------------

    def _lay_over(
        self,
        asked: Sequence[PersonMessage],
        leading: str,
        places: Sequence[StoredPlace],
        at: int,
        count: int,
        stored: Sequence[MessageDigest],
    ) -> _Fit | None:
        """The request aligned with a session there, as far back as both are equal; None where they are not.

        Messages from before the session began are looked up in older ones.
        """
        known, place, number = dict[int, StoredPlace](), at, count - 1
        while min(place, number) >= 0 and self._is_same(asked, number, places[place]):
            known[number] = places[place]
            place, number = place - 1, number - 1
        if count and not known:
            return None
        before = len(asked) - 2
        if before >= 0:
            agrees = before in known and asked[before].reply_digest in known[before].replies
        else:
            agrees = place >= 0 and leading in places[place].replies
        if place < 0:
            known |= _find_older(asked[: number + 1], stored, places[0].number)
        whole = place < 0 and len(known) == count
        return _Fit(places, at, count, known, agrees, whole)

    def _is_same(self, asked: Sequence[PersonMessage], number: int, place: StoredPlace) -> bool:
        one = asked[number]
        if one.digest in place.digests:
            return True
        if number == len(asked) - 1 or not one.reply_digest or one.reply_digest not in place.replies:
            return False
        return any(_are_alike(one.text, message.words) for message in self._memory.messages.with_ids([place.text_id]))

    def _find_place(
        self, key: str, asked: Sequence[PersonMessage], unseen: Sequence[PersonMessage], fit: _Fit | None
    ) -> HistoryPlace:
        before, present = _split_unstored(unseen, asked[-1])
        if fit is None:
            return HistoryPlace(key, asked, None, None, {}, before, present, 0)
        last = fit.places[fit.at]
        session = self._memory.sessions.find(last.session_id)
        idle = self._memory.is_idle(last.session_id, self._clock(), self._archive_after)
        goes_on = fit.is_end and session is not None and session.status == "active" and not idle
        again = fit.count == len(asked)
        shift = last.message + (2 if not fit.count else 0) - asked[max(fit.count - 1, 0)].message
        return HistoryPlace(
            (session and session.client_key) or key,
            asked,
            last.session_id if goes_on else None,
            last.text_id if goes_on and again else None,
            {number: place for number, place in fit.known.items() if number < len(asked) - 1},
            before,
            present,
            shift,
        )

    # -- storing -------------------------------------------------------------------------------------------------

    def _record_round(self, spoken: Round, asked: Sequence[PersonMessage], reply: str, shift: int) -> None:
        session_id, text_id = spoken.user.session_id, spoken.user.text_id
        for one in asked:
            self._memory.clients.record_digest(one.digest, session_id, text_id, one.message + shift)
        known_by = _hash_in_scope(asked[-1].scope, "assistant", reply)
        self._memory.clients.record_digest(known_by, session_id, text_id, _REPLY)


def _likeliest_sessions(stored: Sequence[MessageDigest]) -> list[str]:
    """The sessions that share most messages with a request, then the newest; the likeliest last."""
    shared: dict[str, set[str]] = {}
    newest: dict[str, int] = {}
    for row in stored:
        shared.setdefault(row.session_id, set()).add(row.digest)
        newest[row.session_id] = row.number
    return sorted(shared, key=lambda one: (len(shared[one]), newest[one]))[-_SESSIONS:]


def _possible_ends(
    asked: Sequence[PersonMessage], places: Sequence[StoredPlace], leading: str
) -> Iterator[tuple[int, int]]:
    """Where a request may be aligned with a session: a place of it, and how many messages end there.

    At the end of the session with any message, or with none where the request begins with a reply; elsewhere with the
    last message that the session has.
    """
    last = len(places) - 1
    at_end = [
        count
        for count, one in enumerate(asked, start=1)
        if one.digest in places[-1].digests or one.reply_digest in places[-1].replies
    ]
    yield from ((last, count) for count in at_end[-_PLACES:])
    if leading in places[-1].replies:
        yield last, 0
    there = {digest for place in places[:-1] for digest in place.digests}
    count = next((at for at in range(len(asked) - 1, 0, -1) if asked[at - 1].digest in there), 0)
    inner = [at for at in range(last) if count and asked[count - 1].digest in places[at].digests]
    yield from ((at, count) for at in inner[-_PLACES:])


def _find_older(asked: Sequence[PersonMessage], stored: Sequence[MessageDigest], number: int) -> dict[int, StoredPlace]:
    """The places of messages that were stored before ``number``, in order."""
    rows: dict[str, list[MessageDigest]] = {}
    for row in stored:
        rows.setdefault(row.digest, []).append(row)
    found = {}
    for at in range(len(asked) - 1, -1, -1):
        older = (row for row in reversed(rows.get(asked[at].digest, ())) if row.number < number)
        if last := next(older, None):
            number = last.number
            found[at] = StoredPlace(number, last.session_id, last.text_id, last.message, {last.digest})
    return found


def _is_proved(asked: Sequence[PersonMessage], fit: _Fit, *, given: bool) -> bool:
    """Whether a request belongs to a session: all messages before its newest are known, or enough of them."""
    before = range(min(fit.count, len(asked) - 1))
    known = [at for at in before if at in fit.known]
    if not (known or fit.agrees or (fit.whole and fit.count)):
        return False
    agreed = sum(asked[at].reply_digest in fit.known[at].replies for at in known)
    return given or len(known) == len(before) or agreed >= _PROOF


def _rank_fit(asked: Sequence[PersonMessage], fit: _Fit) -> tuple[object, ...]:
    """How well a request fits: by the number of known messages, then by what distinguishes equal places."""
    before = range(min(fit.count, len(asked) - 1))
    known = sum(at in fit.known for at in before)
    number = fit.places[fit.at].number
    return known == len(before), known, fit.agrees, fit.is_end, fit.whole, fit.count < len(asked), number


def _split_unstored(
    unseen: Sequence[PersonMessage], newest: PersonMessage
) -> tuple[tuple[UnstoredRound, ...], UnstoredRound]:
    """The unseen rounds, and the present one with the unanswered messages before it."""
    rounds, waiting = list[UnstoredRound](), list[PersonMessage]()
    for one in unseen:
        waiting.append(one)
        if one.replies:
            rounds.append(UnstoredRound(tuple(waiting)))
            waiting = []
    return tuple(rounds), UnstoredRound((*waiting, newest))


def _are_alike(one: str, other: str) -> bool:
    """Whether one text contains the other, or both begin or end with the same line."""
    shorter, longer = sorted((" ".join(text.split()) for text in (one, other)), key=len)
    if shorter in longer:
        return True
    ours, theirs = ([line.strip() for line in text.strip().splitlines()] for text in (one, other))
    return len(ours) > 1 and len(theirs) > 1 and (ours[0] == theirs[0] or ours[-1] == theirs[-1])


def _hash_in_scope(scope: str, role: str, *texts: str) -> str:
    """The digest of a message, white space aside; "" for an empty one."""
    words = " ".join(texts).split()
    return _digest_of(scope, role, " ".join(words)) if words else ""


def _digest_of(*texts: str) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(str(len(text)).encode() + b":" + text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()[:40]
