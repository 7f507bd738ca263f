"""The same life on both engines leaves the same rows, and a memory moves between them as it is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from domain import errors
from domain.facts import LineEvidence, PersonaDraft
from domain.records import Message
from language.words import tokens
from storage.engine import set_meta
from storage.moving import move_memory, move_person, rows_of
from storage.postgres.database import Server
from storage.registry import Instruction, Registry, has_memory
from storage.repositories import OnServer, Repositories
from storage.rounds import Rounds
from storage.sqlite.schema import copied_columns
from tests.contract.stores import ENGINES, QUIET, SetStamp, Store, Teller, at, postgres, sqlite
from tests.contract.test_finding import embed_all
from tests.contract.test_knowing import learned, new_fact
from tests.storage.postgres.server import own_database, rows_by_person, shared_connections, shared_server

WORDS = ["amber", "birch", "copper", "dune", "ember", "fjord", "granite", "hazel", "微风", "小猫"]
Rows = dict[str, list[tuple[object, ...]]]


def all_rows(of: Repositories) -> Rows:
    """Every row of every table that is no matter of one engine or one folder, in one order."""
    return {
        table: sorted((tuple(row) for part in rows_of(of.database, table, columns) for row in part), key=repr)
        for table, columns in copied_columns().items()
    }


def postings(of: Repositories) -> dict[str, list[tuple[int, int]]]:
    found = {}
    for table in ("message", "summary", "fact"):
        for term, one in of.index.words.postings(table, [*WORDS, "saw", "lyon", "live", "猫"], 20_000).items():  # type: ignore[arg-type]
            found[f"{table} {term}"] = list(zip(one.seqs.tolist(), one.counts.tolist(), strict=True))
    return found


class Life:
    """What one person does, chosen by a seed, in a memory on some engine."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store, self.choose, self.teller = store, random.Random(seed), Teller(store)
        set_meta(store.database, "salt", "0" * 32)
        store.start("s1", at(0))
        self.session, self.number, self.facts, self.hidden = "s1", 1, 0, list[str]()

    def step(self) -> None:
        steps: list[Callable[[], object]] = [
            self.say, self.say, self.say, self.compact, self.save, self.reset, self.undo, self.hide, self.pin,
            self.learn, self.embed, self.erase, self.alone, self.in_flight,
        ]  # fmt: skip
        self.choose.choice(steps)()

    def messages(self) -> list[Message]:
        return [
            one
            for session in self.store.sessions.recent(None)
            for one in self.store.messages.of_session(session.session_id)
        ]

    def say(self) -> None:
        words = " ".join(self.choose.choices(WORDS, k=3))
        served = [one.text_id for one in self.messages()[-2:]]
        self.teller.say(self.session, f"I saw {words} and {words.split()[0]}", served=served)

    def compact(self) -> None:
        if len(rounds := self.store.messages.context(self.session)) > 2:
            self.store.rounds.compact(self.session, rounds[1].user.round, self.teller.summary(f"of {len(rounds)}"))

    def save(self) -> None:
        if rounds := self.store.messages.rounds(self.session):
            self.number += 1
            before, self.session = self.session, f"s{self.number}"
            line = f"Saw {self.choose.choice(WORDS)}."
            draft = PersonaDraft(line, (LineEvidence(line, (rounds[0].user.text_id,)),))
            self.store.opening(self.session).rounds.save(
                before, self.teller.summary(f"all of {before}"), {"user": draft}
            )

    def reset(self) -> None:
        removed = self.store.rounds.reset(self.session)
        if self.choose.random() < 0.5:
            self.store.rounds.put_back(removed)

    def undo(self) -> None:
        self.store.rounds.undo(self.session, 1)

    def hide(self) -> None:
        if (found := self.messages()) and not self.hidden:
            self.hidden = [self.choose.choice(found).text_id]
            self.store.rounds.hide(self.hidden)
        else:
            self.store.rounds.unhide(self.hidden)
            self.hidden = []

    def pin(self) -> None:
        self.store.personas.pin("user", f"Remember {self.choose.choice(WORDS)}.")

    def learn(self) -> None:
        if rounds := self.store.messages.rounds(self.session):
            spoken = self.choose.choice(rounds)
            self.facts += 1
            fact = new_fact(f"{self.choose.choice(WORDS)} {self.facts}", spoken)
            self.store.at(at(90)).fact_log.learn(learned([spoken], fact))

    def embed(self) -> None:
        embed_all(self.store)

    def erase(self) -> None:
        self.store.erasure.erase(self.store.erasure.scope_of_words(self.choose.choice(WORDS)))

    def alone(self) -> None:
        self.store.rounds.store_alone(
            self.session, f"Alone with {self.choose.choice(WORDS)}.", self.store.stamp.new_id()
        )

    def in_flight(self) -> None:
        self.store.sessions.note_in_flight(self.session, self.choose.choice(WORDS))


