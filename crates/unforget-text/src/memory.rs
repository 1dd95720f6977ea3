//! What a session leaves to its project: rules, decisions with their reasons, open items, commands that work, failures
//! and what fixed them.
//!
//! A session is folded entry by entry, so that a longer history costs its new entries only. What a project shows of its
//! sessions is chosen by [`chosen`]: newest first, each thing once, within bounds.

mod chosen;
mod hint;
mod relevance;

use std::collections::BTreeSet;

use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::ledger::{CommandRow, Failure, FileRow, Ledger, Outcome, WorkPlace};

use crate::clip::{clip, one_line};
use crate::discourse::{Class, answer, open_items};
use crate::proposals::{ProposalKind, proposals};
use crate::work::runs_commands;

pub use chosen::{MemoryBounds, ShownMemory, chosen};
pub use hint::{HINT_BYTES, HintMoment, HintSession, UnaskedHint, hint};
pub use relevance::relevance;

/// Most items of one kind that a session keeps; the oldest go first.
const KIND_MAX: usize = 24;

/// Most characters of an item.
const ITEM_CHARS: usize = 280;

/// What stands between a failure and the files that were changed before it passed.
const MENDED: &str = "; passed after a change of ";

/// Most files that are named with a failure that passed later.
const MENDED_MAX: usize = 3;

/// Runs after which a command is one that people use here.
const RUNS_MIN: u32 = 3;

/// The kind of an item, in the order in which a project shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryKind {
    /// A rule that a person laid down.
    Rule,
    /// Work that was left open.
    Open,
    /// A decision, or the cause of something, with its reason.
    Decision,
    /// A command that failed, and what made it pass.
    Fixed,
    /// A command that works.
    Works,
}

impl MemoryKind {
    /// All kinds, in order.
    pub const ALL: [Self; 5] = [Self::Rule, Self::Open, Self::Decision, Self::Fixed, Self::Works];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Open => "open",
            Self::Decision => "decision",
            Self::Fixed => "fixed",
            Self::Works => "works",
        }
    }

    /// The kind with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Something that a session leaves to its project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryItem {
    /// Its kind.
    pub kind: MemoryKind,
    /// The words on one line, at most 280 characters; verbatim except for shortening.
    pub text: String,
    /// The entry that says it; `None` if a person pinned the words without one.
    pub seq: Option<Seq>,
    /// The host's time of the entry.
    pub time: Option<Timestamp>,
}

/// A text that may turn out to be the last of its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewestText {
    /// Its words.
    pub text: String,
    /// Its entry.
    pub seq: Seq,
    /// The host's time.
    pub time: Option<Timestamp>,
}

/// The memory of a session, folded up to some entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionMemory {
    /// Rules and decisions of the turns that have ended, oldest first.
    pub items: Vec<MemoryItem>,
    /// The newest text of the model in the turn that has not ended.
    pub last: Option<NewestText>,
}

impl SessionMemory {
    /// Folds the next entry of the session's path in.
    ///
    /// Cost: linear in the text of the entry.
    pub fn take(&mut self, seq: Seq, time: Option<Timestamp>, entry: &Entry) {
        match entry.origin {
            Origin::Human if entry.role == Role::User => {
                if let Some(last) = self.last.take() {
                    self.end_turn(&last);
                }
                let of_person = proposals(entry).into_iter();
                let rules = of_person
                    .filter(|rule| matches!(rule.kind, ProposalKind::Prohibition | ProposalKind::Demand));
                for rule in rules {
                    self.add(MemoryKind::Rule, rule.text, seq, time);
                }
            }
            Origin::Model => {
                let mut texts = entry.parts.iter().rev().filter_map(|part| match part {
                    Part::Text(text) if !text.trim().is_empty() => Some(text),
                    _ => None,
                });
                if let Some(text) = texts.next() {
                    self.last = Some(NewestText { text: text.clone(), seq, time });
                }
            }
            _ => {}
        }
    }

