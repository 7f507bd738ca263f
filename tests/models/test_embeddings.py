"""Vectors from a server: in order, checked one by one; its limits learnt, a bad text set aside."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from domain import errors
from models.client import Client
from models.embeddings import RemoteEmbedder
from tests.support.faults import MALFORMED, REFUSED, UNREACHED, Fault
from tests.support.server import (
    DIMENSION,
    ScriptedServer,
    answer,
    cut_body,
    hang,
    html,
    packed,
    redirect,
    status,
    vector_of,
    vectors,
)
from tests.support.talking import KEY, NOW, models_at


class Seconds:
    """A clock of seconds that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server():
    with ScriptedServer() as opened:
        yield opened


@pytest.fixture
def seconds():
    return Seconds()


@pytest.fixture
def embedder(server, seconds):
    client = Client(server.base, KEY, 5.0)
    yield RemoteEmbedder(client, "embedder-1", logging.Logger("t"), clock=lambda: NOW, monotonic=seconds)
    client.close()


def same(found, texts) -> bool:
    return all(np.allclose(vector, vector_of(text), atol=1e-6) for vector, text in zip(found, texts, strict=True))


def limited(most: int):
    """A server that takes at most so many texts a call."""

    def play(exchange):
        if len(exchange.json["input"]) > most:
            status(400, f"batch size is invalid, it should not be larger than {most}")(exchange)
        else:
            vectors()(exchange)

    return play


def allergic(word: str, code: int = 400):
    """A server that fails whenever a text with this word is among the texts."""

    def play(exchange):
        if any(word in text for text in exchange.json["input"]):
            status(code, "cannot take this")(exchange)
        else:
            vectors()(exchange)

    return play


def test_each_text_gets_its_vector_in_order(server, embedder):
    texts = [f"text number {number}" for number in range(150)]
    found = embedder.embed(texts)
    assert same(found, texts)
    assert all(vector.dtype == np.float32 and vector.shape == (DIMENSION,) for vector in found)
    assert [len(request["input"]) for request in server.embeddings] == [64, 64, 22]
    assert server.embeddings[0]["model"] == embedder.model == "embedder-1"


def test_no_texts_need_no_call(server, embedder):
    assert embedder.embed([]) == []
    assert server.requests == []


def test_base64_is_understood(server, embedder):
    server.embeds = vectors(base64_too=True)
    assert same(embedder.embed(["a b", "c"]), ["a b", "c"])


def test_the_order_is_that_of_the_index(server, embedder):
    server.script_embeddings(vectors([vector_of("c"), vector_of("a"), vector_of("b")], indices=[2, 0, 1]))
    assert same(embedder.embed(["a", "b", "c"]), ["a", "b", "c"])


