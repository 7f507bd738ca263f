"""Equal matters have equal slots, however they are called and in either language."""

from __future__ import annotations

import pytest

from domain.facts import Fact
from facts.slots import Names, attribute_of, depends_on, known_people, slot_of, stated_names, subject_of
from tests.facts.talk import CHEN, MARA


@pytest.mark.parametrize(
    ("english", "chinese", "single"),
    [
        ("lives in", "现居地", True), ("employer", "公司", True), ("occupation", "职业", True), ("monthly salary", "月薪", True),
        ("rent", "房租", True), ("boyfriend", "女朋友", True), ("smoking", "抽烟", True), ("coffee", "咖啡", True),
        ("gym", "健身房", True), ("commute", "通勤", True), ("birthday", "生日", True), ("age", "年龄", True),
        ("phone number", "手机号", True), ("e-mail", "邮箱", True), ("died", "去世", True), ("wifi password", "wifi密码", True),
        ("favorite books", "最喜欢的书", True), ("favourite tea", "最喜欢喝的茶", True), ("favourite season", "最喜欢的季节", True),
        ("cat", "猫", False), ("daughter", "女儿", False), ("allergic to", "过敏", False), ("hobbies", "爱好", False),
        ("plans", "计划", False), ("promised", "承诺", False), ("dislikes", "讨厌", False), ("medicines", "药", False),
        ("sister", "妹妹", False), ("speaks", "语言", False), ("tone", "语气", False),
    ],
)  # fmt: skip
def test_an_attribute_is_one_in_both_languages(english: str, chinese: str, single: bool) -> None:
    assert attribute_of(english) == attribute_of(chinese)
    assert attribute_of(english)[1] is single


@pytest.mark.parametrize("name", ["Mara", "mara", "Mara Lindqvist", "the user", "User", "用户", "本人", "MARA ", ""])
def test_the_person_is_one_subject_under_every_name(name: str) -> None:
    assert subject_of(name, "person", MARA) == "person"


@pytest.mark.parametrize("name", ["Juniper", "the assistant", "助手", "Old Friend", "老友"])
def test_the_companion_is_one_subject_under_every_name(name: str) -> None:
    assert subject_of(name, "companion", MARA) == "companion"


def test_somebody_else_keeps_their_own_name() -> None:
    assert subject_of("Tom", "other", MARA) == subject_of("tom", "other", MARA) == "tom"
    assert subject_of("Tom Okafor", "other", MARA) != subject_of("Tom", "other", MARA)
    assert subject_of("Mara's sister Annika", "other", MARA) == "annika"
    assert subject_of("陈默的爸爸", "other", CHEN) == "爸爸"
    assert subject_of("Annika Lindqvist", "other", MARA) == "annika lindqvist"


def test_an_attribute_that_is_not_in_the_list_keeps_its_name_and_may_hold_several_values() -> None:
    assert attribute_of("Bicycle names") == ("bicycle name", False)
    assert attribute_of("bicycle_name") == ("bicycle name", False)
    assert attribute_of("5K time") == attribute_of("best 5k run time") == ("5k time", True)


def test_names_that_are_empty_match_nobody() -> None:
    assert subject_of("Tom", "other", Names(("", " "), ("",))) == "tom"
    assert slot_of("", "", "other", Names())[0].subject == ""


def test_what_hangs_on_a_home_a_job_a_partner_a_life_is_named() -> None:
    def of(attribute: str) -> frozenset[str]:
        return depends_on(slot_of("Mara", attribute, "person", MARA)[0])

    assert {"gym", "commute", "rent", "neighbour", "living with"} <= of("住处")
    assert {"salary", "colleague", "commute", "boss"} <= of("公司")
    assert {"living with", "plan"} <= of("girlfriend")
    assert {"medication", "weight"} <= of("died")
    assert of("favourite tea") == frozenset()


def _stated(attribute: str, value: str, text: str, subject: str = "Mara") -> Fact:
    slot, single = slot_of(subject, attribute, "person", MARA)
    said = "2025-03-01T20:00:00+00:00"
    return Fact(
        1, "id", "note", "s", text, subject, attribute, value, slot, single, "person", "stated", said, said, ("m",)
    )


