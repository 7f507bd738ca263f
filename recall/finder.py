"""Finds what matters now: from questions to a ``Recollection``.

    questions -> references resolved -> relevance -> words, vectors, times -> pool -> ranking -> relevance -> selection

Everything that is stored comes through the protocols of ``sources``, so that each may be missing: without
vectors it is found by words, without words by vectors, and the recollection says which part was missing.
Nothing here writes.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, datetime
from threading import Lock
from typing import TYPE_CHECKING

from domain import errors
from domain.languages import unspaced_share
from domain.recollection import MissingPart, RecallLimits, Recollection
from recall import questions, ranking, relevance, word_search
from recall.embedding import BACKGROUND, HashedEmbedder, query_key, turn_key
from recall.searching import Hidden, Search, Searched
from recall.selection import FRAME, RECORD, RankedSearch, Selector
from recall.sources import Archive, Embed, VectorIndex, WordIndex
from recall.turn_table import TurnTable

if TYPE_CHECKING:
    from domain.vectors import Vector

#: How much of the last round is read together with the input, in characters from its end.
_CONTEXT = 1200
#: What a remark's own words count beside the same remark read with what came before it.
_REMARK_ALONE = 0.8
#: So many turns are taken into the table at once.
_AT_ONCE = 20_000
#: How many of the best turns, and how many characters of each, are looked at for whether any is like the question.
_LOOKED_AT, _READ = 6, 400
#: Tokens a model reads for each word that is kept, stop words and punctuation among them, rather too many.
_TOKENS_A_WORD = 2.5


class Finder:
    """Recall over one archive. Safe to call from several threads.

    ``weigh`` chooses the weights of the ranking; it fits the embedder, and may be replaced when recall is measured.

    >>> finder.recall(["Where did we go last May?"], embedder.embed, session_id=now_open, now=clock())
    Recollection(summaries=(...), turns=(...), ...)
    """

    def __init__(
        self,
        lexicon: WordIndex,
        vectors: VectorIndex | None,
        archive: Archive,
        log: logging.Logger,
        weigh: ranking.Weigh = ranking.weigh,
    ) -> None:
        self.weigh = weigh
        self._lexicon = lexicon
        self._vectors = vectors
        self._archive = archive
        self._log = log
        self._table: TurnTable | None = None
        self._background: dict[bool, list[Vector]] = {}
        self._lock = Lock()

    def recall(
        self,
        queries: Sequence[str],
        embed: Embed | None,
        *,
        session_id: str,
        now: datetime,
        limits: RecallLimits,
        hidden: Collection[int] | None = None,
        recent: Sequence[str] = (),
        gated: bool = True,
    ) -> Recollection:
        """The memories that belong to ``queries``: the last round first, if there is one, the new input last.

        The input is searched for by itself, and once more together with the last round; the better counts.
        The summary of ``session_id`` is never found, nor are its turns: all of them, or those whose numbers are
        ``hidden`` (what stands in the context), so that what has left the context is found again.
        ``embed`` turns texts into vectors and is called once; None where there is no embedder. ``recent`` are the
        messages before the input, oldest first, for what "she" and "it" mean. With ``gated`` false the best are
        handed over however weak they are. An empty recollection is a good answer.
        """
        said = [query for query in queries if query.strip()]
        if not said or (gated and not relevance.needs_memory(said[-1])):
            return Recollection(queries=tuple(queries))
        asked = _asked(said, recent, now.date())
        unseen = Hidden(session_id, hidden)
        search = Search(self._lexicon, self._vectors, self._archive, self._known(), unseen, self._log)
        vectors = self._embedded([each.text for each in asked], embed, search.missing)
        backgrounds = [self._background.get(unspaced_share(each.text) > 0.5, ()) for each in asked]
        ranked = [
            RankedSearch(
                searched, _trusted(searched, ranking.rank(searched.evidence, self.weigh), len(asked))
            )
            for searched in search.find(asked, vectors, backgrounds)
        ]
        kept = [each for each in ranked if not gated or self._is_relevant(each, said[-1], limits.tokens)]
        present = self._archive.session_number(session_id)
        selector = Selector(self._archive, self._known(), limits, present, cutting=gated)
        turns, summaries, hits = selector.select(kept)
        resolved = tuple(each.text for each in asked)
        return Recollection(summaries, turns, hits, tuple(queries), resolved, tuple(search.missing))

    def search(self, text: str, limits: RecallLimits) -> Recollection:
        """The memories that hold the words of ``text``, and no others; empty when nobody ever said them."""
        return word_search.search(self._lexicon, self._archive, text, limits)

    def warm(self) -> None:
        """Read where all turns stand, so that the first question does not wait for it."""
        self._known()

    def _known(self) -> TurnTable:
        """The table, with what was stored since the last question."""
        with self._lock:
            table = self._table = self._table or TurnTable()
            while new := self._archive.after(table.last_seq, _AT_ONCE):
                table.extend(new)
            return table

    def _with_background(self, embed: Embed, texts: Sequence[str]) -> Sequence[Vector | None]:
        """The vectors of texts; with the first text of a script also those of its background, in the same call."""
        new = {unspaced_share(text) > 0.5 for text in texts} - self._background.keys()
        known = [(script, sentence) for script in sorted(new) for sentence in BACKGROUND[script]]
        vectors = embed([*texts, *(sentence for _, sentence in known)])
        for script in new:
            of_script = [v for (of, _), v in zip(known, vectors[len(texts) :], strict=True) if of == script]
            self._background[script] = [vector for vector in of_script if vector is not None]
        return vectors[: len(texts)]

    def _is_relevant(self, found: RankedSearch, said: str, budget: int) -> bool:
        """Whether the likeliest turns are like the question at all; see ``relevance``."""
        asked, evidence = found.searched.asked, found.searched.evidence
        best = found.ranked.turns.argsort()[::-1][:_LOOKED_AT]
        likely = self._archive.turns(evidence.seqs[best].tolist())
        texts = [turn_key(turn, ())[:_READ] for turn in likely]
        mine, *others = HashedEmbedder().embed([asked.text[-_CONTEXT:], *texts])
        alike = [float(mine @ other) for other in others if mine is not None and other is not None]
        known = self._known()
        script = unspaced_share(said) > 0.5
        across = bool(likely) and all((unspaced_share(turn.words[:_READ]) > 0.5) != script for turn in likely)
        signs = relevance.signs(evidence, len(known), max(alike, default=0.0), across=across)
        if FRAME + RECORD * len(known) + known.tokens * _TOKENS_A_WORD <= budget:
            return relevance.is_relevant_in_little(signs, said)
        of_that_day = asked.of_the_past and bool(evidence.near.max(initial=0.0) >= 1.0)
        return relevance.is_relevant(
            signs, said, seeks=asked.seeks and not asked.advice, of_that_day=of_that_day
        )

    def _embedded(
        self, texts: Sequence[str], embed: Embed | None, missing: list[MissingPart]
    ) -> Sequence[Vector | None]:
        if embed is None:
            missing.append("embeddings")
        elif self._vectors is None or self._vectors.state not in ("ready", "empty"):
            missing.append("index")
        else:
            try:
                return self._with_background(embed, [query_key(text) for text in texts])
            except errors.EmbeddingError:
                self._log.exception("recall goes on by words")
                missing.append("embeddings")
        return [None] * len(texts)


def _trusted(searched: Searched, ranked: ranking.Ranked, searches: int) -> ranking.Ranked:
    """What a remark found, in its own words alone, counts less than what it found with what came before it."""
    if searches == 1 or searched.asked.seeks or not searched.asked.by_itself:
        return ranked
    return replace(ranked, turns=ranked.turns * _REMARK_ALONE, sessions=ranked.sessions * _REMARK_ALONE)


def _asked(said: Sequence[str], recent: Sequence[str], today: date) -> list[questions.Question]:
    """The questions to search for: the input, and the input read together with what came before it."""
    alone = questions.read(questions.resolve(said[-1], recent), today)
    if len(said) == 1:
        return [alone]
    before = " ".join(said[:-1])[-_CONTEXT:]
    together = questions.read(f"{before} {said[-1]}", today)
    alone = replace(alone, by_itself=True)
    return [together if alone.seeks else replace(together, remark=alone.remark, seeks=False), alone]
