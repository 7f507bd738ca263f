"""What is wrong with the arguments of a tool call, as sentences that a model can act on."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from interfaces.messages import Words

#: What a validator calls a fault, and the message that says it.
_FAULTS = {
    "missing": "mcp.argument.missing",
    "string_type": "mcp.argument.text",
    "string_too_short": "mcp.argument.empty",
    "string_too_long": "mcp.argument.long",
    "int_type": "mcp.argument.number",
    "int_parsing": "mcp.argument.number",
    "int_from_float": "mcp.argument.number",
    "greater_than_equal": "mcp.argument.small",
    "less_than_equal": "mcp.argument.large",
}


def unknown(words: Words, tool: str, given: Iterable[str], taken: Iterable[str]) -> str:
    """Says which arguments the tool does not take; "" where it takes them all."""
    taken = list(taken)
    strange = [name for name in given if name not in taken]
    details = {"tool": tool, "names": ", ".join(strange), "taken": ", ".join(taken)}
    return words.say("mcp.argument.unknown", **details) if strange else ""


def invalid(words: Words, tool: str, fault: ValidationError) -> str:
    """Says what is wrong with each argument."""
    return " ".join(
        _sentence(words, tool, one) for one in fault.errors(include_url=False, include_input=False)
    )


def _sentence(words: Words, tool: str, found: ErrorDetails) -> str:
    bounds = found.get("ctx", {})
    limit = next((bounds[name] for name in ("max_length", "ge", "le") if name in bounds), "")
    details = {"tool": tool, "name": ".".join(map(str, found["loc"])), "limit": limit, "reason": found["msg"]}
    return words.say(_FAULTS.get(found["type"], "mcp.argument"), **details)
