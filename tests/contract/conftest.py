"""Every test of the contract is run on every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.stores import ENGINES, Store, Teller, at


@pytest.fixture(params=ENGINES)
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Opens the memory of this test, again if need be."""
    return lambda: ENGINES[request.param](tmp_path)


@pytest.fixture
def store(reopen: Callable[[], Store]) -> Iterator[Store]:
    opened = reopen()
    opened.start("s1", at(0))
    yield opened
    opened.close()


@pytest.fixture
def teller(store: Store) -> Teller:
    return Teller(store)
