"""Filters of units, as MemForest writes them: ``[("source", "==", "ai"), ("creation_time", ">=", "2026-01-01")]``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from domain import errors
from domain.forests import MemoryUnit

#: A field, or a key of the metadata, with what it has to be.
UnitFilter = tuple[str, str, Any]

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "in": lambda value, among: value in among,
    "not in": lambda value, among: value not in among,
    "contains": lambda value, part: part in value,
}
_FIELDS = frozenset(one.name for one in fields(MemoryUnit))


def passes(filters: Sequence[UnitFilter]) -> Callable[[MemoryUnit], bool]:
    """Whether a unit is as all of these say. Raises UsageError, once it is used, where one makes no sense."""
    for one in filters:
        if len(one) != 3 or one[1] not in _OPERATORS:
            raise errors.UsageError("memforest.filter", given=one, operators=", ".join(_OPERATORS))
    return lambda unit: all(_holds(unit, *one) for one in filters)


def _holds(unit: MemoryUnit, name: str, how: str, wanted: Any) -> bool:
    value = getattr(unit, name) if name in _FIELDS else unit.metadata.get(name.removeprefix("metadata."))
    if isinstance(value, datetime):
        wanted = _moment(wanted)
    if value is None:
        return (how == "==" and wanted is None) or (how in ("!=", "not in") and wanted is not None)
    try:
        return bool(_OPERATORS[how](value, wanted))
    except TypeError as fault:
        given = (name, how, wanted)
        raise errors.UsageError("memforest.filter", given=given, operators=", ".join(_OPERATORS)) from fault


def _moment(wanted: Any) -> Any:
    """A time as a unit has it: a local one gets the offset of this machine."""
    try:
        given = datetime.fromisoformat(wanted) if isinstance(wanted, str) else wanted
    except ValueError:
        return wanted
    return given.astimezone() if isinstance(given, datetime) and given.tzinfo is None else given
