"""Make ``recall/message_kinds.json``: what kind of message needs memory. ``python -m bench.message_kinds``.

``sets/message_kinds.json`` has messages that need no memory (tasks, knowledge, translations, sums, small talk,
reactions, pasted text) and messages that may (remarks about one's own life and feelings, work that goes on, requests
for advice, questions about people and what was said), in both languages. A ridge regression on how near the vectors of
the built-in sentence embedder are to landmarks tells them apart; a class counts as much as the other. For other
embedders, which have other vectors, every eighth message is written beside the weights; those are landmarks there.

Printed: how well each language is told apart by weights that were made from the other one, and how well the examples
alone do on all that are not examples (areas under the ROC curve).
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import numpy as np

from models.embeddings import SentenceEmbedder
from recall.ranking import Floats, Numbers
from recall.relevance import KINDS_FILE, fit, nearness

_SET = Path(__file__).parent / "sets" / "message_kinds.json"
#: How many landmarks, in how many rounds of k-means; every so many messages one is kept as an example.
_LANDMARKS, _ROUNDS, _EXAMPLE_EVERY = 200, 15, 8


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
        landmarks = landmarks_of(vectors[~own])
        weights, bias = fit(nearness(vectors[~own], landmarks), needed[~own])
        kinds = nearness(vectors[own], landmarks) @ weights + bias
        print(f"{language}, learned from the other language: {area(kinds, needed[own]):.3f}")
    landmarks = landmarks_of(vectors)
    weights, bias = fit(nearness(vectors, landmarks), needed)
    chosen = np.arange(0, len(messages), _EXAMPLE_EVERY)
    others = np.setdiff1d(np.arange(len(messages)), chosen)
    of_examples, middle = fit(nearness(vectors[chosen], vectors[chosen]), needed[chosen])
    by_examples = nearness(vectors[others], vectors[chosen]) @ of_examples + middle
    print(f"by the examples alone: {area(by_examples, needed[others]):.3f}")
    examples = {kind: [messages[at][2] for at in chosen if messages[at][1] == kind] for kind in ("none", "need")}
    made = {
        "model": embedder.model,
        "bias": round(float(bias), 4),
        "weights": [round(float(one), 4) for one in weights],
        "landmarks": b64encode(np.rint(landmarks * 127).astype(np.int8).tobytes()).decode(),
        "examples": examples,
    }
    KINDS_FILE.write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")


def landmarks_of(vectors: Floats) -> Floats:
    """The centres of clusters of unit vectors (k-means on the sphere), in steps of 1/127."""
    centres = vectors[np.linspace(0, len(vectors) - 1, _LANDMARKS).astype(int)]
    for _ in range(_ROUNDS):
        nearest = (vectors @ centres.T).argmax(axis=1)
        sums = np.stack([vectors[nearest == at].sum(axis=0) for at in range(_LANDMARKS)])
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(length > 0, sums / np.maximum(length, 1e-9), centres)
    return np.asarray(np.rint(centres * 127) / 127, np.float32)


def area(scores: Floats, right: Numbers) -> float:
    """The area under the ROC curve."""
    above = scores[right][:, None] - scores[~right][None]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())


if __name__ == "__main__":
    main()
