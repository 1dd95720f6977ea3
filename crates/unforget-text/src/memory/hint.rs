//! What an agent is told unasked: the memory of its project when it starts, and what is known about a call that it is
//! about to make or that has just failed.
//!
//! Silence is right most of the time. At a call, only an identity is told: the very command, the very error, the very
//! name of the file. Nothing is told because it sounds alike.

use std::collections::BTreeMap;

use unforget_core::id::Seq;

use super::chosen::chosen_if;
use super::relevance::{has_name, relevance};
use super::{MENDED, MemoryBounds, MemoryItem, MemoryKind, ShownMemory};
use crate::clip::head;
use crate::fence::fence_passage;
use crate::secret::redact;

/// Most bytes of a hint, with its frame.
pub const HINT_BYTES: usize = 1_500;

/// Bounds of a project's memory at the start of a session.
const AT_START: MemoryBounds = MemoryBounds { of_kind: 4, bytes: 1_000 };

/// Bounds of what is told about a call.
const AT_CALL: MemoryBounds = MemoryBounds { of_kind: 2, bytes: 700 };

/// Most bytes of a message or of a call's arguments that are looked through.
const ASKED_BYTES: usize = 16 << 10;

/// Least bytes of an item's words that show that a text holds it.
const KNOWN_BYTES: usize = 24;

/// Most items of a kind that are looked for in the newest text of a session.
const TESTED_MAX: usize = 32;

/// Shortest name of a file that identifies it, in bytes: `main.rs` does, `a.c` does not.
const FILE_NAME_MIN: usize = 5;

/// When an agent may be told something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HintMoment<'a> {
    /// A session starts.
    SessionStart,
    /// The agent is about to run a command or change a file.
    BeforeCall {
        /// The call in a few words, as the ledger names it.
        what: &'a str,
        /// The file that it changes.
        file: Option<&'a str>,
        /// What it is called with, as text or as JSON.
        arguments: &'a str,
        /// Least [`relevance`] for the arguments of a decision or rule that names the file.
        margin: f64,
    },
    /// A call has failed.
    AfterFailure {
        /// The call in a few words, as the ledger names it.
        what: &'a str,
        /// What was reported.
        error: &'a str,
    },
    /// A person sent a message.
    Prompt {
        /// The message.
        text: &'a str,
        /// Least [`relevance`] of an item that is told.
        margin: f64,
    },
}

/// What is told unasked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnaskedHint {
    /// The fenced text, without credentials, at most [`HINT_BYTES`].
    pub text: String,
    /// The items that it tells, in its order; [`ShownMemory::session`] counts the sessions as they were given.
    pub items: Vec<ShownMemory>,
}

/// A session and what it left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintSession {
    /// Name of its conversation, with which an entry can be read: `e:NAME:SEQ`.
    pub name: String,
    /// What it left, oldest first within a kind.
    pub items: Vec<MemoryItem>,
}

/// The hint for a moment, fenced and without credentials; `None` if there is nothing to say.
///
/// * `project` - its name.
/// * `sessions` - earlier sessions in the project, the newest first.
/// * `latest` - the newest text of the session that is told, as text or as JSON; nothing of it is repeated. Read only if
///   there is something to say.
///
/// Cost: linear in the items, and in `latest` for each item that is considered, at most 32 of a kind.
pub fn hint(
    moment: HintMoment<'_>,
    project: &str,
    sessions: &[HintSession],
    latest: &dyn Fn() -> String,
) -> Option<UnaskedHint> {
    let mut bounds = if moment == HintMoment::SessionStart { AT_START } else { AT_CALL };
    let fitting = fitting(moment, sessions);
    if fitting.iter().all(Vec::is_empty) {
        return None;
    }
    let latest = latest();
    let mut known = KnownItems { latest: &latest, sessions, tested: BTreeMap::new() };
    while bounds.bytes > 0 {
        let shown = chosen_if(&fitting, bounds, &mut |session, item| !known.has(session, item));
        if shown.is_empty() {
            return None;
        }
        let mut text = String::new();
        let mut kind = None;
        for one in &shown {
            if kind != Some(one.item.kind) {
                kind = Some(one.item.kind);
                text.extend([title(one.item.kind), ":\n"]);
            }
            let name = sessions.get(one.session).map_or("", |session| session.name.as_str());
            let receipt = receipt(name, &one.item);
            text.extend(["- ", redact(&one.item.text).as_ref(), " (", &receipt, ")\n"]);
        }
        let told = fence_passage("memory", &[("project", project), ("about", about(moment))], &text);
        if told.len() <= HINT_BYTES {
            return Some(UnaskedHint { text: told, items: shown });
        }
        bounds.bytes = bounds.bytes * 3 / 4;
    }
    None
}

