"""Where a quotation in a reply comes from, found among what was recalled for it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from domain.recollection import RecalledSummary, RecalledTurn, Recollection

_NOT_WORDS = re.compile(r"[\W_]+")
#: A quotation shorter than this fits too many memories to say which one it is.
_SHORTEST = 2


def source_of(quotation: str, recollection: Recollection) -> RecalledTurn | RecalledSummary | None:
    """The memory that holds these words, or that these words hold; None where no memory does.

    Punctuation, case and spacing do not count: a model seldom copies them.
    """
    wanted = _bare(quotation)
    if len(wanted) < _SHORTEST:
        return None
    memories: Iterable[RecalledTurn | RecalledSummary] = (*recollection.turns, *recollection.summaries)
    for memory in memories:
        bare = _bare(memory.text)
        if wanted in bare or (len(bare) > len(wanted) // 2 and bare in wanted):
            return memory
    return None


def holds(text: str, quotation: str) -> bool:
    """Whether a text says these words; punctuation, case and spacing do not count."""
    wanted = _bare(quotation)
    return len(wanted) >= _SHORTEST and wanted in _bare(text)


def _bare(text: str) -> str:
    return _NOT_WORDS.sub("", text.removeprefix("User: ").removeprefix("Assistant: ")).casefold()
