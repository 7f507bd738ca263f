"""Where a text calls somebody by a name, and where the same letters are something else."""

from __future__ import annotations

import random

import pytest

from language.naming import places_of_name

#: A name, and texts in which {} stands where it is that name, and the name itself where it is not.
TEXTS = {
    "Ann": [
        "{} rang. Mary-Ann, O'Ann, D’Ann, Ann-Lee, Annette, Joann, Ann‑Kathrin. {}'s, {}’s, {}'ll, ({}), {}—yes, {}.",
        "姐姐{}说{}来了。",
        "the Smiths' {} and {}' own, ann",
    ],
    "Jean": ["Jean-Luc met {} and {}'s son."],
    "Will": [
        "Will you come? Ann asked {}. {} came and {}'s dog barked.",
        "Will you come? Will it rain? I will. Free Will is a film.",
        "A Will was found. The Will is read. Will power! “Will you?”",
        "- Will you call\n* Will they\nWill to win",
        "Her brother {} is here. Brother: {}.",
        "和{}去了，{}说好。",
    ],
    "May": [
        "In May it rained. May I? May 5, 2026. May was cold. The May sun. Since May. May's rain.",
        "Ann's sister {} marries in May. Her friend May 5 is no date. She met a girl called {}.",
    ],
    "Mark": ["Mark my words. Mark notes down. We told {} it. Mark Twain wrote."],
    "Rose": ["Rose early to run. A Rose. Ann and {} met. Rose Garden. Rose petals."],
    "Grace": ["Grace before dinner. Ann rang {}; Grace period. {}'s son.", "Grace is rare. Grace said."],
    "Hope": ["Hope dies last. On Hope Street. Hope: none. Ann saw {}.", "Hope is low."],
    "Art": ["Art for all. Art Deco. The Art of it. Ann and {} left.", "Art is long."],
    "Bill": ["The Bill of Rights. With {} there.", "Bill was paid."],
    "Sunny": ["Sunny day. Sunny days. Sunny Beach. With {} there."],
    "王阳": [
        "国王阳台上有花。女王阳台、霸王阳光、大王阳伞。",
        "{}在国王阳台喝茶，他和{}是朋友。姐姐{}五月结婚。",
        "同事{}、医生{}，还有{}。“{}”来了。",
        "国王阳台的门开了，Ann给{}打电话。",
    ],
    "小雨": ["下小雨了。今天有小雨。雷阵雨转小雨。", "她让{}带伞，因为有小雨。", "好吃的小雨，喜欢小雨。"],
    "高明": ["他的办法不高明。很高明。比{}还小。"],
    "欧阳娜": ["{}演唱。"],
}
TABLE = [(name, text) for name, texts in TEXTS.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), TABLE)
def test_a_name_is_found_where_it_is_certainly_one(name: str, text: str) -> None:
    parts = text.split("{}")
    wanted = [len(name.join(parts[:at])) for at in range(1, len(parts))]
    assert places_of_name(name, text.replace("{}", name)) == wanted


def test_what_may_be_a_name_counts_where_it_certainly_is_meant() -> None:
    assert places_of_name("Grace", "Grace has a van.") == []
    assert places_of_name("Grace", "Grace has a van.", meant=True) == [0]
    assert places_of_name("Will", "Will you come?", meant=True) == []
    assert places_of_name("王阳", "国王阳台", meant=True) == []
    assert places_of_name("林晓", "打算跟林晓求婚，林晓辛苦了。") == [3, 8]


@pytest.mark.parametrize("name", ["Will", "will", "王阳", "Mary-Ann", "Grace"])
def test_a_text_that_is_the_name_alone_is_the_name_but_for_a_month(name: str) -> None:
    assert places_of_name(name, name) == [0]
    assert places_of_name("May", "May") == []
    assert places_of_name("May", "May", meant=True) == [0]


#: What touches a name in another one or another word, and what comes between names.
TOUCHING = {
    "Katja": (["Mary-{}", "{}-Lee", "O'{}", "{}na", "d’{}", "x{}", "{}2"], [" ", ", ", ". "]),
    "王阳": (["国{}台", "女{}台", "霸{}光", "魔{}谷"], ["，", "。", " ", "、", "和"]),
}


@pytest.mark.parametrize("name", TOUCHING)
def test_names_in_any_order_with_other_words_are_told_apart(name: str) -> None:
    others, between = TOUCHING[name]
    order = random.Random(7)
    for _ in range(300):
        text, wanted = "", []
        for _ in range(order.randrange(1, 8)):
            if order.random() < 0.5:
                wanted.append(len(text))
                text += name
            else:
                text += order.choice(others).format(name)
            text += order.choice(between)
        assert places_of_name(name, text) == wanted, text
