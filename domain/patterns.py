"""Regular expressions that are compiled when they are first looked for.

There are some three hundred, and a program that starts needs few of them: to compile them all took a quarter of the
time until its prompt stood.
"""

from __future__ import annotations

import re
from typing import Any, cast


def pattern_of(source: str, flags: int = 0) -> re.Pattern[str]:
    """What ``re.compile`` gives, made at the first look; a mistake in it shows only then. Not for functions of ``re``.

    >>> pattern_of("b+").search("abba").group()
    'bb'
    """
    return cast("re.Pattern[str]", _Late(source, flags))


class _Late:
    """Stands for a pattern; whatever is asked of it is asked of the compiled one, and remembered."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        asked = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, asked)
        return asked
