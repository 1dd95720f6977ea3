//! Real transcripts, turned into requests in the simplest way, are valid in every dialect.
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use unforget_core::entry::{Entry, Part, Role, ToolCall, ToolResult};
use unforget_core::message::{Block, Message, Request, Speaker};
use unforget_wire::{Dialect, Reader, losses, render, validate};

/// Pairs calls and results like core, without its finer points.
#[derive(Default)]
struct Simple {
    messages: Vec<Message>,
    assistant: Vec<Block>,
    calls: Vec<ToolCall>,
    results: BTreeMap<String, ToolResult>,
    user: Vec<Block>,
    made: usize,
}

impl Simple {
    fn add(&mut self, entry: Entry) {
        let live: Vec<bool> =
            entry.parts.iter().map(|part| matches!(part, Part::ToolCall(call) if call.complete)).collect();
        let is_whole = entry.status == unforget_core::entry::Status::Complete;
        if entry.role == Role::Assistant && !(self.user.is_empty() && self.results.is_empty()) {
            self.flush(entry.model.as_deref());
        }
        for (part, live) in entry.parts.into_iter().zip(live) {
            match part {
                Part::ToolCall(call) if live && is_whole => self.calls.push(call),
                Part::ToolCall(_) => {}
                Part::ToolResult(result) => drop(self.results.insert(result.call_id.clone(), result)),
                part if entry.role == Role::Assistant => self.assistant.push(Block::Part(part)),
                part => self.user.push(Block::Part(part)),
            }
        }
    }

    fn flush(&mut self, model: Option<&str>) {
        let message =
            |speaker, blocks| Message { speaker, blocks, model: model.map(str::to_owned), seqs: Vec::new() };
        let mut answers = Vec::new();
        let mut results = std::mem::take(&mut self.results);
        for mut call in self.calls.drain(..) {
            let none = ToolResult {
                call_id: String::new(),
                name: call.name.clone(),
                content: Vec::new(),
                is_error: true,
                exit_code: None,
            };
            let mut result = results.remove(&call.id).unwrap_or(none);
            // Ids recur in real files; core makes them unique within the request.
            call.id = format!("{}:{}", self.made, call.id);
            self.made += 1;
            result.call_id.clone_from(&call.id);
            result.name.clone_from(&call.name);
            self.assistant.push(Block::Call(call));
            answers.push(Block::Result(result));
        }
        answers.append(&mut self.user);
        if !self.assistant.is_empty() {
            if self.messages.is_empty() {
                self.messages.push(message(Speaker::User, vec![Block::Ours("(start)".to_owned())]));
            }
            self.messages.push(message(Speaker::Assistant, std::mem::take(&mut self.assistant)));
        }
        match self.messages.last_mut() {
            // Nothing of the assistant remains between two inputs.
            Some(last) if last.speaker == Speaker::User => last.blocks.append(&mut answers),
            _ => {}
        }
        if !answers.is_empty() {
            self.messages.push(message(Speaker::User, answers));
        }
    }
}

fn requests(path: &Path) -> Option<Vec<Request>> {
    let mut reader = Reader::open(BufReader::new(File::open(path).ok()?)).ok()?;
    let mut lanes: BTreeMap<Option<String>, Simple> = BTreeMap::new();
    while let Some(record) = reader.next_record().unwrap() {
        if record.entry.origin.is_visible() && record.entry.role != Role::System {
            lanes.entry(record.entry.thread.clone()).or_default().add(record.entry);
        }
    }
    let finish = |mut lane: Simple| {
        lane.user.push(Block::Ours("go on".to_owned()));
        lane.flush(None);
        Request { system: vec!["be brief".to_owned()], messages: lane.messages }
    };
    Some(lanes.into_values().map(finish).collect())
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_transcript =
            path.extension().is_some_and(|end| end == "jsonl" || end == "json" || end == "traj");
        if path.is_dir() {
            files(&path, found);
        } else if is_transcript {
            found.push(path);
        }
    }
}

#[test]
fn f046_f047_f053_f055_f059_f061_f063_real_transcripts_are_valid_in_every_dialect() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let root = std::env::var_os("UNFORGET_DATA").map_or_else(|| PathBuf::from(default), PathBuf::from);
    if !root.is_dir() {
        println!("skipped: no transcripts at {}", root.display());
        return;
    }
    let mut paths = Vec::new();
    for name in
        ["pi-mono", "claude-code-spotter", "claude-code-entire-skills", "codex-agentv", "codex-localpush"]
    {
        files(&root.join(name), &mut paths);
    }
    for name in ["copilot-agentv", "swe-agent", "openhands", "tau-bench", "small-fixtures"] {
        files(&root.join(name), &mut paths);
    }
    let mut sent = 0;
    let mut lost: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for path in paths {
        for request in requests(&path).unwrap_or_default() {
            for dialect in Dialect::ALL {
                let body = render(&request, dialect);
                assert_eq!(validate(&body, dialect), Ok(()), "{} {}", path.display(), dialect.name());
                for loss in losses(&request, dialect) {
                    *lost.entry((dialect.name(), loss.what)).or_default() += 1;
                }
                sent += body.len();
            }
        }
    }
    println!("{sent} bytes rendered, not sent: {lost:#?}");
    assert!(sent > 0);
}
