"""``GET /docs``: the API as a page to read, made from its own description; nothing is fetched from anywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h2{margin-top:2.5rem;font-size:1.1rem}h2 code{background:none}code,pre{background:#f3f3f3;border-radius:4px}
pre{padding:.7rem;overflow-x:auto;white-space:pre-wrap}code{padding:0 .2rem}
td{padding:.1rem 1rem .1rem 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}code,pre{background:#262626}a{color:#8ab4f8}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
_METHODS = ("get", "post", "put", "patch", "delete")
_DEEPEST = 6

Described = Mapping[str, Any]


def router(app: FastAPI) -> APIRouter:
    """The page of this application."""
    routes = APIRouter()

    @routes.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    def docs(request: Request) -> HTMLResponse:
        here = str(request.base_url).rstrip("/")
        return HTMLResponse(render_page(app.openapi(), here), headers={"Content-Security-Policy": _POLICY})

    return routes


def render_page(api: Described, here: str) -> str:
    """The whole page, for the server at ``here``."""
    operations = "".join(
        _render_operation(api, here, path, method, methods[method])
        for path, methods in api["paths"].items()
        for method in _METHODS
        if method in methods
    )
    title = escape(f"{api['info']['title']} {api['info']['version']}")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style><h1>{title}</h1>"
        '<p>For programs: <a href="/openapi.json">openapi.json</a>. Where there are tokens, every request but '
        "<code>/health</code> needs <code>Authorization: Bearer TOKEN</code>.</p>"
        f"{operations}</html>"
    )


def _render_operation(api: Described, here: str, path: str, method: str, found: Described) -> str:
    body = _example_of(api, found.get("requestBody", {}))
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code><td>{escape(one['in'])}<td>{escape(one.get('description', ''))}"
        for one in found.get("parameters", ())
    )
    answers = (_example_of(api, found["responses"][code]) for code in ("200", "201") if code in found["responses"])
    answer = next(answers, None)
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(found.get('description') or found.get('summary', ''))}</p>"
        f"{rows and f'<table>{rows}</table>'}"
        f"<pre>{escape(_curl_line(here, path, method, body, found))}</pre>"
        + ("" if answer is None else f"<pre>{escape(json.dumps(answer, ensure_ascii=False, indent=2))}</pre>")
    )


def _curl_line(here: str, path: str, method: str, body: Any, found: Described) -> str:
    """A line for a shell that does it."""
    line = f"curl -X {method.upper()} '{here}{path}'"
    if found.get("security"):
        line += " \\\n  -H 'Authorization: Bearer TOKEN'"
    if body is not None:
        given = json.dumps(body, ensure_ascii=False).replace("'", "'\\''")
        line += f" \\\n  -H 'Content-Type: application/json' -d '{given}'"
    return line


def _example_of(api: Described, found: Described) -> Any:
    schema = found.get("content", {}).get("application/json", {}).get("schema")
    return None if not schema else _example_value(api, schema, 0)


def _example_value(api: Described, schema: Described, depth: int) -> Any:
    """A value of a schema: its own example or default, or its kind in a word."""
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    for given in (schema.get("examples"), [schema["default"]] if "default" in schema else None, schema.get("enum")):
        if given:
            return given[0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _example_value(api, schema[choice][0], depth)
    kind = schema.get("type", "")
    match kind if depth < _DEEPEST else "":
        case "object":
            return {name: _example_value(api, one, depth + 1) for name, one in schema.get("properties", {}).items()}
        case "array":
            return [_example_value(api, schema.get("items", {}), depth + 1)]
        case "string":
            return "text"
        case "integer" | "number":
            return schema.get("minimum", 1 if kind == "integer" else 0.5)
        case "boolean":
            return True
    return kind or "any"
