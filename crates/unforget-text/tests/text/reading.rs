//! Prints summaries of recorded sessions line by line, for judgement by hand.
//!
//! `UNFORGET_READING=dev` or `report` prints one half of the files. Without it, the sessions are summarised and only
//! rules are checked.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use unforget_core::entry::{Entry, Origin};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::Seq;
use unforget_core::tokens::Ruler;
use unforget_text::{SectionKind, Source, Summary, proposals, render, summarise};
use unforget_wire::Reader;

/// Entries in one summary, tokens of its text.
const ENTRIES: usize = 60;
const TOKENS: u64 = 1_600;

fn transcripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = path.to_string_lossy();
        if path.is_dir() {
            transcripts(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "jsonl")
            && ![
                "repair-cases",
                "small-fixtures",
                "growth-series",
                ".v1.",
                "localpush",
                "openhands",
                "subagents",
                "reliab",
            ]
            .iter()
            .any(|other| text.contains(other))
        {
            found.push(path);
        }
    }
    found.sort();
}

fn entries(path: &Path) -> Option<Vec<(Seq, Entry)>> {
    let mut reader = Reader::open(BufReader::new(std::fs::File::open(path).unwrap())).ok()?;
    let mut entries = Vec::new();
    let mut seq = 0;
    while let Some(record) = reader.next_record().unwrap() {
        if record.entry.origin.is_visible() {
            entries.push((Seq(seq), record.entry));
        }
        seq += 1;
    }
    Some(entries)
}

fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var("UNFORGET_DATA").map_or_else(|_| PathBuf::from(beside), PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// Rules in people's messages of conversations that are not about code.
#[test]
fn rules_of_recorded_conversations() {
    let Some(folder) = folder() else {
        eprintln!("skipped: no recorded conversations");
        return;
    };
    let is_shown = std::env::var_os("UNFORGET_READING").is_some();
    let (mut turns, mut found) = (0, 0);
    for entry in std::fs::read_dir(folder.join("longmemeval")).into_iter().flatten() {
        let path = entry.unwrap().path();
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(&std::fs::read(&path).unwrap()) else {
            continue;
        };
        let mut list = vec![&value];
        while let Some(value) = list.pop() {
            if let (Some("user"), Some(text)) = (value["role"].as_str(), value["content"].as_str()) {
                let part = unforget_core::entry::Part::Text(text.to_owned());
                let entry = Entry { parts: vec![part], ..Entry::bare(Origin::Human) };
                turns += 1;
                found += proposals(&entry).len();
                for proposal in proposals(&entry).iter().filter(|_| is_shown) {
                    println!("chat\t{}", proposal.text);
                }
            }
            match value {
                serde_json::Value::Array(items) => list.extend(items),
                serde_json::Value::Object(fields) => list.extend(fields.values()),
                _ => {}
            }
        }
    }
    eprintln!("{found} rules in {turns} turns of people");
    assert!(found * 10 <= turns, "a rule in every tenth turn is too many: {found} of {turns}");
}

#[test]
fn summaries_of_recorded_sessions() {
    let Some(folder) = folder() else {
        eprintln!("skipped: no recorded sessions");
        return;
    };
    let half = std::env::var("UNFORGET_READING").ok();
    let mut found = Vec::new();
    transcripts(&folder, &mut found);
    let (mut all, mut identifiers) = (0, 0);
    for (at, path) in found.iter().enumerate() {
        let is_shown = half.as_deref() == Some(if at % 2 == 0 { "dev" } else { "report" });
        let Some(entries) = entries(path) else { continue };
        if is_shown {
            println!("===== {}", path.display());
        }
        let mut parts: Vec<Summary> = Vec::new();
        for chunk in entries.chunks(ENTRIES) {
            let sources: Vec<Source<'_>> =
                chunk.iter().map(|(seq, entry)| Source { seq: *seq, entry }).collect();
            parts.push(summarise(&sources));
        }
        for (_, entry) in entries.iter().filter(|(_, entry)| entry.origin == Origin::Human && is_shown) {
            for proposal in proposals(entry) {
                println!("rule\t{}", proposal.text);
            }
        }
        let merged = Summary::merge(&parts);
        for (kind, name) in [
            (SectionKind::Decisions, "decided"),
            (SectionKind::Outcomes, "outcome"),
            (SectionKind::OpenAsks, "open"),
        ] {
            for item in merged.items(kind).iter().filter(|_| is_shown) {
                println!("{name}\t{}\t{:?}", item.text, item.seqs.first().map(|seq| seq.0));
            }
        }
        for part in parts.iter().chain([&merged]) {
            let text = render(part, TOKENS, &ClassEstimate);
            all += ClassEstimate.count(&text).upper;
            let line = text.lines().find(|line| line.starts_with("Identifiers: ")).unwrap_or_default();
            identifiers += ClassEstimate.count(line).upper;
        }
        if is_shown {
            println!("-----\n{}", render(&merged, TOKENS, &ClassEstimate));
        }
    }
    eprintln!("identifiers take {identifiers} of {all} tokens");
    assert!(identifiers * 100 <= all * 15, "{identifiers} of {all}");
}
