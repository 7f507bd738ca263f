"""Finds what matters now: from questions to a ``Recollection``.

    questions -> references resolved -> relevance -> words, vectors, times -> pool -> ranking -> relevance -> selection

Everything that is stored comes through protocols, so that each may be missing: without vectors it is found by words,
without words by vectors, and the recollection says which part was missing. Nothing here writes.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from domain import errors
from domain.languages import is_unspaced, unspaced_share
from domain.recollection import MissingPart, RecallLimits, Recollection
from domain.text import pattern_of
from recall import questions, ranking, word_search, words
from recall.embedding import BACKGROUND, HashedEmbedder, query_key, turn_key
from recall.known_facts import KnownFacts, SlotsAsked
from recall.ranking import Evidence, bm25, from_neighbours, rarity
from recall.searching import Hidden, Search, Searched
from recall.selection import ENTRY, FRAME, RECORD, RankedSearch, Selector
from recall.stretches import Stretches
from recall.turn_table import TurnTable

if TYPE_CHECKING:
    from domain.vectors import Embed, Vector, VectorIndex
    from storage.repositories import Repositories

#: In fewer turns than this no word is rare yet: what is held is weighed as if there were so many.
_FEW = 150
#: The least confidence at which something is handed over.
LEAST = -1.85
#: The same for what seeks nothing: it may remind of something in quite other words, but not of what has none of it.
LEAST_FOR_REMARK = -6.0
#: The same where a question calls by name whom, or what, the history has heard of.
LEAST_OF_KNOWN = -3.5
#: The same while the whole history would fit into the budget.
LEAST_IN_LITTLE = -4.0
#: How far the nearest turn must stand above sentences that have nothing to do with anything, to be near: as a cosine.
NEAR = 0.15
#: The same for who asks about themselves in a language that nothing was said in, where no word can tell.
_NEAR_ACROSS = 0.1
#: The share of a question's weight in rare words that a turn must hold to speak of what was asked.
_RARE = 0.4

_SMALL_TALK = pattern_of(
    r"(?:good (?:night|morning|evening|afternoon)|ok(?:ay)?|yes|yeah|yep|no|nope|sure|thx|ty|cool|nice|great|good"
    r"|thanks?(?: you| a lot| so much)?|perfect|awesome|wow|lol|haha+|hi|hello|hey|bye|goodbye|see you|got it|i see"
    r"|alright|fine|right|go on|continue"
    r"|好的?|嗯+|哦+|谢谢你?|多谢|感谢|不客气|是的?|对的?|行|可以|没事|你好|您好|嗨|再见|拜拜|晚安|早安|早上好|晚上好"
    r"|哈哈+|知道了|明白了?|继续|不错|太好了|很好)"
    r"[\s,.!?~，。！？、啊呀啦吧哈呢了]*",
    re.IGNORECASE,
)
_PERSONAL = pattern_of(
    r"\b(?:i|i'm|i've|my|mine|me|we|our|us|you|your|yours|he|she|his|her|they|their|again|remember|last|ago|before"
    r"|earlier|previous(?:ly)?|yesterday)\b"
    r"|[我你您咱他她]|上次|之前|以前|曾经|记得|还是|昨|前天|去年|刚才",
    re.IGNORECASE,
)
_OURSELVES = pattern_of(
    r"\b(?:i|i'm|i've|my|mine|me|we|our|us|you|your|yours)\b|[我你您咱俺]|记得|想起|回忆",
    re.IGNORECASE,
)
_ORDER = pattern_of(
    r"^\s*(?:please\s+)?(?:write|code|implement|create|generate|translate|calculate|compute|explain|define|convert"
    r"|sort|solve|summari[sz]e|list)\b"
    r"|^\s*(?:请|帮忙)?(?:写|编|画|翻译|计算|算|解释|实现|生成|列出|证明|求)",
    re.IGNORECASE,
)


def needs_memory(text: str) -> bool:
    """Whether a message may need memory at all.

    >>> [needs_memory(text) for text in ("thanks!", "写个快排", "Where did I park?")]
    [False, False, True]
    """
    rest = text.strip()
    while rest and (small := _SMALL_TALK.match(rest)):
        after = rest[small.end() :]
        if (
            after
            and after[0].isalnum()
            and rest[small.end() - 1].isalnum()
            and not is_unspaced(rest[small.end() - 1])
        ):
            break
        rest = after
    if not words.terms(rest) and not rest.strip(" ?？"):
        return False
    return not (_ORDER.search(rest) and not _PERSONAL.search(rest) and len(rest) < 200)


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for a memory being there at all. Shares are of the question's weight in rare words.

    ``held``: the most that one turn holds. ``held_near``: the same, each turn read with the turns next to it.
    ``heard``: what was ever said by anybody. ``best``: the best BM25, and ``rare`` the same as a share of what the
    four rarest words could give. ``terms`` and ``turns`` count. ``likeness``: the built-in embedder's similarity
    between the question and the likeliest turns, which means the same whatever embedder is in use. ``apart``: how far
    the nearest turn stands above unrelated sentences by the embedder in use; 0 without one. ``across``: question and
    turns share no script, so that words cannot tell. ``known``: the question calls by name what was heard of.
    """

    held: float
    held_near: float
    heard: float
    best: float
    rare: float
    terms: int
    turns: int
    likeness: float
    apart: float = 0.0
    across: bool = False
    known: bool = False


