"""The built-in demo model: answers when no model is configured, speaking the real protocol.

It is a transport for the official client, so the code path is that of a real server: chat (streamed and whole) and the
model list. Which task it is set, in which language and for whom, the request's ``metadata`` tells; of the prompt it
reads only the fenced records. It knows nothing and pretends nothing: it says what it is, quotes the one sentence of its
memories that shares most words with the input, extracts what was stated where a summary is asked for, notes each of the
person's statements as said, word for word, and adds what was noted to the personas; a question is its own plan, and
that one sentence its answer. It never takes its own phrases for anybody's words. The same request always gets the same
answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2

from domain.patterns import pattern_of
from language.forget_requests import detect_forget_request
from prompts import TEMPLATES

_Record = TypeVar("_Record")

MODEL = "demo"
_CHUNK = 12
_MOST_SENTENCES = 40
_LONGEST_SENTENCE = 300
#: Shorter statements ("Yes.", "好的。") say nothing once they stand alone.
_SHORTEST_SENTENCE = 6
_CJK = pattern_of("[\u3400-\u9fff]")
#: A sentence ends at its mark and what closes after it; a full stop only before a space, and not after a title.
_SENTENCE = pattern_of(
    r".+?(?:[。！？…]+[”’\"'」』）)]*"
    r"|(?<!\bMr)(?<!\bDr)(?<!\bSt)(?<!\bMs)(?<!\bMrs)[.!?]+[”’\"')]*(?=\s|$)|$)",
    re.MULTILINE,
)
_ENDED = pattern_of(r"[.!?。！？…][”’\"'」』）)]*$")
_QUESTION = pattern_of(r"[?？][”’\"'」』）)!！]*$")
#: The mark of a day, before the words that were said on it.
_DAY = pattern_of(r"\A\[[^\[\]\n]*\d{4}-\d{2}-\d{2}[^\[\]\n]*\]\n")
_DATE = pattern_of(r"\d{4}-\d{2}-\d{2}")
_ATTRIBUTED = pattern_of(r"(\d{4}-\d{2}-\d{2}) (.{1,80}?)(?: said: |说：)(.+)")
_OF_THE_OTHER = pattern_of(r"\b(?:you|your|yours|yourself)\b|[你您]", re.IGNORECASE)
#: Marks of quotation inside of what is quoted.
_INNER_MARKS = str.maketrans('“”"', "‘’'")
_COMMON_WORDS = frozenset(
    """
    the and for are was were you your that this with what who how when where why does did have has had not but
    can will would should about from they them his her our there here which please tell remember know
    什么 怎么 我们 你们 他们 这个 那个 可以 没有 不是 就是 还是 一个 知道 记得 现在 今天 时候
    """.split()  # noqa: SIM905 - words are read more easily than a list of strings
)


@dataclass(frozen=True)
class _Words:
    """What the demo model says in one language."""

    remembered: str
    """date, text"""
    unconnected: str
    plain: str
    """text, stop: what ends a sentence, where the text does not end with it"""
    stop: str
    said: str
    """speaker, sentence"""
    attribute: str
    """Of what a statement is the value."""


_EN = _Words(
    "I remember this from {date}:\n<blockquote>{text}</blockquote>",
    "I am only the built-in demo model; no model is connected yet.",
    "You said: “{text}{stop}” I will remember it. I am only the built-in demo model: no model is connected, "
    "so I cannot really answer.",
    ".",
    "{speaker} said: “{sentence}”",
    "said",
)
_ZH = _Words(
    "我记得 {date} 说过的话：\n<blockquote>{text}</blockquote>",
    "我只是内置的演示模型，还没有接上模型。",
    "你说：“{text}{stop}”我会记住。我只是内置的演示模型，还没有接上模型，不能真正回答。",
    "。",
    "{speaker}说：“{sentence}”",
    "说过的话",
)


class DemoModel(httpx2.BaseTransport):
    """Takes the place of the network."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request answered."""
        path = request.url.path.rstrip("/")
        body = json.loads(request.read() or b"{}")
        if path.endswith("/models"):
            return httpx2.Response(200, json={"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        if not path.endswith("/chat/completions"):
            return httpx2.Response(404, json={"error": {"message": "The demo model has no such path."}})
        messages = [(str(one.get("role")), str(one.get("content"))) for one in body.get("messages", [])]
        metadata = body.get("metadata")
        text = reply_to(messages, metadata if isinstance(metadata, dict) else {})
        return answer_with(text, body, MODEL)


def answer_with(text: str, body: Mapping[str, Any], model: str) -> httpx2.Response:
    """The response to a chat request: whole, or as a stream where that is asked for."""
    sent = sum(_count_tokens(str(one.get("content"))) for one in body.get("messages", []))
    usage = {
        "prompt_tokens": sent,
        "completion_tokens": (written := _count_tokens(text)),
        "total_tokens": sent + written,
    }
    if body.get("stream"):
        data = [*(json.dumps(event, ensure_ascii=False) for event in _stream_events(text, usage, model)), "[DONE]"]
        events = "".join(f"data: {one}\n\n" for one in data)
        return httpx2.Response(200, text=events, headers={"Content-Type": "text/event-stream"})
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    whole = {"object": "chat.completion", "model": model, "choices": [choice], "usage": usage}
    return httpx2.Response(200, json=whole)


# -- chat


def _count_tokens(text: str) -> int:
    """About as many tokens as a model would count: one for a Chinese character, one for three other letters."""
    chinese = len(_CJK.findall(text))
    return chinese + (len(text) - chinese + 2) // 3


def _stream_events(text: str, usage: dict[str, int], model: str) -> Iterator[dict[str, Any]]:
    about = {"object": "chat.completion.chunk", "model": model}
    for start in range(0, len(text), _CHUNK):
        yield {**about, "choices": [{"index": 0, "delta": {"content": text[start : start + _CHUNK]}}]}
    yield {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield {**about, "choices": [], "usage": usage}


def reply_to(messages: Sequence[tuple[str, str]], about: Mapping[str, str]) -> str:
    """What the demo model says to a prompt of (role, content) pairs; ``about`` is the request's metadata."""
    task = about.get("task", "")
    if not task:
        return _reply_in_chat(messages, about.get("companion", ""))
    records = _read_material(messages[-1][1], dict) if messages else []
    words = _ZH if about.get("language") == "zh" else _EN
    match task:
        case "plan" | "reflect" | "answer":
            fields, *found = records or [{}]
            return _reply_to_search(task, str(fields.get("question", "")), found, about)
        case "fold":
            return _write_summary(next(iter(records), {}), about)
        case "notes":
            answer = {"notes": list(_extract_notes(_read_material(messages[-1][1], str), about, words))}
        case "compare":
            answer = {"verdicts": []}
        case _:
            answer = {"operations": list(_make_operations(records))}
    return json.dumps(answer, ensure_ascii=False)


def _reply_in_chat(messages: Sequence[tuple[str, str]], companion: str) -> str:
    """A sentence that was said once where one fits, else a plain word about what this is."""
    lines = messages[-1][1].split("\n") if messages else []
    _, fence = _find_fence(lines)
    said = _DAY.sub("", "\n".join(lines[fence + 1 :] if fence else lines).strip())
    memories = [memory for role, content in messages if role == "user" for memory in _read_material(content, dict)]
    found = _find_nearest(said, [one for memory in memories for one in _read_statements(memory)], companion)
    words = _ZH if _CJK.search(said) else _EN
    if (asked := detect_forget_request(said)) and asked.hides:
        return words.unconnected
    if found is None:
        text = " ".join(said.split())
        text = text if len(text) <= _LONGEST_SENTENCE else text[: _LONGEST_SENTENCE - 1] + "…"
        return words.plain.format(text=text, stop="" if _ENDED.search(text) else words.stop)
    return f"{words.remembered.format(date=found.date, text=found.sentence)}\n{words.unconnected}"


@dataclass(frozen=True)
class _Statement:
    """One sentence, when it was said and by whom."""

    date: str
    speaker: str
    sentence: str


def _read_statements(memory: dict[str, Any]) -> Iterator[_Statement]:
    """The sentences of one record; a summary of the demo model's own making tells who said each."""
    found = _DATE.search(str(memory.get("when", "")))
    date = found[0] if found else ""
    said = [("", str(memory.get("summary", "")))]
    said += [one for message in memory.get("said", ()) if isinstance(message, dict) for one in message.items()]
    for speaker, line in ((speaker, line) for speaker, text in said if not _is_own(text) for line in text.splitlines()):
        if found := _ATTRIBUTED.fullmatch(line):
            yield _Statement(found[1], found[2], found[3])
        else:
            yield from (_Statement(date, speaker, one) for one in _split_sentences(line))


def _find_nearest(said: str, statements: Sequence[_Statement], companion: str) -> _Statement | None:
    """The sentence that shares most words with the input; of equals one of the person's own, then the latest.

    None where no sentence shares any.
    """
    words = _words_in(said)
    best, most = None, (1, False)
    for one in statements:
        fit = (len(words & _words_in(one.sentence)), one.speaker not in ("", companion))
        if fit >= most and one.sentence != said:
            best, most = one, fit
    return best


def _words_in(text: str) -> set[str]:
    """Words of three letters or more, and pairs of Chinese characters, without the common ones."""
    pairs = {run[at : at + 2] for run in re.findall("[\u3400-\u9fff]+", text) for at in range(len(run) - 1)}
    return ({word.lower() for word in re.findall(r"[A-Za-z0-9]{3,}", text)} | pairs) - _COMMON_WORDS


# -- the tasks


def _write_summary(fields: Mapping[str, Any], about: Mapping[str, str]) -> str:
    """The summary so far and, line by line, who said what; the oldest lines go when it grows too long."""
    lines = [line for line in str(fields.get("summary_so_far", "")).splitlines() if line.strip("- ")]
    form = "{date} {speaker}说：{sentence}" if about.get("language") == "zh" else "{date} {speaker} said: {sentence}"
    for one in fields.get("rounds", []):
        date, speaker, text = (str(one.get(name, "")) for name in ("date", "speaker", "text"))
        if not _is_own(text):
            stated = [sentence for sentence in _split_sentences(text) if len(sentence) >= _SHORTEST_SENTENCE]
            lines += [form.format(date=date[:10], speaker=speaker, sentence=sentence) for sentence in stated[:3]]
    return "\n".join(list(dict.fromkeys(lines))[-_MOST_SENTENCES:]) or "-"


def _split_sentences(text: str) -> list[str]:
    """The statements of a text, whole: no questions. One that is too long is left out rather than cut."""
    found = [sentence.strip() for line in text.splitlines() for sentence in _SENTENCE.findall(line)]
    return [one for one in found if one and len(one) <= _LONGEST_SENTENCE and not _QUESTION.search(one)]


def _is_own(text: str) -> bool:
    return "built-in demo model" in text or "内置的演示模型" in text


def _extract_notes(lines: Sequence[str], about: Mapping[str, str], words: _Words) -> Iterator[object]:
    person, companion = about.get("person", ""), about.get("companion", "")
    own = filter(None, (re.match(rf"(\d+) {re.escape(person)}: (.*)", line, re.DOTALL) for line in lines))
    sentences = [([int(one[1])], sentence) for one in own for sentence in _split_sentences(one[2])]
    for messages, sentence in sentences:
        if len(sentence) < _SHORTEST_SENTENCE:
            continue
        said = words.said.format(speaker=person, sentence=sentence.translate(_INNER_MARKS))
        of_the_other = bool(_OF_THE_OTHER.search(sentence))
        slot = {
            "subject": companion if of_the_other else person,
            "attribute": words.attribute,
            "value": sentence,
            "about": "companion" if of_the_other else "person",
        }
        yield {"turns": messages, "text": said, "facts": [{"turns": messages, "restatement": said, **slot}]}


def _make_operations(records: Sequence[Mapping[str, Any]]) -> Iterator[object]:
    """A new line for every fact that is in none."""
    lines = [str(one.get("text", "")) for one in records if "line" in one]
    for one in (one for one in records if "fact" in one):
        fact = str(one.get("text", ""))
        if not any(fact in line for line in lines):
            yield {"facts": [one["fact"]], "operation": "add", "text": fact, "date": one.get("said", "")}


def _reply_to_search(task: str, question: str, records: Sequence[dict[str, Any]], about: Mapping[str, str]) -> str:
    """A question is its own plan, whatever was found is enough, and the best sentence of it is the answer."""
    if task == "plan":
        return json.dumps({"needs": [question], "queries": [question]}, ensure_ascii=False)
    if task == "reflect":
        return json.dumps({"enough": True})
    statements = [one for record in records for one in _read_statements(record)]
    found = _find_nearest(question, statements, about.get("companion", ""))
    if found is None:
        return TEMPLATES["zh" if about.get("language") == "zh" else "en"].unknown
    words = _ZH if about.get("language") == "zh" else _EN
    return words.remembered.format(date=found.date, text=found.sentence)


# -- reading a prompt


def _read_material(content: str, kind: type[_Record]) -> list[_Record]:
    lines = content.split("\n")
    begin, end = _find_fence(lines)
    found = []
    for line in lines[begin + 1 : end]:
        with suppress(ValueError):
            found.append(json.loads(line))
    return [one for one in found if isinstance(one, kind)]


def _find_fence(lines: Sequence[str]) -> tuple[int, int]:
    """The places of the first two equal lines with JSON between them; (0, 0) if there are none."""
    seen: dict[str, int] = {}
    for place, line in enumerate(lines):
        if line in seen and lines[seen[line] + 1].startswith("{"):
            return seen[line], place
        if line.strip() and not line.startswith(("{", '"')):
            seen.setdefault(line, place)
    return 0, 0
