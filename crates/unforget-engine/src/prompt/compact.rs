//! Breaks of a session's context: their timing, and their steps.

use unforget_core::compact::{self, Break, BreakStep, BreakTiming, Cache, Context, Job, Pressure, Sizes};
use unforget_core::policy::Policy;
use unforget_core::prefix::Cause;
use unforget_core::tokens::Tokens;
use unforget_store::{DecisionRow, SummaryRow};

use super::Session;
use super::account::Counters;
use super::cover::BreakState;
use super::decisions;
use super::raised::RaisedBlock;
use super::stored_context::Superseded;
use super::summaries::{BegunWork, MadeSummary, SummaryWork};
use crate::error::EngineError;

impl Session {
    /// Brings the context up to date without making a prompt: the first step of [`Session::prompt`].
    pub fn compact_if_due(&mut self) -> Result<(), EngineError> {
        self.compact_within(None)
    }

    /// Brings the context up to date for a call.
    ///
    /// * `budget` - the call's own budget, if it has one.
    pub(super) fn compact_within(&mut self, budget: Option<u64>) -> Result<(), EngineError> {
        self.prepare();
        if self.cover.is_provisional() && self.take_whole(budget)? {
            self.prepare();
        }
        if self.source.shape().dialect.binds_reasoning()
            && let Some(plan) =
                compact::plan_over(self.cover.context(), self.cover.as_of(), self.window.sizes())
        {
            self.carry_out(plan)?;
        }
        let mut is_first = true;
        // A plan estimates summaries that are not rendered yet, so the state after it may still be too full. Every round
        // covers more or sends less, so the loop ends, and a second call changes nothing.
        loop {
            let plan = match self.timing(budget)?.step() {
                BreakStep::Keep => return Ok(()),
                BreakStep::Prepare => return self.prepare_summary(budget),
                BreakStep::Refresh => Some(compact::plan_refresh(self.cover.context())),
                BreakStep::Break => self.plan_break(std::mem::take(&mut is_first), budget),
            };
            match plan {
                Some(plan) => self.carry_out(plan)?,
                None => return Ok(()),
            }
        }
    }

    fn timing(&self, budget: Option<u64>) -> Result<BreakTiming, EngineError> {
        let (pressure, cache) = (self.pressure_within(budget), self.cache());
        let is_near = compact::nears(self.weight(), self.source.policy());
        // Only a cold cache makes better summaries worth a look.
        let is_better_prepared = cache == Cache::Cold && self.cover.is_better_prepared(&self.source)?;
        Ok(BreakTiming { pressure, is_near, cache, is_better_prepared })
    }

    /// The next break. The savings by lines in place of superseded results are estimated in the first round only; if that
    /// estimate leads nowhere, the real sizes count.
    fn plan_break(&self, is_first: bool, budget: Option<u64>) -> Option<Break> {
        let shape = self.source.shape();
        let host_room = Tokens::exact(self.cover.host_room(&self.window));
        let fixed = self.fixed.planned(shape) + self.window.frame() + host_room;
        let policy = self.cover.beside_host(&self.window, &self.account.scaled(&shape.policy));
        let pressure = self.pressure_within(budget);
        let plan =
            |sizes: &[Sizes]| compact::plan_break(self.cover.context(), pressure, fixed, sizes, &policy);
        let estimated = is_first.then(|| plan(&self.window.planned_sizes(&self.cover, shape))).flatten();
        estimated.or_else(|| plan(self.window.sizes()))
    }

    /// Compacts everything that is old enough, at any pressure, if that makes the prompt smaller: summaries of short
    /// messages may be longer than the messages.
    ///
    /// Returns whether anything changed.
    pub fn compact(&mut self) -> Result<bool, EngineError> {
        self.prepare();
        let Some(plan) = self.plan_all() else { return Ok(false) };
        let left = self.cover.unprepared(&plan.jobs);
        let work = self.make_summaries(&plan.jobs, left)?;
        let coming = self.cover.coming(&plan, &self.window);
        let covered = self.cover.foreseen(coming, &work.made, &self.source)?;
        let groups = self.window.sizes().get(plan.groups..).unwrap_or_default();
        let after = compact::total(&plan.context, self.standing(&plan.context), covered, groups);
        // What was put back and stands behind the summaries yet moves into the part of its own.
        let raised = self.fixed.raised();
        let (end, carried) = (compact::end_of(&plan.context), plan.context.carried);
        let coming = RaisedBlock::behind(raised.spans().to_vec(), end, carried, &self.source)?.tokens();
        let is_smaller = after.expected + coming.expected < self.total().expected + raised.tokens().expected;
        if is_smaller {
            self.commit(plan, work)?;
        }
        Ok(is_smaller)
    }

    fn plan_all(&self) -> Option<Break> {
        let policy: Policy = self.cover.beside_host(&self.window, self.source.policy());
        compact::plan_all(self.cover.context(), self.window.sizes(), &policy)
    }

