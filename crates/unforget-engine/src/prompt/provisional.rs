//! The first prompt of a long history in a shape that it was never asked for (ADR-0039).
//!
//! Its end is played as [`Session::play`] plays a whole history. What stands before the end is covered by summaries that
//! were made for another window, and by one coarse summary. Later all of the history is played in the background, and a
//! break shows the summaries made then.

use unforget_core::compact::{
    self, Cache, Context, NearRow, PLAYED_ROWS, Pressure, Root, Tree, end_of, played_from, played_tokens,
};
use unforget_core::digest::Digest;
use unforget_core::entry::{Origin, Role};
use unforget_core::id::Seq;
use unforget_store::{Conversation, EntryRow};

use super::Session;
use super::coarse::coarse;
use super::decisions;
use super::open::PathEnd;
use super::stored_context::{StoredContext, Superseded};
use crate::error::EngineError;
use crate::ledger::Folded;
use crate::path::{follow, runs_of};

/// Rows of one step back.
const STEP: u64 = 512;

/// Most rows looked through for a place of the path. Histories that need more are played.
const LOOK: u64 = 65_536;

/// The end of a path.
struct PathTail {
    /// Its rows, oldest first.
    rows: Vec<EntryRow>,
    /// The entry before them.
    boundary: Seq,
}

/// What stands before the played end.
struct Beginning {
    roots: Vec<Root>,
    /// The content chain behind them.
    end: Digest,
    /// The coarse summary, in its stored form.
    coarse: String,
    /// Work of the entries before the end, as far as it is known.
    ledger: Folded,
}

/// The message that a beginning carries; `None` if the played end has one.
#[derive(Clone, Copy)]
struct CarriedSeq(Option<Seq>);

