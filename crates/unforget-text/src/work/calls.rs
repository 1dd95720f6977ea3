//! Reads calls: the tool and its arguments.

use serde_json::{Map, Value};
use unforget_core::digest::Digest;
use unforget_core::entry::ToolCall;
use unforget_core::ledger::{Called, Command, Deed, FileChange, Lines, TaskDeed, TaskState, Telling};

use super::shell;
use super::target::{target, words};
use crate::clean::without_blobs;
use crate::clip::{clip, head, one_line};
use crate::secret::redact;
use crate::sections::SectionKind;

/// The purpose of a tool.
#[derive(Clone, Copy, PartialEq)]
enum Tool {
    Read,
    Write,
    Edit,
    /// A tool with a `command` argument that selects its purpose.
    Editor,
    Delete,
    Patch,
    Shell,
    Search,
    Fetch,
    List,
    Open,
    Mark,
}

/// Names in lower case, without `_` and `-`.
const TOOLS: &[(Tool, &[&str])] = &[
    (
        Tool::Read,
        &[
            "read",
            "readfile",
            "view",
            "viewfile",
            "openfile",
            "notebookread",
            "fsread",
            "readtextfile",
            "readmediafile",
            "getfilecontents",
        ],
    ),
    (
        Tool::Write,
        &["write", "writefile", "create", "createfile", "savefile", "newfile", "fswrite", "writetofile"],
    ),
    (
        Tool::Edit,
        &[
            "edit",
            "multiedit",
            "editfile",
            "notebookedit",
            "strreplace",
            "replace",
            "applydiff",
            "insert",
            "append",
            "replaceinfile",
            "insertedit",
            "updatefile",
        ],
    ),
    (Tool::Editor, &["strreplaceeditor", "strreplacebasededittool", "texteditor", "editor"]),
    (Tool::Delete, &["delete", "deletefile", "removefile"]),
    (Tool::Patch, &["applypatch", "patch"]),
    (
        Tool::Shell,
        &[
            "bash",
            "shell",
            "exec",
            "execcommand",
            "localshell",
            "runcommand",
            "runterminalcmd",
            "executecommand",
            "runshellcommand",
            "runinterminal",
            "executebash",
            "terminal",
            "sh",
            "zsh",
            "powershell",
            "containerexec",
            "shellcommand",
        ],
    ),
    (
        Tool::Search,
        &[
            "grep",
            "glob",
            "ls",
            "find",
            "search",
            "rg",
            "listdir",
            "listdirectory",
            "filesearch",
            "grepsearch",
            "searchfiles",
            "websearch",
            "codebasesearch",
        ],
    ),
    (
        Tool::Fetch,
        &[
            "webfetch",
            "fetch",
            "fetchurl",
            "readurl",
            "openurl",
            "httpget",
            "browsernavigate",
            "navigate",
            "goto",
        ],
    ),
    (Tool::List, &["todowrite", "updateplan", "writetodos", "updatetodos"]),
    (Tool::Open, &["taskcreate", "createtask", "todoadd"]),
    (Tool::Mark, &["taskupdate", "updatetask"]),
];

const PATHS: &[&str] = &[
    "file_path",
    "path",
    "filePath",
    "filepath",
    "absolute_path",
    "target_file",
    "notebook_path",
    "filename",
    "file",
];
const URLS: &[&str] = &["url", "uri", "href", "link"];
const CONTENT: &[&str] = &["content", "contents", "file_text", "text"];
const COMMANDS: &[&str] = &["command", "cmd", "script", "commands"];

/// Longest path or address kept, in bytes, and longest text of a task, in characters.
const PATH_BYTES_MAX: usize = 1_024;
const TASK_CHARS_MAX: usize = 200;
/// Most deeds of one call, and most tasks of one list.
const DEEDS_MAX: usize = 256;

/// Reads a call.
pub(super) fn read(call: &ToolCall) -> Called {
    let parsed: Option<Value> = serde_json::from_str(&call.arguments).ok();
    let empty = Map::new();
    let fields = parsed.as_ref().and_then(Value::as_object).unwrap_or(&empty);
    let raw = match &parsed {
        Some(Value::String(text)) => text.as_str(),
        _ => fields.get("input").and_then(Value::as_str).unwrap_or(&call.arguments),
    };
    let (telling, mut deeds) = deeds(call, fields, raw);
    deeds.truncate(DEEDS_MAX);
    let aim = one_line(&without_blobs(&redact(&target(call).text)));
    let what = format!("{} {}", clip(&one_line(&call.name), 40), clip(&aim, 120));
    let print = Digest::of(format!("{}\0{}", call.name, call.arguments).as_bytes());
    let tool = Digest::of(call.name.as_bytes());
    Called { id: call.id.clone(), what: what.trim().to_owned(), tool, print, telling, deeds }
}

