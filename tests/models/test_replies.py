"""What comes over the wire: repaired, split and counted the same in any chunking, in linear time."""

from __future__ import annotations

import json
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain import errors
from domain.text import make_harmless
from language.scripts import estimate, estimate_all, is_truncated
from models.chat import CollectedReply, Part, Repair, ThinkingSplitter, without_stray_thinking
from models.client import split_lines
from tests.support.growing import growth
from tests.support.talking import said


def cut(whole, places):
    """A text or bytes in pieces."""
    places = sorted({place % (len(whole) + 1) for place in places})
    return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]


PLACES = st.lists(st.integers(0, 10_000), max_size=12)


def repaired(pieces):
    repair = Repair()
    return "".join(map(repair.feed, pieces)) + repair.feed("", last=True)


@given(st.text(alphabet="ab\r\n\0\x1b\ud83d\ude00\ud800é你\u202e", max_size=40), PLACES)
def test_text_is_repaired_the_same_in_any_chunking(text, places):
    whole = repaired([text])
    assert repaired(cut(text, places)) == whole
    whole.encode("utf-8")
    assert "\0" not in whole
    assert "\r" not in whole


def split(pieces):
    splitter = ThinkingSplitter()
    found = [*map(splitter.feed, pieces), splitter.feed("", last=True)]
    return "".join(thought for thought, _ in found), "".join(words for _, words in found)


@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "<thinking>", "</THINKING>", "<", "a", " ", "\n", "</"]), max_size=8
    ),
    PLACES,
)
def test_thinking_is_told_apart_the_same_in_any_chunking(parts, places):
    text = "".join(parts)
    assert split(cut(text, places)) == split([text])


@pytest.mark.parametrize(
    ("text", "thought", "words"),
    [
        ("<think>hm</think>\n\nHi", "hm", "Hi"),
        ("  <THINK>hm</Think>Hi", "hm", "Hi"),
        ("<think>a</think><think>b</think>Hi", "ab", "Hi"),
        ("<thinking>a <think> b</thinking>Hi", "a <think> b", "Hi"),
        ("<think>never ends", "never ends", ""),
        ("Hi <think>not thinking</think>", "", "Hi <think>not thinking</think>"),
        ("<thin ice", "", "<thin ice"),
        ("<", "", "<"),
    ],
)
def test_thinking_stands_only_at_the_beginning(text, thought, words):
    assert split([text]) == (thought, words)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("hm, hm\n</think>\n\nHi", "Hi"),
        ("The tag </think> ends it.", "The tag </think> ends it."),
        ("<think> opens\n</think>\ncloses", "<think> opens\n</think>\ncloses"),
    ],
)
def test_thinking_whose_opening_tag_never_came_is_not_kept(text, kept):
    assert without_stray_thinking(text) == kept


@given(st.binary(max_size=60), PLACES)
@example(b"a\r\n\nb", [2, 3])
def test_lines_are_the_same_in_any_chunking(data, places):
    assert list(split_lines(cut(data, places))) == list(split_lines([data]))


CHUNK = b'data: {"choices":[{"delta":{"content":"%s"},"finish_reason":"stop"}]}'
LINES = [CHUNK % b"a", CHUNK % b"b\xff", b"data: 1", b": c", b"", b"event: e", b"\xff", b"x", b"id: 7"]


@given(st.lists(st.sampled_from(LINES), max_size=10), st.sampled_from([b"\n", b"\r", b"\r\n"]), PLACES)
def test_events_are_the_same_in_any_chunking_and_with_any_line_end(lines, end, places):
    whole = end.join(lines) + end
    one, other = said(cut(whole, places)), said([b"\n".join(lines) + b"\n"])
    assert (one.text, str(one.error)) == (other.text, str(other.error))


def test_a_line_that_never_ends_is_refused(monkeypatch):
    def endless():
        while True:
            yield b"x" * 1_000_000

    with pytest.raises(errors.BadReply):
        list(split_lines(endless()))
    assert said(chain([b'{"'], endless())).error.key == "model.too_large"
    assert said(chain([b"data: "], endless())).error.key == "model.too_large"


