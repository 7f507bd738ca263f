"""The repositories of one memory over one database, composed: each has its own tables and builds on those before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from domain.file_reader import DATABASE
from storage.chapters import Chapters
from storage.embeddings import Embeddings, TextIndex
from storage.engine import Stamp
from storage.erased import ErasedTexts
from storage.fact_log import FactLog, Windows
from storage.facts import Facts, Notes, Relations
from storage.jobs import Claims, ErasureEpoch, Jobs, Rebuilds, Steps
from storage.matters import Matters
from storage.messages import Archive, Messages, Sessions, Summaries, UndoableSaves
from storage.personas import Personas
from storage.programs import Programs
from storage.sqlite.copies import UNINDEXED
from storage.sqlite.database import Database
from storage.sqlite.words import WordIndex
from storage.units import Units
from storage.voice import Voice

#: So many messages are read at once to make their words.
_INDEXED_AT_ONCE = 2_000


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
    voice: Voice


def open_repositories(
    folder: Path | None,
    tokens: Callable[[str], Sequence[str]],
    stamp: Stamp,
    log: logging.Logger,
    programs: Programs | None = None,
) -> Repositories:
    """Open the memory of a data directory, or one in memory alone. ``tokens`` cuts a text into words.

    ``programs`` are those that use the folder, for what only one of them may do.

    Raises Damaged, NewerSchema, ReadOnly, DiskFull.
    """
    database = Database(folder / DATABASE if folder else None, log)
    words = WordIndex(database)
    index = TextIndex(database, words, Embeddings(database, words.join_pieces), tokens)
    messages, steps, rebuilds = Messages(database), Steps(database), Rebuilds(database)
    chapters, saves = Chapters(database, stamp), UndoableSaves(database, messages)
    summaries = Summaries(database, index, chapters)
    erased = ErasedTexts(database, stamp)
    facts, windows = Facts(database, messages), Windows(database, messages, steps, stamp)
    claims = Claims(database, programs.name, programs.lives) if programs else Claims(database)
    matters = Matters(database, messages)
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
        personas=Personas((folder or Path()) / "persona", database, rebuilds, saves, stamp, log),
        steps=steps,
        claims=claims,
        jobs=Jobs(database, claims),
        rebuilds=rebuilds,
        saves=saves,
        erased=erased,
        epoch=ErasureEpoch(database),
        units=Units(database),
        voice=Voice(database),
    )
    if database.meta(UNINDEXED) is not None:
        _index_all(opened)
    return opened


def _index_all(of: Repositories) -> None:
    """Make the words of a memory that was filled with rows, and ask for their vectors; once, in one commit."""
    with of.database.write() as tx:
        last = 0
        while messages := of.messages.stored_after(last, _INDEXED_AT_ONCE):
            of.index.add_messages(tx, messages)
            last = messages[-1].seq
        for summary in of.summaries.all():
            of.index.add_summary(tx, summary)
        of.fact_log.index_all(tx)
        of.database.set_meta(UNINDEXED, None)