fn deeds(call: &ToolCall, fields: &Map<String, Value>, raw: &str) -> (Telling, Vec<Deed>) {
    let path = || text(fields, PATHS).and_then(plain_path);
    let wrote = |path: Option<String>, change: FileChange| -> Vec<Deed> {
        let content = text(fields, CONTENT).filter(|_| change == FileChange::Whole).map(content_digest);
        path.map(|path| Deed::Wrote { path, change, content }).into_iter().collect()
    };
    match tool(&call.name, fields) {
        Some(Tool::Read) => {
            let deed = path().map(|path| Deed::Read { path, lines: lines(fields) });
            (Telling::Shows, deed.into_iter().collect())
        }
        Some(Tool::Write) => (Telling::Once, wrote(path(), FileChange::Whole)),
        Some(Tool::Edit | Tool::Editor) => (Telling::Once, wrote(path(), FileChange::Part)),
        Some(Tool::Delete) => (Telling::Once, wrote(path(), FileChange::Gone)),
        Some(Tool::Patch) => {
            let patch = text(fields, &["patch", "input", "diff"]).unwrap_or(raw);
            (Telling::Once, patch_deeds(patch))
        }
        Some(Tool::Shell) => shell_deeds(fields, raw),
        Some(Tool::Search) => (Telling::Again, Vec::new()),
        Some(Tool::Fetch) => {
            let url =
                text(fields, URLS).map(|url| Deed::Fetched(redact(head(url, PATH_BYTES_MAX)).into_owned()));
            (Telling::Again, url.into_iter().collect())
        }
        Some(Tool::List) => (Telling::Once, list(fields).map(Deed::Tasks).into_iter().collect()),
        Some(Tool::Open) => {
            let task = text(fields, &["subject", "title", "content", "description", "task"]).map(task_text);
            (Telling::Once, task.map(|task| Deed::Tasks(TaskDeed::Open(task))).into_iter().collect())
        }
        Some(Tool::Mark) => (Telling::Once, mark(fields).map(Deed::Tasks).into_iter().collect()),
        None => (Telling::Once, by_words(call)),
    }
}

/// The tool by its name; a server's prefix (`mcp__files__read_file`) makes no difference.
fn tool(name: &str, fields: &Map<String, Value>) -> Option<Tool> {
    let name = name.rsplit("__").next().unwrap_or(name);
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let found = TOOLS.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(tool, _)| *tool)?;
    match (found, text(fields, &["command"])) {
        (Tool::Editor, Some("view")) => Some(Tool::Read),
        (Tool::Editor, Some("create")) => Some(Tool::Write),
        _ => Some(found),
    }
}

/// Whether the tool of this name runs command lines.
pub(crate) fn runs_commands(name: &str) -> bool {
    matches!(tool(name, &Map::new()), Some(Tool::Shell))
}

/// Deeds of an unknown tool: files, by the words of the tool's name.
fn by_words(call: &ToolCall) -> Vec<Deed> {
    let files = target(call).files.into_iter().filter_map(|(kind, path)| Some((kind, plain_path(&path)?)));
    files
        .map(|(kind, path)| match kind {
            SectionKind::FilesRead => Deed::Read { path, lines: Lines::SOME },
            _ => Deed::Wrote { path, change: FileChange::Part, content: None },
        })
        .collect()
}

fn shell_deeds(fields: &Map<String, Value>, raw: &str) -> (Telling, Vec<Deed>) {
    let told = COMMANDS.iter().find_map(|key| fields.get(*key).and_then(words));
    // A list without keys is a command line too.
    let told = told.or_else(|| serde_json::from_str(raw).ok().as_ref().and_then(words));
    // Code mode: the commands stand in a script.
    let script = ["source", "code", "input", "script"].iter().find_map(|key| fields.get(*key)?.as_str());
    let told = super::code::commands(script.unwrap_or(raw)).or(told);
    let Some(line) = told.or_else(|| (!raw.trim_start().starts_with('{')).then(|| raw.to_owned())) else {
        return (Telling::Once, Vec::new());
    };
    let (line, patch) = match line.find("*** Begin Patch") {
        // Lines of a patch behind or between commands are no commands.
        Some(at) if script.is_some() || raw.contains("tools.") => {
            (line.get(..at).unwrap_or_default().to_owned(), patch_deeds(&line))
        }
        Some(_) => {
            let patch = patch_deeds(&line);
            (line, patch)
        }
        None => (line, Vec::new()),
    };
    if line.trim().is_empty() {
        return (Telling::Once, patch);
    }
    let read = shell::read(&line);
    let shown = without_blobs(&redact(&one_line(head(&line, 4_096))));
    let command = Command {
        text: clip(&shown, 400).into_owned(),
        same: Digest::of(line.trim().as_bytes()),
        work: Digest::of(read.work.as_bytes()),
        tests: read.tests,
        commits: read.commits,
        tells: read.tells,
        parts: read.parts,
        fails: read.fails,
    };
    let telling = if read.shows { Telling::Shows } else { Telling::Again };
    let deeds = std::iter::once(Deed::Ran(command)).chain(patch).chain(read.deeds);
    (telling, deeds.collect())
}

