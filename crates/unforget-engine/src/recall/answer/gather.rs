//! Gathers passages, each once, within the limits of the grant.

use std::collections::BTreeMap;
use std::ops::Range;

use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, ConversationKey, Seq, Timestamp};
use unforget_core::tokens::Ruler as _;
use unforget_recall::coverage::TermWeight;
use unforget_store::{Conversation, EntryRow};

use super::{Answered, Evidence, Grant, Question, Watch, space};
use crate::recall::expand::{Item, VERBATIM};
use crate::recall::search::{Narrow, SearchAnswer, SearchQuery};
use crate::summarise::Summarisers;
use crate::{Engine, EngineError};

/// Number of entries shown on either side of a passage.
const AROUND: u64 = 3;

/// How much of an entry was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadExtent {
    /// The whole entry.
    Whole,
    /// A part of the entry.
    Part,
    /// Nothing: its bytes were purged.
    Purged,
}

/// Passages that are being gathered.
pub(super) struct Gathered<'a> {
    pub(super) engine: &'a Engine,
    pub(super) watch: Watch<'a>,
    scope: Option<ConversationId>,
    pub(super) now: Option<Timestamp>,
    /// Whether half of the remaining tokens is reserved for the model's requests.
    keeps_half: bool,
    seen: BTreeMap<ConversationKey, BTreeMap<Seq, ReadExtent>>,
    /// Remaining tokens for passages.
    pub(super) left: u64,
    /// The models that read the passages.
    models: Option<&'a Summarisers>,
    /// Remaining tokens of the models' window for passages and the text around them.
    space: u64,
    pub(super) evidence: Vec<Evidence>,
}

impl<'a> Gathered<'a> {
    /// Starts without passages.
    pub(super) fn new(
        engine: &'a Engine,
        watch: Watch<'a>,
        models: Option<&'a Summarisers>,
        question: &Question<'_>,
        grant: &Grant,
    ) -> Self {
        let space = models.map_or(u64::MAX, |models| space(question.text, grant, models));
        Self {
            engine,
            watch,
            scope: grant.scope,
            now: question.now,
            keeps_half: models.is_some() && grant.depth > 0,
            seen: BTreeMap::new(),
            // A third is reserved for the text around passages and for differences between tokenisers.
            left: grant.tokens.min(space / 3 * 2),
            models,
            space,
            evidence: Vec::new(),
        }
    }

    /// Tokens available before the model's first request.
    pub(super) const fn share(&self) -> u64 {
        if self.keeps_half { self.left / 2 } else { self.left }
    }

    /// Whether the time limit is reached.
    pub(super) fn is_over(&self) -> bool {
        self.watch.left().is_zero()
    }

