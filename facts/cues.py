"""Cues in a sentence, in English and Chinese: question, supposition, joke, wish, denial, agreement, pronoun.

Cues are strict where a wrong one would lose a truth ("Ha, mine's spring" is no joke), and can only make a statement
less certain.
"""

from __future__ import annotations

import re
from functools import lru_cache

from domain.facts import Stance
from domain.patterns import Guarded, pattern_of
from language.sentences import CLAUSE, without_quoted

#: As many texts as a window and its drafts have.
_TEXTS_CACHED = 1_024

# --- asking

_TAG = pattern_of(
    r",\s*(?:right|ok|okay|did i (?:say|tell you|mention)|have i (?:said|told you|mentioned)|you know|would you|will you|could you|can you|isn't it|don't you think|remember|eh|huh"
    r"|promise|i think|aren't i|haven't i|do you remember)\s*\?+$"
    r"|(?:行吗|好吗|可以吗|行不行|好不好|可以不|对吧|是吧|对吗|是吗|怎么样|知道吗|你说呢|好吧|行吧)\s*[?？]+$",
    re.IGNORECASE,
)
_ASKS = pattern_of(r"[?？][\"”’」』)）]*$")
_ASKS_HAN = pattern_of(
    r"(?:吗|什么来着|怎么说的来着|(?:^|[，。！])[^，。！在等忙正还着]{0,4}呢|[什谁哪怎几多][^，。！]*呢)[。！]*$"
    r"|你(?:说|觉得)[^，。！]{0,16}([\u4e00-\u9fff])[不没]\1[^，。！]*$"
)


#: What asks somebody to do something, and takes for granted what it names: "Will you remind me of Tom's birthday?"
_REQUESTS = pattern_of(
    r"\b(?:will|would|could|can) you (?!tell\b|believe\b|imagine\b)[^?]*\b(?:me|us)\b"
    r"|(?:能不能|能否|可不可以|可以|能|会|愿意|麻烦)你?[^，。?？]{0,4}(?:提醒|帮|陪|替|给|叫)我|你(?:能|会|可以|愿意)[^，。?？]{0,8}(?:提醒|帮|陪|替|给|叫)我",
    re.IGNORECASE,
)


def is_question(sentence: str) -> bool:
    """Whether a sentence is a question; a tag question after a statement and a request are none.

    >>> is_question("Is Rafe a baker?"), is_question("Rafe has a daughter, did I say?")
    (True, False)
    >>> is_question("Will you remind me of Tom's birthday?"), is_question("能提醒我爸的生日吗？")
    (False, False)
    """
    in_han = not sentence.isascii() and _ASKS_HAN.search(sentence) is not None
    asks = not _TAG.search(sentence) if _ASKS.search(sentence) else in_han
    return asks and (asks_openly(sentence) or not _REQUESTS.search(sentence))


_OPENLY = pattern_of(
    r"\b(?:who|what|when|where|why|how|which|whose|whom)(?:'s|'d|'re|'ll)?\b|谁|什么|啥|哪|怎么|怎样|几|多少|多久|多大|为何|为什么|呢[?？]?$",
    re.IGNORECASE,
)


def asks_openly(question: str) -> bool:
    """Whether a question cannot be answered with yes or no, and takes for granted what else it says."""
    return _OPENLY.search(question) is not None


# --- how it was said

