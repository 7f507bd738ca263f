"""The companion's way of talking, handed on to another model: replies that were taken well, for a bounded while."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from domain.events import Notice
from domain.workers import CancelToken
from language.reactions import manner_of, reaction_of
from tests.support.house import House, house, marked
from tests.support.server import ScriptedServer

Opens = Callable[[str], AbstractContextManager[House]]

REPLIES = {
    "The cello again.": "Borodin wins, three to nil.",
    "hahaha yes": "Told you.",
    "How is the weather?": "Weather: 1. rain 2. sun",
    "No, that's wrong, stop it": "Sorry.",
    "My knee hurts.": "Stairs or rain?",
    "Thanks, that helps.": "Good.",
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = lambda request: REPLIES.get(request["messages"][-1]["content"].splitlines()[-1], "Hm.")
        yield running


@pytest.fixture
def opens(tmp_path: Path, server: ScriptedServer, clock: Any, new_id: Any, log: Any) -> Opens:
    def opened(model: str) -> AbstractContextManager[House]:
        return house(tmp_path, server, clock, new_id, log, CHAT_MODEL=model)

    return opened


def turn(at: House, text: str) -> list[Notice]:
    """Say something; what is worth saying of the model, which the reply goes with."""
    events = list(at.talk.turn(text, CancelToken()))
    return [one for one in events if isinstance(one, Notice) and one.key == "models.before"]


def shown(server: ScriptedServer) -> list[dict[str, str]]:
    """The examples in the last prompt of a turn."""
    sent = [one for one in server.chats if marked(one, "talk")][-1]["messages"]
    lines = "\n".join(one["content"] for one in sent).splitlines()
    return [json.loads(line) for line in lines if line.startswith('{"they":"')]


def usual(server: ScriptedServer) -> dict[str, str]:
    """How the companion usually talks, in the last prompt of a turn."""
    sent = [one for one in server.chats if marked(one, "talk")][-1]["messages"]
    lines = "\n".join(one["content"] for one in sent).splitlines()
    return next((json.loads(line)["usual"] for line in lines if line.startswith('{"usual":')), {})


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("hahaha", 1), ("哈哈哈笑死", 1), ("lol", 1), ("Thank you, I needed that.", 1), ("谢谢，说得好", 1),
        ("w" * 90, 1), ("一" * 50, 1), ("I bought a kettle.", 0), ("我买了个壶", 0), ("No, I said Ruth.", -1),
        ("haha, but no, that's wrong", -1), ("别这样说", -1), ("哈哈，不对吧", -1),
    ],
)  # fmt: skip
def test_laughter_thanks_and_a_long_answer_count_for_a_reply_and_annoyance_against_it(text: str, taken: int) -> None:
    found = reaction_of(text, 20)
    assert (found > 0) - (found < 0) == taken


def test_a_new_model_is_shown_the_replies_that_were_taken_well_and_the_person_one_of_them_beside_its_first(
    opens: Opens, server: ScriptedServer
) -> None:
    with opens("old-model") as at:
        for text in REPLIES:
            assert turn(at, text) == []
        assert shown(server) == []
    with opens("new-model") as at:
        (notice,) = turn(at, "My knee hurts again.")
        told = {"said": "My knee hurts.", "reply": "Stairs or rain?"}
        assert notice.details == told
        said = [one["they"] for one in shown(server)]
        assert said[0] == "My knee hurts."
        assert set(said) == {"The cello again.", "My knee hurts."}
        assert shown(server)[0] == {"they": "My knee hurts.", "you": "Stairs or rain?"}
        assert turn(at, "And it rains.") == []
        assert shown(server)


def test_the_examples_travel_for_a_bounded_number_of_rounds(opens: Opens, server: ScriptedServer) -> None:
    with opens("old-model") as at:
        for text in REPLIES:
            turn(at, text)
    with opens("new-model") as at:
        seen = []
        for number in range(16):
            turn(at, f"Line {number}.")
            seen.append(bool(shown(server)))
        assert seen == [True] * 12 + [False] * 4
    with opens("new-model") as at:
        turn(at, "Still here.")
        assert shown(server) == []


def test_a_new_model_is_shown_how_the_companion_usually_talks_for_the_same_while(
    opens: Opens, server: ScriptedServer
) -> None:
    with opens("old-model") as at:
        server.answer = lambda request: "Rain again, mate. Tea?"
        for number in range(11):
            turn(at, f"Day {number}.")
    with opens("new-model") as at:
        turn(at, "Hello.")
        assert usual(server) == {}  # of so few replies nothing is said
    with opens("old-model") as at:
        for number in range(14):
            turn(at, f"Night {number}.")
    with opens("newer-model") as at:
        turn(at, "Hello.")
        assert usual(server)["length"] == "about 4 words"
        assert usual(server)["calls"] == "mate"
        assert "lists" in usual(server)["never"]
        assert "questions" not in usual(server)["never"]
        for number in range(12):
            turn(at, f"Then {number}.")
        assert usual(server) == {}


@pytest.mark.parametrize(
    ("reply", "language", "manner"),
    [
        ("老兄，今天又下雨了。", "zh", {"length": "大约 8 个字", "calls": "老兄"}),
        ("Well, Kim! 1. tea\n- rest", "en", {"length": "about 5 words", "calls": "Kim"}),
        ("Kim likes tea.", "en", {"length": "about 3 words"}),
    ],
)
def test_manner_is_what_the_replies_show(reply: str, language: Any, manner: dict[str, str]) -> None:
    found = dict(manner_of([reply] * 12, "Kim", language))
    never = found.pop("never", "")
    assert found == manner
    assert ("exclamation marks" in never) == (language == "en" and "!" not in reply)
    assert manner_of([reply] * 11, "Kim", language) == {}


def test_what_is_erased_or_hidden_is_no_example(opens: Opens, server: ScriptedServer) -> None:
    with opens("old-model") as at:
        for text in REPLIES:
            turn(at, text)
        at.memory.rounds.hide(
            [one.text_id for one in at.memory.messages.context(at.talk.session.session_id)[0].messages]
        )
        at.memory.erasure.erase(at.memory.erasure.scope_of_words("knee"))
    with opens("new-model") as at:
        assert turn(at, "Who won?") == []
        assert shown(server) == []
