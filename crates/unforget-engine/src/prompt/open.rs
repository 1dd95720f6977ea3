//! Opening a session on what is stored, and following a transcript that goes back.

use std::iter::once;
use std::sync::{Arc, mpsc};
use std::thread;

use unforget_core::entry::Entry;
use unforget_core::group::Item;
use unforget_core::id::Seq;
use unforget_store::Conversation;
use unforget_wire::Format;

use crate::Engine;
use crate::error::EngineError;
use crate::path::{follow, parts, runs_of};
use crate::rows::stored_rows;
use crate::view::{Answers, View};

use super::ahead::{Ahead, RUN, Scout, Weighed, decoded};
use super::state::{self, Kept};
use super::{Cause, Lane, Session, Shape};

/// How much of a conversation a prompt is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All of it.
    Now,
    /// The entries up to and with this one: time travel.
    Seq(Seq),
}

/// Where the path of a prompt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upto {
    /// Where it ends now.
    Now,
    /// At this entry; before the first if there is none.
    Head(Option<Seq>),
}

/// Windows of entries that may be held at once behind a context that covers nothing.
const UNSETTLED: u64 = 4;

/// Leading entries looked at for system instructions when a session is resumed.
const SYSTEM_WITHIN: u64 = 64;

impl Session {
    /// A session on a stored lane, at its end or at an earlier entry.
    ///
    /// Resumes from the stored context where there is one: O(what the prompt shows). Otherwise, and for
    /// time travel, plays the history through: O(history), with the summaries that exist.
    ///
    /// * `progress` - called with entries played and entries in all.
    pub fn open(
        engine: &Engine,
        lane: Lane,
        shape: Shape,
        until: Until,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, EngineError> {
        let stored = engine.store().conversation(lane.conversation)?;
        let shape = if stored.format == Format::Journal.name() {
            shape.of_conversation(engine, lane.conversation)?
        } else {
            shape
        };
        let persist = until == Until::Now && engine.is_writer();
        let mut session = Self::new(engine, lane, shape, persist);
        session.load_pins()?;
        if until == Until::Now && session.resume(&stored)? {
            // Models may be wanted that were not when it broke last.
            session.leave_jobs(&session.context.roots)?;
            return Ok(session);
        }
        session = Self::new(engine, lane, shape, persist);
        session.load_pins()?;
        session.play(&stored, until, progress)?;
        Ok(session)
    }

    /// Loads the stored context and what is behind it. Returns false if it has to be played instead.
    fn resume(&mut self, stored: &Conversation) -> Result<bool, EngineError> {
        let store = self.engine.store();
        let Some(row) = store.context(self.conversation, self.thread, self.shape.key())? else {
            return Ok(false);
        };
        let Some(kept) = state::decode(&row.state) else { return Ok(false) };
        self.restore(stored, kept, Upto::Now)
    }

    /// Takes a context and loads what is behind it. Returns false if that cannot be what it was made for.
    ///
    /// * `upto` - where the path ended.
    pub(super) fn restore(
        &mut self,
        stored: &Conversation,
        kept: Kept,
        upto: Upto,
    ) -> Result<bool, EngineError> {
        let Kept { context, as_of, rewritten, superseded, ledger } = kept;
        let store = self.engine.store();
        let boundary = context.roots.iter().map(|root| root.span.1).max();
        let runs = store.path(self.conversation, stored.current, stored.length)?;
        let end = runs.last().map_or(0, |run| run.end);
        let end = match upto {
            Upto::Now => end,
            Upto::Head(head) => head.map_or(0, |head| end.min(head.0 + 1)),
        };
        if runs.len() != 1 || context.carried.is_some_and(|carried| Some(carried) > boundary) {
            // Forks are rare: playing them again is always right.
            return Ok(false);
        }
        let Some((path, tokens)) = self.path_behind(boundary, end)? else { return Ok(false) };
        if upto == Upto::Now
            && boundary.is_none()
            && tokens > self.shape.policy.budget().saturating_mul(UNSETTLED)
        {
            // What came since is no tail but a history: playing it holds little of it in memory at a time.
            return Ok(false);
        }
        self.view = View::behind(&context);
        self.view.head = boundary;
        if boundary.is_some() {
            self.load_system(stored)?;
        }
        let carried = context.carried;
        (self.context, self.as_of) = (context, as_of);
        if let Some(seq) = carried {
            let entry = self.entry(stored, seq)?;
            self.carried = entry.map(|entry| self.carry(Item { seq, entry }));
        }
        for seqs in runs_of(&path).into_iter().flat_map(|run| parts(run, RUN)) {
            for (row, entry) in decoded(self.engine.store(), stored, seqs)? {
                let head = self.view.head;
                self.parents.insert(row.seq, head);
                self.push_here(row.seq, &entry, row.tokens.expected);
            }
        }
        self.rewritten = rewritten.iter().map(|root| self.key(root)).collect();
        self.take_back(superseded, &path);
        self.restore_ledger(ledger);
        self.show_roots(&[])?;
        Ok(true)
    }

    /// Seqs of the active path behind an entry of it, ascending, and expected tokens of all that came behind it;
    /// `None` if the entry is not on the path.
    fn path_behind(&self, boundary: Option<Seq>, end: u64) -> Result<Option<(Vec<u64>, u64)>, EngineError> {
        let (mut links, mut tokens) = (Vec::new(), 0);
        let from = boundary.map_or(0, |boundary| boundary.0 + 1);
        for row in stored_rows(self.engine.store(), self.conversation, once(from..end)) {
            let row = row?;
            if row.thread == self.thread {
                links.push((row.seq, row.parent));
                tokens += row.tokens.expected;
            }
        }
        let (path, before) = follow(links);
        let is_on = path.is_empty() || before == boundary;
        Ok(is_on.then_some((path, tokens)))
    }

    /// Feeds the active path from its start, settling before every model call as a live host would.
    fn play(
        &mut self,
        stored: &Conversation,
        until: Until,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), EngineError> {
        let path = self.active_path(stored, until)?;
        let mut answers = Answers::default();
        self.batch = self.persist.then(Vec::new);
        let total = path.iter().map(|run| run.end - run.start).sum::<u64>();
        let mut done = 0;
        let (engine, mut scout) = (self.engine.clone(), Scout::new(self.thread, self.shape));
        thread::scope(|scope| {
            // One run is played while the next one is read; none waits between them.
            let (sender, ahead) = mpsc::sync_channel(0);
            scope.spawn(move || {
                for seqs in path.into_iter().flat_map(|run| parts(run, RUN)) {
                    let read = scout.run(engine.store(), stored, seqs);
                    let failed = read.is_err();
                    if sender.send(read).is_err() || failed {
                        break;
                    }
                }
            });
            for read in ahead {
                let Ahead { count, entries, groups } = read?;
                self.weighed.refill(groups);
                for (row, entry, facts) in entries {
                    if answers.is_call(&entry) {
                        self.settle()?;
                    }
                    let head = self.view.head;
                    self.parents.insert(row.seq, head);
                    self.push_known(row.seq, &entry, row.tokens.expected, facts);
                }
                done += count;
                progress(done, total);
            }
            Ok::<(), EngineError>(())
        })?;
        self.weighed = Weighed::default();
        self.settle()?;
        self.flush()
    }

    /// Seqs of the active path as ascending runs: from the newest entry of the lane back to its root.
    fn active_path(
        &self,
        stored: &Conversation,
        until: Until,
    ) -> Result<Vec<std::ops::Range<u64>>, EngineError> {
        let store = self.engine.store();
        let end = match until {
            Until::Now => u64::MAX,
            Until::Seq(seq) => seq.0 + 1,
        };
        let path = store.path(self.conversation, stored.current, stored.length)?;
        let runs = path.into_iter().map(|run| run.start..run.end.min(end));
        let mut links = Vec::new();
        for row in stored_rows(store, self.conversation, runs) {
            let row = row?;
            links.extend((row.thread == self.thread).then_some((row.seq, row.parent)));
        }
        Ok(runs_of(&follow(links).0))
    }

    fn entry(&self, stored: &Conversation, seq: Seq) -> Result<Option<Arc<Entry>>, EngineError> {
        Ok(decoded(self.engine.store(), stored, seq.0..seq.0 + 1)?.pop().map(|(_, entry)| entry))
    }

    fn load_system(&mut self, stored: &Conversation) -> Result<(), EngineError> {
        let mut first = View::new();
        for (row, entry) in decoded(self.engine.store(), stored, 0..SYSTEM_WITHIN)? {
            if row.thread == self.thread {
                first.push(row.seq, &entry);
            }
            if first.visible > 0 {
                break;
            }
        }
        self.view.system = first.system;
        self.system = super::system::System::of(&self.view.system, &self.shape);
        Ok(())
    }

    /// The transcript continues from an earlier entry: what came after it is not part of the path any more.
    pub(super) fn go_back(&mut self, parent: Option<Seq>) -> Result<(), EngineError> {
        self.cause = Some(Cause::Rewind);
        self.counts.broke();
        let mut at = parent;
        let boundary = self.context.roots.iter().map(|root| root.span.1).max();
        // Hidden entries are on the path too: walk to one that this lane still holds, or out of what it holds.
        while let Some(seq) = at {
            if boundary.is_some_and(|boundary| seq <= boundary) || !self.parents.contains_key(&seq) {
                break;
            }
            if self.on_path(seq) {
                self.cut_after(seq);
                // A summary of the host that came since the break may be gone, and the one before it counts again.
                return self.show_roots(&[]);
            }
            at = self.parents.get(&seq).copied().flatten();
        }
        self.rebuild(parent)
    }

    fn on_path(&self, seq: Seq) -> bool {
        let mut at = self.view.head;
        while let Some(here) = at {
            if here <= seq {
                return here == seq;
            }
            at = self.parents.get(&here).copied().flatten();
        }
        false
    }

    /// Drops the groups' items after `seq` by pushing the remaining ones again.
    fn cut_after(&mut self, seq: Seq) {
        let groups = std::mem::take(&mut self.view.groups);
        let system = std::mem::take(&mut self.view.system);
        self.view = View { system, ..View::behind(&self.context) };
        self.worked.cut_after(seq);
        self.pieces.clear();
        self.sizes.clear();
        self.stale = 0;
        let mut items: Vec<Item> = groups.into_iter().flat_map(|group| group.items).collect();
        items.sort_by_key(|item| item.seq);
        for item in items.into_iter().filter(|item| item.seq <= seq) {
            let source = self.sources.get(&item.seq).copied().unwrap_or_default();
            self.push_here(item.seq, &item.entry, source);
        }
        self.view.head = Some(seq);
    }

    /// Plays the path to `parent` from the store: the way back leads into what is summarised.
    fn rebuild(&mut self, parent: Option<Seq>) -> Result<(), EngineError> {
        let mut fresh = Self::new(
            &self.engine,
            Lane { conversation: self.conversation, thread: self.thread },
            self.shape,
            self.persist,
        );
        (fresh.counters, fresh.counts) = (self.counters, self.counts);
        fresh.sent = std::mem::take(&mut self.sent);
        (fresh.now, fresh.noted) = (self.now, self.noted);
        fresh.pinned = self.pinned.clone();
        fresh.around = std::mem::take(&mut self.around);
        if let Some(parent) = parent {
            let stored = self.engine.store().conversation(self.conversation)?;
            fresh.play(&stored, Until::Seq(parent), &mut |_, _| {})?;
        }
        fresh.view.head = parent;
        fresh.cause = Some(Cause::Rewind);
        *self = fresh;
        Ok(())
    }
}
