//! Opens a session on a stored thread: resumes from the stored context, or plays the history.

use std::ops::Range;
use std::sync::mpsc;
use std::thread;

use unforget_core::compact::{self, end_of};
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
    /// Resumes from the stored context if there is one: O(what the prompt shows). Otherwise begins at the end of a long
    /// history, with a provisional cover of what is before (ADR-0039): O(window). A short history, one that forks, and time
    /// travel are played: O(history), with the stored summaries.
    ///
    /// * `progress` - called with the number of played entries and of all entries.
    pub fn open(
        engine: &Engine,
        of: ThreadRef,
        shape: Shape,
        until: Until,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, EngineError> {
        let mut go_on = |done, total| {
            progress(done, total);
            true
        };
        Self::open_while(engine, of, shape, until, &mut go_on)
    }

    /// A session like that of [`Session::open`], unless `go_on` ends the playing of its history.
    ///
    /// * `go_on` - called with the number of played entries and of all entries; false ends the work within some hundred
    ///   entries.
    ///
    /// # Errors
    /// [`EngineError::Stopped`] if `go_on` ended the work.
    pub fn open_while(
        engine: &Engine,
        of: ThreadRef,
        shape: Shape,
        until: Until,
        go_on: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Self, EngineError> {
        let stored = engine.store().conversation(of.conversation)?;
        let persist = until == Until::Now && engine.is_writer();
        if until == Until::Now {
            let mut session = Self::loading(engine, of, shape, persist)?;
            let kept = session.source.context()?;
            let may_begin = kept
                .as_ref()
                .is_none_or(|kept| kept.context.roots.is_empty() || compact::is_provisional(&kept.context));
            if session.resume(&stored, kept)? {
                return session.loaded();
            }
            if may_begin {
                session = Self::loading(engine, of, shape, persist)?;
                if session.begin_provisionally(&stored, go_on)? {
                    return session.loaded();
                }
            }
        }
        let mut session = Self::loading(engine, of, shape, persist)?;
        session.play_all(&stored, until, go_on)?;
        session.loaded()
    }

    /// A session at the end of a stored thread, whose summaries are made of all of the history. See [`Session::open`].
    ///
    /// * `go_on` - see [`Session::open_while`].
    ///
    /// # Errors
    /// [`EngineError::Stopped`] if `go_on` ended the work.
    ///
    /// Cost: O(history), unless such a context is stored.
    pub fn open_whole(
        engine: &Engine,
        of: ThreadRef,
        shape: Shape,
        go_on: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Self, EngineError> {
        let stored = engine.store().conversation(of.conversation)?;
        let mut session = Self::loading(engine, of, shape, engine.is_writer())?;
        let kept = session.source.context()?.filter(|kept| !compact::is_provisional(&kept.context));
        if session.resume(&stored, kept)? {
            return session.loaded();
        }
        let mut session = Self::loading(engine, of, shape, engine.is_writer())?;
        session.play_all(&stored, Until::Now, go_on)?;
        session.loaded()
    }

    /// A session whose history is about to be loaded.
    pub(super) fn loading(
        engine: &Engine,
        of: ThreadRef,
        shape: Shape,
        persist: bool,
    ) -> Result<Self, EngineError> {
        let stored = engine.store().conversation(of.conversation)?;
        let is_journal = stored.format == Format::Journal.name();
        let shape = if is_journal { shape.of_conversation(engine, of.conversation)? } else { shape };
        let mut session = Self::new(engine, of, shape, persist);
        session.load_said()?;
        Ok(session)
    }

    /// The session with its history loaded.
    fn loaded(mut self) -> Result<Self, EngineError> {
        self.source.opened();
        self.load_raised()?;
        if self.cover.is_provisional() && self.source.persists() && self.source.whole_context()?.is_none() {
            self.source.engine().want_whole(self.source.thread(), *self.source.shape());
        }
        Ok(self)
    }

    /// A session on the thread of a journal before its first entry, whatever is stored of it. Nothing says that a provider
    /// took its messages as they are, so none is sent unchanged for that reason.
    pub(crate) fn at_start(engine: &Engine, of: ThreadRef, shape: Shape) -> Result<Self, EngineError> {
        let mut session = Self::new(engine, of, shape, engine.is_writer());
        session.load_said()?;
        Ok(session)
    }

    /// Loads a stored context and the entries behind it. Returns false if the history has to be played.
    fn resume(&mut self, stored: &Conversation, kept: Option<StoredContext>) -> Result<bool, EngineError> {
        let restored = match kept {
            Some(context) => self.restore(stored, context, PathEnd::Now),
            None => Ok(false),
        };
        match restored {
            // Since the last break models may have been configured.
            Ok(true) => self.cover.leave_jobs(&self.cover.context().roots, &self.source).map(|()| true),
            // A summary that was damaged is made again while the history is played.
            Ok(false) | Err(EngineError::MissingSummary { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes over a context and loads the entries behind it. Returns false if the context cannot be of this path.
    ///
    /// * `upto` - the end of the path.
    pub(super) fn restore(
        &mut self,
        stored: &Conversation,
        context: StoredContext,
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
        self.set(stored, context, &path.seqs)?;
        for seqs in runs_of(&path.seqs).into_iter().flat_map(|run| parts(run, RUN)) {
            for decoded in decoded(self.source.engine().store(), stored, seqs)? {
                let row = &decoded.row;
                self.add_next(PathEntry::new(row.seq, &decoded.entry, row.tokens.expected));
            }
        }
        self.render_cover(&[])?;
        Ok(true)
    }

    /// Sets a context, whose summaries are not rendered yet, before the entries behind it are added.
    ///
    /// * `path` - seqs of these, ascending.
    pub(super) fn set(
        &mut self,
        stored: &Conversation,
        mut context: StoredContext,
        path: &[u64],
    ) -> Result<(), EngineError> {
        let is_covering = end_of(&context.context).is_some();
        let system = if is_covering { self.source.instructions(stored)? } else { Vec::new() };
        let (ledger, carried) = (std::mem::take(&mut context.ledger), context.context.carried);
        if is_covering {
            self.fixed.set_system(&system, self.source.shape());
        }
        self.window = Window::behind(&context.context, system);
        self.cover = Cover::restored(context, path, &self.source);
        if let Some(seq) = carried
            && let Some(entry) = self.source.entry(stored, seq)?
        {
            self.cover.carry(Item { seq, entry }, self.source.shape());
        }
        self.fixed.restore_ledger(self.cover.context(), ledger, self.source.shape());
        Ok(())
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
        let mut go_on = |done, total| {
            progress(done, total);
            true
        };
        self.play_while(stored, until, &mut go_on).map(|_| ())
    }

    /// Plays the active path like [`Session::play`].
    ///
    /// # Errors
    /// [`EngineError::Stopped`] if `go_on` ended the work.
    fn play_all(
        &mut self,
        stored: &Conversation,
        until: Until,
        go_on: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<(), EngineError> {
        if self.play_while(stored, until, go_on)? { Ok(()) } else { Err(EngineError::Stopped) }
    }

    /// Plays the active path like [`Session::play`], unless `go_on` ends it. Returns whether it came to the end.
    pub(super) fn play_while(
        &mut self,
        stored: &Conversation,
        until: Until,
        go_on: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, EngineError> {
        let path = self.source.active_path(stored, until)?;
        self.source.begin_playing();
        self.play_path(stored, path, go_on)
    }

    /// Plays the rest of a path, behind the loaded entries.
    ///
    /// * `path` - ascending runs of seqs.
    pub(super) fn play_path(
        &mut self,
        stored: &Conversation,
        path: Vec<Range<u64>>,
        go_on: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, EngineError> {
        let total = path.iter().map(|run| run.end - run.start).sum::<u64>();
        let engine = self.source.engine().clone();
        let prefetcher = Prefetcher::new(self.source.thread().thread, *self.source.shape());
        let is_done = thread::scope(|scope| {
            // One run is played while the next one is read; none waits between them.
            let (sender, ahead) = mpsc::sync_channel(0);
            scope.spawn(move || read_ahead(&engine, stored, path, prefetcher, &sender));
            self.play_runs(ahead, &mut |done| go_on(done, total))
        })?;
        if is_done {
            self.window.prefetch(Vec::new());
            self.compact_if_due()?;
            self.flush()?;
        }
        Ok(is_done)
    }

    fn play_runs(
        &mut self,
        ahead: mpsc::Receiver<Result<ReadAhead, EngineError>>,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, EngineError> {
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
            if !go_on(done) {
                return Ok(false);
            }
        }
        Ok(true)
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
