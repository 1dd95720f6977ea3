//! The clients known to `unforget run`: how each gets its base URL, and how to keep it from compacting its own history.
//!
//! `{url}` stands for the daemon's address without a final slash. Every variable and switch is documented by the
//! client; the sources are its own documentation, November 2026.

/// A client.
pub(super) struct Client {
    /// Names of its command, the first one its own.
    pub(super) names: &'static [&'static str],
    /// How it is configured, or why that is impossible.
    pub(super) way: Way,
}

/// How a client is configured.
pub(super) enum Way {
    /// By these variables, and these arguments before all others.
    Told { variables: &'static [(&'static str, &'static str)], arguments: &'static [&'static str] },
    /// Not automatically: advice for a person.
    Not(&'static str),
}

/// The variables of OpenAI's and Anthropic's SDKs and of programs built on them: for every command outside the table.
pub(super) const SDKS: Way = Way::Told {
    variables: &[("ANTHROPIC_BASE_URL", "{url}"), ("OPENAI_BASE_URL", "{url}/v1")],
    arguments: &[],
};

/// The table.
pub(super) const CLIENTS: [Client; 5] = [
    Client {
        // It counts its own input, and stops at the window that it assumes: the last two variables lift that limit.
        names: &["claude"],
        way: Way::Told {
            variables: &[
                ("ANTHROPIC_BASE_URL", "{url}"),
                ("DISABLE_AUTO_COMPACT", "1"),
                ("DISABLE_COMPACT", "1"),
                ("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "1000000000"),
            ],
            arguments: &[],
        },
    },
    Client {
        // Its own variable for a base URL is deprecated. A custom provider uses plain HTTP instead of WebSockets.
        names: &["codex"],
        way: Way::Told {
            variables: &[],
            arguments: &[
                "-c",
                r#"model_provider="unforget""#,
                "-c",
                r#"model_providers.unforget={name="Unforget",base_url="{url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}"#,
                "-c",
                "model_auto_compact_token_limit=1000000000",
            ],
        },
    },
    Client {
        names: &["opencode"],
        way: Way::Told {
            variables: &[(
                "OPENCODE_CONFIG_CONTENT",
                r#"{"provider":{"anthropic":{"options":{"baseURL":"{url}/v1"}},"openai":{"options":{"baseURL":"{url}/v1"}}},"compaction":{"auto":false}}"#,
            )],
            arguments: &[],
        },
    },
    Client {
        names: &["gemini"],
        way: Way::Not(
            "it speaks Gemini's API, which this gateway does not serve: import its transcripts instead",
        ),
    },
    Client {
        names: &["pi"],
        way: Way::Not(
            "it reads no variable: set baseUrl of its providers in models.json, and run unforget serve",
        ),
    },
];

/// The client of a command, by its file name.
pub(super) fn of(command: &str) -> Option<&'static Client> {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let name = [".exe", ".cmd", ".js"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    CLIENTS.iter().find(|client| client.names.contains(&name))
}

/// A template with the daemon's address.
pub(super) fn filled(template: &str, url: &str) -> String {
    template.replace("{url}", url)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn commands_table() {
        let table = [
            ("claude", Some("claude")),
            ("/opt/x/claude.exe", Some("claude")),
            ("node_modules/.bin/codex", Some("codex")),
            ("claude-wrapper", None),
            ("python3", None),
            ("", None),
        ];
        for (command, name) in table {
            assert_eq!(of(command).map(|client| client.names[0]), name, "{command}");
        }
    }

    #[test]
    fn templates_stay_what_they_are() {
        for client in &CLIENTS {
            let Way::Told { variables, arguments } = &client.way else { continue };
            let all = variables.iter().map(|(_, value)| value).chain(arguments.iter());
            for text in all.map(|text| filled(text, "http://127.0.0.1:1")) {
                assert!(!text.contains("{url"), "{text}");
                if text.starts_with('{') {
                    serde_json::from_str::<serde_json::Value>(&text).unwrap();
                }
            }
        }
    }
}
