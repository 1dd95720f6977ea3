//! A coarse summary of a long span, made from a few places of it: its beginning, turns at even distances, and the newest
//! summary that the host made.

use std::ops::Range;
use std::sync::Arc;

use unforget_core::entry::Origin;
use unforget_store::{Conversation, EntryRow};
use unforget_text::{Source as TextSource, Summary, summarise};

use super::source::Source;
use super::summaries::WrittenSummary;
use crate::error::EngineError;
use crate::path::follow;
use crate::thread::decoded;

/// Number of places that are read.
const PLACES: u64 = 32;

/// Rows looked through at a place for a message of a person.
const LOOK: u64 = 64;

/// Most entries read at a place.
const TURN: u64 = 16;

/// Most rows looked through for the host's newest summary, and rows of one step.
const HOST_LOOK: u64 = 16_384;
const HOST_STEP: u64 = 1_024;

/// The coarse summary of a span of a thread.
///
/// Cost: bounded, whatever the length of the span.
pub(super) fn coarse(
    source: &Source,
    stored: &Conversation,
    span: Range<u64>,
) -> Result<WrittenSummary, EngineError> {
    let length = span.end.saturating_sub(span.start);
    let mut parts = Vec::new();
    let mut next = span.start;
    for place in 0..PLACES {
        // Both factors are far below 2^64: a conversation has at most 2^32 entries.
        let at = (span.start + length * place / PLACES).max(next);
        let Some(turn) = turn_at(source, at..span.end.min(at + LOOK))? else { continue };
        next = turn.end;
        parts.extend(part(source, stored, turn)?);
    }
    if let Some(at) = host_summary(source, span)? {
        parts.extend(part(source, stored, at..at + 1)?);
    }
    let summary = Arc::new(Summary::merge(&parts));
    let tokens = source.count(&summary.to_text());
    Ok(WrittenSummary { summary, tokens })
}

/// The first turn in a range of rows: from a person's message up to the next one. Without one, the first entries.
fn turn_at(source: &Source, within: Range<u64>) -> Result<Option<Range<u64>>, EngineError> {
    let rows = source.rows(within)?;
    let is_human = |row: &&EntryRow| row.origin == Origin::Human && row.tokens.expected > 0;
    let human = rows.iter().find(is_human).map(|row| row.seq.0);
    let Some(from) = human.or_else(|| rows.first().map(|row| row.seq.0)) else { return Ok(None) };
    let end = rows.iter().filter(|row| row.seq.0 > from).find(is_human).map(|row| row.seq.0);
    let last = rows.last().map_or(from, |row| row.seq.0);
    Ok(Some(from..end.unwrap_or(last + 1).min(from + TURN)))
}

/// What the entries of a range say that follow one another on the thread; `None` if there are none.
fn part(source: &Source, stored: &Conversation, seqs: Range<u64>) -> Result<Option<Summary>, EngineError> {
    let mut decoded = decoded(source.engine().store(), stored, seqs)?;
    decoded.retain(|one| one.row.thread == source.thread().thread);
    let (path, _) = follow(decoded.iter().map(|one| (one.row.seq, one.row.parent)).collect());
    decoded.retain(|one| path.binary_search(&one.row.seq.0).is_ok());
    let texts: Vec<_> =
        decoded.iter().map(|one| TextSource { seq: one.row.seq, entry: &one.entry }).collect();
    // The turn goes on behind the range.
    Ok((!texts.is_empty()).then(|| summarise(&texts).without_pending()))
}

/// The newest entry of a span that holds a summary of the host.
fn host_summary(source: &Source, span: Range<u64>) -> Result<Option<u64>, EngineError> {
    let mut end = span.end;
    let least = span.start.max(span.end.saturating_sub(HOST_LOOK));
    while end > least {
        let from = least.max(end.saturating_sub(HOST_STEP));
        let rows = source.rows(from..end)?;
        if let Some(row) = rows.iter().rev().find(|row| row.origin == Origin::HostSummary) {
            return Ok(Some(row.seq.0));
        }
        end = from;
    }
    Ok(None)
}
