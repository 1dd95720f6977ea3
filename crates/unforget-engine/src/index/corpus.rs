//! The indexes of several conversations as one source of postings.

use std::collections::HashMap;

use unforget_core::id::{ConversationId, Seq};
use unforget_recall::segment::{Posting, SegmentReader};
use unforget_recall::source::{MemoryIndex, PostingSource, SegmentIndex};
use unforget_recall::terms::Term;
use unforget_store::{Conversation, SegmentHead, Store};

use super::upkeep::{SegmentHeads, build, gaps};
use crate::EngineError;

/// Number of low bits of a corpus-wide number that hold the seq; the bits above hold the conversation.
const SEQ_BITS: u32 = 40;

/// Unused document numbers between conversations: more than the distance within which ranking considers neighbours.
const APART: u32 = 8;

type Fetch<'a> = Box<dyn FnMut(usize, usize) -> Result<Vec<u8>, EngineError> + 'a>;

/// The indexes of some conversations.
pub(crate) struct Corpus<'a> {
    indexes: Vec<ConversationIndex<'a>>,
    docs: u32,
}

/// A document and its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CorpusDocument {
    /// Its number in the corpus.
    pub(crate) number: u32,
    /// Its entry.
    pub(crate) seq: u64,
}

/// The index of one conversation.
struct ConversationIndex<'a> {
    index: SegmentIndex<Fetch<'a>>,
    /// Number of its first document.
    base: u32,
    /// Heads of its segments of vectors. One read gives them and the heads of words.
    meaning: Vec<SegmentHead>,
}

impl<'a> Corpus<'a> {
    /// Opens the indexes; entries without a segment are indexed in memory.
    pub(crate) fn open(store: &'a dyn Store, conversations: &[Conversation]) -> Result<Self, EngineError> {
        let mut indexes = Vec::with_capacity(conversations.len());
        let mut docs = 0_u32;
        for conversation in conversations {
            let SegmentHeads { words, meaning } = SegmentHeads::read(store, conversation.id)?;
            let index = open(store, conversation, &words)?;
            let base = docs;
            docs = docs.saturating_add(index.docs()).saturating_add(APART);
            indexes.push(ConversationIndex { index, base, meaning });
        }
        Ok(Self { indexes, docs })
    }

    /// Number of real documents.
    pub(crate) fn entries(&self) -> u64 {
        self.indexes.iter().map(|one| u64::from(one.index.docs())).sum()
    }

    /// Heads of the segments of meaning of the conversation at a place in the list, as they were when the corpus was opened.
    pub(crate) fn meaning_heads(&self, at: usize) -> &[SegmentHead] {
        self.indexes.get(at).map_or(&[], |one| &one.meaning)
    }

    /// The documents of the conversation at a place in the list, ascending.
    pub(crate) fn documents(&self, at: usize) -> impl Iterator<Item = CorpusDocument> + '_ {
        self.indexes.get(at).into_iter().flat_map(|one| {
            let document = move |doc| {
                one.index.seq(doc).map(|seq| CorpusDocument { number: one.base.saturating_add(doc), seq })
            };
            (0..one.index.docs()).filter_map(document)
        })
    }

    fn index_of(&self, doc: u32) -> Option<(usize, &ConversationIndex<'a>)> {
        let at = self.indexes.partition_point(|one| one.base <= doc).checked_sub(1)?;
        self.indexes.get(at).map(|one| (at, one))
    }
}

/// Splits a corpus-wide number into the index of the conversation and the seq.
pub(crate) fn place(number: u64) -> (usize, Seq) {
    ((number >> SEQ_BITS) as usize, Seq(number & ((1 << SEQ_BITS) - 1)))
}

fn open<'a>(
    store: &'a dyn Store,
    conversation: &Conversation,
    heads: &[SegmentHead],
) -> Result<SegmentIndex<Fetch<'a>>, EngineError> {
    let id: ConversationId = conversation.id;
    let gaps = gaps(heads, conversation.entries);
    // Stored segments and, for gaps, segments built in memory; ascending.
    let mut readers: Vec<(SegmentReader, Blocks)> = Vec::new();
    for head in heads.iter().filter(|head| !head.header.is_empty()) {
        readers.push((SegmentReader::parse(&head.header)?, Blocks::Stored(head.number)));
    }
    for gap in gaps {
        build(store, conversation, gap, &mut |built| {
            if !built.header.is_empty() {
                readers.push((SegmentReader::parse(&built.header)?, Blocks::Memory(built.blocks)));
            }
            Ok(())
        })?;
    }
    readers.sort_by_key(|(reader, _)| reader.seqs().start);
    let (readers, blocks): (Vec<_>, Vec<_>) = readers.into_iter().unzip();
    let mut cache: HashMap<(u64, usize), Vec<u8>> = HashMap::new();
    let fetch = move |segment: usize, block: usize| match blocks.get(segment) {
        Some(Blocks::Memory(blocks)) => Ok(blocks.get(block).cloned().unwrap_or_default()),
        Some(Blocks::Stored(number)) => {
            if let Some(bytes) = cache.get(&(*number, block)) {
                return Ok(bytes.clone());
            }
            let bytes = store.block(id, *number, block)?;
            cache.insert((*number, block), bytes.clone());
            Ok(bytes)
        }
        None => Ok(Vec::new()),
    };
    Ok(SegmentIndex::new(readers, MemoryIndex::new(), Box::new(fetch) as Fetch<'a>)?)
}

/// Where the blocks of a segment are stored.
enum Blocks {
    Stored(u64),
    Memory(Vec<Vec<u8>>),
}

impl PostingSource for Corpus<'_> {
    type Error = EngineError;

    fn docs(&self) -> u32 {
        self.docs
    }

    fn length_sum(&self) -> u64 {
        self.indexes.iter().map(|one| one.index.length_sum()).sum()
    }

    fn length(&self, doc: u32) -> u32 {
        self.index_of(doc).map_or(0, |(_, one)| {
            if doc - one.base < one.index.docs() { one.index.length(doc - one.base) } else { 0 }
        })
    }

    fn seq(&self, doc: u32) -> Option<u64> {
        let (at, one) = self.index_of(doc)?;
        if doc - one.base >= one.index.docs() {
            return None;
        }
        one.index.seq(doc - one.base).map(|seq| (at as u64) << SEQ_BITS | seq)
    }

    fn postings(&mut self, term: Term, out: &mut Vec<Posting>) -> Result<(), Self::Error> {
        for one in &mut self.indexes {
            let start = out.len();
            one.index.postings(term, out)?;
            out.iter_mut().skip(start).for_each(|posting| posting.doc += one.base);
        }
        Ok(())
    }
}
