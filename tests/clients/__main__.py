"""``make clients``: the clients that people use, really installed, against the program with ``--serve``; one line each.

python -m tests.clients              all of them
python -m tests.clients llm          some

Behind the program stands a scripted model. Each client is a person of its own, holds the same three rounds (whole, as a
stream, with a call of a tool), and what is stored afterwards is compared. Packages go into a temporary directory; where
they cannot be had the client is skipped and the line says why.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from people import folder_of
from tests.support.program import connected, run
from tests.support.served import program
from tests.support.server import Exchange, ScriptedServer, answer, delta, say, stream, whole

HERE = Path(__file__).parent
ROUNDS = [
    ("My cat is called Douban.", "Nice cat."),
    ("She is grey.", "Grey, then."),
    ("How warm is it at home?", "Twelve degrees."),
]
_INSTALLING, _TALKING = 600, 120
_EXTRA_MODEL = """
- model_id: friend
  model_name: old-friend
  api_base: {base}
  api_key_name: friend
  supports_tools: true
"""


class Skipped(Exception):
    """Why a client could not be tried."""


@dataclass(frozen=True)
class Client:
    """A client: how it is installed into a folder, which tells its version, and how it talks to BASE with a TOKEN."""

    name: str
    does: str
    install: Callable[[Path], str]
    talk: Callable[[Path, str, str], None]


class Model(ScriptedServer):
    """Says what the three rounds hold, whoever asks."""

    def play(self, exchange: Exchange) -> None:
        """Answer one request."""
        if exchange.request.path != "/v1/chat/completions":
            super().play(exchange)
        elif exchange.json["messages"][-1]["role"] == "user" and exchange.json.get("tools"):
            _call_a_tool(exchange)
        else:
            said = str([one["content"] for one in exchange.json["messages"] if one["role"] == "user"][-1])
            reply = next((reply for asked, reply in ROUNDS if said.endswith(asked)), "What?")
            say(reply)(exchange)


def _call_a_tool(exchange: Exchange) -> None:
    call = {"id": "call-1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    if exchange.streams:
        stream(delta(role="assistant", tool_calls=[{"index": 0, **call}]), delta("tool_calls"))(exchange)
    else:
        answer(whole(None, "tool_calls", tool_calls=[call]))(exchange)


# -- the clients


def _done(*command: str, within: float, folder: Path, **environment: str) -> str:
    """Run a command; what it wrote. Raises RuntimeError with the end of what it said."""
    try:
        ran = subprocess.run(
            command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True,
            check=False, timeout=within, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"not done within {within:.0f} s") from late
    if ran.returncode:
        lines = (ran.stderr or ran.stdout).strip().splitlines()
        raise RuntimeError(next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else ""))
    return ran.stdout


def _from_npm(*packages: str) -> Callable[[Path], str]:
    def install(folder: Path) -> str:
        if not (shutil.which("npm") and shutil.which("node")):
            raise Skipped("no npm")
        try:
            _done("npm", "install", "--no-audit", "--no-fund", "--prefix", ".", *packages,
                  within=_INSTALLING, folder=folder)  # fmt: skip
        except RuntimeError as fault:
            raise Skipped(f"npm cannot install it: {fault}") from fault
        described = (folder / "node_modules" / package / "package.json" for package in packages)
        return ", ".join(json.loads(one.read_text(encoding="utf-8"))["version"] for one in described)

    return install


def _by_node(script: str) -> Callable[[Path, str, str], None]:
    def talk(folder: Path, base: str, token: str) -> None:
        shutil.copy(HERE / script, folder / script)
        _done("node", script, base, token, within=_TALKING, folder=folder)

    return talk


def _openai_is_here(folder: Path) -> str:
    import openai

    return openai.__version__


def _talk_by_openai(folder: Path, base: str, token: str) -> None:
    root = str(HERE.parents[1])
    _done(sys.executable, "-m", "tests.clients.openai_python", base, token,
          within=_TALKING, folder=folder, PYTHONPATH=root)  # fmt: skip


def _talk_by_llm(folder: Path, base: str, token: str) -> None:
    settings = folder / "llm"
    settings.mkdir()
    (settings / "extra-openai-models.yaml").write_text(_EXTRA_MODEL.format(base=base), encoding="utf-8")

    def said(*arguments: str) -> str:
        command = (str(folder / "venv/bin/llm"), *arguments)
        return _done(*command, within=_TALKING, folder=folder, LLM_USER_PATH=str(settings)).strip()

    said("keys", "set", "friend", "--value", token)
    look = "def look() -> str:\n    'Look'\n    return '12'"
    heard = [
        said("-m", "friend", "--no-stream", ROUNDS[0][0]),
        said("-c", ROUNDS[1][0]),
        said("-m", "friend", "--functions", look, ROUNDS[2][0]),
    ]
    if heard != [reply for _, reply in ROUNDS]:
        raise RuntimeError(f"heard {heard}")


def _from_pip(package: str) -> Callable[[Path], str]:
    def install(folder: Path) -> str:
        venv.create(folder / "venv", with_pip=True)
        try:
            _done(str(folder / "venv/bin/pip"), "install", "--quiet", "--disable-pip-version-check", package,
                  within=_INSTALLING, folder=folder)  # fmt: skip
        except RuntimeError as fault:
            raise Skipped(f"pip cannot install it: {fault}") from fault
        ask = f"import importlib.metadata as m; print(m.version({package!r}))"
        return _done(str(folder / "venv/bin/python"), "-c", ask, within=_TALKING, folder=folder).strip()

    return install


def _by_python(script: str) -> Callable[[Path, str, str], None]:
    def talk(folder: Path, base: str, token: str) -> None:
        python = str(folder / "venv/bin/python")
        _done(python, str(HERE / script), base, token, within=_TALKING, folder=folder)

    return talk


_ALL = "models, whole, stream, tools, embeddings, wrong key"
CLIENTS = (
    Client("openai-python", _ALL, _openai_is_here, _talk_by_openai),
    Client("openai-node", _ALL, _from_npm("openai"), _by_node("openai_node.mjs")),
    Client("ai-sdk", "whole, stream, tools, embeddings",
           _from_npm("ai", "@ai-sdk/openai-compatible"), _by_node("ai_sdk.mjs")),
    Client("llm", "whole, stream, tools", _from_pip("llm"), _talk_by_llm),
    Client("langchain", "whole, stream, tools", _from_pip("langchain-openai"), _by_python("by_langchain.py")),
)  # fmt: skip


# -- trying them


def tried(client: Client, home: Path, base: str, token: str) -> str:
    """One line: passed, failed or skipped, and why."""
    folder = home / client.name
    folder.mkdir()
    try:
        version = client.install(folder)
    except Skipped as reason:
        return f"skipped  {client.name}: {reason}"
    try:
        client.talk(folder, base, token)
    except RuntimeError as fault:
        return f"failed   {client.name} {version}: {fault}"
    kept = stored(home, client.name)
    return (
        f"passed   {client.name} {version}: {client.does}"
        if sorted(kept) == sorted(ROUNDS)
        else f"failed   {client.name} {version}: stored {kept}"
    )


def stored(home: Path, person: str) -> list[tuple[str, str]]:
    """The rounds of a person."""
    path = folder_of(home / "data", person) / "memory.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        texts: list[Any] = database.execute("SELECT text FROM conversation ORDER BY seq").fetchall()
    said = [text.partition(": ")[2] for (text,) in texts]
    return list(zip(said[::2], said[1::2], strict=True))


def main(names: Sequence[str]) -> int:
    """Try the clients with these names, or all."""
    chosen = [one for one in CLIENTS if one.name in names or not names]
    with tempfile.TemporaryDirectory() as folder, Model() as model:
        home = Path(folder)
        tokens = {one.name: run(home, "--token", "add", one.name, "--person", one.name).out.split()[-1]
                  for one in chosen}  # fmt: skip
        settings: Mapping[str, str] = connected(model.base, EMBEDDING_MODEL="built-in")
        with program(home, **settings) as server:
            base = f"http://127.0.0.1:{server.port}/v1"
            lines = []
            for one in chosen:
                lines.append(tried(one, home, base, tokens[one.name]))
                print(lines[-1], flush=True)
    return int(any(line.startswith("failed") for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
