"""The renderer of replies: what it shows, and that it shows the same however the reply was cut."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interfaces.terminal.markdown import settle_spans, stream_for
from interfaces.terminal.screen import Screen, cells_of
from tests.support.growing import growth

SAMPLE = """
# A *title*

Hello **bold** and *it*, a `code` thing.
Second **line
stays**. 你好世界，这是一个很长的中文段落，需要在合适的地方换行，而且标点符号不能出现在行首。再来一些字。

1. one
2. two
   - nested *item* which is long enough to wrap around the eighty columns that the terminal has, surely
5. five

```python
def f(x):
    return x + 1  # hi
```

| a | b | 名字 |
|---|:-:|---:|
| 1 | **x** | 你好 |
after the table
> a quote
---
| no table
end [link](http://x.y) *unclosed
"""


class Fixed(Screen):
    """A screen of a given width, in memory."""

    def __init__(self, columns: int = 80, *, plain: bool = False) -> None:
        self.out = io.StringIO()
        self._columns = columns
        super().__init__(self.out, plain=plain)

    @property
    def width(self) -> int:
        return self._columns


def shown(*chunks: str, columns: int = 80, plain: bool = False, colours: bool = False) -> str:
    """What stands on the screen after these chunks; ``<q>`` and ``</q>`` open and close a quotation."""
    screen = Fixed(columns, plain=plain)
    stream = stream_for(screen)
    for chunk in chunks:
        if chunk == "<q>":
            stream.begin_quotation()
        elif chunk == "</q>":
            stream.end_quotation("2026-01-02")
        else:
            stream.feed(chunk)
    stream.finish()
    text = screen.out.getvalue()
    return text if colours else re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_line_breaks_and_numbers_stay_as_they_were_written() -> None:
    assert shown("7. seven\n9. nine\none\ntwo") == "7. seven\n9. nine\none\ntwo\n"


def test_marks_become_styles_and_their_signs_go() -> None:
    assert shown("a **b** `c` [d](http://e)") == "a b c d (http://e)\n"
    assert "\x1b[1mb\x1b[0m" in shown("a **b**", colours=True)


@pytest.mark.parametrize(
    "text",
    ["2 * 3 * 4", "use *args and **kwargs", "snake_case_name", "a ** b", "[not] a (link)", "tilde ~ x", "![", "`"],
)
def test_a_sign_without_a_partner_is_shown(text: str) -> None:
    assert shown(text) == text + "\n"


def test_emphasis_beside_chinese_punctuation_is_emphasis() -> None:
    assert shown("**重点：**内容") == "重点：内容\n"


@pytest.mark.parametrize("mark", ["**", "*", "__", "~~"])
def test_emphasis_may_reach_over_line_breaks(mark: str) -> None:
    text = f"a {mark}bold that\nruns\non{mark} b"
    assert shown(text) == "a bold that\nruns\non b\n"
    assert shown(f"- {text}") == "• a bold that\nruns\non b\n"
    assert shown("<q>", text, "</q>").startswith("│ a bold that\n│ runs\n│ on b\n")
    assert shown(*text) == shown(text)


@pytest.mark.parametrize(
    "text", ["a **b\n\nc**", "**a\n```\nb** c\n```", "*a\n# b*", "5 * 3\n7 * 3", "**a\n| b** |", "_a\nb_c", "**a\n\n"]
)
def test_emphasis_ends_with_its_paragraph(text: str) -> None:
    assert re.sub(r"[#\s]", "", shown(text)) == re.sub(r"[#\s]", "", text)


def test_a_row_has_the_width_that_the_window_has_when_it_begins() -> None:
    screen = Fixed(40)
    stream = stream_for(screen)
    stream.feed("word " * 20)
    screen._columns = 20
    stream.feed("word " * 20)
    stream.finish()
    rows = [row for row in re.sub(r"\x1b\[[0-9;]*m", "", screen.out.getvalue()).split("\n") if row]
    assert {len(row) for row in rows[:2]} == {39}
    assert all(len(row) <= 20 for row in rows[3:])


def test_a_row_ends_between_words_and_never_before_a_closing_mark() -> None:
    assert shown("one two three four", columns=9) == "one two\nthree\nfour\n"
    assert shown("你好世界，再见", columns=8) == "你好世\n界，再见\n"


def test_a_wrapped_item_hangs_under_its_text() -> None:
    assert shown("- one two three", columns=9) == "• one two\n  three\n"
    assert shown("10. one two three", columns=11) == "10. one two\n    three\n"


def test_code_stands_exactly_as_written_and_is_coloured() -> None:
    code = "```python\ndef f():\n    return '**no**'   \n```"
    assert shown(code) == "```python\ndef f():\n    return '**no**'\n```\n".replace("'**no**'\n", "'**no**'   \n")
    assert "\x1b[35mdef\x1b[0m" in shown(code, colours=True)


def test_a_table_is_aligned_by_columns_of_any_width() -> None:
    lines = shown("| a | 名字 |\n|---|---|\n| 你好 | x |\n").splitlines()
    assert [cells_of(line) for line in (lines[0], lines[1])] == [cells_of(lines[1])] * 2
    assert all(line == line.rstrip() for line in lines)


def test_a_quotation_stands_apart_behind_a_bar_with_its_date() -> None:
    text = shown("Hi ", "<q>", "old\nwords", "</q>", " new")
    assert text == "Hi\n\n│ old\n│ words\n│ 2026-01-02\n\nnew\n"
    assert shown("Hi ", "<q>", "old\nwords", "</q>", " new", plain=True) == (
        "Hi \n\n> old\n> words\n> 2026-01-02\n\nnew\n"
    )


def test_plain_text_is_the_models_own() -> None:
    text = "# T\n\n**b**  x\n\n\n- i"
    assert shown(text, plain=True) == text + "\n"


def test_only_the_sixteen_colours_are_used() -> None:
    codes = {
        int(code) for found in re.findall(r"\x1b\[([0-9;]+)m", shown(SAMPLE, colours=True)) for code in found.split(";")
    }
    assert codes <= {0, 1, 2, 3, 4, 9, *range(30, 38), *range(90, 98)}


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(20, 100))
def test_the_result_does_not_depend_on_how_the_reply_was_cut(sizes: list[int], columns: int) -> None:
    chunks, at = [], 0
    while at < len(SAMPLE):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(SAMPLE[at : at + size])
        at += size
    assert shown(*chunks, columns=columns) == shown(SAMPLE, columns=columns)


@given(st.text(alphabet="ab*_`~[]()!\\ 你，\n>#-1.|", max_size=80))
def test_no_letter_is_ever_swallowed(text: str) -> None:
    letters = [letter for letter in text if letter in "ab你，"]
    assert [letter for letter in shown(text) if letter in "ab你，"] == letters


@given(st.text(max_size=60))
def test_any_text_can_be_shown_and_ends_its_line(text: str) -> None:
    for plain in (False, True):
        result = shown(text, plain=plain)
        assert result == "" or result.endswith("\n")


@pytest.mark.parametrize(
    "piece", ["*a ", "*a\n", "**", "[a", "`x", "_a*", "![a](", "word ", "字", "- item\n", "> q\n", "| a |\n"]
)
def test_work_grows_with_the_length_and_not_faster(piece: str) -> None:
    def show(given: str) -> None:
        settle_spans(given, ("words",), final=True)
        shown(*(given[at : at + 40] for at in range(0, len(given), 40)))

    assert growth(show, piece, 4_000) < 9
