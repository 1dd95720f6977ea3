"""The official Python client: client.py URL COMMAND ARGUMENT..."""

import asyncio
import sys

from mcp import Client, MCPError, StdioServerParameters


async def check(server, mode):
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["search", "grep", "describe", "expand", "pack", "answer", "reject"], tools

        found = await client.call_tool("search", {"query": "retry wait", "tokens": 600})
        assert not found.is_error and "untrusted" in found.content[0].text, found
        names, cursor = [one["name"] for one in found.structured_content["results"]], found.structured_content["cursor"]
        more = await client.call_tool("search", {"query": "retry wait", "tokens": 600, "cursor": cursor})
        assert not set(names) & {one["name"] for one in more.structured_content["results"]}, "a page repeats another"

        entry = await client.call_tool("expand", {"name": names[0]})
        assert entry.structured_content["entries"][0]["name"] == names[0], entry
        for name, arguments in [("grep", {"pattern": "("}), ("answer", {"question": 7}), ("search", {"query": 7})]:
            failed = await client.call_tool(name, arguments)
            assert failed.is_error and "Next:" in failed.content[0].text, failed
        answer = await client.call_tool("answer", {"question": "why?"})
        assert not answer.is_error and "untrusted" in answer.content[0].text, answer

        resources = (await client.list_resources()).resources
        assert len(resources) == 2, resources
        for resource in resources:
            assert "untrusted" in (await client.read_resource(resource.uri)).contents[0].text
        assert len((await client.list_resource_templates()).resource_templates) == 2
        try:
            await client.read_resource("unforget://entry/nobody")
            raise AssertionError("there is no such entry")
        except MCPError as error:
            assert "Next:" in str(error), error


async def main():
    url, command, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    for mode in ["legacy", "auto", "2026-07-28"]:
        for server in [StdioServerParameters(command=command, args=arguments), url]:
            await check(server, mode)
            print(f"{mode} over {'HTTP' if server == url else 'stdio'}: passed")


asyncio.run(main())
