"""What the command line does without a chat: check, backup, restore, export, import, tokens, serving, MCP.

``--check`` examines everything and gives each part one line. ``--backup`` and ``--restore`` carry the whole memory as
one file. ``--token`` shows a secret once, when it is made, alone on its line.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from config import ENV_LINE
from conversation import Conversation
from domain import errors
from domain.errors import Exit
from domain.settings import Settings
from domain.workers import CancelToken
from interfaces.messages import Words
from interfaces.socket.chat_server import ChatMemoryServer
from interfaces.socket.protocol import request_release
from interfaces.terminal.arguments import ImportOrder, TokenOrder
from interfaces.terminal.screen import Screen
from interfaces.terminal.styled_text import Meaning, cells_of
from interfaces.terminal.wiring import RELEASE_SECONDS, Program, make_steady
from interfaces.terminal.work_runner import wait_for
from llm import Llm, PromptMessage
from memory import Memory, back_up, restore
from people import EVERYBODY, ME, People, Registry, registry_in

if TYPE_CHECKING:
    from fastapi import FastAPI

AppMaker = Callable[[People, bool], "FastAPI"]
OpenConversation = Callable[[], AbstractContextManager[tuple[Conversation, ChatMemoryServer]]]

#: Seconds that the index has to catch up while it is examined.
_PATIENCE = 20.0
#: So many rows that differ are named.
_ROWS_SHOWN = 8
#: What the file itself is to blame for when it is restored from.
_NO_BACKUP = ("storage.damaged", "storage.not_ours", "storage.failed")
_LOOKS: dict[str, Meaning] = {"ok": "good", "note": "warning", "bad": "trouble"}


def run_without_chat(program: Program, open_conversation: OpenConversation, make_app: AppMaker) -> Exit:
    """Do what is asked for, then end. ``make_app`` makes the HTTP application of ``--serve``."""
    options = program.options
    if options.backup or options.restore:
        return _back_up_or_restore(program)
    if options.export:
        return _export_memory(program, options.export, open_conversation)
    if options.bring:
        return _import_files(program, options.bring)
    if options.token:
        return _change_tokens(program, options.token)
    if options.serve:
        return _serve_http(program, make_app)
    if options.mcp:
        return _serve_mcp(program)
    return _check_everything(program)


def _back_up_or_restore(program: Program) -> Exit:
    options, folder, out = program.options, program.settings.data_dir, program.streams.stdout
    if options.backup:
        return back_up_to(options.backup, folder, program.words, out)
    assert options.restore is not None
    request_release(folder, RELEASE_SECONDS)
    return restore_from(options.restore, folder, program.words, out, program.clock)


def _check_everything(program: Program) -> Exit:
    llm = program.make_llm()
    screen = program.make_screen(program.streams.stdout)
    return Check(
        program.settings, llm, partial(program.open_memory, llm), screen, program.words, program.wishes.stop
    ).run_checks()


def _export_memory(program: Program, given: str, open_conversation: OpenConversation) -> Exit:
    from interfaces.terminal.file_export import FORMS, find_target, write_elsewhere, write_markdown, write_rows

    words, target, screen = program.words, Path(given), program.make_screen(program.streams.stdout)
    if copy := find_target(given):
        with closing(program.make_llm()) as llm, closing(program.open_memory(llm)) as memory:
            return write_elsewhere(copy, memory, words, screen)
    if target.suffix.lower() == ".json":
        return write_rows(target, program.settings.data_dir, words, screen, program.clock)
    if target.suffix.lower() != ".md":
        raise errors.UsageError("export.format", given=given, formats=FORMS)
    with open_conversation() as (conversation, _):
        return write_markdown(target, conversation, words, screen)


def _import_files(program: Program, order: ImportOrder) -> Exit:
    from interfaces.terminal.history_import import import_alone
    from interfaces.terminal.line_source import PlainReader

    streams, screen = program.streams, program.make_screen(program.streams.stdout)
    reader = None if streams.is_unattended else PlainReader(streams.stdin, screen, program.wishes, lambda: None)
    with closing(program.make_llm()) as llm:
        return import_alone(
            order, program.settings, partial(program.open_memory, llm), screen, program.words, reader,
            program.wishes, program.clock,
        )  # fmt: skip


def _change_tokens(program: Program, order: TokenOrder) -> Exit:
    with closing(Registry(registry_in(program.settings.data_dir), program.clock)) as registry:
        return change_tokens(order, registry, program.words, program.streams.stdout)


def _serve_http(program: Program, make_app: AppMaker) -> Exit:
    from interfaces.http.serving import ServerSetup, serve

    tell = partial(print, file=make_steady(program.streams.stdout), flush=True)
    setup = ServerSetup(
        program.settings, program.debug.log, program.words, tell, program.wishes,
        program.clock, program.new_id, program.scrubbers,
    )  # fmt: skip
    return serve(setup, program.options.host, program.options.port, make_app)


def _serve_mcp(program: Program) -> Exit:
    from interfaces.http.serving import check_installed
    from interfaces.socket.memory_client import MemoryClient, open_people

    check_installed("mcp")
    from interfaces.mcp.stdio import run_stdio

    opened = partial(
        open_people, program.settings, program.debug.log,
        clock=program.clock, new_id=program.new_id, scrubbers_of=program.scrubbers,
    )  # fmt: skip
    options, words = program.options, program.words
    with closing(MemoryClient(program.settings.data_dir, opened, words)) as memory:
        full = options.tools == "full"
        return run_stdio(
            memory, options.person, words, program.debug.log, program.wishes, full=full, version=program.version
        )


# -- check


@dataclass
class Check:
    """One examination. ``open_memory`` opens the data directory, and may fail."""

    settings: Settings
    llm: Llm
    open_memory: Callable[[], Memory]
    screen: Screen
    words: Words
    stop: CancelToken
    _worst: Exit = field(default=Exit.OK)

    def run_checks(self) -> Exit:
        """Examine everything. Returns the exit code of the first thing that is bad."""
        self._check_settings()
        self._run_check("chat", self._check_chat)
        self._run_check("embedding", self._check_embedding)
        try:
            memory = self.open_memory()
        except errors.OldFriendError as error:
            self._report_bad("database", error)
            return self._worst
        try:
            self._run_check("database", lambda: self._check_database(memory))
            self._run_check("index", lambda: self._check_index(memory))
            self._run_check("persona", lambda: self._check_personas(memory))
        finally:
            memory.close()
        return self._worst

    def _check_settings(self) -> None:
        for notice in self.settings.notices:
            if notice.key == ENV_LINE:
                self._report_bad("settings", errors.SettingsError(((notice.key, dict(notice.details)),)))
            else:
                self._write_line("note", "settings", self.words.describe_notice(notice))
        if not self.settings.notices:
            self._write_line("ok", "settings", self.words.say("check.settings_ok"))

    def _run_check(self, part: str, examination: Callable[[], str]) -> None:
        """Run one examination; what it returns is said, what it raises is bad."""
        try:
            said = examination()
        except errors.OldFriendError as error:
            self._report_bad(part, error)
        else:
            self._write_line("ok", part, said)

    def _check_chat(self) -> str:
        described = self.llm.describe()
        if described.demo:
            return self.words.say("check.chat_demo")
        hello = [PromptMessage("user", "Hello! / 你好！")]
        wait_for(lambda: list(self.llm.chat(hello, self.stop, stream=True)), self.stop)
        return self.words.say("check.chat_ok", model=described.model, base=described.base)

    def _check_embedding(self) -> str:
        vector = wait_for(lambda: self.llm.embedder.embed(["hello"]), self.stop)[0]
        if vector is None:
            raise errors.EmbeddingError()
        return self.words.say("check.embedding_ok", model=self.llm.embedder.model, dimension=len(vector))

    def _check_database(self, memory: Memory) -> str:
        if problems := memory.problems():
            raise errors.Damaged(path=memory.path, reason=problems[0])
        if differing := memory.altered_rows():
            shown = ", ".join(differing[:_ROWS_SHOWN]) + (" …" if len(differing) > _ROWS_SHOWN else "")
            raise errors.Damaged("storage.differs", path=memory.path, count=len(differing), what=shown)
        sessions, rounds = memory.sessions.counts()
        count = self.words.count
        return self.words.say("check.database_ok", sessions=count("session", sessions), rounds=count("round", rounds))

    def _check_index(self, memory: Memory) -> str:
        memory.index.start()
        memory.index.settle(_PATIENCE)
        status = memory.index.status()
        if status.trouble:
            raise status.trouble
        return self.words.say("check.index_ok", vectors=status.vectors, waiting=status.waiting)

    def _check_personas(self, memory: Memory) -> str:
        memory.personas.read("self")
        memory.personas.read("user")
        return self.words.say("check.persona_ok")

    def _report_bad(self, part: str, error: errors.OldFriendError) -> None:
        self._write_line("bad", part, self.words.describe_error(error))
        if self._worst is Exit.OK:
            self._worst = error.exit_code

    def _write_line(self, verdict: str, part: str, said: str) -> None:
        shown, name = self.words.say(f"check.{verdict}"), self.words.say(f"check.{part}")
        pads = [" " * max(1, width - cells_of(text)) for text, width in ((shown, 6), (name, 12))]
        self.screen.write_spans([(shown + pads[0], (_LOOKS[verdict],)), (name + pads[1] + said + "\n", ("words",))])


# -- backup and restore


def back_up_to(target: Path, folder: Path, words: Words, out: TextIO) -> Exit:
    """Copy the memory in ``folder`` to a new file. Raises StorageError."""
    size = back_up(folder, target)
    out.write(words.say("backup.done", path=target, size=f"{size / 1024:.0f} KB") + "\n")
    return Exit.OK


def restore_from(backup: Path, folder: Path, words: Words, out: TextIO, clock: Callable[[], datetime]) -> Exit:
    """Put a backup in the place of the memory in ``folder``. Raises StorageError."""
    try:
        former = restore(backup, folder, clock)
    except errors.StorageError as error:
        if error.details.get("path") != str(backup) or error.key not in _NO_BACKUP:
            raise
        raise _explain_refusal(backup, error) from error
    key = "backup.restored_over" if former else "backup.restored"
    out.write(words.say(key, path=backup, former=former) + "\n")
    return Exit.OK


def _explain_refusal(backup: Path, error: errors.StorageError) -> errors.Damaged:
    """Why a file is not restored: it is no backup at all, or one that is damaged."""
    if error.key == "storage.damaged" and _is_database(backup):
        return errors.Damaged("backup.damaged", path=str(backup), reason=error.details.get("reason"))
    return errors.Damaged("backup.not_one", path=str(backup))


def _is_database(path: Path) -> bool:
    """Whether a file begins as SQLite's files do."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


# -- tokens


def change_tokens(order: TokenOrder, registry: Registry, words: Words, out: TextIO) -> Exit:
    """Add, list or revoke. Raises UsageError where there is no such token, or its name is taken."""
    if order.what == "add":
        secret = registry.add_token(order.name, order.person)
        print(words.say("token.added", name=order.name, person=_person_name(order.person, words)), file=out)
        print(secret, file=out, flush=True)
    elif order.what == "revoke":
        if not registry.revoke(order.name):
            raise errors.UsageError("token.unknown", name=order.name)
        print(words.say("token.revoked", name=order.name), file=out, flush=True)
    else:
        print("\n".join(_token_rows(registry, words)) or words.say("token.none", person=ME), file=out, flush=True)
    return Exit.OK


def _token_rows(registry: Registry, words: Words) -> list[str]:
    return [
        words.say(
            "token.row_revoked" if token.revoked_at else "token.row",
            name=token.name, person=_person_name(token.person, words),
            since=token.created_at[:10], revoked=(token.revoked_at or "")[:10],
        )
        for token in registry.tokens()
    ]  # fmt: skip


def _person_name(person: str, words: Words) -> str:
    return words.say("token.everyone") if person == EVERYBODY else person
