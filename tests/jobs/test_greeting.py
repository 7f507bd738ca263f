"""The companion speaks first where something is due, and at no other time; what is open goes with its message."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

import facts.matters
from domain.workers import CancelToken
from jobs.extraction import Extraction
from jobs.forgetting import read_forget_request
from jobs.greeting import decide
from jobs.import_backlog import ImportBacklog
from tests.support.house import House, records
from tests.support.past import bring, talk
from tests.support.server import Exchange, hang, say, status

INTERVIEW = "I have a job interview at the harbour office tomorrow."


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime.fromisoformat("2026-11-16T20:00:00+01:00")

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **length: float) -> None:
        self.now += timedelta(**length)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opens(*found: tuple[int, str, str]) -> str:
    """A reply that finds these open: turn, words, kind."""
    facts = [
        {"turn": turn, "quote": words, "restatement": words, "subject": "the user", "attribute": "matter",
         "value": words, "open": kind}
        for turn, words, kind in found
    ]  # fmt: skip
    return json.dumps({"notes": [{"topic": "t", "importance": 5, "facts": facts}]})


def settles(number: int, how: str, turn: int, quote: str) -> str:
    """A reply that finds nothing new, and what a message settles of what was open."""
    return json.dumps({"notes": [], "settled": [{"open": number, "how": how, "turn": turn, "quote": quote}]})


def greeted(home: House, stop: CancelToken | None = None) -> str:
    """What the companion says first; "" for nothing."""
    said = [one.text for one in home.talk.greet(stop or CancelToken(), 2.0)]
    return said[-1] if said else ""


def learned(home: House, mind: Any, *said: str, kind: str = "event") -> None:
    """Say something of a kind, have it read, and begin a new session."""
    mind.answers("notes", opens(*((2 * at + 1, one, kind) for at, one in enumerate(said))))
    for one in said:
        home.say(one)
    home.save()


@pytest.fixture
def interviewed(opened, mind, clock):
    """A house in which an interview was told of, two days later."""
    with opened() as home:
        learned(home, mind, INTERVIEW)
        mind.answers("talk", "How did the interview at the harbour office go?")
        clock.forward(days=2)
        yield home


def test_what_is_open_is_stored_with_its_words_and_the_day_that_they_mean(opened, mind):
    with opened() as home:
        learned(home, mind, INTERVIEW)
        (row,) = home.rows("open_matter")
        assert (row["kind"], row["due_from"], row["due_to"], row["status"]) == (
            "event", "2026-11-17", "2026-11-17", "pending"
        )  # fmt: skip
        (matter,) = home.memory.open_matters(home.talk.llm.clock())
        assert (matter.words, matter.role) == (INTERVIEW, "user")


def test_it_is_asked_by_the_companion_and_stored_only_with_the_answer(interviewed, mind):
    home = interviewed
    before = len(home.rows("conversation"))
    assert greeted(home) == "How did the interview at the harbour office go?"
    asked = mind.asked("talk")[-1]["messages"][-1]["content"]
    assert INTERVIEW in asked
    assert '"away": "yesterday"' in asked
    assert len(home.rows("conversation")) == before
    home.say("They want me back on Monday!")
    rows = sorted(home.rows("conversation"), key=lambda row: row["seq"])[before:]
    assert [row["text"].split(": ")[0] for row in rows] == ["Assistant", "User", "Assistant"]
    (spoken,) = home.talk.rounds_in_context()
    assert spoken.greeting is not None
    assert [one.role for one in spoken.messages] == ["assistant", "user", "assistant"]
    sent = [one["content"] for one in mind.asked("talk")[-1]["messages"]]
    assert sent[-2:] == ["How did the interview at the harbour office go?", "They want me back on Monday!"]
    home.say("And it is close by.")
    sent = [one["role"] for one in mind.asked("talk")[-1]["messages"]]
    assert sent == ["system", *["user", "assistant"] * (len(sent) // 2 - 1), "user"]
    assert home.rows("open_matter")[0]["status"] == "asked"
    mind.answers("notes", settles(1, "done", 2, "They want me back on Monday!"))
    home.save()
    assert home.rows("open_matter")[0]["status"] == "answered"


def test_nothing_is_asked_of_a_model_where_nothing_is_due(opened, mind, clock):
    with opened() as home:
        learned(home, mind, "I have a job interview at the harbour office on 20 December.")
        clock.forward(days=2)
        calls = len(mind.asked("talk"))
        assert greeted(home) == ""
        assert len(mind.asked("talk")) == calls


def test_the_setting_keeps_it_silent(opened, mind, clock):
    with opened(GREETING="off") as home:
        learned(home, mind, INTERVIEW)
        clock.forward(days=2)
        assert greeted(home) == ""


def test_it_greets_once_a_day_and_asks_for_each_thing_twice_at_most(interviewed, clock):
    home = interviewed
    assert greeted(home)
    clock.forward(hours=2)
    assert greeted(home) == ""
    home.talk.greeting = None
    home.memory.matters.set_greeting("2026-11-18T20:00:00+01:00", 0)
    clock.forward(days=4)
    assert greeted(home)
    home.memory.matters.set_greeting("2026-11-22T20:00:00+01:00", 0)
    clock.forward(days=4)
    assert greeted(home) == ""


def test_two_greetings_without_an_answer_end_them_until_the_person_takes_it_up(opened, mind, clock):
    with opened() as home:
        for thing in ("the fence", "the tax return", "the leaking roof", "my old boat"):
            learned(home, mind, f"I'm worried about {thing}.", kind="worry")
        clock.forward(days=3)
        mind.answers("talk", "How is it going with the tax return and the fence?")
        assert greeted(home)
        clock.forward(days=1)
        assert greeted(home)
        clock.forward(days=2)
        assert greeted(home) == ""
        home.talk.greeting = None
        home.say("We had soup.")
        home.memory.open_matters(clock())
        assert home.memory.matters.greeting()[1] == 2
        home.say("The leaking roof is fixed now.")
        home.memory.open_matters(clock())
        assert home.memory.matters.greeting()[1] == 0
        home.save()
        clock.forward(days=1)
        assert greeted(home)


@pytest.mark.parametrize("said", ["My mother's biopsy is tomorrow.", "明天做手术。"])
def test_illness_is_asked_about_once(opened, mind, clock, said):
    mind.answers("talk", "I was thinking of that. 我在想那件事。")
    with opened() as home:
        learned(home, mind, said, kind="event!")
        clock.forward(days=2)
        assert greeted(home)
        home.talk.greeting = None
        home.memory.matters.set_greeting("", 0)
        clock.forward(days=6)
        assert greeted(home) == ""


@pytest.mark.parametrize("play", [hang, status(500), status(401), say("-"), say("")])
def test_without_words_from_a_model_in_time_nothing_is_said_and_no_model_is_asked_again_that_day(
    interviewed, mind, play
):
    mind.answers("talk", play)
    assert greeted(interviewed) == ""
    assert interviewed.rows("open_matter")[0]["asked"] == 0
    assert interviewed.memory.matters.greeting()[1] == 0
    mind.answers("talk", "How did the interview go?")
    calls = len(mind.asked("talk"))
    assert greeted(interviewed) == ""
    assert len(mind.asked("talk")) == calls


@pytest.mark.parametrize(
    "reply",
    ["I missed you! How was it?", "Where have you been?", "好久没见，想你了。", "You haven't written in two days.",
     "我想你了。", "好想你！", "我很想念你。"],
)  # fmt: skip
def test_a_greeting_that_reproaches_is_not_shown(interviewed, mind, reply):
    mind.answers("talk", reply)
    assert greeted(interviewed) == ""


@pytest.mark.parametrize(
    ("reply", "shown"),
    [("好久不见！面试怎么样？", "面试怎么样？"), ("Long time no see! How was the interview?", "How was the interview?"),
     ("我想你应该面试完了吧？", "我想你应该面试完了吧？")],
)  # fmt: skip
def test_what_reproaches_nobody_is_shown_without_how_long_it_was(interviewed, mind, reply, shown):
    mind.answers("talk", reply)
    assert greeted(interviewed) == shown


def test_a_greeting_is_two_sentences_at_most(interviewed, mind):
    mind.answers("talk", "Hello again. How was the interview? And the weather? Tell me all!")
    assert greeted(interviewed) == "Hello again. How was the interview?"


def test_typing_ends_it(interviewed):
    stop = CancelToken()
    stop.set()
    assert greeted(interviewed, stop) == ""
    assert interviewed.memory.matters.greeting() == ("", 0)


def test_what_later_talk_covered_is_not_asked(interviewed, clock, mind):
    interviewed.say("The interview at the harbour office was fun.")
    clock.forward(hours=5)
    calls = len(mind.asked("talk"))
    assert greeted(interviewed) == ""
    assert len(mind.asked("talk")) == calls
    assert interviewed.rows("open_matter")[0]["status"] == "pending"  # until a model has read what was said
    mind.answers("notes", settles(1, "done", 1, "The interview at the harbour office was fun."))
    interviewed.save()
    shown = [one["open"] for one in records(mind.asked("notes")[-1]) if "open" in one]
    assert shown == [f"1 event 2026-11-17: {INTERVIEW}"]
    assert interviewed.rows("open_matter")[0]["status"] == "closed"


def test_do_not_ask_is_for_good(opened, mind, clock):
    with opened() as home:
        learned(home, mind, INTERVIEW)
        home.say("Please don't ask me about the interview at the harbour office.")
        home.memory.open_matters(clock())
        learned(home, mind, "The interview at the harbour office was moved to Thursday.")
        clock.forward(days=5)
        assert greeted(home) == ""
        assert {row["status"] for row in home.rows("open_matter")} <= {"dropped"}


@pytest.mark.parametrize(
    "answer",
    ["I'd rather not talk about it.", "Stop asking.", "别问了。", "不想聊这个。"],
)  # fmt: skip
def test_a_refusal_in_answer_to_a_greeting_is_for_good(interviewed, mind, clock, answer):
    home = interviewed
    assert greeted(home)
    home.say(answer)
    assert home.rows("open_matter")[0]["status"] == "dropped"
    learned(home, mind, "The interview at the harbour office was moved to Thursday.")
    clock.forward(days=5)
    assert greeted(home) == ""


@pytest.mark.parametrize(
    ("birthday", "refusal"),
    [("My sister's birthday is on 19 November.", "Please don't ask me about my sister's birthday."),
     ("我姐姐的生日是11月19号。", "别问我姐姐生日的事。")],
)  # fmt: skip
def test_a_birthday_is_dropped_by_a_refusal_where_nothing_else_is_open(opened, mind, clock, birthday, refusal):
    with opened() as home:
        learned(home, mind, birthday, kind="birthday")
        home.say(refusal)
        clock.forward(days=2)
        assert greeted(home) == ""
        assert [row["status"] for row in home.rows("open_matter")] == ["dropped"]


@pytest.mark.parametrize("by", ["erase", "hide", "undo"])
def test_what_is_open_goes_with_its_message(opened, mind, clock, by):
    with opened() as home:
        learned(home, mind, INTERVIEW)
        (row,) = home.read("SELECT text_id FROM conversation WHERE role = 'user'")
        if by == "erase":
            list(home.talk.erase(home.memory.erasure.scope_of_message(row[0]), CancelToken()))
        elif by == "hide":
            home.memory.rounds.hide([row[0]])
        else:
            home.talk.undo()
        assert home.rows("open_matter") == []
        clock.forward(days=2)
        assert greeted(home) == ""


def test_an_erased_matter_is_in_no_file(interviewed):
    home = interviewed
    (row,) = home.read("SELECT text_id FROM conversation WHERE role = 'user'")
    list(home.talk.erase(home.memory.erasure.scope_of_round(row[0]), CancelToken()))
    data = (home.memory.folder / "memory.db").read_bytes()
    assert b"harbour" not in data


def test_an_answered_greeting_is_undone_and_redone_with_its_round(interviewed):
    home = interviewed
    assert greeted(home)
    home.say("It went well.")
    assert home.talk.undo() == 1
    assert home.talk.rounds_in_context() == ()
    home.talk.redo()
    (spoken,) = home.talk.rounds_in_context()
    assert spoken.greeting is not None


def test_a_greeting_stays_where_its_reply_is_asked_for_again(interviewed):
    home = interviewed
    assert greeted(home)
    home.say("It went well.")
    list(home.talk.turn("It went well.", CancelToken(), again=True))
    (spoken,) = home.talk.rounds_in_context()
    assert spoken.greeting is not None
    assert [row["role"] for row in home.rows("conversation")].count("user") == 2


@pytest.mark.parametrize("by", ["erase", "hide"])
@pytest.mark.parametrize(
    ("said", "asked", "word"),
    [(INTERVIEW, "How did the interview at the harbour office go?", "harbour"),
     ("我明天去鼓浪屿面试。", "鼓浪屿的面试怎么样？", "鼓浪屿")],
)  # fmt: skip
def test_a_greeting_about_what_was_erased_or_hidden_since_is_in_no_prompt_and_not_stored(
    opened, mind, clock, by, said, asked, word
):
    with opened() as home:
        learned(home, mind, said)
        mind.answers("talk", asked)
        clock.forward(days=2)
        assert greeted(home) == asked
        mind.answers("talk", "Yes.")
        if by == "erase":  # as another program does, without a word to this conversation
            home.memory.erasure.erase(home.memory.erasure.scope_of_words(word))
        else:
            (row,) = home.read(f"SELECT text_id FROM conversation WHERE text LIKE '%{word}%' AND role = 'user'")
            home.memory.rounds.hide([row[0]])
        home.say("hi")
        assert asked not in "".join(one["content"] for one in mind.asked("talk")[-1]["messages"])
        assert all(asked not in row["text"] for row in home.rows("conversation"))


@pytest.mark.parametrize(
    ("said", "asked", "answer", "forget", "word"),
    [("My biopsy is tomorrow.", "I have been thinking of the biopsy.", "All fine, thanks.",
      "Please forget about the biopsy, never mention it again.", "biopsy"),
     ("我明天要做胃镜检查。", "胃镜检查做得怎么样？", "都挺好的，谢谢。",
      "请把胃镜检查的事忘掉，以后别再提了。", "胃镜")],
)  # fmt: skip
def test_a_greeting_is_forgotten_with_what_it_is_about(opened, mind, clock, said, asked, answer, forget, word):
    with opened() as home:
        learned(home, mind, said)
        mind.answers("talk", asked)
        clock.forward(days=2)
        assert greeted(home) == asked
        mind.answers("talk", "Fine.")
        for words in (answer, "I bought a new bicycle.", "It is green.", forget, "Good night."):
            home.say(words)
        assert word not in "".join(one["content"] for one in mind.asked("talk")[-1]["messages"])
        assert all(row["hidden"] for row in home.rows("conversation") if word in row["text"])


@pytest.mark.parametrize(
    ("said", "quoted", "promise"),
    [("My parrot is called Kiwi and he is green.", "My parrot is called Kiwi",
      "I will ask my vet about the seeds on Friday."),
     ("我家的鹦鹉叫奇异果，是绿色的，特别爱吃瓜子。", "我家的鹦鹉叫奇异果，是绿色的",
      "我答应你，周五去问问兽医。")],
)  # fmt: skip
def test_a_promise_keeps_its_words_where_a_quotation_before_it_becomes_a_reference(opened, mind, said, quoted, promise):
    with opened() as home:
        home.say(said)
        home.save()
        mind.answers("talk", f"<blockquote>{quoted}</blockquote> {promise}")
        mind.answers("notes", opens((2, promise, "promise")))
        home.say(said)
        assert home.talk.rounds_in_context()[-1].assistant.quoted
        home.save()
        assert quoted not in home.rows("conversation")[-1]["text"]
        (row,) = home.rows("open_matter")
        (matter,) = home.memory.matters.with_status((row["status"],))
        assert matter.words.rstrip(".。") == promise.rstrip(".。")


@pytest.mark.parametrize(
    ("said", "wish"),
    [("My court hearing is on Thursday.", "No need to ask me about the court hearing."),
     ("周四我要去法院开庭。", "法院开庭的事别问了。")],
)  # fmt: skip
def test_what_is_near_is_in_no_prompt_once_the_person_said_not_to_ask(opened, mind, said, wish):
    with opened() as home:
        learned(home, mind, "My choir sings in the town hall on Wednesday.", "My exam in the old mill is on Wednesday.",
                "We paint the barn on Wednesday.", said)  # fmt: skip
        mind.answers("talk", "Yes.")
        home.say(wish)  # three others are in this prompt
        assert '"away"' in "".join(one["content"] for one in mind.asked("talk")[-1]["messages"])
        home.say("Nice weather today.")
        assert '"away"' not in "".join(one["content"] for one in mind.asked("talk")[-1]["messages"])


@pytest.mark.parametrize(
    ("said", "gate"),
    [("My biopsy is on Wednesday.", "asked"), ("周三做胃镜手术。", "asked"),
     ("I meet the notary on Wednesday.", "later"), ("周三去见公证员。", "later")],
)  # fmt: skip
def test_what_is_not_to_be_brought_up_does_not_come_up_as_near(opened, mind, clock, said, gate):
    from jobs.greeting import decide

    with opened() as home:
        learned(home, mind, said, kind="event!" if gate == "asked" else "event")
        (matter,) = home.memory.open_matters(clock())
        if gate == "asked":
            home.memory.matters.note_asked({matter.number: "2026-11-19"}, clock().isoformat())
        else:
            decide(home.memory, matter.number, "later", "2026-11-20", clock())
        mind.answers("talk", "Yes.")
        home.say("Good morning!")
        assert '"away"' not in "".join(one["content"] for one in mind.asked("talk")[-1]["messages"])


@pytest.mark.parametrize(
    ("said", "promise", "whose"),
    [("My parrot is ill.", "I will ask my vet about the seeds on Friday.", '"by": "you" is your own promise'),
     ("我的鹦鹉病了。", "我答应你，周五去问问兽医。", '带 "by" 的是你自己答应的')],
)  # fmt: skip
def test_what_is_near_says_whose_promise_it_is_and_has_only_quotable_words_under_said(
    opened, mind, said, promise, whose
):
    with opened() as home:
        mind.answers("talk", promise)
        mind.answers("notes", opens((2, promise, "promise")))
        home.say(said)
        home.save()
        mind.answers("talk", "Yes.")
        home.say("早上好！" if "鹦" in said else "Good morning!")
        shown = "\n".join(one["content"] for one in mind.asked("talk")[-1]["messages"])
        (record,) = (json.loads(line) for line in shown.splitlines() if line.startswith("{") and '"away"' in line)
        assert set(record) == {"open", "words", "on", "day", "away", "by"}
        assert whose in shown


def test_the_choices_of_open_read_no_messages(opened, mind, monkeypatch):
    from interfaces.terminal.command_context import Choice
    from interfaces.terminal.commands.life_view import open_choices
    from storage.messages import Messages

    with opened() as home:
        learned(home, mind, INTERVIEW, "周四我要去法院开庭。")
        monkeypatch.setattr(Messages, "said_after", None)
        context: Any = SimpleNamespace(memory=home.memory, clock=home.talk.llm.clock)
        assert [one.help for one in open_choices(context, ()) if isinstance(one, Choice)] == [
            INTERVIEW,
            "周四我要去法院开庭。",
        ]


def test_an_opening_reads_only_what_no_model_has_read_since_the_first_that_is_open(opened, mind, clock, monkeypatch):
    from storage.messages import Messages

    read, said_after = [], Messages.said_after

    def counted(self: Messages, *place: int, **which: bool) -> Any:
        found = said_after(self, *place, **which)
        read.extend([len(found)] if which.get("read") is False else [])
        return found

    with opened() as home:
        home.say("Hello.")
        home.save()
        monkeypatch.setattr(Messages, "said_after", counted)
        home.memory.open_matters(clock())
        assert read == []
        learned(home, mind, "I'm worried about the leaking roof.", kind="worry")
        home.say("It rained.")
        home.memory.open_matters(clock())
        assert read == [2]


@pytest.mark.parametrize(("answer", "found"), [("yes", 1), ("no", 0), ("perhaps", 0)])
def test_only_what_a_model_says_is_open_is(opened, mind, answer, found):
    def play(exchange: Exchange) -> None:
        asked = [one for one in records(exchange.json) if "statement" in one]
        assert [one["says"] for one in asked if "open" in one] == [INTERVIEW]
        said = (f"{one['statement']} {answer if 'open' in one else 'yes'}" for one in asked)
        say("\n".join(said))(exchange)

    with opened() as home:
        mind.answers("verify", play)
        learned(home, mind, INTERVIEW)
        assert len(mind.asked("verify")) == 1
        assert len(home.rows("open_matter")) == found


def test_without_an_answer_nothing_is_open_until_it_is_asked_again(opened, mind, clock):
    with opened() as home:
        mind.answers("verify", status(500))
        learned(home, mind, INTERVIEW)
        clock.forward(days=2)
        assert home.memory.open_matters(clock()) == []
        assert greeted(home) == ""
        (job,) = home.memory.jobs.waiting(["verify"])
        mind.answers("verify", "1 yes\n2 yes")
        Extraction(home.memory, home.llm).verify_window(job.key, CancelToken())
        assert [one.words for one in home.memory.open_matters(clock())] == [INTERVIEW]


def test_what_was_spoken_of_before_a_model_could_say_that_it_is_open_stays_closed(opened, mind, clock):
    with opened() as home:
        mind.answers("verify", status(500))
        learned(home, mind, INTERVIEW)
        home.say("The interview at the harbour office is off.")
        (job,) = home.memory.jobs.waiting(["verify"])
        mind.answers("verify", "1 yes\n2 yes")
        Extraction(home.memory, home.llm).verify_window(job.key, CancelToken())
        assert home.memory.open_matters(clock()) == []


def test_a_window_read_ahead_closes_what_an_earlier_one_opened_where_it_speaks_of_it(opened, mind, clock):
    def play(exchange: Exchange) -> None:
        first = any(one.get("turn") == 1 and one["text"] == INTERVIEW for one in records(exchange.json))
        say(opens((1, INTERVIEW, "event")) if first else '{"notes": []}')(exchange)

    with opened(EXTRACTION_WORKERS="2", WINDOW_SIZE="2") as home:
        mind.answers("notes", play)
        home.say(INTERVIEW)
        home.say("They rang, the interview at the harbour office is off.")
        home.save()
        assert [row["status"] for row in home.rows("open_matter")] == ["closed"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_the_session_goes_on_with_is_asked_about_where_it_may_say_how_it_went(opened, mind, clock, workers):
    def play(exchange: Exchange) -> None:
        first = any(one.get("turn") == 1 and one["text"] == INTERVIEW for one in records(exchange.json))
        say(opens((1, INTERVIEW, "event")) if first else '{"notes": []}')(exchange)

    def judge(exchange: Exchange) -> None:
        read = "".join(one["content"] for one in exchange.json["messages"])
        say("1 yes\n2 no" if "They took me!" in read else "1 yes\n2 yes")(exchange)

    with opened(EXTRACTION_WORKERS=workers, WINDOW_SIZE="2") as home:
        mind.answers("notes", play)
        mind.answers("verify", judge)
        home.say(INTERVIEW)
        home.say("We had soup.")
        clock.forward(days=1)
        home.say("They took me!")
        home.save()
        assert home.memory.open_matters(clock()) == []


def test_incognito_nothing_is_said_first(interviewed):
    interviewed.talk.set_incognito(True)
    assert greeted(interviewed) == ""


def test_what_is_near_is_in_one_prompt_and_in_no_other(opened, mind, clock, monkeypatch):
    with opened(RECALL_CONV_NUM="1") as home:
        learned(home, mind, "My choir sings in the town hall on Wednesday.")
        mind.answers("talk", "Yes.")
        budgets, recall = [], home.memory.recall
        monkeypatch.setattr(
            home.memory, "recall", lambda *of, **more: (budgets.append(of[3].tokens), recall(*of, **more))[1]
        )
        home.say("Good morning!")
        assert [one < home.settings.recall_limits.tokens for one in budgets] == [True], "it is within the budget"
        home.say("Nice weather today.")
        first, second = (one["messages"] for one in mind.asked("talk")[-2:])
        assert "town hall" in "".join(one["content"] for one in first if one["role"] == "user")
        assert '"away":"intwodays"' in "".join(one["content"] for one in first).replace(" ", "")
        assert '"away"' not in "".join(one["content"] for one in second)
        home.save()
        home.say("Hello.")
        assert '"away"' not in "".join(one["content"] for one in mind.asked("talk")[-1]["messages"])


def test_what_unread_words_hold_back_comes_up_in_the_same_session_once_they_are_read(opened, mind, clock):
    def has_near(said: str) -> bool:
        home.say(said)
        return '"away"' in "".join(one["content"] for one in mind.asked("talk")[-1]["messages"])

    with opened(RECALL_CONV_NUM="1") as home:
        learned(home, mind, "My choir sings in the town hall on 27 November.")
        mind.answers("talk", "Yes.")
        one = home.talk.session
        home.say("A choir on the radio.")
        clock.forward(days=5)
        home.talk.switch_to(home.memory.sessions.start(), resumed=False)
        assert not has_near("Good morning!")
        mind.answers("notes", '{"notes": []}')
        list(Extraction(home.memory, home.llm).run(one.session_id, CancelToken(), all_of_it=True))
        assert has_near("Nice weather today.")
        assert not has_near("And warm.")


@pytest.mark.parametrize("by", ["erase", "hide"])
def test_what_is_near_is_in_no_prompt_once_it_is_hidden_or_erased(opened, mind, clock, by):
    with opened() as home:
        near = "My choir sings in the town hall on Wednesday."
        learned(home, mind, near, "My exam in the old mill is on Wednesday.", "We paint the barn on Wednesday.",
                "I see the notary on Wednesday.")  # fmt: skip
        mind.answers("talk", "Yes.")
        home.say("Good morning!")  # three of them are in this prompt
        (row,) = home.read("SELECT text_id FROM conversation WHERE text LIKE '%notary%' AND role = 'user'")
        if by == "hide":
            home.memory.rounds.hide([row[0]])
        else:
            list(home.talk.erase(home.memory.erasure.scope_of_round(row[0]), CancelToken()))
        home.say("Nice weather today.")
        assert "notary" not in "".join(one["content"] for one in mind.asked("talk")[-1]["messages"])


@pytest.mark.parametrize("became", ["dropped", "answered", "closed"])
def test_an_answer_to_a_greeting_opens_nothing_that_was_settled_since(interviewed, became):
    home = interviewed
    assert greeted(home)
    home.memory.matters.set_status(1, became, "", "")
    home.say("Hello there.")
    assert home.rows("open_matter")[0]["status"] == became


def test_what_another_program_drops_while_a_greeting_is_written_stays_dropped(interviewed, mind, clock):
    home = interviewed

    def play(exchange: Exchange) -> None:
        decide(home.memory, 1, "drop", "", clock())
        say("How did the interview go?")(exchange)

    mind.answers("talk", play)
    greeted(home)
    assert [(row["status"], row["asked"]) for row in home.rows("open_matter")] == [("dropped", 0)]


def test_what_is_dropped_between_reading_and_writing_what_became_of_it_stays_dropped(interviewed, clock, monkeypatch):
    home, settle = interviewed, facts.matters.settle

    def meanwhile(*given: Any) -> Any:
        found = settle(*given)
        monkeypatch.undo()
        home.memory.matters.set_status(1, "dropped", "", "")
        return found

    monkeypatch.setattr(facts.matters, "settle", meanwhile)
    clock.forward(days=400)
    assert home.memory.open_matters(clock()) == []
    assert home.rows("open_matter")[0]["status"] == "dropped"


def read_request(home: House, mind: Any, role: str, meanwhile: Any = lambda: None) -> dict[str, int]:
    """Let a model name the message of this role that was asked or answered; what is hidden then, by the words."""
    home.say("They want me back on Monday!")
    home.say("I bought a bicycle.")
    rows = home.rows("conversation")
    request = next(row["text_id"] for row in rows if row["text"].endswith("bicycle."))

    def play(exchange: Exchange) -> None:
        named = {"greeting": "did the interview", "reply": "Well done", "answer": "back on Monday"}[role]
        turns = [one["turn"] for one in records(exchange.json) if named in one.get("text", "")]
        meanwhile()
        say(json.dumps({"asks": "hide", "turns": turns, "matter": "", "person": ""}))(exchange)

    mind.answers("forget", play)
    list(read_forget_request(home.memory, home.llm, request, (), CancelToken()))
    return {row["text"].partition(": ")[2]: row["hidden"] for row in home.rows("conversation")}


@pytest.mark.parametrize(
    ("role", "hides"), [("greeting", (1, 1, 1)), ("answer", (1, 1, 1)), ("reply", (0, 0, 1))]
)  # fmt: skip
def test_a_named_greeting_is_hidden_with_its_answer_and_a_named_reply_without_its_question(
    interviewed, mind, role, hides
):
    home = interviewed
    greeting = greeted(home)
    mind.answers("talk", "Well done, and good luck!")
    found = read_request(home, mind, role)
    words = (greeting, "They want me back on Monday!", "Well done, and good luck!")
    assert tuple(found[one] for one in words) == hides


def test_a_named_reply_that_leaves_the_context_while_a_model_reads_the_request_is_hidden(interviewed, mind):
    home = interviewed
    mind.answers("talk", "Well done, and good luck!")

    def meanwhile() -> None:
        with home.memory.database.write() as tx:
            tx.do("UPDATE conversation SET compacted = 1")

    assert read_request(home, mind, "reply", meanwhile)["Well done, and good luck!"]


@pytest.mark.parametrize("first", ["verified", "unverified"])
def test_what_a_session_read_before_said_of_a_matter_closes_it(opened, mind, clock, first):
    with opened() as home:
        home.say(INTERVIEW)
        one = home.talk.session.session_id
        home.talk.switch_to(home.memory.sessions.start(), resumed=False)
        home.say("The interview at the harbour office went great, they took me!")
        mind.answers("notes", '{"notes": []}', opens((1, INTERVIEW, "event")))
        reading = Extraction(home.memory, home.llm)
        list(reading.run(home.talk.session.session_id, CancelToken(), all_of_it=True))
        if first == "unverified":
            mind.answers("verify", status(500))
        list(reading.run(one, CancelToken(), all_of_it=True))
        assert [row["status"] for row in home.rows("open_matter")] == ["closed"]


def test_a_window_that_began_before_a_matter_was_said_elsewhere_may_settle_it(opened, mind):
    done = "They took me, I start in January!"
    with opened() as home:
        home.say("We had soup.")
        one = home.talk.session
        home.talk.switch_to(home.memory.sessions.start(), resumed=False)
        learned(home, mind, INTERVIEW)
        home.talk.switch_to(one, resumed=True)
        home.say(done)
        mind.answers("notes", settles(1, "done", 3, done))
        list(Extraction(home.memory, home.llm).run(one.session_id, CancelToken(), all_of_it=True))
        assert [row["status"] for row in home.rows("open_matter")] == ["closed"]


def test_an_open_matter_that_was_not_shown_with_a_window_keeps_no_fact_from_its_words(opened, mind):
    fact = {"turn": 1, "quote": "Bertil fixed the tap", "restatement": "Bertil repaired the tap", "subject": "Bertil",
            "attribute": "work", "value": "repaired the tap"}  # fmt: skip
    with opened() as home:
        home.say("Bertil fixed the tap.")
        one = home.talk.session
        home.talk.switch_to(home.memory.sessions.start(), resumed=False)
        learned(home, mind, "The bike gets repaired on Friday.")
        mind.answers("notes", json.dumps({"notes": [{"topic": "t", "importance": 5, "facts": [fact]}]}))
        list(Extraction(home.memory, home.llm).run(one.session_id, CancelToken(), all_of_it=True))
        assert "Bertil repaired the tap" in [found.restatement for found in home.memory.facts.all()]


def test_what_no_model_has_verified_yet_is_shown_and_may_be_settled(opened, mind):
    done = "They took me, I start in January!"
    with opened() as home:
        mind.answers("verify", status(500))
        learned(home, mind, INTERVIEW)
        home.say(done)
        mind.answers("notes", settles(1, "done", 1, done))
        home.save()
        (job,) = home.memory.jobs.waiting(["verify"])
        mind.answers("verify", "1 yes\n2 yes")
        Extraction(home.memory, home.llm).verify_window(job.key, CancelToken())
        assert [row["status"] for row in home.rows("open_matter")] == ["closed"]


def test_an_old_export_settles_nothing(opened, mind, clock):
    with opened() as home:
        learned(home, mind, "My driving test is on Friday.", "My sister visits on Saturday.")
        old = talk("old", "P: I failed my driving test.", "C: Oh.", "P: Don't ask me about my sister.", "C: Fine.",
                   began=datetime(2019, 5, 3, 10, tzinfo=UTC), title="old")  # fmt: skip
        bring(home.memory, old)
        assert len(home.memory.open_matters(clock())) == 2
        mind.answers("notes", '{"notes": []}')
        list(ImportBacklog(home.memory, home.llm).run(CancelToken()))
        assert [row["status"] for row in home.rows("open_matter")] == ["pending", "pending"]
