//! The search index of conversations: built during import, completed on demand, merged and rebuilt.

mod background;
mod corpus;
mod upkeep;

use std::ops::Range;

use unforget_core::entry::{Entry, Origin, Part, Role, Status};
use unforget_core::id::{ConversationId, Seq};
use unforget_recall::fields::DocTerms;
use unforget_recall::segment::{self, SegmentBuilder, SegmentError};
use unforget_recall::terms::Analyser;
use unforget_store::{Segment, Store};

use crate::EngineError;

pub use background::{IndexNews, IndexUpkeep};
pub(crate) use corpus::{Corpus, CorpusDocument, place};
pub use upkeep::UNINDEXED_MAX;
pub(crate) use upkeep::{SegmentHeads, gaps, heads, past_damage, upkeep};

/// Memory in bytes at which a builder is written out as a segment.
const BUILDER_BYTES: usize = 24 * 1024 * 1024;

/// Turns entries into documents. Reuses its buffers; each thread has one.
pub(crate) struct Documents {
    analyser: Analyser,
    doc: DocTerms,
}

impl Documents {
    pub(crate) fn new() -> Self {
        Self { analyser: Analyser::new(), doc: DocTerms::new() }
    }

    /// Adds an entry to a segment unless the entry has nothing to search for: copies, bookkeeping, opaque records and
    /// entries without words.
    pub(crate) fn add(
        &mut self,
        builder: &mut SegmentBuilder,
        seq: Seq,
        entry: &Entry,
    ) -> Result<(), SegmentError> {
        if self.read(entry) { builder.add(seq.0, &self.doc) } else { Ok(()) }
    }

    /// Reads an entry into `self.doc`; false if the entry has nothing to search for.
    fn read(&mut self, entry: &Entry) -> bool {
        // An error that a host shows as an answer is bookkeeping, and people ask for it.
        let is_failed = entry.status == Status::Error;
        let is_error = is_failed && entry.origin == Origin::Bookkeeping;
        if !entry.origin.is_searched() && !is_error {
            return false;
        }
        self.doc.clear();
        for part in &entry.parts {
            self.part(part);
        }
        if self.doc.terms().is_empty() {
            return false;
        }
        self.doc.role(entry.role);
        let has_error = |part: &Part| matches!(part, Part::ToolResult(result) if result.is_error);
        if is_failed || entry.parts.iter().any(has_error) {
            self.doc.failed();
        }
        if entry.role == Role::None
            && let Some(Part::Text(text)) = entry.parts.last()
        {
            self.doc.asks(text);
        }
        if let Some(author) = &entry.author {
            self.doc.author(&mut self.analyser, author);
        }
        if let Some(time) = entry.time {
            self.doc.time(time);
        }
        true
    }

    fn part(&mut self, part: &Part) {
        let Self { analyser, doc } = self;
        match part {
            Part::Text(text) | Part::Thinking { text, .. } => doc.text(analyser, text),
            Part::ToolCall(call) => {
                doc.tool(&call.name);
                doc.text(analyser, &call.name);
                doc.text(analyser, &call.arguments);
            }
            Part::ToolResult(result) => {
                if !result.name.is_empty() {
                    doc.tool(&result.name);
                }
                for inner in &result.content {
                    if let Part::Text(text) = inner {
                        doc.text(analyser, text);
                    }
                }
            }
            Part::Media(_) | Part::Opaque { .. } => (),
        }
    }
}

/// Collects documents of consecutive entries and writes a segment whenever the builder is full.
pub(crate) struct Indexing {
    builder: SegmentBuilder,
    seqs: Range<u64>,
}

impl Indexing {
    pub(crate) fn new() -> Self {
        Self { builder: SegmentBuilder::new(), seqs: 0..0 }
    }

    /// Adds the documents of the entries `seqs`, which continue the previous range.
    pub(crate) fn add(
        &mut self,
        store: &dyn Store,
        id: ConversationId,
        seqs: Range<u64>,
        terms: SegmentBuilder,
    ) -> Result<(), EngineError> {
        let is_next = self.seqs.end == seqs.start;
        let is_full = self.builder.memory_bytes() + terms.memory_bytes() > BUILDER_BYTES;
        if !self.seqs.is_empty() && (is_full || !is_next) {
            self.flush(store, id)?;
        }
        if self.seqs.is_empty() {
            self.seqs = seqs.clone();
        }
        self.builder.absorb(terms)?;
        self.seqs.end = seqs.end;
        Ok(())
    }

    /// Writes the remaining documents, then fills gaps left by interrupted imports, and merges segments.
    pub(crate) fn finish(mut self, store: &dyn Store, id: ConversationId) -> Result<(), EngineError> {
        if self.seqs.is_empty() {
            return Ok(());
        }
        self.flush(store, id)?;
        upkeep(store, id, 1)
    }

    fn flush(&mut self, store: &dyn Store, id: ConversationId) -> Result<(), EngineError> {
        let seqs = std::mem::replace(&mut self.seqs, 0..0);
        let built = std::mem::take(&mut self.builder).finish();
        store.put_segment(id, &stored(built, seqs), &[])?;
        Ok(())
    }
}

/// A segment in its stored form. It covers all of `seqs`, including entries without any document.
fn stored(built: Option<segment::Segment>, seqs: Range<u64>) -> Segment {
    match built {
        Some(built) => Segment { seqs, header: built.header, blocks: built.blocks },
        None => Segment { seqs, header: Vec::new(), blocks: Vec::new() },
    }
}
