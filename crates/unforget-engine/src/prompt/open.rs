//! Opens a session on a stored thread: resumes from the stored context, or plays the history.

use std::ops::Range;
use std::sync::mpsc;
use std::thread;

use unforget_core::compact::end_of;
use unforget_core::group::Item;
use unforget_core::id::Seq;
use unforget_store::Conversation;
use unforget_wire::Format;

use super::cover::Cover;
use super::prefetch::{Prefetcher, RUN, ReadAhead};
use super::stored_context::StoredContext;
use super::window::{PathEntry, Window};
use super::{Session, Shape};
use crate::Engine;
use crate::error::EngineError;
use crate::path::{parts, runs_of};
use crate::thread::{ThreadRef, decoded};
use crate::view::Answers;

/// The part of a conversation that a prompt is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All of it.
    Now,
    /// The entries up to and including this one: time travel.
    Seq(Seq),
}

/// The end of a prompt's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathEnd {
    /// The present end.
    Now,
    /// This entry; `None` stands before the first entry.
    Head(Option<Seq>),
}

/// Number of budgets of entries held at once behind a context without summaries. Longer histories are played.
const UNSETTLED: u64 = 4;

impl Session {
    /// A session on a stored thread, at its end or at an earlier entry.
    ///
    /// Resumes from the stored context if there is one: O(what the prompt shows). Otherwise, and for time travel, plays
    /// the history: O(history), with the stored summaries.
    ///
    /// * `progress` - called with the number of played entries and of all entries.
    pub fn open(
        engine: &Engine,
        of: ThreadRef,
        shape: Shape,
        until: Until,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, EngineError> {
        let stored = engine.store().conversation(of.conversation)?;
        let is_journal = stored.format == Format::Journal.name();
        let shape = if is_journal { shape.of_conversation(engine, of.conversation)? } else { shape };
        let persist = until == Until::Now && engine.is_writer();
        let mut session = Self::new(engine, of, shape, persist);
        session.load_pins()?;
        session.load_verdicts()?;
        if until == Until::Now && session.resume(&stored)? {
            // Since the last break models may have been configured.
            session.cover.leave_jobs(&session.cover.context().roots, &session.source)?;
            session.load_raised()?;
            return Ok(session);
        }
        session = Self::new(engine, of, shape, persist);
        session.load_pins()?;
        session.load_verdicts()?;
        session.play(&stored, until, progress)?;
        session.load_raised()?;
        Ok(session)
    }

    /// A session on the thread of a journal before its first entry, whatever is stored of it. Nothing says that a provider
    /// took its messages as they are, so none is sent unchanged for that reason.
    pub(crate) fn at_start(engine: &Engine, of: ThreadRef, shape: Shape) -> Result<Self, EngineError> {
        let mut session = Self::new(engine, of, shape, engine.is_writer());
        session.load_pins()?;
        session.load_verdicts()?;
        Ok(session)
    }

    /// Loads the stored context and the entries behind it. Returns false if the history has to be played.
    fn resume(&mut self, stored: &Conversation) -> Result<bool, EngineError> {
        let restored = match self.source.context()? {
            Some(context) => self.restore(stored, context, PathEnd::Now),
            None => Ok(false),
        };
        match restored {
            // A summary that was damaged is made again while the history is played.
            Err(EngineError::MissingSummary { .. }) => Ok(false),
            restored => restored,
        }
    }

    /// Takes over a context and loads the entries behind it. Returns false if the context cannot be of this path.
    ///
    /// * `upto` - the end of the path.
    pub(super) fn restore(
        &mut self,
        stored: &Conversation,
        mut context: StoredContext,
        upto: PathEnd,
    ) -> Result<bool, EngineError> {
        let boundary = end_of(&context.context);
        let carried = context.context.carried;
        let end = self.source.single_run_end(stored, upto)?;
        // Forks are rare, and playing them again is always right.
        let Some(end) = end.filter(|_| carried.is_none_or(|carried| Some(carried) <= boundary)) else {
            return Ok(false);
        };
        let Some(path) = self.source.path_behind(boundary, end)? else { return Ok(false) };
        let most = self.source.policy().budget().saturating_mul(UNSETTLED);
        if upto == PathEnd::Now && boundary.is_none() && path.tokens > most {
            // These entries are a whole history. Playing it holds few of them in memory at a time.
            return Ok(false);
        }
        let system = if boundary.is_some() { self.source.instructions(stored)? } else { Vec::new() };
        let ledger = std::mem::take(&mut context.ledger);
        if boundary.is_some() {
            self.fixed.set_system(&system, self.source.shape());
        }
        self.window = Window::behind(&context.context, system);
        self.cover = Cover::restored(context, &path.seqs, &self.source);
        if let Some(seq) = carried
            && let Some(entry) = self.source.entry(stored, seq)?
        {
            self.cover.carry(Item { seq, entry }, self.source.shape());
        }
        for seqs in runs_of(&path.seqs).into_iter().flat_map(|run| parts(run, RUN)) {
            for decoded in decoded(self.source.engine().store(), stored, seqs)? {
                let row = &decoded.row;
                self.add_next(PathEntry::new(row.seq, &decoded.entry, row.tokens.expected));
            }
        }
        self.fixed.restore_ledger(self.cover.context(), ledger, self.source.shape());
        self.render_cover(&[])?;
        Ok(true)
    }

    /// Adds an entry that follows the newest one. Returns whether a model sees it.
    pub(super) fn add_next(&mut self, new: PathEntry) -> bool {
        self.window.note_parent(new.seq, self.window.head());
        self.add(new)
    }

    /// Feeds the active path from its start and compacts before every model call, as a live host would.
    pub(super) fn play(
        &mut self,
        stored: &Conversation,
        until: Until,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), EngineError> {
        let path = self.source.active_path(stored, until)?;
        let total = path.iter().map(|run| run.end - run.start).sum::<u64>();
        self.source.begin_playing();
        let engine = self.source.engine().clone();
        let prefetcher = Prefetcher::new(self.source.thread().thread, *self.source.shape());
        thread::scope(|scope| {
            // One run is played while the next one is read; none waits between them.
            let (sender, ahead) = mpsc::sync_channel(0);
            scope.spawn(move || read_ahead(&engine, stored, path, prefetcher, &sender));
            self.play_runs(ahead, &mut |done| progress(done, total))
        })?;
        self.window.prefetch(Vec::new());
        self.compact_if_due()?;
        self.flush()
    }

    fn play_runs(
        &mut self,
        ahead: mpsc::Receiver<Result<ReadAhead, EngineError>>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), EngineError> {
        let (mut answers, mut done) = (Answers::default(), 0);
        for read in ahead {
            let ReadAhead { count, entries, groups } = read?;
            self.window.prefetch(groups);
            for entry in entries {
                if answers.is_call(&entry.entry) {
                    self.compact_if_due()?;
                }
                self.add_next(entry);
            }
            done += count;
            progress(done);
        }
        Ok(())
    }
}

/// Reads the runs of a path until one fails or nobody waits for the next.
fn read_ahead(
    engine: &Engine,
    stored: &Conversation,
    path: Vec<Range<u64>>,
    mut prefetcher: Prefetcher,
    sender: &mpsc::SyncSender<Result<ReadAhead, EngineError>>,
) {
    for seqs in path.into_iter().flat_map(|run| parts(run, RUN)) {
        let read = prefetcher.read(engine.store(), stored, seqs);
        let has_failed = read.is_err();
        if sender.send(read).is_err() || has_failed {
            return;
        }
    }
}
