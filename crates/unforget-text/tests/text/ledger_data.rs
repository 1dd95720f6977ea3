//! Compares the ledger of recorded sessions with ground truth, read from the hosts' own structures by another path:
//! plain JSON, `toolUseResult`, `exec_command_end`, `patch_apply_end`, `details`, never our parsers.

mod hidden;
mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use unforget_core::id::Seq;
use unforget_core::ledger::{Failure, Ledger, TaskState};
use unforget_text::facts;
use unforget_wire::Reader;

use truth::{Event, claude, codex, is_shell, pi, truth, values};

/// Rows as plain text, by kind.
type Rows = BTreeMap<&'static str, BTreeSet<String>>;

/// The kinds compared with the truth.
const KINDS: [&str; 12] = [
    "files read",
    "lines read",
    "files written",
    "commands",
    "exit codes",
    "tests",
    "failures",
    "cleared",
    "cleared in some form",
    "addresses",
    "commits",
    "tasks",
];

fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var("UNFORGET_DATA").map_or_else(|_| PathBuf::from(beside), PathBuf::from);
    folder.is_dir().then_some(folder)
}

fn transcripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            transcripts(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "jsonl") {
            found.push(path);
        }
    }
    found.sort();
}

/// Rows of the ledger right after a record was folded in: the changes of the last record.
struct Watched {
    rows: Rows,
    /// The first failure of the row to which a failing record belongs.
    failing: BTreeMap<u64, u64>,
}

impl Watched {
    fn after(&mut self, ledger: &Ledger, seq: u64, event: Option<&Event>) {
        let by_shell = event.is_some_and(|event| is_shell(&event.tool));
        let mut add = |kind: &'static str, row: String| {
            self.rows.get_mut(kind).unwrap().insert(row);
        };
        for (path, file) in ledger.files().filter(|_| !by_shell) {
            for look in file.looks.iter().filter(|look| look.at.answer.0 == seq) {
                add("files read", format!("{path} @{seq}"));
                // Without a structure of the host, the shown lines are unknown.
                let known = event.is_some_and(|event| event.extra["file"]["numLines"].as_u64() > Some(0));
                if let Some(last) = look.lines.last.filter(|_| known) {
                    add("lines read", format!("{path} {}-{last} @{seq}", look.lines.first));
                }
            }
            if file.put.is_some_and(|put| put.at.answer.0 == seq) {
                add("files written", format!("{path} @{seq}"));
            }
        }
        for row in ledger.commands().filter(|row| row.at.answer.0 == seq) {
            add("commands", format!("@{seq} x{}", row.runs));
            if let Some(code) = row.exit {
                add("exit codes", format!("@{seq} {code}"));
            }
            if let Some(tests) = row.tests {
                add("tests", format!("@{seq} {}/{}", tests.passed, tests.failed));
            }
        }
        for failure in ledger.failing().filter(|failure| failure.last.answer.0 == seq) {
            add("failures", format!("@{seq}"));
            self.failing.insert(seq, failure.first.answer.0);
        }
    }

    fn finish(mut self, ledger: &Ledger) -> Rows {
        let mut add = |kind: &'static str, row: String| {
            self.rows.get_mut(kind).unwrap().insert(row);
        };
        ledger.urls().for_each(|(url, _)| add("addresses", url.to_owned()));
        ledger.commits().iter().for_each(|row| add("commits", row.commit.hash.clone()));
        for task in ledger.tasks() {
            let state = match task.state {
                TaskState::Open => "pending",
                TaskState::Active => "in_progress",
                TaskState::Done => "completed",
                TaskState::Dropped => "deleted",
            };
            add("tasks", format!("{} {state}", task.id.as_deref().unwrap_or(&task.text)));
        }
        for (at, first) in &self.failing {
            let within = |failure: &Failure| failure.first.answer.0 == *first && failure.last.answer.0 >= *at;
            if ledger.cleared().iter().any(within) {
                add("cleared", format!("@{at}"));
                add("cleared in some form", format!("@{at}"));
            }
        }
        self.rows
    }
}

