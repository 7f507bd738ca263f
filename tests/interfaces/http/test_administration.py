"""Administration: a program that speaks for everybody lists people, and sees, takes along and erases one of them."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from domain.errors import UsageError
from people import folder_of
from tests.support.house import talks
from tests.support.program import connected, run
from tests.support.served import Server, here
from tests.support.server import ScriptedServer, say

WORDS = "My locker code is 4711-zeppelin."
OTHERS = "I keep bees in Oslo."
CHAT = {"messages": [{"role": "user", "content": "My cat is called Douban-zeppelin."}]}
PATHS = [
    ("GET", "/admin/people"),
    ("DELETE", "/admin/people/ann"),
    ("GET", "/admin/export/ann"),
    ("GET", "/admin/memories/ann"),
    ("DELETE", "/admin/memories/ann?memory_id=x"),
]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Server]:
    """Ann has a memory of her own and one of a system instruction, and a token; bob has a memory."""
    with ScriptedServer(talks) as model:
        model.script(*[say("Nice.")] * 3)
        settings = connected(model.base, EMBEDDING_MODEL="built-in", LOG_DIR=str(tmp_path / "logs"))
        with here(tmp_path, routers=lambda people: [], **settings) as server:
            assert server.registry
            server.token = server.registry.add_token("backend", "*")
            assert server.ask("POST", "/process", {"input": WORDS, "user_id": "ann"}).status == 200
            assert server.ask("POST", "/process", {"input": OTHERS, "user_id": "bob"}).status == 200
            made = server.ask("POST", "/api/v1/system-instructions", {"text": "Be a zeppelin."}, X_User_Id="ann")
            chat = {**CHAT, "system_instruction_id": made.json["id"]}
            assert server.ask("POST", "/api/v1/chat", chat, X_User_Id="ann").status == 200
            yield server


def memories(server: Server, person: str, **query: int) -> Any:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    answer = server.ask("GET", f"/admin/memories/{person}?{asked}")
    assert answer.status == 200
    return answer.json


def holding(folder: Path, *needles: str) -> list[Path]:
    """The files that still hold one of these."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and any(needle.encode() in path.read_bytes() for needle in needles)
    ]


def test_nobody_else_finds_it(served: Server) -> None:
    assert served.registry
    ann = served.registry.add_token("ann's", "ann")
    for method, path in PATHS:
        assert served.ask(method, path, token=ann).status == 404, (method, path)
        assert served.ask(method, path, token="wrong").status == 401, (method, path)
        assert served.registry.has_person("ann")


def test_without_any_token_it_is_not_found(tmp_path: Path) -> None:
    with here(tmp_path) as server:
        assert [server.ask(method, path).status for method, path in PATHS] == [404] * len(PATHS)


def test_everybody_who_was_served_is_listed(served: Server) -> None:
    listed = served.ask("GET", "/admin/people").json
    assert [one["user_id"] for one in listed] == ["ann", "bob"]
    assert all(one["since"].endswith("Z") for one in listed)


def test_whoever_was_never_served_is_not_found_and_leaves_no_trace(served: Server) -> None:
    for method, path in PATHS[1:]:
        assert served.ask(method, path.replace("ann", "cai")).status == 404
    assert served.registry
    assert served.registry.persons() == ["ann", "bob"]


def test_what_is_stored_is_listed_in_parts_and_erased_one_by_one_with_proof(tmp_path: Path, served: Server) -> None:
    assert served.ask("POST", "/process", {"input": "I like jazz.", "user_id": "ann"}).status == 200
    both = memories(served, "ann")
    assert [(one["kind"], one["text"]) for one in both["memories"]] == [
        ("user", "I like jazz."), ("user", WORDS),
    ]  # fmt: skip
    assert both["more"] is False
    first = memories(served, "ann", limit=1)
    assert (first["memories"], first["more"]) == (both["memories"][:1], True)
    assert memories(served, "ann", limit=1, offset=1)["memories"] == both["memories"][1:]
    number = both["memories"][1]["id"]
    assert served.ask("DELETE", f"/admin/memories/bob?memory_id={number}").status == 404
    gone = served.ask("DELETE", f"/admin/memories/ann?memory_id={number}")
    assert (gone.status, gone.json["messages"], gone.json["proof"]["traces_left"]) == (200, 1, 0)
    assert served.ask("DELETE", f"/admin/memories/ann?memory_id={number}").status == 404
    assert holding(tmp_path, WORDS) == []
    assert [one["text"] for one in memories(served, "ann")["memories"]] == ["I like jazz."]


