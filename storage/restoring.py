"""What becomes of things that were erased when a copy of the memory takes the place of the present one.

Guarantees: the copy knows what the present memory knows of what was erased in it; nothing of that comes back unless the
person says so; what was hidden stays hidden. All of it is done before the copy is in place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from domain import errors
from language.words import tokens
from storage.engine import Stamp
from storage.erased import ErasedRecord, ErasedTexts, SaidMessage
from storage.erasure import Eraser
from storage.imports import Imports
from storage.repositories import open_repositories
from storage.rounds import Rounds
from storage.sqlite.database import Database

#: Whether to leave out so many things that were erased; None where the present memory cannot be read.
LeaveOut = Callable[[int | None], bool]


def settle_copy(copy: Path, present: Path, stamp: Stamp, log: logging.Logger, leave_out: LeaveOut) -> None:
    """Take over what is known of erasures, and leave out of the copy what was erased, or let it be erased no more."""
    try:
        record = _read_record(present, stamp, log)
    except errors.StorageError:  # it may be damaged, which is why a backup is restored
        leave_out(None)
        return
    if not (record.receipts or record.digests or record.hidden):
        return
    of = open_repositories(copy.parent, tokens, stamp, log)
    with closing(of.database):
        with of.database.write() as tx:
            of.erased.take_over(tx, record)
        rounds = Rounds(of)
        eraser = Eraser(of, rounds, Imports(of, rounds), [copy.parent], lambda: None)
        turns, known = eraser.find_erased(), of.facts.all()
        rejected = of.erased.find_values(known)
        wrong = [one for one in known if rejected.get(one.text_id) == "rejected" and not one.corrected]
        if (turns or wrong) and leave_out(len(turns) + len(wrong)):
            if turns:
                eraser.erase(eraser.scope_of_messages([turn.text_id for turn in turns]), "restore")
            for fact in wrong:
                of.fact_log.correct_by_hand(fact.text_id, None)
            with of.database.write() as tx:  # what is rejected again was rejected then
                of.erased.take_over(tx, record)
        elif turns or wrong:
            with of.database.write() as tx:
                of.erased.remove(tx, [SaidMessage.of(turn) for turn in turns])
                of.erased.remove_values(tx, wrong)
        rounds.hide([turn.text_id for turn in of.messages.with_ids(record.hidden) if not turn.hidden])


def _read_record(present: Path, stamp: Stamp, log: logging.Logger) -> ErasedRecord:
    if not present.exists():
        return ErasedRecord()
    with closing(Database(present, log)) as database:
        return ErasedTexts(database, stamp).record()
