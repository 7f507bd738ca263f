"""What each part of the score counts, by the kind of conversation and by what is at hand.

Four kinds, read from the data: ``talk`` (short messages, and a question), ``remark`` (short messages, and something
said that asks nothing), ``work`` (replies of a paragraph or two) and ``long`` (replies of a page). A history between
two kinds gets weights between them. bench/recall_notes.md has what the numbers were fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

TalkKind = Literal["talk", "remark", "work", "long"]
Weights = Mapping[str, float]
WeightTable = Mapping[TalkKind, Weights]

#: The models whose vectors are hashed words: they repeat what the words say, and less.
HASHED_MODELS = ("built-in-1",)

#: For words and a model that has learnt what texts mean.
BY_MEANING: WeightTable = {
    "talk": {
        "words": 0.08,
        "words_apart": 0.2,
        "coverage": 0.11,
        "window": 0.49,
        "session_best": 0.34,
        "summary": 0.05,
        "facts": 0.25,
        "dense": 0.29,
        "dense_apart": 1.01,
        "dense_near": 0.47,
        "dense_session_best": 0.22,
        "near": 5.08,
        "meant": 1.05,
        "wanted": 1.05,
        "asks": -1.38,
        "length": 0.5,
        "length_own": 0.8,
    },
    "remark": {"words": 0.36, "facts": 0.25, "dense": 0.86, "length_own": -0.45},
    "work": {
        "session_best": 0.59,
        "facts": 0.7,
        "dense": 0.07,
        "dense_near": 0.1,
        "dense_session": 0.49,
        "dense_session_best": 0.44,
        "length": -0.06,
        "length_own": 0.19,
        "opening": 3.15,
        "newer": 0.77,
    },
    "long": {
        "words": 0.35,
        "coverage": 0.17,
        "session_best": 0.3,
        "summary": 0.24,
        "facts": 0.6,
        "dense_session": 0.31,
        "asks": -0.2,
        "by_user": 0.58,
        "length": -0.43,
        "opening": 1.27,
    },
}

#: For words alone, and for words with vectors of hashed words.
BY_WORDS: WeightTable = {
    "talk": {
        "words_apart": 0.5,
        "coverage": 0.2,
        "window": 0.35,
        "session_best": 0.25,
        "summary": 0.27,
        "facts": 0.25,
        "dense": 0.29,
        "dense_apart": 0.17,
        "dense_near": 0.2,
        "dense_session_best": 0.25,
        "near": 2.35,
        "meant": 0.74,
        "wanted": 0.94,
        "asks": -0.36,
        "by_user": 0.4,
        "length_own": 1.02,
        "opening": 0.05,
    },
    "remark": {"words": 0.36, "facts": 0.25, "dense": 0.22, "length_own": -0.45},
    "work": {
        "coverage": 0.06,
        "session_best": 0.93,
        "summary": 0.3,
        "facts": 0.7,
        "dense_near": 0.1,
        "by_user": 0.59,
        "length": 0.32,
        "opening": 2.55,
        "newer": 0.55,
    },
    "long": {
        "words": 0.12,
        "coverage": 0.19,
        "window": 0.04,
        "session_best": 0.31,
        "summary": 0.19,
        "facts": 0.6,
        "dense": 0.16,
        "dense_near": 0.05,
        "dense_session_best": 0.4,
        "near": 0.02,
        "wanted": 0.12,
        "asks": -0.14,
        "by_user": 0.33,
        "length": -0.43,
        "opening": 0.89,
    },
}
