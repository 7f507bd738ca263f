"""Writes what is generated from the program: the commands, the tables, the transcripts.

``make docs`` writes all of it, the transcript and the screenshot from a real run;
``python -m docs.generate --tables`` writes the tables alone. ``python -m docs.generate --figures printed.txt`` puts
what ``make torture`` printed into docs/reliability.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from domain.languages import Language
from domain.settings import TABLE as SETTINGS
from interfaces.messages import Words
from interfaces.terminal.commands.command_table import TABLE as COMMANDS
from interfaces.terminal.commands.helping import usage

ROOT = Path(__file__).resolve().parents[1]
READMES: dict[Language, str] = {"en": "README.md", "zh": "README.zh.md"}
_HEADS: dict[Language, tuple[str, str, str, str, str]] = {
    "en": ("command", "what it does", "setting", "default", "what you get"),
    "zh": ("命令", "作用", "设置", "默认值", "说明"),
}


def commands_page() -> str:
    """docs/commands.md, from the table of commands."""
    lines = [
        "# Commands · 命令",
        "",
        "Made from the table in `interfaces/terminal/commands/command_table.py` by `make docs`.",
        "",
        "| command · 命令 | what it does | 作用 | asks first · 先问 |",
        "|---|---|---|---|",
    ]
    for command in COMMANDS:
        asks = "yes · 是" if command.destructive else ""
        told = " | ".join(Words(language).say(f"command.{command.name}") for language in READMES)
        lines.append(f"| `{_cell(usage(command))}` | {told} | {asks} |")
    return "\n".join([*lines, "", *_keys()]) + "\n"


def _keys() -> list[str]:
    """What the help says of keys, in both languages."""
    return [line for language in READMES for line in (Words(language).say("help.keys"), "")][:-1]


def commands_table(language: Language) -> str:
    """The table of commands for a README."""
    heads, say = _HEADS[language], Words(language).say
    rows = [f"| `{_cell(usage(command))}` | {say(f'command.{command.name}')} |" for command in COMMANDS]
    return "\n".join([f"| {heads[0]} | {heads[1]} |", "|---|---|", *rows])


def settings_table(language: Language) -> str:
    """The table of settings for a README."""
    heads, words = _HEADS[language], Words(language)
    rows = []
    for row in SETTINGS:
        default = f"`{row.default}`" if row.default else ""
        rows.append(f"| `{row.name}` | {default} | {words.setting(row)} |")
    return "\n".join([f"| {heads[2]} | {heads[3]} | {heads[4]} |", "|---|---|---|", *rows])


def put(text: str, name: str, content: str) -> str:
    """Put content between the marks of a generated part. Raises ValueError when the marks are not there."""
    marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not marks.search(text):
        raise ValueError(f"no place for {name}")
    return marks.sub(lambda found: f"{found[1]}{content}\n{found[2]}", text)


def with_tables(text: str, language: Language) -> str:
    """A README with its tables as the program has them now."""
    return put(put(text, "commands", commands_table(language)), "settings", settings_table(language))


def with_figures(text: str, printed: str) -> str:
    """docs/reliability.md with what a run of the torture printed: a row for each of its lines, and how long it took."""
    lines = re.findall(r"^(\w+) .* tried +(\d+) +violated +(\d+) ", printed, re.MULTILINE)
    for name, tried, violated in lines:
        row = re.compile(rf"^(\| {name} \|.*\|) [\d,–]+ \| [\d,–]+ \|$", re.MULTILINE)
        if not row.search(text):
            raise ValueError(f"no row for {name}")
        text = row.sub(rf"\g<1> {int(tried):,} | {int(violated):,} |", text)
    took = re.search(r"passed, .* failed.*\((\d+) s\)$", printed, re.MULTILINE)
    return put(text, "time", f"It took {round(int(took[1]) / 60)} minutes.") if took else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: Sequence[str]) -> None:
    """Write everything, or what the arguments name."""
    if "--figures" in arguments:
        page, printed = ROOT / "docs" / "reliability.md", Path(arguments[-1])
        page.write_text(
            with_figures(page.read_text(encoding="utf-8"), printed.read_text(encoding="utf-8")),
            encoding="utf-8",
        )
        return
    (ROOT / "docs" / "commands.md").write_text(commands_page(), encoding="utf-8")
    for language, name in READMES.items():
        readme = ROOT / name
        text = with_tables(readme.read_text(encoding="utf-8"), language)
        if "--tables" not in arguments:
            from docs.transcript import transcript

            text = put(text, "transcript", transcript(language))
        readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
