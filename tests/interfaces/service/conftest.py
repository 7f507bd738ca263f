"""A service that is ready, and what its model does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Count, SetClock
from tests.interfaces.service.opened import OpenedService, opened_service
from tests.support.house import Mind
from tests.support.server import ScriptedServer


class StillClock(SetClock):
    """A clock that moves only when it is told."""

    def __call__(self) -> object:  # type: ignore[override]
        return self.now


@pytest.fixture
def clock() -> SetClock:
    return StillClock()


@pytest.fixture
def opened(
    tmp_path: Path, server: ScriptedServer, mind: Mind, clock: SetClock, new_id: Count
) -> Iterator[OpenedService]:
    with opened_service(tmp_path, server, clock, new_id) as ready:
        yield ready
