"""A chat that another program leads and we give a memory: recall before it, the stored round after it.

Promises: nothing is answered that should have been stored and is not: a memory that another program uses is waited for,
and whoever waits in vain gets an error; words of the person are stored once, with the reply that ended, before the end
of the reply is told; a reply that broke off, a call of a tool, what a client asks for
itself, and what is sent with the memory switched off store nothing. A turn that goes on after a tool was called is
given the same bytes again.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from domain.errors import UsageError
from domain.languages import language_of_address
from domain.recollection import Recollection
from domain.text import is_blank, new_boundary, one_line
from domain.workers import Stop
from interfaces.service.chat_requests import ChatRequest, with_memory
from interfaces.service.held_history import HeldHistory, HistoryPlace
from llm import Layers, profile_and_memories
from models.relaying import Heard
from people import Companion, People

#: What the memory has to do with a request: it is used, switched off, or not meant (``side``).
Use = Literal["on", "off", "side"]
#: The mark of the sessions that are held here.
_DOOR = "openai"
#: Of so many turns it is known what they were told, for the time in which tools are called.
_MOST_TOLD = 1_000
#: So many responses wait for the results of tools.
_MOST_CALLING = 100


@dataclass(frozen=True)
class TurnMemory:
    """What a turn is told: of the person, what was recalled, and from how many memories."""

    profile: str = ""
    recalled: str = ""
    memories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A request as it is sent on, and what the memory has to do with it.

    ``named`` is what its client calls the conversation, ``key`` what we do. By the id ``response`` its reply is found
    later; it goes on after that of ``previous``.
    """

    person: str | None
    request: ChatRequest
    body: Mapping[str, Any]
    use: Use
    named: str | None = None
    key: str = ""
    started: str = ""
    told: TurnMemory = TurnMemory()
    response: str = ""
    previous: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """What tells the client what was used."""
        return {
            "X-Memory": self.use,
            "X-Memory-Count": str(len(self.told.memories)),
            "X-Memory-Ids": ",".join(self.told.memories),
            # A header carries bytes, and is written byte by byte: ours are UTF-8.
            "X-Session-Id": self.key.removeprefix("id:").encode().decode("latin-1"),
        }


@dataclass(frozen=True)
class ResponsePast:
    """What was said up to a response: the name of its conversation, and its messages."""

    named: str | None = None
    messages: Sequence[Mapping[str, Any]] = ()


class RelayedChats:
    """Gives the chats of other programs a memory."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._told: OrderedDict[str, TurnMemory] = OrderedDict()
        self._calling: OrderedDict[tuple[str | None, str], ResponsePast] = OrderedDict()
        self._lock = Lock()

    def prepare(
        self, person: str | None, request: ChatRequest, named: str | None, gone: Stop, *, switched_off: bool
    ) -> Prepared:
        """The request with its memory. Raises StorageError, Interrupted when the client is ``gone``.

        ``named`` is what the client calls the conversation, if it calls it anything. There is no ``person`` only
        where the memory is switched off.
        """
        body = {**request.body, "model": self._model(request.body.get("model"))}
        if switched_off or person is None:
            return Prepared(person, request, body, "off")
        if request.side or is_blank(request.said):
            return Prepared(person, request, body, "side")
        with self._people.companion(person, wait=gone) as companion:
            place = self._history(companion).find(named, request.history)
            told = self._told_to(companion, request, place)
        given = with_memory(request, told.profile, told.recalled)
        started = self._people.clock().isoformat(timespec="seconds")
        sent = {**body, "messages": given["messages"]}
        return Prepared(person, request, sent, "on", named, place.key, started, told)

    def keep(self, prepared: Prepared, heard: Heard, gone: Stop) -> None:
        """Store the round, if there is one. Raises StorageError, Interrupted when the client is ``gone``."""
        if prepared.use != "on" or prepared.person is None or not heard.whole:
            return
        with (
            self._people.companion(prepared.person, wait=gone) as companion,
            companion.turns,
            companion.memory.in_one_commit(),
        ):
            history = self._history(companion)
            kept = history.store(
                prepared.named,
                prepared.request.history,
                heard.text,
                heard.ended or "stop",
                prepared.started,
                standin=self._people.llm.describe().standin,
            )
            if prepared.response:
                history.name_response(prepared.response, kept.round, prepared.previous)

    def past(self, person: str | None, response: str, gone: Stop) -> ResponsePast:
        """What was said up to a response. Raises UsageError where there is none, StorageError, Interrupted."""
        with self._lock:
            calling = self._calling.get((person, response))
        if calling:
            return calling
        found = None
        if person is not None:
            with self._people.companion(person, wait=gone) as companion:
                found = self._history(companion).response(response)
        if found is None:
            raise UsageError("chat.no_such_response", given=one_line(response, 60))
        turns = [turn for one in found[1] for turn in one.turns]
        messages = [{"role": turn.role, "content": turn.words} for turn in turns]
        return ResponsePast(found[0].removeprefix("id:") or None, messages)

    def await_tools(self, prepared: Prepared, messages: Sequence[Mapping[str, Any]]) -> None:
        """Keep what was said up to a response that calls tools, until their results come; it is no reply yet."""
        past = ResponsePast(prepared.named, messages)
        with self._lock:
            self._calling[prepared.person, prepared.response] = past
            while len(self._calling) > _MOST_CALLING:
                self._calling.popitem(last=False)

    def _history(self, companion: Companion) -> HeldHistory:
        after = companion.settings.archive_after
        return HeldHistory(companion.memory, _DOOR, self._people.clock, archive_after=after)

    def _model(self, wanted: object) -> object:
        """The model that is asked for; ours where none is, or only ours."""
        ours = self._people.llm.describe().model
        return wanted if wanted and wanted != OWN_MODEL else ours

    def _told_to(self, companion: Companion, request: ChatRequest, place: HistoryPlace) -> TurnMemory:
        asked = (companion.person, place.key, request.at, request.said)
        mark = hashlib.sha256(repr(asked).encode()).hexdigest()
        with self._lock:
            known = self._told.get(mark)
        if known and request.answers_tools:
            return known
        told = self._recalled(companion, request, place.session_id or "")
        with self._lock:
            self._told[mark] = told
            while len(self._told) > _MOST_TOLD:
                self._told.popitem(last=False)
        return told

    def _recalled(self, companion: Companion, request: ChatRequest, session_id: str) -> TurnMemory:
        now, recent, names = self._people.clock(), request.recent, companion.memory.names()
        found = companion.recall(request.said, recent, session_id)
        layers = Layers(
            request.said,
            now,
            language_of_address(companion.memory.personas.read("user"), recent, request.said),
            user_image=companion.image("user"),
            recalled=found,
            companion=companion.settings.companion_name or names.companion_called,
            person=companion.settings.user_name or names.person_called,
        )
        return TurnMemory(*profile_and_memories(layers, new_boundary()), _ids(found))


#: The name under which a client may ask for whatever model is set.
OWN_MODEL = "old-friend"


def _ids(found: Recollection) -> tuple[str, ...]:
    return tuple([one.text_id for one in found.summaries] + [one.text_id for one in found.turns])
