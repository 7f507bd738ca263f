"""One reply on the screen: frames, signs, notices, dated quotations."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation import Recalled, Replied, TurnEvent
from domain import errors
from domain.events import Notice, Reply, Retrying, TextDelta
from domain.quotations import source_of
from domain.recollection import RecalledMessage, Recollection, Why
from domain.records import Message, Round
from interfaces.messages import Words
from interfaces.terminal.reply import Piece, QuotationSplitter, ReplyView, show_text
from interfaces.terminal.screen import Screen
from interfaces.terminal.work_runner import Tick
from language.scripts import Language
from tests.support.growing import growth

MEMORY = RecalledMessage(
    "t1", "s1", "2026-01-02T10:00:00+00:00", "user", "My parrot is called Kiwi.", True, Why("q", 1.0)
)
NOTHING = Recollection()
KNOWN = Recollection(messages=(MEMORY,), ranked=("t1",))


class Counting(io.StringIO):
    """Counts how often something is written."""

    def __init__(self) -> None:
        super().__init__()
        self.flushes = 0

    def flush(self) -> None:
        self.flushes += 1


class Moments:
    """Seconds that go on only when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def replied(text: str, recollection: Recollection = NOTHING) -> Replied:
    message = Message(1, "x", "s", "2026-01-03T10:00:00+00:00", "user", "User: hi", 1)
    return Replied(Round(message, message), Reply(text, "stop", "m", 1, 1, 0.1, False), recollection)


def shown(events: Iterator[TurnEvent | Tick], moments: Moments) -> tuple[str, int]:
    out = Counting()
    screen = Screen(out, plain=False)
    ReplyView(screen, screen, Words("en"), moments).show_events(events)
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()), out.flushes


def test_a_fast_reply_is_written_fifteen_times_a_second_at_most() -> None:
    moments = Moments()

    def events() -> Iterator[TurnEvent | Tick]:
        for _ in range(2000):
            moments.now += 0.001
            yield TextDelta("word ")
        yield replied("word")

    text, flushes = shown(events(), moments)
    assert text.split() == ["word"] * 2000
    assert flushes <= 2 * 15 + 4


def test_the_sign_comes_after_half_a_second_and_goes_without_a_trace() -> None:
    moments = Moments()

    def events() -> Iterator[TurnEvent | Tick]:
        moments.now += 0.4
        yield Tick()
        moments.now += 0.2
        yield Tick()
        yield TextDelta("Hello.")
        yield replied("Hello.")

    text, _ = shown(events(), moments)
    assert text == "thinking 0 s · Ctrl-C stops\r\x1b[KHello.\n"


def test_a_notice_waits_while_a_reply_is_under_way() -> None:
    events: list[TurnEvent] = [
        TextDelta("Hello "), Notice("turn.truncated", {"tokens": 5}), TextDelta("Ann."), replied("Hello Ann.")
    ]  # fmt: skip
    text, _ = shown(iter(events), Moments())
    assert text.startswith("Hello Ann.\nThe server read only 5 tokens")


def test_an_error_is_told_once_however_often_it_is_tried_again() -> None:
    error = errors.BadReply("model.html_reply", base="http://x")
    events: list[TurnEvent] = [Retrying(error, 2, 3, 1.0), Retrying(error, 3, 3, 2.0), TextDelta("Hi."), replied("Hi.")]
    text, _ = shown(iter(events), Moments())
    assert text.count("sent a web page") == 1
    assert "(2 of 3)" in text
    assert "(3 of 3)" in text


def test_a_quotation_carries_the_date_of_its_memory_and_the_reply_a_line_of_what_was_remembered() -> None:
    said = "You said <blockquote>my parrot is called kiwi</blockquote>"
    events: list[TurnEvent] = [Recalled(KNOWN), TextDelta(said), replied(said, KNOWN)]
    text, _ = shown(iter(events), Moments())
    assert "│ my parrot is called kiwi\n│ 2026-01-02\n" in text
    assert text.endswith("remembered 1 message · /why\n")


def test_a_quotation_is_found_whatever_its_case_and_marks() -> None:
    assert source_of("MY PARROT is called “Kiwi”", KNOWN) is MEMORY
    assert source_of("my yacht", KNOWN) is None
    assert source_of("!", KNOWN) is None


def test_an_earlier_reply_looks_as_it_did_but_quiet() -> None:
    live, early = Counting(), Counting()
    text = "# Title\n\nSome **bold** words <blockquote>old</blockquote> end"
    show_text(Screen(live, plain=False), text)
    show_text(Screen(early, plain=False), text, quiet=True)
    bare = [re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()) for out in (live, early)]
    assert bare[0] == bare[1]
    assert "\x1b[2m" in early.getvalue()


def test_the_sign_counts_the_seconds_from_the_start_and_says_what_stops() -> None:
    moments = Moments()

    def events() -> Iterator[TurnEvent | Tick]:
        for _ in range(250):
            moments.now += 0.05
            yield Tick()
        yield TextDelta("Hello.")
        yield replied("Hello.")

    text, flushes = shown(events(), moments)
    assert "thinking 12 s · Ctrl-C stops\r" in text
    assert flushes < 40, "the sign is written when it changes, not at every beat"


