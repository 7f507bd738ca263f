"""What a path leads to, by what lies there, and all that is read of it.

    another Old Friend's folder or backup · a LanceDB table · a Milvus Lite collection · a folder of notes

A table among several is named behind the path: ``notes=~/db#journal``.
"""

from __future__ import annotations

from pathlib import Path

from domain import errors
from storage.others.foreign_rows import is_milvus, read_milvus
from storage.others.note_files import holds_notes, read_notes
from storage.others.other_texts import DATABASE, SourceTexts, located
from storage.sqlite.foreign_memory import is_a_memory, read_memory
from storage.vectors.foreign_table import is_lance, read_lance


def read_source(path: Path) -> SourceTexts:
    """Everything that is taken of a source. Raises StorageError, or what the system raises of a file."""
    path, table = located(path)
    if not path.exists():
        raise errors.StorageError("others.missing")
    database = path / DATABASE if path.is_dir() else path
    if is_a_memory(database):
        return read_memory(database)
    if is_milvus(path):
        return read_milvus(path, table)
    if is_lance(path):
        return read_lance(path, table)
    if path.is_dir() and holds_notes(path):
        return read_notes(path)
    raise errors.StorageError("others.unknown")
