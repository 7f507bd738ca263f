"""What is open and may be brought up at an opening: openings in two languages as a model read them, and the clock.

The table holds what a mind that saw neither the labels nor the rules answered to the program's own instructions: what is
open by a talk, and what later talk settled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from domain.matters import MatterStatus, NewMatter, OpenMatter
from domain.records import PREFIX, Message
from facts.drafts import FactDraft, QuoteDraft, SettledDraft
from facts.matters import (
    check_matters,
    day_ahead,
    may_be_settled,
    passage_of,
    refuses,
    settle,
    settled_by,
    shown_matters,
    spoken_of,
)
from facts.openings import GreetingState, after_asking, coming_up, due_now, may_greet
from facts.slots import NO_NAMES
from llm import names_in
from models.tasks import ExtractionTask, Task

OPENINGS = json.loads((Path(__file__).parent / "openings.json").read_text(encoding="utf-8"))
PARTS = ("tuned", "unseen", "blind", "harder")
#: Where the table is contradicted. The mind took for open what is of a niece or a friend; two days are not read.
CONTRADICTED = {"en-63", "en-83", "zh-63", "zh-83", "en-r14", "zh-r20"}
#: Where all is answered rightly: a day that no rule reads, and a worry that is said again, in place of the first.
NOT_BY_CODE = {"en-r14", "zh-r04", "zh-r20", "en-q27", "zh-q27"}
#: So long after the last words of a talk another one begins.
ANOTHER_TALK = timedelta(hours=3)


def messages_of(case: Any) -> list[Message]:
    return [
        Message(at, f"m{at}", "s", one["at"], one["who"], PREFIX[one["who"]] + one["text"], (at + 1) // 2)
        for at, one in enumerate(case["said"], 1)
    ]


def talks_of(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The messages by talks, each of which is a window."""
    talk: list[Message] = []
    for one in messages:
        if talk and datetime.fromisoformat(one.timestamp) - datetime.fromisoformat(talk[-1].timestamp) >= ANOTHER_TALK:
            yield talk
            talk = []
        talk.append(one)
    yield talk


def draft(message: int, words: str, kind: str) -> FactDraft:
    return FactDraft(words, "", "matter", words, "person", "stated", (), (), (), "", "", "", (message,),
                     quotes=(QuoteDraft(message, words),), open=kind)  # fmt: skip


def drafts_of(case: Any) -> list[FactDraft]:
    """Everything that has a kind, quoted whole."""
    return [draft(at, one["text"], one["kind"]) for at, one in enumerate(case["said"], 1) if one.get("kind")]


def stored(number: int, new: NewMatter, messages: Sequence[Message]) -> OpenMatter:
    (message,) = [one for one in messages if one.text_id == new.message]
    return OpenMatter(
        number, new.kind, message.text_id, message.seq, message.role, message.timestamp, new.words, new.due_from,
        new.due_to, new.precision, new.yearly, new.sensitivity, new.key, new.next_review, new.expires, "pending", 0, "",
        False,
    )  # fmt: skip


def updated(matters: Sequence[OpenMatter], said: Sequence[Message], now: datetime) -> list[OpenMatter]:
    became = {one.number: one for one in settle(matters, said, now)}
    return [became.get(one.number, one) for one in matters]


def matters_of(case: Any) -> list[OpenMatter]:
    """What is open by the time of the opening, of all that has a kind; no model settles anything."""
    messages, now = messages_of(case), datetime.fromisoformat(case["opens"])
    new, _ = check_matters(drafts_of(case), messages, (), NO_NAMES)
    return updated([stored(number, one, messages) for number, one in enumerate(new, 1)], messages, now)


def read_by(mind: Any, case: Any) -> list[OpenMatter]:
    """What is open by the time of the opening, after a model has read a talk after the other."""
    messages, matters = messages_of(case), list[OpenMatter]()
    of_answer: dict[int, int] = {}  # the number of the matter of each answer
    for talk in talks_of(messages):
        first, last = talk[0].seq, talk[-1].seq
        shown = shown_matters(matters, talk)
        ended = [
            SettledDraft(of_answer[which], how, turn - first + 1, messages[turn - 1].words)
            for which, how, turn in mind["settled"]
            if first <= turn <= last and which in of_answer
        ]
        known = settled_by(ended, shown, talk)
        known = spoken_of([one for one in matters if one not in shown], talk) | known
        matters = [replace(one, status=known.get(one.number, one.status)) for one in matters]
        answers = [(at, row) for at, row in enumerate(mind["open"], 1) if first <= row[0] <= last]
        drafts = [draft(turn - first + 1, words, kind) for _, (turn, words, kind) in answers]
        new, _ = check_matters(drafts, talk, (), NO_NAMES)
        matters += [stored(len(matters) + at, one, messages) for at, one in enumerate(new, 1)]
        for (at, (turn, *_)), one in zip(answers, drafts, strict=True):
            same = [each for each in matters if each.place == turn]
            found, _ = check_matters([one], talk, (), NO_NAMES)
            exact = [each for each in same if found and each.key == found[0].key]
            if exact or same:
                of_answer[at] = (exact or same)[-1].number
        matters = updated(matters, talk, datetime.fromisoformat(talk[-1].timestamp))
    return updated(matters, [], datetime.fromisoformat(case["opens"]))


def brought_up(case: Any, mind: Any = None) -> set[int]:
    """The numbers of the messages that are brought up."""
    found = read_by(mind, case) if mind else matters_of(case)
    return {one.place for one in due_now(found, datetime.fromisoformat(case["opens"]))}


def score(cases: Sequence[Any]) -> tuple[float, float, set[str]]:
    """Precision, recall of what must be brought up, and where the table is contradicted."""
    right = wrong = met = must = 0
    contradicted = set()
    for case in cases:
        chosen, wanted = brought_up(case, case["mind"]), {*case["must"]}
        allowed = wanted | {*case["may"]}
        right, wrong = right + len(chosen & allowed), wrong + len(chosen - allowed)
        met, must = met + len(chosen & wanted), must + len(wanted)
        if chosen - allowed or wanted - chosen:
            contradicted.add(case["id"])
    return right / ((right + wrong) or 1), met / must, contradicted


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_brought_up_at_an_opening_may_be_and_most_of_what_must_be_is(language: str, part: str) -> None:
    cases = [one for one in OPENINGS if one["id"].startswith(language) and one["part"] == part]
    precision, recall, contradicted = score(cases)
    assert precision >= 0.95, contradicted
    assert recall >= 0.8, contradicted
    assert contradicted <= CONTRADICTED


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_model_that_is_right_about_what_is_open_is_contradicted_by_no_rule(language: str) -> None:
    wrong = set()
    for case in (one for one in OPENINGS if one["id"].startswith(language)):
        wanted, allowed = {*case["must"]}, {*case["must"], *case["may"]}
        said = [(at, case["said"][at - 1]) for at in sorted(allowed)]
        mind = {"open": [[at, one["text"], one.get("kind", "event")] for at, one in said], "settled": []}
        chosen = brought_up(case, mind)
        if chosen - allowed or wanted - chosen:
            wrong.add(case["id"])
    assert wrong <= NOT_BY_CODE


