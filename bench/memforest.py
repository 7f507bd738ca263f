"""What MemForest's calls cost: ``add_memory`` by the length of its session, and queries that are narrowed.

    python -m bench.memforest --units 10000

Vectors are random, of 256 numbers, so that no model is timed. Prints milliseconds, the median and the 95th percentile:
as they pass, and of the processor in the calling thread, which is what is left where others use the machine, too. At
last what one commit costs, which ``add_memory`` shares: of one unit, and of fifty.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from interfaces.python.memforest import EmbeddingHandler, MemorySystem

BEGAN = datetime(2025, 1, 1, tzinfo=UTC)
MOODS = ("joy", "fear", "calm", "anger", "surprise")
DIMENSION, ROUNDS = 256, 15


class RandomModel:
    """A vector for each text, the same for the same text in one run."""

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """A vector a text."""
        return [np.random.default_rng(hash(text) % 2**32).normal(size=DIMENSION) for text in texts]


def main() -> None:
    """Fill a memory and print what each call costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--session", type=int, default=0, help="units of a session; 0: all in one")
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        settings = {"LOG_DIR": f"{folder}/logs", "OPENAI_API_KEY": "", "OPENAI_API_BASE": ""}
        handler = EmbeddingHandler(model=RandomModel())
        with MemorySystem("bench", "life", handler, base_path=folder, settings=settings) as memory:
            measure_adding(memory, given.units, given.session)
            measure_queries(memory, handler)
            measure_commits(memory)


def measure_adding(memory: MemorySystem, units: int, session: int) -> None:
    """Add units, and print what a fifth of them after the other costs."""
    spent: list[np.ndarray] = []
    for number in range(units):
        if session and number and number % session == 0:
            memory.start_new_session()
        metadata = {"emotion": MOODS[number % len(MOODS)], "number": number}
        began = now()
        memory.add_memory(
            f"Message {number} is about topic {number % 97}.", source="user" if number % 2 == 0 else "ai",
            creation_time=BEGAN + timedelta(minutes=number), metadata=metadata,
        )  # fmt: skip
        spent.append(now() - began)
    for start in range(0, units, max(1, units // 5)):
        show(f"add_memory, from unit {start}", spent[start : start + units // 5])


def measure_queries(memory: MemorySystem, handler: EmbeddingHandler) -> None:
    """Print what queries cost, with vectors made before."""
    memory.flush(force=True)
    vector = handler.get_embedding("topic").tolist()
    joy, rare, none = [("emotion", "==", "joy")], [("number", "<", 5)], [("emotion", "==", "envy")]
    memory.enable_stm(200, "LATEST")
    calls: dict[str, Callable[[], object]] = {
        "vector": lambda: memory.query(vector),
        "vector, a fifth passes": lambda: memory.query(vector, filters=joy),
        "vector, five pass": lambda: memory.query(vector, filters=rare),
        "vector, nothing passes": lambda: memory.query(vector, filters=none),
        "vector, short_term_only": lambda: memory.query(vector, short_term_only=True, add_ltm_to_stm=False),
        "vector, long_term_only": lambda: memory.query(vector, long_term_only=True, add_ltm_to_stm=False),
        "filter alone": lambda: memory.query(filters=joy),
        "filter alone, nothing passes": lambda: memory.query(filters=none),
        "summaries alone": lambda: memory.query(filters=[("rank", ">=", 1)]),
        "text": lambda: memory.query(text="topic 12"),
        "text, a fifth passes": lambda: memory.query(text="topic 12", filters=joy),
        "text, nothing passes": lambda: memory.query(text="topic 12", filters=none),
    }
    for name, call in calls.items():
        call()
        spent = []
        for _ in range(ROUNDS):
            began = now()
            call()
            spent.append(now() - began)
        show(name, spent)


def measure_commits(memory: MemorySystem) -> None:
    """Print what it costs to have units on the disk at once."""
    for units in (1, 50):
        spent = []
        for _ in range(ROUNDS):
            for number in range(units):
                memory.add_memory(f"Message {number} is the last.", source="user")
            began = now()
            memory.flush()
            spent.append(now() - began)
        show(f"flush of {units}", spent)


def now() -> np.ndarray:
    """The moment, and the time that this thread had a processor."""
    return np.array((time.perf_counter(), time.thread_time()))


def show(name: str, spent: Sequence[np.ndarray]) -> None:
    """One line: the median and the 95th percentile in milliseconds, as they pass and of the processor."""
    (middle, middle_cpu), (high, high_cpu) = 1000 * np.percentile(spent, (50, 95), axis=0)
    print(f"{name:32} {middle:8.2f} {high:8.2f}   {middle_cpu:8.2f} {high_cpu:8.2f}", flush=True)


if __name__ == "__main__":
    main()
