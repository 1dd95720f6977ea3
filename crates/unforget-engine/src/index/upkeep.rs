//! Keeps the index complete and small: fills gaps and merges small segments.

use std::cmp::Reverse;
use std::iter::once;
use std::ops::Range;

use unforget_core::entry::Origin;
use unforget_core::id::{ConversationId, Seq};
use unforget_recall::meaning::is_meaning;
use unforget_recall::segment::{self, SegmentBuilder, SegmentReader};
use unforget_store::{Conversation, Segment, SegmentHead, Store, StoreError, read_all};
use unforget_wire::{Format, decode};

use super::{BUILDER_BYTES, Documents, stored};
use crate::append::ConversationLock;
use crate::rows::stored_portions;
use crate::{Engine, EngineError};

/// Number of entries without a segment from which [`Engine::maintain_index`] writes one.
pub const UNINDEXED_MAX: u64 = 256;

/// Number of neighbours of equal size class merged into a segment.
const FAN_IN: usize = 8;

/// Number of blocks from which a segment is not merged any more, because merging holds all blocks in memory.
const MERGED_BLOCKS: usize = 512;

impl Engine {
    /// Writes segments for entries without one, once there are [`UNINDEXED_MAX`] of them, and merges small segments.
    /// Until then searches index those entries each time.
    ///
    /// Cost: O(new entries), amortised; a call without work costs one read of the segments' heads.
    ///
    /// # Errors
    /// [`EngineError::Store`], [`EngineError::Index`].
    pub fn maintain_index(&self, conversation: ConversationId) -> Result<(), EngineError> {
        self.index_beside(conversation, UNINDEXED_MAX)
    }

    /// Writes segments once `least` entries have none, and merges small segments, beside appends.
    pub(crate) fn index_beside(&self, conversation: ConversationId, least: u64) -> Result<(), EngineError> {
        let store = self.store();
        // Long reading and building runs beside appends; only writing waits for the lock.
        upkeep_with(store, conversation, least, &|segment, replaces| {
            let _lock = ConversationLock::of(conversation);
            let is_due = is_due(store, conversation, &segment.seqs, replaces)?;
            if is_due {
                store.put_segment(conversation, segment, replaces)?;
            }
            Ok(is_due)
        })
    }

    /// Drops the search index of a conversation and builds it again from the stored bytes. Searches give the same
    /// answers as before.
    ///
    /// # Errors
    /// [`EngineError::Store`], [`EngineError::Index`].
    pub fn reindex(&self, conversation: ConversationId) -> Result<(), EngineError> {
        let _lock = ConversationLock::of(conversation);
        let store = self.store();
        let all = read_all(|page| store.segments(conversation, page))?;
        if all.iter().any(|head| is_meaning(&head.header)) {
            // Vectors cost a model's time, so they stay.
            let words = all.iter().filter(|head| !is_meaning(&head.header)).map(|head| head.number);
            let nothing = Segment { seqs: 0..0, header: Vec::new(), blocks: Vec::new() };
            store.put_segment(conversation, &nothing, &words.collect::<Vec<_>>())?;
        } else {
            store.drop_segments(conversation)?;
        }
        upkeep(store, conversation, 1)
    }
}

/// Writes a segment in place of others; false if the segment is not needed any more.
type Put<'a> = dyn Fn(&Segment, &[u64]) -> Result<bool, EngineError> + 'a;

/// Fills gaps with at least `least` entries in total, then merges. The caller holds the conversation's lock.
pub(crate) fn upkeep(store: &dyn Store, id: ConversationId, least: u64) -> Result<(), EngineError> {
    upkeep_with(store, id, least, &|segment, replaces| {
        store.put_segment(id, segment, replaces)?;
        Ok(true)
    })
}

fn upkeep_with(store: &dyn Store, id: ConversationId, least: u64, put: &Put<'_>) -> Result<(), EngineError> {
    let conversation = store.conversation(id)?;
    let gaps = gaps(&heads(store, id)?, conversation.entries);
    if gaps.iter().map(|gap| gap.end - gap.start).sum::<u64>() >= least {
        for gap in gaps {
            build(store, &conversation, gap, &mut |built| put(&built, &[]).map(|_| ()))?;
        }
    }
    while past_damage(|| merge_once(store, id, put))? {}
    Ok(())
}

