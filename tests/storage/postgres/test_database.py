"""The engine itself: what is committed, what is taken back, and what becomes of connections that break."""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import pq

from domain import errors
from domain.recollection import RecallLimits, RecallRequest, Recollection
from recall.embedding import DIMENSION, HashedEmbedder
from recall.retriever import OwnMemories
from storage.engine import read_meta, set_meta
from storage.postgres.database import PostgresDatabase, Server
from storage.postgres.setup import initialise
from storage.postgres.trips import Trips
from storage.postgres.vectors import PostgresVectors
from tests.contract.stores import QUIET, Store, Teller, at, postgres, sqlite
from tests.contract.test_knowing import HOME, learn
from tests.recall.test_retriever import Vectors
from tests.storage.postgres.server import remove_stale, shared_server


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(shared_server())
    yield server
    server.close()


@pytest.fixture
def database(server: Server, tmp_path: Path) -> PostgresDatabase:
    return PostgresDatabase(server, str(tmp_path), QUIET)


def administrator() -> psycopg.Connection[Any]:
    return psycopg.connect(shared_server().replace("app:secret", "postgres"), autocommit=True)


def end_connections(waiting_for: str = "%") -> None:
    with administrator() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app' AND query LIKE %s",
            [waiting_for],
        )


def test_an_exception_takes_all_of_a_write_back(database: PostgresDatabase) -> None:
    with pytest.raises(KeyError), database.write() as tx:
        tx.do("INSERT INTO meta (key, value) VALUES ('a', 'b')")
        raise KeyError
    assert read_meta(database, "a") is None


def test_a_statement_that_failed_unseen_takes_the_write_back(database: PostgresDatabase) -> None:
    with pytest.raises(errors.StorageError), database.write() as tx:
        tx.do("INSERT INTO meta (key, value) VALUES ('a', 'b')")
        tx.do("INSERT INTO meta (key, value) VALUES ('a', 'again')")
    assert read_meta(database, "a") is None
    with pytest.raises(errors.StorageError), database.write() as tx:
        tx.do("INSERT INTO meta (key, value) VALUES ('a', 'b')")
        try:
            tx.run("SELECT 1 / 0")
        except errors.StorageError:
            tx.do("INSERT INTO meta (key, value) VALUES ('c', 'd')")
    assert (read_meta(database, "a"), read_meta(database, "c")) == (None, None)


def test_a_read_goes_on_over_a_connection_that_was_cut(database: PostgresDatabase) -> None:
    set_meta(database, "a", "b")
    end_connections()
    assert read_meta(database, "a") == "b"
    end_connections()
    set_meta(database, "a", "c")
    assert read_meta(database, "a") == "c"


def test_a_statement_that_is_prepared_no_more_is_prepared_again(database: PostgresDatabase) -> None:
    set_meta(database, "a", "b")
    assert [read_meta(database, "a") for _ in range(3)] == ["b"] * 3
    for connection in database._server._idle:
        assert connection.execute("SELECT name FROM pg_prepared_statements").fetchall()
        connection.execute("DEALLOCATE ALL")
    with suppress(errors.StorageError):
        read_meta(database, "a")
    assert read_meta(database, "a") == "b"


def test_what_is_no_answer_ends_the_connection() -> None:
    def said(kind: bytes, what: bytes) -> bytes:
        return kind + (len(what) + 4).to_bytes(4, "big") + what

    def answer() -> None:
        client, _ = listening.accept()
        with client:
            client.recv(4_096)
            settings = said(b"S", b"server_version\x0018.0\0") + said(b"S", b"client_encoding\0UTF8\0")
            client.sendall(said(b"R", bytes(4)) + settings + said(b"Z", b"I"))
            client.recv(4_096)
            client.sendall(b"\0\0\0\0\3" + b"z" * 20)
            client.recv(4_096)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threading.Thread(target=answer, daemon=True)
        answering.start()
        address = f"postgresql://app@127.0.0.1:{listening.getsockname()[1]}/friend?sslmode=disable&gssencmode=disable"
        with closing(psycopg.connect(address, autocommit=True)) as connection:
            with pytest.raises(psycopg.OperationalError):
                Trips().send(connection, [(b"SELECT 1", ())])
            assert connection.closed
        answering.join()


def test_a_write_that_was_cut_off_is_reported_and_not_there(database: PostgresDatabase) -> None:
    with pytest.raises(errors.StorageError), database.write() as tx:
        tx.run("INSERT INTO meta (key, value) VALUES ('a', 'b') RETURNING key")
        end_connections()
        tx.run("SELECT 1")
    assert read_meta(database, "a") is None
    set_meta(database, "a", "c")
    assert read_meta(database, "a") == "c"


def test_where_the_answer_to_a_commit_is_lost_the_server_is_asked(database: PostgresDatabase) -> None:
    for committed in (True, False):
        key = str(committed)
        try:
            with database.write() as tx:
                assert database._writing
                tx.run("INSERT INTO meta (key, value) VALUES (?, 'b') RETURNING key", key)
                if committed:
                    assert database._writing.connection
                    database._writing.connection.execute("COMMIT")
                end_connections()
        except errors.StorageError:
            assert not committed
        assert read_meta(database, key) == ("b" if committed else None)


