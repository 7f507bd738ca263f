"""The plain ways of storing vectors, measured beside ours in the same run.

They are installed into a virtual environment of their own (``.venv/vector-peers``) and are no requirement of
the program. What cannot be installed or does not work on this machine has a line that says why.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_HOUSE = Path(__file__).parents[1]
_TOO_LONG = 3_600


@dataclass(frozen=True)
class _Way:
    """``peer`` names it in ``scale_plain``; what is ours needs nothing but the program itself."""

    peer: str
    title: str
    packages: tuple[str, ...] = ()


#: APSW brings an SQLite that can load extensions, which that of Python often cannot.
_WAYS = (
    _Way("ours", "ours"),
    _Way("ours-on-disk", "ours, nothing held in memory"),
    _Way("lancedb", "LanceDB, appended to", ("lancedb>=0.40,<0.50",)),
    _Way("sqlite-vec", "sqlite-vec", ("sqlite-vec", "apsw")),
    _Way("chromadb", "chromadb", ("chromadb",)),
)
_COLUMNS = (
    ("load_s", "load, s", "{:.1f}"),
    ("add_ms", "a row more, ms", "{:.1f}"),
    ("upkeep_ms", "mean", "{:.1f}"),
    ("search_ms", "10 nearest, ms", "{:.2f}"),
    ("search_p95_ms", "p95", "{:.2f}"),
    ("wide_ms", "300 nearest, ms", "{:.2f}"),
    ("recall", "found", "{:.2f}"),
    ("files", "files", "{:.0f}"),
    ("bytes_of_vectors", "bytes", "{:.1f}"),
)
_RATIOS = ("add_ms", "search_ms")


def report(sizes: Sequence[int], dimension: int, one_by_one: int, folder: Path) -> None:
    """Print a table for each size: every way, and how many times ours it takes."""
    failed = {way.peer: _not_installed(way) for way in _WAYS}
    for size in sizes:
        print(f"\n{size} rows of {dimension}, {one_by_one} more one by one (median, and mean with all upkeep)")
        titles = [title for _, title, _ in _COLUMNS]
        print(_line("", [*titles, "row / ours", "search / ours"]))
        ours: Mapping[str, float] = {}
        for way in _WAYS:
            measured = failed[way.peer] or _measured(way, size, dimension, one_by_one, folder)
            if isinstance(measured, str):
                print(f"{way.title}: skipped, {measured}", flush=True)
                continue
            ours = ours or measured
            cells = [form.format(measured[name]) for name, _, form in _COLUMNS]
            cells += [f"{measured[name] / ours[name]:.1f}" for name in _RATIOS]
            print(_line(way.title, cells), flush=True)


def _line(first: str, cells: Sequence[str]) -> str:
    return f"{first:<30}" + "".join(f"{cell:>17}" for cell in cells)


def _python(way: _Way) -> Path:
    return _HOUSE / ".venv" / "vector-peers" / "bin" / "python" if way.packages else Path(sys.executable)


def _not_installed(way: _Way) -> str:
    """Why it cannot be installed; nothing when it is."""
    if not way.packages:
        return ""
    python = _python(way)
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *way.packages, "numpy"], check=False, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"cannot be installed here: {_last_line(done.stderr)}"


def _measured(way: _Way, size: int, dimension: int, one_by_one: int, folder: Path) -> Mapping[str, float] | str:
    """What was measured, or why nothing was."""
    place = folder / "peers" / f"{way.peer}-{size}"
    command = [str(_python(way)), "-m", "bench.scale_plain", way.peer, str(size), str(dimension)]
    try:
        done = subprocess.run(
            [*command, str(one_by_one), str(place)],
            check=False,
            capture_output=True,
            text=True,
            timeout=_TOO_LONG,
            cwd=_HOUSE,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {_TOO_LONG} s"
    if done.returncode:
        return _last_line(done.stderr)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _last_line(said: str) -> str:
    return said.strip().splitlines()[-1] if said.strip() else "it failed without a word"
