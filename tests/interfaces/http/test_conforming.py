"""The server does what its description says, with a token and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.http.conforming import conforming


@pytest.mark.torture
def test_every_answer_is_one_that_the_description_names(tmp_path: Path) -> None:
    done = conforming(tmp_path, examples=5)
    assert done.returncode == 0, done.stdout + done.stderr
