"""The questions of ``/setup``: where, which key, which model, who is who. Ctrl-C at any of them
changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from domain import errors
from domain.events import Retrying
from domain.settings import BY_NAME, Settings
from domain.text import mask_url
from domain.workers import Stop
from interfaces.terminal.command_context import CommandContext, Next, Restart, is_yes, masked
from interfaces.terminal.setup.envfile import write
from interfaces.terminal.setup.providers import (
    KNOWN,
    LOCAL,
    Connect,
    FoundServer,
    Provider,
    addresses,
    aimed_at,
    chats_of,
    embedding_of,
    found_here,
    probe,
)
from llm import Message

_NAMES_SHOWN = 30
#: What an address says that lists models, perhaps, but is not where the chat is.
_NO_CHAT_HERE = ("model.no_such_path", "model.html_reply", "model.redirected")
_NO_SUCH_MODEL = ("model.no_such_model", "model.not_found")
_ADDRESS_AT_FAULT = (errors.Unreachable, errors.BadReply)


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
        context.memory.personas.write("self", answers.image, "setup")
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


@dataclass(frozen=True)
class _Server:
    """The answers that are tried together."""

    base: str
    key: str
    model: str = ""


class _Wizard:
    """Asks one question after the other."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._connect = context.connect

    def ask(self) -> Answers:
        """All answers. Raises _BrokenOffError."""
        provider, answered = self._where()
        server, names = self._listed(provider, answered)
        server = self._answering(replace(server, model=self._model(provider, names)), names)
        values = {
            "OPENAI_API_BASE": server.base,
            "OPENAI_API_KEY": server.key,
            "CHAT_MODEL": server.model,
        }
        values |= self._embedding(server, embedding_of(provider, names))
        values["COMPANION_NAME"] = self._line("setup.companion", default=self._companion())
        person, image = self._context.settings.user_name, self._context.memory.personas.read("self")
        values["USER_NAME"] = self._line("setup.person_kept" if person else "setup.person", default=person)
        return Answers(values, self._line("setup.image_kept" if image else "setup.image"))

    def _line(self, key: str, *, default: str = "", **details: object) -> str:
        question = self._context.words.say(key, default=default, **details)
        answer = self._context.reader.ask(question + " ", default=default)
        if answer is None:
            raise _BrokenOffError
        return answer

    def _companion(self) -> str:
        return self._context.conversation.companion(self._context.words.language)

    def _where(self) -> tuple[Provider, FoundServer | None]:
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
            return Provider("", self._base()), None
        return places[chosen - 1], here.get(places[chosen - 1].name)

    def _choice(self, most: int) -> int:
        while True:
            answer = self._line("setup.choose", default="1")
            if answer.isdecimal() and 1 <= int(answer[:4]) <= most:
                return int(answer)
            self._context.tell("setup.choose_wrong", "warning", most=most)

    def _base(self, before: str = "") -> str:
        key = "setup.base_again" if before else "setup.base"
        question = self._context.words.say(key, default=mask_url(before))
        while True:
            base = self._context.reader.ask(question + " ", default=before)
            if base is None:
                raise _BrokenOffError
            if "://" not in base and base:
                base = f"http://{base}"
            if _allowed("OPENAI_API_BASE", base):
                return base
            self._context.tell("setup.base_wrong", "warning")

    def _key(self, base: str) -> str:
        settings = self._context.settings
        return self._key_or(settings.openai_api_key if settings.openai_api_base == base else "")

    def _key_or(self, kept: str) -> str:
        """A key; Enter alone stays with the one that is kept."""
        question = self._context.words.say("setup.key_kept" if kept else "setup.key", key=masked(kept))
        while True:
            key = self._context.reader.ask(question + " ", hidden=True)
            if key is None:
                raise _BrokenOffError
            if not key or _allowed("OPENAI_API_KEY", key):
                return key or kept
            self._context.tell("settings.key_without_spaces", "warning", name="OPENAI_API_KEY", value="…")

    def _listed(self, provider: Provider, answered: FoundServer | None) -> tuple[_Server, tuple[str, ...]]:
        """The server with its key, and the models that it lists: none where it lists none."""
        if answered is not None:
            return _Server(answered.base, ""), answered.names
        server = _Server(provider.base, self._key(provider.base))
        while True:
            try:
                answered = self._probed(server)
                return replace(server, base=answered.base), answered.names
            except errors.ModelError as error:
                mended = self._mended(server, error)
                if mended == server:
                    self._context.tell("setup.by_hand", "quiet", base=mask_url(server.base))
                    return server, ()
                server = mended

    def _probed(self, server: _Server) -> FoundServer:
        context = self._context
        note = context.words.say("setup.probing", base=mask_url(server.base))
        answered = context.waited(
            lambda: probe(self._connect, context.settings, server.base, server.key), note
        )
        if answered.base != server.base:
            context.tell("setup.base_fixed", base=mask_url(answered.base))
        return answered

    def _mended(self, server: _Server, error: errors.ModelError, names: tuple[str, ...] = ()) -> _Server:
        """The server with another answer to the question that is at fault; the same when the person stays with it."""
        if isinstance(error, errors.Unauthorized):
            forbidden = error.key == "model.forbidden"
            key = "setup.key_forbidden" if forbidden else "setup.key_refused"
            self._context.tell(key, "warning", base=mask_url(server.base))
            return replace(server, key=self._key_or(server.key))
        if error.key in _NO_SUCH_MODEL and server.model:
            self._context.tell("setup.no_model", "warning", base=mask_url(server.base), model=server.model)
            return replace(server, model=self._model_or(server.model, names))
        if isinstance(error, _ADDRESS_AT_FAULT) or error.key in _NO_CHAT_HERE:
            self._context.tell("setup.address_fails", "warning", reason=_said(error))
            return self._moved(server, self._base(server.base))
        self._context.tell("setup.no_answer", "warning", base=mask_url(server.base), reason=_said(error))
        return server

    def _moved(self, server: _Server, base: str) -> _Server:
        """The server at another address; a key goes to another server only when the person says so."""
        key = self._key_or(server.key) if server.key and base != server.base else server.key
        return replace(server, base=base, key=key)

    def _model(self, provider: Provider, names: tuple[str, ...]) -> str:
        chats = chats_of(names)
        if chats:
            more = " …" if len(chats) > _NAMES_SHOWN else ""
            self._context.tell("setup.models", "quiet", names=", ".join(chats[:_NAMES_SHOWN]) + more)
        default = provider.suggested if provider.suggested in chats or not chats else chats[0]
        return self._model_or(default, tuple(chats))

    def _model_or(self, default: str, names: tuple[str, ...]) -> str:
        while True:
            question = self._context.words.say("setup.model", default=default)
            answer = self._context.reader.ask(question + " ", choices=names, default=default)
            if answer is None:
                raise _BrokenOffError
            if answer and _allowed("CHAT_MODEL", answer):
                return answer
            self._context.tell("setup.model_needed", "warning")

    def _answering(self, server: _Server, names: tuple[str, ...]) -> _Server:
        """The server that answers one short message. What is at fault is asked again.

        Whoever stays with an answer that does not work may keep it all the same.
        """
        while True:
            try:
                return self._tried(server)
            except errors.ModelError as error:
                mended = self._mended(server, error, names)
            if mended == server and self._yes("setup.keep_anyway"):
                return server
            server = mended

    def _tried(self, server: _Server) -> _Server:
        """The server at the address that chats: its own, or with ``/v1`` where that knows no chat."""
        fault: errors.ModelError | None = None
        for address in addresses(server.base):
            found = replace(server, base=address)
            try:
                self._hello(found)
            except errors.ModelError as error:
                fault = fault or error
                if error.key not in _NO_CHAT_HERE:
                    break
            else:
                if found != server:
                    self._context.tell("setup.base_fixed", base=mask_url(address))
                self._context.tell("setup.chat_works", "good", model=server.model)
                return found
        assert fault is not None
        raise fault

    def _hello(self, server: _Server) -> None:
        settings = replace(aimed_at(self._context.settings, server.base, server.key), chat_model=server.model)
        note = self._context.words.say("setup.trying", model=server.model)
        self._context.waited(lambda: _say_hello(self._connect, settings, self._context.stop), note)

    def _embedding(self, server: _Server, model: str) -> dict[str, str]:
        """The settings of embeddings: the chat's server only where it makes vectors and the person wants that.

        A server of its own for embeddings stays as it is.
        """
        if self._context.settings.embedding_api_base:
            return {}
        used = self._embeds(server, model) and self._yes(
            "setup.embedding_ask", base=mask_url(server.base), model=model
        )
        return {"EMBEDDING_MODEL": model if used else ""}

    def _embeds(self, server: _Server, model: str) -> bool:
        """Whether the model makes vectors; nothing is sent but one word."""
        if not model:
            return False
        context = self._context
        settings = replace(aimed_at(context.settings, server.base, server.key), embedding_model=model)
        note = context.words.say("setup.trying", model=model)
        try:
            context.waited(lambda: _embed_hello(self._connect, settings), note)
        except errors.Interrupted:
            raise
        except errors.OldFriendError as error:
            context.tell("setup.embedding_fails", "quiet", model=model, reason=_said(error))
            return False
        return True

    def _yes(self, key: str, **details: str) -> bool:
        """Whether the answer is a yes; Enter alone is a no."""
        return is_yes(self._line(key, **details))


def _said(error: errors.OldFriendError) -> errors.OldFriendError:
    """The error without the hints that only a chat in progress can give."""
    error.details |= {"key_hint": "", "nearest_hint": ""}
    return error


def _say_hello(connect: Connect, settings: Settings, stop: Stop) -> None:
    """Ask the model once, and hang up at its first word: a slow server is not to be kept busy. Raises ModelError."""
    llm = connect(settings)
    try:
        first = next(llm.chat([Message("user", "Hello! / 你好！")], stop, stream=True))
        if isinstance(first, Retrying):
            raise first.error
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
