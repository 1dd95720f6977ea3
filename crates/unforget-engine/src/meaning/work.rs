//! The work: the newest entries without a vector get theirs.

use std::ops::Range;

use unforget_core::entry::{Entry, Origin, Role};
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_llm::{Cause, Fault};
use unforget_recall::meaning::{
    Coded, MeaningBuilder, MeaningHead, MeaningSegment, VectorModel, code, merge, pieces,
};
use unforget_store::{Segment, SegmentHead};
use unforget_wire::{Format, decode};

use super::MeaningModel;
use super::charge::Charge;
use super::coverage::{LengthConflict, VectorHead, VectorHeads};
use crate::append::ConversationLock;
use crate::entry_text::text;
use crate::meaning_model::{BatchFault, OneByOne, Suspect, TextVectors, suspect};
use crate::rows::stored_portions;
use crate::{Engine, EngineError};

/// Most pieces of an entry that get a vector: about 1,600 tokens.
pub const PIECES_MAX: usize = 8;

/// Most pieces of a tool's result: it is found by its words, and its beginning says what it is.
const TOOL_PIECES_MAX: usize = 2;

/// Entries that are read for one call.
const WINDOW: u64 = 64;

/// Number of neighbours of equal size class that are merged.
const FAN_IN: usize = 8;

/// Entries from which a segment is not merged any more. A purge drops whole segments, so what is asked for again stays
/// below eight times as many.
const MERGED_MAX: u64 = 512;

const HOUR_MS: i64 = 3_600_000;

/// What one step of work came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbedStep {
    /// No entry waits.
    Idle,
    /// Entries are done.
    Done {
        /// Entries that do not wait any more, with words or without.
        entries: u64,
        /// Vectors that were stored.
        vectors: u64,
        /// Pieces that the model made no vector of, asked for each of them alone: they are found by words.
        refused: u64,
    },
    /// The spending limit of the hour is reached: nothing was asked, and nothing is before this time.
    SpentUp {
        /// Not before.
        until: Timestamp,
    },
    /// The model failed: nothing was stored.
    Failed {
        /// Why, for a person.
        why: String,
        /// Not before.
        until: Timestamp,
        /// Whether the texts cannot be to blame: then no other conversation asks before.
        is_model: bool,
    },
    /// Vectors of two lengths under one name: nothing was stored, and a person has to look.
    OtherLength(LengthConflict),
}

/// Entries with the texts of their pieces.
struct Batch {
    /// All entries of the batch are covered afterwards.
    seqs: Range<u64>,
    /// Entry and text of each piece, ascending.
    pieces: Vec<(u64, String)>,
}

impl Engine {
    /// Gives the newest entries of a conversation that have none their vectors, by one call of the model.
    ///
    /// Nothing is locked during the call. What is stored is one segment of the index, merged with its neighbours as they
    /// grow.
    ///
    /// # Errors
    /// [`EngineError::Store`]. A failure of the model is an [`EmbedStep::Failed`].
    pub fn embed_newest(
        &self,
        id: ConversationId,
        model: &MeaningModel,
        now: Timestamp,
    ) -> Result<EmbedStep, EngineError> {
        let conversation = self.store().conversation(id)?;
        let heads = VectorHeads::read(self.store(), id, model)?;
        let Some(gap) = heads.gaps(conversation.entries).pop() else { return Ok(EmbedStep::Idle) };
        if let Some(conflict) = conflict(model, heads.dimension(), model.length()) {
            return Ok(EmbedStep::OtherLength(conflict));
        }
        let window = gap.end.saturating_sub(WINDOW).max(gap.start)..gap.end;
        let batch = self.batch(id, &conversation.format, window, model)?;
        let sent = model.sent_texts(batch.pieces.iter().map(|(_, text)| text.as_str()));
        let TextVectors { vectors, .. } = match self.charged_vectors(id, model, &sent, now)? {
            Ok(made) => made,
            Err(step) => return Ok(step),
        };
        let made = vectors.iter().flatten().next().map(Vec::len);
        if let Some(conflict) = conflict(model, heads.dimension(), made) {
            return Ok(EmbedStep::OtherLength(conflict));
        }
        let entries = batch.seqs.end - batch.seqs.start;
        let refused = vectors.iter().filter(|vector| vector.is_none()).count() as u64;
        let stored = self.put_vectors(id, model, &batch, &vectors)?;
        Ok(EmbedStep::Done { entries, vectors: stored, refused })
    }

