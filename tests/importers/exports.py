"""Small exports as other programs write them, and what is read of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

from domain.imports import PastConversation, Unread
from importers import ReadingOptions, recognise_export

#: Where the local times of these exports were written down.
ZONE = timezone(timedelta(hours=8))


@dataclass
class Read:
    """Everything that came out of an export."""

    sources: list[str] = field(default_factory=list)
    talks: list[PastConversation] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    @property
    def said(self) -> list[tuple[str, str]]:
        """Who said what, in the only conversation."""
        (talk,) = self.talks
        return [(one.by, one.text) for one in talk.messages]

    @property
    def reasons(self) -> list[str]:
        """The last words of why something was not read."""
        return [one.reason.rsplit(".", 1)[-1] for one in self.unread]

    @property
    def left_out(self) -> dict[str, int]:
        """How many messages were left out, by the last words of the reason."""
        counts: Counter[str] = Counter()
        for talk in self.talks:
            counts.update({reason.rsplit(".", 1)[-1]: count for reason, count in talk.left_out.items()})
        return dict(counts)

    @property
    def seen(self) -> int:
        """How many messages were taken or left out."""
        return sum(len(talk.messages) for talk in self.talks) + sum(self.left_out.values())


def read(path: Path, **options: Any) -> Read:
    """All of what is recognised there."""
    found = Read()
    for file in recognise_export(path, ReadingOptions(**{"zone": ZONE, **options})):
        found.sources.append(file.source)
        for one in file.read():
            (found.talks if isinstance(one, PastConversation) else found.unread).append(one)  # type: ignore[arg-type]
        assert file.done <= file.size
    return found


def written(path: Path, value: Any, encoding: str = "utf-8") -> Path:
    """A file: of JSON, or of the text or the bytes that are given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        path.write_text(text, encoding=encoding, newline="")
    return path


def lines(*values: Any) -> str:
    """JSON Lines."""
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


# -- ChatGPT


def gpt_message(key: str, role: str, said: float | None, content: Any, **more: Any) -> dict[str, Any]:
    """A message of ChatGPT: a text, parts, or a whole content."""
    if isinstance(content, str):
        content = [content]
    if isinstance(content, list):
        content = {"content_type": "text", "parts": content}
    return {"id": key, "author": {"role": role}, "create_time": said, "content": content, "recipient": "all", **more}


def gpt_tree(*nodes: tuple[str | None, dict[str, Any] | None], **more: Any) -> dict[str, Any]:
    """A conversation of ChatGPT out of pairs of parent and message; the last node is the current one."""
    mapping: dict[str, Any] = {}
    for number, (parent, message) in enumerate(nodes):
        key = message["id"] if message else f"node{number}"
        mapping[key] = {"id": key, "parent": parent, "message": message}
    key = more.pop("id", "c1")
    return {"id": key, "conversation_id": key, "title": "Cats", "create_time": 1_756_000_000.12,
            "current_node": list(mapping)[-1], "mapping": mapping, **more}  # fmt: skip


def gpt_talk(key: str = "c1", texts: Sequence[str] = ("我的猫叫豆包", "真可爱！"), **more: Any) -> dict[str, Any]:
    """A conversation of ChatGPT in which the person speaks first."""
    nodes: list[tuple[str | None, dict[str, Any] | None]] = []
    above = None
    for number, text in enumerate(texts):
        role = "assistant" if number % 2 else "user"
        nodes.append((above, gpt_message(f"{key}m{number}", role, 1_756_000_001.0 + number, text)))
        above = f"{key}m{number}"
    return gpt_tree(*nodes, id=key, **more)


# -- Claude


def claude_message(key: str, sender: str, text: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    """A message of Claude."""
    given = {"uuid": key, "sender": sender, "text": text, "content": [{"type": "text", "text": text}],
             "created_at": "2026-02-14T10:04:22.123456Z", "attachments": [], "files": []}  # fmt: skip
    return {**given, **({"parent_message_uuid": parent} if parent else {}), **more}


def claude_talk(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation of Claude."""
    return {"uuid": "k1", "name": "Trip", "created_at": "2026-02-14T10:04:00Z", "account": {"uuid": "x"},
            "chat_messages": list(messages), **more}  # fmt: skip
