"""The repositories of one memory over one database, composed: each has its own tables and builds on those before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from storage.archive import Archive
from storage.chapters import Chapters
from storage.embeddings import Embeddings
from storage.facts import Facts
from storage.messages import Messages
from storage.personas import Personas
from storage.rebuilds import Rebuilds
from storage.sessions import Sessions
from storage.sqlite.database import Database
from storage.sqlite.plain_rows import UNINDEXED
from storage.sqlite.words import WordIndex
from storage.stamp import Stamp
from storage.steps import Steps
from storage.summaries import Summaries
from storage.text_index import TextIndex
from storage.undoable_saves import UndoableSaves

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
    chapters: Chapters
    archive: Archive
    personas: Personas
    steps: Steps
    rebuilds: Rebuilds
    saves: UndoableSaves


def open_repositories(
    folder: Path | None, tokens: Callable[[str], Sequence[str]], stamp: Stamp, log: logging.Logger
) -> Repositories:
    """Open the memory of a data directory, or one in memory alone. ``tokens`` cuts a text into words.

    Raises Damaged, NewerSchema, ReadOnly, DiskFull.
    """
    database = Database(folder / "memory.db" if folder else None, log)
    words = WordIndex(database)
    index = TextIndex(database, words, Embeddings(database, words.join_pieces), tokens)
    messages, steps, rebuilds = Messages(database), Steps(database), Rebuilds(database)
    chapters, saves = Chapters(database, stamp), UndoableSaves(database, messages)
    summaries = Summaries(database, index, chapters)
    opened = Repositories(
        database=database,
        stamp=stamp,
        index=index,
        sessions=Sessions(database, stamp),
        messages=messages,
        summaries=summaries,
        facts=Facts(database, index, messages, steps, saves, stamp),
        chapters=chapters,
        archive=Archive(database, index, messages, summaries, stamp),
        personas=Personas((folder or Path()) / "persona", database, rebuilds, saves, stamp, log),
        steps=steps,
        rebuilds=rebuilds,
        saves=saves,
    )
    if database.meta(UNINDEXED) is not None:
        _index_all(opened)
    return opened


def _index_all(of: Repositories) -> None:
    """Make the words of a memory that was filled with rows, and ask for their vectors; once, in one commit."""
    with of.database.write() as tx:
        last = 0
        while turns := of.messages.stored_after(last, _INDEXED_AT_ONCE):
            of.index.add_turns(tx, turns)
            last = turns[-1].seq
        for summary in of.summaries.all():
            of.index.add_summary(tx, summary)
        of.facts.index_all(tx)
        of.database.set_meta(UNINDEXED, None)
