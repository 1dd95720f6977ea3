//! The store: a port with one contract per method, and the databases behind it.
//!
//! * [`Store`] - the port, and the only interface for all layers above.
//! * [`pack()`], [`Packer`] - entries into compressed chunks, on any thread.
//! * [`SqliteStore`] - the embedded default.
//! * [`MemoryStore`] - the same contract without a disk, for tests and for throw-away replays.
//! * [`ScopedStore`] - some conversations of another store.
//! * [`WatchedStore`] - another store, with a callback for changes.
//! * [`TrialStore`] - another store whose new summaries stay in memory.
//! * `conformance` - the suite that every implementation passes; behind feature `testing`.
//!
//! The store decides nothing: it writes what it is given and keeps related facts together in one transaction. It knows
//! no format; indexes and filters are opaque bytes made by `unforget-recall`.
//!
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | `port` | the `Store` trait with one contract per method, and the values that go in and out |
//! | `entry` | an entry as it enters, and its facts |
//! | `pack`, `unpack`, `spare` | entries to compressed chunks and blobs and back; runs on any thread, before the write; zstd's memory between its uses |
//! | `codes`, `stored`, `extents`, `sources`, `counters`, `chain_walk` | what every database keeps: numbers for enums, an entry with the place of its bytes and its seal, paths as runs, sources of summaries, the counters of a conversation, the order of a check |
//! | `backend` | these parts, for the stores of other crates |
//! | `peers` | what several processes on one store agree on: work that one of them does, keyed calls, news |
//! | `memory` | the store of the tests |
//! | `scoped` | a view of some conversations, for which the others are not there |
//! | `watched` | a store that tells what changed in it |
//! | `trial` | a store for trying out prompts: new summaries stay in memory, nothing is written |
//! | `sqlite/*` | `open`, `lock`, `mount`, `identity` (who may open what); `writer`, `readers` (connections); `queue` (who writes for whom), `sync` (what is on the disk), `checkpoint` (a thread that moves the log); `conversations`, `entries`, `names`, `paths`, `bytes`, `segments`, `summaries`, `pins`, `jobs`, `grants` (tables); `fault` (errors); `migrate`, `maintain`, `backup`, `verify`, `purge` |
//! | `conformance` | the suite that every store passes |
//! | `migrations/` | the schema, numbered; a file never changes after its release |

pub mod backend;
mod chain_walk;
mod codes;
#[cfg(any(test, feature = "testing"))]
pub mod conformance;
mod counters;
mod entry;
mod error;
mod extents;
mod memory;
mod pack;
mod peers;
mod port;
mod scoped;
mod sources;
mod spare;
mod sqlite;
mod stored;
mod trial;
mod unpack;
mod watched;

pub use error::{BoxError, StoreError};
pub use memory::MemoryStore;
pub use pack::{CHUNK_BYTES, Dictionary, Packed, Packer, SMALL_CHUNK_BYTES, pack};
pub use peers::{CallStanding, KeptAnswer, KeyedCall, PeerCallback, PeerNews, Peers};
pub use port::*;
pub use scoped::ScopedStore;
pub use sqlite::{FilterFn, OpenOptions, SqliteStore};
pub use trial::TrialStore;
pub use unpack::Scratch;
pub use watched::{Change, ChangeCallback, WatchedStore};