_SUPPOSED = Guarded(
    "if|suppos|imagin|hypothetic|theory|would|maybe|perhaps|might|alleg|rumo|suspect|guess|say i |unless|apparent|heard|pretend|如果|要是|假|倘若|万一|据说|听说|好像|似乎|怀疑|也许|或许|可能|大概会|传言|传闻|说不定|的话|没准|worst case|最坏",
    r"\b(?:if\b(?<!ask if)(?<!asked if)(?<!asked me if)(?<!asked him if)(?<!asked her if)(?<!asks me if)(?<!asks if)(?<!wonder if)(?<!know if)(?<!see if)(?<!as if)(?<!tell you if)(?<!tell me if)(?<!check if)(?<!find out if)(?<!sure if)|suppose\b|supposing\b|imagine\b"
    r"|what if\b|hypothetically\b|in theory\b|would(?:n't)?\b(?! (?:like|love))|maybe\b|perhaps\b|might\b|allegedly\b"
    r"|rumou?r(?:s|ed)?\b|suspects?\b|supposedly\b|i guess\b|say i (?:won|had|were|was)\b|unless\b|apparently\b"
    r"|i(?:'ve)? heard\b|if only\b|pretend\b|worst case\b)"
    r"|如果|要是|假如|假设|倘若|(?<![一二三四五六七八九十百千两几\d])万一|据说|听说|好像|似乎|怀疑|也许|或许|可能|大概会|假装|传言|传闻|说不定|的话|没准|最坏",
)
#: Of these, the ones that govern all that depends on them, not only their own clause.
_GOVERNS = pattern_of(
    r"\b(?:if|suppos\w+|imagine|what if|hypothetically|in theory|unless|pretend|say i)\b"
    r"|如果|要是|假如|假设|倘若|假装|的话"
)
_JOKED = Guarded(
    "kidding|joking|jk|oh |yeah|solve everything|sarcastic|ironic|as if|/s|开玩笑|逗你的|骗你的|说着玩|干脆|要不|才怪|呵呵",
    r"\b(?:(?:just )?(?:kidding|joking)\b|jk\b|oh (?:brilliant|great|sure|wonderful|perfect|fantastic|lovely|joy)\b|yeah,? right\b"
    r"|that'?ll solve everything\b|only joking\b|(?:i'?m|was) being (?:sarcastic|ironic)\b)|^as if\b|(?<!\w)/s\b"
    r"|开玩笑|逗你的|骗你的|说着玩|干脆.{0,16}(?:算了|得了)|要不我?.{0,16}算了|才怪|呵呵",
)
#: Laughter before a statement is joy; after it, it makes the statement a joke.
_LAUGHS = Guarded("haha|哈哈|嘿嘿|😂|🤣|😜", r"(?:哈哈+|嘿嘿+|\b(?:ha){2,}\b|[😂🤣😜]+)[\s!！。.~～)）]*$")
_WISHED = Guarded(
    "wish|like|love|want|wanna|hope|hoping|dream|one day|some day|someday|希望|但愿|盼着|梦想|想|巴不得|要能",
    r"\b(?:i (?:\w+ )?wish\b|i (?:\w+ )?(?:want(?:ed)? (?:to|an?)|wanna)\b|i(?:'d| would) (?:like|love)\b|i hope\b|hop(?:e|es|ing) to\b|dream(?:s|ing)? of\b|one day\b|some ?day\b)"
    r"|希望|但愿|盼着|梦想|想要是|真想|巴不得|要能|(?<![没不可感料猜])想(?=[\u4e00-\u9fff])(?![到起象念法必通要着当他她你们我这那来头开了过一家想好])(?<!想想)",
)
_PLANNED = Guarded(
    "thinking |plan|intend|considering|going to|gonna|will|'ll|打算|计划|准备|考虑|想",
    r"\b(?:thinking (?:of|about)\b|plan(?:s|ning)? (?:to|on|for)\b|intend(?:s|ing)? to\b|considering\b|gonna\b|i(?:'m| am) going to\b"
    r"|we(?:'re| are) going to\b|i(?:'ll| will)\b(?! call you\b| have you know\b)|we(?:'ll| will)\b)"
    r"|打算|计划|准备去|准备要|想带|想去|考虑|想跟|想和|想在",
)


