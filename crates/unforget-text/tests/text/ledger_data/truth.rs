//! Ground truth from the hosts' own structures, in plain JSON: each call and its outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::hidden::{hides_check, reports_failure};
use super::{KINDS, Rows};

/// A call and its answer, as the host recorded them.
pub(crate) struct Event {
    /// Number of the record with the answer.
    pub(crate) answer: usize,
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// Whether it failed, according to the host; `None` if it was never run.
    pub(crate) failed: Option<bool>,
    /// The host's own structure beside the text for the model.
    pub(crate) extra: Value,
    pub(crate) text: String,
}

/// All values of a file in order: a line may hold two.
pub(crate) fn values(path: &Path) -> Vec<Value> {
    let bytes = std::fs::read(path).unwrap();
    let mut values = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        values.extend(serde_json::Deserializer::from_slice(line).into_iter::<Value>().map_while(Result::ok));
    }
    values
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            list.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

const REJECTED: [&str; 3] =
    ["The user doesn't want to", "[Request interrupted by user for tool use]", "Operation aborted"];

pub(crate) fn claude(values: &[Value]) -> Vec<Event> {
    let mut calls: BTreeMap<String, (String, Value)> = BTreeMap::new();
    let mut events = Vec::new();
    for (at, value) in values.iter().enumerate() {
        for block in value["message"]["content"].as_array().into_iter().flatten() {
            let id = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
            if value["type"] == "assistant" && block["type"] == "tool_use" {
                calls.insert(id("id"), (id("name"), block["input"].clone()));
            } else if value["type"] == "user" && block["type"] == "tool_result" {
                let Some((tool, input)) = calls.remove(&id("tool_use_id")) else { continue };
                let text = text_of(&block["content"]);
                let rejected = REJECTED.iter().any(|start| text.starts_with(start));
                let failed = (!rejected).then(|| block["is_error"] == true);
                events.push(Event {
                    answer: at,
                    tool,
                    input,
                    failed,
                    extra: value["toolUseResult"].clone(),
                    text,
                });
            }
        }
    }
    events
}

pub(crate) fn pi(values: &[Value]) -> Vec<Event> {
    let mut calls: BTreeMap<String, (String, Value)> = BTreeMap::new();
    let mut events = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let message = &value["message"];
        let stopped = message["stopReason"] == "aborted" || message["stopReason"] == "error";
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "toolCall" && !stopped {
                let id = block["id"].as_str().unwrap().to_owned();
                calls.insert(id, (block["name"].as_str().unwrap().to_owned(), block["arguments"].clone()));
            }
        }
        if message["role"] == "toolResult" {
            let id = message["toolCallId"].as_str().unwrap();
            let Some((tool, input)) = calls.remove(id) else { continue };
            let text = text_of(&message["content"]);
            let rejected = REJECTED.iter().any(|start| text.starts_with(start));
            let failed = (!rejected).then(|| message["isError"] == true);
            events.push(Event { answer: at, tool, input, failed, extra: message["details"].clone(), text });
        }
    }
    events
}

