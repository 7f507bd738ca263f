"""What "she", "it", "there", 她, 这个 mean is read from the messages before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.references import find_pronouns, resolve_references
from tests.support.growing import growth

#: Messages before, the message, and what it says with its references resolved; the same where they must stay.
CASES = json.loads((Path(__file__).parent / "references.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nineteen_of_twenty_references_are_resolved_in_place(language: str) -> None:
    cases = CASES[language]
    wrong = [
        (recent, text, found, meant)
        for recent, text, meant in cases
        if (found := resolve_references(text, recent)) != meant
    ]
    assert len(cases) >= 200
    assert len(wrong) <= len(cases) // 20, wrong


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_reference_is_left_as_it_is_rather_than_resolved_wrongly(language: str) -> None:
    wrong = [
        (recent, text, found)
        for recent, text, meant in CASES[language]
        if (found := resolve_references(text, recent)) not in (text, meant)
    ]
    assert len(wrong) <= len(CASES[language]) // 50, wrong


@pytest.mark.parametrize(
    ("recent", "text", "meant"),
    [
        (["我女儿叫灿灿"], "她今年几岁了？", "灿灿今年几岁了？"),
        (["桔子熟了", "很甜"], "你喜欢吃这个吗？", "你喜欢吃桔子吗？"),
        (["我买了一台相机"], "它好用吗？", "相机好用吗？"),
        (["The oranges are ripe"], "Do you like eating these?", "Do you like eating oranges?"),
    ],
)
def test_the_published_examples_are_resolved(recent: list[str], text: str, meant: str) -> None:
    assert resolve_references(text, recent) == meant


def test_only_the_last_five_messages_are_read() -> None:
    recent = ["I met Tom Baker here.", "ok", "ok", "ok", "ok", "ok"]
    assert resolve_references("how is he?", recent) == "how is he?"
    assert resolve_references("how is he?", recent[:1], look_back=0) == "how is he?"


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=6))
def test_a_text_without_pronouns_stays_as_it_is(text: str, recent: list[str]) -> None:
    if not find_pronouns(text):
        assert resolve_references(text, recent) == text


def test_work_grows_with_the_length_of_a_message_and_no_faster() -> None:
    assert growth(lambda message: resolve_references("is it there with her?", [message]), "in The A ") < 9
