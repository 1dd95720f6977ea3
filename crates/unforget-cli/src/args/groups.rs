//! The commands by what a person wants, for the help text.

use std::fmt::Write as _;

use clap::Command;

/// Headings and the commands under them, in the order of the help text.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Keep",
        &[
            "import",
            "keep",
            "setup",
            "watch",
            "sync",
            "migrate",
            "backup",
            "restore",
            "export",
            "give-back",
            "verify",
            "purge",
            "reindex",
            "embed",
        ],
    ),
    ("Find", &["search", "grep", "answer", "pack", "handoff", "memory", "ledger", "usage", "reject"]),
    ("Look", &["list", "label", "show", "tui", "web", "resume", "open", "stats", "describe", "expand"]),
    ("Run agents", &["run", "serve", "status", "stop", "logs", "mcp", "hook", "engine"]),
    (
        "Prompts",
        &[
            "prompt",
            "compact",
            "replay",
            "pin",
            "uncompact",
            "unpin",
            "pins",
            "prompts",
            "left",
            "diff",
            "why",
            "jobs",
            "decisions",
        ],
    ),
    ("Care", &["doctor", "repair", "config", "bench", "completions", "man"]),
];

/// Columns before the words about a command.
const NAME: usize = 13;

/// The command with its subcommands under headings in the help text.
pub(crate) fn grouped(command: Command) -> Command {
    let mut commands = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string cannot fail.
        write!(commands, "\n\n{heading}:").ok();
        let found = names.iter().filter_map(|name| command.find_subcommand(name));
        for one in found {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            write!(commands, "\n  {:<NAME$}{about}", one.get_name()).ok();
        }
    }
    let template = "{before-help}{about-with-newline}\n{usage-heading} {usage}".to_owned();
    command.help_template(template + &commands + "\n\nEverywhere:\n{options}{after-help}")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_command_stands_in_one_group() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name);
        for name in shown {
            let count = GROUPS.iter().flat_map(|(_, names)| *names).filter(|one| **one == name).count();
            assert_eq!(count, 1, "{name}");
        }
        let help = grouped(command).render_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        assert!(help.contains("\nFind:\n  search ") && help.contains("--json"), "{help}");
    }
}
