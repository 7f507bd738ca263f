"""The questions of ``/setup``: where, which key, which model, who is who. Ctrl-C at any of them
changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from domain import errors
from domain.events import Stop
from domain.settings import BY_NAME, Settings
from interfaces.terminal.command_context import CommandContext, Next, Restart, masked
from interfaces.terminal.setup.envfile import write
from interfaces.terminal.setup.providers import (
    KNOWN,
    LOCAL,
    Answered,
    Connect,
    Provider,
    addresses,
    aimed_at,
    embedding_of,
    found_here,
    probe,
)
from llm import Message

_NAMES_SHOWN = 30
#: What an address says that lists models, perhaps, but is not where the chat is.
_NO_CHAT_HERE = ("model.no_such_path", "model.html_reply")


class _BrokenOffError(Exception):
    """The person left the questions."""


@dataclass(frozen=True)
class Answers:
    """What is to be written, by the names of settings, and the first self-image."""

    values: dict[str, str]
    image: str


def setup(context: CommandContext, argument: str) -> Next:
    """``/setup``"""
    context.tell("setup.title", "title")
    context.begin()
    try:
        answers = _Wizard(context).ask()
    except (_BrokenOffError, errors.Interrupted):
        context.tell("setup.left")
        return None
    path = context.settings.env_file
    try:
        write(path, answers.values, context.words.language)
    except errors.StorageError as error:
        context.tell("setup.failed", "trouble", path=path, reason=error)
        return None
    if answers.image:
        context.memory.write_image("self", answers.image, "setup")
    context.tell("setup.written", "good", path=path)
    _point_out_environment(context, answers)
    return Restart()


def _point_out_environment(context: CommandContext, answers: Answers) -> None:
    """Settings of the environment go before those of the file."""
    stronger = [
        name for name, value in answers.values.items() if context.environment.get(name, value) != value
    ]
    if stronger:
        context.tell("setup.environment", "warning", names=", ".join(stronger))


class _Wizard:
    """Asks one question after the other."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._connect = context.connect

    def ask(self) -> Answers:
        """All answers. Raises _BrokenOffError."""
        provider, answered = self._where()
        key = self._key(provider) if answered is None else ""
        answered = answered or self._probed(provider, key)
        base = answered.base if answered else provider.base
        names = answered.names if answered else ()
        model = self._model(provider, names)
        base = self._answering(base, key, model)
        embedding = self._embedding(base, key, embedding_of(provider, names))
        values = {
            "OPENAI_API_BASE": base,
            "OPENAI_API_KEY": key,
            "CHAT_MODEL": model,
            "EMBEDDING_MODEL": embedding,
        }
        values |= {"EMBEDDING_API_BASE": "", "EMBEDDING_API_KEY": ""}
        values["COMPANION_NAME"] = self._line("setup.companion", default=self._companion())
        values["USER_NAME"] = self._line("setup.person", default=self._context.settings.user_name)
        return Answers(values, self._line("setup.image"))

    def _line(self, key: str, *, default: str = "", **details: object) -> str:
        question = self._context.words.say(key, default=default, **details)
        answer = self._context.reader.ask(question + " ", default=default)
        if answer is None:
            raise _BrokenOffError
        return answer

    def _companion(self) -> str:
        return self._context.conversation.companion(self._context.words.language)

    def _where(self) -> tuple[Provider, Answered | None]:
        context = self._context
        note = context.words.say("setup.looking")
        here = context.waited(lambda: found_here(self._connect, context.settings), note)
        places = [place for place in LOCAL if place.name in here] + list(KNOWN)
        context.tell("setup.where")
        for at, place in enumerate(places, 1):
            found = here.get(place.name)
            models = context.words.count("model", len(found.names)) if found else ""
            note = context.words.say("setup.found", models=models) if found else ""
            context.aside.line(f"  {at}  {place.name}  {place.base}  {note}".rstrip())
        context.aside.line(f"  {len(places) + 1}  {context.words.say('setup.other')}")
        chosen = self._choice(len(places) + 1)
        if chosen > len(places):
            return Provider("", self._base(), needs_key=True), None
        return places[chosen - 1], here.get(places[chosen - 1].name)

    def _choice(self, most: int) -> int:
        while True:
            answer = self._line("setup.choose", default="1")
            if answer.isdecimal() and 1 <= int(answer[:4]) <= most:
                return int(answer)
            self._context.tell("setup.choose_wrong", "warning", most=most)

    def _base(self) -> str:
        while True:
            base = self._line("setup.base")
            if "://" not in base and base:
                base = f"http://{base}"
            if _allowed("OPENAI_API_BASE", base):
                return base
            self._context.tell("setup.base_wrong", "warning")

    def _key(self, provider: Provider) -> str:
        settings = self._context.settings
        kept = settings.openai_api_key if settings.openai_api_base == provider.base else ""
        question = "setup.key_kept" if kept else "setup.key"
        while True:
            key = self._context.reader.ask(
                self._context.words.say(question, key=masked(kept)) + " ", hidden=True
            )
            if key is None:
                raise _BrokenOffError
            if not key or _allowed("OPENAI_API_KEY", key):
                return key or kept
            self._context.tell("settings.key_without_spaces", "warning", name="OPENAI_API_KEY", value="…")

    def _probed(self, provider: Provider, key: str) -> Answered | None:
        context = self._context
        note = context.words.say("setup.probing", base=provider.base)
        try:
            answered = context.waited(
                lambda: probe(self._connect, context.settings, provider.base, key), note
            )
        except errors.ModelError as error:
            context.tell("setup.no_answer", "warning", base=provider.base, reason=error)
            return None
        if answered.base != provider.base:
            context.tell("setup.base_fixed", base=answered.base)
        return answered

    def _model(self, provider: Provider, names: tuple[str, ...]) -> str:
        chats = [name for name in names if "embed" not in name.lower()] or list(names)
        if chats:
            more = " …" if len(chats) > _NAMES_SHOWN else ""
            self._context.tell("setup.models", "quiet", names=", ".join(chats[:_NAMES_SHOWN]) + more)
        default = provider.suggested if provider.suggested in chats or not chats else chats[0]
        while True:
            question = self._context.words.say("setup.model", default=default)
            answer = self._context.reader.ask(question + " ", choices=chats, default=default)
            if answer is None:
                raise _BrokenOffError
            if answer and _allowed("CHAT_MODEL", answer):
                return answer
            self._context.tell("setup.model_needed", "warning")

    def _answering(self, base: str, key: str, model: str) -> str:
        """The address that answers one short message: the base, or with ``/v1`` where that knows no chat.

        What does not work is known now; the person may keep it all the same.
        """
        context = self._context
        fault: errors.ModelError | None = None
        for address in addresses(base):
            try:
                self._hello(address, key, model)
            except errors.ModelError as error:
                fault = fault or error
                if error.key not in _NO_CHAT_HERE:
                    break
            else:
                if address != base:
                    context.tell("setup.base_fixed", base=address)
                context.tell("setup.chat_works", "good", model=model)
                return address
        context.tell("setup.chat_fails", "warning", model=model, reason=fault)
        if not context.sure("setup.keep_anyway"):
            raise _BrokenOffError from fault
        return base

    def _hello(self, base: str, key: str, model: str) -> None:
        settings = replace(aimed_at(self._context.settings, base, key), chat_model=model)
        note = self._context.words.say("setup.trying", model=model)
        self._context.waited(lambda: _say_hello(self._connect, settings, self._context.stop), note)

    def _embedding(self, base: str, key: str, model: str) -> str:
        """The embedding model if it works, else nothing: the built-in embedder is used then."""
        if not model:
            return ""
        context = self._context
        settings = replace(aimed_at(context.settings, base, key), embedding_model=model)
        note = context.words.say("setup.trying", model=model)
        try:
            context.waited(lambda: _embed_hello(self._connect, settings), note)
        except errors.OldFriendError as error:
            context.tell("setup.embedding_fails", "quiet", model=model, reason=error)
            return ""
        context.tell("setup.embedding_works", "good", model=model)
        return model


def _say_hello(connect: Connect, settings: Settings, stop: Stop) -> None:
    llm = connect(settings)
    try:
        for _ in llm.chat([Message("user", "Hello! / 你好！")], stop, stream=False):
            pass
    finally:
        llm.close()


def _embed_hello(connect: Connect, settings: Settings) -> None:
    llm = connect(settings)
    try:
        if llm.embedder.embed(["hello"])[0] is None:
            raise errors.EmbeddingError()
    finally:
        llm.close()


def _allowed(name: str, value: str) -> bool:
    """Whether the table of settings takes this value."""
    try:
        BY_NAME[name].read(value)
    except ValueError:
        return False
    return bool(value)
