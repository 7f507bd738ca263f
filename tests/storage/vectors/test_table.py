"""The vector index: only sound vectors, each row once, any fault as ours, new rows found at once."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domain import errors
from domain.indexes import Hit, VectorRow
from storage.vectors import lance
from storage.vectors.table import InMemoryRows, Vectors, normalise

HOUSE = Path(__file__).parents[3]
DIMENSION = 32


@pytest.fixture(params=[10_000_000, 0], ids=["in-memory", "on-disk"])
def vectors(tmp_path: Path, log: logging.Logger, request: pytest.FixtureRequest) -> Iterator[Vectors]:
    opened = Vectors(tmp_path / "vectors", log, most_in_memory=request.param)
    opened.open("model-1", DIMENSION)
    yield opened
    opened.close()


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every session of LanceDB that is begun from now on, each of which has caches of its own."""
    import lancedb

    begun: list[Any] = []
    begin = lancedb.Session
    monkeypatch.setattr("lancedb.Session", lambda *bounds: begun.append(begin(*bounds)) or begun[-1])
    monkeypatch.setattr(lance, "_caches", cache(lance._Caches))
    return begun


def random_vectors(count: int, dimension: int = DIMENSION, seed: int = 1) -> np.ndarray:
    """Vectors in clumps, as those of texts are."""
    random = np.random.default_rng(seed)
    clumps = random.normal(size=(20, dimension))[random.integers(0, 20, count)]
    return (clumps + random.normal(size=(count, dimension))).astype(np.float32)


def rows(count: int, first: int = 0, session: str = "s1", seed: int = 1) -> list[VectorRow]:
    vectors = random_vectors(count, seed=seed)
    return [VectorRow(f"t{first + at}", "conversation", session, vector) for at, vector in enumerate(vectors)]


def exact(stored: list[VectorRow], query: np.ndarray, limit: int) -> list[str]:
    """The nearest by plain arithmetic."""
    table = np.stack([row.vector / np.linalg.norm(row.vector) for row in stored])
    order = np.argsort(-(table @ (query / np.linalg.norm(query))))
    return [stored[at].text_id for at in order[:limit]]


def found(vectors: Vectors, query: np.ndarray, limit: int = 10) -> list[str]:
    hits = vectors.search(query, kind="conversation", exclude_session=None, limit=limit)[0]
    return [hit.text_id for hit in hits]


def test_the_client_of_a_service_is_imported_whole_when_it_is_used_and_not_with_lancedb() -> None:
    script = (
        "import sys; from storage.vectors import lance; lance.load(); import lancedb.db\n"
        "assert 'lance_namespace_urllib3_client.api' not in sys.modules\n"
        "import lance_namespace, lance_namespace_urllib3_client as client; client.TableApi, client.api, client.models\n"
        "made = client.ApiClient().deserialize('{\"version\":1}', 'CreateTableResponse', 'application/json')\n"
        "assert type(made) is client.CreateTableResponse is lance_namespace.CreateTableResponse"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=HOUSE)


def test_importing_the_memory_imports_nothing_heavy() -> None:
    heavy = "{'lancedb', 'pyarrow', 'numpy'}"
    script = f"import sys, memory, storage.repositories; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], cwd=HOUSE, check=False).returncode == 0


def test_the_table_has_the_columns_that_are_promised(vectors: Vectors, tmp_path: Path) -> None:
    import lancedb

    vectors.upsert(rows(3))
    table = lancedb.connect(tmp_path / "vectors").open_table("vectors")
    assert table.schema.names == ["text_id", "type", "session_id", "vector"]
    assert table.schema.metadata == {b"model": b"model-1", b"dimension": b"32"}


def test_the_nearest_come_first_with_their_cosine(vectors: Vectors) -> None:
    stored = rows(200)
    vectors.upsert(stored)
    query = random_vectors(1, seed=9)[0]
    hits = vectors.search(query, kind="conversation", exclude_session=None, limit=10)[0]
    assert [hit.text_id for hit in hits] == exact(stored, query, 10)
    best = next(row.vector for row in stored if row.text_id == hits[0].text_id)
    cosine = best @ query / np.linalg.norm(best) / np.linalg.norm(query)
    assert hits[0].similarity == pytest.approx(float(cosine), abs=2e-3)


