"""Keys at the prompt, in a real pseudo-terminal."""

from __future__ import annotations

import stat
import sys
import threading
from pathlib import Path

import pytest

from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import PATIENCE, ROOT, Terminal, environment
from tests.support.server import Exchange, ScriptedServer, delta


def said(server: ScriptedServer) -> list[str]:
    """What the person said, as the model was told."""
    return [request["messages"][-1]["content"].split("\n\n")[-1] for request in server.chats]


def test_the_cursor_stands_after_wide_characters(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.send("你好")
    terminal.wait(lambda: terminal.screen.cursor.x == 6, "the cursor in column 6")
    terminal.send("\x7f")
    terminal.wait(lambda: terminal.screen.cursor.x == 4, "the cursor in column 4 after erasing one character")
    terminal.send("a们")
    terminal.wait(lambda: terminal.line().startswith("> 你a") and terminal.screen.cursor.x == 7, "mixed widths")


def test_the_cursor_stands_right_after_wide_characters_wrapped(chat: Chat) -> None:
    terminal = chat(columns=20)
    terminal.prompt()
    terminal.send("你" * 12)
    terminal.wait(lambda: terminal.screen.cursor.x == 8, "three characters in the second row")


@pytest.mark.parametrize(
    "key", ["\n", "\x1b\r", "\x1b[13;2u", "\x1b[27;2;13~"], ids=["ctrl-j", "alt", "csi-u", "xterm"]
)
def test_a_new_line_key_makes_a_new_line_and_enter_sends(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], key: str
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send("first" + key + "second")
    terminal.send_after("second", "\r")
    terminal.see("You said:")
    assert said(server) == ["first\nsecond"]


def test_a_paste_of_several_lines_stays_whole_with_and_without_brackets(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send("\x1b[200~one\r\ntwo\nthree\x1b[201~")
    terminal.send_after("three", "\r")
    terminal.see("You said: one")
    terminal.prompt()
    terminal.send("four\rfive\rsix")
    terminal.send_after("six", "\r")
    terminal.see("You said: four")
    assert said(server) == ["one\ntwo\nthree", "four\nfive\nsix"]


def test_a_pasted_block_is_never_a_command(chat: Chat, server: ScriptedServer, connected: dict[str, str]) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send("\x1b[200~/reset\nis a command\x1b[201~")
    terminal.send_after("is a command", "\r")
    terminal.see("You said:")
    assert said(server) == ["/reset\nis a command"]


def test_what_looks_like_a_command_of_a_chinese_keyboard_is_one(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.say("、save")
    terminal.see("nothing to save")
    terminal.prompt()
    terminal.say("／ｓａｖｅ")
    terminal.see("nothing to save", times=2)


def test_an_unknown_command_is_not_sent_and_a_path_is(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("/sav")
    terminal.see("Did you mean /save?")
    terminal.prompt()
    terminal.say("/usr/bin")
    terminal.see("You said: /usr/bin")
    terminal.prompt()
    terminal.say("//help")
    terminal.see("You said: /help")
    assert said(server) == ["/usr/bin", "/help"]


def test_a_bare_exit_asks(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.say("exit")
    terminal.send_after("Leave?", "n\r")
    terminal.wait(lambda: terminal.line().startswith("> exit"), "the word at the prompt again")
    terminal.send("\x03")
    terminal.prompt()
    terminal.say("quit")
    terminal.see("Leave?", times=2)
    terminal.send("y\r")
    assert terminal.ended() == 0


def test_the_history_is_kept_across_runs_for_its_owner_only(chat: Chat, tmp_path: Path) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.say("remember this line")
    terminal.see("cannot really answer")
    terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    assert stat.S_IMODE((tmp_path / "data" / "history").stat().st_mode) == 0o600
    again = chat()
    again.prompt()
    again.send("\x1b[A")
    again.wait(lambda: "remember this line" in again.line(), "the line of the earlier run")
    again.send("\x03")
    again.prompt()
    again.send("\x12this")
    again.wait(lambda: "remember this line" in again.near_cursor(), "the line found by Ctrl-R")


def test_tab_completes_commands_and_arguments_and_shows_help(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.send("/per")
    terminal.see("Both personas")
    terminal.send("\t")
    terminal.wait(lambda: "/persona" in terminal.near_cursor(), "the completed command")
    terminal.send(" us")
    terminal.wait(lambda: "/persona us" in terminal.near_cursor(), "the beginning of the argument")
    terminal.send("\t")
    terminal.wait(lambda: "/persona user" in terminal.near_cursor(), "the completed argument")


def test_ctrl_l_clears_the_screen(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.send("text\x0c")
    terminal.wait(lambda: terminal.screen.cursor.y == 0 and terminal.line().startswith("> text"), "the prompt on top")


def test_escape_twice_brings_the_last_message_back(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.say("what was this")
    terminal.see("cannot really answer")
    terminal.prompt()
    terminal.send("\x1b\x1b")
    terminal.wait(lambda: terminal.line().startswith("> what was this"), "the last message")


def test_ctrl_x_ctrl_e_opens_the_editor(chat: Chat, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\necho edited >> "$1"\n')
    editor.chmod(0o755)
    terminal = chat(EDITOR=str(editor))
    terminal.prompt()
    terminal.send("draft")
    terminal.send_after("draft", "\x18\x05")
    terminal.wait(lambda: "edited" in terminal.near_cursor(), "what the editor added")


def test_ctrl_z_leaves_for_the_shell_and_fg_comes_back(
    tmp_path: Path, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = Terminal(["sh", "-i"], environment(tmp_path, PS1="shell: ", ENV="", **connected))
    try:
        terminal.see("shell:")
        program = f"{sys.executable} {ROOT / 'main.py'} --data-dir {tmp_path / 'data'}"
        terminal.send(f"LOG_DIR={tmp_path / 'logs'} {program} --env-file /dev/null\n")
        terminal.prompt()
        terminal.send("half a")
        terminal.send_after("half a", "\x1a")
        terminal.wait(lambda: terminal.line().startswith("shell:"), "the shell")
        terminal.send("fg\n")
        terminal.wait(lambda: terminal.line().startswith("> half a"), "the prompt as it was left")
        terminal.send(" thought")
        terminal.send_after("half a thought", "\r")
        terminal.see("You said: half a thought")
    finally:
        terminal.close()


def test_bytes_that_are_no_utf8_and_controls_do_no_harm(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send(b"caf\xe9 \xff\xfe ok\xed\xa0\x80")
    terminal.send_after("ok", "\r")
    terminal.see("You said:")
    terminal.prompt()
    assert "caf" in said(server)[0]
    assert "ok" in said(server)[0]
    terminal.send("\x1b[200~a\u202eb\x1b]0;owned\x07c\u200bd\x1b[201~")
    terminal.wait(lambda: "c" in terminal.line(), "the paste")
    terminal.send("\r")
    terminal.see("You said:", times=2)
    terminal.prompt()
    assert "\u202e".encode() not in terminal.raw
    assert b"\x1b]0;owned" not in terminal.raw


def test_what_is_typed_while_a_reply_streams_is_sent_when_it_ends(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    go = streaming(server, terminal)
    terminal.send("typed\x7fd ahead\r")
    go.set()
    terminal.see("You said: typed ahead")
    assert "typed" not in terminal.text().split("at last")[0]
    assert "> typed ahead" in terminal.text().split("at last")[1]
    assert said(server) == ["slow question", "typed ahead"]
    terminal.prompt()
    terminal.send("\x1b[A")
    terminal.wait(lambda: terminal.line().startswith("> typed ahead"), "the line in the history")


def streaming(server: ScriptedServer, terminal: Terminal) -> threading.Event:
    """Say something whose reply has begun, and goes on once the event is set."""
    go = threading.Event()

    def play(exchange: Exchange) -> None:
        exchange.begin()
        for at in range(3):
            exchange.event(delta(content=f"word{at} "))
        go.wait(PATIENCE)
        exchange.event(delta(content="at last"))
        exchange.event(delta("stop"))
        exchange.raw(b"data: [DONE]\n\n")
        exchange.end()

    server.script(play)
    terminal.prompt()
    terminal.say("slow question")
    terminal.see("word2")
    return go


def test_lines_typed_ahead_are_turns_and_commands_in_order_and_an_unfinished_one_waits(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    go = streaming(server, terminal)
    terminal.send("and then?\r/why\r/history\rlast")
    go.set()
    terminal.see("You said: and then?")
    terminal.wait(lambda: terminal.line().rstrip() == "> last", "the last line")
    shown = terminal.text()
    assert shown.index("> and then?") < shown.index("> /why") < shown.index("> /history")
    assert said(server) == ["slow question", "and then?"]


def test_a_command_typed_ahead_leaves_when_the_reply_has_ended(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    go = streaming(server, terminal)
    terminal.send("one more\r/exit\r")
    go.set()
    assert terminal.ended() == 0
    assert said(server) == ["slow question", "one more"]


def test_a_paste_and_a_block_typed_ahead_are_one_message_each(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    go = streaming(server, terminal)
    assert terminal.raw.rindex(b"\x1b[?2004h") > terminal.raw.rindex(b"\x1b[?2004l")
    terminal.send('\x1b[200~/reset\r\nis one\x1b[201~\r"""\r/reset\ris two\r"""\r')
    go.set()
    terminal.see("You said: /reset", times=2)
    terminal.prompt()
    assert said(server) == ["slow question", "/reset\nis one", "/reset\nis two"]


def test_what_was_typed_ahead_of_an_interruption_is_not_sent_but_offered(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    go = streaming(server, terminal)
    terminal.send("and then?\r/history\rla")
    terminal.send("\x03")
    terminal.see("[interrupted]")
    go.set()
    terminal.wait(lambda: terminal.line().rstrip() == "> and then?", "the first line, to be edited")
    assert len(server.chats) == 1
    terminal.send("/help why")
    terminal.wait(lambda: terminal.line().rstrip() == "> /help why", "a command in its place")
    terminal.send("\r")
    terminal.wait(lambda: terminal.line().rstrip() == "> /history", "the command, to be edited")
    terminal.send("\r")
    terminal.wait(lambda: terminal.line().rstrip() == "> la", "the line that Enter did not end")
    terminal.send("\x03")
    terminal.prompt()
    terminal.send("\x1b[A" * 5)
    terminal.wait(lambda: terminal.line().rstrip() == "> and then?", "the line that was replaced, in the history")
    assert said(server) == ["slow question"]


def test_what_was_typed_ahead_never_answers_a_question(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    go = streaming(server, terminal)
    terminal.send("/reset\ry\r")
    go.set()
    terminal.send_after("[y/N]", "n\r")
    terminal.see("Nothing was changed.")
    terminal.wait(lambda: terminal.line().rstrip() == "> y", "the line, to be edited")
    assert said(server) == ["slow question"]


def stopped(server: ScriptedServer, terminal: Terminal) -> None:
    """Stop a reply before anything was shown, so that what was said stands at the prompt again."""
    from tests.support.server import hang

    server.script(hang)
    terminal.prompt()
    terminal.say("slow question")
    terminal.wait(lambda: bool(server.chats), "the request")
    terminal.send("\x03")
    terminal.wait(lambda: terminal.line().startswith("> slow question"), "what was said, at the prompt again")


def test_text_put_back_is_selected_and_typing_replaces_it(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    stopped(server, terminal)
    terminal.send("/history")
    terminal.wait(lambda: terminal.line().rstrip() == "> /history", "the command in place of what stood there")
    terminal.send("\r")
    terminal.see("Nothing has been said")
    assert len(server.chats) == 1


def test_a_paste_replaces_what_was_put_back(chat: Chat, server: ScriptedServer, connected: dict[str, str]) -> None:
    terminal = chat(**connected)
    stopped(server, terminal)
    terminal.send("\x1b[200~another one\x1b[201~")
    terminal.wait(lambda: terminal.line().rstrip() == "> another one", "the paste in place of what stood there")


def test_enter_sends_what_was_put_back(chat: Chat, server: ScriptedServer, connected: dict[str, str]) -> None:
    terminal = chat(**connected)
    stopped(server, terminal)
    terminal.send("\r")
    terminal.see("You said: slow question")
    assert said(server) == ["slow question"] * 2


@pytest.mark.parametrize(
    ("key", "edited"),
    [
        ("\x1b[D", "slow questioXn"),
        ("\x1b[C", "slow questionX"),
        ("\x1b[H", "Xslow question"),
        ("\x1b[F", "slow questionX"),
        ("\x01", "Xslow question"),
        ("\x05", "slow questionX"),
        ("\x02", "slow questioXn"),
        ("\x1bb", "slow Xquestion"),
    ],
    ids=["left", "right", "home", "end", "ctrl-a", "ctrl-e", "ctrl-b", "alt-b"],
)
def test_a_key_that_moves_lets_what_was_put_back_be_edited(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], key: str, edited: str
) -> None:
    terminal = chat(**connected)
    stopped(server, terminal)
    terminal.send(key + "X")
    terminal.wait(lambda: terminal.line().rstrip() == f"> {edited}", "the edited line")


def test_a_command_typed_ahead_of_what_is_put_back_comes_first_and_nothing_is_lost(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    from tests.support.server import hang

    server.script(hang)
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("slow question")
    terminal.wait(lambda: bool(server.chats), "the request")
    terminal.send("/history\r")
    terminal.send("\x03")
    terminal.wait(lambda: terminal.line().rstrip() == "> /history", "the command alone")
    terminal.send("\r")
    terminal.see("Nothing has been said")
    terminal.wait(lambda: terminal.line().rstrip() == "> slow question", "what was put back")
    terminal.send("\r")
    terminal.see("You said: slow question")


def test_a_message_that_is_edited_is_not_selected(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("good morning")
    terminal.see("You said:")
    terminal.prompt()
    terminal.say("/edit")
    terminal.wait(lambda: terminal.line().rstrip() == "> good morning", "the message")
    terminal.send("s")
    terminal.wait(lambda: terminal.line().rstrip() == "> good mornings", "the longer message")


def test_three_quotation_marks_open_and_end_a_block(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    for line in ('"""', "/reset", "is a command", '"""'):
        terminal.say(line)
    terminal.see("You said:")
    assert said(server) == ["/reset\nis a command"]


def test_a_block_whose_lines_come_before_they_can_be_drawn_is_one_message(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send('"""\r/reset\ris a command\r')
    terminal.wait(lambda: "command" in terminal.near_cursor() and not terminal.line().strip(), "the next line")
    terminal.say('"""')
    terminal.see("You said:")
    assert said(server) == ["/reset\nis a command"]


def test_a_block_is_one_message_in_plain_reading_too(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat("--plain", **connected)
    terminal.prompt()
    for line in ('"""', "/reset", "is a command", '"""'):
        terminal.send(f"{line}\r")
    terminal.see("You said:")
    assert said(server) == ["/reset\nis a command"]


def test_help_by_a_question_mark_and_other_names_of_commands(chat: Chat) -> None:
    terminal = chat(rows=60)
    terminal.prompt()
    terminal.say("?")
    terminal.see("/save")
    terminal.prompt()
    terminal.say("/clear")
    terminal.see("This session is empty already.")
    terminal.prompt()
    terminal.say("/rese")
    terminal.see("There is no command /rese.")
    terminal.prompt()
    terminal.say("/bye")
    assert terminal.ended() == 0