    /// All items: of the turns that ended, of the newest text, and of the work with tools. Oldest first within a kind.
    ///
    /// * `ledger` - the work of the session's path.
    /// * `time` - of an entry; asked at most 24 times for each kind of work.
    pub fn items(&self, ledger: &Ledger, time: impl Fn(Seq) -> Option<Timestamp>) -> Vec<MemoryItem> {
        let mut whole = self.clone();
        if let Some(last) = whole.last.take() {
            for item in open_items(&last.text) {
                whole.add(MemoryKind::Open, &item, last.seq, last.time);
            }
            whole.end_turn(&last);
        }
        let files: BTreeSet<&str> = ledger.files().map(|(path, _)| path).collect();
        // A change of a file fails for its own form; nobody who changes the file later is concerned.
        // A command may be nothing but the path of a file: a script that was written before.
        let is_change = |what: &str| {
            what.split_once(' ').is_some_and(|(tool, aim)| files.contains(aim) && !runs_commands(tool))
        };
        let told = ledger.cleared().iter().filter(|failure| !failure.told.trim().is_empty());
        let told = told.filter(|failure| !is_change(&failure.what));
        let fixed: Vec<_> = told.filter_map(|failure| Some((failure, failure.cleared?))).collect();
        for (failure, by) in fixed.iter().skip(fixed.len().saturating_sub(KIND_MAX)) {
            let text = format!("{} failed: {}{}", failure.what, failure.told, mended(failure, by, ledger));
            whole.add(MemoryKind::Fixed, &text, by.answer, time(by.answer));
        }
        let mut works: Vec<&CommandRow> = ledger.commands().filter(|row| is_proven(row)).collect();
        works.sort_by_key(|row| row.at);
        for row in works.iter().skip(works.len().saturating_sub(KIND_MAX)) {
            whole.add(MemoryKind::Works, &row.text, row.at.answer, time(row.at.answer));
        }
        whole.items
    }

    fn end_turn(&mut self, last: &NewestText) {
        for point in answer(&last.text).points {
            if matches!(point.class, Class::Cause | Class::Choice) {
                self.add(MemoryKind::Decision, &point.text, last.seq, last.time);
            }
        }
    }

    /// Adds an item; one with equal words gives way to it.
    fn add(&mut self, kind: MemoryKind, text: &str, seq: Seq, time: Option<Timestamp>) {
        let text = clip(&one_line(text), ITEM_CHARS).into_owned();
        self.items.retain(|item| item.kind != kind || item.text != text);
        self.items.push(MemoryItem { kind, text, seq: Some(seq), time });
        let of_kind = |item: &MemoryItem| item.kind == kind;
        if self.items.iter().filter(|item| of_kind(item)).count() > KIND_MAX
            && let Some(oldest) = self.items.iter().position(of_kind)
        {
            self.items.remove(oldest);
        }
    }
}

/// What was changed between a failure and the success after it, as far as it was not changed again later.
fn mended(failure: &Failure, by: &WorkPlace, ledger: &Ledger) -> String {
    let is_between = |row: &FileRow| {
        row.put.is_some_and(|put| put.at.call >= failure.last.call && put.at.answer <= by.answer)
    };
    let changed = ledger.files().filter(|(_, row)| is_between(row)).map(|(path, _)| path);
    let names: Vec<&str> =
        changed.map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path)).take(MENDED_MAX).collect();
    if names.is_empty() { String::new() } else { format!("{MENDED}{}", names.join(", ")) }
}

/// Whether a command was used often enough, and passed at last, to be told to others.
fn is_proven(row: &CommandRow) -> bool {
    row.outcome == Outcome::Done && (row.is_test || row.runs >= RUNS_MIN)
}

#[cfg(test)]
mod tests {
    use unforget_core::entry::{ToolCall, ToolResult};

    use super::*;

    fn said(origin: Origin, role: Role, text: &str) -> Entry {
        Entry { role, parts: vec![Part::Text(text.to_owned())], ..Entry::bare(origin) }
    }

    fn folded(entries: &[Entry]) -> Vec<(MemoryKind, String)> {
        let mut memory = SessionMemory::default();
        for (at, entry) in entries.iter().enumerate() {
            memory.take(Seq(at as u64), None, entry);
        }
        let items = memory.items(&Ledger::default(), |_| None);
        items.into_iter().map(|item| (item.kind, item.text)).collect()
    }

