"""A program that was written against MemForest finds its names, and our memory behind them."""

from __future__ import annotations

import asyncio
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from domain import errors
from interfaces.python.memforest import EmbeddingHandler, MemorySystem, MemoryUnit
from storage.sqlite.database import SqliteDatabase
from tests.support.house import friend
from tests.support.server import ScriptedServer

ROOT = Path(__file__).resolve().parents[3]
BEGAN = datetime(2025, 5, 1, 10, tzinfo=UTC)
TALK = [
    ("user", "What was the project code-named?"),
    ("ai", "The project got the code name 'MemForest'."),
    ("user", "And what is its status?"),
    ("ai", "Project 'MemForest' is resting for now."),
]


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    return {
        "EMBEDDING_MODEL": "built-in",
        "LOG_DIR": str(tmp_path / "logs"),
        "OPENAI_API_KEY": "",
        "OPENAI_API_BASE": "",
    }


@pytest.fixture
def handler(settings: dict[str, str]) -> EmbeddingHandler:
    return EmbeddingHandler(settings=settings)


@pytest.fixture
def system(tmp_path: Path, settings: dict[str, str], handler: EmbeddingHandler) -> Iterator[MemorySystem]:
    with MemorySystem("bot", "life", handler, base_path=tmp_path, max_context_length=2, settings=settings) as one:
        yield one


def talk(system: MemorySystem) -> list[MemoryUnit]:
    return [
        system.add_memory(said, source=source, creation_time=BEGAN + timedelta(minutes=minute))
        for minute, (source, said) in enumerate(TALK)
    ]


def told(chains: list[list[MemoryUnit]]) -> list[list[str]]:
    return [[unit.content for unit in chain] for chain in chains]


SAID = [said for _, said in TALK]


def test_what_is_added_comes_back_as_units_with_memforests_fields(system: MemorySystem) -> None:
    first, *_, last = talk(system)
    assert (first.source, first.content, first.creation_time, first.rank) == ("user", SAID[0], BEGAN, 0)
    assert last.source == "ai"
    assert last.pre_id is not None
    assert last.to_dict().keys() == {
        "id", "parent_id", "content", "creation_time", "end_time", "source", "metadata", "last_visit", "visit_count",
        "never_delete", "children_ids", "rank", "pre_id", "next_id", "group_id",
    }  # fmt: skip
    assert [unit.content for unit in system.get_context()] == SAID[2:]
    assert [unit.content for unit in system.get_context(length=1)] == SAID[3:]
    assert system.get_context(length=0) == []


def test_a_vector_of_our_handler_finds_chains(system: MemorySystem, handler: EmbeddingHandler) -> None:
    talk(system)
    vector = handler.get_embedding("the code name of the project").tolist()
    (alone,) = system.query(query_vector=vector, k_limit=1, recall_context=False)
    assert "code" in alone[0].content
    chains = system.query(query_vector=vector, k_limit=2, recall_context=True)
    assert all(chain == sorted(chain, key=lambda unit: unit.creation_time or BEGAN) for chain in chains)
    assert any(len(chain) > 1 for chain in chains)
    assert system.query(query_vector=vector, search_range=(1.01, None)) == []


def test_a_text_finds_by_its_words(system: MemorySystem) -> None:
    talk(system)
    system.add_memory("我的猫叫豆包。", source="user")
    assert told(system.query(text="我的猫叫什么", k_limit=1, recall_context=False)) == [["我的猫叫豆包。"]]
    assert told(system.query("豆包", k_limit=1, recall_context=False)) == [["我的猫叫豆包。"]]


@pytest.mark.parametrize(("filters", "found"), [
    ([("source", "==", "ai")], [SAID[3], SAID[1]]),
    ([("source", "!=", "ai"), ("content", "contains", "status")], [SAID[2]]),
    ([("creation_time", ">=", BEGAN + timedelta(minutes=3))], [SAID[3]]),
    ([("creation_time", "<", "2025-05-01T10:01:00+00:00")], [SAID[0]]),
    ([("rank", "in", [1, 2])], []),
    ([("metadata.role", "==", "user")], [SAID[2], SAID[0]]),
])  # fmt: skip
def test_filters_narrow_what_is_found(system: MemorySystem, filters, found: list[str]) -> None:
    talk(system)
    chains = system.query(filters=filters, k_limit=9, recall_context=False, long_term_only=True)
    assert [content for (content,) in told(chains)] == found


