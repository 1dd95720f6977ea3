//! The store port on PostgreSQL: one database, any number of writers.
//!
//! * [`PgStore`] - the port of `unforget-store`.
//! * [`PgPlace`] - the address of a database, shown without its password.
//!
//! A commit is one statement: it compares the conversation's revision and number of entries, and writes everything or
//! nothing, and holds no lock while a message travels. Where the outcome of a commit is not known, the stored entries
//! decide. Decisions and their reasons: `docs/adr/0034-postgresql.md`.
//!
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | `place` | addresses of databases |
//! | `pool`, `conn`, `tls`, `trips` | connections: the barrier behind each connect, warnings, prepared statements; encrypted ones |
//! | `store`, `at_once` | how an operation runs: reads, transactions, their repetition; short transactions in one round trip |
//! | `fault`, `columns` | errors of the driver; columns as values |
//! | `migrate` | the schema, numbered |
//! | `append/*` | the commit: what it expects of a conversation, its statement, commits with an unknown outcome |
//! | `facts` | an entry's facts as bytes |
//! | `conversations`, `entries`, `paths`, `bytes`, `scan`, `segments`, `summaries`, `pins`, `recipes`, `verdicts`, `raised`, `labels`, `jobs`, `spend` | tables |
//! | `lanes`, `said`, `derived` | what a call reads and writes of several tables, in one round trip |
//! | `peers`, `peer_id`, `news` | what several processes agree on: work, keyed calls, a secret; what they tell each other |
//! | `purge`, `purges`, `verify` | deletion; that of other processes; everything read back |
//! | `port` | the port, carried out by the others |
//! | `migrations/` | the schema; a file never changes after its release |

mod append;
mod at_once;
mod bytes;
mod columns;
mod conn;
mod conversations;
mod derived;
mod entries;
mod facts;
mod fault;
mod jobs;
mod labels;
mod lanes;
mod migrate;
mod news;
mod paths;
mod peer_id;
mod peers;
mod pins;
mod place;
mod pool;
mod port;
mod purge;
mod purges;
mod raised;
mod recipes;
mod said;
mod sayings;
mod scan;
mod segments;
mod spend;
mod store;
mod summaries;
mod tls;
mod trips;
mod verdicts;
mod verify;

pub use migrate::MadeSchema;
pub use place::PgPlace;
pub use store::{FilterFn, PgClock, PgOptions, PgStore};

#[cfg(debug_assertions)]
pub use append::PlantedFault;
