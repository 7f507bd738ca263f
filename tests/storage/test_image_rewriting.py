"""Which rewrites of an image are taken."""

from __future__ import annotations

import pytest

from storage.images import refusal, with_pins

OLD = "Ann lives in Lyon. She likes green tea and has a cat called Mo."


@pytest.mark.parametrize("new", ["", "   \n", "\t"], ids=repr)
def test_an_empty_rewrite_is_refused(new: str) -> None:
    assert refusal(OLD, new) == "empty"
    assert refusal("", new) == "empty"


def test_a_rewrite_that_loses_more_than_two_fifths_is_refused() -> None:
    assert refusal("x" * 100, "y" * 59) == "shrunk"
    assert refusal("x" * 100, "y" * 60) is None


def test_a_first_image_and_a_longer_one_are_taken() -> None:
    assert refusal("", OLD) is None
    assert refusal(OLD, OLD + " She works at night.") is None


def test_the_same_in_chinese_is_no_loss() -> None:
    assert refusal(OLD, "安住在里昂。她喜欢绿茶，有一只叫小莫的猫。") is None


def test_a_rewrite_without_a_pinned_line_is_refused() -> None:
    assert refusal(OLD, OLD, ["Call her Annie."]) == "pins"
    assert refusal(OLD, OLD + "\nCall  her\nAnnie.", ["Call her Annie.", ""]) is None


def test_missing_pins_are_added_once_and_in_order() -> None:
    text = with_pins("Likes tea.", ["Call her Annie.", "Likes tea.", "Never mention Bob."])
    assert text == "Likes tea.\nCall her Annie.\nNever mention Bob."
    assert with_pins(text, ["Call her Annie."]) == text
    assert with_pins("", ["Call her Annie."]) == "Call her Annie."
