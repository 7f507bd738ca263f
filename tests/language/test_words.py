"""Words of any language are cut the same way on both sides, and nothing else is promised of them."""

from __future__ import annotations

import logging
from contextlib import closing
from datetime import UTC, datetime
from sqlite3 import connect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.recollection import RecallLimits, RecallRequest, Recollection
from language import words
from recall.embedding import HashedEmbedder
from recall.retriever import OwnMemories
from storage.messages import NewMessage
from storage.sqlite import schema
from tests.contract.stores import sqlite
from tests.support.growing import growth


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("running runs", ["run", "run"], id="English words are stemmed"),
        pytest.param("what is the", [], id="stop words are left out"),
        pytest.param("Tim's café", ["tim", "cafe"], id="possession and accents go"),
        pytest.param("北京", ["北", "北京", "京"], id="characters and pairs"),
        pytest.param("我们去北京", ["去北", "北", "北京", "京"], id="stop characters count only in pairs"),
        pytest.param("ｃａｆé", ["cafe"], id="full-width letters are letters"),
        pytest.param("quickSort quick_sort", ["quick", "sort", "quicksort"] * 2, id="code gives parts and whole"),
        pytest.param("I bought what the children broke", ["buy", "child", "break"], id="forms without a rule"),
        pytest.param("she lives and leaves", ["live", "leav"], id="forms that are other words stay"),
        pytest.param("C++ and C#", ["c++", "c#"], id="languages keep their signs"),
        pytest.param("हिन्दी", ["हिन्दी"], id="vowel signs belong to the word"),
    ],
)
def test_words_are_cut_as_people_read_them(text, expected):
    assert list(words.terms(text)) == list(dict.fromkeys(expected))


@pytest.mark.parametrize(
    ("one", "other"),
    [("1,000", "1000"), ("08", "8"), ("5th", "5"), ("５月", "5月"), ("don’t", "don't"), ("RUNNING", "run")],
)
def test_what_means_the_same_is_one_word(one, other):
    assert set(words.terms(other)) <= set(words.terms(one)) or words.terms(one) == words.terms(other)


def test_a_number_joins_the_character_that_counts_it():
    assert {"5月", "4日", "5", "4"} <= set(words.terms("5月4日"))


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        pytest.param("Where is it?", words.ASKS, id="asks"),
        pytest.param("你好吗？", words.ASKS, id="asks in Chinese"),
        pytest.param("Caroline: hello", words.NAMED, id="named speaker"),
    ],
)
def test_what_a_text_is_stands_beside_its_words_and_never_in_a_question(text, mark):
    assert mark in words.tokens(text)
    assert not any(term.startswith("@") for term in words.terms(text))


def test_a_speaker_named_in_front_is_known():
    assert words.speaker_term("carolin") in words.tokens("Caroline: I went out")
    assert words.label_of("I went out: nothing") == "I went out"
    assert words.label_of("so I said to her yesterday: go") == ""


@given(st.text(max_size=200))
def test_tokens_never_hold_a_space_and_never_fail(text):
    assert not any(set(token) & set(" \n\t") or not token for token in words.tokens(text))


@given(st.text(max_size=60))
def test_sqlite_keeps_every_token_as_it_is(text):
    with closing(connect(":memory:", isolation_level=None)) as connection:
        schema.create_schema(connection)
        connection.execute("INSERT INTO message_words (tokens) VALUES (?)", (" ".join(words.terms(text)),))
        found = connection.execute("SELECT term FROM message_postings").fetchall()
    assert {row[0] for row in found} == set(words.terms(text))


def test_work_grows_with_the_length_of_the_text_and_no_faster():
    assert growth(words.tokens, "quick_sort北京Aa1") < 9


#: Twenty things a person said, and thirteen questions each of which one of them answers.
SAID = (
    "我家的猫叫团子，今年三岁。",
    "上个月我搬到杭州了，房租比北京便宜。",
    "妈妈做的红烧肉最好吃。",
    "王小明是我大学室友，现在在腾讯上班。",
    "我对花生过敏，吃了会起疹子。",
    "周末我们去爬了黄山，看到了日出。",
    "最近在学 Python，写了一个爬虫。",
    "我的生日是5月4日。",
    "爷爷喜欢下象棋，每天都去公园。",
    "我买了一台 iPhone 15，花了六千块。",
    "她送了我一条蓝色的围巾。",
    "我在读《百年孤独》，人名太难记了。",
    "公司要求每周三开会。",
    "医生说我的血压有点高。",
    "我养过一条狗，后来送给了表哥。",
    "昨晚做梦梦见自己会飞。",
    "楼下新开了一家咖啡馆，拿铁很香。",
    "弟弟今年考上了复旦大学。",
    "我不太会游泳，小时候溺过水。",
    "我最喜欢的歌手是周杰伦。",
)
PROBE = (
    ("猫", 0),
    ("杭州", 1),
    ("红烧肉", 2),
    ("王小明", 3),
    ("过敏", 4),
    ("黄山", 5),
    ("Python 爬虫", 6),
    ("5月4日", 7),
    ("象棋", 8),
    ("iPhone", 9),
    ("围巾", 10),
    ("狗", 14),
    ("周杰伦", 19),
)


@pytest.fixture
def probe(tmp_path):
    store = sqlite(tmp_path)
    store.start("old", "2026-01-01T09:00:00+00:00")
    for number, text in enumerate(SAID):
        told = NewMessage(f"u{number}", "2026-01-01T09:00:00+00:00", "user", text)
        answered = NewMessage(f"a{number}", "2026-01-01T09:00:01+00:00", "assistant", "嗯，记住了。")
        store.at("2026-01-01T09:00:01+00:00").rounds.add("old", (told, answered), "stop")
    store.at("2026-01-01T10:00:00+00:00").rounds.save("old", "", {})
    yield OwnMemories(store.of, None, HashedEmbedder(), logging.Logger("test", logging.CRITICAL))
    store.close()


@pytest.mark.parametrize(("question", "answer"), PROBE)
def test_chinese_words_of_any_length_names_and_mixed_ones_are_found(probe, question, answer):
    now = datetime(2026, 1, 9, tzinfo=UTC)
    recalled = probe.find(RecallRequest([question], "new", now, RecallLimits(3, 3, 4000)), Recollection())
    assert f"u{answer}" in recalled.ranked[:1]
