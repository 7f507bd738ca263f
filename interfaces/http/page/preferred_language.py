"""Which of our languages a browser prefers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header

from domain.languages import Language
from interfaces.messages import Words

#: What stands in the page where its language is told.
LANGUAGE_IN_PAGE = 'lang="en"'


def preferred(accepted: str) -> Language:
    """The first of ours in an ``Accept-Language`` header, by its weights; English where there is none.

    >>> preferred("fr, zh-CN;q=0.8, en;q=0.5")
    'zh'
    """
    weighed = [_weighed(part) for part in accepted.split(",")]
    ours = [(weight, name) for weight, name in weighed if name in ("en", "zh") and weight > 0]
    best = max(ours, key=lambda one: one[0], default=(0.0, "en"))
    return "zh" if best[1] == "zh" else "en"


def _words(accept_language: Annotated[str, Header()] = "") -> Words:
    return Words(preferred(accept_language))


#: The parameter of a path operation that answers with sentences.
InLanguage = Annotated[Words, Depends(_words)]


def _weighed(part: str) -> tuple[float, str]:
    tag, _, rest = part.partition(";")
    _, _, weight = rest.partition("q=")
    name = tag.strip().lower().partition("-")[0]
    try:
        return (float(weight) if weight.strip() else 1.0), name
    except ValueError:
        return 0.0, name