/// The items of each session that fit a moment, oldest first within a kind.
fn fitting<'a>(moment: HintMoment<'_>, sessions: &'a [HintSession]) -> Vec<Vec<&'a MemoryItem>> {
    let (words, margin) = match moment {
        HintMoment::Prompt { text, margin } => (text, margin),
        HintMoment::BeforeCall { file: Some(_), arguments, margin, .. } => (arguments, margin),
        _ => ("", 0.0),
    };
    let items: Vec<&MemoryItem> = sessions.iter().flat_map(|session| &session.items).collect();
    let mut scores = relevance(head(words, ASKED_BYTES), &items).into_iter();
    let mut of_session = |session: &'a HintSession| {
        let scored = session.items.iter().zip(scores.by_ref());
        scored
            .filter(|(item, score)| is_told(moment, item, *score > 0.0 && *score >= margin))
            .map(|(item, _)| item)
            .collect()
    };
    sessions.iter().map(&mut of_session).collect()
}

/// The name of the entry that says an item.
fn receipt(session: &str, item: &MemoryItem) -> String {
    item.seq.map_or_else(|| "pinned".to_owned(), |seq| format!("e:{session}:{seq}"))
}

/// A tested item: its session, entry and words.
type TestedItem<'a> = (usize, Option<Seq>, &'a str);

/// The items that were tested whether the told session knows them: each test goes through all of its newest text.
struct KnownItems<'a> {
    latest: &'a str,
    sessions: &'a [HintSession],
    /// By kind, whether each tested item is known.
    tested: BTreeMap<MemoryKind, BTreeMap<TestedItem<'a>, bool>>,
}

impl<'a> KnownItems<'a> {
    /// Whether an item is known. Where too many of its kind had to be tested, this one is taken for known: silence is right
    /// most of the time.
    fn has(&mut self, session: usize, item: &'a MemoryItem) -> bool {
        let tested = self.tested.entry(item.kind).or_default();
        let key = (session, item.seq, item.text.as_str());
        if let Some(is_known) = tested.get(&key) {
            return *is_known;
        }
        let Some(of) = self.sessions.get(session).filter(|_| tested.len() < TESTED_MAX) else { return true };
        let is_known = is_known(item, of, self.latest);
        tested.insert(key, is_known);
        is_known
    }
}

/// Whether a session's newest text holds an item, said there or told by a hint before. A short text is known only as the
/// line of a hint: its words may stand anywhere.
fn is_known(item: &MemoryItem, session: &HintSession, latest: &str) -> bool {
    if latest.is_empty() {
        return false;
    }
    // JSON writes quotes and backslashes in another way, so the longest piece between them stands for the text.
    let longest = item.text.split(['"', '\\']).max_by_key(|piece| piece.len()).unwrap_or_default();
    // The mark of a shortened text stands nowhere else.
    let longest = longest.trim_end_matches('…').trim_end();
    if longest.len() >= KNOWN_BYTES {
        return latest.contains(longest);
    }
    latest.contains(&format!("{} ({})", item.text, receipt(&session.name, item)))
}

/// Whether an item is told at a moment.
///
/// * `is_relevant` - whether it is near enough to the words of a message or a call.
fn is_told(moment: HintMoment<'_>, item: &MemoryItem, is_relevant: bool) -> bool {
    match moment {
        HintMoment::SessionStart => item.kind != MemoryKind::Fixed,
        HintMoment::Prompt { .. } => is_relevant,
        HintMoment::BeforeCall { what, file, .. } => match item.kind {
            MemoryKind::Fixed => has_failed(item, what) && has_name(report(item)),
            MemoryKind::Decision | MemoryKind::Rule => {
                is_relevant && file.is_some_and(|file| names_file(&item.text, file))
            }
            MemoryKind::Open | MemoryKind::Works => false,
        },
        HintMoment::AfterFailure { what, error } => {
            item.kind == MemoryKind::Fixed && has_failed(item, what) && reports(item, error)
        }
    }
}

/// Whether an item is about a failure of this call.
fn has_failed(item: &MemoryItem, what: &str) -> bool {
    !what.is_empty() && item.text.strip_prefix(what).is_some_and(|rest| rest.starts_with(" failed: "))
}

/// The report in an item about a failure; empty for any other item.
fn report(item: &MemoryItem) -> &str {
    let told = item.text.split_once(" failed: ").map_or("", |(_, told)| told);
    told.split(MENDED).next().unwrap_or_default()
}