impl Session {
    /// Opens a long history by its end. Returns false, and has changed nothing, if it has to be played.
    pub(super) fn begin_provisionally(
        &mut self,
        stored: &Conversation,
        go_on: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, EngineError> {
        let policy = *self.source.policy();
        if !compact::is_long(stored.length, stored.tokens, &policy) {
            return Ok(false);
        }
        // Forks are rare, and only a path of one run can be opened again without playing it.
        let Some(end) = self.source.single_run_end(stored, PathEnd::Now)? else { return Ok(false) };
        let Some(mut tail) = self.path_tail(end)? else { return Ok(false) };
        let begun = match self.shared(stored, &mut tail)? {
            Some(begun) => begun,
            None => self.coarse_only(stored, &tail)?,
        };
        let Some(carried) = self.carried_before(&tail)? else { return Ok(false) };
        self.begin(stored, &tail, begun, carried)?;
        let path: Vec<u64> = tail.rows.iter().map(|row| row.seq.0).collect();
        if self.play_path(stored, runs_of(&path), go_on)? { Ok(true) } else { Err(EngineError::Stopped) }
    }

    /// Takes over a beginning.
    fn begin(
        &mut self,
        stored: &Conversation,
        tail: &PathTail,
        begun: Beginning,
        carried: CarriedSeq,
    ) -> Result<(), EngineError> {
        let Beginning { roots, end, coarse, ledger } = begun;
        let covered = roots.iter().map(|root| root.count).sum();
        let mut context = Context {
            epoch: 1,
            roots,
            covered,
            carried: carried.0,
            zone: self.source.policy().zone,
            end,
            ..Context::default()
        };
        let jobs = if compact::is_provisional(&context) {
            compact::fit(&mut context, self.source.policy())
        } else {
            Vec::new()
        };
        let kept = StoredContext {
            context,
            as_of: tail.boundary,
            rewritten: Vec::new(),
            superseded: Superseded::new(),
            ledger: String::new(),
            coarse,
        };
        self.set(stored, kept, &[])?;
        self.fixed.begin_ledger(ledger);
        self.source.begin_playing();
        let work = self.make_summaries(&jobs, &jobs)?;
        self.source.gather(work.rows)?;
        self.render_cover(&work.made)
    }

    /// The end of the path, as far as it is played at once; `None` if that is the whole path.
    fn path_tail(&self, end: u64) -> Result<Option<PathTail>, EngineError> {
        let most = played_tokens(self.source.policy());
        let (mut rows, mut tokens, mut from) = (Vec::new(), 0_u64, end);
        while from > end.saturating_sub(LOOK) && (rows.len() as u64) < PLAYED_ROWS && tokens < most {
            let step = from.saturating_sub(STEP)..from;
            from = step.start;
            for row in self.source.rows(step)?.into_iter().rev() {
                if tokens < most {
                    tokens = tokens.saturating_add(row.tokens.expected);
                    rows.push(row);
                }
            }
        }
        rows.reverse();
        let (path, before) = follow(rows.iter().map(|row| (row.seq, row.parent)).collect());
        rows.retain(|row| path.binary_search(&row.seq.0).is_ok());
        let near: Vec<NearRow> = rows.iter().map(near).collect();
        let played = rows.split_off(played_from(&near));
        let boundary = rows.last().map(|row| row.seq).or(before);
        Ok(boundary.map(|boundary| PathTail { rows: played, boundary }))
    }

    /// One coarse summary of all that stands before the end.
    fn coarse_only(&self, stored: &Conversation, tail: &PathTail) -> Result<Beginning, EngineError> {
        let last = tail.boundary;
        let summary = coarse(&self.source, stored, 0..last.0 + 1)?;
        let end = self.apart(last)?;
        Ok(Beginning {
            roots: vec![coarse_root(Seq(0), last, end)],
            end,
            coarse: summary.summary.to_text(),
            ledger: Folded::behind(last),
        })
    }

    /// A chain for the entries behind a provisional beginning. No summary behind it can have the name of one of the own
    /// tree, whose leaves may begin elsewhere.
    fn apart(&self, last: Seq) -> Result<Digest, EngineError> {
        let row = self.source.rows(last.0..last.0 + 1)?.pop();
        let chain = row.map(|row| row.chain.0.0).unwrap_or_default();
        let bytes: Vec<u8> = b"provisional".iter().chain(&chain).copied().collect();
        Ok(Digest::of(&bytes))
    }

    /// The newest message of a person before the end, if the end has none. `None` if it is too far away.
    fn carried_before(&self, tail: &PathTail) -> Result<Option<CarriedSeq>, EngineError> {
        if tail.rows.iter().any(is_human) {
            return Ok(Some(CarriedSeq(None)));
        }
        let mut found = None;
        self.walk_back(tail.boundary, &mut |row| {
            found = is_human(row).then_some(row.seq);
            found.is_some()
        })?;
        Ok(found.map(|seq| CarriedSeq(Some(seq))))
    }

    /// Follows the path from an entry to its root, until a row ends it or [`LOOK`] rows are read. Returns whether a row
    /// ended it.
    fn walk_back(&self, from: Seq, ends: &mut dyn FnMut(&EntryRow) -> bool) -> Result<bool, EngineError> {
        let (mut want, mut end) = (Some(from), from.0 + 1);
        let least = end.saturating_sub(LOOK);
        while let Some(wanted) = want.filter(|want| want.0 >= least) {
            end = end.min(wanted.0 + 1);
            let from = end.saturating_sub(STEP);
            for row in self.source.rows(from..end)?.into_iter().rev() {
                if Some(row.seq) == want {
                    if ends(&row) {
                        return Ok(true);
                    }
                    want = row.parent;
                }
            }
            if want.is_some_and(|want| want.0 >= from) {
                // The row of the path is missing.
                return Ok(false);
            }
            end = from;
        }
        Ok(false)
    }
}

impl Session {
    /// Summaries of another window of the same history, up to the end that is played, which they may make longer. `None`
    /// if there are none.
    fn shared(&self, stored: &Conversation, tail: &mut PathTail) -> Result<Option<Beginning>, EngineError> {
        for (key, kept) in self.source.other_contexts()? {
            let Some(grain) = self.source.grain_of(&kept.context.roots)? else { continue };
            if let Some(begun) = self.as_own(key, grain, &kept.context, tail)? {
                return Ok(Some(begun));
            }
            if let Some(begun) = self.as_other(stored, grain, &kept.context, tail)? {
                return Ok(Some(begun));
            }
        }
        Ok(None)
    }

    /// The summaries of a similar window. They serve this window as they are.
    fn as_own(
        &self,
        key: u64,
        grain: u32,
        other: &Context,
        tail: &mut PathTail,
    ) -> Result<Option<Beginning>, EngineError> {
        let policy = self.source.policy();
        let Some(last) = end_of(other) else { return Ok(None) };
        let behind = tail.rows.partition_point(|row| row.seq <= last);
        let is_there =
            behind.checked_sub(1).and_then(|at| tail.rows.get(at)).is_some_and(|row| row.seq == last);
        let fresh: u64 = tail.rows.iter().skip(behind).map(|row| row.tokens.expected).sum();
        let is_alike = u64::from(grain) == policy.grain
            && other.zone.saturating_mul(4) >= policy.zone.saturating_mul(3)
            && fresh.saturating_mul(4) >= policy.fresh_tail.saturating_mul(3);
        if !(is_there && is_alike) {
            return Ok(None);
        }
        let Some(ledger) = self.source.shared_ledger(key, last)? else { return Ok(None) };
        tail.rows.drain(..behind);
        tail.boundary = last;
        Ok(Some(Beginning { roots: other.roots.clone(), end: other.end, coarse: String::new(), ledger }))
    }

