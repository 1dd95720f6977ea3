// The official TypeScript client: client.mjs URL COMMAND ARGUMENT...
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, command, ...args] = process.argv.slice(2);

async function check(name, transport) {
  const client = new Client({ name: "e2e", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["search", "grep", "describe", "expand", "pack", "answer", "reject"]);

  const found = await client.callTool({ name: "grep", arguments: { pattern: "retr(y|ies)", tokens: 600 } });
  assert.ok(!found.isError && found.content[0].text.includes("untrusted"), JSON.stringify(found));
  const entry = await client.callTool({ name: "expand", arguments: { name: found.structuredContent.matches[0].name } });
  assert.ok(!entry.isError && entry.structuredContent.entries.length > 0);
  for (const call of [{ name: "expand", arguments: { name: "\u0000" } }, { name: "search", arguments: { query: "a", tokens: -1 } }]) {
    const failed = await client.callTool(call);
    assert.ok(failed.isError && failed.content[0].text.includes("Next:"), JSON.stringify(failed));
  }
  await assert.rejects(client.callTool({ name: "forget", arguments: {} }));

  const { resources } = await client.listResources();
  assert.equal(resources.length, 2);
  const { contents } = await client.readResource({ uri: resources[0].uri });
  assert.ok(contents[0].text.includes("untrusted"));
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
  await assert.rejects(client.readResource({ uri: "unforget://conversation/nobody" }));
  await client.close();
  console.log(`${name}: passed`);
}

await check("stdio", new StdioClientTransport({ command, args }));
await check("HTTP", new StreamableHTTPClientTransport(new URL(url)));
