"""Whatever is shown is inert: the bytes that reach a terminal hold only what the program itself has to
say to it.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.recollection import Recollection
from interfaces.terminal.markdown import stream_for
from interfaces.terminal.reply import QuotedStream
from interfaces.terminal.screen import Screen
from tests.interfaces.terminal.pseudo import Terminal, chatting
from tests.support.hostile import CANARY, HOSTILE, STEERING
from tests.support.program import connected, run
from tests.support.server import Play, ScriptedServer, answer, delta, encode, status, stream
from tests.support.talking import Answering

#: Styles in use: sixteen colours, bold, dim, italic, underline, reverse, and their ends. No blinking, nothing hidden.
_STYLES = {0, 1, 2, 3, 4, 7, 22, 23, 24, 27, *range(30, 38), 39, *range(40, 48), 49, *range(90, 98), *range(100, 108)}
#: What the line editor and the screen may send beside styles: moving within the lines at hand, erasing to the end of a
#: line or of the screen, hiding the cursor, bracketed paste, wrapping.
_MOVES = re.compile(r"\x1b\[(?:\d{0,3}[ABCDGJK]|\?(?:25|2004|7|12|1)[hl]|0 q)|\x1b=|\x1b>")
_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_ESCAPED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[^\[]|\Z)")
_HIDDEN = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C, 0xFEFF, 0x2028, 0x2029}


def foreign(raw: bytes) -> list[str]:
    """Everything in the bytes of a terminal that the program has no reason to send."""
    told = raw.decode("utf-8", "replace")
    found = []
    for sequence in _ESCAPED.findall(told):
        style = _STYLE.fullmatch(sequence)
        allowed = (
            all(int(code or 0) in _STYLES for code in style[1].split(";")) if style else _MOVES.fullmatch(sequence)
        )
        if not allowed:
            found.append(repr(sequence))
    rest = _ESCAPED.sub("", told)
    found += [repr(letter) for letter in rest if unicodedata.category(letter) == "Cc" and letter not in "\r\n\t\b"]
    return found + [hex(ord(letter)) for letter in rest if ord(letter) in _HIDDEN or 0xE0000 <= ord(letter) < 0xE0080]


@pytest.mark.parametrize(
    "raw",
    [b"\x1b[5m", b"\x1b[38;5;1m", b"\x1b]0;x\x07", b"\x1b[?1049h", b"\x1bc", "\x9b31m".encode(), b"\x07", b"\x1b[10;5H",
     "\u202e".encode(), b"\x1bP", b"\x1b[6n"],
)  # fmt: skip
def test_the_allow_list_refuses(raw: bytes) -> None:
    assert foreign(raw)


def test_the_allow_list_takes_what_is_ours() -> None:
    assert foreign(b"\x1b[2mquiet\x1b[0m\r\x1b[K\x1b[?25l\x1b[3A\x1b[?2004h\r\n") == []


def spelled(text: str, thought: str = "") -> Play:
    """A reply that comes letter by letter, after a thought."""
    thinking = [delta(reasoning_content=thought)] if thought else []
    return stream(*thinking, *[delta(content=letter) for letter in text], delta("stop"))


@pytest.fixture
def terminal(tmp_path: Path, server: ScriptedServer) -> Iterator[Terminal]:
    folder = tmp_path / "data" / "persona"
    folder.mkdir(parents=True, mode=0o700)
    for name in ("self_image", "user_image"):
        (folder / f"{name}.txt").write_text("\n".join(HOSTILE.values()), encoding="utf-8")
    odd = {"COMPANION_NAME": "Ann\x1b]0;owned\x07", "MAX_CONV_NUM": "1000"}
    yield from chatting(tmp_path, rows=40, columns=100, **connected(server.base, **odd))


def test_a_terminal_gets_nothing_but_the_programs_own_sequences(terminal: Terminal, server: ScriptedServer) -> None:
    terminal.prompt()
    for number, hostile in enumerate(STEERING.values()):
        server.script(spelled(f"{hostile}\n\nend of {number}.", hostile), status(400, hostile))
        terminal.say(f"say {number}")
        terminal.see(f"end of {number}.")
        terminal.prompt()
        terminal.say(f"fail {number}")
        terminal.wait(lambda said=f"> fail {number}": terminal.text().count(said) > 1, "the words again")
        terminal.send("\x15")
        terminal.prompt()
    for command in ("/history", "/memory", "/context", "/status", "/persona user show", "/memory search " + CANARY):
        terminal.say(command)
        terminal.prompt()
    server.models = list(HOSTILE.values())
    server.script(status(404, "no such model", error_code="model_not_found"))
    terminal.say("which model")
    terminal.see("Check CHAT_MODEL")
    terminal.wait(lambda: terminal.line().startswith("> which model"), "the words at the prompt again")
    terminal.send("\x15")
    terminal.prompt()
    pasted = "".join(STEERING.values()).replace("\x1b[201~", "")
    terminal.send("\x1b[200~" + pasted + "\x1b[201~")
    terminal.see("overwritten")
    terminal.send("\x03")
    terminal.prompt()
    terminal.send("\x04")
    terminal.ended()
    assert foreign(terminal.raw) == []
    assert terminal.screen.title == ""
    assert terminal.text().count(CANARY) > len(STEERING)
    assert "owned" in terminal.text(), "shown as the letters that it is made of"


def test_a_restart_shows_old_rounds_inert(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(*[spelled(hostile) for hostile in HOSTILE.values()])
    lines = "".join(f"line {number}\n" for number in range(len(HOSTILE)))
    few = {"MAX_CONV_NUM": "100", "REFRESH_EVERY_CONV_NUM": "1"}
    ran = run(tmp_path, "--batch", "-", given=lines, **connected(server.base, **few))
    assert ran.code == 0, ran.err
    opened = chatting(tmp_path, rows=60, columns=100, **connected(server.base, **few))
    terminal = next(opened)
    terminal.prompt()
    terminal.say("/history 100")
    terminal.prompt()
    assert foreign(terminal.raw) == []
    terminal.close()
    next(opened, None)


def test_a_pipe_gets_text_and_nothing_else(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(*[spelled(hostile) for hostile in HOSTILE.values()], *[status(400, one) for one in HOSTILE.values()])
    lines = [hostile.replace("\n", " ").replace("/", "") for hostile in HOSTILE.values()] * 2
    commands = [
        "/history", "/memory", "/context", "/show nobody\x1b[31m", "/nothing\x1b[31m", "/persona user show",
        "/export all json no\x1b]0;x\x07/where\u202e.json",
    ]  # fmt: skip
    ran = run(tmp_path, "--batch", "-", given="\n".join([*lines, *commands]), **connected(server.base))
    for told in (ran.out, ran.err):
        assert "\x1b" not in told
        assert foreign(told.encode()) == []
        assert "Traceback" not in told
    assert ran.out.count(CANARY) >= len(HOSTILE)
    assert not [path for path in tmp_path.rglob("*") if "\x1b" in path.name]


def test_a_hostile_folder_and_flag_are_named_inert(tmp_path: Path) -> None:
    odd = tmp_path / "da\x1b]0;owned\x07ta\u202e"
    odd.mkdir()
    (odd / "memory.db").write_bytes(b"not a database " * 100)
    for arguments in (
        ("--data-dir", str(odd), "-p", "x"),
        ("--env-file", str(odd / "no\x1b[31m"), "-p", "x"),
        ("--fl\x1b[31m",),
    ):
        ran = run(tmp_path, *arguments)
        assert ran.code in (2, 4), ran
        assert foreign((ran.out + ran.err).encode()) == []


def test_a_hostile_setting_is_named_inert(tmp_path: Path) -> None:
    written = tmp_path / ".env"
    written.write_text('OPENAI_API_BASE="http://x\x1b]0;owned\x07"\nMAX_CONV_NUM="\x1b[2J"\nOPEN_API_KEY\x1b[31m=1\n')
    written.chmod(0o600)
    ran = run(tmp_path, "--env-file", str(written), "-p", "x")
    assert ran.code == 2
    assert foreign((ran.out + ran.err).encode()) == []


# -- cut anywhere


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.torture)])
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_reply_cut_at_any_byte_is_the_same_reply(hostile: str, step: int) -> None:
    sent = b"data: " + encode({"choices": [{"delta": {"content": hostile}}]}).replace(b"\\u0301", "\u0301".encode())
    sent += b"\r\n\r\ndata: " + encode(delta("stop")) + b"\r\n\r\n"
    model = Answering()
    whole = model.says([sent]).text
    assert model.says([sent[at : at + 1] for at in range(len(sent))]).text == whole
    inside = [at for at in range(len(sent)) if sent[at] & 0xC0 == 0x80]
    for at in sorted({*range(0, len(sent), step), *inside}):
        assert model.says([sent[:at], sent[at:]]).text == whole
    model.close()
    assert foreign(whole.encode()) == foreign(hostile_words(hostile).encode())


def hostile_words(hostile: str) -> str:
    from domain.text import clean_text

    return clean_text(hostile)


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "styled"])
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_reply_cut_at_any_letter_steers_nothing(hostile: str, plain: bool) -> None:
    text = f"a {hostile[:260]} z"
    for at in [*range(0, len(text), 1 if plain else 7), None]:
        pieces = [text[:at], text[at:]] if at is not None else list(text)
        screen = Screen(io.StringIO(), plain=plain)
        quoted = QuotedStream(stream_for(screen), Recollection())
        for piece in pieces:
            quoted.feed(piece)
        quoted.finish()
        assert foreign(screen.file.getvalue().encode()) == []


def test_a_web_page_and_json_in_an_error_are_one_inert_line(tmp_path: Path, server: ScriptedServer) -> None:
    page = "<html><title>\x1b[2J\u202eowned</title></html>"
    server.script(answer(page, 400, "text/html"), answer({"error": {"message": {"x": "\x1b[2J" * 5_000}}}, 400))
    ran = run(tmp_path, "--batch", "-", given="one\ntwo\n", **connected(server.base))
    assert foreign(ran.err.encode()) == []
    assert max(map(len, ran.err.splitlines())) < 600
