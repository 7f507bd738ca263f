"""A program that was written against MemForest finds its names, and our memory behind them."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from domain import errors
from interfaces.python.memforest import EmbeddingHandler, MemorySystem, MemoryUnit
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


def test_the_page_of_the_documents_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "memforest.md").read_text("utf-8"), re.DOTALL)
    assert code is not None
    page = tmp_path / "page.py"
    page.write_text(code[1], "utf-8")
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EMBEDDING_MODEL", "built-in")
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(page), run_name="__main__")
    shown = capsys.readouterr().out
    assert "MemForest" in shown
    assert "demo_bot.db" in shown
    assert (tmp_path / "converted" / "demo_bot.db").exists()


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
