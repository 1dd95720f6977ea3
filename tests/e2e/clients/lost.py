"""A session of Claude Code and of Codex is imported, deleted and given back; the agent resumes it and knows its beginning."""

import json
import shutil
import subprocess
import time

from agents import Claude, Codex, begin, question
from stage import BIN, report, scratch, want

WINDOW = 200_000
TURNS = 2
FOLDERS = {"claude": ".claude/projects", "codex": ".codex/sessions"}


def run(folder, agent):
    begun = time.time()
    provider, daemon, work, env = begin(folder, agent, WINDOW)
    home = folder / "home"

    def call(command):
        done = subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
        want(done.returncode == 0, f"{command}: exit code {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def unforget(*arguments):
        return call([BIN / "unforget", "--db", folder / "kept.sqlite", *arguments])

    def ask(turn, command):
        said = call([BIN / "unforget", "run", "--", *command])
        want("is done: the file says so" in said, f"turn {turn}: no answer: {said[-500:]}")

    for turn in range(TURNS):
        ask(turn, agent.command(turn, None))
    unforget("import", "--discover", "--yes", "-q")
    sessions = home / FOLDERS[agent.name]
    before = {path.relative_to(home): path.read_bytes() for path in sessions.rglob("*.jsonl")}
    shutil.rmtree(sessions)
    told = json.loads(unforget("give-back", "--lost", "--yes", "--json"))
    after = {path.relative_to(home): path.read_bytes() for path in sessions.rglob("*.jsonl")}
    want(before == after, f"{sorted(before)} became {sorted(after)}")
    want(all(one["state"] == "written" for one in told["sessions"]), f"not written: {told}")
    came = len(provider.came())
    # The agent finds its newest session by itself.
    ask(TURNS, agent.command(TURNS, None))
    sent = [one for one in provider.came()[came:] if question(TURNS) in json.dumps(one["body"])]
    want(sent, "the question did not arrive")
    want(any("the word w0x." in json.dumps(one["body"]) for one in sent), "the agent does not know the first turn")
    daemon.end()
    provider.end()
    report(f"lost {agent.name}", begun, sessions=len(told["sessions"]))


def main():
    for agent in (Claude(), Codex()):
        with scratch(f"lost-{agent.name}") as folder:
            run(folder, agent)


if __name__ == "__main__":
    main()
