"""What each part of the score counts, by the kind of conversation and by what is at hand.

Four kinds, told apart by the data and never by name: ``talk`` (short turns, and a question), ``remark``
(short turns, and something said that asks nothing), ``work`` (replies of a paragraph or two) and ``long``
(replies of a page). A history between two kinds gets weights between them. The numbers were fitted on other
histories by a listwise logistic loss and checked on histories, and whole sets, that were left out; ``python
-m bench.recall`` does it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

TalkKind = Literal["talk", "remark", "work", "long"]
Weights = Mapping[str, float]
WeightTable = Mapping[TalkKind, Weights]

#: The names of the embedders whose vectors have weights of their own: ``HashedEmbedder.model`` of
#: ``recall.embedding`` and ``SentenceEmbedder.model`` of ``models.sentence_embedder``.
HASHED_MODEL, SENTENCE_MODEL = "built-in-1", "universal-sentence-1"

#: For words alone: no embedder, or no index of vectors, or a text without a vector.
WORDS_ALONE: WeightTable = {
    "talk": {
        "words_apart": 0.5,
        "window": 0.55,
        "coverage": 0.25,
        "session": 0.17,
        "session_best": 0.61,
        "summary": 0.26,
        "near": 3.23,
        "meant": 0.94,
        "by_user": 0.17,
        "length_own": 0.8,
        "asks": -0.24,
        "time_wanted": 1.0,
        "number_wanted": 0.76,
        "opening": -0.32,
        "facts": 0.25,
        "fact_named": 0.25,
    },
    "remark": {
        "words": 0.09,
        "words_long": 0.28,
        "window": 0.28,
        "length_own": 0.48,
        "facts": 0.25,
    },
    "work": {
        "window": 0.18,
        "coverage": 0.06,
        "session": 0.55,
        "session_best": 0.38,
        "near": 0.3,
        "by_user": 0.84,
        "length": 0.32,
        "number_wanted": 0.22,
        "opening": 1.73,
        "early": 0.82,
        "newer": 1.1,
        "facts": 0.7,
    },
    "long": {
        "words": 0.02,
        "words_long": 0.56,
        "window": 0.17,
        "coverage": 0.06,
        "session_best": 0.36,
        "near": 0.08,
        "by_user": 0.18,
        "you_said": 1.49,
        "length": -0.57,
        "asks": -0.25,
        "number_wanted": 0.55,
        "opening": 0.83,
        "early": 0.74,
        "facts": 0.6,
    },
}

#: For words and vectors together.
WITH_VECTORS: WeightTable = {
    "talk": {
        "words_apart": 0.5,
        "dense_apart": 0.2,
        "window": 0.35,
        "coverage": 0.18,
        "session": 0.18,
        "session_best": 0.48,
        "summary": 0.22,
        "near": 2.94,
        "meant": 0.86,
        "by_user": 0.17,
        "length_own": 0.97,
        "asks": -0.18,
        "time_wanted": 1.01,
        "number_wanted": 0.66,
        "opening": -0.15,
        "dense": 0.31,
        "dense_near": 0.32,
        "dense_session_best": 0.16,
        "facts": 0.25,
        "fact_named": 0.25,
    },
    "remark": {
        "words": 0.2,
        "words_long": 0.26,
        "window": 0.26,
        "length_own": 0.43,
        "dense": 1.5,
        "facts": 0.25,
    },
    "work": {
        "window": 0.08,
        "coverage": 0.03,
        "session": 0.45,
        "session_best": 0.22,
        "near": 0.3,
        "by_user": 0.9,
        "length": 0.37,
        "number_wanted": 0.22,
        "opening": 1.7,
        "early": 0.82,
        "dense_near": 0.08,
        "dense_session": 0.14,
        "dense_session_best": 0.29,
        "newer": 1.1,
        "facts": 0.7,
    },
    "long": {
        "words_long": 0.27,
        "window": 0.01,
        "coverage": 0.12,
        "session_best": 0.26,
        "near": 0.03,
        "by_user": 0.43,
        "you_said": 1.44,
        "length": -0.51,
        "asks": -0.24,
        "number_wanted": 0.52,
        "opening": 0.77,
        "early": 0.63,
        "dense": 0.26,
        "dense_near": 0.1,
        "dense_session": 0.06,
        "dense_session_best": 0.41,
        "facts": 0.6,
    },
}

#: For words and the embedder of whole sentences, which knows what a turn means but not when it was, nor of whom.
WITH_SENTENCES: WeightTable = {
    "talk": {
        "words": 0.08,
        "words_apart": 0.39,
        "window": 0.49,
        "coverage": 0.09,
        "session": 0.05,
        "session_best": 0.29,
        "summary": 0.11,
        "near": 2.35,
        "meant": 1.05,
        "length": 0.5,
        "length_own": 0.8,
        "asks": -1.38,
        "time_wanted": 0.8,
        "number_wanted": 1.3,
        "opening": 0.35,
        "early": -0.36,
        "dense": 0.29,
        "dense_apart": 0.67,
        "dense_answering": 0.47,
        "dense_session_best": 0.22,
        "facts": 0.25,
        "fact_named": 0.25,
    },
    "remark": {
        "words_long": 0.34,
        "words_apart": 0.08,
        "coverage": 0.05,
        "length": 0.76,
        "length_own": -0.82,
        "dense": 0.61,
        "dense_apart": 0.45,
        "facts": 0.25,
    },
    "work": {
        "coverage": 0.11,
        "session": 0.45,
        "session_best": 0.14,
        "by_user": 0.15,
        "length": -0.07,
        "length_own": 0.19,
        "number_wanted": 0.65,
        "opening": 1.59,
        "early": 1.56,
        "dense_near": 0.1,
        "dense_session": 0.41,
        "dense_session_best": 0.44,
        "newer": 1.1,
        "facts": 0.7,
    },
    "long": {
        "words_long": 0.23,
        "coverage": 0.17,
        "session_best": 0.3,
        "summary": 0.24,
        "by_user": 0.58,
        "length": -0.43,
        "asks": -0.23,
        "number_wanted": 1.3,
        "opening": 0.75,
        "early": 0.52,
        "dense_session": 0.31,
        "facts": 0.6,
    },
}

#: For words and the built-in embedder, whose vectors are hashed words: they say again what the words say, and less.
#: In talk the person's own words count more than the fit gave them (0.13, from 97 questions; nothing is lost to 0.5):
#: a reply that says again what was just said to it must not stand in its place.
WITH_HASHED: WeightTable = {
    "talk": {
        "words_apart": 0.5,
        "dense_apart": 0.2,
        "window": 0.35,
        "coverage": 0.16,
        "session": 0.17,
        "session_best": 0.08,
        "summary": 0.27,
        "near": 2.24,
        "meant": 0.87,
        "by_user": 0.4,
        "length_own": 1.02,
        "asks": -0.3,
        "time_wanted": 1.1,
        "number_wanted": 0.78,
        "opening": 0.18,
        "early": -0.37,
        "dense": 0.34,
        "dense_near": 0.23,
        "dense_session_best": 0.25,
        "facts": 0.25,
        "fact_named": 0.25,
    },
    "remark": WORDS_ALONE["remark"],
    "work": WORDS_ALONE["work"],
    "long": {
        "words_long": 0.1,
        "window": 0.04,
        "coverage": 0.16,
        "session_best": 0.31,
        "summary": 0.19,
        "near": 0.02,
        "by_user": 0.26,
        "you_said": 1.28,
        "length": -0.43,
        "asks": -0.12,
        "number_wanted": 0.42,
        "opening": 0.92,
        "early": 0.85,
        "dense": 0.13,
        "dense_session_best": 0.47,
        "facts": 0.6,
    },
}
