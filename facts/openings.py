"""When what is open may be brought up: at an opening, in a prompt as near, and again after it was.

    schedule     a matter -> the first and the last day on which it may be brought up
    due_now      matters and the clock -> at most three to bring up; nothing in most cases
    may_greet    whether the companion may speak first at all
    coming_up    matters and the clock -> what is near, for a prompt

Pure functions over rows and a clock; days are those where the person is. No one is asked too often.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from domain.matters import MatterKind, NewMatter, OpenMatter
from language.yearly import JUST_PAST, YearlyDay

#: At most so many are brought up at once, each so often at most; what is grave, once.
MOST_AT_ONCE, _MOST_ASKED = 3, 2
#: A greeting waits so long after the last words, and after the last greeting.
_APART, _BETWEEN_GREETINGS = timedelta(minutes=30), timedelta(hours=16)
#: So many unanswered greetings end them.
_UNANSWERED = 2
#: Days after which something without a day is brought up, and after which it no longer is.
_WAITS: Mapping[MatterKind, tuple[int, int]] = {"question": (1, 14), "worry": (1, 21), "event": (7, 21)}
#: Days after its day during which something may be asked about, and before it during which a deadline may.
_AFTER: Mapping[MatterKind, int] = {"event": 14, "deadline": 3, "promise": 14}
_BEFORE: Mapping[MatterKind, int] = {"deadline": 1}
#: Days before a birthday on which it may come up: there is a present to think of.
_BEFORE_BIRTHDAY = 2
#: Days until something without a day may be brought up again.
_APART_DAYS = 3
#: Nothing is open for more days than this.
_LONGEST = 365


def schedule(matter: NewMatter, said: datetime, own: bool) -> NewMatter:
    """A matter with the first and the last day on which it may be brought up; ``own``: the person said it."""
    day = said.date()
    if yearly := YearlyDay.parse(matter.yearly):
        due = yearly.next_on(day)
        ahead = -1 if matter.sensitivity == "care" else -_BEFORE_BIRTHDAY
        first = _later(day, 1) if yearly.calendar == "unclear" else due and _later(due, ahead)
        due_on = due.isoformat() if due else ""
        return replace(matter, due_from=due_on, due_to=due_on, precision="day",
                       next_review=first.isoformat() if first else "9999-12-31", expires="9999-12-31")  # fmt: skip
    if not matter.due_from:
        waits, lasts = _WAITS.get(matter.kind, (2, 21))
        waits = waits if own and matter.sensitivity != "care" else 1
        first, last = _later(day, waits), _later(day, lasts)
    else:
        begins, ends = (date.fromisoformat(one[:10]) for one in (matter.due_from, matter.due_to))
        exact = matter.precision in ("time", "day")
        first = _later(
            begins if exact else ends, -_BEFORE.get(matter.kind, 0 if exact or matter.kind == "promise" else -1)
        )
        last = _later(ends, _AFTER.get(matter.kind, 14) if exact else 21)
    return replace(matter, next_review=first.isoformat(), expires=min(last, _later(day, _LONGEST)).isoformat())


@dataclass(frozen=True, slots=True)
class GreetingState:
    """When the companion last spoke first ("" never), and how many such greetings in a row got no answer."""

    last: str = ""
    unanswered: int = 0


def may_greet(state: GreetingState, last_spoken: str | None, now: datetime) -> bool:
    """Whether the companion may speak first: not twice a day, nor right after a talk, nor where it is not wanted.

    A last greeting that lies in the future was made by a wrong clock; it counts for as long as one of the past does.
    """
    if state.unanswered >= _UNANSWERED:
        return False
    if state.last:
        last = datetime.fromisoformat(state.last)
        if last.astimezone(now.tzinfo).date() == now.date() or abs(now - last) < _BETWEEN_GREETINGS:
            return False
    return last_spoken is None or not timedelta(0) <= now - datetime.fromisoformat(last_spoken) < _APART


def due_now(matters: Iterable[OpenMatter], now: datetime) -> list[OpenMatter]:
    """The open matters that may be brought up now, the most urgent first, at most three."""
    today = now.date()
    due = [one for one in matters if one.is_open and _is_due(one, now)]

    def urgency(one: OpenMatter) -> tuple[int, int, int]:
        yearly = YearlyDay.parse(one.yearly)
        day = (yearly and yearly.nearest(today)) or date.fromisoformat((one.due_from or one.said)[:10])
        rank = 0 if yearly and day == today else 1 if one.sensitivity == "care" else 2
        return rank, abs((day - today).days), one.number

    return sorted(due, key=urgency)[:MOST_AT_ONCE]


def _is_due(one: OpenMatter, now: datetime) -> bool:
    today = now.date()
    if one.next_review > today.isoformat() or one.expires < today.isoformat():
        return False
    if one.asked_at and abs(now - datetime.fromisoformat(one.asked_at)) < _BETWEEN_GREETINGS:
        return False
    if yearly := YearlyDay.parse(one.yearly):
        if yearly.calendar == "unclear":
            return one.asked == 0
        due = yearly.nearest(today)
        asked = date.fromisoformat(one.asked_at[:10]) if one.asked_at else None
        ahead = 1 if one.sensitivity == "care" else _BEFORE_BIRTHDAY
        recent = asked is not None and due is not None and (due - asked).days in range(-JUST_PAST, ahead + 1)
        near = due is not None and (due - today).days <= ahead and not recent
        return near and (one.sensitivity != "care" or (one.asked == 0 and due is not None and due >= today))
    return one.asked < (1 if one.sensitivity == "care" else _MOST_ASKED)


def after_asking(one: OpenMatter, now: datetime) -> str:
    """The first day on which a matter that was just brought up may be brought up again."""
    today = now.date()
    if yearly := YearlyDay.parse(one.yearly):
        if yearly.calendar == "unclear":  # once that is known, its day may be any day
            return _later(today, 1).isoformat()
        due = yearly.next_on(_later(today, _BEFORE_BIRTHDAY + 1))
        return _later(due, -_BEFORE_BIRTHDAY).isoformat() if due else "9999-12-31"
    ahead = one.due_to[:10] >= today.isoformat() if one.due_to else False
    day = _later(date.fromisoformat(one.due_to[:10]), 1) if ahead else _later(today, _APART_DAYS)
    return day.isoformat()


def coming_up(matters: Iterable[OpenMatter], now: datetime, days: int = 7) -> list[OpenMatter]:
    """What is dated and near, before it or just after, and was in no prompt yet: the nearest first.

    Not what was asked as often as it may be, nor, before its day, what the person wants to hear of later.
    """
    today = now.date()

    def away(one: OpenMatter) -> int:
        yearly = YearlyDay.parse(one.yearly)
        due = yearly.next_on(today) if yearly else date.fromisoformat(one.due_from[:10]) if one.due_from else None
        return (due - today).days if due else days + 1

    def may_come(one: OpenMatter) -> bool:
        care = one.sensitivity == "care"
        if one.yearly:
            return not one.yearly.startswith("un") and not (care and one.asked)
        postponed = one.expires == "9999-12-31" and one.next_review > today.isoformat()
        return not postponed and one.asked < (1 if care else _MOST_ASKED)

    near = [(away(one), one) for one in matters if one.is_open and not one.shown and may_come(one)]
    return [one for gap, one in sorted(near, key=lambda row: (abs(row[0]), row[1].number)) if -3 <= gap <= days]


def _later(day: date, days: int) -> date:
    """A day so many days away, within the years that there are."""
    return date.fromordinal(min(max(1, day.toordinal() + days), date.max.toordinal()))