def signs(evidence: Evidence, turns: int, likeness: float, *, across: bool = False) -> Signs:
    """Read the signs out of the evidence for one question in a history of ``turns``."""
    counts = evidence.counts
    if not counts.size:
        return Signs(0.0, 0.0, 0.0, 0.0, 0.0, len(counts), turns, likeness, evidence.apart, across)
    rare, share = evidence.rarity, evidence.share
    if turns < _FEW:
        rare = rarity((counts > 0).sum(axis=1), _FEW)
        share = rare / rare.sum()
    near = counts + from_neighbours(counts, evidence.joined, (1.0,))
    best = bm25(counts, rare, evidence.lengths, evidence.mean_length, k1=1.2, b=0.6).max()
    return Signs(
        held=float((share @ (counts > 0)).max()),
        held_near=float((share @ (near > 0)).max()),
        heard=float((share * (counts.sum(axis=1) > 0)).sum()),
        best=float(best),
        rare=float(best) / max(1.0, float(sum(sorted(rare.tolist())[-4:]))),
        terms=len(counts),
        turns=turns,
        likeness=likeness,
        apart=evidence.apart,
        across=across,
    )


def confidence(found: Signs) -> float:
    """How sure it is that the history holds something for the question, as a logit: 0 is even odds.

    A logistic regression over questions asked of the right history and of others.
    """
    return (
        -4.06
        - 4.32 * found.held
        + 4.02 * found.held_near
        + 2.11 * found.heard
        + 0.52 * math.log(max(found.best, 0.1))
        + 1.67 * found.rare
        - 0.71 * math.log(found.terms + 1)
        - 0.57 * math.log(min(max(found.turns, _FEW), 1500))
        + 18.2 * found.likeness
    )


def is_relevant(found: Signs, question: str, *, seeks: bool = True, of_that_day: bool = False) -> bool:
    """Whether the best that was found is worth handing over.

    ``seeks``: the question looks for something that can be named; what does not, or asks for advice, is held to less,
    and so is what asks of somebody who was spoken of.
    Those who ask about themselves, or whether something is remembered, are given what holds the rare words of it ("What
    did I buy?"), what is near it, what is half of each, and with ``of_that_day`` what was said on the very day they
    speak of: silence costs them more than a memory too many. Where words cannot tell, nearness does.
    """
    least = LEAST_OF_KNOWN if found.known else LEAST
    if confidence(found) >= (least if seeks else LEAST_FOR_REMARK):
        return True
    if _OURSELVES.search(question):
        near = max(found.apart, 0.0) / (_NEAR_ACROSS if found.across else NEAR)
        return of_that_day or found.held / _RARE + near >= 1.0
    return found.across and found.apart >= NEAR


def is_relevant_in_little(found: Signs, question: str) -> bool:
    """The same for a history that would fit into the budget as it is.

    There rare and common words cannot be told apart yet, so less is asked for; and a question about the people
    who talk is given the little there is, though it may say everything in other words.
    """
    if confidence(found) >= LEAST_IN_LITTLE or bool(_PERSONAL.search(question)):
        return True
    return found.across and found.apart >= NEAR


# -- relevance: whether anything is worth recalling


