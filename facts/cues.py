"""Cues in a sentence, in English and Chinese: question, supposition, joke, wish, denial, agreement, pronoun.

Cues are strict where a wrong one would lose a truth ("Ha, mine's spring" is no joke), and can only make a statement
less certain.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from domain.facts import Stance
from domain.patterns import Guarded, pattern_of
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.words import whole_names

_SENTENCE = pattern_of(r"[^.!?。！？…\n]+(?:\.(?=\S)[^.!?。！？…\n]+)*[.!?。！？…]*[\"”’」』)）]*")
_CLAUSE = pattern_of(r"[,;:，；：—–]| - |\bbut\b|\bthough\b|但是?|不过|可是")
#: A denial after "and" is separate if a clause precedes it.
_DENIED_BESIDES = pattern_of(
    r"(?<=\w)\s+and\s+(?=(?:(?:i|we|he|she|they|it)\s+)?(?:(?:never|not|no)\b|\w+n't\b|cannot\b))", re.IGNORECASE
)
_SHORTEST_CLAUSE = 5
#: Quoted words: a title, a name, a phrase.
QUOTED = pattern_of(
    r'"[^"\n]{1,300}"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|『[^』\n]{1,300}』|《[^》\n]{1,300}》|‘[^’\n]{1,300}’'
)

_QUOTE = pattern_of('["“「『《‘]')

# --- asking

_TAG = pattern_of(
    r",\s*(?:right|ok|okay|did i say|you know|would you|will you|could you|can you|isn't it|don't you think|remember|eh|huh"
    r"|promise|i think|aren't i|haven't i|do you remember)\s*\?+$"
    r"|[,，]?\s*(?:行吗|好吗|可以吗|行不行|好不好|可以不|对吧|是吧|对吗|是吗|怎么样|知道吗|你说呢|好吧|行吧)\s*[?？]+$",
    re.IGNORECASE,
)
_ASKS = pattern_of(r"[?？][\"”’」』)）]*$")
_ASKS_HAN = pattern_of(
    r"(?:吗|什么来着|怎么说的来着|(?:^|[，。！])[^，。！]{0,4}呢|[什谁哪怎几多][^，。！]*呢)[。！]*$"
)


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, in order. A point inside a number or a name ends none."""
    return tuple(sentence for found in _SENTENCE.finditer(text) if (sentence := found[0].strip()))


def split_clauses(sentence: str) -> tuple[str, ...]:
    """The clauses of a sentence."""
    parts: list[str] = []
    for part in _CLAUSE.split(sentence):
        found = _DENIED_BESIDES.search(part)
        apart = found and len(part[: found.start()].split()) >= _SHORTEST_CLAUSE
        parts += [part[: found.start()], part[found.end() :]] if found and apart else [part]
    return tuple(clause for part in parts if (clause := part.strip()))


def is_question(sentence: str) -> bool:
    """Whether a sentence is a question; a tag question after a statement is none.

    >>> is_question("Is Rafe a baker?"), is_question("Rafe has a daughter, did I say?")
    (True, False)
    """
    if not _ASKS.search(sentence):
        return bool(_ASKS_HAN.search(sentence))
    return not _TAG.search(sentence)


# --- how it was said

