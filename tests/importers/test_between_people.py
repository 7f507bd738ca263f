"""Chats between people are read with the names of those who speak; who of them is the person is asked."""

from __future__ import annotations

import json
import zipfile

import pytest

from importers import MachineZone
from tests.importers.exports import ZONE, read, written


def whatsapp(tmp_path, *lines, name="WhatsApp Chat with Ann.txt", **options):
    return read(written(tmp_path / name, "\n".join(lines) + "\n"), **options)


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("13/4/23, 7:02 PM - Ann: hi", "2023-04-13T19:02:00"),
        ("4/13/23, 12:02\u202fAM - Ann: hi", "2023-04-13T00:02:00"),
        ("1/4/23, 7:02 PM - Ann: hi", "2023-01-04T19:02:00"),
        ("1/4/2023, 7:02\u202fpm - Ann: hi", "2023-04-01T19:02:00"),
        ("04/01/2023, 19:02 - Ann: hi", "2023-01-04T19:02:00"),
        ("[14/10/2021, 3:34:09 PM] Ann: hi", "2021-10-14T15:34:09"),
        ("\u200e[14/10/2021, 3:34:09\u202fp.\u00a0m.] Ann: hi", "2021-10-14T15:34:09"),
        ("2026/7/9 02:28 - Ann: hi", "2026-07-09T02:28:00"),
        ("[2026/7/9 下午2:28:09] Ann: hi", "2026-07-09T14:28:09"),
        ("2026/7/9 凌晨12:28 - Ann: hi", "2026-07-09T00:28:00"),
        ("13.06.2023, 18:08:08 - Ann: hi", "2023-06-13T18:08:08"),
        ("[13.06.23, 18:08:08] Ann: hi", "2023-06-13T18:08:08"),
        ("27-11-18 18:08 - Ann: hi", "2018-11-27T18:08:00"),
        ("2023-06-13, 6:08 p.m. - Ann: hi", "2023-06-13T18:08:00"),
        ("\ufeff[13.06.23, 18:08:08] ~\u202fAnn: hi", "2023-06-13T18:08:08"),
    ],
)
def test_whatsapp_is_read_in_the_shape_of_each_language(tmp_path, line, time):
    found = whatsapp(tmp_path, line)
    assert found.sources == ["whatsapp"]
    (message,) = found.talks[0].messages
    assert (message.by, message.speaker, message.text) == ("somebody", "Ann", "hi")
    assert message.said.isoformat() == f"{time}+08:00"


def test_a_later_day_of_the_file_tells_how_its_dates_are_to_be_read(tmp_path):
    found = whatsapp(tmp_path, "1/4/23, 19:02 - Ann: a", "13/4/23, 19:02 - Ann: b")
    assert found.talks[0].messages[0].said.date().isoformat() == "2023-04-01"


def test_the_order_of_dates_tells_it_where_no_day_is_late_enough(tmp_path):
    found = whatsapp(tmp_path, "11/3/23, 19:02 - Ann: a", "1/4/23, 19:02 - Ann: b", "2/4/23, 19:02 - Ann: c")
    assert [one.said.month for one in found.talks[0].messages] == [3, 4, 4]


@pytest.mark.parametrize(
    ("first", "month"),
    [("Messages and calls are end-to-end encrypted.", 1), ("Los mensajes y las llamadas están cifrados.", 4)],
)
def test_the_language_of_the_telephone_tells_it_too(tmp_path, first, month):
    found = whatsapp(tmp_path, f"1/4/23, 19:02 - {first}", "1/4/23, 19:02 - Ann: a")
    assert found.talks[0].messages[0].said.month == month


def test_dates_that_nothing_tells_are_asked_for_and_nothing_is_taken_over(tmp_path):
    found = whatsapp(tmp_path, "1/4/23, 19:02 - Ann: a")
    assert (found.talks, found.reasons, found.unread[0].details) == ([], ["day_or_month"], {"example": "1/4/23"})
    for first, month in ((True, 4), (False, 1)):
        assert whatsapp(tmp_path, "1/4/23, 19:02 - Ann: a", day_first=first).talks[0].messages[0].said.month == month


