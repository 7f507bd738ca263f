"""How well recall finds what is asked for. ``python -m bench.recall --data FOLDER --embeddings http://127.0.0.1:8901/v1``

Every history is lived in the real ``Memory`` (sessions stored and archived in order, facts learnt where the
set has them), and every question is asked when it could have been asked. Beside ours stand the plain ways,
all from the same evidence in the same run. Answers are never read; see ``recall_sets`` for what a set
holds.

A figure is a mean over questions, in percent: R@k, the share of the groups of evidence found in the first k
turns; all@10, questions all of whose groups are among the first ten; S@k, groups whose session is among the
first k; ms, without the embeddings server.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench import recall_fit
from bench.recall_life import AskedQuestion, by_pronoun, elsewhere, lived
from bench.recall_orders import (
    COLUMNS,
    Figures,
    judge,
    mean,
    order,
    ours,
    plain_reading,
    reciprocal_ranks,
)
from bench.recall_sets import Set, SetQuestion, read
from recall.weights import WITH_HASHED, WITH_VECTORS

if TYPE_CHECKING:
    from bench.recall_orders import Scores

_VECTORS = ("dense", "dense_near", "dense_session", "dense_session_best")
#: What the ablation takes out, one after the other.
ABLATION: Mapping[str, tuple[str, ...]] = {
    "words of the turn itself": ("words", "words_long", "coverage"),
    "words of its neighbours": ("window",),
    "words of its session": ("session", "session_best"),
    "summaries": ("summary",),
    "all vectors": _VECTORS,
    "vectors of neighbours and session": ("dense_near", "dense_session", "dense_session_best"),
    "times": ("near",),
    "who is meant": ("meant", "by_user", "you_said"),
    "length": ("length", "length_own"),
    "kind of answer": ("asks", "time_wanted", "number_wanted"),
    "place in the session": ("opening", "early"),
}


def main() -> None:
    """Measure what was asked for, and print tables."""
    asked = _arguments()
    paths = sorted(asked.data.glob("*.json.gz"))
    chosen = [path for path in paths if not asked.sets or path.name.removesuffix(".json.gz") in asked.sets]
    seen: dict[str, list[AskedQuestion]] = {}
    for path in chosen:
        data = read(path)
        print(f"\n## {data.name}\n\n{_head('method')}", flush=True)
        built_in = list(lived(data, {}, asked.cache))
        served = list(lived(data, _server(asked), asked.cache)) if asked.embeddings else []
        _print_methods(built_in, served)
        seen[data.name] = served or built_in
        _print_relevance(data, seen[data.name], asked)
        _print_references(data, asked)
    _print_ablation(seen)
    if asked.fit:
        _print_left_out(seen)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder with sets, *.json.gz")
    parser.add_argument("--sets", nargs="*", default=[], help="names of sets; all without it")
    parser.add_argument("--embeddings", default="", help="base URL of an OpenAI-compatible embeddings server")
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="its model")
    parser.add_argument("--cache", type=Path, help="a folder that keeps vectors between runs")
    parser.add_argument(
        "--foreign",
        type=int,
        default=40,
        help="questions a history whose answer is not in it, or that say she",
    )
    parser.add_argument(
        "--fit", action="store_true", help="fit weights with one set left out, and judge on it"
    )
    return parser.parse_args()


def _server(asked: argparse.Namespace) -> dict[str, str]:
    return {
        "EMBEDDING_MODEL": asked.model,
        "EMBEDDING_API_BASE": asked.embeddings,
        "EMBEDDING_API_KEY": "none",
    }


def _head(first: str, columns: Sequence[str] = COLUMNS) -> str:
    return f"| {first} | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}"


def _row(name: str, values: Iterable[float]) -> str:
    return f"| {name} | {' | '.join(f'{value:.1f}' for value in values)} |"


# -- methods
# -----------------------------------------------------------------------------------------------------


def _print_methods(built_in: Sequence[AskedQuestion], served: Sequence[AskedQuestion]) -> None:
    best = served or built_in
    with_facts = any("facts" in one.parts for one in best)
    _print_method("the plain reading", best, plain_reading)
    _print_method("BM25 alone", best, lambda one: _part(one, "words"))
    _print_method("vectors alone", best, lambda one: _part(one, "dense"))
    _print_method("reciprocal-rank hybrid", best, reciprocal_ranks)
    _print_method("ours, words alone", best, lambda one: ours(one, without=(*_VECTORS, "facts")))
    _print_method("ours, built-in embedder", built_in, lambda one: ours(one, without=("facts",)))
    if served:
        _print_method("ours, embeddings server", served, lambda one: ours(one, without=("facts",)))
    if with_facts:
        _print_method("ours, with facts as keys", best, ours)
    _print_categories(best)


def _print_method(
    name: str, asked: Sequence[AskedQuestion], scores: Callable[[AskedQuestion], Scores]
) -> None:
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


# -- relevance
# ----------------------------------------------------------------------------------------------------


def _print_relevance(data: Set, asked: Sequence[AskedQuestion], options: argparse.Namespace) -> None:
    """How often something is handed over, where the answer is and where it is not."""
    kept = [_handed_over(one).values[1] * one.gated for one in asked]
    before = sum(_handed_over(one).values[1] for one in asked) / len(asked)
    print(f"\nrelevance: R@10 {before:.1f} without it, {sum(kept) / len(kept):.1f} with it")
    if len(data.histories) > 1 and options.foreign:
        server = _server(options) if options.embeddings else {}
        foreign = list(elsewhere(data, server, options.cache, options.foreign))
        share = 100 * sum(one.gated for one in foreign) / len(foreign)
        print(f"questions of other histories that get anything: {share:.1f} % of {len(foreign)}", flush=True)


# -- what each part is worth
# -------------------------------------------------------------------------------------


def _print_ablation(seen: Mapping[str, Sequence[AskedQuestion]]) -> None:
    print(f"\n## R@10 with each part taken out\n\n{_head('without', list(seen))}")
    for name, parts in {"nothing": (), **ABLATION}.items():
        print(_row(name, (_recall(asked, ("facts", *parts)) for asked in seen.values())))

    single = sorted(
        {name for table in (WITH_VECTORS, WITH_HASHED) for kind in table.values() for name in kind}
    )
    print(f"\n## What each part alone is worth in R@10\n\n{_head('part', list(seen))}")
    whole = [_recall(asked, ("facts",)) for asked in seen.values()]
    for name in single:
        without = [_recall(asked, ("facts", name)) for asked in seen.values()]
        print(_row(f"`{name}`", (all_of - left for all_of, left in zip(whole, without, strict=True))))


def _print_references(data: Set, options: argparse.Namespace) -> None:
    """What is handed over for questions with "she" in a name's place, without and with what was said of her before."""
    server = _server(options) if options.embeddings else {}
    found = list(by_pronoun(data, server, options.cache, options.foreign))
    if not found:
        return
    print("\n" + _head('"she" for a name', ("first", "handed over")))
    found_by = {"without references": [one[1] for one in found], "with references": [one[2] for one in found]}
    for name, ways in found_by.items():
        shares = [
            [_found_among(one[0], hits[:most]) for one, hits in zip(found, ways, strict=True)]
            for most in (1, None)
        ]
        print(_row(f"{name} ({len(found)})", (100 * sum(share) / len(found) for share in shares)), flush=True)


def _found_among(question: SetQuestion, found: Sequence[str]) -> float:
    return sum(bool(group & set(found)) for group in question.groups) / len(question.groups)


def _recall(asked: Sequence[AskedQuestion], without: Sequence[str]) -> float:
    return mean([_judged(one, ours(one, without=without)) for one in asked])[1]


def _print_left_out(seen: Mapping[str, Sequence[AskedQuestion]]) -> None:
    """Weights fitted on all other sets; sets of one family (the same name up to the first dash) go together."""
    print(f"\n## Fitted without the set's family, judged on the set\n\n{_head('weights for', COLUMNS[:5])}")
    for name, asked in seen.items():
        others = [one for other, all_of in seen.items() if _family(other) != _family(name) for one in all_of]
        for label, left_out in (("words alone", (*_VECTORS, "facts")), ("words and vectors", ("facts",))):
            table = recall_fit.fit(others, left_out)
            figures = [_judged(one, recall_fit.scores(one, table, left_out)) for one in asked]
            print(_row(f"{name}, {label}", mean(figures)[:5]), flush=True)


def _family(name: str) -> str:
    return name.split("-", maxsplit=1)[0]


if __name__ == "__main__":
    main()
