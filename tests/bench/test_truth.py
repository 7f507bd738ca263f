"""What is handed over is judged as a careful reader would: what is over must say so beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.living import Seen, evenings, kind_of
from bench.truth import handed_over, judged, requests_holding, secrets_of, stale_lines, tasks_in
from language.scripts import estimate, estimate_all

_SYSTEM = "Be kind. Never say Leeds.\n\nMore.\n\n"


def _talk(handed, said="Where?"):
    messages = [{"role": "system", "content": _SYSTEM + handed}, {"role": "user", "content": said}]
    return Seen("talk", messages, Path("a.json"), said)


def _record(text, *remarks, **more):
    said = [{"Ann": text}, *remarks]
    return json.dumps({"conversation": 1, "when": "Sat 2025-03-01 20:00, 400 days ago", "said": said, **more})


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("The Foundry", "Gym: Red Goat, since 2025-11-16; The Foundry until 2025-10-18."),
        ("The Foundry", "She used to climb at The Foundry."),
        ("Annette", "Sister: Annika (corrected 2025-05-17; misheard as Annette)."),
        ("Annette", "Her sister is Annika, not Annette."),
        ("boyfriend Tom", _record("boyfriend Tom", "[“Tom”: changed since 2025-07-06: Mara and Tom broke up.]")),
        ("boyfriend Tom", _record("boyfriend Tom", "[Tom is Mara's boyfriend: doubtful since 2025-07-06]")),
        ("£780", "Rent: £780 (2025-03-01 – 2025-10-18)."),
        ("six dogs", "If I won the lottery: Mara the winemaker, six dogs."),
        ("住中和", "住处：2026-03 起桐梓林；此前和李昊合租，住中和。"),
        ("一天一包", "抽烟：一天一包，到 2025-08-13。"),
        ("在净尘", _record("我在净尘上班", "【陈默在净尘上班：到 2025-07 为止】")),
        ("在净尘", "工作：在净尘，可能已不在。"),
        ("interview", _record("I've got an interview.", "[was set for 2025-06-03; how it went is not said here]")),
        ("面试", _record("我六月三号有个面试。", "【陈默有个面试：原定 2025-06-03，后来怎样这里没有说】")),
    ],
)
def test_what_says_that_it_is_over_or_in_doubt_is_not_stale(expression, line):
    assert not list(stale_lines(expression, line))


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("The Foundry", "Gym: The Foundry, Tuesdays and Thursdays."),
        ("The Foundry", _record("I climb at The Foundry.")),
        ("The Foundry", _record("I climb at The Foundry.", "…", "21:00")),
        ("The Foundry", "Gym: The Foundry. " + "She likes it there. " * 8 + "The job was until August."),
        ("The Foundry", "Job: Brightwater until August.\nGym: The Foundry."),
        ("一天一包", _record("我一天一包烟，说了八百遍要戒。")),
        ("interview", _record("The interview was planned for 2025-06-03.")),
        ("interview", _record("I've got an interview on 2025-06-03.", since="2025-06-03")),
        ("面试", _record("我六月三号有个面试。")),
        ("住中和", "住处：住中和，跟李昊合租。"),
    ],
)
def test_what_only_carries_its_date_or_a_mark_of_something_else_is_stale(expression, line):
    assert len(list(stale_lines(expression, line))) == 1


def test_a_mark_in_one_line_of_a_summary_says_nothing_of_the_next():
    summary = json.dumps({"when": "2025", "summary": "She left Brightwater, it is over.\nShe climbs at The Foundry."})
    assert list(stale_lines("The Foundry", summary))
    assert not list(stale_lines("Brightwater", summary))


def test_a_message_in_a_record_of_a_day_is_judged_by_the_remarks_behind_it():
    day = _record("I climb at The Foundry.", {"Ann": "Tom again."}, "[Tom is Ann's partner: until 2025-11-16]")
    assert list(stale_lines("The Foundry", day)) == ["I climb at The Foundry."]
    assert not list(stale_lines("Tom", day))
    known = json.dumps({"known": "She climbs at The Foundry. [doubtful since 2025-10-25]"})
    assert not list(stale_lines("The Foundry", known))


def test_a_remark_that_names_what_is_over_is_made_once_for_the_whole_record():
    remark = "[“The Foundry”: changed since 2025-11-16: Ann climbs at Red Goat.]"
    assert not list(stale_lines("The Foundry", _record("At The Foundry.", remark, {"Ann": "The Foundry!"})))
    assert list(stale_lines("Brightwater", _record("At Brightwater.", {"Ann": "The Foundry!"}, remark)))


def test_neither_the_standing_prompt_nor_the_question_counts_as_handed_over():
    seen = _talk("# What you know\nHome: York.", said="Do I live in Leeds?")
    assert handed_over(seen.messages, seen.said) == "# What you know\nHome: York."
    empty = [{"role": "system", "content": _SYSTEM + "It is now."}, {"role": "user", "content": "Leeds?"}]
    assert handed_over(empty, "Leeds?") == ""


def test_recalled_records_before_the_question_count():
    said = "Where?"
    messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _record("York") + "\n\n" + said}]
    question = {"id": "1", "class": "c", "q": said, "needs": ["York", "Leeds"], "not_as_present": []}
    found = judged("life", question, Seen("talk", messages, Path("a.json"), said))
    assert found.missing == ("Leeds",)
    assert not found.answerable
    assert found.tokens > 5


def test_no_mark_excuses_what_was_to_be_forgotten():
    question = {
        "id": "S", "class": "asked to be forgotten", "q": "Where?", "needs": None,
        "not_as_present": ["gambling"],
    }  # fmt: skip
    found = judged("life", question, _talk("# Known\nJosef: gambling, until 2025, doubtful."))
    assert found.stale
    assert found.answerable
    assert not found.needing


def test_the_secret_is_counted_in_every_request_after_it_was_told():
    life = {"questions": [{"class": "asked to be forgotten", "not_as_present": ["gambling"]}]}
    told = _talk("", said="Josef's gambling, forget it.")
    task = Seen("notes", [{"role": "user", "content": "gambling"}], Path("b.json"))
    count, holding = requests_holding(secrets_of(life), [_talk("before"), told, _talk("# Known\nYork"), task])
    assert (count, holding) == (2, ("notes b.json",))


def test_tasks_are_told_from_talk_in_both_languages():
    kinds = [
        kind_of([{"role": "system", "content": text}])
        for text in ("Task: take notes.\nYou", "任务：做笔记。\n你", "You are Old Friend.")
    ]
    assert kinds == ["take notes", "做笔记", "talk"]


def test_an_evening_is_rounds_with_their_times():
    messages = [
        {"at": "2025-03-01T20:00:01", "role": role, "text": text}
        for role, text in (("user", "Hi"), ("assistant", "Hello"), ("user", "Bye"), ("assistant", "Night"))
    ]
    rounds = next(evenings({"sessions": [{"turns": messages}]}))
    assert [(said, reply) for _, said, reply in rounds] == [("Hi", "Hello"), ("Bye", "Night")]


def test_the_calls_and_tokens_of_each_task_are_counted_with_its_replies(tmp_path):
    path = tmp_path / "one.json"
    path.with_suffix(".reply.txt").write_text('{"notes": []}', encoding="utf-8")
    asked = [{"role": "system", "content": "Task: take notes."}]
    seen = [
        Seen("take notes", asked, path),
        Seen("take notes", asked, path),
        Seen("talk", asked, tmp_path / "none.json"),
    ]
    each = estimate_all(["Task: take notes."]) + estimate('{"notes": []}')
    assert tasks_in(seen) == {"take notes": (2, 2 * each)}
