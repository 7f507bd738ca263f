"""What is open between the two: events ahead, deadlines, promises, questions, worries, birthdays, anniversaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain.records import Role

MatterKind = Literal["event", "deadline", "promise", "question", "worry", "birthday", "anniversary"]
#: ``unverified``: no model has said yet that it is open. ``answered``: the person spoke of it after being asked;
#: ``closed``: without; ``dropped``: it is not to be brought up.
MatterStatus = Literal["unverified", "pending", "asked", "answered", "closed", "expired", "dropped"]
#: What may be brought up, and what a window may settle.
OPEN: tuple[MatterStatus, ...] = ("pending", "asked")
MAY_BE_OPEN: tuple[MatterStatus, ...] = ("unverified", *OPEN)
#: How exactly the time is known; "" where there is none.
Precision = Literal["", "time", "day", "week", "month", "year"]
#: ``care``: illness, death, a separation.
Sensitivity = Literal["routine", "care"]


@dataclass(frozen=True, slots=True)
class NewMatter:
    """A matter that is to be stored. It rests on ``words`` of one message, from ``start`` to ``end``.

    ``due_from`` and ``due_to`` are a day, or a day and time, where the person is; "" without one. ``yearly`` is the
    day of every year (``YearlyDay.text``). ``key`` are its telling words: two matters that share them are one.
    ``next_review`` is the first day on which it may be brought up, ``expires`` the last one.
    """

    kind: MatterKind
    message: str
    start: int
    end: int
    words: str = ""
    due_from: str = ""
    due_to: str = ""
    precision: Precision = ""
    yearly: str = ""
    sensitivity: Sensitivity = "routine"
    key: str = ""
    next_review: str = ""
    expires: str = ""
    status: MatterStatus = "pending"


@dataclass(frozen=True, slots=True)
class OpenMatter:
    """A stored matter: the columns of ``NewMatter``, with its message, and what became of it.

    ``said`` is when it was said, ``place`` the number of its message. ``asked``: how often it was brought up, last
    ``asked_at``. ``shown``: it was in a prompt as coming up.
    """

    number: int
    kind: MatterKind
    message: str
    place: int
    role: Role
    said: str
    words: str
    due_from: str
    due_to: str
    precision: Precision
    yearly: str
    sensitivity: Sensitivity
    key: str
    next_review: str
    expires: str
    status: MatterStatus
    asked: int
    asked_at: str
    shown: bool

    @property
    def is_open(self) -> bool:
        """Whether it may still be brought up."""
        return self.status in OPEN
