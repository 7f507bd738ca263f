"""``kill -9`` at any moment of the worker's life leaves an index that opens, or is built again, and is right."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from storage.vectors.table import normalise
from tests.interfaces.terminal.pseudo import environment
from tests.storage.vectors.indexed import IndexedStore
from tests.support.warm import Piped

HOUSE = Path(__file__).parents[3]
LIFE = """
import sys
from pathlib import Path
from tests.storage.vectors.indexed import IndexedStore
store = IndexedStore(Path(sys.argv[1])).started()
first = int(store.database.run("SELECT coalesce(max(seq), 0) FROM conversation")[0][0])
if not first:
    store.add_session("s1")
for number in range(first, first + 4000, 2):
    store.add_messages("s1", [f"said {number} of tea", f"answered {number} of ships"], first=number)
    if number % 14 == 0:
        store.remove_messages([f"s1-{number}"])
    print(number, flush=True)
    store.settle()
"""


def live_and_die(folder: Path, seconds: float) -> None:
    command = [sys.executable, "-c", LIFE, str(folder)]
    with Piped(command, cwd=HOUSE, env=environment(folder), stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)


def violations(store: IndexedStore) -> list[str]:
    """What is not as it should be after everything has settled."""
    messages = {row[0] for row in store.database.run("SELECT text_id FROM conversation")}
    indexed = [text_id.decode() for text_id in store.vectors.ids().tolist()]
    found = [] if sorted(messages) == sorted(indexed) else [f"ids differ: {len(messages)} {len(indexed)}"]
    table = store.vectors._table.search().select(["text_id", "vector"]).limit(None).to_arrow()
    for text_id, vector in zip(table["text_id"].to_pylist(), table["vector"].to_pylist(), strict=True):
        expected = normalise(store.oracle.vector(store.key_of(text_id) or ""), store.oracle.dimension)
        if expected.tolist() != vector:
            found.append(f"wrong vector of {text_id}")
    return found


def test_killed_at_any_moment_the_index_is_right_again(tmp_path: Path) -> None:
    chance, tried = random.Random(4), int(os.environ.get("KILLS", "2"))
    for _ in range(tried):
        live_and_die(tmp_path, chance.uniform(0.0, 2.5))
        store = IndexedStore(tmp_path).started()
        assert store.settle()
        assert violations(store) == []
        store.close()
    print(f"killed {tried} times, 0 violations")
