"""The log of ``llm``, of both generations: ``responses``, and since 0.32 ``threads``, ``turns`` and ``messages``.

What was logged before stays in the old tables, and a conversation that went on has the same key in both. Messages are
shared between threads and have no time; a turn has one, and the chain that it ends holds all that was said before.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from domain.imports import PastConversation, Spoken
from importers import databases
from importers.json_stream import as_name, as_number, as_object, as_text, objects_in
from importers.reading import ConversationBuilder, DatabaseFormat, Found, LeftOut, NotRead, Reading
from language.instants import parse_instant

_ROLES: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}
_OLD, _NEW = frozenset(("responses", "conversations")), frozenset(("threads", "turns", "messages", "parts"))


def _read_log(reading: Reading) -> Iterator[Found]:
    """Every conversation, those that belong to none as one each."""
    assert reading.part.path is not None
    with closing(databases.open_readonly(reading.part.path)) as connection:
        tables = databases.tables_of(connection)
        log = _Log(connection, reading, tables >= _OLD, tables >= _NEW)
        try:
            for key, title in databases.llm_conversations(connection, log.old, log.new):
                yield from log.read_conversation(key, title) if key else log.read_single_prompts()
        except sqlite3.Error as error:
            yield reading.make_unread(NotRead.DAMAGED, said=str(error))
    reading.count_bytes(reading.part.size)


class _Log:
    def __init__(self, connection: sqlite3.Connection, reading: Reading, old: bool, new: bool) -> None:
        self._connection, self._reading = connection, reading
        self.old, self.new = old, new

    def read_conversation(self, key: str, title: str) -> Iterator[PastConversation]:
        """One conversation, what the old tables have of it first."""
        builder = ConversationBuilder(self._reading.source, as_name(key), as_text(title))
        before: list[tuple[Spoken, str]] = []
        for row in self._rows(databases.LLM_RESPONSES, key) if self.old else ():
            before += self._add_response(builder, row)
        if self.new:
            self._add_turns(builder, key, before)
        yield builder.build()

    def read_single_prompts(self) -> Iterator[PastConversation]:
        """Prompts that were logged without a conversation."""
        for row in self._rows(databases.LLM_RESPONSES, ""):
            builder = ConversationBuilder(self._reading.source, as_name(row["id"]))
            self._add_response(builder, row)
            yield builder.build()

    def _rows(self, statement: str, key: str | int) -> list[sqlite3.Row]:
        return self._connection.execute(statement, (key,)).fetchall()

    def _add_response(self, builder: ConversationBuilder, row: sqlite3.Row) -> list[tuple[Spoken, str]]:
        """Prompt and response of one call; returns what was said in it."""
        prompt, response = as_text(row["prompt"]), as_text(row["response"])
        if not prompt.strip():
            prompt = "\n\n".join(databases.llm_prompt_fragments(self._connection, row["id"]))
        said = _parse_utc(row["datetime_utc"])
        builder.add_message(f"{row['id']}:prompt", "person", prompt, said)
        builder.add_message(f"{row['id']}:response", "companion", response, said)
        return [("person", prompt), ("companion", response)]

    def _add_turns(self, builder: ConversationBuilder, thread: str, before: list[tuple[Spoken, str]]) -> None:
        """The turns of the new generation; each chain is followed up to what is known of it already."""
        seen = {tip for (tip,) in self._rows(databases.LLM_TIPS, thread) if tip}
        for turn in self._rows(databases.LLM_TURNS, thread):
            self._add_turn(builder, turn, self._new_in_chain(turn["tip_message_hash"], seen), before)
            before.clear()

    def _add_turn(
        self, builder: ConversationBuilder, turn: sqlite3.Row, chain: list[tuple[str, str]],
        before: list[tuple[Spoken, str]],
    ) -> None:  # fmt: skip
        for place, (digest, role) in enumerate(chain):
            words, reason = self._message_text(digest)
            by = _ROLES.get(role)
            if before and (by is None or (by, words) == before[0]):
                # The first chain repeats what the old tables hold.
                before[:] = before[1:] if by else before
            elif by is None:
                builder.leave_out(LeftOut.SYSTEM if role == "system" else LeftOut.TOOL)
            elif not words.strip() and reason:
                builder.leave_out(reason)
            else:
                builder.add_message(f"{turn['id']}:{place}", by, words, _parse_utc(turn["datetime_utc"]))

    def _new_in_chain(self, tip: str | None, seen: set[str]) -> list[tuple[str, str]]:
        """Name and role of the messages of a chain that were not met in this thread, the first first."""
        chain: list[tuple[str, str]] = []
        while tip and tip not in seen:
            seen.add(tip)
            found = self._rows(databases.LLM_MESSAGE, tip)
            if not found:
                break
            chain.append((tip, found[0]["role"] or ""))
            tip = found[0]["parent_hash"]
        return chain[::-1]

    def _message_text(self, digest: str) -> tuple[str, str]:
        """What a message says, and why nothing where that is so."""
        parts = self._rows(databases.LLM_PARTS, digest)
        said = "\n\n".join(filter(str.strip, (self._part_text(row) for row in parts if row["type"] == "text")))
        kinds = {row["type"] for row in parts}
        if kinds & {"tool_call", "tool_result"}:
            return said, LeftOut.TOOL
        return said, LeftOut.ATTACHMENT if "attachment" in kinds else LeftOut.THINKING if kinds - {"text"} else ""

    def _part_text(self, row: sqlite3.Row) -> str:
        if row["text"] or not row["payload"]:
            return as_text(row["text"])
        try:
            pieces = list(objects_in(as_object(json.loads(row["payload"])).get("text_ref")))
        except (ValueError, TypeError):
            return ""
        return "".join(as_text(piece.get("literal")) or self._fragment_text(piece) for piece in pieces)

    def _fragment_text(self, piece: Mapping[str, Any]) -> str:
        found = self._rows(databases.LLM_FRAGMENT, int(as_number(piece.get("fragment"))))
        return str(found[0]["content"]) if found else ""


def _parse_utc(written: str | None) -> datetime | None:
    """A time that is UTC whether it says so or not."""
    return parse_instant(written, UTC) if written else None


DATABASE_FORMATS = (DatabaseFormat("llm", _OLD.issubset, _read_log), DatabaseFormat("llm", _NEW.issubset, _read_log))
