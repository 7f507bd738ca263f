"""A small file of every format, and broken twins of each: what is whole is read, what is not is said, the counts add up."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import UsageError
from domain.imports import PastConversation
from importers import ReadingOptions
from importers.assistants import JSON_FORMATS
from importers.export_files import ExportFile
from importers.reading import Reading
from tests.importers.exports import claude_message, claude_talk, gpt_message, gpt_talk, lines, read, written
from tests.importers.test_between_people import QQ, telegram_chat, telegram_message, wechat_message
from tests.importers.test_gemini import PAGE, entry
from tests.importers.test_memforest_units import unit
from tests.importers.test_other_companions import deepseek_node, deepseek_talk, libre_message, libre_talk, webui_chat
from tests.importers.test_role_play import HEAD, mes

GROK = {"conversations": [{"conversation": {"id": f"g{key}"}, "responses": [
    {"response": {"_id": "1", "sender": "human", "message": "hi"}}, {"response": {"_id": "2", "sender": "grok", "message": "yes"}},
]} for key in range(3)]}  # fmt: skip
CAI = {"importers": {"importers": [
    {"external_id": f"h{key}", "msgs": [{"src": {"is_human": human}, "text": "hi"} for human in (True, False)]} for key in range(3)
]}}  # fmt: skip
OWN = {"format": "old-friend", "version": 1, "schema": 6, "tables": {
    "session": [{"session_id": "s1"}, {"session_id": "s2"}],
    "conversation": [
        {"session_id": session, "text_id": f"{session}{role}", "timestamp": "2026-01-02T10:11:12+08:00", "role": role,
         "text": f"{role.title()}: 你好", "hidden": 0} for session in ("s1", "s2") for role in ("user", "assistant")
    ],
    "summary": [],
}}  # fmt: skip
CHATLAB_HEAD = {
    "chatlab": {"version": "0.0.1"},
    "meta": {"name": "Cats", "platform": "qq", "type": "private", "ownerId": "7"},
}
CHATLAB = [{"sender": sender, "accountName": sender * 3, "timestamp": 1_756_000_000 + kind, "type": kind, "content": "hi"}
           for sender, kind in (("7", 0), ("8", 25), ("8", 1), ("8", 80), ("8", 81))]  # fmt: skip

#: Of each format: its name, a file, how many conversations and how many messages were seen in it.
SAMPLES: dict[str, tuple[str, Any, int, int]] = {
    "chatgpt": ("conversations.json", [gpt_talk("c1"), gpt_talk("c2"), gpt_talk("c3")], 3, 6),
    "claude": ("conversations.json", [claude_talk(claude_message("m1", "human", "你好"), uuid=key) for key in "abc"], 3, 3),
    "deepseek": ("conversations.json", [deepseek_talk(deepseek_node("1", "root", ("REQUEST", "你好")), id=key) for key in "abc"], 3, 3),
    "gemini": ("MyActivity.json", [entry(f"2026-03-0{day}T09:15:00Z", "Prompted hi", "<p>yes</p>") for day in (3, 2, 1)], 3, 6),
    "gemini page": ("MyActivity.html", PAGE, 1, 5),
    "grok": ("prod-grok-backend.json", GROK, 3, 6),
    "open_webui": ("chat-export.json", [webui_chat("w1"), webui_chat("w2")], 2, 10),
    "librechat": ("x.json", libre_talk(messages=[libre_message("a", None, True, "hi"), libre_message("b", "a", False, "yes")]), 1, 2),
    "sillytavern": ("x.jsonl", lines(HEAD, mes("Hi"), mes("hello", True), mes("…", is_system=True)), 1, 3),
    "character_ai": ("x.json", CAI, 3, 6),
    "telegram": ("result.json", telegram_chat(*(telegram_message(key, "hi") for key in range(5))), 1, 5),
    "wechat": ("x.json", {"session": {"wxid": "a"}, "messages": [wechat_message(key, "在吗") for key in range(5)]}, 1, 5),
    "wechat table": ("x.csv", "StrTalker,localId,Type,IsSender,CreateTime,StrContent\n" + "".join(f"a,{n},1,0,1756000001,在吗\n" for n in range(5)), 1, 5),
    "chatlab": ("x.json", {**CHATLAB_HEAD, "members": [], "messages": CHATLAB}, 1, 5),
    "chatlab lines": ("x.jsonl", lines({"_type": "header", **CHATLAB_HEAD}, {"_type": "member", "platformId": "7"},
                                       *({"_type": "message", **one} for one in CHATLAB)), 1, 5),
    "old_friend": ("x.json", OWN, 2, 4),
    "memforest": ("memory_units.json", {f"unit-000{key}": unit(f"unit-000{key}", "在吗", group=f"s{key}") for key in "123"}, 3, 3),
    "sharegpt": ("x.json", [{"id": key, "conversations": [{"from": "human", "value": "hi"}]} for key in "abc"], 3, 3),
    "messages": ("x.jsonl", lines(*({"id": key, "messages": [{"role": "user", "content": "hi"}]} for key in "abc")), 3, 3),
    "messages each": ("x.jsonl", lines(*({"role": role, "content": "hi"} for role in ("system", "user", "assistant"))), 1, 3),
    "copilot": ("x.csv", "Conversation,Time,Author,Message\n" + "".join(f"{n},2026-01-02T10:11:11,Human,hi\n" for n in "abc"), 3, 3),
    "qq": ("x.txt", QQ, 2, 5),
    "whatsapp": ("WhatsApp Chat with Ann.txt", "".join(f"13/4/23, 19:0{n} - Ann: hi\n" for n in range(5)), 1, 5),
}  # fmt: skip
SAID = {"history.unread.cut", "history.unread.broken", "history.unread.damaged", "history.unread.misshapen",
        "history.unread.no_messages", "history.unread.other_person", "history.unread.too_long"}  # fmt: skip
REFUSED = {"history.not_recognised", "history.no_conversations"}


@pytest.fixture(params=SAMPLES)
def sample(request):
    name, value, talks, seen = SAMPLES[request.param]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return request.param.split(" ", maxsplit=1)[0], name, text.encode(), talks, seen


def told(path) -> tuple[int, int] | None:
    """How many conversations and messages are seen in a file that may be broken; None where it is refused clearly."""
    try:
        found = read(path)
    except UsageError as error:
        return None if error.key in REFUSED else pytest.fail(error.key)
    assert {one.reason for one in found.unread} <= SAID
    assert all(one.where for one in found.unread)
    for talk in found.talks:
        "".join(
            (talk.key, talk.title, talk.persona, *(one.key + one.text + one.speaker for one in talk.messages))
        ).encode()
    return len(found.talks), found.seen


def test_it_is_recognised_and_every_message_is_taken_or_counted(tmp_path, sample):
    source, name, content, talks, seen = sample
    found = read(written(tmp_path / name, content))
    assert (set(found.sources), found.unread) == ({source}, [])
    assert (len(found.talks), found.seen) == (talks, seen)
    assert {one.source for one in found.talks} == {source}


def test_it_is_read_from_an_archive_as_from_a_file_and_twice_alike(tmp_path, sample):
    _, name, content, *_ = sample
    plain = read(written(tmp_path / "plain" / name, content))
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"export/{name}", content)
    assert read(tmp_path / "x.zip").talks == plain.talks == read(tmp_path / "plain" / name).talks


def test_packed_or_fetched_twice_it_is_the_same_conversation(tmp_path, sample):
    _, name, content, *_ = sample
    plain = read(written(tmp_path / name, content))
    stem, dot, kind = name.rpartition(".")
    for other in (f"{stem} (1){dot}{kind}", f"{name}.gz", f"{stem} (2){dot}{kind}.gz"):
        packed = gzip.compress(content) if other.endswith(".gz") else content
        again = read(written(tmp_path / "again" / other, packed))
        assert [talk.key for talk in again.talks] == [talk.key for talk in plain.talks]


def test_its_keys_are_its_own(tmp_path, sample):
    _, name, content, *_ = sample
    found = read(written(tmp_path / name, content))
    assert len({talk.key for talk in found.talks}) == len(found.talks)
    for talk in found.talks:
        assert len({one.key for one in talk.messages}) == len(talk.messages)


def test_cut_off_anywhere_it_gives_no_more_than_was_there_and_breaks_nothing(tmp_path, sample):
    _, name, content, talks, seen = sample
    for part in range(1, 24):
        result = told(written(tmp_path / name, content[: len(content) * part // 24]))
        assert result is None or (result[0] <= talks and result[1] <= seen)


def test_with_bytes_that_were_changed_it_is_read_or_refused_clearly(tmp_path, sample):
    source, name, content, *_ = sample
    chance = random.Random(source)
    for _ in range(25):
        damaged = bytearray(content)
        for _ in range(chance.randrange(1, 8)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        told(written(tmp_path / name, bytes(damaged)))


def changed(value: Any, chance: random.Random) -> Any:
    """The same JSON with values of other kinds in some places."""
    if chance.random() < 0.06:
        return chance.choice([None, 3, -1.5, "x", [], {}, [None], {"a": 1}, True, "\ud800", 10**400])
    if isinstance(value, dict):
        return {key: changed(one, chance) for key, one in value.items()}
    return [changed(one, chance) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", [name for name, (_, value, *_) in SAMPLES.items() if not isinstance(value, str)])
def test_with_values_of_other_kinds_anywhere_it_is_read_or_refused_clearly(tmp_path, name):
    chance = random.Random(name)
    for _ in range(60):
        told(written(tmp_path / "x.json", json.dumps(changed(SAMPLES[name][1], chance))))


NODES = st.sampled_from("abcdef")
ROLES = st.sampled_from(["user", "assistant", "system", "tool", "?"])
MESSAGES = st.none() | st.just("?") | st.builds(
    lambda role, text, hidden: gpt_message("", role, 1.0, text, metadata={"is_visually_hidden_from_conversation": hidden}),
    ROLES, st.sampled_from(["", "hi", "你好"]), st.booleans(),
)  # fmt: skip
TREES = st.dictionaries(NODES, st.tuples(st.none() | NODES, MESSAGES), min_size=1)


@given(TREES, st.none() | NODES)
@settings(deadline=None)
def test_in_any_tree_every_message_is_taken_or_counted_once(tree, current):
    mapping = {key: {"id": key, "parent": parent, "message": message} for key, (parent, message) in tree.items()}
    data = json.dumps({"id": "c", "current_node": current, "mapping": mapping}).encode()
    reading = Reading(
        "chatgpt", ExportFile("c.json", len(data), lambda: nullcontext(io.BytesIO(data))), ReadingOptions()
    )
    (found,) = next(form for form in JSON_FORMATS if form.source == "chatgpt").read(reading)
    assert isinstance(found, PastConversation)
    messages = [message for _, message in tree.values() if message]
    assert len(found.messages) + sum(found.left_out.values()) == len(messages)