# -- what a model is shown and what it settles


def text(seq: int, words: str, role: Any = "user", at: str = "2026-11-21T20:00:00+01:00") -> Message:
    return Message(seq, f"m{seq}", "s", at, role, PREFIX[role] + words, seq)


@pytest.mark.parametrize(
    ("draft", "status"),
    [
        (SettledDraft(1, "done", 1, "it went well"), "closed"),
        (SettledDraft(1, "off", 1, "it went well"), "closed"),
        (SettledDraft(1, "drop", 1, "it went well"), "dropped"),
        (SettledDraft(1, "done", 2, "So the exam went well."), None),  # the companion's words
        (SettledDraft(1, "done", 3, "I passed the exam today"), None),  # a pasted text
        (SettledDraft(1, "done", 1, ""), None),
        (SettledDraft(1, "done", 1, "the moon is made of cheese"), None),
        (SettledDraft(1, "done", 9, "it went well"), None),
        (SettledDraft(7, "done", 1, "it went well"), None),
    ],
)
def test_only_the_persons_own_words_in_the_window_settle_a_matter(draft: SettledDraft, status: str | None) -> None:
    window = [text(5, "Oh, it went well."), text(6, "So the exam went well.", "assistant"),
              text(7, "Translate this: I passed the exam today, and all of it was easy.")]  # fmt: skip
    found = settled_by([draft], [open_matter()], window)
    assert found == ({1: status} if status else {})


@pytest.mark.parametrize(
    ("words", "quote", "settled"),
    [
        ("What should we test in the new recipe?", "I never want to hear about this test again", False),
        ("So tired, the test of my patience continues at work.", "I passed the test with flying colours", False),
        ("Well, I passed the test on Friday!", "i passed the test on friday", True),
        ("今天测试了新菜谱。", "科目二测试我再也不想提了", False),
        ("嗯，科目二我考过啦！", "科目二我考过了", True),
    ],
)
def test_a_quote_that_is_not_in_the_message_settles_nothing(words: str, quote: str, settled: bool) -> None:
    for how in ("done", "drop"):
        assert bool(settled_by([SettledDraft(1, how, 1, quote)], [open_matter()], [text(5, words)])) is settled


def test_of_two_answers_about_a_matter_the_refusal_counts_and_a_number_below_one_is_no_message() -> None:
    window = [text(5, "It went well, 别再问了。")]
    done, drop = (SettledDraft(1, how, 1, "It went well") for how in ("done", "drop"))
    assert settled_by([done, drop], [open_matter()], window) == {1: "dropped"}
    assert settled_by([drop, done], [open_matter()], window) == {1: "dropped"}
    assert [settled_by([replace(done, message=at)], [open_matter()], [*window, *window]) for at in (0, -1)] == [{}, {}]


def test_a_kind_that_is_none_is_counted_and_what_is_not_open_is_not() -> None:
    drafts = [draft(1, "My exam is on Friday.", kind) for kind in ("appointment", "事件", "none", "无", "")]
    assert check_matters(drafts, [text(1, "My exam is on Friday.")], (), NO_NAMES) == ((), {"open: kind": 2})


@pytest.mark.parametrize(
    ("words", "kind"),
    [("Grandma died last night.", "birthday"), ("We are divorced.", "anniversary"), ("奶奶昨晚走了。", "birthday"),
     ("我们离婚了。", "anniversary")],
)  # fmt: skip
def test_a_birthday_or_anniversary_that_is_no_more_is_closed(words: str, kind: str) -> None:
    for asked in (0, 2):
        matter = open_matter(kind=kind, yearly="solar 03-03", asked=asked)
        assert settled_by([SettledDraft(1, "off", 1, words)], [matter], [text(5, words)]) == {1: "closed"}


def test_what_was_asked_about_is_answered_and_a_birthday_is_not_done() -> None:
    window = [text(5, "Oh, it went well.")]
    done, drop = (SettledDraft(1, how, 1, "it went well") for how in ("done", "drop"))
    birthday = open_matter(kind="birthday", yearly="solar 11-21")
    assert settled_by([done], [open_matter(asked=1, status="asked")], window) == {1: "answered"}
    assert settled_by([done], [birthday], window) == {}
    assert settled_by([drop], [birthday], window) == {1: "dropped"}


def test_of_much_that_is_open_what_the_window_names_is_shown_first_then_the_nearest_and_not_all() -> None:
    matters = [open_matter(number=at, due_from=f"2026-11-{20 + at}", key=f"thing{at}") for at in range(1, 9)]
    far = [open_matter(number=20, key="dress", due_from="2027-06-01", expires="2027-06-15"),
           open_matter(number=21, key="sail", due_from="2027-06-01", expires="2027-06-15")]  # fmt: skip
    over = [open_matter(number=30, key="dress", expires="2026-11-01"), open_matter(number=31, key="dress", status="closed"),
            open_matter(number=32, key="dress", place=9)]  # fmt: skip
    shown = shown_matters([*matters, *far, *over], [text(5, "I bought a dress.")])
    assert [one.number for one in shown] == [20, 1, 2, 3, 4, 5]
    assert shown_matters(matters, [text(5, "Fine.", "assistant")]) == []


