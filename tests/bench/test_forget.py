"""Requests to forget are noticed without a model, and little else is; nothing unrelated is hidden (P22)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.forget import detect_by_both, measure

SETS = Path(__file__).parents[2] / "bench" / "sets"


@pytest.fixture(scope="module", params=["forget.json", "forget_unseen.json"])
def data(request) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((SETS / request.param).read_text(encoding="utf-8"))
    return read


@pytest.fixture(scope="module")
def found(data) -> dict[str, Any]:
    scenes = [one["request"] for one in data.get("scenes", ())]
    return measure(data, detect_by_both([*data["requests"], *data["not_requests"], *scenes]))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_most_requests_are_noticed_and_next_to_nothing_else_is_taken_for_one(found, language):
    of_language = found["by_language"][language]
    assert of_language["requests"] >= 30
    assert of_language["noticed"] >= 0.75
    assert of_language["candidates"] >= 0.95, "what a model is asked about"
    assert of_language["not_requests"] >= 50
    assert of_language["false_alarms"] < 0.02
    assert of_language["read_for_nothing"] < 0.15


def test_the_unseen_list_is_in_no_list_that_the_weights_are_made_of():
    unseen = json.loads((SETS / "forget_unseen.json").read_text(encoding="utf-8"))
    for name in ("forget.json", "forget_training.json"):
        seen = json.loads((SETS / name).read_text(encoding="utf-8"))
        for kind in ("requests", "not_requests"):
            assert not set(seen[kind]).intersection(unseen[kind])


def test_no_round_about_something_else_is_hidden_and_every_scene_loses_what_it_means(data, found):
    assert found["scenes"] == len(data.get("scenes", ()))
    assert found["unrelated"] == []
    assert found["scenes_missed"] == 0


def test_what_is_missed_and_what_is_taken_for_a_request_are_counted():
    found = measure(
        {"requests": ["Please forget my address.", "Hello."], "not_requests": ["Forget my address, please."]}
    )
    assert (found["noticed"], found["false_alarms"], found["missed"]) == (0.5, 1.0, ["Hello."])
