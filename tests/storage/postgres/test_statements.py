"""Every statement of the repositories is one that PostgreSQL takes too, and the contract calls every operation."""

from __future__ import annotations

import ast
import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from storage.engine import EACH
from storage.postgres import for_postgres, limit_to_person
from storage.sqlite import schema
from tests.contract.recorded import ROOT, every_operation
from tests.storage.postgres.server import rows_by_person, shared_server

#: Tables that each engine has in its own way: the index of words, and digests of rows.
OWN = re.compile(r"\b(?:\w+_words|\w+_postings|row_digest|changed_row)\b")
#: Something is added with the person as its first value.
ADDED = re.compile(r"INSERT INTO \w+ \(person, [^)]*\)\s+(?:VALUES \(|SELECT (?:DISTINCT )?)\$")
#: What only this engine has: who has a memory, its index of words, of what a vector is, and cells of them.
OWN_TABLES = {"change", "person", "posting", "indexed_words", "changed_row", "cell"}
OWN_COLUMNS = {"embedding": {"kind", "session_id", "place", "cell"}}


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the tests of the contract did, run once for all processes of this run."""
    here = tmp_path_factory.getbasetemp()
    file = (here.parent if os.environ.get("PYTEST_XDIST_WORKER") else here) / "recorded.json"
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.contract.recorded", "-p", "no:cacheprovider"]
            kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
            done = subprocess.run(
                [*command, "tests/contract", "-k", "not postgres and not any_order", f"--basetemp={here / 'contract'}"],
                cwd=ROOT, env=kept | {"RECORDED": str(file)}, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[psycopg.Connection[Any]]:
    """A server with the schema, for somebody who sees one person alone."""
    with psycopg.connect(shared_server(), autocommit=True) as connection:
        connection.execute("SET friend.person = '-7'")  # no one of other tests
        yield connection


def test_postgres_plans_every_statement_of_the_repositories(
    server: psycopg.Connection[Any], recorded: dict[str, Any]
) -> None:
    refused = {}
    server.execute("SET plan_cache_mode = force_generic_plan")
    for sqlite in recorded["statements"]:
        if OWN.search(sqlite):
            continue
        sql = for_postgres(sqlite)
        try:
            server.execute(f"PREPARE planned AS {sql}".encode())
            values = ", ".join(["NULL"] * len(set(re.findall(r"\$\d+", sql))))
            server.execute(f"EXPLAIN EXECUTE planned{f'({values})' if values else ''}".encode())
            server.execute("DEALLOCATE planned")
        except psycopg.Error as fault:
            refused[sqlite] = str(fault)
    assert refused == {}
    assert len(recorded["statements"]) > 250


def scans(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each table that a plan reads, with the conditions on it."""
    if "Relation Name" in plan and plan["Node Type"] != "ModifyTable":
        yield (
            plan["Relation Name"],
            " ".join(str(of) for name, of in plan.items() if "Cond" in name or name == "Filter"),
        )
    for part in plan.get("Plans", ()):
        yield from scans(part)


def test_where_tables_are_distributed_each_statement_names_the_person_wherever_it_reads_and_writes(
    recorded: dict[str, Any],
) -> None:
    """As a role that no policy holds for: every condition on the person is one of the statement."""
    without, tables = [], rows_by_person()
    with psycopg.connect(shared_server().replace("app:secret", "postgres"), autocommit=True) as connection:
        connection.execute("SET friend.person = '-7'")
        connection.execute("SET plan_cache_mode = force_generic_plan")
        for sqlite in recorded["statements"]:
            if OWN.search(sqlite):
                continue
            person = f"${sqlite.count('?') + 1}"
            sql = limit_to_person(for_postgres(sqlite), person, dict(tables))
            connection.execute(f"PREPARE planned AS {sql}".encode())
            values = ", ".join(["NULL"] * len(set(re.findall(r"\$\d+", sql))))
            execute = f"EXPLAIN (FORMAT JSON) EXECUTE planned{f'({values})' if values else ''}"
            ((plans,),) = connection.execute(execute.encode()).fetchall()
            connection.execute("DEALLOCATE planned")
            read = [one for plan in plans for one in scans(plan["Plan"])]
            added = "INSERT" not in sql or ADDED.search(sql)
            if not added or any(f"person = {person}" not in condition for _, condition in read):
                without.append(sql)
    assert without == []


def test_what_only_sqlite_takes_is_refused(server: psycopg.Connection[Any]) -> None:
    for sql in ("SELECT json_group_array(key) FROM meta", "SELECT rowid FROM meta", "SELECT key FROM meta WHERE 1"):
        with pytest.raises(psycopg.Error):
            server.execute(f"PREPARE planned AS {for_postgres(sql)}".encode())


def test_each_line_that_sends_a_statement_is_reached_by_the_contract(recorded: dict[str, Any]) -> None:
    assert [place for place, lines in statement_calls() if lines.isdisjoint(recorded["places"])] == []


