"""Coding agents under comparison: alone with their own compaction, or through Unforget."""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request

from stage import BIN, CLIENTS, Daemon, Failed

# Settings that keep each client on this machine.
QUIET = {"DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1"}
# Time limit of a turn in seconds.
PATIENCE = 300


@dataclasses.dataclass
class Place:
    """The environment of a conversation: `daemon` is None for a client alone."""

    folder: object
    url: str
    window: int
    daemon: Daemon | None

    def alone(self):
        """Address and window of the provider, for a client configured by its own options."""
        return None if self.daemon else (self.url, self.window)

    def started(self, agent, command, more):
        """The command, through `unforget run` if there is a daemon, and its environment."""
        if self.daemon:
            command, more = [BIN / "unforget", "run", "--", *command], {**more, "UNFORGET_LISTEN": self.daemon.listen}
        home = self.folder / "home"
        # Only PATH is taken from the machine.
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **QUIET, **agent.variables, **more}
        return command, {"cwd": self.folder / "work", "env": env, "stdin": subprocess.DEVNULL, "text": True}


class Processes:
    """A client that starts a new process for each turn and finds its conversation itself."""

    @contextlib.contextmanager
    def conversation(self, place):
        """Yields a function from a turn's number and text to success and answer."""

        def ask(number, text):
            command, started = place.started(self, *self.command(number, text, place.alone()))
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE, **started)
            return done.returncode == 0, (done.stdout + done.stderr)[-2_000:]

        yield ask


class Codex(Processes):
    """Codex with its default model, in code mode. A separate provider entry, for compaction by a plain request."""

    name, instructions = "codex", "AGENTS.md"
    compaction = ["CONTEXT CHECKPOINT COMPACTION"]
    variables = {"OPENAI_API_KEY": "k"}
    tools = [
        {"name": "exec", "arguments": 'const r = await tools.exec_command({cmd: "cat {path}", max_output_tokens: 20000});\ntext(r.output ?? r);'},
        {"name": "exec_command", "arguments": {"cmd": "cat {path}", "max_output_tokens": 20000}},
        {"name": "shell_command", "arguments": {"command": "cat {path}"}},
    ]
    standing = {
        "environment": "<environment_context>",
        "instructions": "# AGENTS.md instructions",
        "skills": "<skills_instructions>",
        "permissions": "<permissions instructions>",
        "agents": "<multi_agent_role>",
        "tools": "additional_tools",
    }

    def command(self, turn, text, alone):
        """`alone` is address and window of the provider, or None: then `unforget run` sets the address."""
        options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        options += ["-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"]
        if alone:
            url, window = alone
            options += ["-c", 'model_provider="scripted"', "-c", f"model_context_window={window}"]
            table = f'{{name="Scripted",base_url="{url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}}'
            options += ["-c", f"model_providers.scripted={table}"]
        resumed = ["resume", "--last"] if turn else []
        return [CLIENTS / "node_modules/.bin/codex", "exec", *resumed, *options, text], {}

    def prepare(self, work, window):
        """Writes nothing: all settings are options."""


class Claude(Processes):
    """Claude Code with a model whose standing context is in messages of the user role."""

    name, instructions = "claude", "CLAUDE.md"
    compaction = ["Your task is to create a detailed summary"]
    variables = {
        "ANTHROPIC_API_KEY": "k",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000",
        "ANTHROPIC_MODEL": "claude-sonnet-4-5",
    }
    tools = [{"name": "Read", "arguments": {"file_path": "{path}"}}]
    standing = {
        "environment": "You have been invoked in the following environment",
        "instructions": "Codebase and user instructions are shown below",
        "skills": "The following skills are available for use with the Skill tool",
        "agents": "Available agent types for the Agent tool",
        "deferred tools": "The following deferred tools are now available",
        "date": "Today's date is",
    }

    def command(self, turn, text, alone):
        resumed = ["--continue"] if turn else []
        more = {}
        if alone:
            url, window = alone
            more = {"ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(window)}
        return [CLIENTS / "node_modules/.bin/claude", "-p", "--allowedTools", "Bash,Agent,Read", *resumed, "--", text], more

    def prepare(self, work, window):
        """Writes nothing: all settings are variables."""


class Opencode:
    """The server of opencode, driven by its API: a process per turn would take longer than the turn."""

    name, instructions = "opencode", "AGENTS.md"
    compaction = ["anchored summary", "Provide a detailed prompt for continuing"]
    variables = {
        "ANTHROPIC_API_KEY": "k",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_SHARE": "1",
    }
    tools = [{"name": "bash", "arguments": {"command": "cat {path}", "description": "Prints a file"}}]
    standing = {"environment": "<env>", "instructions": "Instructions from:", "skills": "<available_skills>"}
    model = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}

    def prepare(self, work, window):
        """The model's window is in the project's own file, which `unforget run` leaves alone."""
        models = {"claude-sonnet-4-5": {"limit": {"context": window, "output": 8_000}}}
        config = {"provider": {"anthropic": {"models": models}}, "permission": {"bash": "allow", "read": "allow"}}
        (work / "opencode.json").write_text(json.dumps(config))

    @contextlib.contextmanager
    def conversation(self, place):
        more = {}
        if not place.daemon:
            config = {"provider": {"anthropic": {"options": {"baseURL": f"{place.url}/v1"}}}}
            more = {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}
        command = [CLIENTS / "node_modules/.bin/opencode", "serve", "--hostname", "127.0.0.1", "--port", "0"]
        command, started = place.started(self, command, more)
        with (place.folder / "opencode.log").open("w") as errors:
            # `unforget run` ends with its child: both are in one process group.
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True, **started)
        try:
            url = next((line.split()[-1] for line in process.stdout if "listening on" in line), None)
            if url is None:
                raise Failed(f"opencode does not serve: {(place.folder / 'opencode.log').read_text()[-500:]}")
            session = post(f"{url}/session", {})["id"]

            def ask(_, text):
                try:
                    said = post(f"{url}/session/{session}/message", {"model": self.model, "parts": [{"type": "text", "text": text}]})
                except (urllib.error.URLError, TimeoutError) as error:
                    return False, str(error)
                error = said["info"].get("error")
                return error is None, json.dumps(error or said["parts"])[-2_000:]

            yield ask
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            # Ends the rest of the group: opencode does not exit on every signal.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=20)


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=PATIENCE))


AGENTS = {agent.name: agent for agent in (Codex(), Claude(), Opencode())}
