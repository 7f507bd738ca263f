"""Commands of the two images: showing, editing, comparing, restoring, pinning."""

from __future__ import annotations

from storage.records import Image
from terminal.desk import Desk, Next
from terminal.difference import show_difference
from terminal.leaves.memories import IMAGES, version_line
from terminal.leaves.talk import number

ACTIONS = ("show", "edit", "diff", "restore")


def persona(desk: Desk, argument: str) -> Next:
    """``/persona [self|user] [show|edit|diff|restore N]``"""
    words = argument.lower().split()
    images = [image for image in IMAGES if image in words[:1]] or list(IMAGES)
    rest = words[1:] if words[:1] and words[0] in IMAGES else words
    action = rest[0] if rest else "show"
    if action not in ACTIONS or (action in ("edit", "restore") and len(images) > 1):
        desk.tell("persona.choose", "warning")
        return None
    for image in images:
        if action == "show":
            _show(desk, image)
        elif action == "diff":
            _compare(desk, image)
            desk.aside.gap()
        elif action == "edit":
            _edit(desk, image)
        else:
            _restore(desk, image, rest[1] if len(rest) > 1 else "")
    return None


def persona_choices(desk: Desk, words: tuple[str, ...]) -> list[str]:
    """What may follow ``/persona``."""
    if not words:
        return [*IMAGES]
    if len(words) == 1:
        return [*ACTIONS]
    if words[-1] == "restore" and words[0] in IMAGES:
        image: Image = "self" if words[0] == "self" else "user"
        return [str(version.version) for version in desk.conversation.memory.persona.versions(image)]
    return []


def _show(desk: Desk, image: Image) -> None:
    store = desk.conversation.memory.persona
    desk.tell(f"memory.{image}", "title", path=store.path(image))
    text = store.read(image)
    desk.aside.line(text or desk.words.say("memory.empty"), "words" if text else "quiet")
    for version in store.versions(image):
        desk.aside.line(version_line(desk, version), "quiet")
    desk.aside.line()


def _compare(desk: Desk, image: Image) -> None:
    versions = desk.conversation.memory.persona.versions(image)
    shown = desk.words.say(f"image.{image}")
    if len(versions) < 2:
        key = "persona.one_version" if versions else "persona.never_changed"
        desk.tell(key, image=shown)
        return
    for version in versions[-2:]:
        desk.aside.line(version_line(desk, version), "quiet")
    show_difference(desk.aside, versions[-2].text, versions[-1].text, most=200)


def _edit(desk: Desk, image: Image) -> None:
    store = desk.conversation.memory.persona
    before = store.read(image)
    after = desk.edited(before)
    if after == before:
        desk.tell("kept")
        return
    version = store.write(image, after, "hand")
    desk.tell(
        "persona.saved", image=desk.words.say(f"image.{image}"), version=version.version if version else ""
    )


def _restore(desk: Desk, image: Image, wanted: str) -> None:
    version = number(desk, wanted or "?", 0)
    if version is None:
        return
    store, shown = desk.conversation.memory.persona, desk.words.say(f"image.{image}")
    if version not in [known.version for known in store.versions(image)]:
        desk.tell("persona.no_version", "warning", version=version, image=shown, which=image)
        return
    before = store.read(image)
    store.restore(version)
    desk.tell("persona.restored", version=version, image=shown)
    show_difference(desk.aside, before, store.read(image))


def pin(desk: Desk, argument: str) -> Next:
    """``/pin [self|user] [TEXT]``"""
    first, _, rest = argument.partition(" ")
    image: Image = "self" if first.lower() == "self" else "user"
    text = rest.strip() if first.lower() in IMAGES else argument.strip()
    if not text:
        _list_pins(desk)
    elif text in desk.conversation.memory.drafts.pins(image):
        desk.conversation.memory.unpin(image, text)
        desk.tell("pin.removed", text=text)
    else:
        desk.conversation.memory.pin(image, text)
        desk.tell("pin.done", image=desk.words.say(f"image.{image}"), text=text)
    return None


def _list_pins(desk: Desk) -> None:
    pins = [(image, text) for image in IMAGES for text in desk.conversation.memory.drafts.pins(image)]
    if not pins:
        desk.tell("pin.nothing")
        return
    for image, text in pins:
        desk.aside.line(f"{desk.words.say(f'image.{image}')} · {text}")
    desk.tell("pin.how_off", "quiet")