@pytest.mark.parametrize(
    ("yearly", "day"), [("solar 11-23", "2026-11-23"), ("lunar 10-15", "2026-11-23"), ("solar 11-20", "2026-11-20")]
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_birthday_is_shown_with_a_window_on_its_day_of_that_year_not_of_the_year_it_was_first_said(
    language: Any, yearly: str, day: str
) -> None:
    birthday = open_matter(kind="birthday", yearly=yearly, due_from="2025-11-20", words="妈妈 Mum")
    task = Task(
        language, names_in(language, "Mara", "Juniper"), "0123456789abcdef", datetime(2026, 11, 22, tzinfo=BERLIN)
    )
    shown = ExtractionTask([text(5, "Hi.")], matters=[birthday, open_matter(number=2)])
    prompt = "".join(one.content for one in task.extraction_prompt(shown, 100))
    assert f"open 1 birthday {day}: 妈妈 Mum" in prompt
    assert "open 2 event 2026-11-20: I have an exam" in prompt


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "I'll propose on the 12th, it's her birthday."), ("zh", "我十二号跟她求婚，那天是她生日。")],
)
def test_two_open_matters_of_one_sentence_are_asked_about_by_their_kinds(language: Any, words: str) -> None:
    messages, called = [text(2, words)], {"user": "Mara"}
    asked = [
        passage_of(open_matter(message="m2", kind=kind, words=words), messages, called)
        for kind in ("event", "birthday")
    ]
    task = Task(
        language, names_in(language, "Mara", "Juniper"), "0123456789abcdef", datetime(2026, 11, 22, tzinfo=BERLIN)
    )
    prompt = "".join(one.content for one in task.verification_prompt(asked))
    assert f"1 m1, open event: {words}" in prompt
    assert f"2 m1, open birthday: {words}" in prompt


def test_what_was_read_without_a_matter_that_it_speaks_of_closes_it() -> None:
    matter = open_matter(key="drive exam")
    assert spoken_of([matter], [text(5, "The driving exam!")]) == {1: "closed"}
    assert spoken_of([matter], [text(5, "The driving exam!", "assistant"), text(6, "We had soup.")]) == {}
    assert spoken_of([replace(matter, place=5)], [text(5, "The driving exam!")]) == {}


@pytest.mark.parametrize(
    ("key", "words", "closes"),
    [
        ("interview job", "The interviewer on TV was funny.", False),
        ("interview job", "They gave me the job right after the interview.", True),
        ("interview", "My interview was so long that I missed the bus.", True),
        ("interview", "The interviewers on the radio shout.", False),
        ("interview", "The interviewer said the interview went well.", True),
        ("面试", "电视上那个面试官真凶。", False),
        ("面试", "面试官说面试过了。", True),
        ("contract end", "The contractor came by.", False),
        ("合同 到期", "楼下合同纠纷闹得很凶。", False),
        ("合同 到期", "合同到期了，续了三年。", True),
    ],
)
def test_a_chance_word_of_several_closes_nothing(key: str, words: str, closes: bool) -> None:
    assert bool(spoken_of([open_matter(key=key)], [text(5, words)])) is closes


@pytest.mark.parametrize(
    ("said", "at", "given", "waits"),
    [
        ("The driving exam, well.", "2026-11-18T20:00:00+01:00", {}, True),
        ("We had soup.", "2026-11-18T20:00:00+01:00", {}, False),
        ("It went well!", "2026-11-20T20:00:00+01:00", {}, True),  # it may be about it: its day has come
        ("It went well!", "2026-11-20T14:00:00+01:00", {"due_from": "2026-11-20T15:00"}, False),
        ("It went well!", "2026-11-18T20:00:00+01:00", {"asked_at": "2026-11-18T19:59:00+01:00"}, True),
        ("考试考完了", "2026-11-18T20:00:00+01:00", {"key": "考试"}, True),
        ("吃了碗面", "2026-11-18T20:00:00+01:00", {"key": "考试"}, False),
        ("The driving exam, well.", "2026-11-18T20:00:00+01:00", {"yearly": "solar 11-20"}, False),
    ],
)
def test_what_no_model_has_read_yet_holds_back_what_it_may_be_about(
    said: str, at: str, given: Any, waits: bool
) -> None:
    matter = open_matter(**{"key": "driv exam", **given})
    assert may_be_settled(matter, [text(5, said, at=at)]) is waits
    assert not may_be_settled(matter, [text(5, said, "assistant", at=at)])
    assert not may_be_settled(replace(matter, place=5), [text(5, said, at=at)])


def test_however_much_speaks_of_it_the_question_whether_it_is_open_stays_short() -> None:
    matter = open_matter(key="driving test", words="My driving test is on Friday.")
    own = text(1, f"{'word ' * 4_000} My driving test is on Friday.")
    later = [text(at, f"The driving test, number {at}. {'word ' * 200}") for at in range(2, 60)]
    found = passage_of(replace(matter, message=own.text_id, place=1), [own, *later], {})
    assert sum(map(len, found.passage)) < 9_000
    assert "My driving test is on Friday." in found.passage[0]
    assert "number 59" in found.passage[-1]


def test_whether_it_is_open_is_asked_with_the_next_messages_what_names_it_and_what_is_said_since_its_day() -> None:
    messages = [text(1, "Hi."), text(2, "My exam is on Friday."), text(3, "Good luck!", "assistant"), text(4, "Ta."),
                text(5, "It rains."), text(6, "The exam is off.")]  # fmt: skip
    found = passage_of(
        open_matter(message="m2", due_from="2026-11-27"), messages, {"user": "Mara", "assistant": "Juniper"}
    )
    assert found.places == (1, 2, 3, 5)
    later = [*messages[:-1], text(6, "They took me!", at="2026-11-27T20:00:00+01:00")]
    dated = replace(open_matter(message="m2"), due_from="2026-11-27")
    assert passage_of(dated, later, {}).places == (1, 2, 3, 5)
    assert passage_of(replace(dated, due_from=""), later, {}).places == (1, 2, 3)
    assert found.passage[0] == "2026-11-21 20:00 Mara: My exam is on Friday."
    assert found.open == "event"


# -- what code alone settles


def said(
    *texts: str, kind: str = "event", quote: str = "", opens: str = "2026-11-28T09:00:00+01:00"
) -> list[OpenMatter]:
    """The matters of the first of some messages, said on Monday 16 November 2026, after the others."""
    messages = messages_of({"said": [{"at": "2026-11-16T20:00:00+01:00", "who": "user", "text": one} for one in texts]})
    new, _ = check_matters([draft(1, quote or texts[0], kind)], messages[:1], (), NO_NAMES)
    matters = [stored(number, one, messages) for number, one in enumerate(new, 1)]
    return updated(matters, messages, datetime.fromisoformat(opens))