def test_a_row_is_there_once_however_often_it_is_put(vectors: Vectors) -> None:
    vectors.upsert(rows(4))
    vectors.upsert(rows(4, seed=2))
    assert vectors.count() == 4
    assert found(vectors, rows(4, seed=2)[0].vector, 1) == ["t0"]


def test_several_vectors_find_what_each_finds_alone(vectors: Vectors) -> None:
    vectors.upsert(rows(200))
    queries = random_vectors(3, seed=9)
    alone = [vectors.search(one, kind="conversation", exclude_session=None, limit=10)[0] for one in queries]
    assert vectors.search(*queries, kind="conversation", exclude_session=None, limit=10) == alone
    assert vectors.search(kind="conversation", exclude_session=None, limit=10) == []


def test_types_are_apart(vectors: Vectors) -> None:
    vector = random_vectors(1)[0]
    vectors.upsert([VectorRow("a", "conversation", "s1", vector), VectorRow("b", "summary", "s1", vector)])
    assert found(vectors, vector) == ["a"]
    (hit,) = vectors.search(vector, kind="summary", exclude_session=None, limit=10)[0]
    assert hit == Hit("b", "s1", pytest.approx(1.0, abs=1e-3))


def test_the_excluded_session_never_comes_and_never_crowds_out_others(vectors: Vectors) -> None:
    vector = random_vectors(1)[0]
    near = [VectorRow(f"n{at}", "conversation", "now", vector + at * 1e-4) for at in range(300)]
    vectors.upsert([*near, *rows(5, session="older", seed=4)])
    hits = vectors.search(vector, kind="conversation", exclude_session="now", limit=5)[0]
    assert {hit.session_id for hit in hits} == {"older"}
    assert len(hits) == 5


def test_deleted_rows_are_not_found(vectors: Vectors) -> None:
    stored = rows(1200)
    vectors.upsert(stored)
    vectors.delete(row.text_id for row in stored[:1190])
    assert vectors.count() == 10
    assert set(found(vectors, stored[0].vector, 20)) == {row.text_id for row in stored[1190:]}


def test_rows_are_found_the_moment_they_are_put_also_beside_an_index(vectors: Vectors) -> None:
    vectors.upsert(rows(1500))
    vectors.upkeep()
    late = VectorRow("late", "conversation", "s2", random_vectors(1, seed=77)[0])
    vectors.upsert([late])
    assert found(vectors, late.vector, 1) == ["late"]


@pytest.mark.parametrize(("clumps", "dimension"), [(40, 128), (1, 32)], ids=["like-texts", "no-structure"])
def test_a_large_table_is_searched_by_an_index_that_finds_the_nearest(
    tmp_path: Path, log: logging.Logger, clumps: int, dimension: int
) -> None:
    random = np.random.default_rng(3)
    middles = random.normal(size=(clumps, dimension))[random.integers(0, clumps, 5000)]
    table = (middles * (clumps > 1) + random.normal(size=(5000, dimension))).astype(np.float32)
    stored = [VectorRow(f"t{at}", "conversation", "s", vector) for at, vector in enumerate(table)]
    vectors = Vectors(tmp_path / "large", log, most_in_memory=0)
    vectors.rebuild("m", dimension, (stored[at : at + 1000] for at in range(0, 5000, 1000)))
    vectors.upkeep()
    queries = table[:20] + random.normal(size=(20, dimension)).astype(np.float32) * 0.5
    shares = [len(set(found(vectors, query)) & set(exact(stored, query, 10))) / 10 for query in queries]
    assert sum(shares) / len(shares) >= 0.95


@pytest.mark.parametrize(
    "vector",
    [
        np.full(DIMENSION, np.nan, np.float32),
        np.full(DIMENSION, np.inf, np.float32),
        np.zeros(DIMENSION, np.float32),
        np.ones(DIMENSION + 1, np.float32),
        np.ones((1, DIMENSION), np.float32),
        np.array([], np.float32),
    ],
    ids=["nan", "infinite", "zero", "longer", "nested", "none"],
)
def test_an_unsound_vector_is_neither_stored_nor_searched_for(vectors: Vectors, vector: np.ndarray) -> None:
    with pytest.raises(errors.EmbeddingError):
        vectors.upsert([VectorRow("a", "conversation", "s1", vector)])
    assert vectors.count() == 0
    with pytest.raises(errors.StorageError):
        vectors.search(vector, kind="conversation", exclude_session=None, limit=3)


