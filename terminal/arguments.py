"""The command line: what may be asked of the program when it is started."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import errors


@dataclass(frozen=True)
class Options:
    """What was asked for. ``say`` is the text of ``-p``, ``batch`` the file of ``--batch``, ``-`` stdin."""

    say: str | None = None
    batch: str | None = None
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

    @property
    def again(self) -> Options:
        """What is asked for when everything is opened anew: ``--new`` was done already."""
        return replace(self, new=False)


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line. Raises UsageError."""
    parser = _parser()
    found = vars(parser.parse_args(list(arguments)))
    if found.pop("help"):
        return Options(help=parser.format_help())
    options = Options(**found)
    if options.json and options.say is None:
        raise errors.UsageError("usage.json_needs_p")
    if options.say is not None and options.batch is not None:
        raise errors.UsageError("usage.one_of_p_batch")
    return options


class _Parser(argparse.ArgumentParser):
    """Raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """The command line is wrong."""
        raise errors.UsageError("usage.wrong", reason=message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="main.py",
        add_help=False,
        allow_abbrev=False,
        description="Old Friend (老友): a chatbot that remembers you.",
    )
    add = parser.add_argument
    add(
        "-p", dest="say", metavar="TEXT", help='say one thing, print the reply, end ("-": read it from stdin)'
    )
    add("--batch", metavar="FILE", help='play messages and commands line by line ("-": stdin)')
    add("--json", action="store_true", help="with -p: one JSON object with the reply and what was recalled")
    add("--new", action="store_true", help="save the present session and begin a new one")
    add("--incognito", action="store_true", help="write nothing of this conversation")
    add("--plain", action="store_true", help="plain text: no colours, nothing redrawn")
    add("--no-stream", dest="stream", action="store_false", help="show each reply when it is whole")
    add("--check", action="store_true", help="examine settings, models, database and index, then end")
    add("--backup", metavar="FILE", type=Path, help="copy the whole memory into one file, then end")
    add("--restore", metavar="FILE", type=Path, help="put such a file in the place of the memory, then end")
    add("--debug", action="store_true", help="write prompts and database traffic to the log folder")
    add("--data-dir", metavar="FOLDER", help="where everything is remembered")
    add("--env-file", metavar="FILE", type=Path, help="settings, instead of .env")
    add("--version", action="store_true", help="print the version")
    add("-h", "--help", action="store_true", help="print this")
    return parser
