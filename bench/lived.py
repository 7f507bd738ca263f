"""A life lived through the program, then asked about.

    python -m bench.lived --life life-en.json --base http://127.0.0.1:8920/v1 --keep FOLDER

Every evening is a session: its turns are said in their order at their times, the companion's replies are those of the
file, and folds, summaries, notes and personas come from the model behind ``--base`` (any OpenAI-compatible server).
Then the questions are asked in a new session, each answered by that model. Every request that reached the model lies in
``--keep`` with its reply, so that a second run asks only what is new (``bench.kept_replies``); the prompts of the fixed
replies lie beside them.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.kept_replies import KeptReplies
from bench.living import lived, read_life


def main(given: Sequence[str] | None = None) -> None:
    """Live a life and print the questions with their answers."""
    parser = argparse.ArgumentParser(prog="python -m bench.lived")
    parser.add_argument("--life", type=Path, required=True)
    parser.add_argument("--base", required=True, help="an OpenAI-compatible server")
    parser.add_argument("--keep", type=Path, required=True, help="a folder for requests and replies")
    parser.add_argument("--questions", type=int, default=None, help="ask only the first so many")
    options = parser.parse_args(given)
    options.keep.mkdir(parents=True, exist_ok=True)
    life, replies = read_life(options.life), KeptReplies(options.base, options.keep, "life")
    log = logging.Logger("life", logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, lived(life, replies, Path(folder), log, "auto") as whole:
        for question in life["questions"][: options.questions]:
            print(f"{question['q']}\n    {whole.ask(question['q'])[1]}")
    for number, seen in enumerate(whole.transport.seen, 1):
        print(f"{number:3} {seen.kind:40} {seen.path.name}")


if __name__ == "__main__":
    main()
