"""How much a message reads like a request to forget, off its vector and its words.

A linear classifier for the vectors of the built-in sentence embedder and the hashed sequences of up to three words. It
adds to the rules of ``language.forget_forms`` what they have no form for: that a model may have to read the message,
that the person is asked, or, where it is as good as certain, that something is hidden.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from domain.patterns import pattern_of
from language.forget_forms import normalise
from language.forget_requests import Reading
from recall.ranking import Floats

if TYPE_CHECKING:
    from domain.indexes import Vector

#: The weights and the least scores. ``bench.forget_reading`` makes it.
READING_FILE = Path(__file__).parent / "forget_reading.json"
#: Sequences of words are hashed to so many places, and weigh so much beside the vector, which has the length 1.
_PLACES, _WORDS_WEIGH = 2048, 0.7
_PIECE = pattern_of(r"[a-z']+|[\u3400-\u9fff]|\d+|[.!?。！？：:]")


def read_like_forget_request(text: str, vector: Vector | None, model: str) -> Reading | None:
    """How certain a request to forget a message is by its vector of ``model``; None where that cannot tell."""
    known = _read_weights()
    if vector is None or model != known["model"]:
        return None
    score = float(features_of([text], vector[None])[0] @ known["weights"]) + known["bias"]
    readings: tuple[Reading, ...] = ("likely", "uncertain", "possible")
    for reading in readings:
        if score >= known["least"][reading]:
            return reading
    return "none"


def features_of(texts: Sequence[str], vectors: Floats) -> Floats:
    """A row for each text: its vector as a unit vector, and its hashed sequences of words."""
    made = np.zeros((len(texts), vectors.shape[1] + _PLACES), np.float32)
    made[:, : vectors.shape[1]] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    hashed = made[:, vectors.shape[1] :]
    for row, text in zip(hashed, texts, strict=True):
        for sequence in set(_sequences(text)):
            place = crc32(sequence.encode())
            row[place % _PLACES] += 1.0 if place & 0x80000000 else -1.0
    hashed *= _WORDS_WEIGH / np.maximum(np.linalg.norm(hashed, axis=1, keepdims=True), 1e-9)
    return made


def _sequences(text: str) -> Iterator[str]:
    """The words or characters of a text, two and three in a row, and two around any third."""
    pieces = ["<", *_PIECE.findall(normalise(text.replace("’", "'")).lower()), ">"]
    for one, two, three in zip(pieces, [*pieces[1:], ""], [*pieces[2:], "", ""], strict=True):
        yield from (one, f"{one} {two}", f"{one} {two} {three}", f"{one} _ {three}")


@cache
def _read_weights() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(READING_FILE.read_text(encoding="utf-8"))
    return {**known, "weights": np.array(known["weights"], np.float32)}
