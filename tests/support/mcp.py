"""The program with ``--mcp``, spoken to as a host does it: a message a line and nothing but messages."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.program import started

#: The revision that most hosts speak today.
REVISION = "2025-11-25"


class Host:
    """One program with one host."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._number = 0
        self.send("initialize", protocolVersion=REVISION, capabilities={}, clientInfo={"name": "host", "version": "1"})
        self.greeting = self.answer()
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, method: str, **params: Any) -> None:
        """Ask for something."""
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})

    def answer(self) -> Any:
        """What came for what was asked last. Every line has to be a message."""
        assert self.process.stdout
        while line := self.process.stdout.readline():
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == self._number:
                assert "result" in message, message
                return message["result"]
        raise EOFError

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool."""
        self.send("tools/call", name=tool, arguments=arguments)
        return self.answer()

    def process_memory(self, said: str) -> Any:
        """Something said to the memory; the body that comes back."""
        result = self.call("process_memory", input=said, user_id="me")
        assert not result.get("isError"), result
        return result["structuredContent"]

    def ended(self) -> int:
        """Close the input, as a host does; the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(60)

    def kill(self) -> None:
        """Take the program away in the middle of whatever it does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def _write(self, message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


@contextmanager
def host(home: Path, *arguments: str, **settings: str) -> Iterator[Host]:
    """A host with its program; killed at the end if it still runs."""
    (home / "env").touch(0o600)
    where = ("--env-file", str(home / "env"))
    process = started(home, *where, "--mcp", *arguments, **{"EMBEDDING_MODEL": "built-in", **settings})
    try:
        yield Host(process)
    finally:
        process.kill()
        process.wait(60)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                with suppress(BrokenPipeError):
                    stream.close()
