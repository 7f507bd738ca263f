"""A summary says no name, number, date or dose that no message has, what holds now, and what is vital."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facts.importance import importance_of, is_vital, vital_facts
from facts.summary_checks import SummarySources, vital_line, with_current_values, with_vital
from language.scripts import Language
from tests.facts.talk import CHEN, MARA, talk
from tests.facts.test_persona_lines import fact, quoted

ENGLISH = talk(
    "2025-03-05",
    "I take metoprolol, 25 mg in the morning. Annika comes on Friday at 7pm.",
    "> Good.",
    "Marguerite, not Margaret! She is 71 and never eats peanuts.",
    "> Noted.",
    "We pay 850 pounds rent since 1 February 2025.",
)
CHINESE = talk("2025-03-05", "我每天早上吃美托洛尔25毫克。", "> 好。", "房租从2025年2月1日起是850块。林晓星期五来。")
EN = SummarySources(ENGLISH, MARA, {"user": "Mara", "assistant": "Juniper"})
ZH = SummarySources(CHINESE, CHEN, {"user": "陈默", "assistant": "老友"})


@pytest.mark.parametrize(
    ("sources", "language", "text"),
    [
        (EN, "en", "Mara takes 25 mg of metoprolol. Annika comes on 7 March 2025 at 7pm."),
        (EN, "en", "- Mara pays 850 pounds of rent.\n- Marguerite is 71.\n\nOn 2025-03-05 they talked about it."),
        (EN, "en", "Mara and Juniper had two conversations about peanuts."),
        (ZH, "zh", "陈默每天吃25毫克美托洛尔。\n房租850块，2025年2月1日起。"),
        (ZH, "zh", "两人谈了两次对话。"),
    ],
)  # fmt: skip
def test_what_the_messages_have_stays_letter_for_letter(sources: SummarySources, language: Language, text: str) -> None:
    assert sources.check_text(text, language) == text


@pytest.mark.parametrize(
    ("sources", "language", "invented", "becomes"),
    [
        (EN, "en", "Mara takes metoprolol, 50 mg in the morning.", "Mara, 2025-03-05: “I take metoprolol, 25 mg in the morning.”"),
        (EN, "en", "Mara pays 950 pounds rent.", "Mara, 2025-03-05: “We pay 850 pounds rent since 1 February 2025.”"),
        (EN, "en", "Annika comes on 9 April 2025.", "Mara, 2025-03-05: “Annika comes on Friday at 7pm.”"),
        (EN, "en", "Annika comes on 9 April; Mara never eats peanuts.", "Mara, 2025-03-05: “Annika comes on Friday at 7pm.” Mara never eats peanuts."),
        (EN, "en", "She is called Margot and lives in Bergen.", ""),
        (EN, "en", "Mara takes 71 mg.", "Mara, 2025-03-05: “I take metoprolol, 25 mg in the morning.”"),
        (EN, "en", "The user is an admin since 2019.", ""),
        (ZH, "zh", "陈默每天早上吃美托洛尔50毫克。", "陈默（2025-03-05）：“我每天早上吃美托洛尔25毫克。”"),
        (ZH, "zh", "房租从2月1日起是950块。", "陈默（2025-03-05）：“房租从2025年2月1日起是850块。”"),
        (ZH, "zh", "房租从2月1日起是950块；林晓星期五来。", "陈默（2025-03-05）：“房租从2025年2月1日起是850块。”林晓星期五来。"),
        (ZH, "zh", "用户从2019年起是管理员。", ""),
    ],
)  # fmt: skip
def test_a_sentence_with_a_value_that_no_message_has_becomes_the_quotation_or_goes(
    sources: SummarySources, language: Language, invented: str, becomes: str
) -> None:
    true = "Mara was glad." if language == "en" else "陈默很高兴。"
    between = " " if language == "en" else ""
    assert sources.check_text(f"{true}{between}{invented}", language) == f"{true}{between}{becomes}".strip()
    assert sources.check_text(f"{true}\n{invented}\n{true}", language) == "\n".join(filter(None, (true, becomes, true)))


def test_a_title_that_no_message_bears_out_gives_way_to_the_days() -> None:
    text = "Margot and the 900 pounds\nMara was glad."
    assert EN.check_text(text, "en", title="2025-03-05") == "2025-03-05\nMara was glad."
    assert EN.check_text("Annika comes\nMara was glad.", "en", title="2025-03-05").startswith("Annika comes")


def test_what_is_hidden_or_the_demo_model_said_supports_nothing() -> None:
    for changed in ({"hidden": True}, {"demo": True}):
        sources = SummarySources([replace(one, **changed) for one in ENGLISH], MARA, {"user": "Mara", "assistant": "J"})
        assert sources.check_text("Mara pays 850 pounds rent. She is glad.", "en") == "She is glad."


@pytest.mark.parametrize(
    ("language", "then", "now", "line"),
    [
        ("en", "Mara weighs 209 pounds.", "Mara weighs 203 pounds.", "Since 2025-06-01: Mara weighs 203 pounds."),
        ("zh", "陈默体重209斤。", "陈默体重203斤。", "2025-06-01 起：陈默体重203斤。"),
    ],
)
def test_an_older_value_is_followed_by_the_one_that_holds_now(
    language: Language, then: str, now: str, line: str
) -> None:
    old = fact("old", then, "weight", "209", until="2025-06-01", replaced_by="middle")
    middle = fact("middle", "…", "weight", "206", until="2025-06-01", replaced_by="new")
    new = fact("new", now, "weight", "203", since="2025-06-01T10:00:00+00:00")
    known = [old, middle, new]
    assert with_current_values(then, known, language) == f"{then}\n{line}"
    assert with_current_values(f"{then} {now}", known, language) == f"{then} {now}"
    assert with_current_values("Other.", known, language) == "Other."
    assert with_current_values(then, [old, middle, replace(new, learned_as="quoted", verified=False)], language) == then


@pytest.mark.parametrize(
    ("one", "vital"),
    [
        (fact("a", "Mara's mother is allergic to peanuts.", "allergy", "peanuts"), True),
        (fact("a", "Mara takes metoprolol 50 mg.", "habit", "metoprolol 50 mg"), True),
        (fact("a", "Josef died in May.", "death", "May"), True),
        (fact("a", "Mara promised not to tell Kate.", "secret", "Kate"), True),
        (fact("a", "陈默对花生过敏。", "饮食", "花生"), True),
        (fact("a", "外婆去世了。", "家人", "外婆"), True),
        (quoted("a", "He is fine.", "I am allergic to nuts."), True),
        (fact("a", "Mara likes tea.", "likes", "tea"), False),
        (fact("a", "Mara is called Mara.", "name", "Mara"), False),
        (fact("a", "Mara joked that she is allergic to work.", "allergy", "work", stance="joked"), False),
    ],
)
def test_allergies_medicines_deaths_and_promises_are_vital(one: object, vital: bool) -> None:
    assert is_vital(one) == vital  # type: ignore[arg-type]
    assert (importance_of(one) == 10) == (vital or one.slot.attribute == "name" or one.stance == "joked")  # type: ignore[arg-type, attr-defined]


def test_the_newest_vital_facts_that_hold_are_told_in_order() -> None:
    facts = [
        fact(f"f{at}", f"Takes drug{at} {at} mg.", "medication", f"drug{at}", said=f"2025-01-{at:02}")
        for at in range(10, 20)
    ]
    over, guessed = replace(facts[9], until="2025-02-01"), replace(facts[8], learned_as="inferred", verified=False)
    assert [one.text_id for one in vital_facts([*facts[:8], guessed, over], 2)] == ["f16", "f17"]


@pytest.mark.parametrize(
    ("language", "statement", "value", "words", "line", "quotation"),
    [
        ("en", "Mara is allergic to penicillin.", "penicillin", "no penicillin for me", "2025-07-12: Mara is allergic to penicillin.",
         "2025-07-12: “no penicillin for me”"),
        ("zh", "陈默对青霉素过敏。", "青霉素", "我不能打青霉素", "2025-07-12：陈默对青霉素过敏。", "2025-07-12：“我不能打青霉素”"),
    ],
)  # fmt: skip
def test_what_is_vital_and_missing_is_added_with_its_day(
    language: Language, statement: str, value: str, words: str, line: str, quotation: str
) -> None:
    one = fact("p", statement, "allergy", value)
    assert with_vital("Tea. 茶。", [one], language) == f"Tea. 茶。\n{line}"
    assert with_vital(statement, [one], language) == statement
    assert vital_line(quoted("p", statement, words, value=value), language) == quotation


@pytest.mark.parametrize(
    ("language", "said", "stays", "wrong", "becomes"),
    [
        (
            "en", "I'm Mara, Mara Lindqvist, 34 until the 12th of June. I live in a small flat in Headingley with my cat.",
            "Mara Lindqvist, 34 until 12 June 2025 (birthday 12 June, turning 35). She was born on 12 June 1990.",
            "For 47 years she shared the small flat with a cat, tea, the rooks and friends, glad of quiet evenings.",
            "Mara, 2025-03-01: “I live in a small flat in Headingley with my cat.”",
        ),
        (
            "zh", "我叫陈默，三十二岁，生日是6月12日。", "陈默生日6月12日，今年满33岁，1992年出生。",
            "陈默介绍自己叫陈默，三十二岁，生日是6月15日，打算请客。", "陈默（2025-03-01）：“我叫陈默，三十二岁，生日是6月12日。”",
        ),
    ],
)  # fmt: skip
def test_what_follows_from_an_age_is_supported_and_what_is_worked_out_wrongly_is_quoted(
    language: Language, said: str, stays: str, wrong: str, becomes: str
) -> None:
    names, speaker = (MARA, "Mara") if language == "en" else (CHEN, "陈默")
    sources = SummarySources(talk("2025-03-01", said), names, {"user": speaker, "assistant": "Juniper"})
    assert sources.check_text(stays, language) == stays
    assert sources.check_text(wrong, language) == becomes


def test_a_sentence_of_the_diary_may_ask_count_and_date_in_its_own_words() -> None:
    english = talk(
        "2026-10-06",
        "whats the difference between mount board and museum board? i bluffed",
        "> Museum board's cotton rag, ordinary mount board is wood pulp. What would you be doing there?",
        "ha ok i wasnt far off",
    )
    chinese = talk("2026-10-10", "说是一周之内给消息", "> 那最晚十六号前后见分晓。", "12号去医院做检查")
    sources = SummarySources(english, MARA, {"user": "Mara", "assistant": "Juniper"})
    ids = [one.text_id for one in english]
    assert sources.supports("I told Mara how the two differ, and Mara wasn't far off.", ids)
    assert sources.supports("I asked Mara what the work would be.", ids[1:2])
    assert not sources.supports("I asked Mara what the work would be.", ids[2:])
    assert not sources.supports("Mara said that the two boards cost 40 pounds.", ids)
    sources = SummarySources(chinese, CHEN, {"user": "陈默", "assistant": "老友"})
    ids = [one.text_id for one in chinese]
    assert sources.supports("说是一周之内给消息，我说那最晚十六号前后见分晓。", ids)
    assert sources.supports("他12号去医院做检查。", ids)
    assert not sources.supports("他14号去医院做检查。", ids)


@pytest.mark.parametrize(
    ("said", "line", "kept"),
    [
        ("Tom's birthday came and went.", "- Tom's birthday (2025-11-03) came and went.",
         "- Tom's birthday came and went."),
        ("赵磊的生日过去了。", "- 赵磊的生日（11月3日）过去了。", "- 赵磊的生日过去了。"),
        ("I met Tom Okafor, one more Tom.", "- Tom Okafor is called so, as not to mix up the two Toms.",
         "- Tom Okafor is called so, as not to mix up the two Toms."),
        ("The weather was awful on the windowsill.", "- The weather was awful in Bristol.",
         "- Mara, 2025-11-16: “The weather was awful on the windowsill.”"),
    ],
)  # fmt: skip
def test_a_line_loses_only_the_date_that_no_message_has_and_stays_an_item(said: str, line: str, kept: str) -> None:
    language: Language = "en" if said.isascii() else "zh"
    names = MARA if said.isascii() else CHEN
    sources = SummarySources(talk("2025-11-16", said), names, {"user": "Mara", "assistant": "Juniper"})
    assert sources.check_text(line, language) == kept
