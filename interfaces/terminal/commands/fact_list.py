"""``/facts``: what is known now, by matter; what is past, and what took its place; what a model only concluded; the
facts that hold certain words. What is unverified is shown as the words themselves.

Promises: in a terminal a list fits one screen and says how much more there is; without a terminal it is whole.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate

from domain.facts import About, Fact, FactEvent
from domain.patterns import pattern_of
from domain.records import PERSONAS
from domain.text import one_line
from facts.by_hand import corrected_fact
from interfaces.recollections import describe_fact
from interfaces.terminal.command_context import Choice, CommandContext
from interfaces.terminal.commands.memory_view import show_excerpt, speaker_name
from interfaces.terminal.screen import Meaning, cells_of, make_excerpt
from interfaces.terminal.session_view import day_here, format_local

#: What may be said behind the number of a fact; anything else is how it is put right.
_WRONG, _RIGHT, _KEEP = "wrong", "right", "keep"
_NUMBER = pattern_of(r"[#＃]?(\d{1,12})")
#: Rows of a screen that a list leaves free.
_ROWS_LEFT = 6
_NO_LIMIT = 1_000_000
#: Longer than any fact is.
_LONGEST = 2_000
_ROWS_OF_MESSAGE = 3
#: Columns at the end of a row that a word may leave empty.
_WIDEST_WORD = 10
#: How important a note is, in a word: from so many of ten.
_IMPORTANCE = ((8, "high"), (4, "middle"), (0, "low"))


def run_facts(context: CommandContext, argument: str) -> None:
    """``/facts [all|past|inferred|WORDS|ID [wrong|right|keep|TEXT]]``."""
    words = argument.split()
    named = _NUMBER.fullmatch(words[0]) if words else None
    match [word.lower() for word in words]:
        case [] | ["all"]:
            _show_current(context, whole=bool(words))
        case ["past"] | ["past", "all"]:
            _show_past(context, whole=len(words) > 1)
        case ["inferred"]:
            _show_inferred(context)
        case _ if named:
            _show_one(context, int(named[1]), " ".join(words[1:]))
        case _:
            _show_with_words(context, argument.strip())


def fact_choices(context: CommandContext, words: tuple[str, ...]) -> list[str | Choice]:
    """What may follow ``/facts``: the number of a fact, with what it says, and what can be done with one."""
    if words:
        return [_WRONG, _RIGHT, _KEEP] if len(words) == 1 and _NUMBER.fullmatch(words[0]) else []
    current = context.memory.facts.all(current=True)
    return ["past", "inferred", "all", *(Choice(str(fact.number), fact.believed) for fact in reversed(current))]


# -- one


def _show_one(context: CommandContext, number: int, wish: str) -> None:
    """One fact, or what is to become of it; a number that is none may be a word that facts hold."""
    fact = context.memory.facts.find(number)
    if fact is None:
        if wish or not _show_with_words(context, str(number), report_nothing=False):
            context.tell("facts.unknown", "warning", number=number)
    elif not wish:
        _show_details(context, fact)
    elif wish.lower() == _WRONG:
        _mark_wrong(context, fact)
    elif wish.lower() == _RIGHT:
        _mark_right(context, fact)
    elif wish.lower() == _KEEP:
        _keep_fact(context, fact)
    else:
        _put_right(context, fact, wish)


# -- what is known now


def _show_current(context: CommandContext, *, whole: bool) -> None:
    """The current facts: the person first, then the companion, then other people."""
    known = context.memory.facts.all(current=True)
    inferred = len(context.memory.facts.inferred())
    if not known:
        context.tell("facts.none_now" if context.memory.facts.all(current=False) else "facts.none")
        return
    heads: dict[About, str] = {
        "person": speaker_name(context, "user"),
        "companion": speaker_name(context, "assistant"),
        "other": context.words.say("facts.other_people"),
    }
    groups = [(head, matters) for about, head in heads.items() if (matters := _group_matters(known, about))]
    needs = [1 + sum(1 + _count_rows(context, facts) for facts in matters) for _, matters in groups]
    left = 0
    for (head, matters), room in zip(groups, _share_rows(needs, _rows_available(context, whole)), strict=True):
        left += _show_group(context, head, matters, room - 1)
    context.aside.empty_line()
    context.tell("facts.more" if left else "facts.how", "quiet", count=left)
    if inferred:
        context.tell("facts.inferred_more", "quiet", count=inferred)


def _matter_of(fact: Fact) -> str:
    return fact.subject if fact.about == "other" else fact.topic or fact.attribute


def _group_matters(known: Iterable[Fact], about: About) -> list[list[Fact]]:
    """Facts about the person or the companion by topic, about other people by person: the most important first."""
    matters: dict[str, list[Fact]] = defaultdict(list)
    for fact in known:
        if fact.about == about:
            matters[_matter_of(fact).casefold()].append(fact)

    def rank(facts: list[Fact]) -> tuple[int, int]:
        return max(fact.importance for fact in facts), max(fact.number for fact in facts)

    return sorted(matters.values(), key=rank, reverse=True)


def _show_group(context: CommandContext, head: str, matters: Sequence[list[Fact]], room: int) -> int:
    """As much of a group as there is room for. Returns how many facts are left out."""
    total = sum(map(len, matters))
    context.aside.one_row(f"{head} · {context.words.count('fact', total)}", "title")
    shown = 0
    for facts in matters:
        if room < 2:
            break
        context.aside.one_row(f" {_matter_of(facts[0])}", "quiet")
        fitting = _take_fitting(context, facts, room - 1)
        for fact in fitting:
            show_row(context, fact)
        shown += len(fitting)
        room -= 1 + _count_rows(context, fitting)
    return total - shown


def _take_fitting(context: CommandContext, facts: Sequence[Fact], room: int) -> Sequence[Fact]:
    """The first facts that fit into so many rows, and one at least."""
    taken = accumulate(_count_rows(context, [fact]) for fact in facts)
    return facts[: max(1, sum(1 for rows in taken if rows <= room))]


def _count_rows(context: CommandContext, facts: Sequence[Fact]) -> int:
    """How many rows facts take at the most: where a text goes on, a row ends between words and is not quite full."""
    width = context.aside.width
    left = [cells_of(_fact_head(context, fact) + _text_of(context, fact)) - (width - 1) for fact in facts]
    following = max(10, width * 3 // 4 - _WIDEST_WORD)
    return sum(1 if cells <= 0 else 2 + (cells + _WIDEST_WORD) // following for cells in left)


def _rows_available(context: CommandContext, whole: bool) -> int:
    """How many rows a list may take."""
    if whole or not context.interactive:
        return _NO_LIMIT
    return max(_ROWS_LEFT, shutil.get_terminal_size().lines - _ROWS_LEFT)


def _share_rows(needs: Sequence[int], room: int) -> list[int]:
    """The rows of each group: what it needs where that is little, else an equal part of the rest.

    >>> _share_rows([3, 40, 9], 20)
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
    past = sorted(context.memory.facts.all(current=False), key=lambda fact: fact.until or fact.seen, reverse=True)
    if not past:
        context.tell("facts.none_past")
        return
    instead = {one.text_id: one for one in context.memory.facts.with_ids([one.replaced_by for one in past])}
    shown = _take_fitting(context, past, _rows_available(context, whole) // 2)
    for fact in shown:
        show_row(context, fact)
        if fact.replaced_by in instead:
            following = instead[fact.replaced_by]
            context.aside.line(
                one_line(_text_of(context, following), _LONGEST), "quiet", lead=f"        → {following.number} · "
            )
    context.aside.empty_line()
    left = len(past) - len(shown)
    context.tell("facts.more_past" if left else "facts.how", "quiet", count=left)


# -- what is only concluded


def _show_inferred(context: CommandContext) -> None:
    """What a model concluded from what was said, the latest first."""
    inferred = context.memory.facts.inferred()
    if not inferred:
        context.tell("facts.inferred_none")
        return
    context.tell("facts.inferred", "title")
    for fact in reversed(inferred):
        show_row(context, fact)
    context.aside.empty_line()
    context.tell("facts.inferred_how", "quiet")
    if context.interactive:
        answer = context.reader.ask_question(context.words.say("facts.inferred_ask") + " ")
        for fact in inferred:
            if str(fact.number) == (answer or "").strip():
                _reject(context, fact)


# -- words


def _show_with_words(context: CommandContext, query: str, *, report_nothing: bool = True) -> bool:
    """The facts with these words in any of their forms, what holds now first. Returns whether there are any."""
    found = sorted(context.memory.facts_with(query), key=lambda one: not one[0].current)
    if not found and report_nothing:
        context.tell("facts.none_with", query=query)
    fitting = _take_fitting(context, [fact for fact, _ in found], _rows_available(context, whole=False))
    shown = found[: len(fitting)]
    for fact, words in shown:
        show_row(context, fact, [*words, *query.split()])
    if len(found) > len(shown):
        context.tell("facts.more_with", "quiet", count=len(found) - len(shown))
    return bool(found)


# -- a row


def show_row(context: CommandContext, fact: Fact, marked: Sequence[str] = ()) -> None:
    """One fact: its number, since when, how sure it is, and what it says; what is long goes on in the next row."""
    look: Meaning = "quiet" if not fact.current else "warning" if fact.doubtful_since else "words"
    text = one_line(_text_of(context, fact), _LONGEST)
    spans = make_excerpt(text, marked, _NO_LIMIT, plain=context.aside.plain) if marked else [(text, (look,))]
    context.aside.excerpt(_fact_head(context, fact), lambda cells: spans, look)


def _text_of(context: CommandContext, fact: Fact) -> str:
    names = {"user": speaker_name(context, "user"), "assistant": speaker_name(context, "assistant")}
    return describe_fact(context.words, fact, names)


def _fact_head(context: CommandContext, fact: Fact) -> str:
    """The columns in front of the text: the number, the days, and what is to be known before a fact is believed."""
    say = context.words.say
    since_until = day_here(fact.holds_since) if fact.holds_since else ""
    if fact.until and not fact.corrected:
        since_until = f"{since_until} – {day_here(fact.until)}".lstrip()
    labels = [say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" and fact.verified else []
    labels += _certainty(context, fact) + ([say("facts.label_kept")] if fact.kept else [])
    return f"{fact.number:>5} · {since_until} · {''.join(f'[{label}] ' for label in labels)}"


def _certainty(context: CommandContext, fact: Fact) -> list[str]:
    wrong = [context.words.say("why.became.untrue")] if fact.corrected else []
    if not fact.doubtful_since:
        return wrong
    return [*wrong, context.words.say("why.became.doubtful_since", day=day_here(fact.doubtful_since))]


# -- one fact in detail


def _show_details(context: CommandContext, fact: Fact) -> None:
    """What it says, since when, its note, the words it rests on, what happened to it, and its relations."""
    context.aside.line(one_line(_text_of(context, fact), _LONGEST), "title", lead=f"{fact.number} · ")
    if fact.basis == "quoted":
        context.tell("facts.reading", "quiet", text=one_line(fact.restatement, _LONGEST), number=fact.number)
    context.aside.line(one_line(" · ".join(_list_details(context, fact)), _LONGEST), "quiet")
    for note in context.memory.shown.notes(fact.session_id):
        if note.text_id == fact.note:
            important = next(name for least, name in _IMPORTANCE if note.importance >= least)
            about = [*filter(None, [note.topic]), context.words.say(f"facts.importance.{important}")]
            context.tell("facts.note", text=note.text, about=context.words.join(about))
    context.tell("facts.evidence", "title")
    for message in context.memory.messages.with_ids(fact.messages):
        who = message.speaker or speaker_name(context, message.role)
        context.aside.line(f"  {format_local(message.timestamp)} · {who}", "quiet")
        marked = [fact.value, *fact.entities, *fact.persons]
        show_excerpt(context, "    ", message.words, marked, rows=_ROWS_OF_MESSAGE)
    context.tell("facts.history", "title")
    for event in context.memory.facts.events_of(fact.text_id):
        context.aside.line(one_line(_describe_event(context, event), _LONGEST), lead="  ")
    relations = [one for one in context.memory.relations.all(current=False) if one.fact.number == fact.number]
    if relations:
        context.tell("facts.relations", "title")
    for one in relations:
        context.aside.line(one_line(f"{one.source} — {one.relation} → {one.target}", _LONGEST), lead="  ")
    context.aside.empty_line()
    context.tell("facts.how_one", "quiet", number=fact.number)


def _list_details(context: CommandContext, fact: Fact) -> list[str]:
    """About whom, what matter, from when until when, and how sure it is."""
    say = context.words.say
    about = {"person": speaker_name(context, "user"), "companion": speaker_name(context, "assistant")}
    matter = [about.get(fact.about, fact.subject), fact.topic or fact.attribute]
    parts = [*dict.fromkeys(part for part in matter if part), say(f"facts.stance.{fact.stance}")]
    parts += [say("facts.since", day=day_here(fact.holds_since))] if fact.holds_since else []
    parts += [say("facts.until", day=day_here(fact.until))] if fact.until else []
    parts += _certainty(context, fact)
    parts += [say("facts.by_hand")] if fact.decided == "hand" else []
    return parts + ([say("facts.label_kept")] if fact.kept else [])


def _describe_event(context: CommandContext, event: FactEvent) -> str:
    """One thing that happened to a fact, and which fact did it."""
    row = f"{day_here(event.when)} · {context.words.say(f'facts.event.{event.kind}')}"
    by = context.memory.facts.with_ids([event.by]) if event.by else []
    return row + "".join(f" · {one.number} · {_text_of(context, one)}" for one in by)


# -- deciding


def _mark_wrong(context: CommandContext, fact: Fact) -> None:
    """``/facts ID wrong``: it never was."""
    if fact.corrected:
        context.tell("facts.is_wrong", text=fact.restatement)
    elif not context.confirm("facts.wrong_ask", text=fact.restatement):
        context.tell("unchanged")
    else:
        _reject(context, fact)


def _reject(context: CommandContext, fact: Fact) -> None:
    context.conversation.undoing.correct_fact(fact.text_id, None)
    context.tell("facts.wrong_done", text=fact.restatement)
    context.tell("facts.take_back", "quiet", number=fact.number, text=fact.restatement)
    _tell_personas(context, fact)


def _mark_right(context: CommandContext, fact: Fact) -> None:
    """``/facts ID right``: what was only quoted or concluded is so."""
    if fact.corrected:
        context.tell("facts.is_wrong", text=fact.restatement)
    elif fact.verified:
        context.tell("facts.is_verified", number=fact.number, text=fact.restatement)
    else:
        context.conversation.undoing.verify_fact(fact.text_id)
        context.tell("facts.right_done", text=fact.restatement)
        context.tell("facts.undo", "quiet")


def _keep_fact(context: CommandContext, fact: Fact) -> None:
    """``/facts ID keep``: it still holds and is kept, or not any more; what is past is not."""
    if not fact.current and not fact.kept:
        _tell_past(context, fact)
        return
    context.conversation.undoing.keep_fact(fact.text_id, not fact.kept)
    key = "facts.let_go" if fact.kept else "facts.kept"
    context.tell(key, number=fact.number, text=fact.restatement)
    context.tell("facts.undo", "quiet")


def _put_right(context: CommandContext, fact: Fact, text: str) -> None:
    """``/facts ID TEXT``: this is so instead, whatever a model says of it later."""
    if fact.until and not fact.corrected:
        _tell_past(context, fact)
        return
    if text == fact.restatement and not fact.corrected:
        context.tell("unchanged")
        return
    new = corrected_fact(fact, text, context.memory.fact_log.new_id())
    context.conversation.undoing.correct_fact(fact.text_id, new)
    (made,) = context.memory.facts.with_ids([new.text_id])
    context.aside.line(one_line(fact.restatement, _LONGEST), "removed", lead="- ")
    context.aside.line(text, "added", lead="+ ")
    context.tell("facts.put_right", number=made.number)
    context.tell("facts.take_back", "quiet", number=made.number, text=fact.restatement)
    _tell_personas(context, fact)


def _tell_past(context: CommandContext, fact: Fact) -> None:
    if fact.corrected:
        context.tell("facts.is_wrong", "warning", text=fact.restatement)
    else:
        context.tell("facts.is_past", "warning", number=fact.number, day=day_here(fact.until))


def _tell_personas(context: CommandContext, fact: Fact) -> None:
    """Lines of a persona that may still say what a fact said: personas are the person's own to change."""
    for persona in PERSONAS:
        rests = {
            one.line for one in context.memory.personas.line_evidence(persona) if {*one.messages} & {*fact.messages}
        }
        lines = context.memory.personas.read(persona).splitlines()
        for line in (one for one in lines if fact.value and fact.value in one and one in rests):
            context.tell("facts.in_persona", "quiet", persona=persona, line=line)