_SUPPOSED = Guarded(
    "if|suppos|imagin|hypothetic|theory|would|maybe|perhaps|might|alleg|rumo|suspect|guess|say i |unless|apparent|heard|pretend|如果|要是|假|倘若|万一|据说|听说|好像|似乎|怀疑|也许|或许|可能|大概会|传言|传闻|说不定|的话|没准",
    r"\b(?:if\b(?<!ask if)(?<!asked if)(?<!asks if)(?<!wonder if)(?<!know if)(?<!see if)(?<!as if)|suppose\b|supposing\b|imagine\b"
    r"|what if\b|hypothetically\b|in theory\b|would(?:n't)?\b(?! (?:like|love))|maybe\b|perhaps\b|might\b|allegedly\b"
    r"|rumou?r(?:s|ed)?\b|suspects?\b|supposedly\b|i guess\b|say i (?:won|had|were|was)\b|unless\b|apparently\b"
    r"|i(?:'ve)? heard\b|if only\b|pretend\b)"
    r"|如果|要是|假如|假设|倘若|(?<![一二三四五六七八九十百千两几\d])万一|据说|听说|好像|似乎|怀疑|也许|或许|可能|大概会|假装|传言|传闻|说不定|的话|没准",
)
_JOKED = Guarded(
    "kidding|joking|jk|oh |yeah|solve everything|sarcastic|ironic|as if|/s|😂|🤣|😜|开玩笑|逗你的|骗你的|说着玩|干脆|要不|才怪|呵呵",
    r"\b(?:(?:just )?(?:kidding|joking)\b|jk\b|oh (?:brilliant|great|sure|wonderful|perfect|fantastic|lovely|joy)\b|yeah,? right\b"
    r"|that'?ll solve everything\b|only joking\b|(?:i'?m|was) being (?:sarcastic|ironic)\b)|^as if\b|(?<!\w)/s\b|😂|🤣|😜"
    r"|开玩笑|逗你的|骗你的|说着玩|干脆.{0,16}(?:算了|得了)|要不我?.{0,16}算了|才怪|呵呵",
)
#: Laughter before a statement is joy; after it, it makes the statement a joke.
_LAUGHS = Guarded("haha|lol|lmao|哈哈|嘿嘿", r"(?:哈哈+|嘿嘿+|\b(?:ha){2,}\b|\blol\b|\blmao\b)[\s!！。.~～)）]*$")
_WISHED = Guarded(
    "wish|like|love|hope|hoping|dream|one day|some day|someday|希望|但愿|盼着|梦想|想要是|真想|巴不得|要能",
    r"\b(?:i wish\b|i(?:'d| would) (?:like|love)\b|i hope\b|hop(?:e|es|ing) to\b|dream(?:s|ing)? of\b|one day\b|some ?day\b)"
    r"|希望|但愿|盼着|梦想|想要是|真想|巴不得|要能",
)
_PLANNED = Guarded(
    "thinking |plan|intend|considering|going to|will|'ll|打算|计划|准备|考虑|想",
    r"\b(?:thinking (?:of|about)\b|plan(?:s|ning)? (?:to|on|for)\b|intend(?:s|ing)? to\b|considering\b|i(?:'m| am) going to\b"
    r"|we(?:'re| are) going to\b|i(?:'ll| will)\b(?! call you)|we(?:'ll| will)\b)"
    r"|打算|计划|准备去|准备要|想带|想去|考虑|想跟|想和|想在",
)


def stance_of(sentence: str, following: str = "") -> Stance:
    """The stance of a sentence by its words; a laugh in the following sentence makes it a joke."""
    sentence = sentence.casefold().replace("’", "'")
    following = following.casefold()
    laughs = _LAUGHS.search(following) or _JOKED.search(following)
    only_laughs = laughs is not None and len(following) - len(laughs[0]) < 6
    if only_laughs or _JOKED.search(sentence) or _LAUGHS.search(sentence):
        return "joked"
    if _SUPPOSED.search(sentence):
        return "supposed"
    if _WISHED.search(sentence):
        return "wished"
    return "planned" if _PLANNED.search(sentence) else "stated"


#: Words that mark a joke, a thought or hearsay.
_HEDGES = Guarded(
    "jok|jest|teas|kid|ironic|sarcas|may|could|should|possibl|probabl|suppos|think|thought|believ|imagin|wonder|consider|hear|rumo|guess|unsure|not sure|likely|whether|玩笑|打趣|戏称|自嘲|说笑|考虑|觉得|以为|认为|猜|估计|想着|是否|未必|不确定",
    r"\b(?:jok\w+|jest\w*|teas\w+|kid(?:s|ded)|ironic\w*|sarcas\w+|may|could|should|possibl[ey]|probabl[ey]|suppos\w+|think(?:s|ing)?|thought"
    r"|believ\w+|imagin\w+|wonder\w*|consider\w*|heard|hears|rumou?r\w*|guess\w*|unsure|not sure|unlikely|likely|whether)\b"
    r"|玩笑|打趣|戏称|自嘲|说笑|考虑|觉得|以为|认为|猜|估计|想着|是否|未必|不确定",
    any_case=True,
)


def is_hedged(statement: str) -> bool:
    """Whether a statement marks itself as a joke, a thought or hearsay.

    >>> is_hedged("Mara joked that she would marry Gareth."), is_hedged("Mara marries Gareth.")
    (True, False)
    """
    return _HEDGES.search(statement) is not None or stance_of(statement) in ("joked", "supposed")


_BIRTHDAY = pattern_of(
    r"\bbirthday (?:is|was|falls)\b|\bborn\b|生日(?:[是为在：:]|农历|阴历|阳历)|出生|生于", re.IGNORECASE
)


