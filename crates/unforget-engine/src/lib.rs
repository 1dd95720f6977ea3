//! The engine: the order of effects. It loads data, asks core for decisions, and writes results in one transaction.
//!
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | `calls` | the calls of a conversation as they were sent or played, and each in full |
//! | `discover` | where hosts keep their transcripts |
//! | `append/*`, `rows` | the write path: lock of a conversation, chain, pack, append; the one reader of many rows, in bounded steps |
//! | `journal/*` | the log of a live lane: its path, its names, its open turn; who a delivered message is |
//! | `client_api/*` | arrays and answers of a provider's clients, and the register that says whose lane a call belongs to |
//! | `host/*` | turns of an agent host: deliver, ask for a prompt, recover, fork, emit; what providers said of the prompts |
//! | `import/*` | transcript files into the store, exactly once |
//! | `prompt/*` | compact when it is due, assemble, admit: `session` has the order; `source`, `window`, `cover`, `fixed` and `account` own the state; `compose` is pure |
//! | `summarise/*` | models write summaries behind the prompts: jobs, leases, questions, checks |
//! | `ledger/*`, `pins/*`, `path`, `thread`, `view` | the ledger of a thread; pins and their files; the active path; entries decoded; what a model sees |
//! | `reading` | a conversation as a person reads it: turns of words, thoughts and work with tools |
//! | `recall/*`, `index/*` | search, grep, describe, expand, answer; the search index and its upkeep |
//! | `replay/*` | a recorded session driven through the engine; what other ways would have sent; the report |
//! | `trust/*` | export, verify, doctor, and from what a person types to a conversation |
//! | `usage` | calls of models that transcripts record |
//! | `migrate/*` | every conversation of one store to another one, compared by digests |
//! | `memory` | what sessions leave to their project: rules, decisions, open items, commands |
//! | `recognise` | by what a person recognises a conversation: title, project, turns |
//! | `chunk_filter`, `decisions`, `summary_name` | the grep filter of stored bytes; how many decisions are kept; names of summaries |
//! | `meaning/*`, `meaning_model` | vectors of entries by a model: made in the background, asked by searches |
//! | `stored_form` | how derived values are stored as bytes |
//! | `peers` | what several processes on one store agree on |
//! | `presence` | whether an entry stands in its transcript as it was delivered last |
//! | `left/*` | what a prompt does not show: what a break took, or all of a call, and how to get it back |
//! | `sayings/*` | what people say, as records that machines exchange: noted, merged, shown |
//! | `linked` | lanes of the gateway and transcripts that are one session |
//! | `entry_text` | the words of an entry, for search and vectors |
//! | `measure`, `ruler` | tokens of entries; tokens of a model |
//! | `wanted` | histories whose prompts are provisional |
//! | `grown` | conversations whose index is due |

pub mod calls;
pub mod discover;
mod entry_text;
pub mod host;
pub mod import;
pub mod index;
mod internal;
pub mod left;
pub mod linked;
pub mod meaning;
mod meaning_model;
pub mod memory;
pub mod migrate;
pub mod peers;
pub mod presence;
pub mod prompt;
pub mod reading;
pub mod recall;
pub mod recognise;
pub mod replay;
pub mod ruler;
pub mod sayings;
pub mod summarise;
pub mod trust;
pub mod usage;
pub mod view;

mod append;
mod background_thread;
mod chunk_filter;
mod client_api;
mod decisions;
mod error;
mod grown;
mod journal;
mod label;
mod ledger;
mod measure;
mod path;
mod pins;
mod raised;
mod rows;
mod stored_form;
mod summary_name;
mod taken_back;
mod thread;
mod varint;
mod wanted;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use unforget_core::id::ConversationId;
use unforget_store::{
    ChangeCallback, MemoryStore, OpenOptions, Peers, ScopedStore, SqliteStore, Store, TrialStore,
    WatchedStore,
};

pub use chunk_filter::filter as chunk_filter;
pub use error::{EngineError, causes};
pub use label::{LABEL_TITLE_CHARS, LabelChange, TAG_CHARS, TAGS_MAX};
pub use ledger::Folded;
pub use pins::{PinText, Proposed, pin_place};
pub use raised::{BreakSpans, NewRaised, RaisedWeight};

