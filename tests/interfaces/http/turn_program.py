"""The program with the routes that tests try things with: ``main.py``, but for its application."""

from __future__ import annotations

from fastapi import FastAPI

import main
from interfaces.http import app
from people import People
from tests.support.served import trying

make_app = app.make_app


def make_app_with_trials(people: People, version: str, *, only_here: bool) -> FastAPI:
    made = make_app(people, version, only_here=only_here)
    app.add_api(made, trying(people))
    return made


if __name__ == "__main__":
    app.make_app = make_app_with_trials  # type: ignore[assignment]
    main._end_process(main.main())
