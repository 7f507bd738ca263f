"""Builds one conversation: every message is taken or counted as left out, so that the counts add up."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from datetime import datetime
from enum import StrEnum

from domain.imports import PastConversation, PastMessage, Spoken
from domain.text import clean_text, is_blank
from language.instants import utc_name

#: How the key of a conversation begins that has none in its file, and is named by how it begins.
CONTENT_KEY_PREFIX = "~"


class LeftOut(StrEnum):
    """Why a message is not imported: message keys, counted by each conversation."""

    SYSTEM = "history.left_out.system"
    INSTRUCTIONS = "history.left_out.instructions"
    HIDDEN = "history.left_out.hidden"
    TOOL = "history.left_out.tool"
    THINKING = "history.left_out.thinking"
    OTHER_BRANCH = "history.left_out.other_branch"
    EMPTY = "history.left_out.empty"
    ATTACHMENT = "history.left_out.attachment"
    DELETED = "history.left_out.deleted"
    FORWARDED = "history.left_out.forwarded"
    FAILED = "history.left_out.failed"
    NOT_REMEMBERED = "history.left_out.not_remembered"
    NO_TALK = "history.left_out.no_talk"
    MISSHAPEN = "history.left_out.misshapen"


def make_key(*fields: str) -> str:
    """A key made from what something says, where the format gives it none."""
    return hashlib.sha256("\x1f".join(fields).encode("utf-8", "replace")).hexdigest()[:24]


def is_same_name(one: str, other: str) -> bool:
    """Whether two names are written alike, but for case and form."""
    return bool(one.strip()) and _normalize_name(one) == _normalize_name(other)


def _normalize_name(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def role_of_speaker(speaker: str, me: str) -> Spoken:
    """Whose words a speaker's are in a chat between people."""
    return "person" if me and is_same_name(speaker, me) else "somebody"


class ConversationBuilder:
    """A conversation that is being read.

    A message without a time has that of the one before it, the first that of the conversation: it cannot be older.
    """

    def __init__(
        self, source: str, key: str, title: str = "", *, began: datetime | None = None, persona: str = ""
    ) -> None:
        self.source, self.key, self.title, self.persona = source, clean_text(key), title, persona
        self._last = began
        self._messages: list[PastMessage] = []
        self._left_out: Counter[str] = Counter()
        self._written: Counter[str] = Counter()

    def add_message(
        self, key: str, by: Spoken, text: str, said: datetime | None, speaker: str = "", written: str = ""
    ) -> None:
        """Add a message, or count it as empty.

        Without a key it gets one from speaker, time and text; ``written`` is the time without a zone, so that
        the key does not depend on the zone.
        """
        words = clean_text(text).strip()
        if is_blank(words):
            self.leave_out(LeftOut.EMPTY)
            return
        if not key:
            when = written or (utc_name(said) if said else "")
            key = self.number_key(make_key(speaker or by, when, words))
        self._last = said or self._last
        self._messages.append(PastMessage(clean_text(key), by, words, self._last, clean_text(speaker).strip()))

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count messages that are not imported."""
        if count:
            self._left_out[reason] += count

    def build(self) -> PastConversation:
        """The conversation; one without a key is named by how it begins, so that one that grew is the same."""
        title = clean_text(self.title).strip()
        key = self.key or CONTENT_KEY_PREFIX + make_key(title, *(message.key for message in self._messages[:2]))
        return PastConversation(
            self.source, key, title, tuple(self._messages), clean_text(self.persona).strip(), dict(self._left_out)
        )

    def number_key(self, key: str) -> str:
        """The key, numbered from its second use on."""
        self._written[key] += 1
        return key if not key or self._written[key] == 1 else f"{key}-{self._written[key]}"
