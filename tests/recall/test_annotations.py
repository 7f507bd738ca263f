"""What is known beside what was said: facts that answer, and what became of what a recalled turn says."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.facts import Change, Learned, NewFact, NewNote, Quote, Slot, Window
from domain.recollection import Annotation
from facts.slots import find_asked_slots
from language.scripts import estimate
from llm import Layers, RecordContext, assemble_prompt, prompt_records
from memory import Memory
from recall.embedding import HashedEmbedder
from recall.retriever import OwnMemories
from tests.recall.test_retriever import LIMITS, LOG, NOW, StoredLife

JOB = Slot("person", "employer")
DEATH = Slot("grandpa", "death")
WEATHER = [(f"The fog over the northern moor was grey on day {at}.", "It will lift.") for at in range(30)]


class KnowingLife(StoredLife):
    """A stored life in which facts are learned."""

    def __init__(self, folder):
        super().__init__(folder)
        self.finder = OwnMemories(self.store.of, self.vectors, self, LOG, find_asked_slots)

    def learn(self, session_id, *facts, changes=(), importance=5):
        messages = tuple(message.text_id for message in self.store.messages.unread(session_id))
        notes = tuple(NewNote(one.note, one.restatement, "", importance, "active", one.messages) for one in facts)
        window = Window(messages[-1], session_id, messages)
        assert self.store.at(NOW.isoformat()).fact_log.learn(Learned(window, notes, facts, changes=tuple(changes)))


def fact(name, message, restatement, slot=JOB, **given):
    usual = {
        "text_id": name, "note": f"note of {name}", "restatement": restatement, "subject": "Ann",
        "attribute": slot.attribute, "value": name, "slot": slot, "single": True, "about": "person",
        "stance": "stated", "said": "", "messages": (message,),
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
    return [one.annotations for one in recalled.messages if one.text_id == text_id]


@pytest.mark.parametrize("question", ["Where do I work?", "我在哪里上班？", "我的公司叫什么？", "Who is my employer?"])
def test_a_question_finds_the_fact_of_the_slot_it_asks_for_in_either_language(life, question):
    employed(life)
    recalled = life.recall(question, embed=None)
    assert told(recalled) == ["Ann works at Acme."] or "job-0u" in recalled.ranked


@pytest.mark.parametrize("question", ["Where do I work?", "我在哪里上班？"])
def test_what_is_known_is_told_though_no_message_is_like_the_question(life, question):
    employed(life)
    recalled = life.recall(question, embed=None, limits=replace(LIMITS, messages=0))
    assert told(recalled) == ["Ann works at Acme."]
    assert recalled


def test_a_fact_is_found_by_its_own_words(life):
    employed(life, slot=Slot("zoe", "matter"), single=False)
    recalled = life.recall("Is Ann with Acme?", embed=None, limits=replace(LIMITS, messages=0))
    assert told(recalled) == ["Ann works at Acme."]


def test_what_a_message_says_that_is_handed_over_is_not_said_twice(life):
    employed(life)
    recalled = life.recall("Did they take me on at Acme, where do I work?", gated=False)
    assert "job-0u" in recalled.ranked
    assert not told(recalled)


def test_the_newer_value_is_told_and_the_message_that_said_the_older_one_says_when_it_changed(life):
    employed(life)
    employed(life, "job2", 100, "Zenith")
    recalled = life.recall("Did they take me on at Acme, where do I work?", gated=False)
    assert told(recalled) == ["Ann works at Zenith."]
    day = (NOW - timedelta(days=100)).isoformat()
    assert marks(recalled, "job-0u") == [(Annotation("changed", day, "Ann works at Zenith.", "of Acme"),)]
    assert marks(recalled, "job2-0u") in ([()], [])


@pytest.mark.parametrize(("start", "since"), [("2026-02-01", "2026-02-01"), ("", "")])
def test_a_value_that_took_anothers_place_says_since_when_it_holds_where_it_was_said_on_another_day(life, start, since):
    employed(life)
    change = Change("of Acme", "changes", start or "2026-03-01", "of Bolt")
    employed(life, "new job", days=100, where="Bolt", start=start, changes=[change])
    (said,) = life.recall("Where do I work?", embed=None, limits=replace(LIMITS, messages=0)).facts
    assert (said.text, said.since) == ("Ann works at Bolt.", since)


@pytest.mark.parametrize(("start", "became"), [("2026-12-16", "will_change"), ("2026-11-16", "changed")])
def test_what_is_replaced_from_a_day_ahead_still_holds_until_then(life, start, became):
    employed(life)
    employed(life, "new job", days=5, where="Bolt", start=start)
    recalled = life.recall("Did they take me on at Acme?", gated=False)
    assert marks(recalled, "job-0u") == [(Annotation(became, start, "Ann works at Bolt.", "of Acme"),)]
    asked = life.recall("Where do I work?", embed=None, limits=replace(LIMITS, messages=0))
    holds = ["Ann works at Acme."] if became == "will_change" else []
    assert sorted(told(asked)) == [*holds, "Ann works at Bolt."]


@pytest.mark.parametrize(
    ("after", "marked"), [("Theo and Ann laughed until it hurt.", 0), ("Theo got in at Leeds an hour late.", 1)]
)
def test_what_took_a_plans_place_is_told_only_where_it_is_about_the_plan(life, after, marked):
    life.live("visit", [("Theo is coming on Friday at four!", "Lovely.")], NOW - timedelta(days=9))
    visit, plan = Slot("theo", "visit"), "Theo gets in at Leeds at 4."
    given = {"slot": visit, "subject": "Theo", "single": False, "value": "gets in at 4"}
    life.learn("visit", fact("plan", "visit-0u", plan, **given, stance="planned", start="2026-11-13"))
    life.live("since", [("What a weekend that was.", "Tell me.")], NOW - timedelta(days=3))
    change = Change("plan", "changes", "2026-11-14", "after")
    life.learn("since", fact("after", "since-0u", after, **given | {"value": ""}), changes=[change])
    (found,) = marks(life.recall("Is Theo coming on Friday at four?", gated=False), "visit-0u")
    assert len(found) == marked


def test_of_a_value_that_changed_twice_the_last_is_told(life):
    for number, where in enumerate(("Acme", "Zenith", "Orbit")):
        employed(life, f"job{number}", 200 - number, where)
    recalled = life.recall("Did they take me on at Acme?", gated=False)
    ((mark,),) = marks(recalled, "job0-0u")
    assert (mark.became, mark.text) == ("changed", "Ann works at Orbit.")


@pytest.mark.parametrize(
    ("verdict", "became"), [("ends", "until"), ("corrects", "untrue"), ("doubts", "doubtful_since")]
)
def test_a_recalled_message_tells_what_became_of_it(life, verdict, became):
    employed(life)
    life.live("news", [("Something happened to it.", "Oh.")], NOW - timedelta(days=50))
    when = "2026-10-01"
    life.learn("news", changes=[Change("of Acme", verdict, when)])
    recalled = life.recall("Did they take me on at Acme?", gated=False)
    ((mark,),) = marks(recalled, "job-0u")
    assert mark.became == became
    assert mark.when == ("" if became == "untrue" else when)
    asked = life.recall("Where do I work?", embed=None, limits=replace(LIMITS, messages=0))
    assert [one.doubtful_since for one in asked.facts] == ([when] if became == "doubtful_since" else [])


@pytest.mark.parametrize("end", ["2026-04", ""])
def test_a_message_that_tells_of_something_over_is_not_marked_as_over(life, end):
    day = NOW - timedelta(days=100)
    life.live("left", [("Tom and I broke up in April.", "Oh.")], day)
    of = {"value": "Tom", "end": end, "said": day.isoformat()}
    over = fact("over", "left-0u", "Ann and Tom broke up.", Slot("person", "partner"), **of)
    life.learn("left", over, changes=[Change("over", "ends", end or over.said)])
    recalled = life.recall("When did Tom and I break up?", gated=False)
    assert marks(recalled, "left-0u") == [()]


CLIMBING = {
    "en": (
        "I climb at Klatreverket on Fridays.", "Klatreverket on Fridays, how nice. Are you on ropes?",
        "Klatreverket on Fridays", "Ann climbs at Klatreverket on Fridays.", "Ann climbs at Redpoint.",
        "Where do I climb, at Klatreverket?",
    ),
    "zh": (
        "我每周五在岩之道攀岩。", "周五在岩之道，真好。用绳子吗？",
        "周五，岩之道", "安周五在岩之道攀岩。", "安在红点攀岩。", "我在哪里攀岩，岩之道吗？",
    ),
}  # fmt: skip
GYM = Slot("person", "gym")


def climbed(life, language, *, summary="", reply=""):
    """A session in which Ann says where she climbs, which the companion repeats, and a later one that changed it."""
    said, repeated, value, known, later, asked = CLIMBING[language]
    rounds = [(said, reply or repeated), ("I had soup, with bread and butter.", repeated)]
    life.live("gym", rounds, NOW - timedelta(days=200), summary=summary)
    life.learn("gym", fact("old", "gym-0u", known, GYM, value=value))
    life.live("news", [("I go elsewhere now.", "Good.")], NOW - timedelta(days=50))
    life.learn("news", fact("new", "news-0u", later, GYM, value="Redpoint"))
    return life.recall(asked, gated=False, limits=replace(LIMITS, messages=30)), later


def test_a_message_that_gave_a_fact_no_more_than_a_name_is_not_marked_with_what_became_of_it(life):
    rounds = [("Hello, my name is Ann Acton.", "Hello!"), ("They took me on at Acme!", "Well done.")]
    life.live("job", rounds, NOW - timedelta(days=200))
    life.learn("job", fact("Acme", "", "Ann works at Acme.", messages=("job-0u", "job-1u")))
    employed(life, "job2", 100, "Zenith")
    recalled = life.recall("What is my name, Ann Acton, and did they take me on at Acme?", gated=False)
    assert marks(recalled, "job-0u") == [()]
    ((mark,),) = marks(recalled, "job-1u")
    assert mark.text == "Ann works at Zenith."


def test_a_message_that_says_it_in_other_words_is_marked_where_no_message_holds_the_value(life):
    rounds = [("They took me on, at last!", "At Ak Me?"), ("Yes, they took me on.", "Well done.")]
    life.live("job", rounds, NOW - timedelta(days=200))
    life.learn("job", fact("Acme", "", "Ann works at Acme.", messages=("job-0u", "job-1u")))
    employed(life, "job2", 100, "Zenith")
    recalled = life.recall("Did they take me on at last?", gated=False)
    assert all(found for text_id in ("job-0u", "job-1u") for found in marks(recalled, text_id))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_reply_that_repeats_what_has_changed_since_says_so_as_the_message_does_that_it_answers(life, language):
    recalled, later = climbed(life, language)
    mark = Annotation("changed", (NOW - timedelta(days=50)).isoformat(), later, CLIMBING[language][2])
    assert marks(recalled, "gym-0u") == [(mark,)]
    assert marks(recalled, "gym-0a") == [(mark,)]
    assert marks(recalled, "gym-1a") == [(mark,)], "it answers another turn, and says it as well"


def test_a_reply_that_repeats_nothing_of_it_has_no_mark(life):
    recalled, _ = climbed(life, "en", reply="Where do you climb best, on ropes?")
    assert marks(recalled, "gym-0a") == [()]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_summary_that_repeats_what_has_changed_since_says_so(life, language):
    known = CLIMBING[language][3]
    recalled, later = climbed(life, language, summary=known)
    (told,) = (one for one in recalled.summaries if one.session_id == "gym")
    value = CLIMBING[language][2]
    assert told.annotations == (Annotation("changed", (NOW - timedelta(days=50)).isoformat(), later, value),)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_message_says_what_has_changed_though_the_summary_beside_it_says_so_too(life, language):
    said, reply, _, known, later, _ = CLIMBING[language]
    recalled, _ = climbed(life, language, summary=known)
    context = RecordContext(language, NOW, {"user": "Ann", "assistant": "Juniper"}, "=====")
    (record,) = [one for one in map(json.loads, prompt_records(recalled, context)) if "summary" in one]
    assert later.rstrip(".。") in record["summary"]
    assert [one for one in record["said"] if isinstance(one, dict)][:2] == [{"Ann": said}, {"Juniper": reply}]
    assert later.rstrip(".。") in record["said"][1]
    assert sum(later.rstrip(".。") in str(one) for one in record["said"]) == 1


def test_a_summary_that_repeats_nothing_of_it_has_no_mark(life):
    recalled, _ = climbed(life, "en", summary="They spoke of where Ann climbs.")
    (told,) = (one for one in recalled.summaries if one.session_id == "gym")
    assert told.annotations == ()


def test_the_marks_of_one_summary_take_no_other_summarys_place(life):
    """Two summaries fill their share of the budget; what became of the first is long."""
    for name, until in (("near", "2026-05-01"), ("far", "")):
        said = f"The harbour of Oona is {name}."
        life.live(name, [(said, "Is it?")], NOW - timedelta(days=100), summary=said)
        about = "Oona called the harbour so. " * 8
        life.learn(name, fact(name, f"{name}-0u", about, Slot(name, "harbour"), value=f"harbour {name}"))
        if until:
            life.learn("weather", changes=[Change(name, "doubts", until)])
    recalled = life.recall("Which harbour of Oona?", limits=replace(LIMITS, tokens=1500), gated=False)
    marked = {one.session_id: [mark.became for mark in one.annotations] for one in recalled.summaries}
    assert marked == {"near": ["doubtful_since"], "far": []}


def test_a_summary_whose_marks_take_too_much_is_left_out(life):
    said, about = "The harbour of Oona is near.", "Oona called the harbour so. " * 100
    life.live("near", [("Is it?", "Yes.")], NOW - timedelta(days=100), summary=said)
    life.learn("near", fact("near", "near-0u", about, Slot("near", "harbour"), value="harbour near"))
    life.learn("weather", changes=[Change("near", "doubts", "2026-05-01")])
    for tokens, told in ((1500, []), (9000, ["near"])):
        recalled = life.recall("The harbour of Oona?", limits=replace(LIMITS, tokens=tokens), gated=False)
        assert [one.session_id for one in recalled.summaries] == told


ALLERGY = {
    "en": ("My doctor wrote penicillin down as an allergy.", "penicillin", "Ann has an allergy to penicillin.",
           "Allergies so far: penicillin, nuts. Shall I keep this list?", "It turned out not to be an allergy.",
           "Penicillin is made from mould, did you know?", "What is on the list of my allergies, penicillin?"),
    "zh": ("医生写了我对青霉素过敏。", "青霉素", "安对青霉素过敏。", "过敏：青霉素、花生。要我记下这张单子吗？",
           "后来查出来并不是。", "青霉素是从霉菌里来的，你知道吗？", "我的过敏单子上有什么，青霉素吗？"),
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_text_that_tells_what_was_struck_says_so_and_none_that_only_names_it_or_came_later(life, language):
    stated, value, statement, listed, struck, named, asked = ALLERGY[language]
    life.live("doctor", [(stated, "Oh.")], NOW - timedelta(days=200))
    of = Slot("person", "allergy")
    life.learn("doctor", fact("old", "doctor-0u", statement, of, value=value, attribute="allergy", single=False))
    life.live("list", [("What do you have?", listed), (named, "No!")], NOW - timedelta(days=150), summary=listed)
    life.live("struck", [(struck, "Good.")], NOW - timedelta(days=50))
    told = fact(
        "none", "struck-0u", struck, of, value="none", single=False, said=(NOW - timedelta(days=50)).isoformat()
    )
    life.learn("struck", told, changes=[Change("old", "corrects", told.said, "none")])
    life.live("later", [("Hm.", listed)], NOW - timedelta(days=9))
    recalled = life.recall(asked, gated=False, limits=replace(LIMITS, messages=30))
    mark = (Annotation("corrected", told.said, struck, value),)
    assert marks(recalled, "doctor-0u") == [mark]
    assert marks(recalled, "list-0a") == [mark], "the line beside it is as dangerous"
    assert [one.annotations for one in recalled.summaries if one.session_id == "list"] == [mark]
    assert marks(recalled, "list-1u") in ([()], [])
    assert marks(recalled, "later-0a") == [()]


def test_a_message_of_which_the_words_were_cut_away_is_not_marked(life):
    page = "We spoke of the weather, which was grey, and of nothing else that day. " * 30
    said = f"{page}They took me on at Acme! {page}The kiwi sang."
    life.live("job", [(said, "Oh.")], NOW - timedelta(days=200))
    quote = Quote("job-0u", len(page), len(page) + 24)
    life.learn("job", fact("Acme", "job-0u", "Ann works at Acme.", quotes=(quote,)))
    employed(life, "job2", 100, "Zenith")
    for asked, marked in (("Who sang, the kiwi?", 0), ("Did they take me on at Acme?", 1)):
        shown = life.recall(asked, gated=False, limits=replace(LIMITS, messages=1, tokens=900))
        (message,) = [one for one in shown.messages if one.text_id == "job-0u"]
        assert (("Acme" in message.text), len(message.annotations)) == (bool(marked), marked)


def test_of_a_value_that_changed_twice_the_day_is_that_of_what_is_so_now(life):
    for number, where in enumerate(("Acme", "Zenith", "Orbit")):
        employed(life, f"job{number}", 200 - 50 * number, where)
    ((mark,),) = marks(life.recall("Did they take me on at Acme?", gated=False), "job0-0u")
    assert (mark.when, mark.text, mark.value) == (
        (NOW - timedelta(days=100)).isoformat(), "Ann works at Orbit.", "of Acme",
    )  # fmt: skip


def test_each_of_two_facts_of_a_message_is_named_with_what_became_of_it(life):
    life.live("job", [("Acme took me on, and my boss there is Wang.", "Good.")], NOW - timedelta(days=200))
    boss = fact("boss", "job-0u", "Ann's boss is Wang.", Slot("person", "boss"), value="Wang")
    life.learn("job", fact("Acme", "job-0u", "Ann works at Acme."), boss)
    life.live("news", [("Vang retired.", "Oh.")], NOW - timedelta(days=50))
    now = fact("Vang", "news-0u", "Vang retired.", Slot("person", "boss"), value="Vang")
    life.learn(
        "news", now, changes=[Change("boss", "changes", "2026-10-01", "Vang"), Change("Acme", "doubts", "2026-10-01")]
    )
    (found,) = marks(life.recall("Did Acme take me on, and who is my boss?", gated=False), "job-0u")
    assert {(one.became, one.value, one.text) for one in found} == {
        ("changed", "Wang", "Vang retired."), ("doubtful_since", "", "Ann works at Acme."),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("attribute", "start", "end", "doubted"),
    [
        ("trip", "2026-05-10", "", False),
        ("home", "2026-05-10", "", True),
        ("home", "", "2026-06", False),
        ("trip", "2026-11", "", True),
    ],
)
def test_an_event_that_is_over_is_not_marked_as_doubtful(life, attribute, start, end, doubted):
    said = (NOW - timedelta(days=100)).isoformat()
    slot = Slot("person", attribute)
    employed(life, slot=slot, single=False, start=start, end=end, said=said)
    life.learn("weather", changes=[Change("of Acme", "doubts", "2026-10-01")])
    (found,) = marks(life.recall("Did they take me on at Acme?", gated=False), "job-0u")
    assert [one.became for one in found] == (["doubtful_since"] if doubted else [])


@pytest.mark.parametrize("attribute", ["appointment", "trip", "plan"])
def test_an_event_that_was_announced_says_when_its_day_is_past_as_a_plan_does(life, attribute):
    employed(life, slot=Slot("person", attribute), single=False, said="2026-05-04", start="2026-06-03")
    ((mark,),) = marks(life.recall("Did they take me on at Acme?", gated=False), "job-0u")
    assert mark == Annotation("was_planned_for", "2026-06-03", "Ann works at Acme.")


@pytest.mark.parametrize("basis", ["quoted", "inferred"])
def test_what_is_not_verified_marks_nothing_and_is_found_as_what_it_is(life, basis):
    employed(life, slot=Slot("person", "likes"), single=False, basis=basis, quotes=(Quote("job-0u", 0, 29),))
    life.learn("weather", changes=[Change("of Acme", "ends", "2026-10-01")])
    assert marks(life.recall("Did they take me on at Acme?", gated=False), "job-0u") == [()]
    employed(life, "job2", 100, "Bolt", basis=basis, quotes=(Quote("job2-0u", 0, 24),))
    known = life.recall("Where do I work?", embed=None, limits=replace(LIMITS, messages=0)).facts
    found = [(one.basis, [quote.words for quote in one.quotes]) for one in known]
    assert found == ([("quoted", ["They took me on at Bolt!"])] if basis == "quoted" else [])


def test_a_quotation_is_left_out_where_the_slot_has_a_verified_value(life):
    employed(life, "job", 200, "Acme", basis="quoted", quotes=(Quote("job-0u", 0, 24),))
    employed(life, "job2", 100, "Bolt")
    assert told(life.recall("Where do I work?", embed=None, limits=replace(LIMITS, messages=0))) == [
        "Ann works at Bolt."
    ]


def test_a_fact_of_which_the_words_are_gone_is_not_shown_as_what_a_model_made_of_them(life):
    employed(life, basis="quoted")
    employed(life, "gym", 100, "Redpoint", slot=GYM)
    known = told(life.recall("Where do I work?", embed=None, limits=replace(LIMITS, messages=0)))
    assert "Ann works at Acme." not in known


DAYS = [
    ("2026-06-03", "", "2026-06-03"),
    ("2026-06", "", "2026-06"),
    ("2026-06-03", "2026-06-09", "2026-06-03"),
    ("", "2026-06-03", "2026-06-03"),
    ("2026-11-20", "", ""),
    ("2026-11", "", ""),
    ("2026", "", ""),
    ("2026-06-03", "2026-12-01", ""),
    ("2026-04-01", "", ""),
    ("", "", ""),
]


@pytest.mark.parametrize("stance", ["planned", "wished", "stated"])
@pytest.mark.parametrize(("start", "end", "past"), DAYS)
def test_a_plan_whose_day_is_past_says_so_in_its_turn_and_in_what_is_known(life, start, end, past, stance):
    """Today is 2026-11-20, and it was planned on 2026-05-04; what began before that is no plan for that day."""
    past = past if stance != "stated" else ""
    employed(life, start=start, end=end, said="2026-05-04", stance=stance)
    recalled = life.recall("Did they take me on at Acme?", gated=False)
    assert marks(recalled, "job-0u") == [(Annotation("was_planned_for", past, "Ann works at Acme."),) if past else ()]
    (known,) = life.recall("Where do I work?", embed=None, limits=replace(LIMITS, messages=0)).facts
    assert known.planned_for == past


def test_a_plan_that_was_called_off_says_that_and_not_that_its_day_is_past(life):
    employed(life, start="2026-06-03", said="2026-05-04", stance="planned")
    life.learn("weather", changes=[Change("of Acme", "ends", "2026-05-20")])
    recalled = life.recall("Did they take me on at Acme?", gated=False)
    assert marks(recalled, "job-0u") == [(Annotation("until", "2026-05-20", "Ann works at Acme."),)]


def test_what_a_person_called_wrong_and_then_right_again_is_not_told_as_corrected(life):
    employed(life)
    for again in (None, fact("again", "job-0u", "Ann works at Acme.")):
        assert life.store.at(NOW.isoformat()).fact_log.correct_by_hand("of Acme", again)
    assert marks(life.recall("Who took me on at Acme?", embed=None, gated=False), "job-0u") == [()]


def test_what_was_not_stated_is_told_with_how_it_was_said(life):
    employed(life, stance="planned")
    (known,) = life.recall("Where do I work?", embed=None, limits=replace(LIMITS, messages=0)).facts
    assert known.stance == "planned"


def test_what_is_known_from_a_hidden_message_is_not_told(life):
    employed(life)
    life.store.rounds.hide(["job-0u"])
    assert not life.recall("Where do I work?", embed=None).facts


def test_what_stands_in_the_context_is_not_said_again(life):
    employed(life)
    seqs = [message.seq for message in life.store.messages.of_session("job")]
    for hidden in ({"session_id": "job"}, {"session_id": "job", "hidden": seqs}):
        assert not life.recall("Where do I work?", embed=None, **hidden).facts


def employed_in_two_messages(life):
    """A fact that rests on two turns, neither of which says all of it; their ids."""
    life.live("job", [("They took me on!", "Where?"), ("At the mill in Acme.", "Oh.")], NOW - timedelta(days=9))
    messages = ("job-0u", "job-1u")
    life.learn("job", fact("of Acme", "", "Ann works at the mill in Acme.", messages=messages))
    return messages


@pytest.mark.parametrize("asked", ["Where do I work?", "我在哪里上班？"])
def test_a_fact_is_left_out_only_where_all_of_its_turns_stand_in_the_context(life, asked):
    seqs = life.store.messages.numbers_of(employed_in_two_messages(life))
    few = {"embed": None, "limits": replace(LIMITS, messages=0), "session_id": "job"}
    for shown in ([], ["job-0u"], ["job-1u"]):
        recalled = life.recall(asked, hidden=[seqs[message] for message in shown], **few)
        assert told(recalled) == ["Ann works at the mill in Acme."], shown
    assert not told(life.recall(asked, hidden=list(seqs.values()), **few))
    assert not told(life.recall(asked, **few))


def test_a_fact_is_left_out_only_where_all_of_its_turns_are_handed_over_or_in_the_context(life):
    first, second = employed_in_two_messages(life)
    asked = "Did they take me on at the mill, where do I work?"
    recalled = life.recall(asked, limits=replace(LIMITS, messages=1), gated=False)
    shown = {message.text_id for message in recalled.messages} & {first, second}
    assert len(shown) == 1, "one of the two is handed over"
    assert told(recalled) == ["Ann works at the mill in Acme."]
    seqs = life.store.messages.numbers_of([*({first, second} - shown)])
    hidden = {"session_id": "job", "hidden": list(seqs.values())}
    recalled = life.recall(asked, limits=replace(LIMITS, messages=1), gated=False, **hidden)
    assert {message.text_id for message in recalled.messages} & {first, second} == shown
    assert not told(recalled)


@pytest.mark.parametrize("tokens", [400, 1000, 2000])
def test_facts_and_marks_stay_inside_the_budget(life, tokens):
    for number in range(30):
        session_id = f"harbour{number}"
        life.live(
            session_id,
            [(f"The harbour of town {number} is deep.", "Is it?")],
            NOW - timedelta(days=200 - number),
            summary=f"The harbour of town {number} is deep.",
        )
        about = f"The harbour of town {number} was called deep by Ann, who had been there. " + "Indeed. " * 9
        one = fact(
            f"f{number}", f"{session_id}-0u", about, Slot("ann", "harbour" if number % 2 else f"h{number}"),
            value=f"town {number}, deep",
        )  # fmt: skip
        life.learn(session_id, one)
    asked = "Which harbour did Ann call deep?"
    recalled = life.recall(asked, limits=replace(LIMITS, messages=30, tokens=tokens), gated=False)
    assert any(message.annotations for message in recalled.messages)
    assert tokens < 2000 or any(one.annotations for one in recalled.summaries)
    layers = Layers(asked, datetime(2026, 11, 20, tzinfo=UTC))
    block, without = (
        assemble_prompt(each, "=== 000000000000000000000000 ===")[-1].content
        for each in (replace(layers, recalled=recalled), layers)
    )
    assert tokens * 0.3 < estimate(block) - estimate(without) <= tokens


def test_a_fact_that_is_not_told_takes_no_room_from_what_was_said(life):
    for number in range(20):
        when = NOW - timedelta(days=200 - number)
        life.live(f"job{number}", [(f"They took me on at the mill of town {number}!", "Congratulations.")], when)
    asked, limits = "Did they take me on at the mill, where do I work?", replace(LIMITS, messages=30, tokens=450)
    before = life.recall(asked, limits=limits, gated=False)
    message = before.ranked[0]
    life.learn(message.split("-")[0], fact("the mill", message, "Ann works at the mill."))
    after = life.recall(asked, limits=limits, gated=False)
    assert message in after.ranked
    assert not told(after)
    assert len(after.messages) == len(before.messages) < 12


def test_a_message_whose_fact_names_whom_the_question_names_counts_more(life):
    """Two rounds of the same words; a fact of one names Oona, whom neither names."""
    rounds = [("She played her cello for us.", "How lovely."), ("She played her cello for us.", "How lovely.")]
    life.live("music", rounds, NOW - timedelta(days=20))
    about = fact("cello", "music-0u", "Oona played.", Slot("oona", "event"), single=False, persons=("Oona",))
    life.learn("music", about)
    recalled = life.recall("Who heard how Oona played her cello?", embed=None, gated=False)
    assert recalled.ranked[0] == "music-0u"
    (best,) = [message for message in recalled.messages if message.text_id == "music-0u"]
    assert dict(best.why.parts)["facts"] > 0


@pytest.mark.parametrize("question", ["Where do I work?", "我在哪里上班？"])
def test_the_memory_hands_over_what_it_knows(tmp_path, clock, new_id, log, question):
    memory = Memory(tmp_path / "data", HashedEmbedder(), clock=clock, new_id=new_id, log=log)
    session, _ = memory.sessions.resume_or_start()
    said = memory.rounds.store(session.session_id, "They took me on!", "Well done.", NOW.isoformat(), "stop")
    known = fact("job", said.user.text_id, "Ann works at Acme.")
    messages = tuple(message.text_id for message in said.messages)
    memory.fact_log.learn(Learned(Window(messages[-1], session.session_id, messages), (), (known,)))
    present = memory.rounds.save(session.session_id, "", {}).session_id
    found = memory.recall([question], present, NOW, replace(LIMITS, messages=0))
    assert told(found) == ["Ann works at Acme."]
    memory.close()


ALLERGIC = "Ann is allergic to walnuts."


@pytest.mark.parametrize("said", ["I'm baking something for the office tomorrow.", "今晚想做点新菜吃。"])
def test_what_is_vital_for_a_matter_is_recalled_though_nobody_asks_for_it(life, said):
    life.live("cake", [("That cake made my throat swell up.", "Goodness, be careful.")], NOW - timedelta(days=200))
    life.learn("cake", fact("walnuts", "cake-0u", ALLERGIC, Slot("person", "allergy")))
    found = life.recall(said, embed=None)
    assert told(found) == [ALLERGIC] or any(message.text_id == "cake-0u" for message in found.messages)
    assert told(life.recall("The gate squeaks.", embed=None)) == []


@pytest.mark.parametrize(("importance", "recalled"), [(9, True), (5, False)])
def test_an_important_fact_is_recalled_for_less_than_any_other(life, importance, recalled):
    life.live("loss", [("He is gone since that night.", "I am so sorry.")], NOW - timedelta(days=200))
    life.learn("loss", fact("dead", "loss-0u", "Grandpa died in November.", DEATH), importance=importance)
    for number in range(8):
        employed(life, f"job{number}", 100 - number, f"Mill {number}", slot=Slot("ann", f"job {number}"))
    found = life.recall("The November barbecue is on.", embed=None)
    assert ("Grandpa died in November." in told(found)) is recalled


@pytest.mark.parametrize("where", ["the fair (cancelled)", "集市，不去了", "Acme"])
def test_a_plan_that_is_stated_as_called_off_has_no_day_that_is_past(life, where):
    employed(life, where=where, start="2026-06-03", said="2026-05-04", slot=Slot("person", "plan"), single=False)
    (found,) = marks(life.recall(f"Did they take me on at {where}?", gated=False), "job-0u") or [()]
    assert [one.became for one in found] == ["was_planned_for"] * (where == "Acme")


#: Plans that came to nothing, one that came true, a wish that was given up, one that came true, a promise of the
#: companion: statement, stance, when it was said (days ago), what ended it, the verdict on it.
PLANS = {
    "en": [
        ("Ann will sing in the spring concert.", "planned", 300, "Ann lost her voice.", "ends"),
        ("Ann flies to Oslo in June.", "planned", 90, "Ann stays at home in June; the flight is cancelled.", "ends"),
        ("Ann takes the exam in July.", "planned", 80, "Ann passed the exam.", "changes"),
        ("Ann would like a dog.", "wished", 70, "The dog is off: Ann is moving to a small flat.", "ends"),
        ("Ann wants the fence done by autumn.", "wished", 60, "The fence is done.", "ends"),
    ],
    "zh": [
        ("小安要在春天的音乐会上唱歌。", "planned", 300, "小安嗓子哑了。", "ends"),
        ("小安六月飞奥斯陆。", "planned", 90, "小安今年夏天待在家，航班取消了。", "ends"),
        ("小安七月考试。", "planned", 80, "小安考过了。", "changes"),
        ("小安想养条狗。", "wished", 70, "养狗的事泡汤了：小安要搬进小房子。", "ends"),
        ("小安希望秋天前修好篱笆。", "wished", 60, "篱笆修好了。", "ends"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "which"),
    [
        ("Which of my plans fell through?", [3, 1, 0]),
        ("What did I call off in the end?", [3, 1, 0]),
        ("Did anything I planned never happen?", [3, 1, 0]),
        ("Which of my plans came to nothing this autumn?", [3, 1]),
        ("我有哪些计划泡汤了？", [3, 1, 0]),
        ("后来取消的安排有哪些？", [3, 1, 0]),
        ("今年秋天哪些打算没办成？", [3, 1]),
        ("Which plans do I have?", []),
        ("我有哪些计划？", []),
    ],
)
def test_a_question_for_what_fell_through_finds_each_plan_with_what_ended_it(life, question, which):
    plans = PLANS["en" if question.isascii() else "zh"]
    for at, (plan, stance, ago, by, verdict) in enumerate(plans):
        for name, days, text in ((f"plan{at}", ago, plan), (f"by{at}", ago - 40, by)):
            ends = [Change(f"plan{at}", verdict, (NOW - timedelta(days=days)).isoformat(), name)] if text == by else []
            life.live(name, [("Hm, well.", "I see.")], NOW - timedelta(days=days))
            given = {"slot": Slot("person", f"matter {name}"), "single": False, "value": ""}
            given["stance"] = "stated" if ends else stance
            life.learn(name, fact(name, f"{name}-0u", text, **given), changes=ends)
    recalled = life.recall(question, embed=None, limits=replace(LIMITS, messages=0))
    assert told(recalled) == [f"{plans[at][0]} → {plans[at][3]}" for at in which]
