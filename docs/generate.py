"""Writes the generated parts of the documents: tables of commands and settings, transcripts, screenshots.

``make docs`` writes all of them; the transcripts and screenshots come from a real run. ``python -m docs.generate
--tables`` writes only the tables. ``python -m docs.generate --figures FILE`` copies the figures that ``make torture``
printed into docs/reliability.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from domain.settings import TABLE as SETTINGS
from interfaces.messages import Words
from interfaces.terminal.commands.command_table import BY_NAME, DAILY, format_usage
from language.scripts import Language
from tests.torture.__main__ import PROMISES

ROOT = Path(__file__).resolve().parents[1]
READMES: dict[Language, str] = {"en": "README.md", "zh": "README.zh.md"}
_HEADS: dict[Language, tuple[str, str]] = {"en": ("command", "what it does"), "zh": ("命令", "作用")}


def commands_table(language: Language, names: Iterable[str]) -> str:
    """The commands with these names and what they do, in one language."""
    command_head, does_head = _HEADS[language]
    rows = [f"| `/{name}` | {Words(language).say(f'command.{name}')} |" for name in names]
    return "\n".join([f"| {command_head} | {does_head} |", "|---|---|", *rows])


def all_commands() -> str:
    """Every command, in both languages, and whether it asks first."""
    lines = ["| command · 命令 | what it does | 作用 | asks first · 先问 |", "|---|---|---|---|"]
    for command in BY_NAME.values():
        texts = " | ".join(Words(language).say(f"command.{command.name}") for language in READMES)
        lines.append(f"| `{_cell(format_usage(command))}` | {texts} | {'yes · 是' if command.destructive else ''} |")
    return "\n".join(lines)


def settings_table() -> str:
    """Every setting with its default, in both languages."""
    lines = ["| setting · 设置 | default · 默认值 | what you get | 说明 |", "|---|---|---|---|"]
    for row in SETTINGS:
        texts = " | ".join(Words(language).describe_setting(row) for language in READMES)
        lines.append(f"| `{row.name}` | {f'`{row.default}`' if row.default else ''} | {texts} |")
    return "\n".join(lines)


def promise_tests() -> str:
    """Each promise with the tests that hold it, as arguments of pytest."""
    rows = [f"| {one.name} | {'<br>'.join(f'`{test}`' for test in one.tests)} |" for one in PROMISES if one.tests]
    return "\n".join(["| promise | tests |", "|---|---|", *rows])


def pages() -> dict[str, dict[str, str]]:
    """Each page with generated parts: the name of the part and its content."""
    keys = "\n\n".join(Words(language).say("help.keys") for language in READMES)
    return {
        **{name: {"commands": commands_table(language, DAILY)} for language, name in READMES.items()},
        "docs/commands.md": {"commands": all_commands(), "keys": keys},
        "docs/reliability.md": {"tests": promise_tests()},
        "docs/settings.md": {"settings": settings_table()},
    }


def put(text: str, name: str, content: str) -> str:
    """Replace a generated part. Raises ValueError when the page has no place for it."""
    marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not marks.search(text):
        raise ValueError(f"no place for {name}")
    return marks.sub(lambda found: f"{found[1]}{content}\n{found[2]}", text)


def with_parts(text: str, parts: Mapping[str, str]) -> str:
    """A page with its generated parts replaced."""
    for name, content in parts.items():
        text = put(text, name, content)
    return text


def with_figures(text: str, printed: str) -> str:
    """docs/reliability.md with the figures of a torture run: one row per promise, and how long it took."""
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
    """Write everything, or only what the arguments name."""
    if "--figures" in arguments:
        page, printed = ROOT / "docs" / "reliability.md", Path(arguments[-1])
        page.write_text(
            with_figures(page.read_text(encoding="utf-8"), printed.read_text(encoding="utf-8")), encoding="utf-8"
        )
        return
    transcripts = {}
    if "--tables" not in arguments:
        from docs.transcript import transcript

        transcripts = {f"transcript.{language}": transcript(language) for language in READMES}
    for name, parts in pages().items():
        page = ROOT / name
        more = transcripts if name == "docs/commands.md" else {}
        page.write_text(with_parts(page.read_text(encoding="utf-8"), {**parts, **more}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
