"""``GET /``: the page, its style, its scripts, and its words in two languages; and which language a browser prefers.

Promises: everything comes from this server, and browsers refuse anything else; the files contain no
personal data, so they need no token; what a script shows of a memory it requests from ``/page/...``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Response

from interfaces.messages import Words
from language.scripts import Language

_SCRIPTS = ("page", "base", "markdown", "chat", "sessions", "memory", "profiles", "importing", "pictures", "forgetting")
_FILES = {
    "/page/page.css": "text/css",
    **{f"/page/{name}.js": "text/javascript" for name in _SCRIPTS},
    "/page/words/en.json": "application/json",
    "/page/words/zh.json": "application/json",
}
#: Paths that need no token.
OPEN_PAGE_PATHS = ("/", *_FILES)
#: What a browser allows the page to do.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: Replaced in the page by the preferred language.
_LANGUAGE_ATTRIBUTE = 'lang="en"'
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def router() -> APIRouter:
    """The page and its files."""
    routes = APIRouter(include_in_schema=False)
    folder = Path(__file__).parent
    html = (folder / "page.html").read_text(encoding="utf-8")

    @routes.get("/")
    def page(accept_language: Annotated[str, Header()] = "") -> Response:
        """The page, in the language that the browser prefers."""
        content = html.replace(_LANGUAGE_ATTRIBUTE, f'lang="{preferred_language(accept_language)}"', 1)
        headers = {**_HEADERS, "Vary": "Accept-Language"}
        return Response(content, media_type="text/html; charset=utf-8", headers=headers)

    def add_file(path: str, kind: str) -> None:
        content = (folder / path.removeprefix("/page/")).read_bytes()

        @routes.get(path)
        def serve_file() -> Response:
            return Response(content, media_type=f"{kind}; charset=utf-8", headers=_HEADERS)

    for path, kind in _FILES.items():
        add_file(path, kind)
    return routes


def preferred_language(accepted: str) -> Language:
    """The first of ours in an ``Accept-Language`` header, by its weights; English where there is none.

    >>> preferred_language("fr, zh-CN;q=0.8, en;q=0.5")
    'zh'
    """
    best, chosen = 0.0, "en"
    for part in accepted.split(","):
        tag, _, rest = part.partition(";")
        name, given = tag.strip().lower().partition("-")[0], rest.partition("q=")[2]
        try:
            weight = float(given) if given.strip() else 1.0
        except ValueError:
            continue
        if name in ("en", "zh") and weight > best:
            best, chosen = weight, name
    return "zh" if chosen == "zh" else "en"


def _choose_words(accept_language: Annotated[str, Header()] = "") -> Words:
    return Words(preferred_language(accept_language))


#: The parameter of a path operation that answers with sentences.
InLanguage = Annotated[Words, Depends(_choose_words)]
