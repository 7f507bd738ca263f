"""``main.py --mcp``: the tools for one program, which started this one, over standard input and output.

Promises: standard output carries the protocol and nothing else; it ends when its input does, or when it is asked to,
and everything that was answered is stored. The memory is opened when it is first needed, or used where it is held.
A host is bound to one person: no argument of a tool reaches the memory of another.
"""

from __future__ import annotations

import logging
import threading

from domain.errors import Exit
from domain.workers import Stop
from interfaces.interrupting import Wishes
from interfaces.mcp.server import Ctx, make_server
from interfaces.messages import Words
from interfaces.socket.verbs import Memories


def speak(
    memory: Memories,
    person: str,
    words: Words,
    log: logging.Logger,
    wishes: Wishes,
    *,
    full: bool,
    version: str,
) -> Exit:
    """Serve this person until the input ends or somebody asks to end. The thread that reads it may stay behind."""

    def bound(_: Ctx, named: str) -> str:
        """A model fills in the name: it opens nothing."""
        if named not in ("", person):
            raise LookupError(named)
        return person

    server = make_server(memory, words, log, version=version, full=full, person_of=bound)
    logging.getLogger("mcp").addHandler(_Forward(log))
    logging.getLogger("mcp").propagate = False
    ended, failed = Stop(), list[BaseException]()

    def run() -> None:
        try:
            server.run("stdio")
        except BaseException as fault:
            failed.append(fault)
            log.error("the protocol broke off", exc_info=fault)
        ended.set()

    wishes.when_leaving(ended.set)
    threading.Thread(target=run, name="mcp", daemon=True).start()
    while not ended.wait(0.5) and not wishes.stop.is_set:
        pass
    if wishes.stop.is_set:
        return Exit.OK if wishes.leaving else Exit.INTERRUPTED
    return Exit.FAILED if failed else Exit.OK


class _Forward(logging.Handler):
    def __init__(self, log: logging.Logger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Hand a record over to our log, which is masked and private."""
        self._log.handle(record)
