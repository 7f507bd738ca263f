"""What a person asks to have forgotten is hidden at once, read by a model once, and exactly what is meant (P22)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from domain.events import Notice
from domain.workers import CancelToken
from storage.jobs import Job
from tests.support.house import House, Mind, friend, house, marked, records
from tests.support.server import Exchange, ScriptedServer, status
from tests.support.server import say as speak

PATTY = "my sister in law patty had an abortion and my brother has no idea"
REGRET = "shouldnt of typed that. forget i said anything about patty there will you"
PROMOTION = "Guess what, I got the promotion!"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def say(at: House, line: str) -> list[str]:
    """Say something, and let what the next turn waits for be done; the notices of both."""
    events = list(at.talk.turn(line, CancelToken()))
    notices = [event for event in events if isinstance(event, Notice)] + at.talk.compact_now()
    at.settle()
    return [notice.key for notice in notices]


def hidden(at: House) -> list[str]:
    return [message.words for message in at.memory.messages.hidden() if message.role == "user"]


def answered(**given: Any) -> str:
    return json.dumps({"asks": "hide", "turns": [], "matter": "", "person": "", **given})


def test_a_misspelt_request_hides_the_secret_that_it_names_and_not_the_promotion_before_it(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as at:
        for line in ("Patty is coming on Sunday.", "It rains.", PATTY, PROMOTION):
            assert say(at, line) == []
        assert say(at, REGRET) == ["forget_request.detected"]
        assert hidden(at) == [PATTY, REGRET]


def test_the_same_is_hidden_without_a_model(tmp_path, clock, new_id, log):
    with house(tmp_path, None, clock, new_id, log) as at:
        for line in (PROMOTION, PATTY, REGRET):
            say(at, line)
        assert hidden(at) == [PATTY, REGRET]
        assert at.memory.jobs.find("forget_request", at.memory.messages.hidden()[-2].text_id) is None


@pytest.mark.parametrize(
    ("told", "other"),
    [
        ("I owe Sam 300 pounds. Please forget that.", PROMOTION),
        ("I owe Sam 300 pounds. Forget about the money I owe Sam.", PROMOTION),
        ("Please don't remember this: my PIN is 4711.", PROMOTION),
        ("我欠了阿杰三万块钱。这件事你忘了吧，别记。", "我升职了！"),
        ("请不要记住这个：我的密码是四七一一。", "我升职了！"),
    ],
)
def test_a_message_that_tells_the_matter_itself_is_hidden_alone(tmp_path, server, clock, new_id, log, told, other):
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, other)
        say(at, told)
        assert hidden(at) == [told]


def test_a_model_is_asked_once_and_adds_the_rounds_that_tell_the_matter(tmp_path, server, clock, new_id, log):
    mind = Mind(server)
    mind.answers("forget", answered(turns=[3]))
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, PROMOTION)
        say(at, "Klara kissed me in the kitchen.")
        say(at, "It rains.")
        assert hidden(at) == []
        keys = say(at, "Please forget what I said about my boss's wife.")
        assert keys == ["forget_request.detected"] * 2
        assert hidden(at) == ["Klara kissed me in the kitchen.", "Please forget what I said about my boss's wife."]
        say(at, "How are you?")
        (request,) = mind.asked("forget")
        *shown, question = records(request)
        assert [one["text"] for one in shown][2] == "Klara kissed me in the kitchen."
        assert question == {"in_question": 7}


def test_what_only_may_be_a_request_is_hidden_when_the_model_says_so(tmp_path, server, clock, new_id, log):
    mind = Mind(server)
    mind.answers("forget", answered(turns=[1]))
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, "Josef drinks.")
        assert say(at, "Forget it.") == ["forget_request.detected"]
        assert hidden(at) == ["Josef drinks.", "Forget it."]


def test_the_next_message_waits_until_the_model_has_read_the_request(tmp_path, server, clock, new_id, log):
    mind = Mind(server)
    mind.answers("forget", answered(turns=[1]))
    with house(tmp_path, server, clock, new_id, log) as at:
        list(at.talk.turn("Josef drinks.", CancelToken()))
        list(at.talk.turn("Forget it.", CancelToken()))
        list(at.talk.turn("How are you?", CancelToken()))
        assert "drinks" not in json.dumps([one for one in server.chats if marked(one, "talk")][-1])


def test_what_a_model_calls_no_request_may_be_mentioned_again(tmp_path, server, clock, new_id, log):
    mind = Mind(server)
    mind.answers("forget", answered(asks="nothing"))
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, "Josef drinks.")
        assert say(at, "forget i said anything about josef") == ["forget_request.detected", "forget_request.none"]
        assert hidden(at) == []


@pytest.mark.parametrize("reply", [answered(asks="unsure"), "I cannot say.", 401])
def test_in_doubt_or_where_the_model_fails_the_narrow_reading_is_hidden_and_the_person_is_asked(
    tmp_path, server, clock, new_id, log, reply
):
    mind = Mind(server)
    mind.answers("forget", *([status(reply)] * 3 if isinstance(reply, int) else [reply]))
    with house(tmp_path, server, clock, new_id, log) as at:
        for line in (PROMOTION, "Josef drinks."):
            say(at, line)
        assert say(at, "Forget it.") == ["forget_request.asked"]
        assert hidden(at) == ["Josef drinks.", "Forget it."]
        assert len(at.talk.in_doubt) == 4
        assert at.talk.answer_doubt(keep=False) == 4
        assert hidden(at) == []
        assert len(mind.asked("forget")) == 1


def test_a_clear_request_stays_hidden_whatever_the_model_says(tmp_path, server, clock, new_id, log):
    mind = Mind(server)
    mind.answers("forget", answered(asks="nothing"))
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, "Josef drinks.")
        assert say(at, "Please forget that, I mean it.") == ["forget_request.detected", "forget_request.asked"]
        assert hidden(at) == ["Josef drinks.", "Please forget that, I mean it."]


def test_a_request_to_erase_is_answered_with_how_that_is_done(tmp_path, server, clock, new_id, log):
    mind = Mind(server)
    mind.answers("forget", answered(asks="erase", turns=[1]))
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, "Josef drinks.")
        assert "forget_request.erase" in say(at, "Please erase what I said about Josef.")
        assert len(at.memory.messages.hidden()) == 4, "nothing is erased by a model"


@pytest.mark.parametrize(
    ("secret", "request_", "released"),
    [
        ("Josef drinks.", "Please forget what I said about Josef.", "You can talk about Josef again."),
        ("Josef drinks.", "Please forget that, I mean it.", "It's fine, you may mention it again."),
        ("约瑟夫酗酒。", "请忘掉约瑟夫的事。", "约瑟夫的事可以再提了。"),
        ("约瑟夫酗酒。", "请把这件事忘掉、别再提", "可以再提了"),
    ],
)
def test_a_withdrawn_request_shows_again_what_it_hid_and_nothing_else(
    tmp_path, server, clock, new_id, log, secret, request_, released
):
    with house(tmp_path, server, clock, new_id, log) as at:
        for line in ("My PIN is 4711. Please forget that.", secret, request_):
            say(at, line)
        assert secret in hidden(at)
        assert say(at, released) == ["forget_request.released"]
        assert hidden(at) == ["My PIN is 4711. Please forget that."]
        say(at, "How are you?")
        assert secret in json.dumps(server.chats[-1], ensure_ascii=False)


def test_what_was_hidden_before_is_in_no_later_reading(tmp_path, server, clock, new_id, log):
    mind = Mind(server)
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, "My PIN is 4711. Please forget that.")
        say(at, "Josef drinks.")
        say(at, "Please forget what I said about Josef.")
        assert "4711" not in json.dumps(mind.asked("forget")[-1])


def test_a_reading_that_was_killed_is_done_by_whoever_opens_the_memory_next(tmp_path, server, clock, new_id, log):
    mind = Mind(server)
    mind.answers("forget", answered(turns=[1]))
    with house(tmp_path, server, clock, new_id, log) as at:
        list(at.talk.turn("Josef drinks.", CancelToken()))
        with at.talk.maintenance.queue.compaction.paused():
            list(at.talk.turn("Forget it.", CancelToken()))
        at.talk.maintenance.queue.compaction.end(0)
    server.requests.clear()
    with house(tmp_path, server, clock, new_id, log) as at:
        at.talk.start_maintenance()
        at.talk.compact_now()
        assert hidden(at) == ["Josef drinks.", "Forget it."]


def test_a_reading_of_what_was_erased_or_released_meanwhile_does_nothing(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, "Josef drinks.")
        say(at, "Please forget that, I mean it.")
        asked = at.memory.messages.hidden()
        at.memory.rounds.unhide([message.text_id for message in asked])
        before = len(server.chats)
        payload = " ".join(message.text_id for message in asked)
        for key in (asked[-2].text_id, "gone"):
            at.talk.maintenance._run_job(Job("forget_request", key, payload, 1, 0, 0.0, ""), CancelToken())
        assert len(server.chats) == before
        assert hidden(at) == []


def test_an_external_memory_retells_what_is_hidden_only_to_who_asks_about_it() -> None:
    from language.forget_requests import retells_hidden

    told = ["Josef borrowed two thousand pounds to cover gambling debts."]
    note = "Josef has gambling debts, two thousand pounds, borrowed in May."
    assert retells_hidden(note, told, "What shall I cook on Sunday?")
    assert not retells_hidden(note, told, "What do you know about Josef?")
    assert not retells_hidden("Josef likes walnuts.", told, "What shall I cook on Sunday?")


@pytest.mark.parametrize(
    ("told", "other", "asked"),
    [
        (
            "Do you think it's mean to go behind his back?",
            "The fields are flooded.",
            "forget that i said the thing about going behind my boss's back, he shook my hand",
        ),
        ("放假在家躺了一天，懒得动", "今天厂里设备坏了", "那个啥，我前面说躺了一天的事你忘了吧，显得我太懒哈哈"),
    ],
)
def test_what_was_said_in_an_earlier_session_in_other_words_is_shown_to_the_model_and_hidden(
    tmp_path, server, clock, new_id, log, told, other, asked
):
    mind = Mind(server)

    def reading(exchange: Exchange) -> None:
        shown = records(exchange.json)
        meant = [one["turn"] for one in shown[:-1] if one["text"] == told]
        speak(answered(turns=[*meant, shown[-1]["in_question"]]))(exchange)

    mind.answers("forget", reading)
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, told)
        say(at, other)
        at.save()
        say(at, asked)
        assert hidden(at) == [told, asked]
        assert [message.role for message in at.memory.messages.hidden()] == ["user", "assistant"] * 2


@pytest.mark.parametrize(
    ("told", "other", "asked"),
    [
        ("I lay in bed all day.", "My interview is on the 9th.", "Forget that I lay in bed all day."),
        ("放假在家睡大觉，懒得动", "9号下午要去面试，心里没底", "我前面说睡大觉的事你忘了吧"),
    ],
)
def test_a_reply_that_tells_the_matter_in_passing_is_hidden_without_what_it_answers(
    tmp_path, server, clock, new_id, log, told, other, asked
):
    mind = Mind(server)
    mind.answers("forget", answered(turns=[1, 4]))
    with house(tmp_path, server, clock, new_id, log) as at:
        say(at, told)
        say(at, other)
        say(at, asked)
        assert hidden(at) == [told, asked]
        assert [message.role for message in at.memory.messages.hidden()] == [
            "user",
            *["assistant"] * 2,
            "user",
            "assistant",
        ]


def reads(monkeypatch, at: House, reading: str, line: str) -> None:
    monkeypatch.setattr(at.memory, "reads_like_forget_request", lambda text: reading if text == line else "none")


UNCERTAIN = "Let poor Josef be."


@pytest.mark.parametrize("keep", [True, False])
def test_what_only_reads_like_a_request_is_hidden_once_the_person_says_so(
    tmp_path, clock, new_id, log, monkeypatch, keep
):
    with house(tmp_path, None, clock, new_id, log) as at:
        reads(monkeypatch, at, "uncertain", UNCERTAIN)
        for line in ("Josef drinks.", PROMOTION):
            say(at, line)
        assert say(at, UNCERTAIN) == ["forget_request.unsure"]
        assert hidden(at) == []
        at.talk.answer_doubt(keep=keep)
        assert hidden(at) == (["Josef drinks.", UNCERTAIN] if keep else [])


@pytest.mark.parametrize(("asks", "expected"), [("hide", ["Josef drinks.", UNCERTAIN]), ("nothing", [])])
def test_what_only_reads_like_a_request_is_read_by_the_model_if_there_is_one(
    tmp_path, server, clock, new_id, log, monkeypatch, asks, expected
):
    mind = Mind(server)
    mind.answers("forget", answered(asks=asks, matter="Josef"))
    with house(tmp_path, server, clock, new_id, log) as at:
        reads(monkeypatch, at, "uncertain", UNCERTAIN)
        for line in ("Josef drinks.", PROMOTION):
            say(at, line)
        say(at, UNCERTAIN)
        assert hidden(at) == expected
        assert len(mind.asked("forget")) == 1


def test_an_ordinary_message_with_the_words_is_not_read_by_the_model(tmp_path, server, clock, new_id, log):
    mind = Mind(server)
    with house(tmp_path, server, clock, new_id, log, EMBEDDING_MODEL="") as at:
        say(at, "He told me never to mention the rent again at dinner.")
        say(at, "She never talks about the war.")
        assert mind.asked("forget") == []


@pytest.mark.parametrize("line", ["Please make the story about my arrest vanish.", "就让这件事沉到海底吧"])
def test_a_request_in_words_without_a_form_is_heard_by_its_vector_which_recall_made_already(
    tmp_path, clock, new_id, log, line, monkeypatch
):
    with house(tmp_path, None, clock, new_id, log, EMBEDDING_MODEL="") as at:
        embedded: list[str] = []
        embed = at.memory._embedder.embed
        monkeypatch.setattr(at.memory._embedder, "embed", lambda texts: embedded.extend(texts) or embed(texts))
        say(at, "I was arrested in 1990.")
        assert say(at, line)[0] in ("forget_request.asked", "forget_request.unsure", "forget_request.detected")
        assert embedded.count(line) == 1


def test_another_embedder_leaves_it_to_the_rules(tmp_path, clock, new_id, log):
    with house(tmp_path, None, clock, new_id, log) as at:
        say(at, "Josef drinks.")
        say(at, "forget i said anything about josef")
        assert at.memory.reads_like_forget_request("forget i said anything about josef") is None
        assert hidden(at) == ["Josef drinks.", "forget i said anything about josef"]


@pytest.mark.parametrize(
    "line",
    [
        "Today I said too much.\nPlease forget what I said about Josef.",
        "To be honest I regret it.\nPlease forget what I said about Josef.",
        "From now on: new life.\nPlease forget what I said about Josef.",
    ],
)
def test_a_line_that_begins_like_the_head_of_a_letter_does_not_make_the_message_somebody_elses(
    tmp_path, clock, new_id, log, line
):
    with house(tmp_path, None, clock, new_id, log) as at:
        for said in ("Josef drinks.", PROMOTION):
            say(at, said)
        assert say(at, line)[0] in ("forget_request.detected", "forget_request.asked")
        assert hidden(at) == ["Josef drinks.", line]


@pytest.mark.parametrize("line", ["Can you please forget what I said about Josef?", "And please never mention Josef."])
def test_a_please_before_the_order_hides_what_it_names_and_not_the_round_before(tmp_path, clock, new_id, log, line):
    with house(tmp_path, None, clock, new_id, log) as at:
        for said in ("Josef drinks.", PROMOTION):
            say(at, said)
        say(at, line)
        assert hidden(at) == ["Josef drinks.", line]


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ("Josef drinks.", "Translate this message: Je t'aime\n\nAnd please forget what I said about Josef."),
        ("Josef drinks.", "Dear friend,\nplease forget what I said about Josef."),
        ("Josef drinks.", "``` pw=1\nplease forget what I said about Josef, dont store it"),
        ("老郑在喝酒。", "帮我看看这封邮件：王总您好，我决定辞职。\n还有，请忘掉我说过的关于老郑的事。"),
        ("老郑在喝酒。", "尊敬的老友\n请忘掉我说过的关于老郑的事。"),
    ],
)
def test_an_order_behind_a_text_whose_end_is_not_to_be_seen_is_asked_about(
    tmp_path, server, clock, new_id, log, told, line
):
    mind = Mind(server)
    with house(tmp_path, server, clock, new_id, log) as at:
        for said in (told, PROMOTION):
            say(at, said)
        assert say(at, line) == ["forget_request.unsure"]
        assert (hidden(at), mind.asked("forget")) == ([], [])
        at.talk.answer_doubt(keep=True)
        assert hidden(at) == [told, line]


@pytest.mark.parametrize(
    "line", ["请删除这条消息：我的银行卡密码是882211", "Please delete this message: I cheated on Sam with Leo."]
)
def test_an_order_before_the_text_that_it_means_hides_that_and_no_round_before(tmp_path, clock, new_id, log, line):
    with house(tmp_path, None, clock, new_id, log) as at:
        say(at, PROMOTION)
        say(at, line)
        assert hidden(at) == [line]
