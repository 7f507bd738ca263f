"""The repositories of one memory over one database, composed: each has its own tables and builds on those before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from domain import errors
from domain.file_reader import DATABASE
from storage.chapters import Chapters
from storage.embeddings import Embeddings, TextIndex
from storage.engine import Database, Stamp, WordIndex, read_meta, set_meta
from storage.erased import ErasedTexts
from storage.fact_log import FactLog, Windows
from storage.facts import Facts, Notes, Relations
from storage.jobs import Claims, ErasureEpoch, Jobs, Rebuilds, Steps
from storage.matters import Matters
from storage.messages import Archive, Messages, Sessions, Summaries, UndoableSaves
from storage.personas import Personas
from storage.programs import Programs
from storage.sqlite.copies import UNINDEXED
from storage.sqlite.database import SqliteDatabase
from storage.sqlite.words import SqliteWords
from storage.units import Units

if TYPE_CHECKING:
    from storage.postgres.database import ServedPrograms, ServedRegistry, ServedUsage, Server
    from storage.postgres.vectors import PostgresVectors
    from storage.vectors.table import Vectors

#: So many messages are read at once to make their words.
_INDEXED_AT_ONCE = 2_000


@dataclass(frozen=True)
class OnServer:
    """A memory in a database of many; ``folder`` is for what no database holds.

    ``alone``: no other memory uses these connections, so they are closed with it.
    """

    folder: Path
    server: Server
    person: str
    alone: bool = False


@dataclass(frozen=True)
class Repositories:
    """Everything that is stored of one memory, by subject."""

    database: Database
    stamp: Stamp
    index: TextIndex
    sessions: Sessions
    messages: Messages
    summaries: Summaries
    facts: Facts
    notes: Notes
    relations: Relations
    matters: Matters
    windows: Windows
    fact_log: FactLog
    chapters: Chapters
    archive: Archive
    personas: Personas
    steps: Steps
    claims: Claims
    jobs: Jobs
    rebuilds: Rebuilds
    saves: UndoableSaves
    erased: ErasedTexts
    epoch: ErasureEpoch
    units: Units


def connect(url: str) -> Server:
    """The connections of this process to a database of many memories; nothing is connected yet.

    Raises UsageError where what it takes is not installed.
    """
    if find_spec("psycopg") is None:
        raise errors.UsageError("database.packages_missing")
    from storage.postgres.database import Server

    return Server(url)


def registry_on(server: Server) -> ServedRegistry:
    """Who is served, in a database of many memories."""
    from storage.postgres.database import ServedRegistry

    return ServedRegistry(server)


def usage_on(server: Server) -> ServedUsage:
    """How much is used, counted for all servers together."""
    from storage.postgres.database import ServedUsage

    return ServedUsage(server)


def initialise_database(administrator: str, url: str) -> None:
    """Prepare a database server for many memories. Raises StorageError, UsageError."""
    connect(url)
    from storage.postgres.setup import initialise

    initialise(administrator, url)


def rewrite_database(administrator: str, url: str) -> tuple[int, list[str]]:
    """Rewrite the tables of a database, as ``postgres.setup.rewrite`` says. Raises StorageError, UsageError."""
    connect(url)
    from storage.postgres.setup import rewrite

    return rewrite(administrator, url)


def open_vectors(place: Path | OnServer, of: Repositories, log: logging.Logger) -> Vectors | PostgresVectors:
    """Where the nearest texts are searched: an index in the folder, or the database itself."""
    if isinstance(place, OnServer):
        from storage.postgres.vectors import PostgresVectors

        return PostgresVectors(of.database, place.folder)
    from storage.vectors.table import Vectors

    return Vectors(place / "vectors", log)


def open_repositories(
    place: Path | OnServer | None,
    tokens: Callable[[str], Sequence[str]],
    stamp: Stamp,
    log: logging.Logger,
    programs: Programs | ServedPrograms | None = None,
) -> Repositories:
    """Open the memory of a data directory, of a database of many, or one in memory alone.

    ``tokens`` cuts a text into words; ``programs`` are those that use it, for what only one of them may do.

    Raises Damaged, NewerSchema, ReadOnly, DiskFull.
    """
    database, words, folder = _open_engine(place, log)
    messages, steps, rebuilds = Messages(database), Steps(database), Rebuilds(database)
    embeddings = Embeddings(database, words.join_pieces, messages.seal)
    index = TextIndex(database, words, embeddings, tokens)
    chapters, saves = Chapters(database, stamp), UndoableSaves(database, messages)
    summaries = Summaries(database, index, chapters)
    erased = ErasedTexts(database, stamp)
    facts, windows = Facts(database, messages), Windows(database, messages, steps, stamp)
    claims = Claims(database, programs.name, programs.lives) if programs else Claims(database)
    matters = Matters(database, messages)
    epoch = ErasureEpoch(database, programs if isinstance(programs, Programs) else None)
    personas = Personas(folder, database, rebuilds, saves, stamp, log)
    # What follows a commit is no reason to call it off, whatever was erased since.
    database.on_commit(epoch.apart()(personas.write_changed))
    opened = Repositories(
        database=database,
        stamp=stamp,
        index=index,
        sessions=Sessions(database, stamp, claims),
        messages=messages,
        summaries=summaries,
        facts=facts,
        notes=Notes(database),
        relations=Relations(facts),
        matters=matters,
        windows=windows,
        fact_log=FactLog(facts, windows, matters, index, saves, erased, stamp),
        chapters=chapters,
        archive=Archive(database, index, messages, summaries, stamp),
        personas=personas,
        steps=steps,
        claims=claims,
        jobs=Jobs(database, claims),
        rebuilds=rebuilds,
        saves=saves,
        erased=erased,
        epoch=epoch,
        units=Units(database),
    )
    if read_meta(database, UNINDEXED) is not None:
        index_all(opened)
    return opened


def _open_engine(place: Path | OnServer | None, log: logging.Logger) -> tuple[Database, WordIndex, Path | None]:
    """Database and index of words, and the folder of the personas where they are files."""
    if isinstance(place, OnServer):
        from storage.postgres.database import PostgresDatabase
        from storage.postgres.words import PostgresWords

        served = PostgresDatabase(place.server, place.person, log)
        return served, PostgresWords(served), None
    database = SqliteDatabase(place / DATABASE if place else None, log)
    return database, SqliteWords(database), (place or Path()) / "persona"


def index_all(of: Repositories) -> None:
    """Make the words of a memory that was filled with rows, and ask for their vectors; in one commit."""
    with of.database.write() as tx:
        last = 0
        while messages := of.messages.stored_after(last, _INDEXED_AT_ONCE):
            of.index.add_messages(tx, messages)
            last = messages[-1].seq
        for summary in of.summaries.all():
            of.index.add_summary(tx, summary)
        of.fact_log.index_all(tx)
        set_meta(of.database, UNINDEXED, None)
