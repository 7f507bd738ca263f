"""Who is due: one look at an index finds them, each server other ones, and those of a server that died. And what is
under way on each server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from domain.errors import StorageError
from language.words import tokens
from storage.postgres import database
from storage.postgres.database import TAKE_DUE, ServedUsage, Server
from storage.repositories import OnServer, Repositories
from tests.contract.stores import QUIET, SetStamp
from tests.storage.postgres.server import own_database
from tests.support.served import until

PEOPLE, DUE = 1_000, (7, 500, 993)


def name_of(person: int) -> str:
    return json.dumps([f"person {person}", None])


def memory_of(server: Server, person: int, folder: Path) -> Repositories:
    place = OnServer(folder, server, name_of(person))
    return Repositories(place, tokens, SetStamp(), QUIET, server.programs)  # type: ignore[arg-type]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database of 1,000 people; three have a job to do, all others one for tomorrow."""
    url = own_database(tmp_path)
    server = Server(url)
    for person in range(PEOPLE):
        server.number_of(name_of(person))
    with administrator(url) as connection:
        connection.execute(
            "INSERT INTO job (person, kind, key, generation, not_before) SELECT person, 'chapters', '', 1, 2000"
            " FROM person"
        )
        connection.execute("ANALYZE")
    for person in DUE:
        memory_of(server, person, tmp_path).jobs.request("extract", "s", "last")
    server.close()
    return url


@pytest.fixture
def server(url: str) -> Iterator[Server]:
    server = Server(url)
    yield server
    server.close()


