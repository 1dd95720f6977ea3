//! One call of a provider's API as a gateway between client and provider sees it.
//!
//! * [`Call`] - what a client's request body says, and the body with other messages in it.
//! * [`Context`] - what a client puts into its history so that every call shows it.
//! * [`annotations`] - what clients write into messages for the provider's cache alone.
//! * [`sse`] - a stream as events.
//! * [`Answer`] - an answer, streamed or whole, as what the client will send back of it.
//! * [`Offer`] - a tool of the gateway's own in a call, and [`Join`] - the answers in which it is called, as one.
//! * [`Fault`] - our own errors in the dialect's shape.
//!
//! Only for [`Dialect::OpenAiChat`](crate::Dialect::OpenAiChat), [`Dialect::OpenAiResponses`](crate::Dialect::OpenAiResponses)
//! and [`Dialect::Anthropic`](crate::Dialect::Anthropic). Everything is pure and total; bodies are read in one pass and
//! without recursion, so depth and size cost no more than their bytes.

pub mod annotations;
mod answer;
mod call;
mod edit;
mod fault;
mod join;
mod offer;
pub mod sse;

pub use answer::{ANSWER_MAX, Answer, Answered, BLOCKS_MAX, Ended, Usage, Why};
pub use call::{Call, CallFault, Context, Hints, Shape, Wrong};
pub(crate) use edit::cut_fields;
pub use edit::{Edit, edited};
pub use fault::Fault;
pub use join::{Join, Outcome, Round};
pub use offer::Offer;

/// Text as a JSON string.
fn quoted(text: &str) -> String {
    // A string can always be written.
    serde_json::to_string(text).unwrap_or_default()
}
