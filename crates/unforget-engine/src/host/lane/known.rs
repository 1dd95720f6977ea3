//! What was looked up of a lane, and is remembered: hosts send the same arrays again and again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use unforget_core::id::Seq;
use unforget_store::{Name, NamedEntry};

use super::super::types::HostError;
use super::Lane;

/// Stored entries by name, ascending; none where nothing is stored.
pub(super) type Seen = HashMap<Name, Arc<[Seq]>>;

/// Who has names that were asked for: see [`Lane::known`].
#[derive(Clone, Copy)]
pub(in crate::host) struct Known<'a>(&'a RefCell<Seen>);

impl Known<'_> {
    /// The stored entries under a name, ascending.
    pub(in crate::host) fn of(self, name: &Name) -> Arc<[Seq]> {
        self.0.borrow().get(name).cloned().unwrap_or_default()
    }

    /// Whether anything is stored under a name.
    pub(in crate::host) fn has(self, name: &Name) -> bool {
        self.0.borrow().get(name).is_some_and(|seqs| !seqs.is_empty())
    }
}

impl Lane {
    /// Finds who has these names: all of them can be asked of what is returned, and no others.
    ///
    /// What was looked up is remembered: hosts send the same arrays again and again.
    pub(in crate::host) fn known(
        &self,
        names: impl IntoIterator<Item = Name>,
    ) -> Result<Known<'_>, HostError> {
        let known = Known(&self.seen);
        let mut unseen: Vec<Name> = {
            let seen = self.seen.borrow();
            names.into_iter().filter(|name| !seen.contains_key(name)).collect()
        };
        if unseen.is_empty() {
            return Ok(known);
        }
        unseen.sort_unstable();
        unseen.dedup();
        let mut found = self.engine.store().named(self.conversation, &unseen)?.into_iter().peekable();
        let mut seen = self.seen.borrow_mut();
        seen.reserve(unseen.len());
        for name in unseen {
            let mut seqs = Vec::new();
            while let Some(NamedEntry { seq, .. }) = found.next_if(|found| found.name == name) {
                seqs.push(seq);
            }
            seen.insert(name, if seqs.is_empty() { Arc::default() } else { seqs.into() });
        }
        Ok(known)
    }

    /// The stored entries under any of these names.
    pub(in crate::host) fn under(&self, names: &[Name]) -> Result<Vec<Seq>, HostError> {
        let known = self.known(names.iter().copied())?;
        Ok(names.iter().flat_map(|name| known.of(name).to_vec()).collect())
    }

    /// The newest of the stored entries under a name, the newest first.
    pub(in crate::host) fn newest(&self, name: Name, most: usize) -> Result<Vec<Seq>, HostError> {
        Ok(self.known([name])?.of(&name).iter().rev().take(most).copied().collect())
    }

    /// Forgets who has which name if more than so many are remembered, and the details of lines with them.
    pub(in crate::host) fn forget(&mut self, most: usize) {
        let (seen, details) = (self.seen.get_mut(), self.details.get_mut());
        if seen.len() > most || details.len() > most {
            (*seen, *details) = (Seen::new(), HashMap::new());
        }
    }

    /// The detail of a stored line; remembered, for those that are asked for again and again.
    pub(in crate::host) fn detail(&self, seq: Seq) -> Result<Option<Arc<str>>, HostError> {
        if let Some(known) = self.details.borrow().get(&seq) {
            return Ok(known.clone());
        }
        let detail: Option<Arc<str>> = self.line(seq)?.detail.map(Into::into);
        self.details.borrow_mut().insert(seq, detail.clone());
        Ok(detail)
    }

    /// Names that are stored now.
    pub(in crate::host) fn learn(&mut self, names: &[NamedEntry]) {
        let mut new: HashMap<Name, Vec<Seq>> = HashMap::new();
        for NamedEntry { name, seq } in names {
            new.entry(*name).or_default().push(*seq);
        }
        let seen = self.seen.get_mut();
        for (name, more) in new {
            if let Some(seqs) = seen.get_mut(&name) {
                // Old ones first: what comes in order is sorted in one pass.
                let mut all = [seqs, more.as_slice()].concat();
                all.sort_unstable();
                all.dedup();
                *seqs = all.into();
            }
        }
    }
}
