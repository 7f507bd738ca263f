"""Make ``recall/forget_reading.json``: what a request to forget reads like.

    python -m bench.forget_reading [--data more.json]

``sets/forget.json`` and ``sets/forget_training.json`` have requests and other messages with the same words;
``sets/message_kinds.json`` has ordinary ones. A ridge regression on vectors and words tells them apart, a class
counting as much as the other. The least scores are chosen on messages that the weights of their fold had not seen, so
that a fixed share of those with the same words is taken for a request.

Printed: of the requests that a fold had not seen, the share that each least score finds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from models.embeddings import SentenceEmbedder
from recall.ranking import Flags, Floats
from recall.relevance import READING_FILE, features_of

_SETS = Path(__file__).parent / "sets"
_RIDGE, _FOLDS = 2.0, 8
#: The share of other messages, of those with the same words, that may reach each certainty.
_TAKEN = {"possible": 0.11, "uncertain": 0.014, "likely": 0.003}


def main() -> None:
    """Train, print how well it works, and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", nargs="*", type=Path, default=[])
    paths = [_SETS / "forget.json", _SETS / "forget_training.json", *parser.parse_args().data]
    lists = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    asked = dict.fromkeys(text for one in lists for text in one["requests"])
    alike = dict.fromkeys(text for one in lists for text in one["not_requests"])
    plain = dict.fromkeys(_ordinary_messages())
    texts = [*asked, *alike, *plain]
    embedder = SentenceEmbedder()
    vectors = embedder.embed(texts)
    features = features_of(texts, np.stack([one for one in vectors if one is not None]))
    right = np.arange(len(texts)) < len(asked)
    scores = _unseen_scores(features, right)
    others = np.sort(scores[len(asked) : len(asked) + len(alike)])[::-1]
    least = {name: round(float(others[int(share * len(others))]), 3) for name, share in _TAKEN.items()}
    for name, one in least.items():
        print(f"{name}: {(scores[right] > one).mean():.1%} of {len(asked)} requests")
    weights, bias = fit(features, right)
    made = {
        "model": embedder.model,
        "bias": round(bias, 4),
        "least": least,
        "weights": [round(float(one), 3) for one in weights],
    }
    READING_FILE.write_text(json.dumps(made) + "\n", encoding="utf-8")


def fit(features: Floats, right: Flags) -> tuple[Floats, float]:
    """Weights and bias of a ridge regression onto -1 and 1, each class weighing half."""
    weigh = np.where(right, 0.5 / right.mean(), 0.5 / (~right).mean())
    rows = np.hstack([features, np.ones((len(features), 1), np.float32)])
    dual = np.linalg.solve(rows @ rows.T + _RIDGE * np.diag(1 / weigh), np.where(right, 1.0, -1.0))
    weights = rows.T @ dual
    return weights[:-1], float(weights[-1])


def _unseen_scores(features: Floats, right: Flags) -> Floats:
    """The score of each message by weights that were made without its fold."""
    scores = np.zeros(len(right), np.float32)
    fold = np.random.default_rng(0).permutation(len(right)) % _FOLDS
    for number in range(_FOLDS):
        weights, bias = fit(features[fold != number], right[fold != number])
        scores[fold == number] = features[fold == number] @ weights + bias
    return scores


def _ordinary_messages() -> Iterable[str]:
    of_languages = json.loads((_SETS / "message_kinds.json").read_text(encoding="utf-8")).values()
    return (text for kinds in of_languages for texts in kinds.values() for text in texts)


if __name__ == "__main__":
    main()
