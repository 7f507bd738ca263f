"""What a chat client sends is read without losing a word of it, and given a memory where a prompt cache loses least."""

from __future__ import annotations

from typing import Any

import pytest

from domain.errors import UsageError
from interfaces.service.client_chats import add_memory, read_request


def of(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": role, "content": text} for role, text in messages], **more}


def test_the_last_words_of_the_person_are_what_counts() -> None:
    request = read_request(of(("system", "Be brief."), ("user", "one"), ("assistant", "two"), ("user", "three")))
    assert (request.said, request.at, request.answers_tools, request.side) == ("three", 3, False, False)


def test_words_in_parts_are_read_and_other_parts_are_left_alone() -> None:
    parts = [{"type": "text", "text": "看这张图"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    request = read_request(of(("user", parts)))
    assert request.said == "看这张图"
    assert add_memory(request, "", "MEMORIES")["messages"][0]["content"] == [
        {"type": "text", "text": "MEMORIES"}, *parts,
    ]  # fmt: skip


def test_what_follows_a_call_of_a_tool_is_no_new_turn() -> None:
    body = of(("user", "How warm is it?"), ("assistant", None))
    body["messages"].append({"role": "tool", "tool_call_id": "1", "content": "12"})
    assert read_request(body).answers_tools


def test_memories_stand_before_the_words_and_the_profile_behind_the_system_message() -> None:
    body = of(("system", "Be brief."), ("user", "one"), ("assistant", "two"), ("user", "three"), seed=7)
    told = add_memory(read_request(body), "PROFILE", "MEMORIES")
    assert [one["content"] for one in told["messages"]] == [
        "Be brief.\n\nPROFILE", "one", "two", "MEMORIES\n\nthree",
    ]  # fmt: skip
    assert told["seed"] == 7
    assert body["messages"][0]["content"] == "Be brief."


def test_where_there_is_no_system_message_the_profile_is_one() -> None:
    told = add_memory(read_request(of(("user", "hi"))), "PROFILE", "")
    assert told["messages"] == [{"role": "system", "content": "PROFILE"}, {"role": "user", "content": "hi"}]


@pytest.mark.parametrize("body", [None, [], {}, {"messages": []}, {"messages": "hi"}, {"messages": ["hi"]}])
def test_what_is_no_chat_is_refused(body: Any) -> None:
    with pytest.raises(UsageError):
        read_request(body)


@pytest.mark.parametrize(
    "order",
    [
        "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.",
        "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history",
        "### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next",
        "Please generate a four to five word title summarizing our conversation without any lead-in.",
        "Provide a concise, 5-word-or-less title for the conversation, using its same language.",
        "Based on the chat history, give this conversation a name. Keep it short.",
        "Summarize the discussion briefly in 200 words or less to use as a prompt for future context.",
        "使用四到五个字直接返回这句话的简要主题，不要解释、不要标点。",
        "你是一名擅长会话的助理，你需要将用户的会话总结为 10 个字以内的标题",
        "简要总结一下对话内容，用作后续的上下文提示 prompt，控制在 200 字以内",
        "Summarize the conversation into a title in English within 10 characters, without punctuation.",
        "You will generate a short title based on the first message a user begins a conversation with",
        "### Task:\nAnalyze the chat history to determine the necessity of generating search queries.",
    ],
)
def test_what_a_client_asks_for_itself_is_recognised(order: str) -> None:
    assert read_request(of(("user", "My cat is called Douban."), ("assistant", "Nice."), ("user", order))).side
    assert read_request(of(("system", order), ("user", "My cat is called Douban."))).side


@pytest.mark.parametrize(
    "said",
    [
        "My daughter's new book needs a title. Any idea?",
        "Can you summarize what I told you about the move?",
        "Give me a name for my cat.",
        "我的文章还缺一个标题，你有什么主意？",
        "总结一下我这个月都做了什么。",
        "I got a job title today: senior nurse!",
        "Can you suggest a short title for the discussion I'll lead at work?",
        "Give me 3 follow-up questions for the conversation with my boss.",
        "帮我给和老板的聊天起个 10 个字以内的标题，我要发出去。",
        "### Task:\nGenerate a birthday poem for Ann.",
        "### Task: water the plants",
        "Write a title for the chapter about our first message.",
    ],
)
def test_what_a_person_says_of_titles_is_theirs(said: str) -> None:
    assert not read_request(of(("user", said))).side


@pytest.mark.parametrize(
    "behind",
    [
        "How long do they sleep?",
        "<user_query>\nHow long do they sleep?\n</user_query>\n",
        "<user_query>\nHow long do they sleep?\n</user_query>\n\nHow long do they sleep?",
    ],
)
def test_documents_that_a_client_puts_before_the_words_are_not_the_persons(behind: str) -> None:
    task = "### Task:\nRespond to the user query using the provided context, with citations.\n### Guidelines:\n- x\n"
    text = f"{task}<context>\n<source>Cats <context> sleep.</source>\n</context>\n\n{behind}"
    request = read_request(of(("user", text)))
    assert (request.said, request.side) == ("How long do they sleep?", False)
    assert request.history[0].text == "How long do they sleep?"
    assert add_memory(request, "", "MEMORIES")["messages"][0]["content"] == f"MEMORIES\n\n{text}"


def test_words_that_no_store_can_take_are_read_as_far_as_they_can_be() -> None:
    assert read_request(of(("user", "half a \ud83d and a nul \x00"))).said == "half a \ufffd and a nul "
