"""openai-python against our address: python -m tests.clients.openai_python BASE TOKEN."""

from __future__ import annotations

import sys
from typing import Any

import openai

LOOK: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def main(base: str, token: str) -> None:
    """Everything that a chat program does, once."""
    with openai.OpenAI(base_url=base, api_key=token, max_retries=0) as client:
        assert "old-friend" in [one.id for one in client.models.list()]
        assert client.models.retrieve("old-friend").id == "old-friend"
        asked: list[Any] = [{"role": "user", "content": "My cat is called Douban."}]
        raw = client.chat.completions.with_raw_response.create(model="old-friend", messages=asked)
        assert raw.headers["x-memory"] == "on"
        message = raw.parse().choices[0].message
        assert message.content == "Nice cat."
        asked += [message.model_dump(exclude_none=True), {"role": "user", "content": "She is grey."}]
        with client.chat.completions.stream(
            model="old-friend", messages=asked, stream_options={"include_usage": True}
        ) as stream:
            whole = stream.get_final_completion()
        assert whole.choices[0].message.content == "Grey, then."
        assert whole.usage
        _call_a_tool(client)
        assert len(client.embeddings.create(model="e", input=["cat", "dog"]).data) == 2
    _be_refused(base)


def _be_refused(base: str) -> None:
    code = None
    try:
        openai.OpenAI(base_url=base, api_key="wrong", max_retries=0).models.list()
    except openai.AuthenticationError as refused:
        code = refused.code
    assert code == "invalid_api_key"


def _call_a_tool(client: openai.OpenAI) -> None:
    asked: list[Any] = [{"role": "user", "content": "How warm is it at home?"}]
    said = client.chat.completions.create(model="old-friend", messages=asked, tools=[LOOK]).choices[0].message
    assert said.tool_calls
    answer = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "12"}
    asked += [said.model_dump(exclude_none=True), answer]
    told = client.chat.completions.create(model="old-friend", messages=asked, tools=[LOOK])
    assert told.choices[0].message.content == "Twelve degrees."


if __name__ == "__main__":
    main(*sys.argv[1:])
