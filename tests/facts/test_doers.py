"""Who does something is part of what is said: a statement with another one in that place is refuted."""

from __future__ import annotations

import pytest

from facts.doers import is_swapped
from facts.drafts import QuoteDraft
from tests.facts.talk import CHEN, MARA, checked, fact_draft, reason, talk

OTHER = {"about": "other"}


@pytest.mark.parametrize(
    ("said", "statement", "fields", "why"),
    [
        (["My cousin Ottilie feeds the hens when I'm away."], "Mara feeds the hens.", {}, "subject"),
        (["I drove the minibus for a year. Gideon never learnt."], "Gideon drove the minibus.", {"subject": "Gideon", **OTHER}, "subject"),
        (["Bruno lent me his tent."], "Mara lent Bruno her tent.", {}, "subject"),
        (["I lent Bruno my tent."], "Bruno lent Mara his tent.", {"subject": "Bruno", **OTHER}, "subject"),
        (["The twins differ: Odile sings, Bram paints."], "Bram sings.", {"subject": "Bram", **OTHER}, "subject"),
        (["My sister Odile sings."], "Odile sings.", {"subject": "Odile", **OTHER}, ""),
        (["Bruno and I lent Odile a tent."], "Mara lent Odile a tent.", {}, ""),
        (["Odile's neighbour paints at night."], "Mara paints at night.", {}, "subject"),
        (["He brings me bread on Sundays."], "Mara has bread on Sundays.", {}, ""),
        (["You know who sings? Odile."], "Odile sings.", {"subject": "Odile", **OTHER}, ""),
        (["Bruno was there. His mum is having her hip done."], "Bruno is having his hip done.",
         {"subject": "Bruno", "quotes": (QuoteDraft(1, "is having her hip done"),), **OTHER}, "subject"),
        (["My mum is having her hip done."], "Mara's mother is having her hip done.", {"subject": "Mara's mother", **OTHER}, ""),
        (["My dad's name is Bruno. Dad sings."], "Bruno sings.", {"subject": "Bruno", **OTHER}, ""),
    ],
)  # fmt: skip
def test_what_one_does_another_does_not(said: list[str], statement: str, fields: dict[str, object], why: str) -> None:
    assert reason(statement, talk("2026-05-17", *said), 1, names=MARA, **{"subject": "Mara", **fields}) == why


@pytest.mark.parametrize(
    ("said", "statement", "fields", "why"),
    [
        (["她送我一把吉他。"], "陈默送了她一把吉他。", {}, "subject"),
        (["我送她一把吉他。"], "陈默送了她一把吉他。", {}, ""),
        (["我出房租，室友出水电。"], "陈默出水电。", {}, "subject"),
        (["我舅舅开面馆，就在楼下。"], "陈默开面馆。", {}, "subject"),
        (["我对虾过敏。", "> 小蔓呢？", "小蔓没事。"], "小蔓对虾过敏。", {"subject": "小蔓", **OTHER}, "subject"),
        (["小蔓对虾过敏。"], "小蔓对虾过敏。", {"subject": "小蔓", **OTHER}, ""),
        (["我姐没来，她公公住院了。"], "陈默的姐姐住院了。", {"subject": "陈默的姐姐", "quotes": (QuoteDraft(1, "住院了"),), **OTHER}, "subject"),
        (["我给猫打了疫苗。"], "陈默的猫打了疫苗。", {"subject": "陈默的猫", **OTHER}, ""),
        (["我替他照看小猫。"], "陈默照看小猫。", {}, ""),
        (["他要求每天打卡。"], "陈默每天打卡。", {}, ""),
        (["我和室友都加班。"], "陈默的奶奶每天加班。", {"subject": "陈默的奶奶", **OTHER}, "subject"),
    ],
)  # fmt: skip
def test_who_does_it_is_whoever_stands_before_it(
    said: list[str], statement: str, fields: dict[str, object], why: str
) -> None:
    assert reason(statement, talk("2026-05-17", *said), 1, names=CHEN, **{"subject": "陈默", **fields}) == why


@pytest.mark.parametrize(
    ("said", "statement", "fields", "why"),
    [
        (["Till June, then moving in with Odile."], "Mara has moved in with Odile.", {}, "not yet"),
        (["Till June, then moving in with Odile."], "Mara is moving in with Odile.", {}, ""),
        (["I moved in with Odile in June."], "Mara has moved in with Odile.", {}, ""),
        (["The bakery wants me two days a week."], "Mara has joined the bakery.", {}, "not yet"),
        (["Moving day! The van comes at nine."], "Mara moved house.", {"start": "2026-08-01"}, "not yet"),
        (["他老说要给我换辆车。"], "陈默的儿子给他换了辆车。", {"subject": "陈默的儿子", **OTHER}, "not yet"),
        (["他上个月给我换了辆车。"], "陈默的儿子给他换了辆车。", {"subject": "陈默的儿子", **OTHER}, ""),
        (["The deposit was 300.", "> A lot!", "No wait, 350."], "The deposit was 300.", {}, "taken back"),
        (["The deposit was 300.", "> A lot!", "No wait, 350."], "The deposit was 350.", {"messages": (1, 3)}, ""),
        (["票是18号的。", "> 好。", "看错了，是19号的，不是18号。"], "陈默的票是5月18日的。", {}, "taken back"),
        (["血糖是七点八，不是八点七。"], "陈默的血糖是7.8。", {}, ""),
    ],
)  # fmt: skip
def test_what_is_ahead_is_not_done_and_what_was_put_right_is_not_said(
    said: list[str], statement: str, fields: dict[str, object], why: str
) -> None:
    given = {"subject": "Mara" if statement.isascii() else "陈默", **fields}
    messages = given.pop("messages", (1,))
    assert (
        reason(statement, talk("2026-05-17", *said), *messages, names=MARA if statement.isascii() else CHEN, **given)
        == why
    )