#: What happened is no joke, though a laugh follows.
_HAPPENED = pattern_of(
    r"\b(?:was|were|had|did|went|came|got|took|gave|bought|left|met|fell|just|[a-z]{3,}ed|yesterday|last (?:week|month|year|night))\b|刚|昨|去年|前[天年]|当年|上[次周个]|那天"
)
#: So few characters beside a laugh say nothing.
_HARDLY_A_WORD = 3
#: How much, not what somebody wants: "it hurts so much I want to scream", 难受得想哭.
_SO_MUCH = Guarded(
    "want to|wanna|想",
    r"(?<=\w )(?<!and )(?<!but )so (?!now\b|then\b|today\b|tomorrow\b|maybe\b)\w+ (?:that )?i (?:just )?(?:want to|wanna)\b"
    r"|\bmak(?:es?|ing) me want to\b|\bmade me want to\b|得(?:我|人)?(?:都|真|直|只|就)?想(?=[\u4e00-\u9fff])",
)


#: What supposes nothing though its words often do: a request, what somebody had said they would do, and how old one who
#: is dead would be.
_SUPPOSES_NOTHING = Guarded(
    "you|would|'d|if |maybe|在世|还在|还活着|可能",
    r"(?:怎么|不)可能|\bmaybe (?=\d)|\bif (?:you (?:can believe|ask me|know what i mean|must know)|i'?m (?:being )?honest|i (?:remember|recall)|that makes (?:any )?sense|memory serves)\b|\b(?:will|would|could|can) you\b(?=.*\b(?:me|us)\b)"
    r"|(?<=\bsaid )(?:that )?\w+(?:'d| would)\b|(?<=\bpromised )(?:that )?\w+(?:'d| would)\b|(?<=\btold \w\w )(?:that )?\w+(?:'d| would)\b"
    r"|\bwould(?: have|'ve) (?:been|turned) (?=\d|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|a hundred)"
    r"|(?:要是|如果|假如)?[^，。？]{0,8}?(?:还在世?|在世|还活着)(?:的话)?(?=[，,]?[^。？]{0,10}?[\d一二三四五六七八九十]+周?(?:岁|了))",
)


def stance_of(sentence: str, following: str = "") -> Stance:
    """The stance of a sentence by its words; a laugh in the following sentence makes it a joke."""
    sentence = _SUPPOSES_NOTHING.sub(" ", _SO_MUCH.sub(" ", sentence.casefold().replace("’", "'")))
    following = following.casefold()
    laughs = _LAUGHS.search(following) or _JOKED.search(following)
    only_laughs = laughs is not None and len(following) - len(laughs[0]) < _HARDLY_A_WORD
    if _JOKED.search(sentence) or ((only_laughs or _LAUGHS.search(sentence)) and not _HAPPENED.search(sentence)):
        return "joked"
    if _SUPPOSED.search(sentence):
        return "supposed"
    if _WISHED.search(sentence):
        return "wished"
    return "planned" if _PLANNED.search(sentence) else "stated"


def supposes(text: str) -> bool:
    """Whether a clause is a supposition, which governs the next one."""
    return _GOVERNS.search(_SUPPOSES_NOTHING.sub(" ", text.casefold().replace("’", "'"))) is not None


#: A supposition with what follows from it in one clause, before one with a subject or a turn: 要是下雨就不去，我在家呢.
_WHOLE_CONDITION = pattern_of(
    r"(?:如果|要是|假如|假设|倘若)[^，；。\s]*就[^，；。\s]*"
    r"(?=[，；\s]+(?:[我你他她它咱这那]|但|可是|不过|反正|其实|还好|好在|幸[好亏]|现在|目前|今天|昨天|已经"
    r"|[阿小老][\u4e00-\u9fff]|[爸妈哥姐弟妹爷奶])(?![^，；。\s]{0,8}[就会再便]))"
)


def governed_part(sentence: str) -> tuple[int, int]:
    """The bounds of what a supposition in a sentence governs: all of it, or what is on its side of "…, luckily …"."""
    plain = _WHOLE_CONDITION.sub(lambda found: " " * len(found[0]), sentence.casefold().replace("’", "'"))
    turn = _BACK.search(plain)
    at = turn.start() if turn else len(plain)
    if (found := _GOVERNS.search(plain, 0, at)) or (not turn and is_question(sentence)):
        # What is said before "if" is on its own, unless it says what would be.
        begins = max((one.end() for one in CLAUSE.finditer(plain, 0, found.start())), default=0) if found else 0
        return (0 if _WOULD_BE.search(plain, 0, begins) else begins), at
    return (at, len(plain)) if _GOVERNS.search(plain, at) else (0, 0)


