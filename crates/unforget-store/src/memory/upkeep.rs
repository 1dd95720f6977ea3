//! The care of the store in memory.

use std::path::Path;

use unforget_core::digest::Chain;

use super::MemoryStore;
use crate::error::StoreError;
use crate::port::{Problem, Result, TableSize, Upkeep};

impl Upkeep for MemoryStore {
    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>> {
        let inner = self.lock();
        let total = inner.all.values().map(|history| history.head.entries).sum();
        let mut problems = Vec::new();
        for history in inner.all.values() {
            let key = || Some(history.head.key.clone());
            for held in history.entries.iter().filter(|held| !held.row.purged) {
                let path = history.path(held.row.generation);
                let before =
                    held.row.position.0.checked_sub(1).and_then(|position| path.get(position as usize));
                let before = before.and_then(|seq| history.entries.get(*seq as usize));
                let before = before.map_or_else(Chain::root, |before| before.row.chain);
                if before.next(&held.lead, &held.body) != held.row.chain {
                    let detail = "its bytes are not those that its chain was made of".to_owned();
                    let seq = Some(held.row.seq);
                    problems.push(Problem { conversation: key(), seq, kind: "chain", detail });
                    break;
                }
            }
        }
        progress(total, total);
        Ok(problems)
    }

    fn change_mark(&self) -> Result<Option<u64>> {
        Ok(Some(self.lock().all.values().map(|history| history.head.revision + 1).sum()))
    }

    fn backup(&self, _: &Path) -> Result<()> {
        Err(StoreError::Backend {
            operation: "backup",
            source: "a store in memory has no file to copy".into(),
        })
    }

    fn sizes(&self) -> Result<Vec<TableSize>> {
        let inner = self.lock();
        let held = inner.all.values().flat_map(|history| &history.entries);
        let bytes = held.map(|held| (held.lead.len() + held.body.len()) as u64).sum();
        Ok(vec![TableSize { name: "entries".to_owned(), bytes }])
    }

    fn maintain(&self) -> Result<()> {
        Ok(())
    }
}
