//! The campaign that stays: kills, lost logs, damage of files and of rows, with other random numbers in every round.
//!
//! It drives tests of the store that take a seed and numbers of attempts from the environment, and adds up what they
//! print. A round that fails is named with its seed, by which it can be run again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};

use crate::workspace;

/// The package whose tests are driven.
const STORE: &str = "unforget-store";

/// The tests of a round.
const TESTS: [&str; 6] = [
    "killed_at_any_moment_nothing_acknowledged_is_lost",
    "a_lost_end_of_the_log_is_named",
    "a_changed_bit_of_a_derived_row_is_named_and_nobody_fails_for_it",
    "a_changed_byte_of_the_file_is_never_wrong_content",
    "f088_a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_room",
    "sqlite_equals_memory",
];

/// Attempts of a round, by the variables that the tests read.
const ATTEMPTS: [(&str, &str); 5] = [
    ("UNFORGET_TEST_KILLS", "20"),
    ("UNFORGET_TEST_LOSSES", "20"),
    ("UNFORGET_TEST_FLIPS", "2"),
    ("UNFORGET_TEST_BYTES", "120"),
    ("PROPTEST_CASES", "16"),
];

/// Begins a line that counts attempts: `torture: NUMBER WHAT`.
const MARK: &str = "torture: ";

/// Runs rounds until the time is over, at least one.
///
/// * `minutes` - how long.
pub(crate) fn run(minutes: &str) -> anyhow::Result<()> {
    let minutes: u64 = minutes.parse().context("--minutes takes a number")?;
    let program = built()?;
    // Any number will do: it is printed, and a round can be run again by it.
    let first = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let (begun, time) = (Instant::now(), Duration::from_secs(60 * minutes));
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut rounds = 0;
    while rounds == 0 || begun.elapsed() < time {
        let seed = (first + rounds).to_string();
        let output = Command::new(&program)
            .args(["--quiet", "--nocapture"])
            .args(TESTS)
            .current_dir(workspace::root().join("crates").join(STORE))
            .env("UNFORGET_TEST_SEED", &seed)
            .envs(ATTEMPTS)
            .stderr(Stdio::inherit())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            print!("{text}");
            bail!(
                "round {rounds} failed; run it again: UNFORGET_TEST_SEED={seed} cargo test -p unforget-store --lib -- {}",
                TESTS.join(" ")
            );
        }
        rounds += 1;
        for (number, what) in text.lines().filter_map(counted) {
            *counts.entry(what.to_owned()).or_default() += number;
        }
    }
    println!("== {rounds} rounds from seed {first} on, {} s", begun.elapsed().as_secs());
    for (what, number) in counts {
        println!("{number:>9} {what}");
    }
    Ok(())
}

/// Builds the tests of the store and returns their program. The whole workspace is named because of its features: what
/// `cargo test --workspace` built is used, not rebuilt.
fn built() -> anyhow::Result<PathBuf> {
    let output = Command::new("cargo")
        .args(["test", "--workspace", "--lib", "--no-run", "--message-format", "json-render-diagnostics"])
        .current_dir(workspace::root())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the tests of the store do not compile");
    let lines = String::from_utf8_lossy(&output.stdout);
    lines.lines().find_map(program).with_context(|| format!("cargo names no test program of {STORE}"))
}

/// The program of the store's tests, if the message is about it.
fn program(message: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let name = message.pointer("/target/name")?.as_str()?;
    let executable = message.get("executable")?.as_str()?;
    (name == STORE.replace('-', "_")).then(|| PathBuf::from(executable))
}

/// A counted line. Other output may stand before it.
fn counted(line: &str) -> Option<(u64, &str)> {
    let (number, what) = line.split_once(MARK)?.1.split_once(' ')?;
    Some((number.parse().ok()?, what.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stores_program_is_told_from_others() {
        let message = r#"{"reason":"compiler-artifact","target":{"name":"unforget_store"},"executable":"/deps/unforget_store-1"}"#;
        assert_eq!(program(message), Some(PathBuf::from("/deps/unforget_store-1")));
        assert_eq!(program(&message.replace("unforget_store\"", "unforget_core\"")), None);
        assert_eq!(
            program(r#"{"reason":"compiler-artifact","target":{"name":"unforget_store"},"executable":null}"#),
            None
        );
        assert_eq!(program("not of cargo"), None);
    }

    #[test]
    fn counted_lines_are_read() {
        assert_eq!(counted("torture: 20 kills"), Some((20, "kills")));
        assert_eq!(counted(".torture: 7 bits of derived rows"), Some((7, "bits of derived rows")));
        assert_eq!(counted("test result: ok. 20 passed"), None);
    }
}
