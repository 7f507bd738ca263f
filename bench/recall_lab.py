"""What each part of the score is worth, and weights for those that stay. ``python -m bench.recall_lab --help``.

    collect   live the sets once and store the parts of every question: an ablation is arithmetic on stored arrays then
    ablate    take out one part after the other, the least useful first, until a set loses more than it may
    tune      search for weights under which no set is worse than with the present ones

What was found with it is in ``bench/recall_notes.md``.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.recall_life import AskedQuestion, Embedding, lived
from bench.recall_sets import name_of, read
from recall.ranking import BY_MEANING, BY_WORDS, KINDS, TalkKind, kinds_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

#: Figures are R@5, R@10 and R@20, and what each counts where weights are compared.
_DEPTHS, _COUNTS = (5, 10, 20), (0.1, 1.0, 0.3)
#: What a set may lose by a removal, and what each point beyond that costs while weights are searched for.
_MAY_LOSE, _HINGE = 0.5, 4.0

Tables = dict[TalkKind, dict[str, float]]
Figures = Mapping[str, "npt.NDArray[np.float64]"]


@dataclass(frozen=True)
class Question:
    """The parts of one question (a row each), and where its evidence is.

    The columns are sorted by the message of the set that they belong to; ``starts`` are the first of each, ``groups``
    the places of the evidence among these.
    """

    parts: Mapping[str, Floats]
    starts: npt.NDArray[np.int64]
    groups: tuple[npt.NDArray[np.int64], ...]
    kinds: Mapping[TalkKind, float]

    def found(self, tables: Tables) -> list[float]:
        """The share of the groups found in the first 5, 10 and 20 messages."""
        total = np.zeros(len(next(iter(self.parts.values()))), np.float32)
        for name, part in self.parts.items():
            weight = sum(share * tables[kind].get(name, 0.0) for kind, share in self.kinds.items())
            if weight:
                total += np.float32(weight) * part
        best = np.maximum.reduceat(total, self.starts)
        ranks = [int((best > best[group].max()).sum()) if len(group) else len(best) for group in self.groups]
        return [sum(rank < depth for rank in ranks) / len(ranks) for depth in _DEPTHS]


def main() -> None:
    """Do what was asked for."""
    asked = _arguments()
    if asked.act == "collect":
        _collect(asked)
        return
    stored = sorted(asked.folder.glob(f"*-{asked.embeddings}.parts"))
    sets = {path.stem: pickle.loads(path.read_bytes()) for path in stored}
    fitted = BY_MEANING if asked.embeddings == "sentence" else BY_WORDS
    tables: Tables = {kind: {name: row[at] for name, row in fitted.items() if row[at]} for at, kind in enumerate(KINDS)}
    _say("as it is", _figures(sets, tables))
    if asked.act == "ablate":
        _ablate(sets, tables)
    else:
        _tune(sets, tables, asked.steps)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("act", choices=("collect", "ablate", "tune"))
    parser.add_argument("--folder", type=Path, required=True, help="where the parts of the questions are stored")
    parser.add_argument("--data", type=Path, help="a folder with sets, for collect")
    parser.add_argument("--sets", nargs="*", default=[], help="names of sets; all without it")
    parser.add_argument("--embeddings", choices=("hashed", "sentence"), default="sentence")
    parser.add_argument("--cache", type=Path, help="a folder that keeps vectors between runs")
    parser.add_argument("--steps", type=int, default=500, help="weights that tune looks at")
    return parser.parse_args()


def _collect(asked: argparse.Namespace) -> None:
    asked.folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((*asked.data.glob("*.json.gz"), *asked.data.glob("*.json"))):
        if not asked.sets or name_of(path) in asked.sets:
            questions = [_stored(one) for one in lived(read(path), Embedding(asked.embeddings), asked.cache)]
            target = asked.folder / f"{name_of(path)}-{asked.embeddings}.parts"
            target.write_bytes(pickle.dumps(questions))
            print(f"{target.stem}: {len(questions)} questions", flush=True)


def _stored(asked: AskedQuestion) -> Question:
    numbers = {tid: number for number, tid in enumerate(dict.fromkeys(filter(None, asked.tids)))}
    owner = np.array([numbers.get(tid, -1) for tid in asked.tids])
    order = np.argsort(owner, kind="stable")[int((owner < 0).sum()) :]
    starts = np.flatnonzero(np.append(True, np.diff(owner[order]) > 0)[: len(order)])
    groups = tuple(np.array([numbers[tid] for tid in group if tid in numbers], int) for group in asked.question.groups)
    kinds = kinds_of(asked.evidence.word_length, remark=asked.evidence.remark)
    return Question({name: part[order] for name, part in asked.parts.items()}, starts, groups, kinds)


def _figures(sets: Mapping[str, Sequence[Question]], tables: Tables) -> Figures:
    return {name: 100 * np.mean([one.found(tables) for one in questions], axis=0) for name, questions in sets.items()}


def _say(what: str, figures: Figures) -> None:
    columns = (f"{name} {found[1]:.1f} ({found[2]:.1f})" for name, found in figures.items())
    print(f"{what}: {'  '.join(columns)}", flush=True)


def _ablate(sets: Mapping[str, Sequence[Question]], tables: Tables) -> None:
    """Remove the part whose removal costs the set that loses most the least, again and again."""
    whole = _figures(sets, tables)
    left = sorted({name for weights in tables.values() for name in weights})
    while left:
        trials = {name: _figures(sets, _without(tables, name)) for name in left}
        costs = {name: max(whole[one][1] - found[one][1] for one in whole) for name, found in trials.items()}
        name = min(costs, key=lambda one: costs[one])
        if costs[name] > _MAY_LOSE:
            print("each part that is left is worth: " + ", ".join(f"{one} {cost:.1f}" for one, cost in costs.items()))
            return
        tables = _without(tables, name)
        left.remove(name)
        _say(f"without {name}", trials[name])


def _without(tables: Tables, part: str) -> Tables:
    return {kind: {name: one for name, one in weights.items() if name != part} for kind, weights in tables.items()}


def _tune(sets: Mapping[str, Sequence[Question]], tables: Tables, steps: int) -> None:
    """Change one weight at a time, and keep what makes the mean better and no set worse."""
    chance: Any = np.random.default_rng(1)
    whole = _figures(sets, tables)
    best = _score(whole, whole)
    for _ in range(steps):
        kind = list(tables)[chance.integers(len(tables))]
        name = chance.choice(sorted(tables[kind]))
        weight = tables[kind][name] * chance.choice((0.0, 0.5, 0.7, 0.85, 1.2, 1.5, 2.0))
        trial = {**tables, kind: {**tables[kind], name: weight}}
        if (score := _score(_figures(sets, trial), whole)) > best:
            best, tables = score, trial
    _say("tuned", _figures(sets, tables))
    for kind, weights in tables.items():
        print(kind, {name: round(weight, 2) for name, weight in weights.items() if weight})


def _score(figures: Figures, whole: Figures) -> float:
    total = 0.0
    for name, found in figures.items():
        total += float(np.dot(_COUNTS, found)) - _HINGE * max(0.0, whole[name][1] - float(found[1]))
    return total / len(figures)


if __name__ == "__main__":
    main()
