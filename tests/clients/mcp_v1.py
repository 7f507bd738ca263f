"""The official client of the generation before (``pip install 'mcp<2'``, in a virtual environment of its own).

python tests/clients/mcp_v1.py stdio PYTHON main.py --mcp --data-dir FOLDER
python tests/clients/mcp_v1.py http http://127.0.0.1:8123/mcp [TOKEN]

Goes through all five tools and the resources, and prints ``all is well`` or what is not.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

FIVE = ["process_memory", "end_session", "get_session_status", "debug_process_memory", "get_user_graph"]


async def talk(session: Any) -> None:
    await session.initialize()
    names = [one.name for one in (await session.list_tools()).tools]
    assert names[:5] == FIVE, names
    said = {"input": "My sister Ann lives in Lyon.", "user_id": "me"}
    for name, given in (
        ("process_memory", said),
        ("get_session_status", {"user_id": "me"}),
        ("debug_process_memory", said),
        ("get_user_graph", {"user_id": "me"}),
        ("end_session", {"user_id": "me"}),
    ):
        result = await session.call_tool(name, given)
        assert not result.isError, result
        assert json.loads(result.content[0].text) == result.structuredContent
        assert result.structuredContent["status"] == "success"
    wrong = await session.call_tool("process_memory", {"user_id": "me"})
    assert wrong.isError
    assert len((await session.list_resource_templates()).resourceTemplates) == 2
    profile = await session.read_resource("memory://me/profile")
    assert json.loads(profile.contents[0].text)["user_id"] == "me"


async def main(how: str, *rest: str) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    if how == "stdio":
        command = StdioServerParameters(command=rest[0], args=list(rest[1:]))
        async with stdio_client(command) as (reads, writes), ClientSession(reads, writes) as session:
            await talk(session)
    else:
        headers = {"Authorization": f"Bearer {rest[1]}"} if rest[1:] else {}
        async with (
            streamablehttp_client(rest[0], headers=headers) as (reads, writes, _),
            ClientSession(reads, writes) as session,
        ):
            await talk(session)
    print("all is well")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
