"""What came of a reply: read from the client library's chunks, repaired, parted from the model's thinking, judged.

The library takes almost anything for a reply; this reader takes only what is one, and believes nothing about types.
Repair and parting work on a stream in chunks, hold back only what could still become something else, and are linear
in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from domain import errors
from domain import text as texts
from domain.events import ReasoningDelta, Reply, ReplyEvent, TextDelta
from domain.patterns import pattern_of
from domain.quotations import without_quotations
from domain.records import Finish
from models import provider_errors

#: The longest reply that is taken, thinking included, in characters; a longer one is cut there.
MAX_REPLY = 4_000_000
#: The longest summary that is taken, in characters: it is part of every prompt.
_LONGEST_SUMMARY = 40_000
_SENTENCE_END = pattern_of(r"[.!?。！？…\n](?=\s|$)|[。！？…]")
_CODE_FENCE = pattern_of(r"\A```[a-z]{0,20}\n(.*)\n```\Z", re.DOTALL)
#: Fields by which a server tells of an error in place of a reply.
_OF_AN_ERROR = ("object", "error", "detail", "code", "type", "message")


@dataclass(frozen=True, slots=True)
class Part:
    """What one chunk of a stream, or one whole answer, brings."""

    text: str = ""
    reasoning: str = ""
    finish: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def part_of(chunk: Any) -> Part:
    """What a chunk, or a whole completion, of the client library brings.

    Raises ModelError for one that is none, or an error.
    """
    if not hasattr(chunk, "choices"):
        raise errors.BadReply("model.malformed_reply", said=repr(chunk)[:200])
    choices = chunk.choices if isinstance(chunk.choices, list) else []
    choice = next((one for one in choices if not field_of(one, "index")), None)
    if choice is None and not chunk.usage:
        body = {name: value for name in _OF_AN_ERROR if (value := getattr(chunk, name, None))}
        if provider_errors.is_error(body):
            raise provider_errors.error_of(provider_errors.read_failure(body))
    said = field_of(choice, "delta") or field_of(choice, "message")
    text, reasoning = _split_content(field_of(said, "content"))
    usage = chunk.usage
    thought = _as_string(field_of(said, "reasoning_content")) or _as_string(field_of(said, "reasoning"))
    return Part(
        text=text + _as_string(field_of(said, "refusal")),
        reasoning=thought + reasoning,
        finish=_as_string(field_of(choice, "finish_reason")),
        model=_as_string(chunk.model),
        prompt_tokens=_as_count(field_of(usage, "prompt_tokens")),
        completion_tokens=_as_count(field_of(usage, "completion_tokens")),
    )


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


def field_of(holder: object, name: str) -> Any:
    """A field of what may be a typed object, a mapping, or nothing of the kind."""
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _split_content(content: object) -> tuple[str, str]:
    """Text and reasoning of a ``content``, which is a string or a list of typed pieces."""
    if not isinstance(content, list):
        return _as_string(content), ""
    text, reasoning = [], []
    for piece in content:
        if isinstance(piece, Mapping) and piece.get("type") == "thinking":
            reasoning.append("".join(_split_content(piece.get("thinking"))))
        elif isinstance(piece, Mapping):
            text.append(_as_string(piece.get("text")))
    return "".join(text), "".join(reasoning)


def _as_string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _as_count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class CollectedReply:
    """What came so far of one reply."""

    def __init__(self, limit: int = MAX_REPLY) -> None:
        self.finish = ""
        #: Prompt tokens as the server counted them.
        self.prompt_tokens: int | None = None
        self._completion_tokens: int | None = None
        self._model = ""
        self._room = limit
        self._text_repair = Repair()
        self._reasoning_repair = Repair()
        self._thinking = ThinkingSplitter()
        self._text: list[str] = []
        self._reasoned: list[str] = []

    @property
    def text(self) -> str:
        """The reply's own words so far."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        """The thinking so far."""
        return "".join(self._reasoned)

    @property
    def is_full(self) -> bool:
        """Whether nothing more is taken."""
        return self._room <= 0

    def add_part(self, part: Part) -> list[TextDelta | ReasoningDelta]:
        """Add a part; what of it can be shown.

        Raises ContentFiltered or ServerFault for a finish reason that is no end of a reply.
        """
        self._model = part.model or self._model
        self.prompt_tokens = part.prompt_tokens if part.prompt_tokens is not None else self.prompt_tokens
        self._completion_tokens = part.completion_tokens or self._completion_tokens
        thought, words = self._thinking.feed(self._text_repair.feed(part.text))
        shown = self._show_text(self._reasoning_repair.feed(part.reasoning) + thought, words)
        if part.finish:
            self.finish = finish_of(part.finish)
        return shown

    def flush_text(self) -> list[TextDelta | ReasoningDelta]:
        """What was kept back, now that nothing more comes."""
        thought, words = self._thinking.feed(self._text_repair.finish())
        last_thought, last_words = self._thinking.finish()
        return self._show_text(self._reasoning_repair.finish() + thought + last_thought, words + last_words)

    def make_reply(self, finish: Finish | None, model: str, seconds: float, truncated: bool) -> Reply:
        """The reply, if it is one. ``finish`` overrules what the server said.

        Raises BadReply for one that did not end, or that says nothing; Interrupted for one that was stopped
        before it said anything.
        """
        how: Finish | None = finish or ("length" if self.is_full or self.finish == "length" else None)
        if how is None and not self.finish:
            raise errors.BadReply("model.cut_reply")
        text = without_stray_thinking(self.text).strip()
        if not text and finish == "interrupted":
            raise errors.Interrupted()
        if not text:
            raise errors.BadReply("model.only_thinking" if self._reasoned else "model.empty_reply")
        return Reply(
            text, how or "stop", self._model or model, self.prompt_tokens, self._completion_tokens, seconds, truncated
        )

    def _show_text(self, reasoning: str, text: str) -> list[TextDelta | ReasoningDelta]:
        shown: list[TextDelta | ReasoningDelta] = []
        if reasoning := reasoning[: max(0, self._room)]:
            self._room -= len(reasoning)
            self._reasoned.append(reasoning)
            shown.append(ReasoningDelta(reasoning))
        if text := text[: max(0, self._room)]:
            self._room -= len(text)
            self._text.append(text)
            shown.append(TextDelta(text))
        return shown