_WOULD_BE = pattern_of(r"\b(?:would|wouldn't|will|won't|could|might|can't)\b|'d\b|'ll\b|[会就能想可要]")
_BACK = pattern_of(
    r"[,;，；—-]\s*(?:but|luckily|thankfully|fortunately|anyway|actually|还好|好在|幸好|幸亏|不过|但是?|可是|其实|现在|目前)",
    re.IGNORECASE,
)


_UNREAL = pattern_of(
    r"\bif (?:only )?\w+(?:'d| had)\b.*(?:'d|\bwould)\b|\bhad (?:i|we|he|she|they) \w+.*(?:'d|\bwould)\b|\bwould(?:'ve| have)\b"
    r"|(?:要是|如果)[^，。]{0,4}(?:早|[去前]年|当时|当初|那[时年]|上[次周个]|昨天)|早知道"
)


def is_unreal(sentence: str) -> bool:
    """Whether a sentence tells what would be so now or then if it had not been otherwise.

    >>> is_unreal("If I'd listened, I would be a clerk."), is_unreal("要是去年听我妈的，现在还在背题"), is_unreal("如果下雨就不去")
    (True, True, False)
    """
    return _UNREAL.search(sentence.casefold().replace("’", "'")) is not None


#: Words that mark a joke, a thought or hearsay.
_HEDGES = Guarded(
    "jok|jest|teas|kid|ironic|sarcas|may|could|should|possibl|probabl|suppos|think|thought|believ|imagin|wonder|consider|hear|rumo|guess|unsure|not sure|likely|whether|玩笑|打趣|戏称|自嘲|说笑|考虑|觉得|以为|认为|推测|猜|估计|想着|是否|未必|不确定",
    r"\b(?:jok\w+|jest\w*|teas\w+|kid(?:s|ded)|ironic\w*|sarcas\w+|(?<!\d )(?<!in )(?<!of )may(?! \d)|could|should|possibl[ey]|probabl[ey]|suppos\w+|think(?:s|ing)?|thought"
    r"|believ\w+|imagin\w+|wonder\w*|consider\w*|heard|hears|rumou?r\w*|guess\w*|unsure|not sure|unlikely|likely|whether)\b"
    r"|玩笑|打趣|戏称|自嘲|说笑|考虑|觉得|以为|认为|推测|猜|估计|想着|是否|未必|不确定",
    any_case=True,
)


def is_hedged(statement: str) -> bool:
    """Whether a statement marks itself as a joke, a thought or hearsay.

    >>> is_hedged("Mara joked that she would marry Gareth."), is_hedged("Mara marries Gareth.")
    (True, False)
    """
    return _HEDGES.search(statement) is not None or stance_of(statement) in ("joked", "supposed")


_PROMISES = pattern_of(
    r"\bi(?:'ll| will| promise)\b|我(?:会|答应|一定|替你)|我[^，。？]{0,6}(?:来?问你|提醒你|催你|叫你|告诉你|跟你[说讲])"
)


def is_promise(sentence: str) -> bool:
    """Whether the speaker says what they will do."""
    return not is_question(sentence) and _PROMISES.search(sentence.casefold().replace("’", "'")) is not None


# --- denying

