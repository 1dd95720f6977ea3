#!/usr/bin/env node
// Starts the program of the package for this platform, which npm installs beside this one.
"use strict";

const { spawn } = require("node:child_process");

const name = `@unforget/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/unforget`);
} catch {
  console.error(`error: the package ${name} is not installed`);
  console.error(" hint: npm leaves it out with --omit=optional, and where there is none for this platform");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