_HALVES = pattern_of("[\ud800-\udfff]")
_HIGH = range(0xD800, 0xDC00)


class Repair:
    """Text that any store and any terminal can take: no NUL, no control characters, no lone surrogates.

    The two halves of one character, sent in two chunks, become that character again; so do the two halves of
    a line end.

    >>> repair = Repair()
    >>> repair.feed("a\\ud83d") + repair.feed("\\ude00\\x00") + repair.finish()
    'a😀'
    """

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, chunk: str, *, last: bool = False) -> str:
        """The text that is certain now."""
        whole = self._pending + chunk
        half = bool(whole) and not last and (whole[-1] == "\r" or ord(whole[-1]) in _HIGH)
        self._pending = whole[-1] if half else ""
        text = whole[:-1] if half else whole
        if _HALVES.search(text):
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return texts.clean_text(text)

    def finish(self) -> str:
        """What was kept back."""
        return self.feed("", last=True)


_OPENING = pattern_of(r"\s*<(think|thinking)>", re.IGNORECASE)
_LONGEST_OPENING = len("<thinking>")
#: A closing tag alone on its line: some servers put the opening one into the prompt, and it never comes back.
_STRAY_CLOSING = pattern_of(r"(?:^|\n)[ \t]*</(?:think|thinking)>[ \t]*(?:\n|$)", re.IGNORECASE)


class ThinkingSplitter:
    """Parts ``<think> ... </think>`` at the beginning of a reply from the reply itself.

    Later tags are the reply's own words. White space before the reply's first word goes.

    >>> splitter = ThinkingSplitter()
    >>> splitter.feed("<thi"), splitter.feed("nk>hm</think>\\n\\nHello")
    (('', ''), ('hm', 'Hello'))
    """

    def __init__(self) -> None:
        self._pending = ""
        #: The name of the tag that is open.
        self._tag = ""
        self._replying = False

    def feed(self, chunk: str) -> tuple[str, str]:
        """The thinking and the reply in this chunk."""
        if self._replying:
            return "", chunk
        text, self._pending = self._pending + chunk, ""
        thoughts: list[str] = []
        at = 0
        opening = None if self._tag else _OPENING.match(text)
        while self._tag or opening:
            if opening:
                self._tag, at = opening[1], opening.end()
            closing = re.compile(f"</{self._tag}>", re.IGNORECASE).search(text, at)
            if not closing:
                tag = text.rfind("<", max(at, len(text) - _LONGEST_OPENING))
                self._pending = text[tag:] if tag >= 0 else ""
                return "".join((*thoughts, text[at : len(text) - len(self._pending)])), ""
            thoughts.append(text[at : closing.start()])
            self._tag, at = "", closing.end()
            opening = _OPENING.match(text, at)
        text = text[at:].lstrip()
        # The first words of the reply, unless they may still become an opening tag.
        if "<thinking>".startswith(text[:_LONGEST_OPENING].lower()):
            self._pending = text
            return "".join(thoughts), ""
        self._replying = True
        return "".join(thoughts), text

    def finish(self) -> tuple[str, str]:
        """What was kept back: the beginning of a tag that never came."""
        rest, self._pending = self._pending, ""
        return (rest, "") if self._tag else ("", rest)


def without_stray_thinking(text: str) -> str:
    """A whole reply without thinking that ended in a closing tag but had no opening one."""
    stray = list(_STRAY_CLOSING.finditer(text))
    return text[stray[-1].end() :].lstrip() if stray and "<think" not in text.lower() else text


def summary_of(events: Iterable[ReplyEvent]) -> str:
    """The summary in a reply; one that was cut, or goes on without end, loses its half sentence.

    Raises ModelError, BadReply when nothing is left, or Interrupted when the person stopped it.
    """
    reply = next(event for event in events if isinstance(event, Reply))
    if reply.finish == "interrupted":
        raise errors.Interrupted()
    text = without_quotations(reply.text).strip()
    fenced = _CODE_FENCE.match(text)
    text = texts.make_harmless(fenced[1] if fenced else text)
    if not text:
        raise errors.BadReply("model.empty_reply")
    if reply.finish == "length" or len(text) > _LONGEST_SUMMARY:
        text = text[:_LONGEST_SUMMARY]
        ends = [found.end() for found in _SENTENCE_END.finditer(text)]
        text = text[: ends[-1]].strip() if ends else text
    return text


def answer_of(events: Iterable[ReplyEvent]) -> str:
    """What a reply that is to be read by the program says, as it came; a cut one as far as it goes.

    Some servers put the answer of a model that thinks into its thinking and leave the reply empty: then that is it.
    Raises ModelError, or Interrupted when the person stopped it.
    """
    came: list[ReplyEvent] = []
    try:
        came.extend(events)
    except errors.BadReply as fault:
        thought = "".join(one.text for one in came if isinstance(one, ReasoningDelta))
        if fault.key != "model.only_thinking" or "{" not in thought:
            raise
        return thought.strip()
    reply = next((one for one in came if isinstance(one, Reply)), None)
    if reply is None:
        raise errors.BadReply("model.empty_reply")
    if reply.finish == "interrupted":
        raise errors.Interrupted()
    return reply.text