#: How much of the last round is read together with the input, in characters from its end.
_CONTEXT = 1200
#: What a remark's own words count beside the same remark read with what came before it.
_REMARK_ALONE = 0.6
#: So many turns are taken into the table at once.
_AT_ONCE = 20_000
#: How many of the best turns, and how many characters of each, are looked at for whether any is like the question.
_LOOKED_AT, _READ = 6, 400
#: So many vectors are held for that: much the same turns come for the next question, and for the same one read alone.
_HELD = 256
#: Tokens a model reads for each word that is kept, stop words and punctuation among them, rather too many.
_TOKENS_A_WORD = 2.5


class Finder:
    """Recall over one archive. Safe to call from several threads.

    ``weigh`` chooses the weights of the ranking; it fits the embedder, and may be replaced when recall is measured.
    ``slots_asked`` reads which slots a question asks for.

    >>> finder.recall(["Where did we go last May?"], embedder.embed, session_id=now_open, now=clock())
    Recollection(summaries=(...), turns=(...), ...)
    """

    def __init__(
        self,
        archive: Repositories,
        vectors: VectorIndex | None,
        log: logging.Logger,
        weigh: ranking.Weigh = ranking.weigh,
        slots_asked: SlotsAsked = lambda _: (),
    ) -> None:
        self.weigh = weigh
        self._slots_asked = slots_asked
        self._vectors = vectors
        self._archive = archive
        self._log = log
        self._table: TurnTable | None = None
        self._generation = 0
        self._background: dict[bool, list[Vector]] = {}
        self._vector_of = lru_cache(_HELD)(HashedEmbedder().vector)
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
        apart: bool = False,
    ) -> Recollection:
        """The memories that belong to ``queries``: the last round first, if there is one, the new input last.

        The input is searched for by itself, and once more together with the last round; the better counts.
        The summary of ``session_id`` is never found, nor are its turns: all of them, or those whose numbers are
        ``hidden`` (what stands in the context), so that what has left the context is found again.
        ``embed`` turns texts into vectors and is called once; None where there is no embedder. ``recent`` are the
        messages before the input, oldest first, for what "she" and "it" mean. With ``gated`` false the best are
        handed over however weak they are. Of queries that stand ``apart`` the best of each counts as much.
        """
        said = [query for query in queries if query.strip()]
        if not said or (gated and not any(needs_memory(query) for query in (said if apart else said[-1:]))):
            return Recollection(queries=tuple(queries))
        asked = _apart(said, recent, now.date()) if apart else _asked(said, recent, now.date())
        table, unseen = self._known(), Hidden(session_id, hidden)
        search = Search(self._archive, self._vectors, table, unseen, self._log)
        vectors = self._embedded([each.text for each in asked], embed, search.missing)
        backgrounds = [self._background.get(unspaced_share(each.text) > 0.5, ()) for each in asked]
        ranked = [
            RankedSearch(
                searched, _trusted(searched, ranking.rank(searched.evidence, self.weigh), len(asked))
            )
            for searched in search.find(asked, vectors, backgrounds)
        ]
        kept = [
            replace(each, ranked=ranking.level(each.ranked)) if apart else each
            for each, query in zip(ranked, said if apart else said[-1:] * len(ranked), strict=True)
            if not gated or self._is_relevant(each, query, table, limits.tokens)
        ]
        parts = (self._archive, table, search, self.weigh, limits.tokens)
        if stretch := Stretches(*parts).asked(said[-1], now.date()) if asked[-1].of_a_whole else None:
            kept, limits = stretch.within(ranked), stretch.left(limits)
        present = self._archive.sessions.number_of(session_id)
        known = KnownFacts(self._archive, session_id, hidden, self._slots_asked, now.date().isoformat())
        held = [(each.searched.asked.text, each.searched.facts) for each in kept]
        facts = known.answering(said if apart else said[-1:], held)
        selector = Selector(self._archive, table, limits, known, present, cutting=gated)
        made = selector.select(kept, facts)
        resolved = tuple(each.text for each in asked)
        recalled = (made.summaries, made.turns, made.hits, tuple(queries), resolved, tuple(search.missing))
        return Recollection(*recalled, facts=made.facts, chapters=stretch.chapters if stretch else ())

    def search(self, text: str, limits: RecallLimits) -> Recollection:
        """The memories that hold the words of ``text``, and no others; empty when nobody ever said them."""
        return word_search.search(self._archive, text, limits)

    def warm(self) -> None:
        """Read where all turns stand, so that the first question does not wait for it."""
        self._known()

    def _known(self) -> TurnTable:
        """The table, with what was stored since the last question."""
        with self._lock:
            if self._generation != self._archive.messages.generation():
                self._table, self._generation = None, self._archive.messages.generation()
            table = self._table = self._table or TurnTable()
            while new := self._archive.messages.rows_after(table.last_seq, _AT_ONCE):
                table.extend(new)
            return table.snapshot()

    def _with_background(self, embed: Embed, texts: Sequence[str]) -> Sequence[Vector | None]:
        """The vectors of texts; with the first text of a script also those of its background, in the same call."""
        new = {unspaced_share(text) > 0.5 for text in texts} - self._background.keys()
        known = [(script, sentence) for script in sorted(new) for sentence in BACKGROUND[script]]
        vectors = embed([*texts, *(sentence for _, sentence in known)])
        for script in new:
            of_script = [v for (of, _), v in zip(known, vectors[len(texts) :], strict=True) if of == script]
            self._background[script] = [vector for vector in of_script if vector is not None]
        return vectors[: len(texts)]

    def _is_relevant(self, found: RankedSearch, said: str, table: TurnTable, budget: int) -> bool:
        """Whether the likeliest turns are like the question at all."""
        asked, evidence = found.searched.asked, found.searched.evidence
        best = found.ranked.turns.argsort()[::-1][:_LOOKED_AT]
        likely = self._archive.messages.numbered(evidence.seqs[best].tolist())
        mine = self._vector_of(asked.text[-_CONTEXT:])
        others = [self._vector_of(turn_key(turn, ())[:_READ]) for turn in likely]
        alike = [float(mine @ other) for other in others if mine is not None and other is not None]
        script = unspaced_share(said) > 0.5
        across = bool(likely) and all((unspaced_share(turn.words[:_READ]) > 0.5) != script for turn in likely)
        found_signs = replace(
            signs(evidence, len(table), max(alike, default=0.0), across=across),
            known=_is_known(found.searched),
        )
        wrapping = FRAME + RECORD * table.sessions + ENTRY * len(table)
        if wrapping + table.tokens * _TOKENS_A_WORD <= budget:
            return is_relevant_in_little(found_signs, said)
        of_that_day = asked.of_the_past and bool(evidence.near.max(initial=0.0) >= 1.0)
        return is_relevant(found_signs, said, seeks=asked.seeks and not asked.advice, of_that_day=of_that_day)

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


