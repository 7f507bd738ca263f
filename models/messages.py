"""What is sent to a chat model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


def merged(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with neighbours of one role joined; empty ones leave nothing behind.

    Strict chat templates refuse a prompt whose roles do not alternate.
    """
    found: list[Message] = []
    for message in messages:
        if not message.content.strip():
            continue
        if found and found[-1].role == message.role:
            found[-1] = Message(message.role, f"{found[-1].content}\n\n{message.content}")
        else:
            found.append(message)
    return tuple(found)
