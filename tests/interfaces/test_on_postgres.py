"""The program with DATABASE_URL: terminal, -p, servers side by side and Python use one memory in a database."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interfaces.python import Friend
from tests.interfaces.http.running import running
from tests.storage.postgres.server import own_database, shared_server
from tests.support import program
from tests.support.program import ROOT
from tests.support.server import ScriptedServer


@pytest.fixture
def url(tmp_path: Path) -> str:
    return own_database(tmp_path)


def test_what_was_said_in_one_place_is_known_in_the_others_and_no_file_holds_it(tmp_path: Path, url: str) -> None:
    said = program.run(tmp_path, "-p", "My cat is called Douban.", DATABASE_URL=url)
    assert said.code == 0, said.err
    shown = program.run(tmp_path, given="/search Douban\n/status all\n/persona\n", DATABASE_URL=url)
    assert "Douban" in shown.err
    assert "[secret]@" in shown.err
    assert "app:secret@" not in shown.out + shown.err
    with Friend(tmp_path / "data", settings={"DATABASE_URL": url}) as friend:
        assert any("Douban" in one.text for one in friend.recall("What is my cat called?").memories)
    checked = program.run(tmp_path, "--check", DATABASE_URL=url)
    assert checked.code == 0, checked.out
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if b"Douban" in path.read_bytes() and path.name != "history"] == []
    assert not (tmp_path / "data" / "memory.db").exists()


def test_what_cannot_be_done_there_is_said_in_one_line(tmp_path: Path, url: str) -> None:
    for arguments, part in (
        (["--backup", "x.db"], "--export-person"),
        (["--export", "x.json"], "--export-person"),
        (["--init-database", url], "role"),
    ):
        ran = program.run(tmp_path, *arguments, DATABASE_URL=url)
        assert (ran.code != 0, part in ran.err, ran.err.count("\n")) == (True, True, 1), ran.err
    mighty = program.run(tmp_path, "-p", "Hello", DATABASE_URL=shared_server().replace("app:secret", "postgres"))
    assert "row-level security" in mighty.err
    wrong = program.run(tmp_path, "-p", "Hello", DATABASE_URL="mysql://app:secret@h/x")
    assert "postgresql://" in wrong.err
    assert "app:secret" not in wrong.err


def test_a_database_is_prepared_by_one_command(tmp_path: Path) -> None:
    administrator = shared_server().replace("app:secret@/friend", "postgres@/postgres")
    url = shared_server().replace("/friend", "/fresh")
    assert (
        "--init-database" in program.run(tmp_path, "-p", "Hello", DATABASE_URL=url.replace("/fresh", "/postgres")).err
    )
    for _ in range(2):
        made = program.run(tmp_path, "--database-url", url, "--init-database", administrator)
        assert (made.code, made.err) == (0, "")
    assert program.run(tmp_path, "--database-url", url, "-p", "Hello").code == 0


def test_an_erasure_says_what_holds_at_once_and_a_rewrite_what_is_done(tmp_path: Path, url: str) -> None:
    assert program.run(tmp_path, "-p", "My cat is called Douban.", DATABASE_URL=url).code == 0
    erased = program.run(tmp_path, given="/forget Douban\ny\n/erased\n", DATABASE_URL=url)
    assert "tables of the database" in erased.err
    assert "0 found. From now on no query" in erased.err
    assert "search not finished" not in erased.err
    administrator = shared_server().replace("app:secret@/friend", "postgres@/postgres")
    unnamed = program.run(tmp_path, "--rewrite-database", administrator)
    assert (unnamed.code, "--rewrite-database" in unnamed.err) == (2, True)
    done = program.run(tmp_path, "--rewrite-database", administrator, DATABASE_URL=url)
    assert (done.code, " tables of postgresql:" in done.out, "Not done" in done.out) == (0, True, False), done
    refused = program.run(tmp_path, "--rewrite-database", url, DATABASE_URL=url)
    assert (refused.code, refused.out.count("\n"), "permission denied" in refused.out) == (1, 1, True)


def test_without_its_address_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None; sys.argv = ['main.py', '--data-dir', sys.argv[1], '-p', 'Hello'];"
        " import main; sys.exit(main.main())"
    )
    command, quick = [sys.executable, "-c", script, str(tmp_path)], os.environ | {"EMBEDDING_MODEL": "built-in"}
    done = subprocess.run(command, cwd=ROOT, env=quick, check=False, capture_output=True)
    assert (done.returncode, b"Hello" in done.stdout) == (0, True)


def test_servers_side_by_side_store_the_rounds_of_many_people_once_each(tmp_path: Path, url: str) -> None:
    rounds, persons = 4, [f"person {number}" for number in range(6)]
    with (
        ScriptedServer() as model,
        running(tmp_path / "a", model, DATABASE_URL=url) as first,
        running(tmp_path / "b", model, DATABASE_URL=url) as second,
        ThreadPoolExecutor(len(persons)) as at_once,
    ):
        model.answer = lambda request: "Yes, " + request["messages"][-1]["content"][-40:]

        tokens = {one: first.people.registry.add_token(one.replace(" ", "-"), one) for one in persons}
        heads = {one: {"Authorization": f"Bearer {token}"} for one, token in tokens.items()}

        def talk(person: str) -> list[int]:
            answers = []
            for number in range(rounds):
                server = (first, second)[number % 2]
                body = {"messages": [{"role": "user", "content": f"Round {number} of {person}."}]}
                path = f"{server.base}/v1/chat/completions"
                answers.append(httpx2.post(path, json=body, headers=heads[person], timeout=60).status_code)
            return answers

        assert [set(codes) for codes in at_once.map(talk, persons)] == [{200}] * len(persons)
        for server in (first, second):
            for person in persons:
                with server.people.companion(person) as companion:
                    sessions = companion.memory.sessions.recent(None)
                    said = [
                        one.user.words
                        for session in sessions
                        for one in companion.memory.messages.rounds(session.session_id)
                    ]
                assert sorted(said) == [f"Round {number} of {person}." for number in range(rounds)]
        with second.people.companion(persons[0]) as companion:
            chosen = companion.memory.erasure.scope_of_words("Round 1")
            assert companion.memory.erasure.erase(chosen).traces == ()
        with first.people.companion(persons[0]) as companion:
            assert not companion.memory.erasure.scope_of_words("Round 1")
        first.people.erase_person(persons[1])
        assert not second.people.has_person(persons[1])
        assert [*second.people.memory_folders(persons[1])] == []


def test_a_token_opens_no_memory_but_its_own_on_any_server(tmp_path: Path, url: str) -> None:
    with (
        ScriptedServer() as model,
        running(tmp_path / "a", model, DATABASE_URL=url) as first,
        running(tmp_path / "b", model, DATABASE_URL=url) as second,
    ):
        model.answer = lambda request: "Yes."
        tokens = {name: first.people.registry.add_token(name, name) for name in ("ann", "bob")}
        heads = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
        body = {"messages": [{"role": "user", "content": "Patty is expecting."}]}
        path = f"{second.base}/v1/chat/completions"
        assert httpx2.post(path, json=body, headers=heads["ann"], timeout=60).status_code == 200
        assert httpx2.post(path, json=body | {"user": "ann"}, headers=heads["bob"], timeout=60).status_code in (
            200,
            403,
        )
        with first.people.companion("ann") as companion:
            assert companion.memory.sessions.counts()[1] == 1
        assert httpx2.post(path, json=body, timeout=60).status_code == 401
        first.people.registry.revoke("ann")
        assert httpx2.post(path, json=body, headers=heads["ann"], timeout=60).status_code == 401


#: What is sent in place of any value whose name is in none of these: a number where that is wanted, else this.
OF_ANN = {"user_id": "ann", "person": "ann", "user": "ann", "model": "old-friend", "input": "Hello.", "text": "Hello."}


#: What the forms of other programs take, and paths that are in no description.
BODIES: dict[str, Any] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hello."}], "user": "ann"},
    "/v1/responses": {"input": "Hello.", "user": "ann"},
    "/v1/completions": {"prompt": "Hello.", "user": "ann"},
}
OF_PAGE = ("now", "recalled", "sessions", "sessions/{session_id}", "diary", "timeline", "facts", "facts/1", "relations",
           "personas", "import")  # fmt: skip


def filled(schema: Any, whole: Any, ids: dict[str, str], name: str = "") -> Any:
    """A value as a schema wants it, with Ann's own ids wherever one may stand."""
    if "$ref" in schema:
        return filled(whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]], whole, ids, name)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return filled(schema[several][0], whole, ids, name)
    if "enum" in schema or "const" in schema:
        return [*schema.get("enum", ()), schema.get("const")][0]
    match schema.get("type"):
        case "object":
            wanted = {*schema.get("required", ()), *OF_ANN}
            values = schema.get("properties", {}).items()
            return {each: filled(one, whole, ids, each) for each, one in values if each in wanted}
        case "array":
            return [filled(schema.get("items", {}), whole, ids, name)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return schema.get("default", True)
    return ids.get(name, OF_ANN.get(name, ids["text_id"]))


def test_no_path_tells_or_changes_anything_of_another_person_than_the_token_names(tmp_path: Path, url: str) -> None:
    with ScriptedServer() as model, running(tmp_path / "a", model, DATABASE_URL=url) as served:
        model.answer = lambda request: "Yes."
        registry = served.people.registry
        heads = {one: {"Authorization": f"Bearer {registry.add_token(one, one)}"} for one in ("ann", "bob")}
        said = {"messages": [{"role": "user", "content": "Patty is expecting."}]}
        assert httpx2.post(f"{served.base}/v1/chat/completions", json=said, headers=heads["ann"]).status_code == 200

        def stored() -> list[tuple[str, str]]:
            with served.people.companion("ann") as ann:
                return [
                    (one.session_id, message.text_id)
                    for one in ann.memory.sessions.recent(None)
                    for message in ann.memory.messages.of_session(one.session_id)
                ]

        before = stored()
        session_id, text_id = before[0]
        ids = {"session_id": session_id, "text_id": text_id}
        whole = httpx2.get(f"{served.base}/openapi.json").json()
        asked: list[tuple[str, str, dict[str, Any]]] = [("get", f"/page/{path}", {}) for path in OF_PAGE]
        asked += [(method, path, one) for path, methods in whole["paths"].items() for method, one in methods.items()]
        let_in = 0
        for method, path, described in asked:
            given = {one["name"]: (one["in"], one.get("schema", {})) for one in described.get("parameters", ())}
            values = {name: filled(schema, whole, ids, name) for name, (_, schema) in given.items()}
            query = {name: values[name] for name, (place, _) in given.items() if place == "query" and name in OF_ANN}
            content = described.get("requestBody", {}).get("content", {}).get("application/json")
            body = BODIES.get(path) or (filled(content["schema"], whole, ids) if content else None)
            answered = httpx2.request(
                method, served.base + path.replace(":path}", "}").format_map(ids | values),
                params=query or {"person": "ann"}, json=body, headers=heads["bob"], timeout=60,
            )  # fmt: skip
            assert "Patty" not in answered.text, (method, path)
            assert answered.status_code != 401, (method, path)
            let_in += answered.status_code in (200, 201)
        assert len(asked) > 35
        assert let_in > 5
        assert stored() == before


def test_a_folder_becomes_a_person_in_the_database_and_a_folder_again(tmp_path: Path, url: str) -> None:
    assert program.run(tmp_path, "-p", "My cat is called Douban.").code == 0
    stored = program.stored(tmp_path)
    folder, back = str(tmp_path / "data"), str(tmp_path / "back" / "data")
    moved = program.run(tmp_path, "--import-person", folder, "--person", "ann", "--database-url", url)
    assert (moved.code, "ann" in moved.out) == (0, True), moved.err
    again = program.run(tmp_path, "--import-person", folder, "--person", "ann", "--database-url", url)
    assert (again.code != 0, again.err.count("\n")) == (True, 1)
    assert program.run(tmp_path, "--export-person", back, "--person", "ann", "--database-url", url).code == 0
    assert program.stored(tmp_path / "back") == stored
    assert "DATABASE_URL" in program.run(tmp_path, "--export-person", back).err


def test_a_save_is_undone_where_the_memory_was_moved_since(tmp_path: Path, url: str) -> None:
    assert program.run(tmp_path, given="My cat is called Douban.\n/save\n").code == 0
    folder, back = str(tmp_path / "data"), tmp_path / "back"
    moved = program.run(tmp_path, "--import-person", folder, "--database-url", url)
    assert moved.code == 0, moved.err
    assert program.run(tmp_path, "--export-person", str(back / "data"), "--database-url", url).code == 0
    for home, settings in ((tmp_path, {"DATABASE_URL": url}), (back, {})):
        undone = program.run(home, given="/undo\n/persona\n", **settings)
        assert "/save undone: that session is open again (1 exchange)" in undone.err, undone.err
