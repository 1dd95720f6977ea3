//! Reads the entries named by a question first.

use std::ops::Range;

use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, ConversationKey, Seq};
use unforget_core::tokens::Ruler as _;
use unforget_store::EntryRow;
use unforget_wire::Format;

use super::gather::{Gathered, ReadExtent};
use super::{Evidence, Named, Question};
use crate::recall::expand::fitting;
use crate::recall::name::Address;
use crate::recall::search::{Narrow, SearchQuery};
use crate::recall::text;
use crate::rows::stored_rows;
use crate::{Engine, EngineError};

/// Maximum number of names in a question.
const NAMES_MAX: usize = 64;

/// Divisor of the room: one entry of a name that is too large gets at most this part.
const PART: u64 = 4;

/// Minimum tokens of a part of an entry.
const CUT_MIN: u64 = 64;

/// Tokens of the marks at the ends of a part.
const MARKS: u64 = 4;

/// The entries behind a name.
pub(super) struct Members {
    id: ConversationId,
    key: ConversationKey,
    format: Format,
    /// The entries as ascending, separate ranges.
    runs: Vec<Range<u64>>,
}

impl Members {
    fn has(&self, key: &ConversationKey, seq: Seq) -> bool {
        let at = self.runs.partition_point(|run| run.end <= seq.0);
        *key == self.key && self.runs.get(at).is_some_and(|run| run.contains(&seq.0))
    }

    fn entries(&self) -> u64 {
        self.runs.iter().map(|run| run.end - run.start).sum()
    }
}

impl Engine {
    /// Resolves the names to their entries.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if there are too many names, or if one is unknown or out of scope.
    pub(super) fn members_of(
        &self,
        names: &[String],
        scope: Option<ConversationId>,
    ) -> Result<Vec<Members>, EngineError> {
        if names.len() > NAMES_MAX {
            return Err(EngineError::Usage {
                what: format!("{} names were given, more than an answer may read from", names.len()),
                hint: format!("{NAMES_MAX} at most; e:KEY:12-40 names many entries at once"),
            });
        }
        let mut all = Vec::with_capacity(names.len());
        for name in names {
            let (id, runs) = match self.address_within(scope, name)? {
                Address::Entries { conversation, seqs } => (conversation, vec![seqs]),
                Address::Summary { conversation, row } => {
                    let mut seqs: Vec<u64> =
                        self.sources(conversation, &row)?.iter().map(|row| row.seq.0).collect();
                    seqs.sort_unstable();
                    (conversation, joined(&seqs))
                }
            };
            let stored = self.store().conversation(id)?;
            let format = Format::by_name(&stored.format).unwrap_or(Format::Unknown);
            all.push(Members { id, key: stored.key, format, runs });
        }
        Ok(all)
    }
}

/// Ascending numbers as ranges.
fn joined(seqs: &[u64]) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for &seq in seqs {
        match runs.last_mut() {
            Some(run) if run.end == seq => run.end += 1,
            _ => runs.push(seq..seq + 1),
        }
    }
    runs
}

