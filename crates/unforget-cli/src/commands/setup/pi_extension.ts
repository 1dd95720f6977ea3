// Written by `unforget setup pi`; `unforget setup pi --undo` removes it.
import { spawn } from "node:child_process";

export default function (pi: { on(event: string, handler: () => Promise<void>): void }) {
  pi.on("session_shutdown", async () => {
    const child = spawn(PROGRAM, ARGUMENTS, { detached: true, stdio: "ignore" });
    child.on("error", () => {});
    child.unref();
  });
}
