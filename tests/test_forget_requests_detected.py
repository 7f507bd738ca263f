"""What a person asks to have forgotten is in no later prompt, of this session or any other (P22)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from domain.events import Notice
from domain.records import without_hidden
from domain.workers import CancelToken
from tests.support.house import House, friend, house
from tests.support.past import bring, talk
from tests.support.server import ScriptedServer, say, status, vectors

SECRET = re.compile("two thousand|gambling", re.IGNORECASE)
#: Said on one evening, as in life; the forget request stands in the middle.
EVENING = (
    "Juniper. Tom and I are over. He told me last Sunday. Four years.",
    "One good thing: I got the job. Osprey. I start on the 1st of September.",
    "Can I tell you something? Josef borrowed two thousand pounds from me to cover gambling debts and Annika has no"
    " idea. God, I shouldn't have said that. Please forget it, I mean it, wipe it and never bring it up.",
    "Also the knee: the physio says patellar tendinitis, no running for ten weeks.",
    "Will you check on me around Tom's birthday, the 3rd of November?",
)
AFTERWARDS = ("What do you know about Josef?", "Who has gambling debts? Did anyone borrow two thousand pounds?")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = lambda request: friend(request).replace("Reply to: ", "I hear you: ")
        yield running


def said(open_house: House, line: str) -> list[Notice]:
    events = list(open_house.talk.turn(line, CancelToken()))
    assert open_house.talk.compact_now() == []
    open_house.settle()
    return [event for event in events if isinstance(event, Notice)]


def sent(server: ScriptedServer) -> list[str]:
    return [json.dumps(request.json, ensure_ascii=False) for request in server.requests if request.body]


def told_since(server: ScriptedServer, asked: int) -> list[str]:
    """The requests since, without the words of the questions that a test asks itself."""
    found = sent(server)[asked:]
    for sentence in (part for question in AFTERWARDS for part in re.split(r"(?<=\?) ", question)):
        found = [request.replace(sentence, "") for request in found]
    return [request for request in found if SECRET.search(request)]


@pytest.mark.parametrize("embedder", ["built in", "server"])
def test_after_the_forget_request_no_request_of_any_session_holds_what_was_to_be_forgotten(
    tmp_path, server, clock, new_id, log, embedder
):
    few = {"MAX_CONV_NUM": "2", "REFRESH_EVERY_CONV_NUM": "1"}
    if embedder == "server":
        server.embeds = vectors()
        few |= {"EMBEDDING_MODEL": "e", "EMBEDDING_API_BASE": server.base}
    with house(tmp_path, server, clock, new_id, log, **few) as first:
        for line in EVENING[:2]:
            assert said(first, line) == []
        notices = said(first, EVENING[2])
        assert [(notice.key, notice.details) for notice in notices] == [
            ("forget_request.detected", {"rounds": 1, "matter": ()})
        ]
        asked = len(sent(server))
        for line in (*EVENING[3:], AFTERWARDS[1]):
            said(first, line)
        first.save()
        for line in AFTERWARDS:
            said(first, line)
        list(first.talk.turn("Say it again.", CancelToken(), again=True))
        first.save()
        assert told_since(server, asked) == []
        assert SECRET.search(str(first.rows("conversation")))
        found = str([first.memory.personas.read(persona) for persona in ("self", "user")]) + str(first.rows("summary"))
        assert "Josef borrowed" not in found
        assert "patellar" in found


def test_in_its_place_stands_a_neutral_line(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        for line in EVENING[1:4]:
            said(first, line)
        messages = server.chats[-1]["messages"]
        assert [message["role"] for message in messages[1:]] == ["user", "assistant"] * 2 + ["user"]
        assert "not to be spoken of" in messages[3]["content"]


def test_a_forget_request_that_stands_alone_hides_what_was_said_before_it(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        said(first, "My brother Josef has gambling debts.")
        assert said(first, "Please forget that, I mean it.")[0].details == {"rounds": 2, "matter": ()}
        asked = len(sent(server))
        said(first, "How are you?")
        assert told_since(server, asked) == []
        assert len(first.memory.messages.hidden()) == 4


def test_a_forget_request_that_names_what_it_means_hides_that_wherever_it_stands_in_the_context(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        said(first, "My brother Josef has gambling debts.")
        said(first, "I cook lentils every Friday.")
        notices = said(first, "Please forget what I said about Josef, wipe it and never bring it up.")
        assert notices[0].details == {"rounds": 2, "matter": ("Josef",)}
        asked = len(sent(server))
        said(first, "How are you?")
        first.save()
        assert told_since(server, asked) == []
        assert "lentils" in first.rows("summary")[0]["summary"]


def test_a_forget_request_in_chinese_is_heard(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        said(first, "我弟弟欠了两千块赌债。")
        assert said(first, "请把这件事忘掉、别再提")[0].key == "forget_request.detected"
        said(first, "今天天气不错。")
        assert "赌债" not in sent(server)[-1]
        assert "不再提起" in sent(server)[-1]


@pytest.mark.parametrize(
    ("secret", "other", "forget_request", "matter"),
    [
        ("My brother Josef has gambling debts.", "I had pasta.", "Please forget all I said about Josef.", "Josef"),
        ("我弟弟约瑟夫欠了两千块赌债。", "午饭吃了面条。", "请忘掉我说的关于约瑟夫的事。", "约瑟夫"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("folded", [False, True])
def test_a_forget_request_that_names_its_matter_hides_what_holds_it_and_leaves_the_round_before(
    tmp_path, server, clock, new_id, log, secret, other, forget_request, matter, folded
):
    few = {"MAX_CONV_NUM": "1", "REFRESH_EVERY_CONV_NUM": "1"} if folded else {}
    with house(tmp_path, server, clock, new_id, log, **few) as first:
        for line in (secret, other):
            said(first, line)
        before = first.rows("summary")
        assert bool(before) is folded
        assert said(first, forget_request)[0].details == {"rounds": 2, "matter": (matter,)}
        assert [message.words for message in first.memory.messages.hidden() if message.role == "user"] == [
            secret,
            forget_request,
        ]
        assert "gambling" not in str(first.rows("summary"))
        asked = len(sent(server))
        said(first, "How are you?")
        first.save()
        assert not [one for one in sent(server)[asked:] if "gambling" in one or "赌债" in one]
        assert other in str(sent(server)[asked:])


@pytest.mark.parametrize(
    ("secret", "others", "forget_request", "matter", "asked_again"),
    [
        (
            "My brother Josef has gambling debts.",
            ("My brother Anton sails.", "The casino burned down, no more gambling there."),
            "Please forget what I told you about Josef's gambling, I mean it, never bring it up.",
            "Josef's gambling",
            "What do you know about Josef?",
        ),
        (
            "我弟弟约瑟夫欠了两千块赌债。",
            ("我弟弟安东喜欢航海。", "两千块的自行车太贵了。"),
            "请忘掉我说的关于约瑟夫赌债的事。",
            "约瑟夫赌债",
            "约瑟夫怎么样了？",
        ),
    ],
)  # fmt: skip
def test_a_forget_request_that_names_its_matter_hides_what_older_sessions_hold_of_it_and_nothing_else(
    tmp_path, server, clock, new_id, log, secret, others, forget_request, matter, asked_again
):
    with house(tmp_path, server, clock, new_id, log) as first:
        for line in (secret, others[0]):
            said(first, line)
        first.save()
        said(first, others[1])
        first.save()
        said(first, "I cook lentils every Friday.")
        assert said(first, forget_request)[0].details == {"rounds": 2, "matter": (matter,)}
        assert [message.words for message in first.memory.messages.hidden() if message.role == "user"] == [
            secret,
            forget_request,
        ]
        asked = len(sent(server))
        said(first, asked_again)
        first.save()
        said(first, asked_again)
        assert not [one for one in sent(server)[asked:] if secret[:-1] in one]
        assert others[0] in str(first.rows("summary"))
        assert secret[:-1] not in str(first.rows("summary"))


@pytest.mark.parametrize("lately", ["just said", "told you tonight"])
def test_a_forget_request_for_what_was_just_said_leaves_older_sessions_alone(
    tmp_path, server, clock, new_id, log, lately
):
    with house(tmp_path, server, clock, new_id, log) as first:
        said(first, "My brother Josef has gambling debts.")
        first.save()
        said(first, "Josef gave up gambling.")
        assert said(first, f"Please forget what I {lately} about Josef, I mean it.")[0].details["rounds"] == 2
        told = [message.words for message in first.memory.messages.hidden() if message.role == "user"]
        assert told[0] == "Josef gave up gambling."


def test_a_forget_request_never_takes_what_a_good_part_of_a_life_holds(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        for day in range(14):
            said(first, f"Day {day} at work: the printer, the boss, the soup.")
        first.save()
        said(first, "Work was grim.")
        said(first, "Please forget everything I told you about work, I mean it.")
        assert len(first.memory.messages.hidden()) == 4
        said(first, "Please forget what I told you about work on day 3, I mean it.")
        assert 4 < len(first.memory.messages.hidden()) <= 8


def test_what_nobody_asked_to_have_forgotten_is_told_on(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        said(first, "My brother Josef has gambling debts.")
        assert said(first, "Forget it, let's eat.") == []
        said(first, "How are you?")
        assert SECRET.search(sent(server)[-1])


def test_what_is_hidden_can_be_released_and_is_told_and_found_again(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        said(first, "My brother Josef has gambling debts.")
        said(first, "Please forget that, I mean it.")
        first.memory.rounds.unhide([message.text_id for message in first.memory.messages.hidden()])
        said(first, "How are you?")
        assert SECRET.search(sent(server)[-1])
        first.save()
        assert "gambling" in first.rows("summary")[0]["summary"]
        said(first, "What do you know about Josef's gambling debts?")
        assert SECRET.search(str(first.talk.last.recollection))


@pytest.mark.parametrize("brought", [False, True], ids=["said here", "brought along"])
def test_what_is_released_is_told_again_in_the_summary_and_the_chapter_that_were_made_without_it(
    tmp_path, server, clock, new_id, log, brought
):
    with house(tmp_path, server, clock, new_id, log, GROUP_SIZE="2") as first:
        if brought:
            bring(first.memory, talk("josef", "P: My brother Josef has gambling debts.", "C: Oh."))
        else:
            said(first, "My brother Josef has gambling debts.")
            first.save()
        said(first, "The owl is back.")
        first.save()
        first.talk.start_maintenance()
        first.talk.maintenance.wait()
        messages = [one["text_id"] for one in first.rows("conversation") if "gambling" in one["text"]]
        first.memory.rounds.hide(messages)
        first.talk.start_maintenance()
        first.talk.maintenance.wait()
        assert not any(SECRET.search(one) for one in drawn(first))
        first.memory.rounds.unhide(messages)
        first.talk.start_maintenance()
        first.talk.maintenance.wait()
        assert [bool(SECRET.search(one)) for one in drawn(first)].count(True) == 2, "summary and chapter"


def drawn(at):
    return [*(one["summary"] for one in at.rows("summary")), *(one["text"] for one in at.rows("chapter"))]


def test_what_is_hidden_can_be_erased_for_good_with_proof(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        for line in EVENING:
            said(first, line)
        first.save()
        chosen = first.memory.erasure.scope_of_hidden()
        assert len(chosen.messages) == 2
        events = list(first.talk.erase(chosen, CancelToken()))
        assert events[-1].proof.traces == ()
        assert not SECRET.search(str(first.rows("conversation")))
        assert first.memory.messages.hidden() == []


def test_a_forget_request_whose_reply_fails_hides_nothing_and_is_heard_when_it_is_said_again(
    tmp_path, server, clock, new_id, log
):
    with house(tmp_path, server, clock, new_id, log) as first:
        said(first, "My brother Josef has gambling debts.")
        server.script(*[status(401)] * 3)
        with pytest.raises(Exception, match="401"):
            said(first, "Please forget that, I mean it.")
        assert first.memory.messages.hidden() == []
        server._chats.clear()
        said(first, "Please forget that, I mean it.")
        assert len(first.memory.messages.hidden()) == 4


def test_a_forget_request_is_heard_while_nothing_is_written(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        first.talk.set_incognito(True)
        said(first, "My brother Josef has gambling debts.")
        assert said(first, "Please forget that, I mean it.")[0].key == "forget_request.detected"
        said(first, "How are you?")
        assert not SECRET.search(sent(server)[-1])
        assert first.rows("conversation") == []


def test_a_forget_request_and_its_round_are_one_commit(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log) as first:
        said(first, "My brother Josef has gambling debts.")
        first.memory.rounds.hide = lambda text_ids: 1 / 0
        with pytest.raises(ZeroDivisionError):
            said(first, "Please forget that, I mean it.")
        assert len(without_hidden(first.memory.messages.rounds(first.talk.session.session_id))) == 1


def test_a_session_of_which_all_is_hidden_can_be_saved_and_resumed(tmp_path, server, clock, new_id, log):
    server.script(*[say("All right.")] * 2)
    with house(tmp_path, server, clock, new_id, log) as first:
        said(first, "My brother Josef has gambling debts.")
        said(first, "Please forget that, I mean it.")
        asked = len(sent(server))
        archived = first.save().archived
        assert first.rows("summary") == []
        first.talk.switch_to(
            first.memory.rounds.resume(archived.session_id, first.talk.session.session_id), resumed=True
        )
        said(first, "How are you?")
        assert told_since(server, asked) == []
