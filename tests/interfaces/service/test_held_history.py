"""Histories that clients hold: each round is stored once however often it is sent, and nothing of another one goes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from domain.records import Round
from interfaces.service.held_history import HeldHistory, Kept, Said, key_of
from memory import Memory
from recall.embedding import HashedEmbedder
from tests.conftest import Count, SetClock

KEY = "id:a-talk"


class Client:
    """A client of a chat API: it holds what was said, and sends all of it with each request."""

    def __init__(self, memory: Memory, clock: SetClock, key: str = KEY) -> None:
        self.memory = memory
        self.key = key
        self.said: list[Said] = []
        self.history = HeldHistory(memory, "chat", clock, archive_after=timedelta(hours=8))

    def say(self, text: str, reply: str | None = None) -> Kept:
        """Say something; the reply repeats it unless it is given."""
        self.said.append(Said("user", text))
        return self.send(f"You say {text}" if reply is None else reply)

    def send(self, reply: str) -> Kept:
        """Send what is held, and hold the reply."""
        kept = self.history.store(self.key, self.said, reply, "stop", "2026-03-01T09:00:00+00:00")
        self.said.append(Said("assistant", reply))
        return kept

    def stored(self) -> list[list[tuple[str, str]]]:
        """What is stored, session by session."""
        sessions = self.memory.doors.sessions_of_door("chat")
        return [[_words(one) for one in self.memory.rounds(each.session_id)] for each in sessions]


def _words(spoken: Round) -> tuple[str, str]:
    return spoken.user.words, spoken.assistant.words


@pytest.fixture
def memory(tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger) -> Iterator[Memory]:
    opened = Memory(tmp_path / "data", HashedEmbedder(), clock=clock, new_id=new_id, log=log)
    yield opened
    opened.close()


@pytest.fixture
def client(memory: Memory, clock: SetClock) -> Client:
    return Client(memory, clock)


def test_a_history_that_is_sent_again_with_every_request_is_stored_once_and_in_order(client: Client) -> None:
    for text in ("one", "two", "three"):
        client.say(text)
    assert client.stored() == [[("one", "You say one"), ("two", "You say two"), ("three", "You say three")]]


def test_a_request_that_is_tried_again_takes_the_place_of_the_one_before(client: Client) -> None:
    client.say("one")
    client.say("two")
    client.said.pop()
    assert client.history.find(KEY, client.said).replaced
    client.send("Another reply.")
    client.say("three")
    assert client.stored() == [
        [("one", "You say one"), ("two", "Another reply."), ("three", "You say three")]
    ]


def test_a_message_that_was_changed_begins_a_session_and_nothing_of_the_old_one_goes(client: Client) -> None:
    for text in ("one", "two", "three"):
        client.say(text)
    del client.said[2:]
    client.say("another two")
    client.say("another three")
    assert client.stored() == [
        [("one", "You say one"), ("two", "You say two"), ("three", "You say three")],
        [("another two", "You say another two"), ("another three", "You say another three")],
    ]


def test_a_new_talk_that_begins_with_the_same_words_takes_nothing_of_the_old_one(
    client: Client, memory: Memory, clock: SetClock
) -> None:
    client.say("Hi")
    client.say("I have a cat.")
    another = Client(memory, clock)
    another.say("Hi", "Hello again.")
    another.say("I have a dog.")
    assert client.stored() == [
        [("Hi", "You say Hi"), ("I have a cat.", "You say I have a cat.")],
        [("Hi", "Hello again."), ("I have a dog.", "You say I have a dog.")],
    ]
    client.say("Still there?")
    assert client.stored()[0][-1][0] == "Still there?"


def test_what_a_model_says_before_and_after_a_tool_is_one_reply(client: Client) -> None:
    client.say("What is the weather?", "Let me look.")
    client.said.append(Said("tool", "20 degrees"))
    client.send("It is warm.")
    client.say("Thank you.")
    assert client.stored() == [
        [
            ("What is the weather?", "Let me look.\n\nIt is warm."),
            ("Thank you.", "You say Thank you."),
        ]
    ]


def test_a_tool_call_without_words_stores_nothing_and_the_answer_after_it_is_stored_once(
    client: Client,
) -> None:
    client.said += [Said("user", "What is the weather?"), Said("assistant", ""), Said("tool", "20 degrees")]
    client.send("It is warm.")
    assert client.stored() == [[("What is the weather?", "It is warm.")]]


def test_rounds_that_a_client_brings_are_stored_before_the_one_that_it_asks_for(client: Client) -> None:
    client.said = [
        Said("system", "Be brief."),
        Said("user", "one"), Said("assistant", "first"),
        Said("user", "never answered"),
        Said("user", "two"), Said("assistant", "second"),
    ]  # fmt: skip
    client.say("three")
    client.say("four")
    assert client.stored() == [
        [
            ("one", "first"),
            ("never answered\n\ntwo", "second"),
            ("three", "You say three"),
            ("four", "You say four"),
        ]
    ]


def test_a_message_that_was_not_answered_is_kept_with_the_next_one_also_when_that_is_tried_again(
    client: Client,
) -> None:
    client.say("one")
    client.said.append(Said("user", "The server was away."))
    client.say("Are you there?")
    client.said.pop()
    client.send("Now I am.")
    assert client.stored() == [
        [("one", "You say one"), ("The server was away.\n\nAre you there?", "Now I am.")]
    ]


def test_a_reply_that_never_reached_its_client_is_kept_and_the_talk_goes_on_after_it(client: Client) -> None:
    client.say("one")
    client.said.pop()
    client.say("Did you hear me?")
    assert client.stored() == [[("one", "You say one"), ("Did you hear me?", "You say Did you hear me?")]]


def test_a_client_may_trim_its_replies_and_the_history_stays_the_same(client: Client) -> None:
    client.say("one", "A long reply.\n")
    client.said[-1] = Said("assistant", "A long reply.")
    client.say("two")
    assert [len(rounds) for rounds in client.stored()] == [2]


def test_a_session_that_fell_silent_is_not_gone_on_with_and_nothing_of_it_is_stored_again(
    client: Client, clock: SetClock
) -> None:
    client.say("one")
    client.say("two")
    clock.pass_by(hours=9)
    client.say("three")
    client.say("four")
    assert client.stored() == [
        [("one", "You say one"), ("two", "You say two")],
        [("three", "You say three"), ("four", "You say four")],
    ]


def test_what_was_erased_does_not_come_back_with_a_history_that_still_holds_it(
    client: Client, memory: Memory
) -> None:
    client.say("one")
    secret = client.say("my secret is 4711").round
    client.say("three")
    memory.erase(memory.scope_of_round(secret.user.text_id))
    client.say("four")
    assert [text for text, _ in client.stored()[0]] == ["one", "three", "four"]


def test_a_last_round_that_was_erased_is_gone_on_after_and_may_be_asked_again(
    client: Client, memory: Memory
) -> None:
    client.say("one")
    client.say("two")
    memory.erase(memory.scope_of_round(memory.rounds(_only(memory), 1)[0].user.text_id))
    client.said.pop()
    client.send("Once more.")
    assert client.stored() == [[("one", "You say one"), ("two", "Once more.")]]


def _only(memory: Memory) -> str:
    (session,) = memory.doors.sessions_of_door("chat")
    return session.session_id


def test_what_a_person_asks_to_have_forgotten_is_withheld_with_what_it_speaks_of(client: Client) -> None:
    client.say("I owe Bob money.")
    client.say("Please forget that.")
    client.say("What do you know?")
    assert client.history.withheld(KEY, client.said) == {0, 1, 2, 3}


def test_a_failed_store_leaves_nothing(client: Client, memory: Memory) -> None:
    client.said = [Said("user", "one"), Said("assistant", "first"), Said("user", "two")]
    with pytest.raises(ValueError, match="nothing was said"):
        client.send("  ")
    with pytest.raises(ValueError, match="nobody asked"):
        client.history.store(KEY, [Said("system", "Be brief.")], "Hm.", "stop", "2026-03-01T09:00:00+00:00")
    assert memory.doors.sessions_of_door("chat") == []


def test_two_conversations_of_one_person_share_no_session(memory: Memory, clock: SetClock) -> None:
    first, second = Client(memory, clock, "id:first"), Client(memory, clock, "id:second")
    for text in ("one", "two"):
        first.say(text)
        second.say(text)
    assert [each.door_key for each in memory.doors.sessions_of_door("chat")] == ["id:first", "id:second"]
    assert first.stored() == [[("one", "You say one"), ("two", "You say two")]] * 2


def test_the_terminal_never_takes_a_session_of_a_door_for_its_own(client: Client, memory: Memory) -> None:
    client.say("one")
    session, resumed = memory.resume_or_start()
    assert (session.door, resumed) == ("", False)


def test_a_conversation_is_known_by_its_name_or_else_by_its_first_words() -> None:
    said = [Said("system", "Be brief."), Said("user", "Hi"), Said("assistant", "Hello"), Said("user", "And?")]
    assert key_of(" a-talk ", said) == key_of("a-talk", []) == "id:a-talk"
    assert key_of(None, said) == key_of("", said[:2]) != key_of(None, said[3:])
    assert len(key_of("x" * 5_000, said)) < 50
