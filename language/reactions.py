"""How a person takes a reply (laughter, thanks, a long answer; or that it was wrong, too long, or not wanted), and how
the companion usually talks: how long, what it calls the person, what is never in it, what the two keep laughing about,
as lines of its persona.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from domain.patterns import pattern_of
from language.scripts import Language
from language.words import matching_forms, terms

_LAUGHS = pattern_of(
    r"\b(?:ha(?:ha)+h?|hehe+|lo+l|lmao|rofl)\b|[😂🤣😄😆]|哈哈|嘿嘿|笑死|笑出声|2333|hhh", re.IGNORECASE
)
_THANKS = pattern_of(
    r"\b(?:thanks?|thank you|thx|that helps|needed that|love (?:it|that)|good point|well said)\b"
    r"|谢谢|谢啦|多谢|说得好|说得真好|有道理|说到(?:我)?心里",
    re.IGNORECASE,
)
_MINDS = pattern_of(
    r"\bno[,.!]|\b(?:that'?s (?:not|wrong)|wrong|not helpful|unhelpful|you'?re (?:not listening|repeating)"
    r"|stop (?:it|that|saying|asking)|don'?t (?:say|talk|lecture|ask|call)|annoying|boring|shut up|whatever|as i said"
    r"|i (?:already|just) (?:said|told)|too long)\b"
    r"|不对|不是这|错了|别(?:说|问|这样|再|讲|列|叫)|烦|闭嘴|算了|没用|废话|啰嗦|说过了|听不懂|你没(?:听|懂)|太长|敷衍|不好笑",
    re.IGNORECASE,
)
#: Of fewer replies nothing is said; what the person is called is in so many of them at least, and in one of so many.
_ENOUGH, _CALLED, _OF = 12, 3, 20
_ENDEARMENTS = (
    "my dear", "dear", "darling", "love", "sweetheart", "honey", "mate", "buddy", "pal", "my friend", "old friend",
    "dude",
    "亲爱的", "宝贝", "老兄", "兄弟", "哥们儿", "哥们", "姐妹", "朋友", "老朋友", "亲",
)  # fmt: skip
#: What a companion may never say: its name in both languages, and how it is seen.
_HABITS = (
    ("lists", "列表", pattern_of(r"^[ \t]*(?:[-*•]|\d+[.)、])\s", re.MULTILINE)),
    ("headings", "标题", pattern_of(r"^[ \t]*#{1,6}\s|^[ \t]*\*\*[^*\n]+\*\*:?[ \t]*$", re.MULTILINE)),
    ("emoji", "表情符号", pattern_of("[\u2600-\u27bf\U0001f300-\U0001faff]")),
    ("exclamation marks", "感叹号", pattern_of(r"[!！]")),
    ("questions", "问句", pattern_of(r"[?？]")),
    (
        "“how can I help”",
        "“有什么可以帮你”",
        pattern_of(r"\b(?:can|may) i (?:help|assist)\b|(?:可以|能|需要)(?:我)?(?:帮|为)[您你]", re.IGNORECASE),
    ),
)
#: The line of a persona on each part of the manner.
_LINES: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "length": "Usually replies in about {} words.",
        "calls": "Calls the user “{}”.",
        "never": "Never in its replies: {}.",
        "jokes": "They keep laughing about {}.",
    },
    "zh": {
        "length": "每次回复通常在 {} 个字左右。",
        "calls": "管用户叫“{}”。",
        "never": "回复里从来没有{}。",
        "jokes": "两个人的老梗：{}。",
    },
}
_PARTS = {
    part: pattern_of("|".join(re.escape(lines[part]).replace(r"\{\}", ".+") for lines in _LINES.values()))
    for part in _LINES["en"]
}
#: A length is said in steps of so many words; the line says another one only when it is off by more than a third.
_STEP, _THIRD = 5, 3
#: A long answer is so many times as long as usual, and longer than this.
_LONGER, _LONG = 2, 60
#: A running joke is laughed at in so many sessions, as often by chance in so many of a thousand; so many are named.
_SESSIONS, _CHANCE, _MOST_JOKES = 3, 2, 3


def reaction_of(text: str, usual: int) -> int:
    """How well a reply was taken by what was said next: below 0 badly, 0 neither way; ``usual`` length in characters.

    >>> reaction_of("哈哈哈，就是这样", 10), reaction_of("thanks, that helps", 20), reaction_of("No, that's it", 20)
    (3, 2, -1)
    """
    if _MINDS.search(text):
        return -1
    laughed, thanked = bool(_LAUGHS.search(text)), bool(_THANKS.search(text))
    wide = sum(1 + (ord(each) > 0x2E80) for each in text)  # a Chinese character says as much as two letters
    return 3 * laughed + 2 * thanked + (wide >= max(_LONG, _LONGER * usual))


def manner_of(
    replies: Sequence[str], person: str, language: Language, before: str = ""
) -> dict[str, tuple[str, list[int]]]:
    """How the companion usually talks by its replies, a line each, and which replies show it; nothing for too few.

    ``length`` is that of the median reply (``before`` is the line on it so far), ``calls`` what it calls the person,
    ``never`` what is in none of them.

    >>> {part: line for part, (line, _) in manner_of(["Rain again, Kim! Tea?"] * 12, "Kim", "en").items()}["calls"]
    'Calls the user “Kim”.'
    """
    if len(replies) < _ENOUGH:
        return {}
    zh = language == "zh"
    from statistics import median

    said, every = dict[str, tuple[str, list[int]]](), list(range(len(replies)))
    if size := int(median(len(re.findall(r"[\u4e00-\u9fff]" if zh else r"\w+", one)) for one in replies)):
        stated = next(map(int, re.findall(r"\d{1,6}", before)), 0)
        near = abs(stated - size) * _THIRD <= stated
        said["length"] = str(stated if near else max(_STEP, round(size / _STEP) * _STEP)), every
    names = sorted({*_ENDEARMENTS, person} - {""}, key=len, reverse=True)
    found = pattern_of(
        rf"(?:^|[.!?。！？…,，]\s*)({'|'.join(map(re.escape, names))})(?=[,，.!?。！？…~～]|$)",
        re.IGNORECASE | re.MULTILINE,
    )
    named = [{each.casefold() for each in found.findall(one)} for one in replies]
    name, times = next(iter(Counter(name for each in named for name in sorted(each)).most_common(1)), ("", 0))
    if times >= max(_CALLED, len(replies) / _OF):
        called = person if name == person.casefold() else name
        said["calls"] = called, [at for at in every if name in named[at]]
    if never := [(zh_name if zh else en) for en, zh_name, seen in _HABITS if not any(map(seen.search, replies))]:
        said["never"] = ("、" if zh else ", ").join(never), every
    return {part: (_LINES[language][part].format(words), shown) for part, (words, shown) in said.items()}


def running_jokes(replies: Sequence[tuple[str, str, str]], language: Language) -> dict[str, tuple[str, list[int]]]:
    """The line on the words in replies that are laughed at nearly always, and which replies show it, as ``manner_of``.

    ``replies``: the session of each, its words, and what the person said next, who has to use such a word as well.
    """
    laughed = [bool(_LAUGHS.search(then) and not _MINDS.search(then)) for _, _, then in replies]
    heard, places = {word for _, _, then in replies for word in terms(then)}, defaultdict[str, list[int]](list)
    for at, (_, words, _) in enumerate(replies):
        for word in terms(_LAUGHS.sub(" ", words)):
            places[word].append(at)
    jokes = dict[str, list[int]]()
    for word in (one for one in places if len(one) > 1 and one in heard):
        taken = [at for at in places[word] if laughed[at]]
        often = len({replies[at][0] for at in taken}) >= _SESSIONS and 4 * len(taken) >= 3 * len(places[word])
        if often and 1000 * (sum(laughed) / len(replies)) ** len(taken) <= _CHANCE:
            jokes[word] = taken
    shown = sorted({at for taken in jokes.values() for at in taken})
    said = dict.fromkeys(form.casefold() for at in shown for form in matching_forms(replies[at][1], jokes.keys()))
    if not said:
        return {}
    words = ("、" if language == "zh" else ", ").join(f"“{one}”" for one in list(said)[:_MOST_JOKES])
    return {"jokes": (_LINES[language]["jokes"].format(words), shown)}


def manner_lines(text: str) -> dict[str, str]:
    """The lines of a persona on how the companion talks, in either language, by their part of the manner."""
    lines = [line.strip() for line in text.split("\n")]
    return {part: line for line in lines for part, written in _PARTS.items() if written.fullmatch(line)}