/// Our ledger's version of these rows. Tables cover a shell's work with files.
fn ours(path: &Path, events: &[Event]) -> Rows {
    let rows = KINDS.iter().map(|kind| (*kind, BTreeSet::new())).collect();
    let mut watched = Watched { rows, failing: BTreeMap::new() };
    let by_answer: BTreeMap<u64, &Event> = events.iter().map(|event| (event.answer as u64, event)).collect();
    let mut reader = Reader::open(BufReader::new(std::fs::File::open(path).unwrap())).unwrap();
    let (mut ledger, mut seq) = (Ledger::default(), 0);
    while let Some(record) = reader.next_record().unwrap() {
        let facts = facts(&record.entry);
        ledger.take(Seq(seq), &facts);
        if !facts.is_empty() {
            watched.after(&ledger, seq, by_answer.get(&seq).copied());
        }
        seq += 1;
    }
    assert_eq!(ledger.dropped(), 0);
    watched.finish(&ledger)
}

#[test]
fn ledger_precision_and_recall() {
    let Some(folder) = folder() else {
        eprintln!("skipped: no recorded sessions");
        return;
    };
    let mut found = Vec::new();
    transcripts(&folder, &mut found);
    let mut scores: BTreeMap<(&str, &str), [usize; 3]> = BTreeMap::new();
    let verbose = std::env::var_os("UNFORGET_LEDGER_DIFF").is_some();
    for path in &found {
        let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
        let all = values(path);
        let (host, events) = match name.split(['-', '/']).next().unwrap() {
            "claude" => ("claude code", claude(&all)),
            "codex" => ("codex", codex(&all)),
            "pi" => ("pi", pi(&all)),
            _ => continue,
        };
        let (want, mut have) = (truth(&events), ours(path, &events));
        if host == "codex" {
            absolute(&want, &mut have);
        }
        for kind in KINDS {
            let (want, have) = (&want[kind], &have[kind]);
            let score = scores.entry((kind, host)).or_default();
            score[0] += want.intersection(have).count();
            score[1] += have.len();
            score[2] += want.len();
            if verbose {
                for row in want.difference(have) {
                    eprintln!("missing  {kind}: {name}: {row}");
                }
                for row in have.difference(want) {
                    eprintln!("surplus  {kind}: {name}: {row}");
                }
            }
        }
    }
    let mut totals: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for ((kind, host), [both, have, want]) in &scores {
        eprintln!(
            "{kind:22} {host:12} precision {} recall {} ({both} of {have} rows, {want} true)",
            share(*both, *have),
            share(*both, *want)
        );
        let total = totals.entry(kind).or_default();
        total[0] += both;
        total[1] += have;
        total[2] += want;
    }
    for (kind, [both, have, want]) in totals {
        assert!(want > 0, "{kind}: the truth is empty");
        eprintln!(
            "{kind:22} all          precision {} recall {} ({both} of {have} rows, {want} true)",
            share(both, have),
            share(both, want)
        );
        // A failure is cleared at least by the same work, and at most by the same program.
        assert!(both * 100 >= have * 95 || kind == "cleared", "{kind}: precision");
        assert!(both * 100 >= want * 95 || kind == "cleared in some form", "{kind}: recall");
    }
}

fn share(part: usize, whole: usize) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.3}", part as f64 / whole as f64) }
}

/// Codex gives absolute paths beside a patch, which may name relative ones.
fn absolute(want: &Rows, have: &mut Rows) {
    let written = have.get_mut("files written").unwrap();
    let named: Vec<String> = written.iter().filter(|row| !row.starts_with('/')).cloned().collect();
    for row in named {
        if let Some(whole) = want["files written"].iter().find(|whole| whole.ends_with(&format!("/{row}"))) {
            written.remove(&row);
            written.insert(whole.clone());
        }
    }
}
