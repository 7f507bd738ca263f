"""Commands of the two images: showing, editing, comparing, restoring, pinning."""

from __future__ import annotations

import difflib

from domain.records import IMAGES, Image
from interfaces.terminal import own_files
from interfaces.terminal.command_context import Choice, CommandContext, Next
from interfaces.terminal.commands.memory_view import numbered_versions, version_line
from interfaces.terminal.commands.talk import number
from interfaces.terminal.screen import Screen
from interfaces.terminal.style import Meaning

_LOOKS: dict[str, Meaning] = {"+": "added", "-": "removed"}
ACTIONS = ("show", "edit", "diff", "restore")


def persona(context: CommandContext, argument: str) -> Next:
    """``/persona [self|user] [show|edit|diff|restore N]|pin [self|user] [TEXT|N]``"""
    first, _, rest_of_it = argument.strip().partition(" ")
    if first.lower() == "pin":
        _pin(context, rest_of_it)
        return None
    words = argument.lower().split()
    images = [image for image in IMAGES if image in words[:1]] or list(IMAGES)
    rest = words[1:] if words[:1] and words[0] in IMAGES else words
    action = rest[0] if rest else "show"
    if action not in ACTIONS or (action in ("edit", "restore") and len(images) > 1) or rest == ["restore"]:
        context.tell("persona.choose", "warning")
        return None
    for image in images:
        if action == "show":
            _show(context, image)
        elif action == "diff":
            _compare(context, image)
            context.aside.gap()
        elif action == "edit":
            _edit(context, image)
        else:
            _restore(context, image, rest[1])
    return None


def persona_choices(context: CommandContext, words: tuple[str, ...]) -> list[str | Choice]:
    """What may follow ``/persona``."""
    if not words:
        return [*IMAGES, "pin"]
    if words[0] == "pin":
        return _pin_choices(context, words[1:])
    if len(words) == 1:
        return [*ACTIONS]
    if words[-1] == "restore" and words[0] in IMAGES:
        image: Image = "self" if words[0] == "self" else "user"
        return [str(number) for number, _ in numbered_versions(context, image)]
    return []


def _show(context: CommandContext, image: Image) -> None:
    memory = context.memory
    context.tell(f"memory.{image}", "title", path=memory.personas.path(image))
    text = context.conversation.image(image)
    context.aside.line(text or context.words.say("memory.empty"), "words" if text else "quiet")
    for at, version in numbered_versions(context, image):
        context.aside.line(version_line(context, at, version), "quiet")
    context.aside.line()


def _compare(context: CommandContext, image: Image) -> None:
    versions = numbered_versions(context, image)
    shown = context.words.say(f"image.{image}")
    if len(versions) < 2:
        key = "persona.one_version" if versions else "persona.never_changed"
        context.tell(key, image=shown)
        return
    for at, version in versions[-2:]:
        context.aside.line(version_line(context, at, version), "quiet")
    show_difference(context.aside, versions[-2][1].text, versions[-1][1].text, most=200)


def _edit(context: CommandContext, image: Image) -> None:
    memory = context.memory
    before = memory.personas.read(image)
    after = own_files.edited(context, before)
    if after == before:
        context.tell("kept")
        return
    memory.personas.write(image, after, "hand")
    newest = len(memory.personas.history(image))
    context.tell("persona.saved", image=context.words.say(f"image.{image}"), version=newest)


def _restore(context: CommandContext, image: Image, wanted: str) -> None:
    chosen = number(context, wanted, 0)
    if chosen is None:
        return
    memory, shown = context.memory, context.words.say(f"image.{image}")
    version = dict(numbered_versions(context, image)).get(chosen)
    if version is None:
        context.tell("persona.no_version", "warning", version=chosen, image=shown, which=image)
        return
    before = memory.personas.read(image)
    memory.personas.restore(version.version)
    context.tell("persona.restored", version=chosen, image=shown)
    show_difference(context.aside, before, memory.personas.read(image))


def _pin(context: CommandContext, argument: str) -> None:
    """``/persona pin [self|user] [TEXT|N]``"""
    first, _, rest = argument.strip().partition(" ")
    image: Image = "self" if first.lower() == "self" else "user"
    text = rest.strip() if first.lower() in IMAGES else argument.strip()
    if not text:
        _list_pins(context)
    elif text.isdecimal():
        _unpin(context, int(text[:6]))
    else:
        _pin_line(context, image, text)


def _pin_line(context: CommandContext, image: Image, said: str) -> None:
    """Pin a line; what a person says of themselves becomes a sentence about them."""
    text = said if image == "self" else context.conversation.as_said_of_person(said)
    there = text in context.memory.personas.pins(image)
    if not there:
        context.memory.personas.pin(image, text)
    key = "pin.there" if there else "pin.done"
    context.tell(key, image=context.words.say(f"image.{image}"), text=text)


def _pin_choices(context: CommandContext, words: tuple[str, ...]) -> list[str | Choice]:
    """What may follow ``/persona pin``: an image, or the number of a line that is pinned."""
    if words:
        return []
    return [*IMAGES, *(Choice(str(at), text) for at, (_, text) in enumerate(_pins(context), 1))]


def _pins(context: CommandContext) -> list[tuple[Image, str]]:
    """All pinned lines in the order of their numbers."""
    return [(image, text) for image in IMAGES for text in context.memory.personas.pins(image)]


def _list_pins(context: CommandContext) -> None:
    pins = _pins(context)
    if not pins:
        context.tell("pin.nothing")
        return
    for at, (image, text) in enumerate(pins, 1):
        context.aside.line(text, lead=f"{at:>3}  {context.words.say(f'image.{image}')} · ")
    context.tell("pin.how_off", "quiet")


def _unpin(context: CommandContext, wanted: int) -> None:
    pins = _pins(context)
    if not 0 < wanted <= len(pins):
        context.tell("pin.no_number", "warning", number=wanted)
        return
    image, text = pins[wanted - 1]
    context.memory.personas.unpin(image, text)
    context.tell("pin.removed", text=text)


def show_difference(screen: Screen, before: str, after: str, most: int = 24) -> None:
    """Show what changed, without what stayed; at most this many lines."""
    lines = changed_lines(before, after)
    for line in lines[:most]:
        screen.line(line[2:], _LOOKS[line[0]], lead=line[:2])
    if len(lines) > most:
        screen.line(f"… {len(lines) - most}", "quiet")


def changed_lines(before: str, after: str) -> list[str]:
    """The changed lines, each behind ``- `` or ``+ ``.

    >>> changed_lines("a\\nb", "a\\nc")
    ['- b', '+ c']
    """
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    body = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return [f"{line[0]} {line[1:]}" for line in body]
