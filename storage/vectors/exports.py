"""A memory exported for other programs, as a LanceDB table or a Milvus collection: texts with their vectors.

The export is there whole, or not at all. ``pymilvus`` is no dependency: it is imported when it is asked for.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from domain import errors
from domain.files import make_private, make_private_folder, put_in_place
from domain.indexes import TextRow
from domain.text import one_line
from storage.vectors import lance

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "memories"
_LANCE_TEXTS = ("text_id", "type", "session_id", "text", "role", "timestamp")


def write_lance(folder: Path, batches: Iterable[Sequence[TextRow]], model: str, dimension: int) -> None:
    """Write the table ``memories`` into a new folder; it is there whole, or not at all. Raises StorageError."""
    if folder.exists() or folder.is_symlink():
        raise errors.StorageError("backup.exists", path=str(folder))
    unfinished = folder.with_name(f".{folder.name}.new")
    with ExitStack() as afterwards, lance.translate_errors("export", folder):
        afterwards.callback(shutil.rmtree, unfinished, ignore_errors=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        make_private_folder(unfinished)
        schema = _export_schema(model, dimension)
        table = lance.connect(unfinished).create_table(TABLE, schema=schema)
        for batch in batches:
            table.add(_as_arrow(batch, schema))
        lance.make_private_below(unfinished)
        unfinished.rename(folder)


def _export_schema(model: str, dimension: int) -> pa.Schema:
    import pyarrow as pa

    vector = pa.field("vector", pa.list_(pa.float32(), dimension))
    texts = [pa.field(name, pa.string()) for name in _LANCE_TEXTS]
    return pa.schema([*texts[:3], vector, *texts[3:]], metadata={"model": model, "dimension": str(dimension)})


def _as_arrow(rows: Sequence[TextRow], schema: pa.Schema) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    vectors = np.stack([row.vector for row in rows]).astype(np.float32).reshape(-1)
    columns = {name: pa.array([getattr(row, name) for row in rows]) for name in _LANCE_TEXTS}
    columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors), schema.field("vector").type.list_size)
    return pa.table([columns[name] for name in schema.names], schema=schema)


COLLECTION = "old_friend"
#: Milvus counts the bytes of a text, and takes no longer one.
_LONGEST = 65_535
_MILVUS_TEXTS = {
    "text_id": 128, "type": 16, "session_id": 128, "text": _LONGEST, "role": 16, "timestamp": 40,
}  # fmt: skip


def write_milvus(
    target: str, batches: Iterable[Sequence[TextRow]], dimension: int, collection: str = "", *, replaces: bool = False
) -> None:
    """Write a collection, ``old_friend`` by default, into new data of Milvus Lite, or to a server by its URI.

    It is there whole, or not at all; on a server it may take the place of an earlier copy. Raises StorageError
    (``export.no_milvus``, ``backup.exists``, ``export.milvus``).
    """
    name = collection or COLLECTION
    if "://" in target:
        with closing(_open_client(target, target)) as client, _as_ours(target):
            if replaces and client.has_collection(name):
                client.drop_collection(name)
            _write_collection(client, name, target, batches, dimension)
        return
    path = Path(target).expanduser().absolute()
    if path.exists() or path.is_symlink():
        raise errors.StorageError("backup.exists", path=str(path))
    unfinished = path.with_name(f".{path.name}.new.db")
    with ExitStack() as afterwards:
        afterwards.callback(_remove_output, unfinished)
        _remove_output(unfinished)
        try:
            with closing(_open_client(str(unfinished), str(path))) as client, _as_ours(str(path)):
                _write_collection(client, name, str(path), batches, dimension)
        finally:
            _release_server(unfinished)
        make_private_folder(unfinished) if unfinished.is_dir() else make_private(unfinished)
        put_in_place(unfinished, path)


def _release_server(path: Path) -> None:
    # Its later versions hold what they opened until the process ends, unless they are asked to let go.
    with suppress(ImportError, AttributeError):
        import_module("milvus_lite.server_manager").server_manager_instance.release_server(str(path))


def _remove_output(path: Path) -> None:
    """Milvus Lite makes a folder, in its earlier versions a file."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _write_collection(
    client: Any, name: str, shown_path: str, batches: Iterable[Sequence[TextRow]], dimension: int
) -> None:
    if client.has_collection(name):
        raise errors.StorageError("backup.exists", path=f"{shown_path} ({name})")
    try:
        _insert_batches(client, name, batches, dimension)
    except BaseException:
        client.drop_collection(name)
        raise


def _open_client(place: str, shown_path: str) -> Any:
    try:
        milvus = import_module("pymilvus")
        if place != shown_path:
            import_module("milvus_lite")
    except ImportError as fault:
        raise errors.StorageError("export.no_milvus") from fault
    with _as_ours(shown_path):
        return milvus.MilvusClient(place)


def _insert_batches(client: Any, collection: str, batches: Iterable[Sequence[TextRow]], dimension: int) -> None:
    kinds = import_module("pymilvus").DataType
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    for name, length in _MILVUS_TEXTS.items():
        schema.add_field(name, kinds.VARCHAR, is_primary=name == "text_id", max_length=length)
    schema.add_field("vector", kinds.FLOAT_VECTOR, dim=dimension)
    index = client.prepare_index_params()
    index.add_index(field_name="vector", index_type="AUTOINDEX", metric_type="COSINE")
    client.create_collection(collection, schema=schema, index_params=index)
    for batch in batches:
        texts = [row.text.encode()[:_LONGEST].decode(errors="ignore") for row in batch]
        rows = zip(batch, texts, strict=True)
        client.insert(collection, [{**asdict(row), "text": text, "vector": row.vector.tolist()} for row, text in rows])
    client.flush(collection)


@contextmanager
def _as_ours(place: str) -> Iterator[None]:
    """Whatever Milvus raises, as ours."""
    try:
        yield
    except errors.OldFriendError:
        raise
    except Exception as fault:
        raise errors.StorageError("export.milvus", path=place, reason=one_line(str(fault), 200)) from fault
