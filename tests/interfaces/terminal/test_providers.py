"""Finding where models are: addresses, servers of this machine, embedding models."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

import config
from domain import errors
from domain.settings import Settings
from interfaces.terminal.setup_wizard import KNOWN, Provider, embedding_of, found_here, local_addresses, probe_server
from llm import Llm
from models.chat import Patience
from tests.support.server import ScriptedServer, closed_port


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return config.load_settings(tmp_path, {})


def connect(settings: Settings) -> Llm:
    return Llm(
        settings, logging.Logger("test", logging.CRITICAL), clock=lambda: datetime.now(UTC), patience=Patience(most=0.0)
    )


def test_an_address_is_tried_as_given_and_with_v1(server: ScriptedServer, settings: Settings) -> None:
    assert local_addresses("http://x/") == ["http://x", "http://x/v1"]
    assert local_addresses("http://x/v1") == ["http://x/v1"]
    answered = probe_server(connect, settings, server.base.removesuffix("/v1"), "key")
    assert answered.base == server.base
    assert answered.names == tuple(server.models)


def test_servers_of_this_machine_are_found_by_asking_their_ports(server: ScriptedServer, settings: Settings) -> None:
    silent = f"http://127.0.0.1:{closed_port()}/v1"
    here = [Provider("Ollama", server.base), Provider("vLLM", silent)]
    found = found_here(connect, settings, here)
    assert set(found) == {"Ollama"}
    assert found["Ollama"].names == tuple(server.models)


def test_no_key_of_the_settings_is_sent_to_a_server_that_is_only_looked_for(
    server: ScriptedServer, tmp_path: Path
) -> None:
    mine = config.load_settings(tmp_path, {"OPENAI_API_KEY": "sk-mine-0123456789abcdef"})
    found_here(connect, mine, [Provider("Ollama", server.base)])
    assert server.requests
    assert all("sk-mine" not in str(request.headers) for request in server.requests)


def test_nothing_there_is_what_the_first_address_said(settings: Settings) -> None:
    with pytest.raises(errors.Unreachable):
        probe_server(connect, settings, f"http://127.0.0.1:{closed_port()}", "")


def test_the_embedding_model_is_the_providers_own_or_one_that_is_named_so() -> None:
    openai, deepseek = KNOWN[0], KNOWN[1]
    assert embedding_of(openai, ["gpt", "text-embedding-3-small"]) == "text-embedding-3-small"
    assert embedding_of(openai, ["gpt"]) == ""
    assert embedding_of(deepseek, ["deepseek-chat"]) == ""
    assert embedding_of(Provider("Ollama", "x"), ["llama", "nomic-embed-text"]) == "nomic-embed-text"