_DENIES = Guarded(
    "no|n't|nt|nah|never|neither|不|没|别|无|未|哪|怎么可能",
    r"n't\b(?! (?:just|only|not)\b)|\b(?:(?:do|does|did|ca|wo|is|are|was|were|has|have|had|would|could|should|must)nt|aint|nope|nah|(?<!n't )not(?! only| just)|no(?! idea| wonder| problem| doubt| worries| matter| longer than| [a-z]+ (?:apart from|except|besides|other than)\b)|never|nobody|nothing|none|neither|nor|cannot)\b"
    r"|(?<![要差了好是对能可行])不(?:(?=过敏)|(?!能不|[错过超仅但管止断久少同光得论只]))|没(?![错关问事])|(?<![特分级性区告识送辨])别(?![人的墅处提])|怎么可能|(?<!独一)无(?!论|所谓|锡|人机)|未(?!来|婚|必)|哪[来有儿](?:的|啊|呀)?",
)
#: Words for an end or a lack, with or without "not".
_ENDS = Guarded(
    "stop|quit|gave|give|over|off|cancel|without|die|dead|left|leav|hate|dislik|refus|avoid|free|lack|lost|forbid|fail|end|sold|broke|split|hardly|secret|instead|unable|beyond|dread|unnoticed|straight|戒|停|离|死|黄|忌|缺|少|免|辞|裁|分手|取消|去世|过世|放弃|讨厌|拒绝|避|告吹|失败|结束|保密|秘密|难以|没事",
    r"\b(?:stop(?:s|ped)?|quit|g[ai]ve(?:n|s)? up|over|off|cancel\w*|without|died?|dead|left|leav\w+|hat(?:e|es|ed)|dislik\w+"
    r"|refus\w+|avoid\w*|free|lack\w*|lost|forbid\w*|fail\w*|ended?|sold|broken? up|split|hardly|secret|instead|unable|beyond"
    r"|dread\w*|unnoticed|straight)\b|[戒停离死黄忌缺少免辞裁]|分手|取消|去世|过世|放弃|讨厌|拒绝|避|告吹|失败|结束|保密|秘密|难以|没事",
)


#: Of these, the plain ends of a habit, a plan or a relationship.
_ENDED = Guarded(
    "stop|quit|gave|give|cancel|off|broke|over|戒|分|取消|放弃|辞了|不再|黄了|吹了|泡汤",
    r"\b(?:stop(?:s|ped)(?! (?:at|by|in|for|off|over)\b)|quit|g[ai]ven? up|cancel\w*|called off|broken? up)\b"
    r"|(?:\b(?:is|are|was|were)|'s|'re) over(?=\W*$|[,.;:!])|(?:\b(?:is|are|was|were)|'s|'re) (?:all )?off(?=\W*$|[,.;:!]| for\b)"
    r"|戒[了烟酒掉]|分手|(?<![出得部])分了|取消|放弃|辞了|不再|黄了|吹了|泡汤",
)


@lru_cache(_TEXTS_CACHED)
def _find_denial(text: str) -> tuple[str, re.Match[str] | None]:
    """A text in lower case without quoted words, and the first denial in it."""
    plain = without_quoted(text).casefold()
    return plain, _DENIES.search(plain)


def is_denial(text: str) -> bool:
    """Whether a clause says that something is not so."""
    return _find_denial(text)[1] is not None


@lru_cache(_TEXTS_CACHED)
def ends_or_denies(text: str) -> bool:
    """Whether a clause says that something is not so or has ended."""
    plain, found = _find_denial(text)
    return found is not None or _ENDS.search(plain) is not None


@lru_cache(_TEXTS_CACHED)
def takes_back(text: str) -> bool:
    """Whether a clause denies or ends its subject."""
    plain, found = _find_denial(text)
    return found is not None or _ENDED.search(plain) is not None


def denied_part(clause: str) -> str:
    """What a clause denies or ends: what stands behind a denial, else all of it; "" where it does neither.

    >>> denied_part("it's 145 not 155"), denied_part("在青岛实习走不开"), denied_part("she quit"), denied_part("she is")
    (' 155', '开', 'she quit', '')
    """
    plain, found = _find_denial(clause)
    ended = _ENDED.search(plain)
    behind = plain[found.end() :] if found and not ended else ""
    return (behind.strip() and behind) or (plain if found or ended else "")