@contextmanager
def lived(engine: str, folder: Path, seed: int, steps: int) -> Iterator[Store]:
    folder.mkdir()
    store = ENGINES[engine](folder)
    life = Life(store, seed)
    for _ in range(steps):
        life.step()
    yield store
    store.close()


@pytest.mark.parametrize("seed", range(3))
def test_random_lives_leave_the_same_rows_and_postings_on_both_engines(tmp_path: Path, seed: int) -> None:
    found = []
    for engine in ENGINES:
        with lived(engine, tmp_path / engine, seed, 60) as store:
            rows = all_rows(store.of)
            files = copied_columns()["erasure"].index("files")  # that the proof looked at, and what it found there
            rows["erasure"] = [row[:files] for row in rows["erasure"]]
            found.append((rows, postings(store.of)))
    one, other = found
    assert sum(map(len, one[0].values())) > 50
    for table, rows in one[0].items():
        assert rows == other[0][table], table
    assert one[1] == other[1]


def test_where_no_policy_holds_statements_that_name_the_person_keep_people_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a server with shards: a policy is not what chooses among them."""
    server = Server(shared_server().replace("app:secret", "postgres"))
    with monkeypatch.context() as trusting:
        trusting.setattr("storage.postgres.database._ROLE", "SELECT false")
        server.give_back(server.take())
    server.distributed = rows_by_person()
    for name in ("ann", "bob", "one", "two"):
        (tmp_path / name).mkdir()
    served = [Life(postgres(tmp_path / name, server), seed) for name, seed in (("ann", 11), ("bob", 12))]
    alone = [Life(sqlite(tmp_path / name), seed) for name, seed in (("one", 11), ("two", 12))]
    for _ in range(60):
        for life in (*served, *alone):
            life.step()
    for one, other in zip(served, alone, strict=True):
        found, wanted = (all_rows(life.store.of) | {"erasure": []} for life in (one, other))
        assert (found, postings(one.store.of)) == (wanted, postings(other.store.of))
        one.store.close()
        other.store.close()
    server.close()


def opened(place: Path | OnServer) -> Repositories:
    return Repositories(place, tokens, SetStamp(), QUIET)  # type: ignore[arg-type]


def test_a_memory_moves_into_a_database_and_back_row_by_row(tmp_path: Path) -> None:
    served = OnServer(tmp_path, shared_connections(), f"moved {tmp_path}")
    with lived("sqlite", tmp_path / "first", 7, 80) as store:
        embed_all(store)
        before, words = all_rows(store.of), postings(store.of)
    assert move_memory(tmp_path / "first", served, opened) == sum(map(len, before.values()))
    there = opened(served)
    assert (all_rows(there), postings(there), there.database.problems()) == (before, words, [])
    (vector,) = there.database.run("SELECT vector FROM embedding LIMIT 1")
    assert len(np.frombuffer(vector[0], "<f2"))
    move_memory(served, tmp_path / "back", opened)
    back = opened(tmp_path / "back")
    assert (all_rows(back), postings(back), back.database.problems()) == (before, words, [])
    assert back.database.altered_rows() == []
    back.database.close()
    for target in (served, tmp_path / "back"):
        with pytest.raises(errors.StorageError) as refused:
            move_memory(tmp_path / "first", target, opened)
        assert refused.value.key == "person.exists"


def everything_of(registry: Registry, person: str) -> tuple[Rows, dict[str, tuple[Instruction, Rows]], list[object]]:
    """The rows of a person's own memory, each instruction with the rows of its memory, and what is due."""

    def rows(number: int | None) -> Rows:
        of = opened(made(registry.place_of(person, number)))
        found = all_rows(of)
        of.database.close()
        return found

    instructions = registry.instructions(person)
    titles: dict[int | None, str] = {one.number: one.title for one in instructions}
    due = sorted(titles.get(number, "own") for whose, number in registry.due_companions() if whose == person)
    with_memory = {one.title: (replace(one, number=0, person=""), rows(one.number)) for one in instructions}
    return rows(None), with_memory, [due, person in registry.open_persons()]


