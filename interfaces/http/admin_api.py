"""Administration, for a token for many people: who is served, and all of one person looked at, taken along or erased.

For any other caller these paths are not found. Path operations block, and run in threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from fastapi.responses import StreamingResponse

from interfaces.http.callers import Calling
from interfaces.http.error_answers import Detail
from interfaces.service.administration import Administration
from interfaces.service.bodies import (
    LONGEST_ID,
    ErasedPerson,
    ForgetResponse,
    KnownPerson,
    StoredMemories,
)
from interfaces.service.memory_service import MemoryService
from people import People

_AT_ONCE = 65_536
#: Below the folder of the one at the terminal lie those of all others.
_OWNER: dict[int | str, dict[str, Any]] = {409: {"model": Detail, "description": "The owner of the server"}}
#: The largest whole number that every client of JSON can write.
_LARGEST = 2**53 - 1
_ZIP: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}
}
_Person = Annotated[str, Path(min_length=1, max_length=LONGEST_ID, description="Whose memory is meant.")]
_MemoryId = Annotated[
    str, Query(min_length=1, max_length=LONGEST_ID, description="The id of what is erased.")
]


def _administrator(caller: Calling) -> None:
    if caller.only is not None:
        raise HTTPException(404, "Not Found")


def router(people: People, service: MemoryService) -> APIRouter:
    """The paths below ``/admin``."""
    routes = APIRouter(prefix="/admin", tags=["administration"], dependencies=[Depends(_administrator)])
    admin = Administration(people, service)

    @routes.get("/people", summary="Everybody who was ever served")
    def persons(caller: Calling) -> list[KnownPerson]:
        caller.nobody()
        return admin.persons()

    @routes.delete("/people/{person:path}", summary="Erase a person whole, with proof", responses=_OWNER)
    def erase(person: _Person, caller: Calling) -> ErasedPerson:
        return admin.erase(caller.person(person))

    @routes.get(
        "/export/{person:path}",
        summary="All there is of a person, as a ZIP file",
        response_class=StreamingResponse,
        responses=_ZIP,
    )
    def export(person: _Person, caller: Calling) -> StreamingResponse:
        whole = admin.export(caller.person(person))
        headers = {"Content-Disposition": 'attachment; filename="person.zip"', "Cache-Control": "no-store"}
        return StreamingResponse(_parts(whole), media_type="application/zip", headers=headers)

    @routes.get("/memories/{person:path}", summary="What is stored of a person")
    def memories(
        person: _Person,
        caller: Calling,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
        offset: Annotated[int, Query(ge=0, le=_LARGEST)] = 0,
    ) -> StoredMemories:
        return admin.memories(caller.person(person), limit, offset)

    @routes.delete("/memories/{person:path}", summary="Erase one memory of a person, with proof")
    def forget(person: _Person, memory_id: _MemoryId, caller: Calling) -> ForgetResponse:
        return service.forget(memory_id, caller.person(person))

    return routes


def _parts(whole: IO[bytes]) -> Iterator[bytes]:
    with whole:
        while part := whole.read(_AT_ONCE):
            yield part
