"""The built-in embedder: the same vector for the same text everywhere, nearer for what is alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.embedding import DIMENSION, HashedEmbedder
from tests.support.growing import growth


def _vector(text):
    (vector,) = HashedEmbedder().embed([text])
    assert vector is not None
    return vector


@pytest.mark.parametrize(
    ("text", "alike", "other"),
    [
        pytest.param("we adopted a puppy", "my puppies are asleep", "interest rates rose", id="English"),
        pytest.param("我们领养了一只小狗", "小狗睡着了", "利率上升了", id="Chinese"),
        pytest.param("我在学 Python", "Python 爬虫", "红烧肉很好吃", id="mixed"),
        pytest.param("Мы взяли щенка", "щенок и щенки", "ставки выросли", id="Russian"),
    ],
)
def test_what_is_alike_is_nearer(text, alike, other):
    assert _vector(text) @ _vector(alike) > _vector(text) @ _vector(other)


def test_what_stands_first_counts_most():
    long = "we talked about the weather and the train " * 12
    assert _vector("violin lessons. " + long) @ _vector("violin") > _vector(long + " violin lessons.") @ _vector(
        "violin"
    )


@pytest.mark.parametrize("text", ["", "   ", "!?…", "🙂🙂"])
def test_a_text_without_letters_has_no_vector(text):
    assert HashedEmbedder().embed([text]) == [None]


@given(st.text(max_size=100))
def test_a_vector_has_one_length_and_is_finite(text):
    (vector,) = HashedEmbedder().embed([text])
    if vector is not None:
        assert vector.shape == (DIMENSION,)
        assert vector.dtype == np.float32
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-3


def test_vectors_stay_the_same_from_release_to_release():
    """Stored vectors carry the model's name: when this fails, the name must change too."""
    vector = _vector("Old friends remember: 老朋友记得。")
    assert HashedEmbedder.model == "built-in-1"
    assert np.flatnonzero(np.abs(vector) > 0.2).tolist() == [105, 187, 229, 536, 556, 624]


@given(st.lists(st.text(alphabet="ab 猫狗1", max_size=20), max_size=6), st.text(alphabet="ab 猫狗1", max_size=20))
def test_what_was_embedded_before_changes_no_vector(before, text):
    used = HashedEmbedder()
    used.embed(before)
    (fresh,), (after,) = HashedEmbedder().embed([text]), used.embed([text])
    assert (fresh is None and after is None) or fresh.tobytes() == after.tobytes()


def test_work_grows_with_the_number_of_texts_and_with_their_length_and_no_faster():
    text = "I went to the market with Ann and bought a blue scarf for my mother's birthday.\n"
    assert growth(lambda given: HashedEmbedder().embed(given.splitlines()), text) < 9
    assert growth(lambda given: HashedEmbedder().embed([given]), text) < 9
