"""The budget of recall decides: it bounds the whole block of a prompt, and the best hits fill it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from language.scripts import estimate
from llm import Layers, assemble_prompt
from recall import selection
from recall.selection import LONG, MARK, excerpt, size_of
from tests.recall.test_retriever import LIMITS, NOW, StoredLife

_PAGE = "We spoke of the weather, which was grey, and of nothing else that day. "


@pytest.fixture
def life(tmp_path):
    lived = StoredLife(tmp_path)
    yield lived
    lived.store.close()


def _block(recalled, text):
    layers = Layers(text, datetime(2026, 11, 20, tzinfo=UTC), "en")
    boundary = "=== 000000000000000000000000 ==="
    whole = assemble_prompt(replace(layers, recalled=recalled), boundary)[-1].content
    return estimate(whole) - estimate(assemble_prompt(layers, boundary)[-1].content)


@pytest.mark.parametrize("tokens", [300, 1000, 2000])
def test_the_whole_block_stays_inside_the_budget_with_summaries_and_wrapping(life, tokens):
    for number in range(12):
        rounds = [(f"The harbour of town {number} {at}: {_PAGE * 9}", _PAGE * 3) for at in range(3)]
        life.live(f"s{number}", rounds, NOW - timedelta(days=30 - number), summary=_PAGE * 30 + "harbour")
    limits = replace(LIMITS, messages=30, tokens=tokens)
    asked = "Which harbour did I tell you of?"
    recalled = life.recall(asked, limits=limits)
    assert recalled.messages or recalled.summaries
    assert tokens * 0.3 < _block(recalled, asked) <= tokens


def test_a_text_that_grows_when_it_is_written_as_json_stays_inside_the_budget_too(life):
    code = 'print("a")\n\t"\\"\n' * 30
    for number in range(12):
        rounds = [(f"The harbour script {number} {at}:\n{code}", f"Harbour:\n{code}") for at in range(3)]
        life.live(f"s{number}", rounds, NOW - timedelta(days=30 - number), summary=f"harbour\n{code}")
    asked = "Which harbour script did I show you?"
    recalled = life.recall(asked, limits=replace(LIMITS, messages=30, tokens=2000))
    assert len(recalled.messages) > 3
    assert _block(recalled, asked) <= 2000


def test_the_best_hit_has_room_to_be_read_and_each_after_it_less_than_the_one_before(life):
    for number in range(9):
        rounds = [(f"The lighthouse of isle {number} burned. {_PAGE * 40}", "Oh.")]
        life.live(f"s{number}", rounds, NOW - timedelta(days=30 - number))
    recalled = life.recall("Which lighthouse burned?", limits=replace(LIMITS, messages=30, tokens=2000))
    sizes = {message.text_id: size_of(message.text) for message in recalled.messages if message.hit}
    best_first = [sizes[text_id] for text_id in recalled.ranked]
    room = list(map(selection.longest, range(1000)))
    assert len(best_first) > 6
    assert best_first[0] > 500
    assert all(size <= room[at] + 20 for at, size in enumerate(best_first))
    assert room == sorted(room, reverse=True)
    assert room[8] == room[0] // 2
    assert room[-1] == room[-2] >= 150


def test_hits_fill_the_budget_and_neighbours_do_not_take_their_room(life):
    rounds = [(f"My boat is called Swallow and lies in dock {at}.", "A fine place for it.") for at in range(20)]
    life.live("boats", rounds, NOW - timedelta(days=3))
    recalled = life.recall("Where does my boat Swallow lie?", limits=replace(LIMITS, messages=30, tokens=1500))
    assert sum(message.hit for message in recalled.messages) > 10
    assert not [message for message in recalled.messages if not message.hit]


def test_a_long_message_is_cut_around_the_words_that_were_found_and_kept_whole_beside(life):
    long = _PAGE * 40 + "The violin teacher is called Ottoline. " + _PAGE * 40
    life.live("page", [(long, "I see.")], NOW - timedelta(days=3))
    told = life.recall("What is my violin teacher called?", gated=False).messages
    (best,) = [message for message in told if message.text_id == "page-0u"]
    assert best.cut
    assert "Ottoline" in best.text
    assert MARK in best.text
    assert size_of(best.text) < LONG + 100
    assert best.whole == f"User: {long}"


def test_a_message_that_is_short_enough_stays_as_it_is_to_the_letter(life):
    code = "Keep this:\n    def f():\n        return  1\n"
    life.live("code", [(code, "Kept.")], NOW - timedelta(days=3))
    (best,) = [
        message
        for message in life.recall("What did I ask you to keep?", gated=False).messages
        if message.text_id == "code-0u"
    ]
    assert (best.text, best.cut, best.whole) == (f"User: {code}", False, "")


@pytest.mark.parametrize("text", ["word " * 5000, "字" * 5000, "x" * 5000, "一句话。" * 900, "\n" * 3000])
def test_an_excerpt_is_never_longer_than_asked_for_whatever_the_text(text):
    assert size_of(excerpt(text, {"word": 1.0, "一句": 2.0}, LONG).replace(MARK, "")) <= LONG + 20


def test_what_stood_together_stays_together_in_an_excerpt():
    text = _PAGE * 20 + "First the yeast.\n  Then the flour.\n" + _PAGE * 20
    assert "First the yeast.\n  Then the flour." in excerpt(text, {"yeast": 3.0, "flour": 3.0}, 300)


def test_a_short_answer_comes_with_what_it_answers(life):
    dull = [
        (f"The weather was grey on day {at}, as ever in the north.", "It will change, it always does.")
        for at in range(20)
    ]
    life.live("dull", dull, NOW - timedelta(days=9))
    sea = [
        ("A nice day.", "Which sea did you swim in as a child?"),
        ("The Baltic.", "How cold it must have been for you!"),
    ]
    life.live("sea", sea, NOW - timedelta(days=3))
    told = [
        message.text_id
        for message in life.recall("Do I like the Baltic?", limits=replace(LIMITS, messages=1), gated=False).messages
    ]
    assert told == ["sea-0a", "sea-1u"]