def test_lines_that_go_on_belong_to_the_message_and_what_nobody_said_is_counted(tmp_path):
    found = whatsapp(
        tmp_path,
        "13/4/23, 19:01 - Messages and calls are end-to-end encrypted. See https://x.org: tap.",
        "13/4/23, 19:02 - Ann: first", "", "second: line", "13/4/23, 19:03 - Bob:hi", "13/4/23, 19:03 - Bob: you",
        '13/4/23, 19:04 - Ann changed the subject from "a: b" to "c"', "13/4/23, 19:04 - Ann changed the name to: x",
    )  # fmt: skip
    assert [(one.speaker, one.text) for one in found.talks[0].messages] == [
        ("Ann", "first\n\nsecond: line"), ("Bob", "hi"), ("Bob", "you"),
    ]  # fmt: skip
    assert (found.left_out, found.seen) == ({"system": 3}, 6)


def test_what_was_no_text_or_was_taken_back_is_counted(tmp_path):
    found = whatsapp(
        tmp_path,
        "13/4/23, 19:02 - Ann: <Media omitted>", "13/4/23, 19:02 - Ann: IMG-1.jpg (file attached)",
        "13/4/23, 19:02 - Ann: IMG-2.jpg (file attached)", "my cat", "13/4/23, 19:02 - Ann: \u200e<附件：1.jpg>",
        "13/4/23, 19:02 - Ann: This message was deleted", "13/4/23, 19:02 - Ann: 此消息已删除", "13/4/23, 19:02 - Ann: ",
        "13/4/23, 19:02 - Ann: well <This message was edited>", "\u200e13/4/23, 19:02 - Ann: \u200eimage omitted",
    )  # fmt: skip
    assert [one.text for one in found.talks[0].messages] == ["my cat", "well"]
    assert found.left_out == {"attachment": 4, "deleted": 2, "empty": 1}


def test_a_name_may_hold_a_colon_and_a_file_may_miss_the_space_behind_it(tmp_path):
    found = whatsapp(tmp_path, "13/4/23, 19:02 - Dr: Who: a", "13/4/23, 19:02 - Dr: Who: b", "13/4/23, 19:02 - Ann: c")
    assert [one.speaker for one in found.talks[0].messages] == ["Dr: Who", "Dr: Who", "Ann"]
    tight = whatsapp(tmp_path, "13/4/23, 19:02 - Ann:a", "13/4/23, 19:02 - Ann:b: c")
    assert [(one.speaker, one.text) for one in tight.talks[0].messages] == [("Ann", "a"), ("Ann", "b: c")]


@pytest.mark.parametrize(
    "name", ["WhatsApp Chat with 小王.txt", "与小王的 WhatsApp 聊天.txt", "WhatsApp Chat with 小王 (1).txt"]
)
def test_the_chat_is_named_by_its_file(tmp_path, name):
    found = whatsapp(tmp_path, "2026/7/9 02:28 - 小王: 在吗", name=name)
    assert found.talks[0].title == "小王"


def test_a_chat_in_an_archive_is_named_by_the_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "WhatsApp Chat - Ann.zip", "w") as archive:
        archive.writestr("_chat.txt", "[13.06.23, 18:08:08] Ann: hi\n[13.06.23, 18:08:09] Ann: there\n")
        archive.writestr("1.jpg", b"\x00")
    assert read(tmp_path / "WhatsApp Chat - Ann.zip").talks[0].title == "Ann"


def test_the_keys_of_a_chat_without_ids_stay_when_it_grows_and_whoever_is_the_person(tmp_path):
    lines = [
        "13/4/23, 19:02 - Ann: hi",
        "13/4/23, 19:02 - Ann: hi",
        "13/4/23, 19:02 - Bob: hi",
        "14/4/23, 19:02 - Bob: you",
    ]
    short = whatsapp(tmp_path, *lines[:3])
    long = whatsapp(tmp_path, *lines, zone=MachineZone(), me="ann")
    assert short.talks[0].key == long.talks[0].key
    assert [one.key for one in short.talks[0].messages] == [one.key for one in long.talks[0].messages][:3]
    assert len({one.key for one in long.talks[0].messages}) == 4
    assert [one.by for one in long.talks[0].messages] == ["person", "person", "somebody", "somebody"]


