//! What of ours holds the words of a search: pins, titles, summaries, rows of ledgers.
//!
//! Clues stand beside the hits and never among them, so that none takes the place of an entry. Each leads to entries. Only
//! stored rows are asked, of the conversations of the best hits, and within a fixed number of bytes: a clue costs no more in
//! a long history than in a short one.

use std::collections::BTreeSet;
use std::ops::Range;

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, ConversationKey, Seq, Thread};
use unforget_core::ledger::Ledger;
use unforget_recall::coverage::Coverage;
use unforget_recall::terms::Analyser;
use unforget_recall::tuning::Tuning;
use unforget_store::{Conversation, Page, SummaryKey, SummaryPlace, SummaryRow};
use unforget_text::{SectionKind, Summary, redact};

use super::search::SearchAnswer;
use super::verdict::VerdictCache;
use crate::internal::is_internal;
use crate::summary_name::summary_name;
use crate::thread::ThreadRef;
use crate::{Engine, EngineError};

/// Number of conversations whose rows are asked: those of the best hits, then the newest.
const CONVERSATIONS_MAX: usize = 6;

/// Number of the newest conversations whose titles are asked.
const TITLES_MAX: usize = 1_000;

/// Bytes of rows that are weighed for one search.
const BYTES_MAX: usize = 192 << 10;

/// Summaries of a conversation that are asked: all, or those around its best hits.
const SUMMARIES_MAX: usize = 24;

/// Entries before a hit at which a summary that covers it begins at the earliest, in a conversation with many summaries.
const SUMMARY_REACH: u64 = 200;

/// The smallest key of a summary.
const FIRST: SummaryKey = SummaryKey { thread: Thread(0), grain: 0, level: 0, end: Digest([0; 32]) };

/// Number of clues that a person or an agent is shown beside the hits.
pub const CLUES_SHOWN: usize = 3;

/// Share of the query that a clue holds at least.
const SHARE_MIN: f32 = 0.6;

/// Clues of one kind at most.
const OF_KIND: usize = 2;

/// The kind of a row that holds a clue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClueKind {
    /// A rule that a person pinned.
    Pin,
    /// The title of a conversation.
    Title,
    /// An item of a summary.
    Summary,
    /// A row of the ledger.
    Ledger,
}

impl ClueKind {
    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pin => "pin",
            Self::Title => "title",
            Self::Summary => "summary",
            Self::Ledger => "ledger",
        }
    }
}

/// A row of ours that holds much of a query, and the entries that it leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Clue {
    /// The kind of the row.
    pub kind: ClueKind,
    /// Key of its conversation.
    pub conversation: ConversationKey,
    /// The row: `pin:3`, a summary's name; for a title the conversation's key, for the ledger `command`,
    /// `file`, `failure`, `commit` or `task`.
    pub row: String,
    /// Its words on one line, without credentials.
    pub text: String,
    /// The entries that it leads to, ascending: sources of a summary's item or of a pin, places of work, for a title all. Empty
    /// for a pin that was typed by hand.
    pub entries: Vec<Range<u64>>,
    /// Share of the query that it holds, by the rarity of its words.
    pub share: f32,
}

impl Clue {
    /// Names for `expand` of the entries that it leads to.
    pub fn names(&self) -> Vec<String> {
        self.names_in(&self.conversation.0)
    }

    /// These names with another name of the conversation.
    pub fn names_in(&self, conversation: &str) -> Vec<String> {
        let name = |range: &Range<u64>| match range.end.saturating_sub(1) {
            last if last > range.start => format!("e:{conversation}:{}-{last}", range.start),
            _ => format!("e:{conversation}:{}", range.start),
        };
        self.entries.iter().map(name).collect()
    }
}

/// The clues of a search, and how much was asked for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clues {
    /// Best first.
    pub found: Vec<Clue>,
    /// Number of rows that were weighed.
    pub rows: u64,
    /// Number of conversations whose pins, summaries and ledger were asked; titles are asked of more.
    pub conversations: u64,
    /// Whether all rows in scope were weighed. Otherwise the absence of a clue proves nothing.
    pub is_complete: bool,
}

/// Weighs rows within a number of bytes.
struct ClueSearch<'a> {
    engine: &'a Engine,
    coverage: Coverage,
    analyser: Analyser,
    verdicts: VerdictCache,
    /// Bytes that may still be weighed.
    left: usize,
    clues: Clues,
}

/// A row before it is weighed.
struct ClueRow<'a> {
    kind: ClueKind,
    stored: &'a Conversation,
    row: String,
    text: &'a str,
    entries: Vec<Seq>,
}