@pytest.mark.parametrize(
    "text",
    [
        "I have to hand in the form by Friday, I'll drop it off at the counter.",
        "I have my exam on Friday, don't mention the war.",
        "周六我表姐结婚，我当伴娘，别提多高兴了。",
        "我周四要面试，不说了，先睡了。",
        "我周四要面试，不提了，复习去。",
        "我周四要面试。好，不聊了，睡觉去。",
        "我周四要面试，得去买别针，别提前走漏了风声。",
    ],
)
def test_ordinary_words_drop_nothing(text: str) -> None:
    assert [one.status for one in said(text, opens="2026-11-20T09:00:00+01:00")] == ["pending"]


@pytest.mark.parametrize(
    "later",
    ["I'll drop it off at the counter.", "不说了，先睡了", "不提了，复习去", "好，不聊了，睡觉去", "别提多高兴了"],
)
def test_ordinary_words_after_it_drop_nothing(later: str) -> None:
    assert [one.status for one in said("我周四要面试。", later, opens="2026-11-17T09:00:00+01:00")] == ["pending"]


@pytest.mark.parametrize(
    "text",
    [
        "I see the lawyer on Thursday. Please don't ask me about it.",
        "I see the lawyer on Thursday. Don't ask.",
        "I see the lawyer on Thursday. I'd rather not talk about it.",
        "我周四去见律师。以后别再问我。",
        "我周四去见律师。这事别提了。",
    ],
)
def test_a_refusal_in_the_message_itself_is_about_it(text: str) -> None:
    assert [one.status for one in said(text, quote=re.split("[.。]", text)[0])] == ["dropped"]


#: What the person pastes about the driving test of tomorrow, or 科目二, and the quote a model might take from it.
PASTED = [
    ("Can you translate this: “Please don't ask him about the driving test, he failed.”", "he failed"),
    ("Some spam I got.\n```\ndriving test cancelled\nnever ask about it\n```\nWhat a pity.", "driving test cancelled"),
    ('Translate this: "Your driving test fee was received. The driving centre."', "Your driving test fee was received."),
    ('He wrote: "The driving test is cancelled, do not come." What a liar.', "The driving test is cancelled, do not come."),
    ('He wrote: "The driving test is cancelled, do not come." What a liar.',
     'He wrote: "The driving test is cancelled, do not come."'),
    ("帮我翻译一下：“别再问我科目二的事，已经取消了。”", "已经取消了"),
    ("他写道：“科目二取消了，大家不用来了，别再问。”真烦。", "他写道：“科目二取消了，大家不用来了”"),
]  # fmt: skip
NOT_OWN: list[tuple[str, str, dict[str, Any]]] = [
    *((words, quote, {}) for words, quote in PASTED),
    *(("Don't ask about my driving test. It is cancelled.", "It is cancelled.", given)
      for given in ({"speaker": "Bob"}, {"hidden": True}, {"role": "assistant"})),
    *(("别问科目二的事，已经取消了。", "已经取消了", given) for given in ({"speaker": "小李"}, {"hidden": True})),
]  # fmt: skip


@pytest.mark.parametrize(("words", "quote", "given"), NOT_OWN)
def test_what_is_pasted_or_hidden_or_said_by_another_settles_and_drops_nothing(
    words: str, quote: str, given: dict[str, Any]
) -> None:
    matter = open_matter(key="drive test" if "driving" in words else "科目 目二")
    message = replace(text(5, words), **{"text": PREFIX[given.get("role", "user")] + words, **given})
    now = datetime(2026, 11, 22, 9, tzinfo=BERLIN)
    assert spoken_of([matter], [message]) == {}
    assert updated([matter], [message], now) == [matter]
    assert [settled_by([SettledDraft(1, how, 1, quote)], [matter], [message]) for how in ("done", "drop")] == [{}, {}]
    assert given or not refuses(words, matter, near=False)


#: Said after "My driving test is on Wednesday." or 下周三我要考科目二。
ORDINARY = """
They never asked for my licence before the driving test.
I never mention my driving test at work.
Why don't you ask me about the driving test?
Don't bring your phone to the driving test, they said.
I don't speak to my brother any more since his driving test.
I don't want to ask the examiner before the driving test.
My glasses are for the driving test, don't drop them.
科目二别提多难了
科目二的教练说别提前到
我不想问教练科目二的事
"""
REFUSALS = """
I don't want to talk about it.
I don't want to talk about the driving test.
I really don't wanna talk about it
Let's drop it.
Can we drop the subject, please?
Don't bring up the driving test again.
Please don't bring it up.
You don't have to ask.
I'd rather you didn't ask.
I'd rather not be asked about the driving test.
我不想聊这个了
不太想提科目二
科目二的事别跟我提了
我不愿被问起这事
"""


@pytest.mark.parametrize(("status", "later"), [
    *(("pending", one) for one in ORDINARY.strip().splitlines()),
    *(("dropped", one) for one in REFUSALS.strip().splitlines()),
])  # fmt: skip
def test_only_what_asks_for_silence_drops_what_it_names(status: str, later: str) -> None:
    text = "My driving test is on Wednesday." if later.isascii() else "下周三我要考科目二。"
    assert [one.status for one in said(text, later, opens="2026-11-17T09:00:00+01:00")] == [status]


@pytest.mark.parametrize(
    ("key", "before", "later", "status"),
    [
        (
            "drive test",
            "You could test the new oven first.",
            "My brother yelled at me all evening. Don't ask.",
            "pending",
        ),
        ("drive test", "How did the driving test go?", "Don't ask.", "dropped"),
        ("科目 目二", "这个科目我也教过。", "别问了。", "pending"),
        ("科目 目二", "科目二考得怎么样？", "别问了。", "dropped"),
    ],
)
def test_a_short_refusal_is_about_what_was_just_spoken_of_and_not_about_a_chance_word_of_the_companion(
    key: str, before: str, later: str, status: str
) -> None:
    talk = [text(10, before, "assistant"), text(11, later)]
    (matter,) = updated([open_matter(key=key)], talk, datetime(2026, 11, 22, 9, tzinfo=BERLIN))
    assert matter.status == status