/// An open store and all operations on it. Cheap to clone; clones share the store.
#[derive(Clone)]
pub struct Engine {
    store: Arc<dyn Store>,
    writer: bool,
    /// Whether sessions leave jobs for models.
    models: Arc<AtomicBool>,
    /// Whether sessions pin what is proposed.
    pins: bool,
    /// The model of vectors.
    meaning: Arc<RwLock<Option<Arc<meaning_model::MeaningModel>>>>,
    /// Histories whose prompts are provisional.
    wanted: Arc<wanted::WantedHistories>,
    /// Conversations whose index is due.
    grown: Arc<grown::GrownConversations>,
    /// Other processes on the store, if it may have several.
    peers: Option<Arc<dyn Peers>>,
}

impl Engine {
    /// Opens the database at `path` for writing; creates it if necessary.
    ///
    /// # Errors
    /// See [`unforget_store::StoreError`]: busy, damaged, newer.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        // Chunks rewritten by a purge get new filters; otherwise every grep would have to read them.
        let options = OpenOptions { filter: Some(Arc::new(chunk_filter::filter)), ..OpenOptions::default() };
        Ok(Self::on(Arc::new(SqliteStore::open(path, &options)?)))
    }

    /// Opens an existing database for reading, also while another process writes.
    pub fn open_reader(path: &Path) -> Result<Self, EngineError> {
        Ok(Self::reading(Arc::new(SqliteStore::open_reader(path, &OpenOptions::default())?)))
    }

    /// An engine on a store that only reads.
    pub fn reading(store: Arc<dyn Store>) -> Self {
        Self { writer: false, ..Self::on(store) }
    }

    /// An engine in memory; dropping it discards all data.
    pub fn in_memory() -> Self {
        Self::on(Arc::new(MemoryStore::new()))
    }

    /// An engine on a store.
    pub fn on(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            writer: true,
            models: Arc::default(),
            pins: false,
            meaning: Arc::default(),
            wanted: Arc::default(),
            grown: Arc::default(),
            peers: None,
        }
    }

    /// Returns this engine, on a store that other processes may write at the same time.
    #[must_use]
    pub fn with_peers(self, peers: Arc<dyn Peers>) -> Self {
        Self { peers: Some(peers), ..self }
    }

    /// The other processes on the store; `None` if this process is its owner.
    pub fn peers(&self) -> Option<&Arc<dyn Peers>> {
        self.peers.as_ref()
    }

    /// Restricts the engine to these conversations; others are invisible. A restricted engine never writes of its own
    /// accord.
    #[must_use]
    pub fn confined(&self, only: BTreeSet<ConversationId>) -> Self {
        self.apart(Arc::new(ScopedStore::new(Arc::clone(&self.store), only)))
    }

    /// An engine on the same store for trying something out: the summaries and decisions that its sessions make stay in
    /// memory, and nothing is written.
    #[must_use]
    pub fn scratch(&self) -> Self {
        self.apart(Arc::new(TrialStore::new(Arc::clone(&self.store))))
    }

    /// An engine on a view of the same store. It never writes of its own accord.
    fn apart(&self, store: Arc<dyn Store>) -> Self {
        Self {
            writer: false,
            meaning: Arc::clone(&self.meaning),
            peers: self.peers.clone(),
            ..Self::on(store)
        }
    }

    /// Returns this engine with a listener, which is called with every change of the store.
    #[must_use]
    pub fn watched(self, told: ChangeCallback) -> Self {
        Self { store: Arc::new(WatchedStore::new(self.store, told)), ..self }
    }

    /// Returns this engine with jobs for models enabled: see [`summarise`].
    #[must_use]
    pub fn with_models(self) -> Self {
        self.want_models(true);
        self
    }

    /// Enables or disables jobs for models, for the sessions of this engine and of its clones.
    pub fn want_models(&self, wanted: bool) {
        self.models.store(wanted, Ordering::Relaxed);
    }

    /// Lets sessions pin by themselves what [`Engine::proposed_pins`] would propose of entries that they see.
    /// What was pinned once and taken back, and what the pins have no room for, stays with people.
    #[must_use]
    pub fn with_automatic_pins(self) -> Self {
        Self { pins: true, ..self }
    }

    /// Whether sessions pin what is proposed.
    pub(crate) const fn pins_by_itself(&self) -> bool {
        self.pins
    }

    /// Whether sessions leave jobs for models.
    pub(crate) fn has_models(&self) -> bool {
        self.models.load(Ordering::Relaxed)
    }

    /// Whether this engine may write.
    pub const fn is_writer(&self) -> bool {
        self.writer
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }
}
