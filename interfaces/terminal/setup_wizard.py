"""The questions of ``/setup``: where, which key, which model, who is who. Ctrl-C at any of them
changes nothing.
"""

from __future__ import annotations

import logging
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from domain import errors
from domain.events import Retrying
from domain.files import replace_file, storage_error
from domain.settings import BY_NAME, TABLE, Settings
from domain.text import mask_url
from interfaces.messages import Words
from interfaces.terminal.command_context import CommandContext, Next, Restart, is_no, is_yes, mask_key
from language.scripts import Language
from llm import Llm, PromptMessage

_NAMES_SHOWN = 30
#: What an address says that lists models, perhaps, but is not where the chat is.
_NO_CHAT_HERE = ("model.no_such_path", "model.html_reply", "model.redirected")
_NO_SUCH_MODEL = ("model.no_such_model", "model.not_found")
_ADDRESS_AT_FAULT = (errors.Unreachable, errors.Insecure, errors.BadReply)


class _BrokenOffError(Exception):
    """The person left the questions."""


def run_setup(context: CommandContext, argument: str) -> Next:
    """``/setup``."""
    context.tell("setup.title", "title")
    context.begin_work()
    try:
        values, persona = _Wizard(context).run_questions()
    except (_BrokenOffError, errors.Interrupted):
        context.tell("unchanged")
        return None
    path = context.settings.env_file
    try:
        write_settings(path, values, context.words.language)
    except errors.StorageError as error:
        context.tell("setup.failed", "trouble", path=path, reason=error)
        return None
    if persona:
        context.memory.personas.write("self", persona, "setup")
    context.tell("setup.written", "good", path=path)
    # Settings of the environment go before those of the file.
    stronger = [name for name, value in values.items() if context.environment.get(name, value) != value]
    if stronger:
        context.tell("setup.environment", "warning", names=context.words.join(stronger))
    return Restart()


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

    def run_questions(self) -> tuple[dict[str, str], str]:
        """What is to be written, by the names of settings, and the first self persona. Raises _BrokenOffError."""
        provider, answered = self._ask_server()
        server, names = self._list_models(provider, answered)
        server = self._find_answering(replace(server, model=self._ask_model(provider, names)), names)
        values = {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": server.key, "CHAT_MODEL": server.model}
        values |= self._ask_embedding(server, embedding_of(provider, names))
        companion = self._context.conversation.companion(self._context.words.language)
        values["COMPANION_NAME"] = self._ask_line("setup.companion", default=companion)
        person, persona = self._context.settings.user_name, self._context.memory.personas.read("self")
        values["USER_NAME"] = self._ask_line("setup.person_again" if person else "setup.person", default=person)
        said = self._ask_line("setup.persona_again" if persona else "setup.persona")
        now = "on" if self._context.settings.greeting else "off"
        refused = is_no(answer := self._ask_line("setup.greeting_ask", now=now))
        values["GREETING"] = "off" if refused else "on" if is_yes(answer) else now
        return values, said

    def _ask_line(
        self,
        message: str,
        /,
        *,
        default: str = "",
        shown: str | None = None,
        hidden: bool = False,
        choices: Iterable[str] = (),
        **details: object,
    ) -> str:
        """The answer to one question; ``shown`` is the default as the question shows it. Raises _BrokenOffError."""
        question = self._context.words.say(message, default=default if shown is None else shown, **details) + " "
        answer = self._context.reader.ask_question(question, hidden=hidden, choices=choices, default=default)
        if answer is None:
            raise _BrokenOffError
        return answer

    def _ask_server(self) -> tuple[Provider, FoundServer | None]:
        context = self._context
        note = context.words.say("setup.looking")
        here = context.wait_for(lambda: found_here(context.connect, context.settings), note)
        places = [place for place in LOCAL if place.name in here] + list(KNOWN)
        context.tell("setup.where")
        for at, place in enumerate(places, 1):
            found = here.get(place.name)
            models = context.words.count("model", len(found.names)) if found else ""
            note = context.words.say("setup.found", models=models) if found else ""
            context.aside.line(f"  {at}  {place.name}  {place.base}  {note}".rstrip())
        context.aside.line(f"  {len(places) + 1}  {context.words.say('setup.other')}")
        chosen = self._ask_choice(len(places) + 1)
        if chosen > len(places):
            return Provider("", self._ask_base()), None
        return places[chosen - 1], here.get(places[chosen - 1].name)

    def _ask_choice(self, most: int) -> int:
        while True:
            answer = self._ask_line("setup.choose", default="1")
            if answer.isdecimal() and 1 <= int(answer[:4]) <= most:
                return int(answer)
            self._context.tell("setup.choose_wrong", "warning", most=most)

    def _ask_base(self, before: str = "") -> str:
        while True:
            key = "setup.base_again" if before else "setup.base"
            base = self._ask_line(key, default=before, shown=mask_url(before))
            if "://" not in base and base:
                base = f"http://{base}"
            if _is_allowed("OPENAI_API_BASE", base):
                return base
            self._context.tell("setup.base_wrong", "warning")

    def _key_or(self, kept: str) -> str:
        """A key; Enter alone stays with the one that is kept."""
        while True:
            key = self._ask_line("setup.key_again" if kept else "setup.key", hidden=True, key=mask_key(kept))
            if not key or _is_allowed("OPENAI_API_KEY", key):
                return key or kept
            self._context.tell("settings.key_without_spaces", "warning", name="OPENAI_API_KEY", value="…")

    def _list_models(self, provider: Provider, answered: FoundServer | None) -> tuple[_Server, tuple[str, ...]]:
        """The server with its key, and the models that it lists: none where it lists none."""
        if answered is not None:
            return _Server(answered.base, ""), answered.names
        settings = self._context.settings
        known = settings.openai_api_key if settings.openai_api_base == provider.base else ""
        server = _Server(provider.base, self._key_or(known))
        while True:
            try:
                answered = self._probe_servers(server)
                return replace(server, base=answered.base), answered.names
            except errors.ModelError as error:
                mended = self._mend_settings(server, error)
            if mended == server:
                self._context.tell("setup.by_hand", "quiet", base=mask_url(server.base))
                return server, ()
            server = mended

    def _probe_servers(self, server: _Server) -> FoundServer:
        context = self._context
        note = context.words.say("setup.probing", base=mask_url(server.base))
        answered = context.wait_for(
            lambda: probe_server(context.connect, context.settings, server.base, server.key), note
        )
        if answered.base != server.base:
            context.tell("setup.base_fixed", base=mask_url(answered.base))
        return answered

    def _mend_settings(self, server: _Server, error: errors.ModelError, names: tuple[str, ...] = ()) -> _Server:
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
            self._context.tell("setup.address_fails", "warning", reason=_format_said(error))
            base = self._ask_base(server.base)
            # A key goes to another server only when the person says so.
            key = self._key_or(server.key) if server.key and base != server.base else server.key
            return replace(server, base=base, key=key)
        self._context.tell("setup.no_answer", "warning", base=mask_url(server.base), reason=_format_said(error))
        return server

    def _ask_model(self, provider: Provider, names: tuple[str, ...]) -> str:
        chats = chats_of(names)
        if chats:
            more = " …" if len(chats) > _NAMES_SHOWN else ""
            self._context.tell("setup.models", "quiet", names=self._context.words.join(chats[:_NAMES_SHOWN]) + more)
        default = provider.suggested if provider.suggested in chats or not chats else chats[0]
        return self._model_or(default, tuple(chats))

    def _model_or(self, default: str, names: tuple[str, ...]) -> str:
        while True:
            answer = self._ask_line("setup.model", default=default, choices=names)
            if answer and _is_allowed("CHAT_MODEL", answer):
                return answer
            self._context.tell("setup.model_needed", "warning")

    def _find_answering(self, server: _Server, names: tuple[str, ...]) -> _Server:
        """The server that answers one short message. What is at fault is asked again.

        Whoever stays with an answer that does not work may keep it all the same.
        """
        while True:
            try:
                return self._try_settings(server)
            except errors.ModelError as error:
                mended = self._mend_settings(server, error, names)
            if mended == server and is_yes(self._ask_line("setup.keep_anyway")):
                return server
            server = mended

    def _try_settings(self, server: _Server) -> _Server:
        """The server at the address that chats: its own, or with ``/v1`` where that knows no chat."""
        faults: list[errors.ModelError] = []
        for address in local_addresses(server.base):
            if faults and faults[-1].key not in _NO_CHAT_HERE:
                break
            found = replace(server, base=address)
            try:
                self._try_chat(found)
            except errors.ModelError as error:
                faults.append(error)
                continue
            if found != server:
                self._context.tell("setup.base_fixed", base=mask_url(address))
            self._context.tell("setup.chat_works", "good", model=server.model)
            return found
        raise faults[0]

    def _try_chat(self, server: _Server) -> None:
        """Ask the model once. Raises ModelError."""
        context = self._context
        settings = replace(_aimed_at(context.settings, server.base, server.key), chat_model=server.model)

        def say_hello() -> None:  # and hang up at the first word: a slow server is not to be kept busy
            with closing(context.connect(settings)) as llm:
                first = next(llm.chat([PromptMessage("user", "Hello! / 你好！")], context.stop, stream=True))
                if isinstance(first, Retrying):
                    raise first.error

        context.wait_for(say_hello, context.words.say("setup.trying", model=server.model))

    def _ask_embedding(self, server: _Server, model: str) -> dict[str, str]:
        """The settings of embeddings: the chat's server only where it makes vectors and the person wants that.

        A server of its own for embeddings stays as it is.
        """
        if self._context.settings.embedding_api_base:
            return {}
        used = self._try_embedding(server, model) and is_yes(
            self._ask_line("setup.embedding_ask", base=mask_url(server.base), model=model)
        )
        return {"EMBEDDING_MODEL": model if used else ""}

    def _try_embedding(self, server: _Server, model: str) -> bool:
        """Whether the model makes vectors; nothing is sent but one word."""
        if not model:
            return False
        context = self._context
        settings = replace(_aimed_at(context.settings, server.base, server.key), embedding_model=model)

        def embed_hello() -> None:
            with closing(context.connect(settings)) as llm:
                if llm.embedder.embed(["hello"])[0] is None:
                    raise errors.EmbeddingError()

        try:
            context.wait_for(embed_hello, context.words.say("setup.trying", model=model))
        except errors.Interrupted:
            raise
        except errors.OldFriendError as error:
            context.tell("setup.embedding_fails", "quiet", model=model, reason=_format_said(error))
            return False
        return True


def _format_said(error: errors.OldFriendError) -> errors.OldFriendError:
    """The error without the hints that only a chat in progress can give."""
    error.details |= {"key_hint": "", "nearest_hint": ""}
    return error


def _is_allowed(name: str, value: str) -> bool:
    """Whether the table of settings takes this value."""
    try:
        BY_NAME[name].read(value)
    except ValueError:
        return False
    return bool(value)


#: Makes the models that settings name; tests put a loopback transport into it.
Connect = Callable[[Settings], Llm]
#: Seconds that a server on this machine has to answer.
_LOCAL_PATIENCE = 1.5
#: Errors that another address of the same server would end in as well.
_SAME_ANYWHERE = (errors.Unauthorized, errors.Unreachable, errors.Insecure, errors.TimedOut)


@dataclass(frozen=True)
class Provider:
    """One place where models are. ``embedding`` is its embedding model, where it is known to have one."""

    name: str
    base: str
    embedding: str = ""
    suggested: str = ""


KNOWN = (
    Provider("OpenAI", "https://api.openai.com/v1", embedding="text-embedding-3-small", suggested="gpt-4o-mini"),
    Provider("DeepSeek", "https://api.deepseek.com/v1", suggested="deepseek-chat"),
    Provider("Qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1", "text-embedding-v4", "qwen-plus"),
    Provider("OpenRouter", "https://openrouter.ai/api/v1"),
)
LOCAL = (
    Provider("Ollama", "http://127.0.0.1:11434/v1"),
    Provider("LM Studio", "http://127.0.0.1:1234/v1"),
    Provider("llama.cpp", "http://127.0.0.1:8080/v1"),
    Provider("vLLM", "http://127.0.0.1:8000/v1"),
)


@dataclass(frozen=True)
class FoundServer:
    """A server that listed its models: at which address, and their names."""

    base: str
    names: tuple[str, ...]


def _aimed_at(settings: Settings, base: str, key: str, timeout: float | None = None) -> Settings:
    return replace(
        settings, openai_api_base=base, openai_api_key=key,
        embedding_model="", embedding_api_base="", embedding_api_key="",
        request_timeout=timeout or settings.request_timeout,
    )  # fmt: skip


def probe_server(
    connect: Connect, settings: Settings, base: str, key: str, timeout: float | None = None
) -> FoundServer:
    """Ask for the models at the address as given, then with ``/v1``: once where the first answer settles it.

    Raises ModelError: what the address as given said, unless the other one knew more.
    """
    faults: list[errors.ModelError] = []
    for address in local_addresses(base):
        if faults and isinstance(faults[-1], _SAME_ANYWHERE):
            break
        with closing(connect(_aimed_at(settings, address, key, timeout))) as llm:
            try:
                return FoundServer(address, tuple(llm.models()))
            except errors.ModelError as error:
                faults.append(error)
    raise faults[0]


def local_addresses(base: str) -> list[str]:
    """The addresses that may be meant: the one given, and with ``/v1`` where it does not end so."""
    base = base.strip().rstrip("/")
    return [base] if base.endswith("/v1") else [base, f"{base}/v1"]


def found_here(connect: Connect, settings: Settings, places: Sequence[Provider] = LOCAL) -> dict[str, FoundServer]:
    """The servers of this machine that answer now, by the name of their program."""

    def ask(place: Provider) -> FoundServer | None:
        try:
            return probe_server(connect, settings, place.base, "", _LOCAL_PATIENCE)
        except errors.OldFriendError:
            return None

    with ThreadPoolExecutor(len(places)) as pool:
        answers = zip(places, pool.map(ask, places), strict=True)
        return {place.name: answer for place, answer in answers if answer is not None}


def chats_of(names: Sequence[str]) -> list[str]:
    """The models that chat, as far as names tell; all where that leaves none."""
    return [name for name in names if "embed" not in name.lower()] or list(names)


def embedding_of(provider: Provider, names: Iterable[str]) -> str:
    """The embedding model to try: the provider's own, or one whose name says so."""
    names = list(names)
    if provider.embedding and (not names or provider.embedding in names):
        return provider.embedding
    return next((name for name in names if "embed" in name.lower() or "bge-" in name.lower()), "")


def write_settings(path: Path, values: Mapping[str, str], language: Language) -> None:
    """Give settings these values; "" takes a value away. A link is followed. Raises StorageError."""
    path = path.resolve()
    try:
        before = path.read_bytes() if path.exists() else b""
        # Beside the file, since it holds keys: what a crash leaves lies where keys lie anyway.
        with tempfile.TemporaryDirectory(prefix=".env-", dir=path.parent) as folder, _quiet_dotenv():
            copy = Path(folder) / ".env"
            copy.write_bytes(before if before.strip() else _all_settings(values, language))
            _change_lines(copy, values)
            after = copy.read_bytes()
    except OSError as fault:
        raise storage_error(fault, path) from fault
    # python-dotenv ends every line as Unix does; a file in which all end as in Windows keeps them so.
    windows = b"\r\n" in before and b"\n" not in before.replace(b"\r\n", b"")
    replace_file(path, after.replace(b"\n", b"\r\n") if windows else after)


def _change_lines(copy: Path, values: Mapping[str, str]) -> None:
    """Change the lines of those settings that have another value now."""
    from dotenv import dotenv_values, set_key

    encoding = "utf-8-sig" if copy.read_bytes().startswith(BOM_UTF8) else "utf-8"
    present = dotenv_values(copy, interpolate=False, encoding=encoding)
    for name, value in values.items():
        if value != (present.get(name) or ""):
            set_key(copy, name, value, encoding=encoding)


@contextmanager
def _quiet_dotenv() -> Iterator[None]:
    """python-dotenv warns of every line that it cannot read, at every change; it was said at the start."""
    log = logging.getLogger("dotenv.main")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _all_settings(values: Mapping[str, str], language: Language) -> bytes:
    """Every setting under its help; those without a value as comments."""
    words = Words(language)
    lines = (
        f"# {words.describe_setting(setting)}\n"
        + (f"{setting.name}=" if values.get(setting.name) else f"# {setting.name}={setting.default}")
        for setting in TABLE
    )
    return ("\n\n".join(lines) + "\n").encode()
