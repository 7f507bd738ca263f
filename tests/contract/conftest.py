"""Every test of the contract is run with every form of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from storage.store import Store

from tests.contract.stores import FORMS, Teller, at


@pytest.fixture(params=FORMS.values(), ids=FORMS.keys())
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Opens the store of this test, again if need be."""
    return lambda: request.param(tmp_path)  # type: ignore[no-any-return]


@pytest.fixture
def store(reopen: Callable[[], Store]) -> Iterator[Store]:
    opened = reopen()
    opened.start_session("s1", at(0))
    yield opened
    opened.close()


@pytest.fixture
def teller(store: Store) -> Teller:
    return Teller(store)
