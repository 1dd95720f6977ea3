//! Transcripts of three hosts written in a tiny language, and a folder for one of them.
//!
//! `u` input, `b` blank input, `-` bookkeeping, `A:x,y` answer with words and calls, `K:x` aborted with words, `k:x`
//! aborted without words, `p:x` complete but with truncated arguments, `r:x` result, `s:x` invented result, `c3`
//! compaction that keeps the records from 3 on. `^2` makes record 2 the parent, `^?` makes a missing record the parent,
//! and `=e2` gives the record the id of record 2. Records count from 0, the header; their ids are `e1`, `e2`, …

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;
use unforget_guard::inspect;

/// A folder with one transcript.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Place {
    pub(crate) fn new(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        fs::write(&path, bytes).unwrap();
        Self { folder, path }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.path).unwrap()).into_owned()
    }

    pub(crate) fn append(&self, text: &str) {
        fs::File::options().append(true).open(&self.path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Overwrites the file in place and sets its time.
    pub(crate) fn overwrite(&self, text: &str, time: SystemTime) {
        let mut file = fs::File::options().write(true).open(&self.path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_modified(time).unwrap();
    }

    /// Names of everything in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            names.map(|item| item.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Lines without their newlines.
pub(crate) fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// `line:problem` of every finding, with a star if a repair leaves the finding alone.
pub(crate) fn findings(path: &Path) -> String {
    let found = inspect(path).unwrap().findings;
    let show = |finding: &unforget_guard::Finding| {
        let left = if finding.is_mended { "" } else { "*" };
        format!("{}:{}{left}", finding.line, finding.problem.name())
    };
    found.iter().map(show).collect::<Vec<_>>().join(" ")
}

struct Word<'a> {
    kind: &'a str,
    names: Vec<&'a str>,
    up: Option<&'a str>,
    same: Option<&'a str>,
}

fn cut(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(a, b)| (a, Some(b)))
}

fn words(text: &str) -> Vec<Word<'_>> {
    let word = |word| {
        let (word, same) = cut(word, '=');
        let (word, up) = cut(word, '^');
        let (kind, names) = cut(word, ':');
        let names = names.map_or_else(Vec::new, |names| names.split(',').collect());
        Word { kind, names, up, same }
    };
    text.split_whitespace().map(word).collect()
}

/// A pi session of version 3.
pub(crate) fn pi(text: &str) -> String {
    let mut file = header(Some(3));
    for (at, word) in words(text).iter().enumerate() {
        let at = at + 1;
        let parent = match word.up {
            Some("?") => "\"nowhere\"".to_owned(),
            Some(up) => format!("\"e{}\"", up.trim_start_matches('e')),
            None if at == 1 => "null".to_owned(),
            None => format!("\"e{}\"", at - 1),
        };
        let id = word.same.map_or_else(|| format!("e{at}"), str::to_owned);
        file += &pi_line(word, at, &format!("\"id\":\"{id}\",\"parentId\":{parent},"), false);
    }
    file
}

/// A pi session of version 1.
pub(crate) fn pi_v1(text: &str) -> String {
    let mut file = header(None);
    for (at, word) in words(text).iter().enumerate() {
        file += &pi_line(word, at + 1, "", true);
    }
    file
}

fn header(version: Option<u32>) -> String {
    let version = version.map_or_else(String::new, |version| format!("\"version\":{version},"));
    format!(
        "{{\"type\":\"session\",{version}\"id\":\"5e55\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}}\n"
    )
}

