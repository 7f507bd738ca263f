"""What a person asked to have forgotten, where their own sessions are listed and written to a file (P22)."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.house import friend
from tests.support.program import Ran, connected, run
from tests.support.server import ScriptedServer

SECRET, SECRET_HAN = "Josef has gambling debts.", "约瑟夫欠了赌债。"
FORGET_REQUEST, FORGET_REQUEST_HAN = "Please forget that, I mean it.", "请把这件事忘掉、别再提"
NOTHING, NOTHING_HAN = "(hidden)", "（已隐藏）"
MARK, MARK_HAN = "*You asked me to forget this", "*你让我忘掉的话"


@pytest.fixture(autouse=True)
def _answering(server: ScriptedServer, tmp_path: Path) -> None:
    server.answer = friend
    (tmp_path / "env").touch(0o600)


def typed(home: Path, server: ScriptedServer, language: str, *lines: str) -> Ran:
    """Piped lines; what a terminal would ask is not asked."""
    settings = {**connected(server.base), "LANGUAGE": language}
    return run(home, "--env-file", str(home / "env"), "--batch", "-", given="\n".join(lines) + "\n", **settings)


@pytest.mark.parametrize(
    ("language", "secret", "forget_request", "nothing"),
    [("en", SECRET, FORGET_REQUEST, NOTHING), ("zh", SECRET_HAN, FORGET_REQUEST_HAN, NOTHING_HAN)],
)
def test_a_title_never_shows_what_is_hidden(
    tmp_path: Path, server: ScriptedServer, language: str, secret: str, forget_request: str, nothing: str
) -> None:
    present = typed(tmp_path, server, language, secret, forget_request, "/sessions")
    earlier = typed(tmp_path, server, language, "/save", "/sessions")
    for shown in (present, earlier):
        assert nothing in shown.err
        assert secret[:8] not in shown.err
    mixed = typed(tmp_path, server, language, secret, forget_request, "It rains.", "/sessions")
    assert "It rains." in mixed.err
    assert secret[:8] not in mixed.err


@pytest.mark.parametrize(
    ("language", "secret", "forget_request", "mark"),
    [("en", SECRET, FORGET_REQUEST, MARK), ("zh", SECRET_HAN, FORGET_REQUEST_HAN, MARK_HAN)],
)
def test_an_export_marks_what_is_hidden_and_has_its_words_only_where_they_are_named(
    tmp_path: Path, server: ScriptedServer, language: str, secret: str, forget_request: str, mark: str
) -> None:
    paths = tmp_path / "named.json", tmp_path / "named.md"
    plain = tmp_path / "all.json", tmp_path / "all.md"
    exports = [f"/export hidden {path}" for path in paths] + [f"/export all {path}" for path in plain]
    typed(tmp_path, server, language, "It rains.", secret, forget_request, *exports)
    for path in plain:
        assert secret not in path.read_text(encoding="utf-8")
        assert "It rains." in path.read_text(encoding="utf-8")
    assert plain[1].read_text(encoding="utf-8").count(mark) == 4
    (session,) = json.loads(paths[0].read_text(encoding="utf-8"))["sessions"]
    marks = [(message["text"], message["hidden"]) for message in session["turns"] if message["role"] == "user"]
    assert marks == [("It rains.", False), (secret, True), (forget_request, True)]
    text = paths[1].read_text(encoding="utf-8")
    assert text.count(mark) == 4, "each message and each reply of the two rounds"
    before, _, behind = text.partition(secret)
    assert before.rstrip("\n").endswith("*"), "the mark stands right before the words"
    assert mark in before
    assert mark not in before.partition("It rains.")[0]
    assert forget_request in behind


@pytest.mark.parametrize(("language", "which"), [("en", "Type more of the id."), ("zh", "请多给几位")])
def test_a_message_is_forgotten_by_the_short_id_that_is_shown_of_it(
    tmp_path: Path, server: ScriptedServer, language: str, which: str
) -> None:
    typed(tmp_path, server, language, SECRET, "It rains.")
    with _database(tmp_path) as database:
        database.execute("UPDATE conversation SET text_id = 'abcdef' || seq || '-and-more'")
        database.commit()
    unclear = typed(tmp_path, server, language, "/forget turn abcdef")
    assert which in unclear.err
    assert "abcdef1-and-more" in unclear.err
    assert len(_said(tmp_path)) == 4
    typed(tmp_path, server, language, "/forget turn abcdef1")
    assert len(_said(tmp_path)) == 3
    assert f"User: {SECRET}" not in _said(tmp_path)


def _said(home: Path) -> list[str]:
    with _database(home) as database:
        return [row[0] for row in database.execute("SELECT text FROM conversation")]


def _database(home: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(next(home.rglob("memory.db"))))
