//! One import from start to end.

use std::io::BufRead;
use std::time::{SystemTime, UNIX_EPOCH};

use unforget_core::entry::Origin;
use unforget_core::id::{Generation, Position, Seq, Timestamp};
use unforget_core::reconcile::{self, Delivered, ImportPlan, Stored};
use unforget_recall::segment::SegmentBuilder;
use unforget_store::{
    Conversation, FoundSnapshot, NewConversation, OpenedBy, Packed, Receipt, Snapshot, Store, Target,
    read_all,
};
use unforget_wire::{Place, Reader, Record, Warning};

use super::crew::{Crew, Prepared};
use super::known::StoredPrefix;
use super::lineage::Lineage;
use super::writer::BatchWriter;
use super::{Imported, Progress, TranscriptOrigin, WARNINGS_LISTED, Warnings};
use crate::EngineError;
use crate::append::{Appender, ChainedRecord, ConversationLock, PlacedRecord, TranscriptEnd};
use crate::recognise::ConversationFacts;

/// Raw bytes per transaction.
const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// Records per transaction, relevant for files of tiny records.
const BATCH_RECORDS: usize = 16 * 1024;

/// Bytes between two progress reports.
const REPORT_BYTES: u64 = 512 * 1024;

/// Imports the content of `input`.
pub(super) fn import(
    store: &dyn Store,
    input: impl BufRead,
    place: &TranscriptOrigin<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Imported, EngineError> {
    let failed = |source| EngineError::Read { path: place.path.into(), source };
    let reader = Reader::open(input).map_err(failed)?;
    let source = reader.source().clone();
    let new = NewConversation {
        key: source.key.clone(),
        format: source.format.name().to_owned(),
        title: source.title.clone(),
        parent: source.parent.clone(),
    };
    let id = store.ensure(&new)?.id;
    let lock = ConversationLock::of(id);
    let conversation = store.conversation(id)?;
    let mut walk = Walk::new(reader, place, progress);
    let (plan, done) = walk.carry_out(store, &conversation, lock)?;
    walk.report();
    if plan == ImportPlan::Rotation && walk.entries < conversation.length {
        walk.warn_of_replaced(conversation.length);
    }
    Ok(Imported {
        path: place.path.into(),
        format: source.format,
        conversation: source.key,
        parent: source.parent,
        plan,
        generation: done.generation,
        snapshot: done.snapshot,
        entries: walk.entries,
        added: done.added,
        bytes: walk.end.bytes + walk.reader.trailer().len() as u64,
        skipped_unchanged: false,
        warnings: walk.warnings,
    })
}

/// The reading side: the file, record by record, with the stored part of the conversation.
struct Walk<'a, R> {
    reader: Reader<R>,
    place: &'a TranscriptOrigin<'a>,
    progress: &'a mut dyn FnMut(Progress<'_>),
    end: TranscriptEnd,
    lineage: Lineage,
    facts: ConversationFacts,
    /// Number of records so far.
    entries: u64,
    reported: u64,
    warnings: Warnings,
}

/// Result of the writing side.
struct Written {
    generation: Generation,
    snapshot: u64,
    added: u64,
}

