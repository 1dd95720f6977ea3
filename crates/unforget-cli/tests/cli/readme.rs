//! Texts outside the program that quote the program are current.

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

/// The plugin's own check needs Node and OpenClaw's compiler, and runs last in CI.
#[test]
fn the_openclaw_manifest_quotes_the_help_of_the_engine() {
    let manifest = include_str!("../../../../integrations/openclaw/openclaw.plugin.json");
    let place = Place::new();
    let help = text(&place.run(&["engine", "--help"], 0).stdout);
    let quotes: Vec<&str> = manifest.split(" Of the engine (").skip(1).collect();
    assert!(!quotes.is_empty(), "the manifest quotes no option");
    for quote in quotes {
        let (flag, rest) = quote.split_once("): ").unwrap();
        let (shown, _) = rest.split_once(".\"").unwrap();
        let (_, described) = help.split_once(&format!("{flag} ")).or_else(|| help.split_once(flag)).unwrap();
        let described = described.lines().nth(1).unwrap().trim();
        assert!(
            described.starts_with(shown),
            "{flag}: `npm run manifest` makes the manifest current: {shown}: {described}"
        );
    }
}
