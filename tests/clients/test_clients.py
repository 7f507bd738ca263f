"""The client that comes along with us is tried with the torture; the others by ``make clients``."""

from __future__ import annotations

import pytest

from tests.clients.__main__ import main


@pytest.mark.torture
def test_openai_python_holds_a_chat_against_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["openai-python"]) == 0
    assert capsys.readouterr().out.startswith("passed   openai-python")
