"""A sentence may have all the words of a statement and not say it."""

from __future__ import annotations

import pytest

from facts.evidence import without_pasted_text
from facts.refuting import find_fault
from tests.facts.talk import CHEN, MARA, reason, talk


@pytest.mark.parametrize(
    ("said", "statement", "why"),
    [
        ("I dreamt that I ran a bakery in Bergen.", "Mara runs a bakery in Bergen.", "story"),
        ("Last night I had a nightmare. I sold the house.", "Mara sold the house.", "story"),
        ("In my novel the widow Ada keeps bees.", "Ada keeps bees.", "story"),
        ("I dreamt that I ran a bakery.", "Mara dreamt that she ran a bakery.", ""),
        ("I play the cello in a film orchestra.", "Mara plays the cello in a film orchestra.", ""),
        ("I almost resigned on Monday.", "Mara resigned.", "almost"),
        ("I almost resigned on Monday.", "Mara almost resigned.", ""),
        ("I resigned on Monday, almost in tears.", "Mara resigned.", ""),
        ("I run every other morning.", "Mara runs every morning.", "every day"),
        ("I run every morning.", "Mara runs every day.", ""),
        ("We have two boys and three rabbits.", "Mara has three boys.", "number"),
        ("We have two boys and three rabbits.", "Mara has three rabbits.", ""),
        ("My husband is allergic to nuts.", "Mara is allergic to nuts.", "subject"),
        ("He snores terribly.", "Mara snores terribly.", "subject"),
        ("He lends me the car on Sundays.", "Mara has the car on Sundays.", ""),
        ("My husband and I are allergic to nuts.", "Mara is allergic to nuts.", ""),
        ("My sister Ann keeps bees.", "Mara's sister Ann keeps bees.", ""),
    ],
)
def test_an_english_sentence_that_does_not_say_it(said: str, statement: str, why: str) -> None:
    subject, about = ("Ada", "other") if statement.startswith("Ada") else ("Mara", "person")
    assert reason(statement, talk("2025-05-17", said), 1, names=MARA, subject=subject, about=about) == why


@pytest.mark.parametrize(
    ("said", "statement", "why"),
    [
        ("昨晚梦见自己开了家面包店。", "陈默开了家面包店。", "story"),
        ("我在小说里写过一个养蜂的寡妇。", "陈默是养蜂的寡妇。", "story"),
        ("我差点辞职。", "陈默辞职了。", "almost"),
        ("我隔天跑步。", "陈默每天跑步。", "every day"),
        ("我天天跑步。", "陈默每天跑步。", ""),
        ("我家住三楼，台阶有四十级。", "陈默家住四十楼。", "number"),
        ("可惜我老婆花生过敏。", "陈默花生过敏。", "subject"),
        ("可惜我花生过敏。", "陈默花生过敏。", ""),
        ("我妈妈爱吃饺子。", "陈默的妈妈爱吃饺子。", ""),
    ],
)
def test_a_chinese_sentence_that_does_not_say_it(said: str, statement: str, why: str) -> None:
    assert reason(statement, talk("2025-05-17", said), 1, names=CHEN, subject="陈默") == why


def test_a_relation_of_the_other_gender_is_not_meant() -> None:
    said = talk("2025-05-17", "Dad is fine. Her knee was operated on.")
    assert reason("Mara's father had a knee operated on.", said, 1, subject="Mara's father", about="other") == "subject"
    assert reason("Mara's mother had a knee operated on.", said, 1, subject="Mara's mother", about="other") == ""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('Any typos? "Dear Sir, I have two dogs. Petra"', "Any typos?  "),
        ("帮我看看：“尊敬的先生：我养了两条狗。彭佳”谢谢", "帮我看看： 谢谢"),
        ("Look:\n> I quit.\n> Bye\nodd, no?", "Look:\n \n \nodd, no?"),
        ("Why?\n```\nI = 'admin'\n```\nHm", "Why?\n \nHm"),
        ('I read "War and Peace" and 《红楼梦》 twice.', 'I read "War and Peace" and 《红楼梦》 twice.'),
    ],
)
def test_what_was_pasted_is_not_said(text: str, left: str) -> None:
    assert without_pasted_text(text) == left


def test_words_that_were_pasted_are_no_evidence() -> None:
    mail = talk("2025-05-17", 'Any typos? "Dear Sir, I keep two dogs in the flat. Petra"')
    assert reason("Mara keeps two dogs in the flat.", mail, 1) != ""


@pytest.mark.parametrize(
    ("said", "statement", "why"),
    [
        ("The train leaves at ten to seven.", "Mara's train leaves at 6:50.", ""),
        ("The train leaves at quarter past three.", "Mara's train leaves at 15:15.", ""),
        ("The train leaves at 2pm.", "Mara's train leaves at 14:00.", ""),
        ("The train leaves at 2pm.", "Mara's train leaves at 2:00.", "time"),
        ("The train leaves at ten to seven.", "Mara's train leaves at 7:10.", "time"),
        ("火车下午两点半开。", "Mara的火车14:30开。", ""),
        ("火车下午两点半开。", "Mara的火车15:30开。", "time"),
    ],
)
def test_a_time_of_day_is_one_that_was_said(said: str, statement: str, why: str) -> None:
    assert reason(statement, talk("2025-05-17", said), 1) == why


@pytest.mark.parametrize(
    ("said", "statement"),
    [("外婆买了十斤排骨。", "外婆买了5公斤排骨。"), ("The roof cost 15 grand.", "The roof cost Mara 15,000.")],
)
def test_a_weight_or_an_amount_in_other_units_is_the_same(said: str, statement: str) -> None:
    assert reason(statement, talk("2025-05-17", said), 1) == ""


def test_an_answer_is_read_with_its_question() -> None:
    said = talk("2025-05-17", "I'm off.", "> Is Petra a friend?", "A colleague, I sit next to her at the bank.")
    assert reason("Petra is a colleague of Mara at the bank.", said, 3, persons=("Petra",)) == ""
    said = talk("2025-05-17", "I'm off.", "> Is Petra a friend?", "Fine, thanks.")
    assert reason("Petra is a friend of Mara.", said, 3, persons=("Petra",)) != ""


def test_the_companion_is_judged_by_what_it_promised() -> None:
    assert find_fault("Juniper dreamt of bees.", "Juniper", "companion", (), ()) == ""