def tells_birthday(statement: str) -> bool:
    """Whether a statement gives a birthday, which is never a plan.

    >>> tells_birthday("Mara's birthday is on 3 May."), tells_birthday("Mara plans a party for her birthday.")
    (True, False)
    """
    plain = statement.casefold()
    return _BIRTHDAY.search(plain) is not None and not _PLANNED.search(plain)


_PROMISES = pattern_of(r"\bi(?:'ll| will| promise)\b|我(?:会|答应|一定|替你)")


def is_promise(sentence: str) -> bool:
    """Whether the speaker says what they will do."""
    return not is_question(sentence) and _PROMISES.search(sentence.casefold().replace("’", "'")) is not None


# --- denying

_DENIES = Guarded(
    "no|n't|never|neither|不|没|别|无|未",
    r"n't\b|\b(?:not|no(?! idea)|never|nobody|nothing|none|neither|nor|cannot)\b"
    r"|(?<![要差了好是对能可行])不(?![错过仅但管止断久少同光得论])|没(?![错关问事])|(?<![特分级性区告识送辨])别(?![人的墅处])|(?<!独一)无(?!论|所谓|锡|人机)|未(?!来|婚|必)",
)
#: Words for an end or a lack, with or without "not".
_ENDS = Guarded(
    "stop|quit|gave|give|over|off|cancel|without|die|dead|left|leav|hate|dislik|refus|avoid|free|lack|lost|forbid|fail|end|sold|broke|split|hardly|secret|instead|unable|beyond|dread|unnoticed|straight|戒|停|离|死|黄|忌|缺|少|免|辞|裁|分手|取消|去世|过世|放弃|讨厌|拒绝|避|告吹|失败|结束|保密|秘密|难以",
    r"\b(?:stop(?:s|ped)?|quit|g[ai]ve(?:n|s)? up|over|off|cancel\w*|without|died?|dead|left|leav\w+|hat(?:e|es|ed)|dislik\w+"
    r"|refus\w+|avoid\w*|free|lack\w*|lost|forbid\w*|fail\w*|ended?|sold|broken? up|split|hardly|secret|instead|unable|beyond"
    r"|dread\w*|unnoticed|straight)\b|[戒停离死黄忌缺少免辞裁]|分手|取消|去世|过世|放弃|讨厌|拒绝|避|告吹|失败|结束|保密|秘密|难以",
)


#: Of these, the plain ends of a habit, a plan or a relationship.
_ENDED = Guarded(
    "stop|quit|gave|give|cancel|called off|broke|戒|分手|取消|放弃|辞了|不再",
    r"\b(?:stop(?:s|ped)(?! (?:at|by|in|for|off|over)\b)|quit|g[ai]ven? up|cancel\w*|called off|broken? up)\b"
    r"|戒[了烟酒掉]|分手|取消|放弃|辞了|不再",
)


def is_denial(text: str) -> bool:
    """Whether a clause says that something is not so."""
    return _DENIES.search(_without_quotes(text).casefold()) is not None


def ends_or_denies(text: str) -> bool:
    """Whether a clause says that something is not so or has ended."""
    plain = _without_quotes(text).casefold()
    return _DENIES.search(plain) is not None or _ENDS.search(plain) is not None


def takes_back(text: str) -> bool:
    """Whether a clause denies or ends its subject."""
    plain = _without_quotes(text).casefold()
    return _DENIES.search(plain) is not None or _ENDED.search(plain) is not None


#: Phrases that give one's own name.
_OWN_NAME = r"\b(?:my name(?:'s| is)|i'm|i am|call me|this is) |我(?:的?名字)?[叫是]|(?<!别)(?<!不要)叫我"


def gives_own_name(text: str, name: str) -> bool:
    """Whether the speaker of a text gives this as their own name.

    >>> gives_own_name("Hi, I'm Nora.", "Nora Vance"), gives_own_name("我叫陈岚。", "陈岚"), gives_own_name("她叫陈岚。", "陈岚")
    (True, True, False)
    >>> gives_own_name("I'm Tom's sister.", "Tom"), gives_own_name("我是赵磊的女朋友。", "赵磊")
    (False, False)
    """
    called = "|".join(map(re.escape, {name, *name.split()[:1]}))
    given = rf"(?:{_OWN_NAME})(?:{called})(?!'s|的|[a-z])"
    return bool(name) and re.search(given, _without_quotes(text).replace("’", "'"), re.IGNORECASE) is not None


