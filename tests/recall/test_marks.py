"""What became of what a line of a persona says: a line is marked where it no longer holds, and nowhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.facts import Change, Learned, LineEvidence, PersonaDraft, Slot
from domain.recollection import Annotation
from domain.records import Round
from language.scripts import Language
from llm import annotated_persona
from memory import Memory
from recall.embedding import HashedEmbedder
from tests.conftest import Count, SetClock
from tests.contract.test_knowing import new_fact, new_note, window_of

HOME, GYM = Slot("person", "home"), Slot("person", "gym")
FIRST, LATER = "2026-03-01T19:00:00+00:00", "2026-05-02T19:00:00+00:00"
SAID = {
    "en": ("I live in Oslo and climb at Klatreverket.", "I have moved to Bergen."),
    "zh": ("我住在奥斯陆，在岩之道攀岩。", "我搬到卑尔根了。"),
}
KNOWN = {
    "en": ("Ann lives in Oslo.", "Ann climbs at Klatreverket.", "Ann lives in Bergen."),
    "zh": ("安住在奥斯陆。", "安在岩之道攀岩。", "安住在卑尔根。"),
}
VALUES = {"en": ("Oslo", "Klatreverket", "Bergen"), "zh": ("奥斯陆", "岩之道", "卑尔根")}
LINES = {
    "en": ("Home: Oslo.", "Climbs at Klatreverket.", "Likes rain."),
    "zh": ("住处：奥斯陆。", "在岩之道攀岩。", "喜欢下雨。"),
}
MARKED = {
    "en": ("Home: Oslo. [“Oslo”: changed since 2026-05-02: Ann lives in Bergen.]",
           "Climbs at Klatreverket. [Ann climbs at Klatreverket: doubtful since 2026-05-02]", "Likes rain."),
    "zh": ("住处：奥斯陆。【“奥斯陆”：2026-05-02 起变了，安住在卑尔根。】",
           "在岩之道攀岩。【安在岩之道攀岩：2026-05-02 起存疑】", "喜欢下雨。"),
}  # fmt: skip


class Life:
    """An evening of which the persona tells, and what is said after it."""

    def __init__(self, memory: Memory, language: Language) -> None:
        self.memory = memory
        self.language = language
        said, (oslo, wall, _), (home, gym, _) = SAID[language], VALUES[language], KNOWN[language]
        self.first = self.say(said[0], FIRST)
        self.learn(self.first, self.fact("oslo", oslo, home), self.fact("gym", wall, gym, GYM, single=False))
        self.write(*LINES[language])

    def say(self, words: str, when: str) -> Round:
        session_id = self.memory.sessions.resume_or_start()[0].session_id
        return self.memory.rounds.store(session_id, words, "I see.", when, "stop", ended=when)

    def fact(self, name: str, value: str, restatement: str, slot: Slot = HOME, **given: Any) -> dict[str, Any]:
        return {"text_id": name, "value": value, "restatement": restatement, "slot": slot, **given}

    def learn(self, spoken: Round, *facts: dict[str, Any], changes: tuple[Change, ...] = ()) -> None:
        made = tuple(new_fact(one.pop("text_id"), spoken, one.pop("value"), **one) for one in facts)
        notes = tuple(map(new_note, made))
        assert self.memory.fact_log.learn(Learned(window_of(spoken), notes, made, changes=changes))

    def write(self, *lines: str, rests: tuple[Round, ...] = ()) -> None:
        """Save, with a persona of these lines, all of which rest on the first round."""
        messages = tuple(one.user.text_id for one in (self.first, *rests))
        draft = PersonaDraft("\n".join(lines), tuple(LineEvidence(line, messages, "2026-03-01") for line in lines))
        self.memory.rounds.save(self.memory.sessions.resume_or_start()[0].session_id, "Ann.", {"user": draft})

    def move(self) -> Round:
        """Ann moves, so that her home is another and her gym is in doubt."""
        spoken = self.say(SAID[self.language][1], LATER)
        fact = self.fact("bergen", VALUES[self.language][2], KNOWN[self.language][2])
        gone = Change("oslo", "changes", LATER, "bergen")
        self.learn(spoken, fact, changes=(gone, Change("gym", "doubts", LATER, "bergen")))
        return spoken

    @property
    def shown(self) -> tuple[str, ...]:
        """The lines of the persona as a model is shown them."""
        return tuple(annotated_persona(*self.memory.shown_persona("user")).splitlines())


@pytest.fixture(params=["en", "zh"])
def life(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger
) -> Iterator[Life]:
    clock.now = datetime.fromisoformat("2026-06-10T12:00:00+00:00")
    memory = Memory(tmp_path / "data", HashedEmbedder(), clock=clock, new_id=new_id, log=log)
    yield Life(memory, request.param)
    memory.close()


def test_a_line_says_what_became_of_what_it_tells_as_soon_as_that_is_known_and_of_nothing_else(life):
    text, versions = life.memory.personas.read("user"), life.memory.personas.history("user")
    assert life.shown == LINES[life.language]
    life.move()
    assert life.shown == MARKED[life.language]
    assert (life.memory.personas.read("user"), life.memory.personas.history("user")) == (text, versions)
    assert life.memory.shown_persona("self")[1] == {}


def test_what_a_person_called_wrong_is_marked_at_once_and_no_more_when_they_take_that_back(life):
    home, restated = LINES[life.language][0], KNOWN[life.language][0]
    life.memory.fact_log.correct_by_hand("oslo", None)
    assert life.memory.shown_persona("user")[1] == {home: (Annotation("untrue", "", restated),)}
    again = new_fact("again", life.first, VALUES[life.language][0], slot=HOME, restatement=restated)
    life.memory.fact_log.correct_by_hand("oslo", again)
    assert life.memory.shown_persona("user")[1] == {}


def test_what_a_person_put_in_its_place_is_told_unless_the_line_says_it(life):
    value, restated = VALUES[life.language][2], KNOWN[life.language][2]
    life.memory.fact_log.correct_by_hand("oslo", new_fact("bergen", life.first, value, slot=HOME, restatement=restated))
    (marks,) = life.memory.shown_persona("user")[1].values()
    assert [(one.became, one.text) for one in marks] == [("corrected", restated)]
    life.write(LINES[life.language][0] + value)
    assert life.memory.shown_persona("user")[1] == {}


def test_a_line_that_was_written_knowing_of_it_is_not_marked(life):
    moved = life.move()
    home, gym, _ = LINES[life.language]
    life.write(f"{home}{VALUES[life.language][2]}", gym, rests=(moved,))
    assert life.memory.shown_persona("user")[1] == {}


def test_a_line_that_is_changed_again_after_it_was_written_says_what_is_so_now(life):
    moved = life.move()
    life.write(f"{VALUES[life.language][0]} > {VALUES[life.language][2]}", rests=(moved,))
    third = life.say("Tromsø.", "2026-06-03T19:00:00+00:00")
    tromso = life.fact("tromsø", "Tromsø", "Tromsø!")
    life.learn(third, tromso, changes=(Change("bergen", "changes", "2026-06", "tromsø"),))
    (marks,) = life.memory.shown_persona("user")[1].values()
    assert marks == (Annotation("changed", "2026-06", "Tromsø!", VALUES[life.language][2]),)


@pytest.mark.parametrize(("today", "past"), [(4, False), (40, True)])
def test_a_line_of_which_the_day_is_past_says_that_it_does_not_tell_how_it_went(life, clock, today, past):
    said, value, line, remark = {
        "en": ("My driving test is on May 7.", "driving test", "Driving test on 2026-05-07.",
               " [Driving test: was set for 2026-05-07; how it went is not said here]"),
        "zh": ("我五月七号考驾照。", "考驾照", "2026-05-07 考驾照。",
               "【考驾照：原定 2026-05-07，后来怎样这里没有说】"),
    }[life.language]  # fmt: skip
    spoken = life.say(said, FIRST)
    plan = {"stance": "planned", "start": "2026-05-07", "single": False}
    restated = {"en": "Driving test.", "zh": "考驾照。"}[life.language]
    life.learn(spoken, life.fact("test", value, restated, Slot("person", "plan"), **plan))
    life.write(line, rests=(spoken,))
    clock.now = datetime.fromisoformat("2026-05-01T12:00:00+00:00") + timedelta(days=today)
    assert life.shown == (line + remark * past,)


def test_a_line_that_says_that_a_plan_is_off_is_not_marked_with_its_day(life, clock):
    said, off, line = {
        "en": ("Harvest walk on Saturday.", "The walk is off.", "Harvest walk on Saturday 2026-05-09, but it is off."),
        "zh": ("周六去秋收徒步。", "徒步泡汤了。", "周六（2026-05-09）去徒步，后来泡汤了。"),
    }[life.language]
    told = life.say(said, FIRST)
    plan = {"stance": "planned", "start": "2026-05-09", "single": False}
    life.learn(told, life.fact("walk", "harvest walk", said, Slot("person", "plan"), **plan))
    life.write(line, rests=(told, life.say(off, FIRST)))
    clock.now = datetime.fromisoformat("2026-06-01T12:00:00+00:00")
    assert life.shown == (line,)


@pytest.mark.parametrize(("today", "past"), [(4, False), (40, True)])
@pytest.mark.parametrize("number", [0, 1])
def test_a_quoted_line_of_which_the_day_is_past_says_so_too(life, clock, today, past, number):
    words, day = {
        "en": (("interview next thursday", "2026-05-07"), ("the report is due by the 21st", "2026-05-21")),
        "zh": (("下周四面试", "2026-05-07"), ("21号之前要交报告", "2026-05-21")),
    }[life.language][number]  # fmt: skip
    line, remark = {
        "en": (f"Said 2026-05-01: “{words}”", f"was set for {day}; how it went is not said here"),
        "zh": (f"2026-05-01 说过：“{words}”", f"原定 {day}，后来怎样这里没有说"),
    }[life.language]
    life.write(line)
    clock.now = datetime.fromisoformat("2026-05-01T12:00:00+00:00") + timedelta(days=today)
    (shown,) = life.shown
    assert (shown.startswith(line), remark in shown) == (True, past)


#: What is no plan: it is behind, it comes again, it is done, or its day is only near what looks like a plan.
NO_PLANS = {
    "en": """
        I met her last thursday
        my birthday is on 3 May
        my dad died on 3 March before I could say goodbye
        I got married on 3 March, just before my 30th
        My son was born on 12 May
        I've been sober since 3 May
        I quit smoking before May 5
        I lived in York until March
        I love going to the pub on fridays
        I work until 5 on Fridays
        on Mondays I will do yoga
        I go running before work on Monday and Wednesday
        We met at the station by the river on friday
        handed it in, due 12 may
        I was due on 3 May but the baby came on 2 May
        the trip is next friday, they called off the ferry
        I wrote my will on 3 May
        they say it will rain on friday
        I will never forget 11 May""",
    "zh": """
        上周四见了她
        我生日是五月三号
        我爸3月5号去世的，走之前很安详
        我爸3月5号得的病
        我5月9号生的，属马
        我五月之前在北京
        我周一到周五要上班
        我周日要做礼拜，雷打不动
        我以前周三要上夜班
        我觉得周五的聚会很开心
        周六见到了重要的老朋友
        我们周五见面了，吃得很好
        主要是周日那天太累了
        论文交了，21号截止
        我周五一般要加班
        老板周五说要裁员
        我周末要么睡觉要么打游戏
        一年内换了三份工作""",
}


def test_a_quoted_line_of_what_is_behind_comes_again_or_is_no_plan_is_not_marked(life, clock):
    form = {"en": "Said 2026-05-01: “{}”", "zh": "2026-05-01 说过：“{}”"}[life.language]
    lines = [form.format(words.strip()) for words in NO_PLANS[life.language].strip().splitlines()]
    impossible = form.format({"en": "I will go on friday", "zh": "我周五要去"}[life.language]).replace("05-01", "02-30")
    life.write(*lines, impossible)
    clock.now = datetime.fromisoformat("2027-06-01T12:00:00+00:00")
    assert life.shown == (*lines, impossible)


@pytest.mark.parametrize(
    ("en", "zh", "day"),
    [
        ("I'm scared, exam on 12 May", "我5月12号考试，好怕", "2026-05-12"),
        ("I will see the doctor on tuesday", "我周二要去看医生", "2026-05-05"),
        ("I got an interview next thursday", "面试定了，下周四", "2026-05-07"),
        ("the thesis has to be in before the 21st", "21号截止，论文还差一章", "2026-05-21"),
        ("we are going to Oslo on 20 May 2026", "2026年5月20日要去奥斯陆", "2026-05-20"),
    ],
)
def test_a_quoted_plan_is_marked_once_every_day_that_it_may_mean_is_past(life, clock, en, zh, day):
    words = {"en": en, "zh": zh}[life.language]
    line = {"en": f"Said 2026-05-01: “{words}”", "zh": f"2026-05-01 说过：“{words}”"}[life.language]
    life.write(line)
    clock.now = datetime.fromisoformat(f"{day}T12:00:00+00:00")
    assert life.memory.shown_persona("user")[1] == {}
    clock.now = datetime.fromisoformat("2026-06-10T12:00:00+00:00")
    assert life.memory.shown_persona("user")[1] == {line: (Annotation("was_planned_for", day, words),)}


def test_what_was_set_for_a_day_and_then_happened_says_what_happened(life, clock):
    spoken = life.say("Test.", FIRST)
    plan = life.fact(
        "test", "driving test", "Driving test.", Slot("person", "plan"), stance="planned", start="2026-05-07"
    )
    life.learn(spoken, plan)
    life.write("Driving test on 2026-05-07.", rests=(spoken,))
    clock.now = datetime.fromisoformat("2026-06-01T12:00:00+00:00")
    passed = life.fact("passed", "passed the driving test", "Ann passed.", Slot("person", "plan"), single=False)
    done = life.say("I passed.", LATER)
    life.learn(done, passed, changes=(Change("test", "changes", "2026-05-07", "passed"),))
    (mark,) = life.memory.shown_persona("user")[1]["Driving test on 2026-05-07."]
    assert mark == Annotation("changed", "2026-05-07", "Ann passed.", "driving test")


def test_a_pinned_line_is_marked_where_it_is_known_what_it_rests_on_and_a_hand_edit_is_not(life):
    home = LINES[life.language][0]
    life.memory.personas.pin("user", home)
    life.memory.personas.write("user", f"{home}\n{home} …", "hand")
    life.move()
    assert life.shown == (MARKED[life.language][0], f"{home} …")


def test_words_from_all_over_a_line_are_not_what_it_tells(life):
    spoken = life.say("Three flat whites a day.", FIRST)
    coffee = life.fact("coffee", "three flat whites a day", "Ann drinks three.", Slot("person", "coffee"))
    life.learn(spoken, coffee)
    life.write("A flat in York. Office on three days.", "Drinks three flat whites.", rests=(spoken,))
    life.learn(life.say("None now.", LATER), life.fact("none", "none", "None.", Slot("person", "coffee")))
    assert list(life.memory.shown_persona("user")[1]) == ["Drinks three flat whites."]


def test_what_was_over_when_it_was_told_is_no_news(life):
    spoken = life.say("Acme until 2024.", FIRST)
    life.learn(spoken, life.fact("acme", "Acme", "Acme until 2024.", Slot("person", "job"), end="2024"))
    life.write("Acme until 2024.", rests=(spoken,))
    (acme,) = life.memory.facts.with_ids(["acme"])
    assert (acme.current, life.memory.shown_persona("user")[1]) == (False, {})


def test_a_year_of_birth_is_marked_where_the_age_it_follows_from_was_wrong(life):
    spoken = life.say("34.", FIRST)
    ages = {
        "en": ("Ann is 34 (on 2026-03-01; born 1991/1992).", "Ann is 35.", "Ann, born about 1991/1992, rows."),
        "zh": ("安三十四岁（2026-03-01；1991/1992年生）。", "安三十五岁。", "安，约1991/1992年生，爱划船。"),
    }
    wrong, right, line = ages[life.language]
    age = Slot("person", "age")
    life.learn(spoken, life.fact("wrong", "34", wrong, age))
    life.write(line, rests=(spoken,))
    birthday = life.fact("older", "35", right, age)
    life.learn(life.say("35.", LATER), birthday, changes=(Change("wrong", "corrects", LATER, "older"),))
    assert life.memory.shown_persona("user")[1] == {line: (Annotation("corrected", LATER, right, "34"),)}


def test_a_line_in_another_language_than_its_fact_is_marked_where_nothing_else_rests_on_its_turns(life):
    spoken = life.say("Teacher, 老师.", FIRST)
    other = "Ann is a teacher." if life.language == "zh" else "安是老师。"
    job = life.fact("job", other.rsplit(maxsplit=1)[-1], other, Slot("person", "job"))
    life.learn(spoken, job)
    life.first = spoken
    line = "Works at a school." if life.language == "en" else "在学校工作。"
    life.write(line)
    life.memory.fact_log.correct_by_hand("job", None)
    assert life.memory.shown_persona("user")[1] == {line: (Annotation("untrue", "", other),)}


def test_a_mark_stays_on_its_line():
    marks = {"Home: Oslo.": [Annotation("until", "2026-05-02T10:00", "Ann\nlives\n# here")]}
    assert annotated_persona("A.\n\n  Home: Oslo.", marks) == (
        "A.\n\n  Home: Oslo. [Ann lives # here: until 2026-05-02]"
    )


@pytest.mark.parametrize("later", [True, False])
def test_a_line_that_rests_on_what_was_said_of_a_plan_after_its_day_knows_how_it_went(life, later):
    value, line, went, other = {
        "en": ("gets in on the 7th at 4", "Theo gets in on 2026-05-07 at 4.", "Theo went home.", "It rains."),
        "zh": ("7号下午四点到", "阿飞2026年5月7日下午四点到。", "阿飞回去了。", "下雨了。"),
    }[life.language]
    spoken, after = life.say(value, FIRST), life.say(went, "2026-05-12T19:00:00+00:00")
    plan = {"stance": "planned", "start": "2026-05-07", "single": False, "about": "other"}
    life.learn(spoken, life.fact("plan", value, line, Slot("theo", "visit"), **plan))
    told = went if later else other
    life.learn(after, life.fact("went", told, told, Slot("theo", "visits"), single=False, about="other"))
    life.write(line, rests=(spoken, after))
    assert (life.shown == (line,)) == later
