"""Every body is what the memory service is known to answer: these keys, in this order, of these types."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from interfaces.http.memory_routes import ErrorResponse
from interfaces.operations import OPERATIONS
from interfaces.service.memory_schemas import ErasedResponse
from interfaces.service.schemas import (
    LONGEST_INPUT,
    DebugResponse,
    EndSessionResponse,
    GraphResponse,
    ProcessResponse,
    SessionStatusResponse,
)
from interfaces.service.search_schemas import DiaryResponse, OpenResponse
from tests.interfaces.service.known import LYON
from tests.interfaces.service.opened import OpenedService
from tests.support.house import Mind

TIME = r"2026-03-01T09:00:00Z"


def shape(value: Any) -> Any:
    """Keys in their order, and types."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value[:1]]
    return type(value).__name__


def written(body: Any) -> Any:
    return json.loads(body.model_dump_json())


def same(body: Any, wanted: Any) -> None:
    """The same keys in the same order: as text."""
    assert json.dumps(shape(written(body))) == json.dumps(wanted)


PROCESSED = {
    "status": "str",
    "resolved_query": "str",
    "memories": [{"content": "str", "score": "float"}],
    "relations": [{"source": "str", "relation": "str", "target": "str"}],
    "metadata": {"retrieval_time_ms": "int", "has_memory": "bool"},
}
FOUND = {
    "pronouns": ["str"],
    "context_events_used": "int",
    "candidates": [{"text_id": "str", "score": "float", "source": "str"}],
    "sql_ms": "int",
    "vector_ms": "int",
    "degraded": [],
    "would_store": "bool",
}


@pytest.fixture
def knowing(opened: OpenedService, mind: Mind) -> OpenedService:
    """A service that knows where Ann lives."""
    mind.answers("notes", LYON)
    opened.service.process("My sister Ann lives in Lyon.", "me")
    opened.consolidate()
    with opened.people.companion("me") as companion:
        assert companion.memory.index.settle(60)
    return opened


def test_an_input_is_answered_with_memories_relations_and_how_long_it_took(knowing: OpenedService) -> None:
    body = knowing.service.process("Where does Ann live?", "me")
    same(body, PROCESSED)
    assert (body.status, body.metadata.has_memory) == ("success", True)
    assert all(0.0 <= one.score <= 1.0 for one in body.memories)
    assert [(one.source, one.relation, one.target) for one in body.relations] == [("Ann", "lives in", "Lyon")]


def test_an_input_for_which_nothing_is_known_has_empty_lists(opened: OpenedService) -> None:
    body = written(opened.service.process("Where does Ann live?", "me"))
    assert (body["memories"], body["relations"], body["metadata"]["has_memory"]) == ([], [], False)


def test_looking_at_an_input_tells_the_same_and_how_it_came_about(knowing: OpenedService) -> None:
    knowing.service.process("Ann is well.", "me")
    same(knowing.service.debug("Where does she live, Ann?", "me"), {**PROCESSED, "debug": FOUND})


def test_the_end_of_a_session_tells_four_things_of_it(opened: OpenedService, clock) -> None:
    opened.service.process("Hello.", "me")
    clock.pass_by(seconds=90)
    assert opened.service.end_session("me").model_dump_json() == (
        '{"status":"success","message":"Session ending, consolidation started","session_info":{"event_count":1,'
        '"duration_seconds":90,"created_at":"2026-03-01T09:00:00Z","ended_at":"2026-03-01T09:01:30Z"}}'
    )


def test_where_no_session_is_open_there_is_none_to_end(opened: OpenedService) -> None:
    assert opened.service.end_session("me").model_dump_json() == (
        '{"status":"success","message":"No active session","session_info":null}'
    )


def test_the_status_tells_of_the_open_session(opened: OpenedService, clock) -> None:
    opened.service.process("Hello.", "me")
    clock.pass_by(seconds=100)
    opened.service.process("Hello again.", "me")
    clock.pass_by(seconds=60)
    assert opened.service.session_status("me").model_dump_json() == (
        '{"status":"success","has_active_session":true,"session_info":{"event_count":2,'
        '"created_at":"2026-03-01T09:00:00Z","last_active_at":"2026-03-01T09:01:40Z",'
        '"time_until_timeout_seconds":1740}}'
    )


def test_the_status_of_nobody_tells_that_there_is_none(opened: OpenedService) -> None:
    assert opened.service.session_status("ann").model_dump_json() == (
        '{"status":"success","has_active_session":false,"session_info":null}'
    )


def test_the_graph_tells_who_and_what_is_known_and_how_they_are_related(knowing: OpenedService) -> None:
    assert knowing.service.graph("me").model_dump_json() == (
        '{"status":"success","user_id":"me","nodes":[{"id":"Ann","name":"Ann"},{"id":"Lyon","name":"Lyon"}],'
        '"relations":[{"source":"Ann","relation":"lives in","target":"Lyon","created_at":"2026-03-01T09:00:00Z"}]}'
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"input": "", "user_id": "me"},
        {"input": "x" * (LONGEST_INPUT + 1), "user_id": "me"},
        {"input": "x", "user_id": ""},
        {"input": "x", "user_id": "x" * 129},
        {"input": 7, "user_id": "me"},
        {"input": "x", "user_id": True},
        {"user_id": "me"},
    ],
)
def test_what_is_asked_is_taken_as_it_is_or_not_at_all(asked: Any) -> None:
    with pytest.raises(ValidationError):
        OPERATIONS["process"].parameters.model_validate(asked)


def test_the_longest_input_and_the_longest_id_are_taken() -> None:
    asked = OPERATIONS["process"].parameters.model_validate({"input": "x" * LONGEST_INPUT, "user_id": "y" * 128})
    assert asked.model_dump()["request_id"] is None


def test_the_page_about_it_shows_bodies_as_they_are() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "neuromemory.md"
    shown = re.findall(r"```json\n(.+)\n```", page.read_text(encoding="utf-8"))
    models = (
        ProcessResponse, EndSessionResponse, EndSessionResponse, SessionStatusResponse, DebugResponse,
        GraphResponse, ErasedResponse, OpenResponse, DiaryResponse, ErrorResponse,
    )  # fmt: skip
    for body, model in zip(shown, models, strict=True):
        assert model.model_validate_json(body).model_dump_json() == body
