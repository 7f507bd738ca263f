"""NeuroMemory's users find their functions, with results as over HTTP."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.interfaces.terminal.pseudo import environment
from tests.support.program import ended
from tests.support.server import ScriptedServer
from tests.support.warm import Piped

ROOT = Path(__file__).resolve().parents[3]


def run(script: str, folder: Path, model: ScriptedServer) -> str:
    """What a script prints, run in a program of its own, as its users do."""
    chosen = environment(
        folder, DATA_DIR=str(folder / "data"), LOG_DIR=str(folder / "logs"), OPENAI_API_BASE=model.base,
        CHAT_MODEL="m", PYTHONPATH=str(ROOT), LANGUAGE="en",
    )  # fmt: skip
    with Piped(
        [sys.executable, "-c", script],
        cwd=folder, env=chosen, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as program:  # fmt: skip
        ran = ended(program)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def test_the_published_example_gives_what_its_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "neuromemory.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert example
    expected = re.findall(r"  # (.*)$", example[1], re.MULTILINE)
    with ScriptedServer() as model:
        assert run(example[1], tmp_path, model).splitlines() == expected


def test_the_first_line_of_the_page_makes_a_token_for_many_users(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "neuromemory.md").read_text(encoding="utf-8")
    python, program, *flags = shlex.split(page.split("```")[1])
    assert (python, program) == ("python", "main.py")
    chosen = os.environ | {"DATA_DIR": str(tmp_path / "data"), "LOG_DIR": str(tmp_path / "logs"), "LANGUAGE": "en"}
    order = [sys.executable, str(ROOT / program), *flags]
    made = subprocess.run(order, env=chosen, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, made.stderr
    assert "for everyone" in made.stdout


def test_the_references_of_the_published_examples_are_replaced_in_place(tmp_path: Path) -> None:
    script = """
from interfaces.python.neuromemory import debug, graph, process_memory
for user, said, asked in (
    ("a", ["桔子熟了", "很甜"], "你喜欢吃这个吗？"), ("b", ["我买了一台相机"], "它好用吗？"),
    ("c", ["The oranges are ripe"], "Do you like eating these?"), ("d", [], "她今年几岁了？"),
):
    for text in said:
        process_memory(text, user_id=user)
    print(debug(asked, user_id=user)["resolved_query"])
print(graph(user_id="a")["nodes"], process_memory("")["status"])
print(process_memory("Hi.", role="system")["status"], process_memory("Hi.", metadata={"n": "x" * 9000})["status"])
print(process_memory("Hi.", role="assistant", metadata={"from": "web"})["status"])
"""
    with ScriptedServer() as model:
        assert run(script, tmp_path, model).splitlines() == [
            "你喜欢吃桔子吗？", "相机好用吗？", "Do you like eating oranges?", "她今年几岁了？", "[] error",
            "error error", "success",
        ]  # fmt: skip