    /// The vectors of texts, within the limits of spending, or the step that says why there are none.
    fn charged_vectors(
        &self,
        id: ConversationId,
        model: &MeaningModel,
        sent: &[String],
        now: Timestamp,
    ) -> Result<Result<TextVectors, EmbedStep>, EngineError> {
        if model.is_for_one_by_one(sent) {
            return self.charged_one_by_one(id, model, sent, now);
        }
        let charge = Charge::of(model, sent, 1, now);
        if !charge.is_taken(self, model, id)? {
            return Ok(Err(charge.spent_up()));
        }
        let BatchFault { fault, is_next } = match model.texts(sent) {
            Ok(made) => {
                charge.settle(self, id, 1, made.tokens)?;
                return Ok(Ok(made));
            }
            Err(failed) => failed,
        };
        if is_next { self.charged_one_by_one(id, model, sent, now) } else { Ok(Err(failed(&fault, now))) }
    }

    /// The vectors of texts by a call for each, within the limits of spending.
    fn charged_one_by_one(
        &self,
        id: ConversationId,
        model: &MeaningModel,
        sent: &[String],
        now: Timestamp,
    ) -> Result<Result<TextVectors, EmbedStep>, EngineError> {
        let charge = Charge::of(model, sent, MeaningModel::one_by_one_max(sent.len()), now);
        if !charge.is_taken(self, model, id)? {
            return Ok(Err(charge.spent_up()));
        }
        let OneByOne { calls, made } = model.one_by_one(sent);
        charge.settle(self, id, calls, None)?;
        Ok(made.map_err(|fault| failed(&fault, now)))
    }

    /// The newest entries of a window with about as many pieces as a call takes.
    fn batch(
        &self,
        id: ConversationId,
        format: &str,
        window: Range<u64>,
        model: &MeaningModel,
    ) -> Result<Batch, EngineError> {
        let most = model.config().batch;
        let format = Format::by_name(format).unwrap_or(Format::Unknown);
        let mut entries: Vec<(u64, Vec<String>)> = Vec::new();
        for portion in stored_portions(self.store(), id, std::iter::once(window.clone())) {
            let portion = portion?;
            let raw = portion.raw(self.store(), id)?;
            for raw in raw {
                let mut entry = decode(format, &raw.body);
                // A record does not know that it is a copy.
                if portion.rows.iter().any(|row| row.seq == raw.seq && row.origin == Origin::Copy) {
                    entry.origin = Origin::Copy;
                }
                entries.push((raw.seq.0, texts(&entry, model)));
            }
        }
        let mut batch = Batch { seqs: window.clone(), pieces: Vec::new() };
        let mut taken = 0;
        for (seq, texts) in entries.into_iter().rev() {
            if taken > 0 && taken + texts.len() > most {
                batch.seqs.start = seq + 1;
                break;
            }
            taken += texts.len();
            batch.pieces.extend(texts.into_iter().rev().map(|text| (seq, text)));
        }
        batch.pieces.reverse();
        Ok(batch)
    }

    /// Stores the vectors, but for entries that were purged meanwhile, and merges small neighbours. Returns how many were
    /// stored.
    fn put_vectors(
        &self,
        id: ConversationId,
        model: &MeaningModel,
        batch: &Batch,
        vectors: &[Option<Vec<f32>>],
    ) -> Result<u64, EngineError> {
        let _lock = ConversationLock::of(id);
        let mut heads = VectorHeads::read(self.store(), id, model)?;
        let conversation = self.store().conversation(id)?;
        let is_due = heads
            .gaps(conversation.entries)
            .iter()
            .any(|gap| gap.start <= batch.seqs.start && gap.end >= batch.seqs.end);
        if !is_due {
            return Ok(0);
        }
        let rows = self.store().rows(id, batch.seqs.clone())?;
        let is_there = |seq: u64| rows.iter().any(|row| row.seq == Seq(seq) && !row.purged);
        let first = vectors.iter().flatten().next().map_or(0, Vec::len);
        let of = VectorModel { name: model.name().to_owned(), dimension: first as u32 };
        let mut builder = MeaningBuilder::new(of, batch.seqs.start);
        let mut stored = 0;
        for ((seq, _), vector) in batch.pieces.iter().zip(vectors).filter(|((seq, _), _)| is_there(*seq)) {
            match vector {
                Some(vector) => {
                    builder.add(Coded { seq: *seq, code: code(vector) });
                    stored += 1;
                }
                None => builder.add_without(1),
            }
        }
        let replaced = std::mem::take(&mut heads.stale);
        self.put_meaning(
            id,
            &mut heads,
            NewSegment { built: builder.finish(), seqs: batch.seqs.clone() },
            &replaced,
        )?;
        while self.merge_vectors(id, &mut heads)? {}
        Ok(stored)
    }

