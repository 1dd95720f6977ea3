//! What stands beside the entries: names, what people decided, what the engine made.

use unforget_core::id::Timestamp;
use unforget_store::{
    ContextRow, LabelRow, NewDecision, NewJob, Page, Recipe, SaidRows, Segment, SegmentHead, StoreError,
    SummaryRow, WriteLatency, read_all,
};

use super::digests::{contexts, each_name, label_of};
use super::{Way, new_of};
use crate::host::{fork_source, with_fork_source};

/// Rows that are written at once.
const ROWS: usize = 256;

impl Way<'_> {
    /// Carries what the target has not. Every step can be repeated.
    ///
    /// * `now` - due time of jobs.
    pub(super) fn carry_beside(&self, now: Timestamp) -> Result<(), StoreError> {
        each_name(self.from, self.source.id, &mut |names| {
            self.to.put_names(self.target, names, WriteLatency::Soon).map(drop)
        })?;
        self.carry_label()?;
        self.carry_pins()?;
        self.carry_verdicts()?;
        self.carry_raised()?;
        self.carry_sayings()?;
        self.carry_summaries(now)?;
        self.carry_recipes()?;
        self.carry_decisions()?;
        self.carry_missing_contexts()?;
        self.carry_segments()
    }

    fn carry_label(&self) -> Result<(), StoreError> {
        let (label, before) = (label_of(self.from, self.source.id)?, label_of(self.to, self.target)?);
        let after = LabelRow { conversation: self.target, ..label };
        if after != before {
            self.to.put_label(self.target, &before, &after)?;
        }
        Ok(())
    }

    fn carry_pins(&self) -> Result<(), StoreError> {
        let SaidRows { pins, mut files, .. } = self.from.said(self.source.id)?;
        let SaidRows { pins: before, files: there, .. } = self.to.said(self.target)?;
        files.retain(|file| !there.contains(file));
        if pins == before && files.is_empty() {
            return Ok(());
        }
        self.to.put_pins(self.target, &before, &pins, &files)
    }

    fn carry_verdicts(&self) -> Result<(), StoreError> {
        let there = self.to.said(self.target)?.verdicts;
        for verdict in self.from.said(self.source.id)?.verdicts {
            let own = there.iter().find(|own| own.number == verdict.number);
            if own.is_none() {
                self.to.put_verdict(self.target, &verdict)?;
            }
            if let Some(withdrawn) = verdict.withdrawn
                && own.is_none_or(unforget_store::VerdictRow::is_standing)
            {
                self.to.withdraw_verdict(self.target, verdict.number, withdrawn)?;
            }
        }
        Ok(())
    }

    fn carry_raised(&self) -> Result<(), StoreError> {
        let there = self.to.said(self.target)?.raised;
        for raised in self.from.said(self.source.id)?.raised {
            let own = there.iter().find(|own| own.number == raised.number);
            if own.is_none() {
                self.to.put_raised(self.target, &raised)?;
            }
            if let Some(withdrawn) = raised.withdrawn
                && own.is_none_or(unforget_store::RaisedRow::is_standing)
            {
                self.to.withdraw_raised(self.target, raised.number, withdrawn)?;
            }
        }
        Ok(())
    }

    fn carry_sayings(&self) -> Result<(), StoreError> {
        let sayings = read_all(|page| self.from.sayings(self.source.id, page))?;
        for rows in sayings.chunks(ROWS) {
            self.to.put_sayings(self.target, rows)?;
        }
        Ok(())
    }

    /// Carries summaries and their jobs. A job whose summary a model wrote is done; any other one is due, also one that was
    /// given up.
    fn carry_summaries(&self, now: Timestamp) -> Result<(), StoreError> {
        let summaries: Vec<SummaryRow> = read_all(|page| self.from.summaries(self.source.id, page))?;
        for rows in summaries.chunks(ROWS) {
            self.to.put_summaries(self.target, rows, None)?;
        }
        for keys in read_all(|page| self.from.rewrites(self.source.id, page))?.chunks(ROWS) {
            let there = self.to.rewrites_of(self.target, keys)?;
            let mut rows = self.from.rewrites_of(self.source.id, keys)?;
            rows.retain(|row| there.iter().all(|own| own.key != row.key));
            if !rows.is_empty() {
                self.to.put_rewrites(self.target, &rows, now)?;
            }
        }
        let jobs = read_all(|page| self.from.jobs(self.source.id, page))?;
        let jobs: Vec<NewJob> = jobs.iter().map(|job| NewJob { key: job.key, span: job.span }).collect();
        for rows in jobs.chunks(ROWS) {
            self.to.put_jobs(self.target, rows, now)?;
        }
        Ok(())
    }

    fn carry_recipes(&self) -> Result<(), StoreError> {
        let rows = read_all(|page| self.from.recipes(self.source.id, page))?;
        let there = read_all(|page| self.to.recipes(self.target, page))?;
        let last = there.last().map_or(0, |row| row.number);
        let keep = kept(rows.first().map(|row| row.number), rows.last().map(|row| row.number));
        for row in rows.into_iter().filter(|row| row.number > last) {
            // A purge or a newer prompt may have taken it meanwhile.
            let Some(state) = self.from.recipe_state(self.source.id, &row.context)? else { continue };
            let recipe = Recipe { number: row.number, context: row.context, state, body: row.body };
            self.to.put_recipe(self.target, &recipe, keep, None)?;
        }
        Ok(())
    }

    fn carry_decisions(&self) -> Result<(), StoreError> {
        let rows = self.from.decisions(self.source.id)?;
        let last = self.to.decisions(self.target)?.last().map_or(0, |row| row.number);
        let keep = kept(rows.first().map(|row| row.number), rows.last().map(|row| row.number));
        for row in rows.iter().filter(|row| row.number > last) {
            self.to.decide(self.target, NewDecision { row, keep })?;
        }
        Ok(())
    }

    /// The states of prompts as they read in the target.
    pub(super) fn contexts(&self) -> Result<Vec<ContextRow>, StoreError> {
        let mut all = contexts(self.from, self.source.id)?;
        for context in &mut all {
            if let Some(from) = fork_source(context) {
                let forked = self.from.conversation(from)?;
                let there = self.to.ensure(&new_of(&forked))?;
                *context = with_fork_source(context.clone(), there.id);
            }
        }
        Ok(all)
    }

    /// Carries the states that the target lacks. A state in the target came with the entries, or is newer.
    fn carry_missing_contexts(&self) -> Result<(), StoreError> {
        for context in self.contexts()? {
            if self.to.context(self.target, context.thread, context.budget)?.is_none() {
                self.to.put_summaries(self.target, &[], Some(&context))?;
            }
        }
        Ok(())
    }

    /// Carries the segments of the search index that follow the target's. A target with other segments made its own index,
    /// and extends that index by itself.
    fn carry_segments(&self) -> Result<(), StoreError> {
        let heads = read_all(|page| self.from.segments(self.source.id, page))?;
        let there = read_all(|page| self.to.segments(self.target, page))?;
        let is_same = |(own, head): (&SegmentHead, &SegmentHead)| {
            (&own.seqs, &own.header) == (&head.seqs, &head.header)
        };
        if there.len() > heads.len() || !there.iter().zip(&heads).all(is_same) {
            return Ok(());
        }
        for head in heads.into_iter().skip(there.len()) {
            // One that was merged into another while it was read is left out: what is missing is indexed again.
            let Some(segment) = self.segment(head)? else { return Ok(()) };
            self.to.put_segment(self.target, &segment, &[])?;
        }
        Ok(())
    }

    /// A segment with its blocks; `None` if it is not there any more.
    fn segment(&self, head: SegmentHead) -> Result<Option<Segment>, StoreError> {
        let mut blocks = Vec::new();
        loop {
            match self.from.block(self.source.id, head.number, blocks.len()) {
                Ok(block) => blocks.push(block),
                Err(StoreError::Missing { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        let page = Page { after: head.number.checked_sub(1), limit: 1 };
        let is_there = self.from.segments(self.source.id, page)?.first() == Some(&head);
        let SegmentHead { seqs, header, .. } = head;
        Ok(is_there.then_some(Segment { seqs, header, blocks }))
    }
}

/// How many of the newest numbers are kept for all of a list to stay.
fn kept(first: Option<u64>, last: Option<u64>) -> u64 {
    last.zip(first).map_or(1, |(last, first)| last.saturating_sub(first) + 1)
}
