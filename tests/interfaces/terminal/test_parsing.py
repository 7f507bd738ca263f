"""What is a command, and what is a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interfaces.terminal.commands.table import BY_NAME
from interfaces.terminal.parsing import Entered, Farewell, Typed, TypedCommand, TypedMessage, Unknown, parse


def parsed(text: str, *, pasted: bool = False) -> Entered:
    return parse(Typed(text, pasted), BY_NAME)


@pytest.mark.parametrize(
    "text", ["/save", "、save", "／save", "/SAVE", "／ｓａｖｅ", "  /save  ", "、ＳＡＶＥ"]
)
def test_a_command_in_any_of_its_shapes(text: str) -> None:
    assert parsed(text) == TypedCommand("save", "")


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("/forget my cat", "my cat"),
        ("、forget　我的猫", "我的猫"),
        ("/forget  a\nb ", "a\nb"),
        ("/forget /tmp", "/tmp"),
    ],
)
def test_what_follows_the_first_word_is_the_argument(text: str, argument: str) -> None:
    assert parsed(text) == TypedCommand("forget", argument)


@pytest.mark.parametrize(
    "text",
    [
        "/usr/bin",
        "/usr/bin is a folder",
        "/2",
        "/",
        "/ save",
        "/save!",
        "/好",
        "、好的",
        "a /save",
        "/s3",
        "~/x",
        "./x",
    ],
)
def test_other_text_is_a_message_as_it_was_typed(text: str) -> None:
    assert parsed(text) == TypedMessage(text)


def test_two_slashes_send_one() -> None:
    assert parsed("//save") == TypedMessage("/save")
    assert parsed("//usr/bin") == TypedMessage("/usr/bin")


def test_a_pasted_block_is_a_message() -> None:
    assert parsed("/save\nx", pasted=True) == TypedMessage("/save\nx")


@pytest.mark.parametrize(
    ("typed", "nearest"), [("/sav", "/save"), ("/memroy", "/memory"), ("/h", "/help"), ("/xyzzy", "/help")]
)
def test_an_unknown_command_gets_the_nearest(typed: str, nearest: str) -> None:
    assert parsed(typed + " x") == Unknown(typed, nearest)


@pytest.mark.parametrize("text", ["exit", "quit", " EXIT "])
def test_a_bare_farewell_is_told_apart(text: str) -> None:
    assert parsed(text) == Farewell(text.strip())
    assert parsed("exit now") == TypedMessage("exit now")


@given(st.text(max_size=40))
def test_anything_can_be_entered(text: str) -> None:
    entered = parsed(text)
    assert isinstance(entered, TypedMessage | TypedCommand | Unknown | Farewell)
    assert not isinstance(entered, TypedMessage) or entered.text in (text, text.strip()[1:])
