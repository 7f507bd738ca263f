"""The application: guards, then a router for each kind of client."""

from __future__ import annotations

from fastapi import FastAPI

from interfaces.http import chat_api
from interfaces.http.guards import guard
from people import People


def make_app(people: People, version: str) -> FastAPI:
    """All doors over HTTP, on these people's memories. ``people`` is closed by whoever opened it."""
    app = FastAPI(title="Old Friend", version=version)
    guard(app, people)
    app.include_router(chat_api.router(people))
    return app
