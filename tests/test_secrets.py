"""Secrets reach no file and no screen; what is private stays so, whatever the umask."""

from __future__ import annotations

import logging
import os
import stat
import threading
from base64 import b64encode
from pathlib import Path

import pytest

from domain.text import MASK, mask, mask_url
from interfaces.debug_log import DebugLog
from tests.interfaces.terminal.pseudo import chatting
from tests.support.growing import growth
from tests.support.program import connected, run
from tests.support.served import program
from tests.support.server import Exchange, closed_port, redirect, status

CANARY = "sk-canary-4f1c9a7e2b6d8035"
OTHER = "emb-canary-77aa01bc93de"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {CANARY}", f"bearer {OTHER}", f"GET /v1?key={OTHER}&x=1", f"?api_key={OTHER}",
        f"&access_token={OTHER}", f"api-key: {OTHER}", f"'api_key': '{OTHER}'", f'{{"api-key":"{OTHER}"}}',
        f"the key {CANARY} is wrong", "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789", "gsk_0123456789abcdefABCDEF",
        "AIzaSyA-0123456789abcdefghijklmnopqrstu", f"token {JWT} ends", f"say\n{PEM}\nso", "Basic dXNlcjpwYXNzd29yZA==",
        PEM.replace("RSA ", ""), PEM.replace("\n", "\\n"),
    ],
)  # fmt: skip
def test_whatever_looks_like_a_key_is_masked(text):
    shown = mask(text)
    assert MASK in shown
    for secret in (CANARY, OTHER, JWT, "MIIEpAIBAA", "abcdefghijklmnop", "0123456789abcdef", "dXNlcjpw"):
        assert secret not in shown


@pytest.mark.parametrize("text", ["I like sketches", "the bearer of news", "skating", "key=value", "a ? b", "eyJ", ""])
def test_ordinary_words_stay(text):
    assert mask(text) in (text, text.replace("of", MASK))


def test_a_known_key_of_any_shape_is_masked():
    assert mask("pass=hunter2hunter2!", ("hunter2hunter2!",)) == f"pass={MASK}"


def test_masking_takes_time_in_proportion_to_the_text():
    for piece in (
        "bearer ",
        "sk-" + "a" * 20 + " ",
        "eyJ" + "a" * 9 + ".",
        "-----BEGIN PRIVATE KEY-----",
        "api_key=",
        "a",
        "?key=",
        "-----BEGIN A ",
    ):
        assert growth(mask, piece) < 8, piece


def test_two_threads_may_log_errors(tmp_path):
    debug = DebugLog(tmp_path / "logs", (CANARY,))
    other = threading.Thread(target=lambda: debug.log.error("from a thread"), daemon=True)
    other.start()
    other.join(60)
    mine = threading.Thread(target=lambda: debug.log.error("from another"), daemon=True)
    mine.start()
    mine.join(60)
    assert not mine.is_alive(), "the first thread kept the lock"
    debug.close()
    assert "from another" in (tmp_path / "logs" / "errors.log").read_text()


def test_a_traceback_is_masked_too(tmp_path):
    debug = DebugLog(tmp_path / "logs", (OTHER,), on=True)
    try:
        raise ValueError(f"could not use {OTHER}, Bearer {CANARY}")
    except ValueError:
        debug.log.exception("failed with %s", OTHER)
    debug.log.debug("a lone half: \ud800")
    debug.close()
    for path in (tmp_path / "logs").iterdir():
        written = path.read_text()
        assert "Traceback" in written
        assert OTHER not in written
        assert CANARY not in written


# -- the program, with canaries for keys


def echo(exchange: Exchange) -> None:
    """A server that repeats every header it was sent, in its body and in its own headers."""
    sent = exchange.request.headers
    told = f"Bad header authorization: {sent.get('authorization')} in {sent}"
    status(400, told, X_Echo=sent.get("authorization", ""))(exchange)


def holds_canary(folder: Path) -> list[str]:
    """Every file under a folder that holds a key."""
    needles = (CANARY.encode(), OTHER.encode())
    return [
        str(path) for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".env" and any(needle in path.read_bytes() for needle in needles)
    ]  # fmt: skip


