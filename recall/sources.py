"""What recall reads from, as protocols: an index of words, an index of vectors, an archive of turns.

Each is one class of ``storage`` in the program, and anything of the same shape in a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from domain.records import Kind, Summary, Turn
    from domain.vectors import Vector
    from recall.turn_table import PlacedTurn
    from storage.sqlite.schema import WordTable
    from storage.store import Postings

#: Turns texts into vectors, all in one call; None for a text that has none.
Embed = Callable[[Sequence[str]], "Sequence[Vector | None]"]


class WordIndex(Protocol):
    """``storage.sqlite.lexicon.Lexicon``: rows and counts of terms."""

    def postings(self, table: WordTable, terms: Sequence[str], cap: int) -> Mapping[str, Postings]: ...
    def rows(self, table: WordTable) -> int: ...


class NearText(Protocol):
    """One hit of the vector index; ``similarity`` is the cosine."""

    @property
    def text_id(self) -> str: ...
    @property
    def similarity(self) -> float: ...


class VectorIndex(Protocol):
    """``storage.vectors.table.Vectors``: the nearest texts of a kind."""

    @property
    def state(self) -> str: ...
    def search(
        self, vector: Vector, *, kind: Kind, exclude_session: str, limit: int
    ) -> Sequence[NearText]: ...


class Archive(Protocol):
    """``storage.sqlite.turn_reader.TurnReader``: turns and summaries by number."""

    def after(self, seq: int, most: int) -> Sequence[PlacedTurn]: ...
    def turns(self, seqs: Sequence[int]) -> Sequence[Turn]: ...
    def seqs_of(self, text_ids: Sequence[str]) -> Mapping[str, int]: ...
    def session_number(self, session_id: str) -> int | None: ...
    def summaries(self, sessions: Sequence[int]) -> Mapping[int, Summary]: ...
    def sessions_of_summaries(
        self, *, seqs: Sequence[int] = (), text_ids: Sequence[str] = ()
    ) -> Mapping[int | str, int]: ...
    def turns_of_facts(self, facts: Sequence[int]) -> Sequence[tuple[int, int]]: ...
