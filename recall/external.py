"""External memories: read-only sources, recalled within the same budget, each with the name of its source.

They are read once, in the background, into memory, and searched like our own messages (``recall.retriever``). Only
texts that share a word with the question, or are near it, are recalled, in a limited share of the budget if our own
memory returns anything. What was erased here, or is hidden, is left out, which is reported before anything is recalled.
Nothing is written. A missing or broken source is reported once and stops nothing.
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
from domain.recollection import RecalledExternal, RecalledMessage, RecallLimits, Recollection
from domain.records import PREFIX
from domain.settings import ExternalMemory
from domain.text import encode_json
from language.scripts import estimate, unspaced_share
from language.words import tokens
from recall.embedding import BACKGROUND, SENTENCE_MODEL, HashedEmbedder, key_in, query_key
from storage.external.texts import is_within, locate_source

if TYPE_CHECKING:
    from domain.indexes import Embedder
    from recall.retriever import Retriever
    from storage.external.text_index import ExternalTexts, SourcedText

#: The share of the budget if our own memory returns anything; the most texts.
_SHARE, _MOST = 0.3, 8
#: Tokens of a record without its text, and of the explanation of such records.
_RECORD, LEGEND = 45, 110
#: Seconds that a search waits for reading to finish.
_READING = 5.0
#: How much nearer than unrelated sentences, as a cosine, a text without a shared word must be.
_NEAR = 0.2
#: How many of the nearest are checked for that.
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class ExternalMatches:
    """What was found in external memories, best first, for a recollection within ``limits``."""

    limits: RecallLimits
    found: tuple[RecalledExternal, ...] = ()

    @property
    def remaining_limits(self) -> RecallLimits:
        """The remaining budget for our own memory."""
        if not self.found:
            return self.limits
        return replace(self.limits, tokens=self.limits.tokens - LEGEND - sum(map(cost_of, self._fitting_share)))

    @property
    def _fitting_share(self) -> tuple[RecalledExternal, ...]:
        return fit_budget(self.found, int(self.limits.tokens * _SHARE))

    def add_to(self, own: Recollection) -> Recollection:
        """Our own recollection with these matches; if it is empty they get the whole budget."""
        if not self.found:
            return own
        return replace(own, external=self._fitting_share if own else fit_budget(self.found, self.limits.tokens))


def fit_budget(found: Sequence[RecalledExternal], budget: int) -> tuple[RecalledExternal, ...]:
    """The best that fit the budget."""
    fitting: list[RecalledExternal] = []
    left = budget - LEGEND
    for one in found:
        if (cost := cost_of(one)) <= left:
            fitting.append(one)
            left -= cost
    return tuple(fitting)


def cost_of(one: RecalledExternal) -> int:
    """Tokens of a record."""
    return _RECORD + estimate(encode_json([one.source, one.place, one.text]))


class ExternalMemories:
    """The external memories in the settings. Reading begins with ``start``; searches wait a little for it.

    >>> external = ExternalMemories(settings.external_memories, folder, embedder, log)
    >>> external.start()
    >>> external.find(["Where is the spare key?"], now, limits).add_to(own)
    """

    def __init__(
        self,
        sources: Sequence[ExternalMemory],
        own_folder: Path,
        embedder: Embedder,
        log: logging.Logger,
        forgotten: Callable[[Sequence[str]], set[str]],
    ) -> None:
        """``forgotten`` says which of some texts were erased or hidden in our own memory."""
        #: Problems with sources that were not yet reported.
        self.notices: list[Notice] = []
        self._embedder = embedder
        self._log = log
        self._forgotten = forgotten
        self._stopped, self._readable, self._settled = Event(), Event(), Event()
        self._thread: Thread | None = None
        self._texts: ExternalTexts | None = None
        self._retriever: Retriever | None = None
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
        from recall.retriever import Retriever
        from storage.external.text_index import ExternalTexts

        # A local embedder: no external text is sent to a server.
        is_local = self._embedder.model in (SENTENCE_MODEL, HashedEmbedder.model)
        embedder = self._embedder if is_local else HashedEmbedder()
        self._texts = ExternalTexts(embedder, tokens, lambda one, of: key_in(of, one, embedder.model), self._log)
        self._retriever = Retriever(self._texts.of, self._texts, self._log, lambda: embedder.model)
        for source in self._sources:
            if not self._stopped.is_set():
                self._read_one(source, self._texts)

    def _read_one(self, source: ExternalMemory, texts: ExternalTexts) -> None:
        from storage.external.sources import read_source

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

    def find(
        self,
        queries: Sequence[str],
        now: datetime,
        limits: RecallLimits,
        *,
        recent: Sequence[str] = (),
        gated: bool = True,
        apart: bool = False,
    ) -> ExternalMatches:
        """The matches of these queries, with the arguments of ``Retriever.recall``."""
        finder = self._wait_for_retriever()
        if finder is None or self._texts is None:
            return ExternalMatches(limits)
        most = replace(limits, messages=min(limits.messages, _MOST))
        try:
            recalled = finder.recall(
                queries, self._texts.embedder.embed, session_id="", now=now, limits=most,
                recent=recent, gated=gated, apart=apart,
            )  # fmt: skip
        except errors.StorageError:
            self._log.exception("external memories cannot be searched")
            return ExternalMatches(limits)
        near = self._near_ids(queries[-1], self._texts) if gated else set()
        hits = [message for message in recalled.messages if message.hit]
        hits = [message for message in hits if message.why.words or message.text_id in near or not gated]
        return ExternalMatches(limits, self._best_first(hits))

    def search(self, words: str, limits: RecallLimits) -> tuple[RecalledExternal, ...]:
        """The texts that contain these words in any form, best first."""
        finder = self._wait_for_retriever()
        if finder is None:
            return ()
        return self._best_first(finder.search(words, limits).messages)

    def _near_ids(self, query: str, texts: ExternalTexts) -> set[str]:
        """The ids of texts near to a question in meaning."""
        background = BACKGROUND[unspaced_share(query) > 0.5]
        vector, *unrelated = texts.embedder.embed([query_key(query), *background])
        if vector is None:
            return set()
        floor = sum(float(vector @ one) for one in unrelated if one is not None) / len(background)
        hits = texts.search(vector, kind="conversation", exclude_session="", limit=_LOOKED_AT)
        return {hit.text_id for hit in hits if hit.similarity - floor >= _NEAR}

    def _wait_for_retriever(self) -> Retriever | None:
        """The retriever, once everything is read; None if that takes too long."""
        if not self._sources or self._stopped.is_set():
            return None
        self.start()
        self._readable.wait(_READING)
        return self._retriever

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
