"""Opening all memories below a data folder, for a program that holds them for others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from domain.settings import Settings
from llm import Llm
from people import People, Registry, registry_in


@contextmanager
def opened_people(
    settings: Settings,
    log: logging.Logger,
    *,
    clock: Callable[[], datetime],
    new_id: Callable[[], str],
    scrubbers_of: Callable[[Path], Sequence[Callable[[Any], None]]] = lambda folder: (),
) -> Iterator[People]:
    """Everybody, with the models of the settings, until the block ends. Raises StorageError."""
    with closing(Registry(registry_in(settings.data_dir), clock)) as registry:
        llm = Llm(settings, log, clock=clock)
        try:
            people = People(
                settings, llm, registry, log,
                clock=clock, new_id=new_id, most_open=settings.open_memories,
                scrubbers_of=scrubbers_of,
            )  # fmt: skip
            with closing(people):
                yield people
        finally:
            llm.close()
