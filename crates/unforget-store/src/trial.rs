//! A store for trying out prompts: what they are made of stays in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use unforget_core::id::{ConversationId, Seq};

use crate::error::StoreError;
use crate::port::{
    DecisionRow, DerivedNumbers, DerivedRows, Page, PageRow, Result, Store, StoreLayer, SummaryKey,
    SummaryPlace, SummaryRow, page_of, walk,
};

/// A store over another one. New summaries and decisions stay in memory, states and recipes of prompts are dropped, and any
/// other write is refused, so that the inner store never changes.
pub struct TrialStore {
    inner: Arc<dyn Store>,
    made: Mutex<Made>,
}

/// Rows that were made here.
#[derive(Default)]
struct Made {
    summaries: BTreeMap<(ConversationId, SummaryKey), SummaryRow>,
    decisions: BTreeMap<ConversationId, Vec<DecisionRow>>,
}

impl TrialStore {
    /// * `inner` - the store to read from.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, made: Mutex::default() }
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for TrialStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrialStore").finish_non_exhaustive()
    }
}

impl StoreLayer for TrialStore {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn write<T>(&self, operation: &'static str, _: impl FnOnce() -> Result<T>) -> Result<T> {
        Err(StoreError::OutOfScope { operation })
    }

    fn put_derived(&self, id: ConversationId, rows: DerivedRows<'_>) -> Result<DerivedNumbers> {
        let mut made = self.made();
        for row in rows.summaries {
            made.summaries.entry((id, row.key)).or_insert_with(|| row.clone());
        }
        let decided = rows.decision.map(|decision| {
            let rows = made.decisions.entry(id).or_default();
            let number = rows.len() as u64 + 1;
            rows.push(DecisionRow { number, ..decision.row.clone() });
            number
        });
        Ok(DerivedNumbers { decision: decided, ..DerivedNumbers::default() })
    }

    fn summaries_of(&self, id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>> {
        let stored = self.inner.summaries_of(id, keys)?.into_iter();
        let mut all: BTreeMap<SummaryKey, SummaryRow> = stored.map(|row| (row.key, row)).collect();
        let made = self.made();
        for row in keys.iter().filter_map(|key| made.summaries.get(&(id, *key))) {
            all.entry(row.key).or_insert_with(|| row.clone());
        }
        Ok(all.into_values().collect())
    }

    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>> {
        let stored = self.inner.summary_before(id, key, seq)?;
        let made = self.made();
        let is_like = |row: &&SummaryRow| {
            (row.key.thread, row.key.grain, row.key.level) == (key.thread, key.grain, key.level)
                && row.span.1 < seq
        };
        let ours = made.summaries.iter().filter(|((of, _), _)| *of == id).map(|(_, row)| row);
        Ok(ours.filter(is_like).chain(stored.as_ref()).max_by_key(|row| row.span.1).cloned())
    }

    /// Cost: O(summaries of the conversation) per page.
    fn summaries(&self, id: ConversationId, page: Page<SummaryPlace>) -> Result<Vec<SummaryRow>> {
        let mut all = BTreeMap::new();
        for row in walk(|page| self.inner.summaries(id, page)) {
            let row = row?;
            all.insert(row.page_key(), row);
        }
        let made = self.made();
        let ours = made.summaries.iter().filter(|((of, _), _)| *of == id).map(|(_, row)| row);
        for row in ours {
            all.entry(row.page_key()).or_insert_with(|| row.clone());
        }
        Ok(page_of(all.into_values(), page))
    }

    fn decisions(&self, id: ConversationId) -> Result<Vec<DecisionRow>> {
        Ok(self.made().decisions.get(&id).cloned().unwrap_or_default())
    }
}
