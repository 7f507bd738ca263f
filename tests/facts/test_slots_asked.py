"""Which slots a question asks for: the same in both languages, and none where nothing can be told."""

from __future__ import annotations

import pytest

from domain.facts import Slot
from facts.slots import find_asked_slots


@pytest.mark.parametrize(
    ("english", "chinese", "attribute"),
    [
        ("Where do I work?", "我在哪里上班？", "employer"),
        ("Do you remember where I live?", "你还记得我住在哪里吗？", "home"),
        ("What's my salary?", "我的工资是多少？", "salary"),
        ("How old am I?", "我几岁了？", "age"),
        ("Which gym do I go to?", "我去哪个健身房？", "gym"),
        ("Who is my boss?", "我的老板是谁？", "boss"),
        ("What is my favourite colour?", "我最喜欢的颜色是什么？", "favourite colour"),
        ("What is the wifi password of my flat?", "我家的wifi密码是多少？", "wifi"),
        ("What is my favourite tea?", "我最喜欢的茶是什么？", "favourite tea"),
        ("And my favourite song?", "我最喜欢的歌呢？", "favourite song"),
    ],
)
def test_a_question_asks_for_the_same_slot_in_both_languages(english, chinese, attribute):
    assert Slot("person", attribute) in find_asked_slots(english)
    assert Slot("person", attribute) in find_asked_slots(chinese)


@pytest.mark.parametrize(
    ("question", "theirs"),
    [
        ("Where does my mother live?", "home"),
        ("我妈妈住在哪里？", "home"),
        ("我妈住哪儿？", "home"),
        ("How old is my sister?", "age"),
        ("我姐姐多大了？", "age"),
        ("When is my girlfriend's birthday?", "birth date"),
        ("我女朋友的生日是哪天？", "birth date"),
        ("我外婆住在哪里？", "home"),
        ("我老板在哪家公司上班？", "employer"),
    ],
)
def test_what_is_asked_of_somebody_of_the_persons_is_not_asked_of_the_person(question, theirs):
    asked = find_asked_slots(question)
    assert Slot("person", theirs) not in asked
    assert theirs in {slot.attribute for slot in asked}


def test_whoever_is_somebodys_is_found_by_what_they_are_called_in_either_language():
    for question in ("我妈妈住在哪里？", "Where does my mother live?"):
        assert {Slot("妈妈", "home"), Slot("妈", "home"), Slot("mother", "home")} <= set(find_asked_slots(question))
    assert Slot("妹妹", "age") not in find_asked_slots("我姐姐多大了？")
    assert Slot("person", "home") in find_asked_slots("我妈住哪？我又住在哪里？")


@pytest.mark.parametrize(
    "text", ["Thanks!", "谢谢", "What did I do last May?", "今天真冷", "Where is the salary printed?"]
)
def test_what_names_no_matter_or_nobody_asks_for_none(text):
    assert find_asked_slots(text) == ()


def test_whose_matter_it_is_is_told_apart():
    assert find_asked_slots("Where does Annika work?") == (Slot("annika", "employer"),)
    assert Slot("person", "employer") not in find_asked_slots("Where does my sister work?")
    assert find_asked_slots("What is your favourite tea?") == (Slot("companion", "favourite tea"),)