#: Words for "unchanged", with or without "not".
_STAYS = Guarded(
    "kept|keep|still|stay|remain|chang|没|不|未|保留|仍|还是|照旧|一直",
    r"(?<!n't )(?<!not )(?<!never )\b(?:kept|keeps?|keeping|still|stay(?:s|ed)?|remain(?:s|ed)?|unchanged)\b|(?:n't|\bnot|\bnever) (?:\w+ )?chang(?:e|ed|ing)\b"
    r"|\bno change\b|没(?:有)?[改变换]|[不未][改变换]|(?<![没不有])保留|仍然?|还是|照旧|一直",
)


def words_of_staying(text: str) -> str:
    """The words in a clause that say that something is unchanged, or "".

    >>> words_of_staying("She kept Lindqvist."), words_of_staying("She didn't change it"), words_of_staying("She left")
    ('kept', "n't change", '')
    """
    plain = _without_quotes(text).casefold().replace("’", "'")
    return " ".join(found[0] for found in _STAYS.all_in(plain))


def _without_quotes(text: str) -> str:
    return QUOTED.sub(" ", text) if _QUOTE.search(text) else text


# --- agreeing

_AGREES = pattern_of(
    r"^\W*(?:yes|yeah|yep|yup|right|exactly|correct|true|indeed|sure|definitely|absolutely|that's (?:right|it|true)|of course"
    r"|you're right|spot on|it is|i do|i did|she is|he is|she does|he does|deal|agreed|that's the one)\b(?!\W+but\b)"
    r"|^\W*(?:对|是的|是啊|是呀|嗯+|没错|当然|正是|就是|可不是|确实|说得对|一言为定|说定了|就这么定|行啊?|好的?|可以|有啊?|是)(?=$|[，。！,.!~～\s的啊呀])(?!不)",
    re.IGNORECASE,
)


def is_agreement(text: str) -> bool:
    """Whether a text agrees with the previous message.

    >>> is_agreement("Yes, every morning."), is_agreement("对，就是那只"), is_agreement("Yes, but not now")
    (True, True, False)
    """
    return _AGREES.match(text) is not None


# --- pointing

