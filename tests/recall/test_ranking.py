"""The ranking is arithmetic: the same evidence gives the same order, and each part does what it is there for."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.embeddings import SentenceEmbedder
from recall.embedding import HashedEmbedder
from recall.questions import parse_question
from recall.ranking import (
    BY_MEANING,
    BY_WORDS,
    KINDS,
    Evidence,
    clarity,
    cohesion,
    from_neighbours,
    has_learnt,
    kinds_of,
    rank,
    score_parts,
    weights_for,
    z,
)


def _evidence(**changed):
    """Six turns in two sessions of three, one term that stands in the fifth."""
    size = 6
    nothing = np.zeros(size, np.float32)
    counts = np.zeros((1, size), np.float32)
    counts[0, 4] = 1
    evidence = Evidence(
        seqs=np.arange(1, size + 1),
        counts=counts,
        rarity=np.array([2.0], np.float32),
        share=np.array([1.0], np.float32),
        lengths=np.full(size, 10, np.float32),
        mean_length=10.0,
        joined=np.array([True, True, False, True, True]),
        of_session=np.array([0, 0, 0, 1, 1, 1]),
        position=np.array([0, 1, 2, 0, 1, 2], np.float32),
        by_user=np.array([1, 0, 1, 1, 0, 1], np.float32),
        by_assistant=np.array([0, 1, 0, 0, 1, 0], np.float32),
        near=nothing,
        meant=nothing,
        asks=nothing,
        later=np.array([1, 0], np.float32),
        word_length=10.0,
        remark=False,
    )
    return replace(evidence, **changed)


def _best(evidence):
    return int(rank(evidence).messages.argmax())


def _at(place, size=6):
    flags = np.zeros(size, np.float32)
    flags[place] = 1
    return flags


def test_the_message_that_holds_the_word_comes_first_and_its_neighbours_before_strangers():
    ranked = rank(_evidence()).messages
    assert ranked.argmax() == 4
    assert ranked[3] > ranked[0]
    assert ranked[5] > ranked[2]


@pytest.mark.parametrize("part", ["near", "meant"])
def test_a_time_or_a_speaker_that_the_question_means_lifts_a_message(part):
    plain = rank(_evidence()).messages
    lifted = rank(_evidence(**{part: _at(1)})).messages
    assert lifted[1] > plain[1]


def test_vectors_of_an_embedder_that_finds_all_alike_do_not_count():
    dense = np.array([0.9, 0.1, 0.1, 0.1, 0.1, 0.1], np.float32)
    assert _best(_evidence(similarity=dense, clarity=0.0)) == 4
    assert score_parts(_evidence(similarity=dense, clarity=1.0))["dense"][0] > 0
    assert clarity(np.array([0.55, 0.5, 0.5, 0.48], np.float32)) == 0.0
    assert clarity(np.array([0.6, 0.1, 0.1, 0.1], np.float32)) == 1.0


def test_what_stood_before_lends_a_message_more_than_what_came_after_it():
    alike = np.array([0.1, 0.1, 0.9, 0.1, 0.1, 0.1], np.float32)
    one_session = {"joined": np.ones(5, np.bool_), "of_session": np.zeros(6, np.int64)}
    near = score_parts(_evidence(similarity=alike, **one_session))["dense_near"]
    assert near[3] > near[1] > near[5]
    assert near[4] > near[0]


def test_a_fact_lifts_the_message_it_was_drawn_from():
    assert rank(_evidence(fact_words=_at(0))).messages[0] > rank(_evidence()).messages[0]


def test_a_session_is_as_good_as_its_best_message():
    assert rank(_evidence()).sessions.argmax() == 1


def test_that_the_person_said_something_counts_for_a_remark_also_in_a_history_without_replies():
    remark, everyone = _evidence(remark=True, similarity=_at(4)), np.ones(6, np.float32)
    without = rank(replace(remark, by_user=everyone, by_assistant=0 * everyone)).messages.mean()
    half = rank(replace(remark, by_user=_at([0, 2, 4]), by_assistant=_at([1, 3, 5]))).messages.mean()
    assert (without, half) == pytest.approx((BY_MEANING["by_user"][1] / 2, 0.0), abs=1e-5)


def test_every_weight_belongs_to_a_part_that_exists():
    known = set(
        score_parts(
            _evidence(similarity=_at(0), summary_words=_at(0, 2), summary_similarity=_at(0, 2), fact_words=_at(0))
        )
    )
    assert known >= BY_MEANING.keys() | BY_WORDS.keys()
    assert all(len(weights) == len(KINDS) for weights in (*BY_MEANING.values(), *BY_WORDS.values()))


@given(st.floats(0, 5000), st.booleans())
def test_the_kinds_of_conversation_share_the_weights_whatever_the_length(length, remark):
    kinds = kinds_of(length, remark=remark)
    assert sum(kinds.values()) == pytest.approx(1.0)
    assert all(share >= 0 for share in kinds.values())
    assert weights_for(_evidence(word_length=length, remark=remark))


def test_an_empty_pool_is_ranked_as_nothing():
    nothing, none = np.zeros(0, np.float32), np.zeros(0, np.int64)
    messages = ("lengths", "position", "by_user", "by_assistant", "near", "meant", "asks")
    empty = _evidence(
        seqs=none,
        of_session=none,
        joined=np.zeros(0, np.bool_),
        counts=np.zeros((1, 0), np.float32),
        later=nothing,
        **dict.fromkeys(messages, nothing),
    )
    assert len(rank(empty).messages) == 0


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=30))
def test_standard_scores_are_finite_whatever_comes(values):
    standard = z(np.array(values, np.float32))
    assert np.isfinite(standard).all()
    assert abs(float(standard.mean())) < 1e-2


def test_what_neighbours_lend_stays_in_the_session():
    lent = from_neighbours(_at(2), np.array([True, True, False, True, True]), (0.5, 0.25))
    assert lent.tolist() == [0.25, 0.5, 0.0, 0.0, 0.0, 0.0]


def test_a_companion_that_talks_more_is_not_preferred_for_it():
    wordy = _evidence(lengths=np.array([10, 60, 10, 10, 60, 10], np.float32))
    assert score_parts(wordy)["length_own"] == pytest.approx(np.zeros(6))
    longer = score_parts(_evidence(lengths=np.array([10, 60, 10, 10, 90, 10], np.float32)))["length_own"]
    assert longer.argmax() == 4


def test_vectors_of_hashed_words_have_weights_of_their_own_and_words_alone_have_the_same():
    assert has_learnt(SentenceEmbedder.model)
    assert has_learnt("a server's")
    assert not has_learnt(HashedEmbedder.model)
    dense = _evidence(similarity=_at(1))
    by_meaning, by_words = (
        {name: weights[0] for name, weights in table.items() if weights[0]} for table in (BY_MEANING, BY_WORDS)
    )
    assert weights_for(dense) == by_meaning
    assert weights_for(replace(dense, learned=False)) == weights_for(_evidence()) == by_words


def test_neighbours_count_as_far_as_messages_that_follow_each_other_are_akin():
    size = 60
    joined = np.ones(size - 1, np.bool_)
    together, scattered = np.zeros(size, np.float32), np.zeros(size, np.float32)
    together[20:26] = 1.0
    scattered[::10] = 1.0
    assert cohesion(together, None, joined) == 1.0
    assert cohesion(scattered, None, joined) == 0.0
    assert cohesion(scattered[:6], None, joined[:5]) == 1.0
    assert cohesion(scattered, together, joined) > 0.0


def test_what_goes_on_with_work_means_the_newer_of_two_sessions_and_no_other_question_does():
    both = np.zeros((1, 6), np.float32)
    both[0, [1, 4]] = 1
    alike = _evidence(counts=both)
    work = replace(alike, word_length=70.0)
    going_on = rank(replace(work, goes_on=True)).messages
    assert going_on[4] > going_on[1]
    for other in (work, replace(alike, goes_on=True)):
        messages = rank(other).messages
        assert messages[4] == messages[1]


@pytest.mark.parametrize(
    ("text", "goes_on"),
    [
        ("Hello. The list is done. What is next?", True),
        ("清单写好了。接下来做什么？", True),
        ("How did I organise the sprint?", False),
        ("我当时怎么安排的？", False),
    ],
)
def test_a_message_that_opens_by_saying_something_goes_on_with_what_was_done_last(text, goes_on):
    assert parse_question(text, date(2026, 11, 20)).goes_on is goes_on
