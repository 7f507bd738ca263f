"""The debug log: prompts, replies and database traffic, when debugging is on; errors always.

Promises: the files are readable by their owner only and rotated by size; no secret reaches them (``_Masking`` formats
every line). The logger is no global: it is made here and passed on.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from domain.text import mask

_MAX_BYTES = 10_000_000
_KEPT = 3


class _Masking(logging.Formatter):
    """Formats a record and masks the whole of it, traceback included."""

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        written = mask(super().format(record), self._secrets)
        return written.encode("utf-8", "backslashreplace").decode("utf-8")


class _PrivateFile(RotatingFileHandler):
    """A size-rotated file that only its owner may read; one that cannot be opened later never stops the program."""

    def _open(self) -> TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.baseFilename, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:
        if self.stream is not None:
            super().handleError(record)


class DebugLog:
    """The logger and its switch, which takes effect wherever ``log`` was passed."""

    def __init__(self, folder: Path, secrets: Sequence[str] = (), *, on: bool = False) -> None:
        self._folder = folder
        self._secrets = tuple(secrets)
        self._debug: logging.Handler | None = None
        self.log = logging.Logger("old-friend", logging.INFO)
        #: Tracebacks, also when debug is off; the first one creates the file.
        self._errors = self._make_file("errors.log", logging.ERROR)
        self.log.addHandler(self._errors)
        self.switch(on)

    @property
    def on(self) -> bool:
        """Whether prompts and database traffic are written now."""
        return self._debug is not None

    def switch(self, on: bool) -> None:
        """Begin or end writing ``debug.log``."""
        if on and self._debug is None:
            self._debug = self._make_file("debug.log")
            self.log.addHandler(self._debug)
            self.log.setLevel(logging.DEBUG)
        elif not on and self._debug is not None:
            self.log.removeHandler(self._debug)
            self._debug.close()
            self._debug = None
            self.log.setLevel(logging.INFO)

    def _make_file(self, name: str, level: int = logging.NOTSET) -> logging.Handler:
        """A masked, private, rotated file in the log folder; that of errors is opened when there is one."""
        lazily = level == logging.ERROR
        handler = _PrivateFile(self._folder / name, maxBytes=_MAX_BYTES, backupCount=_KEPT, delay=lazily)
        handler.setFormatter(_Masking(self._secrets))
        handler.setLevel(level)
        return handler

    def remove_files(self, holds: Callable[[Path], bool]) -> None:
        """Delete every log file that ``holds`` something erased; logging continues in a new one."""
        was_on = self.on
        self.switch(False)
        self._errors.close()  # the next error opens it again
        for path in sorted(self._folder.glob("*.log*")):
            if holds(path):
                path.unlink(missing_ok=True)
        self.switch(was_on)

    def close(self) -> None:
        """Close every file."""
        for handler in list(self.log.handlers):
            handler.close()
            self.log.removeHandler(handler)
        self._debug = None


class Forwarding(logging.Handler):
    """Passes the records of a library on to our log, which is masked and private."""

    def __init__(self, log: logging.Logger, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on."""
        if self._log.isEnabledFor(record.levelno):
            self._log.handle(record)
