//! Carries out a break: makes the summaries, commits them together with the context.

use std::sync::Arc;
use std::time::Instant;

use unforget_core::assemble::ours;
use unforget_core::compact::{self, Break, Context, Job, Pressure, Root, allotments};
use unforget_core::group::{Group, Item};
use unforget_core::id::Seq;
use unforget_core::pair::{self, Detail};
use unforget_core::tokens::{Ruler, Tokens};
use unforget_store::{ContextRow, SummaryKey, SummaryRow};
use unforget_text::{Source, Summary, fence, render, summarise};

use crate::error::EngineError;

use super::pieces::{GroupPieces, Piece, weigh};
use super::state::{self, Kept};
use super::worked::Superseded;
use super::{Cause, Session, ShownRoot, Written};

/// Who wrote a deterministic summary, and in which version.
pub(super) const WRITER: &str = "deterministic/3";

/// Tokens that the fence around a summary takes at most.
const FENCE_TOKENS: u64 = 48;

/// Summaries gathered before they are written while a history is played: they can be made again.
const BATCH: usize = 256;

/// Smallest room that a summary is rendered into.
const RENDER_MIN: u64 = 30;

/// A summary that was made, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Made {
    root: Root,
    written: Written,
    /// As a prompt with room for it shows it, where there was time to render it.
    shown: Option<ShownRoot>,
}

impl Written {
    pub(super) fn of(row: &SummaryRow) -> Option<Self> {
        let summary = Arc::new(Summary::parse(&row.body).ok()?);
        Some(Self { summary, tokens: row.tokens.1 })
    }
}

impl Session {
    /// Makes what the break needs and commits it with the new context in one transaction.
    pub(super) fn carry_out(&mut self, plan: Break) -> Result<(), EngineError> {
        let (made, rows) = self.make_all(&plan.jobs)?;
        self.commit(plan, &made, rows)
    }

    /// Does the same only if the prompt gets smaller by it; otherwise writes nothing. Returns whether it did.
    pub(super) fn carry_out_if_smaller(&mut self, plan: Break) -> Result<bool, EngineError> {
        let (made, rows) = self.make_all(&plan.jobs)?;
        let is_smaller = self.foreseen(&plan, &made)?.expected < self.total().expected;
        if is_smaller {
            self.commit(plan, &made, rows)?;
        }
        Ok(is_smaller)
    }

    /// Makes summaries. Also gives those that are not stored yet.
    fn make_all(&mut self, jobs: &[Job]) -> Result<(Vec<Made>, Vec<SummaryRow>), EngineError> {
        let started = Instant::now();
        self.check_ahead(jobs);
        let mut made: Vec<_> = self.ahead.iter().take(jobs.len()).cloned().collect();
        let mut rows = Vec::new();
        for job in jobs.iter().skip(made.len()) {
            let (root, row, written) = self.run(job, &made)?;
            rows.extend(row);
            made.push(Made { root, written, shown: None });
        }
        self.counters.summariser_us += started.elapsed().as_micros() as u64;
        Ok((made, rows))
    }

    /// Size of the prompt as a break would leave it.
    fn foreseen(&self, plan: &Break, made: &[Made]) -> Result<Tokens, EngineError> {
        let as_of = self.view.head.unwrap_or_default();
        let (shown, hosted) = self.rendered(&plan.context, made, plan.groups, as_of)?;
        let roots: Tokens =
            shown.iter().map(|root| &root.piece).chain(&hosted).map(|piece| piece.tokens).sum();
        let carried = self.carried_item(plan.context.carried, plan.groups);
        let carried = carried.map(|item| self.carry(item).1.tokens).unwrap_or_default();
        let groups = self.sizes.get(plan.groups..).unwrap_or_default();
        Ok(compact::total(&plan.context, self.standing(&plan.context), roots + carried, groups))
    }