@pytest.mark.parametrize("most", [1, 10, 33])
def test_how_many_texts_a_call_takes_is_learnt_once(server, embedder, most):
    server.embeds = limited(most)
    texts = [f"text {number}" for number in range(100)]
    assert same(embedder.embed(texts), texts)
    assert most / 2 <= embedder.most_texts <= most
    before = len(server.requests)
    assert same(embedder.embed(texts), texts)
    assert len(server.requests) - before == -(-100 // embedder.most_texts)


@pytest.mark.parametrize("code", [400, 413, 422, 500])
def test_one_bad_text_is_set_aside_and_the_others_go_on(server, embedder, code):
    server.embeds = allergic("poison", code)
    texts = [f"text {number}" for number in range(40)]
    texts[17] = "poison"
    found = embedder.embed(texts)
    assert found[17] is None
    assert same(found[:17] + found[18:], texts[:17] + texts[18:])
    assert embedder.most_texts == 64


def test_a_text_too_long_for_the_server_is_known_by_its_beginning(server, embedder):
    def short_only(exchange):
        if max(map(len, exchange.json["input"])) > 2_000:
            status(400, "maximum context length is 512 tokens")(exchange)
        else:
            vectors()(exchange)

    server.embeds = short_only
    long = "begin " + "word " * 10_000
    found = embedder.embed(["a", long, "b"])
    assert same(found, ["a", long[:1_500], "b"])


def test_a_server_that_refuses_everything_is_an_outage_and_no_text_is_set_aside(server, embedder):
    server.embeds = status(400, "no embeddings here")
    with pytest.raises(errors.EmbeddingError) as raised:
        embedder.embed([f"text {number}" for number in range(64)])
    assert raised.value.details["cause"] == "model.bad_request"
    assert len(server.requests) < 12


GOOD = vector_of("x")
BAD_VECTORS = {
    "nan": [float("nan"), *GOOD[1:]],
    "inf": [float("inf"), *GOOD[1:]],
    "too large for float32": [1e300, *GOOD[1:]],
    "zeros": [0.0] * DIMENSION,
    "empty": [],
    "null": None,
    "words": ["a"] * DIMENSION,
    "nested": [GOOD],
    "bad base64": "!!!",
    "half a number in base64": packed(GOOD)[:-4],
}


@pytest.mark.parametrize("row", BAD_VECTORS.values(), ids=BAD_VECTORS)
def test_a_vector_that_is_none_sets_its_text_aside(server, embedder, row):
    server.script_embeddings(answer({"data": [{"index": 0, "embedding": GOOD}, {"index": 1, "embedding": row}]}))
    first, second = embedder.embed(["a", "b"])
    assert np.allclose(first, GOOD)
    assert second is None


def test_nothing_but_bad_vectors_is_an_outage(server, embedder):
    server.embeds = vectors([[0.0] * DIMENSION])
    with pytest.raises(errors.EmbeddingError) as raised:
        embedder.embed(["a"])
    assert raised.value.details["cause"] == "embedding.bad_vectors"


@pytest.mark.parametrize(
    ("play", "cause"),
    [
        (vectors([GOOD]), "embedding.wrong_count"),
        (vectors([GOOD, GOOD, GOOD]), "embedding.wrong_count"),
        (vectors([GOOD, GOOD], indices=[0, 0]), "embedding.wrong_order"),
        (vectors([GOOD, GOOD], indices=[1, 2]), "embedding.wrong_order"),
        (vectors([GOOD, GOOD], indices=[None, {}]), "embedding.wrong_order"),
        (vectors([GOOD, GOOD[:-1]]), "embedding.wrong_dimension"),
        (answer({"data": None}), "embedding.wrong_count"),
        (answer([]), "embedding.wrong_count"),
        (answer({"error": {"message": "broke", "code": 500}}), "model.server_fault"),
        (html(), "model.html_reply"),
        (answer(b'{"data": ['), "model.malformed_reply"),
        (answer(b"["  * 200_000), "model.malformed_reply"),
        (cut_body(b'{"data": [', 100), "model.connection_lost"),
        (redirect("http://old-friend.invalid/v1/embeddings"), "model.redirected"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_an_outage(server, embedder, play, cause):
    server.embeds = play
    with pytest.raises(errors.EmbeddingError) as raised:
        embedder.embed(["a", "b"])
    assert raised.value.details["cause"] == cause
    assert {"said", "model", "base", "status"} <= set(raised.value.details)


def test_another_dimension_than_before_is_refused(server, embedder):
    embedder.embed(["a"])
    server.dimension = DIMENSION * 2
    with pytest.raises(errors.EmbeddingError) as raised:
        embedder.embed(["a"])
    assert raised.value.details["cause"] == "embedding.wrong_dimension"
    assert (raised.value.details["expected"], raised.value.details["found"]) == (DIMENSION, DIMENSION * 2)


@pytest.mark.parametrize(
    "fault",
    [
        fault
        for fault in (*UNREACHED, *REFUSED, *MALFORMED)
        if fault.error and not fault.shown and "content_filter" not in fault.name and "reply" not in fault.name
    ],
    ids=lambda fault: fault.name,
)
def test_every_fault_of_a_server_is_an_embedding_error(fault: Fault, server):
    server.embeds = fault.plays[-1] if fault.plays else server.embeds
    llm = models_at(fault.base(server), embedding_model="e", request_timeout=min(fault.timeout, 1.0))
    with pytest.raises(errors.EmbeddingError) as raised:
        llm.embedder.embed(["a"])
    llm.close()
    assert raised.value.retryable
    assert KEY not in str(raised.value)


def test_a_connection_closed_meanwhile_is_opened_again(server, embedder):
    def hang_up_once(exchange):
        exchange.cut()

    embedder.embed(["a"])
    server.script_embeddings(hang_up_once)
    assert same(embedder.embed(["b"]), ["b"])


def test_a_hanging_server_is_left_alone_for_a_while(server, seconds):
    client = Client(server.base, KEY, 0.2)
    embedder = RemoteEmbedder(client, "e", logging.Logger("t"), clock=lambda: NOW, monotonic=seconds)
    server.script_embeddings(hang)
    for _ in range(3):
        with pytest.raises(errors.EmbeddingError) as raised:
            embedder.embed(["a"])
        assert raised.value.details["cause"] == "model.timed_out"
    assert len(server.requests) == 1
    seconds.now += 60
    assert same(embedder.embed(["a"]), ["a"])
    client.close()


def test_texts_that_cannot_be_encoded_or_are_empty_are_sent_all_the_same(server, embedder):
    embedder.embed(["", "a\ud800"])
    assert server.embeddings[0]["input"] == [" ", "a?"]


def test_embeddings_may_live_on_another_server_with_another_key(server):
    with ScriptedServer() as other:
        llm = models_at(server.base, embedding_model="e", embedding_api_base=other.base, embedding_api_key="other-key")
        llm.embedder.embed(["a"])
        llm.close()
        assert server.requests == []
        assert other.requests[0].headers["authorization"] == "Bearer other-key"


@pytest.mark.parametrize(("named", "model"), [("", "universal-sentence-1"), ("built-in", "built-in-1")])
def test_without_an_embedding_model_vectors_are_made_here_and_know_meaning_unless_told_otherwise(server, named, model):
    llm = models_at(server.base, embedding_model=named)
    assert llm.embedder.model == model
    assert llm.take_notices() == []
    assert llm.embedder.embed(["你好 world"])[0] is not None
    llm.close()
    assert server.requests == []


def test_texts_and_outcome_stand_in_the_log(server, caplog):
    log = logging.getLogger("old-friend-embeddings")
    log.setLevel(logging.DEBUG)
    llm = models_at(server.base, log, embedding_model="e")
    llm.embedder.embed(["a memorable text"])
    server.embeds = status(401)
    with pytest.raises(errors.EmbeddingError):
        llm.embedder.embed(["b"])
    llm.close()
    written = "\n".join(record.getMessage() for record in caplog.records)
    assert "a memorable text" in written
    assert "model.unauthorized" in written
    assert KEY not in written
