"""What is known beside what was said: facts that answer, and what became of what a recalled turn says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.facts import Change, Learned, NewFact, NewNote, Slot, Window
from domain.languages import estimate
from domain.recollection import FactMark
from facts.asking import slots_asked
from llm import Layers, assemble
from memory import Memory
from recall.embedding import HashedEmbedder
from recall.finder import Finder
from tests.recall.test_finder import LIMITS, LOG, NOW, StoredLife

JOB = Slot("person", "employer")
WEATHER = [(f"The fog over the northern moor was grey on day {at}.", "It will lift.") for at in range(30)]


class KnowingLife(StoredLife):
    """A stored life in which facts are learned."""

    def __init__(self, folder):
        super().__init__(folder)
        self.finder = Finder(self.store, self.vectors, self.store, LOG, slots_asked=slots_asked)

    def learn(self, session_id, *facts, changes=()):
        turns = tuple(turn.text_id for turn in self.store.unread(session_id))
        notes = tuple(NewNote(one.note, one.restatement, "", 5, "active", one.turns) for one in facts)
        window = Window(turns[-1], session_id, turns)
        assert self.store.learn(Learned(window, notes, facts, changes=tuple(changes)), NOW.isoformat())


def fact(name, turn, restatement, slot=JOB, **given):
    usual = {
        "text_id": name, "note": f"note of {name}", "restatement": restatement, "subject": "Ann",
        "attribute": slot.attribute, "value": name, "slot": slot, "single": True, "about": "person",
        "stance": "stated", "said": "", "turns": (turn,),
    }  # fmt: skip
    return NewFact(**usual | given)


@pytest.fixture
def life(tmp_path):
    lived = KnowingLife(tmp_path)
    lived.live("weather", WEATHER, NOW - timedelta(days=300))
    yield lived
    lived.store.close()


def employed(life, session_id="job", days=200, where="Acme", **given):
    """A session in which Ann says where she works, in words that no question has, and the fact drawn from it."""
    life.live(session_id, [(f"They took me on at {where}!", "Congratulations.")], NOW - timedelta(days=days))
    changes = given.pop("changes", ())
    said = fact(f"of {where}", f"{session_id}-0u", f"Ann works at {where}.", **given)
    life.learn(session_id, said, changes=changes)


def told(recalled):
    return [one.text for one in recalled.facts]


def marks(recalled, text_id):
    return [one.marks for one in recalled.turns if one.text_id == text_id]


@pytest.mark.parametrize(
    "question", ["Where do I work?", "我在哪里上班？", "我的公司叫什么？", "Who is my employer?"]
)
def test_a_question_finds_the_fact_of_the_slot_it_asks_for_in_either_language(life, question):
    employed(life)
    recalled = life.recall(question, embed=None)
    assert told(recalled) == ["Ann works at Acme."] or "job-0u" in recalled.ranked


@pytest.mark.parametrize("question", ["Where do I work?", "我在哪里上班？"])
def test_what_is_known_is_told_though_no_turn_is_like_the_question(life, question):
    employed(life)
    recalled = life.recall(question, embed=None, limits=replace(LIMITS, turns=0))
    assert told(recalled) == ["Ann works at Acme."]
    assert recalled


def test_a_fact_is_found_by_its_own_words(life):
    employed(life, slot=Slot("zoe", "matter"), single=False)
    recalled = life.recall("Is Ann with Acme?", embed=None, limits=replace(LIMITS, turns=0))
    assert told(recalled) == ["Ann works at Acme."]


def test_what_a_turn_says_that_is_handed_over_is_not_said_twice(life):
    employed(life)
    recalled = life.recall("Did they take me on at Acme, where do I work?", gated=False)
    assert "job-0u" in recalled.ranked
    assert not told(recalled)


def test_the_newer_value_is_told_and_the_turn_that_said_the_older_one_says_when_it_changed(life):
    employed(life)
    employed(life, "job2", 100, "Zenith")
    recalled = life.recall("Did they take me on at Acme, where do I work?", gated=False)
    assert told(recalled) == ["Ann works at Zenith."]
    day = (NOW - timedelta(days=100)).isoformat()
    assert marks(recalled, "job-0u") == [(FactMark("changed", day, "Ann works at Zenith."),)]
    assert marks(recalled, "job2-0u") in ([()], [])


def test_of_a_value_that_changed_twice_the_last_is_told(life):
    for number, where in enumerate(("Acme", "Zenith", "Orbit")):
        employed(life, f"job{number}", 200 - number, where)
    recalled = life.recall("Did they take me on at Acme?", gated=False)
    ((mark,),) = marks(recalled, "job0-0u")
    assert (mark.became, mark.text) == ("changed", "Ann works at Orbit.")


@pytest.mark.parametrize(
    ("verdict", "became"),
    [("ends", "until"), ("corrects", "untrue"), ("doubts", "doubtful_since")],
)
def test_a_recalled_turn_tells_what_became_of_it(life, verdict, became):
    employed(life)
    life.live("news", [("Something happened to it.", "Oh.")], NOW - timedelta(days=50))
    when = "2026-10-01"
    life.learn("news", changes=[Change("of Acme", verdict, when)])
    recalled = life.recall("Did they take me on at Acme?", gated=False)
    ((mark,),) = marks(recalled, "job-0u")
    assert mark.became == became
    assert mark.when == ("" if became == "untrue" else when)
    asked = life.recall("Where do I work?", embed=None, limits=replace(LIMITS, turns=0))
    assert [one.doubtful_since for one in asked.facts] == ([when] if became == "doubtful_since" else [])


def test_what_a_person_called_wrong_and_then_right_again_is_not_told_as_corrected(life):
    employed(life)
    for again in (None, fact("again", "job-0u", "Ann works at Acme.")):
        assert life.store.put_right("of Acme", again, NOW.isoformat())
    assert marks(life.recall("Who took me on at Acme?", embed=None, gated=False), "job-0u") == [()]


def test_what_was_not_stated_is_told_with_how_it_was_said(life):
    employed(life, stance="planned")
    (known,) = life.recall("Where do I work?", embed=None, limits=replace(LIMITS, turns=0)).facts
    assert known.stance == "planned"


def test_what_is_known_from_a_withheld_turn_is_not_told(life):
    employed(life)
    life.store.withhold(["job-0u"])
    assert not life.recall("Where do I work?", embed=None).facts


def test_what_stands_in_the_context_is_not_said_again(life):
    employed(life)
    seqs = [turn.seq for turn in life.store.turns_of("job")]
    for hidden in ({"session_id": "job"}, {"session_id": "job", "hidden": seqs}):
        assert not life.recall("Where do I work?", embed=None, **hidden).facts


@pytest.mark.parametrize("tokens", [400, 1000, 2000])
def test_facts_and_marks_stay_inside_the_budget(life, tokens):
    for number in range(30):
        session_id = f"harbour{number}"
        life.live(
            session_id,
            [(f"The harbour of town {number} is deep.", "Is it?")],
            NOW - timedelta(days=200 - number),
        )
        about = f"The harbour of town {number} was called deep by Ann, who had been there. " + "Indeed. " * 9
        one = fact(
            f"f{number}", f"{session_id}-0u", about, Slot("ann", "harbour" if number % 2 else f"h{number}")
        )
        life.learn(session_id, one)
    asked = "Which harbour did Ann call deep?"
    recalled = life.recall(asked, limits=replace(LIMITS, turns=30, tokens=tokens), gated=False)
    assert any(turn.marks for turn in recalled.turns)
    layers = Layers(asked, datetime(2026, 11, 20, tzinfo=UTC))
    block, without = (
        assemble(each, "=== 000000000000000000000000 ===")[-1].content
        for each in (replace(layers, recalled=recalled), layers)
    )
    assert tokens * 0.3 < estimate(block) - estimate(without) <= tokens


def test_a_turn_whose_fact_names_whom_the_question_names_counts_more(life):
    """Two rounds of the same words; a fact of one names Oona, whom neither names."""
    rounds = [
        ("She played her cello for us.", "How lovely."),
        ("She played her cello for us.", "How lovely."),
    ]
    life.live("music", rounds, NOW - timedelta(days=20))
    about = fact("cello", "music-0u", "Oona played.", Slot("oona", "event"), single=False, persons=("Oona",))
    life.learn("music", about)
    recalled = life.recall("Who heard how Oona played her cello?", embed=None, gated=False)
    assert recalled.ranked[0] == "music-0u"
    (best,) = [turn for turn in recalled.turns if turn.text_id == "music-0u"]
    assert dict(best.why.parts)["fact_named"] > 0


@pytest.mark.parametrize("question", ["Where do I work?", "我在哪里上班？"])
def test_the_memory_hands_over_what_it_knows(tmp_path, clock, new_id, log, question):
    memory = Memory(tmp_path / "data", HashedEmbedder(), clock=clock, new_id=new_id, log=log)
    session, _ = memory.resume_or_start()
    said = memory.store_round(session.session_id, "They took me on!", "Well done.", NOW.isoformat(), "stop")
    known = fact("job", said.user.text_id, "Ann works at Acme.")
    turns = tuple(turn.text_id for turn in said.turns)
    memory.learn(Learned(Window(turns[-1], session.session_id, turns), (), (known,)))
    present = memory.archive(session.session_id, "", {}).session_id
    found = memory.recall([question], present, NOW, replace(LIMITS, turns=0))
    assert told(found) == ["Ann works at Acme."]
    memory.close()
