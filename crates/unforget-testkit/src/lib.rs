//! Builders, generators and mutators for tests. The product never depends on it.
//!
//! * [`path`] - a history from a tiny language, for tables of cases.
//! * [`hostile`] - seeded histories of everything that hosts were seen to do wrong, as entries and as
//!   proptest strategies.
//! * [`render`] - histories as the bytes of four transcript formats.
//! * [`mutate`] - damaged lines and files.
//! * [`Port`] - a port at which nobody listens, or only who is told to.
//! * [`provider`] - a scripted provider on 127.0.0.1, with the ways in which real ones fail.
//! * [`upstream`] - a strict provider of three APIs that answers by script; also as the process `scripted-provider`.
//! * [`workload`] - large well-formed sessions; the same generator as the product's `bench` commands.

pub mod hostile;
pub mod mutate;
mod path;
mod port;
pub mod provider;
pub mod render;
mod text;
pub mod upstream;

pub use path::path;
pub use port::Port;
pub use text::{Texts, text};
pub use unforget_bench as workload;
pub use unforget_bench::Random;
