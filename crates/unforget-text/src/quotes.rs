//! Statements of an entry, word for word, for an answer without a model.

use serde_json::Value;
use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};

use crate::clip::{clip, one_line};
use crate::discourse::{Class, is_guess, statements};
use crate::lines::error_lines;
use crate::sentences::sentences;
use crate::spoken::spoken;

/// Most characters of a quote.
const QUOTE_CHARS: usize = 280;

/// Most lines that are quoted of a tool's output.
const LINES_MAX: usize = 60;

/// Shortest line of a tool's output that is quoted, in characters.
const LINE_CHARS_MIN: usize = 8;

/// What a quote tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuoteKind {
    /// A person said it.
    Said,
    /// A decision, or the reason for something.
    Decided,
    /// Completed work, and calls of tools.
    Done,
    /// An error, or a call that failed.
    Failed,
    /// Remaining work.
    Open,
    /// Anything else: findings, denials, lines of output, calls whose result is not known.
    Found,
}

impl QuoteKind {
    /// All kinds, in the order of an answer.
    pub const ALL: [Self; 6] = [Self::Said, Self::Decided, Self::Done, Self::Failed, Self::Open, Self::Found];

    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Said => "said",
            Self::Decided => "decided",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Open => "open",
            Self::Found => "found",
        }
    }
}

/// A statement of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// What it tells.
    pub kind: QuoteKind,
    /// Its words on one line, at most 280 characters.
    pub text: String,
    /// The call that it tells of. Another entry holds the result, which decides whether the work is done.
    pub call_id: Option<String>,
}

/// The statements of an entry, in order. Narration, bare headings and pasted text are left out.
///
/// Cost: linear.
pub fn quotes(entry: &Entry) -> Vec<Quote> {
    let mut found = Vec::new();
    for part in &entry.parts {
        match part {
            Part::Text(text) if is_spoken(entry) => of_person(text, &mut found),
            Part::Text(text) => of_model(text, is_told(entry), &mut found),
            Part::ToolCall(call) => {
                let before = found.len();
                add(QuoteKind::Found, &called(call), &mut found);
                for quote in found.iter_mut().skip(before) {
                    quote.call_id = Some(call.id.clone());
                }
            }
            Part::ToolResult(result) => of_tool(result, &mut found),
            Part::Thinking { .. } | Part::Media(_) | Part::Opaque { .. } => (),
        }
    }
    found
}

/// Whether a person's own words are its text: typed, or in a talk between people.
fn is_spoken(entry: &Entry) -> bool {
    entry.origin == Origin::Human || entry.role == Role::None
}

/// Whether it tells what was done and decided: a model's answer, or the host's summary of many.
fn is_told(entry: &Entry) -> bool {
    matches!(entry.origin, Origin::Model | Origin::HostSummary)
}

/// A call as a person would write it down: the command where there is one.
fn called(call: &ToolCall) -> String {
    let arguments: Option<Value> = serde_json::from_str(&call.arguments).ok();
    let command = arguments.as_ref().and_then(|arguments| arguments.get("command")?.as_str());
    format!("{}: {}", call.name, command.unwrap_or(&call.arguments))
}

/// Adds a statement. A line that ends in a colon introduces something and means nothing alone.
fn add(kind: QuoteKind, text: &str, found: &mut Vec<Quote>) {
    let text = one_line(text);
    let text = text.trim_start_matches(['-', '*', '#', '>', '•', ' ']);
    if text.chars().any(char::is_alphanumeric) && !text.trim_end_matches(['*', '_']).ends_with([':', '：']) {
        found.push(Quote { kind, text: clip(text, QUOTE_CHARS).into_owned(), call_id: None });
    }
}

fn of_person(text: &str, found: &mut Vec<Quote>) {
    for line in spoken(text) {
        for sentence in sentences(line) {
            add(QuoteKind::Said, sentence, found);
        }
    }
}

/// * `is_told` - whether its statements are about this history. Otherwise they are instructions and reminders that a host inserted.
fn of_model(text: &str, is_told: bool, found: &mut Vec<Quote>) {
    for point in statements(text) {
        let kind = match point.class {
            _ if !is_told => QuoteKind::Found,
            // `The likely culprit is the layout` decides nothing yet.
            Class::Cause if is_guess(&point.text) => QuoteKind::Found,
            Class::Cause | Class::Choice => QuoteKind::Decided,
            Class::Deed => QuoteKind::Done,
            Class::Next => QuoteKind::Open,
            // What is not so did not fail: `There are no task checkpoints`.
            Class::Denial | Class::Other => QuoteKind::Found,
        };
        add(kind, &point.text, found);
    }
}

