"""Responses and completions: the same turn as a chat completion, in the forms that OpenAI's own client reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.interfaces.http.running import Running, running
from tests.support.house import talks
from tests.support.server import ScriptedServer, answer, delta, say, status, stream, usage_chunk

TOOL = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}
CALL = {"id": "call_7", "type": "function", "function": {"name": "look", "arguments": '{"where": "home"}'}}
CALLS = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "finish_reason": "tool_calls",
     "message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]}  # fmt: skip


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(talks) as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ScriptedServer) -> Iterator[Running]:
    with running(tmp_path, model) as served:
        yield served


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, ScriptedServer]]:
    """One for all that is refused, after which nothing is stored; and its model."""
    with ScriptedServer(talks) as model, running(tmp_path_factory.mktemp("refusing"), model) as served:
        yield served, model


@pytest.fixture
def client(served: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="none", base_url=f"{served.base}/v1", max_retries=0) as client:
        yield client


def stored(served: Running) -> list[list[tuple[str, str]]]:
    """Every round, session by session, the oldest first."""
    with served.people.companion("me") as companion:
        sessions = reversed(companion.memory.sessions.recent(50))
        return [
            [(one.user.words, one.assistant.words) for one in companion.memory.messages.rounds(each.session_id)]
            for each in sessions
        ]


def sent(model: ScriptedServer, at: int = -1) -> list[tuple[str, str]]:
    """The messages that the model was shown, with what the memory added."""
    return [(one["role"], one["content"]) for one in model.chats[at]["messages"]]


# -- responses -----------------------------------------------------------------------------------------------------


def test_a_response_is_a_turn_with_memory(client: openai.OpenAI, served: Running, model: ScriptedServer) -> None:
    model.script(say("Nice cat."), say("Douban!"))
    first = client.responses.create(model="old-friend", input="My cat is called Douban.", max_output_tokens=50)
    assert (first.status, first.output_text, first.object) == ("completed", "Nice cat.", "response")
    assert first.usage is not None
    assert first.usage.total_tokens == first.usage.input_tokens + first.usage.output_tokens > 0
    assert stored(served) == [[("My cat is called Douban.", "Nice cat.")]]
    assert model.chats[0]["max_tokens"] == 50
    client.responses.create(model="m", instructions="Be brief.", input="What is my cat called?")
    (system, told), (role, asked) = sent(model)
    assert (system, role) == ("system", "user")
    assert told.startswith("Be brief.")
    assert "My cat is called Douban." in asked


def test_a_streamed_response_has_its_events_in_their_order_and_ends_after_it_is_stored(
    client: openai.OpenAI, served: Running, model: ScriptedServer
) -> None:
    model.script(stream(delta(content="Nice "), delta(content="cat."), delta("stop"), usage_chunk(7, 2)))
    kinds, said = [], ""
    for number, event in enumerate(client.responses.create(model="m", input="My cat is Douban.", stream=True)):
        assert event.sequence_number == number
        kinds.append(event.type)
        if event.type == "response.output_text.delta":
            said += event.delta
        if event.type == "response.completed":
            assert stored(served) == [[("My cat is Douban.", "Nice cat.")]]
            assert event.response.usage
            assert (event.response.output_text, event.response.usage.total_tokens) == ("Nice cat.", 9)
    assert said == "Nice cat."
    assert kinds == [
        "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
        "response.output_text.delta", "response.output_text.delta", "response.output_text.done",
        "response.content_part.done", "response.output_item.done", "response.completed",
    ]  # fmt: skip


def test_what_the_client_gathers_of_a_stream_is_the_same_response(client: openai.OpenAI, model: ScriptedServer) -> None:
    model.script(say("Nice little cat."))
    with client.responses.stream(model="m", input="My cat is Douban.") as events:
        assert events.get_final_response().output_text == "Nice little cat."


@pytest.mark.parametrize("streams", [True, False])
def test_a_response_goes_on_after_the_one_that_it_names_also_after_a_restart(
    tmp_path: Path, model: ScriptedServer, *, streams: bool
) -> None:
    model.script(say("One."), say("Two."), say("Three."), say("Other."))

    def ask(served: Running, text: str, previous: str | None) -> str:
        with openai.OpenAI(api_key="none", base_url=f"{served.base}/v1", max_retries=0) as client:
            if not streams:
                return client.responses.create(model="m", input=text, previous_response_id=previous).id
            events = client.responses.create(model="m", input=text, previous_response_id=previous, stream=True)
            return next(one.response.id for one in events if one.type == "response.completed")

    with running(tmp_path, model) as served:
        first = ask(served, "First.", None)
        second = ask(served, "Second.", first)
    with running(tmp_path, model) as served:
        ask(served, "Third.", second)
        assert [role for role, _ in sent(model)] == ["user", "assistant", "user", "assistant", "user"]
        assert sent(model)[:4] == [
            ("user", "First."), ("assistant", "One."), ("user", "Second."), ("assistant", "Two."),
        ]  # fmt: skip
        branch = ask(served, "Another second.", first)
        ask(served, "After the branch.", branch)
        asked = [text for role, text in sent(model) if role == "user"]
        assert asked[:2] == ["First.", "Another second."]
        said = [[text for text, _ in rounds] for rounds in stored(served)]
    assert said == [["First.", "Second.", "Third."], ["Another second.", "After the branch."]]


def test_a_whole_history_as_items_is_stored_once(client: openai.OpenAI, served: Running) -> None:
    items: list[Any] = []
    for text in ("First.", "Second.", "Third."):
        items.append({"role": "user", "content": [{"type": "input_text", "text": text}]})
        items += [one.model_dump() for one in client.responses.create(model="m", input=items).output]
    assert [[text for text, _ in rounds] for rounds in stored(served)] == [["First.", "Second.", "Third."]]


def test_a_reply_may_be_named_in_place_of_its_words(client: openai.OpenAI, model: ScriptedServer) -> None:
    model.script(say("One."), say("Two."))
    (message,) = client.responses.create(model="m", input="First.").output
    items: list[Any] = [
        {"role": "user", "content": "First."},
        {"type": "item_reference", "id": message.id},
        {"role": "user", "content": "Second."},
    ]
    client.responses.create(model="m", input=items)
    assert sent(model)[1] == ("assistant", "One.")


@pytest.mark.parametrize("headers", [{}, {"X-Memory": "off"}])
def test_a_clients_own_task_goes_on_after_a_tool_call_by_the_id_of_its_response(
    client: openai.OpenAI, served: Running, model: ScriptedServer, headers: dict[str, str]
) -> None:
    model.script(answer(CALLS), say("Cats."))
    task, tools = "### Task:\nGenerate a title summarizing the chat history.", [TOOL]
    asks: Any = {"model": "m", "tools": tools, "extra_headers": headers}
    first = client.responses.create(input=task, **asks)
    result: Any = {"type": "function_call_output", "call_id": "call_7", "output": "12"}
    after = client.responses.create(input=[result], previous_response_id=first.id, **asks)
    assert after.output_text == "Cats."
    assert model.chats[-1]["messages"][0] == {"role": "user", "content": task}
    assert stored(served) == []


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("streams", [True, False])
def test_tools_of_the_client_are_called_and_only_the_reply_is_stored(
    client: openai.OpenAI, served: Running, model: ScriptedServer, *, streams: bool, by_id: bool
) -> None:
    pieces = [
        delta(tool_calls=[{**CALL, "index": 0, "function": {"name": "look", "arguments": '{"where": '}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '"home"}'}}]),
        delta("tool_calls"),
    ]
    model.script(stream(*pieces) if streams else answer(CALLS), say("Twelve degrees."))
    asked: list[Any] = [{"role": "user", "content": "How warm is it at home?"}]
    tools: Any = [TOOL]
    if streams:
        events: list[Any] = list(client.responses.create(model="m", input=asked, tools=tools, stream=True))
        response = events[-1].response
        assert [one.type for one in events][2:7] == [
            "response.output_item.added", "response.function_call_arguments.delta",
            "response.function_call_arguments.delta", "response.function_call_arguments.done",
            "response.output_item.done",
        ]  # fmt: skip
    else:
        response = client.responses.create(model="m", input=asked, tools=tools)
    (call,) = response.output
    assert (call.type, call.call_id, call.name, call.arguments) == (
        "function_call", "call_7", "look", '{"where": "home"}',
    )  # fmt: skip
    assert stored(served) == []
    result: Any = {"type": "function_call_output", "call_id": "call_7", "output": "12"}
    if by_id:
        after = client.responses.create(model="m", input=[result], tools=tools, previous_response_id=response.id)
    else:
        after = client.responses.create(model="m", input=[*asked, call.model_dump(), result], tools=tools)
    assert after.output_text == "Twelve degrees."
    assert model.chats[-1]["messages"][-2]["tool_calls"] == [CALL]
    assert model.chats[-1]["messages"][-1] == {"role": "tool", "tool_call_id": "call_7", "content": "12"}
    assert model.chats[-1]["tools"][0]["function"]["name"] == "look"
    assert stored(served) == [[("How warm is it at home?", "Twelve degrees.")]]


def test_the_form_of_a_reply_is_asked_for_as_chat_completions_do(client: openai.OpenAI, model: ScriptedServer) -> None:
    schema = {"name": "cat", "schema": {"type": "object"}, "strict": True}
    shape: Any = {"format": {"type": "json_schema", **schema}}
    client.responses.create(model="m", input="Which cat?", text=shape, reasoning={"effort": "low"})
    assert model.chats[-1]["response_format"] == {"type": "json_schema", "json_schema": schema}
    assert model.chats[-1]["reasoning_effort"] == "low"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"input": "Hi", "tools": [{"type": "web_search"}]}, "web_search"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "input_image"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "x"}]}]}, "input_file"),
        ({"input": "Hi", "background": True}, "background"),
        ({"input": "Hi", "conversation": "conv_1"}, "conversation"),
        ({"input": "Hi", "previous_response_id": "resp_unknown"}, "resp_unknown"),
        ({"input": [{"type": "item_reference", "id": "msg_unknown"}]}, "resp_unknown"),
        ({"input": []}, "input"),
    ],
)
def test_what_is_not_served_is_one_clear_refusal(
    refusing: tuple[Running, ScriptedServer], asked: Any, says: str
) -> None:
    served, model = refusing
    with openai.OpenAI(api_key="none", base_url=f"{served.base}/v1", max_retries=0) as client:
        with pytest.raises(openai.BadRequestError, match=says):
            client.responses.create(model="m", **asked)
    assert not model.chats
    assert stored(served) == []


def test_a_response_that_is_not_to_be_kept_is_found_by_nobody(client: openai.OpenAI) -> None:
    first = client.responses.create(model="m", input="Hi", store=False)
    with pytest.raises(openai.BadRequestError):
        client.responses.create(model="m", input="And?", previous_response_id=first.id)


def test_a_response_of_one_person_is_found_by_no_other(served: Running, model: ScriptedServer) -> None:
    ann, ben = (
        openai.OpenAI(api_key=served.people.registry.add_token(name, name), base_url=f"{served.base}/v1")
        for name in ("ann", "ben")
    )
    model.script(say("Nice."), answer(CALLS))
    for text in ("My secret is 4711.", "Look."):
        response = ann.responses.create(model="m", input=text)
        with pytest.raises(openai.BadRequestError):
            ben.responses.create(model="m", input="And?", previous_response_id=response.id)
    ann.close()
    ben.close()


def test_what_was_hidden_is_not_brought_along_by_the_id_of_a_response(
    client: openai.OpenAI, model: ScriptedServer
) -> None:
    model.script(say("Nine hundred."), say("As you wish."), say("Nothing."))
    first = client.responses.create(model="m", input="I owe Bob money, nine hundred.")
    second = client.responses.create(model="m", input="Please forget that.", previous_response_id=first.id)
    client.responses.create(model="m", input="What do you know?", previous_response_id=second.id)
    assert "hundred" not in str(sent(model))


@pytest.mark.parametrize(
    "play", [stream(delta(content="Nice ")), stream(delta(content="Nice "), {"error": {"message": "no"}}), stream()]
)
def test_a_response_that_breaks_says_so_and_stores_nothing(
    client: openai.OpenAI, served: Running, model: ScriptedServer, play: Any
) -> None:
    model.script(play)
    kinds = [one.type for one in client.responses.create(model="m", input="Hi there.", stream=True)]
    assert kinds[-2:] == ["error", "response.failed"]
    assert "response.completed" not in kinds
    assert stored(served) == []


def test_a_reply_that_was_cut_off_is_an_incomplete_response(client: openai.OpenAI, model: ScriptedServer) -> None:
    model.script(say("Nice", "length"), say("Nice", "length"))
    whole = client.responses.create(model="m", input="Hi there.")
    last = list(client.responses.create(model="m", input="Hi there.", stream=True))[-1]
    assert (whole.status, last.type) == ("incomplete", "response.incomplete")


@pytest.mark.parametrize("streams", [True, False])
def test_a_refusal_of_the_model_server_keeps_its_status(
    client: openai.OpenAI, model: ScriptedServer, *, streams: bool
) -> None:
    model.script(status(429, "slow down"), status(429, "slow down"))
    with pytest.raises(openai.RateLimitError):
        client.responses.create(model="m", input="Hi there.", stream=streams)
    with pytest.raises(openai.RateLimitError):
        client.completions.create(model="m", prompt="Hi there.", stream=streams)


# -- completions ---------------------------------------------------------------------------------------------------


def test_a_completion_is_a_turn_with_memory(client: openai.OpenAI, served: Running, model: ScriptedServer) -> None:
    model.script(say("Nice cat."), say("Douban!"))
    first = client.completions.create(model="m", prompt="My cat is called Douban.", max_tokens=9, stop=["\n"])
    (choice,) = first.choices
    assert (first.object, choice.text, choice.finish_reason) == ("text_completion", "Nice cat.", "stop")
    assert first.usage
    assert (model.chats[0]["max_tokens"], model.chats[0]["stop"]) == (9, ["\n"])
    assert stored(served) == [[("My cat is called Douban.", "Nice cat.")]]
    client.completions.create(model="m", prompt=["What is my cat called?"])
    assert "My cat is called Douban." in str(sent(model))


def test_a_streamed_completion_ends_after_it_is_stored(
    client: openai.OpenAI, served: Running, model: ScriptedServer
) -> None:
    model.script(say("Nice little cat."))
    pieces = list(client.completions.create(model="m", prompt="My cat is Douban.", stream=True))
    assert "".join(one.choices[0].text for one in pieces if one.choices) == "Nice little cat."
    assert {one.object for one in pieces} == {"text_completion"}
    assert stored(served) == [[("My cat is Douban.", "Nice little cat.")]]


def test_several_prompts_are_answered_each_for_itself(
    client: openai.OpenAI, served: Running, model: ScriptedServer
) -> None:
    model.script(say("One."), say("Two."))
    both = client.completions.create(model="m", prompt=["First.", "Second."])
    assert [(one.index, one.text) for one in both.choices] == [(0, "One."), (1, "Two.")]
    assert sorted(stored(served)) == [[("First.", "One.")], [("Second.", "Two.")]]


@pytest.mark.parametrize(
    "asked",
    [
        {"prompt": [1, 2, 3]}, {"prompt": []}, {"prompt": "Hi", "echo": True},
        {"prompt": "Hi", "suffix": "there"}, {"prompt": ["One.", "Two."], "stream": True},
    ],
)  # fmt: skip
def test_a_completion_that_is_not_served_is_refused(refusing: tuple[Running, ScriptedServer], asked: Any) -> None:
    served, model = refusing
    with openai.OpenAI(api_key="none", base_url=f"{served.base}/v1", max_retries=0) as client:
        with pytest.raises(openai.BadRequestError):
            client.completions.create(model="m", **asked)
    assert not model.chats
