"""Slots: subject and attribute of a value in one normal form, whatever words a model uses.

A closed list of attributes, with their English and Chinese names, says which have one value at a time; any other
attribute keeps its name and may have several. Equal matters have equal slots in both languages, so a question in one
language finds what was said in the other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from domain.facts import About, Fact, Slot
from domain.patterns import pattern_of
from language.scripts import unspaced_length
from language.words import is_name, latin_names

#: The subjects of person and companion.
PERSON, COMPANION = "person", "companion"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of person and companion, and other names known from earlier conversations.

    ``person_called``, ``companion_called``: the stated name of each; "" where none was stated.
    """

    person: tuple[str, ...] = ()
    companion: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    person_called: str = ""
    companion_called: str = ""


#: The slots of the two names.
OWN_NAMES = (Slot(PERSON, "name"), Slot(COMPANION, "name"))


def stated_names(facts: Iterable[Fact]) -> Names:
    """The names of person and companion from the current verified facts; they are called by the first one stated."""
    stated = [fact for fact in facts if fact.current and fact.verified and fact.stance == "stated"]
    person, companion = (
        tuple(
            name for one in stated if one.slot == slot
            for each in _BESIDE_NAME.split(one.value) if is_name(name := each.strip())
        )
        for slot in OWN_NAMES
    )  # fmt: skip
    return Names(person, companion, person_called="".join(person[:1]), companion_called="".join(companion[:1]))


#: What ends a name: "Tom, at her flat most weekends", Tom (colleague), "Imogen, Immy".
_BESIDE_NAME = pattern_of(r"[,;/(，、；（)）]")
#: What somebody is to somebody else.
BONDS = frozenset("partner child pet sibling parent friend colleague neighbour boss doctor".split())  # noqa: SIM905


#: What joins the names of several, and what somebody is called by: "a corgi called Biscuit", 一条柯基，叫豆包.
_SEVERAL_NAMES = pattern_of(r"\s*(?:、|/|&|\band\b|和|与|跟|,(?=.*(?: and | & )))\s*")
_CALLED = pattern_of(
    r"\b(?:called|named)\s+[\"'“‘]?(?P<en>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*)"
    r"|(?:名字是|名?叫[做作]?)\s*[“「\"]?(?P<zh>[\w·]{1,8}?)(?=[”」\"，,。；;、)）的\s]|$)"
)
#: One of a kind, with what it is called behind it.
_ONE_OF_A_KIND = pattern_of(r"(?:an?|the|some)\s|[一两二三四五六几][条只个头匹位]", re.IGNORECASE)


def names_bound(fact: Fact) -> tuple[str, ...]:
    """The names in the value of a fact that says who is what to somebody: each of several, what a pet is called."""
    value, said = fact.value, fact.value
    several = _SEVERAL_NAMES.split(value)
    if len(several) > 1 and all(is_name(one) and len(one) > 1 for one in several):
        return tuple(several)
    first = _BESIDE_NAME.split(value)[0].strip()
    is_kind = _ONE_OF_A_KIND.match(value) is not None or not is_name(first)
    if is_kind and not _CALLED.search(value):
        behind = fact.restatement.partition(value)[2].lstrip(", ，")
        said = f"{value} {behind}" if _CALLED.match(behind) else value
    called = tuple(name for one in _CALLED.finditer(said) if is_name(name := one["en"] or one["zh"]))
    return called if is_kind or (called and fact.slot.attribute == "pet") else (first,)


