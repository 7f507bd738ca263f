"""Make ``recall/message_kinds.json``: what kind of message needs memory. ``python -m bench.message_kinds``.

``sets/message_kinds.json`` has messages that need no memory (tasks, knowledge, translations, sums, small talk,
reactions, pasted text) and messages that may (remarks about one's own life, requests for advice, questions about people
and what was said), in both languages. A ridge regression on the vectors of the built-in sentence embedder tells them
apart; a class counts as much as the other. For other embedders, which have other vectors, a few examples of each class
and language are written beside the weights: those that the weights tell apart best, so that they are typical.

Printed: how well each language is told apart by weights that were made from the other one, and how well the direction
from the examples alone does on all that are not examples (areas under the ROC curve).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from models.embeddings import SentenceEmbedder
from recall.ranking import Floats, Numbers
from recall.relevance import KINDS_FILE, direction_of

_SET = Path(__file__).parent / "sets" / "message_kinds.json"
#: The strength of the ridge; how many examples of a class and a language are kept.
_RIDGE, _EXAMPLES = 10.0, 12


def main() -> None:
    """Train, print how well it works, and write the file."""
    messages = [
        (language, kind, text)
        for language, kinds in json.loads(_SET.read_text(encoding="utf-8")).items()
        for kind, texts in kinds.items()
        for text in texts
    ]
    embedder = SentenceEmbedder()
    vectors = np.stack([vector for vector in embedder.embed([text for *_, text in messages]) if vector is not None])
    needed = np.array([kind == "need" for _, kind, _ in messages])
    languages = np.array([language for language, *_ in messages])
    for language in ("en", "zh"):
        own = languages == language
        weights, bias = fit(vectors[~own], needed[~own])
        print(f"{language}, learned from the other language: {area(vectors[own] @ weights + bias, needed[own]):.3f}")
    weights, bias = fit(vectors, needed)
    kinds = vectors @ weights + bias
    chosen = np.concatenate(
        [
            _typical(kinds, np.flatnonzero((languages == language) & (needed == kind)), sign)
            for language in ("en", "zh")
            for kind, sign in ((False, -1.0), (True, 1.0))
        ]
    )
    others = np.setdiff1d(np.arange(len(messages)), chosen)
    of_examples, middle = direction_of(vectors[chosen][~needed[chosen]], vectors[chosen][needed[chosen]])
    print(f"by the examples alone: {area(vectors[others] @ of_examples + middle, needed[others]):.3f}")
    examples = {kind: [messages[at][2] for at in chosen if messages[at][1] == kind] for kind in ("none", "need")}
    made = {
        "model": embedder.model,
        "bias": round(float(bias), 4),
        "weights": [round(float(one), 4) for one in weights],
        "examples": examples,
    }
    KINDS_FILE.write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")


def fit(vectors: Floats, needed: Numbers) -> tuple[Floats, float]:
    """Weights and bias of a ridge regression onto -1 and 1, each class weighing half."""
    goal = np.where(needed, 1.0, -1.0)
    weight = np.where(needed, 0.5 / needed.mean(), 0.5 / (~needed).mean())
    middle = vectors.mean(axis=0)
    apart = vectors - middle
    squares = apart.T @ (apart * weight[:, None]) + _RIDGE * np.eye(vectors.shape[1])
    weights = np.linalg.solve(squares, apart.T @ (weight * goal))
    return weights, -float(middle @ weights)


def area(scores: Floats, right: Numbers) -> float:
    """The area under the ROC curve."""
    above = scores[right][:, None] - scores[~right][None]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())


def _typical(kinds: Floats, among: Numbers, sign: float) -> Numbers:
    """Those in the middle of the better half of a class: clear, and not extreme."""
    order = among[np.argsort(-sign * kinds[among])]
    start = max(0, len(order) // 4 - _EXAMPLES // 2)
    return order[start : start + _EXAMPLES]


if __name__ == "__main__":
    main()
