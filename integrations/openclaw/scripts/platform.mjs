// Makes the package with the engine for this platform: platform.tgz in the given folder, or in the current one.
// usage: node scripts/platform.mjs PROGRAM [FOLDER]

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [, , program, to = "."] = process.argv;
const { version, license } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));
const { platform, arch } = process;
const name = platform === "win32" ? "unforget.exe" : "unforget";
const folder = mkdtempSync(join(tmpdir(), "openclaw-unforget-"));
const described = { name: `openclaw-unforget-${platform}-${arch}`, version, license, description: `The unforget program for ${platform} ${arch}`, os: [platform], cpu: [arch], files: [name] };
writeFileSync(join(folder, "package.json"), `${JSON.stringify(described, null, 2)}\n`);
copyFileSync(program, join(folder, name));
chmodSync(join(folder, name), 0o755);
const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: folder, encoding: "utf8" }).trim();
copyFileSync(join(folder, packed), join(to, "platform.tgz"));
rmSync(folder, { recursive: true });
