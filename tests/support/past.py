"""Conversations of other programs, made by hand, and what became of them in a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from domain.imports import PastConversation, PastMessage, Spoken, Unread
from domain.records import Message
from domain.workers import CancelToken
from jobs.importing import ImportContext, ImportDone, Importing, plain_name
from memory import Memory

#: When a talk begins, while nothing else is said.
BEGAN = datetime(2025, 5, 1, 10, 0, tzinfo=UTC)
_BY: dict[str, Spoken] = {"P": "person", "C": "companion"}


@dataclass
class Handmade:
    """A file that holds these conversations."""

    conversations: Sequence[PastConversation | Unread]
    source: str = "chatgpt"
    size: int = 100
    done: int = field(default=0)

    def read(self) -> Iterator[PastConversation | Unread]:
        """Everything in it."""
        yield from self.conversations


def talk(
    key: str, *said: str, began: datetime | None = BEGAN, title: str = "", persona: str = "", source: str = "messages"
) -> PastConversation:
    """A conversation, a minute a message: ``P: ...`` is the person's, ``C: ...`` the companion's, else a name's.

    ``... 7h later`` lets hours pass.
    """
    messages: list[PastMessage] = []
    now = began
    for number, line in enumerate(said):
        if line.startswith("..."):
            now = now + timedelta(hours=float(line.split()[1][:-1])) if now else None
            continue
        who, _, words = line.partition(": ")
        by = _BY.get(who, "somebody")
        speaker = who if by == "somebody" else ""
        messages.append(PastMessage(f"m{number}", by, words, now, speaker))
        now = now + timedelta(minutes=1) if now else None
    return PastConversation(source, key, title, tuple(messages), persona)


def continued(before: PastConversation, *said: str, hours: float = 0.0) -> PastConversation:
    """The same conversation in a newer export: some hours later more was said."""
    last = before.messages[-1].said
    assert last is not None
    more = talk(before.key, *said, began=last + timedelta(hours=hours, minutes=1))
    renamed = (replace(one, key=f"n{len(before.messages)}-{one.key}") for one in more.messages)
    return replace(before, messages=(*before.messages, *renamed))


def bring(
    memory: Memory, *conversations: PastConversation | Unread, me: str = "", sha256: str = "1", at_once: int = 500
) -> ImportDone:
    """Bring conversations along, as one file."""
    who = ImportContext(frozenset([plain_name(me)]) if me else frozenset(), datetime(2026, 1, 1, tzinfo=UTC))
    work = Importing(memory, at_once).run(Handmade(conversations), "chats.json", sha256, who, CancelToken())
    *_, last = work
    assert isinstance(last, ImportDone)
    return last


def told(memory: Memory) -> list[list[str]]:
    """What was said in each session, in their order in life."""
    found = []
    for session in reversed(memory.sessions.recent(None)):
        if messages := memory.messages.of_session(session.session_id):
            found.append([_line(message) for message in messages])
    return found


def _line(message: Message) -> str:
    return f"{message.speaker or message.role[0]}: {message.words}"
