"""A transcript and a screenshot from a real run, in a pseudo-terminal, with the demo model."""

from __future__ import annotations

import io
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from language.scripts import Language
from tests.interfaces.terminal.pseudo import Terminal, chatting

ROOT = Path(__file__).resolve().parents[1]
#: Seconds that a person takes for the first line; the libraries load meanwhile.
_FIRST_WORDS = 5.0
_COLUMNS, _ROWS = 92, 50
_LINES: dict[Language, tuple[list[str], list[str]]] = {
    "en": (["My dog is called Biscuit and he is afraid of thunder.", "/save"], ["What was my dog afraid of?", "/why"]),
    "zh": (["我的狗叫饼干，它很怕打雷。", "/save"], ["我的狗怕什么？", "/why"]),
}
_LOCALE: dict[Language, str] = {"en": "en_US.UTF-8", "zh": "zh_CN.UTF-8"}


def transcript(language: Language) -> str:
    """Two evenings with the friend, as they stand on the screen; writes the screenshot of the second beside it."""
    with tempfile.TemporaryDirectory(prefix="friend-") as folder:
        first, _ = _evening(Path(folder), language, _LINES[language][0])
        second, raw = _evening(Path(folder), language, _LINES[language][1])
    _picture(raw, ROOT / "docs" / f"screenshot.{language}.svg")
    return f"```\n$ make chat\n{first}\n\n$ make chat\n{second}\n```"


def _evening(folder: Path, language: Language, lines: list[str]) -> tuple[str, bytes]:
    """Start, say these lines, leave; the text of the screen and the bytes that made it."""
    empty = folder / "empty.env"
    empty.touch(0o600)
    settings = {"LANG": _LOCALE[language], "LANGUAGE": language}
    run = contextmanager(chatting)
    with run(folder, "--env-file", str(empty), rows=_ROWS, columns=_COLUMNS, **settings) as terminal:
        terminal.prompt()
        time.sleep(_FIRST_WORDS)
        for line in lines:
            _say(terminal, line)
        raw = terminal.raw
        terminal.say("/exit")
        terminal.ended()
        return terminal.text().rstrip(), raw


def _say(terminal: Terminal, line: str) -> None:
    before = len(terminal.raw)
    terminal.say(line)
    terminal.wait(lambda: len(terminal.raw) > before + len(line), "an answer")
    terminal.read(0.5)
    terminal.prompt()


def _picture(raw: bytes, path: Path) -> None:
    """The screen as it ended, as an SVG."""
    import pyte
    from rich.console import Console
    from rich.text import Text

    screen = pyte.Screen(_COLUMNS, _ROWS)
    pyte.ByteStream(screen).feed(raw)
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    last = max((at for at in range(_ROWS) if screen.display[at].strip()), default=0)
    for row in range(last + 1):
        line = Text()
        for column in range(_COLUMNS):
            cell = screen.buffer[row][column]
            words = ["bold" if cell.bold else "", "italic" if cell.italics else "", _colour(cell.fg)]
            style = " ".join(word for word in words if word)
            line.append(cell.data, style)
        line.rstrip()
        console.print(line)
    path.write_text(console.export_svg(title="Old Friend · 老友"), encoding="utf-8")


def _colour(name: str) -> str:
    """A colour of pyte as rich calls it."""
    if name == "default":
        return ""
    if name.startswith("bright"):
        return "bright_" + name.removeprefix("bright").replace("brown", "yellow")
    return {"brown": "yellow"}.get(name, name if name.isalpha() else f"#{name}")
