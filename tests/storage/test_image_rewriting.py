"""A pinned line stays in an image."""

from __future__ import annotations

from storage.images import with_pins


def test_missing_pins_are_added_once_and_in_order() -> None:
    text = with_pins("Likes tea.", ["Call her Annie.", "Likes tea.", "Never mention Bob."])
    assert text == "Likes tea.\nCall her Annie.\nNever mention Bob."
    assert with_pins(text, ["Call her Annie."]) == text
    assert with_pins("", ["Call her Annie."]) == "Call her Annie."
