"""A memory is copied whole for other programs: a LanceDB table, a Milvus collection, MemForest's two layouts."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain import errors
from domain.forests import Forest
from domain.workers import CancelToken
from importers import MachineZone, ReadingOptions, recognise_export
from jobs.exporting import copy_to_forest_json, copy_to_forest_tables, copy_to_lance, copy_to_milvus, forest_of
from jobs.importing import Importing, make_context
from memory import Memory
from models.embeddings import own_embedder


@pytest.fixture
def log() -> logging.Logger:
    return logging.Logger("test", logging.CRITICAL)


@pytest.fixture
def memory(tmp_path: Path, clock, new_id, log) -> Iterator[Memory]:
    with closing(opened(tmp_path / "data", clock, new_id, log)) as one:
        yield one


def opened(folder: Path, clock, new_id, log) -> Memory:
    return Memory(folder, own_embedder("built-in", log), clock=clock, new_id=new_id, log=log)


def live(memory: Memory) -> str:
    """Two evenings, of which the first has a summary, with one message that was to be forgotten."""
    first = memory.sessions.start()
    for said in ("My cat is called Momo.", "她打碎了花瓶。"):
        memory.rounds.store(first.session_id, said, f"I see: {said}", memory._of.stamp.now(), "stop")
    memory.rounds.set_summary(first.session_id, "Momo broke a vase.")
    second = memory.sessions.start()
    hidden = memory.rounds.store(second.session_id, "My PIN is 4711.", "All right.", memory._of.stamp.now(), "stop")
    memory.rounds.hide([message.text_id for message in hidden.messages])
    return first.session_id


SAID = ["My cat is called Momo.", "I see: My cat is called Momo.", "她打碎了花瓶。", "I see: 她打碎了花瓶。"]


def said_in(forest: Forest) -> list[tuple[str, str, str | None, datetime | None]]:
    return [(one.id, one.content, one.source, one.creation_time) for one in forest.units if one.rank == 0]


# -- LanceDB and Milvus


def test_another_program_finds_every_text_in_the_lancedb_table(memory: Memory, tmp_path: Path) -> None:
    import lancedb

    session_id = live(memory)
    assert copy_to_lance(memory, tmp_path / "lance") == (5, 0)
    table = lancedb.connect(tmp_path / "lance").open_table("memories")
    assert table.schema.names == ["text_id", "type", "session_id", "vector", "text", "role", "timestamp"]
    rows = table.to_arrow().to_pylist()
    told = {row["text"]: (row["type"], row["role"], row["session_id"]) for row in rows}
    assert sorted(told) == sorted([*SAID, "Momo broke a vase."])
    assert told["她打碎了花瓶。"] == ("conversation", "user", session_id)
    assert told["Momo broke a vase."] == ("summary", "summary", session_id)
    (vector,) = memory._embedder.embed(["My cat is called Momo."])
    assert "Momo" in table.search(vector).limit(1).to_list()[0]["text"]
    assert (tmp_path / "lance").stat().st_mode & 0o777 == 0o700


def test_a_lancedb_folder_that_exists_is_left_alone(memory: Memory, tmp_path: Path) -> None:
    live(memory)
    (tmp_path / "lance").mkdir()
    with pytest.raises(errors.StorageError) as refused:
        copy_to_lance(memory, tmp_path / "lance")
    assert refused.value.key == "backup.exists"
    assert list((tmp_path / "lance").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".new")] == []


def test_a_memory_without_vectors_is_no_table(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(errors.StorageError) as refused:
        copy_to_lance(memory, tmp_path / "lance")
    assert refused.value.key == "export.no_vectors"
    assert not (tmp_path / "lance").exists()


def test_another_program_finds_every_text_in_the_milvus_collection(memory: Memory, tmp_path: Path) -> None:
    pymilvus = pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite")
    live(memory)
    target = str(tmp_path / "friend.db")
    assert copy_to_milvus(memory, target) == (5, 0)
    (vector,) = memory._embedder.embed(["My cat is called Momo."])
    with closing(pymilvus.MilvusClient(target)) as client:
        client.load_collection("old_friend")
        found = client.search("old_friend", [vector.tolist()], limit=5, output_fields=["text"])
    assert sorted(one["entity"]["text"] for one in found[0]) == sorted([*SAID, "Momo broke a vase."])
    with pytest.raises(errors.StorageError) as refused:
        copy_to_milvus(memory, target)
    assert refused.value.key == "backup.exists"


def test_without_its_client_milvus_is_one_clear_fault(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pymilvus", None)
    live(memory)
    with pytest.raises(errors.StorageError) as refused:
        copy_to_milvus(memory, str(tmp_path / "friend.db"))
    assert refused.value.key == "export.no_milvus"
    assert not (tmp_path / "friend.db").exists()


# -- MemForest


def test_a_forest_has_every_unit_in_its_place(memory: Memory) -> None:
    session_id = live(memory)
    forest = forest_of(memory, "bot", "me")
    said = [unit for unit in forest.units if unit.rank == 0]
    assert [unit.content for unit in said] == SAID
    assert [unit.source for unit in said] == ["user", "ai", "user", "ai"]
    assert [unit.pre_id for unit in said] == [None, *(unit.id for unit in said[:-1])]
    assert [unit.next_id for unit in said] == [*(unit.id for unit in said[1:]), None]
    units = {unit.id: unit for unit in forest.units}
    assert units[session_id].content == "Momo broke a vase."
    assert (units[session_id].rank, units[session_id].parent_id) == (1, "me")
    assert units[session_id].children_ids == tuple(unit.id for unit in said)
    assert {unit.parent_id for unit in said} == {session_id}
    assert (units["me"].rank, units["me"].children_ids) == (2, (session_id,))
    assert forest.life.session_ids == (session_id,)


def test_what_is_kept_and_was_visited_is_told(memory: Memory) -> None:
    session_id = live(memory)
    message = memory.messages.of_session(session_id)[0].text_id
    memory.archive.set_never_delete([message], True)
    memory.rounds.store(session_id, "And?", "Momo.", memory._of.stamp.now(), "stop", served=[message])
    unit = next(one for one in forest_of(memory, "bot", "me").units if one.id == message)
    assert (unit.never_delete, unit.visit_count, unit.last_visit) == (True, 1, memory.archive.rounds_counted())


def test_the_tables_hold_together(memory: Memory, tmp_path: Path) -> None:
    live(memory)
    path = copy_to_forest_tables(memory, tmp_path / "out", "bot", "me")
    assert path == tmp_path / "out" / "bot.db"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        counts = {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        }
    assert counts == {
        "memory_units": 6, "session_memories": 1, "long_term_memories": 1, "mu_hierarchy_edges": 5,
        "mu_sequence_edges": 4, "mu_session_group_membership": 4, "mu_ltm_group_membership": 2,
        "session_unit_membership": 4, "ltm_session_membership": 1, "ltm_summary_unit_membership": 1,
    }  # fmt: skip


@pytest.mark.parametrize("write", [copy_to_forest_tables, copy_to_forest_json])
def test_what_exists_is_never_written_over(memory: Memory, tmp_path: Path, write) -> None:
    live(memory)
    path = write(memory, tmp_path, "bot", "me")
    before = path.stat().st_mtime_ns
    with pytest.raises(errors.StorageError) as refused:
        write(memory, tmp_path, "bot", "me")
    assert refused.value.key == "backup.exists"
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("write", [copy_to_forest_tables, copy_to_forest_json])
def test_what_was_said_comes_back_through_memforests_layout(
    memory: Memory, tmp_path: Path, clock, new_id, log, write
) -> None:
    """MemForest's units -> ours -> MemForest's: the same ids, words, sources and times in the same order."""
    live(memory)
    path = write(memory, tmp_path / "one", "bot", "me")
    with closing(opened(tmp_path / "other", clock, new_id, log)) as other:
        assert bring(other, path) == 4
        assert bring(other, path) == 0
        again = write(other, tmp_path / "two", "bot", "me")
        assert said_in(forest_of(other, "bot", "me")) == said_in(forest_of(memory, "bot", "me"))
        assert forest_of(other, "bot", "me").life.session_ids == forest_of(memory, "bot", "me").life.session_ids
    with closing(opened(tmp_path / "third", clock, new_id, log)) as third:
        assert bring(third, again) == 4
        assert said_in(forest_of(third, "bot", "me")) == said_in(forest_of(memory, "bot", "me"))


def bring(memory: Memory, path: Path) -> int:
    """How many messages an import of it brought."""
    brought = 0
    for file in recognise_export(path, ReadingOptions(zone=MachineZone())):
        assert file.source == "memforest", "nothing else is told of the files beside it"
        now = datetime(2026, 5, 1, tzinfo=UTC)
        last = list(Importing(memory).run(file, path.name, str(path), make_context([], path, now), CancelToken()))[-1]
        brought += last.messages  # type: ignore[union-attr]
    return brought


def test_json_files_are_named_and_keyed_as_memforest_names_them(memory: Memory, tmp_path: Path) -> None:
    live(memory)
    folder = copy_to_forest_json(memory, tmp_path, "bot", "me")
    assert sorted(path.name for path in folder.iterdir()) == [
        "long_term_memories.json", "memory_units.json", "session_memories.json",
    ]  # fmt: skip
    units = json.loads((folder / "memory_units.json").read_text("utf-8"))
    assert all(key == unit["id"] for key, unit in units.items())
    assert json.loads((folder / "long_term_memories.json").read_text("utf-8")).keys() == {"me"}
