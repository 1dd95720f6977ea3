//! Migration: every conversation of one store is taken to another one, of any kind, and both are compared.
//!
//! What came in and what people decided is carried as it is: entries with their bytes, chains and lanes, generations,
//! saves, names, labels, pins, verdicts, raised spans. So is what the next prompt depends on, or what models were paid
//! for: states of prompts, summaries, jobs, recipes, decisions, the search index with its vectors. Chunks, blobs and
//! filters are made again by the other store. Costs of models by the hour, grants of answers and breakers of accounts
//! stay behind: they mean something for days at most.
//!
//! A conversation goes in small transactions, each of which leaves a beginning of it. So a migration that was cut short
//! goes on where it stopped, and one that is complete finds nothing to do. Nothing in the target is replaced by
//! something older: what has gone on there is told and stays.
//!
//! | module | holds |
//! |---|---|
//! | `conflict` | why a conversation of the target is no beginning of the one to carry |
//! | `entries` | entries, generations, saves, and the head of the conversation |
//! | `beside` | everything else |
//! | `digests` | what is compared |

mod beside;
mod conflict;
mod digests;
mod entries;

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, ConversationKey, Timestamp};
use unforget_store::{Conversation, NewConversation, Store, StoreError};

use crate::error::EngineError;
pub use digests::{ConversationDigests, ConversationPart};

/// How often a conversation that others write to meanwhile is carried.
const TRIES: usize = 3;

/// A way from one store to another.
#[derive(Clone, Copy)]
pub struct Migration<'a> {
    from: &'a dyn Store,
    to: &'a dyn Store,
}

/// Outcome for one conversation, of a migration or of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigratedConversation {
    /// The conversation.
    pub key: ConversationKey,
    /// Number of its entries in the source.
    pub entries: u64,
    /// Number of entries that the target got.
    pub added: u64,
    /// How both stores compare.
    pub state: MigrationState,
    /// Digest of all that is compared, in the source; `None` if nothing had to be read to tell the state. It is the same
    /// for equal conversations in one version of this program, and may be another one in the next.
    pub digest: Option<Digest>,
}

/// How the conversation of the target compares with that of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationState {
    /// All parts are equal.
    Equal,
    /// The target has no such conversation.
    Missing,
    /// These parts differ.
    Different(Vec<ConversationPart>),
    /// The target has something else under the key. Nothing was written to it.
    Refused(String),
}

impl<'a> Migration<'a> {
    /// * `from` - is only read.
    /// * `to` - is written by [`Migration::carry`].
    pub const fn new(from: &'a dyn Store, to: &'a dyn Store) -> Self {
        Self { from, to }
    }

    /// Compares a conversation. Writes nothing.
    ///
    /// * `stored` - of the source.
    /// * `passed` - called with the number of entries that were compared, from time to time.
    ///
    /// Cost: reads all bytes of the conversation from both stores, unless the number of entries tells.
    ///
    /// # Errors
    /// [`EngineError::Store`], also for damage in either store.
    pub fn check(
        &self,
        stored: &Conversation,
        passed: &mut dyn FnMut(u64),
    ) -> Result<MigratedConversation, EngineError> {
        let found = |state, digest| MigratedConversation {
            key: stored.key.clone(),
            entries: stored.entries,
            added: 0,
            state,
            digest,
        };
        let Some(there) = self.to.find(&stored.key)? else { return Ok(found(MigrationState::Missing, None)) };
        if there.entries != stored.entries {
            return Ok(found(MigrationState::Different(vec![ConversationPart::Entries]), None));
        }
        let here = digests::read(self.from, stored, passed)?;
        let other = digests::read(self.to, &there, &mut |_| {})?;
        let parts = here.differing(&other);
        let state = if parts.is_empty() { MigrationState::Equal } else { MigrationState::Different(parts) };
        Ok(found(state, Some(here.whole())))
    }

    /// Carries a conversation, and compares it. Doing it again changes nothing.
    ///
    /// * `stored` - of the source.
    /// * `now` - due time of jobs.
    /// * `passed` - called with the number of entries that were written or compared, from time to time; each entry
    ///   passes twice, or once if nothing is to be done.
    ///
    /// Cost: reads all bytes of the conversation three times and packs them once; four MiB are held in memory, or one
    /// entry.
    ///
    /// # Errors
    /// [`EngineError::Store`], also for damage in the source: the entries before it were carried.
    pub fn carry(
        &self,
        stored: &Conversation,
        now: Timestamp,
        passed: &mut dyn FnMut(u64),
    ) -> Result<MigratedConversation, EngineError> {
        let (mut source, mut added) = (stored.clone(), 0);
        let mut found = self.check(&source, passed)?;
        for _ in 0..TRIES {
            if found.state == MigrationState::Equal {
                break;
            }
            if let Some(why) = self.conflict(&source)? {
                return Ok(MigratedConversation { added, state: MigrationState::Refused(why), ..found });
            }
            let target = self.to.ensure(&new_of(&source))?;
            let way = Way { from: self.from, to: self.to, source: &source, target: target.id };
            added += way.carry_entries(passed)?;
            way.carry_beside(now)?;
            found = self.check(&source, passed)?;
            let again = self.from.conversation(source.id)?;
            if again.revision == source.revision {
                break;
            }
            source = again;
        }
        Ok(MigratedConversation { added, ..found })
    }

    fn conflict(&self, source: &Conversation) -> Result<Option<String>, StoreError> {
        match self.to.find(&source.key)? {
            Some(there) => conflict::find(self.from, source, self.to, &there),
            None => Ok(None),
        }
    }
}

impl std::fmt::Debug for Migration<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Migration").finish_non_exhaustive()
    }
}

/// The way of one conversation.
#[derive(Clone, Copy)]
struct Way<'a> {
    from: &'a dyn Store,
    to: &'a dyn Store,
    source: &'a Conversation,
    /// Its number in the target.
    target: ConversationId,
}

fn new_of(source: &Conversation) -> NewConversation {
    NewConversation {
        key: source.key.clone(),
        format: source.format.clone(),
        title: source.title.clone(),
        parent: source.parent.clone(),
    }
}
