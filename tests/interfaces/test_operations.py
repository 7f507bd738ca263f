"""The table of operations: what its rows promise holds in every interface that is made of it."""

from __future__ import annotations

import pytest

from domain import errors
from interfaces.operations import OPERATIONS, Access, Memories, MemoryOperation
from tests.interfaces.service.opened import OpenedService, opened_service


@pytest.fixture
def opened(tmp_path, server, clock, new_id):
    with opened_service(tmp_path, server, clock, new_id) as ready:
        yield ready


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=list(OPERATIONS))
def test_an_operation_can_be_asked_by_some_program_and_one_of_administration_only_below_admin(
    operation: MemoryOperation,
) -> None:
    assert operation.route or operation.tool or operation.resource
    if operation.access is Access.ADMIN:
        assert operation.route
        assert operation.route.path.startswith("/admin/")
        assert (operation.tool, operation.resource) == (None, None)


@pytest.mark.parametrize("name", [one.name for one in OPERATIONS.values() if one.access is not Access.PERSON])
def test_no_program_of_a_person_can_ask_for_administration(opened: OpenedService, name: str) -> None:
    with pytest.raises(errors.UsageError, match=r"operation\.unknown"):
        Memories(opened.service).call(name, user_id="ann")
