"""Recall: from questions to a ``Recollection``, over our own memory, external ones and what is archived.

    questions -> references resolved -> relevance -> words, vectors, times -> pool -> ranking -> relevance -> selection

Without vectors recall works by words, without words by vectors, and the recollection says which part was missing.
Nothing here writes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial, reduce
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from domain import errors
from domain.recollection import MissingPart, RecallLimits, RecallRequest, Recollection
from language.forget_requests import Reading
from language.references import resolve_references
from language.scripts import unspaced_share
from recall import keywords, questions, ranking
from recall.annotations import KnownFacts, SlotsAsked, cost_of_facts
from recall.candidates import Candidates, CandidateSearch, Hidden, MessageTable, words_of
from recall.embedding import BACKGROUND, HashedEmbedder, message_key, query_key
from recall.relevance import (
    Amount,
    MessageKinds,
    examples_for,
    judge,
    needs_memory,
    read_features,
    read_like_forget_request,
)
from recall.selection import ENTRY, FRAME, RECORD, RankedSearch, Selector
from recall.time_ranges import TimeRangeSearch

if TYPE_CHECKING:
    from domain.facts import Slot
    from domain.indexes import Embedder, Vector, VectorIndex
    from storage.repositories import Repositories


#: Characters of the last round, from its end, that are read together with the input.
_CONTEXT = 1200
#: The weight of a remark's own words, compared with the remark read together with the last round.
_REMARK_ALONE = 0.6
#: How many messages are added to the table at once.
_AT_ONCE = 20_000
#: How many of the best messages, and how many characters of each, are compared with the question.
_LOOKED_AT, _READ = 6, 400
#: This many vectors are cached for that: the next question finds much the same messages.
_VECTORS_CACHED = 256
#: The vectors of so many inputs are kept, of turns that are going on at once.
_INPUTS_KEPT = 16
#: The most tokens where nothing seems to answer a question about oneself.
_LITTLE_TOKENS = 300
#: The share of the best score below which nothing is recalled for a message of a kind that seldom needs memory.
_BEST_SHARE = 0.4
#: Tokens of a prompt for each indexed word, including stop words and punctuation, rather too many.
_TOKENS_A_WORD = 2.5


class MemorySource(Protocol):
    """Memories of one origin. Each adds what it has to what the sources before it found, within the same budget."""

    def find(self, asked: RecallRequest, found: Recollection) -> Recollection:
        """The recollection with the memories that belong to the queries."""

    def search(self, text: str, limits: RecallLimits, found: Recollection) -> Recollection:
        """The recollection with the memories that contain the words of a text."""


class Retriever:
    """Recall over all sources, in their order: our own memory first."""

    def __init__(self, *sources: MemorySource) -> None:
        self._sources = sources

    def recall(self, asked: RecallRequest) -> Recollection:
        """The memories that belong to the queries."""
        return reduce(lambda found, source: source.find(asked, found), self._sources, Recollection())

    def search(self, text: str, limits: RecallLimits) -> Recollection:
        """The memories that contain the words of a text."""
        return reduce(lambda found, source: source.search(text, limits, found), self._sources, Recollection())


class OwnMemories:
    """The memories of one archive that are in the indexes. Safe to call from several threads.

    ``slots_asked``: reads which slots a question asks for.

    >>> own.find(RecallRequest(["Where did we go last May?"], now_open, clock(), limits), Recollection())
    Recollection(summaries=(...), messages=(...), ...)
    """

    def __init__(
        self,
        archive: Repositories,
        vectors: VectorIndex | None,
        embedder: Embedder,
        log: logging.Logger,
        slots_asked: SlotsAsked = lambda _: (),
    ) -> None:
        self._embedder = embedder
        self._slots_asked = slots_asked
        self._vectors = vectors
        self._archive = archive
        self._log = log
        self._table: MessageTable | None = None
        self._generation = 0
        self._background: dict[bool, list[Vector]] = {}
        self._kinds: MessageKinds | None = None
        self._inputs: dict[str, Vector | None] = {}
        self._vector_of = lru_cache(_VECTORS_CACHED)(HashedEmbedder().vector)
        self._lock = Lock()

    def find(self, request: RecallRequest, found: Recollection) -> Recollection:
        """What is found first, with the whole budget.

        The input is searched for alone and together with the last round; the better result counts. Everything is
        embedded in one call. The summary of the session is never found.
        """
        queries, limits, now, apart = request.queries, request.limits, request.now, request.apart
        said = [query for query in queries if query.strip()]
        if not (asked := _read_questions(request)):
            return replace(found, queries=tuple(queries))
        table, unseen = self._current_table(), Hidden(request.session_id, request.hidden)
        learned = ranking.has_learnt(self._embedder.model)
        search = CandidateSearch(self._archive, self._vectors, table, unseen, self._log, learned=learned)
        vectors = self._embed_queries([each.text for each in asked], search.missing)
        with self._lock:
            # Until the round is stored; ``reads_like_forget_request`` reads it.
            self._inputs = dict([*self._inputs.items(), (said[-1].strip(), vectors[-1])][-_INPUTS_KEPT:])
        kinds = [self._kinds.kind_of(vector) if self._kinds else None for vector in vectors]
        backgrounds = [self._background.get(unspaced_share(each.text) > 0.5, ()) for each in asked]
        ranked = [
            RankedSearch(searched, _weigh_remark(searched, ranking.rank(searched.evidence), len(asked)))
            for searched in search.find(asked, vectors, backgrounds)
        ]
        today = now.date().isoformat()
        known = KnownFacts(self._archive, request.session_id, request.hidden, self._slots_of, today)
        own = said if apart else said[-1:]
        # The searches of one input are judged together: alone by its words, with the last round by its meaning.
        size = 1 if apart else len(ranked)
        relevant: list[RankedSearch] = []
        amounts: list[Amount] = []
        for at, query in zip(range(0, len(ranked), size), said if apart else said[-1:], strict=True):
            together = ranked[at : at + size]
            of_these = (together, kinds[at : at + size], query, search, table, limits)
            judged = self._judge(*of_these) if request.gated else "enough"
            amounts.append(judged)
            if judged != "nothing":
                relevant += [replace(each, ranked=ranking.level(each.ranked)) if apart else each for each in together]
        parts = (self._archive, table, search, limits.tokens)
        if in_range := TimeRangeSearch(*parts).find(said[-1], now.date()) if asked[-1].of_a_whole else None:
            relevant, limits = in_range.restrict(ranked), in_range.remaining_limits(limits)
        shares, others = (
            [(each.searched.asked.text, each.searched.facts) for each in searches]
            for searches in (relevant, ranked[-1:])
        )
        facts = known.find_answers(own, shares, others)
        whole = limits.tokens
        if not in_range and "best" in amounts and "enough" not in amounts:
            limits = replace(limits, share=max(limits.share, _BEST_SHARE))
        elif not in_range and "enough" not in amounts:
            little = _LITTLE_TOKENS + cost_of_facts(facts, marked=False)
            limits = replace(limits, tokens=min(limits.tokens, little), sessions=0)
        selector = Selector(self._archive, table, limits, known, search, cutting=request.gated)
        selected = selector.select(relevant, facts, whole)
        known_of = in_range or selected.facts or not {"best", "enough"}.isdisjoint(amounts)
        unknown = not known_of and asked[-1].asks_of_us
        return replace(
            found,
            summaries=selected.summaries,
            messages=selected.messages,
            ranked=selected.hits,
            queries=tuple(queries),
            resolved=tuple(each.text for each in asked),
            degraded=tuple(search.missing),
            facts=selected.facts,
            chapters=in_range.chapters if in_range else (),
            unknown=unknown,
        )

    def _slots_of(self, text: str) -> Collection[Slot]:
        """The slots that a message asks for, and those that are vital for its matter."""
        return dict.fromkeys((*self._slots_asked(text), *questions.vital_slots(text)))

    def search(self, text: str, limits: RecallLimits, found: Recollection) -> Recollection:
        """The memories that contain the words of ``text``, and no others."""
        return keywords.search(self._archive, text, limits, found)

    def reads_like_forget_request(self, text: str) -> Reading | None:
        """How certain a request to forget one of the last inputs is by its vector."""
        return read_like_forget_request(text, self._inputs.get(text.strip()), self._embedder.model)

    def reads(self, request: RecallRequest) -> list[Callable[[], object]]:
        """What ``find`` reads before anything is found, for ``Database.ahead``.

        How many words are read depends on how many messages there are, which is taken to be as it was.
        """
        of, table = self._archive, self._table or MessageTable()  # another thread may put it away meanwhile
        rows = (lambda: of.index.words.rows("summary")), (lambda: of.index.words.rows("fact"))
        new = partial(of.messages.columns_after, table.last_seq, _AT_ONCE)
        near = [partial(self._vectors.search, kind="summary", exclude_session="", limit=1)] if self._vectors else []
        session = partial(of.sessions.number_of, request.session_id)
        asked = cache(lambda: words_of(_read_questions(request), len(table)))

        def read_words() -> None:
            of.database.ahead(*(partial(of.index.words.postings, *one) for one in asked()))

        return [of.messages.generation, *rows, new, session, *near, read_words]

    def warm(self) -> None:
        """Load the message table, so that the first question need not wait for it."""
        self._current_table()

    def _current_table(self) -> MessageTable:
        """The table with all messages stored so far."""
        with self._lock:
            if self._generation != self._archive.messages.generation():
                self._table, self._generation = None, self._archive.messages.generation()
            if (table := self._table) is None:
                table = self._table = MessageTable()
                for sealed in self._archive.messages.sealed_columns():
                    table.extend(sealed)
            has_more = True
            while has_more:
                new = self._archive.messages.columns_after(table.last_seq, _AT_ONCE)
                table.extend(new)
                has_more = len(new.seq) == _AT_ONCE
            table.summaries |= self._archive.summaries.sessions_after(max(table.summaries, default=0))
            table.extend_facts(*self._archive.facts.messages_after(table.last_fact))
            return table.snapshot()

    def _with_background(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        """The vectors of texts; what is compared with all of them is embedded in the same call as the first.

        That is the background of a script, and the examples of kinds of messages.
        """
        model = self._embedder.model
        new = {unspaced_share(text) > 0.5 for text in texts} - self._background.keys()
        known = [(script, sentence) for script in sorted(new) for sentence in BACKGROUND[script]]
        examples = examples_for(model) if self._kinds is None and ranking.has_learnt(model) else ()
        vectors = self._embedder.embed([*texts, *(sentence for _, sentence in known), *examples])
        for script in new:
            of_script = [v for (of, _), v in zip(known, vectors[len(texts) :], strict=False) if of == script]
            self._background[script] = [vector for vector in of_script if vector is not None]
        if self._kinds is None:
            self._kinds = MessageKinds(model, vectors[len(texts) + len(known) :])
        return vectors[: len(texts)]

    def _judge(
        self,
        found: Sequence[RankedSearch],
        kinds: Sequence[float | None],
        said: str,
        search: CandidateSearch,
        table: MessageTable,
        limits: RecallLimits,
    ) -> Amount:
        """How much of what was found for one input is worth recalling; the last search is of the input alone."""
        asked, evidence = found[-1].searched.asked, found[-1].searched.evidence
        likely = search.read_messages(_best_seqs(found[-1]))
        mine = self._vector_of(asked.text[-_CONTEXT:])
        others = [self._vector_of(message_key(message, ())[:_READ]) for message in likely]
        alike = [float(mine @ other) for other in others if mine is not None and other is not None]
        script = unspaced_share(said) > 0.5
        wrapping = FRAME + RECORD * table.sessions + ENTRY * len(table)
        features = replace(
            read_features(evidence, len(table), max(alike, default=0.0)),
            near=evidence.nearest,
            kind=max((kind for kind in kinds if kind is not None), default=None),
            across=bool(likely) and all((unspaced_share(message.words[:_READ]) > 0.5) != script for message in likely),
            known=_is_known(found[-1].searched),
            fits=wrapping + table.tokens * _TOKENS_A_WORD <= limits.tokens,
        )
        if asked.of_the_past and evidence.near.max(initial=0.0) >= 1.0:
            return "enough"  # something was said on the very day that is asked about
        return judge(features, said, seeks=asked.looks_up)

    def _embed_queries(self, texts: Sequence[str], missing: list[MissingPart]) -> Sequence[Vector | None]:
        if self._vectors is None or self._vectors.state not in ("ready", "empty"):
            missing.append("index")
        else:
            try:
                return self._with_background([query_key(text) for text in texts])
            except errors.EmbeddingError:
                self._log.exception("recall goes on by words")
                missing.append("embeddings")
        return [None] * len(texts)


def _best_seqs(found: RankedSearch) -> list[int]:
    """The numbers of the messages that are compared with the question."""
    best: list[int] = found.searched.evidence.seqs[found.ranked.messages.argsort()[::-1][:_LOOKED_AT]].tolist()
    return best


def _is_known(found: Candidates) -> bool:
    """Whether every name in a question is in the memory; False for one read together with the last round."""
    most = found.evidence.counts.max(axis=1, initial=0.0)
    is_found = dict(zip(found.terms, (most > 0).tolist(), strict=True))
    names = found.asked.names.intersection(found.asked.terms)
    # A term is missing if too many messages contain it.
    return found.asked.alone and bool(names) and all(is_found.get(name, True) for name in names)


def _weigh_remark(searched: Candidates, ranked: ranking.Ranked, searches: int) -> ranking.Ranked:
    """What a remark found alone counts less than what it found together with the last round."""
    if searches == 1 or searched.asked.seeks or not searched.asked.alone:
        return ranked
    return replace(ranked, messages=ranked.messages * _REMARK_ALONE, sessions=ranked.sessions * _REMARK_ALONE)


def _read_questions(request: RecallRequest) -> list[questions.Question]:
    """The questions to search for: each alone if they are apart, else the input with the last round, and alone.

    None where nothing is asked that needs memory.
    """
    today, said = request.now.date(), [query for query in request.queries if query.strip()]
    own = said if request.apart else said[-1:]
    if not own or (request.gated and not any(map(needs_memory, own))):
        return []
    each = [questions.parse_question(resolve_references(query, request.recent), today) for query in own]
    if request.apart:
        return each
    alone = replace(each[0], alone=True)
    if len(said) == 1:
        return [alone]
    before = " ".join(said[:-1])[-_CONTEXT:]
    together = replace(questions.parse_question(f"{before} {said[-1]}", today), goes_on=alone.goes_on)
    return [together if alone.seeks else replace(together, remark=alone.remark, seeks=False), alone]
