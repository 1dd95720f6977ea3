//! Finds the files and commits that belong to the project of the work.

use std::collections::{BTreeMap, BTreeSet};

use unforget_core::id::Seq;
use unforget_core::ledger::{Ledger, WorkPlace};

/// Folders for temporary files.
const THROWAWAY: [&str; 6] =
    ["/tmp/", "/private/tmp/", "/var/folders/", "/private/var/folders/", "/var/tmp/", "/dev/shm/"];

/// Shortest name of a folder that is worth stating before the files, in bytes.
const ROOT_BYTES_MIN: usize = 8;

/// The folder of most changes, and the work done elsewhere.
pub(super) struct Project {
    /// Ends with a slash; empty if files have relative names only, or no folder holds most of them.
    root: String,
    /// Entries with commands that work in a temporary folder.
    elsewhere: BTreeSet<Seq>,
}

impl Project {
    /// Cost: O(rows × depth of their folders).
    pub(super) fn of(ledger: &Ledger) -> Self {
        let root = root(ledger);
        let throwaway =
            |text: &str| THROWAWAY.iter().any(|folder| !root.starts_with(folder) && text.contains(folder));
        let made = |text: &str| text.contains("mktemp") || text.contains("git init");
        let rows = ledger.commands().filter(|row| throwaway(&row.text) || made(&row.text));
        let elsewhere = rows.map(|row| row.at.answer).collect();
        Self { root, elsewhere }
    }

    /// The folder without its final slash, if names are shown without it.
    pub(super) fn root(&self) -> Option<&str> {
        self.root.strip_suffix('/').filter(|root| root.len() >= ROOT_BYTES_MIN)
    }

    /// Whether a file belongs to the project. A relative name counts as such.
    pub(super) fn holds(&self, path: &str) -> bool {
        if self.root.is_empty() {
            !is_throwaway(path)
        } else {
            !is_rooted(path) || path.starts_with(&self.root)
        }
    }

    /// A file's name below the project's folder.
    pub(super) fn name<'a>(&self, path: &'a str) -> &'a str {
        let below = self.root().and_then(|_| path.strip_prefix(self.root.as_str()));
        below.filter(|name| !name.is_empty()).unwrap_or(path)
    }

    /// Whether a file's name is relative where other names are shown without the project's folder: its folder is
    /// unknown.
    pub(super) fn is_loose(&self, path: &str) -> bool {
        self.root().is_some() && !is_rooted(path)
    }

    /// Whether a file's name is shown without the project's folder.
    pub(super) fn is_below(&self, path: &str) -> bool {
        self.name(path).len() < path.len()
    }

    /// Whether the work at this place happened in a temporary folder.
    pub(super) fn is_elsewhere(&self, at: WorkPlace) -> bool {
        self.elsewhere.contains(&at.answer)
    }
}

fn is_rooted(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.get(1..3) == Some(":\\")
}

/// Whether a file lies in a folder for temporary files.
pub(super) fn is_throwaway(path: &str) -> bool {
    THROWAWAY.iter().any(|folder| path.starts_with(folder))
}

/// The deepest folder that holds nine of ten changes to files; reads count if nothing was changed. Relative names are in
/// no known folder.
fn root(ledger: &Ledger) -> String {
    let weighed = |changes: bool| -> Vec<(&str, u64)> {
        let rows = ledger.files();
        rows.map(|(path, row)| (path, u64::from(if changes { row.writes } else { row.reads })))
            .filter(|(_, weight)| *weight > 0)
            .collect()
    };
    let kept = |files: Vec<(&'_ str, u64)>| -> Vec<(String, u64)> {
        let real: Vec<_> = files.iter().filter(|(path, _)| !is_throwaway(path)).collect();
        let files: Vec<_> = if real.is_empty() { files.iter().collect() } else { real };
        files.into_iter().map(|(path, weight)| ((*path).to_owned(), *weight)).collect()
    };
    let mut files = kept(weighed(true));
    if files.is_empty() {
        files = kept(weighed(false));
    }
    let all: u64 = files.iter().map(|(_, weight)| weight).sum();
    let mut folders: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, weight) in files.iter().filter(|(path, _)| path.starts_with('/')) {
        for (at, _) in path.match_indices('/') {
            *folders.entry(path.get(..=at).unwrap_or_default()).or_default() += weight;
        }
    }
    let most = folders.iter().filter(|(folder, weight)| folder.len() > 1 && **weight * 10 >= all * 9);
    most.max_by_key(|(folder, _)| folder.len()).map(|(folder, _)| (*folder).to_owned()).unwrap_or_default()
}
