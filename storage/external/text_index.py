"""What was read of other memories, in memory, searchable: words in a store, vectors beside it.

Nothing of it is ever on our disk, so that nothing is left of a source that is unset, and an erasure here has nothing to
search for in it. Vectors are made in this program, never by a server, of the newest texts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from domain.indexes import Embedder, Hit
from domain.records import Kind
from storage.engine import Stamp, Transaction
from storage.external.texts import ExternalText, SourceTexts
from storage.messages import NewMessage
from storage.repositories import Repositories, open_repositories
from storage.vectors.table import InMemoryRows

if TYPE_CHECKING:
    from domain.indexes import Vector

#: Texts of all sources together that get a vector, the newest: a hundred in a second.
MOST_VECTORS = 4_000
_AT_ONCE, _EMBEDDED_AT_ONCE = 200, 16
#: Stored in place of an unknown time.
_LONG_AGO = "1970-01-01T00:00:00+00:00"

#: What is embedded for a text of a store.
KeyOf = Callable[[str, Repositories], str | None]


@dataclass(frozen=True, slots=True)
class SourcedText:
    """A text and the name of the source that it is from."""

    source: str
    text: ExternalText


class ExternalTexts:
    """Texts of other memories by id, in a store and an index of vectors that live only in memory."""

    def __init__(
        self, embedder: Embedder, tokens: Callable[[str], Sequence[str]], key_of: KeyOf, log: logging.Logger
    ) -> None:
        self.of = open_repositories(None, tokens, Stamp(datetime.now, lambda: ""), log)
        self.texts: dict[str, SourcedText] = {}
        self.embedder = embedder
        self._key_of = key_of
        self._rows: InMemoryRows | None = None
        self._sessions: set[str] = set()

    # -- an index of vectors

    @property
    def state(self) -> str:
        """Whether vectors can be searched."""
        return "empty" if self._rows is None else "ready"

    def search(self, vector: Vector, *, kind: Kind, exclude_session: str, limit: int) -> Sequence[Hit]:
        """The nearest texts; there are no summaries."""
        if self._rows is None or kind == "summary" or limit < 1:
            return []
        query = np.asarray(vector, np.float32)
        return [Hit(*found) for found in self._rows.search(query / np.linalg.norm(query), None, limit)]

    def add(self, source: str, read: SourceTexts, stopped: Callable[[], bool]) -> None:
        """Take in all that was read of a source, findable by its words."""
        for start in range(0, len(read.texts), _AT_ONCE):
            if stopped():
                return
            with self.of.database.write() as tx:
                for text in read.texts[start : start + _AT_ONCE]:
                    self._add_text(tx, source, text)

    def _add_text(self, tx: Transaction, source: str, text: ExternalText) -> None:
        text_id = f"@{source}·{len(self.texts) + 1}"
        when, session = text.timestamp or _LONG_AGO, f"@{source}:{text.group}"
        self.texts[text_id] = SourcedText(source, text)
        if session not in self._sessions:
            self._sessions.add(session)
            self.of.sessions.add(tx, session, when, client="others", client_key=session)
        message = NewMessage(text_id, when, text.role or "user", text.text)
        self.of.index.add_messages(tx, self.of.messages.add_round(tx, session, (message,), "stop", when), new=True)

    def embed(self, stopped: Callable[[], bool]) -> None:
        """Make the vectors of the newest texts, a few at a time."""
        newest = sorted(self.texts, key=lambda one: self.texts[one].text.timestamp, reverse=True)[:MOST_VECTORS]
        for start in range(0, len(newest), _EMBEDDED_AT_ONCE):
            if stopped():
                return
            self._embed_batch(newest[start : start + _EMBEDDED_AT_ONCE])

    def _embed_batch(self, text_ids: Sequence[str]) -> None:
        messages = self.of.messages.with_ids(text_ids)
        made = self.embedder.embed([self._key_of(message.text_id, self.of) or "" for message in messages])
        rows = [(message, vector) for message, vector in zip(messages, made, strict=True) if vector is not None]
        if not rows:
            return
        if self._rows is None:
            self._rows = InMemoryRows(len(rows[0][1]))
        ids, sessions = [message.text_id for message, _ in rows], [message.session_id for message, _ in rows]
        self._rows.put(
            ids, sessions, np.stack([vector / np.linalg.norm(vector) for _, vector in rows]).astype(np.float32)
        )
