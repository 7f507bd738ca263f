"""How replies look, in a real pseudo-terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import ROOT, environment
from tests.support.server import ScriptedServer, delta, say, stream

LONG = "\n\n".join(
    f"## Heading {at}\n\nA paragraph number {at} with **bold** words and enough text to be wrapped once or twice, "
    f"and a list:\n\n- first {at}\n- second {at}"
    for at in range(12)
)
#: What may reach a terminal: text, line ends, and the sequences that prompt_toolkit, rich and the status line use.
ALLOWED = re.compile(
    rb"(?:[^\x00-\x1f\x7f]|[\r\n\t\x08]|\x1b\[[0-9;]*[ABCDGHJKm]|\x1b\[\?(?:7|12|25|1|2004)[hl]|\x1b\[\?1l|\x1b[78=>])*"
)


def test_a_long_reply_stands_once_in_the_scrollback_of_a_small_window(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.script(say(LONG, pause=0.001))
    terminal = chat(rows=16, **connected)
    terminal.prompt()
    terminal.say("go")
    terminal.see("second 11")
    terminal.prompt()
    for at in range(12):
        assert terminal.text().split("\n").count(f"Heading {at}") == 1
        assert terminal.text().split("\n").count(f"• second {at}") == 1


def test_a_resized_window_leaves_the_scrollback_clean(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.script(say(LONG, pause=0.005))
    terminal = chat(rows=20, columns=100, **connected)
    terminal.prompt()
    terminal.say("go")
    for columns, at in ((60, 2), (110, 5), (70, 8)):
        terminal.see(f"Heading {at}")
        terminal.resize(20, columns)
    terminal.see("second 11")
    terminal.prompt()
    words = " ".join(terminal.text().split())
    for at in range(12):
        assert len(re.findall(rf"Heading {at}\b", words)) == 1
        assert len(re.findall(rf"paragraph number {at}\b", words)) == 1


def test_a_quotation_is_quiet_and_its_tags_never_show_even_split(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    pieces = ["I recall:\n<bl", "ock", "quote", ">tea with", " milk</blo", "ckquote> That ", "was it."]
    server.script(say("", pieces=pieces, pause=0.03))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("go")
    terminal.see("That was it.")
    terminal.prompt()
    assert "│ tea with milk" in terminal.text()
    assert "blockquote" not in terminal.text()
    assert b"blockquote" not in terminal.raw


def test_reasoning_is_one_dim_line_and_a_sign_shows_while_nothing_comes(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.script(
        stream(0.9, delta(reasoning_content="Let me think. " * 40), 0.3, delta(content="Done."), delta("stop"))
    )
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("go")
    terminal.see(" s · Ctrl-C stops")
    terminal.see("Done.")
    terminal.prompt()
    lines = [line for line in terminal.text().split("\n") if "Let me think" in line]
    assert len(lines) == 1
    assert "Ctrl-C stops" not in terminal.text()


def test_only_allowed_bytes_reach_the_terminal(chat: Chat, server: ScriptedServer, connected: dict[str, str]) -> None:
    nasty = "a\x1b[2Jb\x07c\x1b]52;c;aGk=\x07d\u202ee\x9b31mf\x00g\u200bh [x](http://y\x1b[1m) `\x1b[5m`"
    nasty += "\n\n```\x1b\n\x1b[3J\n```"
    server.script(say(nasty))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("go")
    terminal.see("[3J")
    terminal.prompt()
    match = ALLOWED.match(terminal.raw)
    assert match
    assert terminal.raw[match.end() : match.end() + 40] == b""
    assert "\u202e".encode() not in terminal.raw


def test_no_color_sends_no_attribute_and_redraws_nothing(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.script(say("Some **bold** text\n\n- item", reasoning="hm " * 20))
    terminal = chat(NO_COLOR="1", **connected)
    terminal.prompt()
    terminal.say("go")
    terminal.see("- item")
    terminal.prompt()
    assert "Some **bold** text" in terminal.text()
    assert not re.search(rb"\x1b\[[0-9;]*m", terminal.raw)


@pytest.mark.parametrize("settings", [{"TERM": "dumb"}, {"ACCESSIBLE": "1"}, {}], ids=["dumb", "accessible", "plain"])
def test_a_plain_terminal_gets_no_escape_at_all(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], settings: dict[str, str]
) -> None:
    server.script(say("Some **bold** text."))
    terminal = chat(*([] if settings else ["--plain"]), **connected, **settings)
    terminal.prompt()
    terminal.send("go\n")
    terminal.see("Some **bold** text.")
    terminal.prompt()
    assert b"\x1b" not in terminal.raw
    terminal.send("\x03")
    terminal.see("Ctrl-C again")
    terminal.send("\x03")
    assert terminal.ended() == 0


def test_output_to_a_file_holds_the_replies_alone(
    tmp_path: Path, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.script(say("First **reply**."), say("Second."))
    target = tmp_path / "out.txt"
    with target.open("wb") as file:
        done = subprocess.run(
            [sys.executable, str(ROOT / "main.py"), "--data-dir", str(tmp_path / "data"), "--env-file", os.devnull],
            input=b"one\ntwo\n", stdout=file, stderr=subprocess.PIPE, check=False, timeout=60,
            env=environment(tmp_path, LOG_DIR=str(tmp_path / "logs"), **connected),
        )  # fmt: skip
    assert done.returncode == 0
    assert target.read_text() == "First **reply**.\nSecond.\n"


def test_an_unbroken_megabyte_and_thousands_of_open_tags_are_shown(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.script(say("", pieces=["<blockquote>" * 200] * 20 + ["x" * 5000] * 40 + [" the end"]))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("go")
    terminal.see("the end")
    terminal.prompt()


def test_no_stream_shows_the_reply_when_it_is_whole(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat("--no-stream", **connected)
    terminal.prompt()
    terminal.say("go")
    terminal.see("You said: go")
    assert not server.chats[0].get("stream")
