//! Distributes processor-bound work between a second thread and the waiting caller.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::Scope;

use unforget_core::digest::{Chain, content_digest};
use unforget_core::id::{Generation, Position, Seq};
use unforget_recall::segment::{SegmentBuilder, SegmentError};
use unforget_store::{Dictionary, EntryRow, NewEntry, Packed, Packer, StoreError};
use unforget_wire::Record;

use super::lineage::Standing;
use crate::EngineError;
use crate::index::{self, Documents};
use crate::measure;

/// Maximum number of batches prepared and not yet written; more would only cost memory.
const DONE_MAX: usize = 1;

/// A record with all data that only the reading thread knows.
pub(crate) struct Incoming {
    pub(crate) record: Record,
    pub(crate) seq: Seq,
    pub(crate) standing: Standing,
    pub(crate) chain: Chain,
    /// Range of the record's body in the file.
    pub(crate) bytes: Range<u64>,
}

/// A batch ready to be written.
pub(super) struct Prepared {
    pub(super) seqs: Range<u64>,
    pub(super) packed: Packed,
    pub(super) terms: SegmentBuilder,
}

type Outcome = (u64, Result<Prepared, SegmentError>);

/// Prepares batches and returns them in order.
pub(super) struct Crew<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    dictionary: Option<Arc<Dictionary>>,
    own: Documents,
    other: Option<Other>,
    given: u64,
    taken: u64,
    done: BTreeMap<u64, Result<Prepared, SegmentError>>,
}

/// The second thread. It ends when its channel is dropped.
struct Other {
    inlet: SyncSender<(u64, Vec<Incoming>)>,
    outlet: Receiver<Outcome>,
}

impl<'scope, 'env> Crew<'scope, 'env> {
    pub(super) fn new(scope: &'scope Scope<'scope, 'env>, dictionary: Option<Arc<Dictionary>>) -> Self {
        let own = Documents::new();
        Self { scope, dictionary, own, other: None, given: 0, taken: 0, done: BTreeMap::new() }
    }

    /// Takes a batch. The second thread prepares it; if that thread is busy, the caller does.
    pub(super) fn give(&mut self, batch: Vec<Incoming>) -> Result<(), EngineError> {
        let number = self.given;
        self.given += 1;
        let other = self.other.get_or_insert_with(|| start(self.scope, self.dictionary.clone()));
        match other.inlet.try_send((number, batch)) {
            Ok(()) => (),
            Err(TrySendError::Full((_, batch))) => self.prepare_here(number, batch),
            Err(TrySendError::Disconnected(_)) => return Err(stopped()),
        }
        while self.done.len() > DONE_MAX && !self.done.contains_key(&self.taken) {
            self.receive()?;
        }
        Ok(())
    }

    /// The next batch in order, if it is done.
    pub(super) fn ready(&mut self) -> Result<Option<Prepared>, EngineError> {
        if let Some(other) = &self.other {
            self.done.extend(other.outlet.try_iter());
        }
        self.take()
    }

    /// The next batch in order; `None` after the last one.
    pub(super) fn wait(&mut self) -> Result<Option<Prepared>, EngineError> {
        while self.taken < self.given && !self.done.contains_key(&self.taken) {
            self.receive()?;
        }
        self.take()
    }

    /// Prepares the last batch on the calling thread.
    pub(super) fn prepare(&mut self, batch: Vec<Incoming>) -> Result<Prepared, EngineError> {
        Ok(prepare(&mut self.own, batch, self.dictionary.as_deref())?)
    }

    fn prepare_here(&mut self, number: u64, batch: Vec<Incoming>) {
        let prepared = prepare(&mut self.own, batch, self.dictionary.as_deref());
        self.done.insert(number, prepared);
    }

    fn take(&mut self) -> Result<Option<Prepared>, EngineError> {
        let Some(prepared) = self.done.remove(&self.taken) else { return Ok(None) };
        self.taken += 1;
        Ok(Some(prepared?))
    }

    fn receive(&mut self) -> Result<(), EngineError> {
        let outcome = self.other.as_ref().and_then(|other| other.outlet.recv().ok()).ok_or_else(stopped)?;
        self.done.insert(outcome.0, outcome.1);
        Ok(())
    }
}

/// The error after a panic of the thread; its scope passes the panic on.
fn stopped() -> EngineError {
    StoreError::Backend { operation: "prepare", source: "the preparing thread stopped".into() }.into()
}

fn start<'scope>(scope: &'scope Scope<'scope, '_>, dictionary: Option<Arc<Dictionary>>) -> Other {
    let (inlet, jobs) = sync_channel::<(u64, Vec<Incoming>)>(1);
    let (answers, outlet): (Sender<Outcome>, _) = channel();
    scope.spawn(move || {
        let mut documents = Documents::new();
        for (number, batch) in jobs {
            let prepared = prepare(&mut documents, batch, dictionary.as_deref());
            if answers.send((number, prepared)).is_err() {
                return;
            }
        }
    });
    Other { inlet, outlet }
}

/// Counts tokens, computes digests, analyses words and compresses a batch.
fn prepare(
    documents: &mut Documents,
    batch: Vec<Incoming>,
    dictionary: Option<&Dictionary>,
) -> Result<Prepared, SegmentError> {
    let start = batch.first().map_or(0, |incoming| incoming.seq.0);
    let seqs = start..start + batch.len() as u64;
    let mut terms = SegmentBuilder::new();
    let mut packer = Packer::new(&index::filter, dictionary);
    for incoming in batch {
        let entry = &incoming.record.entry;
        documents.add(&mut terms, incoming.seq, entry)?;
        packer.push(new_entry(incoming));
    }
    Ok(Prepared { seqs, packed: packer.finish(), terms })
}

pub(crate) fn new_entry(incoming: Incoming) -> NewEntry {
    let Incoming { record, seq, standing, chain, bytes } = incoming;
    let entry = record.entry;
    let (tokens, stubbed) = measure::tokens(&entry);
    let row = EntryRow {
        seq,
        generation: Generation(0),
        position: Position(0),
        parent: standing.parent,
        thread: standing.thread,
        role: entry.role,
        origin: entry.origin,
        status: entry.status,
        tokens,
        stubbed,
        chain,
        content: content_digest(&entry),
        bytes,
        purged: false,
        time: entry.time,
        host_id: entry.host_id,
    };
    NewEntry { lead: record.lead, body: record.body, large: record.large, row }
}
