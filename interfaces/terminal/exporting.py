"""Sessions written to a file of the person's own, as Markdown or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from conversation import Conversation
from domain import errors
from domain.records import Session
from interfaces.terminal.messages import Words
from interfaces.terminal.times import local
from memory import Memory

FORMATS = ("md", "json")


def exported(
    chosen: Sequence[Session], memory: Memory, conversation: Conversation, form: str, words: Words
) -> str:
    """Sessions, oldest first, in one of ``FORMATS``."""
    if form == "json":
        return json.dumps(
            {"sessions": [_values(session, memory) for session in chosen]}, ensure_ascii=False, indent=2
        )
    names = {"user": conversation.person(words.language), "assistant": conversation.companion(words.language)}
    return "\n".join(_markdown(session, memory, names) for session in chosen)


def write_new(name: str, content: str) -> Path:
    """Write a new file that only its owner may read. Raises UsageError, also when there is such a file."""
    path = Path(name).expanduser().absolute()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(content.rstrip("\n") + "\n")
    except FileExistsError as fault:
        raise errors.UsageError("export.exists", path=path) from fault
    except OSError as fault:
        raise errors.UsageError("export.failed", path=path, reason=fault.strerror) from fault
    return path


def _values(session: Session, memory: Memory) -> dict[str, object]:
    summary = memory.summary(session.session_id)
    turns = [
        {
            "text_id": turn.text_id,
            "timestamp": turn.timestamp,
            "role": turn.role,
            "text": turn.words,
            "finish": turn.finish,
        }
        for turn in memory.turns_of(session.session_id)
    ]
    return {**asdict(session), "summary": summary.summary if summary else None, "turns": turns}


def _markdown(session: Session, memory: Memory, names: dict[str, str]) -> str:
    summary = memory.summary(session.session_id)
    parts = [f"# {local(session.start_timestamp)} · {session.session_id}", ""]
    if summary:
        parts += ["> " + line for line in summary.summary.splitlines()] + [""]
    for turn in memory.turns_of(session.session_id):
        parts += [f"**{names[turn.role]}** · {local(turn.timestamp)}", "", turn.words, ""]
    return "\n".join(parts)
