"""Text on its way: clean when it comes in, inert when it is shown, quotations told apart; always linear."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import errors
from domain.quotations import check_quotations, find_quotations, outside_quotations, source_of, without_quotations
from domain.recollection import RecalledExternal, RecalledMessage, RecalledSummary, Recollection, Why
from domain.text import check_input, clean_text, is_blank, make_inert, one_line
from language.scripts import language_of
from tests.support.growing import growth


def test_what_no_store_can_take_is_cleaned_when_it_comes_in():
    assert clean_text("a\udc80b\0c\x1b[2Jd\r\ne\rf\x85g") == "a\ufffdbc[2Jd\ne\nfg"
    clean_text("\ud83d").encode("utf-8")


@pytest.mark.parametrize(
    "hidden", ["\x1b", "\x9b", "\x07", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\U000e0041"]
)
def test_hidden_and_controlling_characters_are_not_shown(hidden):
    assert make_inert(f"a{hidden}b") == "ab"


def test_joined_emoji_and_ordinary_text_are_shown_as_they_are():
    assert make_inert("👩‍👩‍👧 你好\tA\n") == "👩‍👩‍👧 你好\tA\n"


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\u200b", "\u200d\u2060\ufeff", "\u3000\u00ad", "\u3164\u2800", "\ufe0f\u200c"]
)
def test_what_shows_nothing_is_empty(text):
    assert is_blank(text)
    with pytest.raises(errors.UsageError):
        check_input(text)


@pytest.mark.parametrize("text", [".", "你", "👩\u200d👧", "\u200b?", "\u0301"])
def test_what_shows_anything_is_not_empty(text):
    assert not is_blank(text)
    assert check_input(text) == text


@given(st.text(), st.integers(0, 40))
def test_inert_does_not_depend_on_how_a_stream_is_cut(text, at):
    assert make_inert(text[:at]) + make_inert(text[at:]) == make_inert(text)


def test_one_line_is_one_short_line():
    assert one_line("a\n\x1b[1mb\tc", 10) == "a [1mb c"
    assert len(one_line("x" * 10_000, 50)) == 50


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <blockquote>old</blockquote> b", "a  b"),
        ("<BLOCKQUOTE class='x'>old</ blockquote >b", "b"),
        ("<blockquote>a<blockquote>b</blockquote>c</blockquote>d", "d"),
        ("own words <blockquote>tail", "own words tail"),
        ("a</blockquote>b", "ab"),
        ("<blockquotes>kept</blockquotes>", "<blockquotes>kept</blockquotes>"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("a\n\n<blockquote>x</blockquote>\n\nb", "a\n\nb"),
    ],
)
def test_quotations_leave_and_own_words_stay(text, left):
    assert without_quotations(text) == left


@pytest.mark.parametrize(
    ("reply", "own"),
    [
        ("a <blockquote>old</blockquote> b", "a   b"),
        ("<blockquote>a<blockquote>b</blockquote>c</blockquote>d", "d"),
        ("<blockquote><blockquote>a</blockquote> still quoted", ""),
        ("own words <blockquote>tail", "own words"),
        ("a</blockquote>b", "a b"),
        ("  1 < 2\n\n\n\n", "  1 < 2\n\n\n\n"),
    ],
)
def test_a_reply_says_itself_what_is_not_shown_as_quoted(reply, own):
    assert outside_quotations(reply) == own


def test_only_what_somebody_said_themselves_bears_a_quotation_out():
    made_up, why = "I keep bees on the roof", Why("", 0.0)
    at, summary = "2026-05-04T13:05:00+02:00", RecalledSummary("m", "s", "", made_up, Why("", 0.0))
    of_user = RecalledMessage("u", "s", at, "user", f"User: {made_up}.", True, why)
    of_reply = replace(of_user, role="assistant", text=f"Assistant: {made_up}!")
    quoting = replace(of_reply, text=f"Assistant: As you said:\n<blockquote>{made_up}</blockquote>")
    cut = replace(of_reply, text=f"Assistant: As you said:\n<blockquote>{made_up}")
    other = RecalledExternal("@o", "notes", "", at, None, made_up, why)
    for bearing in (
        Recollection(messages=(quoting, of_user)),
        Recollection(messages=(of_reply,)),
        Recollection(external=(other,)),
    ):
        assert source_of(made_up, bearing) == (*bearing.messages, *bearing.external)[-1]
    for telling in (Recollection(messages=(quoting, cut)), Recollection(summaries=(summary,))):
        assert source_of(made_up, telling) is None
        assert check_quotations(f"<blockquote>{made_up}</blockquote>", telling) == ()


def test_quotations_are_found_in_order():
    assert find_quotations("<blockquote>a</blockquote>x<blockquote>b <blockquote>c</blockquote></blockquote>") == [
        "a",
        "b c",
    ]


@pytest.mark.parametrize("unit", ["<blockquote>", "</blockquote>", "<blockquote ", "<", "<blockquote></blockquote>"])
def test_work_on_text_grows_with_its_length_and_no_faster(unit):
    assert growth(without_quotations, unit, 200_000) < 9


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Hello there", "en"),
        ("你好", "zh"),
        ("我用 Python 写了一个 REST API", "zh"),
        ("I met 小明 in Beijing today", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_conversation(text, language):
    assert language_of(text) == language
