//! Lookups of names in a journal, cached: hosts send the same arrays again and again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use unforget_core::id::Seq;
use unforget_store::{Name, NamedEntry};

/// Stored entries by name, ascending; empty where nothing is stored.
type EntriesByName = HashMap<Name, Arc<[Seq]>>;

/// The result of past lookups of one journal.
#[derive(Default)]
pub(super) struct NameCache {
    entries: RefCell<EntriesByName>,
    /// Details of lines that were read.
    details: RefCell<HashMap<Seq, CachedDetail>>,
}

/// The detail of a line that was read, if the line has one.
#[derive(Clone)]
pub(super) struct CachedDetail(pub(super) Option<Arc<str>>);

/// Names that were looked up. Only those may be asked for.
#[derive(Clone, Copy)]
pub(crate) struct KnownNames<'a>(&'a RefCell<EntriesByName>);

impl KnownNames<'_> {
    /// The stored entries under a name, ascending.
    pub(crate) fn of(self, name: &Name) -> Arc<[Seq]> {
        self.0.borrow().get(name).cloned().unwrap_or_default()
    }

    /// Whether anything is stored under a name.
    pub(crate) fn has(self, name: &Name) -> bool {
        self.0.borrow().get(name).is_some_and(|seqs| !seqs.is_empty())
    }
}

impl NameCache {
    /// All cached names.
    pub(super) const fn known(&self) -> KnownNames<'_> {
        KnownNames(&self.entries)
    }

    /// The given names that have to be looked up, ascending, each once.
    pub(super) fn missing(&self, names: impl IntoIterator<Item = Name>) -> Vec<Name> {
        let entries = self.entries.borrow();
        let mut missing: Vec<Name> = names.into_iter().filter(|name| !entries.contains_key(name)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Caches a lookup.
    ///
    /// * `names` - ascending.
    /// * `found` - the stored entries of these names, in the order of the names.
    pub(super) fn fill(&self, names: Vec<Name>, found: Vec<NamedEntry>) {
        let mut found = found.into_iter().peekable();
        let mut entries = self.entries.borrow_mut();
        entries.reserve(names.len());
        for name in names {
            let mut seqs = Vec::new();
            while let Some(NamedEntry { seq, .. }) = found.next_if(|found| found.name == name) {
                seqs.push(seq);
            }
            entries.insert(name, if seqs.is_empty() { Arc::default() } else { seqs.into() });
        }
    }

    /// Adds names that were just stored to the cached lookups.
    pub(super) fn add(&mut self, names: &[NamedEntry]) {
        let mut new: HashMap<Name, Vec<Seq>> = HashMap::new();
        for NamedEntry { name, seq } in names {
            new.entry(*name).or_default().push(*seq);
        }
        let entries = self.entries.get_mut();
        for (name, more) in new {
            if let Some(seqs) = entries.get_mut(&name) {
                // Old entries first: what comes in order is sorted in one pass.
                let mut all = [seqs, more.as_slice()].concat();
                all.sort_unstable();
                all.dedup();
                *seqs = all.into();
            }
        }
    }

    /// The cached detail of a line; `None` if the line was not read.
    pub(super) fn detail(&self, seq: Seq) -> Option<CachedDetail> {
        self.details.borrow().get(&seq).cloned()
    }

    /// Caches the detail of a line.
    pub(super) fn keep_detail(&self, seq: Seq, detail: Option<Arc<str>>) {
        self.details.borrow_mut().insert(seq, CachedDetail(detail));
    }

    /// Empties the cache if it holds more than `most` names or details.
    pub(super) fn trim(&mut self, most: usize) {
        if self.len() > most || self.details.get_mut().len() > most {
            *self = Self::default();
        }
    }

    /// Number of cached names.
    pub(super) fn len(&self) -> usize {
        self.entries.borrow().len()
    }
}
