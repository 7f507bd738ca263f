"""What a person says of themselves becomes a sentence about them where that is safe, and is attributed where not."""

from __future__ import annotations

import pytest

from facts.by_hand import about_person


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I prefer short answers", "Xiaoyu prefers short answers"),
        ("I really don't eat meat.", "Xiaoyu really doesn't eat meat."),
        ("I am allergic to peanuts", "Xiaoyu is allergic to peanuts"),
        ("I'm never late", "Xiaoyu is never late"),
        ("I have a cat. I study law!", "Xiaoyu has a cat. Xiaoyu studies law!"),
        ("I would like you to be short", "Xiaoyu would like you to be short"),
        ("My sister is a pilot", "Xiaoyu's sister is a pilot"),
        ("我喜欢简短的回答", "Xiaoyu喜欢简短的回答"),
        ("我不吃辣，我姐姐小燕是飞行员。", "Xiaoyu不吃辣，Xiaoyu姐姐小燕是飞行员。"),
    ],
)
def test_a_statement_of_oneself_is_turned(said, told):
    assert about_person(said, "Xiaoyu") == told


@pytest.mark.parametrize(
    "said",
    [
        "I prefer tea and hate coffee", "I love my sister", "Call me Captain", "We live in Oslo", "I zork", "I", "I'd go",
        "I said \"I like tea\"", "Do I like tea?", "I like tea. Nobody told me so.", "i'm tired",
    ],
)  # fmt: skip
def test_what_cannot_be_turned_safely_is_attributed_word_for_word(said):
    assert about_person(said, "the user") == f'The user said: "{said}"'


@pytest.mark.parametrize(
    "said", ["我们住在奥斯陆", "叫我队长", "我爱我姐姐", "我喜欢茶吗？", "我国很大", "他说“我累了”"]
)
def test_the_same_in_chinese(said):
    assert about_person(said, "小雨") == f"小雨说过：“{said}”"


@pytest.mark.parametrize("said", ["Anna rides a unicycle.", "Answer briefly.", "喜欢喝茶。", "Use the US spelling."])
def test_what_is_not_of_oneself_stays(said):
    assert about_person(said, "Xiaoyu") == said
