"""The built-in stand-in: answers when no model is configured, speaking the real protocol.

It is a transport for the official client, so the code path is that of a real server: chat (streamed and
whole), embeddings, the model list. It knows nothing and pretends nothing: it says what it is, quotes a
recalled memory that shares words with the input, extracts sentences where a summary is asked for, and
appends what was stated where an image is. The same request always gets the same answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from prompts import TASK_MARKS

MODEL = "stand-in"
_CHUNK = 12
_MOST_SENTENCES = 40
_LONGEST_SENTENCE = 300
_LONGEST_QUOTATION = 600
_CJK = re.compile("[\u3400-\u9fff]")
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_COMMON_WORDS = """
the and for are was were you your that this with what who how when where why does did have has had not but
can will would should about from they them his her our there here which please tell remember know
什么 怎么 我们 你们 他们 这个 那个 可以 没有 不是 就是 还是 一个 知道 记得 现在 今天 时候
"""


@dataclass(frozen=True)
class _Words:
    """What the stand-in says in one language."""

    remembered: str
    """date, text"""
    plain: str
    """text"""


_EN = _Words(
    "I remember this from {date}:\n<blockquote>{text}</blockquote>\n"
    "I am only the built-in stand-in; no model is connected yet.",
    "You said: “{text}” I will remember it. I am only the built-in stand-in: no model is connected, "
    "so I cannot really answer.",
)
_ZH = _Words(
    "我记得 {date} 说过的话：\n<blockquote>{text}</blockquote>\n我只是内置的替身，还没有接上模型。",
    "你说：“{text}”。我会记住。我只是内置的替身，还没有接上模型，不能真正回答。",
)


class StandIn(httpx2.BaseTransport):
    """Takes the place of the network."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request answered."""
        path = request.url.path.rstrip("/")
        body = json.loads(request.read() or b"{}")
        if path.endswith("/models"):
            return _answer({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        if path.endswith("/embeddings"):
            return _answer(_embeddings(body))
        if path.endswith("/chat/completions"):
            return _chat(body)
        return _answer({"error": {"message": "The stand-in has no such path."}}, 404)


def _answer(body: Any, status: int = 200) -> httpx2.Response:
    return httpx2.Response(status, json=body)


# --- chat
# -------------------------------------------------------------------------------------------------------


def _chat(body: dict[str, Any]) -> httpx2.Response:
    messages = [(str(one.get("role")), str(one.get("content"))) for one in body.get("messages", [])]
    text = reply_to(messages)
    usage = {
        "prompt_tokens": sum(len(content) for _, content in messages),
        "completion_tokens": len(text),
        "total_tokens": len(text) + sum(len(content) for _, content in messages),
    }
    if body.get("stream"):
        events = "".join(
            f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in _events(text, usage)
        )
        return httpx2.Response(
            200, text=events + "data: [DONE]\n\n", headers={"Content-Type": "text/event-stream"}
        )
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return _answer({"object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage})


def _events(text: str, usage: dict[str, int]) -> Iterator[dict[str, Any]]:
    about = {"object": "chat.completion.chunk", "model": MODEL}
    for start in range(0, len(text), _CHUNK):
        yield {**about, "choices": [{"index": 0, "delta": {"content": text[start : start + _CHUNK]}}]}
    yield {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield {**about, "choices": [], "usage": usage}


def reply_to(messages: Sequence[tuple[str, str]]) -> str:
    """What the stand-in says to a prompt of (role, content) pairs."""
    system = "\n".join(content for role, content in messages if role == "system")
    asked = messages[-1][1] if messages else ""
    for task, marks in TASK_MARKS.items():
        if system.startswith(marks):
            return _summary(_fenced(asked)) if task == "fold" else _image(_fenced(asked))
    return _talk(messages)


def _talk(messages: Sequence[tuple[str, str]]) -> str:
    """A memory where one fits, else a plain word about what this is."""
    said = _without_fence(messages[-1][1]).strip() if messages else ""
    memories = [memory for role, content in messages if role == "user" for memory in _fenced(content)]
    found = _nearest(said, [memory for memory in memories if not _own(str(memory.get("text", "")))])
    chinese = bool(_CJK.search(said))
    if found is None:
        return _plain(said, chinese)
    words = _ZH if chinese else _EN
    return words.remembered.format(
        date=found.get("date", ""), text=str(found.get("text", ""))[:_LONGEST_QUOTATION]
    )


def _plain(said: str, chinese: bool) -> str:
    words = _ZH if chinese else _EN
    return words.plain.format(text=_shortened(" ".join(said.split())))


def _nearest(said: str, memories: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The memory that shares most words with the input; the later one of equals; None if none shares any."""
    words = _words(said)
    best, most = None, 0
    for memory in memories:
        shared = len(words & _words(str(memory.get("text", ""))))
        if shared >= max(most, 1):
            best, most = memory, shared
    return best


def _words(text: str) -> set[str]:
    """Words of three letters or more, and pairs of Chinese characters, without the common ones."""
    pairs = {run[at : at + 2] for run in re.findall("[\u3400-\u9fff]+", text) for at in range(len(run) - 1)}
    return ({word.lower() for word in re.findall(r"[A-Za-z0-9]{3,}", text)} | pairs) - set(
        _COMMON_WORDS.split()
    )


# --- the three tasks
# --------------------------------------------------------------------------------------------


def _summary(material: Sequence[dict[str, Any]]) -> str:
    """The summary so far and, line by line, who said what; the oldest lines go when it grows too long."""
    fields = material[0] if material else {}
    lines = [line for line in str(fields.get("summary_so_far", "")).splitlines() if line.strip()]
    for one in fields.get("rounds", []):
        for sentence in _sentences(str(one.get("text", ""))):
            lines.append(_attributed(str(one.get("date", ""))[:10], str(one.get("speaker", "")), sentence))
    kept = list(dict.fromkeys(lines))[-_MOST_SENTENCES:]
    return "\n".join(kept) or "-"


def _attributed(date: str, speaker: str, sentence: str) -> str:
    if _CJK.search(sentence):
        return f"{date} {speaker}说：{sentence}"
    return f"{date} {speaker} said: {sentence}"


def _sentences(text: str) -> list[str]:
    """The statements of a turn: no questions, no single words, at most three."""
    found = [sentence.strip() for sentence in _SENTENCE.findall(text)]
    stated = [one for one in found if len(one) >= 6 and not one.endswith(("?", "？")) and not _own(one)]
    return [_shortened(one) for one in stated[:3]]


def _own(text: str) -> bool:
    """Whether a text is the stand-in's own, which is worth neither keeping nor quoting."""
    return "built-in stand-in" in text or "内置的替身" in text


def _image(material: Sequence[dict[str, Any]]) -> str:
    """The image as it is, and below it what the summary stated and the image does not have yet."""
    fields = material[0] if material else {}
    lines = [line for line in str(fields.get("present_image", "")).splitlines() if line.strip()]
    new = [line for line in str(fields.get("summary_of_the_conversation", "")).splitlines() if line.strip()]
    return "\n".join(dict.fromkeys([*lines, *new])) or "-"


# --- reading a prompt
# -------------------------------------------------------------------------------------------


def _fenced(content: str) -> list[dict[str, Any]]:
    """The JSON records between two equal lines."""
    lines = content.split("\n")
    begin, end = _fence(lines)
    found = []
    for line in lines[begin + 1 : end]:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _without_fence(content: str) -> str:
    """What stands after the fenced memories."""
    lines = content.split("\n")
    _, end = _fence(lines)
    return "\n".join(lines[end + 1 :]) if end else content


def _fence(lines: Sequence[str]) -> tuple[int, int]:
    """The places of the first two equal lines with JSON between them; (0, 0) if there are none."""
    seen: dict[str, int] = {}
    for place, line in enumerate(lines):
        if line in seen and lines[seen[line] + 1].startswith("{"):
            return seen[line], place
        if line.strip() and not line.startswith("{"):
            seen.setdefault(line, place)
    return 0, 0


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SENTENCE else text[: _LONGEST_SENTENCE - 1] + "…"


# --- embeddings
# -------------------------------------------------------------------------------------------------


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    from embedder import BuiltIn

    given = body.get("input", [])
    texts = [given] if isinstance(given, str) else [str(text) for text in given]
    rows = [
        {"object": "embedding", "index": index, "embedding": [] if vector is None else vector.tolist()}
        for index, vector in enumerate(BuiltIn().embed(texts))
    ]
    return {"object": "list", "data": rows, "model": MODEL, "usage": {"prompt_tokens": 0, "total_tokens": 0}}
