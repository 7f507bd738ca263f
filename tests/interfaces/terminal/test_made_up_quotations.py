"""A companion that quotes what nobody said: marked in every reply, and never borne out by itself."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.house import friend, marked
from tests.support.program import connected, run, stored
from tests.support.server import ScriptedServer

TALK = {
    "en": [f"I planted {what} in the garden. Do you know that old memory of mine?" for what in (
        "beans", "leeks", "plums", "roses", "kale", "peas", "onions", "sage", "mint", "dill")],
    "zh": [f"我在花园里种了{what}，你还记得我旧的那段回忆吗？" for what in (
        "豆角", "韭菜", "李子", "玫瑰", "白菜", "豌豆", "洋葱", "鼠尾草", "薄荷", "莳萝")],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path) -> None:
    (tmp_path / "env").touch(0o600)


@pytest.mark.parametrize("closing_tag", ["</blockquote>", ""], ids=["closed", "never closed"])
@pytest.mark.parametrize(
    ("language", "made_up", "mark"),
    [("en", "an old memory", "(not in memory)"), ("zh", "一段旧的回忆", "（记忆中没有）")],
)
def test_a_quotation_that_was_made_up_is_marked_in_every_reply_also_after_it_was_saved(
    tmp_path: Path, server: ScriptedServer, language: str, made_up: str, mark: str, closing_tag: str
) -> None:
    reply = f"<blockquote>{made_up}{closing_tag}"

    def always(request: Any) -> str:
        if marked(request, "talk"):
            return reply
        # What a model makes of the talk repeats the invention, and must not bear it out either.
        return made_up if marked(request, "fold") or marked(request, "chapter") else friend(request)

    server.answer = always
    few = {"LANGUAGE": language, "MAX_CONV_NUM": "3", "REFRESH_EVERY_CONV_NUM": "2"}
    lines = TALK[language]
    given = "\n".join([*lines, "/save", *lines[:3], "/save", *lines[3:5], "/why"]) + "\n"
    ran = run(tmp_path, "--env-file", str(tmp_path / "env"), "--batch", "-", given=given,
              **connected(server.base), **few)  # fmt: skip
    assert ran.code == 0, ran.err
    replies = len(lines) + 5
    rows = [row.strip() for row in ran.out.splitlines()]
    quoted = [at for at, row in enumerate(rows) if row == f"> {made_up}"]
    assert len(quoted) == replies
    assert [rows[at + 1] for at in quoted] == [f"> {mark}"] * replies
    assert made_up in ran.err, "/why calls it out"
    assert {spoken.assistant for spoken in stored(tmp_path)} == {reply}, "no reference takes its place"
    with closing(sqlite3.connect(tmp_path / "data" / "memory.db")) as database:
        assert not [row for row in database.execute("SELECT quoted FROM conversation") if row[0]]
        found = database.execute(
            "SELECT count(*) FROM message_length JOIN conversation USING (seq) WHERE role = 'assistant' AND length > 0"
        )
        assert found.fetchone() == (0,), "its words are not indexed"
    recalled = [line for chat in server.chats if marked(chat, "talk") for line in _recalled(chat)]
    assert recalled, "something was recalled at all"
    assert not [line for line in recalled if re.search(made_up + "[^.]{0,20}blockquote", line)]


def _recalled(request: Any) -> list[str]:
    """The records of what was recalled, as the prompt holds them."""
    text = "\n".join(one["content"] for one in request["messages"])
    return [line for line in text.splitlines() if line.startswith('{"') and '"said"' in line]
