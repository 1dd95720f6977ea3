// Entry point for the host: the context engine, its tools and its command.

import { command } from "./command.js";
import { ID, contextEngine } from "./context.js";
import type { Caller, Log, PluginApi } from "./host.js";
import { settings } from "./settings.js";
import { Shared, release, shared } from "./shared.js";
import { TOOLS, tool } from "./tools.js";

const CONSOLE: Log = { info: (text) => console.log(text), warn: (text) => console.warn(text) };

export default {
  id: ID,
  name: "Unforget",
  description: "Keeps every message, and makes the prompt that fits",
  kind: "context-engine",
  register(api: PluginApi): void {
    // Called several times per process; nothing is started before its first use.
    const own = () => shared(() => new Shared(settings(api.pluginConfig ?? {}, api.runtime?.state?.resolveStateDir?.()), api.logger ?? CONSOLE));
    api.registerContextEngine(ID, (made) => contextEngine(own(), made));
    for (const described of TOOLS) {
      api.registerTool?.((caller: Caller) => tool(own(), described, caller), { name: described.name });
    }
    api.registerCommand?.({
      name: ID,
      description: "Unforget: status, doctor, backup, pins, import",
      acceptsArgs: true,
      requireAuth: true,
      handler: (caller) => command(own(), caller),
    });
    api.on?.("gateway_stop", release);
  },
};
