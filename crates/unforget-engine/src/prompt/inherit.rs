//! What prompts of one lane take over from those of another one whose journal they share.

use std::collections::BTreeSet;

use unforget_core::compact::Root;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::inherit::context_until;
use unforget_core::policy::Policy;
use unforget_store::{ContextRow, SummaryKey, SummaryRow};

use super::state::{self, Kept};
use super::{Lane, Written};
use crate::{Engine, EngineError};

/// Summaries that are written together.
const TOGETHER: usize = 128;

/// A stored context as a lane takes it over that shares the path up to an entry.
pub(crate) struct Inherited {
    /// Key of its shape.
    key: u64,
    /// Tokens of a leaf's source.
    grain: u32,
    kept: Kept,
}

impl Engine {
    /// The stored context of a shape as far as it is of the path up to an entry; `None` if its summaries stand for later ones too, if
    /// one of them is gone, and if nothing broke yet.
    ///
    /// * `key`, `window` - of the shape.
    ///
    /// Cost: O(roots).
    pub(crate) fn inheritance(
        &self,
        from: Lane,
        key: u64,
        window: u64,
        until: Seq,
    ) -> Result<Option<Inherited>, EngineError> {
        let row = self.store().context(from.conversation, from.thread, key)?;
        let Some(kept) = row.and_then(|row| state::decode(&row.state)) else { return Ok(None) };
        let Some(context) = context_until(&kept.context, until) else { return Ok(None) };
        let superseded = kept.superseded.into_iter().filter(|(_, by)| *by <= until).collect();
        let kept = Kept { context, as_of: kept.as_of.min(until), superseded, ..kept };
        let inherited = Inherited { key, grain: Policy::with_reserve(window, 0).grain as u32, kept };
        for root in &inherited.kept.context.roots {
            let name = inherited.name(from, root);
            let is_there = self
                .store()
                .summary(from.conversation, &name)?
                .is_some_and(|row| Written::of(&row).is_some());
            let is_shown_as = !inherited.kept.rewritten.contains(root)
                || self.store().rewrite(from.conversation, &name)?.is_some();
            if !(is_there && is_shown_as) {
                return Ok(None);
            }
        }
        Ok(Some(inherited))
    }

    /// Copies a context from lane to lane, with the summaries that it shows, all that these are made of, and its ledger. Doing it
    /// again changes nothing.
    ///
    /// Cost: O(summaries), a bounded number of them in memory.
    pub(crate) fn inherit(
        &self,
        from: Lane,
        to: Lane,
        inherited: &Inherited,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        let roots = inherited.kept.context.roots.iter();
        let mut wanted: Vec<SummaryKey> = roots.map(|root| inherited.name(from, root)).collect();
        let mut seen: BTreeSet<SummaryKey> = wanted.iter().copied().collect();
        let (mut rows, mut rewrites): (Vec<SummaryRow>, Vec<SummaryRow>) = (Vec::new(), Vec::new());
        while let Some(key) = wanted.pop() {
            if let Some(row) = self.store().summary(from.conversation, &key)? {
                wanted.extend(row.sources.iter().filter(|source| seen.insert(**source)));
                rows.push(row);
            }
            rewrites.extend(self.store().rewrite(from.conversation, &key)?);
            if rows.len() + rewrites.len() >= TOGETHER {
                self.put_inherited(to, &std::mem::take(&mut rows), &std::mem::take(&mut rewrites), now)?;
            }
        }
        self.put_inherited(to, &rows, &rewrites, now)?;
        self.inherit_ledger(from, to, inherited.key, inherited.kept.as_of)?;
        let state = state::encode(&inherited.kept);
        let context = ContextRow { thread: to.thread, budget: inherited.key, state };
        Ok(self.store().put_summaries(to.conversation, &[], Some(&context))?)
    }

    fn put_inherited(
        &self,
        to: Lane,
        rows: &[SummaryRow],
        rewrites: &[SummaryRow],
        now: Timestamp,
    ) -> Result<(), EngineError> {
        self.store().put_summaries(to.conversation, rows, None)?;
        // No rewrite stands beside no summary.
        if !rewrites.is_empty() {
            self.store().put_rewrites(to.conversation, rewrites, now)?;
        }
        Ok(())
    }
}

impl Inherited {
    /// Key of its shape.
    pub(crate) const fn key(&self) -> u64 {
        self.key
    }

    fn name(&self, of: Lane, root: &Root) -> SummaryKey {
        SummaryKey { thread: of.thread, grain: self.grain, level: root.level, end: root.end }
    }
}
