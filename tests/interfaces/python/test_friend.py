"""A Python program has the same friend as the terminal: it talks, remembers and asks, and people share nothing."""

from __future__ import annotations

import gc
import re
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from weakref import ref

import pytest

from domain import errors
from interfaces.operations import OPERATIONS
from interfaces.python import Friend
from tests.interfaces.terminal.pseudo import environment
from tests.support.house import talks
from tests.support.served import until
from tests.support.server import ScriptedServer, say, status
from tests.support.warm import Piped

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(talks) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, model: ScriptedServer) -> dict[str, str]:
    return {
        "OPENAI_API_BASE": model.base, "CHAT_MODEL": "m", "EMBEDDING_MODEL": "built-in", "REQUEST_TIMEOUT": "20",
        "LOG_DIR": str(tmp_path / "logs"),
    }  # fmt: skip


def test_what_was_said_is_known_the_next_time(tmp_path: Path, settings: dict[str, str], model: ScriptedServer) -> None:
    model.script(say("Nice cat."), say("Douban!"))
    with Friend(tmp_path / "data", settings=settings) as friend:
        assert friend.chat("My cat is called Douban.") == "Nice cat."
    with Friend(tmp_path / "data", settings=settings) as friend:
        assert friend.chat("What is my cat called?") == "Douban!"
        assert any("My cat is called Douban." in one.text for one in friend.search("cat"))
    assert "My cat is called Douban." in str(model.chats[-1])


def test_a_failed_call_stores_nothing(tmp_path: Path, settings: dict[str, str], model: ScriptedServer) -> None:
    model.script(status(401))
    with Friend(tmp_path / "data", settings=settings) as friend:
        with pytest.raises(errors.ModelError):
            friend.chat("My cat is called Douban.")
        assert friend.search("cat") == ()


def test_two_programs_use_one_memory_each_in_a_session_of_its_own(
    tmp_path: Path, settings: dict[str, str], model: ScriptedServer
) -> None:
    model.script("Nice name.", "So you moved.")
    with Friend(tmp_path / "data", settings=settings) as one, Friend(tmp_path / "data", settings=settings) as two:
        one.chat("My cat is called Douban.")
        two.chat("I moved to Lyon.")
        for friend in (one, two):
            assert any("Douban" in found.text for found in friend.search("cat"))
            assert any("Lyon" in found.text for found in friend.search("Lyon"))
        assert "Nice name." in str(model.chats[-1]["messages"][-1]), "recalled, and no round of this session"


def test_the_memory_service_is_that_of_the_other_interfaces(tmp_path: Path, settings: dict[str, str]) -> None:
    with Friend(tmp_path / "data", settings=settings) as friend:
        processed = friend.process_memory("My cat is called Douban.")
        assert list(processed.model_dump()) == [
            "status", "resolved_query", "memories", "relations", "metadata",
        ]  # fmt: skip
        assert friend.get_session_status().has_active_session
        assert friend.get_session_status("somebody else").has_active_session is False
        ended = friend.end_session().session_info
        assert ended is not None
        assert ended.event_count == 1


def test_every_tool_of_a_memory_is_a_method(tmp_path: Path, settings: dict[str, str]) -> None:
    with Friend(tmp_path / "data", settings=settings) as friend:
        tools = [one.tool.name for one in OPERATIONS.values() if one.tool]
        assert all(callable(getattr(friend, name)) for name in tools)
        stored = friend.remember("The spare key lies under the flower pot.")
        assert friend.forget(stored.id).messages == 1
        with pytest.raises(AttributeError):
            friend.forget_everything()


def test_dialogues_are_remembered_with_their_time_and_asked_about(
    tmp_path: Path, settings: dict[str, str], model: ScriptedServer
) -> None:
    with Friend(tmp_path / "data", settings=settings) as friend:
        friend.add_dialogue("Alice", "Let us meet at the Blue Fox on Friday.", "2025-11-12T10:00:00+00:00")
        friend.add_dialogue("Bob", "Fine, at seven.", "2025-11-12T10:01:00+00:00")
        found = friend.search("Blue Fox")
        assert [one.text for one in found][:1] == ["Alice: Let us meet at the Blue Fox on Friday."]
        assert found[0].date.startswith("2025-11-12")
        model.answer = lambda request: "{}"
        friend.finalize()
        friend.finalize()
        model.answer = lambda request: "They meet at the Blue Fox."
        assert "Blue Fox" in friend.ask("Where do Alice and Bob meet on Friday?")


