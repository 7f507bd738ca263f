"""What the two are called in everything a model is shown: by name once it is known, in the language of the memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from domain.facts import Learned, Slot
from domain.records import SERVICE_CLIENT
from domain.workers import CancelToken
from language.scripts import language_of_address
from tests.contract.test_knowing import new_fact, new_note, window_of
from tests.support.house import House, house
from tests.support.past import bring, talk, told
from tests.support.server import ScriptedServer

WORDS = {"en": ("the user", "Old Friend"), "zh": ("用户", "老友")}


@pytest.fixture
def home(tmp_path, server, clock, new_id, log) -> Iterator[House]:
    with house(tmp_path, server, clock, new_id, log) as opened:
        yield opened


def named(home: House, said: str, person: str, companion: str) -> None:
    """What was said told both names, and is read."""
    home.say(said)
    (spoken,) = home.talk.rounds_in_context()
    names = (
        new_fact("n1", spoken, person, slot=Slot("person", "name"), attribute="name"),
        new_fact("n2", spoken, companion, slot=Slot("companion", "name"), attribute="name", about="companion"),
    )
    assert home.memory.fact_log.learn(Learned(window_of(spoken), tuple(map(new_note, names)), names))


def shown(server: ScriptedServer) -> str:
    return "\n".join(message["content"] for message in server.chats[-1]["messages"])


@pytest.mark.parametrize(
    ("said", "person", "companion", "language", "asked"),
    [
        ("我叫小雨，你就叫阿福吧。我养了一只鹦鹉。", "小雨", "阿福", "zh", "我养的鹦鹉叫什么？"),
        ("I am Xiaoyu and you are Bao. I keep a parrot.", "Xiaoyu", "Bao", "en", "What does my parrot eat?"),
    ],
)
def test_once_names_are_known_every_prompt_uses_them(home, server, said, person, companion, language, asked):
    named(home, said, person, companion)
    home.memory.personas.write("user", f"{person}: {said}", "hand")
    home.memory.personas.write("self", f"{companion}.", "hand")
    home.memory.rounds.save(home.talk.session.session_id, said, {})
    home.talk.switch_to(home.memory.sessions.resume_or_start()[0], resumed=False)
    home.say(asked)
    prompt = shown(server)
    assert f"# {'你所了解的' if language == 'zh' else 'What you know of '}{person}" in prompt
    assert f'{{"{person}":"' in prompt
    for word in WORDS[language]:
        assert word not in prompt
    list(home.talk.asking.answer_question(asked, home.talk.session.session_id, CancelToken()))
    answering = next(chat for chat in server.chats if "Task: answer from" in str(chat) or "任务：根据" in str(chat))
    assert f"{companion}" in answering["messages"][0]["content"]
    assert f"{person}" in answering["messages"][0]["content"]
    for _ in range(home.settings.max_conv_num):
        home.say(said)
    folding = next(chat for chat in server.chats if "Task: summarise" in str(chat) or "任务：总结" in str(chat))
    assert f'"speaker": "{person}"' in folding["messages"][-1]["content"]
    assert f'"speaker": "{companion}"' in folding["messages"][-1]["content"]


def test_a_name_of_the_settings_counts_before_one_that_was_said(tmp_path, server, clock, new_id, log):
    with house(tmp_path, server, clock, new_id, log, USER_NAME="Dr. Yu") as home:
        named(home, "I am Xiaoyu.", "Xiaoyu", "Bao")
        assert home.talk.person("en") == "Dr. Yu"
        assert home.talk.companion("en") == "Bao"


def test_one_line_in_english_does_not_change_how_a_chinese_speaker_is_addressed(home, server):
    home.say("今天我去了海边，晒了一下午太阳。")
    home.say("By the way, do you know the English phrase for that, what people say about the sun at the sea?")
    assert "你是老友，用户的老朋友" in shown(server)


def test_a_new_session_keeps_the_language_of_the_one_before(home, server):
    home.say("今天我去了海边，晒了一下午太阳。")
    home.memory.rounds.save(home.talk.session.session_id, "海边。", {})
    home.talk.switch_to(home.memory.sessions.resume_or_start()[0], resumed=False)
    home.say("Hello there, how are you doing today, my old friend?")
    assert "你是老友，用户的老朋友" in shown(server)


def test_the_language_of_address_changes_with_what_is_said_again_and_again():
    persona = "小雨住在上海，喜欢简短的回答。"
    assert language_of_address(persona, ["Hello!"] * 4, "How are you?") == "zh"
    assert language_of_address(persona, ["Hello!"] * 5, "How are you?") == "en"
    assert language_of_address("", [], "How are you?") == "en"
    assert language_of_address("", [], "你好") == "zh"


def test_a_pinned_statement_of_oneself_names_the_person(home):
    named(home, "我叫小雨。", "小雨", "阿福")
    assert home.talk.as_said_of_person("我喜欢简短的回答") == "小雨喜欢简短的回答"
    assert home.talk.as_said_of_person("I prefer short answers") == "小雨 prefers short answers"


# -- who said it


def records(server: ScriptedServer) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shown(server).splitlines() if line.startswith("{")]


@pytest.mark.parametrize(("source", "name"), [("chatgpt", "ChatGPT"), ("claude", "Claude")])
def test_the_reply_of_an_imported_assistant_carries_its_name(home, server, source, name):
    past = talk("t", "P: Which parrot sings opera?", "C: The parrot Kiwi sings opera.", source=source)
    bring(home.memory, past)
    home.say("Who told me which parrot sings opera?")
    said = [one for record in records(server) for one in record.get("said", ())]
    assert {name: "The parrot Kiwi sings opera."} in said
    assert {"the user": "Which parrot sings opera?"} in said


def test_a_reply_of_our_own_export_stays_that_of_the_companion(home):
    bring(home.memory, talk("t", "P: Hello.", "C: Hi.", source="old_friend"))
    assert told(home.memory) == [["u: Hello.", "a: Hi."]]


@pytest.mark.parametrize(
    ("said", "asked", "speaker", "through"),
    [
        ("Ann keeps a parrot called Kiwi that sings opera.", "Which opera does my parrot Kiwi sing?",
         "a program, about the user", "another program"),
        ("安养了一只会唱歌剧的鹦鹉，叫奇异果。", "我的鹦鹉奇异果会唱什么歌剧？", "程序（关于用户）", "别的程序"),
    ],
)  # fmt: skip
def test_what_a_program_stored_is_not_told_as_words_of_the_person(home, server, said, asked, speaker, through):
    session = home.memory.sessions.start(client=SERVICE_CLIENT, client_key="")
    home.memory.rounds.store_alone(session.session_id, said, "event")
    home.say(asked)
    (record,) = [one for one in records(server) if "said" in one]
    assert record["through"] == through
    assert record["said"] == [{speaker: said}]
    assert 'with "through"' in shown(server) or '带 "through"' in shown(server)


def test_a_chat_in_another_program_says_so_and_its_words_stay_those_of_the_person(home, server):
    session = home.memory.sessions.start(client="openai", client_key="k")
    home.memory.rounds.store(
        session.session_id, "My parrot Kiwi sings opera.", "Lovely.", home.llm.clock().isoformat(), "stop"
    )
    home.say("Which opera does my parrot Kiwi sing?")
    (record,) = [one for one in records(server) if "said" in one]
    assert record["through"] == "a chat in another program"
    assert record["said"][0] == {"the user": "My parrot Kiwi sings opera."}


def test_our_own_talk_says_nothing_of_programs(home, server):
    home.say("My parrot Kiwi sings opera.")
    home.memory.rounds.save(home.talk.session.session_id, "Kiwi.", {})
    home.talk.switch_to(home.memory.sessions.resume_or_start()[0], resumed=False)
    home.say("Which opera does my parrot Kiwi sing?")
    assert "Kiwi" in shown(server)
    assert "through" not in shown(server)