@pytest.mark.parametrize("wrong", [("source", "~", "ai"), ("rank", ">", "x"), ("rank", "==")])
def test_a_filter_that_makes_no_sense_is_one_clear_error(system: MemorySystem, wrong) -> None:
    talk(system)
    with pytest.raises(errors.UsageError) as refused:
        system.query(filters=[wrong])
    assert refused.value.key == "memforest.filter"


def test_what_was_recalled_or_left_the_context_stays_in_mind_up_to_the_capacity(system: MemorySystem) -> None:
    system.enable_stm(capacity=2)
    talk(system)
    recent = [("rank", "==", 0)]
    assert told(system.query(filters=recent, short_term_only=True, recall_context=False)) == [[SAID[1]], [SAID[0]]]
    system.flush_context()
    assert told(system.query(filters=recent, short_term_only=True, recall_context=False)) == [[SAID[3]], [SAID[2]]]
    system.query(filters=[("content", "contains", "code-named")], recall_context=False)
    in_mind = told(system.query(filters=recent, short_term_only=True, recall_context=False, add_ltm_to_stm=False))
    assert [SAID[0]] in in_mind
    assert len(in_mind) == 2
    assert len(system.query(filters=recent, long_term_only=True, recall_context=False)) == 2
    system.disable_stm()
    assert system.query(filters=recent, short_term_only=True) == []


def test_short_term_memory_begins_with_the_latest_session(
    tmp_path: Path, settings: dict[str, str], handler: EmbeddingHandler
) -> None:
    with MemorySystem("bot", "life", handler, base_path=tmp_path, settings=settings) as system:
        talk(system)
    with MemorySystem("bot", "life", handler, base_path=tmp_path, settings=settings) as system:
        assert system.get_context() == []
        system.enable_stm(capacity=50, restore_session_id="LATEST")
        vector = handler.get_embedding("status of the project").tolist()
        assert system.query(query_vector=vector, short_term_only=True)


def test_a_session_is_gone_on_with_under_its_id_and_removed_whole(tmp_path: Path, settings: dict[str, str]) -> None:
    with MemorySystem("bot", "life", base_path=tmp_path, settings=settings) as system:
        assert system.start_session("monday") == "monday"
        system.add_memory("I had soup.", source="user", memory_unit_id="unit-0001")
    with MemorySystem("bot", "life", base_path=tmp_path, settings=settings) as system:
        system.start_session("monday")
        again = system.add_memory("With bread.", source="user")
        assert (again.group_id, again.pre_id) == ("monday", "unit-0001")
        other = system.start_session()
        system.add_memory("It rains.", source="Ann")
        system.remove_session("monday")
        kept = system.query(filters=[("rank", "==", 0)], recall_context=False)
        assert [(chain[0].content, chain[0].source, chain[0].group_id) for chain in kept] == [
            ("It rains.", "Ann", other)
        ]
        assert [unit.content for unit in system.get_context()] == ["It rains."]


def test_a_vector_of_another_length_is_one_clear_error(system: MemorySystem) -> None:
    talk(system)
    with pytest.raises(errors.EmbeddingError) as refused:
        system.query(query_vector=[1.0, 0.0, 0.0])
    assert refused.value.key == "embedding.dimension"


def test_a_handler_of_another_program_makes_the_vectors(tmp_path: Path, settings: dict[str, str]) -> None:
    class Handler:
        def get_embedding(self, text: str) -> list[float]:
            return [1.0, 0.1, 0.0] if "cat" in text else [0.0, 0.1, 1.0]

    with MemorySystem("bot", "life", Handler(), base_path=tmp_path, settings=settings) as system:
        system.add_memory("It rains.", source="user")
        system.add_memory("My cat sleeps.", source="user")
        found = system.query(query_vector=np.array([1.0, 0.0, 0.0]), k_limit=1, recall_context=False)
        assert told(found) == [["My cat sleeps."]]


