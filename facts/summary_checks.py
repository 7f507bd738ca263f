"""Summaries and chapters checked against their messages: their values, what has changed since, and what is vital.

A sentence with a name, number, date or dose that is in no message and follows from none gives way to the words of the
message that says it best, as a quotation, or is removed if no message is near enough. A sentence of the diary names its
messages, and is removed at once. Neither is ever a source of anything itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property

from domain.facts import Fact
from domain.patterns import pattern_of
from domain.records import Message
from facts.evidence import Source, TextFigures, find_agreements, is_named_in, telling_terms, telling_terms_of_value
from facts.figures import DATE_ASIDE, Figures, wrong_figure
from facts.slots import Names, normalize_text
from language.numbers import find_numbers
from language.references import begins_with_pronoun
from language.scripts import Language
from language.sentences import split_sentences
from language.times import read_times, without_times
from language.words import names_in

_QUOTED: Mapping[Language, str] = {"en": "{}, {}: “{}”", "zh": "{}（{}）：“{}”"}
_NOW: Mapping[Language, str] = {"en": "Since {}: {}", "zh": "{} 起：{}"}
_DATED: Mapping[Language, str] = {"en": "{}: {}", "zh": "{}：{}"}
_OVER: Mapping[Language, str] = {"en": "{} (until {})", "zh": "{}（至 {}）"}
_DOSE = pattern_of(r"(\d+(?:[.,]\d+)?)\s?(mcg|μg|mg|ml|iu|units?\b|g\b|微克|毫克|毫升|单位|片|粒|克)")
_UNITS = {
    "微克": "mcg", "μg": "mcg", "毫克": "mg", "毫升": "ml", "单位": "unit", "units": "unit", "iu": "unit", "克": "g",
    "粒": "片",
}  # fmt: skip
#: Where a sentence that fails is taken apart.
_SEMICOLON = pattern_of(r"(?<=[;；])\s*")
#: How often the two talked, which no message says.
_COUNTED_TALKS = pattern_of(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten) (?:conversations|sessions|talks|chats|evenings|times)\b"
    r"|[两二三四五六七八九十几]次(?:对话|谈话|聊天|会话|交谈)|[两二三四五六七八九十几]个晚上",
    re.IGNORECASE,
)
#: What a summary says of a text, or as somebody's words.
_OF_A_TEXT = pattern_of(
    r"\b(?:e-?mails?|mails?|letters?|messages?|texts?|texted|files?|code|posts?|articles?|documents?|poems?|lyrics|story|stories"
    r"|past(?:ed|es)|forward\w*|quot\w+|shar(?:ed|es)|says?|said|tells?|told|writes?|wrote|suggest\w*|recommend\w*|advi[sc]e\w*"
    r"|ask(?:s|ed)|learn(?:s|ed)|explain\w*|promis\w+|joke[sd]?|discuss\w*|talk(?:s|ed))\b"
    r"|邮件|信|短信|消息|文件|代码|帖子|文章|文档|诗|歌词|故事|转发|粘贴|引用|分享|说|写|问|告诉|建议|推荐|解释|答应|开玩笑|聊|讨论"
)
_ASKED = pattern_of(r"\basked\b|问")
_MARKUP = " -*•#\t"
_ANY_DAY = date(2000, 1, 1)


class SummarySources:
    """The messages that a summary rests on; hidden ones and those of the demo model are none."""

    def __init__(self, messages: Iterable[Message], names: Names, speakers: Mapping[str, str]) -> None:
        """``speakers`` are the names by role."""
        messages = [*messages]
        self._all = [
            Source(one, place, in_window=True, barred=False, agrees=agrees, confirmed=True)
            for place, (one, agrees) in enumerate(zip(messages, find_agreements(messages), strict=True))
            if not one.hidden and not one.demo
        ]
        self._names = names
        self._speakers = speakers

    def check_text(self, text: str, language: Language, title: str | None = None) -> str:
        """The text with what no message says replaced or removed; ``title`` replaces a first line that fails."""
        given = text.splitlines()
        lines = [self._check_line(line, language) for line in given]
        if title is not None and lines and lines[0] != given[0]:
            lines[0] = title
        return "\n".join(line for line, was in zip(lines, given, strict=True) if line or not was.strip()).strip()

    def supports(self, sentence: str, text_ids: Collection[str]) -> bool:
        """Whether a sentence has no name, number or date of its own, and a telling word of one of these messages.

        One that says that somebody asked needs a question there, whose words it may put otherwise.
        """
        own = [one for one in self._all if one.message.text_id in text_ids]
        said = frozenset(term for one in own for part in one.sentences for term in part.terms)
        asks = any(one.questions for one in own) and _ASKED.search(sentence)
        return self._is_supported(sentence) and bool(asks or said & telling_terms(sentence))

    def _check_line(self, line: str, language: Language) -> str:
        sentences = split_sentences(line)
        parts = [part for one in sentences for part in ([one] if self._is_supported(one) else _SEMICOLON.split(one))]
        checked = [one if self._is_supported(one) else self._quote_instead(one, language) for one in parts]
        if checked == list(sentences):
            return line
        text = ("" if language == "zh" else " ").join(dict.fromkeys(filter(None, checked)))
        item = line[: len(line) - len(line.lstrip(_MARKUP))]
        return text if not text or text.startswith(item) else item + text

    def _is_supported(self, sentence: str) -> bool:
        wrong = wrong_figure(_COUNTED_TALKS.sub(" ", sentence), self._figures) or self._is_foreign(sentence)
        return not wrong and self._knows_rest(sentence)

    def _is_foreign(self, sentence: str) -> bool:
        """Whether a sentence has most of its words only from what somebody pasted or quoted.

        One about the person has them from the person. Where it says that it is about a text, or who said it, it may.
        """
        plain = sentence.lstrip(_MARKUP).casefold()
        called = (*self._names.person, self._speakers["user"])
        of_person = begins_with_pronoun(sentence) or any(name.casefold() in plain for name in called)
        wanted = telling_terms(sentence) - telling_terms(" ".join(called))
        own = self._terms_of_person if of_person else self._own_terms
        foreign = wanted & self._terms - own
        return 2 * len(foreign) > len(wanted & self._terms) and not _OF_A_TEXT.search(plain)

    def _knows_rest(self, sentence: str) -> bool:
        """Whether the messages have the doses and names of a sentence."""
        return set(_doses_in(sentence)) <= self._doses and all(
            self._knows_name(name) for name in names_in(sentence.lstrip(_MARKUP), opening=False)
        )

    def _knows_name(self, name: str) -> bool:
        plain = normalize_text(name)
        own = (*self._names.person, *self._names.companion, *self._speakers.values())
        texts = [self._plain, *map(normalize_text, own)]
        return any(is_named_in(one, text) for one in {plain, plain.removesuffix("s")} for text in texts)  # two Toms

    def _quote_instead(self, sentence: str, language: Language) -> str:
        """The sentence of a message that shares most with this one, if it is half of it or more; else "".

        Where only a number or date is wrong, which may have been worked out, a quarter is enough.
        """
        if self._is_supported(plain := DATE_ASIDE.sub("", sentence)):
            return plain  # a date that was only added costs only itself
        own = telling_terms(" ".join((*self._names.person, *self._names.companion, *self._speakers.values())))
        terms = telling_terms(without_times(sentence, read_times(sentence, _ANY_DAY))) - own
        wanted = frozenset(term for term in terms if not find_numbers(term))
        scored = ((len(wanted & one.terms), source, one.text) for source in self._all for one in source.sentences)
        score, source, words = max(scored, key=lambda one: one[0], default=(0, None, ""))
        enough = 2 * score >= len(wanted) or (score > 1 and 4 * score >= len(wanted) and self._knows_rest(sentence))
        if source is None or not score or not enough:
            return ""
        speaker = source.message.speaker or self._speakers[source.message.role]
        return _QUOTED[language].format(speaker, source.message.timestamp[:10], words)

    @cached_property
    def _figures(self) -> Figures:
        years = {one.said.year for one in self._all}
        born = {year for one in self._all for year in one.figures.years_of_birth}
        ages = (str(year - birth) for year in years for birth in born)
        derived = " ".join(dict.fromkeys((*(one.said.isoformat() for one in self._all), *ages)))
        return Figures((TextFigures(derived, _ANY_DAY), *(one.figures for one in self._all)))

    @cached_property
    def _terms(self) -> frozenset[str]:
        """The terms of all that was written, whoever's words they are."""
        return frozenset().union(*(telling_terms(one.message.words) for one in self._all))

    @cached_property
    def _own_terms(self) -> frozenset[str]:
        return frozenset().union(*(telling_terms(one.text) for one in self._all))

    @cached_property
    def _terms_of_person(self) -> frozenset[str]:
        """The terms of what others than the companion said, and of what the person agreed to."""
        agreed = {one.place - 1 for one in self._all if one.is_agreement}
        own = (one for one in self._all if one.spoken_by_person or one.message.speaker or one.place in agreed)
        return frozenset().union(*(telling_terms(one.text) for one in own))

    @cached_property
    def _doses(self) -> frozenset[tuple[str, str]]:
        return frozenset(dose for one in self._all for dose in _doses_in(one.text))

    @cached_property
    def _plain(self) -> str:
        spoken = (name for one in self._all for name in (one.message.speaker, one.text) if name)
        return normalize_text("\n".join(spoken))


