"""Texts edited in the person's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from domain import errors
from domain.text import clean

_FALLBACKS = ("editor", "nano", "vim", "vi", "ed")


def edited(text: str, environment: Mapping[str, str]) -> str:
    """The text after the person edited it in ``$VISUAL`` or ``$EDITOR``.

    The file that the editor sees is for its owner only and is gone afterwards.
    Raises UsageError when no editor can be started.
    """
    command = editor_command(environment)
    descriptor, name = tempfile.mkstemp(suffix=".txt", prefix="old-friend-")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") or not text else text + "\n")
        if subprocess.run([*command, name], check=False).returncode != 0:
            return text
        return clean(path.read_text(encoding="utf-8", errors="replace")).rstrip("\n")
    except OSError as fault:
        raise errors.UsageError("prompt.no_editor", command=" ".join(command)) from fault
    finally:
        path.unlink(missing_ok=True)


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The editor that the person chose, or the first that is installed."""
    chosen = environment.get("VISUAL") or environment.get("EDITOR")
    if chosen:
        return shlex.split(chosen)
    return [next((name for name in _FALLBACKS if shutil.which(name)), "vi")]
