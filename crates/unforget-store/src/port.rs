//! The port: the contract of every store, in five traits. Its plain values are in `values`.
//!
//! | trait | holds |
//! |---|---|
//! | [`Log`] | received data: conversations, entries, names, chains, bytes; what people say of conversations |
//! | [`Index`] | filters, scans, segments of the search index |
//! | [`Summaries`] | what prompts are made of: summaries, contexts, what people said, recipes, decisions |
//! | [`Jobs`] | work of models: jobs, rewrites, costs, grants |
//! | [`Upkeep`] | the database itself: verify, back up, measure, maintain |
//!
//! [`Store`] is all of them. Stores over another store implement [`StoreLayer`] and list only the methods that they
//! change. Lists of unknown length are read in pages, see [`Page`].

mod index;
mod jobs;
mod label;
mod layer;
mod log;
mod pages;
mod raised;
mod saying;
mod summaries;
mod values;
mod verdict;

use std::path::Path;
use std::sync::Arc;

use crate::error::StoreError;
use crate::pack::Dictionary;

pub use crate::entry::{EntryRow, NewEntry, kept_content};
pub use index::{BlobBytes, Index};
pub use jobs::*;
pub use label::LabelRow;
pub use layer::StoreLayer;
pub use log::{FoundSnapshot, Log, NamedEntry};
pub(crate) use pages::page_of;
pub use pages::{JobPlace, PAGE_ROWS, Page, PageRow, SummaryPlace, read_all, walk};
pub use raised::RaisedRow;
pub use saying::SayingRow;
pub use summaries::{
    DerivedNumbers, DerivedRows, LaneLook, LaneRows, NewDecision, NewRecipe, SaidRows, Summaries,
};
pub use values::*;
pub use verdict::VerdictRow;

/// Result of a store method.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A whole store. Every method is atomic, and every write is durable when it returns ([`Durability::OnReturn`]). The
/// exception are methods that write derived data, as their documentation says: these writes become durable with the
/// next other write ([`Durability::WithNext`]).
///
/// Unless said otherwise, methods with a conversation fail with [`StoreError::NoConversation`] if it does not exist,
/// and nothing is written on an error.
pub trait Store: Log + Index + Summaries + Jobs + Upkeep + Send + Sync {}

impl<S: Log + Index + Summaries + Jobs + Upkeep + Send + Sync> Store for S {}

/// The size of a group of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSize {
    /// The group.
    pub name: String,
    /// Bytes on disk.
    pub bytes: u64,
}

/// The care of the database itself.
pub trait Upkeep {
    /// Reads everything back: chains, chunks, blobs, rows, the database itself.
    ///
    /// * `progress` - called with the number of checked entries and of all entries.
    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>>;

    /// Entries that were acknowledged and are not there: the end of the write-ahead log was damaged or cut. Empty if
    /// nothing is known of the file: it is a copy, or nothing was appended to it yet.
    fn lost_entries(&self) -> Result<Vec<LostEntries>> {
        Ok(Vec::new())
    }

    /// The rows that turned out to be broken since the store was opened. They are left out of every answer. Those of
    /// derived data are dropped by a store that may write, and made again from the log; those of conversations stay.
    fn broken_rows(&self) -> Vec<BrokenRows> {
        Vec::new()
    }

    /// A number that is another one after every committed append and purge, and after every new conversation, whoever made
    /// them; it may change without any. `None` if the store cannot tell: then everything has to be looked at.
    ///
    /// Cost: O(1).
    fn change_mark(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Writes a verified copy to a new file.
    ///
    /// # Errors
    /// [`StoreError::Backend`] if `to` exists or this store has no file; [`StoreError::Corrupt`] if the copy fails
    /// verification: then there is no file at `to`.
    fn backup(&self, to: &Path) -> Result<()>;

    /// Bytes on disk by table group, largest first.
    fn sizes(&self) -> Result<Vec<TableSize>>;

    /// Housekeeping that keeps later work fast: trains a dictionary, runs a checkpoint. Short; safe at any time.
    fn maintain(&self) -> Result<()>;

    /// The trained dictionary that [`crate::Packer`] should use for small chunks, once there is one.
    fn dictionary(&self) -> Option<Arc<Dictionary>> {
        None
    }
}
