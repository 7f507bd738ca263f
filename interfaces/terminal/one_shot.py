"""What the command line does without a chat: check, backup, restore, export, import, tokens, serving, MCP.

``--check`` examines everything and gives each part one line. ``--backup`` and ``--restore`` carry the whole memory as
one file. ``--token`` shows a secret once, when it is made, alone on its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TextIO

from config import ENV_LINE
from domain import errors
from domain.errors import Exit
from domain.file_reader import open_bytes
from domain.records import PERSONAS
from domain.text import mask_url
from domain.workers import Again, Worker
from interfaces.messages import Words
from interfaces.terminal.arguments import ImportOrder, TokenOrder
from interfaces.terminal.line_source import PlainReader, Reader
from interfaces.terminal.screen import Meaning, Screen, cells_of
from interfaces.terminal.wiring import Program, make_steady, open_conversation
from interfaces.terminal.work_runner import WorkRunner, wait_for
from llm import Llm, PromptMessage
from memory import (
    Memory,
    Prepare,
    back_up,
    initialise_database,
    leaving_out_erased,
    move_person,
    restore,
    rewrite_database,
)
from people import EVERYBODY, ME, Registry, open_people, registry_in

#: Seconds that the index has to catch up while it is examined.
_PATIENCE = 20.0
#: Seconds between two looks for sessions whose time is over.
_SWEEP_EVERY = 60.0
#: So many rows that differ are named.
_ROWS_SHOWN = 8
#: What the file itself is to blame for when it is restored from.
_NO_BACKUP = ("storage.damaged", "storage.not_ours", "storage.failed")
_LOOKS: dict[str, Meaning] = {"ok": "good", "note": "warning", "bad": "trouble"}


def run_without_chat(program: Program) -> Exit:
    """Do what the command line asks for, then end."""
    options = program.options
    if (done := _run_for_database(program)) is not None:
        return done
    if options.backup:
        size = back_up(program.settings.data_dir, options.backup)
        written = program.words.say("backup.done", path=options.backup, size=f"{size / 1024:.0f} KB")
        program.streams.stdout.write(written + "\n")
        return Exit.OK
    if options.restore:
        return _restore_from(options.restore, program)
    if options.export:
        return _export_memory(program, options.export)
    if options.bring:
        return _import_files(program, options.bring)
    if options.token:
        with closing(
            Registry(registry_in(program.settings.data_dir), program.clock, program.settings.database_url)
        ) as registry:
            return _change_tokens(options.token, registry, program.words, program.streams.stdout)
    if options.serve:
        return _serve_http(program)
    if options.mcp:
        return _serve_mcp(program)
    return _Check(program).run_checks()


def _run_for_database(program: Program) -> Exit | None:
    """Do what is asked of a database; None where something else is. Raises UsageError where it cannot be done there."""
    options, url = program.options, program.settings.database_url
    if options.export_person or options.import_person:
        return _move_person(program)
    administered = {"--init-database": options.init_database, "--rewrite-database": options.rewrite_database}
    for flag in (flag for flag, given in administered.items() if given and not url):
        raise errors.UsageError("database.not_named", flag=flag)
    if options.init_database:
        initialise_database(options.init_database, url)
        program.streams.stdout.write(program.words.say("database.ready", path=mask_url(url)) + "\n")
        return Exit.OK
    if options.rewrite_database:
        return _rewrite_database(options.rewrite_database, program)
    as_rows = options.export if options.export and options.export.lower().endswith(".json") else None
    for flag, given in (("--backup", options.backup), ("--restore", options.restore), ("--export", as_rows)):
        if given and url:
            raise errors.UsageError("database.of_folder", flag=flag)
    return None


def _rewrite_database(administrator: str, program: Program) -> Exit:
    words, url = program.words, program.settings.database_url
    count, left = rewrite_database(administrator, url)
    said = [words.say("database.rewritten", tables=words.count("table", count), path=mask_url(url))] if count else []
    said += [words.say("database.not_rewritten", what="; ".join(left))] if left else []
    program.streams.stdout.write("\n".join(said) + "\n")
    return Exit.FAILED if left else Exit.OK


def _move_person(program: Program) -> Exit:
    """One folder is a person: out of the database, or into it."""
    options, settings = program.options, program.settings
    if not settings.database_url:
        raise errors.UsageError("person.not_named")
    with closing(Registry(registry_in(settings.data_dir), program.clock, settings.database_url)) as registry:
        folder = options.export_person or options.import_person
        assert folder
        new_id, log, outwards = program.new_id, program.debug.log, options.export_person is not None
        count = move_person(registry, options.person, folder, new_id, log, outwards=outwards)
    key = "person.exported" if options.export_person else "person.imported"
    said = program.words.say(key, person=options.person, path=folder, count=count)
    program.streams.stdout.write(said + "\n")
    return Exit.OK


def _export_memory(program: Program, given: str) -> Exit:
    from interfaces.terminal.file_export import COPIES, FORMS, write_copy, write_markdown, write_rows

    words, target, screen = program.words, Path(given), program.make_screen(program.streams.stdout)
    kind, _, place = given.partition(":")
    if kind in COPIES and place:
        with closing(program.make_llm()) as llm, closing(program.open_memory(llm)) as memory:
            return write_copy(kind, place, memory, words, screen)
    if target.suffix.lower() == ".json":
        return write_rows(target, program.settings.data_dir, words, screen, program.clock)
    if target.suffix.lower() != ".md":
        raise errors.UsageError("export.format", given=given, formats=FORMS)
    with open_conversation(program) as conversation:
        return write_markdown(target, conversation, words, screen)


def _import_files(program: Program, order: ImportOrder) -> Exit:
    """A look needs no memory, and touches none. Raises Interrupted, saying how to go on, and StorageError."""
    from interfaces.terminal.file_export import restore_whole
    from interfaces.terminal.history_import import HistoryImport

    words, screen = program.words, program.make_screen(program.streams.stdout)
    stop = program.wishes.begin()

    def run_work(work: Iterator[object]) -> Iterator[object]:
        return WorkRunner().run_work(work, stop, patience=None)

    with ExitStack() as open_things:
        llm = open_things.enter_context(closing(program.make_llm()))
        empty = partial(_holds_nothing, program, llm)
        one = len(order.paths) == 1 and not order.only_look and not program.settings.database_url
        whole = order.paths[0] if one else None
        data_dir, clock = program.settings.data_dir, program.clock
        if whole and restore_whole(
            whole, data_dir, empty, words, screen, clock, _leaving_out_erased(program, whole)
        ):  # fmt: skip
            return Exit.OK
        memory = None if order.only_look else open_things.enter_context(closing(program.open_memory(llm)))
        work = HistoryImport(
            program.settings, memory, screen, words, stop, program.clock, run_work, _reader(program, screen)
        )
        try:
            ended = work.run_order(order)
        except errors.Interrupted:
            raise errors.Interrupted("import.only_looked" if order.only_look else "import.stopped") from None
        if memory and work.messages and memory.imports.remaining_backlog().sessions:
            screen.line(words.say("import.later"), "quiet")
        return ended


def _reader(program: Program, screen: Screen) -> Reader | None:
    """Who answers a question; None where no one is there."""
    streams = program.streams
    return None if streams.is_unattended else PlainReader(streams.stdin, screen, program.wishes, lambda: None)


def _holds_nothing(program: Program, llm: Llm) -> bool:
    """Whether the memory has no messages, no imports and no persona.

    The person may not speak in an imported chat; and whoever wrote a persona, or pinned a line, would miss it.
    """
    with closing(program.open_memory(llm)) as memory:
        said = memory.sessions.counts()[1] or memory.imports.all() or memory.facts.all()
        return not said and not any(memory.personas.read(one) or memory.personas.history(one) for one in PERSONAS)


def _serve_http(program: Program) -> Exit:
    from interfaces.http.serving import serve

    make_steady(program.streams.stdout)
    return serve(program)


def _serve_mcp(program: Program) -> Exit:
    from interfaces.http.serving import check_installed

    check_installed("mcp")
    from interfaces.mcp_server import run_stdio
    from interfaces.operations import Memories
    from interfaces.service.memory_service import MemoryService

    options, words, log = program.options, program.words, program.debug.log
    with open_people(
        program.settings, log, clock=program.clock, new_id=program.new_id, scrubbers_of=program.scrubbers
    ) as people:
        service = MemoryService(people)

        def sweep() -> Again:
            service.sweep()
            return _SWEEP_EVERY

        sweeping = Worker("sweep", sweep, log)
        sweeping.start()
        try:
            full, version = options.tools == "full", program.version
            return run_stdio(Memories(service), options.person, words, log, program.wishes, full=full, version=version)
        finally:
            sweeping.end(_PATIENCE)


class _Check:
    """One examination of everything."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._settings, self._words, self._stop = program.settings, program.words, program.wishes.stop
        self._llm: Llm = program.make_llm()
        self._screen = program.make_screen(program.streams.stdout)
        self._worst = Exit.OK

    def run_checks(self) -> Exit:
        """Examine everything. Returns the exit code of the first thing that is bad."""
        self._check_settings()
        self._run_check("chat", self._check_chat)
        self._run_check("embedding", self._check_embedding)
        try:
            memory = self._program.open_memory(self._llm)
        except errors.OldFriendError as error:
            self._report_bad("database", error)
            return self._worst
        with closing(memory):
            self._run_check("database", lambda: self._check_database(memory))
            self._run_check("index", lambda: self._check_index(memory))
            self._run_check("persona", lambda: self._check_personas(memory))
            self._run_check("facts", lambda: self._check_facts(memory))
        return self._worst

    def _check_settings(self) -> None:
        for notice in self._settings.notices:
            if notice.key == ENV_LINE:
                self._report_bad("settings", errors.SettingsError(((notice.key, dict(notice.details)),)))
            else:
                self._write_line("note", "settings", self._words.describe_notice(notice))
        if not self._settings.notices:
            self._write_line("ok", "settings", self._words.say("check.settings_ok"))

    def _run_check(self, part: str, examination: Callable[[], str]) -> None:
        """Run one examination; what it returns is said, what it raises is bad."""
        try:
            self._write_line("ok", part, examination())
        except errors.OldFriendError as error:
            self._report_bad(part, error)

    def _check_facts(self, memory: Memory) -> str:
        """How many facts there are, and how many drafts of a model were not believed, by reason."""
        counts, rejected = memory.facts.count_all(), memory.windows.rejected()
        named = ((why.removeprefix("open: "), count) for why, count in rejected.most_common())
        reasons = self._words.join(f"{self._words.say(f'check.reason.{why}', why=why)} {count}" for why, count in named)
        key = "check.facts_rejected" if rejected else "check.facts_ok"
        return self._words.say(key, current=counts.current, quoted=counts.quoted, reasons=reasons)

    def _check_chat(self) -> str:
        described = self._llm.described
        if described.demo:
            return self._words.say("check.chat_demo")
        hello = [PromptMessage("user", "Hello! / 你好！")]
        wait_for(lambda: list(self._llm.chat(hello, self._stop, stream=True)), self._stop)
        return self._words.say("check.chat_ok", model=described.model, base=described.base)

    def _check_embedding(self) -> str:
        embedder = self._llm.embedder
        vector = wait_for(lambda: embedder.embed(["hello"]), self._stop)[0]
        if vector is None:
            raise errors.EmbeddingError()
        return self._words.say("check.embedding_ok", model=embedder.model, dimension=len(vector))

    def _check_database(self, memory: Memory) -> str:
        if problems := memory.problems():
            raise errors.Damaged(path=memory.path, reason=problems[0])
        if differing := memory.altered_rows():
            shown = self._words.join(differing[:_ROWS_SHOWN]) + (" …" if len(differing) > _ROWS_SHOWN else "")
            raise errors.Damaged("storage.differs", path=memory.path, count=len(differing), what=shown)
        sessions, rounds = memory.sessions.counts()
        count = self._words.count
        return self._words.say("check.database_ok", sessions=count("session", sessions), rounds=count("round", rounds))

    def _check_index(self, memory: Memory) -> str:
        memory.index.start()
        memory.index.settle(_PATIENCE)
        status = memory.index.status()
        if status.trouble:
            raise status.trouble
        return self._words.say("check.index_ok", vectors=status.vectors, waiting=status.waiting)

    def _check_personas(self, memory: Memory) -> str:
        memory.personas.read("self")
        memory.personas.read("user")
        return self._words.say("check.persona_ok")

    def _report_bad(self, part: str, error: errors.OldFriendError) -> None:
        self._write_line("bad", part, self._words.describe_error(error))
        self._worst = self._worst or error.exit_code

    def _write_line(self, verdict: str, part: str, said: str) -> None:
        shown, name = self._words.say(f"check.{verdict}"), self._words.say(f"check.{part}")
        pads = [" " * max(1, width - cells_of(text)) for text, width in ((shown, 6), (name, 12))]
        self._screen.write_spans([(shown + pads[0], (_LOOKS[verdict],)), (name + pads[1] + said + "\n", ("words",))])


