"""A chat model of LangChain, or any object with its ``invoke``, in the place of a model server.

It is a transport for the official client, like the demo model: prompts, limits and errors are those of a real server.
What the model raises becomes an answer with status 400 that says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

import httpx2

from models.demo_model import answer_with


class Invoked(Protocol):
    """What is needed of a chat model: ``invoke`` with (role, content) pairs returns a text, or has its ``content``."""

    def invoke(self, messages: Sequence[tuple[str, str]]) -> Any:
        """The reply to a prompt."""
        ...


class LangChainModel(httpx2.BaseTransport):
    """Takes the place of the network."""

    def __init__(self, model: Invoked) -> None:
        self._model = model

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request answered."""
        name = type(self._model).__name__
        if not request.url.path.rstrip("/").endswith("/chat/completions"):
            return httpx2.Response(404, json={"error": {"message": f"{name} has no such path."}})
        body = json.loads(request.read())
        try:
            reply = self._model.invoke([(one["role"], one["content"]) for one in body["messages"]])
        except Exception as fault:
            return httpx2.Response(400, json={"error": {"message": f"{name}: {type(fault).__name__}: {fault}"}})
        return answer_with(_text_of(getattr(reply, "content", reply)), body, name)


def _text_of(content: object) -> str:
    """The words of a content, which may come in parts."""
    if not isinstance(content, list):
        return str(content)
    parts = (part.get("text", "") if isinstance(part, dict) else part for part in content)
    return "".join(map(str, parts))
