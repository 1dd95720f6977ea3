//! Where a session stands: what a person asked last, how the last answer ends, and a last act without success.
//!
//! These answer *what is open?* and *what is next?* of a session whose ledger has no open row.

use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_core::id::{Seq, Thread};
use unforget_store::Conversation;
use unforget_text::numbers::one_line;
use unforget_text::{Quote, QuoteKind, quotes};

use super::lines::results_of;
use super::status::StatusRow;
use crate::entry_text::{is_typed, words};
use crate::recall::turns::{PageStart, TurnEntry};
use crate::thread::ThreadRef;
use crate::{Engine, EngineError};

/// Number of entries that are read, the newest.
const ENTRIES: usize = 80;

/// Number of statements from the end of the last answer.
const CLOSING: usize = 2;

/// Most characters of a row.
const ROW_CHARS: usize = 280;

/// The rows of a session's end, the weightiest first.
///
/// Cost: reads the newest 80 entries.
pub(super) fn standing(engine: &Engine, stored: &Conversation) -> Result<Vec<StatusRow>, EngineError> {
    let lane = ThreadRef { conversation: stored.id, thread: Thread(0) };
    let page = engine.read_page(lane, PageStart::Newest, ENTRIES)?;
    let newest = || page.entries.iter().rev();
    let mut rows = Vec::new();
    if let Some(act) = newest().find(|read| has_call(&read.entry)) {
        rows.extend(last_act(engine, stored, act)?);
    }
    if let Some(answer) = newest().find(|read| read.entry.origin == Origin::Model && has_text(&read.entry)) {
        let told = quotes(&answer.entry).into_iter().filter(|quote| quote.call_id.is_none());
        rows.extend(
            closing(told.collect()).into_iter().map(|quote| row(quote.kind, &quote.text, answer.seq)),
        );
    }
    if let Some((asked, words)) = newest().find_map(|read| Some((read, request(&read.entry)?))) {
        rows.push(row(QuoteKind::Said, &words, asked.seq));
    }
    Ok(rows)
}

/// The last call, unless it succeeded.
fn last_act(
    engine: &Engine,
    stored: &Conversation,
    act: &TurnEntry,
) -> Result<Option<StatusRow>, EngineError> {
    let results = results_of(engine, stored.id, act.seq, &act.entry)?;
    let mut calls = quotes(&act.entry).into_iter().filter_map(|quote| Some((quote.call_id?, quote.text)));
    let Some((call, text)) = calls.next_back() else { return Ok(None) };
    Ok(match results.get(&call) {
        Some(QuoteKind::Failed) => Some(row(QuoteKind::Failed, &text, act.seq)),
        Some(_) => None,
        None => Some(row(QuoteKind::Open, &format!("{text} (no result)"), act.seq)),
    })
}

/// What an answer says that is to be done, and its last statements, in order.
fn closing(told: Vec<Quote>) -> Vec<Quote> {
    let end = told.len().saturating_sub(CLOSING);
    let is_kept = |at: usize, quote: &Quote| at >= end || quote.kind == QuoteKind::Open;
    let mut kept: Vec<Quote> = told
        .into_iter()
        .enumerate()
        .filter(|(at, quote)| is_kept(*at, quote))
        .map(|(_, quote)| quote)
        .collect();
    kept.sort_by_key(|quote| quote.kind != QuoteKind::Open);
    kept
}

/// A person's words; `None` if only their host speaks, as of an interrupted turn.
fn request(entry: &Entry) -> Option<String> {
    let is_request = entry.origin == Origin::Human && entry.role == Role::User && is_typed(entry);
    is_request.then(|| words(entry))
}

fn has_call(entry: &Entry) -> bool {
    entry.parts.iter().any(|part| matches!(part, Part::ToolCall(_)))
}

fn has_text(entry: &Entry) -> bool {
    entry.parts.iter().any(|part| matches!(part, Part::Text(text) if !text.trim().is_empty()))
}

fn row(kind: QuoteKind, text: &str, seq: Seq) -> StatusRow {
    StatusRow { kind, text: one_line(text, ROW_CHARS), seq, is_about: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: QuoteKind, text: &str) -> Quote {
        Quote { kind, text: text.to_owned(), call_id: None }
    }

    #[test]
    fn open_work_comes_before_the_last_statements() {
        let all = vec![
            told(QuoteKind::Found, "The parser is slow."),
            told(QuoteKind::Open, "The printer has to be written."),
            told(QuoteKind::Done, "I mended the lexer."),
            told(QuoteKind::Found, "All tests pass."),
        ];
        let texts: Vec<String> = closing(all).into_iter().map(|quote| quote.text).collect();
        assert_eq!(texts, ["The printer has to be written.", "I mended the lexer.", "All tests pass."]);
        assert_eq!(closing(Vec::new()), []);
    }

    #[test]
    fn marks_of_the_host_are_no_request() {
        let said = |text: &str| Entry {
            role: Role::User,
            parts: vec![Part::Text(text.to_owned())],
            ..Entry::bare(Origin::Human)
        };
        assert_eq!(request(&said("[Request interrupted by user for tool use]")), None);
        assert_eq!(request(&said("fix the parser")).as_deref(), Some("fix the parser"));
        let model = Entry { origin: Origin::Model, ..said("fix the parser") };
        assert_eq!(request(&model), None, "a model asks nothing");
    }
}
