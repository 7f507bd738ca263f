"""What was said with certain words, and nothing else: the search that a person does by hand.

Recall finds what matters; this finds what holds the words, in any of their forms, and is empty where nobody said
them. A memory is found when it holds all that was asked for, or most of it by rarity, or the rarest of it that was
ever said, as long as that is a rare word: "the zeppelin" never leads to whatever holds "the".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from domain.languages import is_unspaced
from domain.recollection import RecalledSummary, RecalledTurn, RecallLimits, Recollection, Why
from domain.text import as_memory, memory_text, own_words
from recall import words
from recall.ranking import rarity

if TYPE_CHECKING:
    from storage.repositories import Repositories
    from storage.sqlite.words import Postings, WordIndex, WordTable

#: The share of what was asked for, by rarity, that a memory must hold.
_MOST = 0.6
#: A word is rare while it stands in no more than so many memories, or in no more than this share of all.
_RARE, _RARE_SHARE = 12, 0.02


@dataclass(frozen=True, slots=True)
class _Holding:
    """What holds words: its number, how much it fits, and which of the terms it holds."""

    seq: int
    score: float
    terms: frozenset[str]


def search(archive: Repositories, text: str, limits: RecallLimits) -> Recollection:
    """The turns and summaries that hold the words of a text; ``why.words`` has the words as they stand there."""
    terms = _terms(text)
    by_turn = _holding(archive.index.words, "turn", terms)
    kept = by_turn[: limits.turns]
    found = {turn.seq: as_memory(turn) for turn in archive.messages.numbered(sorted(one.seq for one in kept))}
    turns = [
        RecalledTurn(
            turn.text_id,
            turn.session_id,
            turn.timestamp,
            turn.role,
            turn.text,
            hit=True,
            why=_why(text, own_words(turn), one),
            speaker=turn.speaker,
            undated=turn.undated,
        )
        for one in kept
        if (turn := found.get(one.seq)) and turn.words
    ]
    ranked = tuple(turn.text_id for turn in turns)
    oldest_first = tuple(sorted(turns, key=lambda turn: turn.timestamp))
    summaries = _summaries(archive, text, terms, limits.sessions)
    return Recollection(summaries, oldest_first, ranked, (text,), (text,))


def _terms(text: str) -> tuple[str, ...]:
    """What is looked for. Of a script without spaces only pairs: a single character stands in too much."""
    terms = words.sought(text) or words.terms(text)
    pairs = [term for term in terms if len(term) > 1 or not is_unspaced(term)]
    return tuple(pairs) or terms


def _holding(lexicon: WordIndex, table: WordTable, terms: Sequence[str]) -> list[_Holding]:
    """The rows that hold what is looked for, best first."""
    total = lexicon.rows(table)
    postings = lexicon.postings(table, terms, total + 1) if terms and total else {}
    if not any(len(posting.seqs) for posting in postings.values()):
        return []
    sizes = np.array([len(postings[term].seqs) if term in postings else 0 for term in terms], np.float32)
    weight = dict(zip(terms, rarity(sizes, total).tolist(), strict=True))
    held = _held(postings)
    said = [term for term in terms if term in postings and len(postings[term].seqs)]
    rarest = min(said, key=lambda term: len(postings[term].seqs))
    is_rare = len(postings[rarest].seqs) <= max(_RARE, total * _RARE_SHARE)
    enough = sum(weight.values()) * _MOST
    found = [
        _Holding(seq, sum(weight[term] for term in holds), frozenset(holds)) for seq, holds in held.items()
    ]
    right = [one for one in found if one.score >= enough or (is_rare and rarest in one.terms)]
    return sorted(right, key=lambda one: (-one.score, -one.seq))


def _held(postings: Mapping[str, Postings]) -> dict[int, list[str]]:
    held: dict[int, list[str]] = {}
    for term, posting in postings.items():
        for seq in posting.seqs.tolist():
            held.setdefault(seq, []).append(term)
    return held


def _summaries(
    archive: Repositories, text: str, terms: Sequence[str], most: int
) -> tuple[RecalledSummary, ...]:
    kept = _holding(archive.index.words, "summary", terms)[:most]
    session_of = archive.summaries.sessions_of(seqs=[one.seq for one in kept])
    known = archive.summaries.of_sessions([session_of[one.seq] for one in kept if one.seq in session_of])
    return tuple(
        RecalledSummary(
            summary.text_id,
            summary.session_id,
            summary.timestamp,
            memory_text(summary.summary),
            _why(text, summary.summary, one),
        )
        for one in kept
        if (summary := known.get(session_of.get(one.seq, -1)))
    )


def _why(asked: str, said: str, holding: _Holding) -> Why:
    return Why(asked, round(holding.score, 4), words.forms(said, holding.terms))
