"""The command line of the program."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from domain import errors
from domain.patterns import pattern_of
from domain.records import EVERYBODY, ME
from interfaces.messages import Words

#: Where a server listens by default: this machine alone.
HOST, PORT = "127.0.0.1", 8123


@dataclass(frozen=True)
class TokenOrder:
    """What ``--token`` is to do; ``person`` is whose memory a new token opens."""

    what: Literal["add", "list", "revoke"]
    name: str = ""
    person: str = ME


@dataclass(frozen=True)
class ImportOrder:
    """What to import: files and folders, who the person is in them, and whether only to look.

    ``dates`` is what dates name first, "day" or "month", where a file leaves that open. ``with_erased``: also what was
    erased here.
    """

    paths: tuple[Path, ...]
    me: tuple[str, ...] = ()
    only_look: bool = False
    dates: str | None = None
    with_erased: bool = False


@dataclass(frozen=True)
class Options:
    """What was asked for. ``say`` is the text of ``-p``, ``batch`` the file of ``--batch``, ``-`` stdin.

    ``ask`` is a question that is answered from memory alone.
    ``here``: what ``-p`` says belongs to the present session. ``person`` is whom a host with ``--mcp`` is for.
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
    with_erased: bool = False
    export: str | None = None
    bring: ImportOrder | None = None
    stream: bool = True
    debug: bool = False
    data_dir: str | None = None
    database_url: str | None = None
    init_database: str | None = None
    rewrite_database: str | None = None
    export_person: Path | None = None
    import_person: Path | None = None
    env_file: Path | None = None
    serve: bool = False
    host: str = HOST
    port: int = PORT
    token: TokenOrder | None = None
    mcp: bool = False
    person: str = ME
    tools: Literal["five", "full"] = "five"
    help: str | None = None
    version: bool = False

    @property
    def settings_flags(self) -> Mapping[str, str]:
        """The settings that the command line gives."""
        given = {"DATA_DIR": self.data_dir, "DATABASE_URL": self.database_url, "DEBUG": "1" if self.debug else None}
        return {name: value for name, value in given.items() if value}

    @property
    def runs_without_chat(self) -> bool:
        """Whether something other than a conversation is asked for."""
        copies = (self.backup, self.restore, self.export_person, self.import_person)
        orders = (self.export, self.bring, self.token, self.init_database, self.rewrite_database)
        return any(copies) or any(orders) or self.serve or self.mcp or self.check


def parse_arguments(arguments: Sequence[str], words: Words) -> Options:
    """Read the command line; its help is in the language of ``words``. Raises UsageError."""
    parser = _make_parser(words)
    found = vars(parser.parse_args(list(arguments)))
    if found.pop("help"):
        return Options(help=parser.format_help())
    person, words_of_token = found.pop("person"), found.pop("token")
    _check_person(
        person,
        adding=words_of_token is not None and words_of_token[:1] == ["add"],
        mcp=found["mcp"],
        moved=bool(found["export_person"] or found["import_person"]),
    )
    paths, me, dry, dates = (found.pop(name) for name in ("import", "me", "dry_run", "dates"))
    if paths is None and (me or dry or dates):
        raise errors.UsageError("usage.needs_import")
    if found["with_erased"] and paths is None and found["restore"] is None:
        raise errors.UsageError("usage.with_erased")
    bring = None if paths is None else ImportOrder(tuple(paths), tuple(me or ()), dry, dates, found["with_erased"])
    where = {name: found.pop(name) for name in ("host", "port")}
    where = {name: given for name, given in where.items() if given is not None}
    person = person or ME
    options = Options(**found, **where, person=person, token=_token_order(words_of_token, person), bring=bring)
    _check_together(options, given_where=bool(where))
    return options


def _check_person(person: str | None, *, adding: bool, mcp: bool, moved: bool) -> None:
    """A person is whom a new token or a host is for."""
    if person is None:
        return
    if not adding and not mcp and not moved:
        raise errors.UsageError("usage.needs_token_add")
    if not re.fullmatch(r"[^\r\n\0\ud800-\udfff]{1,128}", person):
        raise errors.UsageError("usage.person")
    if (mcp or moved) and person == EVERYBODY:
        raise errors.UsageError("usage.mcp_person")


