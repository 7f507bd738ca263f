"""Why something was recalled, in words: no number, no name of a part of the score, in both languages."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from domain.recollection import RecalledChapter, RecalledFact, RecalledMessage, RecalledSummary, Why
from interfaces.messages import LANGUAGES, Words, load_table
from interfaces.recollections import explain_recall
from recall.ranking import BY_MEANING, BY_WORDS

WHEN = "2026-11-16T19:00:00+00:00"
MESSAGE = RecalledMessage(
    "t1", "s1", WHEN, "user", "User: I met Tom at the harbour.", True,
    Why(
        "What did Tom say at the harbour last week?", 3.2, ("Tom", "harbour"),
        (("near", 1.9), ("dense", 0.9), ("words", 0.6), ("length", -0.4), ("opening", 0.8), ("session", 0.01)),
    ),
)  # fmt: skip


def test_reasons_are_names_words_time_and_meaning():
    assert explain_recall(Words("en"), MESSAGE) == [
        "same names: Tom", "same words: harbour", "from the time you mentioned", "similar meaning",
    ]  # fmt: skip
    why = replace(MESSAGE.why, query="上周我叫豆包做了什么？", words=("豆包", "做"))
    assert explain_recall(Words("zh"), replace(MESSAGE, text="User: 我家的猫叫豆包。", why=why)) == [
        "名字相同：豆包", "用词相同：做", "正是你提到的那段时间", "意思相近",
    ]  # fmt: skip


def test_a_part_that_adds_little_is_no_reason():
    why = replace(MESSAGE.why, words=(), parts=(("near", 3.0), ("dense", 0.2), ("meant", -1.0)))
    assert explain_recall(Words("en"), replace(MESSAGE, why=why)) == ["from the time you mentioned"]


def test_a_mark_is_no_word():
    why = replace(MESSAGE.why, words=("@:tom", "Tom"), parts=())
    assert explain_recall(Words("en"), replace(MESSAGE, why=why)) == ["same names: Tom"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_whatever_was_recalled_has_a_reason_without_numbers(language):
    alone = Why("q", 1.0)
    recalled = [
        replace(MESSAGE, why=alone),
        replace(MESSAGE, hit=False),
        RecalledSummary("m1", "s1", WHEN, "We met Tom.", alone),
        RecalledFact(1, "f1", "Ann lives in Oslo.", WHEN, ("t1",), alone),
        RecalledChapter("c1", "Spring", WHEN, WHEN, 3, alone),
    ]
    for one in recalled:
        (reason,) = explain_recall(Words(language), one)
        assert reason.strip()
        assert not re.search(r"\d", reason)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_part_of_a_score_that_is_a_reason_has_its_words(language):
    names = {*BY_MEANING, *BY_WORDS}
    for name in names:
        (reason,) = explain_recall(Words(language), replace(MESSAGE, why=Why("q", 1.0, (), ((name, 2.0),))))
        assert reason in load_table(language).values()
