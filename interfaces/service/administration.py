"""What a program that speaks for everybody may do with a person: look, take everything along, erase. Knows no HTTP."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import IO

from domain.errors import UsageError
from interfaces.service.bodies import ErasedPerson, ErasureProof, KnownPerson, StoredMemories, StoredMemory
from interfaces.service.memories_told import moment
from interfaces.service.memory_service import MemoryService
from memory import Memory, write_portable
from people import People

#: Sessions that are read at once.
_SESSIONS = 50


class Administration:
    """The verbs, over the memories of many people. Each raises UsageError for whoever was never served."""

    def __init__(self, people: People, service: MemoryService) -> None:
        self._people = people
        self._service = service

    def persons(self) -> list[KnownPerson]:
        """Everybody who was ever served, the first first."""
        served = self._people.registry.first_served()
        return [KnownPerson(user_id=one, since=moment(when)) for one, when in served.items()]

    def memories(self, person: str, limit: int, offset: int) -> StoredMemories:
        """What is stored of a person: facts, the last learned first, then what was said, the last session first."""
        self._check(person)
        with self._people.companion(person) as companion:
            found = list(islice(_stored(companion.memory), offset, offset + limit + 1))
        return StoredMemories(memories=tuple(found[:limit]), more=len(found) > limit)

    def export(self, person: str) -> IO[bytes]:
        """A ZIP file of all there is of a person, without a name on the disk; whoever reads it closes it.

        ``about-person.json`` says who it is; each memory is a document of its own, which ``--import`` takes.
        """
        self._check(person)
        registry = self._people.registry
        known = {
            "user_id": person,
            "since": registry.first_served().get(person),
            "system_instructions": [asdict(one) for one in registry.instructions(person)],
        }
        whole = tempfile.TemporaryFile()  # noqa: SIM115 - handed to whoever asked
        try:
            with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as file:
                file.writestr("about-person.json", json.dumps(known, ensure_ascii=False, indent=2))
                for number, memory in self._people.folders(person):
                    name = "own-memory.json" if number is None else f"memory-of-instruction-{number}.json"
                    # Inside of the memory's own folder: what a crash leaves of it goes with the memory.
                    with tempfile.TemporaryDirectory(prefix=".export-", dir=memory) as folder:
                        write_portable(memory, Path(folder) / name, self._people.clock)
                        file.write(Path(folder) / name, name)
            whole.seek(0)
        except BaseException:
            whole.close()
            raise
        return whole

    def erase(self, person: str) -> ErasedPerson:
        """Erase a person whole, out of every file, and prove it."""
        self._check(person)
        proofs = self._service.erase_person(person)
        return ErasedPerson(
            user_id=person,
            memories=len(proofs),
            proof=ErasureProof(
                files_searched=sum(one.files for one in proofs),
                traces_left=sum(len(one.traces) for one in proofs),
            ),
        )

    def _check(self, person: str) -> None:
        if not self._people.knows(person):
            raise UsageError("person.unknown")


def _stored(memory: Memory) -> Iterator[StoredMemory]:
    for fact in reversed(memory.facts.all()):
        yield StoredMemory(id=fact.text_id, kind="fact", date=moment(fact.said), text=fact.restatement)
    offset = 0
    while sessions := memory.sessions.recent(_SESSIONS, offset):
        offset += len(sessions)
        for session in sessions:
            for turn in reversed(memory.messages.of_session(session.session_id)):
                yield StoredMemory(
                    id=turn.text_id, kind=turn.role, date=moment(turn.timestamp), text=turn.words
                )
