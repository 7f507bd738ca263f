"""Replies of a real model, each kept with its request: a run that is done again asks only what is new.

Every request lies in a folder as ``DIGEST.json`` and its reply beside it as ``DIGEST.reply.txt``, named by the digest
of what is asked without the mark around fenced data, which is new in every prompt. One folder belongs to one model.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from language.scripts import estimate, estimate_all

Messages = Sequence[Mapping[str, str]]
_TIMEOUT = 600.0
_MARK = re.compile("=== .* ===")


@dataclass
class KeptReplies:
    """The model behind ``base``, any OpenAI-compatible server, and what it has said. ``asked`` counts what was new."""

    base: str
    keep: Path
    model: str
    key: str = ""
    asked: int = 0

    def reply(self, messages: Messages) -> str:
        """The reply to these messages. Raises httpx2.HTTPError where the server gives none, or none that is whole."""
        kept = self.path(messages).with_suffix(".reply.txt")
        if kept.exists():
            return kept.read_text(encoding="utf-8")
        text = self._asked(messages)
        self.put(messages, text)
        return text

    def put(self, messages: Messages, text: str) -> None:
        """Keep a reply with its request."""
        path = self.path(messages)
        _write(path, json.dumps(messages, ensure_ascii=False, indent=1))
        _write(path.with_suffix(".reply.txt"), text)

    def path(self, messages: Messages) -> Path:
        """Where a request lies, or would."""
        said = json.dumps(messages, ensure_ascii=False, sort_keys=True)
        for mark in {line for one in messages for line in one["content"].splitlines() if _MARK.fullmatch(line)}:
            said = said.replace(mark, "===")
        return self.keep / f"{hashlib.sha256(said.encode()).hexdigest()[:16]}.json"

    def _asked(self, messages: Messages) -> str:
        self.asked += 1
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        body = {"model": self.model, "messages": messages}
        url, secure = f"{self.base}/chat/completions", self.base.startswith("https:")  # to read certificates takes long
        answer = httpx2.post(url, json=body, headers=headers, timeout=_TIMEOUT, verify=secure)
        answer.raise_for_status()
        choice = answer.json()["choices"][0]
        text = choice["message"].get("content")
        if not text or choice.get("finish_reason") == "length":
            raise httpx2.HTTPError(f"no whole reply: {choice.get('finish_reason')}")
        return str(text)


@dataclass
class KeptTransport(httpx2.BaseTransport):
    """Takes the place of the network. ``tokens`` and ``calls`` count what was put before the model, kept or new.

    ``failure`` is what the server did in place of a reply: the program may go on without it, a measurement may not, and
    nothing more is asked.
    """

    replies: KeptReplies
    calls: int = 0
    tokens: int = 0
    failure: Exception | None = field(default=None)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request answered, and kept."""
        body = json.loads(request.read())
        if self.failure:
            raise self.failure
        try:
            text = self.replies.reply(body["messages"])
        except Exception as fault:
            self.failure = fault
            raise
        self.calls += 1
        self.tokens += estimate_all(one["content"] for one in body["messages"]) + estimate(text)
        return answered(text, stream=bool(body.get("stream")))


def _write(path: Path, text: str) -> None:
    """Write a file that is whole wherever the run is cut off: half a reply would be taken for one ever after."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def answered(text: str, *, stream: bool) -> httpx2.Response:
    """A reply as a server gives it."""
    if not stream:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return httpx2.Response(200, json={"id": "1", "object": "chat.completion", "choices": [choice]})
    parts: list[dict[str, Any]] = [
        {"index": 0, "delta": {"content": text}},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    ]
    events = "".join(f"data: {json.dumps({'choices': [part]})}\n\n" for part in parts)
    headers = {"Content-Type": "text/event-stream"}
    return httpx2.Response(200, text=events + "data: [DONE]\n\n", headers=headers)
