"""A memory as a Milvus collection for other programs. ``pymilvus`` is none of ours: it is imported when asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from domain import errors
from domain.files import make_private, make_private_folder, put_in_place
from domain.text import one_line
from domain.vectors import TextRow

COLLECTION = "old_friend"
#: Milvus counts the bytes of a text, and takes no longer one.
_LONGEST = 65_535
_TEXTS = {
    "text_id": 128, "type": 16, "session_id": 128, "text": _LONGEST, "role": 16, "timestamp": 40,
}  # fmt: skip


def write_milvus(target: str, batches: Iterable[Sequence[TextRow]], dimension: int) -> None:
    """Write the collection ``old_friend`` into new data of Milvus Lite, or to a server by its URI.

    It is there whole, or not at all. Raises StorageError (``export.no_milvus``, ``backup.exists``, ``export.milvus``).
    """
    if "://" in target:
        _write(target, target, batches, dimension)
        return
    path = Path(target).expanduser().absolute()
    if path.exists() or path.is_symlink():
        raise errors.StorageError("backup.exists", path=str(path))
    unfinished = path.with_name(f".{path.name}.new.db")
    try:
        _remove(unfinished)
        try:
            _write(str(unfinished), str(path), batches, dimension)
        finally:
            _let_go(unfinished)
        make_private_folder(unfinished) if unfinished.is_dir() else make_private(unfinished)
        put_in_place(unfinished, path)
    finally:
        _remove(unfinished)


def _remove(path: Path) -> None:
    """Milvus Lite makes a folder, in its earlier versions a file."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _let_go(path: Path) -> None:
    """Its later versions hold what they opened until the process ends, if they are not told otherwise."""
    with suppress(ImportError, AttributeError):
        import_module("milvus_lite.server_manager").server_manager_instance.release_server(str(path))


def _write(place: str, told: str, batches: Iterable[Sequence[TextRow]], dimension: int) -> None:
    with closing(_client(place, told)) as client:
        with _as_ours(told):
            known = client.has_collection(COLLECTION)
        if known:
            raise errors.StorageError("backup.exists", path=f"{told} ({COLLECTION})")
        try:
            with _as_ours(told):
                _fill(client, batches, dimension)
        except BaseException:
            with _as_ours(told):
                client.drop_collection(COLLECTION)
            raise


def _client(place: str, told: str) -> Any:
    try:
        milvus = import_module("pymilvus")
        if place != told:
            import_module("milvus_lite")
    except ImportError as fault:
        raise errors.StorageError("export.no_milvus") from fault
    with _as_ours(told):
        return milvus.MilvusClient(place)


def _fill(client: Any, batches: Iterable[Sequence[TextRow]], dimension: int) -> None:
    kinds = import_module("pymilvus").DataType
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    for name, length in _TEXTS.items():
        schema.add_field(name, kinds.VARCHAR, is_primary=name == "text_id", max_length=length)
    schema.add_field("vector", kinds.FLOAT_VECTOR, dim=dimension)
    index = client.prepare_index_params()
    index.add_index(field_name="vector", index_type="AUTOINDEX", metric_type="COSINE")
    client.create_collection(COLLECTION, schema=schema, index_params=index)
    for batch in batches:
        client.insert(COLLECTION, list(_entities(batch)))
    client.flush(COLLECTION)


def _entities(batch: Sequence[TextRow]) -> Iterator[dict[str, Any]]:
    for row in batch:
        short = row.text.encode()[:_LONGEST].decode(errors="ignore")
        yield {**asdict(row), "text": short, "vector": row.vector.tolist()}


@contextmanager
def _as_ours(place: str) -> Iterator[None]:
    """Whatever Milvus raises, as ours."""
    try:
        yield
    except errors.OldFriendError:
        raise
    except Exception as fault:
        raise errors.StorageError("export.milvus", path=place, reason=one_line(str(fault), 200)) from fault
