"""Gathers one conversation: every message that was seen is taken or counted as left out, so that the counts add up."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from datetime import datetime

from domain.histories import PastConversation, PastMessage, Spoken
from domain.text import clean, is_blank
from histories import omissions
from histories.instants import utc_name

#: How the key of a conversation begins that has none in its file, and is named by how it begins.
BY_BEGINNING = "~"


def digest(*fields: str) -> str:
    """A key made from what something says, where the format gives it none."""
    return hashlib.sha256("\x1f".join(fields).encode("utf-8", "replace")).hexdigest()[:24]


def same_name(one: str, other: str) -> bool:
    """Whether two names are written alike, but for case and form."""
    return bool(one.strip()) and _bare(one) == _bare(other)


def _bare(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def spoken_by(speaker: str, me: str) -> Spoken:
    """Whose words a speaker's are in a chat between people."""
    return "person" if me and same_name(speaker, me) else "somebody"


class Talk:
    """A conversation that is being read.

    A message without a time has that of the one before it, the first that of the conversation: it cannot be older.
    """

    def __init__(
        self, source: str, key: str, title: str = "", *, began: datetime | None = None, persona: str = ""
    ) -> None:
        self.source, self.key, self.title, self.persona = source, clean(key), title, persona
        self._last = began
        self._messages: list[PastMessage] = []
        self._left_out: Counter[str] = Counter()
        self._written: Counter[str] = Counter()

    def take(
        self, key: str, by: Spoken, text: str, said: datetime | None, speaker: str = "", written: str = ""
    ) -> None:
        """One message, or one more that was empty.

        Without a key of its own it gets one from who said what when; ``written`` is that time where it stands without
        a zone, so that the key does not change with the zone.
        """
        words = clean(text).strip()
        if is_blank(words):
            self.leave(omissions.EMPTY)
            return
        if not key:
            when = written or (utc_name(said) if said else "")
            key = self.ordinal(digest(speaker or by, when, words))
        self._last = said or self._last
        self._messages.append(PastMessage(clean(key), by, words, self._last, clean(speaker).strip()))

    def leave(self, reason: str, count: int = 1) -> None:
        """Messages that are not taken over."""
        if count:
            self._left_out[reason] += count

    @property
    def count(self) -> int:
        """How many messages were taken."""
        return len(self._messages)

    def finished(self) -> PastConversation:
        """The conversation; one without a key is named by how it begins, so that one that grew is the same."""
        title = clean(self.title).strip()
        key = self.key or BY_BEGINNING + digest(title, *(message.key for message in self._messages[:2]))
        return PastConversation(
            self.source, key, title, tuple(self._messages), clean(self.persona).strip(), dict(self._left_out)
        )

    def ordinal(self, key: str) -> str:
        """The key, marked with the how manieth of its kind it is, from the second on."""
        self._written[key] += 1
        return key if not key or self._written[key] == 1 else f"{key}-{self._written[key]}"