_OWN = pattern_of(
    r"\b(?:I|[Ii]'(?:m|ve|d|ll)|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]ur|[Oo]urs|[Yy]ou|[Yy]our|[Yy]ours)\b|(?<!自)我|[你您咱]"
)
#: "You" that means anyone: after a place, a time or a thing that allows something.
_ANYBODY = Guarded(
    "you|你",
    r"\bwhere(?:ver)? you (?:can|could|see|hear|feel|never)\b(?:.*?\b(?:nobody|no one|everybody|everyone|people) \w+ you\b)*"
    r"|(?:^|[,;:] |\b(?:from|in|at|on) (?:[\w'’-]+ ){1,5}|\bso (?:that )?|\band )you can (?:almost |just |even |always )?"
    r"(?:see|hear|smell|feel|walk|taste)\b(?! (?:me|us|him|her|them|that)\b)"
    r"|(?<![望让等说问想盼怕信得给])你(?:都|就)?(?:能|可以|会)?(?:看到|看见|看得到|看得见|听到|听见|听得到|听得见|闻到|闻得到|望见|望到)",
    any_case=True,
)
_YOU = pattern_of(r"\byou\b|你", re.IGNORECASE)
_SOMEBODY = pattern_of(r"\b(?:[Hh]e|[Ss]he|[Hh]im)\b|[他她](?![们的乡人])")
_SEVERAL = pattern_of(r"\b(?:[Tt]hey|[Tt]hem)\b|[他她]们(?!的)")
_SOMEBODYS = pattern_of(r"\b(?:[Hh]is|[Hh]er|[Hh]ers|[Tt]heir|[Tt]heirs)\b|[他她]们?(?=的)")
#: Every text with a personal pronoun contains one of these.
_POINTERS = frozenset(
    """
    I i Me me My my Mine mine Myself myself We we Us us Our our Ours ours You you Your your Yours yours He he She she
    Him him They they Them them His his Her her Hers hers Their their Theirs theirs
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
_POINTERS_HAN = frozenset("我你您咱他她")
_LETTERS = pattern_of("[A-Za-z]+")
_POINTS_FIRST = pattern_of(r"^(?:It|This|That|These|Those)\b(?! (?:is|was) (?:the|a|an) )|^(?:它|这|那)(?!么|样)")
_RELATIVE = Guarded(
    "yesterday|today|tonight|tomorrow|last |next |this |past |coming |ago|now| day|day after|week|month|recently|昨|明|今|前|后|去年|周|星期|礼拜|月|刚才|最近",
    r"\b(?:(?:yesterday|today|tonight|tomorrow|last night)\b|(?:last|next|this|past|coming) (?:week|weekend|month|year|night|morning"
    rf"|evening|afternoon|spring|summer|autumn|fall|winter|{'|'.join((*DAY_NAMES, *MONTH_NAMES))})\b|ago\b|(?:from|until) now\b|day after\b|recently\b"
    r"|in (?:a|two|three|four|five|six|\d+) (?:days?|weeks?|months?)(?= time|$|[.,]))"
    r"|[昨明]天|前天|后天|今[天晚早年]|昨[晚夜]|明[年晚早]|去年|前年|后年|[上下]个?(?:周|星期|礼拜|月)|[这本]个?(?:周|星期|礼拜|月)|刚才|最近|\d天前|[一二三四五六七八九十几]天[前后]",
    any_case=True,
)


_DATE_BEHIND = pattern_of(r"\s?[,，]?\s?[(（][^()（）]{0,20}\d[^()（）]{0,20}[)）]")


def _points_away(statement: str, named: Sequence[str]) -> bool:
    """Whether a pronoun of a statement has no referent in it: "I", "你", or "she" without exactly one person named before.

    >>> _points_away("She lives in York.", ()), _points_away("Pickle died while she was asleep.", ["Pickle"])
    (True, False)
    """
    plain = _without_quotes(statement)
    if _ANYBODY.may_stand_in(plain):
        plain = _ANYBODY.pattern.sub(lambda found: _YOU.sub("one", found[0]), plain)
    # A sentence without any letter or word of a pronoun needs no search.
    pointers_han = not plain.isascii() and not _POINTERS_HAN.isdisjoint(plain)
    if pointers_han or not _POINTERS.isdisjoint(_LETTERS.findall(plain)):
        if _OWN.search(plain):
            return True
        if found := _SOMEBODY.search(plain):
            return _named_before(plain, found.start(), named) != 1
        if found := _SOMEBODYS.search(plain) or _SEVERAL.search(plain):
            return _named_before(plain, found.start(), named) == 0
    return bool(_POINTS_FIRST.match(plain)) and not any(name in plain for name in named)


_POINTER = pattern_of(
    r"(?P<before>[\w'’]+ |\w?)(?P<it>\b(?:[Hh]e|[Ss]he|[Hh]im|[Hh]is|[Hh]ers?|[Tt]hey|[Tt]hem|[Tt]heirs?)\b|[他她]们?)"
)


def leaves_open(statement: str, named: Sequence[str], own: Collection[str], said: Iterable[str]) -> bool:
    """Whether a pronoun of a statement has no referent, neither in it nor in the sentences in ``said``.

    ``own`` are the names of person and companion, who are "I" and "you" there, never "him".

    >>> leaves_open("Rafe asked Mara to live with him.", ["Rafe", "Mara"], ["Mara"], ["Rafe asked me to live with him."])
    False
    """
    return _points_away(statement, named) and not _points_as_said(statement, named, own, said)


def _points_as_said(statement: str, named: Sequence[str], own: Collection[str], said: Iterable[str]) -> bool:
    plain, spoken = _without_quotes(statement), list(said)
    others = [name for name in named if name not in own]
    found = list(_POINTER.finditer(plain))
    return bool(found) and not _OWN.search(plain) and all(_is_meant(each, others, spoken) for each in found)


def _is_meant(pointer: re.Match[str], others: Sequence[str], said: Sequence[str]) -> bool:
    meant = [name for name in others if name in pointer.string[: pointer.start()]]
    places = ((sentence, sentence.find(pointer[0])) for sentence in said)
    return _named_before(pointer.string, pointer.start(), others) == 1 and any(
        at > 0
        and _named_before(sentence, at, [*others, *whole_names(sentence)]) == 1
        and any(name in sentence[:at] for name in meant)
        for sentence, at in places
    )


def is_relative(statement: str) -> bool:
    """Whether a statement has a relative day ("yesterday") without its date after it.

    >>> is_relative("Tom left last Sunday."), is_relative("Tom left last Sunday (2025-07-06).")
    (True, False)
    """
    plain = _without_quotes(statement)
    return any(not _DATE_BEHIND.match(plain, found.end()) for found in _RELATIVE.all_in(plain))


def _named_before(text: str, end: int, named: Sequence[str]) -> int:
    """How many different people are named before a position; a name inside a longer one is the same."""
    before = text[:end]
    found = [name for name in dict.fromkeys(named) if name and name in before]
    return sum(not any(name != other and name in other for other in found) for name in found)