@pytest.mark.parametrize(
    ("dropped", "later", "status"),
    [("exam math", "drive exam", "pending"), ("drive exam", "drive exam week", "dropped"), ("exam", "drive exam", "dropped"),
     ("数学 学考 考试", "钢琴 琴考 考试", "pending"), ("钢琴 琴考 考试", "钢琴 琴考 考试 城里", "dropped")],
)  # fmt: skip
def test_what_was_dropped_silences_the_same_again_and_not_all_that_shares_a_word(
    dropped: str, later: str, status: str
) -> None:
    matters = [open_matter(key=dropped, status="dropped"), open_matter(number=2, place=50, key=later)]
    assert updated(matters, [], datetime(2026, 11, 18, 9, tzinfo=BERLIN))[1].status == status


@pytest.mark.parametrize("status", ["answered", "closed", "expired"])
@pytest.mark.parametrize(
    "later",
    ["Please don't ask me about the driving exam.", "I'd rather not talk about it.", "Stop asking.", "别问了。"],
)
def test_what_is_closed_is_dropped_still_by_a_refusal_and_changes_by_nothing_else(status: Any, later: str) -> None:
    now = datetime(2026, 11, 22, 9, tzinfo=BERLIN)
    matter = open_matter(status=status, key="driv exam", words="I have my driving exam on Friday.")
    for text, became in ((later, ["dropped"]), ("My driving exam went well.", [])):
        told = messages_of({"said": [{"at": "2026-11-16T20:00:00+01:00", "who": "user", "text": matter.words},
                                     {"at": "2026-11-21T20:00:00+01:00", "who": "user", "text": text}]})  # fmt: skip
        assert [one.status for one in settle([matter], told, now)] == became


@pytest.mark.parametrize("status", ["unverified", "pending", "asked"])
def test_what_may_be_open_expires_also_where_no_model_has_said_that_it_is(status: Any) -> None:
    matter = open_matter(status=status, expires="2026-11-30")
    now = datetime(2026, 11, 30, tzinfo=BERLIN)
    assert updated([matter], [], now)[0].status == status
    assert updated([matter], [], now + timedelta(days=1))[0].status == "expired"


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("I go to Tom's wedding on Friday.", ""),
        ("My exam is on Friday, it was not cancelled after all.", ""),
        ("It's my exam on Friday.", ""),
        ("Friday's exam is the last one, I'm nervous.", ""),
        ('The "final" exam is on Friday at 9, and I was told to bring a "pen" along.', ""),
        ('我的"期末"考试在周五，要带那支新买的黑色钢笔，还有"准考证"。', ""),
        ("我周五要去张伟的婚礼。", ""),
        ("张伟的婚礼在周五，我当伴郎。", ""),
        ("周五的考试我要早点去。", ""),
        ("周五考科目三，没取消。", ""),
        ("My exam is on Friday. The concert on Saturday is cancelled.", "My exam is on Friday."),
        ("周五要考试。周末的聚会就不去了。", "周五要考试"),
        ("My trip to Rome was cancelled, but I fly to Oslo on Friday.", ""),
    ],
)
def test_what_takes_place_with_the_person_is_open(text: str, quote: str) -> None:
    assert [one.due_from[:10] for one in said(text, quote=quote)] == ["2026-11-20"]


@pytest.mark.parametrize(
    ("text", "due", "precision"),
    [
        ("My exam is on Friday at half past nine.", "2026-11-20T09:30", "time"),
        ("我周五上午9点半考试。", "2026-11-20T09:30", "time"),
        ("My exam is on Friday evening.", "2026-11-20", "day"),
        ("我周五晚上考试。", "2026-11-20", "day"),
    ],
)
def test_an_hour_is_known_where_the_words_name_one_and_not_from_a_part_of_the_day(
    text: str, due: str, precision: str
) -> None:
    assert [(one.due_from, one.precision) for one in said(text)] == [(due, precision)]


@pytest.mark.parametrize(
    ("text", "kind", "quotes", "found"),
    [
        ("I have the dentist on Wednesday and my driving test on Friday.", "event",
         ["the dentist on Wednesday", "my driving test on Friday"], ["2026-11-18", "2026-11-20"]),
        ("I have the dentist on Wednesday and my driving test on Friday.", "event",
         ["my driving test on Friday", "my driving test"], ["2026-11-20"]),
        ("In three weeks, on the Saturday, I'm throwing a housewarming.", "event",
         ["in three weeks, on the Saturday, I'm throwing a housewarming"], ["2026-12-05"]),
        ("三周后的周六我办乔迁聚会。", "event", ["三周后的周六我办乔迁聚会"], ["2026-12-05"]),
        ("周三看牙，周五考科目三。", "event", ["周三看牙", "周五考科目三"], ["2026-11-18", "2026-11-20"]),
        ("My exam is on Friday, I am glad.", "event", ["My exam"], ["2026-11-20"]),
        ("The dentist on Wednesday is cancelled: I have my driving test on Friday.", "event",
         ["I have my driving test on Friday"], ["2026-11-20"]),
        ("Mum's birthday is 3 May and Dad's is 9 June.", "birthday", ["Mum's birthday is 3 May", "Dad's is 9 June"],
         ["solar 05-03", "solar 06-09"]),
        ("My birthday is 3 May and Anna's is 9 June.", "birthday", ["My birthday is 3 May", "Anna's is 9 June"],
         ["solar 05-03", "solar 06-09"]),
        ("我妈生日五月三号，我爸生日六月九号。", "birthday", ["我妈生日五月三号", "我爸生日六月九号"],
         ["solar 05-03", "solar 06-09"]),
        ("No, my birthday isn't on 3 May, it's on 5 May.", "birthday",
         ["my birthday isn't on 3 May, it's on 5 May"], ["solar 05-05"]),
        ("我生日不是五月三号，是五月五号。", "birthday", ["我生日不是五月三号，是五月五号。"], ["solar 05-05"]),
    ],
)  # fmt: skip
def test_the_day_is_that_of_the_quoted_words(text: str, kind: str, quotes: list[str], found: list[str]) -> None:
    messages = messages_of({"said": [{"at": "2026-11-16T20:00:00+01:00", "who": "user", "text": text}]})
    case = {"said": [{"text": text, "kind": kind}]}
    drafts = [replace(one, quotes=(QuoteDraft(1, quote),)) for quote in quotes for one in drafts_of(case)]
    new, _ = check_matters(drafts, messages, (), NO_NAMES)
    assert [one.yearly or one.due_from for one in new] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('Have a look. "Dear Anna, the surgery is on 3 December at 9:00. Bring your card." Funny, no?', []),
        ("I had a look.\n> The surgery is on 3 December.\n> Bring your card.\nFunny, no?", []),
        ("看看这个。“安娜您好，手术定于12月3日上午9点，请带好医保卡。”好笑吧？", []),
        ("我看了看。\n> 手术定于12月3日上午。\n> 请带好医保卡。\n好笑吧？", []),
        ('I am nervous about my interview at the harbour office on Friday. They wrote: "Be here on 3 December, please."',
         [("2026-11-20", False)]),
        ("我周五去港务局面试，好紧张啊，资料还没准备好。他们写道：“请您12月3日来，谢谢。”", [("2026-11-20", False)]),
    ],
)  # fmt: skip
def test_a_pasted_text_gives_a_matter_neither_words_nor_day(text: str, found: list[tuple[str, bool]]) -> None:
    rows = [replace(one, status="pending") for one in said(text, opens="2026-11-17T09:00:00+01:00")]
    assert [(one.due_from, "decem" in one.key or "12" in one.key) for one in rows] == found