fn of_tool(result: &ToolResult, found: &mut Vec<Quote>) {
    for part in &result.content {
        let Part::Text(text) = part else { continue };
        let errors = error_lines(text, 5);
        for line in &errors {
            add(QuoteKind::Failed, line, found);
        }
        let lines = text.lines().filter(|line| line.trim().chars().count() >= LINE_CHARS_MIN);
        let others = lines.filter(|line| !errors.iter().any(|error| error.trim() == line.trim()));
        // A failed run also prints what passed. Without a line that names the error, all of it does.
        let kind = if errors.is_empty() && result.is_error { QuoteKind::Failed } else { QuoteKind::Found };
        others.take(LINES_MAX).for_each(|line| add(kind, line, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(role: Role, part: Part) -> Entry {
        let origin = if role == Role::User { Origin::Human } else { Origin::Model };
        Entry { role, parts: vec![part], ..Entry::bare(origin) }
    }

    #[test]
    fn words_of_a_host_are_nobodys() {
        let text = "You are in plan mode. I fixed the parser in src/parse.rs.".to_owned();
        let summary =
            |origin| Entry { role: Role::User, parts: vec![Part::Text(text.clone())], ..Entry::bare(origin) };
        let kinds =
            |origin| -> Vec<QuoteKind> { quotes(&summary(origin)).iter().map(|one| one.kind).collect() };
        assert!(kinds(Origin::Injected).iter().all(|kind| *kind == QuoteKind::Found));
        assert!(kinds(Origin::HostSummary).contains(&QuoteKind::Done), "a summary tells what was done");
        assert!(!kinds(Origin::HostSummary).contains(&QuoteKind::Said), "and no person said it");
    }

    #[test]
    fn quotes_table() {
        let table = [
            (
                Role::User,
                "Use port 8080. Never push to main.",
                vec![(QuoteKind::Said, "Use port 8080."), (QuoteKind::Said, "Never push to main.")],
            ),
            (Role::Assistant, "Let me look at the file.", vec![]),
            (
                Role::Assistant,
                "I fixed the parser in src/parse.rs. The tests failed because the fixture had no newline.",
                vec![
                    (QuoteKind::Done, "I fixed the parser in src/parse.rs."),
                    (QuoteKind::Decided, "The tests failed because the fixture had no newline."),
                ],
            ),
            (
                Role::Assistant,
                "The likely culprit is the layout of the repository in src/.",
                vec![(QuoteKind::Found, "The likely culprit is the layout of the repository in src/.")],
            ),
            (
                Role::Assistant,
                "Invalid themes will never crash the app again!",
                vec![(QuoteKind::Found, "Invalid themes will never crash the app again!")],
            ),
        ];
        for (role, text, want) in table {
            let found = quotes(&entry(role, Part::Text(text.to_owned())));
            let found: Vec<(QuoteKind, &str)> =
                found.iter().map(|one| (one.kind, one.text.as_str())).collect();
            assert_eq!(found, want, "{text}");
        }
    }

    #[test]
    fn a_call_is_done_when_its_result_says_so() {
        let call = ToolCall {
            id: "c1".to_owned(),
            name: "Bash".to_owned(),
            arguments: r#"{"command":"npm run publish"}"#.to_owned(),
            complete: true,
            raw: None,
        };
        let found = quotes(&entry(Role::Assistant, Part::ToolCall(call)));
        let want = Quote {
            kind: QuoteKind::Found,
            text: "Bash: npm run publish".to_owned(),
            call_id: Some("c1".to_owned()),
        };
        assert_eq!(found, [want]);
    }

    #[test]
    fn a_result_gives_its_errors_first() {
        let content = vec![Part::Text("compiling unforget\nerror: cannot find value `x`\nmore".to_owned())];
        let result = ToolResult {
            call_id: "c".into(),
            name: "Bash".into(),
            content,
            is_error: true,
            exit_code: Some(1),
        };
        let found = quotes(&entry(Role::Tool, Part::ToolResult(result)));
        let texts: Vec<(&str, &str)> = found.iter().map(|one| (one.kind.name(), one.text.as_str())).collect();
        assert_eq!(texts, [("failed", "error: cannot find value `x`"), ("found", "compiling unforget")]);
    }
}