def test_a_text_of_chinese_windows_is_read_and_plain_text_is_not(tmp_path):
    assert whatsapp(tmp_path, "2026/7/9 02:28 - 小王: 在吗").said
    path = written(tmp_path / "gb.txt", "2026/7/9 02:28 - 小王: 在吗\n2026/7/9 02:29 - 小李: 在\n", "gb18030")
    assert [one.text for one in read(path).talks[0].messages] == ["在吗", "在"]
    with pytest.raises(Exception, match="not_recognised"):
        read(written(tmp_path / "plain.txt", "Dear diary,\nAnn: hi\n1/4/23 was a good day.\n"))


# -- Telegram


def telegram_message(key, text, **more):
    return {"id": key, "type": "message", "date": "2026-01-02T10:11:12", "date_unixtime": "1767319872", "from": "Ann",
            "from_id": "user1", "text": text, "text_entities": [], **more}  # fmt: skip


def telegram_chat(*messages, **more):
    return {"name": "Ann", "type": "personal_chat", "id": 77, "messages": list(messages), **more}


def test_telegram_is_read_with_texts_in_pieces_and_times_that_have_a_zone(tmp_path):
    chat = telegram_chat(
        {"id": 1, "type": "service", "action": "phone_call", "text": ""},
        telegram_message(2, ["see ", {"type": "link", "text": "https://x.org"}, "!"]),
        telegram_message(3, "", media_type="sticker", file="x"), telegram_message(4, "news", forwarded_from="Channel"),
        telegram_message(5, "gone", **{"from": None, "from_id": "user9"}), telegram_message(6, ""), "?",
        {key: value for key, value in telegram_message(7, "local").items() if key != "date_unixtime"},
    )  # fmt: skip
    found = read(written(tmp_path / "result.json", chat))
    (talk,) = found.talks
    assert (found.sources, talk.key, talk.title) == (["telegram"], "77", "Ann")
    assert [(one.key, one.speaker, one.text) for one in talk.messages] == [
        ("2", "Ann", "see https://x.org!"), ("5", "user9", "gone"), ("7", "Ann", "local"),
    ]  # fmt: skip
    assert (found.left_out, found.seen) == (
        {"system": 1, "attachment": 1, "forwarded": 1, "empty": 1, "misshapen": 1},
        8,
    )
    assert talk.messages[0].said.isoformat() == "2026-01-02T02:11:12+00:00"
    assert talk.messages[2].said.isoformat() == "2026-01-02T10:11:12+08:00"


def test_an_account_of_telegram_says_who_the_person_is(tmp_path):
    mine = {"from": "Me", "from_id": "user5"}
    account = {"about": "…", "personal_information": {"user_id": 5, "first_name": "Me"}, "contacts": {"list": [{"user_id": 1}]},
               "chats": {"about": "…", "list": [telegram_chat(telegram_message(1, "hi"), telegram_message(2, "yes", **mine)),
                                                telegram_chat(telegram_message(3, "milk", **{"from": None}), id=78, type="saved_messages")]},
               "left_chats": {"list": [telegram_chat(telegram_message(4, "bye"), id=79)]}}  # fmt: skip
    found = read(written(tmp_path / "result.json", account))
    assert [[(one.by, one.text) for one in talk.messages] for talk in found.talks] == [
        [("somebody", "hi"), ("person", "yes")], [("person", "milk")], [("somebody", "bye")],
    ]  # fmt: skip


def test_the_person_in_one_chat_of_telegram_is_told_by_name_or_number(tmp_path):
    path = written(tmp_path / "result.json", telegram_chat(telegram_message(1, "hi")))
    assert [read(path, me=me).said[0][0] for me in ("", "ann", "user1")] == ["somebody", "person", "person"]