def test_the_model_says_what_a_session_came_to(tmp_path: Path, settings: dict[str, str]) -> None:
    with ScriptedServer() as model:
        model.answer = friend
        given = {**settings, "OPENAI_API_BASE": model.base, "OPENAI_API_KEY": "k", "CHAT_MODEL": "m"}
        with MemorySystem("bot", "life", base_path=tmp_path, settings=given) as system:
            session_id = system.start_session()
            units = talk(system)
            summary = system.summarize_session(session_id)
            assert summary is not None
            assert (summary.id, summary.rank) == (session_id, 1)
            assert summary.children_ids == tuple(unit.id for unit in units)
            assert SAID[0] in summary.content
            (found,) = system.query(text="code name", k_limit=1, recall_context=False)
            assert found[0].parent_id == session_id
            summaries = system.query(filters=[("rank", "==", 1)], recall_context=False)
            assert told(summaries) == [[summary.content]]
            life = system.summarize_long_term_memory()
            assert life is not None
            assert (life.id, life.rank, life.children_ids) == ("life", 2, (session_id,))


def test_the_model_writes_the_chapters_over_sessions_however_many_it_may_read_up_a_day(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    with ScriptedServer() as model:
        model.answer = friend
        served = {"OPENAI_API_BASE": model.base, "OPENAI_API_KEY": "k", "CHAT_MODEL": "m"}
        given = {**settings, **served, "GROUP_SIZE": "2", "IMPORT_CALLS": "0"}
        with MemorySystem("bot", "life", base_path=tmp_path, settings=given) as system:
            for day in range(4):
                session_id = system.start_session()
                said = datetime(2025, 3, 1 + day, 9, tzinfo=UTC)
                system.add_memory(f"It is day {day}.", source="user", creation_time=said)
                system.flush_context()
                system.summarize_session(session_id)
            life = system.summarize_long_term_memory()
            assert life is not None
            (over,) = life.children_ids
            chapters = {one[0].id: one[0] for one in system.query(filters=[("rank", "==", 2)], recall_context=False)}
            assert len(chapters[over].children_ids) == 2
            assert "It is day 0." in chapters[over].content


def test_conversions_go_both_ways(tmp_path: Path, settings: dict[str, str], system: MemorySystem) -> None:
    units = talk(system)
    for number, made in enumerate(
        (system.convert_sql_to_json(tmp_path / "a"), system.convert_to_memforest(tmp_path / "a"))
    ):
        with MemorySystem("bot", f"other{number}", base_path=tmp_path, settings=settings) as other:
            assert other.convert_json_to_sqlite(made) == 4
            found = other.query(filters=[("rank", "==", 0)], recall_context=False)
            assert [(chain[0].id, chain[0].creation_time) for chain in found][::-1] == [
                (unit.id, unit.creation_time) for unit in units
            ]


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 65])
def test_a_name_that_is_no_plain_name_is_refused(tmp_path: Path, settings: dict[str, str], name: str) -> None:
    with pytest.raises(errors.UsageError):
        MemorySystem(name, "life", base_path=tmp_path, settings=settings)
    with pytest.raises(errors.UsageError):
        MemorySystem("bot", name, base_path=tmp_path, settings=settings)


class Encoder:
    """A model like those of sentence-transformers: texts with a word in common are near."""

    def __init__(self, name: str = "") -> None:
        self.device = name

    def to(self, device: str) -> None:
        self.device = device

    def encode(self, texts: list[str]) -> np.ndarray:
        vectors = np.full((len(texts), 32), 0.01)
        for vector, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                vector[sum(word.strip(".?!").encode()) % 32] += 1
        return vectors