def administrator(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url.replace("app:secret", "postgres"), autocommit=True)


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The places of a plan that read a table."""
    if "Relation Name" in plan and plan["Node Type"] != "ModifyTable":
        yield plan
    for below in plan.get("Plans", ()):
        yield from scans(below)


def test_of_a_thousand_people_only_the_rows_of_three_who_are_due_are_read(url: str, server: Server) -> None:
    server.programs.enter()
    with administrator(url) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan")
        explain = "EXPLAIN (ANALYZE, FORMAT JSON) " + TAKE_DUE
        values = (f"'{server.programs.name}'", "1000", "8")
        for number, value in enumerate(values, start=1):
            explain = explain.replace(f"${number}", value)
        ((found,),) = connection.execute("BEGIN") and connection.execute(explain).fetchall()
        connection.execute("ROLLBACK")
    plan = found[0]["Plan"]
    assert {one["Relation Name"] for one in scans(plan)} == {"due"}
    reads = [(one["Node Type"], one["Index Name"], one["Actual Rows"] * one["Actual Loops"]) for one in scans(plan)]
    assert ("Index Scan", "due_next", 3) in reads
    assert all(kind.startswith("Index") and rows == 3 for kind, _, rows in reads), reads
    assert sorted(server.take_due(1_000, 8)) == sorted(map(name_of, DUE))
    assert server.take_due(1_000, 8) == []


def test_two_servers_take_other_people_and_what_a_dead_one_took_is_free(url: str, server: Server) -> None:
    other = Server(url)
    with psycopg.connect(url, autocommit=False) as busy:  # a third is in the middle of taking one
        (locked,) = busy.execute("SELECT name FROM registry.due WHERE at <= 1000 LIMIT 1 FOR UPDATE").fetchone() or ()
        taken = [*server.take_due(1_000, 1), *other.take_due(1_000, 8)]
        assert sorted([*taken, locked]) == sorted(map(name_of, DUE))
    assert server.take_due(1_000, 8) == [locked]
    server.programs._ended.set()  # it says no more that it lives
    with administrator(url) as connection:
        connection.execute("UPDATE registry.program SET until = now() WHERE name = %s", [server.programs.name])
    other.programs._renew()
    assert {taken[0], locked} <= set(other.take_due(1_000, 8))
    other.close()


def test_a_server_lives_on_while_a_long_write_keeps_what_a_dead_one_took(url: str, server: Server) -> None:
    other = Server(url)
    assert len(other.take_due(1_000, 8)) == 3
    other.programs._ended.set()  # it says no more that it lives
    with administrator(url) as connection, psycopg.connect(url, autocommit=False) as busy:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE \"{name}\" SET lock_timeout = '5s'")  # whoever waits fails, not this test
        busy.execute("SELECT name FROM registry.due WHERE name = %s FOR UPDATE", [name_of(DUE[0])])
        connection.execute("UPDATE registry.program SET until = now() - interval '1 second'")
        server.programs.enter()
        assert server.programs.lives(server.programs.name)
        assert not server.programs.lives(other.programs.name)
        assert server.take_due(1_000, 8) == []
        busy.rollback()
        server.programs._renew()
        assert sorted(server.take_due(1_000, 8)) == sorted(map(name_of, DUE))
    other.close()


def test_a_memory_that_is_released_is_due_when_its_next_job_is_or_when_it_is_to_be_looked_at(
    url: str, server: Server, tmp_path: Path
) -> None:
    def due() -> list[Any]:
        return [tuple(row) for row in server.ask("SELECT at, program FROM registry.due WHERE name = $1", name_of(1))]

    server.programs.enter()
    server.hold(name_of(1), 500)
    assert due() == [(500, server.programs.name)]
    jobs = memory_of(server, 1, tmp_path).jobs
    jobs.request("extract", "s", "last")
    assert due() == [(0.0, server.programs.name)]  # where this process dies now, it is done at once
    job = jobs.find("extract", "s")
    assert job
    jobs.postpone(job, "model.failed", 700)
    server.release(name_of(1), 900)
    assert due() == [(700, None)]
    server.hold(name_of(1), 5_000)
    assert jobs.finish(job)
    server.release(name_of(1), None)
    assert due() == [(2_000, None)]
    server.remove(name_of(1))
    assert due() == []


def test_what_the_last_of_two_servers_knows_of_a_memory_counts_though_the_other_was_to_look_after_it(
    url: str, server: Server
) -> None:
    def due() -> list[Any]:
        return [tuple(row) for row in server.ask("SELECT at, program FROM registry.due WHERE name = $1", name_of(1))]

    other = Server(url)
    for one in (server, other):
        one.programs.enter()
        one.hold(name_of(1), 5_000)
    other.release(name_of(1), None)
    assert due() == [(2_000, None)]
    server.release(name_of(1), 1_500)
    assert due() == [(1_500, None)]
    server.release(name_of(1), 1_700)  # an earlier moment stays
    server.release(name_of(1), None)
    assert due() == [(1_500, None)]
    other.hold(name_of(1), 5_000)
    server.release(name_of(1), 1_000)  # nor is it taken from one that has it open
    assert due() == [(2_000, other.programs.name)]
    other.close()


@contextmanager
def nothing_can_be_counted(url: str) -> Iterator[None]:
    with administrator(url) as connection:
        connection.execute("REVOKE UPDATE, DELETE ON registry.under_way FROM app")
        yield
        connection.execute("GRANT UPDATE, DELETE ON registry.under_way TO app")


def test_a_request_whose_end_could_not_be_written_soon_counts_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = own_database(tmp_path)
    with closing(Server(url)) as server, closing(Server(url)) as other:
        usage, elsewhere = ServedUsage(server), ServedUsage(other)
        for _ in range(2):
            assert usage.begin("person ann", 1)
            assert not usage.begin("person ann", 1)
            with nothing_can_be_counted(url), pytest.raises(StorageError):
                usage.end("person ann")
        assert not elsewhere.begin("person ann", 1)
    monkeypatch.setattr(database, "_RENEW_EVERY", 0.05)
    with closing(Server(url)) as server, closing(Server(url)) as other:
        usage, elsewhere = ServedUsage(server), ServedUsage(other)
        assert usage.begin("person ann", 1)
        with nothing_can_be_counted(url), pytest.raises(StorageError):
            usage.end("person ann")
        until(lambda: elsewhere.begin("person ann", 1))
        assert not usage.begin("person ann", 1)
        elsewhere.end("person ann")
        assert usage.begin("person ann", 1)


def test_a_request_counts_once_though_the_connection_breaks_when_it_has_been_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Server(own_database(tmp_path))) as server:
        usage, send, broken = ServedUsage(server), server.send, list[str]()
        server.programs.enter()

        def send_and_break(connection: psycopg.Connection[Any], statements: Any) -> Any:
            found = send(connection, statements)
            if not broken:
                broken.append(statements[0][0].decode())
                connection.close()
                raise psycopg.OperationalError("the connection is lost")
            return found

        monkeypatch.setattr(server, "send", send_and_break)
        assert [usage.begin("person ann", 2) for _ in range(3)] == [True, True, False]
        assert len(broken) == 1
