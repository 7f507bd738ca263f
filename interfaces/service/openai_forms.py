"""Other forms of OpenAI's API, as chat completions and back: Responses (``/v1/responses``), Completions.

    chat                the request as one of chat completions
    make_answer         a whole answer in the requested form
    begin_events, piece_events, end_events    the events of a stream; ``end_events`` once all is stored
    error_events        those of a stream that broke off

Both forms have these; ``last`` is what a stream ends with. Pure: uses no memory and no model. Raises UsageError for
what is not served: tools that a server runs itself, images and files, several prompts in one stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.errors import UsageError

Body = Mapping[str, Any]
Event = dict[str, Any]
#: Fields that mean the same in both.
_SAME = ("model", "temperature", "top_p", "user", "stream", "parallel_tool_calls")
_SAME_COMPLETION = (
    *_SAME, "max_tokens", "n", "stop", "seed", "presence_penalty", "frequency_penalty", "logit_bias", "stream_options",
)  # fmt: skip
#: What a request may hold elsewhere and is not served here.
_UNSERVED = ("background", "conversation", "prompt")
_UNSERVED_COMPLETION = ("echo", "suffix")
_TEXTS = ("input_text", "output_text", "text", "refusal")


# -- completions -------------------------------------------------------------------------------------------------


@dataclass
class CompletionForm:
    """One prompt of ``/v1/completions``: the person's words, answered with text."""

    body: Body
    prompt: str
    id: str
    created: int
    last: bytes = b"data: [DONE]\n\n"

    @property
    def chat(self) -> Body:
        """The prompt as the one message of a chat."""
        same = {name: self.body[name] for name in _SAME_COMPLETION if self.body.get(name) is not None}
        return {**same, "messages": [{"role": "user", "content": self.prompt}]}

    def make_answer(self, answer: Body) -> Event:
        """A completion."""
        return {**self._completion(answer, "message"), "usage": answer.get("usage")}

    def begin_events(self) -> Iterator[Event]:
        """Nothing comes before the first words."""
        return iter(())

    def piece_events(self, event: Body) -> Iterator[Event]:
        """The same piece as a piece of a completion."""
        yield {**self._completion(event, "delta"), **({"usage": event["usage"]} if event.get("usage") else {})}

    def end_events(self) -> Iterator[Event]:
        """Nothing comes after the last words."""
        return iter(())

    def error_events(self, message: str, code: str) -> Iterator[Event]:
        """What went wrong."""
        yield {"error": {"message": message, "type": "server_error", "param": None, "code": code}}

    def _completion(self, answer: Body, said: str) -> Event:
        choices = [
            {
                "index": choice.get("index") or 0,
                "text": _message_content(choice.get(said)),
                "logprobs": None,
                "finish_reason": choice.get("finish_reason"),
            }
            for choice in _as_objects(answer.get("choices"))
        ]
        model = answer.get("model") or self.body.get("model")
        head = {"id": self.id, "object": "text_completion", "created": self.created, "model": model}
        return {**head, "choices": choices}


def completion_forms(body: Any, id: str, created: int) -> list[CompletionForm]:
    """A form for each prompt of a request."""
    asked: Body = body if isinstance(body, Mapping) else {}
    _refuse_unserved(asked, _UNSERVED_COMPLETION)
    prompt = asked.get("prompt")
    prompts = [prompt] if isinstance(prompt, str) else prompt
    if not isinstance(prompts, list) or not prompts or not all(isinstance(one, str) for one in prompts):
        raise UsageError("chat.prompt_needed")
    if len(prompts) > 1 and asked.get("stream"):
        raise UsageError("chat.not_served", given="prompt: [..., ...], stream")
    return [CompletionForm(asked, one, id, created) for one in prompts]


