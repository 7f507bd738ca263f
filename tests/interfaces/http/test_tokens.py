"""``--token``: which programs are let in, from the command line."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.support.program import run
from tests.support.served import program


def secret_of(out: str) -> str:
    """The secret, alone on the line after the first."""
    told, secret = out.splitlines()
    assert secret not in told
    return secret


def test_a_token_is_shown_once_and_lies_nowhere(tmp_path: Path) -> None:
    added = run(tmp_path, "--token", "add", "phone")
    assert (added.code, added.err) == (0, "")
    secret = secret_of(added.out)
    assert len(secret) >= 32
    listed = run(tmp_path, "--token", "list")
    assert "phone · for me · since " in listed.out
    assert secret not in listed.out
    held = [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert held == []


def test_the_file_of_tokens_is_for_its_owner_only(tmp_path: Path) -> None:
    run(tmp_path, "--token", "add", "phone")
    assert stat.S_IMODE((tmp_path / "data" / "registry.db").stat().st_mode) == 0o600


def test_a_token_is_for_whom_it_was_made(tmp_path: Path) -> None:
    run(tmp_path, "--token", "add", "ann.1", "--person", "ann")
    run(tmp_path, "--token", "add", "backend", "--person", "*")
    rows = run(tmp_path, "--token", "list").out.splitlines()
    assert [row.split(" · ")[:2] for row in rows] == [["ann.1", "for ann"], ["backend", "for everyone"]]


def test_a_token_that_was_revoked_is_listed_as_such(tmp_path: Path) -> None:
    run(tmp_path, "--token", "add", "phone")
    assert run(tmp_path, "--token", "revoke", "phone").code == 0
    assert "revoked" in run(tmp_path, "--token", "list").out
    again = run(tmp_path, "--token", "revoke", "phone")
    assert (again.code, again.out) == (2, "")
    assert "--token list" in again.err


def test_a_running_server_hears_of_tokens_at_once(tmp_path: Path) -> None:
    with program(tmp_path) as server:
        assert server.ask("GET", "/nothing").status == 404
        secret = secret_of(run(tmp_path, "--token", "add", "phone").out)
        assert server.ask("GET", "/nothing").status == 401
        assert server.ask("GET", "/nothing", token=secret).status == 404
        run(tmp_path, "--token", "revoke", "phone")
        assert server.ask("GET", "/nothing", token=secret).status == 401


def test_no_token_yet_is_said_in_words(tmp_path: Path) -> None:
    assert run(tmp_path, "--token", "list").out == (
        "There are no tokens. Without one, programs of your account on this machine"
        " may use the memory of the person me.\n"
    )
    assert "还没有令牌" in run(tmp_path, "--token", "list", LANGUAGE="zh").out


@pytest.mark.parametrize(
    "given",
    [
        ("--token",), ("--token", "add"), ("--token", "add", "a", "b"), ("--token", "list", "a"),
        ("--token", "drop", "a"), ("--token", "add", "a b"), ("--token", "add", "x" * 65), ("--person", "ann"),
        ("--token", "list", "--person", "a"),
        ("--token", "add", "a", "--person", ""), ("--token", "add", "a", "--person", "a\nb"),
        ("--token", "list", "--serve"), ("--token", "list", "-p", "hello"), ("--serve", "-p", "hello"),
        ("--port", "1"), ("--host", "localhost"), ("--serve", "--port", "70000"), ("--serve", "--port", "x"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_command_line_that_makes_no_sense_is_told_in_one_line(tmp_path: Path, given: tuple[str, ...]) -> None:
    ended = run(tmp_path, *given)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "argument" not in ended.err
    assert not (tmp_path / "data" / "registry.db").exists()
