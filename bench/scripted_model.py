"""A scripted chat model on loopback that takes a fixed time and looks whose words stand in each prompt.

And the least of HTTP that a client needs who is many people at once: everything runs in one event loop, so that what is
measured is the server and not the measuring.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

#: The word by which a person's text is known.
MARKER = re.compile(r"qz\d{4}k")
#: How the tasks of the background begin; their time is no part of a round.
_TASKS = {
    "notes": '{"notes": []}',
    "compare": '{"verdicts": []}',
    "笔记": '{"notes": []}',
    "把新的": '{"verdicts": []}',
}
_SUMMARY, _NO_CHANGE = "The two talked.", '{"operations": []}'


def marker_of(person: int) -> str:
    """The word of a person."""
    return f"qz{person:04d}k"


@dataclass
class Model:
    """A chat model on loopback that answers after a fixed time, and looks whose words stand in each prompt."""

    seconds: float
    port: int = 0
    #: Seconds that were spent on a person's rounds, by marker.
    spent: dict[str, float] = field(default_factory=dict)
    leaks: list[str] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, request after request."""
        try:
            while body := await _request(reader):
                began = time.perf_counter()
                await asyncio.sleep(self.seconds)
                writer.write(self._reply(json.loads(body), began))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _reply(self, asked: dict[str, Any], began: float) -> bytes:
        prompt = "\n".join(str(message["content"]) for message in asked["messages"])
        markers = sorted(set(MARKER.findall(prompt)))
        if len(markers) > 1:
            self.leaks.append(f"a prompt holds {markers}")
        first = prompt.split("\n", 1)[0]
        if first.startswith(("Task:", "任务")):
            given = next((text for word, text in _TASKS.items() if word in first), None)
            text = given or (_SUMMARY if "summar" in first or "总结" in first else _NO_CHANGE)
        else:
            text = f"{' '.join(markers)} I hear you, and this is what I have to say about it."
            for marker in markers:
                self.spent[marker] = self.spent.get(marker, 0.0) + time.perf_counter() - began
        return _streamed(text) if asked.get("stream") else _whole(text)


@asynccontextmanager
async def scripted_model(seconds: float) -> AsyncIterator[Model]:
    """Serve a model on loopback that takes ``seconds`` for each reply, until the block ends."""
    model = Model(seconds)
    server = await asyncio.start_server(model.answer, "127.0.0.1", 0, backlog=1_000)
    model.port = server.sockets[0].getsockname()[1]
    try:
        yield model
    finally:
        server.close()


def _whole(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    body = json.dumps({"id": "1", "object": "chat.completion", "model": "scripted", "choices": [choice]}).encode()
    return _answer(body, "application/json")


def _streamed(text: str) -> bytes:
    head = {"id": "1", "object": "chat.completion.chunk", "model": "scripted"}
    parts = (
        {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    )
    events = [f"data: {json.dumps({**head, 'choices': [part]})}\n\n" for part in parts]
    return _answer("".join([*events, "data: [DONE]\n\n"]).encode(), "text/event-stream")


def _answer(body: bytes, kind: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def _request(reader: asyncio.StreamReader) -> bytes:
    """The body of the next request; empty when there is none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    return await reader.readexactly(_length(head))


async def posted(port: int, path: str, body: bytes, token: str) -> bytes:
    """The answer to one request. Raises ValueError where its status is not 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        status = await reader.readuntil(b"\r\n\r\n")
        answer = await reader.readexactly(_length(status))
    finally:
        writer.close()
    if not status.startswith(b"HTTP/1.1 200"):
        raise ValueError(f"{status.splitlines()[0]!r} {answer[:200]!r}")
    return answer


def _length(head: bytes) -> int:
    found = re.search(rb"(?i)content-length: *(\d+)", head)
    return int(found[1]) if found else 0
