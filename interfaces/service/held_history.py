"""Histories that clients hold: a client of a chat API sends all that was said again with every request.

    find    the session that a history goes on in, and whether its last round is there already
    store   the person's last message with its reply, once however often it is sent, and what was never seen before it

A message of the person is known by its *chain*: a digest of it and of all that the person said before it. Replies are
no part of it, since clients trim them, and mark what a tool said. So:

- The same request again, be it tried again or a reply asked for anew: the new reply takes the place of the one before.
- The same message again after a tool has answered: what the model said before and after the tool becomes one reply.
- A message that was changed, or taken back with all that followed, or a new talk that begins with the same words: a
  session of its own begins there. Nothing of the old one goes, since a client cannot tell us which of the two it meant.
- Rounds that a client brings and that were never seen are stored before the one that it asks for: they were said, a
  chat API counts and cleans what is sent, and a client that comes from another server brings its life along. A message
  that was never answered belongs to the one after it.
- What was erased stays erased: its chain is still known, and a history that holds it brings nothing back.

Promises: rounds stand in the order in which they were said; a history that was stored is never stored twice; a session
that was saved, or fell silent, is never written to, and a new one goes on after it; what a person asks to have
forgotten is withheld here as in the terminal; the terminal never takes such a session for its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from domain.held import HeldRound
from domain.pleas import heard
from domain.records import Finish, Quoted, Round
from domain.text import clean
from jobs.withholding import meant_by
from memory import Memory

#: A key of a client that is longer than this is known by its digest.
_LONGEST_KEY = 120


@dataclass(frozen=True)
class Said:
    """One message of a history, as a client sent it; only those of "user" and "assistant" are anybody's words."""

    role: str
    text: str


@dataclass(frozen=True)
class Asked:
    """A message of the person: its place in the history, and what followed it until the next one."""

    message: int
    chain: str
    text: str
    replies: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Unstored:
    """A round that is not stored yet, or is to be stored again: messages of the person, and what is known to follow."""

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
class HistoryPlace:
    """Where a history goes on: the session, None for a new one, and the turn whose round the new one replaces.

    ``before`` was said before and never seen; ``present`` is what is said now.
    """

    session_id: str | None
    replaced: str | None
    before: tuple[Unstored, ...]
    present: Unstored


@dataclass(frozen=True)
class Kept:
    """What was stored of a request. ``asked`` are all messages of the person in it."""

    round: Round
    asked: tuple[Asked, ...]


def key_of(named: str | None, messages: Sequence[Said]) -> str:
    """What a conversation is known by: the name that its client gives it, else its first words."""
    name = clean(named or "").strip()
    if name:
        return f"id:{name}" if len(name) <= _LONGEST_KEY else f"id:{_digest(name)}"
    first = next((clean(one.text) for one in messages if one.role == "user"), "")
    return f"first:{_digest(first)}"


