"""The prompts of the background tasks.

Compaction into a summary, extraction, comparison, persona updates, chapters and planned search. The material is fenced
data without quotations, with its dates, numbered where the answer must name it: a small number costs a model nothing
and cannot be misspelt. ``models.replies`` and ``facts`` check what comes back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from domain import text as texts
from domain.facts import Change, Fact, NewFact
from domain.matters import OpenMatter
from domain.quotations import outside_quotations, own_words, without_quotations
from domain.records import PREFIX, Message, Persona, Role, Round
from domain.tree import Member
from language.calendar import UNKNOWN_DATE, date_of, day_in, day_of, weekday_in
from language.scripts import Language, estimate
from language.words import terms
from language.yearly import YearlyDay
from models.chat import PromptMessage
from prompts import TEMPLATES, Material, SearchTask, Templates

if TYPE_CHECKING:
    from facts.persona_lines import QuotedFact, Refusal
    from facts.spans import Testimony

#: The characters of "2026-03-07 17" and "2026-03-07 17:00" before what is said.
_HOUR, _STAMP = 13, 16
#: Characters of what was open before.
_OF_MATTER = 120


@dataclass(frozen=True)
class Changed:
    """A change to a known fact ``by`` a new one, or by a person (None)."""

    change: Change
    known: Fact
    by: Fact | None


@dataclass(frozen=True)
class PersonaTask:
    """The input of a persona update: its lines by number, and the facts 1 to n of a session with what they changed.

    ``fixed`` are the numbers of the lines that cannot change, ``past`` those of lines about what is over, and whether
    all of it is. ``limit`` is in tokens. ``spoken`` are the times of the session's first and last message. ``refused``
    were asked for in vain.
    """

    persona: Persona
    lines: Mapping[int, str]
    facts: Sequence[QuotedFact]
    changes: Sequence[Changed]
    spoken: tuple[str, str]
    limit: int
    fixed: Collection[int] = ()
    past: Mapping[int, bool] = field(default_factory=dict)
    people: Sequence[str] = ()
    refused: Sequence[Refusal] = ()


@dataclass(frozen=True)
class ExtractionTask:
    """What is shown to extract a window: its messages, those around it, the ``people`` known, and what is open."""

    window: Sequence[Message]
    before: Sequence[Message] = ()
    following: Sequence[Message] = ()
    people: Sequence[str] = ()
    matters: Sequence[OpenMatter] = ()


@dataclass(frozen=True)
class Task:
    """The prompts of tasks, in a language, with the names, a boundary and the current time."""

    language: Language
    names: Mapping[str, str]
    boundary: str
    now: datetime

    def compaction_prompt(
        self, summary: str, rounds: Sequence[Round], longest: int, following: Sequence[Round] = ()
    ) -> tuple[PromptMessage, ...]:
        """The prompt to compact rounds into a summary, each message cut to ``longest`` characters.

        ``following`` rounds are only context.
        """
        after = self._round_records(following, longest)
        material = {
            "today": self._today,
            "summary_so_far": self._harmless_text(summary),
            "rounds": self._round_records(rounds, longest),
            **({"next_rounds": after} if after else {}),
        }
        return self._task_prompt(self._templates.fold_task, [material])

    def extraction_prompt(self, shown: ExtractionTask, longest: int) -> tuple[PromptMessage, ...]:
        """The prompt to extract a window, whose messages are numbered from 1; those around it have a dash."""
        numbers = {message.text_id: number for number, message in enumerate(shown.window, 1)}
        records: list[object] = [{"people": [*map(self._harmless_text, shown.people)]}] if shown.people else []
        for one in shown.matters:
            yearly, last = YearlyDay.parse(one.yearly), day_of(shown.window[-1].timestamp)
            near = yearly.nearest(last) if yearly and last else None
            on = near.isoformat() if near else (one.due_from or one.said)[:10]
            words = self._harmless_text(one.words)[:_OF_MATTER]
            records.append(texts.encode_json(f"open {one.number} {one.kind} {on}: {words}"))
        day = ""
        for message in (*shown.before, *shown.window, *shown.following):
            spoken = self._message_record(message, longest)
            if not spoken["text"]:
                continue
            date = f"{spoken['date'][:10]} {spoken.get('weekday', '')}".strip()
            records += [{"date": date}] if date != day else []
            number = numbers.get(message.text_id, "-")
            records.append(texts.encode_json(f"{number} {spoken['speaker']}: {spoken['text']}"))
            day = date
        settled = self._templates.settled.format(**self.names) if shown.matters else ""
        return self._task_prompt(self._templates.notes, records, settled=settled)

    def verification_prompt(self, asked: Sequence[Testimony]) -> tuple[PromptMessage, ...]:
        """The prompt to check statements of one conversation, numbered from 1 in this order.

        Each message is shown once, in the order in which they were said.
        """
        lines = dict(each for one in asked for each in zip(one.places, one.passage, strict=True))
        numbers = {place: number for number, place in enumerate(sorted(lines), 1)}
        records, hour = list[object](), ""
        for place, number in numbers.items():
            line = lines[place]
            # The time stands where it is another hour.
            said = line if line[:_HOUR] != hour else line[_STAMP:].lstrip()
            records.append(texts.encode_json(f"m{number} {self._harmless_text(said)}"))
            hour = line[:_HOUR]
        for number, one in enumerate(asked, 1):
            rests = _ranges_of([numbers[place] for place in one.places])
            stance = "" if one.stance == "stated" else f" ({one.stance})"
            rests += f", open {one.open}" if one.open else ""
            records.append(texts.encode_json(f"{number} m{rests}: {self._harmless_text(one.statement)}{stance}"))
        still_open = self._templates.still_open.format(**self.names) if any(one.open for one in asked) else ""
        return self._task_prompt(self._templates.verify, records, open=still_open)

    def forget_prompt(self, window: Sequence[Message], asked: int, longest: int) -> tuple[PromptMessage, ...]:
        """The prompt to read a forget request: messages numbered from 1, and the number of the one ``asked`` about."""
        numbered = [
            {"turn": number, **self._message_record(message, longest)} for number, message in enumerate(window, 1)
        ]
        return self._task_prompt(self._templates.forget, [*numbered, {"in_question": asked}])

    def comparison_prompt(self, new: Sequence[NewFact], known: Sequence[Fact]) -> tuple[PromptMessage, ...]:
        """The prompt to compare new facts, of which the verified count, with known ones, numbered behind them."""
        verified = ((number, fact) for number, fact in enumerate(new, 1) if fact.basis == "verified")
        shown: list[tuple[str, int, NewFact | Fact]] = [("new", *one) for one in verified]
        shown += (("known", *one) for one in enumerate(known, len(new) + 1))
        records, above = list[object](), {"": ""}
        for kind, number, fact in shown:
            day = {kind: fact.said[:10]}
            records += [day] if day != above else []
            above = day
            beside = [at for at, one in enumerate(known, len(new) + 1) if kind == "new" and one.slot == fact.slot]
            more = [*([f"~{_ranges_of(beside)}"] if beside else []), *self._more_of(fact)]
            said = f"{number} {self._harmless_text(fact.restatement)}"
            records.append(texts.encode_json(f"{said} ({'; '.join(more)})" if more else said))
        return self._task_prompt(self._templates.compare, records)

    def persona_operations(self, about: PersonaTask) -> tuple[PromptMessage, ...]:
        """The prompt to update a persona; what was refused comes last."""
        tasks = self._templates
        filled = {
            "whose": tasks.whose[about.persona].format(**self.names),
            "belongs": tasks.belongs[about.persona].format(**self.names),
            "refused": tasks.refused if about.refused else "",
        }
        head: dict[str, object] = {"today": self._today, "dates_of_the_conversation": self._days_between(about.spoken)}
        head |= {"size": estimate("\n".join(about.lines.values())), "limit": about.limit}
        records: list[Mapping[str, object]] = [
            head,
            *([{"people": [*map(self._harmless_text, about.people)]}] if about.people else []),
            *({"line": number, "text": self._harmless_text(line), **_marks(number, about)}
              for number, line in about.lines.items()),
            *(self._persona_fact(number, one, about.changes) for number, one in enumerate(about.facts, 1)),
            *(self._refused_record(one) for one in about.refused),
        ]  # fmt: skip
        return self._task_prompt(tasks.operations, records, **filled)

    def chapter_prompt(
        self, members: Sequence[Member], material: Material, vital: Sequence[str] = ()
    ) -> tuple[PromptMessage, ...]:
        """The prompt to write a chapter from messages, summaries or chapters; ``vital`` must be in it."""
        records: list[Mapping[str, object]] = [
            {"days": self._days_between((one.start, one.end)), **self._member_record(one, material)} for one in members
        ]
        records += [{"vital": self._harmless_text(one)} for one in vital]
        return self._task_prompt(self._templates.chapter, records, material=self._templates.material[material])

    def diary_prompt(self, messages: Sequence[Message], longest: int) -> tuple[PromptMessage, ...]:
        """The prompt to write a page of the diary: messages numbered from 1, each cut to ``longest`` characters."""
        records = ({"turn": at, **self._message_record(one, longest)} for at, one in enumerate(messages, 1))
        return self._task_prompt(self._templates.diary, [{"today": self._today}, *records])

    def _member_record(self, member: Member, material: Material) -> Mapping[str, str]:
        """A member of a chapter as a record; a message has its speaker."""
        roles: tuple[Role, Role] = ("user", "assistant")
        spoken = (role for role in roles if material == "turns" and member.text.startswith(PREFIX[role]))
        if (role := next(spoken, None)) is None:
            return {"text": self._harmless_text(member.text)}
        speaker = self._harmless_text(member.speaker) or self.names["person" if role == "user" else "companion"]
        words = member.text.removeprefix(PREFIX[role])
        words = outside_quotations(words, "“…”") if role == "assistant" else without_quotations(words)
        return {"speaker": speaker, "text": texts.make_harmless(words, self.boundary)}

    @property
    def _templates(self) -> Templates:
        return TEMPLATES[self.language]

    def _task_prompt(self, template: str, records: Iterable[object], **more: str) -> tuple[PromptMessage, ...]:
        """The instruction, and the records between two marks, one a line; some are JSON already."""
        lines = (one if isinstance(one, str) else texts.encode_json(one) for one in records)
        fenced = "\n".join([self.boundary, *lines, self.boundary])
        return PromptMessage("system", template.format(**self.names, **more)), PromptMessage("user", fenced)

    def _more_of(self, fact: NewFact | Fact) -> Iterator[str]:
        """What the statement of a fact leaves out: the stance, the value that is compared, from and until when."""
        said, value = fact.restatement.casefold(), {*terms(fact.value)}
        if fact.stance != "stated":
            yield fact.stance
        if 2 * len(value.intersection(terms(said))) <= len(value) > 0:
            yield self._harmless_text(fact.value)
        if any(day and day not in said for day in (fact.start, fact.end)):
            yield f"{fact.start} – {fact.end}".strip()

    def _persona_fact(self, number: int, shown: QuotedFact, changes: Sequence[Changed]) -> Mapping[str, object]:
        """A fact of a persona task; one that is not verified only by its words."""
        fact = shown.fact
        verified = fact.basis == "verified"
        said = (
            {"text": self._harmless_text(fact.restatement)}
            if verified
            else {"quote": self._harmless_text(shown.quotation)}
        )
        stance = {"stance": fact.stance} if verified and fact.stance != "stated" else {}
        start = {"date": fact.start} if verified and fact.start else {}
        before = [
            {one.change.verdict: self._harmless_text(one.known.restatement), "when": one.change.when[:10]}
            for one in changes
            if one.by and one.by.text_id == fact.text_id
        ]
        return {
            "fact": number,
            "said": fact.said[:10],
            **start,
            **stance,
            **said,
            **({"known": before} if before else {}),
        }

    def _refused_record(self, one: Refusal) -> Mapping[str, object]:
        asked = one.operation
        given = {"operation": asked.deed, "line": list(asked.lines), "facts": list(asked.facts)}
        words = {"words": [self._harmless_text(word) for word in one.words]} if one.words else {}
        return {
            "refused": {**given, "text": self._harmless_text(asked.text)},
            "reason": self._templates.reasons[one.reason],
            **words,
        }

    @property
    def _today(self) -> str:
        return day_in(self.language, self.now.date())

    def _days_between(self, spoken: tuple[str, str]) -> str:
        days = dict.fromkeys(day for time in spoken if (day := day_of(time)))
        return " – ".join(day_in(self.language, day) for day in days)

    def _harmless_text(self, text: str) -> str:
        return texts.make_harmless(without_quotations(text), self.boundary)

    def _round_records(self, rounds: Sequence[Round], longest: int) -> list[Mapping[str, str]]:
        said = [
            self._message_record(message, longest) for one in rounds for message in one.messages if not message.demo
        ]
        return [one for one in said if one["text"]]

    def _message_record(self, message: Message, longest: int) -> Mapping[str, str]:
        speaker = (
            self._harmless_text(message.speaker) or self.names["person" if message.role == "user" else "companion"]
        )
        own = message.role == "assistant"  # an answer that quotes only is not empty
        words = _shorten_text(outside_quotations(message.words, "“…”") if own else own_words(message), longest)
        day = None if message.undated else day_of(message.timestamp)
        when = {"date": UNKNOWN_DATE if message.undated else date_of(message.timestamp)}
        when |= {"weekday": weekday_in(self.language, day)} if day else {}
        return {**when, "speaker": speaker, "text": texts.make_harmless(words, self.boundary)}

    def search_prompt(
        self, name: SearchTask, question: str, known: Mapping[str, Sequence[str]], records: Sequence[str]
    ) -> tuple[PromptMessage, ...]:
        """The prompt of a planned search: what is ``known`` of a question, without empty parts, then the found records.

        ``records`` are lines of JSON that are already harmless.
        """
        filled = {about: [self._harmless_text(one) for one in listed] for about, listed in known.items() if listed}
        head = {"today": self._today, **filled, "question": self._harmless_text(question)}
        template = self._templates.search_task(name)
        return self._task_prompt(template, [head, *records], unknown=self._templates.unknown)


def _ranges_of(numbers: Iterable[int]) -> str:
    """Numbers in as few characters as possible.

    >>> _ranges_of([3, 4, 5, 9])
    '3-5, 9'
    """
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ", ".join("-".join(map(str, one)) for one in ranges)


def _marks(number: int, about: PersonaTask) -> Mapping[str, object]:
    past = {"past": about.past[number] or "in part"} if number in about.past else {}
    return ({"fixed": True} if number in about.fixed else {}) | past


def _shorten_text(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"
