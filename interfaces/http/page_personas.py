"""The two personas on the page: shown with their history, written by a person, brought back from an older version.

Promises: what is written takes the place of just the version that the person saw; every version stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from pydantic import BaseModel

from companion import Companion
from domain.records import IMAGES, Image
from interfaces.http.callers import Calling
from interfaces.http.limits import Text
from interfaces.http.page.preferred_language import InLanguage
from interfaces.messages import Words
from people import People

#: Versions that are shown, the newest first.
_VERSIONS = 100
Named = Annotated[Image, Path()]


@dataclass(frozen=True)
class PageVersion:
    """One version of a persona. ``number`` counts those of this persona from 1, ``version`` names it."""

    version: int
    number: int
    when: str
    origin: str
    text: str


@dataclass(frozen=True)
class PagePersona:
    """A persona as it is, and its versions, the newest first. ``base`` is the version in force, 0 for none."""

    persona: Image
    text: str
    base: int
    versions: tuple[PageVersion, ...]


class PageEdit(BaseModel):
    """A persona in a person's own words, in the place of the version ``base`` that they saw."""

    text: Text
    base: int


class PageRestore(BaseModel):
    """An older version that is to be the newest, in the place of the version ``base``."""

    version: int
    base: int


def add_routes(api: APIRouter, people: People) -> None:
    """What the page asks of the personas."""

    @api.get("/personas")
    def personas(caller: Calling, words: InLanguage) -> list[PagePersona]:
        with people.companion(caller.person()) as companion:
            return [_shown(companion, words, image) for image in IMAGES]

    @api.post("/personas/{image}")
    def write(image: Named, edit: PageEdit, caller: Calling, words: InLanguage) -> PagePersona:
        with _based(people, caller.person(), image, edit.base) as companion:
            companion.memory.personas.write(image, edit.text, "hand")
            return _shown(companion, words, image)

    @api.post("/personas/{image}/restore")
    def restore(image: Named, wish: PageRestore, caller: Calling, words: InLanguage) -> PagePersona:
        with _based(people, caller.person(), image, wish.base) as companion:
            if wish.version not in {one.version for one in companion.memory.personas.history(image)}:
                raise HTTPException(404, "Not Found")
            companion.memory.personas.restore(wish.version)
            return _shown(companion, words, image)


@contextmanager
def _based(people: People, person: str, image: Image, base: int) -> Iterator[Companion]:
    """The companion, as long as a version is the one in force; 409 where another took its place."""
    with people.companion(person) as companion, companion.turns:
        if _base(companion, image) != base:
            raise HTTPException(409, "Conflict")
        yield companion


def _base(companion: Companion, image: Image) -> int:
    newest = companion.memory.personas.newest(image)
    return newest.version if newest else 0


def _shown(companion: Companion, words: Words, image: Image) -> PagePersona:
    base = _base(companion, image)
    versions = [
        PageVersion(one.version, number, one.timestamp, words.say(f"origin.{one.origin}"), one.text)
        for number, one in enumerate(companion.memory.personas.history(image), 1)
    ]
    return PagePersona(image, companion.memory.personas.read(image), base, tuple(versions[::-1][:_VERSIONS]))
