"""Models that misbehave, against the program itself: what a person reads, what a script gets, what is stored (nothing).

The whole table is played in a few runs of ``--batch`` at once; ``make torture`` also plays each row in a ``-p`` of its
own. What stands on a real terminal is looked at for a row of each kind, in one sitting.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from domain import errors
from interfaces.messages import load_table
from tests.interfaces.terminal.pseudo import Terminal, chatting
from tests.support.faults import FAULTS, HELLO, Fault
from tests.support.program import KEY, Ran, asked, connected, in_flight, interrupted, run, started, stored
from tests.support.server import (
    DIMENSION,
    Exchange,
    ScriptedServer,
    answer,
    delta,
    hang,
    hang_up,
    html,
    say,
    status,
    stream,
    vectors,
)

#: A command that does not exist ends what was said of one row.
_MARK = "/endofrow"
_MARKED = "There is no command /endofrow"
#: What may stand beside a row and says nothing of it.
MESSAGES = load_table("en")
_BESIDE = (MESSAGES["recall.degraded"].split("{")[0],)
#: So does how full the context is, once a server that refused a prompt named its limit; a share comes before it.
_FULL = MESSAGES["context.much"].split("}")[1].split("{")[0]
_BY_NAME = {fault.name: fault for fault in FAULTS}
_FIRST = next(fault for fault in FAULTS if fault.plays).base
_PLAYABLE = [fault for fault in FAULTS if fault.base is _FIRST]
_ELSEWHERE = [fault for fault in FAULTS if fault.base is not _FIRST]


def said(fault: Fault) -> str:
    """What the person says to meet this fault."""
    return f"Meet {fault.name} now"


def role_of_faults(server: ScriptedServer) -> None:
    """The server plays the row that the last message names, one play after another."""
    met: Counter[str] = Counter()

    def play(exchange: Exchange) -> None:
        name = exchange.json["messages"][-1]["content"].split("Meet ")[-1].split(" now")[0]
        fault = _BY_NAME.get(name)
        if fault is None:
            say(HELLO)(exchange)
            return
        met[name] += 1
        fault.plays[min(met[name], len(fault.plays)) - 1](exchange)

    server.script(*[play] * 1_000)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        role_of_faults(running)
        yield running


def pattern(key: str) -> str:
    """A message as it may stand on the screen: its gaps may hold anything, its line may be broken anywhere."""
    parts = re.split(r"\{[a-z_]+\}", MESSAGES[key])
    return ".*?".join(re.escape(" ".join(part.split())) for part in parts)


def lines_of(err: str) -> list[str]:
    """The lines that tell of a row."""
    lines = [line for line in err.splitlines() if line.strip() and not line.startswith(_BESIDE)]
    return [line for line in lines if _FULL not in line]


def check_told(fault: Fault, err: str) -> None:
    """One line a try, the last of them what happened and what to do; nothing else."""
    lines = lines_of(err)
    told = fault.tries if fault.error else fault.tries - 1 + (fault.finish != "stop")
    assert len(lines) == told, (fault.name, lines)
    if fault.error:
        assert re.search(pattern(fault.key), " ".join(lines[-1].split())), (fault.name, lines[-1])
        assert "?" not in lines[-1], "a gap in the sentence"
    assert "Traceback" not in err
    assert KEY not in err


def play_in_one_run(home: Path, server: ScriptedServer, rows: Sequence[Fault], timeout: float) -> Ran:
    home.mkdir()
    lines = "".join(f"{said(row)}\n{_MARK}\n" for row in rows)
    many = {"MAX_CONV_NUM": "1000", "REFRESH_EVERY_CONV_NUM": "1", "REQUEST_TIMEOUT": str(timeout)}
    return run(home, "--batch", "-", given=lines, **connected(server.base, **many))


def check_run(home: Path, server: ScriptedServer, rows: Sequence[Fault], ran: Ran) -> None:
    told = ran.err.split(_MARKED)
    assert len(told) == len(rows) + 1, ran.err
    for number, (row, err) in enumerate(zip(rows, told, strict=False)):
        check_told(row, err if number == 0 else err.split("\n", 1)[1])
        # On a busy machine a short patience may end before the server has even taken the call.
        least = row.tries - (row.error is errors.TimedOut)
        assert least <= asked(server, said(row)) <= row.tries, row.name
    kept = [row for row in rows if row.stored]
    found = stored(home)
    assert [one.user for one in found] == [said(row) for row in kept]
    assert [one.assistant for one in found] == [row.reply for row in kept]
    assert [one.finish for one in found] == [row.finish for row in kept]
    failures = [row for row in rows if row.error]
    for row in failures:
        assert not row.shown or row.shown.strip() not in ran.out.splitlines(), "words of a reply that failed"
    assert ran.code == (failures[-1].error.exit_code if failures and failures[-1].error else 0)
    assert in_flight(home) == ([] if rows[-1].stored else [said(rows[-1])])
    assert not list((home / "logs").glob("errors.log")) or "Traceback" not in ran.err


def test_every_fault_gets_its_one_line_and_stores_nothing(tmp_path, server):
    hasty = [row for row in _PLAYABLE if row.timeout < 10]
    others = [row for row in _PLAYABLE if row.timeout >= 10]
    # Rows that end well come last, so that no earlier round can be left out of a prompt; the longest at the end.
    others.sort(key=lambda row: (row.stored, len(row.reply)))
    slow = [row for row in others if row.tries == 3]
    quick = [row for row in others if row.tries < 3]
    groups = [(slow[0::3], 60.0), (slow[1::3], 60.0), (slow[2::3], 60.0), (quick, 60.0), (hasty, 2.0)]
    with ThreadPoolExecutor(len(groups)) as several:
        runs = list(several.map(
            lambda one: play_in_one_run(tmp_path / str(one[0]), server, *one[1]), enumerate(groups)))  # fmt: skip
    for number, ((rows, _), ran) in enumerate(zip(groups, runs, strict=True)):
        check_run(tmp_path / str(number), server, rows, ran)


def test_a_server_that_is_not_there_gets_its_one_line_too(tmp_path, server):
    def play(row: Fault) -> Ran:
        home = tmp_path / row.name
        home.mkdir()
        return run(home, "-p", said(row), **connected(row.base(server)))

    with ThreadPoolExecutor(len(_ELSEWHERE)) as several:
        runs = list(several.map(play, _ELSEWHERE))
    for row, ran in zip(_ELSEWHERE, runs, strict=True):
        assert row.error is not None
        check_told(row, ran.err)
        assert (ran.code, ran.out) == (row.error.exit_code, "")
        assert stored(tmp_path / row.name) == []


@pytest.mark.torture
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_with_p_tells_its_exit_code_and_prints_only_a_reply(fault, tmp_path, server):
    ran = run(tmp_path, "-p", said(fault), **connected(fault.base(server), REQUEST_TIMEOUT=str(fault.timeout)))
    check_told(fault, ran.err)
    assert ran.code == (fault.error.exit_code if fault.error else 0)
    if fault.error:
        assert (ran.out, stored(tmp_path)) == ("", [])
    else:
        assert [(one.assistant, one.finish) for one in stored(tmp_path)] == [(fault.reply, fault.finish)]


# -- exit codes


def test_each_exit_code_of_the_program(tmp_path, server):
    good = connected(server.base)
    homes = [tmp_path / name for name in ("ok", "failed", "usage", "setting", "later", "data", "held", "stop")]
    for home in homes:
        home.mkdir()
    ok, failed, usage, setting, later, data, held, stop = homes
    (data / "data").mkdir()
    (data / "data" / "memory.db").write_bytes(b"not a database, but a text of some length " * 50)
    hanging = started(stop, "-p", "Meet hang_before_headers now", piped=False, **good, REQUEST_TIMEOUT="60")
    waiting = started(held, "-p", "-", **good)
    with ThreadPoolExecutor(4) as several:
        runs = several.map(lambda one: run(one[0], *one[1], **{**good, **one[2]}), [
            (ok, ("-p", "Hello"), {}),
            (failed, ("-p", said(_BY_NAME["401"])), {}),
            (usage, ("--no-such-flag",), {}),
            (setting, ("-p", "Hello"), {"MAX_CONV_NUM": "none"}),
            (later, ("-p", said(_BY_NAME["500"])), {}),
            (data, ("-p", "Hello"), {}),
        ])  # fmt: skip
        stopped = interrupted(hanging, lambda: asked(server, "Meet hang_before_headers now") > 0)
        ran = list(runs)
    beside = run(held, "-p", "Hello", **good)
    broken_off = interrupted(waiting, lambda: True)
    assert [one.code for one in ran] == [0, 1, 2, 2, 3, 4]
    assert (beside.code, stopped.code, broken_off.code) == (0, 130, 130)
    assert ran[0].out == HELLO + "\n"
    for one in (*ran[1:], stopped):
        assert one.out == ""
        assert "Traceback" not in one.err
    assert len(lines_of(ran[5].err)) == 1, ran[5].err
    assert (data / "data" / "memory.db").read_bytes().startswith(b"not a database")
    assert stored(stop) == []


def test_json_tells_an_error_in_words_that_have_no_gaps(tmp_path, server):
    ran = run(tmp_path, "-p", said(_BY_NAME["401"]), "--json", **connected(server.base))
    told = json.loads(ran.out)
    assert ran.code == 1
    assert told["reply"] is None
    assert told["error"]["key"] == "model.unauthorized"
    assert "…0123 from the environment" in told["error"]["message"]


# -- in a terminal

_SEEN = (
    "401", "403", "404_model", "429_insufficient_quota", "context_vllm", "content_filter_error", "400",
    "thinking_only", "stream_cut", "bad_line", "content_filter_after_words", "redirect_to_another_host",
    "html_with_200", "500_then_well", "length", "nul_and_escapes", "think_section", "slow_tokens",
)  # fmt: skip


@contextmanager
def sitting(home: Path, *arguments: str, **settings: str) -> Iterator[Terminal]:
    """The chat in a terminal wide enough for a message to stand on one line."""
    opened = chatting(home, *arguments, rows=50, columns=220, **settings)
    terminal = next(opened)
    try:
        terminal.prompt()
        yield terminal
    finally:
        terminal.close()
        next(opened, None)


def below(terminal: Terminal, text: str) -> str:
    """What stands below the last line that was sent as this text."""
    return terminal.text().rpartition(f"> {text}")[2]


def broke_off(fault: Fault) -> bool:
    """Whether a person has seen words when the connection breaks, so that they are kept."""
    return fault.key == "model.cut_reply" and bool(fault.shown)


def test_a_person_reads_one_line_finds_their_words_again_and_the_chat_goes_on(tmp_path, server):
    with sitting(tmp_path, **connected(server.base)) as terminal:
        for name in _SEEN:
            meet(terminal, _BY_NAME[name])
        terminal.say("Are you there")
        terminal.wait(lambda: HELLO in below(terminal, "Are you there"), "a reply after all that")
        terminal.prompt()
        terminal.send("\x04")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.text()
    kept = [row for row in map(_BY_NAME.__getitem__, _SEEN) if row.stored or broke_off(row)]
    replies = [row.reply if row.stored else row.shown.strip() for row in kept]
    finishes = [row.finish if row.stored else "interrupted" for row in kept]
    assert [one.user for one in stored(tmp_path)] == [*map(said, kept), "Are you there"]
    assert [one.assistant for one in stored(tmp_path)] == [*replies, HELLO]
    assert [one.finish for one in stored(tmp_path)] == [*finishes, "stop"]


def meet(terminal: Terminal, fault: Fault) -> None:
    """Say the words that bring a fault, and see what must be seen."""
    words = said(fault)
    terminal.say(words)
    if fault.stored:
        terminal.wait(lambda: fault.reply in below(terminal, words), f"the reply of {fault.name}")
        terminal.prompt()
        return
    if broke_off(fault):
        terminal.wait(lambda: "[interrupted]" in below(terminal, words), f"the part that came of {fault.name}")
        terminal.prompt()
        shown = " ".join(below(terminal, words).split())
        assert fault.shown.strip() in shown
        assert re.search(pattern(fault.key), shown), (fault.name, shown)
        return
    terminal.wait(lambda: terminal.line().rstrip() == f"> {words}" and terminal.text().count(words) > 1,
                  f"the words of {fault.name} at the prompt again")  # fmt: skip
    above = terminal.text().rpartition(f"> {words}")[0].rpartition(f"> {words}")[2]
    assert re.search(pattern(fault.key), " ".join(above.split())), (fault.name, above)
    if fault.shown and not fault.shown.startswith("["):
        assert fault.shown.strip() in above
    terminal.send("\x15")
    terminal.prompt()


def test_ctrl_c_ends_a_countdown_and_the_words_come_back(tmp_path, server):
    with sitting(tmp_path, **connected(server.base)) as terminal:
        terminal.say(said(_BY_NAME["500"]))
        terminal.see("Trying again in")
        terminal.send("\x03")
        terminal.wait(lambda: terminal.line().rstrip() == f"> {said(_BY_NAME['500'])}", "the words again")
        assert asked(server, said(_BY_NAME["500"])) < 3
    assert stored(tmp_path) == []


# -- a prompt that is refused


def too_long_above(characters: int, form: str):
    """A server whose model takes prompts up to this length, and refuses longer ones in one of three forms."""
    refuse = _BY_NAME[f"context_{form}"].plays[0]

    def play(exchange: Exchange) -> None:
        length = sum(len(message["content"]) for message in exchange.json["messages"])
        (refuse if length > characters else say(f"I read {length} characters."))(exchange)

    return play


@pytest.mark.parametrize(
    "form", ["openai", *(pytest.param(form, marks=pytest.mark.torture) for form in ("llama_cpp", "vllm"))]
)
def test_a_context_that_is_too_long_is_shortened_and_never_stuck(tmp_path, form):
    with ScriptedServer() as small:
        small.script(*["Noted."] * 6, *[too_long_above(9_000, form)] * 100)
        lines = [f"Fact {number}: " + "long ago " * 250 for number in range(6)]
        first = run(tmp_path, "--batch", "-", given="\n".join(lines), **connected(small.base))
        assert first.code == 0, first.err
        second = run(tmp_path, "--here", "-p", "And now?", **connected(small.base))
        assert second.code == 0
        assert second.out.startswith("I read ")
        assert MESSAGES["turn.shortened"] in second.err
        sizes = [len(chat["messages"]) for chat in small.chats if chat["messages"][-1]["content"] == "And now?"]
        assert sizes == sorted(sizes, reverse=True)
        assert len(set(sizes)) == len(sizes) > 1
        third = run(tmp_path, "--here", "-p", "And then?", **connected(small.base))
        assert third.code == 0
        fourth = run(tmp_path, "--here", "-p", "Far too much. " * 1_000, **connected(small.base))
        assert fourth.code == 1
        assert re.search(pattern("model.context_too_long"), " ".join(fourth.err.split()))
        assert [one.user for one in stored(tmp_path)][-2:] == ["And now?", "And then?"]
        assert run(tmp_path, "--here", "-p", "Still there?", **connected(small.base)).code == 0


def test_recalled_memories_leave_a_prompt_that_is_too_long_first(tmp_path):
    with ScriptedServer() as small:
        small.script("Noted.")
        lines = "My cat Marzipan lives in Lund.\n/save\n"
        assert run(tmp_path, "--batch", "-", given=lines, **connected(small.base)).code == 0
        small.script(_BY_NAME["context_openai"].plays[0], "Lund.")
        ran = run(tmp_path, "--here", "-p", "Where does my cat Marzipan live?", **connected(small.base))
        assert (ran.code, ran.out) == (0, "Lund.\n")
        with_memory, without = small.chats[-2:]
        assert "Marzipan lives in Lund" in with_memory["messages"][1]["content"]
        assert without["messages"][1]["content"] == "Where does my cat Marzipan live?"


def test_a_passage_that_the_filter_refuses_does_not_block_the_session(tmp_path):
    def filtered(exchange: Exchange) -> None:
        spoken = json.dumps(exchange.json["messages"], ensure_ascii=False)
        refuse = status(400, "flagged by the safety system", error_code="content_filter")
        (refuse if "arsenic" in spoken else say("Gladly."))(exchange)

    with ScriptedServer() as strict:
        strict.script("A word.", *[filtered] * 100)
        home = connected(strict.base)
        assert run(tmp_path, "--here", "-p", "Tell me of arsenic", **home).code == 0
        after = run(tmp_path, "--here", "-p", "And of tea?", **home)
        assert (after.code, after.out) == (0, "Gladly.\n")
        assert MESSAGES["turn.shortened"] in after.err
        saved = run(tmp_path, "--batch", "-", given="/save\nHello again\n", **home)
        assert saved.code == 0, saved.err
        assert "filter refused 1 of the older exchanges" in after.err + saved.err
        assert saved.out == "Gladly.\n"
        assert "arsenic" in str(stored(tmp_path)), "what was said stays"


def test_a_reply_that_was_cut_is_kept_marked_and_can_be_continued(tmp_path, server):
    ran = run(tmp_path, "--here", "-p", said(_BY_NAME["length"]), **connected(server.base))
    assert (ran.code, ran.out) == (0, HELLO + "\n")
    assert MESSAGES["turn.length"] in ran.err
    assert run(tmp_path, "--here", "-p", "go on", **connected(server.base)).code == 0
    assert [one.finish for one in stored(tmp_path)] == ["length", "stop"]
    assert [message["content"] for message in server.chats[-1]["messages"][1:]] == [
        said(_BY_NAME["length"]), HELLO, "go on"]  # fmt: skip


def test_a_silently_cut_prompt_is_told_once(tmp_path):
    with ScriptedServer() as deaf:
        deaf.script(*[say("Hm.", prompt_tokens=300)] * 2)
        lines = "word " * 3_000 + "\n" + "word " * 3_000 + "\n"
        ran = run(tmp_path, "--batch", "-", given=lines, **connected(deaf.base))
        assert ran.code == 0
        assert ran.err.count("it cuts long prompts without saying so") == 1


def test_thinking_is_neither_stored_nor_printed(tmp_path, server):
    ran = run(tmp_path, "-p", said(_BY_NAME["reasoning_content"]), **connected(server.base))
    assert ran.out == HELLO + "\n"
    with sqlite3.connect(tmp_path / "data" / "memory.db") as database:
        dump = "\n".join(database.iterdump())
    assert "Let me think" not in dump


def test_a_fold_that_fails_keeps_the_rounds_and_says_so(tmp_path):
    with ScriptedServer() as tired:
        tired.script("One.", "Two.", *[status(400, "no")] * 3, *[stream(delta(content="x"), end="cut")] * 3)
        few = {"MAX_CONV_NUM": "1", "REFRESH_EVERY_CONV_NUM": "1"}
        ran = run(tmp_path, "--batch", "-", given="first\nsecond\n", **connected(tired.base, **few))
        assert ran.code == 0
        assert MESSAGES["compaction.failed"] in ran.err
        assert len(stored(tmp_path)) == 2


def test_a_hanging_server_is_asked_twice_and_no_more(tmp_path):
    with ScriptedServer() as silent:
        silent.script(*[hang] * 5)
        ran = run(tmp_path, "-p", "Hello?", **connected(silent.base, REQUEST_TIMEOUT="0.5"))
        assert ran.code == errors.Exit.TRY_LATER
        assert asked(silent, "Hello?") == 2
        assert len(lines_of(ran.err)) == 2


# -- embeddings that fail

_EMBEDDINGS = {
    "refused": status(500, "no"), "html": html(), "nan": vectors([[math.nan] * DIMENSION]), "cut": hang_up,
    "zeros": vectors([[0.0] * DIMENSION]), "count": vectors([]), "null": answer({"data": None}),
    "unauthorized": status(401),
}  # fmt: skip


@pytest.mark.parametrize(
    "fault",
    [name if name in ("refused", "nan") else pytest.param(name, marks=pytest.mark.torture) for name in _EMBEDDINGS],
)
def test_embeddings_that_fail_never_stop_the_chat_and_are_made_later(tmp_path, fault):
    with ScriptedServer() as server:
        settings = connected(server.base, EMBEDDING_MODEL="embedder")
        proper, server.embeds = server.embeds, _EMBEDDINGS[fault]
        lines = "My cat is called Marzipan.\nShe is eleven.\nShe sleeps.\n"
        ran = run(tmp_path, "--batch", "-", given=lines, **settings)
        assert ran.code == 0, ran.err
        assert len(stored(tmp_path)) == 3
        assert "Traceback" not in ran.err
        assert sum(line.startswith(_BESIDE) for line in ran.err.splitlines()) <= 2
        assert waiting(tmp_path) > 0
        server.embeds = proper
        terminal = next(opened := chatting(tmp_path, **settings))
        terminal.prompt()
        terminal.wait(lambda: waiting(tmp_path) == 0, "every vector made")
        terminal.close()
        next(opened, None)


def test_one_text_that_always_fails_is_set_aside_and_shown(tmp_path):
    def play(exchange: Exchange) -> None:
        bad = any("arsenic" in text for text in exchange.json["input"])
        (status(400, "flagged", error_code="content_filter") if bad else vectors())(exchange)

    with ScriptedServer() as server:
        server.embeds = play
        settings = connected(server.base, EMBEDDING_MODEL="embedder")
        given = "I grow beans.\n/save\nTell me of arsenic\n/save\nI grow peas.\n"
        assert run(tmp_path, "--batch", "-", given=given, **settings).code == 0
        terminal = next(opened := chatting(tmp_path, rows=60, columns=120, **settings))
        terminal.prompt()
        for _ in range(100):
            terminal.say("/status")
            terminal.prompt()
            if MESSAGES["status.set_aside_value"].split("}")[1].strip() in terminal.text():
                break
        else:
            raise AssertionError(terminal.text())
        terminal.close()
        next(opened, None)


def waiting(home: Path) -> int:
    """How many texts have no vector yet."""
    with contextlib.closing(sqlite3.connect(f"file:{home / 'data' / 'memory.db'}?mode=ro", uri=True)) as database:
        return int(database.execute("SELECT count(*) FROM pending").fetchone()[0])
