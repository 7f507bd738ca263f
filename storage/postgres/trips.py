"""Several statements of one connection in one trip to the server; what is sent again is prepared.

psycopg's own pipeline sends each statement as it comes, which wakes the server as often and takes six times the work in
this process. Here they go together, and their rows come back together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import adapt, pq
from psycopg.rows import no_result
from psycopg.waiting import Ready, Wait

if TYPE_CHECKING:
    from psycopg.abc import PQGen, Transformer
    from psycopg.pq.abc import PGconn, PGresult

#: So many statements of a connection are prepared at most, and so many are known to have been sent once.
_MOST_PREPARED, _MOST_SENT = 200, 1_000
#: What is prepared is there no more, or does not fit the tables any more.
_UNPREPARED = ("26000", "0A000")
#: A statement as the server takes it, and its values.
Statement = tuple[bytes, Sequence[object]]


class ServedRow:
    """Values by their place or their name, as SQLite returns them."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: Sequence[Any]) -> None:
        self._places, self._values = places, tuple(values)

    def __getitem__(self, key: int | str | slice) -> Any:
        return self._values[self._places[key] if isinstance(key, str) else key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServedRow) and self._values == other._values

    def __hash__(self) -> int:
        return hash(self._values)

    def keys(self) -> list[str]:
        """The names of the values."""
        return list(self._places)


def make_rows(cursor: psycopg.Cursor[Any]) -> Any:
    """The row factory of a connection."""
    result = cursor.pgresult
    return _row_maker(result) if result is not None and result.nfields else no_result


def _row_maker(result: PGresult) -> Any:
    # ``description`` says more of each column, which takes ten times as long.
    names = [result.fname(place) or b"" for place in range(result.nfields)]
    return partial(ServedRow, {name.decode(): place for place, name in reversed([*enumerate(names)])})


class Trips:
    """The way of one connection to the server and back."""

    def __init__(self) -> None:
        #: Statements with the types of their values: the names of those that are prepared, and those that were sent.
        self._names: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._sent: set[tuple[bytes, tuple[int, ...]]] = set()
        self._numbers = count()

    def send(self, connection: psycopg.Connection[Any], statements: Iterable[Statement]) -> list[list[ServedRow]]:
        """The rows of each statement, in one trip. Raises what the first one that failed raises."""
        pgconn, transformer = connection.pgconn, adapt.Transformer(connection)
        names, wanted = self._names.copy(), list[bool]()
        try:
            pgconn.enter_pipeline_mode()
            for sql, values in statements:
                passed = transformer.dump_sequence(values, [adapt.PyFormat.AUTO] * len(values))
                key, formats = (sql, transformer.types or ()), transformer.formats
                if key not in names and key in self._sent and len(names) < _MOST_PREPARED:
                    names[key] = b"s%d" % next(self._numbers)
                    pgconn.send_prepare(names[key], *key)
                    wanted.append(False)
                if key in names:
                    pgconn.send_query_prepared(names[key], passed, formats, pq.Format.BINARY)
                else:
                    self._sent.add(key)
                    pgconn.send_query_params(sql, passed, key[1], formats, pq.Format.BINARY)
                wanted.append(True)
            pgconn.pipeline_sync()
            results = connection.wait(_receive(pgconn))
            pgconn.exit_pipeline_mode()
        except BaseException:
            connection.close()  # what may still come belongs to no one
            raise
        for result in results:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                fault = psycopg.errors.error_from_result(result, connection.info.encoding)
                if fault.sqlstate in _UNPREPARED:
                    connection.close()
                raise fault
        self._names = names
        if len(self._sent) > _MOST_SENT:
            self._sent.clear()
        return [_rows_of(transformer, result) for result, asked in zip(results, wanted, strict=True) if asked]


def _rows_of(transformer: Transformer, result: PGresult) -> list[ServedRow]:
    if not result.nfields:
        return []
    transformer.set_pgresult(result, format=pq.Format.BINARY)
    return transformer.load_rows(0, result.ntuples, _row_maker(result))


def _receive(pgconn: PGconn) -> PQGen[list[PGresult]]:
    """Send what was written, and receive all results of it."""
    results: list[PGresult] = []
    unsent = pgconn.flush()
    while True:
        ready = yield Wait.RW if unsent else Wait.R
        if ready & Ready.W:
            unsent = pgconn.flush()
        if ready & Ready.R:
            pgconn.consume_input()
            while not pgconn.is_busy():
                result = pgconn.get_result()
                if result is not None and result.status == pq.ExecStatus.PIPELINE_SYNC:
                    return results
                if result is None and pgconn.status == pq.ConnStatus.BAD:
                    raise psycopg.OperationalError("the server sent what is no answer")
                results += [result] if result is not None else []
