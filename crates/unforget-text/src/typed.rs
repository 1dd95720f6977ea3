//! Reads a message of a person without the wrappers in which hosts deliver commands and notices.

use std::borrow::Cow;

/// What stands for a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrapper {
    /// Nothing: the host tells the model something.
    Aside,
    /// What it wraps.
    Content,
    /// What it wraps, behind a mark: a command for a shell.
    Shell,
    /// The name of a command of the host; its arguments follow.
    Command,
    /// The arguments of the command before.
    Arguments,
    /// A notice, of which its `summary` is for people.
    Notice,
}

/// The wrappers that hosts put around words. Others are a person's own.
const WRAPPERS: [(&str, Wrapper); 14] = [
    ("command-name", Wrapper::Command),
    ("command-args", Wrapper::Arguments),
    ("command-message", Wrapper::Aside),
    ("command-contents", Wrapper::Aside),
    ("local-command-caveat", Wrapper::Aside),
    ("local-command-stdout", Wrapper::Content),
    ("local-command-stderr", Wrapper::Content),
    ("bash-input", Wrapper::Shell),
    ("bash-stdout", Wrapper::Content),
    ("bash-stderr", Wrapper::Content),
    ("task-notification", Wrapper::Notice),
    ("system-reminder", Wrapper::Aside),
    ("environment_context", Wrapper::Aside),
    ("user_instructions", Wrapper::Aside),
];

/// A message as the person typed it: `/review 12` for a command that the host delivers in tags, `! ls` for one of a shell, and no
/// notes of the host to the model. Empty if nothing in it is for a person. Wrappers are known at the beginning of a message only.
///
/// Cost: O(bytes).
pub fn typed(text: &str) -> Cow<'_, str> {
    unwrapped(text, true)
}

/// What a person asks of the model in a message: [`typed`] without commands for a shell, outputs and notices. Empty for a
/// command of the host without arguments, such as `/mode`.
///
/// Cost: O(bytes).
pub(crate) fn requested(text: &str) -> Cow<'_, str> {
    let asked = unwrapped(text, false);
    if is_bare_command(&asked) || asked.trim() == "/" { Cow::Borrowed("") } else { asked }
}

/// * `shows_host` - whether shell commands, outputs and notices stay.
fn unwrapped(text: &str, shows_host: bool) -> Cow<'_, str> {
    let mut rest = text.trim_start();
    let mut said: Vec<String> = Vec::new();
    let mut is_wrapped = false;
    while let Some(one) = wrapped(rest) {
        is_wrapped = true;
        rest = one.behind.trim_start();
        let content = one.content.trim();
        match one.wrapper {
            Wrapper::Aside => {}
            Wrapper::Arguments => match said.last_mut() {
                Some(command) if !content.is_empty() => {
                    command.push(' ');
                    command.push_str(content);
                }
                _ => {}
            },
            Wrapper::Shell | Wrapper::Notice | Wrapper::Content if !shows_host => {}
            Wrapper::Shell => said.push(format!("! {content}")),
            Wrapper::Notice => {
                said.extend(between(content, "summary").map(|one| one.content.trim().to_owned()));
            }
            Wrapper::Command | Wrapper::Content => said.push(content.to_owned()),
        }
    }
    if !is_wrapped {
        return Cow::Borrowed(text);
    }
    said.push(rest.trim_end().to_owned());
    said.retain(|one| !one.is_empty());
    Cow::Owned(said.join("\n"))
}

/// Whether a message is a command of the host without arguments, such as `/mode`.
pub(crate) fn is_bare_command(text: &str) -> bool {
    let name = text.trim().strip_prefix('/').unwrap_or_default();
    !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric() || "-_:".contains(one))
}

/// A tool's result without the words that Claude Code appends to it.
pub(crate) fn without_reminder(result: &str) -> &str {
    result.split("\n\n<system-reminder>").next().unwrap_or_default()
}

/// Whether the beginning of a wrapper stands anywhere in a text.
pub(crate) fn has_wrapper(text: &str) -> bool {
    WRAPPERS.iter().any(|(name, _)| text.contains(&format!("<{name}>")))
}

/// Text in a wrapper, and what stands behind it.
struct Wrapped<'a> {
    wrapper: Wrapper,
    content: &'a str,
    behind: &'a str,
}

/// The wrapper at the beginning of a text.
fn wrapped(text: &str) -> Option<Wrapped<'_>> {
    let inside = text.strip_prefix('<')?;
    let (name, wrapper) = WRAPPERS
        .iter()
        .find(|(name, _)| inside.strip_prefix(name).is_some_and(|rest| rest.starts_with('>')))?;
    Some(Wrapped { wrapper: *wrapper, ..between(text, name)? })
}

/// The first text between the tags of a name.
fn between<'a>(text: &'a str, name: &str) -> Option<Wrapped<'a>> {
    let (_, inside) = text.split_once(&format!("<{name}>"))?;
    let (content, behind) = inside.split_once(&format!("</{name}>"))?;
    Some(Wrapped { wrapper: Wrapper::Content, content, behind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_table() {
        let table = [
            ("mend <b>it</b>", "mend <b>it</b>", "a person's own words"),
            (
                "<command-name>/review</command-name>\n   <command-message>review</command-message>\n <command-args>12 now</command-args>",
                "/review 12 now",
                "a command of the host",
            ),
            (
                "<command-message>x</command-message>\n<command-name>/x</command-name>",
                "/x",
                "in another order",
            ),
            ("<local-command-caveat>Caveat: …</local-command-caveat>", "", "for the model alone"),
            (
                "<system-reminder>\nbe good\n</system-reminder>\nmend it",
                "mend it",
                "behind a note of the host",
            ),
            (
                "<bash-input>ls</bash-input><bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>",
                "! ls\na\nb",
                "a shell",
            ),
            (
                "<task-notification>\n<task-id>7</task-id>\n<summary>Agent done</summary></task-notification>",
                "Agent done",
                "a notice",
            ),
            ("<command-name>/open", "<command-name>/open", "a tag that nothing closes"),
            (
                "see <system-reminder>x</system-reminder>",
                "see <system-reminder>x</system-reminder>",
                "not at the beginning",
            ),
            ("<command-args>x</command-args>", "", "arguments of nothing"),
        ];
        for (text, want, why) in table {
            assert_eq!(typed(text), want, "{why}");
        }
        assert!(is_bare_command("/mode ") && is_bare_command("/plugin:run"));
        assert!(!is_bare_command("/review 12") && !is_bare_command("/etc/hosts") && !is_bare_command("/"));
    }

    #[test]
    fn requested_table() {
        let table = [
            ("mend it", "mend it", "a person's own words"),
            (
                "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n<command-args>a logo\n  for it</command-args>",
                "/plan a logo\n  for it",
                "the arguments of a command",
            ),
            ("<command-name>/theme</command-name><command-args></command-args>", "", "a command alone"),
            ("/mode", "", "a command alone, untagged"),
            ("/etc/hosts is wrong", "/etc/hosts is wrong", "a path"),
            ("<local-command-stdout>Theme set</local-command-stdout>", "", "the output of a command"),
            ("<bash-input>ls</bash-input><bash-stdout>a</bash-stdout>", "", "a command for a shell"),
            ("<bash-stdout>a</bash-stdout>\nwhy only a?", "why only a?", "words behind an output"),
        ];
        for (text, want, why) in table {
            assert_eq!(requested(text), want, "{why}");
        }
    }
}