impl Engine {
    /// The clues beside the hits of a search.
    ///
    /// * `all` - the conversations in scope.
    /// * `most` - number of clues.
    ///
    /// Cost: reads at most [`CONVERSATIONS_MAX`] conversations' pins, ledgers and [`SUMMARIES_MAX`] summaries, and weighs at
    /// most [`BYTES_MAX`]; one row per conversation in scope is at hand.
    pub(super) fn clues(
        &self,
        answer: &SearchAnswer,
        all: &[Conversation],
        most: usize,
    ) -> Result<Clues, EngineError> {
        let mut search = ClueSearch {
            engine: self,
            coverage: Coverage::new(&answer.weights, Tuning::default().near),
            analyser: Analyser::new(),
            verdicts: VerdictCache::default(),
            left: BYTES_MAX,
            clues: Clues { is_complete: true, ..Clues::default() },
        };
        let mut newest: Vec<&Conversation> = all.iter().filter(|one| !is_internal(&one.key)).collect();
        newest.sort_by_key(|one| std::cmp::Reverse((one.time.map(|(_, last)| last), one.id)));
        search.clues.is_complete = newest.len() <= CONVERSATIONS_MAX;
        for stored in newest.iter().take(TITLES_MAX) {
            search.title(stored)?;
        }
        for stored in asked(answer, &newest) {
            search.clues.conversations += 1;
            search.pins(stored)?;
            search.ledger(stored)?;
            let hits: Vec<Seq> = answer
                .results
                .iter()
                .filter(|hit| hit.conversation == stored.key)
                .map(|hit| hit.seq)
                .collect();
            search.summaries(stored, &hits)?;
        }
        let mut clues = search.clues;
        clues.found = chosen(clues.found, answer, most);
        Ok(clues)
    }
}

/// The conversations whose rows are asked: in the order of their best hits, then the newest.
fn asked<'a>(answer: &SearchAnswer, newest: &[&'a Conversation]) -> Vec<&'a Conversation> {
    let of_hits = answer
        .results
        .iter()
        .filter_map(|hit| newest.iter().find(|one| one.key == hit.conversation).copied());
    let mut seen: BTreeSet<ConversationId> = BTreeSet::new();
    of_hits.chain(newest.iter().copied()).filter(|one| seen.insert(one.id)).take(CONVERSATIONS_MAX).collect()
}

