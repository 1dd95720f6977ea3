//! Formats in, formats out. Parses the transcripts of agent hosts, renders and validates provider
//! requests. Decides nothing.
//!
//! * [`Reader`] - a transcript as a stream of [`Record`]s. Total: unparsable bytes become an opaque record and a
//!   [`Warning`]. The leads and bodies of all records and the trailer, joined, are the file.
//! * [`decode`] - the content of one record, from its bytes alone.
//! * `render` - from admitted messages to a request body of a dialect.
//! * [`annotations`] - annotations of messages for the provider's cache.
//! * `exchange` - one call of a provider's API as a gateway sees it: the body, the answer, our errors.
//! * `validate` - rejects what the provider of a dialect rejects; its rules are in `docs/wire-rules.md`.
//!
//! The top of each format's module describes its form and which parts of it a model sees.
//!
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | `input`, `split`, `document` | a file as pieces, in bounded memory: lines, values, elements of a document |
//! | `json` | tolerant access to JSON: one pass, no recursion |
//! | `detect`, `reader` | what a transcript is; a transcript as a stream of records |
//! | `format/*` | one module per transcript format; its shape is described at its top |
//! | `dialect`, `target`, `render/*` | requests as bodies of a provider's API, for a model if it is known |
//! | `exchange/*` | one call of a provider's API as a gateway sees it: `call` (the body, and others' messages in it), `call/standing/*` (standing context, one module per client), `offer` (tools of our own in it), `join` (the answers in which they are called, as one), `annotations` (cache marks), `sse`, `answer/*` (streamed or whole, to what the client sends back), `fault` (our errors in the dialect's shape) |
//! | `validate/*` | what a provider would refuse, checked offline; its table is docs/wire-rules.md |
//! | `journal` | what a live host delivered, as lines of our own format |
//! | `resumable/*` | a conversation as a transcript that a host resumes, one module per host |
//! | `delivered` | records of a transcript as a live host would have delivered them |
//! | `session_facts` | what records say about their session: title, folder, branch |
//! | `refusal/*` | a provider's error from its envelope |
//! | `legacy` | provenance by the marker words of old hosts: the only place that looks into text for a fact |
//! | `usage` | tokens and cost that a transcript says its calls had |
//! | `pixels` | width and height of an image from its first bytes |

pub mod annotations;
mod delivered;
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
mod resumable;
mod session_facts;
mod split;
mod target;
mod usage;
mod validate;

pub use delivered::{RecordedMessage, message_of};
pub use detect::Source;
pub use dialect::Dialect;
pub use error::{Place, ReadError, Warning};
pub use format::{Format, decode};
pub use reader::{LARGE, Reader, Record, large_parts};
pub use render::{
    Dropped, PLACEHOLDER, TAIL, Units, is_sendable, losses, pair_items, render, render_head, render_message,
    visible_text, whole_item,
};
pub use resumable::{
    NotCarried, ResumableTranscript, ResumingHost, SaidMessage, SessionParts, UnreadableTranscript, resumable,
};
pub use session_facts::SessionFacts;
pub use target::{Family, Target};
pub use usage::{RecordedCall, TokenUsage, UsageReader};
pub use validate::{Bound, Checks, FakeSigner, Rule, Violation, rules, validate, wire_rules};
