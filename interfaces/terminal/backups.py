"""``--backup`` and ``--restore``: the whole memory as one file, in one command."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TextIO

from domain.errors import Exit
from interfaces.terminal.messages import Words
from storage.backup import back_up, restore


def back_up_to(target: Path, folder: Path, words: Words, out: TextIO) -> Exit:
    """Copy the memory in ``folder`` to a new file. Raises StorageError."""
    size = back_up(folder, target)
    out.write(words.say("backup.done", path=target, size=f"{size / 1024:.0f} KB") + "\n")
    return Exit.OK


def restore_from(
    backup: Path, folder: Path, words: Words, out: TextIO, clock: Callable[[], datetime]
) -> Exit:
    """Put a backup in the place of the memory in ``folder``. Raises StorageError."""
    former = restore(backup, folder, clock)
    key = "backup.restored_over" if former else "backup.restored"
    out.write(words.say(key, path=backup, former=former) + "\n")
    return Exit.OK
