"""SimpleMem's users find their calls: their example runs as it is printed, and each entry has its parts."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interfaces.python import Friend
from interfaces.python.simplemem import Dialogue, SimpleMemSystem
from tests.interfaces.python.test_neuromemory import run
from tests.support.server import ScriptedServer

ROOT = Path(__file__).resolve().parents[3]
MEETING = {
    "turn": 1, "quote": "明天2点星巴克见面", "subject": "Alice",
    "restatement": "Alice 和 Bob 2025年1月16日14:00在星巴克见面",
    "attribute": "appointment", "value": "星巴克", "about": "other", "stance": "planned", "persons": ["Alice", "Bob"],
    "entities": ["星巴克"], "location": "星巴克", "keywords": ["见面", "星巴克"], "start": "2025-01-16T14:00:00",
}  # fmt: skip
REPORT = {
    "turn": 2, "quote": "好的我带报告", "restatement": "Bob 会带报告", "subject": "Bob", "attribute": "plan",
    "value": "带报告", "about": "other", "stance": "planned", "persons": ["Bob"], "entities": ["报告"],
    "keywords": ["报告"],
}  # fmt: skip
HOME = {
    "turn": 1, "quote": "I live in Lyon", "restatement": "The user lives in Lyon.", "subject": "user",
    "attribute": "home", "value": "Lyon", "about": "person", "location": "Lyon",
}  # fmt: skip


def reply_of(*facts: dict[str, Any]) -> Any:
    """A model that notes these facts, verifies every statement and answers from what it is shown."""

    def answer(request: Any) -> str:
        shown = "\n".join(one["content"] for one in request["messages"])
        if statements := re.findall(r'"statement": ?(\d+)', shown):
            return "\n".join(f"{number}: yes" for number in statements)
        if '{"turn": 1' in shown:
            return json.dumps({"notes": [{"topic": "见面", "importance": 6, "facts": facts}]}, ensure_ascii=False)
        if "2025年1月16日14:00" in shown and "什么时候在哪见面" in shown:
            return "2025年1月16日14:00，在星巴克。"
        return "{}"

    return answer


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.answer = reply_of(MEETING, REPORT)
        yield server


def opened(folder: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch, **given: Any) -> SimpleMemSystem:
    monkeypatch.setenv("EMBEDDING_MODEL", "built-in")
    monkeypatch.setenv("LOG_DIR", str(folder / "logs"))
    system = SimpleMemSystem("k", "m", model.base, folder / "data", **given)
    system._friend._companion.maintenance.wait()  # or what is added is read by what looks for what is due
    return system


def test_the_published_example_gives_what_its_page_says(tmp_path: Path, model: ScriptedServer) -> None:
    page = (ROOT / "docs" / "simplemem.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", page, re.DOTALL)
    assert example
    # Twice: what was cleared may be added again, and is there once.
    for _ in range(2):
        assert run(example[1], tmp_path, model) == example[2]


def test_what_somebody_says_is_never_learned_of_the_user(
    tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.answer = reply_of(HOME)
    with opened(tmp_path, model, monkeypatch) as system:
        system.add_dialogue("Alice", "I live in Lyon", "2025-01-15T10:00:00")
        system.finalize()
        assert system.get_all_memories() == []
    model.answer = reply_of(HOME | {"subject": "Alice", "restatement": "Alice lives in Lyon."})
    with opened(tmp_path, model, monkeypatch, clear_db=True) as system:
        system.add_dialogue("Alice", "I live in Lyon", "2025-01-15T10:00:00")
        system.finalize()
        (entry,) = system.get_all_memories()
        assert (entry.lossless_restatement, entry.location) == ("Alice lives in Lyon.", "Lyon")
        assert entry.timestamp.startswith("2025-01-15T10:00:00")
    # A session in which only others speak says nothing of the user.
    assert not any("persona" in str(request).casefold() for request in model.chats)


@pytest.mark.parametrize(
    ("said", "subject", "restatement", "place"),
    [("Bob moved to Oslo", "Bob", "Bob moved to Oslo.", "Oslo"), ("小王搬到上海了", "小王", "小王搬到上海了", "上海")],
)
def test_what_somebody_says_of_a_third_person_is_known_of_that_person_and_as_whose_words(
    tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch, said, subject, restatement, place
) -> None:
    home = HOME | {"quote": said, "about": "other", "subject": subject, "restatement": restatement, "value": place}
    model.answer = reply_of(home | {"persons": [subject], "location": place})
    with opened(tmp_path, model, monkeypatch) as system:
        system.add_dialogue("Alice", said, "2025-01-15T10:00:00")
        system.finalize()
        (entry,) = system.get_all_memories()
        assert (entry.lossless_restatement, entry.persons, entry.location) == (restatement, [subject], place)
        assert entry.said_by == ["Alice"]


@pytest.mark.parametrize("subject", ["user", "landlord", "my sister"])
def test_what_somebody_says_of_nobody_by_name_is_learned_of_no_one(
    tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch, subject: str
) -> None:
    about = "person" if subject == "user" else "other"
    said = f"The {subject} moved to Oslo"
    model.answer = reply_of(HOME | {"quote": said, "about": about, "subject": subject, "restatement": f"{said}."})
    with opened(tmp_path, model, monkeypatch) as system:
        system.add_dialogue("Alice", said, "2025-01-15T10:00:00")
        system.finalize()
        assert system.get_all_memories() == []


def test_clearing_erases_the_dialogues_and_nothing_else(
    tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, model, monkeypatch) as system:
        system.add_dialogues(
            [
                Dialogue(1, "Alice", "明天2点星巴克见面", "2025-01-15T10:00:00"),
                Dialogue(2, "Bob", "好的我带报告", "2025-01-15T10:01:00"),
            ]
        )
        system.finalize()
        assert len(system.get_all_memories()) == 2
    with Friend(tmp_path / "data", settings={"OPENAI_API_BASE": model.base, "CHAT_MODEL": "m"}) as friend:
        friend.chat("My cat is called Douban.")
    with opened(tmp_path, model, monkeypatch, clear_db=True) as system:
        assert system.get_all_memories() == []
    with Friend(tmp_path / "data", settings={"OPENAI_API_BASE": model.base, "CHAT_MODEL": "m"}) as friend:
        assert friend.search("星巴克") == ()
        assert any("Douban" in one.text for one in friend.search("cat"))
        assert friend.erased().erasures[0].proof.traces_left == 0


def test_what_is_not_taken_is_refused_and_the_rest_is_a_setting(
    tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TypeError, match="enable_magic"):
        opened(tmp_path, model, monkeypatch, enable_magic=True)
    given = {"enable_planning": False, "enable_reflection": False, "max_parallel_workers": 3, "use_streaming": True}
    with opened(tmp_path, model, monkeypatch, **given) as system:
        settings = system._friend.settings
        assert (settings.recall_planning, settings.reflection_rounds, settings.extraction_workers) == ("off", 0, 3)


def test_as_many_windows_are_read_at_once_as_there_are_workers(
    tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDOW_SIZE", "2")
    together = threading.Barrier(3)

    def answer(request: Any) -> str:
        if '{"turn": 1' in str(request["messages"]):
            together.wait(300)  # fails unless three windows are asked about at once
        return '{"notes": []}'

    model.answer = answer
    with opened(tmp_path, model, monkeypatch, max_parallel_workers=3) as system:
        for number in range(6):
            system.add_dialogue("Alice", f"I saw heron number {number} today.", f"2025-01-15T10:0{number}:00")
        system.finalize()
        assert system._friend._companion.memory.facts.count_all().unread == 0
    # Each window once: a reply that was asked for ahead is not asked for again.
    assert len(model.chats) == 3


def test_the_meeting_of_a_day_comes_first_and_every_part_filters(
    tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, model, monkeypatch) as system:
        system.add_dialogue("Alice", "明天2点星巴克见面", "2025-01-15T10:00:00")
        system.add_dialogue("Bob", "好的我带报告", "2025-01-15T10:01:00")
        system.finalize()
        friend = system._friend
        meeting, report = (entry.entry_id for entry in system.get_all_memories())
        first = friend.search("2025-01-16 有哪些会议？")[0]
        assert (first.id, first.timestamp, first.location) == (meeting, "2025-01-16T14:00:00", "星巴克")
        for given, found in (
            ({"persons": ["alice"]}, [meeting]),
            ({"persons": ["BOB"]}, [meeting, report]),
            ({"persons": ["Alice", "Bob"]}, [meeting]),
            ({"entities": ["报告"]}, [report]),
            ({"location": "星巴克"}, [meeting]),
            ({"topic": "见面"}, [meeting, report]),
            ({"since": "2025-01-16", "until": "2025-01-16"}, [meeting]),
            ({"until": "2025-01-15"}, [report]),
            ({"until": "2024"}, []),
            ({"query": "报告", "persons": ["Bob"]}, [report, meeting]),
            ({"persons": ["Carol"]}, []),
        ):
            assert [one.id for one in friend.search(**given)] == found, given
        query = "EXPLAIN QUERY PLAN SELECT p.fact FROM fact_part p WHERE p.kind = 'person' AND p.name IN ('bob')"
        plan = friend._companion.memory._of.database.run(query)
        assert "fact_part_named" in str([tuple(row) for row in plan])
