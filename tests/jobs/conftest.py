"""A model that answers as it is told, and the house that is opened again and again on one folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.house import house


@pytest.fixture
def opened(tmp_path, server, mind, clock, new_id, log) -> Callable[..., Any]:
    """Opens the house."""
    return lambda **settings: house(tmp_path, server, clock, new_id, log, **settings)