    /// Stores a segment in place of others, and brings the list of heads up to date.
    fn put_meaning(
        &self,
        id: ConversationId,
        heads: &mut VectorHeads,
        new: NewSegment,
        replaced: &[u64],
    ) -> Result<(), EngineError> {
        let NewSegment { built, seqs } = new;
        let meaning = MeaningHead::parse(&built.header);
        let header = built.header.clone();
        let number = self.store().put_segment(id, &segment(built, seqs.clone()), replaced)?;
        heads.ours.retain(|one| !replaced.contains(&one.head.number));
        if let Ok(meaning) = meaning {
            let place = heads.ours.partition_point(|one| one.head.seqs.start < seqs.start);
            heads.ours.insert(place, VectorHead { head: SegmentHead { number, seqs, header }, meaning });
        }
        Ok(())
    }

    /// Merges the first long enough run of small neighbours; false if there is none. The caller holds the lock.
    fn merge_vectors(&self, id: ConversationId, heads: &mut VectorHeads) -> Result<bool, EngineError> {
        let Some(run) = mergeable(&heads.ours) else { return Ok(false) };
        let run = heads.ours.get(run).unwrap_or_default();
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(false) };
        let seqs = first.head.seqs.start..last.head.seqs.end;
        let mut parts = Vec::with_capacity(run.len());
        for one in run {
            let block = match one.meaning.codes {
                0 => Vec::new(),
                _ => self.store().block(id, one.head.number, 0)?,
            };
            parts.push((one.head.seqs.start, MeaningSegment { header: one.head.header.clone(), block }));
        }
        let replaced: Vec<u64> = run.iter().map(|one| one.head.number).collect();
        // What cannot be merged stays: a damaged one is found by `verify`.
        let Ok(built) = merge(&parts) else { return Ok(false) };
        self.put_meaning(id, heads, NewSegment { built, seqs }, &replaced)?;
        Ok(true)
    }
}

/// A segment to store.
struct NewSegment {
    built: MeaningSegment,
    seqs: Range<u64>,
}

/// The texts of an entry that get vectors: its pieces, each with the author before it.
fn texts(entry: &Entry, model: &MeaningModel) -> Vec<String> {
    if !entry.origin.is_searched() {
        return Vec::new();
    }
    let most = if entry.role == Role::Tool { TOOL_PIECES_MAX } else { PIECES_MAX };
    let author = entry.author.as_ref().map(|author| format!("{author}: ")).unwrap_or_default();
    pieces(&model.shown(&text(entry)), most).into_iter().map(|piece| format!("{author}{piece}")).collect()
}

fn segment(built: MeaningSegment, seqs: Range<u64>) -> Segment {
    let blocks = if built.block.is_empty() { Vec::new() } else { vec![built.block] };
    Segment { seqs, header: built.header, blocks }
}

/// A run of at least [`FAN_IN`] neighbours without gaps, none larger than the smallest size class with that many.
fn mergeable(heads: &[VectorHead]) -> Option<Range<usize>> {
    let class = |one: &VectorHead| {
        let entries = one.head.seqs.end.saturating_sub(one.head.seqs.start).max(1);
        (entries < MERGED_MAX).then(|| entries.ilog(FAN_IN as u64))
    };
    for most in 0..=MERGED_MAX.ilog(FAN_IN as u64) {
        let mut start = 0;
        let mut end = None;
        for (index, one) in heads.iter().enumerate() {
            let follows = index == start || end == Some(one.head.seqs.start);
            let fits = class(one).is_some_and(|class| class <= most);
            if !(fits && follows) {
                start = if fits { index } else { index + 1 };
            }
            end = Some(one.head.seqs.end);
            if (index + 1).saturating_sub(start) >= FAN_IN {
                return Some(start..index + 1);
            }
        }
    }
    None
}

/// When a failed call may be tried again.
fn wait(fault: &Fault, now: Timestamp) -> Timestamp {
    let usual = match fault.cause {
        // A person has to look.
        Cause::Auth | Cause::Payment | Cause::NotFound | Cause::NotStarted | Cause::Tls => HOUR_MS,
        _ => HOUR_MS / 60,
    };
    let told = fault.cause.retry_after().map_or(0, |wait| i64::try_from(wait.as_millis()).unwrap_or(HOUR_MS));
    Timestamp(now.0.saturating_add(usual.max(told)))
}

/// A step that failed.
fn failed(fault: &Fault, now: Timestamp) -> EmbedStep {
    let is_model = suspect(&fault.cause) == Suspect::Model;
    EmbedStep::Failed { until: wait(fault, now), why: fault.to_string(), is_model }
}

/// The conflict of two lengths, if both are known and differ.
fn conflict(model: &MeaningModel, stored: Option<u32>, made: Option<usize>) -> Option<LengthConflict> {
    let (stored, made) = (stored?, made? as u32);
    (stored != made).then(|| LengthConflict { model: model.name().to_owned(), stored, made })
}