def test_each_operation_of_a_repository_is_called_by_the_contract(recorded: dict[str, Any]) -> None:
    assert every_operation() - set(recorded["operations"]) == set()


def test_both_engines_have_the_same_tables_and_columns(server: psycopg.Connection[Any]) -> None:
    there: dict[str, set[str]] = {}
    columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    for table, column in server.execute(columns):
        if table not in OWN_TABLES and column not in OWN_COLUMNS.get(table, ()):
            there.setdefault(table, set()).add(column)
    for statement in schema.schema_statements():
        found = re.match(r"CREATE (?:TABLE|VIEW) (\w+)", statement)
        if not found or OWN.fullmatch(found[1]):
            continue
        if statement.startswith("CREATE TABLE"):
            wanted = set(re.findall(r"^    (\w+) (?:TEXT|INTEGER|REAL|BLOB)", statement, re.MULTILINE))
            wanted |= set(re.findall(r"[(,] ?(\w+) (?:TEXT|INTEGER|REAL|BLOB)", statement.split("\n")[0]))
            assert there.pop(found[1], set()) == wanted | {"person"}, found[1]
        else:
            assert there.pop(found[1]), found[1]
    assert there == {}


def test_nobody_sees_or_writes_rows_of_another_person(server: psycopg.Connection[Any]) -> None:
    server.execute("INSERT INTO meta (key, value) VALUES ('k', 'of seven')")
    with server.transaction():
        server.execute("SET LOCAL friend.person = '-8'")
        assert server.execute("SELECT value FROM meta").fetchall() == []
        assert server.execute("UPDATE meta SET value = 'mine' WHERE person = -7").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege), server.transaction():
            server.execute("INSERT INTO meta (person, key, value) VALUES (-7, 'other', 'mine')")
    assert server.execute("SELECT value FROM meta").fetchall() == [("of seven",)]


@pytest.mark.parametrize(
    ("sql", "other"),
    [
        ("DELETE FROM pin WHERE persona = ? AND text = ?", "DELETE FROM pin WHERE persona = $1 AND text = $2"),
        (f"SELECT seq FROM fact WHERE seq IN {EACH}", "SELECT seq FROM fact WHERE seq = ANY($1)"),
        (f"SELECT seq FROM fact WHERE seq NOT IN {EACH}", "SELECT seq FROM fact WHERE seq <> ALL($1)"),
        ("… ON CONFLICT (key) DO NOTHING", "… ON CONFLICT (person, key) DO NOTHING"),
        ("SELECT CAST(? AS BLOB)", "SELECT CAST($1 AS bytea)"),
    ],
)
def test_a_statement_is_translated(sql: str, other: str) -> None:
    assert for_postgres(sql) == other


@pytest.mark.parametrize(
    ("sql", "limited"),
    [
        ("SELECT 1 FROM pg_class", "SELECT 1 FROM pg_class"),
        ("UPDATE pin SET added = 1 WHERE text = $1 OR text = $2 RETURNING text",
         "UPDATE pin SET added = 1 WHERE pin.person = $9 AND (text = $1 OR text = $2) RETURNING text"),
        ("DELETE FROM pin", "DELETE FROM pin WHERE pin.person = $9"),
        ("WITH gone AS (DELETE FROM pin RETURNING text) SELECT text FROM gone",
         "WITH gone AS (DELETE FROM pin WHERE pin.person = $9 RETURNING text) SELECT text FROM gone"),
        ("UPDATE pin SET added = (SELECT count(*) FROM meta WHERE key = pin.text) WHERE text = $1",
         "UPDATE pin SET added = (SELECT count(*) FROM (SELECT meta.* FROM meta WHERE person = $9) AS meta"
         " WHERE key = pin.text) WHERE pin.person = $9 AND (text = $1)"),
        ("SELECT 1 FROM (meta m JOIN pins p ON p.text = m.key)",
         "SELECT 1 FROM ((SELECT meta.* FROM meta WHERE person = $9) AS m JOIN"
         " (SELECT text FROM (SELECT pin.* FROM pin WHERE person = $9) AS pin) AS p ON p.text = m.key)"),
    ],
)  # fmt: skip
def test_a_statement_is_limited_to_a_person(sql: str, limited: str) -> None:
    assert limit_to_person(sql, "$9", {"pin": "", "meta": "", "pins": "SELECT text FROM pin"}) == limited


def statement_calls() -> Iterator[tuple[str, set[str]]]:
    """Each call in a repository that sends a statement: where it begins, and all its lines."""
    for file in sorted((ROOT / "storage").glob("*.py")):
        if file.name in ("registry.py", "moving.py"):  # a database of its own; every table, by its own test
            continue
        path = str(file.relative_to(ROOT))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of = node.func.value
                name = of.id if isinstance(of, ast.Name) else of.attr if isinstance(of, ast.Attribute) else ""
                if node.func.attr in ("run", "do", "many") and name in ("tx", "_database", "database"):
                    lines = {f"{path}:{line}" for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
                    yield f"{path}:{node.lineno}", lines
