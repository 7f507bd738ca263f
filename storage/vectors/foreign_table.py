"""Somebody else's LanceDB table, only read: opening and reading one writes nothing and takes no lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from domain import errors
from storage.others.foreign_rows import texts_of_rows
from storage.others.other_texts import MOST_TEXTS, SourceTexts
from storage.vectors import lance

_ENDING = ".lance"
_ROWS_AT_ONCE = 1_000


def is_lance(path: Path) -> bool:
    """Whether this is a table of LanceDB, or a folder of such tables."""
    if not path.is_dir():
        return False
    return path.suffix == _ENDING or any(one.is_dir() for one in path.glob(f"*{_ENDING}"))


def read_lance(path: Path, table: str) -> SourceTexts:
    """The texts of a table, or of the only one there is. Raises StorageError."""
    if path.suffix == _ENDING:
        path, table = path.parent, path.stem
    names = sorted(one.stem for one in path.glob(f"*{_ENDING}") if one.is_dir())
    wanted = [name for name in names if not table or name == table]
    if len(wanted) != 1:
        raise errors.StorageError("others.no_table", table=table or ", ".join(names))
    with lance.faults("read", path):
        opened = lance.connect(path).open_table(wanted[0])
        return texts_of_rows(_rows(opened), opened.count_rows())


def _rows(table: Any) -> Iterator[Mapping[str, Any]]:
    """The first rows without their vectors."""
    import pyarrow as pa

    kept = [field.name for field in table.schema if not _is_vector(pa, field.type)]
    for batch in table.search().select(kept).limit(MOST_TEXTS).to_batches(_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _is_vector(pa: Any, kind: Any) -> bool:
    lists = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    return any(is_list(kind) for is_list in lists)
