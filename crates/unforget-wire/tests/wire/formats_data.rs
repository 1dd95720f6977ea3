//! Real transcripts of the formats decode, with everything visible that a model saw.
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use unforget_core::entry::{Entry, HostParent, Origin, Role};
use unforget_wire::{Format, Reader, decode};

fn folder() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    std::env::var_os("UNFORGET_DATA").map_or_else(|| PathBuf::from(default), PathBuf::from)
}

fn read(path: &Path) -> (Format, Vec<(Vec<u8>, Entry)>) {
    let mut reader = Reader::open(BufReader::new(File::open(path).unwrap())).unwrap();
    let format = reader.source().format;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        records.push((record.body, record.entry));
    }
    (format, records)
}

/// Files in these folders have these formats; the counts are the least number of entries visible to a model.
#[test]
fn real_files_decode() {
    let root = folder();
    if !root.is_dir() {
        println!("skipped: no transcripts at {}", root.display());
        return;
    }
    let table = [
        // folder, name part, format, visible entries at least: user, assistant, tool
        ("codex-agentv", ".jsonl", Format::Codex, [1, 1, 1]),
        ("codex-entire-skills", ".jsonl", Format::Codex, [2, 30, 28]),
        ("codex-localpush", ".jsonl", Format::Codex, [3, 3, 0]),
        ("small-fixtures", "__codex__", Format::Codex, [0, 1, 0]),
        ("small-fixtures", "__codex_event_stream__", Format::Codex, [0, 1, 0]),
        ("copilot-agentv", "26-", Format::CopilotCli, [1, 54, 68]),
        ("copilot-agentv", "6a-", Format::CopilotCli, [1, 1, 0]),
        ("small-fixtures", "gemini__standard", Format::GeminiCli, [2, 2, 0]),
        ("small-fixtures", "gemini__t", Format::GeminiCli, [1, 1, 0]),
        ("small-fixtures", "gemini__s", Format::GeminiCli, [0, 0, 0]),
        ("small-fixtures", "gemini-warning", Format::GeminiCli, [0, 0, 0]),
        ("swe-agent", ".traj", Format::SweAgent, [4, 4, 0]),
        ("openhands", "basic_gui", Format::OpenHands, [1, 5, 4]),
        ("openhands", "basic_interactions", Format::OpenHands, [3, 3, 0]),
        ("openhands", "wrong_initial", Format::OpenHands, [1, 4, 3]),
        ("openhands", "output", Format::OpenHands, [2, 26, 24]),
        ("tau-bench", ".json", Format::TauBench, [686, 1163, 577]),
    ];
    for (name, part, want, least) in table {
        let mut files = 0;
        for file in fs::read_dir(root.join(name)).into_iter().flatten().flatten() {
            let path = file.path();
            let file_name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !file_name.contains(part) || file_name == "SOURCE.md" {
                continue;
            }
            files += 1;
            check_file(&path, want, least);
        }
        println!("{name}/*{part}*: {files} files");
    }
}

fn check_file(path: &Path, want: Format, least: [usize; 3]) {
    let (format, records) = read(path);
    assert_eq!(format, want, "{}", path.display());
    let mut roles: BTreeMap<Role, usize> = BTreeMap::new();
    let mut origins: BTreeMap<Origin, usize> = BTreeMap::new();
    for (body, entry) in &records {
        *origins.entry(entry.origin).or_default() += 1;
        if entry.origin.is_visible() {
            *roles.entry(entry.role).or_default() += 1;
        }
        let alone = decode(format, body);
        let told = Entry { host_id: None, parent: HostParent::Previous, thread: None, ..entry.clone() };
        assert_eq!(
            told,
            Entry { host_id: None, parent: HostParent::Previous, thread: None, ..alone },
            "{}",
            path.display()
        );
    }
    println!("{}: {roles:?} {origins:?}", path.display());
    for (role, least) in [Role::User, Role::Assistant, Role::Tool].into_iter().zip(least) {
        let seen = roles.get(&role).copied().unwrap_or_default();
        assert!(seen >= least, "{}: {role:?} {seen}", path.display());
    }
    assert!(!origins.contains_key(&Origin::Opaque), "{}: {origins:?}", path.display());
    pairs(&records, path);
}

/// Every result whose call is in the file follows that call in its thread.
fn pairs(records: &[(Vec<u8>, Entry)], path: &Path) {
    let mut calls = std::collections::BTreeSet::new();
    let mut orphans = 0;
    for (_, entry) in records {
        calls.extend(entry.live_calls().map(|call| (entry.thread.clone(), call.id.clone())));
        orphans += entry
            .results()
            .filter(|result| !calls.contains(&(entry.thread.clone(), result.call_id.clone())))
            .count();
    }
    assert_eq!(orphans, 0, "{}: results without a call", path.display());
}

#[test]
fn formats_are_told_by_content() {
    let table = [
        (r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"ok"}]"#, Format::OpenAiChat),
        (r#"{"system":"s","messages":[{"role":"user","content":"hi"}]}"#, Format::AnthropicMessages),
        (
            r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#,
            Format::AnthropicMessages,
        ),
        (
            "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"\"}\n",
            Format::OpenAiChat,
        ),
        (
            "{\"sessionId\":\"s\",\"projectHash\":\"h\",\"kind\":\"main\"}\n{\"id\":\"1\",\"type\":\"user\",\"content\":\"hi\"}\n",
            Format::GeminiCli,
        ),
        (r#"{"sessionId":"s","projectHash":"h","messages":[]}"#, Format::GeminiCli),
        (
            "{\"id\":\"s\",\"timestamp\":\"2025-09-01T00:00:00Z\",\"instructions\":null}\n{\"type\":\"message\",\"role\":\"user\",\"content\":[]}\n",
            Format::Codex,
        ),
        ("{\"timestamp\":\"x\",\"type\":\"session_meta\",\"payload\":{\"id\":\"s\"}}\n", Format::Codex),
        (
            "{\"type\":\"session.start\",\"data\":{\"sessionId\":\"s\"},\"id\":\"1\",\"parentId\":null}\n",
            Format::CopilotCli,
        ),
        (r#"{"history":[{"role":"system","content":"s","agent":"primary"}]}"#, Format::SweAgent),
        (r#"[{"id":0,"source":"user","action":"message","args":{"content":"hi"}}]"#, Format::OpenHands),
        (
            r#"[{"task_id":0,"reward":1.0,"info":{},"traj":[{"role":"user","content":"hi"}],"trial":0}]"#,
            Format::TauBench,
        ),
        ("{\"a\":1}\n", Format::Unknown),
    ];
    for (file, want) in table {
        let reader = Reader::open(file.as_bytes());
        assert_eq!(reader.map(|reader| reader.source().format).ok(), Some(want), "{file}");
    }
}
