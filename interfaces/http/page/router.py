"""``GET /``: the page, its style, its scripts, and its words in two languages. All of it comes from here.

Promises: nothing is fetched from anywhere else, and a browser is told to refuse it if something tried; nothing here
tells of anybody, so that it is handed out without a token; what the script shows of a memory it asks ``/page/...`` for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, Response

from interfaces.http.page.preferred_language import LANGUAGE_IN_PAGE, preferred

_SCRIPTS = (
    "page",
    "base",
    "markdown",
    "chat",
    "sessions",
    "memory",
    "profiles",
    "importing",
    "pictures",
    "forgetting",
)
_FILES = {
    "/page/page.css": "text/css",
    **{f"/page/{name}.js": "text/javascript" for name in _SCRIPTS},
    "/page/words/en.json": "application/json",
    "/page/words/zh.json": "application/json",
}
#: Paths that need no token.
OPEN = ("/", *_FILES)
#: What a browser lets the page do.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
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
        """The page, begun in the language that the browser prefers."""
        told = html.replace(LANGUAGE_IN_PAGE, f'lang="{preferred(accept_language)}"', 1)
        headers = {**_HEADERS, "Vary": "Accept-Language"}
        return Response(told, media_type="text/html; charset=utf-8", headers=headers)

    for path, kind in _FILES.items():
        _hand_out(routes, path, folder / path.removeprefix("/page/"), kind)
    return routes


def _hand_out(routes: APIRouter, path: str, file: Path, kind: str) -> None:
    content = file.read_bytes()

    @routes.get(path)
    def handed_out() -> Response:
        return Response(content, media_type=f"{kind}; charset=utf-8", headers=_HEADERS)
