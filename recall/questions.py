"""Features of a question, read from its words by rules: what it looks for, whom and when it means, whether it asks.

A question about a time as a whole ("What happened this spring?", 今年我们都聊了什么？) asks only what went on.
Its range is named, or starts or ends with an event ("since I moved") whose day is looked up later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from domain.facts import Slot
from domain.patterns import pattern_of
from domain.settings import Planning
from language import words
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.scripts import STOP_WORDS
from language.times import TimeRange, join_expressions, range_of, read_ranges, read_times, without_times

_ASKS = pattern_of(
    r"[?？]|\b(?:what|when|where|who|whom|whose|which|why|how)\b|什么|谁|哪|几|多少|怎|吗|呢|是否", re.IGNORECASE
)
_END = pattern_of(r"[.!?。！？\n]")
_SEEKS = pattern_of(
    r"(?:^|[.!?]\s+|\band\s+)(?:what|when|where|who|whom|whose|which|why|how)\b|(?<!\bi )\b(?:remember|recall)\b"
    r"|^\s*(?:did|does|do|is|are|was|were|has|have|had|would|could|can|will|should)\b"
    r"|(?<!没)(?<!没有)(?<!些)(?:什么|谁|哪[里儿]?)(?!都|也)|(?<![前这好十没])(?!(?<=那)几[天个年]|(?<=^过)几[天个年]|(?<=[我你他她们再就，。！？；、\s]过)几[天个年])几[个天岁点次号年月]|多少|(?<!我)记得|曾经",
    re.IGNORECASE,
)
_ADVICE = pattern_of(
    r"\bwhat if\b|\b(?:what|how|where|which|who|when|why)\b[^.?!]{0,40}?\b(?:should|shall|can|can't|could) (?:i|we)\b"
    r"|怎么办|该怎么|应该|(?:可以|能|要)(?:做|吃|玩|去|看|帮)[^，。]{0,6}什么|什么好",
    re.IGNORECASE,
)
_YOU_SAID = pattern_of(
    r"\byou(?:'ve)?\s+(?:\w+ )?"
    r"(?:recommend|suggest|told|tell|said|say|mention|give|gave|advise|propose|explain|introduce|wrote|write|promise)"
    r"|\b(?:word for word|verbatim|your (?:exact |very |own )?words)\b"
    r"|你.{0,6}(?:推荐|建议|告诉|说过|提到|介绍|给我|写|答应)|逐字|一字不差|原话",
    re.IGNORECASE,
)
#: What a message is about, and the attributes of the person that matter for it.
_VITAL = (
    (
        pattern_of(
            r"\b(?:cook|bake|baking|eat|eating|dinner|lunch|breakfast|brunch|supper|recipe|menu|restaurant|snack|dessert"
            r"|cake|cookies?|meal|barbecue|buffet)\w*"
            r"|做饭|做菜|做点吃|炒菜|烤|吃(?!惊|力|亏|醋|香)|早餐|午饭|晚饭|早饭|夜宵|菜谱|食谱|餐厅|馆子|点心|蛋糕|零食",
            re.IGNORECASE,
        ),
        ("allergy", "diet"),
    ),
    (
        pattern_of(
            r"\b(?:medicine|medication|pills?|painkillers?|antibiotics?|aspirin|ibuprofen|prescri\w+|surgery)\b"
            r"|吃药|药店|开药|止痛药|消炎药|抗生素|布洛芬|阿司匹林|手术",
            re.IGNORECASE,
        ),
        ("allergy", "medication"),
    ),
)
_ASKING = r"(?:what|when|where|who|whom|whose|which|why|how)"
#: Several questions in one, things compared, counted or gathered, a change over time.
_SEVERAL = pattern_of(
    rf"\b{_ASKING}\b[^?？]*(?:\band\b|[,;?？])\s*(?:and |also )?{_ASKING}\b"
    r"|\b(?:compared?|difference|differ|in common|both|respectively|altogether|how many|how often)\b"
    r"|\b(?:all|every|everything|everybody|everyone)\b[^?？]{0,60}\b(?:i|we|my|our|he|she|they)\b"
    r"|\b(?:what|which) (?:\w+ )?\w{3,}(?<!s)s (?:have|has|had|do|did|are|were)\b"
    r"|\bhow (?:has|have|had|did)\b[^?？]*\bchanged?\b"
    r"|(?:什么|谁|哪|几|多少|怎)[^?？]*[,，;；?？、和][^?？]{0,12}(?:什么|谁|哪|几|多少|怎)"
    r"|比较|相比|区别|不同|共同|分别|各自|一共|总共|哪些|哪几|几次|多少次|所有|每次|全部|怎么变|有什么变化",
    re.IGNORECASE,
)
#: What asks which plans came to nothing.
_CAME_TO_NOTHING = pattern_of(
    r"\b(?:what|which|any(?:thing)?|everything|all|list)\b(?! (?:time|day))[^.?!]{0,60}"
    r"\b(?:f(?:ell|all(?:en|s)?) (?:through|flat)|c[ao]me to nothing|never happened"
    r"|(?:did(?:n['’]t| not)|never) (?:happen|work out|come off)"
    r"|cancel(?:s|led|ed)?|call(?:ed)?(?: \w+)? off|scrapped|abandon(?:ed)?)\b"
    r"|(?:什么|哪[些几](?!天|次)|哪个|有没有|所有)[^，。？！]{0,14}(?:泡汤|黄了|落空|告吹|取消|作罢|作废|没[去办做搞实]?[成现])"
    r"|(?:泡汤|黄了|落空|告吹|取消|作罢|没[去办做搞实]?[成现]了?)的(?:[^，。？！]{0,6}(?:什么|哪[些几个])|计划|打算|安排)",
    re.IGNORECASE,
)
_TELL = pattern_of(
    r"^\s*(?:please )?(?:tell|remind) me\b|^\s*(?:please )?list\b|^(?:请)?(?:告诉我|说说|列出|列举)", re.IGNORECASE
)
_OF_US = pattern_of(
    r"\b(?:i|i'm|i've|my|mine|me|we|our|us)\b|\b(?:remember|recall)\b|[我咱俺]|记得|想起|回忆", re.IGNORECASE
)
_NO_FACT = pattern_of(
    r"^\s*(?:can|could|will|would|should|shall|may)\b|\byou (?:think|feel|like)\b"
    r"|[能可]以?[^，。]{0,4}[吗么]|你(?:觉得|认为|看)",
    re.IGNORECASE,
)
#: What asks what went on, as a whole.
OVERVIEW = pattern_of(
    r"\b(?:what(?:'s| is| was| has| have| had| did| were| are)?|which (?:topics|things))\b"
    r"(?:\s+(?:we|i|you and i|all|both|mostly|mainly|really|ever|else|been|the|my|our|main|biggest|important|big"
    r"|have|has|had|did|were|was|are|do|kinds?|sorts?|of|topics?|things?|events?|subjects?|in|life|with|me|us))*"
    r"\s+(?:talk(?:ed|ing)?(?: about)?|discuss(?:ed|ing)?|chat(?:ted|ting)?(?: about)?|happen(?:ed|ing|s)?"
    r"|go(?:ing|ne|es)? (?:on|through)|went (?:on|through)|been up to|up to|busy with|doing|done|do|changed?|new"
    r"|on my mind|been like|(?:(?<=life )|(?<=things )|(?<=it ))like|stands? out|stood out|occupied (?:me|us)"
    r"|(?:i|we) (?:do|did|done|talk(?:ed)? about|discuss(?:ed)?))\b"
    r"|\bwhat (?:were|was|are|is) (?:the|our|my)(?: main| biggest| big| most important)?"
    r" (?:topics?|themes?|highlights?|events?)\b"
    r"|\banything (?:new|happened|changed)\b"
    r"|\bhow\b(?:'s|\s+(?:was|is|has|have|had|did|were|are))?(?:\s+(?:my|our|the|life|things|everything|it|i|we|been"
    r"|going|gone|go|was|doing|all|feeling|felt|feel|spent?|spend))*\b"
    r"|\b(?:sum(?:mari[sz]e| up)|recap|review|look(?:ing)? back (?:on|at|over)|an? overview of|overview"
    r"|(?:tell|remind|catch) me(?: up)?(?: (?:about|of|on|what))?|walk me through|(?:the )?story of|give me)\b"
    r"|(?:都|又|(?<!现)在|主要|大概|到底)*(?:聊|谈|说|讲|讨论)(?:了|过)?(?:些|哪些)?(?:什么|啥|哪些)"
    r"|(?:都)?(?:发生|经历|做|干|忙)(?:了|过)?(?:些|哪些)?(?:什么|啥|哪些)|(?:有|起了)?(?:什么|哪些|啥)(?:新)?(?:变化|新鲜事|大事)"
    r"|(?:变|改变)了(?:些)?(?:什么|多少)|(?:是)?(?:过得|怎么过|过的)(?:怎么样|怎样|如何|好吗|还好吗|的)?|怎么样|是怎样的|是什么样的"
    r"|总结|回顾|概括|梳理|回忆|盘点|(?:跟我|给我)?(?:讲讲|说说|聊聊|讲一讲|说一说)",
    re.IGNORECASE,
)


_CAPITALISED = pattern_of(r"(?<![.!?:]\s)(?<!^)(?<=[\s(,“\"'])([A-Z][\w'’-]*[a-z](?:\s+[A-Z][\w'’-]*[a-z])*)")
_CHINESE_CALLED = (
    r"(?:(?:小|老|阿)[\u4e00-\u9fff]|"
    r"[王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文]"
    r"[\u4e00-\u9fff]{1,2}?)"
)
#: A name at the start of a question, as "周婷是哪里人".
_CHINESE_SUBJECT = pattern_of(rf"(?:^|[，。！？、\s])({_CHINESE_CALLED}(?=[的是在去有会喜爱怎为什多几哪]))")


@dataclass(frozen=True, slots=True)
class Question:
    """A question to search for.

    ``remark``: it asks nothing. ``seeks``: it looks for something nameable, so it can be searched for without the
    messages before it. ``of_the_past``: it mentions a past time. ``advice``: it asks what to do, so no memory is the
    answer, but many may help. ``faint``: terms that only say how long ago something was ("nine days ago"). ``alone``:
    it was read without the messages before it. ``names``: the terms of the names in it. ``goes_on``: it opens with a
    statement and so continues what was done last; other questions may be about any time.
    """

    text: str
    terms: tuple[str, ...]
    times: tuple[TimeRange, ...]
    of_the_past: bool
    advice: bool
    remark: bool
    seeks: bool
    faint: frozenset[str] = frozenset()
    alone: bool = False
    names: frozenset[str] = frozenset()
    goes_on: bool = False

    @property
    def looks_up(self) -> bool:
        """Whether memory is to answer it; a remark, or a question what to do, is only to be reminded of something."""
        return self.seeks and not self.advice

    @property
    def asks_of_us(self) -> bool:
        """Whether it asks for a fact about those who talk: where nothing answers it, the reply is to say so.

        >>> texts = ("Where did I park?", "Can you recommend me a book?", "我几号去看牙？", "我前几天去看牙了")
        >>> [parse_question(text, date(2026, 10, 1)).asks_of_us for text in texts]
        [True, False, True, False]
        """
        of_us = bool(_OF_US.search(self.text)) or seeks_reply(self.text)
        return self.looks_up and not self.remark and of_us and not _NO_FACT.search(self.text)

    @property
    def of_a_whole(self) -> bool:
        """Whether it may ask what went on in a time range."""
        return self.alone and bool(OVERVIEW.search(self.text))


def build_queries(earlier: Sequence[str], text: str) -> tuple[str, ...]:
    """The texts to search for: the last round, if there is one, and the new message."""
    return (*(["\n".join(earlier[-2:])] if earlier else []), text)


def parse_question(text: str, today: date) -> Question:
    """Read a question."""
    seeks = bool(_SEEKS.search(text))
    times = tuple(one for one in read_ranges(text, today) if one.first <= today)
    terms = words.search_terms(text) if seeks else words.terms(text)
    rest = without_times(text, [one for one in read_times(text, today) if one.kind == "ago"])
    said = text.strip()
    first_sentence = said[: end.end()] if (end := _END.search(said)) else said
    return Question(
        text=text,
        terms=terms,
        times=times,
        of_the_past=any(one.last < today for one in times),
        advice=bool(_ADVICE.search(text)),
        remark=not _ASKS.search(text),
        seeks=seeks,
        faint=frozenset(terms).difference(words.terms(rest)) if rest != text else frozenset(),
        names=frozenset(_name_terms(text)),
        goes_on=not _ASKS.search(first_sentence),
    )


def vital_slots(text: str) -> tuple[Slot, ...]:
    """The slots of the person that no one may overlook in the matter of a message, whether it asks for them or not.

    >>> [slot.attribute for slot in vital_slots("I'm making dinner for friends.")]
    ['allergy', 'diet']
    """
    found = (name for pattern, names in _VITAL if pattern.search(text) for name in names)
    return tuple(Slot("person", name) for name in dict.fromkeys(found))


def _name_terms(text: str) -> Iterator[str]:
    """The terms of names; of Chinese names only pairs, since single characters are too common."""
    for word in (word for found in _CAPITALISED.finditer(text) for word in found[1].split()):
        if word.casefold() not in {*MONTH_NAMES, *DAY_NAMES, *STOP_WORDS}:
            yield from words.terms(word)
    for found in _CHINESE_SUBJECT.finditer(text):
        yield from (term for term in words.terms(found[1]) if len(term) > 1)


def seeks_several(text: str) -> bool:
    """Whether a question asks for several things, so that one search may miss some.

    >>> [seeks_several(text) for text in ("Where does Ann live and when did she move?", "Where does Ann live?")]
    [True, False]
    >>> [seeks_several(text) for text in ("我去过哪些地方？", "安娜住在哪里？")]
    [True, False]
    """
    return bool((_SEEKS.search(text) or _TELL.search(text)) and _SEVERAL.search(text))


def seeks_called_off(text: str) -> bool:
    """Whether a question asks which plans came to nothing.

    >>> [seeks_called_off(text) for text in ("Which trips did I cancel?", "What fell through?", "When did I cancel?")]
    [True, True, False]
    >>> [seeks_called_off(text) for text in ("我有哪些安排取消了？", "取消的是哪几次？", "我哪天取消的？")]
    [True, True, False]
    """
    return bool(_CAME_TO_NOTHING.search(text))


def seeks_reply(text: str) -> bool:
    """Whether a question asks for what the companion said.

    >>> [seeks_reply(text) for text in ("Which book did you recommend?", "你给我写的诗是怎么说的？", "Where is Ann?")]
    [True, True, False]
    """
    return bool(_YOU_SAID.search(text))


def wants_plan(planning: Planning, text: str, found: int) -> bool:
    """Whether a question is worth a search plan; ``found``: how many messages an ordinary search returned.

    With ``auto``, remarks, requests for advice and general knowledge questions are not.
    """
    if planning != "auto":
        return planning == "always"
    if _ADVICE.search(text):
        return False
    of_us = bool(_OF_US.search(text)) or seeks_reply(text)
    if seeks_several(text):
        return bool(found) or of_us
    return not found and of_us and bool(_SEEKS.search(text)) and not _NO_FACT.search(text)


# -- questions about a time as a whole --------------------------------------------------------------------------


#: Shorter ranges are searched as usual.
_SHORTEST_DAYS = 5
_BEGINNING = date(1, 1, 1)

_EVER = pattern_of(
    r"\b(?:ever since|since) we (?:first )?(?:met|started|began|got to know)[^?.!]*|\ball (?:this|the) time\b"
    r"|\b(?:so far|until now)\b"
    r"|\bfrom the (?:very )?(?:beginning|start)\b|从?(?:我们)?(?:认识|开始聊天?|相识)(?:到现在|至今|以来)"
    r"|一直以来|这么久以来|从头到现在|到目前为止",
    re.IGNORECASE,
)
_SINCE = pattern_of(r"\b(?:ever )?since\b|(?:以来|至今|到现在|到今天)|自从|打从|之后到现在", re.IGNORECASE)
_EVENT = pattern_of(
    r"\b(?P<how>since|after|before|until)\s+(?P<event>[^?.!,]+)"
    r"|(?:自从|打从|从|自)?(?P<zh_event>[^，。？！,?!、自从]{2,16}?)(?P<zh_how>以来|之后|以后|以前|之前|至今|到现在)",
    re.IGNORECASE,
)
_BEFORE = ("before", "until", "以前", "之前")
#: Words that a question about a range may contain without asking for anything specific.
_NEUTRAL = pattern_of(
    r"\b(?:year|years|month|months|week|weeks|time|times|period|life|things?|stuff|everything|topics?|main|mainly|most|mostly"
    r"|important|biggest|big|highlights?|events?|please|remember|recall|together|whole|entire|all|overall|general(?:ly)?|kind"
    r"|short|brief(?:ly)?|quick(?:ly)?|far|really|actually|basically|old|friend|hey|so|then|now|back|two|us|both"
    r"|know|say|said|conversations?|talks?|chats?|summary|recap|overview|up|went|like|ups|downs|ever|going|gone|lot|much"
    r"|came|come|been|era|stretch|days?|lately|recently|feel(?:ing)?|felt|mood|spent?|spend)\b"
    r"|我们|咱们|咱俩|咱|我|你|俩|都|的|了|这|那|在|里头|里面|里|中|期间|当中|一下|下|给|帮|请|吧|呢|啊|呀|吗|嘛|自己|主要|最|大|要紧|重要|事情|事儿|事"
    r"|生活|日子|时间|时候|时光|阵|段|整整|整个|整|全部|全年|全|一起|一共|有|过|和|跟|与|来|以|至今|到现在|现在|到|底|大概|大致|还|记得|记不记得|话题|哪些|什么"
    r"|些|啥|个|年|月|天|份|季|老友|老朋友|朋友|嘿|能|可以|不能|是|怎么|怎样|如何|么|简单|简要|好好|概况|情况|状态|心情|经历|自从|从|自|聊天|对话|谈话|会|也|就|之|间|内|想|知道|对|吗|让|把|得",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TimeRangeRequest:
    """A question about a time range: the range, or the event at one end of it."""

    time_range: TimeRange | None
    event: str = ""
    side: Literal["since", "before"] = "since"

    def from_day(self, day: date, today: date) -> TimeRange:
        """The range, once the day of the event is known."""
        return TimeRange(day, today) if self.side == "since" else TimeRange(_BEGINNING, day - timedelta(1))


def read_range_request(text: str, today: date) -> TimeRangeRequest | None:
    """The time range that a question is about as a whole; None for any other question."""
    rest = OVERVIEW.sub(" ", text)
    if rest == text:
        return None
    period, left = _find_range(rest, today)
    if period is None and (happened := _EVENT.search(rest)):
        event = (happened["event"] or happened["zh_event"]).strip()
        how = (happened["how"] or happened["zh_how"]).lower()
        left = rest[: happened.start()] + " " + rest[happened.end() :]
        if words.terms(_NEUTRAL.sub(" ", event)):
            side: Literal["since", "before"] = "before" if how in _BEFORE else "since"
            return TimeRangeRequest(None, event, side) if _is_neutral(left) else None
    if period is None or not _is_neutral(left):
        return None
    period = TimeRange(period.first, min(period.last, today))
    return TimeRangeRequest(period) if (period.last - period.first).days + 1 >= _SHORTEST_DAYS else None


def parse_range(text: str, today: date) -> TimeRange | None:
    """A named range: 2026, 2026-03, 2026-03-08, March, last summer, 去年夏天; None for anything else."""
    if re.fullmatch(r"\d{4}-\d\d?", text.strip()) and range_of(text.strip()) is None:
        return None
    # The grammar needs a preposition before a month.
    return _find_range(f"in {text}", today)[0]


def _is_neutral(text: str) -> bool:
    """Whether these words ask for nothing specific."""
    return not words.terms(_NEUTRAL.sub(" ", _SINCE.sub(" ", text)))


def _find_range(text: str, today: date) -> tuple[TimeRange | None, str]:
    """The single range that a text names, and the text without it."""
    if ever := _EVER.search(text):
        return TimeRange(_BEGINNING, today), text[: ever.start()] + " " + text[ever.end() :]
    read = [one for one in read_times(text, today) if one.meant or one.kind == "vague"]
    found = [one for one in read if one.meant] or read[:1]
    ranges = [one.meant or one.possible[0] for one in join_expressions(text, found)]
    if len(ranges) != 1:
        return None, text
    left = without_times(text, found)
    return TimeRange(ranges[0].first, today if _SINCE.search(left) else ranges[0].last), left