fn pi_line(word: &Word<'_>, at: usize, ids: &str, is_v1: bool) -> String {
    let message = |message: String| {
        format!(r#"{{"type":"message",{ids}"timestamp":"2026-01-01T00:00:01.000Z","message":{message}}}"#)
    };
    let line = match word.kind {
        "u" => message(format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"words {at}"}}],"timestamp":1}}"#
        )),
        "b" => message(r#"{"role":"user","content":[{"type":"text","text":" "}],"timestamp":1}"#.to_owned()),
        "A" | "K" | "k" | "p" => message(pi_assistant(word, at)),
        "r" | "s" => {
            let said =
                if word.kind == "s" { "No result provided".to_owned() } else { format!("result {at}") };
            let id = word.names.first().unwrap_or(&"");
            message(format!(
                r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"t","content":[{{"type":"text","text":"{said}"}}],"isError":false,"timestamp":1}}"#
            ))
        }
        "-" => format!(r#"{{"type":"custom",{ids}"timestamp":"2026-01-01T00:00:01.000Z","customType":"c"}}"#),
        kept => {
            let kept = kept.trim_start_matches('c');
            let kept = if is_v1 {
                format!(r#""firstKeptEntryIndex":{kept}"#)
            } else {
                format!(r#""firstKeptEntryId":"e{kept}""#)
            };
            format!(
                r#"{{"type":"compaction",{ids}"timestamp":"2026-01-01T00:00:01.000Z","summary":"so far",{kept},"tokensBefore":9}}"#
            )
        }
    };
    line + "\n"
}

fn pi_assistant(word: &Word<'_>, at: usize) -> String {
    let mut blocks = Vec::new();
    if matches!(word.kind, "A" | "K") {
        blocks.push(format!(r#"{{"type":"text","text":"words {at}"}}"#));
    }
    let partial = if word.kind == "p" { r#","partialJson":"{\"a\":\"b""# } else { "" };
    for id in word.names.iter().filter(|id| id.parse::<u32>().is_err()) {
        blocks.push(format!(
            r#"{{"type":"toolCall","id":"{id}","name":"t","arguments":{{"a":"b"}}{partial}}}"#
        ));
    }
    let stop = if matches!(word.kind, "K" | "k") { "aborted" } else { "stop" };
    let blocks = blocks.join(",");
    format!(
        r#"{{"role":"assistant","content":[{blocks}],"api":"x","model":"m","stopReason":"{stop}","timestamp":1}}"#
    )
}

/// A Claude Code session: one line per block.
pub(crate) fn claude(text: &str) -> String {
    let mut file = String::new();
    for (at, word) in words(text).iter().enumerate() {
        let at = at + 1;
        let parent = if at == 1 { "null".to_owned() } else { format!("\"e{}\"", at - 1) };
        let id = word.names.first().unwrap_or(&"");
        let (kind, message) = match word.kind {
            "a" if word.names.is_empty() => (
                "assistant",
                format!(
                    r#"{{"id":"m{at}","role":"assistant","content":[{{"type":"text","text":"words"}}]}}"#
                ),
            ),
            "a" => (
                "assistant",
                format!(
                    r#"{{"id":"m{at}","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"t","input":{{}}}}]}}"#
                ),
            ),
            "r" => (
                "user",
                format!(
                    r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"out"}}]}}"#
                ),
            ),
            _ => ("user", r#"{"role":"user","content":"words"}"#.to_owned()),
        };
        file += &format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"e{at}\",\"parentUuid\":{parent},\"sessionId\":\"5e55\",\"isSidechain\":false,\"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":{message}}}\n"
        );
    }
    file
}

/// A Codex rollout.
pub(crate) fn codex(text: &str) -> String {
    let mut file =
        "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"5e55\"}}\n"
            .to_owned();
    for word in words(text) {
        let id = word.names.first().unwrap_or(&"");
        let item = match word.kind {
            "a" if word.names.is_empty() => {
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"words"}]}"#
                    .to_owned()
            }
            "a" => format!(r#"{{"type":"function_call","name":"t","arguments":"{{}}","call_id":"{id}"}}"#),
            "r" => format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"out"}}"#),
            _ => r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"words"}]}"#
                .to_owned(),
        };
        file += &format!(
            "{{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"response_item\",\"payload\":{item}}}\n"
        );
    }
    file
}

/// Damages a file as crashes and second writers do: cut, zeros, a lost newline, a byte, a duplicated line, a blank
/// line.
pub(crate) fn damage(bytes: &[u8], hurts: &[(u8, proptest::sample::Index)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    // The header stays, so that the file is still a session.
    let from = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0) + 1;
    for (kind, at) in hurts {
        if bytes.len() <= from + 1 {
            return bytes;
        }
        let at = from + at.index(bytes.len() - from);
        let newline = bytes[at..].iter().position(|byte| *byte == b'\n').map(|offset| at + offset);
        let after = newline.map_or(at, |newline| newline + 1);
        match (kind, newline) {
            (0, _) => bytes.truncate(at),
            (1, Some(_)) => drop(bytes.splice(after..after, [0; 7])),
            (2, Some(newline)) => drop(bytes.remove(newline)),
            (3, _) => bytes[at] = 0xFE,
            (4, Some(newline)) => {
                let start =
                    bytes[..newline].iter().rposition(|byte| *byte == b'\n').map_or(0, |start| start + 1);
                let line = bytes[start..=newline].to_vec();
                drop(bytes.splice(after..after, line));
            }
            (_, Some(newline)) => bytes.insert(newline, b'\n'),
            _ => {}
        }
    }
    bytes
}
