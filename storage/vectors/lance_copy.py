"""A memory as a LanceDB table for other programs: each text that has a vector, with its words, who said it and when."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from domain import errors
from domain.files import make_private_folder
from domain.vectors import TextRow
from storage.vectors import lance

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "memories"
_TEXTS = ("text_id", "type", "session_id", "text", "role", "timestamp")


def write_lance(folder: Path, batches: Iterable[Sequence[TextRow]], model: str, dimension: int) -> None:
    """Write the table ``memories`` into a new folder; it is there whole, or not at all. Raises StorageError."""
    if folder.exists() or folder.is_symlink():
        raise errors.StorageError("backup.exists", path=str(folder))
    unfinished = folder.with_name(f".{folder.name}.new")
    try:
        with lance.faults("export", folder):
            shutil.rmtree(unfinished, ignore_errors=True)
            make_private_folder(unfinished)
            schema = _schema(model, dimension)
            table = lance.connect(unfinished).create_table(TABLE, schema=schema)
            for batch in batches:
                table.add(_as_arrow(batch, schema))
            lance.make_private_below(unfinished)
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _schema(model: str, dimension: int) -> pa.Schema:
    import pyarrow as pa

    vector = pa.field("vector", pa.list_(pa.float32(), dimension))
    texts = [pa.field(name, pa.string()) for name in _TEXTS]
    return pa.schema([*texts[:3], vector, *texts[3:]], metadata={"model": model, "dimension": str(dimension)})


def _as_arrow(rows: Sequence[TextRow], schema: pa.Schema) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    vectors = np.stack([row.vector for row in rows]).astype(np.float32).reshape(-1)
    columns = {name: pa.array([getattr(row, name) for row in rows]) for name in _TEXTS}
    columns["vector"] = pa.FixedSizeListArray.from_arrays(
        pa.array(vectors), schema.field("vector").type.list_size
    )
    return pa.table([columns[name] for name in schema.names], schema=schema)
