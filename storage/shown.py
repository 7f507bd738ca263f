"""What the program wrote itself as it is shown: under the names that were corrected after it was written.

What is stored stays as it is: summaries and chapters are made from it, an export copies it, and what was erased is
recognised by it. A quotation stays as it was said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from domain.facts import LineEvidence, Note, PersonaDraft
from domain.patterns import pattern_of
from domain.quotations import quotation_spans
from domain.recollection import ClientNote
from domain.records import PERSONAS, Persona, Summary
from domain.tree import Chapter, Page
from storage.chapters import Chapters
from storage.facts import Facts, Notes, Renaming, under_right_names
from storage.messages import Messages, Summaries
from storage.personas import Personas

#: What is said between quotation marks; a single one is an apostrophe between letters, and often behind an "s".
_QUOTED = pattern_of(
    r"“(?:[^“”]|“[^“”]*”)*”|“[^”\n]*|\"[^\"]*\"|「(?:[^「」]|「[^「」]*」)*」|「[^」\n]*|『[^『』]*』|『[^』\n]*"
    r"|(?:‘|(?<![a-zà-ÿ\d.])'(?=[^\W\d]|[\"“…¿]))"
    r"(?:(?:(?!\s'\w)[^\n‘]){0,600}?(?:(?<!s)['’](?![a-zà-ÿ\d])|['’](?!\s?\w))"
    r"|(?:(?!\s'\w)[^\n‘]){0,600}?['’](?![a-zà-ÿ\d]))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ShownTexts:
    """Reads summaries, chapters, diary pages, notes and personas for whoever shows them, in a prompt or on a screen.

    >>> summaries.of("s1").summary, shown.summary("s1").summary
    ('Katja marries in May.', 'Katya marries in May.')
    """

    facts: Facts
    messages: Messages
    summaries: Summaries
    chapter_tree: Chapters
    stored_notes: Notes
    personas: Personas

    def summary(self, session_id: str) -> Summary | None:
        """The summary of a session, if it has one."""
        found = self.summaries.of(session_id)
        return self._summary(found, self.facts.corrected_names()) if found else None

    def summaries_of(self, sessions: Sequence[int]) -> dict[int, Summary]:
        """The summaries of sessions by number, as ``Summaries.of_sessions`` finds them."""
        found = self.summaries.of_sessions(sessions)
        names = self.facts.corrected_names() if found else ()
        return {number: self._summary(one, names) for number, one in found.items()}

    def all_summaries(self) -> list[Summary]:
        """The summaries of all sessions, in their order."""
        names = self.facts.corrected_names()
        return [self._summary(one, names) for one in self.summaries.all()]

    def chapters(self) -> list[Chapter]:
        """All chapters, the earliest first."""
        found = self.chapter_tree.all()
        names = self.facts.corrected_names() if found else ()
        return [replace(one, text=_corrected(one.text, one.end, names)) for one in found]

    def pages(self) -> list[Page]:
        """The pages of the diary on archived sessions, the earliest first."""
        found = self.chapter_tree.pages()
        names = self.facts.corrected_names() if found else ()
        return [
            replace(one, sentences=tuple((_corrected(line, one.end, names), by) for line, by in one.sentences))
            for one in found
        ]

    def notes(self, session_id: str) -> list[Note]:
        """The notes of a session, in the order in which they were learned."""
        found = self.stored_notes.of_session(session_id)
        names = self.facts.corrected_names() if found else ()
        return [
            replace(
                one, text=_corrected(one.text, one.timestamp, names), topic=_corrected(one.topic, one.timestamp, names)
            )
            for one in found
        ]

    def client_notes(self, notes: Iterable[ClientNote]) -> list[ClientNote]:
        """These notes, as clients read them."""
        found = [*notes]
        names = self.facts.corrected_names() if found else ()
        said = self.stored_notes.times([one.number for one in found]) if names else {}
        return [_client_note(one, said.get(one.number, "~"), names) for one in found]

    def layers(self, session_id: str) -> tuple[dict[Persona, PersonaDraft], Summary | None]:
        """What a prompt begins with, under names that are read once: both personas as they are now, with the evidence
        of their lines, and the summary of a session, if it has one.
        """
        names, summary = self.facts.corrected_names(), self.summaries.of(session_id)
        personas: dict[Persona, PersonaDraft] = {}
        for one in PERSONAS:
            found = PersonaDraft(self.personas.read(one), tuple(self.personas.line_evidence(one)))
            personas[one] = self._draft(found, self.personas.pins(one), names) if names and found.lines else found
        return personas, self._summary(summary, names) if summary else None

    def draft(self, persona: PersonaDraft, pins: Sequence[str]) -> PersonaDraft:
        """A persona with the right names in the lines of the program, which then also rest on the corrections.

        A line that a person wrote or pinned stays as it is.
        """
        names = self.facts.corrected_names() if persona.lines else ()
        return self._draft(persona, pins, names) if names else persona

    def _draft(self, persona: PersonaDraft, pins: Sequence[str], names: Sequence[Renaming]) -> PersonaDraft:
        sources = {one.number: one.messages for one in self.facts.with_numbers([name.by for name in names])}
        written = {one.line.strip(): one for one in persona.lines}
        resting = self.messages.with_ids([message for one in persona.lines for message in one.messages])
        said = {one.text_id: one.timestamp for one in resting}
        fixed = {*map(str.strip, pins)}
        lines = persona.text.splitlines()
        for at, name in product(range(len(lines)), names):
            before = written.get(lines[at].strip())
            # Who is spoken of only after the correction may have that name.
            if before is None or before.line.strip() in fixed or _first_said(before, said) > name.said:
                continue
            text = renamed_outside_quotes(lines[at], [name])
            if text != lines[at]:
                del written[lines[at].strip()]
                messages = tuple(dict.fromkeys((*before.messages, *sources.get(name.by, ()))))
                written[text.strip()] = replace(before, line=text.strip(), messages=messages)
                lines[at] = text
        return replace(persona, text="\n".join(lines), lines=tuple(written.values()))

    def _summary(self, summary: Summary, names: Sequence[Renaming]) -> Summary:
        return replace(summary, summary=_corrected(summary.summary, summary.timestamp, names))


def _client_note(note: ClientNote, said: str, names: Sequence[Renaming]) -> ClientNote:
    points = json.loads(note.key_points or "[]")
    corrected = [_corrected(one, said, names) for one in points]
    new = note.key_points if corrected == points else json.dumps(corrected, ensure_ascii=False)
    return replace(note, summary=_corrected(note.summary, said, names), key_points=new)


def _first_said(line: LineEvidence, said: Mapping[str, str]) -> str:
    return min((said[one] for one in line.messages if one in said), default="~")


def _corrected(text: str, written: str, names: Iterable[Renaming]) -> str:
    """A text under the names that were corrected after it was written."""
    return renamed_outside_quotes(text, [one for one in names if written <= one.said])


def renamed_outside_quotes(text: str, names: Iterable[Renaming]) -> str:
    """A text under the right names but for what it quotes; a name whose right form is in it already stays."""
    for one in names:
        if one.wrong in text:
            text = under_right_names(text, [one], apart=_quotations(text))
    return text


def _quotations(text: str) -> list[tuple[int, int]]:
    return [*quotation_spans(text), *(found.span() for found in _QUOTED.finditer(text))]
