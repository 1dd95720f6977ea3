"""Claude Code and Codex, headless, with tools and resumed sessions; the daemon restarts in between."""

import collections
import os
import subprocess
import sys
import time

from stage import BIN, CLIENTS, Daemon, Provider, check_upstream, report, scratch, want

WINDOW = 64_000


def question(turn):
    asked = f"Question {turn}: what is in the next file? Remember the word w{turn}x."
    # One side request, which must not disturb the conversation.
    return asked + " Ask a sub-agent." if turn == 1 else asked


class Claude:
    name = "claude"
    variables = {
        "ANTHROPIC_API_KEY": "k",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000",
    }

    def command(self, turn, sessions):
        resumed = ["--continue"] if turn else []
        return [CLIENTS / "node_modules/.bin/claude", "-p", "--allowedTools", "Bash,Agent", *resumed, "--", question(turn)]


class Codex:
    name = "codex"
    variables = {"OPENAI_API_KEY": "k"}

    def command(self, turn, sessions):
        options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        # No telemetry and no check for updates.
        options += ["-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"]
        resumed = ["resume", "--last"] if turn else []
        return [CLIENTS / "node_modules/.bin/codex", "exec", *resumed, *options, question(turn)]


def texts(message):
    """All strings of a message, except names and ids."""
    found = []

    def walk(value):
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, dict):
            for item in value.values():
                walk(item)

    walk(message)
    return found


def begin(folder, agent, window):
    """A provider, a daemon before it, and the folder and the environment in which the agent runs."""
    provider = Provider(folder, window)
    daemon = Daemon(folder, provider.url, window)
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    # `unforget run` finds the daemon by its address and configures the client.
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "DISABLE_TELEMETRY": "1", **agent.variables}
    env["UNFORGET_LISTEN"] = daemon.listen
    return provider, daemon, work, env


def run(folder, agent, turns):
    provider, daemon, work, env = begin(folder, agent, WINDOW)
    begun, slowest = time.time(), 0.0
    for turn in range(turns):
        if turn == turns // 2:
            daemon.restart()
        at = time.time()
        command = [BIN / "unforget", "run", "--", *agent.command(turn, None)]
        done = subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
        slowest = max(slowest, time.time() - at)
        want(done.returncode == 0, f"turn {turn}: exit code {done.returncode}: {done.stderr[-2000:]}")
        want("is done: the file says so" in done.stdout, f"turn {turn}: no answer: {done.stdout[-500:]}")
    seconds = time.time() - begun
    daemon.end()
    came = provider.came()
    provider.end()
    largest = check_upstream(came, WINDOW)
    check_store(daemon, agent, turns, came)
    report(agent.name, begun, turns=turns, calls=len(came), largest_prompt=largest, seconds_per_turn=round(seconds / turns, 2),
           seconds_slowest=round(slowest, 2), lanes=len(daemon.lanes()))


def check_store(daemon, agent, turns, came):
    """Checks that every message is in the store once, and that side requests are in lanes of their own."""
    lanes = daemon.lanes()
    want(len(lanes) == (2 if agent.name == "claude" else 1), f"lanes: {[lane['conversation'] for lane in lanes]}")
    lines = daemon.exported(lanes[0]["conversation"])
    want(not any("after" in line for line in lines), "the conversation has a branch")
    said = [line["message"] for line in lines if line["is"] == "message"]
    counted = collections.Counter()
    for message in said:
        for text in texts(message):
            for turn in range(turns):
                counted[turn] += f"the word w{turn}x." in text
    want(all(counted[turn] == 1 for turn in range(turns)), f"questions that are there not once: {counted}")
    for kind in ("tool_use_id", "call_id", "encrypted_content"):
        ids = collections.Counter()
        for message in said:
            blocks = message.get("content") or [] if kind == "tool_use_id" else [message]
            ids.update((block.get("type"), block[kind]) for block in blocks if isinstance(block, dict) and kind in block)
        want(all(count == 1 for count in ids.values()), f"{kind}s that are there not once: {ids.most_common(3)}")
    # The provider's answer to each question is stored once, too. The provider numbers its answers; a sub-agent's result
    # may cause an additional one.
    model = [message for message in said if message.get("role") == "assistant"]
    answers = [text for message in model for text in texts(message) if "is done: the file says so" in text]
    want(len(answers) >= turns, f"{len(answers)} answers of {turns}")
    want(len(set(answers)) == len(answers), "an answer is there twice")
    daemon.ask("verify")


def main():
    turns = int(sys.argv[1])
    chosen = sys.argv[2:] or ["claude", "codex"]
    for agent in (Claude(), Codex()):
        if agent.name in chosen:
            with scratch(agent.name) as folder:
                run(folder, agent, turns)


if __name__ == "__main__":
    main()