pub(crate) fn codex(values: &[Value]) -> Vec<Event> {
    let mut calls: BTreeMap<String, (String, Value)> = BTreeMap::new();
    let mut ends: BTreeMap<String, Value> = BTreeMap::new();
    for value in values.iter().filter(|value| value["type"] == "event_msg") {
        let payload = &value["payload"];
        if payload["type"] == "exec_command_end" || payload["type"] == "patch_apply_end" {
            ends.insert(payload["call_id"].as_str().unwrap().to_owned(), payload.clone());
        }
    }
    let mut events = Vec::new();
    for (at, value) in values.iter().enumerate().filter(|(_, value)| value["type"] == "response_item") {
        let payload = &value["payload"];
        let id = payload["call_id"].as_str().unwrap_or_default().to_owned();
        match payload["type"].as_str().unwrap_or_default() {
            "function_call" => {
                let arguments = payload["arguments"].as_str().unwrap();
                let input = serde_json::from_str(arguments)
                    .unwrap_or_else(|_| serde_json::json!({ "cmd": arguments }));
                calls.insert(id, (payload["name"].as_str().unwrap().to_owned(), input));
            }
            "custom_tool_call" => {
                calls.insert(id, (payload["name"].as_str().unwrap().to_owned(), payload["input"].clone()));
            }
            "function_call_output" | "custom_tool_call_output" => {
                let Some((tool, input)) = calls.remove(&id) else { continue };
                let extra = ends.remove(&id).unwrap_or_default();
                let text = text_of(&payload["output"]);
                let told = text.split("\nOutput:").next().unwrap_or_default();
                let told = told
                    .split_once("exited with code ")
                    .or_else(|| told.split_once("Exit code: "))
                    .map(|(_, rest)| rest);
                let told = told.map(|rest| rest.lines().next().unwrap().trim() != "0");
                let ended = extra["exit_code"].as_i64().map(|code| code != 0);
                let patched = extra["success"].as_bool().map(|success| !success);
                let odd = text.starts_with("aborted by user")
                    || text.starts_with("apply_patch verification failed");
                let failed = ended.or(patched).or(told).unwrap_or(odd);
                events.push(Event { answer: at, tool, input, failed: Some(failed), extra, text });
            }
            _ => {}
        }
    }
    events
}

fn path_of(input: &Value) -> Option<String> {
    let path = input["file_path"].as_str().or_else(|| input["path"].as_str())?;
    Some(path.trim_start_matches("./").to_owned())
}

pub(crate) fn command_of(input: &Value) -> String {
    input["command"].as_str().or_else(|| input["cmd"].as_str()).unwrap_or_default().trim().to_owned()
}

pub(crate) fn is_shell(tool: &str) -> bool {
    matches!(tool, "Bash" | "bash" | "exec_command" | "shell")
}

/// The exit code in the host's words, by plain search.
fn code_of(event: &Event) -> Option<i64> {
    if let Some(code) = event.extra["exit_code"].as_i64().or_else(|| event.extra["exitCode"].as_i64()) {
        return Some(code);
    }
    let said = event.extra.as_str().unwrap_or(&event.text);
    let head = said.split("\nOutput:").next().unwrap();
    let tail =
        if event.failed == Some(true) { said.trim_end().lines().last().unwrap_or_default() } else { "" };
    let after = head
        .strip_prefix("Error: Exit code ")
        .or_else(|| head.strip_prefix("Exit code ").filter(|_| event.failed == Some(true)))
        .or_else(|| {
            head.starts_with("Chunk ID")
                .then(|| head.split_once("exited with code ").map(|(_, rest)| rest))?
        })
        .or_else(|| tail.strip_prefix("Command exited with code "))?;
    after.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().ok()
}

