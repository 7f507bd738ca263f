"""How the nearest vectors are found in a LanceDB table that is too large to be held in memory.

The index is IVF with RaBitQ (one bit a dimension), refined by the true vectors; it is built in seconds where
others take minutes. It is not trusted: once built, it answers a sample of questions beside an exact search, and
where one bit does not tell vectors apart (they lie on a sphere without structure) four bits are taken.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from domain.records import Kind

if TYPE_CHECKING:
    import numpy.typing as npt

#: From here on a table has indexes: with them ``optimize`` touches only new rows.
_INDEXED_FROM = 1_000
#: Every ``optimize`` adds a segment to the index; above this many it is built anew.
_MOST_SEGMENTS = 16
_PROBES = 40
#: So many times the limit are compared by their true vectors, but not more than so many rows.
_REFINE = 10
_REFINED = 600
_BITS = (1, 4)
_GOOD_ENOUGH = 0.95
_ASKED = 10
_NAME = "vector_idx"
OF_KIND: dict[Kind, str] = {"conversation": "type = 'conversation'", "summary": "type = 'summary'"}
#: Rows taken beyond the limit, because rows of the excluded session are dropped afterwards (a predicate on
#: the session would double the time of a search).
_SPARE = 24
_COLUMNS = ["text_id", "session_id", "_distance"]

Found = tuple[str, str, float]


def search_outside(
    table: Any, query: npt.NDArray[np.float16], kind: Kind, session: str | None, limit: int
) -> list[Found]:
    """A search wide enough that one session, of which nothing is wanted, crowds nobody out."""
    asked = limit + _SPARE
    while True:
        found = _on_the_latest(table, query, kind, asked)
        kept = [row for row in found if row[1] != session][:limit]
        if len(kept) == limit or len(found) < asked:
            return kept
        asked *= 4


def _on_the_latest(table: Any, query: npt.NDArray[np.float16], kind: Kind, limit: int) -> list[Found]:
    """One search, tried once more on the latest version if the one at hand was cleaned away."""
    try:
        return search(table, query, kind, limit)
    except Exception as fault:
        if "not found" not in str(fault).lower():
            raise
        table.checkout_latest()
        return search(table, query, kind, limit)


def search(
    table: Any, query: npt.NDArray[np.float16], kind: Kind | None, limit: int, *, exact: bool = False
) -> list[Found]:
    """(text_id, session_id, cosine), nearest first. Rows newer than the index are searched too."""
    asked = table.search(query.astype(np.float32)).distance_type("cosine").limit(limit).select(_COLUMNS)
    if kind is not None:
        asked = asked.where(OF_KIND[kind], prefilter=True)
    if exact:
        asked = asked.bypass_vector_index()
    else:
        asked = asked.nprobes(_PROBES).refine_factor(max(2, min(_REFINE, _REFINED // limit)))
    found = asked.to_arrow()
    rows = zip(*(found[name].to_pylist() for name in _COLUMNS), strict=True)
    return [(text_id, session_id, 1.0 - distance) for text_id, session_id, distance in rows]


def keep_index(table: Any, log: logging.Logger) -> None:
    """Build the indexes from the size where they pay, and again when they are in too many pieces."""
    from lancedb.index import Bitmap, BTree

    if table.count_rows() < _INDEXED_FROM:
        return
    names = {index.name for index in table.list_indices()}
    for column, config in (("text_id", BTree()), ("type", Bitmap())):
        if f"{column}_idx" not in names:
            table.create_index(column, config=config)
    if _NAME not in names or _segments(table) > _MOST_SEGMENTS:
        _build(table, log)


def optimize(table: Any) -> None:
    """Fold small files together, take new rows into the indexes, drop all versions but the last.

    A search that meets a version that is gone looks again at the latest one.
    """
    table.optimize(cleanup_older_than=timedelta(milliseconds=1))


def _build(table: Any, log: logging.Logger) -> None:
    """The smallest index that passes its own test; the largest, if none does."""
    from lancedb.index import IvfRq

    for bits in _BITS:
        table.create_index("vector", config=IvfRq(distance_type="cosine", num_bits=bits), name=_NAME)
        share = _share_found(table)
        log.debug("vectors index: %s bits find %.3f of the nearest", bits, share)
        if share >= _GOOD_ENOUGH:
            return


def _share_found(table: Any) -> float:
    """The part of the exactly nearest rows that the index finds, over a sample spread through the table."""
    rows = table.count_rows()
    sample = 8 if rows > 200_000 else 32
    places = np.linspace(0, rows - 1, sample).astype(int).tolist()
    vectors = table.take_offsets(places).select(["vector"]).to_arrow()["vector"]
    found = 0
    for vector in vectors.combine_chunks().flatten().to_numpy().reshape(len(places), -1):
        exactly = {row[0] for row in search(table, vector, None, _ASKED, exact=True)}
        found += len(exactly & {row[0] for row in search(table, vector, None, _ASKED, exact=False)})
    return found / (len(places) * _ASKED)


def _segments(table: Any) -> int:
    statistics = table.index_stats(_NAME)
    return int(statistics.num_indices or 0) if statistics else 0