    /// Searches with the question's words and reads the results that fit. Returns the words with their weights.
    ///
    /// * `words` - those of the question that are about something.
    pub(super) fn fill(
        &mut self,
        words: &str,
        answered: &mut Answered,
    ) -> Result<Vec<TermWeight>, EngineError> {
        // A fifth is for replies to earlier questions.
        match self.search(words, self.share() / 5 * 4) {
            Ok(found) => {
                answered.searched = (found.searched, found.total);
                if self.evidence.is_empty() {
                    answered.negative = found.evidence;
                } else if !found.absent.is_empty() {
                    answered.negative = format!("nowhere: {}", found.absent.join(", "));
                }
                Ok(found.weights)
            }
            // A question about named entries need not contain searchable words.
            Err(EngineError::Usage { .. }) if !self.evidence.is_empty() && !words.trim().is_empty() => {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Searches with words and reads the results not read before.
    pub(super) fn search(&mut self, words: &str, tokens: u64) -> Result<SearchAnswer, EngineError> {
        let query = SearchQuery {
            text: words.to_owned(),
            conversation: self.scope,
            budget_tokens: Some(tokens.min(self.left)),
            now: self.now,
            ..SearchQuery::default()
        };
        let narrow =
            Narrow { only: &|_, _| true, but: &|key, seq| self.has_seen(key, seq), passed: self.seen_len() };
        let found = self.engine.search_narrowed(&query, &narrow)?;
        for hit in &found.results {
            let one = Evidence {
                number: 0,
                name: format!("e:{}:{}", hit.conversation.0, hit.seq.0),
                conversation: hit.conversation.clone(),
                seq: hit.seq,
                host_id: hit.host_id.clone(),
                time: hit.time,
                role: hit.role,
                text: hit.text.clone(),
                tokens: hit.tokens,
                is_cited: false,
            };
            self.add(one, if hit.is_whole { ReadExtent::Whole } else { ReadExtent::Part });
        }
        Ok(found)
    }

    /// Reads the entries around a passage.
    pub(super) fn around(&mut self, number: u32) -> Result<(), EngineError> {
        let Some(one) = self.evidence.iter().find(|one| one.number == number).cloned() else { return Ok(()) };
        let (first, last) = (one.seq.0.saturating_sub(AROUND), one.seq.0 + AROUND);
        let name = format!("e:{}:{first}-{last}", one.conversation.0);
        let page = self.engine.expand(None, &name, self.left, Some(VERBATIM))?;
        for item in page.items.into_iter().filter(|item| !item.text.is_empty()) {
            let how = if item.piece.is_some() { ReadExtent::Part } else { ReadExtent::Whole };
            self.add(Evidence::of(&one.conversation, item), how);
        }
        Ok(())
    }

    /// Adds a new passage if it fits. Returns whether it fits.
    pub(super) fn add(&mut self, one: Evidence, how: ReadExtent) -> bool {
        if self.has_seen(&one.conversation, one.seq) {
            return true;
        }
        let one = Evidence { number: self.evidence.len() as u32 + 1, ..one };
        let size = self.models.map_or(0, |models| models.count(&one.fenced()));
        if one.tokens > self.left || size > self.space {
            return false;
        }
        self.note(&one.conversation, one.seq, how);
        self.left -= one.tokens;
        self.space -= size;
        self.evidence.push(one);
        true
    }

    /// Records how much of an entry was read.
    pub(super) fn note(&mut self, key: &ConversationKey, seq: Seq, how: ReadExtent) {
        self.seen.entry(key.clone()).or_default().insert(seq, how);
    }

    /// Whether an entry was read, or was found to be purged.
    pub(super) fn has_seen(&self, key: &ConversationKey, seq: Seq) -> bool {
        self.seen.get(key).is_some_and(|seen| seen.contains_key(&seq))
    }

    /// Number of entries that were read or found to be purged.
    pub(super) fn seen_len(&self) -> usize {
        self.seen.values().map(BTreeMap::len).sum()
    }

    /// Number of entries in some ranges that were read to the extent `how`.
    pub(super) fn seen(&self, key: &ConversationKey, runs: &[Range<u64>], how: ReadExtent) -> u64 {
        let Some(seen) = self.seen.get(key) else { return 0 };
        let of = |run: &Range<u64>| {
            seen.range(Seq(run.start)..Seq(run.end)).filter(|(_, one)| **one == how).count() as u64
        };
        runs.iter().map(of).sum()
    }
}

impl Evidence {
    /// Makes a passage from a read entry.
    pub(super) fn of(conversation: &ConversationKey, item: Item) -> Self {
        Self {
            number: 0,
            name: format!("e:{}:{}", conversation.0, item.seq.0),
            conversation: conversation.clone(),
            seq: item.seq,
            host_id: item.host_id,
            time: item.time,
            role: item.role,
            text: item.text,
            tokens: item.tokens,
            is_cited: false,
        }
    }

    /// Makes a passage from an excerpt of a stored entry.
    pub(super) fn of_entry(conversation: &Conversation, row: EntryRow, excerpt: String) -> Self {
        Self {
            number: 0,
            name: format!("e:{}:{}", conversation.key.0, row.seq.0),
            conversation: conversation.key.clone(),
            seq: row.seq,
            host_id: row.host_id,
            time: row.time,
            role: row.role,
            tokens: ClassEstimate.count(&excerpt).expected,
            text: excerpt,
            is_cited: false,
        }
    }
}
