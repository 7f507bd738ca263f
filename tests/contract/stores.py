"""The engines that must keep the contract, and what its tests speak through; another is one more in ``ENGINES``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pytest

from domain.records import Finish, Origin, Persona, PersonaVersion, Round, Session
from language.words import tokens
from storage.clients import Clients
from storage.engine import Commit
from storage.erasure import Eraser
from storage.imports import Imports
from storage.messages import NewMessage, NewSummary
from storage.postgres.database import Server
from storage.repositories import OnServer, Repositories
from storage.rounds import Rounds
from tests.storage.postgres.server import shared_connections

QUIET = logging.Logger("quiet", logging.CRITICAL)


def at(minute: int, year: int = 2026) -> str:
    """A time."""
    return f"{year}-03-01T{9 + minute // 60:02d}:{minute % 60:02d}:00+00:00"


@dataclass
class SetStamp:
    """A clock that is set, and ids that count; the next session, text or persona may be given its name."""

    moment: datetime = field(default_factory=lambda: datetime(2026, 3, 1, 9, tzinfo=UTC))
    count: int = 0
    names: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)

    def clock(self) -> datetime:
        return self.moment

    def now(self) -> str:
        return self.moment.isoformat(timespec="seconds")

    def today(self) -> str:
        return self.moment.date().isoformat()

    def new_id(self) -> str:
        self.count += 1
        return self.names.pop(0) if self.names else f"id-{self.count}"

    def new_session_id(self) -> str:
        return self.sessions.pop(0) if self.sessions else f"session-{self.new_id()}"


@dataclass
class Store:
    """One memory without its index of vectors: its repositories at a set time, and what its commits removed."""

    of: Repositories
    stamp: SetStamp
    folder: Path
    rebuilt: int = 0
    gone: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        of = self.of
        self.database, self.sessions, self.messages, self.summaries = (
            of.database,
            of.sessions,
            of.messages,
            of.summaries,
        )
        self.facts, self.chapters, self.archive, self.personas = (of.facts, of.chapters, of.archive, of.personas)
        self.notes, self.relations, self.windows, self.fact_log = of.notes, of.relations, of.windows, of.fact_log
        self.jobs, self.units = of.jobs, of.units
        self.rebuilds, self.saves, self.steps, self.words = of.rebuilds, of.saves, of.steps, of.index.words
        self.embeddings, self.versions = of.index.embeddings, of.personas.versions
        self.rounds = Rounds(of)
        self.imports = Imports(of, self.rounds)
        self.clients = Clients(of)
        self.erasure = Eraser(of, self.rounds, [self.folder], self._rebuild)
        of.database.on_commit(self._follow)

    def at(self, moment: str) -> Self:
        """The same at this time."""
        self.stamp.moment = datetime.fromisoformat(moment)
        return self

    def opening(self, session_id: str) -> Self:
        """The same, where the next session gets this name."""
        self.stamp.sessions.append(session_id)
        return self

    def naming(self, *text_ids: str) -> Self:
        """The same, where the next texts get these names."""
        self.stamp.names += text_ids
        return self

    def removed(self) -> list[str]:
        """What commits removed from every index since this was last asked."""
        gone, self.gone = self.gone, []
        return gone

    def start(
        self,
        session_id: str,
        now: str,
        began: str | None = None,
        *,
        before: str | None = None,
        client: str = "",
        key: str | None = None,
    ) -> Session:
        """A new active session of this name."""
        with self.at(now).database.write() as tx:
            return self.sessions.add(tx, session_id, now, began, before=before, client=client, client_key=key)

    def add_version(
        self,
        persona: Persona,
        text: str,
        origin: Origin,
        now: str,
        session_id: str | None = None,
        *,
        laid: bool = False,
    ) -> PersonaVersion:
        """A version of a persona; ``laid``: its file says so already."""
        if laid:
            path = self.personas.path(persona)
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{text}\n", encoding="utf-8")
        with self.database.write() as tx:
            version = self.versions.add(tx, persona, text, origin, now, session_id)
            if laid:
                self.versions.set_laid(persona, version.version)
        return version

    def pin(self, persona: Persona, now: str, text: str, *, added: bool = False) -> None:
        """A pinned line."""
        with self.database.write() as tx:
            self.versions.add_pin(tx, persona, now, text, added=added)

    def unpin(self, persona: Persona, text: str) -> bool:
        """No pinned line any more; whether the pin brought it."""
        with self.database.write() as tx:
            return self.versions.remove_pin(tx, persona, text)

    def replace_summary(self, session_id: str, text: str, upto: int) -> None:
        """A summary in place of another, made from the rounds so far."""
        with self.database.write() as tx:
            new = NewSummary(self.stamp.new_id(), self.stamp.now(), text)
            self.summaries.replace(tx, session_id, new, upto)

    def learn_key(self, session_id: str, text: str, messages: Sequence[int]) -> None:
        """A fact of which only the words that it is found by are there; ``messages`` are the numbers of its
        messages.
        """
        with self.database.write() as tx:
            number = tx.next("fact")
            sql = "INSERT INTO fact (seq, text_id, session_id, timestamp, text) VALUES (?, ?, ?, ?, ?)"
            tx.do(sql, number, self.stamp.new_id(), session_id, self.stamp.now(), text)
            tx.many("INSERT INTO fact_message (fact, message) VALUES (?, ?)", [(number, one) for one in messages])
            self.of.index.set_facts(tx, [(number, text)], new=True)

    def close(self) -> None:
        self.of.database.close()

    def _rebuild(self) -> None:
        self.rebuilt += 1

    def _follow(self, done: Commit) -> None:
        self.gone += done.removed


Opens = Callable[[Path], Store]


def sqlite(folder: Path) -> Store:
    """A memory in a SQLite file of its own."""
    stamp = SetStamp()
    return Store(Repositories(folder, tokens, stamp, QUIET), stamp, folder)  # type: ignore[arg-type]


def postgres(folder: Path, server: Server | None = None) -> Store:
    """A memory among others on the PostgreSQL server of this run; the person is named by the folder."""
    stamp = SetStamp()
    place = OnServer(folder, server or shared_connections(), str(folder))
    return Store(Repositories(place, tokens, stamp, QUIET), stamp, folder)  # type: ignore[arg-type]


ENGINES: dict[str, Opens] = {"sqlite": sqlite, "postgres": postgres}
#: How many random lives are tried on each: those of the second are there to differ from those of the first.
LIVES = {"sqlite": 15, "postgres": 5}
#: For a test of personas that are files.
with_files = pytest.mark.parametrize("reopen", ["sqlite"], indirect=True)


class Teller:
    """Says things in a memory, with ids and times that count."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.told = 0

    def say(
        self, session_id: str, words: str, reply: str = "", *, served: Sequence[str] = (), **options: Round
    ) -> Round:
        """One round; the reply repeats the words unless it is given."""
        self.told += 1
        messages = (
            NewMessage(f"u{self.told}", at(self.told), "user", words),
            NewMessage(f"a{self.told}", at(self.told), "assistant", reply or f"You say {words}"),
        )
        finish: Finish = "stop"
        return self.store.at(at(self.told)).rounds.add(session_id, messages, finish, served=served, **options)

    def summary(self, text: str) -> str:
        """A summary that is stored next, at its time and under its name."""
        self.told += 1
        self.store.at(at(self.told)).stamp.names[:] = [f"m{self.told}"]
        return text


def said(store: Store, session_id: str) -> list[str]:
    """What the user said in a session, in order."""
    return [spoken.user.words for spoken in store.messages.rounds(session_id)]


def holding(store: Store, word: str) -> list[str]:
    """The ids of the messages that a word finds."""
    seqs = store.words.postings("message", (word,), 1_000)[word].seqs.tolist()
    return [message.text_id for message in store.messages.by_number(seqs)]
