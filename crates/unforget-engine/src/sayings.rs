//! What people say of a conversation as records that machines exchange: noted where it is said, merged by the rules of
//! [`unforget_core::saying`], and shown as labels, verdicts and raised spans.
//!
//! The rows of these are what the rest of the engine reads. A row of which nothing was noted, because it is older than the notes or
//! because a process ended in between, is noted before anything else happens to it.

mod merge;
mod missing;
mod record;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Seq, Timestamp};
use unforget_store::{Conversation, SayingRow, read_all};

use crate::append::ConversationLock;
use crate::{Engine, EngineError};
use record::{NamedSaying, SayingRecord};

pub use record::SAYING_BYTES_MAX;

/// What became of sayings that came from elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TakenSayings {
    /// New ones.
    pub added: u64,
    /// About entries that this store does not have, or has purged.
    pub absent: u64,
    /// No sayings of this conversation.
    pub unfit: u64,
}

impl Engine {
    /// The sayings of a conversation, each with its digest: those that are noted, and those that the rows tell beside them.
    ///
    /// Cost: O(sayings, and rows of verdicts and raised spans).
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn sayings(&self, stored: &Conversation) -> Result<Vec<SayingRow>, EngineError> {
        let mut sayings = self.noted(stored.id)?;
        let missing = self.missing_sayings(stored, &named(&sayings, &stored.key), None)?;
        sayings.extend(missing);
        Ok(sayings)
    }

    fn noted(&self, id: ConversationId) -> Result<Vec<SayingRow>, EngineError> {
        Ok(read_all(|page| self.store().sayings(id, page))?)
    }

    /// Notes what the rows of a conversation tell and no saying does.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub(crate) fn note_sayings(&self, id: ConversationId) -> Result<(), EngineError> {
        self.note_rows(id, None)
    }

    /// Notes what a person just made of a label. A blank one was taken away.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub(crate) fn note_label(&self, id: ConversationId, now: Timestamp) -> Result<(), EngineError> {
        self.note_rows(id, Some(now))
    }

    /// Notes what is not noted yet, and shows what was said of a conversation whose label is lost.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub(crate) fn restore_label(&self, id: ConversationId) -> Result<(), EngineError> {
        self.note_sayings(id)?;
        if self.label(id)?.is_blank() {
            self.show_label(&self.store().conversation(id)?)?;
        }
        Ok(())
    }

    fn note_rows(&self, id: ConversationId, now: Option<Timestamp>) -> Result<(), EngineError> {
        let stored = self.store().conversation(id)?;
        let missing = self.missing_sayings(&stored, &named(&self.noted(id)?, &stored.key), now)?;
        if !missing.is_empty() {
            self.store().put_sayings(id, &missing)?;
        }
        Ok(())
    }

    /// Takes sayings from elsewhere, and shows what all sayings together say. Those that are known change nothing.
    ///
    /// * `bodies` - the bytes of each.
    ///
    /// # Errors
    /// [`EngineError::Store`]. What was stored before stays; taking them again goes on behind it.
    pub fn take_sayings(
        &self,
        key: &ConversationKey,
        bodies: &[Vec<u8>],
    ) -> Result<TakenSayings, EngineError> {
        let mut taken = TakenSayings::default();
        let Some(stored) = self.store().find(key)? else {
            return Ok(TakenSayings { absent: bodies.len() as u64, ..taken });
        };
        let _lock = ConversationLock::of(stored.id);
        self.note_sayings(stored.id)?;
        let mut rows = Vec::new();
        for body in bodies {
            let Some(record) = SayingRecord::read(body, key) else {
                taken.unfit += 1;
                continue;
            };
            let span = match record.chains() {
                None => None,
                Some((first, last)) => match (self.live(stored.id, first)?, self.live(stored.id, last)?) {
                    (Some(first), Some(last)) if first <= last => Some((first, last)),
                    _ => {
                        taken.absent += 1;
                        continue;
                    }
                },
            };
            rows.push(SayingRow { number: 0, digest: Digest::of(body), span, body: body.clone() });
        }
        taken.added = self.store().put_sayings(stored.id, &rows)?;
        if taken.added > 0 {
            self.show_sayings(&stored)?;
        }
        Ok(taken)
    }

    /// The entry with this head of the chain; `None` if it is not here, or purged.
    fn live(&self, id: ConversationId, chain: Chain) -> Result<Option<Seq>, EngineError> {
        let row = self.store().by_chain(id, chain)?;
        Ok(row.filter(|row| !row.purged).map(|row| row.seq))
    }
}

/// Heads of the chain at the first and last entry that a saying is about; `None` if it is about the conversation, or no saying.
pub fn chains_said(body: &[u8]) -> Option<(Chain, Chain)> {
    SayingRecord::chains_of(body)
}

/// Sayings that can be read, with their names.
fn named(rows: &[SayingRow], key: &ConversationKey) -> Vec<NamedSaying> {
    let read = |row: &SayingRow| {
        Some(NamedSaying { digest: row.digest, span: row.span, record: SayingRecord::read(&row.body, key)? })
    };
    rows.iter().filter_map(read).collect()
}

/// The name of this machine, for people.
fn machine() -> String {
    let name = whoami::hostname().unwrap_or_default();
    if name.is_empty() { "a machine without a name".to_owned() } else { name.chars().take(100).collect() }
}
