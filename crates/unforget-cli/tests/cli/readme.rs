//! The README's report of a replay is what the program prints.

use crate::support::{Place, example, text};

/// Lines of a report but for its times, which differ between two runs.
fn figures(report: &str) -> Vec<&str> {
    report.lines().filter(|line| !line.starts_with("time ") && !line.starts_with("Replay of ")).collect()
}

#[test]
fn the_report_in_the_readme_is_current() {
    let readme = include_str!("../../../../README.md");
    let (_, rest) = readme.split_once("```text\nReplay of ").unwrap();
    let (shown, _) = rest.split_once("\n```").unwrap();
    let place = Place::new();
    let output = place.run(&["replay", &example("long-session.jsonl"), "--window", "32k"], 0);
    let printed = text(&output.stdout);
    let shown: Vec<&str> = figures(shown).split_off(1);
    assert_eq!(shown, figures(&printed), "the README's report is old: `cargo xtask picture` makes it");
}
