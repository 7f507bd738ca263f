"""A real HTTP server on loopback that speaks the OpenAI protocol and plays what a test has scripted.

    with ScriptedServer() as server: server.script(say("Hello."), status(500), say("Hello again.")) ...  #
    point OPENAI_API_BASE at server.base server.chats[0]["messages"]

Each chat request takes the next play of the script; when it is used up, ``server.answer(request)`` is said,
so that a test may also give a function in place of a script. Embeddings have a script of their own. Every
request is recorded with its headers. Nothing is left behind: ``close`` ends every thread, hanging ones too.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODEL = "scripted-model"
DIMENSION = 16


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; None when it has none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass
class Exchange:
    """One request and the means to answer it, well or badly."""

    request: Request
    handler: BaseHTTPRequestHandler
    server: ScriptedServer
    chunked: bool = field(default=False, init=False)

    @property
    def json(self) -> Any:
        """The request's body."""
        return self.request.json

    @property
    def streams(self) -> bool:
        """Whether a stream was asked for."""
        return bool((self.json or {}).get("stream"))

    def send(
        self,
        status: int,
        body: bytes | str | Any,
        headers: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> None:
        """A whole answer."""
        raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else encode(body)
        self.handler.send_response(status)
        for name, value in {"Content-Type": content_type, "Content-Length": str(len(raw)), **(headers or {})}.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(raw)
        self.handler.wfile.flush()

    def begin(self, content_type: str = "text/event-stream", *, length: int | None = None) -> None:
        """The head of an answer whose body follows in pieces."""
        self.chunked = length is None
        self.handler.send_response(200)
        self.handler.send_header("Content-Type", content_type)
        if length is None:
            self.handler.send_header("Transfer-Encoding", "chunked")
        else:
            self.handler.send_header("Content-Length", str(length))
        self.handler.end_headers()
        self.handler.wfile.flush()

    def raw(self, data: bytes) -> None:
        """A piece of the body."""
        self.handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data)
        self.handler.wfile.flush()

    def event(self, body: Any) -> None:
        """One server-sent event."""
        self.raw(b"data: " + encode(body) + b"\n\n")

    def end(self) -> None:
        """The proper end of a body in pieces."""
        self.handler.wfile.write(b"0\r\n\r\n")
        self.handler.wfile.flush()

    def cut(self) -> None:
        """Close the connection in the middle."""
        self.handler.close_connection = True

    def reset(self) -> None:
        """Break the connection with a TCP reset."""
        connection = self.handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.close_connection = True
        self.handler.wfile = _Nothing()  # type: ignore[assignment]
        self.handler.rfile.close()
        connection.close()

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than the server lives."""
        if self.server.closing.wait(seconds):
            raise ConnectionAbortedError


class _Nothing:
    """Takes what is written after the connection is gone."""

    closed = True

    def write(self, data: bytes) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


Play = Callable[[Exchange], None]


def encode(body: Any) -> bytes:
    """JSON; a lone surrogate stays one, escaped."""
    return json.dumps(body, ensure_ascii=True).encode()


# --- good replies
# -----------------------------------------------------------------------------------------------


def whole(
    text: Any, finish: str | None = "stop", *, usage: dict[str, int] | None = None, **message: Any
) -> dict[str, Any]:
    """The JSON of a reply that is not streamed."""
    said = {"role": "assistant", "content": text, **message}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL,
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": usage or {"prompt_tokens": 100_000, "completion_tokens": 5, "total_tokens": 100_005},
    }  # fmt: skip


def delta(finish: str | None = None, **said: Any) -> dict[str, Any]:
    """The JSON of one streamed piece."""
    return {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL,
        "choices": [{"index": 0, "delta": said, "finish_reason": finish}],
    }  # fmt: skip


def usage_chunk(prompt: int = 100_000, completion: int = 5) -> dict[str, Any]:
    """The last piece of a stream, with the token counts and no choices."""
    return {**delta(), "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def say(
    text: str,
    finish: str = "stop",
    *,
    pieces: Sequence[str] | None = None,
    pause: float = 0.0,
    reasoning: str = "",
    field: str = "reasoning_content",
    prompt_tokens: int = 100_000,
) -> Play:
    """A good reply, streamed in ``pieces`` if a stream was asked for: words with a pause, else four of any length.

    The client takes half a millisecond for each.
    """

    def play(exchange: Exchange) -> None:
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 5, "total_tokens": prompt_tokens + 5}
        if not exchange.streams:
            extra = {field: reasoning} if reasoning else {}
            exchange.send(200, whole(text, finish, usage=usage, **extra))
            return
        exchange.begin()
        exchange.event(delta(role="assistant", content=""))
        for piece in re.findall(r"\S+\s*|\s+", reasoning):
            exchange.event(delta(**{field: piece}))
        words = re.findall(r"\S+\s*|\s+", text)
        together = 1 if pause else -(-len(words) // 4) or 1
        for piece in pieces or ("".join(words[at : at + together]) for at in range(0, len(words), together)):
            exchange.event(delta(content=piece))
            if pause:
                exchange.pause(pause)
        exchange.event(delta(finish))
        if (exchange.json.get("stream_options") or {}).get("include_usage"):
            exchange.event(usage_chunk(prompt_tokens))
        exchange.raw(b"data: [DONE]\n\n")
        exchange.end()

    return play


def stream(*items: Any, end: str = "done", content_type: str = "text/event-stream") -> Play:
    """A stream of any items: dictionaries as events, bytes as they are, numbers as pauses in seconds.

    ``end``: ``done`` ([DONE] and a proper end), ``clean`` (a proper end alone), ``cut``, ``reset``, ``open``.
    """

    def play(exchange: Exchange) -> None:
        exchange.begin(content_type)
        for item in items:
            if isinstance(item, bytes):
                exchange.raw(item)
            elif isinstance(item, int | float):
                exchange.pause(item)
            else:
                exchange.event(item)
        if end == "done":
            exchange.raw(b"data: [DONE]\n\n")
        if end in ("done", "clean"):
            exchange.end()
        elif end == "cut":
            exchange.cut()
        elif end == "reset":
            exchange.pause(0.05)  # what was sent before must arrive
            exchange.reset()
        else:
            exchange.pause(3600)

    return play


# --- bad ones
# ---------------------------------------------------------------------------------------------------


def answer(body: Any, status_code: int = 200, content_type: str = "application/json", **headers: str) -> Play:
    """Any whole answer; ``headers`` with ``_`` for ``-``."""

    def play(exchange: Exchange) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange.send(status_code, body, named, content_type)

    return play


def status(
    code: int, message: str = "scripted", *, type: str | None = None, error_code: Any = None, **headers: str
) -> Play:
    """An error in OpenAI's form."""
    return answer({"error": {"message": message, "type": type, "param": None, "code": error_code}}, code, **headers)


