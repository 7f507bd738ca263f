"""The program with the routes that tests try things with: ``main.py``, but for its application."""

from __future__ import annotations

import main
from interfaces.http.app import add_door, make_app
from people import People
from tests.served import trying


def app(people: People, only_here: bool) -> object:
    made = make_app(people, main.VERSION, only_here=only_here)
    add_door(made, trying(people))
    return made


if __name__ == "__main__":
    main._app = app  # type: ignore[assignment]
    main._end(main.main())
