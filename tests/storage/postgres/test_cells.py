"""Vectors are searched in memory, or by the server (of very many the nearest cells), and the same is found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from domain.indexes import Hit
from storage.moving import move_memory
from storage.postgres.database import InMemory
from storage.postgres.vectors import PostgresVectors
from storage.repositories import OnServer, Repositories
from tests.contract.stores import Teller, at, postgres, sqlite
from tests.storage.postgres.server import shared_connections

Vector = npt.NDArray[np.float32]
MODEL, DIMENSION = "a-model", 16
TOPICS = np.random.default_rng(1).normal(size=(8, DIMENSION))


class Life:
    """A memory of a person with many messages, each with a vector near one of a few topics."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.store = postgres(folder)
        self.store.start("s1", at(0))
        self.teller, self.random = Teller(self.store), np.random.default_rng(2)
        self.store.embeddings.set_dimension(MODEL, DIMENSION)
        self.vectors: dict[str, Vector] = {}
        with self.store.database.write():
            for number in range(rounds):
                self.say(f"Words {number}")

    def near(self, topic: int) -> Vector:
        """A vector near a topic."""
        vector = TOPICS[topic] + self.random.normal(scale=0.8, size=DIMENSION)
        vector[-1] = 0
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def say(self, words: str) -> list[str]:
        """A round more, with its vectors; the ids of its messages."""
        said = [message.text_id for message in self.teller.say("s1", words).messages]
        for text_id in said:
            self.embed(text_id, self.near(len(self.vectors) % len(TOPICS)))
        return said

    def embed(self, text_id: str, vector: Vector) -> None:
        """Give a message a vector, also in place of one that it has."""
        self.vectors[text_id] = vector
        self.store.embeddings.store(text_id, MODEL, f"of {text_id} {vector[0]}", vector.astype(np.float16))

    def search(self, vector: Vector, exact: int = 50, searched: float = 0.375, limit: int = 10) -> list[Hit]:
        """The nearest messages, where cells are made of more than ``exact``."""
        (found,) = self.opened(exact, searched).search(vector, kind="conversation", exclude_session=None, limit=limit)
        return found

    def opened(self, exact: int = 50, searched: float = 0.375, in_memory: InMemory | None = None) -> PostgresVectors:
        vectors = PostgresVectors(self.store.database, self.store.folder, exact, searched, in_memory)
        vectors.open(MODEL, DIMENSION)
        return vectors

    def cells(self) -> dict[int, bytes]:
        """The centroid of each cell."""
        rows = self.store.database.run("SELECT number, centroid FROM cell")
        return {int(row["number"]): bytes(row["centroid"]) for row in rows}

    def in_cells(self) -> dict[str, int]:
        """The cell of each message."""
        rows = self.store.database.run("SELECT text_id, cell FROM embedding")
        return {str(row["text_id"]): int(row["cell"]) for row in rows}


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    life = Life(tmp_path, 100)
    yield life
    life.store.close()


def test_few_messages_are_in_no_cell(life: Life) -> None:
    life.opened(200).upkeep()
    assert life.cells() == {}
    life.opened(199).upkeep()
    assert len(life.cells()) > 8


def test_all_cells_give_the_exact_answer_and_a_part_of_them_nearly_that(life: Life) -> None:
    asked = [life.near(number % 8) for number in range(40)]
    exact = [life.search(vector) for vector in asked]
    life.opened().upkeep()
    assert {*life.in_cells().values()} == {*life.cells()}
    assert [life.search(vector, searched=1.0) for vector in asked] == exact
    found = [{hit.text_id for hit in life.search(vector)} for vector in asked]
    shared = [len(some & {hit.text_id for hit in every}) / 10 for some, every in zip(found, exact, strict=True)]
    assert sum(shared) / len(shared) >= 0.9
    few = [life.search(vector, searched=0.01) for vector in asked]
    assert few != exact


def test_what_is_said_later_is_found_in_its_cell_at_once_and_not_after_it_was_removed(life: Life) -> None:
    life.opened().upkeep()
    said = life.say("a new one")
    for text_id in said:
        assert life.search(life.vectors[text_id], searched=0.01)[0].text_id == text_id
        assert life.in_cells()[text_id] in life.cells()
    life.store.rounds.undo("s1")
    assert not {*said} & {hit.text_id for one in said for hit in life.search(life.vectors[one], searched=1.0)}


def test_a_vector_in_place_of_another_is_in_the_cell_that_it_is_near_to(life: Life) -> None:
    life.opened().upkeep()
    text_id = life.say("a new one")[0]
    before = life.in_cells()[text_id]
    life.embed(text_id, -life.vectors[text_id])
    assert life.in_cells()[text_id] != before
    assert life.search(life.vectors[text_id], searched=0.01)[0].text_id == text_id
    assert len(life.in_cells()) == len(life.vectors)


def test_cells_are_made_again_when_there_are_many_more_messages(life: Life) -> None:
    vectors = life.opened()
    vectors.upkeep()
    before = life.cells()
    life.say("one more")
    vectors.upkeep()
    assert life.cells() == before
    with life.store.database.write():
        for number in range(120):
            life.say(f"More {number}")
    vectors.upkeep()
    assert len(life.cells()) > len(before) * 1.3
    assert {*life.in_cells().values()} == {*life.cells()}


