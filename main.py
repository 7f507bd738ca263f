"""Old Friend (老友): a chatbot in the terminal that remembers you. Start here.

``main`` reads the command line and the settings, wires everything together and returns the exit
code; ``chat`` is the loop: read, then a command or a turn, then show. Nothing heavy is imported on
the way to the first prompt: libraries, commands and jobs load in a thread once it stands
(``wiring.BEHIND_THE_PROMPT``). A test watches over that.
"""

from __future__ import annotations

import gc
import signal

if __name__ == "__main__":
    # Until there is somebody to hear it, Ctrl-C ends the program without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What is loaded stays: to look through it for what can go, again and again, took a tenth of the time to the prompt.
    gc.disable()

import os
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import config
from conversation import Conversation
from domain import errors
from domain.errors import Exit
from domain.settings import Settings
from domain.workers import Again, Worker
from interfaces.debug_log import DebugLog
from interfaces.interrupting import Wishes, heard
from interfaces.socket.lending import Lending
from interfaces.socket.line import gave_way
from interfaces.terminal import arguments, history_file
from interfaces.terminal.arguments import ImportOrder, Options, TokenOrder
from interfaces.terminal.command_context import Restart
from interfaces.terminal.repl import Repl
from interfaces.terminal.screen import is_gone
from interfaces.terminal.wiring import Streams, steady, warmer, wired, words_for
from jobs.keeping import session_to_open
from llm import Llm
from memory import Memory

if TYPE_CHECKING:
    from fastapi import FastAPI

    from people import People, Scrub

VERSION = "0.1.0"
HERE = Path(__file__).resolve().parent
#: Seconds that leaving waits for vectors that are being made; what is not made then is made at the next start.
_SETTLE = 2.0
#: Seconds that a program which holds the memory for others has for letting it go.
_MAKING_WAY = 10.0
#: Seconds that one thing to say or ask waits for a program that is soon done, and between two looks.
_WAITING, _LOOK = 60.0, 0.1
#: Seconds between two looks at what is due in the background.
_MAINTAIN_EVERY = 600.0
#: Programs that may each take the memory before a person has it.
_MOST_HOLDERS = 5


def main(given: Sequence[str] | None = None) -> int:
    """Run the program; the exit code."""
    streams = Streams(sys.stdin, sys.stdout, sys.stderr, os.environ)
    try:
        words = words_for(None, streams.environment)
        options = arguments.parse(sys.argv[1:] if given is None else given, words)
        if options.help or options.version:
            print(options.help or f"Old Friend {VERSION}", flush=True)
            return Exit.OK
        with heard() as wishes:
            while isinstance(ended := _run(options, streams, wishes), Options):
                options = ended
            return ended
    except errors.OldFriendError as error:
        print(words_for(None, streams.environment).error(error), file=sys.stderr)
        return error.exit_code
    except Exception as fault:  # before there is a log
        if is_gone(fault):
            return Exit.FAILED
        print(words_for(None, streams.environment).say("error.unstarted", kind=fault), file=sys.stderr)
        return Exit.FAILED


def _run(options: Options, streams: Streams, wishes: Wishes) -> Exit | Options:
    """Open everything, chat, close everything. Where settings have changed, what all is to be opened anew with."""
    settings = config.load(config.home_of(HERE), streams.environment, options.flags, options.env_file)
    debug = DebugLog(settings.log_dir, settings.secrets, on=settings.debug)
    try:
        if (done := _without_chat(settings, debug, options, streams, wishes)) is not None:
            return done
        with ExitStack() as open_things:
            opened = _said_or_opened(settings, debug, options, streams, wishes, open_things)
            if isinstance(opened, Exit):
                return opened
            conversation, lending = opened
            maintenance = Worker("maintenance", partial(_maintain, conversation), debug.log)
            warm = warmer(debug.log, then=partial(_ready, conversation, lending, maintenance))
            connect = partial(Llm, log=debug.log, clock=_now)
            with wired(
                conversation, debug, options, streams, wishes,
                clock=_now, connect=connect, warm=warm, version=VERSION,
            ) as repl:  # fmt: skip
                if options.new:
                    repl.begin_anew()
                if not repl.context.interactive:
                    return _run_batch(repl, options, streams)
                try:
                    chat(repl)
                finally:
                    maintenance.end(0)
                restart = isinstance(repl.ending, Restart)
                return options.again(incognito=conversation.incognito) if restart else Exit.OK
    except errors.OldFriendError as error:
        print(words_for(settings, streams.environment).error(error), file=sys.stderr)
        return error.exit_code
    except Exception as fault:
        if is_gone(fault):
            return Exit.FAILED
        debug.log.error("unexpected", exc_info=fault)
        told = words_for(settings, streams.environment).say(
            "error.unexpected", kind=type(fault).__name__, log=settings.log_dir / "errors.log"
        )
        print(told, file=sys.stderr)
        return Exit.FAILED
    finally:
        debug.close()


