"""JSON is read a value at a time, whatever the size of the pieces in which it comes."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from importers import json_stream
from importers.export_files import DecodedText
from importers.json_stream import CHUNK, DEEPEST, CutOff, JsonError, JsonStream, TooLong, decode_deep, enter_path

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
CHUNKS = st.integers(min_value=1, max_value=9)


def stream(text: str, chunk: int = 3, longest: int = 1 << 20) -> JsonStream:
    return JsonStream(io.StringIO(text), chunk, longest)


@given(st.lists(VALUES, max_size=5), CHUNKS, st.booleans(), st.sampled_from([None, 1]))
@settings(deadline=None)
def test_an_array_is_read_as_json_itself_reads_it(values, chunk, ascii_only, indent):
    text = json.dumps(values, ensure_ascii=ascii_only, indent=indent)
    read = stream(text, chunk)
    assert [read.read_value() for _ in read.iterate_items()] == values
    assert read.peek_mark() == ""


@given(st.lists(VALUES, min_size=1, max_size=5), CHUNKS)
@settings(deadline=None)
def test_what_is_passed_over_is_passed_over_whole(values, chunk):
    read = stream(json.dumps([values, "behind"]), chunk)
    for number in read.iterate_items():
        if number == 0:
            read.skip_value()
        else:
            assert read.read_value() == "behind"


@given(st.lists(VALUES, min_size=1, max_size=5), st.data())
@settings(deadline=None)
def test_a_text_that_is_cut_off_anywhere_gives_the_values_before_and_says_so(values, data):
    text = json.dumps(values)
    cut = data.draw(st.integers(min_value=0, max_value=len(text) - 1))
    read, found = stream(text[:cut], data.draw(CHUNKS)), []
    with pytest.raises(CutOff):
        for _ in read.iterate_items():
            found.append(read.read_value())
    # A number that is cut off may look like a whole one.
    assert found[:-1] == values[: len(found) - 1] if found else True


@given(VALUES)
@settings(deadline=None)
def test_deep_values_are_read_as_others_are(value):
    text = json.dumps(value)
    assert decode_deep(text, 0) == (value, len(text))


@pytest.mark.parametrize("text", ['{"a" 1}', "{1: 2}", "[1 2]", '{"a": 1,}', "[1,]", "nul", "[", '{"a": "b'])
def test_deep_values_that_are_none_are_refused(text):
    with pytest.raises(ValueError):
        decode_deep(text, 0)


def test_depth_costs_no_stack():
    deep = "[" * 20_000 + "1" + "]" * 20_000
    read = stream(f"[{deep}, 2]", 1_000, 1 << 20)
    found = [read.read_value() for _ in read.iterate_items()]
    assert found[1] == 2


def test_a_deep_value_may_be_cut_anywhere_by_what_is_read_at_once():
    deep = "[" * 1_500 + '{"key":[true, "a", 12.5, null]}' + "]" * 1_500
    for pad in range(40):
        read = stream(f"[{' ' * pad}{deep}, 1]", 64, 1 << 20)
        assert [read.read_value() for _ in read.iterate_items()][1:] == [1], pad


@pytest.mark.parametrize(("opens", "deepest"), [("[", DEEPEST), ('{"a":', DEEPEST // 10), ('[{"a":', DEEPEST // 10)])
def test_what_is_deeper_than_any_talk_is_refused_as_soon_as_that_is_seen(opens, deepest, monkeypatch):
    monkeypatch.setattr(json_stream, "DEEPEST", deepest)
    text = opens * (deepest * 2)
    for act in (JsonStream.read_value, JsonStream.skip_value):
        read = JsonStream(io.StringIO(text), CHUNK // 10, longest=len(text))
        with pytest.raises(JsonError, match="too deep"):
            act(read)
        assert read.read_so_far < len(text)


def test_a_broken_value_can_be_passed_over():
    read, found = stream('[1, {"a": nonsense, "b": "]"}, 3]'), []
    for _ in read.iterate_items():
        try:
            found.append(read.read_value())
        except JsonError:
            read.skip_value()
    assert found == [1, 3]


def test_a_value_that_is_too_long_is_refused_and_passed_over():
    read, found = stream(json.dumps(["a", ["b" * 40] * 40, "c"]), 8, 64), []
    for _ in read.iterate_items():
        try:
            found.append(read.read_value())
        except TooLong:
            read.skip_value()
    assert found == ["a", "c"]


def test_no_more_is_held_than_a_value_and_a_chunk():
    class Counting(io.StringIO):
        def read(self, size=-1):
            asked.append(size)
            return super().read(size)

    asked: list[int] = []
    read = JsonStream(Counting(json.dumps(["x" * 90] * 1_000)), 100)
    for _ in read.iterate_items():
        read.read_value()
    assert max(asked) <= 200


def test_a_path_leads_into_objects_and_past_everything_else():
    text = '{"a": [1, {"list": 0}], "b": {"c": "}", "list": [1, 2]}, "d": 3}'
    read = stream(text)
    assert enter_path(read, ("b", "list"))
    assert [read.read_value() for _ in read.iterate_items()] == [1, 2]
    assert not enter_path(stream(text), ("b", "nothing"))
    assert not enter_path(stream(text), ("a", "list"))


class Slow(io.BytesIO):
    """Bytes that come in small pieces, and at last not at all."""

    def read1(self, size=-1):
        piece = super().read1(min(size, 10))
        if not piece:
            raise OSError("damaged")
        return piece


def test_a_text_comes_in_pieces_as_long_as_were_asked_for_so_that_a_long_value_is_not_begun_again_and_again():
    read = DecodedText(Slow("猫".encode() * 100), "utf-8")
    assert len(read.read(150)) == 50


def test_what_came_before_a_damage_is_handed_over_before_it_is_said():
    read = DecodedText(Slow("猫".encode() * 100), "utf-8")
    assert read.read(1_000) == "猫" * 100
    for _ in range(2):
        with pytest.raises(OSError, match="damaged"):
            read.read(1_000)
