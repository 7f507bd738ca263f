"""What is a command, and what is a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interfaces.terminal.commands.command_table import BY_NAME
from interfaces.terminal.parsing import (
    ALIASES,
    Entered,
    Farewell,
    Typed,
    TypedCommand,
    TypedMessage,
    Unknown,
    block_of,
    parse_input,
)


def parsed(text: str, *, pasted: bool = False) -> Entered:
    return parse_input(Typed(text, pasted), BY_NAME)


@pytest.mark.parametrize("text", ["/save", "、save", "／save", "/SAVE", "／ｓａｖｅ", "  /save  ", "、ＳＡＶＥ"])
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
    ("typed", "nearest"),
    [
        ("/sav", "/save"),
        ("/memroy", "/memory"),
        ("/h", "/help"),
        ("/xyzzy", "/help"),
        ("/quti", "/quit"),
        ("/rese", "/sessions resume"),
        ("/forgt", "/help"),
        ("/delete", "/help"),
        ("/wipe", "/help"),
    ],
)
def test_an_unknown_command_gets_the_nearest(typed: str, nearest: str) -> None:
    assert parsed(typed + " x") == Unknown(typed, nearest)


@pytest.mark.parametrize("text", ["exit", "quit", " EXIT "])
def test_a_bare_farewell_is_told_apart(text: str) -> None:
    assert parsed(text) == Farewell(text.strip())
    assert parsed("exit now") == TypedMessage("exit now")


@pytest.mark.parametrize("typed", ["/rese", "/resett", "/rset", "/f", "/forge", "/forgett", "/cler", "/clea", "/c"])
def test_an_unknown_command_never_guesses_one_that_destroys(typed: str) -> None:
    entered = parsed(typed)
    assert isinstance(entered, Unknown)
    name = entered.nearest.removeprefix("/").split()[0]
    assert not BY_NAME[ALIASES.get(name, (name, ""))[0]].destructive


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/bye", TypedCommand("exit", "")),
        ("/quit", TypedCommand("exit", "")),
        ("/new", TypedCommand("save", "")),
        ("/clear", TypedCommand("reset", "")),
        ("/search  my boat ", TypedCommand("memory", "search my boat")),
        ("、search 船", TypedCommand("memory", "search 船")),
        ("/CONFIG", TypedCommand("setup", "")),
        ("/show last", TypedCommand("sessions", "show last")),
        ("/resume 2", TypedCommand("sessions", "resume 2")),
        ("/pin self I am calm", TypedCommand("persona", "pin self I am calm")),
        ("/recall off", TypedCommand("memory", "recall off")),
        ("/reindex", TypedCommand("memory", "reindex")),
        ("/summary edit", TypedCommand("context", "summary edit")),
    ],
)
def test_other_names_stand_for_commands(typed: str, meant: TypedCommand) -> None:
    assert parsed(typed) == meant


def test_every_other_name_stands_for_a_command_there_is() -> None:
    assert {name for name, _ in ALIASES.values()} <= set(BY_NAME)
    assert not set(ALIASES) & set(BY_NAME)


@pytest.mark.parametrize("text", ["help", "Help", "?", "/?", "？", "、？", "帮助", " ? "])
def test_a_bare_question_mark_or_help_is_help(text: str) -> None:
    assert parsed(text) == TypedCommand("help", "")
    assert isinstance(parsed(f"{text.strip()} me with this"), TypedMessage | TypedCommand)
    assert parsed("what?") == TypedMessage("what?")


def test_what_stands_in_a_block_is_never_a_command() -> None:
    assert parse_input(Typed("/save", block=True), BY_NAME) == TypedMessage("/save")


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('"""\nab\ncd\n"""', "ab\ncd"),
        ('"""\n"""', ""),
        ('"""\n  ab\n\n"""\n', "  ab\n"),
        ("＂＂＂\nab\n＂＂＂", "ab"),
        ('"""', None),
        ('"""ab"""', None),
        ('"""\nab', None),
        ('ab\n"""\ncd\n"""', None),
        ('"""\na\n"""\nb\n"""', None),
        ("", None),
    ],
)
def test_a_block_is_what_stands_between_its_marks(text: str, inside: str | None) -> None:
    assert block_of(text) == inside


@given(st.text(max_size=40))
def test_anything_can_be_entered(text: str) -> None:
    entered = parsed(text)
    assert isinstance(entered, TypedMessage | TypedCommand | Unknown | Farewell)
    assert not isinstance(entered, TypedMessage) or entered.text in (text, text.strip()[1:])