def _without_chat(
    settings: Settings, debug: DebugLog, options: Options, streams: Streams, wishes: Wishes
) -> Exit | None:
    """What the command line asks for besides talking; None where it is talking."""
    if options.backup or options.restore:
        return _back_up_or_restore(settings, options, streams)
    if options.export:
        return _export(settings, debug, options, streams)
    if options.bring:
        return _import(settings, debug, options.bring, options, streams, wishes)
    if options.token:
        return _tokens(settings, options.token, streams)
    if options.serve:
        return _serve(settings, debug, options, streams, wishes)
    if options.mcp:
        return _speak_mcp(settings, debug, options, streams, wishes)
    return _check(settings, debug, streams, options, wishes) if options.check else None


def _said_or_opened(
    settings: Settings,
    debug: DebugLog,
    options: Options,
    streams: Streams,
    wishes: Wishes,
    open_things: ExitStack,
) -> Exit | tuple[Conversation, Lending]:
    """Say it through whoever holds the memory, or open everything here.

    Who has one thing to say or ask waits for a program that is soon done, or soon takes it up: one that holds the
    memory and has no socket. Raises DataInUse when that takes too long.
    """
    until, told = time.monotonic() + _WAITING, False
    while True:
        if (said := _said_beside(settings, options, streams, wishes)) is not None:
            return said
        try:
            return open_things.enter_context(_opened(settings, debug, options, streams))
        except errors.DataInUse as fault:
            if time.monotonic() > until or not _may_wait(settings, options):
                raise
            if not told:
                waiting = words_for(settings, streams.environment).say("storage.waiting", **fault.details)
                print(waiting, file=streams.stderr, flush=True)
            told = True
        if wishes.stop.wait(_LOOK):
            raise errors.Interrupted


def _may_wait(settings: Settings, options: Options) -> bool:
    if options.say is None and options.ask is None:
        return False
    from interfaces.terminal.beside import is_held, may_be_said_beside

    return may_be_said_beside(options) or not is_held(settings)


def _said_beside(settings: Settings, options: Options, streams: Streams, wishes: Wishes) -> Exit | None:
    """One message or question, said to whoever holds the memory; None where nobody does, or there is none."""
    if options.say is None and options.ask is None:
        return None
    from interfaces.terminal.beside import say_beside

    return say_beside(settings, options, streams, wishes)


def _run_batch(repl: Repl, options: Options, streams: Streams) -> Exit:
    from interfaces.terminal.batch import run_batch

    repl.context.memory.start()
    return run_batch(repl, options, streams)


def _ready(conversation: Conversation, lending: Lending, maintenance: Worker) -> None:
    """What begins once the prompt stands and the libraries are loaded."""
    lending.begin()
    conversation.llm.prepare()
    conversation.memory.start()
    maintenance.start()


def _maintain(conversation: Conversation) -> Again:
    """Do in the background what is due by now, and look again later: a chat may stay open for days."""
    conversation.keep_silent()
    return _MAINTAIN_EVERY


def chat(repl: Repl) -> None:
    """Read, then a command or a turn, then show; until the person leaves."""
    repl.open()
    while (entered := repl.read()) is not None:
        if not repl.do(entered):
            return


@contextmanager
def _opened(
    settings: Settings, debug: DebugLog, options: Options, streams: Streams
) -> Iterator[tuple[Conversation, Lending]]:
    with closing(Llm(settings, debug.log, clock=_now)) as llm:
        memory = _memory(settings, debug, llm)
        try:
            session, resumed = session_to_open(memory, settings, _now())
            conversation = Conversation(
                settings, memory, llm, debug.log,
                session=session, resumed=resumed, clock=_now, new_id=_new_id, incognito=options.incognito,
            )  # fmt: skip
            words = words_for(settings, streams.environment)
            with closing(Lending(conversation, words, debug.log, clock=_now, new_id=_new_id)) as lending:
                yield conversation, lending
            conversation.close()
        finally:
            memory.close(settle=_SETTLE)


def _memory(settings: Settings, debug: DebugLog, llm: Llm) -> Memory:
    opened = partial(
        Memory, settings.data_dir, llm.embedder, clock=_now, new_id=_new_id, log=debug.log,
        also_searched=[settings.log_dir], scrubbers=_scrubbers(debug, settings.data_dir),
        external=settings.external_memories,
    )  # fmt: skip
    for _ in range(_MOST_HOLDERS):
        try:
            return opened()
        except (
            errors.DataInUse
        ):  # a program that only serves others makes way for a person; the next may be quicker
            if not gave_way(settings.data_dir, _MAKING_WAY):
                raise
    return opened()


def _scrubbers(debug: DebugLog, folder: Path) -> list[Scrub]:
    return [
        lambda gone: history_file.scrub(folder / "history", gone.texts),
        lambda gone: debug.scrub(gone.held_by),
    ]


def _back_up_or_restore(settings: Settings, options: Options, streams: Streams) -> Exit:
    from interfaces.terminal.check_and_backup import back_up_to, restore_from

    words = words_for(settings, streams.environment)
    if options.backup:
        return back_up_to(options.backup, settings.data_dir, words, streams.stdout)
    assert options.restore is not None
    gave_way(settings.data_dir, _MAKING_WAY)
    return restore_from(options.restore, settings.data_dir, words, streams.stdout, _now)


