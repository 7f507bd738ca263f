"""Requests to forget are noticed without a model, and little else is; nothing unrelated is hidden (P22)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.forget import measure

SETS = Path(__file__).parents[2] / "bench" / "sets"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_rules_notice_most_requests_and_take_next_to_nothing_else_for_one(language):
    found = measure(json.loads((SETS / "forget.json").read_text(encoding="utf-8")))
    of_language = found["by_language"][language]
    assert of_language["requests"] > 60
    assert of_language["noticed"] >= 0.85
    assert of_language["candidates"] >= 0.95, "what a model is asked about"
    assert of_language["not_requests"] > 200
    assert of_language["false_alarms"] < 0.02


def test_no_round_about_something_else_is_hidden_and_every_scene_loses_what_it_means():
    found = measure(json.loads((SETS / "forget.json").read_text(encoding="utf-8")))
    assert found["scenes"] >= 17
    assert found["unrelated"] == []
    assert found["scenes_missed"] == 0


def test_what_is_missed_and_what_is_taken_for_a_request_are_counted():
    found = measure(
        {"requests": ["Please forget my address.", "Hello."], "not_requests": ["Forget my address, please."]}
    )
    assert (found["noticed"], found["false_alarms"], found["missed"]) == (0.5, 1.0, ["Hello."])
