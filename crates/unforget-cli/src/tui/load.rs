//! Conversations, pages of entries and hits, as rows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_core::id::{ConversationId, ConversationKey, Seq, Thread, Timestamp};
use unforget_core::ledger::Fact;
use unforget_engine::Engine;
use unforget_engine::meaning::MeaningReceipt;
use unforget_engine::prompt::ThreadRef;
use unforget_engine::recall::{Hit, PageStart, SearchQuery, TurnEntry};

use super::rows::{LineKind, RowTarget, TuiRow};
use super::state::{PageWanted, TuiTold};
use crate::failure::{Failure, Outcome};
use crate::found::{FoundLine, lines, words_in, words_of};
use crate::picker::PickerRow;
use crate::recognised::{RecognisedConversation, everything};
use crate::text;
use crate::when::Clock;

/// Entries of a page, and pages that are read in search of one with words.
const PAGE: usize = 120;
const PAGES: usize = 1_000;

/// Most hits of a search, and lines of one that are looked through for its row.
const HITS: usize = 60;
const LINES: usize = 40;

/// The star among the labels of a row.
pub(crate) const STAR: &str = "★";

/// Most characters of a row.
pub(super) const ROW_CHARS: usize = 300;

/// The conversations as rows, the newest first; sub-agents and lanes stand behind others.
pub(crate) fn picker_rows(engine: &Engine) -> Outcome<Vec<PickerRow>> {
    Ok(rows_of(&everything(engine)?))
}

/// The rows of conversations that have been read.
pub(super) fn rows_of(all: &[RecognisedConversation]) -> Vec<PickerRow> {
    let clock = Clock::here();
    let mut all: Vec<&RecognisedConversation> = all.iter().filter(|one| one.above().is_none()).collect();
    all.sort_by_key(|one| Reverse(one.last()));
    let row = |one: &&RecognisedConversation| {
        let name = text::one_line(&text::harmless(&one.name), 64);
        let star = one.label.is_starred.then(|| STAR.to_owned());
        let tags = one.label.tags.iter().map(|tag| format!("#{}", text::harmless(tag)));
        let labels: Vec<String> = star.into_iter().chain(tags).collect();
        let words = [
            one.title(),
            one.project(),
            one.host().to_owned(),
            name.clone(),
            one.stored.key.0.clone(),
            labels.join(" "),
        ];
        PickerRow {
            key: one.stored.key.0.clone(),
            name,
            title: one.title(),
            labels,
            project: one.project(),
            host: one.host().to_owned(),
            when: one.last().map(|last| clock.short(last)).unwrap_or_default(),
            last_ms: one.last().map_or(0, |last| last.0),
            words: words.join(" ").to_lowercase(),
        }
    };
    all.iter().map(row).collect()
}

/// The main lane of a conversation.
pub(super) fn lane(engine: &Engine, key: &str) -> Outcome<ThreadRef> {
    let found = engine.store().find(&ConversationKey(key.to_owned()))?;
    let gone = || Failure::usage("this conversation is not stored any more", "");
    Ok(ThreadRef { conversation: found.ok_or_else(gone)?.id, thread: Thread(0) })
}

/// A page of entries that have something to show.
pub(super) fn page(engine: &Engine, key: &str, wanted: PageWanted, generation: u64) -> Outcome<TuiTold> {
    let of = lane(engine, key)?;
    let total = engine.store().conversation(of.conversation)?.entries;
    let (rows, more) = match wanted {
        PageWanted::Newest => shown(engine, of, key, PageStart::Newest)?,
        PageWanted::Before(seq) => shown(engine, of, key, PageStart::Before(Seq(seq)))?,
        PageWanted::From(seq) => shown(engine, of, key, PageStart::From(Seq(seq)))?,
        PageWanted::Around(seq) => {
            let (mut rows, (has_older, _)) = shown(engine, of, key, PageStart::Before(Seq(seq)))?;
            let (behind, (_, has_newer)) = shown(engine, of, key, PageStart::From(Seq(seq)))?;
            rows.extend(behind);
            (rows, (has_older, has_newer))
        }
    };
    Ok(TuiTold::Page { generation, wanted, rows, more, total })
}

/// Rows with something to show, and whether there are entries before and behind them.
fn shown(
    engine: &Engine,
    of: ThreadRef,
    key: &str,
    start: PageStart,
) -> Outcome<(Vec<TuiRow>, (bool, bool))> {
    let mut start = start;
    for _ in 0..PAGES {
        let page = engine.read_page(of, start, PAGE)?;
        let rows: Vec<TuiRow> = page.entries.iter().filter_map(|one| row(one, key)).collect();
        let more = (page.has_older, page.has_newer);
        let next = match start {
            PageStart::From(_) => page
                .entries
                .last()
                .filter(|_| page.has_newer)
                .map(|last| PageStart::From(Seq(last.seq.0 + 1))),
            _ => page.entries.first().filter(|_| page.has_older).map(|first| PageStart::Before(first.seq)),
        };
        match next {
            Some(next) if rows.is_empty() => start = next,
            _ => return Ok((rows, more)),
        }
    }
    Ok((Vec::new(), (false, false)))
}

/// Who an entry is of, and its colour.
pub(super) fn speaker(entry: &Entry) -> (&'static str, LineKind) {
    match (entry.origin, entry.role) {
        (Origin::Human, _) => ("you", LineKind::Person),
        (Origin::Model | Origin::Overtaken, _) => ("model", LineKind::Model),
        (Origin::Tool, _) | (_, Role::Tool) => ("tool", LineKind::Tool),
        _ => ("host", LineKind::Dim),
    }
}