/// Whether a segment built beside appends is still needed: it fills a gap, or the segments that it replaces still
/// exist. A purge fills all gaps before it gives up its lock, so segments built from data before the purge are
/// discarded.
fn is_due(
    store: &dyn Store,
    id: ConversationId,
    seqs: &Range<u64>,
    replaces: &[u64],
) -> Result<bool, EngineError> {
    let heads = heads(store, id)?;
    if replaces.is_empty() {
        return Ok(gaps(&heads, seqs.end).iter().any(|gap| gap.start <= seqs.start && gap.end == seqs.end));
    }
    Ok(replaces.iter().all(|number| heads.iter().any(|head| head.number == *number)))
}

/// Heads of the segments of a conversation, ascending.
#[derive(Default)]
pub(crate) struct SegmentHeads {
    /// Those of words, none of which overlap. Left out are those that a merge replaced while they were read, and those that
    /// another process wrote at the same time for some of the same entries.
    pub(crate) words: Vec<SegmentHead>,
    /// Those of meaning, of every model.
    pub(crate) meaning: Vec<SegmentHead>,
}

impl SegmentHeads {
    /// Reads the heads of both kinds at once.
    pub(crate) fn read(store: &dyn Store, id: ConversationId) -> Result<Self, EngineError> {
        let mut heads = read_all(|page| store.segments(id, page))?;
        heads.sort_by_key(|head| (head.seqs.start, Reverse(head.seqs.end), head.number));
        let (meaning, mut words): (Vec<_>, Vec<_>) =
            heads.into_iter().partition(|head| is_meaning(&head.header));
        let mut end = 0;
        words.retain(|head| {
            let is_read = head.seqs.start >= end || head.seqs.is_empty();
            if is_read {
                end = end.max(head.seqs.end);
            }
            is_read
        });
        Ok(Self { words, meaning })
    }
}

/// Heads of the segments of words of a conversation: see [`SegmentHeads::words`].
pub(crate) fn heads(store: &dyn Store, id: ConversationId) -> Result<Vec<SegmentHead>, EngineError> {
    Ok(SegmentHeads::read(store, id)?.words)
}

/// Entries that no segment covers, ascending.
pub(crate) fn gaps<'a>(heads: impl IntoIterator<Item = &'a SegmentHead>, entries: u64) -> Vec<Range<u64>> {
    let mut gaps = Vec::new();
    let mut next = 0;
    for head in heads {
        if head.seqs.start > next {
            gaps.push(next..head.seqs.start.min(entries));
        }
        next = next.max(head.seqs.end);
    }
    if next < entries {
        gaps.push(next..entries);
    }
    gaps.retain(|gap| !gap.is_empty());
    gaps
}

/// Indexes entries from their bytes; calls `each` with every full segment and with the rest.
pub(crate) fn build(
    store: &dyn Store,
    conversation: &Conversation,
    seqs: Range<u64>,
    each: &mut dyn FnMut(Segment) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let format = Format::by_name(&conversation.format).unwrap_or(Format::Unknown);
    let mut documents = Documents::new();
    let mut builder = SegmentBuilder::new();
    let mut start = seqs.start;
    for portion in stored_portions(store, conversation.id, once(seqs.clone())) {
        let portion = portion?;
        let raw = portion.raw(store, conversation.id)?;
        for (row, raw) in portion.rows.iter().zip(raw) {
            let mut entry = decode(format, &raw.body);
            if row.origin == Origin::Copy {
                // A record does not know that it is a copy.
                entry.origin = Origin::Copy;
            }
            documents.add(&mut builder, raw.seq, &entry)?;
            let Seq(seq) = raw.seq;
            if builder.memory_bytes() > BUILDER_BYTES {
                each(stored(std::mem::take(&mut builder).finish(), start..seq + 1))?;
                start = seq + 1;
            }
        }
    }
    if start < seqs.end { each(stored(builder.finish(), start..seqs.end)) } else { Ok(()) }
}