@pytest.mark.parametrize(
    ("first", "then", "open_days"),
    [
        ("My birthday is on 3 May.", "No, my birthday isn't on 3 May, it's on 5 May.", ["solar 05-05"]),
        ("我生日是五月三号。", "我生日不是五月三号，是五月五号。", ["solar 05-05"]),
        ("Mum's birthday is on 3 May.", "Sorry, Mum's birthday is on 5 May.", ["solar 05-05"]),
        ("Mum's birthday is on 3 May.", "Dad's birthday is on 5 May.", ["solar 05-03", "solar 05-05"]),
        (
            "My sister Anna's birthday is on 3 May.",
            "My sister Lena's birthday is on 5 May.",
            ["solar 05-03", "solar 05-05"],
        ),
        ("我妈生日是五月三号。", "不对，我妈生日是五月五号。", ["solar 05-05"]),
        ("我生日是五月三号。", "我哥生日是五月五号。", ["solar 05-03", "solar 05-05"]),
        ("我妈生日是五月三号。", "我爸生日是五月五号。", ["solar 05-03", "solar 05-05"]),
        ("My birthday is on 3 May.", "Anna's birthday is on 5 May.", ["solar 05-03", "solar 05-05"]),
    ],
)
def test_a_corrected_birthday_takes_the_place_of_the_older_one(first: str, then: str, open_days: list[str]) -> None:
    case = {"said": [{"at": f"2026-03-0{at}T20:00:00+01:00", "who": "user", "text": text, "kind": "birthday"}
                     for at, text in enumerate((first, then), 1)], "opens": "2026-03-09T09:00:00+01:00"}  # fmt: skip
    assert [one.yearly for one in matters_of(case) if one.is_open] == open_days


#: Said the day after "I have my thesis defence on Wednesday.", or 周三我论文答辩, which they are not about.
UNRELATED = """
leave it there, I thought, and shut the gate
I'd rather not talk about my ex
I never mention politics at dinner
stop asking mum for money, I told my brother
don't ask me why but I bought a unicycle
no questions today please, just banter
不想聊我前任
我跟我妈说别问工资
别问我为什么，我又买了个包
别提多高兴了
这歌不说了，好听
"""


@pytest.mark.parametrize("later", UNRELATED.strip().splitlines())
@pytest.mark.parametrize("text", ["I have my thesis defence on Wednesday.", "周三我论文答辩"])
def test_a_refusal_of_something_else_drops_nothing(text: str, later: str) -> None:
    assert [one.status for one in said(text, later, opens="2026-11-18T21:00:00+01:00")] == ["pending"]


@pytest.mark.parametrize(
    "later",
    ["Please don't ask about that.", "Don’t mention it again.", "I'd rather not talk about it.", "别问这个了",
     "这事别再问了", "不想聊这个", "Please don't ask me about the thesis 论文 defence 答辩."],
)  # fmt: skip
@pytest.mark.parametrize("text", ["I have my thesis defence on Wednesday.", "周三我论文答辩"])
def test_a_refusal_right_after_it_or_by_its_name_drops_it(text: str, later: str) -> None:
    matter = said(text, later, opens="2026-11-17T21:00:00+01:00")
    assert [one.status for one in matter] == ["dropped"]
    assert refuses(later, matter[0])


def test_what_comes_up_again_takes_the_place_of_the_older_one_and_stays_dropped_where_that_was() -> None:
    older = open_matter(key="driv exam")
    newer = open_matter(number=2, place=5, key="driv exam", due_from="2026-11-27", due_to="2026-11-27")
    now = datetime(2026, 11, 18, 9, tzinfo=BERLIN)

    def became(*matters: OpenMatter) -> list[MatterStatus]:
        return [one.status for one in updated(matters, [], now)]

    assert became(older, newer) == ["closed", "pending"]
    assert became(replace(older, status="dropped"), newer) == ["dropped", "dropped"]
    assert became(older, replace(newer, status="unverified")) == ["pending", "unverified"]
    assert became(older, replace(newer, key="dentist")) == ["pending", "pending"]


# -- the clock

BERLIN, AUCKLAND, HONOLULU = (ZoneInfo(name) for name in ("Europe/Berlin", "Pacific/Auckland", "Pacific/Honolulu"))


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("Theo stays with me from the 23rd to the 26th.", "2026-11-26"),
        ("I'm in Rome from next Monday until Thursday.", "2026-11-26"),
        ("23号到26号去上海。", "2026-11-26"),
        ("I fly on the 23rd, and to the dentist on the 26th.", "2026-11-23"),
    ],
)
def test_what_takes_several_days_is_asked_about_when_the_last_is_past(text: str, last: str) -> None:
    (found,) = said(text, opens="2026-11-17T09:00:00+01:00")
    assert (found.due_from, found.due_to) == ("2026-11-23", last)
    assert found.next_review == ("2026-11-23" if last == "2026-11-23" else "2026-11-27")


