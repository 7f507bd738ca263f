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
from domain.facts import Fact
from domain.records import Message
from language.words import tokens
from storage.engine import Stamp
from storage.erased import ErasedRecord, ErasedTexts, SaidMessage
from storage.erasure import Eraser
from storage.facts import Facts
from storage.messages import Messages
from storage.repositories import Repositories, open_repositories
from storage.rounds import Rounds
from storage.sqlite.database import SqliteDatabase

#: Whether to leave out so many things that were erased; None where the present memory cannot be read.
LeaveOut = Callable[[int | None], bool]


def settle_copy(copy: Path, present: Path, stamp: Stamp, log: logging.Logger, leave_out: LeaveOut) -> None:
    """Take over what is known of erasures, and leave out of the copy what was erased, or let it be erased no more."""
    if not present.exists():
        return
    try:
        database = SqliteDatabase(present, log)
    except errors.StorageError:  # it may be damaged, which is why a backup is restored
        leave_out(None)
        return
    with closing(database):
        record = ErasedTexts(database, stamp).record()
        if record.receipts or record.digests or record.hidden:
            _settle(copy, Facts(database, Messages(database)), record, stamp, log, leave_out)


def _settle(
    copy: Path, present: Facts, record: ErasedRecord, stamp: Stamp, log: logging.Logger, leave_out: LeaveOut
) -> None:
    of = open_repositories(copy.parent, tokens, stamp, log)
    with closing(of.database):
        with of.database.write() as tx:
            of.erased.take_over(tx, record)
        rounds = Rounds(of)
        eraser = Eraser(of, rounds, [copy.parent], lambda: None)
        messages, wrong = _find_erased(eraser, present), _find_rejected(of, present)
        if (messages or wrong) and leave_out(len(messages) + len(wrong)):
            if messages:
                eraser.erase(eraser.scope_of_messages([message.text_id for message in messages]), "restore")
            for fact in wrong:
                of.fact_log.correct_by_hand(fact.text_id, None)
            with of.database.write() as tx:  # what is rejected again was rejected then
                of.erased.take_over(tx, record)
        elif messages or wrong:
            with of.database.write() as tx:
                of.erased.remove(tx, [SaidMessage.of(message) for message in messages])
                of.erased.remove_values(tx, wrong)
        rounds.hide([message.text_id for message in of.messages.with_ids(record.hidden) if not message.hidden])


def _find_erased(eraser: Eraser, present: Facts) -> list[Message]:
    """The messages that were erased; one that is still in the present memory was not, whatever it says."""
    found = eraser.find_erased()
    there = {message.text_id for message in present.messages.with_ids([message.text_id for message in found])}
    return [message for message in found if message.text_id not in there]


def _find_rejected(of: Repositories, present: Facts) -> list[Fact]:
    """The facts whose value was rejected, but for those in the present memory."""
    facts = [one for one in of.facts.all() if not one.corrected]
    rejected = [text_id for text_id, verdict in of.erased.find_values(facts).items() if verdict == "rejected"]
    there = {one.text_id for one in present.with_ids(rejected) if not one.corrected}
    return [one for one in facts if one.text_id in rejected and one.text_id not in there]