/// Merges the first long enough run of small neighbours; false if there is none, or if another thread was faster.
fn merge_once(store: &dyn Store, id: ConversationId, put: &Put<'_>) -> Result<bool, EngineError> {
    let heads = heads(store, id)?;
    let Some(run) = mergeable(&heads)? else { return Ok(false) };
    let heads = heads.get(run).unwrap_or_default();
    let (Some(first), Some(last)) = (heads.first(), heads.last()) else { return Ok(false) };
    let seqs = first.seqs.start..last.seqs.end;
    let mut segments = Vec::with_capacity(heads.len());
    for head in heads.iter().filter(|head| !head.header.is_empty()) {
        let blocks = SegmentReader::parse(&head.header)?.blocks();
        let blocks =
            (0..blocks).map(|block| store.block(id, head.number, block)).collect::<Result<_, _>>()?;
        segments.push(segment::Segment { seqs: head.seqs.clone(), header: head.header.clone(), blocks });
    }
    let merged = segment::merge(&segments)?;
    let replaced: Vec<u64> = heads.iter().map(|head| head.number).collect();
    put(&stored(merged, seqs), &replaced)
}

/// Most damaged segments of the index that one reader steps over.
const DAMAGED_MAX: usize = 1_000;

/// Reads the index again as long as a block is missing. The store leaves out a segment with a damaged block from then on,
/// and its entries are indexed from their bytes.
pub(crate) fn past_damage<T>(mut read: impl FnMut() -> Result<T, EngineError>) -> Result<T, EngineError> {
    for _ in 0..DAMAGED_MAX {
        match read() {
            Err(EngineError::Store(StoreError::Missing { .. })) => {}
            read => return read,
        }
    }
    read()
}

/// A run of at least [`FAN_IN`] neighbours without gaps between them, none larger than the smallest size class with
/// that many neighbours.
fn mergeable(heads: &[SegmentHead]) -> Result<Option<Range<usize>>, EngineError> {
    let mut classes = Vec::with_capacity(heads.len());
    for head in heads {
        classes.push(class(head)?);
    }
    for most in 0..8 {
        let mut start = 0;
        for (index, class) in classes.iter().enumerate() {
            let follows = index == start || follows(heads, index);
            let fits = class.is_some_and(|class| class <= most);
            if !(fits && follows) {
                if index - start >= FAN_IN {
                    return Ok(Some(start..index));
                }
                start = if fits { index } else { index + 1 };
            }
        }
        if heads.len() - start >= FAN_IN {
            return Ok(Some(start..heads.len()));
        }
    }
    Ok(None)
}

fn follows(heads: &[SegmentHead], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| heads.get(before));
    before.zip(heads.get(index)).is_some_and(|(before, head)| before.seqs.end == head.seqs.start)
}