def open_matter(**given: Any) -> OpenMatter:
    """An event of 20 November 2026, unless something else is given."""
    usual = OpenMatter(1, "event", "m1", 1, "user", "2026-11-16T20:00:00+01:00", "I have an exam on Friday.", "2026-11-20",
                       "2026-11-20", "day", "", "routine", "exam", "2026-11-20", "2026-12-04", "pending", 0, "", False)  # fmt: skip
    return replace(usual, **given)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (datetime(2026, 11, 19, 23, 59, tzinfo=BERLIN), False),
        (datetime(2026, 11, 20, 0, 0, tzinfo=BERLIN), True),
        (datetime(2026, 11, 20, 0, 30, tzinfo=AUCKLAND), True),  # it is still the 19th in Berlin
        (datetime(2026, 11, 19, 23, 0, tzinfo=HONOLULU), False),  # it is the 20th there
        (datetime(2026, 12, 4, 23, 59, tzinfo=BERLIN), True),
        (datetime(2026, 12, 5, 0, 1, tzinfo=BERLIN), False),
    ],
)
def test_a_day_is_that_of_the_place_where_the_person_is(now: datetime, due: bool) -> None:
    assert bool(due_now([open_matter()], now)) is due


def test_a_night_that_is_an_hour_longer_or_shorter_is_one_day_all_the_same() -> None:
    for day in (datetime(2026, 3, 29, tzinfo=BERLIN), datetime(2026, 10, 25, tzinfo=BERLIN)):
        matter = open_matter(due_from=day.date().isoformat(), due_to=day.date().isoformat(),
                             next_review=day.date().isoformat(), expires=day.date().isoformat())  # fmt: skip
        hours = [datetime(day.year, day.month, day.day, hour, 30, tzinfo=BERLIN) for hour in range(24)]
        assert all(due_now([matter], hour) for hour in hours)
        evening, morning = hours[21] - timedelta(days=1), hours[9]
        assert may_greet(GreetingState(evening.isoformat()), None, morning) is False
        assert may_greet(GreetingState(evening.isoformat()), None, hours[20])


@pytest.mark.parametrize(
    ("last", "now", "may"),
    [
        (
            "2026-11-20T08:00:00+13:00",
            datetime(2026, 11, 19, 20, 0, tzinfo=HONOLULU),
            False,
        ),  # an hour-long "day" later
        ("2026-11-19T08:00:00+01:00", datetime(2026, 11, 19, 23, 59, tzinfo=BERLIN), False),
        ("2026-11-19T08:00:00+01:00", datetime(2026, 11, 20, 0, 1, tzinfo=BERLIN), True),
        ("2026-11-19T22:00:00+01:00", datetime(2026, 11, 20, 7, 0, tzinfo=BERLIN), False),
        ("2031-01-01T08:00:00+01:00", datetime(2026, 11, 20, 8, 0, tzinfo=BERLIN), True),  # the clock was years ahead
        ("1970-01-01T00:00:00+00:00", datetime(2026, 11, 20, 8, 0, tzinfo=BERLIN), True),  # or had forgotten the time
    ],
)
def test_a_greeting_comes_once_a_day_wherever_the_person_is_and_whatever_the_clock_did(
    last: str, now: datetime, may: bool
) -> None:
    assert may_greet(GreetingState(last), None, now) is may


def test_right_after_a_talk_nothing_is_said_first_but_a_clock_that_was_set_back_silences_nobody() -> None:
    now = datetime(2026, 11, 20, 8, 0, tzinfo=BERLIN)
    assert not may_greet(GreetingState(), (now - timedelta(minutes=5)).isoformat(), now)
    assert may_greet(GreetingState(), (now - timedelta(hours=5)).isoformat(), now)
    assert may_greet(GreetingState(), (now + timedelta(days=400)).isoformat(), now)
    assert not may_greet(GreetingState("", 2), None, now)


def test_a_birthday_comes_up_every_year_once_and_by_the_moon_where_it_is_kept_so() -> None:
    mum = open_matter(kind="birthday", yearly="lunar 08-15", next_review="2026-09-23", expires="9999-12-31")
    eve, day = datetime(2026, 9, 23, 9, tzinfo=BERLIN), datetime(2026, 9, 25, 9, tzinfo=BERLIN)
    assert not due_now([mum], eve - timedelta(days=1))
    assert due_now([mum], eve)
    asked = replace(mum, asked=1, status="asked", asked_at=eve.isoformat(), next_review=after_asking(mum, eve))
    assert asked.next_review == "2027-09-13"
    assert not any(due_now([asked], day + timedelta(days)) for days in range(5))
    assert due_now([asked], datetime(2027, 9, 13, 9, tzinfo=BERLIN))


@pytest.mark.parametrize("text", ["My sister's birthday is on 3 May.", "我妹妹的生日是五月三号。"])
def test_a_birthday_that_is_just_past_is_asked_after_once_unless_it_had_come_up(text: str) -> None:
    said = {"at": "2026-03-02T20:00:00+01:00", "who": "user", "text": text, "kind": "birthday"}
    chat = {"at": "2026-05-03T20:00:00+01:00", "who": "user", "text": "We had cake. 吃了蛋糕。"}
    for talk, days in (([], [1, 2, 3, 4, 5, 6]), ([chat], [1, 2])):
        found = []
        for day in range(1, 12):
            opens = f"2026-05-{day:02}T21:00:00+01:00"
            now = [said, *(one for one in talk if one["at"] < opens)]
            found += [day] * len(brought_up({"said": now, "opens": opens}))
        assert found == days
    (matter,) = matters_of({"said": [said], "opens": "2026-05-05T09:00:00+01:00"})
    asked_at = datetime.fromisoformat("2026-05-05T09:00:00+01:00")
    asked = replace(matter, asked=1, asked_at=asked_at.isoformat(), next_review=after_asking(matter, asked_at))
    assert not due_now([asked], asked_at + timedelta(1))
    assert due_now([asked], datetime.fromisoformat("2027-05-01T09:00:00+01:00"))


@pytest.mark.parametrize("text", ["My mother's biopsy is on Friday.", "周五是我爸的葬礼。"])
def test_what_is_grave_is_asked_about_once(text: str) -> None:
    case = {"said": [{"at": "2026-11-16T20:00:00+01:00", "who": "user", "text": text, "kind": "event!"}],
            "opens": "2026-11-20T09:00:00+01:00"}  # fmt: skip
    (matter,) = matters_of(case)
    assert matter.sensitivity == "care"
    now = datetime.fromisoformat(case["opens"])
    assert due_now([matter], now)
    asked = replace(matter, asked=1, asked_at=now.isoformat(), next_review=after_asking(matter, now))
    assert not any(due_now([asked], now + timedelta(days)) for days in range(1, 15))