def html(code: int = 200) -> Play:
    """A web page where a reply should be."""
    return answer("<!doctype html><html><head><title>Welcome</title></head><body>hi</body></html>", code, "text/html")


def cut_body(body: bytes, declared: int) -> Play:
    """A body that ends before its declared length."""

    def play(exchange: Exchange) -> None:
        exchange.begin("application/json", length=declared)
        exchange.raw(body)
        exchange.cut()

    return play


def hang(exchange: Exchange) -> None:
    """Take the request and never answer."""
    exchange.pause(3600)


def hang_up(exchange: Exchange) -> None:
    """Close the connection without a word."""
    exchange.cut()


def reset(exchange: Exchange) -> None:
    """Break the connection without a word."""
    exchange.reset()


def redirect(to: str, code: int = 307) -> Play:
    """Point somewhere else."""
    return answer(b"", code, Location=to)


# --- embeddings
# -------------------------------------------------------------------------------------------------


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """A vector that depends on the words of a text: texts that share words are near each other."""
    sums = [0.0] * dimension
    for word in re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower()) or [text]:
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
        sums[digest[0] % dimension] += 1 if digest[1] % 2 else -1
        sums[digest[2] % dimension] += 1 if digest[3] % 2 else -1
    sums[0] += 0.01
    norm = math.sqrt(sum(value * value for value in sums)) or 1.0
    return [value / norm for value in sums]


