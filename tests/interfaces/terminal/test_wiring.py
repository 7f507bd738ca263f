"""What begins in the background and what ends it may meet at any moment."""

from __future__ import annotations

import importlib.util
import logging
import threading
from pathlib import Path

from interfaces.terminal.wiring import BEHIND_THE_PROMPT, make_warmer
from memory import Memory
from recall.embedding import HashedEmbedder
from tests.conftest import Count, SetClock


def test_a_start_that_comes_after_the_close_does_nothing(tmp_path: Path) -> None:
    log = logging.Logger("quiet", logging.CRITICAL)
    memory = Memory(tmp_path / "data", HashedEmbedder(), clock=SetClock(), new_id=Count(), log=log)
    memory.close()
    memory.start()
    assert not memory.index.settle(0.0)


def test_everything_that_is_to_be_loaded_behind_the_prompt_is_there() -> None:
    assert [name for name in BEHIND_THE_PROMPT if importlib.util.find_spec(name) is None] == []


def test_what_fails_while_libraries_load_is_logged_and_not_shown(caplog, capsys) -> None:
    def fail() -> None:
        raise OSError("the disk is gone")

    log = logging.Logger("warming")
    log.addHandler(caplog.handler)
    make_warmer(log, names=("json",), then=fail)()
    for thread in threading.enumerate():
        if thread.name == "warming":
            thread.join(60)
    assert "the disk is gone" in caplog.text
    assert capsys.readouterr() == ("", "")
