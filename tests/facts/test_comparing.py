"""At most one value is current in a slot that holds one, whatever came in whichever order and whatever a model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.facts import Basis, Fact, NewFact, Slot
from facts.comparing import MOST_COMPARED, compare_facts, find_near, same_value
from facts.drafts import DoubtDraft, Verdict, VerdictDraft, read_comparison
from language.numbers import find_numbers
from tests.facts.talk import new_fact, stored


def arrived(*windows: Sequence[NewFact]) -> dict[str, Fact]:
    """What is known after these windows, with no model at all."""
    known: list[Fact] = []
    for window in windows:
        known = stored(known, compare_facts(window, known))
    return {fact.text_id: fact for fact in known}


def current(known: dict[str, Fact]) -> list[str]:
    return [fact.value for fact in known.values() if fact.current and fact.single and fact.stance == "stated"]


LEEDS = new_fact("leeds", "home", "Headingley, Leeds", "2025-03-01T20:00:00+00:00")
YORK = new_fact("york", "home", "Fishergate, York", "2025-08-30T18:00:00+00:00", start="2025-10-18")


def test_a_new_value_takes_the_place_of_the_old_one_which_keeps_until_when_it_held() -> None:
    known = arrived([LEEDS], [YORK])
    assert current(known) == ["Fishergate, York"]
    assert (known["leeds"].until, known["leeds"].replaced_by) == ("2025-10-18", "york")


def test_an_older_statement_that_arrives_late_goes_into_the_past() -> None:
    known = arrived([YORK], [LEEDS])
    assert current(known) == ["Fishergate, York"]
    assert (known["leeds"].until, known["leeds"].replaced_by) == ("2025-10-18", "york")


def test_a_value_that_arrives_late_between_two_others_shortens_the_first() -> None:
    bath = new_fact("bath", "home", "Bath", "2025-05-01T18:00:00+00:00")
    known = arrived([LEEDS], [YORK], [bath])
    assert [(known[name].until, known[name].replaced_by) for name in ("leeds", "bath", "york")] == [
        ("2025-05-01T18:00:00+00:00", "bath"), ("2025-10-18", "york"), ("", ""),
    ]  # fmt: skip


def test_what_was_over_when_it_was_told_is_never_current() -> None:
    rome = new_fact("rome", "home", "Rome", "2026-01-01T18:00:00+00:00", end="2019")
    paris = new_fact("paris", "home", "Paris", "2026-01-02T18:00:00+00:00", text="Mara used to live in Paris.")
    for windows in permutations([[YORK], [rome], [paris]]):
        assert current(arrived(*windows)) == ["Fishergate, York"]


def test_what_arrives_late_from_before_an_end_ended_with_it() -> None:
    tom = new_fact("tom", "partner", "Tom", "2025-03-01T20:00:00+00:00")
    ended = replace(next(iter(arrived([tom]).values())), until="2025-07-06")
    josef = new_fact("josef", "partner", "Josef", "2025-05-01T20:00:00+00:00")
    rafe = new_fact("rafe", "partner", "Rafe", "2026-01-10T20:00:00+00:00")
    later = stored([ended], compare_facts([josef], [ended]))
    assert [(fact.text_id, fact.until) for fact in later][1:] == [("josef", "2025-07-06")]
    assert current({fact.text_id: fact for fact in stored(later, compare_facts([rafe], later))}) == ["Rafe"]


def test_what_a_person_decided_about_the_past_is_not_shortened_by_what_arrives_late() -> None:
    known = [replace(fact, decided="hand") for fact in arrived([LEEDS], [YORK]).values()]
    bath = new_fact("bath", "home", "Bath", "2025-05-01T18:00:00+00:00")
    outcome = compare_facts([bath], known)
    assert {*outcome.replaced} == {"bath"}
    assert outcome.changes == ()


VALUES = ["Leeds", "York", "Bath", "Rome"]
STATEMENTS = st.lists(
    st.tuples(st.sampled_from(VALUES), st.sampled_from(["", "start", "end", "planned", "joked"])),
    min_size=1,
    max_size=6,
)


def _as_facts(told: Sequence[tuple[str, str]]) -> list[NewFact]:
    found = []
    for at, (value, how) in enumerate(told):
        fact = new_fact(f"f{at}", "home", value, f"2025-0{at + 1}-10T18:00:00+00:00")
        if how == "start":
            fact = replace(fact, start=f"2025-0{at + 1}-25")
        elif how == "end":
            fact = replace(fact, end="2020")
        elif how:
            fact = replace(fact, stance=how)  # type: ignore[arg-type]
        found.append(fact)
    return found


@settings(max_examples=150, deadline=None)
@given(STATEMENTS, st.randoms(use_true_random=False), st.booleans())
def test_the_current_value_is_the_same_in_whatever_order_the_statements_arrive(
    told: list[tuple[str, str]], chance: object, together: bool
) -> None:
    facts = _as_facts(told)
    expected = current(arrived(*[[fact] for fact in facts]))
    assert len(expected) <= 1
    mixed = list(facts)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    windows = [mixed[:2], mixed[2:]] if together else [[fact] for fact in mixed]
    assert current(arrived(*windows)) == expected


VERDICTS = st.lists(
    st.builds(
        VerdictDraft,
        st.integers(-1, 4),
        st.integers(-1, 5),
        st.sampled_from(["same", "adds", "changes", "ends", "corrects"]),
    ),
    max_size=5,
)
DOUBTS = st.lists(st.builds(DoubtDraft, st.integers(-1, 6), st.integers(-1, 4)), max_size=3)


@settings(max_examples=150, deadline=None)
@given(STATEMENTS, STATEMENTS, VERDICTS, DOUBTS, st.integers(0, 5))
def test_no_verdict_leaves_two_values_current_or_touches_what_a_person_decided(
    before: list[tuple[str, str]],
    after: list[tuple[str, str]],
    verdicts: list[VerdictDraft],
    doubts: list[DoubtDraft],
    by_hand: int,
) -> None:
    known = list(arrived(*[[fact] for fact in _as_facts(before)]).values())
    known = [replace(fact, decided="hand") if at == by_hand else fact for at, fact in enumerate(known)]
    window = [
        replace(fact, text_id=f"new {fact.text_id}", said=f"2026{fact.said[4:]}", start="") for fact in _as_facts(after)
    ]
    outcome = compare_facts(window, known, known, verdicts, doubts)
    later = {fact.text_id: fact for fact in stored(known, outcome)}
    assert len(current(later)) <= 1
    for fact in known:
        if fact.decided == "hand":
            assert replace(later[fact.text_id], seen=fact.seen) == fact
    assert {change.fact for change in outcome.changes} <= {*later}
    assert len({change.fact for change in outcome.changes}) == len(outcome.changes)


@pytest.mark.parametrize("stance", ["planned", "wished", "supposed", "joked"])
def test_what_is_not_stated_takes_the_place_of_nothing(stance: str) -> None:
    monaco = new_fact("monaco", "home", "Monaco", "2025-05-01T18:00:00+00:00", stance=stance)
    known = list(arrived([LEEDS]).values())
    outcome = compare_facts([monaco], known, known, [VerdictDraft(1, 1, "changes")], [DoubtDraft(1, 1)])
    assert outcome.changes == ()
    assert outcome.ignored == {"not stated": 1, "doubt without a change": 1}


def test_a_plan_that_came_true_is_no_plan_any_more() -> None:
    plan = new_fact("plan", "home", "York", "2025-05-01T18:00:00+00:00", stance="planned")
    done = new_fact("done", "home", "York", "2025-10-25T18:00:00+00:00")
    known = arrived([plan], [done])
    assert (known["plan"].until, known["done"].current) == ("2025-10-25T18:00:00+00:00", True)


def test_what_is_said_again_confirms_and_is_not_stored_twice() -> None:
    again = new_fact("again", "home", "headingley,  LEEDS", "2025-06-01T18:00:00+00:00")
    outcome = compare_facts([again], list(arrived([LEEDS]).values()))
    assert outcome.facts == ()
    assert [(one.fact, one.verdict, one.when) for one in outcome.changes] == [("leeds", "same", again.said)]
    less = new_fact("less", "home", "Leeds", "2025-06-01T18:00:00+00:00")
    assert compare_facts([less], list(arrived([LEEDS]).values())).facts == ()


def test_several_values_stand_beside_each_other_and_each_stands_once() -> None:
    tea = new_fact("tea", "likes", "rooibos tea", "2025-03-01T20:00:00+00:00")
    jazz = new_fact("jazz", "likes", "jazz", "2025-03-02T20:00:00+00:00")
    again = new_fact("again", "likes", "Rooibos tea", "2025-03-03T20:00:00+00:00")
    known = arrived([tea], [jazz], [again])
    assert sorted(known) == ["jazz", "tea"]
    assert known["tea"].seen == again.said


def test_facts_that_repeat_each_other_in_one_window_are_one_with_the_messages_of_both() -> None:
    one = new_fact("one", "likes", "rooibos", "2025-03-01T20:00:00+00:00", keywords=("tea",))
    two = new_fact("two", "likes", "Rooibos", "2025-03-01T20:05:00+00:00", keywords=("drink",))
    (fact,) = compare_facts([one, two], []).facts
    assert (fact.messages, fact.keywords, fact.said) == (("turn one", "turn two"), ("tea", "drink"), two.said)
    homes = [replace(LEEDS, text_id=name, messages=(name,)) for name in ("a", "b")]
    (home,) = compare_facts(homes, []).facts
    assert home.messages == ("a", "b")


def test_a_habit_that_was_given_up_is_not_the_habit_again() -> None:
    plays = new_fact("plays", "hobby", "cello", "2025-08-30T18:00:00+00:00", text="Mara takes cello lessons.")
    quit_it = new_fact("quit", "hobby", "cello", "2026-01-10T18:00:00+00:00", text="Mara quit the cello.")
    known = list(arrived([plays]).values())
    assert [fact.text_id for fact in compare_facts([quit_it], known).facts] == ["quit"]
    outcome = compare_facts([quit_it], known, known, [VerdictDraft(1, 1, "ends")])
    assert [(one.fact, one.verdict, one.by) for one in outcome.changes] == [("plays", "ends", "quit")]


def test_a_correction_says_that_the_old_one_never_was() -> None:
    wrong = new_fact("wrong", "name", "Annette", "2025-03-29T19:30:00+00:00", subject="Annette")
    right = new_fact("right", "name", "Annika", "2025-05-17T21:00:00+00:00", subject="Annika")
    known = list(arrived([wrong]).values())
    later = {
        f.text_id: f for f in stored(known, compare_facts([right], known, known, [VerdictDraft(1, 1, "corrects")]))
    }
    assert (later["wrong"].corrected, later["wrong"].current, later["right"].current) == (True, False, True)


@pytest.mark.parametrize(
    ("verdict", "why"),
    [
        (VerdictDraft(1, 9, "changes"), "not shown"),
        (VerdictDraft(1, 0, "ends"), "not shown"),
        (VerdictDraft(7, 1, "changes"), "unknown fact"),
        (VerdictDraft(1, 1, "same"), "not the same"),
    ],
)
def test_a_verdict_that_cannot_be_is_ignored(verdict: VerdictDraft, why: str) -> None:
    known = list(arrived([new_fact("rent", "rent", "780", "2025-03-01T20:00:00+00:00")]).values())
    new = new_fact("more", "rent", "925", "2025-08-30T20:00:00+00:00")
    outcome = compare_facts([new], known, known, [verdict])
    assert outcome.ignored == {why: 1}
    assert outcome.replaced == {"rent": "more"}
    assert outcome.changes == ()


@pytest.mark.parametrize("verdict", ["same", "changes", "ends", "corrects"])
def test_what_a_person_says_of_a_matter_of_their_own_does_nothing_to_what_the_companion_is(verdict: Verdict) -> None:
    taste = new_fact("taste", "likes", "rain", LEEDS.said, subject="Companion", about="companion")
    known = list(arrived([replace(taste, slot=Slot("companion", "likes"))]).values())
    outcome = compare_facts([YORK], known, known, [VerdictDraft(1, 1, verdict)])
    assert (outcome.facts, outcome.changes, outcome.ignored) == ((YORK,), (), {"of somebody else": 1})


def test_what_a_person_put_right_wins_for_good() -> None:
    known = [replace(fact, decided="hand") for fact in arrived([LEEDS]).values()]
    outcome = compare_facts([YORK], known, known, [VerdictDraft(1, 1, "changes")])
    assert outcome.ignored == {"decided by hand": 1}
    assert outcome.replaced == {"york": "leeds"}
    assert outcome.changes == ()
    assert current({fact.text_id: fact for fact in stored(known, outcome)}) == ["Headingley, Leeds"]


GYM = new_fact("gym", "gym", "The Foundry", "2025-03-01T20:00:01+00:00")
TEA = new_fact("tea", "favourite tea", "rooibos", "2025-03-01T20:00:02+00:00")
RENT = new_fact("rent", "rent", "780", "2025-03-01T20:00:03+00:00")


def test_a_move_makes_doubtful_what_hangs_on_a_home_with_no_model() -> None:
    new_rent = new_fact("more", "rent", "925", YORK.said, start="2025-10-18")
    known = arrived([LEEDS, GYM, TEA, RENT], [YORK, new_rent])
    assert known["gym"].doubtful_since == "2025-10-18"
    assert known["tea"].doubtful_since == ""
    assert (known["rent"].doubtful_since, known["rent"].until) == ("", "2025-10-18")


def test_what_was_said_after_the_move_is_not_doubted_when_the_move_arrives_late() -> None:
    wall = new_fact("wall", "gym", "Red Goat", "2025-11-16T21:00:00+00:00")
    assert arrived([LEEDS], [wall], [YORK])["wall"].doubtful_since == ""


def test_saying_it_again_takes_the_doubt_away() -> None:
    still = new_fact("still", "gym", "The Foundry", "2025-11-16T21:00:00+00:00")
    known = arrived([LEEDS, GYM], [YORK], [still])
    assert known["gym"].doubtful_since == ""
    assert "still" not in known


def test_a_first_home_or_the_same_home_told_more_exactly_makes_nothing_doubtful() -> None:
    exact = new_fact("exact", "home", "Cardigan Road, Headingley, Leeds", "2025-04-01T20:00:00+00:00")
    known = arrived([GYM], [LEEDS], [exact])
    assert known["gym"].doubtful_since == ""
    assert current(known) == ["The Foundry", "Cardigan Road, Headingley, Leeds"]


def test_a_doubt_of_the_model_is_followed_only_beside_a_change_on_which_things_hang() -> None:
    friend = new_fact("friend", "neighbour's dog", "Rex", "2025-03-01T20:00:04+00:00")
    known = list(arrived([LEEDS, GYM, friend]).values())
    outcome = compare_facts([YORK], known, known, [], [DoubtDraft(3, 1)])
    assert {(one.fact, one.verdict) for one in outcome.changes} == {("gym", "doubts"), ("friend", "doubts")}
    assert outcome.replaced == {"leeds": "york"}
    tea = new_fact("tea", "favourite tea", "mint", "2025-04-01T20:00:00+00:00")
    assert compare_facts([tea], known, known, [], [DoubtDraft(3, 1)]).changes == ()


@pytest.mark.parametrize(
    ("over", "last_day", "boss"),
    [
        ("Mara and Tom are over.", "Mara's last day at Brightwater is 2025-08-22.", "Gareth is Mara's boss."),
        ("陈默和小雅分手了。", "陈默在百灵的最后一天是2025年8月22日。", "老韩是陈默的老板。"),
    ],
)
def test_a_doubt_of_the_model_has_the_cause_and_the_day_of_the_fact_that_it_names(
    over: str, last_day: str, boss: str
) -> None:
    tom = new_fact("tom", "partner", "Tom", "2025-03-01T20:00:00+00:00")
    known = list(arrived([tom, new_fact("boss", "boss", "Gareth", "2025-03-01T20:00:01+00:00", text=boss)]).values())
    ended = new_fact("over", "relationship status", "over", "2025-07-12T22:00:00+00:00", end="2025-07-06", text=over)
    leaves = {"start": "2025-08-22", "stance": "planned", "text": last_day}
    last = new_fact("last", "last day", "the 22nd", "2025-07-12T22:00:01+00:00", **leaves)
    for window, doubt in (([ended, last], 2), ([last], 1)):
        changes = compare_facts(window, known, known, [], [DoubtDraft(2, doubt)]).changes
        assert [(one.when, one.by) for one in changes if one.fact == "boss"] == [("2025-08-22", "last")]
    no_day = [replace(last, start="")]
    assert compare_facts(no_day, known, known, [], [DoubtDraft(2, 1)]).ignored == {"doubt without a change": 1}


@pytest.mark.parametrize(
    ("moved", "likes", "climbs"),
    [
        ("Mara moved to York.", "Mara likes tea.", "Mara climbs near the flat."),
        ("陈默搬到苏州了。", "陈默爱喝茶。", "陈默在家附近攀岩。"),
    ],
)
def test_a_doubt_of_the_model_that_names_what_changes_nothing_has_the_change_of_the_window_as_its_cause(
    moved: str, likes: str, climbs: str
) -> None:
    gym = new_fact("gym", "routine", "gym", "2025-03-01T20:00:01+00:00", text=climbs, single=False)
    known = list(arrived([LEEDS, gym]).values())
    york = new_fact("york", "home", "York", "2025-07-12T22:00:00+00:00", text=moved)
    tea = new_fact("tea", "likes", "tea", "2025-07-12T22:00:01+00:00", text=likes, single=False)
    for window, doubt in (([york, tea], 2), ([tea, york], 1)):
        changes = compare_facts(window, known, known, [], [DoubtDraft(2, doubt)]).changes
        assert [(one.verdict, one.by) for one in changes if one.fact == "gym"] == [("doubts", "york")]
    assert compare_facts([tea], known, known, [], [DoubtDraft(2, 1)]).ignored == {"doubt without a change": 1}


@pytest.mark.parametrize(
    ("gone", "both"),
    [
        ("Tom Lee went back to Hull.", "Two in the team are called Tom: Tom Lee and Tom Bell."),
        ("李昊回西安了。", "组里有两个小李：李楠和李昊。"),
    ],
)
def test_a_doubt_of_the_model_has_as_its_cause_what_is_said_of_somebody_whom_the_doubted_fact_names(
    gone: str, both: str
) -> None:
    who = "Tom Lee" if gone.isascii() else "李昊"
    team = new_fact("team", "colleague", both, "2025-12-20T20:00:00+00:00", text=both, single=False)
    known = list(arrived([LEEDS, team]).values())
    york = new_fact("york", "home", "York", "2026-04-25T21:00:00+00:00", start="2026-03")
    left = new_fact("left", "home", "Hull", york.said, subject=who, text=gone)
    (doubt,) = [
        one for one in compare_facts([left, york], known, known, [], [DoubtDraft(2, 1)]).changes if one.fact == "team"
    ]
    assert (doubt.verdict, doubt.by, doubt.when) == ("doubts", "left", left.said)
    only_asked = replace(left, stance="supposed")
    assert all(
        one.by != "left" for one in compare_facts([only_asked, york], known, known, [], [DoubtDraft(2, 1)]).changes
    )


@pytest.mark.parametrize(
    ("attribute", "says"), [("routine", "Mara gives Pickle her fluids."), ("习惯", "陈默一天半包烟")]
)
def test_a_habit_that_hangs_on_no_home_is_not_doubted_for_a_move_and_ends_with_a_death(
    attribute: str, says: str
) -> None:
    habit = new_fact("habit", attribute, says, "2025-03-01T20:00:01+00:00", text=says, single=False)
    assert arrived([LEEDS, habit], [YORK])["habit"].doubtful_since == ""
    died = new_fact("died", "death", "2025-11-09", "2025-11-16T21:00:00+00:00", start="2025-11-09")
    assert not arrived([habit], [died])["habit"].current


@pytest.mark.parametrize(
    ("home", "notice", "plan"),
    [
        ("Mara lives in a small flat in Headingley.", "Mara has given notice on her flat.", "Mara is moving to York."),
        ("陈默住在浦东的一套小房子里。", "陈默把房子退租了。", "陈默要搬到苏州去。"),
    ],
)
def test_notice_that_is_given_ends_nothing_before_the_day_of_the_plan(home: str, notice: str, plan: str) -> None:
    before = new_fact("home", "home", home, "2025-03-01T20:00:00+00:00", text=home)
    gives = new_fact("notice", "home", notice, "2025-08-30T18:00:00+00:00", text=notice)
    moves = new_fact("plan", "home", plan, gives.said, start="2025-10-18", stance="planned", text=plan)
    assert arrived([before], [gives, moves])["home"].current
    moved = new_fact("moved", "home", "York", "2025-10-25T18:00:00+00:00")
    assert arrived([before], [gives, moves], [moved])["home"].replaced_by == "moved"
    assert not arrived([before], [gives])["home"].current


@pytest.mark.parametrize(
    ("attribute", "before", "now", "plan"),
    [
        ("home", "Mara lives in Leeds.", "Mara lives in Hull.", "Mara is going to York."),
        ("home", "Mara lives in Leeds.", "Mara rents a flat in Hull.", "Mara is going to York."),
        ("employer", "Mara works at Asda.", "Mara works at Boots.", "Mara starts at Next in October."),
        ("home", "陈默住在浦东。", "陈默住在无锡。", "陈默要去苏州。"),
        ("employer", "陈默在百灵上班。", "陈默在蜀芯上班。", "陈默十月去云帆入职。"),
    ],
)
def test_a_new_home_or_employer_takes_the_place_of_the_old_one_although_the_next_is_planned(
    attribute: str, before: str, now: str, plan: str
) -> None:
    old = new_fact("old", attribute, before, "2025-03-01T20:00:00+00:00", text=before)
    new = new_fact("new", attribute, now, "2025-08-30T18:00:00+00:00", text=now)
    next_one = new_fact("next", attribute, plan, new.said, start="2025-10-18", stance="planned", text=plan)
    known = arrived([old], [new, next_one])
    assert (known["old"].replaced_by, known["new"].current) == ("new", True)


@pytest.mark.parametrize(("end", "since"), [("2025-09", "2025-09"), ("", "2025-10-01T20:00:00+00:00")])
def test_a_bond_that_is_told_as_over_makes_doubtful_what_hung_on_it(end: str, since: str) -> None:
    tom = new_fact("tom", "partner", "Tom", "2025-03-01T20:00:00+00:00")
    flat = new_fact("flat", "living with", "Tom", "2025-03-01T20:00:01+00:00")
    cooks = new_fact("cooks", "habit", "cooks", "2025-03-01T20:00:02+00:00", subject="Tom")
    over = new_fact("over", "partner", "broke up", "2025-10-01T20:00:00+00:00", end=end)
    moved = new_fact("moved", "home", "York", "2025-10-01T20:00:01+00:00", start="2025-09-30")
    known = list(arrived([LEEDS, tom, flat, cooks]).values())
    verdicts, doubts = [VerdictDraft(1, 2, "ends"), VerdictDraft(2, 1, "changes")], [DoubtDraft(4, 1)]
    found = {one.fact: one for one in compare_facts([over, moved], known, known, verdicts, doubts).changes}
    doubted = [found[name] for name in ("flat", "cooks")]
    assert [(one.verdict, one.when, one.by) for one in doubted] == [("doubts", since, "over")] * 2


DIED = new_fact("death", "died", "2025-11-09", "2025-11-16T21:00:00+00:00", subject="Pickle", start="2025-11-09")


@pytest.mark.parametrize(
    "days", [{"start": "2025-11-09"}, {"end": "2025-11-09"}, {"start": "2025-11-09", "end": "2025-11-09"}]
)
def test_a_death_ends_what_depends_on_the_one_who_died_and_stays_a_fact(days: dict[str, str]) -> None:
    pet = new_fact("pet", "pet", "Pickle", "2025-03-01T20:00:00+00:00")
    dose = new_fact("dose", "medication", "Semintra", "2025-03-01T20:00:01+00:00", subject="Pickle")
    born = new_fact("born", "birth date", "2012", "2025-03-01T20:00:02+00:00", subject="Pickle")
    vet = new_fact("vet", "plan", "the vet", "2025-03-01T20:00:03+00:00", stance="planned", persons=("Pickle",))
    death = replace(DIED, **{"start": "", "end": "", **days})
    known = arrived([pet, dose, born, vet, TEA], [death])
    assert {name: known[name].until for name in known} == {
        "pet": "2025-11-09", "dose": "2025-11-09", "vet": "2025-11-09", "born": "", "tea": "", "death": "",
    }  # fmt: skip
    assert known["death"].current
    assert known["death"].start == "2025-11-09"
    assert {fact.replaced_by for fact in known.values() if fact.until} == {"death"}


@pytest.mark.parametrize("how", ["Pickle was asleep on the jumper when she died.", "Pickle 是睡着走的。"])
def test_how_somebody_died_does_not_take_the_place_of_the_death(how: str) -> None:
    asleep = new_fact("asleep", "death", how, "2025-11-16T21:00:01+00:00", subject="Pickle", text=how)
    later = replace(asleep, text_id="later", said="2025-12-01T21:00:00+00:00", restatement=how + " !", value=how + " !")
    for windows in ([[DIED, asleep]], [[DIED], [later]]):
        assert all(fact.current for fact in arrived([], *windows).values())


@pytest.mark.parametrize("verdict", ["changes", "ends"])
def test_no_verdict_makes_a_death_something_of_the_past(verdict: Verdict) -> None:
    known = list(arrived([DIED]).values())
    grave = new_fact("grave", "grave", "under the pear tree", "2025-12-01T21:00:00+00:00", subject="Pickle")
    outcome = compare_facts([grave], known, known, [VerdictDraft(1, 1, verdict)])
    assert (outcome.changes, outcome.ignored) == ((), {"a death": 1})


COFFEE = {
    "en": ("Mara drinks two cups of coffee a day.", "two cups a day", "Mara drinks coffee only before noon.", "before noon",
           "Mara is down to one cup.", "Mara is now down to one cup."),
    "zh": ("陈默一天喝两杯咖啡。", "两杯", "陈默只在上午喝咖啡。", "上午", "陈默喝一杯。", "陈默现在只喝一杯。"),
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("together", [True, False])
def test_two_values_of_one_conversation_both_hold_unless_the_words_say_which_came_first(
    language: str, together: bool
) -> None:
    two_cups, two, before_noon, noon, _, one_cup = COFFEE[language]
    first = new_fact("first", "coffee", two, "2025-03-01T20:00:00+00:00", text=two_cups)
    other = new_fact("other", "coffee", noon, "2025-03-01T20:30:00+00:00", text=before_noon)
    known = arrived([first, other]) if together else arrived([first], [other])
    assert [fact.current for fact in known.values()] == [True, True]
    changed = new_fact("changed", "coffee", "1", "2025-03-01T20:40:00+00:00", text=one_cup)
    known = arrived([first], [changed])
    assert (known["first"].replaced_by, known["changed"].current) == ("changed", True)


def test_a_later_conversation_replaces_all_that_held_beside_each_other_and_what_it_repeats_is_confirmed() -> None:
    first = new_fact("first", "coffee", "two cups", "2025-03-01T20:00:00+00:00")
    other = new_fact("other", "coffee", "before noon", "2025-03-01T20:30:00+00:00")
    again = new_fact("again", "coffee", "before noon", "2025-06-01T20:30:00+00:00")
    none = new_fact("none", "coffee", "none", "2025-09-01T20:30:00+00:00")
    known = arrived([first, other], [again])
    assert [(name, fact.current) for name, fact in known.items()] == [("first", True), ("other", True)]
    assert known["other"].seen == again.said
    known = arrived([first, other], [again], [none])
    assert {fact.replaced_by for fact in known.values()} == {"none", ""}
    assert [name for name, fact in known.items() if fact.current] == ["none"]


def test_a_value_said_after_one_that_is_new_does_not_replace_it_in_the_same_conversation() -> None:
    first = new_fact("first", "home", "York", "2025-10-25T20:40:01+00:00", text="Mara has moved in, in York.")
    later = new_fact("later", "home", "Studio Green", "2025-10-25T20:40:26+00:00", text="Mara paints the bedroom.")
    assert all(fact.current for fact in arrived([first, later]).values())
    moved = replace(later, restatement="Mara moved to Hull instead.")
    assert arrived([first, moved])["first"].replaced_by == "later"


@pytest.mark.parametrize("attribute", ["plan", "trip", "driving test"])
def test_what_was_planned_then_put_off_and_then_done_keeps_its_days(attribute: str) -> None:
    may = new_fact("may", attribute, "driving test", "2025-04-20T20:00:00+00:00", stance="planned", start="2025-05-07")
    june = replace(may, text_id="june", said="2025-05-01T20:00:00+00:00", start="2025-06-11", messages=("june",))
    done = replace(june, text_id="done", said="2025-06-12T20:00:00+00:00", stance="stated", messages=("done",))
    known = arrived([may], [june])
    assert [(fact.start, fact.current) for fact in known.values()] == [("2025-05-07", False), ("2025-06-11", True)]
    assert known["may"].replaced_by == "june"
    known = arrived([may], [june], [done])
    assert [(fact.start, fact.current) for fact in known.values()] == [
        ("2025-05-07", False), ("2025-06-11", False), ("2025-06-11", True),
    ]  # fmt: skip
    assert (known["may"].replaced_by, known["june"].replaced_by) == ("june", "done")


def test_a_move_that_was_announced_and_put_off_begins_on_the_later_day() -> None:
    later = replace(YORK, text_id="later", said="2025-10-10T18:00:00+00:00", start="2025-11-01")
    known = arrived([LEEDS], [YORK], [later])
    assert [(fact.start, fact.until) for fact in known.values()] == [
        ("", "2025-10-18"), ("2025-10-18", "2025-11-01"), ("2025-11-01", ""),
    ]  # fmt: skip


def test_what_happened_on_two_days_happened_twice() -> None:
    first = new_fact("first", "trip", "Lisbon", "2025-03-01T20:00:00+00:00", start="2024-05-01")
    second = new_fact("second", "trip", "Lisbon", "2025-09-01T20:00:00+00:00", start="2025-08-03")
    known = list(arrived([first]).values())
    outcome = compare_facts([second], known, known, [VerdictDraft(1, 1, "same")])
    assert ([fact.text_id for fact in outcome.facts], outcome.changes) == (["second"], ())


def test_an_event_that_is_over_is_not_doubted() -> None:
    trip = new_fact("trip", "trip", "Lisbon with Tom", "2025-03-01T20:00:00+00:00", start="2024-05-01")
    tom = new_fact("tom", "partner", "Tom", "2025-03-01T20:00:01+00:00")
    rafe = new_fact("rafe", "partner", "Rafe", "2026-01-10T20:00:00+00:00")
    assert arrived([trip, tom], [rafe])["trip"].doubtful_since == ""


@pytest.mark.parametrize("basis", ["quoted", "inferred"])
@pytest.mark.parametrize("verdict", ["same", "changes", "ends", "corrects"])
def test_only_verified_facts_change_or_confirm_anything(basis: Basis, verdict: Verdict) -> None:
    known = list(arrived([LEEDS, GYM]).values())
    for said in (replace(YORK, basis=basis), replace(LEEDS, text_id="again", said=YORK.said, basis=basis)):
        outcome = compare_facts([said], known, known, [VerdictDraft(1, 1, verdict)], [DoubtDraft(2, 1)])
        assert outcome.facts == (said,)
        assert (outcome.changes, outcome.replaced) == ((), {})
        assert find_near([said], known) == ()
    quoted = [replace(fact, verified=False, learned_as=basis) for fact in known]
    outcome = compare_facts([YORK], quoted, quoted, [VerdictDraft(1, 1, verdict)])
    assert (outcome.facts, outcome.changes, outcome.replaced) == ((YORK,), (), {})


def test_a_death_that_is_only_quoted_ends_nothing() -> None:
    known = list(arrived([new_fact("pet", "pet", "Pickle", "2025-03-01T20:00:00+00:00")]).values())
    assert compare_facts([replace(DIED, basis="quoted")], known).changes == ()


def test_a_quotation_that_repeats_a_quotation_is_stored_once() -> None:
    said = replace(LEEDS, basis="quoted")
    known = list(arrived([said]).values())
    known = [replace(fact, verified=False, learned_as="quoted") for fact in known]
    assert compare_facts([replace(said, text_id="again")], known).facts == ()


def test_a_fact_sees_all_of_its_slot_of_what_depends_on_it_and_of_slots_like_it_whatever_else_is_near() -> None:
    told = "2025-03-01T20:{:02}:00+00:00"
    many = [new_fact(f"n{n}", "likes", f"thing {n}", told.format(n)) for n in range(50)]
    likes = new_fact("new", "likes", "thing 51", "2025-04-01T20:00:00+00:00")
    heavy = new_fact("heavy", "weight", "209 pounds", told.format(51))
    goal = new_fact("goal", "target weight", "190 pounds", told.format(52))
    light = new_fact("light", "weight", "203 pounds", "2025-04-01T20:00:00+00:00")
    known = list(arrived([LEEDS, GYM, RENT, heavy, goal], many).values())
    near = {fact.text_id for fact in find_near([likes, light, YORK], known)}
    assert {"heavy", "goal", "leeds", "gym", "rent"} <= near
    assert len(near) == MOST_COMPARED


def test_one_new_fact_changes_all_the_known_ones_of_which_a_model_says_so() -> None:
    known = list(arrived([LEEDS, GYM, RENT, TEA]).values())
    verdicts = read_comparison('[{"new": 1, "verdict": "changes", "known": [2, 4]}]', 1).verdicts
    outcome = compare_facts([YORK], known, known, verdicts)
    assert [one.fact for one in outcome.changes if one.verdict == "changes"] == ["rent"]
    assert outcome.replaced == {"leeds": "york"}
    later = {fact.text_id: fact for fact in stored(known, outcome)}
    assert [later[name].replaced_by for name in ("leeds", "rent", "tea")] == ["york", "york", ""]


PLAN = new_fact("plan", "home", "York", "2025-08-30T18:00:00+00:00", stance="planned", note="move")
THERE = new_fact("there", "home", "the new flat in York", "2025-10-25T20:00:00+00:00", start="2025-10-25")


@pytest.mark.parametrize(
    ("learned", "doubted"),
    [
        (new_fact("rent", "rent", "925", PLAN.said, messages=PLAN.messages, start="2025-10-18", note="a"), False),
        (new_fact("rent", "rent", "925", PLAN.said, note="move"), False),
        (new_fact("rent", "rent", "925", "2025-09-10T18:00:00+00:00", start="2025-11", note="b"), False),
        (new_fact("rent", "rent", "925", "2025-10-25T19:00:00+00:00", note="b"), False),
        (new_fact("rent", "rent", "780", "2025-08-30T18:00:00+00:00", note="b"), True),
        (new_fact("rent", "rent", "780", "2025-09-10T18:00:00+00:00", start="2025-02", note="b"), True),
        (new_fact("rent", "rent", "780", LEEDS.said, messages=LEEDS.messages, note="b"), True),
    ],
    ids=["the turn of the plan", "the note of the plan", "of later", "the same day", "another note", "of before",
         "the turn of the old home"],
)  # fmt: skip
def test_what_was_learned_with_a_change_is_not_doubted_by_it(learned: NewFact, doubted: bool) -> None:
    known = list(arrived([LEEDS], [replace(PLAN, note="move")], [learned]).values())
    known = [replace(one, note=learned.note) if one.text_id == "rent" else one for one in known]
    asked = [DoubtDraft(at, 1) for at, one in enumerate(known, 1) if one.text_id == "rent"]
    outcome = compare_facts([THERE], known, known, [], asked)
    found = {one.fact: one.verdict for one in outcome.changes}
    assert found.get("rent", "") == ("doubts" if doubted else "")
    assert outcome.replaced == {"leeds": "there"}


def test_what_was_learned_with_a_home_that_was_to_come_is_not_doubted_when_it_has_come() -> None:
    ahead = replace(YORK, note="move")
    rent = new_fact("rent", "rent", "925", YORK.said, messages=YORK.messages, note="move")
    known = arrived([LEEDS, GYM], [ahead, rent], [THERE])
    assert (known["rent"].doubtful_since, known["gym"].doubtful_since) == ("", "2025-10-18")


def test_what_a_person_keeps_is_not_doubted() -> None:
    known = [replace(fact, kept=fact.text_id == "gym") for fact in arrived([LEEDS, GYM]).values()]
    outcome = compare_facts([YORK], known, known, [], [DoubtDraft(2, 1)])
    assert (outcome.changes, outcome.replaced) == ((), {"leeds": "york"})


def test_the_nearest_known_facts_are_shown_and_only_so_many() -> None:
    known = list(arrived([LEEDS, GYM, TEA, RENT]).values())
    assert find_near([YORK], known)[0].text_id == "leeds"
    assert {"gym", "rent"} <= {fact.text_id for fact in find_near([YORK], known)}
    assert "tea" not in {fact.text_id for fact in find_near([YORK], known)}
    many = [new_fact(f"n{n}", "likes", f"thing {n}", f"2025-03-01T20:{n:02}:00+00:00") for n in range(50)]
    assert len(find_near([many[0]], list(arrived(many).values()))) == MOST_COMPARED
    assert find_near([], known) == ()


@pytest.mark.parametrize(
    ("attribute", "old", "new", "hangs", "idle"),
    [
        ("home", "a small flat in Headingley", "Fishergate in York", "The gym is two streets from Mara's flat.",
         "Mara read a book about the flat, part {}."),
        ("住处", "浦东的小房子", "苏州园区", "健身房离陈默的小房子两条街。", "陈默读了一本讲小房子的书，第{}章。"),
        ("death", "", "died", "Mara has a cat, Pickle.", "Mara likes what Pickle likes, part {}."),
        ("去世", "", "走了", "陈默养了一只猫，叫汤圆。", "陈默喜欢汤圆喜欢的东西，第{}样。"),
    ],
)  # fmt: skip
def test_what_names_a_home_that_changes_or_who_died_is_compared_though_others_name_it_too(
    attribute: str, old: str, new: str, hangs: str, idle: str
) -> None:
    dies = "Pickle" if hangs.isascii() else "汤圆"
    day = "2025-03-01T20:00:{:02}+00:00"
    before = [new_fact("old", attribute, old, day.format(0), text=old)] if old else []
    hanging = new_fact("hangs", "note" if old else "pet", hangs, day.format(1), text=hangs, single=False)
    named = [new_fact(f"n{n}", "book", f"{n}", day.format(n + 2), text=idle.format(n)) for n in range(6)]
    others = [new_fact(f"o{n}", "walk", f"{n}", day.format(n + 10), text=f"York 苏州 died 走了 {n}") for n in range(9)]
    subject = {} if old else {"subject": dies}
    change = new_fact(
        "new", attribute, new, "2025-10-25T20:00:00+00:00", text=f"{dies} {new}" if not old else new, **subject
    )
    known = list(arrived(before, [hanging], named, others).values())
    assert "hangs" in {fact.text_id for fact in find_near([change], known, most=9)}


def test_a_name_that_was_misheard_is_near_by_its_rare_words() -> None:
    wrong = new_fact(
        "wrong", "name", "Annette", "2025-03-29T19:30:00+00:00", subject="Annette", text="Annette is Mara's sister."
    )
    right = new_fact(
        "right",
        "name",
        "Annika",
        "2025-05-17T21:00:00+00:00",
        subject="Annika",
        text="Mara's sister is Annika, not Annette.",
    )
    known = list(arrived([wrong, TEA, GYM]).values())
    assert find_near([right], known)[0].text_id == "wrong"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("£38,500", "38500 pounds", True), ("三万一", "31000元", True), ("The Foundry", "the foundry", True),
        ("York", "Leeds", False), ("£925", "£960", False), ("半包", "一包", False), ("one a day", "three a day", False),
        ("净尘科技", "蜀芯", False), ("34:10", "31:20", False),
    ],
)  # fmt: skip
def test_values_are_equal_however_they_are_written(one: str, other: str, same: bool) -> None:
    assert same_value(one, other) is same
    assert same_value(other, one) is same


def test_what_is_told_as_over_ends_what_was_known_from_the_day_it_was_over() -> None:
    tom = list(arrived([new_fact("tom", "partner", "Tom", "2025-03-01T20:00:00+00:00")]).values())
    over = new_fact("over", "partner", "Tom, over", "2025-07-12T20:00:00+00:00", end="2025-07-06")
    known = {fact.text_id: fact for fact in stored(tom, compare_facts([over], tom, tom, [VerdictDraft(1, 1, "ends")]))}
    assert (known["tom"].until, known["tom"].replaced_by) == ("2025-07-06", "over")
    assert current(known) == []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_values_told_in_one_breath_the_one_that_takes_a_place_is_current(order: tuple[int, int]) -> None:
    before = list(arrived([new_fact("none", "smoking", "戒烟", "2025-08-16T21:00:00+00:00")]).values())
    now = new_fact("half", "smoking", "一天半包", "2025-12-20T22:00:00+00:00")
    past = new_fact("months", "smoking", "整整三个月", "2025-12-20T22:00:00+00:00")
    new = [(now, past)[at] for at in order]
    verdict = VerdictDraft(new.index(now) + 1, 1, "changes")
    known = stored(before, compare_facts(new, before, before, [verdict]))
    assert current({fact.text_id: fact for fact in known}) == ["一天半包"]


@pytest.mark.parametrize("attribute", ["plan", "holiday"])
@pytest.mark.parametrize("text", ["Portugal is off for Mara.", "葡萄牙的旅行取消了。"])
def test_what_only_says_that_something_is_over_is_not_doubted(attribute: str, text: str) -> None:
    tom = new_fact("tom", "partner", "Tom", "2025-03-01T20:00:00+00:00")
    off = new_fact("off", attribute, "off", "2025-07-12T20:00:00+00:00", text=text, single=False)
    known = list(arrived([tom], [off]).values())
    rafe = new_fact("rafe", "partner", "Rafe", "2026-01-10T20:00:00+00:00")
    found = compare_facts([rafe], known, known, [VerdictDraft(1, 1, "changes")])
    assert (found.changes, found.replaced) == ((), {"tom": "rafe"})


def test_an_end_beside_a_value_is_not_changed_by_what_comes_after_it() -> None:
    half = new_fact("half", "smoking", "half a pack", "2025-12-20T20:00:00+00:00")
    three, cold = (
        new_fact(name, "smoking", name, "2025-12-20T20:00:00+00:00", text=text, single=False)
        for name, text in (("three", "Mara stopped smoking for three months."), ("cold", "Mara smokes outside."))
    )
    known = list(arrived([half, three, cold]).values())
    single = [replace(one, slot=half.slot) for one in known]
    later = replace(half, text_id="later", value="a pack", said="2026-03-01T20:00:00+00:00", single=True)
    assert {one.fact for one in compare_facts([later], single).changes} == {"cold"}


@pytest.mark.parametrize("order", [(2, 1), (1, 2)])
def test_of_two_that_change_one_known_fact_the_one_of_its_own_matter_takes_its_place(order: tuple[int, int]) -> None:
    zhonghe = new_fact("zhonghe", "住处", "跟李昊在中和合租", "2025-12-20T22:00:00+00:00", subject="陈默")
    gone = new_fact("gone", "住处", "回西安了", "2026-04-25T21:00:00+00:00", subject="李昊")
    there = new_fact("there", "住处", "一个人搬到桐梓林", "2026-04-25T21:00:00+00:00", subject="陈默", start="2026-03")
    before = list(arrived([zhonghe]).values())
    verdicts = [VerdictDraft(new, 1, "changes") for new in order]
    outcome = compare_facts([gone, there], before, before, verdicts)
    after = {fact.text_id: fact for fact in stored(before, outcome)}
    assert (after["zhonghe"].replaced_by, after["zhonghe"].until) == ("there", "2026-03")


def test_a_plan_for_the_same_matter_takes_no_doubt_away() -> None:
    employer = new_fact("employer", "公司", "净尘科技", "2025-04-05T20:00:00+00:00", subject="Mara")
    salary = new_fact("salary", "月薪", "两万六", "2025-04-05T20:00:00+00:00", subject="Mara")
    left = new_fact("left", "公司", "离开净尘", "2025-08-16T20:00:00+00:00", subject="Mara", end="2025-07")
    plan = new_fact("plan", "月薪", "三万一", left.said, subject="Mara", stance="planned", start="2025-09-08")
    known = list(arrived([employer, salary]).values())
    reply = '{"verdicts": [{"new": 1, "verdict": "ends", "known": [3], "doubts": [4]}]}'
    read = read_comparison(reply, 2)
    outcome = compare_facts([left, plan], known, known, read.verdicts, read.doubts)
    assert ("salary", "doubts", "left") in {(one.fact, one.verdict, one.by) for one in outcome.changes}


def test_a_doubt_needs_no_verdict_beside_it() -> None:
    read = read_comparison('{"verdicts": [{"new": 2, "doubts": [6, 7]}]}', 2)
    assert (read.verdicts, read.doubts) == ((), (DoubtDraft(4, 2), DoubtDraft(5, 2)))


@pytest.mark.parametrize(
    ("value", "text", "again", "ends"),
    [
        ("boyfriend Tom", "Tom is Mara's boyfriend.", "Tom and I are over", "Mara and Tom are over; Tom told her on Sunday 2025-07-06."),
        ("男朋友赵磊", "赵磊是陈默的男朋友。", "赵磊", "陈默和赵磊分手了，2025-07-06说的。"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verdicts", [[], [VerdictDraft(1, 1, "ends")], [VerdictDraft(1, 1, "same")]])
def test_an_end_is_never_merged_into_what_it_ends(
    verdicts: list[VerdictDraft], value: str, text: str, again: str, ends: str
) -> None:
    together = new_fact("together", "partner", value, "2025-03-01T20:00:00+00:00", text=text)
    over = new_fact("over", "partner", again, "2025-07-12T22:15:00+00:00", text=ends, start="2025-07-06")
    before = list(arrived([together]).values())
    known = {fact.text_id: fact for fact in stored(before, compare_facts([over], before, before, verdicts))}
    assert (known["together"].until, known["together"].replaced_by) == ("2025-07-06", "over")
    assert known["over"].current


def test_an_end_in_a_slot_of_several_values_is_not_the_same_though_a_model_says_so() -> None:
    trip = new_fact("trip", "trip", "Portugal", "2025-03-29T20:00:00+00:00", text="Mara goes to Portugal.")
    off = new_fact("off", "trip", "Portugal", "2025-07-12T20:00:00+00:00", text="Mara's trip to Portugal is cancelled.")
    known = list(arrived([trip]).values())
    assert [fact.text_id for fact in compare_facts([off], known, known, [VerdictDraft(1, 1, "same")]).facts] == ["off"]


@pytest.mark.parametrize(
    ("value", "text", "again", "other"),
    [
        ("I'll keep it to myself", "Juniper said it would keep Mara's interview at Osprey Energy to itself.",
         "I'll keep it", "Juniper promised Mara to keep the haiku."),
        ("我不会说出去", "老友答应不把陈默面试的事说出去。", "我不会说出去", "老友答应不把陈默怀孕的事说出去。"),
    ],
)  # fmt: skip
def test_promises_about_different_things_are_two(value: str, text: str, again: str, other: str) -> None:
    first = new_fact("first", "promise", value, "2025-05-17T20:00:00+00:00", subject="Juniper", text=text)
    second = new_fact("second", "promise", again, "2025-11-16T20:00:00+00:00", subject="Juniper", text=other)
    known = list(arrived([first]).values())
    assert [fact.text_id for fact in compare_facts([second], known).facts] == ["second"]
    repeated = replace(first, text_id="repeated", said="2025-06-01T20:00:00+00:00")
    assert compare_facts([repeated], known).facts == ()


@pytest.mark.parametrize(
    ("attribute", "value", "text"),
    [
        ("10K time", "the Knavesmire 10K 2026-04-26, 58:30", "Mara ran the Knavesmire 10K on Sunday 2026-04-26 in 58:30."),
        ("体重", "52公斤", "陈默2026-04-26称了体重，52公斤。"),
    ],
)  # fmt: skip
def test_what_was_measured_on_one_day_holds_until_the_next_value(attribute: str, value: str, text: str) -> None:
    ran = new_fact(
        "ran", attribute, value, "2026-05-02T20:00:00+00:00", text=text, start="2026-04-26", end="2026-04-26"
    )
    known = arrived([ran])
    assert (known["ran"].current, known["ran"].since) == (True, "2026-04-26")
    later = new_fact("later", attribute, "49", "2026-06-02T20:00:00+00:00")
    assert arrived([ran], [later])["ran"].until == "2026-06-02T20:00:00+00:00"


@pytest.mark.parametrize(
    ("title", "boss", "got", "starts"),
    [
        ("claims analyst", "Gareth", "Mara got the job at Osprey.", "Mara starts at Osprey on the 1st of September 2025."),
        ("理赔员", "高经理", "陈默拿到了蜀芯的工作。", "陈默2025年9月1日去蜀芯入职。"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verdicts", [[], [VerdictDraft(1, 1, "changes")]])
def test_a_job_that_begins_later_changes_and_doubts_nothing_before_its_day(
    verdicts: list[VerdictDraft], title: str, boss: str, got: str, starts: str
) -> None:
    known = list(
        arrived([
            new_fact("now", "job title", title, "2025-03-01T20:00:00+00:00"),
            new_fact("boss", "boss", boss, "2025-03-01T20:00:00+00:00"),
        ]).values()
    )  # fmt: skip
    job = new_fact("job", "job", got, "2025-07-12T22:15:00+00:00", text=got)
    ahead = new_fact("ahead", "job start", starts, job.said, text=starts, stance="planned", start="2025-09-01")
    after = {one.text_id: one for one in stored(known, compare_facts([job, ahead], known, known, verdicts))}
    assert (after["now"].until, after["now"].replaced_by) == ("2025-09-01", "job")
    assert (after["job"].since, after["boss"].doubtful_since) == ("2025-09-01", "2025-09-01")
    other = replace(ahead, note="another matter")
    assert {one.when for one in compare_facts([job, other], known, known, verdicts).changes} == {job.said}


@pytest.mark.parametrize(
    ("promise", "happened"),
    [
        ("Juniper promised Mara to ask how she is around the 3rd of November, Tom's birthday.",
         "Tom's birthday came and went; it was all right for Mara in the end."),
        ("老友答应陈默11月3日赵磊生日那天问他怎么样。", "赵磊的生日过去了，陈默没事。"),
    ],
)  # fmt: skip
def test_a_promise_of_the_companion_ends_with_what_happened_to_the_person(promise: str, happened: str) -> None:
    promised = new_fact("promised", "promise", "I'll ask", "2025-07-12T22:15:00+00:00", subject="Juniper", text=promise)
    tastes = new_fact("tastes", "likes", "rooks", "2025-07-12T22:15:00+00:00", subject="Juniper")
    new = new_fact("new", "Tom's birthday", "all right in the end", "2025-11-16T20:00:00+00:00", text=happened)
    known = list(arrived([promised, tastes]).values())
    outcome = compare_facts([new], known, known, [VerdictDraft(1, 1, "ends"), VerdictDraft(1, 2, "ends")])
    assert [(one.fact, one.verdict, one.by) for one in outcome.changes] == [("promised", "ends", "new")]
    assert outcome.ignored == {"of somebody else": 1}


@pytest.mark.parametrize(
    ("attribute", "lasting", "deed"),
    [
        ("工作", "何嘉树在合肥一家做仪表的厂里当质检。", "何嘉树的报告2026-10-23压着点交的，差五分钟。"),
        ("work", "Imogen does the framing at a framer's.", "Imogen handed in the report on 2026-10-23."),
        ("女朋友", "何嘉树的女朋友是林筱。", "何嘉树2026-10-23跟女朋友吵了一架。"),
        ("home", "Imogen has a flat in Lewes.", "Imogen painted the kitchen on 2026-10-23."),
        ("work", "Imogen works at a bank.", "Imogen worked late on 2026-10-23."),
        ("partner", "Imogen's partner is Tom.", "Imogen had dinner with Tom on 2026-10-23."),
        ("partner", "Imogen's partner is Tom.", "Imogen met up with Tom on 2026-10-23."),
        ("home", "Imogen lives in Lewes.", "Imogen visited her parents in York on 2026-10-23."),
        ("工作", "何嘉树在银行当柜员。", "何嘉树2026-10-23加班到十一点。"),
        ("女朋友", "何嘉树的女朋友是林筱。", "何嘉树2026-10-23跟林筱吃饭。"),
    ],
)
def test_a_deed_of_a_day_takes_the_place_of_no_lasting_state(attribute: str, lasting: str, deed: str) -> None:
    before = new_fact("state", attribute, lasting, "2026-10-02T19:00:00+00:00", text=lasting)
    done = new_fact("deed", attribute, deed, "2026-10-24T19:00:00+00:00", start="2026-10-23", text=deed)
    known = arrived([before], [done])
    assert (known["state"].current, known["state"].replaced_by) == (True, "")


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("工作", "何嘉树2026-10-23当上了车间主任。"), ("工作", "何嘉树2026-10-23被裁了。"),
        ("work", "Imogen was made redundant on 2026-10-23."), ("home", "Imogen moved to York on 2026-10-23."),
        ("relationship status", "Imogen married Tom on 2026-10-23."),
        ("work", "Imogen was appointed head nurse on 2026-10-23."), ("work", "Imogen took up a post in Hull on 2026-10-23."),
        ("work", "Imogen transferred to Hull on 2026-10-23."), ("work", "Imogen opened her own bakery on 2026-10-23."),
        ("work", "Imogen handed in her notice on 2026-10-23."), ("home", "Imogen relocated to York on 2026-10-23."),
        ("home", "Imogen emigrated to Chile on 2026-10-23."), ("partner", "Imogen eloped with Tom on 2026-10-23."),
        ("relationship status", "Imogen and Tom tied the knot on 2026-10-23."),
        ("工作", "何嘉树2026-10-23被任命为厂长。"), ("工作", "何嘉树2026-10-23调到上海分公司。"),
        ("工作", "何嘉树2026-10-23跳槽到华为。"), ("工作", "何嘉树2026-10-23去了华为。"),
        ("home", "何嘉树2026-10-23定居大理。"), ("home", "何嘉树2026-10-23落户上海。"),
        ("relationship status", "何嘉树2026-10-23和林筱领证。"), ("女朋友", "何嘉树2026-10-23和林筱确定关系。"),
        ("女朋友", "何嘉树2026-10-23交了新女朋友小唐。"),
    ],
)  # fmt: skip
def test_a_state_that_began_or_ended_on_a_day_takes_the_place_of_the_one_before(attribute: str, text: str) -> None:
    before = new_fact("state", attribute, "as it was", "2026-10-02T19:00:00+00:00", text="It is as it was.")
    after = new_fact("after", attribute, text, "2026-10-24T19:00:00+00:00", start="2026-10-23", text=text)
    assert not arrived([before], [after])["state"].current


def test_what_a_model_says_changes_another_fact_changes_none_that_only_shares_its_attribute() -> None:
    job = new_fact("job", "工作", "质检", "2026-10-02T19:00:00+00:00")
    report = new_fact("report", "烦恼", "报告还差一大半", "2026-10-20T19:00:00+00:00")
    done = new_fact("done", "工作", "报告总算弄完了", "2026-10-24T19:00:00+00:00")
    known = arrived([job, report])
    outcome = compare_facts([done], list(known.values()), [known["job"], known["report"]],
                            [VerdictDraft(1, 2, "changes")])  # fmt: skip
    after = {fact.text_id: fact for fact in stored(list(known.values()), outcome)}
    assert (after["job"].current, after["report"].replaced_by) == (True, "done")


@pytest.mark.parametrize(
    ("plan", "value", "told"),
    [
        ("Mara goes on a boat trip on 6 June 2026.", "boat trip", "The boat trip is cancelled."),
        ("陈默六月六号去划船。", "划船", "划船取消了。"),
    ],
)
def test_a_cancelled_outing_ends_its_plan_under_whatever_name(plan: str, value: str, told: str) -> None:
    planned = {"text": plan, "stance": "planned", "start": "2026-06-06", "single": False}
    known = stored([], compare_facts([new_fact("plan", "outing", value, "2026-05-20T10:00:00", **planned)], []))
    gone = new_fact("gone", "status", "cancelled", "2026-06-01T10:00:00", subject="the boat", text=told, single=False)
    tea = replace(gone, text_id="tea", restatement=told.replace("boat trip", "tea").replace("划船", "喝茶"))
    assert [(one.fact, one.verdict) for one in compare_facts([gone], known).changes] == [("plan", "ends")]
    assert compare_facts([tea], known).changes == ()


def test_a_plan_ends_with_the_news_and_a_state_when_what_follows_it_begins() -> None:
    text = "Mara got the job at Osprey."
    for stance, value, until in [
        ("planned", "they'll let me know by the 21st", True),
        ("stated", "claims analyst", False),
    ]:
        known = list(arrived([new_fact("now", "job", value, "2026-10-09T20:00:00+00:00", stance=stance)]).values())
        job = new_fact("job", "job", text, "2026-10-22T20:00:00+00:00", text=text, start="2026-11-16")
        after = stored(known, compare_facts([job], known, known, [VerdictDraft(1, 1, "changes")]))
        assert after[0].until == (job.said if until else "2026-11-16")


@pytest.mark.parametrize(
    ("tom", "over", "rafe", "attribute"),
    [
        ("Tom is Mara's boyfriend.", "Mara and Tom broke up.", "Mara is seeing Rafe, a baker.", "partner"),
        ("Tom is Mara's boyfriend.", "Mara and Tom are over.", "Mara is seeing Rafe.", "relationship status"),
        ("陈默的女朋友叫林筱。", "陈默和林筱分手了。", "陈默和王小雅在一起了。", "伴侣"),
        ("Mara works at Brightwater.", "Mara quit her job at Brightwater.", "Mara works at Osprey.", "employer"),
    ],
)
def test_that_something_is_over_stays_true_beside_what_comes_after_it(
    tom: str, over: str, rafe: str, attribute: str
) -> None:
    facts = [
        new_fact(f"f{at}", attribute, text, f"2025-{month}-06T20:00:00+00:00", text=text)
        for at, (text, month) in enumerate([(tom, "03"), (over, "07"), (rafe, "10")])
    ]
    known = arrived(*([one] for one in facts))
    assert [known[one].current for one in ("f0", "f1", "f2")] == [False, True, True]
    assert (known["f0"].until, known["f0"].replaced_by) == (facts[1].said, "f1")
    assert arrived(facts[1:2], facts[2:])["f1"].current  # nothing was known of what is over


def test_who_has_none_now_may_have_one_later() -> None:
    none = new_fact("none", "employer", "no job", "2025-03-06T20:00:00+00:00", text="Mara has no job.")
    job = new_fact("job", "employer", "Osprey", "2025-07-06T20:00:00+00:00", text="Mara works at Osprey.")
    assert current(arrived([none], [job])) == ["Osprey"]


@pytest.mark.parametrize(
    ("before", "offered", "agreed", "elsewhere"),
    [
        ("Brightwater pays Mara £38,500.", "Osprey pays Mara £44,000 from September.", "Osprey agreed to £45,500.",
         "Brightwater raised Mara's pay to £40,000."),
        ("建木给陈默每月26000元。", "溪山九月起给陈默每月31000元。", "溪山答应给32000元。", "建木把陈默的月薪加到27000元。"),
    ],
)  # fmt: skip
def test_a_pay_that_is_agreed_before_the_job_begins_is_that_of_the_job(
    before: str, offered: str, agreed: str, elsewhere: str
) -> None:
    def pay(name: str, text: str, month: str, start: str = "") -> NewFact:
        value = next(iter(find_numbers(text)))
        return new_fact(name, "salary", value, f"2025-{month}-12T20:00:00+00:00", text=text, start=start)

    first, offer = pay("first", before, "03"), pay("offer", offered, "07", "2025-09-01")
    known = arrived([first], [offer], [pay("agreed", agreed, "08")])
    assert (known["first"].until, known["offer"].replaced_by) == ("2025-09-01", "agreed")
    assert (known["agreed"].start, known["agreed"].current) == ("2025-09-01", True)
    known = arrived([first], [offer], [pay("raised", elsewhere, "08")])
    assert (known["first"].replaced_by, known["raised"].replaced_by) == ("raised", "offer")


@pytest.mark.parametrize("stance", ["stated", "planned"])
def test_what_was_awaited_is_over_with_the_news_and_not_when_what_it_tells_of_begins(stance: str) -> None:
    wait = new_fact("wait", "answer", "by the 21st", "2026-10-10T20:00:00+00:00", end="2026-10-21", stance=stance)
    got = new_fact("got", "employer", "the museum", "2026-10-22T20:00:00+00:00", start="2026-11-16")
    known = stored([], compare_facts([wait], []))
    outcome = compare_facts([got], known, known, [VerdictDraft(new=1, known=1, verdict="ends")])
    assert [one.when for one in outcome.changes] == [got.said]


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        ("Mara smokes a pack a day.", "Mara has said a hundred times that she'll quit smoking."),
        ("陈默一天抽一包烟。", "陈默说了八百遍要戒烟。"),
    ],
)
def test_what_somebody_keeps_saying_that_they_will_do_changes_nothing(fact: str, says: str) -> None:
    smokes = new_fact("smokes", "smoking", "a pack", "2025-04-05T20:00:01+00:00", text=fact)
    for when in ("2025-04-05T20:00:09+00:00", "2025-06-05T20:00:00+00:00"):
        will = new_fact("will", "smoking", "quit", when, text=says)
        known = arrived([smokes, will]) if when.startswith("2025-04") else arrived([smokes], [will])
        assert (known["smokes"].current, known["will"].current) == (True, True)


@pytest.mark.parametrize(
    ("pays", "starts", "before"),
    [
        ("Mara's job at Osprey pays £44,000.", "Mara starts at Osprey on the 1st of September.", "Acme pays £38,500."),
        ("陈默在溪山的月薪是31000元。", "陈默九月一日到溪山上班。", "建木每月给26000元。"),
    ],
)
def test_the_pay_of_a_job_to_come_begins_with_the_job(pays: str, starts: str, before: str) -> None:
    said = "2025-07-12T20:00:00+00:00"
    pay = new_fact("pay", "salary", next(iter(find_numbers(pays))), said, text=pays)
    start = new_fact("start", "plan", "", said, text=starts, stance="planned", start="2025-09-01")
    now = new_fact("now", "salary", next(iter(find_numbers(before))), "2025-03-01T20:00:00+00:00", text=before)
    known = arrived([now], [pay, start])
    assert (known["now"].until, known["now"].replaced_by, known["pay"].start) == ("2025-09-01", "pay", "2025-09-01")


@pytest.mark.parametrize(
    ("attribute", "value", "other", "leaves"),
    [
        ("employer", "Brightwater", "Acme", "Mara's last day at Brightwater is the 22nd of August."),
        ("home", "Headingley", "York", "Mara moves out of Headingley on the 22nd of August."),
        ("工作单位", "净尘科技", "蜀芯", "陈默在净尘科技的最后一天是8月22日。"),
    ],
)
def test_the_last_day_of_a_job_or_in_a_home_makes_doubtful_that_it_goes_on(
    attribute: str, value: str, other: str, leaves: str
) -> None:
    said = "2025-07-12T20:00:00+00:00"
    last = new_fact("last", "plan", "", said, text=leaves, stance="planned", start="2025-08-22", end="2025-08-22")
    for place, since in ((value, "2025-08-22"), (other, "")):
        known = arrived([new_fact("now", attribute, place, "2025-03-01T20:00:00+00:00")], [last])
        assert (known["now"].doubtful_since, known["now"].current) == (since, True)


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        ("home", {"Leeds": "Mara lives in Leeds.", "York": "Mara no longer lives in Leeds but in York.",
                  "Bath": "Mara lives in Bath."}),
        ("partner", {"Tom": "Tom is Mara's boyfriend.", "Rafe": "Mara is not with Tom any more but with Rafe.",
                     "Ed": "Mara is seeing Ed."}),
        ("job title", {"teacher": "Mara is a teacher.", "baker": "Mara quit teaching and is a baker.",
                       "pilot": "Mara is a pilot."}),
        ("住处", {"成都": "陈默住在成都。", "重庆": "陈默不再住成都，住在重庆。", "西安": "陈默住在西安。"}),
    ],
)  # fmt: skip
def test_what_also_says_what_there_is_now_takes_the_place_and_gives_it_up(
    attribute: str, values: dict[str, str]
) -> None:
    facts = [
        new_fact(f"f{at}", attribute, value, f"2025-{month}-06T20:00:00+00:00", text=text)
        for at, ((value, text), month) in enumerate(zip(values.items(), ("03", "07", "10"), strict=True))
    ]
    known = arrived(*([one] for one in facts))
    assert [known[one].replaced_by for one in ("f0", "f1", "f2")] == ["f1", "f2", ""]
    assert [one.value for one in known.values() if one.current] == [[*values][-1]]
    assert not arrived(facts[1:2], facts[2:])["f1"].current  # nothing was known of what is over


@pytest.mark.parametrize(
    ("attribute", "now", "ahead", "until"),
    [
        ("home", ("Leeds", "Mara lives in Leeds."), ("York", "Mara moves to York on the 18th of October."),
         ("Leeds", "Mara still lives in Leeds until the York flat is ready.")),
        ("住处", ("成都", "陈默住在成都。"), ("重庆", "陈默十月十八日搬去重庆。"), ("妹妹家", "陈默去重庆之前住在妹妹家。")),
        ("salary", ("£38,500", "Brightwater pays Mara £38,500."), ("£44,000", "Osprey pays Mara £44,000."),
         ("£38,500", "Mara earns £38,500 until she starts at Osprey.")),
    ],
)  # fmt: skip
def test_what_holds_until_what_is_announced_does_not_take_its_place(
    attribute: str, now: tuple[str, str], ahead: tuple[str, str], until: tuple[str, str]
) -> None:
    facts = [
        new_fact(f"f{at}", attribute, value, f"2025-{month}-01T20:00:00+00:00", text=text, start=start)
        for at, ((value, text), month, start) in enumerate(
            [(now, "03", ""), (ahead, "08", "2025-10-18"), (until, "09", "")]
        )
    ]
    known = arrived(*([one] for one in facts))
    assert (known["f1"].current, known["f1"].start, known["f1"].replaced_by) == (True, "2025-10-18", "")


@pytest.mark.parametrize(
    ("attribute", "now", "leaves"),
    [
        ("employer", "Mara works at Brightwater.", "Mara's last day at work before the holiday is the 22nd of August."),
        ("home", "Mara lives in a house in Leeds.", "Mara leaves the house at seven on the 22nd of August."),
        ("工作单位", "陈默在净尘科技公司工作。", "陈默公司年假的最后一天是8月22日。"),
    ],
)
def test_a_last_day_that_names_no_job_and_no_home_makes_none_doubtful(attribute: str, now: str, leaves: str) -> None:
    subject = "陈默" if "陈默" in now else "Mara"
    holds = new_fact("now", attribute, now, "2025-03-01T20:00:00+00:00", subject=subject, text=now)
    last = new_fact("last", "plan", "", "2025-07-12T20:00:00+00:00", subject=subject, text=leaves, single=False)
    known = arrived([holds], [replace(last, stance="planned", start="2025-08-22")])
    assert not known["now"].doubtful_since


@pytest.mark.parametrize(
    ("attribute", "before", "now"),
    [
        ("home", "Mara lives in Leeds.", "Mara says she has moved to York and is going to change the locks."),
        ("employer", "Mara works at Acme.", "Mara started at Osprey; her boss says the office will move."),
        ("工作单位", "陈默在建木上班。", "陈默入职溪山，老板说要搬去新区。"),
        ("抽烟", "陈默一天抽一包烟。", "陈默说要戒烟，真的戒了。"),
    ],
)
def test_who_says_what_they_will_do_beside_a_change_has_changed(attribute: str, before: str, now: str) -> None:
    facts = [
        new_fact(f"f{at}", attribute, text, f"2025-{month}-06T20:00:00+00:00", text=text)
        for at, (text, month) in enumerate([(before, "03"), (now, "06")])
    ]
    known = arrived(*([one] for one in facts))
    assert (known["f0"].replaced_by, known["f1"].current) == ("f1", True)
