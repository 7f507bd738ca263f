"""``/facts``: what is known now, by matter; what is past, and what took its place; the facts that hold certain words.

Promises: in a terminal a list fits one screen and says how much more there is; where nobody reads along it is whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from domain.facts import About, Fact
from domain.text import one_line, pattern_of
from interfaces.terminal.command_context import Choice, CommandContext, Next
from interfaces.terminal.commands.memory_view import speaker
from interfaces.terminal.commands.one_fact import KEEP, LONGEST, WRONG, change_fact, show_fact
from interfaces.terminal.excerpts import excerpt
from interfaces.terminal.session_view import day_here
from interfaces.terminal.style import Meaning, cells_of

_PAST, _ALL = "past", "all"
_NUMBER = pattern_of(r"[#＃]?(\d{1,12})")
#: Rows of a screen that a list leaves to what stands around it.
_ROWS_LEFT = 6
#: What is ever so long a list without a limit has.
_NO_LIMIT = 1_000_000
#: Columns at the end of a row that a word may leave empty.
_WIDEST_WORD = 10


def facts(context: CommandContext, argument: str) -> Next:
    """``/facts [all|past|WORDS|ID [wrong|keep|TEXT]]``"""
    words = argument.split()
    named = _NUMBER.fullmatch(words[0]) if words else None
    if [word.lower() for word in words] in ([], [_ALL]):
        _show_current(context, whole=bool(words))
    elif [word.lower() for word in words] in ([_PAST], [_PAST, _ALL]):
        _show_past(context, whole=len(words) > 1)
    elif named:
        _show_one(context, int(named[1]), " ".join(words[1:]))
    else:
        _show_holding(context, argument.strip())
    return None


def fact_choices(context: CommandContext, words: tuple[str, ...]) -> list[str | Choice]:
    """What may follow ``/facts``: the number of a fact, with what it says, and what can be done with one."""
    if words:
        return [WRONG, KEEP] if len(words) == 1 and _NUMBER.fullmatch(words[0]) else []
    current = context.memory.facts.all(current=True)
    return [_PAST, _ALL, *(Choice(str(fact.number), fact.restatement) for fact in reversed(current))]


# -- one


def _show_one(context: CommandContext, number: int, wish: str) -> None:
    """One fact, or what is to become of it; a number that is none may be a word that facts hold."""
    if fact := context.memory.facts.find(number):
        if wish:
            change_fact(context, fact, wish)
        else:
            show_fact(context, fact)
    elif wish or not _show_holding(context, str(number), told=False):
        context.tell("facts.unknown", "warning", number=number)


# -- what is known now


@dataclass(frozen=True)
class _Matter:
    """What is known of one matter, or of one other person."""

    name: str
    facts: list[Fact] = field(default_factory=list)

    @property
    def rank(self) -> tuple[int, int]:
        """The most important matter stands first; of equal ones the one that was last spoken of."""
        return -max(fact.importance for fact in self.facts), -max(fact.number for fact in self.facts)


def _show_current(context: CommandContext, *, whole: bool) -> None:
    """Everything that holds now, of the person first, then of the companion, then of others."""
    known = context.memory.facts.all(current=True)
    if not known:
        key = "facts.none_now" if context.memory.facts.all(current=False) else "facts.none"
        context.tell(key)
        return
    groups = [(about, matters) for about in _HEADS if (matters := _matters(known, about))]
    needs = [1 + sum(1 + _rows(context, matter.facts) for matter in matters) for _, matters in groups]
    left = 0
    for (about, matters), room in zip(groups, _shares(needs, _room(context, whole)), strict=True):
        left += _show_group(context, about, matters, room - 1)
    context.aside.gap()
    context.tell("facts.more" if left else "facts.how", "quiet", count=left)


#: Whose facts stand first, and what stands above them.
_HEADS: dict[About, Callable[[CommandContext], str]] = {
    "person": lambda context: speaker(context, "user"),
    "companion": lambda context: speaker(context, "assistant"),
    "other": lambda context: context.words.say("facts.others"),
}


def _matters(known: Iterable[Fact], about: About) -> list[_Matter]:
    """What is known about somebody, by topic; about others, by whom."""
    matters: dict[str, _Matter] = {}
    for fact in known:
        if fact.about == about:
            name = fact.subject if about == "other" else fact.topic or fact.attribute
            matters.setdefault(name.casefold(), _Matter(name)).facts.append(fact)
    return sorted(matters.values(), key=lambda matter: matter.rank)


def _show_group(context: CommandContext, about: About, matters: Sequence[_Matter], room: int) -> int:
    """As much of a group as there is room for. Returns how many facts are left out."""
    total = sum(len(matter.facts) for matter in matters)
    count = context.words.count("fact", total)
    context.aside.one_row(f"{_HEADS[about](context)} · {count}", "title")
    shown = 0
    for matter in matters:
        if room < 2:
            break
        context.aside.one_row(f" {matter.name}", "quiet")
        fitting = _fitting(context, matter.facts, room - 1)
        for fact in fitting:
            show_row(context, fact)
        shown += len(fitting)
        room -= 1 + _rows(context, fitting)
    return total - shown


def _fitting(context: CommandContext, facts: Sequence[Fact], room: int) -> Sequence[Fact]:
    """The first facts that fit into so many rows, and one at least."""
    taken = accumulate(_rows(context, [fact]) for fact in facts)
    return facts[: max(1, sum(1 for rows in taken if rows <= room))]


def _rows(context: CommandContext, facts: Sequence[Fact]) -> int:
    """How many rows facts take at the most: where a text goes on, a row ends between words and is not quite full."""
    width = context.aside.width
    left = [cells_of(_head(context, fact) + fact.restatement) - (width - 1) for fact in facts]
    following = max(10, width * 3 // 4 - _WIDEST_WORD)
    return sum(1 if cells <= 0 else 2 + (cells + _WIDEST_WORD) // following for cells in left)


def _room(context: CommandContext, whole: bool) -> int:
    """How many rows a list may take."""
    if whole or not context.interactive:
        return _NO_LIMIT
    return max(_ROWS_LEFT, shutil.get_terminal_size().lines - _ROWS_LEFT)


def _shares(needs: Sequence[int], room: int) -> list[int]:
    """The rows of each group: what it needs where that is little, else an equal part of what is left.

    >>> _shares([3, 40, 9], 20)
    [3, 9, 8]
    """
    shares: dict[int, int] = {}
    for at in sorted(range(len(needs)), key=lambda at: (needs[at], -at)):
        shares[at] = min(needs[at], room // (len(needs) - len(shares)))
        room -= shares[at]
    return [shares[at] for at in range(len(needs))]


# -- what is past


def _show_past(context: CommandContext, *, whole: bool) -> None:
    """What does not hold any more, the latest first, with what took its place."""
    past = sorted(
        context.memory.facts.all(current=False), key=lambda fact: fact.until or fact.seen, reverse=True
    )
    if not past:
        context.tell("facts.none_past")
        return
    instead = {one.text_id: one for one in context.memory.facts.with_ids([one.replaced_by for one in past])}
    shown = _fitting(context, past, _room(context, whole) // 2)
    for fact in shown:
        show_row(context, fact)
        if fact.replaced_by in instead:
            following = instead[fact.replaced_by]
            context.aside.line(_text(following), "quiet", lead=f"        → {following.number}: ")
    context.aside.gap()
    left = len(past) - len(shown)
    context.tell("facts.more_past" if left else "facts.how", "quiet", count=left)


# -- words


def _show_holding(context: CommandContext, query: str, *, told: bool = True) -> bool:
    """The facts that hold these words in any of their forms, what holds now first. Returns whether there are any."""
    found = sorted(context.memory.facts_with(query), key=lambda held: not held[0].current)
    if not found and told:
        context.tell("facts.none_with", query=query)
    fitting = _fitting(context, [fact for fact, _ in found], _room(context, whole=False))
    shown = found[: len(fitting)]
    for fact, words in shown:
        _show_excerpt(context, fact, [*words, *query.split()])
    if len(found) > len(shown):
        context.tell("facts.more_with", "quiet", count=len(found) - len(shown))
    return bool(found)


def _show_excerpt(context: CommandContext, fact: Fact, marked: Sequence[str]) -> None:
    context.aside.excerpt(
        _head(context, fact),
        lambda cells: excerpt(_text(fact), marked, _NO_LIMIT, plain=context.aside.plain),
        _look(fact),
    )


# -- a row


def show_row(context: CommandContext, fact: Fact) -> None:
    """One fact: its number, since when, how sure it is, and what it says; what is long goes on in the next row."""
    look = _look(fact)
    context.aside.excerpt(_head(context, fact), lambda cells: [(_text(fact), (look,))], look)


def _text(fact: Fact) -> str:
    return one_line(fact.restatement, LONGEST)


def _head(context: CommandContext, fact: Fact) -> str:
    """What stands in front of what a fact says."""
    held = day_here(fact.began) if fact.began else ""
    if fact.until and not fact.corrected:
        held = f"{held} – {day_here(fact.until)}".lstrip()
    return f"{fact.number:>5} · {held} · {''.join(f'[{mark}] ' for mark in _marks(context, fact))}"


def _marks(context: CommandContext, fact: Fact) -> list[str]:
    """What is to be known of a fact before it is believed."""
    say = context.words.say
    marks = [say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" else []
    if fact.corrected:
        marks.append(say("facts.mark.wrong"))
    if fact.doubtful_since:
        marks.append(say("facts.mark.doubtful", day=day_here(fact.doubtful_since)))
    return marks + ([say("facts.mark.kept")] if fact.kept else [])


def _look(fact: Fact) -> Meaning:
    if not fact.current:
        return "quiet"
    return "warning" if fact.doubtful_since else "words"
