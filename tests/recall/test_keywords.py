"""The search by hand finds what holds the words, and recall finds again what has left the context."""

from __future__ import annotations

import itertools
import logging
from datetime import UTC, datetime, timedelta

import pytest

from domain.recollection import RecallLimits, Recollection
from memory import Memory
from recall.embedding import HashedEmbedder
from tests.recall.test_retriever import LIMITS, NOW, StoredLife
from tests.recall.test_retriever import life as life  # noqa: PLC0414 - a fixture


def _search(lived: StoredLife, text: str):
    return lived.finder.search(text, LIMITS, Recollection())


@pytest.mark.parametrize("asked", ["zeppelin", "齐柏林飞艇", "the", "的", "", "???", "a zeppelin over how many"])
def test_what_nobody_ever_said_is_not_found(life, asked):
    assert not _search(life, asked)


def test_only_what_holds_the_word_is_found_in_any_of_its_forms(life):
    life.live("shop", (("I bought rivets.", "Buying rivets again?"), ("And tea.", "Good.")), NOW)
    found = _search(life, "buy")
    assert set(found.ranked) == {"shop-0u", "shop-0a"}
    assert {message.text_id: message.why.words for message in found.messages} == {
        "shop-0u": ("bought",),
        "shop-0a": ("Buying",),
    }


def test_a_chinese_word_is_found_and_told_as_it_stands(life):
    life.live("zh", (("我买了一把铆钉枪。", "做什么用？"), ("钉子也买了。", "好。")), NOW)
    found = _search(life, "铆钉")
    assert [(message.text_id, message.why.words) for message in found.messages] == [("zh-0u", ("铆钉",))]


def test_a_summary_that_holds_the_word_is_found_too(life):
    found = _search(life, "Lisbon")
    assert [summary.session_id for summary in found.summaries] == ["old"]
    assert found.summaries[0].why.words == ("Lisbon",)


def test_of_several_words_the_rare_one_leads(life):
    found = _search(life, "puppy and a rhinoceros")
    assert set(found.ranked) == {"old-1u"}


@pytest.fixture
def memory(tmp_path):
    numbers = itertools.count()
    moments = (datetime(2026, 11, 20, tzinfo=UTC) + timedelta(seconds=at) for at in itertools.count())
    opened = Memory(
        tmp_path / "data",
        HashedEmbedder(),
        clock=lambda: next(moments),
        new_id=lambda: f"{next(numbers):08x}",
        log=logging.Logger("test", logging.CRITICAL),
    )
    opened.start()
    yield opened
    opened.close()


def test_rounds_of_the_present_session_are_searched_once_they_have_left_the_context(memory):
    session = memory.sessions.start().session_id
    at = "2026-11-20T00:00:00+00:00"
    said = ["My cousin Amalia keeps bees in Tartu.", "I painted the kitchen yellow.", "The tram was late again."]
    rounds = [memory.rounds.store(session, text, "I see, go on.", at, "stop") for text in said]
    memory.index.settle(60)
    limits = RecallLimits(sessions=3, messages=6, tokens=2000)
    asked = (["Where does my cousin Amalia keep bees?"], session, datetime(2026, 11, 21, tzinfo=UTC), limits)
    assert not memory.recall(*asked, gated=False).messages
    memory.rounds.compact(session, rounds[1].user.round, "Amalia keeps bees in Tartu; the kitchen is yellow.")
    memory.index.settle(60)
    found = memory.recall(*asked)
    assert found.ranked[0] == rounds[0].user.text_id
    in_context = {message.text_id for message in rounds[2].messages}
    assert not in_context & {message.text_id for message in memory.recall(*asked, gated=False).messages}
    assert not found.summaries
    assert memory.search("Amalia", limits).ranked == (rounds[0].user.text_id,)