    /// The summaries of another window as a provisional beginning, with a coarse one of what they lack.
    fn as_other(
        &self,
        stored: &Conversation,
        grain: u32,
        other: &Context,
        tail: &mut PathTail,
    ) -> Result<Option<Beginning>, EngineError> {
        let mut roots = self.source.cut(&other.roots, grain, tail.boundary)?;
        let Some(last) = roots.last().map(|root| root.span.1) else { return Ok(None) };
        let mut between = Vec::new();
        let is_on_path = self.walk_back(tail.boundary, &mut |row| {
            let is_end = row.seq <= last;
            if !is_end {
                between.push(row.clone());
            }
            is_end
        })?;
        if !is_on_path {
            return Ok(None);
        }
        between.reverse();
        let tokens: u64 = between.iter().map(|row| row.tokens.expected).sum();
        let is_short =
            between.len() as u64 <= PLAYED_ROWS / 2 && tokens <= played_tokens(self.source.policy()) / 2;
        let mut text = String::new();
        if is_short {
            tail.rows.splice(..0, between);
            tail.boundary = last;
        } else {
            let (first, last) = (Seq(last.0 + 1), tail.boundary);
            text = coarse(&self.source, stored, first.0..last.0 + 1)?.summary.to_text();
            roots.push(coarse_root(first, last, self.apart(last)?));
        }
        let end = self.apart(tail.boundary)?;
        Ok(Some(Beginning { roots, end, coarse: text, ledger: Folded::behind(tail.boundary) }))
    }
}

impl Session {
    /// Shows the summaries of all of the history, once they are made and a break costs nothing or is due anyway. Returns
    /// whether it did.
    pub(super) fn take_whole(&mut self, budget: Option<u64>) -> Result<bool, EngineError> {
        let is_free = self.cache() == Cache::Cold || self.pressure_within(budget) == Pressure::Hard;
        if !(is_free && self.source.is_open()) {
            return Ok(false);
        }
        let Some(mut whole) = self.source.whole_context()? else { return Ok(false) };
        if !self.has_summaries(&whole.context)? {
            self.source.engine().want_whole(self.source.thread(), *self.source.shape());
            return Ok(false);
        }
        let (epoch, before) = (self.cover.context().epoch + 1, self.cover.context().roots.len());
        whole.context.epoch = epoch;
        whole.rewritten.clear();
        let stored = self.source.conversation()?;
        if !self.is_at_end(&stored)? {
            return Ok(false);
        }
        if !self.restore(&stored, whole, PathEnd::Now)? {
            // The path that it is of was left.
            self.source.engine().want_whole(self.source.thread(), *self.source.shape());
            return Ok(false);
        }
        if self.cover.choose_last_rewrites(&self.source)? {
            self.render_cover(&[])?;
        }
        self.note_break();
        if self.source.persists() {
            let decision = decisions::of_whole(before, self.cover.context(), &self.decided_on());
            self.store_context(&[], Some(&decision))?;
        }
        Ok(true)
    }

    /// Whether the session has exactly the stored entries.
    fn is_at_end(&self, stored: &Conversation) -> Result<bool, EngineError> {
        let next = self.window.head().map_or(0, |head| head.0 + 1);
        let end = self.source.single_run_end(stored, PathEnd::Now)?;
        // Entries of other threads may stand behind.
        let is_behind = |end: u64| Ok::<_, EngineError>(!self.source.rows(next..end)?.is_empty());
        Ok(match end.filter(|end| next <= *end) {
            Some(end) => !is_behind(end)?,
            None => false,
        })
    }

    fn has_summaries(&self, context: &Context) -> Result<bool, EngineError> {
        let found = self.source.summaries(&context.roots)?;
        Ok(context.roots.iter().all(|root| found.contains_key(&self.source.key(root))))
    }
}

fn near(row: &EntryRow) -> NearRow {
    NearRow { seq: row.seq, is_human: is_human(row), is_answer: row.role == Role::Assistant }
}

/// Whether a person said something.
fn is_human(row: &EntryRow) -> bool {
    row.origin == Origin::Human && row.role == Role::User && row.tokens.expected > 0
}

/// * `end` - its name.
const fn coarse_root(first: Seq, last: Seq, end: Digest) -> Root {
    Root { tree: Tree::Coarse, level: 0, span: (first, last), count: last.0 + 1 - first.0, end }
}
