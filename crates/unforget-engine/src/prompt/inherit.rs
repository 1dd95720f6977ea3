//! Contexts and summaries that a fork takes over from its source.

use std::collections::BTreeSet;

use unforget_core::compact::{Root, Tree};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::inherit::context_until;
use unforget_core::policy::Policy;
use unforget_store::{ContextRow, SummaryKey, SummaryRow};

use super::stored_context::{self, StoredContext};
use super::summaries::WrittenSummary;
use crate::thread::ThreadRef;
use crate::{Engine, EngineError};

/// Number of summaries written together.
const TOGETHER: usize = 128;

/// A stored context for a fork that shares the path up to an entry.
pub(crate) struct Inherited {
    /// Key of the context's shape.
    key: u64,
    /// Source tokens of a leaf.
    grain: u32,
    kept: StoredContext,
}

/// The key of a root's summary.
///
/// * `grain` - source tokens of a leaf of the own tree.
pub(super) const fn key_of(of: ThreadRef, grain: u32, root: &Root) -> SummaryKey {
    let grain = match root.tree {
        Tree::Own => grain,
        Tree::Other { grain } => grain,
        Tree::Coarse => 0,
    };
    SummaryKey { thread: of.thread, grain, level: root.level, end: root.end }
}

impl Engine {
    /// The stored context of a shape, reduced to the path up to an entry. `None` if a summary also covers later entries or
    /// is missing, or if there was no break yet.
    ///
    /// * `key`, `window` - of the shape.
    ///
    /// Cost: O(roots).
    pub(crate) fn inheritance(
        &self,
        from: ThreadRef,
        key: u64,
        window: u64,
        until: Seq,
    ) -> Result<Option<Inherited>, EngineError> {
        let row = self.store().context(from.conversation, from.thread, key)?;
        let Some(kept) = row.and_then(|row| stored_context::decode(&row.state)) else { return Ok(None) };
        let Some(context) = context_until(&kept.context, until) else { return Ok(None) };
        let superseded = kept.superseded.into_iter().filter(|(_, by)| *by <= until).collect();
        let kept = StoredContext { context, as_of: kept.as_of.min(until), superseded, ..kept };
        let inherited = Inherited { key, grain: Policy::with_reserve(window, 0).grain as u32, kept };
        let names: Vec<SummaryKey> = inherited.roots().map(|root| inherited.name(from, root)).collect();
        let mut missing: BTreeSet<SummaryKey> = names.iter().copied().collect();
        for row in self.store().summaries_of(from.conversation, &names)? {
            if WrittenSummary::of(&row).is_some() {
                missing.remove(&row.key);
            }
        }
        let by_model = inherited.kept.rewritten.iter();
        let by_model: BTreeSet<SummaryKey> = by_model.map(|root| inherited.name(from, root)).collect();
        let shown: Vec<SummaryKey> = names.into_iter().filter(|name| by_model.contains(name)).collect();
        let rewrites = self.store().rewrites_of(from.conversation, &shown)?;
        let is_whole = missing.is_empty() && rewrites.len() == shown.iter().collect::<BTreeSet<_>>().len();
        Ok(is_whole.then_some(inherited))
    }

    /// Copies a context with its ledger, its summaries and their sources. A second copy changes nothing.
    ///
    /// Cost: O(summaries), a bounded number of them in memory.
    pub(crate) fn inherit(
        &self,
        from: ThreadRef,
        to: ThreadRef,
        inherited: &Inherited,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        let roots = inherited.roots();
        let mut wanted: Vec<SummaryKey> = roots.map(|root| inherited.name(from, root)).collect();
        let mut seen: BTreeSet<SummaryKey> = wanted.iter().copied().collect();
        let (mut rows, mut rewrites): (Vec<SummaryRow>, Vec<SummaryRow>) = (Vec::new(), Vec::new());
        while !wanted.is_empty() {
            let keys = wanted.split_off(wanted.len().saturating_sub(TOGETHER));
            for row in self.store().summaries_of(from.conversation, &keys)? {
                wanted.extend(row.sources.iter().filter(|source| seen.insert(**source)));
                rows.push(row);
            }
            rewrites.extend(self.store().rewrites_of(from.conversation, &keys)?);
            if rows.len() + rewrites.len() >= TOGETHER {
                self.put_inherited(to, &std::mem::take(&mut rows), &std::mem::take(&mut rewrites), now)?;
            }
        }
        self.put_inherited(to, &rows, &rewrites, now)?;
        self.inherit_ledger(from, to, inherited.key, inherited.kept.as_of)?;
        let state = stored_context::encode(&inherited.kept);
        let context = ContextRow { thread: to.thread, budget: inherited.key, state };
        Ok(self.store().put_summaries(to.conversation, &[], Some(&context))?)
    }

    fn put_inherited(
        &self,
        to: ThreadRef,
        rows: &[SummaryRow],
        rewrites: &[SummaryRow],
        now: Timestamp,
    ) -> Result<(), EngineError> {
        self.store().put_summaries(to.conversation, rows, None)?;
        // A rewrite needs its summary.
        if !rewrites.is_empty() {
            self.store().put_rewrites(to.conversation, rewrites, now)?;
        }
        Ok(())
    }
}

impl Inherited {
    /// The roots with a stored summary.
    fn roots(&self) -> impl Iterator<Item = &Root> {
        self.kept.context.roots.iter().filter(|root| root.tree != Tree::Coarse)
    }

    /// Key of the context's shape.
    pub(crate) const fn key(&self) -> u64 {
        self.key
    }

    fn name(&self, of: ThreadRef, root: &Root) -> SummaryKey {
        key_of(of, self.grain, root)
    }
}