    fn commit(&mut self, plan: Break, made: &[Made], rows: Vec<SummaryRow>) -> Result<(), EngineError> {
        self.counters.breaks += 1;
        let as_of = self.view.head.unwrap_or_default();
        self.rewritten = self.rewritten_of(&plan.context.roots)?;
        self.fold_until(&plan.context)?;
        let superseded = self.supersede(&plan.context, as_of);
        if let Some(batch) = &mut self.batch {
            batch.extend(rows);
            if batch.len() >= BATCH {
                let rows = std::mem::take(batch);
                self.engine.store().put_summaries(self.conversation, &rows, None)?;
            }
        } else if self.persist {
            let context = ContextRow {
                thread: self.thread,
                budget: self.shape.key(),
                state: self.encoded(&plan.context, as_of, superseded.clone()),
            };
            self.engine.store().put_summaries(self.conversation, &rows, Some(&context))?;
            self.leave_jobs(&plan.context.roots)?;
            self.note_break(&plan)?;
        }
        self.as_of = as_of;
        self.set_superseded(superseded);
        self.apply(plan, made)
    }

    /// The stored form of what a break decides.
    fn encoded(&mut self, context: &Context, as_of: Seq, superseded: Superseded) -> Vec<u8> {
        let ledger = self.ledger_text(context);
        let rewritten = context.roots.iter().filter(|root| self.is_rewritten(root)).copied().collect();
        state::encode(&Kept { context: context.clone(), as_of, rewritten, superseded, ledger })
    }

    /// Lets go of what was made ahead from where these jobs are others: a late entry may have changed them.
    fn check_ahead(&mut self, jobs: &[Job]) {
        let wanted = jobs.iter().map(|job| match job {
            Job::Leaf { root, .. } | Job::Merge { root, .. } => root,
        });
        let same = wanted.zip(&self.ahead).take_while(|(root, made)| **root == made.root).count();
        if same < jobs.len() {
            self.ahead.truncate(same);
        }
        self.asked = self.asked.min(self.ahead.len());
    }

    /// Makes one summary that the next break will want, so that the break itself is short.
    pub(super) fn make_ahead(&mut self) -> Result<(), EngineError> {
        if !self.persist {
            return Ok(());
        }
        let plan = compact::plan_all(&self.context, &self.sizes, &self.beside_host(&self.shape.policy));
        let Some(plan) = plan else { return Ok(()) };
        self.check_ahead(&plan.jobs);
        let Some(job) = plan.jobs.get(self.ahead.len()).copied() else { return self.ask_ahead() };
        let started = Instant::now();
        let made = std::mem::take(&mut self.ahead);
        let outcome = self.run(&job, &made);
        self.ahead = made;
        let (root, row, written) = outcome?;
        self.counters.summariser_us += started.elapsed().as_micros() as u64;
        match (row, &mut self.batch) {
            (Some(row), Some(batch)) => batch.push(row),
            (Some(row), None) => self.engine.store().put_summaries(self.conversation, &[row], None)?,
            (None, _) => {}
        }
        let room = self.shape.policy.summary_tokens(root.level);
        let shown = Some(self.render_root(root, room, false, written.clone()));
        self.ahead.push(Made { root, written, shown });
        self.ask_ahead()
    }

    /// Asks models for what was made ahead, when the next break is due as soon as it costs nothing: not before, since
    /// many a history ends without one.
    fn ask_ahead(&mut self) -> Result<(), EngineError> {
        if self.batch.is_some() || self.pressure() < Pressure::Soft {
            return Ok(());
        }
        let new: Vec<_> = self.ahead.iter().skip(self.asked).map(|made| made.root).collect();
        self.leave_jobs(&new)?;
        self.asked = self.ahead.len();
        Ok(())
    }

