"""NeuroMemory's functions over our memory: the same names, and results as over HTTP.

    process_memory("我女儿叫灿灿", user_id="user_001")
    process_memory("她今年几岁了？", user_id="user_001")["resolved_query"]      # 灿灿今年几岁了？

The memory is that of ``.env`` (``DATA_DIR``); it is opened at the first call and closed when the program ends. What a
call refuses is a result with ``status`` "error", as over HTTP; a memory that cannot be opened raises a StorageError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from domain.errors import UsageError
from interfaces.messages import Words, choose_language
from interfaces.python import Friend
from people import ME

__all__ = ["debug", "end_session", "get_session_status", "graph", "process_memory"]
Result = dict[str, Any]


def process_memory(
    input: str,
    user_id: str = ME,
    request_id: str | None = None,
    role: str = "user",
    metadata: Mapping[str, Any] | None = None,
) -> Result:
    """Store what a person said, and return what is remembered for it.

    What your program's companion said has the ``role`` "assistant"; ``metadata`` is kept with it.
    """
    given = {"input": input, "user_id": user_id, "request_id": request_id, "role": role, "metadata": metadata}
    return _call("process_memory", **given)


def end_session(user_id: str = ME) -> Result:
    """End the person's session; it is consolidated in the background."""
    return _call("end_session", user_id=user_id)


def get_session_status(user_id: str = ME) -> Result:
    """Whether a session of the person is open."""
    return _call("get_session_status", user_id=user_id)


def debug(input: str, user_id: str = ME) -> Result:
    """What ``process_memory`` would return, and how it is found; stores nothing."""
    return _call("debug_process_memory", input=input, user_id=user_id)


def graph(user_id: str = ME, limit: int = 100) -> Result:
    """What is known to be related, the newest first."""
    return _call("get_user_graph", user_id=user_id, limit=limit)


def _call(name: str, **arguments: object) -> Result:
    friend = _friend()
    try:
        result: Result = json.loads(getattr(friend, name)(**arguments).model_dump_json())
    except UsageError as fault:
        words = Words(choose_language(friend.settings.language, {}))
        return {"status": "error", "message": words.describe_error(fault), "error": {"code": fault.key}}
    return result


@cache
def _friend() -> Friend:
    """The memory, opened once for each program."""
    return Friend()
