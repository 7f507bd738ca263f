"""Cues in a sentence, in English and Chinese: question, supposition, joke, wish, denial, agreement, pronoun.

Cues are strict where a wrong one would lose a truth ("Ha, mine's spring" is no joke), and can only make a statement
less certain.
"""

from __future__ import annotations

import re
from datetime import date

from domain.facts import Stance
from domain.patterns import Guarded, pattern_of
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.times import read_times

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
    return tuple(text[start:end] for start, end in sentence_spans(text))


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where the sentences of a text begin and end, without the spaces around them."""
    found = ((each.start(), each[0]) for each in _SENTENCE.finditer(text))
    trimmed = ((start + len(one) - len(one.lstrip()), one.strip()) for start, one in found)
    return tuple((start, start + len(one)) for start, one in trimmed if one)


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


_OPENLY = pattern_of(
    r"\b(?:who|what|when|where|why|how|which|whose|whom)(?:'s|'d|'re|'ll)?\b|谁|什么|啥|哪|怎么|怎样|几|多少|多久|多大|为何|为什么|呢[?？]?$",
    re.IGNORECASE,
)


def asks_openly(question: str) -> bool:
    """Whether a question cannot be answered with yes or no, and takes for granted what else it says."""
    return _OPENLY.search(question) is not None


# --- how it was said

_SUPPOSED = Guarded(
    "if|suppos|imagin|hypothetic|theory|would|maybe|perhaps|might|alleg|rumo|suspect|guess|say i |unless|apparent|heard|pretend|如果|要是|假|倘若|万一|据说|听说|好像|似乎|怀疑|也许|或许|可能|大概会|传言|传闻|说不定|的话|没准",
    r"\b(?:if\b(?<!ask if)(?<!asked if)(?<!asks if)(?<!wonder if)(?<!know if)(?<!see if)(?<!as if)|suppose\b|supposing\b|imagine\b"
    r"|what if\b|hypothetically\b|in theory\b|would(?:n't)?\b(?! (?:like|love))|maybe\b|perhaps\b|might\b|allegedly\b"
    r"|rumou?r(?:s|ed)?\b|suspects?\b|supposedly\b|i guess\b|say i (?:won|had|were|was)\b|unless\b|apparently\b"
    r"|i(?:'ve)? heard\b|if only\b|pretend\b)"
    r"|如果|要是|假如|假设|倘若|(?<![一二三四五六七八九十百千两几\d])万一|据说|听说|好像|似乎|怀疑|也许|或许|可能|大概会|假装|传言|传闻|说不定|的话|没准",
)
#: Of these, the ones that govern all that depends on them, not only their own clause.
_GOVERNS = pattern_of(
    r"\b(?:if|suppos\w+|imagine|what if|hypothetically|in theory|would(?:n't)?(?! (?:like|love))|unless|pretend|say i)\b"
    r"|如果|要是|假如|假设|倘若|假装|的话"
)
_JOKED = Guarded(
    "kidding|joking|jk|oh |yeah|solve everything|sarcastic|ironic|as if|/s|😂|🤣|😜|开玩笑|逗你的|骗你的|说着玩|干脆|要不|才怪|呵呵",
    r"\b(?:(?:just )?(?:kidding|joking)\b|jk\b|oh (?:brilliant|great|sure|wonderful|perfect|fantastic|lovely|joy)\b|yeah,? right\b"
    r"|that'?ll solve everything\b|only joking\b|(?:i'?m|was) being (?:sarcastic|ironic)\b)|^as if\b|(?<!\w)/s\b|😂|🤣|😜"
    r"|开玩笑|逗你的|骗你的|说着玩|干脆.{0,16}(?:算了|得了)|要不我?.{0,16}算了|才怪|呵呵",
)
#: Laughter before a statement is joy; after it, it makes the statement a joke.
_LAUGHS = Guarded("haha|哈哈|嘿嘿", r"(?:哈哈+|嘿嘿+|\b(?:ha){2,}\b)[\s!！。.~～)）]*$")
_WISHED = Guarded(
    "wish|like|love|want|wanna|hope|hoping|dream|one day|some day|someday|希望|但愿|盼着|梦想|想|巴不得|要能",
    r"\b(?:i wish\b|i (?:\w+ )?(?:want(?:ed)? (?:to|an?)|wanna)\b|i(?:'d| would) (?:like|love)\b|i hope\b|hop(?:e|es|ing) to\b|dream(?:s|ing)? of\b|one day\b|some ?day\b)"
    r"|希望|但愿|盼着|梦想|想要是|真想|巴不得|要能|(?<![没不])想(?:养|买|学|换|搬|找|当|考|开|试|再|生|写|参加|申请|有个|有一)",
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


def governs_whole(sentence: str) -> bool:
    """Whether a sentence is a supposition as a whole, not one with a doubt in one clause."""
    return _GOVERNS.search(sentence.casefold().replace("’", "'")) is not None or is_question(sentence)


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


#: What a sentence opens that the next ones belong to: a dream, a tale, a supposition, a wish.
_OPENS = Guarded(
    "dream|nightmare|imagin|suppos|pretend|what if|if |wish|story|novel|film|movie|plot|book|campaign|role|once upon|梦|假如|如果|要是|假设|想象|设想|小说|故事|电影|剧|游戏|从前|扮演",
    r"\b(?:dream\w*|nightmare|imagine|suppose|supposing|pretend|what if|if|wish\w*|story|novel|film|movie|plot|book|campaign|role.?play\w*|once upon)\b"
    r"|梦|假如|如果|要是|假设|想象|设想|小说|故事|电影|剧|游戏|从前|扮演",
)
_TAKEN_BACK = Guarded(
    "kid|jok|haha|lol|lmao|not|wish|dream|no|nah|yeah|as if|玩笑|逗你|骗你|哈哈|嘿嘿|没有|才怪|梦|不是|假的|想得美",
    r"^\W*(?:just |only )?(?:kidding|joking|a joke)\b|^\W*(?:i'?m |was )?(?:just |only )?(?:kidding|joking)\b|^\W*(?:(?:ha){2,}|lol|lmao)\b|^\W*(?:or )?not (?:really|yet|any ?more|true)\b"
    r"|^\W*(?:i|you) wish\b|\bdreamt? (?:that|it)\b|^\W*(?:no|nah)\b[,.!]|yeah,? right|^\W*as if\b"
    r"|开玩笑|逗你|骗你|^\W*(?:哈哈|嘿嘿)|^\W*并?没有|才怪|做梦|^\W*(?:不是|假的)|想得美",
)


def governs_next(sentence: str) -> bool:
    """Whether what follows a sentence may belong to a dream, a tale or a supposition in it."""
    return _OPENS.search(sentence.casefold()) is not None


def takes_back_before(sentence: str) -> bool:
    """Whether a sentence takes back the one before it: "Just kidding!", "Not really.", 开玩笑的."""
    return _TAKEN_BACK.search(sentence.casefold().replace("’", "'")) is not None


# --- denying

_DENIES = Guarded(
    "no|n't|nt|never|neither|不|没|别|无|未",
    r"n't\b|\b(?:(?:do|does|did|ca|wo|is|are|was|were|has|have|had|would|could|should|must)nt|aint|not(?! only)|no(?! idea| wonder| problem| doubt| worries| matter| longer than)|never|nobody|nothing|none|neither|nor|cannot)\b"
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


_NO = pattern_of(
    r"^\W*(?:(?:god|oh|ha|well|um|er|hm+|lol)\W+)*(?:no|nope|nah|not|never|neither)\b(?! (?:wonder|problem|only|idea))"
    r"|^\W*(?:才)?(?:没有?|不(?!错|过)|哪[有来儿]|别提|并没)",
    re.IGNORECASE,
)


def begins_with_no(text: str) -> bool:
    """Whether a text answers no.

    >>> begins_with_no("God no. I'd hate it."), begins_with_no("没呢，约了19号。"), begins_with_no("No wonder!")
    (True, True, False)
    """
    return _NO.match(text) is not None


# --- agreeing

_AGREES = pattern_of(
    r"^\W*(?:yes|yeah|yep|yup|right|exactly|correct|true|indeed|sure|definitely|absolutely|that's (?:right|it|true)|of course"
    r"|you're right|spot on|it is|i do|i did|she is|he is|she does|he does|deal|agreed|that's the one|uh.?huh|mm+|afraid so|i think so|still (?:do|am|is)|same|as (?:ever|always)|always)\b(?!\W+but\b)"
    r"|^\W*(?:对|是的|是啊|是呀|嗯+|没错|当然|正是|就是|可不(?:是|嘛)?|必须的?|那当然|老样子|照旧|一样|还[是在]|确实|说得对|一言为定|说定了|就这么定|行啊?|好的?|可以|有啊?|是)(?=$|[，。！,.!~～\s的啊呀])(?!不)",
    re.IGNORECASE,
)


def is_agreement(text: str) -> bool:
    """Whether a text agrees with the previous message.

    >>> is_agreement("Yes, every morning."), is_agreement("对，就是那只"), is_agreement("Yes, but not now")
    (True, True, False)
    """
    return _AGREES.match(text) is not None


# --- words that only the conversation explains

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
_RELATIVE = Guarded(
    "yesterday|today|tonight|tomorrow|last |next |this |past |coming |ago|now| day|day after|week|month|recently|昨|明|今|前|后|去年|周|星期|礼拜|月|刚才|最近",
    r"\b(?:(?:yesterday|today|tonight|tomorrow|last night)\b|(?:last|next|this|past|coming) (?:week|weekend|month|year|night|morning"
    rf"|evening|afternoon|spring|summer|autumn|fall|winter|{'|'.join((*DAY_NAMES, *MONTH_NAMES))})\b|ago\b|(?:from|until) now\b|day after\b|recently\b"
    r"|in (?:a|two|three|four|five|six|\d+) (?:days?|weeks?|months?)(?= time|$|[.,]))"
    r"|[昨明]天|前天|后天|今[天晚早年]|昨[晚夜]|明[年晚早]|去年|前年|后年|[上下]个?(?:周|星期|礼拜|月)|[这本]个?(?:周|星期|礼拜|月)|刚才|最近|\d天前|[一二三四五六七八九十几]天[前后]",
    any_case=True,
)


_DATE_BEHIND = pattern_of(r"\s?[,，]?\s?[(（][^()（）]{0,20}\d[^()（）]{0,20}[)）]")


def is_in_first_person(statement: str) -> bool:
    """Whether a statement speaks of "me" or "you" outside quoted words: whose it is shows only where it was said.

    >>> is_in_first_person("I live in York."), is_in_first_person("From her flat you can see the sea.")
    (True, False)
    """
    plain = _without_quotes(statement)
    if _ANYBODY.may_stand_in(plain):
        plain = _ANYBODY.pattern.sub(lambda found: _YOU.sub("one", found[0]), plain)
    return _OWN.search(plain) is not None


def with_days(statement: str, said: date) -> str:
    """A statement with the date behind each relative day that has none.

    >>> with_days("Tom left last Sunday.", date(2025, 7, 12)), with_days("她最近搬家了。", date(2025, 7, 12))
    ('Tom left last Sunday (2025-07-06).', '她最近（2025-07-12）搬家了。')
    """
    if not any(not _DATE_BEHIND.match(statement, found.end()) for found in _RELATIVE.all_in(statement)):
        return statement
    for one in sorted(read_times(statement, said), key=lambda one: -one.start):
        if one.kind in ("date", "clock", "recurrence") or not _RELATIVE.search(statement[one.start : one.end]):
            continue
        if _DATE_BEHIND.match(statement, one.end):
            continue
        day = (one.meant.iso or one.meant.first.isoformat()) if one.meant else said.isoformat()
        at = one.hours[0].isoformat("minutes") if one.hours and one.hours[0] == one.hours[1] else ""
        given = f"{day} {at}".strip()
        mark = f" ({given})" if statement[one.end - 1].isascii() else f"（{given}）"
        statement = statement[: one.end] + mark + statement[one.end :]
    return statement
