"""Messages by role are read from JSON Lines and arrays, a conversation or a message at a time."""

from __future__ import annotations

import json

import pytest

from tests.importers.exports import lines, read, written

TALK = {"messages": [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hi"},
                     {"role": "assistant", "content": [{"type": "text", "text": "Hello"}, {"type": "image_url"}]}]}  # fmt: skip


@pytest.mark.parametrize("text", [lines(TALK, TALK), json.dumps([TALK, TALK]), json.dumps([TALK, TALK], indent=1)])
def test_a_conversation_a_line_or_an_element_is_read_and_has_no_time(tmp_path, text):
    found = read(written(tmp_path / "x.jsonl", text))
    assert (found.sources, len(found.talks)) == (["messages"], 2)
    assert [(one.by, one.text, one.said) for one in found.talks[0].messages] == [
        ("person", "Hi", None), ("companion", "Hello", None),
    ]  # fmt: skip
    assert found.left_out == {"system": 2}


def test_other_roles_and_calls_of_tools_are_counted(tmp_path):
    talk = {"messages": [{"role": "developer", "content": "x"}, {"role": "user", "content": "Hi"},
                         {"role": "assistant", "content": None, "tool_calls": [{}]}, {"role": "tool", "content": "3"},
                         {"role": "user", "content": [{"type": "image_url"}]}, {"role": "assistant", "content": ""}, 3]}  # fmt: skip
    found = read(written(tmp_path / "x.jsonl", lines(talk)))
    assert found.left_out == {"system": 1, "tool": 2, "attachment": 1, "empty": 1, "misshapen": 1}
    assert found.seen == len(talk["messages"])


@pytest.mark.parametrize("key", ["timestamp", "created_at", "create_time", "ts", "date"])
@pytest.mark.parametrize(
    "value", [1_756_000_001, 1_756_000_001_000, "2025-08-24T01:46:41Z", "2025-08-24T09:46:41", "1756000001"]
)
def test_a_time_is_read_under_any_name_and_in_any_form(tmp_path, key, value):
    talk = {"messages": [{"role": "user", "content": "Hi", key: value}]}
    (found,) = read(written(tmp_path / "x.jsonl", lines(talk))).talks
    assert found.messages[0].said.timestamp() == 1_756_000_001


def test_a_message_a_line_is_one_conversation_and_a_longer_file_is_the_same(tmp_path):
    said = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Hi"},
    ]
    short, longer = (read(written(tmp_path / f"{n}.jsonl", lines(*said[:n]))) for n in (2, 3))
    assert longer.said == [("person", "Hi"), ("companion", "Hello"), ("person", "Hi")]
    assert short.talks[0].key == longer.talks[0].key
    keys = [one.key for one in longer.talks[0].messages]
    assert keys[:2] == [one.key for one in short.talks[0].messages]
    assert len(set(keys)) == 3


def test_an_array_of_messages_is_one_conversation(tmp_path):
    assert len(read(written(tmp_path / "x.json", TALK["messages"])).said) == 2


def test_conversations_without_keys_that_begin_alike_are_told_apart_and_those_all_alike_are_one(tmp_path):
    longer = {"messages": [*TALK["messages"], {"role": "user", "content": "more"}]}
    found = read(written(tmp_path / "x.jsonl", lines(TALK, longer, TALK)))
    keys = [talk.key for talk in found.talks]
    assert (keys[0] == keys[2], keys[0] == keys[1]) == (True, False)


def test_sharegpt_is_read(tmp_path):
    talk = {"id": "s1", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"},
                                          {"from": "system", "value": "x"}, {"from": "observation", "value": "x"}]}  # fmt: skip
    found = read(written(tmp_path / "x.json", [talk]))
    assert (found.sources, found.said) == (["sharegpt"], [("person", "Hi"), ("companion", "Hello")])
    assert (found.talks[0].key, found.left_out) == ("s1", {"system": 1, "tool": 1})


def test_a_line_that_is_broken_and_one_that_is_cut_off_cost_only_themselves(tmp_path):
    text = lines(TALK) + "{broken\n\n" + lines(TALK) + '{"messages": [{"ro'
    found = read(written(tmp_path / "x.jsonl", text))
    assert (len(found.talks), found.reasons) == (2, ["broken", "cut"])
    assert [one.where for one in found.unread] == ["x.jsonl:2", "x.jsonl:5"]


def test_a_surrogate_without_its_partner_and_a_nul_can_be_stored(tmp_path):
    text = '{"messages": [{"role": "user", "content": "a\\ud83d\\u0000b", "id": "\\udc00"}]}\n'
    (talk,) = read(written(tmp_path / "x.jsonl", text)).talks
    assert (talk.messages[0].text + talk.messages[0].key).encode() == "a\ufffdb\ufffd".encode()
