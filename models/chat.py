"""Chat calls through the official client, with our own checks and retries.

Guarantees: a blocking call is aborted as soon as its ``CancelToken`` is set in any thread; a reply is complete or an
error; a call is retried only if nothing of it was shown.

The library accepts almost anything as a reply; ``part_of`` and ``CollectedReply`` accept only what is one, and rely on
no type. ``Repair`` and ``ThinkingSplitter`` work on a stream in chunks, keep back only what could still become
something else, and are linear in the text.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal

from domain import errors
from domain import text as texts
from domain.events import Notice, ReasoningDelta, Reply, ReplyEvent, Retrying, StreamEvent, TextDelta
from domain.patterns import pattern_of
from domain.quotations import without_quotations
from domain.records import Finish
from domain.text import one_line
from domain.workers import CancelToken
from language import scripts as languages
from models import provider_errors
from models.client import Client, Line

#: Seconds between two saves of a reply that is still streaming.
_KEEP_PARTIAL_EVERY = 0.5
#: The longest prompt that is sent, in characters.
MAX_PROMPT = 4_000_000
#: The longest model list that is read.
_MOST_NAMES = 5_000


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


def merge_messages(messages: Iterable[PromptMessage]) -> tuple[PromptMessage, ...]:
    """The messages without empty ones and with neighbours of one role joined.

    Strict chat templates refuse a prompt whose roles do not alternate.
    """
    found: list[PromptMessage] = []
    for message in messages:
        if found and message.content.strip() and found[-1].role == message.role:
            found[-1] = PromptMessage(message.role, f"{found[-1].content}\n\n{message.content}")
        elif message.content.strip():
            found.append(message)
    return tuple(found)


@dataclass(frozen=True)
class Patience:
    """How a failed call is tried again.

    ``tries`` in all; pauses grow from ``first`` seconds, doubling, with up to half as much again by
    ``jitter`` (0 to 1), so that many clients do not come back at the same moment. A server that asks for a
    longer pause gets it, up to ``most`` seconds; one that asks for more is not waited for. After a
    timeout there are at most ``timeout_tries``, since each takes the whole time.
    """

    tries: int = 3
    timeout_tries: int = 2
    first: float = 0.5
    most: float = 60.0
    jitter: Callable[[], float] = random.random

    def pause_before_next(self, failed: int, error: errors.ModelError) -> float | None:
        """Seconds before the next try after ``failed`` tries; None when there is no next try."""
        asked = error.retry_after or 0.0
        if not error.retryable or failed >= self.tries_for(error) or asked > self.most:
            return None
        return max(asked, self.first * 2.0 ** (failed - 1)) * (1 + self.jitter() / 2)

    def tries_for(self, error: errors.ModelError) -> int:
        """The number of tries in all for this error."""
        return min(self.tries, self.timeout_tries) if isinstance(error, errors.TimedOut) else self.tries


class ChatModel:
    """The chat model of one server. One instance serves many calls, one after another or side by side."""

    def __init__(
        self, client: Client, model: str, log: logging.Logger, *, clock: Callable[[], datetime], patience: Patience
    ) -> None:
        self._client = client
        self._model = model
        self._log = log
        self._clock = clock
        self._patience = patience
        self._place = provider_errors.Place(client.masked_base, model, client.secrets)
        #: Some servers refuse a request that asks for token counts in a stream; learnt once.
        self._may_ask_usage = True

    def stream_reply(
        self,
        messages: Sequence[PromptMessage],
        stop: CancelToken,
        *,
        stream: bool,
        metadata: Mapping[str, str] | None = None,
        options: Mapping[str, float] | None = None,
    ) -> Iterator[ReplyEvent]:
        """The events of one reply; the last one is a Reply. ``options``: a temperature, how many tokens it may have.

        Raises ModelError (nothing may be stored; its detail ``shown`` counts the characters shown before
        it), or Interrupted when stopped before the first word. Stopped after it, the reply ends as
        ``interrupted``.
        """
        wanted: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": one.role, "content": one.content.encode("utf-8", "replace").decode()} for one in messages
            ],
            **({"stream": True} if stream else {}),
            **({"metadata": metadata} if metadata else {}),
            **(options or {}),
        }
        for failed in range(1, self._patience.tries + 1):
            shown = False
            try:
                for event in self._try_once(messages, wanted, stop):
                    shown = shown or isinstance(event, TextDelta | ReasoningDelta)
                    yield event
                return
            except errors.ModelError as error:
                pause = None if shown else self._patience.pause_before_next(failed, error)
                if pause is None:
                    raise
                yield Retrying(error, failed + 1, self._patience.tries_for(error), pause)
                if stop.wait(pause):
                    raise errors.Interrupted from error

    def list_models(self) -> list[str]:
        """The names in the server's model list, sorted, inert. Raises ModelError."""
        try:
            page: Any = self._client.load_openai().models.list()
        except Exception as fault:
            raise provider_errors.error_from_exception(fault, self._place, self._clock) from fault
        rows = getattr(page, "data", None) or getattr(page, "models", None)
        listed = rows[:_MOST_NAMES] if isinstance(rows, list) else []
        found = [field_of(row, "id") or field_of(row, "name") for row in listed]
        return sorted({one_line(name) for name in found if isinstance(name, str) and name.strip()})

    def _try_once(
        self, messages: Sequence[PromptMessage], wanted: dict[str, Any], stop: CancelToken
    ) -> Iterator[ReplyEvent]:
        stop.check()
        if sum(len(message.content) for message in messages) > MAX_PROMPT:
            raise provider_errors.add_place(errors.ContextTooLong(limit=None, shown=0), self._place)
        started, collected = time.monotonic(), CollectedReply()
        if self._log.isEnabledFor(logging.DEBUG):
            self._log_request(messages, "stream" in wanted)
        line = Line(streams="stream" in wanted)
        try:
            with closing(line), stop.calling(line.hang_up), closing(self._read_parts(wanted, line)) as parts:
                finish = yield from self._read_reply(parts, collected, line, stop)
            truncated = languages.is_truncated(
                collected.prompt_tokens, languages.estimate_all(message.content for message in messages)
            )
            reply = collected.make_reply(finish, self._model, time.monotonic() - started, truncated)
        except Exception as fault:
            error = self._as_error(fault, collected, began=line.began)
            self._log.debug(
                "model failure after %.3f s: %s\n--- shown before it\n%s\n---",
                time.monotonic() - started, error, collected.text,
            )  # fmt: skip
            raise error from fault.__cause__ if error is fault else fault
        if self._log.isEnabledFor(logging.DEBUG):
            self._log_reply(reply, collected)
        yield reply

    def _read_reply(
        self, parts: Iterator[Part], collected: CollectedReply, line: Line, stop: CancelToken
    ) -> Generator[ReplyEvent, None, Finish | None]:
        try:
            for part in parts:
                if stop.is_set and not collected.finish:
                    break
                yield from collected.add_part(part)
                if collected.is_full:
                    break
                if collected.finish:
                    line.hang_up_soon()
        except Exception:
            # After the end of the reply, or a cancellation, a broken connection does not matter.
            if not collected.finish and not stop.is_set:
                raise
        if stop.is_set and not collected.finish:
            if not collected.text.strip():
                raise errors.Interrupted
            return "interrupted"
        yield from collected.add_part(Part(), last=True)
        return None

    def _read_parts(self, wanted: dict[str, Any], line: Line) -> Generator[Part, None, None]:
        """The parts of the answer as the client library reads them, with token counts where the server has them."""
        from httpx2 import Response
        from openai import APIStatusError, Stream

        with self._client.call_over(line) as openai:
            # Not as its typed objects: to make them takes longer than all else that is done with a part.
            read: Any = {"stream": True, "stream_cls": Stream[object]} if line.streams else {}
            create = partial(openai.post, "/chat/completions", cast_to=object if line.streams else Response, **read)
            counting = {"stream_options": {"include_usage": True}} if line.streams and self._may_ask_usage else {}
            try:
                answer = create(body={**wanted, **counting})
            except APIStatusError as refused:
                if not counting or refused.status_code not in (400, 422) or "stream_options" not in refused.message:
                    raise
                self._may_ask_usage = False
                answer = create(body=wanted)
        if not line.streams:
            yield part_of(answer.json())
            return
        with answer:
            for chunk in answer:
                yield part_of(chunk)

    def _as_error(self, fault: Exception, collected: CollectedReply, *, began: bool) -> errors.OldFriendError:
        if isinstance(fault, errors.Interrupted):
            return fault
        error = provider_errors.error_from_exception(fault, self._place, self._clock)
        if began and isinstance(error, errors.Unreachable):
            error = provider_errors.add_place(
                errors.BadReply("model.cut_reply", said=error.details["said"]), self._place
            )
        if error.key == "model.malformed_reply" and not isinstance(fault, errors.ModelError | ValueError):
            self._log.error("an answer could not be read", exc_info=fault)
        error.details["shown"] = len(collected.text)
        return error

    def _log_request(self, messages: Sequence[PromptMessage], stream: bool) -> None:
        said = "\n".join(f"--- {message.role}\n{message.content}" for message in messages)
        self._log.debug(
            "model request to %s\n  model=%s stream=%s\n%s\n---", self._client.masked_base, self._model, stream, said
        )

    def _log_reply(self, reply: Reply, collected: CollectedReply) -> None:
        self._log.debug(
            "model reply after %.3f s\n  model=%s finish=%s prompt_tokens=%s completion_tokens=%s\n"
            "--- thinking\n%s\n--- reply\n%s\n---",
            reply.seconds, reply.model, reply.finish, reply.prompt_tokens, reply.completion_tokens,
            collected.reasoning, reply.text,
        )  # fmt: skip


