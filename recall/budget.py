"""What a memory costs in a prompt, and which memories the budget has room for.

Tokens are counted as a memory stands in a prompt, with all that it is wrapped in there. Best first, each is given less
room than the one before it: the further down a turn stands, the less likely it is what was looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from domain.languages import estimate
from domain.text import encoded
from recall.words import LONG

#: Tokens of one record in a prompt without what it tells (date, age, marks of JSON), of what stands around the
#: text of one turn in it, or of its summary, and of what stands around all records.
RECORD, ENTRY, FRAME = 30, 12, 82
#: Tokens of the numbers by which two records are known to be of one conversation.
_NUMBERS = 12
#: The hit that has half the room of the best one, counted from 0, and the least room of any, in characters.
_HALF, _LEAST = 8, 150

#: One day of one session, which is one record.
Day = tuple[str, str]


class _Purse:
    """What is left of the budget. A record is paid for once, with the first that is told in it.

    ``told`` are sessions of which a record is paid for already.
    """

    def __init__(self, left: int, told: Iterable[str] = ()) -> None:
        self._left = left
        self._told = set(told)
        self._days: set[Day] = set()

    def pay(self, cost: int, day: Day | None) -> bool:
        """Pay for a turn of this day; False, and nothing, when too little is left."""
        known = day is None or day in self._days or day[0] in self._told
        further = day is not None and any(session == day[0] for session, _ in self._days)
        cost += 0 if known else RECORD + _NUMBERS * further
        if cost > self._left:
            return False
        self._left -= cost
        if day is not None and day not in self._days:
            self._days.add(day)
            self._told.discard(day[0])
        return True


def choose(
    ranked: Sequence[int],
    around: Mapping[int, Sequence[int]],
    cost: Mapping[int, int],
    budget: int,
    days: Mapping[int, Day] | None = None,
    told: Iterable[str] = (),
) -> dict[int, bool]:
    """The rows to hand over, and whether each is a hit: best first while the budget lasts, each with its neighbours.

    ``ranked`` are the rows of the hits, ``around`` the neighbours of each, ``cost`` the tokens of each row, ``days``
    the record in which each stands, ``told`` the sessions that have a record anyway.
    A hit that does not fit is passed over, so that one long turn does not shut out the rest.
    """
    taken: dict[int, bool] = {}
    of, purse = days or {}, _Purse(budget, told)
    for row in ranked:
        if row not in taken and not purse.pay(cost[row], of.get(row)):
            continue
        taken[row] = True
        for neighbour in around.get(row, ()):
            if neighbour not in taken and neighbour in cost and purse.pay(cost[neighbour], of.get(neighbour)):
                taken[neighbour] = False
    return taken


def cost_of_text(text: str) -> int:
    """Tokens of this text in a record, written as it stands in a prompt."""
    return ENTRY + estimate(encoded(text))


def cost_alone(text: str) -> int:
    """Tokens of a record that holds nothing but this text."""
    return RECORD + cost_of_text(text)


def longest() -> Iterator[int]:
    """How long a hit may be, best first: the best have room to be read, what comes after to be known."""
    return (max(_LEAST, LONG * _HALF // (_HALF + place)) for place in count())
