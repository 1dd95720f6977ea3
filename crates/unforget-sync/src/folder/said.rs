//! What people said of the histories of a folder: a file for each saying, named by its digest.

use std::collections::BTreeSet;

use unforget_core::digest::Digest;
use unforget_core::id::ConversationKey;
use unforget_engine::sayings::chains_said;

use super::{FolderHistory, SyncFolder, files};
use crate::error::Result;
use crate::local::LocalHistory;
use crate::tip::{KnownSayings, SentSaying};

impl SyncFolder {
    /// Writes the sayings that the folder does not have, but for those about purged entries. Returns their number.
    pub(super) fn put_sayings(&mut self, local: &LocalHistory<'_>) -> Result<u64> {
        let mut new = 0;
        for (key, row) in local.all_sayings()? {
            let name = self.said_file(row.digest);
            // Without a tip or a mark, the folder does not know the conversation.
            let Some(history) = self.found.get(&key) else { continue };
            if history.files.contains(&name) || history.is_purged(&row.body) {
                continue;
            }
            new += 1;
            if !self.is_trial {
                self.write(&key, name, row.body)?;
            }
        }
        Ok(new)
    }

    /// Removes the sayings of a conversation that are about purged entries. Returns whether there were any.
    pub(super) fn clean_sayings(&mut self, key: &ConversationKey) -> Result<bool> {
        let Some(history) = self.found.get(key) else { return Ok(false) };
        let names: Vec<String> = history.files.iter().filter(|name| files::is_said(name)).cloned().collect();
        let mut gone = Vec::new();
        for name in names {
            let is_gone = |body: &Vec<u8>| self.found.get(key).is_some_and(|history| history.is_purged(body));
            if self.said(key, &name).as_ref().is_some_and(is_gone) {
                gone.push(name);
            }
        }
        for name in &gone {
            self.remove(key, name)?;
        }
        Ok(!gone.is_empty())
    }

    /// The sayings that are not known. A file that is not what its name says is told as damaged.
    pub(super) fn unknown_sayings(&mut self, known: &KnownSayings) -> Vec<SentSaying> {
        let (mut sayings, mut damaged) = (Vec::new(), Vec::new());
        for (key, history) in &self.found {
            let names = known.get(key).into_iter().flatten().map(|digest| self.said_file(*digest));
            let names: BTreeSet<String> = names.collect();
            for name in history.files.iter().filter(|name| files::is_said(name) && !names.contains(*name)) {
                match self.said(key, name) {
                    Some(body) => sayings.push(SentSaying { key: key.clone(), body }),
                    None => damaged.push(self.place(key).join(name)),
                }
            }
        }
        self.damaged.extend(damaged);
        sayings
    }

    /// The bytes of a saying; `None` if they are not those that its name says.
    fn said(&self, key: &ConversationKey, name: &str) -> Option<Vec<u8>> {
        let sealed = files::read(&self.place(key).join(name), files::SAID_MAX).ok()?;
        let body = self.seal.open(name, sealed)?;
        (self.said_file(Digest::of(&body)) == name).then_some(body)
    }

    fn said_file(&self, digest: Digest) -> String {
        format!("{}.said", self.seal.name(&format!("said {}", digest.hex())))
    }
}

impl FolderHistory {
    /// Whether a saying is about entries of which nothing is left.
    fn is_purged(&self, body: &[u8]) -> bool {
        chains_said(body)
            .is_some_and(|(first, last)| self.purged.contains(&first) && self.purged.contains(&last))
    }
}