def join_completions(answers: Sequence[Event]) -> Event:
    """The completions of several prompts as one."""
    choices = [{**choice, "index": at} for at, choice in enumerate(one for each in answers for one in each["choices"])]
    counted = [_as_object(one.get("usage")) for one in answers]
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {
        **answers[0],
        "choices": choices,
        "usage": {name: sum(one.get(name) or 0 for one in counted) for name in names},
    }


# -- responses ---------------------------------------------------------------------------------------------------


@dataclass
class _Item:
    """One item of a response's output: the words of the reply, or the call of a tool."""

    place: int
    id: str
    call: Event = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)

    def output_object(self, status: str = "completed") -> Event:
        """The item in ``output``; empty while it is in progress."""
        text = "".join(self.parts) if status == "completed" else ""
        if self.call:
            return {"type": "function_call", "id": self.id, **self.call, "arguments": text, "status": status}
        content = [_output_part(text)] if status == "completed" else []
        return {"type": "message", "id": self.id, "role": "assistant", "status": status, "content": content}


class ResponsesForm:
    """A request of ``/v1/responses`` and its response, which a later request may name as its previous one.

    ``past`` are the messages of the response that it names; ``reply_of`` gives the words of a response by its id.
    """

    def __init__(self, body: Any, id: str, created: int, past: Sequence[Body], reply_of: Callable[[str], str]) -> None:
        if not isinstance(body, Mapping):
            raise UsageError("chat.input_needed")
        _refuse_unserved(body, _UNSERVED)
        self.id = id
        self.last = b""
        self._asked = body
        self._created = created
        self._reply_of = reply_of
        self.messages = [*past, *self._read_input(body.get("input"))]
        self._items: list[_Item] = []
        self._calls: dict[int, _Item] = {}
        self._text: _Item | None = None
        self._finish: object = None
        self._usage: Body = {}
        self._model = body.get("model")
        self._number = 0

    @property
    def chat(self) -> Body:
        """The request as one of chat completions."""
        asked = self._asked
        body = {name: asked[name] for name in _SAME if asked.get(name) is not None}
        instructions = asked.get("instructions")
        has_instructions = isinstance(instructions, str) and instructions
        leading = [{"role": "system", "content": instructions}] if has_instructions else []
        body["messages"] = [*leading, *self.messages]
        if asked.get("max_output_tokens") is not None:
            body["max_tokens"] = asked["max_output_tokens"]
        if effort := _as_object(asked.get("reasoning")).get("effort"):
            body["reasoning_effort"] = effort
        if shape := _response_format(_as_object(_as_object(asked.get("text")).get("format"))):
            body["response_format"] = shape
        if tools := [_chat_tool(one) for one in _as_objects(asked.get("tools"))]:
            body["tools"] = tools
            choice = asked.get("tool_choice")
            if isinstance(choice, Mapping):
                choice = {"type": "function", "function": {"name": _function_name(choice)}}
            body |= {} if choice is None else {"tool_choice": choice}
        if asked.get("stream"):
            body["stream_options"] = {"include_usage": True}
        return body

    @property
    def reply(self) -> Event:
        """The reply as a message of a chat."""
        calls = [
            {"id": one.call["call_id"], "type": "function",
             "function": {"name": one.call["name"], "arguments": "".join(one.parts)}}
            for one in self._items if one.call
        ]  # fmt: skip
        text = "".join(self._text.parts) if self._text else None
        return {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})

    def make_answer(self, answer: Body) -> Event:
        """A response."""
        for choice in _as_objects(answer.get("choices"))[:1]:
            said = _as_object(choice.get("message"))
            calls = [{**call, "index": at} for at, call in enumerate(_as_objects(said.get("tool_calls")))]
            deque(self.piece_events({"choices": [{**choice, "delta": {**said, "tool_calls": calls}}]}), maxlen=0)
        self._note_usage(answer)
        return self._response_object()

    def begin_events(self) -> Iterator[Event]:
        """The response exists."""
        for kind in ("response.created", "response.in_progress"):
            yield self._make_event(kind, response=self._response_object("in_progress"))

    def piece_events(self, event: Body) -> Iterator[Event]:
        """A piece of the reply."""
        self._note_usage(event)
        for choice in _as_objects(event.get("choices")):
            if choice.get("index"):
                continue
            self._finish = choice.get("finish_reason") or self._finish
            delta = _as_object(choice.get("delta"))
            if text := _message_content(delta):
                yield from self._text_events(text)
            for call in _as_objects(delta.get("tool_calls")):
                yield from self._call_events(call)

    def end_events(self) -> Iterator[Event]:
        """The response is whole."""
        for item in self._items:
            yield from self._item_done_events(item)
        whole = self._response_object()
        yield self._make_event(f"response.{whole['status']}", response=whole)

    def error_events(self, message: str, code: str) -> Iterator[Event]:
        """What went wrong."""
        yield self._make_event("error", code=code, message=message, param=None)
        error = {"code": "server_error", "message": message}
        yield self._make_event("response.failed", response={**self._response_object("failed"), "error": error})

    # -- reading

    def _read_input(self, given: object) -> list[Event]:
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        if not isinstance(given, list) or not given:
            raise UsageError("chat.input_needed")
        return [message for item in given for message in self._item_messages(item)]

    def _item_messages(self, item: object) -> Iterator[Event]:
        one = _as_object(item)
        match one.get("type", "message"):
            case "message" if isinstance(one.get("role"), str):
                yield {"role": one["role"], "content": _content_text(one.get("content"))}
            case "function_call":
                called = {"name": one.get("name"), "arguments": one.get("arguments")}
                call = {"id": one.get("call_id"), "type": "function", "function": called}
                yield {"role": "assistant", "content": None, "tool_calls": [call]}
            case "function_call_output":
                yield {"role": "tool", "tool_call_id": one.get("call_id"), "content": _content_text(one.get("output"))}
            case "item_reference" if str(one.get("id")).startswith("msg_"):
                reply = self._reply_of("resp_" + str(one["id"]).removeprefix("msg_"))
                yield {"role": "assistant", "content": reply}
            case "reasoning":
                return
            case kind:
                raise UsageError("chat.not_served", given=f"input: {kind}")

    # -- answering

    def _text_events(self, text: str) -> Iterator[Event]:
        if self._text is None:
            self._text = item = _Item(len(self._items), "msg_" + self.id.removeprefix("resp_"))
            yield self._add_item(item)
            yield self._content_event(item, "response.content_part.added", part=_output_part(""))
        self._text.parts.append(text)
        yield self._content_event(self._text, "response.output_text.delta", delta=text, logprobs=[])

    def _call_events(self, call: Body) -> Iterator[Event]:
        function, at = _as_object(call.get("function")), int(call.get("index") or 0)
        if at not in self._calls:
            place = len(self._items)
            named = {"call_id": call.get("id") or f"call_{place}", "name": function.get("name")}
            item = _Item(place, f"fc_{place}_{self.id.removeprefix('resp_')}", named)
            self._calls[at] = item
            yield self._add_item(item)
        if arguments := function.get("arguments"):
            item = self._calls[at]
            item.parts.append(str(arguments))
            kind = "response.function_call_arguments.delta"
            yield self._make_event(kind, item_id=item.id, output_index=item.place, delta=arguments)

    def _add_item(self, item: _Item) -> Event:
        self._items.append(item)
        started = item.output_object("in_progress")
        return self._make_event("response.output_item.added", output_index=item.place, item=started)

    def _item_done_events(self, item: _Item) -> Iterator[Event]:
        text = "".join(item.parts)
        if item.call:
            kind = "response.function_call_arguments.done"
            named = {"item_id": item.id, "output_index": item.place, "name": item.call["name"]}
            yield self._make_event(kind, **named, arguments=text)
        else:
            yield self._content_event(item, "response.output_text.done", text=text, logprobs=[])
            yield self._content_event(item, "response.content_part.done", part=_output_part(text))
        yield self._make_event("response.output_item.done", output_index=item.place, item=item.output_object())

    def _make_event(self, kind: str, **fields: Any) -> Event:
        self._number += 1
        return {"type": kind, "sequence_number": self._number - 1, **fields}

    def _content_event(self, item: _Item, kind: str, **fields: Any) -> Event:
        return self._make_event(kind, item_id=item.id, output_index=item.place, content_index=0, **fields)

    def _note_usage(self, answer: Body) -> None:
        self._usage = _as_object(answer.get("usage")) or self._usage
        self._model = answer.get("model") or self._model

    def _response_object(self, status: str = "") -> Event:
        asked, cut = self._asked, self._finish == "length"
        status = status or ("incomplete" if cut else "completed")
        over = status in ("completed", "incomplete")
        return {
            "id": self.id, "object": "response", "created_at": self._created, "status": status, "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut and over else None,
            "instructions": asked.get("instructions"), "max_output_tokens": asked.get("max_output_tokens"),
            "model": self._model, "output": [one.output_object() for one in self._items] if over else [],
            "parallel_tool_calls": asked.get("parallel_tool_calls", True),
            "previous_response_id": asked.get("previous_response_id"),
            "reasoning": asked.get("reasoning") or {"effort": None, "summary": None},
            "store": asked.get("store", True), "temperature": asked.get("temperature"), "top_p": asked.get("top_p"),
            "text": asked.get("text") or {"format": {"type": "text"}}, "tool_choice": asked.get("tool_choice", "auto"),
            "tools": asked.get("tools") or [], "truncation": "disabled", "metadata": asked.get("metadata") or {},
            "usage": _usage_object(self._usage) if over and self._usage else None,
        }  # fmt: skip