/// The summaries of test runners, counted line by line.
fn tests_of(text: &str) -> Option<(u64, u64)> {
    let number = |line: &str, word: &str| -> Option<u64> {
        let before = line.split(word).next().filter(|before| before.len() < line.len())?;
        before.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let (mut passed, mut failed, mut seen) = (0, 0, false);
    for line in text.lines().map(str::trim) {
        let sums = line.starts_with("test result:")
            || (line.starts_with('=') && line.ends_with('=') && line.contains(" in "));
        let mut words = line.split(", ").flat_map(|part| part.split(' '));
        let mix = words.next().is_some_and(|word| word.parse::<u64>().is_ok())
            && line.contains(" tests, ")
            && line.contains(" failure");
        if mix {
            failed += number(line, " failure").unwrap_or(0);
            passed += number(line, " tests, ").unwrap_or(0) - number(line, " failure").unwrap_or(0);
            seen = true;
        }
        let sums = sums || (line.starts_with("Tests:") && line.contains(" total"));
        if sums && (line.contains("passed") || line.contains("failed")) {
            passed += number(line, " passed").unwrap_or(0);
            failed += number(line, " failed").unwrap_or(0);
            seen = true;
        }
        for (start, slot) in [("--- PASS:", &mut passed), ("--- FAIL:", &mut failed)] {
            if line.starts_with(start) {
                *slot += 1;
                seen = true;
            }
        }
    }
    seen.then_some((passed, failed))
}

/// Rows derived from the host's own record, one per call, with the answering record.
pub(crate) fn truth(events: &[Event]) -> Rows {
    let mut rows: Rows = KINDS.iter().map(|kind| (*kind, BTreeSet::new())).collect();
    let mut runs: BTreeMap<String, u32> = BTreeMap::new();
    for event in events.iter().filter(|event| event.failed.is_some()) {
        files(event, &mut rows);
        if is_shell(&event.tool) {
            let run = runs.entry(command_of(&event.input)).or_default();
            *run += 1;
            rows.get_mut("commands").unwrap().insert(format!("@{} x{run}", event.answer));
            command(event, &mut rows);
        } else if let Some(url) = event.extra["url"].as_str().or_else(|| event.input["url"].as_str()) {
            rows.get_mut("addresses").unwrap().insert(url.to_owned());
        }
    }
    tasks(events, rows.get_mut("tasks").unwrap());
    failures(events, &mut rows);
    rows
}

fn files(event: &Event, rows: &mut Rows) {
    let (at, extra) = (event.answer, &event.extra);
    let path = || extra["filePath"].as_str().map(str::to_owned).or_else(|| path_of(&event.input)).unwrap();
    let mut add = |kind: &'static str, row: String| {
        rows.get_mut(kind).unwrap().insert(row);
    };
    match event.tool.as_str() {
        _ if event.failed == Some(true) => {}
        "Read" | "read" => {
            let shown = &extra["file"];
            let path = shown["filePath"].as_str().map_or_else(path, str::to_owned);
            if let (Some(first), Some(count @ 1..)) =
                (shown["startLine"].as_u64(), shown["numLines"].as_u64())
            {
                add("lines read", format!("{path} {first}-{} @{at}", first + count - 1));
            }
            add("files read", format!("{path} @{at}"));
        }
        "Write" | "Edit" | "MultiEdit" | "write" | "edit" => {
            add("files written", format!("{} @{at}", path()));
        }
        "apply_patch" => {
            for path in extra["changes"].as_object().into_iter().flat_map(|changes| changes.keys()) {
                add("files written", format!("{path} @{at}"));
            }
        }
        _ => {}
    }
}

fn runs_tests(event: &Event) -> bool {
    let runners = [
        "cargo test",
        "cargo nextest",
        "go test",
        "pytest",
        "jest",
        "vitest",
        "npm test",
        "npm run test",
        "mise run test",
        "mix test",
        "npx tsx --test",
        "make test",
    ];
    is_shell(&event.tool) && runners.iter().any(|runner| command_of(&event.input).contains(runner))
}

/// Whether a call failed: according to the host, or because its tests or its check did, which a pipe may hide from the
/// host.
fn has_failed(event: &Event) -> Option<bool> {
    let counts = tests_of(&event.text).filter(|_| runs_tests(event));
    let tests = counts.is_some_and(|(_, failed)| failed > 0);
    let check = hides_check(event) && counts.is_none_or(|(passed, _)| passed == 0) && reports_failure(event);
    event.failed.map(|failed| failed || tests || check)
}

