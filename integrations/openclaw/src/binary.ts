// Finds the `unforget` program: in the settings, in the optional package of this platform, or on PATH.

import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";

/**
 * Throws if there is none, with advice for the user.
 *
 * * `from` - path of this code; packages are looked for beside it.
 * * `path` - folders to look in.
 */
export function findBinary(configured: string, from: string = import.meta.url, path = process.env.PATH ?? ""): string {
  if (configured) {
    if (isProgram(configured)) return configured;
    throw new Error(`${configured} is not a program: correct \`binary\` in the settings of the plugin`);
  }
  const name = process.platform === "win32" ? "unforget.exe" : "unforget";
  const packaged = inPackage(name, from);
  if (packaged) return packaged;
  for (const folder of path.split(delimiter)) {
    const program = join(folder, name);
    if (folder && isProgram(program)) return program;
  }
  throw new Error("there is no `unforget` on the PATH: install it, or set `binary` in the settings of the plugin");
}

/** The package `openclaw-unforget-linux-x64` or its like, if it is installed beside this package. */
function inPackage(name: string, from: string): string | undefined {
  try {
    const require = createRequire(from);
    return require.resolve(`openclaw-unforget-${process.platform}-${process.arch}/${name}`);
  } catch {
    return undefined;
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
