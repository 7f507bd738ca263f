"""Memories of others, only read: found beside our own, inside the same budget, each with the name of its source.

    EXTERNAL_MEMORIES -> read once, in the background -> held in memory -> found as turns are -> told with its source

They are found as our own turns are (``recall.finder``), but only what shares a word with the question, or is near it,
is handed over, and at most a share of the budget while our own memory holds anything.

Promises: nothing is written, to a source or of it; a source that is missing or broken is said once, in one line, and
stops nothing; what was read goes with the program, and a source that is unset is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from domain import errors
from domain.events import Notice
from domain.languages import estimate, unspaced_share
from domain.recollection import RecalledOther, RecalledTurn, RecallLimits, Recollection
from domain.records import PREFIX
from domain.settings import ExternalMemory
from domain.text import encoded
from recall.embedding import BACKGROUND, HashedEmbedder, key_in, query_key
from recall.weights import SENTENCE_MODEL
from recall.words import tokens
from storage.others.other_texts import is_within, located

if TYPE_CHECKING:
    from domain.vectors import Embedder
    from recall.finder import Finder
    from storage.others.held_texts import HeldTexts

#: The share of the budget that they may take while our own memory holds anything; and of the number of turns.
_SHARE, _MOST = 0.3, 8
#: Tokens of one record without its text, and of the words that explain such records.
_RECORD, LEGEND = 45, 110
#: Seconds that a search waits for what is being read.
_READING = 5.0
#: How far one must stand above unrelated sentences, as a cosine, where it shares no word with a question.
_NEAR = 0.2
#: So many of the nearest are looked at for that.
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Offered:
    """What was found in memories of others, best first, for a recollection within ``limits``."""

    limits: RecallLimits
    found: tuple[RecalledOther, ...] = ()

    @property
    def left(self) -> RecallLimits:
        """What they leave of the budget to our own memory."""
        if not self.found:
            return self.limits
        return replace(self.limits, tokens=self.limits.tokens - LEGEND - sum(map(cost_of, self._share)))

    @property
    def _share(self) -> tuple[RecalledOther, ...]:
        return within(self.found, int(self.limits.tokens * _SHARE))

    def beside(self, own: Recollection) -> Recollection:
        """Our own recollection with what was found of others; all of that where our own memory holds nothing."""
        if not self.found:
            return own
        return replace(own, others=self._share if own else within(self.found, self.limits.tokens))


def within(found: Sequence[RecalledOther], budget: int) -> tuple[RecalledOther, ...]:
    """The first of them, as far as there is room."""
    kept: list[RecalledOther] = []
    left = budget - LEGEND
    for one in found:
        if (cost := cost_of(one)) <= left:
            kept.append(one)
            left -= cost
    return tuple(kept)


def cost_of(one: RecalledOther) -> int:
    """Tokens of the record of one of them."""
    return _RECORD + estimate(encoded([one.source, one.place, one.text]))


class Others:
    """The memories of others that the settings name. Reading begins with ``start``, and searches wait a little for it.

    >>> others = Others(settings.external_memories, folder, embedder, log)
    >>> others.start()
    >>> others.found(["Where is the spare key?"], now, limits).beside(own)
    """

    def __init__(
        self, sources: Sequence[ExternalMemory], own_folder: Path, embedder: Embedder, log: logging.Logger
    ) -> None:
        #: What is wrong with a source, or was left out of it, until somebody says so.
        self.notices: list[Notice] = []
        self._embedder = embedder
        self._log = log
        self._stopped, self._readable, self._settled = Event(), Event(), Event()
        self._thread: Thread | None = None
        self._held: HeldTexts | None = None
        self._finder: Finder | None = None
        self._sources = [one for one in sources if self._usable(one, own_folder)]

    def _usable(self, source: ExternalMemory, own_folder: Path) -> bool:
        """Whether anything lies where a source should be, and it is not our own memory."""
        missing = not located(source.path)[0].exists()
        if missing or is_within(source.path, own_folder):
            self._tell("others.missing" if missing else "others.own", source)
            return False
        return True

    def take_notices(self) -> list[Notice]:
        """What is wrong with sources and was not yet said."""
        return [self.notices.pop(0) for _ in range(len(self.notices))]

    def _tell(self, key: str, source: ExternalMemory, **details: object) -> None:
        self.notices.append(Notice(key, {"name": source.name, "path": str(source.path), **details}))

    # -- reading -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read all sources in a thread; without any nothing happens."""
        if self._sources and self._thread is None:
            self._thread = Thread(target=self._run, name="others", daemon=True)
            self._thread.start()

    def settle(self, timeout: float) -> bool:
        """Wait until everything is read and has its vectors. False when it is not."""
        return not self._sources or self._settled.wait(timeout)

    def close(self, patience: float = 1.0) -> None:
        """Stop reading and let go of everything; safe to call twice."""
        self._stopped.set()
        if self._thread:
            self._thread.join(patience)
        if self._held and not (self._thread and self._thread.is_alive()):
            self._held.of.database.close()

    def _run(self) -> None:
        try:
            self._read()
            self._readable.set()
            if self._held:
                self._held.embed(self._stopped.is_set)
        except Exception:  # a search goes on without, and nothing else depends on it
            if not self._stopped.is_set():
                self._log.exception("memories of others")
        finally:
            self._readable.set()
            self._settled.set()

    def _read(self) -> None:
        from recall.finder import Finder
        from recall.ranking import weigher
        from storage.others.held_texts import HeldTexts

        embedder = self._own_embedder()
        self._held = HeldTexts(embedder, tokens, lambda one, of: key_in(of, one, embedder.model), self._log)
        self._finder = Finder(self._held.of, self._held, self._log, weigher(lambda: embedder.model))
        for source in self._sources:
            if not self._stopped.is_set():
                self._read_one(source, self._held)

    def _read_one(self, source: ExternalMemory, held: HeldTexts) -> None:
        from storage.others.sources import read_source

        try:
            read = read_source(source.path)
        except errors.StorageError as fault:
            key = fault.key if fault.key.startswith("others.") else "others.broken"
            self._tell(key, source, **{"reason": str(fault), **fault.details})
            self._log.warning("%s cannot be read: %s", source.path, fault)
            return
        except Exception as fault:  # whatever a foreign file makes a library raise
            self._tell("others.broken", source, reason=type(fault).__name__)
            self._log.warning("%s cannot be read", source.path, exc_info=fault)
            return
        if read.left_out:
            self._tell("others.left_out", source, taken=len(read.texts), left_out=read.left_out)
        held.add(source.name, read, self._stopped.is_set)

    def _own_embedder(self) -> Embedder:
        """What makes vectors in this program: no text of others goes to a server."""
        here = self._embedder.model in (SENTENCE_MODEL, HashedEmbedder.model)
        return self._embedder if here else HashedEmbedder()

    # -- finding -------------------------------------------------------------------------------------------------

    def found(
        self,
        queries: Sequence[str],
        now: datetime,
        limits: RecallLimits,
        *,
        recent: Sequence[str] = (),
        gated: bool = True,
        apart: bool = False,
    ) -> Offered:
        """What belongs to these queries, which mean what they mean to ``Finder.recall``."""
        finder = self._awaited()
        if finder is None or self._held is None:
            return Offered(limits)
        most = replace(limits, turns=min(limits.turns, _MOST))
        try:
            recalled = finder.recall(
                queries, self._held.embedder.embed, session_id="", now=now, limits=most,
                recent=recent, gated=gated, apart=apart,
            )  # fmt: skip
        except errors.StorageError:
            self._log.exception("memories of others cannot be searched")
            return Offered(limits)
        near = self._near(queries[-1], self._held) if gated else set()
        hits = [turn for turn in recalled.turns if turn.hit]
        hits = [turn for turn in hits if turn.why.words or turn.text_id in near or not gated]
        hits.sort(key=lambda turn: -turn.why.score)
        return Offered(limits, tuple(one for turn in hits if (one := self._other(turn))))

    def search(self, words: str, limits: RecallLimits) -> tuple[RecalledOther, ...]:
        """Those that hold these words in any of their forms, best first."""
        finder = self._awaited()
        if finder is None:
            return ()
        hits = sorted(finder.search(words, limits).turns, key=lambda turn: -turn.why.score)
        return tuple(one for turn in hits if (one := self._other(turn)))

    def _near(self, query: str, held: HeldTexts) -> set[str]:
        """What is near to a question in meaning: of a few notes nothing is told because it would have room."""
        background = BACKGROUND[unspaced_share(query) > 0.5]
        vector, *unrelated = held.embedder.embed([query_key(query), *background])
        if vector is None:
            return set()
        floor = sum(float(vector @ one) for one in unrelated if one is not None) / len(background)
        hits = held.search(vector, kind="conversation", exclude_session="", limit=_LOOKED_AT)
        return {hit.text_id for hit in hits if hit.similarity - floor >= _NEAR}

    def _awaited(self) -> Finder | None:
        """What finds, once everything is read, or enough was waited for that."""
        if not self._sources or self._stopped.is_set():
            return None
        self.start()
        self._readable.wait(_READING)
        return self._finder

    def _other(self, turn: RecalledTurn) -> RecalledOther | None:
        held = self._held.texts.get(turn.text_id) if self._held else None
        if held is None:
            return None
        text = held.text
        said = turn.text.removeprefix(PREFIX[turn.role])
        return RecalledOther(
            turn.text_id, held.source, text.place, text.timestamp, text.role, said,
            turn.why, cut=turn.cut, whole=turn.whole.removeprefix(PREFIX[turn.role]),
        )  # fmt: skip