/// The row of an entry; `None` for bookkeeping without words.
fn row(one: &TurnEntry, key: &str) -> Option<TuiRow> {
    let (mut who, mut kind) = speaker(&one.entry);
    let mut text = if one.purged { "[purged]".to_owned() } else { summary(&one.entry)? };
    if who == "model" && one.entry.parts.iter().all(|part| !matches!(part, Part::Text(_))) {
        let has_call = one.entry.parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        (who, kind) = if has_call { ("call", LineKind::Tool) } else { ("think", LineKind::Dim) };
    }
    if matches!(one.entry.origin, Origin::Copy | Origin::Bookkeeping | Origin::Opaque) {
        text = format!("[{}] {text}", one.entry.role.name());
    }
    Some(TuiRow {
        lead: one.seq.to_string(),
        who: who.to_owned(),
        kind,
        text: text::one_line(&text::harmless(&text), ROW_CHARS),
        target: RowTarget::Entry { key: key.to_owned(), seq: one.seq.0 },
        about: Vec::new(),
    })
}

/// An entry on one line; `None` if it says and shows nothing.
fn summary(entry: &Entry) -> Option<String> {
    let mut facts = unforget_text::facts(entry).into_iter();
    let mut out = Vec::new();
    for part in &entry.parts {
        match part {
            Part::Text(text) => out.push(start_of(&unforget_text::typed(text))),
            Part::Thinking { text, .. } => out.push(start_of(text)),
            Part::ToolCall(call) => out.push(match facts.next() {
                Some(Fact::Called(called)) => called.what,
                _ => call.name.clone(),
            }),
            Part::ToolResult(result) => {
                let texts = result.content.iter().filter_map(|part| match part {
                    Part::Text(text) => Some(start_of(text)),
                    _ => None,
                });
                let mark = if result.is_error { "✗" } else { "✓" };
                out.push(format!("{mark} {}", texts.collect::<Vec<_>>().join(" ")));
            }
            Part::Media(media) => out.push(format!("[{}]", media.mime)),
            Part::Opaque { kind, .. } => out.push(format!("[{kind}]")),
        }
    }
    let text = out.join(" ");
    (!text.trim().is_empty()).then_some(text)
}

/// What of a text a row can show.
fn start_of(text: &str) -> String {
    text.trim().chars().take(ROW_CHARS).collect()
}

/// A question of a search.
pub(super) struct TuiQuestion<'a> {
    /// The words.
    pub(super) text: &'a str,
    /// The conversations in scope; `None` for all.
    pub(super) only: Option<BTreeSet<ConversationId>>,
    /// Which question it is.
    pub(super) generation: u64,
}

/// What a search finds.
pub(super) fn search(
    engine: &Engine,
    asked: TuiQuestion<'_>,
    names: &BTreeMap<String, String>,
) -> Outcome<TuiTold> {
    let wanted = SearchQuery {
        text: asked.text.to_owned(),
        limit: Some(HITS),
        now: Some(Timestamp(jiff::Timestamp::now().as_millisecond())),
        ..SearchQuery::default()
    };
    let engine = asked.only.map_or_else(|| engine.clone(), |only| engine.confined(only));
    let answer = engine.search(&wanted)?;
    let words = words_of(asked.text);
    let find = |line: &str| words_in(line, &words);
    let row = |hit: &Hit| {
        // The first one of those with the most words.
        let best = lines(&hit.text, 0, LINES, &find).into_iter().rev().max_by_key(|line| line.matches.len());
        let line = best.map(|line| around(&line));
        let first = || hit.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
        let (who, kind) = match hit.role {
            Role::User => ("you", LineKind::Person),
            Role::Assistant => ("model", LineKind::Model),
            Role::Tool => ("tool", LineKind::Tool),
            _ => ("host", LineKind::Dim),
        };
        let (who, kind) = if hit.verdict.is_some() { ("rejected", LineKind::Bad) } else { (who, kind) };
        let key = hit.conversation.0.clone();
        TuiRow {
            lead: names.get(&key).cloned().unwrap_or_else(|| text::one_line(&text::harmless(&key), 24)),
            who: who.to_owned(),
            kind,
            text: text::one_line(&text::harmless(&line.unwrap_or_else(first)), ROW_CHARS),
            target: RowTarget::Entry { key, seq: hit.seq.0 },
            about: Vec::new(),
        }
    };
    let rows: Vec<TuiRow> = answer.results.iter().map(row).collect();
    let keys = answer.results.iter().map(|hit| hit.conversation.0.clone()).collect();
    let words_only = answer.meaning.as_ref().and_then(MeaningReceipt::words_only);
    let words_only = words_only.map(|what| format!("; {what}")).unwrap_or_default();
    let about = format!(
        "{} of {} found; {} searched{}",
        text::count(rows.len() as u64),
        text::count(answer.matched + answer.nearby + answer.meant),
        text::count(answer.searched),
        text::one_line(&text::harmless(&words_only), ROW_CHARS),
    );
    Ok(TuiTold::Found { generation: asked.generation, rows, keys, about })
}

/// A line from a little before what was found in it.
fn around(line: &FoundLine) -> String {
    let first = line.matches.first().map_or(0, |found| found.start);
    let before = line.text.get(..first).unwrap_or_default();
    match before.char_indices().rev().nth(24) {
        Some((at, _)) => format!("…{}", line.text.get(at..).unwrap_or_default()),
        None => line.text.clone(),
    }
}