def test_very_long_and_very_short_vectors_are_sound(vectors: Vectors) -> None:
    for each in (1e30, 1e-9):
        stored = normalise(np.full(8, each, np.float32), 8)
        assert np.linalg.norm(stored.astype(float)) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("text_id", ["x' OR 'a'='a", "", "a b", "a\n", "é", "x" * 129], ids=repr)
def test_an_id_that_looks_like_anything_else_never_reaches_a_predicate(vectors: Vectors, text_id: str) -> None:
    vectors.upsert(rows(3))
    with pytest.raises(errors.StorageError):
        vectors.delete([text_id])
    with pytest.raises(errors.StorageError):
        vectors.upsert([VectorRow(text_id, "conversation", "s1", random_vectors(1)[0])])
    assert vectors.count() == 3


def test_a_table_of_another_model_or_dimension_is_not_opened(vectors: Vectors) -> None:
    vectors.upsert(rows(3))
    for model, dimension in (("model-2", DIMENSION), ("model-1", DIMENSION + 1)):
        with pytest.raises(errors.StorageError):
            vectors.open(model, dimension)
        assert vectors.state == "closed"
    vectors.open("model-1", DIMENSION)
    assert vectors.count() == 3


def test_memory_and_disk_find_the_same(tmp_path: Path, log: logging.Logger) -> None:
    stored = rows(1500)
    found_by = []
    for most in (10_000_000, 0):
        vectors = Vectors(tmp_path / str(most), log, most_in_memory=most)
        vectors.open("m", DIMENSION)
        vectors.upsert(stored)
        vectors.upsert(rows(1, first=3, session="s2", seed=8))
        vectors.delete(["t7", "t1499", "unknown"])
        vectors.upkeep()
        hits = vectors.search(stored[9].vector, kind="conversation", exclude_session="s2", limit=50)[0]
        found_by.append({hit.text_id: hit.similarity for hit in hits})
    in_memory, on_disk = found_by
    both = in_memory.keys() & on_disk.keys()
    assert len(both) >= 49
    assert all(in_memory[text_id] == pytest.approx(on_disk[text_id], abs=1e-3) for text_id in both)


def test_among_many_rows_the_nearest_are_found_by_their_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    dimension, count = 390, 3_000
    stored = random_vectors(count, dimension)
    queries = stored[:2] + random_vectors(2, dimension, seed=2) * np.float32(0.3)
    ids = [f"t{at}" for at in range(count)]
    many = InMemoryRows(dimension)
    for first in range(0, count, 700):
        some = slice(first, first + 700)
        many.put(ids[some], ["other" if at % 9 else "open" for at in range(count)][some], stored[some].astype("f2"))
    many.drop(["t4", "t2999"])
    every = many.search(queries, "open", 50)
    monkeypatch.setattr("storage.vectors.table._MOST_COMPARED", 0)
    monkeypatch.setattr("storage.vectors.table._FEW", 1)
    monkeypatch.setattr("storage.vectors.table._FOR_EACH", 10)
    compared: list[int] = []
    vecdot = np.vecdot
    monkeypatch.setattr(np, "vecdot", lambda rows, query: compared.append(len(rows)) or vecdot(rows, query))
    for exactly, likely in zip(every, many.search(queries, "open", 50), strict=True):
        assert len(exactly) == 50 == len(likely)
        assert {hit.session_id for hit in likely} == {"other"}
        assert len({hit.text_id for hit in exactly} & {hit.text_id for hit in likely}) >= 48
        assert [hit.text_id for hit in exactly[:5]] == [hit.text_id for hit in likely[:5]]
    assert all(500 <= rows < 1_000 for rows in compared), "ten for each that is wanted, and equals"
    assert {hit.text_id for hit in many.search(queries[:1], None, count)[0]} == {*ids} - {"t4", "t2999"}
    compared.clear()
    many.search(queries * (np.arange(dimension) % 3 == 0), None, 50)
    assert compared == [count - 2], "all where most numbers are zero"