impl ClueSearch<'_> {
    fn title(&mut self, stored: &Conversation) -> Result<(), EngineError> {
        // The first words of a person are an entry, which is found itself.
        let Some(title) = &stored.title else { return Ok(()) };
        let last = Seq(stored.entries.saturating_sub(1));
        let entries = if last.0 == 0 { vec![last] } else { vec![Seq(0), last] };
        self.weigh(ClueRow { kind: ClueKind::Title, stored, row: stored.key.0.clone(), text: title, entries })
    }

    fn pins(&mut self, stored: &Conversation) -> Result<(), EngineError> {
        let pins = self.engine.pins(stored.id)?;
        for pin in pins.active() {
            let entries = pin.source.into_iter().collect();
            let row = pin.id.to_string();
            self.weigh(ClueRow { kind: ClueKind::Pin, stored, row, text: &pin.text, entries })?;
        }
        Ok(())
    }

    fn ledger(&mut self, stored: &Conversation) -> Result<(), EngineError> {
        let lane = ThreadRef { conversation: stored.id, thread: Thread(0) };
        let Some(kept) = self.engine.stored_ledger(lane)? else {
            self.clues.is_complete = false;
            return Ok(());
        };
        if kept.head().is_none_or(|head| head.0 + 1 < stored.entries) {
            self.clues.is_complete = false;
        }
        for WorkLine { kind, text, entries } in work_lines(&kept.ledger) {
            let row = kind.to_owned();
            self.weigh(ClueRow { kind: ClueKind::Ledger, stored, row, text: &text, entries })?;
        }
        Ok(())
    }

    fn summaries(&mut self, stored: &Conversation, hits: &[Seq]) -> Result<(), EngineError> {
        let store = self.engine.store();
        let count = store.count_summaries(stored.id)?;
        let mut rows: Vec<SummaryRow> = Vec::new();
        if count <= SUMMARIES_MAX as u64 {
            rows = store.summaries(stored.id, Page::first(SUMMARIES_MAX))?;
        } else {
            self.clues.is_complete = false;
            for seq in hits.iter().take(2) {
                let first = Seq(seq.0.saturating_sub(SUMMARY_REACH));
                let after = SummaryPlace { span: (first, Seq(0)), level: 0, key: FIRST };
                rows.extend(
                    store.summaries(stored.id, Page { after: Some(after), limit: SUMMARIES_MAX / 2 })?,
                );
            }
        }
        // Leaves first: a merge repeats their items.
        rows.sort_by_key(|row| row.key.level);
        let mut seen = BTreeSet::new();
        for row in rows {
            let Ok(summary) = Summary::parse(&row.body) else { continue };
            let name = summary_name(&row.key);
            for kind in TELLING {
                for item in summary.items(kind) {
                    if seen.insert((item.seqs.clone(), item.text.clone())) {
                        let (row, entries) = (name.clone(), item.seqs.clone());
                        self.weigh(ClueRow {
                            kind: ClueKind::Summary,
                            stored,
                            row,
                            text: &item.text,
                            entries,
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes a row if it holds enough of the query and nobody rejected it.
    fn weigh(&mut self, row: ClueRow<'_>) -> Result<(), EngineError> {
        let Some(left) = self.left.checked_sub(row.text.len()) else {
            self.clues.is_complete = false;
            return Ok(());
        };
        self.left = left;
        self.clues.rows += 1;
        let share = self.coverage.of(&mut self.analyser, row.text);
        if share < SHARE_MIN {
            return Ok(());
        }
        for seq in &row.entries {
            if row.kind != ClueKind::Title
                && self.verdicts.rejects(self.engine, row.stored.id, *seq, row.text)?
            {
                return Ok(());
            }
        }
        let text = redact(row.text).split_whitespace().collect::<Vec<_>>().join(" ");
        let entries = match (row.kind, row.entries.as_slice()) {
            (ClueKind::Title, [first, .., last]) => std::iter::once(first.0..last.0 + 1).collect(),
            (_, seqs) => seqs.iter().map(|seq| seq.0..seq.0 + 1).collect(),
        };
        let conversation = row.stored.key.clone();
        self.clues.found.push(Clue { kind: row.kind, conversation, row: row.row, text, entries, share });
        Ok(())
    }
}

/// Sections of a summary whose items are statements, not lists of names.
const TELLING: [SectionKind; 5] = [
    SectionKind::Decisions,
    SectionKind::Causes,
    SectionKind::Outcomes,
    SectionKind::Constraints,
    SectionKind::OpenAsks,
];

/// A row of a ledger in words.
struct WorkLine {
    kind: &'static str,
    text: String,
    entries: Vec<Seq>,
}

/// The rows of a ledger that say something: files that were changed, commands, failures, commits, tasks.
fn work_lines(ledger: &Ledger) -> Vec<WorkLine> {
    let line = |kind, text: String, entries: &[Seq]| WorkLine { kind, text, entries: entries.to_vec() };
    let mut lines = Vec::new();
    lines.extend(
        ledger.commits().iter().map(|row| {
            line("commit", format!("{} {}", row.commit.hash, row.commit.subject), &[row.at.answer])
        }),
    );
    lines.extend(ledger.tasks().iter().map(|row| line("task", row.text.clone(), &[row.changed.answer])));
    for failure in ledger.failing().chain(ledger.cleared()) {
        let mut entries = vec![failure.last.answer];
        entries.extend(failure.cleared.map(|by| by.answer));
        lines.push(line("failure", format!("{}: {}", failure.what, failure.told), &entries));
    }
    lines.extend(ledger.commands().map(|row| line("command", row.text.clone(), &[row.at.answer])));
    let written = ledger.files().filter_map(|(path, row)| Some((path, row.put?)));
    lines.extend(written.map(|(path, put)| line("file", path.to_owned(), &[put.at.answer])));
    // Commands and files have no order of their own.
    lines.sort_by(|a, b| (b.entries.last(), &a.text).cmp(&(a.entries.last(), &b.text)));
    lines
}

/// The best clues: some of each kind, none that says what a hit or a better clue says.
fn chosen(mut found: Vec<Clue>, answer: &SearchAnswer, most: usize) -> Vec<Clue> {
    // Stable: of equal shares, the row of the better conversation.
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    let is_shown = |clue: &Clue| {
        let at = |hit: &super::search::Hit| {
            hit.conversation == clue.conversation
                && clue.entries.iter().any(|range| range.contains(&hit.seq.0))
        };
        matches!(clue.kind, ClueKind::Summary | ClueKind::Ledger) && answer.results.iter().any(at)
    };
    let mut kept: Vec<Clue> = Vec::new();
    for clue in found {
        if kept.len() == most {
            break;
        }
        let of_kind = kept.iter().filter(|other| other.kind == clue.kind).count();
        let is_new = kept.iter().all(|other| {
            other.text != clue.text
                && (other.conversation != clue.conversation
                    || clue.entries.is_empty()
                    || other.entries != clue.entries)
        });
        if of_kind < OF_KIND && is_new && !is_shown(&clue) {
            kept.push(clue);
        }
    }
    kept
}
