"""Everything has a bound, and no work on text grows faster than the text."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import date, datetime

import pytest

from domain import errors
from domain import text as texts
from domain.quotations import find_quotations, without_quotations
from domain.recollection import Recollection
from domain.text import MAX_INPUT_BYTES, mask
from domain.workers import CancelToken
from facts.evidence import TextFigures
from facts.matters import day_ahead
from interfaces.terminal.markdown import stream_for
from interfaces.terminal.reply import QuotationSplitter, QuotedStream
from interfaces.terminal.screen import Screen
from language.numbers import asserted_numbers, find_numbers
from language.reactions import manner_of
from language.scripts import estimate, language_of
from language.times import read_times
from language.words import tokens as words_of
from models.chat import (
    MAX_PROMPT,
    MAX_REPLY,
    CollectedReply,
    Part,
    Repair,
    ThinkingSplitter,
    summary_of,
    without_stray_thinking,
)
from models.demo_model import reply_to
from models.provider_errors import read_failure
from tests.facts.talk import reason, talk
from tests.support.growing import growth
from tests.support.house import house
from tests.support.program import connected, run, stored
from tests.support.server import ScriptedServer, answer, encode, say, status
from tests.support.talking import ASKED, models_at, played, said

#: Pieces of which text is made that is hard on scanners.
_HARD = (
    "<blockquote>", "</blockquote>", "<block", "<", "<think>", "</think>\n", "a", "你", "a b ", "\n", "\n\n",
    "* ", "> ",
    "`", "```\n", "|a|b|\n", "[x](", "**", "_a_", "# ", "- a\n",
    "1. ", "<|", "[INST]", "\u202e", "sk-",
    "bearer ", "?key=", "eyJ.", "!?。", "\\", "&", "Mr. ", "2026-01-01 Ann said: ", "~~~", "![", "](", "$", "\t",
)  # fmt: skip


def _split(given: str) -> None:
    splitter = QuotationSplitter()
    for at in range(0, len(given), 50):
        splitter.feed(given[at : at + 50])
    splitter.finish()


def _collect(given: str) -> None:
    collected = CollectedReply()
    for at in range(0, len(given), 50):
        collected.add_part(Part(text=given[at : at + 50]))
    collected.add_part(Part(), last=True)
    assert collected.text is not None


def _think(given: str) -> None:
    splitter, repair = ThinkingSplitter(), Repair()
    for at in range(0, len(given), 50):
        splitter.feed(repair.feed("<think>" + given[at : at + 50]))


def _stream(given: str) -> None:
    sent = b"data: " + encode({"choices": [{"delta": {"content": given}}]}) + b"\n\n"
    said(sent[at : at + 100] for at in range(0, len(sent), 100))


def _demo(given: str) -> None:
    reply_to(
        [
            ("system", "Task: summarise the conversation."),
            ("user", f"=\n{json.dumps({'rounds': [{'text': given}]})}\n="),
        ],
        {"task": "fold"},
    )
    reply_to([("user", f"=\n{json.dumps({'text': given})}\n=\n{given}")], {})


_WORK: dict[str, Callable[[str], object]] = {
    "clean": texts.clean_text, "inert": texts.make_inert, "one_line": texts.one_line,
    "without_quotations": without_quotations,
    "quotations": find_quotations, "splitter": _split, "mask": mask,
    "harmless": lambda given: texts.make_harmless(given, "=== x ==="),
    "control_tokens": texts.without_control_tokens, "estimate": estimate, "error_body": read_failure,
    "collect": _collect,
    "think": _think, "stray": without_stray_thinking, "stream": _stream, "stand_in": _demo, "tokens": words_of,
    "language": language_of, "manner": lambda given: manner_of([given, *["Yes."] * 11], "Kim", "en"),
}  # fmt: skip


@pytest.mark.parametrize("name", _WORK)
def test_four_times_the_text_takes_about_four_times_as_long(name: str) -> None:
    size = 15_000 if name in ("stand_in", "tokens") else 60_000
    slow = [piece for piece in _HARD if growth(_WORK[name], piece, size) > 9]
    again = {piece: growth(_WORK[name], piece, size * 2) for piece in slow}
    assert {piece: ratio for piece, ratio in again.items() if ratio > 9} == {}


#: What reads figures and times, in text that is full of them.
_READS: dict[str, Callable[[str], object]] = {
    "numbers": lambda given: (find_numbers(given), asserted_numbers(given)),
    "times": lambda given: read_times(given, date(2026, 11, 26)),
    "own_days": lambda given: TextFigures(given, date(2026, 11, 26)).own_days,
    "day_ahead": lambda given: day_ahead(given, datetime(2026, 11, 26)),
    "checking": lambda given: reason("Mara has 3 cats until May.", talk("2026-05-17", given), 1),
}


@pytest.mark.parametrize("name", _READS)
@pytest.mark.parametrize(
    ("piece", "size"),
    [
        *((piece, 40_000) for piece in ("1", "一", "一万", "1,", "not 1 ", "前的", "a")),
        ("三月 ", 8_000),
        *((piece, 5_000) for piece in ("三天", "friday 3rd ", "the 3rd, may, ")),  # read piece by piece: counted
    ],
)
def test_reading_figures_takes_time_in_proportion_to_the_text(name: str, piece: str, size: int) -> None:
    assert growth(_READS[name], piece, size) <= 9


@pytest.mark.parametrize("given", ["1" * 5_000 + " pm", "一" * 5_000 + "十万个"])
def test_a_number_of_thousands_of_digits_is_read_without_an_error(given: str) -> None:
    assert find_numbers(given)
    assert reason("Mara has 3 cats.", talk("2026-05-17", "I have 3 cats. " + given), 1) == ""


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "styled"])
def test_showing_a_reply_takes_time_in_proportion_to_it(plain: bool) -> None:
    def show(given: str) -> None:
        screen = Screen(io.StringIO(), plain=plain)
        quoted = QuotedStream(stream_for(screen), Recollection())
        for at in range(0, len(given), 200):
            quoted.feed(given[at : at + 200])
        quoted.finish()

    slow = {}
    for piece in _HARD:
        if (ratio := growth(show, piece, 4_000)) > 10 and (ratio := growth(show, piece, 8_000)) > 10:
            slow[piece] = round(ratio, 1)
    assert slow == {}


# -- bounds


def test_a_message_of_one_megabyte_is_taken_and_one_byte_more_is_not(tmp_path) -> None:
    with ScriptedServer() as server:
        server.script("Long.")
        fits = "x" * MAX_INPUT_BYTES
        ran = run(tmp_path, "-p", "-", given=fits, **connected(server.base))
        assert (ran.code, ran.out) == (0, "Long.\n"), ran.err
        ran = run(tmp_path, "-p", "-", given=fits + "y", **connected(server.base))
        assert (ran.code, ran.out) == (2, "")
        assert len(ran.err.splitlines()) <= 2
        assert len(stored(tmp_path)) == 1


def test_many_long_rounds_never_make_a_prompt_without_bound(tmp_path, clock, new_id, log) -> None:
    with ScriptedServer() as server, house(tmp_path, server, clock, new_id, log) as full:
        session_id = full.talk.session.session_id
        for _ in range(4):
            full.memory.rounds.store(session_id, "w" * 900_000, "Noted.", clock().isoformat(), "stop")
        server.script("Noted.")
        list(full.talk.turn("w" * 900_000, CancelToken()))
        sent = [sum(len(message["content"]) for message in chat["messages"]) for chat in server.chats]
        assert max(sent) <= MAX_PROMPT
        assert len(sent) == 1, "a prompt beyond the bound is not even sent"


def test_a_reply_without_end_is_cut_at_its_bound() -> None:
    piece = "word " * 20_000
    with ScriptedServer() as server:
        server.script(say("", pieces=[piece] * (MAX_REPLY // len(piece) + 20)))
        llm = models_at(server.base)
        reply = played(llm.chat(ASKED, CancelToken())).reply
        llm.close()
    assert reply is not None
    assert len(reply.text) <= MAX_REPLY
    assert reply.finish == "length"


@pytest.mark.parametrize("code", [400, 200])
def test_an_error_body_without_end_is_one_short_line(code: int) -> None:
    body = {"error": {"message": "x" * 3_000_000}}
    with ScriptedServer() as server:
        server.script(*[answer(body, code)] * 3)
        llm = models_at(server.base)
        error = played(llm.chat(ASKED, CancelToken())).error
        llm.close()
    assert error is not None
    assert len(str(error.details["said"])) <= 200


def test_a_model_list_without_end_is_cut() -> None:
    with ScriptedServer() as server:
        server.models = [f"model-{number}-{'x' * 300}" for number in range(6_000)]
        llm = models_at(server.base)
        names = llm.models()
        llm.close()
    assert len(names) <= 5_000
    assert max(map(len, names)) <= 200


def test_a_summary_without_end_is_not_taken() -> None:
    from domain.events import Reply

    text = "One more thing was said. " * 10_000
    assert len(summary_of([Reply(text, "stop", "m", None, None, 0.0, False)])) <= 40_000


def test_an_answer_larger_than_any_reply_is_given_up() -> None:
    with ScriptedServer() as server:
        server.script(*[answer(b'{"x": "' + b"y" * 33_000_000 + b'"}')] * 3)
        llm = models_at(server.base)
        error = played(llm.chat(ASKED, CancelToken())).error
        llm.close()
    assert isinstance(error, errors.BadReply)
    assert error.key == "model.too_large"


def test_the_status_of_a_refusal_is_kept_short_in_the_log(tmp_path) -> None:
    with ScriptedServer() as server:
        server.script(status(400, "z" * 500_000))
        ran = run(tmp_path, "-p", "x", "--debug", **connected(server.base))
        assert ran.code == 1
        assert (tmp_path / "logs" / "debug.log").stat().st_size < 60_000