def test_a_type_that_outgrows_memory_is_searched_on_disk(tmp_path: Path, log: logging.Logger) -> None:
    stored = rows(60)
    vectors = Vectors(tmp_path / "vectors", log, most_in_memory=50 * DIMENSION)
    vectors.open("m", DIMENSION)
    for at in range(0, 60, 10):
        vectors.upsert(stored[at : at + 10])
        query = random_vectors(1, seed=9)[0]
        assert found(vectors, query, 5) == exact(stored[: at + 10], query, 5)


def test_a_large_table_is_in_memory_whole_after_it_was_opened(tmp_path: Path, log: logging.Logger) -> None:
    stored = rows(12_500)
    vectors = Vectors(tmp_path / "vectors", log)
    vectors.rebuild("m", DIMENSION, [stored[at : at + 2_500] for at in range(0, 12_500, 2_500)])
    vectors.upsert(rows(2, first=12_500, seed=5))
    vectors.close()
    vectors.open("m", DIMENSION)
    query = random_vectors(1, seed=9)[0]
    nearest = exact(stored + rows(2, first=12_500, seed=5), query, 300)
    assert len(set(found(vectors, query, 300)) & set(nearest)) >= 297, "halves tell all but equals apart"
    assert found(vectors, rows(2, seed=5)[1].vector, 1) == ["t12501"]


def test_a_closed_index_is_a_storage_error_and_an_empty_one_finds_nothing(vectors: Vectors) -> None:
    vectors.close()
    with pytest.raises(errors.StorageError):
        found(vectors, random_vectors(1)[0])
    vectors.open_empty()
    assert found(vectors, random_vectors(1)[0]) == []
    assert vectors.count() == 0


def test_a_folder_that_vanishes_under_it_is_a_storage_error(vectors: Vectors) -> None:
    import shutil

    vectors.upsert(rows(3))
    shutil.rmtree(vectors.folder)
    for use in (lambda: vectors.upsert(rows(1)), lambda: vectors.delete(["t1"]), vectors.upkeep):
        with pytest.raises(errors.StorageError):
            use()


def test_a_file_in_place_of_the_folder_is_replaced_by_a_rebuild(tmp_path: Path, log: logging.Logger) -> None:
    (tmp_path / "vectors").write_text("not a folder")
    vectors = Vectors(tmp_path / "vectors", log)
    with pytest.raises(errors.StorageError):
        vectors.open("m", DIMENSION)
    assert vectors.rebuild("m", DIMENSION, [rows(3)])
    assert vectors.count() == 3


def test_a_rebuild_leaves_no_byte_of_the_old_rows(vectors: Vectors) -> None:
    (secret,) = rows(1)
    vectors.upsert([secret, *rows(50, first=1, seed=2)])
    vectors.delete(["t0"])
    assert vectors.rebuild("model-1", DIMENSION, [rows(50, first=1, seed=2)])
    stored = normalise(secret.vector, DIMENSION)
    for path in vectors.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert stored.tobytes() not in content
            assert b"t0'" not in content


def test_a_rebuild_that_is_not_wanted_any_more_ends(vectors: Vectors) -> None:
    asked = iter([True, False])
    assert not vectors.rebuild("m", DIMENSION, [rows(1), rows(1)], lambda: next(asked))
    assert vectors.state == "closed"


def test_folders_and_files_are_private_whatever_the_umask(tmp_path: Path, log: logging.Logger) -> None:
    before = os.umask(0)
    try:
        vectors = Vectors(tmp_path / "vectors", log)
        vectors.open("m", DIMENSION)
        vectors.upsert(rows(1100))
        vectors.upkeep()
        vectors.delete(["t1"])
        vectors.close()
    finally:
        os.umask(before)
    for path in [vectors.folder, *vectors.folder.rglob("*")]:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_upkeep_leaves_few_files_and_all_rows(vectors: Vectors) -> None:
    stored = rows(100)
    for at in range(0, 100, 2):
        vectors.upsert(stored[at : at + 2])
    assert vectors.versions() > 40
    for _ in range(2):  # What the first one itself has just replaced may be left to the second, with its files.
        time.sleep(0.02)
        vectors.upkeep()
    assert vectors.versions() <= 2
    assert sum(path.is_file() for path in vectors.folder.rglob("*")) < 20
    assert vectors.ids().tolist() == sorted(row.text_id.encode() for row in stored)