class ChatModel:
    """A chat model like those of LangChain."""

    def __init__(self, answer: Callable[[Any], str] | None = None) -> None:
        self.answer = answer or (lambda asked: "It was MemForest." if "MemForest" in asked[-1][1] else "It rains.")
        self.asked: list[Any] = []

    def invoke(self, messages: Any) -> SimpleNamespace:
        self.asked.append(messages)
        return SimpleNamespace(content=self.answer(messages))


class Milvus:
    """A Milvus server, as far as a copy needs it: the texts of each collection."""

    collections: ClassVar[dict[str, list[dict[str, Any]]]] = {}

    def __init__(self, where: str) -> None:
        assert where == "http://localhost:19530"

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **more: SimpleNamespace(add_field=lambda *a, **m: None, add_index=lambda **m: None)

    def has_collection(self, name: str) -> bool:
        return name in self.collections

    def drop_collection(self, name: str) -> None:
        del self.collections[name]

    def create_collection(self, name: str, **more: Any) -> None:
        self.collections[name] = []

    def insert(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.collections[name] += rows


@pytest.mark.parametrize("configured", [True, False], ids=["a model", "no model"])
def test_the_published_example_runs_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], configured: bool
) -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "memforest.md").read_text("utf-8"), re.DOTALL)
    assert code is not None
    page = tmp_path / "page.py"
    page.write_text(code[1], "utf-8")
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Encoder))
    kinds = SimpleNamespace(VARCHAR=1, FLOAT_VECTOR=2)
    monkeypatch.setitem(sys.modules, "pymilvus", SimpleNamespace(MilvusClient=Milvus, DataType=kinds))
    monkeypatch.setattr(Milvus, "collections", {})
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.chdir(tmp_path)
    with ScriptedServer() as model:
        model.answer = friend
        monkeypatch.setenv("OPENAI_API_BASE", model.base if configured else "")
        monkeypatch.setenv("OPENAI_API_KEY", "k" if configured else "")
        monkeypatch.setenv("CHAT_MODEL", "m")
        runpy.run_path(str(page), run_name="__main__")
    shown = capsys.readouterr().out.splitlines()
    found = [line for line in shown if line.startswith("found:")]
    assert len(found) == 2
    assert "I finally moved into the flat in Lyon." in found[0] + found[1]
    assert "current: True" in shown
    assert any(line.startswith("life:") and len(line) > len("life: ") for line in shown)
    assert f"written: {Path('converted').absolute() / 'memforest_demo_bot'}" in shown
    assert "new: 0" in shown, "all of it is there already"
    assert shown.count("in Milvus: 5") == 2, "four messages and the summary of their session"
    (rows,) = Milvus.collections.values()
    assert {row["text"] for row in rows} >= {"But I lost my keys on the first day."}
    assert not any("locksmith" in row["text"] for row in rows)


def test_a_model_with_encode_makes_the_vectors_on_its_device() -> None:
    model = Encoder()
    handler = EmbeddingHandler(model=model, device="cuda:1")
    assert model.device == "cuda:1"
    assert handler.get_embedding("a cat").shape == (32,)
    assert handler.get_embedding("a cat").tolist() == handler.embedder.embed(["x", "a cat"])[1].tolist()  # type: ignore[union-attr]


def test_a_chat_model_with_invoke_summarises(tmp_path: Path, settings: dict[str, str]) -> None:
    model = ChatModel()
    with MemorySystem("bot", "life", llm=model, base_path=tmp_path, settings=settings) as system:
        talk(system)
        summary = system.summarize_session()
        assert summary is not None
        assert "MemForest" in summary.content
        assert any(SAID[0] in content for _, content in model.asked[0])
        assert {role for asked in model.asked for role, _ in asked} <= {"system", "user", "assistant"}