def count_up(url: str, person: str, times: int) -> None:
    database = PostgresDatabase(Server(url), person, QUIET)
    for _ in range(times):
        with database.write() as tx:
            value = int(read_meta(database, "count") or 0)
            set_meta(database, "count", str(value + 1))
            tx.next("rows")


def test_processes_that_write_for_one_person_come_one_after_another(database: PostgresDatabase, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=count_up, args=(shared_server(), str(tmp_path), 20)) for _ in range(3)]
    for one in others:
        one.start()
    for one in others:
        one.join()
    assert [one.exitcode for one in others] == [0, 0, 0]
    assert read_meta(database, "count") == "60"
    with database.write() as tx:
        assert tx.next("rows") == 61


def test_a_thread_reads_what_is_committed_while_another_writes(database: PostgresDatabase) -> None:
    set_meta(database, "a", "before")
    seen: list[str | None] = []
    with database.write():
        set_meta(database, "a", "after")
        reader = threading.Thread(target=lambda: seen.append(read_meta(database, "a")))
        reader.start()
        reader.join()
        assert read_meta(database, "a") == "after"
    assert seen == ["before"]
    assert read_meta(database, "a") == "after"


def test_numbers_flags_and_vectors_come_back_as_they_were_given(database: PostgresDatabase) -> None:
    ((whole, half, flag, text, nothing),) = database.run(
        "SELECT CAST(? AS bigint), CAST(? AS double precision), CAST(? AS bigint), CAST(? AS text), CAST(? AS text)",
        2**40, 0.5, True, "é 中", None,
    )  # fmt: skip
    assert (whole, half, flag, text, nothing) == (2**40, 0.5, 1, "é 中", None)
    ((total, mean),) = database.run("SELECT sum(n), avg(n) FROM (VALUES (1), (2)) AS t (n)")
    assert (type(total), mean) == (int, 1.5)
    import numpy as np

    for dimension in (3, 1024, 4096):
        vector = np.arange(dimension, dtype=np.float32).astype("<f2")
        with database.write() as tx:
            columns = "number, text_id, model, dimension, digest, vector"
            tx.do(
                f"INSERT INTO embedding ({columns}) VALUES (?, ?, 'm', ?, 'd', ?)",
                dimension, f"t{dimension}", dimension, vector.data,
            )  # fmt: skip
        rows = database.run("SELECT vector FROM embedding WHERE text_id = ?", f"t{dimension}")
        assert rows[0]["vector"] == vector.tobytes()


def test_rows_that_are_inserted_together_come_back_as_they_were_given(database: PostgresDatabase) -> None:
    texts = ["é 中 \U0001f431", '\\x00 "quoted" \n\t', "a 'b' ? $1 %s {}", ""]
    insert = "INSERT INTO indexed_words (shelf, seq, terms) VALUES (?, ?, ?)"
    upsert = "INSERT INTO visit (text_id, visit_count) VALUES (?, ?) ON CONFLICT (text_id)"
    with database.write() as tx:
        tx.many(insert, [(text, number, texts) for number, text in enumerate(texts)])
        tx.many(
            "INSERT INTO posting (shelf, term, block, n, data) VALUES (?, ?, ?, ?, ?)", [("s", "t", 0, 1, b"\0\xff'")]
        )
        tx.many(
            "INSERT INTO archived_memory (text_id, stored_at, instant) VALUES (?, ?, ?)",
            [("a", "", 0.1), ("b", "", 1e300)],
        )
        tx.many(f"{upsert} DO UPDATE SET visit_count = visit.visit_count + 1", [("a", 1), ("b", True), ("a", 1)])
        tx.many(f"{upsert} DO NOTHING", [("b", 9), ("c", 3)])
    rows = database.run("SELECT shelf, terms FROM indexed_words ORDER BY seq")
    assert [tuple(row) for row in rows] == [(text, texts) for text in texts]
    assert [tuple(row) for row in database.run("SELECT n, data FROM posting")] == [(1, b"\0\xff'")]
    found = database.run("SELECT instant FROM archived_memory ORDER BY text_id")
    assert [row[0] for row in found] == [0.1, 1e300]
    visits = database.run("SELECT text_id, visit_count FROM visit ORDER BY text_id")
    assert [tuple(row) for row in visits] == [("a", 2), ("b", 1), ("c", 3)]


def test_a_full_database_a_closed_one_and_one_that_is_not_prepared_are_named(server: Server, tmp_path: Path) -> None:
    database = PostgresDatabase(server, str(tmp_path), QUIET)
    database.close()
    with pytest.raises(errors.StorageError):
        read_meta(database, "a")
    empty = Server(shared_server().replace("/friend", "/postgres"))
    with pytest.raises(errors.StorageError) as refused:
        empty.number_of("ann")
    assert (refused.value.key, "secret@" in str(refused.value)) == ("database.empty", False)
    with pytest.raises(errors.StorageError):
        Server("postgresql://app@127.0.0.1:1/friend").number_of("ann")