def _token_order(given: Sequence[str] | None, person: str) -> TokenOrder | None:
    if given is None:
        return None
    what = given[0] if given else None
    if what not in _NAMES_OF_ORDERS or len(given) != 1 + _NAMES_OF_ORDERS[what]:
        raise errors.UsageError("usage.token")
    name = given[-1] if len(given) > 1 else ""
    if name and not re.fullmatch(r"[\w.-]{1,64}", name):
        raise errors.UsageError("usage.token_name")
    return TokenOrder(cast(Literal["add", "list", "revoke"], what), name, person)


#: What ``--token`` does, and how many names it takes.
_NAMES_OF_ORDERS = {"add": 1, "list": 0, "revoke": 1}


def _check_together(options: Options, *, given_where: bool) -> None:
    """Raise UsageError where flags were given that do not go together."""
    if given_where and not options.serve:
        raise errors.UsageError("usage.needs_serve")
    if options.tools != "five" and not options.mcp:
        raise errors.UsageError("usage.needs_mcp")
    alone = (options.serve, options.token is not None, options.mcp, options.bring is not None)
    talking = sum(given is not None for given in (options.say, options.ask, options.batch))
    if sum(alone) > 1 or (any(alone) and talking):
        raise errors.UsageError("usage.serve_alone")
    if options.json and options.say is None:
        raise errors.UsageError("usage.json_needs_p")
    if options.here and options.say is None:
        raise errors.UsageError("usage.here_needs_p")
    if talking > 1:
        raise errors.UsageError("usage.one_of_p_batch")


def _parse_name(value: str) -> str:
    # An empty name would be the folder of the program.
    if not value.strip():
        raise argparse.ArgumentTypeError("expected one argument")
    return value


def _parse_path(value: str) -> Path:
    return Path(_parse_name(value))


def _parse_port(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", value) or int(value) > 65_535:
        raise argparse.ArgumentTypeError(value)
    return int(value)


class _Parser(argparse.ArgumentParser):
    """Raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        for key, form in _WRONG.items():
            if found := form.fullmatch(message):
                raise errors.UsageError(key, given=found[1])
        raise errors.UsageError("usage.wrong", reason=message)


#: What argparse says, and the message that says it in the person's language.
_WRONG = {
    "usage.bare": pattern_of(r"unrecognized arguments: ([^-].*)", re.DOTALL),
    "usage.unknown": pattern_of(r"unrecognized arguments: (.*)", re.DOTALL),
    "usage.needs_value": pattern_of(r"argument (\S+): expected (?:at least )?one argument"),
    "usage.port": pattern_of(r"argument --port: (?!expected)(.*)", re.DOTALL),
    "usage.tools": pattern_of(r"argument --tools: invalid choice: '?(.*?)'? \(.*", re.DOTALL),
    "usage.no_value": pattern_of(r"argument (\S+): ignored explicit argument .*", re.DOTALL),
}


def _make_parser(words: Words) -> argparse.ArgumentParser:
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
        group.add_argument(*names, help=words.say(f"flag.{key}", host=HOST, port=PORT), **how)

    add("-p", dest="say", metavar="TEXT")
    add("--here", action="store_true")
    add("--ask", metavar="QUESTION")
    add("--batch", metavar="FILE", type=_parse_name)
    add("--json", action="store_true")
    add("--new", action="store_true")
    add("--incognito", action="store_true")
    add("--plain", action="store_true")
    add("--no-stream", dest="stream", action="store_false")
    add("--check", action="store_true")
    add("--backup", metavar="FILE", type=_parse_path)
    add("--restore", metavar="FILE", type=_parse_path)
    add("--export", metavar="FILE", type=_parse_name)
    add("--import", nargs="+", metavar="FILE", type=_parse_path)
    add("--me", action="append", metavar="NAME")
    add("--dates", choices=("day", "month"))
    add("--dry-run", action="store_true")
    add("--with-erased", action="store_true")
    add("--serve", action="store_true")
    add("--host", metavar="HOST")
    add("--port", metavar="PORT", type=_parse_port)
    add("--mcp", action="store_true")
    add("--tools", choices=("five", "full"), default="five")
    add("--token", nargs="*", metavar="WHAT")
    add("--person", metavar="ID")
    add("--debug", action="store_true")
    add("--data-dir", metavar="FOLDER")
    add("--database-url", metavar="URL", type=_parse_name)
    add("--export-person", metavar="FOLDER", type=_parse_path)
    add("--import-person", metavar="FOLDER", type=_parse_path)
    add("--init-database", metavar="URL", type=_parse_name)
    add("--rewrite-database", metavar="URL", type=_parse_name)
    add("--env-file", metavar="FILE", type=Path)
    add("--version", action="store_true")
    add("-h", "--help", action="store_true")
    return parser
