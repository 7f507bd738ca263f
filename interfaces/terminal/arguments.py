"""The command line: what may be asked of the program when it is started."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from domain import errors
from interfaces.terminal.messages import Words


@dataclass(frozen=True)
class Options:
    """What was asked for. ``say`` is the text of ``-p``, ``batch`` the file of ``--batch``, ``-`` stdin.

    ``ask`` is a question that is answered from memory alone.
    ``here``: what ``-p`` says belongs to the present session.
    """

    say: str | None = None
    ask: str | None = None
    batch: str | None = None
    here: bool = False
    json: bool = False
    new: bool = False
    incognito: bool = False
    plain: bool = False
    check: bool = False
    backup: Path | None = None
    restore: Path | None = None
    stream: bool = True
    debug: bool = False
    data_dir: str | None = None
    env_file: Path | None = None
    help: str | None = None
    version: bool = False

    @property
    def flags(self) -> Mapping[str, str]:
        """The settings that the command line gives."""
        given = {"DATA_DIR": self.data_dir, "DEBUG": "1" if self.debug else None}
        return {name: value for name, value in given.items() if value}

    def again(self, *, incognito: bool) -> Options:
        """What is asked for when everything is opened anew: ``--new`` was done already."""
        return replace(self, new=False, incognito=incognito)


def parse(arguments: Sequence[str], words: Words) -> Options:
    """Read the command line; its help is in the language of ``words``. Raises UsageError."""
    parser = _parser(words)
    found = vars(parser.parse_args(list(arguments)))
    if found.pop("help"):
        return Options(help=parser.format_help())
    options = Options(**found)
    if options.json and options.say is None:
        raise errors.UsageError("usage.json_needs_p")
    if options.here and options.say is None:
        raise errors.UsageError("usage.here_needs_p")
    if sum(given is not None for given in (options.say, options.ask, options.batch)) > 1:
        raise errors.UsageError("usage.one_of_p_batch")
    return options


class _Parser(argparse.ArgumentParser):
    """Raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """The command line is wrong."""
        for key, form in _WRONG.items():
            if found := form.fullmatch(message):
                raise errors.UsageError(key, given=found[1])
        raise errors.UsageError("usage.wrong", reason=message)


#: What argparse says, and the message that says it in the person's language.
_WRONG = {
    "usage.bare": re.compile(r"unrecognized arguments: ([^-].*)", re.DOTALL),
    "usage.unknown": re.compile(r"unrecognized arguments: (.*)", re.DOTALL),
    "usage.needs_value": re.compile(r"argument (\S+): expected one argument"),
    "usage.no_value": re.compile(r"argument (\S+): ignored explicit argument .*", re.DOTALL),
}


def _parser(words: Words) -> argparse.ArgumentParser:
    class Formatter(argparse.HelpFormatter):
        def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
            super().add_usage(usage, actions, groups, words.say("flag.usage"))

    parser = _Parser(
        prog="main.py",
        add_help=False,
        allow_abbrev=False,
        description=words.say("flag.about"),
        formatter_class=Formatter,
    )
    group = parser.add_argument_group(words.say("flag.title"))

    def add(*names: str, **how: Any) -> None:
        key = names[-1].lstrip("-").replace("-", "_")
        group.add_argument(*names, help=words.say(f"flag.{key}"), **how)

    add("-p", dest="say", metavar="TEXT")
    add("--here", action="store_true")
    add("--ask", metavar="QUESTION")
    add("--batch", metavar="FILE")
    add("--json", action="store_true")
    add("--new", action="store_true")
    add("--incognito", action="store_true")
    add("--plain", action="store_true")
    add("--no-stream", dest="stream", action="store_false")
    add("--check", action="store_true")
    add("--backup", metavar="FILE", type=Path)
    add("--restore", metavar="FILE", type=Path)
    add("--debug", action="store_true")
    add("--data-dir", metavar="FOLDER")
    add("--env-file", metavar="FILE", type=Path)
    add("--version", action="store_true")
    add("-h", "--help", action="store_true")
    return parser