def test_searches_go_on_while_rows_are_put_and_folded_together(vectors: Vectors) -> None:
    stored = rows(1100)
    vectors.upsert(stored)
    ended, faults = threading.Event(), []

    def search_on() -> None:
        while not ended.wait(0.005):
            try:
                assert found(vectors, stored[7].vector, 1) == ["t7"]
            except Exception as fault:
                faults.append(fault)

    reader = threading.Thread(target=search_on)
    reader.start()
    for at in range(10):
        vectors.upsert(rows(2, first=5000 + 2 * at, seed=50 + at))
        if at % 3 == 0:
            vectors.upkeep()
    ended.set()
    reader.join()
    assert not faults


def test_the_log_names_ids_and_never_vectors(vectors: Vectors, log: logging.Logger) -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log.setLevel(logging.DEBUG)
    log.addHandler(handler)
    vectors.upsert(rows(2))
    found(vectors, rows(1)[0].vector)
    vectors.delete(["t1"])
    assert [line.split()[1] for line in lines] == ["upsert", "search", "delete"]
    assert "t0" in lines[0]


class Panic(BaseException):
    """What LanceDB's panics look like from Python."""


@pytest.mark.parametrize(
    ("fault", "becomes"),
    [
        (Panic("index out of bounds"), errors.StorageError),
        (RuntimeError("lance error: corrupt"), errors.StorageError),
        (OSError(28, "No space left on device"), errors.DiskFull),
        (OSError(13, "Permission denied"), errors.ReadOnly),
        (OSError(30, "Read-only file system"), errors.ReadOnly),
    ],
    ids=repr,
)
def test_any_fault_comes_out_as_one_of_ours(
    vectors: Vectors, fault: BaseException, becomes: type[errors.StorageError]
) -> None:
    def failing() -> Iterator[list[VectorRow]]:
        yield rows(3)
        raise fault

    with pytest.raises(errors.StorageError) as raised:
        vectors.rebuild("m", DIMENSION, failing())
    assert type(raised.value) is becomes


def test_an_interrupt_stays_an_interrupt(vectors: Vectors) -> None:
    def interrupted() -> Iterator[list[VectorRow]]:
        yield rows(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vectors.rebuild("m", DIMENSION, interrupted())


def test_what_is_written_fills_no_cache_while_all_rows_are_searched_in_memory(
    tmp_path: Path, log: logging.Logger, sessions: list[Any]
) -> None:
    opened = Vectors(tmp_path / "vectors", log)
    opened.open("model-1", DIMENSION)
    empty = [session.size_bytes for session in sessions]
    for at in range(40):
        opened.upsert(rows(1, first=at))
        assert found(opened, rows(1)[0].vector, 1)
    opened.upkeep()
    assert [session.size_bytes for session in sessions] == empty
    opened.close()


def test_all_tables_that_are_searched_on_the_disk_share_their_caches(
    tmp_path: Path, log: logging.Logger, sessions: list[Any]
) -> None:
    tables = [Vectors(tmp_path / f"{at}", log, most_in_memory=0) for at in range(3)]
    for table in tables:
        table.open("model-1", DIMENSION)
        table.upsert(rows(20))
    empty = len(sessions)
    for table in tables:
        for query in rows(20):
            assert found(table, query.vector, 1) == [query.text_id]
    assert len(sessions) == empty + 1
    assert sessions[-1].size_bytes > 10_000
    for table in tables:
        table.close()


def test_a_table_that_is_made_anew_is_searched_with_nothing_of_the_old_one(
    tmp_path: Path, log: logging.Logger, sessions: list[Any]
) -> None:
    table = Vectors(tmp_path / "vectors", log, most_in_memory=0)
    table.open("model-1", DIMENSION)
    table.upsert(rows(20))
    assert found(table, rows(1)[0].vector, 1) == ["t0"]
    old = sessions[-1]
    table.rebuild("model-1", DIMENSION, [rows(20, first=100, seed=2)])
    assert found(table, rows(20, seed=2)[3].vector, 1) == ["t103"]
    assert sessions[-1] is not old
    table.close()
