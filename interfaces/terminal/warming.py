"""Heavy libraries, loaded while the person reads the first lines and types."""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Sequence

#: In the order in which a turn needs them.
HEAVY = ("numpy", "openai", "rich.text", "rich.table", "pyarrow", "lancedb")


def warmer(
    log: logging.Logger, names: Sequence[str] = HEAVY, then: Callable[[], None] = lambda: None
) -> Callable[[], None]:
    """What begins loading these modules in a thread of its own, then does ``then``.

    What fails here is written into the log and is not this thread's trouble: whoever needs it will say so.
    """

    def load() -> None:
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:  # a broken library may raise anything while it is loaded
                log.exception("%s cannot be loaded", name)
        try:
            then()
        except Exception:
            log.exception("what was to be ready once the libraries are loaded is not")

    return lambda: threading.Thread(target=load, name="warming", daemon=True).start()
