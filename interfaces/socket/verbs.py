"""What can be asked of a memory by name: each verb with the form of its arguments and of its answer.

The same names whether the memory is held in this program or in another one, so that a door need not know which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from domain import errors
from interfaces.service import bodies
from interfaces.service.memory_service import MemoryService


class Memories(Protocol):
    """Memories of many people that answer to verbs."""

    def call(self, name: str, **arguments: object) -> BaseModel:
        """The answer of a verb. Raises UsageError, StorageError."""


@dataclass(frozen=True)
class Verb:
    """One of them."""

    arguments: type[BaseModel]
    answer: type[BaseModel]
    do: Callable[[MemoryService, Any], BaseModel]


VERBS: Mapping[str, Verb] = {
    "process": Verb(
        bodies.ProcessRequest,
        bodies.ProcessResponse,
        lambda service, asked: service.process(asked.input, asked.user_id, asked.request_id),
    ),
    "end_session": Verb(
        bodies.EndSessionRequest,
        bodies.EndSessionResponse,
        lambda service, asked: service.end_session(asked.user_id),
    ),
    "session_status": Verb(
        bodies.PersonRequest,
        bodies.SessionStatusResponse,
        lambda service, asked: service.session_status(asked.user_id),
    ),
    "debug": Verb(
        bodies.DebugRequest,
        bodies.DebugResponse,
        lambda service, asked: service.debug(asked.input, asked.user_id),
    ),
    "graph": Verb(
        bodies.GraphRequest,
        bodies.GraphResponse,
        lambda service, asked: service.graph(asked.user_id, asked.limit),
    ),
    "recall": Verb(
        bodies.RecallRequest,
        bodies.RecallResponse,
        lambda service, asked: service.recall(asked.query, asked.user_id, asked.limit),
    ),
    "remember": Verb(
        bodies.RememberRequest,
        bodies.RememberResponse,
        lambda service, asked: service.remember(asked.text, asked.user_id, asked.request_id),
    ),
    "forget": Verb(
        bodies.ForgetRequest,
        bodies.ForgetResponse,
        lambda service, asked: service.forget(asked.memory_id, asked.user_id),
    ),
    "profile": Verb(
        bodies.PersonRequest,
        bodies.ProfileResponse,
        lambda service, asked: service.profile(asked.user_id),
    ),
    "day": Verb(
        bodies.DayRequest,
        bodies.DayResponse,
        lambda service, asked: service.day(asked.date, asked.user_id),
    ),
}


class HeldHere:
    """The verbs of a service that is in this program."""

    def __init__(self, service: MemoryService) -> None:
        self._service = service

    def call(self, name: str, **arguments: object) -> BaseModel:
        """The answer of a verb."""
        if (verb := VERBS.get(name)) is None:
            raise errors.UsageError("socket.unknown_call", given=name)
        try:
            asked = verb.arguments.model_validate(arguments)
        except ValidationError as fault:
            told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in fault.errors())
            raise errors.UsageError("socket.invalid", problems=told) from None
        return verb.do(self._service, asked)
