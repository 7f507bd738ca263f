"""Old Friend (老友): a chatbot in the terminal that remembers you. Start here.

``main`` reads the command line and the settings, wires everything together and returns the exit code;
``_run_chat_loop`` is the loop: read, then a command or a turn, then show. ``--help`` loads the command line alone.
Nothing heavy is imported on the way to the first prompt: libraries, commands and jobs load in a thread behind it
(``wiring.BEHIND_THE_PROMPT``). A test watches over that.
"""

from __future__ import annotations

import gc
import signal

if __name__ == "__main__":
    # Until a handler is installed, Ctrl-C ends the program without output.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What is loaded stays: collecting garbage in it again and again took a tenth of the time to the prompt.
    gc.disable()

import os
import sys
import uuid
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from domain import errors
from domain.errors import Exit
from interfaces.messages import words_for
from interfaces.terminal.arguments import Options, parse_arguments

if TYPE_CHECKING:
    from conversation import Conversation
    from domain.workers import Again
    from interfaces.interrupting import Wishes
    from interfaces.terminal.repl import Repl
    from interfaces.terminal.wiring import Program

VERSION = "0.1.0"
HERE = Path(__file__).resolve().parent
#: Seconds between two looks at what is due in the background.
_MAINTAIN_EVERY = 600.0


def main(given: Sequence[str] | None = None) -> int:
    """Run the program; the exit code."""
    words = words_for(None, os.environ)
    try:
        options = parse_arguments(sys.argv[1:] if given is None else given, words)
        if options.help or options.version:
            print(options.help or f"Old Friend {VERSION}", flush=True)
            return Exit.OK
        return _run_until_left(options)
    except errors.OldFriendError as error:
        print(words.describe_error(error), file=sys.stderr)
        return error.exit_code
    except Exception as fault:  # before there is a log
        from interfaces.terminal.screen import is_gone

        if is_gone(fault):
            return Exit.FAILED
        print(words.say("error.unstarted", kind=fault), file=sys.stderr)
        return Exit.FAILED


def _run_until_left(options: Options) -> Exit:
    from interfaces.interrupting import catch_signals

    with catch_signals() as wishes:
        while isinstance(ended := _run_program(options, wishes), Options):
            options = ended
    return ended


def _run_program(options: Options, wishes: Wishes) -> Exit | Options:
    """Open everything, chat, close everything. Returns the options to start again with where settings changed."""
    import config
    from interfaces.debug_log import DebugLog
    from interfaces.terminal.screen import is_gone
    from interfaces.terminal.wiring import Program, Streams, open_conversation

    streams = Streams(sys.stdin, sys.stdout, sys.stderr, os.environ)
    settings = config.load_settings(config.home_of(HERE), streams.environment, options.settings_flags, options.env_file)
    debug = DebugLog(settings.log_dir, settings.secrets, on=settings.debug)
    program = Program(settings, options, streams, debug, wishes, _read_clock, _new_id, VERSION)
    try:
        if options.runs_without_chat:
            from interfaces.terminal.one_shot import run_without_chat

            return run_without_chat(program)
        with ExitStack() as open_things:
            return _run_chat(program, open_things.enter_context(open_conversation(program)))
    except errors.OldFriendError as error:
        print(program.words.describe_error(error), file=sys.stderr)
        return error.exit_code
    except Exception as fault:
        if is_gone(fault):
            return Exit.FAILED
        debug.log.error("unexpected", exc_info=fault)
        log = settings.log_dir / "errors.log"
        print(program.words.say("error.unexpected", kind=type(fault).__name__, log=log), file=sys.stderr)
        return Exit.FAILED
    finally:
        debug.close()


def _run_chat(program: Program, conversation: Conversation) -> Exit | Options:
    """Chat with a person or run a script, until it ends."""
    from domain.workers import Worker
    from interfaces.terminal.command_context import Restart
    from interfaces.terminal.wiring import make_warmer, wire_chat

    def maintain() -> Again:
        """Do in the background what is due by now, and look again later: a chat may stay open for days."""
        conversation.start_maintenance()
        return _MAINTAIN_EVERY

    def start_background() -> None:
        """Start what waits for the prompt and the libraries."""
        conversation.llm.prepare()
        conversation.memory.start()
        maintenance.start()

    maintenance = Worker("maintenance", maintain, program.debug.log)
    warm = make_warmer(program.debug.log, then=start_background)
    with wire_chat(conversation, program, warm) as repl:
        if program.options.new:
            from interfaces.terminal.commands.conversation_commands import begin_new_session

            begin_new_session(repl.context)
        if not repl.context.interactive:
            from interfaces.terminal.batch import run_batch

            repl.context.memory.start()
            return run_batch(repl, program.options, program.streams)
        try:
            _run_chat_loop(repl)
        finally:
            maintenance.end(0)
        if not isinstance(repl.ending, Restart):
            return Exit.OK
        return replace(program.options, new=False, incognito=conversation.incognito)  # --new was done already


def _run_chat_loop(repl: Repl) -> None:
    """Read, then a command or a turn, then show; until the person leaves."""
    repl.show_opening()
    while (entered := repl.read_input()) is not None:
        if not repl.run_input(entered):
            return


def _read_clock() -> datetime:
    return datetime.now().astimezone()


def _new_id() -> str:
    return uuid.uuid4().hex


def _keep_what_is_loaded() -> None:
    """Collect garbage from now on, but never look at what was loaded until now."""
    gc.freeze()
    gc.enable()


def _end_process(code: int) -> NoReturn:
    """End at once: everything is closed, and a thread that is still loading a library must not hold the process."""
    with suppress(OSError):  # the reader of our output may have closed it
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def run() -> NoReturn:
    """The command ``old-friend``, where it is installed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _keep_what_is_loaded()
    _end_process(main())


if __name__ == "__main__":
    _keep_what_is_loaded()
    _end_process(main())
