//! The gates over recorded sessions: the deterministic summaries of real entries have no flaw and name nothing that
//! their entries lack, so the gates do not refuse text that looks like a good summary.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use unforget_core::entry::{Entry, Part};
use unforget_core::estimate::ClassEstimate;
use unforget_core::gate::{Ending, Flaw, Verdict, judge};
use unforget_core::id::Seq;
use unforget_core::tokens::Ruler;
use unforget_text::{Assignment, SectionKind, Source, inspect, must_keep, render, summarise};
use unforget_wire::Reader;

/// Entries in one summary.
const ENTRIES: usize = 40;
const TARGET: u64 = 1_200;

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

/// The summariser's view of an entry.
fn source(seq: Seq, entry: &Entry) -> String {
    let mut text = format!("[{seq}] ");
    for part in &entry.parts {
        match part {
            Part::Text(words) => text.push_str(words),
            Part::ToolCall(call) => {
                let plain = call.arguments.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
                text.extend(["[", &call.name, " ", &plain, "]"]);
            }
            Part::ToolResult(result) => {
                text.push_str(&result.exit_code.map(|code| format!("exit {code} ")).unwrap_or_default());
                let words = result.content.iter().filter_map(|part| match part {
                    Part::Text(words) => Some(words.as_str()),
                    _ => None,
                });
                text.extend(words);
            }
            _ => {}
        }
    }
    text + "\n"
}

#[test]
fn deterministic_summaries_of_recorded_sessions_pass() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var("UNFORGET_DATA").map_or_else(|_| PathBuf::from(beside), PathBuf::from);
    if !folder.is_dir() {
        eprintln!("skipped: no recorded sessions");
        return;
    }
    let mut found = Vec::new();
    transcripts(&folder, &mut found);
    let (mut drafts, mut large, mut anchored) = (0, 0, 0);
    for path in &found {
        let Ok(mut reader) = Reader::open(BufReader::new(std::fs::File::open(path).unwrap())) else {
            continue;
        };
        let mut entries: Vec<(Seq, Entry)> = Vec::new();
        let mut seq = 0;
        while let Some(record) = reader.next_record().unwrap() {
            if record.entry.origin.is_visible() {
                entries.push((Seq(seq), record.entry));
            }
            seq += 1;
        }
        for chunk in entries.chunks(ENTRIES) {
            let text: String = chunk.iter().map(|(seq, entry)| source(*seq, entry)).collect();
            let sources: Vec<Source<'_>> =
                chunk.iter().map(|(seq, entry)| Source { seq: *seq, entry }).collect();
            let summary = summarise(&sources);
            if summary.is_blank() {
                continue;
            }
            let keep = must_keep(&summary, 24);
            let size = ClassEstimate.count(&text);
            let asked = Assignment { source: &text, instructions: "", size, must_keep: &keep };
            // Pieces of entries are quoted: they may be code, or end anywhere.
            let told = summary.without(SectionKind::Excerpts);
            let draft = render(&told, TARGET, &ClassEstimate);
            let inspected = inspect(&draft, Ending::Finished, &asked, &ClassEstimate);
            let findings = &inspected.findings;
            assert_eq!(findings.flaws, [], "{}: {draft}", path.display());
            assert_eq!(findings.invented, Vec::<String>::new(), "{}: {draft}", path.display());
            drafts += 1;
            match judge(findings, TARGET) {
                Verdict::Accept => {}
                Verdict::AcceptWithAnchors => anchored += 1,
                // Forty short entries may be as long as their summary.
                Verdict::Reject { why } => {
                    assert_eq!(why, Flaw::TooLarge, "{}", path.display());
                    large += 1;
                }
            }
        }
    }
    eprintln!(
        "{drafts} summaries, {anchored} with identifiers put behind them, {large} not smaller than their source"
    );
    assert!(drafts > 100);
}
