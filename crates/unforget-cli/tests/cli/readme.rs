//! Texts outside the program that quote the program are current.

use std::collections::BTreeSet;

#[cfg(unix)]
use crate::support::PI;
use crate::support::{Place, example, text};

/// Lines of a report but for its times, which differ between two runs.
fn figures(report: &str) -> Vec<&str> {
    report.lines().filter(|line| !line.starts_with("time ") && !line.starts_with("Replay of ")).collect()
}

#[test]
fn the_report_of_the_replay_page_is_current() {
    let page = include_str!("../../../../docs/replay.md");
    let (_, rest) = page.split_once("```text\nReplay of ").unwrap();
    let (shown, _) = rest.split_once("\n```").unwrap();
    let place = Place::new();
    let output = place.run(&["replay", &example("long-session.jsonl"), "--window", "32k"], 0);
    let printed = text(&output.stdout);
    let shown: Vec<&str> = figures(shown).split_off(1);
    assert_eq!(
        shown,
        figures(&printed),
        "the report in docs/replay.md is old: `cargo xtask picture` makes it"
    );
}

/// The first column of the table of commands.
fn tabled(page: &str) -> BTreeSet<&str> {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | "));
    cells.flat_map(|(cell, _)| cell.split(['`', ',', ' '])).filter(|word| !word.is_empty()).collect()
}

#[test]
fn the_page_of_commands_has_every_command() {
    let page = include_str!("../../../../docs/commands.md");
    let help = text(&Place::new().run(&["--help"], 0).stdout);
    let named = help.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let commands: BTreeSet<&str> = named
        .map(|(name, _)| name)
        .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    assert!(commands.len() > 40, "{commands:?}");
    let tabled = tabled(page);
    let missing: Vec<_> = commands.difference(&tabled).collect();
    assert!(missing.is_empty(), "docs/commands.md has no row for {missing:?}");
    // Words beside the names: what is optional, and the program itself.
    let beside = ["DIR", "FILE", "alone", "unforget"];
    let more: Vec<_> = tabled.difference(&commands).filter(|name| !beside.contains(name)).collect();
    assert!(more.is_empty(), "docs/commands.md names {more:?}, which are no commands");
}

/// Runs the commands of a guide that its page marks as `bash`, in a home with sessions of three agents.
#[cfg(unix)]
fn run_guide(page: &str) -> usize {
    let place = Place::new();
    let sessions = [
        (
            ".claude/projects/-home-mara-bakery/6f1c2a90-0d3b-4e57-8a11-2b7d5e9c4f00.jsonl",
            "short-claude-code.jsonl",
        ),
        (".pi/agent/sessions/--home-mara-tideboard--/0b7e1d42.jsonl", "long-session.jsonl"),
        ("long-session.jsonl", "long-session.jsonl"),
    ];
    for (path, name) in sessions {
        std::fs::create_dir_all(place.path(path).parent().unwrap()).unwrap();
        std::fs::copy(example(name), place.path(path)).unwrap();
    }
    std::fs::create_dir_all(place.path(".openclaw/agents/main/sessions")).unwrap();
    let (whole, _) = PI.rsplit_once('\n').unwrap();
    place.write(".openclaw/agents/main/sessions/a.jsonl", &format!("{whole}\n"));
    place.run(&["import", "--discover", "--yes", "-q"], 0);
    let (mut marked, mut done) = (false, 0);
    for line in page.lines() {
        match line {
            "```bash" => marked = true,
            "```" => marked = false,
            line if marked => {
                place.shell(line);
                done += 1;
            }
            _ => {}
        }
    }
    if page.contains("\nunforget run ") {
        place.shell("unforget stop");
    }
    done
}

#[cfg(unix)]
#[test]
fn the_commands_of_the_guides_run() {
    let table = [
        ("coding agents", include_str!("../../../../docs/guide-coding-agents.md"), 20),
        ("OpenClaw", include_str!("../../../../docs/guide-openclaw.md"), 3),
        ("builders", include_str!("../../../../docs/guide-builders.md"), 6),
        ("teams", include_str!("../../../../docs/guide-team.md"), 4),
    ];
    for (guide, page, at_least) in table {
        let done = run_guide(page);
        assert!(done >= at_least, "{guide}: {done} commands");
    }
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
        let line = described.lines().nth(1).unwrap().trim();
        let (described, _) = line.split_once(" [").unwrap_or((line, ""));
        assert_eq!(
            shown,
            described.trim_end_matches('.'),
            "{flag}: `npm run manifest` makes the manifest current"
        );
    }
}
