"""The set of two lives asked about in the other language: whole, as every set is laid out, and fair."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from bench.recall_sets import read

_PATH = Path(__file__).parents[2] / "bench" / "sets" / "cross_language.json"
_DATA = json.loads(_PATH.read_text(encoding="utf-8"))
_HAN = re.compile("[\u4e00-\u9fff]")


def _messages(hay):
    return {message["tid"]: message["text"] for session in hay["sessions"] for message in session["turns"]}


def test_thirty_questions_are_asked_in_each_language_of_a_life_in_the_other():
    asked_in_chinese = [question["hid"] for question in _DATA["questions"] if _HAN.search(question["q"])]
    assert len(_DATA["questions"]) == 60
    assert asked_in_chinese == ["nora"] * 30


@pytest.mark.parametrize("name", _DATA["hays"])
def test_a_life_is_months_of_talk_in_one_language(name):
    hay = _DATA["hays"][name]
    dates = [session["date"] for session in hay["sessions"]]
    messages = _messages(hay)
    assert 8 <= len(dates) <= 12
    assert dates == sorted(set(dates))
    assert len(messages) >= 120
    assert {bool(_HAN.search(text)) for text in messages.values()} == {name != "nora"}


@pytest.mark.parametrize("question", _DATA["questions"], ids=lambda question: question["qid"])
def test_a_question_has_its_evidence_and_shares_no_word_with_it(question):
    messages = _messages(_DATA["hays"][question["hid"]])
    words = {word.lower() for word in re.findall(r"[A-Za-z]+|\d+|[\u4e00-\u9fff]", question["q"])}
    assert question["groups"]
    for group in question["groups"]:
        for tid in group:
            assert not words & {word.lower() for word in re.findall(r"[A-Za-z]+|\d+|[\u4e00-\u9fff]", messages[tid])}


def test_the_bench_reads_it(tmp_path):
    packed = tmp_path / "cross_language.json.gz"
    packed.write_bytes(gzip.compress(_PATH.read_bytes()))
    data = read(packed)
    assert (len(data.histories), len(data.questions)) == (2, 60)
    assert all(question.before == len(data.histories[question.history]) for question in data.questions)