@pytest.mark.parametrize("place", ["environment", ".env"])
def test_a_key_is_in_no_file_and_on_no_screen(tmp_path, server, place):
    settings = {
        "OPENAI_API_KEY": CANARY, "OPENAI_API_BASE": server.base, "CHAT_MODEL": "m", "EMBEDDING_MODEL": "e",
        "EMBEDDING_API_KEY": OTHER,
    }  # fmt: skip
    written = tmp_path / ".env"
    written.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    written.chmod(0o600)
    flags = ["--env-file", str(written)] if place == ".env" else []
    given = settings if place == "environment" else {}
    server.script("Hello.", echo, status(401, f"Incorrect API key provided: {CANARY}"), status(500, CANARY),
                  f"Your key is {CANARY}, is it not?")  # fmt: skip
    server.script_embeddings(*[echo] * 4)
    lines = "one\ntwo\nthree\n/status\n/context\n/debug on\n/setup\n"
    ran = run(tmp_path, *flags, "--debug", "--batch", "-", given=lines, **given)
    told = ran.out + ran.err
    assert "Hello." in ran.out
    assert CANARY not in told
    assert OTHER not in told
    assert (tmp_path / "logs" / "debug.log").stat().st_size > 1_000
    assert holds_canary(tmp_path) == []
    chats = [request for request in server.requests if "chat" in request.path]
    assert chats[0].headers["authorization"] == f"Bearer {CANARY}"


def test_a_key_with_a_fault_in_it_is_refused_without_being_shown(tmp_path):
    ran = run(
        tmp_path, "-p", "Hello", OPENAI_API_KEY=CANARY + " x", OPENAI_API_BASE="http://127.0.0.1:9/v1", CHAT_MODEL="m"
    )
    assert ran.code == 2
    assert CANARY not in ran.out + ran.err
    assert holds_canary(tmp_path) == []


def test_a_key_that_a_traceback_may_hold_is_not_in_the_log_folder(tmp_path, server):
    server.script(*[echo] * 3)
    ran = run(tmp_path, "-p", "Hello", OPENAI_API_KEY=CANARY, OPENAI_API_BASE=server.base, CHAT_MODEL="m", DEBUG="1")
    assert ran.code == 1
    assert holds_canary(tmp_path) == []


# -- secrets in a URL

