"""LangChain's ``ChatOpenAI`` against the server: python by_langchain.py BASE TOKEN. Runs where langchain-openai is."""

from __future__ import annotations

import sys

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

ROUNDS = [
    ("My cat is called Douban.", "Nice cat."),
    ("She is grey.", "Grey, then."),
    ("How warm is it at home?", "Twelve degrees."),
]


@tool
def look() -> str:
    """Look."""
    return "12"


def main(base: str, token: str) -> None:
    """Three rounds of one conversation: whole, as a stream, with a call of a tool."""
    model = ChatOpenAI(model="old-friend", base_url=base, api_key=token, default_headers={"X-Session-Id": "first-talk"})
    said: list[object] = [HumanMessage(ROUNDS[0][0])]
    said.append(heard := model.invoke(said))
    assert heard.content == ROUNDS[0][1], heard
    said.append(HumanMessage(ROUNDS[1][0]))
    streamed = "".join(str(piece.content) for piece in model.stream(said))
    assert streamed == ROUNDS[1][1], streamed
    said += [AIMessage(streamed), HumanMessage(ROUNDS[2][0])]
    called = model.bind_tools([look]).invoke(said)
    assert [one["name"] for one in called.tool_calls] == ["look"], called
    said += [called, *(ToolMessage(look.invoke({}), tool_call_id=one["id"]) for one in called.tool_calls)]
    heard = model.bind_tools([look]).invoke(said)
    assert heard.content == ROUNDS[2][1], heard


if __name__ == "__main__":
    main(*sys.argv[1:])
