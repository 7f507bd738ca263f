"""``main.py --mcp`` as hosts start it: what stands on its streams, how it ends, and the official client over stdio."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.interfaces.terminal.pseudo import ROOT, environment
from tests.support.mcp import REVISION, host
from tests.support.program import run, stored


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_official_client_talks_to_the_program_in_both_eras(tmp_path: Path, mode: str) -> None:
    (tmp_path / "env").touch(0o600)
    settings = environment(tmp_path, LOG_DIR=str(tmp_path / "logs"), EMBEDDING_MODEL="built-in")
    where = ["--data-dir", str(tmp_path / "data"), "--env-file", str(tmp_path / "env")]
    command = StdioServerParameters(
        command=sys.executable, args=[str(ROOT / "main.py"), "--mcp", *where], env=settings, cwd=tmp_path
    )

    async def talk() -> list[Any]:
        async with Client(stdio_client(command), mode=mode) as client:
            names = [one.name for one in (await client.list_tools()).tools]
            answered = await client.call_tool("process_memory", {"input": "I like jazz.", "user_id": "me"})
            status = await client.call_tool("get_session_status", {"user_id": "me"})
            return [names, answered, status]

    names, answered, status = asyncio.run(talk())
    assert len(names) == 5
    assert answered.structured_content["status"] == "success"
    assert status.structured_content["session_info"]["event_count"] == 1


def test_it_ends_with_its_input_and_writes_nothing_but_messages(tmp_path: Path) -> None:
    with host(tmp_path, "--debug") as spoken:
        assert spoken.greeting["protocolVersion"] == REVISION
        assert spoken.greeting["serverInfo"]["name"] == "old-friend"
        spoken.process_memory("I like jazz.")
        assert spoken.ended() == 0
        assert spoken.process.stdout
        assert spoken.process.stdout.read() == b""
        assert spoken.process.stderr
        assert b"jazz" not in spoken.process.stderr.read()


def test_sigterm_ends_it_and_what_was_answered_is_stored(tmp_path: Path) -> None:
    with host(tmp_path) as spoken:
        spoken.process_memory("I like jazz.")
        spoken.process.send_signal(signal.SIGTERM)
        assert spoken.process.wait(60) == 0
    with host(tmp_path) as again:
        info = again.call("get_session_status")["structuredContent"]["session_info"]
        assert info["event_count"] == 1


@pytest.mark.parametrize(("bound", "person"), [((), "me"), (("--person", "张三"), "张三")], ids=["me", "bound"])
def test_a_host_is_bound_to_one_person_whatever_a_model_fills_in(
    tmp_path: Path, bound: tuple[str, ...], person: str
) -> None:
    with host(tmp_path, "--tools", "full", *bound) as spoken:
        kept = spoken.call("remember", text="I like jazz.")
        assert not kept.get("isError")
        assert not spoken.call("remember", text="I like tea.", user_id=person).get("isError")
        for other in ("ann", "me" if bound else "张三"):
            for tool, arguments in (("remember", {"text": "I like rum."}), ("profile", {}), ("end_session", {})):
                refused = spoken.call(tool, **arguments, user_id=other)
                assert refused["isError"]
                assert "Leave user_id out" in refused["content"][0]["text"]
        assert spoken.call("get_session_status")["structuredContent"]["session_info"]["event_count"] == 2
        assert spoken.ended() == 0
    with host(tmp_path, "--person", "ann") as hers:
        assert hers.call("get_session_status")["structuredContent"]["has_active_session"] is False


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    with host(tmp_path) as spoken:
        spoken.send("tools/list")
        assert len(spoken.answer()["tools"]) == 5
        assert spoken.ended() == 0
    assert not (tmp_path / "data" / "memory.db").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ("--tools", "full"),
        ("--mcp", "-p", "x"),
        ("--mcp", "--tools", "six"),
        ("--mcp", "--person", "*"),
        ("--mcp", "--person", ""),
    ],
)
def test_a_wrong_command_line_is_one_line_and_code_2(tmp_path: Path, wrong: tuple[str, ...]) -> None:
    ran = run(tmp_path, "--env-file", str(tmp_path / "env"), *wrong)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert stored(tmp_path) == []