def test_known_people_are_named_as_they_are_called_and_an_end_is_nobody() -> None:
    names = Names(("Mara", "the user", "用户"), ("Juniper", "Old Friend", "老友"))
    name, over, tom = (
        _stated("name", "Juniper", "The companion is Juniper.", "Old Friend"),
        _stated("伴侣", "和林筱分手了", "Mara 和林筱分手了。"),
        _stated("colleague", "Tom", "Tom is Mara's colleague."),
    )
    assert known_people([name, over, tom], names, "Juniper, Tom, 和林筱分手了") == ("Tom (colleague, Mara)",)
    assert known_people([name], names, "Juniper was Old Friend") == ("Juniper = Old Friend",)
    assert known_people([name], names, "Juniper 就是老友") == ("Juniper = 老友",)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("Imogen, Immy", ("Imogen", "Immy")),
        ("何嘉树（老何）", ("何嘉树", "老何")),
        ("Mara Lindqvist", ("Mara Lindqvist",)),
        ("34", ()),
    ],
)
def test_of_several_names_in_a_value_each_is_one_and_the_first_is_what_the_person_is_called(
    value: str, names: tuple[str, ...]
) -> None:
    found = stated_names([_stated("name", value, f"I am {value}.")])
    assert (found.person, found.person_called, found.companion) == (names, "".join(names[:1]), ())


def test_a_sentence_in_the_place_of_a_name_makes_nobody_known() -> None:
    praise = _stated("伴侣", "我媳妇还夸好吃", "何嘉树的媳妇夸小排好吃。", "何嘉树的媳妇")
    cried = _stated("colleague", "Gary from work", "Gary from work cried a bit.", "Gary")
    wife = _stated("伴侣", "林筱", "何嘉树的媳妇叫林筱。", "何嘉树")
    text = "我媳妇还夸好吃, Gary from work, 林筱"
    assert known_people([praise, cried], Names(("何嘉树",)), text) == ()
    assert known_people([praise, cried, wife], Names(("何嘉树",)), text) == ("林筱 (伴侣, 何嘉树)",)


@pytest.mark.parametrize(
    ("partner", "colleague", "line"),
    [
        (("partner", "Rafe, early days"), "Tom Okafor (colleague)", ("Rafe (partner, Mara)", "Tom Okafor (colleague)")),
        (("女朋友", "林筱，刚认识"), "老邓（同事）", ("林筱 (女朋友, Mara)", "老邓 (同事)")),
    ],
)
def test_people_are_known_by_what_a_model_writes_beside_their_names(
    partner: tuple[str, str], colleague: str, line: tuple[str, str]
) -> None:
    first, second = _stated(*partner, "text"), _stated("praise", "kind", "text", colleague)
    assert known_people([first, second], MARA, f"{partner[1]} {colleague}") == line


@pytest.mark.parametrize(
    ("attribute", "value", "text", "names"),
    [
        ("宠物", "一条柯基，叫豆包", "陈默和林晓养了一条柯基，叫豆包", ["豆包"]),
        ("宠物", "一条柯基", "陈默和林晓养了一条柯基，叫豆包", ["豆包"]),
        ("宠物", "一条柯基", "陈默养了一条柯基", []),
        ("宠物", "橘猫，管它叫“房租”", "陈默领养了橘猫，管它叫“房租”", ["房租"]),
        ("pet", "a corgi called Biscuit", "Mara has a corgi called Biscuit.", ["Biscuit"]),
        ("pet", "a corgi", "Mara has a corgi called Biscuit.", ["Biscuit"]),
        ("pet", "a corgi", "Mara has a corgi, and Tom is called Tommy.", []),
        ("sister", "Imogen, called Immy at home", "Mara's sister is Imogen, called Immy at home.", ["Imogen"]),
        ("partner", "Tom", "Mara's partner is Tom, called Tommy at work.", ["Tom"]),
        ("同事", "李楠、李昊", "陈默的组里有两个小李，李楠和李昊", ["李楠", "李昊"]),
        ("同事", "李楠和李昊", "陈默的同事是李楠和李昊", ["李楠", "李昊"]),
        ("同事", "李和平", "陈默的同事是李和平", ["李和平"]),
        ("colleague", "Tom Lee and Tom Bell", "Tom Lee and Tom Bell are colleagues.", ["Tom Lee", "Tom Bell"]),
        ("colleague", "Priya, Rachel and Tom", "Mara works with Priya, Rachel and Tom.", ["Priya", "Rachel", "Tom"]),
        ("child", "Imogen, Immy", "Mara's child is Imogen, Immy.", ["Imogen"]),
    ],
)
def test_people_and_animals_are_known_by_what_they_are_called_and_each_of_several(
    attribute: str, value: str, text: str, names: list[str]
) -> None:
    said = f"{text} Biscuit Tommy Immy 豆包 一条柯基"
    found = known_people([_stated(attribute, value, text)], Names(), said)
    assert [one.partition(" (")[0] for one in found] == names
