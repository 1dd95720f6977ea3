//! Summaries that models write, as far as a prompt is concerned: which are shown, and which are wanted.
//!
//! A prompt never waits for a model. What a break shows is what is stored at that moment.

use std::collections::BTreeSet;

use unforget_core::compact::Root;
use unforget_store::{NewJob, SummaryKey};

use super::summaries::name;
use super::{Session, Written};
use crate::error::EngineError;

impl Session {
    /// Whether a root is shown as a model wrote it.
    pub(super) fn is_rewritten(&self, root: &Root) -> bool {
        self.rewritten.contains(&self.key(root))
    }

    /// The roots that a break should show as a model wrote them: those that are ready.
    ///
    /// While a history is played nobody sees its breaks: [`Session::flush`] looks once, at the end.
    pub(super) fn rewritten_of(&self, roots: &[Root]) -> Result<BTreeSet<SummaryKey>, EngineError> {
        let mut ready = BTreeSet::new();
        if self.batch.is_some() {
            return Ok(ready);
        }
        for key in roots.iter().map(|root| self.key(root)) {
            let is_shown = self.rewritten.contains(&key);
            if is_shown || self.engine.store().rewrite(self.conversation, &key)?.is_some() {
                ready.insert(key);
            }
        }
        Ok(ready)
    }

    /// Whether a model has written a summary that is shown as no model wrote it.
    pub(super) fn is_better_prepared(&self) -> Result<bool, EngineError> {
        if !self.engine.has_models() {
            return Ok(false);
        }
        let ready = self.rewritten_of(&self.context.roots)?;
        Ok(ready.iter().any(|key| !self.rewritten.contains(key)))
    }

    /// A summary as a model wrote it.
    pub(super) fn rewrite(&self, root: &Root) -> Result<Written, EngineError> {
        let key = self.key(root);
        let row = self.engine.store().rewrite(self.conversation, &key)?;
        row.and_then(|row| Written::of(&row)).ok_or_else(|| EngineError::MissingSummary { name: name(&key) })
    }

    /// Asks for summaries of these spans by a model, where there is none: once for each.
    pub(super) fn leave_jobs(&self, roots: &[Root]) -> Result<(), EngineError> {
        if !self.engine.has_models() || !self.persist {
            return Ok(());
        }
        let wanted = roots.iter().filter(|root| !self.is_rewritten(root));
        let jobs: Vec<_> = wanted.map(|root| NewJob { key: self.key(root), span: root.span }).collect();
        if jobs.is_empty() {
            return Ok(());
        }
        self.engine.store().put_jobs(self.conversation, &jobs, self.now)?;
        Ok(())
    }
}
