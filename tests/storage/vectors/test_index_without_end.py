"""Work on the index that cannot succeed, or comes no further, ends with a reason that is told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.errors import StorageError
from domain.workers import CancelToken
from tests.storage.vectors.indexed import DELAYS, PATIENCE, IndexedStore
from tests.storage.vectors.test_indexing import TEXTS, until
from tests.support.house import house
from tests.support.program import run

#: Names of folders that are possible, and that LanceDB takes in no path.
NAMES = {"a newline": "two\nlines", "an escape character": "red\x1b[31m", "a tab": "a\tb", "a delete": "a\x7fb"}


@pytest.fixture(params=NAMES, ids=list(NAMES))
def hopeless(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IndexedStore]:
    folder = tmp_path / NAMES[request.param]
    folder.mkdir()
    opened = IndexedStore(folder)
    opened.add_session("s1")
    opened.add_messages("s1", TEXTS)
    yield opened.started()
    opened.close()


def test_a_folder_that_the_index_can_never_use_is_told_with_its_reason(hopeless: IndexedStore) -> None:
    until(lambda: hopeless.indexing.status().doing == "failed")
    trouble = hopeless.indexing.status().trouble
    assert trouble is not None
    assert trouble.key == "index.folder_name"
    assert hopeless.indexing.degraded == ("index",)


def test_what_can_never_succeed_is_tried_once_and_again_when_it_is_asked_for(hopeless: IndexedStore) -> None:
    tries: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: tries.append(record.getMessage())  # type: ignore[method-assign]
    hopeless.log.addHandler(handler)
    until(lambda: hopeless.indexing.status().doing == "failed")
    hopeless.indexing.wake()
    assert not hopeless.indexing.settle(20 * DELAYS[0])
    assert len([said for said in tries if "trying again later" in said]) <= 1
    hopeless.indexing.reindex()
    until(lambda: (progress := hopeless.indexing.progress()) is not None and progress.doing == "failed")
    assert hopeless.indexing.close(PATIENCE)


def test_in_such_a_folder_every_text_still_gets_its_vector(hopeless: IndexedStore) -> None:
    until(lambda: not hopeless.embeddings.waiting(1))
    assert hopeless.embeddings.counts("oracle-1").vectors == len(TEXTS)


def test_work_that_comes_no_further_is_told_after_the_limit_and_ends_the_waiting(tmp_path: Path) -> None:
    store = IndexedStore(tmp_path)
    store.indexing.patience = 0.2
    held = threading.Event()
    store.oracle.before_answer = lambda: held.wait(PATIENCE) and None
    store.add_session("s1")
    store.add_messages("s1", TEXTS)
    store.started()
    until(lambda: store.indexing.status().trouble is not None)
    trouble = store.indexing.status().trouble
    assert isinstance(trouble, StorageError)
    assert trouble.key == "index.stalled"
    assert trouble.details["seconds"] == 0
    progress = store.indexing.progress()
    assert progress is not None
    assert progress.doing == "failed"
    held.set()
    until(lambda: store.indexing.status().trouble is None)
    assert store.settle()
    store.close()


def test_an_index_at_rest_is_never_in_trouble_however_long_it_rests(tmp_path: Path) -> None:
    store = IndexedStore(tmp_path)
    store.indexing.patience = 0.0
    store.add_session("s1")
    store.started()
    assert store.settle()
    assert store.indexing.trouble is None
    store.close()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reindex_and_status_tell_the_reason_and_the_program_ends(tmp_path: Path, language: str) -> None:
    (tmp_path / "env").touch(0o600)
    done = run(
        tmp_path, "--env-file", str(tmp_path / "env"), "--data-dir", str(tmp_path / "two\nlines"), "--batch", "-",
        given="hello\n/reindex\n/status\n", LANGUAGE=language,
    )  # fmt: skip
    told = " ".join((done.out + done.err).split())
    assert told.count("LanceDB cannot use a folder" if language == "en" else "LanceDB 用不了") == 2
    assert ("could not be built" if language == "en" else "建不起来") in told


def test_an_erasure_in_such_a_folder_ends_and_is_proven(tmp_path: Path, clock, new_id, log) -> None:
    with house(tmp_path / "two\nlines", None, clock, new_id, log) as first:
        list(first.talk.turn("My word is Quintessenz.", CancelToken()))
        scope = first.memory.erasure.scope_of_words("Quintessenz")
        assert first.memory.erasure.erase(scope).traces == ()
        assert first.rows("conversation") == []
