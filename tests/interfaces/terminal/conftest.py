"""A scripted model server, and chats in pseudo-terminals that end with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.interfaces.terminal.pseudo import Terminal, chatting
from tests.support.server import ScriptedServer

Chat = Callable[..., Terminal]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    opened = ScriptedServer()
    yield opened
    opened.close()


@pytest.fixture
def connected(server: ScriptedServer) -> dict[str, str]:
    """The settings that connect the chat to the scripted server."""
    return {
        "OPENAI_API_BASE": server.base,
        "OPENAI_API_KEY": "sk-test-0123456789abcdef",
        "DIARY": "off",
        "CHAT_MODEL": "scripted-model",
    }


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    """Starts the chat in a terminal; ``chat(..., COMPANION_NAME="Ada")`` sets settings."""
    (tmp_path / "env").touch(0o600)
    with ExitStack() as open_terminals:

        def start(*arguments: str, rows: int = 24, columns: int = 80, **settings: str) -> Terminal:
            run = contextmanager(chatting)
            given = ("--env-file", str(tmp_path / "env"), *arguments)
            return open_terminals.enter_context(run(tmp_path, *given, rows=rows, columns=columns, **settings))

        yield start
