"""The folder of the vector index, as a whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from storage.files import PRIVATE_FILE, PRIVATE_FOLDER


def empty(folder: Path) -> None:
    """Remove all there is in it; a file in its place goes too."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def narrow(folder: Path) -> None:
    """Make what LanceDB wrote its owner's only: it follows the umask.

    The folder itself is 0700 from the beginning, so nothing in it was ever open to others.
    """
    for place, folders, files in os.walk(folder):
        for names, mode in ((folders, PRIVATE_FOLDER), (files, PRIVATE_FILE)):
            for name in names:
                path = os.path.join(place, name)
                if os.stat(path).st_mode & 0o777 != mode:
                    os.chmod(path, mode)