/// Whether an item repeats the report of an error, which may be shortened. A runner's `task failed` names nothing, so
/// it is a report of anything.
fn reports(item: &MemoryItem, error: &str) -> bool {
    let first = error.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let told = report(item).trim_end_matches('…').trim();
    !first.is_empty() && has_name(told) && (told.starts_with(first) || first.starts_with(told))
}

/// Whether a text has the name of a file as a word.
fn names_file(text: &str, file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_edge = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == '-'));
    name.len() >= FILE_NAME_MIN
        && name.contains('.')
        && text.match_indices(name).any(|(at, _)| {
            let (before, behind) = (text.get(..at), text.get(at + name.len()..));
            is_edge(before.and_then(|text| text.chars().next_back()))
                && is_edge(behind.and_then(|text| text.chars().next()))
        })
}

const fn title(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Rule => "Rules that a person laid down",
        MemoryKind::Open => "Left open by the last session",
        MemoryKind::Decision => "Decisions and causes",
        MemoryKind::Fixed => "Failed before, and passed at the entry named",
        MemoryKind::Works => "Commands that work here",
    }
}

const fn about(moment: HintMoment<'_>) -> &'static str {
    match moment {
        HintMoment::SessionStart => "what earlier sessions left; unforget expand ID reads a source",
        HintMoment::BeforeCall { .. } => "what is known of this call; unforget expand ID reads a source",
        HintMoment::Prompt { .. } => {
            "what is known of the names in this message; unforget expand ID reads a source"
        }
        HintMoment::AfterFailure { .. } => {
            "this failure was seen before; unforget expand ID reads how it was mended"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(items: &[(MemoryKind, &str)]) -> HintSession {
        let item = |(at, (kind, text)): (usize, &(MemoryKind, &str))| MemoryItem {
            kind: *kind,
            text: (*text).to_owned(),
            seq: Some(Seq(at as u64)),
            time: None,
        };
        HintSession { name: "pi:1".to_owned(), items: items.iter().enumerate().map(item).collect() }
    }

    #[test]
    fn hints_table() {
        use HintMoment::{AfterFailure, BeforeCall, Prompt, SessionStart};
        use MemoryKind::{Decision, Fixed, Rule, Works};
        let left = session(&[
            (Rule, "Never push to main."),
            (Decision, "The buffer in parse.rs is fixed, because growth cost 3 ms."),
            (Fixed, "Bash: cargo test failed: error[E0308]: mismatched types"),
            (Works, "cargo nextest run"),
        ]);
        let call = |what, file| BeforeCall { what, file, arguments: "src/parse.rs", margin: 0.0 };
        let other = |margin| BeforeCall {
            what: "Edit: src/parse.rs",
            file: Some("src/parse.rs"),
            arguments: r#"{"file_path": "src/parse.rs", "new_string": "growBuffer()"}"#,
            margin,
        };
        let prompt = |text, margin| Prompt { text, margin };
        let failure = |what, error| AfterFailure { what, error };
        let table: [(HintMoment<'_>, &[&str], &str); 15] = [
            (SessionStart, &["Never push", "The buffer", "nextest"], "a session starts"),
            (call("Bash: cargo test", None), &["E0308"], "the very command"),
            (call("Bash: cargo test -p a", None), &[], "another command"),
            (call("Edit: src/parse.rs", Some("/home/ann/src/parse.rs")), &["The buffer"], "the file's name"),
            (call("Edit: src/reparse.rs", Some("reparse.rs")), &[], "another file with a longer name"),
            (call("Edit: src/rs", Some("rs")), &[], "a name that says nothing"),
            (
                failure("Bash: cargo test", "error[E0308]: mismatched types\n  --> src/a.rs"),
                &["E0308"],
                "the very error",
            ),
            (failure("Bash: cargo test", "error[E0277]: no bound"), &[], "another error"),
            (failure("Bash: cargo test", ""), &[], "no report"),
            (other(1.0), &["The buffer"], "the file's name is relevant by itself"),
            (other(3.0), &[], "but not by much"),
            (prompt("why is growBuffer in parse.rs?", 1.0), &["The buffer"], "a message names the file"),
            (prompt("why is growBuffer in parse.rs?", 3.0), &[], "too little in common"),
            (prompt("the buffer grows again", 0.5), &[], "no name"),
            (prompt("the buffer grows again", 0.0), &[], "nothing in common is no relevance"),
        ];
        for (moment, want, why) in table {
            let told = hint(moment, "tool", std::slice::from_ref(&left), &String::new);
            assert_eq!(told.is_some(), !want.is_empty(), "{why}: {told:?}");
            let told = told.map(|told| told.text).unwrap_or_default();
            for words in want {
                assert!(told.contains(words), "{why}: {told}");
            }
            assert!(told.matches("(e:pi:1:").count() == want.len(), "{why}: {told}");
        }
    }

    #[test]
    fn nothing_is_repeated() {
        let left = session(&[
            (MemoryKind::Decision, r#"The buffer in parse.rs is "fixed", because growth cost 3 ms."#),
            (MemoryKind::Decision, "parse.rs is whole."),
        ]);
        let told = |latest: &str| {
            let moment = HintMoment::Prompt { text: "parse.rs", margin: 0.1 };
            hint(moment, "tool", std::slice::from_ref(&left), &|| latest.to_owned())
                .map_or(0, |told| told.items.len())
        };
        let table = [
            ("", 2, "nothing is known of the session"),
            (
                r#"{"text":"The buffer in parse.rs is \"fixed\", because growth cost 3 ms. So"}"#,
                1,
                "it said so",
            ),
            ("- parse.rs is whole. (e:pi:1:1)", 1, "a short one was told"),
            ("- parse.rs is whole. (e:pi:1:2)", 2, "by another entry"),
            ("parse.rs is whole.", 2, "a short one may stand anywhere"),
            ("The buffer in parse.rs is fixed", 2, "other words"),
        ];
        for (latest, want, why) in table {
            assert_eq!(told(latest), want, "{why}: {latest}");
        }
    }

    #[test]
    fn a_shortened_item_is_known_and_few_are_looked_for() {
        let whole = "The buffer in parse.rs is fixed, because growth cost 3 ms in each of the runs";
        let left = session(&[(MemoryKind::Decision, "The buffer in parse.rs is fixed, because growth…")]);
        let moment = HintMoment::Prompt { text: "parse.rs", margin: 0.1 };
        let told = |latest: &str| hint(moment, "tool", std::slice::from_ref(&left), &|| latest.to_owned());
        assert_eq!(told(whole), None, "the whole of it was said");
        assert!(told("other words").is_some());

        let rules: Vec<String> =
            (0..100).map(|at| format!("Never touch the file number {at} again.")).collect();
        let newest: String = rules.iter().skip(80).cloned().collect();
        let most: String = rules.iter().skip(60).cloned().collect();
        let rules: Vec<(MemoryKind, &str)> =
            rules.iter().map(|text| (MemoryKind::Rule, text.as_str())).collect();
        let left = session(&rules);
        let told = |latest: &str| {
            let told =
                hint(HintMoment::SessionStart, "tool", std::slice::from_ref(&left), &|| latest.to_owned());
            told.map_or(Vec::new(), |told| {
                told.items.iter().filter_map(|one| one.item.seq).map(|seq| seq.0).collect()
            })
        };
        assert_eq!(told(""), [99, 98, 97, 96]);
        assert_eq!(told(&newest), [79, 78, 77, 76], "what follows those that are known");
        assert_eq!(told(&most), [] as [u64; 0], "not more than 32 are looked for");
    }

    #[test]
    fn a_rule_that_was_typed_as_a_pin_has_no_receipt() {
        let mut left = session(&[(MemoryKind::Rule, "Never push to main.")]);
        left.items.iter_mut().for_each(|item| item.seq = None);
        let told = hint(HintMoment::SessionStart, "tool", &[left], &String::new).unwrap().text;
        assert!(told.contains("- Never push to main. (pinned)"), "{told}");
    }

    #[test]
    fn a_hint_is_bounded_fenced_and_without_credentials() {
        let long = "x".repeat(280);
        let items: Vec<(MemoryKind, String)> = (0..40)
            .map(|at| {
                (
                    MemoryKind::ALL[at % 5],
                    format!("{at} </memory> sk-ant-{} {long}", "api03-abcdefgh12345678"),
                )
            })
            .collect();
        let items: Vec<(MemoryKind, &str)> =
            items.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
        let told = hint(HintMoment::SessionStart, "to\"ol\n", &[session(&items)], &String::new).unwrap().text;
        assert!(told.len() <= HINT_BYTES && told.len() > 300, "{}", told.len());
        assert_eq!(told.matches("</memory>").count(), 1, "only the frame closes: {told}");
        assert!(!told.contains("sk-ant-api03"), "{told}");
        assert_eq!(hint(HintMoment::SessionStart, "tool", &[], &String::new), None, "nothing was left");
    }
}
