"""``main.py --mcp``: the tools over standard input and output, for the program that started this one.

Promises: standard output carries the protocol only; the program ends with its input or on a signal, and everything that
was answered is stored. The memory is opened on first use, or used through the program that has it open. A host is bound
to one person: no argument of a tool reaches another person's memory.
"""

from __future__ import annotations

import logging
import threading

from domain.errors import Exit
from domain.workers import CancelToken
from interfaces.debug_log import Forwarding
from interfaces.interrupting import Wishes
from interfaces.mcp.server import Ctx, make_server
from interfaces.messages import Words
from interfaces.operations import Memories


def run_stdio(
    memories: Memories, person: str, words: Words, log: logging.Logger, wishes: Wishes, *, full: bool, version: str
) -> Exit:
    """Serve this person until the input ends or a signal comes. The reading thread may outlive this call."""

    def person_of(_: Ctx, named: str) -> str:
        """Accepts only this person: a model fills in the name."""
        if named not in ("", person):
            raise LookupError(named)
        return person

    server = make_server(memories, words, log, version=version, full=full, person_of=person_of)
    logging.getLogger("mcp").addHandler(Forwarding(log, logging.WARNING))
    logging.getLogger("mcp").propagate = False
    ended, failed = CancelToken(), list[BaseException]()

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
