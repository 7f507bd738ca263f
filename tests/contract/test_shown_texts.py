"""What the program wrote itself is shown under the names that were corrected later; what is stored stays as it is."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from domain.facts import Change, LineEvidence, PersonaDraft
from domain.records import Persona
from storage.facts import Facts, Renaming
from storage.shown import renamed_outside_quotes
from tests.contract.stores import Store, Teller, at
from tests.contract.test_corrected_names import fact_of
from tests.contract.test_knowing import learned

#: Of each language: a wrong name, the right one, and a text with a place for the name.
NAMES = [
    ("Katja", "Katya", "Ann's sister {} marries in May. “Poor {}!” said Ann. Friend: Katjana."),
    ("林晓", "林筱", "安的姐姐{}五月结婚。安说：“{}真不容易！”朋友是大林。"),
]
#: Wrong, right, a text in which {} is the name, and what stays as it is in it.
TOLD_APART = [
    ("王阳", "王洋", "{}来了，在国王阳台喝茶。「王阳好」，‘王阳’。"),
    ("Katja", "Katya", "{} met Mary-Katja, O'Katja and Katja-Lee at the Smiths' house."),
    ("Will", "Wil", "Will you come? Ann asked {}, and {}'s son. ‘Will it be?’"),
    ("May", "Mae", "Ann's sister {} marries in May."),
    ("Annette", "Annika", "{}'s car: ‘Don’t, Annette’s is gone.’ {}’s son said 'Annette's, the boys' and Annette.'"),
    ("Annette", "Annika", "“Not “Annette” now, Annette,” said {}. Don't, {}! “Annette left"),
    ("林晓", "林筱", "他说『林晓走了』，她说'林晓'，{}走了。安说「林晓：『林晓』」，姐姐{}笑了。"),
]
#: What is quoted in any form; @ is the wrong name.
QUOTED = ["“@!”", '"@?"', "「@」", "『@』", "‘@’", "'@'", "<blockquote>@</blockquote>", "‘It’s @’s’", "“a “@” @”"]


class Life:
    """A session that was saved with a wrong name in all that the program wrote; the next session corrects it."""

    def __init__(self, store: Store, teller: Teller, wrong: str, right: str, text: str) -> None:
        self.store, self.teller, self.wrong, self.right = store, teller, wrong, right
        self.text, self.corrected = text.format(wrong, wrong), text.format(right, wrong)
        self.first = teller.say("s1", f"My sister is {wrong}.")
        sister = fact_of("sister", self.first, "sibling", f"Ann's sister is {wrong}.", wrong)
        window = learned([self.first], sister)
        noted = replace(window, notes=tuple(replace(one, text=self.text, topic=wrong) for one in window.notes))
        assert store.at(at(5)).fact_log.learn(noted)
        lines = (self.line(self.text), self.line(f"Pinned: {wrong}."))
        persona = PersonaDraft(f"{self.text}\nBy hand: {wrong}.\nPinned: {wrong}.", lines)
        store.personas.write("user", f"By hand: {wrong}.", "hand")
        store.personas.pin("user", f"Pinned: {wrong}.")
        store.opening("s2").rounds.save("s1", teller.summary(self.text), {"user": persona})
        assert store.chapters.put_page("s1", [self.first.user.text_id, self.first.assistant.text_id], [(self.text, [])])
        self.later = teller.say("s2", f"She is {right}, not {wrong}.")

    def line(self, text: str) -> LineEvidence:
        return LineEvidence(text, (self.first.user.text_id,), "2026-03-01", 5)

    def correct(self) -> str:
        right = fact_of("right", self.later, "sibling", f"Ann's sister is {self.right}, not {self.wrong}.", self.right)
        change = Change("sister", "corrects", right.said, "right")
        assert self.store.at(at(9)).fact_log.learn(learned([self.later], right, changes=[change]))
        return self.later.assistant.text_id

    def shown(self) -> list[str]:
        """The summary by its session and by the number of it, the page, the note and the persona as they are shown."""
        shown = self.store.of.shown
        number = self.store.sessions.number_of("s1")
        summary = shown.summary("s1")
        assert summary is not None
        assert number is not None
        assert [one for one in shown.all_summaries() if one.session_id == "s1"] == [summary]
        ((page, _),) = shown.pages()[0].sentences
        (note,) = shown.notes("s1")
        assert shown.layers("s1")[1] == summary
        return [summary.summary, shown.summaries_of([number])[number].summary, page, note.text]

    def layers(self) -> dict[Persona, PersonaDraft]:
        return self.store.of.shown.layers("s1")[0]

    def stored(self) -> list[str]:
        summary = self.store.summaries.of("s1")
        assert summary is not None
        ((page, _),) = self.store.chapters.pages()[0].sentences
        return [summary.summary, page, self.store.notes.of_session("s1")[0].text, self.store.personas.read("user")]


@pytest.fixture(params=NAMES, ids=["en", "zh"])
def life(request: pytest.FixtureRequest, store: Store, teller: Teller) -> Life:
    return Life(store, teller, *request.param)


def test_what_the_program_wrote_is_shown_under_a_name_that_was_corrected_later_but_for_quotations(life: Life) -> None:
    before = life.stored()
    assert life.shown() == [life.text] * 4
    life.correct()
    assert life.shown() == [life.corrected] * 4
    assert life.stored() == before


@pytest.mark.parametrize(("wrong", "right", "text"), TOLD_APART)
def test_other_words_and_other_names_and_what_is_quoted_stay_as_they_are(
    store: Store, teller: Teller, wrong: str, right: str, text: str
) -> None:
    life = Life(store, teller, wrong, right, text.replace("{}", wrong))
    life.correct()
    corrected = text.replace("{}", right)
    assert life.shown() == [corrected] * 4
    assert life.layers()["user"].text.splitlines()[0] == corrected


@pytest.mark.parametrize(("wrong", "right", "text"), [*NAMES, *TOLD_APART])
def test_names_and_quotations_in_any_order_are_told_apart(wrong: str, right: str, text: str) -> None:
    called = "姐姐{}。" if wrong > "z" else "Ann's sister {}."
    rest, order = [text.replace("{}", "Tom"), *QUOTED], random.Random(3)
    names = [Renaming(wrong, right, "2026-03-01", 1)]
    for _ in range(200):
        parts = order.choices([*rest, called], k=order.randrange(1, 9))
        whole = "\n".join(part.replace("@", wrong) for part in parts)
        assert renamed_outside_quotes(whole.replace("{}", wrong), names) == whole.replace("{}", right)


def test_a_longer_name_of_somebody_known_is_another_name(store: Store, teller: Teller) -> None:
    life = Life(store, teller, "王阳", "王洋", "王阳来了。王阳明走了。王阳辛苦了。")
    life.correct()
    assert life.shown()[0] == "王洋来了。王洋明走了。王洋辛苦了。"
    spoken = teller.say("s2", "王阳明是朋友。")
    other = fact_of("other", spoken, "friend", "王阳明是朋友。", "朋友", subject="王阳明")
    assert store.at(at(10)).fact_log.learn(learned([spoken], other))
    assert life.shown()[0] == "王洋来了。王阳明走了。王洋辛苦了。"


def test_a_prompt_reads_the_corrected_names_once(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    life.correct()
    read: list[Facts] = []
    find = Facts.corrected_names
    # Facts are read under the right names by themselves.
    monkeypatch.setattr(Facts, "with_numbers", lambda *_: [])
    monkeypatch.setattr(Facts, "corrected_names", lambda facts: read.append(facts) or find(facts))
    personas, summary = life.store.of.shown.layers("s1")
    assert len(read) == 1
    assert summary
    assert (summary.summary, personas["user"].text.splitlines()[0]) == (life.corrected, life.corrected)


def test_a_text_is_as_it_was_when_the_correction_is_taken_back(life: Life) -> None:
    window = life.correct()
    assert life.shown() == [life.corrected] * 4
    life.store.fact_log.unlearn_windows([window])
    assert life.shown() == [life.text] * 4


def test_what_was_written_after_the_correction_may_be_about_somebody_of_that_name(life: Life) -> None:
    life.correct()
    life.store.opening("s3").rounds.save("s2", life.teller.summary(life.text), {})
    summary = life.store.of.shown.summary("s2")
    assert summary is not None
    assert summary.summary == life.text


def test_a_line_that_a_person_wrote_or_pinned_is_shown_as_it_is(life: Life) -> None:
    life.correct()
    shown, (text, by_hand, pinned) = life.layers()["user"], life.store.personas.read("user").split("\n")
    assert shown.text.split("\n") == [life.corrected, by_hand, pinned]
    evidence = {one.line: one.messages for one in shown.lines}
    assert life.later.user.text_id in evidence[life.corrected], "it rests on the correction, too"
    assert text == life.text


def test_a_chapter_is_shown_under_the_right_name(life: Life) -> None:
    store, teller = life.store, life.teller
    store.opening("s3").rounds.save("s2", teller.summary("of s2"), {})
    members = store.chapters.ungrouped(1)
    assert store.at(at(20)).naming("c1").chapters.add(1, members, life.text)
    life.correct()
    assert [one.text for one in store.of.shown.chapters()] == [life.corrected]
    assert [one.text for one in store.chapters.all()] == [life.text]


def test_a_note_for_a_client_is_shown_under_the_right_name(life: Life) -> None:
    life.correct()
    stored = life.store.clients.memories()
    shown = {one.number: one.summary for one in life.store.of.shown.client_notes(stored)}
    assert {one.summary.replace(life.text, life.corrected): one.number for one in stored} == {
        summary: number for number, summary in shown.items()
    }
    assert life.corrected in shown.values()