impl Gathered<'_> {
    /// Reads the named entries, name after name, while there is room and time.
    pub(super) fn named(
        &mut self,
        question: &Question<'_>,
        members: &[Members],
    ) -> Result<Vec<Named>, EngineError> {
        for one in members {
            if self.has_room(one)? {
                self.in_order(one, question.text, self.left, u64::MAX)?;
                continue;
            }
            let floor = self.left - self.share();
            let most = if one.entries() == 1 { u64::MAX } else { self.share() / PART };
            if self.left.saturating_sub(floor) >= CUT_MIN {
                self.best_of(one, question, floor, most)?;
            }
            self.in_order(one, question.text, self.left.saturating_sub(floor), most)?;
        }
        let receipt = |(one, name): (&Members, &String)| {
            let count = |how| self.seen(&one.key, &one.runs, how);
            let (read, cut, purged) =
                (count(ReadExtent::Whole), count(ReadExtent::Part), count(ReadExtent::Purged));
            Named { name: name.clone(), entries: one.entries(), read, cut, purged }
        };
        Ok(members.iter().zip(question.from).map(receipt).collect())
    }

    /// Whether all unread entries fit, by the tokens measured at the time of storing.
    fn has_room(&self, members: &Members) -> Result<bool, EngineError> {
        let mut tokens = 0_u64;
        for row in stored_rows(self.engine.store(), members.id, members.runs.iter().cloned()) {
            let row = row?;
            if !self.has_seen(&members.key, row.seq) {
                tokens = tokens.saturating_add(row.tokens.expected);
            }
            if tokens > self.left {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the entries with words of the question, best first, until `floor` tokens are left.
    ///
    /// * `most` - maximum tokens of one entry.
    fn best_of(
        &mut self,
        members: &Members,
        question: &Question<'_>,
        floor: u64,
        most: u64,
    ) -> Result<(), EngineError> {
        let query = SearchQuery {
            text: question.text.to_owned(),
            conversation: Some(members.id),
            budget_tokens: Some(self.left.saturating_sub(floor)),
            now: question.now,
            ..SearchQuery::default()
        };
        let narrow = Narrow {
            only: &|key, seq| members.has(key, seq),
            but: &|key, seq| self.has_seen(key, seq),
            passed: self.seen_len(),
        };
        let found = match self.engine.search_narrowed(&query, &narrow) {
            Ok(found) => found.results,
            // A question without words has no best entries.
            Err(EngineError::Usage { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        for hit in found {
            let room = self.left.saturating_sub(floor);
            let row = self.engine.row(members.id, hit.seq)?;
            if self.is_over() || !self.entry(members, row, question.text, room.min(most))? {
                break;
            }
        }
        Ok(())
    }

    /// Reads the entries in order.
    ///
    /// * `room` - maximum tokens of all entries.
    /// * `most` - maximum tokens of one entry.
    fn in_order(&mut self, members: &Members, words: &str, room: u64, most: u64) -> Result<(), EngineError> {
        let floor = self.left.saturating_sub(room);
        let engine = self.engine.clone();
        for row in stored_rows(engine.store(), members.id, members.runs.iter().cloned()) {
            let room = self.left.saturating_sub(floor);
            if self.is_over() || !self.entry(members, row?, words, room.min(most))? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads an entry unless it was read before; of an entry with more than `room` tokens only the part with the
    /// question's words. Returns false if there is no room.
    fn entry(
        &mut self,
        members: &Members,
        row: EntryRow,
        words: &str,
        room: u64,
    ) -> Result<bool, EngineError> {
        let seq = row.seq;
        if self.has_seen(&members.key, seq) {
            return Ok(true);
        }
        if row.purged {
            self.note(&members.key, seq, ReadExtent::Purged);
            return Ok(true);
        }
        // Among others, a record without a message is skipped: its bytes would only use up room.
        if row.tokens.expected == 0 && members.entries() > 1 {
            self.note(&members.key, seq, ReadExtent::Whole);
            return Ok(true);
        }
        let (item, _) = self.engine.item(members.id, members.format, row, 0..u64::MAX)?;
        if item.text.is_empty() {
            self.note(&members.key, seq, ReadExtent::Whole);
            return Ok(true);
        }
        let mut one = Evidence::of(&members.key, item);
        let is_whole = one.tokens <= room;
        if !is_whole {
            if room < CUT_MIN {
                return Ok(false);
            }
            (one.text, one.tokens) = excerpt(&one.text, words, room);
        }
        Ok(self.add(one, if is_whole { ReadExtent::Whole } else { ReadExtent::Part }))
    }
}

/// The part of a text with the most words of the question within the given tokens, and its tokens; `…` marks a cut.
fn excerpt(whole: &str, words: &str, tokens: u64) -> (String, u64) {
    // In most scripts this length is at least the part that fits; in others the text before the words is shortened
    // further.
    let chars = usize::try_from(tokens.saturating_mul(2)).unwrap_or(usize::MAX);
    let skip = text::start(whole, words, chars);
    let rest: String = whole.chars().skip(skip).collect();
    let (part, _) = fitting(&rest, tokens.saturating_sub(MARKS));
    let before = if skip > 0 { "…" } else { "" };
    let after = if part.len() < rest.len() { "…" } else { "" };
    let part = format!("{before}{part}{after}");
    let tokens = ClassEstimate.count(&part).expected;
    (part, tokens)
}
