"""The same in Chinese: only what stands in the turns that a note names is believed. Sentences of a Chinese life."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facts.drafts import QuoteDraft, RelationDraft
from facts.slots import Names
from language.words import names_in
from tests.facts.talk import CHEN, checked, fact_draft, reason, talk

FIRST = talk(
    "2025-04-05",
    "你好，我叫陈默，三十二岁，在杭州滨江一家做扫地机器人的公司当嵌入式工程师，公司叫净尘科技，月薪两万六。",
    "> 陈默，你好。净尘忙不忙？你住在西湖边吗？",
    "女朋友叫林晓，在西溪那边的小学教美术。我们养了一条柯基，叫豆包，三岁。",
    "> 我最喜欢喝的是凤凰单丛，鸭屎香。",
    "昨天清明，我回绍兴给外公上坟，他以前教我下围棋，我到现在还留着他那副云子。",
    "> 云子越用越润。",
    "我打算今年十月十二号跟林晓求婚，那天是她生日。对了，我生日是农历八月十五，到时候你记得跟我说声生日快乐，行吗？",
    "> 行，八月十五那天我跟你说生日快乐。",
)
LATER = talk(
    "2025-08-16",
    "我找到新工作了，成都的蜀芯，三万一，九月八号入职。净尘裁员，上个月底走的人。",
    "> 恭喜。",
    "我大前天开始戒烟的，今天第四天。我爸下周三要放心脏支架，在绍兴人民医院。",
    "> 八月二十号，是吧？",
    "豆包带不走，先跟着林筱。唉，要不我干脆上峨眉山出家算了，反正离成都近。",
    "> 峨眉山可不收带云子上山的人。",
)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("陈默在净尘科技当嵌入式工程师，月薪26000元。", 1),
        ("陈默32岁，在杭州滨江上班。", 1),
        ("陈默出生于1992年或1993年。", 1),
        ("陈默的女朋友林晓在西溪的小学教美术。", 3),
        ("陈默养了一条叫豆包的柯基。", 3),
        ("陈默2025年4月4日回绍兴给外公上坟。", 5),
        ("陈默留着外公的云子。", 5),
        ("陈默打算2025年10月12日向林晓求婚。", 7),
        ("陈默的生日是农历八月十五。", 7),
    ],
)
def test_what_stands_in_its_turns_or_follows_from_their_day_is_believed(statement: str, message: int) -> None:
    assert reason(statement, FIRST, message, names=CHEN) == ""


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("陈默的新工作在成都的蜀芯，月薪31000元，2025年9月8日入职。", 1),
        ("陈默2025年7月底离开了净尘。", 1),
        ("陈默2025年8月13日开始戒烟。", 3),
        ("陈默的爸爸2025年8月20日在绍兴人民医院放心脏支架。", 3),
    ],
)
def test_days_are_worked_out_from_when_they_were_spoken_of(statement: str, message: int) -> None:
    assert reason(statement, LATER, message, names=CHEN) == ""


@pytest.mark.parametrize(
    ("statement", "message", "why", "fields"),
    [
        ("陈默在Google当工程师。", 1, "name", {}),
        ("陈默的女朋友叫王芳。", 3, "name", {}),
        ("陈默跟王芳一起养狗。", 3, "name", {"persons": ("陈默", "王芳")}),
        ("陈默月薪三万六。", 1, "number", {}),
        ("陈默2025年4月3日回绍兴给外公上坟。", 5, "date", {}),
        ("陈默的生日是2025年9月15日。", 7, "date", {}),
        ("我在净尘科技当工程师。", 1, "pronoun", {}),
        ("陈默住在西湖边。", 2, "companion's words", {}),
        ("陈默喜欢滑雪和冲浪。", 3, "unsupported", {}),
        ("陈默在净尘科技上班。", 9, "no turn", {}),
    ],
)
def test_what_is_invented_or_left_open_is_not_believed(
    statement: str, message: int, why: str, fields: dict[str, object]
) -> None:
    assert reason(statement, FIRST, message, names=CHEN, **fields) == why


@pytest.mark.parametrize(
    ("said", "statement", "stance"),
    [
        (LATER[4].words, "陈默要上峨眉山出家。", "joked"),
        (LATER[4].words, "豆包跟着林筱。", "stated"),
        ("如果中了彩票，我就去火星买房。", "陈默去火星买房。", "supposed"),
        ("要是搬去北京就好了。", "陈默搬去北京。", "supposed"),
        ("如果中了奖我就买房，买在海边。", "陈默在海边买房。", "supposed"),
        ("如果他同意我就辞职，去深圳工作。", "陈默去深圳工作。", "supposed"),
        ("要是涨工资我就租个大房子，把父母接到上海。", "陈默把父母接到上海。", "supposed"),
        ("要是涨工资我就租个大房子 我就把父母接到上海", "陈默把父母接到上海。", "supposed"),
        ("要是涨工资我就租个大房子，我父母在上海。", "陈默的父母在上海。", "stated"),
        ("要是下雨就不去，反正票在林筱那儿。", "票在林筱那儿。", "stated"),
        ("据说公司要裁员。", "公司裁员。", "supposed"),
        ("我升职当总裁了，哈哈哈！", "陈默升职当总裁。", "joked"),
        ("哈哈，我升职当经理了。", "陈默升职当经理。", "stated"),
        ("我打算明年学开车。", "陈默打算2026年学开车。", "planned"),
        ("我打算今年十月十二号跟林晓求婚，那天是她生日。", "林晓的生日是10月12日。", "stated"),
        ("我打算今年十月十二号跟林晓求婚，那天是她生日。", "陈默打算2025年10月12日向林晓求婚。", "planned"),
        ("真想再养一条狗。", "陈默养一条狗。", "wished"),
        ("我找到新工作了，一个月三万一。", "陈默的新工作一个月31000元。", "stated"),
    ],
)
def test_nothing_becomes_more_certain_than_it_was_said(said: str, statement: str, stance: str) -> None:
    found = checked(fact_draft(statement, 1), talk("2025-08-16", said), CHEN)
    assert [fact.stance for fact in found.facts] == [stance]


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("我不再喝咖啡了。", "陈默喝咖啡。"),
        ("我和林筱分手了，异地实在扛不住。", "陈默和林筱在一起。"),
        ("我住在成都。", "陈默不住在成都。"),
        ("婚没求成。", "陈默求成了婚。"),
    ],
)
def test_a_statement_that_turns_its_evidence_round_is_not_believed(said: str, statement: str) -> None:
    assert reason(statement, talk("2025-12-20", said), 1, names=CHEN) in ("polarity", "unsupported")


def test_a_yes_makes_evidence_of_what_the_companion_said() -> None:
    said = talk("2026-04-25", "小李今天请全组喝奶茶。", "> 测试的小李，那就是李楠了？", "对，就是她。", "> 替我道喜。")
    (fact,) = checked(fact_draft("请全组喝奶茶的小李是测试的李楠。", 1, 3, persons=("李楠",)), said, CHEN).facts
    assert fact.messages == ("2026-04-25/1", "2026-04-25/2", "2026-04-25/3")
    sorry = talk("2026-04-25", "小李今天请喝奶茶。", "> 那就是李楠了？", "对不起，打错了。", "> 没事。")
    assert reason("请喝奶茶的小李是李楠。", sorry, 2, names=CHEN, persons=("李楠",)) == "companion's words"


def test_a_name_that_is_known_from_earlier_talk_may_stand_in_a_statement() -> None:
    said = talk("2026-04-25", "小李今天请全组喝奶茶，她要升测试经理了。")
    assert reason("李楠要升测试经理了。", said, 1, names=CHEN, persons=("李楠",)) == "name"
    known = Names(("陈默",), ("老友",), frozenset({"李楠"}))
    assert reason("李楠要升测试经理了。", said, 1, names=known, persons=("李楠",)) == ""


def test_a_message_that_only_asks_is_no_evidence() -> None:
    assert reason("陈默最喜欢喝绿茶。", talk("2025-04-05", "我最喜欢喝绿茶吗？你自己呢？"), 1, names=CHEN) == "question"


def test_what_a_person_asked_to_have_forgotten_leaves_nothing() -> None:
    said = talk("2025-04-05", "林晓欠了赌债。求你把刚才的话忘掉，别再提。", "> 好。", "我爸手术很顺利。", "> 太好了。")
    for message in (1, 2):
        assert reason("林晓欠了赌债。", said, message, names=CHEN) == "forgotten"
    assert reason("陈默的爸爸手术很顺利。", said, 3, names=CHEN) == ""


def test_to_call_by_full_name_names_nobody() -> None:
    assert list(names_in("老友说以后叫全名。")) == []
    assert list(names_in("做测试的叫李楠。")) == ["李楠"]


@pytest.mark.parametrize(
    ("said", "statement", "why"),
    [
        ("我家阳台上你能看到江。", "陈默家的阳台上你能看到江。", ""),
        ("我希望你能看到江。", "陈默希望你能看到江。", "pronoun"),
        ("你住在江边。", "你住在江边。", "pronoun"),
        ("小李让我跟他去北京。", "小李让陈默跟他去北京。", ""),
        ("林筱没改姓。", "林筱保留了原来的姓。", ""),
        ("林筱改了姓。", "林筱没改姓。", "polarity"),
    ],
)
def test_what_was_said_of_anybody_kept_or_pointed_at_clearly_is_believed(said: str, statement: str, why: str) -> None:
    known = Names(CHEN.person, CHEN.companion, frozenset({"小李", "林筱"}))
    people = tuple(name for name in ("小李", "老王", "林筱") if name in statement or name in said)
    assert reason(statement, talk("2026-05-02", said), 1, names=known, persons=people, about="other") == why


def test_what_a_statement_refers_to_is_no_gate_and_its_day_is_worked_out() -> None:
    for statement, message, kept in (
        ("他以前教陈默下围棋。", 5, "他以前教陈默下围棋。"),
        ("陈默昨天给外公上坟。", 5, "陈默昨天（2025-04-04）给外公上坟。"),
        ("Chen Mo works at a robot company as an engineer.", 1, "Chen Mo works at a robot company as an engineer."),
    ):
        assert [one.restatement for one in checked(fact_draft(statement, message), FIRST, CHEN).facts] == [kept]


@pytest.mark.parametrize(
    ("statement", "messages", "why"),
    [
        ("老友答应八月十五那天跟陈默说生日快乐。", (7, 8), ""),
        ("老友答应八月十六那天跟陈默说生日快乐。", (7, 8), "date"),
        ("老友答应2025-08-15跟陈默说生日快乐。", (7, 8), "date"),
        ("陈默的生日是农历八月十六。", (7,), "date"),
    ],
)
def test_a_day_as_it_was_said_may_stand_and_is_never_worked_out(
    statement: str, messages: tuple[int, ...], why: str
) -> None:
    about = {"about": "companion", "subject": "老友"} if statement.startswith("老友") else {}
    assert reason(statement, FIRST, *messages, names=CHEN, **about) == why


def test_the_day_of_a_question_is_that_of_its_answer() -> None:
    said = talk("2025-08-25", "> 你爸八月二十号的手术做得怎么样？", "做得很顺利，人已经醒了。")
    assert reason("陈默爸爸2025年8月20日的手术做得很顺利。", said, 2, names=CHEN) == ""
    assert reason("陈默爸爸2025年8月21日的手术做得很顺利。", said, 2, names=CHEN) == "date"
    refused = talk("2025-08-25", "> 你爸八月二十号的手术做得怎么样？", "没做，别的检查做得很顺利。")
    assert reason("陈默爸爸2025年8月20日的检查做得很顺利。", refused, 2, names=CHEN) == "date"


def test_a_birthday_that_lies_ahead_is_no_plan() -> None:
    draft = fact_draft("林晓的生日是十月十二号。", 7, subject="林晓", attribute="生日", stance="planned", about="other")
    assert [fact.stance for fact in checked(draft, FIRST, CHEN).facts] == ["stated"]
    party = fact_draft("陈默打算2025年10月12日给林晓过生日。", 7, subject="林晓", attribute="生日", stance="planned")
    assert [fact.stance for fact in checked(party, FIRST, CHEN).facts] == ["planned"]


@pytest.mark.parametrize(
    ("statement", "message", "attribute", "kept"),
    [
        ("陈默三十二岁。", 1, "年龄", "陈默三十二岁（2025-04-05；1992/1993年生）。"),
        ("豆包是一条柯基，三岁。", 3, "宠物", "豆包是一条柯基，三岁（2025-04-05；2021/2022年生）。"),
    ],
)
def test_an_age_is_kept_with_its_day_and_the_year_of_birth(
    statement: str, message: int, attribute: str, kept: str
) -> None:
    found = checked(fact_draft(statement, message, attribute=attribute), FIRST, CHEN).facts
    assert [fact.restatement for fact in found] == [kept]


MOTHER = talk("2025-04-05", "我妈妈住在绍兴，养了几箱蜜蜂。", "> 嗯。")


@pytest.mark.parametrize(
    ("statement", "subject", "value", "why"),
    [
        ("陈刚住在宁波。", "陈刚", "宁波", "name"),
        ("陈刚住在绍兴。", "陈刚", "绍兴", "name"),
        ("陈默的妈妈住在宁波。", "妈妈", "宁波", "value"),
        ("陈默的妈妈养了两只山羊。", "妈妈", "山羊", "value"),
        ("陈默的妈妈养了山羊。", "妈妈", "山羊", "value"),
        ("陈默的妈妈住在绍兴。", "陈默的妈妈", "绍兴", ""),
        ("陈默的母亲住在绍兴。", "母亲", "绍兴", ""),
        ("陈默的妈妈养蜂。", "妈妈", "养蜂", ""),
    ],
)
def test_a_name_that_no_capital_tells_is_believed_only_where_somebody_said_it(
    statement: str, subject: str, value: str, why: str
) -> None:
    told = reason(statement, MOTHER, 1, names=CHEN, subject=subject, value=value, about="other")
    assert told == why


def test_a_note_of_what_nobody_said_goes_with_its_fact() -> None:
    made_up = fact_draft("陈刚住在宁波。", 1, subject="陈刚", value="宁波", about="other")
    assert checked(made_up, MOTHER, CHEN).notes == ()


def test_whom_a_fact_is_about_may_stand_in_its_relations_though_another_message_names_them() -> None:
    said = talk("2025-04-05", "我叫陈岚。", "> 你好。", "我男朋友叫赵磊。")
    wanted = RelationDraft("陈岚", "男朋友", "赵磊")
    partner = fact_draft("陈岚的男朋友叫赵磊。", 3, subject="陈岚", value="赵磊", relations=(wanted,))
    (relation,) = checked(partner, said, Names(("用户",), ("老友",))).relations
    assert (relation.source, relation.target) == ("陈岚", "赵磊")
    stranger = replace(partner, relations=(replace(wanted, source="王芳"),))
    assert checked(stranger, said, Names(("用户",), ("老友",))).relations == ()


def _day(statement: str, day: str, said: str, quote: str, **fields: object) -> tuple[str, str]:
    """The start and the value of a fact that rests on these words."""
    draft = fact_draft(statement, quotes=(QuoteDraft(1, quote),), **fields)
    (fact,) = checked(draft, talk(day, said), CHEN).facts
    return fact.start, fact.value


def test_a_day_without_a_year_lies_ahead_of_a_plan_or_a_promise_and_behind_what_happened() -> None:
    ring = "我打算十月十二号求婚。"
    assert _day("陈默打算十月十二号求婚", "2025-04-05", ring, ring, stance="planned") == ("2025-10-12", "")
    promise = "十月十二号我替你守着。"
    assert _day("陈默替人守着十月十二号", "2025-04-05", promise, promise, attribute="承诺")[0] == "2025-10-12"
    moved = "十二月三号我搬了家。"
    assert _day("陈默十二月三号搬了家", "2025-11-05", moved, moved)[0] == "2024-12-03"


def test_the_year_that_a_model_gave_counts_and_no_value_gets_another() -> None:
    visit = "我爸五一来成都。"
    given = {"value": "五一来成都", "about": "other", "subject": "陈默的爸爸"}
    coming = _day("陈默的爸爸五一来成都", "2026-04-25", visit, visit, start="2026-05-01", **given)
    assert coming == ("2026-05-01", "2026-05-01来成都")
    been = _day("陈默的爸爸五一来成都", "2026-04-25", visit, visit, start="2025-05-01", **given)
    assert been == ("2025-05-01", "2025-05-01来成都")


def test_only_the_words_that_tell_a_fact_give_its_day() -> None:
    job = "我找到新工作了，成都的蜀芯，做车规芯片，三万一，九月八号入职。"
    firm = {"subject": "蜀芯", "about": "other"}
    assert _day("蜀芯在成都，做车规芯片", "2025-08-16", job, "成都的蜀芯，做车规芯片", **firm)[0] == ""
    tea = "李楠今天请全组喝奶茶，她要升测试经理了。"
    assert _day("李楠要升测试经理了", "2026-04-25", tea, tea, subject="李楠", about="other")[0] == ""


def test_how_bad_it_is_is_no_wish_and_what_was_counted_is_believed() -> None:
    (fact,) = checked(fact_draft("陈默难受得想啃桌子"), talk("2025-08-16", "今天第四天，难受得想啃桌子。"), CHEN).facts
    assert fact.stance == "stated"
    assert (
        reason("陈默戒烟戒了整整三个月", talk("2025-12-20", "烟又抽上了。戒了整整三个月，可惜了。"), names=CHEN) == ""
    )


def test_a_matter_of_the_speaker_is_theirs_though_the_companion_asked_about_them() -> None:
    said = talk("2025-04-05", "> 你呢，喝茶还是靠咖啡？", "我打算十月跟林晓求婚。这事谁也不知道。")
    plan = {"subject": "陈默的求婚计划", "attribute": "保密", "value": "谁也不知道", "about": "other"}
    plan["quotes"] = (QuoteDraft(2, "这事谁也不知道"),)
    assert reason("陈默打算向林晓求婚这事谁也不知道", said, 2, names=CHEN, **plan) == ""


def test_a_day_without_its_month_or_a_weekend_is_the_one_of_the_restatement() -> None:
    said = talk(
        "2026-10-10",
        "我爸前几天说胸口闷，12号去医院做检查",
        "> 嗯。",
        "约了28号上午去看牙，十点",
        "> 好。",
        "最近在学做糖醋小排，周末做一回",
    )
    cases = [
        ("陈默的爸爸2026年10月12日去医院做检查。", 1, "12号去医院做检查", "2026-10-12", ""),
        ("陈默约了2026年10月28日上午十点去看牙。", 3, "28号上午去看牙，十点", "2026-10-28", ""),
        ("陈默打算2026年10月10日至11日的周末做一回糖醋小排。", 5, "周末做一回", "2026-10-10", "2026-10-11"),
    ]  # fmt: skip
    for statement, message, value, start, end in cases:
        draft = fact_draft(
            statement, message, subject="陈默", attribute="计划", value=value, stance="planned", start=start, end=end
        )
        (fact,) = checked(draft, said, CHEN).facts
        assert (fact.restatement, fact.basis, fact.start[:10], fact.end) == (statement, "verified", start, end)
    assert reason("陈默的爸爸15号去医院做检查。", said, 1, names=CHEN) == "date"


def test_who_laughs_at_the_end_laughs_only_about_the_last_clause():
    for said in ("我俩才谈了七个月，先不说这个😂", "我没养过狗，怕狗，哈哈"):
        for found in checked(
            fact_draft(f"陈默：{said.split('，')[0]}", 1, subject="陈默"), talk("2025-05-17", said), CHEN
        ).facts:
            assert found.stance == "stated"