def made(place: Path | OnServer) -> Path | OnServer:
    if isinstance(place, Path):
        place.mkdir(parents=True, exist_ok=True)
    return place


def live(place: Path | OnServer, seed: int) -> None:
    """A life in a memory, ended by a save."""
    of = opened(made(place))
    life = Life(Store(of, SetStamp(), Path()), seed)
    for step in (*[life.say] * 3, life.learn, life.embed, life.hide, life.pin, life.say, life.save):
        step()
    of.database.close()


def cut_after(count: int) -> Callable[[Path | OnServer], Repositories]:
    """Opens so many memories, and then no more."""
    left = iter(range(count))

    def opens(place: Path | OnServer) -> Repositories:
        if next(left, None) is None:
            raise errors.StorageError("cut")
        return opened(place)

    return opens


def test_a_person_moves_with_the_memories_of_system_instructions_and_back_row_by_row(tmp_path: Path) -> None:
    clock = SetStamp().clock
    with (
        closing(Registry(tmp_path / "served" / "registry.db", clock, shared_server())) as served,
        closing(Registry(tmp_path / "first" / "registry.db", clock)) as first,
    ):
        served.add_instruction("someone else", "Poet", "Answer in verse.")
        for seed, title in enumerate(("Poet", "老师", "Unused")):
            number = first.add_instruction("me", title, f"Be a {title}.").number
            if title != "Unused":
                live(first.place_of("me", number), seed)
        live(first.place_of("me"), 7)
        before = everything_of(first, "me")
        assert [len(rows["undoable_save"]) for rows in (before[0], before[1]["Poet"][1])] == [1, 1]
        ann = f"ann {tmp_path}"
        with pytest.raises(errors.StorageError) as cut:
            move_person(served, ann, tmp_path / "first", cut_after(3), outwards=False)
        assert cut.value.key == "cut"
        assert not has_memory(served.place_of(ann))
        move_person(served, ann, tmp_path / "first", opened, outwards=False)
        assert everything_of(served, ann)[:2] == before[:2]
        counted = [before[0], *(rows for _, rows in before[1].values())]
        total = sum(len(rows) for of in counted for rows in of.values())
        assert move_person(served, ann, tmp_path / "back", opened, outwards=True) == total
        with closing(Registry(tmp_path / "back" / "registry.db", clock)) as back:
            assert everything_of(back, "me") == (*before[:2], [["Poet", "own", "老师"], True])
        for outwards, folder in ((True, "back"), (False, "first")):
            with pytest.raises(errors.StorageError) as refused:
                move_person(served, ann, tmp_path / folder, opened, outwards=outwards)
            assert refused.value.key == "person.exists"
        for outwards in (True, False):
            with pytest.raises(errors.StorageError) as refused:
                move_person(served, f"no one {tmp_path}", tmp_path / "nowhere", opened, outwards=outwards)
            assert refused.value.key == "person.nothing"
        assert everything_of(served, ann) == before