def test_the_event_of_an_error_is_known_by_its_name():
    assert said([b'event: error\ndata: {"message": "overloaded"}\n\n']).error.key == "model.error_in_reply"
    assert said([b'data: {"message": "overloaded", "code": 529}\n\n']).error.key == "model.server_fault"


def test_data_over_several_lines_among_ids_and_retries_is_one_event():
    sent = (
        b'id: 7\n\nretry: 3\n\ndata: {"choices":\ndata:  [{"delta": {"content": "Hi."},\n'
        b'data:  "finish_reason": "stop"}]}\n\ndata: [DONE]\n\ndata: {"never": "read"}\n\n'
    )
    assert said([sent]).reply.text == "Hi."


FIELDS = "choices delta message content usage error finish_reason index reasoning_content code type text"


@settings(max_examples=200)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS.split()), inner, max_size=4),
        max_leaves=12,
    )
)
def test_no_json_whatever_breaks_the_reader(body):
    for data in (json.dumps(body).encode(), b"data: " + json.dumps(body).encode() + b"\n\n"):
        for stream in (True, False):
            found = said([data], stream=stream)
            assert found.reply or isinstance(found.error, errors.ModelError)


@pytest.mark.parametrize(
    "text",
    [
        "How are you today? I have been reading about the history of bread.",
        "今天天气很好，我们去公园散步吧。你想一起来吗？",
    ],
)
def test_tokens_are_estimated_within_reason(text):
    wide = sum(ord(character) > 0x2E80 for character in text)
    likely = wide * 0.75 + (len(text) - wide) / 4.3
    assert likely / 1.5 < estimate(text) < likely * 1.5


def test_no_text_has_no_tokens_and_any_text_has_some():
    assert (estimate(""), estimate(" "), estimate("\u3000")) == (0, 1, 1)
    assert estimate_all(["", ""]) == 8


@pytest.mark.parametrize(
    ("counted", "estimated", "cut_off"),
    [(2_048, 10_000, True), (8_000, 10_000, False), (None, 10_000, False), (0, 10_000, False), (10, 500, False)],
)
def test_only_a_count_far_below_says_that_a_prompt_was_cut(counted, estimated, cut_off):
    assert is_truncated(counted, estimated) is cut_off


def collect(text: str, chunk: int) -> None:
    collected = CollectedReply()
    for at in range(0, len(text), chunk):
        collected.add_part(Part(text=text[at : at + chunk], finish=""))
    collected.add_part(Part(), last=True)
    collected.finish = "stop"
    try:
        collected.make_reply(None, "m", 0.0, False)
    except errors.BadReply:
        return


def stream_of(text: str, chunk: int) -> bytes:
    pieces = (text[at : at + chunk] for at in range(0, len(text), chunk))
    return b"".join(
        b'data: {"choices":[{"delta":{"content":%b}}]}\n\n' % json.dumps(piece).encode() for piece in pieces
    )


WORKS = {
    "a long reply in one chunk": lambda size: collect("x y\n" * (size // 4), size),
    "a long reply in small chunks": lambda size: collect("x y\n" * (size // 4), 8),
    "unclosed thinking": lambda size: collect("<think>" * (size // 7), 1_000),
    "closed thinking": lambda size: collect("<think></think>" * (size // 15), 1_000),
    "half tags": lambda size: collect("<thin" * (size // 5), 7),
    "closing tags": lambda size: collect("\n </think>" * (size // 10), 1_000),
    "white space": lambda size: collect(" \n" * (size // 2), 100),
    "halves of characters": lambda size: collect("\ud83d" * size, 1_000),
    "a stream": lambda size: said([stream_of("x" * (size // 10), 10)]),
    "a stream in bytes": lambda size: list(split_lines([b"d" for _ in range(size)])),
    "unclosed tags in a memory": lambda size: make_harmless("<a " * (size // 3)),
    "nested tags in a memory": lambda size: make_harmless("<" * (size // 2) + "b>" * (size // 4)),
    "tokens": lambda size: estimate("word 你好 12 ! " * (size // 13)),
}


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_work_grows_with_the_length_of_a_reply_and_no_faster(work):
    assert growth(lambda given: work(len(given)), "x") < 9
