"""`unforget run`: environment and exit code of the child, and the daemon started and stopped with it."""

import json
import os
import subprocess
import sys
import time

from stage import BIN, Provider, report, scratch, want

CHILD = """
import json, os, sys, urllib.request
base = os.environ["ANTHROPIC_BASE_URL"]
ok = urllib.request.urlopen(base + "/healthz").read().decode()
print(json.dumps({"base": base, "openai": os.environ["OPENAI_BASE_URL"], "ok": ok, "arguments": sys.argv[1:]}))
sys.exit(int(sys.argv[1]))
"""


def run(folder, *arguments, **more):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "UNFORGET_DB": str(folder / "history.sqlite")}
    command = [BIN / "unforget", "run", *arguments]
    return subprocess.run(command, env={**env, **more}, capture_output=True, text=True, timeout=60)


def main():
    with scratch("run") as folder:
        check(folder)


def check(folder):
    begun = time.time()
    provider = Provider(folder, 64_000)
    child = folder / "child.py"
    child.write_text(CHILD)
    served = ["--listen", "127.0.0.1:0", "--upstream", provider.url]
    for code in (0, 7):
        done = run(folder, *served, "--", sys.executable, str(child), str(code), "--flag")
        want(done.returncode == code, f"exit code {done.returncode} in place of {code}: {done.stderr}")
        told = json.loads(done.stdout)
        want(told["ok"] == "ok\n", f"the daemon says {told['ok']!r}")
        want(told["openai"] == told["base"] + "/v1", f"base URLs: {told}")
        want(told["arguments"] == [str(code), "--flag"], f"arguments: {told}")
    # A stand-in for each known client, which reports its configuration.
    fake = folder / "bin"
    fake.mkdir()
    show = "#!" + sys.executable + "\nimport json, os, sys\nprint(json.dumps([dict(os.environ), sys.argv[1:]]))\n"
    for name in ("claude", "codex", "opencode"):
        (fake / name).write_text(show)
        (fake / name).chmod(0o755)
    told = {}
    for name in ("claude", "codex", "opencode"):
        done = run(folder, *served, "--", str(fake / name), "-p", "words")
        want(done.returncode == 0, f"{name}: {done.stderr}")
        told[name] = json.loads(done.stdout)
        want(told[name][1][-2:] == ["-p", "words"], f"{name}: {told[name][1]}")
    want(told["claude"][0]["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:"), "claude has no base URL")
    want(told["claude"][0]["DISABLE_AUTO_COMPACT"] == "1", "claude compacts")
    want("OPENAI_BASE_URL" not in told["claude"][0], "claude is told what it does not read")
    want(any("base_url=\"http://127.0.0.1:" in part for part in told["codex"][1]), f"codex: {told['codex'][1]}")
    inline = json.loads(told["opencode"][0]["OPENCODE_CONFIG_CONTENT"])
    want(inline["compaction"] == {"auto": False}, f"opencode: {inline}")
    for arguments in (["gemini"], ["--as", "nobody", "--", "true"], ["--", "no-such-command"]):
        done = run(folder, *served, *arguments)
        want(done.returncode == 2 and done.stderr, f"{arguments}: {done.returncode} {done.stderr}")
    ended = subprocess.run([BIN / "unforget", "stop"], env={"PATH": os.environ["PATH"], "HOME": str(folder), "UNFORGET_DB": str(folder / "history.sqlite")}, capture_output=True, text=True, timeout=60)
    want(ended.returncode == 0, f"stop: {ended.stderr}")
    provider.end()
    report("run", begun)


if __name__ == "__main__":
    main()
