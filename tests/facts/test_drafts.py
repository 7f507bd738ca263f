"""A model's reply is read whatever stands around it, and a bad entry costs only itself."""

from __future__ import annotations

import json

import pytest

from facts.drafts import DoubtDraft, VerdictDraft, read_comparison, read_notes
from facts.reply_json import handles_of

LEEDS = {
    "text": "Mara lives in Leeds.", "topic": "home", "importance": 7, "memory_type": "active", "private": True,
    "turns": [1],
    "facts": [{"restatement": "Mara lives in Leeds.", "subject": "Mara", "attribute": "home", "value": "Leeds",
               "about": "person", "stance": "stated", "keywords": ["flat"], "turns": [1]}],
}  # fmt: skip
TEA = {
    "text": "陈默最喜欢喝茶。",
    "turns": [3],
    "facts": [{"restatement": "陈默最喜欢喝茶。", "attribute": "喜欢", "value": "茶", "turns": [3]}],
}
WHOLE = json.dumps({"notes": [LEEDS, TEA]}, ensure_ascii=False)


@pytest.mark.parametrize(
    "reply",
    [
        WHOLE,
        json.dumps([LEEDS, TEA]),
        f"<think>Perhaps [1, 2] or {{}} ...</think>\n{WHOLE}",
        f"{WHOLE}<think>[1]</think>",
        f"thinking without a beginning [1]</think>{WHOLE}",
        f"Here are the notes:\n```json\n{WHOLE}\n```\nI hope this helps!",
        f"```\n{WHOLE}",
        WHOLE.replace("]}", "],}"),
        f"{json.dumps(LEEDS)}\n{json.dumps(TEA)}",
        json.dumps({"Notes": [LEEDS, TEA]}),
        WHOLE.replace('"turns": [1]', '"turns": "1"').replace('"importance": 7', '"importance": "7"'),
        WHOLE.replace('"facts": [', '"facts": ').replace("}]}", "}}"),
    ],
    ids=[
        "plain",
        "a list",
        "thoughts",
        "a thought behind",
        "half thoughts",
        "fenced",
        "open fence",
        "commas",
        "lines",
        "case",
        "strings",
        "a fact without a list",
    ],
)
def test_notes_are_read_whatever_shape_they_come_in(reply: str) -> None:
    read = read_notes(reply)
    assert read.understood
    assert [note.text for note in read.notes] == ["Mara lives in Leeds.", "陈默最喜欢喝茶。"]
    assert read.notes[0].importance == 7
    assert [fact.messages for note in read.notes for fact in note.facts] == [(1,), (3,)]


def test_quotation_marks_inside_of_chinese_words_break_nothing() -> None:
    reply = '{"notes":[{"text":"陈默说"房租"是一只橘猫。","turns":[9],"facts":[]}]}'
    assert [note.text for note in read_notes(reply).notes] == ['陈默说"房租"是一只橘猫。']


@pytest.mark.parametrize("reply", ["", "     ", "I could not find anything to note.", "[" * 50_000, "<think>[1]"])
def test_a_reply_without_json_is_as_good_as_no_reply(reply: str) -> None:
    read = read_notes(reply)
    assert not read.notes
    assert not read.understood or read.rejected


def test_a_reply_that_says_there_is_nothing_is_understood() -> None:
    for reply in ("[]", '{"notes": []}', '```json\n{"notes": []}\n```'):
        read = read_notes(reply)
        assert read.understood
        assert not read.notes
        assert not read.rejected


@pytest.mark.parametrize(
    "broken",
    [
        {"stance": "shouted"},
        {"restatement": ""},
        {"turns": []},
        {"turns": None},
        {"attribute": "", "value": ""},
        {"restatement": ["a"]},
    ],
)
def test_a_bad_entry_costs_only_itself(broken: dict[str, object]) -> None:
    good = LEEDS["facts"][0]  # type: ignore[index]
    note = {**LEEDS, "turns": [], "facts": [{**good, **broken}, good, "x", 3, None]}
    read = read_notes(json.dumps([note, 7, "prose", TEA]))
    assert [len(one.facts) for one in read.notes] == [1, 1]
    assert read.rejected["shape"] == 6


def test_lists_that_came_as_strings_are_lists() -> None:
    fact = {**LEEDS["facts"][0], "keywords": "flat, Leeds；home", "persons": "Mara、Tom", "turns": "1-3, #5"}  # type: ignore[index,dict-item]
    read = read_notes(json.dumps([{**LEEDS, "facts": [fact]}])).notes[0].facts[0]
    assert read.keywords == ("flat", "Leeds", "home")
    assert read.persons == ("Mara", "Tom")
    assert read.messages == (1, 2, 3, 5)