def test_a_chat_model_that_fails_is_one_clear_error_and_the_memory_closes(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    def fail(messages: Any) -> str:
        raise RuntimeError("no quota")

    system = MemorySystem("bot", "life", llm=ChatModel(fail), base_path=tmp_path, settings=settings)
    talk(system)
    with pytest.raises(errors.ModelError, match="no quota"):
        system.close(auto_summarize=True)
    with MemorySystem("bot", "life", base_path=tmp_path, settings=settings) as again:
        assert len(again.query(filters=[("rank", "==", 0)], recall_context=False)) == 4


@pytest.mark.parametrize(("option", "key"), [
    ({"persistence_mode": "xml"}, "memforest.option"),
    ({"forget_percentage": 0}, "memforest.option"),
    ({"forget_percentage": 10}, "memforest.option"),
])  # fmt: skip
def test_an_option_that_cannot_be_is_refused(tmp_path: Path, settings: dict[str, str], option, key: str) -> None:
    with pytest.raises(errors.UsageError, match=re.escape(key)):
        MemorySystem("bot", "life", base_path=tmp_path, settings=settings, **option)
    with pytest.raises(TypeError, match="no_such_option"):
        MemorySystem("bot", "life", base_path=tmp_path, no_such_option=1)  # type: ignore[call-arg]


# -- metadata, visits, forgetting


def test_metadata_is_returned_and_narrows_queries_by_vector_by_text_and_alone(
    system: MemorySystem, handler: EmbeddingHandler
) -> None:
    for number in range(9):
        mood = "joy" if number % 4 == 0 else "calm"
        system.add_memory(f"Walk {number} by the river.", source="user", metadata={"emotion": mood, "km": number})
    vector = handler.get_embedding("a walk by the river").tolist()
    joy = [("emotion", "==", "joy")]
    for found in (
        system.query(vector, filters=joy, recall_context=False),
        system.query(text="walk by the river", filters=joy, recall_context=False),
        system.query(filters=joy, recall_context=False),
    ):
        assert sorted(unit.metadata["km"] for (unit,) in found) == [0, 4, 8]
        assert {unit.metadata["emotion"] for (unit,) in found} == {"joy"}
    assert system.query(vector, filters=[("emotion", "==", "fear")]) == []
    assert system.query(text="walk", filters=[("km", ">", 100)]) == []
    assert told(system.query(vector, filters=[("km", ">=", 8)], recall_context=False)) == [["Walk 8 by the river."]]


def test_a_query_is_a_visit_of_the_unit_and_of_all_above_it(tmp_path: Path, settings: dict[str, str]) -> None:
    with MemorySystem("bot", "life", llm=ChatModel(), base_path=tmp_path, settings=settings) as system:
        talk(system)
        system.summarize_session()
        for _ in range(2):
            system.query(text="code name", k_limit=1, recall_context=True)
        (hit,) = system.query(filters=[("visit_count", ">", 0)], recall_context=False, k_limit=1)[0]
        assert (hit.visit_count, hit.last_visit, hit.parent_id) == (2, 2, system.current_session_id)
        (above,) = system.query(filters=[("rank", "==", 1)], recall_context=False)[0]
        assert (above.id, above.visit_count) == (system.current_session_id, 3)
        seen = [("rank", "==", 0), ("visit_count", ">", 0)]
        assert len(system.query(filters=seen, recall_context=False)) == 1, "neighbours of a hit are not visited"


def test_what_is_above_the_limit_is_forgotten_by_visits_and_age_and_never_what_is_to_be_kept(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    with MemorySystem(
        "bot", "life", llm=ChatModel(), base_path=tmp_path, settings=settings,
        max_milvus_entities=8, forget_percentage=0.5,
    ) as system:  # fmt: skip
        system.start_session("old")
        for number in range(2):
            said = BEGAN + timedelta(minutes=number)
            system.add_memory(f"Old {number}.", source="user", creation_time=said)
        system.summarize_session("old")
        system.start_session("new")
        for number in range(6):
            said = BEGAN + timedelta(days=1, minutes=number)
            system.add_memory(f"New {number}.", source="user", creation_time=said, never_delete=number == 0)
            # Forgetting also runs in the background, so it is visited before the limit is reached.
            system.query(filters=[("content", "==", "New 1.")], recall_context=False)
        left = system._memory.archive.count_searched
        system._check_and_forget_memory()
        contents = [
            unit.content for (unit,) in system.query(filters=[("rank", "==", 0)], k_limit=9, recall_context=False)
        ]
        assert "New 0." in contents, "it is never to be forgotten"
        assert "New 1." in contents, "it was visited"
        assert not [one for one in contents if one.startswith("Old")]
        assert left() <= 8
        system._memory.archive.archive(system._memory.archive.oldest_visited(1))
        leaves = [leaf.name for leaf in system._memory.archive.oldest_visited(99)]
        assert "old" in leaves or "old" in system._memory.archive.all(), "a session that lost its messages is a leaf"


def test_forgetting_happens_in_the_background_too(tmp_path: Path, settings: dict[str, str]) -> None:
    with MemorySystem(
        "bot", "life", base_path=tmp_path, settings=settings, max_milvus_entities=10, forget_percentage=0.2
    ) as system:
        for number in range(14):
            system.add_memory(f"Message {number}.", source="user")
        system._flush_cache(force=True)
        system._maintenance.wait(30)
        assert system._memory.archive.count_searched() <= 10
        assert system.query(filters=[("content", "==", "Message 13.")])
        assert system.query(filters=[("content", "==", "Message 0.")]) == []


@pytest.mark.parametrize("layout", ["json", "sqlite"])
def test_an_export_takes_metadata_visits_marks_and_summaries_along(
    tmp_path: Path, settings: dict[str, str], layout: str
) -> None:
    given = {"emotion": "joy", "tags": ["a", "b"], "role": "narrator"}
    with MemorySystem("bot", "life", llm=ChatModel(), base_path=tmp_path, settings=settings) as system:
        system.start_session("monday-talk")
        system.add_memory(SAID[0], source="user", creation_time=BEGAN, metadata=given, never_delete=True)
        system.add_memory(SAID[1], source="ai", creation_time=BEGAN + timedelta(days=3))
        summary = system.summarize_session()
        system.query(filters=[("emotion", "==", "joy")], recall_context=False)
        (before,) = system.query(filters=[("emotion", "==", "joy")], recall_context=False)[0]
        made = (
            system.convert_sql_to_json(tmp_path / "a")
            if layout == "json"
            else system.convert_to_memforest(tmp_path / "a")
        )
    with MemorySystem("bot", "other", base_path=tmp_path, settings=settings) as other:
        assert other.convert_json_to_sqlite(made) == 2
        (after,) = other.query(filters=[("emotion", "==", "joy")], recall_context=False)[0]
        assert (after.visit_count, after.last_visit, after.metadata["role"]) == (2, 2, "narrator")
        assert replace(after, visit_count=1, last_visit=1) == before
        (above,) = other.query(filters=[("rank", "==", 1)], recall_context=False)[0]
        assert summary is not None
        assert (above.id, above.content) == ("monday-talk", summary.content)
        assert other.summarize_session("monday-talk").content == summary.content, "it is not summarised again"  # type: ignore[union-attr]


def test_close_summarises_every_session_that_went_on_also_what_was_flushed(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    model = ChatModel()
    system = MemorySystem("bot", "life", llm=model, base_path=tmp_path, settings=settings)
    talk(system)
    system._flush_context()
    other = system.start_new_session()
    system.add_memory("It rains.", source="user")
    system.flush_context()
    system.close(auto_summarize=True)
    with MemorySystem("bot", "life", llm=model, base_path=tmp_path, settings=settings) as again:
        summaries = again.query(filters=[("rank", "==", 1)], recall_context=False)
        assert len(summaries) == 2
        assert other in [unit.id for (unit,) in summaries]


def test_the_long_term_memory_summarises_sessions_that_have_no_summary_first(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    with MemorySystem("bot", "life", llm=ChatModel(), base_path=tmp_path, settings=settings) as system:
        first = system.current_session_id
        talk(system)
        second = system.start_new_session()
        system.add_memory("It rains.", source="user")
        life = system.summarize_long_term_memory()
        assert life is not None
        assert set(life.children_ids) == {first, second}


def test_json_persistence_writes_memforests_files_at_the_end_and_drops_what_is_erased(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    def opened() -> MemorySystem:
        return MemorySystem("bot", "life", base_path=tmp_path, settings=settings, persistence_mode="json")

    files = tmp_path / "bot" / "life+json" / "bot"
    with opened() as system:
        system.start_session("monday")
        talk(system)
    assert SAID[1] in (files / "memory_units.json").read_text("utf-8")
    with opened() as system:
        assert system.convert_json_to_sqlite() == 0
        system.remove_session("monday")
        assert not files.exists()
        system.add_memory("It rains.", source="user")
    assert "It rains." in (files / "memory_units.json").read_text("utf-8")
    assert SAID[1] not in (files / "memory_units.json").read_text("utf-8")


def test_without_files_or_a_server_a_conversion_says_what_to_do(system: MemorySystem) -> None:
    with pytest.raises(errors.UsageError, match=r"memforest\.no_files"):
        system.convert_json_to_sqlite()
    with pytest.raises(errors.UsageError, match=r"memforest\.no_milvus"):
        system.convert_sql_to_milvus()


def test_an_external_memory_is_found_by_text_and_never_written(tmp_path: Path, settings: dict[str, str]) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "2024-05-01 key.md").write_text("The spare key hangs behind the boiler.", "utf-8")
    given = {**settings, "EXTERNAL_MEMORIES": f"house={notes}"}
    with MemorySystem("bot", "life", base_path=tmp_path, settings=given) as system:
        talk(system)
        chains = system.query(text="Where does the spare key hang?", k_limit=1)
        assert [(unit.source, unit.content, unit.metadata["collection"]) for unit in chains[0]] == [
            ("house", "The spare key hangs behind the boiler.", "house")
        ]
        assert system.query(text="spare key", filters=[("content", "contains", "boiler")]) == []


def test_the_async_twins_do_the_same(tmp_path: Path, settings: dict[str, str]) -> None:
    async def use() -> None:
        system = MemorySystem("bot", "life", llm=ChatModel(), base_path=tmp_path, settings=settings)
        added = await asyncio.gather(*(system.aadd_memory(said, source=source) for source, said in TALK))
        assert len({unit.id for unit in added}) == 4
        await system.aflush(force=True)
        assert len(await system.aquery(filters=[("rank", "==", 0)], recall_context=False)) == 4
        assert await system.asummarize_session() is not None
        assert await system.asummarize_long_term_memory() is not None
        await system.aclose(auto_summarize=True)

    asyncio.run(use())


# -- cost, in rows that are read


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """Counts the rows that the database returns to this thread during a call."""
    fetch, counted, here = SqliteDatabase._fetch_rows, [0], threading.get_ident()

    def fetch_and_count(self: SqliteDatabase, act: str, sql: str, passed: tuple[object, ...]) -> list[Any]:
        rows = fetch(self, act, sql, passed)
        counted[0] += len(rows) if threading.get_ident() == here else 0
        return rows

    monkeypatch.setattr(SqliteDatabase, "_fetch_rows", fetch_and_count)

    def count(call: Callable[[], object]) -> int:
        counted[0] = 0
        call()
        return counted[0]

    return count


def test_adding_reads_as_few_rows_in_a_long_session_as_in_a_short_one(system: MemorySystem, rows_read) -> None:
    def add() -> object:
        return system.add_memory("It rains.", source="user", metadata={"emotion": "joy"})

    for _ in range(3):
        add()
    early = rows_read(add)
    for _ in range(60):
        add()
    assert rows_read(add) <= early < 40


def test_a_narrowed_query_reads_only_what_passes(system: MemorySystem, handler: EmbeddingHandler, rows_read) -> None:
    for number in range(80):
        system.add_memory(f"Message {number}.", source="user", metadata={"n": number})
    vector = handler.get_embedding("message").tolist()
    system.flush(force=True)
    system.query(vector)
    assert rows_read(lambda: system.query(vector, filters=[("n", "==", -1)])) < 10
    assert rows_read(lambda: system.query(filters=[("n", "==", -1)])) < 10
    assert rows_read(lambda: system.query(vector, filters=[("n", "<", 3)])) < 60
    assert rows_read(lambda: system.query(vector, short_term_only=True)) < 10


def test_an_id_that_is_taken_is_given_to_nothing_else(system: MemorySystem) -> None:
    system.start_session("monday")
    first = system.add_memory("I had soup.", source="user", memory_unit_id="unit-0001")
    again = system.add_memory("I had soup.", source="user", memory_unit_id="unit-0001")
    assert again == first
    assert system.get_context() == [first]
    system.start_session("tuesday")
    other = system.add_memory("I had rice.", source="user", memory_unit_id="unit-0001")
    assert other.content == "I had rice."
    assert (first.id, other.group_id) == ("unit-0001", "tuesday")
    assert other.id != first.id


def test_an_id_that_is_gone_or_no_plain_name_is_given_to_nothing_and_what_was_said_is_stored(
    system: MemorySystem,
) -> None:
    system.start_session("monday")
    system.add_memory("I had soup.", source="user", memory_unit_id="unit-0001")
    system.remove_session("monday")
    again = system.add_memory("I had soup.", source="user", memory_unit_id="unit-0001")
    odd = system.add_memory("I had rice.", source="Ann\x1b[31m", memory_unit_id="it's '1'='1")
    last = system.add_memory("I had tea.", source="user")
    assert [again.content, odd.content, last.content] == ["I had soup.", "I had rice.", "I had tea."]
    assert [unit.group_id for unit in (again, odd, last)] == ["monday"] * 3
    assert not {again.id, odd.id} & {"unit-0001", "it's '1'='1"}
    assert odd.source == "Ann[31m"


def test_what_follows_a_unit_whose_id_was_taken_stays_in_its_session(system: MemorySystem) -> None:
    system.start_session("monday")
    system.add_memory("I had soup.", source="user", memory_unit_id="unit-0001")
    system.start_session("tuesday")
    system.add_memory("I had rice.", source="user", memory_unit_id="unit-0001")
    last = system.add_memory("I had tea.", source="user")
    assert (last.content, last.group_id) == ("I had tea.", "tuesday")


@pytest.mark.parametrize("year", [1, 9999])
def test_a_time_that_cannot_be_is_refused(system: MemorySystem, year: int) -> None:
    with pytest.raises(errors.UsageError, match=r"memforest\.time"):
        system.add_memory("I had soup.", creation_time=datetime(year, 12, 31))


def test_a_unit_of_the_past_that_was_erased_is_refused_and_one_that_is_said_now_is_stored(system: MemorySystem) -> None:
    secret = "My sister Patty is expecting a child in May."
    system.start_session("first")
    system.add_memory(secret, source="user", creation_time=BEGAN)
    system.remove_session("first")
    with pytest.raises(errors.UsageError, match=r"memory\.erased"):
        system.add_memory(secret, source="user", creation_time=BEGAN)
    assert system.add_memory(secret, source="user").content == secret


def test_what_was_flushed_survives_a_program_that_is_killed_and_what_was_not_does_no_harm(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    script = (
        "import os, sys\n"
        "from interfaces.python.memforest import MemorySystem\n"
        f"memory = MemorySystem('bot', 'life', base_path={str(tmp_path)!r}, settings={settings!r})\n"
        "memory.add_memory('I had soup.', source='user')\n"
        "memory._flush_cache()\n"
        "memory.add_memory('I had rice.', source='user')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False, timeout=120)
    with MemorySystem("bot", "life", base_path=tmp_path, settings=settings) as system:
        found = told(system.query(filters=[("source", "==", "user")], recall_context=False))
        assert found[-1] == ["I had soup."]
        system.add_memory("I had tea.", source="user")
        assert told(system.query(filters=[("content", "contains", "tea")])) != []