/// A shell's work, by plain search in its command and output.
fn command(event: &Event, rows: &mut Rows) {
    let (at, line) = (event.answer, command_of(&event.input));
    let output = event.extra["stdout"].as_str().unwrap_or(&event.text);
    let mut add = |kind: &'static str, row: String| {
        rows.get_mut(kind).unwrap().insert(row);
    };
    if let Some(code) = code_of(event) {
        add("exit codes", format!("@{at} {code}"));
    }
    if runs_tests(event)
        && let Some((passed, failed)) = tests_of(&event.text)
    {
        add("tests", format!("@{at} {passed}/{failed}"));
    }
    if ["curl ", "wget ", "git clone "].iter().any(|word| line.contains(word)) {
        let words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'', ')', ';']));
        for url in words.filter(|word| word.starts_with("http") && !word.contains('$')) {
            add("addresses", url.to_owned());
        }
    }
    if line.contains("git ")
        && [" commit", " merge", " cherry-pick", " revert", " rebase"].iter().any(|verb| line.contains(verb))
    {
        for line in output.lines().filter_map(|line| line.strip_prefix('[')) {
            let inside = line.split_once("] ").map_or("", |(inside, _)| inside);
            let hash = inside.rsplit(' ').next().unwrap();
            if inside.contains(' ') && hash.len() >= 7 && hash.chars().all(|c| c.is_ascii_hexdigit()) {
                add("commits", hash.to_owned());
            }
        }
    }
}

/// The final state of every task.
fn tasks(events: &[Event], rows: &mut BTreeSet<String>) {
    let (mut marked, mut listed) = (BTreeMap::new(), BTreeMap::new());
    for event in events.iter().filter(|event| event.failed == Some(false)) {
        let extra = &event.extra;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        match event.tool.as_str() {
            "TaskCreate" => {
                marked.insert(text(&extra["task"]["id"]), "pending".to_owned());
            }
            "TaskUpdate" if extra["success"] == true && event.input["status"].is_string() => {
                marked.insert(text(&extra["taskId"]), text(&event.input["status"]));
            }
            "TodoWrite" => {
                let todos = extra["newTodos"].as_array().or_else(|| event.input["todos"].as_array()).unwrap();
                let todos: BTreeMap<String, String> =
                    todos.iter().map(|todo| (text(&todo["content"]), text(&todo["status"]))).collect();
                for (task, state) in &mut listed {
                    if !todos.contains_key(task) && state != "completed" {
                        "deleted".clone_into(state);
                    }
                }
                listed.extend(todos);
            }
            _ => {}
        }
    }
    rows.extend(marked.iter().chain(&listed).map(|(task, state)| format!("{task} {state}")));
}

/// The subject of a call: its file, its command without presentation, or the whole call.
fn subject(event: &Event) -> String {
    if is_shell(&event.tool) {
        let line = command_of(&event.input).replace(" 2>&1", "");
        let shown = [" | tail", " | head", " | grep", " | tee", " | cat", "; echo"]
            .iter()
            .fold(line.as_str(), |line, mark| line.split(mark).next().unwrap());
        let work = if shown.starts_with("cd ") {
            shown.split_once(" && ").map_or(shown, |(_, rest)| rest)
        } else {
            shown
        };
        return format!("run {}", work.trim());
    }
    match (event.tool.as_str(), path_of(&event.input)) {
        ("Read" | "read", Some(path)) => format!("read {path}"),
        ("Write" | "Edit" | "MultiEdit" | "write" | "edit", Some(path)) => format!("write {path}"),
        (tool, _) => format!("{tool} {}", event.input),
    }
}

