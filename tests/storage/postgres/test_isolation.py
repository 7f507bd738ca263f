"""No one's rows reach another person: each way to them is tried on a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from domain import errors
from storage.engine import read_meta, set_meta
from storage.postgres.database import PostgresDatabase, Server
from storage.postgres.setup import OWNER
from storage.registry import Registry, registry_in
from storage.repositories import OnServer
from tests.contract.stores import QUIET, Store, at, postgres
from tests.storage.postgres.server import shared_connections, shared_server
from tests.support.served import until

SECRET = "Patty is expecting a child in May"


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Store, PostgresDatabase]]:
    """Ann, who said something, and the database of Bob."""
    ann = postgres(tmp_path)
    ann.start("s1", at(0))
    ann.rounds.store("s1", SECRET, "Lovely!", at(0), "stop")
    yield ann, PostgresDatabase(shared_connections(), f"bob {tmp_path}", QUIET)
    ann.close()


def connected(*, as_whom: str = "app:secret", database: str = "friend") -> psycopg.Connection[Any]:
    url = shared_server().replace("app:secret", as_whom).replace("/friend", f"/{database}")
    return psycopg.connect(url, autocommit=True)


def test_a_statement_that_names_no_person_finds_only_ones_own_rows(two: tuple[Store, PostgresDatabase]) -> None:
    ann, bob = two
    for table in ("conversation", "session", "stored_message", "posting", "indexed_words", "message_length", "counter"):
        assert ann.database.run(f"SELECT 1 FROM {table}"), table
        assert bob.run(f"SELECT 1 FROM {table}") == [], table
    with bob.write() as tx:
        for sql in ("UPDATE conversation SET text = 'mine'", "DELETE FROM message_length", "DELETE FROM posting"):
            tx.do(sql)
    assert ann.messages.of_session("s1")[0].words == SECRET
    assert ann.words.postings("message", ("patti",), 100)["patti"].seqs.size


def test_a_condition_that_is_always_true_or_names_another_finds_nothing(two: tuple[Store, PostgresDatabase]) -> None:
    ann, bob = two
    number = str(ann.database._number)  # type: ignore[attr-defined]
    assert bob.run("SELECT text FROM conversation WHERE person = ? OR 1 = 1", number) == []
    with pytest.raises(errors.StorageError, match="row-level security"), bob.write() as tx:
        tx.do("INSERT INTO meta (person, key, value) VALUES (?, 'k', 'v')", number)
    with bob.write() as tx:
        tx.do("INSERT INTO meta (key, value) VALUES ('k', 'v')")
    with pytest.raises(errors.StorageError, match="row-level security"), bob.write() as tx:
        tx.do("UPDATE meta SET person = ?", number)


def test_with_no_person_named_everything_is_refused_aloud() -> None:
    with connected() as connection:
        for sql in (
            "SELECT 1 FROM conversation",
            "DELETE FROM meta",
            "INSERT INTO meta (key, value) VALUES ('a', 'b')",
        ):
            with pytest.raises(psycopg.Error, match=r"friend\.person"):
                connection.execute(sql)
        with connection.transaction():
            connection.execute("SELECT set_config('friend.person', '1', true)")
        with pytest.raises(psycopg.Error, match="invalid input syntax"):  # what is left of it is no number
            connection.execute("SELECT 1 FROM conversation")


def test_a_connection_of_the_pool_brings_nobody_along() -> None:
    server = Server(shared_server())
    served = PostgresDatabase(server, "ann of the pool", QUIET)
    set_meta(served, "k", "v")
    served.run("SELECT 1 FROM meta")
    with pytest.raises(ZeroDivisionError), served.write() as tx:
        tx.do("INSERT INTO meta (key, value) VALUES ('a', 'b')")
        raise ZeroDivisionError
    assert len(server._idle) == 1
    connection = server.take()
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT 1 FROM meta")
    server.give_back(connection)
    server.close()


def test_keys_and_references_are_those_of_one_person(two: tuple[Store, PostgresDatabase]) -> None:
    ann, bob = two
    with connected(as_whom="postgres") as connection:
        keys = connection.execute(
            "SELECT c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid"
            " WHERE c.contype IN ('p', 'u', 'f') AND t.relnamespace = 'public'::regnamespace AND t.relname <> 'person'"
        ).fetchall()
    assert len(keys) > 60
    assert [name for name, script in keys if "(person" not in script.split("REFERENCES")[0]] == []
    assert [name for name, script in keys if "REFERENCES" in script and script.count("(person, ") != 2] == []
    with pytest.raises(errors.StorageError, match="foreign key"), bob.write() as tx:  # Ann's session
        columns = "message, key, value"
        seq = ann.messages.of_session("s1")[0].seq
        tx.do(f"INSERT INTO message_metadata ({columns}) VALUES (?, 'k', 'v')", seq)


def test_views_show_only_what_the_reader_may_see(two: tuple[Store, PostgresDatabase]) -> None:
    ann, bob = two
    assert ann.database.run("SELECT 1 FROM node WHERE rank = 0")
    assert bob.run("SELECT 1 FROM node WHERE rank = 0") == []
    with connected(as_whom="postgres") as connection:
        views = connection.execute(
            "SELECT relname, reloptions FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace"
        ).fetchall()
    assert [name for name, options in views if options != ["security_invoker=true"]] == []


def test_every_table_hides_rows_even_from_its_owner() -> None:
    with connected(as_whom="postgres") as connection:
        tables = connection.execute(
            "SELECT relname, relrowsecurity, relforcerowsecurity, pg_get_userbyid(relowner) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchall()
    assert {name for name, *of in tables if of != [True, True, OWNER]} == {"person"}


def test_the_program_may_change_neither_policies_nor_tables(two: tuple[Store, PostgresDatabase]) -> None:
    for sql in (
        "ALTER TABLE meta DISABLE ROW LEVEL SECURITY", "TRUNCATE conversation", "DROP POLICY own_rows ON meta",
        "CREATE TABLE public.mine (a int)", f"SET ROLE {OWNER}", "ALTER TABLE meta NO FORCE ROW LEVEL SECURITY",
    ):  # fmt: skip
        with connected() as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(sql)
    with connected() as connection, connection.transaction():
        connection.execute("SELECT set_config('friend.person', '1', true)")
        connection.execute("SET LOCAL row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute("SELECT 1 FROM conversation")


@pytest.mark.parametrize(
    ("role", "what"), [("SUPERUSER", "superuser"), ("BYPASSRLS", "bypassrls"), (f"IN ROLE {OWNER}", "owner")]
)
def test_a_role_that_policies_do_not_hold_for_is_refused(role: str, what: str) -> None:
    with connected(as_whom="postgres") as connection:
        connection.execute("DROP ROLE IF EXISTS mighty")
        connection.execute(f"CREATE ROLE mighty LOGIN {role}")
    server = Server(shared_server().replace("app:secret", "mighty"))
    with pytest.raises(errors.StorageError) as refused:
        PostgresDatabase(server, "ann", QUIET)
    assert (refused.value.key, refused.value.details["what"]) == ("database.role", what)


def test_a_person_whose_id_is_made_of_sql_is_a_person_like_any_other(tmp_path: Path) -> None:
    registry = Registry(registry_in(tmp_path), lambda: datetime.now(UTC), shared_server())
    server = shared_connections()
    ids = ["1", "x'; SELECT set_config('friend.person', '1', true); --", '", null]', "me", "ann\\", "\ud800", "*"]
    numbers = set()
    for one in ids:
        for instruction in (None, 2):
            place = registry.place_of(one, instruction)
            assert isinstance(place, OnServer)
            database = PostgresDatabase(server, place.person, QUIET)
            set_meta(database, "whose", json.dumps([one, instruction]))
            numbers.add(database._number)
    assert len(numbers) == 2 * len(ids)
    for one in ids:
        place = registry.place_of(one)
        assert isinstance(place, OnServer)
        assert read_meta(PostgresDatabase(server, place.person, QUIET), "whose") == json.dumps([one, None])
    registry.close()


def test_nobody_can_list_who_has_a_memory(two: tuple[Store, PostgresDatabase]) -> None:
    _, bob = two
    assert len(bob.run("SELECT name FROM person")) == 1


def test_a_person_who_is_removed_leaves_no_row(two: tuple[Store, PostgresDatabase], tmp_path: Path) -> None:
    ann, bob = two
    set_meta(bob, "k", "v")
    number = ann.database._number  # type: ignore[attr-defined]
    shared_connections().remove(str(tmp_path))
    with connected(as_whom="postgres") as connection:
        tables = [
            row[0]
            for row in connection.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            )
        ]
        left = [one for one in tables if connection.execute(f"SELECT 1 FROM {one} WHERE person = {number}").fetchone()]
    assert (left, read_meta(bob, "k")) == ([], "v")
    with pytest.raises(errors.StorageError, match="erased"):
        set_meta(ann.database, "k", "v")


def test_a_person_is_removed_after_a_write_that_began_before(tmp_path: Path) -> None:
    database = PostgresDatabase(shared_connections(), str(tmp_path), QUIET)
    removing = threading.Thread(target=shared_connections().remove, args=[str(tmp_path)])
    with database.write():
        read_meta(database, "a")  # it has begun there
        removing.start()
        with connected(as_whom="postgres") as connection:
            waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ %s"
            until(lambda: bool(connection.execute(waiting, ["(UPDATE|DELETE FROM) person"]).fetchone()))
        set_meta(database, "k", "v")
    removing.join()
    with connected(as_whom="postgres") as connection:
        assert not connection.execute(f"SELECT 1 FROM meta WHERE person = {database._number}").fetchone()
