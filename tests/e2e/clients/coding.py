"""Coding agents as a comparison drives them: alone with their own compaction, or through Unforget."""

import json
import os
import re

from stage import CLIENTS

# What each needs to stay on this machine.
QUIET = {"DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1"}


class Codex:
    """Its default model, in code mode. A provider of its own, so that it compacts with a plain request."""

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
        """`alone` is the address of the provider and its window, or none: `unforget run` says where to go."""
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
        """Nothing: all is said by options."""


class Claude:
    """With a model whose standing context is in the messages of the user role."""

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
        """Nothing: all is said by variables."""


class Opencode:
    name, instructions = "opencode", "AGENTS.md"
    compaction = ["anchored summary", "Provide a detailed prompt for continuing", "Create a new anchored summary"]
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

    def command(self, turn, text, alone):
        resumed = ["--continue"] if turn else []
        more = {}
        if alone:
            config = {"provider": {"anthropic": {"options": {"baseURL": f"{alone[0]}/v1"}}}}
            more = {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}
        return [CLIENTS / "node_modules/.bin/opencode", "run", "--model", "anthropic/claude-sonnet-4-5", *resumed, text], more

    def prepare(self, work, window):
        """The model's window is told in the project's own file, which `unforget run` leaves alone."""
        limit = {"context": window, "output": 8_000}
        models = {"claude-sonnet-4-5": {"limit": limit}}
        config = {"provider": {"anthropic": {"models": models}}, "permission": {"bash": "allow", "read": "allow"}}
        (work / "opencode.json").write_text(json.dumps(config))


AGENTS = {agent.name: agent for agent in (Codex(), Claude(), Opencode())}


def environment(agent, home, more):
    """All that a client gets; nothing of the machine but the path."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **QUIET, **agent.variables, **more}


def is_compaction(agent, newest):
    return any(re.search(re.escape(mark), newest) for mark in agent.compaction)