@pytest.mark.parametrize(("kind", "days"), [("event", 7), ("promise", 2), ("worry", 1), ("worry!", 1), ("question", 1)])
def test_what_has_no_day_waits_a_while(kind: str, days: int) -> None:
    (matter,) = matters_of({"said": [{"at": "2026-11-16T20:00:00+01:00", "who": "user", "text": "The roof leaks.", "kind": kind}],
                            "opens": "2026-11-16T21:00:00+01:00"})  # fmt: skip
    first = date.fromisoformat(matter.next_review)
    assert (first - date(2026, 11, 16)).days == days


def test_the_day_of_a_death_comes_up_once_and_on_no_day_but_its_own() -> None:
    death = open_matter(kind="anniversary", yearly="solar 03-12", sensitivity="care", next_review="2026-03-11",
                        expires="9999-12-31", words="My father died on 12 March.")  # fmt: skip
    on = [date(2026, 3, 11) + timedelta(days) for days in range(366)]
    days = [one for one in on if due_now([death], datetime(one.year, one.month, one.day, 9, tzinfo=BERLIN))]
    assert days == [date(2026, 3, 11), date(2026, 3, 12), date(2027, 3, 11)]
    assert not due_now([replace(death, asked=1)], datetime(2027, 3, 12, 9, tzinfo=BERLIN))


def test_whether_a_birthday_is_lunar_is_asked_once_and_the_answer_settles_it() -> None:
    case = {"said": [{"at": "2026-03-02T20:00:00+08:00", "who": "user", "text": "我妈的生日是八月十五。", "kind": "birthday"}],
            "opens": "2026-03-04T09:00:00+08:00"}  # fmt: skip
    (matter,) = matters_of(case)
    assert matter.yearly == "unclear 08-15"
    now = datetime.fromisoformat(case["opens"])
    assert due_now([matter], now)
    asked = replace(matter, asked=1, asked_at=now.isoformat(), status="asked", next_review="2026-03-05")
    assert not due_now([asked], now + timedelta(days=3))
    answer = {"at": "2026-03-04T09:01:00+08:00", "who": "user", "text": "农历的。"}
    messages = messages_of({"said": [*case["said"], answer]})
    (settled,) = settle([asked], messages, now)
    assert settled.yearly == "lunar 08-15"


@pytest.mark.parametrize(
    ("answer", "calendar", "due"),
    [
        ("农历", "lunar", "2026-09-25"),
        ("农历的，不是公历", "lunar", "2026-09-25"),
        ("the normal one", "solar", "2027-08-15"),
    ],
)
def test_the_first_day_after_the_answer_is_not_missed(answer: str, calendar: str, due: str) -> None:
    told = {"at": "2026-08-20T20:00:00+08:00", "who": "user", "text": "我妈的生日是八月十五。", "kind": "birthday"}
    asked_at = datetime.fromisoformat("2026-08-22T09:00:00+08:00")
    (matter,) = matters_of({"said": [told], "opens": asked_at.isoformat()})
    assert due_now([matter], asked_at)
    asked = replace(matter, asked=1, asked_at=asked_at.isoformat(), status="asked", next_review=after_asking(matter, asked_at))  # fmt: skip
    assert not any(due_now([asked], asked_at + timedelta(days)) for days in range(1, 400))
    messages = messages_of({"said": [told, {"at": "2026-08-22T09:01:00+08:00", "who": "user", "text": answer}]})
    (settled,) = settle([asked], messages, asked_at)
    known = replace(asked, yearly=settled.yearly)
    assert known.yearly == f"{calendar} 08-15"
    days = (asked_at + timedelta(days) for days in range(1, 400))
    assert next(one for one in days if due_now([known], one)).date() == date.fromisoformat(due) - timedelta(2)


@pytest.mark.parametrize("far", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:00:00+00:00"])
def test_a_clock_at_the_end_of_time_breaks_nothing(far: str) -> None:
    now = datetime.fromisoformat(far)
    matters = [
        open_matter(),
        open_matter(number=2, yearly="lunar 12-30", kind="birthday"),
        open_matter(yearly="solar 02-29"),
    ]
    settle(matters, [], now)
    due_now(matters, now)
    coming_up(matters, now)
    may_greet(GreetingState("2026-11-20T08:00:00+13:00"), "2026-11-20T08:00:00+13:00", now)
    assert [one for one in matters if after_asking(one, now) == ""] == []


def test_a_refusal_is_looked_for_once_in_each_message_however_much_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    class Counting:
        def search(self, text: str) -> None:
            looked.append(text)

    monkeypatch.setattr("facts.matters._DO_NOT_ASK", Counting())
    now = datetime.fromisoformat("2026-11-20T10:00:00+01:00")
    for said, other, about in (
        (
            "My exam in the old mill worries me.",
            "We had apples at the market.",
            "Don't ask about the exam in the mill.",
        ),
        ("周五的钢琴考试让我担心。", "今天去菜市场买了苹果。", "钢琴考试的事别问了。"),
    ):
        (open_one,) = matters_of(
            {"said": [{"at": "2026-11-16T20:00:00+01:00", "who": "user", "text": said, "kind": "worry"}],
             "opens": now.isoformat()}
        )  # fmt: skip
        texts = [said, *[other] * 50, about]
        later = [Message(at, f"m{at}", "s", open_one.said, "user", PREFIX["user"] + one, at)
                 for at, one in enumerate(texts, 1)]  # fmt: skip
        looked.clear()
        settle([replace(open_one, number=number) for number in range(9)], later, now)
        assert looked == texts


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("我前几天胸口闷，12号去医院做检查", "2026-10-12"),
        ("My chest was tight in the last few days, I'm seeing the doctor on the 12th.", "2026-10-12"),
    ],
)
def test_an_event_is_not_due_in_the_days_that_led_to_it(text, due):
    said = [{"at": "2026-10-10T19:00:00+00:00", "who": "user", "text": text, "kind": "event"}]
    (matter,) = matters_of({"said": said, "opens": "2026-10-11T19:00:00+00:00"})
    assert matter.due_from == due


@pytest.mark.parametrize("text", ["I'll hand it in at the beginning of the month.", "月初交房租。"])
def test_the_beginning_of_the_month_for_which_something_is_planned_is_that_of_the_next_once_it_is_past(text):
    assert day_ahead(text, datetime(2026, 11, 26)) == "2026-12-01"
    assert day_ahead(text, datetime(2026, 11, 1)) == "2026-11-01"
