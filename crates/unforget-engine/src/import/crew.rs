//! Distributes processor-bound work between a second thread and the waiting caller.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::Scope;

use unforget_recall::segment::{SegmentBuilder, SegmentError};
use unforget_store::{Dictionary, Packed, StoreError};

use crate::EngineError;
use crate::append::{PlacedRecord, pack};
use crate::index::Documents;

/// Maximum number of batches prepared and not yet written; more would only cost memory.
const DONE_MAX: usize = 1;

/// A batch ready to be written.
pub(super) struct Prepared {
    pub(super) seqs: Range<u64>,
    pub(super) packed: Packed,
    pub(super) terms: SegmentBuilder,
}

/// A batch and its place among the others.
struct Numbered<T> {
    number: u64,
    batch: T,
}

type PrepareResult = Result<Prepared, SegmentError>;

/// Prepares batches and returns them in order.
pub(super) struct Crew<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    dictionary: Option<Arc<Dictionary>>,
    own: Documents,
    other: Option<SecondThread>,
    given: u64,
    taken: u64,
    done: BTreeMap<u64, PrepareResult>,
}

/// The second thread. It ends when its channel is dropped.
struct SecondThread {
    inlet: SyncSender<Numbered<Vec<PlacedRecord>>>,
    outlet: Receiver<Numbered<PrepareResult>>,
}

impl<'scope, 'env> Crew<'scope, 'env> {
    pub(super) fn new(scope: &'scope Scope<'scope, 'env>, dictionary: Option<Arc<Dictionary>>) -> Self {
        let own = Documents::new();
        Self { scope, dictionary, own, other: None, given: 0, taken: 0, done: BTreeMap::new() }
    }

    /// Takes a batch. The second thread prepares it; if that thread is busy, the caller does.
    pub(super) fn give(&mut self, batch: Vec<PlacedRecord>) -> Result<(), EngineError> {
        let number = self.given;
        self.given += 1;
        let other = self.other.get_or_insert_with(|| start(self.scope, self.dictionary.clone()));
        match other.inlet.try_send(Numbered { number, batch }) {
            Ok(()) => (),
            Err(TrySendError::Full(Numbered { batch, .. })) => self.prepare_here(number, batch),
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
            self.done.extend(other.outlet.try_iter().map(|done| (done.number, done.batch)));
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
    pub(super) fn prepare(&mut self, batch: Vec<PlacedRecord>) -> Result<Prepared, EngineError> {
        Ok(prepare(&mut self.own, batch, self.dictionary.as_deref())?)
    }

    fn prepare_here(&mut self, number: u64, batch: Vec<PlacedRecord>) {
        let prepared = prepare(&mut self.own, batch, self.dictionary.as_deref());
        self.done.insert(number, prepared);
    }

    fn take(&mut self) -> Result<Option<Prepared>, EngineError> {
        let Some(prepared) = self.done.remove(&self.taken) else { return Ok(None) };
        self.taken += 1;
        Ok(Some(prepared?))
    }

    fn receive(&mut self) -> Result<(), EngineError> {
        let done = self.other.as_ref().and_then(|other| other.outlet.recv().ok()).ok_or_else(stopped)?;
        self.done.insert(done.number, done.batch);
        Ok(())
    }
}

/// The error after a panic of the thread; its scope passes the panic on.
fn stopped() -> EngineError {
    StoreError::Backend { operation: "prepare", source: "the preparing thread stopped".into() }.into()
}

fn start<'scope>(scope: &'scope Scope<'scope, '_>, dictionary: Option<Arc<Dictionary>>) -> SecondThread {
    let (inlet, jobs) = sync_channel::<Numbered<Vec<PlacedRecord>>>(1);
    let (answers, outlet): (Sender<Numbered<PrepareResult>>, _) = channel();
    scope.spawn(move || {
        let mut documents = Documents::new();
        for Numbered { number, batch } in jobs {
            let batch = prepare(&mut documents, batch, dictionary.as_deref());
            if answers.send(Numbered { number, batch }).is_err() {
                return;
            }
        }
    });
    SecondThread { inlet, outlet }
}

/// Counts tokens, computes digests, analyses words and compresses a batch.
fn prepare(
    documents: &mut Documents,
    batch: Vec<PlacedRecord>,
    dictionary: Option<&Dictionary>,
) -> PrepareResult {
    let start = batch.first().map_or(0, |placed| placed.seq.0);
    let seqs = start..start + batch.len() as u64;
    let mut terms = SegmentBuilder::new();
    for placed in &batch {
        documents.add(&mut terms, placed.seq, &placed.record().entry)?;
    }
    let packed = pack(dictionary, batch.into_iter().map(PlacedRecord::into_entry));
    Ok(Prepared { seqs, packed, terms })
}