/// Every failing result that leaves work undone, those with a later success of their subject, and those whose program
/// succeeded later in any form.
fn failures(events: &[Event], rows: &mut Rows) {
    for (at, event) in events.iter().enumerate().filter(|(_, event)| has_failed(event) == Some(true)) {
        if is_look(event) || event.failed == Some(true) && is_shell(&event.tool) && is_answer(event) {
            continue;
        }
        rows.get_mut("failures").unwrap().insert(format!("@{}", event.answer));
        let succeeds = |later: &Event| event.failed.is_some() && has_failed(later) == Some(false);
        let later = || events[at + 1..].iter().filter(|later| succeeds(later));
        // A refused call of another tool is over with the next success of the tool.
        let next = later().find(|later| later.tool == event.tool).filter(|_| !is_shell(&event.tool));
        let is_over = next.is_some_and(|next| subject(next) != subject(event));
        if !is_over && later().any(|later| subject(later) == subject(event)) {
            rows.get_mut("cleared").unwrap().insert(format!("@{}", event.answer));
        }
        let own = programs(event);
        if !is_over && later().any(|later| programs(later).iter().any(|program| own.contains(program))) {
            rows.get_mut("cleared in some form").unwrap().insert(format!("@{}", event.answer));
        }
    }
}

/// The commands of a line, cut at operators outside of quotations.
fn commands(line: &str) -> Vec<String> {
    let mut quote = None;
    let mut commands = vec![String::new()];
    for c in line.chars() {
        quote = match quote {
            Some(open) if open == c => None,
            None if c == '"' || c == '\'' => Some(c),
            quote => quote,
        };
        if quote.is_none() && matches!(c, '\n' | ';' | '|' | '&') {
            commands.push(String::new());
        } else {
            commands.last_mut().unwrap().push(c);
        }
    }
    let words = |part: &String| part.split_whitespace().collect::<Vec<_>>().join(" ");
    // What is left of `2>&1` is a number.
    commands.iter().map(words).filter(|part| part.contains(char::is_alphabetic)).collect()
}

/// Whether a call only looks or waits, or its program could not be started or was stopped.
fn is_look(event: &Event) -> bool {
    const TOOLS: [&str; 10] =
        ["Read", "read", "Grep", "grep", "Glob", "LS", "find", "ls", "WebFetch", "WebSearch"];
    const LOOKS: [&str; 30] = [
        "cd",
        "echo",
        "ls",
        "cat",
        "head",
        "tail",
        "wc",
        "find",
        "grep",
        "rg",
        "sed -n",
        "jq",
        "sleep",
        "sort",
        "awk",
        "git log",
        "git show",
        "git diff",
        "git status",
        "git rev-parse",
        "git branch",
        "git ls-",
        "gh pr view",
        "gh run view",
        "which",
        "stat",
        "file",
        "du",
        "test",
        "nl",
    ];
    let line = command_of(&event.input);
    let looks = |part: &String| {
        let gets = part.starts_with("curl ") && !part.contains(" -X") && !part.contains(" -d");
        gets || LOOKS.iter().any(|look| part.starts_with(look))
    };
    let ended =
        event.text.trim_end().ends_with("Command aborted") || event.text.starts_with("aborted by user after");
    ended
        || TOOLS.contains(&event.tool.as_str())
        || is_shell(&event.tool)
            && (matches!(code_of(event), Some(126 | 127)) || commands(&line).iter().all(looks))
}

/// The programs of a line; the file of another call, or the call.
fn programs(event: &Event) -> Vec<String> {
    if !is_shell(&event.tool) {
        return vec![subject(event)];
    }
    let line = command_of(&event.input);
    let commands = commands(&line);
    let programs =
        commands.iter().filter_map(|part| part.split_whitespace().find(|word| !word.contains('=')));
    programs.filter(|program| !matches!(*program, "cd" | "echo")).map(str::to_owned).collect()
}

/// Whether exit code 1 of this command is an answer: its last command asks, or only displays.
fn is_answer(event: &Event) -> bool {
    let line = command_of(&event.input);
    let last = [" && ", " || ", "; ", " | ", "\n"]
        .iter()
        .fold(line.as_str(), |rest, mark| rest.rsplit(mark).next().unwrap());
    let asks = [
        "grep ", "rg ", "diff ", "test ", "which ", "git grep", "git diff", "[ ", "head", "tail", "wc",
        "sort",
    ];
    code_of(event) == Some(1) && asks.iter().any(|word| last.trim_start().starts_with(word))
}
