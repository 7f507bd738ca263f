"""Which memories of a chat API are recalled: 0.7 of likeness, 0.3 of importance, five at the most."""

from __future__ import annotations

import numpy as np
import pytest

from domain.recollection import ClientNote
from jobs.client_memories import cosine_similarities, rank_memories, shared_words


def memory(number: int, summary: str) -> ClientNote:
    return ClientNote(number, summary, "[]", "active", 5, 1, "2026-03-01T09:00:00+00:00")


def test_likeness_counts_seven_parts_and_importance_three() -> None:
    likeness = {1: 0.9, 2: 0.5, 3: 0.0}
    assert rank_memories(likeness, {1: 1, 2: 10, 3: 10}) == [1, 2, 3]
    assert rank_memories({1: 0.5, 2: 0.4}, {1: 5, 2: 8}) == [2, 1]
    assert rank_memories({1: 0.5, 2: 0.4}, {1: 5, 2: 7}) == [1, 2]


def test_five_are_recalled_and_of_equal_ones_the_newest() -> None:
    assert rank_memories(dict.fromkeys(range(1, 9), 0.5), dict.fromkeys(range(1, 9), 5)) == [8, 7, 6, 5, 4]


def test_a_memory_that_was_hidden_meanwhile_is_not_recalled() -> None:
    assert rank_memories({1: 1.0, 2: 0.5}, {2: 5}) == [2]


def test_likeness_is_the_cosine() -> None:
    query = np.array([2.0, 0.0], np.float32)
    table = np.array([[3.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], np.float32)
    found = cosine_similarities(query, [1, 2, 3, 4], table)
    assert found == pytest.approx({1: 1.0, 2: 0.0, 3: 0.7071, 4: 0.0}, abs=1e-4)
    assert cosine_similarities(query, [], table[:0]) == {}


@pytest.mark.parametrize(
    ("query", "found"), [("Who is Momo?", {1}), ("我的猫在哪里？", {2}), ("When?", set()), ("", set())]
)
def test_without_vectors_words_decide_in_both_languages(query: str, found: set[int]) -> None:
    memories = [memory(1, "Momo is the cat of Ann."), memory(2, "安的猫叫小黑。"), memory(3, "It rained.")]
    assert set(shared_words(query, memories)) == found
