"""What "she", "it", "there", 她, 这个 mean, by rules: the person, thing or place that was mentioned before.

A pronoun is replaced in place by the latest mention that fits it in kind, number and gender. A name counts, however it
is spelt, where it is introduced ("called", "named", "this is", 叫, 名字是); so do relatives ("my aunt"), titles in
quotation marks, places behind a preposition, and the things that a sentence is about. Where two mentions of one
sentence fit equally, or none does, the pronoun stays: unresolved rather than wrong.

>>> resolve_references("她今年几岁了？", ["我女儿叫灿灿"])
'灿灿今年几岁了？'
>>> resolve_references("Does he still work there?", ["My brother Tom started at Acme in Boston."])
'Does Tom still work in Boston?'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from domain.patterns import pattern_of
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.relations import Gender, kin_words
from language.scripts import STOP_WORDS
from language.words import latin_names, whole_names

#: How many earlier messages are read, and characters of each.
_LOOK_BACK, _LONGEST = 5, 2_000
Kind = Literal["person", "animal", "thing", "place"]


@dataclass(frozen=True, slots=True)
class Mention:
    """Something mentioned, as it is named again. ``rank``: of several things in a sentence the highest is meant."""

    name: str
    kind: Kind
    at: int
    plural: bool = False
    gender: Gender = ""
    rank: int = 0


@dataclass(frozen=True, slots=True)
class _Pronoun:
    """What a pronoun may mean, and how its replacement is written."""

    kinds: tuple[Kind, ...]
    plural: bool | None
    gender: Gender
    write: Callable[[str], str]


def resolve_references(text: str, recent: Sequence[str], look_back: int = _LOOK_BACK) -> str:
    """A message with its pronouns replaced by what they mean; unchanged where that is not clear.

    ``recent`` are the messages before it, oldest first, of which the last ``look_back`` are read.
    """
    found = list(_find_pronouns(text))
    if not found or look_back <= 0:
        return text
    own = _mentions_of(text[:_LONGEST])
    earlier = [found[0] for one in recent[-look_back:] for found in _SENTENCE.finditer(one[-_LONGEST:])]
    resolved, end = [], 0
    for match, pronoun in found:
        if any(one.at < match.start() and _fits(one, pronoun) and _may_mean(one, match, text) for one in own):
            continue  # the message says itself whom it means
        meant = _latest(pronoun, earlier)
        if meant is None or _names(text, meant):
            continue
        resolved += [text[end : match.start()], _in_place(pronoun.write(meant.name), match, text)]
        end = match.end()
    return "".join((*resolved, text[end:]))


def find_pronouns(text: str) -> tuple[str, ...]:
    """The pronouns of a message, in order.

    >>> find_pronouns("Does she still like it?")
    ('she', 'it')
    """
    return tuple(match[0] for match, _ in _find_pronouns(text))


def begins_with_pronoun(text: str) -> bool:
    """Whether a statement does not say whom or what it is about.

    >>> begins_with_pronoun("She likes drawing."), begins_with_pronoun("Tom and his wife moved.")
    (True, False)
    """
    begins = len(text) - len(text.lstrip())
    return any(pattern.match(text, begins) for pattern, _ in _COMPILED)


def name_subject(text: str, subject: str) -> str:
    """A statement that begins with a pronoun with its subject in that place; as it is where that is no name either.

    >>> name_subject("Her cat is fifteen.", "Mara"), name_subject("他会下围棋。", "外公")
    ("Mara's cat is fifteen.", '外公会下围棋。')
    """
    match, pronoun = next(_find_pronouns(text))
    if begins_with_pronoun(subject):
        return text
    return text[: match.start()] + _in_place(pronoun.write(subject), match, text) + text[match.end() :]


def says_what_it_means(text: str) -> bool:
    """Whether each pronoun of a text means something that the text names before it.

    >>> says_what_it_means("Tom sold his car."), says_what_it_means("I sold it."), says_what_it_means("I like tea.")
    (True, False, True)
    """
    found = list(_find_pronouns(text))
    own = _mentions_of(text[:_LONGEST]) if found else ()
    return all(any(one.at < match.start() and _fits(one, pronoun) for one in own) for match, pronoun in found)


def people_named(text: str) -> frozenset[str]:
    """The people whom a text calls by name.

    >>> sorted(people_named("Bob moved to Oslo with my sister.")), sorted(people_named("小王和房东吵架了"))
    (['Bob'], ['小王'])
    """
    people = [one.name for one in _mentions_of(text[:_LONGEST]) if one.kind == "person" and not one.plural]
    return frozenset(name for name in people if name[0].isupper() or not (name.isascii() or _ZH_KIN.fullmatch(name)))


# -- pronouns --------------------------------------------------------------------------------------------------------

_PEOPLE: tuple[Kind, ...] = ("person", "animal")
_THINGS: tuple[Kind, ...] = ("thing", "animal")


def _same(name: str) -> str:
    return name


def _possessive(name: str) -> str:
    return f"{name}'" if name.endswith("s") and " and " not in name and name[0].islower() else f"{name}'s"


#: What follows "her", "this" or "these" where it is no noun.
_NO_NOUN = (
    r"(?=\s*(?:[,.;:!?)\"”]|$)|\s+(?:and|or|but|to|at|in|on|for|from|about|with|again|today|tomorrow|yesterday|now"
    r"|then|when|if|so|is|are|was|were|will|would|can|could|do|does|did|has|have|had|any ?more|yet|still|too|either"
    r"|right|well|last|next|there|here|often|really|ever|good|bad|because|before|after|while|up|off|out|back|home|as"
    r"|than|that|work|works|cost|costs|taste|tastes|mean|means|look|looks|need|needs|fit|fits)\b)"
)
_PRONOUNS: tuple[tuple[str, _Pronoun], ...] = (
    (r"\b(?:he|him)\b", _Pronoun(_PEOPLE, False, "m", _same)),
    (r"\bhis\b", _Pronoun(_PEOPLE, False, "m", _possessive)),
    (rf"\bshe\b|\bher\b{_NO_NOUN}", _Pronoun(_PEOPLE, False, "f", _same)),
    (rf"\bhers\b|\bher\b(?!{_NO_NOUN})", _Pronoun(_PEOPLE, False, "f", _possessive)),
    (r"\b(?:they|them)\b", _Pronoun((*_PEOPLE, "thing"), True, "", _same)),
    (r"\btheirs?\b", _Pronoun((*_PEOPLE, "thing"), True, "", _possessive)),
    (rf"\b(?:these|those)(?: ones)?{_NO_NOUN}", _Pronoun(_THINGS, True, "", _same)),
    (
        r"\bit\b(?!['’]?s?\s+(?:(?:is|was|be|been|will be)\s+)?"
        r"(?:(?:always|still|already|often|usually|really|so|very|too|quite|getting|ever)\s+)?(?:rain|snow|late|early|cold|hot|warm|dark|time|true"
        r"|fine|ok|okay|\w+ there\b|nice (?:to|that|out)|good (?:to|that)|hard to|easy to|possible|possibly|seems"
        r"|going|been|monday|tuesday|wednesday|thursday|friday|saturday|sunday|christmas|that|who|how|what))"
        r"(?<!how is it)(?<!how's it)(?<!time is it)(?<!day is it)(?<!make it)(?<!call it)",
        _Pronoun(_THINGS, False, "", _same),
    ),
    (r"\bits\b", _Pronoun(_THINGS, False, "", _possessive)),
    (r"\b(?:this|that) one\b", _Pronoun(_THINGS, False, "", _same)),
    (
        rf"(?<!so )(?<!like )\b(?:this|that)(?!['’]s\b){_NO_NOUN}(?!\s+(?:is|was) (?:all"
        rf"|it|fine|ok|okay|right|true|great|good|nice)\b)",
        _Pronoun(("thing",), False, "", _same),
    ),
    (r"\bthere\b(?!['’]|\s+(?:is|are|was|were|be|has|have|any|a|an|will|must|might)\b)(?<!is there)(?<!are there)"
     r"(?<!out there)(?<!over there)", _Pronoun(("place",), None, "", _same)),
    (r"它们", _Pronoun(_THINGS, None, "", _same)),
    (r"(?:他|她)们", _Pronoun((*_PEOPLE, "thing"), True, "", _same)),
    (r"(?<![其吉])他(?!们|人(?![怎很呢挺真在不]))", _Pronoun(_PEOPLE, False, "m", _same)),
    (r"她(?!们)", _Pronoun(_PEOPLE, False, "f", _same)),
    (r"它(?!们)", _Pronoun(_THINGS, None, "", _same)),
    (
        r"[这那](?:个|一个|件|本|部|首|款|道)(?:书|电影|片子|剧|电视剧|节目|戏|画|歌|东西|菜|游戏|小说)|[这那](?:个|一个|件|本|部|台|只|首"
        r"|款|道|双|条|辆|套|些|家|瓶|杯|份|盆|碗|盒|把|张|颗|篇|幅)"
        r"(?=[，。！？,.!?\s]|$|[吗呢吧啊好是怎贵多还有能会可要甜香辣难便太很真不没也都就算适给用吃喝看玩穿住值拍写做讲演唱画])",
        _Pronoun(_THINGS, None, "", _same),
    ),
    (r"(?<![你我他她们])[那这](?:里|儿|边)(?!有没有人)", _Pronoun(("place",), None, "", _same)),
)  # fmt: skip
_COMPILED = tuple((pattern_of(pattern, re.IGNORECASE), pronoun) for pattern, pronoun in _PRONOUNS)


_WHOSE_PRONOUNS = frozenset(("his", "her", "hers", "its", "their", "theirs"))
_NEXT_CLAUSE = pattern_of(
    r"[,;:.!?]|\b(?:and|or|but|because|if|when|that|so|since|while|who|which|than|before|after)\b"
)


def _find_pronouns(text: str) -> Iterator[tuple[re.Match[str], _Pronoun]]:
    found = [(match, pronoun) for pattern, pronoun in _COMPILED for match in pattern.finditer(text)]
    end = 0
    for match, pronoun in sorted(found, key=lambda each: (each[0].start(), -each[0].end())):
        if match.start() >= end:
            end = match.end()
            yield match, pronoun


def _fits(mention: Mention, pronoun: _Pronoun) -> bool:
    if mention.kind not in pronoun.kinds:
        return False
    if pronoun.gender and mention.gender not in ("", pronoun.gender):
        return False
    return pronoun.plural is None or mention.plural == pronoun.plural


def _latest(pronoun: _Pronoun, sentences: Sequence[str]) -> Mention | None:
    """The mention that a pronoun means: in the latest sentence with one that fits, if it is clear which."""
    for sentence in reversed(sentences):
        fitting = {one.name: one for one in _mentions_of(sentence) if _fits(one, pronoun)}
        again = next((match.start() for match, same in _find_pronouns(sentence) if same == pronoun), len(sentence))
        if any(one.at > again for one in fitting.values()):
            if any(one.kind == "person" and not one.plural for one in fitting.values()):
                return None
            continue  # "They loved the sharks." goes on about those who were meant before.
        best = max((one.rank for one in fitting.values()), default=0)
        named = bool(pronoun.gender) and best < 2  # "My cousin Bram married Noor.": either
        meant = [one for one in fitting.values() if one.rank == best or (named and one.name[0].isupper())]
        if meant:
            return meant[0] if len(meant) == 1 else None
    return None


def _may_mean(own: Mention, pronoun: re.Match[str], text: str) -> bool:
    """Whether a mention before a pronoun in the same message may be meant: not in one clause ("call him about it")."""
    whose = pronoun[0].casefold() in _WHOSE_PRONOUNS
    return whose or not text.isascii() or _NEXT_CLAUSE.search(text, own.at, pronoun.start()) is not None


def _names(text: str, mention: Mention) -> bool:
    """Whether a text names this itself."""
    return mention.name.removeprefix("the ").casefold() in text.casefold()


def _in_place(words: str, match: re.Match[str], text: str) -> str:
    """The words in the place of a pronoun: with a preposition for "there", and a capital where it had one."""
    if match[0].casefold() == "there":
        words = f"{'to' if _MOVES.search(text[: match.start()]) else 'in'} {words}"
    after = text[match.end() : match.end() + 3].casefold()
    if after in ("'re", "’re", "'ve", "’ve"):
        words += " "  # Never a contraction behind a name in the plural; the rest stays readable.
    return words[0].upper() + words[1:] if match.start() == 0 and match[0][0].isupper() else words


#: What stands before "there" where it says whereto.
_MOVES = pattern_of(
    r"\b(?:go|goes|going|went|gone|been|get|got|move|moved|moving|travel|travelled|drive|drove|fly|flew|return|returned|come"
    r"|came|back|ride|walk|way) $",
    re.IGNORECASE,
)


# -- mentions --------------------------------------------------------------------------------------------------------

_SENTENCE = pattern_of(
    r"[^.!?。！？\n]+(?:(?:\.(?=\w)|(?<=\bDr)\.|(?<=\bM[rs])\.|(?<=\bMrs)\.)[^.!?。！？\n]*)*[.!?。！？]*"
)
_SHE = "|".join([*kin_words("f", han=False), "fiancée|stepmother|sister-in-law|woman|girl|lady|landlady"])
_HE = "|".join([*kin_words("m", han=False), "fiancé|stepfather|brother-in-law|man|guy|boy|landlord"])
_EITHER = (
    "partner|cousin|boss|manager|teacher|friend|colleague|coworker|roommate|flatmate|neighbour|neighbor|doctor|dentist"
    "|therapist|coach|kid|child|baby|student|tutor|ex"
)
_ANIMAL = "dog|cat|puppy|kitten|rabbit|hamster|parrot|bird|horse|pony|tortoise|goldfish|pet"
_GROUP = (
    "parents|grandparents|kids|children|sons|daughters|sisters|brothers|friends|neighbours|neighbors|colleagues|twins"
    "|dogs|cats|in-laws"
)
_RELATIVE = rf"{_SHE}|{_HE}|{_EITHER}|{_ANIMAL}|{_GROUP}"
#: Not behind "is": "a doctor" says there what somebody is.
_WHOSE = r"(?:my|your|our|his|her|their|the|(?<!is )(?<!was )(?<!am )(?<!are )(?<!became )(?<!as )an?)"
#: "my (little) sister (Joan)", "my daughter is called joan", "my sister's name is Joan".
_TITLES = r"(?-i:Dr|Mrs?|Ms|Miss|Prof|Professor|Doctor|Coach|Captain|Aunt|Uncle)\.? "
_TITLED = pattern_of(rf"\b{_TITLES}[A-Z][\w’'-]*[a-z]")
_KIN = pattern_of(
    rf"\b(?P<whose>{_WHOSE}) (?P<which>(?:(?!{_RELATIVE}\b)[a-z]+ ){{0,2}}?)(?P<kin>{_RELATIVE})\b(?!-)"
    rf"(?:,? (?P<name>(?:{_TITLES})?(?-i:[A-Z])[\w’'-]*[a-z])\b"
    r"|(?:['’]s name)? (?:is|was|are) (?:called |named )?(?P<called>(?-i:[A-Z])[\w-]*)\b"
    r"|(?:['’]s name is| is called| is named|,? called|,? named) (?P<any>[A-Za-z][\w-]*))?",
    re.IGNORECASE,
)
_INTRODUCED = pattern_of(
    r"\b(?:called|named|this is|meet|name is|name['’]s) (?P<name>(?!my\b|the\b|a\b|an\b|it\b|that\b)[A-Za-z][\w-]*)"
)
_THING_CALLED = pattern_of(
    r"\b(?:boat|car|book|band|film|movie|song|show|game|bike|company|restaurant|cafe|café|app|plant|project)\b"
)
_TITLE = pattern_of(
    r"“([^“”\n]{2,60})”|\"([^\"\n]{2,60})\"|(《[^》\n]{1,40}》)|「([^」\n]{1,40})」|『([^』\n]{1,40})』"
    r"|‘([^‘’\n]{2,60})’|(?<!\w)'([A-Z][^'\n]{2,60})'(?!\w)"
)
_PLACE = pattern_of(
    r"\b(?:in|to|from|near|around|at|visit(?:ed|ing)?|live(?:s|d)? in) (?:the )?"
    r"(?P<name>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*)"
)
#: To whom, not whereto.
_RECIPIENT = pattern_of(
    r"\b(?:gave|give|given|sold|sell|sent|send|lent|lend|wrote|write|talk|talked|spoke|speak|said|showed|show|read|married"
    r"|introduced|listen|listened|offered|promised|apologi[sz]ed|lied|paid)\b[^,.;!?]{0,40}? to (?P<name>[A-Z][\w'’-]+)"
)
_BOUNDARY = (
    "is|are|was|were|be|will|would|can|could|has|have|had|and|or|but|in|on|at|to|for|from|with|of|by|that|which|who"
    "|because|so|yesterday|today|tonight|tomorrow|last|now|again|this|as|when|while|finally|just|really|broke|died"
    "|arrived|came|went|got|about|into|over|after|before|online|ago|the|a|an|my|i|we|you|he|she|it|they|not|also|too"
    "|looks?|feels?|tastes?|smells?|sounds?|costs?|works?|called|named|all|every|each|never|always|often|sometimes|usually"
)
_NOUN_PHRASE = pattern_of(
    rf"\b(?P<det>my|our|your|a|an|the|this|that|these|those|some|new|two|three|four|five|his|her|their) "
    rf"(?P<noun>(?!(?:{_BOUNDARY})\b)[a-z][a-z'’-]*(?: (?!(?:{_BOUNDARY})\b)[a-z][a-z'’-]*){{0,2}})",
    re.IGNORECASE,
)
#: "planted tomatoes", "Ana's violin", "the boat Marlin", and a name with which a sentence begins: "Ravi broke".
_BARE_OBJECT = pattern_of(
    r"\b(?:bought|planted|baked|made|got|ate|tried|picked|found|ordered|sold|lost|grew|adopted|cooked|painted|read|saw)"
    r" (?P<noun>(?:new |old |fresh |[a-z]+ing )?[a-z]{2,}s)\b(?! of\b)"
)
_POSSESSED = pattern_of(
    r"\b(?P<noun>[A-Z][\w-]*[a-z]['’]s (?:[a-z]+ )?[a-z]{3,})(?=\s+(?:is|was|has|are|were|broke|died)\b|[.,!?]|$)"
)
#: What one reads is no person.
_READ = pattern_of(r"\b(?:re-?)?read(?:ing)? (?P<name>[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*)")
_NAMED_THING = pattern_of(r"\b(?:named|call|called) (?:the|our|my|her|his) [a-z]+ (?P<name>[A-Z][\w-]*)")
_PAST = (
    "broke|fell|ate|drank|quit|bought|found|won|sang|drove|wrote|spoke|began|flew|grew|rode|sold|sent|kept|thought"
    "|forgot|ran|stood|swam|taught|knew|hid|slept|spent|brought|caught|chose|wore|paid|lent|gave|met|told|said|got|went|made|had|came|took|blew|shook|froze|threw|stole"
)
_OPENING_NAME = pattern_of(
    rf"^\W*(?P<name>[A-Z][a-z]{{2,}}) (?:{_PAST}|lost|felt|hurt|cut|put|let|moved|started|passed|turned|called"
    r"|plays|loves|likes|works|lives|wants|needs|asked|showed)\b"
)
#: Behind a subject: that its verb follows, and that this may be so.
_VERB = pattern_of(
    rf"['’]|\s+(?:is|are|was|were|will|would|can|could|has|have|do|does|did|should|may|might|must|{_PAST}|\w+ed"
    r"|died|looks?|feels?|tastes?|smells?|sounds?|costs?|works?)\b"
)
_BESIDE_VERB = pattern_of(
    r"\s+(?:in|on|at|to|for|from|with|of|by|about|over|near|never|always|often|again|just|really)\b"
)
_BARE_SUBJECT = pattern_of(r"^\W*(?P<noun>[A-Z][a-z]+s) (?:are|were|have|taste|look|smell)\b")
#: What is said of a noun behind it.
_BEHIND_NOUN = frozenset(
    "red blue green white black yellow brown downtown upstairs downstairs outside inside nearby abroad away".split()  # noqa: SIM905
)
#: Nouns that "it" hardly means.
_NO_THING = frozenset(
    """
    week day month year morning evening afternoon night time moment lot bit while way thing things weather idea problem
    winter spring summer autumn season question reason kind sort couple few weekend today tomorrow people person minute
    hour minutes hours days weeks months years other others same end beginning front back side top bottom first second
    rest half point fact truth news sun rain world place room work school home office bed hand hands head face eyes
    mind life dinner lunch breakfast
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
#: Names that nearly always tell the gender.
_WOMEN = frozenset(
    """
    anna anne ann mary maria emma olivia sophie sophia lucy alice julia laura sarah sara kate katie katherine
    lisa jane joan emily eva eve ella mia grace hannah helen irene jenny jennifer jessica julie karen linda lena
    nina nora rachel rebecca rosa rose ruth susan tina vera zoe amy betty carol clara diana elena ellen fiona
    greta heidi ida ingrid marta martha margaret megan molly nancy naomi paula patty petra sally sandra stella
    wendy
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
_MEN = frozenset(
    """
    tom thomas john james jim bob robert bill william mike michael david dave dan daniel peter paul mark matt
    matthew andrew andy ben jack jacob joe joseph josh henry harry george frank fred gary greg ian ivan karl
    kevin larry leo louis luke martin nick oliver oscar owen patrick phil ray richard rob roger ryan samuel
    scott sean simon stephen steve steven stuart ted tim tony victor walter adam alan albert arthur brian bruce
    carl charles eric felix hugo
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
#: Words with a capital at the beginning of a sentence, or of the calendar, that are no names.
_NO_NAME = (
    frozenset(DAY_NAMES)
    | frozenset(MONTH_NAMES)
    | frozenset(
        """
    nothing everything something anything someone somebody anyone anybody everyone everybody nobody yes no ok okay
    thanks hello hi hey sorry please today yesterday tomorrow tonight christmas easter god well oh wow great
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
    )
)

_HAN = "\u4e00-\u9fff"
_ZH_SHE = "|".join([*kin_words("f", han=True), "孙女|闺蜜|女同事|女老师|女孩|女士"])
_ZH_HE = "|".join([*kin_words("m", han=True), "姑父|姨父|孙子|男同事|男老师|男孩"])
_ZH_EITHER = "老板|领导|老师|同事|同学|室友|邻居|朋友|医生|教练|房东|导师|孩子|宝宝|对象|爱人"
_ZH_ANIMAL = "小狗|小猫|狗狗|猫咪|狗|猫|兔子|仓鼠|鹦鹉|乌龟|金鱼"
_ZH_GROUP = "父母|爸妈|爷爷奶奶|外公外婆|孩子们|同事们|朋友们|同学们|邻居们|两个孩子|双胞胎"
_ZH_GENDER: dict[str, Gender] = {**dict.fromkeys(_ZH_SHE.split("|"), "f"), **dict.fromkeys(_ZH_HE.split("|"), "m")}
#: What no modifier of a noun has.
_ZH_NO_MODIFIER = "被把给和跟让叫在是了有送借带去来找见对向为的从"
_ZH_KIN = pattern_of(
    rf"(?P<whose>(?:[我咱你]们?家?的(?:(?![{_ZH_NO_MODIFIER}])[{_HAN}]){{1,4}}?)|我们?家?的?|咱们?家?的?|你们?家?的?|他的?|她的?|楼[上下]的?|隔壁的?)?(?P<kin>{_ZH_GROUP}|{_ZH_EITHER}|{_ZH_SHE}|{_ZH_HE}|{_ZH_ANIMAL})"
    rf"(?!们)(?:的?名字(?:是|叫)|也?名?叫做?|取名叫?|是)?"
)
#: What time a sentence goes on with behind a name.
_ZH_WHEN = (
    "下(?=[个周星月班午次])|后(?=[天来])|明(?=[天年早晚])|上(?=[个周星月班午次])|周(?=[末一二三四五六日])|[今昨这每]"
)
#: What a person does, at the beginning of what follows their name.
_ZH_DOES = "找收参准调吵聊商约合分离订病开送借还辞升毕考退当做得赢输哭笑睡醒跑唱写画学教拿忘丢卖租一两三几"
_ZH_NAME_END = (
    r"(?=[，。！？、,.!?\s”\"』」）)]|$|今年|今天|昨天|明天|在|是|也|很|的|了|去|和|跟|会|有|喜欢|刚|最近|上|说|要|比|才|从|住"
    r"|来)"
)
_ZH_CALLED = pattern_of(
    rf"(?:名字是|名字叫|名叫|取名叫?|叫做|(?<![{_HAN}]{{0}}[喊])叫)(?!我|你|他|她|它|醒|车|外卖|人|大家|什么|谁|停"
    rf"|好)(?P<name>[{_HAN}]{{1,4}}?|[A-Za-z][\w-]*){_ZH_NAME_END}"
)
_ZH_SURNAMES = (
    "[王李张刘林何陈杨赵黄周吴徐孙胡朱郭罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈"
    "曾彭吕苏卢蒋蔡贾魏薛阎余潘杜戴夏钟汪姜范姚谭廖邹熊陆郝孔崔邱秦顾侯邵孟段雷钱汤尹黎贺赖龚]"
)
#: What makes no name behind 小, 老 or 阿.
_ZH_NO_NAME = "时区心是家公板婆师爸妈狗猫孩朋说伙姨姐妹哥弟学店吃事样气城镇书菜声看产跑睡得想忘觉"
_ZH_NICKNAME = rf"[小阿](?![{_ZH_NO_NAME}])[{_HAN}]"
_ZH_SURNAMED = (
    rf"(?:{_ZH_NICKNAME}|老(?![{_ZH_NO_NAME}])[{_HAN}]|(?:欧阳|司马|诸葛|上官)[{_HAN}]{{1,2}}?|{_ZH_SURNAMES}(?:(?:总|老师|医生|教授|经理|主任|阿姨|叔叔"
    rf"|先生|女士|太太|师傅)|(?!时|必|况|天|末|年|月|日|里|家|店|色|金|油|豆|瓜|花|山|海|河|湖|江|国|的|了|一"
    rf"|子)[{_HAN}]{{1,2}}?))"
)
_ZH_PERSON = pattern_of(
    rf"(?:(?<![{_HAN}])|(?<=[和跟找见给问帮陪是叫让请约被把了来]))(?P<name>{_ZH_SURNAMED})"
    rf"(?=[，。！？、,.!?\s的了说在去和跟是有会喜爱怎为要想也都刚来给告打搬生结换住最前从被看吃喝买做见帮带问陪{_ZH_DOES}]|{_ZH_WHEN}|$)"
)
_ZH_BEHIND_KIN = pattern_of(
    rf"是?({_ZH_NICKNAME}|{_ZH_SURNAMED}(?=[，。！？、,.!?\s的了说在去和跟是有会喜爱要想也都刚来给告搬生结换最前{_ZH_DOES}]"
    rf"|{_ZH_WHEN}|$))"
)
_ZH_TITLED = pattern_of(rf"[{_HAN}](?:总|老师|医生|教授|经理|主任|阿姨|叔叔|先生|女士|太太|师傅)")
_ZH_WITH_TITLE = pattern_of(rf"{_ZH_SURNAMES}(?:老师|医生|教练|阿姨|叔叔|先生|女士|太太)$")
_ZH_GROUP_OF = pattern_of(
    rf"(?P<one>[{_HAN}]{{2,3}}?)[和跟与](?P<two>[{_HAN}]{{2,3}}?)(?=[，。！？、,.!?\s]|$|都|一起|去|来|在|要|结婚"
    rf"|吵架|是|{_ZH_WHEN}|[{_ZH_DOES}])"
)
_ZH_PLACE = pattern_of(
    rf"(?:搬到|搬去|去了|到了|住在|回到|在|去|到|从|回)(?:一?[趟次])?(?P<name>(?!了|过|趟|年|见|哪|这|那|家(?![{_HAN}])|一起|于|是|来|我|你|他|她)[{_HAN}]{{2,5}}?)"
    rf"(?=[，。！？、,.!?\s]|$|工作|上班|上学|住|读|念|学|办|玩|旅游|旅行|出差|读书|学习|买|的|了|看|吃|开会|待|过|出发|回来|租|开|当|做|认识|遇[到见]|碰[到见])"
)
_ZH_SHOP = pattern_of(r"(?:馆|店|餐厅|超市|公园|商场|酒吧|书吧|食堂|房)$")
_ZH_MEASURE = (
    "台|辆|本|部|家|个|只|条|件|双|套|张|把|盆|棵|首|篇|款|杯|份|盒|瓶|间|栋|座|幅|块|颗|束|斤|箱|袋|些|顶|架|支|副"
    "|盏|片|群|排|堆|批|串|根|锅|盘|碟|壶|罐|桶|卷|节|场|门|封|扇|口"
)
_ZH_OBJECT = pattern_of(
    rf"(?:把(?P<taken>[{_HAN}]{{1,6}}?)(?=[弄丢忘卖洗修送借拿放扔打换吃喝装摔给])|[里上下边]有"
    r"|(?:买|看|吃|养|换|做|收到|读|听(?!说)|学|借|租|开|丢|捡|种|写|画|织|订|点|喝|玩|拍|装|养过|试|弄|煮|烤|送我|卖|修)"
    rf"(?:了|过|完|好|到|着|上)?了?)(?:给[{_HAN}]{{1,3}}?(?=[一两三几]))?(?:(?:一|两|三|四|五|几|半|这|那|新|一些"
    rf"|\d+)*(?:{_ZH_MEASURE}))?(?P<name>(?!了|的|[焦糊坏丢好碎断]|过|完|什么|一|了吗|得|起来|很|给|我|你|他|她"
    rf"|它)[{_HAN}]{{1,8}})"
    r"(?=[，。！？、,.!?\s]|$|给|送|回|吧|来)"
)
_ZH_SUBJECT = pattern_of(
    r"^(?:今天|昨天|前天|最近|刚才|刚刚|今年|去年|今早|晚上|早上|终于|听说|哎呀?|唉|对了|其实|那个|，|,|\s)*(?:我们?家?的?"
    rf"|咱家的?|[{_HAN}]{{1,3}}?[里上下台]的|家里|院子里|新买的|这|那)?(?:个|些|本|部|台|只|棵|盆)?"
    r"(?:刚刚?|才|最近|昨天|今天|已经|终于|又)*"
    rf"(?P<name>(?![的我你他她它谁这那很真太不没好是有在去什么]|听说)[{_HAN}]{{1,6}}?(?<!的))"
    r"(?:已经|都|终于|也|又|还|总|老|就|突然|快|刚|特别|非常|挺|真的?|太|很|有点|不太?|没|全|正在|开始|今天|昨天)*(?:熟|坏|甜|好(?!友)"
    r"|开|死|丢|停|修|到货|到了|漏|旧|贵|便宜|漂亮|好用|好吃|好看|好听|难|酸|苦|辣|大|小|长|短|新|香|臭|黑|白|红|绿|黄"
    r"|枯|谢|掉|碎|破|断|热|冷|凉|满|空|慢|重|轻|薄|厚|亮|暗|高|低|脏|吵|[烤煮炒摔弄吃卖洗做喝用修]?[焦糊坏丢完碎断]|[烤煮炒洗做修包蒸炸熬拌切晒腌缝装织画写烧炖]好|送到|卖完|涨价|上映|结束|火|是|有|被|让|比)"
)
_ZH_NO_THING = frozenset(
    """
    天气 今天 昨天 明天 时间 事情 心情 工作 我们 你们 大家 有人 没人 什么 这里 那里
    周末 晚上 早上 生活 日子 东西 地方 身体 感觉 问题 时候 年纪 关系 小 老 大 新 人 事 空
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
#: What is in no name of a thing.
_ZH_NO_PART = pattern_of(r"[了过着得只叫把被]|^[和跟与先后又再还就才都也]|(?:[来去里上下边]|名字)$")
#: A child's name in two equal characters, at the beginning: 乐乐.
_ZH_TWICE = pattern_of(
    rf"^\W*(?P<name>(?![妈爸爷奶哥弟姐妹叔天常刚慢谢拜哈呵嗯往偏渐好星宝人家个处偷悄默白轻])([{_HAN}])\2)"
)
_ZH_FEMALE, _ZH_MALE = "芳丽娟娜敏静婷雪梅玲红霞燕琴莉萍莲花倩颖媛娇兰妍蕾薇", "强伟军勇磊刚涛杰鹏斌峰龙辉超浩"


def _mentions_of(text: str) -> list[Mention]:
    latin = [*_latin_people(text), *_latin_places(text), *_latin_things(text)] if re.search("[A-Za-z]", text) else []
    han = [*_han_people(text), *_han_places(text), *_han_things(text)] if re.search(f"[{_HAN}]", text) else []
    titles = [Mention(_title(match), "thing", match.start(), rank=3) for match in _TITLE.finditer(text)]
    found = sorted((*latin, *han, *titles), key=lambda one: one.at)
    places = {one.name for one in found if one.kind == "place"}
    return _with_pronoun_gender(text, [one for one in found if one.kind == "place" or one.name not in places])


def _title(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group)


def _with_pronoun_gender(text: str, found: list[Mention]) -> list[Mention]:
    """The only person of a sentence is a woman if the sentence goes on with "she"."""
    people = [one for one in found if one.kind == "person" and not one.plural]
    if len(people) != 1 or people[0].gender:
        return found
    after = text[people[0].at :]
    she = re.search(r"\b(?:she|her)\b|她", after, re.IGNORECASE)
    he = re.search(r"\b(?:he|him|his)\b|(?<!其)他(?!们)", after, re.IGNORECASE)
    if bool(she) == bool(he):
        return found
    known = replace(people[0], gender="f" if she else "m")
    return [known if each is people[0] else each for each in found]


def _latin_people(text: str) -> list[Mention]:
    found: list[Mention] = []
    covered: list[str] = []
    for match in _KIN.finditer(text):
        kin, whose = match["kin"].casefold(), match["whose"].casefold()
        name = match["name"] or match["called"] or match["any"] or ""
        if name and (name.casefold() in STOP_WORDS or (name[0].islower() and not match["any"])):
            name = ""
        kind: Kind = "animal" if re.fullmatch(_ANIMAL, kin) else "person"
        gender: Gender = "f" if re.fullmatch(_SHE, kin) else "m" if re.fullmatch(_HE, kin) else _gender_of(name)
        plural = bool(re.fullmatch(_GROUP, kin))
        own = {"your": "my", "a": "the", "an": "the"}.get(whose, whose)
        shown = name if name and not plural else f"{own} {match['which']}{kin}"
        found.append(Mention(shown, kind, match.start(), plural, gender, rank=1 if name else 0))
        covered += filter(None, (name, match[0]))
    places = {one.name for one in _latin_places(text)}
    titles = " ".join(
        match[0] for match in (*_TITLE.finditer(text), *_NAMED_THING.finditer(text), *_READ.finditer(text))
    )
    for match in _TITLED.finditer(text):
        if not any(match[0] in one for one in covered):
            found.append(Mention(match[0], "person", match.start(), gender=_gender_of_title(match[0]), rank=1))
            covered.append(match[0])
    opening = _OPENING_NAME.match(text)
    if opening and opening["name"].casefold() not in _NO_NAME | STOP_WORDS:
        name = opening["name"]
        if not any(name in one for one in covered):
            found.append(Mention(name, "person", opening.start("name"), gender=_gender_of(name)))
            covered.append(name)
    introduced = {match["name"]: match.start("name") for match in _INTRODUCED.finditer(text)}
    for name, at in introduced.items():
        if not any(name in one for one in covered) and name.casefold() not in STOP_WORDS:
            thing = _THING_CALLED.search(text[:at].casefold())
            found.append(Mention(name, "thing" if thing else "person", at, gender=_gender_of(name), rank=3))
            covered.append(name)
    for name in whole_names(text):
        parts = name.split()
        if name in places or name in titles or any(name in one for one in covered) or parts[0].casefold() in _NO_NAME:
            continue
        found.append(Mention(name, "person", text.find(name), gender=_gender_of(parts[0])))
    named = [one.name for one in found if not one.plural and one.kind != "thing"]
    for one, other in pairwise(named):
        joined = f"{one} and {other}"
        if joined in text:
            found.append(Mention(joined, "person", text.find(joined), plural=True, rank=1))
    return found


def _gender_of_title(name: str) -> Gender:
    if name.startswith(("Mr ", "Mr.", "Uncle")):
        return "m"
    return "f" if name.startswith(("Ms", "Mrs", "Miss", "Aunt")) else ""


def _gender_of(name: str) -> Gender:
    return "f" if name.casefold() in _WOMEN else "m" if name.casefold() in _MEN else ""


def _latin_places(text: str) -> list[Mention]:
    people = {match["name"] for match in _RECIPIENT.finditer(text)}
    return [
        Mention(match["name"], "place", match.start(), rank=match.start())
        for match in _PLACE.finditer(text)
        for first in [match["name"].split()[0]]
        if first not in people
        and not _gender_of(first)
        and not _TITLED.match(match["name"])
        and first.casefold() not in _NO_NAME | STOP_WORDS
    ]


def _latin_things(text: str) -> list[Mention]:
    found = []
    names = set(latin_names(text))
    for match in _NOUN_PHRASE.finditer(text):
        if any(word[0].isupper() for word in match["noun"].split()[1:]):
            continue  # "our accountant Helga found"
        words = match["noun"].casefold().split()
        verbs = [at for at, word in enumerate(words) if at and re.fullmatch(_PAST, word)]
        words, rest = words[: verbs[0] if verbs else None], text[match.end() :]
        begins = not text[: match.start()].strip(" ,")
        while len(words) > 1 and (words[-1] in _BEHIND_NOUN or words[-1].endswith(("ed", "ly"))):
            words.pop()
        if begins and len(words) == len(match["noun"].split()) > 1 and not _VERB.match(rest):
            if not _BESIDE_VERB.match(rest):
                words.pop()  # "The dishwasher leaks."
            elif words[-1].endswith("s"):
                continue  # "my printer jams in", "my running shoes in"
        head, det = words[-1], match["det"].casefold()
        if (head in _NO_THING and (len(words) == 1 or head != "place")) or words[0] in _NO_THING:
            continue
        if re.fullmatch(_RELATIVE, head) or match["noun"].split()[0] in names:
            continue
        if any(re.fullmatch(rf"{_SHE}|{_HE}|{_EITHER}", word) for word in words):
            continue
        plural = head.endswith("s") and not head.endswith(("ss", "us", "is"))
        if det == "new":
            words.insert(0, det)
        behind = re.search(r"\b(?:in|on|at|of|from|with|near|by|for|to|under) $", text[: match.start()])
        subject = begins or (not behind and bool(re.match(r"\s+(?:is|are|was|were)\b", rest)))
        whose = det if det in ("my", "our") else "my" if det == "your" else "" if plural else "the"
        new = {"a", "an", "my", "our", "some", "new", "two", "three", "four", "five"}
        rank = 2 if subject else 1 if det in new else 0
        found.append(Mention(f"{whose} {' '.join(words)}".strip(), "thing", match.start(), plural, rank=rank))
    if bare := _BARE_SUBJECT.match(text):
        found.append(Mention(bare["noun"].casefold(), "thing", bare.start("noun"), plural=True, rank=2))
    bought = _BARE_OBJECT.finditer(text)
    found += [Mention(match["noun"], "thing", match.start("noun"), plural=True, rank=1) for match in bought]
    found += [Mention(match["noun"], "thing", match.start(), rank=2) for match in _POSSESSED.finditer(text)]
    named = (*_NAMED_THING.finditer(text), *_READ.finditer(text))
    found += [Mention(match["name"], "thing", match.start("name"), rank=3) for match in named]
    return found


def _han_people(text: str) -> list[Mention]:
    found: list[Mention] = []
    called = list(_ZH_CALLED.finditer(text))
    taken = {match["name"] for match in called}
    kin_of: dict[str, str] = {}
    for match in _ZH_KIN.finditer(text):
        kin = match["kin"]
        if titled := _ZH_WITH_TITLE.search(text[: match.end("kin")]):
            found.append(Mention(titled[0], "person", titled.start(), gender=_zh_gender(kin, ""), rank=1))
            taken.add(titled[0])
            continue
        if not match["whose"] and re.search(r"[是当]$", text[: match.start()]):
            continue  # what somebody is
        near = range(match.start("kin"), match.end("kin") + 4)
        name = next((one["name"] for one in called if one.start() in near), "")
        if not name and (named := _ZH_BEHIND_KIN.match(text, match.end("kin"))):
            titled = _ZH_TITLED.match(named[1])
            name = titled[0] if titled else named[1]
        if name:
            kin_of[name] = kin
            taken.add(name)
        if len(kin) == 1 and not (match["whose"] or name):
            continue
        kind: Kind = "animal" if re.fullmatch(_ZH_ANIMAL, kin) else "person"
        whose = (match["whose"] or "").replace("你", "我")
        plural = bool(re.fullmatch(_ZH_GROUP, kin))
        found.append(
            Mention(name or f"{whose}{kin}", kind, match.start(), plural, _zh_gender(kin, name), rank=1 if name else 0)
        )
    for match in called:
        if match["name"] not in kin_of:
            thing = re.search("(?:书|电影|剧|歌|店|公司|游戏|软件|餐厅)[，,]?$", text[: match.start()])
            kind = "thing" if thing else "person"
            found.append(Mention(match["name"], kind, match.start(), gender=_zh_gender("", match["name"]), rank=3))
    people = [(match["name"], match.start()) for match in _ZH_PERSON.finditer(text)]
    people = [(who, at) for who, at in people if not any(who in name or name in who for name in taken)]
    found += [Mention(who, "person", at, gender=_zh_gender("", who)) for who, at in people]
    if (twice := _ZH_TWICE.match(text)) and twice["name"] not in taken:
        found.append(Mention(twice["name"], "person", twice.start("name")))
    known = {one.name: one for one in found if one.kind == "person" and not one.plural}
    for match in _ZH_GROUP_OF.finditer(text):
        pair = [
            next((name for name in known if name.endswith(match[side]) or match[side].endswith(name)), "")
            for side in ("one", "two")
        ]
        if all(pair):
            found.append(Mention(f"{pair[0]}和{pair[1]}", "person", match.start(), plural=True, rank=1))
    return found


def _zh_gender(kin: str, name: str) -> Gender:
    if kin in _ZH_GENDER or not name:
        return _ZH_GENDER.get(kin, "")
    return "f" if name[-1] in _ZH_FEMALE else "m" if name[-1] in _ZH_MALE else _gender_of(name)


def _han_places(text: str) -> list[Mention]:
    found = [(match["name"], match.start()) for match in _ZH_PLACE.finditer(text)]
    found += [
        (match["name"], match.start()) for match in _ZH_OBJECT.finditer(text) if _ZH_SHOP.search(match["name"] or "")
    ]
    return [Mention(name, "place", at, rank=at) for name, at in found]


def _han_things(text: str) -> list[Mention]:
    objects = [(match["taken"] or match["name"], match.start("name")) for match in _ZH_OBJECT.finditer(text)]
    found = [Mention(name, "thing", at, rank=1) for name, at in objects]
    for part in re.finditer(r"[^，。！？,.!?\n]+", text):
        if (match := _ZH_SUBJECT.match(part[0])) and not _ZH_OBJECT.match(part[0], match.start("name")):
            found.append(Mention(match["name"], "thing", part.start() + match.start("name"), rank=2))
    people = pattern_of(rf"(?:{_ZH_GROUP}|{_ZH_EITHER}|{_ZH_SHE}|{_ZH_HE})$")
    found = [replace(one, rank=0) if re.search(rf"(?:{_ZH_ANIMAL})$", one.name) else one for one in found]
    found = [one for one in found if not _ZH_NO_PART.search(one.name) and not people.search(one.name)]
    return [one for one in found if one.name not in _ZH_NO_THING]
