"""Where models can be: providers that are known, servers that run on this machine, and how each is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from domain import errors
from domain.settings import Settings
from llm import Llm

#: Makes the models that settings name; tests put a loopback transport into it.
Connect = Callable[[Settings], Llm]
#: Seconds that a server on this machine has to answer.
_LOCAL_PATIENCE = 1.5
#: Errors that another address of the same server would end in as well.
_SAME_ANYWHERE = (errors.Unauthorized, errors.Unreachable, errors.TimedOut)


@dataclass(frozen=True)
class Provider:
    """One place where models are. ``embedding`` is its embedding model, where it is known to have one."""

    name: str
    base: str
    embedding: str = ""
    suggested: str = ""


KNOWN: tuple[Provider, ...] = (
    Provider(
        "OpenAI", "https://api.openai.com/v1", embedding="text-embedding-3-small", suggested="gpt-4o-mini"
    ),
    Provider("DeepSeek", "https://api.deepseek.com/v1", suggested="deepseek-chat"),
    Provider(
        "Qwen",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        embedding="text-embedding-v4",
        suggested="qwen-plus",
    ),
    Provider("OpenRouter", "https://openrouter.ai/api/v1"),
)
LOCAL: tuple[Provider, ...] = (
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


def aimed_at(settings: Settings, base: str, key: str, timeout: float | None = None) -> Settings:
    """The settings, pointed at another server, with another timeout where one is given."""
    return replace(
        settings,
        openai_api_base=base,
        openai_api_key=key,
        embedding_model="",
        embedding_api_base="",
        embedding_api_key="",
        request_timeout=timeout or settings.request_timeout,
    )


def probe(
    connect: Connect, settings: Settings, base: str, key: str, timeout: float | None = None
) -> FoundServer:
    """Ask for the models at the address as given, then with ``/v1``: once where the first answer settles it.

    Raises ModelError: what the address as given said, unless the other one knew more.
    """
    first: errors.ModelError | None = None
    for address in addresses(base):
        llm = connect(aimed_at(settings, address, key, timeout))
        try:
            return FoundServer(address, tuple(llm.models()))
        except errors.ModelError as error:
            if isinstance(error, _SAME_ANYWHERE):
                raise first or error from None
            first = first or error
        finally:
            llm.close()
    assert first is not None
    raise first


def addresses(base: str) -> list[str]:
    """The addresses that may be meant.

    >>> addresses("http://localhost:8000/")
    ['http://localhost:8000', 'http://localhost:8000/v1']
    """
    base = base.strip().rstrip("/")
    return [base] if base.endswith("/v1") else [base, f"{base}/v1"]


def found_here(
    connect: Connect, settings: Settings, places: Sequence[Provider] = LOCAL
) -> dict[str, FoundServer]:
    """The servers of this machine that answer now, by the name of their program."""

    def ask(place: Provider) -> FoundServer | None:
        try:
            return probe(connect, settings, place.base, "", _LOCAL_PATIENCE)
        except errors.OldFriendError:
            return None

    with ThreadPoolExecutor(len(places)) as pool:
        answers = list(pool.map(ask, places))
    return {place.name: answer for place, answer in zip(places, answers, strict=True) if answer is not None}


def chats_of(names: Sequence[str]) -> list[str]:
    """The models that chat, as far as names tell; all where that leaves none.

    >>> chats_of(["chat-1", "text-embedding-3-small"]), chats_of(["embedder"])
    (['chat-1'], ['embedder'])
    """
    return [name for name in names if "embed" not in name.lower()] or list(names)


def embedding_of(provider: Provider, names: Iterable[str]) -> str:
    """The embedding model to try: the provider's own, or one whose name says so."""
    names = list(names)
    if provider.embedding and (not names or provider.embedding in names):
        return provider.embedding
    return next((name for name in names if "embed" in name.lower() or "bge-" in name.lower()), "")
