"""``/memory fading`` and ``/memory keep``: a person sees what goes next, and can keep it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.program import run

TALK = "We saw a zeppelin over the lake.\n/save\nMy cat Momo broke the blue vase.\n/save\n"


@pytest.mark.parametrize(
    ("language", "limit", "none"),
    [("en", "of at most 1 (MAX_MEMORIES)", "there is no limit"), ("zh", "最多 1 条（MAX_MEMORIES）", "没有上限")],
)
def test_what_goes_next_is_shown_and_what_would_go_first_where_nothing_has_to(
    tmp_path: Path, language: str, limit: str, none: str
):
    free = run(tmp_path, "--batch", "-", given=f"{TALK}/memory fading\n", LANGUAGE=language)
    assert none in free.out + free.err
    assert "zeppelin" in free.out + free.err
    bound = run(tmp_path, "--batch", "-", given="/memory fading\n", LANGUAGE=language, MAX_MEMORIES="1")
    assert limit in bound.out + bound.err


def test_a_session_that_is_kept_is_not_among_those_that_go(tmp_path: Path):
    first = run(tmp_path, "--batch", "-", given=f"{TALK}/memory fading\n/sessions\n", LANGUAGE="en")
    assert "zeppelin" in first.err + first.out
    kept = run(tmp_path, "--batch", "-", given="/memory keep life\n/memory fading\n", LANGUAGE="en")
    assert "life will never fade" in kept.out + kept.err
    assert "Nothing can fade" in kept.out + kept.err
    again = run(tmp_path, "--batch", "-", given="/memory keep life off\n/memory fading\n", LANGUAGE="en")
    assert "First to fade" in again.out + again.err


def test_an_id_that_nothing_or_too_much_begins_with_changes_nothing(tmp_path: Path):
    ran = run(tmp_path, "--batch", "-", given=f"{TALK}/memory keep nobody\n/memory fading\n", LANGUAGE="en")
    assert "0 messages or sessions start with nobody" in ran.out + ran.err
    assert "zeppelin" in ran.out + ran.err


@pytest.mark.parametrize(
    "wrong", [{"MAX_MEMORIES": "-1"}, {"FORGET_PERCENTAGE": "0"}, {"FORGET_PERCENTAGE": "101"}, {"FORGET_MODE": "burn"}]
)
def test_a_limit_that_is_none_is_refused_in_one_line(tmp_path: Path, wrong: dict[str, str]):
    ran = run(tmp_path, "-p", "Hello", **wrong)
    assert ran.code != 0
    assert next(iter(wrong)) in ran.err
