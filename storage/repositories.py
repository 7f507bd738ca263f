"""The repositories of one memory over one database, composed: each has its own tables and builds on those before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

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
from storage.shown import ShownTexts
from storage.sqlite.copies import UNINDEXED
from storage.sqlite.database import SqliteDatabase
from storage.sqlite.words import SqliteWords
from storage.units import Units

if TYPE_CHECKING:
    from storage.postgres.database import PostgresDatabase, ServedPrograms, Server
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


def connect(url: str) -> Server:
    """The connections of this process to a database of many memories; nothing is connected yet.

    Raises UsageError where what it takes is not installed.
    """
    if find_spec("psycopg") is None:
        raise errors.UsageError("database.packages_missing")
    from storage.postgres.database import Server

    return Server(url)


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

        served = cast("PostgresDatabase", of.database)
        return PostgresVectors(served, place.folder, in_memory=place.server.in_memory)
    from storage.vectors.table import Vectors

    return Vectors(place / "vectors", log)


class Repositories:
    """All that is stored of one memory, by subject: of a data directory, of a database of many, or in memory alone."""

    def __init__(
        self,
        place: Path | OnServer | None,
        tokens: Callable[[str], Sequence[str]],
        stamp: Stamp,
        log: logging.Logger,
        programs: Programs | ServedPrograms | None = None,
    ) -> None:
        """``tokens`` cuts a text into words; ``programs`` are those that use it, for what only one of them may do.

        Raises Damaged, NewerSchema, ReadOnly, DiskFull.
        """
        self.database, words, folder = _open_engine(place, log)
        self.stamp = stamp
        self.messages = Messages(self.database)
        self.steps, self.rebuilds = Steps(self.database), Rebuilds(self.database)
        embeddings = Embeddings(self.database, words.join_pieces, self.messages.seal)
        self.index = TextIndex(self.database, words, embeddings, tokens)
        self.chapters = Chapters(self.database, stamp)
        self.summaries = Summaries(self.database, self.index, self.chapters)
        self.archive = Archive(self.database, self.index, self.messages, self.summaries, stamp)
        self.saves = UndoableSaves(self.database, self.messages)
        self.erased = ErasedTexts(self.database, stamp)
        self.facts, self.notes = Facts(self.database, self.messages), Notes(self.database)
        self.relations = Relations(self.facts)
        self.matters = Matters(self.database)
        self.windows = Windows(self.database, self.messages, self.steps, stamp)
        self.fact_log = FactLog(self.facts, self.windows, self.matters, self.index, self.saves, self.erased, stamp)
        self.units = Units(self.database)
        self.claims = Claims(self.database, programs.name, programs.lives) if programs else Claims(self.database)
        self.sessions = Sessions(self.database, stamp, self.claims)
        self.jobs = Jobs(self.database, self.claims)
        self.epoch = ErasureEpoch(self.database, programs if isinstance(programs, Programs) else None)
        self.personas = Personas(folder, self.database, self.rebuilds, self.saves, stamp, log)
        shown_from = self.facts, self.messages, self.summaries, self.chapters, self.notes, self.personas
        self.shown = ShownTexts(*shown_from)
        # What follows a commit is no reason to call it off, whatever was erased since.
        self.database.on_commit(self.epoch.apart()(self.personas.write_changed))
        if read_meta(self.database, UNINDEXED) is not None:
            index_all(self)


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
        for messages in of.messages.batches(_INDEXED_AT_ONCE):
            of.index.add_messages(tx, messages)
        for summary in of.summaries.all():
            of.index.add_summary(tx, summary)
        of.fact_log.index_all(tx)
        set_meta(of.database, UNINDEXED, None)