def known_people(known: Iterable[Fact], names: Names, text: str) -> tuple[str, ...]:
    """Who in a text is known, a line each: all names of one person, and what they are to whom, or were until when.

    Two who share a name have a line each. ``names`` are those of person and companion.
    """
    from facts.cues import takes_back

    verified = [one for one in known if not one.corrected and one.verified and one.stance == "stated"]
    current = (one for one in verified if one.current)
    stated = [one for one in current if is_name(one.value) and not takes_back(one.restatement)]
    plain = normalize_text(text)
    called = [
        ({PERSON: (*names.person, PERSON), COMPANION: (*names.companion, COMPANION)}.get(one.slot.subject)
         or (one.subject,), one.value)
        for one in stated if one.slot.attribute in ("name", "nickname")
    ]  # fmt: skip
    unnamed = {"", *_PERSON_WORDS, *_COMPANION_WORDS}
    groups = [
        dict.fromkeys(name for name in own if normalize_text(name) not in unnamed)
        for own in (names.person, names.companion)
    ]
    for subjects, other in called:
        group = next((one for one in groups if other in one or any(each in one for each in subjects)), None)
        if group is None:
            groups.append(group := {})
        # What the two are called before they have a name counts only where they are called so.
        named = (one for one in subjects if normalize_text(one) not in unnamed or normalize_text(one) in plain)
        group |= dict.fromkeys([*filter(is_name, named), other])
    bonds: dict[str, dict[str, None]] = {}
    for one in verified:
        name, bond, *_ = *map(str.strip, _BESIDE_NAME.split(one.subject)), ""
        if one.current and attribute_of(bond)[0] in BONDS and is_name(name):  # Tom Okafor (colleague)
            bonds.setdefault(name, {})[bond] = None
        for name in names_bound(one) if one.slot.attribute in BONDS and not takes_back(one.restatement) else ():
            until = f" – {one.until[:10]}" if one.until else ""
            bonds.setdefault(name, {})[f"{one.attribute}, {one.subject}{until}"] = None
    groups += [{name: None} for name in bonds if not any(name in group for group in groups)]
    lines = []
    for group in groups:
        own = {normalize_text(name) for name in group} | {normalize_text(name).split()[0] for name in group if name}
        if not any(name in plain for name in own):
            continue
        said = [bond for name in group for bond in bonds.get(name, ())] or [""]
        if len(group) > 1 or said != [""]:
            who = " = ".join(group)
            lines += [f"{who} ({bond})" if bond else who for bond in said]
    return tuple(dict.fromkeys(lines))


#: How many normal forms are cached.
_CACHE_SIZE = 256
#: No name is known.
NO_NAMES = Names()


def slot_of(subject: str, attribute: str, about: About, names: Names) -> tuple[Slot, bool]:
    """The slot of a fact, and whether it has one value at a time.

    >>> slot_of("Mara", "gym", "person", Names(("Mara",)))[0] == slot_of("用户", "健身房", "person", Names())[0]
    True
    """
    form, single = attribute_of(attribute)
    return Slot(subject_of(subject, about, names), form), single


def subject_of(subject: str, about: About, names: Names) -> str:
    """The normal form of a subject: one name each for person and companion, anyone else by their own name."""
    plain = _strip_pointers(subject)
    if not plain:
        return {"person": PERSON, "companion": COMPANION, "other": ""}[about]
    if plain in _COMPANION_WORDS or _is_called(plain, names.companion):
        return COMPANION
    if plain in _PERSON_WORDS or _is_called(plain, names.person):
        return PERSON
    # "mara's sister annika" is annika, "陈默的女朋友" is 女朋友; "my sister" is sister.
    rest = _of_the_person(names.person).sub("", plain) if "'s " in plain or "的" in plain else plain
    words = rest.split()
    return " ".join(words[1:]) if len(words) > 1 and words[0] in _KIN else rest


@lru_cache(_CACHE_SIZE)
def attribute_of(attribute: str) -> tuple[str, bool]:
    """The normal form of an attribute, and whether it has one value at a time."""
    plain = _strip_pointers(attribute.replace("_", " ").replace("-", " "))
    if known := _form_of(plain):
        return known
    if found := _FAVOURITE.fullmatch(plain):
        what = (found["what"] or found["han"] or found["behind"]).strip()
        return f"favourite {_THINGS.get(what, _to_singular(what))}", True
    if measured := _MEASURED.fullmatch(plain):
        return f"{measured['what']} time", True
    return " ".join(map(_to_singular, plain.split())), False


def are_apart(one: Slot, other: Slot) -> bool:
    """Whether exactly one is about the companion and the attributes differ, so that neither can change the other."""
    own = COMPANION in (one.subject, other.subject) and one.subject != other.subject
    return own and one.attribute != other.attribute


def depends_on(slot: Slot) -> frozenset[str]:
    """The attributes of the same subject that may no longer hold when this slot gets another value."""
    return frozenset(_DEPENDENTS.get(slot.attribute, ()))


def is_kin(subject: str) -> bool:
    """Whether a subject is a relation of the person ("sister", 妈妈) rather than a name."""
    return normalize_text(subject) in _ALSO_CALLED


