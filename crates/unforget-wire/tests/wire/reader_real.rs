//! Every real transcript in the shared data is partitioned correctly, and its format is detected.
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use unforget_core::entry::Origin;
use unforget_wire::{Format, ReadError, Reader, Record};

/// The folder of real transcripts, if it exists.
fn shared() -> Option<PathBuf> {
    let fixed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("UNFORGET_DATA").map_or_else(|| PathBuf::from(fixed), PathBuf::from);
    if !folder.is_dir() {
        eprintln!("skipped: no real transcripts at {}", folder.display());
        return None;
    }
    Some(folder)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|end| ["json", "jsonl", "traj"].iter().any(|known| end == *known))
        {
            found.push(path);
        }
    }
}

fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(folder, &mut found);
    found.sort();
    found
}

/// Reads a file and proves the partition. Returns the format's name and the frequency of each origin.
fn read(path: &Path) -> (String, BTreeMap<Origin, usize>, Vec<String>) {
    let bytes = fs::read(path).unwrap();
    let mut reader = match Reader::open(BufReader::new(File::open(path).unwrap())) {
        Ok(reader) => reader,
        Err(ReadError::NotATranscript { .. }) => return ("none".to_owned(), BTreeMap::new(), Vec::new()),
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let mut again = Vec::with_capacity(bytes.len());
    let mut origins = BTreeMap::new();
    let mut warnings = Vec::new();
    while let Some(Record { lead, body, entry, large, warning }) = reader.next_record().unwrap() {
        again.extend_from_slice(&lead);
        again.extend_from_slice(&body);
        *origins.entry(entry.origin).or_insert(0) += 1;
        warnings.extend(warning.map(|warning| warning.what));
        for range in large {
            assert!(
                serde_json::from_str::<String>(&format!(
                    "\"{}\"",
                    String::from_utf8_lossy(body.get(range).unwrap())
                ))
                .is_ok()
            );
        }
    }
    again.extend_from_slice(reader.trailer());
    assert!(again == bytes, "{}: leads, bodies and trailer are not the file", path.display());
    (reader.source().format.name().to_owned(), origins, warnings)
}

/// The format of the files of a folder; `None` for folders with several formats.
fn expected(relative: &str) -> Option<Format> {
    let table = [
        ("claude-code-", Format::ClaudeCode),
        ("growth-series/4fec7ea0", Format::ClaudeCode),
        ("codex-", Format::Codex),
        ("copilot-", Format::CopilotCli),
        ("pi-mono", Format::Pi),
        ("openhands", Format::OpenHands),
        ("swe-agent", Format::SweAgent),
        ("tau-bench", Format::TauBench),
        ("locomo", Format::Unknown),
        ("longmemeval", Format::Unknown),
        ("repair-cases/windows/cc-", Format::ClaudeCode),
        ("repair-cases/windows/cx-", Format::Codex),
        ("repair-cases/windows/pi-", Format::Pi),
        ("small-fixtures/agentsview__claude", Format::ClaudeCode),
        ("small-fixtures/agentsview__codex", Format::Codex),
        ("small-fixtures/agentsview__gemini", Format::GeminiCli),
        ("small-fixtures/claude-code-log", Format::ClaudeCode),
        ("small-fixtures/entire-cli__gemini", Format::GeminiCli),
        ("small-fixtures/pi-mono", Format::Pi),
        ("small-fixtures/polylogue__data__codex", Format::Codex),
        ("small-fixtures/polylogue__fixtures__claude-code", Format::ClaudeCode),
        ("small-fixtures/simonw-claude-code", Format::ClaudeCode),
        ("small-fixtures/tmustier-pi", Format::Pi),
    ];
    table.into_iter().find(|(prefix, _)| relative.starts_with(prefix)).map(|(_, format)| format)
}

#[test]
fn every_real_file_is_read_whole() {
    let Some(folder) = shared() else { return };
    let mut wrong = Vec::new();
    for path in transcripts(&folder) {
        let relative = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        let (format, origins, warnings) = read(&path);
        eprintln!("{relative}: {format} {origins:?} {warnings:?}");
        if expected(&relative).is_some_and(|expected| expected.name() != format) {
            wrong.push((relative, format));
        }
    }
    assert!(wrong.is_empty(), "wrong format: {wrong:#?}");
}

/// Lengths of the records in the first bytes of a file: enough for a comparison with the whole file.
fn lengths(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut lengths = Vec::new();
    let Ok(mut reader) = Reader::open(bytes) else { return lengths };
    while let Some(record) = reader.next_record().unwrap() {
        lengths.push((record.lead.len(), record.body.len()));
    }
    lengths
}

#[test]
fn every_real_file_may_be_caught_while_it_grows() {
    let Some(folder) = shared() else { return };
    for path in transcripts(&folder) {
        let bytes = fs::read(&path).unwrap();
        let whole = lengths(&bytes);
        for step in 1..12 {
            let cut = bytes.len() * step / 12 + step;
            let part = lengths(bytes.get(..cut).unwrap_or(&bytes));
            assert!(whole.starts_with(&part), "{} cut at {cut}", path.display());
        }
    }
}
