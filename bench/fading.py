"""What fading costs. ``python -m bench.fading --data FOLDER/locomo-dev.json.gz``.

Each history is lived whole, and every question is asked with no limit. Then every second question is said in talk, so
that what served it is visited, and half of the history fades. Then all questions are asked again, without being said.

    delivered    the share of the groups of evidence of which something stands in the block of memories
    faded        the share of the groups that stood there before and of which nothing is left in the indexes
    visited      the turns that served a question that was said, how many of them still can be found, and how many that
                 served none; a limit below what was visited lets go of some
    by words     of faded turns that hold a rare word: how many are found by it, in recall and by hand
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from bench.recall_life import Embedding, LivedHistory, opened_history
from bench.recall_sets import Set, SetQuestion, read
from domain.recollection import Recollection
from domain.tree import ForgetLimit
from domain.workers import CancelToken
from jobs.maintenance import archive_surplus
from language import words
from llm import ids_shown

_AT_ONCE = 200


@dataclass
class Figures:
    """Sums over all questions, by the kind of question; and what became of single turns."""

    groups: Counter[str] = field(default_factory=Counter)
    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    faded: Counter[str] = field(default_factory=Counter)
    visited: int = 0
    visited_stayed: int = 0
    others_stayed: int = 0
    tried: int = 0
    by_recall: int = 0
    by_hand: int = 0


class _Measured:
    """One history, its questions, and what is found of them."""

    def __init__(self, history: LivedHistory, when: datetime, figures: Figures, every: int) -> None:
        self._history = history
        self._every = every
        self._memory = history.memory
        self._when = when
        self._figures = figures
        self._session = self._memory.sessions.resume_or_start()[0].session_id

    def run(self, asked: Sequence[SetQuestion], share: float, most: int) -> None:
        """Ask, fade, ask again."""
        before = {one: self._delivered(one) for one in asked}
        visited = self._say(asked[:: self._every])
        limit = ForgetLimit(int(self._memory.archive.count_searched() * share), 10)
        self._memory.rounds.save(self._session, "They talked.", {})
        archive_surplus(self._memory, limit, CancelToken())
        self._memory.index.settle(3600)
        self._session = self._memory.sessions.resume_or_start()[0].session_id
        self._count(asked, asked[:: self._every], before, visited)
        self._by_words(most)

    def _recall(self, text: str) -> Recollection:
        limits = self._history.usual.recall_limits
        return self._memory.recall([text], self._session, self._when, limits)

    def _delivered(self, asked: SetQuestion) -> frozenset[int]:
        """Which groups of the evidence of a question are handed over."""
        found = self._recall(asked.text)
        tids = {self._history.text_tid.get(message.text_id, "") for message in found.messages}
        return frozenset(number for number, group in enumerate(asked.groups) if group & tids)

    def _say(self, asked: Sequence[SetQuestion]) -> set[str]:
        """Say these, so that what serves them is visited."""
        served: set[str] = set()
        for one in asked:
            found = self._recall(one.text)
            now = self._when.isoformat(timespec="seconds")
            self._memory.rounds.store(self._session, one.text, "I see.", now, "stop", served=ids_shown(found))
            served |= set(ids_shown(found))
        return served

    def _count(
        self,
        asked: Sequence[SetQuestion],
        said: Sequence[SetQuestion],
        before: Mapping[SetQuestion, frozenset[int]],
        visited: set[str],
    ) -> None:
        faded = set(self._memory.archive.all())
        gone = {self._history.text_tid[one] for one in faded if one in self._history.text_tid}
        messages = [one for one in visited if one in self._history.text_tid]
        self._figures.visited += len(messages)
        self._figures.visited_stayed += len([one for one in messages if one not in faded])
        self._figures.others_stayed += len(self._history.text_tid.keys() - visited - faded)
        for one in asked:
            kind = "said" if one in said else "not said"
            self._figures.groups[kind] += len(one.groups)
            self._figures.before[kind] += len(before[one])
            self._figures.after[kind] += len(self._delivered(one))
            lost = [number for number in before[one] if one.groups[number] <= gone]
            self._figures.faded[kind] += len(lost)

    def _by_words(self, most: int) -> None:
        """Ask for faded turns by the words that only they hold."""
        faded = [one for one in self._memory.archive.all() if one in self._history.text_tid]
        every = self._memory.messages.with_ids(sorted(self._history.text_tid))
        held = Counter(term for message in every for term in set(words.terms(message.words)))
        for message in self._memory.messages.with_ids(faded[:: max(1, len(faded) // most)]):
            rare = [form for form in words.terms(message.words) if held[form] == 1 and len(form) > 2]
            said = words.matching_forms(message.words, frozenset(rare))
            if not said:
                continue
            self._figures.tried += 1
            found = self._recall(f"What did I tell you about {said[0]}?")
            self._figures.by_recall += message.text_id in {one.text_id for one in found.messages}
            hand = self._memory.search(said[0], self._history.usual.recall_limits)
            self._figures.by_hand += message.text_id in {one.text_id for one in hand.messages}


def measured(data: Set, embedding: Embedding, cache: Path | None, share: float, most: int, every: int) -> Figures:
    """The figures of a whole set."""
    figures = Figures()
    for name, talks in data.histories.items():
        asked = [one for one in data.questions if one.history == name]
        with opened_history(data.language, embedding, cache) as history:
            for number, talk in enumerate(talks):
                history.live(number, replace(talk, facts=()))
            history.memory.index.settle(3600)
            _Measured(history, talks[-1].date + timedelta(days=1), figures, every).run(asked, share, most)
    return figures


def told(figures: Figures) -> Iterator[str]:
    """The figures, a line each."""
    for kind in ("said", "not said"):
        groups = max(1, figures.groups[kind])
        before, after, faded = (100 * each[kind] / groups for each in (figures.before, figures.after, figures.faded))
        yield (
            f"{kind:9} {groups:5} groups: delivered {before:5.1f} -> {after:5.1f} (fall {before - after:4.1f}),"
            f" faded {faded:5.1f}"
        )
    yield f"visited   {figures.visited} turns, {figures.visited_stayed} of them can still be found, and"
    yield f"          {figures.others_stayed} that were not visited"
    yield f"by words  {figures.tried} faded turns: recall {figures.by_recall}, by hand {figures.by_hand}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", default="sentence", choices=("sentence", "hashed"))
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--share", type=float, default=0.5, help="how much of the history may be searched")
    parser.add_argument("--most", type=int, default=_AT_ONCE, help="faded turns of a history asked for by words")
    parser.add_argument("--every", type=int, default=2, help="one of so many questions is said")
    given = parser.parse_args()
    figures = measured(read(given.data), Embedding(given.embedder), given.cache, given.share, given.most, given.every)
    print("\n".join(told(figures)))


if __name__ == "__main__":
    main()
