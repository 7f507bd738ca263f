"""How many statements a plain turn and a ``/save`` send: triggers are not counted, many rows are one."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from domain.workers import CancelToken
from tests.support.house import friend, house
from tests.support.server import ScriptedServer, say

#: In the thread that talks; the index has its own.
MOST_OF_A_TURN, MOST_OF_A_SAVE = 45, 149


class Counted(sqlite3.Connection):
    """A connection that says what was sent through it by the thread of the test."""

    sent: list[str]

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        self._note(sql)
        return super().execute(sql, *values)

    def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
        self._note(sql)
        return super().executemany(sql, *values)

    def _note(self, sql: str) -> None:
        if threading.current_thread() is threading.main_thread():
            self.sent.append(sql)


def test_a_turn_and_a_save_send_a_bounded_number_of_statements(
    tmp_path: Path, clock, new_id, log, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    connect = sqlite3.connect
    monkeypatch.setattr(Counted, "sent", sent, raising=False)
    monkeypatch.setattr(sqlite3, "connect", lambda *where, **how: connect(*where, **{"factory": Counted} | how))
    with ScriptedServer() as server, house(tmp_path, server, clock, new_id, log, EMBEDDING_MODEL="") as home:
        server.answer = friend
        home.say("My cat Momo broke the blue vase.")
        home.say("She is hiding under the sofa now.")
        home.save()
        home.say("I had soup.")
        server.script(say("The blue vase."))
        sent.clear()
        list(home.talk.turn("What did my cat break last week in Paris, does she still hide?", CancelToken()))
        message = sent.copy()
        home.say("I moved to Oslo.")
        sent.clear()
        home.save()
        save = sent.copy()
    assert 20 < len(message) <= MOST_OF_A_TURN, message
    assert 50 < len(save) <= MOST_OF_A_SAVE, save
