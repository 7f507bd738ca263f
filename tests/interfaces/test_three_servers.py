"""Three servers on one database behind a balancer, killed one after another: nothing is lost, doubled or refused.

``SERVERS_KILLED`` servers are killed, one every ``SECONDS_BETWEEN``, while ``PEOPLE`` talk; few of each by default.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from people import EVERYBODY, Registry, registry_in
from storage.postgres.database import PostgresDatabase, Server
from tests.contract.stores import QUIET
from tests.storage.postgres.server import own_database
from tests.support import served
from tests.support.program import connected
from tests.support.server import ScriptedServer

PEOPLE, KILLS = int(os.environ.get("PEOPLE", "12")), int(os.environ.get("SERVERS_KILLED", "2"))
SECONDS = float(os.environ.get("SECONDS_BETWEEN", "2"))
#: People who say something at the same moment; how often a request is sent again, and the seconds before that.
AT_ONCE, ATTEMPTS, PAUSE = 6, 240, 0.5


class Balancer:
    """Passes each connection on to the next server that takes it, in a thread of its own."""

    def __init__(self, servers: list[served.Server]) -> None:
        self.port, self._servers, self._next = 0, servers, 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        listening = asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self._listening = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        self.port = self._listening.sockets[0].getsockname()[1]

    async def _pass_on(self, asking: asyncio.StreamReader, answering: asyncio.StreamWriter) -> None:
        try:
            for _ in self._servers:
                self._next = (self._next + 1) % len(self._servers)
                with suppress(ConnectionRefusedError):
                    there = await asyncio.open_connection("127.0.0.1", self._servers[self._next].port)
                    await asyncio.gather(_copy(asking, there[1]), _copy(there[0], answering))
                    break
        except OSError:
            pass
        finally:
            answering.close()

    def close(self) -> None:
        async def end() -> None:
            self._listening.close()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0.1)  # what was closed is closed in the next turns of the loop

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while part := await source.read(1 << 16):
            target.write(part)
            await target.drain()
    except OSError:
        pass
    finally:
        target.close()


class Talk:
    """What people say through the balancer; a request that fails is sent again as it was."""

    def __init__(self, port: int, token: str) -> None:
        self.acknowledged: dict[str, list[str]] = {f"person {number}": [] for number in range(PEOPLE)}
        self.refused, self.again = list[str](), 0
        self.enough = threading.Event()
        self._port = port
        self._head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def talk(self, number: int) -> None:
        """Every so-manieth person says one thing after another, by turns as a message and as a chat."""
        people, place = list(self.acknowledged)[number::AT_ONCE], 0
        while not self.enough.is_set():
            place += 1
            for person in people:
                text = f"I count {place} boats of {person}."
                chat = {"messages": [{"role": "user", "content": text}], "user": person}
                alone = {"input": text, "user_id": person, "request_id": f"{person} {place}"}
                path, body = ("/process", alone) if place % 2 else ("/v1/chat/completions", chat)
                if not self._ask(path, body):
                    return
                self.acknowledged[person].append(text)

    def _ask(self, path: str, body: object) -> bool:
        answered = ""
        for _ in range(ATTEMPTS):
            line = HTTPConnection("127.0.0.1", self._port, timeout=120)
            with suppress(OSError, HTTPException), closing(line):
                line.request("POST", path, json.dumps(body), self._head)
                came = line.getresponse()
                answered = f"{came.status} {came.read()!r}"
                if came.status == 200:
                    return True
            self.again += 1
            threading.Event().wait(PAUSE)
        self.refused.append(f"{path} {body}: {answered}")
        self.enough.set()
        return False


@contextmanager
def balanced(servers: list[served.Server]) -> Iterator[Balancer]:
    with closing(Balancer(servers)) as balancer:
        yield balancer


def test_of_three_servers_one_after_another_is_killed_and_nothing_is_lost_doubled_or_refused(tmp_path: Path) -> None:
    url = own_database(tmp_path)
    limits = {"REQUESTS_PER_MINUTE": "100000", "REQUESTS_AT_ONCE": "100000"}
    with ScriptedServer() as model, ExitStack() as opened:
        model.answer = lambda request: f"Yes: {request['messages'][-1]['content'][-60:]}"
        settings = connected(model.base, DATABASE_URL=url, **limits)

        def start(name: str) -> served.Server:
            (tmp_path / name).mkdir(exist_ok=True)
            return opened.enter_context(served.program(tmp_path / name, **settings))

        servers = [start(name) for name in "abc"]
        with closing(Registry(registry_in(tmp_path), lambda: datetime.now(UTC), url)) as registry:
            token = registry.add_token("everyone", EVERYBODY)
        with balanced(servers) as balancer, ThreadPoolExecutor(AT_ONCE) as threads:
            talk = Talk(balancer.port, token)
            talking = [threads.submit(talk.talk, number) for number in range(AT_ONCE)]
            try:
                for number in range(KILLS):
                    talk.enough.wait(SECONDS)
                    killed = servers[number % 3]
                    assert killed.process
                    killed.process.kill()
                    killed.process.wait()
                    servers[number % 3] = start("abc"[number % 3])
                talk.enough.wait(SECONDS)
            finally:
                talk.enough.set()
            for one in talking:
                one.result()
        for one in servers:
            assert served.ended(one)[0] == 0
    assert talk.refused == []
    assert sum(map(len, talk.acknowledged.values())) > PEOPLE
    with closing(Server(url)) as connections:
        for person, texts in talk.acknowledged.items():
            of = PostgresDatabase(connections, json.dumps([person, None]), QUIET)
            said = Counter(row[0] for row in of.run("SELECT text FROM conversation WHERE role = 'user'"))
            assert {f"User: {text}" for text in texts} <= said.keys()
            assert [text for text, count in said.items() if count > 1] == []
