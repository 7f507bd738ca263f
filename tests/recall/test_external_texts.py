"""Texts of external memories are near in meaning by their vectors, which are made of the newest and kept in memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from recall import external
from recall.embedding import SENTENCE_MODEL
from recall.external import ExternalTexts
from storage.external import ExternalText, SourceTexts


class _Embedder:
    """Vectors of different lengths, named by the first word of a text; of an unknown word none."""

    model = SENTENCE_MODEL
    VECTORS = {"sea": (3.0, 0.0), "coast": (4.0, 3.0), "tax": (0.0, 0.5)}  # noqa: RUF012

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[np.typing.NDArray[np.float32] | None]:
        self.asked.append(list(texts))
        found = [self.VECTORS.get(text.split()[0]) if text else None for text in texts]
        return [None if one is None else np.array(one, np.float32) for one in found]


@pytest.fixture
def held() -> Iterator[ExternalTexts]:
    texts = ExternalTexts(_Embedder(), logging.Logger("held"))
    words = ["sea boat", "coast walk", "tax form", "mute"]
    told = [
        ExternalText(f"note {day}", "", f"2026-03-0{day}T12:00:00+00:00", text) for day, text in enumerate(words, 1)
    ]
    texts.add("notes", SourceTexts(told), lambda: False)
    yield texts
    texts.of.database.close()


def found(held: ExternalTexts, vector: Sequence[float], limit: int = 9) -> list[tuple[str, float]]:
    hits = held.search(np.array(vector, np.float32), kind="conversation", exclude_session="", limit=limit)[0]
    return [(held.texts[hit.text_id].text.text, round(float(hit.similarity), 3)) for hit in hits]


def test_texts_are_found_by_the_cosine_of_their_vectors_whatever_their_length(held: ExternalTexts) -> None:
    assert (held.state, found(held, (1, 0))) == ("empty", [])
    held.embed(lambda: False)
    assert held.state == "ready"
    near = [("sea boat", 1.0), ("coast walk", 0.8), ("tax form", 0.0)]
    assert found(held, (1, 0)) == found(held, (70, 0)) == near
    assert found(held, (0, 2), 1) == [("tax form", 1.0)]
    assert found(held, (1, 0), 0) == []
    assert list(held.search(np.ones(2, np.float32), kind="summary", exclude_session="", limit=9)[0]) == []


def test_vectors_are_made_of_the_newest_texts_and_of_no_more(
    held: ExternalTexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "MOST_VECTORS", 3)
    monkeypatch.setattr(external, "_EMBEDDED_AT_ONCE", 2)
    held.embed(lambda: False)
    assert held.embedder.asked == [["tax form", "mute"], ["coast walk"]]  # type: ignore[attr-defined]
    assert [text for text, _ in found(held, (1, 0))] == ["coast walk", "tax form"]


def test_nothing_more_is_read_or_embedded_once_it_is_stopped(held: ExternalTexts) -> None:
    held.embed(lambda: True)
    held.add("more", SourceTexts([ExternalText("more", "", "", "sea again")]), lambda: True)
    assert (held.state, len(held.texts), held.embedder.asked) == ("empty", 4, [])  # type: ignore[attr-defined]
