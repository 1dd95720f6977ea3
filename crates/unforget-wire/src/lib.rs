//! Formats in, formats out. Parses the transcripts of agent hosts, renders and validates provider
//! requests. Decides nothing.
//!
//! * [`Reader`] - a transcript as a stream of [`Record`]s. Total: unparsable bytes become an opaque record and a
//!   [`Warning`]. The leads and bodies of all records and the trailer, joined, are the file.
//! * [`decode`] - the content of one record, from its bytes alone.
//! * `render` - from admitted messages to a request body of a dialect.
//! * [`annotations`] - annotations of messages for the provider's cache.
//! * `exchange` - one call of a provider's API as a gateway sees it: the body, the answer, our errors.
//! * [`walk`] - the files at and below a path.
//! * `validate` - rejects what the provider of a dialect rejects; its rules are in `docs/wire-rules.md`.
//!
//! The top of each format's module describes its form and which parts of it a model sees.

pub mod annotations;
mod detect;
mod dialect;
mod document;
mod edit;
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
mod walk;

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
pub use walk::walk;
