"""How a line of a WhatsApp chat begins, in whatever language: date, time of day, sender."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from histories.clocks import CLOCK, ODD_SPACES, time_of_day

_DATE = r"(?P<a>\d{1,4})(?P<part>[./-]) ?(?P<b>\d{1,2})[./-] ?(?P<c>\d{1,4})"
_IN_BRACKETS = re.compile(rf"\[{_DATE}\.?,? {CLOCK}\] ?(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_BEFORE_DASH = re.compile(rf"{_DATE}\.?,? {CLOCK} [-–] (?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_INVISIBLE = "\u200e\u200f\ufeff\u202a\u202c"
_QUOTES = re.compile(r"[\"“”„«»]")
#: A name is not longer than this; what is longer before a colon is a sentence of the program.
_LONGEST_NAME = 60
_OFTEN = 2
#: The line with which a chat begins, and what stands for a picture, in English and in other languages.
_ENGLISH = re.compile("end-to-end encrypted|<Media omitted>")
_OTHERS = re.compile(
    "cifrad|chiffr|verschlüsselt|crittograf|criptograf|şifrele|шифр|versleuteld|szyfrowan|terenkripsi"
    "|<Multimedia omitido>|<Médias omis>|<Medien ausgeschlossen>|<Mídia oculta>|<Media omessi>"
)
_WORDS_OF_NAME = 2


@dataclass(frozen=True)
class Head:
    """The beginning of a message: its date as it stands there, in the order of its fields, and its time of day."""

    date: tuple[int, int, int]
    separator: str
    clock: tuple[int, int, int]
    #: How the mark for morning or evening is written, empty without one.
    mark: str
    padded: bool
    long_year: bool
    rest: str
    written: str


def head_of(line: str) -> Head | None:
    """How a line begins, if it begins a message."""
    line = line.lstrip(_INVISIBLE)
    if not line[:1].isdigit() and not line.startswith("["):
        return None
    pattern = _IN_BRACKETS if line.startswith("[") else _BEFORE_DASH
    given = pattern.fullmatch(line.translate(ODD_SPACES))
    if given is None:
        return None
    date = (int(given["a"]), int(given["b"]), int(given["c"]))
    clock = time_of_day(given.groupdict())
    return Head(
        date,
        given["part"],
        clock,
        given["after"] or given["before"] or "",
        any(given[name].startswith("0") for name in ("a", "b")),
        len(given["c"]) == 4,
        line[given.start("rest") :],
        "{}-{}-{} {:02}:{:02}".format(*date, *clock[:2]),
    )


class Dates:
    """Finds out in which order the dates of a chat name day, month and year."""

    def __init__(self) -> None:
        self._first: Head | None = None
        self._english: bool | None = None
        self._over_twelve = [0, 0]
        self._inverted = {"dmy": 0, "mdy": 0}
        self._last: tuple[int, int, int] | None = None

    def see(self, head: Head) -> None:
        """One more date."""
        self._first = self._first or head
        if self._english is None:
            self._english = _is_english(head.rest)
        for place in (0, 1):
            self._over_twelve[place] += head.date[place] > 12
        if self._last is not None and head.date != self._last:
            for order, count in self._inverted.items():
                self._inverted[order] = count + (_sortable(head.date, order) < _sortable(self._last, order))
        self._last = head.date

    @property
    def example(self) -> str:
        """A date of the chat as it stands there."""
        return self._first.separator.join(map(str, self._first.date)) if self._first else ""

    def order(self, day_first: bool | None) -> str | None:
        """``ymd``, ``dmy`` or ``mdy``; None where it cannot be told and was not said."""
        head = self._first
        if head is None or head.date[0] > 31:
            return "ymd"
        over = self._over_twelve
        if over[0] != over[1] and not all(over):
            return "dmy" if over[0] else "mdy"
        if self._inverted["dmy"] != self._inverted["mdy"]:
            return min(self._inverted, key=lambda order: self._inverted[order])
        if day_first is not None:
            return "dmy" if day_first else "mdy"
        return _by_custom(head, self._english)


def _sortable(date: tuple[int, int, int], order: str) -> tuple[int, int, int]:
    fields = dict(zip(order, date, strict=True))
    return fields["y"], fields["m"], fields["d"]


def _is_english(rest: str) -> bool | None:
    """Whether the telephone spoke English, as far as a line of the program's own says."""
    return True if _ENGLISH.search(rest[:200]) else False if _OTHERS.search(rest[:200]) else None


def _by_custom(head: Head, english: bool | None) -> str | None:
    """What the way of writing tells: only Americans put the month first, and they use slashes and no zeros."""
    if head.separator != "/" or head.padded or head.mark.islower() or english is False:
        return "dmy"
    return "mdy" if not head.long_year and (english or head.mark.isupper()) else None


def senders_of(rests: Iterable[str]) -> frozenset[str]:
    """Everybody who speaks, from what stands behind the heads of all lines.

    A name may hold a colon: where all that seems to be said by one begins alike up to another colon, that is the name.
    """
    spaced: Counter[str] = Counter()
    tight: dict[str, list[str]] = {}
    longer: dict[str, Counter[str]] = {}
    for rest in rests:
        plain = rest.lstrip(_INVISIBLE)
        first, colon, others = plain.partition(": ")
        if colon and _may_be_name(first):
            spaced[first] += 1
            second, more, _ = others.partition(": ")
            longer.setdefault(first, Counter())[f"{first}: {second}" if more else ""] += 1
        name, tight_colon, after = plain.partition(":")
        if tight_colon and _may_be_name(name) and not after.startswith((" ", "//")):
            tight.setdefault(name, []).append(first if colon else "")
    names = {
        _whole_name(name, count, longer[name]) for name, count in spaced.items() if not _is_deed(name, spaced)
    }
    return frozenset(names | {name for name, before in tight.items() if name in spaced or _is_tight(before)})


def _is_tight(before: list[str]) -> bool:
    """Whether a name stands there without a space behind its colon, and is not the half of one with a colon in it."""
    return len(before) >= _OFTEN and (len(set(before)) > 1 or not before[0])


def _whole_name(name: str, count: int, longer: Counter[str]) -> str:
    (most, often) = longer.most_common(1)[0]
    return most if most and often == count >= _OFTEN and len(most) <= _LONGEST_NAME else name


def _is_deed(name: str, spoken: Counter[str]) -> bool:
    """Whether it is what somebody did ("Ann changed the subject to"), and no name."""
    return name.count(" ") > _WORDS_OF_NAME and any(
        name.startswith(f"{one} ") for one in spoken if one != name
    )


def _may_be_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and "\n" not in name and not _QUOTES.search(name)


def parted(rest: str, senders: frozenset[str]) -> tuple[str, str] | None:
    """Sender and words; None for a line of the program's own. Without known senders, the first colon counts."""
    plain = rest.lstrip(_INVISIBLE)
    for at in (found.start() for found in re.finditer(":", plain[: _LONGEST_NAME + 2])):
        if plain[:at] in senders:
            return plain[:at], plain[at + 1 :].removeprefix(" ")
    if senders:
        return None
    first, colon, words = plain.partition(": ")
    return (first, words) if colon and _may_be_name(first) else None