    /// Makes one summary for the coming break, so that the break itself is short.
    fn prepare_summary(&mut self, budget: Option<u64>) -> Result<(), EngineError> {
        // Nobody waits for a break of a history that is played, and each plan costs O(groups).
        if !self.source.persists() || self.source.is_playing() {
            return Ok(());
        }
        let Some(plan) = self.plan_all() else { return Ok(()) };
        if let Some(next) = self.cover.unprepared(&plan.jobs).get(..1) {
            let work = self.make_summaries(&plan.jobs, next)?;
            for row in work.rows {
                self.source.put_prepared(row)?;
            }
            self.cover.keep_prepared(work.made, &self.source);
        }
        // Models are asked once the break is due as soon as it costs nothing: many histories end before it.
        if self.pressure_within(budget) >= Pressure::Soft {
            self.cover.ask_models(&self.source)?;
        }
        Ok(())
    }

    /// Makes the summaries of a break and commits them with its context in one transaction.
    fn carry_out(&mut self, plan: Break) -> Result<(), EngineError> {
        let left = self.cover.unprepared(&plan.jobs);
        let work = self.make_summaries(&plan.jobs, left)?;
        self.commit(plan, work)
    }

    /// Makes summaries of a break behind the prepared ones.
    ///
    /// * `jobs` - all jobs of the break.
    /// * `left` - those to carry out now.
    pub(super) fn make_summaries(&mut self, jobs: &[Job], left: &[Job]) -> Result<SummaryWork, EngineError> {
        let begun = BegunWork::of(left, &self.window, &self.source)?;
        let work = self.cover.complete(jobs, begun, &self.source)?;
        self.account.add(work.counters);
        Ok(work)
    }

    /// Folds the ledger from the present context up to the next one.
    pub(super) fn fold_ledger(&mut self, next: &Context) -> Result<(), EngineError> {
        let before = self.cover.context();
        self.fixed.load_ledger(before, next, &self.source)?;
        let is_new = self.fixed.fold_ledger(before, next, &self.window);
        // While a history is played, only the final ledger is kept.
        if is_new && self.source.persists() && !self.source.is_playing() && !self.cover.is_provisional() {
            self.fixed.keep_ledger(&self.source);
        }
        Ok(())
    }

    /// Renders the summaries of the present context.
    ///
    /// * `made` - summaries at hand.
    pub(super) fn render_cover(&mut self, made: &[MadeSummary]) -> Result<(), EngineError> {
        let has_host_summary = self.window.has_host_summary(0, self.cover.as_of());
        self.cover.render(made, has_host_summary, &self.source)
    }

    fn commit(&mut self, plan: Break, work: SummaryWork) -> Result<(), EngineError> {
        let as_of = self.window.head().unwrap_or_default();
        self.cover.choose_rewrites(&plan.context.roots, &self.source)?;
        self.fold_ledger(&plan.context)?;
        let superseded = self.window.superseded(&plan.context, as_of);
        let SummaryWork { made, rows, .. } = work;
        if self.source.is_playing() {
            self.source.gather(rows)?;
        } else if self.source.persists() {
            let ledger = self.fixed.show_ledger(&plan.context, self.source.shape());
            let next = BreakState { context: &plan.context, as_of, superseded: &superseded };
            let state = self.cover.encoded_break(&next, ledger, &self.source);
            let decision = decisions::of_break(&plan, self.cover.rewritten_count(), &self.decided_on());
            self.source.put_context(&rows, state, Some(&decision))?;
            self.cover.leave_jobs(&plan.context.roots, &self.source)?;
        }
        self.apply(plan, superseded);
        self.render_cover(&made)?;
        if !self.source.is_playing() {
            self.load_raised()?;
        }
        self.note_break();
        self.window.refresh(&self.cover, self.source.shape(), self.source.is_playing());
        Ok(())
    }

    /// Moves the covered groups from the window into the cover.
    fn apply(&mut self, plan: Break, superseded: Superseded) {
        let groups = plan.groups;
        self.cover.take_break(plan, superseded, &self.window, self.source.shape());
        let passed = self.window.drop_groups(groups, self.cover.context());
        self.account.note_passed(passed);
    }

    /// Writes the summaries gathered while a history was played, with the final context.
    pub(super) fn flush(&mut self) -> Result<(), EngineError> {
        let Some(rows) = self.source.end_playing() else { return Ok(()) };
        if self.cover.choose_last_rewrites(&self.source)? {
            self.render_cover(&[])?;
        }
        self.store_context(&rows, None)
    }

    /// The summaries changed at a break.
    pub(super) fn note_break(&mut self) {
        self.account.add(Counters { breaks: 1, ..Counters::default() });
        self.account.breaks(Cause::Compaction);
        self.fixed.drop_headline();
    }

    /// Writes summaries with the present context, and the decision that led to it.
    pub(super) fn store_context(
        &mut self,
        rows: &[SummaryRow],
        decision: Option<&DecisionRow>,
    ) -> Result<(), EngineError> {
        let ledger = self.fixed.show_ledger(self.cover.context(), self.source.shape());
        let state = self.cover.encoded(ledger, &self.source);
        self.source.put_context(rows, state, decision)?;
        if !self.cover.is_provisional() {
            self.fixed.keep_ledger(&self.source);
        }
        self.cover.leave_jobs(&self.cover.context().roots, &self.source)
    }
}
