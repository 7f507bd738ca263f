"""What was erased is found in no table of the person, and after a rewrite in no file of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from language.words import tokens
from storage.engine import set_meta
from storage.erasure import find_traces, forms
from storage.postgres.database import Server
from storage.postgres.setup import OWNER, rewrite
from storage.repositories import OnServer, Repositories
from tests.contract.stores import QUIET, SetStamp, Store, Teller
from tests.contract.test_finding import embed_all
from tests.contract.test_knowing import learned, new_fact
from tests.storage.postgres.server import postgres, prepared

MARKER = "Quintessenz7731"


@pytest.fixture(scope="module")
def administrator() -> Iterator[str]:
    """A server of its own: its files are searched."""
    with postgres() as url:
        yield url


@pytest.fixture
def url(administrator: str, tmp_path: Path) -> str:
    return prepared(administrator, f"of_{abs(hash(str(tmp_path)))}")


@pytest.fixture
def server(url: str) -> Iterator[Server]:
    with closing(Server(url)) as server:
        yield server


def opened(server: Server, folder: Path, name: str = "ann") -> Store:
    stamp = SetStamp()
    of = Repositories(OnServer(folder, server, name), tokens, stamp, QUIET)  # type: ignore[arg-type]
    return Store(of, stamp, folder)


def as_administrator(administrator: str, url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(administrator, dbname=conninfo_to_dict(url)["dbname"], autocommit=True)


def tables_with(connection: psycopg.Connection[Any], word: str) -> list[str]:
    """Every table of any schema that has a word in any column of any row, whoever's."""
    everything = (
        "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace IN"
        " ('public'::regnamespace, 'registry'::regnamespace)"
    )
    found = []
    for (table,) in connection.execute(everything).fetchall():
        with connection.cursor().copy(f"COPY {table} TO STDOUT (FORMAT binary)") as rows:
            content = b"".join(rows)
        if any(one.lower() in content.lower() for one in forms(word).values()):
            found.append(table)
    return found


def plant(store: Store) -> None:
    """The marker in all that a person's words get into."""
    store.start("s1", "2026-03-01T09:00:00+00:00")
    teller = Teller(store)
    teller.say("s1", "It rains today.")
    spoken = teller.say("s1", f"My word is {MARKER} {MARKER}.")
    store.at("2026-03-01T10:30:00+00:00").fact_log.learn(learned([spoken], new_fact(f"{MARKER} Lyon", spoken)))
    store.personas.pin("user", f"Keep {MARKER}.")
    store.rounds.set_summary("s1", f"They said {MARKER}.")
    store.sessions.note_in_flight("s1", f"and {MARKER}")
    embed_all(store)
    store.rounds.keep_step("s1", "summary", json.dumps({"of": MARKER}))


def erase(store: Store) -> Any:
    return store.erasure.erase(store.erasure.scope_of_words(MARKER))


def test_an_erasure_is_proven_by_every_table_of_the_person(
    administrator: str, url: str, server: Server, tmp_path: Path
) -> None:
    with as_administrator(administrator, url) as connection:
        store, other = opened(server, tmp_path), opened(server, tmp_path, "bob")
        plant(store)
        plant(other)
        before = tables_with(connection, MARKER)
        assert {"conversation", "fact", "summary", "pin", "in_flight", "step", "posting", "indexed_words"} <= {*before}
        proof = erase(store)
        ours = connection.execute(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchone()
        assert (proof.traces, (proof.tables,), proof.searched > 4) == ((), ours, True)
        assert tables_with(connection, MARKER) == before  # the other person's
        erase(other)
        assert tables_with(connection, MARKER) == []
        set_meta(store.database, "left", f"said {MARKER}")
        tables, found = store.database.find_traces(forms(MARKER))
        assert (tables, {place for place, _ in found}) == (proof.tables, {"table meta"})
        assert other.database.find_traces(forms(MARKER))[1] == []


def test_the_vector_of_what_was_erased_is_searched_for_too(server: Server, tmp_path: Path) -> None:
    store = opened(server, tmp_path)
    plant(store)
    (vectors,) = (store.embeddings.bytes_of(["u2"]),)
    sought = {str(number): one for number, one in enumerate(vectors)}
    assert ("table embedding", "2") in store.database.find_traces(sought)[1]
    erase(store)
    assert store.database.find_traces(sought)[1] == []


def test_a_person_who_was_removed_is_in_no_table(administrator: str, url: str, server: Server, tmp_path: Path) -> None:
    with as_administrator(administrator, url) as connection:
        plant(opened(server, tmp_path, f"called {MARKER}"))
        assert "person" in tables_with(connection, MARKER)
        server.remove(f"called {MARKER}")
        assert tables_with(connection, MARKER) == []


def test_a_rewrite_leaves_no_byte_of_what_was_erased_in_the_files_of_tables(
    administrator: str, url: str, server: Server, tmp_path: Path
) -> None:
    files = Path(administrator.partition("host=")[2]) / "data"
    with as_administrator(administrator, url) as connection:
        ((own,),) = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchall()
        tables = [files / "base" / str(own), files / "global"]
        store = opened(server, tmp_path)
        plant(store)
        connection.execute("ANALYZE")
        connection.execute("CHECKPOINT")
        assert find_traces(tables, forms(MARKER))
        assert erase(store).traces == ()
        done, left = rewrite(administrator, url)
        assert (done > 40, left) == (True, [])
        assert find_traces(tables, forms(MARKER) | forms(MARKER.lower())) == []
        assert [one.user.words for one in store.messages.rounds("s1")] == ["It rains today."]


def test_a_rewrite_says_what_it_could_not_do(administrator: str, url: str, server: Server, tmp_path: Path) -> None:
    store = opened(server, tmp_path)
    plant(store)
    with as_administrator(administrator, url) as connection, as_administrator(administrator, url) as reader:
        connection.execute("DROP ROLE IF EXISTS keeper")
        connection.execute("CREATE ROLE keeper LOGIN")
        keeper = administrator.replace("postgres@", "keeper@")
        done, left = rewrite(keeper, url)
        assert (done, "conversation: permission denied" in " ".join(left)) == (0, True)
        connection.execute(f"GRANT {OWNER} TO keeper")
        done, left = rewrite(keeper, url)
        assert (done > 40, [one.partition(":")[0] for one in left]) == (True, ["SELECT pg_switch_wal()", "CHECKPOINT"])
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1 FROM meta")
        erase(store)
        left = rewrite(administrator, url)[1]
        assert any(one.startswith("conversation: ") for one in left)
        connection.execute("REVOKE old_friend_owner FROM keeper")
        connection.execute("DROP ROLE keeper")
