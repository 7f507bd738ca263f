"""The program with the routes that tests try things with: ``main.py``, but for its application."""

from __future__ import annotations

import main
from interfaces.http.app import add_api, make_app
from people import People
from tests.support.served import trying


def app(people: People, only_here: bool) -> object:
    made = make_app(people, main.VERSION, only_here=only_here)
    add_api(made, trying(people))
    return made


if __name__ == "__main__":
    main._make_http_app = app  # type: ignore[assignment]
    main._end_process(main.main())
