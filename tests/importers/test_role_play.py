"""Chats with characters are read as roles: what is said there is not held for true of the person."""

from __future__ import annotations

import pytest

from tests.importers.exports import lines, read, written

HEAD = {"user_name": "Ann", "character_name": "Mia", "create_date": "2024-4-26 @06h 06m 07s 123ms", "chat_metadata": {}}


def mes(text, mine=False, **more):
    return {"name": "Ann" if mine else "Mia", "is_user": mine, "is_system": False, "send_date": "April 26, 2024 6:06am",
            "mes": text, "swipes": [text, "another"], "swipe_id": 0, "extra": {}, **more}  # fmt: skip


def test_sillytavern_is_read_without_the_replies_that_were_not_chosen(tmp_path):
    chat = [HEAD, mes("Hi"), mes("hello", True), mes("…", is_system=True), mes("I am Bo", name="Bo"), mes(""), {"x": 1}]
    found = read(written(tmp_path / "Mia" / "Mia - chat.jsonl", lines(*chat)))
    assert (found.sources, found.talks[0].persona) == (["sillytavern"], "Mia")
    assert [(one.by, one.speaker, one.text) for one in found.talks[0].messages] == [
        ("companion", "Mia", "Hi"), ("person", "Ann", "hello"), ("companion", "Bo", "I am Bo"),
    ]  # fmt: skip
    assert (found.left_out, found.seen) == ({"system": 1, "empty": 1, "misshapen": 1}, 6)


@pytest.mark.parametrize(
    ("written_time", "read_time"),
    [
        ("April 26, 2024 6:06am", "2024-04-26T06:06:00+08:00"),
        ("2024-4-26 @06h 06m 07s 123ms", "2024-04-26T06:06:07.123000+08:00"),
        (1_756_000_001_000, "2025-08-24T01:46:41+00:00"),
        ("2024-04-26T06:06:07.123Z", "2024-04-26T06:06:07.123000+00:00"),
        ("2024-13-26 @06h 06m 07s", "2024-04-26T06:06:07.123000+08:00"),
        ("once upon a time", "2024-04-26T06:06:07.123000+08:00"),
    ],
)
def test_each_form_of_a_time_is_read_and_what_is_none_is_that_of_the_chat(tmp_path, written_time, read_time):
    found = read(written(tmp_path / "x.jsonl", lines(HEAD, mes("Hi", send_date=written_time))))
    assert found.talks[0].messages[0].said.isoformat() == read_time


def test_without_a_zone_a_local_time_is_unknown(tmp_path):
    found = read(written(tmp_path / "x.jsonl", lines(HEAD, mes("Hi"))), zone=None)
    assert found.talks[0].messages[0].said is None


def test_a_chat_that_grew_has_the_same_keys_whatever_the_zone(tmp_path):
    short = read(written(tmp_path / "x.jsonl", lines(HEAD, mes("Hi"), mes("Hi"))))
    long = read(written(tmp_path / "x.jsonl", lines(HEAD, mes("Hi"), mes("Hi"), mes("more"))), zone=None)
    assert short.talks[0].key == long.talks[0].key
    assert [one.key for one in short.talks[0].messages] == [one.key for one in long.talks[0].messages][:2]


def test_a_bad_line_is_passed_over(tmp_path):
    found = read(written(tmp_path / "x.jsonl", lines(HEAD, mes("Hi")) + "{bad\n" + lines(mes("hello", True))))
    assert (len(found.said), found.reasons) == (2, ["broken"])


def test_character_ai_as_cai_tools_saves_it_is_read(tmp_path):
    def msg(text, human):
        return {"src": {"is_human": human, "name": "Ann" if human else "Mia"}, "text": text}

    given = {"info": {"character": {"name": "Mia the Pirate"}}, "importers": {"importers": [
        {"msgs": [msg("Ahoy", False), msg("hi", True), {"text": "?"}]}, {"msgs": []}, {"msgs": [msg("你好", True)], "created": "2024-01-01T00:00:00Z"},
    ]}}  # fmt: skip
    found = read(written(tmp_path / "x.json", given))
    assert (found.sources, found.reasons, found.left_out) == (["character_ai"], ["no_messages"], {"misshapen": 1})
    assert [[(one.by, one.text) for one in talk.messages] for talk in found.talks] == [
        [("companion", "Ahoy"), ("person", "hi")], [("person", "你好")],
    ]  # fmt: skip
    assert {talk.persona for talk in found.talks} == {"Mia the Pirate"}
    assert [talk.messages[0].said is None for talk in found.talks] == [True, False]
