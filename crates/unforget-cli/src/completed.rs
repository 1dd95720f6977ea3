//! What a shell completes: conversations, projects and hosts of the database.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;
use unforget_engine::Engine;

use crate::config::{Settings, process_env};
use crate::overrides::Global;
use crate::recognised::{RecognisedConversation, everything};
use crate::text;

/// Most characters of a title beside a name.
const TITLE_CHARS: usize = 60;

/// Names of conversations, the newest first, with their titles.
pub(crate) fn conversations(begun: &OsStr) -> Vec<CompletionCandidate> {
    let mut all = stored();
    all.sort_by_key(|one| std::cmp::Reverse(one.last()));
    let fitting = all.iter().enumerate().filter(|(_, one)| begins(&one.name, begun));
    let one = |(at, one): (usize, &RecognisedConversation)| {
        let title = text::one_line(&one.title(), TITLE_CHARS);
        CompletionCandidate::new(&one.name).help(Some(title.into())).display_order(Some(at))
    };
    fitting.map(one).collect()
}

/// Names of projects.
pub(crate) fn projects(begun: &OsStr) -> Vec<CompletionCandidate> {
    candidates(stored().iter().map(RecognisedConversation::project), begun)
}

/// Names of hosts.
pub(crate) fn hosts(begun: &OsStr) -> Vec<CompletionCandidate> {
    candidates(stored().iter().map(|one| one.host().to_owned()), begun)
}

fn candidates(names: impl Iterator<Item = String>, begun: &OsStr) -> Vec<CompletionCandidate> {
    let names: BTreeSet<String> = names.filter(|name| begins(name, begun)).collect();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Whether a name can be completed: what a shell or a terminal takes for more than a word is never offered.
fn begins(name: &str, begun: &OsStr) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_.:/#@".contains(one);
    let is_word = name.starts_with(|one: char| one.is_ascii_alphanumeric()) && name.chars().all(is_plain);
    is_word && begun.to_str().is_some_and(|begun| name.starts_with(begun))
}

/// What is stored. Nothing if it cannot be read, or is on a server, which may be far away: a shell that completes has
/// no place for a failure.
fn stored() -> Vec<RecognisedConversation> {
    let settings = Settings::new(&Global::default(), &process_env).ok();
    let engine = settings.and_then(|settings| Engine::open_reader(settings.db.value.file()?).ok());
    engine.and_then(|engine| everything(&engine).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_table() {
        let table = [
            ("4a36", "4", true, "a name"),
            ("4a36", "5", false, "another beginning"),
            ("-rf", "", false, "an option"),
            ("a b", "", false, "two words"),
            ("$(x)", "", false, "a command"),
            ("a\u{1b}[2J", "a", false, "a sequence of a terminal"),
        ];
        for (name, begun, want, why) in table {
            assert_eq!(begins(name, OsStr::new(begun)), want, "{why}");
        }
    }
}
