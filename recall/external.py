"""External memories: read-only sources, recalled within the same budget, each with the name of its source.

They are read once, in the background, into a store in memory, and searched like our own messages
(``recall.retriever``). Only texts that share a word with the question, or are near it, are recalled, in a limited share
of the budget if our own memory returns anything. What was erased here, or is hidden, is left out, which is reported
before anything is recalled, and so is what retells the hidden, but for a question about it.

Nothing of it is ever on our disk, so that nothing is left of a source that is unset, and an erasure here has nothing to
search for in it. Vectors are made in this program, never by a server, of the newest texts. A missing or broken source
is reported once and stops nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from domain import errors
from domain.events import Notice
from domain.indexes import Embedder
from domain.recollection import RecalledExternal, RecalledMessage, RecallLimits, RecallRequest, Recollection
from domain.records import PREFIX, Kind
from domain.settings import ExternalMemory
from language.forget_requests import retells_hidden
from language.scripts import unspaced_share
from language.words import tokens
from recall.embedding import BACKGROUND, SENTENCE_MODEL, HashedEmbedder, key_in, query_key
from storage.engine import Stamp
from storage.erased import texts_like
from storage.external import ExternalText, SourceTexts, is_within, locate_source, read_source
from storage.messages import NewMessage
from storage.repositories import Repositories

if TYPE_CHECKING:
    from domain.indexes import Hit, Vector
    from recall.retriever import OwnMemories
    from storage.vectors.table import InMemoryRows

#: The share of the budget if our own memory returns anything; the most texts.
_SHARE, _MOST = 0.3, 8
#: Texts of all sources together that get a vector, the newest: a hundred in a second.
MOST_VECTORS = 4_000
_AT_ONCE, _EMBEDDED_AT_ONCE = 200, 16
#: Stored in place of an unknown time.
_LONG_AGO = "1970-01-01T00:00:00+00:00"
#: Seconds that a search waits for reading to finish.
_READING = 5.0
#: How much nearer than unrelated sentences, as a cosine, a text without a shared word must be.
_NEAR = 0.2
#: How many of the nearest are checked for that.
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class SourcedText:
    """A text and the name of the source that it is from."""

    source: str
    text: ExternalText


class ExternalTexts:
    """Texts of other memories by id, in a store and an index of vectors that live only in memory."""

    def __init__(self, embedder: Embedder, log: logging.Logger) -> None:
        self.of = Repositories(None, tokens, Stamp(datetime.now, lambda: ""), log)
        self.texts: dict[str, SourcedText] = {}
        self.embedder = embedder
        self._rows: InMemoryRows | None = None
        self._sessions: set[str] = set()

    # -- an index of vectors

    @property
    def state(self) -> str:
        """Whether vectors can be searched."""
        return "empty" if self._rows is None else "ready"

    def search(self, *vectors: Vector, kind: Kind, exclude_session: str, limit: int) -> Sequence[Sequence[Hit]]:
        """The texts nearest to each vector; there are no summaries."""
        if self._rows is None or kind == "summary" or limit < 1:
            return [[] for _ in vectors]
        import numpy as np

        return self._rows.search(np.stack([_unit(vector) for vector in vectors]), None, limit)

    def add(self, source: str, read: SourceTexts, stopped: Callable[[], bool]) -> None:
        """Take in all that was read of a source, findable by its words."""
        for start in range(0, len(read.texts), _AT_ONCE):
            if stopped():
                return
            with self.of.database.write() as tx:
                for text in read.texts[start : start + _AT_ONCE]:
                    text_id = f"@{source}·{len(self.texts) + 1}"
                    when, session = text.timestamp or _LONG_AGO, f"@{source}:{text.group}"
                    self.texts[text_id] = SourcedText(source, text)
                    if session not in self._sessions:
                        self._sessions.add(session)
                        self.of.sessions.add(tx, session, when, client="others", client_key=session)
                    message = NewMessage(text_id, when, text.role or "user", text.text)
                    stored = self.of.messages.add_round(tx, session, (message,), "stop", when)
                    self.of.index.add_messages(tx, stored, new=True)

    def embed(self, stopped: Callable[[], bool]) -> None:
        """Make the vectors of the newest texts, a few at a time."""
        newest = sorted(self.texts, key=lambda one: self.texts[one].text.timestamp, reverse=True)[:MOST_VECTORS]
        for start in range(0, len(newest), _EMBEDDED_AT_ONCE):
            if stopped():
                return
            self._embed_batch(newest[start : start + _EMBEDDED_AT_ONCE])

    def _embed_batch(self, text_ids: Sequence[str]) -> None:
        import numpy as np

        from storage.vectors.table import InMemoryRows

        messages = self.of.messages.with_ids(text_ids)
        made = self.embedder.embed(
            [key_in(self.of, message.text_id, self.embedder.model) or "" for message in messages]
        )
        rows = [(message, vector) for message, vector in zip(messages, made, strict=True) if vector is not None]
        if not rows:
            return
        if self._rows is None:
            self._rows = InMemoryRows(len(rows[0][1]))
        ids, sessions = [message.text_id for message, _ in rows], [message.session_id for message, _ in rows]
        self._rows.put(ids, sessions, np.stack([_unit(vector) for _, vector in rows]))


def _unit(vector: Vector) -> Vector:
    unit: Vector = (vector / float(vector @ vector) ** 0.5).astype("float32")
    return unit


class ExternalMemories:
    """The external memories in the settings. Reading begins with ``start``; searches wait a little for it.

    >>> external = ExternalMemories(settings.external_memories, folder, embedder, log, own)
    >>> external.start()
    """

    def __init__(
        self,
        sources: Sequence[ExternalMemory],
        own_folder: Path,
        embedder: Embedder,
        log: logging.Logger,
        own: Repositories,
    ) -> None:
        """``own`` says which texts were erased or hidden in our own memory."""
        #: Problems with sources that were not yet reported.
        self.notices: list[Notice] = []
        self._embedder = embedder
        self._log = log
        self._own = own
        self._stopped, self._readable, self._settled = Event(), Event(), Event()
        self._thread: Thread | None = None
        self._texts: ExternalTexts | None = None
        self._searched: OwnMemories | None = None
        self._sources = [one for one in sources if self._is_usable(one, own_folder)]

    def _is_usable(self, source: ExternalMemory, own_folder: Path) -> bool:
        """Whether the source exists and is not our own memory."""
        missing = not locate_source(source.path)[0].exists()
        if missing or is_within(source.path, own_folder):
            self._add_notice("external.missing" if missing else "external.own", source)
            return False
        return True

    def take_notices(self) -> list[Notice]:
        """The problems with sources that were not yet reported."""
        return [self.notices.pop(0) for _ in range(len(self.notices))]

    def _add_notice(self, key: str, source: ExternalMemory, **details: object) -> None:
        self.notices.append(Notice(key, {"name": source.name, "path": str(source.path), **details}))

    # -- reading -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read all sources in a thread; without any nothing happens."""
        if self._sources and self._thread is None:
            self._thread = Thread(target=self._read_and_embed, name="external", daemon=True)
            self._thread.start()

    def wait_until_read(self, timeout: float) -> bool:
        """Wait until everything is read and embedded; whether it is."""
        return not self._sources or self._settled.wait(timeout)

    def close(self, patience: float = 1.0) -> None:
        """Stop reading and close the database; safe to call twice."""
        self._stopped.set()
        if self._thread:
            self._thread.join(patience)
        if self._texts and not (self._thread and self._thread.is_alive()):
            self._texts.of.database.close()

    def _read_and_embed(self) -> None:
        try:
            self._read_sources()
            self._readable.set()
            if self._texts:
                self._texts.embed(self._stopped.is_set)
        except Exception:  # a search goes on without, and nothing else depends on it
            if not self._stopped.is_set():
                self._log.exception("external memories")
        finally:
            self._readable.set()
            self._settled.set()

    def _read_sources(self) -> None:
        from recall.retriever import OwnMemories

        # A local embedder: no external text is sent to a server.
        is_local = self._embedder.model in (SENTENCE_MODEL, HashedEmbedder.model)
        embedder = self._embedder if is_local else HashedEmbedder()
        self._texts = ExternalTexts(embedder, self._log)
        self._searched = OwnMemories(self._texts.of, self._texts, embedder, self._log)
        for source in self._sources:
            if not self._stopped.is_set():
                self._read_one(source, self._texts)

    def _read_one(self, source: ExternalMemory, texts: ExternalTexts) -> None:
        try:
            read = read_source(source.path)
        except errors.StorageError as fault:
            key = fault.key if fault.key.startswith("external.") else "external.broken"
            self._add_notice(key, source, **{"reason": str(fault), **fault.details})
            self._log.warning("%s cannot be read: %s", source.path, fault)
            return
        except Exception as fault:  # whatever a foreign file makes a library raise
            self._add_notice("external.broken", source, reason=type(fault).__name__)
            self._log.warning("%s cannot be read", source.path, exc_info=fault)
            return
        if read.left_out:
            self._add_notice("external.left_out", source, taken=len(read.texts), left_out=read.left_out)
        if not source.with_erased and (gone := self._forgotten([one.text for one in read.texts])):
            self._add_notice("external.erased", source, count=sum(one.text in gone for one in read.texts))
            read = replace(read, texts=[one for one in read.texts if one.text not in gone])
        texts.add(source.name, read, self._stopped.is_set)

    # -- finding -------------------------------------------------------------------------------------------------

    def find(self, asked: RecallRequest, found: Recollection) -> Recollection:
        """The recollection with the matches that fit: into their share, or into all if there is nothing else."""
        from recall.selection import LEGEND, cost_of_external, fit_budget, make_room

        searched = self._wait_until_readable()
        if searched is None or self._texts is None:
            return found
        most = replace(asked.limits, messages=min(asked.limits.messages, _MOST))
        try:
            recalled = searched.find(replace(asked, session_id="", hidden=None, limits=most), Recollection())
        except errors.StorageError:
            self._log.exception("external memories cannot be searched")
            return found
        near = self._near_ids(asked.queries[-1], self._texts) if asked.gated else set()
        hits = [message for message in recalled.messages if message.hit]
        hits = [message for message in hits if message.why.words or message.text_id in near or not asked.gated]
        hidden, question = self._hidden_words() if hits else (), " ".join(asked.queries)
        best = [one for one in self._best_first(hits) if not hidden or not retells_hidden(one.text, hidden, question)]
        tokens = asked.limits.tokens
        fitting = fit_budget(best, cost_of_external, int(tokens * _SHARE if found else tokens) - LEGEND)
        if not fitting:
            return found
        found = make_room(found, tokens - LEGEND - sum(map(cost_of_external, fitting)))
        return replace(found, external=tuple(fitting))

    def search(self, text: str, limits: RecallLimits, found: Recollection) -> Recollection:
        """The recollection with the texts that contain these words in any form, best first."""
        searched = self._wait_until_readable()
        if searched is None:
            return found
        hits = searched.search(text, limits, Recollection()).messages
        return replace(found, external=self._best_first(hits))

    def _near_ids(self, query: str, texts: ExternalTexts) -> set[str]:
        """The ids of texts near to a question in meaning."""
        background = BACKGROUND[unspaced_share(query) > 0.5]
        vector, *unrelated = texts.embedder.embed([query_key(query), *background])
        if vector is None:
            return set()
        floor = sum(float(vector @ one) for one in unrelated if one is not None) / len(background)
        hits = texts.search(vector, kind="conversation", exclude_session="", limit=_LOOKED_AT)[0]
        return {hit.text_id for hit in hits if hit.similarity - floor >= _NEAR}

    def _wait_until_readable(self) -> OwnMemories | None:
        """The texts as memories, once everything is read; None if that takes too long."""
        if not self._sources or self._stopped.is_set():
            return None
        self.start()
        self._readable.wait(_READING)
        return self._searched

    def _hidden_words(self) -> list[str]:
        return [message.words for message in self._own.messages.hidden() if message.role == "user"]

    def _forgotten(self, texts: Sequence[str]) -> set[str]:
        """Those of these texts that say what was erased, or what the person asked to have forgotten."""
        hidden = self._hidden_words()
        return self._own.erased.holds(texts) | (texts_like(texts, hidden) if hidden else set())

    def _best_first(self, hits: Sequence[RecalledMessage]) -> tuple[RecalledExternal, ...]:
        """The texts of hits, without what was forgotten since they were read."""
        assert self._texts
        best = [
            (message, self._texts.texts[message.text_id])
            for message in sorted(hits, key=lambda message: -message.why.score)
        ]
        kept = {one.name for one in self._sources if one.with_erased}
        gone = self._forgotten([one.text.text for _, one in best if one.source not in kept])
        return tuple(
            _as_external(message, one) for message, one in best if one.source in kept or one.text.text not in gone
        )


def _as_external(message: RecalledMessage, found: SourcedText) -> RecalledExternal:
    text, said = found.text, message.text.removeprefix(PREFIX[message.role])
    return RecalledExternal(
        message.text_id, found.source, text.place, text.timestamp, text.role, said,
        message.why, cut=message.cut, whole=message.whole.removeprefix(PREFIX[message.role]),
    )  # fmt: skip
