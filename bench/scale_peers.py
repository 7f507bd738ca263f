"""The plain ways of storing vectors, measured beside ours in the same run.

They are installed into a virtual environment of their own (``.venv/peers``) and are no requirement of the
program. What cannot be installed or does not work on this machine is skipped with a line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

_HOUSE = Path(__file__).parents[1]
_PEERS = {
    "lancedb": "lancedb>=0.40,<0.50",
    "sqlite-vec": "sqlite-vec",
    "chromadb": "chromadb",
}
#: Rows that are appended one by one; more would take the plain ways hours.
_ONE_BY_ONE = 2_000
_TOO_LONG = 3_600


def report(sizes: Sequence[int], dimension: int, folder: Path) -> None:
    """Print a line for each peer and size."""
    python = _environment()
    for peer, package in _PEERS.items():
        if not _installed(python, package):
            print(f"{peer}: skipped, {package} cannot be installed here")
            continue
        for size in sizes:
            print(f"{peer}, {size} rows: {_measured(python, peer, size, dimension, folder)}", flush=True)


def _environment() -> Path:
    place = _HOUSE / ".venv" / "peers"
    if not (place / "bin" / "python").exists():
        venv.create(place, with_pip=True)
    return place / "bin" / "python"


def _installed(python: Path, package: str) -> bool:
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        package,
        "numpy",
    ]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _measured(python: Path, peer: str, size: int, dimension: int, folder: Path) -> str:
    script = _HOUSE / "bench" / "scale_plain.py"
    place = folder / "peers" / f"{peer}-{size}"
    command = [str(python), str(script), peer, str(size), str(dimension), str(_ONE_BY_ONE), str(place)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_TOO_LONG)
    except subprocess.TimeoutExpired:
        return f"skipped, not done after {_TOO_LONG} s"
    if done.returncode:
        return f"skipped, {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'it failed'}"
    measured = json.loads(done.stdout.splitlines()[-1])
    return "  ".join(f"{name} {value:.2f}" for name, value in measured.items())


if __name__ == "__main__":
    report([int(size) for size in sys.argv[1].split(",")], int(sys.argv[2]), Path(sys.argv[3]))
