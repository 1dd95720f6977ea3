//! The work: the newest entries without a vector get theirs.

use std::ops::Range;

use unforget_core::entry::{Entry, Origin, Role};
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::tokens::Ruler as _;
use unforget_llm::{Cause, Fault};
use unforget_recall::meaning::{Coded, MeaningBuilder, MeaningSegment, VectorModel, code, merge, pieces};
use unforget_store::{Segment, Spend, SpendHour, SpendKind};
use unforget_wire::{Format, decode};

use super::MeaningModel;
use super::coverage::{VectorHead, VectorHeads};
use crate::append::ConversationLock;
use crate::entry_text::text;
use crate::meaning_model::TextVectors;
use crate::rows::stored_portions;
use crate::ruler::ModelRuler;
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
        /// Pieces that the model refused: they are found by words.
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
        /// No conversation asks before.
        until: Timestamp,
    },
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
        let window = gap.end.saturating_sub(WINDOW).max(gap.start)..gap.end;
        let batch = self.batch(id, &conversation.format, window, model.config().batch)?;
        let texts: Vec<String> = batch.pieces.iter().map(|(_, text)| text.clone()).collect();
        let charge = Charge::of(model, &texts, now);
        if !charge.is_taken(self, id)? {
            return Ok(charge.spent_up());
        }
        let made = if texts.is_empty() { Ok(TextVectors::default()) } else { model.texts(&texts) };
        let TextVectors { vectors, tokens } = match made {
            Ok(made) => made,
            Err(fault) => return Ok(EmbedStep::Failed { until: wait(&fault, now), why: fault.to_string() }),
        };
        charge.settle(self, id, tokens)?;
        let entries = batch.seqs.end - batch.seqs.start;
        let refused = vectors.iter().filter(|vector| vector.is_none()).count() as u64;
        let stored = self.put_vectors(id, model, &batch, &vectors)?;
        while self.merge_vectors(id, model)? {}
        Ok(EmbedStep::Done { entries, vectors: stored, refused })
    }

    /// The newest entries of a window with about as many pieces as a call takes.
    fn batch(
        &self,
        id: ConversationId,
        format: &str,
        window: Range<u64>,
        most: usize,
    ) -> Result<Batch, EngineError> {
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
                entries.push((raw.seq.0, texts(&entry)));
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

    /// Stores the vectors, but for entries that were purged meanwhile. Returns how many were stored.
    fn put_vectors(
        &self,
        id: ConversationId,
        model: &MeaningModel,
        batch: &Batch,
        vectors: &[Option<Vec<f32>>],
    ) -> Result<u64, EngineError> {
        let _lock = ConversationLock::of(id);
        let heads = VectorHeads::read(self.store(), id, model)?;
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
        // Vectors of another length are another model's, whatever its name.
        let is_other = |one: &&VectorHead| {
            first > 0 && one.meaning.codes > 0 && one.meaning.model.dimension as usize != first
        };
        let other = heads.ours.iter().filter(is_other).map(|one| one.head.number);
        let replaced: Vec<u64> = heads.stale.iter().copied().chain(other).collect();
        let mut builder = MeaningBuilder::new(of, batch.seqs.start);
        let mut stored = 0;
        for ((seq, _), vector) in batch.pieces.iter().zip(vectors) {
            if let Some(vector) = vector.as_ref().filter(|_| is_there(*seq)) {
                builder.add(Coded { seq: *seq, code: code(vector) });
                stored += 1;
            }
        }
        self.store().put_segment(id, &segment(builder.finish(), batch.seqs.clone()), &replaced)?;
        Ok(stored)
    }

    /// Merges the first long enough run of small neighbours; false if there is none.
    fn merge_vectors(&self, id: ConversationId, model: &MeaningModel) -> Result<bool, EngineError> {
        let _lock = ConversationLock::of(id);
        let heads = VectorHeads::read(self.store(), id, model)?.ours;
        let Some(run) = mergeable(&heads) else { return Ok(false) };
        let run = heads.get(run).unwrap_or_default();
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
        let Ok(merged) = merge(&parts) else { return Ok(false) };
        self.store().put_segment(id, &segment(merged, seqs), &replaced)?;
        Ok(true)
    }
}

/// The texts of an entry that get vectors: its pieces, each with the author before it.
fn texts(entry: &Entry) -> Vec<String> {
    if !entry.origin.is_searched() {
        return Vec::new();
    }
    let most = if entry.role == Role::Tool { TOOL_PIECES_MAX } else { PIECES_MAX };
    let author = entry.author.as_ref().map(|author| format!("{author}: ")).unwrap_or_default();
    pieces(&text(entry), most).into_iter().map(|piece| format!("{author}{piece}")).collect()
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

/// What a call may cost.
struct Charge {
    hour: SpendHour,
    caps: Spend,
    price: u64,
    /// `None` for a model in this process.
    most: Option<Spend>,
}

impl Charge {
    fn of(model: &MeaningModel, texts: &[String], now: Timestamp) -> Self {
        let ruler = ModelRuler::Estimate;
        let tokens = texts.iter().map(|text| ruler.count(text).upper).sum();
        let is_free = model.is_local() || texts.is_empty();
        let hour = SpendHour { kind: SpendKind::Meaning, hour: now.0.div_euclid(HOUR_MS) };
        let most = (!is_free).then(|| cost(tokens, model.config().price));
        Self {
            hour,
            caps: Spend { output: u64::MAX, ..model.config().caps },
            price: model.config().price,
            most,
        }
    }

    fn is_taken(&self, engine: &Engine, id: ConversationId) -> Result<bool, EngineError> {
        Ok(match self.most {
            None => true,
            Some(most) => engine.store().charge(id, self.hour, most, self.caps)?,
        })
    }

    /// Gives back what the call did not take, by the model's own count.
    fn settle(&self, engine: &Engine, id: ConversationId, tokens: Option<u64>) -> Result<(), EngineError> {
        let (Some(most), Some(tokens)) = (self.most, tokens) else { return Ok(()) };
        Ok(engine.store().refund(id, self.hour, most.less(cost(tokens, self.price)))?)
    }

    fn spent_up(&self) -> EmbedStep {
        EmbedStep::SpentUp { until: Timestamp((self.hour.hour + 1).saturating_mul(HOUR_MS)) }
    }
}

fn cost(tokens: u64, price: u64) -> Spend {
    Spend { calls: 1, input: tokens, output: 0, micros: tokens.saturating_mul(price).div_ceil(1_000_000) }
}
