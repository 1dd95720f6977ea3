//! Requests in the form of known clients, with texts of ours: Claude Code 2.1.331, Codex 0.169.0, opencode 1.18.33, pi
//! 0.73.1, and an unknown one.

use serde_json::{Value, json};
use unforget_wire::Dialect;

/// Number of rules in the project instructions.
pub(crate) const RULES: usize = 20;

pub(crate) fn rule(number: usize) -> String {
    format!("kestrel-{number:02} is built with make target-{number:02}.")
}

fn rules() -> String {
    let lines: Vec<String> = (0..RULES).map(|number| format!("- {}", rule(number))).collect();
    lines.join("\n") + "\n"
}

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Like {
    ClaudeCode,
    Codex,
    OpenCode,
    Pi,
    Other(&'static str, Dialect),
}

fn reminder(text: &str) -> Value {
    json!({"type": "text", "text": format!("<system-reminder>\n{text}\n</system-reminder>")})
}

fn item(role: &str, texts: &[&str]) -> Value {
    let parts: Vec<Value> = texts.iter().map(|text| json!({"type": "input_text", "text": text})).collect();
    json!({"type": "message", "role": role, "content": parts})
}

/// Claude Code marks the last block for the cache, and moves the mark from call to call.
fn marked(array: &[Value]) -> Vec<Value> {
    let mut array = array.to_vec();
    let last = array.last_mut().and_then(|last| last["content"].as_array_mut()?.last_mut());
    last.unwrap()["cache_control"] = json!({"type": "ephemeral"});
    array
}

impl Like {
    pub(crate) const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::OpenCode, Self::Pi];

    pub(crate) const fn api(self) -> (&'static str, Dialect) {
        match self {
            Self::ClaudeCode | Self::OpenCode => ("messages", Dialect::Anthropic),
            Self::Codex => ("responses", Dialect::OpenAiResponses),
            Self::Pi => ("chat/completions", Dialect::OpenAiChat),
            Self::Other(api, dialect) => (api, dialect),
        }
    }

    /// The text of its environment.
    pub(crate) const fn environment(self) -> &'static str {
        match self {
            Self::ClaudeCode => " - Primary working directory: /srv/kestrel",
            Self::Codex => "<cwd>/srv/kestrel</cwd>",
            _ => "Working directory: /srv/kestrel",
        }
    }

    /// The messages before the first question.
    pub(crate) fn opening(self) -> Vec<Value> {
        match self {
            Self::Codex => vec![
                item("developer", &["You are Codex."]),
                item(
                    "user",
                    &[
                        &format!(
                            "# AGENTS.md instructions for /srv/kestrel\n\n<INSTRUCTIONS>\n{}\n</INSTRUCTIONS>",
                            rules()
                        ),
                        "<environment_context>\n  <cwd>/srv/kestrel</cwd>\n  <shell>bash</shell>\n</environment_context>",
                    ],
                ),
            ],
            Self::Other(_, dialect) => {
                let kind = if dialect == Dialect::OpenAiResponses { "input_text" } else { "text" };
                let context = format!("Working directory: /srv/kestrel\n{}", rules());
                vec![json!({"role": "user", "content": [
                    {"type": kind, "text": context}, {"type": kind, "text": "Say hello."}
                ]})]
            }
            _ => Vec::new(),
        }
    }

    /// The messages of a question.
    pub(crate) fn asks(self, turn: usize) -> Vec<Value> {
        let question = format!("Question {turn}: what now?");
        match self {
            Self::ClaudeCode => {
                let mut blocks = Vec::new();
                if turn == 0 {
                    blocks.push(reminder("# Environment\nYou have been invoked in the following environment: \n - Primary working directory: /srv/kestrel\n - Platform: linux"));
                    blocks.push(reminder("The following deferred tools are now available via ToolSearch:\nCronCreate\nWebFetch"));
                    blocks.push(reminder(&format!("Codebase and user instructions are shown below.\n\nContents of /srv/kestrel/CLAUDE.md (project instructions, checked into the codebase):\n\n{}", rules())));
                }
                blocks.push(reminder(&format!(
                    "<total_tokens>{} tokens left</total_tokens>",
                    15_000_000 - turn * 1_000
                )));
                blocks.push(json!({"type": "text", "text": question}));
                vec![json!({"role": "user", "content": blocks})]
            }
            Self::Codex => vec![item("user", &[&question])],
            Self::OpenCode | Self::Pi => {
                vec![json!({"role": "user", "content": [{"type": "text", "text": question}]})]
            }
            Self::Other(..) if turn == 0 => Vec::new(),
            Self::Other(..) => vec![json!({"role": "user", "content": question})],
        }
    }

    /// Adds other project instructions before the newest question.
    pub(crate) fn change(self, array: &mut Vec<Value>) {
        let rules = "- Rule new: run make check-osprey.\n";
        if self == Self::ClaudeCode {
            let block = reminder(&format!(
                "These instruction files changed \u{2014} each replaces its earlier copy:\n\nContents of /srv/kestrel/CLAUDE.md (project instructions, checked into the codebase):\n\n{rules}"
            ));
            array.last_mut().unwrap()["content"].as_array_mut().unwrap().insert(0, block);
        } else {
            let text = format!(
                "# AGENTS.md instructions for /srv/kestrel\n\n<INSTRUCTIONS>\n{rules}\n</INSTRUCTIONS>"
            );
            array.insert(array.len() - 1, item("user", &[&text]));
        }
    }

    pub(crate) fn body(self, array: &[Value]) -> Value {
        match self {
            Self::ClaudeCode => json!({
                "model": "scripted", "max_tokens": 256, "messages": marked(array),
                "system": [{"type": "text", "text": "You are a Claude agent.", "cache_control": {"type": "ephemeral"}}]
            }),
            Self::Codex => json!({
                "model": "scripted", "max_output_tokens": 256, "input": array, "store": false, "prompt_cache_key": "t-1"
            }),
            Self::OpenCode => json!({
                "model": "scripted", "max_tokens": 256, "messages": array,
                "system": format!("You are opencode, an interactive CLI tool.\n<env>\n  Working directory: /srv/kestrel\n</env>\nInstructions from: /srv/kestrel/AGENTS.md\n{}", rules())
            }),
            Self::Pi => {
                let system = format!(
                    "You are an expert coding assistant operating inside pi, a coding agent harness.\nWorking directory: /srv/kestrel\n\n# Project Context\n\n## /srv/kestrel/AGENTS.md\n\n{}",
                    rules()
                );
                let system = json!({"role": "system", "content": system});
                let messages: Vec<&Value> = std::iter::once(&system).chain(array).collect();
                json!({"model": "scripted", "max_completion_tokens": 256, "messages": messages})
            }
            Self::Other(_, dialect) => super::talk::body(dialect, array, false),
        }
    }
}
