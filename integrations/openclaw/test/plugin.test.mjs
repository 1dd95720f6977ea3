// What the host loads, and loads again.

import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import plugin from "../dist/index.js";

/** The plugin at a host with these settings. */
function load(pluginConfig, folder = mkdtempSync(join(tmpdir(), "unforget-"))) {
  const host = { hooks: {}, said: [] };
  plugin.register({
    pluginConfig: { binary: join(folder, "nowhere"), ...pluginConfig },
    logger: { info: () => {}, warn: (text) => host.said.push(text) },
    runtime: { state: { resolveStateDir: () => folder } },
    registerContextEngine: (_id, factory) => (host.factory = factory),
    registerCommand: ({ handler }) => (host.command = async (args) => (await handler({ args, sessionKey: "agent:main:x" })).text),
    on: (name, handler) => (host.hooks[name] = handler),
  });
  return host;
}

test("settings hold until the host stops the plugin, or replaces it", async () => {
  const [first, second] = [load({ database: "/first.sqlite" }), load({ database: "/second.sqlite" })];
  assert.match(await first.command("status"), /database: \/first.sqlite/);
  assert.match(await second.command("status"), /database: \/first.sqlite/, "one for all instances");
  first.hooks.gateway_stop();
  assert.match(await second.command("status"), /database: \/second.sqlite/);
  second.hooks.gateway_stop();
  second.hooks.gateway_stop();
});
