"""The names of the models that a server offers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

from domain import errors
from domain.text import one_line
from models import fault_table, faults
from models.client import Client

_MOST = 5_000


def model_names(client: Client, model: str, clock: Callable[[], datetime]) -> list[str]:
    """The names in a server's model list, sorted, inert.

    Raises ModelError.
    """
    place = faults.Place(client.base, model, client.secrets)
    try:
        with client.openai().models.with_streaming_response.list() as response:
            answer = response.http_response.read()
        return _names(answer)
    except Exception as fault:
        raise faults.from_exception(fault, place, clock) from fault


def _names(answer: bytes) -> list[str]:
    if answer.lstrip().startswith(b"<"):
        raise errors.BadReply("model.html_reply")
    body = json.loads(answer)
    if faults.is_error(body):
        raise fault_table.error_of(faults.failure_of(body))
    rows = body.get("data") or body.get("models") if isinstance(body, dict) else None
    found = (
        [row.get("id") or row.get("name") for row in rows if isinstance(row, dict)]
        if isinstance(rows, list)
        else []
    )
    return sorted({one_line(name) for name in found[:_MOST] if isinstance(name, str) and name.strip()})