@pytest.mark.parametrize("whole_facts", [0, 1, 2])
def test_of_a_note_that_was_cut_off_the_facts_before_the_one_it_was_cut_in_stay(whole_facts: int) -> None:
    fact = LEEDS["facts"][0]  # type: ignore[index]
    facts = [{**fact, "value": f"Leeds {number}"} for number in range(3)]  # type: ignore[dict-item]
    reply = json.dumps({"notes": [TEA, {**LEEDS, "facts": facts}]})
    cut = reply[: reply.index(f"Leeds {whole_facts}") + len("Leeds ")]
    read = read_notes(cut, "length")
    assert read.notes[0].messages == (3,)
    assert read.rejected == {"cut": 1}
    left = [[one.value for one in note.facts] for note in read.notes[1:]]
    assert left == [[f"Leeds {number}" for number in range(whole_facts)]], "the note itself was whole"


def test_a_note_that_was_cut_off_in_its_own_text_is_dropped() -> None:
    for whole in ([LEEDS, TEA], [TEA, LEEDS]):
        notes = [{"turns": one["turns"], "text": one["text"]} for one in whole]
        reply = json.dumps({"notes": notes}, ensure_ascii=False)
        read = read_notes(reply[:-8], "length")
        assert [note.text for note in read.notes] == [whole[0]["text"]]
        assert read.rejected == {"cut": 1}


def test_an_entry_that_was_cut_off_is_dropped_and_the_ones_before_it_stay() -> None:
    for at in range(len(WHOLE) - 30, len(WHOLE) - 3):
        read = read_notes(WHOLE[:at], "length")
        assert [note.text for note in read.notes] == ["Mara lives in Leeds.", "陈默最喜欢喝茶。"]
        assert [len(note.facts) for note in read.notes] == [1, 0]
        assert read.rejected["cut"] == 1
    within_the_text = WHOLE[: WHOLE.index("最喜欢")]
    assert len(read_notes(within_the_text, "stop").notes) == 1


def test_a_whole_reply_that_reached_the_limit_loses_nothing() -> None:
    assert sum(len(note.facts) for note in read_notes(WHOLE, "length").notes) == 2


def test_the_prompts_own_example_and_blanks_are_no_notes() -> None:
    example = "Anna moved to Lisbon on 3 May 2024."
    fact = {**LEEDS["facts"][0], "restatement": "anna moved to Lisbon on 3 May 2024"}  # type: ignore[index,dict-item]
    blank = {**LEEDS["facts"][0], "value": "<value>"}  # type: ignore[index,dict-item]
    read = read_notes(json.dumps([{**LEEDS, "facts": [fact, blank]}, {**TEA, "text": "..."}]), "stop", [example])
    assert [len(note.facts) for note in read.notes] == [0]
    assert read.rejected["echo"] == 3


def test_an_entry_that_is_a_fact_itself_is_a_note_of_one_fact() -> None:
    read = read_notes(json.dumps({"facts": LEEDS["facts"]})).notes
    assert [note.text for note in read] == ["Mara lives in Leeds."]
    assert [len(note.facts) for note in read] == [1]
    assert len(read_notes(json.dumps(LEEDS["facts"])).notes[0].facts) == 1


def test_verdicts_and_doubts_are_read() -> None:
    reply = {
        "verdicts": [{"new": 1, "known": "#4", "verdict": "Changes"}, {"new": 2, "verdict": "adds"}, {"verdict": "x"}],
        "doubts": [6, {"known": 7, "new": 1}],
    }
    read = read_comparison(f"```json\n{json.dumps(reply)}\n```", 2)
    assert read.verdicts == (VerdictDraft(1, 2, "changes"), VerdictDraft(2, 0, "adds"))
    assert read.doubts == (DoubtDraft(4, 0), DoubtDraft(5, 1))
    assert read.rejected["shape"] == 1
    assert read_comparison("no idea", 2).understood is False


def test_a_verdict_of_several_known_facts_is_one_of_each() -> None:
    for known in ([3, 6], "3, #6", ["3", 6]):
        read = read_comparison(json.dumps([{"new": 1, "known": known, "verdict": "changes"}]), 1)
        assert read.verdicts == (VerdictDraft(1, 2, "changes"), VerdictDraft(1, 5, "changes"))
    assert read_comparison('[{"new": 1, "known": [], "verdict": "adds"}]', 1).verdicts == (VerdictDraft(1, 0, "adds"),)


