"""Units: metadata of messages, filters that the database runs, visits that an import brings along."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain import errors
from domain.imports import ImportedMessage, PastPiece
from domain.records import ErasureScope
from tests.contract.stores import Store, at

GIVEN: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("u-0", "user", {"emotion": "joy", "score": 3, "tags": ["work", "home"]}),
    ("u-1", "assistant", {"emotion": "fear", "score": 10.5, "seen": True}),
    ("u-2", "user", {"emotion": "joyful day", "score": -1, "note": None, "role": "narrator"}),
    ("u-3", "assistant", {}),
)


def add_units(store: Store) -> list[str]:
    """Four messages of one session, said now one after another. Returns their ids, the newest first."""
    number = store.imports.begin("bot", "memforest", "0" * 64, 1)
    for minute, (text_id, role, metadata) in enumerate(GIVEN):
        said = ImportedMessage(
            text_id, role, f"words of {text_id}", at(minute), 0, "Ann" if text_id == "u-3" else "",  # type: ignore[arg-type]
            text_id=text_id, metadata=metadata, never_delete=text_id == "u-1",
        )  # fmt: skip
        store.imports.append(number, "memforest\nmonday", "monday", said)
    return [text_id for text_id, *_ in GIVEN][::-1]


@pytest.mark.parametrize(("filters", "found"), [
    ([], ["u-3", "u-2", "u-1", "u-0"]),
    ([("emotion", "==", "joy")], ["u-0"]),
    ([("metadata.emotion", "!=", "joy")], ["u-3", "u-2", "u-1"]),
    ([("emotion", "contains", "joy")], ["u-2", "u-0"]),
    ([("tags", "contains", "home")], ["u-0"]),
    ([("tags", "contains", "hom")], []),
    ([("tags", "contains", 3)], []),
    ([("emotion", ">", "fear")], ["u-2", "u-0"]),
    ([("score", ">", 2)], ["u-1", "u-0"]),
    ([("score", "<=", 3)], ["u-2", "u-0"]),
    ([("score", "==", 3.0)], ["u-0"]),
    ([("score", "in", [3, 10.5])], ["u-1", "u-0"]),
    ([("emotion", "not in", ["joy", "fear"])], ["u-3", "u-2"]),
    ([("seen", "==", True)], ["u-1"]),
    ([("note", "==", None), ("emotion", "!=", None)], ["u-2", "u-1", "u-0"]),
    ([("metadata.role", "==", "user")], ["u-0"]),
    ([("role", "in", ["narrator"])], ["u-2"]),
    ([("round", ">=", 2)], ["u-3", "u-2"]),
    ([("source", "==", "Ann")], ["u-3"]),
    ([("source", "not in", ["Ann", "ai"])], ["u-2", "u-0"]),
    ([("content", "contains", "of u-1")], ["u-1"]),
    ([("id", "==", "u-2")], ["u-2"]),
    ([("never_delete", "==", True)], ["u-1"]),
    ([("creation_time", ">", datetime(2026, 3, 1, 9, 1, tzinfo=UTC))], ["u-3", "u-2"]),
    ([("creation_time", "<=", "2026-03-01T11:01:00+02:00")], ["u-1", "u-0"]),
    ([("pre_id", "==", None)], ["u-0"]),
    ([("next_id", "!=", None), ("group_id", "==", "monday")], ["u-2", "u-1", "u-0"]),
    ([("rank", ">", 0)], []),
    ([("visit_count", "==", 0), ("last_visit", "<", 1)], ["u-3", "u-2", "u-1", "u-0"]),
])  # fmt: skip
def test_a_filter_finds_the_messages_that_pass_newest_first(store: Store, filters, found: list[str]) -> None:
    add_units(store)
    assert store.units.find(filters, 9) == found
    assert store.units.find(filters, 1) == found[:1]
    assert store.units.find(filters, 9, among=["u-0", "u-2"]) == [one for one in found if one in ("u-0", "u-2")]
    assert store.units.find(filters, 9, besides=["u-0"]) == [one for one in found if one != "u-0"]


@pytest.mark.parametrize("wrong", [
    ("rank", ">", "x"), ("rank", "=="), ("emotion", "~", "joy"), ("emotion", "in", "joy"), ("seen", ">", True),
    ("content", "contains", 3), ("creation_time", "==", "soon"), ("source", ">", None),
])  # fmt: skip
def test_a_filter_that_makes_no_sense_is_refused(store: Store, wrong) -> None:
    with pytest.raises(errors.UsageError, match=r"memforest\.filter"):
        store.units.find([wrong], 9)


def test_metadata_comes_back_as_it_was_given_and_goes_with_its_message(store: Store) -> None:
    newest, *_ = add_units(store)
    given = {text_id: metadata for text_id, _, metadata in GIVEN if metadata}
    assert store.units.metadata([*given, newest]) == given
    store.erasure.erase(ErasureScope(tuple(store.messages.with_ids(["u-0"])), (), ()))
    assert store.units.metadata(["u-0"]) == {}
    assert store.units.find([("emotion", "==", "joy")], 9) == []


def test_a_message_knows_its_neighbours_its_session_and_its_visits(store: Store) -> None:
    add_units(store)
    store.archive.visit(["u-1"])
    place = store.units.places(["u-1"])["u-1"]
    assert (place.pre_id, place.next_id, place.parent_id) == ("u-0", "u-2", None)
    assert (place.visit_count, place.last_visit, place.never_delete) == (1, 1, True)
    assert store.chapters.node("life").visit_count == 1  # type: ignore[union-attr]
    store.rounds.hide(["u-0"])
    assert store.units.places(["u-0", "u-1"]).keys() == {"u-1"}
    assert store.units.places(["u-1"])["u-1"].pre_id is None
    assert "u-0" not in store.units.find([], 9)


def test_an_import_brings_metadata_visits_and_the_summary_of_its_session(store: Store) -> None:
    number = store.imports.begin("bot", "memforest", "1" * 64, 1)
    messages = tuple(
        ImportedMessage(
            f"v-{one}", "user", f"said {one}", at(one), 0, text_id=f"v-{one}", visits=(one, 7), metadata={"n": one}
        )
        for one in (1, 2)
    )
    store.imports.add(
        number, [PastPiece("memforest\nm", "", False, messages, session_id="mmm", summary="It was short.")]
    )
    store.imports.end(number, 1)
    summary = store.summaries.of("mmm")
    assert summary is not None
    assert (summary.summary, summary.upto_round) == ("It was short.", 2)
    assert store.imports.summary_and_rest("mmm")[1] == [], "nothing is left to summarise"
    assert store.units.metadata(["v-1", "v-2"]) == {"v-1": {"n": 1}, "v-2": {"n": 2}}
    place = store.units.places(["v-2"])["v-2"]
    assert (place.visit_count, place.last_visit, place.parent_id) == (2, 7, "mmm")
    assert store.archive.rounds_counted() == 7, "what is recalled next is recalled later"
    late = ("creation_time", ">=", datetime(2026, 3, 1, 9, tzinfo=UTC) - timedelta(days=1))
    assert store.units.find_summaries([("rank", "==", 1), late, ("content", "contains", "short")], 9) == ["mmm"]
    assert store.units.find_summaries([("emotion", "==", "joy")], 9) == []


def test_what_is_archived_is_found_by_no_filter(store: Store) -> None:
    add_units(store)
    store.archive.archive(store.archive.oldest_visited(1))
    assert store.units.find([], 9) == ["u-3", "u-2", "u-1"]
