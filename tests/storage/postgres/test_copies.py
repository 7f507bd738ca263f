"""The copy of a person's rows in the memory of a process: what another process changes is so in its next recall."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest

from domain import errors
from domain.facts import Change, Slot
from domain.recollection import RecallLimits, RecallRequest, Recollection
from recall.embedding import DIMENSION, HashedEmbedder
from recall.retriever import OwnMemories
from storage.engine import Row
from storage.postgres import copies
from storage.postgres import database as served
from storage.postgres.copies import _TABLES, MOST_CHANGES
from storage.postgres.database import PostgresDatabase, Server
from storage.postgres.vectors import PostgresVectors
from tests.contract.stores import QUIET, Store, Teller, at, postgres
from tests.contract.test_corrected_names import fact_of
from tests.contract.test_knowing import HOME, learn, learned, new_fact
from tests.storage.postgres.server import prepared, running_cluster, shared_server
from tests.storage.postgres.test_database import end_connections, trips
from tests.storage.test_moving import Life
from tests.support.served import until

WEDDING = Slot("katya", "wedding")


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(shared_server())
    yield server
    server.close()


def opened(server: Server, folder: Path) -> PostgresDatabase:
    return PostgresDatabase(server, str(folder), QUIET)


def rows_of(database: PostgresDatabase) -> dict[str, list[str]]:
    """Every row of every table that is copied."""
    return {
        name: sorted(repr(tuple(row)) for row in database.run(f"SELECT {columns} FROM {name}"))
        for name, (columns, _) in _TABLES.items()
    }


def copied_by(database: PostgresDatabase) -> dict[str, list[str]] | None:
    """The same in its copy, brought up to date; None where it has none."""
    with database.reading():
        database.ahead(lambda: database.run("SELECT seq FROM note"))
        return rows_of(database) if database._kept.brought else None


# -- every row as it is -----------------------------------------------------------------------------------------------


class CopiedLife(Life):
    """A life that also has chapters, archived memories and facts that change."""

    def step(self) -> None:
        more: list[Callable[[], object]] = [super().step] * 14 + [
            self.archive, self.restore, self.group, self.decide, self.decide, self.change,
        ]  # fmt: skip
        self.choose.choice(more)()

    def archive(self) -> None:
        self.store.archive.archive(self.store.archive.oldest_visited(2))

    def restore(self) -> None:
        self.store.archive.restore(sorted(self.store.archive.all())[:2])

    def group(self) -> None:
        if len(members := self.store.chapters.ungrouped(1)) > 1:
            self.store.naming(f"chapter {self.choose.random()}").chapters.add(1, members[:2], "A chapter\nIt was so.")

    def decide(self) -> None:
        if facts := self.store.facts.all(current=True):
            one = self.choose.choice(facts).text_id
            self.choose.choice([self.store.fact_log.keep_fact, self.wrong])(one)

    def wrong(self, fact: str) -> None:
        self.store.fact_log.correct_by_hand(fact, None)

    def change(self) -> None:
        current, rounds = self.store.facts.all(current=True), self.store.messages.rounds(self.session)
        if current and rounds:
            self.facts += 1
            name = f"changed {self.facts}"
            change = Change(self.choose.choice(current).text_id, "changes", at(95), name)
            fact = new_fact(name, rounds[-1])
            self.store.at(at(96)).fact_log.learn(learned([rounds[-1]], fact, changes=[change]))


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_done_to_a_memory_the_copy_of_another_process_has_every_row_as_it_is(
    server: Server, tmp_path: Path, seed: int
) -> None:
    with closing(Server(shared_server())) as other:
        store, follower = postgres(tmp_path, other), opened(server, tmp_path)
        life = CopiedLife(store, seed)
        for _ in range(60):
            life.step()
            if life.choose.random() < 0.7:
                assert copied_by(follower) == rows_of(store.database)
        store.close()


def test_a_copy_is_whole_where_messages_or_changes_are_very_many_or_are_not_told_any_more(
    server: Server, tmp_path: Path
) -> None:
    store, follower = postgres(tmp_path), opened(server, tmp_path)
    store.start("s1", at(0))
    assert copied_by(follower) == rows_of(store.database)
    administrator = psycopg.connect(shared_server().replace("app:secret", "postgres"), autocommit=True)
    with closing(administrator):
        administrator.execute(f"SET friend.person = '{follower._number}'")
        administrator.execute(
            "INSERT INTO conversation (seq, text_id, session_id, timestamp, instant, role, text, round, position,"
            " stored_at) SELECT n, 'm' || n, 's1', 'now', 0, 'user', 'Human: ' || n, n, n, 'now'"
            " FROM generate_series(1, 20001) AS n"
        )
        assert copied_by(follower) == rows_of(store.database)
        fill = (
            "INSERT INTO fact (seq, text_id, session_id, timestamp, text) SELECT n, 'f' || n, 's1', 'now', 'fact'"
            " FROM generate_series(%s::int, %s::int) AS n"
        )
        administrator.execute(fill, [1, MOST_CHANGES + 5])
        assert copied_by(follower) == rows_of(store.database)
        administrator.execute("UPDATE fact SET text = 'changed' WHERE seq <= 10")
        administrator.execute(fill, [10_001, 10_000 + MOST_CHANGES])
        administrator.execute("UPDATE fact SET text = 'again' WHERE seq > 10000")
        kept = administrator.execute("SELECT count(*) FROM change WHERE person = own_person()").fetchall()[0][0]
        assert MOST_CHANGES <= kept < 2 * MOST_CHANGES
        assert copied_by(follower) == rows_of(store.database)
    store.close()


def test_a_copy_that_has_no_room_is_not_used_and_one_of_a_person_who_was_removed_holds_nothing(
    server: Server, tmp_path: Path
) -> None:
    store = postgres(tmp_path)
    store.start("s1", at(0))
    small = Server(shared_server())
    small.copies.most = 1_000
    with closing(small):
        database = opened(small, tmp_path)
        assert copied_by(database) is None
        assert database._copy is None
    follower = opened(server, tmp_path)
    assert copied_by(follower) == rows_of(store.database)
    store.close()
    server.remove(str(tmp_path))
    assert copied_by(follower) is None
    assert follower._copy is None
    rows = psycopg.connect(shared_server().replace("app:secret", "postgres"))
    with closing(rows):
        left = rows.execute("SELECT count(*) FROM change WHERE person = %s", [follower._number]).fetchall()
    assert left == [(0,)]


# -- recall -----------------------------------------------------------------------------------------------------------


class Recall:
    """A recall of one process, by words and vectors."""

    def __init__(self, store: Store, server: Server) -> None:
        self.database, embedder = store.database, HashedEmbedder()
        self.vectors = PostgresVectors(self.database, store.folder, in_memory=server.in_memory)
        self.vectors.open(embedder.model, DIMENSION)
        self.own = OwnMemories(store.of, self.vectors, embedder, QUIET, lambda text: [HOME, WEDDING])
        self.last = Recollection()

    def __call__(self, said: str = "Where do I live, in Lyon or in Oslo, and when does Katja marry?") -> None:
        asks = RecallRequest(["I see.", said], "s3", datetime(2026, 4, 1, tzinfo=UTC), RecallLimits(3, 30, 3_000), [])
        with self.database.reading():
            self.database.ahead(*self.own.reads(asks))
            self.last = self.own.find(asks, Recollection())


def embed(store: Store) -> None:
    embedder = HashedEmbedder()
    for message in [*store.messages.of_session("s1"), *store.messages.of_session("s2")]:
        (vector,) = embedder.embed([message.words])
        assert vector is not None
        store.embeddings.store(message.text_id, embedder.model, "d", vector.astype("float16"))


def filled(store: Store) -> Store:
    """A memory of two sessions with facts and a summary, all of it found by the question."""
    store.start("s1", at(0))
    teller = Teller(store)
    lyon = teller.say("s1", "I live in Lyon now, at the river", "Lyon!")
    teller.say("s1", "I may go to Oslo, to the fjord", "Oslo!")
    sister = teller.say("s1", "My sister Katja marries in May", "Katja!")
    for number in range(20):
        teller.say("s1", f"Cat {number} sleeps on the sofa", "Oh!")
    learn(store, lyon, "Lyon")
    wedding = fact_of(
        "wedding", sister, "wedding", "Katja marries in May.", "May", subject="Katja",
        slot=Slot("katja", "wedding"), stance="planned",
    )  # fmt: skip
    sibling = fact_of("sister", sister, "sibling", "Ann's sister is Katja.", "Katja")
    assert store.at(at(90)).fact_log.learn(learned([sister], wedding, sibling))
    store.opening("s2").rounds.save("s1", "They talked of Lyon, of Oslo, of Katja and of cats", {})
    teller.say("s2", "Her name is Katya, not Katja", "Katya!")
    embed(store)
    return store


def say(store: Store) -> None:
    teller = Teller(store)
    teller.told = 60
    teller.say("s2", "Ziggy says that I live in Lyon or in Oslo", "Ziggy!")
    embed(store)


def undo(store: Store) -> None:
    store.rounds.undo("s2", 1)


def change(store: Store) -> None:
    learn(store, store.messages.rounds("s1")[1], "Oslo", changes=[Change("Lyon", "changes", at(91), "Oslo")])


def rename(store: Store) -> None:
    later = store.messages.rounds("s2")[0]
    right = fact_of("right", later, "sibling", "Ann's sister is Katya, not Katja.", "Katya")
    assert store.at(at(92)).fact_log.learn(
        learned([later], right, changes=[Change("sister", "corrects", right.said, "right")])
    )


def correct(store: Store) -> None:
    assert store.fact_log.correct_by_hand("Oslo", None)


def edit(store: Store) -> None:
    with store.database.write() as tx:
        store.messages.set_words(tx, store.messages.rounds("s1")[1].user, "I may go to Oslo, to the museum")


def hide(store: Store) -> None:
    store.rounds.hide([store.messages.rounds("s1")[2].user.text_id])


def erase(store: Store) -> None:
    store.erasure.erase(store.erasure.scope_of_words("Lyon"))


#: What another process does, words that a recall had before, and words that it has afterwards.
DEEDS: Mapping[str, tuple[Callable[[Store], None], str, str]] = {
    "say": (say, "", "Ziggy"),
    "undo": (undo, "Ziggy", ""),
    "change": (change, "", "Ann lives in Oslo."),
    "rename": (rename, "", "Ann's sister is Katya, not Katja."),
    "correct": (correct, "'changed'", "untrue"),
    "edit": (edit, "the fjord", "the museum"),
    "hide": (hide, "My sister Katja", ""),
    "erase": (erase, "Lyon", ""),
}


def what_is_shown(found: Recollection) -> list[object]:
    """The texts with what has become of them; scores also depend on rows of messages that are gone."""
    texts: list[object] = [(one.text_id, one.text, one.annotations) for one in (*found.messages, *found.summaries)]
    return [*texts, *((one.text, one.basis) for one in found.facts)]


def obey(url: str, folder: Path, asked: Connection) -> None:
    """Do in a process of its own what is asked for."""
    with closing(Server(url)) as server:
        store = postgres(folder, server)
        while name := asked.recv():
            DEEDS[name][0](store)
            asked.send(name)


def test_what_another_process_erases_hides_corrects_or_renames_is_so_in_the_next_recall_in_one_trip(
    server: Server, tmp_path: Path
) -> None:
    store = filled(postgres(tmp_path, server))
    recall = Recall(store, server)
    recall()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    other = context.Process(target=obey, args=(shared_server(), tmp_path, theirs))
    other.start()
    try:
        for name, (_, before, after) in DEEDS.items():
            assert before in str(what_is_shown(recall.last)), name
            ours.send(name)
            assert ours.poll(60), name
            ours.recv()
            taken = trips(server, recall, tmp_path / "trace")
            shown = str(what_is_shown(recall.last)).replace("\\'", "'")
            assert taken == 1, name
            assert after in shown, (name, shown)
            assert not before or before not in shown, (name, shown)
            with closing(Server(shared_server())) as fresh:
                fresh.copies.most = 0
                by_server = Recall(postgres(tmp_path, fresh), fresh)
                by_server()
            assert what_is_shown(recall.last) == what_is_shown(by_server.last), name
    finally:
        ours.send("")
        other.join()
    assert other.exitcode == 0
    store.close()


def test_what_was_not_asked_for_in_ten_minutes_leaves_the_memory_of_an_idle_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    with closing(Server(shared_server(), lambda: now[0])) as server:
        store = filled(postgres(tmp_path, server))
        recall = Recall(store, server)
        recall()
        before = what_is_shown(recall.last)
        now[0] += 599
        server.drop_unused()
        assert (len(server.copies._kept), len(server.in_memory._kept)) == (1, 1)
        monkeypatch.setattr(served, "_RENEW_EVERY", 0.01)
        server.programs.enter()
        now[0] += 1
        until(lambda: not server.copies._kept and not server.in_memory._kept)
        assert store.database._copy is None
        assert recall.vectors._rows.numbers == 0
        recall()
        assert what_is_shown(recall.last) == before
        store.close()
        assert not server.copies._kept


def test_those_who_asked_last_are_in_memory_and_all_are_let_go_where_a_connection_broke(tmp_path: Path) -> None:
    with closing(Server(shared_server())) as server:
        databases = [opened(server, tmp_path / str(one)) for one in range(3)]
        assert copied_by(databases[0]) is not None
        assert databases[0]._copy
        server.copies.most = databases[0]._copy.tables.size * 5 // 2
        assert all(copied_by(one) is not None for one in databases[1:])
        assert [one._copy is None for one in databases] == [True, False, False]
        end_connections()
        assert copied_by(databases[2]) is not None
        assert [one._copy is None for one in databases] == [True, True, False]
        with pytest.raises(errors.StorageError), databases[0].write() as tx:
            tx.run("SELECT 1")
            server._close_idle()  # the only connection is in use
            end_connections()
            tx.run("SELECT 2")
        assert [one._copy is None for one in databases] == [True, True, True]


def test_what_is_erased_leaves_the_memory_of_the_process_that_erases_it(server: Server, tmp_path: Path) -> None:
    store = filled(postgres(tmp_path, server))
    assert copied_by(store.database) is not None
    erase(store)
    assert store.database._copy is None
    store.close()


def test_nothing_in_memory_is_of_a_server_whose_place_another_one_took_behind_a_balancer(tmp_path: Path) -> None:
    with running_cluster() as cluster, closing(Server(prepared(cluster.administrator))) as server:
        store = filled(postgres(tmp_path, server))
        recall = Recall(store, server)
        recall()
        before, copy, rows = what_is_shown(recall.last), store.database._copy, recall.vectors._rows
        recall()
        assert store.database._copy is copy
        assert recall.vectors._rows is rows
        server._close_idle()
        cluster.stop()
        cluster.start()
        recall()
        assert store.database._copy is not copy
        assert recall.vectors._rows is not rows
        assert what_is_shown(recall.last) == before
        store.close()


def test_a_recall_under_way_goes_on_where_another_one_brings_everything_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(postgres(tmp_path, server))
    database = store.database
    before = copied_by(database)
    assert database._copy
    read, tables, seen = database._read_together, database._copy.tables, list[int]()
    with database.write() as tx:
        store.messages.note_moves(tx)

    def read_and_look(queries: Sequence[tuple[str, Sequence[object]]]) -> list[list[Row]]:
        seen.append(len(tables.run("SELECT seq FROM conversation", [])))
        return read(queries)

    monkeypatch.setattr(database, "_read_together", read_and_look)
    assert copied_by(database) == before
    assert len(seen) > 1
    assert len(set(seen)) == 1
    assert seen[0]
    store.close()


def test_a_copy_is_made_even_where_all_is_to_be_brought_again_while_it_is_made(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, follower = postgres(tmp_path), opened(server, tmp_path)
    store.start("s1", at(0))
    Teller(store).say("s1", "Hello")
    read, asked = follower._read_together, list[str]()

    def read_and_move(queries: Sequence[tuple[str, Sequence[object]]]) -> list[list[Row]]:
        asked.extend(sql for sql, _ in queries)
        assert len(asked) < 20
        found = read(queries)
        if len(asked) == 1:
            with store.database.write() as tx:
                store.messages.note_moves(tx)
        return found

    monkeypatch.setattr(follower, "_read_together", read_and_move)
    monkeypatch.setattr(copies, "_AT_ONCE", 2)
    assert copied_by(follower) == rows_of(store.database)
    store.close()
