//! Takes what people said elsewhere.

use std::collections::BTreeMap;

use unforget_core::id::ConversationKey;
use unforget_engine::sayings::TakenSayings;

use super::{SyncEvent, Taker};
use crate::error::{Result, SyncError};
use crate::tip::{KnownSayings, SentSaying};

impl Taker<'_, '_, '_> {
    /// Takes what people said elsewhere. Transcripts come first: a saying is taken once its entries are here.
    pub(super) fn take_sayings(&mut self) -> Result<()> {
        let mut known = KnownSayings::new();
        for (key, row) in self.local.all_sayings()? {
            known.entry(key).or_default().insert(row.digest);
        }
        let Some(sayings) = self.from.sayings(&known)? else {
            (self.told)(SyncEvent::NoSayings);
            return Ok(());
        };
        let mut new: BTreeMap<ConversationKey, Vec<Vec<u8>>> = BTreeMap::new();
        for SentSaying { key, body } in sayings {
            new.entry(key).or_default().push(body);
        }
        for (key, bodies) in new {
            let Some(into) = self.into.as_deref_mut() else {
                self.report.sayings_waiting += bodies.len() as u64;
                continue;
            };
            match into.say(&key, &bodies) {
                Ok(TakenSayings { added, unfit, .. }) => {
                    self.report.sayings += added;
                    if added > 0 {
                        (self.told)(SyncEvent::Said { key: &key, added });
                    }
                    if unfit > 0 {
                        let what = format!("{unfit} of the things that people said of it cannot be read");
                        let why = SyncError::Damaged { place: key.0.clone(), what };
                        self.report.left += 1;
                        (self.told)(SyncEvent::Left { key: &key, why });
                    }
                }
                Err(error) if error.is_of_everything() => return Err(error),
                Err(why) => {
                    self.report.left += 1;
                    (self.told)(SyncEvent::Left { key: &key, why });
                }
            }
        }
        Ok(())
    }
}