def greet_as_friend_and_as_poet(registry: Registry) -> None:
    """Store a round in two memories of one person."""
    number = registry.add_instruction("me", "Poet", "Answer in verse.").number
    for place in (registry.place_of("me"), registry.place_of("me", number)):
        of = opened(made(place))
        Rounds(of).store(of.sessions.start().session_id, "Hello.", "Hello!", at(0), "stop")
        of.database.close()


def test_every_memory_that_moved_into_a_database_is_looked_at_by_a_server(tmp_path: Path) -> None:
    clock, ann = SetStamp().clock, f"looked at {tmp_path}"
    with (
        closing(Registry(tmp_path / "served" / "registry.db", clock, own_database(tmp_path))) as served,
        closing(Registry(tmp_path / "first" / "registry.db", clock)) as first,
    ):
        greet_as_friend_and_as_poet(first)
        move_person(served, ann, tmp_path / "first", opened, outwards=False)
        (poet,) = served.instructions(ann)
        assert sorted(served.take_due(8), key=str) == sorted([(ann, None), (ann, poet.number)], key=str)
        assert served.take_due(8) == []
        assert served.has_person(ann)


def test_a_move_that_is_killed_right_after_a_commit_leaves_what_it_moved_to_be_looked_at(tmp_path: Path) -> None:
    clock, ann = SetStamp().clock, f"killed {tmp_path}"

    def opens(place: Path | OnServer) -> Repositories:
        of = opened(place)
        if isinstance(place, OnServer) and len(of.database.run("SELECT 1 FROM session")) == 0:
            of.database.close = stop  # type: ignore[method-assign]
        return of

    def stop() -> None:
        raise KeyboardInterrupt

    with (
        closing(Registry(tmp_path / "served" / "registry.db", clock, own_database(tmp_path))) as served,
        closing(Registry(tmp_path / "first" / "registry.db", clock)) as first,
    ):
        greet_as_friend_and_as_poet(first)
        for moved in (1, 2):
            with pytest.raises(KeyboardInterrupt):
                move_person(served, ann, tmp_path / "first", opens, outwards=False)
            (poet,) = served.instructions(ann)
            assert served.take_due(8) == [(ann, poet.number if moved == 1 else None)]
            assert served.has_person(ann)


@pytest.mark.parametrize("cut", [None, 3, 5])
def test_two_instructions_that_say_the_same_keep_both_of_their_memories(tmp_path: Path, cut: int | None) -> None:
    clock, ann = SetStamp().clock, f"twice {tmp_path}"
    with (
        closing(Registry(tmp_path / "served" / "registry.db", clock, shared_server())) as served,
        closing(Registry(tmp_path / "first" / "registry.db", clock)) as first,
    ):
        one = first.add_instruction("me", "Poet", "Answer in verse.")
        same = first.bring_instruction("me", one, [one.number])
        for seed, number in enumerate((one.number, same, None)):
            live(first.place_of("me", number), seed)
        if cut:
            with pytest.raises(errors.StorageError):
                move_person(served, ann, tmp_path / "first", cut_after(cut), outwards=False)
        move_person(served, ann, tmp_path / "first", opened, outwards=False)

        def memories(registry: Registry, person: str) -> list[Rows]:
            places = [registry.place_of(person, each.number) for each in registry.instructions(person)]
            return [all_rows(opened(place)) for place in places]

        assert memories(served, ann) == memories(first, "me")


def test_a_memory_moves_into_none_that_holds_only_an_open_session(tmp_path: Path) -> None:
    served = OnServer(tmp_path, shared_connections(), f"talking {tmp_path}")
    with lived("sqlite", tmp_path / "first", 7, 80):
        pass
    there = opened(served)
    Rounds(there).store(there.sessions.start().session_id, "Hello.", "Hello!", at(0), "stop")
    before = all_rows(there)
    with pytest.raises(errors.StorageError) as refused:
        move_memory(tmp_path / "first", served, opened)
    assert refused.value.key == "person.exists"
    assert all_rows(opened(served)) == before
