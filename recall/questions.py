"""What a question is like, read from its words: what it looks for, who and when it means, whether it asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from recall import times, words

_ASKS = re.compile(
    r"[?？]|\b(?:what|when|where|who|whom|whose|which|why|how)\b|什么|谁|哪|几|多少|怎|吗|呢|是否",
    re.IGNORECASE,
)
_SEEKS = re.compile(
    r"(?:^|[.!?]\s+|\band\s+)(?:what|when|where|who|whom|whose|which|why|how)\b|(?<!\bi )\b(?:remember|recall)\b"
    r"|^\s*(?:did|does|do|is|are|was|were|has|have|had|would|could|can|will|should)\b"
    r"|(?<!没)(?<!没有)(?<!些)(?:什么|谁|哪[里儿]?)(?!都|也)|几[个天岁点次号年月]|多少|(?<!我)记得|曾经",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\bwhat if\b|\b(?:what|how|where|which|who|when|why)\b[^.?!]{0,40}?\b(?:should|shall|can|can't|could) (?:i|we)\b"
    r"|怎么办|该怎么|应该|(?:可以|能|要)(?:做|吃|玩|去|看|帮)[^，。]{0,6}什么|什么好",
    re.IGNORECASE,
)
_WHEN = re.compile(r"^\s*when\b|什么时候|哪天|几号|what (?:date|day|month|year)", re.IGNORECASE)
_MANY = re.compile(r"how (?:many|much|long|old|often)|多少|几|多久|多大", re.IGNORECASE)
_SAID = "recommend|suggest|told|tell|said|say|mention"
_YOU_SAID = re.compile(
    rf"\byou(?:'ve)?\s+(?:\w+ )?(?:{_SAID}|give|gave|advise|propose|explain|introduce)"
    r"|你.{0,6}(?:推荐|建议|告诉|说过|提到|介绍|给我)",
    re.IGNORECASE,
)
_I_SAID = re.compile(
    rf"\bi(?:'ve)?\s+(?:\w+ )?(?:{_SAID}|share|introduc)|我.{{0,8}}(?:推荐|分享|告诉|说过|提到|介绍|给你)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is searched for.

    ``remark`` says that it asks nothing: a thought that may remind of another. ``seeks`` says that it looks for
    something that can be named, so that it can be searched for without what was said before it. ``of_the_past`` says
    that it speaks of a time that is over, ``advice`` that it asks what to do: no memory is the answer, but many may
    matter.
    """

    text: str
    terms: tuple[str, ...]
    windows: tuple[times.Window, ...]
    of_the_past: bool
    advice: bool
    remark: bool
    seeks: bool
    asks_when: bool
    asks_how_many: bool
    you_said: bool
    i_said: bool


def queries(said: Sequence[str], text: str) -> tuple[str, ...]:
    """What is searched for: the last round of what was said, if there is one, and the new input."""
    return (*(["\n".join(said[-2:])] if said else []), text)


def read(text: str, today: date) -> Asked:
    """Read a question."""
    seeks, windows = bool(_SEEKS.search(text)), times.windows(text, today)
    return Asked(
        text=text,
        terms=words.sought(times.without_distances(text)) if seeks else words.terms(text),
        windows=windows,
        of_the_past=any(window.last < today for window in windows),
        advice=bool(_ADVICE.search(text)),
        remark=not _ASKS.search(text),
        seeks=seeks,
        asks_when=bool(_WHEN.search(text)),
        asks_how_many=bool(_MANY.search(text)),
        you_said=bool(_YOU_SAID.search(text)),
        i_said=bool(_I_SAID.search(text)),
    )
