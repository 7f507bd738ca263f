"""How a person takes a reply: laughter, thanks, a long answer; or that it was wrong, too long, or not wanted."""

from __future__ import annotations

import re

from domain.patterns import pattern_of

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
#: A long answer is so many times as long as usual, and longer than this.
_LONGER, _LONG = 2, 60


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
