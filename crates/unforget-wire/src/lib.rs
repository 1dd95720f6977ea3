//! Formats in, formats out. Parses the transcripts of agent hosts, renders and validates provider
//! requests. Decides nothing.
//!
//! * [`Reader`] - a transcript as a stream of [`Record`]s. Total: whatever cannot be parsed is an
//!   opaque record with its bytes and a [`Warning`]. The leads and bodies of all records and the
//!   trailer, end to end, are the file.
//! * [`decode`] - what one record says; needs nothing but its bytes.
//! * `render` - admitted messages to a request body of a dialect.
//! * `exchange` - one call of a provider's API as a gateway sees it: the body, the answer, our errors.
//! * `validate` - rejects what the provider of a dialect rejects; its rules are in `docs/wire-rules.md`.
//!
//! The shape of each format and what in it a model sees is written at the top of its module.

mod detect;
mod dialect;
mod document;
mod error;
pub mod exchange;
mod format;
mod input;
pub mod journal;
mod json;
pub mod legacy;
mod pixels;
mod reader;
pub mod refusal;
mod render;
mod split;
mod target;
mod validate;

pub use dialect::Dialect;
pub use error::{Place, ReadError, Warning};
pub use format::{Format, decode};
pub use reader::{LARGE, Reader, Record, Source};
pub use render::{
    Dropped, PLACEHOLDER, TAIL, Units, losses, pair_items, render, render_head, render_message, visible_text,
    whole_item,
};
pub use target::{Family, Target};
pub use validate::{Bound, Checks, FakeSigner, Rule, Violation, rules, validate, wire_rules};
