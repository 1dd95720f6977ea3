//! The store: a port with one contract per method, and the databases behind it.
//!
//! * [`Store`] - the port, and the only interface for all layers above.
//! * [`pack()`], [`Packer`] - entries into compressed chunks, on any thread.
//! * [`SqliteStore`] - the embedded default.
//! * [`MemoryStore`] - the same contract without a disk, for tests and for throw-away replays.
//! * [`ScopedStore`] - some conversations of another store.
//! * [`WatchedStore`] - another store, with a callback for changes.
//! * `conformance` - the suite that every implementation passes; behind feature `testing`.
//!
//! The store decides nothing: it writes what it is given and keeps related facts together in one transaction. It knows
//! no format; indexes and filters are opaque bytes made by `unforget-recall`.

#[cfg(any(test, feature = "testing"))]
pub mod conformance;
mod error;
mod memory;
mod pack;
mod port;
mod scoped;
mod spare;
mod sqlite;
mod unpack;
mod watched;

pub use error::{BoxError, StoreError};
pub use memory::MemoryStore;
pub use pack::{CHUNK_BYTES, Dictionary, Packed, Packer, SMALL_CHUNK_BYTES, pack};
pub use port::*;
pub use scoped::ScopedStore;
pub use sqlite::{FilterFn, OpenOptions, SqliteStore};
pub use unpack::Scratch;
pub use watched::{Change, OnChange, WatchedStore};