fn patch_deeds(patch: &str) -> Vec<Deed> {
    let files = patch_files(patch)
        .into_iter()
        .filter_map(|(change, path)| Some(Deed::Wrote { path: plain_path(path)?, change, content: None }));
    files.collect()
}

/// The files that a patch names, and the kind of change. Lines of content begin with a blank, `+` or `-`.
pub(crate) fn patch_files(text: &str) -> Vec<(FileChange, &str)> {
    if memchr::memmem::find(text.as_bytes(), b"*** ").is_none() {
        return Vec::new();
    }
    let heads = [
        ("*** Update File: ", FileChange::Part),
        ("*** Add File: ", FileChange::Whole),
        ("*** Delete File: ", FileChange::Gone),
        ("*** Move to: ", FileChange::Whole),
    ];
    let named = |line| {
        heads
            .iter()
            .find_map(|(head, change)| str::strip_prefix(line, head).map(|path| (*change, path.trim())))
    };
    let mut files: Vec<(FileChange, &str)> = Vec::new();
    for line in text.lines() {
        let Some((change, path)) = named(line) else { continue };
        if line.starts_with("*** Move to: ")
            && let Some((moved, _)) = files.last_mut()
        {
            *moved = FileChange::Gone;
        }
        files.push((change, path));
    }
    files
}

/// The lines requested by the arguments of a read.
fn lines(fields: &Map<String, Value>) -> Lines {
    let number = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key)).and_then(whole_number);
    if let Some([first, last]) = fields.get("view_range").and_then(Value::as_array).map(Vec::as_slice) {
        let first = whole_number(first).unwrap_or(1).max(1);
        return Lines { first, last: whole_number(last) };
    }
    let first = number(&["offset", "start_line", "startLine", "line", "line_start"]).unwrap_or(1).max(1);
    let count = number(&["limit", "num_lines", "line_count"]);
    let last = number(&["end_line", "endLine", "line_end"])
        .or_else(|| count.map(|count| first.saturating_add(count.max(1)) - 1));
    Lines { first, last }
}

fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn list(fields: &Map<String, Value>) -> Option<TaskDeed> {
    let list = ["todos", "plan", "items", "tasks"].iter().find_map(|key| fields.get(*key)?.as_array())?;
    let task = |item: &Value| {
        let item = item.as_object()?;
        let words = text(item, &["content", "step", "text", "title", "description"])?;
        Some((task_text(words), text(item, &["status", "state"]).and_then(task_state).unwrap_or_default()))
    };
    Some(TaskDeed::List(list.iter().take(DEEDS_MAX).filter_map(task).collect()))
}

fn mark(fields: &Map<String, Value>) -> Option<TaskDeed> {
    let id = ["taskId", "task_id", "id"].iter().find_map(|key| match fields.get(*key)? {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    })?;
    let state = text(fields, &["status", "state"]).and_then(task_state);
    Some(TaskDeed::Mark { id, text: text(fields, &["subject", "title"]).map(task_text), state })
}

fn task_state(word: &str) -> Option<TaskState> {
    match word {
        "pending" | "open" | "todo" | "not_started" => Some(TaskState::Open),
        "in_progress" | "in-progress" | "active" | "doing" => Some(TaskState::Active),
        "completed" | "complete" | "done" | "closed" => Some(TaskState::Done),
        "deleted" | "cancelled" | "canceled" | "dropped" => Some(TaskState::Dropped),
        _ => None,
    }
}

fn task_text(words: &str) -> String {
    clip(&one_line(&redact(head(words, 4_096))), TASK_CHARS_MAX).into_owned()
}

/// The first non-empty text among these fields.
fn text<'a>(fields: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| fields.get(*key)?.as_str().filter(|text| !text.trim().is_empty()))
}

/// A path as the call names it, without a leading `./`. Two names of one file stay two.
pub(super) fn plain_path(path: &str) -> Option<String> {
    let mut path = path.trim();
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    let fits = !path.is_empty() && path.len() <= PATH_BYTES_MAX && !path.contains('\n');
    fits.then(|| path.to_owned())
}

/// Digest of a file's content without the final line end, which some tools add and others cut off.
pub(super) fn content_digest(content: &str) -> Digest {
    Digest::of(content.strip_suffix('\n').unwrap_or(content).as_bytes())
}