def test_a_quotation_that_stands_in_no_memory_is_marked_and_one_that_was_said_is_not() -> None:
    said = "<blockquote>my yacht is red</blockquote> <blockquote>tea at noon</blockquote>"
    events: list[TurnEvent] = [Recalled(KNOWN), TextDelta(said), replied(said, KNOWN)]
    out = Counting()
    screen = Screen(out, plain=True)
    known = ReplyView(screen, screen, Words("en"), Moments(), said=lambda quotation: "tea" in quotation)
    known.show_events(iter(events))
    assert out.getvalue().startswith("> my yacht is red\n> (not in memory)\n\n> tea at noon\nremembered")


def test_what_the_person_asked_to_have_forgotten_is_told_with_the_way_to_erase_it() -> None:
    events: list[TurnEvent] = [TextDelta("I hear you."), Notice("forget_request.detected", {"rounds": 2}), replied("x")]
    text, _ = shown(iter(events), Moments())
    assert "I won't bring these 2 up again." in text
    assert "/forget asked" in text


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "I won't bring these 2 up again: this message, and one about Josef."),
        ("zh", "这 2 处以后都不再提：刚才这一处，还有一处说到Josef。"),
    ],
)
def test_what_is_hidden_by_its_matter_is_told_with_the_matter(language: Language, told: str) -> None:
    heard = Notice("forget_request.detected", {"rounds": 2, "matter": ("Josef",)})
    out = Counting()
    screen = Screen(out, plain=True)
    ReplyView(screen, screen, Words(language), Moments()).show_events(iter([TextDelta("Hm."), heard, replied("x")]))
    assert told in out.getvalue()
    assert "Josef" in out.getvalue()


@given(
    st.lists(
        st.sampled_from(["<blockquote>", "</blockquote>", "<block", "quote>", "a", "<", "/", " b\n"]), max_size=30
    ),
    st.integers(1, 7),
)
def test_the_splitter_tells_the_same_however_the_stream_is_cut(parts, size):
    text = "".join(parts)
    whole = QuotationSplitter()
    expected = _joined(whole.feed(text) + whole.finish())
    cut = QuotationSplitter()
    pieces = [piece for at in range(0, len(text), size) for piece in cut.feed(text[at : at + size])]
    assert _joined(pieces + cut.finish()) == expected
    assert all("<blockquote>" not in piece.text for piece in pieces)


def _joined(pieces: list[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].quoted == piece.quoted:
            joined[-1] = Piece(joined[-1].text + piece.text, piece.quoted)
        else:
            joined.append(piece)
    return joined


@pytest.mark.parametrize("unit", ["<blockquote>", "</blockquote>", "<blockquote ", "<"])
def test_the_splitter_takes_no_longer_than_a_reply_grows(unit):
    def work(given: str) -> None:
        splitter = QuotationSplitter()
        splitter.feed(given)
        splitter.finish()

    assert growth(work, unit, 200_000) < 9


def drawn(reply: str, recollection: Recollection) -> str:
    """A reply as a plain screen shows it, whatever pieces it comes in."""
    texts = set()
    for size in (1, 7, len(reply)):
        pieces = [TextDelta(reply[at : at + size]) for at in range(0, len(reply), size)]
        out, _ = shown(iter([Recalled(recollection), *pieces, replied(reply, recollection)]), Moments())
        texts.add(out)
    (text,) = texts
    return text


SAID = "<blockquote>My parrot is called Kiwi.</blockquote>"


@pytest.mark.parametrize(
    "reply",
    [
        f"Kiwi.\n{SAID}",
        f"Kiwi. You said on 2026-01-02:\n{SAID}\nThat is all.",
        f"Kiwi.\n{SAID}\n(2 January 2026)\nThat is all.",
        f"Kiwi.\n{SAID} — Friday, January 2, 2026",
        f"叫 Kiwi。\n{SAID}\n2026年1月2日说的。",
        f"Kiwi.\n{SAID}\n{SAID}",
        f"Kiwi.\n{SAID}\n(said on 2026-01-02)\n{SAID}",
    ],
)
def test_each_day_of_a_quotation_is_shown_once(reply: str) -> None:
    text = drawn(reply, KNOWN)
    assert len(re.findall(r"2026-01-02|2 January 2026|January 2, 2026|2026年1月2日", text)) == 1
    assert text.count("Kiwi.") + text.count("Kiwi。") >= reply.count("Kiwi")
    assert [word for word in ("That is all.", "说的") if word in reply and word not in text] == []


def test_a_day_that_the_words_around_a_quotation_do_not_name_is_shown() -> None:
    other = RecalledMessage(
        "t2", "s1", "2026-03-04T10:00:00+00:00", "user", "The cage stands in the kitchen.", True, Why("q", 1.0)
    )
    both = Recollection(messages=(MEMORY, other), ranked=("t1", "t2"))
    cage = "<blockquote>The cage stands in the kitchen.</blockquote>"
    text = drawn(f"On 2026-03-04 you said:\n{cage}\nBefore that, in 2026:\n{SAID}\n{cage}\n", both)
    assert [text.count("2026-03-04"), text.count("2026-01-02")] == [2, 1]
