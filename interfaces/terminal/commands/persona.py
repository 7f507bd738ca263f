"""Commands of the two personas: showing, editing, comparing, restoring, pinning."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from domain.records import PERSONAS, Persona, PersonaVersion
from interfaces.terminal import file_export
from interfaces.terminal.command_context import Choice, CommandContext, read_count
from interfaces.terminal.screen import Meaning, Screen
from interfaces.terminal.session_view import format_local

_LOOKS: dict[str, Meaning] = {"+": "added", "-": "removed"}
_ACTIONS = ("show", "edit", "diff", "restore")


def run_persona(context: CommandContext, argument: str) -> None:
    """``/persona [self|user] [show|edit|diff|restore N]|pin [self|user] [TEXT|N]``."""
    first, _, rest_of_it = argument.strip().partition(" ")
    if first.lower() == "pin":
        _change_pins(context, rest_of_it)
        return
    words = argument.lower().split()
    personas = [persona for persona in PERSONAS if persona in words[:1]] or list(PERSONAS)
    rest = words[1:] if words[:1] and words[0] in PERSONAS else words
    action = rest[0] if rest else "show"
    if action not in _ACTIONS or (action in ("edit", "restore") and len(personas) > 1) or rest == ["restore"]:
        context.tell("persona.choose", "warning")
        return
    for persona in personas:
        if action == "show":
            _show_persona(context, persona)
        elif action == "diff":
            _show_changes(context, persona)
            context.aside.empty_line()
        elif action == "edit":
            _edit_persona(context, persona)
        else:
            _restore_persona(context, persona, rest[1])


def persona_choices(context: CommandContext, words: tuple[str, ...]) -> list[str | Choice]:
    """What may follow ``/persona``."""
    if not words:
        return [*PERSONAS, "pin"]
    if words == ("pin",):
        return [*PERSONAS, *(Choice(str(at), text) for at, (_, text) in enumerate(_all_pins(context), 1))]
    if words[0] == "pin":
        return []
    if len(words) == 1:
        return [*_ACTIONS]
    if words[-1] == "restore" and words[0] in PERSONAS:
        return [str(number) for number, _ in numbered_versions(context, "self" if words[0] == "self" else "user")]
    return []


def numbered_versions(context: CommandContext, persona: Persona) -> list[tuple[int, PersonaVersion]]:
    """The versions of one persona, oldest first, by the numbers that a person sees: each persona counts from 1."""
    return list(enumerate(context.memory.personas.history(persona), 1))


def version_line(context: CommandContext, number: int, version: PersonaVersion) -> str:
    """One version of a persona, on one line."""
    say = context.words.say
    return say(
        "memory.change",
        when=format_local(version.timestamp),
        persona=say(f"persona.{version.persona}"),
        origin=say(f"origin.{version.origin}"),
        version=number,
    )


def _show_persona(context: CommandContext, persona: Persona) -> None:
    memory = context.memory
    context.tell(f"memory.{persona}", "title", path=memory.personas.place(persona))
    text = context.conversation.persona(persona)
    context.aside.line(text or context.words.say("memory.empty"), "words" if text else "quiet")
    for at, version in numbered_versions(context, persona):
        context.aside.line(version_line(context, at, version), "quiet")
    context.aside.line()


def _show_changes(context: CommandContext, persona: Persona) -> None:
    versions = numbered_versions(context, persona)
    shown = context.words.say(f"persona.{persona}")
    if len(versions) < 2:
        context.tell("persona.one_version" if versions else "persona.never_changed", persona=shown)
        return
    for at, version in versions[-2:]:
        context.aside.line(version_line(context, at, version), "quiet")
    before, newest = versions[-2][1], versions[-1][1]
    no_room = context.words.say("persona.no_room")
    left_out = context.memory.personas.versions.left_out(newest)
    show_difference(context.aside, before.text, newest.text, most=200, notes=dict.fromkeys(left_out, no_room))


def _edit_persona(context: CommandContext, persona: Persona) -> None:
    memory = context.memory
    before = memory.personas.read(persona)
    after = file_export.edit_text(context, before)
    if after == before:
        context.tell("unchanged")
        return
    memory.personas.write(persona, after, "hand")
    newest = len(memory.personas.history(persona))
    context.tell("persona.saved", persona=context.words.say(f"persona.{persona}"), version=newest)


def _restore_persona(context: CommandContext, persona: Persona, wanted: str) -> None:
    chosen = read_count(context, wanted, 0)
    if chosen is None:
        return
    memory, shown = context.memory, context.words.say(f"persona.{persona}")
    version = dict(numbered_versions(context, persona)).get(chosen)
    if version is None:
        context.tell("persona.no_version", "warning", version=chosen, persona=shown, which=persona)
        return
    before = memory.personas.read(persona)
    memory.personas.restore(version.version)
    context.tell("persona.restored", version=chosen, persona=shown)
    show_difference(context.aside, before, memory.personas.read(persona))


def _change_pins(context: CommandContext, argument: str) -> None:
    """List what is pinned, pin a line, or remove one by its number."""
    first, _, rest = argument.strip().partition(" ")
    persona: Persona = "self" if first.lower() == "self" else "user"
    text = rest.strip() if first.lower() in PERSONAS else argument.strip()
    if not text:
        _list_pins(context)
    elif text.isdecimal():
        _unpin_line(context, int(text[:6]))
    else:
        if persona == "user":
            # What a person says of themselves becomes a sentence about them.
            text = context.conversation.as_said_of_person(text)
        there = text in context.memory.personas.pins(persona)
        if not there:
            context.memory.personas.pin(persona, text)
        key = "pin.there" if there else "pin.done"
        context.tell(key, persona=context.words.say(f"persona.{persona}"), text=text)


def _all_pins(context: CommandContext) -> list[tuple[Persona, str]]:
    """All pinned lines in the order of their numbers."""
    return [(persona, text) for persona in PERSONAS for text in context.memory.personas.pins(persona)]


def _list_pins(context: CommandContext) -> None:
    pins = _all_pins(context)
    if not pins:
        context.tell("pin.nothing")
        return
    for at, (persona, text) in enumerate(pins, 1):
        context.aside.line(text, lead=f"{at:>3}  {context.words.say(f'persona.{persona}')} · ")
    context.tell("pin.how_off", "quiet")


def _unpin_line(context: CommandContext, wanted: int) -> None:
    pins = _all_pins(context)
    if not 0 < wanted <= len(pins):
        context.tell("pin.no_number", "warning", number=wanted)
        return
    persona, text = pins[wanted - 1]
    context.memory.personas.unpin(persona, text)
    context.tell("pin.removed", text=text)


def show_difference(
    screen: Screen, before: str, after: str, most: int = 24, notes: Mapping[str, str] | None = None
) -> None:
    """Show what changed, without what stayed; at most this many lines, each with what is to be said of it."""
    lines = changed_lines(before, after)
    for line in lines[:most]:
        note = (notes or {}).get(line[2:].strip(), "") if line[0] == "-" else ""
        screen.line(f"{line[2:]} {note}".rstrip(), _LOOKS[line[0]], lead=line[:2])
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
