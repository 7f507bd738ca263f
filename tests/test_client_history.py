"""Histories that clients hold: each round is stored once however often it is sent, and nothing of another one goes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from client_history import ClientHistory, ClientMessage, StoredRequest, conversation_key
from domain.records import Round
from memory import Memory
from recall.embedding import HashedEmbedder
from tests.conftest import Count, SetClock

KEY = "a-talk"


class Client:
    """A client of a chat API: it holds what was said, and sends all of it with each request, or what ``shows`` makes
    of it.
    """

    def __init__(
        self,
        memory: Memory,
        clock: SetClock,
        key: str | None = KEY,
        shows: Callable[[list[ClientMessage]], list[ClientMessage]] = list,
    ) -> None:
        self.memory = memory
        self.key = key
        self.shows = shows
        self.said: list[ClientMessage] = []
        self.history = ClientHistory(memory, "chat", clock, archive_after=timedelta(hours=8))

    def say(self, text: str, reply: str | None = None) -> StoredRequest:
        """Say something; the reply repeats it unless it is given."""
        self.said.append(ClientMessage("user", text))
        return self.send(f"You say {text}" if reply is None else reply)

    def send(self, reply: str) -> StoredRequest:
        """Send what is held, and hold the reply."""
        sent = self.shows(self.said)
        kept = self.history.store_request(self.key, sent, reply, "stop", "2026-03-01T09:00:00+00:00")
        self.said.append(ClientMessage("assistant", reply))
        return kept

    def stored(self) -> list[list[tuple[str, str]]]:
        """What is stored, session by session."""
        sessions = self.memory.sessions.of_client("chat")
        return [[_words(one) for one in self.memory.messages.rounds(each.session_id)] for each in sessions]

    def words(self) -> list[list[str]]:
        """What the person said of it."""
        return [[said for said, _ in rounds] for rounds in self.stored()]


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
    assert client.history.find_place(KEY, client.said).replaced
    client.send("Another reply.")
    client.say("three")
    assert client.stored() == [[("one", "You say one"), ("two", "Another reply."), ("three", "You say three")]]


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
    memory: Memory, clock: SetClock
) -> None:
    client, another = Client(memory, clock, None), Client(memory, clock, None)
    client.say("Hi")
    client.say("I have a cat.")
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
    client.said.append(ClientMessage("tool", "20 degrees"))
    client.send("It is warm.")
    client.say("Thank you.")
    assert client.stored() == [
        [("What is the weather?", "Let me look.\n\nIt is warm."), ("Thank you.", "You say Thank you.")]
    ]


def test_a_tool_call_without_words_stores_nothing_and_the_answer_after_it_is_stored_once(client: Client) -> None:
    client.said += [
        ClientMessage("user", "What is the weather?"),
        ClientMessage("assistant", ""),
        ClientMessage("tool", "20 degrees"),
    ]
    client.send("It is warm.")
    assert client.stored() == [[("What is the weather?", "It is warm.")]]


def test_rounds_that_a_client_brings_are_stored_before_the_one_that_it_asks_for(client: Client) -> None:
    client.said = [
        ClientMessage("system", "Be brief."),
        ClientMessage("user", "one"), ClientMessage("assistant", "first"),
        ClientMessage("user", "never answered"),
        ClientMessage("user", "two"), ClientMessage("assistant", "second"),
    ]  # fmt: skip
    client.say("three")
    client.say("four")
    assert client.stored() == [
        [("one", "first"), ("never answered\n\ntwo", "second"), ("three", "You say three"), ("four", "You say four")]
    ]


def test_a_message_that_was_not_answered_is_kept_with_the_next_one_also_when_that_is_tried_again(
    client: Client,
) -> None:
    client.say("one")
    client.said.append(ClientMessage("user", "The server was away."))
    client.say("Are you there?")
    client.said.pop()
    client.send("Now I am.")
    assert client.stored() == [[("one", "You say one"), ("The server was away.\n\nAre you there?", "Now I am.")]]


def test_a_reply_that_never_reached_its_client_is_kept_and_the_talk_goes_on_after_it(client: Client) -> None:
    client.say("one")
    client.said.pop()
    client.say("Did you hear me?")
    assert client.stored() == [[("one", "You say one"), ("Did you hear me?", "You say Did you hear me?")]]


def test_a_client_may_trim_its_replies_and_the_history_stays_the_same(client: Client) -> None:
    client.say("one", "A long reply.\n")
    client.said[-1] = ClientMessage("assistant", "A long reply.")
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


def test_what_was_erased_does_not_come_back_with_a_history_that_still_holds_it(client: Client, memory: Memory) -> None:
    client.say("one")
    secret = client.say("my secret is 4711").round
    client.say("three")
    memory.erasure.erase(memory.erasure.scope_of_round(secret.user.text_id))
    client.say("four")
    assert [text for text, _ in client.stored()[0]] == ["one", "three", "four"]


def test_a_last_round_that_was_erased_is_gone_on_after_and_may_be_asked_again(client: Client, memory: Memory) -> None:
    client.say("one")
    client.say("two")
    memory.erasure.erase(memory.erasure.scope_of_round(memory.messages.rounds(_only(memory), 1)[0].user.text_id))
    client.said.pop()
    client.send("Once more.")
    assert client.stored() == [[("one", "You say one"), ("two", "Once more.")]]


def _only(memory: Memory) -> str:
    (session,) = memory.sessions.of_client("chat")
    return session.session_id


def test_the_messages_of_a_hidden_round_are_named_with_its_reply(client: Client, memory: Memory) -> None:
    told = client.say("I owe Bob money.")
    memory.rounds.hide([turn.text_id for turn in told.round.messages])
    client.say("What do you know?")
    place = client.history.find_place(KEY, client.said)
    assert client.history.hidden_messages(place, len(client.said)) == {0, 1}


def test_a_failed_store_leaves_nothing(client: Client, memory: Memory) -> None:
    client.said = [ClientMessage("user", "one"), ClientMessage("assistant", "first"), ClientMessage("user", "two")]
    with pytest.raises(ValueError, match="nothing was said"):
        client.send("  ")
    with pytest.raises(ValueError, match="no message of the person"):
        client.history.store_request(
            KEY, [ClientMessage("system", "Be brief.")], "Hm.", "stop", "2026-03-01T09:00:00+00:00"
        )
    assert memory.sessions.of_client("chat") == []


def test_two_conversations_of_one_person_share_no_session(memory: Memory, clock: SetClock) -> None:
    first, second = Client(memory, clock, "first"), Client(memory, clock, "second")
    for text in ("one", "two"):
        first.say(text)
        second.say(text)
    assert [each.client_key for each in memory.sessions.of_client("chat")] == ["id:first", "id:second"]
    assert first.stored() == [[("one", "You say one"), ("two", "You say two")]] * 2


def test_the_terminal_never_takes_a_session_of_a_client_for_its_own(client: Client, memory: Memory) -> None:
    client.say("one")
    session, resumed = memory.sessions.resume_or_start()
    assert (session.client, resumed) == ("", False)


def test_a_conversation_is_known_by_its_name_or_else_by_its_first_words() -> None:
    said = [
        ClientMessage("system", "Be brief."),
        ClientMessage("user", "Hi"),
        ClientMessage("assistant", "Hello"),
        ClientMessage("user", "And?"),
    ]
    assert conversation_key(" a-talk ", said) == conversation_key("a-talk", []) == "id:a-talk"
    assert conversation_key(None, said) == conversation_key("", said[:2]) != conversation_key(None, said[3:])
    assert len(conversation_key("x" * 5_000, said)) < 50


# -- what clients send of a history


FIFTEEN = [f"Message {number} of the talk." for number in range(15)]


def last(messages: int) -> Callable[[list[ClientMessage]], list[ClientMessage]]:
    """A sliding window of so many messages."""
    return lambda said: said[-messages:]


def prompted(said: list[ClientMessage], messages: Iterator[int]) -> list[ClientMessage]:
    """The whole history behind a system prompt that is another one each time, or not there."""
    turn = next(messages)
    return said if turn % 3 == 0 else [ClientMessage("system", f"Be brief. It is {turn} o'clock."), *said]


def in_context(
    said: list[ClientMessage], messages: Iterator[int], context: str, window: int = 10_000, keeps: bool = False
) -> list[ClientMessage]:
    """The newest message with something around it that is new each time; the others without it."""
    turn = next(messages)
    around = ClientMessage("user", context.format(turn=turn, said=said[-1].text))
    if keeps:
        said[-1] = around
    return [*said[:-1], around][-window:]


CONTEXTS = [
    "It is {turn} o'clock.\n\n{said}",
    "[{turn}:00] {said}",
    "{said}\n\n(It is {turn} o'clock.)",
    "Use what you know:\n<context>page {turn}</context>\nQuestion: {said}\nAnswer:",
    "现在是 {turn} 点。\n{said}",
]


@pytest.mark.parametrize("replies", ["their own", "all alike"])
@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("window", [2, 3, 4, 5, 6, 7, 10, 100])
def test_a_window_of_a_history_makes_no_copies(
    memory: Memory, clock: SetClock, window: int, key: str | None, replies: str
) -> None:
    client = Client(memory, clock, key, last(window))
    for text in FIFTEEN:
        client.say(text, "Mm." if replies == "all alike" else None)
    assert client.words() == [FIFTEEN]


def test_the_newest_message_alone_is_enough_where_the_conversation_has_a_name(memory: Memory, clock: SetClock) -> None:
    client = Client(memory, clock, shows=last(1))
    for text in FIFTEEN:
        client.say(text)
    assert client.words() == [FIFTEEN]
    client.say(FIFTEEN[-1])
    assert client.words() == [[*FIFTEEN, FIFTEEN[-1]]]


@pytest.mark.parametrize("key", [KEY, None])
def test_a_system_prompt_that_changes_makes_no_copies(memory: Memory, clock: SetClock, key: str | None) -> None:
    messages = count()
    client = Client(memory, clock, key, lambda said: prompted(said, messages))
    for text in FIFTEEN:
        client.say(text)
    assert client.words() == [FIFTEEN]


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("window", [3, 6, 100])
@pytest.mark.parametrize("key", [KEY, None])
def test_context_around_the_newest_message_makes_no_copies(
    memory: Memory, clock: SetClock, key: str | None, window: int, context: str, *, keeps: bool
) -> None:
    messages = count()
    client = Client(memory, clock, key, lambda said: in_context(said, messages, context, window, keeps))
    for text in FIFTEEN:
        client.say(text)
    assert client.words() == [[context.format(turn=turn, said=text) for turn, text in enumerate(FIFTEEN)]]


def test_what_was_erased_does_not_come_back_without_the_context_that_it_came_with(
    memory: Memory, clock: SetClock
) -> None:
    messages = count()
    client = Client(memory, clock, None, lambda said: in_context(said, messages, CONTEXTS[0]))
    for text in ("one", "my secret is 4711", "three"):
        client.say(text)
    secret = memory.messages.rounds(_only(memory))[1]
    memory.erasure.erase(memory.erasure.scope_of_round(secret.user.text_id))
    client.say("four")
    assert "4711" not in str(client.stored())
    assert len(client.stored()) == 1


@pytest.mark.parametrize("window", [2, 3, 4, 100])
@pytest.mark.parametrize("key", [KEY, None])
def test_two_equal_messages_in_a_row_are_two(memory: Memory, clock: SetClock, key: str | None, window: int) -> None:
    client = Client(memory, clock, key, last(window))
    said = ["Hello.", "Go on.", "Go on.", "Go on.", "Thank you.", "Go on.", "Go on."]
    for number, text in enumerate(said):
        client.say(text, f"Reply {number}.")
    assert client.words() == [said]


@pytest.mark.parametrize("window", [3, 4, 100])
@pytest.mark.parametrize("key", [KEY, None])
def test_a_reply_asked_for_anew_takes_the_place_of_the_one_before(
    memory: Memory, clock: SetClock, key: str | None, window: int
) -> None:
    client = Client(memory, clock, key, last(window))
    for text in FIFTEEN:
        client.say(text, "Mm." + text)
        client.said.pop()
        client.send("Again." + text)
    assert client.stored() == [[(text, "Again." + text) for text in FIFTEEN]]


@pytest.mark.parametrize("window", [3, 4, 6, 100])
def test_an_earlier_message_that_was_changed_begins_a_branch_and_copies_nothing(
    memory: Memory, clock: SetClock, window: int
) -> None:
    client = Client(memory, clock, None, last(window))
    for text in FIFTEEN[:8]:
        client.say(text)
    del client.said[8:]
    for text in ("Another fifth.", "Another sixth.", "Another seventh."):
        client.say(text)
    assert client.words() == [FIFTEEN[:8], ["Another fifth.", "Another sixth.", "Another seventh."]]
    del client.said[10:]
    client.said.append(ClientMessage("user", "A third sixth."))
    client.send("Mm.")
    client.say("A third seventh.")
    assert client.words()[2:] == [["A third sixth.", "A third seventh."]]


def test_the_same_earlier_message_asked_anew_goes_on_in_its_branch(client: Client) -> None:
    for text in FIFTEEN[:6]:
        client.say(text)
    del client.said[5:]
    client.send("Another reply.")
    client.say("And then?")
    client.say("And after that?")
    assert client.words() == [FIFTEEN[:6], [FIFTEEN[2], "And then?", "And after that?"]]


@pytest.mark.parametrize("window", [3, 4, 100])
def test_two_conversations_that_begin_alike_and_take_turns_stay_apart(
    memory: Memory, clock: SetClock, window: int
) -> None:
    first, second = (Client(memory, clock, None, last(window)) for _ in range(2))
    for client, name in ((first, "cat"), (second, "dog")):
        client.say("Hi", f"Hello, {name}.")
        client.say(f"I have a {name}.")
    for number in range(6):
        for client, name in ((first, "cat"), (second, "dog")):
            client.say(f"And {number}?" if number % 2 else f"The {name} sleeps, {number}.", f"{name} {number}")
    assert [rounds[-1] for rounds in first.stored()] == [("And 5?", "cat 5"), ("And 5?", "dog 5")]
    assert [len(rounds) for rounds in first.stored()] == [8, 8]


def test_a_summary_in_the_place_of_the_beginning_makes_no_copies(memory: Memory, clock: SetClock) -> None:
    messages = count()

    def abridged(said: list[ClientMessage]) -> list[ClientMessage]:
        begun = [
            ClientMessage("user", f"What was said so far, {next(messages)}: much."),
            ClientMessage("assistant", "I see."),
        ]
        return said if len(said) < 8 else [*begun, *said[-5:]]

    client = Client(memory, clock, None, abridged)
    for text in FIFTEEN:
        client.say(text)
    assert client.words() == [FIFTEEN]


@pytest.mark.parametrize("window", [2, 3, 6, 100])
def test_a_greeting_of_the_client_belongs_to_nobody(memory: Memory, clock: SetClock, window: int) -> None:
    for name in ("cat", "dog"):
        client = Client(memory, clock, None, last(window))
        client.said = [ClientMessage("assistant", "Hello, how can I help?")]
        client.say(f"I have a {name}.")
        client.say("Thank you.", f"{name}!")
        client.say("More.", f"{name}?")
    assert client.words() == [[f"I have a {name}.", "Thank you.", "More."] for name in ("cat", "dog")]


@pytest.mark.parametrize("window", [2, 3, 6, 100])
@pytest.mark.parametrize("key", [KEY, None])
def test_a_conversation_goes_on_after_a_restart_and_after_a_silence(
    tmp_path: Path, clock: SetClock, new_id: Count, log: logging.Logger, key: str | None, window: int
) -> None:
    said: list[ClientMessage] = []
    for day in range(3):
        memory = Memory(tmp_path / "data", HashedEmbedder(), clock=clock, new_id=new_id, log=log)
        client = Client(memory, clock, key, last(window))
        client.said = said
        for text in FIFTEEN[5 * day : 5 * day + 5]:
            client.say(text)
        stored = client.words()
        memory.close()
        clock.pass_by(hours=9 if day == 1 else 1)
    assert stored == [FIFTEEN[:10], FIFTEEN[10:]]


def test_rounds_without_memory_between_two_with_it_are_stored_in_their_place(client: Client) -> None:
    client.say("one")
    client.said += [ClientMessage("user", "two"), ClientMessage("assistant", "second")]
    client.say("three")
    client.say("four")
    assert client.words() == [["one", "two", "three", "four"]]


def test_the_messages_of_a_conversation_are_counted_also_where_a_client_sends_only_its_end(
    memory: Memory, clock: SetClock
) -> None:
    client = Client(memory, clock, None, last(6))
    kept = [client.say(f"Message {number}.") for number in range(26)]
    assert [one.messages for one in kept] == list(range(1, 52, 2))
    assert sorted(kept[-1].rounds) == list(range(0, 51, 2))


def test_the_name_that_an_answer_gave_a_conversation_is_heard(memory: Memory, clock: SetClock) -> None:
    first, second = (Client(memory, clock, None) for _ in range(2))
    for client, name in ((first, "cat"), (second, "dog")):
        client.say(f"I have a {name}.")
        client.key, client.shows = client.history.find_place(None, client.said).key, last(1)
    for client in (first, second):
        client.say("Thank you.")
    assert [len(rounds) for rounds in first.stored()] == [2, 2]


def test_what_is_compared_does_not_grow_with_what_is_stored(memory: Memory, clock: SetClock) -> None:
    for number in range(40):
        other = Client(memory, clock, None)
        for text in (f"Talk {number}.", "Go on.", "Thank you."):
            other.say(text, "Mm.")
    client = Client(memory, clock, None, last(5))
    for text in FIFTEEN:
        client.say(text)
    asked = list[int]()
    digests_in_sessions = memory.clients.digests_in_sessions
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            memory.clients, "digests_in_sessions", lambda names: asked.append(len(names)) or digests_in_sessions(names)
        )
        client.say("Thank you.", "Mm.")
        client.say("Go on.", "Mm.")
    assert max(asked) <= 8
    assert client.words()[-1] == [*FIFTEEN, "Thank you.", "Go on."]