def test_a_database_may_be_prepared_again_and_keeps_what_it_holds(database: PostgresDatabase) -> None:
    set_meta(database, "a", "b")
    url = shared_server()
    initialise(url.replace("app:secret", "postgres").replace("/friend", "/postgres"), url)
    assert read_meta(database, "a") == "b"


def trips(server: Server, act: Callable[[], object], file: Path) -> int:
    """How often the connections of a server waited for an answer meanwhile."""
    connections = [server.take() for _ in range(2)]
    with file.open("w+") as traced:
        for connection in connections:
            connection.pgconn.trace(traced.fileno())
            connection.pgconn.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
            server.give_back(connection)
        act()
        for connection in connections:
            connection.pgconn.untrace()
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    asks = [line.startswith("F\t") and line.split("\t")[2] in ("Sync", "Flush") for line in lines]
    return sum(now and not before for before, now in pairwise([False, *asks]))


def test_a_round_takes_two_trips_to_the_server(server: Server, tmp_path: Path) -> None:
    store = postgres(tmp_path, server)
    store.start("s1", at(0))
    teller = Teller(store)
    teller.say("s1", "Hello there")
    assert trips(server, lambda: teller.say("s1", "Hello again"), tmp_path / "trace") == 2
    assert [one.words for one in store.messages.of_session("s1")][2] == "Hello again"
    assert store.messages.highest_number() == 4
    assert len(store.database.run("SELECT digest FROM stored_message")) == 8


@pytest.mark.parametrize("rounds", [3, 40])
def test_what_changes_a_session_takes_as_many_trips_however_long_it_and_its_messages_are(
    server: Server, tmp_path: Path, rounds: int
) -> None:
    store = postgres(tmp_path, server)
    store.start("s1", at(0))
    teller = Teller(store)
    for number in range(rounds):
        teller.say("s1", f"Cat {number} sleeps on " + " ".join(f"sofa{number}x{one}" for one in range(rounds)))
    trace = tmp_path / "trace"
    taken = {
        "compact": trips(server, lambda: store.rounds.compact("s1", 1, teller.summary("Cats sleep")), trace),
        "undo": trips(server, lambda: store.rounds.undo("s1", 1), trace),
        "save": trips(server, lambda: store.opening("s2").rounds.save("s1", "Cats sleep", {}), trace),
    }
    assert taken == {"compact": 4, "undo": 13, "save": 13}


@pytest.mark.parametrize("facts", [False, True])
def test_a_recall_takes_one_trip_the_first_one_two_and_finds_what_it_finds_in_a_file(
    server: Server, tmp_path: Path, facts: bool
) -> None:
    found, taken = list[Recollection](), list[int]()
    for opens in (sqlite, lambda folder: postgres(folder, server)):
        store = opens(tmp_path)
        store.start("s1", at(0))
        teller = Teller(store)
        lyon, oslo = (teller.say("s1", f"I live in {home} now, at the river") for home in ("Lyon", "Oslo"))
        for number in range(20):
            teller.say("s1", f"Cat {number} sleeps on the sofa", "Oh!")
        for spoken, home in ((lyon, "Lyon"), (oslo, "Oslo")) if facts else ():
            learn(store, spoken, home)
        store.opening("s2").rounds.save("s1", "They talked of Lyon, of Oslo and of cats", {})
        embedder, vectors = HashedEmbedder(), Vectors()
        served = PostgresVectors(store.database, tmp_path, in_memory=server.in_memory)
        served.open(embedder.model, DIMENSION)
        for message in store.messages.of_session("s1"):
            (vector,) = embedder.embed([message.words])
            assert vector is not None
            vectors.rows.append((message.text_id, "s1", "conversation", vector))
            store.embeddings.store(message.text_id, embedder.model, "d", vector.astype("float16"))
        own = OwnMemories(store.of, served if found else vectors, embedder, QUIET, lambda text: [HOME])

        def recall(store: Store = store, own: OwnMemories = own) -> None:
            asked = ["I see.", "Where do I live, in Lyon or in Oslo?"]
            asks = RecallRequest(asked, "s2", datetime(2026, 4, 1, tzinfo=UTC), RecallLimits(3, 30, 3_000), [])
            with store.database.reading():
                store.database.ahead(*own.reads(asks))
                found.append(own.find(asks, Recollection()))

        taken.append(trips(server, recall, tmp_path / "trace"))
    taken.append(trips(server, recall, tmp_path / "trace"))
    assert taken == [0, 2, 1]
    in_file, first, again = ([(one.text_id, one.annotations) for one in each.messages] for each in found)
    assert in_file == first == again
    assert [one.facts for one in found] == [found[0].facts] * 3
    assert len(in_file) > 1
    assert any(marks for _, marks in in_file) is facts


def test_a_server_of_a_run_that_was_killed_is_removed_once_it_is_old(tmp_path: Path) -> None:
    for name, part, age in (("pg-old", "data", 14_400), ("pg-new", "data", 60), ("pg-other", "letters", 14_400)):
        (tmp_path / name / part).mkdir(parents=True)
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    remove_stale(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"pg-new", "pg-other"}
