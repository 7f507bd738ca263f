"""What a plea speaks of, wherever it was said: in the session in which it is heard, and in older ones.

Which rounds of its own session it speaks of is told by ``domain.pleas``. Of older sessions those that hold the very
words of the matter that it names, unless it speaks of what was said just now. A matter that a good part of a life holds
is left alone there, since a single word ("work") would take years with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.pleas import Plea, holding, spoken_of
from domain.recollection import RecallLimits
from domain.records import Round, not_withheld
from memory import Memory

#: A matter is left alone where more older rounds than this hold it, and more than one in so many of all.
_FEW, _ONE_IN = 12, 20


def meant_by(memory: Memory, plea: Plea, session_id: str, before: Sequence[Round]) -> tuple[Round, ...]:
    """The rounds that a plea speaks of: of older sessions, then of those ``before`` it in its own."""
    named = () if plea.lately else plea.matter
    found = {one.user.text_id: one for part in named for one in _older(memory, part, session_id)}
    older = tuple(found.values())
    return (*older, *spoken_of(plea, before, older))


def _older(memory: Memory, part: str, session_id: str) -> tuple[Round, ...]:
    """The rounds of older sessions that hold what was named; none where it is too many."""
    most = max(_FEW, memory.sessions.counts()[1] // _ONE_IN)
    # A round has two turns, and one more than all of them tells that there are too many.
    found = memory.search(part, RecallLimits(0, 2 * most + 1, 0)).turns
    told = sorted({turn.session_id for turn in found} - {session_id})
    if len(found) > 2 * most:
        return ()
    rounds = tuple(one for each in told for one in holding(part, not_withheld(memory.messages.rounds(each))))
    return rounds if len(rounds) <= most else ()
