"""Reading what a chat server sent: streamed or whole, in the forms that OpenAI-compatible servers use.

The client library takes almost anything for a reply; this reader takes only what is one. It raises the
errors of ``errors.py``, and believes nothing about types.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from domain import errors
from models import fault_table, faults, sse


@dataclass(frozen=True, slots=True)
class Part:
    """What one event, or one whole answer, brings. ``alive`` alone: a comment that keeps the connection
    open."""

    text: str = ""
    reasoning: str = ""
    finish: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    done: bool = False


ALIVE = Part()


def parts(chunks: Iterable[bytes]) -> Iterator[Part]:
    """The parts of an answer, in whichever form its first byte announces.

    Raises ModelError: HTML, malformed JSON, an error in place of a reply.
    """
    start, rest = _first_words(iter(chunks))
    if start.startswith(b"<"):
        raise errors.BadReply(
            "model.html_reply", said=faults.failure_of(start[:4_000].decode("utf-8", "replace")).said
        )
    if start.startswith((b"{", b"[", b'"')):
        yield from _whole(chain([start], rest))
    else:
        yield from _streamed(chain([start], rest))


def finish_of(reason: str) -> str:
    """A finish reason in our words: ``stop`` or ``length``.

    Raises ContentFiltered or ServerFault for the reasons that are no end of a reply.
    """
    word = reason.lower()
    if word in ("length", "max_tokens", "model_length", "max_output_tokens"):
        return "length"
    if word in ("content_filter", "safety", "sensitive", "prohibited_content", "refusal", "blocklist"):
        raise errors.ContentFiltered(said=reason)
    if word in ("error", "network_error", "insufficient_system_resource", "abort"):
        raise errors.ServerFault(said=reason)
    return "stop"


def _first_words(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The beginning of an answer without white space or byte order mark, and what follows it."""
    for chunk in chunks:
        start = chunk.lstrip(b"\xef\xbb\xbf \t\r\n")
        if start:
            return start, chunks
    return b"", chunks


def _streamed(chunks: Iterable[bytes]) -> Iterator[Part]:
    for event in sse.events(chunks):
        if event.data is None:
            yield ALIVE
            continue
        for body in _bodies(event.data):
            yield _part(body, event.name, "delta")


def _bodies(data: str) -> list[Any]:
    """The JSON of one event; of several, where a server forgot the empty lines between them."""
    try:
        return [_json(data)]
    except errors.BadReply:
        if "\n" not in data:
            raise
        return [_json(line) for line in data.split("\n") if line]


def _whole(chunks: Iterable[bytes]) -> Iterator[Part]:
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size > sse.MAX_BYTES:
            raise errors.BadReply("model.too_large", limit=sse.MAX_BYTES)
    body = _json(b"".join(held).decode("utf-8", "replace"))
    if not faults.is_error(body) and not _choices(body):
        raise errors.BadReply("model.empty_reply")
    yield _part(body, "", "message")
    yield Part(done=True)


def _json(data: str) -> Any:
    if data.strip() == "[DONE]":
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise errors.BadReply(
            "model.malformed_reply", said=f"{type(fault).__name__}: {data[:200]}"
        ) from fault


def _part(body: Any, name: str, holder: str) -> Part:
    """One JSON object as a part; the error it hides, if it hides one."""
    if body is None:
        return Part(done=True)
    if not isinstance(body, Mapping):
        raise errors.BadReply("model.malformed_reply", said=repr(body)[:200])
    if faults.is_error(body, name):
        raise fault_table.error_of(faults.failure_of(body))
    choices = _choices(body)
    choice = choices[0] if choices else {}
    said = choice.get(holder) or choice.get("message") or choice.get("delta") or {}
    if not isinstance(said, Mapping):
        raise errors.BadReply("model.malformed_reply", said=repr(said)[:200])
    text, reasoning = _content(said.get("content"))
    usage = body.get("usage") if isinstance(body.get("usage"), Mapping) else {}
    return Part(
        text=text + _string(said.get("refusal")),
        reasoning=(_string(said.get("reasoning_content")) or _string(said.get("reasoning"))) + reasoning,
        finish=_string(choice.get("finish_reason")),
        model=_string(body.get("model")),
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
    )


def _choices(body: Any) -> list[Mapping[str, Any]]:
    """The choices that belong to the one reply that was asked for."""
    found = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(found, list):
        return []
    return [choice for choice in found if isinstance(choice, Mapping) and not choice.get("index")]


def _content(content: object) -> tuple[str, str]:
    """Text and reasoning of a ``content``, which is a string or a list of typed pieces."""
    if not isinstance(content, list):
        return _string(content), ""
    text, reasoning = [], []
    for piece in content:
        if isinstance(piece, Mapping) and piece.get("type") == "thinking":
            reasoning.append("".join(_content(piece.get("thinking"))))
        elif isinstance(piece, Mapping):
            text.append(_string(piece.get("text")))
    return "".join(text), "".join(reasoning)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