impl<'a, R: BufRead> Walk<'a, R> {
    fn new(
        reader: Reader<R>,
        place: &'a TranscriptOrigin<'a>,
        progress: &'a mut dyn FnMut(Progress<'_>),
    ) -> Self {
        let facts = ConversationFacts::titled(reader.source().title.as_deref());
        Self {
            reader,
            place,
            progress,
            end: TranscriptEnd::start(),
            lineage: Lineage::default(),
            facts,
            entries: 0,
            reported: 0,
            warnings: Warnings::default(),
        }
    }

    /// Skips the stored part, plans, and writes the rest.
    fn carry_out(
        &mut self,
        store: &dyn Store,
        conversation: &Conversation,
        lock: ConversationLock,
    ) -> Result<(ImportPlan, Written), EngineError> {
        let generations = read_all(|page| store.generations(conversation.id, page))?;
        let head = (!generations.is_empty()).then_some((conversation.current, conversation.length));
        let mut known = StoredPrefix::new(store, conversation.id, generations, conversation.current)?;
        let mut first_new = None;
        while first_new.is_none()
            && let Some(chained) = self.read()?
        {
            match known.next(chained.chain)? {
                Some(seq) => self.pass(chained.record, seq),
                None => first_new = Some(chained),
            }
        }
        let latest = store.latest_snapshot(conversation.id)?;
        let stored = Stored {
            head,
            same_trailer: latest.as_ref().is_some_and(|latest| latest.trailer == self.reader.trailer()),
        };
        // The number of further records does not change the plan.
        let length = known.shared() + u64::from(first_new.is_some());
        let plan = reconcile::plan(stored, Delivered { length, shared: known.shared(), end: known.end()? });
        let target = target(plan, &known, conversation);
        let appender = Appender::new(store, conversation.id, lock, target, Seq(conversation.entries));
        let mut writer = BatchWriter::new(store, conversation.id, appender);
        let done = match first_new {
            Some(first) => self.write(store, &mut writer, conversation.entries, first)?,
            None if plan == ImportPlan::UpToDate => {
                self.touch(store, &mut writer, latest, conversation.entries)?
            }
            None => self.finish(&mut writer, empty(conversation.entries))?,
        };
        let added = writer.added();
        writer.finish()?;
        Ok((plan, Written { added, ..done }))
    }

    fn read(&mut self) -> Result<Option<ChainedRecord>, EngineError> {
        let record = self.reader.next_record();
        let record = record.map_err(|source| EngineError::Read { path: self.place.path.into(), source })?;
        Ok(record.map(|record| self.end.pass(record)))
    }

    /// Counts a stored record.
    fn pass(&mut self, mut record: Record, seq: Seq) {
        self.warn(record.warning.take());
        let standing = self.lineage.place(&record.entry, seq);
        if !standing.is_copy {
            self.facts.take(&record.entry, standing.thread);
        }
        self.step();
    }

    /// Gives a new record its place, for the crew.
    fn take(&mut self, mut chained: ChainedRecord, seq: Seq) -> PlacedRecord {
        self.warn(chained.record.warning.take());
        let standing = self.lineage.place(&chained.record.entry, seq);
        if standing.is_copy {
            // Stored like every record, but shown, indexed and counted once.
            chained.record.entry.origin = Origin::Copy;
        } else {
            self.facts.take(&chained.record.entry, standing.thread);
        }
        self.step();
        chained.at(seq, standing.thread, standing.parent)
    }

    fn step(&mut self) {
        self.entries += 1;
        if self.end.bytes - self.reported >= REPORT_BYTES {
            self.report();
        }
    }

    fn report(&mut self) {
        self.reported = self.end.bytes;
        let (path, total) = (self.place.path, self.place.size);
        (self.progress)(Progress { path, bytes: self.end.bytes, total, entries: self.entries });
    }

    fn warn(&mut self, warning: Option<Warning>) {
        let Some(warning) = warning else { return };
        self.warnings.count += 1;
        if self.warnings.first.len() < WARNINGS_LISTED {
            self.warnings.first.push(warning);
        }
    }

    /// Tells that a shorter file with nothing in common is the conversation from now on: another session may have got its id.
    fn warn_of_replaced(&mut self, before: u64) {
        let (place, latest) = (Place { line: 1, byte: 0 }, self.entries);
        let what = format!(
            "another file with this session's id had {before} entries, and this one has {latest} others: the conversation \
             is shown as in this file from now on, and what was there before is an earlier save of it"
        );
        self.warnings.count += 1;
        self.warnings.first.insert(0, Warning { place, bytes: 0, what });
        self.warnings.first.truncate(WARNINGS_LISTED);
    }

    /// Writes `first` and all records behind it.
    fn write(
        &mut self,
        store: &dyn Store,
        writer: &mut BatchWriter<'_>,
        from: u64,
        first: ChainedRecord,
    ) -> Result<Written, EngineError> {
        std::thread::scope(|scope| {
            let mut crew = Crew::new(scope, store.dictionary());
            let (mut batch, mut batch_bytes, mut seq) = (Vec::new(), 0, from);
            let mut next = Some(first);
            while let Some(chained) = next {
                batch_bytes += chained.record.lead.len() + chained.record.body.len();
                batch.push(self.take(chained, Seq(seq)));
                seq += 1;
                if batch_bytes >= BATCH_BYTES || batch.len() >= BATCH_RECORDS {
                    batch_bytes = 0;
                    crew.give(std::mem::take(&mut batch))?;
                    while let Some(prepared) = crew.ready()? {
                        writer.write(prepared, None, None)?;
                    }
                }
                next = self.read()?;
            }
            let last = if batch.is_empty() { empty(seq) } else { crew.prepare(batch)? };
            while let Some(prepared) = crew.wait()? {
                writer.write(prepared, None, None)?;
            }
            self.finish(writer, last)
        })
    }

    /// Writes the last batch with the snapshot that makes the file current.
    fn finish(&mut self, writer: &mut BatchWriter<'_>, last: Prepared) -> Result<Written, EngineError> {
        self.warn(self.reader.trailer_warning().cloned());
        let trailer = self.reader.trailer().to_vec();
        let snapshot = Snapshot {
            number: 0,
            generation: Generation(0),
            length: self.entries,
            file_bytes: self.end.bytes + trailer.len() as u64,
            trailer,
            path: self.place.name.clone(),
            modified_ns: self.place.modified_ns,
            time: now(),
        };
        self.facts.of_session(self.reader.facts());
        let facts = self.facts.row(last.seqs.end);
        let Receipt { generation, .. } = writer.write(last, Some(snapshot), Some(facts))?;
        let number = writer.latest_snapshot()?;
        Ok(Written { generation, snapshot: number, added: 0 })
    }

    /// Nothing is new. Records path and time of the file, so that it need not be read again.
    ///
    /// * `stored` - number of entries of the conversation.
    fn touch(
        &mut self,
        store: &dyn Store,
        writer: &mut BatchWriter<'_>,
        latest: Option<Snapshot>,
        stored: u64,
    ) -> Result<Written, EngineError> {
        let seen = store.snapshot_of_path(&self.place.name)?;
        let is_seen = seen.is_some_and(|FoundSnapshot { snapshot: seen, .. }| {
            latest.as_ref().is_some_and(|latest| latest.number == seen.number && latest.time == seen.time)
                && seen.modified_ns == self.place.modified_ns
        });
        match latest {
            Some(latest) if is_seen => {
                self.warn(self.reader.trailer_warning().cloned());
                Ok(Written { generation: latest.generation, snapshot: latest.number, added: 0 })
            }
            _ => self.finish(writer, empty(stored)),
        }
    }
}

/// Where the first new record goes; for plans without new records, the generation that becomes current.
fn target(plan: ImportPlan, known: &StoredPrefix<'_>, conversation: &Conversation) -> Target {
    let extend = |generation| Target::Extend(generation, known.length(generation));
    match plan {
        ImportPlan::FirstSight => Target::Open { parent: None, opened_by: OpenedBy::FirstSight },
        ImportPlan::Rotation => Target::Open { parent: None, opened_by: OpenedBy::Rotation },
        ImportPlan::Branch { parent, keep } => {
            Target::Open { parent: Some((parent, Position(keep))), opened_by: OpenedBy::Branch }
        }
        ImportPlan::Append { generation, .. }
        | ImportPlan::Rewind { generation, .. }
        | ImportPlan::Switch { generation, .. } => extend(generation),
        ImportPlan::UpToDate | ImportPlan::Trailer => extend(conversation.current),
    }
}

fn empty(seq: u64) -> Prepared {
    Prepared { seqs: seq..seq, packed: Packed::default(), terms: SegmentBuilder::new() }
}

/// The current time. An attribute of stored data, never used for ordering.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}