def test_a_time_without_a_zone_is_one_of_this_place(tmp_path: Path, settings: dict[str, str]) -> None:
    with Friend(tmp_path / "data", settings=settings) as friend:
        friend.add_dialogue("Alice", "Let us meet at the Blue Fox.", "2025-11-12T10:00:00")
        friend.add_dialogue("Bob", "Fine, at seven.", datetime(2025, 11, 12, 10, 1))
        with pytest.raises(ValueError, match="yesterday"):
            friend.add_dialogue("Bob", "Or at eight.", "yesterday")
        memory = friend._companion.memory
        assert memory.problems() == []
        messages = memory.messages.of_session(memory.sessions.recent(1)[0].session_id)
        assert [message.timestamp[:19] for message in messages] == ["2025-11-12T10:00:00", "2025-11-12T10:01:00"]


def test_two_people_share_nothing(tmp_path: Path, settings: dict[str, str], model: ScriptedServer) -> None:
    model.script(say("Nice cat."), say("No idea."))
    with Friend(tmp_path / "data", person="ann", settings=settings) as ann:
        ann.chat("My cat is called Douban.")
    with Friend(tmp_path / "data", person="ben", settings=settings) as ben:
        ben.chat("What is my cat called?")
        assert [one.text for one in ben.search("cat") if "Douban" in one.text] == []
    assert "Douban" not in str(model.chats[-1])


def test_the_page_of_the_documents_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text("utf-8"), re.DOTALL)
    assert code is not None
    page = tmp_path / "page.py"
    page.write_text(code[1], "utf-8")
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EMBEDDING_MODEL", "built-in")
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(page), run_name="__main__")
    assert "Douban" in capsys.readouterr().out


def required(name: str) -> list[str]:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


def test_the_package_depends_on_what_the_requirements_name_but_not_on_pytest() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = required("requirements.txt")
    assert [line for line in named if line not in project["dependencies"]] == ["pytest>=8"]
    assert [line for line in project["dependencies"] if line not in named] == []
    for extra in ("serve", "postgres"):
        assert project["optional-dependencies"][extra] == required(f"requirements-{extra}.txt")


@pytest.mark.parametrize(
    "secret", ["My sister Patty is expecting a child in May.", "我表妹小莉五月要生孩子了，家里还没人知道。"]
)
def test_a_program_cannot_add_what_was_erased_and_sees_that_something_was(
    tmp_path: Path, settings: dict[str, str], secret: str
) -> None:
    with Friend(tmp_path / "data", settings=settings) as friend:
        friend.forget(friend.remember(secret).id)
        assert not friend.add_dialogue("Bob", secret, "2025-11-12T10:00:00+00:00")
        assert friend.add_dialogue("Bob", "Fine, at seven by the river.", "2025-11-12T10:01:00+00:00")
        (one,) = friend.erased().erasures
        assert (one.messages, one.reason, one.proof.traces_left) == (1, "person", 0)
        assert secret not in str(one)


@pytest.mark.parametrize("of", ["index_workers", "scheduler"])
def test_a_friend_that_is_closed_writes_nothing_afterwards(tmp_path: Path, of: str) -> None:
    friend, begun, ended = Friend(tmp_path / "data"), threading.Event(), list[bool]()
    pool = getattr(friend._people, of)

    def work() -> None:
        begun.set()
        friend._people._closing.wait(60)
        time.sleep(1)  # longer than closing takes
        ended.append(True)

    (pool if of == "index_workers" else pool.pool).add(work)
    assert begun.wait(60)
    friend.close()
    assert ended


def test_of_a_friend_that_is_closed_nothing_is_kept_until_the_program_ends(tmp_path: Path) -> None:
    with Friend(tmp_path / "data", settings={"EMBEDDING_MODEL": "built-in"}) as friend:
        pools = [ref(friend._people.index_workers), ref(friend._people.scheduler.pool)]
    del friend
    until(lambda: gc.collect() >= 0 and not any(pool() for pool in pools))


def test_a_program_that_closes_nothing_ends_once_its_threads_have_come_to_a_stop(tmp_path: Path) -> None:
    script = """
import atexit, sys, threading
from interfaces.python import Friend
friend = Friend(sys.argv[1])
begun, ending = threading.Event(), threading.Event()
atexit.register(ending.set)
def work():
    begun.set()
    ending.wait()
    print(sum(range(10_000_000)))
friend._people.index_workers.add(work)
begun.wait()
"""
    chosen = environment(tmp_path, LOG_DIR=str(tmp_path / "logs"))
    with Piped(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT, env=chosen, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as program:  # fmt: skip
        assert (*program.communicate(timeout=120), program.returncode) == (b"49999995000000\n", b"", 0)