/// Size class: powers of eight of the number of entries; `None` for segments too large to be merged.
fn class(head: &SegmentHead) -> Result<Option<u32>, EngineError> {
    if !head.header.is_empty() && SegmentReader::parse(&head.header)?.blocks() > MERGED_BLOCKS {
        return Ok(None);
    }
    let entries = head.seqs.end.saturating_sub(head.seqs.start).max(1);
    Ok(Some(entries.ilog(FAN_IN as u64)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::single_range_in_vec_init, reason = "lists of ranges")]
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use unforget_core::id::Timestamp;

    use super::*;
    use crate::host::{Delivered, Host, LaneKey, Page};

    #[test]
    fn what_somebody_else_indexed_meanwhile_is_not_written_again() {
        let engine = Engine::in_memory();
        let host = Host::new(engine.clone(), || Timestamp(7));
        let lane = LaneKey("main".to_owned());
        let mut time = 0;
        let mut more = || {
            let said = (0..300).map(|_| {
                time += 1;
                Delivered::new(format!(r#"{{"role":"user","content":"word{time}","timestamp":{time}}}"#))
            });
            let page = Page { messages: said.collect(), ..Page::default() };
            host.catch_up(&lane, Format::Pi, page).unwrap();
        };
        more();
        let (store, id) =
            (engine.store(), read_all(|page| engine.store().conversations(page)).unwrap()[0].id);
        let late = |segment: &Segment, replaces: &[u64]| {
            upkeep(store, id, 1)?;
            is_due(store, id, &segment.seqs, replaces)
        };
        let written = |before: usize| read_all(|page| store.segments(id, page)).unwrap().len() - before;
        upkeep_with(store, id, 1, &late).unwrap();
        assert_eq!(written(0), 1, "the other one's");
        for _ in 0..20 {
            more();
            upkeep_with(store, id, 1, &late).unwrap();
        }
        engine.maintain_index(id).unwrap();
        let heads = read_all(|page| store.segments(id, page)).unwrap();
        let entries = store.conversation(id).unwrap().entries;
        assert!(heads.windows(2).all(|two| two[0].seqs.end == two[1].seqs.start), "{heads:?}");
        assert_eq!(heads.last().unwrap().seqs.end, entries);
        assert!(heads.len() < 16, "merged: {}", heads.len());
    }

    fn head(seqs: Range<u64>) -> SegmentHead {
        SegmentHead { number: seqs.start, seqs, header: Vec::new() }
    }

    #[test]
    fn gaps_table() {
        type Row = (&'static [Range<u64>], u64, &'static [Range<u64>], &'static str);
        let table: &[Row] = &[
            (&[], 5, &[0..5], "nothing is indexed"),
            (&[], 0, &[], "nothing is stored"),
            (&[0..5], 5, &[], "everything is"),
            (&[0..5], 9, &[5..9], "a tail"),
            (&[3..5], 5, &[0..3], "the index of the start was lost in a crash"),
            (&[0..2, 4..5], 6, &[2..4, 5..6], "purge took one in the middle"),
            (&[0..4, 2..6], 6, &[], "overlap"),
        ];
        for (segments, entries, want, why) in table {
            let heads: Vec<_> = segments.iter().cloned().map(head).collect();
            assert_eq!(gaps(&heads, *entries), *want, "{why}");
        }
    }

    #[test]
    fn f084_many_small_imports_stay_few_segments() {
        let mut heads: Vec<SegmentHead> = Vec::new();
        let mut most = 0;
        for turn in 0..5000_u64 {
            heads.push(head(turn * 6..turn * 6 + 6));
            while let Some(run) = mergeable(&heads).unwrap() {
                let merged = head(heads[run.start].seqs.start..heads[run.end - 1].seqs.end);
                heads.splice(run, [merged]);
            }
            most = most.max(heads.len());
        }
        assert!(most <= 7 * 6, "{most} segments");
        assert_eq!(gaps(&heads, 30_000), []);
    }

    #[test]
    fn segments_with_a_gap_between_them_are_not_merged() {
        let heads: Vec<_> = (0..16).map(|n| head(n * 10..n * 10 + 9)).collect();
        assert_eq!(mergeable(&heads).unwrap(), None);
    }

    #[test]
    fn of_segments_that_overlap_one_is_read_and_the_rest_is_indexed_again() {
        let engine = Engine::in_memory();
        let host = Host::new(engine.clone(), || Timestamp(7));
        let said = (0..40).map(|time| {
            Delivered::new(format!(r#"{{"role":"user","content":"word{time}","timestamp":{time}}}"#))
        });
        let page = Page { messages: said.collect(), ..Page::default() };
        host.catch_up(&LaneKey("main".to_owned()), Format::Pi, page).unwrap();
        let store = engine.store();
        let one = read_all(|page| store.conversations(page)).unwrap()[0].clone();
        for seqs in [0..20, 10..30, 0..10] {
            build(store, &one, seqs, &mut |segment| {
                Ok(store.put_segment(one.id, &segment, &[]).map(drop)?)
            })
            .unwrap();
        }
        let read = || heads(store, one.id).unwrap().into_iter().map(|head| head.seqs).collect::<Vec<_>>();
        assert_eq!(read(), [0..20]);
        upkeep(store, one.id, 1).unwrap();
        assert_eq!(read(), [0..20, 20..one.entries]);
    }
}