class HeldHistory:
    """The sessions of one memory that a door holds for its clients.

    >>> history = HeldHistory(memory, "chat", clock, archive_after=settings.archive_after)
    >>> kept = history.store(key_of(None, messages), messages, "Hello, Ann.", "stop", started)
    """

    def __init__(
        self, memory: Memory, door: str, clock: Callable[[], datetime], *, archive_after: timedelta
    ) -> None:
        """``door`` is the mark of its sessions. One that was silent for ``archive_after`` is not gone on with."""
        self._memory = memory
        self._door = door
        self._clock = clock
        self._archive_after = archive_after

    def find(self, key: str, messages: Sequence[Said]) -> HistoryPlace:
        """Where a history goes on. Raises ValueError where nothing in it was said by the person."""
        return self._place(self._asked(key, messages))

    def store(
        self,
        key: str,
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
            asked = self._asked(key, messages)
            place = self._place(asked)
            whole = "\n\n".join(filter(str.strip, (place.present.replies, clean(reply))))
            if not (place.present.text and whole):
                raise ValueError("nothing was said")
            session_id = place.session_id or self._memory.doors.start_door_session(self._door, key).session_id
            for one in place.before:
                self._hold(one, self._memory.store_round(session_id, one.text, one.replies, started, "stop"))
            spoken = self._memory.store_round(
                session_id, place.present.text, whole, started, finish,
                instead_of=self._there(session_id, place.replaced), quoted=quoted, standin=standin,
            )  # fmt: skip
            self._hold(place.present, spoken)
            self._withhold_what_is_asked(spoken)
        return Kept(spoken, tuple(asked))

    def withheld(self, key: str, messages: Sequence[Said]) -> frozenset[int]:
        """The messages of a history that the person asked to have forgotten, with what was said to them."""
        asked = self._asked(key, messages)
        held = self._memory.doors.held_rounds([one.chain for one in asked])
        hidden = {turn.text_id for turn in self._memory.turns([one.text_id for one in held]) if turn.withheld}
        chains = {one.chain for one in held if one.text_id in hidden}
        ends = [one.message for one in asked[1:]] + [len(messages)]
        spans = (range(one.message, end) for one, end in zip(asked, ends, strict=True) if one.chain in chains)
        return frozenset(number for span in spans for number in span)

    # -- reading a history ---------------------------------------------------------------------------------------

    def _asked(self, key: str, messages: Sequence[Said]) -> list[Asked]:
        """The messages of the person, each with its chain and what followed it."""
        chain, found = _digest(self._door, key), list[Asked]()
        for number, message in enumerate(messages):
            text = clean(message.text)
            if message.role == "user":
                chain = _digest(chain, text)
                found.append(Asked(number, chain, text))
            elif message.role == "assistant" and found and text.strip():
                found[-1].replies.append(text)
        if not found:
            raise ValueError("nobody asked anything")
        return found

    def _place(self, asked: Sequence[Asked]) -> HistoryPlace:
        held: dict[str, list[HeldRound]] = {}
        for known in self._memory.doors.held_rounds([one.chain for one in asked]):
            held.setdefault(known.chain, []).append(known)
        for number in range(len(asked) - 1, -1, -1):
            if end := self._open_end(held.get(asked[number].chain, ())):
                replaced = end.text_id if number == len(asked) - 1 else None
                return HistoryPlace(end.session_id, replaced, *_unstored(asked, held, replaced))
        return HistoryPlace(None, None, *_unstored(asked, held, None))

    def _open_end(self, held: Sequence[HeldRound]) -> HeldRound | None:
        """The newest of these rounds with which a session ends that can be gone on with."""
        ends = (one for one in reversed(held) if self._memory.doors.last_held(one.session_id) == one)
        return next((one for one in ends if self._is_open(one.session_id)), None)

    def _is_open(self, session_id: str) -> bool:
        session = self._memory.session(session_id)
        silent = self._memory.fell_silent(session_id, self._clock(), self._archive_after)
        return session is not None and session.status == "active" and not silent

    # -- storing -------------------------------------------------------------------------------------------------

    def _there(self, session_id: str, text_id: str | None) -> Round | None:
        """The last round of a session, if it is this one."""
        last = self._memory.rounds(session_id, 1) if text_id else ()
        return next((one for one in last if one.user.text_id == text_id), None)

    def _hold(self, one: Unstored, spoken: Round) -> None:
        for each in one.asked:
            self._memory.doors.hold(each.chain, spoken, each.message)

    def _withhold_what_is_asked(self, spoken: Round) -> None:
        """Let no later prompt hold what the person asks to have forgotten."""
        if plea := heard(spoken.user.words):
            *before, present = self._memory.rounds(session_id := spoken.user.session_id)
            rounds = (*meant_by(self._memory, plea, session_id, before), present)
            self._memory.withhold([turn.text_id for one in rounds for turn in one.turns])


def _unstored(
    asked: Sequence[Asked], held: Mapping[str, Sequence[HeldRound]], replaced: str | None
) -> tuple[tuple[Unstored, ...], Unstored]:
    """The rounds that were never seen, and the one that is asked for now, with what stood in the one it replaces."""
    rounds, waiting = list[Unstored](), list[Asked]()
    for one in asked[:-1]:
        known = held.get(one.chain, ())
        if one.text.strip() and (not known or replaced in [each.text_id for each in known]):
            waiting.append(one)
        if one.replies and waiting:
            rounds.append(Unstored(tuple(waiting)))
            waiting = []
    return tuple(rounds), Unstored((*waiting, asked[-1]))


def _digest(*texts: str) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(str(len(text)).encode() + b":" + text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()[:40]