def _restore_from(backup: Path, program: Program) -> Exit:
    """Put a backup in the place of the memory. Raises StorageError."""
    folder, words = program.settings.data_dir, program.words
    try:
        former = restore(backup, folder, program.clock, _leaving_out_erased(program, backup))
    except errors.StorageError as error:
        if error.details.get("path") != str(backup) or error.key not in _NO_BACKUP:
            raise
        if error.key == "storage.damaged" and _is_database(backup):
            reason = error.details.get("reason")
            raise errors.Damaged("backup.damaged", path=str(backup), reason=reason) from error
        raise errors.Damaged("backup.not_one", path=str(backup)) from error
    key = "backup.restored_over" if former else "backup.restored"
    program.streams.stdout.write(words.say(key, path=backup, former=former) + "\n")
    return Exit.OK


def _leaving_out_erased(program: Program, path: Path) -> Prepare:
    """What a copy of the memory goes through before it takes its place: the person is asked about what was erased."""
    from interfaces.terminal.commands.forget import ErasedQuestion

    screen = program.make_screen(program.streams.stdout)
    ask = ErasedQuestion(program.words, screen, _reader(program, screen), with_erased=program.options.with_erased)
    log = program.debug.log
    return leaving_out_erased(program.clock, program.new_id, log, lambda count: ask.leaves_out(count, path))


def _is_database(path: Path) -> bool:
    """Whether a file begins as SQLite's files do."""
    try:
        with open_bytes(path, 16) as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _change_tokens(order: TokenOrder, registry: Registry, words: Words, out: TextIO) -> Exit:
    """Add, list or revoke. Raises UsageError where there is no such token, or its name is taken."""

    def person_name(person: str) -> str:
        return words.say("token.everyone") if person == EVERYBODY else person

    if order.what == "add":
        secret = registry.add_token(order.name, order.person)
        print(words.say("token.added", name=order.name, person=person_name(order.person)), file=out)
        print(secret, file=out, flush=True)
        return Exit.OK
    if order.what == "revoke":
        if not registry.revoke(order.name):
            raise errors.UsageError("token.unknown", name=order.name)
        print(words.say("token.revoked", name=order.name), file=out, flush=True)
        return Exit.OK
    rows = [
        words.say(
            "token.row_revoked" if token.revoked_at else "token.row",
            name=token.name, person=person_name(token.person),
            since=token.created_at[:10], revoked=(token.revoked_at or "")[:10],
        )
        for token in registry.tokens()
    ]  # fmt: skip
    print("\n".join(rows) or words.say("token.none", person=ME), file=out, flush=True)
    return Exit.OK
