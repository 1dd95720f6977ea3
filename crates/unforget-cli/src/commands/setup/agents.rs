//! What every agent is given: one table of hooks, the MCP server, the skill.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::addition::Addition;
use crate::args::SetupAgent;
use crate::config::Env;
use crate::text::quoted;

/// The skill: when to search, and how.
const SKILL: &str = include_str!("skill.md");

/// A hook of an agent: a command that it runs at an event.
struct AgentHook {
    agent: SetupAgent,
    /// The agent's name of the event.
    event: &'static str,
    /// Words behind `unforget`; `{folder}` stands for the folder of transcripts.
    words: &'static [&'static str],
    /// The tools whose calls it is for; empty for all, and for events without a tool.
    tools: &'static str,
    /// Time limit in the agent's unit.
    timeout: u64,
    /// Who gets it.
    wanted: HookWanted,
}

/// Who gets a hook.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HookWanted {
    /// Everybody.
    Always,
    /// A person who wants hints.
    Hints,
    /// A person who wants hints and named their margin, with which it is called.
    Margin,
}

impl AgentHook {
    /// A hook that imports the agent's sessions.
    const fn import(agent: SetupAgent, event: &'static str, timeout: u64) -> Self {
        let words = &["import", "--quiet", "--detach", "{folder}"];
        Self { agent, event, words, tools: "", timeout, wanted: HookWanted::Always }
    }

    /// A hook of Claude Code that says what is known at this moment, or nothing. It takes some 20 ms.
    const fn hint(event: &'static str, tools: &'static str, wanted: HookWanted) -> Self {
        Self { agent: SetupAgent::Claude, event, words: &["--quiet", "hook"], tools, timeout: 5, wanted }
    }
}

/// Tools that run a command or change a file.
const WORKING_TOOLS: &str = "Bash|Edit|MultiEdit|Write|NotebookEdit";

/// Every hook. Agents end without waiting for a hook of their last event, so imports go on by themselves.
const HOOKS: [AgentHook; 7] = [
    AgentHook::import(SetupAgent::Claude, "SessionEnd", 30),
    AgentHook::import(SetupAgent::Codex, "Stop", 30),
    AgentHook::import(SetupAgent::Gemini, "SessionEnd", 30_000),
    AgentHook::hint("SessionStart", "", HookWanted::Hints),
    AgentHook::hint("PreToolUse", WORKING_TOOLS, HookWanted::Margin),
    AgentHook::hint("PostToolUseFailure", WORKING_TOOLS, HookWanted::Hints),
    AgentHook::hint("UserPromptSubmit", "", HookWanted::Margin),
];

/// Where files are, and how this program is called.
pub(super) struct SetupPlace<'a> {
    /// The home folder.
    pub(super) home: PathBuf,
    /// Variables that name other folders.
    pub(super) env: Env<'a>,
    /// This program and the options that name its database.
    pub(super) program: Vec<String>,
    /// Whether the agent is told unasked what earlier sessions left.
    pub(super) hints: bool,
    /// Least relevance of what the agent is told before a call and about a message; nothing is told there without one.
    pub(super) margin: Option<f64>,
}

/// A file and what is added to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WantedFile {
    /// The file.
    pub(super) path: PathBuf,
    /// What it is for.
    pub(super) what: &'static str,
    /// What is added.
    pub(super) additions: Vec<Addition>,
}