    fn apply(&mut self, plan: Break, made: &[Made]) -> Result<(), EngineError> {
        let carried = self.carried_item(plan.context.carried, plan.groups);
        self.context = plan.context;
        let used = plan.jobs.len().min(self.ahead.len());
        self.ahead.drain(..used);
        self.asked = self.asked.saturating_sub(used);
        self.forget_facts();
        self.view.drop_groups(plan.groups);
        self.passed.extend(self.pieces.iter().take(plan.groups).map(GroupPieces::whole));
        self.pieces.drain(..plan.groups.min(self.pieces.len()));
        self.sizes.drain(..plan.groups.min(self.sizes.len()));
        self.stale = self.view.groups.len();
        if let Some(first) = self.view.groups.first().map(Group::first_seq) {
            self.parents = self.parents.split_off(&first);
            self.sources = self.sources.split_off(&first);
        }
        self.carried = carried.map(|item| self.carry(item));
        self.show_roots(made)?;
        self.cause = Some(Cause::Compaction);
        self.headline = super::headline::Headline::default();
        self.counts.broke();
        self.refresh();
        Ok(())
    }

    /// The item that the new context carries, from the groups that are about to be covered.
    fn carried_item(&self, seq: Option<Seq>, groups: usize) -> Option<Item> {
        let seq = seq?;
        let covered = self.view.groups.iter().take(groups).flat_map(|group| &group.items);
        let kept = self.carried.iter().map(|(item, _)| item);
        covered.chain(kept).find(|item| item.seq == seq).cloned()
    }

    pub(super) fn carry(&self, item: Item) -> (Item, Piece) {
        let group =
            Group { kind: unforget_core::group::Kind::Input, items: vec![item.clone()], unanswered: 0 };
        let paired = pair::messages(&group, Detail::Full, &|_, _, _| None);
        (item, weigh(paired.messages, paired.omitted, false, &self.shape))
    }

    /// Renders every root at its allotment, and the host's words behind them.
    ///
    /// * `made` - summaries at hand; others come from what is shown already or from the store.
    pub(super) fn show_roots(&mut self, made: &[Made]) -> Result<(), EngineError> {
        (self.roots, self.hosted) = self.rendered(&self.context, made, 0, self.as_of)?;
        Ok(())
    }

    /// * `from` - first group that is behind the roots.
    /// * `as_of` - the newest entry at the break.
    fn rendered(
        &self,
        context: &Context,
        made: &[Made],
        from: usize,
        as_of: Seq,
    ) -> Result<(Vec<ShownRoot>, Option<Piece>), EngineError> {
        let roots = &context.roots;
        let written: Vec<Written> =
            roots.iter().map(|root| self.written(root, made)).collect::<Result<_, _>>()?;
        let hosted = self.host_piece(&written, from, as_of);
        let mut shown = Vec::with_capacity(roots.len());
        let rooms = allotments(roots, context.zone, &self.shape.policy);
        for ((root, room), written) in roots.iter().zip(rooms).zip(written) {
            let rewritten = self.is_rewritten(root);
            let is_same = |other: &&ShownRoot| {
                other.root == *root && other.room == room && other.rewritten == rewritten
            };
            let ahead = made.iter().filter_map(|made| made.shown.as_ref());
            match self.roots.iter().chain(ahead).find(is_same) {
                Some(same) => shown.push(same.clone()),
                None => shown.push(self.render_root(*root, room, rewritten, written)),
            }
        }
        Ok((shown, hosted))
    }

    /// What is written of a root, by a model where it is shown so.
    fn written(&self, root: &Root, made: &[Made]) -> Result<Written, EngineError> {
        if !self.is_rewritten(root) {
            return self.find(root, made);
        }
        let known = self.roots.iter().find(|other| other.root == *root && other.rewritten);
        known.map_or_else(|| self.rewrite(root), |known| Ok(known.written.clone()))
    }

    fn render_root(&self, root: Root, room: u64, rewritten: bool, written: Written) -> ShownRoot {
        let body_tokens = room.saturating_sub(FENCE_TOKENS).max(RENDER_MIN);
        let body = render(&written.summary, body_tokens, &self.shape.ruler);
        let text = fence(&name(&self.key(&root)), root.span.0, root.span.1, &body);
        let piece = weigh(vec![ours(&text)], Vec::new(), false, &self.shape);
        ShownRoot { root, room, rewritten, written, piece }
    }

