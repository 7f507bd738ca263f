"""What is embedded for a turn, what a reply has room for, and whether anything is needed at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.records import Message, Summary
from language.scripts import estimate
from recall import selection
from recall.embedding import message_key, query_key, style_for, summary_key
from recall.relevance import needs_memory


def _message(words, role="user", at="2023-05-08T13:56:00+00:00"):
    prefix = {"user": "User: ", "assistant": "Assistant: "}[role]
    return Message(1, "t", "s", at, role, prefix + words, 1)


def test_the_key_of_a_message_begins_with_day_and_speaker_and_itself_then_the_two_messages_before():
    before = [_message("How was it?", "assistant"), _message("I went out."), _message("too far back")]
    assert (
        message_key(_message("Lovely."), before)
        == "8 May 2023 User: Lovely.\nAssistant: How was it?\nUser: I went out."
    )


@pytest.mark.parametrize("style", ["record", "sentence"])
def test_the_key_of_a_message_holds_nothing_that_a_reply_quotes(style):
    reply = _message("I do. <blockquote>My yacht is red</blockquote>", "assistant")
    pasted = _message("Look: <blockquote>My yacht is red</blockquote>")
    assert "I do." in message_key(reply, (), style)
    assert "yacht" not in message_key(reply, (), style)
    assert "yacht" not in message_key(_message("Is it?"), [reply], style)
    assert "yacht" in message_key(pasted, (), style), "what a person pastes is their own"


def test_the_key_of_a_message_in_a_talk_of_several_names_whoever_said_it():
    ann = replace(_message("I went out.", "assistant"), speaker="Ann")
    bob = replace(_message("So did I.", "assistant"), speaker="Bob")
    assert message_key(bob, [ann]) == "8 May 2023 Bob: So did I.\nAnn: I went out."


def test_for_an_embedder_of_sentences_a_message_stands_as_it_was_said_and_a_short_one_with_what_it_answers():
    before = [_message("How was the island?", "assistant"), _message("too far back")]
    long = "We sailed to Hvar and stayed there for all of the second week."
    assert message_key(_message(long), before, "sentence") == long
    assert message_key(_message("Lovely."), before, "sentence") == "Lovely.\nHow was the island?"
    assert message_key(_message("我去了海边，住在一个很小的旅馆里，每天都去游泳"), before, "sentence").count("\n") == 0
    assert message_key(_message("很好"), before, "sentence") == "很好\nHow was the island?"
    assert (style_for("universal-sentence-1"), style_for("any other")) == ("sentence", "record")


def test_the_day_is_written_in_the_language_of_the_message():
    assert message_key(_message("我去了海边"), []).startswith("2023年5月8日 User: 我去了海边")


def test_keys_of_long_texts_and_odd_times_are_bounded_and_never_fail():
    assert len(message_key(_message("x " * 100_000, at="never"), [_message("y " * 9999)])) < 3000
    assert len(query_key("x " * 100_000)) <= 2000
    assert summary_key(Summary(1, "m", "s", "2023-05-08", "They met.", 3)) == "8 May 2023: They met."


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 300)), unique_by=lambda one: one[0]), st.integers(0, 2000))
def test_what_is_chosen_fits_the_budget_and_hits_are_named(costs, budget):
    cost = dict(costs)
    ranked = [row for row, _ in costs[: len(costs) // 2]]
    around = {row: [near for near in (row + 1, row - 1) if near in cost] for row in ranked}
    chosen = selection.choose(ranked, around, cost, budget)
    assert sum(cost[row] for row in chosen) <= budget
    assert {row for row, hit in chosen.items() if hit} <= set(ranked)


def test_one_long_hit_does_not_shut_out_the_rest():
    chosen = selection.choose([1, 2, 3], {}, {1: 50, 2: 5000, 3: 40}, 100)
    assert list(chosen) == [1, 3]


@pytest.mark.parametrize(("text", "most"), [("hello there, how are you", 8), ("你好，今天天气怎么样", 12), ("", 0)])
def test_the_estimate_of_tokens_is_near(text, most):
    assert most / 2 <= estimate(text) <= most


@pytest.mark.parametrize(
    "text",
    [
        "Where did I park?",
        "我妹妹叫什么？",
        "Thanks! And what was her name?",
        "write to my mother",
        "OK, but why?",
        "okra",
    ],
)
def test_what_may_need_memory_is_searched_for(text):
    assert needs_memory(text)


@pytest.mark.parametrize(
    "text", ["thanks!", "谢谢", "Good night.", "写个快排", "sort this list: 3, 1, 2", "haha", "嗯嗯", "OK."]
)
def test_small_talk_and_plain_orders_are_not(text):
    assert not needs_memory(text)


def test_a_record_is_paid_for_once_and_not_again_where_a_summary_opened_it():
    cost, days = dict.fromkeys(range(4), 10), {0: ("s", "1"), 1: ("s", "1"), 2: ("s", "2"), 3: ("t", "1")}
    enough = 40 + 3 * selection.RECORD + selection._NUMBERS
    assert len(selection.choose(range(4), {}, cost, enough, days)) == 4
    assert len(selection.choose(range(4), {}, cost, enough - 1, days)) == 3
    assert len(selection.choose(range(4), {}, cost, enough - selection.RECORD, days, ["s"])) == 4
    assert len(selection.choose(range(4), {}, cost, enough - selection.RECORD - 1, days, ["s"])) == 3