def test_doubts_inside_of_a_verdict_are_read() -> None:
    read = read_comparison('[{"new": 1, "known": 2, "verdict": "changes", "doubts": [4, 5]}]', 1)
    assert read.doubts == (DoubtDraft(3, 1), DoubtDraft(4, 1))


def test_the_number_of_a_new_fact_is_never_taken_for_a_known_one() -> None:
    read = read_comparison('[{"new": 1, "known": [2, 3], "verdict": "changes", "doubts": [2, 4]}]', 2)
    assert read.verdicts == (VerdictDraft(1, 0, "changes"), VerdictDraft(1, 1, "changes"))
    assert read.doubts == (DoubtDraft(0, 1), DoubtDraft(2, 1))


def test_a_number_that_is_no_number_names_nothing() -> None:
    assert handles_of([True, None, float("nan"), float("inf"), {}, "abc", "99999999999"]) == ()
    assert handles_of("1-100000") == ()


@pytest.mark.parametrize(
    ("written", "open"),
    [("worry！", "worry!"), ("worry !", "worry!"), ("!worry", "worry!"), ("Ｗｏｒｒｙ", "worry"), ("Events", "event"),
     ("worries", "worry"), ("birthdays!", "birthday!"), ("event.", "event"), ("none", "none"), ("", ""), (None, ""),
     ("!", ""), ("事件", "事件")],
)  # fmt: skip
def test_a_kind_of_open_matter_is_read_however_it_is_written(written: str | None, open: str) -> None:
    fact = {**LEEDS["facts"][0], "open": written}  # type: ignore[index,dict-item]
    assert read_notes(json.dumps([{**LEEDS, "facts": [fact]}])).notes[0].facts[0].open == open


@pytest.mark.parametrize(
    ("settled", "numbers", "bad"),
    [
        ({"open": 3, "how": "done", "turn": 1, "quote": "考完了"}, [3], 0),  # one object, not a list
        ([{"open": [3, 4], "how": "done", "turn": 1, "quote": "考完了"}], [3, 4], 0),
        ([{"open": 3, "how": "Done.", "turn": 1, "quote": "I passed"}], [3], 0),
        ([{"open": 3, "how": "ｄｏｎｅ。", "turn": 1, "quote": "考完了"}], [3], 0),
        ([{"Open": 3, "How": ["done"], "Turn": 1, "Quote": "I passed"}], [3], 0),
        ([{"open": 3, "how": "perhaps", "turn": 1}, {"how": "done"}, "x"], [], 3),
        ([], [], 0),
        (None, [], 0),
    ],
)
def test_what_settles_an_open_matter_is_read_in_every_form_and_what_cannot_be_is_counted(
    settled: object, numbers: list[int], bad: int
) -> None:
    read = read_notes(json.dumps({"notes": [], "settled": settled}))
    assert [(one.number, one.how, one.message, bool(one.words)) for one in read.settled] == [
        (number, "done", 1, True) for number in numbers
    ]
    assert read.rejected["shape"] == bad


def test_a_fact_may_give_subject_attribute_and_value_as_one_list() -> None:
    fact = {"turn": 1, "quote": "He bakes.", "fact": "Rafe is a baker.", "triple": ["Rafe", "job", "a baker"]}
    (note,) = read_notes(json.dumps({"notes": [{"topic": "Rafe", "importance": 5, "facts": [fact]}]})).notes
    (read,) = note.facts
    assert (read.restatement, read.subject, read.attribute, read.value) == (
        "Rafe is a baker.", "Rafe", "job", "a baker",
    )  # fmt: skip
    short = {**fact, "triple": ["job", "a baker"]}  # of whom is not said: no fact of the person
    assert not any(
        note.facts for note in read_notes(json.dumps({"notes": [{"topic": "Rafe", "facts": [short]}]})).notes
    )


def test_verdicts_may_be_lines() -> None:
    read = read_comparison("1 changes 4, 5\n2 doubts 6\n3 ends 3", 2)
    found = [(one.new, one.known, one.verdict) for one in read.verdicts]
    assert found == [(1, 2, "changes"), (1, 3, "changes"), (3, 1, "ends")]
    assert [(one.known, one.new) for one in read.doubts] == [(4, 2)]
    assert read_comparison("-", 2).verdicts == ()
