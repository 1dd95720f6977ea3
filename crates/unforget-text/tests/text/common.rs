//! Entries and summaries of conversations made up for tests.

use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};
use unforget_core::id::Seq;
use unforget_text::*;

pub(crate) fn entry(origin: Origin, part: Part) -> Entry {
    let role = match origin {
        Origin::Human => Role::User,
        Origin::Model => Role::Assistant,
        _ => Role::Tool,
    };
    Entry { role, parts: vec![part], ..Entry::bare(origin) }
}

pub(crate) fn says(origin: Origin, text: &str) -> Entry {
    entry(origin, Part::Text(text.into()))
}

/// A call of `Bash` with its output.
pub(crate) fn runs(command: &str, output: &str) -> [Entry; 2] {
    calls("Bash", &format!("{{\"command\":\"{command}\"}}"), output)
}

/// A call of a tool with its output.
pub(crate) fn calls(name: &str, arguments: &str, output: &str) -> [Entry; 2] {
    let call = ToolCall {
        id: "c".into(),
        name: name.into(),
        arguments: arguments.into(),
        complete: true,
        raw: None,
    };
    let result = ToolResult {
        call_id: "c".into(),
        name: String::new(),
        content: vec![Part::Text(output.into())],
        is_error: false,
        exit_code: None,
    };
    [entry(Origin::Model, Part::ToolCall(call)), entry(Origin::Tool, Part::ToolResult(result))]
}

pub(crate) fn summary_from(first: u64, entries: &[Entry]) -> Summary {
    let sources: Vec<Source<'_>> =
        entries.iter().zip(first..).map(|(entry, seq)| Source { seq: Seq(seq), entry }).collect();
    summarise(&sources)
}

pub(crate) fn summary(entries: &[Entry]) -> Summary {
    summary_from(0, entries)
}
