"""How well recall finds what is asked for, and how much of it arrives. ``python -m bench.recall --data FOLDER``.

Every history is lived in the real ``Memory`` (sessions stored and archived in order), and every question is asked
when it could have been asked. Beside ours stand the plain ways, all from the same evidence in the same run.
Answers are never read; see ``recall_sets`` for what a set holds.

What arrives: the share of the evidence that really stands in the block of memories of a prompt, and the tokens
of that whole block, with the settings as they come: after the gate, the cut and the limits; alone, and in the
middle of another talk.

A figure is a mean over questions, in percent: R@k, the share of the groups of evidence found in the first k
turns; all@10, questions all of whose groups are among the first ten; S@k, groups whose session is among the
first k; ms, without the embeddings server.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.recall_life import AskedQuestion, Embedding, HandedOver, by_pronoun, elsewhere, lived
from bench.recall_orders import (
    COLUMNS,
    Figures,
    judge,
    mean,
    order,
    ours,
    plain_fusion,
    plain_reading,
    reciprocal_ranks,
)
from bench.recall_sets import Set, SetQuestion, name_of, read, shuffled
from recall.ranking import BY_MEANING, BY_WORDS

if TYPE_CHECKING:
    from bench.recall_orders import Scores

_VECTORS = ("dense", "dense_apart", "dense_near", "dense_session", "dense_session_best")
_FACTS = ("facts",)


def main() -> None:
    """Measure what was asked for, and print tables."""
    asked = _arguments()
    seen: dict[str, list[AskedQuestion]] = {}
    for path in _chosen(asked):
        data = shuffled(read(path)) if asked.shuffle else read(path)
        print(f"\n## {data.name}\n\n{_head('method')}", flush=True)
        found = list(lived(data, _embedding(asked), asked.cache, with_facts=asked.facts))
        seen[data.name] = found
        _print_methods(found, asked.embeddings)
        _print_arrived(found)
        _print_foreign(data, asked)
        _print_references(data, asked)
    _print_ablation(seen)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder with sets, *.json.gz or *.json")
    parser.add_argument("--sets", nargs="*", default=[], help="names of sets; all without it")
    parser.add_argument("--embeddings", choices=("hashed", "sentence", "server"), default="sentence")
    parser.add_argument("--server", default="http://127.0.0.1:8901/v1", help="base URL of an embeddings server")
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="its model")
    parser.add_argument("--cache", type=Path, help="a folder that keeps vectors between runs")
    parser.add_argument(
        "--foreign", type=int, default=40, help="questions a history whose answer is not in it, or that say she"
    )
    parser.add_argument("--facts", action="store_true", help="learn the facts that a set has, as keys of turns")
    parser.add_argument(
        "--shuffle", action="store_true", help="deal the messages of a history out anew over its sessions"
    )
    return parser.parse_args()


def _chosen(asked: argparse.Namespace) -> list[Path]:
    paths = sorted((*asked.data.glob("*.json.gz"), *asked.data.glob("*.json")))
    return [path for path in paths if not asked.sets or name_of(path) in asked.sets]


def _embedding(asked: argparse.Namespace) -> Embedding:
    return Embedding(asked.embeddings, asked.server, asked.model)


def _head(first: str, columns: Sequence[str] = COLUMNS) -> str:
    return f"| {first} | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}"


def _row(name: str, values: Iterable[float]) -> str:
    return f"| {name} | {' | '.join(f'{value:.1f}' for value in values)} |"


# -- methods
# -----------------------------------------------------------------------------------------------------


def _print_methods(asked: Sequence[AskedQuestion], embedder: str) -> None:
    _print_method("the plain reading", asked, plain_reading)
    _print_method("BM25 alone", asked, lambda one: _part(one, "words"))
    _print_method("vectors alone", asked, lambda one: _part(one, "dense"))
    _print_method("words and vectors, standard scores added", asked, plain_fusion)
    _print_method("reciprocal-rank hybrid", asked, reciprocal_ranks)
    _print_method("ours, words alone", asked, lambda one: ours(one, without=(*_VECTORS, *_FACTS)))
    _print_method(f"ours, {embedder}", asked, lambda one: ours(one, without=_FACTS))
    if any("facts" in one.parts for one in asked):
        _print_method("ours, with facts as keys", asked, ours)
    _print_categories(asked)


def _print_method(name: str, asked: Sequence[AskedQuestion], scores: Callable[[AskedQuestion], Scores]) -> None:
    print(_row(name, mean([_judged(one, scores(one)) for one in asked])), flush=True)


def _part(asked: AskedQuestion, name: str) -> Scores:
    nothing: Scores = asked.evidence.lengths * 0
    return asked.parts.get(name, nothing)


def _judged(asked: AskedQuestion, scores: Scores) -> Figures:
    found, sessions = order(asked, scores)
    return judge(asked, found, sessions, asked.milliseconds)


def _handed_over(asked: AskedQuestion) -> Figures:
    return judge(asked, asked.found, asked.sessions, asked.milliseconds)


def _print_categories(asked: Sequence[AskedQuestion]) -> None:
    print(f"\n{_head('handed over by Memory, by category')}")
    for category in sorted({one.question.category for one in asked}):
        figures = [_handed_over(one) for one in asked if one.question.category == category]
        print(_row(f"{category} ({len(figures)})", mean(figures)))
    print(_row(f"all ({len(asked)})", mean([_handed_over(one) for one in asked])), flush=True)


# -- what arrives
# --------------------------------------------------------------------------------------------------


def _print_arrived(asked: Sequence[AskedQuestion]) -> None:
    """What stands in the prompt, alone and amid another talk; ``nothing`` is how often no memory does."""
    print("\n" + _head("in the prompt", ("evidence", "or known", "facts", "tokens", "most tokens", "nothing")))
    ways: Mapping[str, list[HandedOver]] = {
        "alone": [one.alone for one in asked],
        "amid another talk": [one.amid for one in asked],
    }
    for name, handed in ways.items():
        found = [_found_among(one.question, over.tids) for one, over in zip(asked, handed, strict=True)]
        known = [_found_among(one.question, over.known) for one, over in zip(asked, handed, strict=True)]
        facts = sum(over.facts for over in handed)
        tokens = [over.tokens for over in handed]
        silent = sum(not over.tids for over in handed)
        size = len(asked)
        shares = (100 * sum(found) / size, 100 * sum(known) / size, facts / size)
        print(_row(name, (*shares, sum(tokens) / size, max(tokens), 100 * silent / size)))


def _print_foreign(data: Set, options: argparse.Namespace) -> None:
    """How often something is handed over where the answer is not."""
    if len(data.histories) > 1 and options.foreign:
        foreign = list(elsewhere(data, _embedding(options), options.cache, options.foreign))
        share = 100 * sum(bool(one.alone.tids) for one in foreign) / len(foreign)
        print(f"\nquestions of other histories that get anything: {share:.1f} % of {len(foreign)}", flush=True)


# -- what each part is worth
# -------------------------------------------------------------------------------------


def _print_ablation(seen: Mapping[str, Sequence[AskedQuestion]]) -> None:
    single = sorted({*BY_MEANING, *BY_WORDS})
    print(f"\n## What each part alone is worth in R@10\n\n{_head('part', list(seen))}")
    whole = [_recall(asked, ("facts",)) for asked in seen.values()]
    for name in single:
        without = [_recall(asked, ("facts", name)) for asked in seen.values()]
        print(_row(f"`{name}`", (all_of - left for all_of, left in zip(whole, without, strict=True))))


def _print_references(data: Set, options: argparse.Namespace) -> None:
    """What is handed over for questions with "she" in a name's place, without and with what was said of her before."""
    if not options.foreign:
        return
    found = list(by_pronoun(data, _embedding(options), options.cache, options.foreign))
    if not found:
        return
    print("\n" + _head('"she" for a name', ("first", "handed over")))
    found_by = {"without references": [one[1] for one in found], "with references": [one[2] for one in found]}
    for name, ways in found_by.items():
        shares = [
            [_found_among(one[0], hits[:most]) for one, hits in zip(found, ways, strict=True)] for most in (1, None)
        ]
        print(_row(f"{name} ({len(found)})", (100 * sum(share) / len(found) for share in shares)), flush=True)


def _found_among(question: SetQuestion, found: Iterable[str]) -> float:
    there = set(found)
    return sum(bool(group & there) for group in question.groups) / len(question.groups)


def _recall(asked: Sequence[AskedQuestion], without: Sequence[str]) -> float:
    return mean([_judged(one, ours(one, without=without)) for one in asked])[1]


if __name__ == "__main__":
    main()