def test_an_export_holds_all_of_one_person_and_nothing_of_others(tmp_path: Path, served: Server) -> None:
    answer = served.ask("GET", "/admin/export/ann")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/zip")
    with zipfile.ZipFile(io.BytesIO(answer.body)) as file:
        names = file.namelist()
        held = {name: file.read(name).decode() for name in names}
    assert names == ["about-person.json", "own-memory.json", "memory-of-instruction-2.json"]
    person = json.loads(held["about-person.json"])
    assert person["user_id"] == "ann"
    assert [one["text"] for one in person["system_instructions"]] == ["Be a zeppelin."]
    assert WORDS in held["own-memory.json"]
    assert "Douban-zeppelin" in held["memory-of-instruction-2.json"]
    assert not any(OTHERS in text for text in held.values())
    assert list((tmp_path / "data").rglob(".export-*")) == []
    home = tmp_path / "elsewhere"
    home.mkdir()
    (home / "memory.json").write_text(held["own-memory.json"], encoding="utf-8")
    brought = run(home, "--import", str(home / "memory.json"), EMBEDDING_MODEL="built-in")
    assert brought.code == 0, brought.err
    with closing(sqlite3.connect(home / "data" / "memory.db")) as database:
        assert database.execute("SELECT text FROM conversation").fetchall() == [(f"User: {WORDS}",)]


def test_a_person_is_erased_whole_with_proof_and_nobody_else(tmp_path: Path, served: Server) -> None:
    assert served.registry
    assert served.people
    (tmp_path / "logs").mkdir(exist_ok=True)
    ann = served.registry.add_token("ann's", "ann")
    place = folder_of(tmp_path / "data", "ann").parent
    assert len(holding(place, "zeppelin")) >= 2
    erased = served.ask("DELETE", "/admin/people/ann")
    assert (erased.status, erased.json["memories"]) == (200, 2)
    assert erased.json["proof"]["traces_left"] == 0
    assert erased.json["proof"]["files_searched"] > 0
    assert not place.exists()
    assert holding(tmp_path, "zeppelin") == []
    assert [one["user_id"] for one in served.ask("GET", "/admin/people").json] == ["bob"]
    assert served.ask("GET", "/page/now", token=ann).status == 401
    assert [one["id"] for one in served.ask("GET", "/api/v1/system-instructions", X_User_Id="ann").json] == [1]
    assert served.ask("DELETE", "/admin/people/ann").status == 404
    assert [one["text"] for one in memories(served, "bob")["memories"]] == [OTHERS]
    with closing(sqlite3.connect(tmp_path / "data" / "registry.db")) as registry:
        ((messages, sessions, files, traces),) = registry.execute(
            "SELECT messages, sessions, files, traces FROM erased_person"
        ).fetchall()
    assert (messages > 0, sessions > 0, files, traces) == (True, True, erased.json["proof"]["files_searched"], 0)


def test_what_goes_on_in_the_background_brings_nobody_back(tmp_path: Path, served: Server) -> None:
    assert served.people
    assert served.service
    assert served.ask("POST", "/end-session", {"user_id": "ann"}).status == 200
    assert served.ask("DELETE", "/admin/people/ann").status == 200
    served.service.sweep()
    assert served.service.settle("ann", 60)
    with pytest.raises(UsageError, match=r"person\.unknown"), served.people.known_companion("ann"):
        pass
    assert served.people.registry.persons() == ["bob"]
    assert not folder_of(tmp_path / "data", "ann").parent.exists()
    assert served.ask("POST", "/process", {"input": "Hello again.", "user_id": "ann"}).status == 200
    assert [one["text"] for one in memories(served, "ann")["memories"]] == ["Hello again."]


def test_an_erasure_that_was_cut_short_is_finished_by_asking_again(
    tmp_path: Path, served: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, broken = shutil.rmtree, []

    def fails_once(path: Any, *more: Any, **named: Any) -> None:
        if Path(path).suffix == ".going" and not broken:
            broken.append(path)
            raise OSError(5, "Input/output error")
        real(path, *more, **named)

    monkeypatch.setattr(shutil, "rmtree", fails_once)
    assert served.ask("DELETE", "/admin/people/ann").status == 503
    assert holding(tmp_path, WORDS) == []
    assert served.ask("DELETE", "/admin/people/ann").status == 200
    assert not folder_of(tmp_path / "data", "ann").parent.exists()


def test_the_one_at_the_terminal_is_not_erased_from_elsewhere(served: Server) -> None:
    assert served.ask("POST", "/process", {"input": "I am the owner.", "user_id": "me"}).status == 200
    refused = served.ask("DELETE", "/admin/people/me")
    assert refused.status == 409
    assert [one["text"] for one in memories(served, "me")["memories"]] == ["I am the owner."]