def _usage_object(counted: Body) -> Event:
    asked, said = (int(counted.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
    cached = _as_object(counted.get("prompt_tokens_details")).get("cached_tokens")
    thought = _as_object(counted.get("completion_tokens_details")).get("reasoning_tokens")
    return {
        "input_tokens": asked, "input_tokens_details": {"cached_tokens": cached or 0},
        "output_tokens": said, "output_tokens_details": {"reasoning_tokens": thought or 0},
        "total_tokens": int(counted.get("total_tokens") or asked + said),
    }  # fmt: skip


def _output_part(text: str) -> Event:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _content_text(content: object) -> str:
    """The text of a content. Raises UsageError for a part that is none."""
    if isinstance(content, str):
        return content
    parts = _as_objects(content)
    for part in parts:
        if part.get("type") not in _TEXTS:
            raise UsageError("chat.not_served", given=f"input: {part.get('type')}")
    return "\n".join(str(part.get("text") or part.get("refusal") or "") for part in parts)


def _chat_tool(tool: Body) -> Event:
    fields = {one: tool[one] for one in ("description", "parameters", "strict") if tool.get(one) is not None}
    return {"type": "function", "function": {"name": _function_name(tool), **fields}}


def _function_name(tool: Body) -> object:
    if tool.get("type") != "function":
        raise UsageError("chat.not_served", given=f"tools: {tool.get('type')}")
    return tool.get("name")


def _response_format(wanted: Body) -> Event | None:
    """The form of the reply that is wanted, where it is not plain text."""
    if wanted.get("type") == "json_schema":
        return {"type": "json_schema", "json_schema": {name: wanted[name] for name in wanted if name != "type"}}
    return dict(wanted) if wanted.get("type") not in (None, "text") else None


def _refuse_unserved(body: Body, names: Sequence[str]) -> None:
    if unserved := [name for name in names if body.get(name)]:
        raise UsageError("chat.not_served", given=unserved[0])


def _message_content(said: object) -> str:
    content = _as_object(said).get("content")
    return content if isinstance(content, str) else ""


def _as_object(value: object) -> Body:
    return value if isinstance(value, Mapping) else {}


def _as_objects(value: object) -> list[Body]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