    fn find(&self, root: &Root, made: &[Made]) -> Result<Written, EngineError> {
        let made = made.iter().find(|made| made.root == *root).map(|made| &made.written);
        // What no model wrote is made of what no model wrote, so that it can be made again.
        let plain = |other: &&ShownRoot| other.root == *root && !other.rewritten;
        let shown = || self.roots.iter().find(plain).map(|other| &other.written);
        if let Some(written) = made.or_else(shown) {
            return Ok(written.clone());
        }
        self.stored(root)?.ok_or_else(|| EngineError::MissingSummary { name: name(&self.key(root)) })
    }

    /// Writes what was gathered while the history was played, with the context that it led to.
    pub(super) fn flush(&mut self) -> Result<(), EngineError> {
        let Some(rows) = self.batch.take() else { return Ok(()) };
        self.rewritten = self.rewritten_of(&self.context.roots)?;
        if !self.rewritten.is_empty() {
            self.show_roots(&[])?;
        }
        let context = self.context.clone();
        let state = self.encoded(&context, self.as_of, self.kept_superseded().clone());
        let context = ContextRow { thread: self.thread, budget: self.shape.key(), state };
        self.engine.store().put_summaries(self.conversation, &rows, Some(&context))?;
        self.keep_ledger();
        self.leave_jobs(&self.context.roots)
    }

    fn stored(&self, root: &Root) -> Result<Option<Written>, EngineError> {
        let key = self.key(root);
        let gathered = self.batch.iter().flatten().find(|row| row.key == key);
        if let Some(written) = gathered.and_then(Written::of) {
            return Ok(Some(written));
        }
        Ok(self.engine.store().summary(self.conversation, &key)?.as_ref().and_then(Written::of))
    }

    pub(super) fn key(&self, root: &Root) -> SummaryKey {
        let grain = self.shape.policy.grain as u32;
        SummaryKey { thread: self.thread, grain, level: root.level, end: root.end }
    }

    /// One summary: from the store if it is there, else made now.
    fn run(&mut self, job: &Job, made: &[Made]) -> Result<(Root, Option<SummaryRow>, Written), EngineError> {
        let (Job::Leaf { root, .. } | Job::Merge { root, .. }) = *job;
        if let Some(written) = self.stored(&root)? {
            self.counters.summaries_reused += 1;
            return Ok((root, None, written));
        }
        let (summary, sources, read) = match job {
            Job::Leaf { groups, .. } => {
                self.counters.leaves += 1;
                let run = self.view.groups.get(groups.0..groups.1).unwrap_or_default();
                let mut items: Vec<&Item> = run.iter().flat_map(|group| &group.items).collect();
                items.sort_by_key(|item| item.seq);
                let sources: Vec<_> =
                    items.iter().map(|item| Source { seq: item.seq, entry: &item.entry }).collect();
                let read = run.iter().map(|group| self.source(group)).sum();
                (summarise(&sources), Vec::new(), read)
            }
            Job::Merge { sources, .. } => {
                self.counters.merges += 1;
                let parts = sources.iter().map(|root| self.find(root, made));
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                let read = parts.iter().map(|part| part.tokens).sum();
                let parts: Vec<_> = parts.into_iter().map(|part| part.summary).collect();
                (Summary::merge(&parts), sources.iter().map(|root| self.key(root)).collect(), read)
            }
        };
        let body = summary.to_text();
        let tokens = (read, self.shape.ruler.count(&body).expected);
        let row = SummaryRow {
            key: self.key(&root),
            span: root.span,
            count: root.count,
            sources,
            writer: WRITER.to_owned(),
            body,
            tokens,
            time: self.stamp(),
        };
        Ok((root, Some(row), Written { summary: Arc::new(summary), tokens: tokens.1 }))
    }
}

/// The name under which a summary is shown and expanded: `sum:` grain, level and 12 hex digits of its end.
pub(super) fn name(key: &SummaryKey) -> String {
    let end = key.end.hex();
    format!("sum:{}.{}.{}", key.grain, key.level, end.get(..12).unwrap_or_default())
}
