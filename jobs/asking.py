"""Asking the model for a reply; where it refuses the prompt as too long or filtered, asking with less of the past.

A session can so never be stuck for good: neither a context that outgrew the model, nor a passage that a provider's
filter does not like, stands in the way of the next reply.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from domain import errors
from domain.events import Beat, Notice, ReasoningDelta, Reply, Retrying, Stop, TextDelta
from domain.recollection import Recollection
from llm import Layers, Llm, Message, assemble, new_boundary

#: Seconds between two writings of a reply that is still streaming.
_KEEP_PARTIAL_EVERY = 0.5

AskEvent = TextDelta | ReasoningDelta | Retrying | Beat | Notice


@dataclass(frozen=True)
class Asked:
    """What was sent in the end, and what came back. ``shortened``: not all of the past could be sent."""

    layers: Layers
    messages: tuple[Message, ...]
    reply: Reply
    shortened: bool


def ask(
    llm: Llm, layers: Layers, stop: Stop, *, stream: bool, keep_partial: Callable[[str], None]
) -> Generator[AskEvent, None, Asked]:
    """Ask until there is a reply; ``keep_partial`` is handed what was shown so far, now and then.

    Raises ModelError or Interrupted.
    """
    less: Layers | None = layers
    while less is not None:
        messages = assemble(less, new_boundary())
        try:
            reply = yield from _ask_once(llm, messages, stop, stream, keep_partial)
        except (errors.ContextTooLong, errors.ContentFiltered) as fault:
            refused = fault
            less = None if fault.details.get("shown") else _with_less(less, fault)
            continue
        if less is not layers:
            yield Notice("turn.shortened", {"rounds": len(less.rounds), "recalled": bool(less.recalled)})
        return Asked(less, messages, reply, less is not layers)
    raise refused


def _ask_once(
    llm: Llm, messages: tuple[Message, ...], stop: Stop, stream: bool, keep_partial: Callable[[str], None]
) -> Generator[AskEvent, None, Reply]:
    shown, kept_at = "", time.monotonic()
    for event in llm.chat(messages, stop, stream=stream):
        if isinstance(event, Reply):
            return event
        if isinstance(event, TextDelta):
            shown += event.text
            if time.monotonic() - kept_at > _KEEP_PARTIAL_EVERY:
                keep_partial(shown)
                kept_at = time.monotonic()
        yield event
    raise errors.BadReply("model.empty_reply")


def _with_less(layers: Layers, refused: errors.ModelError) -> Layers | None:
    """The prompt with less of the past than the one that was refused; None when only the input is left.

    First without recalled memories; then with half of the rounds, and half again, to none (where a passage is at fault
    and not the length, with none at once); then without the summary; at last without the images.
    """
    if layers.recalled:
        return replace(layers, recalled=Recollection())
    if layers.rounds:
        kept = len(layers.rounds) // 2 if isinstance(refused, errors.ContextTooLong) else 0
        return replace(layers, rounds=layers.rounds[len(layers.rounds) - kept :])
    if layers.summary:
        return replace(layers, summary="")
    if layers.self_image or layers.user_image:
        return replace(layers, self_image="", user_image="")
    return None