@pytest.mark.parametrize(
    ("said", "handle", "statement", "fields", "why"),
    [
        (["> Do you keep bees?", "Lovely weather here."], 2, "Mara keeps bees.",
         {"quotes": (QuoteDraft(1, "Do you keep bees?"), QuoteDraft(2, "Lovely weather here."))}, "companion's words"),
        (["> Do you keep bees?", "Yes, two hives."], 2, "Mara keeps bees.", {}, ""),
        (["我没有高血压。我爸倒是有。"], 1, "陈默的爸爸有高血压。",
         {"subject": "陈默的爸爸", "quotes": (QuoteDraft(1, "我没有高血压。我爸倒是有。"),), **OTHER}, ""),
        (["我没有高血压。我爸倒是有。"], 1, "陈默有高血压。", {"quotes": (QuoteDraft(1, "我没有高血压。"),)}, "polarity"),
        (["没洗衣机，手搓着洗的。"], 1, "陈默手工清洗，没洗衣机。", {"value": "手工清洗"}, ""),
        (["Day nine without sugar!"], 1, "Mara has had no sugar since 9 May 2026.", {}, ""),
    ],
)  # fmt: skip
def test_what_follows_from_the_words_is_kept_and_what_was_only_asked_is_not(
    said: list[str], handle: int, statement: str, fields: dict[str, object], why: str
) -> None:
    given = {"subject": "Mara" if statement.isascii() else "陈默", **fields}
    names = MARA if statement.isascii() else CHEN
    assert reason(statement, talk("2026-05-17", *said), handle, names=names, **given) == why


def test_what_would_be_so_now_if_it_had_been_was_not() -> None:
    said = talk("2026-05-17", "If I'd gone to art school I'd be drawing covers.")
    draft = fact_draft("Mara did not go to art school.", 1, subject="Mara")
    assert [fact.stance for fact in checked(draft, said).facts] == ["stated"]


def test_a_statement_that_shares_no_words_with_its_message_does_not_end_the_check() -> None:
    assert reason("陈默三点半上课。", talk("2026-05-17", "3:30"), 1, names=CHEN, subject="陈默") in ("", "unsupported")


@pytest.mark.parametrize(
    ("said", "statement", "start"),
    [
        ("I've booked a cabin for 12 June.", "Mara has booked a cabin for 12 June 2026.", "2026-06-12"),
        ("Signed the lease, starts 1 June.", "Mara signed a lease that starts on 1 June 2026.", "2026-06-01"),
        ("已经约了五月十九号的牙医。", "陈默已经约了5月19日的牙医", "2026-05-19"),
    ],
)
def test_what_is_done_for_a_day_ahead_is_done(said: str, statement: str, start: str) -> None:
    names = MARA if statement.isascii() else CHEN
    assert not reason(statement, talk("2026-05-17", said), 1, names=names, start=start, subject=names.person[0])


@pytest.mark.parametrize("said", ["", "...", "？？"])
def test_a_message_without_a_sentence_says_nothing(said: str) -> None:
    assert reason("陈默梦见奥斯陆", talk("2026-05-17", said), 1, names=CHEN) == "unsupported"


@pytest.mark.parametrize("name", ["的小枝", "Ann 's"])
def test_a_name_with_nothing_before_its_possessive_costs_only_itself(name: str) -> None:
    statement = f"{name} lives in Leeds."
    assert isinstance(reason(statement, talk("2026-05-17", "Ann's in Leeds."), 1, subject=name, persons=(name,)), str)


def test_a_particle_behind_a_space_asks_with_the_words_before_it() -> None:
    assert reason("陈默要辞职。", talk("2026-05-17", "我要 辞职 吗？"), 1, names=CHEN) == "question"


@pytest.mark.parametrize(
    ("said", "statement", "swapped"),
    [
        ("Ivo keeps the boat and I keep the van", "Ivo keeps the van and Mara keeps the boat.", True),
        ("Ivo keeps the boat and I keep the van", "Ivo keeps the boat and Mara keeps the van.", False),
        ("she bakes, i do the books", "Mara bakes and Ruth does the books.", True),
        ("she bakes, i do the books", "Ruth bakes and Mara does the books.", False),
        ("Ruth bakes and Ivo sells", "Ivo bakes while Ruth sells.", True),
        ("Ruth bakes and we sell", "Mara sells and bakes.", False),
        ("she bakes, she sells jam, i sell bread", "Ruth bakes and Mara sells bread.", False),
        ("Ruth and I booked Oslo", "Mara and Ruth booked Oslo.", False),
        ("Ruth and I broke up", "Mara and Ruth broke up.", False),
        ("老周想搬去昆明，我不想搬", "陈默想搬去昆明，老周不想搬。", True),
        ("老周想搬去昆明，我不想搬", "老周想搬去昆明，陈默不想搬。", False),
        ("我妈做饭，我洗碗", "陈默做饭，妈妈洗碗。", False),
    ],
)
def test_two_do_each_what_the_words_say_of_them(said: str, statement: str, swapped: bool) -> None:
    names, who = (MARA, "Mara") if statement.isascii() else (CHEN, "陈默")
    assert is_swapped(statement, (who,), (said,)) is swapped
    fields = {"subject": who, "about": "person", "quotes": (QuoteDraft(1, said),)}
    if swapped:
        assert reason(statement, talk("2026-03-05", said), 1, names=names, **fields)
