"""Exports of DeepSeek, Grok, Open WebUI, LibreChat and Copilot are read as they were shown."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from tests.importers.exports import read, written

# -- DeepSeek


def deepseek_node(key, parent, *fragments, **more):
    message = {"files": [], "model": "deepseek-chat", "inserted_at": f"2026-01-03T19:02:1{key}+08:00",
               "fragments": [{"type": kind, "content": text} for kind, text in fragments], **more}  # fmt: skip
    return {"id": key, "parent": parent, "children": [], "message": message}


def deepseek_talk(*nodes, **more):
    root = {"id": "root", "parent": None, "children": ["1"], "message": None}
    return {"id": "801e", "title": "晚饭", "inserted_at": "2026-01-03T19:02:11.505000+08:00",
            "mapping": {"root": root, **{node["id"]: node for node in nodes}}, **more}  # fmt: skip


def test_deepseek_is_told_from_chatgpt_and_its_newest_branch_is_read(tmp_path):
    talk = deepseek_talk(
        deepseek_node("1", "root", ("REQUEST", "我对花生过敏")),
        deepseek_node("2", "1", ("THINK", "…"), ("SEARCH", ""), ("RESPONSE", "旧的回复")),
        deepseek_node("3", "1", ("THINK", "…"), ("RESPONSE", "记住了")),
        deepseek_node("4", "3", ("THINK", "…")),
    )
    found = read(written(tmp_path / "conversations.json", [talk]))
    assert (found.sources, found.said) == (["deepseek"], [("person", "我对花生过敏"), ("companion", "记住了")])
    assert (found.left_out, found.seen) == ({"other_branch": 1, "thinking": 1}, 4)
    (talk,) = found.talks
    assert (talk.key, talk.messages[0].key) == ("801e", "1")
    assert talk.messages[0].said.isoformat() == "2026-01-03T19:02:11+08:00"


def test_the_tenth_node_of_deepseek_is_newer_than_the_ninth(tmp_path):
    nodes = [deepseek_node("1", "root", ("REQUEST", "hi"))]
    nodes += [{**deepseek_node("2", "1", ("RESPONSE", f"reply {key}")), "id": key} for key in ("10", "9")]
    assert read(written(tmp_path / "x.json", [deepseek_talk(*nodes)])).said[-1] == ("companion", "reply 10")


def test_deepseek_of_before_fragments_is_read(tmp_path):
    nodes = [deepseek_node("1", "root"), deepseek_node("2", "1"), deepseek_node("3", "2")]
    for node, role in zip(nodes, ("USER", "assistant", "system"), strict=True):
        node["message"] |= {"role": role, "content": role}
        del node["message"]["fragments"]
    found = read(written(tmp_path / "x.json", [deepseek_talk(*nodes)]))
    assert (found.said, found.left_out) == ([("person", "USER"), ("companion", "assistant")], {"system": 1})


def test_what_the_page_of_deepseek_was_sent_is_read(tmp_path):
    def message(key, parent, role, kind):
        return {"message_id": key, "parent_id": parent, "role": role, "inserted_at": 1_756_000_000.5 + key,
                "fragments": [{"type": kind, "content": f"{role} {key}"}]}  # fmt: skip

    given = {"code": 0, "data": {"biz_data": {
        "chat_session": {"id": "s", "title": "t", "current_message_id": 2, "inserted_at": 1_756_000_000.1},
        "chat_messages": [message(1, None, "USER", "REQUEST"), message(2, 1, "ASSISTANT", "RESPONSE"), message(3, 1, "ASSISTANT", "RESPONSE")],
    }}}  # fmt: skip
    found = read(written(tmp_path / "raw.json", given))
    assert (found.sources, found.said) == (["deepseek"], [("person", "USER 1"), ("companion", "ASSISTANT 2")])
    assert [one.key for one in found.talks[0].messages] == ["1", "2"]


# -- Grok


def test_grok_is_read_out_of_its_wrappings(tmp_path):
    def response(key, parent, sender, text, milliseconds=1_756_000_001_000):
        time = {"$date": {"$numberLong": str(milliseconds)}}
        return {
            "response": {
                "_id": key,
                "parent_response_id": parent,
                "sender": sender,
                "message": text,
                "create_time": time,
            }
        }

    given = {"conversations": [{
        "conversation": {"id": "g1", "title": "Cats", "create_time": "2025-08-24T01:46:40Z"},
        "responses": [response("1", None, "human", "hi"), response("2", "1", "ASSISTANT", "old"),
                      response("3", "1", "grok-4", "yes", 1_756_000_009_000), {"share_link": None}],
    }], "projects": []}  # fmt: skip
    found = read(written(tmp_path / "export_data" / "uuid" / "prod-grok-backend.json", given))
    assert (found.sources, found.said) == (["grok"], [("person", "hi"), ("companion", "yes")])
    assert found.left_out == {"misshapen": 1, "other_branch": 1}
    assert found.talks[0].messages[0].said.timestamp() == 1_756_000_001


# -- Open WebUI

ME, OTHER = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"


def webui_chat(key="w1", user=ME, **more):
    def message(name, parent, role, text, **others):
        return {
            "id": name,
            "parentId": parent,
            "childrenIds": [],
            "role": role,
            "content": text,
            "timestamp": 1_756_000_001,
            **others,
        }

    messages = [
        message("1", None, "user", "我的猫叫豆包"),
        message("2", "1", "assistant", "the other model"),
        message(
            "3", "1", "assistant", '<details type="reasoning" done="true">\n<summary>x</summary>\nhm\n</details>\nCute!'
        ),
        message("4", "3", "user", "and?", timestamp=1_756_000_002_000_000_000),
        message(
            "5",
            "4",
            "assistant",
            "",
            output=[{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}],
        ),
    ]
    chat = {"title": "Cat", "models": ["a", "b"], "history": {"currentId": "5", "messages": {one["id"]: one for one in messages}},
            "messages": messages[:1]}  # fmt: skip
    return {"id": key, "user_id": user, "title": "Cat", "chat": chat, "created_at": 1_756_000_000, **more}


WEBUI_SAID = [("person", "我的猫叫豆包"), ("companion", "Cute!"), ("person", "and?"), ("companion", "Yes.")]


def test_open_webui_is_read_from_its_current_message_and_not_from_its_stale_copy(tmp_path):
    found = read(written(tmp_path / "x.json", [webui_chat()]))
    assert (found.sources, found.said, found.left_out) == (["open_webui"], WEBUI_SAID, {"other_branch": 1})
    assert [one.said.timestamp() for one in found.talks[0].messages][-2:] == [1_756_000_002, 1_756_000_001]


def test_conversations_of_others_in_an_export_of_open_webui_are_not_the_persons(tmp_path):
    path = written(tmp_path / "x.json", [webui_chat("w1"), webui_chat("w2", OTHER)])
    found = read(path)
    assert ([talk.key for talk in found.talks], found.reasons) == (["w1"], ["other_person"])
    assert [talk.key for talk in read(path, me=OTHER).talks] == ["w2"]


def webui_database(path, *chats):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE user (id TEXT, name TEXT, email TEXT)")
        connection.execute(
            "CREATE TABLE chat (id TEXT, user_id TEXT, title TEXT, chat TEXT, created_at INTEGER, updated_at INTEGER)"
        )
        connection.executemany(
            "INSERT INTO user VALUES (?, ?, ?)", [(ME, "Ann", "ann@example.org"), (OTHER, "Bob", "")]
        )
        for chat in chats:
            text = chat["chat"] if isinstance(chat["chat"], str) else json.dumps(chat["chat"])
            connection.execute(
                "INSERT INTO chat VALUES (?, ?, ?, ?, ?, ?)",
                (chat["id"], chat["user_id"], chat["title"], text, 1_756_000_000, 0),
            )
        connection.commit()
    return path


def test_the_database_of_open_webui_is_read_and_not_changed(tmp_path):
    path = webui_database(tmp_path / "webui.db", webui_chat(), webui_chat("w2", chat="{broken"))
    before = path.read_bytes()
    found = read(path)
    assert (found.sources, found.said, found.reasons) == (["open_webui"], WEBUI_SAID, ["broken"])
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["webui.db"]


def test_of_a_database_of_several_only_the_person_is_read_once_they_are_named(tmp_path):
    path = webui_database(tmp_path / "webui.db", webui_chat(), webui_chat("w2", OTHER))
    assert read(path).reasons == ["other_person"] * 2
    assert [talk.key for talk in read(path, me="ann").talks] == ["w1"]


def test_a_database_that_is_none_of_these_is_not_recognised(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("CREATE TABLE birds (name)")
        connection.commit()
    with pytest.raises(Exception, match="not_recognised"):
        read(tmp_path / "x.db")


# -- LibreChat

ROOT = "00000000-0000-0000-0000-000000000000"


def libre_message(key, parent, mine, text, **more):
    return {"messageId": key, "parentMessageId": parent, "isCreatedByUser": mine, "sender": "User" if mine else "GPT",
            "text": text, "createdAt": f"2026-01-01T00:00:0{len(key)}.000Z", **more}  # fmt: skip


def libre_talk(**more):
    return {
        "conversationId": "l1",
        "title": "Cat",
        "endpoint": "openAI",
        "exportAt": "16:33:32 GMT+0200 (CEST)",
        "branches": True,
        **more,
    }


def test_librechat_is_read_flat(tmp_path):
    messages = [
        libre_message("a", ROOT, True, "hi"), libre_message("b", "a", False, "old"),
        libre_message("cc", "a", False, "", content=[{"type": "think", "think": "hm"}, {"type": "text", "text": {"value": "yes"}}]),
        libre_message("ddd", "cc", False, "boom", error=True), libre_message("eeee", "ddd", False, "", content=[{"type": "tool_call"}]),
    ]  # fmt: skip
    found = read(written(tmp_path / "x.json", libre_talk(recursive=False, messages=messages)))
    assert (found.sources, found.said) == (["librechat"], [("person", "hi"), ("companion", "yes")])
    assert found.left_out == {"other_branch": 1, "failed": 1, "tool": 1}


@pytest.mark.parametrize("key", ["messages", "messagesTree"])
def test_librechat_is_read_however_deep_it_is_nested(tmp_path, key):
    deepest = 3_000
    text = ""
    for number in range(deepest, 0, -1):
        message = json.dumps(
            libre_message(str(number), ROOT, number % 2 == 1, f"m{number}", createdAt=1_756_000_000 + number)
        )
        text = f'{message[:-1]}, "children": [{text}]}}'
    head = json.dumps(libre_talk(recursive=True))
    found = read(written(tmp_path / "x.json", f'{head[:-1]}, "{key}": [{text}]}}'))
    assert found.unread == []
    assert [text for _, text in found.said] == [f"m{number}" for number in range(1, deepest + 1)]


def test_librechat_cut_off_says_so(tmp_path):
    whole = json.dumps(libre_talk(messages=[libre_message("a", ROOT, True, "hi")]))
    found = read(written(tmp_path / "x.json", whole[:-5]))
    assert (found.talks, found.reasons) == ([], ["cut"])


# -- Copilot


@pytest.mark.parametrize(
    "text",
    [
        "Conversation,Time,Author,Message\nCats,2026-01-02T10:11:12,AI,\"Yes,\nreally\"\nCats,2026-01-02T10:11:11,Human,hi\nDogs,2026-01-01T10:00:00,Human,wow\n",
        "CreatedAt,MessageContent,Author,ChatName\n2026-01-02T10:11:11,hi,Human,Cats\n2026-01-02T10:11:12,\"Yes,\nreally\",AI,Cats\n2026-01-01T10:00:00,wow,Human,Dogs\n",
    ],
)  # fmt: skip
def test_copilot_is_read_in_both_layouts(tmp_path, text):
    found = read(written(tmp_path / "x.csv", "\ufeff" + text))
    assert found.sources == ["copilot"]
    assert [(one.by, one.text) for one in found.talks[0].messages] == [("person", "hi"), ("companion", "Yes,\nreally")]
    assert [talk.title for talk in found.talks] == ["Cats", "Dogs"]
    assert found.talks[0].messages[0].said.isoformat() == "2026-01-02T10:11:11+08:00"


def test_of_nested_replies_of_librechat_the_newest_is_read(tmp_path):
    replies = [
        libre_message("bb", "", False, "new", createdAt=1_756_000_009),
        libre_message("b", "", False, "old", createdAt=1),
    ]
    talk = libre_talk(recursive=True, messages=[libre_message("a", ROOT, True, "hi", children=replies)])
    found = read(written(tmp_path / "x.json", talk))
    assert (found.said, found.left_out) == ([("person", "hi"), ("companion", "new")], {"other_branch": 1})
