"""What a search by parts returns, what is open, and the diary. See ``schemas`` for the rules."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from interfaces.service.memory_schemas import Remembered
from interfaces.service.schemas import Schema, Success


class FoundMemory(Remembered):
    """A memory with its parts. ``timestamp`` is when what it tells happens, as exactly as known, else when it was said.

    What is no fact has no parts.
    """

    timestamp: str
    location: str = ""
    persons: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    topic: str = ""


class SearchResponse(Schema):
    """What was found, best first. ``truncated``: more was found than fits."""

    status: Success = "success"
    memories: tuple[FoundMemory, ...]
    truncated: bool


class OpenItem(Schema):
    """What is open, with the words it rests on: ``by`` whom they were said, and when; its days, "" without any.

    ``brought_up``: how often the companion spoke of it first.
    """

    number: int
    kind: Literal["event", "deadline", "promise", "question", "worry", "birthday", "anniversary"]
    words: str
    by: Literal["user", "assistant"]
    said: str
    due: str
    brought_up: Annotated[int, Field(ge=0)]


class OpenResponse(Schema):
    """What is open between the person and the companion, by date, after what was asked for was done."""

    status: Success = "success"
    user_id: str
    open: tuple[OpenItem, ...]


class DiarySentence(Schema):
    """A sentence of a page, with the ids of the messages that it rests on."""

    text: str
    messages: tuple[str, ...]


class DiaryPage(Schema):
    """The page on one session: its day, where the program runs, and its sentences."""

    id: str
    session: str
    date: str
    sentences: tuple[DiarySentence, ...]


class DiaryResponse(Schema):
    """The pages of the companion's diary, the earliest first, and every month that has any, the earliest first."""

    status: Success = "success"
    user_id: str
    months: tuple[str, ...]
    pages: tuple[DiaryPage, ...]