PASSWORD, FIELD = "hunter2-canary", "field-canary-09f1"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"http://ann:{PASSWORD}@host:8000/v1", "http://[secret]@host:8000/v1"),
        (f"https://{PASSWORD}@host/v1", "https://[secret]@host/v1"),
        (f"http://ann:{PASSWORD}/@x@host/v1", "http://[secret]@host/v1"),
        (f"ann:{PASSWORD}@host/v1", "[secret]@host/v1"),
        (f"https://host/v1?api_key={FIELD}&api-version=2024-06-01", "https://host/v1?api_key=[secret]&api-version=2024-06-01"),
        (f"https://host/v1?code={FIELD}", "https://host/v1?code=[secret]"),
        (f"https://host/v1?{FIELD}", "https://host/v1?[secret]"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_url_is_shown_without_its_secrets(url, shown):
    assert mask_url(url) == shown
    assert mask_url(shown) == shown


def test_a_url_inside_other_text_is_masked_too():
    assert mask(f"could not reach 'http://ann:{PASSWORD}@host/v1'") == f"could not reach 'http://{MASK}@host/v1'"
    assert mask("mail ann@host, see http://host/a") == "mail ann@host, see http://host/a"


def url_with_secrets(port: int) -> str:
    return f"http://ann:{PASSWORD}@127.0.0.1:{port}/v1?code={FIELD}"


def leaks(*told: str, folder: Path) -> list[str]:
    """Where a secret of a URL is, in any of its forms: what was shown, and every file."""
    forms = (PASSWORD, FIELD, b64encode(f"ann:{PASSWORD}".encode()).decode())
    return [text for text in told if any(form in text for form in forms)] + [
        str(path) for path in sorted(folder.rglob("*"))
        if path.is_file() and any(form.encode() in path.read_bytes() for form in forms)
    ]  # fmt: skip


def repeats(exchange: Exchange) -> None:
    """A server that repeats how it was asked."""
    asked = exchange.request
    status(400, f"bad request {asked.path} {asked.headers}")(exchange)


@pytest.mark.parametrize("flags", [["--debug", "--batch", "-"], ["--check"]])
def test_the_secrets_of_a_base_url_are_on_no_screen_and_in_no_file(tmp_path, server, flags):
    server.play = repeats
    lines = "one\n/status\n/status all\n/model\n/setup\n"
    settings = {"OPENAI_API_KEY": CANARY, "CHAT_MODEL": "m", "EMBEDDING_MODEL": "e"}
    for port in (server.port, closed_port()):
        base = url_with_secrets(port)
        home = tmp_path / str(port)
        home.mkdir()
        ran = run(home, *flags, given=lines, OPENAI_API_BASE=base, EMBEDDING_API_BASE=base, **settings)
        assert str(port) in ran.out + ran.err
        assert leaks(ran.out, ran.err, folder=home) == []
    assert server.requests


def test_the_secrets_of_a_wrong_base_url_are_not_repeated(tmp_path):
    for base in (f"ftp://ann:{PASSWORD}@host/v1?code={FIELD}", url_with_secrets(9)):
        ran = run(tmp_path, "-p", "Hello", OPENAI_API_BASE=base, EMBEDDING_API_BASE=base)
        assert ran.code == 2
        assert MASK in ran.err
        assert leaks(ran.out, ran.err, folder=tmp_path) == []


def test_the_secrets_of_a_base_url_are_in_no_served_answer(tmp_path, server):
    server.play = repeats
    told = {"messages": [{"role": "user", "content": "Hello"}]}
    settings = {"OPENAI_API_KEY": CANARY, "CHAT_MODEL": "m", "DEBUG": "1"}
    for base in (url_with_secrets(server.port), url_with_secrets(closed_port())):
        with program(tmp_path, OPENAI_API_BASE=base, **settings) as served:
            answers = [
                served.ask("POST", "/api/v1/chat", told, X_User_Id="ann"),
                served.ask("POST", "/v1/chat/completions", {"model": "m", **told}),
                served.ask("GET", "/v1/models"),
            ]
        assert [answer.status for answer in answers if answer.status < 400] == []
        assert leaks(*(answer.body.decode() for answer in answers), *served.lines, folder=tmp_path) == []


def test_where_a_redirect_leads_is_shown_without_secrets(tmp_path, server):
    server.play = redirect(f"http://ann:{PASSWORD}@127.0.0.1:9/v1?code={FIELD}&key={FIELD}")
    base = f"http://127.0.0.1:{server.port}/v1"
    ran = run(tmp_path, "-p", "Hello", "--debug", **connected(base))
    assert ran.code == 1
    assert leaks(ran.out, ran.err, folder=tmp_path) == []


# -- what is private


def loose(folder: Path) -> list[str]:
    """Everything under a folder that others than its owner may use."""
    return [
        f"{stat.filemode(path.stat().st_mode)} {path}" for path in [folder, *sorted(folder.rglob("*"))]
        if path.stat().st_mode & 0o077
    ]  # fmt: skip


@pytest.mark.parametrize("mask_of_files", [0o000, 0o022])
def test_everything_that_is_written_is_for_its_owner_only(tmp_path, mask_of_files):
    before = os.umask(mask_of_files)
    try:
        ran = run(
            tmp_path, "--debug", "--batch", "-", given="My cat is Mimi.\n/save\nHello\n/export all json out.json\n"
        )
        terminal = next(opened := chatting(tmp_path))
        terminal.prompt()
        terminal.say("typed by hand")
        terminal.see("demo model", times=2)
        terminal.prompt()
        terminal.send("\x04")
        assert terminal.ended() == 0
        next(opened, None)
    finally:
        os.umask(before)
    assert ran.code == 0, ran.err
    assert (tmp_path / "data" / "vectors").exists()
    assert (tmp_path / "data" / "history").exists()
    assert loose(tmp_path / "data") == []
    assert loose(tmp_path / "logs") == []
    assert loose(tmp_path / "out.json") == []


def test_a_world_readable_env_is_pointed_out(tmp_path, server):
    written = tmp_path / ".env"
    written.write_text(f"OPENAI_API_KEY={CANARY}\nOPENAI_API_BASE={server.base}\nCHAT_MODEL=m\n")
    written.chmod(0o644)
    server.script("Hello.", "Hello.")
    ran = run(tmp_path, "--env-file", str(written), "-p", "Hello")
    assert f"chmod 600 {written}" in ran.err
    written.chmod(0o600)
    assert "chmod" not in run(tmp_path, "--env-file", str(written), "-p", "Hello").err


def test_an_env_without_a_key_may_be_read_by_all(tmp_path):
    written = tmp_path / ".env"
    written.write_text("OPENAI_API_KEY=\nMAX_CONV_NUM=9\n")
    written.chmod(0o644)
    assert "chmod" not in run(tmp_path, "--env-file", str(written), "-p", "Hello").err


def test_a_quiet_logger_writes_nothing(tmp_path):
    debug = DebugLog(tmp_path / "logs")
    debug.log.debug("nothing")
    assert debug.log.level == logging.INFO
    debug.close()
    assert not (tmp_path / "logs").exists()