    #[test]
    fn a_session_leaves_rules_decisions_and_open_items() {
        let entries = [
            said(Origin::Human, Role::User, "Fix the parser. Never push to main."),
            said(Origin::Model, Role::Assistant, "Let me look at the tests, because they fail."),
            said(
                Origin::Model,
                Role::Assistant,
                "I fixed the parser. The tests failed because the fixture had no newline.",
            ),
            said(Origin::Human, Role::User, "Good. Now the printer."),
            said(
                Origin::Model,
                Role::Assistant,
                "The printer works. We chose two spaces instead of tabs because diffs stay small.\n\nA test for wide lines is still missing.",
            ),
        ];
        let found = folded(&entries);
        let kinds: Vec<MemoryKind> = found.iter().map(|(kind, _)| *kind).collect();
        assert!(kinds.contains(&MemoryKind::Rule), "{found:?}");
        let decisions: Vec<&str> = found
            .iter()
            .filter(|(kind, _)| *kind == MemoryKind::Decision)
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!(decisions.len(), 2, "what was said on the way is none: {found:?}");
        assert!(decisions[0].contains("no newline") && decisions[1].contains("two spaces"), "{decisions:?}");
        let open: Vec<&String> =
            found.iter().filter(|(kind, _)| *kind == MemoryKind::Open).map(|(_, text)| text).collect();
        assert!(open.len() == 1 && open[0].contains("wide lines"), "of the last answer only: {found:?}");
    }

    #[test]
    fn a_command_that_is_a_written_file_leaves_its_failure() {
        let call = |name: &str, arguments: &str| {
            Part::ToolCall(ToolCall {
                id: "c".to_owned(),
                name: name.to_owned(),
                arguments: arguments.to_owned(),
                complete: true,
                raw: None,
            })
        };
        let result = |said: &str, is_error: bool| {
            Part::ToolResult(ToolResult {
                call_id: "c".to_owned(),
                name: String::new(),
                content: vec![Part::Text(said.to_owned())],
                is_error,
                exit_code: None,
            })
        };
        let write = r#"{"file_path": "/home/ann/tool/check.sh", "content": "cargo test"}"#;
        let run = r#"{"command": "/home/ann/tool/check.sh"}"#;
        let parts = [
            call("Write", write),
            result("error: the file was not read before", true),
            call("Write", write),
            result("written", false),
            call("Bash", run),
            result("Exit code 2\nerror: no cargo here", true),
            call("Bash", run),
            result("ok", false),
        ];
        let mut ledger = Ledger::default();
        for (at, part) in parts.into_iter().enumerate() {
            let entry = Entry { role: Role::Assistant, parts: vec![part], ..Entry::bare(Origin::Model) };
            ledger.take(Seq(at as u64), &crate::facts(&entry));
        }
        assert_eq!(ledger.cleared().len(), 2, "{:?}", ledger.cleared());
        let items = SessionMemory::default().items(&ledger, |_| None);
        let fixed: Vec<&str> = items
            .iter()
            .filter(|item| item.kind == MemoryKind::Fixed)
            .map(|item| item.text.as_str())
            .collect();
        assert_eq!(fixed, ["Bash /home/ann/tool/check.sh failed: error: no cargo here"]);
    }

    #[test]
    fn rules_said_twice_stand_once_at_the_newest_place_and_are_bounded() {
        let mut memory = SessionMemory::default();
        for at in 0..60_u64 {
            let text = format!("Never touch file number {}.", at % 40);
            memory.take(Seq(at), None, &said(Origin::Human, Role::User, &text));
        }
        let items = memory.items(&Ledger::default(), |_| None);
        assert_eq!(items.len(), KIND_MAX);
        let newest: Vec<u64> = items.iter().map(|item| item.seq.unwrap_or_default().0).collect();
        assert_eq!(newest, (60 - KIND_MAX as u64..60).collect::<Vec<_>>());
    }
}
