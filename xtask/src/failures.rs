//! `docs/failures.md` and the tests named there.
//!
//! A test covers a failure if its name begins with the failure's id: `f094_torn_line_is_kept`. The last column of the
//! table lists those tests and is filled by this module. Everything else in the table is written by hand.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, ensure};

use crate::workspace::{self, File};

const PATH: &str = "docs/failures.md";

/// Fills in the tests.
pub(crate) fn write() -> anyhow::Result<()> {
    let files = workspace::files()?;
    let (old, new) = both(&files)?;
    if old != new {
        std::fs::write(workspace::root().join(PATH), &new).with_context(|| format!("writing {PATH}"))?;
    }
    println!("{PATH}: {} tests named", new.matches("`f").count());
    Ok(())
}

/// Reports the changes that `write` would make and the problems that it cannot mend.
pub(crate) fn check() -> anyhow::Result<()> {
    let (old, new) = both(&workspace::files()?)?;
    ensure!(old == new, "{PATH} is not current: run `cargo xtask failures`");
    Ok(())
}

/// The present table and the correct one.
///
/// # Errors
/// If a test names a failure that is missing from the table.
fn both(files: &[File]) -> anyhow::Result<(String, String)> {
    let old = files.iter().find(|file| file.path == PATH).with_context(|| format!("{PATH} is missing"))?;
    let tests = tests(files);
    let new = filled(&old.text, &tests);
    let known: BTreeSet<&str> = old.text.lines().filter_map(id_of_row).collect();
    for (id, names) in &tests {
        ensure!(known.contains(id.as_str()), "{names:?} name {id}, which {PATH} does not have");
    }
    Ok((old.text.clone(), new))
}

/// Tests by failure id, `F094`.
fn tests(files: &[File]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let code = files.iter().filter(|file| file.is("rs") && file.path.starts_with("crates/"));
    for line in code.flat_map(|file| file.text.lines()) {
        let line = line.trim_start();
        let Some(rest) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn f") else { continue };
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
        if digits.len() == 3 && name.get(3..4) == Some("_") {
            found.entry(format!("F{digits}")).or_default().insert(format!("f{name}"));
        }
    }
    found
}

fn id_of_row(line: &str) -> Option<&str> {
    line.strip_prefix("| ")?.split(' ').next().filter(|id| id.len() == 4 && id.starts_with('F'))
}

/// The text with the last column of every row set to the tests of its id. A row without tests keeps its text, unless
/// that lists removed tests.
fn filled(text: &str, tests: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match (id_of_row(line), line.strip_suffix(" |").and_then(|row| row.rsplit_once(" | "))) {
            (Some(id), Some((head, last))) => {
                let named = tests.get(id).map(|names| {
                    let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                    list.join(", ")
                });
                let gone = if last.starts_with("`f") { "to do" } else { last };
                for piece in [head, " | ", named.as_deref().unwrap_or(gone), " |"] {
                    out.push_str(piece);
                }
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn rows_get_their_tests_and_lose_those_that_are_gone() {
        let table = "| id | what | test |\n|---|---|---|\n| F001 | a | to do |\n| F002 | b | `f002_gone` |\n| F003 | c | planned: issue 5 |\n";
        let file =
            File { path: "crates/x/src/a.rs".into(), text: "    fn f001_two() {\nfn f001_one() {".into() };
        let want = "| id | what | test |\n|---|---|---|\n| F001 | a | `f001_one`, `f001_two` |\n| F002 | b | to do |\n| F003 | c | planned: issue 5 |\n";
        assert_eq!(filled(table, &tests(&[file])), want);
    }

    #[test]
    fn the_table_is_current() {
        check().unwrap();
    }

    #[test]
    fn the_table_has_every_failure_once() {
        let text = std::fs::read_to_string(workspace::root().join(PATH)).unwrap();
        let ids: Vec<&str> = text.lines().filter_map(id_of_row).collect();
        let want: Vec<String> = (1..=118).map(|number| format!("F{number:03}")).collect();
        assert_eq!(ids, want);
    }
}
