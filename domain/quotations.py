"""Quotations of a reply, checked against the memories that were recalled for it.

A companion repeats a memory inside ``<blockquote>``. A quotation that stands in a memory is a copy, and a reference to
that memory says as much; one that stands in none is the reply's own substance, as is whatever a person pastes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from domain.recollection import RecalledSummary, RecalledTurn, Recollection
from domain.records import Quoted, Turn
from domain.text import quotation_spans, without_tags

_NOT_WORDS = re.compile(r"[\W_]+")
#: A quotation shorter than this fits too many memories to say which one it is.
_SHORTEST = 2


def source_of(quotation: str, recollection: Recollection) -> RecalledTurn | RecalledSummary | None:
    """The memory that holds these words, or that these words hold; None where no memory does.

    Punctuation, case and spacing do not count: a model seldom copies them.
    """
    if not tells_enough(quotation):
        return None
    wanted = _bare(quotation)
    memories: Iterable[RecalledTurn | RecalledSummary] = (*recollection.turns, *recollection.summaries)
    for memory in memories:
        bare = _bare(memory.text)
        if wanted in bare or (len(bare) > len(wanted) // 2 and bare in wanted):
            return memory
    return None


def holds(text: str, quotation: str) -> bool:
    """Whether a text says these words; punctuation, case and spacing do not count."""
    return tells_enough(quotation) and _bare(quotation) in _bare(text)


def tells_enough(quotation: str) -> bool:
    """Whether a quotation is long enough to say which memory it is from."""
    return len(_bare(quotation)) >= _SHORTEST


def checked(reply: str, recollection: Recollection) -> tuple[Quoted, ...]:
    """The quotations of a reply that stand in a memory that was recalled for it."""
    spans = enumerate(quotation_spans(reply))
    found = (
        (number, source_of(without_tags(reply[start:end]), recollection)) for number, (start, end) in spans
    )
    return tuple(Quoted(number, memory.text_id, memory.timestamp) for number, memory in found if memory)


def with_references(turn: Turn) -> str:
    """The words of a turn, with a reference in the place of each quotation that was found in a memory."""
    return _replaced(turn, lambda quoted: f"[{quoted.timestamp[:10]} · {quoted.text_id[:8]}]")


def own_words(turn: Turn) -> str:
    """The words of a turn without quotations that were found in a memory, and without tags of any others."""
    return without_tags(_replaced(turn, lambda quoted: " "))


def _replaced(turn: Turn, instead: Callable[[Quoted], str]) -> str:
    text, checked_ones = turn.words, {quoted.number: quoted for quoted in turn.quoted}
    if not checked_ones:
        return text
    kept, position = "", 0
    for number, (start, end) in enumerate(quotation_spans(text)):
        if number in checked_ones:
            kept += text[position:start] + instead(checked_ones[number])
            position = end
    return kept + text[position:]


def _bare(text: str) -> str:
    return _NOT_WORDS.sub("", text.removeprefix("User: ").removeprefix("Assistant: ")).casefold()
