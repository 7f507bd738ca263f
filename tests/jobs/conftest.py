"""A model that answers as it is told, and the house that is opened again and again on one folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.house import Mind, house
from tests.server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def mind(server: ScriptedServer) -> Mind:
    """What its model answers: as a friend does, while a task is not answered otherwise."""
    return Mind(server)


@pytest.fixture
def opened(tmp_path, server, mind, clock, new_id, log) -> Callable[..., Any]:
    """Opens the house."""
    return lambda **settings: house(tmp_path, server, clock, new_id, log, **settings)