#: Words for "unchanged", with or without "not".
_STAYS = Guarded(
    "kept|keep|still|stay|remain|chang|没|不|未|保留|仍|还是|照旧|一直",
    r"(?<!n't )(?<!not )(?<!never )\b(?:kept|keeps?|keeping|still|stay(?:s|ed)?|remain(?:s|ed)?|unchanged)\b|(?:n't|\bnot|\bnever) (?:\w+ )?chang(?:e|ed|ing)\b"
    r"|\bno change\b|没(?:有)?[改变换]|[不未][改变换]|(?<![没不有])保留|仍然?|还是|照旧|一直",
)


@lru_cache(_TEXTS_CACHED)
def words_of_staying(text: str) -> str:
    """The words in a clause that say that something is unchanged, or "".

    >>> words_of_staying("She kept Lindqvist."), words_of_staying("She didn't change it"), words_of_staying("She left")
    ('kept', "n't change", '')
    """
    plain = without_quoted(text).casefold().replace("’", "'")
    return " ".join(found[0] for found in _STAYS.all_in(plain))


_NO = pattern_of(
    r"^\W*(?:(?:god|oh|ha|well|um|er|hm+|lol)\W+)*(?:no|nope|nah|not|never|neither)\b(?! (?:wonder|problem|only|idea))"
    r"|^\W*(?:i|we|he|she|they|it) (?:did|do|does|have|has|had|was|were|is|are|will|would|can|could)(?:n['’]?t| not)(?=\W*$|\s*[.!,;])"
    r"|^\W*(?:才)?(?:没有?|不(?!错|过(?!敏))|哪[有来儿]|并没)",
    re.IGNORECASE,
)


def begins_with_no(text: str) -> bool:
    """Whether a text answers no.

    >>> begins_with_no("God no. I'd hate it."), begins_with_no("没呢，约了19号。"), begins_with_no("No wonder!")
    (True, True, False)
    >>> begins_with_no("不过敏。"), begins_with_no("不过我喜欢。")
    (True, False)
    """
    return _NO.match(text) is not None


# --- agreeing

_AGREES = pattern_of(
    r"^\W*(?:ye+s+|yea+h?|yh|yep|yup|s[ií]+|right|exactly|correct|true|indeed|sure|definitely|absolutely|that's (?:right|it|true)|of course"
    r"|you're right|spot on|it is|i do|i did|she is|he is|she does|he does|deal|agreed|that's the one|uh.?huh|mm+|afraid so|i think so|still (?:do|am|is)|same|as (?:ever|always)|always)\b(?!\W+but\b)"
    r"|^\W*(?:对|是的|是啊|是呀|嗯+|没错|当然|正是|就是|可不(?:是|嘛)?|必须的?|那当然|老样子|照旧|一样|还[是在]|确实|说得对|一言为定|说定了|就这么定|行啊?|好的?|可以|有啊?|是)(?=$|[，。！,.!~～\s的啊呀])(?!不)",
    re.IGNORECASE,
)


#: An answer that repeats the verb of its question: 还在成都吗？ 在呢.
_REPEATS = pattern_of(
    r"^\W*(?:还|都|早|已经)?(?P<verb>[\u4e00-\u9fff]{1,2}?)(?:[了过着]|的)?[呢啊呀嘛哦]?(?=$|[，。！,.!~～\s])"
)


def is_agreement(text: str, question: str = "") -> bool:
    """Whether a text agrees with the previous message, if that is a ``question`` also by its verb.

    >>> is_agreement("Yes, every morning."), is_agreement("对，就是那只"), is_agreement("Yes, but not now")
    (True, True, False)
    >>> is_agreement("在呢，年底回来", "闺女还在成都吗？"), is_agreement("没呢", "闺女没在成都吗？")
    (True, False)
    """
    if _AGREES.match(text):
        return True
    said = _REPEATS.match(text) if is_question(question) and not asks_openly(question) else None
    return said is not None and said["verb"] in question and not is_denial(said[0])