def normalize_text(text: str) -> str:
    """Text for comparing names and values: NFKC, case-folded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _strip_pointers(text: str) -> str:
    text = normalize_text(text).replace("’", "'").strip(" .,:;。，：；“”\"'「」")
    pointing = _POINTING.match(text)
    return text[pointing.end() :].strip() if pointing else text


def _is_called(plain: str, names: tuple[str, ...]) -> bool:
    """Whether this is one of these names, perhaps followed by a surname."""
    own, first = _plain_names(names)
    return plain in own or plain in first or plain.split(maxsplit=1)[0] in own


@lru_cache(_CACHE_SIZE)
def _plain_names(names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    own = frozenset(filter(None, map(_strip_pointers, names)))
    return own, frozenset(name.split()[0] for name in own)


@lru_cache(_CACHE_SIZE)
def _of_the_person(called: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of a possessive of the person at the beginning."""
    own = [re.escape(_strip_pointers(name)) for name in (*called, "the user", "user", "用户") if name.strip()]
    return re.compile(rf"^(?:{'|'.join(own)})(?:'s |的)")


def _to_singular(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_POINTING = pattern_of(
    r"^(?:the |a |an |my |his |her |their |current |present |new |我的?|现在的?|目前的?|当前的?)+(?=\S)"
)
_FAVOURITE = pattern_of(
    r"favou?rite (?P<what>.+)|最(?:喜欢|爱|喜爱)(?:的|喝的|吃的|看的|听的)?(?P<han>.+)|(?P<behind>.+) (?:preference|favou?rite)"
)
_MEASURED = pattern_of(
    r"(?:best |running |current )?(?P<what>\d+ ?k|half marathon|marathon)(?: run(?:ning)?)? (?:time|pb|best|record|result)"
)
_THINGS = {
    "季节": "season", "茶": "tea", "书": "book", "颜色": "colour", "color": "colour", "菜": "food", "食物": "food", "吃的": "food",
    "音乐": "music", "歌": "song", "电影": "film", "movie": "film", "乐器": "instrument", "饮料": "drink", "运动": "sport",
    "城市": "city", "动物": "animal", "作家": "author", "游戏": "game", "花": "flower", "水果": "fruit",
}  # fmt: skip
#: Words for relatives and other close people.
_KIN = frozenset(
    """
    sister brother mother mum mom father dad wife husband girlfriend boyfriend partner friend cat dog
    kitten boss colleague daughter son aunt uncle cousin grandmother grandfather neighbour neighbor teacher
    doctor
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
#: The same in Chinese, with synonyms in both languages.
_HAN_KIN = """
姐姐,姐: sister | 妹妹,妹: sister | 哥哥,哥: brother | 弟弟,弟: brother | 妈妈,妈,母亲: mother,mum,mom | 爸爸,爸,父亲: father,dad
老婆,妻子,太太: wife | 老公,丈夫: husband | 女朋友,女友: girlfriend | 男朋友,男友: boyfriend | 朋友: friend | 猫: cat | 狗: dog
老板,上司: boss | 同事: colleague | 女儿: daughter | 儿子: son | 姑姑,阿姨: aunt | 叔叔,舅舅: uncle | 外婆,姥姥: grandmother
奶奶: grandmother | 外公,姥爷: grandfather | 爷爷: grandfather | 邻居: neighbour,neighbor | 老师: teacher | 医生: doctor
"""
_PERSON_WORDS = frozenset({
    "user", "the user", "person", "the person", "user name", "user_name", "用户", "本人", "我", "i", "me", "self", "对方",
})  # fmt: skip
_COMPANION_WORDS = frozenset({
    "assistant", "the assistant", "companion", "the companion", "ai", "助手", "ai助手", "老友", "old friend", "you", "你",
})  # fmt: skip

_SINGLE = """
name: full name, first name, called | 姓名, 名字, 全名, 本名
birth date: birthday, date of birth, birthdate, born, birth year | 生日, 出生日期, 出生年份, 出生
age: years old | 年龄, 岁数, 年纪
gender: sex | 性别
home: lives in, lives at, live in, residence, place of residence, location, home city, city, home address, address, \
current residence, living place, home location, moved to, hometown now | 住处, 住址, 居住地, 住在, 家庭住址, 地址, 所在城市, 现居地, 居住城市, 住所, 搬到, 家
living with: lives with, roommate, flatmate, housemate, cohabitant | 同住, 同住人, 室友, 合租, 和谁住, 居住情况, 独居
rent: monthly rent | 房租, 租金, 月租
employer: company, works at, works for, workplace, place of work, organisation, organization | 公司, 雇主, 单位, 工作单位, 就职公司, 就职于, 上班的公司
job title: job, occupation, profession, position, role, works as, work, job role, career | 职位, 职业, 岗位, 工作, 职务
salary: income, pay, wage, monthly salary, annual salary, earns | 工资, 薪水, 月薪, 年薪, 收入, 薪资
boss: manager, supervisor | 老板, 上司, 领导
partner: boyfriend, girlfriend, wife, husband, spouse, fiance, fiancee, dating, seeing, romantic partner, in a relationship with | \
男朋友, 女朋友, 男友, 女友, 对象, 伴侣, 妻子, 丈夫, 老婆, 老公, 爱人, 未婚妻, 未婚夫
relationship status: marital status, relationship | 感情状况, 婚姻状况, 恋爱状况, 感情状态, 婚恋状态
smoking: smoking habit, cigarettes, smokes, cigarettes per day | 抽烟, 吸烟, 烟, 烟量, 吸烟习惯, 抽烟习惯, 戒烟
coffee: coffee habit, coffee consumption, coffee intake, coffee per day, drinks coffee | 咖啡, 喝咖啡, 咖啡习惯
alcohol: drinking, drinking habit, drinks alcohol | 喝酒, 饮酒, 酒量, 饮酒习惯
gym: climbing gym, fitness club, climbing wall, climbing place, where climbs, climbing location | 健身房, 攀岩馆, 岩馆
gym days: climbing days, training days, climbing schedule, gym schedule, training schedule | 健身时间, 锻炼时间, 训练日
commute: commuting, way to work, travel to work, commute time | 通勤, 上下班, 上班路程, 通勤方式, 通勤时间
phone: phone number, telephone, mobile, mobile number | 电话, 手机, 手机号, 电话号码
email: e mail, mail address, email address | 邮箱, 电子邮箱, 邮件地址
wifi: wi fi, wifi password, wi fi password | 无线密码, wifi密码, 无线网络密码
weight: body weight | 体重, 重量
height: body height | 身高
blood pressure: bp | 血压
doctor: gp, family doctor, physician | 医生, 家庭医生, 主治医生
car: drives, vehicle | 车, 汽车, 座驾
school: university, college, studies at | 学校, 大学, 就读学校
death: died, dies, passed away, death date, date of death | 去世, 死亡, 过世, 离世, 去世日期
zodiac: star sign | 星座, 属相, 生肖
religion: faith | 宗教, 信仰
nationality: citizenship | 国籍
hometown: native place, from, comes from, home town, birthplace | 老家, 家乡, 籍贯, 出生地
"""
_SEVERAL = """
nickname: calls the person, form of address, how to address | 昵称, 小名, 外号, 称呼
child: children, son, daughter, kid, kids | 孩子, 儿子, 女儿, 子女
pet: pets, cat, dog, kitten, puppy, animal | 宠物, 猫, 狗, 养的宠物
sibling: sister, brother, siblings, sisters, brothers | 兄弟, 姐妹, 姐姐, 妹妹, 哥哥, 弟弟, 兄弟姐妹
parent: mother, father, mum, mom, dad, parents | 父母, 爸爸, 妈妈, 父亲, 母亲, 爸, 妈
friend: friends | 朋友
colleague: colleagues, coworker, coworkers, co worker | 同事
neighbour: neighbours, neighbor, neighbors | 邻居
health: health condition, medical condition, condition, illness, disease, injury, diagnosis | \
健康, 健康状况, 疾病, 病, 伤病, 病情, 身体状况
allergy: allergies, allergic to | 过敏, 过敏原, 过敏史
medication: medicine, medicines, medications, drug, treatment, dose | 药, 用药, 药物, 服药, 治疗
diet: dietary habit, food restriction, eating habit | 饮食, 饮食习惯, 忌口
likes: like, preference, preferences, loves, enjoys, taste | 喜欢, 爱好的, 偏好, 喜好
dislikes: dislike, hates, hate, aversion | 不喜欢, 讨厌, 反感
fear: fears, afraid of | 害怕, 怕, 恐惧
hobby: hobbies, interest, interests, sport, sports, pastime, leisure | 爱好, 兴趣, 运动, 业余爱好, 兴趣爱好
plan: plans, intention, goal, goals, planned | 计划, 打算, 目标, 安排
promise: promises, promised, commitment | 承诺, 答应, 诺言, 约定
wish: wishes, dream, dreams | 愿望, 梦想, 心愿
language: languages, speaks | 语言, 会说的语言
appointment: appointments, meeting, interview | 预约, 约会时间, 面试
trip: travel, travels, journey, trips, holiday, vacation | 旅行, 旅游, 出行, 行程
event: events | 事件, 活动
way of talking: tone, talking style, style of talking, how to talk, communication preference, form of talk | \
说话方式, 语气, 交流方式, 沟通方式, 聊天方式
skill: skills, can | 技能, 会的, 特长
possession: owns, possessions, has, belonging | 物品, 拥有, 所有物
routine: habit, habits, daily routine, schedule | 习惯, 日常, 作息
worry: worries, concern | 担心, 烦恼, 担忧
project: projects, working on | 项目
work hours: working hours, office days | 上班时间, 工作时间
"""


def _read_table(rows: str, single: bool) -> dict[str, tuple[str, bool]]:
    forms = {}
    for row in rows.strip().splitlines():
        name, _, aliases = row.partition(":")
        for alias in (name, *re.split(r"[,|]", aliases)):
            forms[alias.strip()] = (name, single)
    return forms


_FORMS = _read_table(_SEVERAL, False) | _read_table(_SINGLE, True)


def _form_of(plain: str) -> tuple[str, bool] | None:
    if found := _FORMS.get(plain):
        return found
    bare = plain.removesuffix("'s name").removesuffix(" name").removesuffix("的名字").removesuffix("名字")
    return _FORMS.get(bare) or _FORMS.get(_to_singular(bare))


_OF_HOME = (
    "rent", "living with", "commute", "gym", "gym days", "neighbour", "doctor", "wifi", "address", "landlord", "flatmate",
    "school",
)  # fmt: skip
_OF_WORK = ("salary", "boss", "colleague", "commute", "work hours", "job title", "project", "team", "office")
_OF_PARTNER = (
    "living with", "relationship status", "plan", "trip", "in law", "engagement", "wedding", "partner job",
)  # fmt: skip
_OF_LIFE = (
    "health", "medication", "weight", "age", "routine", "diet", "home", "living with", "plan", "partner", "job title",
    "employer", "doctor", "appointment", "treatment", "hobby", "likes", "status",
)  # fmt: skip
_DEPENDENTS = {
    "home": _OF_HOME,
    "employer": _OF_WORK,
    "job title": ("salary", "boss", "project", "team", "work hours"),
    "partner": _OF_PARTNER,
    "relationship status": _OF_PARTNER,
    "death": _OF_LIFE,
}


# -- which slots a question asks for


def _also_called(rows: str) -> dict[str, tuple[str, ...]]:
    """The synonyms of each word for a relative."""
    found: dict[str, tuple[str, ...]] = {}
    for row in re.split(r"[|\n]", rows.strip()):
        han, english = ([name.strip() for name in names.split(",")] for names in row.split(":"))
        found |= dict.fromkeys(han, (*han, *english))
        found |= {name: (*found.get(name, ()), *han) for name in english}
    return found


#: Questions that ask for an attribute without naming it.
_ASKED = (
    (r"\bwhere\b.*\b(?:i|he|she|they|you) (?:still )?live\b|\bwhere does\b.*\blive\b|住(?:在)?哪|哪[里儿]住", "home"),
    (r"\bwho\b.*\blive with\b|(?:跟|和)谁(?:一起)?住", "living with"),
    (r"\bwhere\b.*\bwork\b|在哪[里儿]?(?:家公司)?(?:上班|工作)|哪家公司|在哪[里儿]?上班", "employer"),
    (r"\bdo for a (?:living|job)\b|\bdo(?:es)? .* do for work\b|做什么工作|什么职业", "job title"),
    (r"\bhow much\b.*\b(?:earn|make|paid)\b|挣多少|赚多少", "salary"),
    (r"\bhow old\b|多大(?:了|年纪)?|几岁", "age"),
    (r"\bhow old\b|\bwhen\b.*\bborn\b|多大(?:了|年纪)?|几岁|哪年出生", "birth date"),
    (r"\bwho\b.*\b(?:dating|married to|engaged to|going out with)\b|跟谁(?:在一起|谈恋爱|结婚)", "partner"),
    (r"\bwhere\b.*\b(?:stud(?:y|ies)|go to school)\b|在哪[里儿]?(?:上学|读书|念书)", "school"),
    (r"\bwhere\b.*\bclimb\b|\bwhere\b.*\bwork out\b|在哪[里儿]?(?:健身|锻炼|攀岩)", "gym"),
    (r"\bwhere\b.*\bcome from\b|\bwhere\b.*\bgrow up\b|哪里人|在哪[里儿]长大", "hometown"),
)
_ATTRIBUTES = tuple((pattern_of(pattern), name) for pattern, name in _ASKED)
#: Attribute names that are also common words.
_COMMON = frozenset({
    "has", "can", "like", "plan", "planned", "event", "meeting", "position", "role", "condition", "interest",
    "interests", "goal", "form", "seeing", "called", "born", "sex", "pay", "relationship", "treatment", "drug", "taste",
    "enjoys", "loves", "interview", "city", "company", "schedule", "friend", "friends", "life", "speaks", "work",
    "first name",
    "喜欢", "工作", "朋友", "计划", "活动", "会的", "运动", "安排", "打算", "地址", "怕",
})  # fmt: skip
_ALSO_CALLED = _also_called(_HAN_KIN)
_HAN = "|".join(sorted((name for name in _ALSO_CALLED if not name.isascii()), key=len, reverse=True))
#: A relation of the person: "my sister", 我姐姐.
_MINE = pattern_of(rf"\bmy ({'|'.join(sorted(_KIN))})\b|[我咱](?:的|们的?|家的?)?({_HAN})")
_PERSON = pattern_of(r"\b(?:i|i'm|i've|my|mine|me)\b|[我咱俺]")
_COMPANION = pattern_of(
    r"\byour\b|\b(?:do|did|are|have|were|can) you\b(?! (?:remember|know|recall|think|tell))|你(?!还?记得|知道|说|告诉)"
)
_FAVOURITE_ASKED = pattern_of(
    r"favou?rite [a-z]+|最(?:喜欢|爱|喜爱)的[\u4e00-\u9fff]{1,4}?(?=[是叫有还呢吗啊]|什么|哪|$|[^\u4e00-\u9fff])"
)
_NO_WORD = pattern_of(r"[^\w]+")


def find_asked_slots(question: str) -> tuple[Slot, ...]:
    """The slots that a question asks for; none if it names no attribute or no subject.

    >>> find_asked_slots("Where do I work?") == find_asked_slots("我在哪里上班？")
    True
    """
    plain = normalize_text(question)
    akin = [*dict.fromkeys(each[1] or each[2] for each in _MINE.finditer(plain))]
    theirs = {attribute_of(word)[0] for word in akin}
    asked = dict.fromkeys(_find_attributes(plain))
    slots = [Slot(PERSON, attribute) for attribute in asked if attribute in theirs]
    for subject in _find_subjects(question, plain, akin) if asked else ():
        slots += [Slot(subject, attribute) for attribute in asked if attribute not in theirs]
    return tuple(dict.fromkeys(slots))


def _find_attributes(plain: str) -> Iterator[str]:
    """The attributes that are named or asked for in other words."""
    yield from (name for pattern, name in _ATTRIBUTES if pattern.search(plain))
    yield from (attribute_of(found[0])[0] for found in _FAVOURITE_ASKED.finditer(plain))
    padded = f" {_NO_WORD.sub(' ', plain)} "
    yield from (name for alias, (name, _) in _FORMS.items() if _is_named(alias, plain, padded))


def _is_named(alias: str, plain: str, padded: str) -> bool:
    """Whether a question contains this name of an attribute, as whole words in scripts with spaces."""
    if alias in _COMMON or len(alias) < 2:
        return False
    return alias in plain if unspaced_length(alias) else f" {alias} " in padded


def _find_subjects(question: str, plain: str, akin: Sequence[str]) -> Iterator[str]:
    """The subjects of a question: names, relations of the person, the person and the companion."""
    yield from (name.casefold() for name in latin_names(question) if not name.casefold().startswith(("i'", "i’")))
    yield from dict.fromkeys(word for one in akin for word in (one, *_ALSO_CALLED.get(one, ())))
    if _PERSON.search(_MINE.sub("", plain)):
        yield PERSON
    if _COMPANION.search(plain):
        yield COMPANION