def test_cells_are_not_made_again_where_many_messages_are_alike(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    alike = [life.near(0), life.near(1)]
    for number, text_id in enumerate([*life.vectors]):
        if number % 4:
            life.embed(text_id, alike[number % 2])
    vectors = life.opened()
    vectors.upkeep()
    monkeypatch.setattr("storage.postgres.vectors._centroids_of", lambda *_: pytest.fail("made again"))
    vectors.upkeep()


@pytest.mark.parametrize("read", ["count(*)", "number % ?"])
def test_everything_may_be_erased_while_cells_are_made(life: Life, monkeypatch: pytest.MonkeyPatch, read: str) -> None:
    run = life.store.database.run

    def run_and_erase(query: str, *values: Any) -> Any:
        rows = run(query, *values)
        if read in query:
            monkeypatch.undo()
            life.store.erasure.erase(life.store.erasure.scope_of_everything())
        return rows

    vectors = life.opened()
    monkeypatch.setattr(life.store.database, "run", run_and_erase)
    vectors.upkeep()
    assert life.store.database.run is not run_and_erase
    assert (life.cells(), life.in_cells()) == ({}, {})


def test_cells_are_made_of_the_vectors_of_one_dimension(life: Life) -> None:
    for text_id in life.say("of another"):
        life.embed(text_id, np.ones(DIMENSION // 2, np.float32))
    life.opened().upkeep()
    assert len(life.cells()) > 8


def test_a_centroid_is_of_what_is_still_in_its_cell(life: Life) -> None:
    life.opened().upkeep()
    alone = life.say("alone")[0]
    life.embed(alone, -np.mean([*life.vectors.values()], axis=0))
    life.store.rounds.undo("s1")
    assert means_of(life) == life.cells()
    for _ in range(99):  # one after another, until cells are empty
        life.store.rounds.undo("s1")
        assert {*life.in_cells().values()} == {*life.cells()}
    assert means_of(life) == life.cells()


def means_of(life: Life) -> dict[int, bytes]:
    """The mean of what is in each cell, as the server computes it."""
    query = "SELECT cell, l2_normalize(avg(vector)) AS mean FROM embedding WHERE cell > 0 GROUP BY cell"
    return {int(row["cell"]): bytes(row["mean"]) for row in life.store.database.run(query)}


def test_a_vector_that_was_erased_is_no_centroid(life: Life) -> None:
    far = life.say("far away")[0]
    life.embed(far, np.eye(DIMENSION, dtype=np.float32)[-1])  # like no other, so it is alone in its cell
    life.opened().upkeep()
    bytes_of = {str(number): one for number, one in enumerate(life.store.embeddings.bytes_of([far]))}
    places = {place for place, _ in life.store.database.find_traces(bytes_of)[1]}
    assert places == {"table embedding", "table cell"}
    proof = life.store.erasure.erase(life.store.erasure.scope_of_message(far))
    assert proof.traces == ()
    assert life.store.database.find_traces(bytes_of)[1] == []


def test_cells_are_those_of_one_person(life: Life, tmp_path: Path) -> None:
    life.opened().upkeep()
    other = Life(tmp_path / "other", 60)
    assert other.cells() == {}
    before = life.cells()
    other.opened().upkeep()
    vector = other.near(3)
    assert {hit.text_id for hit in other.search(vector, searched=1.0)} <= {*other.vectors}
    other.store.erasure.erase(other.store.erasure.scope_of_everything())
    assert (other.cells(), life.cells()) == ({}, before)
    other.store.close()


def test_a_memory_that_was_moved_is_searched_and_gets_cells_of_its_own(life: Life, tmp_path: Path) -> None:
    life.opened().upkeep()
    asked = life.near(2)
    exact = life.search(asked, searched=1.0)

    def opened(place: Path | OnServer) -> Repositories:
        return sqlite(place).of if isinstance(place, Path) else postgres(place.folder).of

    move_memory(OnServer(life.store.folder, shared_connections(), str(life.store.folder)), tmp_path / "out", opened)
    there = tmp_path / "again"
    move_memory(tmp_path / "out", OnServer(there, shared_connections(), str(there)), opened)
    life.store = postgres(there)
    assert life.cells() == {}
    assert life.search(asked) == exact
    life.opened().upkeep()
    assert {*life.in_cells().values()} == {*life.cells()}
    assert life.search(asked, searched=1.0) == exact


def found_in(vectors: PostgresVectors, vector: Vector, limit: int = 10) -> list[Hit]:
    (found,) = vectors.search(vector, kind="conversation", exclude_session=None, limit=limit)
    return found


class Brought:
    """How many vectors were brought into memory, and how often the server searched."""

    def __init__(self, life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows = self.searches = 0
        run = life.store.database.run

        def count(query: str, *values: Any) -> Any:
            rows = run(query, *values)
            self.searches += "ORDER BY near" in query
            self.rows += len(rows[0][4] or ()) if "halfvec_send" in query else 0
            return rows

        monkeypatch.setattr(life.store.database, "run", count)


def test_what_is_in_memory_is_brought_once_and_found_as_the_server_finds_it(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [life.near(number % 8) for number in range(20)]
    by_server = [life.search(vector) for vector in asked]
    brought, vectors = Brought(life, monkeypatch), life.opened(in_memory=InMemory(200 * DIMENSION))
    in_memory = [found_in(vectors, vector) for vector in asked]
    assert [[hit._replace(similarity=0) for hit in one] for one in in_memory] == [
        [hit._replace(similarity=0) for hit in one] for one in by_server
    ]
    near = np.array([[hit.similarity for hit in one] for one in (*in_memory, *by_server)]).reshape(2, -1)
    np.testing.assert_allclose(*near, atol=1e-3)
    assert (brought.rows, brought.searches) == (200, 0)


def test_another_thread_that_lets_go_of_what_is_in_memory_disturbs_no_search(life: Life) -> None:
    vectors, asked = life.opened(in_memory=InMemory(200 * DIMENSION)), life.near(3)
    before = found_in(vectors, asked)

    class LetGo(tuple[str, int]):
        """A model that is compared while another thread lets go."""

        def __eq__(self, other: object) -> bool:
            vectors.let_go()
            return super().__eq__(other)

        __hash__ = tuple.__hash__

    vectors._rows.of = LetGo(vectors._rows.of)
    assert found_in(vectors, asked) == before


def test_what_another_process_stores_replaces_or_removes_is_so_in_memory_too(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought, vectors = Brought(life, monkeypatch), life.opened(in_memory=InMemory(300 * DIMENSION))
    found_in(vectors, life.near(0))
    said = life.say("a new one")
    assert [found_in(vectors, life.vectors[one])[0].text_id for one in said] == said
    life.embed(said[0], -life.vectors[said[0]])
    assert found_in(vectors, life.vectors[said[0]])[0].text_id == said[0]
    assert len(found_in(vectors, life.near(0), 300)) == 202
    life.store.rounds.undo("s1")
    left = {hit.text_id for hit in found_in(vectors, life.near(0), 300)}
    assert len(left) == 200
    assert left.isdisjoint(said)
    assert (brought.rows, brought.searches) == (203, 0)


def test_in_memory_are_those_who_asked_last_and_who_has_too_many_is_searched_by_the_server(
    life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, shared = Life(tmp_path / "other", 60), InMemory(250 * DIMENSION)
    brought, vectors, others = Brought(life, monkeypatch), life.opened(in_memory=shared), other.opened(in_memory=shared)
    asked = life.near(1)
    found = found_in(vectors, asked)
    found_in(others, asked)
    assert found_in(vectors, asked) == found
    assert brought.rows == 400
    few = life.opened(in_memory=InMemory(199 * DIMENSION))
    for _ in range(2):
        assert [hit.text_id for hit in found_in(few, asked)] == [hit.text_id for hit in found]
    assert brought.searches == 2
    other.store.close()


def test_of_those_in_memory_the_many_who_have_few_share_a_part_of_it() -> None:
    gone, kept = list[int](), InMemory(1_000, most_small=100)
    asked = [partial(gone.append, number) for number in range(8)]
    for one, size in zip(asked, (700, 25, 25, 25, 25, 26, 25, 10), strict=True):
        kept.keep(one, size)
    assert gone == [1, 2]
    kept.keep(asked[5], 400)
    assert gone == [1, 2, 0]


def test_what_is_in_memory_is_complete_where_a_request_kept_what_was_there_before_another_one(life: Life) -> None:
    vectors, first, said = life.opened(in_memory=InMemory(400 * DIMENSION)), next(iter(life.vectors)), list[str]()
    found_in(vectors, life.near(0))
    life.store.rounds.undo("s1")

    def meanwhile() -> None:
        said.extend(life.say("a new one"))
        life.embed(first, -life.vectors[first])
        found_in(vectors, life.near(0))

    with life.store.database.reading():
        found_in(vectors, life.near(0))
        other = Thread(target=meanwhile)
        other.start()
        other.join()
        found_in(vectors, life.near(1))
    assert [found_in(vectors, life.vectors[one])[0].text_id for one in said] == said


def test_what_was_removed_is_not_found_where_the_memory_is_let_go_in_the_middle_of_a_search(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, ahead = life.opened(in_memory=InMemory(400 * DIMENSION)), life.store.database.ahead
    found_in(vectors, life.near(0))
    gone = {message.text_id for spoken in life.store.rounds.undo("s1") for message in spoken.messages}
    monkeypatch.setattr(life.store.database, "ahead", lambda *reads: (vectors.let_go(), ahead(*reads)))
    assert gone.isdisjoint(hit.text_id for hit in found_in(vectors, life.near(0), 300))


def test_of_a_person_who_was_removed_nothing_is_found_or_in_memory(life: Life) -> None:
    vectors = life.opened(in_memory=InMemory(400 * DIMENSION))
    assert found_in(vectors, life.near(0))
    shared_connections().remove(str(life.store.folder))
    assert found_in(vectors, life.near(0)) == []
    assert vectors._rows.numbers == 0