def vectors(
    rows: Iterable[Any] | None = None, *, indices: Sequence[Any] | None = None, base64_too: bool = False
) -> Play:
    """Embeddings as they are given (one a row), or proper ones; ``indices`` says under which number each
    goes.
    """

    def play(exchange: Exchange) -> None:
        texts = exchange.json["input"]
        texts = [texts] if isinstance(texts, str) else texts
        found = list(rows) if rows is not None else [vector_of(text, exchange.server.dimension) for text in texts]
        as_base64 = base64_too or exchange.json.get("encoding_format") == "base64"
        numbers = indices if indices is not None else range(len(found))
        data = [
            {"object": "embedding", "index": index, "embedding": packed(row) if as_base64 else row}
            for index, row in zip(numbers, found, strict=True)
        ]
        usage = {"prompt_tokens": 5, "total_tokens": 5}
        exchange.send(200, {"object": "list", "data": data, "model": exchange.json["model"], "usage": usage})

    return play


def packed(row: Sequence[float]) -> str:
    """A vector in base64, as OpenAI packs it."""
    return base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()


# --- the server
# -------------------------------------------------------------------------------------------------


class ScriptedServer:
    """The server. ``base`` is its base URL; ``requests`` everything that came, in order."""

    def __init__(self, scripted: Callable[[Any], bool] = lambda request: True) -> None:
        """``scripted``: which chat requests take the next play, and are listed; ``answer`` is said to the others."""
        self.closing = threading.Event()
        self.scripted = scripted
        self.requests: list[Request] = []
        self.answer: Callable[[Any], str] = lambda request: f"You said: {request['messages'][-1]['content']}"
        self.models = [MODEL]
        self.dimension = DIMENSION
        self.embeds: Play = vectors()
        self._chats: deque[Play] = deque()
        self._embeddings: deque[Play] = deque()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def base(self) -> str:
        """The base URL, with ``/v1``."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[Any]:
        """The JSON of every ``scripted`` chat request, in order."""
        asked = (request.json for request in self.requests if request.path.endswith("/chat/completions"))
        return [request for request in asked if self.scripted(request)]

    @property
    def embeddings(self) -> list[Any]:
        """The JSON of every embeddings request, in order."""
        return [request.json for request in self.requests if request.path.endswith("/embeddings")]

    def script(self, *plays: Play | str) -> None:
        """What to play for the next chat requests; a string is said."""
        self._chats.extend(say(play) if isinstance(play, str) else play for play in plays)

    def script_embeddings(self, *plays: Play) -> None:
        """What to play for the next embeddings requests; then proper vectors again."""
        self._embeddings.extend(plays)

    def close(self) -> None:
        """End everything; safe to call twice."""
        if self.closing.is_set():
            return
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def play(self, exchange: Exchange) -> None:
        """Answer one request."""
        path = exchange.request.path.partition("?")[0]
        if exchange.request.method == "GET" and path == "/v1/models":
            rows = [{"id": name, "object": "model", "created": 1, "owned_by": "test"} for name in self.models]
            exchange.send(200, {"object": "list", "data": rows})
        elif path == "/v1/chat/completions":
            plays = self._chats if self.scripted(exchange.json) else deque()
            self._next(plays, lambda exchange: say(self.answer(exchange.json))(exchange))(exchange)
        elif path == "/v1/embeddings":
            self._next(self._embeddings, self.embeds)(exchange)
        else:
            exchange.send(404, {"detail": "Not Found"})

    def _next(self, plays: deque[Play], otherwise: Play) -> Play:
        with self._lock:
            return plays.popleft() if plays else otherwise


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is part of the play."""


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            server.requests.append(request)
            try:
                server.play(Exchange(request, self, server))
            except OSError:
                self.close_connection = True

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on stderr."""

    return Handler


def closed_port() -> int:
    """A port on loopback where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
