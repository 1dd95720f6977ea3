//! Checks that listed migrations never change.

use std::collections::BTreeMap;

use super::Problem;
use crate::workspace::File;

/// Folders of migrations, and their lists.
const FOLDERS: [(&str, &str); 2] = [
    ("crates/unforget-store/migrations/", "xtask/migrations.txt"),
    ("crates/unforget-store-pg/migrations/", "xtask/migrations-pg.txt"),
];

/// Checks that every migration is listed with its hash, and that the numbers have no gap.
///
/// A list has a line `name hash` per migration. A new one is added by hand, in its commit.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    FOLDERS.iter().flat_map(|(folder, list)| check_folder(files, folder, list)).collect()
}

fn check_folder(files: &[File], folder: &str, list: &str) -> Vec<Problem> {
    let listed: BTreeMap<&str, &str> = files
        .iter()
        .find(|file| file.path == list)
        .map(|file| file.text.lines().filter_map(|line| line.split_once(' ')).collect())
        .unwrap_or_default();
    let mut problems = Vec::new();
    let mut number = 0;
    let mut seen = 0;
    for file in files {
        let Some(name) = file.path.strip_prefix(folder).filter(|_| file.is("sql")) else {
            continue;
        };
        number += 1;
        let (hash, digits) =
            (hash(&file.text), name.chars().take_while(char::is_ascii_digit).collect::<String>());
        if digits.parse() != Ok(number) {
            problems.push(format!("{}: the numbers of migrations have a gap", file.path));
        }
        match listed.get(name) {
            Some(known) if *known == hash => seen += 1,
            Some(_) => problems.push(format!("{}: changed; a migration is never edited, add one", file.path)),
            None => problems.push(format!("{}: not listed; add `{name} {hash}` to {list}", file.path)),
        }
    }
    if seen < listed.len() && problems.is_empty() {
        problems.push(format!("{list}: lists a migration that is gone"));
    }
    problems
}

/// FNV-1a over the text: enough to notice an edit, and needs no crate.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::workspace;

    fn file(name: &str, text: &str) -> File {
        File { path: format!("crates/unforget-store/migrations/{name}"), text: text.to_string() }
    }

    fn list(text: &str) -> File {
        File { path: "xtask/migrations.txt".to_string(), text: text.to_string() }
    }

    #[test]
    fn the_migrations_are_unchanged() {
        assert_eq!(check(&workspace::files().unwrap()), Vec::<Problem>::new());
    }

    #[test]
    fn edits_gaps_and_losses_are_found() {
        let line = format!("0001_a.sql {}\n", hash("create"));
        let table = [
            (vec![file("0001_a.sql", "create"), list(&line)], 0, "as listed"),
            (vec![file("0001_a.sql", "alter"), list(&line)], 1, "edited"),
            (vec![file("0001_a.sql", "create")], 1, "not listed"),
            (vec![list(&line)], 1, "gone"),
            (vec![file("0001_a.sql", "create"), file("0003_b.sql", ""), list(&line)], 2, "gap, not listed"),
        ];
        for (files, want, why) in table {
            assert_eq!(check(&files).len(), want, "{why}");
        }
    }
}
