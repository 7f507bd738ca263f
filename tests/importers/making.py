"""Makes exports as other programs write them, of any size: what they say is invented, their shapes are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Where the talk of a made export begins: 24 August 2025, in Unix seconds.
BEGAN = 1_756_000_000.0
#: How many messages a made conversation has, so that 100,000 messages are some 3,100 conversations.
LENGTH = 32

_SAID = (
    "My cat is called Biscuit {0}, and she is afraid of the vacuum cleaner in room {0}.",
    "我的猫叫豆包{0}，它最怕吸尘器，每次打扫都要躲到第{0}个柜子里去。",
    "Next week ({0}) I begin at the new job in Lisbon; remind me to ask about the flat with number {0}.",
    "下周我要去里斯本上班了，合同编号是{0}，记得提醒我问一下房子的事。",
)
_REPLIED = (
    "That sounds like a lot at once, number {0}. Shall we go through it step by step? First the flat, then the cat.",
    "听起来很可爱！要不要给它准备一个安静的小窝？第{0}个柜子也许太高了，先从低的开始吧。",
)


def chatgpt_export(path: Path, messages: int = 100_000, length: int = LENGTH) -> int:
    """Write a ``conversations.json`` of ChatGPT with so many messages of the two; returns the number of conversations.

    Each conversation has besides: a root, hidden instructions, a thought, and a reply that was replaced by another.
    """
    with path.open("w", encoding="ascii") as file:
        file.write("[")
        for number, conversation in enumerate(chatgpt_conversations(messages, length)):
            file.write(",\n" if number else "")
            file.write(json.dumps(conversation))
        file.write("]")
    return -(-messages // length)


def chatgpt_conversations(messages: int, length: int = LENGTH) -> Iterator[dict[str, Any]]:
    """Conversations of ChatGPT that have so many messages of the two between them."""
    for first in range(0, messages, length):
        yield _conversation(first, min(length, messages - first))


def _conversation(first: int, length: int) -> dict[str, Any]:
    key, began = f"conversation-{first}", BEGAN + first * 60
    nodes = [
        _node("root", None, None),
        _node("instructions", "root", _message("user", began, "I am a user.", hidden=True)),
    ]
    for number in range(first, first + length):
        _add_message(nodes, number, began + (number - first) * 20)
    if length > 1:
        nodes.append(_node("replaced", nodes[-2]["id"], _message("assistant", began, "Not this reply.")))
    return {
        "id": key,
        "conversation_id": key,
        "title": f"Talk {first}",
        "create_time": began,
        "update_time": began + length * 20,
        "current_node": f"m{first + length - 1}",
        "mapping": {node["id"]: node for node in nodes},
    }


def _add_message(nodes: list[dict[str, Any]], number: int, said: float) -> None:
    """One more message under the last node; a reply has a thought before it."""
    by_person = number % 2 == 0
    text = (_SAID if by_person else _REPLIED)[(number // 2) % (4 if by_person else 2)].format(number)
    above = nodes[-1]["id"]
    if number % 8 == 1:
        above = f"t{number}"
        thought = {"content_type": "thoughts", "thoughts": [{"summary": "Thinking", "content": text}]}
        nodes.append(_node(above, nodes[-1]["id"], _message("assistant", said, thought)))
    nodes.append(_node(f"m{number}", above, _message("user" if by_person else "assistant", said, text)))


def _node(key: str, parent: str | None, message: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": key, "parent": parent, "children": [], "message": message and {"id": key, **message}}


def _message(role: str, said: float, content: object, hidden: bool = False) -> dict[str, Any]:
    return {
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": said,
        "content": {"content_type": "text", "parts": [content]} if isinstance(content, str) else content,
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {"is_visually_hidden_from_conversation": True} if hidden else {},
        "recipient": "all",
    }
