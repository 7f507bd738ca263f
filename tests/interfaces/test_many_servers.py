"""Two servers, each a process of its own, on one database: what one counts, does or erases holds for the other."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from people import Registry, registry_in
from tests.storage.postgres.server import own_database
from tests.support.program import connected
from tests.support.served import Server, program, until
from tests.support.server import ScriptedServer, answer, whole

CHAT = "/v1/chat/completions"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return own_database(tmp_path)


@pytest.fixture
def registry(tmp_path: Path, url: str) -> Iterator[Registry]:
    with closing(Registry(registry_in(tmp_path), lambda: datetime.now(UTC), url)) as registry:
        yield registry


@contextmanager
def servers(folder: Path, url: str, base: str, count: int = 2, **settings: str) -> Iterator[list[Server]]:
    """So many processes that serve from one database."""
    given = connected(base, EMBEDDING_MODEL="built-in", DATABASE_URL=url, **settings)
    with ExitStack() as running:
        for number in range(count):
            (folder / str(number)).mkdir()
        yield [running.enter_context(program(folder / str(number), **given)) for number in range(count)]


def administrator(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url.replace("app:secret", "postgres"), autocommit=True)


def said(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def test_two_servers_together_let_in_exactly_as_many_requests_as_one_may(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    token, other = registry.add_token("phone", "ann"), registry.add_token("watch", "ann")
    with servers(tmp_path, url, server.base, REQUESTS_PER_MINUTE="7") as both, ThreadPoolExecutor(8) as at_once:
        asked = at_once.map(lambda number: both[number % 2].ask("GET", "/nothing", token=token), range(30))
        answers = list(asked)
        assert Counter(one.status for one in answers) == {404: 7, 429: 23}
        assert all(1 <= int(one.headers["retry-after"]) <= 60 for one in answers if one.status == 429)
        assert both[1].ask("GET", "/nothing", token=other).status == 404
        with administrator(url) as connection:  # as if the first of them had come a minute ago
            connection.execute("UPDATE registry.arrival SET at = at - interval '1 minute' WHERE place IN (0, 1)")
        statuses = [both[number % 2].ask("GET", "/nothing", token=token).status for number in range(4)]
        assert statuses == [404, 404, 429, 429]


def test_what_is_under_way_on_one_server_counts_on_the_other_until_that_one_dies(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    go_on, came = threading.Event(), threading.Semaphore(0)

    def reply(request: Any) -> str:
        came.release()
        assert go_on.wait(100)
        return "Yes."

    server.answer = reply
    token = registry.add_token("phone", "ann")
    with servers(tmp_path, url, server.base, REQUESTS_AT_ONCE="2") as (first, second), ThreadPoolExecutor(2) as at_once:
        waiting = [at_once.submit(one.ask, "POST", CHAT, said("Hello."), token=token) for one in (first, second)]
        for _ in waiting:
            assert came.acquire(timeout=100)
        assert [one.ask("GET", "/page/sessions", token=token).status for one in (first, second)] == [429, 429]
        assert first.process
        first.process.kill()
        assert first.process.wait(60)
        with pytest.raises(OSError):
            waiting[0].result()
        assert second.ask("GET", "/page/sessions", token=token).status == 429
        with administrator(url) as connection:  # half a minute later
            connection.execute(
                "UPDATE registry.program SET until = now() WHERE name IN"
                " (SELECT name FROM registry.program ORDER BY until LIMIT 1)"
            )
        assert second.ask("GET", "/page/sessions", token=token).status == 200
        go_on.set()
        assert waiting[1].result().status == 200
        until(lambda: not registry.server or not registry.server.ask("SELECT 1 FROM registry.under_way"))


def test_the_tokens_of_a_day_are_those_of_both_servers(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    used: dict[str, Any] = {"prompt_tokens": 700, "completion_tokens": 50, "total_tokens": 750}
    server.script(*[answer(whole("Nice cat.") | {"usage": used})] * 2)
    token, other = registry.add_token("phone", "ann"), registry.add_token("watch", "ann")
    with servers(tmp_path, url, server.base, TOKENS_PER_DAY="1500") as (first, second):
        answers = [one.ask("POST", CHAT, said("My cat is Douban."), token=token).status for one in (first, second)]
        assert answers == [200, 200]
        refused = [one.ask("POST", CHAT, said("And she is grey."), token=token).status for one in (first, second)]
        assert refused == [429, 429]
        assert second.ask("POST", CHAT, said("And she is grey."), token=other).status == 200
    registry.remove_person("ann")
    with administrator(url) as connection:
        assert connection.execute("SELECT caller FROM registry.usage").fetchall() == []
