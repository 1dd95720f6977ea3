//! Scripts for foreign clients: they act on the tools that a client offers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Deed, Say, Script};

/// The script with this name.
pub fn by_name(name: &str) -> Option<Script> {
    match name {
        "tools" => Some(tools()),
        "words" => Some(Arc::new(|_, number| Say::text(words(number)))),
        _ => None,
    }
}

/// Every question is answered with calls of an offered tool, and their results with text. Every fifth request that may
/// call gets two calls at once. A request without tools gets text; a request for an object gets one.
///
/// A question with the word `sub-agent` goes to a sub-agent, if the client has them.
pub fn tools() -> Script {
    Arc::new(|request, number| {
        if wants_object(request) {
            return Say::text(json!({"title": "Reading files", "isNewTopic": true}).to_string());
        }
        let history = history(request);
        let newest = history.iter().rev().find(|item| !is_aside(item));
        if newest.is_none_or(is_result) {
            return Say::text(words(number));
        }
        let offered = offered(request);
        let question = newest.map(|item| item["content"].to_string()).unwrap_or_default();
        if question.contains("sub-agent") && offered.iter().any(|name| name == "Agent") {
            let task = json!({"description": "Reads a file", "prompt": format!("Read file {number} and say what is in it."),
                              "subagent_type": "general-purpose"});
            return Say::deed("Agent", task);
        }
        let Some(deed) = KNOWN.iter().find(|(name, _)| offered.iter().any(|other| other == name)) else {
            return Say::text(words(number));
        };
        let count = if number % 5 == 4 { 2 } else { 1 };
        let deeds = (0..count)
            .map(|index| Deed { name: deed.0.to_owned(), arguments: (deed.1)(&format!("{number}-{index}")) });
        Say { text: format!("I look at file {number}."), deeds: deeds.collect(), ..Say::default() }
    })
}

/// Tools of known clients, and their arguments for reading a file.
type Known = (&'static str, fn(&str) -> Value);

const KNOWN: [Known; 6] = [
    ("Bash", |file| json!({"command": command(file), "description": "Prints a file"})),
    ("exec", |file| {
        json!(format!(
            "const r = await tools.exec_command({{cmd: {:?}}});\ntext(r.output ?? r);",
            command(file)
        ))
    }),
    ("exec_command", |file| json!({"cmd": command(file)})),
    ("shell_command", |file| json!({"command": command(file)})),
    ("shell", |file| json!({"command": ["bash", "-c", command(file)]})),
    ("read", |file| json!({"path": format!("notes/file-{file}.txt")})),
];

/// A command that prints a file of some 3,000 tokens.
fn command(file: &str) -> String {
    format!("seq -f 'file {file}, line %g: words that are in no other file than number {file}' 1 150")
}

fn words(number: usize) -> String {
    format!("Number {number} is done: the file says so, in words that are worth keeping. ").repeat(4)
}

pub(super) fn history(request: &Value) -> &[Value] {
    let history = request.get("messages").or_else(|| request.get("input")).and_then(Value::as_array);
    history.map_or(&[], Vec::as_slice)
}

/// Whether an item is a client's own text between messages, which no person wrote.
pub(super) fn is_aside(item: &Value) -> bool {
    matches!(item["role"].as_str(), Some("system" | "developer"))
}

fn is_result(item: &Value) -> bool {
    let kind = item["type"].as_str().unwrap_or_default();
    let holds_one =
        || item["content"].as_array().into_iter().flatten().any(|block| block["type"] == "tool_result");
    item["role"] == "tool" || kind.ends_with("_call_output") || holds_one()
}

pub(super) fn wants_object(request: &Value) -> bool {
    let formats = [
        &request["output_config"]["format"]["type"],
        &request["text"]["format"]["type"],
        &request["response_format"]["type"],
    ];
    formats.into_iter().any(|format| matches!(format.as_str(), Some("json_schema" | "json_object")))
}

/// Names of the tools of a request, wherever they are listed.
pub(super) fn offered(request: &Value) -> Vec<String> {
    let of_items = history(request).iter().filter(|item| item["type"] == "additional_tools");
    let lists = std::iter::once(request).chain(of_items);
    let mut open: Vec<&Value> = lists.filter_map(|holder| holder["tools"].as_array()).flatten().collect();
    let mut names = Vec::new();
    while let Some(tool) = open.pop() {
        open.extend(tool["tools"].as_array().into_iter().flatten());
        let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
        names.extend(name.map(str::to_owned));
    }
    names
}
