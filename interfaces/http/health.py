"""``GET /health``: whether this server is well, for whoever watches over it. It tells nothing of anybody."""

from __future__ import annotations

from typing import Literal

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Response
from pydantic import BaseModel

from domain import errors
from people import Companion, People


class Checks(BaseModel):
    """What was looked at. ``outbox_pending``: texts of open memories that have no vector yet."""

    database: Literal["ok", "failed"]
    vector_index: Literal["ok", "degraded"]
    outbox_pending: int


class Health(BaseModel):
    """Whether all is well. Degraded: everything is answered, but recall does without something, or a disk fails."""

    status: Literal["ok", "degraded"]
    version: str
    checks: Checks


def router(people: People, version: str) -> APIRouter:
    """The one path. It waits for no thread in which somebody's turn is under way."""
    routes = APIRouter()
    aside = CapacityLimiter(1)

    @routes.get("/health", summary="Whether the server is well")
    async def health(response: Response) -> Health:
        checks = await to_thread.run_sync(_checked, people, limiter=aside)
        well = checks.database == "ok" and checks.vector_index == "ok"
        response.headers["Cache-Control"] = "no-store"
        return Health(status="ok" if well else "degraded", version=version, checks=checks)

    return routes


def _checked(people: People) -> Checks:
    pending, searching, reading = 0, True, True
    try:
        people.registry.persons()
        for companion in people.open_now():
            pending += companion.memory.waiting_for_vectors()
            searching = searching and _finds(companion)
    except errors.StorageError:
        reading = False
    return Checks(
        database="ok" if reading else "failed",
        vector_index="ok" if searching else "degraded",
        outbox_pending=pending,
    )


def _finds(companion: Companion) -> bool:
    """An index that is still being opened, or catches up, is no trouble."""
    progress = companion.memory.index_progress()
    failed = progress is not None and progress.doing == "failed"
    return not failed and "embeddings" not in companion.memory.index_degraded