def _check(settings: Settings, debug: DebugLog, streams: Streams, options: Options, wishes: Wishes) -> Exit:
    from interfaces.terminal.check_and_backup import Check
    from interfaces.terminal.screen import Screen, wants_plain

    llm = Llm(settings, debug.log, clock=_now)
    screen = Screen(streams.stdout, plain=wants_plain(streams.stdout, streams.environment, options.plain))
    words = words_for(settings, streams.environment)
    return Check(settings, llm, lambda: _memory(settings, debug, llm), screen, words, wishes.stop).run()


def _export(settings: Settings, debug: DebugLog, options: Options, streams: Streams) -> Exit:
    from interfaces.terminal.screen import Screen, wants_plain
    from interfaces.terminal.whole_export import FORMS, elsewhere, write_elsewhere, write_markdown, write_rows

    assert options.export is not None
    words, target = words_for(settings, streams.environment), Path(options.export)
    screen = Screen(
        steady(streams.stdout), plain=wants_plain(streams.stdout, streams.environment, options.plain)
    )
    if copy := elsewhere(options.export):
        llm = Llm(settings, debug.log, clock=_now)
        with closing(llm), closing(_memory(settings, debug, llm)) as memory:
            return write_elsewhere(copy, memory, words, screen)
    if target.suffix.lower() == ".json":
        return write_rows(target, settings.data_dir, words, screen, _now)
    if target.suffix.lower() != ".md":
        raise errors.UsageError("export.format", given=options.export, formats=FORMS)
    with _opened(settings, debug, options, streams) as (conversation, _):
        return write_markdown(target, conversation, words, screen)


def _import(
    settings: Settings,
    debug: DebugLog,
    order: ImportOrder,
    options: Options,
    streams: Streams,
    wishes: Wishes,
) -> Exit:
    from interfaces.terminal.history_import import import_alone
    from interfaces.terminal.line_source import PlainReader
    from interfaces.terminal.screen import Screen, wants_plain

    llm = Llm(settings, debug.log, clock=_now)
    screen = Screen(
        steady(streams.stdout), plain=wants_plain(streams.stdout, streams.environment, options.plain)
    )
    reader = None if streams.alone else PlainReader(streams.stdin, screen, wishes, lambda: None)
    words, opened = words_for(settings, streams.environment), partial(_memory, settings, debug, llm)
    try:
        return import_alone(order, settings, opened, screen, words, reader, wishes, _now)
    finally:
        llm.close()


def _tokens(settings: Settings, order: TokenOrder, streams: Streams) -> Exit:
    from interfaces.terminal import tokens
    from people import Registry, registry_in

    with closing(Registry(registry_in(settings.data_dir), _now)) as registry:
        return tokens.do(order, registry, words_for(settings, streams.environment), streams.stdout)


def _serve(settings: Settings, debug: DebugLog, options: Options, streams: Streams, wishes: Wishes) -> Exit:
    from interfaces.http.serving import Served, serve

    words = words_for(settings, streams.environment)
    tell = partial(print, file=steady(streams.stdout), flush=True)
    served = Served(settings, debug.log, words, tell, wishes, _now, _new_id, partial(_scrubbers, debug))
    return serve(served, options.host, options.port, _app)


def _speak_mcp(
    settings: Settings, debug: DebugLog, options: Options, streams: Streams, wishes: Wishes
) -> Exit:
    from interfaces.http.serving import needed
    from interfaces.socket.opening import opened_people
    from interfaces.socket.shared import SharedMemory

    needed("mcp")
    from interfaces.mcp.stdio import speak

    words = words_for(settings, streams.environment)
    opened = partial(
        opened_people, settings, debug.log,
        clock=_now, new_id=_new_id, scrubbers_of=partial(_scrubbers, debug),
    )  # fmt: skip
    memory = SharedMemory(settings.data_dir, opened, words)
    with closing(memory):
        full = options.tools == "full"
        return speak(memory, options.person, words, debug.log, wishes, full=full, version=VERSION)


def _app(people: People, only_here: bool) -> FastAPI:
    from interfaces.http.app import make_app

    return make_app(people, VERSION, only_here=only_here)


def _now() -> datetime:
    return datetime.now().astimezone()


def _new_id() -> str:
    return uuid.uuid4().hex


def _keep_what_is_loaded() -> None:
    """Look for what can go among what comes from now on, and never again among what was loaded until now."""
    gc.freeze()
    gc.enable()


def _end(code: int) -> NoReturn:
    """End at once: everything is closed, and a thread that is still loading a library must not hold the process."""
    with suppress(OSError):  # whoever read what we wrote may be gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def run() -> NoReturn:
    """The command ``old-friend``, where it is installed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _keep_what_is_loaded()
    _end(main())


if __name__ == "__main__":
    _keep_what_is_loaded()
    _end(main())
