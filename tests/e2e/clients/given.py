"""A session of Claude Code and one of Codex are given back small and to other agents, which resume them and know their third turn."""

import json
import os
import subprocess
import time

from coding import QUIET, Claude, Codex, Opencode
from stage import BIN, CLIENTS, Provider, report, scratch, want

WINDOW = 200_000
# So small that the first turns are summaries.
SMALL = 16_000
TURNS = 6
# Where each session goes, and in which form.
WAYS = {
    "claude": [("claude", True), ("codex", False), ("codex", True), ("opencode", False), ("opencode", True), ("pi", False), ("pi", True)],
    "codex": [("codex", True), ("claude", False), ("claude", True)],
}
TOOLS = CLIENTS / "node_modules/.bin"


def question(turn):
    return f"Question {turn}: what is in the next file? Remember the word w{turn}x."


class Home:
    """A home folder, and the agents in it before a provider."""

    def __init__(self, folder, provider):
        self.home, self.work, self.provider = folder / "home", folder / "work", provider
        self.db = folder / "kept.sqlite"
        for path in (self.home, self.work):
            path.mkdir()

    def run(self, command, variables):
        # pi wants a newer node than the machine may have: the one beside the agents.
        env = {"PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.home), **QUIET, **variables}
        done = subprocess.run(command, cwd=self.work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        want(done.returncode == 0, f"{command}: exit code {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
        return done.stdout

    def unforget(self, *arguments):
        return self.run([BIN / "unforget", "--db", self.db, *arguments], Opencode.variables)

    def ask(self, agent, turn):
        """A turn of the agent's own newest session."""
        command, more = agent.command(turn, question(turn), (self.provider.url, WINDOW))
        self.run(command, {**agent.variables, **more})

    def resumed(self, host, given, text):
        """Goes on with a given session."""
        url = self.provider.url
        if host == "claude":
            command = [TOOLS / "claude", "-p", "--allowedTools", "Bash,Agent,Read", "--resume", given["session"], "--", text]
            return self.run(command, {**Claude.variables, "ANTHROPIC_BASE_URL": url})
        if host == "codex":
            command, _ = Codex().command(0, text, (url, WINDOW))
            at = command.index("exec") + 1
            return self.run([*command[:at], "resume", given["session"], *command[at:]], Codex.variables)
        if host == "opencode":
            config = {"provider": {"anthropic": {"options": {"baseURL": f"{url}/v1"}}}, "permission": {"bash": "allow", "read": "allow"}}
            config["provider"]["anthropic"]["models"] = {"claude-sonnet-4-5": {"limit": {"context": WINDOW, "output": 8_000}}}
            command = [TOOLS / "opencode", "run", "--session", given["session"], "--model", "anthropic/claude-sonnet-4-5", text]
            return self.run(command, {**Opencode.variables, "OPENCODE_CONFIG_CONTENT": json.dumps(config)})
        models = {"id": "claude-sonnet-4-5", "contextWindow": WINDOW, "maxTokens": 8_000}
        provider = {"baseUrl": url, "api": "anthropic-messages", "apiKey": "none", "models": [models]}
        settings = self.home / ".pi/agent/models.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({"providers": {"scripted": provider}}))
        command = [TOOLS / "node", TOOLS / "pi", "--print", "--session", given["path"], "--model", "scripted/claude-sonnet-4-5", text]
        return self.run(command, {"PI_OFFLINE": "1"})


def check(place, key, host, is_small):
    begun = time.time()
    form = ["--small", "--window", str(SMALL)] if is_small else []
    command = ["give-back", key, "--to", host, *form, "--json"]
    given = json.loads(place.unforget(*command))
    want(given["state"] == "written", f"not written: {given}")
    want(given["form"] == ("small" if is_small else "whole"), f"the form: {given}")
    again = json.loads(place.unforget(*command))
    want(again["state"] == "kept" and again["session"] == given["session"], f"the second time: {again}")
    came = len(place.provider.came())
    text = f"Question for {host} {is_small}: which words were there?"
    place.resumed(host, given, text)
    arrived = place.provider.came()[came:]
    wrong = [(one["status"], one["violations"]) for one in arrived if one["status"] != 200]
    want(not wrong, f"refused: {wrong[:2]}")
    sent = [json.dumps(one["body"]) for one in arrived]
    sent = [body for body in sent if text in body]
    want(sent, f"{host}: the question did not arrive")
    want("the word w2x." in sent[0], f"{host}: the third turn is not known")
    want(is_small == ("history-summary" in sent[0]), f"{host}: the form of what arrived")
    report(f"given {key.split(':')[0]} to {host}", begun, form=given["form"], tokens=given["tokens"], not_carried=given["not_carried"])


def run(folder, agent):
    place = Home(folder, Provider(folder, WINDOW))
    for turn in range(TURNS):
        place.ask(agent, turn)
    place.unforget("import", "--discover", "--yes", "-q")
    listed = [one for one in json.loads(place.unforget("list", "--json")) if one["parent"] is None]
    want(len(listed) == 1, f"one session: {listed}")
    for host, is_small in WAYS[agent.name]:
        check(place, listed[0]["conversation"], host, is_small)
    place.provider.end()


def main():
    for agent in (Claude(), Codex()):
        with scratch(f"given-{agent.name}") as folder:
            run(folder, agent)


if __name__ == "__main__":
    main()
