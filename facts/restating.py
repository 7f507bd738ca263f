"""What a model's statement takes over from the conversation: "I", "yesterday", a birthday stated as a plan."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from domain.patterns import Guarded, pattern_of
from facts.cues import stance_of
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.scripts import language_of
from language.sentences import without_quoted
from language.times import read_times

#: As many statements as a window has.
_TEXTS_CACHED = 256
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


@lru_cache(_TEXTS_CACHED)
def is_in_first_person(statement: str) -> bool:
    """Whether a statement speaks of "me" or "you" outside quoted words: whose it is shows only where it was said.

    >>> is_in_first_person("I live in York."), is_in_first_person("From her flat you can see the sea.")
    (True, False)
    """
    plain = without_quoted(statement)
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
        end = one.start + len(statement[one.start : one.end].rstrip(" ."))  # "2pm." ends the sentence
        if _DATE_BEHIND.match(statement, end):
            continue
        day = (one.meant.iso or one.meant.first.isoformat()) if one.meant else said.isoformat()
        at = one.hours[0].isoformat("minutes") if one.hours and one.hours[0] == one.hours[1] else ""
        given = f"{day} {at}".strip()
        mark = f" ({given})" if statement[end - 1].isascii() else f"（{given}）"
        statement = statement[:end] + mark + statement[end:]
    return statement


_MISNAMED = {
    ("en", True): "The right name is {right}, not {wrong}.",
    ("en", False): "The name was given wrongly as {wrong}: it is {right}.",
    ("zh", True): "正确的名字是{right}，不是{wrong}",
    ("zh", False): "名字说错成了{wrong}，正确的是{right}",
}


def as_corrected_name(wrong: str, right: str, *, denied: bool) -> str:
    """The statement that a name was wrong, and nothing else; ``denied`` where the words it rests on deny the wrong one.

    >>> as_corrected_name("Annette", "Annika", denied=True), as_corrected_name("林晓", "林筱", denied=False)
    ('The right name is Annika, not Annette.', '名字说错成了林晓，正确的是林筱')
    """
    return _MISNAMED[language_of(right), denied].format(wrong=wrong, right=right)


_BIRTHDAY = pattern_of(
    r"\bbirthday (?:is|was|falls)\b|\bborn\b|生日(?:[是为在：:]|农历|阴历|阳历)|出生|生于", re.IGNORECASE
)


def tells_birthday(statement: str) -> bool:
    """Whether a statement gives a birthday, which is never a plan.

    >>> tells_birthday("Mara's birthday is on 3 May."), tells_birthday("Mara plans a party for her birthday.")
    (True, False)
    """
    plain = statement.casefold()
    return _BIRTHDAY.search(plain) is not None and stance_of(statement) != "planned"


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
    return bool(name) and re.search(given, without_quoted(text).replace("’", "'"), re.IGNORECASE) is not None