def save_partial_reply(
    events: Iterator[ReplyEvent], keep_partial: Callable[[str], None], model: str, *, watched: bool
) -> Generator[StreamEvent | Notice, None, Reply]:
    """The events of a reply except the Reply, which is returned; the partial text is saved from time to time.

    ``watched``: the text was displayed as it arrived, so after a broken connection it is kept as an interrupted reply.
    """
    shown, began = "", time.monotonic()
    saved_at = began
    try:
        for event in events:
            if isinstance(event, Reply):
                return event
            shown += event.text if isinstance(event, TextDelta) else ""
            if isinstance(event, TextDelta) and time.monotonic() - saved_at > _KEEP_PARTIAL_EVERY:
                keep_partial(shown)
                saved_at = time.monotonic()
            yield event
    except errors.ModelError as fault:
        # The connection or the server failed, rather than the reply.
        lost = isinstance(fault, errors.Unreachable | errors.TimedOut | errors.ServerFault)
        if not (watched and shown.strip() and (lost or fault.key == "model.cut_reply")):
            raise
        yield Notice("turn.broke_off", {"error": fault})
        return Reply(shown.strip(), "interrupted", model, None, None, time.monotonic() - began, False)
    raise errors.BadReply("model.empty_reply")


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
    """What a chunk, or a whole completion, brings: parsed JSON.

    Raises ModelError for one that is none, or an error.
    """
    if not isinstance(chunk, dict):
        raise errors.BadReply("model.malformed_reply", said=repr(chunk)[:200])
    choices, usage = chunk.get("choices"), chunk.get("usage")
    listed = choices if isinstance(choices, list) else []
    choice = next((one for one in listed if not field_of(one, "index")), None)
    if choice is None and not usage:
        body = {name: value for name in _OF_AN_ERROR if (value := chunk.get(name))}
        if provider_errors.is_error(body):
            raise provider_errors.error_of(provider_errors.read_failure(body))
    said = field_of(choice, "delta") or field_of(choice, "message")
    text, reasoning = _split_content(field_of(said, "content"))
    thought = _as_string(field_of(said, "reasoning_content")) or _as_string(field_of(said, "reasoning"))
    return Part(
        text=text + _as_string(field_of(said, "refusal")),
        reasoning=thought + reasoning,
        finish=_as_string(field_of(choice, "finish_reason")),
        model=_as_string(chunk.get("model")),
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

    def add_part(self, part: Part, *, last: bool = False) -> list[TextDelta | ReasoningDelta]:
        """Add a part; what of it can be shown. With the ``last`` one also what was kept back.

        Raises ContentFiltered or ServerFault for a finish reason that is no end of a reply.
        """
        self._model = part.model or self._model
        self.prompt_tokens = part.prompt_tokens if part.prompt_tokens is not None else self.prompt_tokens
        self._completion_tokens = part.completion_tokens or self._completion_tokens
        thought, words = self._thinking.feed(self._text_repair.feed(part.text, last=last), last=last)
        thought = self._reasoning_repair.feed(part.reasoning, last=last) + thought
        shown: list[TextDelta | ReasoningDelta] = []
        if thought := thought[: max(0, self._room)]:
            self._room -= len(thought)
            self._reasoned.append(thought)
            shown.append(ReasoningDelta(thought))
        if words := words[: max(0, self._room)]:
            self._room -= len(words)
            self._text.append(words)
            shown.append(TextDelta(words))
        if part.finish:
            self.finish = finish_of(part.finish)
        return shown

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


_HALVES = pattern_of("[\ud800-\udfff]")
_HIGH = range(0xD800, 0xDC00)


class Repair:
    """Text that any store and any terminal can take: no NUL, no control characters, no lone surrogates.

    The two halves of one character, sent in two chunks, become that character again; so do the two halves of
    a line end.

    >>> repair = Repair()
    >>> repair.feed("a\\ud83d") + repair.feed("\\ude00\\x00", last=True)
    'a😀'
    """

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, chunk: str, *, last: bool = False) -> str:
        """The text that is certain now; all of it with the ``last`` chunk."""
        whole = self._pending + chunk
        half = bool(whole) and not last and (whole[-1] == "\r" or ord(whole[-1]) in _HIGH)
        self._pending = whole[-1] if half else ""
        text = whole[:-1] if half else whole
        if _HALVES.search(text):
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return texts.clean_text(text)


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

    def feed(self, chunk: str, *, last: bool = False) -> tuple[str, str]:
        """The thinking and the reply in this chunk; with the ``last`` one also a tag that was only begun."""
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
                tag = -1 if last else text.rfind("<", max(at, len(text) - _LONGEST_OPENING))
                self._pending = text[tag:] if tag >= 0 else ""
                return "".join((*thoughts, text[at : len(text) - len(self._pending)])), ""
            thoughts.append(text[at : closing.start()])
            self._tag, at = "", closing.end()
            opening = _OPENING.match(text, at)
        text = text[at:].lstrip()
        # The first words of the reply, unless they may still become an opening tag.
        if not last and "<thinking>".startswith(text[:_LONGEST_OPENING].lower()):
            self._pending = text
            return "".join(thoughts), ""
        self._replying = True
        return "".join(thoughts), text


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