def _doses_in(text: str) -> Iterator[tuple[str, str]]:
    for found in _DOSE.finditer(text.casefold()):
        yield found[1].replace(",", "."), _UNITS.get(found[2], found[2])


def with_current_values(text: str, facts: Iterable[Fact], language: Language) -> str:
    """The text with a line for each value in it that was replaced since and whose present value it does not have."""
    known = {one.text_id: one for one in facts}
    added = dict.fromkeys(
        _NOW[language].format(now.since[:10], now.restatement)
        for old in known.values()
        if old.replaced_by and (now := _newest(old, known)) and _has(text, old) and not _has(text, now)
    )
    return "\n".join([text, *added])


def _newest(old: Fact, known: Mapping[str, Fact]) -> Fact | None:
    """The verified fact that holds in the place of another."""
    seen = {old.text_id}
    now = known.get(old.replaced_by)
    while now and not now.current and now.replaced_by and now.text_id not in seen:
        seen.add(now.text_id)
        now = known.get(now.replaced_by)
    return now if now and now.current and now.basis == "verified" and old.basis == "verified" else None


def with_vital(text: str, vital: Sequence[Fact], language: Language) -> str:
    """The text with a dated line for each vital fact that it does not have."""
    return "\n".join([text, *(vital_line(one, language) for one in vital if not _has(text, one))])


def vital_line(fact: Fact, language: Language) -> str:
    """A fact as a dated line: its statement, or if it is only quoted its words."""
    if fact.basis == "verified":
        said = _OVER[language].format(fact.restatement, fact.until[:10]) if fact.until else fact.restatement
    else:
        said = " ".join(f"“{one.words}”" for one in fact.quotes)
    day = fact.said if fact.slot.attribute == "promise" else fact.start or fact.said
    return _DATED[language].format(day[:10], said)


def _has(text: str, fact: Fact) -> bool:
    """Whether a text has the value of a fact; of one without telling words its statement."""
    wanted = telling_terms_of_value(fact.value) or telling_terms(fact.restatement)
    return wanted <= telling_terms(text) and find_numbers(fact.value) <= find_numbers(text)
