"""``make schemathesis``: the real server, asked everything that its own description allows, and what it does not.

The program is started with a token, on a free port, with the built-in demo model, so that every request has a
real turn behind it; ``st run`` reads ``/openapi.json`` and looks whether each answer is one that is described, whether
what is wrong is refused and what is right is taken, whether a token is needed wherever the description says so, and
whether a method that is not there is answered with 405. Arguments are passed on to ``st run``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.program import run
from tests.support.served import program

_EXAMPLES = 60
#: Not asked: whether all that a schema allows is taken. A text of nothing but spaces is allowed, and says nothing.
_LEFT_OUT = "positive_data_acceptance"
#: A body that is too large is refused as such, whatever else is wrong with it.
_CONFIGURED = """
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "415", "422", "429"]
"""


def conforming(
    home: Path, arguments: Sequence[str] = (), examples: int = _EXAMPLES
) -> subprocess.CompletedProcess[str]:
    """One run; its exit code is 0 where nothing failed."""
    (home / "schemathesis.toml").write_text(_CONFIGURED, encoding="utf-8")
    secret = run(home, "--token", "add", "conforming", "--person", "*").out.split()[-1]
    freely = {"REQUESTS_PER_MINUTE": "100000", "REQUESTS_AT_ONCE": "64"}
    with program(home, **freely) as server:
        return subprocess.run(
            [
                str(Path(sys.executable).with_name("st")), "run", f"http://127.0.0.1:{server.port}/openapi.json",
                "--header", f"Authorization: Bearer {secret}", "--max-examples", str(examples), "--seed", "1",
                "--checks", "all", "--exclude-checks", _LEFT_OUT, "--generation-codec", "utf-8", "--no-color",
                "--continue-on-failure", "--generation-database", "none", *arguments,
            ],
            cwd=home, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONUTF8": "1"},
        )  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        done = conforming(Path(folder), sys.argv[1:])
    print(done.stdout, done.stderr, sep="\n")
    sys.exit(done.returncode)