impl SetupPlace<'_> {
    /// The files of an agent.
    pub(super) fn files(&self, agent: SetupAgent) -> Vec<WantedFile> {
        let folder = self.folder(agent);
        match agent {
            SetupAgent::Claude => vec![
                self.hooks(agent, folder.join("settings.json")),
                self.json_server(self.claude_file(), "mcpServers", &json!({"type": "stdio"})),
                skill(&folder.join("skills")),
            ],
            SetupAgent::Codex => vec![
                self.hooks(agent, folder.join("hooks.json")),
                self.toml_server(folder.join("config.toml")),
                skill(&folder.join("skills")),
            ],
            SetupAgent::Opencode => vec![self.opencode_server(&folder), skill(&folder.join("skills"))],
            SetupAgent::Gemini => vec![
                self.with_server(self.hooks(agent, folder.join("settings.json"))),
                skill(&folder.join("skills")),
            ],
            SetupAgent::Pi => vec![self.pi_extension(&folder), skill(&folder.join("skills"))],
            SetupAgent::Openclaw => Vec::new(),
        }
    }

    /// What a person should know, beside the files.
    pub(super) const fn remarks(agent: SetupAgent) -> &'static [&'static str] {
        match agent {
            SetupAgent::Claude => &[
                "Claude Code deletes transcripts after 30 days, unless cleanupPeriodDays in its settings says otherwise; what is imported stays",
            ],
            SetupAgent::Codex => &["Codex asks once whether it may run the hook: /hooks in a session"],
            SetupAgent::Opencode => &[
                "opencode keeps its sessions in a database that is not read yet: unforget run -- opencode stores them while they happen",
            ],
            SetupAgent::Pi => &["pi has no MCP: the skill searches with the unforget command"],
            SetupAgent::Openclaw => &[
                "OpenClaw is set up by its own installer: openclaw plugins install --link FOLDER, with integrations/openclaw of Unforget's sources",
            ],
            SetupAgent::Gemini => &[],
        }
    }

    /// The folder of an agent's settings.
    fn folder(&self, agent: SetupAgent) -> PathBuf {
        let named = |name: &str| (self.env)(name).map(PathBuf::from).filter(|path| path.is_absolute());
        match agent {
            SetupAgent::Claude => named("CLAUDE_CONFIG_DIR").unwrap_or_else(|| self.home.join(".claude")),
            SetupAgent::Codex => named("CODEX_HOME").unwrap_or_else(|| self.home.join(".codex")),
            SetupAgent::Opencode => {
                named("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config")).join("opencode")
            }
            SetupAgent::Gemini => self.home.join(".gemini"),
            SetupAgent::Pi => self.home.join(".pi/agent"),
            SetupAgent::Openclaw => self.home.join(".openclaw"),
        }
    }

    /// The folder of an agent's transcripts.
    fn transcripts(&self, agent: SetupAgent) -> PathBuf {
        let below = match agent {
            SetupAgent::Claude => "projects",
            SetupAgent::Gemini => "tmp",
            _ => "sessions",
        };
        self.folder(agent).join(below)
    }

    /// Claude Code keeps servers beside its folder, unless another folder is named.
    fn claude_file(&self) -> PathBuf {
        let named = (self.env)("CLAUDE_CONFIG_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.home.clone()).join(".claude.json")
    }

    /// This program with some words, for a shell.
    fn command(&self, words: &[&str], folder: &Path) -> String {
        let folder = folder.display().to_string();
        let words = words.iter().map(|word| word.replace("{folder}", &folder));
        let all: Vec<String> = self.program.iter().cloned().chain(words).map(|word| quoted(&word)).collect();
        all.join(" ")
    }

    fn hooks(&self, agent: SetupAgent, path: PathBuf) -> WantedFile {
        let folder = self.transcripts(agent);
        let is_wanted = |hook: &&AgentHook| match hook.wanted {
            HookWanted::Always => true,
            HookWanted::Hints => self.hints,
            HookWanted::Margin => self.hints && self.margin.is_some(),
        };
        let wanted = HOOKS.iter().filter(|hook| hook.agent == agent).filter(is_wanted);
        let additions = wanted.map(|hook| self.hook(hook, &folder)).collect();
        let what = if self.hints && agent == SetupAgent::Claude {
            "hooks: sessions are imported when they end, and the agent is told what earlier ones left"
        } else {
            "a hook: sessions are imported when they end"
        };
        WantedFile { path, what, additions }
    }

    /// A hook in the form of the agents' settings.
    ///
    /// * `folder` - of the agent's transcripts.
    fn hook(&self, hook: &AgentHook, folder: &Path) -> Addition {
        let margin =
            self.margin.filter(|_| hook.wanted == HookWanted::Margin).map(|margin| margin.to_string());
        let margin = margin.iter().flat_map(|margin| ["--margin", margin.as_str()]);
        let words: Vec<&str> = hook.words.iter().copied().chain(margin).collect();
        let mut value = json!({"hooks": [{
            "type": "command",
            "command": self.command(&words, folder),
            "timeout": hook.timeout,
        }]});
        if let Some(value) = value.as_object_mut().filter(|_| !hook.tools.is_empty()) {
            value.insert("matcher".to_owned(), hook.tools.into());
        }
        Addition::Element { path: vec!["hooks".to_owned(), hook.event.to_owned()], value }
    }

    /// The program of the MCP server and its arguments.
    fn server(&self) -> (String, Vec<String>) {
        let (program, options) = self
            .program
            .split_first()
            .map_or(("unforget", &[][..]), |(program, options)| (program.as_str(), options));
        (program.to_owned(), options.iter().cloned().chain(["mcp".to_owned()]).collect())
    }

    fn json_server(&self, path: PathBuf, list: &str, more: &serde_json::Value) -> WantedFile {
        let (program, arguments) = self.server();
        let mut value = more.clone();
        if let Some(value) = value.as_object_mut() {
            value.insert("command".to_owned(), program.into());
            value.insert("args".to_owned(), arguments.into());
        }
        let addition = Addition::Member { path: vec![list.to_owned()], key: "unforget".to_owned(), value };
        WantedFile {
            path,
            what: "the MCP server: the agent can search all sessions",
            additions: vec![addition],
        }
    }

    /// A file with the MCP server beside its other additions.
    fn with_server(&self, file: WantedFile) -> WantedFile {
        let WantedFile { path, mut additions, .. } = file;
        let server = self.json_server(path, "mcpServers", &json!({}));
        additions.extend(server.additions);
        WantedFile { path: server.path, what: "a hook that imports, and the MCP server", additions }
    }

    fn toml_server(&self, path: PathBuf) -> WantedFile {
        let (program, arguments) = self.server();
        let text = |text: &str| toml::Value::from(text).to_string();
        let arguments: Vec<String> = arguments.iter().map(|argument| text(argument)).collect();
        let block = format!(
            "[mcp_servers.unforget]\ncommand = {}\nargs = [{}]\n",
            text(&program),
            arguments.join(", ")
        );
        let path_of = vec!["mcp_servers".to_owned(), "unforget".to_owned()];
        let additions = vec![Addition::Table { path: path_of, block }];
        WantedFile { path, what: "the MCP server: the agent can search all sessions", additions }
    }

    fn opencode_server(&self, folder: &Path) -> WantedFile {
        let (program, arguments) = self.server();
        let command: Vec<String> = std::iter::once(program).chain(arguments).collect();
        let value = json!({"type": "local", "command": command, "enabled": true});
        let addition = Addition::Member { path: vec!["mcp".to_owned()], key: "unforget".to_owned(), value };
        let with_comments = folder.join("opencode.jsonc");
        let path = if with_comments.exists() { with_comments } else { folder.join("opencode.json") };
        WantedFile {
            path,
            what: "the MCP server: the agent can search all sessions",
            additions: vec![addition],
        }
    }

    fn pi_extension(&self, folder: &Path) -> WantedFile {
        let (program, options) = self
            .program
            .split_first()
            .map_or(("unforget", &[][..]), |(program, options)| (program.as_str(), options));
        let sessions = self.transcripts(SetupAgent::Pi).display().to_string();
        let words = ["import", "--quiet", "--detach", &sessions].map(str::to_owned);
        let arguments: Vec<String> = options.iter().cloned().chain(words).collect();
        let text = include_str!("pi_extension.ts")
            .replace("PROGRAM", &json!(program).to_string())
            .replace("ARGUMENTS", &json!(arguments).to_string());
        let path = folder.join("extensions").join("unforget.ts");
        let what = "an extension: sessions are imported when they end";
        WantedFile { path, what, additions: vec![Addition::Whole { text }] }
    }
}

fn skill(skills: &Path) -> WantedFile {
    let path = skills.join("unforget").join("SKILL.md");
    let additions = vec![Addition::Whole { text: SKILL.to_owned() }];
    WantedFile { path, what: "a skill: when to search, and how", additions }
}
