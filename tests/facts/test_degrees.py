"""A statement says no more than the words it rests on, and of both sides only where both were named."""

from __future__ import annotations

import pytest

from facts.degrees import is_overstated
from facts.drafts import QuoteDraft
from tests.facts.talk import CHEN, MARA, reason, talk


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("Nan has severe anaemia.", "mild anaemia, the doctor says"),
        ("Kofi won the backstroke.", "Kofi came third in the backstroke"),
        ("Mara won the chess club's cup.", "We got second at the chess club's cup!"),
        ("Mara's mum lent her the whole deposit.", "mum lent us half the deposit"),
        ("Mara has cataracts in both eyes.", "cataract in my left eye"),
        ("Mara broke her right arm.", "I broke my left arm"),
        ("外婆重度贫血。", "外婆中度贫血"),
        ("朵朵得了冠军。", "朵朵得了第三名"),
        ("小何每天跑十三个小时。", "今天跑了十三个小时"),
        ("陈默右膝要动手术。", "左膝要动手术"),
    ],
)
def test_more_than_was_said_is_refuted(statement, words):
    assert is_overstated(statement, [words], [words])


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("Nan has severe anaemia.", "severe anaemia, a bit scary"),
        ("Nan's anaemia is not severe.", "mild anaemia"),
        ("Bo was badly hurt.", "a bit of a crash, five broken ribs"),
        ("Tom won silver.", "Tom got silver"),
        ("Tom came second.", "he won't race again, came second"),
        ("Kim swims every Tuesday.", "swimming tonight, as on all tuesdays"),
        ("Kim walks the dog every day.", "walked the dog twice today, as usual"),
        ("Bo's whole family has the flu.", "half the class has the flu, and all my family"),
        ("Mara broke her right arm.", "the left is fine, I broke the right one"),
        ("Mara moved right after the exam.", "I left town after the exam"),
        ("外婆病得很严重。", "外婆病了，有点严重"),
        ("小王每天跑步。", "又去跑步了，今天五公里"),
        ("老李大概要左右各看一次。", "左右各看一次"),
    ],
)
def test_as_much_as_was_said_is_not(statement, words):
    assert not is_overstated(statement, [words], [words])


def test_what_stands_elsewhere_in_the_message_is_not_overstated():
    said = "Mild anaemia, she said. The severe one is my sister's."
    assert not is_overstated("Nan has severe anaemia.", ["Mild anaemia"], [said])


@pytest.mark.parametrize(
    ("said", "statement", "names"),
    [
        ("The kitchen is a mess again.", "Mara trained as a cook in the kitchen of a hotel.", MARA),
        ("厨房又乱成一团了。", "陈默大学读的专业是厨房设计。", CHEN),
    ],
)
def test_a_fact_for_which_the_model_found_no_words_has_those_of_its_message(said, statement, names):
    spoken = talk("2026-05-17", said)
    assert reason(statement, spoken, 1, names=names, quotes=()) == "unsupported"
    assert reason(statement, spoken, 1, names=names, quotes=None) == ""
    assert reason(said, spoken, 1, names=names, quotes=()) == ""


def test_an_overstated_fact_is_counted_as_such():
    said = "They say it is mild anaemia."
    quotes = (QuoteDraft(1, "mild anaemia"),)
    assert reason("Mara has severe anaemia.", talk("2026-05-17", said), 1, quotes=quotes) == "overstated"
