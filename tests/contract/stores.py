"""The forms of a store that must keep the contract; another form is one more line in ``FORMS``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from storage.sqlite.store import SqliteStore
from storage.store import NewSummary, NewTurn, Store

from domain.records import Round
from recall.words import tokens

Opens = Callable[[Path], Store]


def sqlite(folder: Path) -> Store:
    """A store in a file of its own."""
    return SqliteStore(folder / "memory.db", tokens, logging.Logger("quiet", logging.CRITICAL))


FORMS: dict[str, Opens] = {"sqlite": sqlite}


def at(minute: int, year: int = 2026) -> str:
    """A time."""
    return f"{year}-03-01T{9 + minute // 60:02d}:{minute % 60:02d}:00+00:00"


class Teller:
    """Tells a store things, with ids and times that count."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.told = 0

    def say(
        self, session_id: str, words: str, reply: str = "", *, served: Sequence[str] = (), **options: Round
    ) -> Round:
        """One round; the reply repeats the words unless it is given."""
        self.told += 1
        turns = (
            NewTurn(f"u{self.told}", at(self.told), "user", words),
            NewTurn(f"a{self.told}", at(self.told), "assistant", reply or f"You say {words}"),
        )
        return self.store.store_round(session_id, turns, "stop", at(self.told), served=served, **options)

    def summary(self, text: str) -> NewSummary:
        """A summary that is to be stored."""
        self.told += 1
        return NewSummary(f"m{self.told}", at(self.told), text)


def said(store: Store, session_id: str) -> list[str]:
    """What the user said in a session, in order."""
    return [spoken.user.words for spoken in store.rounds(session_id)]


def holding(store: Store, word: str) -> list[str]:
    """The ids of the turns that a word finds."""
    seqs = store.postings("turn", (word,), 1_000)[word].seqs.tolist()
    return [turn.text_id for turn in store.turns(seqs)]
