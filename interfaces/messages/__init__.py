"""The words a person reads: one table a language, the same keys in both (``en.json``, ``zh.json``).

Everything below the terminal speaks in message keys and details; here they become one inert line
that says what happened and what to do next.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from domain import errors
from domain.settings import BUILT_IN, DEFAULT_OPENAI_MODEL, OPENAI_BASE, Setting, Settings
from domain.text import one_line
from language.scripts import Language

if TYPE_CHECKING:
    from domain.events import Notice
    from domain.records import ErasureScope
    from jobs.rebuild import Erased

LANGUAGES: tuple[Language, ...] = ("en", "zh")
_LONGEST_DETAIL = 400
#: What an erasure removes, and the name of one.
_ERASED = {
    "messages": "turn", "summaries": "summary", "chapters": "chapter", "notes": "note", "facts": "fact",
    "versions": "version",
}  # fmt: skip


def choose_language(setting: str, environment: Mapping[str, str]) -> Language:
    """The language of the program's messages: the setting, else the locale, else English.

    >>> choose_language("auto", {"LANG": "zh_CN.UTF-8"})
    'zh'
    """
    if setting[:2] in ("en", "zh"):
        return "zh" if setting.startswith("zh") else "en"
    locale = next((environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def words_for(settings: Settings | None, environment: Mapping[str, str]) -> Words:
    """The messages in the language of the settings, or of the locale while there are none."""
    return Words(choose_language(settings.language if settings else environment.get("LANGUAGE", "auto"), environment))


class Words:
    """Looks up messages of one language.

    >>> Words("en").say("model.timed_out", base="http://x")
    'The model server at http://x did not answer in time. Wait and try again, or raise REQUEST_TIMEOUT.'
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        self._table = load_table(language)

    def say(self, key: str, /, **details: object) -> str:
        """One message, filled in. An unknown key falls back to its family, never to nothing."""
        found = key
        while found and found not in self._table:
            found = found.rpartition(".")[0]
        shown = {name: self._format_detail(value) for name, value in details.items()}
        return self._table[found or "error.unknown"].format_map(_Lenient({"key": key} | shown))

    def has_message(self, key: str) -> bool:
        """Whether there is a message of this very key."""
        return key in self._table

    def count(self, thing: str, count: int) -> str:
        """A number of things.

        >>> Words("en").count("round", 1), Words("en").count("round", 2)
        ('1 exchange', '2 exchanges')
        """
        return self.plural(f"count.{thing}", count)

    def plural(self, key: str, count: int) -> str:
        """A message in its form for this count: what is before the ``|`` for one, behind it for more."""
        one, _, many = self.say(key, count=count).partition("|")
        return many if many and count != 1 else one

    def join(self, parts: Iterable[str]) -> str:
        """Several things in a row, with the comma of the language.

        >>> Words("zh").join(["md", "json"])
        'md、json'
        """
        return self._table["why.comma"].join(parts)

    def count_erased(self, scope: ErasureScope) -> dict[str, object]:
        """How much an erasure removes, of each kind: the details of ``forget.done`` and ``forget.counts``."""
        return {name: self.count(thing, len(getattr(scope, name))) for name, thing in _ERASED.items()}

    def describe_proof(self, erased: Erased) -> tuple[str, str]:
        """What was rebuilt after an erasure, "" for nothing; and what the search of every file found."""
        found, rebuilt = erased.proof, [self.say(f"persona.{persona}") for persona in erased.personas_rebuilt]
        if erased.summaries_rebuilt:
            rebuilt.insert(0, self.count("summary", erased.summaries_rebuilt))
        searched = {"files": self.count("file", found.files), "tables": self.count("table", found.tables)}
        key = "forget.proof_database" if found.tables else "forget.proof"
        proof = self.say(key, **searched, searched=found.searched, found=len(found.traces))
        return self.say("forget.rebuilt", what=self.join(rebuilt)) if rebuilt else "", proof

    def name_format(self, kind: str) -> str:
        """The name of a format that can be imported."""
        key = f"import.source.{kind.replace('-', '_')}"
        return self.say(key) if key in self._table else kind

    def describe_setting(self, setting: Setting) -> str:
        """What a person gets from a setting."""
        details = {"base": OPENAI_BASE, "model": DEFAULT_OPENAI_MODEL, "built_in": BUILT_IN}
        return self.say(f"setting.{setting.field_name}", **details)

    def describe_notice(self, notice: Notice) -> str:
        """Something worth saying, in words."""
        details, key = dict(notice.details), notice.key
        if key == "opening.autosaved":
            return self.plural(key, int(str(details["sessions"])))
        rounds = details.get("rounds")
        if key.startswith("forget_request.") and isinstance(rounds, int):
            names = self.say("number.words").split()
            details["hidden"] = self.count("hidden", rounds)
            details["rounds"] = self.count("round", rounds)
            details["others"] = names[rounds - 1] if rounds <= len(names) else rounds - 1
            if details.get("matter") and rounds > 1:
                key = "forget_request.detected_of"
        if isinstance(turns := details.get("turns"), int):
            details["messages"] = self.count("turn", turns)
        return self.say(key, **details)

    def _format_detail(self, value: object) -> str:
        """A detail on one line. A space in front of it is kept, since hints begin with one."""
        if isinstance(value, errors.OldFriendError):
            return self.describe_error(value)
        if isinstance(value, tuple):
            return self.join(self._table.get(f"part.{part}", one_line(str(part))) for part in value)
        text = str(value)
        return " " * text.startswith(" ") + one_line(text, _LONGEST_DETAIL)

    def describe_error(self, error: errors.OldFriendError) -> str:
        """An error in words; the problems of several settings take a line each."""
        if isinstance(error, errors.SettingsError):
            return "\n".join(self.say(key, **details) for key, details in error.problems)
        return self.say(error.key, **error.details)


@cache
def load_table(language: Language) -> Mapping[str, str]:
    """All messages of a language: ``subject.case``, and for each what a person reads."""
    table: dict[str, str] = json.loads(Path(__file__).with_name(f"{language}.json").read_text(encoding="utf-8"))
    return table


class _Lenient(dict[str, str]):
    """Details; one that is missing is a gap in the sentence, not a failure."""

    def __missing__(self, name: str) -> str:
        return "?"
