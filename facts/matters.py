"""What is open: from the drafts of a model to matters with a day, what closes them, and which may come up now.

    check_matters   drafts -> matters: whose words, and the day; the day comes from the words, never the model
    shown_matters   matters and a window -> those of which a model is asked whether the window settles them
    settled_by      its reply -> what became of them, where the words it quotes are the person's own in that message
    settle          matters, what was said, the clock -> what code decides: a refusal, a newer matter, a calendar, the end
    may_be_settled  a matter and what no model has read yet -> whether it is better not brought up

Pure functions over rows and a clock; days are those where the person is. Whether something is meant, ahead and the
person's own is what a model is asked in the calls for a window; what is certain is decided here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from itertools import zip_longest
from typing import get_args

from domain.matters import MAY_BE_OPEN, MatterKind, MatterStatus, NewMatter, OpenMatter, Precision
from domain.patterns import pattern_of
from domain.records import PREFIX, Message
from facts.drafts import FactDraft, SettledDraft
from facts.evidence import Source, SpokenWindow, telling_terms
from facts.openings import after_asking, schedule
from facts.slots import Names
from facts.spans import Testimony, locate_quote, own_words, passage_line
from language.calendar import day_of
from language.sentences import split_sentences
from language.times import TimeExpression, TimeRange, read_times, without_times
from language.yearly import YearlyDay, read_yearly, says_calendar

#: So many are shown with a window at most, none whose day is further ahead than so many days unless it is named.
_MOST_SHOWN, _SHOWN_AHEAD = 6, 30
#: A sentence that names more times than this is no plan.
_MOST_TIMES = 20
#: When on a birthday talk counts as talk about it.
_NOON = 12
#: So many messages a short "don't ask" reaches back, and so many after its own show how a matter goes on.
_REACHES_BACK, _FOLLOWING = 3, 2
#: So many messages that speak of a matter, or are since its day, are put to the question, none longer than this.
_MOST_SPEAKING, _LONGEST_LINE = 6, 600
_YEARLY = ("birthday", "anniversary")
_DATED = ("event", "deadline")
#: What a model writes where nothing is open.
_NOT_OPEN = ("", "no", "none", "null", "false", "无", "否")

#: To bring something up. "Bring your phone", "speak to my brother", 提前 and 提多难 are not.
_RAISE = (
    r"(?:mention(?:ing)?\b|(?:talk|speak)(?:ing)?(?=(?: (?:to|with) (?:me|you))? (?:about|of)\b|\s*(?:[^\w\s]|$))"
    r"|bring(?:ing)?(?=(?: [\w']+){0,4} up\b))"
)
_RAISE_ZH = "(?:提(?!有?多|[前高醒示供交升])|聊|谈)"
#: What asks that something not be brought up; what else its sentence says is what it is about. In this order: an order,
#: what the person does not want, the end of a subject. "I never ask", "they asked" and 别提多难了 are none.
_DO_NOT_ASK = pattern_of(
    r"(?:(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )\b(?:don't|do not|dont|never)|\bstop|\brather you (?:don't|didn't|not)"
    r"|\bno need to|\b(?:don't|do not|needn't|not) (?:need|have) to)(?: (?:ever|even|keep|always))?"
    rf" (?:ask(?:ing)?\b(?: me\b)?|{_RAISE})"
    rf"|\b(?:(?:don't|do not|dont|not) (?:really )?(?:want to|wanna)|rather not) (?:{_RAISE}|be asked)"
    r"|(?:(?:^|[.!?]\s*)|\b(?:let's|let us|please|just|can we|could we) )drop (?:it|that|this|the (?:subject|topic))"
    r"(?=,? ?(?:please|now|for now|ok|okay)?\s*(?:[.!?;…]|$))"
    rf"|(?:别|不要|不用|不必)(?:再|老|总|[跟和][我你])*(?:问|{_RAISE_ZH})(?:起|了)*"
    rf"|不(?:太|大)?(?:想|愿意?)(?:再|[跟和][我你])*(?:被问|{_RAISE_ZH})(?:起|了)*",
    re.IGNORECASE,
)
#: What points back to what was spoken of, or says nothing of its own.
_IT = pattern_of(
    r"\b(?:please|it|that|this|again|any ?more|i'd|up)\b|[这那](?:个|件|些)?事?情?|它|以后|请|求你|好吗", re.IGNORECASE
)
#: Between the first and the last day of what takes several: "from the 16th to the 19th".
_UNTIL = pattern_of(r"\s*(?:-|–|—|~|to|till?|until|through|到|至)\s*(?:the\s+)?", re.IGNORECASE)
#: An expression that means a time before.
_LAST = pattern_of(r"last|past|上", re.IGNORECASE)
#: Words that are in many matters and tell none of them from another.
_COMMON_WORDS = """
    afraid ask birthday anniversary call due finish first get good hand name need new next promise start still take think
    time day week month year today tomorrow tonight morning evening worry
    生日 纪念日 担心 害怕 告诉 下次 答应 截止 之前 开始 第一 一天 今天 明天 上午 下午 晚上 知道
    """


# -- from drafts to matters


def check_matters(
    drafts: Iterable[FactDraft], window: Sequence[Message], before: Sequence[Message], names: Names
) -> tuple[tuple[NewMatter, ...], Counter[str]]:
    """The drafts that may be open matters by the words they rest on, and how many cannot be, by reason.

    Whether their words mean it is still to be asked; see ``passage_of``.
    """
    spoken = SpokenWindow(window, before, names)
    found: list[NewMatter] = []
    rejected: Counter[str] = Counter()
    for draft in drafts:
        if draft.open.rstrip("!") in _NOT_OPEN:
            continue
        matter = _check(draft, spoken) if draft.open.rstrip("!") in get_args(MatterKind) else "kind"
        if isinstance(matter, str):
            rejected[f"open: {matter}"] += 1
        elif not any(_is_repeated(matter, one) for one in found):
            found.append(matter)
    return tuple(found), rejected


def _is_repeated(one: NewMatter, other: NewMatter) -> bool:
    """Whether two matters of one message are the same: of two days there are two, each with its own words."""
    if one.message != other.message or (one.kind != other.kind and one.kind in _YEARLY):
        return False
    same_day = (one.due_from, one.yearly) == (other.due_from, other.yearly)
    return one.key == other.key or (same_day and _shares(_key(one), _key(other)))


def _check(draft: FactDraft, spoken: SpokenWindow) -> NewMatter | str:
    """The matter of a draft, or why it is none."""
    handles = [*(quote.message for quote in draft.quotes or () if quote.message), *draft.messages]
    sources = [one for one in spoken.find_named(handles[:1]) if not one.message.speaker]
    if not sources:
        return "no turn"
    (source,) = sources
    place = locate_quote(next((quote.words for quote in draft.quotes or ()), ""), [source.message], draft.restatement)
    if source.barred or source.message.hidden:
        return "forgotten"
    own = source.spoken_by_person
    quoted = source.text[place.start : place.end] if own and place else place.words if place else ""
    if place is None or 2 * len(telling_terms(quoted)) < len(telling_terms(place.words)):
        return "quoted text"
    kind: MatterKind = draft.open.rstrip("!")  # type: ignore[assignment]
    if own:
        within = [one for one in source.sentences if one.span[0] < place.end and place.start < one.span[1]]
    else:
        within = [one for one in source.sentences if one.text in quoted or quoted in one.text]
    if not within or (not own and kind != "promise"):
        return "companion's words"
    start, end = (within[0].span[0], within[-1].span[1]) if own else (place.start, place.end)
    words = source.text[start:end] if own else place.words
    terms = _key_terms(quoted, source.said) or (() if kind in _YEARLY else _key_terms(words, source.said))
    matter = NewMatter(kind, place.message, start, end, source.message.words[start:end], key=" ".join(terms) or kind,
                       sensitivity="care" if draft.open.endswith("!") else "routine")  # fmt: skip
    said = datetime.fromisoformat(source.message.timestamp)
    if kind in _YEARLY:
        day = read_yearly(quoted, said.date()) or read_yearly(words, said.date())
        return schedule(replace(matter, yearly=day.text), said, own) if day else "date"
    due = _due(quoted, said)
    if kind == "worry":  # "this month" is since when
        due = due if due and due[0] > said.date().isoformat() else None
    elif due is None:
        due = _due(words, said) or (_due(_other_words(source, words), said) if kind in _DATED else None)
    return schedule(replace(matter, due_from=due[0], due_to=due[1], precision=due[2]) if due else matter, said, own)


def _other_words(source: Source, words: str) -> str:
    """The rest of a message, which may name the day: "Big day on Friday. It's my driving test."."""
    return " ".join(one.text for one in source.sentences if one.text not in words)


def _due(text: str, said: datetime) -> tuple[str, str, Precision] | None:
    """The first time at or after it was said that some words name; None if there is none."""
    found = read_times(text, said.date())[:_MOST_TIMES]
    for one, then in zip_longest(found, found[1:]):
        if one.recurrence or not (ahead := _ahead(one, text, said.date())):
            continue
        if then and _UNTIL.fullmatch(text, one.end, then.start):
            ahead = replace(ahead, last=_end(then, text, ahead))
        at = next((each.hours for each in found if each.hours and each.hours[0] == each.hours[1]), None)
        if ahead.days == 1 and at:
            moment = datetime.combine(ahead.first, at[0]).isoformat(timespec="minutes")
            return moment, moment, "time"
        precisions: tuple[tuple[int, Precision], ...] = ((3, "day"), (8, "week"), (31, "month"))
        precision: Precision = next((name for most, name in precisions if ahead.days <= most), "year")
        return ahead.first.isoformat(), ahead.last.isoformat(), precision
    return None


def day_ahead(text: str, now: datetime) -> str:
    """The day from today on that a text names, as 2026-12-01; "" for none.

    >>> day_ahead("next Friday", datetime(2026, 11, 25)), day_ahead("soon", datetime(2026, 11, 25))
    ('2026-11-27', '')
    """
    due = _due(text, now)
    return due[0][:10] if due and due[0][:10] >= now.date().isoformat() else ""


def _ahead(one: TimeExpression, text: str, said: date) -> TimeRange | None:
    """The first range that an expression may mean and that is not over."""
    if one.kind in ("vague", "recurrence", "clock", "ago") or (one.meant is None and one.kind != "weekday"):
        return None
    if one.meant and ((one.meant.last < said and len(one.possible) < 2) or _LAST.match(text, one.start)):
        return None
    if one.meant and one.meant.first < said == one.meant.last:  # "the last few days"
        return None
    if one.meant and not one.meant.yearly and one.meant.last >= said:
        # "Next Wednesday" may be the one after: until both are past, it is open.
        later = max((each.last for each in one.possible), default=one.meant.last)
        return replace(one.meant, last=later) if one.kind == "weekday" else one.meant
    ranges = [each for each in (one.meant, *one.possible) if each and not each.yearly and each.last >= said]
    return min(ranges, key=lambda each: each.first, default=None)


def _end(last: TimeExpression, text: str, first: TimeRange) -> date:
    """The last day of what begins on a first one: of a weekday the next from there on."""
    if last.kind == "weekday" and last.possible:
        return first.first + timedelta((last.possible[0].first - first.first).days % 7)
    end = _ahead(last, text, first.first)
    return end.last if end else first.last


def _key_terms(text: str, said: date) -> tuple[str, ...]:
    """The telling words of a sentence, without times and what many matters have in common."""
    plain = re.sub("不?是", " ", without_times(text, read_times(text, said)))
    return tuple(sorted(telling_terms(plain) - _common_terms()))


@cache
def _common_terms() -> frozenset[str]:
    return telling_terms(_COMMON_WORDS)


def passage_of(matter: NewMatter | OpenMatter, messages: Sequence[Message], called: Mapping[str, str]) -> Testimony:
    """What a reader needs to judge whether a matter is open: its message, the next ones, those that speak of it, and the
    first since its day, if it has one, which may say how it went without naming it.

    ``messages``: those of its session, from before its window on; ``called``: names by role.
    """
    at = next(place for place, one in enumerate(messages) if one.text_id == matter.message)
    ahead = [place for place, one in enumerate(messages) if at <= place and not one.hidden]
    own = [(place, messages[place]) for place in ahead if messages[place].role == "user"]
    spoken = [place for place, one in own if _speaks_of(matter, one.words)]
    since = [place for place, one in own if matter.due_from and not matter.yearly and _is_since(matter, one)]
    shown = sorted({
        *(place for place in ahead if place <= at + _FOLLOWING), *spoken[-_MOST_SPEAKING:], *since[:_MOST_SPEAKING]
    })  # fmt: skip
    whole = {place: messages[place].words for place in shown}
    words = {place: one if len(one) <= _LONGEST_LINE else f"{one[:_LONGEST_LINE]} […]" for place, one in whole.items()}
    if at in whole and len(whole[at]) > _LONGEST_LINE:
        words[at] = f"[…] {matter.words} […]"
    lines = tuple(passage_line(messages[place], words[place], called) for place in shown)
    return Testimony(lines, matter.words, "stated", tuple(shown), open=matter.kind)


# -- what later talk does to them


def shown_matters(matters: Iterable[OpenMatter], window: Sequence[Message]) -> list[OpenMatter]:
    """The matters from before the end of a window that it may settle: what it names first, then the nearest.

    One of which no model has said yet whether it is open may be among them.
    """
    spoken = [one for one in window if one.role == "user"]
    day = day_of(spoken[-1].timestamp) if spoken else None
    terms = _terms(" ".join(one.words for one in spoken))

    def rank(one: OpenMatter) -> tuple[bool, int]:
        assert day
        named = bool(terms & _key(one))
        return not named, abs((date.fromisoformat((one.due_from or one.said)[:10]) - day).days)

    found = (
        (rank(one), one.number, one)
        for one in matters
        if day and one.status in MAY_BE_OPEN and one.place < window[-1].seq and one.expires >= day.isoformat()
    )
    near = (row for row in found if not row[0][0] or (row[2].kind not in _YEARLY and row[0][1] <= _SHOWN_AHEAD))
    return [row[-1] for row in sorted(near)[:_MOST_SHOWN]]


def settled_by(
    drafts: Iterable[SettledDraft], shown: Iterable[OpenMatter], window: Sequence[Message]
) -> dict[int, MatterStatus]:
    """What became of matters that were ``shown`` with a window, by a quote that the person's own words in it contain.

    Whether those words settle the matter is the model's answer. A refusal counts before any other answer.
    """
    matters, found = {one.number: one for one in shown}, dict[int, MatterStatus]()
    for draft in drafts:
        matter, messages = matters.get(draft.number), window[draft.message - 1 : draft.message]
        if not matter or draft.message < 1 or not messages or messages[0].seq <= matter.place or not draft.words:
            continue
        place = locate_quote(
            draft.words, [replace(messages[0], text=PREFIX["user"] + _own(messages[0]))], loosely=False
        )
        if place and (draft.how in ("drop", "off") or matter.kind not in _YEARLY):
            ended: MatterStatus = "answered" if matter.asked and matter.kind not in _YEARLY else "closed"
            if found.get(matter.number) != "dropped":
                found[matter.number] = "dropped" if draft.how == "drop" else ended
    return found


def spoken_of(matters: Iterable[OpenMatter], said: Sequence[Message]) -> dict[int, MatterStatus]:
    """The matters that were spoken of where no model was shown them: closed, since nothing tells how they are.

    The interviewer is not the interview.
    """
    spoken = [(one.seq, words, _terms(words)) for one in said if (words := _own(one))]
    named = (
        one
        for one in matters
        if one.is_open and not one.yearly and any(
            seq > one.place
            and _shares(_key(one), terms, whole=True)
            and _shares(_key(one), _terms(_without_doers(words, one)), whole=True)
            for seq, words, terms in spoken
        )
    )  # fmt: skip
    return {one.number: "closed" for one in named}


def _without_doers(words: str, matter: OpenMatter) -> str:
    """Words without who does what a matter is called by, unless the matter is about them."""
    called = "|".join(map(re.escape, _key(matter)))
    doers = re.compile(rf"\b(?:{called})\w*?[eo]rs?\b|(?:{called})[官员师者]", re.IGNORECASE)
    return words if doers.search(matter.words) else doers.sub(" ", words)


def may_be_settled(matter: OpenMatter, unread: Iterable[Message]) -> bool:
    """Whether what the person said since, which no model has read yet, may be about a matter.

    It may if it shares a telling word with it, or was said since its day, or since it was asked about.
    """
    later = [one for one in unread if one.seq > matter.place and one.role == "user" and not matter.yearly]
    return any(
        (matter.due_from and _is_since(matter, one))
        or (matter.asked_at and datetime.fromisoformat(one.timestamp) >= datetime.fromisoformat(matter.asked_at))
        or _speaks_of(matter, one.words)
        for one in later
    )


def settle(matters: Sequence[OpenMatter], said: Sequence[Message], now: datetime) -> list[OpenMatter]:
    """What became of matters by what code alone decides; only those that change.

    ``matters`` are in the order in which they were said, ``said`` messages in theirs, none of which need be new. What is
    closed already is only dropped still.
    """
    found: list[OpenMatter] = []
    rows = [one for one in said if not one.hidden]
    gone = [one for one in matters if one.status == "dropped"]
    refusals = [at for at, one in enumerate(rows) if _DO_NOT_ASK.search(_plain(_own(one)))]
    for matter in matters:
        may_be_open = matter.status in MAY_BE_OPEN
        again = may_be_open and any(_is_same(matter, one, whole=True) for one in gone if one.place <= matter.place)
        if matter.status == "dropped":
            continue
        if again or any(_is_refused(matter, rows, at) for at in refusals):
            found.append(replace(matter, status="dropped"))
            gone.append(matter)
        elif may_be_open:
            status: MatterStatus = "expired" if matter.expires < now.date().isoformat() else matter.status
            status = "closed" if any(_replaces(one, matter) for one in matters) else status
            yearly, review = _calendar_said(matter, rows), _review_after_talk(matter, rows)
            found.append(replace(matter, status=status, yearly=yearly, next_review=review))
    return [one for one in found if one not in matters]


def _replaces(one: OpenMatter, older: OpenMatter) -> bool:
    """Whether a matter takes the place of an older one: the same again, or another day for the same birthday."""
    if one.place <= older.place or one.status == "unverified":
        return False
    if older.kind in _YEARLY:
        words, before = set(one.key.split()), set(older.key.split())
        return one.kind == older.kind and one.yearly != older.yearly and (words <= before or before <= words)
    return one.kind in (older.kind, *_DATED) and one.role in (older.role, "user") and _is_same(older, one)


def _review_after_talk(matter: OpenMatter, rows: Sequence[Message]) -> str:
    """From when a matter may come up: a birthday on which, or after which, there was talk, not before the next."""
    yearly, review = YearlyDay.parse(matter.yearly), matter.next_review
    if yearly is None or yearly.calendar == "unclear":
        return review
    for row in rows:
        when = datetime.fromisoformat(row.timestamp)
        on = yearly.nearest(when.date()) if row.role == "user" and row.seq > matter.place else None
        if on and (on < when.date() or (on == when.date() and when.hour >= _NOON)):
            review = max(review, after_asking(matter, when))
    return review


def _is_refused(matter: OpenMatter, rows: Sequence[Message], at: int) -> bool:
    """Whether a message asks not to be asked about a matter: by naming it, or soon after it was spoken of."""
    near = any(
        row.text_id == matter.message
        or (
            row.seq > matter.place
            and _shares(_key(matter), _terms(_own(row) or row.words), whole=row.role != "user" or bool(row.speaker))
        )
        for row in rows[max(0, at - _REACHES_BACK) : at + 1]
    )
    # A refusal in its own sentence a model has seen, with what it refuses.
    words, start = _own(rows[at]), rows[at].words.find(matter.words)
    if rows[at].text_id == matter.message and start >= 0:
        words = f"{words[:start]} {words[start + len(matter.words) :]}"
    return rows[at].seq >= matter.place and refuses(words, matter, near=near)


def refuses(text: str, matter: OpenMatter, *, near: bool = True) -> bool:
    """Whether a text asks that a matter not be brought up: it names it, or names nothing and ``near`` talk is of it.

    What is pasted into the text asks for nothing.
    """
    for sentence in split_sentences(_plain(own_words(text))):
        if _DO_NOT_ASK.search(sentence):
            about = _terms(_IT.sub(" ", _DO_NOT_ASK.sub(" ", sentence)))
            if _shares(_key(matter), about) or (near and not about):
                return True
    return False


def _own(message: Message) -> str:
    """What the person says in a message, with blanks for what is pasted; "" if another said it or it is hidden."""
    return "" if message.role != "user" or message.speaker or message.hidden else own_words(message.words)


def _plain(words: str) -> str:
    return words.replace("’", "'")


def _calendar_said(matter: OpenMatter, rows: Sequence[Message]) -> str:
    """The day of every year of a matter, once the person has said which calendar it is of."""
    yearly = YearlyDay.parse(matter.yearly)
    if yearly is None or yearly.calendar != "unclear":
        return matter.yearly
    for row in rows:
        asked = matter.asked_at and row.timestamp >= matter.asked_at
        near = row.seq > matter.place and (asked or _shares(_key(matter), _terms(_own(row))))
        if near and (named := says_calendar(_own(row))):
            return replace(yearly, calendar=named).text
    return matter.yearly


def _is_since(matter: NewMatter | OpenMatter, said: Message) -> bool:
    """Whether something was said when the day, or the time, of a matter had come."""
    return said.timestamp[: len(matter.due_from)] >= matter.due_from


def _speaks_of(matter: NewMatter | OpenMatter, words: str) -> bool:
    """Whether words share a telling word with a matter."""
    return bool(_key(matter) & _terms(words))


def _key(matter: NewMatter | OpenMatter) -> frozenset[str]:
    return _roots(matter.key.split())


def _terms(words: str) -> frozenset[str]:
    return _roots(telling_terms(words))


def _roots(terms: Iterable[str]) -> frozenset[str]:
    """Terms by their first letters, so that the librarian is of the library."""
    return frozenset(one[:6] if one.isascii() else one for one in terms)


def _shares(key: frozenset[str], terms: frozenset[str], *, whole: bool = False) -> bool:
    """Whether words speak of a matter: they have two of its telling words, or a third of them.

    ``whole``: one shared word is enough only where either has no other.
    """
    shared = len(key & terms)
    enough = shared == min(len(key), len(terms)) if whole else 3 * shared >= len(key)
    return shared >= 2 or (shared > 0 and enough)


def _is_same(one: OpenMatter, other: OpenMatter, *, whole: bool = False) -> bool:
    if one.kind in _YEARLY and one.yearly != other.yearly:
        return False
    return _shares(_key(one), _key(other), whole=whole)
