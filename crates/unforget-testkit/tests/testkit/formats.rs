//! The parsers read everything that the test kit and the examples write.

use std::path::Path;

use unforget_core::entry::{Entry, Origin, Status};
use unforget_testkit::hostile::{Size, history};
use unforget_testkit::{path, render, workload};
use unforget_wire::{Format, Reader};

/// Reads a transcript and checks that no byte is lost.
fn read(bytes: &[u8]) -> (Format, Vec<Entry>, usize) {
    let mut reader = Reader::open(bytes).unwrap();
    let format = reader.source().format;
    let (mut again, mut entries, mut warnings) = (Vec::new(), Vec::new(), 0);
    while let Some(record) = reader.next_record().unwrap() {
        again.extend_from_slice(&record.lead);
        again.extend_from_slice(&record.body);
        warnings += usize::from(record.warning.is_some());
        entries.push(record.entry);
    }
    again.extend_from_slice(reader.trailer());
    assert!(again == bytes, "{} bytes in, {} out", bytes.len(), again.len());
    (format, entries, warnings)
}

fn calls(entries: &[Entry]) -> usize {
    entries.iter().map(|entry| entry.live_calls().count()).sum()
}

fn results(entries: &[Entry]) -> usize {
    entries.iter().map(|entry| entry.results().count()).sum()
}

#[test]
fn the_examples_are_read_as_what_they_are() {
    let table = [
        // file  format  people's entries  live calls  results
        ("long-session.jsonl", Format::Pi, 49, 230, 229),
        ("short-claude-code.jsonl", Format::ClaudeCode, 3, 4, 4),
        ("short-openai-chat.json", Format::OpenAiChat, 3, 4, 4),
    ];
    for (file, want, people, live, answered) in table {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
        let (format, entries, warnings) = read(&std::fs::read(place).unwrap());
        let human = entries.iter().filter(|entry| entry.origin == Origin::Human).count();
        assert_eq!((format, warnings), (want, 0), "{file}");
        assert_eq!((human, calls(&entries), results(&entries)), (people, live, answered), "{file}");
    }
}

#[test]
fn renderings_are_detected() {
    let history = path("u a[c1,c2] r1 r2 a u a");
    let table = [
        (render::pi(&history), Format::Pi),
        (render::claude_code(&history), Format::ClaudeCode),
        (render::openai_chat(&history), Format::OpenAiChat),
        (render::anthropic(&history), Format::AnthropicMessages),
    ];
    for (bytes, want) in table {
        let (format, entries, warnings) = read(&bytes);
        assert_eq!((format, warnings, calls(&entries), results(&entries)), (want, 0, 2, 2), "{want:?}");
    }
}

#[test]
fn statuses_survive_in_a_pi_session() {
    let (_, entries, _) = read(&render::pi(&path("u a[c1]! u a[c2~]? u a")));
    let status: Vec<Status> =
        entries.iter().filter(|e| e.origin == Origin::Model).map(|e| e.status).collect();
    assert_eq!(status, [Status::Aborted, Status::Error, Status::Complete]);
}

#[test]
fn hostile_histories_are_read_without_loss() {
    for seed in 0..300 {
        let history = history(seed, Size::SMALL);
        for bytes in [render::pi(&history), render::claude_code(&history)] {
            if !bytes.is_empty() {
                read(&bytes);
            }
        }
    }
}

#[test]
fn a_workload_is_a_clean_pi_session() {
    let mut bytes = Vec::new();
    let written = workload::write_workload(&mut bytes, 400, 11).unwrap();
    let (format, entries, warnings) = read(&bytes);
    assert_eq!((format, warnings), (Format::Pi, 0));
    assert_eq!(entries.iter().filter(|e| e.origin.is_visible()).count() as u64, written.messages);
    assert_eq!(calls(&entries), results(&entries));
}
