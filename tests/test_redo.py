"""What was taken back can be brought back as it was, until something new is said."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.workers import CancelToken
from tests.conftest import Count, SetClock
from tests.support.house import House, friend, house
from tests.support.server import ScriptedServer


@pytest.fixture
def home(tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger) -> Iterator[House]:
    server = ScriptedServer()
    server.answer = friend
    with house(
        tmp_path, server, clock, new_id, log, DATA_DIR=str(tmp_path / "data"),
        LOG_DIR=str(tmp_path / "logs"), MAX_CONV_NUM="2", REFRESH_EVERY_CONV_NUM="1",
    ) as opened:  # fmt: skip
        yield opened
    server.close()


def said(home: House) -> list[str]:
    """What the person said in the present session."""
    return [spoken.user.words for spoken in home.memory.messages.rounds(home.talk.session.session_id)]


def test_rounds_summary_words_and_vectors_are_what_they_were(home: House) -> None:
    for text in ("I like tea", "I keep bees", "it rains"):
        home.say(text)
    before = (home.rows("conversation"), home.rows("summary"), home.indexed())
    assert before[1], "a round was folded"
    assert home.talk.undo(1) == 1
    assert home.talk.undo(1) == 1
    home.settle()
    assert said(home) == ["I like tea"]
    assert len(home.talk.redo()) == 1
    assert len(home.talk.redo()) == 1
    home.settle()
    assert (home.rows("conversation"), home.rows("summary"), home.indexed()) == before
    assert home.talk.redo() == ()


@pytest.mark.parametrize("incognito", [False, True])
def test_an_undo_that_found_nothing_more_takes_nothing_from_redo(home: House, incognito: bool) -> None:
    home.talk.set_incognito(incognito)
    list(home.talk.turn("I like tea", CancelToken()))
    assert [home.talk.undo(1), home.talk.undo(1), home.talk.undo(1)] == [1, 0, 0]
    assert [spoken.user.words for spoken in home.talk.redo()] == ["I like tea"]
    assert len(home.talk.rounds_in_context()) == 1


@pytest.mark.parametrize("then", ["said", "erased", "reset", "saved"])
def test_nothing_comes_back_after_something_else_was_done(home: House, then: str) -> None:
    for text in ("I like tea", "I keep bees"):
        home.say(text)
    assert home.talk.undo(1) == 1
    if then == "said":
        home.say("it rains")
    elif then == "erased":
        list(home.talk.erase(home.memory.erasure.scope_of_words("bees"), CancelToken()))
    elif then == "reset":
        home.talk.reset()
    else:
        home.save()
    assert home.talk.redo() == ()
    assert "I keep bees" not in [row["text"] for row in home.rows("conversation")]


def test_what_was_said_unwritten_comes_back_unwritten(home: House) -> None:
    home.talk.set_incognito(True)
    for text in ("I like tea", "I keep bees"):
        list(home.talk.turn(text, CancelToken()))
    assert home.talk.undo(2) == 2
    assert [spoken.user.words for spoken in home.talk.redo()] == ["I like tea", "I keep bees"]
    assert len(home.talk.rounds_in_context()) == 2
    assert home.rows("conversation") == []
