//! Which rows of a ledger are wanted.

use std::path::{Component, Path};

use unforget_core::id::Timestamp;

use super::super::time_of;
use crate::args::LedgerArgs;
use crate::failure::{Failure, Outcome};
use crate::json::{LedgerKind, LedgerRow};

/// A filter of rows.
pub(super) struct WantedRows {
    kinds: Vec<LedgerKind>,
    /// The last parts of a path.
    file: Option<Vec<String>>,
    /// In lower case.
    command: Option<String>,
    failed: bool,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl WantedRows {
    /// # Errors
    /// If a time or the path says nothing.
    pub(super) fn of(args: &LedgerArgs) -> Outcome<Self> {
        let file = args.file.as_deref().map(parts);
        if file.as_ref().is_some_and(Vec::is_empty) {
            return Err(Failure::usage("--file names no file", "name it by its path, or by the end of one"));
        }
        let mut kinds = args.kind.clone();
        if kinds.is_empty() {
            kinds.extend(file.as_ref().map(|_| LedgerKind::File));
            kinds.extend(args.command.as_ref().map(|_| LedgerKind::Command));
            kinds.extend((args.failed && args.command.is_none()).then_some(LedgerKind::Failure));
        }
        Ok(Self {
            kinds,
            file,
            command: args.command.as_ref().map(|word| word.to_lowercase()),
            failed: args.failed,
            since: time_of(args.since.as_deref())?,
            until: time_of(args.until.as_deref())?,
        })
    }

    /// Whether rows are chosen by their time.
    pub(super) const fn is_timed(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Whether a row is wanted, whenever it was.
    pub(super) fn takes(&self, row: &LedgerRow) -> bool {
        let is_file = self.file.as_ref().is_none_or(|end| parts(&row.what).ends_with(end));
        let is_command = self.command.as_ref().is_none_or(|word| row.what.to_lowercase().contains(word));
        let has_failed = !self.failed || row.kind == LedgerKind::Failure || row.state == "failed";
        (self.kinds.is_empty() || self.kinds.contains(&row.kind)) && is_file && is_command && has_failed
    }

    /// Whether the time of a row is wanted.
    pub(super) fn takes_time(&self, time: Option<Timestamp>) -> bool {
        self.since.is_none_or(|since| time.is_some_and(|time| time >= since))
            && self.until.is_none_or(|until| time.is_some_and(|time| time < until))
    }
}

/// Keeps the rows with the newest entries, in their order.
pub(super) fn newest(rows: &mut Vec<LedgerRow>, limit: Option<usize>) {
    let Some(limit) = limit else { return };
    let mut ages: Vec<u64> = rows.iter().map(|row| row.last).collect();
    ages.sort_unstable_by_key(|last| std::cmp::Reverse(*last));
    let oldest = limit.checked_sub(1).map(|at| ages.get(at).copied().unwrap_or(0));
    rows.retain(|row| oldest.is_some_and(|oldest| row.last >= oldest));
}

/// The names in a path, without `.`, roots and `..` at the front.
fn parts(path: &str) -> Vec<String> {
    let path = path.replace('\\', "/");
    let names = Path::new(&path).components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_the_end_of_their_path() {
        let table = [
            ("src/main.rs", "/home/ann/tool/src/main.rs", true, "from the root of the project"),
            ("./src/main.rs", "/home/ann/tool/src/main.rs", true, "as a shell completes it"),
            ("main.rs", "src/main.rs", true, "its name"),
            ("ain.rs", "src/main.rs", false, "no part of a name"),
            ("/home/ann/tool/src/main.rs", "src/main.rs", false, "more than the ledger knows"),
            ("src/main.rs", r"C:\tool\src\main.rs", true, "on Windows"),
        ];
        for (wanted, stored, want, why) in table {
            assert_eq!(parts(stored).ends_with(&parts(wanted)), want, "{why}");
        }
    }
}
