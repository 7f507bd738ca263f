"""A life that is lived for a measurement: what is done behind a save is done, and a model that fails ends it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from bench.living import Life, lived
from bench.mistakes import MistakenReplies
from bench.truth import findings, measured
from tests.support.server import Exchange, ScriptedServer, say, status

_BEGAN = datetime(2025, 5, 1, 20, 0, tzinfo=UTC)


@pytest.fixture
def replies(server: ScriptedServer, tmp_path: Path) -> MistakenReplies:
    kept = tmp_path / "kept"
    kept.mkdir()
    return MistakenReplies(server.base, kept, "life")


def life_of(evenings: int) -> Life:
    """So many evenings of one round, a week from one to the next; after eight of them there is a chapter."""
    days = [_BEGAN + timedelta(weeks=week) for week in range(evenings)]
    sessions = [
        {
            "date": f"{day:%Y-%m-%d}",
            "turns": [
                {"at": day.isoformat(), "role": "user", "text": f"I walked {number} miles."},
                {"at": day.isoformat(), "role": "assistant", "text": "Well done."},
            ],
        }
        for number, day in enumerate(days, 1)
    ]
    return {"name": "walks", "sessions": sessions, "asked_on": "2026-01-01"}


def slowly(exchange: Exchange) -> None:
    """A chapter, after a while."""
    time.sleep(0.5)
    say("A chapter\nMiles were walked.")(exchange)


def test_a_life_is_over_when_what_is_done_behind_its_saves_is_done(mind, replies, tmp_path, log):
    mind.answers("chapter", slowly)
    with lived(life_of(8), replies, tmp_path / "home", log) as whole:
        assert [one.height for one in whole.memory.chapters.all()] == [1]
        assert "write a chapter" in [seen.kind for seen in whole.transport.seen]


@pytest.mark.parametrize(("task", "evenings"), [("fold", 1), ("notes", 1), ("chapter", 8)])
def test_a_life_ends_with_what_the_server_of_the_model_did_in_place_of_a_reply(
    mind, replies, tmp_path, log, task, evenings
):
    mind.answers(task, status(507, "the disk is full"))
    with pytest.raises(httpx2.HTTPStatusError, match="507"), lived(life_of(evenings), replies, tmp_path / "home", log):
        pass


def test_all_requests_are_counted_and_those_after_a_secret_only_where_there_is_one(mind, replies, tmp_path, log):
    asked = {"id": "1", "class": "now", "q": "How far?", "needs": ["1 miles"], "not_as_present": []}
    life = life_of(1) | {"questions": [asked]}
    plain = measured(life, replies, tmp_path / "plain", log, "off")
    assert plain.requests == sum(calls for calls, _ in plain.tasks.values()) + 2
    assert (plain.after_secret, [line for line in findings(plain) if line.startswith("secret")]) == (None, [])
    secret = {**asked, "id": "2", "class": "asked to be forgotten", "needs": None, "not_as_present": ["gambling"]}
    told = measured(life | {"questions": [asked, secret]}, replies, tmp_path / "told", log, "off")
    assert told.after_secret == 0
    assert f"requests: {told.requests}" in [*findings(told)]
