//! Finds the target of a call.

use serde_json::Value;
use unforget_core::entry::ToolCall;

use super::{commands, patch_files};
use crate::clip::head;
use crate::sections::SectionKind;

/// The target of a call, and the files that it reads or writes.
pub(crate) struct Target {
    /// The telling argument: a path, a command, a query. Empty without one.
    pub(crate) text: String,
    /// Files by [`SectionKind::FilesRead`] or [`SectionKind::FilesWritten`].
    pub(crate) files: Vec<(SectionKind, String)>,
}

/// Names of arguments that name a file.
const PATHS: &[&str] = &[
    "file_path",
    "path",
    "filePath",
    "filepath",
    "filename",
    "file",
    "notebook_path",
    "target_file",
    "absolute_path",
];
/// Names of arguments that describe a call's subject, most telling first.
const TELLING: &[&str] = &[
    "command",
    "cmd",
    "script",
    "pattern",
    "query",
    "q",
    "url",
    "uri",
    "name",
    "title",
    "description",
    "prompt",
    "input",
    "text",
    "id",
    "code",
];

/// Finds the target of a call. Unparsable arguments are read as text. Cost: linear in the arguments.
pub(crate) fn target(call: &ToolCall) -> Target {
    let parsed: Option<Value> = serde_json::from_str(&call.arguments).ok();
    let raw = match &parsed {
        Some(Value::Object(_)) => None,
        Some(Value::String(text)) => Some(text.as_str()),
        _ => Some(call.arguments.as_str()),
    };
    // Code mode: the command stands in a script.
    let script = match &parsed {
        Some(Value::Object(fields)) => {
            ["source", "code", "input"].iter().find_map(|key| fields.get(*key)?.as_str())
        }
        _ => raw,
    };
    if let Some(run) = script.and_then(commands) {
        let files = patched(&run);
        let text = match (run.starts_with("*** Begin Patch"), files.first()) {
            (true, Some((_, path))) => path.clone(),
            _ => head(&run, 400).to_owned(),
        };
        return Target { text, files };
    }
    if let Some(raw) = raw {
        let files = patched(raw);
        let text = files.first().map_or_else(|| head(raw, 400).to_owned(), |(_, path)| path.clone());
        return Target { text, files };
    }
    let Some(Value::Object(fields)) = parsed else {
        return Target { text: String::new(), files: Vec::new() };
    };
    let path = PATHS.iter().find_map(|key| fields.get(*key).and_then(Value::as_str));
    if let Some(path) = path {
        let files = file_kind(&call.name).map(|kind| (kind, path.to_owned())).into_iter().collect();
        let pattern = fields.get("pattern").and_then(Value::as_str);
        return Target {
            text: pattern
                .map_or_else(|| path.to_owned(), |pattern| format!("{} in {path}", head(pattern, 200))),
            files,
        };
    }
    let told = TELLING.iter().find_map(|key| fields.get(*key).and_then(words));
    let told = told.or_else(|| fields.values().find_map(words)).unwrap_or_default();
    let files = patched(&told);
    let text = match files.first() {
        Some((_, path)) if memchr::memmem::find(told.as_bytes(), b"*** Begin Patch").is_some() => {
            path.clone()
        }
        _ => head(&told, 400).to_owned(),
    };
    Target { text, files }
}

/// A string, or a joined list of strings (commands are often lists), without a shell wrapper.
pub(crate) fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(list) => {
            let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            let words = match words.as_slice() {
                [shell, flag, script] if shell.ends_with("sh") && flag.starts_with('-') => vec![*script],
                _ => words,
            };
            (!words.is_empty()).then(|| words.join(" "))
        }
        _ => None,
    }
}

/// Files named by the lines of a patch.
fn patched(text: &str) -> Vec<(SectionKind, String)> {
    let files = patch_files(text).into_iter().take(40);
    files.map(|(_, path)| (SectionKind::FilesWritten, path.to_owned())).collect()
}

/// Whether a tool of this name reads or writes a given path.
fn file_kind(name: &str) -> Option<SectionKind> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&[
        "write", "edit", "create", "replace", "patch", "insert", "append", "save", "delete", "remove", "move",
    ]) {
        Some(SectionKind::FilesWritten)
    } else if has(&["read", "view", "cat", "open", "get_file", "fetch_file"]) {
        Some(SectionKind::FilesRead)
    } else {
        None
    }
}
