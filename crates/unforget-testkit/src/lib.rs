//! Builders, generators and mutators for tests. The product never depends on it.
//!
//! * [`path`] - a history from a tiny language, for tables of cases.
//! * [`hostile`] - seeded histories with everything that hosts were observed to do wrong, as entries and as proptest
//!   strategies.
//! * [`render`] - histories as the bytes of four transcript formats.
//! * [`mutate`] - damaged lines and files.
//! * [`Port`] - a port reserved for one test, at which nobody listens until told to.
//! * [`Postgres`] - a PostgreSQL server of the tests' own, where it is installed.
//! * [`provider`] - a scripted provider on 127.0.0.1 that fails like real ones.
//! * [`transcripts`] - small transcripts that tests of several crates share.
//! * [`upstream`] - a strict provider of three APIs with scripted answers; also as the process `scripted-provider`.
//! * [`workload`] - large well-formed sessions, from the generator of the product's `bench` commands.

pub mod hostile;
pub mod mutate;
mod path;
mod port;
#[cfg(unix)]
mod postgres;
pub mod provider;
pub mod render;
mod text;
pub mod transcripts;
pub mod upstream;

pub use path::path;
pub use port::Port;
#[cfg(unix)]
pub use postgres::Postgres;
pub use text::{Texts, text};
pub use unforget_bench as workload;
pub use unforget_bench::Random;
