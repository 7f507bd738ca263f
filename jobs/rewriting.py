"""One image made anew by the model, for ``/save`` and for ``/forget``: taken only where it is good enough."""

from __future__ import annotations

from collections.abc import Generator

from domain import errors
from domain.events import Beat, Notice, Stop
from domain.languages import Language
from domain.records import Image
from llm import Llm
from memory import Memory
from models.waiting import waiting
from storage.image_text import refusal


def rewritten(
    memory: Memory, llm: Llm, image: Image, current: str, summary: str, language: Language, stop: Stop
) -> Generator[Beat | Notice, None, str]:
    """What the model makes of an image, or the image as it is where that is not good enough; the person is told why."""
    pins = memory.pins(image)
    try:
        text = yield from waiting(
            lambda: llm.rewrite_image(image, current, summary, pins, language, stop), stop
        )
    except (errors.ContentFiltered, errors.ContextTooLong) as fault:
        # It would be refused the next time as well, and nothing may be stuck on it for good.
        yield Notice("save.image_refused", {"image": image, "error": fault})
        return current
    if reason := refusal(current, text, pins):
        yield Notice(f"save.image_kept.{reason}", {"image": image})
        return current
    return text
