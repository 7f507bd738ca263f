"""SIGINT, SIGTERM and SIGHUP at any moment of the program itself: it ends as documented, and nothing is half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.torture.judging import unsound
from tests.torture.kills import ROOT, Tried
from tests.torture.scene import Stage

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: The codes a signal may end with: all was done when it came, or told to stop.
_ALLOWED = {signal.SIGINT: {0, 130}, signal.SIGTERM: {0, 130, 143}, signal.SIGHUP: {0, 129, 130}}
#: The first line of the program's own, written after it began to listen; before that Python answers a signal.
_LISTENING = b"demo model"


def at_any_moment(moments: int = 16) -> Tried:
    """Send each signal at evenly spread moments of one ``-p``."""
    tried = Tried("signals")
    with tempfile.TemporaryDirectory(prefix="signal-") as scratch:
        folder = Path(scratch)
        begun = time.monotonic()
        _program(folder).communicate()
        whole = time.monotonic() - begun
        heard = 0
        for number in _SIGNALS:
            for moment in range(moments):
                tried.points += 1
                running = _program(folder)
                time.sleep(whole * moment / moments)
                running.send_signal(number)
                _, err = running.communicate()
                name = f"{number.name} after {moment}/{moments}"
                listening = _LISTENING in err
                heard += listening and running.returncode != 0
                if running.returncode not in _ALLOWED[number] | (set() if listening else {-number}):
                    tried.violations.append(f"{name}: exit code {running.returncode}")
                if b"Traceback" in err and (listening or number != signal.SIGINT):
                    tried.violations.append(f"{name}: a traceback")
        if not heard:
            tried.violations.append("every program had ended before its signal came, so nothing was shown")
        stage = Stage(folder)
        tried.violations += list(unsound(stage))
        stage.close()
    return tried


def _program(folder: Path) -> subprocess.Popen[bytes]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "EMBEDDING", "CHAT"))
    }
    environment |= {
        "DATA_DIR": str(folder / "data"),
        "LOG_DIR": str(folder / "logs"),
        "EMBEDDING_MODEL": "built-in",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), "--here", "-p", "The signal came at noon."],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