def _is_known(found: Searched) -> bool:
    """Whether all that a question calls by name was heard of; read with what came before it, it names too much."""
    most = found.evidence.counts.max(axis=1, initial=0.0)
    heard = dict(zip(found.terms, (most > 0).tolist(), strict=True))
    names = found.asked.names.intersection(found.asked.terms)
    # A term that is missing stands in too many turns to be read.
    return found.asked.by_itself and bool(names) and all(heard.get(name, True) for name in names)


def _trusted(searched: Searched, ranked: ranking.Ranked, searches: int) -> ranking.Ranked:
    """What a remark found, in its own words alone, counts less than what it found with what came before it."""
    if searches == 1 or searched.asked.seeks or not searched.asked.by_itself:
        return ranked
    return replace(ranked, turns=ranked.turns * _REMARK_ALONE, sessions=ranked.sessions * _REMARK_ALONE)


def _apart(said: Sequence[str], recent: Sequence[str], today: date) -> list[questions.Question]:
    """The questions to search for, each by itself."""
    return [questions.read(questions.resolve(query, recent), today) for query in said]


def _asked(said: Sequence[str], recent: Sequence[str], today: date) -> list[questions.Question]:
    """The questions to search for: the input, and the input read together with what came before it."""
    alone = questions.read(questions.resolve(said[-1], recent), today)
    alone = replace(alone, by_itself=True)
    if len(said) == 1:
        return [alone]
    before = " ".join(said[:-1])[-_CONTEXT:]
    together = replace(questions.read(f"{before} {said[-1]}", today), goes_on=alone.goes_on)
    return [together if alone.seeks else replace(together, remark=alone.remark, seeks=False), alone]