def test_a_chat_of_telegram_that_is_cut_off_gives_what_is_whole(tmp_path):
    whole = json.dumps(telegram_chat(*(telegram_message(key, f"m{key}") for key in range(10))))
    found = read(written(tmp_path / "result.json", whole[: len(whole) // 2]))
    assert (0 < len(found.said) < 10, found.reasons) == (True, ["cut"])


# -- WeChat and QQ


def wechat_message(key, content, mine=0, kind="文本消息", **more):
    return {"localId": key, "createTime": 1_756_000_000 + key, "type": kind, "localType": 47, "content": content, "isSend": mine,
            "senderUsername": "wxid_a", "senderDisplayName": "小王", **more}  # fmt: skip


@pytest.mark.parametrize("program", ["weflow", "echotrace"])
def test_wechat_is_read_however_large_the_picture_before_it_is(tmp_path, program):
    head = {"weflow": {"version": "1"}} if program == "weflow" else {}
    chat = {**head, "session": {"wxid": "wxid_a", "displayName": "小王", "type": "私聊", "avatar": "A" * 3_000_000},
            "messages": [wechat_message(1, "在吗"), wechat_message(2, "在", 1), wechat_message(3, "[图片]", kind="图片消息"),
                         wechat_message(4, "撤回了", None), wechat_message(5, "x", kind="系统消息"), 3]}  # fmt: skip
    found = read(written(tmp_path / "x.json", chat))
    assert (found.sources, found.talks[0].key, found.talks[0].title) == (["wechat"], "wxid_a", "小王")
    assert [(one.by, one.speaker, one.text) for one in found.talks[0].messages] == [
        ("somebody", "小王", "在吗"), ("person", "小王", "在"),
    ]  # fmt: skip
    assert (found.left_out, found.seen) == ({"attachment": 1, "system": 2, "misshapen": 1}, 6)


def test_a_chat_of_wechat_that_is_cut_off_gives_what_is_whole(tmp_path):
    whole = json.dumps({"session": {"wxid": "a"}, "messages": [wechat_message(1, "在吗"), wechat_message(2, "在", 1)]})
    found = read(written(tmp_path / "x.json", whole[:-30]))
    assert (len(found.said), found.reasons) == (1, ["cut"])


def test_the_table_of_wechatmsg_is_read(tmp_path):
    text = ("localId,TalkerId,Type,SubType,IsSender,CreateTime,Status,StrContent,StrTime,Remark,NickName,Sender\n"
            '1,3,1,0,0,1756000001,,"在吗\n？",2025-08-24 09:46:41,小王,王,wxid_a\n2,3,1,0,1,1756000002,,在,,小王,王,me\n'
            "3,3,3,0,1,1756000003,,<img>,,小王,王,me\n4,3,10000,0,1,1756000004,,x,,小王,王,me\n5,4,1,0,0,1756000005,,喂,,小李,李,wxid_b\n")  # fmt: skip
    found = read(written(tmp_path / "x.csv", text, "utf-8-sig"))
    assert (found.sources, [talk.title for talk in found.talks]) == (["wechat"], ["小王", "小李"])
    assert [(one.by, one.text) for one in found.talks[0].messages] == [("somebody", "在吗\n？"), ("person", "在")]
    assert found.left_out == {"attachment": 1, "system": 1}


QQ = """消息记录（此消息记录为文本格式，不支持重新导入）

================================================================
消息分组:我的好友
================================================================
消息对象:小王
================================================================

2026-01-02 10:11:12 小王(123456)
在吗

有事：2026-01-02 见
2026-01-02 9:11:13 我<me@example.org>
[图片]
2026-01-02 10:11:14 系统消息(10000)
你已添加好友

2026-01-02 10:11:15 小王改名了(123456)
在吗
================================================================
消息对象:小李
================================================================

2026-01-03 10:11:12 小李(654321)
你好
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_qq_is_read_in_each_encoding(tmp_path, encoding):
    found = read(written(tmp_path / "x.txt", QQ.replace("\n", "\r\n"), encoding), me="123456")
    assert (found.sources, [talk.title for talk in found.talks]) == (["qq"], ["小王", "小李"])
    assert [(one.by, one.speaker, one.text) for one in found.talks[0].messages] == [
        ("person", "小王", "在吗\n\n有事：2026-01-02 见"), ("person", "小王改名了", "在吗"),
    ]  # fmt: skip
    assert found.talks[0].messages[0].said.replace(tzinfo=None).isoformat() == "2026-01-02T10:11:12"
    assert found.talks[0].messages[0].said.tzinfo == ZONE
    assert (found.left_out, found.seen) == ({"attachment": 1, "system": 1}, 5)
